// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Writes with immediate: the completion at the target, who is told what when there is
 * no CQ or no room, events; and DUMP, which tells nobody.
 */
#include <endian.h>
#include "pair.h"

#define SIZE	0x40000U
#define ENTRIES	8U

FIXTURE(imm) {
	TH_PAIR;
	struct th_qp *sink;		/* its ring takes what b is given */
	u64 seen;
};

FIXTURE_SETUP(imm)
{
	TH_PAIR_OPEN(self, SIZE);
	self->sink = th_qp_new(&self->dev, &dom_b, 1, ENTRIES);
	self->b->q.qpn = 0xabcdef;
	self->b->q.recv_cq = &self->sink->cq;
	memset(self->l->pages[0], 0x42, 4096);
}

FIXTURE_TEARDOWN(imm)
{
	TH_PAIR_CLOSE(self);
	th_qp_free(self->sink);
}

#define put_imm(s, ce, imm, len)	th_imm((s)->a, ce, imm, (s)->l, 0, (s)->r, 0, len)

/* The next entry of the ring, or NULL. */
static const struct gda_mlx5_cqe *next_entry(struct th_qp *sink, u64 *seen)
{
	const struct gda_mlx5_cqe *cqe = (const void *)
		(sink->cqe + (*seen & (ENTRIES - 1)) * 64);

	if (cqe->op_own >> 4 == GDA_MLX5_CQE_INVALID ||
	    (cqe->op_own & 1) != !!(*seen & ENTRIES))
		return NULL;
	(*seen)++;
	return cqe;
}

static void consumed(struct th_qp *sink, u64 seen)
{
	sink->consumer = gda_be32((u32)seen & 0xffffff);
}

TEST_F(imm, I_16_target_entry)
{
	const struct gda_mlx5_cqe *cqe;
	u32 i;

	for (i = 0; i < 3 * ENTRIES; i++) {
		put_imm(self, GDA_MLX5_CE_ALWAYS, 0xcafe0000 + i, i);
		th_ring(self->a);
		EXPECT_EQ(1, th_run(self->a));
		cqe = next_entry(self->sink, &self->seen);
		ASSERT_NE(NULL, cqe);
		EXPECT_EQ(GDA_MLX5_CQE_RESP_IMM, cqe->op_own >> 4);
		EXPECT_EQ(0xcafe0000 + i, gda_be32_to_cpu(cqe->imm));
		EXPECT_EQ(i, gda_be32_to_cpu(cqe->byte_cnt));
		EXPECT_EQ(GDA_MLX5_WRITE_IMM << 24 | 0xabcdefU, gda_be32_to_cpu(cqe->sop_qpn));
		EXPECT_EQ(i, be16toh(cqe->wqe_counter));
		EXPECT_EQ(i, th_cqe_counter(self->a));
		EXPECT_EQ(i + 1, self->b->recv.value);
		consumed(self->sink, self->seen);
	}
	EXPECT_EQ(NULL, next_entry(self->sink, &self->seen));
	EXPECT_EQ(0x42, *th_mr_at(self->r, i - 2));
	EXPECT_EQ(0, *th_mr_at(self->r, i - 1));
}

/* Inline, of two segments, of none: the bytes are a write's. */
TEST_F(imm, every_shape_of_write)
{
	struct gda_sge sge[2] = {
		{ .addr = 0x10000, .len = 100, .key = self->l->mem.key },
		{ .addr = 0x10100, .len = 23, .key = self->l->mem.key },
	};
	u8 bytes[GDA_ENGINE_MAX_INLINE];
	u32 len;

	memset(bytes, 0x77, sizeof(bytes));
	for (len = 0; len <= sizeof(bytes); len += len < 64 ? 1 : 101) {
		u64 index = th_inline(self->a, 0, bytes, len, self->r, 64);

		th_ctrl(self->a, index)->opmod_idx_opcode |= gda_be32(GDA_MLX5_WRITE_IMM);
		th_ring(self->a);
		EXPECT_EQ(1, th_run(self->a));
		EXPECT_NE(NULL, next_entry(self->sink, &self->seen));
		consumed(self->sink, self->seen);
		if (len)
			EXPECT_EQ(0x77, *th_mr_at(self->r, 64 + len - 1));
		EXPECT_EQ(0, *th_mr_at(self->r, 64 + len));
	}
	th_rdma2(self->a, GDA_MLX5_WRITE_IMM, 0, sge, self->r, 0);
	put_imm(self, 0, 1, 0);
	th_ring(self->a);
	EXPECT_EQ(2, th_run(self->a));
	EXPECT_EQ(123, gda_be32_to_cpu(next_entry(self->sink, &self->seen)->byte_cnt));
	EXPECT_EQ(0, gda_be32_to_cpu(next_entry(self->sink, &self->seen)->byte_cnt));
	EXPECT_EQ(0x42, *th_mr_at(self->r, 122));
	EXPECT_EQ(GDA_QP_READY, self->a->q.state);
}

/* Large: one immediate, when the last byte is there. */
TEST_F(imm, resumed_write_gives_it_once)
{
	u32 visits = 0;

	put_imm(self, GDA_MLX5_CE_ALWAYS, 5, SIZE);
	th_ring(self->a);
	while (gda_engine_visit(&self->a->q, 4, 1000)) {
		visits++;
		EXPECT_EQ(self->a->q.bytes == SIZE, self->sink->pushes);
	}
	EXPECT_EQ((SIZE + 999) / 1000, visits);
	EXPECT_EQ(1, self->sink->pushes);
}

/*
 * InfiniBand C9-88: of a write or read without bytes the remote key is not looked at, nor
 * the range; the responder has to be there all the same.
 */
TEST_F(imm, C9_88_no_bytes_no_key)
{
	static const u32 opcodes[] = { GDA_MLX5_WRITE, GDA_MLX5_WRITE_IMM, GDA_MLX5_READ };
	struct th_mr *none = th_mr_new(&self->dev, &dom_b, 0x5000, 8, 0, 12, 0);
	struct th_mr *revoked = th_mr_new(&self->dev, &dom_b, 0x6000, 8, GDA_ACCESS_ALL, 12, 0);
	struct gda_mlx5_raddr *raddr;
	u32 i, op, ends = 0;
	u64 index;

	revoked->mem.state = GDA_MR_REVOKED;
	for (op = 0; op < ARRAY_SIZE(opcodes); op++) {
		const u32 keys[] = {
			0, ~0U, self->r->mem.key ^ 1, self->l->mem.key, none->mem.key,
			revoked->mem.key, self->r->mem.key,
		};

		for (i = 0; i < ARRAY_SIZE(keys); i++) {
			index = th_rdma(self->a, opcodes[op], GDA_MLX5_CE_ALWAYS, NULL, 0,
					self->r, 0, 0);
			raddr = th_seg(self->a, index, 1);
			gda_mlx5_set_raddr(raddr, ~0ULL >> i, keys[i]);
			th_ring(self->a);
			EXPECT_EQ(1, th_run(self->a));
			EXPECT_EQ((u16)index, th_cqe_counter(self->a))
				TH_LOG("opcode %u, key %u", opcodes[op], i);
			EXPECT_EQ(GDA_MLX5_CQE_REQ, th_cqe_opcode(self->a));
			ends += opcodes[op] != GDA_MLX5_READ;
			EXPECT_EQ(ends, self->b->recv.value);
		}
	}
	EXPECT_EQ(ARRAY_SIZE(opcodes) / 3 * 7, self->sink->pushes);
	EXPECT_EQ(0, self->a->q.bytes);
	EXPECT_EQ(GDA_QP_READY, self->a->q.state);

	self->b->q.recv_cq = NULL;
	th_rdma(self->a, GDA_MLX5_WRITE_IMM, 0, NULL, 0, self->r, 0, 0);
	th_ring(self->a);
	th_run(self->a);
	EXPECT_EQ(GDA_MLX5_SYND_REMOTE_INVAL_REQ, th_syndrome(self->a));
	th_again(self->a);
	self->a->q.peer = NULL;
	th_rdma(self->a, GDA_MLX5_WRITE, 0, NULL, 0, self->r, 0, 0);
	th_ring(self->a);
	th_run(self->a);
	EXPECT_EQ(GDA_MLX5_SYND_RETRY_EXC, th_syndrome(self->a));
	th_mr_free(&self->dev, none);
	th_mr_free(&self->dev, revoked);
}

TEST_F(imm, no_cq_is_a_remote_error)
{
	self->b->q.recv_cq = NULL;
	put_imm(self, GDA_MLX5_CE_ERROR, 5, 8);
	th_ring(self->a);
	EXPECT_EQ(1, th_run(self->a));
	EXPECT_EQ(GDA_MLX5_SYND_REMOTE_INVAL_REQ, th_err(self->a)->syndrome);
	EXPECT_EQ(GDA_MLX5_VENDOR_RECV, th_err(self->a)->vendor_err_synd);
	EXPECT_EQ(0, self->a->q.bytes);
	EXPECT_EQ(0, *th_mr_at(self->r, 0));
	EXPECT_EQ(GDA_QP_READY, self->b->q.state);
	EXPECT_EQ(0, self->b->recv.value);
}

/* A bad key is a bad key, whatever else is missing, and gives nothing. */
TEST_F(imm, no_immediate_of_a_failed_write)
{
	th_imm(self->a, 0, 5, self->l, 0, self->r, SIZE - 7, 8);
	th_ring(self->a);
	th_run(self->a);
	EXPECT_EQ(GDA_MLX5_SYND_REMOTE_ACCESS, th_err(self->a)->syndrome);
	EXPECT_EQ(GDA_MLX5_VENDOR_RANGE, th_err(self->a)->vendor_err_synd);
	EXPECT_EQ(0, self->sink->pushes);
}

/* The requester pays; the target's CQ is full, and no more than that. */
TEST_F(imm, S3_full_cq_is_receiver_not_ready)
{
	struct gda_completion own = { .kind = GDA_COMPLETION_DONE };
	struct th_qp *c = th_qp_new(&self->dev, &dom_a, 16, 0);
	struct th_qp *d = th_qp_new(&self->dev, &dom_b, 16, 0);
	u8 before[ENTRIES * 64];
	u32 i;

	d->q.recv_cq = &self->sink->cq;
	th_qp_pair(c, d);
	for (i = 0; i < ENTRIES + 3; i++)
		put_imm(self, 0, i, 8);
	th_ring(self->a);
	EXPECT_EQ(ENTRIES + 3, th_run(self->a));
	EXPECT_EQ(ENTRIES, self->a->q.executed);
	EXPECT_EQ(ENTRIES, self->a->q.first_error);
	EXPECT_EQ(GDA_MLX5_SYND_RNR_EXC, th_syndrome(self->a));
	EXPECT_EQ(GDA_MLX5_VENDOR_RECV, self->a->q.first.cause);
	EXPECT_EQ(GDA_MLX5_SYND_RNR_EXC, th_err(self->a)->first_syndrome);
	EXPECT_EQ(ENTRIES, self->b->recv.value);
	EXPECT_FALSE(self->sink->cq.failed);
	EXPECT_EQ(GDA_QP_READY, self->b->q.state);
	memcpy(before, self->sink->cqe, sizeof(before));

	/* others are refused likewise, and served when there is room again */
	th_imm(c, 0, 77, self->l, 0, self->r, 0, 8);
	th_ring(c);
	th_run(c);
	EXPECT_EQ(GDA_MLX5_SYND_RNR_EXC, th_syndrome(c));
	EXPECT_EQ(0, memcmp(before, self->sink->cqe, sizeof(before)));
	for (i = 0; i < ENTRIES; i++)
		EXPECT_EQ(i, gda_be32_to_cpu(next_entry(self->sink, &self->seen)->imm));
	EXPECT_EQ(NULL, next_entry(self->sink, &self->seen));
	consumed(self->sink, self->seen);
	EXPECT_TRUE(gda_cq_push(&self->sink->cq, &own));
	EXPECT_NE(NULL, next_entry(self->sink, &self->seen));
	th_qp_free(c);
	th_qp_free(d);
}

/* A ring full of immediates, and a queue that tries again, @retry times. */
static void fill_ring(FIXTURE_DATA(imm) *self, u32 retry)
{
	u32 i;

	self->a->q.rnr_retry = retry;
	for (i = 0; i < ENTRIES; i++)
		put_imm(self, 0, i, 8);
	th_ring(self->a);
	th_run(self->a);
}

static void make_room(FIXTURE_DATA(imm) *self, u32 n)
{
	while (n--)
		next_entry(self->sink, &self->seen);
	consumed(self->sink, self->seen);
}

/* Of every length, split by the budget or not: bytes once, the immediate once, in order. */
TEST_F(imm, rnr_not_ready_is_tried_again)
{
	static const u32 lens[] = { 0, 1, 8, 64, 65, 5000 };
	const struct gda_mlx5_cqe *last;
	u32 i, tries;

	fill_ring(self, GDA_MAX_RNR_RETRY);
	self->b->q.min_rnr_timer = 12;
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		u64 bytes = self->a->q.bytes, executed = self->a->q.executed;
		u64 index = put_imm(self, GDA_MLX5_CE_ALWAYS, 0x1000 + i, lens[i]);
		u32 given = self->sink->pushes - self->sink->refused;

		th_nop(self->a, GDA_MLX5_CE_ALWAYS);
		th_ring(self->a);
		for (tries = 0; tries < GDA_MAX_RNR_RETRY; tries++) {
			self->a->delays = 0;
			EXPECT_LT(0, th_run(self->a));
			EXPECT_EQ(1, self->a->delays) TH_LOG("length %u, try %u", lens[i], tries);
			EXPECT_EQ(bytes + lens[i], self->a->q.bytes);
			EXPECT_EQ(index, self->a->q.ci);
			EXPECT_EQ(given, self->sink->pushes - self->sink->refused);
			EXPECT_TRUE(gda_engine_pending(&self->a->q));
		}
		make_room(self, 1);
		EXPECT_EQ(2, th_run(self->a));
		EXPECT_EQ(bytes + lens[i], self->a->q.bytes);
		EXPECT_EQ(executed + 2, self->a->q.executed);
		EXPECT_EQ(index + 1, th_cqe_counter(self->a));
		EXPECT_EQ(given + 1, self->sink->pushes - self->sink->refused);
		EXPECT_FALSE(th_busy(self->a));
	}
	make_room(self, ENTRIES - 1);
	last = next_entry(self->sink, &self->seen);
	EXPECT_EQ(0x1000 + ARRAY_SIZE(lens) - 1, gda_be32_to_cpu(last->imm));
	EXPECT_EQ(ENTRIES + ARRAY_SIZE(lens), self->b->recv.value);
	EXPECT_EQ(GDA_QP_READY, self->a->q.state);
}

/* The delay is the target's, as InfiniBand encodes it. */
TEST_F(imm, rnr_delay_of_the_target)
{
	static const u32 us[GDA_MAX_MIN_RNR_TIMER + 1] = {
		655360, 10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640, 960, 1280, 1920,
		2560, 3840, 5120, 7680, 10240, 15360, 20480, 30720, 40960, 61440, 81920, 122880,
		163840, 245760, 327680, 491520,
	};
	u32 code;

	fill_ring(self, 1);
	for (code = 0; code <= GDA_MAX_MIN_RNR_TIMER; code++) {
		self->a->q.min_rnr_timer = 31 - code;
		self->b->q.min_rnr_timer = code;
		put_imm(self, 0, code, 8);
		th_ring(self->a);
		EXPECT_EQ(1, gda_engine_visit(&self->a->q, 64, 1U << 16));
		EXPECT_EQ(us[code] * 1000, self->a->delay_ns) TH_LOG("code %u", code);
		make_room(self, 1);
		th_run(self->a);
	}
	EXPECT_EQ(GDA_QP_READY, self->a->q.state);
}

/* After the last try it is the requester's error; each work request has all tries anew. */
TEST_F(imm, rnr_tries_end)
{
	u32 retry, i;

	for (retry = 0; retry <= GDA_MAX_RNR_RETRY; retry++) {
		struct th_qp *c = th_qp_new(&self->dev, &dom_a, 16, 0);
		struct th_qp *d = th_qp_new(&self->dev, &dom_b, 16, 0);
		u64 index;

		d->q.recv_cq = &self->sink->cq;
		d->q.min_rnr_timer = 1;
		c->q.rnr_retry = retry;
		th_qp_pair(c, d);
		make_room(self, (u32)(self->sink->cq.producer - self->seen));
		for (i = 0; i < ENTRIES; i++)
			th_imm(c, 0, i, self->l, 0, self->r, 0, 8);
		/* one that gets through at its last try */
		th_imm(c, 0, i, self->l, 0, self->r, 0, 8);
		th_ring(c);
		for (i = 0; i < retry; i++)
			th_run(c);
		if (retry)
			make_room(self, 1);
		th_run(c);
		EXPECT_EQ(retry ? GDA_QP_READY : GDA_QP_ERROR, c->q.state);
		index = retry ? ENTRIES + 1 : ENTRIES;
		if (retry) {
			th_imm(c, 0, i, self->l, 0, self->r, 0, 8);
			th_nop(c, 0);
			th_ring(c);
			for (i = 0; i < retry; i++) {
				EXPECT_EQ(1, th_run(c));
				EXPECT_EQ(GDA_QP_READY, c->q.state);
			}
			EXPECT_EQ(2, th_run(c));
		}
		EXPECT_EQ(2 * retry, c->delays);
		EXPECT_EQ(GDA_QP_ERROR, c->q.state);
		EXPECT_EQ(GDA_MLX5_SYND_RNR_EXC, th_syndrome(c));
		EXPECT_EQ(GDA_MLX5_VENDOR_RECV, c->q.first.cause);
		EXPECT_EQ(index, c->q.first_error);
		EXPECT_EQ(retry != 0, c->q.flushed);
		EXPECT_EQ(GDA_QP_READY, d->q.state);
		EXPECT_FALSE(self->sink->cq.failed);
		th_qp_free(c);
		th_qp_free(d);
	}
}

/* The next try finds what happened meanwhile; a host that fails the queue need not wait. */
TEST_F(imm, rnr_gone_while_it_waits)
{
	u32 i;

	for (i = 0; i < 3; i++) {
		struct th_qp *c = th_qp_new(&self->dev, &dom_a, 16, 0);

		if (!i)
			fill_ring(self, 0);
		c->q.rnr_retry = 3;
		th_qp_pair(c, self->b);
		th_imm(c, 0, 5, self->l, 0, self->r, 0, 8);
		th_nop(c, 0);
		th_ring(c);
		EXPECT_EQ(1, th_run(c));
		EXPECT_TRUE(th_busy(c));
		if (i == 0)
			WRITE_ONCE(c->q.fail, GDA_STATUS(GDA_CLASS_QUEUE, GDA_CAUSE_DEVICE));
		else if (i == 1)
			c->q.peer = NULL;
		else
			self->r->mem.state = GDA_MR_REVOKED;
		EXPECT_EQ(2, th_run(c));
		EXPECT_EQ(i == 0 ? GDA_MLX5_VENDOR_DEVICE : i == 1 ? GDA_MLX5_VENDOR_PEER :
			  GDA_MLX5_VENDOR_REVOKED, c->q.first.cause);
		EXPECT_EQ(1, c->q.flushed);
		EXPECT_EQ(1, c->delays);
		EXPECT_FALSE(th_busy(c));
		th_qp_free(c);
	}
}

/* A CQ that its owner let overflow takes nothing from anybody. */
TEST_F(imm, S3_failed_cq_refuses)
{
	struct gda_completion own = { .kind = GDA_COMPLETION_DONE };
	u32 i;

	for (i = 0; i < ENTRIES; i++)
		EXPECT_TRUE(gda_cq_push(&self->sink->cq, &own));
	EXPECT_FALSE(gda_cq_push(&self->sink->cq, &own));
	EXPECT_TRUE(self->sink->cq.failed);
	consumed(self->sink, ENTRIES);
	put_imm(self, 0, 5, 8);
	th_ring(self->a);
	th_run(self->a);
	EXPECT_EQ(GDA_MLX5_SYND_RNR_EXC, th_syndrome(self->a));
	EXPECT_EQ(GDA_QP_READY, self->b->q.state);
}

/* The target's consumer record can say anything: room or none, and nothing else. */
TEST_F(imm, S3_consumer_lies)
{
	struct th_rand r = { 3 };
	u32 i;

	for (i = 0; i < 2000; i++) {
		u32 value = (u32)th_rand(&r) >> th_below(&r, 32);
		u64 producer = self->sink->cq.producer;
		bool full = (((u32)producer - value) & 0xffffff) >= ENTRIES;

		self->sink->consumer = gda_be32(value);
		th_again(self->a);
		put_imm(self, 0, 5, 8);
		th_ring(self->a);
		EXPECT_EQ(1, th_run(self->a));
		EXPECT_EQ(full, self->a->q.state == GDA_QP_ERROR);
		EXPECT_EQ(producer + !full, self->sink->cq.producer);
		EXPECT_FALSE(self->sink->cq.failed);
	}
}

/* As in verbs, the event of a solicited write is the target's. */
TEST_F(imm, solicited_at_the_target)
{
	u32 i;

	for (i = 0; i < 4; i++) {
		u32 sink = self->sink->events, own = self->a->events;

		put_imm(self, (u8)(i & 1 ? GDA_MLX5_SE : 0) |
			      (u8)(i & 2 ? GDA_MLX5_CE_ALWAYS : 0), i, 8);
		th_ring(self->a);
		th_run(self->a);
		EXPECT_EQ(i & 1, self->sink->events - sink);
		EXPECT_EQ(i & 1, next_entry(self->sink, &self->seen)->op_own >> 1 & 1);
		EXPECT_EQ(0, self->a->events - own);
		consumed(self->sink, self->seen);
	}
}

TEST_F(imm, dump_reads_and_moves_nothing)
{
	th_dump(self->a, GDA_MLX5_CE_ALWAYS, self->l, 0, SIZE);
	th_ring(self->a);
	EXPECT_EQ(1, th_run(self->a));
	EXPECT_EQ(0, th_cqe_counter(self->a));
	EXPECT_EQ(0, gda_be32_to_cpu(th_cqe(self->a)->byte_cnt));
	EXPECT_EQ(0, self->a->q.bytes);
	EXPECT_EQ(0, self->b->recv.value);
	EXPECT_EQ(1, self->a->sent.value);
	/* nobody has to be there for it */
	self->a->q.peer = NULL;
	th_dump(self->a, GDA_MLX5_CE_ALWAYS, self->l, 0, 1);
	th_ring(self->a);
	th_run(self->a);
	EXPECT_EQ(GDA_QP_READY, self->a->q.state);
}

TEST_F(imm, K3_K4_dump_is_checked)
{
	static const struct {
		u32 xor_key;
		u64 off;
		u32 len;
		u8 vendor;
	} rows[] = {
		{ 1, 0, 8, GDA_MLX5_VENDOR_KEY },
		{ 0, SIZE - 7, 8, GDA_MLX5_VENDOR_RANGE },
		{ 0, 0, SIZE + 1, GDA_MLX5_VENDOR_RANGE },
		{ 0, ~0ULL, 2, GDA_MLX5_VENDOR_RANGE },
	};
	struct gda_mlx5_data *d;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows) + 2; i++) {
		u64 index = th_dump(self->a, 0, self->l, 0, 8);

		d = th_seg(self->a, index, 1);
		if (i < ARRAY_SIZE(rows))
			gda_mlx5_set_data(d, self->l->mem.iova + rows[i].off,
					  self->l->mem.key ^ rows[i].xor_key, rows[i].len);
		else if (i == ARRAY_SIZE(rows))		/* the peer's */
			gda_mlx5_set_data(d, self->r->mem.iova, self->r->mem.key, 8);
		else
			self->l->windowless = true;
		th_again(self->a);
		th_ring(self->a);
		th_run(self->a);
		EXPECT_EQ(GDA_MLX5_SYND_LOCAL_PROT, th_err(self->a)->syndrome)
			TH_LOG("row %u", i);
		EXPECT_EQ(i < ARRAY_SIZE(rows) ? rows[i].vendor :
			  i == ARRAY_SIZE(rows) ? GDA_MLX5_VENDOR_KEY : GDA_MLX5_VENDOR_IO,
			  self->a->q.first.cause);
	}
}

TEST_HARNESS_MAIN
