/* SPDX-License-Identifier: MIT */
/*
 * Waits of posters on a GPU for queues whose requests complete in any order, each queue to a ring
 * of its own. Any thread that waits empties the ring, by gda_poll(). The rest of
 * lib/include/gda/gpu takes other queues as they are, and calls these functions where
 * gda_port_unordered() says so.
 *
 * Tickets are those that the posters handed out: gda_view.reserved is not compared, because the
 * owner of a queue keeps it in registers.
 */
#ifndef GDA_GPU_UNORDERED_H
#define GDA_GPU_UNORDERED_H

#include <gda/gpu/device.h>

/*
 * Wait until @n slots are free; slots below @empty are free in any case, and so many are returned
 * in addition. Or return a negative errno. Failed requests free their slots like others.
 */
GDA_DEVICE_SLOW int64_t gda_unordered_room(struct gda_view *v, uint64_t empty,
					   uint32_t n, bool nowait)
{
	uint64_t deadline = gda_gpu_deadline(v, 0), free;
	unsigned int polls;
	int err;

	for (polls = 1;; polls++) {
		free = gda_poll(v, 0) - empty;
		if (free >= n)
			return (int64_t)free;
		if (nowait)
			return -EAGAIN;
		err = gda_gpu_expired(v, polls, deadline);
		if (err)
			return err;
	}
}

/* As gda_test(). The caller has checked that @ticket is not negative. */
GDA_DEVICE_SLOW int gda_unordered_test(struct gda_view *v, uint64_t ticket)
{
	if (!gda_cqe_passed(v->dialect, v, ticket)) {
		gda_poll(v, 0);
		/*
		 * a bit is cleared after the counter that replaces it, so a second look is
		 * conclusive
		 */
		if (!gda_cqe_passed(v->dialect, v, ticket))
			return 0;
	}
	return gda_cqe_outcome(v->dialect, v, ticket);
}

/* As gda_wait(). */
GDA_DEVICE_SLOW int gda_unordered_wait(struct gda_view *v, uint64_t ticket, uint64_t deadline)
{
	unsigned int polls;
	int done, err = 0;

	for (polls = 1;; polls++) {
		done = gda_unordered_test(v, ticket);
		if (done || err)
			return done < 0 ? done : done ? 0 : err;
		if (polls % GDA_POLLS)
			continue;
		deadline = gda_gpu_deadline(v, deadline);
		err = gda_gpu_expired(v, polls, deadline);
	}
}

/* Wait until all tickets below @end are done, as gda_quiet(). */
GDA_DEVICE_SLOW int gda_unordered_quiet(struct gda_view *v, uint64_t end, uint64_t deadline)
{
	unsigned int polls;
	int err = 0;

	for (polls = 1; gda_load_acquire64(&v->done) < end; polls++) {
		if (err)
			return err;
		gda_poll(v, 0);
		if (polls % GDA_POLLS)
			continue;
		deadline = gda_gpu_deadline(v, deadline);
		err = gda_gpu_expired(v, polls, deadline);
	}
	return gda_load_acquire64(&v->error_index) == GDA_NO_ERROR ? 0 : -EIO;
}

#endif /* GDA_GPU_UNORDERED_H */
