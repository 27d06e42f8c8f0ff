// SPDX-License-Identifier: MIT
/*
 * Waits give their processor away, in each front end: one in vain yields or sleeps sooner or
 * later, also where nobody said that processors are short; and two threads on one processor get
 * through their exchange by that. What a thread gives is counted, not timed.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <gda/async.h>
#include <gda/dpa.h>
#include <gda/gin.h>
#include <gda/ring.h>
#include <gda/shmem.h>
#include "suite.h"

#define VAIN_NS	20000000U
#define TRIES	50		/* the thread may have had no processor all the while */
#define ROUNDS	200U

static __thread unsigned int given;

int sched_yield(void)
{
	given++;
	return (int)syscall(SYS_sched_yield);
}

/* The library sleeps by these themselves. */
long syscall(long number, ...)
{
	static long (*next)(long number, ...);
	long arg[6];
	va_list args;

	if (number == SYS_nanosleep || number == SYS_futex)
		given++;
	va_start(args, number);
	for (int i = 0; i < 6; i++)
		arg[i] = va_arg(args, long);
	va_end(args);
	if (!next)
		next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	return next(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}

/* A wait in vain until @deadline, by @call; it ends with -ETIMEDOUT. */
#define GIVES_WAY(call) do { \
	unsigned int tries_; \
	given = 0; \
	for (tries_ = 0; !given && tries_ < TRIES; tries_++) { \
		uint64_t deadline = gda_clock_ns() + VAIN_NS; \
		int err_ = (call); \
		ASSERT_TRUE(err_ == -ETIMEDOUT || err_ == -ETIME); \
	} \
	EXPECT_LT(0, given); \
} while (0)

FIXTURE(vain) {
	struct s_end end;
};

FIXTURE_SETUP(vain)
{
	setenv("GDA_DEVICE", GDA_DEVICE_INPROC, 1);
	ASSERT_OK(s_end_open(&self->end, 8, 4096));
}

FIXTURE_TEARDOWN(vain)
{
	s_end_close(&self->end);
}

TEST_F(vain, ticket)
{
	int64_t ticket;

	gda_view_yield(self->end.v, 0);
	/* it has no peer */
	ticket = gda_nop(self->end.v, 0);
	GIVES_WAY(gda_wait(self->end.v, ticket, deadline));
}

/* A queue that no context of this library has made: nobody can execute it here. */
TEST_F(vain, ticket_of_a_foreign_queue)
{
	struct gda_view v = *self->end.v;
	int64_t ticket;

	v.owner = 0;
	v.caps = 0;
	ticket = gda_nop(&v, 0);
	GIVES_WAY(gda_wait(&v, ticket, deadline));
}

TEST_F(vain, completion)
{
	struct gda_cq_attr attr = { .size = sizeof(attr), .depth = 8 };
	struct gda_cq_entry entry = { .size = sizeof(entry) };
	struct gda_cq_view *v;
	struct gda_cq *cq;

	ASSERT_OK(gda_cq_create(self->end.ctx, &attr, &cq));
	v = gda_cq_view(cq);
	v->caps &= ~GDA_VIEW_YIELD;
	GIVES_WAY(gda_cq_wait(v, &entry, deadline));
	gda_cq_destroy(cq);
}

TEST_F(vain, word_of_a_symmetric_heap)
{
	struct gda_shmem s = { .size = sizeof(s), .timeout_ns = VAIN_NS };
	uint64_t word = 0;

	GIVES_WAY(gda_shmem_wait_until64(&s, &word, GDA_SHMEM_NE, 0, deadline));
}

TEST_F(vain, word_of_a_session)
{
	struct gda_async_window window = { (uintptr_t)self->end.mem.addr, 4096 };
	struct gda_async_attr attr = { .size = sizeof(attr), .windows = &window, .count = 1 };
	struct gda_async_session s = { .size = sizeof(s) };
	struct gda_async_workspace *w;
	uint64_t scratch[64];

	ASSERT_OK(gda_async_create(NULL, self->end.ctx, &attr, &w));
	ASSERT_OK(gda_async_open(w, 0, scratch, sizeof(scratch), &s));
	GIVES_WAY(gda_async_wait_word(&s, (const uint64_t *)self->end.mem.addr, GDA_ASYNC_NE, 0,
				      deadline));
	gda_async_destroy(w);
}

TEST_F(vain, signal)
{
	struct gda_gin_attr attr = { .size = sizeof(attr), .signals = 1 };
	struct gda_comm_attr alone = { .size = sizeof(alone), .nranks = 1 };
	struct gda_gin_comm *gin;
	struct gda_comm_id id;
	struct gda_comm *comm;

	alone.id = &id;
	ASSERT_OK(gda_comm_id_create(NULL, &id));
	ASSERT_OK(gda_comm_create(&alone, &comm));
	ASSERT_OK(gda_gin_create(comm, self->end.ctx, &attr, &gin));
	GIVES_WAY(gda_gin_wait_signal(gda_gin_context(gin, 0), 0, 1, 64, deadline));
	gda_gin_destroy(gin);
	gda_comm_destroy(comm);
}

TEST_F(vain, event)
{
	struct gda_dpa_attr attr = { .size = sizeof(attr), .threads = 1, .spin_ns = VAIN_NS };
	struct gda_dpa_event *event;
	struct gda_dpa *dpa;

	ASSERT_OK(gda_dpa_create(self->end.ctx, &attr, &dpa));
	ASSERT_OK(gda_dpa_event_create(dpa, NULL, &event));
	GIVES_WAY(gda_dpa_event_await_gt(event, 0, UINT64_MAX, deadline));
	ASSERT_OK(gda_dpa_destroy(dpa));
}

struct side {
	struct s_end *own, *peer;
	unsigned int rank;
	unsigned int given;
	int err;
};

static int side_put(const struct side *s, uint64_t round)
{
	return gda_wait(s->own->v, gda_put_value(s->own->v, s->peer->mem.iova, s->peer->mem.key,
						 round, GDA_EXCLUSIVE), 0);
}

static void *side_main(void *arg)
{
	struct side *s = arg;
	const uint64_t *word = (const uint64_t *)s->own->mem.addr;
	uint64_t round;

	given = 0;
	for (round = 1; !s->err && round <= ROUNDS; round++) {
		unsigned int polls = 0;

		if (!s->rank)
			s->err = side_put(s, round);
		while (!s->err && gda_load_acquire64(word) < round)
			gda_relax(s->own->v, ++polls, GDA_RELAX_ROOM);
		if (s->rank && !s->err)
			s->err = side_put(s, round);
	}
	s->given = given;
	return NULL;
}

/* In every round each of the two lets the other one run. */
TEST(two_threads_on_one_processor)
{
	struct s_end end[2];
	struct side side[2] = {
		{ .own = &end[0], .peer = &end[1], .rank = 0 },
		{ .own = &end[1], .peer = &end[0], .rank = 1 },
	};
	pthread_t thread;
	cpu_set_t one;

	setenv("GDA_DEVICE", GDA_DEVICE_INPROC, 1);
	ASSERT_OK(s_pair_open(end, 8, 4096));
	gda_view_yield(end[0].v, 0);
	gda_view_yield(end[1].v, 0);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	ASSERT_OK(sched_setaffinity(0, sizeof(one), &one));
	ASSERT_OK(pthread_create(&thread, NULL, side_main, &side[1]));
	side_main(&side[0]);
	pthread_join(thread, NULL);
	EXPECT_OK(side[0].err);
	EXPECT_OK(side[1].err);
	EXPECT_LE(ROUNDS / 2, side[0].given);
	EXPECT_LE(ROUNDS / 2, side[1].given);
	s_pair_close(end);
}

TEST_HARNESS_MAIN
