// SPDX-License-Identifier: MIT
/*
 * A number goes round: each PE waits for it, adds its own, and puts it to the next. The
 * variable is global, so every PE has it at the same place: no address is exchanged.
 *
 *   oshcc ring.c -o ring && oshrun -n 4 ./ring
 */
#include <stdio.h>
#include <shmem.h>

static long sum = -1;

int main(void)
{
	int me, npes, next;
	long want;

	shmem_init();
	me = shmem_my_pe();
	npes = shmem_n_pes();
	next = (me + 1) % npes;

	if (!me)
		shmem_long_p(&sum, 0, next);
	shmem_long_wait_until(&sum, SHMEM_CMP_NE, -1);
	if (me)
		shmem_long_p(&sum, sum + me, next);

	want = (long)npes * (npes - 1) / 2;
	if (!me)
		printf("the sum of all PEs is %ld\n", sum);
	if (!me && sum != want)
		shmem_global_exit(1);
	shmem_finalize();
	return 0;
}
