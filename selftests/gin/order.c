// SPDX-License-Identifier: MIT
/*
 * E-12 and E-20: when may a source be used again? The consumer of late.h fetches payloads late
 * and finishes the requests of a queue in any order. Two rules are tried on it, which differ
 * in what they look at alone:
 *
 *   by count	so many requests are done as had to be, whichever they are
 *   ours	this request is done: a counter, or a flush of what was posted
 *
 * The first writes over sources that are still to be read, and the peer gets other bytes
 * than were put. Ours never does, and a value has no source.
 */
#include "../inproc/suite.h"
#include "late.h"

#define SEEDS	2000U
#define SLOTS	4U		/* of the pool of sources */
#define VALUES	64U
#define POOL	4096U		/* offset of it */

enum free_by { BY_COUNT, BY_COUNTER, BY_VALUE };

FIXTURE(order) {
	struct late late;
	struct gda_gin *gin;
	struct late_queue *queue;
	uint64_t *sources;
};

FIXTURE_SETUP(order)
{
	const struct late_attr attr = {
		.nranks = 2, .contexts = 1, .signals = 1, .counters = SLOTS, .depth = 256,
		.bytes = 8192,
	};

	late_create(&self->late, &attr);
	self->gin = late_gin(&self->late, 0, 0);
	self->queue = late_queue(&self->late, 0, 0, 0, 1);
	self->sources = (uint64_t *)(void *)(self->late.memory + POOL);
}

FIXTURE_TEARDOWN(order)
{
	late_destroy(&self->late);
}

static struct gda_gin_place at(struct late *l, uint64_t offset)
{
	return gda_at(&l->windows[0], offset);
}

static uint64_t value_of(uint32_t i)
{
	return 0x1000000 + i;
}

/* The values that arrived as others than they were put. */
static uint32_t wrong(struct late *l)
{
	const uint64_t *there = (const uint64_t *)(const void *)(l->memory + l->attr.bytes);
	uint32_t i, n = 0;

	for (i = 0; i < VALUES; i++)
		n += there[i] != value_of(i);
	return n;
}

static bool slot_is_free(const struct gda_gin *gin, const struct late_queue *q, enum free_by rule,
			 uint64_t before, uint32_t i)
{
	if (rule == BY_VALUE)
		return true;
	if (rule == BY_COUNT)
		return i - (q->count - before) + 1 <= SLOTS;
	return gda_gin_read_counter(gin, i % SLOTS, 56) == i / SLOTS;
}

/* A value is put in 8 bytes of a pool of sources: E-06, and when a slot is used again. */
static uint32_t put_values(struct late *l, enum free_by rule)
{
	struct late_queue *q = late_queue(l, 0, 0, 0, 1);
	uint64_t *sources = (uint64_t *)(void *)(l->memory + POOL), before = q->count;
	struct gda_gin *gin = late_gin(l, 0, 0);
	uint32_t i;
	int err;

	/* all of the last seed's puts are done: now they are counted, too */
	gda_gin_read_counter(gin, 0, 56);
	for (i = 0; i < SLOTS; i++)
		gda_gin_reset_counter(gin, i);
	for (i = 0; i < VALUES; i++) {
		while (!slot_is_free(gin, q, rule, before, i))
			late_step(l);
		sources[i % SLOTS] = value_of(i);
		if (rule == BY_VALUE)
			err = gda_gin_put_value(gin, 1, at(l, 8 * i), value_of(i), 8,
						gda_gin_plain(0));
		else
			err = gda_gin_put(gin, 1, at(l, 8 * i), at(l, POOL + i % SLOTS * 8), 8,
					  gda_gin_count(gda_gin_plain(0), i % SLOTS));
		if (err)
			return ~0U;
	}
	while (late_step(l))
		;
	return wrong(l);
}

static uint32_t values_of_seeds(struct late *l, enum free_by rule, bool loose)
{
	uint32_t seed, broken = 0;

	for (seed = 0; seed < SEEDS; seed++) {
		memset(l->memory, 0, 2 * l->attr.bytes);
		late_seed(l, seed, loose);
		broken += put_values(l, rule) != 0;
	}
	return broken;
}

TEST_F(order, E_12_slots_by_count_break)
{
	uint32_t broken = values_of_seeds(&self->late, BY_COUNT, true);

	TH_LOG("%u of %u seeds", broken, SEEDS);
	EXPECT_GT(broken, SEEDS / 2);
}

/* In order it is right, which is why nobody sees it. */
TEST_F(order, E_12_slots_by_count_hold_in_order)
{
	EXPECT_EQ(0, values_of_seeds(&self->late, BY_COUNT, false));
}

TEST_F(order, E_12_slots_by_counter)
{
	EXPECT_EQ(0, values_of_seeds(&self->late, BY_COUNTER, true));
}

TEST_F(order, E_12_E_06_values_have_no_source)
{
	EXPECT_EQ(0, values_of_seeds(&self->late, BY_VALUE, true));
}

/*
 * Two posters share a queue. The first puts A and flushes, the second puts B meanwhile; then
 * the first uses A's source again. Return: whether A arrived.
 */
static bool flush_of_two(struct late *l, enum free_by rule)
{
	struct late_queue *q = late_queue(l, 0, 0, 0, 1);
	uint64_t *sources = (uint64_t *)(void *)(l->memory + POOL), target;
	uint64_t *there = (uint64_t *)(void *)(l->memory + l->attr.bytes);
	struct gda_gin *gin = late_gin(l, 0, 0);
	struct gda_gin_request request;
	bool good;

	memset(l->memory, 0, 2 * l->attr.bytes);
	sources[0] = value_of(0);
	sources[1] = value_of(1);
	if (gda_gin_put(gin, 1, at(l, 0), at(l, POOL), 8, gda_gin_plain(0)) ||
	    gda_gin_flush_peer(gin, 1, &request))
		return false;
	target = q->count + 1;
	if (gda_gin_put(gin, 1, at(l, 8), at(l, POOL + 8), 8, gda_gin_plain(0)))
		return false;
	while (rule == BY_COUNT ? q->count < target : !gda_gin_test(gin, &request))
		late_step(l);
	sources[0] = ~0ULL;
	while (late_step(l))
		;
	good = there[0] == value_of(0) && there[1] == value_of(1);
	return good && gda_gin_test(gin, &request) == 1;
}

static uint32_t flushes_of_seeds(struct late *l, enum free_by rule)
{
	uint32_t seed, broken = 0;

	for (seed = 0; seed < SEEDS; seed++) {
		late_seed(l, seed, true);
		broken += !flush_of_two(l, rule);
	}
	return broken;
}

TEST_F(order, E_20_flush_by_count_breaks)
{
	uint32_t broken = flushes_of_seeds(&self->late, BY_COUNT);

	TH_LOG("%u of %u seeds", broken, SEEDS);
	EXPECT_GT(broken, SEEDS / 4);
}

TEST_F(order, E_20_flush_by_request)
{
	EXPECT_EQ(0, flushes_of_seeds(&self->late, BY_COUNTER));
}

TEST_HARNESS_MAIN
