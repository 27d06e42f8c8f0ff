// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Work in flight, step by step: outcomes that leave as they come, errors that a queue survives,
 * doorbells beyond what has left, work that the engine carries out itself, and immediates that
 * arrive. flight.c has random schedules of the rest.
 */
#include "flight.h"
#include "host.h"
#include "kselftest_harness.h"

#define DEPTH		64U
#define CQ_DEPTH	64U

static int dom;

FIXTURE(flight) {
	struct th_dev dev;
	struct th_qp *a, *b;
	struct th_mr *l, *r;
	struct gda_dialect_ops dialect;
	struct gda_flight f;
	struct gda_flight_request requests[8];
};

FIXTURE_SETUP(flight)
{
	memset(self, 0, sizeof(*self));
	self->a = th_qp_new(&self->dev, &dom, DEPTH, CQ_DEPTH);
	self->b = th_qp_new(&self->dev, &dom, DEPTH, CQ_DEPTH);
	th_qp_pair(self->a, self->b);
	self->l = th_mr_new(&self->dev, &dom, 0x10000, 0x4000, GDA_ACCESS_ALL, 12, 0);
	self->r = th_mr_new(&self->dev, &dom, 0x90000, 0x4000, GDA_ACCESS_ALL, 12, 0);
	self->dialect = gda_dialect_mlx5;
	self->dialect.unordered = true;
	gda_flight_init(&self->f, &self->a->q, self->requests, 8);
}

FIXTURE_TEARDOWN(flight)
{
	th_mr_free(&self->dev, self->l);
	th_mr_free(&self->dev, self->r);
	th_qp_free(self->a);
	th_qp_free(self->b);
}

static const struct gda_status ok = { GDA_CLASS_NONE, GDA_CAUSE_NONE };
static const struct gda_status refused = { GDA_CLASS_REMOTE_ACCESS, GDA_CAUSE_KEY };

/* Post and begin @n NOPs, which are signaled. */
static void begin_nops(struct __test_metadata *_metadata, FIXTURE_DATA(flight) *self, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++)
		th_nop(self->a, GDA_MLX5_CE_ALWAYS);
	th_ring(self->a);
	for (i = 0; i < n; i++) {
		ASSERT_NE(NULL, gda_flight_next(&self->f));
		gda_flight_begin(&self->f);
	}
}

/* The index of entry @n of the ring, and whether it is an error's. */
static u32 entry(const struct th_qp *qp, u32 n)
{
	const u8 *cqe = qp->cqe + n * 64;

	return (u32)(cqe[60] << 8 | cqe[61]) | (cqe[63] >> 4 == GDA_MLX5_CQE_REQ_ERR) << 16;
}

#define FAILED 0x10000U

/* A dialect may have outcomes leave as they come; the consumer index moves without gaps. */
TEST_F(flight, unordered)
{
	struct gda_engine_qp *q = &self->a->q;

	q->dialect = &self->dialect;
	begin_nops(_metadata, self, 5);
	gda_flight_done(&self->f, 3, ok);
	gda_flight_done(&self->f, 1, ok);
	EXPECT_TRUE(gda_flight_pending(&self->f));
	EXPECT_EQ(2, gda_flight_retire(&self->f, 64));
	EXPECT_EQ(1, entry(self->a, 0));
	EXPECT_EQ(3, entry(self->a, 1));
	EXPECT_EQ(0, q->ci);
	EXPECT_FALSE(gda_flight_pending(&self->f));
	gda_flight_done(&self->f, 1, refused);
	gda_flight_done(&self->f, 0, ok);
	EXPECT_EQ(1, gda_flight_retire(&self->f, 64));
	EXPECT_EQ(0, entry(self->a, 2));
	EXPECT_EQ(2, q->ci);
	/* the first error that leaves is the first; all others are flushed */
	gda_flight_done(&self->f, 4, refused);
	EXPECT_EQ(1, gda_flight_retire(&self->f, 64));
	EXPECT_EQ(4 | FAILED, entry(self->a, 3));
	EXPECT_EQ(4, q->first_error);
	EXPECT_EQ(GDA_CAUSE_KEY, q->first.cause);
	EXPECT_EQ(2, q->ci);
	gda_flight_done(&self->f, 2, ok);
	EXPECT_EQ(1, gda_flight_retire(&self->f, 64));
	EXPECT_EQ(2 | FAILED, entry(self->a, 4));
	EXPECT_EQ(1, q->flushed);
	EXPECT_EQ(5, q->ci);
	EXPECT_EQ(5, self->a->cq.producer);
}

/* Where an error is the request's alone, the queue goes on. */
TEST_F(flight, not_fatal)
{
	self->dialect.unordered = false;
	self->dialect.fatal = th_never_fatal;
	self->a->q.dialect = &self->dialect;
	begin_nops(_metadata, self, 2);
	gda_flight_done(&self->f, 0, refused);
	gda_flight_done(&self->f, 1, ok);
	EXPECT_FALSE(gda_flight_stopped(&self->f));
	EXPECT_EQ(2, gda_flight_retire(&self->f, 64));
	EXPECT_EQ(0 | FAILED, entry(self->a, 0));
	EXPECT_EQ(1, entry(self->a, 1));
	EXPECT_EQ(GDA_QP_READY, self->a->q.state);
	/* but what is flushed without a reason is the peer's end */
	begin_nops(_metadata, self, 1);
	gda_flight_done(&self->f, 2, gda_status(GDA_CLASS_FLUSH, GDA_CAUSE_NONE));
	EXPECT_EQ(1, gda_flight_retire(&self->f, 64));
	EXPECT_EQ(GDA_QP_ERROR, self->a->q.state);
	EXPECT_EQ(GDA_CLASS_RETRY, self->a->q.first.class);
	EXPECT_EQ(GDA_CAUSE_PEER, self->a->q.first.cause);
}

/* A slot whose outcome has not left is not the producer's to use again. */
TEST_F(flight, S2_doorbell_beyond_what_left)
{
	begin_nops(_metadata, self, 8);
	gda_flight_done(&self->f, 0, ok);
	EXPECT_EQ(1, gda_flight_retire(&self->f, 64));
	th_ring_db(self->a, 8 + DEPTH);
	EXPECT_EQ(NULL, gda_flight_next(&self->f));
	EXPECT_TRUE(gda_flight_stopped(&self->f));
	EXPECT_EQ(0, gda_flight_retire(&self->f, 64));
	EXPECT_EQ(GDA_QP_READY, self->a->q.state);
	gda_flight_done_through(&self->f, 7);
	/* and then it is a doorbell as any other, of a queue that has failed */
	EXPECT_EQ(64, gda_flight_retire(&self->f, 64));
	EXPECT_EQ(8, self->a->q.executed);
	EXPECT_EQ(8, self->a->q.first_error);
	EXPECT_EQ(GDA_CAUSE_DOORBELL, self->a->q.first.cause);
}

/* The engine carries out what needs nobody else, between two things in flight. */
TEST_F(flight, by_engine)
{
	u64 index = th_rdma(self->a, GDA_MLX5_WRITE, GDA_MLX5_CE_ALWAYS, self->l, 0, self->r, 0,
			    0x4000);

	th_nop(self->a, GDA_MLX5_CE_ALWAYS);
	memset(self->l->pages[3], 0x42, 4096);
	th_ring(self->a);
	ASSERT_NE(NULL, gda_flight_next(&self->f));
	EXPECT_EQ(1, gda_flight_by_engine(&self->f, 0x3000));
	EXPECT_TRUE(th_busy(self->a));
	EXPECT_EQ(index, self->a->q.ci);
	EXPECT_EQ(1, gda_flight_by_engine(&self->f, 0x3000));
	EXPECT_FALSE(th_busy(self->a));
	EXPECT_EQ(0x42, *th_mr_at(self->r, 0x3fff));
	EXPECT_EQ(0, entry(self->a, 0));
	ASSERT_NE(NULL, gda_flight_next(&self->f));
	EXPECT_EQ(0, gda_flight_begin(&self->f));
	EXPECT_EQ(0, gda_flight_by_engine(&self->f, 0x3000));
	gda_flight_done(&self->f, 0, ok);
	EXPECT_EQ(1, gda_flight_retire(&self->f, 64));
	EXPECT_EQ(1, entry(self->a, 1));
	EXPECT_EQ(2, self->a->q.executed);
}

/* Immediates from the peer: with room or without, whatever becomes of the send queue. */
TEST_F(flight, arrivals)
{
	struct gda_engine_qp *q = &self->a->q;

	EXPECT_TRUE(gda_flight_arrived(&self->f, 1, 8, false));
	EXPECT_EQ(1, self->a->recv.value);
	q->recv_cq = &self->b->cq;
	self->b->cq.depth = 2;
	EXPECT_TRUE(gda_flight_arrived(&self->f, 0x1234, 8, true));
	EXPECT_EQ(1, self->b->events);
	gda_flight_abandon(&self->f, refused);
	gda_flight_retire(&self->f, 64);
	EXPECT_EQ(GDA_QP_ERROR, q->state);
	EXPECT_TRUE(gda_flight_arrived(&self->f, 0x1235, 8, false));
	EXPECT_FALSE(gda_flight_arrived(&self->f, 0x1236, 8, false));
	EXPECT_FALSE(self->b->cq.failed);
	EXPECT_EQ(3, self->a->recv.value);
	self->b->consumer = gda_be32(1);
	EXPECT_TRUE(gda_flight_arrived(&self->f, 0x1236, 8, false));
	EXPECT_EQ(4, self->a->recv.value);
	EXPECT_EQ(GDA_MLX5_CQE_RESP_IMM, self->b->cqe[63] >> 4);
	EXPECT_EQ(0x36, self->b->cqe[39]);
}

TEST_HARNESS_MAIN
