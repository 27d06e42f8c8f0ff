// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * WAIT: a queue sleeps until a CQ has an entry. And a doorbell that was stored to another
 * queue's. SECURITY.md S11.
 */
#include "host.h"
#include "kselftest_harness.h"

#define DEPTH	64U
#define ENTRIES	8U

static int dom;

FIXTURE(wait) {
	struct th_dev dev;
	struct th_qp *a;		/* waits */
	struct th_qp *m;		/* for the CQ of this one */
};

FIXTURE_VARIANT(wait) {
	u32 entries;			/* of that CQ; 0: collapsed */
	u32 reach;			/* how far ahead an index may be */
};

FIXTURE_VARIANT_ADD(wait, collapsed) { .reach = GDA_ENGINE_MAX_DEPTH };
FIXTURE_VARIANT_ADD(wait, ring) { .entries = ENTRIES, .reach = ENTRIES };

FIXTURE_SETUP(wait)
{
	memset(self, 0, sizeof(*self));
	self->a = th_qp_new(&self->dev, &dom, DEPTH, 0);
	self->m = th_qp_new(&self->dev, &dom, DEPTH, variant->entries);
	th_qp_pair(self->a, self->a);
	th_qp_pair(self->m, self->m);
	self->a->awaits = self->m;
}

FIXTURE_TEARDOWN(wait)
{
	th_qp_free(self->a);
	th_qp_free(self->m);
}

static u32 visit(struct th_qp *qp)
{
	return gda_engine_visit(&qp->q, 64, 1U << 16);
}

/* Complete @n more work requests of @qp. */
static void complete(struct th_qp *qp, u32 n)
{
	while (n--) {
		th_nop(qp, GDA_MLX5_CE_ALWAYS);
		th_ring(qp);
		visit(qp);
	}
}

/* Post a WAIT and a NOP behind it, and visit once. Return: whether both are done. */
static bool wait_for(struct th_qp *qp, u32 index)
{
	th_wait(qp, GDA_MLX5_CE_ALWAYS, TH_CQN, index);
	th_nop(qp, GDA_MLX5_CE_ALWAYS);
	th_ring(qp);
	visit(qp);
	return qp->q.ci == qp->next;
}

/* Nothing behind it begins before the entry is there, and the request is taken once. */
TEST_F(wait, S11_until_the_entry)
{
	u32 i;

	EXPECT_FALSE(wait_for(self->a, 2));
	/* it was taken: what stands there now is not looked at */
	memset(self->a->sq, 0xff, 64);
	for (i = 0; i < 2; i++) {
		complete(self->m, 1);
		EXPECT_EQ(1, visit(self->a));
		EXPECT_EQ(0, self->a->q.ci);
		EXPECT_EQ(0, self->a->pushes);
	}
	complete(self->m, 1);
	EXPECT_EQ(2, visit(self->a));
	EXPECT_EQ(2, self->a->q.ci);
	EXPECT_EQ(1, th_cqe_counter(self->a));
	EXPECT_EQ(4, self->a->waits);
	EXPECT_EQ(3, self->a->resumed);
	EXPECT_EQ(GDA_QP_READY, self->a->q.state);
}

/* What came before is there, however long ago; as far as 32 bits tell. */
TEST_F(wait, S11_entries_of_the_past)
{
	static const u64 made[] = { 1, 1ULL << 31, (1ULL << 32) - 1, 1ULL << 32, 5ULL << 40 };
	u32 i;

	for (i = 0; i < sizeof(made) / sizeof(made[0]); i++) {
		self->m->cq.producer = made[i];
		self->m->cq.reached = made[i];
		EXPECT_TRUE(wait_for(self->a, (u32)made[i] - 1));
		EXPECT_TRUE(wait_for(self->a, (u32)made[i] - (1U << 31)));
		EXPECT_FALSE(wait_for(self->a, (u32)made[i]));
		self->m->cq.producer++;
		self->m->cq.reached++;
		EXPECT_EQ(2, visit(self->a));
	}
	EXPECT_EQ(GDA_QP_READY, self->a->q.state);
}

/* The queue fails with this, and what is behind it is flushed. */
static bool fails(struct th_qp *qp, u8 syndrome)
{
	struct th_why why = th_why(qp, qp->q.first);

	return qp->q.state == GDA_QP_ERROR && why.syndrome == syndrome &&
	       why.vendor == GDA_MLX5_VENDOR_CQ && qp->q.ci == qp->next && qp->q.flushed == 1;
}

TEST_F(wait, S11_as_far_as_a_CQ_is_deep)
{
	complete(self->m, 3);
	EXPECT_FALSE(wait_for(self->a, 3 + variant->reach - 1));
	EXPECT_EQ(GDA_QP_READY, self->a->q.state);
}

TEST_F(wait, S11_out_of_reach)
{
	complete(self->m, 3);
	wait_for(self->a, 3 + variant->reach);
	EXPECT_TRUE(fails(self->a, GDA_MLX5_SYND_LOCAL_QP_OP));
}

TEST_F(wait, S11_foreign_CQ)
{
	self->a->awaits = NULL;
	wait_for(self->a, 0);
	EXPECT_TRUE(fails(self->a, GDA_MLX5_SYND_LOCAL_QP_OP));
}

TEST_F(wait, S11_CQ_goes)
{
	EXPECT_FALSE(wait_for(self->a, 0));
	self->a->awaits = NULL;
	visit(self->a);
	EXPECT_TRUE(fails(self->a, GDA_MLX5_SYND_LOCAL_QP_OP));
}

TEST_F(wait, S11_CQ_has_failed)
{
	complete(self->m, 2);
	self->m->cq.failed = true;
	EXPECT_TRUE(wait_for(self->a, 1));
	wait_for(self->a, 2);
	EXPECT_TRUE(fails(self->a, GDA_MLX5_SYND_LOCAL_QP_OP));
}

TEST_F(wait, S11_time_is_over)
{
	EXPECT_FALSE(wait_for(self->a, 0));
	self->a->late = true;
	visit(self->a);
	EXPECT_TRUE(fails(self->a, GDA_MLX5_SYND_RETRY_EXC));
}

/* Two that wait for each other get nowhere, and cost nobody else anything. */
TEST_F(wait, S11_cycle)
{
	struct th_qp *a = self->a, *m = self->m;
	u32 i;

	m->awaits = a;
	EXPECT_FALSE(wait_for(a, 0));
	EXPECT_FALSE(wait_for(m, 0));
	for (i = 0; i < 10; i++) {
		EXPECT_EQ(1, visit(a));
		EXPECT_EQ(1, visit(m));
	}
	EXPECT_EQ(0, a->pushes + m->pushes);
	a->late = true;
	visit(a);
	EXPECT_TRUE(fails(a, GDA_MLX5_SYND_RETRY_EXC));
	/* an entry of an error is an entry */
	EXPECT_EQ(2, visit(m));
	EXPECT_EQ(GDA_QP_READY, m->q.state);
}

TEST_F(wait, asked_to_fail)
{
	EXPECT_FALSE(wait_for(self->a, 0));
	self->a->q.fail = GDA_STATUS(GDA_CLASS_QUEUE, GDA_CAUSE_DEVICE);
	while (visit(self->a))
		;
	EXPECT_EQ(GDA_QP_ERROR, self->a->q.state);
	EXPECT_EQ(GDA_CAUSE_DEVICE, self->a->q.first.cause);
	EXPECT_EQ(2, self->a->q.ci);
}

/* BlueFlame's second buffer is a neighbour's cell: @m's entry arrives at @a's doorbell. */
TEST_F(wait, stray_doorbell_fails_its_own_queue)
{
	struct th_qp *a = self->a, *m = self->m;

	m->q.qpn = TH_QPN + 1;
	a->neighbour = m;
	complete(a, 3);
	/* both published by their records; what @a rang itself is gone */
	th_nop(a, GDA_MLX5_CE_ALWAYS);
	th_ring_rec(a, a->next);
	th_nop(m, GDA_MLX5_CE_ALWAYS);
	a->db = gda_mlx5_doorbell(17, m->q.qpn);
	EXPECT_TRUE(gda_engine_pending(&a->q));
	EXPECT_EQ(1, visit(a));
	EXPECT_EQ(0, visit(a));
	EXPECT_EQ(1, a->strays);
	EXPECT_FALSE(gda_engine_pending(&a->q));
	EXPECT_EQ(GDA_QP_READY, a->q.state);
	while (visit(m))
		;
	EXPECT_EQ(GDA_QP_ERROR, m->q.state);
	EXPECT_EQ(GDA_CAUSE_DOORBELL, m->q.first.cause);
	/* and @a rings again, with the index that the stray had, too */
	complete(a, 20);
	EXPECT_EQ(24, a->q.ci);
	EXPECT_EQ(1, a->strays);
}

/* A number that is nobody's is no excuse: the index counts, as before. */
TEST_F(wait, stray_of_nobody)
{
	self->a->db = gda_mlx5_doorbell(DEPTH + 1, 0xabcde);
	visit(self->a);
	EXPECT_EQ(GDA_QP_ERROR, self->a->q.state);
	EXPECT_EQ(GDA_CAUSE_DOORBELL, self->a->q.first.cause);
}

TEST_HARNESS_MAIN
