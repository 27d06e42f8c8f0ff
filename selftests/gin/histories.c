// SPDX-License-Identifier: MIT
/*
 * Random programs: every rank makes the same random choices, so each knows what the others
 * do. In each round a rank puts a random number of blocks to random peers, as data or as
 * values, deferred or not, with counters; then signals each peer once. Behind the signal all
 * that the peer was sent has to be there; behind a counter its source is overwritten; a
 * barrier ends the round, and the signals' sums are compared. GDA_STRESS=N: N times as many.
 */
#include "../lib/repeat.h"
#include "gin.h"

#define SLOTS	8U		/* blocks of a sender, at each rank */
#define BYTES	256U
/* Each is slow in an emulated guest, and under sanitizers. */
#define ROUNDS		200U
#define ROUNDS_SLOW	100U

struct choice {
	uint32_t peer, bytes, flags;
	bool value;
};

/* Choose the work of @rank in step @step of @round; the same on all ranks. */
static struct choice choose(const struct g_rank *r, uint32_t rank, uint32_t round, uint32_t step)
{
	uint64_t x = (uint64_t)round * 1000003 + rank * 10007 + step + 1;
	struct choice c;

	x ^= x >> 12;
	x *= 0x2545f4914f6cdd1d;
	x ^= x >> 29;
	x *= 0x9e3779b97f4a7c15;
	c.peer = (uint32_t)(x >> 8) % r->nranks;
	c.value = !(x >> 20 & 3);
	c.bytes = c.value ? 1 + (uint32_t)(x >> 24) % 8 : (uint32_t)(x >> 24) % BYTES;
	c.flags = x >> 40 & 1 ? GDA_DEFER : 0;
	return c;
}

static uint32_t steps(uint32_t round, uint32_t rank)
{
	return (round * 7 + rank * 3) % (SLOTS + 1);
}

static uint64_t inbox(uint32_t from, uint32_t step)
{
	return (uint64_t)(from * SLOTS + step) * BYTES;
}

static int send(struct g_rank *r, const struct gda_window *w, unsigned char *out, uint32_t round,
		uint64_t *counted)
{
	uint64_t base = (uint64_t)G_MAX * SLOTS * BYTES, value;
	uint32_t i, n = steps(round, r->rank);

	for (i = 0; i < n; i++) {
		struct choice c = choose(r, r->rank, round, i);
		struct gda_gin_place to = gda_at(w, inbox(r->rank, i));

		g_fill(out + i * BYTES, BYTES, r->rank, round + i);
		memcpy(&value, out + i * BYTES, 8);
		if (c.value) {
			G_OK(gda_gin_put_value(r->gin, c.peer, to, value, c.bytes,
					       gda_gin_plain(c.flags)));
			continue;
		}
		G_OK(gda_gin_put(r->gin, c.peer, to, gda_at(w, base + i * BYTES), c.bytes,
				 gda_gin_count(gda_gin_plain(c.flags), 0)));
		++*counted;
	}
	for (i = 0; i < r->nranks; i++)
		G_OK(gda_gin_signal(r->gin, i, gda_gin_add(r->rank, n + 1, 0)));
	G_OK(gda_gin_wait_counter(r->gin, 0, *counted, 56, 0));
	memset(out, 0xff, SLOTS * BYTES);
	return 0;
}

static int receive(struct g_rank *r, const unsigned char *mem, uint32_t round, uint64_t *sums)
{
	uint32_t from, i;

	for (from = 0; from < r->nranks; from++) {
		uint32_t n = steps(round, from);

		sums[from] += n + 1;
		G_OK(gda_gin_wait_signal(r->gin, from, sums[from], 64, 0));
		G_EQ(sums[from], gda_gin_read_signal(r->gin, from, 64));
		for (i = 0; i < n; i++) {
			struct choice c = choose(r, from, round, i);

			if (c.peer == r->rank)
				G_TRUE(g_is(mem + inbox(from, i), c.bytes, from, round + i));
		}
	}
	return 0;
}

static int histories(struct g_rank *r)
{
	uint32_t rounds = (test_slow() ? ROUNDS_SLOW : ROUNDS) * test_times();
	size_t bytes = (size_t)(G_MAX + 1) * SLOTS * BYTES;
	uint64_t sums[G_MAX] = { 0 }, counted = 0;
	struct gda_gin_barrier b;
	struct gda_window *w;
	unsigned char *mem;
	uint32_t round;

	G_OK(g_window(r, bytes, 0, &mem, &w));
	G_OK(gda_gin_barrier_begin(&b, r->gin, gda_team_world(r->comm), 0));
	for (round = 0; round < rounds; round++) {
		G_OK(send(r, w, mem + (size_t)G_MAX * SLOTS * BYTES, round, &counted));
		G_OK(receive(r, mem, round, sums));
		if (round % 3 == 0)
			G_OK(gda_gin_flush(r->gin, 0));
		G_OK(gda_gin_barrier_sync(&b, round % 4, 0));
	}
	gda_gin_barrier_end(&b);
	g_window_end(mem, bytes, w);
	return 0;
}

#define ATTR	{ .signals = G_MAX, .counters = 1, .barriers = 1, .depth = 16 }

static const struct g_test tests[] = {
	{ "G_04_G_10_G_25_histories_of_2", histories, G_WORDS, 2, ATTR },
	{ "G_04_G_10_G_25_histories_of_3", histories, G_WORDS, 3, ATTR },
	{ "G_04_G_10_G_25_histories_of_4", histories, G_WORDS, 4, ATTR },
};

int main(void)
{
	return g_main(tests, sizeof(tests) / sizeof(tests[0]));
}
