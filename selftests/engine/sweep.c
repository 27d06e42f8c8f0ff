// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The sweep of a worker over its queues: a pass visits a queue once at most and every busy one,
 * idle queues cost a pass no more than GDA_SWEEP_IDLE visits for each busy one, and none of them
 * is left out.
 */
#include <string.h>
#include "sweep.h"
#include "kselftest_harness.h"

#define WORDS	3U
#define QUEUES	(WORDS * GDA_SWEEP_WORD)

FIXTURE(sweep) {
	struct gda_sweep s;
	unsigned long used[WORDS], busy[WORDS], fresh[WORDS];
	unsigned int visits[QUEUES];		/* in this pass */
	unsigned int found[QUEUES];		/* in all passes */
};

FIXTURE_SETUP(sweep)
{
	memset(self, 0, sizeof(*self));
	self->s.used = self->used;
	self->s.busy = self->busy;
	self->s.fresh = self->fresh;
}

FIXTURE_TEARDOWN(sweep)
{
}

static bool is_set(const unsigned long *bits, u32 i)
{
	return bits[i / GDA_SWEEP_WORD] >> i % GDA_SWEEP_WORD & 1;
}

static void use(FIXTURE_DATA(sweep) *self, u32 i)
{
	self->used[i / GDA_SWEEP_WORD] |= 1UL << i % GDA_SWEEP_WORD;
}

/* One pass, in which the queues of @work have work. Return: visits. */
static unsigned int pass(FIXTURE_DATA(sweep) *self, const unsigned long *work, bool all)
{
	struct gda_sweep_pass p;
	unsigned int n = 0;
	u32 i;

	memset(self->visits, 0, sizeof(self->visits));
	gda_sweep_begin(&self->s, &p, WORDS, all);
	while (gda_sweep_next(&self->s, &p, &i)) {
		self->visits[i]++;
		self->found[i]++;
		n++;
		if (is_set(work, i))
			gda_sweep_worked(&self->s, i);
	}
	return n;
}

TEST_F(sweep, no_queue_no_visit)
{
	const unsigned long none[WORDS] = { 0 };
	struct gda_sweep_pass p;
	u32 i;

	EXPECT_EQ(0, pass(self, none, true));
	EXPECT_EQ(0, pass(self, none, false));
	gda_sweep_begin(&self->s, &p, 0, false);
	EXPECT_FALSE(gda_sweep_next(&self->s, &p, &i));
}

TEST_F(sweep, without_work_all_are_visited_once)
{
	const unsigned long none[WORDS] = { 0 };
	u32 i;

	for (i = 0; i < QUEUES; i += 3)
		use(self, i);
	self->s.cursor = 100;
	EXPECT_EQ(QUEUES / 3, pass(self, none, true));
	for (i = 0; i < QUEUES; i++)
		EXPECT_EQ(is_set(self->used, i), self->visits[i]);
}

/* With every queue in use and the first @nbusy at work: all of these, and few others. */
TEST_F(sweep, idle_queues_cost_little_and_all_are_found)
{
	unsigned long work[WORDS] = { 0 };
	u32 i, n, nbusy = 5;

	for (i = 0; i < QUEUES; i++)
		use(self, i);
	work[0] = (1UL << nbusy) - 1;
	pass(self, work, true);
	memset(self->found, 0, sizeof(self->found));
	for (n = 0; n < QUEUES / (GDA_SWEEP_IDLE * nbusy) + 1; n++) {
		EXPECT_GE(nbusy * (1 + GDA_SWEEP_IDLE), pass(self, work, false));
		for (i = 0; i < QUEUES; i++)
			EXPECT_GE(1, self->visits[i]);
		for (i = 0; i < nbusy; i++)
			EXPECT_EQ(1, self->visits[i]);
	}
	for (i = 0; i < QUEUES; i++)
		EXPECT_NE(0, self->found[i]);
}

/* A queue that lost its work goes back among the idle ones, and costs what they cost. */
TEST_F(sweep, a_queue_without_work_becomes_idle)
{
	unsigned long work[WORDS] = { 0 };
	u32 i, last = QUEUES - 1;

	for (i = 0; i < QUEUES; i++)
		use(self, i);
	work[WORDS - 1] = 1UL << last % GDA_SWEEP_WORD;
	work[0] = 1;
	pass(self, work, true);
	EXPECT_TRUE(is_set(self->busy, last));
	work[WORDS - 1] = 0;
	for (i = 0; i < 2 * QUEUES; i++)
		pass(self, work, false);
	EXPECT_FALSE(is_set(self->busy, last));
	EXPECT_TRUE(is_set(self->busy, 0));
}

/* A queue that is gone is not visited, busy or not. */
TEST_F(sweep, a_queue_that_is_gone_is_not_visited)
{
	const unsigned long work[WORDS] = { 3 };

	use(self, 0);
	use(self, 1);
	EXPECT_EQ(2, pass(self, work, true));
	self->used[0] = 1;
	EXPECT_EQ(1, pass(self, work, false));
	EXPECT_EQ(1, self->visits[0]);
}

TEST_HARNESS_MAIN
