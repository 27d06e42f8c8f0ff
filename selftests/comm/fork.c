// SPDX-License-Identifier: MIT
/*
 * What children of a rank inherit (item 5): a rank that dies is missed at once although a child
 * of it lives, whichever way the child was made, and a child of fork(2) has no part in the
 * communicator.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
#include <sys/socket.h>
#include <gda/comm.h>
#include <gda/gda.h>
#include "children.h"
#include "kselftest_harness.h"

#define RANKS		3U
#define PATIENCE_NS	20000000000ULL	/* a death that a child hides is found then */

/* @life: the end of a pipe that tells whether the child lives; the other one is inherited */
struct rank {
	const struct gda_comm_id *id;
	uint32_t rank, victim;
	enum child_kind kind;
	int life[2];
};

/* The victim makes a child and dies; the others return how that was for them. */
static int rank_main(const struct rank *r)
{
	struct gda_comm_attr attr = {
		.size = sizeof(attr), .rank = r->rank, .nranks = RANKS, .id = r->id,
		.timeout_ns = PATIENCE_NS,
	};
	struct gda_comm *comm;
	int err;

	if (r->rank != r->victim)
		close(r->life[1]);
	if (gda_comm_create(&attr, &comm) || gda_comm_barrier(comm, 0))
		return 10;
	if (r->rank == r->victim) {
		if (!child_make(r->kind))
			return 11;
		raise(SIGKILL);
	}
	err = gda_comm_barrier(comm, 0);
	if (err != -ECONNRESET || gda_comm_failed(comm) != (int)r->victim) {
		printf("# rank %u: %d, %s\n", r->rank, err, gda_last_error());
		return 12;
	}
	/* a child that has all descriptors hides it for as long as it lives */
	return r->kind == CHILD_CLONE || child_lives(r->life[0]) ? 0 : 13;
}

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

/* Return: the worst exit status of the survivors. */
static int run(uint32_t victim, enum child_kind kind)
{
	struct gda_comm_id id;
	struct rank r = { .id = &id, .victim = victim, .kind = kind };
	int given[2], status, worst = 0;
	pid_t pids[RANKS];
	uint32_t i;

	if (pipe(r.life) || pipe2(given, O_CLOEXEC))
		return -1;
	fflush(stdout);
	/* rank 0 makes the id itself: a listener of this process would be everybody's */
	for (i = 0; i < RANKS; i++) {
		pids[i] = fork();
		if (pids[i])
			continue;
		setpgid(0, 0);
		r.rank = i;
		if (i ? read(given[0], &id, sizeof(id)) != sizeof(id) :
		    gda_comm_id_create(NULL, &id) ||
		    write(given[1], &id, sizeof(id)) != sizeof(id) ||
		    write(given[1], &id, sizeof(id)) != sizeof(id))
			_exit(14);
		status = rank_main(&r);
		fflush(stdout);
		_exit(status);
	}
	close(r.life[1]);
	waitpid(pids[victim], &status, 0);
	/* the child is in the group of the rank, which has gone */
	if (kind == CHILD_CLONE)
		kill(-pids[victim], SIGKILL);
	for (i = 0; i < RANKS; i++) {
		if (i == victim || waitpid(pids[i], &status, 0) != pids[i])
			continue;
		status = WIFEXITED(status) ? WEXITSTATUS(status) : 99;
		worst = status > worst ? status : worst;
	}
	kill(-pids[victim], SIGKILL);
	close(r.life[0]);
	close(given[0]);
	close(given[1]);
	return worst;
}

TEST_F_TIMEOUT(fork, item5_death_of_a_rank, 120)
{
	EXPECT_EQ(0, run(1, variant->kind));
}

TEST_F_TIMEOUT(fork, item5_death_of_rank_0, 120)
{
	EXPECT_EQ(0, run(0, variant->kind));
}

static int sockets(void)
{
	char path[32], what[16];
	int fd, n = 0;

	for (fd = 3; fd < 64; fd++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		if (readlink(path, what, sizeof(what)) >= 7 && !memcmp(what, "socket:", 7))
			n++;
	}
	return n;
}

/* The child has no descriptor of it, and each call says so. */
TEST(item5_a_child_has_no_part)
{
	struct gda_comm_attr attr = { .size = sizeof(attr), .nranks = 1 };
	struct gda_comm_id id;
	struct gda_comm *comm;
	int before = sockets(), status = -1;
	char word = 0;
	pid_t pid;

	/* what was made for a child to be rank 0 stays */
	ASSERT_EQ(0, gda_comm_id_create(NULL, &id));
	ASSERT_EQ(0, gda_comm_create(&attr, &comm));
	pid = fork();
	if (!pid)
		_exit(sockets() != before + 1 || gda_comm_barrier(comm, 0) != -ENODEV ||
		      gda_comm_allgather(comm, &word, 1, &word, 0) != -ENODEV ||
		      gda_comm_state(comm, 0) != -ENODEV || gda_comm_failed(comm) != -ENODEV);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, gda_comm_barrier(comm, 0));
	EXPECT_EQ(-1, gda_comm_failed(comm));
	gda_comm_destroy(comm);
}

static void *create(void *arg)
{
	struct gda_comm_attr attr = {
		.size = sizeof(attr), .nranks = 2, .id = arg, .timeout_ns = 1000000000,
	};
	struct gda_comm *comm;

	return (void *)(intptr_t)gda_comm_create(&attr, &comm);
}

/* The socket that gda-run leaves to rank 0 is not left to the programs that rank 0 starts. */
TEST(item5_the_listener_is_not_inherited_by_exec)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), flags = 0;
	struct gda_comm_id id = { 0 };
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t length = sizeof(at);
	pthread_t thread;
	char text[16];
	void *err;

	ASSERT_EQ(0, listen(fd, 1));
	ASSERT_EQ(0, getsockname(fd, (struct sockaddr *)&at, &length));
	snprintf(id.text, sizeof(id.text), "gda1 127.0.0.1 %u 0123456789abcdef0123456789abcdef",
		 ntohs(at.sin_port));
	snprintf(text, sizeof(text), "%d", fd);
	setenv("GDA_COMM_FD", text, 1);
	setenv("GDA_COMM_ID", id.text, 1);
	ASSERT_EQ(0, fcntl(fd, F_GETFD));
	/* the other rank does not come */
	ASSERT_EQ(0, pthread_create(&thread, NULL, create, &id));
	while (!flags)
		flags = fcntl(fd, F_GETFD);
	EXPECT_EQ(FD_CLOEXEC, flags);
	pthread_join(thread, &err);
	EXPECT_EQ(-ETIMEDOUT, (int)(intptr_t)err);
}

TEST_HARNESS_MAIN
