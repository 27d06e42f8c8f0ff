/* SPDX-License-Identifier: MIT */
/*
 * How a PE is reached, in the two ways of gda/shmem.h. Direct access: the PE's memory is mapped
 * here, and calls are loads, stores and atomics of this processor. They are inline, so that
 * shmem_long_p() is a check and a store. By queue: calls post work requests (queue.c).
 *
 * Order: a store that another PE may wait for is a release, and a wait reads with acquire; so data
 * put before a signal, or before a barrier's word, is visible after it. By queue there is one queue
 * pair to each PE, which executes requests in order.
 */
#ifndef GDA_OSH_REACH_H
#define GDA_OSH_REACH_H

#include <string.h>
#include <gda/barrier.h>
#include "osh.h"

#define gda_osh_likely(x)	__builtin_expect(!!(x), 1)

/* The name of the calling function: __func__ is "pshmem_...". */
#define GDA_OSH_CALL_NAME	(__func__ + 1)

/* Does not return if there is no such PE. */
static inline __attribute__((always_inline)) const struct gda_shmem_peer *
gda_osh_peer(const char *call, const volatile void *addr, size_t bytes, int pe)
{
	const struct gda_shmem *s = gda_osh.s;

	if (!gda_osh_likely((uint32_t)pe < s->npes))
		gda_osh_bad(call, (const void *)addr, bytes, pe);
	return (const struct gda_shmem_peer *)(uintptr_t)s->peers + (uint32_t)pe;
}

/*
 * The address here of @bytes at @addr of a PE with direct access. Does not return if they are not
 * symmetric, so unlike gda_shmem_mapped() it has no result to check.
 */
static inline __attribute__((always_inline)) char *
gda_osh_mapped_of(const char *call, const struct gda_shmem_peer *p, const volatile void *addr,
		  size_t bytes, int pe)
{
	const struct gda_shmem *s = gda_osh.s;
	uint64_t heap = (uintptr_t)addr - s->heap, data = (uintptr_t)addr - s->data;

	/* the heap is at least as large as the library's part */
	if (__builtin_constant_p(bytes) && bytes <= sizeof(struct gda_osh_slot) ?
	    gda_osh_likely(heap <= s->heap_bytes - bytes) :
	    heap < s->heap_bytes && bytes <= s->heap_bytes - heap)
		return (char *)(uintptr_t)(p->heap + heap);
	if (data < s->data_bytes && bytes <= s->data_bytes - data)
		return (char *)(uintptr_t)(p->data + data);
	gda_osh_bad(call, (const void *)addr, bytes, pe);
}

/*
 * The address here of @bytes at @addr of @pe; NULL if @pe is reached by queue. Does not return if
 * there is no such PE, or if the bytes of a mapped PE are not symmetric.
 */
static inline __attribute__((always_inline)) char *
gda_osh_mapped(const char *call, const volatile void *addr, size_t bytes, int pe)
{
	const struct gda_shmem_peer *p = gda_osh_peer(call, addr, bytes, pe);

	return gda_osh_likely(p->heap) ? gda_osh_mapped_of(call, p, addr, bytes, pe) : NULL;
}

/* Size of @nelems elements; SIZE_MAX, which no symmetric memory has, if it overflows. */
static inline size_t gda_osh_bytes(size_t nelems, size_t each)
{
	size_t bytes;

	return __builtin_mul_overflow(nelems, each, &bytes) ? SIZE_MAX : bytes;
}

#define GDA_OSH_BYTES(T)	gda_osh_bytes(nelems, sizeof(T))

int gda_osh_ctx_pe(const char *call, shmem_ctx_t ctx, int pe);

/* The number in the world of @pe of the context's team. */
static inline int gda_osh_pe(const char *call, shmem_ctx_t ctx, int pe)
{
	return ctx == SHMEM_CTX_DEFAULT ? pe : gda_osh_ctx_pe(call, ctx, pe);
}

#define GDA_OSH_PE(ctx, pe)	gda_osh_pe(GDA_OSH_CALL_NAME, ctx, pe)

/* For a get: one word, which most calls move, is one load and one store. */
static inline void gda_osh_copy(void *to, const void *from, size_t bytes)
{
	if (bytes == sizeof(uint64_t))
		memcpy(to, from, sizeof(uint64_t));
	else
		memmove(to, from, bytes);
}

/* The source may be changed when this returns. */
static inline void gda_osh_put(const char *call, void *dest, const void *source, size_t bytes,
			       int pe)
{
	char *at = bytes ? gda_osh_mapped(call, dest, bytes, pe) : NULL;

	if (gda_osh_likely(at))
		gda_shmem_copy_put(at, source, bytes);
	else if (bytes)
		gda_osh_queue_put(call, dest, source, bytes, pe);
}

/* The source may be changed after gda_osh_quiet(). */
static inline void gda_osh_put_nbi(const char *call, void *dest, const void *source,
				   size_t bytes, int pe)
{
	char *at = bytes ? gda_osh_mapped(call, dest, bytes, pe) : NULL;

	if (gda_osh_likely(at))
		gda_shmem_copy_put(at, source, bytes);
	else if (bytes)
		gda_osh_queue_put_nbi(call, dest, source, bytes, pe);
}

static inline void gda_osh_get(const char *call, void *dest, const void *source, size_t bytes,
			       int pe)
{
	char *at = bytes ? gda_osh_mapped(call, source, bytes, pe) : NULL;

	if (gda_osh_likely(at))
		gda_osh_copy(dest, at, bytes);
	else if (bytes)
		gda_osh_queue_get(call, dest, source, bytes, pe);
}

/* The bytes have arrived after gda_osh_quiet(). */
static inline void gda_osh_get_nbi(const char *call, void *dest, const void *source,
				   size_t bytes, int pe)
{
	char *at = bytes ? gda_osh_mapped(call, source, bytes, pe) : NULL;

	if (gda_osh_likely(at))
		gda_osh_copy(dest, at, bytes);
	else if (bytes)
		gda_osh_queue_get_nbi(call, dest, source, bytes, pe);
}

static inline uint64_t gda_osh_load(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/*
 * Called after a store that a direct PE may wait for in gda_osh_wait_least(). There is no fence in
 * between, which would take as long as the store: gda_osh_sleep_least() polls on for the time that
 * a store needs to become visible, and its sleep is bounded.
 */
static inline void gda_osh_stored(const struct gda_shmem_peer *p)
{
	struct gda_osh_control *control = (struct gda_osh_control *)(uintptr_t)p->heap;

	if (!gda_osh_likely(!__atomic_load_n(&control->asleep, __ATOMIC_RELAXED)))
		gda_osh_wake(&control->asleep);
}

/* Change a word at a peer that waits in gda_osh_wait_least(). */
static inline void gda_osh_set(const char *call, uint64_t *word, uint64_t value, int pe)
{
	const struct gda_shmem_peer *p = gda_osh_peer(call, word, sizeof(*word), pe);

	if (gda_osh_likely(p->heap)) {
		__atomic_store_n((uint64_t *)gda_osh_mapped_of(call, p, word, sizeof(*word), pe),
				 value, __ATOMIC_RELEASE);
		gda_osh_stored(p);
	} else {
		gda_osh_queue_set(call, word, value, pe);
	}
}

static inline uint64_t gda_osh_load_from(const char *call, const uint64_t *word, int pe)
{
	char *at = gda_osh_mapped(call, word, sizeof(*word), pe);
	uint64_t value;

	if (gda_osh_likely(at))
		return gda_osh_load((const uint64_t *)at);
	gda_osh_queue_get(call, &value, word, sizeof(value), pe);
	return value;
}

static inline void gda_osh_add(const char *call, uint64_t *word, uint64_t value, int pe)
{
	const struct gda_shmem_peer *p = gda_osh_peer(call, word, sizeof(*word), pe);

	if (gda_osh_likely(p->heap)) {
		__atomic_fetch_add((uint64_t *)gda_osh_mapped_of(call, p, word, sizeof(*word), pe),
				   value, __ATOMIC_ACQ_REL);
		gda_osh_stored(p);
	} else {
		gda_osh_queue_add(call, word, value, pe);
	}
}

/*
 * A direct put has been done when its call returns, but may not be visible; queues keep the order.
 */
static inline void gda_osh_fence(void)
{
	__atomic_thread_fence(__ATOMIC_ACQ_REL);
}

static inline void gda_osh_quiet(const char *call)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (gda_osh.s->qps)
		gda_osh_queue_quiet(call);
}

/* Called after the @polls-th poll in vain. */
static inline void gda_osh_relax(const char *call, unsigned int polls)
{
	if (polls < __atomic_load_n(&gda_osh.spins, __ATOMIC_RELAXED))
		gda_pause();
	else
		gda_osh_rest(call, polls);
}

/*
 * Wait for a word that peers store by gda_osh_set() or gda_osh_add(). Direct stores wake a sleeping
 * waiter; work requests do not.
 */
static inline void gda_osh_wait_least(const char *call, const uint64_t *word, uint64_t least)
{
	unsigned int polls = 0;

	while (gda_osh_load(word) < least) {
		if (++polls >= __atomic_load_n(&gda_osh.looks, __ATOMIC_RELAXED) && !gda_osh.s->qps) {
			gda_osh_sleep_least(call, word, least);
			return;
		}
		gda_osh_relax(call, polls);
	}
}

#endif /* GDA_OSH_REACH_H */
