// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Decoding: what was encoded comes back; every opcode, segment count, flag and length
 * is either decoded as the format says or refused with the reason.
 */
#include "host.h"
#include "kselftest_harness.h"

#define ROUND_TRIPS	1000000

static struct gda_status decode(struct th_qp *qp, u32 avail, struct gda_work *w)
{
	memset(w, 0xa5, sizeof(*w));
	return gda_dialect_mlx5.decode(&qp->q, avail, w);
}

/* A work request as the poster means it. */
struct meant {
	u32 opcode;
	u8 flags;
	u32 nsge;
	u32 inline_len;
	struct gda_sge sge[2];
	struct gda_sge remote;
	u64 swap_add, compare;
	u8 data[GDA_ENGINE_MAX_INLINE];
};

static u64 any64(struct th_rand *r)
{
	u64 v = th_rand(r);

	return v & 3 ? th_rand(r) : ~0ULL << (v >> 58);
}

static void mean(struct th_rand *r, struct meant *m)
{
	static const u32 opcodes[] = {
		GDA_MLX5_NOP, GDA_MLX5_WRITE, GDA_MLX5_WRITE, GDA_MLX5_READ,
		GDA_MLX5_ATOMIC_FA, GDA_MLX5_ATOMIC_CS,
	};
	u32 i;

	memset(m, 0, sizeof(*m));
	m->opcode = opcodes[th_below(r, 6)];
	m->flags = (u8)th_rand(r);
	m->inline_len = GDA_ENGINE_MAX_INLINE + 1;	/* not inline */
	m->remote.addr = any64(r);
	m->remote.key = (u32)any64(r);
	if (m->opcode == GDA_MLX5_WRITE && th_below(r, 3) == 0) {
		m->inline_len = th_below(r, GDA_ENGINE_MAX_INLINE + 1);
		m->remote.len = m->inline_len;
		for (i = 0; i < m->inline_len; i++)
			m->data[i] = (u8)th_rand(r);
		return;
	}
	if (m->opcode == GDA_MLX5_ATOMIC_FA || m->opcode == GDA_MLX5_ATOMIC_CS) {
		m->nsge = 1;
		m->swap_add = any64(r);
		m->compare = any64(r);
	} else if (m->opcode != GDA_MLX5_NOP) {
		m->nsge = th_below(r, 3);
	}
	for (i = 0; i < m->nsge; i++) {
		m->sge[i].addr = any64(r);
		m->sge[i].key = (u32)any64(r);
		m->sge[i].len = 1 + (th_below(r, 0x3fffffff) >> th_below(r, 30));
		if (m->opcode == GDA_MLX5_ATOMIC_FA || m->opcode == GDA_MLX5_ATOMIC_CS)
			m->sge[i].len = 8;
		m->remote.len += m->sge[i].len;
	}
}

/* Encode at qp->q.ci. Return: slots. */
static u32 encode(struct th_qp *qp, const struct meant *m, struct th_rand *r)
{
	bool atomic = m->opcode == GDA_MLX5_ATOMIC_FA || m->opcode == GDA_MLX5_ATOMIC_CS;
	u64 ci = qp->q.ci;
	u32 i, n = 1;

	/* what is left of older entries is not ours to clear */
	for (i = 0; i < 8; i++)
		memset(th_seg(qp, ci, i), (int)th_rand(r), 16);
	if (m->opcode != GDA_MLX5_NOP)
		gda_mlx5_set_raddr(th_seg(qp, ci, n++), m->remote.addr, m->remote.key);
	if (atomic)
		gda_mlx5_set_atomic(th_seg(qp, ci, n++), m->swap_add, m->compare);
	for (i = 0; i < m->nsge; i++)
		gda_mlx5_set_data(th_seg(qp, ci, n++), m->sge[i].addr, m->sge[i].key,
				  m->sge[i].len);
	if (m->inline_len <= GDA_ENGINE_MAX_INLINE) {
		__be32 count = gda_be32(m->inline_len | GDA_MLX5_INLINE);
		u8 flat[GDA_ENGINE_MAX_INLINE + 4];

		memcpy(flat, &count, 4);
		memcpy(flat + 4, m->data, m->inline_len);
		for (i = 0; i < m->inline_len + 4; i += 16)
			memcpy(th_seg(qp, ci, n++), flat + i, min(16U, m->inline_len + 4 - i));
	}
	if (m->opcode == GDA_MLX5_NOP)
		n += th_below(r, 2);
	gda_mlx5_set_ctrl(th_seg(qp, ci, 0), ci, m->opcode, TH_QPN, n, m->flags,
			  (u32)th_rand(r));
	th_ctrl(qp, ci)->signature = (u8)th_rand(r);
	th_ctrl(qp, ci)->dci[0] = (u8)th_rand(r);
	th_ctrl(qp, ci)->dci[1] = (u8)th_rand(r);
	return (n + 3) / 4;
}

static const u8 op_of[256] = {
	[GDA_MLX5_NOP] = GDA_OP_NOP,
	[GDA_MLX5_WRITE] = GDA_OP_WRITE,
	[GDA_MLX5_READ] = GDA_OP_READ,
	[GDA_MLX5_ATOMIC_FA] = GDA_OP_FETCH_ADD,
	[GDA_MLX5_ATOMIC_CS] = GDA_OP_COMPARE_SWAP,
};

static bool same_sge(const struct gda_sge *a, const struct gda_sge *b)
{
	return a->addr == b->addr && a->key == b->key && a->len == b->len;
}

static bool same(const struct meant *m, const struct gda_work *w)
{
	bool inlined = m->inline_len <= GDA_ENGINE_MAX_INLINE;
	u32 i;

	if (w->op != op_of[m->opcode] || w->opcode != m->opcode || w->nsge != m->nsge ||
	    w->inlined != inlined || w->remote.len != m->remote.len ||
	    w->flags != (m->flags & (GDA_MLX5_CE_ALWAYS | GDA_MLX5_SE)))
		return false;
	if (m->opcode == GDA_MLX5_NOP)
		return true;
	if (!same_sge(&m->remote, &w->remote))
		return false;
	for (i = 0; i < m->nsge; i++)
		if (!same_sge(&m->sge[i], &w->sge[i]))
			return false;
	if (inlined && memcmp(w->data, m->data, m->inline_len))
		return false;
	return !m->swap_add || (w->swap_add == m->swap_add && w->compare == m->compare);
}

TEST(round_trip_random)
{
	struct th_qp *qp[3] = {
		th_qp_new(NULL, NULL, 2, 0), th_qp_new(NULL, NULL, 16, 0),
		th_qp_new(NULL, NULL, 32768, 0),
	};
	struct th_rand r = { 1 };
	u32 i, bad = 0;

	for (i = 0; i < ROUND_TRIPS; i++) {
		struct th_qp *q = qp[i % 3];
		struct gda_status st;
		struct gda_work w;
		struct meant m;
		u32 slots;

		q->q.ci = th_rand(&r);
		mean(&r, &m);
		slots = encode(q, &m, &r);
		st = decode(q, slots, &w);
		if (st.syndrome || st.vendor || w.slots != slots || !same(&m, &w))
			bad++;
	}
	EXPECT_EQ(0, bad);
	for (i = 0; i < 3; i++)
		th_qp_free(qp[i]);
}

/* Independent of the decoder: what is legal, by opcode and segment count. */
static struct gda_status expect(u32 opcode, u32 ds, u32 avail)
{
	static const struct gda_status ok = { 0, 0 };
	static const struct gda_status bad_ds = {
		GDA_MLX5_SYND_LOCAL_QP_OP, GDA_MLX5_VENDOR_DS
	};
	static const struct gda_status bad_opcode = {
		GDA_MLX5_SYND_LOCAL_QP_OP, GDA_MLX5_VENDOR_OPCODE
	};

	if (ds == 0 || ds > 4 * avail || ds > 8)
		return bad_ds;
	switch (opcode) {
	case GDA_MLX5_NOP:
		return ds <= 2 ? ok : bad_ds;
	case GDA_MLX5_WRITE:
	case GDA_MLX5_READ:
		return ds >= 2 && ds <= 4 ? ok : bad_ds;
	case GDA_MLX5_ATOMIC_CS:
	case GDA_MLX5_ATOMIC_FA:
		return ds == 4 ? ok : bad_ds;
	default:
		return bad_opcode;
	}
}

/* Every segment a data segment of 8 bytes: legal wherever one may be. */
static void fill(struct th_qp *qp)
{
	u32 i;

	for (i = 0; i < qp->q.depth * 4; i++)
		gda_mlx5_set_data(th_seg(qp, 0, i), 0x1000, 0x100, 8);
}

TEST(S5_every_opcode_ds_flags)
{
	struct th_qp *qp = th_qp_new(NULL, NULL, 4, 0);
	u32 opcode, ds, flags, avail, bad = 0;

	fill(qp);
	for (opcode = 0; opcode < 256; opcode++) {
		for (ds = 0; ds < 256; ds += ds < 20 ? 1 : 47) {
			for (flags = 0; flags < 256; flags++) {
				struct gda_status st, want;
				struct gda_work w;

				avail = 1 + flags % 4;
				gda_mlx5_set_ctrl(th_ctrl(qp, 0), 0, opcode, TH_QPN, ds,
						  (u8)flags, 0xffffffff);
				st = decode(qp, avail, &w);
				want = expect(opcode, ds, avail);
				bad += st.syndrome != want.syndrome ||
				       st.vendor != want.vendor || w.opcode != opcode ||
				       w.slots < 1 || w.slots > avail;
				if (st.syndrome)
					continue;
				bad += w.op != op_of[opcode] || w.slots != (ds + 3) / 4 ||
				       !(w.flags & GDA_WORK_SIGNALED) != !(flags & 8) ||
				       !(w.flags & GDA_WORK_SOLICITED) != !(flags & 2);
			}
		}
	}
	EXPECT_EQ(0, bad);
	th_qp_free(qp);
}

/* The operand size byte is only for opcodes that are not executed yet. */
TEST(S5_every_opmod)
{
	struct th_qp *qp = th_qp_new(NULL, NULL, 4, 0);
	u32 opcode, opmod, bad = 0;

	fill(qp);
	for (opcode = 0; opcode < 256; opcode++) {
		for (opmod = 1; opmod < 256; opmod++) {
			struct gda_status st;
			struct gda_work w;

			gda_mlx5_set_ctrl(th_ctrl(qp, 0), 0, opmod << 24 | opcode, TH_QPN, 4,
					  0, 0);
			st = decode(qp, 4, &w);
			bad += st.syndrome != GDA_MLX5_SYND_LOCAL_QP_OP ||
			       st.vendor != GDA_MLX5_VENDOR_OPCODE;
		}
	}
	EXPECT_EQ(0, bad);
	th_qp_free(qp);
}

/* Only the slot's own index and the queue's own number are taken. */
TEST(S1_stale_or_foreign_entry)
{
	struct th_qp *qp = th_qp_new(NULL, NULL, 16, 0);
	static const u64 at[] = { 0, 1, 15, 16, 0xffff, 0x10000, 0x123456789abcULL };
	struct gda_status st;
	struct gda_work w;
	u32 i, idx, bad = 0;

	for (i = 0; i < ARRAY_SIZE(at); i++) {
		qp->q.ci = at[i];
		for (idx = 0; idx < 0x10000; idx++) {
			bool mine = idx == (at[i] & 0xffff);

			gda_mlx5_set_ctrl(th_ctrl(qp, at[i]), idx, GDA_MLX5_NOP, TH_QPN, 1, 0, 0);
			st = decode(qp, 16, &w);
			bad += mine != !st.syndrome || w.slots != 1 ||
			       st.vendor != (mine ? 0 : GDA_MLX5_VENDOR_INDEX);
		}
	}
	for (i = 0; i < 24; i++) {
		gda_mlx5_set_ctrl(th_ctrl(qp, qp->q.ci), qp->q.ci, GDA_MLX5_NOP,
				  TH_QPN ^ 1U << i, 1, 0, 0);
		st = decode(qp, 16, &w);
		bad += st.syndrome != GDA_MLX5_SYND_LOCAL_QP_OP ||
		       st.vendor != GDA_MLX5_VENDOR_INDEX;
	}
	EXPECT_EQ(0, bad);
	th_qp_free(qp);
}

TEST(S4_data_lengths)
{
	static const struct {
		u32 a, b;
		bool ok;
	} rows[] = {
		{ 1, 0, true }, { 0x7fffffff, 0, true },
		{ 0x80000000, 0, true /* inline, of no bytes */ },
		{ 1, 1, true }, { 0x7ffffffe, 1, true }, { 1, 0x7ffffffe, true },
		{ 0x7fffffff, 1, false }, { 0x7fffffff, 0x7fffffff, false },
		{ 1, 0x80000000, false }, { 1, 0xffffffff, false },
		{ 0x80000001, 1, false },
	};
	struct th_qp *qp = th_qp_new(NULL, NULL, 4, 0);
	struct gda_status st;
	struct gda_work w;
	u32 i, op;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		u32 ds = rows[i].b ? 4 : 3;

		gda_mlx5_set_ctrl(th_ctrl(qp, 0), 0, GDA_MLX5_WRITE, TH_QPN, ds, 0, 0);
		gda_mlx5_set_data(th_seg(qp, 0, 2), 0, 0, rows[i].a);
		gda_mlx5_set_data(th_seg(qp, 0, 3), 0, 0, rows[i].b);
		st = decode(qp, 4, &w);
		EXPECT_EQ(rows[i].ok, !st.syndrome)
			TH_LOG("row %u", i);
	}
	/* a zero count would be 2^31; inline is for writes only */
	for (op = 0; op < 3; op++) {
		static const u32 opcodes[] = {
			GDA_MLX5_READ, GDA_MLX5_ATOMIC_FA, GDA_MLX5_ATOMIC_CS
		};
		static const u32 lens[] = { 0, 7, 9, 4, 0x80000008, 0x80000000, 0xffffffff };
		u32 ds = op ? 4 : 3;

		for (i = op ? 0 : 4; i < ARRAY_SIZE(lens); i++) {
			gda_mlx5_set_ctrl(th_ctrl(qp, 0), 0, opcodes[op], TH_QPN, ds, 0, 0);
			gda_mlx5_set_data(th_seg(qp, 0, ds - 1), 0, 0, lens[i]);
			st = decode(qp, 4, &w);
			EXPECT_EQ(GDA_MLX5_SYND_LOCAL_LENGTH, st.syndrome);
			EXPECT_EQ(GDA_MLX5_VENDOR_LENGTH, st.vendor);
		}
	}
	gda_mlx5_set_ctrl(th_ctrl(qp, 0), 0, GDA_MLX5_WRITE, TH_QPN, 3, 0, 0);
	gda_mlx5_set_data(th_seg(qp, 0, 2), 0, 0, 0);
	EXPECT_EQ(GDA_MLX5_SYND_LOCAL_LENGTH, decode(qp, 4, &w).syndrome);
	th_qp_free(qp);
}

TEST(S4_inline_lengths)
{
	struct th_qp *qp = th_qp_new(NULL, NULL, 4, 0);
	static const u32 huge[] = { 0xff, 0x100, 0xffff, 0x10000, 0x7fffffff };
	struct gda_status st;
	struct gda_work w;
	u32 len, ds, i;

	for (len = 0; len <= 100; len++) {
		for (ds = 3; ds <= 12; ds++) {
			bool ok = len <= GDA_ENGINE_MAX_INLINE && ds == 2 + (len + 4 + 15) / 16;

			gda_mlx5_set_ctrl(th_ctrl(qp, 0), 0, GDA_MLX5_WRITE, TH_QPN, ds, 0, 0);
			gda_mlx5_set_data(th_seg(qp, 0, 2), 0, 0, len | GDA_MLX5_INLINE);
			st = decode(qp, 4, &w);
			EXPECT_EQ(ok, !st.syndrome)
				TH_LOG("len %u ds %u", len, ds);
			if (ok)
				EXPECT_EQ(len, w.remote.len);
		}
	}
	for (i = 0; i < ARRAY_SIZE(huge); i++) {
		gda_mlx5_set_ctrl(th_ctrl(qp, 0), 0, GDA_MLX5_WRITE, TH_QPN, 4, 0, 0);
		gda_mlx5_set_data(th_seg(qp, 0, 2), 0, 0, huge[i] | GDA_MLX5_INLINE);
		st = decode(qp, 4, &w);
		EXPECT_EQ(GDA_MLX5_SYND_LOCAL_LENGTH, st.syndrome);
	}
	th_qp_free(qp);
}

/* An entry of two slots whose second is not published, or that laps itself. */
TEST(S4_more_slots_than_published)
{
	u32 depth, avail;

	for (depth = 1; depth <= 4; depth *= 2) {
		for (avail = 1; avail <= depth; avail++) {
			struct th_qp *qp = th_qp_new(NULL, NULL, depth, 0);
			struct gda_status st;
			struct gda_work w;

			gda_mlx5_set_ctrl(th_ctrl(qp, 0), 0, GDA_MLX5_WRITE, TH_QPN, 5, 0, 0);
			gda_mlx5_set_data(th_seg(qp, 0, 2), 0, 0, 40 | GDA_MLX5_INLINE);
			st = decode(qp, avail, &w);
			EXPECT_EQ(avail < 2 ? GDA_MLX5_VENDOR_DS : 0, st.vendor);
			EXPECT_EQ(min(avail, 2U), w.slots);
			th_qp_free(qp);
		}
	}
}

TEST_HARNESS_MAIN
