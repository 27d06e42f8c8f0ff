// SPDX-License-Identifier: MIT
/*
 * A program under ThreadSanitizer, which is to be silent about libgda: a thread puts
 * data, then a word that signals it, and the other thread does nothing but poll that word.
 * Built with a library that is instrumented, and with the one that is installed.
 */
#include <pthread.h>
#include "suite.h"

#define ROUNDS	s_short(60, 300)
#define DATA	4096U
#define SIGNAL	(2 * DATA)	/* at both ends: data that leaves, data that arrives, signal */
#define RESULT	(SIGNAL + 64)
#define BYTES	(4 * DATA)

struct player {
	struct s_end *me, *peer;
	pthread_t thread;
	bool first;
	bool shared;			/* post in shared mode */
	bool waits;			/* for its own posts */
	uint32_t wrong;
};

static uint64_t *word_of(struct s_end *e, uint64_t off)
{
	return (uint64_t *)(void *)(e->mem.addr + off);
}

static int64_t send_round(struct player *p, uint64_t round)
{
	unsigned int flags = p->shared ? 0 : GDA_EXCLUSIVE;
	uint32_t len = 1 + (uint32_t)(round * 173 % DATA);
	struct s_end *me = p->me, *peer = p->peer;

	memset(me->mem.addr, (int)round, DATA);
	s_put(me, 0, peer, DATA, len, flags);
	if (round % 3 == 0)
		return gda_put_value(me->v, peer->mem.iova + SIGNAL, peer->mem.key, round, flags);
	if (round % 3 == 1) {
		*word_of(me, RESULT) = round;
		return s_put(me, RESULT, peer, SIGNAL, 8, flags);
	}
	/* the word was @round - 2 there, by the peer's count of what it was sent */
	return gda_fetch_add(me->v, me->mem.iova + RESULT + 8, me->mem.key,
			     peer->mem.iova + SIGNAL, peer->mem.key, 1, flags);
}

static bool receive_round(struct player *p, uint64_t round)
{
	uint32_t len = 1 + (uint32_t)(round * 173 % DATA);
	uint64_t *signal = word_of(p->me, SIGNAL), end = gda_clock_ns() + S_TIMEOUT_NS;
	uint8_t *data = p->me->mem.addr + DATA;
	bool good;

	while (__atomic_load_n(signal, __ATOMIC_ACQUIRE) != round)
		if (gda_clock_ns() > end)
			return false;
	good = data[0] == (uint8_t)round && data[len - 1] == (uint8_t)round;
	memset(data, 0xee, DATA);
	return good;
}

static void *play(void *arg)
{
	uint64_t round, rounds = ROUNDS;
	struct player *p = arg;

	for (round = 1; round <= rounds && !p->wrong; round++) {
		int64_t ticket;

		if (!p->first && !receive_round(p, round))
			p->wrong++;
		ticket = send_round(p, round);
		/* the source is used again when this returns */
		if (ticket < 0 || (p->waits && gda_wait(p->me->v, ticket, 0)))
			p->wrong++;
		if (p->first && !receive_round(p, round))
			p->wrong++;
	}
	if (gda_quiet(p->me->v, 0))
		p->wrong++;
	return NULL;
}

static void ping_pong(struct __test_metadata *_metadata, bool shared, bool waits)
{
	struct s_end end[2];
	struct player p[2] = {
		{ .me = &end[0], .peer = &end[1], .first = true },
		{ .me = &end[1], .peer = &end[0] },
	};
	int i;

	ASSERT_OK(s_pair_open(end, 16, BYTES));
	for (i = 0; i < 2; i++) {
		p[i].shared = shared;
		p[i].waits = waits;
		ASSERT_EQ(0, pthread_create(&p[i].thread, NULL, play, &p[i]));
	}
	for (i = 0; i < 2; i++) {
		pthread_join(p[i].thread, NULL);
		EXPECT_EQ(0, p[i].wrong);
	}
	s_pair_close(end);
}

TEST(signal_is_polled)
{
	ping_pong(_metadata, false, false);
}

TEST(signal_is_polled_and_posts_waited_for)
{
	ping_pong(_metadata, false, true);
}

TEST(signal_is_polled_shared_posts)
{
	ping_pong(_metadata, true, true);
}

/* Threads that share a queue: each writes slots that another has written a lap before. */
#define SHARERS	3

struct sharer {
	struct s_end *end;
	pthread_t thread;
	uint32_t id;
	uint32_t wrong;
};

static void *share_queue(void *arg)
{
	struct sharer *p = arg;
	uint64_t from = 128 * p->id, to = 4096 + from, i, rounds = ROUNDS;

	for (i = 0; i < rounds; i++) {
		memset(p->end->mem.addr + from, (int)i, 100);
		if (gda_wait(p->end->v, s_put(p->end, from, p->end, to, 100, 0), 0) ||
		    p->end->mem.addr[to] != (uint8_t)i || p->end->mem.addr[to + 99] != (uint8_t)i)
			p->wrong++;
	}
	return NULL;
}

TEST(bytes_after_completion)
{
	struct sharer p[SHARERS];
	struct s_end end;
	uint32_t i;

	ASSERT_OK(s_end_open(&end, 4, 8192));
	S_NEEDS(end.ctx, GDA_FEATURE_LOOPBACK);
	ASSERT_OK(s_connect(end.qp, end.qp));
	for (i = 0; i < SHARERS; i++) {
		p[i] = (struct sharer){ .end = &end, .id = i };
		ASSERT_EQ(0, pthread_create(&p[i].thread, NULL, share_queue, &p[i]));
	}
	for (i = 0; i < SHARERS; i++) {
		pthread_join(p[i].thread, NULL);
		EXPECT_EQ(0, p[i].wrong);
	}
	s_end_close(&end);
}

TEST_HARNESS_MAIN
