// SPDX-License-Identifier: MIT
/* Each put, get and put with signal, to the next PE and from it. */
#include "every.h"

static uint64_t signal_word;

/* The two blocks, of which the second is filled; @bytes of the first and a little more are zero. */
#define EVERY_BLOCKS(T, elements) \
	const size_t bytes = (elements) * sizeof(T); \
	char *dst = every_memory(0), *src = every_memory(1); \
	every_fill(src, bytes, me); \
	memset(dst, 0, bytes + 3 * sizeof(T)); \
	shmem_barrier_all()

/* A block of @pe, behind it a gap, then one element of @pe, which is a case of its own. */
static bool block_is(const char *dst, size_t bytes, size_t size, int pe)
{
	const char *one = dst + bytes + size;

	return every_is(dst, bytes, pe) && every_zero(dst + bytes, size) &&
	       every_is(one, size, pe) && every_zero(one + size, size);
}

#define EVERY_put(T, f) \
	EVERY_BLOCKS(T, EVERY_N); \
	f((void *)dst, (void *)src, EVERY_N, next); \
	f((void *)(dst + bytes + sizeof(T)), (void *)src, 1, next); \
	shmem_barrier_all(); \
	EXPECT(block_is(dst, bytes, sizeof(T), prev))
#define EVERY_put_nbi(T, f)	EVERY_put(T, f)
#define EVERY_get(T, f) \
	EVERY_BLOCKS(T, EVERY_N); \
	f((void *)dst, (void *)src, EVERY_N, next); \
	f((void *)(dst + bytes + sizeof(T)), (void *)src, 1, next); \
	shmem_quiet(); \
	shmem_ctx_quiet(every_ctx); \
	EXPECT(block_is(dst, bytes, sizeof(T), next)); \
	shmem_barrier_all()
#define EVERY_get_nbi(T, f)	EVERY_get(T, f)
/* The signal is set to 5, or 5 is added to 3. */
#define EVERY_SIGNAL(T, f, add) \
	const uint64_t want = (add) ? 8 : 5; \
	signal_word = 3; \
	EVERY_BLOCKS(T, EVERY_N); \
	f((void *)dst, (void *)src, EVERY_N, &signal_word, 5, \
	  (add) ? SHMEM_SIGNAL_ADD : SHMEM_SIGNAL_SET, next); \
	EXPECT(shmem_signal_wait_until(&signal_word, SHMEM_CMP_NE, 3) == want); \
	EXPECT(every_is(dst, bytes, prev) && every_zero(dst + bytes, sizeof(T))); \
	shmem_barrier_all()
#define EVERY_put_signal(T, f) \
	int op; \
	for (op = 0; op < 2; op++) \
		if (every_variant(op, 2)) { \
			EVERY_SIGNAL(T, f, op); \
		}
#define EVERY_put_signal_nbi(T, f)	EVERY_put_signal(T, f)

/* Every third element of what @pe has, at every second place. */
static bool strided_is(const char *dst, size_t size, int pe)
{
	static char want[EVERY_BYTES];
	size_t i;

	every_fill(want, 3 * EVERY_N * size, pe);
	for (i = 0; i < EVERY_N; i++)
		if (memcmp(dst + 2 * i * size, want + 3 * i * size, size) ||
		    !every_zero(dst + (2 * i + 1) * size, size))
			return false;
	return true;
}

#define EVERY_iput(T, f) \
	EVERY_BLOCKS(T, 3 * EVERY_N); \
	f((void *)dst, (void *)src, 2, 3, EVERY_N, next); \
	shmem_barrier_all(); \
	EXPECT(strided_is(dst, sizeof(T), prev)); \
	(void)bytes
#define EVERY_iget(T, f) \
	EVERY_BLOCKS(T, 3 * EVERY_N); \
	f((void *)dst, (void *)src, 2, 3, EVERY_N, next); \
	EXPECT(strided_is(dst, sizeof(T), next)); \
	shmem_barrier_all(); \
	(void)bytes
#define EVERY_p(T, f) \
	T *to = every_memory(0); \
	*to = 0; \
	shmem_barrier_all(); \
	f(to, V(T, me, way), next); \
	shmem_barrier_all(); \
	EXPECT(*to == V(T, prev, way))
#define EVERY_g(T, f) \
	T *from = every_memory(1); \
	*from = V(T, me, way); \
	shmem_barrier_all(); \
	EXPECT(f(from, next) == V(T, next, way)); \
	shmem_barrier_all()

GDA_OSH_RMA_CTX(EVERY_CTX)

void every_rma(void)
{
	GDA_OSH_RMA_CTX(EVERY_RUN)
}
