/* SPDX-License-Identifier: MIT */
/*
 * A worker that has no processor, for tests of threads that execute in its place: a worker that
 * sleeps needs its lock to wake up, and the test holds it.
 */
#ifndef GDA_TEST_HOLD_H
#define GDA_TEST_HOLD_H

#include "suite.h"
#include "inproc.h"

static struct gda_inproc_worker *worker_of(struct gda_context *ctx)
{
	return &((struct gda_inproc_context *)ctx->device)->worker[0];
}

/* Until it sleeps; then it stays asleep. */
static bool worker_hold(struct gda_context *ctx)
{
	uint64_t end = gda_clock_ns() + S_TIMEOUT_NS;
	struct gda_inproc_worker *w = worker_of(ctx);

	while (gda_clock_ns() < end) {
		pthread_mutex_lock(&w->lock);
		if (w->asleep)
			return true;
		pthread_mutex_unlock(&w->lock);
		usleep(100);
	}
	return false;
}

static void worker_release(struct gda_context *ctx)
{
	pthread_mutex_unlock(&worker_of(ctx)->lock);
}

#endif /* GDA_TEST_HOLD_H */
