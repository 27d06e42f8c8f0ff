/* SPDX-License-Identifier: MIT */
/*
 * How a PE is reached. Today there is one way, gda/shmem.h's direct one: its memory is mapped
 * here, and calls are loads, stores and atomics of this processor. They are inline so that
 * shmem_long_p() is a check and a store.
 *
 * Order: a store that another PE may wait for is a release, and what a wait reads is read
 * with acquire; so data put before a signal, or before a barrier's word, is seen after it.
 */
#ifndef GDA_OSH_WAY_H
#define GDA_OSH_WAY_H

#include <sched.h>
#include <string.h>
#include <gda/barrier.h>
#include "osh.h"

#define gda_osh_likely(x)	__builtin_expect(!!(x), 1)

/* The name of the call that this is in: __func__ is "pshmem_...". */
#define GDA_OSH_CALL_NAME	(__func__ + 1)

/* Where @bytes at @addr of this PE are at @pe. Does not return if that is nowhere. */
static inline char *gda_osh_at(const char *call, const volatile void *addr, size_t bytes,
			       int pe)
{
	const struct gda_shmem_peer *p = gda_shmem_peer(gda_osh.s, (uint32_t)pe);
	char *at = p ? gda_shmem_mapped(gda_osh.s, p, (const void *)addr, bytes) : NULL;

	if (!gda_osh_likely(at))
		gda_osh_bad(call, (const void *)addr, bytes, pe);
	return at;
}

/* Same for a variable or an array element of type T. */
#define GDA_OSH_AT(T, addr, pe)	((T *)gda_osh_at(GDA_OSH_CALL_NAME, addr, sizeof(T), pe))

int gda_osh_ctx_pe(const char *call, shmem_ctx_t ctx, int pe);

/* The PE of the world that @pe of the context's team is. */
static inline int gda_osh_pe(const char *call, shmem_ctx_t ctx, int pe)
{
	return ctx == SHMEM_CTX_DEFAULT ? pe : gda_osh_ctx_pe(call, ctx, pe);
}

#define GDA_OSH_PE(ctx, pe)	gda_osh_pe(GDA_OSH_CALL_NAME, ctx, pe)

static inline void gda_osh_put(const char *call, void *dest, const void *source, size_t bytes,
			       int pe)
{
	if (bytes)
		memmove(gda_osh_at(call, dest, bytes, pe), source, bytes);
}

static inline void gda_osh_get(const char *call, void *dest, const void *source, size_t bytes,
			       int pe)
{
	if (bytes)
		memmove(dest, gda_osh_at(call, source, bytes, pe), bytes);
}

static inline uint64_t gda_osh_load(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* Words of the library's own, at a peer. */
static inline void gda_osh_set(const char *call, uint64_t *word, uint64_t value, int pe)
{
	__atomic_store_n((uint64_t *)gda_osh_at(call, word, sizeof(*word), pe), value,
			 __ATOMIC_RELEASE);
}

/* Blocking or not, a put by this way is done when the call returns, but may be unseen. */
static inline void gda_osh_fence(void)
{
	__atomic_thread_fence(__ATOMIC_ACQ_REL);
}

static inline void gda_osh_quiet(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* After the @polls-th look in vain: spin, or let others run, who may be who we wait for. */
static inline void gda_osh_relax(const char *call, unsigned int polls)
{
	if (polls < gda_osh.spins) {
		gda_pause();
		return;
	}
	sched_yield();
	if (polls % 64 == 0)
		gda_osh_check(call);
}

static inline void gda_osh_wait_least(const char *call, const uint64_t *word, uint64_t least)
{
	unsigned int polls = 0;

	while (gda_osh_load(word) < least)
		gda_osh_relax(call, ++polls);
}

#endif /* GDA_OSH_WAY_H */
