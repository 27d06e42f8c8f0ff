// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Work requests that no encoder makes: SECURITY.md S5 (opcodes, flags, counts), S7
 * (atomics), and the state after an error: one completion names the first failure, the rest
 * is flushed, no byte was moved, and all other queues work.
 */
#include "gda_fixture.h"

#define LEN	(4 * T_PAGE)
#define DEPTH	16

FIXTURE(wqe) {
	struct t_end end[2];
	struct t_end by[2];		/* bystanders */
	uint64_t rnd;
};

T_SETUP(wqe)
{
	self->rnd = t_seed();
	ASSERT_OK(t_pair_open(self->end, DEPTH, LEN));
	ASSERT_OK(t_pair_open(self->by, DEPTH, LEN));
	memset(self->end[0].mr.addr, 0x11, LEN);
	memset(self->end[1].mr.addr, 0x22, LEN);
}

T_TEARDOWN(wqe)
{
	struct t_wr wr = t_wr_write(&self->by[0].mr, 0, &self->by[1].mr, 0, 8);

	EXPECT_OK(t_run(&self->by[0].qp, &wr, NULL));
	t_pair_close(self->by);
	t_pair_close(self->end);
}

static int renew(FIXTURE_DATA(wqe) *self)
{
	int err;

	for (int i = 0; i < 2; i++) {
		t_qp_close(&self->end[i].qp);
		err = t_qp_open(&self->end[i].qp, self->end[i].fd, DEPTH);
		if (err)
			return err;
	}
	return t_connect(&self->end[0].qp, &self->end[1].qp);
}

static bool untouched(FIXTURE_DATA(wqe) *self)
{
	return t_all(self->end[0].mr.addr, 0x11, LEN) && t_all(self->end[1].mr.addr, 0x22, LEN);
}

/* Post these bytes; what becomes of them. */
static int run_raw(struct t_qp *qp, const uint8_t *wqe, unsigned int slots,
		   struct t_done *done)
{
	uint64_t index = t_post_raw(qp, wqe, slots);

	t_ring(qp);
	return t_wait(qp, index, done);
}

TEST_F(wqe, S5_all_opcodes)
{
	struct t_end *a = &self->end[0], *b = &self->end[1];

	for (int opcode = 0; opcode < 256; opcode++) {
		struct t_wr wr = t_wr_atomic(GDA_MLX5_ATOMIC_FA, &a->mr, 0, &b->mr, 0, 0, 0);
		uint8_t wqe[T_WQE_MAX];
		struct t_done done;
		int got;

		if (opcode == GDA_MLX5_ATOMIC_FA || opcode == GDA_MLX5_ATOMIC_CS ||
		    opcode == GDA_MLX5_MASKED_FA || opcode == GDA_MLX5_MASKED_CS ||
		    opcode == GDA_MLX5_DUMP || opcode == GDA_MLX5_NOP)
			continue;
		t_encode(wqe, &wr, a->qp.next, a->qp.qpc.qpn);
		wqe[3] = (uint8_t)opcode;
		got = run_raw(&a->qp, wqe, 1, &done);
		/* Four segments of an atomic are a bad request of any other opcode. */
		EXPECT_GT(got, 0) TH_LOG("opcode %#x", opcode);
		EXPECT_TRUE(untouched(self)) TH_LOG("opcode %#x", opcode);
		ASSERT_OK(renew(self));
	}
}

/* Every value of the byte of flags: same bytes moved, none refused. */
TEST_F(wqe, S5_all_flags)
{
	struct t_end *a = &self->end[0], *b = &self->end[1];
	struct t_wr nop = { .opcode = GDA_MLX5_NOP };

	for (int flags = 0; flags < 256; flags++) {
		struct t_wr wr = t_wr_write(&a->mr, 0, &b->mr, 0, 8);
		uint8_t wqe[T_WQE_MAX];
		uint64_t last;

		memset(a->mr.addr, flags, 8);
		t_encode(wqe, &wr, a->qp.next, a->qp.qpc.qpn);
		wqe[11] = (uint8_t)flags;
		t_post_raw(&a->qp, wqe, 1);
		last = t_post(&a->qp, &nop);
		t_ring(&a->qp);
		ASSERT_OK(t_wait(&a->qp, last, NULL)) TH_LOG("flags %#x", flags);
		ASSERT_TRUE(t_all(b->mr.addr, (uint8_t)flags, 8)) TH_LOG("flags %#x", flags);
	}
}

/* Bytes that the format ignores may be anything. */
TEST_F(wqe, S5_ignored_bytes)
{
	static const int ignored[] = { 8, 9, 10, 12, 13, 14, 15, 28, 29, 30, 31 };
	struct t_end *a = &self->end[0], *b = &self->end[1];

	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++) {
		struct t_wr wr = t_wr_write(&a->mr, 0, &b->mr, 0, 8);
		uint8_t wqe[T_WQE_MAX];

		t_encode(wqe, &wr, a->qp.next, a->qp.qpc.qpn);
		wqe[ignored[i]] = 0xff;
		EXPECT_OK(run_raw(&a->qp, wqe, 1, NULL)) TH_LOG("byte %d", ignored[i]);
	}
}

/* A NOP has any number of segments; a write or read without bytes needs no key. */
static bool legal_of_zeros(uint8_t opcode, unsigned int ds)
{
	if (opcode == GDA_MLX5_NOP)
		return ds > 0;
	return (opcode == GDA_MLX5_WRITE || opcode == GDA_MLX5_READ) && ds == 2;
}

TEST_F(wqe, S5_all_segment_counts)
{
	static const uint8_t opcodes[] = {
		GDA_MLX5_NOP, GDA_MLX5_WRITE, GDA_MLX5_READ, GDA_MLX5_ATOMIC_FA,
		GDA_MLX5_ATOMIC_CS,
	};
	struct t_end *a = &self->end[0];

	for (size_t i = 0; i < ARRAY_SIZE(opcodes); i++) {
		for (unsigned int ds = 0; ds < 64; ds++) {
			struct t_wr nop = { .opcode = GDA_MLX5_NOP };
			uint8_t wqe[T_WQE_MAX] = { 0 };
			struct t_done done;
			int got;

			t_encode(wqe, &nop, a->qp.next, a->qp.qpc.qpn);
			wqe[3] = opcodes[i];
			wqe[7] = (uint8_t)ds;
			got = run_raw(&a->qp, wqe, t_slots(ds), &done);
			if (legal_of_zeros(opcodes[i], ds)) {
				EXPECT_EQ(0, got) TH_LOG("opcode %#x ds %u", opcodes[i], ds);
				continue;
			}
			EXPECT_GT(got, 0) TH_LOG("opcode %#x ds %u", opcodes[i], ds);
			EXPECT_TRUE(untouched(self));
			ASSERT_OK(renew(self));
		}
	}
}

/* A request longer than what is published is none. */
TEST_F(wqe, S5_longer_than_published)
{
	struct t_end *a = &self->end[0], *b = &self->end[1];
	struct t_wr wr = t_wr_write(&a->mr, 0, &b->mr, 0, 0);
	uint8_t data[40] = { 0 };
	struct t_done done;
	uint64_t index;

	wr.nsge = 0;
	wr.data = data;
	wr.data_len = sizeof(data);
	index = t_post(&a->qp, &wr);
	t_ring_index(&a->qp, index + 1);
	EXPECT_GT(t_wait(&a->qp, index, &done), 0);
	EXPECT_EQ(GDA_MLX5_VENDOR_DS, done.first_vendor);
	EXPECT_TRUE(untouched(self));
}

/* The entry must say which it is: index and queue. */
TEST_F(wqe, S5_not_this_slots_entry)
{
	struct t_end *a = &self->end[0];

	for (int byte = 1; byte < 7; byte++) {
		struct t_wr nop = { .opcode = GDA_MLX5_NOP };
		uint8_t wqe[T_WQE_MAX];
		struct t_done done;

		if (byte == 3)
			continue;
		for (int bit = 0; bit < 8; bit++) {
			t_encode(wqe, &nop, a->qp.next, a->qp.qpc.qpn);
			wqe[byte] ^= (uint8_t)(1U << bit);
			EXPECT_GT(run_raw(&a->qp, wqe, 1, &done), 0)
				TH_LOG("byte %d bit %d", byte, bit);
			EXPECT_EQ(GDA_MLX5_VENDOR_INDEX, done.first_vendor);
			ASSERT_OK(renew(self));
		}
	}
}

/* Random bytes behind a valid first word. */
TEST_F(wqe, S5_random_requests)
{
	struct t_end *a = &self->end[0], *b = &self->end[1];
	unsigned long rounds = t_short(120, 1000), good = 0;

	for (unsigned long i = 0; i < rounds; i++) {
		struct t_wr wr = t_wr_write(&a->mr, 0, &b->mr, 8 * (i % 8), 8);
		uint8_t wqe[T_WQE_MAX];
		unsigned int flips = 1 + (unsigned int)(t_random(&self->rnd) % 3);
		int got;

		if (i % 4 == 1)
			wr.opcode = GDA_MLX5_READ;
		else if (i % 4 == 2)
			wr = t_wr_atomic(GDA_MLX5_ATOMIC_CS, &a->mr, 64, &b->mr, 64, 1, 2);
		t_encode(wqe, &wr, a->qp.next, a->qp.qpc.qpn);
		while (flips--)
			wqe[t_random(&self->rnd) % 64] ^=
				(uint8_t)(1U << t_random(&self->rnd) % 8);
		wqe[11] |= GDA_MLX5_CE_ALWAYS;
		got = run_raw(&a->qp, wqe, 1, NULL);
		ASSERT_GE(got, 0);
		good += !got;
		if (got)
			ASSERT_OK(renew(self));
	}
	TH_LOG("%lu of %lu mutants were legal", good, rounds);
	EXPECT_GT(good, 0UL);
}

static const uint8_t atomics[] = { GDA_MLX5_ATOMIC_FA, GDA_MLX5_ATOMIC_CS };

TEST_F(wqe, S7_misaligned)
{
	struct t_end *a = &self->end[0], *b = &self->end[1];

	for (size_t i = 0; i < ARRAY_SIZE(atomics); i++) {
		for (uint64_t off = T_PAGE - 8; off < T_PAGE + 8; off++) {
			struct t_wr wr = t_wr_atomic(atomics[i], &a->mr, 0, &b->mr, off, 1,
						     0x2222222222222222ULL);
			struct t_done done;

			if (off % 8 == 0)
				continue;
			EXPECT_EQ(GDA_MLX5_SYND_REMOTE_INVAL_REQ, t_run(&a->qp, &wr, &done))
				TH_LOG("offset %llu", (unsigned long long)off);
			EXPECT_EQ(GDA_MLX5_VENDOR_ALIGN, done.vendor);
			EXPECT_TRUE(untouched(self));
			ASSERT_OK(renew(self));
		}
	}
}

/* An aligned address over misaligned memory: never a split lock. */
TEST_F(wqe, S7_misaligned_memory_under_aligned_iova)
{
	struct t_end *a = &self->end[0], *b = &self->end[1];

	for (uint64_t skew = 1; skew < 8; skew++) {
		struct gda_mr_reg_user reg = {
			.size = sizeof(reg), .flags = GDA_MR_ZERO_BASED,
			.addr = (uintptr_t)b->mr.addr + T_PAGE - 8 + skew,
			.length = 64, .access = GDA_ACCESS_ALL,
		};
		struct t_mr mr = { .len = 64 };
		struct t_wr wr;

		ASSERT_OK(t_ioctl(b->fd, GDA_IOC_MR_REG_USER, &reg));
		ASSERT_EQ(0, reg.iova);
		mr.key = reg.key;
		for (uint64_t off = 0; off < 16; off += 8) {
			wr = t_wr_atomic(GDA_MLX5_ATOMIC_FA, &a->mr, 0, &mr, off, 1, 0);
			EXPECT_GT(t_run(&a->qp, &wr, NULL), 0)
				TH_LOG("skew %llu", (unsigned long long)skew);
			EXPECT_TRUE(untouched(self));
			ASSERT_OK(renew(self));
		}
		ASSERT_OK(t_destroy(b->fd, reg.handle));
	}
}

TEST_F(wqe, S7_wrong_size_of_result)
{
	static const uint32_t sizes[] = { 0, 1, 4, 7, 9, 16, 0x7fffffff, 0x80000008 };
	struct t_end *a = &self->end[0], *b = &self->end[1];

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct t_wr wr = t_wr_atomic(GDA_MLX5_ATOMIC_FA, &a->mr, 0, &b->mr, 0, 1, 0);
		struct t_done done;

		wr.sge[0].len = sizes[i];
		EXPECT_EQ(GDA_MLX5_SYND_LOCAL_LENGTH, t_run(&a->qp, &wr, &done))
			TH_LOG("size %#x", sizes[i]);
		EXPECT_TRUE(untouched(self));
		ASSERT_OK(renew(self));
	}
}

/* The result may lie anywhere, over a page border too. */
TEST_F(wqe, S7_result_anywhere)
{
	struct t_end *a = &self->end[0], *b = &self->end[1];
	uint64_t old;

	for (uint64_t off = T_PAGE - 9; off < T_PAGE + 9; off++) {
		struct t_wr wr = t_wr_atomic(GDA_MLX5_ATOMIC_FA, &a->mr, off, &b->mr, 0, 1, 0);
		uint64_t before;

		memcpy(&before, b->mr.addr, 8);
		ASSERT_OK(t_run(&a->qp, &wr, NULL));
		memcpy(&old, a->mr.addr + off, 8);
		EXPECT_EQ(before, old);
	}
}

/* The first failure is named for ever; what follows is flushed, each and counted. */
TEST_F(wqe, error_then_flush)
{
	struct t_end *a = &self->end[0], *b = &self->end[1];
	struct t_mr bad = b->mr;
	struct gda_qp_query q;
	struct t_done done;
	uint64_t last = 0;

	bad.key ^= 1;
	for (int i = 0; i < 10; i++) {
		struct t_wr wr = t_wr_write(&a->mr, 0, i == 4 ? &bad : &b->mr, 8 * (uint64_t)i, 8);

		wr.ce = 0xff;
		last = t_post(&a->qp, &wr);
	}
	t_ring(&a->qp);
	EXPECT_EQ(GDA_MLX5_SYND_WR_FLUSH, t_wait(&a->qp, last, &done));
	EXPECT_EQ(9, done.counter);
	EXPECT_EQ(4, done.first_error);
	EXPECT_EQ(GDA_MLX5_SYND_REMOTE_ACCESS, done.first_syndrome);
	EXPECT_EQ(GDA_MLX5_VENDOR_KEY, done.first_vendor);
	EXPECT_TRUE(t_all(b->mr.addr, 0x11, 32));
	EXPECT_TRUE(t_all(b->mr.addr + 32, 0x22, LEN - 32));

	ASSERT_OK(t_qp_query(a->fd, a->qp.qpc.handle, &q));
	EXPECT_EQ((uint32_t)GDA_QP_ERROR, q.state);
	EXPECT_EQ((uint32_t)GDA_MLX5_SYND_REMOTE_ACCESS, q.syndrome);
	EXPECT_EQ((uint32_t)GDA_MLX5_VENDOR_KEY, q.vendor);
	EXPECT_EQ(4, q.error_index);
	EXPECT_EQ(4, q.executed);
	EXPECT_EQ(5, q.flushed);
	EXPECT_EQ(10, q.consumer);
	EXPECT_EQ(10, q.producer);

	/* Posting goes on being answered, for ever. */
	for (int i = 0; i < 3 * DEPTH; i++) {
		struct t_wr wr = t_wr_write(&a->mr, 0, &b->mr, 64, 8);

		EXPECT_EQ(GDA_MLX5_SYND_WR_FLUSH, t_run(&a->qp, &wr, &done));
		EXPECT_EQ(4, done.first_error);
		EXPECT_EQ(GDA_MLX5_SYND_REMOTE_ACCESS, done.first_syndrome);
	}
	EXPECT_TRUE(t_all(b->mr.addr + 32, 0x22, LEN - 32));
	/* The target's QP is whole, and the error is final. */
	ASSERT_OK(t_qp_query(b->fd, b->qp.qpc.handle, &q));
	EXPECT_EQ((uint32_t)GDA_QP_READY, q.state);
	EXPECT_EQ(-EALREADY, t_qp_connect(a->fd, a->qp.qpc.handle, b->fd, b->qp.qpc.handle));
}

/* Garbage that is flushed is still only garbage: no slot is skipped or repeated. */
TEST_F(wqe, flush_of_garbage)
{
	struct t_end *a = &self->end[0];
	uint8_t junk[DEPTH * 64];
	struct gda_qp_query q;

	for (int round = 0; round < 50; round++) {
		uint64_t index;

		for (size_t i = 0; i < sizeof(junk); i++)
			junk[i] = (uint8_t)t_random(&self->rnd);
		index = t_post_raw(&a->qp, junk, DEPTH);
		t_ring(&a->qp);
		ASSERT_NE(-ETIMEDOUT, t_wait(&a->qp, index, NULL));
		for (int i = 0; i < 1000; i++) {
			ASSERT_OK(t_qp_query(a->fd, a->qp.qpc.handle, &q));
			if (q.consumer == a->qp.next)
				break;
			t_sleep_ns(1000000);
		}
		ASSERT_EQ(a->qp.next, q.consumer);
	}
	EXPECT_TRUE(untouched(self));
}

TEST_HARNESS_MAIN
