// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Sends: what a receive of the peer takes, and what its completion says.
 */
#include "send.h"

TEST_F(send, goes_to_the_receive_and_completes_it)
{
	u32 i, index;

	for (i = 0; i < 3 * ENTRIES; i++) {
		index = receive(self, 100 * i, 100);
		post(self, i, i);
		EXPECT_EQ(1, th_run(self->a));
		EXPECT_EQ(0, wrong(next_entry(self), GDA_MLX5_CQE_RESP_SEND, index, i, 0));
		EXPECT_EQ(GDA_MLX5_CQE_REQ, th_cqe_opcode(self->a));
		EXPECT_EQ(i, th_cqe_counter(self->a));
		EXPECT_EQ(i, gda_be32_to_cpu(th_cqe(self->a)->byte_cnt));
		EXPECT_EQ(i + 1, self->b->recv.value);
		EXPECT_TRUE(arrived(self, 100 * i, i, i));
		EXPECT_TRUE(untouched(self, 100 * i + i, 100 - i));
		if (variant->linked)
			th_rq_reuse(self->rq, index);
	}
	EXPECT_EQ(NULL, next_entry(self));
	EXPECT_EQ(GDA_QP_READY, self->b->q.state);
}

/* With immediate, inline of every length, of many segments, of none. */
TEST_F(send, every_shape)
{
	struct gda_sge sge[GDA_ENGINE_MAX_SGE];
	u8 bytes[GDA_ENGINE_MAX_INLINE];
	u32 len, i, index, sum;

	memset(bytes, 0x77, sizeof(bytes));
	for (len = 0; len <= sizeof(bytes); len += len < 64 ? 1 : 101) {
		index = receive(self, 0, SIZE);
		th_send_inline(self->a, GDA_MLX5_CE_ALWAYS, bytes, len);
		th_ring(self->a);
		EXPECT_EQ(1, th_run(self->a));
		EXPECT_EQ(0, wrong(next_entry(self), GDA_MLX5_CQE_RESP_SEND, index, len, 0));
		EXPECT_TRUE(!len || *th_mr_at(self->r, len - 1) == 0x77);
		EXPECT_EQ(0, *th_mr_at(self->r, len));
		if (variant->linked)
			th_rq_reuse(self->rq, index);
	}
	for (i = 0; i < GDA_ENGINE_MAX_SGE; i++) {
		sge[i] = part(self->l, i * 300, 1 + i * 7);
		for (sum = 0, len = 0; len <= i; len++)
			sum += sge[len].len;
		index = receive(self, 0, SIZE);
		th_send(self->a, GDA_MLX5_CE_ALWAYS, sge, i + 1);
		th_ctrl(self->a, self->a->next - (i + 5) / 4)->opmod_idx_opcode |= gda_be32(1);
		th_ctrl(self->a, self->a->next - (i + 5) / 4)->imm = gda_be32(0xcafe0000 + i);
		th_ring(self->a);
		EXPECT_EQ(1, th_run(self->a));
		EXPECT_EQ(0, wrong(next_entry(self), GDA_MLX5_CQE_RESP_SEND_IMM, index, sum,
				   0xcafe0000 + i));
		for (sum = 0, len = 0; len <= i; sum += sge[len++].len)
			EXPECT_TRUE(arrived(self, sum, len * 300, sge[len].len));
		if (variant->linked)
			th_rq_reuse(self->rq, index);
	}
	EXPECT_EQ(GDA_QP_READY, self->a->q.state);
}

/* Into lists of segments: those of no bytes are passed over, and what is behind the end unread. */
TEST_F(send, scattered)
{
	struct gda_sge list[4] = {
		part(self->r, 1000, 5), { .key = 0x1234 }, part(self->r, 3, 11),
		part(self->r, 500, 90),
	};
	u32 n = variant->linked ? 3 : 4, room = variant->linked ? 16 : 106, len, index;

	for (len = 1; len <= room; len++) {
		index = th_rq_post(self->rq, list, n);
		post(self, 40, len);
		EXPECT_EQ(1, th_run(self->a));
		EXPECT_EQ(0, wrong(next_entry(self), GDA_MLX5_CQE_RESP_SEND, index, len, 0));
		EXPECT_TRUE(arrived(self, 1000, 40, min(len, 5U)));
		EXPECT_TRUE(len < 5 || arrived(self, 3, 45, min(len - 5, 11U)));
		EXPECT_TRUE(len < 16 || arrived(self, 500, 56, len - 16));
		EXPECT_TRUE(untouched(self, 500 + (len < 16 ? 0 : len - 16), 90));
		if (variant->linked)
			th_rq_reuse(self->rq, index);
	}
}

/* Resumed at every byte: one receive is taken, read once and completed once. */
TEST_F(send, resumes_at_each_byte_with_the_same_receive)
{
	struct gda_sge to[3] = {
		part(self->r, 700, 31), part(self->r, 4, 67), part(self->r, 90, 60),
	};
	struct gda_sge from[3] = {
		part(self->l, 9, 50), part(self->l, 200, 1), part(self->l, 80, 79),
	};
	u32 budget, visits, index, i;

	for (budget = 1; budget <= 140; budget++) {
		u64 bytes = self->a->q.bytes;

		for (i = 0; i < SIZE; i++)
			*th_mr_at(self->r, i) = 0;
		index = th_rq_post(self->rq, to, 3);
		receive(self, 2000, 400);
		th_send(self->a, GDA_MLX5_CE_ALWAYS, from, 3);
		th_ring(self->a);
		for (visits = 0; gda_engine_visit(&self->a->q, 8, budget); visits++) {
			/* the owner changes its entry, and nothing comes of it */
			memset(th_rq_entry(self->rq, variant->linked ? index :
					   index & (DEPTH - 1)), 0xee, 16);
			if (variant->linked)
				memset(th_rq_entry(self->rq, index), 0, 2);
			EXPECT_EQ(min(130U, (visits + 1) * budget), self->a->q.bytes - bytes);
			EXPECT_EQ(self->a->q.bytes - bytes == 130,
				  self->sink->pushes == budget * 2 - 1);
		}
		EXPECT_EQ((130 + budget - 1) / budget, visits);
		EXPECT_EQ(2 * budget - 1, self->b->takes);
		EXPECT_EQ(0, wrong(next_entry(self), GDA_MLX5_CQE_RESP_SEND, index, 130, 0));
		EXPECT_TRUE(arrived(self, 700, 9, 31) && arrived(self, 4, 40, 19) &&
			    arrived(self, 23, 200, 1) && arrived(self, 24, 80, 47) &&
			    arrived(self, 90, 127, 32) && untouched(self, 122, 500));
		if (variant->linked) {
			/* the list is mended, and the second taken, too */
			struct gda_mlx5_srq_next *next = th_rq_entry(self->rq, index);

			next->next_wqe_index = htobe16((u16)((index + 1) & (DEPTH - 1)));
			th_rq_reuse(self->rq, index);
		}
		post(self, 0, 1);
		EXPECT_EQ(1, th_run(self->a));
		next_entry(self);
		if (variant->linked)
			th_rq_reuse(self->rq, (index + 1) & (DEPTH - 1));
	}
	EXPECT_EQ(GDA_QP_READY, self->a->q.state);
}

/* A write with immediate takes a receive, writes nothing there, and says which it was. */
TEST_F(send, immediate_takes_a_receive)
{
	struct th_mr *w = th_mr_new(&self->dev, &dom_b, 0x500, 64, GDA_ACCESS_ALL, 12, 0);
	u32 index, i;

	self->a->q.rnr_retry = 1;
	for (i = 0; i < 2 * DEPTH; i++) {
		th_imm(self->a, GDA_MLX5_SE, 77 + i, self->l, 0, w, 0, i);
		th_ring(self->a);
		EXPECT_EQ(1, th_run(self->a));
		EXPECT_TRUE(th_busy(self->a));
		EXPECT_EQ(NULL, next_entry(self));
		index = receive(self, 0, 100);
		EXPECT_EQ(1, th_run(self->a));
		EXPECT_EQ(0, wrong(next_entry(self), GDA_MLX5_CQE_RESP_IMM, index, i, 77 + i));
		EXPECT_EQ(i + 1, self->sink->events);
		EXPECT_EQ(i + 1, self->b->recv.value);
		if (variant->linked)
			th_rq_reuse(self->rq, index);
	}
	EXPECT_TRUE(untouched(self, 0, SIZE));
	/* a malformed one serves as well, for its list is not looked at */
	receive(self, 0, 0x90000000);
	th_imm(self->a, GDA_MLX5_CE_ALWAYS, 1, self->l, 0, w, 0, 64);
	th_ring(self->a);
	th_run(self->a);
	EXPECT_EQ(GDA_MLX5_CQE_REQ, th_cqe_opcode(self->a));
	th_mr_free(&self->dev, w);
}

TEST_F(send, solicited_at_the_target)
{
	u32 i;

	for (i = 0; i < 4; i++) {
		struct gda_sge sge = part(self->l, 0, 8);
		u32 sink = self->sink->events, own = self->a->events;

		receive(self, 0, 8);
		th_send(self->a, (u8)(i & 1 ? GDA_MLX5_SE : 0) |
				 (u8)(i & 2 ? GDA_MLX5_CE_ALWAYS : 0), &sge, 1);
		th_ring(self->a);
		th_run(self->a);
		EXPECT_EQ(i & 1, self->sink->events - sink);
		EXPECT_EQ(i & 1, next_entry(self)->op_own >> 1 & 1);
		EXPECT_EQ(0, self->a->events - own);
	}
}

TEST_HARNESS_MAIN
