// SPDX-License-Identifier: MIT
/*
 * A waiting thread between two polls: it executes the work itself where it can, yields where
 * processors are too few, and else pauses. Polls and deadlines are in gda/fastpath.h and
 * gda/ring.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>
#include <sys/syscall.h>
#include <gda/barrier.h>
#include "gda_internal.h"

/*
 * Looks between two yields: where processors are short, and where they may be. Longer than
 * it takes a worker that has a processor to do the next of what was posted.
 */
#define GDA_YIELD_POLLS		64U
#define GDA_YIELD_RARELY	256U

/* Posts that are not done, up to which one waits for the last rather than for many. */
#define GDA_FEW			16U

/*
 * A yield that takes longer let another process run: a thread sleeps instead then, 1 ms in all the
 * first time, and 60 ms at most if each yield between is as long.
 */
#define GDA_YIELD_LONG_NS	500000U
#define GDA_YIELD_NAPS		16U
#define GDA_YIELD_NAPS_MAX	1024U

/* Threads that poll for a context: one that waits, and its worker. */
#define GDA_POLLERS		2U

unsigned int gda_contexts_open;

bool gda_crowded_by(unsigned int pollers)
{
	int saved = errno;
	cpu_set_t set;

	/* on a machine with more of them than fit there are enough */
	if (sched_getaffinity(0, sizeof(set), &set)) {
		errno = saved;
		return false;
	}
	return (unsigned int)CPU_COUNT(&set) < pollers;
}

bool gda_crowded(void)
{
	return gda_crowded_by(GDA_POLLERS *
			      __atomic_load_n(&gda_contexts_open, __ATOMIC_RELAXED));
}

GDA_EXPORT void gda_view_yield(struct gda_view *v, int yield)
{
	if (yield)
		__atomic_fetch_or(&v->caps, GDA_VIEW_YIELD, __ATOMIC_RELAXED);
	else
		__atomic_fetch_and(&v->caps, ~GDA_VIEW_YIELD, __ATOMIC_RELAXED);
}

/*
 * The scheduler takes a yield for a whole time slice. Beside programs that compute, a thread that
 * yields again and again is behind all of them each time, some 30 ms; one that wakes is not. It
 * sleeps for as long as the slack of its timers, 50 us. The system call itself: nanosleep() is a
 * cancellation point.
 */
GDA_EXPORT void gda_yield(void)
{
	static __thread unsigned int naps, next;
	const struct timespec nap = { .tv_nsec = 1 };
	int saved = errno;
	uint64_t before;

	if (naps) {
		naps--;
		syscall(SYS_nanosleep, &nap, NULL);
		errno = saved;
		return;
	}
	before = gda_clock_ns();
	sched_yield();
	if (gda_clock_ns() - before > GDA_YIELD_LONG_NS) {
		naps = next ? next : GDA_YIELD_NAPS;
		next = naps < GDA_YIELD_NAPS_MAX ? naps * 2 : naps;
	} else {
		next /= 2;
	}
}

/* @rarely: yield also without the flag. The first look was only just made. */
static void gda_rest_a_while(uint32_t caps, unsigned int polls, bool rarely)
{
	unsigned int every = caps & GDA_VIEW_YIELD ? GDA_YIELD_POLLS : GDA_YIELD_RARELY;

	if (polls % every == 0 && (rarely || caps & GDA_VIEW_YIELD))
		gda_yield();
	else if (polls > 1)
		gda_pause();
}

GDA_EXPORT void gda_relax(struct gda_view *v, unsigned int polls, enum gda_relax_for what)
{
	struct gda_qp *q = (struct gda_qp *)(uintptr_t)v->owner;
	bool helps = q && q->ctx->ops->help;

	/* of many posts the worker does some while others do theirs: that is as with room */
	if (gda_load_relaxed64(&v->reserved) - gda_load_relaxed64(&v->completed) > GDA_FEW)
		what = GDA_RELAX_ROOM;
	if (helps && q->ctx->ops->help(q->ctx, v->qpn, polls, what))
		return;
	/* its executor may then need this processor */
	gda_rest_a_while(__atomic_load_n(&v->caps, __ATOMIC_RELAXED), polls, helps);
}

GDA_EXPORT void gda_cq_relax(struct gda_cq_view *cq, unsigned int polls)
{
	uint32_t caps = __atomic_load_n(&cq->caps, __ATOMIC_RELAXED);
	struct gda_cq *c = (struct gda_cq *)(uintptr_t)cq->owner;
	bool helps = c && c->ctx->ops->help_all;

	/* the next entries may be the work of others: there is no hurry if there are processors */
	if (helps && (caps & GDA_VIEW_YIELD || polls % GDA_YIELD_RARELY == 0) &&
	    c->ctx->ops->help_all(c->ctx, polls))
		return;
	gda_rest_a_while(caps, polls, helps);
}
