/* SPDX-License-Identifier: MIT */
/*
 * A courier: a warp that only rings. It has the headship from gda_courier_run() on, so
 * posters that use struct gda_shared with courier set write an entry, release it, mark
 * it ready by a store and go on. It also follows the completions, so that posters need
 * not look at the CQ. Optional: without one, posters lead in turn (gda/gpu/shared.h).
 * Posters of one queue all do the same: all with the courier, or all without.
 */
#ifndef GDA_GPU_COURIER_H
#define GDA_GPU_COURIER_H

#include <gda/gpu/exclusive.h>

/**
 * struct gda_shared - a queue shared by threads of the GPU, as one of them sees it
 * @port: constants
 * @done: slots this poster knows to have completed
 * @courier: somebody runs gda_courier_run(); a constant
 */
struct gda_shared {
	struct gda_port port;
	uint64_t done;
	bool courier;
};

/**
 * gda_shared_open - a thread opens a queue that others post to as well
 * @v: the view
 * @courier: whether somebody runs gda_courier_run(); a constant, the same for all
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
	q.courier = courier;
	return q;
}

GDA_DEVICE int64_t gda_take(struct gda_shared &q, uint32_t n, unsigned int flags)
{
	return gda_shared_take(q.port, n, flags);
}

GDA_DEVICE void gda_give(struct gda_shared &q, uint64_t index, uint32_t n, unsigned int flags)
{
	uint32_t caps = flags & GDA_SYSTEM ? 0 : q.port.caps;

	if (!q.courier) {
		gda_shared_publish<false>(q.port, index, n, caps);
		return;
	}
	gda_release(caps);
	gda_shared_leave(q.port, index, n);
}

GDA_DEVICE int64_t gda_take_warp(struct gda_shared &q, unsigned int flags)
{
	unsigned int lane = threadIdx.x & 31;
	int64_t index = 0;

	if (!lane)
		index = gda_shared_take(q.port, 32, flags);
	index = __shfl_sync(~0U, index, 0);
	return index < 0 ? index : index + lane;
}

GDA_DEVICE void gda_give_warp(struct gda_shared &q, uint64_t index, unsigned int flags)
{
	uint32_t caps = flags & GDA_SYSTEM ? 0 : q.port.caps;

	if (!q.courier) {
		gda_shared_publish<true>(q.port, index, 32, caps);
		return;
	}
	gda_release(caps);
	__syncwarp();
	if (!(threadIdx.x & 31))
		gda_shared_leave(q.port, index, 32);
}

/* Somebody rings. */
GDA_DEVICE void gda_ring_deferred(struct gda_shared &q)
{
}

GDA_DEVICE uint64_t gda_refresh(struct gda_shared &q, bool &failed)
{
	uint64_t done = gda_poll(q.port.view, 0);

	failed = gda_load_acquire64(&q.port.view->error_index) != GDA_NO_ERROR;
	if (!failed)
		q.done = done;
	return done;
}

GDA_DEVICE uint64_t gda_known(const struct gda_shared &q)
{
	return q.done;
}

GDA_DEVICE uint64_t gda_posted(struct gda_shared &q)
{
	return gda_handed_out(q.port.view);
}

/* One load: of what was handed out since. */
GDA_DEVICE bool gda_quiet_known(struct gda_shared &q)
{
	return gda_gpu_load64(&q.port.view->reserved) <= q.done;
}

/* Where the headship is parked, at most a ring from what was handed out. */
GDA_DEVICE uint64_t gda_courier_start(const struct gda_port &p)
{
	uint64_t at = gda_gpu_load64(&p.view->reserved), back;

	for (back = 0; back <= p.mask; back++, at--)
		if (gda_shared_heads(p, at, gda_shared_load(p, at)) >>
		    ((uint32_t)at & p.mask & 31) & 1)
			break;
	return at;
}

/**
 * gda_courier_run - ring for all posters of a queue
 * @q: the queue, as a poster opens it
 * @posters: how many may still post; see gda_courier_leave()
 *
 * For a whole warp, called before anybody posts with the courier (posters may already
 * wait for their first slot to complete, but not post without it).
 *
 * Return: 0 when no poster is left and all is rung; -ESHUTDOWN aborted.
 */
GDA_GPU_API int gda_courier_run(const struct gda_shared &q, const uint32_t *posters)
{
	struct gda_port p = q.port;
	struct gda_view *v = p.view;
	uint64_t start = gda_courier_start(p), next = start, told = 0, end;
	bool first = !(threadIdx.x & 31);
	unsigned int idle = 0;
	uint32_t last, left;

	for (;;) {
		last = gda_port_last(p);
		end = gda_shared_walk_warp(p, next);
		if (first)
			told = gda_shared_advance(p, next, last, told);
		if (end != next) {
			gda_pass_on(p.caps);
			if (first)
				gda_port_ring(p, end);
			next = end;
			idle = 0;
			continue;
		}
		if (++idle % GDA_POLLS)
			continue;
		left = gda_load_acquire32(posters);
		if (__shfl_sync(~0U, !left && gda_gpu_load64(&v->reserved) <= next, 0))
			break;
		if (__shfl_sync(~0U, gda_nic_load32((const uint32_t *)v->abort), 0))
			return -ESHUTDOWN;
	}
	gda_release(p.caps);
	if (first) {
		gda_gpu_store64(&v->rung, next);
		gda_gpu_toggle64(gda_shared_word(p, start), gda_shared_head(start, p.mask));
		gda_gpu_toggle64(gda_shared_word(p, next), gda_shared_head(next, p.mask));
	}
	gda_release(p.caps);
	return 0;
}

/**
 * gda_courier_leave - a poster has posted its last
 * @posters: what gda_courier_run() was given; goes down by one
 */
GDA_GPU_API void gda_courier_leave(uint32_t *posters)
{
	gda_fence_gpu();
	gda_gpu_add32(posters, (uint32_t)-1);
}

#endif /* GDA_GPU_COURIER_H */
