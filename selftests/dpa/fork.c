// SPDX-License-Identifier: MIT
/*
 * The process of tasks ends with the program that has the context (item 5), whichever kind of
 * child the program left, and whether that has the context's socket or not.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../comm/children.h"
#include "dpa.h"
#include "dpa_internal.h"
#include "paths.h"

#define PATIENCE_MS	20000

FIXTURE(fork)
{
	int none;
};

FIXTURE_VARIANT(fork)
{
	enum child_kind kind;
};

FIXTURE_VARIANT_ADD(fork, fork) { .kind = CHILD_FORK };
FIXTURE_VARIANT_ADD(fork, vfork) { .kind = CHILD_VFORK };
FIXTURE_VARIANT_ADD(fork, posix_spawn) { .kind = CHILD_SPAWN };
FIXTURE_VARIANT_ADD(fork, system) { .kind = CHILD_SYSTEM };
FIXTURE_VARIANT_ADD(fork, clone_and_exec) { .kind = CHILD_CLONE_EXEC };
FIXTURE_VARIANT_ADD(fork, clone) { .kind = CHILD_CLONE };

FIXTURE_SETUP(fork)
{
}

FIXTURE_TEARDOWN(fork)
{
}

/* Tell @out which process has the tasks, make a child, and wait to be killed. */
static void program(enum child_kind kind, int out)
{
	struct gda_dpa_attr attr = {
		.size = sizeof(attr), .threads = 1, .events = 4, .launches = 4, .log_lines = 4,
		.heap_bytes = 4096, .program = tasks_path,
	};
	struct gda_context *ctx;
	struct gda_dpa *dpa;

	setpgid(0, 0);
	if (gda_open(NULL, &ctx) || gda_dpa_create(ctx, &attr, &dpa) || !child_make(kind) ||
	    write(out, &dpa->pid, sizeof(dpa->pid)) != sizeof(dpa->pid))
		_exit(1);
	for (;;)
		pause();
}

TEST_F_TIMEOUT(fork, item5_tasks_end_with_the_program, 120)
{
	int out[2], life[2];
	struct pollfd p = { .events = POLLIN };
	pid_t pid, tasks = 0;

	ASSERT_EQ(0, pipe2(out, O_CLOEXEC));
	ASSERT_EQ(0, pipe(life));
	pid = fork();
	if (!pid) {
		close(out[0]);
		/* gda-dpa closes it */
		program(variant->kind, out[1]);
	}
	close(out[1]);
	close(life[1]);
	ASSERT_EQ((ssize_t)sizeof(tasks), read(out[0], &tasks, sizeof(tasks)));
	p.fd = (int)syscall(SYS_pidfd_open, tasks, 0);
	ASSERT_LE(0, p.fd);
	EXPECT_EQ(0, poll(&p, 1, 0));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	EXPECT_EQ(1, poll(&p, 1, PATIENCE_MS));
	EXPECT_TRUE(child_lives(life[0]));
	/* the child is in the group of the program, which has gone */
	kill(-pid, SIGKILL);
	kill(tasks, SIGKILL);
	close(p.fd);
	close(life[0]);
	close(out[0]);
}

/* A child that destroys the context closes nothing that is its own by then. */
TEST(item5_a_child_keeps_its_descriptors)
{
	struct gda_dpa_attr attr = {
		.size = sizeof(attr), .threads = 1, .events = 4, .launches = 4, .log_lines = 4,
		.heap_bytes = 4096, .program = tasks_path,
	};
	int fds[16], i, bad = 0, status = -1;
	struct gda_context *ctx;
	struct gda_dpa *dpa;
	pid_t pid;

	ASSERT_EQ(0, gda_open(NULL, &ctx));
	ASSERT_EQ(0, gda_dpa_create(ctx, &attr, &dpa)) TH_LOG("%s", gda_last_error());
	pid = fork();
	if (!pid) {
		for (i = 0; i < 16; i++)
			fds[i] = open("/dev/null", O_RDONLY);
		bad += gda_dpa_destroy(dpa) != -ENODEV;
		for (i = 0; i < 16; i++)
			bad += fcntl(fds[i], F_GETFD) < 0;
		_exit(bad);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, gda_dpa_destroy(dpa));
	gda_close(ctx);
}

TEST_HARNESS_MAIN
