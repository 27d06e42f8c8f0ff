// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Outcomes: which completions are written, what an error says, what happens to the
 * work behind it, and that a failed queue hurts nobody else.
 */
#include "pair.h"

#define SIZE	0x40000U

FIXTURE(pair) {
	TH_PAIR;
};

FIXTURE_SETUP(pair)
{
	TH_PAIR_OPEN(self, SIZE);
}

FIXTURE_TEARDOWN(pair)
{
	TH_PAIR_CLOSE(self);
}

#define put(s, ce, len)	th_rdma((s)->a, GDA_MLX5_WRITE, ce, (s)->l, 0, (s)->r, 0, len)
#define put_bad(s, ce) \
	th_rdma((s)->a, GDA_MLX5_WRITE, ce, (s)->l, 0, (s)->r, SIZE - 7, 8)

TEST_F(pair, completion_only_when_asked)
{
	static const u8 ce[] = {
		GDA_MLX5_CE_ERROR, GDA_MLX5_CE_FIRST_ERROR, GDA_MLX5_CE_ALWAYS, GDA_MLX5_CE_EQE
	};
	u32 i;

	for (i = 0; i < 4; i++) {
		u32 pushes = self->a->pushes;

		put(self, ce[i], 8);
		th_ring(self->a);
		EXPECT_EQ(1, th_run(self->a));
		EXPECT_EQ(i >= 2, self->a->pushes - pushes);
		EXPECT_EQ(i < 2 ? 0xffff : i, th_cqe_counter(self->a));
	}
	EXPECT_EQ(4, self->a->q.executed);
	EXPECT_EQ(32, self->a->q.bytes);
}

/* Fence bits change nothing (order is kept anyway), nor do bits without a meaning. */
TEST_F(pair, fence_bits_are_accepted)
{
	u32 fm;

	for (fm = 0; fm < 256; fm++) {
		put(self, (u8)((fm & ~GDA_MLX5_CE_MASK) | GDA_MLX5_CE_ALWAYS), 8);
		th_ring(self->a);
		th_run(self->a);
		EXPECT_EQ((u16)fm, th_cqe_counter(self->a));
		EXPECT_EQ(!!(fm & GDA_MLX5_SE), th_cqe(self->a)->op_own >> 1 & 1);
	}
	EXPECT_EQ(GDA_QP_READY, self->a->q.state);
}

TEST_F(pair, success_entry)
{
	put(self, GDA_MLX5_CE_ALWAYS, 24);
	th_ring(self->a);
	th_run(self->a);
	EXPECT_EQ(GDA_MLX5_CQE_REQ << 4, th_cqe(self->a)->op_own);
	EXPECT_EQ(24, gda_be32_to_cpu(th_cqe(self->a)->byte_cnt));
	EXPECT_EQ(GDA_MLX5_WRITE << 24 | TH_QPN, gda_be32_to_cpu(th_cqe(self->a)->sop_qpn));
	EXPECT_EQ(0, th_cqe(self->a)->timestamp);
	EXPECT_EQ(0, th_cqe(self->a)->signature);
}

/* One write of the collapsed entry a visit, for the newest; a solicited one counts. */
TEST_F(pair, collapsed_completion_is_written_once)
{
	put(self, GDA_MLX5_CE_ALWAYS | GDA_MLX5_SE, 8);
	put(self, GDA_MLX5_CE_ALWAYS, 8);
	put(self, GDA_MLX5_CE_ERROR, 8);
	th_ring(self->a);
	EXPECT_EQ(3, gda_engine_visit(&self->a->q, 64, 1000));
	EXPECT_EQ(1, self->a->pushes);
	EXPECT_EQ(1, self->a->events);
	EXPECT_EQ(1, th_cqe_counter(self->a));
	put(self, GDA_MLX5_CE_ALWAYS, 8);
	th_ring(self->a);
	EXPECT_EQ(1, gda_engine_visit(&self->a->q, 64, 1000));
	EXPECT_EQ(1, self->a->events);
	EXPECT_EQ(3, th_cqe_counter(self->a));
}

TEST_F(pair, I_14_error_is_visible)
{
	put(self, GDA_MLX5_CE_ERROR, 8);
	put_bad(self, GDA_MLX5_CE_ERROR);
	th_ring(self->a);
	th_run(self->a);
	EXPECT_EQ(GDA_MLX5_CQE_REQ_ERR, th_cqe_opcode(self->a));
	EXPECT_EQ(1, th_cqe_counter(self->a));
	EXPECT_EQ(GDA_MLX5_SYND_REMOTE_ACCESS, th_err(self->a)->syndrome);
	EXPECT_EQ(GDA_MLX5_VENDOR_RANGE, th_err(self->a)->vendor_err_synd);
	EXPECT_EQ(GDA_MLX5_WRITE << 24 | TH_QPN,
		  gda_be32_to_cpu(th_err(self->a)->s_wqe_opcode_qpn));
	EXPECT_EQ(1, th_first_error(self->a));
	EXPECT_EQ(GDA_QP_ERROR, self->a->q.state);
	EXPECT_EQ(1, self->a->q.first_error);
	EXPECT_EQ(GDA_MLX5_SYND_REMOTE_ACCESS, th_syndrome(self->a));
	EXPECT_EQ(GDA_MLX5_VENDOR_RANGE, self->a->q.first.cause);
	EXPECT_EQ(1, self->a->q.executed);
	EXPECT_EQ(1, self->a->events);
}

/* Work that was done before the error stays done, and nothing after it is. */
TEST_F(pair, I_14_flush_behind_an_error)
{
	u64 v = 1;
	u32 i;

	th_inline(self->a, GDA_MLX5_CE_ALWAYS, &v, 8, self->r, 0);
	put_bad(self, GDA_MLX5_CE_ALWAYS);
	for (i = 0; i < 5; i++)
		th_inline(self->a, GDA_MLX5_CE_ERROR, &i, 4, self->r, 64 * i + 64);
	th_ring(self->a);
	EXPECT_EQ(7, th_run(self->a));
	EXPECT_EQ(1, self->a->q.executed);
	EXPECT_EQ(5, self->a->q.flushed);
	EXPECT_EQ(7, self->a->q.ci);
	EXPECT_EQ(GDA_MLX5_SYND_WR_FLUSH, th_err(self->a)->syndrome);
	EXPECT_EQ(0, th_err(self->a)->vendor_err_synd);
	EXPECT_EQ(6, th_cqe_counter(self->a));
	EXPECT_EQ(1, th_first_error(self->a));
	EXPECT_EQ(GDA_MLX5_SYND_REMOTE_ACCESS, th_err(self->a)->first_syndrome);
	EXPECT_EQ(GDA_MLX5_VENDOR_RANGE, th_err(self->a)->first_vendor);
	th_mr_get(self->r, 0, &v, 8);
	EXPECT_EQ(1, v);
	for (i = 0; i < 5; i++) {
		th_mr_get(self->r, 64 * i + 64, &v, 8);
		EXPECT_EQ(0, v);
	}
	/* for ever */
	put(self, GDA_MLX5_CE_ERROR, 8);
	th_ring(self->a);
	EXPECT_EQ(1, th_run(self->a));
	EXPECT_EQ(6, self->a->q.flushed);
	EXPECT_EQ(7, th_cqe_counter(self->a));
	EXPECT_EQ(1, th_first_error(self->a));
}

/* Flushing knows how many slots an entry fills, and takes junk by the slot. */
TEST_F(pair, flush_by_entries)
{
	u8 bytes[60] = { 0 };

	put_bad(self, GDA_MLX5_CE_ALWAYS);
	th_inline(self->a, GDA_MLX5_CE_ERROR, bytes, 60, self->r, 0);
	th_inline(self->a, GDA_MLX5_CE_ERROR, bytes, 60, self->r, 0);
	memset(th_slot(self->a, self->a->next), 0x5a, 64);
	memset(th_slot(self->a, self->a->next + 1), 0x5a, 64);
	self->a->next += 2;
	th_ring(self->a);
	EXPECT_EQ(1 + 2 + 2, th_run(self->a));
	EXPECT_EQ(4, self->a->q.flushed);
	EXPECT_EQ(7, self->a->q.ci);
	EXPECT_EQ(6, th_cqe_counter(self->a));
}

TEST_F(pair, junk_entries_fail_with_their_opcode)
{
	memset(th_slot(self->a, 0), 0, 64);
	gda_mlx5_set_ctrl(th_ctrl(self->a, 0), 0, 0x77, TH_QPN, 3, 0, 0);
	self->a->next = 1;
	th_ring(self->a);
	EXPECT_EQ(1, th_run(self->a));
	EXPECT_EQ(0x77u << 24 | TH_QPN, gda_be32_to_cpu(th_err(self->a)->s_wqe_opcode_qpn));
	EXPECT_EQ(GDA_MLX5_SYND_LOCAL_QP_OP, th_err(self->a)->syndrome);
	EXPECT_EQ(GDA_MLX5_VENDOR_OPCODE, th_err(self->a)->vendor_err_synd);
	EXPECT_EQ(1, self->a->q.ci);
}

TEST_F(pair, error_in_one_direction_leaves_the_other_queue)
{
	u64 v = 77;

	put_bad(self, GDA_MLX5_CE_ALWAYS);
	th_ring(self->a);
	th_run(self->a);
	EXPECT_EQ(GDA_QP_READY, self->b->q.state);
	/* but its peer is gone now */
	th_inline(self->b, GDA_MLX5_CE_ALWAYS, &v, 8, self->l, 0);
	th_ring(self->b);
	th_run(self->b);
	EXPECT_EQ(GDA_MLX5_SYND_RETRY_EXC, th_err(self->b)->first_syndrome);
	EXPECT_EQ(GDA_MLX5_VENDOR_PEER, th_err(self->b)->first_vendor);
	th_mr_get(self->l, 0, &v, 8);
	EXPECT_EQ(0, v);
}

TEST_F(pair, peer_gone)
{
	self->a->q.peer = NULL;
	/* a NOP asks nothing of the peer */
	th_nop(self->a, GDA_MLX5_CE_ALWAYS);
	put(self, GDA_MLX5_CE_ALWAYS, 8);
	th_ring(self->a);
	th_run(self->a);
	EXPECT_EQ(1, self->a->q.executed);
	EXPECT_EQ(GDA_MLX5_SYND_RETRY_EXC, th_err(self->a)->first_syndrome);
	EXPECT_EQ(GDA_MLX5_VENDOR_PEER, th_err(self->a)->first_vendor);
	EXPECT_EQ(1, th_first_error(self->a));
}

#define FAIL	GDA_FAIL_PEER

TEST_F(pair, host_fails_an_idle_queue)
{
	u32 state;

	for (state = GDA_QP_INIT; state <= GDA_QP_READY; state++) {
		struct th_qp *qp = th_qp_new(&self->dev, &dom_a, 16, 0);

		qp->q.state = state;
		WRITE_ONCE(qp->q.fail, FAIL);
		EXPECT_TRUE(gda_engine_pending(&qp->q));
		EXPECT_EQ(1, gda_engine_visit(&qp->q, 64, 64));
		EXPECT_EQ(GDA_QP_ERROR, qp->q.state);
		EXPECT_EQ(GDA_MLX5_CQE_REQ_ERR, th_cqe_opcode(qp));
		EXPECT_EQ(0, th_cqe_counter(qp));
		EXPECT_EQ(0, th_first_error(qp));
		EXPECT_EQ(GDA_MLX5_SYND_RETRY_EXC, th_err(qp)->first_syndrome);
		EXPECT_EQ(GDA_MLX5_VENDOR_PEER, th_err(qp)->first_vendor);
		EXPECT_EQ(0, qp->q.ci);
		EXPECT_EQ(0, qp->sent.errors);
		EXPECT_FALSE(gda_engine_pending(&qp->q));
		EXPECT_EQ(0, gda_engine_visit(&qp->q, 64, 64));
		/* what is posted later is flushed */
		th_nop(qp, GDA_MLX5_CE_ALWAYS);
		th_ring(qp);
		EXPECT_EQ(1, th_run(qp));
		EXPECT_EQ(1, qp->q.flushed);
		EXPECT_EQ(0, th_first_error(qp));
		EXPECT_EQ(GDA_MLX5_SYND_WR_FLUSH, th_err(qp)->syndrome);
		th_qp_free(qp);
	}
}

/* Work that was published but not begun: the oldest takes the blame. */
TEST_F(pair, host_fails_a_queue_with_work)
{
	put(self, GDA_MLX5_CE_ALWAYS, 8);
	th_ring(self->a);
	th_run(self->a);
	put(self, GDA_MLX5_CE_ALWAYS, 8);
	put(self, GDA_MLX5_CE_ALWAYS, 8);
	th_ring(self->a);
	WRITE_ONCE(self->a->q.fail, FAIL);
	EXPECT_EQ(2, th_run(self->a));
	EXPECT_EQ(1, self->a->q.executed);
	EXPECT_EQ(1, self->a->q.flushed);
	EXPECT_EQ(1, th_first_error(self->a));
	EXPECT_EQ(2, th_cqe_counter(self->a));
	EXPECT_EQ(GDA_MLX5_VENDOR_PEER, th_err(self->a)->first_vendor);
}

/* The memory of the queue is gone: each slot that was published is an outcome. */
TEST_F(pair, host_takes_the_queue_away)
{
	u8 bytes[60] = { 0 };

	put(self, GDA_MLX5_CE_ALWAYS, 8);
	th_ring(self->a);
	th_run(self->a);
	put(self, GDA_MLX5_CE_ALWAYS, 8);
	th_inline(self->a, GDA_MLX5_CE_ALWAYS, bytes, 60, self->r, 0);
	th_ring(self->a);
	self->a->q.sq = NULL;
	WRITE_ONCE(self->a->q.fail, FAIL);
	EXPECT_EQ(3, th_run(self->a));
	EXPECT_EQ(1, self->a->q.executed);
	EXPECT_EQ(2, self->a->q.flushed);
	EXPECT_EQ(1, th_first_error(self->a));
	EXPECT_EQ(3, th_cqe_counter(self->a));
	EXPECT_EQ(GDA_MLX5_SYND_WR_FLUSH, th_err(self->a)->syndrome);
	/* and what is published from now on */
	put(self, GDA_MLX5_CE_ALWAYS, 8);
	th_ring(self->a);
	EXPECT_EQ(1, th_run(self->a));
	EXPECT_EQ(4, th_cqe_counter(self->a));
}

TEST_F(pair, host_fails_a_queue_in_mid_transfer)
{
	u32 i;

	for (i = 0; i < SIZE; i++)
		*th_mr_at(self->l, i) = 0xee;
	put(self, GDA_MLX5_CE_ALWAYS, SIZE);
	put(self, GDA_MLX5_CE_ALWAYS, 8);
	th_ring(self->a);
	EXPECT_EQ(1, gda_engine_visit(&self->a->q, 64, 1000));
	EXPECT_TRUE(th_busy(self->a));
	EXPECT_EQ(0xffff, th_cqe_counter(self->a));
	WRITE_ONCE(self->a->q.fail, FAIL);
	EXPECT_EQ(2, th_run(self->a));
	EXPECT_EQ(1000, self->a->q.bytes);
	EXPECT_EQ(0xee, *th_mr_at(self->r, 999));
	EXPECT_EQ(0, *th_mr_at(self->r, 1000));
	EXPECT_EQ(0, th_first_error(self->a));
	EXPECT_EQ(1, self->a->q.flushed);
	EXPECT_FALSE(th_busy(self->a));
}

/* A key revoked between two visits stops the transfer there. */
TEST_F(pair, K5_revoked_in_mid_transfer)
{
	u32 end, i;

	for (end = 0; end < 2; end++) {
		struct th_mr *mr = end ? self->r : self->l;
		struct th_qp *a = th_qp_new(&self->dev, &dom_a, 16, 0);
		struct th_qp *b = th_qp_new(&self->dev, &dom_b, 16, 0);

		th_qp_pair(a, b);
		for (i = 0; i < SIZE; i++) {
			*th_mr_at(self->l, i) = 0xee;
			*th_mr_at(self->r, i) = 0;
		}
		th_rdma(a, GDA_MLX5_WRITE, GDA_MLX5_CE_ALWAYS, self->l, 0, self->r, 0, SIZE);
		th_ring(a);
		EXPECT_EQ(1, gda_engine_visit(&a->q, 64, 5000));
		mr->mem.state = GDA_MR_REVOKED;
		EXPECT_EQ(1, th_run(a));
		EXPECT_EQ(GDA_MLX5_VENDOR_REVOKED, th_err(a)->first_vendor);
		EXPECT_EQ(5000, a->q.bytes);
		EXPECT_EQ(0xee, *th_mr_at(self->r, 4999));
		EXPECT_EQ(0, *th_mr_at(self->r, 5000));
		mr->mem.state = GDA_MR_LIVE;
		th_qp_free(a);
		th_qp_free(b);
	}
}

TEST_F(pair, peer_gone_in_mid_transfer)
{
	put(self, GDA_MLX5_CE_ALWAYS, SIZE);
	th_ring(self->a);
	EXPECT_EQ(1, gda_engine_visit(&self->a->q, 64, 5000));
	self->a->q.peer = NULL;
	EXPECT_EQ(1, th_run(self->a));
	EXPECT_EQ(GDA_MLX5_VENDOR_PEER, th_err(self->a)->first_vendor);
	EXPECT_EQ(5000, self->a->q.bytes);
}

/* A success that was not written yet is told by first_error, not by its own entry. */
TEST_F(pair, I_14_error_supersedes_waiting_success)
{
	put(self, GDA_MLX5_CE_ALWAYS, 8);
	put(self, GDA_MLX5_CE_ALWAYS, 8);
	put_bad(self, GDA_MLX5_CE_ALWAYS);
	put(self, GDA_MLX5_CE_ALWAYS, 8);
	th_ring(self->a);
	EXPECT_EQ(4, gda_engine_visit(&self->a->q, 64, 1000));
	EXPECT_EQ(1, self->a->pushes);
	EXPECT_EQ(2, th_first_error(self->a));
	EXPECT_EQ(3, th_cqe_counter(self->a));
	EXPECT_EQ(2, self->a->q.executed);
}

/* first_* is the same in every entry from the first error on, at every visit. */
TEST_F(pair, I_14_first_error_never_changes)
{
	u32 i;

	put_bad(self, GDA_MLX5_CE_ALWAYS);
	for (i = 0; i < 60; i++)
		th_nop(self->a, (u8)(i << 2));
	th_ring(self->a);
	for (i = 0; i < 61; i++) {
		EXPECT_EQ(1, gda_engine_visit(&self->a->q, 1, 1));
		EXPECT_EQ(i, th_cqe_counter(self->a));
		EXPECT_EQ(0, th_first_error(self->a));
		EXPECT_EQ(GDA_MLX5_SYND_REMOTE_ACCESS, th_err(self->a)->first_syndrome);
		EXPECT_EQ(GDA_MLX5_VENDOR_RANGE, th_err(self->a)->first_vendor);
	}
	EXPECT_EQ(0, gda_engine_visit(&self->a->q, 1, 1));
}

/* Counters: one per success, one per failure or flush, one per arrival. */
TEST_F(pair, E_02_E_04_counters)
{
	u64 v = 5;

	put(self, GDA_MLX5_CE_ERROR, 8);
	put(self, GDA_MLX5_CE_ALWAYS, SIZE);
	put(self, GDA_MLX5_CE_ALWAYS, 0);
	th_inline(self->a, GDA_MLX5_CE_ERROR, &v, 8, self->r, 0);
	th_rdma(self->a, GDA_MLX5_READ, GDA_MLX5_CE_ERROR, self->l, 0, self->r, 0, 8);
	th_atomic(self->a, GDA_MLX5_ATOMIC_FA, GDA_MLX5_CE_ERROR, self->l, 0, self->r, 0, 1, 0);
	th_nop(self->a, GDA_MLX5_CE_ERROR);
	put_bad(self, GDA_MLX5_CE_ERROR);
	put(self, GDA_MLX5_CE_ERROR, 8);
	put(self, GDA_MLX5_CE_ERROR, 8);
	th_ring(self->a);
	th_run(self->a);
	EXPECT_EQ(7, self->a->sent.value);
	EXPECT_EQ(3, self->a->sent.errors);
	EXPECT_EQ(5, self->b->recv.value);
	EXPECT_EQ(0, self->b->recv.errors);
	EXPECT_EQ(0, self->a->recv.value);
	EXPECT_EQ(0, self->b->sent.value);
}

TEST_F(pair, no_counters)
{
	self->a->q.sent = NULL;
	self->b->q.recv = NULL;
	put(self, GDA_MLX5_CE_ERROR, 8);
	put(self, GDA_MLX5_CE_ERROR, 800);
	put_bad(self, GDA_MLX5_CE_ERROR);
	put(self, GDA_MLX5_CE_ERROR, 8);
	th_ring(self->a);
	th_run(self->a);
	EXPECT_EQ(2, self->a->q.executed);
	EXPECT_EQ(1, self->a->q.flushed);
}

/* Budgets bound a visit; nothing is lost between visits. */
TEST_F(pair, budgets)
{
	u32 i;

	for (i = 0; i < 10; i++)
		put(self, GDA_MLX5_CE_ALWAYS, 100);
	th_ring(self->a);
	EXPECT_EQ(0, gda_engine_visit(&self->a->q, 0, 1000));
	EXPECT_EQ(0, gda_engine_visit(&self->a->q, 10, 0));
	EXPECT_EQ(3, gda_engine_visit(&self->a->q, 3, 1000));
	EXPECT_EQ(2, th_cqe_counter(self->a));
	/* two whole ones and a part */
	EXPECT_EQ(3, gda_engine_visit(&self->a->q, 10, 250));
	EXPECT_EQ(4, th_cqe_counter(self->a));
	EXPECT_EQ(550, self->a->q.bytes);
	EXPECT_EQ(1, gda_engine_visit(&self->a->q, 1, 1000));
	EXPECT_EQ(5, th_cqe_counter(self->a));
	EXPECT_EQ(600, self->a->q.bytes);
	EXPECT_EQ(4, th_run(self->a));
	EXPECT_EQ(1000, self->a->q.bytes);
	EXPECT_EQ(10, self->a->q.executed);
}

/* Up to 64 bytes are moved whole, whatever is left of the budget. */
TEST_F(pair, short_transfers_are_not_split)
{
	u8 bytes[60] = { 0 };

	put(self, GDA_MLX5_CE_ALWAYS, 8);
	put(self, GDA_MLX5_CE_ALWAYS, 64);
	th_inline(self->a, GDA_MLX5_CE_ALWAYS, bytes, 60, self->r, 4096 - 30);
	put(self, GDA_MLX5_CE_ALWAYS, 65);
	th_ring(self->a);
	EXPECT_EQ(1, gda_engine_visit(&self->a->q, 64, 1));
	EXPECT_EQ(0, th_cqe_counter(self->a));
	EXPECT_EQ(1, gda_engine_visit(&self->a->q, 64, 63));
	EXPECT_EQ(1, th_cqe_counter(self->a));
	/* in two pieces, at a page's end, and still not split */
	EXPECT_EQ(1, gda_engine_visit(&self->a->q, 64, 5));
	EXPECT_EQ(2, th_cqe_counter(self->a));
	EXPECT_EQ(132, self->a->q.bytes);
	EXPECT_EQ(1, gda_engine_visit(&self->a->q, 64, 1));
	EXPECT_EQ(133, self->a->q.bytes);
	EXPECT_TRUE(th_busy(self->a));
	th_run(self->a);
	/* the inline one filled two slots */
	EXPECT_EQ(4, th_cqe_counter(self->a));
}

TEST_HARNESS_MAIN
