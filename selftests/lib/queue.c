// SPDX-License-Identifier: MIT
/*
 * Reserve, publish, ring and wait, step by step in one thread: every order in which
 * posters can publish, a full ring, deadlines, deferral. Beside each rule, the one of
 * the field that it replaces.
 */
#include <stdlib.h>
#include <string.h>
#include "fake_nic.h"
#include "kselftest_harness.h"

FIXTURE(queue) {
	struct fake_queue *q;
	struct gda_view *v;
};

FIXTURE_VARIANT(queue) {
	unsigned int mode;
};

FIXTURE_VARIANT_ADD(queue, shared) { .mode = 0 };
FIXTURE_VARIANT_ADD(queue, exclusive) { .mode = GDA_EXCLUSIVE };

FIXTURE_SETUP(queue)
{
	self->q = fake_queue_new(8);
	self->v = &self->q->view;
	self->v->timeout_ns = 1000000;
}

FIXTURE_TEARDOWN(queue)
{
	fake_queue_free(self->q);
}

static void write_nop(struct gda_view *v, uint64_t index)
{
	struct gda_wqe nop = gda_wqe_make(v->dialect, gda_wr_nop());

	gda_wqe_store(gda_sq(v, v->dialect), index, &nop, 0);
}

/*
 * I-05: DeepEP hands out slots by an atomic add alone. With a consumer that stands
 * still the ninth entry of a ring of 8 overwrites the first, which is still to be
 * read.
 */
TEST(I_05_unchecked_reservation_corrupts)
{
	struct fake_queue *q = fake_queue_new(8);
	uint64_t index;

	for (index = 0; index < 9; index++)
		write_nop(&q->view, index);
	EXPECT_EQ(8, fake_entry(q, 0)[2]);	/* index 0 is lost */
	fake_queue_free(q);
}

TEST_F(queue, I_05_full_ring_is_never_lapped)
{
	struct gda_view *v = self->v;
	unsigned int mode = variant->mode;
	uint64_t began;
	int i;

	for (i = 0; i < 8; i++)
		ASSERT_EQ(i, gda_nop(v, mode));
	EXPECT_EQ(-EAGAIN, gda_nop(v, mode | GDA_NOWAIT));
	EXPECT_EQ(-EAGAIN, gda_nop(v, mode | GDA_NOWAIT));
	began = gda_clock_ns();
	EXPECT_EQ(-ETIMEDOUT, gda_nop(v, mode));
	EXPECT_LE(1000000, gda_clock_ns() - began);
	EXPECT_EQ(8, v->reserved);		/* a refusal takes no slot */
	EXPECT_EQ(8, fake_rung(self->q));
	EXPECT_EQ(0, fake_entry(self->q, 0)[2]);
	fake_complete(self->q, 3);
	for (; i < 11; i++)
		ASSERT_EQ(i, gda_nop(v, mode | GDA_NOWAIT));
	EXPECT_EQ(-EAGAIN, gda_nop(v, mode | GDA_NOWAIT));
	EXPECT_EQ(11, fake_rung(self->q));
}

/* One slot is a ring too. */
TEST_F(queue, depth_of_one)
{
	struct fake_queue *q = fake_queue_new(1);
	int i;

	for (i = 0; i < 100; i++) {
		ASSERT_EQ(i, gda_nop(&q->view, variant->mode | GDA_NOWAIT));
		ASSERT_EQ(-EAGAIN, gda_nop(&q->view, variant->mode | GDA_NOWAIT));
		ASSERT_EQ(i + 1, fake_rung(q));
		ASSERT_EQ(0, gda_test(&q->view, i));
		fake_complete(q, (uint64_t)i + 1);
		ASSERT_EQ(1, gda_test(&q->view, i));
	}
	fake_queue_free(q);
}

TEST_F(queue, tickets)
{
	struct gda_view *v = self->v;

	EXPECT_EQ(-EINVAL, gda_test(v, 0));
	EXPECT_EQ(-EINVAL, gda_wait(v, 0, 0));
	EXPECT_EQ(-ENODEV, gda_test(v, -ENODEV));
	EXPECT_EQ(-EAGAIN, gda_wait(v, -EAGAIN, 0));
	ASSERT_EQ(0, gda_nop(v, variant->mode));
	EXPECT_EQ(0, gda_test(v, 0));
	EXPECT_EQ(-EINVAL, gda_test(v, 1));
	fake_complete(self->q, 1);
	EXPECT_EQ(1, gda_test(v, 0));
	EXPECT_EQ(0, gda_wait(v, 0, 0));
	EXPECT_EQ(-EINVAL, gda_test(v, 1));
}

TEST_F(queue, deadlines)
{
	struct gda_view *v = self->v;
	uint64_t began = gda_clock_ns();

	ASSERT_EQ(0, gda_nop(v, variant->mode));
	EXPECT_EQ(-ETIME, gda_wait(v, 0, 1));	/* long past */
	EXPECT_EQ(-ETIMEDOUT, gda_wait(v, 0, began + 2000000));
	EXPECT_LE(began + 2000000, gda_clock_ns());
	EXPECT_EQ(-ETIMEDOUT, gda_wait(v, 0, 0));
	EXPECT_EQ(-ETIMEDOUT, gda_quiet(v, 0));
	fake_complete(self->q, 1);
	EXPECT_EQ(0, gda_wait(v, 0, 1));		/* done is done */
}

TEST_F(queue, abort_ends_every_wait)
{
	struct gda_view *v = self->v;
	uint32_t flag = 0;
	int i;

	for (i = 0; i < 8; i++)
		gda_nop(v, variant->mode);
	v->timeout_ns = UINT64_MAX / 2;
	v->abort_word = 1;
	EXPECT_EQ(-ESHUTDOWN, gda_wait(v, 7, UINT64_MAX));
	EXPECT_EQ(-ESHUTDOWN, gda_quiet(v, UINT64_MAX));
	EXPECT_EQ(-ESHUTDOWN, gda_nop(v, variant->mode));
	v->abort = (uintptr_t)&flag;
	fake_complete(self->q, 8);
	EXPECT_EQ(0, gda_wait(v, 7, 0));
}

/* I-12: everything posted before, nothing posted after. */
TEST_F(queue, I_12_quiet)
{
	struct gda_view *v = self->v;
	int i;

	EXPECT_EQ(0, gda_quiet(v, 0));
	for (i = 0; i < 5; i++)
		gda_nop(v, variant->mode);
	EXPECT_EQ(-ETIMEDOUT, gda_quiet(v, 0));
	fake_complete(self->q, 4);
	EXPECT_EQ(-ETIMEDOUT, gda_quiet(v, 0));
	fake_complete(self->q, 5);
	EXPECT_EQ(0, gda_quiet(v, 0));
	fake_fail(self->q, 6, 5, GDA_MLX5_SYND_RETRY_EXC, GDA_MLX5_VENDOR_PEER);
	gda_nop(v, variant->mode);
	gda_nop(v, variant->mode);
	EXPECT_EQ(-ETIMEDOUT, gda_quiet(v, 0));
	fake_fail(self->q, 7, 5, GDA_MLX5_SYND_RETRY_EXC, GDA_MLX5_VENDOR_PEER);
	EXPECT_EQ(-EIO, gda_quiet(v, 0));
}

/*
 * I-09: DeepEP rings every fourth message and leaves a tail that is no multiple of
 * four until somebody posts again. Here a later post, a flush, a wait or a full ring
 * rings whatever is left.
 */
TEST_F(queue, I_09_deferred_is_rung_by_the_next_post)
{
	struct gda_view *v = self->v;
	unsigned int mode = variant->mode;
	int i;

	for (i = 0; i < 3; i++)
		gda_nop(v, mode | GDA_DEFER);
	EXPECT_EQ(0, fake_rung(self->q));
	EXPECT_EQ(0, gda_test(v, 2));
	EXPECT_EQ(0, fake_rung(self->q));
	gda_nop(v, mode);
	EXPECT_EQ(4, fake_rung(self->q));
}

TEST_F(queue, I_09_flush_rings_the_tail)
{
	struct gda_view *v = self->v;
	uint64_t end;

	gda_flush(v);
	EXPECT_EQ(0, v->reserved);
	gda_nop(v, variant->mode | GDA_DEFER);
	gda_nop(v, variant->mode | GDA_DEFER);
	gda_flush(v);
	end = v->reserved;
	EXPECT_EQ(end, fake_rung(self->q));
	EXPECT_EQ(variant->mode ? 2 : 3, end);
	gda_flush(v);				/* nothing left to do */
	EXPECT_EQ(end, v->reserved);
}

TEST_F(queue, I_09_wait_rings_the_tail)
{
	struct gda_view *v = self->v;

	gda_nop(v, variant->mode | GDA_DEFER);
	EXPECT_EQ(-ETIMEDOUT, gda_wait(v, 0, 0));
	EXPECT_LE(1, fake_rung(self->q));
	gda_nop(v, variant->mode | GDA_DEFER);
	EXPECT_EQ(-ETIMEDOUT, gda_quiet(v, 0));
	EXPECT_EQ(v->reserved, fake_rung(self->q));
}

TEST_F(queue, I_09_wait_for_what_is_rung_posts_nothing)
{
	struct gda_view *v = self->v;

	gda_nop(v, variant->mode | GDA_DEFER);
	gda_nop(v, variant->mode);
	EXPECT_EQ(-ETIMEDOUT, gda_wait(v, 1, 0));
	EXPECT_EQ(2, v->reserved);
}

TEST_F(queue, I_09_full_ring_rings)
{
	struct gda_view *v = self->v;
	unsigned int mode = variant->mode | GDA_DEFER;
	int i;

	for (i = 0; i < 7; i++)
		gda_nop(v, mode);
	EXPECT_EQ(0, fake_rung(self->q));
	gda_nop(v, mode);
	EXPECT_EQ(8, fake_rung(self->q));
	EXPECT_EQ(-EAGAIN, gda_nop(v, mode | GDA_NOWAIT));
	gda_flush(v);
	EXPECT_EQ(8, v->reserved);
	/* three more fit; the cached consumer index does not know of the others */
	fake_complete(self->q, 3);
	for (; i < 10; i++)
		ASSERT_EQ(i + 1, gda_nop(v, mode | GDA_NOWAIT));
	EXPECT_EQ(11, fake_rung(self->q));
	EXPECT_EQ(-EAGAIN, gda_nop(v, mode | GDA_NOWAIT));
}

/* The one that fills the ring is asleep while others flush: it rings when it wakes. */
TEST(I_09_flush_of_a_full_ring_relies_on_the_last)
{
	struct fake_queue *q = fake_queue_new(4);
	struct gda_view *v = &q->view;
	unsigned int flags = GDA_DEFER;
	uint64_t last;
	int i;

	gda_nop(v, 0);
	for (i = 0; i < 2; i++)
		gda_nop(v, GDA_DEFER);
	ASSERT_EQ(0, gda_reserve(v, 1, &flags, &last));
	gda_flush(v);
	EXPECT_EQ(1, fake_rung(q));
	fake_complete(q, 1);
	EXPECT_EQ(1, gda_test(v, 0));
	write_nop(v, last);
	gda_publish(v, v->dialect, last, 1, flags);
	EXPECT_EQ(4, fake_rung(q));
	fake_queue_free(q);
}

/* I-08: the second poster is through before the first has written. */
TEST(I_08_doorbell_never_covers_an_unwritten_slot)
{
	struct fake_queue *q = fake_queue_new(8);
	unsigned int flags = 0;
	uint64_t first, second;

	ASSERT_EQ(0, gda_reserve(&q->view, 1, &flags, &first));
	ASSERT_EQ(0, gda_reserve(&q->view, 1, &flags, &second));
	write_nop(&q->view, second);
	gda_publish(&q->view, q->view.dialect, second, 1, 0);
	EXPECT_EQ(0, fake_rung(q));
	write_nop(&q->view, first);
	gda_publish(&q->view, q->view.dialect, first, 1, 0);
	EXPECT_EQ(2, fake_rung(q));
	fake_queue_free(q);
}

/*
 * All orders in which @n posters can publish slots start to start + n - 1, with all
 * choices of who defers. After every step the doorbell covers only what is
 * published, has not gone back, and covers all that must be rung.
 */
#define POSTERS 5

struct orders {
	struct fake_queue *q;
	uint64_t start;
	unsigned int defers;		/* bit mask */
	bool published[POSTERS];
	unsigned int wrong;
	unsigned int runs;
};

static void check_doorbell(struct orders *o, uint32_t *before)
{
	uint32_t rung = (uint16_t)(fake_rung(o->q) - o->start);
	uint32_t ready = 0, must = 0, i;

	while (ready < POSTERS && o->published[ready])
		ready++;
	for (i = 0; i < ready; i++)
		if (!(o->defers & 1U << i))
			must = i + 1;
	o->wrong += rung < *before || rung > ready || rung < must;
	*before = rung;
}

static void run_order(struct orders *o, const int *order)
{
	unsigned int flags = 0;
	uint64_t index;
	uint32_t rung = 0;
	int i;

	fake_restart(o->q, o->start);
	memset(o->published, 0, sizeof(o->published));
	for (i = 0; i < POSTERS; i++)
		o->wrong += gda_reserve(&o->q->view, 1, &flags, &index) != 0;
	for (i = 0; i < POSTERS; i++) {
		o->published[order[i]] = true;
		gda_publish(&o->q->view, o->q->view.dialect, o->start + (uint64_t)order[i], 1,
			    o->defers & 1U << order[i] ? GDA_DEFER : 0);
		check_doorbell(o, &rung);
	}
	gda_flush(&o->q->view);
	o->wrong += (uint16_t)(fake_rung(o->q) - o->start) < POSTERS;
	o->runs++;
}

static void permute(struct orders *o, int *order, int n)
{
	int i, t;

	if (n == 1) {
		run_order(o, order);
		return;
	}
	for (i = 0; i < n; i++) {
		permute(o, order, n - 1);
		t = order[n & 1 ? 0 : i];
		order[n & 1 ? 0 : i] = order[n - 1];
		order[n - 1] = t;
	}
}

TEST(I_10_every_order_of_publication)
{
	/* a ring that wraps in the middle, indices that wrap 16, 30 and 32 bits */
	static const uint64_t starts[6] = {
		0, 6, 65533, (1ULL << 30) - 2, (1ULL << 32) - 3, (1ULL << 34) + 6
	};
	struct orders o = { .q = fake_queue_new(8) };
	unsigned int s;

	for (s = 0; s < 6; s++) {
		o.start = starts[s];
		for (o.defers = 0; o.defers < 1U << POSTERS; o.defers++) {
			int order[POSTERS] = { 0, 1, 2, 3, 4 };

			permute(&o, order, POSTERS);
		}
	}
	EXPECT_EQ(0, o.wrong);
	EXPECT_EQ(120 * 32 * 6, o.runs);
	fake_queue_free(o.q);
}

/* I-10: DeepEP takes a lock for this; here the combining role is parked where it stopped. */
TEST(I_10_combiner_waits_at_the_first_unwritten_slot)
{
	struct fake_queue *q = fake_queue_new(8);
	unsigned int flags = 0;
	uint64_t index[4];
	int i;

	for (i = 0; i < 4; i++)
		gda_reserve(&q->view, 1, &flags, &index[i]);
	gda_publish(&q->view, q->view.dialect, 0, 1, 0);
	EXPECT_EQ(1, fake_rung(q));
	EXPECT_EQ(gda_slot_word(1, GDA_SLOT_HEAD), q->slots[1]);
	gda_publish(&q->view, q->view.dialect, 3, 1, 0);
	gda_publish(&q->view, q->view.dialect, 2, 1, 0);
	EXPECT_EQ(1, fake_rung(q));
	gda_publish(&q->view, q->view.dialect, 1, 1, 0);
	EXPECT_EQ(4, fake_rung(q));
	EXPECT_EQ(gda_slot_word(4, GDA_SLOT_HEAD), q->slots[4]);
	fake_queue_free(q);
}

/* Exclusive posting leaves the slot words behind; gda_view_share() mends that. */
TEST(modes_in_turn)
{
	struct fake_queue *q = fake_queue_new(8);
	struct gda_view *v = &q->view;
	int round, i;

	for (round = 0; round < 40; round++) {
		for (i = 0; i < round % 5; i++)
			gda_nop(v, GDA_EXCLUSIVE);
		ASSERT_EQ((uint16_t)v->reserved, fake_rung(q));
		gda_view_share(v);
		for (i = 0; i < round % 3; i++)
			gda_nop(v, 0);
		ASSERT_EQ((uint16_t)v->reserved, fake_rung(q));
		fake_complete(q, v->reserved);
		ASSERT_EQ(0, gda_quiet(v, 0));
	}
	fake_queue_free(q);
}

static bool complete(struct fake_queue *q)
{
	gda_flush(&q->view);
	fake_complete(q, q->view.reserved);
	return !gda_quiet(&q->view, 0);
}

static bool all_rung(const struct fake_queue *q)
{
	return fake_rung(q) == (uint16_t)q->view.reserved;
}

/* @kind: 1 exclusive posts are deferred, 2 the first shared one is, 4 several slots */
static bool turn(struct fake_queue *q, uint32_t many, uint32_t kind, uint32_t shared)
{
	const unsigned int mode = GDA_EXCLUSIVE | (kind & 1 ? GDA_DEFER : 0);
	static const uint8_t bytes[100];
	struct gda_view *v = &q->view;
	uint32_t i, n = kind & 4 && v->mask >= 4 ? 4 : 1;

	for (i = 0; i < many; i++) {
		/* what is deferred when the shared post comes is what the ring has room for */
		if (v->reserved - v->completed + n > v->mask && !complete(q))
			return false;
		if ((n > 1 ? gda_put_inline(v, 4096, 7, bytes, 100, mode) :
			     gda_nop(v, mode)) < 0)
			return false;
		if (!(kind & 1) && (!all_rung(q) || !complete(q)))
			return false;
	}
	if (v->reserved - v->completed > v->mask && !complete(q))
		return false;
	if (gda_nop(v, kind & 2 ? GDA_DEFER : 0) < 0)
		return false;
	if (!(kind & 2) && !all_rung(q))
		return false;
	gda_flush(v);
	if (!all_rung(q) || !complete(q))
		return false;
	for (i = 0; i < shared; i++)
		if (gda_nop(v, 0) < 0 || !all_rung(q) || !complete(q))
			return false;
	return true;
}

/*
 * Nobody calls gda_view_share(): the first shared post finds out. Exclusive posts of less
 * and more than a lap, one alone, deferred or of several slots; then shared ones, which are
 * rung with all before them, and none of them twice.
 */
TEST(exclusive_then_shared)
{
	uint32_t depth, many, kind, round;

	for (depth = 1; depth <= 16; depth *= 4) {
		for (many = 1; many <= 2 * depth + 1; many++) {
			for (kind = 0; kind < 8; kind++) {
				struct fake_queue *q = fake_queue_new(depth);

				for (round = 0; round < 5; round++)
					ASSERT_TRUE(turn(q, many, kind, round * depth / 2));
				fake_queue_free(q);
			}
		}
	}
}

TEST_HARNESS_MAIN
