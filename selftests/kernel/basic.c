// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Every opcode moves exactly the bytes it names: against a model, over two contexts
 * and over a QP connected to itself, at random places and sizes, around the ring
 * many times, rung in every way that a legal producer may.
 */
#include <gda/efa.h>
#include "gda_fixture.h"

#define LEN	(3UL << 20)
#define DEPTH	64

FIXTURE(basic) {
	struct t_end end[2];
	uint8_t *model[2];
	uint64_t rnd;
};

T_SETUP(basic)
{
	self->rnd = t_seed();
	TH_LOG("GDA_SEED=%#llx", (unsigned long long)self->rnd);
	ASSERT_OK(t_pair_open(self->end, DEPTH, LEN));
	for (int i = 0; i < 2; i++) {
		uint64_t *fill = (void *)self->end[i].mr.addr;

		for (size_t k = 0; k < LEN / 8; k++)
			fill[k] = t_random(&self->rnd);
		self->model[i] = t_pages(LEN);
		ASSERT_NE(NULL, self->model[i]);
		memcpy(self->model[i], fill, LEN);
	}
}

T_TEARDOWN(basic)
{
	t_pair_close(self->end);
}

#define EXPECT_MODEL() do {							\
	for (int i_ = 0; i_ < 2; i_++)						\
		EXPECT_EQ(0, memcmp(self->model[i_], self->end[i_].mr.addr, LEN));	\
} while (0)

TEST_F(basic, nop_completes)
{
	struct t_wr nop = { .opcode = GDA_MLX5_NOP };
	struct t_done done;

	for (int i = 0; i < 3 * DEPTH; i++) {
		ASSERT_OK(t_run(&self->end[0].qp, &nop, &done));
		ASSERT_EQ((uint16_t)i, done.counter);
	}
	EXPECT_MODEL();
}

/* A caller that knows no dialects of CQs gets the one that there was before. */
TEST_F(basic, dialect_of_a_cq)
{
	static const struct {
		uint32_t dialect, stride;
		size_t size;
		int err;
	} rows[] = {
		{ 0, 0, offsetof(struct gda_cq_create, dialect), 0 },
		{ 0, 0, sizeof(struct gda_cq_create), 0 },
		{ GDA_DIALECT_MLX5, 0, sizeof(struct gda_cq_create), 0 },
		{ GDA_DIALECT_EFA, 0, sizeof(struct gda_cq_create), -EINVAL },
		{ GDA_DIALECT_EFA + 1, 0, sizeof(struct gda_cq_create), -EOPNOTSUPP },
		{ ~0U, 0, sizeof(struct gda_cq_create), -EOPNOTSUPP },
		{ 0, GDA_MLX5_SLOT_BYTES, sizeof(struct gda_cq_create), 0 },
		{ 0, 1, sizeof(struct gda_cq_create), -EINVAL },
		{ 0, 2 * GDA_MLX5_SLOT_BYTES, sizeof(struct gda_cq_create), -EINVAL },
	};
	struct t_wr nop = { .opcode = GDA_MLX5_NOP };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct gda_cq_create cq = {
			.size = (uint32_t)rows[i].size, .flags = GDA_CQ_COLLAPSED, .depth = 1,
			.dialect = rows[i].dialect, .stride = rows[i].stride,
		};
		struct t_qp qp;

		ASSERT_EQ(rows[i].err, t_ioctl(self->end[0].fd, GDA_IOC_CQ_CREATE, &cq))
			TH_LOG("row %zu", i);
		if (rows[i].err)
			continue;
		ASSERT_OK(t_qp_open_on(&qp, self->end[0].fd, DEPTH, &cq));
		ASSERT_OK(t_connect(&qp, &qp));
		ASSERT_OK(t_run(&qp, &nop, NULL));
		t_qp_close(&qp);
	}
}

TEST_F(basic, nop_of_two_segments)
{
	struct t_wr nop = { .opcode = GDA_MLX5_NOP };
	struct t_qp *qp = &self->end[0].qp;
	uint8_t wqe[T_WQE_MAX];
	uint64_t index;

	T_NEEDS("GDA_MLX5_NOP");
	t_encode(wqe, &nop, qp->next, qp->qpc.qpn);
	wqe[7] = 2;
	memset(wqe + 16, 0xa5, 16);
	index = t_post_raw(qp, wqe, 1);
	t_ring(qp);
	EXPECT_OK(t_wait(qp, index, NULL));
}

/* One put and one get of @len bytes at random places, checked byte for byte. */
static int put_and_get(FIXTURE_DATA(basic) *self, int from, uint32_t len)
{
	struct t_end *a = &self->end[from], *b = &self->end[!from];
	uint64_t src = t_random(&self->rnd) % (LEN - len);
	uint64_t dst = t_random(&self->rnd) % (LEN - len);
	struct t_wr wr = t_wr_write(&a->mr, src, &b->mr, dst, len);
	int err = t_run(&a->qp, &wr, NULL);

	if (err)
		return err;
	memcpy(self->model[!from] + dst, self->model[from] + src, len);

	src = t_random(&self->rnd) % (LEN - len);
	dst = t_random(&self->rnd) % (LEN - len);
	wr = t_wr_read(&a->mr, dst, &b->mr, src, len);
	err = t_run(&a->qp, &wr, NULL);
	if (err)
		return err;
	memcpy(self->model[from] + dst, self->model[!from] + src, len);
	return 0;
}

TEST_F(basic, write_and_read_sizes)
{
	static const uint32_t sizes[] = {
		1, 2, 3, 7, 8, 31, 63, 64, 65, 127, 256, 4095, 4096, 4097, 8191,
		8192, 8193, 65535, 65536, 65537, (1 << 20) - 1, 1 << 20, (1 << 20) + 3,
	};

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		ASSERT_OK(put_and_get(self, i & 1, sizes[i]))
			TH_LOG("size %u", sizes[i]);
		ASSERT_OK(put_and_get(self, !(i & 1), sizes[i]))
			TH_LOG("size %u", sizes[i]);
	}
	EXPECT_MODEL();
}

TEST_F(basic, write_and_read_random)
{
	unsigned long rounds = t_short(100, 1000);

	for (unsigned long i = 0; i < rounds; i++) {
		uint32_t len = (uint32_t)(t_random(&self->rnd) >>
					  (50 + t_random(&self->rnd) % 14));

		ASSERT_OK(put_and_get(self, (int)(i & 1), len ? len : 1))
			TH_LOG("round %lu size %u", i, len);
	}
	EXPECT_MODEL();
}

/* Whole pages at every offset of the pages' own borders. */
TEST_F(basic, page_borders)
{
	struct t_end *a = &self->end[0], *b = &self->end[1];

	for (uint32_t off = 0; off < 4; off++) {
		for (uint32_t len = 4094; len < 4099; len++) {
			uint64_t src = 4 * T_PAGE - off, dst = 9 * T_PAGE - 2 + off;
			struct t_wr wr = t_wr_write(&a->mr, src, &b->mr, dst, len);

			ASSERT_OK(t_run(&a->qp, &wr, NULL));
			memcpy(self->model[1] + dst, self->model[0] + src, len);
		}
	}
	EXPECT_MODEL();
}

TEST_F(basic, two_segments)
{
	struct t_end *a = &self->end[0], *b = &self->end[1];

	T_NEEDS("a second segment");
	for (int i = 0; i < 200; i++) {
		uint32_t l0 = 1 + (uint32_t)(t_random(&self->rnd) % 9000);
		uint32_t l1 = 1 + (uint32_t)(t_random(&self->rnd) % 9000);
		uint64_t s0 = t_random(&self->rnd) % (LEN / 2 - 9000);
		uint64_t s1 = LEN / 2 + t_random(&self->rnd) % (LEN / 2 - 9000);
		uint64_t d = t_random(&self->rnd) % (LEN - 18000);
		struct t_wr wr = i & 1 ? t_wr_read(&a->mr, s0, &b->mr, d, l0)
				       : t_wr_write(&a->mr, s0, &b->mr, d, l0);

		wr.nsge = 2;
		wr.sge[1].addr = a->mr.iova + s1;
		wr.sge[1].lkey = a->mr.key;
		wr.sge[1].len = l1;
		ASSERT_OK(t_run(&a->qp, &wr, NULL));
		if (i & 1) {
			memcpy(self->model[0] + s0, self->model[1] + d, l0);
			memcpy(self->model[0] + s1, self->model[1] + d + l0, l1);
		} else {
			memcpy(self->model[1] + d, self->model[0] + s0, l0);
			memcpy(self->model[1] + d + l0, self->model[0] + s1, l1);
		}
	}
	EXPECT_MODEL();
}

TEST_F(basic, inline_up_to_max)
{
	struct gda_query query = { .size = sizeof(query) };
	struct t_end *a = &self->end[0], *b = &self->end[1];
	uint8_t data[T_WQE_MAX];
	uint32_t max;

	ASSERT_OK(t_ioctl(a->fd, GDA_IOC_QUERY, &query));
	ASSERT_GE(query.max_inline, 8U);
	ASSERT_LE(query.max_inline, sizeof(data));
	max = t_speaks_efa() ? GDA_EFA_MAX_INLINE : query.max_inline;
	for (uint32_t len = 1; len <= max; len++) {
		uint64_t dst = t_random(&self->rnd) % (LEN - len);
		struct t_wr wr = t_wr_write(&a->mr, 0, &b->mr, dst, len);

		for (uint32_t k = 0; k < len; k++)
			data[k] = (uint8_t)t_random(&self->rnd);
		wr.nsge = 0;
		wr.data = data;
		wr.data_len = len;
		ASSERT_OK(t_run(&a->qp, &wr, NULL))
			TH_LOG("length %u", len);
		memcpy(self->model[1] + dst, data, len);
	}
	EXPECT_MODEL();
}

/* A request that moves nothing says so and touches nothing, whatever it names. */
TEST_F(basic, zero_bytes)
{
	struct t_end *a = &self->end[0], *b = &self->end[1];
	struct t_wr wr = t_wr_write(&a->mr, 5, &b->mr, 7, 0);

	wr.nsge = 0;
	wr.data = "";
	EXPECT_OK(t_run(&a->qp, &wr, NULL));
	wr.data = NULL;
	EXPECT_OK(t_run(&a->qp, &wr, NULL));
	wr.opcode = GDA_MLX5_READ;
	EXPECT_OK(t_run(&a->qp, &wr, NULL));
	/* no key is looked at where no byte moves */
	wr.rkey = ~0U;
	EXPECT_OK(t_run(&a->qp, &wr, NULL));
	wr.opcode = GDA_MLX5_WRITE;
	EXPECT_OK(t_run(&a->qp, &wr, NULL));
	EXPECT_MODEL();
}

static uint64_t get64(const void *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static void put64(void *p, uint64_t v)
{
	memcpy(p, &v, sizeof(v));
}

TEST_F(basic, atomics)
{
	struct t_end *a = &self->end[0], *b = &self->end[1];

	T_NEEDS("GDA_CAN_ATOMIC");
	for (int i = 0; i < 400; i++) {
		uint64_t res = 8 * (t_random(&self->rnd) % (LEN / 8));
		uint64_t tgt = 8 * (t_random(&self->rnd) % (LEN / 8));
		uint64_t old = get64(self->model[1] + tgt);
		uint64_t val = t_random(&self->rnd);
		uint64_t cmp = i & 2 ? old : t_random(&self->rnd);
		struct t_wr wr = t_wr_atomic(i & 1 ? GDA_MLX5_ATOMIC_CS : GDA_MLX5_ATOMIC_FA,
					     &a->mr, res, &b->mr, tgt, val, cmp);

		ASSERT_OK(t_run(&a->qp, &wr, NULL));
		if (!(i & 1))
			put64(self->model[1] + tgt, old + val);
		else if (cmp == old)
			put64(self->model[1] + tgt, val);
		put64(self->model[0] + res, old);
	}
	EXPECT_MODEL();
}

/* Completion of the last of a batch covers all before it, in order. */
TEST_F(basic, batches_unsignaled)
{
	struct t_end *a = &self->end[0], *b = &self->end[1];
	struct gda_qp_query query;
	struct t_done done;
	uint64_t count = 0;

	for (int round = 0; round < 100; round++) {
		unsigned int n = 1 + (unsigned int)(t_random(&self->rnd) % DEPTH);
		uint64_t last = 0;

		for (unsigned int i = 0; i < n; i++) {
			struct t_wr wr = t_wr_write(&a->mr, 8 * i, &b->mr, 64, 8);

			put64(a->mr.addr + 8 * i, count);
			put64(self->model[0] + 8 * i, count++);
			wr.ce = i + 1 == n ? GDA_MLX5_CE_ALWAYS : 0xff;
			last = t_post(&a->qp, &wr);
		}
		t_ring(&a->qp);
		ASSERT_OK(t_wait(&a->qp, last, &done));
		ASSERT_EQ((uint16_t)last, done.counter);
		put64(self->model[1] + 64, count - 1);
		ASSERT_EQ(count - 1, get64(b->mr.addr + 64));
	}
	EXPECT_MODEL();
	ASSERT_OK(t_qp_query(a->fd, a->qp.qpc.handle, &query));
	EXPECT_EQ(count, query.executed);
	EXPECT_EQ(count, query.consumer);
	EXPECT_EQ(count * 8, query.bytes);
	EXPECT_EQ((uint32_t)GDA_QP_READY, query.state);
}

/* The index space goes around: more than 2^16 slots, of one and of two. */
TEST_F(basic, index_wraps)
{
	uint8_t data[44] = { 0 };
	struct t_end *a = &self->end[0], *b = &self->end[1];
	uint64_t goal = 70000, last = 0;

	for (unsigned int i = 0; a->qp.next < goal; i++) {
		struct t_wr wr = t_wr_write(&a->mr, 0, &b->mr, 128, 8);

		if (i % 3 == 2) {
			wr.nsge = 0;
			wr.data = data;
			wr.data_len = sizeof(data);
			put64(data, i);
		} else {
			put64(a->mr.addr, i);
		}
		if (i % 32 != 31)
			wr.ce = 0xff;
		last = t_post(&a->qp, &wr);
		if (i % 32 != 31)
			continue;
		t_ring(&a->qp);
		ASSERT_OK(t_wait(&a->qp, last, NULL))
			TH_LOG("slot %llu", (unsigned long long)last);
		ASSERT_EQ(i, get64(b->mr.addr + 128));
	}
}

/* A QP connected to itself. */
TEST_F(basic, self_connected)
{
	struct t_qp qp;
	struct t_wr wr;

	ASSERT_OK(t_qp_open(&qp, self->end[0].fd, 16));
	ASSERT_OK(t_connect(&qp, &qp));
	for (int i = 0; i < 100; i++) {
		uint32_t len = 1 + (uint32_t)(t_random(&self->rnd) % 5000);
		uint64_t src = t_random(&self->rnd) % (LEN / 2 - len);
		uint64_t dst = LEN / 2 + t_random(&self->rnd) % (LEN / 2 - len);

		wr = t_wr_write(&self->end[0].mr, src, &self->end[0].mr, dst, len);
		ASSERT_OK(t_run(&qp, &wr, NULL));
		memcpy(self->model[0] + dst, self->model[0] + src, len);
	}
	EXPECT_MODEL();
	t_qp_close(&qp);
}

/* Overlapping source and target are the program's problem, not the kernel's. */
TEST_F(basic, overlap_is_survived)
{
	struct t_qp qp;
	struct t_wr wr;

	ASSERT_OK(t_qp_open(&qp, self->end[0].fd, 16));
	ASSERT_OK(t_connect(&qp, &qp));
	for (uint64_t off = 0; off < 64; off++) {
		wr = t_wr_write(&self->end[0].mr, off, &self->end[0].mr, 32, 100000);
		ASSERT_OK(t_run(&qp, &wr, NULL));
	}
	EXPECT_EQ(0, memcmp(self->model[0] + 100200, self->end[0].mr.addr + 100200,
			    LEN - 100200));
	t_qp_close(&qp);
}

/* Producers that ring only the doorbell (as with NO_DBR), past the wrap. */
TEST_F(basic, doorbell_alone)
{
	struct t_wr nop = { .opcode = GDA_MLX5_NOP };
	struct t_qp *qp = &self->end[0].qp;

	T_NEEDS("GDA_REGION_DBREC");
	while (qp->next < 70000) {
		uint64_t last = 0;

		for (int i = 0; i < DEPTH; i++)
			last = t_post(qp, &nop);
		__atomic_store_n(qp->db, gda_mlx5_doorbell(qp->next, qp->qpc.qpn),
				 __ATOMIC_RELEASE);
		ASSERT_OK(t_wait(qp, last, NULL));
	}
}

/* Ring early, write the record, ring again; older values after newer ones. */
TEST_F(basic, doorbell_may_be_stale)
{
	struct t_wr nop = { .opcode = GDA_MLX5_NOP };
	struct t_qp *qp = &self->end[0].qp;

	T_NEEDS("GDA_REGION_DBREC");
	for (int i = 0; i < 300; i++) {
		uint64_t last = t_post(qp, &nop);
		uint64_t back = t_random(&self->rnd) % 40;

		t_ring(qp);
		ASSERT_OK(t_wait(qp, last, NULL));
		t_ring_index(qp, qp->next > back ? qp->next - back : 0);
	}
	ASSERT_EQ(-ETIMEDOUT, t_wait_state(qp, GDA_QP_READY, T_NS / 20));
}

TEST_HARNESS_MAIN
