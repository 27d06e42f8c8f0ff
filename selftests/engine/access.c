// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Keys: ranges against 128-bit arithmetic, rights against operations, domains,
 * revocation, alignment. A refused work request moves no byte at either end.
 */
#include "host.h"
#include "kselftest_harness.h"

#define SIZE	0x2000U

static int dom_a, dom_b, dom_c;

/* Two connected queues of two domains, an MR at each end. */
struct two {
	struct th_dev dev;
	struct th_qp *a, *b;
	struct th_mr *l, *r;
};

static void fill(struct th_mr *mr, u8 salt)
{
	u32 i;

	for (i = 0; i < mr->mem.size; i++)
		*th_mr_at(mr, i) = (u8)(i * 7 + salt);
}

static bool untouched(const struct th_mr *mr, u8 salt)
{
	u32 i;

	for (i = 0; i < mr->mem.size; i++)
		if (*th_mr_at(mr, i) != (u8)(i * 7 + salt))
			return false;
	return true;
}

static struct two *two_new(u32 l_access, u32 r_access)
{
	struct two *t = calloc(1, sizeof(*t));

	t->dev.variant = 0x17;
	t->a = th_qp_new(&t->dev, &dom_a, 16, 0);
	t->b = th_qp_new(&t->dev, &dom_b, 16, 0);
	th_qp_pair(t->a, t->b);
	t->l = th_mr_new(&t->dev, &dom_a, 0x10000, SIZE, l_access, 12, 0);
	t->r = th_mr_new(&t->dev, &dom_b, 0x700000, SIZE, r_access, 12, 0);
	fill(t->l, 1);
	fill(t->r, 2);
	return t;
}

static void two_free(struct two *t)
{
	th_mr_free(&t->dev, t->l);
	th_mr_free(&t->dev, t->r);
	th_qp_free(t->a);
	th_qp_free(t->b);
	free(t);
}

static void post(struct two *t, u32 opcode, u64 loff, u64 roff, u32 len)
{
	if (opcode == GDA_MLX5_WRITE || opcode == GDA_MLX5_READ)
		th_rdma(t->a, opcode, GDA_MLX5_CE_ALWAYS, t->l, loff, t->r, roff, len);
	else
		th_atomic(t->a, opcode, GDA_MLX5_CE_ALWAYS, t->l, loff, t->r, roff, 1, 0);
	th_ring(t->a);
}

/* The outcome of the one work request posted to a new pair: syndrome, vendor. */
static u32 outcome(struct two *t)
{
	th_run(t->a);
	if (t->a->q.state != GDA_QP_ERROR)
		return th_cqe_opcode(t->a) == GDA_MLX5_CQE_REQ ? 0 : 0xffff;
	return (u32)th_err(t->a)->first_syndrome << 8 | th_err(t->a)->first_vendor;
}

#define WHY(synd, vend)	((u32)GDA_MLX5_SYND_##synd << 8 | GDA_MLX5_VENDOR_##vend)

TEST(S6_range_wrap)
{
	static const u64 corners[] = {
		0, 1, 2, 0xfff, 0x1000, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000ULL,
		0x7fffffffffffffffULL, 0x8000000000000000ULL, ~0xfffULL, ~0ULL - 1, ~0ULL,
	};
	static const u32 lens[] = { 0, 1, 7, 8, 0x1000, 0x7ffffffe, 0x7fffffff };
	const u32 n = ARRAY_SIZE(corners);
	u32 i, j, k, d, bad = 0, tried = 0;

	for (i = 0; i < n; i++) {
		for (j = 0; j < n; j++) {
			struct gda_mem mem = {
				.pd = &dom_a, .iova = corners[i], .size = corners[j], .key = 9,
				.access = GDA_ACCESS_ALL, .state = GDA_MR_LIVE,
			};
			unsigned __int128 end = (unsigned __int128)mem.iova + mem.size;

			if (!mem.size || end > (unsigned __int128)1 << 64)
				continue;
			for (k = 0; k < n * 7 * 9; k++) {
				struct gda_sge g = { .key = 9, .len = lens[k / 9 % 7] };
				bool inside;

				d = k % 9;
				g.addr = (k & 1 ? (u64)end : mem.iova) + corners[k / 63] + d - 4;
				inside = g.addr >= mem.iova &&
					 (unsigned __int128)g.addr + g.len <= end;
				/* one past the last address, 2^64, is written as 0 */
				if (!g.addr && !g.len && end == (unsigned __int128)1 << 64)
					continue;
				bad += gda_access_check(&mem, &dom_a, &g, 0) !=
				       (inside ? GDA_MLX5_VENDOR_NONE : GDA_MLX5_VENDOR_RANGE);
				tried++;
			}
		}
	}
	EXPECT_EQ(0, bad);
	EXPECT_LT(50000, tried);
}

/* The same through a queue, at both ends, with what surrounds the MRs on guard. */
TEST(S6_edges_by_operation)
{
	static const struct {
		u64 off;
		u32 len;
		bool ok;
	} rows[] = {
		{ 0, SIZE, true }, { SIZE - 1, 1, true }, { SIZE, 0, true },
		{ SIZE, 1, false }, { SIZE - 1, 2, false }, { 0, SIZE + 1, false },
		{ 0, 0x7fffffff, false }, { SIZE - 1, 0x7fffffff, false },
		{ (u64)-1, 1, false }, { (u64)-1, 2, false }, { (u64)-1, 0, true },
		{ (u64)-0x10000, 0x10001, false }, { ~0x10000ULL, 0x7fffffff, false },
	};
	static const u32 opcodes[] = { GDA_MLX5_WRITE, GDA_MLX5_READ };
	u32 i, op, end;

	for (op = 0; op < 2; op++) {
		for (end = 0; end < 2; end++) {
			for (i = 0; i < ARRAY_SIZE(rows); i++) {
				struct two *t = two_new(GDA_ACCESS_ALL, GDA_ACCESS_ALL);
				struct th_mr *big = th_mr_new(&t->dev, end ? &dom_a : &dom_b,
							      0, 0x80000000ULL << 8,
							      GDA_ACCESS_ALL, 12, 0);
				u32 why, want;

				/* a transfer of no bytes names nothing local */
				if (!rows[i].len && !end) {
					th_mr_free(&t->dev, big);
					two_free(t);
					continue;
				}
				th_rdma(t->a, opcodes[op], GDA_MLX5_CE_ALWAYS,
					end ? big : t->l, end ? 0 : rows[i].off,
					end ? t->r : big, end ? rows[i].off : 0, rows[i].len);
				th_ring(t->a);
				why = outcome(t);
				want = end ? WHY(REMOTE_ACCESS, RANGE) : WHY(LOCAL_PROT, RANGE);
				/* the big one has no window, so that is how far it gets */
				if (rows[i].ok)
					want = end ? WHY(LOCAL_PROT, IO) : WHY(REMOTE_OP, IO);
				if (rows[i].ok && !rows[i].len)
					want = 0;
				EXPECT_EQ(want, why)
					TH_LOG("op %u end %u row %u", op, end, i);
				EXPECT_TRUE(untouched(t->l, 1));
				EXPECT_TRUE(untouched(t->r, 2));
				th_mr_free(&t->dev, big);
				two_free(t);
			}
		}
	}
}

TEST(K3_rights_by_operation)
{
	static const struct {
		u32 opcode, local, remote;
	} rows[] = {
		{ GDA_MLX5_WRITE, 0, GDA_ACCESS_REMOTE_WRITE },
		{ GDA_MLX5_READ, GDA_ACCESS_LOCAL_WRITE, GDA_ACCESS_REMOTE_READ },
		{ GDA_MLX5_ATOMIC_FA, GDA_ACCESS_LOCAL_WRITE, GDA_ACCESS_REMOTE_ATOMIC },
		{ GDA_MLX5_ATOMIC_CS, GDA_ACCESS_LOCAL_WRITE, GDA_ACCESS_REMOTE_ATOMIC },
	};
	u32 i, l, r;

	for (i = 0; i < 4; i++) {
		for (l = 0; l <= GDA_ACCESS_ALL; l++) {
			for (r = 0; r <= GDA_ACCESS_ALL; r++) {
				struct two *t = two_new(l, r);
				u32 want = 0;

				if (rows[i].local & ~l)
					want = WHY(LOCAL_PROT, RIGHTS);
				else if (rows[i].remote & ~r)
					want = WHY(REMOTE_ACCESS, RIGHTS);
				post(t, rows[i].opcode, 8, 16, 8);
				EXPECT_EQ(want, outcome(t))
					TH_LOG("row %u local %x remote %x", i, l, r);
				if (want) {
					EXPECT_TRUE(untouched(t->l, 1));
					EXPECT_TRUE(untouched(t->r, 2));
				}
				two_free(t);
			}
		}
	}
}

/* All that is asked for must be granted, not some of it. */
TEST(K3_several_rights_at_once)
{
	u32 have, need;

	for (have = 0; have <= GDA_ACCESS_ALL; have++) {
		for (need = 0; need <= GDA_ACCESS_ALL; need++) {
			struct gda_mem mem = {
				.pd = &dom_a, .size = 1, .key = 9, .access = have,
				.state = GDA_MR_LIVE,
			};
			struct gda_sge g = { .key = 9, .len = 1 };

			EXPECT_EQ((have & need) == need ? GDA_MLX5_VENDOR_NONE :
							  GDA_MLX5_VENDOR_RIGHTS,
				  gda_access_check(&mem, &dom_a, &g, need));
		}
	}
}

/* A right granted to one work request of a visit is not granted to the next by that. */
TEST(K3_rights_within_one_visit)
{
	struct two *t = two_new(0, GDA_ACCESS_ALL);

	/* from the local MR, then into it */
	post(t, GDA_MLX5_WRITE, 0, 0, 8);
	post(t, GDA_MLX5_READ, 0, 64, 8);
	EXPECT_EQ(WHY(LOCAL_PROT, RIGHTS), outcome(t));
	EXPECT_EQ(1, t->a->q.executed);
	EXPECT_TRUE(untouched(t->l, 1));
	two_free(t);
	/* into the remote MR, then from it; and the other way round */
	t = two_new(GDA_ACCESS_ALL, GDA_ACCESS_REMOTE_WRITE);
	post(t, GDA_MLX5_WRITE, 0, 0, 8);
	post(t, GDA_MLX5_READ, 0, 64, 8);
	EXPECT_EQ(WHY(REMOTE_ACCESS, RIGHTS), outcome(t));
	EXPECT_EQ(1, t->a->q.executed);
	EXPECT_TRUE(untouched(t->l, 1));
	two_free(t);
	t = two_new(GDA_ACCESS_ALL, GDA_ACCESS_REMOTE_READ);
	post(t, GDA_MLX5_READ, 64, 0, 8);
	post(t, GDA_MLX5_WRITE, 0, 0, 8);
	EXPECT_EQ(WHY(REMOTE_ACCESS, RIGHTS), outcome(t));
	EXPECT_EQ(1, t->a->q.executed);
	EXPECT_TRUE(untouched(t->r, 2));
	two_free(t);
}

/* Nor does the key of one reach the memory of another that has the same addresses. */
TEST(K4_keys_within_one_visit)
{
	struct two *t = two_new(GDA_ACCESS_ALL, GDA_ACCESS_ALL);
	struct th_mr *l2 = th_mr_new(&t->dev, &dom_a, 0x10000, SIZE, GDA_ACCESS_ALL, 12, 0);
	struct th_mr *r2 = th_mr_new(&t->dev, &dom_b, 0x700000, SIZE, GDA_ACCESS_ALL, 12, 0);
	u64 v;

	fill(l2, 3);
	fill(r2, 4);
	post(t, GDA_MLX5_WRITE, 0, 0, 8);
	th_rdma(t->a, GDA_MLX5_WRITE, GDA_MLX5_CE_ALWAYS, l2, 8, t->r, 8, 8);
	th_rdma(t->a, GDA_MLX5_WRITE, GDA_MLX5_CE_ALWAYS, l2, 16, r2, 16, 8);
	th_rdma(t->a, GDA_MLX5_WRITE, GDA_MLX5_CE_ALWAYS, t->l, 24, r2, 24, 8);
	th_ring(t->a);
	EXPECT_EQ(4, gda_engine_visit(&t->a->q, 64, 1000));
	EXPECT_EQ(0, outcome(t));
	th_mr_get(t->r, 0, &v, 8);
	EXPECT_EQ(0, memcmp(&v, th_mr_at(t->l, 0), 8));
	th_mr_get(t->r, 8, &v, 8);
	EXPECT_EQ(0, memcmp(&v, th_mr_at(l2, 8), 8));
	th_mr_get(r2, 16, &v, 8);
	EXPECT_EQ(0, memcmp(&v, th_mr_at(l2, 16), 8));
	th_mr_get(r2, 24, &v, 8);
	EXPECT_EQ(0, memcmp(&v, th_mr_at(t->l, 24), 8));
	/* a key that is like the last one but for the variant */
	post(t, GDA_MLX5_WRITE, 0, 0, 8);
	post(t, GDA_MLX5_WRITE, 0, 0, 8);
	((struct gda_mlx5_raddr *)th_seg(t->a, t->a->next - 1, 1))->rkey ^= gda_be32(1);
	EXPECT_EQ(WHY(REMOTE_ACCESS, KEY), outcome(t));
	th_mr_free(&t->dev, l2);
	th_mr_free(&t->dev, r2);
	two_free(t);
}

/* Inline writes need no local key; the remote one all the same. */
TEST(K3_rights_of_inline)
{
	u32 r;

	for (r = 0; r <= GDA_ACCESS_ALL; r++) {
		struct two *t = two_new(0, r);
		u64 v = 42;

		th_inline(t->a, GDA_MLX5_CE_ALWAYS, &v, 8, t->r, 0);
		th_ring(t->a);
		EXPECT_EQ(r & GDA_ACCESS_REMOTE_WRITE ? 0 : WHY(REMOTE_ACCESS, RIGHTS),
			  outcome(t));
		two_free(t);
	}
}

/* A key counts only in the domain it belongs to, and is not told from a dead one. */
TEST(K1_K4_keys_of_others)
{
	struct two *t;
	u32 bit, end;

	for (end = 0; end < 2; end++) {
		for (bit = 0; bit < 34; bit++) {
			void *was;
			struct th_mr *mr;

			t = two_new(GDA_ACCESS_ALL, GDA_ACCESS_ALL);
			mr = end ? t->r : t->l;
			was = mr->mem.pd;
			post(t, GDA_MLX5_WRITE, 0, 0, 8);
			/* another variant or index; then the peer's and a third domain */
			if (bit < 32)
				((struct gda_mlx5_raddr *)th_seg(t->a, 0, 1))->rkey ^=
					end ? gda_be32(1U << bit) : 0;
			if (bit < 32 && !end)
				((struct gda_mlx5_data *)th_seg(t->a, 0, 2))->lkey ^=
					gda_be32(1U << bit);
			if (bit == 32)
				mr->mem.pd = end ? (void *)&dom_a : (void *)&dom_b;
			if (bit == 33)
				mr->mem.pd = &dom_c;
			EXPECT_EQ(end ? WHY(REMOTE_ACCESS, KEY) : WHY(LOCAL_PROT, KEY), outcome(t))
				TH_LOG("end %u bit %u", end, bit);
			EXPECT_TRUE(untouched(t->r, 2));
			mr->mem.pd = was;
			two_free(t);
		}
	}
	/* one that was deregistered */
	t = two_new(GDA_ACCESS_ALL, GDA_ACCESS_ALL);
	post(t, GDA_MLX5_READ, 0, 0, 8);
	t->dev.keys[t->r->mem.key >> 8] = NULL;
	EXPECT_EQ(WHY(REMOTE_ACCESS, KEY), outcome(t));
	two_free(t);
}

TEST(K5_revoked_keys)
{
	static const u32 opcodes[] = {
		GDA_MLX5_WRITE, GDA_MLX5_READ, GDA_MLX5_ATOMIC_FA, GDA_MLX5_ATOMIC_CS
	};
	u32 i, end;

	for (i = 0; i < 4; i++) {
		for (end = 0; end < 2; end++) {
			struct two *t = two_new(GDA_ACCESS_ALL, GDA_ACCESS_ALL);

			(end ? t->r : t->l)->mem.state = GDA_MR_REVOKED;
			post(t, opcodes[i], 0, 0, 8);
			EXPECT_EQ(end ? WHY(REMOTE_ACCESS, REVOKED) : WHY(LOCAL_PROT, REVOKED),
				  outcome(t));
			EXPECT_TRUE(untouched(t->l, 1));
			EXPECT_TRUE(untouched(t->r, 2));
			two_free(t);
		}
	}
}

/* Revoked while a queue was being served: the next work request notices. */
TEST(K5_revoked_between_work_requests)
{
	struct two *t = two_new(GDA_ACCESS_ALL, GDA_ACCESS_ALL);

	post(t, GDA_MLX5_WRITE, 0, 0, 8);
	post(t, GDA_MLX5_WRITE, 8, 8, 8);
	EXPECT_EQ(1, gda_engine_visit(&t->a->q, 1, 64));
	t->r->mem.state = GDA_MR_REVOKED;
	EXPECT_EQ(WHY(REMOTE_ACCESS, REVOKED), outcome(t));
	EXPECT_EQ(1, t->a->q.executed);
	two_free(t);
}

TEST(S7_atomic_alignment)
{
	static const u32 opcodes[] = { GDA_MLX5_ATOMIC_FA, GDA_MLX5_ATOMIC_CS };
	u32 i, off, skew;

	/* a page boundary is among these offsets; memory may be skewed against iova */
	for (skew = 0; skew < 8; skew++) {
		for (i = 0; i < 2; i++) {
			for (off = 4088 - 8; off <= 4096 + 8; off++) {
				struct two *t = two_new(GDA_ACCESS_ALL, GDA_ACCESS_ALL);
				struct th_mr *r = th_mr_new(&t->dev, &dom_b, 0x800000, SIZE,
							    GDA_ACCESS_ALL, 12, skew);
				bool ok = off % 8 == 0 && skew == 0;
				u64 before, after;

				fill(r, 2);
				th_mr_get(r, off, &before, 8);
				th_atomic(t->a, opcodes[i], GDA_MLX5_CE_ALWAYS, t->l, 0, r, off, 1,
					  before);
				th_ring(t->a);
				EXPECT_EQ(ok ? 0 : WHY(REMOTE_INVAL_REQ, ALIGN), outcome(t))
					TH_LOG("skew %u off %u", skew, off);
				th_mr_get(r, off, &after, 8);
				EXPECT_EQ(ok, after != before);
				EXPECT_EQ(ok, !untouched(t->l, 1));
				th_mr_free(&t->dev, r);
				two_free(t);
			}
		}
	}
}

/* The result may lie anywhere, across pages too, and is in host order. */
TEST(S7_atomic_result_anywhere)
{
	u32 off;

	for (off = 4096 - 9; off <= 4097; off++) {
		struct two *t = two_new(GDA_ACCESS_ALL, GDA_ACCESS_ALL);
		u64 was, now, got;

		th_mr_get(t->r, 64, &was, 8);
		th_atomic(t->a, GDA_MLX5_ATOMIC_FA, GDA_MLX5_CE_ALWAYS, t->l, off, t->r, 64,
			  0x0102030405060708ULL, 0);
		th_ring(t->a);
		EXPECT_EQ(0, outcome(t));
		th_mr_get(t->r, 64, &now, 8);
		th_mr_get(t->l, off, &got, 8);
		EXPECT_EQ(was, got);
		EXPECT_EQ(was + 0x0102030405060708ULL, now);
		two_free(t);
	}
}

TEST(S7_atomic_range)
{
	static const u64 offs[] = { SIZE, SIZE - 0x7f8, (u64)-8, SIZE + 8, (u64)-0x700000 };
	struct two *t;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(offs); i++) {
		bool ok = offs[i] == SIZE - 0x7f8;

		t = two_new(GDA_ACCESS_ALL, GDA_ACCESS_ALL);
		post(t, GDA_MLX5_ATOMIC_FA, 0, offs[i], 8);
		EXPECT_EQ(ok ? 0 : WHY(REMOTE_ACCESS, RANGE), outcome(t));
		EXPECT_EQ(ok, !untouched(t->r, 2));
		two_free(t);
	}
	/* the result's range counts, and nothing is added when it is bad */
	t = two_new(GDA_ACCESS_ALL, GDA_ACCESS_ALL);
	post(t, GDA_MLX5_ATOMIC_FA, SIZE - 7, 0, 8);
	EXPECT_EQ(WHY(LOCAL_PROT, RANGE), outcome(t));
	EXPECT_TRUE(untouched(t->r, 2));
	two_free(t);
}

/* Memory without a CPU window fails the work request, at either end. */
TEST(no_window)
{
	static const u32 opcodes[] = {
		GDA_MLX5_WRITE, GDA_MLX5_READ, GDA_MLX5_ATOMIC_FA, GDA_MLX5_ATOMIC_CS
	};
	u32 i, end, len;

	for (i = 0; i < 4; i++) {
		for (end = 0; end < 2; end++) {
			for (len = 8; len <= 800; len += 792) {
				struct two *t = two_new(GDA_ACCESS_ALL, GDA_ACCESS_ALL);

				(end ? t->r : t->l)->windowless = true;
				post(t, opcodes[i], 0, 0, len);
				EXPECT_EQ(end ? WHY(REMOTE_OP, IO) : WHY(LOCAL_PROT, IO),
					  outcome(t));
				EXPECT_TRUE(untouched(end ? t->l : t->r, end ? 1 : 2));
				two_free(t);
			}
		}
	}
}

/* Of two segments the second is checked before the first is moved. */
TEST(K3_second_segment_first)
{
	static const u32 opcodes[] = { GDA_MLX5_WRITE, GDA_MLX5_READ };
	u32 i, k;

	for (i = 0; i < 2; i++) {
		for (k = 0; k < 3; k++) {
			struct two *t = two_new(GDA_ACCESS_ALL, GDA_ACCESS_ALL);
			struct gda_sge sge[2] = {
				{ .addr = 0x10000, .len = 100, .key = t->l->mem.key },
				{ .addr = 0x10000, .len = 100, .key = t->l->mem.key },
			};
			u32 want = WHY(LOCAL_PROT, RANGE);

			if (k == 0)
				sge[1].addr += SIZE;
			if (k == 1) {
				sge[1].key ^= 1;
				want = WHY(LOCAL_PROT, KEY);
			}
			if (k == 2)
				want = WHY(REMOTE_ACCESS, RANGE);
			th_rdma2(t->a, opcodes[i], GDA_MLX5_CE_ALWAYS, sge, t->r,
				 k == 2 ? SIZE - 199 : 0);
			th_ring(t->a);
			EXPECT_EQ(want, outcome(t));
			EXPECT_TRUE(untouched(t->l, 1));
			EXPECT_TRUE(untouched(t->r, 2));
			two_free(t);
		}
	}
}

TEST_HARNESS_MAIN
