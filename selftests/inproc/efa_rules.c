// SPDX-License-Identifier: MIT
/*
 * The rules E-01 to E-21 of NCCL's EFA-GDA back end, each by its number, on queues of the efa
 * dialect. Two ranks, each a context with a queue for data, one for values and one for each signal;
 * a signal is the count of writes that arrived at its queue, a counter that of requests that its
 * queue has done, and every post names its target. inproc/efa has the library's own promises.
 */
#define GDA_WQE_EFA
#include <pthread.h>
#include <gda/to.h>
#include "suite.h"

#define DEPTH	16U
#define RANKS	2
#define LEN	(64U << 10)
#define SCRATCH	(LEN - 64)	/* a signal without data writes 0 bytes there */

/* The queues of a rank: it posts to one, and names that of a peer by its slot. */
enum { DATA, VALUES, SIGNAL, ENDS = SIGNAL + 2 };

struct end {
	struct gda_qp *qp;
	struct gda_view *v;
	struct gda_counter *sent;
	struct gda_counter *arrived;
};

struct rank {
	struct gda_context *ctx;
	struct s_memory mem;
	struct end end[ENDS];
	struct gda_peer to[ENDS][RANKS];	/* E-17: slot, then peer */
};

FIXTURE(rules) {
	struct rank r[RANKS];
	uint64_t rnd;
};

FIXTURE_VARIANT(rules) {
	unsigned int mode;
};

FIXTURE_VARIANT_ADD(rules, shared) { .mode = 0 };
FIXTURE_VARIANT_ADD(rules, exclusive) { .mode = GDA_EXCLUSIVE };

static int open_end(struct gda_context *ctx, struct end *e)
{
	struct gda_qp_attr attr = {
		.size = sizeof(attr), .sq_depth = DEPTH, .timeout_ns = S_TIMEOUT_NS,
		.dialect = GDA_DIALECT_EFA,
	};
	int err = gda_counter_create(ctx, &e->sent);

	err = err ? err : gda_counter_create(ctx, &e->arrived);
	attr.sent_counter = e->sent;
	attr.recv_counter = e->arrived;
	err = err ? err : gda_qp_create(ctx, &attr, &e->qp);
	e->v = err ? NULL : gda_qp_view(e->qp);
	return err ? err : e->v ? 0 : -EINVAL;
}

static void close_rank(struct rank *r)
{
	int i;

	for (i = 0; i < ENDS; i++) {
		gda_qp_destroy(r->end[i].qp);
		gda_counter_destroy(r->end[i].sent);
		gda_counter_destroy(r->end[i].arrived);
	}
	s_memory_free(&r->mem);
	gda_close(r->ctx);
}

/* What @r has of each queue of @peer. */
static int add_peer(struct rank *r, int n, struct rank *peer)
{
	struct gda_address at;
	int i, err = 0;

	for (i = 0; i < ENDS && !err; i++) {
		err = gda_qp_address(peer->end[i].qp, &at);
		err = err ? err : gda_peer_add(r->ctx, &at, &r->to[i][n]);
	}
	return err;
}

FIXTURE_SETUP(rules)
{
	int i, k;

	self->rnd = s_seed();
	TH_LOG("GDA_SEED=%#llx", (unsigned long long)self->rnd);
	memset(self->r, 0, sizeof(self->r));
	for (i = 0; i < RANKS; i++) {
		struct rank *r = &self->r[i];

		ASSERT_OK(gda_open(NULL, &r->ctx));
		if (!s_has(r->ctx, GDA_FEATURE_DIALECT_EFA)) {
			ASSERT_TRUE(s_fabric(r->ctx));
			SKIP(return, "RDMA devices have no such queues");
		}
		ASSERT_OK(s_memory_new(r->ctx, LEN, GDA_ACCESS_ALL, &r->mem));
		for (k = 0; k < ENDS; k++)
			ASSERT_OK(open_end(r->ctx, &r->end[k]));
	}
	for (i = 0; i < RANKS; i++)
		for (k = 0; k < RANKS; k++)
			ASSERT_OK(add_peer(&self->r[i], k, &self->r[k]));
}

FIXTURE_TEARDOWN(rules)
{
	close_rank(&self->r[0]);
	close_rank(&self->r[1]);
}

static uint64_t count(const struct gda_counter *c)
{
	return __atomic_load_n(&gda_counter_memory(c)->value, __ATOMIC_ACQUIRE);
}

/* Rank 0 puts @len bytes from @at to @at of rank @peer, by its queue @poster, to queue @slot. */
static int64_t put(struct rank *r, int poster, int slot, int peer, uint64_t at, uint32_t len,
		   unsigned int flags)
{
	return gda_put_to(r[0].end[poster].v, &r[0].to[slot][peer], r[0].mem.iova + at, r[0].mem.key,
			  r[peer].mem.iova + at, r[peer].mem.key, len, flags);
}

static int64_t value(struct rank *r, int slot, uint64_t at, uint64_t v, unsigned int flags)
{
	return gda_put_value_to(r[0].end[VALUES].v, &r[0].to[slot][1], r[1].mem.iova + at,
				r[1].mem.key, v, flags);
}

/* The other rank waits for a signal. */
static int await(struct rank *r, int slot, uint64_t n)
{
	uint64_t end = gda_clock_ns() + S_TIMEOUT_NS;

	while (count(r->end[slot].arrived) < n) {
		if (gda_clock_ns() > end)
			return -ETIMEDOUT;
		gda_yield();
	}
	return count(r->end[slot].arrived) == n ? 0 : -EOVERFLOW;
}

/* E-13: whichever queue it was posted to. */
static int flush(struct rank *r)
{
	int i, err = 0;

	for (i = 0; i < ENDS && !err; i++) {
		gda_flush(r->end[i].v);
		err = gda_quiet(r->end[i].v, 0);
	}
	return err;
}

static uint64_t *word(struct rank *r, uint64_t i)
{
	return (uint64_t *)(void *)r->mem.addr + i;
}

/* Which counters have moved since @was, whose values are there: bit i that of end i. */
static uint32_t moved(const struct rank *r, bool sent, uint64_t was[ENDS])
{
	uint32_t bits = 0;
	int i;

	for (i = 0; i < ENDS; i++) {
		uint64_t now = count(sent ? r->end[i].sent : r->end[i].arrived);

		bits |= (uint32_t)(now == was[i] + 1) << i;
		bits |= (uint32_t)(now > was[i] + 1) << (16 + i);
		was[i] = now;
	}
	return bits;
}

/* The counter chooses who posts, the signal chooses the target, and one does not name the other. */
TEST_F(rules, Efa01_Efa04_Efa17_posters_and_targets)
{
	uint64_t sent[ENDS] = { 0 }, arrived[RANKS][ENDS] = { { 0 } };
	struct rank *r = self->r;
	int poster, slot, peer;

	for (poster = 0; poster < ENDS; poster++)
		for (slot = 0; slot < ENDS; slot++)
			for (peer = 0; peer < RANKS; peer++) {
				ASSERT_LE(0, put(r, poster, slot, peer, 8, 8, variant->mode));
				ASSERT_OK(flush(r));
				ASSERT_EQ(1U << poster, moved(&r[0], true, sent));
				ASSERT_EQ(1U << slot, moved(&r[peer], false, arrived[peer]));
				ASSERT_EQ(0, moved(&r[!peer], false, arrived[!peer]));
			}
}

/* A signal comes with its data; it says nothing of other puts. */
TEST_F(rules, Efa02_a_signal_is_one_arrival)
{
	uint64_t i, rounds = s_short(300, 3000);
	struct rank *r = self->r;

	for (i = 1; i <= rounds; i++) {
		*word(&r[0], i % 64) = i;
		ASSERT_LE(0, put(r, DATA, SIGNAL, 1, 8 * (i % 64), 8, variant->mode));
		ASSERT_OK(await(&r[1], SIGNAL, i));
		ASSERT_EQ(i, *word(&r[1], i % 64));
	}
	EXPECT_EQ(0, count(r[1].end[DATA].arrived));
}

/* More than one is so many writes; what the dialect cannot say is refused by a capability's name. */
TEST_F(rules, Efa03_Efa21_what_cannot_be_said)
{
	struct gda_signal add = { .size = sizeof(add), .op = GDA_SIGNAL_ADD };
	struct gda_view *v = self->r[0].end[DATA].v;
	struct rank *r = self->r;
	uint32_t i;

	EXPECT_EQ(-EOPNOTSUPP, gda_put_signal(v, 0, 0, 0, 0, 0, &add, variant->mode));
	EXPECT_EQ(-EOPNOTSUPP, gda_fetch_add(v, 0, 0, 0, 0, 1, variant->mode));
	EXPECT_EQ(-EOPNOTSUPP, gda_compare_swap(v, 0, 0, 0, 0, 1, 2, variant->mode));
	EXPECT_EQ(-EOPNOTSUPP, gda_nop(v, variant->mode));
	EXPECT_EQ(0, v->reserved);
	EXPECT_EQ(0, v->can & (GDA_CAN_ORDER | GDA_CAN_ATOMIC | GDA_CAN_MASKED));
	EXPECT_EQ(GDA_CAN_SIGNAL | GDA_CAN_IMM, v->can & (GDA_CAN_SIGNAL | GDA_CAN_IMM));
	EXPECT_EQ(GDA_EFA_MAX_INLINE, v->max_inline);
	for (i = 0; i < 5; i++)
		ASSERT_LE(0, put(r, DATA, SIGNAL, 1, SCRATCH, 0, variant->mode));
	ASSERT_OK(await(&r[1], SIGNAL, 5));
}

/* A counter says that sources are read: what is written there afterwards does not arrive. */
TEST_F(rules, Efa04_a_counter_says_that_sources_are_read)
{
	uint64_t i, rounds = s_short(200, 3000), end;
	struct rank *r = self->r;

	for (i = 1; i <= rounds; i++) {
		memset(r[0].mem.addr, (int)i, 4096);
		ASSERT_LE(0, put(r, SIGNAL, DATA, 1, 0, 4096, variant->mode));
		end = gda_clock_ns() + S_TIMEOUT_NS;
		while (count(r[0].end[SIGNAL].sent) < i && gda_clock_ns() < end)
			gda_yield();
		memset(r[0].mem.addr, 0xff, 4096);
		ASSERT_EQ(i, count(r[0].end[SIGNAL].sent));
		ASSERT_EQ((uint8_t)i, r[1].mem.addr[0]);
		ASSERT_EQ(0, memcmp(r[1].mem.addr, r[1].mem.addr + 1, 4095));
	}
	/* a get is counted, too */
	ASSERT_LE(0, gda_get_to(r[0].end[SIGNAL].v, &r[0].to[DATA][1], r[0].mem.iova, r[0].mem.key,
				r[1].mem.iova, r[1].mem.key, 8, variant->mode));
	ASSERT_OK(flush(r));
	EXPECT_EQ(rounds + 1, count(r[0].end[SIGNAL].sent));
}

/* A write of no bytes to any memory of the peer. */
TEST_F(rules, Efa05_a_signal_without_data)
{
	struct rank *r = self->r;
	uint64_t i;

	memset(r[1].mem.addr, 0x5a, LEN);
	memset(r[0].mem.addr, 0xa5, LEN);
	for (i = 1; i <= 40; i++) {
		ASSERT_LE(0, put(r, DATA, SIGNAL + 1, 1, SCRATCH, 0, variant->mode));
		ASSERT_OK(await(&r[1], SIGNAL + 1, i));
	}
	EXPECT_EQ(0x5a, r[1].mem.addr[0]);
	EXPECT_EQ(0, memcmp(r[1].mem.addr, r[1].mem.addr + 1, LEN - 1));
}

/* Values are in their entries: more of them than slots, of a variable that changes at once. */
TEST_F(rules, Efa06_values_have_no_source)
{
	uint64_t i, n = s_short(500, 5000), v = 0;
	struct rank *r = self->r;

	for (i = 0; i < n; i++) {
		v = i * 0x9e3779b97f4a7c15U;
		ASSERT_LE(0, value(r, DATA, 8 * (i % 4096), v, variant->mode));
		v = ~0ULL;
	}
	ASSERT_OK(flush(r));
	for (i = n > 4096 ? n - 4096 : 0; i < n; i++)
		ASSERT_EQ(i * 0x9e3779b97f4a7c15U, *word(&r[1], i % 4096));
	EXPECT_EQ(n, count(r[0].end[VALUES].sent));
}

/* Many more than slots, each with bytes of its own: no entry is written before it is free. */
TEST_F(rules, Efa07_a_ring_is_never_lapped)
{
	uint64_t i, rounds = s_short(1000, 20000);
	struct rank *r = self->r;

	for (i = 0; i < LEN / 8; i++)
		*word(&r[0], i) = s_random(&self->rnd);
	for (i = 0; i < rounds; i++)
		ASSERT_LE(0, put(r, DATA, SIGNAL, 1, 8 * (i % 4096), 8, variant->mode));
	ASSERT_OK(flush(r));
	EXPECT_EQ(rounds, count(r[1].end[SIGNAL].arrived));
	EXPECT_EQ(0, memcmp(r[0].mem.addr, r[1].mem.addr, 8 * (rounds < 4096 ? rounds : 4096)));
}

#define WORDS	512U

struct poster {
	pthread_t thread;
	struct rank *r;
	uint64_t at;			/* of its words, more of them than it can have on the way */
	uint64_t rounds;		/* 0: until @stop */
	bool *stop;
	uint64_t posted;
	int err;
};

static void *post(void *arg)
{
	struct poster *p = arg;

	while (!p->err && (p->rounds ? p->posted < p->rounds :
			   !__atomic_load_n(p->stop, __ATOMIC_RELAXED))) {
		int64_t t = gda_put_value_to(p->r[0].end[DATA].v, &p->r[0].to[SIGNAL][1],
					     p->r[1].mem.iova + p->at + 8 * (p->posted % WORDS),
					     p->r[1].mem.key, p->posted + 1, 0);

		p->err = t < 0 ? (int)t : 0;
		__atomic_store_n(&p->posted, p->posted + 1, __ATOMIC_RELAXED);
		if (!p->err && p->posted % 5 == 0)
			p->err = gda_wait(p->r[0].end[DATA].v, t, 0);
	}
	return NULL;
}

/* Whether the last values of @p are there. */
static bool are_there(const struct poster *p)
{
	uint64_t i = p->posted > WORDS ? p->posted - WORDS : 0;

	for (; i < p->posted; i++)
		if (*word(&p->r[1], p->at / 8 + i % WORDS) != i + 1)
			return false;
	return true;
}

/* Four threads: each one's last values are there; what was posted and what is done agree. */
TEST_F(rules, Efa08_Efa09_threads_share_a_queue)
{
	struct gda_view *v = self->r[0].end[DATA].v;
	struct poster p[4] = { { 0 } };
	uint64_t done, n = 0;
	int i;

	if (variant->mode)
		SKIP(return, "one thread posts");
	for (i = 0; i < 4; i++) {
		p[i] = (struct poster){ .r = self->r, .at = 4096 * (uint64_t)i,
					.rounds = s_short(200, 4000) };
		ASSERT_EQ(0, pthread_create(&p[i].thread, NULL, post, &p[i]));
		n += p[i].rounds;
	}
	/* done never overtakes posted */
	do {
		done = count(self->r[0].end[DATA].sent);
		ASSERT_LE(done, __atomic_load_n(&v->reserved, __ATOMIC_ACQUIRE));
		gda_yield();
	} while (done < n / 2);
	for (i = 0; i < 4; i++) {
		pthread_join(p[i].thread, NULL);
		EXPECT_EQ(0, p[i].err);
	}
	ASSERT_OK(flush(self->r));
	EXPECT_EQ(n, v->reserved);
	EXPECT_EQ(n, count(self->r[0].end[DATA].sent));
	EXPECT_EQ(n, count(self->r[1].end[SIGNAL].arrived));
	for (i = 0; i < 4; i++)
		EXPECT_TRUE(are_there(&p[i]));
}

/* Eight of which seven are deferred: all of them arrive, each in its place, and nothing behind. */
TEST_F(rules, Efa10_Efa19_a_burst_of_eight)
{
	uint64_t round, i, rounds = s_short(50, 500);
	struct rank *r = self->r;

	for (round = 1; round <= rounds; round++) {
		memset(r[1].mem.addr, 0, 4096);
		for (i = 0; i < 8; i++)
			*word(&r[0], i) = s_random(&self->rnd) | 1;
		for (i = 0; i < 7; i++)
			ASSERT_LE(0, put(r, DATA, SIGNAL, 1, 8 * i, 8, variant->mode | GDA_DEFER));
		/* a queue of one thread has not rung */
		if (variant->mode)
			ASSERT_EQ(8 * (round - 1), count(r[1].end[SIGNAL].arrived));
		ASSERT_LE(0, put(r, DATA, SIGNAL, 1, 56, 8, variant->mode));
		ASSERT_OK(await(&r[1], SIGNAL, 8 * round));
		ASSERT_EQ(0, memcmp(r[0].mem.addr, r[1].mem.addr, 64));
		ASSERT_EQ(0, *word(&r[1], 8));
	}
	/* a flush rings, too */
	ASSERT_LE(0, put(r, DATA, SIGNAL, 1, 0, 8, variant->mode | GDA_DEFER));
	ASSERT_OK(flush(r));
	EXPECT_EQ(8 * rounds + 1, count(r[1].end[SIGNAL].arrived));
}

/* Deferral ends with the ring: nothing waits for a flush that does not come. */
TEST_F(rules, Efa11_deferral_is_bounded)
{
	struct rank *r = self->r;
	uint32_t i;

	for (i = 0; i < 10 * DEPTH; i++)
		ASSERT_LE(0, put(r, DATA, SIGNAL, 1, 8 * i, 8, variant->mode | GDA_DEFER));
	/* what has no slot any more is done */
	EXPECT_LE(9 * DEPTH, count(r[1].end[SIGNAL].arrived));
	ASSERT_OK(flush(r));
	EXPECT_EQ(10 * DEPTH, count(r[1].end[SIGNAL].arrived));
}

/* Four sources for many puts: one is used again when its own put is done, in whatever order. */
TEST_F(rules, Efa12_a_source_is_free_by_its_ticket)
{
	uint64_t i, n = s_short(400, 4000);
	struct rank *r = self->r;
	int64_t t[4] = { -1, -1, -1, -1 };

	for (i = 0; i < n; i++) {
		uint64_t *source = word(&r[0], 512 * (i % 4));

		if (t[i % 4] >= 0)
			ASSERT_OK(gda_wait(r[0].end[DATA].v, t[i % 4], 0));
		*source = i + 1;
		t[i % 4] = gda_put_to(r[0].end[DATA].v, &r[0].to[DATA][1],
				      r[0].mem.iova + 4096 * (i % 4), r[0].mem.key,
				      r[1].mem.iova + 8 * i, r[1].mem.key, 8, variant->mode);
		ASSERT_LE(0, t[i % 4]);
	}
	ASSERT_OK(flush(r));
	for (i = 0; i < n; i++)
		ASSERT_EQ(i + 1, *word(&r[1], i));
}

TEST_F(rules, Efa13_a_flush_is_of_every_queue)
{
	uint64_t round, i, rounds = s_short(50, 500);
	struct rank *r = self->r;

	for (round = 1; round <= rounds; round++) {
		for (i = 0; i < ENDS; i++) {
			memset(r[0].mem.addr + 8192 * i, (int)(round + i), 8192);
			ASSERT_LE(0, put(r, (int)i, DATA, 1, 8192 * i, 8192, variant->mode));
		}
		ASSERT_OK(flush(r));
		ASSERT_EQ(0, memcmp(r[0].mem.addr, r[1].mem.addr, 8192 * ENDS));
		for (i = 0; i < ENDS; i++)
			ASSERT_EQ(round, count(r[0].end[i].sent));
	}
}

/* Nobody writes to a counter but its device: a reset remembers, and counts on from there. */
TEST_F(rules, Efa14_a_reset_is_remembered)
{
	struct rank *r = self->r;
	uint64_t base, i, round;

	for (round = 0; round < 3; round++) {
		base = count(r[1].end[SIGNAL].arrived);
		EXPECT_EQ(10 * round, base);
		for (i = 0; i < 10; i++)
			ASSERT_LE(0, put(r, DATA, SIGNAL, 1, 0, 8, variant->mode));
		ASSERT_OK(await(&r[1], SIGNAL, base + 10));
	}
	ASSERT_OK(flush(r));
	EXPECT_EQ(0, gda_counter_memory(r[0].end[DATA].sent)->errors);
}

/* An address is that of the memory; an offset in it is none, and costs the queue. */
TEST_F(rules, Efa15_addresses_are_absolute)
{
	struct rank *r = self->r;
	struct end *e = &r[0].end[DATA];
	int64_t t;

	EXPECT_EQ((uintptr_t)r[1].mem.addr, r[1].mem.iova);
	*word(&r[0], 3) = 0x1234;
	t = put(r, DATA, DATA, 1, 24, 8, variant->mode);
	ASSERT_OK(gda_wait(e->v, t, 0));
	EXPECT_EQ(0x1234, *word(&r[1], 3));
	t = gda_put_to(e->v, &r[0].to[DATA][1], r[0].mem.iova, r[0].mem.key, 24, r[1].mem.key, 8,
		       variant->mode);
	EXPECT_EQ(-EIO, gda_wait(e->v, t, 0));
	EXPECT_EQ(1, gda_counter_memory(e->sent)->errors);
	EXPECT_EQ(1, count(e->sent));
}

/* Structures say how long they are: of an older program, and of a newer one. */
TEST_F(rules, Efa16_older_and_newer_programs)
{
	struct gda_qp *qp = self->r[0].end[DATA].qp;
	struct gda_qp_query query = { .size = offsetof(struct gda_qp_query, qkey) };
	struct gda_qp_attr attr = { .size = sizeof(attr) + 8, .dialect = GDA_DIALECT_EFA };
	struct { struct gda_qp_attr attr; uint64_t more; } newer = { .attr = attr };
	struct gda_qp *other;

	/* one that does not speak the dialect gets no view of it; one that knows a larger view neither */
	EXPECT_EQ(NULL, gda_qp_view_spoken(qp, sizeof(struct gda_view), 1U << GDA_DIALECT_MLX5));
	EXPECT_EQ(NULL, gda_qp_view_spoken(qp, sizeof(struct gda_view) + 64, GDA_SPOKEN));
	EXPECT_EQ(self->r[0].end[DATA].v, gda_qp_view_spoken(qp, sizeof(struct gda_view), GDA_SPOKEN));
	/* one that knows no qkey is told none */
	query.qkey = 0x5a5a5a5a;
	EXPECT_OK(gda_qp_query(qp, &query));
	EXPECT_EQ(0x5a5a5a5a, query.qkey);
	query.size = sizeof(query);
	EXPECT_OK(gda_qp_query(qp, &query));
	EXPECT_EQ((uint32_t)(self->r[1].to[DATA][0].target >> 32), query.qkey);
	/* a member that this library does not know may be there, and may not be set */
	EXPECT_OK(gda_qp_create(self->r[0].ctx, &newer.attr, &other));
	EXPECT_OK(gda_qp_destroy(other));
	newer.more = 1;
	EXPECT_EQ(-E2BIG, gda_qp_create(self->r[0].ctx, &newer.attr, &other));
}

/* Whoever waits does so for a request, and needs no counter; one that is none is refused. */
TEST_F(rules, Efa18_nothing_is_waited_for_in_silence)
{
	struct gda_qp_attr attr = {
		.size = sizeof(attr), .dialect = GDA_DIALECT_EFA,
		.sent_counter = self->r[1].end[DATA].sent,
	};
	struct gda_peer nobody = { .target = 0xfffe };
	struct rank *r = self->r;
	struct gda_qp *qp;
	struct gda_view *v;
	int64_t t;

	EXPECT_EQ(-EINVAL, gda_qp_create(r[0].ctx, &attr, &qp));
	EXPECT_EQ(-EBUSY, gda_counter_destroy(r[0].end[DATA].sent));
	attr.sent_counter = NULL;
	ASSERT_OK(gda_qp_create(r[0].ctx, &attr, &qp));
	v = gda_qp_view(qp);
	*word(&r[0], 0) = 7;
	t = gda_put_to(v, &r[0].to[SIGNAL][1], r[0].mem.iova, r[0].mem.key, r[1].mem.iova,
		       r[1].mem.key, 8, variant->mode);
	EXPECT_OK(gda_wait(v, t, 0));
	EXPECT_EQ(7, *word(&r[1], 0));
	t = gda_put_to(v, &nobody, r[0].mem.iova, r[0].mem.key, r[1].mem.iova, r[1].mem.key, 8,
		       variant->mode);
	EXPECT_EQ(-EIO, gda_wait(v, t, 0));
	EXPECT_EQ(-EIO, gda_quiet(v, 0));
	EXPECT_OK(gda_qp_destroy(qp));
}

/* The back end's own tests: no signal, then a signal. */
TEST_F(rules, Efa19_without_a_signal_and_with_one)
{
	struct rank *r = self->r;

	*word(&r[0], 0) = 0x1111;
	ASSERT_LE(0, put(r, DATA, DATA, 1, 0, 8, variant->mode));
	ASSERT_OK(flush(r));
	EXPECT_EQ(0x1111, *word(&r[1], 0));
	EXPECT_EQ(0, count(r[1].end[SIGNAL].arrived));
	*word(&r[0], 0) = 0x2222;
	ASSERT_LE(0, put(r, DATA, SIGNAL, 1, 0, 8, variant->mode));
	ASSERT_OK(await(&r[1], SIGNAL, 1));
	EXPECT_EQ(0x2222, *word(&r[1], 0));
}

/* A flush is of what was posted before it, and ends though another thread never stops posting. */
TEST_F(rules, Efa20_a_poster_that_never_stops)
{
	uint64_t i, rounds = s_short(40, 400);
	bool stop = false;
	struct poster p = { .r = self->r, .at = 4096, .stop = &stop };
	struct rank *r = self->r;

	if (variant->mode)
		SKIP(return, "one thread posts");
	ASSERT_EQ(0, pthread_create(&p.thread, NULL, post, &p));
	while (!__atomic_load_n(&p.posted, __ATOMIC_RELAXED))
		gda_yield();
	for (i = 1; i <= rounds; i++) {
		*word(&r[0], 0) = i;
		EXPECT_LE(0, put(r, DATA, DATA, 1, 0, 8, 0));
		EXPECT_OK(gda_quiet(r[0].end[DATA].v, 0));
		EXPECT_EQ(i, *word(&r[1], 0));
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(p.thread, NULL);
	EXPECT_EQ(0, p.err);
	ASSERT_OK(flush(r));
	EXPECT_TRUE(are_there(&p));
}

TEST_HARNESS_MAIN
