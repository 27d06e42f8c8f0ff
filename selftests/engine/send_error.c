// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Sends that a receive of the peer cannot take, or that end half way: who is told what.
 */
#include "send.h"

/* Nothing is posted: by the peer's delay, as often as rnr_retry says, or for ever. */
TEST_F(send, X6_rnr_without_a_receive)
{
	u32 i;

	self->a->q.rnr_retry = 3;
	self->b->q.min_rnr_timer = 12;
	for (i = 0; i < 5; i++) {
		u64 index = post(self, 0, 200);

		EXPECT_EQ(1, gda_engine_visit(&self->a->q, 8, 1000));
		EXPECT_EQ(640000, self->a->delay_ns);
		EXPECT_EQ(1, gda_engine_visit(&self->a->q, 8, 1000));
		EXPECT_EQ(index, self->a->q.ci);
		receive(self, 0, 200);
		EXPECT_EQ(1, gda_engine_visit(&self->a->q, 8, 1000));
		EXPECT_EQ(index + 1, self->a->q.ci);
		EXPECT_NE(NULL, next_entry(self));
	}
	self->a->q.rnr_retry = GDA_ENGINE_RNR_FOREVER;
	post(self, 0, 200);
	for (i = 0; i < 10000; i++)
		gda_engine_visit(&self->a->q, 8, 1000);
	EXPECT_EQ(GDA_QP_READY, self->a->q.state);
	EXPECT_TRUE(gda_engine_pending(&self->a->q));
	self->a->q.rnr_retry = 3;
	for (i = 0; i < 3; i++)
		gda_engine_visit(&self->a->q, 8, 1000);
	EXPECT_EQ(GDA_QP_READY, self->a->q.state);
	gda_engine_visit(&self->a->q, 8, 1000);
	EXPECT_EQ(GDA_QP_ERROR, self->a->q.state);
	EXPECT_EQ(GDA_MLX5_SYND_RNR_EXC, th_syndrome(self->a));
	EXPECT_EQ(GDA_MLX5_VENDOR_RECV, self->a->q.first.cause);
	EXPECT_EQ(GDA_QP_READY, self->b->q.state);
	EXPECT_EQ(0, self->b->fails);
}

/* The CQ is full: the bytes are moved once, and the same receive completes when there is room. */
TEST_F(send, S3_full_cq_is_receiver_not_ready)
{
	struct gda_completion other = { .kind = GDA_COMPLETION_DONE };
	u32 index, i;

	for (i = 0; i < ENTRIES; i++)
		EXPECT_TRUE(gda_cq_push(&self->sink->cq, &other));
	self->a->q.rnr_retry = 2;
	index = receive(self, 0, 300);
	receive(self, 0, 300);
	post(self, 0, 300);
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(1, gda_engine_visit(&self->a->q, 8, 1000));
		EXPECT_EQ(300, self->a->q.bytes);
		EXPECT_EQ(1, self->b->takes);
	}
	EXPECT_FALSE(self->sink->cq.failed);
	next_entry(self);
	EXPECT_EQ(1, gda_engine_visit(&self->a->q, 8, 1000));
	EXPECT_EQ(300, self->a->q.bytes);
	for (i = 1; i < ENTRIES; i++)
		next_entry(self);
	EXPECT_EQ(0, wrong(next_entry(self), GDA_MLX5_CQE_RESP_SEND, index, 300, 0));

	/* no try is left: the requester pays, and its peer, of which a receive is half done */
	for (i = 0; i < ENTRIES; i++)
		EXPECT_TRUE(gda_cq_push(&self->sink->cq, &other));
	post(self, 0, 300);
	for (i = 0; i < 3; i++)
		gda_engine_visit(&self->a->q, 8, 1000);
	EXPECT_EQ(GDA_MLX5_SYND_RNR_EXC, th_syndrome(self->a));
	EXPECT_FALSE(self->sink->cq.failed);
	EXPECT_EQ(1, self->b->fails);
	for (i = 0; i < ENTRIES; i++)
		EXPECT_NE(NULL, next_entry(self));
	th_run(self->b);
	EXPECT_EQ(0, failed(next_entry(self), 1, GDA_MLX5_SYND_WR_FLUSH, 0));
	EXPECT_EQ(GDA_QP_ERROR, self->b->q.state);
}

TEST_F(send, a_receive_too_short_is_both_sides_error)
{
	u32 first = receive(self, 0, 99), second = receive(self, 200, 500);
	u64 index = post(self, 0, 100);

	th_nop(self->a, GDA_MLX5_CE_ALWAYS);
	th_ring(self->a);
	EXPECT_EQ(2, th_run(self->a));
	EXPECT_EQ(GDA_MLX5_SYND_REMOTE_INVAL_REQ, th_syndrome(self->a));
	EXPECT_EQ(GDA_MLX5_VENDOR_LENGTH, self->a->q.first.cause);
	EXPECT_EQ(index, self->a->q.first_error);
	EXPECT_EQ(1, self->a->q.flushed);
	EXPECT_TRUE(untouched(self, 0, SIZE));
	EXPECT_EQ(0, self->b->recv.value);
	EXPECT_EQ(0, failed(next_entry(self), first, GDA_MLX5_SYND_LOCAL_LENGTH,
			    GDA_MLX5_VENDOR_LENGTH));
	EXPECT_EQ(1, self->b->fails);
	th_nop(self->b, GDA_MLX5_CE_ALWAYS);
	th_ring(self->b);
	th_run(self->b);
	EXPECT_EQ(GDA_QP_ERROR, self->b->q.state);
	EXPECT_EQ(GDA_MLX5_SYND_WR_FLUSH, th_err(self->b)->syndrome);
	if (!variant->linked)
		EXPECT_EQ(0, failed(next_entry(self), second, GDA_MLX5_SYND_WR_FLUSH, 0));
	EXPECT_EQ(NULL, next_entry(self));
	EXPECT_EQ(variant->linked ? 1 : 2, self->rq->rq.taken);
}

/* Every way in which a segment of the receive can be bad, first or behind another. */
TEST_F(send, K3_K4_a_bad_key_in_the_receive)
{
	struct th_mr *none = th_mr_new(&self->dev, &dom_b, 0x500, 64, GDA_ACCESS_REMOTE_WRITE, 12,
				       0);
	struct th_mr *gone = th_mr_new(&self->dev, &dom_b, 0x600, 64, GDA_ACCESS_ALL, 12, 0);
	struct th_mr *dark = th_mr_new(&self->dev, &dom_b, 0x700, 64, GDA_ACCESS_ALL, 12, 0);
	struct th_mr *far = th_mr_new(&self->dev, &dom_b, 0x800, 64, GDA_ACCESS_ALL, 12, 0);
	struct {
		struct gda_sge sge;
		u8 vendor;
	} rows[] = {
		{ part(self->r, 0, 64), GDA_MLX5_VENDOR_KEY },
		{ part(self->l, 0, 64), GDA_MLX5_VENDOR_KEY },
		{ part(none, 0, 64), GDA_MLX5_VENDOR_RIGHTS },
		{ part(gone, 0, 64), GDA_MLX5_VENDOR_REVOKED },
		{ part(self->r, SIZE - 63, 64), GDA_MLX5_VENDOR_RANGE },
		{ part(dark, 0, 64), GDA_MLX5_VENDOR_IO },
		{ part(far, 0, 64), GDA_MLX5_VENDOR_IO },
	};
	u32 i, second;

	rows[0].sge.key ^= 1;
	gone->mem.state = GDA_MR_REVOKED;
	dark->windowless = true;
	far->mem.state |= GDA_MEM_NO_CPU;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		for (second = 0; second < 2; second++) {
			struct gda_sge list[2] = { part(self->r, 0, 40), rows[i].sge };
			u32 index = th_rq_post(self->rq, list + 1 - second, 1 + second);

			post(self, 0, 64);
			EXPECT_EQ(1, th_run(self->a));
			EXPECT_EQ(GDA_MLX5_SYND_REMOTE_OP, th_err(self->a)->syndrome)
				TH_LOG("row %u", i);
			EXPECT_EQ(rows[i].vendor, self->a->q.first.cause);
			EXPECT_EQ(0, failed(next_entry(self), index, GDA_MLX5_SYND_LOCAL_PROT,
					    rows[i].vendor));
			if (i != 5)
				EXPECT_TRUE(untouched(self, 0, SIZE));
			EXPECT_EQ(GDA_STATUS(GDA_CLASS_FLUSH, rows[i].vendor), self->b->q.fail);
			if (variant->linked)
				th_rq_reuse(self->rq, index);
			self->b->q.fail = 0;
			th_again(self->a);
			memset(th_mr_at(self->r, 0), 0, 40);
		}
	}
	/* none of it matters where no byte goes there */
	for (i = 0; i < 2; i++) {
		struct gda_sge list[2] = { part(self->r, 0, 40), rows[0].sge };

		th_rq_post(self->rq, list, 2);
		post(self, 0, i ? 40 : 0);
		th_run(self->a);
		EXPECT_EQ(i + 1, self->a->q.executed);
	}
	th_mr_free(&self->dev, none);
	th_mr_free(&self->dev, gone);
	th_mr_free(&self->dev, dark);
	th_mr_free(&self->dev, far);
}

/* A segment that is inline, or longer than a message, is no list. */
TEST_F(send, S4_malformed_receive)
{
	static const u32 lens[] = { 0x80000000, 0x80000010, 0xffffffff };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		struct gda_sge list[2] = { part(self->r, 0, 40), part(self->r, 0, lens[i]) };
		u32 index = th_rq_post(self->rq, list, 2);

		post(self, 0, 10);
		th_run(self->a);
		EXPECT_EQ(GDA_MLX5_SYND_REMOTE_INVAL_REQ, th_syndrome(self->a));
		EXPECT_EQ(0, failed(next_entry(self), index, GDA_MLX5_SYND_LOCAL_LENGTH,
				    GDA_MLX5_VENDOR_LENGTH));
		EXPECT_TRUE(untouched(self, 0, 40));
		self->b->q.fail = 0;
		th_again(self->a);
	}
}

/* Of the requester's own errors nothing is taken, and its peer goes on. */
TEST_F(send, own_errors_take_nothing)
{
	struct gda_sge bad = part(self->l, SIZE - 3, 4);
	u32 i;

	receive(self, 0, 100);
	for (i = 0; i < 4; i++) {
		if (i == 1)
			self->b->q.rq = NULL;
		if (i == 2)
			self->b->q.recv_cq = NULL;
		if (i == 3)
			self->a->q.peer = NULL;
		th_send(self->a, GDA_MLX5_CE_ALWAYS, &bad, i ? 0 : 1);
		th_ring(self->a);
		EXPECT_EQ(1, th_run(self->a));
		EXPECT_EQ(i == 0 ? GDA_MLX5_SYND_LOCAL_PROT : i == 3 ? GDA_MLX5_SYND_RETRY_EXC :
			  GDA_MLX5_SYND_REMOTE_INVAL_REQ, th_err(self->a)->syndrome);
		EXPECT_EQ(i == 0 ? GDA_MLX5_VENDOR_RANGE : i == 3 ? GDA_MLX5_VENDOR_PEER :
			  GDA_MLX5_VENDOR_RECV, self->a->q.first.cause);
		self->b->q.rq = &self->rq->rq;
		th_again(self->a);
	}
	EXPECT_EQ(0, self->rq->rq.taken);
	EXPECT_EQ(0, self->b->fails);
}

/* Half way one of both ends: the receive that was taken is completed, once, and by its owner. */
TEST_F(send, taken_and_given_up)
{
	u32 how, index;

	for (how = 0; how < 6; how++) {
		struct th_qp *c = th_qp_new(&self->dev, &dom_a, 16, 0);
		struct th_qp *d = th_qp_new(&self->dev, &dom_b, 16, 0);
		struct th_rq *rq = th_rq_new(&dom_b, DEPTH, 6, variant->linked);
		struct gda_sge to = part(self->r, 0, 1000), from = part(self->l, 0, 1000);

		d->q.qpn = 0xabcdef;
		d->q.user_index = 0x345;
		d->q.recv_cq = &self->sink->cq;
		d->q.rq = &rq->rq;
		th_qp_pair(c, d);
		index = th_rq_post(rq, &to, 1);
		th_rq_post(rq, &to, 1);
		th_send(c, GDA_MLX5_CE_ALWAYS, &from, 1);
		th_ring(c);
		EXPECT_EQ(1, gda_engine_visit(&c->q, 4, 300));
		EXPECT_EQ(NULL, next_entry(self));
		if (how == 0)		/* the requester's host fails it */
			c->q.fail = GDA_STATUS(GDA_CLASS_QUEUE, GDA_CAUSE_DEVICE);
		if (how == 1)		/* its own memory goes */
			self->l->mem.state = GDA_MR_REVOKED;
		if (how == 2)		/* the responder fails, and flushes first */
			d->q.fail = GDA_STATUS(GDA_CLASS_QUEUE, GDA_CAUSE_DEVICE);
		if (how == 3)		/* ... and the requester is gone without a word */
			d->q.fail = GDA_STATUS(GDA_CLASS_QUEUE, GDA_CAUSE_DEVICE);
		if (how == 4)		/* the responder's memory goes */
			self->r->mem.state = GDA_MR_REVOKED;
		if (how == 5)		/* the responder is gone, with all that it had */
			c->q.peer = NULL;
		if (how == 2 || how == 3)
			th_run(d);
		if (how != 3)
			th_run(c);
		EXPECT_EQ(how == 3 ? GDA_QP_READY : GDA_QP_ERROR, c->q.state);
		EXPECT_FALSE(c->q.took && how != 3);
		if (how < 2 || how == 4)
			EXPECT_EQ(1, d->fails);
		if (how != 5) {
			th_run(d);
			EXPECT_EQ(GDA_QP_ERROR, d->q.state);
			EXPECT_EQ(0, how == 4 ?
				  failed(next_entry(self), index, GDA_MLX5_SYND_LOCAL_PROT,
					 GDA_MLX5_VENDOR_REVOKED) :
				  failed(next_entry(self), index, GDA_MLX5_SYND_WR_FLUSH, 0))
				TH_LOG("how %u", how);
			if (!variant->linked)
				EXPECT_EQ(0, failed(next_entry(self), index + 1,
						    GDA_MLX5_SYND_WR_FLUSH, 0));
		}
		EXPECT_EQ(NULL, next_entry(self));
		EXPECT_FALSE(gda_engine_pending(&d->q));
		self->l->mem.state = GDA_MR_LIVE;
		self->r->mem.state = GDA_MR_LIVE;
		th_qp_free(c);
		th_qp_free(d);
		th_rq_free(rq);
	}
}

/* The owner's flush wins against a sender that is in the middle of it. */
TEST_F(send, X2_flushed_under_the_sender)
{
	u32 index = receive(self, 0, 400);

	post(self, 0, 400);
	EXPECT_EQ(1, gda_engine_visit(&self->a->q, 4, 399));
	/* as if the owner's thread came between the last look at its state and the completion */
	EXPECT_TRUE(gda_host_recv_flush(&self->b->q));
	EXPECT_EQ(0, failed(next_entry(self), index, GDA_MLX5_SYND_WR_FLUSH, 0));
	EXPECT_EQ(1, th_run(self->a));
	EXPECT_EQ(GDA_MLX5_SYND_RETRY_EXC, th_syndrome(self->a));
	EXPECT_EQ(GDA_MLX5_VENDOR_PEER, self->a->q.first.cause);
	EXPECT_EQ(NULL, next_entry(self));
	EXPECT_EQ(0, self->b->recv.value);
	/* nothing can be taken any more */
	receive(self, 0, 400);
	th_again(self->a);
	post(self, 0, 4);
	th_run(self->a);
	EXPECT_EQ(GDA_MLX5_SYND_RETRY_EXC, th_syndrome(self->a));
}

/* The payload's own memory is out of reach half way: the receive that was taken is flushed. */
TEST_F(send, own_memory_without_a_window)
{
	u32 index = receive(self, 0, 100);

	self->l->windowless = true;
	post(self, 0, 100);
	th_run(self->a);
	EXPECT_EQ(GDA_MLX5_SYND_LOCAL_PROT, th_syndrome(self->a));
	EXPECT_EQ(GDA_MLX5_VENDOR_IO, self->a->q.first.cause);
	th_run(self->b);
	EXPECT_EQ(0, failed(next_entry(self), index, GDA_MLX5_SYND_WR_FLUSH, 0));
	EXPECT_EQ(GDA_QP_ERROR, self->b->q.state);
}

/* The owner is to be told of its bad receive, and its CQ is full: later, with the same receive. */
TEST_F(send, S3_full_cq_and_a_bad_receive)
{
	struct gda_completion other = { .kind = GDA_COMPLETION_DONE };
	u32 index = receive(self, 0, 9), i;

	for (i = 0; i < ENTRIES; i++)
		EXPECT_TRUE(gda_cq_push(&self->sink->cq, &other));
	self->a->q.rnr_retry = 2;
	post(self, 0, 10);
	for (i = 0; i < 2; i++)
		EXPECT_EQ(1, gda_engine_visit(&self->a->q, 8, 1000));
	EXPECT_EQ(GDA_QP_READY, self->a->q.state);
	EXPECT_FALSE(self->sink->cq.failed);
	EXPECT_EQ(0, self->b->fails);
	for (i = 0; i < ENTRIES; i++)
		next_entry(self);
	EXPECT_EQ(1, th_run(self->a));
	EXPECT_EQ(GDA_MLX5_SYND_REMOTE_INVAL_REQ, th_syndrome(self->a));
	EXPECT_EQ(0, failed(next_entry(self), index, GDA_MLX5_SYND_LOCAL_LENGTH,
			    GDA_MLX5_VENDOR_LENGTH));
	EXPECT_EQ(1, self->b->fails);
}

/* Only where the host says so; send with invalidate nowhere. */
TEST_F(send, S5_unknown_without_receive_queues)
{
	struct gda_sge sge = part(self->l, 0, 8);
	u32 i;

	for (i = 0; i < 3; i++) {
		u64 index = th_send(self->a, GDA_MLX5_CE_ALWAYS, &sge, 1);
		struct gda_engine_qp *front = self->a->q.order ? &self->a->q.order->flight.front :
								 &self->a->q;

		front->sends = i == 2;
		th_ctrl(self->a, index)->opmod_idx_opcode =
			gda_be32((u32)(index & 0xffff) << 8 |
				 (i == 2 ? 1 : i ? GDA_MLX5_SEND_IMM : GDA_MLX5_SEND));
		th_ring(self->a);
		th_run(self->a);
		EXPECT_EQ(GDA_MLX5_SYND_LOCAL_QP_OP, th_syndrome(self->a));
		EXPECT_EQ(GDA_MLX5_VENDOR_OPCODE, self->a->q.first.cause);
		th_again(self->a);
	}
	EXPECT_EQ(0, self->rq->rq.taken);
}

TEST_HARNESS_MAIN
