// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Executes requests of a queue in a chosen order: see order.h.
 *
 * The engine executes a request in q->work and the members that go with it: each step copies the
 * request there, and its progress back. Between two steps q->busy is false, as if no request were
 * begun.
 *
 * Invariants:
 *
 * - waiting[] holds each request that was begun and has no outcome, once, the oldest first.
 * - Without ->choose one request at a time is in flight, so a slot is read only when the one before
 *   it is done.
 */
#include "order.h"
#include "visit.h"

static_assert(GDA_ORDER_WINDOW <= 256);
static_assert(GDA_ORDER_PARTS <= 8 * sizeof(((struct gda_order_slot *)0)->parts));

static const struct gda_work *gda_order_work(const struct gda_order *o, u32 at)
{
	return &o->works[o->waiting[at]];
}

void gda_order_init(struct gda_order *o, struct gda_engine_qp *q)
{
	o->q = q;
	o->n = 0;
	o->stepping = GDA_ORDER_NONE;
	gda_flight_init(&o->flight, q, o->requests, GDA_ORDER_WINDOW);
	o->flight.works = o->works;
}

/* Begin the requests that may be in flight beside those that are. */
static void gda_order_begin(struct gda_order *o)
{
	u32 most = o->choose ? GDA_ORDER_WINDOW : 1;
	const struct gda_work *w;

	while (o->n < most && (w = gda_flight_next(&o->flight))) {
		struct gda_order_slot *s;
		u64 ticket;

		if (o->n && (w->op == GDA_OP_WAIT || gda_order_work(o, 0)->op == GDA_OP_WAIT))
			break;
		ticket = gda_flight_begin(&o->flight);
		s = &o->slots[ticket % GDA_ORDER_WINDOW];
		*s = (struct gda_order_slot){ .ticket = ticket };
		o->waiting[o->n++] = (u8)(ticket % GDA_ORDER_WINDOW);
	}
}

/*
 * A responder refuses a read when it arrives, and then executes nothing behind it. Here that holds
 * for every read that would fail now.
 */
static bool gda_order_refused(const struct gda_order *o, const struct gda_work *w)
{
	struct gda_exec_mems mems;
	u32 state, i;

	if (gda_exec_check(o->q, w, gda_engine_peer(o->q), &mems))
		return true;
	state = mems.remote ? READ_ONCE(mems.remote->state) : 0;
	for (i = 0; i < w->nsge; i++)
		state |= READ_ONCE(mems.local[i]->state);
	return state & GDA_MEM_NO_CPU;
}

/* Does it return a value to its poster? */
static bool gda_order_returns(const struct gda_work *w)
{
	return w->op == GDA_OP_READ || gda_op_is_atomic(w->op);
}

/* May the request at @at take its next step before the one at @before, which was posted earlier? */
static bool gda_order_passes(const struct gda_order *o, u32 at, u32 before)
{
	const struct gda_work *w = gda_order_work(o, at), *first = gda_order_work(o, before);

	if (w->flags & GDA_WORK_FENCE && gda_order_returns(first))
		return false;
	if (o->q->dialect->unordered)
		return true;
	if (w->op == GDA_OP_DUMP)
		return false;
	/* only the result of @first is missing, and results land in order */
	if (o->slots[o->waiting[before]].fetched)
		return !o->slots[o->waiting[at]].fetched;
	return first->op == GDA_OP_READ && w->op != GDA_OP_READ && !gda_order_refused(o, first);
}

/* Was an entry of the peer's receive queue taken for this request? */
static bool gda_order_receives(const struct gda_order *o, const struct gda_work *w)
{
	const struct gda_engine_qp *peer = gda_engine_peer(o->q);

	return w->op >= GDA_OP_SEND || (w->op == GDA_OP_WRITE_IMM && peer && peer->rq);
}

/*
 * May the request at @at go on before all older ones? Receives are taken in the order of posting,
 * and a receive that was taken belongs to the oldest request (q->taken).
 */
static bool gda_order_may(const struct gda_order *o, u32 at)
{
	u32 i;

	if (at && gda_order_receives(o, gda_order_work(o, at)))
		return false;
	for (i = 0; i < at; i++)
		if (!gda_order_passes(o, at, i))
			return false;
	return true;
}

/* Choose one of the requests that may go on. Return: its place in waiting[]. */
static u32 gda_order_choose(struct gda_order *o)
{
	u32 i, n = 0;

	if (!o->choose)
		return 0;
	for (i = 0; i < o->n; i++)
		if (gda_order_may(o, i))
			o->may[n++] = (u8)i;
	return n == 1 ? o->may[0] : o->may[o->choose(o, n) % n];
}

/* The request at @at has its outcome. */
static void gda_order_end(struct gda_order *o, u32 at, struct gda_status st)
{
	u64 ticket = o->slots[o->waiting[at]].ticket;

	if (!at)
		gda_recv_drop(o->q);
	o->n--;
	memmove(o->waiting + at, o->waiting + at + 1, o->n - at);
	gda_flight_done(&o->flight, ticket, st);
}

/* Flush the requests from @at on. */
static void gda_order_flush(struct gda_order *o, u32 at)
{
	while (o->n > at)
		gda_order_end(o, o->n - 1, gda_status(GDA_CLASS_FLUSH, GDA_CAUSE_NONE));
}

/*
 * The request that was at @at fails the queue: none behind it goes on, and one before it goes on
 * only if its outcome is written first.
 */
static void gda_order_stop(struct gda_order *o, u32 at)
{
	gda_order_flush(o, o->q->dialect->unordered ? 0 : at);
}

void gda_order_fault(struct gda_order *o, struct gda_status st)
{
	u32 at = o->stepping;

	o->q->busy = false;
	o->q->rnr_tries = 0;
	o->stepping = GDA_ORDER_NONE;
	gda_order_end(o, at, st);
	if (o->flight.stopped)
		gda_order_stop(o, at);
}

/* Has the queue failed, or is it to fail for a reason outside of its requests? */
static bool gda_order_is_over(const struct gda_order *o)
{
	return gda_engine_asked(o->q).class || o->flight.stop.class ||
	       READ_ONCE(o->q->state) == GDA_QP_ERROR;
}

/* Choose one of the @n parts of a write that have not landed. */
static u32 gda_order_choose_part(struct gda_order *o, const struct gda_order_slot *s, u32 n)
{
	u32 left[GDA_ORDER_PARTS], i, k = 0;

	for (i = 0; i < n; i++)
		if (!(s->parts & 1U << i))
			left[k++] = i;
	if (k == 1)
		return left[0];
	o->parts = true;
	i = left[o->choose(o, k) % k];
	o->parts = false;
	return i;
}

/* A write in parts: one lands, or if all have, it is counted. Return: as gda_exec(). */
static int gda_order_write(struct gda_order *o, struct gda_order_slot *s,
			   struct gda_exec_scope *scope)
{
	u32 len = o->q->work.remote.len;
	/* whole words, so that a part of an aligned write is stored as any aligned word is */
	u32 bytes = 8 * ((len + 8 * GDA_ORDER_PARTS - 1) / (8 * GDA_ORDER_PARTS));
	u32 n = (len + bytes - 1) / bytes;
	u32 part;
	int ret;

	if (s->parts == (1U << n) - 1)
		return gda_exec_count(o->q, scope);
	part = gda_order_choose_part(o, s, n);
	ret = gda_exec_part(o->q, scope, part * bytes, min(len, (part + 1) * bytes));
	s->parts |= (u8)(1U << part);
	return ret;
}

/* A read or an atomic: the responder's step, then that of its result. Return: as gda_exec(). */
static int gda_order_fetch(struct gda_order *o, struct gda_order_slot *s,
			   const struct gda_exec_scope *scope)
{
	int ret;

	if (s->fetched)
		return gda_exec_land(o->q, s->value);
	ret = gda_exec_fetch(o->q, scope, s->value);
	s->fetched = ret > 0;
	return ret < 0 ? ret : 0;
}

/* Execute one step of q->work, which may be all of it. Return: as gda_exec(). */
static int gda_order_exec(struct gda_order *o, struct gda_order_slot *s,
			  struct gda_exec_scope *scope)
{
	const struct gda_work *w = &o->q->work;

	u32 split = o->choose && w->remote.len ? o->split : 0;

	if (split & GDA_ORDER_SPLIT_WRITES && w->remote.len <= GDA_ORDER_SPLIT_MAX &&
	    (w->op == GDA_OP_WRITE || w->op == GDA_OP_WRITE_IMM))
		return gda_order_write(o, s, scope);
	if (split & GDA_ORDER_SPLIT_RESULTS && gda_order_returns(w) && w->nsge == 1 &&
	    w->remote.len <= GDA_EXEC_HELD)
		return gda_order_fetch(o, s, scope);
	return gda_exec(o->q, scope);
}

/* Execute one step of the request at @at. Return: as gda_exec(). */
static int gda_order_step(struct gda_order *o, u32 at, struct gda_exec_scope *scope)
{
	struct gda_order_slot *s = &o->slots[o->waiting[at]];
	struct gda_engine_qp *q = o->q;
	int ret = 0;

	gda_work_copy(&q->work, gda_order_work(o, at));
	q->done = s->done;
	q->busy = s->busy;
	q->rnr_tries = s->rnr_tries;
	if (q->dialect->route)
		ret = gda_engine_route(q, scope, q->dialect);
	WRITE_ONCE(o->stepping, at);
	if (!ret)
		ret = gda_order_exec(o, s, scope);
	if (ret < 0 && q->dialect->unreliable)
		ret = gda_engine_lose(q, ret);
	WRITE_ONCE(o->stepping, GDA_ORDER_NONE);
	s->done = q->done;
	s->busy = q->busy;
	s->rnr_tries = q->rnr_tries;
	q->busy = false;
	q->rnr_tries = 0;
	if (ret > 0)
		gda_order_end(o, at, gda_status(GDA_CLASS_NONE, GDA_CAUSE_NONE));
	else if (ret < 0)
		gda_order_end(o, at, gda_status((u8)-ret, (u8)(-ret >> 8)));
	return ret;
}

/* Counts of one visit, of which gda_order_visit() makes its result. */
struct gda_order_tally {
	u32 steps;
	u32 ended;			/* of them */
	u32 left;			/* outcomes */
};

/* Execute steps of chosen requests until the visit has done enough. */
static void gda_order_run(struct gda_order *o, u32 wqes, u32 bytes, struct gda_order_tally *t)
{
	struct gda_exec_scope scope;
	u32 at;
	int ret;

	gda_exec_begin(o->q, bytes, &scope);
	scope.to.number = GDA_EXEC_UNNAMED;
	while (o->n && t->steps < wqes && o->q->bytes < scope.until && !gda_order_is_over(o)) {
		at = gda_order_choose(o);
		ret = gda_order_step(o, at, &scope);
		t->steps++;
		t->ended += ret != 0;
		/* write outcomes first: one of them may fail the queue, or find its CQ full */
		t->left += gda_flight_leave_done(&o->flight, GDA_ORDER_WINDOW);
		if (ret < 0 && o->flight.stopped)
			gda_order_stop(o, at);
		else
			gda_order_begin(o);
	}
}

/*
 * Each outcome written comes from a step of this visit, or from an entry that was malformed or
 * flushed. A step that ends no request, or whose outcome is written later, counts as well.
 */
u32 gda_order_visit(struct gda_engine_qp *q, u32 wqes, u32 bytes)
{
	struct gda_order_tally t = { 0, 0, 0 };
	struct gda_order *o = q->order;

	gda_order_begin(o);
	gda_order_run(o, wqes, bytes, &t);
	if (gda_order_is_over(o))
		gda_order_flush(o, 0);
	t.left += gda_flight_retire(&o->flight, wqes > t.left ? wqes - t.left : 0);
	if (!t.steps && !t.left)
		return gda_recv_flush(q, wqes);
	return t.steps + (t.left > t.ended ? t.left - t.ended : 0);
}

bool gda_order_pending(const struct gda_order *o)
{
	const struct gda_engine_qp *q = o->q;

	return o->n || gda_flight_pending(&o->flight) ||
	       (q->rq && READ_ONCE(q->state) == GDA_QP_ERROR && gda_rq_pending(q));
}
