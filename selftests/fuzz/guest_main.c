// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * guest DIR - in the guest: each input of a corpus, and mutations of it from a fixed
 * seed; speaks KTAP.
 * guest -s SECONDS | -n RUNS [-S SEED] [-o OUT] DIR - fuzz: inputs that reach new
 * code, as KCOV tells, are kept, and written to OUT. The same seed tries the same inputs,
 * as long as the same ones reach new code. Without KCOV it fails.
 *
 * That something is wrong the kernel says itself; here it is only seen that each input
 * ends, and that nothing is left of all of them.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kcov.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "fuzz.h"
#include "guest.h"
#include "kernel/gda_test.h"

#define COVER	(1U << 16)		/* words of a KCOV buffer */
#define EDGES	(1U << 16)
#define INPUTS	4096
#define ENDS_NS	(60 * T_NS)		/* an input that runs longer hangs */
#define REPLAYS	3		/* as it is, then mutated: times $GDA_STRESS, 1 at least */

struct text {
	uint8_t *data;
	size_t size;
};

static struct text corpus[INPUTS];
static unsigned int inputs, seeds;
static uint8_t seen[EDGES];
static unsigned int edges;
static unsigned long runs;
static unsigned long *cover;
static int kcov = -1;
static uint64_t state = 1;
static const char *out;

static uint32_t below(uint32_t n)
{
	return (uint32_t)((t_random(&state) >> 32) * n >> 32);
}

static void add(const uint8_t *data, size_t size)
{
	struct text *t = &corpus[inputs];

	if (inputs == INPUTS)
		return;
	t->data = malloc(size ? size : 1);
	HOLDS(t->data);
	memcpy(t->data, data, size);
	t->size = size;
	inputs++;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static bool load(const char *dir)
{
	uint8_t buf[GUEST_INPUT_MAX];
	struct dirent **e;
	int n = scandir(dir, &e, NULL, by_name);

	for (int i = 0; i < n; i++) {
		char path[1024];
		FILE *f;

		snprintf(path, sizeof(path), "%s/%s", dir, e[i]->d_name);
		f = e[i]->d_name[0] == '.' ? NULL : fopen(path, "rb");
		if (!f)
			continue;
		add(buf, fread(buf, 1, sizeof(buf), f));
		fclose(f);
	}
	seeds = inputs;
	return inputs > 0;
}

static void store(const char *why, const uint8_t *data, size_t size)
{
	uint64_t hash = 0xcbf29ce484222325ULL;
	char path[1024];
	FILE *f;

	if (!out)
		return;
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ data[i]) * 0x100000001b3ULL;
	snprintf(path, sizeof(path), "%s/%s%016llx", out, why, (unsigned long long)hash);
	f = fopen(path, "wb");
	if (!f || fwrite(data, 1, size, f) != size)
		perror(path);
	if (f)
		fclose(f);
}

/* A fuzzer that sees nothing must not say that all is well. */
static __attribute__((noreturn)) void blind(const char *what)
{
	printf("# %s: %s\nnot ok 1 there is KCOV\n", what, strerror(errno));
	exit(1);
}

static void kcov_start(void)
{
	static const char name[] = "/sys/kernel/debug/kcov";
	void *p;

	kcov = open(name, O_RDWR | O_CLOEXEC);
	if (kcov < 0 || ioctl(kcov, KCOV_INIT_TRACE, (unsigned long)COVER))
		blind(name);
	p = mmap(NULL, COVER * sizeof(*cover), PROT_READ | PROT_WRITE, MAP_SHARED, kcov, 0);
	if (p == MAP_FAILED)
		blind("its memory");
	cover = p;
}

/* Pairs of places, one after the other, and how often, to a power of two. */
static unsigned int fresh(void)
{
	static uint16_t count[EDGES];
	unsigned long n, last = 0;
	unsigned int found = 0;

	if (!cover)
		return 0;
	n = cover[0] < COVER - 1 ? cover[0] : COVER - 1;
	memset(count, 0, sizeof(count));
	for (unsigned long i = 1; i <= n; i++) {
		unsigned long at = cover[i] * 0x9e3779b97f4a7c15ULL >> 40;
		uint16_t *c = &count[(at ^ last) % EDGES];

		*c += *c != UINT16_MAX;
		last = at >> 1;
	}
	for (unsigned int i = 0; i < EDGES; i++) {
		unsigned int bit = count[i] ? 31U - (unsigned int)__builtin_clz(count[i]) : 0;
		uint8_t bucket = (uint8_t)(1U << (bit < 7 ? bit : 7));

		if (!count[i] || seen[i] & bucket)
			continue;
		edges += !seen[i];
		seen[i] |= bucket;
		found++;
	}
	return found;
}

static __attribute__((noreturn)) void found(const char *name, const char *what,
					    const uint8_t *data, size_t size)
{
	printf("# %zu bytes: %s\n", size, name);
	store(name, data, size);
	printf("not ok 1 %s\n", what);
	exit(1);
}

/* In a process group of its own, so that its children end with it. */
static void run(const uint8_t *data, size_t size)
{
	pid_t pid;
	int end;

	if (cover)
		cover[0] = 0;
	fflush(NULL);
	pid = fork();
	HOLDS(pid >= 0);
	if (!pid) {
		setpgid(0, 0);
		if (cover && ioctl(kcov, KCOV_ENABLE, KCOV_TRACE_PC))
			_exit(errno);
		guest_run(data, size);
		_exit(0);
	}
	runs++;
	end = t_reap(pid, ENDS_NS);
	kill(-pid, SIGKILL);
	if (cover && end > 0 && end < 128) {
		errno = end;
		blind("KCOV_ENABLE");
	}
	if (end == -ETIMEDOUT)
		found("hang-", "an input did not end", data, size);
	if (end == 128 + SIGABRT)
		found("moved-", "memory that was taken away changed", data, size);
}

static size_t mutate(uint8_t *buf, size_t n)
{
	const struct text *other = &corpus[below(inputs)];
	unsigned int times = 1 + below(6);

	while (times--) {
		size_t at = n ? below((uint32_t)n) : 0, len = 1 + below(16);

		switch (below(6)) {
		case 0:					/* a byte */
			buf[at] = (uint8_t)t_random(&state);
			n += !n;
			break;
		case 1:					/* a bit */
			buf[at] ^= (uint8_t)(1U << below(8));
			break;
		case 2:					/* bytes go */
			if (len > n - at)
				len = n - at;
			memmove(buf + at, buf + at + len, n - at - len);
			n -= len;
			break;
		case 3:					/* bytes come */
			if (n + len > GUEST_INPUT_MAX)
				break;
			memmove(buf + at + len, buf + at, n - at);
			for (size_t i = 0; i < len; i++)
				buf[at + i] = (uint8_t)t_random(&state);
			n += len;
			break;
		case 4:					/* it goes on as another one does */
			if (at >= other->size)
				break;
			memcpy(buf + at, other->data + at, other->size - at);
			n = other->size;
			break;
		default:				/* a part of it once more, at the end */
			if (len > n - at || n + len > GUEST_INPUT_MAX)
				break;
			memmove(buf + n, buf + at, len);
			n += len;
		}
	}
	return n;
}

static size_t next_input(uint8_t *buf)
{
	/* what was found last is looked at more often */
	unsigned int i = below(2) ? below(inputs) : inputs - 1 - below((inputs + 3) / 4);

	memset(buf, 0, GUEST_INPUT_MAX);
	memcpy(buf, corpus[i].data, corpus[i].size);
	return mutate(buf, corpus[i].size);
}

/* For @seconds, or until there were @most executions; 0 is no limit. */
static void fuzz(uint64_t seconds, unsigned long most)
{
	uint64_t start = t_now(), said = start;
	uint64_t end = seconds ? start + seconds * T_NS : UINT64_MAX;
	uint8_t buf[GUEST_INPUT_MAX];

	kcov_start();
	for (unsigned int i = 0; i < seeds; i++) {
		run(corpus[i].data, corpus[i].size);
		fresh();
	}
	while (t_now() < end && (!most || runs < most)) {
		size_t n = next_input(buf);

		run(buf, n);
		if (fresh()) {
			add(buf, n);
			store("", buf, n);
		}
		if (t_now() - said < 30 * T_NS)
			continue;
		said = t_now();
		printf("# %llu s: %lu executions, %u inputs, %u edges\n",
		       (unsigned long long)((said - start) / T_NS), runs, inputs, edges);
		fflush(stdout);
	}
}

static void replay(void)
{
	uint8_t buf[GUEST_INPUT_MAX];

	for (unsigned int i = 0; i < seeds; i++) {
		run(corpus[i].data, corpus[i].size);
		for (unsigned long k = 1; k < t_stress(REPLAYS); k++) {
			memset(buf, 0, sizeof(buf));
			memcpy(buf, corpus[i].data, corpus[i].size);
			run(buf, mutate(buf, corpus[i].size));
		}
	}
}

int main(int argc, char **argv)
{
	struct t_objects base, now;
	unsigned long most = 0;
	uint64_t seconds = 0;
	int opt, err;

	while ((opt = getopt(argc, argv, "s:n:S:o:")) != -1) {
		switch (opt) {
		case 's':
			seconds = strtoull(optarg, NULL, 0);
			break;
		case 'n':
			most = strtoul(optarg, NULL, 0);
			break;
		case 'S':
			state = strtoull(optarg, NULL, 0);
			break;
		case 'o':
			out = optarg;
			mkdir(out, 0777);
			break;
		default:
			return 2;
		}
	}
	if (optind != argc - 1 || !load(argv[optind])) {
		fprintf(stderr, "usage: guest [-s SECONDS] [-n RUNS] [-S SEED] [-o OUT] DIR\n");
		return 2;
	}
	printf("TAP version 13\n1..2\n");
	/* what nothing holds any more is freed by work: it may be a moment behind */
	err = t_objects_read(&base);
	if (seconds || most)
		fuzz(seconds, most);
	else
		replay();
	printf("# %lu executions, %u inputs, %u edges\n", runs, inputs, edges);
	printf("ok 1 each input ended\n");
	if (!err)
		err = t_objects_settle(&base, &now);
	printf("%sok 2 nothing is left\n", err ? "not " : "");
	return err != 0;
}
