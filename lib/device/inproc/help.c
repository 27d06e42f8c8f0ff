// SPDX-License-Identifier: MIT
/*
 * Helping: a thread that waits for a queue's work executes the queue itself, in place of a worker
 * that has no processor or runs on a distant one.
 *
 * qp->turn says which thread may visit a queue:
 *
 *	FREE	no thread visits the queue; to visit, a thread sets HELD
 *	HELD	a helper or the worker is visiting
 *	MINE	the worker may visit at any time without an atomic operation: it found work last
 *	ASKED	as MINE, and a helper has asked for the queue: the worker sets FREE
 *
 * So a queue that no thread waits for costs its worker one load. A worker sets its queues FREE
 * before it sleeps. If a queue was helped since its worker's last pass, the worker leaves the queue
 * to the helper and checks again later (gda_inproc_stand_back()).
 *
 * A helper holds pointers to objects, as a worker does, but only while it has a seat (quiesce.c).
 * A helper's visit has the same budget as a worker's, which bounds the wait of gda_inproc_sync().
 */
#include "inproc.h"
#include "race.h"
#include "waiter.h"

/* Polls before a waiter asks a busy worker for the queue; the worker may be about to finish. */
#define GDA_INPROC_ASK		4U
/*
 * Polls before a thread that waits for room in a ring helps. Poster and worker together are
 * faster than the poster alone, so it helps only after a long wait: the requests are large, or
 * the worker does not run.
 */
#define GDA_INPROC_MANY		64U
/* After this many polls the worker certainly does not run, and every waiter asks for the queue. */
#define GDA_INPROC_AWAY		1024U

/*
 * Visit the queue; the caller has the turn. A fault on registered memory ends the visit and fails
 * the queue. This is a separate function because a caller of setjmp() keeps little in registers.
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

/* Visit the queue if it is free. Return: whether the visit found work. */
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
	/* pairs with the acquire of the next visitor */
	smp_store_release(&qp->turn, GDA_INPROC_FREE);
	return worked;
}

/* Return: whether it is time to ask a worker for the queue. */
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

	/* only the worker may visit queues of this executor */
	if (unlikely(qp->executor->poll))
		return false;
	if (turn == GDA_INPROC_MINE && gda_inproc_help_ask(polls, what))
		__atomic_compare_exchange_n(&qp->turn, &turn, GDA_INPROC_ASKED, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	if (turn != GDA_INPROC_FREE)
		return false;
	/* there is work for two threads: wake a sleeping worker, once per wait */
	if (what == GDA_RELAX_ROOM && polls == GDA_INPROC_MANY)
		gda_inproc_nudge(qp->obj.ctx, qp->slot);
	/* the worker stays away if a completion is awaited, and goes on if room is */
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
	/* pairs with the store of a complete QP; a QP without a slot is hidden from helpers, too */
	if (qp && qp->obj.ctx == ctx && smp_load_acquire(&ctx->slot[qp->slot]) == qp)
		worked = gda_inproc_help_one(qp, polls, what);
	gda_inproc_rise(seat);
	return worked;
}

/* How many queues one call tries. */
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
