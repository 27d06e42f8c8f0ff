// SPDX-License-Identifier: MIT
/*
 * The in-process device and processes: a child of fork(2) cannot use what its parent
 * opened, but may open its own, and the parent notices nothing. Not in the guest.
 */
#include <sys/wait.h>
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

/* What a child finds; its exit status is the line that failed. */
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

/* GDA_DEVICE, and names that are none. */
TEST(names)
{
	struct gda_context *ctx;
	struct gda_query q = { .size = sizeof(q) };

	ASSERT_OK(gda_open("inproc", &ctx));
	ASSERT_OK(gda_context_query(ctx, &q));
	EXPECT_STREQ("inproc", (const char *)q.device);
	EXPECT_NE(0, q.features[0] & GDA_FEATURE_MR_USER);
	gda_close(ctx);
	setenv("GDA_DEVICE", "inproc", 1);
	ASSERT_OK(gda_open(NULL, &ctx));
	gda_close(ctx);
	setenv("GDA_DEVICE", "no such device", 1);
	EXPECT_EQ(-ENOENT, gda_open(NULL, &ctx));
	EXPECT_EQ(-ENOENT, gda_open("inproc0", &ctx));
}

TEST_HARNESS_MAIN
