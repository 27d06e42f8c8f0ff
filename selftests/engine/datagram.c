// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Queues of datagrams: whom one is for, what its receiver gets, and what is lost.
 */
#include "send.h"

#define HEAD	GDA_DATAGRAM_HEAD

/* Of datagrams that b takes. */
static void open(FIXTURE_DATA(send) *self)
{
	th_datagrams(self->a, self->b);
	th_datagrams(self->b, NULL);
}

static const struct th_to to_b = { .number = 0xabcdef, .key = TH_QKEY };

static u64 throw(FIXTURE_DATA(send) *self, const struct th_to *to, u32 off, u32 len)
{
	struct gda_sge sge = part(self->l, off, len);
	u64 index = th_datagram(self->a, GDA_MLX5_CE_ALWAYS, to, &sge, len != 0);

	th_ring(self->a);
	th_run(self->a);
	return index;
}

static bool is_done(FIXTURE_DATA(send) *self, u64 index)
{
	return th_cqe_opcode(self->a) == GDA_MLX5_CQE_REQ &&
	       th_cqe_counter(self->a) == (u16)index && self->a->q.state == GDA_QP_READY;
}

/* Of a datagram: who sent it, and whether it has a global header. */
static u32 strange(const struct gda_mlx5_cqe *cqe, bool global)
{
	const u8 *raw = (const void *)cqe;

	return (raw[22] << 8 | raw[23]) != (int)TH_LID || raw[24] != (global << 4 | 3) ||
	       (raw[25] << 16 | raw[26] << 8 | raw[27]) != (int)TH_QPN;
}

TEST_F(send, datagrams_arrive_behind_their_header)
{
	static const u32 sizes[] = { 0, 1, 8, 63, 64, 65, 1000, 4095, 4096 };

	open(self);
	for (u32 i = 0; i < 9; i++) {
		u32 at = receive(self, 100, sizes[i] + HEAD), k;
		u64 index = throw(self, &to_b, 7, sizes[i]);
		const struct gda_mlx5_cqe *cqe = next_entry(self);

		ASSERT_TRUE(is_done(self, index));
		ASSERT_EQ(0, wrong(cqe, GDA_MLX5_CQE_RESP_SEND, at, sizes[i] + HEAD, 0));
		ASSERT_EQ(0, strange(cqe, false));
		ASSERT_TRUE(arrived(self, 100 + HEAD, 7, sizes[i]));
		ASSERT_TRUE(untouched(self, 100, HEAD));
		for (k = 0; k < sizes[i]; k++)
			*th_mr_at(self->r, 100 + HEAD + k) = 0;
		if (variant->linked)
			th_rq_reuse(self->rq, at);
	}
	EXPECT_EQ(0, self->b->fails);
}

TEST_F(send, a_global_header_is_as_on_a_wire)
{
	static const u8 head[] = { 0x67, 0x71, 0x23, 0x45, 0, 8 + 24, 0x1b, 4, 0xfe, 0x80, 1, 2, 3 };
	struct th_to to = to_b;
	u32 at;

	open(self);
	/* traffic class 0x77, hop limit 4: see th_begin_datagram() */
	to.flow = 0x12345;
	at = receive(self, 0, 100);
	throw(self, &to, 0, 8);
	const struct gda_mlx5_cqe *cqe = next_entry(self);

	ASSERT_EQ(0, wrong(cqe, GDA_MLX5_CQE_RESP_SEND, at, 8 + HEAD, 0));
	EXPECT_EQ(0, strange(cqe, true));
	for (u32 i = 0; i < sizeof(head); i++)
		EXPECT_EQ(head[i], *th_mr_at(self->r, i));
	for (u32 i = 24; i < HEAD; i++)
		EXPECT_EQ(0x42, *th_mr_at(self->r, i));
	EXPECT_TRUE(arrived(self, HEAD, 0, 8));
}

TEST_F(send, inline_and_immediate)
{
	u8 data[300];
	u32 at;

	open(self);
	for (u32 len = 0; len <= 300; len += 60) {
		u64 index;

		memset(data, (int)len | 1, sizeof(data));
		at = receive(self, 0, 400);
		index = th_datagram_inline(self->a, GDA_MLX5_CE_ALWAYS, &to_b, data, len);
		th_ctrl(self->a, index)->opmod_idx_opcode =
			gda_be32((u32)index << 8 | GDA_MLX5_SEND_IMM);
		th_ctrl(self->a, index)->imm = gda_be32(len + 5);
		th_ring(self->a);
		th_run(self->a);
		ASSERT_EQ(0, wrong(next_entry(self), GDA_MLX5_CQE_RESP_SEND_IMM, at, len + HEAD,
				   len + 5));
		for (u32 i = 0; i < len; i++)
			ASSERT_EQ(data[i], *th_mr_at(self->r, HEAD + i));
		if (variant->linked)
			th_rq_reuse(self->rq, at);
	}
}

TEST_F(send, X1_without_number_and_key_it_is_lost)
{
	u32 at;

	open(self);
	at = receive(self, 0, 100);
	for (u32 bit = 0; bit < 32; bit++) {
		struct th_to to = { .number = to_b.number, .key = TH_QKEY ^ 1U << bit };

		ASSERT_TRUE(is_done(self, throw(self, &to, 0, 8)));
	}
	for (u32 bit = 0; bit < 24; bit++) {
		struct th_to to = { .number = to_b.number ^ 1U << bit, .key = TH_QKEY };

		ASSERT_TRUE(is_done(self, throw(self, &to, 0, 8)));
	}
	EXPECT_EQ(NULL, next_entry(self));
	EXPECT_TRUE(untouched(self, 0, 100));
	throw(self, &to_b, 0, 8);
	EXPECT_EQ(0, wrong(next_entry(self), GDA_MLX5_CQE_RESP_SEND, at, 8 + HEAD, 0));
}

TEST_F(send, X6_what_finds_no_room_is_lost)
{
	u32 at;

	open(self);
	/* no receive; one that is too short; one too many for the CQ */
	EXPECT_TRUE(is_done(self, throw(self, &to_b, 0, 8)));
	at = receive(self, 0, HEAD + 7);
	EXPECT_TRUE(is_done(self, throw(self, &to_b, 0, 8)));
	EXPECT_TRUE(untouched(self, 0, 100));
	if (variant->linked) {
		EXPECT_EQ(0, failed(next_entry(self), at, GDA_MLX5_SYND_LOCAL_LENGTH,
				    GDA_MLX5_VENDOR_LENGTH));
		at = receive(self, 0, HEAD + 7);
	}
	EXPECT_EQ(NULL, next_entry(self));
	self->sink->consumer = gda_be32((u32)self->sink->cq.producer - ENTRIES);
	EXPECT_TRUE(is_done(self, throw(self, &to_b, 0, 7)));
	EXPECT_EQ(NULL, next_entry(self));
	self->sink->consumer = gda_be32((u32)self->sink->cq.producer);
	EXPECT_TRUE(is_done(self, throw(self, &to_b, 9, 7)));
	EXPECT_EQ(0, wrong(next_entry(self), GDA_MLX5_CQE_RESP_SEND, at, 7 + HEAD, 0));
	EXPECT_TRUE(arrived(self, HEAD, 9, 7));
	EXPECT_EQ(0, self->b->fails);
	EXPECT_EQ(GDA_QP_READY, self->b->q.state);
}

TEST_F(send, X2_an_entry_that_lies_fails_its_owner_alone)
{
	struct gda_sge sge = part(self->r, 0, 100);
	u32 at;

	open(self);
	sge.key ^= 1;
	at = th_rq_post(self->rq, &sge, 1);
	EXPECT_TRUE(is_done(self, throw(self, &to_b, 0, 8)));
	EXPECT_EQ(0, failed(next_entry(self), at, GDA_MLX5_SYND_LOCAL_PROT, GDA_MLX5_VENDOR_KEY));
	EXPECT_EQ(1, self->b->fails);
	th_run(self->b);
	EXPECT_EQ(GDA_QP_ERROR, self->b->q.state);
	/* it takes nothing any more */
	receive(self, 0, 100);
	EXPECT_TRUE(is_done(self, throw(self, &to_b, 0, 8)));
	EXPECT_TRUE(untouched(self, 0, 100));
}

TEST_F(send, X2_a_record_that_lies_fails_its_owner_alone)
{
	open(self);
	self->rq->record = gda_be32(DEPTH + 1);
	EXPECT_TRUE(is_done(self, throw(self, &to_b, 0, 8)));
	EXPECT_EQ(1, self->b->fails);
	EXPECT_EQ(GDA_STATUS(GDA_CLASS_QUEUE, GDA_CAUSE_DOORBELL), self->b->q.fail);
}

TEST_F(send, a_queue_sends_to_itself)
{
	struct gda_sge sge = part(self->r, 0, 50);
	struct th_to to = { .number = 0xabcdef, .key = TH_QKEY };
	u32 at;

	th_datagrams(self->b, self->b);
	memset(th_mr_at(self->r, 0), 9, 50);
	at = receive(self, 1024, 100);
	th_datagram(self->b, GDA_MLX5_CE_ALWAYS, &to, &sge, 1);
	th_ring(self->b);
	th_run(self->b);
	EXPECT_EQ(0, wrong(next_entry(self), GDA_MLX5_CQE_RESP_SEND, at, 50 + HEAD, 0));
	for (u32 i = 0; i < 50; i++)
		EXPECT_EQ(9, *th_mr_at(self->r, 1024 + HEAD + i));
	EXPECT_EQ(GDA_QP_READY, self->b->q.state);
}

static void dies(struct __test_metadata *_metadata, FIXTURE_DATA(send) *self, u8 syndrome, u8 cause)
{
	th_ring(self->a);
	th_run(self->a);
	EXPECT_EQ(GDA_QP_ERROR, self->a->q.state);
	EXPECT_EQ(syndrome, th_syndrome(self->a));
	EXPECT_EQ(cause, self->a->q.first.cause);
	EXPECT_EQ(NULL, next_entry(self));
	EXPECT_EQ(GDA_QP_READY, self->b->q.state);
}

TEST_F(send, longer_than_a_packet_is_an_error)
{
	struct gda_sge sge = part(self->l, 0, GDA_DATAGRAM_MAX + 1);

	open(self);
	receive(self, 0, 8192);
	th_datagram(self->a, 0, &to_b, &sge, 1);
	dies(_metadata, self, GDA_MLX5_SYND_LOCAL_LENGTH, GDA_CAUSE_LENGTH);
}

TEST_F(send, a_vector_of_another_length_is_an_error)
{
	struct gda_sge sge = part(self->l, 0, 8);
	__be32 *key;

	open(self);
	key = th_seg(self->a, th_datagram(self->a, 0, &to_b, &sge, 1), 1);
	key[2] = gda_be32(to_b.number);
	dies(_metadata, self, GDA_MLX5_SYND_LOCAL_QP_OP, GDA_CAUSE_SIZE);
}

TEST_F(send, half_a_vector_is_an_error)
{
	u64 index;

	open(self);
	index = th_datagram(self->a, 0, &to_b, NULL, 0);
	th_ctrl(self->a, index)->qpn_ds = gda_be32(self->a->q.qpn << 8 | 3);
	dies(_metadata, self, GDA_MLX5_SYND_LOCAL_QP_OP, GDA_CAUSE_SIZE);
}

TEST_F(send, it_has_no_writes)
{
	open(self);
	self->r->mem.access = GDA_ACCESS_ALL;
	th_rdma(self->a, GDA_MLX5_WRITE, 0, self->l, 0, self->r, 0, 64);
	dies(_metadata, self, GDA_MLX5_SYND_LOCAL_QP_OP, GDA_CAUSE_OPCODE);
	EXPECT_TRUE(untouched(self, 0, 64));
}

TEST_F(send, a_nop_is_for_nobody)
{
	u64 index;

	open(self);
	throw(self, &to_b, 0, 8);
	index = th_nop(self->a, GDA_MLX5_CE_ALWAYS);
	th_ring(self->a);
	th_run(self->a);
	EXPECT_TRUE(is_done(self, index));
}

TEST_HARNESS_MAIN
