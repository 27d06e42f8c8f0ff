// SPDX-License-Identifier: GPL-2.0
/*
 * What the worker does for a queue: reports what the fabric has completed, gives immediates to
 * their CQ, and posts what is next, several requests at once of which the last is signaled.
 * Nothing here sleeps or waits.
 *
 * A request is named by its ticket. Requests of one connection end in order, so whatever was
 * posted before one that is reported has succeeded, if nothing else was said of it.
 */
#include "gda_ib.h"

/* Of a work completion: no ticket, but a receive, or the last of all requests. */
#define GDA_IB_WR_RECEIVE	(1ULL << 63)
#define GDA_IB_WR_DRAIN		(1ULL << 62)

/* Work completions that are taken at once. */
#define GDA_IB_POLL		16

/* --- what comes --- */

/* Each has a receive of its own, so there is room. */
static void gda_ib_note_arrival(struct gda_ib_qp *qp, const struct ib_wc *wc)
{
	struct gda_ib_arrival *arrival = &qp->arrivals[qp->tail % qp->nrecv];

	arrival->imm = be32_to_cpu(wc->ex.imm_data);
	arrival->bytes = wc->byte_len;
	qp->tail++;
}

/* A peer of GDA sends nothing but immediates; imm_data of another receive is not valid. */
static void gda_ib_take_arrival(struct gda_ib_qp *qp, const struct ib_wc *wc)
{
	if (wc->opcode == IB_WC_RECV_RDMA_WITH_IMM)
		gda_ib_note_arrival(qp, wc);
	else
		gda_executor_qp_fail(qp->exec, gda_status(GDA_CLASS_QUEUE, GDA_CAUSE_FABRIC));
}

static void gda_ib_report(struct gda_flight *f, u64 ticket, u32 status)
{
	if (!status) {
		gda_flight_done_through(f, ticket);
		return;
	}
	if (ticket)
		gda_flight_done_through(f, ticket - 1);
	gda_flight_done(f, ticket, gda_status(status & 0xff, status >> 8));
}

static void gda_ib_take(struct gda_ib_qp *qp, struct gda_flight *f, const struct ib_wc *wc)
{
	if (wc->wr_id & GDA_IB_WR_RECEIVE) {
		if (wc->status == IB_WC_SUCCESS)
			gda_ib_take_arrival(qp, wc);
	} else if (wc->wr_id & GDA_IB_WR_DRAIN) {
		gda_flight_abandon(f, gda_status(GDA_CLASS_RETRY, GDA_CAUSE_PEER));
	} else {
		gda_ib_report(f, wc->wr_id, gda_wc_status(wc->status));
	}
}

/* Return: how much came, at most what one visit should look at. */
static u32 gda_ib_poll(struct gda_ib_qp *qp, struct gda_flight *f, u32 most)
{
	struct ib_wc wc[GDA_IB_POLL];
	u32 done = 0;
	int i, n;

	do {
		n = ib_poll_cq(qp->cq, GDA_IB_POLL, wc);
		for (i = 0; i < n; i++)
			gda_ib_take(qp, f, &wc[i]);
		done += max(n, 0);
	} while (n == GDA_IB_POLL && done < most);
	return done;
}

/* Give arrivals to their CQ, as far as it has room, and post their receives again. */
static u32 gda_ib_deliver(struct gda_ib_qp *qp, struct gda_flight *f)
{
	u32 n = 0;

	while (qp->head != qp->tail) {
		const struct gda_ib_arrival *arrival = &qp->arrivals[qp->head % qp->nrecv];

		/* the fabric does not say whether an event was asked for: there is one */
		if (!gda_flight_arrived(f, arrival->imm, arrival->bytes, true))
			break;
		qp->head++;
		n++;
	}
	qp->unposted += n;
	/* in error there is nothing to receive any more */
	if (qp->unposted)
		qp->unposted -= gda_ib_post_receives(qp, qp->unposted);
	return n;
}

/* Return: how many of the @n were posted. */
u32 gda_ib_post_receives(struct gda_ib_qp *qp, u32 n)
{
	const struct ib_recv_wr wr = { .wr_id = GDA_IB_WR_RECEIVE };
	u32 done = 0;

	while (done < n && !ib_post_recv(qp->qp, &wr, NULL))
		done++;
	return done;
}

/*
 * The last request of a QP that is in error. When it has come back, so has all that will: of
 * what was not signaled, and of what could not be posted, nothing comes.
 */
int gda_ib_post_drain(struct gda_ib_qp *qp)
{
	const struct ib_rdma_wr wr = {
		.wr = {
			.wr_id = GDA_IB_WR_DRAIN,
			.opcode = IB_WR_RDMA_WRITE,
			.send_flags = IB_SEND_SIGNALED,
		},
	};

	return ib_post_send(qp->qp, &wr.wr, NULL);
}

/* --- what goes --- */

static struct gda_status gda_ib_bad(u8 class, u8 cause)
{
	return gda_status(class, cause);
}

/* Local segments, or the inline payload, which the driver copies when it is posted. */
static struct gda_status gda_ib_build_local(struct gda_ib_qp *qp, struct gda_ib_wr *wr,
					    const struct gda_work *work, u32 access)
{
	struct gda_status st = { };
	u32 i;

	wr->rdma.wr.sg_list = wr->sge;
	wr->rdma.wr.num_sge = work->nsge;
	for (i = 0; i < work->nsge; i++) {
		struct gda_executor_mr *mr;

		mr = gda_executor_local_mr(qp->exec, &work->sge[i], access, &st);
		if (!mr)
			return st;
		wr->sge[i].addr = work->sge[i].addr;
		wr->sge[i].length = work->sge[i].len;
		wr->sge[i].lkey = ((struct gda_ib_mr *)mr->priv)->mr->lkey;
	}
	if (!work->inlined || !work->remote.len)
		return st;
	if (work->remote.len > GDA_IB_MAX_INLINE)
		return gda_ib_bad(GDA_CLASS_LOCAL, GDA_CAUSE_LENGTH);
	memcpy(wr->data, work->data, work->remote.len);
	wr->sge[0].addr = (uintptr_t)wr->data;
	wr->sge[0].length = work->remote.len;
	wr->sge[0].lkey = 0;
	wr->rdma.wr.num_sge = 1;
	wr->rdma.wr.send_flags |= IB_SEND_INLINE;
	return st;
}

static struct gda_status gda_ib_build_rdma(struct gda_ib_qp *qp, struct gda_ib_wr *wr,
					   const struct gda_work *work)
{
	struct ib_rdma_wr *rdma = &wr->rdma;

	if (work->remote.len > qp->ib->dev.limits.max_msg)
		return gda_ib_bad(GDA_CLASS_LOCAL, GDA_CAUSE_LENGTH);
	rdma->remote_addr = work->remote.addr;
	rdma->rkey = work->remote.key;
	if (work->op == GDA_OP_READ) {
		rdma->wr.opcode = IB_WR_RDMA_READ;
		return gda_ib_build_local(qp, wr, work, GDA_ACCESS_LOCAL_WRITE);
	}
	rdma->wr.opcode = IB_WR_RDMA_WRITE;
	if (work->op == GDA_OP_WRITE_IMM) {
		rdma->wr.opcode = IB_WR_RDMA_WRITE_WITH_IMM;
		rdma->wr.ex.imm_data = cpu_to_be32(work->imm);
		if (work->flags & GDA_WORK_SOLICIT)
			rdma->wr.send_flags |= IB_SEND_SOLICITED;
	}
	return gda_ib_build_local(qp, wr, work, 0);
}

static struct gda_status gda_ib_build_atomic(struct gda_ib_qp *qp, struct gda_ib_wr *wr,
					     const struct gda_work *work)
{
	struct ib_atomic_wr *atomic = &wr->atomic;

	if (!(qp->ib->dev.features & GDA_FEATURE_ATOMIC))
		return gda_ib_bad(GDA_CLASS_QUEUE, GDA_CAUSE_OPCODE);
	if (work->remote.addr % sizeof(u64))
		return gda_ib_bad(GDA_CLASS_INVALID_REQUEST, GDA_CAUSE_ALIGN);
	atomic->remote_addr = work->remote.addr;
	atomic->rkey = work->remote.key;
	if (work->op == GDA_OP_FETCH_ADD) {
		atomic->wr.opcode = IB_WR_ATOMIC_FETCH_AND_ADD;
		atomic->compare_add = work->swap_add;
	} else {
		atomic->wr.opcode = IB_WR_ATOMIC_CMP_AND_SWP;
		atomic->compare_add = work->compare;
		atomic->swap = work->swap_add;
	}
	return gda_ib_build_local(qp, wr, work, GDA_ACCESS_LOCAL_WRITE);
}

/* Make of @work what is posted. Return: success, or why it is refused. */
static struct gda_status gda_ib_build(struct gda_ib_qp *qp, struct gda_ib_wr *wr,
				      const struct gda_work *work)
{
	memset(&wr->atomic, 0, sizeof(wr->atomic));
	memset(&wr->rdma, 0, sizeof(wr->rdma));
	if (work->flags & GDA_WORK_FENCE)
		wr->rdma.wr.send_flags = IB_SEND_FENCE;
	switch (work->op) {
	case GDA_OP_WRITE:
	case GDA_OP_READ:
	case GDA_OP_WRITE_IMM:
		return gda_ib_build_rdma(qp, wr, work);
	case GDA_OP_FETCH_ADD:
	case GDA_OP_COMPARE_SWAP:
		return gda_ib_build_atomic(qp, wr, work);
	case GDA_OP_NOP:
		return gda_ib_bad(GDA_CLASS_NONE, GDA_CAUSE_NONE);
	default:
		return gda_ib_bad(GDA_CLASS_QUEUE, GDA_CAUSE_OPCODE);
	}
}

/* Fail the requests that were not posted, and drain the others: the signaled one was not posted. */
static void gda_ib_post_failed(struct gda_ib_qp *qp, struct gda_flight *f,
			       const struct ib_send_wr *bad)
{
	for (; bad; bad = bad->next)
		gda_flight_done(f, bad->wr_id, gda_status(GDA_CLASS_QUEUE, GDA_CAUSE_FABRIC));
	gda_ib_hang_up(qp);
}

static void gda_ib_post_chain(struct gda_ib_qp *qp, struct gda_flight *f, u32 n)
{
	const struct ib_send_wr *bad = NULL;
	u32 i;

	if (!n)
		return;
	for (i = 0; i + 1 < n; i++)
		qp->chain[i].rdma.wr.next = &qp->chain[i + 1].rdma.wr;
	qp->chain[i].rdma.wr.send_flags |= IB_SEND_SIGNALED;
	if (ib_post_send(qp->qp, &qp->chain[0].rdma.wr, &bad))
		gda_ib_post_failed(qp, f, bad);
}

/* Begin what is next, as much as goes into one chain. Return: how much was begun. */
static u32 gda_ib_post(struct gda_ib_qp *qp, struct gda_flight *f, u32 wqes, u32 bytes)
{
	const struct gda_work *work;
	u32 begun = 0, n = 0;
	u64 moved = 0;

	while (n < GDA_IB_CHAIN && begun < wqes && moved < bytes) {
		struct gda_ib_wr *wr = &qp->chain[n];
		struct gda_status st;
		u64 ticket;
		bool posts;

		work = gda_flight_next(f);
		if (!work)
			break;
		st = gda_ib_build(qp, wr, work);
		posts = !st.class && work->op != GDA_OP_NOP;
		moved += work->remote.len;
		ticket = gda_flight_begin(f);
		begun++;
		if (!posts) {
			gda_flight_done(f, ticket, st);
			continue;
		}
		wr->rdma.wr.wr_id = ticket;
		n++;
	}
	gda_ib_post_chain(qp, f, n);
	return begun;
}

u32 gda_ib_visit(struct gda_executor_qp *exec, u32 wqes, u32 bytes)
{
	struct gda_ib_qp *qp = exec->priv;
	struct gda_flight *f = exec->flight;
	u32 n;

	if (unlikely(READ_ONCE(qp->drained)))
		gda_flight_abandon(f, gda_status(GDA_CLASS_RETRY, GDA_CAUSE_PEER));
	n = gda_ib_poll(qp, f, wqes);
	n += gda_ib_deliver(qp, f);
	n += gda_ib_post(qp, f, wqes, bytes);
	n += gda_flight_retire(f, wqes);
	/* the peer is to know, and what is in flight is to end */
	if (unlikely(gda_flight_stopped(f)))
		gda_ib_hang_up(qp);
	return n;
}

/*
 * An immediate without room waits for the owner of the CQ, who tells nobody. And a queue that
 * is to fail is hung up by a visit.
 */
bool gda_ib_arm(struct gda_executor_qp *exec)
{
	struct gda_ib_qp *qp = exec->priv;

	if (qp->head != qp->tail)
		return true;
	if (gda_flight_stopped(exec->flight) && !READ_ONCE(qp->hung_up))
		return true;
	return ib_req_notify_cq(qp->cq, IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS) > 0;
}
