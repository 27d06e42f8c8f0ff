// SPDX-License-Identifier: MIT
/*
 * A wavefront over a grid that is dealt out in columns, written as programs before OpenSHMEM
 * 1.2 are: start_pes(), shmalloc(), deprecated atomics, pSync and pWrk wherever there was
 * room for them, and exit() at the end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <mpp/shmem.h>

#define ROWS	60
#define WIDTH	37	/* columns of a PE */
#define SWEEPS	20

#define AT(i, j)	grid[(i) + 1 + (j) * (WIDTH + 1)]

static double *grid, *edge;
static int *flag;
static int me, npes;
static double worst, mine;
static long corner;

static void sweep(int n)
{
	int i, j;

	for (j = 1; j < ROWS; j++) {
		if (me) {
			shmem_int_wait_until(&flag[j], _SHMEM_CMP_NE, n % 2);
			AT(-1, j) = edge[j];
		}
		for (i = !me; i < WIDTH; i++)
			AT(i, j) = AT(i - 1, j) + AT(i, j - 1) - AT(i - 1, j - 1);
		if (me != npes - 1) {
			shmem_putmem(&edge[j], &AT(WIDTH - 1, j), sizeof(double), me + 1);
			shmem_fence();
			shmem_int_swap(&flag[j], !(n % 2), me + 1);
		}
	}
	/* the next sweep begins with what this one came to */
	if (me == npes - 1) {
		edge[0] = -AT(WIDTH - 1, ROWS - 1);
		shmem_putmem(&edge[0], &edge[0], sizeof(double), 0);
		shmem_fence();
		shmem_int_swap(&flag[0], !(n % 2), 0);
	}
	if (!me) {
		shmem_int_wait_until(&flag[0], _SHMEM_CMP_NE, n % 2);
		AT(0, 0) = edge[0];
	}
}

int main(void)
{
	long pSync[_SHMEM_REDUCE_SYNC_SIZE];
	double pWrk[_SHMEM_REDUCE_MIN_WRKDATA_SIZE], want;
	int i, j;

	start_pes(0);
	me = _my_pe();
	npes = _num_pes();
	for (i = 0; i < _SHMEM_REDUCE_SYNC_SIZE; i++)
		pSync[i] = _SHMEM_SYNC_VALUE;
	flag = shmalloc(ROWS * sizeof(*flag));
	edge = shmemalign(64, ROWS * sizeof(*edge));
	grid = shmalloc((WIDTH + 1) * ROWS * sizeof(*grid));
	if (!flag || !edge || !grid)
		return 1;
	for (j = 0; j < ROWS; j++) {
		flag[j] = 0;
		for (i = -1; i < WIDTH; i++)
			AT(i, j) = j ? 0 : me * WIDTH + i;
		if (!me)
			AT(0, j) = j;
	}
	shmem_barrier_all();
	for (i = 0; i < SWEEPS; i++)
		sweep(i);
	want = (double)SWEEPS * (npes * WIDTH - 1 + ROWS - 1);
	if (me == npes - 1)
		mine = AT(WIDTH - 1, ROWS - 1) - want;
	mine = mine < 0 ? -mine : mine;
	/* before what no PE leaves until all are in it: the root's value may come then */
	corner = me + 1;
	shmem_double_max_to_all(&worst, &mine, 1, 0, 0, npes, pWrk, pSync);
	shmem_broadcast64(&corner, &corner, 1, npes - 1, 0, 0, npes, pSync);
	if (worst > 1e-9 || corner != npes)
		return 1;
	if (!me)
		printf("pipeline: %d sweeps, as one PE computes them\n", SWEEPS);
	shfree(grid);
	shfree(edge);
	shfree(flag);
	exit(0);
}
