/* SPDX-License-Identifier: MIT */
/*
 * Checks in programs that are built with GDA_CHECK defined; without it this file compiles to
 * nothing. Included by gda/gin.h; not to be called by programs, except gda_misuse().
 *
 * A misuse has a name, is reported in one line on stderr, and ends the program. Some checks need
 * the peers: a sender announces what it is going to add, in words beside those of the signals, so
 * that the receiver knows which signals are in flight. So all ranks must be built alike, which
 * gda_gin_create() checks.
 */
#ifndef GDA_GIN_CHECK_H
#define GDA_GIN_CHECK_H

#ifdef __CUDACC__
#include <stdio.h>
#endif
#include <gda/fastpath.h>
#include <gda/gin/window.h>

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/**
 * enum gda_gin_misuse - the rules that GDA_CHECK checks
 * @GDA_MISUSE_MIXED: Inc and Add of one signal without a reset in between (G-05)
 * @GDA_MISUSE_RESET: a reset while signals are in flight (G-07)
 * @GDA_MISUSE_WINDOW: a word of an ordinary window as a signal (G-09)
 * @GDA_MISUSE_EXCLUSIVE: two threads in a %GDA_GIN_SHARE_THREAD context, or posts without
 *	%GDA_EXCLUSIVE there, or with it elsewhere (G-22)
 * @GDA_MISUSE_SOURCE: a source was changed before its counter ticked (G-10)
 * @GDA_MISUSE_BARRIER: a barrier index that is in use (G-25)
 * @GDA_MISUSE_LAYOUT: a context of a library that is older than the program
 */
enum gda_gin_misuse {
	GDA_MISUSE_MIXED,
	GDA_MISUSE_RESET,
	GDA_MISUSE_WINDOW,
	GDA_MISUSE_EXCLUSIVE,
	GDA_MISUSE_SOURCE,
	GDA_MISUSE_BARRIER,
	GDA_MISUSE_LAYOUT,
};

/**
 * gda_misuse - report that a program broke a rule, and end it
 * @what: the rule that was broken
 * @gin: the context
 * @index: of the signal, counter or barrier, or the rank of the peer
 *
 * Prints one line with the misuse's name, then calls abort(3).
 */
void gda_misuse(enum gda_gin_misuse what, const struct gda_gin *gin, uint32_t index);

#ifdef __CUDACC__
static __device__ __noinline__ void gda_misuse_gpu(enum gda_gin_misuse what,
						   const struct gda_gin *gin, uint32_t index)
{
	printf("gda: misuse %d: rank %u, context %u, index %u\n", (int)what, gin->rank,
	       gin->index, index);
	asm volatile("trap;");
}
#endif

/* Report a misuse: on a CPU by gda_misuse(); a kernel prints the number, and traps. */
GDA_HELPER void gda_gin_broken(enum gda_gin_misuse what, const struct gda_gin *gin, uint32_t index)
{
	GDA_HERE(gda_misuse(what, gin, index), gda_misuse_gpu(what, gin, index));
}

/* The check words of a context: first the posting thread, then the user of each barrier. */
GDA_HELPER uint32_t *gda_gin_check_word(const struct gda_gin *gin, uint32_t index)
{
	return (uint32_t *)(uintptr_t)gin->checks + index;
}

#ifdef GDA_CHECK

/**
 * struct gda_gin_source - a source at the time of its post
 * @addr: its address
 * @bytes: length in bytes
 * @sum: of its bytes
 */
struct gda_gin_source {
	uint64_t addr;
	uint64_t bytes;
	uint64_t sum;
};

GDA_SLOW uint64_t gda_gin_sum(uint64_t addr, uint64_t bytes)
{
	const unsigned char *p = (const unsigned char *)(uintptr_t)addr;
	uint64_t sum = 0xcbf29ce484222325;

	while (bytes--)
		sum = (sum ^ *p++) * 0x100000001b3;
	return sum;
}

GDA_HELPER struct gda_gin_source *gda_gin_source(const struct gda_gin_queue *q, uint64_t index)
{
	const struct gda_view *v = (const struct gda_view *)(uintptr_t)q->view;

	return (struct gda_gin_source *)(uintptr_t)q->sums + ((uint32_t)index & v->mask);
}

GDA_HELPER void gda_gin_note_source(const struct gda_gin_queue *q, uint64_t index,
				    uint64_t addr, uint64_t bytes)
{
	struct gda_gin_source *s = gda_gin_source(q, index);

	s->addr = addr;
	s->bytes = bytes;
	s->sum = gda_gin_sum(addr, bytes);
}

GDA_HELPER void gda_gin_check_source(const struct gda_gin *gin, const struct gda_gin_queue *q,
				     uint64_t index, uint32_t counter)
{
	const struct gda_gin_source *s = gda_gin_source(q, index);

	if (gda_gin_sum(s->addr, s->bytes) != s->sum)
		gda_gin_broken(GDA_MISUSE_SOURCE, gin, counter);
}

/* The sums that peers announced for a signal: by Inc, and by Add. */
GDA_HELPER uint64_t gda_gin_announced(const struct gda_gin *gin, uint32_t signal, uint32_t add)
{
	return gda_nic_load64((const uint64_t *)(uintptr_t)gin->announced + 2 * signal + add);
}

GDA_HELPER void gda_gin_check_mixed(const struct gda_gin *gin, uint32_t signal)
{
	if (gda_gin_announced(gin, signal, 0) && gda_gin_announced(gin, signal, 1))
		gda_gin_broken(GDA_MISUSE_MIXED, gin, signal);
}

/* @value: of the signal; announced additions that it does not include are in flight. */
GDA_HELPER void gda_gin_check_reset(const struct gda_gin *gin, uint32_t signal, uint64_t value)
{
	uint64_t *announced = (uint64_t *)(uintptr_t)gin->announced + 2 * signal;
	uint64_t all = gda_gin_announced(gin, signal, 0) + gda_gin_announced(gin, signal, 1);

	gda_gin_check_mixed(gin, signal);
	if ((int64_t)(all - value) > 0)
		gda_gin_broken(GDA_MISUSE_RESET, gin, signal);
	gda_nic_store64(announced, 0);
	gda_nic_store64(announced + 1, 0);
}

GDA_HELPER void gda_gin_check_window(const struct gda_gin *gin, const struct gda_window *w,
				     uint32_t peer)
{
	if (!(w->flags & GDA_WINDOW_STRICT))
		gda_gin_broken(GDA_MISUSE_WINDOW, gin, peer);
}

GDA_HELPER void gda_gin_check_barrier(struct gda_gin *gin, uint32_t index, uint32_t used)
{
	if (gda_exchange32(gda_gin_check_word(gin, 1 + index), used) == used)
		gda_gin_broken(GDA_MISUSE_BARRIER, gin, index);
}

GDA_HELPER void gda_gin_check_begin(struct gda_gin *gin, unsigned int flags)
{
	int alone = gin->sharing == GDA_GIN_SHARE_THREAD;

	if (gin->version < GDA_GIN_VERSION || gin->size < sizeof(*gin))
		gda_gin_broken(GDA_MISUSE_LAYOUT, gin, gin->version);
	if (alone != !!(flags & GDA_EXCLUSIVE) ||
	    (alone && gda_exchange32(gda_gin_check_word(gin, 0), 1)))
		gda_gin_broken(GDA_MISUSE_EXCLUSIVE, gin, gin->rank);
}

GDA_HELPER void gda_gin_check_end(struct gda_gin *gin)
{
	if (gin->sharing == GDA_GIN_SHARE_THREAD)
		gda_exchange32(gda_gin_check_word(gin, 0), 0);
}

#else

GDA_HELPER void gda_gin_note_source(const struct gda_gin_queue *q, uint64_t index,
				    uint64_t addr, uint64_t bytes)
{
	(void)q;
	(void)index;
	(void)addr;
	(void)bytes;
}

GDA_HELPER void gda_gin_check_source(const struct gda_gin *gin, const struct gda_gin_queue *q,
				     uint64_t index, uint32_t counter)
{
	(void)gin;
	(void)q;
	(void)index;
	(void)counter;
}

GDA_HELPER void gda_gin_check_mixed(const struct gda_gin *gin, uint32_t signal)
{
	(void)gin;
	(void)signal;
}

GDA_HELPER void gda_gin_check_reset(const struct gda_gin *gin, uint32_t signal, uint64_t value)
{
	(void)gin;
	(void)signal;
	(void)value;
}

GDA_HELPER void gda_gin_check_window(const struct gda_gin *gin, const struct gda_window *w,
				     uint32_t peer)
{
	(void)gin;
	(void)w;
	(void)peer;
}

GDA_HELPER void gda_gin_check_barrier(struct gda_gin *gin, uint32_t index, uint32_t used)
{
	(void)gin;
	(void)index;
	(void)used;
}

GDA_HELPER void gda_gin_check_begin(struct gda_gin *gin, unsigned int flags)
{
	(void)gin;
	(void)flags;
}

GDA_HELPER void gda_gin_check_end(struct gda_gin *gin)
{
	(void)gin;
}

#endif

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif /* GDA_GIN_CHECK_H */
