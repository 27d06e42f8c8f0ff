// SPDX-License-Identifier: GPL-2.0
/*
 * Entries of send queues that have no outcome, as netlink shows them: decoded by the queue's own
 * dialect, from memory to which its owner may write meanwhile.
 *
 * Nothing is kept of an entry, and nothing is changed: the dialect decodes a copy of the engine's
 * queue (as struct gda_flight has one) that is positioned at the slot.
 *
 * A poster writes a slot again when it has seen the outcome of what was there. So an entry that
 * was read is shown only if the executor had not passed it afterwards. An outcome may be seen a
 * moment before the executor passes the slot; an entry of that moment may be shown as refused.
 */
#include <linux/sched/signal.h>

#include "nl.h"

#define GDA_NL_WQE_U64(msg, attr, value)	\
	nla_put_u64_64bit(msg, GDA_A_WQE_##attr, value, GDA_A_WQE_PAD)

/* In cb->ctx. */
struct gda_nl_wqe_dump {
	struct gda_nl_asker asker;
	u64 next;			/* slot */
	u64 end;			/* the ring's, when the dump began */
	bool begun;
};

static_assert(sizeof(struct gda_nl_wqe_dump) <= sizeof_field(struct netlink_callback, ctx));

u64 gda_nl_rung(const struct gda_qp *qp)
{
	const struct gda_engine_qp *q = &qp->engine_qp;
	u64 consumer = READ_ONCE(q->ci);
	struct gda_ring_scan scan = { };

	if (gda_qp_readable(qp))
		q->dialect->published(q, &scan);
	return READ_ONCE(q->ci) == consumer ? max(consumer + scan.ahead, READ_ONCE(q->pi)) :
					      READ_ONCE(q->pi);
}

/* Position @front at slot @index. Return: false if there is nothing to read. */
static bool gda_nl_stand(const struct gda_qp *qp, u64 index, struct gda_engine_qp *front)
{
	const struct gda_engine_qp *q = &qp->engine_qp;

	*front = (struct gda_engine_qp) {
		.dialect = q->dialect,
		.sq = READ_ONCE(q->sq),
		.depth = q->depth,
		.qpn = q->qpn,
		.max_sge = q->max_sge,
		.sends = q->sends,
		.ci = index,
	};
	return front->sq && gda_qp_readable(qp);
}

/*
 * Decode the entry at @front, in a queue whose slots end at @end. An entry that reaches further is
 * refused, as by the executor. Return: false if the executor has passed the entry.
 */
static bool gda_nl_decode(const struct gda_qp *qp, struct gda_engine_qp *front, u64 end,
			  struct gda_status *st)
{
	*st = front->dialect->decode(front, (u32)(end - front->ci), &front->work);
	/* first read the entry, then check that it was not passed: see above */
	smp_rmb();
	return READ_ONCE(qp->engine_qp.ci) <= front->ci;
}

u32 gda_nl_written(const struct gda_qp *qp, u64 index)
{
	u64 end = READ_ONCE(qp->engine_qp.ci) + qp->engine_qp.depth;
	struct gda_engine_qp front;
	struct gda_status st;
	u32 n;

	if (!gda_nl_stand(qp, index, &front))
		return 0;
	for (n = 0; n < GDA_NL_BATCH && front.ci < end; n++) {
		st = front.dialect->decode(&front, (u32)(end - front.ci), &front.work);
		if (st.class)
			break;
		front.ci += front.work.slots;
	}
	return n;
}

/* The attributes of the entry at @front, which was decoded with status @st. */
static int gda_nl_put_entry(struct sk_buff *msg, const struct gda_qp *qp,
			    const struct gda_engine_qp *front, struct gda_status st, bool rung)
{
	struct gda_record r = { };

	/* of an entry that is refused only the opcode is known */
	r.opcode = front->work.opcode;
	if (!st.class)
		gda_engine_describe(&front->work, &r);
	if (nla_put_u32(msg, GDA_A_WQE_CONTEXT, qp->obj.ctx->id) ||
	    nla_put_u32(msg, GDA_A_WQE_HANDLE, qp->obj.handle) ||
	    GDA_NL_WQE_U64(msg, INDEX, front->ci) ||
	    (rung && nla_put_flag(msg, GDA_A_WQE_RUNG)) ||
	    nla_put_u32(msg, GDA_A_WQE_SLOTS, front->work.slots) ||
	    nla_put_u32(msg, GDA_A_WQE_OPCODE, r.opcode))
		return -EMSGSIZE;
	if (st.class)
		return nla_put_u32(msg, GDA_A_WQE_CLASS, st.class) ||
		       nla_put_u32(msg, GDA_A_WQE_CAUSE, st.cause) ? -EMSGSIZE : 0;
	if (nla_put_u32(msg, GDA_A_WQE_LENGTH, r.len) ||
	    (r.rkey && (GDA_NL_WQE_U64(msg, RADDR, r.raddr) ||
			nla_put_u32(msg, GDA_A_WQE_RKEY, r.rkey))) ||
	    (r.lkey && (GDA_NL_WQE_U64(msg, LADDR, r.laddr) ||
			nla_put_u32(msg, GDA_A_WQE_LKEY, r.lkey))))
		return -EMSGSIZE;
	return 0;
}

/* Under gda_read_lock(). */
static const struct gda_qp *gda_nl_find_qp(const struct gda_nl_reader *reader, u32 context,
					   u32 handle)
{
	struct gda_ctx *ctx = gda_nl_find_live(reader, context);
	const struct gda_object *obj = ctx ? xa_load(&ctx->objects, handle) : NULL;

	/* pairs with smp_store_release in gda_object_publish() */
	if (!obj || obj->type != GDA_OBJECT_QP || !smp_load_acquire(&obj->published))
		return NULL;
	return container_of(obj, struct gda_qp, obj);
}

/* --- one entry --- */

struct gda_nl_wqe_arg {
	struct genl_info *info;
	const struct gda_nl_reader *reader;
};

/* Under gda_read_lock(). */
static int gda_nl_fill_at(struct sk_buff *msg, const struct gda_qp *qp, u64 index)
{
	u64 consumer = READ_ONCE(qp->engine_qp.ci), end = consumer + qp->engine_qp.depth;
	u64 rung = gda_nl_rung(qp);
	struct gda_engine_qp front;
	struct gda_status st;

	if (index < consumer || index >= end || !gda_nl_stand(qp, index, &front))
		return -ENOENT;
	if (!gda_nl_decode(qp, &front, rung > index ? rung : end, &st) ||
	    (st.class && index >= rung))
		return -ENOENT;
	return gda_nl_put_entry(msg, qp, &front, st, index < rung);
}

static int gda_nl_fill_wqe(struct sk_buff *msg, const void *arg)
{
	const struct gda_nl_wqe_arg *a = arg;
	struct nlattr **attrs = a->info->attrs;
	int idx = gda_read_lock();
	const struct gda_qp *qp = gda_nl_find_qp(a->reader, nla_get_u32(attrs[GDA_A_WQE_CONTEXT]),
						 nla_get_u32(attrs[GDA_A_WQE_HANDLE]));
	int ret = qp ? gda_nl_fill_at(msg, qp, nla_get_u64(attrs[GDA_A_WQE_INDEX])) : -ENOENT;

	gda_read_unlock(idx);
	if (ret == -ENOENT)
		GENL_SET_ERR_MSG(a->info, "no such entry without an outcome, or another user's QP");
	return ret;
}

int gda_nl_wqe_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct gda_nl_reader reader;
	const struct gda_nl_wqe_arg arg = { info, &reader };

	if (GENL_REQ_ATTR_CHECK(info, GDA_A_WQE_CONTEXT) ||
	    GENL_REQ_ATTR_CHECK(info, GDA_A_WQE_HANDLE) ||
	    GENL_REQ_ATTR_CHECK(info, GDA_A_WQE_INDEX))
		return -EINVAL;
	gda_nl_reader_init(&reader, skb);
	return gda_nl_reply(info, GDA_CMD_WQE_GET, gda_nl_fill_wqe, &arg);
}

/* --- all of a queue --- */

static int gda_nl_put_wqe(struct sk_buff *skb, struct netlink_callback *cb,
			  const struct gda_qp *qp, const struct gda_engine_qp *front,
			  struct gda_status st, bool rung)
{
	void *header = genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
				   &gda_nl_family, NLM_F_MULTI, GDA_CMD_WQE_GET);

	if (!header)
		return -EMSGSIZE;
	genl_dump_check_consistent(cb, header);
	if (gda_nl_put_entry(skb, qp, front, st, rung)) {
		genlmsg_cancel(skb, header);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, header);
	return 0;
}

/* Put one entry. Return: 1 go on; 0 there is no more; -EMSGSIZE. */
static int gda_nl_wqe_step(struct sk_buff *skb, struct netlink_callback *cb,
			   struct gda_nl_wqe_dump *dump, const struct gda_qp *qp, u64 rung)
{
	u64 end = rung > dump->next ? rung : dump->end;
	struct gda_engine_qp front;
	struct gda_status st;
	int ret;

	if (dump->next >= dump->end || !gda_nl_stand(qp, dump->next, &front))
		return 0;
	if (!gda_nl_decode(qp, &front, end, &st)) {
		dump->next = READ_ONCE(qp->engine_qp.ci);
		return 1;
	}
	if (st.class && dump->next >= rung)
		return 0;
	ret = gda_nl_put_wqe(skb, cb, qp, &front, st, dump->next < rung);
	if (ret)
		return ret;
	dump->next += front.work.slots;
	return 1;
}

/* Put up to GDA_NL_BATCH entries. Under gda_read_lock(). */
static int gda_nl_wqe_batch(struct sk_buff *skb, struct netlink_callback *cb,
			    const struct gda_nl_reader *reader, struct gda_nl_wqe_dump *dump)
{
	struct nlattr **attrs = gda_dump_attrs(cb);
	const struct gda_qp *qp = gda_nl_find_qp(reader, nla_get_u32(attrs[GDA_A_WQE_CONTEXT]),
						 nla_get_u32(attrs[GDA_A_WQE_HANDLE]));
	u64 consumer, rung;
	unsigned int n;
	int ret = 1;

	if (!qp) {
		cb->seq++;
		return dump->begun ? 0 : -ENOENT;
	}
	consumer = READ_ONCE(qp->engine_qp.ci);
	if (!dump->begun) {
		dump->begun = true;
		dump->next = consumer;
		dump->end = consumer + qp->engine_qp.depth;
	}
	cb->seq = (u32)consumer + 1 ?: 1;
	dump->next = max(dump->next, consumer);
	rung = gda_nl_rung(qp);
	for (n = 0; n < GDA_NL_BATCH && ret > 0; n++)
		ret = gda_nl_wqe_step(skb, cb, dump, qp, rung);
	return ret;
}

int gda_nl_wqe_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct gda_nl_wqe_dump *dump = (struct gda_nl_wqe_dump *)cb->ctx;
	struct nlattr **attrs = gda_dump_attrs(cb);
	struct gda_nl_reader reader;
	int ret;

	if (!attrs[GDA_A_WQE_CONTEXT] || !attrs[GDA_A_WQE_HANDLE] || attrs[GDA_A_WQE_INDEX])
		return -EINVAL;
	gda_nl_reader_of_dump(&reader, cb->skb, &dump->asker);
	do {
		int idx = gda_read_lock();

		ret = gda_nl_wqe_batch(skb, cb, &reader, dump);
		gda_read_unlock(idx);
		cond_resched();
		if (fatal_signal_pending(current))
			return -EINTR;
	} while (ret > 0);
	return ret && !skb->len ? ret : skb->len;
}
