/* SPDX-License-Identifier: MIT */
/*
 * Each call that has no type in its name, with each type that it takes: C11 and C++ from one
 * text. Next to a put comes what the specification says that it did.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <shmem.h>

#define N	10

static int me, npes, next, prev, wrong;
static shmem_ctx_t ctx;

#define EXPECT(what) \
	do { \
		if (!(what)) { \
			wrong++; \
			printf("PE %d: line %d: %s\n", me, __LINE__, #what); \
		} \
	} while (0)

#define RMA(T) \
	do { \
		static T to[N], one; \
		static uint64_t word; \
		T from[N], back[N]; \
		int i; \
		for (i = 0; i < N; i++) \
			from[i] = (T)(me + i); \
		word = 0; \
		shmem_barrier_all(); \
		shmem_put(to, from, N, next); \
		shmem_barrier_all(); \
		for (i = 0; i < N; i++) \
			EXPECT(to[i] == (T)(prev + i)); \
		shmem_get(ctx, back, to, N, next); \
		EXPECT(back[N - 1] == from[N - 1]); \
		shmem_barrier_all(); \
		shmem_iput(to, from, 2, 1, N / 2, next); \
		shmem_put_nbi(ctx, &to[1], &from[N - 1], 1, next); \
		shmem_quiet(); \
		shmem_barrier_all(); \
		EXPECT(to[2] == (T)(prev + 1) && to[8] == (T)(prev + 4)); \
		EXPECT(to[1] == (T)(prev + N - 1)); \
		shmem_iget(back, to, 1, 2, N / 2, next); \
		shmem_get_nbi(&back[N - 1], &to[1], 1, next); \
		shmem_ctx_quiet(ctx); \
		shmem_quiet(); \
		EXPECT(back[4] == from[4] && back[N - 1] == from[N - 1]); \
		shmem_p(&one, (T)(me + 3), next); \
		shmem_barrier_all(); \
		EXPECT(one == (T)(prev + 3) && shmem_g(ctx, &one, next) == (T)(me + 3)); \
		shmem_put_signal(to, from, N, &word, 1, SHMEM_SIGNAL_SET, next); \
		shmem_signal_wait_until(&word, SHMEM_CMP_EQ, 1); \
		EXPECT(to[N - 1] == (T)(prev + N - 1)); \
		shmem_barrier_all(); \
		shmem_put_signal_nbi(ctx, to, from, N, &word, 2, SHMEM_SIGNAL_ADD, next); \
		shmem_signal_wait_until(&word, SHMEM_CMP_GT, 2); \
		EXPECT(word == 3); \
		shmem_barrier_all(); \
	} while (0)

#define COLLECTIVE(T) \
	do { \
		static T to[64 * N], from[N]; \
		int i; \
		for (i = 0; i < N; i++) \
			from[i] = (T)(me + i); \
		EXPECT(!shmem_broadcast(SHMEM_TEAM_WORLD, to, from, N, npes - 1)); \
		EXPECT(to[N - 1] == (T)(npes - 1 + N - 1)); \
		shmem_sync(SHMEM_TEAM_WORLD); \
		EXPECT(!shmem_fcollect(SHMEM_TEAM_WORLD, to, from, N)); \
		EXPECT(to[prev * N + 1] == (T)(prev + 1)); \
		shmem_sync(SHMEM_TEAM_WORLD); \
		EXPECT(!shmem_collect(SHMEM_TEAM_WORLD, to, from, (size_t)me)); \
		EXPECT(npes < 2 || to[0] == (T)1); \
		shmem_sync(SHMEM_TEAM_WORLD); \
		EXPECT(!shmem_alltoall(SHMEM_TEAM_WORLD, to, from, 1)); \
		EXPECT(to[prev] == (T)(prev + me)); \
		shmem_sync(SHMEM_TEAM_WORLD); \
		EXPECT(!shmem_alltoalls(SHMEM_TEAM_WORLD, to, from, 3, 1, 1)); \
		EXPECT(to[3 * prev] == (T)(prev + me)); \
		shmem_sync(SHMEM_TEAM_WORLD); \
	} while (0)

#define REDUCE(T, op, want) \
	do { \
		static T to[N], from[N]; \
		int i; \
		for (i = 0; i < N; i++) \
			from[i] = (T)(me + 1); \
		EXPECT(!shmem_##op##_reduce(SHMEM_TEAM_WORLD, to, from, N)); \
		EXPECT(to[0] == (T)(want) && to[N - 1] == (T)(want)); \
		/* one of them, and in place */ \
		EXPECT(!shmem_##op##_reduce(SHMEM_TEAM_WORLD, from, from, 1)); \
		EXPECT(from[0] == (T)(want) && from[1] == (T)(me + 1)); \
	} while (0)

#define ORDERED(T) \
	do { \
		int product = 1, k; \
		for (k = 2; k <= npes; k++) \
			product *= k; \
		REDUCE(T, max, npes); \
		REDUCE(T, min, 1); \
		REDUCE(T, sum, npes * (npes + 1) / 2); \
		REDUCE(T, prod, product); \
	} while (0)

#define BITS(T) \
	do { \
		int any = 0, every = ~0, odd = 0, k; \
		for (k = 1; k <= npes; k++) { \
			any |= k; \
			every &= k; \
			odd ^= k; \
		} \
		REDUCE(T, and, every); \
		REDUCE(T, or, any); \
		REDUCE(T, xor, odd); \
	} while (0)

#define EXTENDED(T) \
	do { \
		static T word, old; \
		word = (T)me; \
		shmem_barrier_all(); \
		EXPECT(shmem_atomic_fetch(&word, next) == (T)next); \
		shmem_barrier_all(); \
		shmem_atomic_set(ctx, &word, (T)7, next); \
		shmem_ctx_quiet(ctx); \
		shmem_barrier_all(); \
		EXPECT(shmem_atomic_swap(&word, (T)8, next) == (T)7); \
		shmem_atomic_fetch_nbi(&old, &word, next); \
		shmem_quiet(); \
		EXPECT(old == (T)8); \
		shmem_atomic_swap_nbi(ctx, &old, &word, (T)9, next); \
		shmem_ctx_quiet(ctx); \
		EXPECT(old == (T)8); \
		shmem_barrier_all(); \
		EXPECT(word == (T)9); \
		shmem_barrier_all(); \
	} while (0)

#define STANDARD(T) \
	do { \
		static T word, old; \
		int k; \
		EXTENDED(T); \
		word = 0; \
		shmem_barrier_all(); \
		for (k = 0; k < npes; k++) \
			shmem_atomic_inc(&word, k); \
		shmem_atomic_add(ctx, &word, (T)2, next); \
		shmem_ctx_quiet(ctx); \
		shmem_barrier_all(); \
		EXPECT(word == (T)(npes + 2)); \
		shmem_barrier_all(); \
		EXPECT(shmem_atomic_fetch_inc(&word, next) == (T)(npes + 2)); \
		EXPECT(shmem_atomic_fetch_add(&word, (T)3, next) == (T)(npes + 3)); \
		EXPECT(shmem_atomic_compare_swap(&word, (T)1, (T)2, next) == (T)(npes + 6)); \
		EXPECT(shmem_atomic_compare_swap(&word, (T)(npes + 6), (T)2, next) == \
		       (T)(npes + 6)); \
		shmem_atomic_fetch_inc_nbi(&old, &word, next); \
		shmem_quiet(); \
		EXPECT(old == (T)2); \
		shmem_atomic_compare_swap_nbi(&old, &word, (T)3, (T)5, next); \
		shmem_quiet(); \
		EXPECT(old == (T)3); \
		shmem_barrier_all(); \
		EXPECT(word == (T)5 && shmem_test(&word, SHMEM_CMP_EQ, (T)5)); \
		shmem_barrier_all(); \
		shmem_p(&word, (T)6, next); \
		shmem_wait_until(&word, SHMEM_CMP_EQ, (T)6); \
		EXPECT(shmem_test_any(&word, 1, NULL, SHMEM_CMP_EQ, (T)6) == 0); \
		shmem_wait_until_all(&word, 1, NULL, SHMEM_CMP_LE, (T)6); \
		shmem_barrier_all(); \
	} while (0)

#define BITWISE(T) \
	do { \
		static T word; \
		word = (T)12; \
		shmem_barrier_all(); \
		shmem_atomic_or(&word, (T)3, next); \
		EXPECT(shmem_atomic_fetch_and(&word, (T)6, next) == (T)15); \
		EXPECT(shmem_atomic_fetch_xor(ctx, &word, (T)1, next) == (T)6); \
		EXPECT(shmem_atomic_fetch_or(&word, (T)8, next) == (T)7); \
		shmem_atomic_and(&word, (T)9, next); \
		shmem_atomic_xor(&word, (T)5, next); \
		shmem_quiet(); \
		shmem_barrier_all(); \
		EXPECT(word == (T)12); \
		shmem_barrier_all(); \
	} while (0)

#define FOR_INTEGERS(DO) \
	do { \
		DO(short); DO(int); DO(long); DO(long long); DO(unsigned short); \
		DO(unsigned int); DO(unsigned long); DO(unsigned long long); \
		DO(int16_t); DO(int32_t); DO(int64_t); DO(uint16_t); DO(uint32_t); \
		DO(uint64_t); DO(size_t); DO(ptrdiff_t); \
	} while (0)
#define FOR_BYTES(DO) \
	do { \
		DO(char); DO(signed char); DO(unsigned char); DO(int8_t); DO(uint8_t); \
	} while (0)
#define FOR_FLOATS(DO)	do { DO(float); DO(double); DO(long double); } while (0)
#define FOR_WORDS(DO) \
	do { \
		DO(int); DO(long); DO(long long); DO(unsigned int); DO(unsigned long); \
		DO(unsigned long long); DO(int32_t); DO(int64_t); DO(uint32_t); \
		DO(uint64_t); DO(size_t); DO(ptrdiff_t); \
	} while (0)
#define FOR_BITS(DO) \
	do { \
		DO(unsigned int); DO(unsigned long); DO(unsigned long long); DO(int32_t); \
		DO(int64_t); DO(uint32_t); DO(uint64_t); \
	} while (0)

int main(void)
{
	shmem_init();
	me = shmem_my_pe();
	npes = shmem_n_pes();
	next = (me + 1) % npes;
	prev = (me + npes - 1) % npes;
	if (shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx))
		shmem_global_exit(1);

	FOR_BYTES(RMA);
	FOR_INTEGERS(RMA);
	FOR_FLOATS(RMA);
	FOR_BYTES(COLLECTIVE);
	FOR_INTEGERS(COLLECTIVE);
	FOR_FLOATS(COLLECTIVE);
	FOR_INTEGERS(ORDERED);
	FOR_FLOATS(ORDERED);
	FOR_BITS(BITS);
	FOR_WORDS(STANDARD);
	EXTENDED(float);
	EXTENDED(double);
	FOR_BITS(BITWISE);

	shmem_ctx_destroy(ctx);
	if (!me)
		printf("generic: %s\n", wrong ? "WRONG" : "every type");
	shmem_finalize();
	return wrong != 0;
}
