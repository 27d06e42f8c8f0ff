// SPDX-License-Identifier: MIT
/*
 * Each reduction, of few elements and of many, into another array and in place; by teams
 * and by active sets.
 */
#include "every.h"

static long psync[SHMEM_SYNC_SIZE];

#define EVERY_OP_and(a, b)	((a) & (b))
#define EVERY_OP_or(a, b)	((a) | (b))
#define EVERY_OP_xor(a, b)	((a) ^ (b))
#define EVERY_OP_max(a, b)	((a) > (b) ? (a) : (b))
#define EVERY_OP_min(a, b)	((a) < (b) ? (a) : (b))
#define EVERY_OP_sum(a, b)	((a) + (b))
#define EVERY_OP_prod(a, b)	((a) * (b))

/* @call reduces n elements of src to dst. */
#define EVERY_REDUCTION(op, T, call) \
	static const int counts[] = { 1, EVERY_N, EVERY_MANY }; \
	T *src = every_memory(1), *dst, want; \
	int n, c, in_place, i, pe; \
	for (c = 0; c < 6; c++) { \
		if (!every_variant(c, 6)) \
			continue; \
		in_place = c % 2; \
		n = counts[c / 2]; \
		dst = in_place ? src : every_memory(0); \
		for (i = 0; i < n; i++) \
			src[i] = V(T, me, i); \
		if (!in_place) \
			memset(dst, 0, (size_t)(n + 1) * sizeof(T)); \
		shmem_barrier_all(); \
		call; \
		for (i = 0; i < n; i++) { \
			want = V(T, 0, i); \
			for (pe = 1; pe < npes; pe++) \
				want = (T)EVERY_OP_##op(want, V(T, pe, i)); \
			if (dst[i] != want) \
				break; \
		} \
		EXPECT(i == n); \
		EXPECT(in_place || every_zero(&dst[n], sizeof(T))); \
		shmem_barrier_all(); \
	} \
	EXPECT(every_zero(psync, sizeof(psync)))

#define EVERY_TEAM(op, T, f) \
	EVERY_REDUCTION(op, T, EXPECT(!f(SHMEM_TEAM_WORLD, dst, src, (size_t)n)))
#define EVERY_and_reduce(T, f)	EVERY_TEAM(and, T, f)
#define EVERY_or_reduce(T, f)	EVERY_TEAM(or, T, f)
#define EVERY_xor_reduce(T, f)	EVERY_TEAM(xor, T, f)
#define EVERY_max_reduce(T, f)	EVERY_TEAM(max, T, f)
#define EVERY_min_reduce(T, f)	EVERY_TEAM(min, T, f)
#define EVERY_sum_reduce(T, f)	EVERY_TEAM(sum, T, f)
#define EVERY_prod_reduce(T, f)	EVERY_TEAM(prod, T, f)

GDA_OSH_REDUCE(EVERY)

#define EVERY_SET(op, T, f)	EVERY_REDUCTION(op, T, f(dst, src, n, 0, 0, npes, NULL, psync))
#define EVERY_and_to_all(T, f)	EVERY_SET(and, T, f)
#define EVERY_or_to_all(T, f)	EVERY_SET(or, T, f)
#define EVERY_xor_to_all(T, f)	EVERY_SET(xor, T, f)
#define EVERY_max_to_all(T, f)	EVERY_SET(max, T, f)
#define EVERY_min_to_all(T, f)	EVERY_SET(min, T, f)
#define EVERY_sum_to_all(T, f)	EVERY_SET(sum, T, f)
#define EVERY_prod_to_all(T, f)	EVERY_SET(prod, T, f)

GDA_OSH_TO_ALL(EVERY)

void every_reduction(void)
{
	GDA_OSH_REDUCE(EVERY_RUN)
	GDA_OSH_TO_ALL(EVERY_RUN)
}
