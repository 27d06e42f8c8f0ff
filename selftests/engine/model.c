// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Data: random work requests on scattered pages against a flat model, byte by byte,
 * under every kind of budget; large transfers; memory that overlaps itself or is the
 * queue.
 */
#include "host.h"
#include "kselftest_harness.h"

#define SIZE	20000U
#define BATCHES	36000
#define DEPTH	64U
#define ENTRIES	4096U		/* of the CQs of immediates */

static int dom_a, dom_b;

/* An MR and what must be in it. */
struct mem {
	struct th_mr *mr;
	u8 flat[SIZE];
};

struct world {
	struct th_dev dev;
	struct th_rand r;
	struct mem mem[4];	/* 0, 1 of a; 2, 3 of b */
	struct th_qp *qp[3];	/* a to b, b to a, a to itself */
	u64 signaled[3];	/* last index with a completion, + 1 */
	struct th_qp *imms;	/* its ring takes all immediates */
	u64 given;		/* how many there must be */
	u32 bad;
};

static void world_open(struct world *w, u64 seed)
{
	u64 iova = 0;
	u32 i;

	memset(w, 0, sizeof(*w));
	w->r.s = seed;
	for (i = 0; i < 4; i++) {
		u32 shift = 6 + th_below(&w->r, 7);
		u32 skew = 8 * th_below(&w->r, 8);

		/* in every other world all have the same addresses, more or less */
		if (!i || seed % 2)
			iova = th_rand(&w->r) >> 8 & ~0xfffULL;
		/* iova and memory are skewed alike: atomics need both aligned */
		w->mem[i].mr = th_mr_new(&w->dev, i < 2 ? &dom_a : &dom_b, iova + skew, SIZE,
					 GDA_ACCESS_ALL, shift, skew);
	}
	for (i = 0; i < 3; i++)
		w->qp[i] = th_qp_new(&w->dev, i == 1 ? &dom_b : &dom_a, DEPTH, 0);
	th_qp_pair(w->qp[0], w->qp[1]);
	th_qp_pair(w->qp[2], w->qp[2]);
	w->imms = th_qp_new(&w->dev, NULL, 1, ENTRIES);
	for (i = 0; i < 3; i++)
		w->qp[i]->q.recv_cq = &w->imms->cq;
}

static void world_close(struct world *w)
{
	u32 i;

	for (i = 0; i < 4; i++)
		th_mr_free(&w->dev, w->mem[i].mr);
	for (i = 0; i < 3; i++)
		th_qp_free(w->qp[i]);
	th_qp_free(w->imms);
}

static u32 some_len(struct world *w, u32 max)
{
	switch (th_below(&w->r, 8)) {
	case 0:
		return 1 + th_below(&w->r, max);
	case 1:
		return 8;
	case 2:
		return 1 + th_below(&w->r, min(max, 600U));
	default:
		return 1 + th_below(&w->r, 70);
	}
}

static u8 some_ce(struct world *w)
{
	return (u8)(th_below(&w->r, 4) << 2 | th_below(&w->r, 2) << 1 | th_below(&w->r, 8) << 5);
}

/* A copy between two MRs, mostly of up to two segments, and the same in the model. */
static void do_rdma(struct world *w, struct th_qp *qp, struct mem *l, struct mem *r)
{
	u32 opcode = th_below(&w->r, 2) ? GDA_MLX5_WRITE : GDA_MLX5_READ;
	u32 n = th_below(&w->r, 16) ? 1 + th_below(&w->r, 2) :
		th_below(&w->r, GDA_ENGINE_MAX_SGE + 1);
	struct gda_sge sge[GDA_ENGINE_MAX_SGE] = { 0 };
	u32 loff[GDA_ENGINE_MAX_SGE], roff, len = 0, i;

	for (i = 0; i < n; i++) {
		sge[i].len = some_len(w, SIZE / 2 / (n < 2 ? 2 : n));
		loff[i] = th_below(&w->r, SIZE / 2 - sge[i].len + 1);
		sge[i].addr = l->mr->mem.iova + loff[i];
		sge[i].key = l->mr->mem.key;
		len += sge[i].len;
	}
	/* segments in the lower half, the remote range in the upper: l may be r */
	roff = SIZE / 2 + th_below(&w->r, SIZE / 2 - len + 1);
	th_list(qp, opcode, some_ce(w), sge, n, r->mr, roff);
	for (i = 0; i < n; i++) {
		if (opcode == GDA_MLX5_WRITE)
			memcpy(r->flat + roff, l->flat + loff[i], sge[i].len);
		else
			memcpy(l->flat + loff[i], r->flat + roff, sge[i].len);
		roff += sge[i].len;
	}
}

static void do_inline(struct world *w, struct th_qp *qp, struct mem *r)
{
	u32 len = th_below(&w->r, (th_below(&w->r, 8) ? 60U : GDA_ENGINE_MAX_INLINE) + 1), i;
	u32 roff = th_below(&w->r, SIZE - len + 1);
	u8 data[GDA_ENGINE_MAX_INLINE];

	for (i = 0; i < len; i++)
		data[i] = (u8)th_rand(&w->r);
	th_inline(qp, some_ce(w), data, len, r->mr, roff);
	memcpy(r->flat + roff, data, len);
}

static void do_atomic(struct world *w, struct th_qp *qp, struct mem *l, struct mem *r)
{
	u32 roff = 8 * th_below(&w->r, SIZE / 8);
	u32 loff = th_below(&w->r, SIZE - 7);
	bool add = th_below(&w->r, 2);
	u64 old, operand = th_rand(&w->r), compare = th_rand(&w->r), new;

	memcpy(&old, r->flat + roff, 8);
	if (th_below(&w->r, 2))
		compare = old;
	new = add ? old + operand : old == compare ? operand : old;
	th_atomic(qp, add ? GDA_MLX5_ATOMIC_FA : GDA_MLX5_ATOMIC_CS, some_ce(w), l->mr, loff,
		  r->mr, roff, operand, compare);
	memcpy(r->flat + roff, &new, 8);
	memcpy(l->flat + loff, &old, 8);
}

/* In fields, bit by bit: what the operation is defined to be. */
static u64 add_in_fields(u64 a, u64 b, u64 last, u32 width)
{
	u64 sum = 0, carry = 0;
	u32 i;

	for (i = 0; i < 8 * width; i++) {
		u64 bits = (a >> i & 1) + (b >> i & 1) + carry;

		sum |= (bits & 1) << i;
		carry = last >> i & 1 ? 0 : bits >> 1;
	}
	return sum;
}

/* A word of @width bytes, in memory and as a number. */
static void put_word(u8 *to, u64 value, u32 width)
{
	u32 half = (u32)value;

	memcpy(to, width == 4 ? (void *)&half : (void *)&value, width);
}

static u64 get_word(const u8 *from, u32 width)
{
	u64 value = 0;
	u32 half = 0;

	memcpy(width == 4 ? (void *)&half : (void *)&value, from, width);
	return width == 4 ? half : value;
}

static void do_masked(struct world *w, struct th_qp *qp, struct mem *l, struct mem *r)
{
	struct th_masked m = {
		.width = th_below(&w->r, 2) ? 4 : 8,
		.swap_add = th_rand(&w->r), .compare = th_rand(&w->r) & th_rand(&w->r),
		.swap_mask = th_rand(&w->r), .compare_mask = th_rand(&w->r),
	};
	u64 keep = m.width == 4 ? 0xffffffff : ~0ULL;
	u32 roff = m.width * th_below(&w->r, SIZE / m.width);
	u32 loff = th_below(&w->r, SIZE - 7);
	bool add = th_below(&w->r, 2);
	u64 old, new;

	old = get_word(r->flat + roff, m.width);
	if (!add && th_below(&w->r, 2))
		m.compare = old ^ (m.compare & ~m.compare_mask);
	if (add)
		new = add_in_fields(old, m.swap_add, m.compare, m.width);
	else if ((old ^ m.compare) & m.compare_mask & keep)
		new = old;
	else
		new = (old & ~m.swap_mask) | (m.swap_add & m.swap_mask);
	th_masked(qp, add ? GDA_MLX5_MASKED_FA : GDA_MLX5_MASKED_CS, some_ce(w), l->mr, loff,
		  r->mr, roff, &m);
	put_word(r->flat + roff, new, m.width);
	put_word(l->flat + loff, m.width == 4 ? gda_be32((u32)old) : old, m.width);
}

static void do_imm(struct world *w, struct th_qp *qp, struct mem *l, struct mem *r)
{
	u32 len = th_below(&w->r, 4) ? some_len(w, SIZE / 2) : 0;
	u32 loff = th_below(&w->r, SIZE / 2 - len + 1);
	u32 roff = SIZE / 2 + th_below(&w->r, SIZE / 2 - len + 1);

	th_imm(qp, some_ce(w), (u32)w->given++, l->mr, loff, r->mr, roff, len);
	memcpy(r->flat + roff, l->flat + loff, len);
}

/* All immediates that were given, in order: those of one queue at a time. */
static void take_imms(struct world *w)
{
	u32 n = w->imms->pushes, i;

	w->bad += n != (u32)w->given || w->imms->refused;
	for (i = n > ENTRIES ? n - ENTRIES : 0; i < n; i++) {
		const struct gda_mlx5_cqe *cqe = (const void *)
			(w->imms->cqe + (i & (ENTRIES - 1)) * 64);

		w->bad += gda_be32_to_cpu(cqe->imm) != i;
		w->bad += cqe->op_own >> 4 != GDA_MLX5_CQE_RESP_IMM;
	}
	w->imms->consumer = gda_be32(n & 0xffffff);
}

static void do_one(struct world *w, u32 which)
{
	struct th_qp *qp = w->qp[which];
	struct mem *l = &w->mem[(which == 1 ? 2 : 0) + th_below(&w->r, 2)];
	struct mem *r = &w->mem[(which == 0 ? 2 : 0) + th_below(&w->r, 2)];
	u64 index = qp->next;

	switch (th_below(&w->r, 9)) {
	case 0:
		if (th_below(&w->r, 2))
			th_nop(qp, some_ce(w));
		else
			th_dump(qp, some_ce(w), l->mr, th_below(&w->r, SIZE), 1);
		break;
	case 1:
		if (th_below(&w->r, 2))
			do_atomic(w, qp, l, r);
		else
			do_masked(w, qp, l, r);
		break;
	case 8:
		do_imm(w, qp, l, r);
		break;
	case 2:
	case 3:
		do_inline(w, qp, r);
		break;
	default:
		do_rdma(w, qp, l, r);
	}
	if (th_ctrl(qp, index)->fm_ce_se & GDA_MLX5_CE_ALWAYS)
		w->signaled[which] = index + 1;
}

/* One visit; what it says about itself must be true. */
static u32 visit(struct world *w, struct th_qp *qp, u32 wqes, u32 bytes)
{
	bool pending = gda_engine_pending(&qp->q);
	u64 before = qp->q.bytes, ci = qp->q.ci;
	u32 n = gda_engine_visit(&qp->q, wqes, bytes);

	w->bad += pending != (n != 0);
	w->bad += n > wqes;
	w->bad += qp->q.bytes - before > (u64)bytes + 63;
	w->bad += qp->q.ci - ci > TH_MAX_SLOTS * (u64)n;
	w->bad += qp->q.cqe_pending;
	return n;
}

static void drain(struct world *w, struct th_qp *qp)
{
	u32 kind = th_below(&w->r, 4), n;

	do {
		u32 wqes = 1 + th_below(&w->r, kind & 1 ? 3 : 64);
		u32 bytes = 1 + th_below(&w->r, kind & 2 ? 50000 : 1000);

		n = visit(w, qp, wqes, bytes);
	} while (n);
}

static bool same(const struct mem *m)
{
	static u8 now[SIZE];

	th_mr_get(m->mr, 0, now, SIZE);
	return !memcmp(now, m->flat, SIZE);
}

static void run_world(struct world *w, u32 batches)
{
	u32 i, k;

	for (i = 0; i < batches; i++) {
		u32 which = th_below(&w->r, 3);
		struct th_qp *qp = w->qp[which];

		while (qp->next - qp->q.ci <= DEPTH - TH_MAX_SLOTS &&
		       th_below(&w->r, 12))
			do_one(w, which);
		if (th_below(&w->r, 2))
			th_ring_db(qp, qp->next);
		else
			th_ring_rec(qp, qp->next);
		drain(w, qp);
		w->bad += qp->q.ci != qp->next || qp->q.state != GDA_QP_READY;
		w->bad += th_cqe_counter(qp) != (u16)(w->signaled[which] - 1);
		if (i % 16 && i != batches - 1)
			continue;
		take_imms(w);
		for (k = 0; k < 4; k++)
			w->bad += !same(&w->mem[k]);
		if (w->bad)
			return;
	}
}

TEST(random_model)
{
	static struct world w;
	u32 seed;

	for (seed = 1; seed <= 12; seed++) {
		world_open(&w, seed);
		run_world(&w, BATCHES / 12);
		EXPECT_EQ(0, w.bad)
			TH_LOG("seed %u", seed);
		EXPECT_EQ(w.qp[0]->q.bytes > 100000, true);
		world_close(&w);
	}
}

/* A large transfer, resumed at every kind of place, arrives once and whole. */
TEST(E1_large_transfers_resume)
{
	static const u32 budgets[] = { 1, 7, 64, 1000, 4096, 65536, 1U << 20 };
	const u32 len = 300000;
	struct th_dev dev = { 0 };
	u32 i, k, op, visits;

	for (op = 0; op < 2; op++) {
		for (i = 0; i < ARRAY_SIZE(budgets); i++) {
			struct th_qp *a = th_qp_new(&dev, &dom_a, 4, 0);
			struct th_qp *b = th_qp_new(&dev, &dom_b, 4, 0);
			struct th_mr *l = th_mr_new(&dev, &dom_a, 5, len, GDA_ACCESS_ALL, 9, 3);
			struct th_mr *r = th_mr_new(&dev, &dom_b, 9, len, GDA_ACCESS_ALL, 11, 77);
			struct gda_sge sge[2] = {
				{ .addr = 5, .len = 100001, .key = l->mem.key },
				{ .addr = 5 + 100001, .len = len - 100001, .key = l->mem.key },
			};
			struct th_mr *from = op ? r : l, *to = op ? l : r;
			u32 wrong = 0;

			th_qp_pair(a, b);
			for (k = 0; k < len; k++)
				*th_mr_at(from, k) = (u8)(k * 2654435761U >> 13);
			th_rdma2(a, op ? GDA_MLX5_READ : GDA_MLX5_WRITE, GDA_MLX5_CE_ALWAYS, sge,
				 r, 0);
			th_ring(a);
			for (visits = 0; gda_engine_visit(&a->q, 8, budgets[i]); visits++) {
				wrong += a->q.bytes != min((u64)len, (visits + 1ULL) * budgets[i]);
				wrong += (th_cqe_counter(a) == 0) != (a->q.bytes == len);
				wrong += a->q.ci != (a->q.bytes == len);
			}
			EXPECT_EQ((len + budgets[i] - 1) / budgets[i], visits);
			EXPECT_EQ(0, wrong);
			EXPECT_EQ(len, gda_be32_to_cpu(th_cqe(a)->byte_cnt));
			for (k = 0; k < len; k++)
				wrong += *th_mr_at(to, k) != (u8)(k * 2654435761U >> 13);
			EXPECT_EQ(0, wrong);
			th_mr_free(&dev, l);
			th_mr_free(&dev, r);
			th_qp_free(a);
			th_qp_free(b);
		}
	}
}

/* Source and sink overlap: within a span it is memmove, never undefined. */
TEST(overlap_is_memmove)
{
	struct th_dev dev = { 0 };
	struct th_mr *mr = th_mr_new(&dev, NULL, 0, 4096, GDA_ACCESS_ALL, 12, 0);
	struct th_qp *qp = th_qp_new(&dev, NULL, 4, 0);
	u8 flat[4096];
	u32 len, k, op, bad = 0;
	int shift;

	th_qp_pair(qp, qp);
	for (k = 0; k < 4096; k++)
		flat[k] = (u8)(k ^ k >> 5);
	th_mr_put(mr, 0, flat, 4096);
	for (len = 1; len < 700; len += len < 20 ? 1 : 97) {
		for (shift = -40; shift <= 40; shift++) {
			for (op = 0; op < 2; op++) {
				u64 near = 1000, far = (u64)(1000 + shift);

				th_rdma(qp, op ? GDA_MLX5_READ : GDA_MLX5_WRITE, 0, mr, near, mr,
					far, len);
				th_ring(qp);
				th_run(qp);
				memmove(flat + (op ? near : far), flat + (op ? far : near), len);
				bad += memcmp(flat, mr->pages[0], 4096) != 0;
			}
		}
	}
	EXPECT_EQ(0, bad);
	EXPECT_EQ(GDA_QP_READY, qp->q.state);
	th_qp_free(qp);
	th_mr_free(&dev, mr);
}

/* The queue itself is registered: a put rewrites an entry before it is taken. */
TEST(queue_is_its_own_target)
{
	struct th_dev dev = { 0 };
	struct th_qp *qp = th_qp_new(&dev, NULL, 64, 0);
	struct th_mr *mr = th_mr_new(&dev, NULL, 0, 4096, GDA_ACCESS_ALL, 12, 0);
	u8 *page = mr->pages[0];
	u8 nop[16] __attribute__((aligned(8)));
	u32 i;

	mr->pages[0] = qp->sq;
	th_qp_pair(qp, qp);
	for (i = 0; i < 30; i++) {
		u64 target = qp->next + 1;

		gda_mlx5_set_ctrl((void *)nop, target, GDA_MLX5_NOP, TH_QPN, 1,
				  GDA_MLX5_CE_ALWAYS, 0);
		th_inline(qp, 0, nop, 16, mr, (target & 63) * 64);
		memset(th_slot(qp, target), 0x11, 64);
		qp->next++;
		/* and one that copies the queue onto itself, entries to come included */
		th_rdma(qp, GDA_MLX5_WRITE, 0, mr, 0, mr, 0, 4096);
		th_ring(qp);
		th_run(qp);
		EXPECT_EQ((u16)target, th_cqe_counter(qp));
	}
	EXPECT_EQ(GDA_QP_READY, qp->q.state);
	/* a request that overwrites its own entry was copied before */
	th_rdma(qp, GDA_MLX5_WRITE, GDA_MLX5_CE_ALWAYS, mr, 1024, mr, 0, 2048);
	th_ring(qp);
	th_run(qp);
	EXPECT_EQ(GDA_QP_READY, qp->q.state);
	mr->pages[0] = page;
	th_mr_free(&dev, mr);
	th_qp_free(qp);
}

/* Every way a segment can lie against a page boundary, byte by byte. */
TEST(every_offset_and_length)
{
	struct th_dev dev = { 0 };
	struct th_mr *l = th_mr_new(&dev, &dom_a, 0, 512, GDA_ACCESS_ALL, 6, 0);
	struct th_mr *r = th_mr_new(&dev, &dom_b, 0, 512, GDA_ACCESS_ALL, 6, 0);
	struct th_qp *a = th_qp_new(&dev, &dom_a, 4, 0);
	struct th_qp *b = th_qp_new(&dev, &dom_b, 4, 0);
	u32 loff, roff, len, k, bad = 0;
	u8 flat[512], now[512];

	th_qp_pair(a, b);
	for (k = 0; k < 512; k++)
		flat[k] = (u8)(k * 31 + 7);
	th_mr_put(l, 0, flat, 512);
	for (len = 0; len <= 72; len += len < 18 || len > 60 ? 1 : 7) {
		for (loff = 0; loff < 64; loff += loff < 8 || loff > 54 ? 1 : 5) {
			for (roff = 0; roff < 64; roff += roff < 8 || roff > 54 ? 1 : 11) {
				memset(now, 0, 512);
				th_mr_put(r, 0, now, 512);
				th_rdma(a, GDA_MLX5_WRITE, 0, l, loff, r, roff, len);
				th_ring(a);
				th_run(a);
				memcpy(now + roff, flat + loff, len);
				for (k = 0; k < 512; k += 64)
					bad += memcmp(now + k, r->pages[k / 64], 64) != 0;
			}
		}
	}
	EXPECT_EQ(0, bad);
	EXPECT_EQ(GDA_QP_READY, a->q.state);
	th_mr_free(&dev, l);
	th_mr_free(&dev, r);
	th_qp_free(a);
	th_qp_free(b);
}

TEST_HARNESS_MAIN
