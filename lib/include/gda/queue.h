/* SPDX-License-Identifier: MIT */
/*
 * The queue under the fast path: reserve, publish, ring, and the consumer index.
 * Included by gda/fastpath.h, which says how they work together; not to be called
 * by programs.
 */
#ifndef GDA_QUEUE_H
#define GDA_QUEUE_H

#include <errno.h>
#include <gda/barrier.h>
#include <gda/view.h>
#include <gda/wqe.h>

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

#if defined(__has_attribute) && !defined(__CUDACC__)
#if __has_attribute(error)
#define GDA_COMPILE_ERROR(text) __attribute__((error(text)))
#endif
#endif

#ifdef GDA_COMPILE_ERROR
/* Declared, and defined nowhere: a call that remains after optimization is the error. */
GDA_COMPILE_ERROR("gda: a flag that no post knows") void gda_unknown_post_flag(void);
#endif

/*
 * Check @flags of a post. The compiler rejects unknown ones that it knows to be constant (not
 * without optimization); others have no effect. This generates no instruction.
 */
GDA_HELPER void gda_check_flags(unsigned int flags)
{
#ifdef GDA_COMPILE_ERROR
	if (__builtin_constant_p(flags) && (flags & ~GDA_POST_FLAGS))
		gda_unknown_post_flag();
#else
	(void)flags;
#endif
}

/* Polls of a word between two reads of the clock. */
#define GDA_POLLS	64

/*
 * Record posts and outcomes, in programs that ask for it at compile time; otherwise no instruction
 * is generated.
 */
GDA_HELPER void gda_note_posted(const struct gda_view *v, uint64_t index, uint32_t n)
{
#ifdef GDA_RECORD
	GDA_HERE(gda_record_posted(v, index, n), (void)v);
#endif
	(void)v;
	(void)index;
	(void)n;
}

GDA_HELPER void gda_note_observed(const struct gda_view *v, int64_t ticket, int done)
{
#ifdef GDA_RECORD
	if (done)
		GDA_HERE(gda_record_observed(v, ticket, done), (void)v);
#endif
	(void)v;
	(void)ticket;
	(void)done;
}

/*
 * Values of the word of slot index & mask: 4 * index + one of these, in 32 bits. The index is of
 * this lap or of the one before, so only equality matters and it may wrap. Zero is no value.
 */
#define GDA_SLOT_READY		1U	/* written; to be rung */
#define GDA_SLOT_DEFERRED	2U	/* written; the doorbell may wait for a later slot */
#define GDA_SLOT_HEAD		3U	/* not written; all slots before it were walked over */

GDA_HELPER uint32_t *gda_slot(const struct gda_view *v, uint64_t index)
{
	return (uint32_t *)(uintptr_t)v->slots + ((uint32_t)index & v->mask);
}

GDA_HELPER uint32_t gda_slot_word(uint64_t index, uint32_t kind)
{
	return (uint32_t)index * 4 + kind;
}

/* Here and below @dialect is v->dialect, possibly as a constant. */
GDA_HELPER struct gda_sq gda_sq(const struct gda_view *v, uint32_t dialect)
{
	struct gda_sq sq = {
		(char *)(uintptr_t)v->sq, v->qpn_be, v->mask, dialect, v->ah, v->qkey,
	};

	return sq;
}

/* The same, for posts to @peer instead of the view's own. */
GDA_HELPER struct gda_sq gda_sq_to(const struct gda_view *v, uint32_t dialect,
				   const struct gda_peer *peer)
{
	struct gda_sq sq = gda_sq(v, dialect);

	sq.qpn_be = (peer->target >> 16 & 0xffff) << 32;
	sq.ah = (peer->target & 0xffff) << 32;
	sq.qkey = peer->target >> 32;
	return sq;
}

/*
 * Do requests of the queue complete in any order? Only in programs that speak such a dialect, so
 * elsewhere this is a constant.
 */
GDA_HELPER int gda_view_unordered(const struct gda_view *v)
{
	return !gda_wqe_is_first(v->dialect) && gda_cqe_unordered(gda_wqe_other(v->dialect));
}

/*
 * Read the CQ and advance the cached consumer index. The compare-and-swap makes sure that the index
 * has not moved since it was read, so that gda_cqe_unwrap() is right; a lone poster needs no such
 * check, because nothing is posted during this call.
 */
GDA_HELPER uint64_t gda_poll_as(uint32_t dialect, struct gda_view *v, unsigned int flags)
{
	uint64_t old, now;
	int failed;

	if (gda_cqe_unordered(dialect))
		return gda_cqe_reap(dialect, v);
	old = gda_load_acquire64(&v->completed);
	for (;;) {
		now = gda_cqe_completed(dialect, v,
					gda_nic_load32(gda_cqe_last(dialect, v->cq)), old,
					&failed);
		/* on a GPU the multiprocessor may have read the entry before @old */
		if (now == old || GDA_HERE(0, now - old > v->mask + 1))
			return old;
		if (flags & GDA_EXCLUSIVE) {
			gda_store_release64(&v->completed, now);
			return now;
		}
		if (gda_cas64(&v->completed, &old, now))
			return now;
	}
}

GDA_SLOW uint64_t gda_poll_other(struct gda_view *v, unsigned int flags)
{
	return gda_poll_as(gda_wqe_other(v->dialect), v, flags);
}

GDA_HELPER uint64_t gda_poll(struct gda_view *v, unsigned int flags)
{
	if (!gda_wqe_is_first(v->dialect))
		return gda_poll_other(v, flags);
	return gda_poll_as(GDA_WQE_FIRST, v, flags);
}

/*
 * If completions come through a ring that QPs share, credit them first. Return: whether they do. On
 * a GPU they never do.
 */
GDA_HELPER int gda_progress(struct gda_view *v)
{
	if (!gda_unlikely(GDA_HERE(v->caps, 0) & GDA_VIEW_RING))
		return 0;
	GDA_HERE(gda_view_progress(v), (void)v);
	return 1;
}

/* The checks of every wait besides the queue itself, once in many polls. */
GDA_SLOW int gda_expired(struct gda_view *v, unsigned int polls, uint64_t *deadline)
{
	uint64_t now;

	if (polls % GDA_POLLS)
		return 0;
	if (gda_nic_load32((const uint32_t *)(uintptr_t)v->abort))
		return -ESHUTDOWN;
	now = gda_clock_ns();
	if (!*deadline)
		*deadline = now + v->timeout_ns;
	if (now < *deadline)
		return 0;
	return polls == GDA_POLLS && now - *deadline > GDA_LONG_AGO_NS ? -ETIME : -ETIMEDOUT;
}

/*
 * The caller posts at @index, exclusively; all slots below @done have completed. Exclusive posts do
 * not change the slot words, so the combining role would stay in one of them. The first exclusive
 * post therefore removes it: no shared post finds it, and one that misses it restores it
 * (gda_combiner_recall()).
 */
GDA_HELPER void gda_exclusive_go(struct gda_view *v, uint64_t index, uint64_t done)
{
	if (gda_load_relaxed64(&v->exclusive_done) == GDA_NOT_EXCLUSIVE)
		gda_exchange32(gda_slot(v, index), 0);
	gda_store_relaxed64(&v->exclusive_done, done);
}

/* Rest between two polls of a wait. */
GDA_HELPER void gda_rest(struct gda_view *v, unsigned int polls, enum gda_relax_for what)
{
	GDA_HERE(gda_relax(v, polls, what), gda_pause());
}

#ifdef __CUDACC__
extern "C++" {
#include <gda/gpu/shared.h>
}
#endif

GDA_HELPER void gda_cpu_ring(const struct gda_view *v, uint32_t dialect, uint64_t next)
{
	uint32_t record = gda_db_record(dialect, next);

	gda_nic_store32((uint32_t *)(uintptr_t)v->dbrec, record);
	if (gda_cqe_unordered(dialect))
		/* it has 16 bits, of which nobody minds more */
		gda_nic_store32((uint32_t *)(uintptr_t)v->db,
				(uint32_t)gda_db_value(dialect, 0, record));
	else
		gda_nic_store64((uint64_t *)(uintptr_t)v->db,
				gda_db_value(dialect, v->qpn_be, record));
}

/* Ring. All slots below @next are written, and no other thread rings. */
GDA_HELPER void gda_ring(const struct gda_view *v, uint32_t dialect, uint64_t next)
{
	GDA_HERE(gda_cpu_ring(v, dialect, next), gda_gpu_ring(v, next));
}

GDA_SLOW int64_t gda_reserve_wait(struct gda_view *v, uint32_t n, unsigned int flags);

/*
 * How many slots before @next may still be in use. On a CPU exclusive posts use a consumer index of
 * their own, which is far off after a shared post: so the first exclusive post calls
 * gda_reserve_wait(), which updates it.
 */
GDA_HELPER uint64_t gda_slots_used(const struct gda_view *v, uint64_t next, unsigned int flags)
{
	if (GDA_HERE(flags & GDA_EXCLUSIVE, 0))
		return next - gda_load_relaxed64(&v->exclusive_done);
	return next - gda_load_acquire64(&v->completed);
}

/*
 * Reserve @n consecutive slots, the first in *@index, or return a negative errno. The cached
 * consumer index is never ahead of the executor, so a reserved slot has completed in the last lap.
 *
 * The post that takes the last free slot must ring: GDA_DEFER is then removed from *@flags. So a
 * poster that finds the ring full knows that all of it is rung, or is about to be.
 */
GDA_HELPER int gda_cpu_reserve(struct gda_view *v, uint32_t n, unsigned int *flags,
			       uint64_t *index)
{
	uint64_t next = gda_load_relaxed64(&v->reserved);
	uint64_t used = gda_slots_used(v, next, *flags) + (n - 1);
	int64_t waited;

	*index = next;
	if (!gda_unlikely(used > v->mask)) {
		if (*flags & GDA_DEFER && used == v->mask)
			*flags &= ~GDA_DEFER;
		if (!(*flags & GDA_EXCLUSIVE)) {
			if (!gda_unlikely(!gda_cas64(&v->reserved, &next, next + n)))
				return 0;
		} else {
			gda_store_relaxed64(&v->reserved, next + n);
			return 0;
		}
	}
	waited = gda_reserve_wait(v, n, *flags);
	if (waited & 1)
		*flags &= ~GDA_DEFER;
	*index = (uint64_t)waited >> 1;
	return waited < 0 ? (int)waited : 0;
}

GDA_HELPER int gda_reserve(struct gda_view *v, uint32_t n, unsigned int *flags,
			   uint64_t *index)
{
	if (GDA_HERE(0, !(*flags & GDA_EXCLUSIVE)))
		return GDA_HERE(0, gda_gpu_reserve(v, n, *flags, index));
	return gda_cpu_reserve(v, n, flags, index);
}

/*
 * The end of all that was posted. On a GPU a poster may hold a slot that is not free yet and may
 * return it: nothing beyond one ring was posted.
 */
GDA_HELPER uint64_t gda_handed_out(const struct gda_view *v)
{
	uint64_t end = gda_load_acquire64(&v->reserved);
	uint64_t most = GDA_HERE(end, gda_load_acquire64(&v->completed) + v->mask + 1);

	return end > most ? most : end;
}

/*
 * The caller has the combining role, and all slots below @next are ready. The walk ends at the
 * latest one lap after the last slot that was rung. The doorbell is rung before the combining role
 * is passed on; the role's next owner acquires what the swap releases, so doorbells are in order.
 * If the swap fails, the slot has become ready, and its poster has left.
 */
GDA_HELPER void gda_combine(struct gda_view *v, uint32_t dialect, uint64_t next, int ring)
{
	for (;;) {
		uint32_t *slot = gda_slot(v, next);
		uint32_t word = gda_load_acquire32(slot);
		uint32_t kind = word - gda_slot_word(next, 0);

		if (kind == GDA_SLOT_READY || kind == GDA_SLOT_DEFERRED) {
			ring |= kind == GDA_SLOT_READY;
			next++;
			continue;
		}
		/* in the first round there usually is something to ring */
		if (!gda_unlikely(!ring))
			gda_ring(v, dialect, next);
		ring = 0;
		if (gda_cas32(slot, word, gda_slot_word(next, GDA_SLOT_HEAD)))
			return;
	}
}

/*
 * The caller has marked slot @index ready and did not get the combining role, and exclusive posts
 * were the last to ring. One of the callers gets the combining role, at the first slot that does
 * not belong to the exclusive posts: the one up to which they rang, according to the record, or
 * deferred. The deferred index is read first, because a thread that posts after the swap may raise
 * it.
 */
GDA_SLOW void gda_combiner_recall(struct gda_view *v, uint64_t index)
{
	uint64_t deferred = gda_load_relaxed64(&v->deferred);
	uint64_t done = gda_load_relaxed64(&v->exclusive_done), next;

	if (done == GDA_NOT_EXCLUSIVE ||
	    !gda_cas64(&v->exclusive_done, &done, GDA_NOT_EXCLUSIVE))
		return;
	next = gda_db_rung(v->dialect, index,
			   gda_nic_load32((const uint32_t *)(uintptr_t)v->dbrec));
	if (deferred & 1) {
		gda_max64(&v->flushed, deferred >> 1);
		if (deferred >> 1 > next)
			next = deferred >> 1;
	}
	gda_combine(v, v->dialect, next, 1);
}

/*
 * Mark @n slots from @index on ready, the first one last: the combining role stops only at a slot
 * that is not ready, so it passes through the first, and no doorbell ends among them.
 */
GDA_HELPER void gda_cpu_publish(struct gda_view *v, uint32_t dialect, uint64_t index, uint32_t n,
				int ring)
{
	uint32_t kind = ring ? GDA_SLOT_READY : GDA_SLOT_DEFERRED;
	uint32_t head = gda_slot_word(index, GDA_SLOT_HEAD), i;
	uint32_t ready = gda_slot_word(index, kind);
	uint32_t *slot = gda_slot(v, index);

	for (i = n - 1; i; i--)
		gda_exchange32(gda_slot(v, index + i), gda_slot_word(index + i, kind));
	/* a combining role that is here stays; or it may arrive just now */
	if (gda_load_acquire32(slot) == head || gda_exchange32(slot, ready) == head)
		gda_combine(v, dialect, index + 1, ring);
	else if (gda_unlikely(gda_load_relaxed64(&v->exclusive_done) != GDA_NOT_EXCLUSIVE))
		gda_combiner_recall(v, index);
	if (!ring)
		gda_max64(&v->deferred, (index + n) << 1);
}

/*
 * The entries of the @n slots from @index on are written. On a GPU shared posts are never deferred,
 * because the combiner rings for many anyway.
 */
GDA_HELPER void gda_publish(struct gda_view *v, uint32_t dialect, uint64_t index, uint32_t n,
			    unsigned int flags)
{
	int ring = !(flags & GDA_DEFER);

	gda_note_posted(v, index, n);
	/* what is deferred and shared is rung by a NOP */
	if (!(flags & GDA_EXCLUSIVE) && !gda_wqe_has(dialect, GDA_OP_NOP))
		ring = 1;
	if (!(flags & GDA_EXCLUSIVE))
		GDA_HERE(gda_cpu_publish(v, dialect, index, n, ring),
			 gda_shared_publish_view(v, index, n, flags));
	else if (ring)
		gda_ring(v, dialect, index + n);
	else
		gda_store_relaxed64(&v->deferred, (index + n) << 1 | 1);
}

/*
 * Post @w to @v, whose slots @sq has with a target of its own. Not gda_post_as(): that reads the
 * view after it has reserved the slot, so that fewer registers are kept across the reservation.
 */
GDA_HELPER int64_t gda_post_in(struct gda_sq sq, struct gda_view *v, const struct gda_wqe *w,
			       unsigned int flags)
{
	uint64_t index;
	int err = gda_reserve(v, w->slots, &flags, &index);

	if (err)
		return err;
	gda_wqe_store(sq, index, w, flags & GDA_ENTRY_FLAGS);
	gda_publish(v, sq.dialect, index, w->slots, flags);
	return (int64_t)index;
}

GDA_HELPER int64_t gda_post_as(uint32_t dialect, struct gda_view *v, const struct gda_wqe *w,
			       unsigned int flags)
{
	uint64_t index;
	int err = gda_reserve(v, w->slots, &flags, &index);

	if (err)
		return err;
	gda_wqe_store(gda_sq(v, dialect), index, w, flags & GDA_ENTRY_FLAGS);
	gda_publish(v, dialect, index, w->slots, flags);
	return (int64_t)index;
}

GDA_SLOW int gda_post_after(struct gda_view *v, unsigned int flags);

/* Begin a post: an unordered dialect has no fence, so wait here. Return: 0, or a negative errno. */
GDA_HELPER int gda_post_begin(uint32_t dialect, struct gda_view *v, unsigned int flags)
{
	return gda_cqe_unordered(dialect) && flags & GDA_AFTER_READS ? gda_post_after(v, flags) : 0;
}

GDA_OTHER int64_t gda_post_other(struct gda_view *v, struct gda_wr r, unsigned int flags)
{
	uint32_t dialect = gda_wqe_other(v->dialect);
	struct gda_wqe w = gda_wqe_make(dialect, r);
	int err;

	if (gda_wqe_too_long(dialect, r.len))
		return -EMSGSIZE;
	if (!gda_wqe_has(dialect, r.op))
		return -EOPNOTSUPP;
	err = gda_post_begin(dialect, v, flags);
	return err ? err : gda_post_as(dialect, v, &w, flags);
}

/* Post @r. Return: the ticket, its first slot; or a negative errno. */
GDA_HELPER int64_t gda_post(struct gda_view *v, struct gda_wr r, unsigned int flags)
{
	int other = !gda_wqe_is_first(v->dialect);
	struct gda_wqe w;

	/* an atomic has so many operands that keeping them across this call would cost more */
	if (r.op >= GDA_OP_FETCH_ADD && other)
		return gda_post_other(v, r, flags);
	w = gda_wqe_make(GDA_WQE_FIRST, r);
	if (other)
		return gda_post_other(v, r, flags);
	return gda_post_as(GDA_WQE_FIRST, v, &w, flags);
}

/* As gda_flush() says. */
GDA_HELPER void gda_flush_deferred(struct gda_view *v)
{
	uint64_t deferred = gda_load_relaxed64(&v->deferred), end;

	if (deferred >> 1 <= gda_load_relaxed64(&v->flushed))
		return;
	if (deferred & 1) {
		end = gda_load_relaxed64(&v->reserved);
		gda_ring(v, v->dialect, end);
	} else {
		int64_t nop = gda_post(v, gda_wr_nop(), GDA_NOWAIT);

		if (nop < 0)
			return;
		end = (uint64_t)nop;
	}
	gda_max64(&v->flushed, end);
}

/* Where tickets are done in any order: wait until all below @end are, successfully or not. */
GDA_SLOW int gda_wait_below(struct gda_view *v, uint64_t end, uint64_t deadline)
{
	unsigned int polls;
	int err;

	for (polls = 1; gda_load_acquire64(&v->done) < end; polls++) {
		if (polls % GDA_POLLS == 1)
			gda_flush_deferred(v);
		gda_poll(v, 0);
		if (gda_load_acquire64(&v->done) >= end)
			break;
		gda_rest(v, polls, GDA_RELAX_DONE);
		err = gda_expired(v, polls, &deadline);
		if (err)
			return GDA_HERE(gda_wait_failed(v, (int64_t)gda_load_acquire64(&v->done),
							err), err);
	}
	return 0;
}

/* The wait of %GDA_AFTER_READS in a dialect whose executor does not order requests. */
GDA_SLOW int gda_post_after(struct gda_view *v, unsigned int flags)
{
	uint64_t end = gda_handed_out(v);

	if (!(flags & GDA_NOWAIT))
		return gda_wait_below(v, end, 0);
	gda_flush_deferred(v);
	gda_poll(v, flags);
	return gda_load_acquire64(&v->done) < end ? -EAGAIN : 0;
}

/*
 * The bounded wait of gda_reserve(): the ring looked full, or another poster was faster, or this is
 * the first exclusive post. Several slots may be missing while the ring is not full, so that
 * deferred posts were not rung: then this rings. Return: a negative errno, and nothing is reserved;
 * or twice the first slot's index, plus 1 if the caller must ring.
 */
GDA_SLOW int64_t gda_reserve_wait(struct gda_view *v, uint32_t n, unsigned int flags)
{
	uint64_t deadline = 0;
	unsigned int polls;

	if (n > v->mask + 1)
		return -EMSGSIZE;
	for (polls = 1;; polls++) {
		uint64_t index = gda_load_relaxed64(&v->reserved), done;
		int64_t used;
		int err;

		gda_progress(v);
		done = gda_poll(v, flags);
		used = (int64_t)(index + n - 1 - done);
		if (used <= (int64_t)v->mask) {
			if (flags & GDA_EXCLUSIVE) {
				gda_exclusive_go(v, index, done);
				gda_store_relaxed64(&v->reserved, index + n);
			} else if (!gda_cas64(&v->reserved, &index, index + n)) {
				continue;
			}
			return (int64_t)(index << 1 | (used == (int64_t)v->mask));
		}
		/* where an error need not be the queue's, a queue that has failed frees its slots */
		if (!gda_cqe_unordered(v->dialect) &&
		    gda_load_acquire64(&v->error_index) != GDA_NO_ERROR)
			return GDA_HERE(gda_post_failed(v, -EIO), -EIO);
		if (n > 1 && polls % GDA_POLLS == 1) {
			if (flags & GDA_EXCLUSIVE)
				gda_ring(v, v->dialect, index);
			else
				GDA_HERE(gda_flush_deferred(v), (void)v);
		}
		if (flags & GDA_NOWAIT)
			return -EAGAIN;
		err = gda_expired(v, polls, &deadline);
		if (err)
			return GDA_HERE(gda_post_failed(v, err), err);
		gda_rest(v, polls, GDA_RELAX_ROOM);
	}
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif /* GDA_QUEUE_H */
