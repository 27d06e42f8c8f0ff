// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The receive side of gda0, by libibverbs and libmlx5 as they are: receive queues, shared ones,
 * immediates, and receives that are not there, too short or wrong. rdma.mk runs it in the guest.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "rc.h"

#define RECVS	64

FIXTURE(recv)
{
	struct rc a, b;
	struct ibv_srq *srq;
	struct ibv_qp *qa, *qb;
	struct rc_post send;
};

FIXTURE_VARIANT(recv)
{
	bool shared;
};

FIXTURE_VARIANT_ADD(recv, own) { .shared = false };
FIXTURE_VARIANT_ADD(recv, shared) { .shared = true };

static struct ibv_qp *receiver(struct rc *rc, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr init = {
		.send_cq = rc->cq,
		.recv_cq = rc->cq,
		.srq = srq,
		.cap = { .max_send_wr = 64, .max_recv_wr = RECVS, .max_send_sge = 4,
			 .max_recv_sge = 4 },
		.qp_type = IBV_QPT_RC,
	};

	return ibv_create_qp(rc->pd, &init);
}

FIXTURE_SETUP(recv)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = RECVS, .max_sge = 4 } };

	ASSERT_EQ(0, rc_open(&self->a));
	ASSERT_EQ(0, rc_open(&self->b));
	if (variant->shared) {
		self->srq = ibv_create_srq(self->b.pd, &init);
		ASSERT_NE(NULL, self->srq);
	}
	self->qa = receiver(&self->a, NULL);
	self->qb = receiver(&self->b, self->srq);
	ASSERT_NE(NULL, self->qa);
	ASSERT_NE(NULL, self->qb);
	self->send = (struct rc_post) { .op = IBV_WR_SEND, .bytes = 64 };
}

FIXTURE_TEARDOWN(recv)
{
	EXPECT_EQ(0, ibv_destroy_qp(self->qa));
	EXPECT_EQ(0, ibv_destroy_qp(self->qb));
	if (self->srq)
		EXPECT_EQ(0, ibv_destroy_srq(self->srq));
	EXPECT_EQ(0, rc_close(&self->a));
	EXPECT_EQ(0, rc_close(&self->b));
}

static int rts(struct ibv_qp *qp, uint32_t number, uint8_t rnr_retry)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7,
				    .rnr_retry = rnr_retry, .max_rd_atomic = 1 };

	return rc_init(qp) || rc_rtr(qp, number) ? -1 :
	       ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

static void join(struct __test_metadata *_metadata, struct _test_data_recv *self, uint8_t rnr)
{
	ASSERT_EQ(0, rts(self->qa, self->qb->qp_num, rnr));
	ASSERT_EQ(0, rts(self->qb, self->qa->qp_num, rnr));
}

/* A receive of @bytes at @at, in two segments; @key: of both, or 0. */
static int post_recv(struct _test_data_recv *self, uint64_t id, uint32_t at, uint32_t bytes,
		     uint32_t key)
{
	uint64_t addr = (uintptr_t)self->b.memory + at;
	struct ibv_sge sge[2] = {
		{ .addr = addr, .length = bytes / 2, .lkey = key ? key : self->b.mr->lkey },
		{ .addr = addr + bytes / 2, .length = bytes - bytes / 2,
		  .lkey = key ? key : self->b.mr->lkey },
	};
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = sge, .num_sge = 2 }, *bad;

	return self->srq ? ibv_post_srq_recv(self->srq, &wr, &bad) :
			   ibv_post_recv(self->qb, &wr, &bad);
}

static int post_send_imm(struct _test_data_recv *self, uint32_t imm, int flags)
{
	struct ibv_sge sge = { .addr = (uintptr_t)self->a.memory, .length = 64,
			       .lkey = self->a.mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND_WITH_IMM,
				  .send_flags = IBV_SEND_SIGNALED | flags, .imm_data = htonl(imm) };
	struct ibv_send_wr *bad;

	return ibv_post_send(self->qa, &wr, &bad);
}

TEST_F(recv, ten_thousand_sends_of_any_length_arrive_in_order)
{
	uint32_t sent = 0, done = 0, got = 0, posted = 0;
	struct ibv_wc wc;

	join(_metadata, self, 7);
	while (got < 10000) {
		for (; posted - got < 32 && posted < 10000; posted++)
			ASSERT_EQ(0, post_recv(self, posted, posted % 32 * 8192, 8192, 0));
		/* without regard to how many receives there are */
		if (sent < 10000 && sent - done < 64) {
			struct rc_post p = self->send;

			p.bytes = 4 + sent * 2654435761U % 8000;
			p.from = sent % 64 * 8192;
			*(uint32_t *)(self->a.memory + p.from) = sent;
			if (!rc_post(&self->a, self->qa, &p))
				sent++;
		}
		for (; ibv_poll_cq(self->a.cq, 1, &wc) == 1; done++)
			ASSERT_EQ(IBV_WC_SUCCESS, wc.status);
		while (ibv_poll_cq(self->b.cq, 1, &wc) == 1) {
			ASSERT_EQ(IBV_WC_SUCCESS, wc.status);
			ASSERT_EQ(IBV_WC_RECV, wc.opcode);
			ASSERT_EQ(4 + got * 2654435761U % 8000, wc.byte_len);
			ASSERT_EQ(got, *(uint32_t *)(self->b.memory + wc.wr_id % 32 * 8192));
			got++;
		}
	}
}

TEST_F(recv, immediates_take_a_receive)
{
	struct ibv_sge sge = { .addr = (uintptr_t)self->a.memory, .length = 8,
			       .lkey = self->a.mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1,
				  .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
				  .send_flags = IBV_SEND_SIGNALED, .imm_data = htonl(77),
				  .wr.rdma = { (uintptr_t)self->b.memory, self->b.mr->rkey } };
	struct ibv_send_wr *bad;
	struct ibv_wc wc;

	join(_metadata, self, 7);
	*(uint64_t *)self->a.memory = 9;
	ASSERT_EQ(0, post_recv(self, 5, 4096, 64, 0));
	ASSERT_EQ(0, ibv_post_send(self->qa, &wr, &bad));
	ASSERT_EQ(IBV_WC_SUCCESS, rc_poll(&self->b, &wc, 20000));
	EXPECT_EQ(IBV_WC_RECV_RDMA_WITH_IMM, wc.opcode);
	EXPECT_EQ(77, ntohl(wc.imm_data));
	EXPECT_EQ(5, wc.wr_id);
	EXPECT_EQ(9, *(uint64_t *)self->b.memory);
	ASSERT_EQ(0, post_recv(self, 6, 4096, 64, 0));
	ASSERT_EQ(0, post_send_imm(self, 78, 0));
	ASSERT_EQ(IBV_WC_SUCCESS, rc_poll(&self->b, &wc, 20000));
	EXPECT_EQ(IBV_WC_RECV, wc.opcode);
	EXPECT_TRUE(wc.wc_flags & IBV_WC_WITH_IMM);
	EXPECT_EQ(78, ntohl(wc.imm_data));
	EXPECT_EQ(6, wc.wr_id);
}

TEST_F(recv, X6_a_receiver_that_is_not_ready_is_tried_as_often_as_asked)
{
	struct ibv_wc wc;

	join(_metadata, self, 2);
	EXPECT_EQ(IBV_WC_RNR_RETRY_EXC_ERR, rc_do(&self->a, self->qa, &self->send));
	ASSERT_EQ(0, rc_to(self->qa, IBV_QPS_RESET));
	ASSERT_EQ(0, rc_to(self->qb, IBV_QPS_RESET));
	/* 7 is for ever */
	join(_metadata, self, 7);
	ASSERT_EQ(0, rc_post(&self->a, self->qa, &self->send));
	EXPECT_EQ(-1, rc_poll(&self->a, &wc, 200));
	ASSERT_EQ(0, post_recv(self, 1, 0, 64, 0));
	EXPECT_EQ(IBV_WC_SUCCESS, rc_poll(&self->a, &wc, 20000));
	EXPECT_EQ(IBV_WC_SUCCESS, rc_poll(&self->b, &wc, 20000));
}

TEST_F(recv, X2_a_receive_that_is_too_short_or_wrong_costs_both_ends)
{
	struct ibv_wc wc;

	join(_metadata, self, 7);
	ASSERT_EQ(0, post_recv(self, 1, 0, 62, 0));
	EXPECT_EQ(IBV_WC_REM_INV_REQ_ERR, rc_do(&self->a, self->qa, &self->send));
	EXPECT_EQ(IBV_WC_LOC_LEN_ERR, rc_poll(&self->b, &wc, 20000));
	EXPECT_EQ(1, wc.wr_id);
	ASSERT_EQ(0, rc_to(self->qa, IBV_QPS_RESET));
	ASSERT_EQ(0, rc_to(self->qb, IBV_QPS_RESET));
	join(_metadata, self, 7);
	ASSERT_EQ(0, post_recv(self, 2, 0, 64, self->b.mr->lkey ^ 0x80));
	EXPECT_EQ(IBV_WC_REM_OP_ERR, rc_do(&self->a, self->qa, &self->send));
	EXPECT_EQ(IBV_WC_LOC_PROT_ERR, rc_poll(&self->b, &wc, 20000));
	EXPECT_EQ(2, wc.wr_id);
	for (int i = 0; i < 64; i++)
		ASSERT_EQ(0, self->b.memory[i]);
}

TEST_F(recv, error_flushes_receives_in_their_order)
{
	struct ibv_wc wc;

	join(_metadata, self, 7);
	for (uint64_t i = 0; i < 40; i++)
		ASSERT_EQ(0, post_recv(self, i, 0, 64, 0));
	ASSERT_EQ(0, rc_to(self->qb, IBV_QPS_ERR));
	/* those of an SRQ are not the queue's, and stay: see events.c */
	for (uint64_t i = 0; i < (self->srq ? 0 : 40); i++) {
		ASSERT_EQ(IBV_WC_WR_FLUSH_ERR, rc_poll(&self->b, &wc, 20000));
		ASSERT_EQ(i, wc.wr_id);
	}
	EXPECT_EQ(-1, rc_poll(&self->b, &wc, 20));
}

TEST_F(recv, X6_a_receive_that_is_posted_to_a_dead_queue_is_flushed)
{
	struct ibv_wc wc;

	join(_metadata, self, 7);
	ASSERT_EQ(0, rc_to(self->qb, IBV_QPS_ERR));
	for (uint64_t i = 0; i < 3; i++) {
		/* so long that the worker sleeps: no doorbell rings for a receive */
		usleep(50000);
		ASSERT_EQ(0, post_recv(self, i, 0, 64, 0));
		/* one of an SRQ waits for another of its queues */
		ASSERT_EQ(self->srq ? -1 : IBV_WC_WR_FLUSH_ERR,
			  rc_poll(&self->b, &wc, self->srq ? 50 : 20000));
		if (!self->srq)
			ASSERT_EQ(i, wc.wr_id);
	}
}

TEST_F(recv, solicited_arms_for_solicited_alone)
{
	struct pollfd fd = { .fd = self->b.channel->fd, .events = POLLIN };
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *context;

	join(_metadata, self, 7);
	for (uint64_t i = 0; i < 4; i++)
		ASSERT_EQ(0, post_recv(self, i, 0, 64, 0));
	ASSERT_EQ(0, ibv_req_notify_cq(self->b.cq, 1));
	ASSERT_EQ(0, post_send_imm(self, 1, 0));
	ASSERT_EQ(IBV_WC_SUCCESS, rc_poll(&self->a, &wc, 20000));
	EXPECT_EQ(0, poll(&fd, 1, 100));
	ASSERT_EQ(0, post_send_imm(self, 2, IBV_SEND_SOLICITED));
	ASSERT_EQ(1, poll(&fd, 1, 20000));
	ASSERT_EQ(0, ibv_get_cq_event(self->b.channel, &cq, &context));
	ibv_ack_cq_events(cq, 1);
}

TEST_HARNESS_MAIN
