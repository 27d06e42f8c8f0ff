// SPDX-License-Identifier: MIT
/*
 * Children of a rank (item 5): its sessions go on as if there were none, and in a child of fork(2)
 * every event of a session fails.
 */
#include <errno.h>
#include <signal.h>
#include <unistd.h>
#include "../comm/children.h"
#include "kselftest_harness.h"
#include "world.h"

#define N	2U
#define BYTES	65536U

FIXTURE(fork) {
	struct world world;
	struct gda_async_session s;	/* of rank 0, to rank 1 */
	uint64_t scratch[64];
};

FIXTURE_SETUP(fork)
{
	/* children that live are in the group of this process */
	setpgid(0, 0);
	self->world.n = N;
	self->world.bytes = BYTES;
	self->world.attr.queues = 1;
	self->world.attr.depth = 64;
	ASSERT_EQ(0, world_begin(&self->world));
	ASSERT_EQ(0, world_open(&self->world, 0, 1, self->scratch, sizeof(self->scratch),
				&self->s));
}

FIXTURE_TEARDOWN(fork)
{
	world_end(&self->world);
	signal(SIGTERM, SIG_IGN);
	kill(0, SIGTERM);
}

static int put(FIXTURE_DATA(fork) *self)
{
	gda_async_put(&self->s, GDA_ASYNC_PEER, self->world.r[1].mem, self->world.r[0].mem, 4096, 0);
	return gda_async_wait(&self->s, 0);
}

/* Return: 0, or which expectation was not met. */
static int child(FIXTURE_DATA(fork) *self)
{
	struct gda_async_workspace *w;
	struct gda_async_attr attr = { .size = sizeof(attr), .queues = 1 };
	int i;

	for (i = 0; i < 200; i++)
		if (put(self) >= 0)
			return 1;
	if (gda_comm_barrier(self->world.r[0].comm, 0) != -ENODEV)
		return 2;
	if (gda_async_create(self->world.r[0].comm, self->world.r[0].ctx, &attr, &w) >= 0)
		return 3;
	gda_async_destroy(self->world.r[0].w);
	gda_close(self->world.r[0].ctx);
	gda_comm_destroy(self->world.r[0].comm);
	return 0;
}

TEST_F(fork, item5_children)
{
	int kind, status = -1;
	uint32_t i;
	pid_t pid;

	world_fill(self->world.r[0].mem, 4096, 1);
	pid = fork();
	if (!pid)
		_exit(child(self));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_TRUE(world_only(self->world.r[1].mem, 4096, 0));
	for (kind = CHILD_FORK; kind <= CHILD_CLONE; kind++)
		EXPECT_TRUE(child_make((enum child_kind)kind));
	for (i = 1; i < 50; i++) {
		world_fill(self->world.r[0].mem, 4096, i);
		ASSERT_EQ(0, put(self));
		ASSERT_TRUE(world_is(self->world.r[1].mem, 4096, i));
	}
}

TEST_HARNESS_MAIN
