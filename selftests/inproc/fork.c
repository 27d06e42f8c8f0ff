// SPDX-License-Identifier: MIT
/*
 * The in-process device and processes: a child of fork(2) cannot use what its parent
 * opened, nor post to it, but may open its own, and the parent notices nothing. Not in
 * the guest, where kernel/library has the same of /dev/gda.
 */
#include <pthread.h>
#include <sys/wait.h>
#include <gda/masked_atomic.h>
#include <gda/ring.h>
#include "suite.h"

FIXTURE(fork) {
	struct s_end end;
};

FIXTURE_SETUP(fork)
{
	ASSERT_OK(s_end_open(&self->end, 64, 4096));
	ASSERT_OK(s_connect(self->end.qp, self->end.qp));
}

FIXTURE_TEARDOWN(fork)
{
	s_end_close(&self->end);
}

/* Runs in the child; its exit status is the line that failed. */
static int child_sees_nothing(struct s_end *parent)
{
	struct s_end own;
	struct gda_query q = { .size = sizeof(q) };
	struct gda_mr *mr;

	if (gda_context_query(parent->ctx, &q) != -ENODEV ||
	    gda_mr_reg(parent->ctx, parent->mem.addr, 8, 0, 0, &mr) != -ENODEV)
		return 1;
	if (s_end_open(&own, 16, 4096) || s_connect(own.qp, own.qp))
		return 2;
	own.mem.addr[0] = 7;
	if (gda_wait(own.v, s_put(&own, 0, &own, 100, 1, 0), 0) || own.mem.addr[100] != 7)
		return 3;
	s_end_close(&own);
	/* gone without a trace in the parent */
	gda_close(parent->ctx);
	return 0;
}

TEST_F(fork, child_opens_its_own)
{
	int i, status;

	for (i = 0; i < 20; i++) {
		int64_t t = s_put(&self->end, 0, &self->end, 100, 1000, 0);
		pid_t pid = fork();

		if (!pid)
			_exit(child_sees_nothing(&self->end));
		ASSERT_LT(0, pid);
		EXPECT_OK(gda_wait(self->end.v, t, 0));
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_EQ(0, status);
		EXPECT_OK(gda_wait(self->end.v, s_put(&self->end, 0, &self->end, 100, 1000, 0), 0));
	}
}

/* The parts of the queue that are visible from outside: slots, record and doorbell. */
struct queue {
	uint8_t slot[64][64];
	uint64_t db;
	uint32_t dbrec;
};

static void queue_read(const struct gda_view *v, struct queue *q)
{
	memset(q, 0, sizeof(*q));
	memcpy(q->slot, (void *)(uintptr_t)v->sq, sizeof(q->slot));
	memcpy(&q->db, (void *)(uintptr_t)v->db, sizeof(q->db));
	memcpy(&q->dbrec, (void *)(uintptr_t)v->dbrec, sizeof(q->dbrec));
}

/* Every way of posting, over and over: none of them takes, none of them waits. */
static int child_posts(struct s_end *e)
{
	static const unsigned int modes[] = {
		0, GDA_EXCLUSIVE, GDA_DEFER, GDA_DEFER | GDA_EXCLUSIVE, GDA_NOWAIT,
		GDA_NOWAIT | GDA_EXCLUSIVE,
	};
	static const uint8_t bytes[200];
	uint64_t at = e->mem.iova;
	uint32_t key = e->mem.key;
	unsigned int i, m;

	for (i = 0; i < 200; i++) {
		m = modes[i % 6];
		if (s_put(e, 0, e, 100, 8, m) != -EIO || s_get(e, 0, e, 100, 8, m) != -EIO ||
		    gda_put_value(e->v, at, key, 7, m) != -EIO ||
		    gda_put_inline(e->v, at, key, bytes, 20, m) != -EIO ||
		    gda_put_inline(e->v, at, key, bytes, 200, m) != -EIO ||
		    gda_put_imm(e->v, at, key, at, key, 8, 9, m) != -EIO ||
		    gda_fetch_add(e->v, at, key, at + 8, key, 1, m) != -EIO ||
		    gda_masked_compare_swap(e->v, at, key, at + 8, key, 1, 1, 1, 1, m) != -EIO ||
		    gda_nop(e->v, m) != -EIO)
			return 10 + i % 6;
		gda_flush(e->v);
		if (i % 50 == 7)
			gda_view_share(e->v);
	}
	return 0;
}

/* @done was seen done by the parent, @open was posted and not waited for. */
static int child_waits(struct s_end *e, int64_t done, int64_t open)
{
	struct gda_error error = { .size = sizeof(error) };
	uint64_t began = gda_clock_ns();
	int err = gda_test(e->v, open);

	if (gda_test(e->v, done) != 1 || gda_wait(e->v, done, 0))
		return 20;
	if (err != -EIO && err != -ECANCELED)
		return 21;
	if (gda_wait(e->v, open, 0) != err || gda_wait(e->v, open + 1, 0) >= 0)
		return 22;
	if (gda_quiet(e->v, 0) != -ESHUTDOWN)
		return 23;
	if (gda_error(e->v, &error) != 1 || error.vendor != GDA_MLX5_VENDOR_FORK ||
	    error.ticket > open || error.ticket <= done)
		return 24;
	/* by far not the timeout of the queue, a minute */
	return gda_clock_ns() - began < S_TIMEOUT_NS / 2 ? 0 : 25;
}

static int child_status(pid_t pid)
{
	int status = -1;

	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(fork, child_cannot_post)
{
	struct s_end *e = &self->end;
	struct queue before, after;
	int64_t done, open;
	pid_t pid;
	int i;

	for (i = 0; i < 20; i++) {
		done = s_put(e, 0, e, 100, 1000, i % 2 ? GDA_EXCLUSIVE : 0);
		ASSERT_OK(gda_wait(e->v, done, 0));
		if (i % 2)
			gda_view_share(e->v);
		open = s_put(e, 0, e, 100, 1000, i % 3 ? 0 : GDA_DEFER);
		queue_read(e->v, &before);
		pid = fork();
		if (!pid) {
			int line = child_posts(e);

			line = line ? line : child_waits(e, done, open);
			/* nor may a child of the child */
			pid = line ? 0 : fork();
			if (!pid && !line)
				_exit(child_posts(e));
			_exit(line ? line : child_status(pid));
		}
		ASSERT_EQ(0, child_status(pid));
		queue_read(e->v, &after);
		EXPECT_EQ(0, memcmp(&before, &after, sizeof(before)));
		/* the parent's next post is where it left off */
		ASSERT_EQ(open + 1, s_put(e, 0, e, 100, 1000, 0));
		ASSERT_OK(gda_quiet(e->v, 0));
		EXPECT_EQ(0, gda_error(e->v, &(struct gda_error) { .size = 24 }));
	}
}

/* A ring that the parent reads: one entry that says so, and no wait. */
TEST_F(fork, child_reads_no_ring)
{
	struct gda_cq_attr attr = { .size = sizeof(attr), .depth = 4 };
	struct gda_cq_entry entry = { .size = sizeof(entry) };
	struct gda_qp_attr qattr = { .size = sizeof(qattr), .sq_depth = 16 };
	struct gda_cq_view *ring;
	struct gda_view *v;
	struct gda_cq *cq;
	struct gda_qp *qp;
	uint32_t record;
	pid_t pid;
	int i;

	ASSERT_OK(gda_cq_create(self->end.ctx, &attr, &cq));
	qattr.recv_cq = cq;
	ASSERT_OK(gda_qp_create(self->end.ctx, &qattr, &qp));
	ASSERT_OK(s_connect(qp, qp));
	ring = gda_cq_view(cq);
	v = gda_qp_view(qp);
	for (i = 0; i < 9; i++) {
		ASSERT_OK(gda_wait(v, gda_put_imm(v, 0, 0, self->end.mem.iova, self->end.mem.key, 0,
						  40 + i, 0), 0));
		memcpy(&record, (void *)(uintptr_t)ring->record, 4);
		pid = fork();
		if (!pid) {
			if (gda_cq_poll(ring, &entry) != 1 ||
			    entry.opcode != GDA_MLX5_CQE_REQ_ERR ||
			    entry.vendor != GDA_MLX5_VENDOR_FORK || gda_cq_poll(ring, &entry))
				_exit(1);
			if (gda_cq_wait(ring, &entry, 0) != -EIO ||
			    gda_cq_sleep(cq, -1, GDA_CQ_ARM, &entry, 0) != -EIO)
				_exit(2);
			_exit(0);
		}
		ASSERT_EQ(0, child_status(pid));
		EXPECT_EQ(0, memcmp(&record, (void *)(uintptr_t)ring->record, 4));
		ASSERT_EQ(1, gda_cq_poll(ring, &entry));
		EXPECT_EQ(40U + i, entry.imm);
	}
	EXPECT_OK(gda_qp_destroy(qp));
	EXPECT_OK(gda_cq_destroy(cq));
}

struct poster {
	pthread_t thread;
	struct s_end *end;
	bool stop, failed;
	uint64_t posts;
};

static void *poster_run(void *arg)
{
	struct poster *p = arg;

	while (!__atomic_load_n(&p->stop, __ATOMIC_RELAXED)) {
		if (gda_wait(p->end->v, s_put(p->end, 0, p->end, 2000, 8, 0), 0))
			p->failed = true;
		__atomic_fetch_add(&p->posts, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* Queues come and go in another thread: the lists are whole in the child. */
static void *maker_run(void *arg)
{
	struct poster *p = arg;
	struct gda_qp *qp;

	while (!__atomic_load_n(&p->stop, __ATOMIC_RELAXED)) {
		if (s_qp_open(p->end->ctx, 16, 0, &qp) || gda_qp_destroy(qp))
			p->failed = true;
		__atomic_fetch_add(&p->posts, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

TEST_F(fork, while_others_post)
{
	struct poster p[3] = {
		{ .end = &self->end }, { .end = &self->end }, { .end = &self->end },
	};
	unsigned int i, n = (unsigned int)s_stress(60);
	struct s_end own;

	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, pthread_create(&p[i].thread, NULL, i == 2 ? maker_run : poster_run,
					    &p[i]));
	/* as often as it takes for all to have run meanwhile */
	for (i = 0; i < n || !__atomic_load_n(&p[0].posts, __ATOMIC_RELAXED) ||
	     !__atomic_load_n(&p[1].posts, __ATOMIC_RELAXED) ||
	     !__atomic_load_n(&p[2].posts, __ATOMIC_RELAXED); i++) {
		pid_t pid = fork();

		if (!pid) {
			if (s_put(&self->end, 0, &self->end, 3000, 8, 0) != -EIO)
				_exit(1);
			if (i % 8)
				_exit(0);
			if (s_end_open(&own, 16, 4096) || s_connect(own.qp, own.qp))
				_exit(2);
			_exit(gda_wait(own.v, s_put(&own, 0, &own, 100, 8, 0), 0) ? 3 : 0);
		}
		ASSERT_EQ(0, child_status(pid));
	}
	for (i = 0; i < 3; i++) {
		__atomic_store_n(&p[i].stop, true, __ATOMIC_RELAXED);
		pthread_join(p[i].thread, NULL);
		EXPECT_FALSE(p[i].failed);
	}
	EXPECT_OK(gda_quiet(self->end.v, 0));
	/* all of the parent's arrived, and nothing else */
	ASSERT_EQ(p[0].posts + p[1].posts, self->end.v->reserved);
}

/* GDA_DEVICE, and names that are none. */
TEST(names)
{
	struct gda_context *ctx;
	struct gda_query q = { .size = sizeof(q) };

	ASSERT_OK(gda_open(GDA_DEVICE_INPROC, &ctx));
	ASSERT_OK(gda_context_query(ctx, &q));
	EXPECT_STREQ(GDA_DEVICE_INPROC, (const char *)q.device);
	EXPECT_NE(0, q.features[0] & GDA_FEATURE_MR_USER);
	gda_close(ctx);
	setenv("GDA_DEVICE", GDA_DEVICE_INPROC, 1);
	ASSERT_OK(gda_open(NULL, &ctx));
	gda_close(ctx);
	setenv("GDA_DEVICE", "no such device", 1);
	EXPECT_EQ(-ENOENT, gda_open(NULL, &ctx));
	EXPECT_EQ(-ENOENT, gda_open("inproc0", &ctx));
}

TEST_HARNESS_MAIN
