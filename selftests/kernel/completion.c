// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Ring CQs, their events, and counters: SECURITY.md S3 (a consumer that lies or
 * sleeps), many queues on one CQ, armed and not, what the counters say.
 */
#include <poll.h>
#include <sys/eventfd.h>
#include "gda_fixture.h"

#define CQES	16

FIXTURE(completion) {
	int fd;
	struct t_cq_ring ring;
	struct t_qp qp[3];
	uint64_t rnd;
};

T_SETUP(completion)
{
	self->rnd = t_seed();
	self->fd = t_context();
	ASSERT_GE(self->fd, 0);
	ASSERT_OK(t_cq_ring_open(&self->ring, self->fd, CQES));
	for (int i = 0; i < 3; i++) {
		ASSERT_OK(t_qp_open_on(&self->qp[i], self->fd, 64, &self->ring.cq));
		ASSERT_OK(t_connect(&self->qp[i], &self->qp[i]));
	}
}

T_TEARDOWN(completion)
{
	for (int i = 0; i < 3; i++)
		t_qp_unmap(&self->qp[i]);
	t_cq_ring_unmap(&self->ring);
	close(self->fd);
}

static int consumed(struct t_qp *qp, uint64_t goal)
{
	uint64_t end = t_now() + T_WAIT_NS;
	struct gda_qp_query q;
	int err;

	do {
		err = t_qp_query(qp->fd, qp->qpc.handle, &q);
		if (err || t_now() > end)
			return err ? err : -ETIMEDOUT;
	} while (q.consumer != goal);
	return 0;
}

TEST_F(completion, ring_goes_around)
{
	uint64_t seen[3] = { 0 };
	uint8_t cqe[64];

	for (int i = 0; i < 40 * CQES; i++) {
		int which = (int)(t_random(&self->rnd) % 3);
		struct t_wr nop = { .opcode = GDA_MLX5_NOP };

		t_post(&self->qp[which], &nop);
		t_ring(&self->qp[which]);
		if (i % 3)
			continue;
		/* Up to three are there, in any order between queues. */
		while (self->ring.seen < (uint64_t)i + 1) {
			uint32_t qpn;
			int k;

			ASSERT_OK(t_cq_ring_wait(&self->ring, cqe));
			qpn = (uint32_t)(cqe[57] << 16 | cqe[58] << 8 | cqe[59]);
			for (k = 0; k < 3 && self->qp[k].qpc.qpn != qpn; k++)
				;
			ASSERT_LT(k, 3);
			ASSERT_EQ(GDA_MLX5_CQE_REQ, cqe[63] >> 4);
			ASSERT_EQ((uint16_t)seen[k]++, (uint16_t)(cqe[60] << 8 | cqe[61]));
		}
	}
}

/* The ring is not read: the CQ overflows, queues fail, and the worker goes on. */
TEST_F(completion, S3_overflow)
{
	struct t_wr nop = { .opcode = GDA_MLX5_NOP };
	struct t_qp other;
	struct gda_qp_query q;
	uint8_t first[64];

	for (int i = 0; i < CQES; i++)
		t_post(&self->qp[0], &nop);
	t_ring(&self->qp[0]);
	ASSERT_OK(consumed(&self->qp[0], CQES));
	memcpy(first, self->ring.entries, 64);
	t_post(&self->qp[1], &nop);
	t_ring(&self->qp[1]);
	ASSERT_OK(consumed(&self->qp[1], 1));
	/* Entries already written stay, and the query returns the error. */
	EXPECT_EQ(0, memcmp(first, self->ring.entries, 64));
	ASSERT_OK(t_qp_query(self->fd, self->qp[1].qpc.handle, &q));
	EXPECT_EQ((uint32_t)GDA_QP_ERROR, q.state);
	EXPECT_EQ((uint32_t)GDA_MLX5_VENDOR_CQ, q.vendor);
	ASSERT_OK(t_qp_open(&other, self->fd, 16));
	ASSERT_OK(t_connect(&other, &other));
	EXPECT_OK(t_run(&other, &nop, NULL));
	t_qp_close(&other);
}

/* Random consumer values: completions or a failed CQ, never a wait. */
TEST_F(completion, S3_random_consumer)
{
	unsigned long rounds = t_short(60, 300);

	for (unsigned long i = 0; i < rounds; i++) {
		struct t_wr nop = { .opcode = GDA_MLX5_NOP };
		struct gda_cq_create cq;
		struct t_qp qp;
		uint8_t *rec;

		ASSERT_OK(t_cq_create(self->fd, 0, 4, &cq));
		rec = t_map(self->fd, &cq.dbrec);
		ASSERT_NE(MAP_FAILED, rec);
		ASSERT_OK(t_qp_open_on(&qp, self->fd, 64, &cq));
		ASSERT_OK(t_connect(&qp, &qp));
		for (int k = 0; k < 12; k++) {
			uint64_t junk = t_random(&self->rnd);

			memcpy(rec + cq.dbrec.offset, &junk, 8);
			t_post(&qp, &nop);
			t_ring(&qp);
			ASSERT_OK(consumed(&qp, qp.next));
		}
		munmap(rec, cq.dbrec.length);
		t_qp_close(&qp);
	}
}

static int arm(int fd, uint32_t cq, uint32_t flags, int event)
{
	struct gda_cq_event cmd = {
		.size = sizeof(cmd), .flags = flags, .handle = cq, .eventfd = event,
	};

	return t_ioctl(fd, GDA_IOC_CQ_EVENT, &cmd);
}

static bool signaled(int event, int ms)
{
	struct pollfd p = { .fd = event, .events = POLLIN };
	uint64_t n;

	return poll(&p, 1, ms) == 1 && read(event, &n, 8) == 8;
}

TEST_F(completion, events)
{
	struct t_wr nop = { .opcode = GDA_MLX5_NOP };
	int event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	uint8_t wqe[T_WQE_MAX], cqe[64];

	ASSERT_GE(event, 0);
	EXPECT_EQ(-EINVAL, arm(self->fd, self->ring.cq.handle, GDA_CQ_ARM, -1));
	EXPECT_EQ(-EINVAL, arm(self->fd, self->ring.cq.handle, GDA_CQ_ARM, -2));
	EXPECT_EQ(-EBADF, arm(self->fd, self->ring.cq.handle, GDA_CQ_ARM, 999));
	EXPECT_EQ(-EINVAL, arm(self->fd, self->ring.cq.handle, GDA_CQ_ARM, self->fd));
	EXPECT_EQ(-EINVAL, arm(self->fd, self->ring.cq.handle, GDA_CQ_ARM | GDA_CQ_ARM_SOLICITED,
			       event));
	ASSERT_OK(arm(self->fd, self->ring.cq.handle, GDA_CQ_ARM, event));
	for (int i = 0; i < 3; i++) {
		t_post(&self->qp[0], &nop);
		t_ring(&self->qp[0]);
		ASSERT_OK(t_cq_ring_wait(&self->ring, cqe));
		/* Once for each arming. */
		EXPECT_EQ(i != 1, signaled(event, i == 1 ? 20 : 20000)) TH_LOG("%d", i);
		if (i == 1)
			ASSERT_OK(arm(self->fd, self->ring.cq.handle, GDA_CQ_ARM, -1));
	}
	ASSERT_OK(arm(self->fd, self->ring.cq.handle, GDA_CQ_ARM_SOLICITED, -1));
	t_post(&self->qp[0], &nop);
	t_ring(&self->qp[0]);
	ASSERT_OK(t_cq_ring_wait(&self->ring, cqe));
	EXPECT_FALSE(signaled(event, 20));
	t_encode(wqe, &nop, self->qp[0].next, self->qp[0].qpc.qpn);
	wqe[11] |= GDA_MLX5_SE;
	t_post_raw(&self->qp[0], wqe, 1);
	t_ring(&self->qp[0]);
	ASSERT_OK(t_cq_ring_wait(&self->ring, cqe));
	EXPECT_TRUE(signaled(event, 20000));
	ASSERT_OK(arm(self->fd, self->ring.cq.handle, GDA_CQ_ARM, -1));
	ASSERT_OK(arm(self->fd, self->ring.cq.handle, 0, -1));
	t_post(&self->qp[0], &nop);
	t_ring(&self->qp[0]);
	ASSERT_OK(t_cq_ring_wait(&self->ring, cqe));
	EXPECT_FALSE(signaled(event, 20));
	close(event);
}

/* The eventfd's other end may be gone, or full to the brim. */
TEST_F(completion, events_to_nobody)
{
	struct t_wr nop = { .opcode = GDA_MLX5_NOP };
	int event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	uint64_t full = UINT64_MAX - 1;
	uint8_t cqe[64];

	ASSERT_EQ(8, write(event, &full, 8));
	for (int i = 0; i < 20; i++) {
		ASSERT_OK(arm(self->fd, self->ring.cq.handle, GDA_CQ_ARM, i == 10 ? event : i ? -1 :
			      event));
		if (i == 15)
			close(event);
		t_post(&self->qp[0], &nop);
		t_ring(&self->qp[0]);
		ASSERT_OK(t_cq_ring_wait(&self->ring, cqe));
	}
}

TEST_F(completion, counters)
{
	struct gda_counter_create c[2] = { { .size = sizeof(c[0]) }, { .size = sizeof(c[0]) } };
	struct gda_qp_create cmd = {
		.size = sizeof(cmd), .dialect = GDA_DIALECT_MLX5, .sq_depth = 64,
	};
	const volatile struct gda_counter_mem *count[2];
	struct gda_cq_create cq;
	struct t_mr mr, bad;
	struct t_qp qp;
	struct t_wr wr;
	void *map[2];

	ASSERT_OK(t_mr_new(self->fd, T_PAGE, GDA_ACCESS_ALL, &mr));
	ASSERT_OK(t_cq_create(self->fd, GDA_CQ_COLLAPSED, 1, &cq));
	for (int i = 0; i < 2; i++) {
		ASSERT_OK(t_ioctl(self->fd, GDA_IOC_COUNTER_CREATE, &c[i]));
		EXPECT_EQ((uint32_t)GDA_MAP_RO, c[i].counter.map);
		map[i] = t_map(self->fd, &c[i].counter);
		ASSERT_NE(MAP_FAILED, map[i]);
		count[i] = (void *)((uint8_t *)map[i] + c[i].counter.offset);
		EXPECT_EQ(-1, mprotect(map[i], T_PAGE, PROT_READ | PROT_WRITE));
	}
	/* A queue with counters; the helper maps one that it made itself. */
	cmd.cq = cq.handle;
	cmd.sent_counter = c[0].handle;
	cmd.recv_counter = c[1].handle;
	ASSERT_OK(t_ioctl(self->fd, GDA_IOC_QP_CREATE, &cmd));
	EXPECT_EQ(-EBUSY, t_destroy(self->fd, c[0].handle));
	qp = (struct t_qp) { .fd = self->fd, .depth = 64, .qpc = cmd, .cqc = cq };
	ASSERT_OK(t_qp_map(&qp));
	ASSERT_OK(t_connect(&qp, &qp));
	for (uint64_t i = 1; i <= 200; i++) {
		wr = t_wr_write(&mr, 0, &mr, 64, 8);
		ASSERT_OK(t_run(&qp, &wr, NULL));
		ASSERT_EQ(i, count[0]->value);
		ASSERT_EQ(i, count[1]->value);
	}
	bad = mr;
	bad.key ^= 1;
	wr = t_wr_write(&mr, 0, &bad, 64, 8);
	EXPECT_GT(t_run(&qp, &wr, NULL), 0);
	wr = t_wr_write(&mr, 0, &mr, 64, 8);
	EXPECT_GT(t_run(&qp, &wr, NULL), 0);
	EXPECT_EQ(200, count[0]->value);
	EXPECT_EQ(2, count[0]->errors);
	EXPECT_EQ(200, count[1]->value);
	t_qp_close(&qp);
	for (int i = 0; i < 2; i++) {
		munmap(map[i], c[i].counter.length);
		EXPECT_OK(t_destroy(self->fd, c[i].handle));
	}
	t_mr_free(self->fd, &mr);
}

TEST_HARNESS_MAIN
