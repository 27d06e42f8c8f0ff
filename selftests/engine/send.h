/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A queue that sends, its peer with a receive queue, a ring or the list of an SRQ, and what the
 * completions of receives must be.
 */
#ifndef GDA_TEST_SEND_H
#define GDA_TEST_SEND_H

#include <endian.h>
#include "host.h"
#include "kselftest_harness.h"

#define SIZE	0x8000U
#define ENTRIES	16U
#define DEPTH	8U

static int dom_a, dom_b;

FIXTURE(send) {
	struct th_dev dev;
	struct th_qp *a, *b;
	struct th_qp *sink;		/* its ring takes what b is given */
	struct th_rq *rq;
	struct th_mr *l, *r;
	u64 seen;
};

FIXTURE_VARIANT(send) {
	bool linked;
};

FIXTURE_VARIANT_ADD(send, ring) { .linked = false };
FIXTURE_VARIANT_ADD(send, list) { .linked = true };

FIXTURE_SETUP(send)
{
	memset(self, 0, sizeof(*self));
	self->a = th_qp_new(&self->dev, &dom_a, 64, 0);
	self->b = th_qp_new(&self->dev, &dom_b, 64, 0);
	self->sink = th_qp_new(&self->dev, &dom_b, 1, ENTRIES);
	self->rq = th_rq_new(&dom_b, DEPTH, 6, variant->linked);
	self->b->q.qpn = 0xabcdef;
	self->b->q.user_index = 0x345;
	self->b->q.recv_cq = &self->sink->cq;
	self->b->q.rq = &self->rq->rq;
	th_qp_pair(self->a, self->b);
	self->l = th_mr_new(&self->dev, &dom_a, 0x10000, SIZE, GDA_ACCESS_ALL, 8, 24);
	self->r = th_mr_new(&self->dev, &dom_b, 0x90000, SIZE, GDA_ACCESS_LOCAL_WRITE, 7, 8);
	for (u32 i = 0; i < SIZE; i++)
		*th_mr_at(self->l, i) = (u8)(i * 2654435761U >> 13 | 1);
}

FIXTURE_TEARDOWN(send)
{
	th_mr_free(&self->dev, self->l);
	th_mr_free(&self->dev, self->r);
	th_qp_free(self->a);
	th_qp_free(self->b);
	th_qp_free(self->sink);
	th_rq_free(self->rq);
}

static struct gda_sge part(const struct th_mr *mr, u32 off, u32 len)
{
	return (struct gda_sge){ .addr = mr->mem.iova + off, .len = len, .key = mr->mem.key };
}

/* Post a receive of one segment at @off. */
static u32 receive(FIXTURE_DATA(send) *self, u32 off, u32 len)
{
	struct gda_sge sge = part(self->r, off, len);

	return th_rq_post(self->rq, &sge, 1);
}

static inline u64 post(FIXTURE_DATA(send) *self, u32 off, u32 len)
{
	struct gda_sge sge = part(self->l, off, len);
	u64 index = th_send(self->a, GDA_MLX5_CE_ALWAYS, &sge, len != 0);

	th_ring(self->a);
	return index;
}

/* The next entry of the ring, or NULL. */
static const struct gda_mlx5_cqe *next_entry(FIXTURE_DATA(send) *self)
{
	const struct gda_mlx5_cqe *cqe = (const void *)
		(self->sink->cqe + (self->seen & (ENTRIES - 1)) * 64);

	if (cqe->op_own >> 4 == GDA_MLX5_CQE_INVALID ||
	    (cqe->op_own & 1) != !!(self->seen & ENTRIES))
		return NULL;
	self->seen++;
	self->sink->consumer = gda_be32((u32)self->seen & 0xffffff);
	return cqe;
}

/* What is expected of an entry of a receive. Return: what is wrong. */
static inline u32 wrong(const struct gda_mlx5_cqe *cqe, u8 opcode, u32 index, u32 bytes, u32 imm)
{
	if (!cqe)
		return 1;
	return (cqe->op_own >> 4 != opcode) << 1 | (be16toh(cqe->wqe_counter) != index) << 2 |
	       (gda_be32_to_cpu(cqe->byte_cnt) != bytes) << 3 |
	       (gda_be32_to_cpu(cqe->imm) != imm) << 4 |
	       (gda_be32_to_cpu(cqe->srqn_uidx) != 0x345) << 5 |
	       ((gda_be32_to_cpu(cqe->sop_qpn) & 0xffffff) != 0xabcdef) << 6;
}

/* The same of one that failed: @why as the dialect says it. */
static inline u32 failed(const struct gda_mlx5_cqe *cqe, u32 index, u8 syndrome, u8 vendor)
{
	const struct gda_mlx5_err_cqe *err = (const void *)cqe;

	if (!cqe)
		return 1;
	return (cqe->op_own >> 4 != GDA_MLX5_CQE_RESP_ERR) << 1 |
	       (be16toh(cqe->wqe_counter) != index) << 2 | (err->syndrome != syndrome) << 3 |
	       (err->vendor_err_synd != vendor) << 4 | (gda_be32_to_cpu(err->srqn) != 0x345) << 5 |
	       ((gda_be32_to_cpu(err->s_wqe_opcode_qpn) & 0xffffff) != 0xabcdef) << 6;
}

static inline bool arrived(FIXTURE_DATA(send) *self, u32 roff, u32 loff, u32 len)
{
	for (u32 i = 0; i < len; i++)
		if (*th_mr_at(self->r, roff + i) != *th_mr_at(self->l, loff + i))
			return false;
	return true;
}

static bool untouched(FIXTURE_DATA(send) *self, u32 off, u32 len)
{
	for (u32 i = 0; i < len; i++)
		if (*th_mr_at(self->r, off + i))
			return false;
	return true;
}

#endif /* GDA_TEST_SEND_H */
