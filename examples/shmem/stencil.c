// SPDX-License-Identifier: MIT
/*
 * Heat spreads in a rod: a stencil of three points. Each PE has a part of the rod, and
 * before each step puts its first and last point into the neighbours' edges. At the end
 * every PE compares its part with the whole rod, which it has computed alone.
 *
 *   oshcc stencil.c -o stencil && oshrun -n 4 ./stencil
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <shmem.h>

enum { POINTS = 64, STEPS = 500 };	/* points of each PE */

/* Points 1 to POINTS are the PE's own; 0 and POINTS + 1 are the neighbours'. */
static double rod[POINTS + 2];

static void step(double *now, int points)
{
	double left = now[0], mid;
	int i;

	for (i = 1; i <= points; i++) {
		mid = now[i];
		now[i] = mid + 0.25 * (left - 2 * mid + now[i + 1]);
		left = mid;
	}
}

/* Both ends of the rod stay at 0. */
static void exchange(int me, int npes)
{
	if (me > 0)
		shmem_double_p(&rod[POINTS + 1], rod[1], me - 1);
	if (me < npes - 1)
		shmem_double_p(&rod[0], rod[POINTS], me + 1);
	shmem_barrier_all();
}

static int compare(int me, int npes)
{
	int points = npes * POINTS, i, wrong;
	double *whole = calloc((size_t)points + 2, sizeof(*whole));

	if (!whole)
		return 1;
	whole[points / 2] = 1000;
	for (i = 0; i < STEPS; i++)
		step(whole, points);
	wrong = memcmp(&whole[1 + me * POINTS], &rod[1], POINTS * sizeof(*rod));
	free(whole);
	return wrong != 0;
}

int main(void)
{
	static int wrong, all;
	int me, npes, i;

	shmem_init();
	me = shmem_my_pe();
	npes = shmem_n_pes();

	i = npes * POINTS / 2 - me * POINTS;
	if (i >= 1 && i <= POINTS)
		rod[i] = 1000;
	for (i = 0; i < STEPS; i++) {
		exchange(me, npes);
		step(rod, POINTS);
		shmem_barrier_all();
	}

	wrong = compare(me, npes);
	shmem_int_sum_reduce(SHMEM_TEAM_WORLD, &all, &wrong, 1);
	if (!me)
		printf("%d points after %d steps: %s\n", npes * POINTS, STEPS,
		       all ? "WRONG" : "as computed by one PE");
	shmem_finalize();
	return all != 0;
}
