// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Queues on an RDMA device, "ib:rxe0", with both ends in this machine: the device and its
 * limits, each operation that its feature bits promise, and what is refused.
 */
#include <sys/resource.h>
#include "gda_fixture.h"
#include "rxe.h"

#define LEN	(256U << 10)
#define DEPTH	64

T_RXE_FIXTURE(ib)

static bool is_listed(const char *name)
{
	struct gda_device_info info = { .size = sizeof(info) };
	bool found = false;
	int fd = t_open();

	while (!t_ioctl(fd, GDA_IOC_DEVICE_INFO, &info)) {
		found |= !strcmp((char *)info.device, name);
		info = (struct gda_device_info) { .size = sizeof(info), .after = info.id };
	}
	close(fd);
	return found;
}

TEST_F(ib, I_device_comes_and_goes)
{
	struct gda_query q = { .size = sizeof(q) };
	int fd;

	EXPECT_TRUE(is_listed(T_IB));
	EXPECT_OK(t_rxe_del());
	EXPECT_FALSE(is_listed(T_IB));
	EXPECT_EQ(-ENOENT, t_context_on(T_IB));
	ASSERT_OK(t_rxe_add());
	EXPECT_TRUE(is_listed(T_IB));
	fd = t_context_on(T_IB);
	ASSERT_LE(0, fd);
	ASSERT_OK(t_ioctl(fd, GDA_IOC_QUERY, &q));
	EXPECT_STREQ(T_IB, (char *)q.device);
	EXPECT_TRUE(q.features[0] & GDA_FEATURE_ATOMIC);
	EXPECT_FALSE(q.features[0] & (GDA_FEATURE_ATOMIC_CPU | GDA_FEATURE_WORD_STORE |
				      GDA_FEATURE_LOOPBACK | GDA_FEATURE_RECV_COUNTER |
				      GDA_FEATURE_MASKED | GDA_FEATURE_MR_DMABUF));
	/* a context holds the module */
	EXPECT_EQ(-EAGAIN, t_ib_unload());
	close(fd);
	EXPECT_OK(t_ib_unload());
	EXPECT_FALSE(is_listed(T_IB));
	EXPECT_OK(t_ib_load());
}

TEST_F(ib, I_objects)
{
	struct gda_mr_reg_user zero = { .size = sizeof(zero), .flags = GDA_MR_ZERO_BASED };
	struct gda_counter_create counter = { .size = sizeof(counter) };
	struct gda_qp_create qpc = { .size = sizeof(qpc) };
	struct gda_cq_create cq;
	struct t_qp *qp;

	ASSERT_OK(t_ib_pair_make(self->end, DEPTH, LEN));
	qp = &self->end[0].qp;
	EXPECT_NE(self->end[0].mr.key, self->end[1].mr.key);
	EXPECT_EQ(GDA_MR_LIVE, t_mr_state(self->end[0].fd, self->end[0].mr.handle));
	/* memory at address 0 begins at a page, as in verbs */
	zero.addr = (uintptr_t)self->end[0].mr.addr;
	zero.length = T_PAGE;
	zero.access = GDA_ACCESS_ALL;
	EXPECT_OK(t_ioctl(self->end[0].fd, GDA_IOC_MR_REG_USER, &zero));
	EXPECT_EQ(0, zero.iova);
	EXPECT_OK(t_destroy(self->end[0].fd, zero.handle));
	zero.addr += 64;
	EXPECT_EQ(-EINVAL, t_ioctl(self->end[0].fd, GDA_IOC_MR_REG_USER, &zero));
	zero.flags = 0;
	EXPECT_OK(t_ioctl(self->end[0].fd, GDA_IOC_MR_REG_USER, &zero));
	EXPECT_OK(t_destroy(self->end[0].fd, zero.handle));
	zero.addr = T_PAGE;
	EXPECT_EQ(-EFAULT, t_ioctl(self->end[0].fd, GDA_IOC_MR_REG_USER, &zero));
	/* what the device cannot do is refused at creation */
	ASSERT_OK(t_ioctl(qp->fd, GDA_IOC_COUNTER_CREATE, &counter));
	ASSERT_OK(t_cq_create(qp->fd, GDA_CQ_COLLAPSED, 1, &cq));
	qpc.dialect = GDA_DIALECT_MLX5;
	qpc.cq = cq.handle;
	qpc.sq_depth = DEPTH;
	qpc.recv_counter = counter.handle;
	EXPECT_EQ(-EOPNOTSUPP, t_ioctl(qp->fd, GDA_IOC_QP_CREATE, &qpc));
	qpc.recv_counter = 0;
	qpc.rnr_retry = 1;
	EXPECT_EQ(-EOPNOTSUPP, t_ioctl(qp->fd, GDA_IOC_QP_CREATE, &qpc));
	EXPECT_EQ(-EOPNOTSUPP, t_connect(qp, qp));
}

/* Each operation, and bytes at both ends. */
TEST_F(ib, O_operations)
{
	static const uint32_t lengths[] = { 1, 4, 8, 63, 4096, 4097, LEN };
	struct t_qp *qp;
	struct t_mr *a, *b;
	struct t_wr wr;
	uint64_t word;

	ASSERT_OK(t_ib_pair_open(self->end, DEPTH, LEN));
	qp = &self->end[0].qp;
	a = &self->end[0].mr;
	b = &self->end[1].mr;
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		memset(a->addr, (int)i + 1, LEN);
		memset(b->addr, 0, LEN);
		wr = t_wr_write(a, 0, b, 0, lengths[i]);
		ASSERT_OK(t_run(qp, &wr, NULL)) TH_LOG("put of %u", lengths[i]);
		EXPECT_TRUE(t_all(b->addr, (uint8_t)(i + 1), lengths[i]));
		EXPECT_TRUE(t_all(b->addr + lengths[i], 0, LEN - lengths[i]));
		memset(a->addr, 0, LEN);
		wr = t_wr_read(a, 0, b, 0, lengths[i]);
		ASSERT_OK(t_run(qp, &wr, NULL)) TH_LOG("get of %u", lengths[i]);
		EXPECT_TRUE(t_all(a->addr, (uint8_t)(i + 1), lengths[i]));
	}
	/* inline */
	wr = (struct t_wr) {
		.opcode = GDA_MLX5_WRITE, .raddr = b->iova + 3, .rkey = b->key,
		.data = "inline payload", .data_len = 14,
	};
	ASSERT_OK(t_run(qp, &wr, NULL));
	EXPECT_EQ(0, memcmp(b->addr + 3, "inline payload", 14));
	/* two segments */
	memset(a->addr, 'x', 100);
	memset(a->addr + T_PAGE, 'y', 200);
	wr = t_wr_write(a, 0, b, 0, 100);
	wr.nsge = 2;
	wr.sge[1].addr = a->iova + T_PAGE;
	wr.sge[1].lkey = a->key;
	wr.sge[1].len = 200;
	ASSERT_OK(t_run(qp, &wr, NULL));
	EXPECT_TRUE(t_all(b->addr, 'x', 100));
	EXPECT_TRUE(t_all(b->addr + 100, 'y', 200));
	/* atomics, in the order of this machine */
	word = 40;
	memcpy(b->addr, &word, 8);
	wr = t_wr_atomic(GDA_MLX5_ATOMIC_FA, a, 0, b, 0, 2, 0);
	ASSERT_OK(t_run(qp, &wr, NULL));
	memcpy(&word, a->addr, 8);
	EXPECT_EQ(40, word);
	wr = t_wr_atomic(GDA_MLX5_ATOMIC_CS, a, 8, b, 0, 7, 42);
	ASSERT_OK(t_run(qp, &wr, NULL));
	memcpy(&word, a->addr + 8, 8);
	EXPECT_EQ(42, word);
	memcpy(&word, b->addr, 8);
	EXPECT_EQ(7, word);
	/* nothing, and nothing of a length */
	wr = (struct t_wr) { .opcode = GDA_MLX5_NOP };
	ASSERT_OK(t_run(qp, &wr, NULL));
	wr = (struct t_wr) { .opcode = GDA_MLX5_WRITE, .raddr = b->iova, .rkey = b->key };
	ASSERT_OK(t_run(qp, &wr, NULL));
	/* and the other way */
	wr = t_wr_write(b, 0, a, 0, 8);
	ASSERT_OK(t_run(&self->end[1].qp, &wr, NULL));
	memcpy(&word, a->addr, 8);
	EXPECT_EQ(7, word);
}

/* More than can be in flight, of all kinds, and all in order. */
TEST_F(ib, O_stream)
{
	unsigned long rounds = t_short(10, 20);
	struct gda_qp_query query;
	struct t_qp *qp;
	uint64_t last = 0;

	ASSERT_OK(t_ib_pair_open(self->end, 512, LEN));
	qp = &self->end[0].qp;
	for (unsigned long r = 0; r < rounds; r++) {
		for (uint64_t i = 0; i < 256; i++) {
			struct t_wr wr = t_wr_write(&self->end[0].mr, i * 8, &self->end[1].mr,
						    i * 8, 8);
			uint64_t value = r << 32 | i;

			memcpy(self->end[0].mr.addr + i * 8, &value, 8);
			wr.ce = i % 16 == 15 ? GDA_MLX5_CE_ALWAYS : 0xff;
			last = t_post(qp, &wr);
		}
		t_ring(qp);
		ASSERT_OK(t_wait(qp, last, NULL)) TH_LOG("round %lu", r);
		EXPECT_EQ(0, memcmp(self->end[0].mr.addr, self->end[1].mr.addr, 256 * 8));
	}
	ASSERT_OK(t_qp_query(qp->fd, qp->qpc.handle, &query));
	EXPECT_EQ(rounds * 256, query.executed);
	EXPECT_EQ(rounds * 256, query.consumer);
	EXPECT_EQ(rounds * 256 * 8, query.bytes);
}

/* The error of a request that @wr is, on a pair of its own; the peer's in *@peer. */
static int fails(struct t_end end[2], struct t_wr *wr, struct t_done *done, int *peer)
{
	int err = t_run(&end[0].qp, wr, done);
	struct gda_qp_query query;

	*peer = -ETIMEDOUT;
	if (err <= 0)
		return err ? err : -EBADE;
	if (t_wait_state(&end[1].qp, GDA_QP_READY, T_WAIT_NS) != GDA_QP_ERROR)
		return -EBUSY;
	if (!t_qp_query(end[1].fd, end[1].qp.qpc.handle, &query))
		*peer = (int)query.vendor;
	return done->syndrome;
}

/* A bad key costs both ends of the connection, and no other one (RC says so). */
TEST_F(ib, X_refused)
{
	struct t_end other[2];
	struct t_done done;
	struct t_wr wr;
	int peer;

	ASSERT_OK(t_ib_pair_open(other, DEPTH, T_PAGE));
	for (int i = 0; i < 5; i++) {
		uint8_t syndrome = GDA_MLX5_SYND_REMOTE_ACCESS;

		ASSERT_OK(t_ib_pair_open(self->end, DEPTH, T_PAGE));
		wr = t_wr_write(&self->end[0].mr, 0, &self->end[1].mr, 0, 8);
		switch (i) {
		case 0:
			wr.rkey ^= 1;
			break;
		case 1:		/* of another context */
			wr.rkey = other[1].mr.key;
			wr.raddr = other[1].mr.iova;
			break;
		case 2:
			wr.raddr += T_PAGE - 4;
			break;
		case 3:
			wr.sge[0].lkey = other[0].mr.key;
			wr.sge[0].addr = other[0].mr.iova;
			syndrome = GDA_MLX5_SYND_LOCAL_PROT;
			break;
		case 4:
			wr.opcode = GDA_MLX5_DUMP;
			syndrome = GDA_MLX5_SYND_LOCAL_QP_OP;
			break;
		}
		EXPECT_EQ(syndrome, fails(self->end, &wr, &done, &peer)) TH_LOG("case %d", i);
		EXPECT_NE(-ETIMEDOUT, peer) TH_LOG("case %d", i);
		t_pair_close(self->end);
		memset(self->end, 0, sizeof(self->end));
	}
	wr = t_wr_write(&other[0].mr, 0, &other[1].mr, 0, 8);
	EXPECT_OK(t_run(&other[0].qp, &wr, NULL));
	t_pair_close(other);
}

static const uint8_t opcodes[] = {
	GDA_MLX5_WRITE, GDA_MLX5_READ, GDA_MLX5_ATOMIC_FA, GDA_MLX5_ATOMIC_CS,
};

static bool is_granted(uint32_t access, uint8_t opcode, bool remote)
{
	if (!remote)
		return opcode == GDA_MLX5_WRITE || access & GDA_ACCESS_LOCAL_WRITE;
	if (opcode == GDA_MLX5_WRITE)
		return access & GDA_ACCESS_REMOTE_WRITE;
	if (opcode == GDA_MLX5_READ)
		return access & GDA_ACCESS_REMOTE_READ;
	return access & GDA_ACCESS_REMOTE_ATOMIC;
}

static bool is_legal(uint32_t access)
{
	return access & GDA_ACCESS_LOCAL_WRITE ||
	       !(access & (GDA_ACCESS_REMOTE_WRITE | GDA_ACCESS_REMOTE_ATOMIC));
}

/* One opcode between memory with these rights and memory with all, on a pair of its own. */
static int right(struct t_end end[2], uint32_t access, uint8_t opcode, bool remote)
{
	struct t_mr mr, *from = &mr, *to = &mr;
	struct t_done done;
	struct t_wr wr;
	int err;

	err = t_ib_pair_open(end, 16, T_PAGE);
	if (!err)
		err = t_mr_new(end[remote].fd, T_PAGE, access, &mr);
	if (err)
		return err;
	if (remote)
		from = &end[0].mr;
	else
		to = &end[1].mr;
	wr = t_wr_atomic(opcode, from, 0, to, 0, 1, 0);
	memset(from->addr, 0x55, 8);
	err = t_run(&end[0].qp, &wr, &done);
	if (remote && err && !t_all(mr.addr, 0, T_PAGE))
		err = -EBADE;
	t_mr_free(end[remote].fd, &mr);
	t_pair_close(end);
	memset(end, 0, 2 * sizeof(end[0]));
	return err;
}

TEST_F_TIMEOUT(ib, K3_rights_times_opcodes, 300)
{
	for (uint32_t access = 0; access <= GDA_ACCESS_ALL; access++) {
		for (size_t i = 0; is_legal(access) && i < 2 * ARRAY_SIZE(opcodes); i++) {
			uint8_t opcode = opcodes[i / 2];
			bool remote = i % 2;
			int want = remote ? GDA_MLX5_SYND_REMOTE_ACCESS :
					    GDA_MLX5_SYND_LOCAL_PROT;

			if (is_granted(access, opcode, remote))
				want = 0;
			EXPECT_EQ(want, right(self->end, access, opcode, remote))
				TH_LOG("access %#x, opcode %#x, %s", access, opcode,
				       remote ? "remote" : "local");
		}
	}
}

/* Memory without remote rights has a key as well, and each its own, whoever registers it. */
TEST_F(ib, K1_keys_without_remote_rights)
{
	struct t_mr mr[4];
	struct t_wr wr;

	ASSERT_OK(t_ib_pair_open(self->end, DEPTH, T_PAGE));
	for (int i = 0; i < 4; i++)
		ASSERT_OK(t_mr_new(self->end[i % 2].fd, T_PAGE, i < 2 ? 0 : GDA_ACCESS_LOCAL_WRITE,
				   &mr[i]));
	for (int i = 0; i < 4; i++)
		for (int j = 0; j < i; j++)
			EXPECT_NE(mr[i].key, mr[j].key);
	memset(self->end[1].mr.addr, 0x3c, 8);
	wr = t_wr_read(&mr[2], 0, &self->end[1].mr, 0, 8);
	EXPECT_OK(t_run(&self->end[0].qp, &wr, NULL));
	EXPECT_TRUE(t_all(mr[2].addr, 0x3c, 8));
	for (int i = 0; i < 4; i++)
		t_mr_free(self->end[i % 2].fd, &mr[i]);
}

#define QPS	64

/* As user nobody, with a limit of 1 MiB. Return: the line that failed. */
T_CHILD_TEST(ib, O15_queue_pairs_are_charged)
{
	const struct rlimit limit = { 1 << 20, 1 << 20 };
	struct t_qp qp[QPS];
	int fd, n, err = 0;

	CHECK(!setrlimit(RLIMIT_MEMLOCK, &limit) && !t_drop(true));
	fd = t_context_on(T_IB);
	CHECK(fd >= 0);
	for (n = 0; n < QPS && !err; n++)
		err = t_qp_open(&qp[n], fd, 64);
	CHECK(err == -ENOMEM);
	/* each is charged for about 70 KiB of the RDMA driver's, too */
	CHECK(n > 8 && n < 20);
	for (int i = 0; i < n - 1; i++)
		t_qp_close(&qp[i]);
	CHECK(!t_qp_open(&qp[0], fd, 64));
	t_qp_close(&qp[0]);
	close(fd);
	return 0;
}

/* Not one byte changes once a registration is gone. */
TEST_F(ib, K2_deregistered)
{
	unsigned long rounds = t_short(10, 20);

	for (unsigned long r = 0; r < rounds; r++) {
		struct t_mr gone, *to;
		uint64_t last;

		ASSERT_OK(t_ib_pair_open(self->end, DEPTH, LEN));
		to = &self->end[1].mr;
		gone = *to;
		memset(self->end[0].mr.addr, 0xaa, LEN);
		last = t_traffic(&self->end[0].qp, &self->end[0].mr, &gone, false);
		if (r % 2)
			t_sleep_ns(r * 1000000);
		ASSERT_OK(t_destroy(self->end[1].fd, to->handle));
		memset(to->addr, 0x11, LEN);
		EXPECT_NE(-ETIMEDOUT, t_wait(&self->end[0].qp, last, NULL));
		EXPECT_TRUE(t_all(to->addr, 0x11, LEN)) TH_LOG("round %lu", r);
		to->handle = 0;
		t_pair_close(self->end);
		memset(self->end, 0, sizeof(self->end));
	}
}

TEST_HARNESS_MAIN
