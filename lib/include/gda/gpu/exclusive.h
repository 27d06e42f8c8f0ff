/* SPDX-License-Identifier: MIT */
/*
 * Exclusive posting on a GPU: one thread, or one warp whose lanes do everything
 * together, owns the queue from gda_exclusive_open() to gda_exclusive_close(). Its
 * cursors are in registers, so a put is a comparison, the entry, a release and the
 * doorbell; the completion entry is read only when the ring looks full.
 */
#ifndef GDA_GPU_EXCLUSIVE_H
#define GDA_GPU_EXCLUSIVE_H

#include <gda/fastpath.h>

/**
 * struct gda_exclusive - a queue and its only poster
 * @port: constants
 * @next: index of the next slot
 * @free: slots from @next on that are known to be free
 * @deferred: slots before @next that are not rung
 */
struct gda_exclusive {
	struct gda_port port;
	uint64_t next;
	uint32_t free;
	uint32_t deferred;
};

/**
 * gda_exclusive_open - own a queue
 * @v: the view, without deferred posts
 *
 * For one thread, or for all lanes of a warp that then do everything together. No other
 * thread may post to @v or wait on it until gda_exclusive_close().
 *
 * Return: the queue, to be kept in registers.
 */
GDA_GPU_API struct gda_exclusive gda_exclusive_open(struct gda_view *v)
{
	struct gda_exclusive q;

	q.port = gda_port_open(v);
	q.next = gda_gpu_load64(&v->reserved);
	q.free = (uint32_t)(gda_gpu_load64(&v->completed) + v->mask + 1 - q.next);
	q.deferred = 0;
	return q;
}

GDA_DEVICE void gda_ring_deferred(struct gda_exclusive &q)
{
	if (!q.deferred)
		return;
	__syncwarp(__activemask());
	gda_release(q.port.caps);
	gda_port_ring(q.port, q.next);
	q.deferred = 0;
}

/* Slots known to have completed. */
GDA_DEVICE uint64_t gda_known(const struct gda_exclusive &q)
{
	return q.next + q.free - q.port.mask - 1;
}

/**
 * gda_exclusive_close - end the ownership of a queue
 * @q: the queue; deferred posts are rung
 *
 * The next user is another owner, gda_view_share() on a CPU or gda_shared_reset() on a GPU.
 * Completions need not have arrived.
 */
GDA_GPU_API void gda_exclusive_close(struct gda_exclusive &q)
{
	gda_ring_deferred(q);
	gda_gpu_store64(&q.port.view->reserved, q.next);
	/* where the ring is emptied through the view, that has it */
	if (!gda_port_unordered(q.port))
		gda_gpu_store64(&q.port.view->completed, gda_known(q));
	gda_fence_gpu();
}

/*
 * Wait until @n of the slots from @next on are free; first ring if @unrung. Return: how many are
 * free, of which @free were known.
 */
GDA_DEVICE_SLOW int64_t gda_exclusive_room(struct gda_view *v, uint64_t next, uint32_t free,
					   uint32_t n, uint32_t unrung, unsigned int flags)
{
	uint64_t deadline = gda_gpu_deadline(v, 0);
	const uint32_t *last = gda_cqe_last(v->dialect, v->cq);
	uint64_t empty = next - v->mask - 1;	/* the completed index when no slot is free */
	unsigned int polls;
	int failed, err;

	if (unrung) {
		__syncwarp(__activemask());
		gda_release(v->caps);
		gda_port_ring(gda_port_open(v), next);
	}
	if (gda_cqe_unordered(v->dialect))
		return gda_unordered_room(v, empty, n, flags & GDA_NOWAIT);
	for (polls = 1;; polls++) {
		free = (uint32_t)(gda_cqe_completed(v->dialect, v, gda_nic_load32(last),
						    empty + free, &failed) - empty);
		if (failed)
			return -EIO;
		if (free >= n)
			return free;
		if (flags & GDA_NOWAIT)
			return -EAGAIN;
		err = gda_gpu_expired(v, polls, deadline);
		if (err)
			return err;
	}
}

/*
 * Reserve @n slots at @index. Return: whether gda_room() must be called first, because the slots
 * are not known to be free.
 */
GDA_DEVICE bool gda_reserve(struct gda_exclusive &q, uint32_t n, unsigned int flags,
			    uint64_t &index)
{
	index = q.next;
	return q.free < n;
}

/* Wait until the reserved slots are free. Return: 0 or a negative errno. */
GDA_DEVICE int gda_room(struct gda_exclusive &q, uint32_t n, unsigned int flags,
			uint64_t &index)
{
	int64_t free = gda_exclusive_room(q.port.view, q.next, q.free, n, q.deferred, flags);

	q.deferred = 0;
	if (free < 0)
		return (int)free;
	q.free = (uint32_t)free;
	return 0;
}

/* The slots are free, and are written from now on. */
GDA_DEVICE struct gda_turn gda_begin(struct gda_exclusive &q, uint64_t index, uint32_t n)
{
	q.next += n;
	q.free -= n;
	return {};
}

GDA_DEVICE void gda_publish(struct gda_exclusive &q, uint64_t index, uint32_t n,
			    unsigned int flags, const struct gda_turn &turn)
{
	q.deferred += n;
	if (flags & GDA_DEFER)
		return;
	gda_need32(gda_db_record(gda_port_dialect(q.port), index + n));
	gda_release(flags & GDA_SYSTEM ? 0 : q.port.caps);
	gda_port_ring(q.port, index + n);
	q.deferred = 0;
}

static_assert(GDA_WQE_MUTE, "gda_try_*() write entries that they may not post");
static_assert(GDA_WQE_CONST(GDA_WQE_FIRST, WORD_SLOTS) == 1, "posts of a GPU take one slot");

/*
 * Post one entry for a group of threads without a branch. Every thread of the group calls this
 * with the same @good; the thread for which @first is true posts, if @good and if a slot is known
 * to be free. The entry is written and released before @good is needed: the owner of the queue is
 * the only writer of that slot, and the device does not read an entry before it is rung. So the
 * compiler interleaves the computation of @good with the encoding of @w.
 *
 * Return: true if there is nothing left to do: @good, and in the posting thread also that a slot
 * was free. @ticket is the ticket in the posting thread and 0 in the others.
 */
GDA_DEVICE bool gda_try_first(struct gda_exclusive &q, bool first, bool good,
			      const struct gda_wqe &w, unsigned int flags, int64_t &ticket)
{
	bool ready = first & (q.free != 0), post = ready & good;
	uint64_t index = q.next;

	gda_wqe_store_if(ready, gda_sq(q.port), index, &w, flags & GDA_SOLICITED);
	if (flags & GDA_DEFER) {
		q.deferred += post;
	} else {
		gda_need32(gda_db_record(gda_port_dialect(q.port), index + 1));
		gda_release_if(ready, flags & GDA_SYSTEM ? 0 : q.port.caps);
		gda_port_ring_if(post, q.port, index + 1);
		q.deferred = post ? 0 : q.deferred;
	}
	if (post) {
		q.next = index + 1;
		q.free--;
		ticket = (int64_t)index;
	} else {
		ticket = 0;
	}
	return good & (ready == first);
}

/* The same for all lanes of a warp together: @index is the first lane's. */
GDA_DEVICE bool gda_reserve_warp(struct gda_exclusive &q, unsigned int flags, uint64_t &index)
{
	return gda_reserve(q, 32, flags, index);
}

GDA_DEVICE int gda_room_warp(struct gda_exclusive &q, unsigned int flags, uint64_t &index)
{
	return gda_room(q, 32, flags, index);
}

GDA_DEVICE struct gda_turn gda_begin_warp(struct gda_exclusive &q, uint64_t index)
{
	return gda_begin(q, index, 32);
}

GDA_DEVICE void gda_publish_warp(struct gda_exclusive &q, uint64_t index, unsigned int flags,
				 const struct gda_turn &turn)
{
	q.deferred += 32;
	if (flags & GDA_DEFER)
		return;
	gda_need32(gda_db_record(gda_port_dialect(q.port), index + 32));
	__syncwarp();
	if (!(threadIdx.x & 31)) {
		gda_release(flags & GDA_SYSTEM ? 0 : q.port.caps);
		gda_port_ring(q.port, index + 32);
	}
	q.deferred = 0;
}

/*
 * The same with an entry for each lane of a warp; @good is the lane's own, and nothing is posted
 * unless it is true in all lanes. Return: whether the entries were posted; then @ticket is the
 * lane's own.
 */
GDA_DEVICE bool gda_try_each(struct gda_exclusive &q, bool good, const struct gda_wqe &w,
			     unsigned int flags, int64_t &ticket)
{
	uint64_t first = q.next, index = first + (threadIdx.x & 31);
	bool ready = q.free >= 32;

	gda_wqe_store_if(ready, gda_sq(q.port), index, &w, flags & GDA_SOLICITED);
	if (__builtin_expect(!__all_sync(~0U, ready & good), 0))
		return false;
	gda_publish_warp(q, first, flags, gda_begin_warp(q, first));
	ticket = (int64_t)index;
	return true;
}

/* Poll the device's progress. */
GDA_DEVICE uint32_t gda_scan(const struct gda_exclusive &q)
{
	return gda_port_last(q.port);
}

/*
 * The consumer index according to that poll. It is not kept if the queue has failed, so that
 * gda_known() and gda_quiet_known() report only success.
 */
GDA_DEVICE uint64_t gda_refresh(struct gda_exclusive &q, uint32_t look, int &failed)
{
	uint64_t done;

	gda_acquire();
	done = gda_cqe_completed(gda_port_dialect(q.port), q.port.view, look,
				 gda_known(q), &failed);
	if (!failed)
		q.free = (uint32_t)(done + q.port.mask + 1 - q.next);
	return done;
}

GDA_DEVICE uint64_t gda_posted(struct gda_exclusive &q)
{
	return q.next;
}

/* Is all that was posted known to have completed? */
GDA_DEVICE bool gda_quiet_known(struct gda_exclusive &q)
{
	return q.free == q.port.mask + 1;
}

#endif /* GDA_GPU_EXCLUSIVE_H */
