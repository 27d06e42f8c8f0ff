/* SPDX-License-Identifier: MIT */
/*
 * How a poster on a GPU reserves slots of a queue to which others post as well.
 *
 * This is one fetch-add, with a load of the cached consumer index beside it. A poster whose slot is
 * not free yet waits for it, in order. To give up, it must return the slot, which is possible only
 * in reverse order: so it raises view->retreat, and all that wait for slots return theirs and start
 * again when it is over. Returned slots have never been published, and the ring is never lapped.
 */
#ifndef GDA_GPU_RESERVE_H
#define GDA_GPU_RESERVE_H

#include <gda/gpu/unordered.h>

/* How often a cached consumer index is read without a change before the CQ is polled. */
#define GDA_LOOKS	16
/* How often a post that does not wait tries to reserve a slot near the end of the ring. */
#define GDA_TRIES	16

/*
 * So many free slots that others cannot reserve them all before this thread has reserved its own.
 */
GDA_DEVICE uint32_t gda_shared_margin(uint32_t mask)
{
	return mask / 4 + 32;
}

/* Is the queue full, according to a cached consumer index that is at most one ring behind? */
GDA_DEVICE bool gda_shared_full(const struct gda_view *v, uint64_t end, uint64_t completed)
{
	return (int64_t)(end - completed) > (int64_t)v->mask + 1;
}

/* Will slots be freed? Not by a queue that has failed, unless it is unordered. */
GDA_DEVICE bool gda_shared_goes_on(const struct gda_view *v)
{
	return gda_cqe_unordered(v->dialect) ||
	       gda_load_acquire64(&v->error_index) == GDA_NO_ERROR;
}

/* Wait, without a slot, until no poster wants to return one. */
GDA_DEVICE int gda_shared_stand_back(struct gda_view *v, uint64_t deadline)
{
	unsigned int polls;
	int err;

	for (polls = 1; gda_gpu_load32(&v->retreat); polls++) {
		err = gda_gpu_expired(v, polls, deadline);
		if (err)
			return err;
	}
	return 0;
}

/*
 * Wait for the caller's @n slots at @index, which are not free yet, or return them; with @nowait
 * return them, unless they become free before. Slots above are returned first, because their owners
 * wait as well and read view->retreat.
 */
GDA_DEVICE_SLOW int64_t gda_shared_room(struct gda_view *v, uint64_t index, uint32_t n,
					bool nowait)
{
	uint64_t deadline = gda_gpu_deadline(v, 0), completed, seen = 0;
	unsigned int polls, still = 0;
	int64_t err = 0;
	bool look;

	for (polls = 1;; polls++) {
		/* the combiner polls completions in order: poll here only if there is none */
		look = nowait || still == GDA_LOOKS || polls % GDA_POLLS == 0;
		if (gda_cqe_unordered(v->dialect))
			look = true;
		completed = look ? gda_poll(v, 0) : gda_gpu_load64(&v->completed);
		still = look || completed != seen ? 0 : still + 1;
		seen = completed;
		if ((int64_t)(index + n - completed) <= (int64_t)v->mask + 1) {
			gda_fence_gpu();
			if (err)
				gda_gpu_add32(&v->retreat, (uint32_t)-1);
			return (int64_t)index;
		}
		if (!err && !look)
			continue;
		if (!err) {
			if (!gda_shared_goes_on(v))
				err = -EIO;
			else
				err = nowait ? -EAGAIN : gda_gpu_expired(v, polls, deadline);
			if (err)
				gda_gpu_add32(&v->retreat, 1);
			else if (!gda_gpu_load32(&v->retreat))
				continue;
		}
		if (gda_gpu_cas64(&v->reserved, index + n, index) != index + n)
			continue;
		if (err) {
			gda_gpu_add32(&v->retreat, (uint32_t)-1);
			return err;
		}
		err = gda_shared_stand_back(v, deadline);
		if (err)
			return err;
		index = gda_gpu_fetch_add64(&v->reserved, n);
	}
}

/*
 * Reserve @n slots if they are free, without waiting. Far from the end of the ring this is the same
 * fetch-add; if others were so fast that the slots are not free, they are returned. Near the end a
 * slot is reserved by a compare-and-swap, which never reserves one that is not free.
 */
GDA_DEVICE_SLOW int64_t gda_shared_try(struct gda_view *v, uint32_t n)
{
	uint64_t completed = gda_gpu_load64(&v->completed);
	uint64_t index = gda_gpu_load64(&v->reserved);
	unsigned int tries;

	if (!gda_shared_full(v, index + n + gda_shared_margin(v->mask), completed)) {
		index = gda_gpu_fetch_add64(&v->reserved, n);
		if (!gda_shared_full(v, index + n, completed))
			return (int64_t)index;
		return gda_shared_room(v, index, n, true);
	}
	for (tries = 0; tries < GDA_TRIES; tries++) {
		uint64_t was;

		if (gda_shared_full(v, index + n, completed))
			completed = gda_poll(v, 0);
		if (gda_shared_full(v, index + n, completed))
			break;
		was = gda_gpu_cas64(&v->reserved, index, index + n);
		if (was == index)
			return (int64_t)index;
		index = was;
	}
	return gda_shared_goes_on(v) ? -EAGAIN : -EIO;
}

/* Reserve @n slots at @index. Return: true if they are not known to be free. */
GDA_DEVICE bool gda_shared_reserve(const struct gda_port &p, uint32_t n, uint64_t &index,
				   uint64_t &completed)
{
	completed = gda_gpu_load64(&p.view->completed);
	index = gda_gpu_fetch_add64(&p.view->reserved, n);
	/* no further behind than what is handed out goes beyond the ring */
	return (uint32_t)(index + n - completed) > p.mask + 1;
}

/* The same, and wait. Return: the first slot, or a negative errno. */
GDA_DEVICE int64_t gda_shared_reserve(struct gda_view *v, uint32_t n, unsigned int flags)
{
	uint64_t index, completed;

	if (flags & GDA_NOWAIT)
		return gda_shared_try(v, n);
	if (__builtin_expect(gda_shared_reserve(gda_port_open(v), n, index, completed), 0))
		return gda_shared_room(v, index, n, false);
	return (int64_t)index;
}

/* The same for gda_reserve() of a view. */
GDA_DEVICE int gda_gpu_reserve(struct gda_view *v, uint32_t n, unsigned int flags,
			       uint64_t *index)
{
	int64_t got = gda_shared_reserve(v, n, flags);

	*index = (uint64_t)got;
	return got < 0 ? (int)got : 0;
}

#endif /* GDA_GPU_RESERVE_H */
