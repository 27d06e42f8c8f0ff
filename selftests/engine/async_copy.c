// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Memory that no CPU reaches, and the host that moves its bytes: what the host is
 * asked, when not, and what the engine makes of each answer. Words that are found
 * again within a visit, since a queue with such a host never finds them.
 */
#include "host.h"
#include "kselftest_harness.h"

#define SIZE	0x2000U
#define LONG	1000U		/* the engine may split it */
#define AGAIN	-1		/* an answer: 0, but a byte was moved */

static int dom_a, dom_b;

/* The host's answers, in turn; the last one for good. */
static struct {
	int answer[8];
	u32 asked;
	u32 done[8];			/* q->done, when it was asked */
	struct gda_exec_mems mems;
	const struct gda_engine_qp *peer;
} host;

static int host_exec(struct gda_engine_qp *q, const struct gda_engine_qp *peer,
		     const struct gda_exec_mems *mems)
{
	int answer = host.answer[host.asked];

	host.done[host.asked] = q->done;
	host.mems = *mems;
	host.peer = peer;
	if (host.asked < ARRAY_SIZE(host.answer) - 1)
		host.asked++;
	if (answer == AGAIN) {
		q->done++;
		q->bytes++;
		return 0;
	}
	return answer;
}

static const struct gda_async_ops host_ops = { host_exec };

FIXTURE(async_copy) {
	struct th_dev dev;
	struct th_qp *a, *b;
	struct th_mr *l, *r;
};

FIXTURE_SETUP(async_copy)
{
	memset(self, 0, sizeof(*self));
	memset(&host, 0, sizeof(host));
	self->a = th_qp_new(&self->dev, &dom_a, 64, 0);
	self->b = th_qp_new(&self->dev, &dom_b, 64, 0);
	th_qp_pair(self->a, self->b);
	self->l = th_mr_new(&self->dev, &dom_a, 0x10000, SIZE, GDA_ACCESS_ALL, 12, 0);
	self->r = th_mr_new(&self->dev, &dom_b, 0x90000, SIZE, GDA_ACCESS_ALL, 12, 0);
	memset(self->l->pages[0], 0x42, 4096);
	self->a->q.async = &host_ops;
}

FIXTURE_TEARDOWN(async_copy)
{
	th_mr_free(&self->dev, self->l);
	th_mr_free(&self->dev, self->r);
	th_qp_free(self->a);
	th_qp_free(self->b);
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

/* A queue whose host cannot go there says so, at either end; for a DUMP there is no need. */
TEST_F(async_copy, nobody_goes_there)
{
	static const u32 ops[] = { GDA_MLX5_WRITE, GDA_MLX5_READ, GDA_MLX5_WRITE_IMM };
	u32 i;

	self->a->q.async = NULL;
	no_cpu(self->r);
	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		self->a->q.state = GDA_QP_READY;
		post(self, ops[i], 8);
		th_ring(self->a);
		EXPECT_EQ(1, th_run(self->a));
		EXPECT_EQ(WHY(REMOTE_OP, IO), why(self->a));
	}
	no_cpu(self->l);
	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		self->a->q.state = GDA_QP_READY;
		post(self, ops[i], 8);
		th_ring(self->a);
		EXPECT_EQ(1, th_run(self->a));
		EXPECT_EQ(WHY(LOCAL_PROT, IO), why(self->a));
	}
	EXPECT_EQ(0, self->a->q.bytes);
}

TEST_F(async_copy, K3_K4_K5_as_well_checked_as_near)
{
	static const struct {
		u32 state;		/* of the target's memory */
		u32 access;
		u64 off;
		u32 why;
	} rows[] = {
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
	u32 i;

	host.answer[0] = 1;
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		host.asked = 0;
		self->a->q.state = GDA_QP_READY;
		memset(&self->a->q.first, 0, sizeof(self->a->q.first));
		self->r->mem.state = rows[i].state;
		self->r->mem.access = rows[i].access;
		th_rdma(self->a, GDA_MLX5_WRITE, 0, self->l, 0, self->r, rows[i].off, 8);
		th_ring(self->a);
		th_run(self->a);
		EXPECT_EQ(rows[i].why, why(self->a)) TH_LOG("row %u", i);
		EXPECT_EQ(!rows[i].why, host.asked) TH_LOG("row %u", i);
	}
	/* and the local end */
	host.asked = 0;
	self->a->q.state = GDA_QP_READY;
	self->r->mem.state = GDA_MR_LIVE;
	self->l->mem.state = GDA_MR_REVOKED | GDA_MEM_NO_CPU;
	post(self, GDA_MLX5_WRITE, 8);
	th_ring(self->a);
	th_run(self->a);
	EXPECT_EQ(WHY(LOCAL_PROT, REVOKED), why(self->a));
	EXPECT_EQ(0, host.asked);
}

/* It is asked for near memory, too, and told what was looked up. */
TEST_F(async_copy, asked_for_all_that_moves)
{
	struct gda_sge sge[2] = {
		{ .addr = 0x10000, .len = 4, .key = self->l->mem.key },
		{ .addr = 0x10010, .len = 4, .key = self->l->mem.key },
	};
	unsigned int i;

	for (i = 0; i < 4; i++)
		host.answer[i] = 1;
	post(self, GDA_MLX5_WRITE, 8);
	post(self, GDA_MLX5_READ, 8);
	th_atomic(self->a, GDA_MLX5_ATOMIC_FA, 0, self->l, 0, self->r, 0, 1, 0);
	th_rdma2(self->a, GDA_MLX5_WRITE, 0, sge, self->r, 0);
	th_nop(self->a, 0);
	th_ring(self->a);
	EXPECT_EQ(5, th_run(self->a));
	EXPECT_EQ(4, host.asked);
	EXPECT_EQ(&self->b->q, host.peer);
	EXPECT_EQ(&self->r->mem, host.mems.remote);
	EXPECT_EQ(&self->l->mem, host.mems.local[0]);
	EXPECT_EQ(&self->l->mem, host.mems.local[1]);
	/* what it did counts as done, a read at its own end only */
	EXPECT_EQ(5, self->a->sent.value);
	EXPECT_EQ(3, self->b->recv.value);
	EXPECT_EQ(0, *th_mr_at(self->r, 0));
	EXPECT_EQ(GDA_QP_READY, self->a->q.state);
}

/* Nobody counts at the peer. */
TEST_F(async_copy, no_counters)
{
	self->a->q.sent = NULL;
	self->b->q.recv = NULL;
	host.answer[0] = 1;
	host.answer[1] = GDA_ASYNC_BY_ENGINE;
	post(self, GDA_MLX5_WRITE, 8);
	post(self, GDA_MLX5_WRITE, 8);
	th_ring(self->a);
	EXPECT_EQ(2, th_run(self->a));
	EXPECT_EQ(2, host.asked);
	EXPECT_EQ(8, self->a->q.bytes);
}

TEST_F(async_copy, nobody_responds)
{
	host.answer[0] = 1;
	self->a->peer = NULL;
	post(self, GDA_MLX5_WRITE, 8);
	th_ring(self->a);
	th_run(self->a);
	EXPECT_EQ(WHY(RETRY_EXC, PEER), why(self->a));
	EXPECT_EQ(0, host.asked);
}

/* In flight: the visit ends, nothing behind it is begun, and it goes on where it was. */
TEST_F(async_copy, E1_what_waits_ends_the_visit)
{
	host.answer[0] = 0;
	host.answer[1] = AGAIN;
	host.answer[2] = AGAIN;
	host.answer[3] = 1;
	host.answer[4] = 1;
	post(self, GDA_MLX5_WRITE, LONG);
	post(self, GDA_MLX5_WRITE, 8);
	th_ring(self->a);
	EXPECT_EQ(1, gda_engine_visit(&self->a->q, 64, 1U << 16));
	EXPECT_EQ(1, host.asked);
	EXPECT_TRUE(self->a->q.busy);
	EXPECT_EQ(1, gda_engine_visit(&self->a->q, 64, 1U << 16));
	EXPECT_EQ(1, gda_engine_visit(&self->a->q, 64, 1U << 16));
	EXPECT_EQ(3, host.asked);
	EXPECT_EQ(0, self->a->q.executed);
	EXPECT_EQ(0, self->b->recv.value);
	EXPECT_TRUE(gda_engine_pending(&self->a->q));
	EXPECT_EQ(2, gda_engine_visit(&self->a->q, 64, 1U << 16));
	EXPECT_EQ(5, host.asked);
	EXPECT_EQ(1, host.done[2] - host.done[1]);
	EXPECT_EQ(2, host.done[3] - host.done[1]);
	EXPECT_FALSE(self->a->q.busy);
	EXPECT_EQ(2, self->a->q.executed);
	EXPECT_EQ(2, self->b->recv.value);
}

/* All of it is looked up and checked again, each time it is asked. */
TEST_F(async_copy, K5_revoked_while_it_waits)
{
	no_cpu(self->r);
	host.answer[1] = 1;
	post(self, GDA_MLX5_WRITE, LONG);
	th_ring(self->a);
	EXPECT_EQ(1, gda_engine_visit(&self->a->q, 64, 1U << 16));
	self->r->mem.state = GDA_MR_REVOKED | GDA_MEM_NO_CPU;
	EXPECT_EQ(1, gda_engine_visit(&self->a->q, 64, 1U << 16));
	EXPECT_EQ(WHY(REMOTE_ACCESS, REVOKED), why(self->a));
	EXPECT_EQ(1, host.asked);
	EXPECT_FALSE(self->a->q.busy);
}

TEST_F(async_copy, what_fails_there_fails_here)
{
	host.answer[0] = 0;
	host.answer[1] = -(int)GDA_STATUS(GDA_CLASS_REMOTE_OP, GDA_CAUSE_IO);
	post(self, GDA_MLX5_WRITE, 8);
	post(self, GDA_MLX5_WRITE, 8);
	th_ring(self->a);
	EXPECT_EQ(1, gda_engine_visit(&self->a->q, 64, 1U << 16));
	EXPECT_EQ(2, th_run(self->a));
	EXPECT_EQ(WHY(REMOTE_OP, IO), why(self->a));
	EXPECT_EQ(2, host.asked);
	EXPECT_EQ(1, self->a->q.flushed);
	EXPECT_EQ(0, self->b->recv.value);
	EXPECT_FALSE(self->a->q.busy);
}

/* "The engine may": as if nobody had been asked, whatever the budget and the length. */
TEST_F(async_copy, near_is_the_engines)
{
	u32 i, lens[] = { 0, 1, 4, 8, 64, 65, LONG, SIZE };

	for (i = 0; i < ARRAY_SIZE(host.answer); i++)
		host.answer[i] = GDA_ASYNC_BY_ENGINE;
	memset(self->l->pages[1], 0x42, 4096);
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		u32 visits = 0, len = lens[i];

		memset(self->r->pages[0], 0, 4096);
		memset(self->r->pages[1], 0, 4096);
		host.asked = 0;
		post(self, GDA_MLX5_WRITE, len);
		th_ring(self->a);
		while (gda_engine_visit(&self->a->q, 1, 100))
			visits++;
		EXPECT_EQ(len <= 100 ? 1 : (len + 99) / 100, visits) TH_LOG("%u bytes", len);
		if (len)
			EXPECT_EQ(0x42, *th_mr_at(self->r, len - 1));
		if (len < SIZE)
			EXPECT_EQ(0, *th_mr_at(self->r, len));
		EXPECT_EQ(i + 1, self->b->recv.value);
	}
	EXPECT_EQ(GDA_QP_READY, self->a->q.state);
}

/* Without bytes there is no MR, and the host is asked all the same: it keeps the order. */
TEST_F(async_copy, no_bytes_no_mr)
{
	u32 i;

	for (i = 0; i < 2; i++) {
		memset(&host.mems, 0xa5, sizeof(host.mems));
		host.asked = 0;
		host.answer[0] = 0;
		host.answer[1] = i ? GDA_ASYNC_BY_ENGINE : 1;
		post(self, GDA_MLX5_WRITE, 0);
		th_ring(self->a);
		EXPECT_EQ(1, gda_engine_visit(&self->a->q, 64, 1U << 16));
		EXPECT_EQ(i, self->b->recv.value);
		EXPECT_EQ(1, gda_engine_visit(&self->a->q, 64, 1U << 16));
		EXPECT_EQ(2, host.asked);
		EXPECT_EQ(NULL, host.mems.remote);
		EXPECT_EQ(i + 1, self->b->recv.value);
		EXPECT_FALSE(self->a->q.busy);
	}
	EXPECT_EQ(GDA_QP_READY, self->a->q.state);
}

/* A short one that the host first let wait begins anew when the engine may. */
TEST_F(async_copy, near_after_waiting)
{
	host.answer[0] = AGAIN;
	host.answer[1] = GDA_ASYNC_BY_ENGINE;
	post(self, GDA_MLX5_WRITE, 8);
	th_ring(self->a);
	EXPECT_EQ(1, gda_engine_visit(&self->a->q, 64, 1U << 16));
	EXPECT_EQ(1, gda_engine_visit(&self->a->q, 64, 1U << 16));
	EXPECT_EQ(2, host.asked);
	EXPECT_EQ(0x42, *th_mr_at(self->r, 0));
	EXPECT_EQ(0x42, *th_mr_at(self->r, 7));
	EXPECT_EQ(0, *th_mr_at(self->r, 8));
	EXPECT_FALSE(self->a->q.busy);
	EXPECT_EQ(1, self->a->q.executed);
}

/* Atomics, and the immediate behind a write, are the engine's when it may. */
TEST_F(async_copy, near_atomic_and_immediate)
{
	struct th_qp *sink = th_qp_new(&self->dev, &dom_b, 1, 8);
	u64 word = 7;

	self->b->q.recv_cq = &sink->cq;
	host.answer[0] = GDA_ASYNC_BY_ENGINE;
	host.answer[1] = GDA_ASYNC_BY_ENGINE;
	th_mr_put(self->r, 0, &word, 8);
	th_atomic(self->a, GDA_MLX5_ATOMIC_FA, 0, self->l, 8, self->r, 0, 5, 0);
	th_imm(self->a, 0, 9, self->l, 0, self->r, 64, 8);
	th_ring(self->a);
	EXPECT_EQ(2, th_run(self->a));
	th_mr_get(self->r, 0, &word, 8);
	EXPECT_EQ(12, word);
	th_mr_get(self->l, 8, &word, 8);
	EXPECT_EQ(7, word);
	EXPECT_EQ(1, sink->pushes);
	EXPECT_EQ(2, self->b->recv.value);
	th_qp_free(sink);
}

/* The immediate waits for room: a host that let the engine carry it out is asked again. */
TEST_F(async_copy, rnr_near_immediate_is_tried_again)
{
	struct th_qp *sink = th_qp_new(&self->dev, &dom_b, 1, 1);
	u32 i, lens[] = { 0, 8, LONG };

	for (i = 0; i < ARRAY_SIZE(host.answer); i++)
		host.answer[i] = GDA_ASYNC_BY_ENGINE;
	self->b->q.recv_cq = &sink->cq;
	self->a->q.rnr_retry = 2;
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		u64 bytes = self->a->q.bytes;

		host.asked = 0;
		sink->consumer = gda_be32((u32)sink->cq.producer);
		th_imm(self->a, 0, 1, self->l, 0, self->r, 0, lens[i]);
		th_imm(self->a, 0, 2, self->l, 0, self->r, 0, lens[i]);
		th_ring(self->a);
		EXPECT_EQ(2, th_run(self->a));
		EXPECT_EQ(1, th_run(self->a));
		sink->consumer = gda_be32((u32)sink->cq.producer);
		EXPECT_EQ(1, th_run(self->a)) TH_LOG("%u bytes", lens[i]);
		EXPECT_EQ(4, host.asked);
		EXPECT_EQ(bytes + 2 * lens[i], self->a->q.bytes);
		EXPECT_EQ(2 * i + 2, sink->pushes - sink->refused);
	}
	EXPECT_EQ(GDA_QP_READY, self->a->q.state);
	th_qp_free(sink);
}

/* The host reports nothing before all that it moves there is done: no read is needed. */
TEST_F(async_copy, dump_of_far_memory)
{
	no_cpu(self->l);
	th_dump(self->a, GDA_MLX5_CE_ALWAYS, self->l, 0, SIZE);
	th_ring(self->a);
	EXPECT_EQ(1, th_run(self->a));
	EXPECT_EQ(GDA_QP_READY, self->a->q.state);
	EXPECT_EQ(0, host.asked);
	th_dump(self->a, GDA_MLX5_CE_ALWAYS, self->l, 0, SIZE + 1);
	th_ring(self->a);
	th_run(self->a);
	EXPECT_EQ(WHY(LOCAL_PROT, RANGE), why(self->a));
}

/*
 * No host: the second of two words is found where the first one was. Each way in which
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

	self->a->q.async = NULL;
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
		self->a->q.state = GDA_QP_READY;
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

	self->a->q.async = NULL;
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

	self->a->q.async = NULL;
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
