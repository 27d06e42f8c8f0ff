// SPDX-License-Identifier: MIT
/*
 * GDA_ORDER in the environment: a program meets every order of its requests that is legal, and
 * the same one again from the same seed.
 */
#include <pthread.h>
#include "suite.h"

#define SEEDS	64U

struct seen {
	uint32_t newer;			/* gets whose result was that of a put behind them */
	uint32_t older;
	uint32_t wrong;
};

/* A get of a word, and a put to it that is posted behind the get, before the doorbell. */
static int one_seed(const char *order, unsigned int flags, struct seen *seen)
{
	struct s_end end[2];
	uint64_t *here, *there;
	int64_t last;
	int err;

	if (order)
		setenv("GDA_ORDER", order, 1);
	else
		unsetenv("GDA_ORDER");
	err = s_pair_open(end, 16, 4096);
	unsetenv("GDA_ORDER");
	if (err)
		return err;
	here = (void *)end[0].mem.addr;
	there = (void *)end[1].mem.addr;
	here[1] = 2;
	there[0] = 1;
	s_get(&end[0], 0, &end[1], 0, 8, GDA_EXCLUSIVE | GDA_DEFER);
	last = s_put(&end[0], 8, &end[1], 0, 8, GDA_EXCLUSIVE | flags);
	err = last < 0 ? (int)last : gda_wait(end[0].v, last, 0);
	seen->older += here[0] == 1;
	seen->newer += here[0] == 2;
	seen->wrong += there[0] != 2 || here[1] != 2;
	s_pair_close(end);
	return err;
}

/* @how: the order without its seed */
static int all_seeds(const char *how, unsigned int flags, struct seen *seen)
{
	char order[32];
	uint32_t i;
	int err = 0;

	memset(seen, 0, sizeof(*seen));
	for (i = 0; i < SEEDS && !err; i++) {
		snprintf(order, sizeof(order), "%s:%u", how, i);
		err = one_seed(order, flags, seen);
	}
	return err;
}

static const char *const drawn[] = { "random", "pct" };

TEST(a_get_may_have_the_value_of_a_put_behind_it)
{
	struct seen seen;
	uint32_t i;

	for (i = 0; i < 2; i++) {
		ASSERT_OK(all_seeds(drawn[i], 0, &seen));
		EXPECT_EQ(0, seen.wrong);
		EXPECT_EQ(SEEDS, seen.older + seen.newer);
		/* both are met: 64 tries of one half each */
		EXPECT_LT(0, seen.newer);
		EXPECT_LT(0, seen.older);
	}
}

/* ... but not if that is posted to come after reads. */
TEST(a_put_after_reads_passes_none)
{
	struct seen seen;
	uint32_t i;

	for (i = 0; i < 2; i++) {
		ASSERT_OK(all_seeds(drawn[i], GDA_AFTER_READS, &seen));
		EXPECT_EQ(0, seen.wrong);
		EXPECT_EQ(SEEDS, seen.older);
	}
}

TEST(without_it_and_in_the_plain_order_it_has_the_older)
{
	struct seen seen = { 0 };
	uint32_t i;

	for (i = 0; i < SEEDS; i++)
		ASSERT_OK(one_seed(i % 2 ? "plain" : NULL, 0, &seen));
	EXPECT_EQ(SEEDS, seen.older);
	EXPECT_EQ(0, seen.wrong);
}

/* A thread that looks at a put of two words while it lands. */
struct watch {
	volatile uint64_t *there;
	uint64_t seen;			/* atomic: how often the second word was newer */
	int stop;			/* atomic */
};

static void *watch_words(void *arg)
{
	struct watch *w = arg;

	while (!__atomic_load_n(&w->stop, __ATOMIC_RELAXED)) {
		uint64_t b = __atomic_load_n(&w->there[1], __ATOMIC_ACQUIRE);
		uint64_t a = __atomic_load_n(&w->there[0], __ATOMIC_ACQUIRE);

		/* a word that was read later may be newer, never older */
		__atomic_fetch_add(&w->seen, a < b, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* The second word of a put may be there before the first: a flag needs a put of its own. */
TEST(the_words_of_a_put_land_in_any_order)
{
	struct watch w = { .stop = 0 };
	struct s_end end[2];
	pthread_t thread;
	uint64_t *here, i;

	setenv("GDA_ORDER", "random:1", 1);
	ASSERT_OK(s_pair_open(end, 16, 4096));
	unsetenv("GDA_ORDER");
	here = (void *)end[0].mem.addr;
	w.there = (void *)end[1].mem.addr;
	ASSERT_OK(-pthread_create(&thread, NULL, watch_words, &w));
	for (i = 1; i < 1000000 && !__atomic_load_n(&w.seen, __ATOMIC_RELAXED); i++) {
		here[0] = here[1] = i;
		ASSERT_OK(gda_wait(end[0].v, s_put(&end[0], 0, &end[1], 0, 16, GDA_EXCLUSIVE), 0));
	}
	__atomic_store_n(&w.stop, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	EXPECT_LT(0, w.seen);
	s_pair_close(end);
}

/* Of a get and a put that names memory which is gone the put fails, whichever goes first. */
static int one_fault(uint32_t seed, uint32_t *wrong)
{
	struct s_end end[2];
	struct gda_error e = { .size = sizeof(e) };
	int64_t get, put;
	char order[32];
	int err;

	snprintf(order, sizeof(order), "random:%u", seed);
	setenv("GDA_ORDER", order, 1);
	err = s_pair_open(end, 16, 8192);
	unsetenv("GDA_ORDER");
	if (err)
		return err;
	*(uint64_t *)(void *)end[1].mem.addr = 7;
	if (munmap(end[0].mem.addr + 4096, 4096))
		return -errno;
	get = s_get(&end[0], 0, &end[1], 0, 8, GDA_EXCLUSIVE | GDA_DEFER);
	put = s_put(&end[0], 4096, &end[1], 8, 8, GDA_EXCLUSIVE);
	*wrong += gda_wait(end[0].v, put, 0) != -EIO || gda_wait(end[0].v, get, 0) != 0;
	*wrong += *(uint64_t *)(void *)end[0].mem.addr != 7;
	*wrong += !gda_error(end[0].v, &e) || e.ticket != put;
	s_pair_close(end);
	return 0;
}

TEST(a_fault_is_that_of_who_names_the_memory)
{
	uint32_t i, wrong = 0;

#ifdef __SANITIZE_THREAD__
	SKIP(return, "the thread sanitizer delivers signals of faults later");
#endif
	for (i = 0; i < SEEDS; i++)
		ASSERT_OK(one_fault(i, &wrong));
	EXPECT_EQ(0, wrong);
}

TEST(what_is_no_order_is_refused)
{
	static const char *const bad[] = { "random", "random:", "random:x", "random:1x", "random:-1",
					   "pct", "pct:", "pct:1:", "pct:1:0", "pct:1:17",
					   "pct:1:2:3", "newest" };
	static const char *const good[] = { "", "plain", "pct:1", "pct:0x7:1", "pct:1:16" };
	struct gda_context *ctx;
	uint32_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		setenv("GDA_ORDER", bad[i], 1);
		EXPECT_EQ(-EINVAL, gda_open(GDA_DEVICE_INPROC, &ctx));
		EXPECT_NE(NULL, strstr(gda_last_error(), bad[i]));
	}
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		setenv("GDA_ORDER", good[i], 1);
		ASSERT_OK(gda_open(GDA_DEVICE_INPROC, &ctx));
		gda_close(ctx);
	}
	unsetenv("GDA_ORDER");
}

TEST_HARNESS_MAIN
