// SPDX-License-Identifier: MIT
/*
 * Many PEs on few processors: barriers, a sum, an exchange with each neighbour, a lock.
 */
#include <stdio.h>
#include <mpp/shmem.h>
#include <mpp/shmemx.h>

#define ROUNDS	10

static long mine, sum, from_left, lock, locked;

int main(void)
{
	int me, npes, i, wrong = 0;

	shmem_init();
	me = shmem_my_pe();
	npes = shmem_n_pes();
	for (i = 0; i < ROUNDS; i++) {
		mine = me + i;
		shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sum, &mine, 1);
		wrong += sum != (long)npes * (npes - 1) / 2 + (long)npes * i;
		shmem_long_p(&from_left, mine, (me + 1) % npes);
		shmem_barrier_all();
		wrong += from_left != (me + npes - 1) % npes + i;
		shmem_barrier_all();
	}
	shmem_set_lock(&lock);
	shmem_long_p(&locked, shmem_long_g(&locked, 0) + 1, 0);
	shmem_clear_lock(&lock);
	shmem_barrier_all();
	if (!me)
		printf("shared: %ld of %d PEs had the lock, %d wrong\n", locked, npes, wrong);
	shmem_finalize();
	return wrong != 0;
}
