// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Queues of unreliable connections: what the peer cannot take is lost, and neither end fails of it.
 */
#include "send.h"

/* The sender, which has posted nothing yet, does without acknowledgements. */
static void unreliable(FIXTURE_DATA(send) *self)
{
	self->a->q.dialect = self->a->q.dialect->uc;
	gda_engine_init(&self->a->q);
}

static bool is_done(FIXTURE_DATA(send) *self, u64 index)
{
	return th_cqe_opcode(self->a) == GDA_MLX5_CQE_REQ && th_cqe_counter(self->a) == index &&
	       self->a->q.state == GDA_QP_READY && self->b->q.state == GDA_QP_READY;
}

TEST_F(send, an_unreliable_send_arrives)
{
	u32 at;

	unreliable(self);
	for (u32 i = 0; i < 40; i++) {
		u64 index;

		at = receive(self, 512, 700);
		index = post(self, i, 600);
		th_run(self->a);
		ASSERT_TRUE(is_done(self, index));
		ASSERT_EQ(0, wrong(next_entry(self), GDA_MLX5_CQE_RESP_SEND, at, 600, 0));
		ASSERT_TRUE(arrived(self, 512, i, 600));
		if (variant->linked)
			th_rq_reuse(self->rq, at);
	}
}

TEST_F(send, X6_without_a_receive_it_is_lost)
{
	u64 index;
	u32 at;

	unreliable(self);
	index = post(self, 0, 100);
	th_run(self->a);
	EXPECT_TRUE(is_done(self, index));
	EXPECT_EQ(0, self->a->delays);
	EXPECT_EQ(NULL, next_entry(self));
	at = receive(self, 0, 100);
	index = post(self, 50, 100);
	th_run(self->a);
	EXPECT_TRUE(is_done(self, index));
	EXPECT_EQ(0, wrong(next_entry(self), GDA_MLX5_CQE_RESP_SEND, at, 100, 0));
	EXPECT_TRUE(arrived(self, 0, 50, 100));
}

/* An entry of a ring serves the next message; one of a list completes with an error. */
TEST_F(send, X6_too_long_for_its_receive_it_is_lost)
{
	u64 index;
	u32 at;

	unreliable(self);
	at = receive(self, 0, 100);
	index = post(self, 0, 101);
	th_run(self->a);
	EXPECT_TRUE(is_done(self, index));
	EXPECT_TRUE(untouched(self, 0, 101));
	if (variant->linked) {
		EXPECT_EQ(0, failed(next_entry(self), at, GDA_MLX5_SYND_LOCAL_LENGTH,
				    GDA_MLX5_VENDOR_LENGTH));
		at = receive(self, 0, 100);
	}
	EXPECT_EQ(NULL, next_entry(self));
	index = post(self, 7, 100);
	th_run(self->a);
	EXPECT_TRUE(is_done(self, index));
	EXPECT_EQ(0, self->b->fails);
	EXPECT_EQ(0, wrong(next_entry(self), GDA_MLX5_CQE_RESP_SEND, at, 100, 0));
	EXPECT_TRUE(arrived(self, 0, 7, 100));
}

/* The owner's own mistake ends its queue, as always. */
TEST_F(send, X2_an_entry_that_lies_fails_its_owner_alone)
{
	struct gda_sge sge = part(self->r, 0, 100);
	u64 index;
	u32 at;

	unreliable(self);
	sge.key ^= 1;
	at = th_rq_post(self->rq, &sge, 1);
	index = post(self, 0, 100);
	th_run(self->a);
	EXPECT_EQ(GDA_MLX5_CQE_REQ, th_cqe_opcode(self->a));
	EXPECT_EQ(index, th_cqe_counter(self->a));
	EXPECT_EQ(GDA_QP_READY, self->a->q.state);
	EXPECT_EQ(1, self->b->fails);
	EXPECT_EQ(0, failed(next_entry(self), at, GDA_MLX5_SYND_LOCAL_PROT, GDA_MLX5_VENDOR_KEY));
}

/* In the midst of a message its sender fails: the receiver keeps the entry. */
TEST_F(send, X2_half_a_message_is_lost)
{
	u64 index;
	u32 at;

	unreliable(self);
	at = receive(self, 0, 1000);
	post(self, 0, 1000);
	gda_engine_visit(&self->a->q, 1, 300);
	ASSERT_TRUE(th_busy(self->a));
	self->l->mem.state = GDA_MR_REVOKED;
	th_run(self->a);
	EXPECT_EQ(GDA_QP_ERROR, self->a->q.state);
	EXPECT_EQ(GDA_QP_READY, self->b->q.state);
	EXPECT_EQ(0, self->b->fails);
	EXPECT_EQ(NULL, next_entry(self));
	/* the sender begins anew */
	self->l->mem.state = GDA_MR_LIVE;
	self->a->q.state = GDA_QP_READY;
	self->a->dbrec[1] = 0;
	self->a->db = 0;
	self->a->next = 0;
	gda_engine_init(&self->a->q);
	index = post(self, 3, 1000);
	th_run(self->a);
	EXPECT_EQ(index, th_cqe_counter(self->a));
	EXPECT_EQ(0, wrong(next_entry(self), GDA_MLX5_CQE_RESP_SEND, at, 1000, 0));
	EXPECT_TRUE(arrived(self, 0, 3, 1000));
}

TEST_F(send, what_the_peer_denies_is_lost)
{
	static const u32 opcodes[] = { GDA_MLX5_WRITE, GDA_MLX5_WRITE_IMM };
	u64 index;

	unreliable(self);
	for (u32 i = 0; i < 2; i++) {
		/* b's memory grants no remote write */
		index = opcodes[i] == GDA_MLX5_WRITE ?
			th_rdma(self->a, GDA_MLX5_WRITE, GDA_MLX5_CE_ALWAYS, self->l, 0, self->r, 0, 64) :
			th_imm(self->a, GDA_MLX5_CE_ALWAYS, 5, self->l, 0, self->r, 0, 64);
		th_ring(self->a);
		th_run(self->a);
		EXPECT_TRUE(is_done(self, index));
	}
	EXPECT_TRUE(untouched(self, 0, 64));
	EXPECT_EQ(NULL, next_entry(self));
	self->r->mem.access = GDA_ACCESS_ALL;
	/* an immediate finds no receive, and its bytes are there */
	index = th_imm(self->a, GDA_MLX5_CE_ALWAYS, 5, self->l, 0, self->r, 0, 64);
	th_ring(self->a);
	th_run(self->a);
	EXPECT_TRUE(is_done(self, index));
	EXPECT_TRUE(arrived(self, 0, 0, 64));
	EXPECT_EQ(NULL, next_entry(self));
	/* and nobody at all */
	self->a->q.peer = NULL;
	index = post(self, 0, 100);
	th_run(self->a);
	EXPECT_TRUE(is_done(self, index));
}

TEST_F(send, the_queue_fails_of_its_own_errors)
{
	struct gda_sge sge = part(self->l, 0, 64);
	u64 index;

	unreliable(self);
	sge.key ^= 1;
	index = th_send(self->a, 0, &sge, 1);
	th_ring(self->a);
	th_run(self->a);
	EXPECT_EQ(GDA_QP_ERROR, self->a->q.state);
	EXPECT_EQ(index, th_first_error(self->a));
	EXPECT_EQ(GDA_MLX5_SYND_LOCAL_PROT, th_syndrome(self->a));
}

static void refused(struct __test_metadata *_metadata, FIXTURE_DATA(send) *self)
{
	th_ring(self->a);
	th_run(self->a);
	EXPECT_EQ(GDA_QP_ERROR, self->a->q.state);
	EXPECT_EQ(GDA_MLX5_SYND_LOCAL_QP_OP, th_syndrome(self->a));
	EXPECT_EQ(GDA_CAUSE_OPCODE, self->a->q.first.cause);
	EXPECT_EQ(GDA_QP_READY, self->b->q.state);
}

TEST_F(send, it_has_no_reads)
{
	unreliable(self);
	self->r->mem.access = GDA_ACCESS_ALL;
	th_rdma(self->a, GDA_MLX5_READ, 0, self->l, 0, self->r, 0, 64);
	refused(_metadata, self);
	EXPECT_TRUE(untouched(self, 0, 64));
}

TEST_F(send, it_has_no_atomics)
{
	unreliable(self);
	self->r->mem.access = GDA_ACCESS_ALL;
	th_atomic(self->a, GDA_MLX5_ATOMIC_FA, 0, self->l, 0, self->r, 0, 1, 0);
	refused(_metadata, self);
	EXPECT_TRUE(untouched(self, 0, 64));
}

TEST_HARNESS_MAIN
