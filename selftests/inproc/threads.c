// SPDX-License-Identifier: MIT
/*
 * Many threads: producers that share a queue, contexts that write to each other, and
 * everything taken down in any order while others go on. Also built for
 * ThreadSanitizer, so memory is read only after a completion that says it may be.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include "suite.h"

#define THREADS	8
#define CELL	64

static void *must_pthread(pthread_t *thread, void *(*fn)(void *), void *arg)
{
	if (pthread_create(thread, NULL, fn, arg))
		abort();
	return thread;
}

/* --- exclusive posts and shared ones in turn, without a call in between --- */

struct mixer {
	struct s_end *end;
	pthread_barrier_t *turn;
	pthread_t thread;
	uint32_t id, rounds, failed;
	uint64_t posts;
};

static void mix_post(struct mixer *m, uint64_t *rnd, uint32_t n, unsigned int mode)
{
	bool posted = n;
	int64_t t = 0;

	while (n-- && t >= 0 && !m->failed) {
		t = gda_nop(m->end->v, mode | (s_below(rnd, 3) ? 0 : GDA_DEFER));
		m->posts++;
	}
	if (t < 0 || (posted && s_below(rnd, 2) && gda_wait(m->end->v, t, 0)))
		m->failed++;
}

static void *mix(void *arg)
{
	struct mixer *m = arg;
	uint64_t rnd = m->id;
	uint32_t i;

	for (i = 0; i < m->rounds; i++) {
		/* whose turn it is posts alone; some rounds have none, some more than a lap */
		if (i % 3 == m->id)
			mix_post(m, &rnd, (uint32_t)s_below(&rnd, 24), GDA_EXCLUSIVE);
		pthread_barrier_wait(m->turn);
		mix_post(m, &rnd, (uint32_t)s_below(&rnd, 12), 0);
		pthread_barrier_wait(m->turn);
	}
	return NULL;
}

TEST(exclusive_then_shared)
{
	struct gda_qp_query query = { .size = sizeof(query) };
	struct mixer m[3] = { 0 };
	pthread_barrier_t turn;
	struct s_end end;
	uint64_t posts = 0;
	uint32_t i;

	ASSERT_OK(s_end_open(&end, 16, 4096));
	S_NEEDS(end.ctx, GDA_FEATURE_LOOPBACK);
	ASSERT_OK(s_connect(end.qp, end.qp));
	end.v->timeout_ns = S_TIMEOUT_NS / 12;
	pthread_barrier_init(&turn, NULL, 3);
	for (i = 0; i < 3; i++) {
		m[i] = (struct mixer){
			.end = &end, .turn = &turn, .id = i,
			.rounds = (uint32_t)s_stress(150),
		};
		must_pthread(&m[i].thread, mix, &m[i]);
	}
	for (i = 0; i < 3; i++) {
		pthread_join(m[i].thread, NULL);
		EXPECT_EQ(0, m[i].failed);
		posts += m[i].posts;
	}
	EXPECT_OK(gda_quiet(end.v, 0));
	/* each was executed, once; gda_flush() posts, too */
	ASSERT_OK(gda_qp_query(end.qp, &query));
	EXPECT_LT(0, posts);
	EXPECT_LE(posts, end.v->reserved);
	EXPECT_EQ(end.v->reserved, query.executed);
	pthread_barrier_destroy(&turn);
	s_end_close(&end);
}

/* --- producers on one queue --- */

struct shared {
	struct s_end end[2];
	uint32_t per_thread;
	uint32_t *owner;		/* of each value fetched: thread + 1 */
};

struct producer {
	struct shared *s;
	pthread_t thread;
	uint32_t id;
	uint32_t wrong;
};

/* Memory at the peer: a common counter, then a cell per thread; here: old values. */
static uint64_t cell_of(const struct s_end *e, uint32_t id)
{
	return e->mem.iova + CELL * (id + 1);
}

static int64_t insist(struct producer *p, uint64_t *rnd, uint32_t i)
{
	struct s_end *a = &p->s->end[0], *b = &p->s->end[1];
	unsigned int flags = s_below(rnd, 3) ? GDA_DEFER : 0;
	int64_t t;

	if (s_below(rnd, 2))
		flags |= GDA_NOWAIT;
	do {
		if (i & 1)
			t = gda_put_value(a->v, cell_of(b, p->id), b->mem.key, i, flags);
		else
			t = gda_fetch_add(a->v, cell_of(a, p->id) + 8 * (i / 2 % 4), a->mem.key,
					  b->mem.iova, b->mem.key, 1, flags);
	} while (t == -EAGAIN);
	return t;
}

static void *produce(void *arg)
{
	struct producer *p = arg;
	struct s_end *a = &p->s->end[0], *b = &p->s->end[1];
	const uint64_t *old = (void *)(a->mem.addr + CELL * (p->id + 1));
	const uint64_t *mine = (void *)(b->mem.addr + CELL * (p->id + 1));
	uint64_t rnd = p->id, last = 0;
	uint32_t i, k;

	/* eight posts, then a wait for the last: each fetches four values */
	for (i = 0; i < p->s->per_thread; i++) {
		int64_t t = insist(p, &rnd, i);

		if (t < 0 || (i % 8 == 7 && gda_wait(a->v, t, 0))) {
			p->wrong++;
			return NULL;
		}
		if (i % 8 != 7)
			continue;
		p->wrong += *mine != i;
		for (k = 0; k < 4; k++) {
			p->wrong += (i > 7 || k) && old[k] <= last;
			last = old[k];
			if (last >= THREADS * p->s->per_thread ||
			    __atomic_exchange_n(&p->s->owner[last], p->id + 1, __ATOMIC_RELAXED))
				p->wrong++;
		}
	}
	return NULL;
}

FIXTURE(producers) {
	struct shared s;
};

FIXTURE_VARIANT(producers) {
	uint32_t threads;
	uint32_t depth;
};

FIXTURE_VARIANT_ADD(producers, two) { .threads = 2, .depth = 4 };
FIXTURE_VARIANT_ADD(producers, three) { .threads = 3, .depth = 64 };
FIXTURE_VARIANT_ADD(producers, eight) { .threads = 8, .depth = 16 };
FIXTURE_VARIANT_ADD(producers, eight_deep) { .threads = 8, .depth = 1024 };

FIXTURE_SETUP(producers)
{
	self->s.per_thread = (uint32_t)s_stress(1500) / 8 * 8;
	self->s.owner = calloc(THREADS * self->s.per_thread, sizeof(*self->s.owner));
	ASSERT_NE(NULL, self->s.owner);
	ASSERT_OK(s_pair_open(self->s.end, variant->depth, CELL * (THREADS + 1)));
}

FIXTURE_TEARDOWN(producers)
{
	s_pair_close(self->s.end);
	free(self->s.owner);
}

TEST_F(producers, share_a_queue)
{
	struct producer p[THREADS];
	uint64_t total = variant->threads * self->s.per_thread / 2;
	struct gda_qp_query q = { .size = sizeof(q) };
	uint32_t i;

	for (i = 0; i < variant->threads; i++) {
		p[i] = (struct producer){ .s = &self->s, .id = i };
		must_pthread(&p[i].thread, produce, &p[i]);
	}
	for (i = 0; i < variant->threads; i++) {
		pthread_join(p[i].thread, NULL);
		EXPECT_EQ(0, p[i].wrong);
	}
	ASSERT_OK(gda_quiet(self->s.end[0].v, 0));
	/* every value from 0 on was fetched, once */
	EXPECT_EQ(total, *(uint64_t *)(void *)self->s.end[1].mem.addr);
	for (i = 0; i < total; i++)
		ASSERT_NE(0, self->s.owner[i]);
	ASSERT_OK(gda_qp_query(self->s.end[0].qp, &q));
	/* a flush is a NOP of its own */
	EXPECT_EQ(self->s.end[0].v->reserved - total * s_atomic_extra(self->s.end[0].v),
		  q.executed);
	EXPECT_LE(2 * total, q.executed);
}

/* --- contexts in a circle --- */

#define RING 3

struct walker {
	struct s_end *from, *to;
	struct gda_view *v;
	pthread_t thread;
	uint32_t rounds;
	int err;
};

/* The token of one edge: the first word there counts, the second holds the old value. */
static void *walk(void *arg)
{
	struct walker *w = arg;
	uint64_t expect = 0;
	uint32_t i;

	for (i = 0; i < w->rounds && !w->err; i++) {
		int64_t t = gda_fetch_add(w->v, w->from->mem.iova + 8, w->from->mem.key,
					  w->to->mem.iova, w->to->mem.key, 1, GDA_EXCLUSIVE);

		w->err = gda_wait(w->v, t, 0);
		if (!w->err && *(uint64_t *)(void *)(w->from->mem.addr + 8) != expect++)
			w->err = -EPROTO;
	}
	return NULL;
}

/* Each context writes to the next, all at once, over a QP of its own. */
TEST(contexts_in_a_circle)
{
	struct s_end end[RING];
	struct gda_qp *in[RING];
	struct walker w[RING];
	int i;

	for (i = 0; i < RING; i++) {
		ASSERT_OK(s_end_open(&end[i], 16, 4096));
		ASSERT_OK(s_qp_open(end[i].ctx, 16, S_TIMEOUT_NS, &in[i]));
	}
	for (i = 0; i < RING; i++) {
		ASSERT_OK(s_connect(end[i].qp, in[(i + 1) % RING]));
		w[i] = (struct walker){
			.from = &end[i], .to = &end[(i + 1) % RING], .v = end[i].v,
			.rounds = (uint32_t)s_stress(1000),
		};
	}
	for (i = 0; i < RING; i++)
		must_pthread(&w[i].thread, walk, &w[i]);
	for (i = 0; i < RING; i++) {
		pthread_join(w[i].thread, NULL);
		EXPECT_EQ(0, w[i].err);
	}
	for (i = 0; i < RING; i++) {
		EXPECT_EQ(w[i].rounds, *(uint64_t *)(void *)end[i].mem.addr);
		EXPECT_OK(gda_qp_destroy(in[i]));
		s_end_close(&end[i]);
	}
}

/* Several queues of one context, on one worker and on several. */
static void many_queues(struct __test_metadata *_metadata)
{
	struct s_end end;
	struct gda_qp *qp[THREADS];
	struct walker w[THREADS];
	struct s_end from[THREADS];
	int i;

	ASSERT_OK(s_end_open(&end, 16, 4096 * THREADS));
	S_NEEDS(end.ctx, GDA_FEATURE_LOOPBACK);
	for (i = 0; i < THREADS; i++) {
		ASSERT_OK(s_qp_open(end.ctx, 16, S_TIMEOUT_NS, &qp[i]));
		ASSERT_OK(s_connect(qp[i], qp[i]));
		from[i] = end;
		from[i].mem.iova += 4096 * i;
		from[i].mem.addr += 4096 * i;
		w[i] = (struct walker){
			.from = &from[i], .to = &from[i], .v = gda_qp_view(qp[i]),
			.rounds = (uint32_t)s_stress(300),
		};
	}
	for (i = 0; i < THREADS; i++)
		must_pthread(&w[i].thread, walk, &w[i]);
	for (i = 0; i < THREADS; i++) {
		pthread_join(w[i].thread, NULL);
		EXPECT_EQ(0, w[i].err);
		EXPECT_EQ(w[i].rounds, *(uint64_t *)(void *)from[i].mem.addr);
		EXPECT_OK(gda_qp_destroy(qp[i]));
	}
	s_end_close(&end);
}

TEST(many_queues_one_worker)
{
	many_queues(_metadata);
}

TEST(many_queues_three_workers)
{
	setenv("GDA_INPROC_WORKERS", "3", 1);
	many_queues(_metadata);
}

/* --- taken down while others run --- */

struct victim {
	struct s_end *a, *b;
	pthread_t thread;
	uint64_t posted;		/* atomic */
	int err;
};

/* Post to the peer until that fails; waits now and then. */
static void *post_until_error(void *arg)
{
	struct victim *x = arg;
	uint32_t i;
	int64_t t;

	for (i = 0; !x->err; i++) {
		t = s_put(x->a, 0, x->b, 0, 1 + i * 4099 % 60000, i % 4 ? GDA_DEFER : 0);
		x->err = t < 0 ? (int)t : i % 16 ? 0 : gda_wait(x->a->v, t, 0);
		__atomic_fetch_add(&x->posted, 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* How the peer goes, in the order of the variants of taken_down. */
static void take_down(struct s_end *b, int how)
{
	switch (how) {
	case 0:
		gda_qp_destroy(b->qp);
		b->qp = NULL;
		break;
	case 1:
		/* gone at once: a byte that is still moved is a crash */
		s_memory_free(&b->mem);
		break;
	case 2:
		gda_context_shutdown(b->ctx);
		munmap(b->mem.addr, b->mem.len);
		b->mem.addr = NULL;
		break;
	default:
		/* gda_close() knows what is left; the library's memory for it is ours */
		s_end_close(b);
	}
}

FIXTURE(taken_down) {
	struct s_end bystander[2];
};

FIXTURE_VARIANT(taken_down) {
	int how;
};

FIXTURE_VARIANT_ADD(taken_down, qp) { .how = 0 };
FIXTURE_VARIANT_ADD(taken_down, memory) { .how = 1 };
FIXTURE_VARIANT_ADD(taken_down, shutdown) { .how = 2 };
FIXTURE_VARIANT_ADD(taken_down, close) { .how = 3 };

FIXTURE_SETUP(taken_down)
{
	ASSERT_OK(s_pair_open(self->bystander, 64, 65536));
}

FIXTURE_TEARDOWN(taken_down)
{
	s_pair_close(self->bystander);
}

TEST_F(taken_down, while_others_run)
{
	struct walker w = {
		.from = &self->bystander[0], .to = &self->bystander[1],
		.v = self->bystander[0].v, .rounds = (uint32_t)s_stress(300),
	};
	uint32_t round;

	must_pthread(&w.thread, walk, &w);
	for (round = 0; round < s_stress(12); round++) {
		struct s_end end[2];
		struct victim x = { .a = &end[0], .b = &end[1] };
		struct gda_error error = { .size = sizeof(error) };
		uint64_t start = gda_clock_ns();

		ASSERT_OK(s_pair_open(end, 64, 65536));
		must_pthread(&x.thread, post_until_error, &x);
		/* at different depths into its work */
		while (__atomic_load_n(&x.posted, __ATOMIC_ACQUIRE) < 8 * round &&
		       gda_clock_ns() - start < S_TIMEOUT_NS)
			usleep(50);
		take_down(&end[1], variant->how);
		pthread_join(x.thread, NULL);
		EXPECT_TRUE(x.err == -EIO || x.err == -ECANCELED) TH_LOG("%d", x.err);
		EXPECT_EQ(-EIO, gda_quiet(end[0].v, 0));
		ASSERT_EQ(1, gda_error(end[0].v, &error));
		EXPECT_TRUE(error.vendor == GDA_MLX5_VENDOR_PEER ||
			    error.vendor == GDA_MLX5_VENDOR_KEY ||
			    error.vendor == GDA_MLX5_VENDOR_REVOKED ||
			    error.vendor == GDA_MLX5_VENDOR_FABRIC)
			TH_LOG("%s", gda_vendor_name(error.vendor));
		s_pair_close(end);
	}
	pthread_join(w.thread, NULL);
	EXPECT_EQ(0, w.err);
}

/* Registrations come and go under traffic that does not use them. */
TEST_F(taken_down, registrations_under_traffic)
{
	struct walker w = {
		.from = &self->bystander[0], .to = &self->bystander[1],
		.v = self->bystander[0].v, .rounds = (uint32_t)s_stress(1000),
	};
	uint32_t i, key[16] = { 0 };

	if (variant->how)
		SKIP(return, "once is enough");
	must_pthread(&w.thread, walk, &w);
	for (i = 0; i < s_stress(300); i++) {
		struct s_memory m;
		uint32_t k;

		ASSERT_OK(s_memory_new(self->bystander[i & 1].ctx, 4096, GDA_ACCESS_ALL, &m));
		/* an index is not used again soon */
		for (k = 0; k < 16; k++)
			EXPECT_NE(key[k], m.key >> 8);
		key[i % 16] = m.key >> 8;
		s_memory_free(&m);
	}
	pthread_join(w.thread, NULL);
	EXPECT_EQ(0, w.err);
}

/* Both ends, at the same moment, from two threads. */
static void *close_end(void *arg)
{
	s_end_close(arg);
	return NULL;
}

TEST(both_ends_close_at_once)
{
	uint32_t round;

	for (round = 0; round < s_stress(20); round++) {
		struct s_end end[2];
		pthread_t thread;
		uint32_t i;

		ASSERT_OK(s_pair_open(end, 64, 65536));
		for (i = 0; i < 20; i++) {
			s_put(&end[0], 0, &end[1], 32768, 30000, 0);
			s_put(&end[1], 0, &end[0], 32768, 30000, 0);
		}
		must_pthread(&thread, close_end, &end[1]);
		s_end_close(&end[0]);
		pthread_join(thread, NULL);
	}
}

static sigjmp_buf jump;

static void caught(int sig)
{
	siglongjmp(jump, sig);
}

/* A poster that goes on after the context was shut down is told by the machine. */
TEST(shut_down_under_the_poster)
{
	struct sigaction act = { .sa_handler = caught };
	struct s_end end;
	int sig;

	ASSERT_OK(s_end_open(&end, 16, 4096));
	S_NEEDS(end.ctx, GDA_FEATURE_LOOPBACK);
	ASSERT_OK(s_connect(end.qp, end.qp));
	ASSERT_OK(gda_wait(end.v, gda_nop(end.v, 0), 0));
	ASSERT_OK(gda_context_shutdown(end.ctx));
	sigemptyset(&act.sa_mask);
	sigaction(SIGBUS, &act, NULL);
	sig = sigsetjmp(jump, 1);
	if (!sig)
		gda_nop(end.v, 0);
	EXPECT_EQ(SIGBUS, sig);
	s_end_close(&end);
}

/* Aborted from another thread: every wait and every post on a full ring ends. */
static void *abort_soon(void *arg)
{
	struct gda_view *v = arg;

	usleep(20000);
	__atomic_store_n(&v->abort_word, 1, __ATOMIC_RELEASE);
	return NULL;
}

TEST(aborted)
{
	struct s_end end;
	pthread_t thread;
	int i;

	ASSERT_OK(s_end_open(&end, 4, 4096));
	for (i = 0; i < 4; i++)
		ASSERT_EQ(i, gda_nop(end.v, 0));
	must_pthread(&thread, abort_soon, end.v);
	EXPECT_EQ(-ESHUTDOWN, gda_wait(end.v, 3, 0));
	EXPECT_EQ(-ESHUTDOWN, gda_nop(end.v, 0));
	EXPECT_EQ(-ESHUTDOWN, gda_quiet(end.v, 0));
	pthread_join(thread, NULL);
	s_end_close(&end);
}

TEST_HARNESS_MAIN
