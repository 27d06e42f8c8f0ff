// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Memory that no CPU reaches: that the engine goes nowhere near it, and how it checks a work
 * request for a host that carries it out. Words that are found again within a visit.
 */
#include "pair.h"

#define SIZE	0x2000U

FIXTURE(async_copy) {
	TH_PAIR;
};

FIXTURE_SETUP(async_copy)
{
	TH_PAIR_OPEN(self, SIZE);
	memset(self->l->pages[0], 0x42, 4096);
}

FIXTURE_TEARDOWN(async_copy)
{
	TH_PAIR_CLOSE(self);
}

#define post(s, opcode, len) \
	th_rdma((s)->a, opcode, GDA_MLX5_CE_ALWAYS, (s)->l, 0, (s)->r, 0, len)

#define WHY(synd, vend)	((u32)GDA_MLX5_SYND_##synd << 8 | GDA_MLX5_VENDOR_##vend)

static u32 why(const struct th_qp *qp)
{
	return (u32)th_syndrome(qp) << 8 | qp->q.first.cause;
}

static void no_cpu(struct th_mr *mr)
{
	mr->mem.state |= GDA_MEM_NO_CPU;
	mr->windowless = true;
}

/* A queue whose host cannot go there says so, at either end. */
TEST_F(async_copy, nobody_goes_there)
{
	static const u32 ops[] = { GDA_MLX5_WRITE, GDA_MLX5_READ, GDA_MLX5_WRITE_IMM };
	u32 i;

	no_cpu(self->r);
	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		th_again(self->a);
		post(self, ops[i], 8);
		th_ring(self->a);
		EXPECT_EQ(1, th_run(self->a));
		EXPECT_EQ(WHY(REMOTE_OP, IO), why(self->a));
	}
	no_cpu(self->l);
	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		th_again(self->a);
		post(self, ops[i], 8);
		th_ring(self->a);
		EXPECT_EQ(1, th_run(self->a));
		EXPECT_EQ(WHY(LOCAL_PROT, IO), why(self->a));
	}
	EXPECT_EQ(0, self->a->q.bytes);
}

/* gda_exec_check() of the work request at ci. Return: as why(), or 0. */
static u32 check(FIXTURE_DATA(async_copy) *self, struct gda_exec_mems *mems)
{
	struct gda_engine_qp *q = &self->a->q;
	struct gda_work w;
	struct th_why refused;
	int ret;

	memset(mems, 0xa5, sizeof(*mems));
	if (gda_dialect_mlx5.decode(q, (u32)(self->a->next - q->ci), &w).class)
		return ~0U;
	ret = -gda_exec_check(q, &w, gda_engine_peer(q), mems);
	refused = th_why(self->a, gda_status((u8)ret, (u8)(ret >> 8)));
	self->a->next = q->ci;
	return (u32)refused.syndrome << 8 | refused.vendor;
}

TEST_F(async_copy, K3_K4_K5_as_well_checked_as_near)
{
	static const struct {
		u32 state;		/* of the target's memory */
		u32 access;
		u64 off;
		u32 why;
	} rows[] = {
		{ GDA_MR_LIVE, GDA_ACCESS_ALL, 0, 0 },
		{ GDA_MR_LIVE | GDA_MEM_NO_CPU, GDA_ACCESS_ALL, 0, 0 },
		{ GDA_MR_LIVE | GDA_MEM_NO_CPU, GDA_ACCESS_ALL, SIZE - 8, 0 },
		{ GDA_MR_LIVE | GDA_MEM_NO_CPU, GDA_ACCESS_ALL, SIZE - 7,
		  WHY(REMOTE_ACCESS, RANGE) },
		{ GDA_MR_LIVE | GDA_MEM_NO_CPU, GDA_ACCESS_ALL, ~0ULL, WHY(REMOTE_ACCESS, RANGE) },
		{ GDA_MR_LIVE | GDA_MEM_NO_CPU, GDA_ACCESS_REMOTE_READ, 0,
		  WHY(REMOTE_ACCESS, RIGHTS) },
		{ GDA_MR_REVOKED | GDA_MEM_NO_CPU, GDA_ACCESS_ALL, 0,
		  WHY(REMOTE_ACCESS, REVOKED) },
		{ GDA_MR_REVOKED, GDA_ACCESS_ALL, 0, WHY(REMOTE_ACCESS, REVOKED) },
	};
	struct gda_exec_mems mems;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		self->r->mem.state = rows[i].state;
		self->r->mem.access = rows[i].access;
		th_rdma(self->a, GDA_MLX5_WRITE, 0, self->l, 0, self->r, rows[i].off, 8);
		EXPECT_EQ(rows[i].why, check(self, &mems)) TH_LOG("row %u", i);
	}
	/* and the local end */
	self->r->mem.state = GDA_MR_LIVE;
	self->l->mem.state = GDA_MR_REVOKED | GDA_MEM_NO_CPU;
	post(self, GDA_MLX5_WRITE, 8);
	EXPECT_EQ(WHY(LOCAL_PROT, REVOKED), check(self, &mems));
}

/* The host is told what was looked up, near or far. */
TEST_F(async_copy, told_what_was_found)
{
	struct gda_sge sge[2] = {
		{ .addr = 0x10000, .len = 4, .key = self->l->mem.key },
		{ .addr = 0x10010, .len = 4, .key = self->l->mem.key },
	};
	struct gda_exec_mems mems;
	u32 i;

	for (i = 0; i < 2; i++) {
		th_rdma2(self->a, GDA_MLX5_WRITE, 0, sge, self->r, 0);
		EXPECT_EQ(0, check(self, &mems));
		EXPECT_EQ(&self->r->mem, mems.remote);
		EXPECT_EQ(&self->l->mem, mems.local[0]);
		EXPECT_EQ(&self->l->mem, mems.local[1]);
		no_cpu(self->r);
	}
}

/* Without bytes there is no MR; but a responder, and its CQ for an immediate. */
TEST_F(async_copy, no_bytes_no_mr)
{
	struct gda_exec_mems mems;

	post(self, GDA_MLX5_WRITE, 0);
	EXPECT_EQ(0, check(self, &mems));
	EXPECT_EQ(NULL, mems.remote);
	post(self, GDA_MLX5_WRITE_IMM, 0);
	EXPECT_EQ(WHY(REMOTE_INVAL_REQ, RECV), check(self, &mems));
	post(self, GDA_MLX5_WRITE_IMM, 8);
	EXPECT_EQ(WHY(REMOTE_INVAL_REQ, RECV), check(self, &mems));
	self->b->q.recv_cq = &self->b->cq;
	post(self, GDA_MLX5_WRITE_IMM, 0);
	EXPECT_EQ(0, check(self, &mems));
	th_nop(self->a, 0);
	EXPECT_EQ(0, check(self, &mems));
	EXPECT_EQ(NULL, mems.remote);
	self->a->q.peer = NULL;
	post(self, GDA_MLX5_WRITE, 0);
	EXPECT_EQ(WHY(RETRY_EXC, PEER), check(self, &mems));
	post(self, GDA_MLX5_WRITE, 8);
	EXPECT_EQ(WHY(RETRY_EXC, PEER), check(self, &mems));
}

/* The engine reads what a DUMP names, and its host need not: it is there, and in range. */
TEST_F(async_copy, dump_of_far_memory)
{
	struct gda_exec_mems mems;

	no_cpu(self->l);
	th_dump(self->a, GDA_MLX5_CE_ALWAYS, self->l, 0, SIZE);
	EXPECT_EQ(0, check(self, &mems));
	EXPECT_EQ(NULL, mems.remote);
	th_dump(self->a, GDA_MLX5_CE_ALWAYS, self->l, 0, SIZE + 1);
	EXPECT_EQ(WHY(LOCAL_PROT, RANGE), check(self, &mems));
	th_dump(self->a, GDA_MLX5_CE_ALWAYS, self->l, 0, SIZE);
	th_ring(self->a);
	th_run(self->a);
	EXPECT_EQ(WHY(LOCAL_PROT, IO), why(self->a));
}

/*
 * The second of two words is found where the first one was. Each way in which
 * it is not the same after all, in one visit with a first one that is good.
 */
static const struct {
	u64 loff, roff;			/* of the second */
	u32 len;
	u32 why;
} again_rows[] = {
	{ 0, 0, 8, 0 },
	{ 8, 16, 8, 0 },
	{ 4, 4, 4, 0 },
	{ 4088, 4088, 8, 0 },		/* the span's last */
	{ 4092, 0, 8, 0 },		/* ends in the next one */
	{ 0, 4092, 8, 0 },
	{ 4096, 4096, 8, 0 },		/* begins there */
	{ SIZE - 8, SIZE - 8, 8, 0 },
	{ SIZE - 4, 0, 8, WHY(LOCAL_PROT, RANGE) },
	{ SIZE, 0, 8, WHY(LOCAL_PROT, RANGE) },
	{ -8ULL, 0, 8, WHY(LOCAL_PROT, RANGE) },
	{ 0, SIZE - 4, 8, WHY(REMOTE_ACCESS, RANGE) },
	{ 0, SIZE, 8, WHY(REMOTE_ACCESS, RANGE) },
	{ 0, -8ULL, 8, WHY(REMOTE_ACCESS, RANGE) },
};

static void again(struct __test_metadata *_metadata, FIXTURE_DATA(async_copy) *self, u32 opcode)
{
	u32 i, j;

	for (i = 0; i < ARRAY_SIZE(again_rows); i++) {
		bool read = opcode == GDA_MLX5_READ;
		struct th_mr *from = read ? self->r : self->l;
		struct th_mr *to = read ? self->l : self->r;
		u64 src = read ? again_rows[i].roff : again_rows[i].loff;
		u64 dst = read ? again_rows[i].loff : again_rows[i].roff;
		u32 len = again_rows[i].len;

		for (j = 0; j < SIZE; j++) {
			*th_mr_at(from, j) = (u8)(j * 7 + i + 1);
			*th_mr_at(to, j) = 0;
		}
		th_again(self->a);
		memset(&self->a->q.first, 0, sizeof(self->a->q.first));
		th_rdma(self->a, opcode, 0, self->l, 0, self->r, 0, 8);
		th_rdma(self->a, opcode, 0, self->l, again_rows[i].loff, self->r,
			again_rows[i].roff, len);
		th_ring(self->a);
		EXPECT_EQ(2, gda_engine_visit(&self->a->q, 64, 1U << 16));
		EXPECT_EQ(again_rows[i].why, why(self->a)) TH_LOG("row %u", i);
		for (j = 0; j < len && !again_rows[i].why; j++)
			EXPECT_EQ(*th_mr_at(from, src + j), *th_mr_at(to, dst + j))
				TH_LOG("row %u, byte %u", i, j);
	}
}

TEST_F(async_copy, S6_written_again) { again(_metadata, self, GDA_MLX5_WRITE); }
TEST_F(async_copy, S6_read_again) { again(_metadata, self, GDA_MLX5_READ); }

/* Another key between two, at either end, and words that come inline. */
TEST_F(async_copy, K4_found_again_by_its_key)
{
	struct th_mr *other = th_mr_new(&self->dev, &dom_b, 0x90000, SIZE, GDA_ACCESS_ALL, 12, 0);
	u64 word = 0x1122334455667788ULL, back = 0;
	u32 i;

	for (i = 0; i < 4; i++) {
		th_rdma(self->a, GDA_MLX5_WRITE, 0, self->l, 0, i & 1 ? other : self->r, 8 * i, 8);
		th_rdma(self->a, GDA_MLX5_READ, 0, self->l, 64, i & 1 ? other : self->r, 8 * i, 8);
		th_inline(self->a, 0, &word, 8, i & 1 ? self->r : other, 64 + 8 * i);
		th_inline(self->a, 0, &word, 4, i & 1 ? self->r : other, 128 + 8 * i);
	}
	th_ring(self->a);
	EXPECT_EQ(16, gda_engine_visit(&self->a->q, 64, 1U << 16));
	for (i = 0; i < 4; i++) {
		EXPECT_EQ(0x42, *th_mr_at(i & 1 ? other : self->r, 8 * i));
		EXPECT_EQ(0, *th_mr_at(i & 1 ? self->r : other, 8 * i));
		th_mr_get(i & 1 ? self->r : other, 64 + 8 * i, &back, 8);
		EXPECT_EQ(word, back);
	}
	EXPECT_EQ(GDA_QP_READY, self->a->q.state);
	EXPECT_EQ(12, self->b->recv.value);
	th_mr_free(&self->dev, other);
}

/* Nobody counts: words found again, of each operation. */
TEST_F(async_copy, found_again_without_counters)
{
	u32 i;

	self->b->q.recv = NULL;
	for (i = 0; i < 3; i++)
		post(self, GDA_MLX5_WRITE, 8);
	for (i = 0; i < 3; i++)
		post(self, GDA_MLX5_READ, 4);
	th_ring(self->a);
	EXPECT_EQ(6, gda_engine_visit(&self->a->q, 64, 1U << 16));
	EXPECT_EQ(36, self->a->q.bytes);
	EXPECT_EQ(GDA_QP_READY, self->a->q.state);
}

TEST_HARNESS_MAIN
