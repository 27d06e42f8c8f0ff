// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * One visit: take what was published, begin or resume work requests within the
 * budget, report outcomes, flush after an error.
 *
 * Invariants:
 *
 * - ci is the first slot of the oldest work request without an outcome; it advances
 *   only together with that outcome.
 * - state turns to ERROR once, after first and first_error were stored; from then on
 *   nothing is executed.
 * - On a collapsed CQ only the newest completion matters, so it is written once, at
 *   the end of the visit (cqe_pending, last); an error supersedes what waits.
 * - An entry of a ring is the outcome of a work request that was published.
 */
#include "engine.h"

void gda_engine_init(struct gda_engine_qp *q)
{
	const struct gda_completion none = {
		.cqe_opcode = GDA_MLX5_CQE_REQ,
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
	q->executed = 0;
	q->flushed = 0;
	q->bytes = 0;
	q->first_error = 0;
	q->first = none.status;
}

static void gda_engine_fail(struct gda_engine_qp *q, struct gda_status st)
{
	WRITE_ONCE(q->first_error, q->ci);
	WRITE_ONCE(q->first.vendor, st.vendor);
	WRITE_ONCE(q->first.syndrome, st.syndrome);
	/* who sees the state sees why */
	smp_store_release(&q->state, GDA_QP_ERROR);

	q->last.cqe_opcode = GDA_MLX5_CQE_REQ_ERR;
	q->last.first = st;
	q->last.first_error = q->ci;
}

static void gda_engine_push(struct gda_engine_qp *q)
{
	const struct gda_status full = { GDA_MLX5_SYND_LOCAL_QP_OP, GDA_MLX5_VENDOR_CQ };

	bool pushed = gda_host_push(q->cq, &q->last);

	q->cqe_pending = false;
	q->last.solicited = false;
	if (likely(pushed))
		return;
	/* nobody can be told but by QP_QUERY; the engine goes on without */
	if (READ_ONCE(q->state) != GDA_QP_ERROR)
		gda_engine_fail(q, full);
}

/* q->last is filled; it is written now, or at the end of the visit. */
static void gda_engine_complete(struct gda_engine_qp *q)
{
	if (q->cq->collapsed)
		q->cqe_pending = true;
	else
		gda_engine_push(q);
}

static void gda_engine_succeed(struct gda_engine_qp *q)
{
	const struct gda_work *w = &q->work;

	WRITE_ONCE(q->executed, q->executed + 1);
	if (q->sent)
		gda_os_fetch_add64(&q->sent->value, 1);
	if (w->flags & GDA_WORK_SIGNALED) {
		/* a solicited one that waits to be written stays so */
		q->last.solicited |= (w->flags & GDA_WORK_SOLICITED) != 0;
		q->last.wr_opcode = w->opcode;
		q->last.index = q->ci;
		q->last.byte_cnt = w->remote.len;
		gda_engine_complete(q);
	}
	WRITE_ONCE(q->ci, q->ci + w->slots);
}

/* The work request at ci, decoded or not, gets an error completion. */
static void gda_engine_report(struct gda_engine_qp *q, struct gda_status st)
{
	q->busy = false;
	if (q->sent && q->work.slots)
		gda_os_fetch_add64(&q->sent->errors, 1);
	q->last.solicited = true;
	q->last.wr_opcode = q->work.opcode;
	q->last.index = q->ci;
	q->last.status = st;
	gda_engine_complete(q);
	WRITE_ONCE(q->ci, q->ci + q->work.slots);
}

/* The work request at ci fails, and the queue with it. */
static void gda_engine_fail_work(struct gda_engine_qp *q, struct gda_status st)
{
	gda_engine_fail(q, st);
	gda_engine_report(q, st);
}

/* Learn how many slots the work request at ci fills: one where there is none to be read. */
static void gda_engine_measure(struct gda_engine_qp *q)
{
	q->work.opcode = 0;
	q->work.slots = 1;
	if (q->sq)
		q->dialect->decode(q, (u32)(q->pi - q->ci), &q->work);
}

/*
 * The queue failed while nothing was posted, and completes to a ring. An entry there
 * stands for a work request: its reader hands out the wr_id of that slot, which belongs to
 * a request of a lap before or to none. So the next request to be published will take the
 * blame, and only the event tells now.
 */
static void gda_engine_defer(struct gda_engine_qp *q, struct gda_status st)
{
	q->blame = true;
	q->last.status = st;
	gda_host_event(q->cq, &q->last);
}

/*
 * The queue fails for a reason that is not a work request's. The oldest unfinished
 * one, if any, takes the blame; else the slot that will be next is named, at once on a
 * collapsed CQ (see gda_poll() in gda/queue.h), which nobody reads entry by entry.
 */
static void gda_engine_fail_queue(struct gda_engine_qp *q, struct gda_status st)
{
	if (!q->busy) {
		q->work.opcode = 0;
		q->work.slots = 0;
		if (q->pi != q->ci)
			gda_engine_measure(q);
	}
	gda_engine_fail(q, st);
	if (q->work.slots || q->cq->collapsed)
		gda_engine_report(q, st);
	else
		gda_engine_defer(q, st);
}

static void gda_engine_flush(struct gda_engine_qp *q)
{
	const struct gda_status flushed = { GDA_MLX5_SYND_WR_FLUSH, 0 };

	gda_engine_measure(q);
	if (q->blame) {
		q->blame = false;
		gda_engine_report(q, q->first);
		return;
	}
	gda_engine_report(q, flushed);
	WRITE_ONCE(q->flushed, q->flushed + 1);
}

/* Begin or resume the work request at ci. */
static void gda_engine_step(struct gda_engine_qp *q, struct gda_exec_scope *scope)
{
	struct gda_status st;
	int ret;

	if (likely(!q->busy)) {
		st = q->dialect->decode(q, (u32)(q->pi - q->ci), &q->work);
		if (unlikely(st.syndrome)) {
			gda_engine_fail_work(q, st);
			return;
		}
	}
	ret = gda_exec(q, scope);
	if (likely(ret > 0)) {
		gda_engine_succeed(q);
	} else if (ret < 0) {
		st.syndrome = (u8)-ret;
		st.vendor = (u8)(-ret >> 8);
		gda_engine_fail_work(q, st);
	}
}

/* Does the host want the queue to fail, and why? */
static struct gda_status gda_engine_asked(const struct gda_engine_qp *q)
{
	u32 fail = READ_ONCE(q->fail);
	struct gda_status st = { (u8)fail, (u8)(fail >> 8) };

	return st;
}

/* Take new doorbells and requests of the host. Return: did the queue fail now? */
static bool gda_engine_admit(struct gda_engine_qp *q, u32 state)
{
	struct gda_status asked = gda_engine_asked(q);
	struct gda_status st = asked;

	if (likely(state == GDA_QP_READY || state == GDA_QP_ERROR))
		st = gda_ring_refresh(q);
	if (unlikely(asked.syndrome))
		st = asked;
	if (likely(!st.syndrome) || state == GDA_QP_ERROR)
		return false;
	gda_engine_fail_queue(q, st);
	return true;
}

u32 gda_engine_visit(struct gda_engine_qp *q, u32 wqes, u32 bytes)
{
	u32 n = gda_engine_admit(q, READ_ONCE(q->state));
	struct gda_exec_scope scope;

	if (q->pi == q->ci && !n)
		return 0;
	gda_exec_begin(q, bytes, &scope);
	while (q->pi != q->ci && n < wqes && q->bytes < scope.until) {
		if (likely(READ_ONCE(q->state) == GDA_QP_READY))
			gda_engine_step(q, &scope);
		else
			gda_engine_flush(q);
		n++;
	}
	if (q->cqe_pending)
		gda_engine_push(q);
	return n;
}

bool gda_engine_pending(const struct gda_engine_qp *q)
{
	u32 state = READ_ONCE(q->state);
	bool illegal, work;

	if (state != GDA_QP_ERROR && gda_engine_asked(q).syndrome)
		return true;
	if (state != GDA_QP_READY && state != GDA_QP_ERROR)
		return false;
	work = gda_ring_pending(q, &illegal);
	return work || (illegal && state == GDA_QP_READY);
}
