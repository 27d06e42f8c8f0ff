// SPDX-License-Identifier: MIT
/*
 * killed VICTIM MOMENT MICROSECONDS [SECONDS] - a rank for killed.sh, with that much patience [1]
 *
 * Rank VICTIM is killed by a timer, wherever it is by then. The timer starts when the process
 * does ("start": so it joins, or makes its heap, or has not yet), or when it begins an
 * "allgather", a "barrier" or a "storm" of puts for the third time. Every other rank goes on
 * until a call fails, and prints one line: what failed, the rank that it was told of, and how
 * long that call took.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <gda/comm.h>
#include <gda/gda.h>
#include <gda/shmem.h>

#define SECOND_NS	1000000000ULL
#define LIFE_NS		(20 * SECOND_NS)	/* the timer has fired long before */
#define STORM		2000U			/* puts of a storm */
#define WORDS		4096U			/* that they go to */
#define FATAL		2U			/* moments of each kind before the last */
#define MOST		64U			/* ranks */

/* This rank, and when the call that it is in must have ended. */
struct rank {
	struct gda_comm *comm;
	struct gda_shmem *s;
	uint64_t deadline;
	uint32_t round;
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * SECOND_NS + (uint64_t)ts.tv_nsec;
}

/* SIGKILL from the kernel, so that no code of ours runs first. */
static int arm(unsigned long us)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL };
	struct itimerspec when = {
		.it_value.tv_sec = (time_t)(us / 1000000),
		.it_value.tv_nsec = (long)(us % 1000000) * 1000 + 1,
	};
	timer_t timer;

	return timer_create(CLOCK_MONOTONIC, &event, &timer) ||
	       timer_settime(timer, 0, &when, NULL);
}

static int gather(struct rank *r)
{
	uint32_t size = gda_comm_size(r->comm), i;
	uint32_t mine = r->round * size + gda_comm_rank(r->comm), all[MOST];
	int err = gda_comm_allgather(r->comm, &mine, sizeof(mine), all, r->deadline);

	for (i = 0; !err && i < size; i++)
		if (all[i] != r->round * size + i)
			err = -EBADMSG;
	return err;
}

static int barrier(struct rank *r)
{
	return gda_comm_barrier(r->comm, r->deadline);
}

/*
 * Puts to all; the last word to each says of which round they were, and is waited for. A queue
 * fails when its peer ends, which may be before the hub knows who that was: the barrier tells.
 */
static int storm(struct rank *r)
{
	uint64_t *words = (uint64_t *)(uintptr_t)r->s->heap;
	uint32_t npes = r->s->npes, i;
	int64_t err = 0;

	for (i = 0; err >= 0 && i < STORM; i++)
		err = gda_shmem_p(r->s, words + MOST + i % (WORDS - MOST), i, 8, i % npes, 0);
	for (i = 0; err >= 0 && i < npes; i++)
		err = gda_shmem_p(r->s, words + r->s->pe, r->round + 1, 8, i, 0);
	if (err >= 0)
		err = gda_shmem_quiet(r->s, r->deadline);
	for (i = 0; err >= 0 && i < npes; i++)
		err = gda_shmem_wait_until64(r->s, words + i, GDA_SHMEM_GE, r->round + 1,
					     r->deadline);
	if (err < 0 && gda_comm_failed(r->comm) < 0)
		err = gda_comm_barrier(r->comm, r->deadline);
	return err < 0 ? (int)err : 0;
}

static const struct moment {
	const char *name;
	int (*call)(struct rank *r);
} moments[] = {
	{ "allgather", gather }, { "barrier", barrier }, { "storm", storm },
};

#define MOMENTS	(sizeof(moments) / sizeof(moments[0]))

static void report(const char *what, int err, int named, uint64_t since)
{
	printf("%s: %s named %d after %llu ms\n", what, strerror(-err), named,
	       (unsigned long long)((now_ns() - since) / 1000000));
}

/* Join, and make a heap. Return: 0; or 1, it failed, which is reported. */
static int start(struct rank *r, uint64_t patience)
{
	struct gda_comm_attr attr = { .size = sizeof(attr), .timeout_ns = patience };
	struct gda_shmem_attr heap = {
		.size = sizeof(heap), .heap_bytes = 8 * WORDS, .timeout_ns = patience,
	};
	uint64_t since = now_ns();
	int err = gda_comm_create(&attr, &r->comm), named;
	const char *why;

	if (err) {
		/* "...1 of 4 ranks did not join in time, their own output may say why: 2" */
		why = strrchr(gda_last_error(), ':');
		if (strstr(gda_last_error(), "nobody listens at"))
			named = 0;
		else if (!why || sscanf(why, ": %d", &named) != 1)
			named = -1;
		report("create", err, named, since);
		return 1;
	}
	since = now_ns();
	err = gda_shmem_create(r->comm, &heap, &r->s);
	if (!err)
		return 0;
	report("heap", err, gda_comm_failed(r->comm), since);
	gda_comm_destroy(r->comm);
	return 1;
}

/* Each moment in turn. Return: the exit status. */
static int live(struct rank *r, const char *fatal, unsigned long us, uint64_t patience)
{
	uint64_t begin = now_ns(), since;
	const struct moment *m;
	int err;

	for (; now_ns() - begin < LIFE_NS; r->round++) {
		m = &moments[r->round % MOMENTS];
		if (fatal && r->round / MOMENTS == FATAL && !strcmp(m->name, fatal) && arm(us))
			return 3;
		since = now_ns();
		r->deadline = since + patience;
		err = m->call(r);
		if (err) {
			report(m->name, err, gda_comm_failed(r->comm), since);
			return 0;
		}
	}
	printf("nobody was killed\n");
	return 1;
}

int main(int argc, char **argv)
{
	uint64_t patience = (argc > 4 ? strtoul(argv[4], NULL, 10) : 1) * SECOND_NS;
	const char *rank = getenv("GDA_COMM_RANK"), *fatal = NULL;
	struct rank r = { 0 };
	unsigned long us;
	int status;

	if (argc < 4 || !rank)
		return 2;
	us = strtoul(argv[3], NULL, 10);
	if (!strcmp(rank, argv[1]))
		fatal = argv[2];
	if (fatal && !strcmp(fatal, "start") && arm(us))
		return 3;
	if (start(&r, patience))
		return 0;
	status = live(&r, fatal, us, patience);
	gda_shmem_destroy(r.s);
	gda_comm_destroy(r.comm);
	return status;
}
