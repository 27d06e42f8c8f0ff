// SPDX-License-Identifier: GPL-2.0
/*
 * QPs, CQs, MRs and counters as netlink shows them. Each value is read once, while executors run;
 * together the values are no snapshot.
 */
#include "nl.h"

#define GDA_NL_U64(msg, set, attr, value)	\
	nla_put_u64_64bit(msg, GDA_A_##set##_##attr, value, GDA_A_##set##_PAD)

/* A part that a QP uses exists as long as the QP does. 0: the QP has none. */
static u32 gda_nl_part(const struct gda_control_part *part)
{
	return part->users ? container_of(part->users, struct gda_object, users)->handle : 0;
}

static int gda_nl_put_part(struct sk_buff *msg, int attr, const struct gda_control_part *part)
{
	u32 handle = gda_nl_part(part);

	return handle ? nla_put_u32(msg, attr, handle) : 0;
}

/* If the reader may not see the peer, or the peer is being freed, put only its number. */
static int gda_nl_put_peer(struct sk_buff *msg, const struct gda_nl_reader *reader,
			   const struct gda_qp *qp)
{
	u32 number = gda_executor_peer(qp);
	const struct gda_qp *peer;

	if (!number)
		return 0;
	if (nla_put_u32(msg, GDA_A_QP_PEER_QPN, number))
		return -EMSGSIZE;
	peer = xa_load(&qp->exec.ctx->dev->qps, number);
	if (!peer || !gda_nl_may_see(reader, &peer->obj.ctx->opener))
		return 0;
	if (nla_put_u32(msg, GDA_A_QP_PEER_CONTEXT, peer->obj.ctx->id))
		return -EMSGSIZE;
	return gda_nl_put_opener(msg, &peer->obj.ctx->opener, GDA_A_QP_PEER_PID,
				 GDA_A_QP_PEER_UID);
}

static int gda_nl_put_error(struct sk_buff *msg, const struct gda_engine_qp *q)
{
	if (GDA_NL_U64(msg, QP, ERROR_INDEX, READ_ONCE(q->first_error)) ||
	    nla_put_u32(msg, GDA_A_QP_CLASS, READ_ONCE(q->first.class)) ||
	    nla_put_u32(msg, GDA_A_QP_CAUSE, READ_ONCE(q->first.cause)))
		return -EMSGSIZE;
	return 0;
}

static int gda_nl_put_posted(struct sk_buff *msg, const struct gda_nl_reader *reader,
			     const struct gda_qp *qp)
{
	u64 rung = gda_nl_rung(qp);

	if (GDA_NL_U64(msg, QP, RUNG, rung))
		return -EMSGSIZE;
	return reader->one ? nla_put_u32(msg, GDA_A_QP_WRITTEN, gda_nl_written(qp, rung)) : 0;
}

static int gda_nl_put_progress(struct sk_buff *msg, const struct gda_qp *qp)
{
	const struct gda_engine_qp *q = &qp->engine_qp;
	u32 in_flight = qp->exec.flight ? gda_flight_count(qp->exec.flight) : READ_ONCE(q->busy);
	/* read in this order, so that never more is shown as done than was posted */
	u64 consumer = smp_load_acquire(&q->ci);

	if (GDA_NL_U64(msg, QP, PRODUCER, READ_ONCE(q->pi)) ||
	    GDA_NL_U64(msg, QP, CONSUMER, consumer) ||
	    nla_put_u32(msg, GDA_A_QP_IN_FLIGHT, in_flight) ||
	    GDA_NL_U64(msg, QP, EXECUTED, READ_ONCE(q->executed)) ||
	    GDA_NL_U64(msg, QP, FLUSHED, READ_ONCE(q->flushed)) ||
	    GDA_NL_U64(msg, QP, BYTES, READ_ONCE(q->bytes)) ||
	    GDA_NL_U64(msg, QP, DOORBELLS, READ_ONCE(qp->stats.doorbells)) ||
	    GDA_NL_U64(msg, QP, VISITS, READ_ONCE(qp->stats.visits)) ||
	    GDA_NL_U64(msg, QP, LAST_PROGRESS, READ_ONCE(qp->stats.last_progress)))
		return -EMSGSIZE;
	return 0;
}

static int gda_nl_fill_qp(struct sk_buff *msg, const struct gda_nl_reader *reader,
			  const struct gda_object *obj)
{
	const struct gda_qp *qp = container_of(obj, struct gda_qp, obj);
	const struct gda_engine_qp *q = &qp->engine_qp;
	/* pairs with the engine's release: a state of error comes with its reason */
	u32 state = smp_load_acquire(&q->state);

	if (nla_put_u32(msg, GDA_A_QP_CONTEXT, obj->ctx->id) ||
	    nla_put_u32(msg, GDA_A_QP_HANDLE, obj->handle) ||
	    nla_put_u32(msg, GDA_A_QP_QPN, qp->exec.number) ||
	    nla_put_u32(msg, GDA_A_QP_STATE, state) ||
	    (qp->polled && nla_put_flag(msg, GDA_A_QP_POLLED)) ||
	    nla_put_u32(msg, GDA_A_QP_SQ_DEPTH, q->depth) ||
	    gda_nl_put_part(msg, GDA_A_QP_CQ, &qp->parts.cq) ||
	    gda_nl_put_part(msg, GDA_A_QP_RECV_CQ, &qp->parts.recv_cq) ||
	    gda_nl_put_part(msg, GDA_A_QP_COUNTER, &qp->parts.sent) ||
	    gda_nl_put_part(msg, GDA_A_QP_RECV_COUNTER, &qp->parts.recv) ||
	    nla_put_u32(msg, GDA_A_QP_USER_INDEX, q->user_index) ||
	    gda_nl_put_progress(msg, qp) ||
	    gda_nl_put_posted(msg, reader, qp) ||
	    (state == GDA_QP_ERROR && gda_nl_put_error(msg, q)))
		return -EMSGSIZE;
	return gda_nl_put_peer(msg, reader, qp);
}

static int gda_nl_fill_cq(struct sk_buff *msg, const struct gda_nl_reader *reader,
			  const struct gda_object *obj)
{
	const struct gda_cq *cq = container_of(obj, struct gda_cq, obj);
	const struct gda_engine_cq *c = &cq->engine_cq;

	if (nla_put_u32(msg, GDA_A_CQ_CONTEXT, obj->ctx->id) ||
	    nla_put_u32(msg, GDA_A_CQ_HANDLE, obj->handle) ||
	    nla_put_u32(msg, GDA_A_CQ_CQN, cq->cqn) ||
	    nla_put_u32(msg, GDA_A_CQ_DEPTH, READ_ONCE(c->depth)) ||
	    (c->collapsed && nla_put_flag(msg, GDA_A_CQ_COLLAPSED)) ||
	    (READ_ONCE(c->failed) && nla_put_flag(msg, GDA_A_CQ_FAILED)) ||
	    (READ_ONCE(cq->lost) && nla_put_flag(msg, GDA_A_CQ_REVOKED)) ||
	    (READ_ONCE(cq->armed) && nla_put_flag(msg, GDA_A_CQ_ARMED)) ||
	    GDA_NL_U64(msg, CQ, PRODUCER, READ_ONCE(c->producer)) ||
	    nla_put_u32(msg, GDA_A_CQ_USERS, READ_ONCE(obj->users)))
		return -EMSGSIZE;
	return 0;
}

static int gda_nl_fill_mr(struct sk_buff *msg, const struct gda_nl_reader *reader,
			  const struct gda_object *obj)
{
	const struct gda_mr *mr = container_of(obj, struct gda_mr, obj);
	const struct gda_mem *mem = &mr->mem;

	if (nla_put_u32(msg, GDA_A_MR_CONTEXT, obj->ctx->id) ||
	    nla_put_u32(msg, GDA_A_MR_HANDLE, obj->handle) ||
	    nla_put_u32(msg, GDA_A_MR_KEY, mem->key) ||
	    nla_put_u32(msg, GDA_A_MR_KIND, mr->kind) ||
	    nla_put_u32(msg, GDA_A_MR_STATE, READ_ONCE(mem->state) & ~GDA_MEM_NO_CPU) ||
	    nla_put_u32(msg, GDA_A_MR_ACCESS, mem->access) ||
	    GDA_NL_U64(msg, MR, IOVA, mem->iova) ||
	    GDA_NL_U64(msg, MR, LENGTH, mem->size))
		return -EMSGSIZE;
	return 0;
}

static int gda_nl_fill_counter(struct sk_buff *msg, const struct gda_nl_reader *reader,
			       const struct gda_object *obj)
{
	const struct gda_counter *counter = container_of(obj, struct gda_counter, obj);
	const struct gda_counter_mem *mem = gda_cell_addr(&counter->cell);

	if (nla_put_u32(msg, GDA_A_COUNTER_CONTEXT, obj->ctx->id) ||
	    nla_put_u32(msg, GDA_A_COUNTER_HANDLE, obj->handle) ||
	    GDA_NL_U64(msg, COUNTER, VALUE, READ_ONCE(mem->value)) ||
	    GDA_NL_U64(msg, COUNTER, ERRORS, READ_ONCE(mem->errors)) ||
	    nla_put_u32(msg, GDA_A_COUNTER_USERS, READ_ONCE(obj->users)))
		return -EMSGSIZE;
	return 0;
}

static const struct gda_nl_kind gda_nl_qp = {
	.cmd = GDA_CMD_QP_GET,
	.type = GDA_OBJECT_QP,
	.filter = GDA_OBJECT_FEW,
	.fill = gda_nl_fill_qp,
};

static const struct gda_nl_kind gda_nl_cq = {
	.cmd = GDA_CMD_CQ_GET,
	.type = GDA_OBJECT_CQ,
	.filter = GDA_OBJECT_FEW,
	.fill = gda_nl_fill_cq,
};

static const struct gda_nl_kind gda_nl_mr = {
	.cmd = GDA_CMD_MR_GET,
	.type = GDA_OBJECT_MR,
	.filter = XA_PRESENT,
	.fill = gda_nl_fill_mr,
};

static const struct gda_nl_kind gda_nl_counter = {
	.cmd = GDA_CMD_COUNTER_GET,
	.type = GDA_OBJECT_COUNTER,
	.filter = GDA_OBJECT_FEW,
	.fill = gda_nl_fill_counter,
};

int gda_nl_qp_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	return gda_nl_get_object(skb, info, &gda_nl_qp);
}

int gda_nl_qp_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return gda_nl_dump_objects(skb, cb, &gda_nl_qp);
}

int gda_nl_cq_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	return gda_nl_get_object(skb, info, &gda_nl_cq);
}

int gda_nl_cq_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return gda_nl_dump_objects(skb, cb, &gda_nl_cq);
}

int gda_nl_mr_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	return gda_nl_get_object(skb, info, &gda_nl_mr);
}

int gda_nl_mr_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return gda_nl_dump_objects(skb, cb, &gda_nl_mr);
}

int gda_nl_counter_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	return gda_nl_get_object(skb, info, &gda_nl_counter);
}

int gda_nl_counter_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return gda_nl_dump_objects(skb, cb, &gda_nl_counter);
}
