// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Numbers at the edge: SECURITY.md S4 (counts and sizes of objects), S6 (addresses
 * and lengths of work requests).
 */
#include <gda/efa.h>
#include "gda_fixture.h"

#define LEN	(4 * T_PAGE)
#define CANARY	0xee

FIXTURE(range) {
	struct t_end end[2];
	struct gda_query query;
};

T_SETUP(range)
{
	ASSERT_OK(t_pair_open(self->end, 16, LEN));
	self->query.size = sizeof(self->query);
	ASSERT_OK(t_ioctl(self->end[0].fd, GDA_IOC_QUERY, &self->query));
}

T_TEARDOWN(range)
{
	t_pair_close(self->end);
}

static int renew(struct t_end end[2])
{
	int err;

	for (int i = 0; i < 2; i++) {
		t_qp_close(&end[i].qp);
		err = t_qp_open(&end[i].qp, end[i].fd, 16);
		if (err)
			return err;
	}
	return t_connect(&end[0].qp, &end[1].qp);
}

static bool power_of_two(uint32_t n)
{
	return n && !(n & (n - 1));
}

TEST_F(range, S4_sq_depth)
{
	uint32_t max = self->query.max_sq_depth;
	const uint32_t depths[] = {
		0, 1, 2, 3, 4, 63, 64, 65, 1023, 1024, max - 1, max, max + 1, 2 * max,
		1U << 24, 1U << 26, 1U << 30, 0x7fffffff, 1U << 31, 0xffffffff,
	};
	int fd = self->end[0].fd;

	for (size_t i = 0; i < ARRAY_SIZE(depths); i++) {
		bool good = power_of_two(depths[i]) && depths[i] <= max;
		struct gda_cq_create cq;
		struct gda_qp_create qp;

		ASSERT_OK(t_cq_create(fd, GDA_CQ_COLLAPSED, 1, &cq));
		EXPECT_EQ(good ? 0 : -EINVAL, t_qp_create(fd, cq.handle, depths[i], &qp))
			TH_LOG("depth %u", depths[i]);
		if (good) {
			EXPECT_GE(qp.sq.length, 64ULL * depths[i]);
			EXPECT_LT(qp.sq.length, 64ULL * depths[i] + T_PAGE);
			EXPECT_OK(t_destroy(fd, qp.handle));
		}
		EXPECT_OK(t_destroy(fd, cq.handle));
	}
}

TEST_F(range, S4_cq_depth)
{
	uint32_t max = self->query.max_cq_depth;
	const uint32_t depths[] = {
		0, 1, 2, 3, 64, 65, max - 1, max, max + 1, 2 * max, 1U << 26, 1U << 30,
		0x7fffffff, 1U << 31, 0xffffffff,
	};
	bool ring = self->query.features[0] & GDA_FEATURE_CQ_RING;
	int fd = self->end[0].fd;
	struct gda_cq_create cq;

	for (size_t i = 0; i < ARRAY_SIZE(depths); i++) {
		bool good = power_of_two(depths[i]) && depths[i] <= max;
		int collapsed = depths[i] == 1 ? 0 : -EINVAL;

		EXPECT_EQ(collapsed,
			  t_cq_create(fd, GDA_CQ_COLLAPSED, depths[i], &cq))
			TH_LOG("collapsed, depth %u", depths[i]);
		if (depths[i] == 1)
			EXPECT_OK(t_destroy(fd, cq.handle));
		if (!ring)
			continue;
		EXPECT_EQ(good ? 0 : -EINVAL, t_cq_create(fd, 0, depths[i], &cq))
			TH_LOG("ring, depth %u", depths[i]);
		if (good)
			EXPECT_OK(t_destroy(fd, cq.handle));
	}
}

/* Every legal depth works to its last slot, with a producer that fills it. */
TEST_F(range, S4_every_depth_works)
{
	uint32_t max = t_speaks_efa() ? T_EFA_MAX_DEPTH : self->query.max_sq_depth;
	struct t_wr nop = { .opcode = GDA_MLX5_NOP, .ce = 0xff };

	for (uint32_t depth = 1; depth <= max; depth *= 2) {
		struct t_qp qp;

		ASSERT_OK(t_qp_open(&qp, self->end[0].fd, depth));
		ASSERT_OK(t_connect(&qp, &qp));
		for (int lap = 0; lap < 3; lap++) {
			uint64_t last = 0;

			for (uint32_t i = 0; i < depth; i++) {
				nop.ce = i + 1 == depth ? GDA_MLX5_CE_ALWAYS : 0xff;
				last = t_post(&qp, &nop);
			}
			t_ring(&qp);
			ASSERT_OK(t_wait(&qp, last, NULL)) TH_LOG("depth %u", depth);
		}
		t_qp_close(&qp);
	}
}

TEST_F(range, S4_mr_length)
{
	uint64_t max = self->query.max_mr_size;
	uint8_t *p = self->end[0].mr.addr;
	int fd = self->end[0].fd;
	const struct {
		uint64_t addr, length;
		int err;
	} cases[] = {
		{ (uintptr_t)p, 0, -EINVAL },
		{ (uintptr_t)p, 1, 0 },
		{ (uintptr_t)p + LEN - 1, 1, 0 },
		{ (uintptr_t)p, max + 1, -EINVAL },
		{ (uintptr_t)p, 1ULL << 63, -EINVAL },
		{ UINT64_MAX, 1, -EOVERFLOW },
		{ UINT64_MAX, 2, -EOVERFLOW },
		{ UINT64_MAX - 4095, 8192, -EOVERFLOW },
		{ UINT64_MAX - 4095, 4095, -EFAULT },
		{ 1ULL << 63, 4096, -EFAULT },
		{ 0, 4096, -EFAULT },
		{ 0x7ffffffff000, 4096, -EFAULT },
		{ 0x7fffffffe000, 16384, -EFAULT },
		{ 0xffff888000000000, 4096, -EFAULT },
		{ 0xffffffff81000000, 4096, -EFAULT },
		{ 0xffffffffff600000, 4096, -EFAULT },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct t_mr mr;
		int err = t_mr_reg_raw(fd, cases[i].addr, cases[i].length,
				       GDA_ACCESS_LOCAL_WRITE, &mr);

		EXPECT_EQ(cases[i].err, err)
			TH_LOG("address %#llx length %#llx", (unsigned long long)cases[i].addr,
			       (unsigned long long)cases[i].length);
		if (!err)
			EXPECT_OK(t_destroy(fd, mr.handle));
	}
	/* Neither a valid nor an EOVERFLOW one: both rules are broken. */
	EXPECT_NE(0, t_mr_reg_raw(fd, (uintptr_t)p, UINT64_MAX, GDA_ACCESS_LOCAL_WRITE, NULL));
}

/* A request of efa may not be as long as one of mlx5, and says so first. */
static bool too_long(uint32_t len, int got)
{
	return t_speaks_efa() && len > GDA_EFA_MAX_MSG && got == GDA_MLX5_SYND_LOCAL_LENGTH;
}

/*
 * Address ranges around an MR: in, out by one at either end, wrapped. Without bytes nothing
 * is looked up (C9-88).
 */
TEST_F(range, S6_address_range)
{
	struct t_end *a = &self->end[0], *b = &self->end[1];
	uint8_t *canary = t_pages(3 * T_PAGE);
	struct t_mr mr;
	uint64_t s, e;

	ASSERT_NE(NULL, canary);
	memset(canary, CANARY, 3 * T_PAGE);
	ASSERT_OK(t_mr_reg(b->fd, canary + T_PAGE + 24, T_PAGE - 40, GDA_ACCESS_ALL, &mr));
	s = mr.iova;
	e = s + mr.len;
	const struct {
		uint64_t addr;
		uint32_t len;
		bool good;
	} cases[] = {
		{ s, 1, true }, { e - 1, 1, true }, { s, T_PAGE - 40, true },
		{ s, 0, true }, { e, 0, true },
		{ s - 1, 1, false }, { s - 1, 2, false }, { e, 1, false }, { e - 1, 2, false },
		{ s, T_PAGE - 39, false }, { s - 1, T_PAGE - 39, false },
		{ s, 0x7fffffff, false }, { s - 1, 0, true }, { e + 1, 0, true },
		{ 0, 1, false }, { 0, 0x7fffffff, false }, { UINT64_MAX, 1, false },
		{ UINT64_MAX, 2, false }, { UINT64_MAX - 7, 8, false },
		{ UINT64_MAX - 7, 16, false }, { s + (1ULL << 32), 8, false },
		{ s | 1ULL << 63, 8, false }, { s - (1ULL << 32), 8, false },
		{ ~s, 8, false }, { 0 - T_PAGE, 8192, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct t_wr wr = t_wr_write(&a->mr, 0, &b->mr, 0, cases[i].len);
		struct t_done done;
		int got;

		wr.raddr = cases[i].addr;
		wr.rkey = mr.key;
		wr.nsge = cases[i].len != 0;
		got = t_run(&a->qp, &wr, &done);
		if (cases[i].good) {
			EXPECT_EQ(0, got) TH_LOG("case %zu", i);
			continue;
		}
		/* A length that one's own MR cannot give is refused here already. */
		EXPECT_TRUE(got == GDA_MLX5_SYND_REMOTE_ACCESS || too_long(cases[i].len, got) ||
			    (cases[i].len > LEN && got == GDA_MLX5_SYND_LOCAL_PROT))
			TH_LOG("case %zu: %#x", i, got);
		EXPECT_TRUE(done.vendor == GDA_MLX5_VENDOR_RANGE || too_long(cases[i].len, got))
			TH_LOG("case %zu", i);
		ASSERT_OK(renew(self->end));
	}
	EXPECT_TRUE(t_all(canary, CANARY, T_PAGE + 24));
	EXPECT_TRUE(t_all(canary + 2 * T_PAGE - 16, CANARY, T_PAGE + 16));
	EXPECT_OK(t_destroy(b->fd, mr.handle));
}

/* The same for the local side of a read, whose target is the requester's memory. */
TEST_F(range, S6_local_range)
{
	struct t_end *a = &self->end[0], *b = &self->end[1];
	uint8_t *canary = t_pages(3 * T_PAGE);
	struct t_mr mr;

	ASSERT_NE(NULL, canary);
	memset(canary, CANARY, 3 * T_PAGE);
	ASSERT_OK(t_mr_reg(a->fd, canary + T_PAGE, T_PAGE, GDA_ACCESS_ALL, &mr));
	const struct {
		uint64_t addr;
		uint32_t len;
	} bad[] = {
		{ mr.iova - 1, 1 }, { mr.iova - 1, 2 }, { mr.iova + T_PAGE, 1 },
		{ mr.iova + T_PAGE - 1, 2 }, { mr.iova, T_PAGE + 1 }, { 0, 8 },
		{ UINT64_MAX, 1 }, { UINT64_MAX, 8 }, { UINT64_MAX - 7, 16 },
		{ mr.iova + (1ULL << 32), 8 }, { mr.iova, 0x7fffffff },
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct t_wr wr = t_wr_read(&mr, 0, &b->mr, 0, bad[i].len);
		struct t_done done;
		int got;

		wr.sge[0].addr = bad[i].addr;
		got = t_run(&a->qp, &wr, &done);
		EXPECT_TRUE(got == GDA_MLX5_SYND_LOCAL_PROT || too_long(bad[i].len, got))
			TH_LOG("case %zu: %#x", i, got);
		EXPECT_TRUE(done.vendor == GDA_MLX5_VENDOR_RANGE || too_long(bad[i].len, got))
			TH_LOG("case %zu", i);
		ASSERT_OK(renew(self->end));
	}
	/* Of two segments, one bad: nothing moves. */
	for (int which = 0; which < 2 && !t_speaks_efa(); which++) {
		struct t_wr wr = t_wr_read(&mr, 0, &b->mr, 0, 64);

		wr.nsge = 2;
		wr.sge[1] = wr.sge[0];
		wr.sge[which].addr = mr.iova + T_PAGE - 63;
		EXPECT_EQ(GDA_MLX5_SYND_LOCAL_PROT, t_run(&a->qp, &wr, NULL));
		ASSERT_OK(renew(self->end));
	}
	EXPECT_TRUE(t_all(canary, CANARY, 3 * T_PAGE));
	EXPECT_OK(t_destroy(a->fd, mr.handle));
}

/* Lengths whose sum is too long, or that mean something else in the format. */
TEST_F(range, S6_lengths)
{
	static const uint32_t lens[][2] = {
		{ 0, 8 }, { 8, 0 }, { 0x7fffffff, 1 }, { 0x7fffffff, 0x7fffffff },
		{ 1, 0x7fffffff }, { 0x40000000, 0x40000000 }, { 8, 0x80000008 },
		{ 8, 0xffffffff },
	};
	struct t_end *a = &self->end[0], *b = &self->end[1];

	T_NEEDS("a second segment");
	for (size_t i = 0; i < ARRAY_SIZE(lens); i++) {
		struct t_wr wr = t_wr_write(&a->mr, 0, &b->mr, 0, lens[i][0]);
		int got;

		wr.nsge = 2;
		wr.sge[1] = wr.sge[0];
		wr.sge[1].len = lens[i][1];
		got = t_run(&a->qp, &wr, NULL);
		EXPECT_EQ(GDA_MLX5_SYND_LOCAL_LENGTH, got)
			TH_LOG("%#x and %#x: %#x", lens[i][0], lens[i][1], got);
		ASSERT_OK(renew(self->end));
	}
	EXPECT_TRUE(t_all(b->mr.addr, 0, LEN));
}

TEST_F(range, S6_inline_lengths)
{
	uint32_t max = self->query.max_inline;
	const uint32_t lens[] = { max + 1, max + 64, 128, 1 << 16, 0x7fffffff };
	struct t_end *a = &self->end[0], *b = &self->end[1];

	for (size_t i = 0; i < ARRAY_SIZE(lens); i++) {
		struct t_wr wr = t_wr_write(&a->mr, 0, &b->mr, 0, 0);
		uint8_t wqe[T_WQE_MAX], data[8] = { 0 };
		uint64_t index;
		__be32 count;

		wr.nsge = 0;
		wr.data = data;
		wr.data_len = sizeof(data);
		t_encode(wqe, &wr, a->qp.next, a->qp.qpc.qpn);
		count = gda_be32(lens[i] | GDA_MLX5_INLINE);
		memcpy(wqe + 32, &count, 4);
		index = t_post_raw(&a->qp, wqe, 1);
		t_ring(&a->qp);
		EXPECT_GT(t_wait(&a->qp, index, NULL), 0) TH_LOG("length %u", lens[i]);
		ASSERT_OK(renew(self->end));
	}
	EXPECT_TRUE(t_all(b->mr.addr, 0, LEN));
}

/* An MR of more than 4 GiB: one small file, mapped over and over. */
TEST_F(range, S4_more_than_4_GiB)
{
	const uint64_t chunk = 4ULL << 20, total = (4ULL << 30) + 2 * chunk;
	struct t_end *a = &self->end[0], *b = &self->end[1];
	int fd = memfd_create("gda", MFD_CLOEXEC);
	struct t_mr mr;
	uint8_t *p;

	if (sizeof(void *) < 8)
		SKIP(return, "no program of 32 bits has so much");
	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, ftruncate(fd, (off_t)chunk));
	p = mmap(NULL, (size_t)total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		 -1, 0);
	ASSERT_NE(MAP_FAILED, p);
	for (uint64_t off = 0; off < total; off += chunk) {
		ASSERT_EQ(p + off, mmap(p + off, chunk, PROT_READ | PROT_WRITE,
					MAP_SHARED | MAP_FIXED, fd, 0));
	}
	/* a read maps 16 pages that are there; a registration would fault a million times */
	memset(p, 0, chunk);
	for (uint64_t off = 0; off < total; off += 16 * T_PAGE)
		(void)*(volatile uint8_t *)(p + off);
	ASSERT_OK(t_mr_reg(b->fd, p, (size_t)total, GDA_ACCESS_ALL, &mr));
	for (int i = 0; i < 4; i++) {
		static const uint64_t at[] = {
			0, (4ULL << 30) - 4, (4ULL << 30) + 8, (4ULL << 30) + (4 << 20) + 16,
		};
		struct t_wr wr = t_wr_write(&a->mr, 0, &mr, at[i], 8);

		memset(a->mr.addr, 0x40 + i, 8);
		ASSERT_OK(t_run(&a->qp, &wr, NULL));
		EXPECT_TRUE(t_all(p + at[i], (uint8_t)(0x40 + i), 8));
	}
	EXPECT_OK(t_destroy(b->fd, mr.handle));
	munmap(p, (size_t)total);
	close(fd);
}

TEST_HARNESS_MAIN
