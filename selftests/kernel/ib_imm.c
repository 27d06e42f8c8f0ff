// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Writes with immediate over an RDMA device: each arrives once, behind its bytes; a ring without
 * room keeps the peer waiting, and in the end fails it and not its target.
 */
#include <poll.h>
#include <sys/eventfd.h>
#include "gda_fixture.h"
#include "rxe.h"

#define DEPTH	64
#define LEN	(4 * T_PAGE)
#define CQES	8

FIXTURE(ib_imm) {
	struct t_end end[2];		/* [1] receives, on a QP of its own */
	struct t_cq_ring ring;
};

/* The receiver's QP is replaced by one with a ring, and both are connected. */
static int connect_ring(FIXTURE_DATA(ib_imm) *self)
{
	struct t_end *end = &self->end[1];
	int err;

	t_qp_close(&end->qp);
	err = t_qp_open_receiver(&end->qp, end->fd, DEPTH, self->ring.cq.handle);
	err = err ? err : t_connect(&self->end[0].qp, &self->end[1].qp);
	err = err ? err : t_ib_wait_ready(&self->end[0].qp);
	return err ? err : t_ib_wait_ready(&self->end[1].qp);
}

T_SETUP(ib_imm)
{
	memset(self, 0, sizeof(*self));
	T_RXE_UP();
	ASSERT_OK(t_ib_pair_make(self->end, DEPTH, LEN));
	ASSERT_OK(t_cq_ring_open(&self->ring, self->end[1].fd, CQES));
	ASSERT_OK(connect_ring(self));
}

T_TEARDOWN(ib_imm)
{
	t_cq_ring_unmap(&self->ring);
	t_pair_close(self->end);
	EXPECT_OK(t_rxe_down());
}

static struct t_wr wr_imm(FIXTURE_DATA(ib_imm) *self, uint32_t imm, uint64_t off, uint32_t len)
{
	struct t_wr wr = t_wr_write(&self->end[0].mr, off, &self->end[1].mr, off, len);

	wr.opcode = GDA_MLX5_WRITE_IMM;
	wr.imm = imm;
	wr.nsge = len != 0;
	return wr;
}

TEST_F(ib_imm, I_16_immediate_arrives_behind_its_bytes)
{
	struct gda_mlx5_cqe cqe;

	for (uint32_t i = 0; i < 5 * CQES; i++) {
		uint32_t len = i % 3 ? i * 7 % 3000 : 0;
		struct t_wr wr = wr_imm(self, 0xbeef0000 + i, i, len);

		memset(self->end[0].mr.addr + i, (int)i, len);
		t_post(&self->end[0].qp, &wr);
		t_ring(&self->end[0].qp);
		ASSERT_OK(t_cq_ring_wait(&self->ring, &cqe));
		ASSERT_TRUE(t_all(self->end[1].mr.addr + i, (uint8_t)i, len));
		ASSERT_EQ(GDA_MLX5_CQE_RESP_IMM, cqe.op_own >> 4);
		ASSERT_EQ(0xbeef0000 + i, gda_be32_to_cpu(cqe.imm));
		ASSERT_EQ(len, gda_be32_to_cpu(cqe.byte_cnt));
		ASSERT_EQ(self->end[1].qp.qpc.qpn, gda_be32_to_cpu(cqe.sop_qpn) & 0xffffff);
		ASSERT_OK(t_wait(&self->end[0].qp, i, NULL));
	}
}

/* An immediate without room is kept: none is lost, and none comes twice or out of turn. */
TEST_F(ib_imm, S3_full_ring_loses_nothing)
{
	struct gda_mlx5_cqe cqe;
	uint64_t last = 0;

	for (uint32_t i = 0; i < 4 * CQES; i++) {
		struct t_wr wr = wr_imm(self, i, 0, 8);

		last = t_post(&self->end[0].qp, &wr);
	}
	t_ring(&self->end[0].qp);
	/* the ring is full, and the peer has been told to wait at least once */
	t_sleep_ns(T_NS / 5);
	for (uint32_t i = 0; i < 4 * CQES; i++) {
		ASSERT_OK(t_cq_ring_wait(&self->ring, &cqe));
		ASSERT_EQ(i, gda_be32_to_cpu(cqe.imm));
	}
	EXPECT_OK(t_wait(&self->end[0].qp, last, NULL));
}

TEST_F(ib_imm, S3_peer_fails_of_a_ring_that_stays_full)
{
	struct gda_mlx5_cqe cqe;
	struct t_done done;
	struct gda_qp_query q;
	uint64_t last = 0;

	for (uint32_t i = 0; i < 4 * CQES; i++) {
		struct t_wr wr = wr_imm(self, i, 0, 8);

		last = t_post(&self->end[0].qp, &wr);
	}
	t_ring(&self->end[0].qp);
	EXPECT_LT(0, t_wait(&self->end[0].qp, last, &done));
	EXPECT_EQ(GDA_MLX5_SYND_RNR_EXC, done.first_syndrome);
	EXPECT_EQ(GDA_MLX5_VENDOR_RECV, done.first_vendor);
	/* the first of them are there all the same */
	for (uint32_t i = 0; i < CQES; i++) {
		ASSERT_OK(t_cq_ring_wait(&self->ring, &cqe));
		ASSERT_EQ(i, gda_be32_to_cpu(cqe.imm));
	}
	ASSERT_OK(t_qp_query(self->end[0].fd, self->end[0].qp.qpc.handle, &q));
	EXPECT_EQ((uint32_t)GDA_QP_ERROR, q.state);
}

/* A sleeper is woken by an arrival, though its context posts nothing. */
TEST_F(ib_imm, I_event)
{
	struct gda_cq_event arm = { .size = sizeof(arm), .flags = GDA_CQ_ARM };
	int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct pollfd p = { .fd = event, .events = POLLIN };
	struct gda_mlx5_cqe cqe;
	struct t_wr wr;

	ASSERT_LE(0, event);
	arm.handle = self->ring.cq.handle;
	arm.eventfd = event;
	ASSERT_OK(t_ioctl(self->end[1].fd, GDA_IOC_CQ_EVENT, &arm));
	/* its worker sleeps by then */
	t_sleep_ns(T_NS / 2);
	wr = wr_imm(self, 5, 0, 8);
	ASSERT_OK(t_run(&self->end[0].qp, &wr, NULL));
	EXPECT_EQ(1, poll(&p, 1, 20000));
	ASSERT_OK(t_cq_ring_wait(&self->ring, &cqe));
	close(event);
}

TEST_HARNESS_MAIN
