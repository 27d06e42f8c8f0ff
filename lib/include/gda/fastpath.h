/* SPDX-License-Identifier: MIT */
/*
 * The fast path: post one-sided work to a queue pair and see it complete, by loads
 * and stores alone. C11, C++17 and CUDA device code, from this one text.
 *
 * A post has four steps:
 *
 *   reserve  take the next slot, never one that has not completed a lap ago
 *   write    the 64-byte entry, built in registers, as four 16-byte stores
 *   publish  make it known in order, so that a doorbell never covers a slot that is
 *            not written
 *   ring     doorbell record, then doorbell
 *
 * and returns a ticket, the 64-bit index of the slot, to test or wait for.
 *
 * Sharing mode is a flag of every post; flags should be constants, for they fold, and an unknown
 * one is then refused at compile time (by GCC and clang, optimizing). Flags that are not constant
 * are not checked: unknown bits have no effect.
 *
 *   0              any number of threads post. Publication has no lock and no common
 *                  word: a poster marks its own slot ready, in the slot's word. One
 *                  of them has the *combining role*, which is parked in the word of the
 *                  first slot that is not ready. The poster that finds it there
 *                  walks on over all slots that are ready, rings once for all, and
 *                  parks the combining role in the next one that is not. So only one
 *                  thread rings at a time, and in order.
 *   GDA_EXCLUSIVE  one thread at a time posts, flushes and, if it defers, waits. No
 *                  atomic operations. Any thread may call gda_test() and
 *                  gda_error().
 *                  Shared posts may follow once all exclusive ones have returned, and
 *                  the other way round.
 *
 * GDA_DEFER leaves the ring to a later post. Deferred work is rung by the
 * next post without the flag, by gda_flush(), by the post that fills the ring, and
 * by gda_wait() and gda_quiet() of something deferred: no wait depends on a
 * doorbell that is never rung. Only gda_test() never rings.
 *
 * Every wait ends: with completion, with the queue's error, with -ETIMEDOUT at its
 * deadline, or with -ESHUTDOWN when the abort word is set. Deadlines are absolute,
 * in ns of gda_clock_ns(); 0 stands for view->timeout_ns from now. One that was more than
 * a second past when the wait first looked at the clock ends it with -ETIME in place of
 * -ETIMEDOUT: most likely it was meant to be relative. Work that is done is reported
 * as done all the same.
 *
 * The queue is in a dialect of gda/wqe.h with a collapsed CQ, one slot an entry but for those
 * of gda/multi_slot.h, every entry asks for a completion. On RC queues work completes in order,
 * so a ticket is done when the completion counter has passed it.
 */
#ifndef GDA_FASTPATH_H
#define GDA_FASTPATH_H

#include <string.h>
#include <gda/queue.h>

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/**
 * define GDA_INLINE_SLOT - most bytes of gda_put_inline() that fit into one slot
 */
#define GDA_INLINE_SLOT	GDA_WQE_INLINE_SLOT
/**
 * define GDA_INLINE_MAX - most bytes of gda_put_inline()
 */
#define GDA_INLINE_MAX	GDA_WQE_INLINE_MAX

GDA_SLOW int64_t gda_put_inline_long(struct gda_view *v, uint64_t raddr, uint32_t rkey,
				     const void *src, uint64_t len, unsigned int flags);

/**
 * gda_put - write local memory to remote memory
 * @v: the queue
 * @laddr: local address, as in the MR's iova
 * @lkey: key of the local MR
 * @raddr: remote address
 * @rkey: key of the remote MR
 * @len: bytes, less than 2^31; 0 moves nothing: @raddr and @rkey are not checked, but the post is
 *	ordered and completes
 * @flags: GDA_*
 *
 * The local memory may be changed once the ticket is done.
 *
 * Any thread may call it; with %GDA_EXCLUSIVE the caller serializes all posts to the queue.
 *
 * Return: the ticket, or a negative errno and nothing was posted: -EMSGSIZE @len is 2^31 or more;
 * -EAGAIN the ring is full and %GDA_NOWAIT is set; -ETIMEDOUT it stayed full for view->timeout_ns;
 * -EIO it is full and the queue has failed; -ESHUTDOWN aborted. Bad addresses and keys are reported
 * when the ticket is waited for.
 */
GDA_API int64_t gda_put(struct gda_view *v, uint64_t laddr, uint32_t lkey, uint64_t raddr,
			uint32_t rkey, uint64_t len, unsigned int flags)
{
	gda_check_flags(flags);
	if (gda_unlikely(gda_wqe_too_long(GDA_WQE_FIRST, len)))
		return -EMSGSIZE;
	return gda_post(v, gda_wr_put(laddr, lkey, raddr, rkey, (uint32_t)len), flags);
}

/**
 * gda_put_imm - write local memory to remote memory, and tell the peer
 * @v: the queue
 * @laddr: local address
 * @lkey: key of the local MR
 * @raddr: remote address
 * @rkey: key of the remote MR
 * @len: bytes, less than 2^31; 0 moves nothing: @raddr and @rkey are not checked, but the immediate
 *	arrives
 * @imm: the immediate
 * @flags: GDA_*; with %GDA_SOLICITED the peer's entry is a solicited one
 *
 * When the bytes have arrived an entry with @imm appears in the CQ of the peer's QP for immediates
 * (gda_qp_attr.recv_cq), where gda_cq_poll() returns it. No receive queue is needed. If the peer
 * has no such CQ this post fails, with %GDA_CAUSE_RECV. If that CQ is full the post is retried
 * gda_qp_attr.rnr_retry times (by default never), while later posts wait, and then fails likewise.
 * That may take 3.9 s, longer than the default bound of a wait.
 *
 * Return: as gda_put().
 */
GDA_API int64_t gda_put_imm(struct gda_view *v, uint64_t laddr, uint32_t lkey,
			    uint64_t raddr, uint32_t rkey, uint64_t len, uint32_t imm,
			    unsigned int flags)
{
	gda_check_flags(flags);
	if (gda_unlikely(gda_wqe_too_long(GDA_WQE_FIRST, len)))
		return -EMSGSIZE;
	return gda_post(v, gda_wr_put_imm(laddr, lkey, raddr, rkey, (uint32_t)len, imm), flags);
}

/**
 * gda_get - read remote memory into local memory
 * @v: the queue
 * @laddr: local address
 * @lkey: key of the local MR, with local write
 * @raddr: remote address
 * @rkey: key of the remote MR
 * @len: bytes, less than 2^31
 * @flags: GDA_*
 *
 * The bytes have arrived once the ticket is done.
 *
 * Return: as gda_put().
 */
GDA_API int64_t gda_get(struct gda_view *v, uint64_t laddr, uint32_t lkey, uint64_t raddr,
			uint32_t rkey, uint64_t len, unsigned int flags)
{
	gda_check_flags(flags);
	if (gda_unlikely(gda_wqe_too_long(GDA_WQE_FIRST, len)))
		return -EMSGSIZE;
	return gda_post(v, gda_wr_get(laddr, lkey, raddr, rkey, (uint32_t)len), flags);
}

/**
 * gda_put_inline - write a few bytes, carried in the queue itself
 * @v: the queue
 * @raddr: remote address
 * @rkey: key of the remote MR
 * @src: the bytes, any memory of the poster; may be changed when the call returns
 * @len: bytes, at most %GDA_INLINE_MAX
 * @flags: GDA_*
 *
 * Up to %GDA_INLINE_SLOT bytes take one slot. Longer ones take ceil((len + 36) / 64)
 * slots and one more, for a NOP that marks the end.
 *
 * Return: as gda_put(); -EMSGSIZE also if the ring has not as many slots.
 */
GDA_API int64_t gda_put_inline(struct gda_view *v, uint64_t raddr, uint32_t rkey,
			       const void *src, uint64_t len, unsigned int flags)
{
	gda_check_flags(flags);
	if (gda_unlikely(len > gda_wqe_inline_slot(GDA_WQE_FIRST)))
		return gda_put_inline_long(v, raddr, rkey, src, len, flags);
	return gda_post(v, gda_wr_inline(raddr, rkey, src, (uint32_t)len), flags);
}

/**
 * gda_put_value - write 8 bytes given by value
 * @v: the queue
 * @raddr: remote address
 * @rkey: key of the remote MR
 * @value: stored in the poster's byte order
 * @flags: GDA_*
 *
 * Return: as gda_put().
 */
GDA_API int64_t gda_put_value(struct gda_view *v, uint64_t raddr, uint32_t rkey,
			      uint64_t value, unsigned int flags)
{
	gda_check_flags(flags);
	return gda_post(v, gda_wr_value(raddr, rkey, value), flags);
}

/**
 * gda_fetch_add - add to a remote 64-bit word, fetch what it was
 * @v: the queue
 * @laddr: local address of 8 bytes for the old value, in this processor's byte order
 * @lkey: key of the local MR, with local write
 * @raddr: remote address, a multiple of 8
 * @rkey: key of the remote MR, with remote atomic
 * @add: added to the word
 * @flags: GDA_*
 *
 * Return: as gda_put().
 */
GDA_API int64_t gda_fetch_add(struct gda_view *v, uint64_t laddr, uint32_t lkey,
			      uint64_t raddr, uint32_t rkey, uint64_t add,
			      unsigned int flags)
{
	gda_check_flags(flags);
	return gda_post(v, gda_wr_fetch_add(laddr, lkey, raddr, rkey, add), flags);
}

/**
 * gda_compare_swap - set a remote 64-bit word if it has a value, fetch what it was
 * @v: the queue
 * @laddr: local address of 8 bytes for the old value, in this processor's byte order
 * @lkey: key of the local MR, with local write
 * @raddr: remote address, a multiple of 8
 * @rkey: key of the remote MR, with remote atomic
 * @compare: the word is set if it equals this
 * @swap: its new value
 * @flags: GDA_*
 *
 * Return: as gda_put().
 */
GDA_API int64_t gda_compare_swap(struct gda_view *v, uint64_t laddr, uint32_t lkey,
				 uint64_t raddr, uint32_t rkey, uint64_t compare,
				 uint64_t swap, unsigned int flags)
{
	gda_check_flags(flags);
	return gda_post(v, gda_wr_compare_swap(laddr, lkey, raddr, rkey, compare, swap), flags);
}

/**
 * gda_nop - post an entry that moves nothing
 * @v: the queue
 * @flags: GDA_*
 *
 * It is done when all earlier posts are done.
 *
 * Return: as gda_put().
 */
GDA_API int64_t gda_nop(struct gda_view *v, unsigned int flags)
{
	gda_check_flags(flags);
	return gda_post(v, gda_wr_nop(), flags);
}

/* Post what moves nothing, in any dialect. */
GDA_HELPER int64_t gda_post_nothing(struct gda_view *v, unsigned int flags)
{
	if (gda_view_unordered(v))
		return gda_put(v, 0, 0, 0, 0, 0, flags);
	return gda_nop(v, flags);
}

/**
 * gda_flush - ring the doorbell for posts that GDA_DEFER left unrung
 * @v: the queue
 *
 * In shared mode it posts a NOP that rings: the doorbell that covers the NOP covers all before it,
 * whichever thread is the combiner. If the ring is full nothing is posted, because the post that
 * filled the ring rings. The call costs a load if nothing was deferred, and never waits.
 *
 * After exclusive posts only the poster may call it.
 */
GDA_API void gda_flush(struct gda_view *v)
{
	gda_flush_deferred(v);
}

GDA_HELPER int gda_test_as(uint32_t dialect, struct gda_view *v, int64_t ticket)
{
	uint64_t index = (uint64_t)ticket;

	if (gda_unlikely(ticket < 0))
		return (int)ticket;
	if (!gda_cqe_done(dialect, v, gda_load_acquire64(&v->completed), index) &&
	    !gda_cqe_done(dialect, v, gda_poll_as(dialect, v, 0), index) &&
	    !(gda_progress(v) && gda_cqe_done(dialect, v, gda_poll_as(dialect, v, 0), index))) {
		if (index >= gda_load_relaxed64(&v->reserved))
			return -EINVAL;
		return index == gda_load_acquire64(&v->error_index) ? -EIO : 0;
	}
	return gda_cqe_outcome(dialect, v, index);
}

GDA_SLOW int gda_test_other(struct gda_view *v, int64_t ticket)
{
	return gda_test_as(gda_wqe_other(v->dialect), v, ticket);
}

GDA_HELPER int gda_test_done(struct gda_view *v, int64_t ticket)
{
	if (!gda_wqe_is_first(v->dialect))
		return gda_test_other(v, ticket);
	return gda_test_as(GDA_WQE_FIRST, v, ticket);
}

/**
 * gda_test - test whether a post is done
 * @v: the queue
 * @ticket: of a post to this queue
 *
 * Any thread may call it, in any mode. It never rings: after deferred posts, call
 * gda_flush() first.
 *
 * Return: 1 done, 0 not yet, or a negative errno: -EIO this post failed, see gda_error();
 * -ECANCELED not executed because an earlier post failed; -EINVAL never posted; a negative @ticket
 * itself.
 */
GDA_API int gda_test(struct gda_view *v, int64_t ticket)
{
	int done = gda_test_done(v, ticket);

	gda_note_observed(v, ticket, done);
	return done;
}

GDA_SLOW int gda_wait_done(struct gda_view *v, int64_t ticket, uint64_t deadline)
{
	unsigned int polls;
	int done, err;

	for (polls = 1;; polls++) {
		if (polls % GDA_POLLS == 1 &&
		    gda_load_relaxed64(&v->deferred) >> 1 > (uint64_t)ticket)
			gda_flush(v);
		gda_rest(v, polls, GDA_RELAX_DONE);
		err = gda_expired(v, polls, &deadline);
		done = gda_test(v, ticket);
		if (done > 0)
			return 0;
		err = done ? done : err;
		if (err)
			return GDA_HERE(gda_wait_failed(v, ticket, err), err);
	}
}

/**
 * gda_wait - wait until a post is done
 * @v: the queue
 * @ticket: of a post to this queue; a negative one is returned as it is
 * @deadline: in ns of gda_clock_ns(); 0: view->timeout_ns from now
 *
 * Rings first if @ticket may have been deferred. Any thread may call it; after deferred exclusive
 * posts only the poster may.
 *
 * Return: 0, or a negative errno, of which gda_last_error() says why, on a CPU: those of
 * gda_test(); -ETIMEDOUT not done at the deadline; -ETIME not done, and @deadline was more than a
 * second past when the wait began: was a relative one passed?; -ESHUTDOWN aborted.
 */
GDA_API int gda_wait(struct gda_view *v, int64_t ticket, uint64_t deadline)
{
	if (gda_test(v, ticket) > 0)
		return 0;
	return gda_wait_done(v, ticket, deadline);
}

/* gda_test_through() where tickets are done in any order. */
GDA_SLOW int gda_test_through_each(struct gda_view *v, int64_t ticket)
{
	uint32_t dialect = gda_wqe_other(v->dialect);
	uint64_t index = (uint64_t)ticket, i, failed;

	if (ticket < 0)
		return (int)ticket;
	if (index >= gda_load_relaxed64(&v->reserved))
		return -EINVAL;
	if (gda_load_acquire64(&v->done) <= index) {
		gda_poll(v, 0);
		if (gda_load_acquire64(&v->done) <= index)
			return 0;
	}
	if (gda_load_acquire64(&v->error_index) == GDA_NO_ERROR)
		return 1;
	/* for later tickets than the newest that failed: older ones are forgotten first */
	failed = gda_load_relaxed64(&v->failed);
	if (failed && failed - 1 <= index)
		return gda_cqe_outcome(dialect, v, failed - 1) < 0 ? -EIO : 1;
	i = index > GDA_TICKETS_KNOWN ? index - GDA_TICKETS_KNOWN : 0;
	for (; i <= index; i++)
		if (gda_cqe_outcome(dialect, v, i) < 0)
			return -EIO;
	return 1;
}

/**
 * gda_test_through - test whether a post and all before it are done
 * @v: the queue
 * @ticket: of a post to this queue
 *
 * In a dialect without %GDA_CAN_ORDER gda_test() tells nothing about earlier tickets, and this
 * does. Elsewhere both are the same, but for -ECANCELED. It never rings. In a dialect without
 * %GDA_CAN_ORDER it says nothing of a single ticket, so a program that is compiled with GDA_RECORD
 * records no observed outcome of it; nor of gda_wait_through() and gda_quiet().
 *
 * Return: 1 done, 0 not yet, or a negative errno: -EIO this post, or an earlier one, failed;
 * -EINVAL never posted; a negative @ticket itself.
 */
GDA_API int gda_test_through(struct gda_view *v, int64_t ticket)
{
	int done;

	if (gda_view_unordered(v))
		return gda_test_through_each(v, ticket);
	done = gda_test(v, ticket);
	return done == -ECANCELED ? -EIO : done;
}

/* gda_wait_through() where tickets are done in any order. */
GDA_SLOW int gda_wait_through_each(struct gda_view *v, int64_t ticket, uint64_t deadline)
{
	unsigned int polls;
	int err, done = gda_test_through_each(v, ticket);

	for (polls = 1; !done; polls++) {
		if (polls % GDA_POLLS == 1)
			gda_flush(v);
		gda_rest(v, polls, GDA_RELAX_DONE);
		err = gda_expired(v, polls, &deadline);
		done = gda_test_through_each(v, ticket);
		done = done ? done : err;
	}
	if (done > 0)
		return 0;
	return GDA_HERE(gda_wait_failed(v, ticket, done), done);
}

/**
 * gda_wait_through - wait until a post and all before it are done
 * @v: the queue
 * @ticket: of a post to this queue; a negative one is returned as it is
 * @deadline: in ns of gda_clock_ns(); 0: view->timeout_ns from now
 *
 * As gda_wait(), but also where tickets are done in any order. It never waits for later posts.
 *
 * Return: as gda_wait(); -EIO also if an earlier post failed.
 */
GDA_API int gda_wait_through(struct gda_view *v, int64_t ticket, uint64_t deadline)
{
	int err;

	if (gda_view_unordered(v))
		return gda_wait_through_each(v, ticket, deadline);
	err = gda_wait(v, ticket, deadline);
	return err == -ECANCELED ? -EIO : err;
}

/* gda_quiet() where tickets are done in any order: all below @end. */
GDA_SLOW int gda_quiet_each(struct gda_view *v, uint64_t end, uint64_t deadline)
{
	int err = gda_wait_below(v, end, deadline);

	if (err)
		return err;
	return gda_load_acquire64(&v->error_index) == GDA_NO_ERROR ? 0 : -EIO;
}

/**
 * gda_quiet - wait until all that was posted before the call is done
 * @v: the queue
 * @deadline: in ns of gda_clock_ns(); 0: view->timeout_ns from now
 *
 * Any thread may call it; after deferred exclusive posts the poster only.
 *
 * Return: 0, or a negative errno: -EIO a post failed, see gda_error(); -ETIMEDOUT not done at the
 * deadline; -ETIME not done, and @deadline was more than a second past when the wait began: was a
 * relative one passed?; -ESHUTDOWN aborted.
 */
GDA_API int gda_quiet(struct gda_view *v, uint64_t deadline)
{
	uint64_t end;
	int err;

	do {
		end = gda_handed_out(v);
		if (!end)
			return 0;
		if (gda_view_unordered(v))
			return gda_quiet_each(v, end, deadline);
		err = gda_wait(v, (int64_t)(end - 1), deadline);
	} while (err == -EINVAL);	/* given back meanwhile */
	return err == -ECANCELED ? -EIO : err;
}

/**
 * struct gda_error - the first error of a queue; it is final
 * @size: sizeof(struct gda_error); set by the caller, and not changed
 * @syndrome: the dialect's code of what went wrong; gda_syndrome_name()
 * @ticket: the ticket that failed; all later tickets are -ECANCELED, all earlier ones succeed
 * @vendor: why it went wrong, enum gda_cause; gda_vendor_name()
 * @reserved: 0
 */
struct gda_error {
	uint32_t size;
	uint32_t syndrome;
	int64_t ticket;
	uint32_t vendor;
	uint32_t reserved;
};

/**
 * gda_error - tell whether a queue has failed, and why
 * @v: the queue
 * @error: receives the error, if the queue has failed; the caller sets its size
 *
 * Any thread may call it, in any mode. It reads memory; only for a queue that completes to a ring
 * and has nothing posted it queries the device. The inline function fills in the structure that it
 * was compiled with; the library's function checks its size.
 *
 * Return: 1 if the queue has failed, else 0. The library's function also returns -EINVAL, -E2BIG
 * the structure's size.
 */
GDA_SIZED_API int gda_error(struct gda_view *v, struct gda_error *error)
{
	uint64_t failed, why;

	if (gda_unlikely(GDA_HERE(v->caps, 0) & GDA_VIEW_RING))
		GDA_HERE(gda_view_ask(v), (void)v);
	gda_poll(v, 0);
	failed = gda_load_acquire64(&v->error_index);
	if (failed == GDA_NO_ERROR)
		return 0;
	why = gda_load_relaxed64(&v->error);
	error->ticket = (int64_t)failed;
	error->syndrome = (uint32_t)why & 0xff;
	error->vendor = (uint32_t)(why >> 8);
	error->reserved = 0;
	return 1;
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#include <gda/multi_slot.h>
#include <gda/signal.h>
#include <gda/to.h>

#endif /* GDA_FASTPATH_H */
