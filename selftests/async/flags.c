// SPDX-License-Identifier: MIT
/*
 * The wait of GDA_ASYNC_FLAG_WAIT over a queue in plain memory, whose device does what the test
 * says: when it returns 0, the data has landed and nobody writes to the scratch any more.
 */
#include <pthread.h>
#include <gda/async.h>
#include "../lib/fake_nic.h"
#include "kselftest_harness.h"

FIXTURE(flags) {
	char memory[8192];
	uint64_t scratch[2];		/* the flag's word, and one that nobody writes */
	struct gda_chunk window;
	struct gda_chunk_map map;
	uint64_t views[1];
	struct gda_async_workspace w;
	struct gda_async_session s;
	struct fake_queue *q;
};

/* Windows are whole structures here: all of the fixture is one. */
FIXTURE_SETUP(flags)
{
	self->q = fake_queue_new(64);
	self->q->view.timeout_ns = 1000000;
	self->views[0] = (uintptr_t)&self->q->view;
	self->window = (struct gda_chunk) {
		.addr = (uintptr_t)self, .length = sizeof(*self), .iova = (uintptr_t)self,
		.key = 7,
	};
	self->map = (struct gda_chunk_map) {
		.size = sizeof(self->map), .count = 1, .chunks = (uintptr_t)&self->window,
	};
	self->w = (struct gda_async_workspace) {
		.size = sizeof(self->w), .version = GDA_ASYNC_VERSION, .nranks = 1, .groups = 1,
		.queues = 1, .block_bytes = GDA_ASYNC_BLOCK_BYTES, .timeout_ns = 1000000,
		.flags = GDA_ASYNC_FLAG_WAIT, .views = (uintptr_t)self->views,
		.maps = (uintptr_t)&self->map,
	};
	self->s.size = sizeof(self->s);
	ASSERT_EQ(0, gda_async_open(&self->w, 0, self->scratch, sizeof(self->scratch), &self->s));
	gda_async_get(&self->s, GDA_ASYNC_COPY, self->memory, self->memory + 4096, 64, 0);
	ASSERT_EQ(1, gda_handed_out(&self->q->view));
}

FIXTURE_TEARDOWN(flags)
{
	fake_queue_free(self->q);
}

static int wait_a_while(struct gda_async_session *s)
{
	return gda_async_wait(s, gda_clock_ns() + 1000000);
}

/* The data is done and the flag is not: whatever the scratch holds, the wait has not ended. */
TEST_F(flags, item_7_P_09_old_flags_are_not_taken)
{
	fake_complete(self->q, 1);
	/* the value that the first flag of a session had, and no other */
	self->scratch[0] = 1;
	EXPECT_EQ(-ETIMEDOUT, wait_a_while(&self->s));
	EXPECT_EQ(2, gda_handed_out(&self->q->view));
	EXPECT_EQ(-ETIMEDOUT, wait_a_while(&self->s));
	EXPECT_EQ(0, self->scratch[1]);
}

struct device {
	struct fake_queue *q;
	uint64_t *word;
	uint64_t flag;		/* index of its entry */
	bool complete;
};

/* Store the flag to its word, and complete all before it, and itself if the test says so. */
static void *land_flag(void *arg)
{
	struct device *d = arg;
	uint64_t deadline = gda_clock_ns() + 10000000000, value;

	while (gda_handed_out(&d->q->view) <= d->flag || fake_rung(d->q) <= d->flag) {
		if (gda_clock_ns() > deadline)		/* no flag was posted */
			return NULL;
		gda_yield();
	}
	memcpy(&value, fake_entry(d->q, d->flag) + 36, sizeof(value));
	gda_nic_store64(d->word, value);
	fake_complete(d->q, d->flag + d->complete);
	return NULL;
}

static int wait_with_device(struct gda_async_session *s, struct device *d, uint64_t ns)
{
	pthread_t thread;
	int err;

	if (pthread_create(&thread, NULL, land_flag, d))
		abort();
	err = gda_async_wait(s, gda_clock_ns() + ns);
	pthread_join(thread, NULL);
	return err;
}

/* The word has the flag's value, and the device may still write it: the wait has not ended. */
TEST_F(flags, item_7_P_09_wait_covers_the_flag_itself)
{
	struct device d = { .q = self->q, .word = self->scratch, .flag = 1 };

	EXPECT_EQ(-ETIMEDOUT, wait_with_device(&self->s, &d, 100000000));
	/* the next wait covers that flag, too, which is in front of its own */
	d.flag = 2;
	d.complete = true;
	EXPECT_EQ(0, wait_with_device(&self->s, &d, 20000000000));
	EXPECT_EQ(0, gda_async_wait(&self->s, 0));
	EXPECT_EQ(3, gda_handed_out(&self->q->view));
}

/* Another session with the same scratch: its flags have other values. */
TEST_F(flags, item_7_P_09_values_of_sessions_differ)
{
	struct device d = { .q = self->q, .word = self->scratch, .flag = 1, .complete = true };
	uint64_t first;

	EXPECT_EQ(0, wait_with_device(&self->s, &d, 20000000000));
	first = self->scratch[0];
	ASSERT_EQ(0, gda_async_open(&self->w, 0, self->scratch, sizeof(self->scratch), &self->s));
	gda_async_get(&self->s, GDA_ASYNC_COPY, self->memory, self->memory + 4096, 64, 0);
	d.flag = 3;
	EXPECT_EQ(0, wait_with_device(&self->s, &d, 20000000000));
	EXPECT_NE(first, self->scratch[0]);
}

TEST_HARNESS_MAIN
