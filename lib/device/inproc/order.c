// SPDX-License-Identifier: MIT
/*
 * Chooses which request of a queue the executor continues next (engine/order.h), as GDA_ORDER in
 * the environment says. So a program can be tested with legal orders that the device otherwise
 * never shows. Each queue has its own sequence of choices, derived from the seed and the number of
 * queues that the process created before. A program that creates its queues in the same order and
 * posts in the same steps gets the same choices.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "inproc.h"
#include "order.h"

/*
 * How the choices of GDA_ORDER=pct are spread: a request keeps its priority until, once in so many
 * choices for each change that is asked for, the one that was chosen gets the lowest.
 */
#define GDA_INPROC_PCT_SPAN	64U
#define GDA_INPROC_PCT_DEPTH	3U
#define GDA_INPROC_PCT_MAX	16U

struct gda_inproc_order {
	struct gda_order order;
	u64 state;			/* of the sequence of choices */
	/* of GDA_ORDER=pct, by place in order.slots */
	u64 priority[GDA_ORDER_WINDOW];
	u64 ticket[GDA_ORDER_WINDOW];	/* whose priority that is, plus 1 */
	u64 lowest;			/* the last priority that a change gave */
	u32 changes;			/* in GDA_INPROC_PCT_SPAN choices */
};

static u32 gda_inproc_queues;		/* atomic: queues that had an order */

/* splitmix64: a pseudo-random sequence, from any state. */
static u64 gda_inproc_order_next(u64 *state)
{
	u64 z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static u32 gda_inproc_order_below(struct gda_inproc_order *p, u32 n)
{
	return (u32)((gda_inproc_order_next(&p->state) >> 32) * n >> 32);
}

static u32 gda_inproc_order_choose(struct gda_order *o, u32 n)
{
	return gda_inproc_order_below(o->arg, n);
}

/* The priority of the request in slot @at, which is drawn when it is asked for first. */
static u64 gda_inproc_order_priority(struct gda_inproc_order *p, u32 at)
{
	u64 ticket = p->order.slots[at].ticket + 1;

	if (p->ticket[at] != ticket) {
		p->ticket[at] = ticket;
		p->priority[at] = gda_inproc_order_next(&p->state) | 1ULL << 63;
	}
	return p->priority[at];
}

/*
 * The request of the highest priority goes on (Burckhardt et al., ASPLOS 2010): a bug that needs few
 * steps in one order is met more often than where each step is drawn anew.
 */
static u32 gda_inproc_order_pct(struct gda_order *o, u32 n)
{
	struct gda_inproc_order *p = o->arg;
	u64 best = 0;
	u32 i, at = 0;

	if (o->parts)
		return gda_inproc_order_below(p, n);
	for (i = 0; i < n; i++) {
		u64 priority = gda_inproc_order_priority(p, o->waiting[o->may[i]]);

		if (priority > best) {
			best = priority;
			at = i;
		}
	}
	if (gda_inproc_order_below(p, GDA_INPROC_PCT_SPAN) < p->changes)
		p->priority[o->waiting[o->may[at]]] = --p->lowest;
	return at;
}

/* Read the number behind @env's @prefix. Return: what is behind it, or NULL. */
static const char *gda_inproc_order_number(const char *env, const char *prefix, u64 *number)
{
	size_t len = strlen(prefix);
	char *end;

	if (strncmp(env, prefix, len) || env[len] < '0' || env[len] > '9')
		return NULL;
	*number = strtoull(env + len, &end, 0);
	return end;
}

int gda_inproc_order_init(struct gda_inproc_context *ctx)
{
	const char *env = secure_getenv("GDA_ORDER");
	u64 depth = GDA_INPROC_PCT_DEPTH;
	const char *end;

	if (!env || !*env)
		return 0;
	ctx->order = GDA_INPROC_ORDER_PLAIN;
	if (!strcmp(env, "plain"))
		return 0;
	ctx->order = GDA_INPROC_ORDER_RANDOM;
	end = gda_inproc_order_number(env, "random:", &ctx->order_seed);
	if (!end) {
		ctx->order = GDA_INPROC_ORDER_PCT;
		end = gda_inproc_order_number(env, "pct:", &ctx->order_seed);
		if (end && *end)
			end = gda_inproc_order_number(end, ":", &depth);
	}
	ctx->order_depth = (u32)depth;
	if (end && !*end && depth && depth <= GDA_INPROC_PCT_MAX)
		return 0;
	return gda_because(-EINVAL, "GDA_ORDER=%s is none of plain, random:SEED and pct:SEED[:DEPTH] "
			   "(a depth of 1 to %u): unset it, or correct it", env, GDA_INPROC_PCT_MAX);
}

int gda_inproc_order_create(struct gda_inproc_context *ctx, struct gda_inproc_qp *qp)
{
	struct gda_engine_qp *q = &qp->engine_qp;
	struct gda_inproc_order *o;

	if (ctx->executor->visit || ctx->order == GDA_INPROC_ORDER_NONE)
		return 0;
	o = calloc(1, sizeof(*o));
	if (!o)
		return -ENOMEM;
	/* mix, so that neither adjacent seeds nor adjacent queues share parts of their sequences */
	o->state = ctx->order_seed;
	o->state = gda_inproc_order_next(&o->state) +
		   __atomic_fetch_add(&gda_inproc_queues, 1, __ATOMIC_RELAXED);
	o->state = gda_inproc_order_next(&o->state);
	o->order.arg = o;
	o->order.split = GDA_ORDER_SPLIT_ALL;
	if (ctx->order == GDA_INPROC_ORDER_RANDOM)
		o->order.choose = gda_inproc_order_choose;
	if (ctx->order == GDA_INPROC_ORDER_PCT) {
		o->order.choose = gda_inproc_order_pct;
		o->lowest = 1ULL << 63;
		o->changes = ctx->order_depth - 1;
	}
	q->order = &o->order;
	qp->flight = &o->order.flight;
	return 0;
}

void gda_inproc_order_destroy(struct gda_inproc_qp *qp)
{
	struct gda_engine_qp *q = &qp->engine_qp;

	if (!q->order)
		return;
	free(gda_inproc_of(q->order, struct gda_inproc_order, order));
	q->order = NULL;
	q->visit = q->dialect->visit;
	qp->flight = NULL;
}
