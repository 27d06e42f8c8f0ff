// SPDX-License-Identifier: MIT
/*
 * A matrix that is dealt out in blocks of columns is transposed: blocks are put to where
 * they belong, and a counter behind each. Active sets with the arrays that the
 * specification asks for, and a subset of the PEs, too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <shmem.h>

#define BLOCK	24
#define ROUNDS	10
#define MOST	16	/* PEs */

static long bcast_psync[SHMEM_BCAST_SYNC_SIZE];
static long reduce_psync[2][SHMEM_REDUCE_SYNC_SIZE];
static long collect_psync[SHMEM_COLLECT_SYNC_SIZE];
static long barrier_psync[SHMEM_BARRIER_SYNC_SIZE];
static double pwrk[SHMEM_REDUCE_MIN_WRKDATA_SIZE + 1];
static int arguments[2], arrived[MOST];
static double wrong, all_wrong;
static int all[MOST], number;

static double value(int row, int column)
{
	return row * 1000.0 + column;
}

static void prepare(long *psync, int n)
{
	int i;

	for (i = 0; i < n; i++)
		psync[i] = SHMEM_SYNC_VALUE;
}

int main(void)
{
	double *in, *out, *block;
	int me, npes, pe, i, j, round;

	shmem_init();
	me = shmem_my_pe();
	npes = shmem_n_pes();
	prepare(bcast_psync, SHMEM_BCAST_SYNC_SIZE);
	prepare(reduce_psync[0], SHMEM_REDUCE_SYNC_SIZE);
	prepare(reduce_psync[1], SHMEM_REDUCE_SYNC_SIZE);
	prepare(collect_psync, SHMEM_COLLECT_SYNC_SIZE);
	prepare(barrier_psync, SHMEM_BARRIER_SYNC_SIZE);
	shmem_barrier_all();
	if (!me) {
		arguments[0] = ROUNDS;
		arguments[1] = BLOCK;
	}
	shmem_broadcast32(arguments, arguments, 2, 0, 0, 0, npes, bcast_psync);
	number = me * 3;
	shmem_fcollect32(all, &number, 1, 0, 0, npes, collect_psync);
	for (pe = 0; pe < npes; pe++)
		wrong += all[pe] != 3 * pe;

	out = shmem_malloc(sizeof(double) * BLOCK * BLOCK * (size_t)npes);
	in = malloc(sizeof(double) * BLOCK * BLOCK * (size_t)npes);
	block = shmem_malloc(sizeof(double) * BLOCK * BLOCK);
	if (!in || !out || !block || npes > MOST)
		shmem_global_exit(1);
	for (i = 0; i < BLOCK * npes; i++)
		for (j = 0; j < BLOCK; j++)
			in[i * BLOCK + j] = value(i, me * BLOCK + j);
	for (round = 1; round <= arguments[0]; round++) {
		for (pe = 0; pe < npes; pe++) {
			for (i = 0; i < arguments[1]; i++)
				for (j = 0; j < arguments[1]; j++)
					block[j * BLOCK + i] = in[(pe * BLOCK + i) * BLOCK + j];
			shmem_double_put(out + me * BLOCK * BLOCK, block, BLOCK * BLOCK, pe);
			shmem_fence();
			shmem_int_inc(&arrived[me], pe);
		}
		for (pe = 0; pe < npes; pe++)
			shmem_int_wait_until(&arrived[pe], SHMEM_CMP_GE, round);
		for (i = 0; i < BLOCK * npes; i++)
			for (j = 0; j < BLOCK; j++)
				wrong += out[i * BLOCK + j] != value(me * BLOCK + j, i);
		shmem_barrier(0, 0, npes, barrier_psync);
	}
	shmem_double_sum_to_all(&all_wrong, &wrong, 1, 0, 0, npes, pwrk, reduce_psync[0]);
	/* every second PE, from the first on */
	if (me % 2 == 0)
		shmem_double_max_to_all(&wrong, &all_wrong, 1, 0, 1, (npes + 1) / 2, pwrk,
					reduce_psync[1]);
	if (wrong != 0 || all_wrong != 0)
		shmem_global_exit(1);
	if (!me)
		printf("transpose: %d rounds, as the reference\n", ROUNDS);
	shmem_free(block);
	shmem_free(out);
	free(in);
	shmem_finalize();
	return 0;
}
