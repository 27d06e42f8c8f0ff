// SPDX-License-Identifier: MIT
/*
 * Helping: a thread that waits for work of a queue executes the queue itself, in place of
 * a worker that has no processor, or has one too far away. The waiting thread is the one
 * that has nothing better to do.
 *
 * qp->turn says which thread may visit a queue:
 *
 *	FREE	nobody visits it: who does makes it HELD
 *	HELD	somebody visits it, a helper or its worker
 *	MINE	its worker, at any time, without an atomic operation: it found work last
 *	ASKED	the same, and a helper would like to: the worker makes it FREE
 *
 * So a queue that nobody waits for costs its worker a load. A worker makes its queues FREE
 * before it sleeps. From a queue that was helped since its worker looked last the worker
 * keeps away, and only looks again later (gda_inproc_stand_back()).
 *
 * A helper has pointers to objects, like a worker: it finds them while it has taken a seat
 * (quiesce.c). The visit of a helper has the budget of a worker's, so that is how long
 * gda_inproc_sync() waits for it.
 */
#include "inproc.h"
#include "race.h"
#include "waiter.h"

/* Polls before a waiter asks a worker that is at work, which may be about to finish. */
#define GDA_INPROC_ASK		4U
/*
 * Polls before one that wants room in a ring helps at all: poster and worker together are
 * faster than the poster alone. So a wait that has lasted longer was for such work, or the
 * worker is away...
 */
#define GDA_INPROC_MANY		64U
/* ... which is for sure after this many: then everybody asks. */
#define GDA_INPROC_AWAY		1024U

/*
 * The caller has the turn. A function of its own: what calls setjmp() keeps little in
 * registers. A fault of registered memory ends the visit, and the queue is to fail.
 */
static noinline bool gda_inproc_help_guarded(struct gda_inproc_qp *qp)
{
	struct gda_inproc_guard *before = gda_inproc_guard;
	struct gda_inproc_guard guard = { .qp = qp };
	volatile bool worked = true;

	if (sigsetjmp(guard.env, 0)) {
		gda_inproc_fault(&guard);
	} else {
		gda_inproc_guard = &guard;
		worked = gda_inproc_visit(qp);
	}
	gda_inproc_guard = before;
	return worked;
}

/* Visit the queue if it is free. Return: whether there was work. */
static bool gda_inproc_help_visit(struct gda_inproc_qp *qp, bool keep)
{
	u32 turn = GDA_INPROC_FREE;
	bool worked;

	if (!__atomic_compare_exchange_n(&qp->turn, &turn, GDA_INPROC_HELD, false,
					 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return false;
	gda_race_hide();
	worked = gda_inproc_help_guarded(qp);
	gda_race_show();
	if (worked && keep)
		WRITE_ONCE(qp->helps, qp->helps + 1);
	/* pairs with the acquire of whoever visits it next */
	smp_store_release(&qp->turn, GDA_INPROC_FREE);
	return worked;
}

/* Is it time to ask a worker for the queue? */
static bool gda_inproc_help_ask(unsigned int polls, enum gda_relax_for what)
{
	if (what == GDA_RELAX_DONE && polls >= GDA_INPROC_ASK && polls < GDA_INPROC_MANY)
		return true;
	return polls >= GDA_INPROC_AWAY;
}

static bool gda_inproc_help_one(struct gda_inproc_qp *qp, unsigned int polls,
				enum gda_relax_for what)
{
	u32 turn = READ_ONCE(qp->turn);

	/* only its worker visits it */
	if (unlikely(qp->executor->poll))
		return false;
	if (turn == GDA_INPROC_MINE && gda_inproc_help_ask(polls, what))
		__atomic_compare_exchange_n(&qp->turn, &turn, GDA_INPROC_ASKED, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	if (turn != GDA_INPROC_FREE)
		return false;
	/* there is work for two: a worker that sleeps is woken, once for each wait */
	if (what == GDA_RELAX_ROOM && polls == GDA_INPROC_MANY)
		gda_inproc_nudge(qp->obj.ctx, qp->slot);
	/* a worker that finds a full ring goes on with it; one that is waited for does not */
	return gda_inproc_help_visit(qp, what == GDA_RELAX_DONE);
}

bool gda_inproc_help(struct gda_inproc_context *ctx, u32 qpn, unsigned int polls,
		     enum gda_relax_for what)
{
	struct gda_inproc_seat *seat;
	struct gda_inproc_qp *qp;
	bool worked = false;

	if ((what == GDA_RELAX_ROOM && polls < GDA_INPROC_MANY) ||
	    ctx->generation != gda_inproc.generation)
		return false;
	seat = gda_inproc_sit(ctx);
	if (!seat)
		return false;
	qp = gda_inproc_table_find(&gda_inproc.qps, qpn);
	/* pairs with the store of a QP that is complete; hidden from its worker: from us */
	if (qp && qp->obj.ctx == ctx && smp_load_acquire(&ctx->slot[qp->slot]) == qp)
		worked = gda_inproc_help_one(qp, polls, what);
	gda_inproc_rise(seat);
	return worked;
}

/* Queues that are looked at in one call. */
#define GDA_INPROC_HELP_ALL	16U

bool gda_inproc_help_all(struct gda_inproc_context *ctx, unsigned int polls)
{
	u32 nslots = READ_ONCE(ctx->nslots);
	struct gda_inproc_seat *seat;
	bool worked = false;
	u32 i, n;

	if (!nslots || ctx->generation != gda_inproc.generation)
		return false;
	seat = gda_inproc_sit(ctx);
	if (!seat)
		return false;
	n = min(nslots, GDA_INPROC_HELP_ALL);
	i = __atomic_fetch_add(&ctx->help_cursor, n, __ATOMIC_RELAXED);
	for (; n; n--, i++) {
		/* pairs with the store of a QP that is complete */
		struct gda_inproc_qp *qp = smp_load_acquire(&ctx->slot[i % nslots]);

		if (qp)
			worked |= gda_inproc_help_one(qp, polls, GDA_RELAX_DONE);
	}
	gda_inproc_rise(seat);
	return worked;
}
