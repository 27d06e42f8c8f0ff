// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Doorbells: every 16-bit value from both sources against a naive model, at every
 * depth; producers that use one source only, for ever; late and repeated rings;
 * values no legal producer writes.
 */
#include "host.h"
#include "visit.h"
#include "kselftest_harness.h"

#define ILLEGAL	-2
#define STALE	-1

/* The meaning of index v to a consumer at ci: slots ahead, STALE or ILLEGAL. */
static void model(u64 ci, u32 depth, int *table)
{
	u32 k;

	for (k = 0; k < 0x10000; k++)
		table[k] = ILLEGAL;
	for (k = 1; k <= depth || k <= 0x8000 - depth; k++)
		table[(ci - k) & 0xffff] = STALE;
	for (k = 0; k <= depth; k++)
		table[(ci + k) & 0xffff] = (int)k;
}

static struct gda_status refresh(struct th_qp *qp)
{
	return gda_engine_refresh(&qp->q, &qp->q, qp->q.dialect);
}

/* A refresh at ci, pi with raw values in both sources, from a clean slate. */
static bool refresh_is(struct th_qp *qp, u64 ci, u64 pi, u32 db, u32 rec, u32 seen,
		       const int *table)
{
	int want = (int)(pi - ci);
	struct gda_ring_scan scan;
	bool illegal = false;
	struct gda_status st;
	u32 v[2] = { db, rec };
	u32 k;

	for (k = 0; k < 2; k++) {
		if (v[k] == seen)
			continue;
		illegal |= table[v[k]] == ILLEGAL;
		if (table[v[k]] > want)
			want = table[v[k]];
	}
	qp->q.ci = ci;
	qp->q.pi = pi;
	qp->q.seen_db = seen;
	qp->q.seen_dbrec = seen;
	qp->db = gda_mlx5_doorbell(db, TH_QPN);
	qp->dbrec[1] = gda_mlx5_dbrec(rec);
	qp->q.dialect->published(&qp->q, &scan);
	st = refresh(qp);
	return scan.ahead == (u32)want && scan.illegal == illegal &&
	       qp->q.pi == ci + (u64)want && qp->q.seen_db == db && qp->q.seen_dbrec == rec &&
	       st.class == (illegal ? GDA_CLASS_QUEUE : 0) &&
	       st.cause == (illegal ? GDA_CAUSE_DOORBELL : 0);
}

TEST(I_11_S2_every_value_every_depth)
{
	static const u64 starts[] = {
		0, 0x7ffe, 0xfffe, 0x18001, 0xfffffffffULL,
	};
	static int table[0x10000];
	u32 depth, i, v, bad = 0;

	for (depth = 1; depth <= 32768; depth *= 2) {
		struct th_qp *qp = th_qp_new(NULL, NULL, depth, 0);

		for (i = 0; i < ARRAY_SIZE(starts); i++) {
			u64 ci = starts[i];
			u64 pi = ci + (i % 4 ? depth / i : 0);
			u32 seen = (u32)(ci + i) & 0xffff;

			model(ci, depth, table);
			for (v = 0; v < 0x10000; v++) {
				bad += !refresh_is(qp, ci, pi, v, seen, seen, table);
				bad += !refresh_is(qp, ci, pi, seen, v, seen, table);
				bad += !refresh_is(qp, ci, pi, v, (v * 40503) & 0xffff, seen,
						   table);
			}
		}
		th_qp_free(qp);
	}
	EXPECT_EQ(0, bad);
}

/* Only bits 8..23 of the first four bytes count, of the record only its low half. */
TEST(I_11_S2_other_bits_are_ignored)
{
	struct th_qp *qp = th_qp_new(NULL, NULL, 64, 0);
	struct th_rand r = { 5 };
	u32 i, bad = 0;

	for (i = 0; i < 100000; i++) {
		u32 v = th_below(&r, 65);
		u64 noise = th_rand(&r);

		qp->q.ci = 0;
		qp->q.pi = 0;
		qp->q.seen_db = 0;
		qp->q.seen_dbrec = 0;
		qp->db = gda_be64((noise & ~(0xffffULL << 40)) | (u64)v << 40);
		qp->dbrec[0] = gda_be32((u32)noise);
		qp->dbrec[1] = gda_be32((u32)noise << 16);
		bad += refresh(qp).class || qp->q.pi != v;
		qp->q.pi = 0;
		qp->q.seen_db = v;
		qp->dbrec[1] = gda_be32((u32)noise << 16 | v);
		bad += refresh(qp).class || qp->q.pi != v;
	}
	EXPECT_EQ(0, bad);
	th_qp_free(qp);
}

/* The doorbell that DOCA leaves: a 17-bit index spills into the opmod byte. */
TEST(I_11_golden_doorbell_is_taken)
{
	static const u8 golden[8] = { 0x01, 0xab, 0xcd, 0x00, 0x12, 0x34, 0x56, 0x00 };
	struct th_qp *qp = th_qp_new(NULL, NULL, 16, 0);

	qp->q.ci = 0x1abc0;
	qp->q.pi = 0x1abc0;
	memcpy(&qp->db, golden, 8);
	EXPECT_EQ(0, refresh(qp).class);
	EXPECT_EQ(0x1abcd, qp->q.pi);
	th_qp_free(qp);
}

enum how { DB_ONLY, REC_ONLY, BOTH, ALTERNATE, HOWS };

static void ring(struct th_qp *qp, enum how how, u32 turn)
{
	if (how == DB_ONLY || how == BOTH || (how == ALTERNATE && turn & 1))
		th_ring_db(qp, qp->next);
	if (how == REC_ONLY || how == BOTH || (how == ALTERNATE && !(turn & 1)))
		th_ring_rec(qp, qp->next);
}

/* I_06: the slot of an index is at index & (depth - 1); found there, lap after lap. */
TEST(I_06_I_11_one_source_for_ever)
{
	static const u32 depths[] = { 1, 2, 64, 4096, 32768 };
	struct th_rand r = { 6 };
	enum how how;
	u32 d, turn;

	for (how = DB_ONLY; how < HOWS; how++) {
		for (d = 0; d < 5; d++) {
			struct th_qp *qp = th_qp_new(NULL, NULL, depths[d], 0);
			u64 total = depths[d] == 1 ? 70000 : 300000;

			th_qp_pair(qp, qp);
			for (turn = 0; qp->next < total; turn++) {
				u32 n = 1 + th_below(&r, depths[d]);

				while (n--)
					th_nop(qp, GDA_MLX5_CE_ALWAYS);
				ring(qp, how, turn);
				th_run(qp);
				if (qp->q.ci != qp->next)
					break;
			}
			EXPECT_EQ(qp->q.executed, qp->next);
			EXPECT_EQ(qp->q.state, GDA_QP_READY);
			EXPECT_EQ(th_cqe_counter(qp), (u16)(qp->next - 1));
			EXPECT_FALSE(gda_engine_pending(&qp->q));
			th_qp_free(qp);
		}
	}
}

/* Producers that were delayed store older indices after newer ones, to both places. */
TEST(I_08_I_10_late_rings_move_nothing_back)
{
	static const u32 depths[] = { 1, 4, 256, 16384 };
	struct th_rand r = { 8 };
	u32 d, turn;

	for (d = 0; d < 4; d++) {
		struct th_qp *qp = th_qp_new(NULL, NULL, depths[d], 0);
		u64 pi = 0, ci = 0;

		th_qp_pair(qp, qp);
		for (turn = 0; turn < 20000; turn++) {
			u32 late = th_below(&r, min(0x8000 - depths[d], (u32)qp->next) + 1);

			while (qp->next - qp->q.ci < depths[d] && th_below(&r, 4))
				th_nop(qp, GDA_MLX5_CE_ERROR);
			if (th_below(&r, 2))
				th_ring_db(qp, qp->next);
			if (th_below(&r, 2))
				th_ring_rec(qp, qp->next);
			gda_engine_visit(&qp->q, th_below(&r, depths[d] + 2), 1);
			/* behind the consumer or between it and the producer */
			if (th_below(&r, 2))
				th_ring_db(qp, qp->next - min((u64)late, qp->next));
			if (th_below(&r, 2))
				th_ring_rec(qp, qp->next - min((u64)late, qp->next));
			gda_engine_visit(&qp->q, th_below(&r, 3), 1);
			if (qp->q.pi < pi || qp->q.ci < ci || qp->q.pi > qp->next)
				break;
			pi = qp->q.pi;
			ci = qp->q.ci;
		}
		EXPECT_EQ(20000, turn);
		EXPECT_EQ(GDA_QP_READY, qp->q.state);
		th_ring(qp);
		th_run(qp);
		EXPECT_EQ(qp->next, qp->q.executed);
		th_qp_free(qp);
	}
}

/*
 * One source shows a ring; the other, behind by what one ring covers, shows the ring
 * before it only after that was consumed.
 */
TEST(I_10_one_source_overtakes_the_other)
{
	u32 depth, batch, k;

	for (depth = 1; depth <= 32768; depth *= 2) {
		/* a ring of 2^15 at once can not be told from one that is as late */
		for (batch = 1; batch <= depth && batch < 32768; batch *= 2) {
			struct th_qp *qp = th_qp_new(NULL, NULL, depth, 0);
			u64 rung = 0;

			th_qp_pair(qp, qp);
			for (k = 0; k < 5; k++) {
				u32 n = batch;

				th_ring_db(qp, rung);
				gda_engine_visit(&qp->q, depth, 1);
				rung = qp->next;
				while (n--)
					th_nop(qp, GDA_MLX5_CE_ERROR);
				th_ring_rec(qp, qp->next);
				while (gda_engine_visit(&qp->q, depth, 1))
					;
			}
			EXPECT_EQ(GDA_QP_READY, qp->q.state)
				TH_LOG("depth %u batch %u", depth, batch);
			EXPECT_EQ(5 * batch, qp->q.executed);
			th_qp_free(qp);
		}
	}
}

/* At 2^15 slots no index is illegal, but no unwritten entry is taken for work. */
TEST(S2_beyond_the_largest_ring)
{
	static const u32 ahead[] = { 2, 3, 100, 0x4000, 0x7fff, 0x8000 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(ahead); i++) {
		struct th_qp *qp = th_qp_new(NULL, NULL, 32768, 0);

		th_qp_pair(qp, qp);
		/* a lap of NOPs, then one more and a lie */
		while (qp->next < 32768)
			th_nop(qp, GDA_MLX5_CE_ERROR);
		th_ring(qp);
		th_run(qp);
		th_nop(qp, GDA_MLX5_CE_ERROR);
		th_ring_db(qp, qp->q.ci + ahead[i]);
		th_run(qp);
		EXPECT_EQ(GDA_QP_ERROR, qp->q.state);
		EXPECT_EQ(32769, qp->q.executed);
		EXPECT_EQ(32769, th_first_error(qp));
		EXPECT_EQ(GDA_MLX5_VENDOR_INDEX, th_err(qp)->first_vendor);
		th_qp_free(qp);
	}
}

/* An index that covers what was never written fails the queue and no other. */
TEST(S2_beyond_the_ring_is_an_error)
{
	static const u32 ahead[] = { 17, 18, 1000, 0x4000, 0x7fff, 0x8000, 0x8001, 0x800f };
	struct th_dev dev = { 0 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(ahead); i++) {
		struct th_qp *a = th_qp_new(&dev, NULL, 16, 0);
		struct th_qp *b = th_qp_new(&dev, NULL, 16, 0);

		th_qp_pair(a, a);
		th_qp_pair(b, b);
		th_nop(a, GDA_MLX5_CE_ALWAYS);
		th_ring(a);
		th_run(a);
		th_nop(b, GDA_MLX5_CE_ALWAYS);
		th_ring(b);

		th_ring_db(a, a->q.ci + ahead[i]);
		EXPECT_TRUE(gda_engine_pending(&a->q));
		EXPECT_EQ(1, gda_engine_visit(&a->q, 64, 64));
		EXPECT_EQ(GDA_QP_ERROR, a->q.state);
		EXPECT_EQ(GDA_MLX5_CQE_REQ_ERR, th_cqe_opcode(a));
		EXPECT_EQ(GDA_MLX5_SYND_LOCAL_QP_OP, th_err(a)->first_syndrome);
		EXPECT_EQ(GDA_MLX5_VENDOR_DOORBELL, th_err(a)->first_vendor);
		EXPECT_EQ(1, th_first_error(a));
		EXPECT_EQ(1, a->q.executed);
		EXPECT_FALSE(gda_engine_pending(&a->q));

		EXPECT_EQ(1, th_run(b));
		EXPECT_EQ(GDA_QP_READY, b->q.state);
		EXPECT_EQ(1, b->q.executed);
		th_qp_free(a);
		th_qp_free(b);
	}
}

/* A bad doorbell while good work is published blames the oldest of it. */
TEST(S2_bad_doorbell_beside_good_record)
{
	struct th_qp *qp = th_qp_new(NULL, NULL, 16, 0);

	th_qp_pair(qp, qp);
	th_nop(qp, GDA_MLX5_CE_ALWAYS);
	th_nop(qp, GDA_MLX5_CE_ALWAYS);
	th_ring_rec(qp, 2);
	th_ring_db(qp, 0x5000);
	EXPECT_EQ(2, th_run(qp));
	EXPECT_EQ(GDA_QP_ERROR, qp->q.state);
	EXPECT_EQ(0, qp->q.executed);
	EXPECT_EQ(1, qp->q.flushed);
	EXPECT_EQ(0, th_first_error(qp));
	EXPECT_EQ(GDA_MLX5_VENDOR_DOORBELL, th_err(qp)->first_vendor);
	EXPECT_EQ(1, th_cqe_counter(qp));
	th_qp_free(qp);
}

/* In error a bad index is nothing, and a good one flushes. */
TEST(S2_doorbells_of_a_failed_queue)
{
	struct th_qp *qp = th_qp_new(NULL, NULL, 16, 0);
	u32 i;

	th_qp_pair(qp, qp);
	th_ring_db(qp, 0x5000);
	EXPECT_EQ(1, th_run(qp));
	for (i = 0; i < 3; i++) {
		th_ring_db(qp, 0x6000 + i);
		th_ring_rec(qp, 0x7000 + i);
		EXPECT_FALSE(gda_engine_pending(&qp->q));
		EXPECT_EQ(0, th_run(qp));
		th_nop(qp, GDA_MLX5_CE_ERROR);
		th_ring_rec(qp, qp->next);
		EXPECT_TRUE(gda_engine_pending(&qp->q));
		EXPECT_EQ(1, th_run(qp));
		EXPECT_EQ(i + 1, qp->q.flushed);
		EXPECT_EQ(GDA_MLX5_SYND_WR_FLUSH, th_err(qp)->syndrome);
		EXPECT_EQ(i, th_cqe_counter(qp));
	}
	EXPECT_EQ(GDA_MLX5_VENDOR_DOORBELL, th_err(qp)->first_vendor);
	th_qp_free(qp);
}

/* Nothing is taken before the peer has named this queue too. */
TEST(doorbell_before_ready_waits)
{
	struct th_qp *qp = th_qp_new(NULL, NULL, 16, 0);
	u32 state;

	for (state = GDA_QP_INIT; state <= GDA_QP_WAIT; state++) {
		qp->q.state = state;
		th_nop(qp, GDA_MLX5_CE_ALWAYS);
		th_ring(qp);
		EXPECT_FALSE(gda_engine_pending(&qp->q));
		EXPECT_EQ(0, gda_engine_visit(&qp->q, 64, 64));
		EXPECT_EQ(0, qp->q.pi);
	}
	th_qp_pair(qp, qp);
	EXPECT_TRUE(gda_engine_pending(&qp->q));
	EXPECT_EQ(2, th_run(qp));
	EXPECT_EQ(2, qp->q.executed);
	th_qp_free(qp);
}

/*
 * The rule of a producer in the field: ring at every fourth message, and at those that
 * are told to. Work that a batch leaves behind its last fourth is not executed until then.
 */
TEST(I_09_tail_of_a_batch_waits_for_the_next_ring)
{
	u32 batch, i;

	for (batch = 1; batch <= 13; batch++) {
		struct th_qp *qp = th_qp_new(NULL, NULL, 16, 0);

		th_qp_pair(qp, qp);
		for (i = 0; i < batch; i++) {
			th_nop(qp, GDA_MLX5_CE_ALWAYS);
			if ((i + 1) % 4 == 0)
				th_ring(qp);
			th_run(qp);
			EXPECT_EQ((i + 1) / 4 * 4, qp->q.executed);
		}
		th_nop(qp, GDA_MLX5_CE_ALWAYS);
		th_ring(qp);
		th_run(qp);
		EXPECT_EQ(batch + 1, qp->q.executed);
		th_qp_free(qp);
	}
}

TEST_HARNESS_MAIN
