// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Entries without an outcome as netlink shows them: what was posted here, field for field, whether
 * a doorbell covers it or not; what the executor would refuse; and nothing of other users.
 */
#include <pthread.h>
#include <gda/cause.h>
#include "gda_fixture.h"
#include "nl.h"

#define DEPTH	64U

FIXTURE(wqe) {
	struct t_nl nl;
	struct t_mr mr;
	struct gda_cq_create cq;
	struct t_qp qp;			/* waits for its peer: nothing is executed */
	struct gda_qp_create peer;
	uint32_t id;
	int fd;
};

T_SETUP(wqe)
{
	ASSERT_OK(t_nl_open(&self->nl));
	self->fd = t_context();
	ASSERT_GE(self->fd, 0);
	self->id = t_nl_my_context(&self->nl);
	ASSERT_NE(0, self->id);
	ASSERT_OK(t_mr_new(self->fd, T_PAGE, GDA_ACCESS_ALL, &self->mr));
	ASSERT_OK(t_cq_create(self->fd, 0, DEPTH, &self->cq));
	ASSERT_OK(t_qp_open(&self->qp, self->fd, DEPTH));
	ASSERT_OK(t_qp_create(self->fd, self->cq.handle, DEPTH, &self->peer));
	ASSERT_OK(t_qp_connect(self->fd, self->qp.qpc.handle, self->fd, self->peer.handle));
}

T_TEARDOWN(wqe)
{
	t_nl_close(&self->nl);
	t_qp_unmap(&self->qp);
	close(self->fd);
	t_mr_free(-1, &self->mr);
}

/* Begin a dump of the queue's entries. */
static int dump(struct t_nl *nl, uint32_t context, uint32_t handle)
{
	struct t_nl_req req;

	t_nl_begin(nl, &req, GDA_CMD_WQE_GET, NLM_F_DUMP);
	t_nl_put_u32(&req, GDA_A_WQE_CONTEXT, context);
	t_nl_put_u32(&req, GDA_A_WQE_HANDLE, handle);
	return t_nl_send(nl, &req);
}

static int ask(struct t_nl *nl, uint32_t context, uint32_t handle, uint64_t index,
	       struct t_nl_msg *msg)
{
	struct t_nl_req req;

	t_nl_begin(nl, &req, GDA_CMD_WQE_GET, 0);
	t_nl_put_u32(&req, GDA_A_WQE_CONTEXT, context);
	t_nl_put_u32(&req, GDA_A_WQE_HANDLE, handle);
	t_nl_put(&req, GDA_A_WQE_INDEX, &index, sizeof(index));
	return t_nl_ask(nl, &req, msg);
}

/* The message is of the write that post_writes() made at slot @i. */
static bool is_write(const struct t_nl_msg *msg, const struct t_mr *mr, uint64_t i, bool rung)
{
	return t_nl_u64(msg, GDA_A_WQE_INDEX) == i && t_nl_u32(msg, GDA_A_WQE_SLOTS) == 1 &&
	       t_nl_u32(msg, GDA_A_WQE_OPCODE) == GDA_MLX5_WRITE &&
	       t_nl_u32(msg, GDA_A_WQE_LENGTH) == 8 + i &&
	       t_nl_u64(msg, GDA_A_WQE_LADDR) == mr->iova + i &&
	       t_nl_u64(msg, GDA_A_WQE_RADDR) == mr->iova + 512 + i &&
	       t_nl_u32(msg, GDA_A_WQE_LKEY) == mr->key &&
	       t_nl_u32(msg, GDA_A_WQE_RKEY) == mr->key &&
	       !!msg->attr[GDA_A_WQE_RUNG] == rung && !msg->attr[GDA_A_WQE_CLASS];
}

static void post_writes(struct t_qp *qp, const struct t_mr *mr, unsigned int n)
{
	while (n--) {
		uint64_t i = qp->next;
		struct t_wr wr = t_wr_write(mr, i, mr, 512 + i, (uint32_t)(8 + i));

		t_post(qp, &wr);
	}
}

/* A whole ring: some are rung for, the others are written. More than one batch is not needed. */
TEST_F(wqe, rung_and_written)
{
	struct t_nl_msg msg;
	uint64_t i = 0;
	int err;

	ASSERT_OK(dump(&self->nl, self->id, self->qp.qpc.handle));
	EXPECT_EQ(0, t_nl_next(&self->nl, &msg));
	post_writes(&self->qp, &self->mr, DEPTH);
	t_ring_index(&self->qp, 40);
	ASSERT_OK(dump(&self->nl, self->id, self->qp.qpc.handle));
	while ((err = t_nl_next(&self->nl, &msg)) > 0) {
		EXPECT_EQ(self->id, t_nl_u32(&msg, GDA_A_WQE_CONTEXT));
		EXPECT_EQ(self->qp.qpc.handle, t_nl_u32(&msg, GDA_A_WQE_HANDLE));
		EXPECT_TRUE(is_write(&msg, &self->mr, i, i < 40))
			TH_LOG("slot %llu", (unsigned long long)i);
		i++;
	}
	EXPECT_EQ(0, err);
	EXPECT_EQ(DEPTH, i);
	EXPECT_FALSE(self->nl.intr);
	for (i = 0; i < DEPTH; i += 13) {
		ASSERT_OK(ask(&self->nl, self->id, self->qp.qpc.handle, i, &msg));
		EXPECT_TRUE(is_write(&msg, &self->mr, i, i < 40));
	}
	EXPECT_EQ(-ENOENT, ask(&self->nl, self->id, self->qp.qpc.handle, DEPTH, &msg));
	EXPECT_EQ(-ENOENT, ask(&self->nl, self->id, self->peer.handle, 0, &msg));
	EXPECT_EQ(-ENOENT, ask(&self->nl, self->id, self->cq.handle, 0, &msg));
	EXPECT_EQ(-ENOENT, ask(&self->nl, self->id, self->mr.handle, 0, &msg));
	EXPECT_EQ(-ENOENT, ask(&self->nl, self->id + 1, self->qp.qpc.handle, 0, &msg));
}

/* Of every kind, and of two slots. */
TEST_F(wqe, kinds)
{
	static const uint8_t data[48] = { 1 };
	struct t_wr wr[] = {
		{ .opcode = GDA_MLX5_NOP },
		t_wr_read(&self->mr, 8, &self->mr, 16, 24),
		{ .opcode = GDA_MLX5_WRITE, .raddr = self->mr.iova, .rkey = self->mr.key,
		  .data = data, .data_len = sizeof(data) },
		t_wr_atomic(GDA_MLX5_ATOMIC_FA, &self->mr, 8, &self->mr, 16, 1, 0),
	};
	struct t_nl_msg msg;

	for (size_t i = 0; i < ARRAY_SIZE(wr); i++)
		t_post(&self->qp, &wr[i]);
	t_ring(&self->qp);
	ASSERT_OK(dump(&self->nl, self->id, self->qp.qpc.handle));
	ASSERT_EQ(1, t_nl_next(&self->nl, &msg));
	EXPECT_EQ(GDA_MLX5_NOP, t_nl_u32(&msg, GDA_A_WQE_OPCODE));
	EXPECT_EQ(NULL, msg.attr[GDA_A_WQE_RKEY]);
	EXPECT_EQ(NULL, msg.attr[GDA_A_WQE_LKEY]);
	ASSERT_EQ(1, t_nl_next(&self->nl, &msg));
	EXPECT_EQ(GDA_MLX5_READ, t_nl_u32(&msg, GDA_A_WQE_OPCODE));
	EXPECT_EQ(24, t_nl_u32(&msg, GDA_A_WQE_LENGTH));
	ASSERT_EQ(1, t_nl_next(&self->nl, &msg));
	EXPECT_EQ(2, t_nl_u64(&msg, GDA_A_WQE_INDEX));
	EXPECT_EQ(2, t_nl_u32(&msg, GDA_A_WQE_SLOTS));
	EXPECT_EQ(48, t_nl_u32(&msg, GDA_A_WQE_LENGTH));
	EXPECT_EQ(NULL, msg.attr[GDA_A_WQE_LKEY]);
	ASSERT_EQ(1, t_nl_next(&self->nl, &msg));
	EXPECT_EQ(4, t_nl_u64(&msg, GDA_A_WQE_INDEX));
	EXPECT_EQ(GDA_MLX5_ATOMIC_FA, t_nl_u32(&msg, GDA_A_WQE_OPCODE));
	EXPECT_EQ(0, t_nl_next(&self->nl, &msg));
}

/* Entries that the executor will refuse, once they are rung for: the cause, and no address. */
TEST_F(wqe, refused)
{
	uint8_t wqe[T_WQE_MAX] = { 0 };
	struct t_nl_msg msg;

	post_writes(&self->qp, &self->mr, 1);
	/* of another slot; of another opcode */
	t_post_raw(&self->qp, wqe, 1);
	t_encode(wqe, &(struct t_wr){ .opcode = GDA_MLX5_NOP }, 2, self->qp.qpc.qpn);
	wqe[3] = 0x55;
	t_post_raw(&self->qp, wqe, 1);
	t_ring(&self->qp);
	ASSERT_OK(dump(&self->nl, self->id, self->qp.qpc.handle));
	ASSERT_EQ(1, t_nl_next(&self->nl, &msg));
	EXPECT_TRUE(is_write(&msg, &self->mr, 0, true));
	ASSERT_EQ(1, t_nl_next(&self->nl, &msg));
	EXPECT_EQ(GDA_CLASS_QUEUE, (int)t_nl_u32(&msg, GDA_A_WQE_CLASS));
	EXPECT_EQ(GDA_CAUSE_INDEX, (int)t_nl_u32(&msg, GDA_A_WQE_CAUSE));
	EXPECT_EQ(NULL, msg.attr[GDA_A_WQE_RADDR]);
	ASSERT_EQ(1, t_nl_next(&self->nl, &msg));
	EXPECT_EQ(0x55, t_nl_u32(&msg, GDA_A_WQE_OPCODE));
	EXPECT_EQ(GDA_CAUSE_OPCODE, (int)t_nl_u32(&msg, GDA_A_WQE_CAUSE));
	EXPECT_EQ(0, t_nl_next(&self->nl, &msg));
	EXPECT_EQ(-ENOENT, ask(&self->nl, self->id, self->qp.qpc.handle, 3, &msg));
}

struct poster {
	struct t_end *end;
	bool stop;
	int err;
};

static void *post(void *arg)
{
	struct poster *p = arg;
	struct t_wr wr = t_wr_write(&p->end[0].mr, 0, &p->end[1].mr, 0, 8);

	while (!__atomic_load_n(&p->stop, __ATOMIC_ACQUIRE) && !p->err) {
		for (int i = 0; i < 32; i++)
			t_post(&p->end[0].qp, &wr);
		t_ring(&p->end[0].qp);
		p->err = t_wait(&p->end[0].qp, p->end[0].qp.next - 1, NULL);
	}
	return NULL;
}

/* Beside an executor: in order, none twice, and nothing but what is posted. */
TEST_F_TIMEOUT(wqe, M_04_while_it_executes, 200)
{
	unsigned long dumps = t_rounds(1000), shown = 0;
	struct poster p = { 0 };
	struct t_nl_msg msg;
	struct t_end end[2];
	pthread_t thread;
	uint32_t id;

	ASSERT_OK(t_pair_open(end, DEPTH, T_PAGE));
	id = t_nl_my_context(&self->nl) - 1;
	p.end = end;
	ASSERT_EQ(0, pthread_create(&thread, NULL, post, &p));
	for (unsigned long d = 0; d < dumps; d++) {
		uint64_t next = 0;
		int err;

		ASSERT_OK(dump(&self->nl, id, end[0].qp.qpc.handle));
		while ((err = t_nl_next(&self->nl, &msg)) > 0) {
			ASSERT_LE(next, t_nl_u64(&msg, GDA_A_WQE_INDEX));
			next = t_nl_u64(&msg, GDA_A_WQE_INDEX) + 1;
			shown++;
			if (msg.attr[GDA_A_WQE_CLASS])
				continue;
			ASSERT_EQ(GDA_MLX5_WRITE, t_nl_u32(&msg, GDA_A_WQE_OPCODE));
			ASSERT_EQ(end[1].mr.key, t_nl_u32(&msg, GDA_A_WQE_RKEY));
		}
		ASSERT_EQ(0, err);
	}
	__atomic_store_n(&p.stop, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	EXPECT_EQ(0, p.err);
	TH_LOG("%lu dumps showed %lu entries", dumps, shown);
	ASSERT_OK(dump(&self->nl, id, end[0].qp.qpc.handle));
	EXPECT_EQ(0, t_nl_next(&self->nl, &msg));
	t_pair_close(end);
}

struct target {
	uint32_t id, handle;
};

static int as_other(void *arg)
{
	const struct target *t = arg;
	struct t_nl_msg msg;
	struct t_nl nl;

	CHECK(!t_drop(true));
	CHECK(!t_nl_open(&nl));
	CHECK(ask(&nl, t->id, t->handle, 0, &msg) == -ENOENT);
	CHECK(!dump(&nl, t->id, t->handle));
	CHECK(t_nl_next(&nl, &msg) == -ENOENT);
	t_nl_close(&nl);
	return 0;
}

TEST_F(wqe, P1_of_another_user)
{
	struct target t = { self->id, self->qp.qpc.handle };

	post_writes(&self->qp, &self->mr, 3);
	EXPECT_EQ(0, t_in_child(as_other, &t));
}

TEST_F(wqe, O2_requests)
{
	struct t_nl_req req;
	struct t_nl_msg msg;

	/* a dump has no slot, and names a QP */
	t_nl_begin(&self->nl, &req, GDA_CMD_WQE_GET, NLM_F_DUMP);
	ASSERT_OK(t_nl_send(&self->nl, &req));
	EXPECT_EQ(-EINVAL, t_nl_next(&self->nl, &msg));
	t_nl_begin(&self->nl, &req, GDA_CMD_WQE_GET, NLM_F_DUMP);
	t_nl_put_u32(&req, GDA_A_WQE_CONTEXT, self->id);
	ASSERT_OK(t_nl_send(&self->nl, &req));
	EXPECT_EQ(-EINVAL, t_nl_next(&self->nl, &msg));
	t_nl_begin(&self->nl, &req, GDA_CMD_WQE_GET, NLM_F_DUMP);
	t_nl_put_u32(&req, GDA_A_WQE_CONTEXT, self->id);
	t_nl_put_u32(&req, GDA_A_WQE_HANDLE, self->qp.qpc.handle);
	t_nl_put(&req, GDA_A_WQE_INDEX, &(uint64_t){ 0 }, 8);
	ASSERT_OK(t_nl_send(&self->nl, &req));
	EXPECT_EQ(-EINVAL, t_nl_next(&self->nl, &msg));
	/* the queue goes while it is looked at */
	post_writes(&self->qp, &self->mr, DEPTH);
	ASSERT_OK(dump(&self->nl, self->id, self->qp.qpc.handle));
	ASSERT_EQ(1, t_nl_next(&self->nl, &msg));
	ASSERT_OK(t_destroy(self->fd, self->qp.qpc.handle));
	while (t_nl_next(&self->nl, &msg) > 0)
		;
	ASSERT_OK(dump(&self->nl, self->id, self->qp.qpc.handle));
	EXPECT_EQ(-ENOENT, t_nl_next(&self->nl, &msg));
}

TEST_HARNESS_MAIN
