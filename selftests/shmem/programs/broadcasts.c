// SPDX-License-Identifier: MIT
/*
 * Broadcasts in a row, each from the next PE, without a barrier between them: a root may be
 * ahead of a PE that has not yet had the data of the root before. Each PE is late at times.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <shmem.h>

#define ROUNDS	20000
#define ROWS	16	/* rounds between two barriers; each has a row of its own */
#define WORDS	5

static long dest[ROWS][WORDS], source[ROWS][WORDS];
static long psync[ROWS][SHMEM_BCAST_SYNC_SIZE];

static long expected(int round, int word)
{
	return (long)round * WORDS + word + 1;
}

static int wrong_in(int round, int root, int me)
{
	int k, wrong = 0;

	for (k = 0; k < WORDS; k++)
		wrong += me != root && dest[round % ROWS][k] != expected(round, k);
	return wrong;
}

int main(void)
{
	int me, npes, round, root, k;
	long wrong = 0;
	unsigned int late;

	shmem_init();
	me = shmem_my_pe();
	npes = shmem_n_pes();
	late = (unsigned int)me;
	for (round = 0; round < ROUNDS; round++) {
		if (round % ROWS == 0)
			shmem_barrier_all();
		root = round % npes;
		late = late * 1103515245U + 12345;
		if (late >> 28 == 0)
			sched_yield();
		for (k = 0; me == root && k < WORDS; k++)
			source[round % ROWS][k] = expected(round, k);
		shmem_broadcast64(dest[round % ROWS], source[round % ROWS], WORDS, root, 0, 0, npes,
				  psync[round % ROWS]);
		wrong += wrong_in(round, root, me);
	}
	if (wrong)
		printf("PE %d: %ld words are wrong\n", me, wrong);
	shmem_barrier_all();
	if (!me)
		printf("broadcasts: %d from each PE in turn\n", ROUNDS);
	shmem_finalize();
	return wrong != 0;
}
