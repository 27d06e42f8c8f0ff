// SPDX-License-Identifier: MIT
/*
 * What posters of other software take for done, on a queue that carries requests out in any order
 * and reads their sources when it does: each scheme is written here, and does what it should not.
 * In order all of them are right, which is why nobody sees it. The library's are right in any.
 *
 *	E-10	a deferred entry goes where the index of the doorbell is
 *	E-12	a source is free when so many requests are done as were posted after it
 *	E-20	a flush ends when so many are done as had been posted, or when none is outstanding
 *	signal	all before a signal have arrived when as many have as it says
 */
#define GDA_WQE_EFA
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <gda/fastpath.h>
#include "kselftest_harness.h"

#define DEPTH	16U
#define SEEDS	2000U
#define SLOTS	4U		/* sources of E-12 */
#define VALUES	32U

/* A queue in plain memory, and a device that a test steps. */
struct device {
	struct gda_view view;
	struct gda_efa_wide_wqe sq[DEPTH];
	struct gda_efa_recv_cqe cq[DEPTH];
	uint32_t slots[DEPTH];
	uint64_t marks[GDA_VIEW_MARKS_BYTES / 8];
	union {
		uint64_t db;
		uint16_t index;		/* little-endian */
	};
	uint32_t record;
	/* the device's */
	struct gda_efa_wide_wqe open[DEPTH];	/* fetched, not carried out */
	uint32_t nopen;
	uint64_t fetched;
	uint64_t done;
	bool in_order;
	uint64_t seed;
	/* a poster's of the test, which counts */
	uint64_t posted;
	/* memory of both sides */
	uint64_t source[64];
	uint64_t there[64];
};

FIXTURE(schemes) {
	struct device *d;
};

static void start(struct device *d, uint64_t seed, bool in_order)
{
	struct gda_view_attr attr = {
		.size = sizeof(attr), .depth = DEPTH, .qpn = 0x77, .dialect = GDA_DIALECT_EFA,
		.timeout_ns = 20000000000,
	};

	memset(d, 0, sizeof(*d));
	attr.sq = d->sq;
	attr.dbrec = &d->record;
	attr.db = &d->db;
	attr.cq = d->cq;
	attr.slots = d->slots;
	attr.marks = d->marks;
	if (gda_view_init(&d->view, &attr))
		abort();
	d->seed = seed;
	d->in_order = in_order;
}

FIXTURE_SETUP(schemes)
{
	self->d = aligned_alloc(128, (sizeof(*self->d) + 127) & ~127ULL);
	ASSERT_NE(NULL, self->d);
}

FIXTURE_TEARDOWN(schemes)
{
	free(self->d);
}

static uint32_t below(struct device *d, uint32_t n)
{
	d->seed = d->seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(d->seed >> 33) % n;
}

static uint16_t rung(const struct device *d)
{
	return gda_efa_le16(__atomic_load_n(&d->index, __ATOMIC_ACQUIRE));
}

static void ring(struct device *d)
{
	__atomic_store_n(&d->index, gda_efa_le16((uint16_t)d->posted), __ATOMIC_RELEASE);
}

/* --- the device --- */

/* Entries are fetched in order, and only of the lap that the doorbell means. */
static void fetch(struct device *d)
{
	uint16_t end = rung(d);

	while ((uint16_t)d->fetched != end && d->nopen < DEPTH) {
		const struct gda_efa_wide_wqe *e = &d->sq[d->fetched % DEPTH];

		if ((e->meta.ctrl2 & GDA_EFA_PHASE) == (d->fetched / DEPTH & 1) &&
		    e->meta.ctrl1 & GDA_EFA_META)
			d->open[d->nopen++] = *e;
		d->fetched++;
	}
}

static uint64_t *at(const struct gda_efa_segment *seg)
{
	return (uint64_t *)(uintptr_t)((uint64_t)gda_efa_le32(seg->addr_hi) << 32 |
				       gda_efa_le32(seg->addr_lo));
}

/* Carry out a request: only now its source is read. */
static void move(const struct gda_efa_wide_wqe *e)
{
	const struct gda_efa_segment *local = (const void *)e->data;

	__atomic_store_n(at(&e->remote), e->meta.ctrl1 & GDA_EFA_INLINE ?
			 *(const uint64_t *)(const void *)e->data : *at(local), __ATOMIC_RELEASE);
}

static void complete(struct device *d, const struct gda_efa_wide_wqe *e)
{
	struct gda_efa_recv_cqe c = {
		.id = e->meta.id, .qp = gda_efa_le16(0x77),
		.flags = (uint8_t)(GDA_EFA_CQE_SENT | GDA_EFA_WRITE << GDA_EFA_CQE_OP_SHIFT |
				   !(d->done & DEPTH)),
	};
	struct gda_efa_recv_cqe *to = &d->cq[d->done % DEPTH];
	uint64_t first;

	memcpy(&first, &c, sizeof(first));
	memcpy((uint8_t *)to + sizeof(first), (uint8_t *)&c + sizeof(first), sizeof(c) - sizeof(first));
	__atomic_store_n((uint64_t *)(void *)to, first, __ATOMIC_RELEASE);
	__atomic_store_n(&d->done, d->done + 1, __ATOMIC_RELEASE);
}

/* Return: where the request that was carried out wrote, or NULL if there was none. */
static const uint64_t *step(struct device *d)
{
	struct gda_efa_wide_wqe e;
	uint32_t i;

	fetch(d);
	if (!d->nopen)
		return NULL;
	i = d->in_order ? 0 : below(d, d->nopen);
	e = d->open[i];
	memmove(&d->open[i], &d->open[i + 1], (d->nopen - i - 1) * sizeof(e));
	d->nopen--;
	move(&e);
	complete(d, &e);
	return at(&e.remote);
}

static void drain(struct device *d)
{
	while (step(d))
		;
}

/* --- a poster that only counts --- */

static void write_entry(struct device *d, uint64_t slot, uint64_t lap, const uint64_t *from,
			const uint64_t *to)
{
	struct gda_efa_wide_wqe *e = &d->sq[slot % DEPTH];

	memset(e, 0, sizeof(*e));
	gda_efa_set_what(&e->meta, slot, GDA_EFA_WRITE, (uint32_t)lap, 1, 0);
	gda_efa_set_segment(&e->remote, (uintptr_t)to, 0, 8);
	gda_efa_set_segment((void *)e->data, (uintptr_t)from, 0, 8);
}

static void post(struct device *d, const uint64_t *from, const uint64_t *to)
{
	write_entry(d, d->posted, d->posted / DEPTH, from, to);
	d->posted++;
	ring(d);
}

/* Ours, of the library. */
static int64_t put(struct device *d, const uint64_t *from, const uint64_t *to, unsigned int flags)
{
	return gda_put(&d->view, (uintptr_t)from, 0, (uintptr_t)to, 0, 8, flags);
}

static uint64_t value_of(uint64_t i)
{
	return 0x1000000 + i;
}

/* How many of the values that were put arrived as others. */
static uint32_t wrong(const struct device *d, uint32_t n)
{
	uint32_t i, bad = 0;

	for (i = 0; i < n; i++)
		bad += d->there[i] != value_of(i);
	return bad;
}

/* --- E-12: when is a source free? --- */

enum rule { BY_COUNT, BY_TICKET, INLINE };

static uint32_t values(struct device *d, enum rule rule)
{
	int64_t t[SLOTS] = { -1, -1, -1, -1 };
	uint32_t i;

	for (i = 0; i < VALUES; i++) {
		uint64_t *from = &d->source[i % SLOTS];

		if (rule == BY_COUNT)
			while (d->posted - d->done + 1 > SLOTS)
				step(d);
		if (rule == BY_TICKET && t[i % SLOTS] >= 0)
			while (gda_test(&d->view, t[i % SLOTS]) != 1)
				step(d);
		*from = value_of(i);
		if (rule == BY_COUNT)
			post(d, from, &d->there[i]);
		else if (rule == BY_TICKET)
			t[i % SLOTS] = put(d, from, &d->there[i], 0);
		else
			while (gda_put_value(&d->view, (uintptr_t)&d->there[i], 0, *from,
					     GDA_NOWAIT) < 0)
				step(d);
		*from = rule == INLINE ? ~0ULL : *from;
	}
	drain(d);
	return wrong(d, VALUES);
}

static uint32_t broken_values(struct device *d, enum rule rule, bool in_order)
{
	uint32_t seed, broken = 0;

	for (seed = 0; seed < SEEDS; seed++) {
		start(d, seed, in_order);
		broken += !!values(d, rule);
	}
	return broken;
}

TEST_F(schemes, Efa12_a_source_that_is_free_by_count)
{
	uint32_t broken = broken_values(self->d, BY_COUNT, false);

	TH_LOG("wrong values arrived with %u of %u seeds", broken, SEEDS);
	EXPECT_LT(SEEDS / 2, broken);
	EXPECT_EQ(0, broken_values(self->d, BY_COUNT, true));
}

TEST_F(schemes, Efa06_Efa12_ours_by_ticket_and_inline)
{
	EXPECT_EQ(0, broken_values(self->d, BY_TICKET, false));
	EXPECT_EQ(0, broken_values(self->d, INLINE, false));
}

/* --- E-20: when may a flush end? --- */

/* One posts A and flushes, another posts B meanwhile; then A's source changes. Return: A arrived. */
static bool flush_of_two(struct device *d, enum rule rule)
{
	uint64_t target;
	int64_t t = 0;

	d->source[0] = value_of(0);
	d->source[1] = value_of(1);
	if (rule == BY_COUNT)
		post(d, &d->source[0], &d->there[0]);
	else
		t = put(d, &d->source[0], &d->there[0], 0);
	target = d->done + 1;
	if (rule == BY_COUNT)
		post(d, &d->source[1], &d->there[1]);
	else
		put(d, &d->source[1], &d->there[1], 0);
	while (rule == BY_COUNT ? d->done < target : gda_test_through(&d->view, t) != 1)
		step(d);
	d->source[0] = ~0ULL;
	drain(d);
	return !wrong(d, 2);
}

static uint32_t broken_flushes(struct device *d, enum rule rule, bool in_order)
{
	uint32_t seed, broken = 0;

	for (seed = 0; seed < SEEDS; seed++) {
		start(d, seed, in_order);
		broken += !flush_of_two(d, rule);
	}
	return broken;
}

TEST_F(schemes, Efa20_a_flush_by_a_count)
{
	uint32_t broken = broken_flushes(self->d, BY_COUNT, false);

	TH_LOG("ended too early with %u of %u seeds", broken, SEEDS);
	EXPECT_LT(SEEDS / 4, broken);
	EXPECT_EQ(0, broken_flushes(self->d, BY_COUNT, true));
	EXPECT_EQ(0, broken_flushes(self->d, BY_TICKET, false));
}

/* Until nothing is outstanding, beside a poster that posts whenever something is done. */
TEST_F(schemes, Efa20_a_flush_until_nothing_is_outstanding)
{
	struct device *d = self->d;
	uint32_t i;
	int64_t t;

	start(d, 1, false);
	for (i = 0; i < 4; i++)
		post(d, &d->source[0], &d->there[0]);
	for (i = 0; i < 100000 && d->posted != d->done; i++) {
		step(d);
		post(d, &d->source[0], &d->there[0]);
	}
	EXPECT_EQ(100000, i);
	/* ours ends with the last of what was posted before it */
	start(d, 1, false);
	for (i = 0; i < 4; i++)
		t = put(d, &d->source[0], &d->there[0], 0);
	for (i = 0; i < 100000 && gda_test_through(&d->view, t) != 1; i++) {
		step(d);
		ASSERT_LE(0, put(d, &d->source[0], &d->there[0], GDA_NOWAIT));
	}
	TH_LOG("ended after %u requests", i);
	EXPECT_GT(1000, i);
}

/* --- E-10: where does a deferred entry go? --- */

TEST_F(schemes, Efa10_deferred_entries_at_the_doorbell)
{
	struct device *d = self->d;
	uint64_t i;

	/* the index moves with the doorbell, and each entry takes the place of the one before */
	start(d, 1, false);
	for (i = 0; i < 8; i++) {
		d->source[i] = value_of(i);
		write_entry(d, d->posted, d->posted / DEPTH, &d->source[i], &d->there[i]);
	}
	d->posted += 8;
	ring(d);
	drain(d);
	EXPECT_EQ(7, wrong(d, 8));
	/* ours, of one thread and of several */
	for (i = 0; i < 16; i++) {
		unsigned int flags = i < 8 ? GDA_EXCLUSIVE : 0;

		if (i % 8 == 0)
			start(d, 1, false);
		d->source[i % 8] = value_of(i % 8);
		ASSERT_EQ((int64_t)(i % 8), put(d, &d->source[i % 8], &d->there[i % 8],
						flags | (i % 8 < 7 ? GDA_DEFER : 0)));
		if (i % 8 == 7) {
			drain(d);
			EXPECT_EQ(0, wrong(d, 8));
		}
	}
}

/* --- when may a signal be believed? --- */

/* A put, a signal that says "one before me", a put: both puts arrive at the same count. */
static bool bare_count(struct device *d)
{
	uint64_t *flag = &d->there[63], arrived = 0;
	const uint64_t *to;

	d->source[0] = value_of(0);
	d->source[1] = value_of(1);
	d->source[2] = 1;			/* puts before the signal */
	post(d, &d->source[0], &d->there[0]);
	post(d, &d->source[2], flag);
	post(d, &d->source[1], &d->there[1]);
	while (!*flag || arrived < *flag) {
		to = step(d);
		arrived += to && to != flag;
	}
	return d->there[0] == value_of(0);
}

struct receiver {
	struct device *d;
	bool stop;
	uint32_t believed;
	uint32_t bad;
};

/* The device as a thread; it looks at the data in the moment in which a signal arrives. */
static void *receive(void *arg)
{
	struct receiver *r = arg;
	struct device *d = r->d;

	while (!__atomic_load_n(&r->stop, __ATOMIC_ACQUIRE) || d->nopen ||
	       (uint16_t)d->fetched != rung(d)) {
		if (step(d) == &d->there[63]) {
			r->believed++;
			r->bad += d->there[0] != value_of(d->there[63]);
		}
	}
	return NULL;
}

TEST_F(schemes, Efa02_a_signal_by_a_bare_count)
{
	uint32_t seed, broken = 0;

	for (seed = 0; seed < SEEDS; seed++) {
		start(self->d, seed, false);
		broken += !bare_count(self->d);
	}
	TH_LOG("believed without its data with %u of %u seeds", broken, SEEDS);
	EXPECT_LT(SEEDS / 10, broken);
	for (seed = 0; seed < SEEDS; seed++) {
		start(self->d, seed, true);
		ASSERT_TRUE(bare_count(self->d));
	}
}

TEST_F(schemes, Efa02_Efa03_ours_is_fenced)
{
	struct receiver r = { .d = self->d };
	struct gda_signal s = { .size = sizeof(s), .op = GDA_SIGNAL_SET };
	struct device *d = self->d;
	pthread_t thread;
	uint64_t i;

	start(d, 1, false);
	s.raddr = (uintptr_t)&d->there[63];
	ASSERT_EQ(0, pthread_create(&thread, NULL, receive, &r));
	for (i = 1; i <= 2000; i++) {
		d->source[0] = value_of(i);
		s.value = i;
		EXPECT_LE(0, gda_put_signal(&d->view, (uintptr_t)&d->source[0], 0,
					    (uintptr_t)&d->there[0], 0, 8, &s, 0));
		/* what is put behind it says nothing of it */
		EXPECT_LE(0, put(d, &d->source[1], &d->there[1], 0));
		EXPECT_EQ(0, gda_quiet(&d->view, 0));
	}
	__atomic_store_n(&r.stop, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	EXPECT_EQ(2000, r.believed);
	EXPECT_EQ(0, r.bad);
}

TEST_HARNESS_MAIN
