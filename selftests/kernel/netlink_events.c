// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Events of the netlink family: one for each thing that came, went or failed, in order, with what
 * it was; and none for a work request.
 */
#include <sched.h>
#include <sys/socket.h>
#include <gda/cause.h>
#include "gda_fixture.h"
#include "move.h"
#include "nl.h"

FIXTURE(events) {
	struct t_nl nl;			/* asks */
	struct t_nl heard;		/* listens */
};

T_SETUP(events)
{
	ASSERT_OK(t_nl_open(&self->nl));
	ASSERT_OK(t_nl_open(&self->heard));
	ASSERT_OK(t_nl_join(&self->heard));
}

T_TEARDOWN(events)
{
	t_nl_close(&self->heard);
	t_nl_close(&self->nl);
}

/* The next event is a @kind of @context; its attributes are in @msg. */
#define EXPECT_EVENT(event_kind, in_context) do {					\
	ASSERT_EQ(1, t_nl_next(&self->heard, &msg));				\
	ASSERT_EQ(GDA_CMD_EVENT, (int)msg.cmd);					\
	ASSERT_EQ((int)(event_kind), (int)t_nl_u32(&msg, GDA_A_EVENT_KIND));	\
	EXPECT_EQ(in_context, t_nl_u32(&msg, GDA_A_EVENT_CONTEXT));		\
	EXPECT_STREQ(GDA_DEVICE_SOFT, t_nl_string(&msg, GDA_A_EVENT_DEVICE));	\
	EXPECT_EQ(NULL, msg.attr[GDA_A_EVENT_LOST]);				\
	EXPECT_GT(t_now(), t_nl_u64(&msg, GDA_A_EVENT_TIME));			\
} while (0)

/* All that a pair of contexts does from its beginning to its end, work that succeeds included. */
TEST_F(events, of_a_pair)
{
	struct t_nl_msg msg;
	struct t_end end[2];
	struct t_done done;
	struct t_wr wr;
	uint32_t id[2], qpn[2], handle;
	uint64_t last;

	T_NEEDS("GDA_IOC_QP_CONNECT");
	ASSERT_OK(t_pair_open(end, 16, T_PAGE));
	id[1] = t_nl_my_context(&self->nl);
	id[0] = id[1] - 1;
	qpn[0] = end[0].qp.qpc.qpn;
	qpn[1] = end[1].qp.qpc.qpn;
	EXPECT_EVENT(GDA_EVENT_KIND_CONTEXT_BOUND, id[0]);
	EXPECT_EQ(getpid(), (pid_t)t_nl_u32(&msg, GDA_A_EVENT_PID));
	EXPECT_EQ(0, t_nl_u32(&msg, GDA_A_EVENT_UID));
	EXPECT_EVENT(GDA_EVENT_KIND_CONTEXT_BOUND, id[1]);
	for (int i = 0; i < 2; i++) {
		int who;

		ASSERT_EQ(1, t_nl_next(&self->heard, &msg));
		ASSERT_EQ(GDA_EVENT_KIND_QP_CONNECTED, (int)t_nl_u32(&msg, GDA_A_EVENT_KIND));
		who = t_nl_u32(&msg, GDA_A_EVENT_QPN) == qpn[1];
		EXPECT_EQ(qpn[who], t_nl_u32(&msg, GDA_A_EVENT_QPN));
		EXPECT_EQ(qpn[!who], t_nl_u32(&msg, GDA_A_EVENT_PEER_QPN));
		EXPECT_EQ(id[who], t_nl_u32(&msg, GDA_A_EVENT_CONTEXT));
		EXPECT_EQ(end[who].qp.qpc.handle, t_nl_u32(&msg, GDA_A_EVENT_HANDLE));
	}
	wr = t_wr_write(&end[0].mr, 0, &end[1].mr, 0, 8);
	for (int i = 0; i < 100; i++)
		ASSERT_OK(t_run(&end[0].qp, &wr, NULL));
	wr.rkey ^= 1;
	last = t_post(&end[0].qp, &wr);
	for (int i = 0; i < 10; i++)
		t_post(&end[0].qp, &wr);
	t_ring(&end[0].qp);
	t_wait(&end[0].qp, end[0].qp.next - 1, &done);
	/* not one for what was flushed either: the next is of something else */
	EXPECT_EVENT(GDA_EVENT_KIND_QP_FAILED, id[0]);
	EXPECT_EQ(qpn[0], t_nl_u32(&msg, GDA_A_EVENT_QPN));
	EXPECT_EQ(GDA_CLASS_REMOTE_ACCESS, (int)t_nl_u32(&msg, GDA_A_EVENT_CLASS));
	EXPECT_EQ(GDA_CAUSE_KEY, (int)t_nl_u32(&msg, GDA_A_EVENT_CAUSE));
	EXPECT_EQ(last, t_nl_u64(&msg, GDA_A_EVENT_ERROR_INDEX));
	handle = end[1].qp.qpc.handle;
	t_qp_close(&end[0].qp);
	EXPECT_EVENT(GDA_EVENT_KIND_QP_FAILED, id[1]);
	EXPECT_EQ(handle, t_nl_u32(&msg, GDA_A_EVENT_HANDLE));
	EXPECT_EQ(GDA_CAUSE_PEER, (int)t_nl_u32(&msg, GDA_A_EVENT_CAUSE));
	t_qp_close(&end[1].qp);
	close(end[0].fd);
	EXPECT_EVENT(GDA_EVENT_KIND_CONTEXT_GONE, id[0]);
	close(end[1].fd);
	EXPECT_EVENT(GDA_EVENT_KIND_CONTEXT_GONE, id[1]);
	t_mr_free(-1, &end[0].mr);
	t_mr_free(-1, &end[1].mr);
}

TEST_F(events, of_a_cq_that_overflows)
{
	struct t_wr nop = { .opcode = GDA_MLX5_NOP };
	struct gda_cq_create cq;
	struct t_nl_msg msg;
	struct t_qp qp;
	uint32_t id;
	int fd = t_context();

	ASSERT_GE(fd, 0);
	id = t_nl_my_context(&self->nl);
	EXPECT_EVENT(GDA_EVENT_KIND_CONTEXT_BOUND, id);
	ASSERT_OK(t_cq_create(fd, 0, 4, &cq));
	ASSERT_OK(t_qp_open_on(&qp, fd, 16, &cq));
	ASSERT_OK(t_connect(&qp, &qp));
	EXPECT_EVENT(GDA_EVENT_KIND_QP_CONNECTED, id);
	EXPECT_EQ(qp.qpc.qpn, t_nl_u32(&msg, GDA_A_EVENT_PEER_QPN));
	for (int i = 0; i < 8; i++)
		t_post(&qp, &nop);
	t_ring(&qp);
	EXPECT_EVENT(GDA_EVENT_KIND_CQ_OVERFLOWED, id);
	EXPECT_EQ(cq.handle, t_nl_u32(&msg, GDA_A_EVENT_HANDLE));
	EXPECT_EVENT(GDA_EVENT_KIND_QP_FAILED, id);
	EXPECT_EQ(GDA_CLASS_QUEUE, (int)t_nl_u32(&msg, GDA_A_EVENT_CLASS));
	EXPECT_EQ(GDA_CAUSE_CQ, (int)t_nl_u32(&msg, GDA_A_EVENT_CAUSE));
	ASSERT_OK(t_nl_get(&self->nl, GDA_CMD_CQ_GET, id, cq.handle, &msg));
	EXPECT_NE(NULL, msg.attr[GDA_A_CQ_FAILED]);
	EXPECT_EQ(4, t_nl_u64(&msg, GDA_A_CQ_PRODUCER));
	t_qp_unmap(&qp);
	close(fd);
}

TEST_F(events, of_memory_that_is_revoked)
{
	struct gda_test_move move = { 0 };
	struct t_nl_msg msg;
	struct t_mr mr;
	uint32_t id;
	int fd, buf, test = open("/dev/gda_test", O_RDWR | O_CLOEXEC);

	ASSERT_GE(test, 0);
	fd = t_context();
	ASSERT_GE(fd, 0);
	id = t_nl_my_context(&self->nl);
	EXPECT_EVENT(GDA_EVENT_KIND_CONTEXT_BOUND, id);
	buf = t_test_buffer(test, T_PAGE, 0);
	ASSERT_GE(buf, 0);
	ASSERT_OK(t_mr_reg_dmabuf(fd, buf, T_PAGE, &mr));
	ASSERT_OK(t_move(test, buf, 0, &move));
	EXPECT_EVENT(GDA_EVENT_KIND_MR_REVOKED, id);
	EXPECT_EQ(mr.handle, t_nl_u32(&msg, GDA_A_EVENT_HANDLE));
	ASSERT_OK(t_nl_get(&self->nl, GDA_CMD_MR_GET, id, mr.handle, &msg));
	EXPECT_EQ(GDA_MR_REVOKED, (int)t_nl_u32(&msg, GDA_A_MR_STATE));
	close(buf);
	close(fd);
	EXPECT_EVENT(GDA_EVENT_KIND_CONTEXT_GONE, id);
	close(test);
}

TEST_F(events, of_a_device)
{
	struct t_nl_msg msg;

	ASSERT_OK(t_soft0("unbind"));
	EXPECT_EVENT(GDA_EVENT_KIND_DEVICE_REMOVED, 0);
	EXPECT_OK(t_soft0("bind"));
	EXPECT_EVENT(GDA_EVENT_KIND_DEVICE_ADDED, 0);
}

/* A tenant that makes more events than are read: what is lost is counted, and nobody waits. */
TEST_F(events, E1_too_many)
{
	unsigned long n = t_rounds(2000), seen = 0;
	int err, fd, room = 16 << 20;
	uint64_t lost = 0;
	struct t_nl_msg msg;

	/* so that it is not the socket that loses them */
	ASSERT_EQ(0, setsockopt(self->heard.fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)));
	for (unsigned long i = 0; i < n; i++) {
		fd = t_context();
		ASSERT_GE(fd, 0);
		close(fd);
	}
	t_sleep_ns(T_NS);
	ASSERT_EQ(0, fcntl(self->heard.fd, F_SETFL, O_NONBLOCK));
	while ((err = t_nl_next(&self->heard, &msg)) == 1) {
		seen++;
		lost = t_nl_u64(&msg, GDA_A_EVENT_LOST);
	}
	EXPECT_EQ(-ETIMEDOUT, err);
	/* those that were lost after the last one are not told yet */
	EXPECT_GE(2 * n, seen + lost);
	EXPECT_LT(0, seen);
}

T_CHILD_TEST(events, P1_listeners_need_a_capability)
{
	struct t_nl nl;

	CHECK(!t_drop(false));
	CHECK(!t_nl_open(&nl));
	CHECK(t_nl_join(&nl) == -EPERM);
	return 0;
}

/* Another network namespace hears nothing, whatever capability is there. */
static int hears_nothing(void *arg)
{
	struct t_nl nl;
	struct t_nl_msg msg;
	int fd;

	(void)arg;
	CHECK(!unshare(CLONE_NEWNET));
	CHECK(!t_nl_open(&nl));
	CHECK(!t_nl_join(&nl));
	CHECK(!fcntl(nl.fd, F_SETFL, O_NONBLOCK));
	fd = t_context();
	CHECK(fd >= 0);
	close(fd);
	t_sleep_ns(T_NS / 5);
	CHECK(t_nl_next(&nl, &msg) == -ETIMEDOUT);
	return 0;
}

TEST_F(events, P2_initial_network_namespace_alone)
{
	struct t_nl_msg msg;

	EXPECT_EQ(0, t_in_child(hears_nothing, NULL));
	/* but what is done there is heard here */
	ASSERT_EQ(1, t_nl_next(&self->heard, &msg));
	EXPECT_EQ(GDA_EVENT_KIND_CONTEXT_BOUND, (int)t_nl_u32(&msg, GDA_A_EVENT_KIND));
}

TEST_HARNESS_MAIN
