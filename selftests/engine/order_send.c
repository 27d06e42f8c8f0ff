// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Sends in an order that is chosen: receives are taken in the order of posting.
 */
#include "order_queues.h"

/* Two sends behind a write, of 600 bytes each, and the second's peer has a receive for both. */
static struct th_rq *open_sends(FIXTURE_DATA(order) *self)
{
	struct th_rq *rq = th_rq_new(&dom, 4, 5, false);
	struct gda_sge to, from[3];
	u32 i, k;

	open_queues(self, true);
	self->chooser.newest = true;
	self->b->q.rq = &rq->rq;
	for (i = 0; i < 2; i++) {
		to = (struct gda_sge){ 0x90000 + 1024 * i, 1024, self->r->mem.key };
		for (k = 0; k < 3; k++)
			from[k] = (struct gda_sge){
				0x10000 + 8 * i + 200 * k, 200, self->l->mem.key,
			};
		th_rq_post(rq, &to, 1);
		th_send(self->a, GDA_MLX5_CE_ALWAYS, from, 3);
	}
	set8(self->l, 0, 1);
	set8(self->l, 8, 2);
	return rq;
}

/* What takes a receive goes on only as the oldest: receives are taken in the order of posting. */
TEST_F(order, sends_pass_nothing)
{
	struct th_rq *rq = open_sends(self);

	th_imm(self->a, GDA_MLX5_CE_ALWAYS, 7, self->l, 0, self->r, 4096, 8);
	th_rdma(self->a, GDA_MLX5_WRITE, GDA_MLX5_CE_ALWAYS, self->l, 0, self->r, 8192, 8);
	th_ring(self->a);
	EXPECT_EQ(1, gda_engine_visit(&self->a->q, 1, 100));
	/* a write passes sends, where the dialect is unordered; an immediate does not */
	EXPECT_EQ(1, get8(self->r, 8192));
	EXPECT_EQ(3, cqe_index(self->a, 0));
	EXPECT_EQ(1, gda_engine_visit(&self->a->q, 1, 100));
	EXPECT_EQ(1, rq->rq.taken);
	EXPECT_EQ(0, get8(self->r, 4096));
	self->a->q.rnr_retry = 7;
	while (gda_engine_visit(&self->a->q, 1, 100) && !self->a->delays)
		;
	EXPECT_EQ(1, get8(self->r, 0));
	EXPECT_EQ(2, get8(self->r, 1024));
	EXPECT_EQ(1, get8(self->r, 4096));
	EXPECT_EQ(2, self->b->cq.producer);
	th_rq_post(rq, NULL, 0);
	th_run(self->a);
	EXPECT_EQ(4, self->a->q.executed);
	EXPECT_EQ(3, self->b->takes);
	th_rq_free(rq);
}

/* Something else fails while a send has a receive: it is given up, or goes on, and none is lost. */
TEST_F(order, a_receive_taken_by_a_queue_that_dies)
{
	u32 fatal;

	for (fatal = 0; fatal < 2; fatal++) {
		struct th_rq *rq = open_sends(self);

		if (!fatal)
			self->dialect.fatal = th_never_fatal;
		th_ring(self->a);
		EXPECT_EQ(1, gda_engine_visit(&self->a->q, 1, 100));
		EXPECT_TRUE(self->b->q.recv_open);
		th_rdma(self->a, GDA_MLX5_WRITE, 0, self->l, SIZE, self->r, 0, 8);
		th_ring(self->a);
		EXPECT_EQ(1, gda_engine_visit(&self->a->q, 1, 100));
		EXPECT_EQ(fatal, self->b->fails);
		th_run(self->a);
		th_run(self->b);
		EXPECT_EQ(fatal ? 0 : 2, self->a->q.executed);
		EXPECT_EQ(2, self->b->cq.producer);
		EXPECT_EQ(fatal ? GDA_MLX5_CQE_RESP_ERR : GDA_MLX5_CQE_RESP_SEND,
			  cqe_at(self->b, 0)[63] >> 4);
		EXPECT_FALSE(self->b->q.recv_open);
		th_rq_free(rq);
		if (!fatal)
			close_queues(self);
	}
}

/* A send that fails alone gives its receive up. */
TEST_F(order, a_send_that_fails_alone)
{
	struct th_rq *rq = open_sends(self);

	self->dialect.fatal = th_never_fatal;
	th_ring(self->a);
	EXPECT_EQ(1, gda_engine_visit(&self->a->q, 1, 100));
	self->l->mem.state = GDA_MR_REVOKED;
	EXPECT_EQ(1, gda_engine_visit(&self->a->q, 1, 100));
	EXPECT_TRUE(cqe_failed(self->a, 0));
	EXPECT_EQ(1, self->b->fails);
	EXPECT_FALSE(self->a->q.took);
	th_run(self->b);
	EXPECT_EQ(2, self->b->cq.producer);
	th_rq_free(rq);
}

TEST_HARNESS_MAIN
