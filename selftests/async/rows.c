// SPDX-License-Identifier: MIT
/*
 * Rows, hints, notifications and words of gda/async.h, by the engine COPY. A test has the id of the
 * capability in FIELD.md that it proves, if there is one.
 */
#include "copy.h"

/* Rows at a pitch: one event, in one queue; what is between them stays as it was. */
TEST_F(copy, rows)
{
	struct gda_async_rows r = {
		.size = sizeof(r), .rows = 50, .bytes = 700, .dst = (uintptr_t)self->dst,
		.dst_pitch = 1024, .src = (uintptr_t)self->src, .src_pitch = 777,
	};
	uint64_t posted;
	uint32_t i;

	for (i = 0; i < 50; i++)
		world_fill(self->src + 777 * i, 700, i);
	memset(self->dst, 0xee, 50 * 1024);
	ASSERT_LT(0, gda_async_get_rows(&self->s, GDA_ASYNC_COPY, &r, 0).handle);
	ASSERT_EQ(0, gda_async_wait(&self->s, 0));
	for (i = 0; i < 50; i++) {
		ASSERT_TRUE(world_is(self->dst + 1024 * i, 700, i));
		ASSERT_TRUE(world_only(self->dst + 1024 * i + 700, 324, 0xee));
	}
	/* more rows than the ring has slots, and back */
	r.rows = 500;
	for (i = 0; i < 500; i++)
		world_fill(self->src + 777 * i, 700, i + 1);
	ASSERT_LT(0, gda_async_put_rows(&self->s, GDA_ASYNC_COPY, &r, 0).handle);
	ASSERT_EQ(0, gda_async_wait(&self->s, 0));
	for (i = 0; i < 500; i++)
		ASSERT_TRUE(world_is(self->dst + 1024 * i, 700, i + 1));
	/* without a gap it is one copy */
	posted = world_posted(self->world.r[0].w);
	r.rows = 8;
	r.bytes = 512;
	r.dst_pitch = 512;
	r.src_pitch = 512;
	world_fill(self->src, 4096, 3);
	ASSERT_LT(0, gda_async_get_rows(&self->s, GDA_ASYNC_COPY, &r, 0).handle);
	ASSERT_EQ(posted + 1, world_posted(self->world.r[0].w));
	ASSERT_EQ(0, gda_async_wait(&self->s, 0));
	ASSERT_TRUE(world_is(self->dst, 4096, 3));
}

TEST_F(copy, rows_refused)
{
	const struct gda_async_rows ok = {
		.size = sizeof(ok), .rows = 4, .bytes = 64, .dst = (uintptr_t)self->dst,
		.dst_pitch = 128, .src = (uintptr_t)self->src, .src_pitch = 64,
	};
	uint64_t posted = world_posted(self->world.r[0].w);
	struct gda_async_rows bad[7] = { ok, ok, ok, ok, ok, ok, ok };
	uint32_t i;

	bad[0].dst_pitch = 63;			/* rows overlap */
	bad[1].src_pitch = UINT64_MAX / 2;	/* wraps */
	bad[2].src_pitch = HALF;		/* leaves the window */
	bad[3].dst_pitch = 2 * HALF;
	bad[4].bytes = GDA_CHUNK_MAX;
	bad[4].dst_pitch = 2 * (uint64_t)GDA_CHUNK_MAX;
	bad[4].src_pitch = bad[4].dst_pitch;
	bad[5].rows = 0;			/* nothing to do: not refused */
	bad[6].bytes = 0;
	for (i = 0; i < 7; i++) {
		self->s.refused = 0;
		ASSERT_EQ(0, gda_async_get_rows(&self->s, GDA_ASYNC_COPY, &bad[i], 0).handle);
		ASSERT_EQ(i < 5, self->s.refused != 0) {
			TH_LOG("row %u", i);
		}
	}
	ASSERT_EQ(posted, world_posted(self->world.r[0].w));
	ASSERT_LT(0, gda_async_get_rows(&self->s, GDA_ASYNC_COPY, &ok, 0).handle);
	ASSERT_EQ(0, gda_async_wait(&self->s, 0));
}

TEST_F(copy, prefetch_is_a_hint)
{
	uint64_t posted = world_posted(self->world.r[0].w);

	ASSERT_EQ(0, gda_async_prefetch(&self->s, GDA_ASYNC_COPY, self->src, HALF).handle);
	ASSERT_EQ(0, gda_async_prefetch(&self->s, GDA_ASYNC_COPY, self->src, 0).handle);
	ASSERT_EQ(0, self->s.refused);
	ASSERT_EQ(0, gda_async_prefetch(&self->s, GDA_ASYNC_COPY, self->src, HALF + 1).handle);
	ASSERT_EQ(-EFAULT, self->s.refused);
	ASSERT_EQ(posted, world_posted(self->world.r[0].w));
}

/* A notification behind copies: the word changes when they are there. */
TEST_F(copy, P_15_notify_behind_copies)
{
	uint64_t *word = self->scratch + 1024;
	bool adds = world_adds(&self->s);
	uint32_t i;

	if (!adds) {
		ASSERT_EQ(0, gda_async_notify(&self->s, GDA_ASYNC_COPY, word, GDA_ASYNC_ADD, 1,
					      0).handle);
		ASSERT_EQ(-EOPNOTSUPP, self->s.refused);
	}
	for (i = 1; i <= 40; i++) {
		world_fill(self->src, 20000, i);
		ASSERT_LT(0, gda_async_put(&self->s, GDA_ASYNC_COPY, self->dst, self->src, 20000,
					   0).handle);
		ASSERT_LT(0, gda_async_notify(&self->s, GDA_ASYNC_COPY, word,
					      i % 2 && adds ? GDA_ASYNC_ADD : GDA_ASYNC_SET,
					      i % 2 && adds ? 1 : i, 0).handle);
		ASSERT_EQ(0, gda_async_wait_word(&self->s, word, GDA_ASYNC_GE, i, 0));
		ASSERT_TRUE(world_is(self->dst, 20000, i));
		ASSERT_EQ(i, *word);
	}
	ASSERT_EQ(0, gda_async_wait(&self->s, 0));
	ASSERT_EQ(0, gda_async_notify(&self->s, GDA_ASYNC_COPY, word, 2, 1, 0).handle);
	ASSERT_EQ(-EINVAL, self->s.refused);
	ASSERT_EQ(0, gda_async_notify(&self->s, GDA_ASYNC_COPY, (uint64_t *)((char *)word + 4),
				      GDA_ASYNC_SET, 1, 0).handle);
	ASSERT_EQ(0, gda_async_notify(&self->s, GDA_ASYNC_COPY, NULL, GDA_ASYNC_SET, 1,
				      0).handle);
}

/* The six comparisons, and how a wait for a word ends. */
TEST_F(copy, P_15_wait_word)
{
	static const struct {
		uint64_t word;
		int holds[6];		/* against 5: EQ NE GT GE LT LE */
	} rows[] = {
		{ 4, { 0, 1, 0, 0, 1, 1 } }, { 5, { 1, 0, 0, 1, 0, 1 } },
		{ 6, { 0, 1, 1, 1, 0, 0 } }, { UINT64_MAX, { 0, 1, 1, 1, 0, 0 } },
	};
	uint64_t word;
	uint32_t i, compare;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (compare = 0; compare < 6; compare++) {
			word = rows[i].word;
			ASSERT_EQ(rows[i].holds[compare] ? 0 : -ETIMEDOUT,
				  gda_async_wait_word(&self->s, &word, compare, 5,
						      gda_clock_ns() + 200000)) {
				TH_LOG("row %u, %u", i, compare);
			}
		}
	}
	ASSERT_EQ(-EINVAL, gda_async_wait_word(&self->s, &word, 6, 5, 0));
	ASSERT_EQ(-ETIME, gda_async_wait_word(&self->s, &word, GDA_ASYNC_EQ, 5, 1));
}

TEST_F(copy, I40_14_words_of_waits)
{
	struct gda_context *none;
	uint64_t word = 41;

	ASSERT_NE(0, gda_open("no-such-device", &none));
	ASSERT_EQ(-ETIMEDOUT, gda_async_wait_word(&self->s, &word, GDA_ASYNC_EQ, 42,
						  gda_clock_ns() + 200000));
	EXPECT_NE(NULL, strstr(gda_last_error(), "gda_async_wait_word: the word holds 0x29, and is compared with 0x2a: not at the deadline")) {
		TH_LOG("%s", gda_last_error());
	}
}

TEST_HARNESS_MAIN
