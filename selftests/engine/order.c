// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Requests that are carried out in an order that is chosen: what may pass what in a dialect that
 * is ordered and in one that is not, that each request has one outcome whatever is chosen, and
 * what is left of a queue that dies between two of them. That the plain order is the engine's own
 * is shown by the other tests here, which run a second time with TH_ORDER=plain.
 */
#include "order_queues.h"

#define WORLDS		20000U

/* InfiniBand, table of operation ordering: a get may have the value of a put behind it ... */
TEST_F(order, a_write_passes_reads_that_are_before_it)
{
	open_queues(self, false);
	self->chooser.newest = true;
	set8(self->r, 0, 1);
	set8(self->l, 8, 2);
	th_rdma(self->a, GDA_MLX5_READ, GDA_MLX5_CE_ALWAYS, self->l, 0, self->r, 0, 8);
	th_rdma(self->a, GDA_MLX5_WRITE, GDA_MLX5_CE_ALWAYS, self->l, 8, self->r, 0, 8);
	th_ring(self->a);
	EXPECT_EQ(2, th_run(self->a));
	EXPECT_EQ(2, get8(self->l, 0));
	EXPECT_EQ(2, get8(self->r, 0));
	/* ... and still completes before it */
	EXPECT_EQ(0, cqe_index(self->a, 0));
	EXPECT_EQ(1, cqe_index(self->a, 1));
}

/* ... unless the get is refused: then nothing behind it moves ... */
TEST_F(order, nothing_passes_a_read_that_is_refused)
{
	u64 get;

	open_queues(self, false);
	self->chooser.newest = true;
	set8(self->l, 8, 2);
	get = th_rdma(self->a, GDA_MLX5_READ, GDA_MLX5_CE_ALWAYS, self->l, 0, self->r, 0, 8);
	gda_mlx5_set_raddr(th_seg(self->a, get, 1), 0, 1);
	th_rdma(self->a, GDA_MLX5_WRITE, GDA_MLX5_CE_ALWAYS, self->l, 8, self->r, 0, 8);
	th_ring(self->a);
	EXPECT_EQ(2, th_run(self->a));
	EXPECT_EQ(0, get8(self->r, 0));
	EXPECT_EQ(0, self->a->q.bytes);
	EXPECT_EQ(1, self->a->q.flushed);
}

/* ... as one of memory that the engine does not reach is ... */
TEST_F(order, nothing_passes_a_read_of_memory_without_a_window)
{
	open_queues(self, false);
	self->chooser.newest = true;
	set8(self->l, 8, 2);
	self->r->mem.state |= GDA_MEM_NO_CPU;
	th_rdma(self->a, GDA_MLX5_READ, GDA_MLX5_CE_ALWAYS, self->l, 0, self->r, 0, 8);
	th_rdma(self->a, GDA_MLX5_WRITE, GDA_MLX5_CE_ALWAYS, self->l, 8, self->l, 16, 8);
	th_ring(self->a);
	EXPECT_EQ(2, th_run(self->a));
	EXPECT_EQ(0, get8(self->l, 16));
	EXPECT_EQ(0, self->a->q.bytes);
	EXPECT_EQ(1, self->a->q.flushed);
}

/* ... or the put is fenced. */
TEST_F(order, a_fenced_write_passes_none)
{
	u32 unordered;
	u64 put;

	for (unordered = 0; unordered < 2; unordered++) {
		open_queues(self, unordered);
		self->chooser.newest = true;
		set8(self->r, 0, 1);
		set8(self->l, 8, 2);
		th_rdma(self->a, GDA_MLX5_READ, GDA_MLX5_CE_ALWAYS, self->l, 0, self->r, 0, 8);
		put = th_rdma(self->a, GDA_MLX5_WRITE, GDA_MLX5_CE_ALWAYS, self->l, 8, self->r, 0,
			      8);
		fence(self->a, put);
		th_ring(self->a);
		EXPECT_EQ(2, th_run(self->a));
		EXPECT_EQ(1, get8(self->l, 0));
		EXPECT_EQ(2, get8(self->r, 0));
		if (!unordered)
			close_queues(self);
	}
	EXPECT_EQ(0, self->chooser.chosen);
}

/* Of an ordered dialect no write or atomic passes one (C9-28), and no read passes anything. */
TEST_F(order, nothing_else_passes_in_an_ordered_dialect)
{
	u32 i;

	open_queues(self, false);
	self->chooser.newest = true;
	for (i = 0; i < 8; i++) {
		set8(self->l, 8 * i, i + 1);
		th_rdma(self->a, GDA_MLX5_WRITE, 0, self->l, 8 * i, self->r, 0, 8);
	}
	th_atomic(self->a, GDA_MLX5_ATOMIC_FA, 0, self->l, 72, self->r, 0, 1, 0);
	th_rdma(self->a, GDA_MLX5_WRITE, 0, self->l, 0, self->r, 8, 8);
	th_rdma(self->a, GDA_MLX5_READ, 0, self->l, 64, self->r, 0, 8);
	th_rdma(self->a, GDA_MLX5_READ, GDA_MLX5_CE_ALWAYS, self->l, 80, self->r, 0, 8);
	th_ring(self->a);
	EXPECT_EQ(12, th_run(self->a));
	EXPECT_EQ(9, get8(self->l, 64));
	EXPECT_EQ(8, get8(self->l, 72));
	EXPECT_EQ(9, get8(self->l, 80));
	EXPECT_EQ(0, self->chooser.chosen);
}

/* Of an unordered one any write passes any other, and completes as it is done. */
TEST_F(order, an_unordered_dialect_completes_as_work_is_done)
{
	u32 i;

	open_queues(self, true);
	self->chooser.newest = true;
	for (i = 0; i < 8; i++) {
		set8(self->l, 8 * i, i + 1);
		th_rdma(self->a, GDA_MLX5_WRITE, GDA_MLX5_CE_ALWAYS, self->l, 8 * i, self->r, 0,
			8);
	}
	th_ring(self->a);
	/* one outcome a visit: they leave one by one */
	for (i = 0; i < 8; i++) {
		EXPECT_EQ(1, gda_engine_visit(&self->a->q, 1, 64));
		EXPECT_EQ(7 - i, cqe_index(self->a, i));
		EXPECT_EQ(8 - i, get8(self->r, 0));
		EXPECT_EQ(i < 7 ? 0 : 8, self->a->q.ci);
		EXPECT_EQ(i < 7, gda_engine_pending(&self->a->q));
	}
	EXPECT_EQ(0, gda_engine_visit(&self->a->q, 1, 64));
	EXPECT_EQ(8, self->a->q.executed);
	EXPECT_EQ(64, self->a->q.bytes);
	EXPECT_EQ(8, self->b->recv.value);
}

/* A long transfer that is not chosen any more goes on where it was. */
TEST_F(order, a_long_write_is_passed_in_its_middle)
{
	u64 whole = SIZE / 2;
	u64 i;

	open_queues(self, true);
	for (i = 0; i < whole; i += 8)
		set8(self->l, i, i + 1);
	th_rdma(self->a, GDA_MLX5_WRITE, GDA_MLX5_CE_ALWAYS, self->l, 0, self->r, 0, (u32)whole);
	th_ring(self->a);
	EXPECT_EQ(1, gda_engine_visit(&self->a->q, 8, 1000));
	EXPECT_EQ(1000, self->a->q.bytes);
	set8(self->l, whole, 77);
	th_rdma(self->a, GDA_MLX5_WRITE, GDA_MLX5_CE_ALWAYS, self->l, whole, self->r, whole, 8);
	th_ring(self->a);
	self->chooser.newest = true;
	EXPECT_EQ(1, gda_engine_visit(&self->a->q, 1, 8));
	EXPECT_EQ(77, get8(self->r, whole));
	EXPECT_EQ(0, get8(self->r, whole - 8));
	EXPECT_EQ(1, cqe_index(self->a, 0));
	while (gda_engine_visit(&self->a->q, 8, 1000))
		;
	EXPECT_EQ(whole + 8, self->a->q.bytes);
	for (i = 0; i < whole; i += 8)
		EXPECT_EQ(i + 1, get8(self->r, i));
	EXPECT_EQ(0, cqe_index(self->a, 1));
	EXPECT_EQ(2, self->a->q.ci);
}

/* A WAIT holds back what is behind it, and waits for what is before it. */
TEST_F(order, a_wait_is_begun_alone)
{
	open_queues(self, true);
	self->chooser.newest = true;
	self->a->awaits = self->b;
	set8(self->l, 0, 1);
	set8(self->l, 8, 2);
	th_rdma(self->a, GDA_MLX5_WRITE, GDA_MLX5_CE_ALWAYS, self->l, 0, self->r, 0, 8);
	th_wait(self->a, GDA_MLX5_CE_ALWAYS, TH_CQN, 0);
	th_rdma(self->a, GDA_MLX5_WRITE, GDA_MLX5_CE_ALWAYS, self->l, 8, self->r, 8, 8);
	th_ring(self->a);
	EXPECT_EQ(2, gda_engine_visit(&self->a->q, 64, 64));
	EXPECT_EQ(1, get8(self->r, 0));
	EXPECT_EQ(0, get8(self->r, 8));
	EXPECT_EQ(1, self->a->waits);
	EXPECT_TRUE(gda_engine_pending(&self->a->q));
	th_nop(self->b, GDA_MLX5_CE_ALWAYS);
	th_ring(self->b);
	EXPECT_EQ(1, th_run(self->b));
	EXPECT_EQ(2, gda_engine_visit(&self->a->q, 64, 64));
	EXPECT_EQ(2, get8(self->r, 8));
	EXPECT_EQ(1, self->a->resumed);
	EXPECT_EQ(3, self->a->q.ci);
}

/* An immediate without room waits, and what is chosen meanwhile goes on when the delay is over. */
TEST_F(order, an_immediate_is_given_once)
{
	u32 i;

	open_queues(self, true);
	self->chooser.newest = true;
	self->a->q.rnr_retry = 7;
	for (i = 0; i < CQ_DEPTH; i++)
		gda_cq_push(&self->b->cq, &(struct gda_completion){ .kind = GDA_COMPLETION_DONE });
	th_rdma(self->a, GDA_MLX5_WRITE, GDA_MLX5_CE_ALWAYS, self->l, 0, self->r, 0, 8);
	th_imm(self->a, GDA_MLX5_CE_ALWAYS, 42, self->l, 8, self->r, 8, 8);
	th_ring(self->a);
	EXPECT_EQ(1, gda_engine_visit(&self->a->q, 64, 64));
	EXPECT_EQ(1, self->a->delays);
	self->b->consumer = gda_be32(8);
	self->chooser.newest = false;
	EXPECT_EQ(2, gda_engine_visit(&self->a->q, 64, 64));
	EXPECT_EQ(2, self->a->q.executed);
	EXPECT_EQ(16, self->a->q.bytes);
	EXPECT_EQ(CQ_DEPTH + 1, self->b->cq.producer);
	EXPECT_EQ(2, self->a->q.ci);
}

/*
 * The queue dies of a request between others. Its error is the first; in an ordered dialect all
 * before it are done, in any dialect nothing behind it moves, and each has one outcome.
 */
TEST_F(order, one_first_error)
{
	u32 round, i, n = 0;

	for (round = 0; round < 2000; round++) {
		bool unordered = round % 2;
		u32 bad = th_below(&self->chooser.r, 20), first = ~0U;
		u32 seen[20] = { 0 };
		u64 at;

		if (round)
			close_queues(self);
		open_queues(self, unordered);
		for (i = 0; i < 20; i++) {
			set8(self->r, 8 * i, 0);
			set8(self->l, 8 * i, i + 1);
			at = th_rdma(self->a, i % 3 ? GDA_MLX5_WRITE : GDA_MLX5_READ,
				     GDA_MLX5_CE_ALWAYS, self->l, 8 * i, self->r, 8 * i, 8);
			if (i == bad)
				gda_mlx5_set_raddr(th_seg(self->a, at, 1), 0, 1);
		}
		th_ring(self->a);
		th_run(self->a);
		ASSERT_EQ(20, self->a->cq.producer);
		for (i = 0; i < 20; i++) {
			u32 index = cqe_index(self->a, i);

			ASSERT_GT(20, index);
			seen[index]++;
			if (!cqe_failed(self->a, i)) {
				n += index > bad;
				/* behind the first error nothing is done */
				EXPECT_EQ(~0U, first);
				continue;
			}
			if (first == ~0U)
				first = index;
			else
				EXPECT_EQ(GDA_MLX5_SYND_WR_FLUSH, cqe_at(self->a, i)[55]);
		}
		EXPECT_EQ(bad, first);
		EXPECT_EQ(bad, self->a->q.first_error);
		for (i = 0; i < 20; i++)
			EXPECT_EQ(1, seen[i]);
		for (i = 0; !unordered && i < bad; i++)
			EXPECT_EQ(i % 3 ? i + 1 : 0, get8(i % 3 ? self->r : self->l, 8 * i));
		EXPECT_EQ(20, self->a->q.ci);
		EXPECT_EQ(20, self->a->q.executed + self->a->q.flushed + 1);
	}
	/* some were done that were posted behind it */
	EXPECT_LT(100, n);
}

/* The CQ overflows: nothing is carried out that is then said to be flushed, chosen or not. */
TEST_F(order, an_overflow_ends_the_queue_at_once)
{
	u32 how, i, moved;

	for (how = 0; how < 3; how++) {
		if (how)
			close_queues(self);
		open_queues(self, how == 2);
		if (!how)
			self->order.choose = NULL;
		self->a->cq.depth = 4;
		for (i = 0; i < 12; i++) {
			set8(self->r, 8 * i, 0);
			th_atomic(self->a, GDA_MLX5_ATOMIC_FA, GDA_MLX5_CE_ALWAYS, self->l, 8 * i,
				  self->r, 8 * i, 1, 0);
		}
		th_ring(self->a);
		EXPECT_EQ(12, th_run(self->a));
		for (i = moved = 0; i < 12; i++)
			moved += get8(self->r, 8 * i) == 1;
		EXPECT_EQ(5, moved);
		EXPECT_EQ(5, self->a->q.executed);
		EXPECT_EQ(7, self->a->q.flushed);
		EXPECT_EQ(GDA_CAUSE_CQ, self->a->q.first.cause);
		self->order.choose = choose;
	}
}

/* The host has the queue fail: what was begun does not go on. */
TEST_F(order, the_host_fails_it)
{
	u32 i;

	open_queues(self, true);
	self->chooser.newest = true;
	for (i = 0; i < 4; i++)
		th_rdma(self->a, GDA_MLX5_WRITE, GDA_MLX5_CE_ALWAYS, self->l, 0, self->r, 8 * i,
			8);
	th_ring(self->a);
	EXPECT_EQ(1, gda_engine_visit(&self->a->q, 1, 64));
	WRITE_ONCE(self->a->q.fail, GDA_STATUS(GDA_CLASS_QUEUE, GDA_CAUSE_DEVICE));
	EXPECT_TRUE(gda_engine_pending(&self->a->q));
	/* its memory is gone with it */
	self->a->q.sq = NULL;
	EXPECT_EQ(3, th_run(self->a));
	EXPECT_EQ(1, self->a->q.executed);
	EXPECT_EQ(2, self->a->q.flushed);
	EXPECT_EQ(GDA_CAUSE_DEVICE, self->a->q.first.cause);
	EXPECT_EQ(0, self->a->q.first_error);
	EXPECT_EQ(8, self->a->q.bytes);
	EXPECT_FALSE(gda_engine_pending(&self->a->q));
}

/* A key that is revoked between two steps moves no byte more. */
TEST_F(order, K5_revoked_between_two_steps)
{
	open_queues(self, true);
	self->dialect.fatal = th_never_fatal;
	self->chooser.newest = true;
	th_rdma(self->a, GDA_MLX5_WRITE, GDA_MLX5_CE_ALWAYS, self->l, 0, self->r, 0, SIZE / 2);
	th_ring(self->a);
	EXPECT_EQ(1, gda_engine_visit(&self->a->q, 8, 1000));
	self->r->mem.state = GDA_MR_REVOKED;
	EXPECT_EQ(1, th_run(self->a));
	EXPECT_EQ(1000, self->a->q.bytes);
	EXPECT_TRUE(cqe_failed(self->a, 0));
	EXPECT_EQ(GDA_QP_READY, self->a->q.state);
	self->r->mem.state = GDA_MR_LIVE;
	th_rdma(self->a, GDA_MLX5_WRITE, GDA_MLX5_CE_ALWAYS, self->l, 0, self->r, 0, 8);
	th_ring(self->a);
	EXPECT_EQ(1, th_run(self->a));
	EXPECT_FALSE(cqe_failed(self->a, 1));
}

/* Requests with targets of their own: whatever is chosen, each takes place once. */
static void one_world(struct __test_metadata *_metadata, FIXTURE_DATA(order) *self, bool unordered)
{
	struct th_rand *r = &self->chooser.r;
	u64 model[32], sum = 0;
	u32 done[32] = { 0 };
	u32 i, n = 1 + th_below(r, 32);
	u64 was = ~0ULL;

	open_queues(self, unordered);
	for (i = 0; i < n; i++) {
		u64 v = th_rand(r);

		set8(self->l, 16 * i, v);
		set8(self->r, 16 * i, ~v);
		model[i] = v;
		switch (th_below(r, 4)) {
		case 0:
			th_rdma(self->a, GDA_MLX5_READ, GDA_MLX5_CE_ALWAYS, self->l, 16 * i,
				self->r, 16 * i, 8);
			model[i] = ~v;
			break;
		case 1:
			th_atomic(self->a, GDA_MLX5_ATOMIC_FA, GDA_MLX5_CE_ALWAYS, self->l, 16 * i,
				  self->r, 16 * i, 1, 0);
			model[i] = ~v;
			break;
		case 2:
			th_inline(self->a, GDA_MLX5_CE_ALWAYS, &v, 8, self->r, 16 * i);
			break;
		default:
			th_rdma(self->a, GDA_MLX5_WRITE, GDA_MLX5_CE_ALWAYS, self->l, 16 * i,
				self->r, 16 * i, 8);
		}
		if (!th_below(r, 4))
			fence(self->a, i);
		if (!th_below(r, 3)) {
			th_ring(self->a);
			gda_engine_visit(&self->a->q, 1 + th_below(r, 4), 1 + th_below(r, 64));
		}
	}
	th_ring(self->a);
	while (gda_engine_visit(&self->a->q, 1 + th_below(r, 4), 1 + th_below(r, 64)))
		;
	ASSERT_EQ(n, self->a->cq.producer);
	for (i = 0; i < n; i++) {
		u32 index = cqe_index(self->a, i);

		ASSERT_GT(n, index);
		done[index]++;
		EXPECT_FALSE(cqe_failed(self->a, i));
		if (!unordered)
			EXPECT_EQ(was + 1, index);
		was = index;
	}
	for (i = 0; i < n; i++) {
		EXPECT_EQ(1, done[i]);
		EXPECT_EQ(model[i], get8(self->l, 16 * i));
		sum += 8;
	}
	EXPECT_EQ(sum, self->a->q.bytes);
	EXPECT_EQ(n, self->a->q.executed);
	EXPECT_EQ(n, self->a->q.ci);
	EXPECT_EQ(n, self->a->sent.value);
}

TEST_F(order, each_takes_place_once)
{
	u32 i;

	for (i = 0; i < WORLDS; i++) {
		if (i)
			close_queues(self);
		one_world(_metadata, self, i % 2);
	}
	/* or nothing was shown */
	EXPECT_LT(WORLDS, self->chooser.chosen);
}

TEST_HARNESS_MAIN
