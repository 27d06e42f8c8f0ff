/* SPDX-License-Identifier: MIT */
/*
 * A courier: a warp that only rings. It has the combining role from gda_courier_run() on, so
 * posters whose struct gda_shared has courier set write an entry, release it, mark it ready by a
 * store and go on. It also follows the completions, so that posters need not poll the CQ. A courier
 * is optional: without one, posters have the combining role in turn (gda/gpu/shared.h). Either all
 * posters of a queue use the courier or none.
 */
#ifndef GDA_GPU_COURIER_H
#define GDA_GPU_COURIER_H

#include <gda/gpu/exclusive.h>

/**
 * struct gda_shared - a queue shared by threads of the GPU, as one of them sees it
 * @port: constants
 * @done: slots this poster knows to have completed
 * @parked: slot at which this poster has last parked the combining role, or %GDA_NO_ERROR
 * @slack: slots that were free behind this poster's newest post that did not wait
 * @courier: a warp runs gda_courier_run(); a constant
 */
struct gda_shared {
	struct gda_port port;
	uint64_t done;
	uint64_t parked;
	uint32_t slack;
	bool courier;
};

/**
 * gda_shared_open - a thread opens a queue to which others post as well
 * @v: the view
 * @courier: whether a warp runs gda_courier_run(); a constant, the same for all
 *
 * Posters may be anywhere on the GPU. Rings of less than 8 slots cannot be shared.
 *
 * Return: the queue, to be kept in registers.
 */
GDA_GPU_API struct gda_shared gda_shared_open(struct gda_view *v, bool courier)
{
	struct gda_shared q;

	q.port = gda_port_open(v);
	q.done = 0;
	q.parked = GDA_NO_ERROR;
	q.slack = 0;
	q.courier = courier;
	return q;
}

/*
 * Without waiting, a slot is reserved as usual if there was enough room at the last post;
 * GDA_NO_ERROR: none is reserved yet.
 */
GDA_DEVICE bool gda_reserve(struct gda_shared &q, uint32_t n, unsigned int flags, uint64_t &index)
{
	uint64_t completed;
	bool full;

	index = GDA_NO_ERROR;
	if (flags & GDA_NOWAIT && q.slack < gda_shared_margin(q.port.mask))
		return true;
	full = gda_shared_reserve(q.port, n, index, completed);
	if (flags & GDA_NOWAIT)
		q.slack = full ? 0 : q.port.mask + 1 - (uint32_t)(index + n - completed);
	return full;
}

GDA_DEVICE int gda_room(struct gda_shared &q, uint32_t n, unsigned int flags, uint64_t &index)
{
	struct gda_view *v = q.port.view;
	int64_t got;

	if (flags & GDA_NOWAIT && index == GDA_NO_ERROR)
		got = gda_shared_try(v, n);
	else
		got = gda_shared_room(v, index, n, flags & GDA_NOWAIT);
	if (got < 0)
		return (int)got;
	index = (uint64_t)got;
	if (flags & GDA_NOWAIT)
		q.slack = q.port.mask + 1 -
			  (uint32_t)(index + n - gda_gpu_load64(&v->completed));
	return 0;
}

GDA_DEVICE struct gda_turn gda_begin(struct gda_shared &q, uint64_t index, uint32_t n)
{
	if (q.courier)
		return {};
	return gda_shared_come<true>(q.port, index, n, q.parked);
}

GDA_DEVICE void gda_publish(struct gda_shared &q, uint64_t index, uint32_t n, unsigned int flags,
			    const struct gda_turn &turn)
{
	uint32_t caps = flags & GDA_SYSTEM ? 0 : q.port.caps;

	if (q.courier)
		gda_shared_publish(q.port, index, n, caps);
	else
		q.parked = gda_shared_publish<false>(q.port, index, n, caps, turn);
}

GDA_DEVICE bool gda_reserve_warp(struct gda_shared &q, unsigned int flags, uint64_t &index)
{
	bool full = false;

	index = 0;
	if (!(threadIdx.x & 31))
		full = gda_reserve(q, 32, flags, index);
	if (flags & GDA_NOWAIT)
		return __shfl_sync(~0U, full, 0);
	return gda_first_lane(full, index);
}

GDA_DEVICE int gda_room_warp(struct gda_shared &q, unsigned int flags, uint64_t &index)
{
	int err = 0;

	if (!(threadIdx.x & 31))
		err = gda_room(q, 32, flags, index);
	index = __shfl_sync(~0U, index, 0);
	return __shfl_sync(~0U, err, 0);
}

/* Only the first lane's value is used. */
GDA_DEVICE struct gda_turn gda_begin_warp(struct gda_shared &q, uint64_t index)
{
	struct gda_turn turn;

	if (!(threadIdx.x & 31))
		turn = gda_begin(q, index, 32);
	return turn;
}

GDA_DEVICE void gda_publish_warp(struct gda_shared &q, uint64_t index, unsigned int flags,
				 const struct gda_turn &turn)
{
	uint32_t caps = flags & GDA_SYSTEM ? 0 : q.port.caps;

	if (!q.courier) {
		q.parked = gda_shared_publish<true>(q.port, index, 32, caps, turn);
		return;
	}
	__syncwarp();
	if (!(threadIdx.x & 31))
		gda_shared_publish(q.port, index, 32, caps);
}

/* The courier rings. */
GDA_DEVICE void gda_ring_deferred(struct gda_shared &q)
{
}

/**
 * struct gda_shared_scan - the progress of the device at a poll
 * @completed: the cached consumer index at that time
 * @word: of the completion entry
 */
struct gda_shared_scan {
	uint64_t completed;
	uint32_t word;

	__device__ bool operator==(const struct gda_shared_scan &other) const
	{
		return word == other.word;
	}
};

GDA_DEVICE struct gda_shared_scan gda_scan(const struct gda_shared &q)
{
	return { gda_gpu_load64(&q.port.view->completed), gda_port_last(q.port) };
}

/*
 * The queue has failed, or one poll is not conclusive. Return: the completed index, inverted if the
 * queue has failed; or @known.
 */
GDA_DEVICE_SLOW uint64_t gda_shared_failed(struct gda_view *v, uint64_t known)
{
	uint64_t done = gda_poll(v, 0);

	return gda_load_acquire64(&v->error_index) != GDA_NO_ERROR ? ~done : known;
}

/*
 * The cached index is at most a moment old, so the device is at most one ring ahead of it; if it
 * seems to be further, the entry was read earlier. A success entry proves that all earlier work has
 * succeeded, which the cached index alone does not.
 */
GDA_DEVICE uint64_t gda_refresh(struct gda_shared &q, const struct gda_shared_scan &look,
				int &failed)
{
	uint64_t now = gda_cqe_unwrap(gda_port_dialect(q.port), look.completed, look.word);

	failed = 0;
	if (gda_cqe_is_error(gda_port_dialect(q.port), look.word)) {
		now = gda_shared_failed(q.port.view, q.done);
		failed = (int64_t)now < 0;
		return failed ? ~now : now;
	}
	if (!gda_cqe_is_done(gda_port_dialect(q.port), look.word) ||
	    now - look.completed > q.port.mask + 1 || now <= q.done)
		return q.done;
	gda_acquire();
	if (now != look.completed)
		gda_gpu_max64(&q.port.view->completed, now);
	q.done = now;
	return now;
}

GDA_DEVICE uint64_t gda_known(const struct gda_shared &q)
{
	return q.done;
}

/* Park the combining role at slot @next, unless that slot is ready by now and @last is not set. */
GDA_DEVICE bool gda_courier_park(const struct gda_port &p, uint64_t next, bool one, bool last)
{
	bool parked = last;

	gda_release(p.caps);
	if (one) {
		gda_gpu_store64(&p.view->rung, next);
		if (last)
			gda_gpu_toggle64(gda_shared_word(p, next),
					 gda_shared_coming(next, p.mask));
		else
			parked = gda_shared_park(p, next);
	}
	return __shfl_sync(~0U, parked, 0);
}

/**
 * gda_courier_run - ring for all posters of a queue
 * @q: the queue, as a poster opens it
 * @posters: number of threads that may still post; see gda_courier_leave()
 *
 * Called by all lanes of a warp. Posters that use the courier may start before it does, and wait;
 * it then rings for their posts. Before it returns, also when aborted, it parks the combining role,
 * so that another courier may run, or, if all posters with a courier have left, posters without
 * one.
 *
 * Return: 0 when no poster is left and all is rung; -ESHUTDOWN aborted.
 */
GDA_GPU_API int gda_courier_run(const struct gda_shared &q, const uint32_t *posters)
{
	struct gda_port p = q.port;
	struct gda_view *v = p.view;
	/* no thread has the combining role, so it is parked here */
	uint64_t start = gda_load_acquire64(&v->rung), next = start, told = 0, end;
	bool first = !(threadIdx.x & 31), coming;
	unsigned int idle = 0, ending = 0;
	uint32_t last, left;
	int err = 0;

	for (;;) {
		last = gda_port_last(p);
		end = gda_shared_walk_warp(p, next, coming);
		if (first)
			told = gda_shared_advance(p, next, last, told);
		if (end != next) {
			gda_pass_on(p.caps);
			if (first)
				gda_port_ring(p, end);
			next = end;
			idle = 0;
			if (!ending)
				continue;
		}
		if (!ending) {
			if (++idle % GDA_POLLS)
				continue;
			left = gda_load_acquire32(posters);
			left = left || gda_gpu_load64(&v->reserved) > next;
			if (__shfl_sync(~0U, left, 0)) {
				left = gda_nic_load32((const uint32_t *)v->abort);
				if (!__shfl_sync(~0U, left, 0))
					continue;
				err = -ESHUTDOWN;
			}
			/*
			 * only the first poster to be waited for has found its word inverted, and
			 * inverted it again
			 */
			if (first)
				gda_gpu_toggle64(gda_shared_word(p, start),
						 gda_shared_coming(start, p.mask));
		}
		/* posters that still post after an abort do not delay the courier here */
		if (gda_courier_park(p, next, first, ++ending == GDA_POLLS))
			break;
	}
	gda_release(p.caps);
	return err;
}

/**
 * gda_courier_leave - a poster will not post any more
 * @posters: the counter of gda_courier_run(), which is decremented
 */
GDA_GPU_API void gda_courier_leave(uint32_t *posters)
{
	gda_fence_gpu();
	gda_gpu_add32(posters, (uint32_t)-1);
}

#endif /* GDA_GPU_COURIER_H */
