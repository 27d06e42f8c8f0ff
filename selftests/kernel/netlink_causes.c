// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Why a queue failed, told in three places: the QP's attributes, the event, and the record. Each
 * cause that one tenant can make alone on the software device is made here on purpose, and all
 * three name its ticket, its opcode (but for the QP and the event, which have none) and its class.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include <gda/cause.h>
#include <gda/record.h>
#include "gda_fixture.h"
#include "move.h"
#include "nl.h"

FIXTURE(causes) {
	struct t_objects base;
	struct t_nl nl;			/* asks */
	struct t_nl heard;		/* listens */
	struct t_end end[2];
	uint32_t id;			/* context of end[0] */
	int test, buf;
};

FIXTURE_VARIANT(causes) {
	/* Post two good requests before, and one that fails. */
	int (*post)(struct t_end end[2], int test, int buf);
	uint8_t opcode;			/* of the record */
	uint8_t class, cause;
	uint64_t ticket;
};

FIXTURE_SETUP(causes)
{
	T_BASE_READ(&self->base);
	self->test = open("/dev/gda_test", O_RDWR | O_CLOEXEC);
	ASSERT_GE(self->test, 0);
	self->buf = t_test_buffer(self->test, T_PAGE, 0);
	ASSERT_GE(self->buf, 0);
	ASSERT_OK(t_nl_open(&self->nl));
	ASSERT_OK(t_nl_open(&self->heard));
	ASSERT_OK(t_nl_join(&self->heard));
	ASSERT_OK(t_pair_open(self->end, 16, T_PAGE));
	self->id = t_nl_my_context(&self->nl) - 1;
}

FIXTURE_TEARDOWN(causes)
{
	for (int i = 0; i < 2; i++) {
		t_qp_unmap(&self->end[i].qp);
		close(self->end[i].fd);
		t_mr_free(-1, &self->end[i].mr);
	}
	t_nl_close(&self->heard);
	t_nl_close(&self->nl);
	close(self->buf);
	close(self->test);
	T_BASE_CHECK(&self->base);
}

static struct t_wr good(struct t_end end[2])
{
	return t_wr_write(&end[0].mr, 0, &end[1].mr, 0, 8);
}

static int post_wr(struct t_end end[2], const struct t_wr *wr)
{
	t_post(&end[0].qp, wr);
	t_ring(&end[0].qp);
	return 0;
}

static int remote_key(struct t_end end[2], int test, int buf)
{
	struct t_wr wr = good(end);

	(void)test;
	(void)buf;
	wr.rkey ^= 1;
	return post_wr(end, &wr);
}

static int local_key(struct t_end end[2], int test, int buf)
{
	struct t_wr wr = good(end);

	(void)test;
	(void)buf;
	wr.sge[0].lkey ^= 1;
	return post_wr(end, &wr);
}

static int range(struct t_end end[2], int test, int buf)
{
	struct t_wr wr = good(end);

	(void)test;
	(void)buf;
	wr.raddr += T_PAGE - 4;
	return post_wr(end, &wr);
}

static int rights(struct t_end end[2], int test, int buf)
{
	struct t_wr wr = good(end);
	struct t_mr mr;
	int err;

	(void)test;
	(void)buf;
	err = t_mr_reg(end[1].fd, end[1].mr.addr, T_PAGE, GDA_ACCESS_REMOTE_READ, &mr);
	wr.rkey = mr.key;
	return err ?: post_wr(end, &wr);
}

static int align(struct t_end end[2], int test, int buf)
{
	struct t_wr wr = t_wr_atomic(GDA_MLX5_ATOMIC_FA, &end[0].mr, 0, &end[1].mr, 4, 1, 0);

	(void)test;
	(void)buf;
	return post_wr(end, &wr);
}

static int length(struct t_end end[2], int test, int buf)
{
	struct t_wr wr = t_wr_atomic(GDA_MLX5_ATOMIC_FA, &end[0].mr, 0, &end[1].mr, 8, 1, 0);

	(void)test;
	(void)buf;
	wr.sge[0].len = 4;
	return post_wr(end, &wr);
}

/* Nobody there takes immediates. */
static int recv_cq(struct t_end end[2], int test, int buf)
{
	struct t_wr wr = good(end);

	(void)test;
	(void)buf;
	wr.opcode = GDA_MLX5_WRITE_IMM;
	return post_wr(end, &wr);
}

/* Memory that its owner has taken away. */
static int revoked(struct t_end end[2], int test, int buf)
{
	struct gda_test_move move = { 0 };
	struct t_wr wr = good(end);
	struct t_mr mr;
	int err;

	err = t_mr_reg_dmabuf(end[1].fd, buf, T_PAGE, &mr) ?: t_move(test, buf, 0, &move);
	wr.rkey = mr.key;
	wr.raddr = 0;
	return err ?: post_wr(end, &wr);
}

/* The bytes of a good request, of which one is then changed. */
static int post_changed(struct t_end end[2], unsigned int at, uint8_t value)
{
	struct t_wr wr = good(end);
	uint8_t wqe[T_WQE_MAX];

	t_encode(wqe, &wr, end[0].qp.next, end[0].qp.qpc.qpn);
	wqe[at] = value;
	t_post_raw(&end[0].qp, wqe, 1);
	t_ring(&end[0].qp);
	return 0;
}

static int slot_index(struct t_end end[2], int test, int buf)
{
	(void)test;
	(void)buf;
	return post_changed(end, 2, 0x77);
}

static int opcode(struct t_end end[2], int test, int buf)
{
	(void)test;
	(void)buf;
	return post_changed(end, 3, 0x55);
}

static int size(struct t_end end[2], int test, int buf)
{
	(void)test;
	(void)buf;
	return post_changed(end, 7, 1);
}

/* Further than the queue is long. */
static int doorbell(struct t_end end[2], int test, int buf)
{
	(void)test;
	(void)buf;
	t_ring_index(&end[0].qp, end[0].qp.next + 1000);
	return 0;
}

static int peer(struct t_end end[2], int test, int buf)
{
	(void)test;
	(void)buf;
	return t_destroy(end[1].fd, end[1].qp.qpc.handle);
}

#define CAUSE(name, op, cls, why)						\
	FIXTURE_VARIANT_ADD(causes, name) {					\
		.post = name, .opcode = op, .class = GDA_CLASS_##cls,		\
		.cause = GDA_CAUSE_##why, .ticket = 2,				\
	}

CAUSE(remote_key, GDA_MLX5_WRITE, REMOTE_ACCESS, KEY);
CAUSE(local_key, GDA_MLX5_WRITE, LOCAL, KEY);
CAUSE(range, GDA_MLX5_WRITE, REMOTE_ACCESS, RANGE);
CAUSE(rights, GDA_MLX5_WRITE, REMOTE_ACCESS, RIGHTS);
CAUSE(align, GDA_MLX5_ATOMIC_FA, INVALID_REQUEST, ALIGN);
CAUSE(length, GDA_MLX5_ATOMIC_FA, LOCAL, LENGTH);
CAUSE(recv_cq, GDA_MLX5_WRITE_IMM, INVALID_REQUEST, RECV);
CAUSE(revoked, GDA_MLX5_WRITE, REMOTE_ACCESS, REVOKED);
CAUSE(slot_index, GDA_MLX5_WRITE, QUEUE, INDEX);
CAUSE(opcode, 0x55, QUEUE, OPCODE);
CAUSE(size, GDA_MLX5_WRITE, QUEUE, SIZE);
CAUSE(doorbell, 0, QUEUE, DOORBELL);
CAUSE(peer, 0, RETRY, PEER);

/* The record of the first failure of this QP: 1, or 0 or -errno. */
static int find_record(struct t_nl *nl, uint32_t context, uint32_t qpn, struct gda_record *r)
{
	struct t_nl_msg msg;
	int err, found = 0;

	err = t_nl_dump(nl, GDA_CMD_RECORD_GET, context);
	while (!err && (err = t_nl_next(nl, &msg)) > 0) {
		const struct nlattr *a = msg.attr[GDA_A_RECORD_ENTRY];

		err = 0;
		if (!a || found || a->nla_len < NLA_HDRLEN + sizeof(*r))
			continue;
		memcpy(r, (const uint8_t *)a + NLA_HDRLEN, sizeof(*r));
		found = r->kind == GDA_RECORD_FAILED && r->qpn == qpn;
	}
	return err ? err : found;
}

/* Wait for the event of a failure: 1, or what the kernel answered. */
static int hear_failure(struct t_nl *nl, uint32_t qpn, struct t_nl_msg *msg)
{
	int err;

	while ((err = t_nl_next(nl, msg)) > 0)
		if (t_nl_u32(msg, GDA_A_EVENT_KIND) == GDA_EVENT_KIND_QP_FAILED &&
		    t_nl_u32(msg, GDA_A_EVENT_QPN) == qpn)
			break;
	return err;
}

TEST_F(causes, M4_named_in_three_places)
{
	const struct t_qp *qp = &self->end[0].qp;
	struct t_wr wr = good(self->end);
	struct gda_record r = { 0 };
	struct t_nl_msg msg;

	for (int i = 0; i < 2; i++)
		ASSERT_OK(t_run(&self->end[0].qp, &wr, NULL));
	ASSERT_OK(variant->post(self->end, self->test, self->buf));
	ASSERT_EQ(1, hear_failure(&self->heard, qp->qpc.qpn, &msg));
	EXPECT_EQ(self->id, t_nl_u32(&msg, GDA_A_EVENT_CONTEXT));
	EXPECT_EQ(qp->qpc.handle, t_nl_u32(&msg, GDA_A_EVENT_HANDLE));
	EXPECT_EQ(variant->class, t_nl_u32(&msg, GDA_A_EVENT_CLASS));
	EXPECT_EQ(variant->cause, t_nl_u32(&msg, GDA_A_EVENT_CAUSE));
	EXPECT_EQ(variant->ticket, t_nl_u64(&msg, GDA_A_EVENT_ERROR_INDEX));
	ASSERT_OK(t_nl_get(&self->nl, GDA_CMD_QP_GET, self->id, qp->qpc.handle, &msg));
	EXPECT_EQ(GDA_QP_ERROR, (int)t_nl_u32(&msg, GDA_A_QP_STATE));
	EXPECT_EQ(variant->class, t_nl_u32(&msg, GDA_A_QP_CLASS));
	EXPECT_EQ(variant->cause, t_nl_u32(&msg, GDA_A_QP_CAUSE));
	EXPECT_EQ(variant->ticket, t_nl_u64(&msg, GDA_A_QP_ERROR_INDEX));
	EXPECT_EQ(2, t_nl_u64(&msg, GDA_A_QP_EXECUTED));
	ASSERT_EQ(1, find_record(&self->nl, self->id, qp->qpc.qpn, &r));
	EXPECT_EQ(variant->class, r.err_class);
	EXPECT_EQ(variant->cause, r.cause);
	EXPECT_EQ(variant->ticket, r.ticket);
	EXPECT_EQ(variant->opcode, r.opcode);
}

TEST_HARNESS_MAIN
