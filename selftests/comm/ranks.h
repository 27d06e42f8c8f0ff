/* SPDX-License-Identifier: MIT */
/*
 * Ranks as threads and as processes, for the tests of gda/comm.h.
 */
#ifndef RANKS_H
#define RANKS_H

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/wait.h>
#include <gda/barrier.h>
#include <gda/comm.h>
#include <gda/gda.h>
#include <kselftest_harness.h>

#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT 100

#define ASSERT_OK(call)	ASSERT_EQ(0, (call))
#define EXPECT_OK(call)	EXPECT_EQ(0, (call))

#define R_MAX		16
#define R_SECOND	1000000000ULL

/* One rank: what it does, and what came of it. */
struct r_rank {
	struct gda_comm_id *id;
	uint32_t rank, nranks;
	uint64_t timeout_ns;
	int (*body)(struct r_rank *r);
	struct gda_comm *comm;
	int created;		/* what gda_comm_create() returned */
	char why[320];		/* and said */
	int result;		/* what @body returned */
	uint64_t took_ns;	/* by gda_comm_create() */
	pthread_t thread;
	pid_t pid;
};

static inline int r_create(struct r_rank *r)
{
	struct gda_comm_attr attr = {
		.size = sizeof(attr),
		.rank = r->rank,
		.nranks = r->nranks,
		.id = r->id,
		.timeout_ns = r->timeout_ns,
	};
	uint64_t begin = gda_clock_ns();

	r->created = gda_comm_create(&attr, &r->comm);
	if (r->created)
		snprintf(r->why, sizeof(r->why), "%s", gda_last_error());
	r->took_ns = gda_clock_ns() - begin;
	return r->created;
}

static inline void *r_main(void *arg)
{
	struct r_rank *r = arg;

	if (r_create(r))
		return NULL;
	r->result = r->body ? r->body(r) : 0;
	gda_comm_destroy(r->comm);
	return NULL;
}

/* Of @n ranks of @nranks, as threads; all are done when it returns. */
static inline void r_run(struct r_rank *r, uint32_t n, uint32_t nranks, uint64_t timeout_ns,
			 struct gda_comm_id *id, int (*body)(struct r_rank *r))
{
	uint32_t i;

	memset(r, 0, n * sizeof(*r));
	for (i = 0; i < n; i++) {
		r[i].id = id;
		r[i].rank = i;
		r[i].nranks = nranks;
		r[i].timeout_ns = timeout_ns;
		r[i].body = body;
		pthread_create(&r[i].thread, NULL, r_main, &r[i]);
	}
	for (i = 0; i < n; i++)
		pthread_join(r[i].thread, NULL);
}

/* @n ranks as threads, of which each is created and finds what @body looks for. */
#define EXPECT_ALL(n, timeout_ns, body) do {					\
	struct r_rank r_[R_MAX];						\
	struct gda_comm_id id_;							\
										\
	ASSERT_OK(gda_comm_id_create(NULL, &id_));				\
	r_run(r_, n, n, timeout_ns, &id_, body);				\
	for (uint32_t i_ = 0; i_ < (n); i_++) {					\
		EXPECT_OK(r_[i_].created) TH_LOG("rank %u: %s", i_, r_[i_].why);	\
		EXPECT_OK(r_[i_].result) TH_LOG("rank %u", i_);			\
	}									\
} while (0)

#endif /* RANKS_H */
