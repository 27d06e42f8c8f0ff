/* SPDX-License-Identifier: MIT */
/*
 * Posts and waits of CUDA device code through what a poster keeps of a queue in
 * registers. Three kinds of it, by who shares the queue, and one set of functions:
 *
 *   struct gda_exclusive	one thread, or one warp together	gpu/exclusive.h
 *   struct gda_block_queue	the threads of a block			gpu/block.h
 *   struct gda_shared		any thread of the GPU			gpu/courier.h
 *
 * The functions of gda/fastpath.h work on the view itself, as on a CPU; on a GPU they
 * share as struct gda_shared does, without a courier. Tickets, flags, results, deadlines
 * and the abort word are the same here.
 *
 * A put by a group is one put: all of the group call it and what any of them wrote before
 * is covered. A put by each is 32 puts of a whole warp with one reservation and one ring.
 */
#ifndef GDA_GPU_POST_H
#define GDA_GPU_POST_H

#include <gda/gpu/block.h>
#include <gda/gpu/courier.h>
#include <gda/gpu/exclusive.h>
#include <gda/gpu/group.h>

GDA_DEVICE void gda_write_rdma(const struct gda_port &p, uint64_t index, uint32_t opcode,
			       uint64_t laddr, uint32_t lkey, uint64_t raddr, uint32_t rkey,
			       uint32_t len)
{
	char *rest = gda_port_entry(p, index, opcode, 2 + (len != 0), raddr, rkey);

	gda_store128(rest, gda_swap32(len), gda_swap32(lkey),
		     gda_swap32((uint32_t)(laddr >> 32)), gda_swap32((uint32_t)laddr));
}

GDA_DEVICE void gda_write_atomic(const struct gda_port &p, uint64_t index, uint32_t opcode,
				 uint64_t laddr, uint32_t lkey, uint64_t raddr,
				 uint32_t rkey, uint64_t swap_add, uint64_t compare)
{
	char *rest = gda_port_entry(p, index, opcode, 4, raddr, rkey);

	gda_store128(rest, gda_swap32((uint32_t)(swap_add >> 32)),
		     gda_swap32((uint32_t)swap_add), gda_swap32((uint32_t)(compare >> 32)),
		     gda_swap32((uint32_t)compare));
	gda_store128(rest + 16, 8U << 24, gda_swap32(lkey),
		     gda_swap32((uint32_t)(laddr >> 32)), gda_swap32((uint32_t)laddr));
}

GDA_DEVICE void gda_write_value(const struct gda_port &p, uint64_t index, uint64_t raddr,
				uint32_t rkey, uint64_t value)
{
	gda_store128(gda_port_entry(p, index, GDA_MLX5_WRITE, 3, raddr, rkey),
		     gda_swap32(8 | GDA_MLX5_INLINE), (uint32_t)value, (uint32_t)(value >> 32),
		     0);
}

/*
 * What an entry is made of. A poster that waits for an atomic operation before it knows the
 * slot swaps the bytes meanwhile; for others it is best done when they are stored.
 */
template <class queue>
GDA_DEVICE void gda_prepare(const queue &, uint64_t, uint32_t, uint32_t, uint32_t, uint64_t)
{
}

GDA_DEVICE void gda_prepare(const struct gda_shared &, uint64_t raddr, uint32_t rkey, uint32_t len,
			    uint32_t lkey, uint64_t laddr)
{
	gda_need32(gda_swap32((uint32_t)(raddr >> 32)));
	gda_need32(gda_swap32((uint32_t)raddr));
	gda_need32(gda_swap32(rkey));
	gda_need32(gda_swap32(len));
	gda_need32(gda_swap32(lkey));
	gda_need32(gda_swap32((uint32_t)(laddr >> 32)));
	gda_need32(gda_swap32((uint32_t)laddr));
}

/*
 * Post @n entries, which @write writes at the index it is given. The branch that waits
 * for room is here, not in a function that returns an error: such an answer is looked at
 * once more where it was returned, also by those that did not wait.
 */
template <class queue, class writer>
GDA_DEVICE int64_t gda_post(queue &q, uint32_t n, unsigned int flags, const writer &write)
{
	struct gda_turn turn;
	uint64_t index;
	int err;

	if (__builtin_expect(gda_reserve(q, n, flags, index), 0)) {
		err = gda_room(q, n, flags, index);
		if (err)
			return err;
	}
	turn = gda_begin(q, index, n);
	write(index);
	gda_publish(q, index, n, flags, turn);
	return (int64_t)(index + n - 1);
}

/* A write or read of one local segment. @opcode is constant. */
template <class queue>
GDA_DEVICE int64_t gda_post_rdma(queue &q, uint32_t opcode, uint64_t laddr, uint32_t lkey,
				 uint64_t raddr, uint32_t rkey, uint32_t len,
				 unsigned int flags)
{
	if (len >> 31)
		return -EMSGSIZE;
	gda_prepare(q, raddr, rkey, len, lkey, laddr);
	return gda_post(q, 1, flags, [&](uint64_t index) {
		gda_write_rdma(q.port, index, opcode, laddr, lkey, raddr, rkey, len);
	});
}

template <class queue>
GDA_DEVICE int64_t gda_post_atomic(queue &q, uint32_t opcode, uint64_t laddr, uint32_t lkey,
				   uint64_t raddr, uint32_t rkey, uint64_t swap_add,
				   uint64_t compare, unsigned int flags)
{
	return gda_post(q, 1, flags, [&](uint64_t index) {
		gda_write_atomic(q.port, index, opcode, laddr, lkey, raddr, rkey, swap_add,
				 compare);
	});
}

/**
 * gda_put - RDMA write
 * @q: the queue, as the poster has opened it
 * @laddr: source, an iova of @lkey's memory
 * @lkey: key of local memory
 * @raddr: target, an iova of @rkey's memory
 * @rkey: key of the peer's memory
 * @len: bytes, below 2^31
 * @flags: GDA_NOWAIT, GDA_DEFER (exclusive posters), GDA_SYSTEM
 *
 * As gda_put() of gda/fastpath.h, through what the poster keeps in registers.
 *
 * Return: the ticket; -EMSGSIZE, -EIO, -ETIMEDOUT, -ESHUTDOWN, or -EAGAIN with
 * GDA_NOWAIT, and nothing was posted.
 */
template <class queue>
GDA_GPU_API int64_t gda_put(queue &q, uint64_t laddr, uint32_t lkey, uint64_t raddr,
			   uint32_t rkey, uint32_t len, unsigned int flags)
{
	return gda_post_rdma(q, GDA_MLX5_WRITE, laddr, lkey, raddr, rkey, len, flags);
}

/**
 * gda_get - RDMA read
 * @q: the queue, as the poster has opened it
 * @laddr: where to, an iova of @lkey's memory
 * @lkey: key of local memory
 * @raddr: source, an iova of @rkey's memory
 * @rkey: key of the peer's memory
 * @len: bytes, below 2^31
 * @flags: GDA_NOWAIT, GDA_DEFER (exclusive posters), GDA_SYSTEM
 *
 * Return: the ticket; -EMSGSIZE, -EIO, -ETIMEDOUT, -ESHUTDOWN, or -EAGAIN with
 * GDA_NOWAIT, and nothing was posted.
 */
template <class queue>
GDA_GPU_API int64_t gda_get(queue &q, uint64_t laddr, uint32_t lkey, uint64_t raddr,
			   uint32_t rkey, uint32_t len, unsigned int flags)
{
	return gda_post_rdma(q, GDA_MLX5_READ, laddr, lkey, raddr, rkey, len, flags);
}

/**
 * gda_put_value - write eight bytes given by value
 * @q: the queue, as the poster has opened it
 * @raddr: target, an iova of @rkey's memory
 * @rkey: key of the peer's memory
 * @value: stored as the GPU has it, little-endian
 * @flags: GDA_NOWAIT, GDA_DEFER (exclusive posters), GDA_SYSTEM
 *
 * The bytes are in the queue itself: no local memory, no key.
 *
 * Return: the ticket; -EIO, -ETIMEDOUT, -ESHUTDOWN, or -EAGAIN with GDA_NOWAIT, and
 * nothing was posted.
 */
template <class queue>
GDA_GPU_API int64_t gda_put_value(queue &q, uint64_t raddr, uint32_t rkey, uint64_t value,
				 unsigned int flags)
{
	return gda_post(q, 1, flags, [&](uint64_t index) {
		gda_write_value(q.port, index, raddr, rkey, value);
	});
}

/**
 * gda_fetch_add - add to a word of the peer
 * @q: the queue, as the poster has opened it
 * @laddr: where the old value goes, 8 bytes
 * @lkey: key of local memory
 * @raddr: the word, aligned to 8
 * @rkey: key of the peer's memory
 * @add: what to add, modulo 2^64
 * @flags: GDA_NOWAIT, GDA_DEFER (exclusive posters), GDA_SYSTEM
 *
 * Return: the ticket; -EIO, -ETIMEDOUT, -ESHUTDOWN, or -EAGAIN with GDA_NOWAIT, and
 * nothing was posted.
 */
template <class queue>
GDA_GPU_API int64_t gda_fetch_add(queue &q, uint64_t laddr, uint32_t lkey, uint64_t raddr,
				 uint32_t rkey, uint64_t add, unsigned int flags)
{
	return gda_post_atomic(q, GDA_MLX5_ATOMIC_FA, laddr, lkey, raddr, rkey, add, 0, flags);
}

/**
 * gda_compare_swap - replace a word of the peer if it is as expected
 * @q: the queue, as the poster has opened it
 * @laddr: where the old value goes, 8 bytes
 * @lkey: key of local memory
 * @raddr: the word, aligned to 8
 * @rkey: key of the peer's memory
 * @compare: what it is expected to be
 * @swap: what it becomes then
 * @flags: GDA_NOWAIT, GDA_DEFER (exclusive posters), GDA_SYSTEM
 *
 * Return: the ticket; -EIO, -ETIMEDOUT, -ESHUTDOWN, or -EAGAIN with GDA_NOWAIT, and
 * nothing was posted.
 */
template <class queue>
GDA_GPU_API int64_t gda_compare_swap(queue &q, uint64_t laddr, uint32_t lkey, uint64_t raddr,
				    uint32_t rkey, uint64_t compare, uint64_t swap,
				    unsigned int flags)
{
	return gda_post_atomic(q, GDA_MLX5_ATOMIC_CS, laddr, lkey, raddr, rkey, swap, compare,
			       flags);
}

/**
 * gda_put_signal - write local memory to remote memory, then change a word there
 * @q: the queue, as the poster has opened it
 * @laddr: source, an iova of @lkey's memory
 * @lkey: key of local memory
 * @raddr: target, an iova of @rkey's memory
 * @rkey: key of the peer's memory
 * @len: bytes, below 2^31
 * @signal: the word and its change
 * @flags: GDA_NOWAIT, GDA_DEFER (exclusive posters), GDA_SYSTEM
 *
 * As gda_put_signal() of gda/signal.h: one reservation, one ring.
 *
 * Return: the ticket of the signal; -EINVAL, -EMSGSIZE, -EIO, -ETIMEDOUT, -ESHUTDOWN, or
 * -EAGAIN with GDA_NOWAIT, and nothing was posted.
 */
template <class queue>
GDA_GPU_API int64_t gda_put_signal(queue &q, uint64_t laddr, uint32_t lkey, uint64_t raddr,
				  uint32_t rkey, uint32_t len, const struct gda_signal &signal,
				  unsigned int flags)
{
	if (len >> 31)
		return -EMSGSIZE;
	if (signal.op > GDA_SIGNAL_SET)
		return -EINVAL;
	gda_prepare(q, raddr, rkey, len, lkey, laddr);
	return gda_post(q, 2, flags, [&](uint64_t index) {
		gda_write_rdma(q.port, index, GDA_MLX5_WRITE, laddr, lkey, raddr, rkey, len);
		if (signal.op == GDA_SIGNAL_SET)
			gda_write_value(q.port, index + 1, signal.raddr, signal.rkey, signal.value);
		else
			gda_write_atomic(q.port, index + 1, GDA_MLX5_ATOMIC_FA, signal.laddr,
					 signal.lkey, signal.raddr, signal.rkey,
					 signal.value, 0);
	});
}

/**
 * gda_put_each - a put of each lane of a warp
 * @q: the queue, as the poster has opened it
 * @laddr: source, an iova of @lkey's memory
 * @lkey: key of local memory
 * @raddr: target, an iova of @rkey's memory
 * @rkey: key of the peer's memory
 * @len: bytes, below 2^31
 * @flags: GDA_NOWAIT, GDA_DEFER (exclusive posters), GDA_SYSTEM
 *
 * All 32 lanes call it. One reservation, one ring.
 *
 * Return: the lane's own ticket; -EMSGSIZE, -EIO, -ETIMEDOUT, -ESHUTDOWN, or -EAGAIN with
 * GDA_NOWAIT, and nothing was posted.
 */
template <class queue>
GDA_GPU_API int64_t gda_put_each(queue &q, uint64_t laddr, uint32_t lkey, uint64_t raddr,
				uint32_t rkey, uint32_t len, unsigned int flags)
{
	struct gda_turn turn;
	uint64_t first, index;
	int err;

	if (__any_sync(~0U, len >> 31))
		return -EMSGSIZE;
	gda_prepare(q, raddr, rkey, len, lkey, laddr);
	if (__builtin_expect(gda_reserve_warp(q, flags, first), 0)) {
		err = gda_room_warp(q, flags, first);
		if (err)
			return err;
	}
	turn = gda_begin_warp(q, first);
	index = first + (threadIdx.x & 31);
	gda_write_rdma(q.port, index, GDA_MLX5_WRITE, laddr, lkey, raddr, rkey, len);
	gda_publish_warp(q, first, flags, turn);
	return (int64_t)index;
}

/**
 * gda_put_group - one put by a group of threads
 * @g: any object with thread_rank(), size() and sync(); all of it call
 * @q: the queue, as the poster has opened it
 * @laddr: source, an iova of @lkey's memory
 * @lkey: key of local memory
 * @raddr: target, an iova of @rkey's memory
 * @rkey: key of the peer's memory
 * @len: bytes, below 2^31
 * @flags: GDA_NOWAIT, GDA_DEFER (exclusive posters), GDA_SYSTEM
 *
 * What any thread of the group wrote before is covered.
 *
 * Return: as gda_put() in the thread of rank 0, 0 in the others.
 */
template <class group, class queue>
GDA_GPU_API int64_t gda_put_group(const group &g, queue &q, uint64_t laddr, uint32_t lkey,
				 uint64_t raddr, uint32_t rkey, uint32_t len,
				 unsigned int flags)
{
	int64_t ticket = 0;

	g.sync();
	if (g.thread_rank() == 0)
		ticket = gda_put(q, laddr, lkey, raddr, rkey, len, flags);
	return ticket;
}

/**
 * gda_flush - ring what GDA_DEFER left
 * @q: the queue, as the poster has opened it
 */
template <class queue>
GDA_GPU_API void gda_flush(queue &q)
{
	gda_ring_deferred(q);
}

/* What became of @ticket, of which @known slots have completed: as gda_test(). */
GDA_DEVICE int gda_verdict(const struct gda_view *v, uint64_t ticket, uint64_t known)
{
	uint64_t failed = gda_load_acquire64(&v->error_index);

	if (ticket == failed)
		return -EIO;
	if (ticket >= known)
		return 0;
	return failed < ticket ? -ECANCELED : 1;
}

/**
 * gda_test - has a post completed?
 * @q: the queue, as the poster has opened it
 * @ticket: of a post through @q or through another poster of its queue
 *
 * Return: 1 done, 0 not yet; -EIO it failed; -ECANCELED flushed; @ticket if negative.
 */
template <class queue>
GDA_GPU_API int gda_test(queue &q, int64_t ticket)
{
	uint64_t known;
	bool failed;

	if (ticket < 0)
		return (int)ticket;
	if ((uint64_t)ticket < gda_known(q))
		return 1;
	known = gda_refresh(q, gda_scan(q), failed);
	if (failed)
		return gda_verdict(q.port.view, ticket, known);
	return (uint64_t)ticket < known;
}

/*
 * Wait for @ticket, beginning with what @look has told. While nothing changes it is looked at
 * the completion entry only; every so often at the clock and the abort word.
 */
template <class queue, class looked>
GDA_DEVICE int gda_wait_from(queue &q, uint64_t ticket, looked look, uint64_t deadline)
{
	unsigned int polls;
	int done, err = 0;
	bool failed;

	for (;;) {
		uint64_t known = gda_refresh(q, look, failed);
		looked before = look;

		done = failed ? gda_verdict(q.port.view, ticket, known) : ticket < known;
		if (done)
			return done < 0 ? done : 0;
		if (err)
			return err;
		for (polls = 0; polls < GDA_POLLS && look == before; polls++)
			look = gda_scan(q);
		if (polls < GDA_POLLS)
			continue;
		deadline = gda_gpu_deadline(q.port.view, deadline);
		err = gda_gpu_expired(q.port.view, 0, deadline);
	}
}

/**
 * gda_wait - wait for a post
 * @q: the queue, as the poster has opened it
 * @ticket: of a post through @q or through another poster of its queue
 * @deadline: ns of gda_clock_ns(), 0: the view's timeout from now
 *
 * Rings what was deferred first.
 *
 * Return: 0 done; -EIO, -ECANCELED as gda_test(); -ETIMEDOUT, -ESHUTDOWN; @ticket if
 * negative.
 */
template <class queue>
GDA_GPU_API int gda_wait(queue &q, int64_t ticket, uint64_t deadline)
{
	if (ticket < 0)
		return (int)ticket;
	gda_ring_deferred(q);
	if ((uint64_t)ticket < gda_known(q))
		return 0;
	return gda_wait_from(q, (uint64_t)ticket, gda_scan(q), deadline);
}

/* Something was posted that @q does not know to be complete. */
template <class queue>
GDA_DEVICE int gda_quiet_wait(queue &q, uint64_t deadline)
{
	uint64_t end = gda_posted(q);
	int err;

	if (!end)
		return 0;
	err = gda_wait(q, (int64_t)end - 1, deadline);
	return err == -ECANCELED ? -EIO : err;
}

/**
 * struct gda_quieted - how gda_shared_quiet() ended
 * @done: slots that are known to have completed now
 * @err: as gda_quiet()
 */
struct gda_quieted {
	uint64_t done;
	int err;
};

/* All that was posted is below @reserved, and no more than a ring ahead of the device. */
GDA_DEVICE_SLOW struct gda_quieted gda_shared_quiet(struct gda_shared q, uint64_t reserved,
						    struct gda_shared_scan look,
						    uint64_t deadline)
{
	uint64_t end = look.completed + q.port.mask + 1;
	int err;

	if (end > reserved)
		end = reserved;
	err = gda_wait_from(q, end - 1, look, deadline);
	return { q.done, err == -ECANCELED ? -EIO : err };
}

/**
 * gda_quiet - wait until all that was posted before, by anyone, is done
 * @q: the queue, as the poster has opened it
 * @deadline: ns of gda_clock_ns(), 0: the view's timeout from now
 *
 * Return: 0; -EIO something failed; -ETIMEDOUT, -ESHUTDOWN.
 */
template <class queue>
GDA_GPU_API int gda_quiet(queue &q, uint64_t deadline)
{
	return gda_quiet_known(q) ? 0 : gda_quiet_wait(q, deadline);
}

/*
 * The same of a queue that others post to. One load tells if nothing was handed out since. What
 * has completed is not looked at beside it: then the slower of the loads would be waited for.
 */
GDA_DEVICE int gda_quiet(struct gda_shared &q, uint64_t deadline)
{
	uint64_t reserved = gda_gpu_load64(&q.port.view->reserved);
	struct gda_quieted end;

	if (reserved <= q.done)
		return 0;
	end = gda_shared_quiet(q, reserved, gda_scan(q), deadline);
	q.done = end.done;
	return end.err;
}

#endif /* GDA_GPU_POST_H */
