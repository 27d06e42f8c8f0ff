// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The part of a queue's visit that the fabric does: report what has completed, deliver immediates
 * to their CQ, and post the next requests, several in one chain of which only the last is signaled.
 *
 * A request's wr_id is its ticket. Requests of one connection complete in order, so a completion
 * means that every request posted before it has succeeded, unless it was reported otherwise.
 */
#include <gda/wc.h>
#include "fabric.h"

/* Work completions that are polled at once. */
#define GDA_FABRIC_POLL		16

static_assert(GDA_OS_IB(WC_SUCCESS) == 0 && GDA_OS_IB(WC_WR_FLUSH_ERR) == 5 &&
	      GDA_OS_IB(WC_REM_ACCESS_ERR) == 10 && GDA_OS_IB(WC_RNR_RETRY_EXC_ERR) == 13 &&
	      GDA_OS_IB(WC_FATAL_ERR) == 19 && GDA_OS_IB(WC_GENERAL_ERR) == 21,
	      "gda/wc.h knows them by these numbers");

/* --- what comes --- */

static void gda_fabric_take_arrival(struct gda_fabric_qp *q, const struct gda_os_wc *wc)
{
	struct gda_fabric_arrival *arrival = &q->arrivals[q->tail % q->nrecv];

	/* a peer of GDA sends only immediates; imm_data of another receive is not valid */
	if (wc->opcode != GDA_OS_IB(WC_RECV_RDMA_WITH_IMM)) {
		gda_fabric_host_fail(q, gda_status(GDA_CLASS_QUEUE, GDA_CAUSE_FABRIC));
		return;
	}
	/* each immediate had a receive of its own, so the ring has room */
	arrival->imm = be32_to_cpu(gda_os_imm(wc));
	arrival->bytes = wc->byte_len;
	q->tail++;
}

static void gda_fabric_report(struct gda_flight *f, u64 ticket, u32 status)
{
	if (!status) {
		gda_flight_done_through(f, ticket);
		return;
	}
	if (ticket)
		gda_flight_done_through(f, ticket - 1);
	gda_flight_done(f, ticket, gda_status(status & 0xff, status >> 8));
}

/* Return: whether it was a completion of a request. */
static bool gda_fabric_take(struct gda_fabric_qp *q, struct gda_flight *f,
			    const struct gda_os_wc *wc)
{
	if (wc->wr_id & GDA_FABRIC_WR_RECEIVE) {
		if (wc->status == GDA_OS_IB(WC_SUCCESS))
			gda_fabric_take_arrival(q, wc);
		return false;
	}
	if (wc->wr_id & GDA_FABRIC_WR_DRAIN)
		gda_flight_abandon(f, gda_status(GDA_CLASS_RETRY, GDA_CAUSE_PEER));
	else
		gda_fabric_report(f, wc->wr_id, gda_wc_status(wc->status));
	return true;
}

u32 gda_fabric_poll(struct gda_fabric_qp *q, struct gda_flight *f, u32 most)
{
	struct gda_os_wc wc[GDA_FABRIC_POLL];
	u32 polled = 0, done = 0;
	int i, n;

	do {
		n = gda_os_poll_cq(q->cq, GDA_FABRIC_POLL, wc);
		for (i = 0; i < n; i++)
			done += gda_fabric_take(q, f, &wc[i]);
		polled += GDA_FABRIC_POLL;
	} while (n == GDA_FABRIC_POLL && polled < most);
	return done;
}

u32 gda_fabric_post_receives(struct gda_fabric_qp *q, u32 n)
{
	u32 done = 0;

	while (done < n && !gda_os_post_recv(q->qp, GDA_FABRIC_WR_RECEIVE))
		done++;
	return done;
}

u32 gda_fabric_deliver(struct gda_fabric_qp *q, struct gda_flight *f)
{
	u32 n = 0;

	while (q->head != q->tail) {
		const struct gda_fabric_arrival *arrival = &q->arrivals[q->head % q->nrecv];

		/*
		 * the fabric does not report whether the sender solicited an event: assume that it
		 * did
		 */
		if (!gda_flight_arrived(f, arrival->imm, arrival->bytes, true))
			break;
		q->head++;
		n++;
	}
	q->unposted += n;
	/* a QP in error receives nothing more */
	if (q->unposted)
		q->unposted -= gda_fabric_post_receives(q, q->unposted);
	return n;
}

/* --- what goes --- */

/* Fill in local segments, or inline payload, which the RDMA driver copies when it is posted. */
static struct gda_status gda_fabric_build_local(struct gda_fabric_qp *q, struct gda_fabric_wr *wr,
						const struct gda_work *work, u32 access)
{
	struct gda_status st = { 0, 0 };
	u32 i;

	wr->wr.send.sg_list = wr->sge;
	wr->wr.send.num_sge = work->nsge;
	for (i = 0; i < work->nsge && !st.class; i++) {
		wr->sge[i].addr = work->sge[i].addr;
		wr->sge[i].length = work->sge[i].len;
		st = gda_fabric_host_lkey(q, &work->sge[i], access, &wr->sge[i].lkey);
	}
	if (!st.class && work->remote.len > (work->inlined ? q->max_inline : q->max_msg))
		st = gda_status(GDA_CLASS_LOCAL, GDA_CAUSE_LENGTH);
	if (st.class || !work->inlined || !work->remote.len)
		return st;
	memcpy(wr->data, work->data, work->remote.len);
	wr->sge[0].addr = (uintptr_t)wr->data;
	wr->sge[0].length = work->remote.len;
	wr->sge[0].lkey = 0;
	wr->wr.send.num_sge = 1;
	wr->wr.send.send_flags |= GDA_OS_IB(SEND_INLINE);
	return st;
}

static struct gda_status gda_fabric_build_rdma(struct gda_fabric_qp *q, struct gda_fabric_wr *wr,
					       const struct gda_work *work)
{
	gda_os_rdma(&wr->wr)->remote_addr = work->remote.addr;
	gda_os_rdma(&wr->wr)->rkey = work->remote.key;
	if (work->op == GDA_OP_READ) {
		wr->wr.send.opcode = GDA_OS_IB(WR_RDMA_READ);
		return gda_fabric_build_local(q, wr, work, GDA_ACCESS_LOCAL_WRITE);
	}
	wr->wr.send.opcode = GDA_OS_IB(WR_RDMA_WRITE);
	if (work->op == GDA_OP_WRITE_IMM) {
		wr->wr.send.opcode = GDA_OS_IB(WR_RDMA_WRITE_WITH_IMM);
		gda_os_imm(&wr->wr.send) = cpu_to_be32(work->imm);
		if (work->flags & GDA_WORK_SOLICIT)
			wr->wr.send.send_flags |= GDA_OS_IB(SEND_SOLICITED);
	}
	return gda_fabric_build_local(q, wr, work, 0);
}

static struct gda_status gda_fabric_build_atomic(struct gda_fabric_qp *q,
						 struct gda_fabric_wr *wr,
						 const struct gda_work *work)
{
	if (!q->atomic)
		return gda_status(GDA_CLASS_QUEUE, GDA_CAUSE_OPCODE);
	if (work->remote.addr % sizeof(u64))
		return gda_status(GDA_CLASS_INVALID_REQUEST, GDA_CAUSE_ALIGN);
	gda_os_atomic(&wr->wr)->remote_addr = work->remote.addr;
	gda_os_atomic(&wr->wr)->rkey = work->remote.key;
	if (work->op == GDA_OP_FETCH_ADD) {
		wr->wr.send.opcode = GDA_OS_IB(WR_ATOMIC_FETCH_AND_ADD);
		gda_os_atomic(&wr->wr)->compare_add = work->swap_add;
	} else {
		wr->wr.send.opcode = GDA_OS_IB(WR_ATOMIC_CMP_AND_SWP);
		gda_os_atomic(&wr->wr)->compare_add = work->compare;
		gda_os_atomic(&wr->wr)->swap = work->swap_add;
	}
	return gda_fabric_build_local(q, wr, work, GDA_ACCESS_LOCAL_WRITE);
}

/* Translate @work into a request of verbs. Return: success, or why it is refused. */
static struct gda_status gda_fabric_build(struct gda_fabric_qp *q, struct gda_fabric_wr *wr,
					  const struct gda_work *work)
{
	memset(&wr->wr, 0, sizeof(wr->wr));
	if (work->flags & GDA_WORK_FENCE)
		wr->wr.send.send_flags = GDA_OS_IB(SEND_FENCE);
	switch (work->op) {
	case GDA_OP_WRITE:
	case GDA_OP_READ:
	case GDA_OP_WRITE_IMM:
		return gda_fabric_build_rdma(q, wr, work);
	case GDA_OP_FETCH_ADD:
	case GDA_OP_COMPARE_SWAP:
		return gda_fabric_build_atomic(q, wr, work);
	case GDA_OP_NOP:
		return gda_status(GDA_CLASS_NONE, GDA_CAUSE_NONE);
	default:
		return gda_status(GDA_CLASS_QUEUE, GDA_CAUSE_OPCODE);
	}
}

/* Post the first @n of the chain, and fail those that the device rejects. */
static void gda_fabric_post_chain(struct gda_fabric_qp *q, struct gda_flight *f, u32 n)
{
	const struct gda_os_send_wr *bad = NULL;
	u32 i;

	for (i = 0; i + 1 < n; i++)
		q->chain[i].wr.send.next = &q->chain[i + 1].wr.send;
	q->chain[i].wr.send.send_flags |= GDA_OS_IB(SEND_SIGNALED);
	if (!gda_os_post_send(q->qp, &q->chain[0].wr.send, &bad))
		return;
	q->broken = true;
	for (; bad; bad = bad->next)
		gda_flight_done(f, bad->wr_id, gda_status(GDA_CLASS_QUEUE, GDA_CAUSE_FABRIC));
}

u32 gda_fabric_post(struct gda_fabric_qp *q, struct gda_flight *f, u32 wqes, u32 bytes)
{
	const struct gda_work *work;
	u32 begun = 0, n = 0;
	u64 moved = 0;

	while (begun < wqes && moved < bytes && !q->broken) {
		struct gda_fabric_wr *wr = &q->chain[n];
		struct gda_status st;
		u64 ticket;
		bool posts;

		work = gda_flight_next(f);
		if (!work)
			break;
		st = gda_fabric_build(q, wr, work);
		posts = !st.class && work->op != GDA_OP_NOP;
		moved += work->remote.len;
		ticket = gda_flight_begin(f);
		begun++;
		if (!posts) {
			gda_flight_done(f, ticket, st);
			continue;
		}
		wr->wr.send.wr_id = ticket;
		if (++n < GDA_FABRIC_CHAIN)
			continue;
		gda_fabric_post_chain(q, f, n);
		n = 0;
	}
	if (n)
		gda_fabric_post_chain(q, f, n);
	return begun;
}
