// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Netlink tells the truth: each counter against work that was counted here, and connections
 * against those that were made. Dumps while objects come and go are in netlink_load.c.
 */
#include <gda/cause.h>
#include "gda_fixture.h"
#include "nl.h"

FIXTURE(netlink) {
	struct t_nl nl;
};

T_SETUP(netlink)
{
	ASSERT_OK(t_nl_open(&self->nl));
}

T_TEARDOWN(netlink)
{
	t_nl_close(&self->nl);
}

TEST_F(netlink, devices)
{
	struct gda_query query = { .size = sizeof(query) };
	struct t_nl_msg msg;
	struct t_nl_req req;
	uint32_t id = 0;
	int fd = t_context();

	ASSERT_GE(fd, 0);
	ASSERT_OK(t_ioctl(fd, GDA_IOC_QUERY, &query));
	ASSERT_OK(t_nl_dump(&self->nl, GDA_CMD_DEVICE_GET, 0));
	while (t_nl_next(&self->nl, &msg) > 0)
		if (!strcmp(t_nl_string(&msg, GDA_A_DEVICE_NAME), GDA_DEVICE_SOFT))
			id = t_nl_u32(&msg, GDA_A_DEVICE_ID);
	ASSERT_NE(0, id);
	t_nl_begin(&self->nl, &req, GDA_CMD_DEVICE_GET, 0);
	t_nl_put(&req, GDA_A_DEVICE_NAME, GDA_DEVICE_SOFT, sizeof(GDA_DEVICE_SOFT));
	ASSERT_OK(t_nl_ask(&self->nl, &req, &msg));
	EXPECT_EQ(id, t_nl_u32(&msg, GDA_A_DEVICE_ID));
	EXPECT_EQ(query.features[0], t_nl_u64(&msg, GDA_A_DEVICE_FEATURES));
	EXPECT_EQ(query.max_qp, t_nl_u32(&msg, GDA_A_DEVICE_MAX_QP));
	EXPECT_EQ(query.max_cq, t_nl_u32(&msg, GDA_A_DEVICE_MAX_CQ));
	EXPECT_EQ(query.max_mr, t_nl_u32(&msg, GDA_A_DEVICE_MAX_MR));
	EXPECT_EQ(query.max_counter, t_nl_u32(&msg, GDA_A_DEVICE_MAX_COUNTER));
	EXPECT_EQ(query.max_sq_depth, t_nl_u32(&msg, GDA_A_DEVICE_MAX_SQ_DEPTH));
	EXPECT_EQ(query.max_cq_depth, t_nl_u32(&msg, GDA_A_DEVICE_MAX_CQ_DEPTH));
	EXPECT_EQ(query.max_sge, t_nl_u32(&msg, GDA_A_DEVICE_MAX_SGE));
	EXPECT_EQ(query.max_inline, t_nl_u32(&msg, GDA_A_DEVICE_MAX_INLINE));
	EXPECT_EQ(query.max_msg, t_nl_u32(&msg, GDA_A_DEVICE_MAX_MSG));
	EXPECT_EQ(query.max_mr_size, t_nl_u64(&msg, GDA_A_DEVICE_MAX_MR_SIZE));
	close(fd);
}

/* A context that is not bound is nobody's business; one that is bound has a worker. */
TEST_F(netlink, contexts)
{
	long before = t_nl_count(&self->nl, GDA_CMD_CONTEXT_GET, 0);
	struct t_nl_msg msg;
	struct t_mr mr;
	uint32_t id;
	int fd = t_open();

	ASSERT_GE(fd, 0);
	EXPECT_EQ(before, t_nl_count(&self->nl, GDA_CMD_CONTEXT_GET, 0));
	ASSERT_OK(t_bind(fd));
	EXPECT_EQ(before + 1, t_nl_count(&self->nl, GDA_CMD_CONTEXT_GET, 0));
	ASSERT_OK(t_mr_new(fd, T_PAGE, 0, &mr));
	id = t_nl_my_context(&self->nl);
	ASSERT_NE(0, id);
	ASSERT_OK(t_nl_get(&self->nl, GDA_CMD_CONTEXT_GET, id, 0, &msg));
	EXPECT_STREQ(GDA_DEVICE_SOFT, t_nl_string(&msg, GDA_A_CONTEXT_DEVICE));
	EXPECT_STREQ("netlink", t_nl_string(&msg, GDA_A_CONTEXT_COMM));
	EXPECT_EQ(getpid(), (pid_t)t_nl_u32(&msg, GDA_A_CONTEXT_PID));
	EXPECT_EQ(geteuid(), t_nl_u32(&msg, GDA_A_CONTEXT_UID));
	EXPECT_EQ(1, t_nl_u32(&msg, GDA_A_CONTEXT_MRS));
	EXPECT_EQ(0, t_nl_u32(&msg, GDA_A_CONTEXT_QPS));
	EXPECT_EQ(NULL, msg.attr[GDA_A_CONTEXT_DEAD]);
	EXPECT_NE(GDA_WORKER_STATE_NONE, (int)t_nl_u32(&msg, GDA_A_CONTEXT_WORKER_STATE));
	ASSERT_OK(t_nl_get(&self->nl, GDA_CMD_MR_GET, id, mr.handle, &msg));
	EXPECT_EQ(mr.key, t_nl_u32(&msg, GDA_A_MR_KEY));
	EXPECT_EQ(mr.iova, t_nl_u64(&msg, GDA_A_MR_IOVA));
	EXPECT_EQ(T_PAGE, t_nl_u64(&msg, GDA_A_MR_LENGTH));
	EXPECT_EQ(GDA_KIND_USER, (int)t_nl_u32(&msg, GDA_A_MR_KIND));
	EXPECT_EQ(GDA_MR_LIVE, (int)t_nl_u32(&msg, GDA_A_MR_STATE));
	EXPECT_EQ(0, t_nl_u32(&msg, GDA_A_MR_ACCESS));
	EXPECT_EQ(-ENOENT, t_nl_get(&self->nl, GDA_CMD_QP_GET, id, mr.handle, &msg));
	ASSERT_OK(t_shutdown(fd));
	ASSERT_OK(t_nl_get(&self->nl, GDA_CMD_CONTEXT_GET, id, 0, &msg));
	EXPECT_NE(NULL, msg.attr[GDA_A_CONTEXT_DEAD]);
	EXPECT_EQ(GDA_WORKER_STATE_NONE, (int)t_nl_u32(&msg, GDA_A_CONTEXT_WORKER_STATE));
	EXPECT_EQ(-ENOENT, t_nl_get(&self->nl, GDA_CMD_MR_GET, id, mr.handle, &msg));
	EXPECT_EQ(0, t_nl_count(&self->nl, GDA_CMD_MR_GET, id));
	close(fd);
	EXPECT_EQ(-ENOENT, t_nl_get(&self->nl, GDA_CMD_CONTEXT_GET, id, 0, &msg));
	EXPECT_EQ(before, t_nl_count(&self->nl, GDA_CMD_CONTEXT_GET, 0));
}

/*
 * How often a doorbell that its fault does not serve woke the worker, which slept; 0: it did not sleep,
 * or was not woken. The store is tried again once its page is mapped. On a busy machine that may be
 * so late that the page is silent again, and then the next fault wakes the worker once more.
 */
static uint64_t wakes(struct t_nl *nl, uint32_t id, struct t_qp *qp, const struct t_wr *wr)
{
	uint64_t before, index;

	if (!t_nl_asleep(nl, id))
		return 0;
	before = t_nl_context(nl, id, GDA_A_CONTEXT_WORKER_WAKEUPS);
	index = t_post(qp, wr);
	t_ring_exchange(qp);
	if (t_wait(qp, index, NULL))
		return 0;
	return t_nl_context(nl, id, GDA_A_CONTEXT_WORKER_WAKEUPS) - before;
}

/* A silent worker sleeps; a doorbell that its fault does not serve wakes it once. */
TEST_F(netlink, worker_sleeps_and_wakes)
{
	uint64_t limit = t_now() + T_WAIT_NS, n = 0;
	struct t_nl_msg msg;
	struct t_end end[2];
	struct t_wr wr;
	uint32_t id;

	ASSERT_OK(t_pair_open(end, 16, T_PAGE));
	id = t_nl_my_context(&self->nl) - 1;
	wr = t_wr_write(&end[0].mr, 0, &end[1].mr, 0, 8);
	ASSERT_OK(t_run(&end[0].qp, &wr, NULL));
	do {
		ASSERT_LT(t_now(), limit);
		ASSERT_OK(t_nl_get(&self->nl, GDA_CMD_CONTEXT_GET, id, 0, &msg));
	} while (t_nl_u32(&msg, GDA_A_CONTEXT_WORKER_STATE) != GDA_WORKER_STATE_ASLEEP ||
		 msg.attr[GDA_A_CONTEXT_WORKER_RUNNABLE]);
	EXPECT_EQ(t_nl_u64(&msg, GDA_A_CONTEXT_WORKER_SLEEPS),
		  t_nl_u64(&msg, GDA_A_CONTEXT_WORKER_WAKEUPS) + 1);
	EXPECT_LT(0, t_nl_u64(&msg, GDA_A_CONTEXT_WORKER_RUNTIME));
	EXPECT_GT(t_now(), t_nl_u64(&msg, GDA_A_CONTEXT_WORKER_LAST_PASS));
	/* once, and twice more if it was moved between cgroups meanwhile */
	for (int tries = 0; tries < 10 && (n < 1 || n > 3); tries++) {
		n = wakes(&self->nl, id, &end[0].qp, &wr);
		ASSERT_NE(0, n);
	}
	EXPECT_GE(3, n);
	t_pair_close(end);
}

/* Work that is posted one by one, and then some at once, that fails. */
TEST_F(netlink, counters_are_exact)
{
	unsigned long n = t_rounds(1000);
	uint64_t begin = t_now(), bytes = 0, visits;
	struct t_nl_msg msg;
	struct t_end end[2];
	struct t_done done;
	struct t_wr wr;
	uint64_t last;
	uint32_t id;

	ASSERT_OK(t_pair_open(end, 64, 4 * T_PAGE));
	id = t_nl_my_context(&self->nl) - 1;
	for (unsigned long i = 0; i < n; i++) {
		uint32_t len = 1 + i % T_PAGE;

		wr = t_wr_write(&end[0].mr, 0, &end[1].mr, 0, len);
		ASSERT_OK(t_run(&end[0].qp, &wr, NULL));
		bytes += len;
	}
	ASSERT_OK(t_nl_get(&self->nl, GDA_CMD_QP_GET, id, end[0].qp.qpc.handle, &msg));
	EXPECT_EQ(id, t_nl_u32(&msg, GDA_A_QP_CONTEXT));
	EXPECT_EQ(end[0].qp.qpc.handle, t_nl_u32(&msg, GDA_A_QP_HANDLE));
	EXPECT_EQ(end[0].qp.qpc.qpn, t_nl_u32(&msg, GDA_A_QP_QPN));
	EXPECT_EQ(end[0].qp.cqc.handle, t_nl_u32(&msg, GDA_A_QP_CQ));
	EXPECT_EQ(NULL, msg.attr[GDA_A_QP_RECV_CQ]);
	EXPECT_EQ(64, t_nl_u32(&msg, GDA_A_QP_SQ_DEPTH));
	EXPECT_EQ(GDA_QP_READY, (int)t_nl_u32(&msg, GDA_A_QP_STATE));
	EXPECT_EQ(end[0].qp.next, t_nl_u64(&msg, GDA_A_QP_PRODUCER));
	EXPECT_EQ(end[0].qp.next, t_nl_u64(&msg, GDA_A_QP_CONSUMER));
	EXPECT_EQ(n, t_nl_u64(&msg, GDA_A_QP_EXECUTED));
	EXPECT_EQ(n, t_nl_u64(&msg, GDA_A_QP_DOORBELLS));
	EXPECT_EQ(n, t_nl_u64(&msg, GDA_A_QP_VISITS));
	EXPECT_EQ(bytes, t_nl_u64(&msg, GDA_A_QP_BYTES));
	EXPECT_EQ(0, t_nl_u64(&msg, GDA_A_QP_FLUSHED));
	EXPECT_EQ(0, t_nl_u32(&msg, GDA_A_QP_IN_FLIGHT));
	EXPECT_EQ(NULL, msg.attr[GDA_A_QP_CLASS]);
	EXPECT_LT(begin, t_nl_u64(&msg, GDA_A_QP_LAST_PROGRESS));
	EXPECT_GT(t_now(), t_nl_u64(&msg, GDA_A_QP_LAST_PROGRESS));
	visits = t_nl_u64(&msg, GDA_A_QP_VISITS);

	/* ten at once, of which the first fails */
	wr.rkey ^= 1;
	last = t_post(&end[0].qp, &wr);
	for (int i = 1; i < 10; i++)
		t_post(&end[0].qp, &wr);
	t_ring(&end[0].qp);
	EXPECT_EQ(GDA_QP_ERROR, t_wait_state(&end[0].qp, GDA_QP_READY, T_WAIT_NS));
	t_wait(&end[0].qp, end[0].qp.next - 1, &done);
	ASSERT_OK(t_nl_get(&self->nl, GDA_CMD_QP_GET, id, end[0].qp.qpc.handle, &msg));
	EXPECT_EQ(GDA_QP_ERROR, (int)t_nl_u32(&msg, GDA_A_QP_STATE));
	EXPECT_EQ(GDA_CLASS_REMOTE_ACCESS, (int)t_nl_u32(&msg, GDA_A_QP_CLASS));
	EXPECT_EQ(GDA_CAUSE_KEY, (int)t_nl_u32(&msg, GDA_A_QP_CAUSE));
	EXPECT_EQ(last, t_nl_u64(&msg, GDA_A_QP_ERROR_INDEX));
	EXPECT_EQ(n, t_nl_u64(&msg, GDA_A_QP_EXECUTED));
	EXPECT_EQ(9, t_nl_u64(&msg, GDA_A_QP_FLUSHED));
	EXPECT_EQ(bytes, t_nl_u64(&msg, GDA_A_QP_BYTES));
	EXPECT_EQ(n + 1, t_nl_u64(&msg, GDA_A_QP_DOORBELLS));
	EXPECT_LE(visits + 1, t_nl_u64(&msg, GDA_A_QP_VISITS));
	EXPECT_EQ(end[0].qp.next, t_nl_u64(&msg, GDA_A_QP_CONSUMER));

	/* the peer did nothing, and its CQ has nothing */
	ASSERT_OK(t_nl_get(&self->nl, GDA_CMD_QP_GET, id + 1, end[1].qp.qpc.handle, &msg));
	EXPECT_EQ(0, t_nl_u64(&msg, GDA_A_QP_EXECUTED));
	ASSERT_OK(t_nl_get(&self->nl, GDA_CMD_CQ_GET, id + 1, end[1].qp.cqc.handle, &msg));
	EXPECT_EQ(0, t_nl_u64(&msg, GDA_A_CQ_PRODUCER));
	EXPECT_EQ(1, t_nl_u32(&msg, GDA_A_CQ_USERS));
	EXPECT_EQ(t_speaks_efa(), !msg.attr[GDA_A_CQ_COLLAPSED]);
	t_pair_close(end);
}

#define PAIRS	1000

/* Random pairs of QPs, some of which wait for an answer. */
TEST_F_TIMEOUT(netlink, connections, 200)
{
	unsigned long n = 2 * t_rounds(PAIRS);
	uint32_t *peer = calloc(n + 1, sizeof(*peer)), *order = calloc(n, sizeof(*order));
	struct gda_qp_create *qp = calloc(n, sizeof(*qp));
	uint64_t seed = t_seed();
	struct t_nl_msg msg;
	struct gda_cq_create cq;
	unsigned long seen = 0;
	uint32_t id;
	int fd = t_context();

	ASSERT_GE(fd, 0);
	ASSERT_TRUE(peer && qp && order);
	ASSERT_OK(t_cq_create(fd, 0, 64, &cq));
	for (unsigned long i = 0; i < n; i++) {
		unsigned long at = t_random(&seed) % (i + 1);

		ASSERT_OK(t_qp_create(fd, cq.handle, 16, &qp[i]));
		order[i] = order[at];
		order[at] = (uint32_t)i;
	}
	for (unsigned long i = 0; i < n; i += 2) {
		uint32_t a = order[i], b = order[i + 1];

		ASSERT_OK(t_qp_connect(fd, qp[a].handle, fd, qp[b].handle));
		peer[a] = qp[b].qpn;
		if (i % 8 == 0)
			continue;
		ASSERT_OK(t_qp_connect(fd, qp[b].handle, fd, qp[a].handle));
		peer[b] = qp[a].qpn;
	}
	id = t_nl_my_context(&self->nl);
	ASSERT_OK(t_nl_dump(&self->nl, GDA_CMD_QP_GET, id));
	while (t_nl_next(&self->nl, &msg) > 0) {
		unsigned long i;

		for (i = 0; i < n && qp[i].handle != t_nl_u32(&msg, GDA_A_QP_HANDLE); i++)
			;
		ASSERT_LT(i, n);
		ASSERT_EQ(qp[i].qpn, t_nl_u32(&msg, GDA_A_QP_QPN));
		ASSERT_EQ(peer[i], t_nl_u32(&msg, GDA_A_QP_PEER_QPN));
		ASSERT_EQ(peer[i] ? id : 0, t_nl_u32(&msg, GDA_A_QP_PEER_CONTEXT));
		ASSERT_EQ(peer[i] ? (uint32_t)getpid() : 0, t_nl_u32(&msg, GDA_A_QP_PEER_PID));
		seen++;
	}
	EXPECT_EQ(n, seen);
	EXPECT_FALSE(self->nl.intr);
	free(peer);
	free(order);
	free(qp);
	close(fd);
}

/* Half of a dump is read, and then the socket is closed, or nothing more is read at all. */
TEST_F(netlink, O8_abandoned_dumps)
{
	struct t_nl other[4];
	struct gda_cq_create cq;
	struct gda_qp_create qp;
	struct t_nl_msg msg;
	int fd = t_context();

	ASSERT_GE(fd, 0);
	ASSERT_OK(t_cq_create(fd, 0, 64, &cq));
	for (int i = 0; i < 500; i++)
		ASSERT_OK(t_qp_create(fd, cq.handle, 16, &qp));
	for (int i = 0; i < 4; i++) {
		ASSERT_OK(t_nl_open(&other[i]));
		ASSERT_OK(t_nl_dump(&other[i], GDA_CMD_QP_GET, 0));
		ASSERT_EQ(1, t_nl_next(&other[i], &msg));
	}
	/* what it goes on with is gone */
	close(fd);
	while (t_nl_next(&other[0], &msg) > 0)
		;
	EXPECT_TRUE(other[0].intr);
	for (int i = 0; i < 4; i++)
		t_nl_close(&other[i]);
}

TEST_HARNESS_MAIN
