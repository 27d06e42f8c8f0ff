// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Q3, entries of the efa dialect that change while they are read: each word is read once, and what was
 * read is what is checked and used. As fetch.c shows it of mlx5.
 */
#define _GNU_SOURCE
#include <endian.h>
#include <sched.h>
#include "efa_host.h"
#include "kselftest_harness.h"
#include "watch.h"

#define SIZE	WATCH_BYTES
#define LEN	40U

FIXTURE(fetch) {
	struct th_dev dev;
	struct th_qp *a, *b;
	struct th_mr *l, *m;
	u32 bytes;		/* of an entry */
	u64 read;		/* completions */
	u64 rounds;
};

FIXTURE_VARIANT(fetch) {
	u32 bytes;
};

FIXTURE_VARIANT_ADD(fetch, narrow) { .bytes = GDA_EFA_SLOT_BYTES };
FIXTURE_VARIANT_ADD(fetch, wide) { .bytes = GDA_EFA_WIDE_BYTES };

FIXTURE_SETUP(fetch)
{
	const struct gda_dialect_ops *ops = gda_dialect_slots(&gda_dialect_efa, variant->bytes);
	const char *stress = getenv("GDA_STRESS");
	u32 i;

	memset(self, 0, sizeof(*self));
	self->bytes = variant->bytes;
	self->rounds = (u64)(20000 * (stress ? strtod(stress, NULL) : 1));
	th_target = find_target;
	self->a = open_efa(&self->dev, &dom_a, ops);
	self->b = open_efa(&self->dev, &dom_b, ops);
	self->b->q.recv_cq = &self->b->cq;
	self->l = th_mr_new(&self->dev, &dom_a, 0x10000, SIZE, GDA_ACCESS_ALL, 12, 0);
	self->m = th_mr_new(&self->dev, &dom_b, 0x20000, SIZE, GDA_ACCESS_ALL, 12, 0);
	for (i = 0; i < SIZE; i++)
		self->l->pages[0][i] = (u8)(1 + i % 255);
	target.peer = &self->b->q;
	target.st = gda_status(GDA_CLASS_NONE, GDA_CAUSE_NONE);
}

FIXTURE_TEARDOWN(fetch)
{
	th_mr_free(&self->dev, self->l);
	th_mr_free(&self->dev, self->m);
	th_qp_free(self->a);
	th_qp_free(self->b);
}

/* Execute what is in the first slot: the completion. */
static const struct gda_efa_cqe *execute(struct _test_data_fetch *self)
{
	self->a->q.state = GDA_QP_READY;
	gda_engine_init(&self->a->q);
	__atomic_store_n((u16 *)(void *)&self->a->db, gda_efa_le16(1), __ATOMIC_RELEASE);
	th_run(self->a);
	return next_cqe(self->a, &self->read);
}

/*
 * One word of an entry alternates between what is legal and what must be refused with @status; both ids
 * are legal where @status is %GDA_EFA_OK. Return: executions that were neither right to the byte nor
 * refused by that name, and one for each of both that was never seen.
 */
static u64 flip_word(struct _test_data_fetch *self, u32 word, u64 flip_bits, u8 status, u64 *flips)
{
	struct request r = request_of(self->l, 64, self->m, 128, LEN);
	u8 *to = self->m->pages[0];
	u64 i, bad = 0, seen[2] = { 0, 0 }, legal;
	struct gda_efa_wide_wqe e;
	struct flip f;

	/* by bytes, for the same memory is read as words */
	encode(&e, self->bytes, 0, &r);
	memcpy(self->a->sq, &e, self->bytes);
	legal = ((u64 *)(void *)self->a->sq)[word];
	if (flip_start(&f, (u64 *)(void *)self->a->sq + word, legal ^ htole64(flip_bits)))
		return ~0ULL;
	for (i = 0; i < self->rounds; i++) {
		const struct gda_efa_cqe *c;
		bool ok, other;

		/* both are seen even where the threads run by turns */
		if (i % 8192 == 0)
			sched_yield();
		__atomic_store_n(f.word, f.variant[i & 1], __ATOMIC_RELAXED);
		memset(to + 120, 0, LEN + 16);
		c = execute(self);
		if (!c) {
			bad++;
			break;
		}
		ok = c->status == GDA_EFA_OK;
		other = status == GDA_EFA_OK ? id_of(c) != ID : !ok;
		seen[other]++;
		bad += !ok && c->status != status;
		bad += ok && memcmp(to + 128, self->l->pages[0] + 64, LEN);
		bad += !ok && (self->a->q.bytes || to[128] || to[128 + LEN - 1]);
		bad += to[127] || to[128 + LEN];
		bad += status == GDA_EFA_OK && other && id_of(c) != (ID ^ flip_bits);
	}
	*flips += flip_stop(&f);
	return bad + !seen[0] + !seen[1];
}

/* Word of an entry, bits of it that alternate, and what is said of the other value. */
static const struct {
	u32 word;
	u64 bits;
	u8 status;
} rows[] = {
	{ 0, 1ULL << 24, GDA_EFA_QP_INTERNAL },	/* phase */
	{ 0, 1ULL << 16, GDA_EFA_BAD_OP },	/* opcode */
	{ 0, 1ULL << 23, GDA_EFA_QP_INTERNAL },	/* meta bit */
	{ 0, 0xffff, GDA_EFA_OK },	/* id */
	{ 0, 1ULL << 32, GDA_EFA_BAD_DEST_QP },	/* number */
	{ 0, 2ULL << 48, GDA_EFA_QP_INTERNAL },	/* segments */
	{ 1, 1ULL << 32, GDA_EFA_BAD_AH },	/* handle */
	{ 1, 1ULL << 56, GDA_EFA_QP_INTERNAL },	/* byte 15 */
	{ 2, 1, GDA_EFA_BAD_ADDRESS },	/* key of the queue */
	{ 2, 1ULL << 32, GDA_EFA_QP_INTERNAL },	/* reserved */
	{ 4, 1ULL << 30, GDA_EFA_BAD_LENGTH },	/* length */
	{ 4, 1ULL << 44, GDA_EFA_BAD_ADDRESS },	/* remote key */
	{ 5, 1ULL << 20, GDA_EFA_BAD_ADDRESS },	/* remote address */
	{ 6, 8, GDA_EFA_BAD_LENGTH },	/* local length */
	{ 6, 1ULL << 44, GDA_EFA_BAD_LKEY },	/* local key */
	{ 6, 1ULL << 56, GDA_EFA_QP_INTERNAL },	/* local key of 25 bits */
	{ 7, 1ULL << 20, GDA_EFA_BAD_LKEY },	/* local address */
};

TEST_F_TIMEOUT(fetch, Q3_each_word_flips_while_it_is_read, 600)
{
	u64 flips = 0;
	u32 i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		EXPECT_EQ(0, flip_word(self, rows[i].word, rows[i].bits, rows[i].status, &flips))
			TH_LOG("row %u", i);
	}
	TH_LOG("%llu flips", (unsigned long long)flips);
}

#ifdef __x86_64__

/* Entries of each shape, whose memory is overwritten as it is read. */
TEST_F(fetch, Q3_each_byte_is_read_once)
{
	u8 data[GDA_EFA_MAX_INLINE];
	u32 shape, i;

	for (i = 0; i < sizeof(data); i++)
		data[i] = (u8)(i + 1);
	for (shape = 0; shape < 4 + GDA_EFA_MAX_INLINE + 1; shape++) {
		struct request r = request_of(self->l, 64, self->m, 128, shape == 3 ? 0 : LEN);
		const struct gda_efa_cqe *c;
		u32 twice = 0;

		if (shape == 1)
			r.ctrl1 = GDA_EFA_READ;
		if (shape == 2) {
			r.ctrl1 |= GDA_EFA_HAS_IMM;
			r.imm = 7;
		}
		if (shape >= 4) {
			if (self->bytes != GDA_EFA_WIDE_BYTES)
				break;
			r.ctrl1 |= GDA_EFA_INLINE;
			r.len = shape - 4;
			r.data = data;
		}
		memset(self->m->pages[0], 0x5c, SIZE);
		encode((void *)self->a->sq, self->bytes, 0, &r);
		trap_arm(self->a);
		c = execute(self);
		trap_disarm(self->a);
		ASSERT_NE(NULL, c);
		EXPECT_EQ(GDA_EFA_OK, c->status) TH_LOG("shape %u", shape);
		EXPECT_EQ(ID, id_of(c));
		for (i = 0; i < SIZE; i++)
			twice += trap.reads[i] > 1;
		EXPECT_EQ(0, twice) TH_LOG("shape %u", shape);
		EXPECT_FALSE(trap.stores);
		EXPECT_LE(2, trap.accesses);
		if (shape == 1) {
			EXPECT_EQ(0x5c, self->l->pages[0][64]);
		} else {
			EXPECT_EQ(0, memcmp(self->m->pages[0] + 128,
					    r.data ? data : self->l->pages[0] + 64, r.len));
		}
		EXPECT_EQ(0x5c, self->m->pages[0][128 + r.len]);
	}
}

/* Flushing reads the id of each entry once, and nothing that it says changes anything. */
TEST_F(fetch, Q3_a_flush_reads_once)
{
	struct request r = request_of(self->l, 64, self->m, 128, LEN);
	const struct gda_efa_cqe *c;
	u32 i, twice = 0;

	for (i = 0; i < 10; i++) {
		r.id = i;
		encode((void *)(self->a->sq + i * self->bytes), self->bytes, 0, &r);
	}
	__atomic_store_n((u16 *)(void *)&self->a->db, gda_efa_le16(10), __ATOMIC_RELEASE);
	WRITE_ONCE(self->a->q.fail, GDA_FAIL_PEER);
	trap_arm(self->a);
	EXPECT_EQ(10, th_run(self->a));
	trap_disarm(self->a);
	for (i = 0; i < SIZE; i++)
		twice += trap.reads[i] > 1;
	EXPECT_EQ(0, twice);
	EXPECT_FALSE(trap.stores);
	for (i = 0; i < 10; i++) {
		c = next_cqe(self->a, &self->read);
		ASSERT_NE(NULL, c);
		EXPECT_EQ(i, id_of(c));
	}
}

#endif

TEST_HARNESS_MAIN
