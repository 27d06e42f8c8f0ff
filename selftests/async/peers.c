// SPDX-License-Identifier: MIT
/*
 * The engines PEER and PEERS of gda/async.h: what PTO's URMA engine gives. A test has the id of
 * the capability in FIELD.md that it proves.
 */
#include <errno.h>
#include <unistd.h>
#include "kselftest_harness.h"
#include "world.h"

#define N	3U
#define BLOCK	4096U
#define PART	(256 * 1024U)
#define BYTES	(4 * PART)

FIXTURE(peers) {
	struct world world;
	struct gda_async_session any;	/* of rank 0 */
	struct gda_async_session to[N];	/* of rank 0, to each */
	uint64_t scratch[N + 1][64];
};

FIXTURE_VARIANT(peers) {
	uint32_t queues;
};

FIXTURE_VARIANT_ADD(peers, one) {
	.queues = 1,
};

FIXTURE_VARIANT_ADD(peers, three) {
	.queues = 3,
};

FIXTURE_SETUP(peers)
{
	uint32_t i;

	self->world.n = N;
	self->world.bytes = BYTES;
	self->world.attr.queues = variant->queues;
	self->world.attr.depth = 64;
	self->world.attr.block_bytes = BLOCK;
	ASSERT_EQ(0, world_begin(&self->world));
	ASSERT_EQ(0, world_open(&self->world, 0, GDA_ASYNC_AUTO, self->scratch[N],
				sizeof(self->scratch[N]), &self->any));
	for (i = 0; i < N; i++)
		ASSERT_EQ(0, world_open(&self->world, 0, i, self->scratch[i],
					sizeof(self->scratch[i]), &self->to[i]));
}

FIXTURE_TEARDOWN(peers)
{
	world_end(&self->world);
}

/* Where a piece of a rank's memory is. */
static unsigned char *at(struct world *w, uint32_t rank, size_t offset)
{
	return w->r[rank].mem + offset;
}

/* One text, three engines: the engine is a constant of the call. */
#define ROUND_TRIP(world, s, engine, peer, which) do { \
	unsigned char *here_ = at(world, 0, 0), *there_ = at(world, peer, PART); \
	unsigned char *back_ = at(world, 0, 2 * PART); \
	world_fill(here_, 30000, which); \
	memset(there_, 0, 30000); \
	memset(back_, 0, 30000); \
	ASSERT_LT(0, gda_async_put(s, engine, there_, here_, 30000, 0).handle); \
	ASSERT_EQ(0, gda_async_wait(s, 0)); \
	ASSERT_LT(0, gda_async_get(s, engine, back_, there_, 30000, 0).handle); \
	ASSERT_EQ(0, gda_async_wait(s, 0)); \
	ASSERT_TRUE(world_is(there_, 30000, which)); \
	ASSERT_TRUE(world_is(back_, 30000, which)); \
} while (0)

TEST_F(peers, P_01_engines_behind_one_call)
{
	struct world copy = { .bytes = BYTES, .attr = { .queues = variant->queues } };
	struct gda_async_session s;
	uint64_t scratch[64];
	uint32_t peer;

	ASSERT_EQ(0, world_begin(&copy));
	ASSERT_EQ(0, world_open(&copy, 0, GDA_ASYNC_AUTO, scratch, sizeof(scratch), &s));
	ROUND_TRIP(&copy, &s, GDA_ASYNC_COPY, 0, 1);
	world_end(&copy);
	for (peer = 0; peer < N; peer++) {
		ROUND_TRIP(&self->world, &self->to[peer], GDA_ASYNC_PEER, peer, 2 + peer);
		ROUND_TRIP(&self->world, &self->any, GDA_ASYNC_PEERS(peer), peer, 9 + peer);
	}
}

/* A session of PEER is bound to its peer, needs no scratch with one queue, and refuses others. */
TEST_F(peers, P_05_session_to_a_peer)
{
	const struct gda_async_workspace *w = self->world.r[0].w;
	struct gda_async_session s = { .size = sizeof(s) };
	uint64_t posted;

	ASSERT_EQ(variant->queues == 1 ? 0 : -EINVAL, gda_async_open_peer(w, 0, 1, NULL, 0, &s));
	ASSERT_EQ(-ENOTCONN, gda_async_open_peer(w, 0, N, self->scratch[0], 512, &s));
	ASSERT_NE(NULL, strstr(gda_last_error(), "rank"));
	if (variant->queues == 1)
		ROUND_TRIP(&self->world, &s, GDA_ASYNC_PEER, 1, 5);
	posted = world_posted(w);
	/* an address of another rank, another engine, a rank that is not there */
	ASSERT_EQ(0, gda_async_get(&self->to[1], GDA_ASYNC_PEER, at(&self->world, 0, 0),
				   at(&self->world, 2, 0), 64, 0).handle);
	ASSERT_EQ(-EFAULT, self->to[1].refused);
	ASSERT_EQ(0, gda_async_put(&self->to[1], GDA_ASYNC_COPY, at(&self->world, 0, 0),
				   at(&self->world, 0, 64), 64, 0).handle);
	ASSERT_EQ(-EINVAL, self->to[1].refused);
	ASSERT_EQ(0, gda_async_put(&self->any, GDA_ASYNC_PEERS(N), at(&self->world, 1, 0),
				   at(&self->world, 0, 64), 64, 0).handle);
	ASSERT_EQ(-ENOTCONN, self->any.refused);
	ASSERT_EQ(posted, world_posted(w));
}

/* The session is built once; the same calls and waits take it whatever the engine. */
TEST_F(peers, P_06_one_session_type)
{
	struct gda_async_session copied = self->to[2];
	uint32_t i;

	ASSERT_EQ(GDA_ASYNC_ANY, self->any.engine);
	ASSERT_EQ(GDA_ASYNC_PEER, self->to[2].engine);
	/* plain data: it may be moved, into registers for one */
	for (i = 0; i < 5; i++)
		ROUND_TRIP(&self->world, &copied, GDA_ASYNC_PEER, 2, i);
}

/* A get is posted and rung at once: it lands although nobody waits for it. */
TEST_F(peers, P_10_posted_at_once)
{
	const struct gda_async_workspace *w = self->world.r[0].w;
	uint64_t *word = self->world.r[0].control + 3, posted = world_posted(w);
	uint64_t until = gda_clock_ns() + 20 * WORLD_SECOND;

	*self->world.r[1].control = 0x7766554433221100;
	ASSERT_LT(0, gda_async_get(&self->to[1], GDA_ASYNC_PEER, word, self->world.r[1].control, 8,
				   0).handle);
	ASSERT_EQ(posted + 1, world_posted(w));
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != 0x7766554433221100 &&
	       gda_clock_ns() < until)
		usleep(100);
	ASSERT_EQ(0x7766554433221100, *word);
	/* and the wait posts nothing */
	ASSERT_EQ(0, gda_async_wait(&self->to[1], 0));
	ASSERT_EQ(posted + 1, world_posted(w));
}

/* Gets from all ranks, one wait; and an event covers those before it. */
TEST_F(peers, P_11_P_14_quiet_over_peers)
{
	struct gda_async_event last = { 0 }, middle = { 0 };
	uint32_t round, i;

	for (round = 0; round < 30; round++) {
		for (i = 0; i < 2 * N; i++) {
			unsigned char *src = at(&self->world, i % N, PART + i * 9000);

			world_fill(src, 9000, round + i);
			last = gda_async_get(&self->any, GDA_ASYNC_PEERS(i % N),
					     at(&self->world, 0, i * 9000), src, 9000, 0);
			ASSERT_LT(0, last.handle);
			middle = i == N ? last : middle;
		}
		if (round % 2) {
			ASSERT_EQ(0, gda_async_wait_for(&self->any, middle, 0));
			for (i = 0; i <= N; i++)
				ASSERT_TRUE(world_is(at(&self->world, 0, i * 9000), 9000,
						     round + i));
		}
		ASSERT_EQ(0, gda_async_wait(&self->any, 0));
		for (i = 0; i < 2 * N; i++)
			ASSERT_TRUE(world_is(at(&self->world, 0, i * 9000), 9000, round + i));
		ASSERT_EQ(1, gda_async_test(&self->any, last));
	}
}

/* The put twin: put, notify; at the peer wait for the word, and all is there. */
TEST_F(peers, P_15_put_and_notify)
{
	struct gda_async_session there;
	uint64_t scratch[64], *word = self->world.r[1].control + 8;
	uint32_t i;

	ASSERT_EQ(0, world_open(&self->world, 1, 0, scratch, sizeof(scratch), &there));
	for (i = 1; i <= 60; i++) {
		struct gda_async_session *s = i % 2 ? &self->to[1] : &self->any;
		uint32_t engine = i % 2 ? GDA_ASYNC_PEER : GDA_ASYNC_PEERS(1);
		size_t bytes = i % 3 ? 20000 : 100;

		world_fill(at(&self->world, 0, 0), bytes, i);
		if (i % 2)
			gda_async_put(s, GDA_ASYNC_PEER, at(&self->world, 1, 0),
				      at(&self->world, 0, 0), bytes, 0);
		else
			gda_async_put(s, GDA_ASYNC_PEERS(1), at(&self->world, 1, 0),
				      at(&self->world, 0, 0), bytes, 0);
		ASSERT_LT(0, gda_async_notify(s, engine, word,
					      i % 4 < 2 && world_adds(s) ? GDA_ASYNC_ADD :
								   GDA_ASYNC_SET,
					      i % 4 < 2 && world_adds(s) ? 1 : i, 0).handle);
		ASSERT_EQ(0, gda_async_wait_word(&there, word, GDA_ASYNC_EQ, i, 0));
		ASSERT_TRUE(world_is(at(&self->world, 1, 0), bytes, i));
		/* what it put may be changed */
		ASSERT_EQ(0, gda_async_wait(s, 0));
	}
}

/*
 * A flag behind rows that all go to one queue, and are more than an executor does at a time: where
 * there are more queues the flag goes to another one.
 */
TEST_F(peers, P_15_notify_is_never_early)
{
	struct gda_async_rows rows = {
		.size = sizeof(rows), .rows = 60, .bytes = 4096, .dst_pitch = 4096,
		.src_pitch = 4160, .dst = (uintptr_t)at(&self->world, 2, 0),
		.src = (uintptr_t)at(&self->world, 0, 0),
	};
	struct gda_async_session there;
	uint64_t *word = self->world.r[2].control;
	uint64_t scratch[64];
	uint32_t i;

	ASSERT_EQ(0, world_open(&self->world, 2, 0, scratch, sizeof(scratch), &there));
	for (i = 1; i <= 200; i++) {
		memset(at(&self->world, 0, 0), (int)i, 60 * 4160);
		ASSERT_LT(0, gda_async_put_rows(&self->to[2], GDA_ASYNC_PEER, &rows, 0).handle);
		ASSERT_LT(0, gda_async_notify(&self->to[2], GDA_ASYNC_PEER, word, GDA_ASYNC_SET, i,
					      0).handle);
		ASSERT_EQ(0, gda_async_wait_word(&there, word, GDA_ASYNC_GE, i, 0));
		/* the last ones first: they come last */
		ASSERT_TRUE(world_only(at(&self->world, 2, 30 * 4096), 30 * 4096,
				       (unsigned char)i));
		ASSERT_TRUE(world_only(at(&self->world, 2, 0), 30 * 4096, (unsigned char)i));
		ASSERT_EQ(0, gda_async_wait(&self->to[2], 0));
	}
}

/* Memory of the peer is gone: the error reaches every wait of it, and none before it. */
TEST_F(peers, errors_reach_the_waiter)
{
	struct gda_async_session *s = &self->to[1];
	struct gda_async_event good, bad, behind = { 0 };
	uint32_t i;

	good = gda_async_put(s, GDA_ASYNC_PEER, at(&self->world, 1, 0), at(&self->world, 0, 0), 64,
			     0);
	ASSERT_EQ(0, gda_async_wait_for(s, good, 0));
	/* a window that the table still has, with a key that nobody has */
	s->remote.key ^= 0x5a5a5a00;
	((struct gda_chunk *)(uintptr_t)((struct gda_chunk_map *)(uintptr_t)
		self->world.r[0].w->maps)[1].chunks)[0].key ^= 0x5a5a5a00;
	((struct gda_chunk *)(uintptr_t)((struct gda_chunk_map *)(uintptr_t)
		self->world.r[0].w->maps)[1].chunks)[1].key ^= 0x5a5a5a00;
	bad = gda_async_put(s, GDA_ASYNC_PEER, at(&self->world, 1, 0), at(&self->world, 0, 0), 64,
			    0);
	ASSERT_LT(0, bad.handle);
	for (i = 0; i < variant->queues; i++)
		behind = gda_async_put(s, GDA_ASYNC_PEER, at(&self->world, 1, 0),
				       at(&self->world, 0, 0), 64, 0);
	ASSERT_EQ(-EIO, gda_async_wait_for(s, bad, 0));
	ASSERT_EQ(-EIO, gda_async_wait_for(s, behind, 0));
	ASSERT_EQ(-EIO, gda_async_test(s, bad));
	ASSERT_EQ(0, gda_async_wait_for(s, good, 0));
	ASSERT_EQ(-EIO, gda_async_wait(s, 0));
	/* all has ended, and was told */
	ASSERT_EQ(0, gda_async_wait(s, 0));
	ASSERT_EQ(-EIO, gda_async_wait_for(s, bad, 0));
	/* what comes next fails, too: a notification is not posted as if all were well */
	gda_async_put(s, GDA_ASYNC_PEER, at(&self->world, 1, 0), at(&self->world, 0, 0), 64, 0);
	gda_async_notify(s, GDA_ASYNC_PEER, self->world.r[1].control, GDA_ASYNC_SET, 1, 0);
	ASSERT_EQ(-EIO, gda_async_wait(s, 0));
	ASSERT_EQ(0, *self->world.r[1].control);
	/* a word that nobody will set: the wait for it does not last */
	ASSERT_EQ(-EIO, gda_async_wait_word(s, self->world.r[0].control, GDA_ASYNC_NE, 0, 0));
}

/* Waits are bounded, and what a wait did not see done the next one waits for. */
TEST_F(peers, deadlines)
{
	struct gda_async_session *s = &self->to[1];
	int err = 0;
	uint32_t i;

	for (i = 0; i < 8; i++)
		ASSERT_LT(0, gda_async_get(s, GDA_ASYNC_PEER, at(&self->world, 0, 0),
					   at(&self->world, 1, 0), BYTES, 0).handle);
	err = gda_async_wait(s, 1);
	ASSERT_TRUE(!err || err == -ETIMEDOUT || err == -ETIME);
	ASSERT_EQ(0, gda_async_wait(s, 0));
	ASSERT_EQ(-ETIMEDOUT, gda_async_wait_word(s, self->world.r[0].control, GDA_ASYNC_NE, 0,
						  gda_clock_ns() + 1000000));
}

/* The ranks have to agree, and learn it if one cannot. */
struct agreement {
	struct gda_comm_id id;
	int err[2];
	struct agreement_rank {
		struct agreement *all;
		uint32_t rank;
	} r[2];
	int bad;			/* 0: other queues; 1: a window that is none */
};

static void *agreement_main(void *arg)
{
	struct agreement_rank *r = arg;
	struct gda_comm_attr attr = {
		.size = sizeof(attr), .rank = r->rank, .nranks = 2, .id = &r->all->id,
		.timeout_ns = 20 * WORLD_SECOND,
	};
	static char mem[2][8192];
	struct gda_async_window window = { .addr = (uintptr_t)mem[r->rank], .bytes = 8192 };
	struct gda_async_attr a = { .size = sizeof(a), .windows = &window, .count = 1 };
	struct gda_async_workspace *w;
	struct gda_context *ctx;
	struct gda_comm *comm;

	if (gda_comm_create(&attr, &comm) || gda_open(NULL, &ctx))
		abort();
	if (r->rank && r->all->bad)
		window.addr = 0;
	else
		a.queues = 1 + (r->rank && !r->all->bad);
	r->all->err[r->rank] = gda_async_create(comm, ctx, &a, &w);
	gda_comm_barrier(comm, 0);
	gda_close(ctx);
	gda_comm_destroy(comm);
	return NULL;
}

TEST(P_04_ranks_agree)
{
	struct agreement all = { 0 };
	pthread_t threads[2];
	uint32_t i;

	for (all.bad = 0; all.bad < 2; all.bad++) {
		ASSERT_EQ(0, gda_comm_id_create(NULL, &all.id));
		for (i = 0; i < 2; i++) {
			all.r[i].all = &all;
			all.r[i].rank = i;
			ASSERT_EQ(0, pthread_create(&threads[i], NULL, agreement_main, &all.r[i]));
		}
		for (i = 0; i < 2; i++)
			pthread_join(threads[i], NULL);
		EXPECT_EQ(-EINVAL, all.err[0]);
		EXPECT_EQ(-EINVAL, all.err[1]);
	}
}

/* Flags land here only by loopback queues: no workspace with ranks has them. */
TEST(P_09_flags_need_loopback)
{
	struct world w = { .n = 2, .bytes = 8192, .attr = { .flags = GDA_ASYNC_FLAG_WAIT } };

	EXPECT_EQ(-EOPNOTSUPP, world_begin(&w));
	world_end(&w);
}

TEST_HARNESS_MAIN
