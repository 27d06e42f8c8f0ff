// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Masked atomics: fields and their carries, masks, both widths; what they touch and
 * what they must not; and that they are atomic, and end, while others write the word.
 */
#include <pthread.h>

#include "pair.h"

#define SIZE	4096U

FIXTURE(atomic) {
	TH_PAIR;
};

FIXTURE_SETUP(atomic)
{
	TH_PAIR_OPEN(self, SIZE);
}

FIXTURE_TEARDOWN(atomic)
{
	TH_PAIR_CLOSE(self);
}

/* A word of @width bytes, in memory and as a number. */
static void put_word(struct th_mr *mr, u64 at, u64 value, u32 width)
{
	u32 half = (u32)value;

	th_mr_put(mr, at, width == 4 ? (void *)&half : (void *)&value, width);
}

static u64 get_word(struct th_mr *mr, u64 at, u32 width)
{
	u64 value = 0;
	u32 half = 0;

	th_mr_get(mr, at, width == 4 ? (void *)&half : (void *)&value, width);
	return width == 4 ? half : value;
}

/* Do it at offset 64 of a word that holds @word. Return: what it holds then. */
static u64 run(struct th_dev *dev, struct th_qp *a, struct th_mr *l, struct th_mr *r,
	       u32 opcode, const struct th_masked *m, u64 word, u64 *old)
{
	(void)dev;
	memset(r->pages[0], 0x5a, 256);
	memset(l->pages[0], 0xa5, 256);
	put_word(r, 64, word, m->width);
	th_masked(a, opcode, GDA_MLX5_CE_ALWAYS, l, 32, r, 64, m);
	th_ring(a);
	th_run(a);
	*old = get_word(l, 32, m->width);
	if (m->width == 4)
		*old = gda_be32_to_cpu((__be32)*old);
	return get_word(r, 64, m->width);
}

#define RUN(s, op, m, word, old) \
	run(&(s)->dev, (s)->a, (s)->l, (s)->r, GDA_MLX5_MASKED_##op, m, word, old)

/* Nothing but the @width bytes at 64 there and at 32 here was touched. */
static bool neighbours(struct th_mr *l, struct th_mr *r, u32 width)
{
	u32 i, bad = 0;

	for (i = 0; i < 256; i++) {
		if (i < 64 || i >= 64 + width)
			bad += r->pages[0][i] != 0x5a;
		if (i < 32 || i >= 32 + width)
			bad += l->pages[0][i] != 0xa5;
	}
	return !bad;
}

/*
 * The add of 4 bytes that a vendor's library does with 8 bytes on its own node: a carry
 * out of the word must not reach the next one, there or in the result.
 */
TEST_F(atomic, I_15_carry_stays_in_4_bytes)
{
	static const struct {
		u32 word, add, sum;
	} rows[] = {
		{ 0xffffffff, 1, 0 }, { 0xffffffff, 0xffffffff, 0xfffffffe },
		{ 0x80000000, 0x80000000, 0 }, { 0x7fffffff, 1, 0x80000000 },
		{ 5, (u32)-6, 0xffffffff }, { 0, 0, 0 },
	};
	u64 old;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct th_masked m = { .width = 4, .swap_add = rows[i].add };

		EXPECT_EQ(rows[i].sum, RUN(self, FA, &m, rows[i].word, &old))
			TH_LOG("row %u", i);
		EXPECT_EQ(rows[i].word, old);
		EXPECT_TRUE(neighbours(self->l, self->r, 4));
		EXPECT_EQ(4, gda_be32_to_cpu(th_cqe(self->a)->byte_cnt));
	}
	EXPECT_EQ(GDA_QP_READY, self->a->q.state);
}

/*
 * As ConnectX stores them, and NVSHMEM's IBGDA reads them: the old value of 4 bytes is
 * big-endian, the one of 8 bytes is in host order.
 */
TEST_F(atomic, old_value_of_4_bytes_is_big_endian)
{
	static const u32 opcodes[] = { GDA_MLX5_MASKED_FA, GDA_MLX5_MASKED_CS };
	static const u8 narrow[] = { 0x11, 0x22, 0x33, 0x44, 0xa5, 0xa5, 0xa5, 0xa5 };
	const u64 wide = 0x1122334455667788ULL;
	u8 got[8];
	u64 old;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(opcodes); i++) {
		struct th_masked m = { .width = 4, .compare = 0x11223344, .compare_mask = ~0ULL };

		run(&self->dev, self->a, self->l, self->r, opcodes[i], &m, 0x11223344, &old);
		th_mr_get(self->l, 32, got, sizeof(got));
		EXPECT_EQ(0, memcmp(narrow, got, sizeof(got))) TH_LOG("opcode %u", opcodes[i]);
		m.width = 8;
		run(&self->dev, self->a, self->l, self->r, opcodes[i], &m, wide, &old);
		EXPECT_EQ(wide, old) TH_LOG("opcode %u", opcodes[i]);
	}
}

/* The definition: bit by bit, a carry goes on unless the bit is a field's last. */
static u64 by_definition(u64 a, u64 b, u64 last, u32 width)
{
	u64 sum = 0;
	u32 i, carry = 0;

	for (i = 0; i < 8 * width; i++) {
		u32 value = (u32)(a >> i & 1) + (u32)(b >> i & 1) + carry;

		sum |= (u64)(value & 1) << i;
		carry = value >> 1 & !(last >> i & 1);
	}
	return sum;
}

static u64 some_word(struct th_rand *r)
{
	switch (th_below(r, 4)) {
	case 0:
		return ~0ULL << th_below(r, 64);
	case 1:
		return 0;
	default:
		return th_rand(r);
	}
}

TEST_F(atomic, fields_are_added_on_their_own)
{
	struct th_rand r = { 21 };
	u64 old, got, bad = 0;
	u32 i;

	for (i = 0; i < 200000; i++) {
		u32 width = i & 1 ? 4 : 8;
		u64 keep = width == 4 ? 0xffffffffULL : ~0ULL;
		struct th_masked m = { .width = width };
		u64 word = some_word(&r) & keep;

		m.swap_add = some_word(&r) & keep;
		m.compare = (i & 2 ? 1ULL << th_below(&r, 64) : some_word(&r)) & keep;
		got = RUN(self, FA, &m, word, &old);
		bad += got != by_definition(word, m.swap_add, m.compare, width) || old != word;
		bad += !(i % 64) && !neighbours(self->l, self->r, width);
	}
	EXPECT_EQ(0, bad);
	EXPECT_EQ(GDA_QP_READY, self->a->q.state);
}

TEST_F(atomic, no_boundary_is_one_field)
{
	struct th_masked m = { .width = 8, .swap_add = 1 };
	u64 old;

	EXPECT_EQ(0x100000000ULL, RUN(self, FA, &m, 0xffffffffULL, &old));
	m.compare = 1ULL << 63;
	EXPECT_EQ(0, RUN(self, FA, &m, ~0ULL, &old));
	m.compare = 1ULL << 31;
	EXPECT_EQ(0, RUN(self, FA, &m, 0xffffffffULL, &old));
	/* eight counters of a byte, each wraps alone */
	m.compare = 0x8080808080808080ULL;
	m.swap_add = 0x0101010101010101ULL;
	EXPECT_EQ(0x0001020380818200ULL, RUN(self, FA, &m, 0xff0001027f8081ffULL, &old));
}

TEST_F(atomic, masked_compare_swap)
{
	struct th_rand r = { 22 };
	u64 old, got, want, bad = 0, swapped = 0;
	u32 i;

	for (i = 0; i < 100000; i++) {
		u32 width = i & 1 ? 4 : 8;
		u64 keep = width == 4 ? 0xffffffffULL : ~0ULL;
		u64 word = some_word(&r) & keep;
		struct th_masked m = {
			.width = width,
			.swap_add = some_word(&r) & keep, .compare = some_word(&r) & keep,
			.swap_mask = some_word(&r) & keep, .compare_mask = some_word(&r) & keep,
		};

		/* mostly equal where it is compared, and one bit off now and then */
		if (i & 6)
			m.compare = (word & m.compare_mask) | (m.compare & ~m.compare_mask);
		if ((i & 24) == 24)
			m.compare ^= 1ULL << th_below(&r, 8 * width);
		got = RUN(self, CS, &m, word, &old);
		want = word;
		if ((word & m.compare_mask) == (m.compare & m.compare_mask)) {
			want = (word & ~m.swap_mask) | (m.swap_add & m.swap_mask);
			swapped++;
		}
		bad += got != want || old != word;
		bad += !(i % 64) && !neighbours(self->l, self->r, width);
	}
	EXPECT_EQ(0, bad);
	EXPECT_LT(10000, swapped);
	EXPECT_LT(swapped, 100000);
	EXPECT_EQ(GDA_QP_READY, self->a->q.state);
}

/* Entries of two slots among entries of one, over laps of a small ring. */
TEST_F(atomic, two_slots_wrap)
{
	struct th_qp *c = th_qp_new(&self->dev, &dom_a, 4, 0);
	struct th_qp *d = th_qp_new(&self->dev, &dom_b, 4, 0);
	struct th_masked m = { 8, 0, 0, ~0ULL, 0 };
	u64 v, i;

	th_qp_pair(c, d);
	for (i = 1; i < 1000; i++) {
		u64 index;

		m.swap_add = i;
		index = th_masked(c, GDA_MLX5_MASKED_CS, GDA_MLX5_CE_ALWAYS, self->l, 0, self->r, 8,
				  &m);
		EXPECT_EQ(2, c->next - index);
		if (i % 3)
			th_nop(c, 0);
		th_ring(c);
		th_run(c);
		th_mr_get(self->r, 8, &v, 8);
		EXPECT_EQ(i, v);
		th_mr_get(self->l, 0, &v, 8);
		EXPECT_EQ(i - 1, v);
		/* the index of the entry's first slot */
		EXPECT_EQ((u16)index, th_cqe_counter(c));
		EXPECT_EQ(c->next, c->q.ci);
	}
	th_qp_free(c);
	th_qp_free(d);
}

TEST_F(atomic, S7_alignment_is_of_the_width)
{
	struct th_mr *skewed = th_mr_new(&self->dev, &dom_b, 0, 64, GDA_ACCESS_ALL, 12, 2);
	struct th_masked m = { .width = 4 };
	u32 off, op, failed;

	for (op = 0; op < 4; op++) {
		m.width = op & 1 ? 8 : 4;
		for (off = 0; off < 16; off++) {
			th_again(self->a);
			th_masked(self->a, op & 2 ? GDA_MLX5_MASKED_CS : GDA_MLX5_MASKED_FA, 0,
				  self->l, off, self->r, off, &m);
			th_ring(self->a);
			th_run(self->a);
			failed = self->a->q.state == GDA_QP_ERROR;
			EXPECT_EQ(off % m.width != 0, failed);
			if (failed)
				EXPECT_EQ(GDA_MLX5_VENDOR_ALIGN, self->a->q.first.cause);
		}
		/* an aligned address over misaligned memory */
		th_again(self->a);
		th_masked(self->a, op & 2 ? GDA_MLX5_MASKED_CS : GDA_MLX5_MASKED_FA, 0, self->l, 0,
			  skewed, 8, &m);
		th_ring(self->a);
		th_run(self->a);
		EXPECT_EQ(GDA_MLX5_SYND_REMOTE_INVAL_REQ, th_syndrome(self->a));
		EXPECT_EQ(GDA_MLX5_VENDOR_ALIGN, self->a->q.first.cause);
	}
	th_mr_free(&self->dev, skewed);
}

TEST_F(atomic, K3_S6_rights_and_range)
{
	struct th_masked m = { .width = 4, .swap_add = 1 };
	struct th_mr *ro = th_mr_new(&self->dev, &dom_b, 0, 64,
				     GDA_ACCESS_ALL & ~GDA_ACCESS_REMOTE_ATOMIC, 12, 0);
	u64 zero = 0;
	u32 op;

	for (op = 0; op < 4; op++) {
		u32 opcode = op & 2 ? GDA_MLX5_MASKED_CS : GDA_MLX5_MASKED_FA;

		m.width = op & 1 ? 8 : 4;
		th_again(self->a);
		th_masked(self->a, opcode, 0, self->l, 0, ro, 0, &m);
		th_ring(self->a);
		th_run(self->a);
		EXPECT_EQ(GDA_MLX5_VENDOR_RIGHTS, self->a->q.first.cause);
		th_again(self->a);
		th_masked(self->a, opcode, 0, self->l, 0, self->r, SIZE, &m);
		th_ring(self->a);
		th_run(self->a);
		EXPECT_EQ(GDA_MLX5_VENDOR_RANGE, self->a->q.first.cause);
		th_again(self->a);
		th_masked(self->a, opcode, 0, self->l, SIZE - m.width + 1, self->r, 0, &m);
		th_ring(self->a);
		th_run(self->a);
		EXPECT_EQ(GDA_MLX5_SYND_LOCAL_PROT, th_syndrome(self->a));
	}
	EXPECT_EQ(0, memcmp(self->r->pages[0], &zero, 8));
	th_mr_free(&self->dev, ro);
}

/* Other writers of the word: a thread that adds to one field, work to the other. */
struct adder {
	u64 *word;
	u64 add;
	u32 stop;
	u64 n;
};

static void *adder_main(void *arg)
{
	struct adder *t = arg;

	while (!__atomic_load_n(&t->stop, __ATOMIC_RELAXED)) {
		__atomic_fetch_add(t->word, t->add, __ATOMIC_RELAXED);
		t->n++;
	}
	return NULL;
}

TEST_F(atomic, E1_ends_and_loses_nothing_while_others_write)
{
	struct th_masked m = { .width = 8, .swap_add = 1, .compare = 0x80000000ULL };
	struct adder t = { .word = (u64 *)(void *)self->r->pages[0], .add = 1ULL << 32 };
	u64 i, visits = 0, v;
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, adder_main, &t));
	for (i = 0; i < 100000; i++) {
		th_masked(self->a, GDA_MLX5_MASKED_FA, GDA_MLX5_CE_ALWAYS, self->l, 0, self->r, 0,
			  &m);
		th_ring(self->a);
		while (gda_engine_visit(&self->a->q, 1, 64))
			visits++;
	}
	__atomic_store_n(&t.stop, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	th_mr_get(self->r, 0, &v, 8);
	EXPECT_EQ(100000, (u32)v);
	EXPECT_EQ((u32)t.n, (u32)(v >> 32));
	EXPECT_EQ(100000, self->a->q.executed);
	EXPECT_LE(100000, visits);
}

TEST_HARNESS_MAIN
