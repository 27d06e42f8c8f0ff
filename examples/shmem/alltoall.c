// SPDX-License-Identifier: MIT
/*
 * An exchange of all with all, in two ways: each PE puts a block to each other one, with the
 * signal that it is there, and works on the blocks in the order in which they come; and the
 * collective call. Both are compared with what a loop computes.
 *
 *   oshcc alltoall.c -o alltoall && oshrun -n 4 ./alltoall
 */
#include <stdio.h>
#include <shmem.h>

#define BLOCK	1000
#define ROUNDS	20

static int me, npes;

/* An element of the block that @from has for @to. */
static long value(int from, int to, int round, int i)
{
	return ((from * 100L + to) * 100 + round) * BLOCK + i;
}

static void fill(long *out, int round)
{
	int pe, i;

	for (pe = 0; pe < npes; pe++)
		for (i = 0; i < BLOCK; i++)
			out[pe * BLOCK + i] = value(me, pe, round, i);
}

static int check(const long *in, int from, int round)
{
	int i, wrong = 0;

	for (i = 0; i < BLOCK; i++)
		wrong += in[from * BLOCK + i] != value(from, me, round, i);
	return wrong;
}

static int by_puts(long *in, long *out, uint64_t *came, int *taken, int round)
{
	int pe, i, wrong = 0;

	for (i = 0; i < npes; i++) {
		pe = (me + i) % npes;
		taken[pe] = 0;
		shmem_long_put_signal_nbi(in + me * BLOCK, out + pe * BLOCK, BLOCK, &came[me],
					  (uint64_t)round, SHMEM_SIGNAL_SET, pe);
	}
	for (i = 0; i < npes; i++) {
		pe = (int)shmem_uint64_wait_until_any(came, (size_t)npes, taken, SHMEM_CMP_GE,
						      (uint64_t)round);
		wrong += check(in, pe, round);
		taken[pe] = 1;
	}
	return wrong;
}

int main(void)
{
	static int wrong, all_wrong;
	size_t count;
	uint64_t *came;
	long *in, *out;
	int *taken, round;

	shmem_init();
	me = shmem_my_pe();
	npes = shmem_n_pes();
	count = (size_t)npes;
	in = shmem_calloc(count, BLOCK * sizeof(*in));
	out = shmem_calloc(count, BLOCK * sizeof(*out));
	came = shmem_calloc(count, sizeof(*came));
	taken = shmem_calloc(count, sizeof(*taken));
	if (!in || !out || !came || !taken)
		shmem_global_exit(1);

	for (round = 1; round <= ROUNDS; round++) {
		fill(out, round);
		wrong += by_puts(in, out, came, taken, round);
		/* the blocks are free again at all PEs, and out is this PE's */
		shmem_barrier_all();
		fill(out, -round);
		shmem_long_alltoall(SHMEM_TEAM_WORLD, in, out, BLOCK);
		wrong += check(in, round % npes, -round);
		shmem_barrier_all();
	}
	shmem_int_sum_reduce(SHMEM_TEAM_WORLD, &all_wrong, &wrong, 1);
	if (!me)
		printf("alltoall: %s\n", all_wrong ? "WRONG" : "as the reference");
	shmem_free(taken);
	shmem_free(came);
	shmem_free(out);
	shmem_free(in);
	shmem_finalize();
	return all_wrong != 0;
}
