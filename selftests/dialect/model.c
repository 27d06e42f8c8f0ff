// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A dialect is one table: the engine executes queues of one that it was never written for
 * (phase.h), against a flat model; a peer of another dialect gets its completions in its own
 * bytes; and a queue lives on where its dialect says so.
 */
#include "host.h"
#include "phase.h"
#include "kselftest_harness.h"

#define SIZE	8192U
#define DEPTH	64U
#define ROUNDS	20000

static int dom_a, dom_b;

FIXTURE(phase) {
	struct th_dev dev;
	struct th_rand r;
	struct th_qp *a, *b;
	struct th_mr *l, *m;
	u8 flat[2][SIZE];
};

static struct th_qp *open_phase(struct th_dev *dev, void *dom, u32 cq_depth)
{
	struct th_qp *qp = th_qp_new(dev, dom, DEPTH, cq_depth);

	qp->q.dialect = gda_dialect_find(PH_ID);
	qp->cq.dialect = qp->q.dialect;
	gda_engine_init(&qp->q);
	gda_cq_init(&qp->cq);
	return qp;
}

FIXTURE_SETUP(phase)
{
	memset(self, 0, sizeof(*self));
	self->r.s = 1;
	self->a = open_phase(&self->dev, &dom_a, DEPTH);
	self->b = open_phase(&self->dev, &dom_b, DEPTH);
	th_qp_pair(self->a, self->b);
	self->l = th_mr_new(&self->dev, &dom_a, 0x10000, SIZE, GDA_ACCESS_ALL, 12, 0);
	self->m = th_mr_new(&self->dev, &dom_b, 0x90000, SIZE, GDA_ACCESS_ALL, 9, 0);
}

FIXTURE_TEARDOWN(phase)
{
	th_mr_free(&self->dev, self->l);
	th_mr_free(&self->dev, self->m);
	th_qp_free(self->a);
	th_qp_free(self->b);
}

static void *slot_of(struct th_qp *qp, u64 index)
{
	return qp->sq + (index & (DEPTH - 1)) * PH_SLOT;
}

/* Post @e, and what follows its first slot. Return: its index. */
static u64 post(struct th_qp *qp, struct ph_entry e, const void *more, u32 len)
{
	u64 index = qp->next;
	u32 i;

	e.slots = (u8)(1 + (len + PH_SLOT - 1) / PH_SLOT);
	e.flags |= index & DEPTH ? 0 : PH_PHASE;
	memcpy(slot_of(qp, index), &e, sizeof(e));
	for (i = 0; i < len; i++)
		((u8 *)slot_of(qp, index + 1 + i / PH_SLOT))[i % PH_SLOT] = ((const u8 *)more)[i];
	qp->next += e.slots;
	return index;
}

static void ring(struct th_qp *qp)
{
	__atomic_store_n((u64 *)&qp->db, qp->next, __ATOMIC_RELEASE);
	th_run(qp);
}

static const struct ph_cqe *cqe_of(const struct th_qp *qp, u64 n)
{
	return (const struct ph_cqe *)qp->cqe + (n & (DEPTH - 1));
}

/* Is entry @n of the ring there, of this kind? Then it is consumed. */
static bool completed(struct th_qp *qp, u64 n, u32 kind, u64 index)
{
	u32 last = __atomic_load_n(&cqe_of(qp, n)->last, __ATOMIC_ACQUIRE);

	qp->consumer = (__be32)(u32)(n + 1);
	return last >> 31 == !(n & DEPTH) && (last >> 29 & 3) == kind &&
	       (u16)last == (u16)index && cqe_of(qp, n)->index == index;
}

/* One work request, and the same in the model. Return: its index. */
static u64 step(FIXTURE_DATA(phase) *self)
{
	u32 len = 1 + th_below(&self->r, 600), roff = th_below(&self->r, SIZE - len);
	u32 loff = th_below(&self->r, SIZE - len);
	struct ph_entry e = {
		.flags = PH_SIGNALED, .len = len,
		.raddr = self->m->mem.iova + roff, .rkey = self->m->mem.key,
		.laddr = self->l->mem.iova + loff, .lkey = self->l->mem.key,
	};
	u64 operands[2] = { th_rand(&self->r), 0 }, old;
	u8 data[600];

	switch (th_below(&self->r, 4)) {
	case 0:
		e.op = GDA_OP_WRITE;
		memcpy(self->flat[1] + roff, self->flat[0] + loff, len);
		return post(self->a, e, NULL, 0);
	case 1:
		e.op = GDA_OP_READ;
		memcpy(self->flat[0] + loff, self->flat[1] + roff, len);
		return post(self->a, e, NULL, 0);
	case 2:
		e.op = GDA_OP_WRITE;
		e.flags |= PH_INLINE;
		for (u32 i = 0; i < len; i++)
			data[i] = (u8)th_rand(&self->r);
		memcpy(self->flat[1] + roff, data, len);
		return post(self->a, e, data, len);
	default:
		e.op = GDA_OP_FETCH_ADD;
		e.len = sizeof(u64);
		roff = 8 * th_below(&self->r, SIZE / 8);
		e.raddr = self->m->mem.iova + roff;
		loff = 8 * th_below(&self->r, SIZE / 8);
		e.laddr = self->l->mem.iova + loff;
		memcpy(&old, self->flat[1] + roff, sizeof(old));
		memcpy(self->flat[0] + loff, &old, sizeof(old));
		old += operands[0];
		memcpy(self->flat[1] + roff, &old, sizeof(old));
		return post(self->a, e, operands, sizeof(operands));
	}
}

TEST_F(phase, random_model)
{
	u8 now[SIZE];
	u32 i;

	for (i = 0; i < ROUNDS; i++) {
		u64 index = step(self);

		ring(self->a);
		ASSERT_TRUE(completed(self->a, i, GDA_COMPLETION_DONE, index));
		ASSERT_EQ(GDA_QP_READY, self->a->q.state);
	}
	th_mr_get(self->l, 0, now, SIZE);
	EXPECT_EQ(0, memcmp(now, self->flat[0], SIZE));
	th_mr_get(self->m, 0, now, SIZE);
	EXPECT_EQ(0, memcmp(now, self->flat[1], SIZE));
}

/* A refused request fails alone; a malformed entry is the end of the queue. */
TEST_F(phase, a_queue_survives_a_refusal)
{
	struct ph_entry bad = {
		.op = GDA_OP_WRITE, .flags = PH_SIGNALED, .len = 8, .raddr = 1, .rkey = 1,
		.laddr = self->l->mem.iova, .lkey = self->l->mem.key,
	};
	const struct ph_entry nop = { .op = GDA_OP_NOP, .flags = PH_SIGNALED };
	u64 index[4];

	index[0] = post(self->a, bad, NULL, 0);
	index[1] = post(self->a, nop, NULL, 0);
	ring(self->a);
	EXPECT_EQ(GDA_QP_READY, self->a->q.state);
	EXPECT_TRUE(completed(self->a, 0, GDA_COMPLETION_ERROR, index[0]));
	EXPECT_EQ(GDA_CLASS_REMOTE_ACCESS, cqe_of(self->a, 0)->last >> 24 & 31);
	EXPECT_EQ(GDA_CAUSE_KEY, cqe_of(self->a, 0)->last >> 16 & 255);
	EXPECT_TRUE(completed(self->a, 1, GDA_COMPLETION_DONE, index[1]));
	EXPECT_EQ(0, cqe_of(self->a, 1)->last >> 16 & 0x1fff);

	bad.op = 0xff;
	index[2] = post(self->a, bad, NULL, 0);
	index[3] = post(self->a, nop, NULL, 0);
	ring(self->a);
	EXPECT_EQ(GDA_QP_ERROR, self->a->q.state);
	EXPECT_TRUE(completed(self->a, 2, GDA_COMPLETION_ERROR, index[2]));
	EXPECT_EQ(GDA_CAUSE_OPCODE, cqe_of(self->a, 2)->last >> 16 & 255);
	EXPECT_TRUE(completed(self->a, 3, GDA_COMPLETION_ERROR, index[3]));
	EXPECT_EQ(GDA_CLASS_FLUSH, cqe_of(self->a, 3)->last >> 24 & 31);
}

/* An entry of the lap before is not this lap's, and a doorbell beyond the ring is none. */
TEST_F(phase, S1_S2_stale_entry_and_illegal_doorbell)
{
	const struct ph_entry nop = { .op = GDA_OP_NOP };
	u32 i;

	for (i = 0; i < DEPTH; i++)
		post(self->a, nop, NULL, 0);
	ring(self->a);
	EXPECT_EQ(GDA_QP_READY, self->a->q.state);
	self->a->next++;
	ring(self->a);
	EXPECT_EQ(GDA_QP_ERROR, self->a->q.state);
	EXPECT_EQ(GDA_CAUSE_INDEX, self->a->q.first.cause);
	self->b->next = DEPTH + 1;
	ring(self->b);
	EXPECT_EQ(GDA_QP_ERROR, self->b->q.state);
	EXPECT_EQ(GDA_CAUSE_DOORBELL, self->b->q.first.cause);
}

/* The CQ of a peer of another dialect has that dialect's bytes. */
TEST_F(phase, an_immediate_is_written_in_the_bytes_of_its_reader)
{
	struct th_qp *peer = th_qp_new(&self->dev, &dom_b, DEPTH, DEPTH);
	const struct ph_entry e = { .op = GDA_OP_WRITE_IMM, .flags = PH_SIGNALED };
	const u64 imm = 0x12345678;
	u64 index = post(self->a, e, &imm, sizeof(imm));

	peer->q.recv_cq = &peer->cq;
	th_qp_pair(self->a, peer);
	ring(self->a);
	EXPECT_TRUE(completed(self->a, 0, GDA_COMPLETION_DONE, index));
	EXPECT_EQ(GDA_MLX5_CQE_RESP_IMM, th_cqe_opcode(peer));
	EXPECT_EQ(imm, gda_be32_to_cpu(th_cqe(peer)->imm));
	EXPECT_EQ(GDA_MLX5_WRITE_IMM, gda_be32_to_cpu(th_cqe(peer)->sop_qpn) >> 24);
	th_qp_free(peer);
}

TEST_HARNESS_MAIN
