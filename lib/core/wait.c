// SPDX-License-Identifier: MIT
/*
 * The slow path of a wait, between two polls: the thread executes the work itself where it can, and
 * else rests (waiter.c). Polls and deadlines are in gda/fastpath.h and gda/ring.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include "gda_internal.h"
#include "waiter.h"

/* Up to so many posts that are not done, a thread is taken to wait for the last one only. */
#define GDA_FEW			16U

/* The threads that poll for a context: a waiting one, and its worker. */
#define GDA_POLLERS		2U

unsigned int gda_contexts_open;

bool gda_crowded_by(unsigned int pollers)
{
	int saved = errno;
	cpu_set_t set;

	/* fails on a machine with more processors than fit into @set: those are enough */
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

/* Polls of a wait between two yields; @helps: the thread executes the work itself, if it can. */
static unsigned int gda_looks(uint32_t caps, bool helps)
{
	if (caps & GDA_VIEW_YIELD)
		return GDA_WAITER_SHORT;
	return helps ? GDA_WAITER_OFTEN : GDA_WAITER_RARELY;
}

GDA_EXPORT void gda_relax(struct gda_view *v, unsigned int polls, enum gda_relax_for what)
{
	struct gda_qp *q = (struct gda_qp *)(uintptr_t)v->owner;
	bool helps = q && q->ctx->ops->help;

	/*
	 * with many posts the worker and this thread share the work, as if there were processors
	 * for both
	 */
	if (gda_load_relaxed64(&v->reserved) - gda_load_relaxed64(&v->completed) > GDA_FEW)
		what = GDA_RELAX_ROOM;
	if (helps && q->ctx->ops->help(q->ctx, v->qpn, polls, what))
		return;
	/* its executor may then need this processor */
	gda_waiter_rest(polls, gda_looks(__atomic_load_n(&v->caps, __ATOMIC_RELAXED), helps));
}

GDA_EXPORT void gda_cq_relax(struct gda_cq_view *cq, unsigned int polls)
{
	uint32_t caps = __atomic_load_n(&cq->caps, __ATOMIC_RELAXED);
	struct gda_cq *c = (struct gda_cq *)(uintptr_t)cq->owner;
	bool helps = c && c->ctx->ops->help_all;

	/*
	 * the next entries may belong to others: if there are enough processors, there is no hurry
	 */
	if (helps && (caps & GDA_VIEW_YIELD || polls % GDA_WAITER_OFTEN == 0) &&
	    c->ctx->ops->help_all(c->ctx, polls))
		return;
	gda_waiter_rest(polls, gda_looks(caps, helps));
}
