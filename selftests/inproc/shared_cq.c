// SPDX-License-Identifier: MIT
/*
 * Views of QPs that share a ring CQ: whoever waits for one of them credits all. With
 * --count N it posts 64 NOPs to N QPs in turn and calls gda_view_progress() once, for
 * shared_cq.sh, which counts the instructions of that.
 */
#include <pthread.h>
#include <gda/ring.h>
#include "suite.h"

#define PEERS	64
#define DEPTH	64U
#define ENTRIES	(PEERS * DEPTH)
#define COUNT	64
#define ROUNDS	200

struct group {
	struct gda_context *ctx;
	struct gda_cq *cq;
	struct gda_qp *qp[PEERS];
	struct gda_view *v[PEERS];
	struct s_memory mem;
};

static int group_open(struct group *g, unsigned int n, uint32_t entries)
{
	struct gda_cq_attr how = { .size = sizeof(how), .depth = entries };
	struct gda_qp_attr attr = {
		.size = sizeof(attr), .sq_depth = DEPTH, .timeout_ns = S_TIMEOUT_NS,
	};
	int err = gda_open(NULL, &g->ctx);
	unsigned int i;

	if (!err)
		err = gda_cq_create(g->ctx, &how, &g->cq);
	if (!err)
		err = s_memory_new(g->ctx, 65536, GDA_ACCESS_ALL, &g->mem);
	for (i = 0; i < n && !err; i++) {
		attr.cq = g->cq;
		err = gda_qp_create(g->ctx, &attr, &g->qp[i]);
		if (!err)
			err = s_connect(g->qp[i], g->qp[i]);
		if (!err)
			g->v[i] = gda_qp_view(g->qp[i]);
	}
	return err;
}

static void group_close(struct group *g)
{
	unsigned int i;

	for (i = 0; i < PEERS; i++)
		gda_qp_destroy(g->qp[i]);
	gda_cq_destroy(g->cq);
	s_memory_free(&g->mem);
	gda_close(g->ctx);
	memset(g, 0, sizeof(*g));
}

FIXTURE(shared) {
	struct group g;
};

FIXTURE_SETUP(shared)
{
	ASSERT_OK(group_open(&self->g, PEERS, ENTRIES));
}

FIXTURE_TEARDOWN(shared)
{
	group_close(&self->g);
}

TEST_F(shared, any_view_is_waited_for)
{
	struct group *g = &self->g;
	uint64_t seed = s_seed(), i, at;
	int64_t ticket[PEERS];

	TH_LOG("GDA_SEED=%llu", (unsigned long long)seed);
	for (i = 0; i < PEERS; i++)
		ASSERT_NE(NULL, g->v[i]);
	/* every ring of a queue goes round, and so does the shared one */
	for (i = 0; i < ROUNDS; i++) {
		for (at = 0; at < PEERS; at++)
			ticket[at] = gda_put_value(g->v[at], g->mem.iova + 8 * at, g->mem.key,
						   i + at, 0);
		at = s_below(&seed, PEERS);
		ASSERT_OK(gda_wait(g->v[at], ticket[at], 0));
		ASSERT_EQ(1, gda_test(g->v[at], ticket[at]));
		ASSERT_EQ(i + at, ((uint64_t *)(void *)g->mem.addr)[at]);
	}
	for (i = 0; i < PEERS; i++) {
		ASSERT_OK(gda_quiet(g->v[i], 0));
		EXPECT_EQ(ROUNDS, g->v[i]->completed);
	}
}

TEST_F(shared, full_queue_and_test)
{
	struct gda_view *v = self->g.v[3];
	uint64_t end = gda_clock_ns() + S_TIMEOUT_NS;
	int64_t last = 0, t;
	unsigned int i;

	/* nobody waits: the post on a full ring looks */
	for (i = 0; i < 5 * DEPTH; i++) {
		t = gda_nop(v, i % 2 ? GDA_NOWAIT : 0);
		ASSERT_TRUE(t >= 0 || t == -EAGAIN);
		last = t < 0 ? last : t;
	}
	while (!gda_test(v, last) && gda_clock_ns() < end)
		;
	EXPECT_EQ(1, gda_test(v, last));
}

TEST_F(shared, error_is_of_one)
{
	struct group *g = &self->g;
	struct gda_error error = { .size = sizeof(error) };

	ASSERT_OK(gda_wait(g->v[1], gda_nop(g->v[1], 0), 0));
	EXPECT_EQ(1, gda_put_value(g->v[1], g->mem.iova, g->mem.key + 1, 1, 0));
	EXPECT_EQ(2, gda_nop(g->v[1], 0));
	EXPECT_OK(gda_wait(g->v[2], gda_nop(g->v[2], 0), 0));
	EXPECT_EQ(-ECANCELED, gda_wait(g->v[1], 2, 0));
	EXPECT_EQ(-EIO, gda_wait(g->v[1], 1, 0));
	EXPECT_OK(gda_wait(g->v[1], 0, 0));
	ASSERT_EQ(1, gda_error(g->v[1], &error));
	EXPECT_EQ(1, error.ticket);
	EXPECT_EQ(GDA_MLX5_VENDOR_KEY, error.vendor);
	EXPECT_EQ(0, gda_error(g->v[2], &error));
	EXPECT_OK(gda_wait(g->v[2], gda_nop(g->v[2], 0), 0));
}

/* The program's own gda_cq_poll() credits the views, too. */
TEST_F(shared, program_polls)
{
	struct group *g = &self->g;
	struct gda_cq_view *ring = gda_cq_view(g->cq);
	struct gda_cq_entry entry = { .size = sizeof(entry) };
	uint32_t i;

	for (i = 0; i < PEERS; i++) {
		ASSERT_EQ(0, gda_nop(g->v[i], 0));
		ASSERT_OK(gda_cq_wait(ring, &entry, gda_clock_ns() + S_TIMEOUT_NS));
		EXPECT_EQ(g->v[i]->qpn, entry.qpn);
		EXPECT_EQ(sizeof(entry), entry.size);
		EXPECT_EQ(1, gda_test(g->v[i], 0));
	}
	EXPECT_EQ(0, gda_cq_poll(ring, &entry));
	EXPECT_OK(gda_wait(g->v[0], gda_nop(g->v[0], 0), 0));
	EXPECT_EQ(0, gda_cq_poll(ring, &entry));
}

struct waiter {
	struct group *g;
	pthread_t thread;
	unsigned int first;
	int err;
};

static void *wait_round(void *arg)
{
	struct waiter *w = arg;
	unsigned int i;

	for (i = 0; i < ROUNDS && !w->err; i++) {
		struct gda_view *v = w->g->v[w->first + i % 4];

		w->err = gda_wait(v, gda_nop(v, 0), 0);
	}
	return NULL;
}

TEST_F(shared, threads_wait)
{
	struct waiter w[4];
	unsigned int i;

	/* a queue that comes and goes meanwhile is looked for, too */
	for (i = 0; i < 4; i++) {
		w[i] = (struct waiter){ .g = &self->g, .first = 4 * i };
		ASSERT_EQ(0, pthread_create(&w[i].thread, NULL, wait_round, &w[i]));
	}
	for (i = 32; i < PEERS; i++) {
		gda_nop(self->g.v[i], 0);
		EXPECT_OK(gda_qp_destroy(self->g.qp[i]));
		self->g.qp[i] = NULL;
	}
	for (i = 0; i < 4; i++) {
		pthread_join(w[i].thread, NULL);
		EXPECT_EQ(0, w[i].err);
	}
}

/* A queue whose peer goes while nothing is posted has no entry in the ring. */
TEST(idle_failure_is_told)
{
	struct gda_qp_attr attr = { .size = sizeof(attr), .sq_depth = DEPTH };
	struct gda_error e = { .size = sizeof(e) };
	uint64_t until = gda_clock_ns() + S_TIMEOUT_NS;
	struct group g = { 0 };
	struct gda_qp *peer;
	int64_t t;

	ASSERT_OK(group_open(&g, 0, ENTRIES));
	attr.cq = g.cq;
	ASSERT_OK(gda_qp_create(g.ctx, &attr, &g.qp[0]));
	attr.cq = NULL;
	ASSERT_OK(gda_qp_create(g.ctx, &attr, &peer));
	ASSERT_OK(s_connect(g.qp[0], peer));
	g.v[0] = gda_qp_view(g.qp[0]);
	ASSERT_OK(gda_wait(g.v[0], gda_nop(g.v[0], 0), 0));
	EXPECT_EQ(0, gda_error(g.v[0], &e));
	ASSERT_OK(gda_qp_destroy(peer));
	while (!gda_error(g.v[0], &e) && gda_clock_ns() < until)
		usleep(1000);
	EXPECT_EQ(GDA_MLX5_SYND_RETRY_EXC, e.syndrome);
	EXPECT_EQ(GDA_MLX5_VENDOR_PEER, e.vendor);
	EXPECT_EQ(1, e.ticket);
	/* and what is posted then is that ticket, which took the blame */
	t = gda_nop(g.v[0], 0);
	EXPECT_EQ(1, t);
	EXPECT_EQ(-EIO, gda_wait(g.v[0], t, 0));
	EXPECT_EQ(-ECANCELED, gda_wait(g.v[0], gda_nop(g.v[0], 0), 0));
	group_close(&g);
}

/* No view of a queue whose completions may not find room. */
TEST(ring_too_small)
{
	struct group g = { 0 };

	ASSERT_OK(group_open(&g, 2, DEPTH));
	EXPECT_NE(NULL, g.v[0]);
	EXPECT_EQ(NULL, g.v[1]);
	ASSERT_OK(gda_qp_destroy(g.qp[0]));
	g.qp[0] = NULL;
	group_close(&g);
}

/* What is refused for its dialect, and what for something else. */
TEST(dialects)
{
	struct gda_cq_attr ring = {
		.size = sizeof(ring), .depth = ENTRIES, .dialect = GDA_DIALECT_MLX5,
	};
	struct gda_qp_attr attr = { .size = sizeof(attr), .dialect = 99 };
	struct gda_place place = { .size = sizeof(place) };
	struct gda_context *ctx;
	struct gda_cq *cq;
	struct gda_qp *qp;

	ASSERT_OK(gda_open(NULL, &ctx));
	EXPECT_EQ(-EOPNOTSUPP, gda_qp_create(ctx, &attr, &qp));
	EXPECT_NE(NULL, strstr(gda_last_error(), "dialect 99"));
	attr.dialect = GDA_DIALECT_MLX5;
	ASSERT_OK(gda_qp_create(ctx, &attr, &qp));
	EXPECT_EQ((uint32_t)GDA_DIALECT_MLX5, gda_qp_view(qp)->dialect);
	ASSERT_OK(gda_qp_destroy(qp));
	ring.memory = &place;
	EXPECT_GT(0, gda_cq_create(ctx, &ring, &cq));
	EXPECT_EQ(NULL, strstr(gda_last_error(), "dialect"));
	ring.memory = NULL;
	ASSERT_OK(gda_cq_create(ctx, &ring, &cq));
	EXPECT_EQ((uint32_t)GDA_DIALECT_MLX5, gda_cq_view(cq)->dialect);
	attr.dialect = 0;
	attr.recv_cq = cq;
	ASSERT_OK(gda_qp_create(ctx, &attr, &qp));
	EXPECT_EQ((uint32_t)GDA_DIALECT_MLX5, gda_qp_view(qp)->dialect);
	ASSERT_OK(gda_qp_destroy(qp));
#ifdef GDA_WQE_TEST
	attr.dialect = GDA_WQE_TEST;
	EXPECT_EQ(-EINVAL, gda_qp_create(ctx, &attr, &qp));
	EXPECT_NE(NULL, strstr(gda_last_error(), "recv_cq is in dialect 1, the QP in 200"));
#endif
	ASSERT_OK(gda_cq_destroy(cq));
	gda_close(ctx);
}

static int count(unsigned int n)
{
	struct group g = { 0 };
	const struct gda_cq_view *ring;
	const uint32_t *last;
	unsigned int i;

	if (group_open(&g, n, ENTRIES))
		return 1;
	for (i = 0; i < COUNT; i++)
		gda_nop(g.v[i % n], 0);
	/* all are there: nobody else looks at the ring */
	ring = gda_cq_view(g.cq);
	last = gda_cqe_last(ring->dialect,
			    ring->entries + gda_cqe_bytes(ring->dialect) * (COUNT - 1));
	while (!gda_cqe_is_new(ring->dialect, gda_nic_load32(last), COUNT - 1, ring->mask))
		usleep(1000);
	gda_view_progress(g.v[0]);
	for (i = 0; i < n; i++)
		if (!gda_test(g.v[i], (int64_t)(COUNT / n) - 1))
			return 1;
	group_close(&g);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "--count"))
		return count((unsigned int)atoi(argv[2]));
	return test_harness_run(argc, argv);
}
