// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The rest of the mlx5 dialect through the device: writes with immediate and who is
 * told what, events of solicited ones, masked atomics of both widths, DUMP, entries of
 * several slots. The engine's own tests have every corner; here it meets a device.
 */
#include <poll.h>
#include <sys/eventfd.h>
#include "gda_fixture.h"

#define DEPTH	32
#define LEN	(4 * T_PAGE)
#define CQES	8

/* A poster, and a receiver whose QP has a ring for the immediates of its peer. */
FIXTURE(imm) {
	int fd[2];
	struct t_qp qp[2];
	struct t_mr mr[2];
	struct t_cq_ring ring;
};

/* Both ends anew, as after an error. */
static int renew(FIXTURE_DATA(imm) *self, uint32_t recv_cq)
{
	int err;

	for (int i = 0; i < 2; i++)
		if (self->qp[i].fd)
			t_qp_close(&self->qp[i]);
	err = t_qp_open(&self->qp[0], self->fd[0], DEPTH);
	err = err ? err : t_qp_open_receiver(&self->qp[1], self->fd[1], DEPTH, recv_cq);
	return err ? err : t_connect(&self->qp[0], &self->qp[1]);
}

T_SETUP(imm)
{
	memset(self, 0, sizeof(*self));
	for (int i = 0; i < 2; i++) {
		self->fd[i] = t_context();
		ASSERT_GE(self->fd[i], 0);
		ASSERT_OK(t_mr_new(self->fd[i], LEN, GDA_ACCESS_ALL, &self->mr[i]));
	}
	ASSERT_OK(t_cq_ring_open(&self->ring, self->fd[1], CQES));
	ASSERT_OK(renew(self, self->ring.cq.handle));
}

T_TEARDOWN(imm)
{
	for (int i = 0; i < 2; i++)
		t_qp_close(&self->qp[i]);
	t_cq_ring_unmap(&self->ring);
	EXPECT_OK(t_destroy(self->fd[1], self->ring.cq.handle));
	for (int i = 0; i < 2; i++) {
		t_mr_free(self->fd[i], &self->mr[i]);
		close(self->fd[i]);
	}
}

static struct t_wr wr_imm(FIXTURE_DATA(imm) *self, uint32_t imm, uint64_t off, uint32_t len)
{
	struct t_wr wr = t_wr_write(&self->mr[0], off, &self->mr[1], off, len);

	wr.opcode = GDA_MLX5_WRITE_IMM;
	wr.imm = imm;
	wr.nsge = len != 0;
	return wr;
}

TEST_F(imm, I_16_immediate_arrives_behind_its_bytes)
{
	struct gda_mlx5_cqe cqe;

	for (uint32_t i = 0; i < 20 * CQES; i++) {
		uint32_t len = i % 3 ? i * 7 % 3000 : 0;
		struct t_wr wr = wr_imm(self, 0xbeef0000 + i, i, len);

		memset(self->mr[0].addr + i, (int)i, len);
		t_post(&self->qp[0], &wr);
		t_ring(&self->qp[0]);
		/* the target needs to look at nothing but its own CQ */
		ASSERT_OK(t_cq_ring_wait(&self->ring, &cqe));
		ASSERT_TRUE(t_all(self->mr[1].addr + i, (uint8_t)i, len));
		ASSERT_EQ(GDA_MLX5_CQE_RESP_IMM, cqe.op_own >> 4);
		ASSERT_EQ(0xbeef0000 + i, gda_be32_to_cpu(cqe.imm));
		ASSERT_EQ(len, gda_be32_to_cpu(cqe.byte_cnt));
		ASSERT_EQ(self->qp[1].qpc.qpn, gda_be32_to_cpu(cqe.sop_qpn) & 0xffffff);
		ASSERT_OK(t_wait(&self->qp[0], i, NULL));
	}
}

TEST_F(imm, no_cq_is_the_requesters_error)
{
	struct t_wr wr = wr_imm(self, 1, 0, 8);
	struct gda_qp_query q;
	struct t_done done;

	ASSERT_OK(renew(self, 0));
	memset(self->mr[0].addr, 0x55, 8);
	EXPECT_EQ(GDA_MLX5_SYND_REMOTE_INVAL_REQ, t_run(&self->qp[0], &wr, &done));
	EXPECT_EQ(GDA_MLX5_VENDOR_RECV, done.vendor);
	EXPECT_TRUE(t_all(self->mr[1].addr, 0, LEN));
	ASSERT_OK(t_qp_query(self->fd[1], self->qp[1].qpc.handle, &q));
	EXPECT_EQ((uint32_t)GDA_QP_READY, q.state);
}

/* A peer fills the CQ and goes on: it fails, its target's CQ does not. */
TEST_F(imm, S3_peer_cannot_fail_the_cq)
{
	struct gda_mlx5_cqe cqe;
	struct gda_qp_query q;
	struct t_wr wr;
	struct t_done done;

	for (int round = 0; round < 5; round++) {
		for (uint32_t i = 0; i < CQES; i++) {
			wr = wr_imm(self, i, 0, 8);
			ASSERT_OK(t_run(&self->qp[0], &wr, NULL));
		}
		wr = wr_imm(self, 99, 0, 8);
		EXPECT_EQ(GDA_MLX5_SYND_RNR_EXC, t_run(&self->qp[0], &wr, &done));
		EXPECT_EQ(GDA_MLX5_VENDOR_RECV, done.vendor);
		ASSERT_OK(t_qp_query(self->fd[1], self->qp[1].qpc.handle, &q));
		EXPECT_EQ((uint32_t)GDA_QP_READY, q.state);
		for (uint32_t i = 0; i < CQES; i++) {
			ASSERT_OK(t_cq_ring_wait(&self->ring, &cqe));
			EXPECT_EQ(i, gda_be32_to_cpu(cqe.imm));
		}
		/* the same CQ serves the next pair */
		ASSERT_OK(renew(self, self->ring.cq.handle));
	}
}

static bool signaled(int event, int ms)
{
	struct pollfd p = { .fd = event, .events = POLLIN };
	uint64_t n;

	return poll(&p, 1, ms) == 1 && read(event, &n, sizeof(n)) == sizeof(n);
}

TEST_F(imm, solicited_event_is_the_targets)
{
	int event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	struct gda_cq_event arm = {
		.size = sizeof(arm), .flags = GDA_CQ_ARM_SOLICITED,
		.handle = self->ring.cq.handle, .eventfd = event,
	};
	struct gda_mlx5_cqe cqe;
	struct t_wr wr;

	ASSERT_OK(t_ioctl(self->fd[1], GDA_IOC_CQ_EVENT, &arm));
	for (uint32_t i = 0; i < 6; i++) {
		wr = wr_imm(self, i, 0, 8);
		wr.ce = GDA_MLX5_CE_ALWAYS | (i % 3 == 2 ? GDA_MLX5_SE : 0);
		ASSERT_OK(t_run(&self->qp[0], &wr, NULL));
		ASSERT_OK(t_cq_ring_wait(&self->ring, &cqe));
		EXPECT_EQ(i % 3 == 2, cqe.op_own >> 1 & 1);
		EXPECT_EQ(i % 3 == 2, signaled(event, i % 3 == 2 ? 20000 : 20));
		if (i == 2)
			ASSERT_OK(t_ioctl(self->fd[1], GDA_IOC_CQ_EVENT, &arm));
	}
	/* what is refused is no event */
	arm.flags = GDA_CQ_ARM;
	for (uint32_t i = 0; i < CQES; i++) {
		wr = wr_imm(self, i, 0, 0);
		ASSERT_OK(t_run(&self->qp[0], &wr, NULL));
	}
	ASSERT_OK(t_ioctl(self->fd[1], GDA_IOC_CQ_EVENT, &arm));
	wr = wr_imm(self, 9, 0, 0);
	wr.ce = GDA_MLX5_CE_ALWAYS | GDA_MLX5_SE;
	EXPECT_EQ(GDA_MLX5_SYND_RNR_EXC, t_run(&self->qp[0], &wr, NULL));
	EXPECT_FALSE(signaled(event, 20));
	close(event);
}

static struct t_wr wr_masked(FIXTURE_DATA(imm) *self, uint8_t opcode, uint32_t width,
			     uint64_t off)
{
	struct t_wr wr = t_wr_atomic(opcode, &self->mr[0], 0, &self->mr[1], off, 0, 0);

	wr.opmod = width == 4 ? GDA_MLX5_OPMOD_4BYTE : GDA_MLX5_OPMOD_8BYTE;
	wr.sge[0].len = width;
	return wr;
}

TEST_F(imm, I_15_masked_fetch_add)
{
	struct t_wr wr = wr_masked(self, GDA_MLX5_MASKED_FA, 4, 8);
	uint32_t *word = (void *)self->mr[1].addr, *old = (void *)self->mr[0].addr;

	old[1] = 0x77777777;
	word[2] = 0xffffffff;
	word[3] = 0x12345678;
	wr.swap_add = 2;
	ASSERT_OK(t_run(&self->qp[0], &wr, NULL));
	/* no carry into the next word, and no more than a word of result */
	EXPECT_EQ(1, word[2]);
	EXPECT_EQ(0x12345678, word[3]);
	EXPECT_EQ(0xffffffff, old[0]);
	EXPECT_EQ(0x77777777, old[1]);
	/* of 4 bytes it is big-endian, as on hardware */
	wr.swap_add = 0x12345677;
	ASSERT_OK(t_run(&self->qp[0], &wr, NULL));
	EXPECT_EQ(0x01000000, old[0]);
	ASSERT_OK(t_run(&self->qp[0], &wr, NULL));
	EXPECT_EQ(0x78563412, old[0]);
	word[2] = 1;
	/* two fields of 16 bits */
	wr.compare = 0x00008000;
	wr.swap_add = 0x0001ffff;
	ASSERT_OK(t_run(&self->qp[0], &wr, NULL));
	EXPECT_EQ(0x00010000, word[2]);
	/* ... and of 32, in 8 bytes */
	wr = wr_masked(self, GDA_MLX5_MASKED_FA, 8, 8);
	wr.swap_add = 0x00000001ffffffffULL;
	wr.compare = 0x80000000ULL;
	ASSERT_OK(t_run(&self->qp[0], &wr, NULL));
	EXPECT_EQ(0x0000ffff, word[2]);
	EXPECT_EQ(0x12345679, word[3]);
	EXPECT_EQ(0x12345678, old[1]);
}

TEST_F(imm, masked_compare_swap)
{
	struct t_wr wr = wr_masked(self, GDA_MLX5_MASKED_CS, 4, 8);
	uint64_t *word = (void *)(self->mr[1].addr + 8), *old = (void *)self->mr[0].addr;

	*word = 0x1122334455667788ULL;
	wr.compare = 0xffff7788;
	wr.compare_mask = 0xffff;
	wr.swap_add = 0xaabbccdd;
	wr.swap_mask = 0xff00ff00;
	ASSERT_OK(t_run(&self->qp[0], &wr, NULL));
	EXPECT_EQ(0x11223344aa66cc88ULL, *word);
	EXPECT_EQ(0x88776655, *old);
	/* it does not compare: unchanged */
	ASSERT_OK(t_run(&self->qp[0], &wr, NULL));
	EXPECT_EQ(0x11223344aa66cc88ULL, *word);
	EXPECT_EQ(0x88cc66aa, *old);
	/* 8 bytes, in entries of two slots, over the end of the queue */
	wr = wr_masked(self, GDA_MLX5_MASKED_CS, 8, 8);
	wr.compare_mask = 0xff;
	wr.swap_mask = ~0xffULL;
	wr.compare = 0x88;
	for (uint64_t i = 0; i < 3 * DEPTH; i++) {
		struct t_wr nop = { .opcode = GDA_MLX5_NOP };

		if (i % DEPTH == 7)
			ASSERT_OK(t_run(&self->qp[0], &nop, NULL));
		wr.swap_add = i << 8;
		ASSERT_OK(t_run(&self->qp[0], &wr, NULL));
		ASSERT_EQ(i << 8 | 0x88, *word);
	}
}

TEST_F(imm, S7_masked_misaligned)
{
	for (int i = 0; i < 4; i++) {
		uint32_t width = i & 1 ? 8 : 4;

		for (uint64_t off = T_PAGE - 8; off < T_PAGE + 8; off++) {
			struct t_wr wr = wr_masked(self, i & 2 ? GDA_MLX5_MASKED_CS :
						   GDA_MLX5_MASKED_FA, width, off);
			int got = t_run(&self->qp[0], &wr, NULL);

			ASSERT_EQ(off % width ? GDA_MLX5_SYND_REMOTE_INVAL_REQ : 0, got)
				TH_LOG("%u bytes at %llu", width, (unsigned long long)off);
			if (got)
				ASSERT_OK(renew(self, self->ring.cq.handle));
		}
	}
}

TEST_F(imm, dump)
{
	struct t_wr wr = t_wr_write(&self->mr[0], 0, &self->mr[0], 0, LEN);
	struct t_done done;

	wr.opcode = GDA_MLX5_DUMP;
	EXPECT_OK(t_run(&self->qp[0], &wr, &done));
	wr.sge[0].addr++;
	EXPECT_EQ(GDA_MLX5_SYND_LOCAL_PROT, t_run(&self->qp[0], &wr, &done));
	EXPECT_EQ(GDA_MLX5_VENDOR_RANGE, done.vendor);
	ASSERT_OK(renew(self, self->ring.cq.handle));
	wr.sge[0].addr--;
	wr.sge[0].lkey = self->mr[1].key;
	EXPECT_EQ(GDA_MLX5_SYND_LOCAL_PROT, t_run(&self->qp[0], &wr, &done));
	EXPECT_EQ(GDA_MLX5_VENDOR_KEY, done.vendor);
}

/* Rings are what immediates go into; and it is in use as long as the QP is. */
TEST_F(imm, recv_cq_must_be_a_ring)
{
	struct gda_qp_create cmd = self->qp[1].qpc;
	struct gda_cq_create cq;

	EXPECT_EQ(-EBUSY, t_destroy(self->fd[1], self->ring.cq.handle));
	ASSERT_OK(t_cq_create(self->fd[1], GDA_CQ_COLLAPSED, 1, &cq));
	cmd.cq = cq.handle;
	cmd.recv_cq = cq.handle;
	EXPECT_EQ(-EINVAL, t_ioctl(self->fd[1], GDA_IOC_QP_CREATE, &cmd));
	cmd.recv_cq = self->mr[1].handle;
	EXPECT_EQ(-ENOENT, t_ioctl(self->fd[1], GDA_IOC_QP_CREATE, &cmd));
	EXPECT_OK(t_destroy(self->fd[1], cq.handle));
}

TEST_HARNESS_MAIN
