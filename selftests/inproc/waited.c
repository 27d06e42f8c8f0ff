// SPDX-License-Identifier: MIT
/*
 * What gda_last_error() says when a wait has failed (issue 40, item 14): of each way to fail, what
 * the wait knows, and never the text of an older call.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <gda/mlx5.h>
#include <gda/ring.h>
#include "explain.h"

#define SOON	(gda_clock_ns() + 5000000)

S_EXPLAIN_FIXTURE(waited)

/* An older failure, which no wait may show. */
static void older(void)
{
	struct gda_context *none;

	gda_open("no-such-device", &none);
}

#define EXPECT_SAID(words) do {								\
	const char *said_ = gda_last_error();						\
											\
	EXPECT_NE(NULL, strstr(said_, words)) {						\
		TH_LOG("%s", said_);							\
	}										\
	EXPECT_EQ(NULL, strstr(said_, "no-such-device"));				\
} while (0)

TEST_F(waited, I40_14_not_connected)
{
	char words[64];
	struct gda_qp *one;

	older();
	ASSERT_OK(s_qp_open(self->end[0].ctx, 8, 0, &one));
	ASSERT_EQ(0, gda_nop(gda_qp_view(one), 0));
	EXPECT_EQ(-ETIMEDOUT, gda_wait(gda_qp_view(one), 0, SOON));
	snprintf(words, sizeof(words), "gda_wait: ticket 0 of QP %#x: not at the deadline: ",
		 gda_qp_view(one)->qpn);
	EXPECT_SAID(words);
	/* asked of the device */
	EXPECT_SAID("is not connected: gda_qp_connect() was not called");
	EXPECT_EQ(-ETIME, gda_wait(gda_qp_view(one), 0, 1));
	EXPECT_SAID("add gda_clock_ns()");
	EXPECT_EQ(-ETIMEDOUT, gda_quiet(gda_qp_view(one), SOON));
	/*
	 * the device is asked for the wait that failed last, and not for a call that failed since
	 */
	older();
	EXPECT_EQ(NULL, strstr(gda_last_error(), "is not connected"));
	gda_qp_destroy(one);
}

/* The device is not asked about a queue that is gone: another thread may have destroyed it. */
TEST_F(waited, I40_14_destroyed_since)
{
	struct gda_qp *one;

	ASSERT_OK(s_qp_open(self->end[0].ctx, 8, 0, &one));
	ASSERT_EQ(0, gda_nop(gda_qp_view(one), 0));
	EXPECT_EQ(-ETIMEDOUT, gda_wait(gda_qp_view(one), 0, SOON));
	gda_qp_destroy(one);
	EXPECT_SAID("not at the deadline");
	EXPECT_EQ(NULL, strstr(gda_last_error(), "is not connected"));
}

TEST_F(waited, I40_14_failed_and_flushed)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];

	older();
	ASSERT_EQ(0, gda_put(a->v, a->mem.iova, a->mem.key, b->mem.iova, b->mem.key ^ 1, 8,
			     GDA_DEFER));
	ASSERT_EQ(1, s_put(a, 0, b, 0, 8, 0));
	EXPECT_EQ(-ECANCELED, gda_wait(a->v, 1, 0));
	EXPECT_SAID("ticket 1 of QP");
	EXPECT_SAID("was not carried out, for ticket 0 failed before: remote access error");
	older();
	EXPECT_EQ(-EIO, gda_wait(a->v, 0, 0));
	EXPECT_SAID("failed: remote access error: no such key in the protection domain: pass gda_mr_key()");
	/* a call that succeeds leaves it alone, and one that fails has the word */
	EXPECT_EQ(0, gda_mr_query(a->mem.mr, &(struct gda_mr_query){ .size = sizeof(struct gda_mr_query) }));
	EXPECT_SAID("failed: remote access error");
	older();
	EXPECT_NE(NULL, strstr(gda_last_error(), "no-such-device"));
}

TEST_F(waited, I40_14_never_posted)
{
	struct s_end *a = &self->end[0];

	older();
	EXPECT_EQ(-EINVAL, gda_wait(a->v, 12345, 0));
	EXPECT_SAID("ticket 12345 was never posted");
	older();
	EXPECT_EQ(-EMSGSIZE, gda_wait(a->v, -EMSGSIZE, 0));
	EXPECT_SAID("an error of the post: longer than one work request may be");
}

/* A post that waits for room in a ring that nothing empties. */
TEST_F(waited, I40_14_no_room)
{
	struct gda_qp_attr attr = { .size = sizeof(attr), .sq_depth = 4, .timeout_ns = 5000000 };
	struct gda_qp *one;
	int i;

	ASSERT_OK(gda_qp_create(self->end[0].ctx, &attr, &one));
	for (i = 0; i < 4; i++)
		ASSERT_EQ(i, gda_nop(gda_qp_view(one), 0));
	older();
	EXPECT_EQ(-ETIMEDOUT, gda_nop(gda_qp_view(one), 0));
	EXPECT_SAID("no room in its 4 slots: not at the deadline: ticket 0: ");
	EXPECT_SAID("gda_qp_connect() was not called");
	gda_qp_destroy(one);
}

TEST_F(waited, I40_14_ring)
{
	struct gda_cq_attr attr = { .size = sizeof(attr), .depth = 8 };
	struct gda_cq_entry entry = { .size = sizeof(entry) };
	struct gda_cq *cq;

	ASSERT_OK(gda_cq_create(self->end[0].ctx, &attr, &cq));
	older();
	EXPECT_EQ(-ETIMEDOUT, gda_cq_wait(gda_cq_view(cq), &entry, SOON));
	EXPECT_SAID("gda_cq_wait: no entry has come since entry 0: not at the deadline");
	gda_cq_destroy(cq);
}

/* Each thread has its own; the text is of the thread that waited. */
static void *other(void *arg)
{
	struct s_end *a = arg;

	gda_wait(a->v, 777, 0);
	return strstr(gda_last_error(), "ticket 777") ? NULL : arg;
}

TEST_F(waited, I40_14_threads)
{
	struct s_end *a = &self->end[0];
	pthread_t thread;
	void *bad;

	EXPECT_EQ(-EINVAL, gda_wait(a->v, 776, 0));
	ASSERT_EQ(0, pthread_create(&thread, NULL, other, a));
	ASSERT_EQ(0, pthread_join(thread, &bad));
	EXPECT_EQ(NULL, bad);
	EXPECT_SAID("ticket 776");
}

/* A child of fork(2) asks no device, and does not hang on a lock of its parent's threads. */
TEST_F(waited, I40_14_fork)
{
	struct s_end *a = &self->end[0];
	int status;
	pid_t pid;

	ASSERT_EQ(0, s_put(a, 0, &self->end[1], 0, 8, 0));
	ASSERT_OK(gda_quiet(a->v, 0));
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid) {
		alarm(20);
		gda_quiet(a->v, 0);
		_exit(!strstr(gda_last_error(), "belongs to the parent of this process"));
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

/* An errno's text is of every call that returns it: it advises nothing. */
TEST(I40_14_strerror_does_not_guess)
{
	static const char *const guesses[] = {
		"gda_devices", "gdactl", "group gda", "ulimit", "load a", "destroy", "?",
	};

	int e;

	for (e = 1; e < 134; e++) {
		for (size_t i = 0; i < sizeof(guesses) / sizeof(guesses[0]); i++) {
			EXPECT_EQ(NULL, strstr(gda_strerror(e), guesses[i])) {
				TH_LOG("%d: %s", e, gda_strerror(e));
			}
		}
	}
}

TEST_HARNESS_MAIN
