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

#define GDA_INPROC_RANDOM	"random:"

struct gda_inproc_order {
	struct gda_order order;
	u64 state;			/* of the sequence of choices */
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

static u32 gda_inproc_order_choose(struct gda_order *o, u32 n)
{
	return (u32)((gda_inproc_order_next(o->arg) >> 32) * n >> 32);
}

int gda_inproc_order_init(struct gda_inproc_context *ctx)
{
	const char *env = secure_getenv("GDA_ORDER");
	const size_t prefix = strlen(GDA_INPROC_RANDOM);
	char *end = NULL;

	if (!env || !*env)
		return 0;
	ctx->order = GDA_INPROC_ORDER_PLAIN;
	if (!strcmp(env, "plain"))
		return 0;
	ctx->order = GDA_INPROC_ORDER_RANDOM;
	if (!strncmp(env, GDA_INPROC_RANDOM, prefix) && env[prefix] >= '0' && env[prefix] <= '9')
		ctx->order_seed = strtoull(env + prefix, &end, 0);
	if (end && !*end)
		return 0;
	return gda_because(-EINVAL, "GDA_ORDER=%s is neither plain nor " GDA_INPROC_RANDOM
			   "SEED: unset it, or correct it", env);
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
	o->order.arg = &o->state;
	if (ctx->order == GDA_INPROC_ORDER_RANDOM)
		o->order.choose = gda_inproc_order_choose;
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
