// SPDX-License-Identifier: MIT
/*
 * Threads that wait execute the queues of the in-process device (lib/device/inproc/help.c). Each
 * test takes the worker's processor away: a worker that sleeps needs its lock to wake up,
 * and the test holds it. So work that is done then was done by the waiting thread.
 */
#include <pthread.h>
#include <gda/ring.h>
#include "hold.h"

#define ROUNDS	200
#define BYTES	65536U

FIXTURE(held) {
	struct s_end end[2];
	struct gda_qp *alone;		/* destroyed once the worker is free */
};

FIXTURE_SETUP(held)
{
	setenv("GDA_DEVICE", GDA_DEVICE_INPROC, 1);
	ASSERT_OK(s_pair_open(self->end, 8, BYTES));
	ASSERT_OK(s_qp_open(self->end[1].ctx, 8, S_TIMEOUT_NS, &self->alone));
	ASSERT_TRUE(worker_hold(self->end[0].ctx));
}

FIXTURE_TEARDOWN(held)
{
	worker_release(self->end[0].ctx);
	gda_qp_destroy(self->alone);
	s_pair_close(self->end);
}

TEST_F(held, waits_execute)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];
	uint64_t *there = (void *)b->mem.addr, *old = (void *)(a->mem.addr + 64);
	uint64_t i;

	for (i = 1; i <= ROUNDS; i++) {
		ASSERT_OK(gda_wait(a->v, gda_put_value(a->v, b->mem.iova, b->mem.key, i, 0), 0));
		ASSERT_EQ(i, *there);
		ASSERT_OK(gda_wait(a->v, gda_fetch_add(a->v, a->mem.iova + 64, a->mem.key,
						       b->mem.iova, b->mem.key, 5, 0), 0));
		ASSERT_EQ(i, *old);
		ASSERT_OK(gda_wait(a->v, s_get(a, 64, b, 0, 8, 0), 0));
		ASSERT_EQ(i + 5, *old);
	}
	memset(a->mem.addr, 7, BYTES);
	ASSERT_OK(gda_wait(a->v, s_put(a, 0, b, 0, BYTES, 0), 0));
	EXPECT_EQ(0, memcmp(a->mem.addr, b->mem.addr, BYTES));
}

TEST_F(held, full_ring_executes)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];
	uint64_t *there = (void *)b->mem.addr;
	uint64_t i;

	/* several laps, and nothing of it is waited for */
	for (i = 1; i <= ROUNDS; i++)
		ASSERT_LE(0, gda_put_value(a->v, b->mem.iova, b->mem.key, i,
					   i % 3 ? GDA_DEFER : 0));
	EXPECT_LT(ROUNDS - 9, __atomic_load_n(there, __ATOMIC_ACQUIRE));
	ASSERT_OK(gda_quiet(a->v, 0));
	EXPECT_EQ(ROUNDS, *there);
}

TEST_F(held, errors_are_seen)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];
	struct gda_error error = { .size = sizeof(error) };

	EXPECT_EQ(-EIO, gda_wait(a->v, gda_put_value(a->v, b->mem.iova, b->mem.key + 1, 1, 0), 0));
	ASSERT_EQ(1, gda_error(a->v, &error));
	EXPECT_EQ(GDA_MLX5_VENDOR_KEY, error.vendor);
	EXPECT_EQ(-ECANCELED, gda_wait(a->v, gda_nop(a->v, 0), 0));
}

/* Memory that is unmapped while it is registered: the fault is that of the thread that waits. */
TEST_F(held, fault_is_an_error)
{
#ifdef __SANITIZE_THREAD__
	SKIP(return, "the detector has the signal");
#else
	struct s_end *a = &self->end[0], *b = &self->end[1];
	struct gda_error error = { .size = sizeof(error) };

	munmap(b->mem.addr, b->mem.len);
	b->mem.addr = NULL;
	EXPECT_EQ(-EIO, gda_wait(a->v, gda_put_value(a->v, b->mem.iova, b->mem.key, 1, 0), 0));
	ASSERT_EQ(1, gda_error(a->v, &error));
	EXPECT_EQ(GDA_MLX5_VENDOR_IO, error.vendor);
	EXPECT_EQ(-ECANCELED, gda_wait(a->v, gda_nop(a->v, 0), 0));
#endif
}

/* A post without a waiter stays where it is, and a wait ends at its deadline. */
TEST_F(held, only_waits_execute)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];
	uint64_t *there = (void *)b->mem.addr;
	struct gda_view *v;

	ASSERT_EQ(0, gda_put_value(a->v, b->mem.iova, b->mem.key, 1, 0));
	usleep(20000);
	EXPECT_EQ(0, gda_test(a->v, 0));
	EXPECT_EQ(0, __atomic_load_n(there, __ATOMIC_ACQUIRE));
	EXPECT_OK(gda_wait(a->v, 0, 0));
	EXPECT_EQ(1, *there);

	/* of the other context: it has no peer, so there is nothing to execute */
	v = gda_qp_view(self->alone);
	EXPECT_EQ(-ETIMEDOUT, gda_wait(v, gda_nop(v, 0), gda_clock_ns() + 20000000));
	v->abort_word = 1;
	EXPECT_EQ(-ESHUTDOWN, gda_wait(v, 0, 0));
}

struct sharer {
	struct s_end *end;
	pthread_t thread;
	uint32_t id;
	int err;
};

static void *share(void *arg)
{
	struct sharer *p = arg;
	struct s_end *a = &p->end[0], *b = &p->end[1];
	int i;

	for (i = 0; i < ROUNDS && !p->err; i++)
		p->err = gda_wait(a->v, gda_fetch_add(a->v, a->mem.iova + 64 * p->id, a->mem.key,
						      b->mem.iova, b->mem.key, 1, 0), 0);
	return NULL;
}

TEST_F(held, many_wait_for_one_queue)
{
	struct sharer p[4];
	uint32_t i;

	for (i = 0; i < 4; i++) {
		p[i] = (struct sharer){ .end = self->end, .id = i };
		ASSERT_EQ(0, pthread_create(&p[i].thread, NULL, share, &p[i]));
	}
	for (i = 0; i < 4; i++) {
		pthread_join(p[i].thread, NULL);
		EXPECT_EQ(0, p[i].err);
	}
	EXPECT_EQ(4 * ROUNDS, *(uint64_t *)(void *)self->end[1].mem.addr);
}

/* --- a helper that stops in the middle of a visit --- */

struct stuck {
	struct s_end end[2];
	struct gda_qp *other;
	struct gda_inproc_cq *cq;	/* where the helper stops: this is locked */
	struct s_memory mem;
	pthread_t helper;
	int err;
	int dereg;			/* atomic */
};

static void *stuck_wait(void *arg)
{
	struct stuck *s = arg;

	s->err = gda_wait(s->end[0].v, s_put(&s->end[0], 0, &s->end[1], 0, 8, 0), 0);
	return NULL;
}

static void *stuck_dereg(void *arg)
{
	struct stuck *s = arg;

	s_memory_free(&s->mem);
	__atomic_store_n(&s->dereg, 1, __ATOMIC_RELEASE);
	return NULL;
}

static struct gda_inproc_qp *qp_of(struct gda_qp *qp)
{
	return gda_inproc_qp_find(qp->ctx->device, qp->handle);
}

static bool until(const uint32_t *word, uint32_t value)
{
	uint64_t end = gda_clock_ns() + S_TIMEOUT_NS;

	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value)
		if (gda_clock_ns() > end)
			return false;
	return true;
}

/* Its worker goes on with other queues; who destroys anything waits for it. */
TEST(stopped_helper_stalls_one_queue)
{
	struct stuck s = { 0 };
	struct gda_view *v;
	pthread_t dereg;
	uint64_t *there;
	uint64_t i, end;

	setenv("GDA_DEVICE", GDA_DEVICE_INPROC, 1);
	ASSERT_OK(s_pair_open(s.end, 8, BYTES));
	ASSERT_OK(s_qp_open(s.end[0].ctx, 8, S_TIMEOUT_NS, &s.other));
	ASSERT_OK(s_connect(s.other, s.other));
	ASSERT_OK(s_memory_new(s.end[0].ctx, 4096, GDA_ACCESS_ALL, &s.mem));
	v = gda_qp_view(s.other);
	there = (uint64_t *)(void *)s.end[0].mem.addr + 8;
	s.cq = gda_inproc_of(qp_of(s.end[0].qp)->engine_qp.cq, struct gda_inproc_cq, engine_cq);

	ASSERT_TRUE(worker_hold(s.end[0].ctx));
	pthread_mutex_lock(&s.cq->lock);
	ASSERT_EQ(0, pthread_create(&s.helper, NULL, stuck_wait, &s));
	ASSERT_TRUE(until(&qp_of(s.end[0].qp)->turn, GDA_INPROC_HELD));
	worker_release(s.end[0].ctx);

	for (i = 1; i <= 20; i++) {
		gda_put_value(v, s.end[0].mem.iova + 64, s.end[0].mem.key, i, 0);
		end = gda_clock_ns() + S_TIMEOUT_NS;
		while (__atomic_load_n(there, __ATOMIC_ACQUIRE) != i && gda_clock_ns() < end)
			;
		ASSERT_EQ(i, __atomic_load_n(there, __ATOMIC_ACQUIRE));
		ASSERT_OK(gda_wait(v, (int64_t)i - 1, 0));
	}
	EXPECT_EQ(GDA_INPROC_HELD, __atomic_load_n(&qp_of(s.end[0].qp)->turn, __ATOMIC_ACQUIRE));

	ASSERT_EQ(0, pthread_create(&dereg, NULL, stuck_dereg, &s));
	usleep(50000);
	EXPECT_EQ(0, __atomic_load_n(&s.dereg, __ATOMIC_ACQUIRE));
	pthread_mutex_unlock(&s.cq->lock);
	pthread_join(dereg, NULL);
	pthread_join(s.helper, NULL);
	EXPECT_EQ(1, s.dereg);
	EXPECT_EQ(0, s.err);
	gda_qp_destroy(s.other);
	s_pair_close(s.end);
}

/* A peer and its memory go away under those who help themselves. */
TEST(peer_goes_while_waiters_help)
{
	uint32_t round, i;

	setenv("GDA_DEVICE", GDA_DEVICE_INPROC, 1);
	for (round = 0; round < s_stress(40); round++) {
		struct s_end end[2];
		struct sharer p[3];

		ASSERT_OK(s_pair_open(end, 8, 4096));
		for (i = 0; i < 3; i++) {
			p[i] = (struct sharer){ .end = end, .id = i };
			ASSERT_EQ(0, pthread_create(&p[i].thread, NULL, share, &p[i]));
		}
		usleep(round * 20);
		if (round % 3 == 0)
			gda_mr_dereg(end[1].mem.mr);
		else if (round % 3 == 1)
			gda_qp_destroy(end[1].qp);
		else
			gda_context_shutdown(end[1].ctx);
		for (i = 0; i < 3; i++) {
			pthread_join(p[i].thread, NULL);
			EXPECT_TRUE(!p[i].err || p[i].err == -EIO || p[i].err == -ECANCELED)
				TH_LOG("%d", p[i].err);
		}
		if (round % 3 == 0)
			end[1].mem.mr = NULL;
		if (round % 3 == 1)
			end[1].qp = NULL;
		s_pair_close(end);
	}
}

TEST_HARNESS_MAIN
