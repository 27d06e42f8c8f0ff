// SPDX-License-Identifier: MIT
/*
 * Many threads post to one queue that a fake NIC consumes and checks: nothing lost,
 * posted twice, stale or torn, no doorbell backwards or over a slot that is not
 * written. Built twice, the second time under the thread sanitizer.
 */
#include <stdlib.h>
#include "fake_nic.h"
#include "kselftest_harness.h"

/* In all; more by CFLAGS=-DPUTS=... where there is time and there are processors. */
#if !defined(PUTS) && defined(__SANITIZE_THREAD__)
#define PUTS	12000
#elif !defined(PUTS)
#define PUTS	48000
#endif

struct poster {
	struct gda_view *v;
	pthread_t thread;
	uint32_t id;
	unsigned int flags;
	uint32_t puts;
	uint32_t batch;		/* defer all but every @batch-th; 0: defer none */
	uint32_t wait_every;	/* wait for a ticket now and then; 0: never */
	int err;
	uint64_t refused;
};

static int64_t post_one(struct poster *p, uint32_t number)
{
	unsigned int flags = p->flags;
	int64_t ticket;

	if (p->batch && (number + 1) % p->batch)
		flags |= GDA_DEFER;
	for (;;) {
		ticket = fake_post(p->v, p->id, number, flags);
		if (ticket != -EAGAIN)
			return ticket;
		p->refused++;
		gda_pause();
	}
}

static void *poster_main(void *arg)
{
	struct poster *p = arg;
	int64_t ticket = 0, last = -1;
	uint32_t i;

	for (i = 0; i < p->puts && !p->err; i++) {
		ticket = post_one(p, i);
		if (ticket < 0)
			p->err = (int)ticket;
		else if (ticket <= last)
			p->err = -EPROTO;
		last = ticket;
		if (!p->err && p->wait_every && i % p->wait_every == 0) {
			p->err = gda_wait(p->v, ticket, 0);
			if (!p->err && gda_test(p->v, ticket) != 1)
				p->err = -EPROTO;
		}
	}
	if (!p->err)
		p->err = gda_wait(p->v, ticket, 0);
	return NULL;
}

static unsigned int failed;

/* @posters threads, each with its own numbers; returns what went wrong in all. */
static uint64_t run(uint32_t depth, uint64_t start, uint32_t posters, uint32_t puts,
		    const struct poster *how, uint32_t seed)
{
	struct fake_queue *q = fake_queue_new(depth);
	struct poster p[16];
	struct fake_nic nic;
	uint64_t wrong;
	uint32_t i;

	fake_restart(q, start);
	fake_nic_start(&nic, q, seed);
	for (i = 0; i < posters; i++) {
		p[i] = *how;
		p[i].v = &q->view;
		p[i].id = i;
		p[i].puts = puts;
		if (pthread_create(&p[i].thread, NULL, poster_main, &p[i]))
			exit(1);
	}
	for (i = 0; i < posters; i++)
		pthread_join(p[i].thread, NULL);
	failed = gda_quiet(&q->view, 0) != 0;
	wrong = fake_nic_stop(&nic);
	for (i = 0; i < posters; i++) {
		failed += p[i].err != 0;
		wrong += nic.expected[i] != puts;
	}
	wrong += nic.consumed != q->view.reserved;
	fake_queue_free(q);
	return wrong;
}

FIXTURE(producers) {
};

FIXTURE_VARIANT(producers) {
	uint32_t posters;
};

FIXTURE_VARIANT_ADD(producers, one) { .posters = 1 };
FIXTURE_VARIANT_ADD(producers, two) { .posters = 2 };
FIXTURE_VARIANT_ADD(producers, three) { .posters = 3 };
FIXTURE_VARIANT_ADD(producers, eight) { .posters = 8 };

FIXTURE_SETUP(producers)
{
}

FIXTURE_TEARDOWN(producers)
{
}

TEST_F_TIMEOUT(producers, S8_I_08_I_10_shared, 100)
{
	struct poster how = { 0 };
	uint32_t depth;

	for (depth = 1; depth <= 1024; depth *= 32) {
		EXPECT_EQ(0, run(depth, 65000, variant->posters, PUTS / variant->posters / 4,
				 &how, 0));
		EXPECT_EQ(0, failed);
	}
}

TEST_F_TIMEOUT(producers, I_05_slow_consumer, 100)
{
	struct poster how = { .wait_every = 7 };

	EXPECT_EQ(0, run(16, (1ULL << 32) - 1000, variant->posters,
			 PUTS / variant->posters / 8, &how, 12345));
	EXPECT_EQ(0, failed);
}

TEST_F_TIMEOUT(producers, I_05_refused_instead_of_waiting, 100)
{
	struct poster how = { .flags = GDA_NOWAIT };

	EXPECT_EQ(0, run(16, 0, variant->posters, PUTS / variant->posters / 8, &how, 777));
	EXPECT_EQ(0, failed);
}

/* Batches that are no divisor of anything, tails left to the wait, rings that fill. */
TEST_F_TIMEOUT(producers, I_09_deferred, 100)
{
	struct poster how = { .batch = 5, .wait_every = 101 };

	EXPECT_EQ(0, run(64, 60000, variant->posters, PUTS / variant->posters / 4 + 3, &how,
			 99));
	EXPECT_EQ(0, failed);
	how.batch = 1000000;	/* none is rung by itself */
	EXPECT_EQ(0, run(4, 0, variant->posters, PUTS / variant->posters / 16, &how, 0));
	EXPECT_EQ(0, failed);
}

TEST(exclusive)
{
	struct poster how = { .flags = GDA_EXCLUSIVE };

	EXPECT_EQ(0, run(256, 65000, 1, PUTS, &how, 0));
	EXPECT_EQ(0, failed);
	how.wait_every = 3;
	how.batch = 4;
	EXPECT_EQ(0, run(32, 65000, 1, PUTS / 4, &how, 4242));
	EXPECT_EQ(0, failed);
	EXPECT_EQ(0, run(1, 0, 1, PUTS / 8, &how, 0));
	EXPECT_EQ(0, failed);
}

/* One thread posts exclusively, others watch its tickets. */
struct watcher {
	struct gda_view *v;
	pthread_t thread;
	int64_t newest;
	int stop;
	uint64_t wrong;
};

static void *watcher_main(void *arg)
{
	struct watcher *w = arg;
	int64_t t, done = -1;

	while (!__atomic_load_n(&w->stop, __ATOMIC_ACQUIRE)) {
		t = __atomic_load_n(&w->newest, __ATOMIC_ACQUIRE);
		if (t < 0)
			continue;
		w->wrong += gda_test(w->v, t) < 0;
		if (gda_test(w->v, t) == 1)
			done = t > done ? t : done;
		w->wrong += done >= 0 && gda_test(w->v, done) != 1;
	}
	return NULL;
}

TEST(exclusive_with_watchers)
{
	struct fake_queue *q = fake_queue_new(32);
	struct watcher w[2] = { { .newest = -1 }, { .newest = -1 } };
	struct fake_nic nic;
	uint32_t i;

	fake_nic_start(&nic, q, 5);
	for (i = 0; i < 2; i++) {
		w[i].v = &q->view;
		ASSERT_EQ(0, pthread_create(&w[i].thread, NULL, watcher_main, &w[i]));
	}
	for (i = 0; i < PUTS / 2; i++) {
		int64_t t = fake_post(&q->view, 0, i, GDA_EXCLUSIVE);

		ASSERT_EQ((int64_t)i, t);
		__atomic_store_n(&w[i % 2].newest, t, __ATOMIC_RELEASE);
	}
	EXPECT_EQ(0, gda_quiet(&q->view, 0));
	for (i = 0; i < 2; i++) {
		__atomic_store_n(&w[i].stop, 1, __ATOMIC_RELEASE);
		pthread_join(w[i].thread, NULL);
		EXPECT_EQ(0, w[i].wrong);
	}
	EXPECT_EQ(0, fake_nic_stop(&nic));
	EXPECT_EQ(PUTS / 2, nic.expected[0]);
	fake_queue_free(q);
}

/* With a consumer that stands still nobody laps the ring, and all give up in time. */
TEST(I_05_stalled_consumer)
{
	struct fake_queue *q = fake_queue_new(16);
	struct poster p[4];
	uint32_t i, refused = 0;

	q->view.timeout_ns = 20000000;
	for (i = 0; i < 4; i++) {
		p[i] = (struct poster){ .v = &q->view, .id = i, .puts = 100 };
		ASSERT_EQ(0, pthread_create(&p[i].thread, NULL, poster_main, &p[i]));
	}
	for (i = 0; i < 4; i++) {
		pthread_join(p[i].thread, NULL);
		refused += p[i].err == -ETIMEDOUT;
	}
	EXPECT_EQ(4, refused);
	EXPECT_EQ(16, q->view.reserved);
	EXPECT_EQ(16, fake_rung(q));
	for (i = 0; i < 16; i++)
		EXPECT_EQ(i, fake_entry(q, i)[2]);
	fake_queue_free(q);
}

#define WIDE_DEPTH	(1U << 14)
#define WIDE_PUTS	1250U		/* of three slots each: 4 posters leave some free */

static void *wide_main(void *arg)
{
	struct poster *p = arg;
	uint8_t bytes[60] = { (uint8_t)p->id };
	uint32_t i;

	for (i = 0; i < WIDE_PUTS && p->err >= 0; i++)
		p->err = (int)gda_put_inline(p->v, 0, 0, bytes, sizeof(bytes), GDA_NOWAIT);
	return NULL;
}

/* A poster that loses the race for slots is not told that the ring is full. */
TEST(I_05_multi_slot_is_refused_only_if_full)
{
	struct fake_queue *q = fake_queue_new(WIDE_DEPTH);
	struct poster p[4];
	uint32_t i;

	for (i = 0; i < 4; i++) {
		p[i] = (struct poster){ .v = &q->view, .id = i };
		ASSERT_EQ(0, pthread_create(&p[i].thread, NULL, wide_main, &p[i]));
	}
	for (i = 0; i < 4; i++) {
		pthread_join(p[i].thread, NULL);
		EXPECT_LE(0, p[i].err);
	}
	EXPECT_EQ(4 * WIDE_PUTS * 3, q->view.reserved);
	EXPECT_EQ((uint16_t)(4 * WIDE_PUTS * 3), fake_rung(q));
	fake_queue_free(q);
}

TEST_HARNESS_MAIN
