// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The owner's side of receive queues: entries are taken, completed and flushed here. See recv.h.
 */
#include "visit.h"

bool gda_rq_init(struct gda_engine_rq *rq)
{
	rq->head = 0;
	rq->taken = 0;
	return rq->dialect->recv && rq->depth && !(rq->depth & (rq->depth - 1)) &&
	       rq->depth <= GDA_RECV_MAX_DEPTH && rq->shift >= GDA_RECV_MIN_SHIFT &&
	       rq->shift <= GDA_RECV_MAX_SHIFT;
}

u32 gda_rq_advance(struct gda_engine_rq *rq, u32 next)
{
	u32 index = rq->linked ? rq->head : rq->taken & 0xffff;

	rq->head = next & (rq->depth - 1);
	WRITE_ONCE(rq->taken, rq->taken + 1);
	return index;
}

/* Reuse the open entry if its sender gave it back. Return: as gda_rq_take(). */
static int gda_rq_take_kept(struct gda_engine_qp *peer, struct gda_recv *out)
{
	const struct gda_engine_rq *rq = peer->rq;

	/*
	 * pairs with the release in gda_recv_drop(): all bytes of the lost message were stored
	 * before
	 */
	if (!smp_load_acquire(&peer->recv_kept))
		return 0;
	WRITE_ONCE(peer->recv_kept, false);
	rq->dialect->recv(rq, peer->recv_index & (rq->depth - 1), out);
	out->index = peer->recv_index;
	return 1;
}

int gda_rq_peek(struct gda_engine_qp *peer, struct gda_recv *out)
{
	struct gda_engine_rq *rq = peer->rq;
	u32 posted;

	if (peer->recv_closed || READ_ONCE(peer->state) == GDA_QP_ERROR)
		return -(int)GDA_FAIL_PEER;
	if (peer->recv_open)
		return gda_rq_take_kept(peer, out);
	posted = rq->dialect->posted(rq);
	if (!posted)
		return 0;
	if (unlikely(posted > rq->depth))
		return -(int)GDA_STATUS(GDA_CLASS_QUEUE, GDA_CAUSE_DOORBELL);
	rq->dialect->recv(rq, (rq->linked ? rq->head : rq->taken) & (rq->depth - 1), out);
	return 1;
}

int gda_rq_take(struct gda_engine_qp *peer, struct gda_recv *out)
{
	int ret = gda_rq_peek(peer, out);

	if (ret <= 0 || peer->recv_open)
		return ret;
	out->index = gda_rq_advance(peer->rq, out->next);
	peer->recv_index = out->index;
	WRITE_ONCE(peer->recv_kept, false);
	WRITE_ONCE(peer->recv_open, true);
	return 1;
}

int gda_rq_end(struct gda_engine_qp *peer, const struct gda_completion *c)
{
	if (!peer->recv_open)
		return -(int)GDA_FAIL_PEER;
	if (!gda_host_push(peer->recv_cq, c))
		return READ_ONCE(peer->recv_cq->failed) ?
		       -(int)GDA_STATUS(GDA_CLASS_QUEUE, GDA_CAUSE_CQ) : 0;
	WRITE_ONCE(peer->recv_open, false);
	return 1;
}

/* Does the own ring of @q have a posted entry, as far as its record can be believed? */
static bool gda_rq_has(const struct gda_engine_rq *rq)
{
	u32 posted = rq->linked ? 0 : rq->dialect->posted(rq);

	return posted && posted <= rq->depth;
}

bool gda_rq_flush(struct gda_engine_qp *q)
{
	struct gda_completion c = {
		.kind = GDA_COMPLETION_RECV_ERROR,
		.solicited = true,
		.status = gda_status(GDA_CLASS_FLUSH, GDA_CAUSE_NONE),
		.first = gda_status(GDA_CLASS_FLUSH, GDA_CAUSE_NONE),
		.index = q->recv_index,
		.qpn = q->qpn,
		.uidx_imm = (u64)q->user_index << 32,
	};

	WRITE_ONCE(q->recv_closed, true);
	smp_mb(); /* pairs with gda_send_place(): the state was set to ERROR before */
	/* a sender still moves bytes into the entry; it is flushed when the sender has stopped */
	if (q->recv_open && smp_load_acquire(&q->recv_moves))
		return false;
	if (!q->recv_open) {
		if (!gda_rq_has(q->rq))
			return false;
		c.index = gda_rq_advance(q->rq, 0);
	}
	c.first_error = c.index;
	WRITE_ONCE(q->recv_open, false);
	/* the owner's completion: if the CQ is full, it fails */
	gda_host_push(q->recv_cq, &c);
	return true;
}

bool gda_rq_pending(const struct gda_engine_qp *q)
{
	/* the first call closes the queue, even if it has no entries */
	return !READ_ONCE(q->recv_closed) || READ_ONCE(q->recv_open) || gda_rq_has(q->rq);
}

u32 gda_recv_flush(struct gda_engine_qp *q, u32 most)
{
	u32 n = 0;

	if (!q->rq || READ_ONCE(q->state) != GDA_QP_ERROR)
		return 0;
	while (n < most && gda_host_recv_flush(q))
		n++;
	return n;
}

void gda_recv_drop(struct gda_engine_qp *q)
{
	struct gda_engine_qp *peer = READ_ONCE(q->peer);

	if (!q->took)
		return;
	q->took = false;
	if (!peer)
		return;
	if (q->dialect->unreliable)
		/* pairs with the acquire in gda_rq_take_kept() */
		smp_store_release(&peer->recv_kept, true);
	else
		gda_host_fail(peer, GDA_STATUS(GDA_CLASS_FLUSH, GDA_CAUSE_PEER));
}
