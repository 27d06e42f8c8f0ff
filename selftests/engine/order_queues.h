/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A queue that is visited through order.c, whose order the test chooses, and its peer.
 */
#ifndef GDA_TEST_ORDER_QUEUES_H
#define GDA_TEST_ORDER_QUEUES_H

#include "host.h"
#include "kselftest_harness.h"

#define DEPTH		128U
#define CQ_DEPTH	128U
#define SIZE		0x4000U

static int dom;

struct chooser {
	struct th_rand r;
	bool newest;			/* not at random */
	u64 chosen;			/* choices between several */
};

static inline u32 choose(struct gda_order *o, u32 n)
{
	struct chooser *c = o->arg;

	c->chosen++;
	return c->newest ? n - 1 : th_below(&c->r, n);
}

FIXTURE(order) {
	struct th_dev dev;
	struct th_qp *a, *b;
	struct th_mr *l, *r;
	struct gda_dialect_ops dialect;
	struct gda_order order;
	struct chooser chooser;
};

static inline void open_queues(FIXTURE_DATA(order) *self, bool unordered)
{
	self->a = th_qp_new(&self->dev, &dom, DEPTH, CQ_DEPTH);
	self->b = th_qp_new(&self->dev, &dom, DEPTH, CQ_DEPTH);
	self->dialect = gda_dialect_mlx5;
	self->dialect.unordered = unordered;
	free(self->a->q.order);
	self->order.choose = choose;
	self->order.arg = &self->chooser;
	self->a->q.order = &self->order;
	self->a->q.dialect = &self->dialect;
	self->a->q.recv_cq = NULL;
	self->b->q.recv_cq = &self->b->cq;
	gda_engine_init(&self->a->q);
	th_qp_pair(self->a, self->b);
}

static inline void close_queues(FIXTURE_DATA(order) *self)
{
	self->a->q.order = NULL;
	th_qp_free(self->a);
	th_qp_free(self->b);
}

FIXTURE_SETUP(order)
{
	memset(self, 0, sizeof(*self));
	self->l = th_mr_new(&self->dev, &dom, 0x10000, SIZE, GDA_ACCESS_ALL, 12, 0);
	self->r = th_mr_new(&self->dev, &dom, 0x90000, SIZE, GDA_ACCESS_ALL, 12, 0);
	self->chooser.r.s = 20261127;
}

FIXTURE_TEARDOWN(order)
{
	close_queues(self);
	th_mr_free(&self->dev, self->l);
	th_mr_free(&self->dev, self->r);
}

/* Of entry @n of the ring: its index, and its opcode in the dialect. */
static inline u32 cqe_index(const struct th_qp *qp, u64 n)
{
	const u8 *cqe = qp->cqe + n % CQ_DEPTH * 64;

	return (u32)(cqe[60] << 8 | cqe[61]);
}

static inline const u8 *cqe_at(const struct th_qp *qp, u64 n)
{
	return qp->cqe + n % CQ_DEPTH * 64;
}

static inline bool cqe_failed(const struct th_qp *qp, u64 n)
{
	return cqe_at(qp, n)[63] >> 4 == GDA_MLX5_CQE_REQ_ERR;
}

static inline u64 get8(const struct th_mr *mr, u64 off)
{
	u64 v;

	th_mr_get(mr, off, &v, sizeof(v));
	return v;
}

static inline void set8(struct th_mr *mr, u64 off, u64 v)
{
	th_mr_put(mr, off, &v, sizeof(v));
}

static inline void fence(struct th_qp *qp, u64 index)
{
	th_ctrl(qp, index)->fm_ce_se |= GDA_MLX5_FM_MASK;
}

#endif /* GDA_TEST_ORDER_QUEUES_H */
