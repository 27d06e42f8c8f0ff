// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Queues of the efa dialect between two contexts: transfers, which QPs a request may name, and
 * that a wrong guess fails the queue. selftests/engine/efa.c tests the byte formats.
 */
#include "gda_fixture.h"
#include "efa_queue.h"

#define DEPTH	16U
#define SIZE	8192U
#define ID	0x3344556677881234ULL

FIXTURE(efa) {
	int fd[2];
	struct t_efa q[2];
	struct t_mr mr[2];
	struct t_efa_peer to[2];	/* each context's handle of the other */
};

FIXTURE_VARIANT(efa) {
	uint32_t entry;
	uint32_t stride;
};

FIXTURE_VARIANT_ADD(efa, plain) { };
FIXTURE_VARIANT_ADD(efa, inlined) { .entry = GDA_EFA_WIDE_BYTES };
FIXTURE_VARIANT_ADD(efa, short_completions) { .stride = GDA_EFA_CQE_BYTES };

T_SETUP(efa)
{
	int i;

	for (i = 0; i < 2; i++) {
		self->fd[i] = t_context();
		ASSERT_LE(0, self->fd[i]);
		ASSERT_OK(t_efa_open(&self->q[i], self->fd[i], DEPTH, variant->entry,
				     variant->stride));
		ASSERT_OK(t_mr_new(self->fd[i], SIZE, GDA_ACCESS_ALL, &self->mr[i]));
	}
	for (i = 0; i < 2; i++)
		ASSERT_OK(t_efa_peer(self->fd[i], &self->q[!i], &self->to[i]));
}

T_TEARDOWN(efa)
{
	int i;

	for (i = 0; i < 2; i++) {
		t_efa_close(&self->q[i]);
		t_mr_free(self->fd[i], &self->mr[i]);
		close(self->fd[i]);
	}
}

static struct t_efa_wr wr_of(uint8_t ctrl1, const struct t_mr *local, uint64_t off,
			     const struct t_mr *remote, uint64_t roff, uint32_t len)
{
	return (struct t_efa_wr) {
		.ctrl1 = ctrl1, .id = ID,
		.laddr = local->iova + off, .lkey = local->key,
		.raddr = remote->iova + roff, .rkey = remote->key, .len = len,
	};
}

/* A put of eight bytes from A to B. Return: its status. */
static int put(struct _test_data_efa *self)
{
	const struct t_efa_wr wr = wr_of(GDA_EFA_WRITE, &self->mr[0], 0, &self->mr[1], 64, 8);

	return t_efa_run(&self->q[0], &self->to[0], &wr);
}

TEST_F(efa, a_queue_says_what_a_producer_needs)
{
	const struct gda_qp_query *query = &self->q[0].query;
	struct gda_region_query region = {
		.size = sizeof(region), .handle = self->q[0].qpc.handle, .type = GDA_REGION_DBREC,
	};

	EXPECT_EQ(GDA_QP_READY, query->state);
	EXPECT_EQ(variant->entry ? variant->entry : GDA_EFA_SLOT_BYTES, query->sq_entry);
	EXPECT_EQ(DEPTH, query->sq_depth);
	EXPECT_EQ(self->to[1].number, query->qpn & 0xffff);
	EXPECT_EQ(self->to[1].qkey, query->qkey);
	EXPECT_EQ(0, self->q[0].qpc.dbrec.length);
	EXPECT_EQ(0, self->q[0].cqc.dbrec.length);
	EXPECT_EQ(-ENOENT, t_ioctl(self->fd[0], GDA_IOC_REGION_INFO, &region));
	region.handle = self->q[0].cqc.handle;
	region.type = GDA_REGION_CQ_DBREC;
	EXPECT_EQ(-ENOENT, t_ioctl(self->fd[0], GDA_IOC_REGION_INFO, &region));
}

TEST_F(efa, puts_and_gets_of_every_length_and_lap)
{
	uint64_t seed = t_seed();

	for (uint32_t i = 0; i < t_rounds(20 * DEPTH); i++) {
		uint32_t len = i % 9 ? (uint32_t)(t_random(&seed) % (SIZE / 2)) : i / 9 % 9;
		uint64_t off = t_random(&seed) % (SIZE / 2), roff = t_random(&seed) % (SIZE / 2);
		uint8_t op = i % 3 ? GDA_EFA_WRITE : GDA_EFA_READ;
		struct t_efa_wr wr = wr_of(op, &self->mr[0], off, &self->mr[1], roff, len);
		uint32_t j;

		wr.id = t_random(&seed);
		for (j = 0; j < SIZE; j += 8) {
			uint64_t word[2] = { t_random(&seed), t_random(&seed) };

			memcpy(self->mr[0].addr + j, &word[0], 8);
			memcpy(self->mr[1].addr + j, &word[1], 8);
		}
		ASSERT_EQ(GDA_EFA_OK, t_efa_run(&self->q[0], &self->to[0], &wr));
		ASSERT_EQ(0, memcmp(self->mr[0].addr + off, self->mr[1].addr + roff, len));
	}
}

TEST_F(efa, inline_payload_in_long_entries)
{
	struct t_efa_wr wr = wr_of(GDA_EFA_WRITE, &self->mr[0], 0, &self->mr[1], 0, 0);
	uint8_t data[GDA_EFA_MAX_INLINE];

	if (variant->entry != GDA_EFA_WIDE_BYTES)
		SKIP(return, "entries of 64 bytes have none");
	memset(data, 0x5a, sizeof(data));
	wr.data = data;
	for (wr.len = 0; wr.len <= sizeof(data); wr.len++) {
		memset(self->mr[1].addr, 0, SIZE);
		ASSERT_EQ(GDA_EFA_OK, t_efa_run(&self->q[0], &self->to[0], &wr));
		ASSERT_TRUE(t_all(self->mr[1].addr, 0x5a, wr.len));
		ASSERT_TRUE(t_all(self->mr[1].addr + wr.len, 0, SIZE - wr.len));
	}
}

TEST_F(efa, an_immediate_names_its_sender)
{
	struct t_efa_wr wr = wr_of(GDA_EFA_WRITE | GDA_EFA_HAS_IMM, &self->mr[0], 0, &self->mr[1], 0,
				   256);
	struct t_efa_done done;

	wr.imm = 0xcafe0001;
	if (variant->stride == GDA_EFA_CQE_BYTES) {
		EXPECT_EQ(GDA_EFA_FEATURE_MISMATCH, t_efa_run(&self->q[0], &self->to[0], &wr));
		return;
	}
	ASSERT_EQ(GDA_EFA_OK, t_efa_run(&self->q[0], &self->to[0], &wr));
	ASSERT_OK(t_efa_wait(&self->q[1], &done));
	EXPECT_EQ(0xcafe0001, done.imm);
	EXPECT_EQ(256, done.len);
	EXPECT_EQ(self->to[1].ah, done.ah);
	EXPECT_EQ(self->to[1].number, done.src_qp);
	EXPECT_EQ(self->to[0].number, done.qp);
}

/* The producer stores the index as 16 or as 32 bits, and never reads the CQ. */
TEST_F(efa, a_full_cq_is_overwritten)
{
	const struct t_efa_wr wr = wr_of(GDA_EFA_WRITE, &self->mr[0], 0, &self->mr[1], 64, 8);
	uint64_t rounds = t_longer(20) * DEPTH, end = t_now() + T_WAIT_NS;
	struct gda_qp_query query;

	for (uint64_t i = 0; i < rounds; i++) {
		t_efa_post(&self->q[0], &self->to[0], &wr);
		if (i % DEPTH != DEPTH - 1)
			continue;
		if (i & DEPTH)
			t_efa_ring(&self->q[0]);
		else
			__atomic_store_n((volatile uint16_t *)self->q[0].db,
					 (uint16_t)self->q[0].next, __ATOMIC_RELEASE);
		do {
			ASSERT_OK(t_qp_query(self->fd[0], self->q[0].qpc.handle, &query));
		} while (query.executed < i + 1 && query.state == GDA_QP_READY && t_now() < end);
		ASSERT_EQ(i + 1, query.executed);
	}
	EXPECT_EQ(GDA_QP_READY, query.state);
}

/* --- which QPs a request may name --- */

TEST_F(efa, work_flows_where_both_hold_each_other)
{
	struct t_efa_peer again;

	ASSERT_EQ(GDA_EFA_OK, put(self));
	/* B drops its handle of A */
	ASSERT_OK(t_destroy(self->fd[1], self->to[1].handle));
	EXPECT_EQ(GDA_EFA_UNKNOWN_PEER, put(self));
	ASSERT_OK(t_efa_peer(self->fd[1], &self->q[0], &self->to[1]));
	EXPECT_EQ(GDA_EFA_OK, put(self));
	/* each call of GDA_IOC_PEER_ADD is undone separately */
	ASSERT_OK(t_efa_peer(self->fd[1], &self->q[0], &again));
	EXPECT_EQ(self->to[1].ah, again.ah);
	EXPECT_NE(self->to[1].handle, again.handle);
	ASSERT_OK(t_destroy(self->fd[1], self->to[1].handle));
	EXPECT_EQ(GDA_EFA_OK, put(self));
	ASSERT_OK(t_destroy(self->fd[1], again.handle));
	EXPECT_EQ(GDA_EFA_UNKNOWN_PEER, put(self));
	/* A drops its own handle, whose number is then invalid */
	ASSERT_OK(t_destroy(self->fd[0], self->to[0].handle));
	EXPECT_EQ(GDA_EFA_BAD_AH, put(self));
	EXPECT_EQ(-ENOENT, t_destroy(self->fd[0], self->to[0].handle));
	ASSERT_OK(t_efa_peer(self->fd[0], &self->q[1], &self->to[0]));
	ASSERT_OK(t_efa_peer(self->fd[1], &self->q[0], &self->to[1]));
	EXPECT_EQ(GDA_EFA_OK, put(self));
}

TEST_F(efa, a_context_may_name_itself)
{
	struct t_efa_wr wr = wr_of(GDA_EFA_WRITE, &self->mr[0], 0, &self->mr[0], 4096, 8);
	struct t_efa_peer own;

	ASSERT_OK(t_efa_peer(self->fd[0], &self->q[0], &own));
	memset(self->mr[0].addr, 0x11, 8);
	EXPECT_EQ(GDA_EFA_OK, t_efa_run(&self->q[0], &own, &wr));
	EXPECT_TRUE(t_all(self->mr[0].addr + 4096, 0x11, 8));
	ASSERT_OK(t_destroy(self->fd[0], own.handle));
	EXPECT_EQ(GDA_EFA_BAD_AH, t_efa_run(&self->q[0], &own, &wr));
}

TEST_F(efa, Efa12_Q2_a_peer_that_is_gone_costs_its_own_requests)
{
	struct t_efa third;
	struct t_efa_peer to, from;
	struct t_mr mr;
	int fd = t_context();
	struct t_efa_wr wr;

	ASSERT_LE(0, fd);
	ASSERT_OK(t_efa_open(&third, fd, DEPTH, 0, 0));
	ASSERT_OK(t_mr_new(fd, SIZE, GDA_ACCESS_ALL, &mr));
	ASSERT_OK(t_efa_peer(self->fd[0], &third, &to));
	ASSERT_OK(t_efa_peer(fd, &self->q[0], &from));
	wr = wr_of(GDA_EFA_WRITE, &self->mr[0], 0, &mr, 0, 8);
	ASSERT_EQ(GDA_EFA_OK, t_efa_run(&self->q[0], &to, &wr));
	/* first destroy only the queue, then the context */
	ASSERT_OK(t_destroy(fd, third.qpc.handle));
	EXPECT_EQ(GDA_EFA_BAD_DEST_QP, t_efa_run(&self->q[0], &to, &wr));
	EXPECT_EQ(GDA_EFA_OK, put(self));
	munmap(third.map[0], third.qpc.sq.length);
	munmap(third.map[1], third.qpc.db.length);
	munmap(third.map[2], third.cqc.cq.length);
	munmap(mr.addr, SIZE);
	close(fd);
	EXPECT_EQ(GDA_EFA_UNRESPONSIVE, t_efa_run(&self->q[0], &to, &wr));
	EXPECT_EQ(GDA_EFA_OK, put(self));
	ASSERT_OK(t_destroy(self->fd[0], to.handle));
	EXPECT_EQ(GDA_EFA_BAD_AH, t_efa_run(&self->q[0], &to, &wr));
	EXPECT_EQ(GDA_EFA_OK, put(self));
}

TEST_F(efa, addresses_that_name_nobody)
{
	struct gda_peer_add cmd = { .size = sizeof(cmd) };
	struct t_qp mlx5;
	uint8_t good[GDA_ADDRESS_BYTES];
	struct gda_qp_connect connect = { .size = sizeof(connect) };

	ASSERT_OK(t_efa_address(self->fd[1], self->q[1].qpc.handle, good));
	EXPECT_EQ(-EINVAL, t_ioctl(self->fd[0], GDA_IOC_PEER_ADD, &cmd));
	/* an address with a wrong nonce */
	memcpy(cmd.address, good, sizeof(good));
	cmd.address[8] ^= 1;
	EXPECT_EQ(-ENOENT, t_ioctl(self->fd[0], GDA_IOC_PEER_ADD, &cmd));
	/* no peer handle names an mlx5 QP, and an efa QP cannot connect or be connected to */
	ASSERT_OK(t_qp_open(&mlx5, self->fd[1], DEPTH));
	ASSERT_OK(t_efa_address(self->fd[1], mlx5.qpc.handle, cmd.address));
	EXPECT_EQ(-EINVAL, t_ioctl(self->fd[0], GDA_IOC_PEER_ADD, &cmd));
	connect.handle = mlx5.qpc.handle;
	memcpy(connect.address, good, sizeof(good));
	EXPECT_EQ(-EOPNOTSUPP, t_ioctl(self->fd[1], GDA_IOC_QP_CONNECT, &connect));
	connect.handle = self->q[1].qpc.handle;
	EXPECT_EQ(-EOPNOTSUPP, t_ioctl(self->fd[1], GDA_IOC_QP_CONNECT, &connect));
	t_qp_close(&mlx5);
	/* the address of a destroyed QP */
	ASSERT_OK(t_destroy(self->fd[1], self->q[1].qpc.handle));
	memcpy(cmd.address, good, sizeof(good));
	EXPECT_EQ(-ENOENT, t_ioctl(self->fd[0], GDA_IOC_PEER_ADD, &cmd));
	self->q[1].qpc.handle = 0;
}

TEST_F(efa, numbers_are_unique_within_a_context)
{
	static uint8_t used[1 << 16];
	struct t_efa *q = &self->q[0];
	uint32_t handle[64], i;

	memset(used, 0, sizeof(used));
	used[q->qpc.qpn & 0xffff] = 1;
	for (i = 0; i < 64; i++) {
		struct gda_qp_create cmd = {
			.size = sizeof(cmd), .dialect = GDA_DIALECT_EFA, .cq = q->cqc.handle,
			.sq_depth = 1,
		};

		ASSERT_OK(t_ioctl(self->fd[0], GDA_IOC_QP_CREATE, &cmd));
		handle[i] = cmd.handle;
		EXPECT_EQ(0, used[cmd.qpn & 0xffff]);
		used[cmd.qpn & 0xffff] = 1;
	}
	while (i--)
		ASSERT_OK(t_destroy(self->fd[0], handle[i]));
}

TEST_F(efa, sizes_that_the_dialect_has_not)
{
	struct gda_cq_create cq = { .size = sizeof(cq), .dialect = GDA_DIALECT_EFA, .depth = 4 };
	struct gda_qp_create qp = {
		.size = sizeof(qp), .dialect = GDA_DIALECT_EFA, .cq = self->q[0].cqc.handle,
		.sq_depth = 4,
	};
	int fd = self->fd[0];

	for (cq.stride = 1; cq.stride <= 128; cq.stride++)
		if (cq.stride != 16 && cq.stride != 32)
			ASSERT_EQ(-EINVAL, t_ioctl(fd, GDA_IOC_CQ_CREATE, &cq));
	cq.stride = 0;
	cq.flags = GDA_CQ_DBREC_DMABUF;
	EXPECT_GT(0, t_ioctl(fd, GDA_IOC_CQ_CREATE, &cq));
	cq.flags = GDA_CQ_COLLAPSED;
	cq.depth = 1;
	EXPECT_EQ(-EINVAL, t_ioctl(fd, GDA_IOC_CQ_CREATE, &cq));
	for (qp.sq_entry = 1; qp.sq_entry <= 256; qp.sq_entry++)
		if (qp.sq_entry != GDA_EFA_SLOT_BYTES && qp.sq_entry != GDA_EFA_WIDE_BYTES)
			ASSERT_EQ(-EINVAL, t_ioctl(fd, GDA_IOC_QP_CREATE, &qp));
	qp.sq_entry = GDA_EFA_WIDE_BYTES;
	qp.sq_depth = GDA_EFA_MAX_DEPTH;
	EXPECT_EQ(-EINVAL, t_ioctl(fd, GDA_IOC_QP_CREATE, &qp));
	qp.sq_depth = 3;
	EXPECT_EQ(-EINVAL, t_ioctl(fd, GDA_IOC_QP_CREATE, &qp));
	qp.sq_depth = 4;
	qp.user_index = 1;
	EXPECT_EQ(-EINVAL, t_ioctl(fd, GDA_IOC_QP_CREATE, &qp));
	qp.user_index = 0;
	qp.dialect = GDA_DIALECT_MLX5;
	EXPECT_EQ(-EINVAL, t_ioctl(fd, GDA_IOC_QP_CREATE, &qp));
	/* immediates need CQ entries of 32 bytes */
	if (variant->stride != GDA_EFA_CQE_BYTES)
		return;
	qp.dialect = GDA_DIALECT_EFA;
	qp.recv_cq = qp.cq;
	EXPECT_EQ(-EINVAL, t_ioctl(fd, GDA_IOC_QP_CREATE, &qp));
}

/* --- guesses --- */

/* Replace queue A, which has failed, by a new one. */
static int again(struct _test_data_efa *self, const FIXTURE_VARIANT(efa) *variant)
{
	int err;

	t_efa_close(&self->q[0]);
	err = t_efa_open(&self->q[0], self->fd[0], DEPTH, variant->entry, variant->stride);
	return err ? err : t_efa_peer(self->fd[1], &self->q[0], &self->to[1]);
}

TEST_F(efa, Q1_a_guess_costs_the_queue)
{
	const struct t_efa_wr good = wr_of(GDA_EFA_WRITE, &self->mr[0], 0, &self->mr[1], 0, 8);
	uint64_t seed = t_seed(), i;

	memset(self->mr[0].addr, 0xff, SIZE);
	for (i = 0; i < t_rounds(60); i++) {
		struct t_efa_peer to = self->to[0];
		struct t_efa_wr wr = good;
		struct gda_qp_query query;
		uint32_t flip = 1U << t_random(&seed) % 32;

		if (i % 3 == 0)
			to.qkey ^= flip;
		else if (i % 3 == 1)
			wr.rkey ^= flip;
		else
			wr.raddr = self->mr[1].iova + SIZE - 7 + t_random(&seed) % SIZE;
		ASSERT_EQ(GDA_EFA_BAD_ADDRESS, t_efa_run(&self->q[0], &to, &wr));
		ASSERT_OK(t_qp_query(self->fd[0], self->q[0].qpc.handle, &query));
		ASSERT_EQ(GDA_QP_ERROR, query.state);
		ASSERT_EQ(GDA_EFA_FLUSHED, t_efa_run(&self->q[0], &self->to[0], &good));
		ASSERT_OK(again(self, variant));
	}
	EXPECT_TRUE(t_all(self->mr[1].addr, 0, SIZE));
	EXPECT_EQ(GDA_EFA_OK, put(self));
}

/* Try every other handle and number: each is invalid, and fails only the request. */
TEST_F(efa, Q1_Q5_every_handle_and_every_number)
{
	const struct t_efa_wr wr = wr_of(GDA_EFA_WRITE, &self->mr[0], 0, &self->mr[1], 0, 8);
	uint32_t i, step = t_rounds(1 << 12) < 1 << 12 ? 97 : 1, most = 1 << 16;

	memset(self->mr[0].addr, 0xff, SIZE);
	for (i = 0; i < most; i += step) {
		struct t_efa_peer to = self->to[0];

		if (i == to.ah)
			continue;
		to.ah = (uint16_t)i;
		ASSERT_EQ(GDA_EFA_BAD_AH, t_efa_run(&self->q[0], &to, &wr));
	}
	for (i = 0; i < most; i += step) {
		struct t_efa_peer to = self->to[0];

		if (i == to.number)
			continue;
		to.number = (uint16_t)i;
		ASSERT_EQ(GDA_EFA_BAD_DEST_QP, t_efa_run(&self->q[0], &to, &wr));
	}
	EXPECT_TRUE(t_all(self->mr[1].addr, 0, SIZE));
	EXPECT_EQ(GDA_EFA_OK, put(self));
}

/* Whatever handle is named as a counter: it is one of this context, or nothing is made. */
TEST_F(efa, Q5_every_counter)
{
	uint32_t n, step = t_rounds(1 << 12) < 1 << 12 ? 97 : 1, most = 1 << 16, made = 0;
	struct gda_counter_create count = { .size = sizeof(count) };
	int fd = self->fd[0];

	if (variant->entry || variant->stride)
		SKIP(return, "counters do not depend on sizes of entries");
	ASSERT_OK(t_ioctl(fd, GDA_IOC_COUNTER_CREATE, &count));
	for (n = 1; n < most; n += n < 64 ? 1 : step) {
		struct gda_qp_create qp = {
			.size = sizeof(qp), .dialect = GDA_DIALECT_EFA, .cq = self->q[0].cqc.handle,
			.sq_depth = 1, .sent_counter = n & 1 ? n : 0, .recv_counter = n & 1 ? 0 : n,
		};
		int err = t_ioctl(fd, GDA_IOC_QP_CREATE, &qp);

		ASSERT_EQ(n == count.handle ? 0 : -ENOENT, err) TH_LOG("handle %u", n);
		made += !err;
		if (!err)
			ASSERT_OK(t_destroy(fd, qp.handle));
	}
	EXPECT_EQ(1, made);
	ASSERT_OK(t_destroy(fd, count.handle));
}

/* A local key lacks the low bits, but its MR must belong to the poster's context. */
TEST_F(efa, Q10_local_keys_do_not_cross_domains)
{
	struct t_efa_wr wr = wr_of(GDA_EFA_WRITE, &self->mr[1], 0, &self->mr[1], 4096, 8);

	memset(self->mr[1].addr, 0x77, 8);
	EXPECT_EQ(GDA_EFA_BAD_LKEY, t_efa_run(&self->q[0], &self->to[0], &wr));
	ASSERT_OK(again(self, variant));
	wr = wr_of(GDA_EFA_READ, &self->mr[1], 0, &self->mr[1], 4096, 8);
	EXPECT_EQ(GDA_EFA_BAD_LKEY, t_efa_run(&self->q[0], &self->to[0], &wr));
	EXPECT_TRUE(t_all(self->mr[1].addr + 4096, 0, 8));
}

TEST_F(efa, D_what_deregistration_ends)
{
	const struct t_efa_wr wr = wr_of(GDA_EFA_WRITE, &self->mr[0], 0, &self->mr[1], 64, 8);

	ASSERT_EQ(GDA_EFA_OK, put(self));
	ASSERT_OK(t_destroy(self->fd[1], self->mr[1].handle));
	EXPECT_EQ(GDA_EFA_BAD_ADDRESS, t_efa_run(&self->q[0], &self->to[0], &wr));
	ASSERT_OK(again(self, variant));
	ASSERT_OK(t_destroy(self->fd[0], self->mr[0].handle));
	EXPECT_EQ(GDA_EFA_BAD_LKEY, t_efa_run(&self->q[0], &self->to[0], &wr));
	self->mr[0].handle = self->mr[1].handle = 0;
}

TEST_HARNESS_MAIN
