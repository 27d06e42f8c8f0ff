// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Values that netlink shows, of all that a QP may be made with and of a context that is gone,
 * against work that was counted here. Counts of plain QPs are in netlink.c, why a QP failed in
 * netlink_causes.c.
 */
#include <sys/eventfd.h>
#include <gda/cause.h>
#include "gda_fixture.h"
#include "move.h"
#include "nl.h"

#define DEPTH	64U
#define LEN	24U

/* A QP that is connected to itself, with all parts that there are. */
FIXTURE(values) {
	struct t_nl nl;
	struct gda_counter_create count[2];	/* of work sent, and received */
	struct gda_cq_create ring;		/* of immediates */
	struct t_qp qp;
	struct t_mr mr;
	uint32_t id;
	int fd;
};

static int make_qp(int fd, const struct gda_counter_create count[2],
		   const struct gda_cq_create *ring, struct t_qp *qp)
{
	struct gda_qp_create *cmd = &qp->qpc;
	int err;

	*qp = (struct t_qp) { .fd = fd, .depth = DEPTH };
	*cmd = (struct gda_qp_create) {
		.size = sizeof(*cmd), .dialect = GDA_DIALECT_MLX5, .sq_depth = DEPTH,
		.recv_cq = ring->handle, .sent_counter = count[0].handle,
		.recv_counter = count[1].handle, .user_index = 0xabcdef,
	};
	err = t_cq_create(fd, GDA_CQ_COLLAPSED, 1, &qp->cqc);
	cmd->cq = qp->cqc.handle;
	return err ?: t_ioctl(fd, GDA_IOC_QP_CREATE, cmd) ?: t_qp_map(qp) ?: t_connect(qp, qp);
}

T_SETUP(values)
{
	ASSERT_OK(t_nl_open(&self->nl));
	self->fd = t_context();
	ASSERT_GE(self->fd, 0);
	self->id = t_nl_my_context(&self->nl);
	ASSERT_OK(t_mr_new(self->fd, T_PAGE, GDA_ACCESS_ALL, &self->mr));
	ASSERT_OK(t_cq_create(self->fd, 0, DEPTH, &self->ring));
	for (int i = 0; i < 2; i++) {
		self->count[i] = (struct gda_counter_create) { .size = sizeof(self->count[i]) };
		ASSERT_OK(t_ioctl(self->fd, GDA_IOC_COUNTER_CREATE, &self->count[i]));
	}
	ASSERT_OK(make_qp(self->fd, self->count, &self->ring, &self->qp));
}

T_TEARDOWN(values)
{
	t_qp_unmap(&self->qp);
	close(self->fd);
	t_mr_free(-1, &self->mr);
	t_nl_close(&self->nl);
}

/* Ask for an object of the fixture's context, into msg. */
#define ASSERT_GET(cmd, handle)		\
	ASSERT_OK(t_nl_get(&self->nl, GDA_CMD_##cmd##_GET, self->id, handle, &msg))

static struct t_wr immediate(FIXTURE_DATA(values) *self)
{
	struct t_wr wr = t_wr_write(&self->mr, 0, &self->mr, 128, LEN);

	wr.opcode = GDA_MLX5_WRITE_IMM;
	return wr;
}

#define WORK	40U

TEST_F(values, M_04_parts_of_a_qp)
{
	struct t_wr wr = immediate(self);
	struct t_nl_msg msg;

	for (unsigned int i = 0; i < WORK; i++)
		ASSERT_OK(t_run(&self->qp, &wr, NULL));
	ASSERT_GET(QP, self->qp.qpc.handle);
	EXPECT_EQ(self->qp.cqc.handle, t_nl_u32(&msg, GDA_A_QP_CQ));
	EXPECT_EQ(self->ring.handle, t_nl_u32(&msg, GDA_A_QP_RECV_CQ));
	EXPECT_EQ(self->count[0].handle, t_nl_u32(&msg, GDA_A_QP_COUNTER));
	EXPECT_EQ(self->count[1].handle, t_nl_u32(&msg, GDA_A_QP_RECV_COUNTER));
	EXPECT_EQ(0xabcdef, t_nl_u32(&msg, GDA_A_QP_USER_INDEX));
	EXPECT_EQ(NULL, msg.attr[GDA_A_QP_POLLED]);
	EXPECT_EQ(WORK, t_nl_u64(&msg, GDA_A_QP_EXECUTED));
	EXPECT_EQ(WORK * LEN, t_nl_u64(&msg, GDA_A_QP_BYTES));
	EXPECT_EQ(WORK, t_nl_u64(&msg, GDA_A_QP_RUNG));
	/* a CQ of one entry, and a ring */
	ASSERT_GET(CQ, self->qp.cqc.handle);
	EXPECT_EQ(self->qp.cqc.cqn, t_nl_u32(&msg, GDA_A_CQ_CQN));
	EXPECT_EQ(1, t_nl_u32(&msg, GDA_A_CQ_DEPTH));
	EXPECT_NE(NULL, msg.attr[GDA_A_CQ_COLLAPSED]);
	EXPECT_EQ(1, t_nl_u32(&msg, GDA_A_CQ_USERS));
	EXPECT_EQ(WORK, t_nl_u64(&msg, GDA_A_CQ_PRODUCER));
	ASSERT_GET(CQ, self->ring.handle);
	EXPECT_EQ(self->ring.cqn, t_nl_u32(&msg, GDA_A_CQ_CQN));
	EXPECT_EQ(DEPTH, t_nl_u32(&msg, GDA_A_CQ_DEPTH));
	EXPECT_EQ(NULL, msg.attr[GDA_A_CQ_COLLAPSED]);
	EXPECT_EQ(NULL, msg.attr[GDA_A_CQ_FAILED]);
	EXPECT_EQ(1, t_nl_u32(&msg, GDA_A_CQ_USERS));
	EXPECT_EQ(WORK, t_nl_u64(&msg, GDA_A_CQ_PRODUCER));
	for (int i = 0; i < 2; i++) {
		ASSERT_GET(COUNTER, self->count[i].handle);
		EXPECT_EQ(WORK, t_nl_u64(&msg, GDA_A_COUNTER_VALUE)) TH_LOG("counter %d", i);
		EXPECT_EQ(0, t_nl_u64(&msg, GDA_A_COUNTER_ERRORS));
		EXPECT_EQ(1, t_nl_u32(&msg, GDA_A_COUNTER_USERS));
	}
	ASSERT_OK(t_nl_get(&self->nl, GDA_CMD_CONTEXT_GET, self->id, 0, &msg));
	EXPECT_EQ(1, t_nl_u32(&msg, GDA_A_CONTEXT_QPS));
	EXPECT_EQ(2, t_nl_u32(&msg, GDA_A_CONTEXT_CQS));
	EXPECT_EQ(1, t_nl_u32(&msg, GDA_A_CONTEXT_MRS));
	EXPECT_EQ(2, t_nl_u32(&msg, GDA_A_CONTEXT_COUNTERS));
}

/* Work that fails, and what is flushed behind it, is counted as errors. */
TEST_F(values, M_04_counter_of_errors)
{
	struct t_wr wr = immediate(self);
	struct t_nl_msg msg;

	ASSERT_OK(t_run(&self->qp, &wr, NULL));
	wr.rkey ^= 1;
	for (int i = 0; i < 3; i++)
		t_post(&self->qp, &wr);
	t_ring(&self->qp);
	ASSERT_LT(0, t_wait(&self->qp, self->qp.next - 1, NULL));
	ASSERT_GET(COUNTER, self->count[0].handle);
	EXPECT_EQ(1, t_nl_u64(&msg, GDA_A_COUNTER_VALUE));
	EXPECT_EQ(3, t_nl_u64(&msg, GDA_A_COUNTER_ERRORS));
	ASSERT_GET(COUNTER, self->count[1].handle);
	EXPECT_EQ(1, t_nl_u64(&msg, GDA_A_COUNTER_VALUE));
	EXPECT_EQ(0, t_nl_u64(&msg, GDA_A_COUNTER_ERRORS));
	/* who uses it no more is not counted */
	ASSERT_OK(t_destroy(self->fd, self->qp.qpc.handle));
	ASSERT_GET(COUNTER, self->count[1].handle);
	EXPECT_EQ(0, t_nl_u32(&msg, GDA_A_COUNTER_USERS));
	ASSERT_GET(CQ, self->ring.handle);
	EXPECT_EQ(0, t_nl_u32(&msg, GDA_A_CQ_USERS));
}

/* Entries that are written and not rung for: in the answer about one QP, 64 at most. */
TEST_F(values, M_04_written_and_rung)
{
	struct t_wr wr = { .opcode = GDA_MLX5_NOP };
	struct t_nl_msg msg;

	for (unsigned int i = 0; i < 3; i++)
		t_post(&self->qp, &wr);
	ASSERT_GET(QP, self->qp.qpc.handle);
	EXPECT_EQ(3, t_nl_u32(&msg, GDA_A_QP_WRITTEN));
	EXPECT_EQ(0, t_nl_u64(&msg, GDA_A_QP_RUNG));
	EXPECT_EQ(0, t_nl_u64(&msg, GDA_A_QP_PRODUCER));
	EXPECT_EQ(0, t_nl_u64(&msg, GDA_A_QP_LAST_PROGRESS));
	t_ring(&self->qp);
	ASSERT_OK(t_wait(&self->qp, 2, NULL));
	for (unsigned int i = 0; i < DEPTH; i++)
		t_post(&self->qp, &wr);
	ASSERT_GET(QP, self->qp.qpc.handle);
	EXPECT_EQ(DEPTH, t_nl_u32(&msg, GDA_A_QP_WRITTEN));
	EXPECT_EQ(3, t_nl_u64(&msg, GDA_A_QP_RUNG));
	EXPECT_EQ(3, t_nl_u64(&msg, GDA_A_QP_CONSUMER));
	/* that is looked for in no dump */
	ASSERT_OK(t_nl_dump(&self->nl, GDA_CMD_QP_GET, self->id));
	ASSERT_EQ(1, t_nl_next(&self->nl, &msg));
	EXPECT_EQ(NULL, msg.attr[GDA_A_QP_WRITTEN]);
	EXPECT_EQ(3, t_nl_u64(&msg, GDA_A_QP_RUNG));
	EXPECT_EQ(0, t_nl_next(&self->nl, &msg));
}

TEST_F(values, M_04_armed_and_polled)
{
	struct gda_cq_event arm = { .size = sizeof(arm), .flags = GDA_CQ_ARM };
	struct gda_qp_create polled = {
		.size = sizeof(polled), .flags = GDA_QP_POLLED, .dialect = GDA_DIALECT_MLX5,
		.cq = self->ring.handle, .sq_depth = 16,
	};
	struct t_wr wr = immediate(self);
	struct t_nl_msg msg;

	ASSERT_GET(CQ, self->ring.handle);
	EXPECT_EQ(NULL, msg.attr[GDA_A_CQ_ARMED]);
	arm.handle = self->ring.handle;
	arm.eventfd = eventfd(0, EFD_CLOEXEC);
	ASSERT_LE(0, arm.eventfd);
	ASSERT_OK(t_ioctl(self->fd, GDA_IOC_CQ_EVENT, &arm));
	ASSERT_GET(CQ, self->ring.handle);
	EXPECT_NE(NULL, msg.attr[GDA_A_CQ_ARMED]);
	/* the first completion has used it up */
	ASSERT_OK(t_run(&self->qp, &wr, NULL));
	ASSERT_GET(CQ, self->ring.handle);
	EXPECT_EQ(NULL, msg.attr[GDA_A_CQ_ARMED]);
	close(arm.eventfd);
	ASSERT_OK(t_ioctl(self->fd, GDA_IOC_QP_CREATE, &polled));
	ASSERT_GET(QP, polled.handle);
	EXPECT_NE(NULL, msg.attr[GDA_A_QP_POLLED]);
	EXPECT_EQ(16, t_nl_u32(&msg, GDA_A_QP_SQ_DEPTH));
	EXPECT_EQ(GDA_QP_INIT, (int)t_nl_u32(&msg, GDA_A_QP_STATE));
	EXPECT_EQ(NULL, msg.attr[GDA_A_QP_RECV_CQ]);
	EXPECT_EQ(NULL, msg.attr[GDA_A_QP_COUNTER]);
	EXPECT_EQ(NULL, msg.attr[GDA_A_QP_RECV_COUNTER]);
	EXPECT_EQ(NULL, msg.attr[GDA_A_QP_PEER_QPN]);
	ASSERT_GET(CQ, self->ring.handle);
	EXPECT_EQ(2, t_nl_u32(&msg, GDA_A_CQ_USERS));
}

/* A CQ in memory of another driver, which takes it away. */
TEST_F(values, M_04_cq_revoked)
{
	struct gda_cq_create cq = {
		.size = sizeof(cq), .flags = GDA_CQ_COLLAPSED | GDA_CQ_DMABUF, .depth = 1,
	};
	struct gda_test_move move = { 0 };
	struct t_nl_msg msg;
	int test = open("/dev/gda_test", O_RDWR | O_CLOEXEC);

	ASSERT_LE(0, test);
	cq.cq_memory.fd = t_test_buffer(test, T_PAGE, 0);
	ASSERT_LE(0, cq.cq_memory.fd);
	ASSERT_OK(t_ioctl(self->fd, GDA_IOC_CQ_CREATE, &cq));
	ASSERT_GET(CQ, cq.handle);
	EXPECT_EQ(NULL, msg.attr[GDA_A_CQ_REVOKED]);
	ASSERT_OK(t_move(test, cq.cq_memory.fd, 0, &move));
	ASSERT_GET(CQ, cq.handle);
	EXPECT_NE(NULL, msg.attr[GDA_A_CQ_REVOKED]);
	ASSERT_OK(t_destroy(self->fd, cq.handle));
	close(cq.cq_memory.fd);
	close(test);
}

/* Counts over all contexts, less those of before. */
TEST_F(values, M_04_stats)
{
	static const struct { int attr; uint64_t more; } mine[] = {
		{ GDA_A_STATS_CONTEXTS, 1 }, { GDA_A_STATS_QPS, 1 }, { GDA_A_STATS_CQS, 1 },
		{ GDA_A_STATS_COUNTERS, 1 }, { GDA_A_STATS_MRS, 1 }, { GDA_A_STATS_KEYS, 1 },
	};
	struct gda_counter_create counter = { .size = sizeof(counter) };
	uint64_t before[ARRAY_SIZE(mine)];
	struct gda_cq_create cq;
	struct gda_qp_create qp;
	struct t_nl_msg msg;
	struct t_mr mr;
	int fd;

	ASSERT_OK(t_nl_get(&self->nl, GDA_CMD_STATS_GET, 0, 0, &msg));
	for (size_t i = 0; i < ARRAY_SIZE(mine); i++)
		before[i] = t_nl_u64(&msg, mine[i].attr);
	fd = t_context();
	ASSERT_GE(fd, 0);
	ASSERT_OK(t_cq_create(fd, 0, 16, &cq));
	ASSERT_OK(t_qp_create(fd, cq.handle, 16, &qp));
	ASSERT_OK(t_ioctl(fd, GDA_IOC_COUNTER_CREATE, &counter));
	ASSERT_OK(t_mr_new(fd, T_PAGE, 0, &mr));
	ASSERT_OK(t_nl_get(&self->nl, GDA_CMD_STATS_GET, 0, 0, &msg));
	for (size_t i = 0; i < ARRAY_SIZE(mine); i++)
		EXPECT_EQ(before[i] + mine[i].more, t_nl_u64(&msg, mine[i].attr));
	t_mr_free(fd, &mr);
	close(fd);
}

/* --- what is kept of a context that is gone --- */

/*
 * The message about context @id, or about its only QP. What @msg points to stays until the next
 * call: the socket is closed, as the rest of the dump is not read.
 */
static int find_dead(uint32_t id, bool of_qp, struct t_nl_msg *msg)
{
	const int wanted = of_qp ? GDA_A_RECORD_QPN : GDA_A_RECORD_DEAD;
	static struct t_nl nl;
	bool here = false, found = false;
	int err = t_nl_open(&nl);

	if (err)
		return err;
	err = t_nl_dump(&nl, GDA_CMD_DEAD_GET, 0);
	while (!err && !found && (err = t_nl_next(&nl, msg)) > 0) {
		if (msg->attr[GDA_A_RECORD_DEAD])
			here = t_nl_u32(msg, GDA_A_RECORD_CONTEXT) == id;
		found = here && msg->attr[wanted];
		err = 0;
	}
	t_nl_close(&nl);
	return err ? err : found ? 0 : -ENOENT;
}

#define DONE	5U
#define FLUSHED	2U

TEST_F(values, M_04_dead)
{
	uint64_t begin = t_now(), limit = begin + T_WAIT_NS;
	struct t_wr wr = immediate(self);
	struct t_nl_msg msg;
	int err;

	for (unsigned int i = 0; i < DONE; i++)
		ASSERT_OK(t_run(&self->qp, &wr, NULL));
	wr.rkey ^= 1;
	for (unsigned int i = 0; i < 1 + FLUSHED; i++)
		t_post(&self->qp, &wr);
	t_ring(&self->qp);
	ASSERT_LT(0, t_wait(&self->qp, self->qp.next - 1, NULL));
	t_qp_unmap(&self->qp);
	close(self->fd);
	do {
		err = find_dead(self->id, false, &msg);
	} while (err == -ENOENT && t_now() < limit);
	ASSERT_EQ(0, err);
	EXPECT_STREQ(GDA_DEVICE_SOFT, t_nl_string(&msg, GDA_A_RECORD_DEVICE));
	EXPECT_EQ(getpid(), (pid_t)t_nl_u32(&msg, GDA_A_RECORD_PID));
	EXPECT_EQ(geteuid(), t_nl_u32(&msg, GDA_A_RECORD_UID));
	EXPECT_LT(begin, t_nl_u64(&msg, GDA_A_RECORD_TIME));
	EXPECT_GT(t_now(), t_nl_u64(&msg, GDA_A_RECORD_TIME));
	ASSERT_OK(find_dead(self->id, true, &msg));
	EXPECT_EQ(self->qp.qpc.qpn, t_nl_u32(&msg, GDA_A_RECORD_QPN));
	EXPECT_EQ(self->qp.qpc.handle, t_nl_u32(&msg, GDA_A_RECORD_HANDLE));
	EXPECT_EQ(GDA_QP_ERROR, (int)t_nl_u32(&msg, GDA_A_RECORD_STATE));
	EXPECT_EQ(GDA_CLASS_REMOTE_ACCESS, (int)t_nl_u32(&msg, GDA_A_RECORD_CLASS));
	EXPECT_EQ(GDA_CAUSE_KEY, (int)t_nl_u32(&msg, GDA_A_RECORD_CAUSE));
	EXPECT_EQ(DONE, t_nl_u64(&msg, GDA_A_RECORD_ERROR_INDEX));
	EXPECT_EQ(DONE + 1 + FLUSHED, t_nl_u64(&msg, GDA_A_RECORD_PRODUCER));
	EXPECT_EQ(DONE + 1 + FLUSHED, t_nl_u64(&msg, GDA_A_RECORD_CONSUMER));
	EXPECT_EQ(DONE, t_nl_u64(&msg, GDA_A_RECORD_EXECUTED));
	EXPECT_EQ(FLUSHED, t_nl_u64(&msg, GDA_A_RECORD_FLUSHED));
	EXPECT_EQ(DONE * LEN, t_nl_u64(&msg, GDA_A_RECORD_BYTES));
	self->fd = -1;
}

TEST_HARNESS_MAIN
