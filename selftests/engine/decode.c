// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Decoding: what was encoded comes back; every opcode, segment count, flag and length
 * is either decoded as the format says or refused with the reason.
 */
#include "host.h"
#include "kselftest_harness.h"

#define ROUND_TRIPS	1000000

static struct th_why decode(struct th_qp *qp, u32 avail, struct gda_work *w)
{
	memset(w, 0xa5, sizeof(*w));
	return th_why(qp, gda_dialect_mlx5.decode(&qp->q, avail, w));
}

/* A work request as the poster means it. */
struct meant {
	u32 opcode;		/* with the operand size */
	u8 flags;
	u32 imm;
	u32 nsge;
	u32 inline_len;
	struct gda_sge sge[GDA_ENGINE_MAX_SGE];
	struct gda_sge remote;
	u64 swap_add, compare, swap_mask, compare_mask;
	u8 data[GDA_ENGINE_MAX_INLINE];
};

#define OPMOD(bytes)	((u32)GDA_MLX5_OPMOD_##bytes##BYTE << 24)

/* The meaning of an opcode to the engine, and the width of its operands. */
static const struct kind {
	u32 opcode;
	u8 op;
	u8 width;		/* of atomics */
	bool masked;
	bool inlined;		/* may be */
	bool rdma;
	bool send;
} kinds[] = {
#define KIND(code, what, ...) { .opcode = code, .op = what, __VA_ARGS__ }
	KIND(GDA_MLX5_NOP, GDA_OP_NOP, .width = 0),
	KIND(GDA_MLX5_WRITE, GDA_OP_WRITE, .inlined = true, .rdma = true),
	KIND(GDA_MLX5_WRITE_IMM, GDA_OP_WRITE_IMM, .inlined = true, .rdma = true),
	KIND(GDA_MLX5_READ, GDA_OP_READ, .rdma = true),
	KIND(GDA_MLX5_SEND, GDA_OP_SEND, .inlined = true, .send = true),
	KIND(GDA_MLX5_SEND_IMM, GDA_OP_SEND_IMM, .inlined = true, .send = true),
	KIND(GDA_MLX5_DUMP, GDA_OP_DUMP, .width = 0),
	KIND(GDA_MLX5_WAIT, GDA_OP_WAIT, .width = 0),
	KIND(GDA_MLX5_ATOMIC_FA, GDA_OP_FETCH_ADD, .width = 8),
	KIND(GDA_MLX5_ATOMIC_CS, GDA_OP_COMPARE_SWAP, .width = 8),
	KIND(GDA_MLX5_MASKED_FA | OPMOD(4), GDA_OP_MASKED_FETCH_ADD, .width = 4, .masked = true),
	KIND(GDA_MLX5_MASKED_FA | OPMOD(8), GDA_OP_MASKED_FETCH_ADD, .width = 8),
	KIND(GDA_MLX5_MASKED_CS | OPMOD(4), GDA_OP_MASKED_COMPARE_SWAP, .width = 4,
	     .masked = true),
	KIND(GDA_MLX5_MASKED_CS | OPMOD(8), GDA_OP_MASKED_COMPARE_SWAP, .width = 8,
	     .masked = true),
#undef KIND
};

static const struct kind *kind_of(u32 opcode)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		if (kinds[i].opcode == opcode)
			return &kinds[i];
	return NULL;
}

static u64 any64(struct th_rand *r)
{
	u64 v = th_rand(r);

	return v & 3 ? th_rand(r) : ~0ULL << (v >> 58);
}

static u64 any_operand(struct th_rand *r, u32 width)
{
	return width == 4 ? (u32)any64(r) : any64(r);
}

static void mean_atomic(struct th_rand *r, const struct kind *k, struct meant *m)
{
	m->nsge = 1;
	m->swap_add = any_operand(r, k->width);
	m->compare = any_operand(r, k->width);
	if (!k->masked)
		return;
	m->swap_mask = any_operand(r, k->width);
	m->compare_mask = any_operand(r, k->width);
}

static void mean(struct th_rand *r, const struct kind *k, struct meant *m)
{
	u32 i;

	memset(m, 0, offsetof(struct meant, data));
	m->opcode = k->opcode;
	m->flags = (u8)th_rand(r);
	m->imm = (u32)any64(r);
	m->inline_len = GDA_ENGINE_MAX_INLINE + 1;	/* not inline */
	if (!k->send)
		m->remote = (struct gda_sge){ .addr = any64(r), .key = (u32)any64(r) };
	if (k->inlined && th_below(r, 3) == 0) {
		m->inline_len = th_below(r, (GDA_ENGINE_MAX_INLINE >> th_below(r, 6)) + 2);
		if (m->inline_len > GDA_ENGINE_MAX_INLINE)
			m->inline_len = GDA_ENGINE_MAX_INLINE;
		m->remote.len = m->inline_len;
		for (i = 0; i < m->inline_len; i++)
			m->data[i] = (u8)th_rand(r);
		return;
	}
	if (k->width)
		mean_atomic(r, k, m);
	else if (k->op != GDA_OP_NOP && k->op != GDA_OP_WAIT)
		m->nsge = k->op == GDA_OP_DUMP ? 1 :
			  th_below(r, th_below(r, 4) ? 3 : GDA_ENGINE_MAX_SGE + 1);
	for (i = 0; i < m->nsge; i++) {
		m->sge[i].addr = any64(r);
		m->sge[i].key = (u32)any64(r);
		m->sge[i].len = k->width;
		if (!k->width)
			m->sge[i].len = 1 + (th_below(r, GDA_ENGINE_MAX_MSG / m->nsge) >>
					     th_below(r, 30));
		if (k->op != GDA_OP_DUMP)
			m->remote.len += m->sge[i].len;
	}
}

/* Operands, at segment @n. Return: the segment behind them. */
static u32 encode_operands(struct th_qp *qp, const struct kind *k, const struct meant *m, u32 n)
{
	u64 ci = qp->q.ci;

	if (k->width == 4) {
		gda_mlx5_set_masked4(th_seg(qp, ci, n), (u32)m->swap_add, (u32)m->compare,
				     (u32)m->swap_mask, (u32)m->compare_mask);
		return n + 1;
	}
	if (k->op < GDA_OP_MASKED_FETCH_ADD)
		gda_mlx5_set_atomic(th_seg(qp, ci, n++), m->swap_add, m->compare);
	else
		gda_mlx5_set_masked8(th_seg(qp, ci, n++), m->swap_add, m->compare);
	if (k->masked)
		gda_mlx5_set_masked8(th_seg(qp, ci, n++), m->swap_mask, m->compare_mask);
	return n;
}

/* Encode at qp->q.ci. Return: slots. */
static u32 encode(struct th_qp *qp, const struct kind *k, const struct meant *m,
		  struct th_rand *r)
{
	u64 ci = qp->q.ci;
	u32 i, n = 1;

	/* what is left of older entries is not ours to clear */
	for (i = 0; i < GDA_ENGINE_MAX_SGE + 2; i++)
		memset(th_seg(qp, ci, i), (int)th_rand(r), 16);
	if (k->op == GDA_OP_WAIT)
		gda_mlx5_set_wait(th_seg(qp, ci, n++), m->remote.key, m->imm);
	else if (k->op != GDA_OP_NOP && k->op != GDA_OP_DUMP && !k->send)
		gda_mlx5_set_raddr(th_seg(qp, ci, n++), m->remote.addr, m->remote.key);
	if (k->width)
		n = encode_operands(qp, k, m, n);
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
	if (k->op == GDA_OP_NOP)
		n += th_below(r, TH_MAX_SLOTS * 4);
	gda_mlx5_set_ctrl(th_seg(qp, ci, 0), ci, m->opcode, TH_QPN, n, m->flags, m->imm);
	th_ctrl(qp, ci)->signature = (u8)th_rand(r);
	th_ctrl(qp, ci)->dci[0] = (u8)th_rand(r);
	th_ctrl(qp, ci)->dci[1] = (u8)th_rand(r);
	return (n + 3) / 4;
}

static bool same_sge(const struct gda_sge *a, const struct gda_sge *b)
{
	return a->addr == b->addr && a->key == b->key && a->len == b->len;
}

/* An event is the peer's where there is a completion at the peer. */
static u8 flags_of(const struct kind *k, u8 fm_ce_se)
{
	u8 flags = fm_ce_se & (GDA_MLX5_CE_ALWAYS | GDA_MLX5_SE | GDA_MLX5_FM_MASK);

	if (k->width == 4)
		flags |= GDA_WORK_BIG_ENDIAN;
	if ((k->op != GDA_OP_WRITE_IMM && !k->send) || !(flags & GDA_MLX5_SE))
		return flags;
	return (u8)((flags & ~GDA_MLX5_SE) | GDA_WORK_SOLICIT);
}

static bool same_operands(const struct kind *k, const struct meant *m,
			  const struct gda_work *w)
{
	if (w->swap_add != m->swap_add || w->compare != m->compare)
		return false;
	return !k->masked || (w->swap_mask == m->swap_mask &&
			      w->compare_mask == m->compare_mask);
}

static bool same(const struct kind *k, const struct meant *m, const struct gda_work *w)
{
	bool inlined = m->inline_len <= GDA_ENGINE_MAX_INLINE;
	u32 i;

	if (w->op != k->op || w->opcode != (u8)m->opcode || w->nsge != m->nsge ||
	    w->inlined != inlined || w->remote.len != m->remote.len ||
	    w->flags != flags_of(k, m->flags))
		return false;
	for (i = 0; i < m->nsge; i++)
		if (!same_sge(&m->sge[i], &w->sge[i]))
			return false;
	if (k->op == GDA_OP_NOP || k->op == GDA_OP_DUMP)
		return true;
	if (k->op == GDA_OP_WAIT)
		return w->remote.key == m->remote.key && w->imm == m->imm;
	if (!same_sge(&m->remote, &w->remote))
		return false;
	if (inlined && memcmp(w->data, m->data, m->inline_len))
		return false;
	if (k->op == GDA_OP_WRITE_IMM || k->op == GDA_OP_SEND_IMM ? w->imm != m->imm : 0)
		return false;
	return !k->width || same_operands(k, m, w);
}

static u32 round_trips(const struct kind *k)
{
	struct th_qp *qp[3] = {
		th_qp_new(NULL, NULL, 16, 0), th_qp_new(NULL, NULL, 64, 0),
		th_qp_new(NULL, NULL, 32768, 0),
	};
	struct th_rand r = { k->opcode + 1 };
	static struct meant m;
	u32 i, bad = 0;

	for (i = 0; i < ROUND_TRIPS; i++) {
		struct th_qp *q = qp[i % 3];
		struct th_why st;
		struct gda_work w;
		u32 slots;

		q->q.ci = th_rand(&r);
		mean(&r, k, &m);
		slots = encode(q, k, &m, &r);
		st = decode(q, slots, &w);
		if (st.syndrome || st.vendor || w.slots != slots || !same(k, &m, &w))
			bad++;
	}
	for (i = 0; i < 3; i++)
		th_qp_free(qp[i]);
	return bad;
}

/* A million of each opcode, and of each operand size. */
FIXTURE(round_trip) {
	char none;
};

FIXTURE_SETUP(round_trip)
{
	(void)self;
}

FIXTURE_TEARDOWN(round_trip)
{
	(void)self;
}

FIXTURE_VARIANT(round_trip) {
	u32 opcode;
};

#define ROUND_TRIP(name, value) \
	FIXTURE_VARIANT_ADD(round_trip, name) { .opcode = value }

ROUND_TRIP(nop, GDA_MLX5_NOP);
ROUND_TRIP(write, GDA_MLX5_WRITE);
ROUND_TRIP(write_imm, GDA_MLX5_WRITE_IMM);
ROUND_TRIP(read, GDA_MLX5_READ);
ROUND_TRIP(send, GDA_MLX5_SEND);
ROUND_TRIP(send_imm, GDA_MLX5_SEND_IMM);
ROUND_TRIP(dump, GDA_MLX5_DUMP);
ROUND_TRIP(wait, GDA_MLX5_WAIT);
ROUND_TRIP(atomic_fa, GDA_MLX5_ATOMIC_FA);
ROUND_TRIP(atomic_cs, GDA_MLX5_ATOMIC_CS);
ROUND_TRIP(masked_fa_4, GDA_MLX5_MASKED_FA | OPMOD(4));
ROUND_TRIP(masked_fa_8, GDA_MLX5_MASKED_FA | OPMOD(8));
ROUND_TRIP(masked_cs_4, GDA_MLX5_MASKED_CS | OPMOD(4));
ROUND_TRIP(masked_cs_8, GDA_MLX5_MASKED_CS | OPMOD(8));

TEST_F_TIMEOUT(round_trip, random, 100)
{
	EXPECT_EQ(0, round_trips(kind_of(variant->opcode)));
}

/* Independent of the decoder: what is legal, by opcode and segment count. */
static struct th_why expect(u32 opcode, u32 ds, u32 avail, u32 max_sge)
{
	static const struct th_why ok = { 0, 0 };
	static const struct th_why bad_ds = {
		GDA_MLX5_SYND_LOCAL_QP_OP, GDA_MLX5_VENDOR_DS
	};
	static const struct th_why bad_opcode = {
		GDA_MLX5_SYND_LOCAL_QP_OP, GDA_MLX5_VENDOR_OPCODE
	};

	if (ds == 0 || ds > 4 * avail || ds > 64)
		return bad_ds;
	switch (opcode) {
	case GDA_MLX5_NOP:
		return ok;
	case GDA_MLX5_WRITE:
	case GDA_MLX5_WRITE_IMM:
	case GDA_MLX5_READ:
		return ds >= 2 && ds <= 2 + max_sge ? ok : bad_ds;
	case GDA_MLX5_SEND:
	case GDA_MLX5_SEND_IMM:
		return ds <= 1 + max_sge ? ok : bad_ds;
	case GDA_MLX5_ATOMIC_CS:
	case GDA_MLX5_ATOMIC_FA:
		return ds == 4 ? ok : bad_ds;
	case GDA_MLX5_DUMP:
	case GDA_MLX5_WAIT:
		return ds == 2 ? ok : bad_ds;
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
	static const u32 max[] = { 1, GDA_WORK_SGE, 7, GDA_ENGINE_MAX_SGE };
	struct th_qp *qp = th_qp_new(NULL, NULL, 16, 0);
	u32 opcode, ds, flags, avail, bad = 0;

	fill(qp);
	for (opcode = 0; opcode < 256; opcode++) {
		for (ds = 0; ds < 256; ds += ds < 36 ? 1 : 43) {
			for (flags = 0; flags < 256; flags++) {
				struct th_why st, want;
				struct gda_work w;

				avail = 1 + flags % 16;
				qp->q.max_sge = max[flags / 16 % 4];
				gda_mlx5_set_ctrl(th_ctrl(qp, 0), 0, opcode, TH_QPN, ds,
						  (u8)flags, 0xffffffff);
				st = decode(qp, avail, &w);
				want = expect(opcode, ds, avail, qp->q.max_sge);
				bad += st.syndrome != want.syndrome ||
				       st.vendor != want.vendor || w.opcode != opcode ||
				       w.slots < 1 || w.slots > avail;
				if (st.syndrome)
					continue;
				bad += w.op != kind_of(opcode)->op || w.slots != (ds + 3) / 4 ||
				       w.flags != flags_of(kind_of(opcode), (u8)flags);
			}
		}
	}
	EXPECT_EQ(0, bad);
	th_qp_free(qp);
}

/* The operand size byte belongs to masked atomics, which are nothing without it. */
TEST(S5_every_opmod)
{
	struct th_qp *qp = th_qp_new(NULL, NULL, 4, 0);
	u32 opcode, opmod, ds, bad = 0;

	fill(qp);
	for (opcode = 0; opcode < 256; opcode++) {
		for (opmod = 1; opmod < 256; opmod++) {
			const struct kind *k = kind_of(opmod << 24 | opcode);
			struct th_why st;
			struct gda_work w;

			for (ds = 1; ds < 10; ds++) {
				u32 want = k && k->op == GDA_OP_MASKED_COMPARE_SWAP &&
					   k->width == 8 ? 5 : 4;
				u32 vendor = !k ? GDA_MLX5_VENDOR_OPCODE :
					     ds != want ? GDA_MLX5_VENDOR_DS :
					     k->width != 8 ? GDA_MLX5_VENDOR_LENGTH : 0;

				gda_mlx5_set_ctrl(th_ctrl(qp, 0), 0, opmod << 24 | opcode,
						  TH_QPN, ds, 0, 0);
				st = decode(qp, 4, &w);
				/* fill() makes segments of 8 bytes */
				bad += st.vendor != vendor || !st.vendor != !st.syndrome;
			}
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
	struct th_why st;
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

/* A NOP may be as long as the gap that it pads: every length, and the next entry is found. */
TEST(nop_of_any_length)
{
	struct th_qp *qp = th_qp_new(NULL, NULL, 16, 0);
	u32 ds;

	th_qp_pair(qp, qp);
	for (ds = 1; ds <= 64; ds++) {
		u64 index = qp->next;

		memset(qp->sq, 0xa5, 16 * GDA_MLX5_SLOT_BYTES);
		gda_mlx5_set_ctrl(th_ctrl(qp, index), index, GDA_MLX5_NOP, TH_QPN, ds,
				  GDA_MLX5_CE_ALWAYS, 0);
		qp->next += (ds + 3) / 4;
		th_ring(qp);
		EXPECT_EQ(1, th_run(qp)) TH_LOG("%u segments", ds);
		EXPECT_EQ((u16)index, th_cqe_counter(qp));
		EXPECT_EQ(qp->next, qp->q.ci);
	}
	EXPECT_EQ(GDA_QP_READY, qp->q.state);
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
	struct th_why st;
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
	for (op = 0; op < ARRAY_SIZE(kinds); op++) {
		static const u32 lens[] = {
			0x80000008, 0x80000000, 0xffffffff, 0, 7, 9, 4, 8
		};
		const struct kind *k = &kinds[op];
		u32 ds = k->width ? 4 : k->rdma ? 3 : 2;

		if (k->inlined || k->op == GDA_OP_NOP || k->op == GDA_OP_WAIT)
			continue;
		ds += k->width == 8 && k->op == GDA_OP_MASKED_COMPARE_SWAP;
		for (i = 0; i < (k->width ? ARRAY_SIZE(lens) : 4); i++) {
			if (lens[i] == k->width && k->width)
				continue;
			gda_mlx5_set_ctrl(th_ctrl(qp, 0), 0, k->opcode, TH_QPN, ds, 0, 0);
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

TEST_HARNESS_MAIN
