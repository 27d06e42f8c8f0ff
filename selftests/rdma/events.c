// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Asynchronous events of gda0, by libibverbs: what ibv_get_async_event() gives, and what it does
 * not; and the receives of an SRQ, which outlive its queues. rdma.mk runs it in the guest.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <infiniband/mlx5dv.h>
#include <poll.h>
#include <pthread.h>

#include "kselftest_harness.h"
#include "rc.h"

#define RECVS	16
#define LOST	(-1)

FIXTURE(events)
{
	struct rc a, b;
	struct ibv_srq *srq;
	struct ibv_qp *qa, *qb;		/* @qb takes what it receives from @srq */
	struct rc_post send;
};

static struct ibv_qp *receiver(struct rc *rc, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr init = {
		.send_cq = rc->cq, .recv_cq = rc->cq, .srq = srq,
		.cap = { .max_send_wr = 64, .max_recv_wr = RECVS, .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};

	return ibv_create_qp(rc->pd, &init);
}

FIXTURE_SETUP(events)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = RECVS - 1, .max_sge = 1 } };

	ASSERT_EQ(0, rc_open(&self->a));
	ASSERT_EQ(0, rc_open(&self->b));
	self->srq = ibv_create_srq(self->b.pd, &init);
	ASSERT_NE(NULL, self->srq);
	self->qa = receiver(&self->a, NULL);
	self->qb = receiver(&self->b, self->srq);
	ASSERT_NE(NULL, self->qa);
	ASSERT_NE(NULL, self->qb);
	self->send = (struct rc_post) { .op = IBV_WR_SEND, .bytes = 64 };
}

FIXTURE_TEARDOWN(events)
{
	if (self->qa)
		EXPECT_EQ(0, ibv_destroy_qp(self->qa));
	if (self->qb)
		EXPECT_EQ(0, ibv_destroy_qp(self->qb));
	EXPECT_EQ(0, ibv_destroy_srq(self->srq));
	EXPECT_EQ(0, rc_close(&self->a));
	EXPECT_EQ(0, rc_close(&self->b));
}

static void join(struct __test_metadata *_metadata, struct ibv_qp *a, struct ibv_qp *b)
{
	ASSERT_EQ(0, rc_connect(a, b->qp_num));
	ASSERT_EQ(0, rc_connect(b, a->qp_num));
}

static bool next(struct rc *rc, int ms, struct ibv_async_event *event)
{
	struct pollfd fd = { .fd = rc->verbs->async_fd, .events = POLLIN };

	return poll(&fd, 1, ms) == 1 && !ibv_get_async_event(rc->verbs, event);
}

/* The type of the next event; LOST: none comes within @ms. */
static int wait_event(struct rc *rc, int ms)
{
	struct ibv_async_event event;

	if (!next(rc, ms, &event))
		return LOST;
	ibv_ack_async_event(&event);
	return (int)event.event_type;
}

static int post_to(struct rc *rc, struct ibv_qp *qp, struct ibv_srq *srq, uint64_t id,
		   uint32_t bytes, uint32_t key)
{
	struct ibv_sge sge = { .addr = (uintptr_t)rc->memory, .length = bytes, .lkey = key };
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 }, *bad;

	return srq ? ibv_post_srq_recv(srq, &wr, &bad) : ibv_post_recv(qp, &wr, &bad);
}

static int post_srq(struct _test_data_events *self, uint64_t id)
{
	return post_to(&self->b, NULL, self->srq, id, 64, self->b.mr->lkey);
}

static int set_limit(struct _test_data_events *self, uint32_t limit)
{
	struct ibv_srq_attr attr = { .srq_limit = limit };

	return ibv_modify_srq(self->srq, &attr, IBV_SRQ_LIMIT);
}

static int limit(struct _test_data_events *self)
{
	struct ibv_srq_attr attr;

	return ibv_query_srq(self->srq, &attr) ? -1 : (int)attr.srq_limit;
}

TEST_F(events, an_srq_tells_once_that_few_are_left)
{
	struct ibv_wc wc;

	join(_metadata, self->qa, self->qb);
	for (uint64_t i = 0; i < 8; i++)
		ASSERT_EQ(0, post_srq(self, i));
	ASSERT_EQ(0, set_limit(self, 4));
	EXPECT_EQ(4, limit(self));
	for (int i = 0; i < 4; i++)
		ASSERT_EQ(IBV_WC_SUCCESS, rc_do(&self->a, self->qa, &self->send));
	EXPECT_EQ(LOST, wait_event(&self->b, 50));
	ASSERT_EQ(IBV_WC_SUCCESS, rc_do(&self->a, self->qa, &self->send));
	EXPECT_EQ(IBV_EVENT_SRQ_LIMIT_REACHED, wait_event(&self->b, 20000));
	EXPECT_EQ(0, limit(self));
	ASSERT_EQ(IBV_WC_SUCCESS, rc_do(&self->a, self->qa, &self->send));
	EXPECT_EQ(LOST, wait_event(&self->b, 50));
	/* fewer are there already */
	ASSERT_EQ(0, set_limit(self, 4));
	EXPECT_EQ(IBV_EVENT_SRQ_LIMIT_REACHED, wait_event(&self->b, 20000));
	/* none */
	ASSERT_EQ(0, set_limit(self, 0));
	ASSERT_EQ(IBV_WC_SUCCESS, rc_do(&self->a, self->qa, &self->send));
	EXPECT_EQ(LOST, wait_event(&self->b, 50));
	EXPECT_EQ(EINVAL, set_limit(self, 1000));
	for (int i = 0; i < 7; i++)
		EXPECT_EQ(IBV_WC_SUCCESS, rc_poll(&self->b, &wc, 20000));
}

TEST_F(events, X6_an_srq_that_is_empty_tells_and_goes_on)
{
	struct ibv_wc wc;
	int n = 0;

	join(_metadata, self->qa, self->qb);
	for (uint64_t i = 0; i < 500; i++) {
		ASSERT_EQ(0, set_limit(self, 1));
		ASSERT_EQ(IBV_EVENT_SRQ_LIMIT_REACHED, wait_event(&self->b, 20000));
		ASSERT_EQ(0, rc_post(&self->a, self->qa, &self->send));
		ASSERT_EQ(0, post_srq(self, i));
		ASSERT_EQ(IBV_WC_SUCCESS, rc_poll(&self->a, &wc, 20000));
		ASSERT_EQ(IBV_WC_SUCCESS, rc_poll(&self->b, &wc, 20000));
		ASSERT_EQ(i, wc.wr_id);
		n++;
	}
	EXPECT_EQ(500, n);
	EXPECT_EQ(LOST, wait_event(&self->b, 20));
}

/* Each event is memory of the kernel until it is read. */
TEST_F(events, X6_events_that_nobody_reads_do_not_grow)
{
	int n = 0;

	for (int i = 0; i < 500; i++)
		ASSERT_EQ(0, set_limit(self, 1));
	while (wait_event(&self->b, n ? 50 : 20000) == IBV_EVENT_SRQ_LIMIT_REACHED)
		n++;
	EXPECT_EQ(1, n);
}

TEST_F(events, receives_of_an_srq_outlive_a_queue_that_has_failed)
{
	struct ibv_qp *other = receiver(&self->b, self->srq);
	struct ibv_wc wc;

	ASSERT_NE(NULL, other);
	join(_metadata, self->qa, self->qb);
	for (uint64_t i = 0; i < 2; i++)
		ASSERT_EQ(0, post_srq(self, i));
	ASSERT_EQ(IBV_WC_SUCCESS, rc_do(&self->a, self->qa, &self->send));
	ASSERT_EQ(IBV_WC_SUCCESS, rc_poll(&self->b, &wc, 20000));
	ASSERT_EQ(0, rc_to(self->qb, IBV_QPS_ERR));
	EXPECT_EQ(IBV_EVENT_QP_LAST_WQE_REACHED, wait_event(&self->b, 20000));
	/* once, and nothing was flushed */
	EXPECT_EQ(LOST, wait_event(&self->b, 50));
	EXPECT_EQ(LOST, rc_poll(&self->b, &wc, 20));
	ASSERT_EQ(0, rc_to(self->qa, IBV_QPS_RESET));
	join(_metadata, self->qa, other);
	ASSERT_EQ(IBV_WC_SUCCESS, rc_do(&self->a, self->qa, &self->send));
	ASSERT_EQ(IBV_WC_SUCCESS, rc_poll(&self->b, &wc, 20000));
	EXPECT_EQ(1, wc.wr_id);
	EXPECT_EQ(0, ibv_destroy_qp(other));
	/* a queue that was reset tells again */
	ASSERT_EQ(0, rc_to(self->qb, IBV_QPS_RESET));
	ASSERT_EQ(0, rc_init(self->qb));
	ASSERT_EQ(0, rc_to(self->qb, IBV_QPS_ERR));
	EXPECT_EQ(IBV_EVENT_QP_LAST_WQE_REACHED, wait_event(&self->b, 20000));
}

/* A peer writes before the passive side has gone to RTS. */
TEST_F(events, a_queue_in_RTR_is_told_that_its_peer_has_begun)
{
	struct rc_post put = { .op = IBV_WR_RDMA_WRITE, .bytes = 8,
			       .to = (uintptr_t)self->b.memory, .key = self->b.mr->rkey };

	ASSERT_EQ(0, rc_init(self->qb));
	ASSERT_EQ(0, rc_rtr(self->qb, self->qa->qp_num));
	ASSERT_EQ(0, rc_connect(self->qa, self->qb->qp_num));
	EXPECT_EQ(LOST, wait_event(&self->b, 50));
	for (int i = 0; i < 3; i++)
		ASSERT_EQ(IBV_WC_SUCCESS, rc_do(&self->a, self->qa, &put));
	EXPECT_EQ(IBV_EVENT_COMM_EST, wait_event(&self->b, 20000));
	EXPECT_EQ(LOST, wait_event(&self->b, 50));
	/* one that is in RTS has no need of it */
	ASSERT_EQ(0, rc_to(self->qa, IBV_QPS_RESET));
	ASSERT_EQ(0, rc_to(self->qb, IBV_QPS_RESET));
	join(_metadata, self->qa, self->qb);
	ASSERT_EQ(IBV_WC_SUCCESS, rc_do(&self->a, self->qa, &put));
	EXPECT_EQ(LOST, wait_event(&self->b, 50));
}

/* A receive of @bytes by @key of a queue of its own; Return: the event at the receiver. */
static int receive(struct __test_metadata *_metadata, struct _test_data_events *self,
		   uint32_t bytes, uint32_t key)
{
	struct ibv_qp *own = receiver(&self->b, NULL);
	struct ibv_wc wc;
	int event;

	ASSERT_NE(NULL, own);
	join(_metadata, self->qa, own);
	ASSERT_EQ(0, post_to(&self->b, own, NULL, 1, bytes, key));
	EXPECT_NE(IBV_WC_SUCCESS, rc_do(&self->a, self->qa, &self->send));
	EXPECT_NE(IBV_WC_SUCCESS, rc_poll(&self->b, &wc, 20000));
	event = wait_event(&self->b, 20000);
	EXPECT_EQ(IBV_QPS_ERR, rc_state(own));
	/* the requester has its completion, and no event */
	EXPECT_EQ(LOST, wait_event(&self->a, 20));
	EXPECT_EQ(LOST, wait_event(&self->b, 20));
	ASSERT_EQ(0, ibv_destroy_qp(own));
	ASSERT_EQ(0, rc_to(self->qa, IBV_QPS_RESET));
	return event;
}

TEST_F(events, a_receive_that_fails_says_why)
{
	EXPECT_EQ(IBV_EVENT_QP_REQ_ERR,
		  receive(_metadata, self, 63, self->b.mr->lkey));
	EXPECT_EQ(IBV_EVENT_QP_ACCESS_ERR,
		  receive(_metadata, self, 64, self->b.mr->lkey ^ 0x80));
}

TEST_F(events, X6_a_record_that_lies_is_told)
{
	struct mlx5dv_srq srq;
	struct mlx5dv_qp qp;
	struct mlx5dv_obj obj = { .qp = { self->qa, &qp }, .srq = { self->srq, &srq } };
	int events = 0;

	ASSERT_EQ(0, mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP | MLX5DV_OBJ_SRQ));
	join(_metadata, self->qa, self->qb);
	/* more receives than there can be */
	*(volatile uint32_t *)srq.dbrec = htonl(1000);
	EXPECT_EQ(IBV_WC_REM_OP_ERR, rc_do(&self->a, self->qa, &self->send));
	for (int i = 0; i < 3; i++)
		events |= 1 << wait_event(&self->b, 20000);
	EXPECT_EQ(1 << IBV_EVENT_SRQ_ERR | 1 << IBV_EVENT_QP_FATAL |
		  1 << IBV_EVENT_QP_LAST_WQE_REACHED, events);
	EXPECT_EQ(LOST, wait_event(&self->b, 20));
	EXPECT_EQ(LOST, wait_event(&self->a, 20));
	/* more sends than there can be: any doorbell of the context has it looked at */
	ASSERT_EQ(0, rc_to(self->qa, IBV_QPS_RESET));
	ASSERT_EQ(0, rc_connect(self->qa, self->qb->qp_num));
	((volatile uint32_t *)qp.dbrec)[1] = htonl(30000);
	ASSERT_EQ(0, ibv_req_notify_cq(self->a.cq, 0));
	EXPECT_EQ(IBV_EVENT_QP_FATAL, wait_event(&self->a, 20000));
	EXPECT_EQ(IBV_QPS_ERR, rc_state(self->qa));
}

TEST_F(events, X6_a_cq_that_overflows_is_told_and_costs_its_queues_alone)
{
	struct rc_post put = { .op = IBV_WR_RDMA_WRITE, .bytes = 8,
			       .to = (uintptr_t)self->b.memory, .key = self->b.mr->rkey };
	struct ibv_cq *small = ibv_create_cq(self->a.verbs, 7, NULL, NULL, 0);
	struct ibv_qp_init_attr init = {
		.send_cq = small, .recv_cq = small, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 64, .max_recv_wr = 1, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct ibv_qp *qp, *peer = receiver(&self->b, NULL);
	struct ibv_wc wc[64];
	int events = 0;

	ASSERT_NE(NULL, small);
	qp = ibv_create_qp(self->a.pd, &init);
	ASSERT_NE(NULL, qp);
	join(_metadata, qp, peer);
	join(_metadata, self->qa, self->qb);
	for (int i = 0; i < 32; i++)
		ASSERT_EQ(0, rc_post(&self->a, qp, &put));
	for (int i = 0; i < 2; i++)
		events |= 1 << wait_event(&self->a, 20000);
	EXPECT_EQ(1 << IBV_EVENT_CQ_ERR | 1 << IBV_EVENT_QP_FATAL, events);
	EXPECT_EQ(LOST, wait_event(&self->a, 20));
	EXPECT_EQ(IBV_QPS_ERR, rc_state(qp));
	EXPECT_EQ(IBV_QPS_RTS, rc_state(peer));
	/* what fitted in is there */
	EXPECT_EQ(8, ibv_poll_cq(small, 64, wc));
	EXPECT_EQ(IBV_WC_SUCCESS, rc_do(&self->a, self->qa, &put));
	EXPECT_EQ(LOST, wait_event(&self->b, 20));
	EXPECT_EQ(0, ibv_destroy_qp(qp));
	EXPECT_EQ(0, ibv_destroy_qp(peer));
	EXPECT_EQ(0, ibv_destroy_cq(small));
}

struct ack {
	struct rc *rc;
	int acked;
	int got;
};

static void *ack_late(void *arg)
{
	struct ack *ack = arg;
	struct ibv_async_event event;

	if (!next(ack->rc, 20000, &event))
		return NULL;
	__atomic_store_n(&ack->got, 1, __ATOMIC_RELEASE);
	usleep(100000);
	__atomic_store_n(&ack->acked, 1, __ATOMIC_RELEASE);
	ibv_ack_async_event(&event);
	return NULL;
}

TEST_F(events, a_queue_is_destroyed_when_its_events_are_acknowledged)
{
	struct ack ack = { .rc = &self->b };
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, ack_late, &ack));
	ASSERT_EQ(0, rc_init(self->qb));
	ASSERT_EQ(0, rc_to(self->qb, IBV_QPS_ERR));
	for (int i = 0; i < 20000 && !__atomic_load_n(&ack.got, __ATOMIC_ACQUIRE); i++)
		usleep(1000);
	ASSERT_EQ(1, ack.got);
	ASSERT_EQ(0, ibv_destroy_qp(self->qb));
	EXPECT_EQ(1, __atomic_load_n(&ack.acked, __ATOMIC_ACQUIRE));
	self->qb = NULL;
	ASSERT_EQ(0, pthread_join(thread, NULL));
}

TEST_F(events, queues_that_are_destroyed_with_events_on_their_way)
{
	struct ibv_async_event event;

	ASSERT_EQ(0, fcntl(self->b.verbs->async_fd, F_SETFL, O_NONBLOCK));
	for (int i = 0; i < 300; i++) {
		ASSERT_EQ(0, rc_init(self->qb));
		ASSERT_EQ(0, rc_to(self->qb, IBV_QPS_ERR));
		if (i % 3)
			usleep((useconds_t)i);
		while (!ibv_get_async_event(self->b.verbs, &event))
			ibv_ack_async_event(&event);
		ASSERT_EQ(0, ibv_destroy_qp(self->qb));
		self->qb = receiver(&self->b, self->srq);
		ASSERT_NE(NULL, self->qb);
	}
}

static void *post_for_ever(void *arg)
{
	struct _test_data_events *self = arg;
	struct rc_post put = { .op = IBV_WR_RDMA_WRITE, .bytes = 4096,
			       .to = (uintptr_t)self->b.memory, .key = self->b.mr->rkey };
	struct ibv_wc wc;

	while (!__atomic_load_n(&self->send.add, __ATOMIC_ACQUIRE)) {
		rc_post(&self->a, self->qa, &put);
		ibv_poll_cq(self->a.cq, 1, &wc);
	}
	return NULL;
}

TEST_F(events, X7_a_device_that_is_taken_away_says_so)
{
	struct rc again;
	pthread_t thread;

	join(_metadata, self->qa, self->qb);
	ASSERT_EQ(0, pthread_create(&thread, NULL, post_for_ever, self));
	usleep(20000);
	ASSERT_EQ(0, rc_driver("unbind"));
	EXPECT_EQ(IBV_EVENT_DEVICE_FATAL, wait_event(&self->a, 20000));
	EXPECT_EQ(IBV_EVENT_DEVICE_FATAL, wait_event(&self->b, 20000));
	usleep(20000);
	__atomic_store_n(&self->send.add, 1, __ATOMIC_RELEASE);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(EIO, rc_to(self->qa, IBV_QPS_RESET));
	EXPECT_EQ(NULL, rc_device());
	ASSERT_EQ(0, rc_driver("bind"));
	for (int i = 0; i < 100 && rc_open(&again); i++)
		usleep(20000);
	ASSERT_NE(NULL, again.mr);
	EXPECT_EQ(0, rc_close(&again));
}

TEST_HARNESS_MAIN
