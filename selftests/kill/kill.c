// SPDX-License-Identifier: MIT
/*
 * kill -9 at any moment: runs the file transfer of examples/ again and again, kills
 * one of its two processes at a random point of its length, and looks at what is left.
 *
 * After each point: the survivor has ended by itself (an error completion, its
 * deadline, or success if all had arrived), every object, page and key of the driver
 * is gone, and no page is pinned any more. The users' RLIMIT_MEMLOCK leaves room for
 * one transfer only, so a charge that leaked fails the next point.
 *
 *   GDA_SEED         seed of the points, printed       [the clock]
 *   GDA_KILL_POINTS  how many                          [20]
 *   GDA_BUILD        where the examples were built     [build]
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "../kernel/nl.h"

#define FILE_BYTES	(8 << 20)
#define GROUP		7777
#define DEADLINE_S	4		/* of the survivor; of a fast machine's less */

/* Bounds for what a process does in an emulated guest; never a measurement. */
#define END_MS		45000
#define SETTLE_MS	10000

struct side {
	const char *name;
	uid_t uid;
	pid_t pid;		/* leads a process group */
	int status;
	bool ended;
};

/* State of the driver at the moment of the kill. */
enum phase { BEFORE, OPENING, CONNECTING, FLOWING, AFTER, PHASES };

static const char * const phase_names[PHASES] = {
	"before open", "opening", "connecting", "data flows", "after",
};

static char file[64] = "/tmp/gda-kill.XXXXXX";
static uint64_t rng;
static int tests, failed;
static unsigned int deadline = DEADLINE_S;
static long pins = -1;		/* before the first transfer; negative: not known yet */

static uint64_t next_random(void)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng;
}

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static void sleep_us(uint64_t us)
{
	struct timespec ts = { (time_t)(us / 1000000), (long)(us % 1000000) * 1000 };

	nanosleep(&ts, NULL);
}

static void ok(bool good, const char *what)
{
	tests++;
	failed += !good;
	printf("%s %d %s\n", good ? "ok" : "not ok", tests, what);
	fflush(stdout);
}

/* Reads the driver's live objects. Return: their sum, or -1. */
static long read_objects(long *contexts, long *mrs)
{
	static struct t_nl nl;
	struct t_nl_msg msg;
	long sum = -1;

	*contexts = 0;
	*mrs = 0;
	if (t_nl_open(&nl))
		return -1;
	if (!t_nl_get(&nl, GDA_CMD_STATS_GET, 0, 0, &msg)) {
		*contexts = (long)t_nl_u64(&msg, GDA_A_STATS_CONTEXTS);
		*mrs = (long)t_nl_u64(&msg, GDA_A_STATS_MRS);
		sum = 0;
		for (int i = GDA_A_STATS_CONTEXTS; i < GDA_A_STATS_PAD; i++)
			sum += (long)t_nl_u64(&msg, i);
	}
	t_nl_close(&nl);
	return sum;
}

/* A figure of /proc/vmstat or /proc/meminfo. */
static long read_figure(const char *path, const char *name)
{
	char line[128];
	long n = -1;
	size_t len = strlen(name);
	FILE *f = fopen(path, "r");

	while (f && n < 0 && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, len) && (line[len] == ' ' || line[len] == ':'))
			n = strtol(line + len + 1, NULL, 10);
	if (f)
		fclose(f);
	return n;
}

/*
 * Pages of anybody that are pinned just now; negative: nobody can tell. A processor counts
 * for itself and adds that up once a second, or when it is asked to.
 */
static long pinned(void)
{
	long acquired, released;
	int fd = open("/proc/sys/vm/stat_refresh", O_WRONLY);
	bool added = write(fd, "1", 1) == 1;

	close(fd);
	acquired = read_figure("/proc/vmstat", "nr_foll_pin_acquired");
	released = read_figure("/proc/vmstat", "nr_foll_pin_released");
	return added && acquired >= 0 ? acquired - released : -1;
}

static enum phase look(bool seen)
{
	long contexts, mrs;

	read_objects(&contexts, &mrs);
	if (!contexts)
		return seen ? AFTER : BEFORE;
	if (contexts < 2)
		return OPENING;
	return mrs < 2 ? CONNECTING : FLOWING;
}

static void become(uid_t uid)
{
	struct rlimit lim = { FILE_BYTES + (2 << 20), FILE_BYTES + (2 << 20) };
	gid_t group = GROUP;

	if (setrlimit(RLIMIT_MEMLOCK, &lim) || setgroups(1, &group) ||
	    setgid(uid) || setuid(uid))
		_exit(99);
}

static void start(struct side *s, const char *socket)
{
	const char *build = getenv("GDA_BUILD");
	char path[256], seconds[16];
	int null;

	snprintf(path, sizeof(path), "%s/examples/gda-%s", build ? build : "build", s->name);
	snprintf(seconds, sizeof(seconds), "%u", deadline);
	s->ended = false;
	s->pid = fork();
	if (s->pid)
		return;
	setpgid(0, 0);
	become(s->uid);
	null = open("/dev/null", O_RDWR);
	dup2(null, 1);
	if (!getenv("GDA_KILL_VERBOSE"))
		dup2(null, 2);
	execl(path, path, "--socket", socket, "--deadline", seconds,
	      strcmp(s->name, "send") ? NULL : file, NULL);
	_exit(98);
}

static bool reap(struct side *s, uint64_t until)
{
	while (!s->ended && now_us() < until) {
		if (waitpid(s->pid, &s->status, WNOHANG) == s->pid)
			s->ended = true;
		else
			sleep_us(1000);
	}
	return s->ended;
}

/* No group member may stay behind, whatever happened. */
static void clear(struct side *s)
{
	kill(-s->pid, SIGKILL);
	if (!s->ended)
		waitpid(s->pid, &s->status, 0);
	s->ended = true;
}

/* Waits until no object is left and as many pages are pinned as before. */
static bool settled(void)
{
	uint64_t until = now_us() + SETTLE_MS * 1000ULL;
	long contexts, mrs;

	while (read_objects(&contexts, &mrs) || (pins >= 0 && pinned() != pins)) {
		if (now_us() > until)
			return false;
		sleep_us(2000);
	}
	return true;
}

static void make_file(void)
{
	static uint64_t block[8192];
	int fd = mkstemp(file);
	int i;

	for (i = 0; i < FILE_BYTES / (int)sizeof(block); i++) {
		for (size_t k = 0; k < sizeof(block) / sizeof(block[0]); k++)
			block[k] = next_random();
		if (write(fd, block, sizeof(block)) != (ssize_t)sizeof(block))
			exit(1);
	}
	fchmod(fd, 0644);
	close(fd);
}

/* One whole transfer. Return: its length in microseconds, 0 if it failed. */
static uint64_t whole(struct side *recv, struct side *send)
{
	uint64_t begin = now_us();

	start(recv, "@gda-kill-whole");
	start(send, "@gda-kill-whole");
	if (!reap(send, begin + END_MS * 1000ULL) || !reap(recv, begin + END_MS * 1000ULL) ||
	    send->status || recv->status) {
		printf("# statuses: send %#x, recv %#x\n", send->status, recv->status);
		begin = 0;
	}
	clear(send);
	clear(recv);
	return begin ? now_us() - begin : 0;
}

static void point(int i, struct side *recv, struct side *send, uint64_t length,
		  int hits[PHASES])
{
	uint64_t at = next_random() % length;
	struct side *victim = next_random() & 1 ? recv : send;
	struct side *other = victim == recv ? send : recv;
	enum phase phase;
	bool seen, ended, clean;
	char socket[32], what[160];

	snprintf(socket, sizeof(socket), "@gda-kill-%d", i);
	start(recv, socket);
	start(send, socket);
	sleep_us(at);
	seen = waitpid(victim->pid, &victim->status, WNOHANG) == victim->pid;
	victim->ended = seen;
	phase = look(seen || at > length / 2);
	hits[phase]++;
	clear(victim);
	ended = reap(other, now_us() + END_MS * 1000ULL);
	clear(other);
	clean = settled();
	snprintf(what, sizeof(what), "%s killed at %llu us (%s): gda-%s %s %d, %s",
		 victim->name, (unsigned long long)at, phase_names[phase], other->name,
		 !ended ? "hung" : WIFEXITED(other->status) ? "exited with" : "died by",
		 WIFEXITED(other->status) ? WEXITSTATUS(other->status)
					  : WTERMSIG(other->status),
		 clean ? "nothing left" : "objects left");
	ok(ended && WIFEXITED(other->status) && clean, what);
}

int main(void)
{
	const char *seed = getenv("GDA_SEED"), *points = getenv("GDA_KILL_POINTS");
	struct side recv = { .name = "recv", .uid = 7012 }, send = { .name = "send", .uid = 7011 };
	int n = points ? atoi(points) : 20, hits[PHASES] = { 0 };
	uint64_t length;
	long slab;
	int i;

	rng = seed ? strtoull(seed, NULL, 0) : now_us();
	rng |= 1;
	printf("TAP version 13\n1..%d\n# GDA_SEED=%#llx\n", n + 1, (unsigned long long)rng);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (settled())
		pins = pinned();
	if (pins < 0) {
		printf("Bail out! not root, or the driver has other users\n");
		return 1;
	}
	make_file();
	length = whole(&recv, &send);
	ok(length && settled(), "a whole transfer first");
	printf("# a transfer takes %llu us\n", (unsigned long long)length);
	/* A survivor waits at most this long for the other, and most survivors do. */
	if (length < 1000000)
		deadline = DEADLINE_S / 2;
	slab = read_figure("/proc/meminfo", "SUnreclaim");
	for (i = 0; i < n && length; i++)
		point(i, &recv, &send, length, hits);
	printf("# unreclaimable slab: %ld KiB more than before %d points\n",
	       read_figure("/proc/meminfo", "SUnreclaim") - slab, n);
	for (i = 0; i < PHASES; i++)
		printf("# %-12s %d\n", phase_names[i], hits[i]);
	unlink(file);
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	return failed || !length;
}
