// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Completion queues: the polling rule of collapsed ones, exhaustively; ownership,
 * laps and overflow of rings; consumers that lie.
 */
#include <endian.h>
#include <stdlib.h>
#include "host.h"
#include "kselftest_harness.h"

/*
 * The rule of the pollers in the field (DeepEP, NVSHMEM, DOCA): @idx is the index
 * behind the one waited for, @counter is read from the entry.
 */
static bool rule_waits(u64 idx, u16 counter, u32 ncqes)
{
	return (u16)(idx - counter - 2) < ncqes;
}

/*
 * How many of @n indices from @idx on the rule calls incomplete; 2^33 are asked about,
 * so this is made for speed.
 */
__attribute__((optimize("O3"), no_sanitize("undefined", "address")))
static u32 count_waiting(u16 idx, u32 n, u16 counter, u32 ncqes)
{
	u16 last = (u16)(ncqes - 1);	/* below ncqes, in 16 bits */
	u32 i, part, waiting = 0;

	for (; n; n -= part, idx = (u16)(idx + part)) {
		u16 some = 0;		/* 16 bits wide, like all in the loop */

		part = min(n, 32768U);
		for (i = 0; i < part; i++)
			some = (u16)(some + ((u16)(idx + i - counter - 2) <= last));
		waiting += some;
	}
	return waiting;
}

/*
 * With C completed and counter (u16)(C - 1): all that is posted beyond C, at most
 * depth, waits; everything before, up to 65536 - depth back, does not. Over all 2^16
 * counters and every power of two up to 32768, every index in the window.
 */
TEST(I_13_rule_waits_for_all_that_is_posted)
{
	u32 depth, c, bad = 0;

	for (depth = 1; depth <= 32768; depth *= 2)
		for (c = 0; c < 0x10000; c++)
			bad += count_waiting((u16)(c + 1), depth, (u16)(c - 1), depth) != depth;
	EXPECT_EQ(0, bad);
}

/*
 * The complement: all 2^16 counters against all 65536 - depth indices, for the
 * smallest and the largest depth. The next test has the edges of all others.
 */
TEST(I_13_rule_ends_for_all_that_is_done)
{
	static const u32 depths[] = { 1, 32768 };
	u32 d, c, bad = 0;

	for (d = 0; d < 2; d++) {
		u32 done = 0x10000 - depths[d];

		for (c = 0; c < 0x10000; c++)
			bad += count_waiting((u16)(c - done + 1), done, (u16)(c - 1),
					     depths[d]) != 0;
	}
	EXPECT_EQ(0, bad);
}

TEST(I_13_rule_ends_at_every_depth)
{
	u32 depth, c, bad = 0;

	for (depth = 1; depth <= 32768; depth *= 2) {
		for (c = 0; c < 0x10000; c++) {
			u32 done = 0x10000 - depth;

			/* the newest and the oldest */
			bad += rule_waits(c, (u16)(c - 1), depth);
			bad += rule_waits((u64)c + 0x10000 - done + 1, (u16)(c - 1), depth);
			/* one further back and it would wait for ever */
			bad += !rule_waits((u64)c + 0x10000 - done, (u16)(c - 1), depth);
		}
	}
	EXPECT_EQ(0, bad);
}

/* Memory preset to zero says that index 0 is done before it was posted. */
TEST(I_13_preset)
{
	struct th_qp *qp;
	u32 depth, i;

	for (depth = 1; depth <= 32768; depth *= 2) {
		qp = th_qp_new(NULL, NULL, depth, 0);
		for (i = 0; i < 64; i++)
			EXPECT_EQ(0xff, qp->cqe[i]);
		EXPECT_EQ(GDA_MLX5_CQE_INVALID, th_cqe_opcode(qp));
		for (i = 1; i <= depth; i++)
			if (!rule_waits(i, th_cqe_counter(qp), depth))
				break;
		EXPECT_EQ(depth + 1, i);
		EXPECT_FALSE(rule_waits(0, th_cqe_counter(qp), depth));
		/* the hazard: */
		EXPECT_FALSE(rule_waits(1, 0x0000, depth));
		th_qp_free(qp);
	}
}

/* The rule and the engine together, over several wraps of the index. */
TEST(I_12_I_13_engine_and_rule)
{
	static const u32 depths[] = { 1, 2, 16, 1024, 32768 };
	struct th_rand r = { 13 };
	u32 d, bad = 0;
	u64 i;

	for (d = 0; d < 5; d++) {
		struct th_qp *qp = th_qp_new(NULL, NULL, depths[d], 0);
		u32 step = depths[d] > 64 ? depths[d] / 16 : 1;

		th_qp_pair(qp, qp);
		while (qp->next < 200000) {
			u16 counter;

			while (qp->next - qp->q.ci < depths[d] && th_below(&r, 64))
				th_nop(qp, GDA_MLX5_CE_ALWAYS);
			th_ring(qp);
			gda_engine_visit(&qp->q, 1 + th_below(&r, depths[d]), 1);
			counter = th_cqe_counter(qp);
			for (i = qp->q.ci + 1; i <= qp->next; i += 1 + th_below(&r, step))
				bad += !rule_waits(i, counter, depths[d]);
			for (i = 0; i < 0x10000 - depths[d] && i < qp->q.ci;
			     i += 1 + th_below(&r, 5000))
				bad += rule_waits(qp->q.ci - i, counter, depths[d]);
		}
		EXPECT_EQ(GDA_QP_READY, qp->q.state);
		th_qp_free(qp);
	}
	EXPECT_EQ(0, bad);
}

/* DOCA's and UCX's ways to widen the counter agree with the engine's index. */
TEST(I_13_unwrap)
{
	struct th_rand r = { 14 };
	u32 i, bad = 0;

	for (i = 0; i < 1000000; i++) {
		u64 done = th_rand(&r) >> th_below(&r, 60);
		u64 idx = done + th_below(&r, 32769);
		u16 counter = (u16)(done - 1);
		u64 ci = ((idx & ~0xffffULL) | (u16)(counter + 1));

		if ((u16)idx < (u16)(counter + 1))
			ci -= 0x10000;
		bad += ci != done;
		bad += idx - (u16)(idx - 1 - counter) != done;
	}
	EXPECT_EQ(0, bad);
}

static u8 *entry(struct th_qp *qp, u64 n)
{
	return qp->cqe + (n & (qp->cq.depth - 1)) * 64;
}

/* mlx5's test: not invalid, and of this lap. */
static bool owned(struct th_qp *qp, u64 n)
{
	u8 op_own = entry(qp, n)[63];

	return op_own >> 4 != GDA_MLX5_CQE_INVALID && (op_own & 1) == !!(n & qp->cq.depth);
}

TEST(ring_ownership_over_laps)
{
	static const u32 depths[] = { 1, 2, 8, 256 };
	struct th_rand r = { 15 };
	u32 d, bad = 0;

	for (d = 0; d < 4; d++) {
		struct th_qp *qp = th_qp_new(NULL, NULL, depths[d], depths[d]);
		u64 consumer = 0, i;

		th_qp_pair(qp, qp);
		for (i = 0; i < depths[d]; i++)
			bad += owned(qp, i) || (entry(qp, i)[63] & 1) != 1;
		while (consumer < 20ULL * depths[d] + 70000 / depths[d]) {
			/* at most depth uncollected, so the CQ never overflows */
			while (qp->next - consumer < depths[d] && th_below(&r, 8))
				th_nop(qp, GDA_MLX5_CE_ALWAYS);
			th_ring(qp);
			th_run(qp);
			for (i = consumer; i < consumer + depths[d]; i++) {
				const u8 *cqe = entry(qp, i);

				bad += owned(qp, i) != (i < qp->next);
				bad += i < qp->next && (cqe[60] << 8 | cqe[61]) != (u16)i;
			}
			consumer += th_below(&r, (u32)(qp->next - consumer) + 1);
			qp->consumer = gda_be32((u32)consumer & 0xffffff);
		}
		EXPECT_EQ(GDA_QP_READY, qp->q.state);
		EXPECT_EQ(0, qp->refused);
		th_qp_free(qp);
	}
	EXPECT_EQ(0, bad);
}

/* Past 2^24 completions the 24-bit consumer index has wrapped. */
TEST(ring_consumer_index_wraps)
{
	struct th_qp *qp = th_qp_new(NULL, NULL, 16, 16);
	struct gda_completion c = { .kind = GDA_COMPLETION_DONE };
	u32 i;

	qp->cq.producer = 0xfffff8;
	qp->consumer = gda_be32(0xfffff8);
	for (i = 0; i < 64; i++) {
		EXPECT_TRUE(gda_cq_push(&qp->cq, &c));
		EXPECT_TRUE(owned(qp, 0xfffff8 + i));
		qp->consumer = gda_be32((0xfffff8 + i + 1) & 0xffffff);
	}
	for (i = 0; i < 16; i++)
		EXPECT_TRUE(gda_cq_push(&qp->cq, &c));
	EXPECT_FALSE(gda_cq_push(&qp->cq, &c));
	th_qp_free(qp);
}

TEST(ring_overflow_fails_the_queue)
{
	struct th_qp *qp = th_qp_new(NULL, NULL, 64, 4);
	u8 before[4 * 64];
	u32 i;

	th_qp_pair(qp, qp);
	for (i = 0; i < 4; i++)
		th_nop(qp, GDA_MLX5_CE_ALWAYS);
	th_ring(qp);
	th_run(qp);
	EXPECT_EQ(GDA_QP_READY, qp->q.state);
	memcpy(before, qp->cqe, sizeof(before));
	/* nobody consumes: the next completion has no room; what asks for none has */
	th_nop(qp, GDA_MLX5_CE_ERROR);
	th_nop(qp, GDA_MLX5_CE_ALWAYS);
	th_nop(qp, GDA_MLX5_CE_ALWAYS);
	th_ring(qp);
	EXPECT_EQ(3, th_run(qp));
	EXPECT_EQ(GDA_QP_ERROR, qp->q.state);
	EXPECT_EQ(5, qp->q.first_error);
	EXPECT_EQ(GDA_MLX5_VENDOR_CQ, qp->q.first.cause);
	EXPECT_EQ(6, qp->q.executed);
	EXPECT_EQ(1, qp->q.flushed);
	EXPECT_TRUE(qp->cq.failed);
	EXPECT_EQ(0, memcmp(before, qp->cqe, sizeof(before)));
	/* for good, even if somebody consumes now */
	qp->consumer = gda_be32(4);
	th_nop(qp, GDA_MLX5_CE_ALWAYS);
	th_ring(qp);
	EXPECT_EQ(1, th_run(qp));
	EXPECT_EQ(0, memcmp(before, qp->cqe, sizeof(before)));
	th_qp_free(qp);
}

/* Any number in the consumer record: entries or a failed CQ, and nothing else. */
TEST(S3_consumer_lies)
{
	struct th_rand r = { 16 };
	u32 i, k, failed = 0, bad = 0;

	for (i = 0; i < 20000; i++) {
		struct th_qp *qp = th_qp_new(NULL, NULL, 16, 8);
		u32 value = (u32)th_rand(&r) >> th_below(&r, 32);
		bool full;

		th_qp_pair(qp, qp);
		qp->consumer = gda_be32(value);
		for (k = 0; k < 12; k++)
			th_nop(qp, GDA_MLX5_CE_ALWAYS);
		th_ring(qp);
		th_run(qp);
		/* the first push sees producer 0 */
		full = ((0 - value) & 0xffffff) >= 8;
		bad += full && (qp->cq.producer || !qp->cq.failed);
		bad += qp->cq.failed != (qp->q.state == GDA_QP_ERROR);
		bad += qp->q.ci != 12;
		failed += qp->cq.failed;
		th_qp_free(qp);
	}
	EXPECT_EQ(0, bad);
	EXPECT_LT(10000, failed);
}

/* Several queues share a ring; each gets its own entries, by number. */
TEST(ring_is_shared)
{
	struct th_dev dev = { 0 };
	struct th_qp *a = th_qp_new(&dev, NULL, 16, 64);
	struct th_qp *b = th_qp_new(&dev, NULL, 16, 0);
	u32 i, k, of_b = 0;

	b->q.cq = &a->cq;
	b->q.qpn = 0x77;
	gda_engine_init(&b->q);
	th_qp_pair(a, a);
	th_qp_pair(b, b);
	for (i = 0; i < 5; i++) {
		for (k = 0; k < 2; k++) {
			th_nop(k ? b : a, GDA_MLX5_CE_ALWAYS);
			th_ring(k ? b : a);
			th_run(k ? b : a);
		}
	}
	for (i = 0; i < 10; i++) {
		struct gda_mlx5_cqe *cqe = (void *)entry(a, i);

		EXPECT_TRUE(owned(a, i));
		of_b += (gda_be32_to_cpu(cqe->sop_qpn) & 0xffffff) == 0x77;
	}
	EXPECT_FALSE(owned(a, 10));
	EXPECT_EQ(5, of_b);
	th_qp_free(a);
	th_qp_free(b);
}

/* A ring without a record is the consumer's own risk: it is lapped, never failed. */
TEST(ring_without_a_record)
{
	struct th_qp *qp = th_qp_new(NULL, NULL, 16, 4);
	u32 i;

	qp->cq.consumer = NULL;
	th_qp_pair(qp, qp);
	for (i = 0; i < 100; i++) {
		th_nop(qp, GDA_MLX5_CE_ALWAYS);
		th_ring(qp);
		th_run(qp);
		EXPECT_TRUE(owned(qp, i));
	}
	EXPECT_FALSE(qp->cq.failed);
	th_qp_free(qp);
}

/* Errors on a ring: one entry for each work request. */
TEST(I_14_ring_error_entries)
{
	struct th_dev dev = { 0 };
	struct th_qp *qp = th_qp_new(&dev, NULL, 16, 16);
	struct gda_mlx5_err_cqe *err;
	u32 i;

	th_qp_pair(qp, qp);
	th_nop(qp, GDA_MLX5_CE_ERROR);
	gda_mlx5_set_ctrl(th_ctrl(qp, 0), 0, 0x55, TH_QPN, 1, 0, 0);
	for (i = 0; i < 3; i++)
		th_nop(qp, GDA_MLX5_CE_ERROR);
	th_ring(qp);
	EXPECT_EQ(4, th_run(qp));
	for (i = 0; i < 4; i++) {
		err = (void *)entry(qp, i);
		EXPECT_TRUE(owned(qp, i));
		EXPECT_EQ(GDA_MLX5_CQE_REQ_ERR, err->op_own >> 4);
		EXPECT_EQ(i ? GDA_MLX5_SYND_WR_FLUSH : GDA_MLX5_SYND_LOCAL_QP_OP, err->syndrome);
		EXPECT_EQ(i ? 0 : GDA_MLX5_VENDOR_OPCODE, err->vendor_err_synd);
		EXPECT_EQ(0, gda_be64_to_cpu(err->first_error));
		EXPECT_EQ(GDA_MLX5_VENDOR_OPCODE, err->first_vendor);
	}
	EXPECT_FALSE(owned(qp, 4));
	th_qp_free(qp);
}

/*
 * A queue that fails with nothing posted: an entry would hand out a wr_id twice. The event
 * is at once, the entry is that of the next work request, and the rest is flushed.
 */
TEST(ring_has_no_entry_of_what_was_never_posted)
{
	static const u32 fail = GDA_FAIL_PEER;
	struct th_dev dev = { 0 };
	struct gda_mlx5_err_cqe *err;
	u32 i, state;

	for (state = GDA_QP_INIT; state < GDA_QP_ERROR; state++) {
		struct th_qp *qp = th_qp_new(&dev, NULL, 16, 16);
		u32 done = 0;

		th_qp_pair(qp, qp);
		for (; state == GDA_QP_READY && done < 5; done++)
			th_nop(qp, GDA_MLX5_CE_ALWAYS);
		th_ring(qp);
		th_run(qp);
		qp->q.state = state;
		WRITE_ONCE(qp->q.fail, fail);
		EXPECT_TRUE(gda_engine_pending(&qp->q));
		EXPECT_EQ(1, gda_engine_visit(&qp->q, 64, 1));
		EXPECT_EQ(GDA_QP_ERROR, qp->q.state);
		EXPECT_EQ(done, qp->q.first_error);
		EXPECT_EQ(GDA_MLX5_SYND_RETRY_EXC, th_syndrome(qp));
		EXPECT_FALSE(owned(qp, done));
		EXPECT_EQ(done, qp->pushes);
		EXPECT_EQ(1, qp->events);
		EXPECT_EQ(0, qp->sent.errors);
		EXPECT_EQ(0, th_run(qp));

		for (i = 0; i < 3; i++)
			th_nop(qp, GDA_MLX5_CE_ERROR);
		th_ring(qp);
		EXPECT_EQ(3, th_run(qp));
		for (i = 0; i < 3; i++) {
			err = (void *)entry(qp, done + i);
			EXPECT_TRUE(owned(qp, done + i));
			EXPECT_EQ(GDA_MLX5_CQE_REQ_ERR, err->op_own >> 4);
			EXPECT_EQ(i ? GDA_MLX5_SYND_WR_FLUSH : GDA_MLX5_SYND_RETRY_EXC,
				  err->syndrome);
			EXPECT_EQ(i ? 0 : GDA_MLX5_VENDOR_PEER, err->vendor_err_synd);
			EXPECT_EQ(done + i, be16toh(err->wqe_counter));
			EXPECT_EQ(done, gda_be64_to_cpu(err->first_error));
			EXPECT_EQ(GDA_MLX5_VENDOR_PEER, err->first_vendor);
		}
		EXPECT_FALSE(owned(qp, done + 3));
		EXPECT_EQ(3, qp->sent.errors);
		EXPECT_EQ(2, qp->q.flushed);
		th_qp_free(qp);
	}
}

/* Posted work takes the blame at once, and a collapsed CQ names the next slot. */
TEST(error_of_a_queue_with_work_is_not_deferred)
{
	static const u32 fail = GDA_FAIL_PEER;
	u32 depth;

	for (depth = 0; depth < 32; depth += 16) {
		struct th_qp *qp = th_qp_new(NULL, NULL, 16, depth);

		th_qp_pair(qp, qp);
		if (depth) {
			th_nop(qp, GDA_MLX5_CE_ERROR);
			th_ring(qp);
		}
		WRITE_ONCE(qp->q.fail, fail);
		EXPECT_EQ(1, th_run(qp));
		EXPECT_EQ(1, qp->pushes);
		EXPECT_EQ(1, qp->events);
		EXPECT_EQ(GDA_MLX5_SYND_RETRY_EXC, th_err(qp)->syndrome);
		EXPECT_EQ(0, th_cqe_counter(qp));
		th_qp_free(qp);
	}
}

/* Entries of 128 bytes: each has its 64 at the end, and what is before is the reader's. */
TEST(wide_entries)
{
	const u32 depth = 8;
	struct th_qp *qp = th_qp_new(NULL, NULL, 1, depth);
	u8 *room = th_alloc(64, depth * 128UL), before[64];
	struct gda_completion c = { .kind = GDA_COMPLETION_DONE, .qpn = 0x123 };
	u32 i;

	memset(room, 0x5a, depth * 128UL);
	memset(before, 0x5a, sizeof(before));
	qp->cq.entries = room + 64;
	qp->cq.wide = 1;
	gda_cq_init(&qp->cq);
	for (i = 0; i < depth; i++)
		EXPECT_EQ(GDA_MLX5_CQE_INVALID, room[i * 128 + 127] >> 4);
	for (i = 0; i < 3 * depth; i++) {
		const struct gda_mlx5_cqe *cqe = (void *)(room + i % depth * 128 + 64);

		c.index = i;
		EXPECT_TRUE(gda_cq_push(&qp->cq, &c));
		EXPECT_EQ(i, be16toh(cqe->wqe_counter));
		EXPECT_EQ(!!(i & depth), cqe->op_own & 1);
		EXPECT_EQ(GDA_MLX5_CQE_REQ, cqe->op_own >> 4);
		EXPECT_EQ(0, memcmp(before, room + i % depth * 128, 64));
		qp->consumer = gda_be32(i + 1);
	}
	free(room);
	th_qp_free(qp);
}

/*
 * A consumer that was told of a move counts on from there when it polls. Its index in 24 bits comes
 * again, and is no sign of the move then.
 */
TEST(a_move_is_forgotten_after_a_lap)
{
	struct th_dev dev = { 0 };
	struct th_qp *qp = th_qp_new(&dev, &dev, 4, 4);
	const struct gda_completion c = { .kind = GDA_COMPLETION_DONE };
	u8 *entries = th_alloc(64, 4 * GDA_MLX5_SLOT_BYTES);

	ASSERT_TRUE(gda_dialect_mlx5.move(&qp->cq, entries, 4));
	for (int i = 0; i < 4; i++)
		EXPECT_TRUE(gda_dialect_mlx5.finish(&qp->cq, &c));
	/* the entry of the move counts as read, and four are not */
	EXPECT_FALSE(gda_dialect_mlx5.finish(&qp->cq, &c));
	/* all were read, and many more: the index is that of the move again */
	qp->cq.failed = false;
	qp->cq.producer = 1U << 24;
	for (int i = 0; i < 4; i++)
		EXPECT_TRUE(gda_dialect_mlx5.finish(&qp->cq, &c));
	EXPECT_FALSE(gda_dialect_mlx5.finish(&qp->cq, &c));
	qp->cq.failed = false;
	EXPECT_FALSE(gda_dialect_mlx5.move(&qp->cq, entries, 4));
	free(entries);
	th_qp_free(qp);
}

TEST_HARNESS_MAIN
