// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Completion queues of gda0 that change their size, by libibverbs and libmlx5 as they are: nothing
 * is lost, and nothing comes twice. rdma.mk runs it in the guest.
 */
#include <arpa/inet.h>
#include <infiniband/mlx5dv.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>

#include "kselftest_harness.h"
#include "rc.h"

#define SENDS	64

FIXTURE(cq)
{
	struct rc rc;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq, *other;
	struct ibv_qp *qp, *peer;
	uint64_t posted, polled;
	int stop, resized, flags;
};

FIXTURE_VARIANT(cq)
{
	const char *bytes;
};

FIXTURE_VARIANT_ADD(cq, narrow) { .bytes = "64" };
FIXTURE_VARIANT_ADD(cq, wide) { .bytes = "128" };

static struct ibv_qp *of_cq(struct _test_data_cq *self, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = SENDS, .max_recv_wr = 4, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};

	return ibv_create_qp(self->rc.pd, &init);
}

FIXTURE_SETUP(cq)
{
	/* of an entry, as libmlx5 asks its environment */
	ASSERT_EQ(0, setenv("MLX5_CQE_SIZE", variant->bytes, 1));
	ASSERT_EQ(0, rc_open(&self->rc));
	self->channel = ibv_create_comp_channel(self->rc.verbs);
	self->cq = ibv_create_cq(self->rc.verbs, 100, NULL, self->channel, 0);
	self->other = ibv_create_cq(self->rc.verbs, 100, NULL, NULL, 0);
	ASSERT_NE(NULL, self->cq);
	ASSERT_NE(NULL, self->other);
	self->qp = of_cq(self, self->cq);
	self->peer = of_cq(self, self->other);
	ASSERT_NE(NULL, self->qp);
	ASSERT_NE(NULL, self->peer);
	ASSERT_EQ(0, rc_connect(self->qp, self->peer->qp_num));
	ASSERT_EQ(0, rc_connect(self->peer, self->qp->qp_num));
}

FIXTURE_TEARDOWN(cq)
{
	EXPECT_EQ(0, ibv_destroy_qp(self->qp));
	EXPECT_EQ(0, ibv_destroy_qp(self->peer));
	EXPECT_EQ(0, ibv_destroy_cq(self->cq));
	EXPECT_EQ(0, ibv_destroy_cq(self->other));
	EXPECT_EQ(0, ibv_destroy_comp_channel(self->channel));
	EXPECT_EQ(0, rc_close(&self->rc));
}

/* A write whose wr_id is how many were posted before. */
static int post(struct _test_data_cq *self)
{
	struct ibv_sge sge = { .addr = (uintptr_t)self->rc.memory, .length = 8,
			       .lkey = self->rc.mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = self->posted, .sg_list = &sge, .num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED | (unsigned int)self->flags,
		.wr.rdma = { (uintptr_t)self->rc.memory + 4096, self->rc.mr->rkey },
	};
	struct ibv_send_wr *bad;
	int ret = ibv_post_send(self->qp, &wr, &bad);

	self->posted += !ret;
	return ret;
}

/* All that is there now. Return: how many; -1: one that is not the next, or failed. */
static int poll_in_order(struct _test_data_cq *self)
{
	struct ibv_wc wc;
	int n;

	for (n = 0; ibv_poll_cq(self->cq, 1, &wc) == 1; n++)
		if (wc.status || wc.wr_id != self->polled++)
			return -1;
	return n;
}

/* @n of them, within seconds. */
static int poll_all(struct _test_data_cq *self, int n)
{
	uint64_t end = rc_ms() + 20000;
	int got = 0, now;

	while (got < n && rc_ms() < end) {
		now = poll_in_order(self);
		if (now < 0)
			return -1;
		got += now;
	}
	return got;
}

static void *resize_for_ever(void *arg)
{
	static const int depths[] = { 63, 127, 4095, 64, 1023, 255 };
	struct _test_data_cq *self = arg;

	for (unsigned int i = 0; !__atomic_load_n(&self->stop, __ATOMIC_ACQUIRE); i++)
		if (!ibv_resize_cq(self->cq, depths[i % 6])) {
			__atomic_add_fetch(&self->resized, 1, __ATOMIC_RELEASE);
			/* the poller has its turn */
			usleep(50);
		}
	return NULL;
}

#define RESIZES	2000

/* A machine that is slow takes as long as it takes: a resize waits for a visit of the queue's. */
TEST_F_TIMEOUT(cq, resized_up_and_down_under_traffic, 3600)
{
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, resize_for_ever, self));
	while (__atomic_load_n(&self->resized, __ATOMIC_ACQUIRE) < RESIZES) {
		while (self->posted - self->polled < SENDS - 2 && !post(self))
			;
		if (poll_in_order(self) < 0)
			break;
	}
	__atomic_store_n(&self->stop, 1, __ATOMIC_RELEASE);
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_LE(RESIZES, self->resized);
	EXPECT_EQ(self->posted - self->polled, poll_all(self, (int)(self->posted - self->polled)));
	EXPECT_EQ(IBV_QPS_RTS, rc_state(self->qp));
	TH_LOG("%llu entries, %d times resized", (unsigned long long)self->polled, self->resized);
}

TEST_F(cq, what_was_not_polled_is_there_afterwards)
{
	static const int depths[] = { 63, 255, 40, 1023, 60 };

	for (int round = 0; round < 50; round++) {
		for (int i = 0; i < 40; i++)
			ASSERT_EQ(0, post(self));
		/* some are polled before */
		ASSERT_LE(20, poll_all(self, 20));
		for (int i = 0; i < 5; i++)
			ASSERT_EQ(0, ibv_resize_cq(self->cq, depths[i]));
		ASSERT_LE(0, poll_all(self, (int)(self->posted - self->polled)));
		ASSERT_EQ(self->posted, self->polled);
	}
}

/* libmlx5 says what it has consumed when it polls, and a resize is not that. */
TEST_F(cq, resized_many_times_without_a_poll)
{
	for (int i = 0; i < 300; i++)
		ASSERT_EQ(0, ibv_resize_cq(self->cq, i % 2 ? 63 : 127));
	for (int i = 0; i < 60; i++)
		ASSERT_EQ(0, post(self));
	EXPECT_EQ(60, poll_all(self, 60));
}

TEST_F(cq, one_that_is_too_small_for_what_is_there_is_refused)
{
	struct ibv_wc wc;
	uint64_t end = rc_ms() + 20000;

	for (int i = 0; i < 40; i++)
		ASSERT_EQ(0, post(self));
	/* the peer's queue is carried out by the same worker, and later */
	while (self->polled < 1 && rc_ms() < end)
		if (ibv_poll_cq(self->cq, 1, &wc) == 1)
			self->polled++;
	usleep(100000);
	EXPECT_EQ(EINVAL, ibv_resize_cq(self->cq, 15));
	EXPECT_EQ(EINVAL, ibv_resize_cq(self->cq, 31));
	EXPECT_EQ(0, ibv_resize_cq(self->cq, 63));
	EXPECT_EQ(63, self->cq->cqe);
	EXPECT_EQ(39, poll_all(self, 39));
	EXPECT_EQ(0, ibv_resize_cq(self->cq, 15));
	for (int i = 0; i < 15; i++)
		ASSERT_EQ(0, post(self));
	EXPECT_EQ(15, poll_all(self, 15));
	EXPECT_NE(0, ibv_resize_cq(self->cq, 65536));
	ASSERT_EQ(0, post(self));
	EXPECT_EQ(1, poll_all(self, 1));
}

TEST_F(cq, one_that_is_armed_stays_so)
{
	struct pollfd fd = { .fd = self->channel->fd, .events = POLLIN };
	struct ibv_cq *cq;
	void *context;

	for (int i = 0; i < 200; i++) {
		if (i % 2)
			ASSERT_EQ(0, ibv_req_notify_cq(self->cq, 0));
		ASSERT_EQ(0, ibv_resize_cq(self->cq, i % 4 < 2 ? 63 : 255));
		ASSERT_EQ(0, poll(&fd, 1, 0));
		if (i % 2 == 0)
			ASSERT_EQ(0, ibv_req_notify_cq(self->cq, 0));
		ASSERT_EQ(0, post(self));
		if (i % 3 == 0)
			ASSERT_EQ(0, ibv_resize_cq(self->cq, 127));
		ASSERT_EQ(1, poll(&fd, 1, 20000));
		ASSERT_EQ(0, ibv_get_cq_event(self->channel, &cq, &context));
		ibv_ack_cq_events(cq, 1);
		ASSERT_EQ(1, poll_all(self, 1));
	}
}

/* An event is memory of the kernel until it is read: no index that is stored brings more of them. */
TEST_F(cq, X6_a_consumer_that_reads_nothing_is_not_told_again)
{
	struct pollfd fd = { .fd = self->channel->fd, .events = POLLIN };
	struct mlx5dv_cq dv = { 0 };
	struct mlx5dv_obj obj = { .cq = { .in = self->cq, .out = &dv } };
	struct ibv_cq *cq;
	void *context;
	int n;

	ASSERT_EQ(0, mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ));
	/* the first four are solicited: arming for those, and for all, takes turns below */
	self->flags = IBV_SEND_SOLICITED;
	for (int i = 0; i < 8; i++, self->flags = i < 4 ? IBV_SEND_SOLICITED : 0)
		ASSERT_EQ(0, post(self));
	for (uint32_t i = 0; i < 300; i++) {
		__atomic_store_n(((volatile uint32_t *)dv.dbrec) + 1,
				 htonl((i % 3 + 1) | (i % 2 ? 1U << 24 : 0)), __ATOMIC_RELEASE);
		*(volatile uint64_t *)((uint8_t *)dv.cq_uar + 0x20) = 0;
		usleep(1000);
	}
	for (n = 0; poll(&fd, 1, n ? 50 : 20000) == 1; n++) {
		ASSERT_EQ(0, ibv_get_cq_event(self->channel, &cq, &context));
		ibv_ack_cq_events(cq, 1);
	}
	EXPECT_LE(1, n);
	EXPECT_GE(3, n);
	EXPECT_EQ(8, poll_all(self, 8));
}

static int raw_resize(struct ibv_cq *cq, uint64_t entries, uint16_t bytes, uint32_t reserved)
{
	struct ib_uverbs_resize_cq_resp resp;
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_resize_cq cq;
		struct mlx5_ib_resize_cq mlx5;
	} cmd = {
		.hdr = { .command = IB_USER_VERBS_CMD_RESIZE_CQ, .in_words = sizeof(cmd) / 4,
			 .out_words = sizeof(resp) / 4 },
		.cq = { .response = (uintptr_t)&resp, .cq_handle = cq->handle, .cqe = 255 },
		.mlx5 = { .buf_addr = entries, .cqe_size = bytes, .reserved1 = reserved },
	};

	return write(cq->context->cmd_fd, &cmd, sizeof(cmd)) == sizeof(cmd) ? 0 : errno;
}

TEST_F(cq, X5_entries_that_are_none_are_refused)
{
	uint16_t bytes = (uint16_t)atoi(variant->bytes);
	uint64_t good = (uintptr_t)self->rc.memory + 65536;
	void *hole = mmap(NULL, 65536, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	EXPECT_EQ(EINVAL, raw_resize(self->cq, 0, bytes, 0));
	EXPECT_EQ(EINVAL, raw_resize(self->cq, good + 8, bytes, 0));
	EXPECT_EQ(EINVAL, raw_resize(self->cq, good, bytes ^ 192, 0));
	EXPECT_EQ(EINVAL, raw_resize(self->cq, good, 32, 0));
	EXPECT_EQ(EOPNOTSUPP, raw_resize(self->cq, good, bytes, 1));
	EXPECT_EQ(EFAULT, raw_resize(self->cq, (uintptr_t)hole, bytes, 0));
	EXPECT_NE(0, raw_resize(self->cq, ~63ULL, bytes, 0));
	munmap(hole, 65536);
	/* none of these has changed anything */
	ASSERT_EQ(0, post(self));
	EXPECT_EQ(1, poll_all(self, 1));
	EXPECT_EQ(0, raw_resize(self->other, good, bytes, 0));
	EXPECT_EQ(0, raw_resize(self->other, good + 65536, bytes, 0));
}

TEST_HARNESS_MAIN
