// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Work requests that were begun and are not done; gda/flight.h has the rules.
 *
 * A queue has two indices here: slots below front.ci were begun, and the outcomes of slots below
 * q->ci were written. f->front is a copy of the queue from which the dialect decodes the slot at
 * front.ci; nothing is completed through it. Outcomes are written by the functions of the engine's
 * own loop (visit.h), as if q had just executed them.
 *
 * Invariants:
 *
 * - Tickets head to tail - 1 are in flight, each with the request at its place. Those without a
 *   written outcome fill the slots from q->ci to front.ci; an unordered dialect may leave gaps.
 * - Nothing is begun after gda_flight_stopped(). The queue fails for a reason other than an outcome
 *   only when nothing is in flight.
 * - A ticket is reported once: a later report finds its request done or gone.
 */
#include "counter.h"
#include "flight.h"
#include "visit.h"

static struct gda_flight_request *gda_flight_request(const struct gda_flight *f, u64 ticket)
{
	return &f->requests[ticket & (f->size - 1)];
}

void gda_flight_init(struct gda_flight *f, struct gda_engine_qp *q,
		     struct gda_flight_request *requests, u32 size)
{
	memset(f, 0, sizeof(*f));
	f->q = q;
	f->requests = requests;
	f->size = size;
	f->front = *q;
}

u32 gda_flight_count(const struct gda_flight *f)
{
	return (u32)(f->tail - f->head);
}

u32 gda_flight_room(const struct gda_flight *f)
{
	return f->size - gda_flight_count(f);
}

/* Why shall the queue fail, apart from reported outcomes? */
static struct gda_status gda_flight_reason(const struct gda_flight *f)
{
	struct gda_status asked = gda_engine_asked(f->q);

	return asked.class ? asked : f->stop;
}

bool gda_flight_stopped(const struct gda_flight *f)
{
	return f->stopped || gda_flight_reason(f).class || READ_ONCE(f->q->state) == GDA_QP_ERROR;
}

/* Take new doorbells once every slot known to be published was begun. */
static void gda_flight_refresh(struct gda_flight *f)
{
	struct gda_engine_qp *front = &f->front, *q = f->q;
	struct gda_status st;

	if (front->pi != front->ci)
		return;
	st = gda_engine_refresh(q, front, q->dialect);
	/* a slot is its producer's again when an outcome was written, which need not be its own */
	if (unlikely(front->pi - q->ci > q->depth + f->early))
		st = gda_status(GDA_CLASS_QUEUE, GDA_CAUSE_DOORBELL);
	if (unlikely(st.class)) {
		f->stop = st;
		return;
	}
	q->seen_db = front->seen_db;
	q->seen_dbrec = front->seen_dbrec;
	WRITE_ONCE(q->pi, front->pi);
}

const struct gda_work *gda_flight_next(struct gda_flight *f)
{
	struct gda_engine_qp *front = &f->front;

	while (READ_ONCE(f->q->state) == GDA_QP_READY && gda_flight_room(f)) {
		struct gda_status st;

		/* check this before the queue is read: its memory may be gone */
		if (gda_flight_stopped(f))
			break;
		if (!f->decoded)
			gda_flight_refresh(f);
		if (f->stop.class)
			break;
		if (f->decoded)
			return &front->work;
		if (front->pi == front->ci)
			break;
		st = front->dialect->decode(front, (u32)(front->pi - front->ci), &front->work);
		f->decoded = true;
		if (unlikely(st.class)) {
			gda_engine_forget(&front->work);
			gda_flight_done(f, gda_flight_begin(f), st);
		}
	}
	return NULL;
}

u64 gda_flight_begin(struct gda_flight *f)
{
	struct gda_flight_request *r = gda_flight_request(f, f->tail);
	struct gda_engine_qp *front = &f->front;
	u64 ticket;

	r->index = front->ci;
	r->len = front->work.remote.len;
	r->opcode = front->work.opcode;
	r->op = front->work.op;
	r->slots = front->work.slots;
	r->flags = front->work.flags;
	r->state = GDA_FLIGHT_BEGUN;
	if (f->works)
		gda_work_copy(&f->works[r - f->requests], &front->work);
	if (unlikely(f->q->record))
		gda_engine_record_fetched(f->q, &front->work, front->ci);
	gda_engine_advance(front);
	f->decoded = false;
	ticket = f->tail;
	WRITE_ONCE(f->tail, ticket + 1);
	return ticket;
}

void gda_flight_done(struct gda_flight *f, u64 ticket, struct gda_status st)
{
	struct gda_flight_request *r = gda_flight_request(f, ticket);

	if (ticket - f->head >= f->tail - f->head || r->state != GDA_FLIGHT_BEGUN)
		return;
	r->state = GDA_FLIGHT_DONE;
	r->status = st;
	f->stopped |= st.class &&
		      (st.class == GDA_CLASS_FLUSH || f->q->dialect->fatal(st));
}

void gda_flight_done_through(struct gda_flight *f, u64 ticket)
{
	if (f->reported < f->head)
		f->reported = f->head;
	for (; f->reported != f->tail && f->reported <= ticket; f->reported++)
		gda_flight_done(f, f->reported, gda_status(GDA_CLASS_NONE, GDA_CAUSE_NONE));
}

void gda_flight_abandon(struct gda_flight *f, struct gda_status st)
{
	u64 ticket;

	if (!f->stop.class)
		f->stop = st;
	for (ticket = f->head; ticket != f->tail; ticket++)
		gda_flight_done(f, ticket, gda_status(GDA_CLASS_FLUSH, GDA_CAUSE_NONE));
}

/* Why a work request was flushed, if no written outcome explains it. */
static struct gda_status gda_flight_explain(const struct gda_flight *f)
{
	struct gda_status st = gda_flight_reason(f);

	return st.class ? st : gda_status(GDA_FAIL_PEER & 0xff, GDA_FAIL_PEER >> 8);
}

/* Restore what is known of a work request that another executor has carried out. */
static void gda_flight_recall(const struct gda_flight_request *r, struct gda_work *w)
{
	gda_engine_forget(w);
	w->opcode = r->opcode;
	w->op = r->op;
	w->slots = r->slots;
	w->flags = r->flags;
	w->remote.len = r->len;
}

/* Complete the work request of @r with its outcome. */
static void gda_flight_leave(struct gda_flight *f, struct gda_flight_request *r)
{
	struct gda_engine_qp *q = f->q;

	if (f->works)
		gda_work_copy(&q->work, &f->works[r - f->requests]);
	else
		gda_flight_recall(r, &q->work);
	r->state = GDA_FLIGHT_LEFT;
	if (unlikely(READ_ONCE(q->state) == GDA_QP_ERROR)) {
		gda_engine_flush_work(q, r->index);
	} else if (likely(!r->status.class)) {
		if (!f->works)
			WRITE_ONCE(q->bytes, q->bytes + r->len);
		gda_engine_succeed(q, r->index, q->dialect);
	} else if (r->status.class == GDA_CLASS_FLUSH) {
		gda_engine_die(q, r->index, gda_flight_explain(f));
	} else {
		gda_engine_fail_work(q, r->index, r->status);
	}
}

u32 gda_flight_leave_done(struct gda_flight *f, u32 wqes)
{
	struct gda_engine_qp *q = f->q;
	struct gda_flight_request *r;
	u64 ticket;
	u32 n = 0;

	for (ticket = f->head; ticket != f->tail && n < wqes; ticket++) {
		r = gda_flight_request(f, ticket);
		if (r->state == GDA_FLIGHT_DONE) {
			gda_flight_leave(f, r);
			f->early += r->slots;
			n++;
		} else if (r->state == GDA_FLIGHT_BEGUN && !q->dialect->unordered) {
			break;
		}
	}
	while (f->head != f->tail) {
		r = gda_flight_request(f, f->head);
		if (r->state != GDA_FLIGHT_LEFT)
			break;
		WRITE_ONCE(q->ci, q->ci + r->slots);
		f->early -= r->slots;
		WRITE_ONCE(f->head, f->head + 1);
	}
	return n;
}

/*
 * If nothing is in flight, fail a queue that is to fail, and flush what is posted to a failed one.
 * Return: how many outcomes that were.
 */
static u32 gda_flight_drained(struct gda_flight *f, u32 wqes)
{
	struct gda_engine_qp *q = f->q;
	u32 state = READ_ONCE(q->state);
	u32 n = 0;

	if (likely(!gda_flight_stopped(f)))
		return 0;
	if (state == GDA_QP_READY || state == GDA_QP_ERROR)
		gda_engine_refresh(q, q, q->dialect);
	if (state != GDA_QP_ERROR) {
		gda_engine_fail_queue(q, gda_flight_reason(f));
		n++;
	}
	while (q->pi != q->ci && n < wqes) {
		gda_engine_flush(q);
		n++;
	}
	return n;
}

u32 gda_flight_retire(struct gda_flight *f, u32 wqes)
{
	u32 n = gda_flight_leave_done(f, wqes);

	if (f->head == f->tail && n < wqes)
		n += gda_flight_drained(f, wqes - n);
	if (f->q->cqe_pending)
		gda_engine_push(f->q);
	if (unlikely(gda_counter_is_stored(f->q)))
		gda_counter_store(f->q);
	return n;
}

bool gda_flight_arrived(struct gda_flight *f, u32 imm, u32 bytes, bool solicited)
{
	const struct gda_sge remote = { .len = bytes };
	struct gda_engine_qp *q = f->q;
	const struct gda_completion c = {
		.kind = GDA_COMPLETION_IMM,
		.solicited = solicited,
		.index = f->arrived,
		.qpn = q->qpn,
		.byte_cnt = bytes,
		.uidx_imm = (u64)q->user_index << 32 | imm,
	};

	if (q->recv_cq && unlikely(!gda_host_push(q->recv_cq, &c)))
		return false;
	gda_engine_record_arrived(q, f->arrived, 0, &remote, imm);
	f->arrived++;
	if (q->recv)
		gda_os_fetch_add64(&q->recv->value, 1);
	return true;
}

/* May an outcome leave? */
static bool gda_flight_ready(const struct gda_flight *f)
{
	u64 ticket;

	for (ticket = f->head; ticket != f->tail; ticket++) {
		if (gda_flight_request(f, ticket)->state == GDA_FLIGHT_DONE)
			return true;
		if (!f->q->dialect->unordered)
			return false;
	}
	return false;
}

bool gda_flight_pending(const struct gda_flight *f)
{
	const struct gda_engine_qp *front = &f->front;
	struct gda_ring_scan scan;

	if (gda_flight_ready(f))
		return true;
	if (gda_flight_stopped(f)) {
		if (f->head != f->tail)
			return false;
		if (READ_ONCE(f->q->state) != GDA_QP_ERROR)
			return true;
		f->q->dialect->published(f->q, &scan);
		return scan.ahead;
	}
	if (READ_ONCE(f->q->state) != GDA_QP_READY || !gda_flight_room(f))
		return false;
	if (front->pi != front->ci)
		return true;
	front->dialect->published(front, &scan);
	return scan.ahead || scan.illegal;
}

u32 gda_flight_by_engine(struct gda_flight *f, u32 bytes)
{
	struct gda_engine_qp *front = &f->front, *q = f->q;
	u32 n;

	if (f->head != f->tail)
		return 0;
	n = gda_engine_visit(q, 1, bytes);
	front->ci = q->ci;
	front->pi = q->pi;
	front->seen_db = q->seen_db;
	front->seen_dbrec = q->seen_dbrec;
	f->decoded = false;
	return n;
}
