// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <shmem.h>

static long inbox[4];		/* at the same place in each PE: symmetric */
static uint64_t arrived;
static long mine, all;

int main(void)
{
	long numbers[4];
	int me, npes, next, i;

	shmem_init();
	me = shmem_my_pe();
	npes = shmem_n_pes();
	next = (me + 1) % npes;

	for (i = 0; i < 4; i++)
		numbers[i] = 10 * me + i;
	shmem_long_put_signal(inbox, numbers, 4, &arrived, 1, SHMEM_SIGNAL_ADD, next);
	shmem_signal_wait_until(&arrived, SHMEM_CMP_EQ, 1);

	for (i = 0; i < 4; i++)
		mine += inbox[i];
	shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &all, &mine, 1);
	printf("PE %d of %d got %ld to %ld; the sum of all is %ld\n", me, npes, inbox[0], inbox[3],
	       all);
	shmem_finalize();
	return 0;
}
