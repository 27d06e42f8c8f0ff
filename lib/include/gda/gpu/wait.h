/* SPDX-License-Identifier: MIT */
/*
 * Flush, test, wait and quiet of CUDA device code, through a poster, which keeps a queue in
 * registers. Included by gda/gpu/post.h.
 */
#ifndef GDA_GPU_WAIT_H
#define GDA_GPU_WAIT_H

#include <gda/gpu/post.h>

/**
 * gda_flush - ring deferred doorbells
 * @q: the poster's queue
 */
template <class queue>
GDA_GPU_API void gda_flush(queue &q)
{
	gda_ring_deferred(q);
}

/* The outcome of @ticket, of which @known slots have completed: as gda_test(). */
GDA_DEVICE int gda_verdict(const struct gda_view *v, uint64_t ticket, uint64_t known)
{
	uint64_t failed = gda_load_acquire64(&v->error_index);

	if (ticket == failed)
		return -EIO;
	if (!gda_cqe_done(v->dialect, v, known, ticket))
		return 0;
	return failed < ticket ? -ECANCELED : 1;
}

/**
 * gda_test - has a post completed?
 * @q: the poster's queue
 * @ticket: of a post through @q or through another poster of its queue
 *
 * Return: 1 done, 0 not yet; -EIO it failed; -ECANCELED flushed; @ticket if negative.
 */
template <class queue>
GDA_GPU_API int gda_test(queue &q, int64_t ticket)
{
	uint64_t known;
	int failed;

	if (ticket < 0)
		return (int)ticket;
	if (gda_port_unordered(q.port))
		return gda_unordered_test(q.port.view, (uint64_t)ticket);
	if (gda_cqe_done(gda_port_dialect(q.port), q.port.view, gda_known(q), (uint64_t)ticket))
		return 1;
	known = gda_refresh(q, gda_scan(q), failed);
	if (failed)
		return gda_verdict(q.port.view, ticket, known);
	return gda_cqe_done(gda_port_dialect(q.port), q.port.view, known, (uint64_t)ticket);
}

/*
 * Wait for @ticket, beginning with the result of @look. While nothing changes only the completion
 * entry is polled; clock and abort word are checked from time to time.
 */
template <class queue, class looked>
GDA_DEVICE int gda_wait_from(queue &q, uint64_t ticket, looked look, uint64_t deadline)
{
	unsigned int polls;
	int done, err = 0;
	int failed;

	for (;;) {
		uint64_t known = gda_refresh(q, look, failed);
		looked before = look;

		done = failed ? gda_verdict(q.port.view, ticket, known) :
				gda_cqe_done(gda_port_dialect(q.port), q.port.view, known, ticket);
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
 * @q: the poster's queue
 * @ticket: of a post through @q or through another poster of its queue
 * @deadline: ns of gda_clock_ns(), 0: the view's timeout from now
 *
 * Rings deferred doorbells first.
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
	if (gda_port_unordered(q.port))
		return gda_unordered_wait(q.port.view, (uint64_t)ticket, deadline);
	if (gda_cqe_done(gda_port_dialect(q.port), q.port.view, gda_known(q), (uint64_t)ticket))
		return 0;
	return gda_wait_from(q, (uint64_t)ticket, gda_scan(q), deadline);
}

/* Was something posted that @q does not know to be complete? */
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
 * struct gda_quieted - the result of gda_shared_quiet()
 * @done: slots that are known to have completed now
 * @err: as gda_quiet()
 */
struct gda_quieted {
	uint64_t done;
	int err;
};

/* The end of all that was posted is @reserved, which is at most one ring ahead of the device. */
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
 * @q: the poster's queue
 * @deadline: ns of gda_clock_ns(), 0: the view's timeout from now
 *
 * Return: 0; -EIO a post failed; -ETIMEDOUT, -ESHUTDOWN.
 */
template <class queue>
GDA_GPU_API int gda_quiet(queue &q, uint64_t deadline)
{
	if (gda_port_unordered(q.port)) {
		gda_ring_deferred(q);
		return gda_unordered_quiet(q.port.view, gda_posted(q), deadline);
	}
	return gda_quiet_known(q) ? 0 : gda_quiet_wait(q, deadline);
}

/*
 * The same for a shared queue. One load tells whether a slot was reserved since. The completion is
 * not loaded at the same time: the thread would wait for the slower of the two loads.
 */
GDA_DEVICE int gda_quiet(struct gda_shared &q, uint64_t deadline)
{
	uint64_t reserved = gda_gpu_load64(&q.port.view->reserved);
	struct gda_quieted end;

	if (gda_port_unordered(q.port))
		return gda_unordered_quiet(q.port.view, gda_handed_out(q.port.view), deadline);
	if (reserved <= q.done)
		return 0;
	end = gda_shared_quiet(q, reserved, gda_scan(q), deadline);
	q.done = end.done;
	return end.err;
}

#endif /* GDA_GPU_WAIT_H */
