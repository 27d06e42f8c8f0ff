// SPDX-License-Identifier: MIT
/*
 * A PE that waits for the last word of a put takes it away at once. It does not come back, and
 * the other words are there. By the direct way only: a queue promises this of signals.
 */
#include <stdio.h>
#include <shmem.h>

#define MOST	300
#define ROUNDS	1000
#define LOOKS	100

static int failed;
static long answer;

/* PE 0 puts arrays of @n, and PE 1 takes their last words away. */
#define TAKE(N, T) \
static volatile T in_##N[MOST]; \
\
static void put_##N(int n) \
{ \
	T out[MOST]; \
	int round, i; \
\
	for (round = 1; round <= ROUNDS; round++) { \
		for (i = 0; i < n; i++) \
			out[i] = (T)(round % 100 + 1); \
		shmem_##N##_put((T *)in_##N, out, (size_t)n, 1); \
		shmem_long_wait_until(&answer, SHMEM_CMP_EQ, round); \
	} \
	answer = 0; \
} \
\
static void take_##N(int n) \
{ \
	int round, i; \
\
	for (round = 1; round <= ROUNDS; round++) { \
		shmem_##N##_wait_until(&in_##N[n - 1], SHMEM_CMP_NE, 0); \
		in_##N[n - 1] = 0; \
		for (i = 0; i < n - 1; i++) \
			failed |= in_##N[i] != (T)(round % 100 + 1); \
		for (i = 0; i < LOOKS; i++) \
			failed |= in_##N[n - 1] != 0; \
		shmem_long_p(&answer, round, 0); \
	} \
} \
\
static void both_##N(int n) \
{ \
	shmem_barrier_all(); \
	if (shmem_my_pe() == 0) \
		put_##N(n); \
	if (shmem_my_pe() == 1) \
		take_##N(n); \
}

TAKE(long, long)
TAKE(int, int)
TAKE(short, short)

int main(void)
{
	static const int counts[] = { 1, 2, 3, 5, 8, 16, 17, 31, 33, 64, 127, 128, MOST };
	size_t i;

	shmem_init();
	for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		both_long(counts[i]);
		both_int(counts[i]);
		both_short(counts[i]);
	}
	shmem_int_max_reduce(SHMEM_TEAM_WORLD, &failed, &failed, 1);
	if (!shmem_my_pe() && !failed)
		puts("last_word: taken once");
	shmem_finalize();
	return failed;
}
