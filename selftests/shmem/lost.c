// SPDX-License-Identifier: MIT
/*
 * lost VICTIM MOMENT MICROSECONDS - a PE for lost.sh
 *
 * All PEs go through a barrier, a storm of puts, collective calls, a lock and tests, on and on. PE
 * VICTIM is killed by a timer that starts when it begins MOMENT for the third time, or shmem_init()
 * if that is "start". No PE returns: the calls of the others print a line, and end the job.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <shmem.h>

#define FATAL	2		/* moments of each kind before the last */
#define STORM	1000
#define BLOCK	512
#define MOST	16		/* PEs */

static long words[64], lock, shared, sum, part = 1, blocks[MOST * BLOCK], source[MOST * BLOCK];
static int me, npes;

/* SIGKILL from the kernel, so that no code of ours runs first. */
static void arm(unsigned long us)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL };
	struct itimerspec when = { .it_value.tv_nsec = (long)us * 1000 + 1 };
	timer_t timer;

	if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &when, NULL))
		exit(3);
}

static void storm(void)
{
	int i;

	for (i = 0; i < STORM; i++)
		shmem_long_p(&words[i % 64], i, (me + i) % npes);
	for (i = 0; i < npes; i++)
		shmem_long_put_nbi(blocks + (size_t)me * BLOCK, source, BLOCK, i);
	shmem_quiet();
}

static void collective(void)
{
	shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sum, &part, 1);
	shmem_long_fcollect(SHMEM_TEAM_WORLD, blocks, source, BLOCK);
	shmem_long_max_reduce(SHMEM_TEAM_WORLD, blocks, source, 2 * BLOCK);
	shmem_long_broadcast(SHMEM_TEAM_WORLD, blocks, source, BLOCK, npes - 1);
	shmem_long_alltoall(SHMEM_TEAM_WORLD, blocks, source, BLOCK);
}

static void take_lock(void)
{
	int i;

	for (i = 0; i < 5; i++) {
		shmem_set_lock(&lock);
		shmem_long_p(&shared, shmem_long_g(&shared, 0) + 1, 0);
		shmem_clear_lock(&lock);
	}
}

/* In turns, each for the word of the one before; a program may do other work between two tests. */
static void test(void)
{
	static long turn, turns;
	int i;

	for (i = 0; i < 10; i++) {
		long before = turns++ * npes + me;

		while (!shmem_long_test(&turn, SHMEM_CMP_GE, before))
			;
		shmem_long_p(&turn, before + 1, (me + 1) % npes);
	}
}

static void test_lock(void)
{
	shmem_barrier_all();
	while (shmem_test_lock(&lock))
		;
	shmem_long_p(&shared, me, 0);
	shmem_clear_lock(&lock);
}

static const struct moment {
	const char *name;
	void (*call)(void);
} moments[] = {
	{ "barrier", shmem_barrier_all }, { "storm", storm }, { "collective", collective },
	{ "lock", take_lock }, { "test", test }, { "test_lock", test_lock },
};

#define MOMENTS	(sizeof(moments) / sizeof(moments[0]))

int main(int argc, char **argv)
{
	const char *rank = getenv("GDA_COMM_RANK");
	const struct moment *m;
	size_t round;

	if (argc != 4 || !rank)
		return 2;
	if (!strcmp(rank, argv[1]) && !strcmp(argv[2], "start"))
		arm(strtoul(argv[3], NULL, 10));
	shmem_init();
	me = shmem_my_pe();
	npes = shmem_n_pes();
	for (round = 0;; round++) {
		m = &moments[round % MOMENTS];
		if (me == atoi(argv[1]) && round / MOMENTS == FATAL && !strcmp(m->name, argv[2])) {
			if (m->call == test_lock) {
				shmem_set_lock(&lock);
				shmem_barrier_all();
			}
			/* before it stores what others test */
			if (m->call == test || m->call == test_lock)
				raise(SIGKILL);
			arm(strtoul(argv[3], NULL, 10));
		}
		m->call();
	}
}
