// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The efa dialect: entries and completions byte by byte, what is refused and by which name, and a
 * queue that is executed against a flat model. The bytes are those that NCCL's and AWS's device code
 * store.
 */
#include <stdio.h>
#include <stdlib.h>
#include "efa_host.h"
#include "kselftest_harness.h"

#define SIZE	8192U

FIXTURE(efa) {
	struct th_dev dev;
	struct th_rand r;
	struct th_qp *a, *b;
	struct th_mr *l, *m;
	const struct gda_dialect_ops *ops;
	u32 bytes;		/* of an entry */
	u64 next, read;
	u8 flat[2][SIZE];
};

FIXTURE_VARIANT(efa) {
	u32 bytes;		/* of an entry */
};

FIXTURE_VARIANT_ADD(efa, narrow) { .bytes = GDA_EFA_SLOT_BYTES };
FIXTURE_VARIANT_ADD(efa, wide) { .bytes = GDA_EFA_WIDE_BYTES };

FIXTURE_SETUP(efa)
{
	memset(self, 0, sizeof(*self));
	self->r.s = 1;
	self->bytes = variant->bytes;
	self->ops = gda_dialect_slots(&gda_dialect_efa, variant->bytes);
	th_target = find_target;
	self->a = open_efa(&self->dev, &dom_a, self->ops);
	self->b = open_efa(&self->dev, &dom_b, self->ops);
	self->b->q.recv_cq = &self->b->cq;
	self->l = th_mr_new(&self->dev, &dom_a, 0x10000, SIZE, GDA_ACCESS_ALL, 12, 0);
	self->m = th_mr_new(&self->dev, &dom_b, 0x90000, SIZE, GDA_ACCESS_ALL, 9, 0);
	target.peer = &self->b->q;
	target.st = gda_status(GDA_CLASS_NONE, GDA_CAUSE_NONE);
}

FIXTURE_TEARDOWN(efa)
{
	th_mr_free(&self->dev, self->l);
	th_mr_free(&self->dev, self->m);
	th_qp_free(self->a);
	th_qp_free(self->b);
}

static struct gda_efa_wide_wqe *slot_of(struct _test_data_efa *self, u64 index)
{
	return (void *)(self->a->sq + (index & (DEPTH - 1)) * self->bytes);
}

static void ring(struct _test_data_efa *self)
{
	__atomic_store_n((u16 *)(void *)&self->a->db, gda_efa_le16((u16)self->next),
			 __ATOMIC_RELEASE);
	th_run(self->a);
}

static struct gda_efa_wide_wqe *post(struct _test_data_efa *self, const struct request *r)
{
	struct gda_efa_wide_wqe *e = slot_of(self, self->next);

	encode(e, self->bytes, (u32)(self->next++ / DEPTH), r);
	return e;
}

static struct request write_of(struct _test_data_efa *self, u32 loff, u32 roff, u32 len)
{
	return request_of(self->l, loff, self->m, roff, len);
}

static void hex(const void *bytes, u32 n, char *out)
{
	for (u32 i = 0; i < n; i++)
		sprintf(out + 2 * i, "%02x", ((const u8 *)bytes)[i]);
}

/* Of the vendors' producers: id, ctrl1, length, immediate, inline bytes; and the entry. */
static const struct golden {
	u64 id;
	u8 ctrl1;
	u32 len, imm, inlined;
	const char *bytes;
} golden[] = {
	{ 0x1234, GDA_EFA_WRITE, 0x1000, 0, 0,
	  "3412821c770001000000000005000000" "11111111000000000000000000000000"
	  "00100000d4c3b2a18877665544332211" "00100000e4e3e20000ffeeddccbbaa99" },
	{ 0x1234, GDA_EFA_READ, 0x1000, 0, 0,
	  "3412811c770001000000000005000000" "11111111000000000000000000000000"
	  "00100000d4c3b2a18877665544332211" "00100000e4e3e20000ffeeddccbbaa99" },
	{ 0x1234, GDA_EFA_WRITE | GDA_EFA_HAS_IMM, 0x1000, 0xcafe0001, 0,
	  "3412921c770001000100feca05000000" "11111111000000000000000000000000"
	  "00100000d4c3b2a18877665544332211" "00100000e4e3e20000ffeeddccbbaa99" },
	{ ID, GDA_EFA_WRITE, 0x1000, 0, 0,
	  "3412821c770001000000000005000000" "11111111000000000000887766554433"
	  "00100000d4c3b2a18877665544332211" "00100000e4e3e20000ffeeddccbbaa99" },
	{ 0x1234, GDA_EFA_WRITE, 0, 0, 0,
	  "3412821c770001000000000005000000" "11111111000000000000000000000000"
	  "00000000d4c3b2a18877665544332211" "00000000e4e3e20000ffeeddccbbaa99" },
	{ 0x1234, GDA_EFA_WRITE | GDA_EFA_INLINE, 8, 0, 8,
	  "3412a21c770008000000000005000000" "11111111000000000000000000000000"
	  "08000000d4c3b2a18877665544332211" "0102030405060708" },
	{ 0x1234, GDA_EFA_WRITE | GDA_EFA_INLINE, 80, 0, 80,
	  "3412a21c770050000000000005000000" "11111111000000000000000000000000"
	  "50000000d4c3b2a18877665544332211"
	  "0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20"
	  "2122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f40"
	  "4142434445464748494a4b4c4d4e4f50" },
};

#define ASSERT_NEXT(c)	ASSERT_NE(NULL, (c) = next_cqe(self->a, &self->read))
TEST_F(efa, golden_bytes_both_ways)
{
	const u64 raddr = 0x1122334455667788ULL, laddr = 0x99aabbccddeeff00ULL;
	u8 data[GDA_EFA_MAX_INLINE];
	char is[257];
	u32 i, n;

	for (i = 0; i < sizeof(data); i++)
		data[i] = (u8)(i + 1);
	for (i = 0; i < sizeof(golden) / sizeof(golden[0]); i++) {
		const struct golden *g = &golden[i];
		struct request r = {
			.id = g->id, .ctrl1 = g->ctrl1, .len = g->len, .imm = g->imm,
			.raddr = raddr, .rkey = 0xa1b2c3d4, .laddr = laddr, .lkey = 0xe2e3e4,
			.data = g->inlined ? data : NULL,
		};
		struct gda_work w = { 0 };
		struct gda_status st;

		if (g->inlined && self->bytes != GDA_EFA_WIDE_BYTES)
			continue;
		self->next = 0;
		n = (u32)strlen(g->bytes) / 2;
		hex(post(self, &r), n, is);
		EXPECT_STREQ(g->bytes, is) TH_LOG("row %u", i);
		st = self->a->q.dialect->decode(&self->a->q, 1, &w);
		EXPECT_EQ(0, st.class) TH_LOG("row %u: cause %u", i, st.cause);
		EXPECT_EQ(g->id, w.target.id);
		EXPECT_EQ(AH, w.target.handle);
		EXPECT_EQ(NUMBER, w.target.number);
		EXPECT_EQ(QKEY, w.target.key);
		EXPECT_EQ(g->imm, w.imm);
		EXPECT_EQ(g->len, w.remote.len);
		EXPECT_EQ(raddr, w.remote.addr);
		EXPECT_EQ(0xa1b2c3d4, w.remote.key);
		EXPECT_EQ(g->inlined != 0, w.inlined);
		EXPECT_EQ(g->len && !g->inlined, w.nsge);
		if (w.nsge) {
			EXPECT_EQ(laddr, w.sge[0].addr);
			EXPECT_EQ(0xe2e3e400, w.sge[0].key);
			EXPECT_EQ(g->len, w.sge[0].len);
		}
		EXPECT_EQ(0, memcmp(w.data, data, w.inlined ? g->len : 0));
	}
}

#define ROUNDS	1000000

TEST_F(efa, a_million_random_entries_decode_to_what_was_encoded)
{
	u8 data[GDA_EFA_MAX_INLINE];
	u32 i, wrong = 0;

	for (i = 0; i < sizeof(data); i++)
		data[i] = (u8)th_rand(&self->r);
	for (i = 0; i < ROUNDS; i++) {
		bool inlined = self->bytes == GDA_EFA_WIDE_BYTES && th_below(&self->r, 2);
		struct request r = {
			.id = th_rand(&self->r), .raddr = th_rand(&self->r), .laddr = th_rand(&self->r),
			.rkey = (u32)th_rand(&self->r), .lkey = th_below(&self->r, 1U << 24),
			.len = inlined ? th_below(&self->r, 81) : th_below(&self->r, (1U << 30) + 1),
			.ctrl1 = inlined ? GDA_EFA_WRITE | GDA_EFA_INLINE : GDA_EFA_WRITE,
			.data = inlined ? data : NULL,
		};
		struct gda_work w;
		struct gda_status st;

		if (th_below(&self->r, 2)) {
			r.ctrl1 |= GDA_EFA_HAS_IMM;
			r.imm = (u32)th_rand(&self->r);
		} else if (!inlined && th_below(&self->r, 2)) {
			r.ctrl1 = GDA_EFA_READ;
		}
		self->a->q.ci = self->next;
		post(self, &r);
		st = self->a->q.dialect->decode(&self->a->q, 1, &w);
		wrong += st.class || w.target.id != r.id || w.remote.addr != r.raddr ||
			 w.remote.key != r.rkey || w.remote.len != r.len || w.imm != r.imm ||
			 w.inlined != inlined ||
			 (w.op == GDA_OP_READ) != (r.ctrl1 == GDA_EFA_READ) ||
			 (w.op == GDA_OP_WRITE_IMM) != !!(r.ctrl1 & GDA_EFA_HAS_IMM) ||
			 (inlined && memcmp(w.data, data, r.len)) ||
			 (w.nsge && (w.sge[0].addr != r.laddr || w.sge[0].len != r.len));
	}
	EXPECT_EQ(0, wrong);
}

/* Work is carried out, and completes with its id, whatever that is. */
TEST_F(efa, random_model)
{
	u8 now[SIZE], data[GDA_EFA_MAX_INLINE];
	u32 i, n;

	for (i = 0; i < 20000; i++) {
		u32 len = 1 + th_below(&self->r, 600), roff = th_below(&self->r, SIZE - len);
		u32 loff = th_below(&self->r, SIZE - len);
		struct request r = write_of(self, loff, roff, len);
		const struct gda_efa_cqe *c;

		r.id = th_below(&self->r, 2) ? 7 : th_rand(&self->r);
		switch (th_below(&self->r, 3)) {
		case 0:
			memcpy(self->flat[1] + roff, self->flat[0] + loff, len);
			break;
		case 1:
			r.ctrl1 = GDA_EFA_READ;
			memcpy(self->flat[0] + loff, self->flat[1] + roff, len);
			break;
		default:
			if (self->bytes != GDA_EFA_WIDE_BYTES)
				continue;
			r.len = th_below(&self->r, GDA_EFA_MAX_INLINE + 1);
			for (n = 0; n < r.len; n++)
				data[n] = (u8)th_rand(&self->r);
			memcpy(self->flat[1] + roff, data, min(r.len, SIZE - roff));
			if (r.len > SIZE - roff)
				r.len = SIZE - roff;
			r.ctrl1 |= GDA_EFA_INLINE;
			r.data = data;
		}
		post(self, &r);
		ring(self);
		ASSERT_NEXT(c);
		ASSERT_EQ(GDA_EFA_OK, c->status);
		ASSERT_EQ(r.id, id_of(c));
		ASSERT_EQ(GDA_EFA_CQE_SENT, c->flags & 6);
		ASSERT_EQ(r.ctrl1 & GDA_EFA_OP_MASK, c->flags >> 4);
		ASSERT_EQ((u16)TH_QPN, gda_efa_le16((__force u16)c->qp));
	}
	EXPECT_EQ(NULL, next_cqe(self->a, &self->read));
	th_mr_get(self->l, 0, now, SIZE);
	EXPECT_EQ(0, memcmp(now, self->flat[0], SIZE));
	th_mr_get(self->m, 0, now, SIZE);
	EXPECT_EQ(0, memcmp(now, self->flat[1], SIZE));
}

/* An immediate says from whom it comes, and how long its write was, in 32 bits. */
TEST_F(efa, an_immediate_arrives_with_its_sender)
{
	struct request r = write_of(self, 0, 0, 64);
	const struct gda_efa_recv_cqe *c;
	u64 read = 0;

	r.ctrl1 |= GDA_EFA_HAS_IMM;
	r.imm = 0xcafe0001;
	post(self, &r);
	ring(self);
	c = (const void *)next_cqe(self->b, &read);
	ASSERT_NE(NULL, c);
	EXPECT_EQ(GDA_EFA_CQE_PHASE | GDA_EFA_CQE_RECEIVED | GDA_EFA_CQE_HAS_IMM |
		  GDA_EFA_CQE_UNSOLICITED | GDA_EFA_WRITE << GDA_EFA_CQE_OP_SHIFT, c->flags);
	EXPECT_EQ(BACK, gda_efa_le16((__force u16)c->ah));
	EXPECT_EQ((u16)TH_QPN, gda_efa_le16((__force u16)c->src_qp));
	EXPECT_EQ(64, gda_efa_le16((__force u16)c->length));
	EXPECT_EQ(0xcafe0001, gda_efa_le32((__force u32)c->imm));
	EXPECT_EQ(1, self->b->recv.value);
}

/* There is no consumer index: nobody who does not read stops a queue. */
TEST_F(efa, a_full_cq_is_overwritten)
{
	struct request r = write_of(self, 0, 0, 8);
	const struct gda_efa_cqe *c;
	u32 i;

	for (i = 0; i < 3 * CQ; i++) {
		r.id = i;
		post(self, &r);
		ring(self);
	}
	EXPECT_EQ(GDA_QP_READY, self->a->q.state);
	self->read = 2 * CQ;
	for (i = 0; i < CQ; i++) {
		ASSERT_NEXT(c);
		EXPECT_EQ(2 * CQ + i, id_of(c));
	}
}

/* What an entry may not be: where, what is stored there, and what is said of it. */
static const struct bad {
	const char *what;
	u32 at, wide;
	u8 value, status, cause;
} bads[] = {
	{ "no meta bit", 2, 0, GDA_EFA_WRITE, GDA_EFA_QP_INTERNAL, GDA_CAUSE_INDEX },
	{ "not the first", 3, 0, 0x18, GDA_EFA_QP_INTERNAL, GDA_CAUSE_INDEX },
	{ "not the last", 3, 0, 0x14, GDA_EFA_QP_INTERNAL, GDA_CAUSE_INDEX },
	{ "another phase", 3, 0, 0x1d, GDA_EFA_QP_INTERNAL, GDA_CAUSE_INDEX },
	{ "meta extension", 2, 0, 0xc2, GDA_EFA_QP_INTERNAL, GDA_CAUSE_RESERVED },
	{ "reserved bit 1", 3, 0, 0x1e, GDA_EFA_QP_INTERNAL, GDA_CAUSE_RESERVED },
	{ "reserved bit 5", 3, 0, 0x3c, GDA_EFA_QP_INTERNAL, GDA_CAUSE_RESERVED },
	{ "reserved bit 7", 3, 0, 0x9c, GDA_EFA_QP_INTERNAL, GDA_CAUSE_RESERVED },
	{ "hint 2", 14, 0, 4, GDA_EFA_QP_INTERNAL, GDA_CAUSE_RESERVED },
	{ "byte 15", 15, 0, 1, GDA_EFA_QP_INTERNAL, GDA_CAUSE_RESERVED },
	{ "byte 20", 20, 0, 1, GDA_EFA_QP_INTERNAL, GDA_CAUSE_RESERVED },
	{ "byte 25", 25, 0, 1, GDA_EFA_QP_INTERNAL, GDA_CAUSE_RESERVED },
	{ "SEND", 2, 0, 0x80, GDA_EFA_BAD_OP, GDA_CAUSE_OPCODE },
	{ "FAST_REG", 2, 0, 0x83, GDA_EFA_BAD_OP, GDA_CAUSE_OPCODE },
	{ "INVALIDATE", 2, 0, 0x84, GDA_EFA_BAD_OP, GDA_CAUSE_OPCODE },
	{ "READ with immediate", 2, 0, 0x91, GDA_EFA_BAD_OP, GDA_CAUSE_OPCODE },
	{ "READ inline", 2, 0, 0xa1, GDA_EFA_BAD_OP, GDA_CAUSE_OPCODE },
	{ "two segments", 6, 0, 2, GDA_EFA_QP_INTERNAL, GDA_CAUSE_SIZE },
	{ "no segment", 6, 0, 0, GDA_EFA_BAD_LENGTH, GDA_CAUSE_LENGTH },
	{ "more than 1 GiB", 35, 0, 0x41, GDA_EFA_BAD_LENGTH, GDA_CAUSE_LENGTH },
	{ "another local length", 48, 0, 9, GDA_EFA_BAD_LENGTH, GDA_CAUSE_LENGTH },
	{ "local key of 25 bits", 55, 0, 1, GDA_EFA_QP_INTERNAL, GDA_CAUSE_RESERVED },
	{ "local key of nothing", 53, 0, 0x10, GDA_EFA_BAD_LKEY, GDA_CAUSE_KEY },
	{ "remote key of nothing", 38, 0, 0x10, GDA_EFA_BAD_ADDRESS, GDA_CAUSE_KEY },
	{ "another key of the queue", 16, 0, 0x12, GDA_EFA_BAD_ADDRESS, GDA_CAUSE_KEY },
	{ "inline in a short entry", 2, 64, 0xa2, GDA_EFA_QP_INTERNAL, GDA_CAUSE_SIZE },
	{ "another inline length", 2, 128, 0xa2, GDA_EFA_BAD_LENGTH, GDA_CAUSE_LENGTH },
};

TEST_F(efa, S5_what_no_producer_writes_is_refused_by_name)
{
	const struct gda_efa_cqe *c;
	u32 i;

	for (i = 0; i < sizeof(bads) / sizeof(bads[0]); i++) {
		struct request r = write_of(self, 0, 0, 8);

		if (bads[i].wide && bads[i].wide != self->bytes)
			continue;
		((u8 *)post(self, &r))[bads[i].at] = bads[i].value;
		ring(self);
		ASSERT_NEXT(c);
		EXPECT_EQ(bads[i].status, c->status) TH_LOG("%s", bads[i].what);
		EXPECT_EQ(ID, id_of(c)) TH_LOG("%s", bads[i].what);
		EXPECT_EQ(bads[i].cause, self->a->q.first.cause) TH_LOG("%s", bads[i].what);
		EXPECT_EQ(GDA_QP_ERROR, self->a->q.state) TH_LOG("%s", bads[i].what);
		EXPECT_EQ(0, self->a->q.bytes);
		/* begin anew */
		th_qp_free(self->a);
		self->a = open_efa(&self->dev, &dom_a, self->ops);
		self->a->db = 0;
		self->next = 0;
		self->read = 0;
	}
}

/* A peer that is unknown, does not know us, has no such queue or is gone: the request's alone. */
TEST_F(efa, Q2_a_peer_that_is_not_there_costs_one_request)
{
	static const struct {
		struct gda_status st;
		u8 status;
	} lost[] = {
		{ { GDA_CLASS_LOCAL, GDA_CAUSE_PEER }, GDA_EFA_BAD_AH },
		{ { GDA_CLASS_REMOTE_OP, GDA_CAUSE_PEER }, GDA_EFA_UNKNOWN_PEER },
		{ { GDA_CLASS_INVALID_REQUEST, GDA_CAUSE_PEER }, GDA_EFA_BAD_DEST_QP },
		{ { GDA_CLASS_RETRY, GDA_CAUSE_PEER }, GDA_EFA_UNRESPONSIVE },
	};
	struct request r = write_of(self, 0, 0, 8);
	const struct gda_efa_cqe *c;
	u32 i;

	for (i = 0; i < 8; i++) {
		r.id = i;
		target.st = i & 1 ? gda_status(0, 0) : lost[i / 2].st;
		post(self, &r);
		ring(self);
		ASSERT_NEXT(c);
		EXPECT_EQ(i, id_of(c));
		EXPECT_EQ(i & 1 ? GDA_EFA_OK : lost[i / 2].status, c->status);
		EXPECT_EQ(GDA_QP_READY, self->a->q.state);
	}
	EXPECT_EQ(4 * 8, self->a->q.bytes);
}

/* All 2^16 doorbells around laps, also where 16 and 32 bits wrap: work, nothing, or an error. */
TEST_F(efa, Q4_every_doorbell)
{
	static const u64 laps[] = { 0, 0x8000, 0x10000, 1ULL << 31, 1ULL << 32, 1ULL << 48 };
	struct gda_ring_scan scan;
	u32 db, n;

	for (n = 0; n < 5 * sizeof(laps) / sizeof(laps[0]); n++) {
		/* two halves of the ring before such a place, and two after it */
		const u64 ci = laps[n / 5] + (n % 5) * (DEPTH / 2) - (n < 5 ? 0 : DEPTH);

		self->a->q.ci = ci;
		self->a->q.pi = ci;
		self->a->q.seen_db = ci;
		for (db = 0; db < 1U << 16; db++) {
			/* as a producer of 32 bits stores it, and as one of 16 */
			const __le32 stored = gda_efa_le32(db | (db & 1 ? 0x50000 : 0));

			u32 ahead = (u16)(db - (u32)ci);

			memcpy(&self->a->db, &stored, sizeof(stored));
			self->a->q.dialect->published(&self->a->q, &scan);
			EXPECT_EQ(ahead <= DEPTH ? ahead : 0, scan.ahead);
			EXPECT_EQ(ahead > DEPTH && ahead < 0x8000 + DEPTH, scan.illegal);
		}
	}
}

/* Real producers repeat an id while others with it are in flight. */
TEST_F(efa, Q7_an_id_that_is_repeated_comes_back_each_time)
{
	struct request r = write_of(self, 0, 0, 8);
	const struct gda_efa_cqe *c;
	u32 i;

	for (i = 0; i < DEPTH; i++)
		post(self, &r);
	ring(self);
	for (i = 0; i < DEPTH; i++) {
		ASSERT_NEXT(c);
		EXPECT_EQ(ID, id_of(c));
	}
	EXPECT_EQ(NULL, next_cqe(self->a, &self->read));
}

/* The number of an MR is all that a local key says; whose it is, the domain. */
TEST_F(efa, Q10_keys_of_another_domain_do_not_exist)
{
	struct request r = write_of(self, 0, 0, 8);
	const struct gda_efa_cqe *c;

	r.lkey = self->m->mem.key >> GDA_EFA_LKEY_SHIFT;
	post(self, &r);
	ring(self);
	ASSERT_NEXT(c);
	EXPECT_EQ(GDA_EFA_BAD_LKEY, c->status);
	EXPECT_EQ(GDA_CAUSE_KEY, self->a->q.first.cause);
	EXPECT_EQ(0, self->a->q.bytes);
}

/* Keys of 24 bits, all in the long form: those of the domain's own MRs read, and no other. */
TEST_F(efa, Q10_every_local_key)
{
	const char *stress = getenv("GDA_STRESS");
	const u32 step = stress && strtod(stress, NULL) > 1 ? 1 : 251;
	struct request r = write_of(self, 0, 0, 8);
	const struct gda_efa_cqe *c;
	struct th_mr *mr[32];
	u32 n, i, other = 0;

	for (i = 0; i < 32; i++)
		mr[i] = th_mr_new(&self->dev, i & 1 ? &dom_a : &dom_b, r.laddr, 8, GDA_ACCESS_ALL,
				  12, 0);
	for (n = 0; n < 1U << 24; n += n < 1U << 16 ? 1 : step) {
		bool own = n == self->l->mem.key >> GDA_EFA_LKEY_SHIFT;

		for (i = 1; i < 32; i += 2)
			own |= n == mr[i]->mem.key >> GDA_EFA_LKEY_SHIFT;
		r.lkey = n;
		/* a queue that has failed begins anew */
		self->next = 0;
		self->a->db = 0;
		self->a->q.state = GDA_QP_READY;
		gda_engine_init(&self->a->q);
		post(self, &r);
		ring(self);
		ASSERT_NEXT(c);
		ASSERT_EQ(own ? GDA_EFA_OK : GDA_EFA_BAD_LKEY, c->status) TH_LOG("key %#x", n);
		other += !own && self->a->q.bytes;
	}
	EXPECT_EQ(0, other);
	for (i = 0; i < 32; i++)
		th_mr_free(&self->dev, mr[i]);
}

TEST_F(efa, an_immediate_for_whom_there_is_no_cq)
{
	struct request r = write_of(self, 0, 0, 8);
	const struct gda_efa_cqe *c;

	self->b->q.recv_cq = NULL;
	r.ctrl1 |= GDA_EFA_HAS_IMM;
	post(self, &r);
	ring(self);
	ASSERT_NEXT(c);
	EXPECT_EQ(GDA_EFA_FEATURE_MISMATCH, c->status);
	/* what follows is flushed, with its id */
	r.ctrl1 = GDA_EFA_WRITE;
	r.id = 77;
	post(self, &r);
	ring(self);
	ASSERT_NEXT(c);
	EXPECT_EQ(GDA_EFA_FLUSHED, c->status);
	EXPECT_EQ(77, id_of(c));
}

/* A CQ that was lost takes nothing: that costs the request, and not its poster's queue. */
TEST_F(efa, Q2_no_room_for_an_immediate)
{
	struct request r = write_of(self, 0, 0, 8);
	const struct gda_efa_cqe *c;

	r.ctrl1 |= GDA_EFA_HAS_IMM;
	self->b->cq.failed = true;
	post(self, &r);
	ring(self);
	ASSERT_NEXT(c);
	EXPECT_EQ(GDA_EFA_NOT_READY, c->status);
	EXPECT_EQ(GDA_QP_READY, self->a->q.state);
	EXPECT_EQ(0, self->a->q.rnr_tries);
	self->b->cq.failed = false;
	post(self, &r);
	ring(self);
	ASSERT_NEXT(c);
}

/* Ids of entries that are gone are not known: each completes with its number. */
TEST_F(efa, Q7_entries_that_cannot_be_read)
{
	const struct request r = write_of(self, 0, 0, 8);
	const struct gda_efa_cqe *c;
	u64 i;

	post(self, &r);
	ring(self);
	ASSERT_NE(NULL, next_cqe(self->a, &self->read));
	while (self->next < 4)
		post(self, &r);
	self->a->q.sq = NULL;
	self->a->q.fail = GDA_STATUS(GDA_CLASS_QUEUE, GDA_CAUSE_QUEUE);
	ring(self);
	for (i = 1; i < 4; i++) {
		ASSERT_NEXT(c);
		EXPECT_EQ(i, id_of(c));
		EXPECT_EQ(i > 1 ? GDA_EFA_FLUSHED : GDA_EFA_QP_INTERNAL, c->status);
	}
}

TEST_HARNESS_MAIN
