// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * UC queue pairs of gda0, by libibverbs and libmlx5 as they are: what arrives, and what is lost
 * without either end failing. rdma.mk runs it in the guest.
 */
#include <arpa/inet.h>

#include "kselftest_harness.h"
#include "rc.h"

FIXTURE(uc)
{
	struct rc a, b;
	struct ibv_srq *srq;
	struct ibv_qp *qa, *qb;
	struct rc_post put, send;
};

FIXTURE_VARIANT(uc)
{
	bool shared;
};

FIXTURE_VARIANT_ADD(uc, own) { .shared = false };
FIXTURE_VARIANT_ADD(uc, shared) { .shared = true };

static struct ibv_qp *uc_qp(struct rc *rc, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr init = {
		.send_cq = rc->cq,
		.recv_cq = rc->cq,
		.srq = srq,
		.cap = { .max_send_wr = 64, .max_recv_wr = 64, .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_UC,
	};

	return ibv_create_qp(rc->pd, &init);
}

FIXTURE_SETUP(uc)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 64, .max_sge = 1 } };

	ASSERT_EQ(0, rc_open(&self->a));
	ASSERT_EQ(0, rc_open(&self->b));
	if (variant->shared) {
		self->srq = ibv_create_srq(self->b.pd, &init);
		ASSERT_NE(NULL, self->srq);
	}
	self->qa = uc_qp(&self->a, NULL);
	self->qb = uc_qp(&self->b, self->srq);
	ASSERT_NE(NULL, self->qa);
	ASSERT_NE(NULL, self->qb);
	self->send = (struct rc_post) { .op = IBV_WR_SEND, .bytes = 64 };
	self->put = (struct rc_post) { .op = IBV_WR_RDMA_WRITE, .bytes = 64,
				       .to = (uintptr_t)self->b.memory, .key = self->b.mr->rkey };
	memset(self->a.memory, 7, 8192);
}

FIXTURE_TEARDOWN(uc)
{
	EXPECT_EQ(0, ibv_destroy_qp(self->qa));
	if (self->qb)
		EXPECT_EQ(0, ibv_destroy_qp(self->qb));
	if (self->srq)
		EXPECT_EQ(0, ibv_destroy_srq(self->srq));
	EXPECT_EQ(0, rc_close(&self->a));
	EXPECT_EQ(0, rc_close(&self->b));
}

static int uc_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1,
				    .qp_access_flags = IBV_ACCESS_REMOTE_WRITE };

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			     IBV_QP_ACCESS_FLAGS);
}

static int uc_rtr(struct ibv_qp *qp, uint32_t number)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_4096,
				    .dest_qp_num = number,
				    .ah_attr = { .dlid = 1, .port_num = 1 } };

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			     IBV_QP_DEST_QPN | IBV_QP_RQ_PSN);
}

static int uc_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

static int uc_connect(struct ibv_qp *qp, uint32_t number)
{
	return uc_init(qp) ? -1 : uc_rtr(qp, number) ? -2 : uc_rts(qp) ? -3 : 0;
}

static void join(struct __test_metadata *_metadata, struct _test_data_uc *self)
{
	ASSERT_EQ(0, uc_connect(self->qa, self->qb->qp_num));
	ASSERT_EQ(0, uc_connect(self->qb, self->qa->qp_num));
}

static int post_recv(struct _test_data_uc *self, uint64_t id, uint32_t at, uint32_t bytes)
{
	struct ibv_sge sge = { .addr = (uintptr_t)self->b.memory + at, .length = bytes,
			       .lkey = self->b.mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 }, *bad;

	return self->srq ? ibv_post_srq_recv(self->srq, &wr, &bad) :
			   ibv_post_recv(self->qb, &wr, &bad);
}

TEST_F(uc, writes_and_sends_arrive)
{
	struct rc_post p = self->put;
	struct ibv_wc wc;

	join(_metadata, self);
	for (uint32_t i = 0; i < 1000; i++) {
		p.bytes = 1 + i * 2654435761U % 60000;
		self->a.memory[0] = self->a.memory[p.bytes - 1] = (uint8_t)(i | 1);
		ASSERT_EQ(IBV_WC_SUCCESS, rc_do(&self->a, self->qa, &p));
		ASSERT_EQ((uint8_t)(i | 1), self->b.memory[0]);
		ASSERT_EQ((uint8_t)(i | 1), self->b.memory[p.bytes - 1]);
		ASSERT_EQ(0, post_recv(self, i, 65536, 4096));
		ASSERT_EQ(IBV_WC_SUCCESS, rc_do(&self->a, self->qa, &self->send));
		ASSERT_EQ(IBV_WC_SUCCESS, rc_poll(&self->b, &wc, 20000));
		ASSERT_EQ(i, wc.wr_id);
		ASSERT_EQ(64, wc.byte_len);
		ASSERT_EQ((uint8_t)(i | 1), self->b.memory[65536]);
	}
}

TEST_F(uc, X6_a_send_without_a_receive_is_lost)
{
	struct ibv_wc wc;

	join(_metadata, self);
	for (int i = 0; i < 100; i++)
		ASSERT_EQ(IBV_WC_SUCCESS, rc_do(&self->a, self->qa, &self->send));
	EXPECT_EQ(-1, rc_poll(&self->b, &wc, 50));
	ASSERT_EQ(0, post_recv(self, 3, 0, 64));
	EXPECT_EQ(IBV_WC_SUCCESS, rc_do(&self->a, self->qa, &self->send));
	EXPECT_EQ(IBV_WC_SUCCESS, rc_poll(&self->b, &wc, 20000));
	EXPECT_EQ(3, wc.wr_id);
	EXPECT_EQ(IBV_QPS_RTS, rc_state(self->qa));
	EXPECT_EQ(IBV_QPS_RTS, rc_state(self->qb));
}

TEST_F(uc, what_is_too_long_for_its_receive_is_lost)
{
	struct ibv_wc wc;

	join(_metadata, self);
	ASSERT_EQ(0, post_recv(self, 1, 0, 63));
	ASSERT_EQ(0, post_recv(self, 2, 4096, 64));
	EXPECT_EQ(IBV_WC_SUCCESS, rc_do(&self->a, self->qa, &self->send));
	if (self->srq) {
		EXPECT_EQ(IBV_WC_LOC_LEN_ERR, rc_poll(&self->b, &wc, 20000));
		EXPECT_EQ(1, wc.wr_id);
	}
	/* an entry of its own serves the next message */
	self->send.bytes = 63;
	EXPECT_EQ(IBV_WC_SUCCESS, rc_do(&self->a, self->qa, &self->send));
	EXPECT_EQ(IBV_WC_SUCCESS, rc_poll(&self->b, &wc, 20000));
	EXPECT_EQ(self->srq ? 2 : 1, wc.wr_id);
	EXPECT_EQ(63, wc.byte_len);
	EXPECT_EQ(IBV_QPS_RTS, rc_state(self->qa));
	EXPECT_EQ(IBV_QPS_RTS, rc_state(self->qb));
}

TEST_F(uc, X1_a_wrong_key_writes_nothing_and_fails_nobody)
{
	struct rc_post p = self->put;

	join(_metadata, self);
	for (uint32_t i = 1; i < 2000; i++) {
		p.key = self->put.key ^ i;
		ASSERT_EQ(IBV_WC_SUCCESS, rc_do(&self->a, self->qa, &p));
	}
	for (int i = 0; i < 64; i++)
		ASSERT_EQ(0, self->b.memory[i]);
	EXPECT_EQ(IBV_QPS_RTS, rc_state(self->qa));
	EXPECT_EQ(IBV_WC_SUCCESS, rc_do(&self->a, self->qa, &self->put));
	EXPECT_EQ(7, self->b.memory[0]);
}

TEST_F(uc, who_is_not_there_is_not_waited_for)
{
	ASSERT_EQ(0, uc_connect(self->qa, self->qb->qp_num));
	EXPECT_EQ(IBV_WC_SUCCESS, rc_do(&self->a, self->qa, &self->put));
	EXPECT_EQ(0, self->b.memory[0]);
	/* it comes, goes, and comes again */
	for (int i = 0; i < 20; i++) {
		ASSERT_EQ(0, uc_connect(self->qb, self->qa->qp_num));
		EXPECT_EQ(IBV_WC_SUCCESS, rc_do(&self->a, self->qa, &self->put));
		EXPECT_EQ(7, self->b.memory[0]);
		self->b.memory[0] = 0;
		ASSERT_EQ(0, rc_to(self->qb, IBV_QPS_RESET));
		EXPECT_EQ(IBV_WC_SUCCESS, rc_do(&self->a, self->qa, &self->put));
		EXPECT_EQ(0, self->b.memory[0]);
	}
	ASSERT_EQ(0, uc_connect(self->qb, self->qa->qp_num));
	ASSERT_EQ(0, ibv_destroy_qp(self->qb));
	self->qb = NULL;
	EXPECT_EQ(IBV_WC_SUCCESS, rc_do(&self->a, self->qa, &self->put));
	EXPECT_EQ(IBV_QPS_RTS, rc_state(self->qa));
}

TEST_F(uc, reads_and_atomics_are_refused)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_CMP_AND_SWP,
	};

	for (unsigned int i = 0; i < 3; i++) {
		struct rc_post p = self->put;

		join(_metadata, self);
		p.op = ops[i];
		p.bytes = 8;
		EXPECT_EQ(IBV_WC_LOC_QP_OP_ERR, rc_do(&self->a, self->qa, &p));
		EXPECT_EQ(IBV_QPS_ERR, rc_state(self->qa));
		EXPECT_EQ(IBV_QPS_RTS, rc_state(self->qb));
		ASSERT_EQ(0, rc_to(self->qa, IBV_QPS_RESET));
		ASSERT_EQ(0, rc_to(self->qb, IBV_QPS_RESET));
	}
}

/* What RC has for its acknowledgements is no attribute here. */
TEST_F(uc, attributes_are_those_of_verbs)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	EXPECT_EQ(0, uc_init(self->qa));
	EXPECT_EQ(EINVAL, rc_rtr(self->qa, self->qb->qp_num));
	EXPECT_EQ(0, uc_rtr(self->qa, self->qb->qp_num));
	EXPECT_EQ(EINVAL, rc_rts(self->qa, 14));
	EXPECT_EQ(0, uc_rts(self->qa));
	ASSERT_EQ(0, ibv_query_qp(self->qa, &attr, IBV_QP_STATE, &init));
	EXPECT_EQ(IBV_QPT_UC, init.qp_type);
	EXPECT_EQ(IBV_QPS_RTS, attr.qp_state);
	EXPECT_EQ(self->qb->qp_num, attr.dest_qp_num);
	EXPECT_EQ(IBV_MTU_4096, attr.path_mtu);
	EXPECT_EQ(1, attr.ah_attr.dlid);
	EXPECT_EQ(IBV_ACCESS_REMOTE_WRITE, attr.qp_access_flags);
}

/* One end each of another kind: they are nobody to each other. */
TEST_F(uc, a_reliable_peer_is_none)
{
	struct ibv_qp *qc = rc_qp(&self->b);

	ASSERT_NE(NULL, qc);
	ASSERT_EQ(0, uc_connect(self->qa, qc->qp_num));
	ASSERT_EQ(0, rc_connect(qc, self->qa->qp_num));
	EXPECT_EQ(IBV_WC_SUCCESS, rc_do(&self->a, self->qa, &self->put));
	EXPECT_EQ(0, self->b.memory[0]);
	EXPECT_EQ(0, ibv_destroy_qp(qc));
}

TEST_HARNESS_MAIN
