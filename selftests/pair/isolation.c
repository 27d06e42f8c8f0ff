// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * What side 0 may do to memory of side 1, in the other guest of gda-pair, on the device of the
 * kernel and on that of the library: no more than the rights of the key say, nothing by keys that
 * were not given to it, and nothing after deregistration. Each attempt has a QP of its own, since a
 * refused one costs it. With GDA_STRESS=10 it is 4096 guesses and 10^4 deregistrations.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* How much longer than usual. */
static unsigned int stress(void)
{
	const char *env = getenv("GDA_STRESS");
	double times = env ? strtod(env, NULL) : 1;

	return times > 1 ? (unsigned int)times : 1;
}

/* A test that is made longer may take longer. */
static inline unsigned int stressed_alarm(unsigned int seconds)
{
	return alarm(seconds * stress());
}

#define alarm	stressed_alarm
#include "kselftest_harness.h"
#include <gda/ring.h>
#include "pair.h"
#include "remote.h"

#define PAGE		4096U
#define OPERATIONS	6U
#define RIGHTS		60U		/* of operation and valid set of rights */
#define GUESSES		64U
#define ROUNDS		32U
#define MOST		(GUESSES + 3)	/* QPs */
#define LEN		65536U		/* of a region that is deregistered */
#define UNTOUCHED	0x22

struct region {
	uint64_t iova;
	uint32_t key;
	uint32_t access;
};

FIXTURE(isolation) {
	struct gda_context *ctx;
	struct gda_cq *ring;
	struct gda_qp *qp[MOST];
	uint32_t qps;
	uint8_t *mem;		/* all regions of this side, one behind the other */
	struct gda_mr *mr[MOST];
	struct region own[MOST], peer[MOST];
	uint64_t seed;
	char device[80];
	char why[512];
};

FIXTURE_VARIANT(isolation) {
	const char *kind;
};

FIXTURE_VARIANT_ADD(isolation, ib) { .kind = "ib" };
FIXTURE_VARIANT_ADD(isolation, verbs) { .kind = "verbs" };

/* The name of a step, the same on both sides and good for once; @r: round of it. */
#define STEP_OF(text, step, r) ({ \
	snprintf(text, sizeof(text), "%s.%s.%s.%u", _metadata->name, variant->kind, step, r); \
	(const char *)text; \
})
#define STEP(text, step)	STEP_OF(text, step, 0U)

#define MEET_OF(step, r) ({ \
	char meet_name[96]; \
	pair_barrier(STEP_OF(meet_name, step, r)); \
})
#define MEET(step)		MEET_OF(step, 0U)

/* Rounds of @each that make @all with GDA_STRESS=10. */
static uint32_t batches(uint32_t all, uint32_t each)
{
	return stress() > 1 ? (all / 10 * stress() + each - 1) / each : 1;
}

static int open_device(FIXTURE_DATA(isolation) *self, const char *kind)
{
	struct gda_cq_attr cq = { .size = sizeof(cq), .depth = 64 };
	int err;

	snprintf(self->device, sizeof(self->device), "%s:%s", kind, pair_env("GDA_PAIR_RDMA"));
	err = gda_open(self->device, &self->ctx);
	if (err)
		snprintf(self->why, sizeof(self->why), "%s: %s (%s)", self->device,
			 gda_strerror(err), gda_last_error());
	return err ? err : gda_cq_create(self->ctx, &cq, &self->ring);
}

FIXTURE_SETUP(isolation)
{
	char name[96];
	int own, peer;

	memset(self, 0, sizeof(*self));
	self->seed = gda_clock_ns();
	if (pair_side() < 0)
		SKIP(return, "not in gda-pair");
	own = open_device(self, variant->kind);
	ASSERT_EQ(0, pair_swap(STEP(name, "device"), &own, &peer, sizeof(own)));
	if (own || peer)
		SKIP(return, "no device here or there: %s", self->why);
	self->mem = mmap(NULL, MOST * LEN, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
			 0);
	ASSERT_NE(MAP_FAILED, self->mem);
	memset(self->mem, pair_side() ? UNTOUCHED : 0x11, MOST * LEN);
}

static void close_queues(FIXTURE_DATA(isolation) *self)
{
	while (self->qps)
		gda_qp_destroy(self->qp[--self->qps]);
}

FIXTURE_TEARDOWN(isolation)
{
	if (!self->mem)
		return;
	/* Neither side goes before the other one is through. */
	MEET("done");
	close_queues(self);
	for (uint32_t i = 0; i < MOST; i++)
		if (self->mr[i])
			gda_mr_dereg(self->mr[i]);
	gda_cq_destroy(self->ring);
	gda_close(self->ctx);
}

static uint8_t *region_at(FIXTURE_DATA(isolation) *self, uint32_t i, uint32_t bytes)
{
	return self->mem + (size_t)i * bytes;
}

static int add_region(FIXTURE_DATA(isolation) *self, struct gda_context *ctx, uint32_t i,
		      uint32_t bytes, uint32_t access)
{
	int err = gda_mr_reg(ctx, region_at(self, i, bytes), bytes, access, 0, &self->mr[i]);

	if (!err)
		self->own[i] = (struct region) { gda_mr_iova(self->mr[i]), gda_mr_key(self->mr[i]),
						 access };
	return err;
}

/* @n QPs, each connected to that of the same number; and each side learns the other's regions. */
static int open_queues(FIXTURE_DATA(isolation) *self, const char *name, uint32_t n)
{
	static struct {
		struct gda_address address[MOST];
		struct region region[MOST];
	} own, peer;
	struct gda_qp_attr attr = {
		.size = sizeof(attr), .sq_depth = 16, .timeout_ns = LONG_NS,
		.recv_cq = pair_side() ? self->ring : NULL,
	};
	int err = 0;

	for (uint32_t i = 0; i < n && !err; i++) {
		err = gda_qp_create(self->ctx, &attr, &self->qp[i]);
		self->qps += !err;
		err = err ? err : gda_qp_address(self->qp[i], &own.address[i]);
	}
	memcpy(own.region, self->own, sizeof(own.region));
	err = err ? err : pair_swap(name, &own, &peer, sizeof(own));
	memcpy(self->peer, peer.region, sizeof(peer.region));
	for (uint32_t i = 0; i < n && !err; i++)
		err = gda_qp_connect(self->qp[i], &peer.address[i]);
	return err;
}

/* Why the QP failed; 0: it has not. */
static uint32_t syndrome(struct gda_qp *qp)
{
	struct gda_error e = { .size = sizeof(e) };

	return gda_error(gda_qp_view(qp), &e) ? e.syndrome : 0;
}

static bool refused(struct gda_qp *qp, int err)
{
	return err == -EIO && syndrome(qp) == GDA_MLX5_SYND_REMOTE_ACCESS;
}

static bool untouched(const uint8_t *p, size_t bytes)
{
	return p[0] == UNTOUCHED && !memcmp(p, p + 1, bytes - 1);
}

/* --- rights --- */

static const uint32_t needs[OPERATIONS] = {
	GDA_ACCESS_REMOTE_WRITE, GDA_ACCESS_REMOTE_WRITE, GDA_ACCESS_REMOTE_WRITE,
	GDA_ACCESS_REMOTE_READ, GDA_ACCESS_REMOTE_ATOMIC, GDA_ACCESS_REMOTE_ATOMIC,
};

enum { PUT, PUT_INLINE, PUT_IMM, GET, FETCH_ADD, COMPARE_SWAP };

static int operate(FIXTURE_DATA(isolation) *self, uint32_t op, struct gda_qp *qp,
		   const struct region *to)
{
	uint64_t own = self->own[0].iova, value = 0x3333333333333333;
	struct gda_view *v = gda_qp_view(qp);
	uint32_t key = self->own[0].key;
	int64_t t = -EINVAL;

	switch (op) {
	case PUT:
		t = gda_put(v, own, key, to->iova, to->key, 8, 0);
		break;
	case PUT_INLINE:
		t = gda_put_inline(v, to->iova, to->key, &value, 8, 0);
		break;
	case PUT_IMM:
		t = gda_put_imm(v, own, key, to->iova, to->key, 8, 1, 0);
		break;
	case GET:
		t = gda_get(v, own + 64, key, to->iova, to->key, 8, 0);
		break;
	case FETCH_ADD:
		t = gda_fetch_add(v, own + 64, key, to->iova, to->key, 1, 0);
		break;
	case COMPARE_SWAP:
		t = gda_compare_swap(v, own + 64, key, to->iova, to->key, 0x2222222222222222, 1, 0);
		break;
	}
	return t < 0 ? (int)t : gda_wait(v, t, gda_clock_ns() + LONG_NS);
}

/* A region of a page for each operation and each set of rights. Return: how many; 0: none. */
static uint32_t add_rights(FIXTURE_DATA(isolation) *self)
{
	uint32_t n = 0;

	for (uint32_t access = 0; access <= GDA_ACCESS_ALL; access++) {
		/* remote stores are stores */
		if (access & (GDA_ACCESS_REMOTE_WRITE | GDA_ACCESS_REMOTE_ATOMIC) &&
		    !(access & GDA_ACCESS_LOCAL_WRITE))
			continue;
		for (uint32_t op = 0; op < OPERATIONS; op++, n++)
			if (add_region(self, self->ctx, n, PAGE, access))
				return 0;
	}
	return n;
}

/* Of the attempts of side 0, those that ended in another way than the rights say. */
static uint32_t try_rights(FIXTURE_DATA(isolation) *self)
{
	uint32_t wrong = 0;

	for (uint32_t i = 0; i < RIGHTS; i++) {
		uint32_t op = i % OPERATIONS;
		int err = operate(self, op, self->qp[i], &self->peer[i]);
		bool may = self->peer[i].access & needs[op];

		if (may ? !err : refused(self->qp[i], err))
			continue;
		printf("# operation %u, rights %#x: %s, %s\n", op, self->peer[i].access,
		       gda_strerror(err), gda_syndrome_name(syndrome(self->qp[i])));
		wrong++;
	}
	return wrong;
}

/* Of side 1's pages, those that are otherwise than the rights say. */
static uint32_t wrong_pages(FIXTURE_DATA(isolation) *self)
{
	uint32_t wrong = 0;

	for (uint32_t i = 0; i < RIGHTS; i++) {
		uint32_t op = i % OPERATIONS;
		bool stored = op != GET && self->own[i].access & needs[op];
		const uint8_t *p = region_at(self, i, PAGE);

		wrong += untouched(p, 8) == stored || !untouched(p + 8, PAGE - 8);
	}
	return wrong;
}

/* Are there @n immediates, and no more? They may come a little behind the bytes. */
static bool immediates_are(FIXTURE_DATA(isolation) *self, uint32_t n)
{
	struct gda_cq_entry entry = { .size = sizeof(entry) };
	struct gda_cq_view *ring = gda_cq_view(self->ring);

	for (uint32_t i = 0; i < n; i++)
		if (gda_cq_wait(ring, &entry, gda_clock_ns() + LONG_NS))
			return false;
	return !gda_cq_poll(ring, &entry);
}

TEST_F_TIMEOUT(isolation, K3_rights_4_by_6, 200)
{
	uint32_t granted = 0;
	char name[96];

	if (pair_side()) {
		ASSERT_EQ(RIGHTS, add_rights(self));
	} else {
		ASSERT_EQ(0, add_region(self, self->ctx, 0, PAGE, GDA_ACCESS_LOCAL_WRITE));
	}
	ASSERT_EQ(0, open_queues(self, STEP(name, "open"), RIGHTS)) TH_LOG("%s", gda_last_error());
	if (!pair_side())
		EXPECT_EQ(0, try_rights(self));
	ASSERT_EQ(0, MEET("tried"));
	if (!pair_side())
		return;
	EXPECT_EQ(0, wrong_pages(self));
	for (uint32_t i = PUT_IMM; i < RIGHTS; i += OPERATIONS)
		granted += !!(self->own[i].access & needs[PUT_IMM]);
	EXPECT_TRUE(immediates_are(self, granted));
}

/* --- keys --- */

static uint64_t next(uint64_t *seed)
{
	uint64_t z = *seed += 0x9e3779b97f4a7c15U;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
	z = (z ^ z >> 27) * 0x94d049bb133111ebU;
	return z ^ z >> 31;
}

/* Any key, and those that differ from the right one in a few bits. */
static uint32_t guess(uint32_t right, uint64_t *seed)
{
	uint32_t key = (uint32_t)next(seed);

	switch (next(seed) % 4) {
	case 0:
		key = (right & ~0xffU) | (key & 0xff);
		break;
	case 1:
		key = right ^ 1U << next(seed) % 32;
		break;
	case 2:
		key = right + (uint32_t)(next(seed) % 64) * 0x100;
		break;
	}
	return key == right ? right ^ 1 : key;
}

/* Of guesses, of the key of another context there, and of the own one: those not refused. */
static uint32_t try_keys(FIXTURE_DATA(isolation) *self)
{
	uint32_t hits = 0;

	for (uint32_t i = 0; i < GUESSES + 2; i++) {
		struct region to = self->peer[0];

		if (i < GUESSES)
			to.key = guess(to.key, &self->seed);
		else
			to = i == GUESSES ? self->peer[1] : self->own[0];
		hits += !refused(self->qp[i], operate(self, PUT, self->qp[i], &to));
	}
	return hits;
}

TEST_F_TIMEOUT(isolation, K1_K2_keys_that_were_not_given, 200)
{
	uint32_t n = batches(4096, GUESSES);
	struct gda_context *other = NULL;
	char name[96];

	TH_LOG("%u guesses, seed %llu", n * GUESSES, (unsigned long long)self->seed);
	ASSERT_EQ(0, add_region(self, self->ctx, 0, PAGE, GDA_ACCESS_ALL));
	if (pair_side()) {
		ASSERT_EQ(0, gda_open(self->device, &other));
		ASSERT_EQ(0, add_region(self, other, 1, PAGE, GDA_ACCESS_ALL));
	}
	for (uint32_t i = 0; i < n; i++) {
		ASSERT_EQ(0, open_queues(self, STEP_OF(name, "open", i), MOST))
			TH_LOG("%s", gda_last_error());
		if (!pair_side()) {
			EXPECT_EQ(0, try_keys(self));
			/* the right one opens */
			EXPECT_EQ(0, operate(self, PUT, self->qp[MOST - 1], &self->peer[0]));
		}
		ASSERT_EQ(0, MEET_OF("tried", i));
		close_queues(self);
	}
	if (!pair_side())
		return;
	EXPECT_FALSE(untouched(self->mem, 8));
	EXPECT_TRUE(untouched(self->mem + 8, 2 * PAGE - 8));
	gda_mr_dereg(self->mr[1]);
	self->mr[1] = NULL;
	gda_close(other);
}

/* --- deregistration --- */

/* Put to the region until that is refused: the put that is waited for, or one before it. */
static bool refused_at_last(FIXTURE_DATA(isolation) *self, uint32_t r)
{
	uint64_t until = gda_clock_ns() + 2 * LONG_NS;
	struct gda_view *v = gda_qp_view(self->qp[r]);
	int err = 0;

	for (uint32_t i = 0; !err && gda_clock_ns() < until; i++) {
		int64_t t = 0;

		memset(self->mem, (int)(i % 200 + 40), PAGE);
		for (uint32_t at = 0; at < LEN && t >= 0; at += 4 * PAGE)
			t = gda_put(v, self->own[0].iova, self->own[0].key, self->peer[r].iova + at,
				    self->peer[r].key, PAGE, 0);
		err = t < 0 ? (int)t : gda_wait(v, t, until);
	}
	return refused(self->qp[r], err == -ECANCELED ? -EIO : err);
}

/* Side 1 takes a region away as soon as puts arrive there, at any moment. */
static bool take_away(FIXTURE_DATA(isolation) *self, uint32_t r, uint8_t *copy)
{
	const uint8_t *p = region_at(self, r, LEN);
	uint64_t until = gda_clock_ns() + 2 * LONG_NS;

	while (__atomic_load_n(p, __ATOMIC_RELAXED) == UNTOUCHED) {
		if (gda_clock_ns() > until)
			return false;
		usleep(100);
	}
	usleep((useconds_t)(next(&self->seed) % 3000));
	if (gda_mr_dereg(self->mr[r]))
		return false;
	self->mr[r] = NULL;
	/* from here on it is not touched */
	memcpy(copy, p, LEN);
	return true;
}

/* ROUNDS regions, each of which is taken away once. Return: those of which something was wrong. */
static uint32_t deregister_all(FIXTURE_DATA(isolation) *self, uint8_t *copy)
{
	uint32_t wrong = 0;

	for (uint32_t r = 0; r < ROUNDS; r++) {
		if (!pair_side())
			wrong += !refused_at_last(self, r);
		else if (!take_away(self, r, copy + (size_t)r * LEN))
			return ROUNDS;
	}
	return wrong;
}

TEST_F_TIMEOUT(isolation, K2_no_byte_changes_after_deregistration, 300)
{
	uint32_t n = batches(10000, ROUNDS), regions = pair_side() ? ROUNDS : 1;
	uint8_t *copy = malloc((size_t)ROUNDS * LEN);
	char name[96];

	ASSERT_NE(NULL, copy);
	TH_LOG("%u rounds, seed %llu", n * ROUNDS, (unsigned long long)self->seed);
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t r = 0; r < regions; r++)
			if (!self->mr[r])
				ASSERT_EQ(0, add_region(self, self->ctx, r, LEN, GDA_ACCESS_ALL));
		ASSERT_EQ(0, open_queues(self, STEP_OF(name, "open", i), ROUNDS))
			TH_LOG("%s", gda_last_error());
		ASSERT_EQ(0, deregister_all(self, copy)) TH_LOG("batch %u", i);
		ASSERT_EQ(0, MEET_OF("taken", i));
		if (pair_side()) {
			ASSERT_EQ(0, memcmp(copy, self->mem, (size_t)ROUNDS * LEN));
			memset(self->mem, UNTOUCHED, (size_t)ROUNDS * LEN);
		}
		close_queues(self);
	}
	free(copy);
}

TEST_HARNESS_MAIN
