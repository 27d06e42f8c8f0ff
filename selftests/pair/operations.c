// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Each operation that an RDMA device offers, from one guest of gda-pair to the other: side 0
 * posts, side 1 owns the memory and takes immediates.
 */
#define _GNU_SOURCE
#include "kselftest_harness.h"
#include <gda/ring.h>
#include "pair.h"
#include "remote.h"

#define OLD	4096		/* offset of what atomics bring back */
#define WORD	8192		/* offset of the word that they change */
#define IMM	0xfeedbee5U

FIXTURE(operations) {
	struct remote r;
	struct gda_cq *ring;
};

FIXTURE_VARIANT(operations) {
	const char *kind;
};

FIXTURE_VARIANT_ADD(operations, ib) { .kind = "ib" };
FIXTURE_VARIANT_ADD(operations, verbs) { .kind = "verbs" };

/* In place of the QP of side_open_on(): one that takes immediates. */
static int open_ring(struct side *s, struct gda_cq **ring)
{
	struct gda_cq_attr cq = { .size = sizeof(cq), .depth = 16 };
	struct gda_qp_attr attr = {
		.size = sizeof(attr), .sq_depth = DEPTH, .timeout_ns = LONG_NS,
	};
	int err = gda_qp_destroy(s->qp);

	s->qp = NULL;
	err = err ? err : gda_cq_create(s->ctx, &cq, ring);
	attr.recv_cq = *ring;
	err = err ? err : gda_qp_create(s->ctx, &attr, &s->qp);
	s->v = err ? NULL : gda_qp_view(s->qp);
	return err;
}

/* Return: 0; 1 there is no such device, see why; or a negative errno. */
static int open_both(struct remote *r, struct gda_cq **ring, const char *kind)
{
	struct hello own = { 0 }, peer;
	char device[80];
	int err;

	snprintf(device, sizeof(device), "%s:%s", kind, pair_env("GDA_PAIR_RDMA"));
	own.err = side_open_on(&r->s, device, DEPTH);
	own.err = own.err ? own.err : open_ring(&r->s, ring);
	own.err = own.err ? own.err : gda_qp_address(r->s.qp, &own.address);
	own.iova = r->s.iova;
	own.key = r->s.key;
	err = pair_swap(kind, &own, &peer, sizeof(own));
	if (err)
		return err;
	if (own.err || peer.err) {
		snprintf(r->why, sizeof(r->why), "%s: here %s, there %s", device,
			 gda_strerror(own.err), gda_strerror(peer.err));
		return 1;
	}
	r->iova = peer.iova;
	r->key = peer.key;
	return gda_qp_connect(r->s.qp, &peer.address);
}

FIXTURE_SETUP(operations)
{
	int err;

	memset(self, 0, sizeof(*self));
	if (pair_side() < 0)
		SKIP(return, "not in gda-pair");
	err = open_both(&self->r, &self->ring, variant->kind);
	if (err == 1)
		SKIP(return, "%s", self->r.why);
	ASSERT_EQ(0, err) TH_LOG("%s (%s)", gda_strerror(err), gda_last_error());
	memset(self->r.s.mem, pair_side() ? 0x22 : 0x11, BYTES);
}

FIXTURE_TEARDOWN(operations)
{
	char name[32];

	if (!self->r.key)
		return;
	/* Neither end goes before the other one is through. */
	snprintf(name, sizeof(name), "%s.done", variant->kind);
	pair_barrier(name);
	gda_qp_destroy(self->r.s.qp);
	gda_cq_destroy(self->ring);
	gda_mr_dereg(self->r.s.mr);
	gda_close(self->r.s.ctx);
}

/* Both sides have come so far. */
#define MEET(step) ({ \
	char meet_name[48]; \
	snprintf(meet_name, sizeof(meet_name), "%s.%s", variant->kind, step); \
	pair_barrier(meet_name); \
})

static uint64_t *word(struct remote *r, size_t at)
{
	return (uint64_t *)(r->s.mem + at);
}

static bool are(const uint8_t *p, uint8_t byte, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != byte)
			return false;
	return true;
}

static int done(struct remote *r, int64_t ticket)
{
	return gda_wait(r->s.v, ticket, gda_clock_ns() + LONG_NS);
}

/* Post each one, and look at what comes back. */
static void post_all(struct __test_metadata *_metadata, struct remote *r)
{
	struct gda_view *v = r->s.v;
	uint64_t own = r->s.iova, to = r->iova;
	uint32_t key = r->s.key, rkey = r->key;

	ASSERT_EQ(0, done(r, gda_put(v, own, key, to, rkey, 1000, 0)));
	ASSERT_EQ(0, done(r, gda_put_inline(v, to + 1024, rkey, "within", 6, 0)));
	ASSERT_EQ(0, done(r, gda_put_inline(v, to + 1100, rkey, r->s.mem, 100, 0)));
	ASSERT_EQ(0, done(r, gda_nop(v, 0)));
	*word(r, OLD + 8) = 0;
	ASSERT_EQ(0, done(r, gda_fetch_add(v, own + OLD, key, to + WORD, rkey, 5, 0)));
	EXPECT_EQ(0x2222222222222222, *word(r, OLD));
	ASSERT_EQ(0, done(r, gda_compare_swap(v, own + OLD + 8, key, to + WORD, rkey,
					      0x2222222222222227, 77, 0)));
	EXPECT_EQ(0x2222222222222227, *word(r, OLD + 8));
	/* one that does not compare equal changes nothing */
	ASSERT_EQ(0, done(r, gda_compare_swap(v, own + OLD, key, to + WORD, rkey, 1, 2, 0)));
	EXPECT_EQ(77, *word(r, OLD));
	ASSERT_EQ(0, done(r, gda_get(v, own + 16384, key, to + 16384, rkey, 16384, 0)));
	EXPECT_TRUE(are(r->s.mem + 16384, 0x22, 16384));
	ASSERT_EQ(0, done(r, gda_put_imm(v, own, key, to + 2048, rkey, 500, IMM, 0)));
}

TEST_F_TIMEOUT(operations, M_01_each_one, 90)
{
	struct remote *r = &self->r;
	struct gda_cq_entry entry;

	ASSERT_EQ(0, MEET("ready"));
	if (!pair_side()) {
		post_all(_metadata, r);
		ASSERT_EQ(0, MEET("posted"));
		return;
	}
	/* what was posted before the immediate is there when it is */
	ASSERT_EQ(0, gda_cq_wait(gda_cq_view(self->ring), &entry, gda_clock_ns() + LONG_NS));
	EXPECT_EQ(IMM, entry.imm);
	EXPECT_EQ(500, entry.bytes);
	EXPECT_TRUE(are(r->s.mem, 0x11, 1000));
	EXPECT_TRUE(are(r->s.mem + 1000, 0x22, 24));
	EXPECT_EQ(0, memcmp(r->s.mem + 1024, "within", 6));
	EXPECT_TRUE(are(r->s.mem + 1100, 0x11, 100));
	EXPECT_TRUE(are(r->s.mem + 2048, 0x11, 500));
	EXPECT_TRUE(are(r->s.mem + 2548, 0x22, WORD - 2548));
	EXPECT_EQ(77, *word(r, WORD));
	ASSERT_EQ(0, MEET("posted"));
}

TEST_HARNESS_MAIN
