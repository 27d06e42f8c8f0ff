// SPDX-License-Identifier: MIT
/*
 * Every operation of the fast path moves exactly the bytes it names: against a model,
 * between two contexts and in one, in both sharing modes, in batches of all sizes.
 */
#include <gda/masked_atomic.h>
#include "suite.h"

#define LEN	(3U << 20)
#define HALF	(LEN / 2)
#define DEPTH	64
/* Inline, at most: other work goes in between. */
#define INLINE_MOST	600

FIXTURE(data) {
	struct s_end end[2];
	uint8_t *model[2];
	uint64_t rnd;
	uint64_t extra;		/* slots beyond the first of each piece of work */
};

FIXTURE_VARIANT(data) {
	unsigned int mode;
};

FIXTURE_VARIANT_ADD(data, shared) { .mode = 0 };
FIXTURE_VARIANT_ADD(data, exclusive) { .mode = GDA_EXCLUSIVE };

FIXTURE_SETUP(data)
{
	int i, k;

	self->rnd = s_seed();
	TH_LOG("GDA_SEED=%#llx", (unsigned long long)self->rnd);
	ASSERT_OK(s_pair_open(self->end, DEPTH, LEN));
	for (i = 0; i < 2; i++) {
		uint64_t *fill = (void *)self->end[i].mem.addr;

		for (k = 0; k < (int)(LEN / 8); k++)
			fill[k] = s_random(&self->rnd);
		self->model[i] = s_pages(LEN);
		ASSERT_NE(NULL, self->model[i]);
		memcpy(self->model[i], fill, LEN);
	}
}

FIXTURE_TEARDOWN(data)
{
	s_pair_close(self->end);
	munmap(self->model[0], LEN);
	munmap(self->model[1], LEN);
}

#define EXPECT_MODEL() do {							\
	EXPECT_EQ(0, memcmp(self->model[0], self->end[0].mem.addr, LEN));	\
	EXPECT_EQ(0, memcmp(self->model[1], self->end[1].mem.addr, LEN));	\
} while (0)

/* One put and one get of @len bytes between random places. */
static int put_and_get(FIXTURE_DATA(data) *self, unsigned int mode, int from, uint32_t len)
{
	struct s_end *a = &self->end[from], *b = &self->end[!from];
	uint64_t src = s_below(&self->rnd, LEN - len + 1);
	uint64_t dst = s_below(&self->rnd, LEN - len + 1);
	int err = gda_wait(a->v, s_put(a, src, b, dst, len, mode), 0);

	if (err)
		return err;
	memcpy(self->model[!from] + dst, self->model[from] + src, len);
	src = s_below(&self->rnd, LEN - len + 1);
	dst = s_below(&self->rnd, LEN - len + 1);
	err = gda_wait(a->v, s_get(a, dst, b, src, len, mode), 0);
	if (err)
		return err;
	memcpy(self->model[from] + dst, self->model[!from] + src, len);
	return 0;
}

TEST_F(data, sizes)
{
	static const uint32_t sizes[] = {
		0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 31, 63, 64, 65, 127, 4095, 4096, 4097,
		8191, 8193, 65535, 65536, 65537, (256 << 10) + 1, 1 << 20, (1 << 20) + 3,
	};
	unsigned int i;

	for (i = 0; i < 2 * sizeof(sizes) / sizeof(sizes[0]); i++)
		ASSERT_OK(put_and_get(self, variant->mode, i & 1, sizes[i / 2]))
			TH_LOG("size %u", sizes[i / 2]);
	EXPECT_MODEL();
}

TEST_F(data, every_alignment)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];
	uint32_t s, d, len;

	for (s = 0; s < 16; s++) {
		for (d = 0; d < 16; d++) {
			int64_t ticket = 0;

			for (len = 0; len < 20; len++) {
				uint64_t at = 4096 - 10 + 32 * len + d;

				ticket = s_put(a, 100 + s, b, at, len, variant->mode | GDA_DEFER);
				memcpy(self->model[1] + at, self->model[0] + 100 + s, len);
			}
			ASSERT_OK(gda_wait(a->v, ticket, 0));
		}
	}
	EXPECT_MODEL();
}

static void put64(uint8_t *p, uint64_t v)
{
	memcpy(p, &v, sizeof(v));
}

static uint64_t get64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/*
 * Random work of end 0. Local memory: the lower half is only read by work, the upper
 * half only written; so a batch has one result whatever its local order.
 */
static uint32_t random_size(uint64_t *rnd)
{
	uint32_t len = (uint32_t)(s_random(rnd) >> (46 + s_random(rnd) % 18));

	return s_below(rnd, 64) ? len : len / 2 * 5;		/* up to 640 KiB */
}

static int64_t random_put(FIXTURE_DATA(data) *self, unsigned int flags)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];
	uint32_t len = random_size(&self->rnd);
	uint64_t src = s_below(&self->rnd, HALF - len + 1);
	uint64_t dst = s_below(&self->rnd, LEN - len + 1);

	memcpy(self->model[1] + dst, self->model[0] + src, len);
	return s_put(a, src, b, dst, len, flags);
}

static int64_t random_get(FIXTURE_DATA(data) *self, unsigned int flags)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];
	uint32_t len = random_size(&self->rnd);
	uint64_t src = s_below(&self->rnd, LEN - len + 1);
	uint64_t dst = HALF + s_below(&self->rnd, HALF - len + 1);

	memcpy(self->model[0] + dst, self->model[1] + src, len);
	return s_get(a, dst, b, src, len, flags);
}

static int64_t random_inline(FIXTURE_DATA(data) *self, unsigned int flags)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];
	uint32_t longest = self->end[0].v->max_inline > INLINE_MOST ?
			   INLINE_MOST : self->end[0].v->max_inline;
	uint32_t most = s_random(&self->rnd) & 3 ? GDA_INLINE_SLOT : longest;
	uint32_t len = (uint32_t)s_below(&self->rnd, most + 1);
	uint64_t dst = s_below(&self->rnd, LEN - 8 - len + 1);
	uint64_t bytes[(INLINE_MOST + 7) / 8];
	unsigned int i;

	for (i = 0; i < sizeof(bytes) / 8; i++)
		bytes[i] = s_random(&self->rnd);

	if (s_random(&self->rnd) & 1) {
		put64(self->model[1] + dst, bytes[0]);
		return gda_put_value(a->v, b->mem.iova + dst, b->mem.key, bytes[0], flags);
	}
	memcpy(self->model[1] + dst, bytes, len);
	if (s_inline_slots(a->v, len) > 1)	/* entry and NOP */
		self->extra += s_inline_slots(a->v, len) - 2;
	return gda_put_inline(a->v, b->mem.iova + dst, b->mem.key, bytes, len, flags);
}

static int64_t random_atomic(FIXTURE_DATA(data) *self, unsigned int flags)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];
	uint64_t at = 8 * s_below(&self->rnd, LEN / 8);
	uint64_t result = HALF + s_below(&self->rnd, HALF - 7);
	uint64_t old = get64(self->model[1] + at), value = s_random(&self->rnd);
	uint64_t compare = s_random(&self->rnd) & 1 ? old : value;

	put64(self->model[0] + result, old);
	self->extra += s_atomic_extra(self->end[0].v);
	if (s_random(&self->rnd) & 1) {
		put64(self->model[1] + at, old + value);
		return gda_fetch_add(a->v, a->mem.iova + result, a->mem.key, b->mem.iova + at,
				     b->mem.key, value, flags);
	}
	if (compare == old)
		put64(self->model[1] + at, value);
	return gda_compare_swap(a->v, a->mem.iova + result, a->mem.key, b->mem.iova + at,
				b->mem.key, compare, value, flags);
}

/* In halves of a word, or over some bits of it. */
static int64_t random_masked(FIXTURE_DATA(data) *self, unsigned int flags)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];
	uint64_t at = 8 * s_below(&self->rnd, LEN / 8);
	uint64_t result = HALF + s_below(&self->rnd, HALF - 7);
	uint64_t old = get64(self->model[1] + at), value = s_random(&self->rnd);
	uint64_t mask = s_random(&self->rnd), compare = s_random(&self->rnd) & 1 ? old : ~old;

	put64(self->model[0] + result, old);
	if (s_random(&self->rnd) & 1) {
		uint64_t low = (uint32_t)(old + value), high = (old >> 32) + (value >> 32);

		self->extra += s_atomic_extra(self->end[0].v);
		put64(self->model[1] + at, high << 32 | low);
		return gda_masked_fetch_add(a->v, a->mem.iova + result, a->mem.key,
					    b->mem.iova + at, b->mem.key, value, 1U << 31, flags);
	}
	if (!((old ^ compare) & 0xff))
		put64(self->model[1] + at, (old & ~mask) | (value & mask));
	self->extra++;
	return gda_masked_compare_swap(a->v, a->mem.iova + result, a->mem.key,
				       b->mem.iova + at, b->mem.key, compare, 0xff, value, mask,
				       flags);
}

/* A put, and behind it a word that is added to or stored. */
static int64_t random_signal(FIXTURE_DATA(data) *self, unsigned int flags)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];
	uint32_t len = random_size(&self->rnd);
	uint64_t src = s_below(&self->rnd, HALF - len + 1);
	uint64_t dst = s_below(&self->rnd, LEN - len + 1);
	uint64_t at = 8 * s_below(&self->rnd, LEN / 8), old;
	uint64_t result = HALF + s_below(&self->rnd, HALF - 7);
	struct gda_signal s = {
		.size = sizeof(s), .op = s_random(&self->rnd) & 1, .raddr = b->mem.iova + at,
		.value = s_random(&self->rnd), .laddr = a->mem.iova + result,
		.rkey = b->mem.key, .lkey = a->mem.key,
	};

	memcpy(self->model[1] + dst, self->model[0] + src, len);
	old = get64(self->model[1] + at);
	if (s.op == GDA_SIGNAL_ADD) {
		put64(self->model[0] + result, old);
		self->extra += s_atomic_extra(self->end[0].v);
	}
	put64(self->model[1] + at, s.op == GDA_SIGNAL_ADD ? old + s.value : s.value);
	return gda_put_signal(a->v, a->mem.iova + src, a->mem.key, b->mem.iova + dst,
			      b->mem.key, len, &s, flags);
}

static int64_t random_work(FIXTURE_DATA(data) *self, unsigned int flags)
{
	switch (s_below(&self->rnd, 10)) {
	case 0:
		return gda_nop(self->end[0].v, flags);
	case 1:
	case 2:
		return random_get(self, flags);
	case 3:
		return random_inline(self, flags);
	case 4:
		return random_atomic(self, flags);
	case 5:
		if (self->end[0].v->can & GDA_CAN_MASKED)
			return random_masked(self, flags);
		break;
	case 6:
		return random_signal(self, flags);
	}
	return random_put(self, flags);
}

TEST_F(data, random_batches)
{
	unsigned long left = s_short(3000, 10000);
	struct gda_qp_query query = { .size = sizeof(query) };
	uint64_t posted = 0;

	while (left) {
		unsigned long n = 1 + s_below(&self->rnd, 2 * DEPTH);
		int64_t ticket = 0;
		unsigned long i;

		for (i = 0; i < n; i++) {
			/* some ring, most are left to a later one, or to the wait */
			unsigned int flags = s_below(&self->rnd, 4) ? GDA_DEFER : 0;

			ticket = random_work(self, variant->mode | flags);
			ASSERT_LE((int64_t)posted, ticket);
			posted = (uint64_t)ticket + 1;
		}
		ASSERT_OK(gda_wait(self->end[0].v, ticket, 0));
		left -= n < left ? n : left;
	}
	EXPECT_MODEL();
	ASSERT_OK(gda_quiet(self->end[0].v, 0));
	ASSERT_OK(gda_qp_query(self->end[0].qp, &query));
	EXPECT_EQ((uint32_t)GDA_QP_READY, query.state);
	EXPECT_EQ(self->end[0].v->reserved - self->extra, query.executed);
}

/* Over pieces that are registered one by one, on both sides, cut at other places. */
TEST_F(data, chunked)
{
	struct gda_chunk chunk[2][3];
	struct gda_chunk_map map[2];
	struct s_memory piece[2][3];
	int i, k, round;

	for (i = 0; i < 2; i++) {
		struct s_memory *mem = &self->end[i].mem;

		for (k = 0; k < 3; k++) {
			size_t step = i ? 177777 : 100000, from = (size_t)k * step;
			size_t len = k == 2 ? LEN - from : step;

			ASSERT_OK(s_register(self->end[i].ctx, mem->addr + from, len,
					     GDA_ACCESS_ALL, &piece[i][k]));
			chunk[i][k] = (struct gda_chunk){
				.addr = (uintptr_t)mem->addr + from, .length = len,
				.iova = piece[i][k].iova, .key = piece[i][k].key,
			};
		}
		map[i] = (struct gda_chunk_map){
			.size = sizeof(map[i]), .count = 3, .chunks = (uintptr_t)chunk[i],
		};
	}
	for (round = 0; round < 50; round++) {
		uint64_t len = s_below(&self->rnd, LEN / 2);
		uint64_t src = s_below(&self->rnd, LEN - len), dst = s_below(&self->rnd, LEN - len);
		int64_t t = gda_put_chunked(self->end[0].v, &map[0],
					    (uintptr_t)self->end[0].mem.addr + src, &map[1],
					    (uintptr_t)self->end[1].mem.addr + dst, len,
					    variant->mode);

		ASSERT_OK(gda_wait(self->end[0].v, t, 0));
		memcpy(self->model[1] + dst, self->model[0] + src, len);
	}
	EXPECT_MODEL();
	for (i = 0; i < 2; i++)
		for (k = 0; k < 3; k++)
			EXPECT_OK(gda_mr_dereg(piece[i][k].mr));
}

/* Addresses from 0 in an MR that begins anywhere; an RDMA device's at a page. */
TEST_F(data, zero_based)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];
	uint32_t at = s_fabric(b->ctx) ? 4096 : 4093;
	struct gda_mr *mr;
	int64_t t;

	ASSERT_OK(gda_mr_reg(b->ctx, b->mem.addr + at, 1000, GDA_ACCESS_ALL, GDA_MR_ZERO_BASED,
			     &mr));
	EXPECT_EQ(0, gda_mr_iova(mr));
	t = gda_put(a->v, a->mem.iova, a->mem.key, 5, gda_mr_key(mr), 990, variant->mode);
	ASSERT_OK(gda_wait(a->v, t, 0));
	memcpy(self->model[1] + at + 5, self->model[0], 990);
	EXPECT_MODEL();
	EXPECT_OK(gda_mr_dereg(mr));
}

/* A QP connected to itself; source and target may overlap, and then nothing else moves. */
TEST_F(data, loopback)
{
	struct s_end *a = &self->end[0];
	struct gda_qp *qp;
	struct gda_view *v;
	int i;

	S_NEEDS(a->ctx, GDA_FEATURE_LOOPBACK);
	ASSERT_OK(s_qp_open(a->ctx, 8, S_TIMEOUT_NS, &qp));
	ASSERT_OK(s_connect(qp, qp));
	v = gda_qp_view(qp);
	for (i = 0; i < 300; i++) {
		uint32_t len = (uint32_t)s_below(&self->rnd, 9000);
		uint64_t src = s_below(&self->rnd, LEN - len), dst = s_below(&self->rnd, LEN - len);

		ASSERT_OK(gda_wait(v, gda_put(v, a->mem.iova + src, a->mem.key,
					      a->mem.iova + dst, a->mem.key, len,
					      variant->mode), 0));
		if (src + len <= dst || dst + len <= src)
			memcpy(self->model[0] + dst, self->model[0] + src, len);
		else
			memcpy(self->model[0] + dst, a->mem.addr + dst, len);
	}
	EXPECT_MODEL();
	EXPECT_OK(gda_qp_destroy(qp));
}

/* The 16-bit index goes round; and rings of one and two, which are always full. */
TEST_F(data, index_wraps)
{
	static const struct {
		uint32_t depth;
		uint64_t posts;
	} rings[] = { { 1, 500 }, { 2, 1000 }, { 256, 70000 }, { GDA_MLX5_MAX_DEPTH, 70000 } };
	struct s_end *a = &self->end[0];
	struct gda_qp *qp;
	uint64_t n;
	int i;

	S_NEEDS(a->ctx, GDA_FEATURE_LOOPBACK);
	for (i = 0; i < 4; i++) {
		struct gda_view *v;
		int64_t t = 0;

		ASSERT_OK(s_qp_open(a->ctx, rings[i].depth, S_TIMEOUT_NS, &qp));
		ASSERT_OK(s_connect(qp, qp));
		v = gda_qp_view(qp);
		for (n = 0; n < rings[i].posts; n++) {
			t = gda_put_value(v, a->mem.iova, a->mem.key, n,
					  variant->mode | (n & 63 ? GDA_DEFER : 0));
			ASSERT_EQ((int64_t)n, t);
		}
		ASSERT_OK(gda_wait(v, t, 0));
		put64(self->model[0], n - 1);
		EXPECT_EQ(n - 1, get64(a->mem.addr));
		EXPECT_OK(gda_qp_destroy(qp));
	}
	EXPECT_MODEL();
}

TEST_HARNESS_MAIN
