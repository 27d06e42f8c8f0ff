// SPDX-License-Identifier: MIT
/*
 * Promises of gda/gin.h around the verbs: values, shadows and resets, teams and
 * connections, segments, sharing, barriers, and how waits end.
 */
#include <unistd.h>
#include <sys/mman.h>
#include "gin.h"

#define CELL	4096U

static int rolling(struct g_rank *r)
{
	static const uint32_t widths[] = { 1, 2, 8, 31, 32, 33, 56, 63, 64 };
	uint64_t seed = 1;
	uint32_t i, k;

	for (i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
		uint32_t bits = widths[i];
		uint64_t half = 1ULL << (bits - 1);

		G_EQ(1, gda_gin_reached(0, 0, bits));
		G_EQ(1, gda_gin_reached(0, half - 1, bits));
		G_EQ(0, gda_gin_reached(0, half, bits));
		G_EQ(0, gda_gin_reached(0, UINT64_MAX, bits));
		/* as signed numbers of so many bits say it */
		for (k = 0; k < 1000; k++) {
			uint64_t a = seed = seed * 6364136223846793005 + 1442695040888963407;
			uint64_t b = seed = seed * 6364136223846793005 + 1442695040888963407;
			int64_t far = (int64_t)((b - a) << (64 - bits)) >> (64 - bits);

			G_EQ(far >= 0, gda_gin_reached(a, b, bits));
		}
	}
	return 0;
}

/* A reset counts from where the word is; bits beyond those asked for are not looked at. */
static int reset(struct g_rank *r)
{
	uint32_t next = (r->rank + 1) % r->nranks, round, i;

	for (round = 0; round < 5; round++) {
		for (i = 0; i <= round; i++)
			G_OK(gda_gin_signal(r->gin, next, gda_gin_inc(1, r->weak)));
		G_OK(gda_gin_wait_signal(r->gin, 1, round + 1, 64, 0));
		G_EQ(round + 1, gda_gin_read_signal(r->gin, 1, 64));
		G_EQ((round + 1) & 1, gda_gin_read_signal(r->gin, 1, 1));
		gda_gin_add_shadow(r->gin, 1, 7);
		gda_gin_reset_signal(r->gin, 1);
		G_EQ(0, gda_gin_read_signal(r->gin, 1, 64));
		G_EQ(0, *gda_gin_shadow(r->gin, 1));
		G_OK(gda_comm_barrier(r->ranks, 0));
	}
	/* E-14: nobody wrote to the word: the first sender's, or by epochs that behind those */
	if (!gda_gin_senders(r->gin) || r->rank == 1)
		G_EQ(15, ((const uint64_t *)(uintptr_t)*gda_gin_word64(r->gin->words, 1))
			 [gda_gin_by_epochs(r->gin) ? r->nranks : 0]);
	return 0;
}

static int shadows(struct g_rank *r)
{
	uint32_t next = (r->rank + 1) % r->nranks, i;
	uint64_t before, delta, seen = 0;

	for (i = 0; i < 20; i++)
		G_OK(gda_gin_signal(r->gin, next, gda_gin_inc(0, r->weak)));
	gda_gin_add_shadow(r->gin, 0, 5);
	G_OK(gda_gin_wait_shadow(r->gin, 0, 0));
	for (seen = 5; seen < 20; seen += delta) {
		G_OK(gda_gin_follow_signal(r->gin, 0, 1, &before, &delta, 0));
		G_EQ(seen, before);
		G_TRUE(delta >= 1);
	}
	G_EQ(20, *gda_gin_shadow(r->gin, 0));
	G_EQ(-ETIMEDOUT, gda_gin_follow_signal(r->gin, 0, 1, &before, &delta,
					       gda_clock_ns() + 1000000));
	G_EQ(20, *gda_gin_shadow(r->gin, 0));
	return 0;
}

/* Signals in a window of their own, with all that goes with them. */
static int window_signals(struct g_rank *r)
{
	uint32_t next = (r->rank + 1) % r->nranks, before = (r->rank + r->nranks - 1) % r->nranks;
	struct gda_window *data, *words;
	unsigned char *mem, *mem2;
	uint32_t i;

	G_OK(g_window(r, 16 * CELL, 0, &mem, &data));
	G_OK(g_window(r, CELL, GDA_WINDOW_STRICT, &mem2, &words));
	/* without atomics a word of a window is no signal, and nothing is put */
	if (gda_gin_senders(r->gin))
		G_EQ(-EOPNOTSUPP, gda_gin_put(r->gin, next, gda_at(data, 0), gda_at(data, 8), 8,
					      gda_gin_inc_at(gda_at(words, 0), 0)));
	for (i = 0; !gda_gin_senders(r->gin) && i < 50; i++) {
		g_fill(mem + 8 * CELL, CELL, r->rank, i);
		G_OK(gda_gin_put(r->gin, next, gda_at(data, i % 8 * CELL),
				 gda_at(data, 8 * CELL), CELL,
				 gda_gin_inc_at(gda_at(words, 8 * (i % 4)), 0)));
		G_OK(gda_gin_wait_signal_at(r->gin, gda_at(words, 8 * (i % 4)), 1, 64, 0));
		G_TRUE(g_is(mem + i % 8 * CELL, CELL, before, i));
		G_OK(gda_gin_flush(r->gin, 0));
		gda_gin_reset_signal_at(gda_at(words, 8 * (i % 4)));
		G_OK(gda_comm_barrier(r->ranks, 0));
	}
	g_window_end(mem2, CELL, words);
	g_window_end(mem, 16 * CELL, data);
	return 0;
}

/* Three segments here, two there; actions happen once, behind the last piece. */
static int segments(struct g_rank *r)
{
	static const uint32_t cuts[2][3] = { { 3, 9, 4 }, { 7, 9, 0 } };
	uint32_t next = (r->rank + 1) % r->nranks, before = (r->rank + r->nranks - 1) % r->nranks;
	struct gda_window_segment s[3];
	struct gda_window_attr attr = { .size = sizeof(attr), .segments = s };
	static const uint32_t total = 16 * CELL;
	struct gda_window *w, *plain;
	unsigned char *mem[3], *src;
	uint32_t i, k, at;

	for (i = 0; i < 3 && cuts[r->rank % 2][i]; i++) {
		s[i].bytes = cuts[r->rank % 2][i] * CELL;
		mem[i] = mmap(NULL, s[i].bytes + CELL, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		s[i].addr = (uintptr_t)mem[i];
	}
	attr.count = i;
	G_OK(gda_window_register(r->comm, &attr, &w));
	G_EQ(3, w->pieces);
	G_OK(g_window(r, total, 0, &src, &plain));
	for (k = 0; k < 10; k++) {
		uint32_t offset = k * 1011, bytes = total - offset - k * 277;

		g_fill(src, bytes, r->rank, k);
		G_OK(gda_gin_put(r->gin, next, gda_at(w, offset), gda_at(plain, 0), bytes,
				 gda_gin_count(gda_gin_inc(0, r->weak), 1)));
		G_OK(gda_gin_wait_signal(r->gin, 0, k + 1, 64, 0));
		G_OK(gda_gin_wait_counter(r->gin, 1, k + 1, 56, 0));
		G_EQ(k + 1, gda_gin_read_signal(r->gin, 0, 64));
		/* and from here to here, where it is one segment */
		memset(src, 0, total);
		G_OK(gda_gin_get(r->gin, r->rank, gda_at(w, offset), gda_at(plain, 0), bytes,
				 gda_gin_plain(0)));
		G_OK(gda_gin_flush(r->gin, 0));
		G_TRUE(g_is(src, bytes, before, k));
		for (at = 0; at < bytes; at += 97)
			G_EQ(src[at], *(unsigned char *)gda_at_local(gda_at(w, offset + at)));
		G_OK(gda_comm_barrier(r->ranks, 0));
	}
	G_EQ(10, gda_gin_read_counter(r->gin, 1, 56));
	G_TRUE(!gda_at_local(gda_at(w, total)));
	g_window_end(src, total, plain);
	gda_window_deregister(w);
	for (i = 0; i < attr.count; i++)
		munmap(mem[i], s[i].bytes + CELL);
	return 0;
}

/* A context of one thread: its posts touch no word that others share. */
static int exclusive(struct g_rank *r)
{
	uint32_t next = (r->rank + 1) % r->nranks, i;
	struct gda_view *v = gda_gin_view(gda_gin_queue(r->gin, 0, next));
	const uint32_t *slots = (const uint32_t *)(uintptr_t)v->slots;
	struct gda_window *w;
	unsigned char *mem;
	uint32_t was[4];

	G_OK(g_window(r, CELL, 0, &mem, &w));
	G_OK(gda_gin_put(r->gin, next, gda_at(w, 0), gda_at(w, 64), 8,
			 gda_gin_plain(GDA_EXCLUSIVE)));
	G_OK(gda_gin_signal(r->gin, next, gda_gin_inc(0, r->weak | GDA_EXCLUSIVE)));
	memcpy(was, slots, sizeof(was));
	for (i = 0; i < 300; i++) {
		unsigned int flags = GDA_EXCLUSIVE | (i % 3 ? GDA_DEFER : 0);

		G_OK(gda_gin_put(r->gin, next, gda_at(w, 0), gda_at(w, 64), 8,
				 gda_gin_count(gda_gin_plain(flags), 0)));
	}
	G_EQ(0, memcmp(was, slots, sizeof(was)));
	G_TRUE(v->exclusive_done != GDA_NOT_EXCLUSIVE);
	G_OK(gda_gin_wait_counter(r->gin, 0, 300, 56, 0));
	for (i = 1; i < 100; i++)
		G_OK(gda_gin_signal(r->gin, next, gda_gin_inc(0, r->weak | GDA_EXCLUSIVE)));
	G_OK(gda_gin_wait_signal(r->gin, 0, 100, 64, 0));
	G_OK(gda_gin_flush(r->gin, 0));
	g_window_end(mem, CELL, w);
	return 0;
}

static int teams(struct g_rank *r)
{
	struct gda_team world = gda_team_world(r->comm), local = gda_team_local(r->comm);
	struct gda_team rail = gda_team_rail(r->comm), stride = gda_team_stride(r->comm);
	uint32_t i, k, inner, outer;

	G_EQ(r->nranks, world.nranks);
	G_EQ(2, local.nranks);
	G_EQ(r->rank % 2, local.rank);
	G_EQ(r->nranks / 2, rail.nranks);
	G_EQ(r->rank / 2, rail.rank);
	G_EQ(2, rail.stride);
	G_EQ(r->rank / 2, stride.rank);
	for (i = 0; i < world.nranks; i++)
		G_EQ(i, gda_team_to_world(world, r->rank, i));
	for (i = 0; i < local.nranks; i++)
		G_EQ(r->rank / 2 * 2 + i, gda_team_to_world(local, r->rank, i));
	for (i = 0; i < rail.nranks; i++)
		G_EQ(2 * i + r->rank % 2, gda_team_to_world(rail, r->rank, i));
	/* members, and their numbers, of every pair: by what they are in the world */
	for (i = 0; i < world.nranks; i++) {
		G_EQ(i / 2 == r->rank / 2, gda_team_contains(local, world, i));
		G_EQ(i % 2 == r->rank % 2, gda_team_contains(rail, world, i));
		if (gda_team_contains(rail, world, i))
			G_EQ(i / 2, gda_team_convert(rail, world, i));
		if (gda_team_contains(local, world, i))
			G_EQ(i % 2, gda_team_convert(local, world, i));
	}
	/* a team of 24, from each of its members: groups of 4 */
	for (k = 0; k < 24; k++) {
		struct gda_team in = gda_team_inner(gda_team_make(24, k, 3), 4);
		struct gda_team out = gda_team_outer(gda_team_make(24, k, 3), 4);

		inner = gda_team_to_world(in, 3 * k, 2);
		outer = gda_team_to_world(out, 3 * k, 5);
		G_EQ(3 * (k / 4 * 4 + 2), inner);
		G_EQ(3 * (5 * 4 + k % 4), outer);
	}
	return 0;
}

static int connections(struct g_rank *r)
{
	struct gda_window *w;
	unsigned char *mem;
	uint32_t i;

	G_OK(g_window(r, CELL, 0, &mem, &w));
	for (i = 0; i < r->nranks; i++) {
		bool here = i % 2 == r->rank % 2;

		G_EQ(here ? 0 : -ENOTCONN,
		     gda_gin_put(r->gin, i, gda_at(w, 8 * r->rank), gda_at(w, 64), 8,
				 gda_gin_inc(0, r->weak)));
		G_EQ(here ? 0 : -ENOTCONN, gda_gin_signal(r->gin, i, gda_gin_inc(0, r->weak)));
		G_EQ(here ? 0 : -ENOTCONN,
		     gda_gin_put_value(r->gin, i, gda_at(w, 256 + 8 * r->rank), 1, 1,
				       gda_gin_plain(0)));
	}
	G_OK(gda_gin_wait_signal(r->gin, 0, r->nranks, 64, 0));
	G_OK(gda_gin_flush(r->gin, 0));
	g_window_end(mem, CELL, w);
	return 0;
}

static int connected_to_none(struct g_rank *r)
{
	struct gda_gin_request request;
	struct gda_gin_barrier b;

	G_EQ(-ENOTCONN, gda_gin_signal(r->gin, r->rank, gda_gin_inc(0, r->weak)));
	G_EQ(-ENOTCONN, gda_gin_flush_peer(r->gin, 0, &request));
	G_OK(gda_gin_flush(r->gin, 0));
	G_EQ(-ETIMEDOUT, gda_gin_wait_signal(r->gin, 0, 1, 64, gda_clock_ns() + 1000000));
	G_OK(gda_gin_barrier_begin(&b, r->gin, gda_team_world(r->comm), 0));
	G_EQ(-ENOTCONN, gda_gin_barrier_sync(&b, 0, 0));
	gda_gin_barrier_end(&b);
	return 0;
}

/* Data put to a member is there behind the barrier; it may then be overwritten. */
static int barriers(struct g_rank *r)
{
	struct gda_gin_barrier b;
	uint32_t round, i, count;
	struct gda_window *w;
	unsigned char *mem;

	G_OK(g_window(r, 9 * CELL, 0, &mem, &w));
	G_EQ(-EINVAL, gda_gin_barrier_begin(&b, r->gin, gda_team_world(r->comm), 2));
	G_OK(gda_gin_barrier_begin(&b, r->gin, gda_team_world(r->comm), 1));
	for (round = 0; round < 40; round++) {
		g_fill(mem + 8 * CELL, CELL, r->rank, round);
		for (i = 0; i < r->nranks; i++)
			G_OK(gda_gin_put(r->gin, i, gda_at(w, r->rank * CELL),
					 gda_at(w, 8 * CELL), CELL - round, gda_gin_plain(0)));
		G_OK(gda_gin_barrier_sync(&b, GDA_GIN_FENCE_PUT, 0));
		for (i = 0; i < r->nranks; i++)
			G_TRUE(i == r->rank || g_is(mem + i * CELL, CELL - round, i, round));
		/* sources are the caller's own matter */
		G_OK(gda_gin_flush(r->gin, 0));
		for (i = 0; i < r->nranks; i++)
			G_OK(gda_gin_get(r->gin, i, gda_at(w, 8 * CELL), gda_at(w, (4 + i) * CELL),
					 CELL, gda_gin_plain(0)));
		count = 4 + (r->rank + 1) % r->nranks;
		G_OK(gda_gin_barrier_sync(&b, GDA_GIN_FENCE_GET, 0));
		G_TRUE(g_is(mem + count * CELL, CELL, count - 4, round));
	}
	gda_gin_barrier_end(&b);
	g_window_end(mem, 9 * CELL, w);
	return 0;
}

/* All contexts at once, and a part of the ranks. */
static int barriers_of_all(struct g_rank *r)
{
	struct gda_team rail = gda_team_rail(r->comm);
	struct gda_gin_barrier b;
	struct gda_window *w;
	unsigned char *mem;
	uint32_t round, i, c;

	G_OK(g_window(r, 64 * CELL, 0, &mem, &w));
	for (round = 0; round < 20; round++) {
		g_fill(mem + 32 * CELL, CELL, r->rank, round);
		for (i = 0; i < r->nranks; i++)
			for (c = 0; c < 3; c++)
				G_OK(gda_gin_put(gda_gin_context(r->comm, c), i,
						 gda_at(w, (r->rank * 3 + c) * CELL),
						 gda_at(w, 32 * CELL), CELL, gda_gin_plain(0)));
		G_OK(gda_gin_barrier_sync_all(r->comm, gda_team_world(r->comm), 0,
					      GDA_GIN_FENCE_PUT | GDA_GIN_FENCE_GET, 0));
		for (i = 0; i < 3 * r->nranks; i++)
			G_TRUE(i / 3 == r->rank || g_is(mem + i * CELL, CELL, i / 3, round));
		G_OK(gda_gin_barrier_begin(&b, r->gin, rail, 1));
		G_OK(gda_gin_barrier_sync(&b, 0, 0));
		gda_gin_barrier_end(&b);
		for (c = 0; c < 3; c++)
			G_OK(gda_gin_flush(gda_gin_context(r->comm, c), 0));
		G_OK(gda_gin_barrier_sync_all(r->comm, gda_team_world(r->comm), 0, 0, 0));
	}
	g_window_end(mem, 64 * CELL, w);
	return 0;
}

/* The slots of a barrier roll over 32 bits. */
static int barrier_wrap(struct g_rank *r)
{
	uint32_t first = r->gin->signals, slots = first + r->gin->barriers * r->nranks, i;
	struct gda_gin_barrier b;

	for (i = first; i < slots; i++) {
		uint64_t word = *(const uint64_t *)(uintptr_t)*gda_gin_word64(r->gin->words, i);

		*gda_gin_word64(r->gin->resets, i) = word - 0xfffffffdU;
		*gda_gin_shadow(r->gin, i) = 0xfffffffdU;
	}
	G_OK(gda_comm_barrier(r->ranks, 0));
	G_OK(gda_gin_barrier_begin(&b, r->gin, gda_team_world(r->comm), 0));
	for (i = 0; i < 8; i++)
		G_OK(gda_gin_barrier_sync(&b, 0, 0));
	gda_gin_barrier_end(&b);
	return 0;
}

/* A wait for a rank that does not come ends at the deadline; an abort ends a wait, and stays. */
static int missed(struct g_rank *r)
{
	uint64_t soon = gda_clock_ns() + 20000000;
	struct gda_gin_barrier b;

	G_OK(gda_gin_barrier_begin(&b, r->gin, gda_team_world(r->comm), 0));
	if (r->rank)
		G_EQ(-ETIMEDOUT, gda_gin_barrier_sync(&b, 0, soon));
	gda_gin_barrier_end(&b);
	G_EQ(-ETIME, gda_gin_wait_signal(r->gin, 0, 1, 64, 1));
	gda_gin_abort(r->gin);
	G_EQ(-ESHUTDOWN, gda_gin_wait_signal(r->gin, 0, 1, 64, 0));
	G_EQ(-ESHUTDOWN, gda_gin_wait_counter(r->gin, 0, 1, 56, 0));
	/* what is there is there all the same */
	G_OK(gda_gin_wait_signal(r->gin, 0, 0, 64, 0));
	return 0;
}

/* A key that is none: the context fails, says where, and every wait of it ends so. */
static int errors(struct g_rank *r)
{
	struct gda_gin_error e = { .size = sizeof(e) };
	uint32_t next = (r->rank + 1) % r->nranks;
	struct gda_gin_request request;
	struct gda_window_part parts[G_MAX];
	struct gda_window *w, bad;
	unsigned char *mem;

	G_OK(g_window(r, CELL, 0, &mem, &w));
	G_EQ(0, gda_gin_query_error(r->gin, &e));
	/* the source is in no MR of this rank */
	bad = *w;
	bad.key ^= 0x5a5a5a;
	G_OK(gda_gin_put(r->gin, next, gda_at(w, 128), gda_at(&bad, 0), 8, gda_gin_plain(0)));
	G_OK(gda_gin_flush_peer(r->gin, next, &request));
	G_EQ(-EIO, gda_gin_wait(r->gin, &request, 0));
	G_EQ(-EIO, gda_gin_flush(r->gin, 0));
	G_EQ(-EIO, gda_gin_wait_signal(r->gin, 0, 1, 64, 0));
	G_EQ(-EIO, gda_gin_wait_counter(r->gin, 0, 1, 56, 0));
	G_EQ(1, gda_gin_query_error(r->gin, &e));
	G_EQ(next, e.peer);
	G_EQ(0, e.context);
	G_TRUE(e.window == w);
	G_EQ(128, e.offset);
	G_EQ(0, e.lost);
	G_TRUE(e.syndrome);
	/* the other context is as it was */
	G_EQ(0, gda_gin_query_error(gda_gin_context(r->comm, 1), &e));
	G_OK(gda_comm_barrier(r->ranks, 0));
	/* a key of the peer's that is none is found by it */
	memcpy(parts, (void *)(uintptr_t)w->parts, r->nranks * sizeof(parts[0]));
	parts[next].key ^= 0x5a5a5a;
	bad = *w;
	bad.parts = (uintptr_t)parts;
	G_OK(gda_gin_put(gda_gin_context(r->comm, 1), next, gda_at(&bad, 0), gda_at(w, 8), 8,
			 gda_gin_plain(0)));
	G_EQ(-EIO, gda_gin_flush(gda_gin_context(r->comm, 1), 0));
	e.size = 4;
	G_EQ(-EINVAL, gda_gin_query_error(r->gin, &e));
	g_window_end(mem, CELL, w);
	return 0;
}

/* Operations that signals by arrival lack are refused by name, at set-up and in the verb. */
static int refusals(struct g_rank *r)
{
	static const uint32_t needs[] = {
		GDA_GIN_NEED_STRONG, GDA_GIN_NEED_ADD, GDA_GIN_NEED_VA,
	};
	struct gda_gin_attr attr = { .size = sizeof(attr), .signals = 1 };
	struct gda_gin_comm *comm;
	struct gda_window *w;
	unsigned char *mem;
	uint32_t i;

	G_OK(g_window(r, CELL, GDA_WINDOW_STRICT, &mem, &w));
	for (i = 0; i < 3; i++) {
		attr.flags = needs[i] | GDA_GIN_ARRIVAL;
		G_EQ(-EOPNOTSUPP, gda_gin_create(r->ranks, r->ctx, &attr, &comm));
		G_TRUE(strstr(gda_last_error(), i == 0 ? "NEED_STRONG" : i == 1 ? "NEED_ADD" :
			      "NEED_VA"));
		attr.flags = needs[i];
		if (needs[i] == GDA_GIN_NEED_VA && g_unordered(r)) {
			G_EQ(-EOPNOTSUPP, gda_gin_create(r->ranks, r->ctx, &attr, &comm));
			G_TRUE(strstr(gda_last_error(), "GDA_CAN_ATOMIC"));
			continue;
		}
		G_OK(gda_gin_create(r->ranks, r->ctx, &attr, &comm));
		gda_gin_destroy(comm);
	}
	G_EQ(-EOPNOTSUPP, gda_gin_signal(r->gin, 0, gda_gin_inc(0, 0)));
	G_EQ(-EOPNOTSUPP, gda_gin_signal(r->gin, 0, gda_gin_add(0, 2, GDA_GIN_WEAK)));
	G_EQ(-EOPNOTSUPP, gda_gin_put(r->gin, 0, gda_at(w, 0), gda_at(w, 8), 8,
				      gda_gin_inc_at(gda_at(w, 16), GDA_GIN_WEAK)));
	G_EQ(-EOPNOTSUPP, gda_gin_put_value(r->gin, 0, gda_at(w, 0), 8, 8, gda_gin_inc(0, 0)));
	for (i = 0; i < r->gin->endpoints; i++)
		G_EQ(0, gda_gin_view(gda_gin_queue(r->gin, i, 0))->reserved);
	g_window_end(mem, CELL, w);
	return 0;
}

/* Bad attributes are refused on all ranks, also if one of them alone gives them. */
static int attributes(struct g_rank *r)
{
	static const struct gda_gin_attr bad[] = {
		{ .depth = 3 }, { .depth = 2 }, { .depth = 65536 }, { .contexts = 5000 },
		{ .counters = GDA_GIN_MAX_COUNTERS + 1 }, { .sharing = 3 }, { .connect = 4 },
		{ .connect = GDA_GIN_STRIDE }, { .stride = 7 }, { .local = 7 }, { .reserved2 = 1 },
	};
	struct gda_gin_attr attr = { .size = 8 };
	struct gda_window_attr what = { .size = sizeof(what), .count = 0 };
	struct gda_window_segment s = { .addr = 4096, .bytes = 4 };
	struct gda_gin_comm *comm = NULL;
	struct gda_window *w;
	size_t i;

	G_EQ(-EINVAL, gda_gin_create(r->ranks, r->ctx, &attr, &comm));
	attr = (struct gda_gin_attr){ .size = sizeof(attr), .dialect = 63 };
	G_EQ(-EOPNOTSUPP, gda_gin_create(r->ranks, r->ctx, &attr, &comm));
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		attr = bad[i];
		attr.size = sizeof(attr);
		G_EQ(-EINVAL, gda_gin_create(r->ranks, r->ctx, &attr, &comm));
		memset(&attr, 0, sizeof(attr));
		if (!r->rank)
			attr = bad[i];
		attr.size = sizeof(attr);
		G_EQ(-EINVAL, gda_gin_create(r->ranks, r->ctx, &attr, &comm));
	}
	memset(&attr, 0, sizeof(attr));
	attr.size = sizeof(attr);
	attr.flags = 1U << 30;
	G_EQ(-EOPNOTSUPP, gda_gin_create(r->ranks, r->ctx, &attr, &comm));
	/* attributes that are good, but not the same */
	attr.flags = 0;
	attr.signals = r->rank;
	G_EQ(-EINVAL, gda_gin_create(r->ranks, r->ctx, &attr, &comm));
	G_TRUE(!comm);
	G_EQ(-EINVAL, gda_window_register(r->comm, &what, &w));
	what.count = 1;
	G_EQ(-EINVAL, gda_window_register(r->comm, &what, &w));
	G_TRUE(strstr(gda_last_error(), "segments is NULL"));
	what.segments = &s;
	G_EQ(-EINVAL, gda_window_register(r->comm, &what, &w));
	s.bytes = 8 + 8 * r->rank;
	s.addr = (uintptr_t)&attr & ~7ULL;
	G_EQ(-EINVAL, gda_window_register(r->comm, &what, &w));
	s.bytes = 8;
	what.flags = 1U << 20;
	G_EQ(-EOPNOTSUPP, gda_window_register(r->comm, &what, &w));
	return 0;
}

/* E-15 to E-17: absolute addresses, versions, and where queues are in the table. */
static int layout(struct g_rank *r)
{
	struct gda_window *w;
	unsigned char *mem;
	uint32_t e, p;

	G_OK(g_window(r, CELL, 0, &mem, &w));
	G_EQ((uintptr_t)mem, w->iova);
	G_TRUE(gda_at_local(gda_at(w, 24)) == mem + 24);
	G_EQ(sizeof(struct gda_gin), r->gin->size);
	G_EQ(GDA_GIN_VERSION, r->gin->version);
	G_EQ(GDA_GIN_VERSION, r->comm->version);
	G_EQ(GDA_GIN_VERSION, w->version);
	G_EQ(1 + r->gin->signals + r->gin->barriers, r->gin->endpoints);
	for (e = 0; e < r->gin->endpoints; e++)
		for (p = 0; p < r->nranks; p++)
			G_EQ((e * r->nranks + p) * sizeof(struct gda_gin_queue),
			     (uintptr_t)gda_gin_queue(r->gin, e, p) - r->gin->queues);
	G_EQ(-E2BIG, gda_gin_create_sized(r->ranks, r->ctx, NULL, 0,
					  (uint32_t)sizeof(struct gda_gin) + 8, NULL));
	G_EQ(-E2BIG, gda_window_register_sized(r->comm, &(struct gda_window_attr){
					       .size = sizeof(struct gda_window_attr) },
					       sizeof(*w) + 8, NULL));
	g_window_end(mem, CELL, w);
	return 0;
}

/* E-19: without a signal, with one, and a burst of 8 of which 7 are deferred. */
static int bursts(struct g_rank *r)
{
	uint32_t next = (r->rank + 1) % r->nranks, before = (r->rank + r->nranks - 1) % r->nranks;
	struct gda_window *w;
	unsigned char *mem;
	uint32_t round, i;

	G_OK(g_window(r, 16 * CELL, 0, &mem, &w));
	for (round = 0; round < 40; round++) {
		for (i = 0; i < 8; i++) {
			g_fill(mem + (8 + i) * CELL, CELL, r->rank, round + i);
			G_OK(gda_gin_put(r->gin, next, gda_at(w, i * CELL),
					 gda_at(w, (8 + i) * CELL), CELL - 64,
					 gda_gin_inc(0, r->weak | (i < 7 ? GDA_DEFER : 0))));
		}
		G_OK(gda_gin_wait_signal(r->gin, 0, 8 * (round + 1), 64, 0));
		for (i = 0; i < 8; i++) {
			G_TRUE(g_is(mem + i * CELL, CELL - 64, before, round + i));
			G_EQ(0, mem[(i + 1) * CELL - 64]);
		}
		/* E-13: whichever queue they went to */
		G_OK(gda_gin_flush(r->gin, 0));
		G_OK(gda_comm_barrier(r->ranks, 0));
	}
	g_window_end(mem, 16 * CELL, w);
	return 0;
}

#define ATTR(...)	{ .signals = 3, .counters = 3, .barriers = 2, __VA_ARGS__ }

static const struct g_test tests[] = {
	{ "G_06_rolling_compare", rolling, G_WORDS, 1, ATTR() },
	{ "G_07_E_14_reset", reset, G_BOTH, 2, ATTR() },
	{ "G_08_shadows", shadows, G_BOTH, 3, ATTR() },
	{ "G_09_signals_in_windows", window_signals, G_WORDS, 3, ATTR() },
	{ "G_21_segments", segments, G_BOTH, 2, ATTR() },
	{ "G_22_exclusive", exclusive, G_BOTH, 2, ATTR(.sharing = GDA_GIN_SHARE_THREAD) },
	{ "G_23_teams", teams, G_WORDS, 4, ATTR(.local = 2, .stride = 2) },
	{ "G_24_rail", connections, G_BOTH, 4, ATTR(.local = 2, .connect = GDA_GIN_RAIL) },
	{ "G_24_stride", connections, G_BOTH, 4, ATTR(.stride = 2, .connect = GDA_GIN_STRIDE) },
	{ "G_24_none", connected_to_none, G_BOTH, 2, ATTR(.connect = GDA_GIN_NONE) },
	{ "G_25_barrier", barriers, G_BOTH, 4, ATTR() },
	{ "G_25_all_contexts", barriers_of_all, G_BOTH, 4, ATTR(.local = 2, .contexts = 3) },
	{ "G_25_alone", barriers_of_all, G_BOTH, 1, ATTR(.contexts = 3) },
	{ "G_26_wrap", barrier_wrap, G_BOTH, 3, ATTR() },
	{ "G_25_G_27_missed_and_aborted", missed, G_BOTH, 3, ATTR() },
	{ "G_30_errors", errors, G_BOTH, 2, ATTR(.contexts = 2) },
	{ "G_28_attributes", attributes, G_BOTH, 2, ATTR() },
	{ "E_03_refusals", refusals, G_ARRIVAL, 2, ATTR() },
	{ "G_29_E_15_E_16_E_17_layout", layout, G_ARRIVAL, 2, ATTR() },
	{ "E_13_E_19_bursts", bursts, G_BOTH, 2, ATTR() },
};

int main(void)
{
	return g_main(tests, sizeof(tests) / sizeof(tests[0]));
}
