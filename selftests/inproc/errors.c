// SPDX-License-Identifier: MIT
/*
 * Every failure has the same form: the ticket that failed, its syndrome and
 * the reason, everything after it canceled, nothing after it moved; and every wait ends.
 */
#include "suite.h"

#define LEN	65536U
#define DEPTH	8

FIXTURE(errors) {
	struct s_end end[2];
};

FIXTURE_SETUP(errors)
{
	ASSERT_OK(s_pair_open(self->end, DEPTH, LEN));
	memset(self->end[0].mem.addr, 0x11, LEN);
	memset(self->end[1].mem.addr, 0x22, LEN);
}

FIXTURE_TEARDOWN(errors)
{
	s_pair_close(self->end);
}

/* Is all of the memory of end @i what it was at first? */
static bool untouched(FIXTURE_DATA(errors) *self, int i)
{
	const uint8_t *p = self->end[i].mem.addr;

	return p[0] == 0x11 * (i + 1) && !memcmp(p, p + 1, LEN - 1);
}

/* A fresh pair of QPs in the same contexts: an error costs its QP. */
static int renew(FIXTURE_DATA(errors) *self)
{
	int i;

	for (i = 0; i < 2; i++) {
		int err = gda_qp_destroy(self->end[i].qp);

		if (!err)
			err = s_qp_open(self->end[i].ctx, DEPTH, S_TIMEOUT_NS, &self->end[i].qp);
		if (err)
			return err;
		self->end[i].v = gda_qp_view(self->end[i].qp);
	}
	return s_connect(self->end[0].qp, self->end[1].qp);
}

/* Checks the error of @ticket, and that the QP reports the same. A fabric has no detail. */
static bool failed_so(struct s_end *e, int64_t ticket, uint32_t syndrome, uint32_t vendor)
{
	struct gda_error error = { .size = sizeof(error) };
	struct gda_qp_query q = { .size = sizeof(q) };
	int waited = gda_wait(e->v, ticket, 0);

	if (syndrome == GDA_MLX5_SYND_REMOTE_ACCESS && s_fabric(e->ctx))
		vendor = GDA_MLX5_VENDOR_FABRIC;
	if (waited == -EIO && gda_error(e->v, &error) == 1 && error.ticket == ticket &&
	    error.syndrome == syndrome && error.vendor == vendor &&
	    !gda_qp_query(e->qp, &q) && q.state == GDA_QP_ERROR && q.syndrome == syndrome &&
	    q.vendor == vendor && q.error_index == (uint64_t)ticket)
		return true;
	printf("# ticket %lld: wait %d, error of %lld, %s (%s)\n", (long long)ticket, waited,
	       (long long)error.ticket, gda_syndrome_name(error.syndrome),
	       gda_vendor_name(error.vendor));
	return false;
}

struct bad_put {
	const char *name;
	uint64_t laddr, raddr;
	uint32_t lkey, rkey, len;
	uint32_t syndrome, vendor;
	bool get;
};

/* Good work, the bad, good work: done, failed, canceled. */
static bool refuses(FIXTURE_DATA(errors) *self, const struct bad_put *bad)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];
	struct gda_error none = { .size = sizeof(none) };
	int64_t before, t, after;
	bool ok = true;

	before = gda_nop(a->v, 0);
	if (bad->get)
		t = gda_get(a->v, bad->laddr, bad->lkey, bad->raddr, bad->rkey, bad->len, 0);
	else
		t = gda_put(a->v, bad->laddr, bad->lkey, bad->raddr, bad->rkey, bad->len, 0);
	after = s_put(a, 0, b, 0, 64, 0);
	if (gda_wait(a->v, before, 0) || !failed_so(a, t, bad->syndrome, bad->vendor) ||
	    gda_wait(a->v, after, 0) != -ECANCELED || gda_quiet(a->v, 0) != -EIO)
		ok = false;
	/* nothing was moved, and the peer is as it was */
	if (!untouched(self, 0) || !untouched(self, 1) || gda_error(b->v, &none))
		ok = false;
	if (!ok)
		printf("# %s\n", bad->name);
	return !renew(self) && ok;
}

/* Return: how many were not refused as they should. */
static uint32_t refuses_all(FIXTURE_DATA(errors) *self, const struct s_memory *none,
			    const struct s_memory *remote_read)
{
	const struct s_memory *l = &self->end[0].mem, *r = &self->end[1].mem;
	const uint32_t lp = GDA_MLX5_SYND_LOCAL_PROT;
	const uint32_t ra = GDA_MLX5_SYND_REMOTE_ACCESS;
	const uint32_t key = GDA_MLX5_VENDOR_KEY, rng = GDA_MLX5_VENDOR_RANGE;
	const uint32_t rts = GDA_MLX5_VENDOR_RIGHTS;
	const struct bad_put bad[] = {
		{ "local variant", l->iova, r->iova, l->key ^ 1, r->key, 8, lp, key, 0 },
		{ "local index", l->iova, r->iova, l->key + 256, r->key, 8, lp, key, 0 },
		{ "the peer's as local", r->iova, r->iova, r->key, r->key, 8, lp, key, 0 },
		{ "remote variant", l->iova, r->iova, l->key, r->key ^ 0x80, 8, ra, key, 0 },
		{ "own as remote", l->iova, l->iova, l->key, l->key, 8, ra, key, 0 },
		{ "key 0", l->iova, r->iova, l->key, 0, 8, ra, key, 0 },
		{ "all ones", l->iova, r->iova, l->key, ~0U, 8, ra, key, 0 },
		{ "local end", l->iova + LEN - 7, r->iova, l->key, r->key, 8, lp, rng, 0 },
		{ "local start", l->iova - 1, r->iova, l->key, r->key, 8, lp, rng, 0 },
		{ "remote end", l->iova, r->iova + LEN - 7, l->key, r->key, 8, ra, rng, 0 },
		{ "remote start", l->iova, r->iova - 1, l->key, r->key, 8, ra, rng, 0 },
		{ "remote wraps", l->iova, ~0ULL - 3, l->key, r->key, 8, ra, rng, 0 },
		{ "longer than it", l->iova, r->iova, l->key, r->key, LEN + 1, lp, rng, 0 },
		{ "longest", l->iova, r->iova, l->key, r->key, 0x7fffffff, lp, rng, 0 },
		{ "no local write", none->iova, r->iova, none->key, r->key, 8, lp, rts, 1 },
		{ "no remote write", l->iova, remote_read->iova, l->key, remote_read->key, 8,
		  ra, rts, 0 },
	};
	uint32_t i, n = 0;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		n += refuses(self, &bad[i]);
	return sizeof(bad) / sizeof(bad[0]) - n;
}

TEST_F(errors, keys_rights_and_ranges)
{
	struct s_memory *l = &self->end[0].mem, *r = &self->end[1].mem;
	struct s_memory none, remote_read;

	ASSERT_OK(s_memory_new(self->end[0].ctx, LEN, 0, &none));
	ASSERT_OK(s_memory_new(self->end[1].ctx, LEN, GDA_ACCESS_REMOTE_READ, &remote_read));
	EXPECT_EQ(0, refuses_all(self, &none, &remote_read));
	/* what they may do, they do */
	EXPECT_OK(gda_wait(self->end[0].v, gda_put(self->end[0].v, none.iova, none.key, r->iova,
						   r->key, 8, 0), 0));
	EXPECT_OK(gda_wait(self->end[0].v, gda_get(self->end[0].v, l->iova, l->key,
						   remote_read.iova, remote_read.key, 8, 0), 0));
	s_memory_free(&none);
	s_memory_free(&remote_read);
}

TEST_F(errors, atomics)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];
	struct s_memory noatomic;
	int64_t t;

	ASSERT_OK(s_memory_new(b->ctx, LEN, GDA_ACCESS_ALL & ~GDA_ACCESS_REMOTE_ATOMIC, &noatomic));
	t = gda_fetch_add(a->v, a->mem.iova, a->mem.key, b->mem.iova + 4, b->mem.key, 1, 0);
	EXPECT_TRUE(failed_so(a, t, GDA_MLX5_SYND_REMOTE_INVAL_REQ, GDA_MLX5_VENDOR_ALIGN));
	ASSERT_OK(renew(self));
	t = gda_fetch_add(a->v, a->mem.iova, a->mem.key, noatomic.iova, noatomic.key, 1, 0);
	EXPECT_TRUE(failed_so(a, t, GDA_MLX5_SYND_REMOTE_ACCESS, GDA_MLX5_VENDOR_RIGHTS));
	EXPECT_TRUE(untouched(self, 0));
	EXPECT_TRUE(untouched(self, 1));
	s_memory_free(&noatomic);
}

/* A key that was good a moment ago, at once and with work in flight. */
TEST_F(errors, deregistered)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];
	struct s_memory m[2];
	int64_t t;
	int i;

	for (i = 0; i < 2; i++) {
		ASSERT_OK(s_memory_new(self->end[i].ctx, LEN, GDA_ACCESS_ALL, &m[i]));
		t = i ? gda_put(a->v, a->mem.iova, a->mem.key, m[1].iova, m[1].key, LEN, 0)
		      : gda_put(a->v, m[0].iova, m[0].key, b->mem.iova, b->mem.key, LEN, 0);
		EXPECT_OK(gda_wait(a->v, t, 0));
		EXPECT_OK(gda_mr_dereg(m[i].mr));
		/* nothing may touch it any more */
		ASSERT_EQ(0, munmap(m[i].addr, LEN));
		t = i ? gda_put(a->v, a->mem.iova, a->mem.key, m[1].iova, m[1].key, LEN, 0)
		      : gda_put(a->v, m[0].iova, m[0].key, b->mem.iova, b->mem.key, LEN, 0);
		EXPECT_TRUE(failed_so(a, t, i ? GDA_MLX5_SYND_REMOTE_ACCESS
					      : GDA_MLX5_SYND_LOCAL_PROT, GDA_MLX5_VENDOR_KEY));
		ASSERT_OK(renew(self));
	}
}

TEST_F(errors, registration)
{
	static const char constant[] = "not to be written";
	struct gda_context *ctx = self->end[0].ctx;
	uint8_t *p = s_pages(4 * 4096);
	struct gda_mr *mr;

	ASSERT_NE(NULL, p);
	munmap(p + 4096, 4096);
	EXPECT_EQ(-EINVAL, gda_mr_reg(ctx, p, 0, GDA_ACCESS_ALL, 0, &mr));
	EXPECT_EQ(-EINVAL, gda_mr_reg(ctx, p, 8, GDA_ACCESS_REMOTE_WRITE, 0, &mr));
	EXPECT_EQ(-EOVERFLOW, gda_mr_reg(ctx, (void *)~4095UL, 8192, 0, 0, &mr));
	EXPECT_EQ(-EFAULT, gda_mr_reg(ctx, NULL, 8, 0, 0, &mr));
	EXPECT_EQ(-EFAULT, gda_mr_reg(ctx, p, 4097, 0, 0, &mr));
	EXPECT_EQ(-EFAULT, gda_mr_reg(ctx, p + 8191, 2, 0, 0, &mr));
	EXPECT_EQ(-EFAULT, gda_mr_reg(ctx, (void *)(uintptr_t)constant, sizeof(constant),
				      GDA_ACCESS_ALL, 0, &mr));
	EXPECT_EQ(-EOPNOTSUPP, gda_mr_reg(ctx, p, 8, 16, 0, &mr));
	EXPECT_EQ(-EOPNOTSUPP, gda_mr_reg(ctx, p, 8, 0, 16, &mr));
	ASSERT_OK(gda_mr_reg(ctx, p + 8192, 8192, GDA_ACCESS_ALL, 0, &mr));
	EXPECT_OK(gda_mr_dereg(mr));
	ASSERT_OK(gda_mr_reg(ctx, p, 4096, GDA_ACCESS_ALL, 0, &mr));
	EXPECT_OK(gda_mr_dereg(mr));
	munmap(p, 4096);
	munmap(p + 8192, 8192);
}

/* The peer goes: while nothing is posted, then work fails; and with work waiting. */
TEST_F(errors, peer_gone)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];
	struct gda_error error = { .size = sizeof(error) };
	uint64_t end = gda_clock_ns() + S_TIMEOUT_NS;
	int64_t t;

	EXPECT_OK(gda_wait(a->v, s_put(a, 0, b, 0, 8, 0), 0));
	EXPECT_OK(gda_qp_destroy(b->qp));
	b->qp = NULL;
	/* it is told without asking */
	while (!gda_error(a->v, &error) && gda_clock_ns() < end)
		usleep(100);
	EXPECT_EQ(1, error.ticket);
	EXPECT_EQ(GDA_MLX5_SYND_RETRY_EXC, error.syndrome);
	EXPECT_EQ(GDA_MLX5_VENDOR_PEER, error.vendor);
	t = s_put(a, 0, b, 0, 8, 0);
	EXPECT_EQ(1, t);
	/* the slot that would have been next took the blame */
	EXPECT_EQ(-EIO, gda_wait(a->v, t, 0));
	EXPECT_EQ(-ECANCELED, gda_wait(a->v, s_put(a, 0, b, 0, 8, 0), 0));
}

TEST_F(errors, peer_gone_before_it_answered)
{
	struct s_end *a = &self->end[0];
	struct gda_qp *q, *peer;
	struct gda_address addr;
	struct gda_qp_query query = { .size = sizeof(query) };
	struct gda_view *v;
	int64_t t[3];
	int i;

	S_NEEDS_SIGHT(a->ctx);
	ASSERT_OK(s_qp_open(a->ctx, DEPTH, S_TIMEOUT_NS, &q));
	ASSERT_OK(s_qp_open(self->end[1].ctx, DEPTH, S_TIMEOUT_NS, &peer));
	ASSERT_OK(gda_qp_address(peer, &addr));
	ASSERT_OK(gda_qp_connect(q, &addr));
	v = gda_qp_view(q);
	for (i = 0; i < 3; i++)
		t[i] = gda_put_value(v, self->end[1].mem.iova, self->end[1].mem.key, 1, 0);
	EXPECT_EQ(-ETIMEDOUT, gda_wait(v, t[0], gda_clock_ns() + 20000000));
	ASSERT_OK(gda_qp_query(q, &query));
	EXPECT_EQ((uint32_t)GDA_QP_WAIT, query.state);
	EXPECT_OK(gda_qp_destroy(peer));
	EXPECT_EQ(-EIO, gda_quiet(v, 0));
	ASSERT_OK(gda_qp_query(q, &query));
	EXPECT_EQ((uint32_t)GDA_QP_ERROR, query.state);
	EXPECT_EQ(GDA_MLX5_SYND_RETRY_EXC, query.syndrome);
	EXPECT_TRUE(untouched(self, 1));
	EXPECT_OK(gda_qp_destroy(q));
}

TEST_F(errors, context_shut_down)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];
	struct gda_query q = { .size = sizeof(q) };

	EXPECT_OK(gda_context_shutdown(b->ctx));
	EXPECT_EQ(-EIO, gda_wait(a->v, s_put(a, 0, b, 0, 8, 0), 0));
	EXPECT_EQ(-ENODEV, gda_context_query(b->ctx, &q));
	EXPECT_EQ(-ENODEV, gda_mr_dereg(b->mem.mr));
	b->mem.mr = NULL;
	EXPECT_EQ(-ENODEV, gda_qp_destroy(b->qp));
	b->qp = NULL;
	EXPECT_EQ(-ENODEV, gda_context_shutdown(b->ctx));
	EXPECT_TRUE(untouched(self, 1));
}

TEST_F(errors, connecting)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];
	struct gda_address addr, other, bad;
	struct gda_qp *q;
	uint32_t i;

	S_NEEDS_SIGHT(a->ctx);
	ASSERT_OK(gda_qp_address(b->qp, &addr));
	EXPECT_EQ(-EALREADY, gda_qp_connect(a->qp, &addr));
	ASSERT_OK(s_qp_open(a->ctx, DEPTH, 0, &q));
	EXPECT_EQ(-EBUSY, gda_qp_connect(q, &addr));
	ASSERT_OK(gda_qp_address(q, &other));
	EXPECT_NE(0, memcmp(&addr, &other, sizeof(addr)));
	/* an address with any byte wrong names no QP */
	for (i = 0; i < sizeof(bad.bytes); i++) {
		int err;

		bad = other;
		bad.bytes[i] ^= 1;
		err = gda_qp_connect(q, &bad);
		EXPECT_TRUE(err == -EINVAL || err == -ENOENT) TH_LOG("byte %u: %d", i, err);
	}
	EXPECT_OK(gda_qp_connect(q, &other));
	EXPECT_EQ(-EALREADY, gda_qp_connect(q, &other));
	EXPECT_OK(gda_qp_destroy(q));
	/* the dead are not found */
	ASSERT_OK(s_qp_open(a->ctx, DEPTH, 0, &q));
	EXPECT_EQ(-ENOENT, gda_qp_connect(q, &other));
	EXPECT_OK(gda_qp_destroy(q));
}

TEST_F(errors, creation)
{
	struct gda_context *ctx = self->end[0].ctx;
	struct gda_cq_attr cq_attr = { .size = sizeof(cq_attr), .flags = GDA_CQ_COLLAPSED };
	struct gda_qp_attr attr = { .size = sizeof(attr), .sq_depth = 3 };
	struct gda_cq *cq;
	struct gda_qp *q, *q2;

	EXPECT_EQ(-EINVAL, gda_qp_create(ctx, NULL, &q));
	EXPECT_NE(NULL, strstr(gda_last_error(), "attr is NULL"));
	EXPECT_EQ(-EINVAL, gda_qp_create(ctx, &attr, &q));
	attr.sq_depth = 2 * GDA_MLX5_MAX_DEPTH;
	EXPECT_EQ(-EINVAL, gda_qp_create(ctx, &attr, &q));
	attr.sq_depth = 0;
	attr.flags = 1U << 31;
	EXPECT_EQ(-EOPNOTSUPP, gda_qp_create(ctx, &attr, &q));
	attr.flags = 0;
	ASSERT_OK(gda_cq_create(ctx, &cq_attr, &cq));
	attr.cq = cq;
	ASSERT_OK(gda_qp_create(ctx, &attr, &q));
	EXPECT_EQ(-EBUSY, gda_cq_destroy(cq));
	/* a collapsed CQ is for one */
	EXPECT_EQ(-EBUSY, gda_qp_create(ctx, &attr, &q2));
	EXPECT_EQ(-EINVAL, gda_qp_create(self->end[1].ctx, &attr, &q2));
	EXPECT_OK(gda_qp_destroy(q));
	EXPECT_OK(gda_cq_destroy(cq));
	cq_attr.flags = 0;
	cq_attr.depth = 12;
	EXPECT_EQ(-EINVAL, gda_cq_create(ctx, &cq_attr, &cq));
	cq_attr.flags = 1U << 31;
	EXPECT_EQ(-EOPNOTSUPP, gda_cq_create(ctx, &cq_attr, &cq));
}

/*
 * A consumer that stands still (the peer has not answered): the ring takes what fits
 * and not one more, in any mode of posting; when it goes on, all of it is done once.
 */
TEST_F(errors, full_ring_is_never_lapped)
{
	static const unsigned int modes[] = { 0, GDA_EXCLUSIVE, GDA_DEFER,
					      GDA_EXCLUSIVE | GDA_DEFER };
	struct s_end *a = &self->end[0], *b = &self->end[1];
	/* it has room for as many atomics, and NOPs fill the rest */
	const uint32_t depth = 4 * DEPTH;
	uint64_t *sum = (void *)b->mem.addr;
	unsigned int m;

	for (m = 0; m < 4; m++) {
		struct gda_qp_attr attr = {
			.size = sizeof(attr), .sq_depth = depth, .timeout_ns = 10000000,
		};
		uint8_t before[4 * DEPTH * 64];
		uint32_t slots;
		size_t bytes;
		struct gda_address to_q, to_peer;
		struct gda_qp *q, *peer;
		struct gda_view *v;
		int i;

		*sum = 0;
		ASSERT_OK(gda_qp_create(a->ctx, &attr, &q));
		ASSERT_OK(s_qp_open(b->ctx, DEPTH, 0, &peer));
		ASSERT_OK(gda_qp_address(q, &to_q));
		ASSERT_OK(gda_qp_address(peer, &to_peer));
		ASSERT_OK(gda_qp_connect(q, &to_peer));
		v = gda_qp_view(q);
		slots = s_atomic_slots(v);
		bytes = (size_t)depth * gda_wqe_slot_bytes(v->dialect);
		for (i = 0; i < DEPTH; i++)
			ASSERT_EQ(i * slots,
				  gda_fetch_add(v, a->mem.iova + 8 * i, a->mem.key, b->mem.iova,
						b->mem.key, 1ULL << 8 * i, modes[m]));
		for (i = DEPTH * (int)slots; i < (int)depth; i++)
			ASSERT_EQ(i, gda_nop(v, modes[m]));
		memcpy(before, (void *)(uintptr_t)v->sq, bytes);
		for (i = 0; i < 3; i++) {
			EXPECT_EQ(-EAGAIN, gda_nop(v, modes[m] | GDA_NOWAIT));
			EXPECT_EQ(-ETIMEDOUT,
				  gda_put_value(v, b->mem.iova, b->mem.key, 1, modes[m]));
			gda_flush(v);
		}
		v->abort_word = 1;
		EXPECT_EQ(-ESHUTDOWN, gda_put_value(v, b->mem.iova, b->mem.key, 1, modes[m]));
		EXPECT_EQ(-ESHUTDOWN, gda_quiet(v, 0));
		v->abort_word = 0;
		EXPECT_EQ(0, memcmp(before, (void *)(uintptr_t)v->sq, bytes));
		EXPECT_EQ(depth, v->reserved);
		EXPECT_EQ(0, *sum);
		ASSERT_OK(gda_qp_connect(peer, &to_q));
		EXPECT_OK(gda_wait(v, depth - 1, gda_clock_ns() + S_TIMEOUT_NS));
		EXPECT_EQ(0x0101010101010101U, *sum);
		for (i = 0; i < DEPTH; i++)
			EXPECT_EQ(0x0101010101010101U & ((1ULL << 8 * i) - 1),
				  ((uint64_t *)(void *)a->mem.addr)[i]);
		EXPECT_OK(gda_qp_destroy(q));
		EXPECT_OK(gda_qp_destroy(peer));
	}
}

TEST_F(errors, deadlines)
{
	struct s_end *a = &self->end[0];
	struct gda_qp *q;
	struct gda_view *v;
	uint64_t start;

	ASSERT_OK(s_qp_open(a->ctx, DEPTH, 30000000, &q));
	v = gda_qp_view(q);
	ASSERT_EQ(0, gda_nop(v, 0));
	EXPECT_EQ(0, gda_test(v, 0));
	start = gda_clock_ns();
	EXPECT_EQ(-ETIMEDOUT, gda_wait(v, 0, 0));
	EXPECT_LE(30000000, gda_clock_ns() - start);
	EXPECT_EQ(-ETIME, gda_wait(v, 0, 1));		/* long past */
	EXPECT_EQ(-ETIMEDOUT, gda_quiet(v, gda_clock_ns() + 1000000));
	EXPECT_EQ(-EINVAL, gda_test(v, 1));
	EXPECT_EQ(-EAGAIN, gda_wait(v, -EAGAIN, 0));
	/* what was waited for in vain is still done when it can be */
	S_NEEDS(a->ctx, GDA_FEATURE_LOOPBACK);
	ASSERT_OK(s_connect(q, q));
	EXPECT_OK(gda_wait(v, 0, gda_clock_ns() + S_TIMEOUT_NS));
	EXPECT_OK(gda_qp_destroy(q));
}

/* The engine looks again at every slot: an entry that lies costs its QP only. */
TEST_F(errors, overwritten_entry)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];
	struct gda_address addr, back;
	struct gda_qp *q, *peer;
	struct gda_view *v;
	int64_t t;

	ASSERT_OK(s_qp_open(a->ctx, DEPTH, S_TIMEOUT_NS, &q));
	ASSERT_OK(s_qp_open(b->ctx, DEPTH, S_TIMEOUT_NS, &peer));
	ASSERT_OK(gda_qp_address(peer, &addr));
	ASSERT_OK(gda_qp_address(q, &back));
	v = gda_qp_view(q);
	/* the index in the entry, before the doorbell: on a fabric only that orders it before its reader */
	t = gda_put_value(v, b->mem.iova, b->mem.key, 1, GDA_DEFER);
	((uint8_t *)(uintptr_t)v->sq)[2] ^= 1;
	gda_flush(v);
	ASSERT_OK(gda_qp_connect(q, &addr));
	ASSERT_OK(gda_qp_connect(peer, &back));
	EXPECT_EQ(-EIO, gda_wait(v, t, 0));
	EXPECT_TRUE(untouched(self, 1));
	EXPECT_OK(gda_wait(a->v, s_put(a, 0, b, 0, 8, 0), 0));
	EXPECT_OK(gda_qp_destroy(q));
	EXPECT_OK(gda_qp_destroy(peer));
}

TEST_HARNESS_MAIN
