// SPDX-License-Identifier: MIT
/*
 * killed VICTIM MICROSECONDS [SECONDS] - a rank for killed.sh, with that much patience [1]
 *
 * Rank VICTIM is killed by a timer, wherever it is by then: before it has joined, while
 * it joins, in a barrier or in an all-gather. Every other rank goes on until a call
 * fails, and prints one line: what failed, the rank that it was told of, and how long
 * that call took.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <gda/comm.h>
#include <gda/gda.h>

#define SECOND_NS	1000000000ULL
#define LIFE_NS		(20 * SECOND_NS)	/* the timer has fired long before */

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

static int gather(struct gda_comm *comm, uint64_t deadline, uint32_t round)
{
	uint32_t size = gda_comm_size(comm), mine = round * size + gda_comm_rank(comm), i;
	uint32_t *all = malloc(size * sizeof(*all));
	int err;

	if (!all)
		return -ENOMEM;
	err = gda_comm_allgather(comm, &mine, sizeof(mine), all, deadline);
	for (i = 0; !err && i < size; i++)
		if (all[i] != round * size + i)
			err = -EBADMSG;
	free(all);
	return err;
}

static void report(const char *what, int err, int named, uint64_t since)
{
	printf("%s: %s named %d after %llu ms\n", what, strerror(-err), named,
	       (unsigned long long)((now_ns() - since) / 1000000));
}

int main(int argc, char **argv)
{
	uint64_t patience = (argc > 3 ? strtoul(argv[3], NULL, 10) : 1) * SECOND_NS;
	struct gda_comm_attr attr = { .size = sizeof(attr), .timeout_ns = patience };
	const char *rank = getenv("GDA_COMM_RANK"), *why;
	uint64_t start = now_ns(), since;
	struct gda_comm *comm;
	uint32_t round;
	int err, named;

	if (argc < 3 || !rank)
		return 2;
	if (!strcmp(rank, argv[1]) && arm(strtoul(argv[2], NULL, 10)))
		return 3;
	err = gda_comm_create(&attr, &comm);
	if (err) {
		/* "...1 of 4 ranks did not join in time, their own output may say why: 2" */
		why = strrchr(gda_last_error(), ':');
		if (!why || sscanf(why, ": %d", &named) != 1)
			named = -1;
		report("create", err, named, start);
		return 0;
	}
	for (round = 0; now_ns() - start < LIFE_NS; round++) {
		since = now_ns();
		err = round & 1 ? gda_comm_barrier(comm, since + patience) :
				  gather(comm, since + patience, round);
		if (!err)
			continue;
		report(round & 1 ? "barrier" : "allgather", err, gda_comm_failed(comm), since);
		gda_comm_destroy(comm);
		return 0;
	}
	printf("nobody was killed\n");
	return 1;
}
