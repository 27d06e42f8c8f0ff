// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The life of a queue outside of the loop of visit.h: initialization, failure and flush.
 *
 * Invariants:
 *
 * - ci is the first slot of the oldest work request without an outcome; it advances
 *   only together with that outcome.
 * - state turns to ERROR once, after first and first_error were stored; from then on
 *   nothing is executed.
 * - On a collapsed CQ only the newest completion matters, so it is written once, at the end of the
 *   visit (cqe_pending, last); an error replaces the one that is pending.
 * - Each entry of a ring CQ is the outcome of a published work request.
 */
#include "counter.h"
#include "order.h"
#include "visit.h"

void gda_engine_init(struct gda_engine_qp *q)
{
	const struct gda_completion none = {
		.kind = GDA_COMPLETION_DONE,
		.qpn = q->qpn,
		.uidx_imm = (u64)q->user_index << 32,
	};

	q->ci = 0;
	q->pi = 0;
	q->seen_db = 0;
	q->seen_dbrec = 0;
	q->busy = false;
	q->done = 0;
	q->cqe_pending = false;
	q->blame = false;
	q->last = none;
	q->imms = 0;
	q->rnr_tries = 0;
	q->stray = 0;
	q->recorded = 0;
	q->fetched = 0;
	q->storing = NULL;
	q->took = false;
	q->recv_open = false;
	q->recv_kept = false;
	q->recv_closed = false;
	q->recv_index = 0;
	q->executed = 0;
	q->flushed = 0;
	q->bytes = 0;
	q->first_error = 0;
	q->first = none.status;
	q->visit = q->dialect->visit;
	if (q->order) {
		q->visit = gda_order_visit;
		gda_order_init(q->order, q);
	}
	if (gda_counter_has_words(q->sent_counter) || gda_counter_has_words(q->recv_counter))
		q->visit = gda_counter_visit;
}

static void gda_engine_fail(struct gda_engine_qp *q, u64 index, struct gda_status st)
{
	WRITE_ONCE(q->first_error, index);
	WRITE_ONCE(q->first.cause, st.cause);
	WRITE_ONCE(q->first.class, st.class);
	/* pairs with the acquire of readers: whoever reads ERROR also reads its cause */
	smp_store_release(&q->state, GDA_QP_ERROR);

	q->last.first = st;
	q->last.first_error = index;
	gda_recv_drop(q);
}

void gda_engine_overflow(struct gda_engine_qp *q)
{
	const struct gda_status st = gda_status(GDA_CLASS_QUEUE, GDA_CAUSE_CQ);

	if (READ_ONCE(q->state) == GDA_QP_ERROR)
		return;
	gda_engine_fail(q, q->last.index, st);
	gda_engine_record(q, GDA_RECORD_OVERFLOW, q->last.index, st);
}

/* Write an error completion for q->work, which begins at slot @index. */
static void gda_engine_report(struct gda_engine_qp *q, u64 index, struct gda_status st)
{
	q->busy = false;
	gda_engine_record(q, st.class == GDA_CLASS_FLUSH ? GDA_RECORD_FLUSHED : GDA_RECORD_FAILED,
			  index, st);
	if (q->work.slots)
		gda_counter_failed(q);
	q->last.kind = GDA_COMPLETION_ERROR;
	q->last.solicited = true;
	q->last.wr_opcode = q->work.opcode;
	q->last.index = index;
	if (q->dialect->named)
		q->last.id = q->work.target.id;
	q->last.status = st;
	q->rnr_tries = 0;
	gda_engine_complete(q);
}

/* Fail this work request alone: its entry is written at once, and the queue goes on. */
static void gda_engine_fail_alone(struct gda_engine_qp *q, u64 index, struct gda_status st)
{
	q->last.first = st;
	q->last.first_error = index;
	gda_engine_report(q, index, st);
	if (q->cqe_pending)
		gda_engine_push(q);
	if (READ_ONCE(q->state) == GDA_QP_ERROR)
		return;
	q->last.kind = GDA_COMPLETION_DONE;
	q->last.status = gda_status(GDA_CLASS_NONE, GDA_CAUSE_NONE);
}

void gda_engine_die(struct gda_engine_qp *q, u64 index, struct gda_status st)
{
	gda_engine_fail(q, index, st);
	gda_engine_report(q, index, st);
}

void gda_engine_fail_work(struct gda_engine_qp *q, u64 index, struct gda_status st)
{
	if (q->dialect->fatal(st))
		gda_engine_die(q, index, st);
	else
		gda_engine_fail_alone(q, index, st);
}

int gda_engine_lose(struct gda_engine_qp *q, int ret)
{
	switch ((u8)-ret) {
	case GDA_CLASS_LOCAL:
	case GDA_CLASS_QUEUE:
		return ret;
	default:
		gda_recv_drop(q);
		q->busy = false;
		return 1;
	}
}

/* Find how many slots the work request at ci fills: 1 if the queue can no longer be read. */
static void gda_engine_measure(struct gda_engine_qp *q)
{
	struct gda_status st = gda_status(GDA_CLASS_QUEUE, GDA_CAUSE_QUEUE);

	q->work.opcode = 0;
	q->work.slots = 1;
	/* of an entry that cannot be read the number is as good as any id */
	if (!q->sq)
		q->work.target.id = q->ci;
	else
		st = q->dialect->decode(q, (u32)(q->pi - q->ci), &q->work);
	if (st.class)
		gda_engine_forget(&q->work);
}

/*
 * The queue failed while nothing was posted, and its CQ is a ring. An entry there stands for a work
 * request: its reader returns the wr_id of that slot, which now belongs to an older request or to
 * none. So the next request to be published completes with this error; until then only the CQ's
 * event tells the program.
 */
static void gda_engine_defer(struct gda_engine_qp *q, struct gda_status st)
{
	q->blame = true;
	gda_engine_record(q, GDA_RECORD_FAILED, q->ci, st);
	q->last.kind = GDA_COMPLETION_ERROR;
	q->last.status = st;
	gda_host_event(q->cq, &q->last);
}

/*
 * Fail the queue for a reason outside of its work requests. The oldest unfinished request completes
 * with that reason. If there is none, a collapsed CQ names the next slot at once (see gda_poll() in
 * gda/queue.h); a ring waits for the next request.
 */
void gda_engine_fail_queue(struct gda_engine_qp *q, struct gda_status st)
{
	if (!q->busy) {
		q->work.opcode = 0;
		q->work.slots = 0;
		gda_engine_forget(&q->work);
		if (q->pi != q->ci)
			gda_engine_measure(q);
	}
	gda_engine_fail(q, q->ci, st);
	if (q->work.slots || q->cq->collapsed)
		gda_engine_report(q, q->ci, st);
	else
		gda_engine_defer(q, st);
	gda_engine_advance(q);
}

void gda_engine_stray(struct gda_engine_qp *host, struct gda_engine_qp *q,
		      const struct gda_dialect_ops *ops, struct gda_ring_scan *scan)
{
	u64 stray = scan->stray;

	if (!gda_host_stray(host, (u32)stray >> 8))
		return;
	q->stray = stray;
	ops->published(q, scan);
}

void gda_engine_flush_work(struct gda_engine_qp *q, u64 index)
{
	gda_engine_report(q, index, gda_status(GDA_CLASS_FLUSH, GDA_CAUSE_NONE));
	WRITE_ONCE(q->flushed, q->flushed + 1);
}

void gda_engine_flush(struct gda_engine_qp *q)
{
	gda_engine_measure(q);
	if (q->blame) {
		q->blame = false;
		gda_engine_report(q, q->ci, q->first);
	} else {
		gda_engine_flush_work(q, q->ci);
	}
	gda_engine_advance(q);
	/* flush receives beside sends: a program may post sends for ever */
	gda_recv_flush(q, 1);
}

u32 gda_engine_visit(struct gda_engine_qp *q, u32 wqes, u32 bytes)
{
	return q->visit(q, wqes, bytes);
}

bool gda_engine_pending(const struct gda_engine_qp *q)
{
	u32 state = READ_ONCE(q->state);
	struct gda_ring_scan scan;

	if (gda_counter_is_stored(q) && gda_counter_pending(q))
		return true;
	if (q->order)
		return gda_order_pending(q->order);
	if (state != GDA_QP_ERROR && gda_engine_asked(q).class)
		return true;
	if (state != GDA_QP_READY && state != GDA_QP_ERROR)
		return false;
	q->dialect->published(q, &scan);
	return scan.ahead || (scan.illegal && state == GDA_QP_READY) ||
	       (q->rq && state == GDA_QP_ERROR && gda_rq_pending(q));
}
