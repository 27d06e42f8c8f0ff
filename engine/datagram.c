// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Datagrams. The receiver is looked up for every datagram; it may serve many senders, and it may be
 * the sender itself.
 *
 * Invariants:
 *
 * - A datagram is moved whole, with the receiver's lock held: its next entry is read, filled and
 *   completed before another sender looks. So no entry stays open between two datagrams, and an
 *   entry that cannot be completed is not taken.
 * - A datagram is dropped silently if there is no such receiver, no entry, an entry that is too
 *   short, or no room for the completion. A short entry of a shared receive queue completes with an
 *   error.
 * - A malformed entry fails the queue of its owner. The sender is not told.
 */
#include "move.h"

/* The global header's next-header field, and how many bytes behind the header are not payload. */
#define GDA_DATAGRAM_NEXT	0x1bU
#define GDA_DATAGRAM_REST	24U
#define GDA_DATAGRAM_IMM	4U

/* Complete the entry, if there is room. Return: as gda_rq_datagram(). */
static int gda_datagram_end(const struct gda_engine_qp *q, struct gda_engine_qp *peer,
			    struct gda_completion *c)
{
	struct gda_engine_rq *rq = peer->rq;
	u32 head = rq->head, taken = rq->taken;

	c->index = gda_rq_advance(rq, q->taken.next);
	c->first_error = c->index;
	c->qpn = peer->qpn;
	if (likely(gda_host_push(peer->recv_cq, c)))
		return 1;
	rq->head = head;
	WRITE_ONCE(rq->taken, taken);
	return READ_ONCE(peer->recv_cq->failed) ?
	       -(int)GDA_STATUS(GDA_CLASS_QUEUE, GDA_CAUSE_CQ) : 0;
}

/* Refuse the entry for the reason @st. Return: as gda_rq_datagram(), never 1. */
static int gda_datagram_refuse(const struct gda_engine_qp *q, struct gda_engine_qp *peer,
			       struct gda_status st)
{
	struct gda_completion c = {
		.kind = GDA_COMPLETION_RECV_ERROR,
		.solicited = true,
		.status = st,
		.first = st,
		.uidx_imm = (u64)peer->user_index << 32,
	};
	bool brief = st.cause == GDA_CAUSE_LENGTH && !q->taken.st.class;
	int ret;

	if (brief && !peer->rq->linked)
		return 0;
	ret = gda_datagram_end(q, peer, &c);
	if (ret <= 0 || brief)
		return min(ret, 0);
	return -(int)GDA_STATUS(GDA_CLASS_FLUSH, st.cause);
}

static void gda_datagram_header(const struct gda_engine_qp *q, u8 *head)
{
	const struct gda_work *w = &q->work;
	u32 bytes = ((w->remote.len + 3) & ~3U) + GDA_DATAGRAM_REST +
		    (w->op == GDA_OP_SEND_IMM ? GDA_DATAGRAM_IMM : 0);
	const u8 first[] = {
		(u8)(w->to.flow >> 24), (u8)(w->to.flow >> 16), (u8)(w->to.flow >> 8),
		(u8)w->to.flow, (u8)(bytes >> 8), (u8)bytes, GDA_DATAGRAM_NEXT, w->to.hops,
	};

	memcpy(head, first, sizeof(first));
	memcpy(head + sizeof(first), q->port->gid, sizeof(q->port->gid));
	memcpy(head + sizeof(first) + sizeof(q->port->gid), w->to.gid, sizeof(w->to.gid));
}

/* Store the global header, if the datagram has one. Return: whether that worked. */
static bool gda_datagram_put_header(const struct gda_engine_qp *q, const struct gda_send_mems *to)
{
	u8 head[GDA_DATAGRAM_HEAD];
	u32 done = 0;

	if (!q->work.to.flow)
		return true;
	gda_datagram_header(q, head);
	while (done < sizeof(head)) {
		void *ptr;
		u32 n = gda_send_span(&q->taken, to, done, (u32)sizeof(head) - done, &ptr);

		if (unlikely(!n))
			return false;
		memcpy(ptr, head + done, n);
		done += n;
	}
	return true;
}

/* Store the payload in the entry's segments. Return: as gda_rq_datagram(). */
static int gda_datagram_move(struct gda_engine_qp *q, struct gda_engine_qp *peer,
			     const struct gda_exec_mems *mems, const struct gda_send_mems *to)
{
	u32 len = q->work.remote.len;

	q->done = 0;
	while (q->done < len) {
		void *local, *remote;
		u32 n = gda_exec_local(q, mems, len - q->done, &local);

		if (unlikely(!n))
			return gda_exec_fail(GDA_CLASS_LOCAL, GDA_CAUSE_IO);
		n = gda_send_span(&q->taken, to, GDA_DATAGRAM_HEAD + q->done, n, &remote);
		if (unlikely(!n))
			return gda_datagram_refuse(q, peer, gda_status(GDA_CLASS_LOCAL, GDA_CAUSE_IO));
		gda_exec_move(q, GDA_OP_SEND, local, remote, n);
		q->done += n;
	}
	return 1;
}

int gda_rq_datagram(struct gda_engine_qp *q, struct gda_engine_qp *peer,
		    const struct gda_exec_mems *mems)
{
	const struct gda_work *w = &q->work;
	struct gda_completion c = {
		.kind = w->op == GDA_OP_SEND_IMM ? GDA_COMPLETION_RECV_IMM : GDA_COMPLETION_RECV,
		.solicited = (w->flags & GDA_WORK_SOLICIT) != 0,
		.byte_cnt = w->remote.len + GDA_DATAGRAM_HEAD,
		.uidx_imm = (u64)peer->user_index << 32 | w->imm,
		.source = q->qpn,
		.lid = q->port->lid,
		.sl = w->to.sl,
		.global = w->to.flow != 0,
	};
	struct gda_send_mems to;
	struct gda_status st;
	int ret = gda_rq_peek(peer, &q->taken);

	if (unlikely(ret <= 0))
		return ret;
	st = gda_send_check(q, peer, c.byte_cnt, &to);
	if (unlikely(st.class))
		return gda_datagram_refuse(q, peer, st);
	if (unlikely(!gda_datagram_put_header(q, &to)))
		return gda_datagram_refuse(q, peer, gda_status(GDA_CLASS_LOCAL, GDA_CAUSE_IO));
	ret = gda_datagram_move(q, peer, mems, &to);
	return likely(ret > 0) ? gda_datagram_end(q, peer, &c) : ret;
}

int gda_exec_datagram(struct gda_engine_qp *q, struct gda_engine_qp *peer,
		      const struct gda_exec_mems *mems)
{
	const struct gda_work *w = &q->work;
	int ret;

	if (unlikely(w->remote.len > GDA_DATAGRAM_MAX))
		return gda_exec_fail(GDA_CLASS_LOCAL, GDA_CAUSE_LENGTH);
	if (unlikely(!peer || !peer->rq || !peer->recv_cq))
		return 1;
	ret = gda_host_recv_datagram(q, peer, mems);
	if (likely(ret > 0)) {
		gda_engine_record_arrived(peer, q->imms, w->opcode, &w->remote, w->imm);
		q->imms++;
		gda_exec_arrived(w->op, peer);
		return 1;
	}
	if (unlikely((u8)-ret == GDA_CLASS_LOCAL))
		return ret;
	if (unlikely(ret && ret != -(int)GDA_FAIL_PEER))
		gda_host_fail(peer, (u32)-ret);
	return 1;
}
