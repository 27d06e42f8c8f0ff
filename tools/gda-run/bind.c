// SPDX-License-Identifier: MIT
/*
 * Binding ranks to processors. A rank gets as many processors as it has polling threads, in
 * ascending order, from those that gda-run itself may use: so an existing cpuset or affinity mask
 * also applies to the ranks.
 *
 * A job claims its processors by binding a socket of the abstract namespace to the name of each,
 * and holds them until gda-run exits in any way, so that the next job takes others. If another
 * program holds such a name, ranks merely stay unbound. Jobs in other network namespaces are not
 * noticed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include "run.h"

struct run_binding {
	uint32_t nranks;
	cpu_set_t sets[];	/* of the ranks that are started here */
};

int bind_parse(const char *text, enum run_bind *to)
{
	static const char *const names[] = {
		[RUN_BIND_AUTO] = "auto", [RUN_BIND_NONE] = "none", [RUN_BIND_CORE] = "core",
	};
	int i;

	for (i = 0; i < 3; i++) {
		if (!strcmp(text, names[i])) {
			*to = (enum run_bind)i;
			return 0;
		}
	}
	return -EINVAL;
}

/*
 * Claim @cpu for this job. Return: a file that holds the claim, -EADDRINUSE if another job has it,
 * or -errno.
 */
static int cpu_claim(int cpu)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int len = snprintf(at.sun_path + 1, sizeof(at.sun_path) - 1, "gda-run/processor/%d", cpu);

	int err;

	if (fd < 0)
		return -errno;
	if (!bind(fd, (struct sockaddr *)&at,
		  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len)))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

/* How many other threads of the machine run or are runnable; 0 if unknown. */
static unsigned int others_running(void)
{
	unsigned int running = 1;
	FILE *f = fopen("/proc/loadavg", "re");

	if (f && fscanf(f, "%*s %*s %*s %u/", &running) != 1)
		running = 1;
	if (f)
		fclose(f);
	return running ? running - 1 : 0;
}

/* OpenMP's threads of a rank compute at the same time; "4,2" is for nested ones. */
static uint32_t threads_of(const struct run_options *opt)
{
	const char *text = getenv("OMP_NUM_THREADS");
	unsigned long n = text ? strtoul(text, NULL, 10) : 0;

	if (opt->threads)
		return opt->threads;
	return n > RUN_THREADS && n <= RUN_MAX ? (uint32_t)n : RUN_THREADS;
}

/*
 * Claim @need processors of @allowed into the sets of @b. Return: how many were claimed; @err: the
 * reason if fewer.
 */
static uint32_t claim(struct run_binding *b, const cpu_set_t *allowed, uint32_t threads,
		      int *held, int *err)
{
	uint32_t need = b->nranks * threads, got = 0;
	int cpu;

	*err = 0;
	for (cpu = 0; cpu < CPU_SETSIZE && got < need && !*err; cpu++) {
		if (!CPU_ISSET(cpu, allowed))
			continue;
		held[got] = cpu_claim(cpu);
		if (held[got] < 0) {
			*err = held[got] == -EADDRINUSE ? 0 : held[got];
			continue;
		}
		CPU_SET(cpu, &b->sets[got / threads]);
		got++;
	}
	return got;
}

/* Return: why @need processors of @allowed are too many, as text in @why; or NULL. */
static const char *too_many(const struct run_options *opt, uint64_t need, uint32_t allowed,
			    char why[160])
{
	unsigned int others = opt->bind == RUN_BIND_AUTO ? others_running() : 0;

	if (need <= allowed && need + others <= allowed)
		return NULL;
	snprintf(why, 160,
		 "%u ranks of %u threads need %llu processors of %u, and %u other threads run",
		 opt->nranks, threads_of(opt), (unsigned long long)need, allowed, others);
	return why;
}

/* Return: NULL and the binding in @to, or why there is none. */
static const char *plan(const struct run_options *opt, struct run_binding **to, char why[160])
{
	uint32_t threads = threads_of(opt), got;
	uint64_t need = (uint64_t)opt->nranks * threads;
	struct run_binding *b;
	cpu_set_t allowed;
	int *held, err;

	/* fails on a machine with more than CPU_SETSIZE processors */
	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		return "the processors of this process cannot be listed";
	if (too_many(opt, need, (uint32_t)CPU_COUNT(&allowed), why))
		return why;
	b = calloc(1, sizeof(*b) + opt->nranks * sizeof(b->sets[0]));
	held = calloc(need, sizeof(*held));
	if (!b || !held) {
		free(held);
		free(b);
		return "there is no memory";
	}
	b->nranks = opt->nranks;
	got = claim(b, &allowed, threads, held, &err);
	if (got == need) {
		*to = b;
	} else {
		if (err)
			snprintf(why, 160,
				 "a descriptor is needed for each of %llu processors: %s: raise ulimit -n",
				 (unsigned long long)need, strerror(-err));
		else
			snprintf(why, 160,
				 "%llu processors are needed, and %u are left by other jobs of gda-run",
				 (unsigned long long)need, got);
		while (got)
			close(held[--got]);
		free(b);
	}
	/* the descriptors of claims stay open until this process ends */
	free(held);
	return *to ? NULL : why;
}

static void show(const struct run_options *opt, const struct run_binding *b, const char *why)
{
	uint32_t rank;
	int cpu;

	if (!b)
		fprintf(stderr, "gda-run: ranks are not bound: %s\n", why);
	for (rank = 0; b && rank < b->nranks; rank++) {
		fprintf(stderr, "gda-run: rank %u: processor", opt->first + rank);
		for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
			if (CPU_ISSET(cpu, &b->sets[rank]))
				fprintf(stderr, " %d", cpu);
		fputc('\n', stderr);
	}
}

int bind_plan(const struct run_options *opt, struct run_binding **binding)
{
	const char *why = "--bind none";
	char text[160];

	*binding = NULL;
	if (opt->bind != RUN_BIND_NONE)
		why = plan(opt, binding, text);
	if (!*binding && opt->bind == RUN_BIND_CORE) {
		fprintf(stderr, "gda-run: --bind core: %s: start fewer ranks, or use --bind none\n",
			why);
		return 1;
	}
	if (opt->show_bind)
		show(opt, *binding, why);
	return 0;
}

void bind_apply(const struct run_binding *b, uint32_t rank)
{
	/* fails if the processor went offline meanwhile: the rank then runs unbound */
	if (b)
		sched_setaffinity(0, sizeof(b->sets[rank]), &b->sets[rank]);
}
