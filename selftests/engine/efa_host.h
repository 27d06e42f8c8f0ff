/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Queues of the efa dialect for the engine's tests, and whom their requests may name. */
#ifndef TH_EFA_HOST_H
#define TH_EFA_HOST_H

#include <gda/efa.h>
#include "host.h"

#define DEPTH	16U
#define CQ	64U
#define AH	5U
#define NUMBER	0x77U
#define QKEY	0x11111111U
#define BACK	9U
#define ID	0x3344556677881234ULL

static int dom_a, dom_b;

/* The answer of find_target(). */
static struct {
	struct gda_engine_qp *peer;
	struct gda_status st;
} target;

static inline struct gda_status find_target(struct gda_engine_qp *q, struct gda_engine_qp **peer)
{
	const struct gda_target *to = &q->work.target;

	if (target.st.class)
		return target.st;
	if (to->handle != AH)
		return gda_status(GDA_CLASS_LOCAL, GDA_CAUSE_PEER);
	if (to->number != NUMBER)
		return gda_status(GDA_CLASS_INVALID_REQUEST, GDA_CAUSE_PEER);
	if (to->key != QKEY)
		return gda_status(GDA_CLASS_REMOTE_ACCESS, GDA_CAUSE_KEY);
	q->work.target.back = BACK;
	*peer = target.peer;
	return gda_status(GDA_CLASS_NONE, GDA_CAUSE_NONE);
}

static inline struct th_qp *open_efa(struct th_dev *dev, void *dom, const struct gda_dialect_ops *ops)
{
	/* its slots are half as long as those of the longest dialect here */
	struct th_qp *qp = th_qp_new(dev, dom, 2 * DEPTH, CQ);

	qp->q.depth = DEPTH;
	qp->q.dialect = ops;
	qp->cq.dialect = ops;
	qp->cq.consumer = NULL;
	qp->cq.wide = 1;
	qp->q.state = GDA_QP_READY;
	gda_engine_init(&qp->q);
	gda_cq_init(&qp->cq);
	return qp;
}

/* A request of one segment, or inline of @data. */
struct request {
	u64 id, raddr, laddr;
	u32 rkey, lkey, len, imm;
	u8 ctrl1;
	const u8 *data;
};

/* A write of @len bytes. */
static inline struct request request_of(const struct th_mr *l, u32 loff, const struct th_mr *m, u32 roff,
					u32 len)
{
	return (struct request){
		.id = ID, .ctrl1 = GDA_EFA_WRITE, .len = len,
		.raddr = m->mem.iova + roff, .rkey = m->mem.key,
		.laddr = l->mem.iova + loff, .lkey = l->mem.key >> GDA_EFA_LKEY_SHIFT,
	};
}

/* The entry of @bytes for lap @lap of its ring. */
static inline void encode(struct gda_efa_wide_wqe *e, u32 bytes, u32 lap, const struct request *r)
{
	memset(e, 0, bytes);
	gda_efa_set_what(&e->meta, r->id, r->ctrl1, lap, (u16)(r->data ? r->len : 1), r->imm);
	gda_efa_set_whom(&e->meta, AH, NUMBER, QKEY);
	gda_efa_set_segment(&e->remote, r->raddr, r->rkey, r->len);
	if (r->data)
		memcpy(e->data, r->data, r->len);
	else
		gda_efa_set_segment((void *)e->data, r->laddr, r->lkey, r->len);
}

/* The next completion of @qp, or NULL. */
static inline const struct gda_efa_cqe *next_cqe(struct th_qp *qp, u64 *read)
{
	const struct gda_efa_cqe *c = (const void *)(qp->cqe + (*read & (CQ - 1)) * 32);

	if ((c->flags & GDA_EFA_CQE_PHASE) == !!(*read & CQ))
		return NULL;
	++*read;
	return c;
}

static inline u64 id_of(const struct gda_efa_cqe *c)
{
	u64 id = gda_efa_le16((__force u16)c->id);
	int i;

	for (i = 0; i < 6; i++)
		id |= (u64)c->id_ex[i] << (16 + 8 * i);
	return id;
}

#endif /* TH_EFA_HOST_H */
