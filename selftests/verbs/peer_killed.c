// SPDX-License-Identifier: MIT
/*
 * A process is killed while it and its peer put to each other: the peer's queue fails, so that it
 * can end, and the device is as before. On the device that GDA_DEVICE names, `verbs:` or
 * `ib:`. The two sides are killed in turns. With GDA_STRESS=10 each is killed 200 times.
 */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include "../inproc/suite.h"

#define LEN	65536U
#define DEPTH	64
#define BYTES	4096
#define LONG_S	60

struct introduction {
	struct gda_address address;
	uint64_t iova;
	uint32_t key;
};

/* A step that a side did not get through is its exit status. */
enum { ENDED_AS_IT_SHOULD, NO_DEVICE = 10, NO_PEER, NO_CONNECTION, NO_ERROR, WRONG_ERROR };

static bool introduced(int sock, const struct introduction *own, struct introduction *peer)
{
	return send(sock, own, sizeof(*own), MSG_NOSIGNAL) == sizeof(*own) &&
	       recv(sock, peer, sizeof(*peer), MSG_WAITALL) == sizeof(*peer);
}

/* Put until a put fails; tell @ready of the first one that was done. */
static int put_on(struct s_end *e, const struct introduction *peer, int ready)
{
	struct gda_error error = { .size = sizeof(error) };
	uint64_t until = gda_clock_ns() + LONG_S * 1000000000ULL;
	bool told = false;
	int err = 0;

	while (!err && gda_clock_ns() < until) {
		int64_t t = 0;

		for (int i = 0; i < 8 && t >= 0; i++)
			t = gda_put(e->v, e->mem.iova, e->mem.key, peer->iova, peer->key, BYTES, 0);
		err = t < 0 ? (int)t : gda_wait(e->v, t, 0);
		if (!err && !told && write(ready, "", 1) != 1)
			return NO_CONNECTION;
		told = true;
	}
	if (!err)
		return NO_ERROR;
	/* the one that failed, or one behind it */
	if (err != -EIO && err != -ECANCELED)
		return WRONG_ERROR;
	return gda_error(e->v, &error) == 1 ? ENDED_AS_IT_SHOULD : WRONG_ERROR;
}

/* @child: with a child of fork(2), which lives on, and has the parent's files no more. */
static int side(int sock, int ready, bool child)
{
	struct introduction own = { .key = 0 }, peer;
	struct s_end e;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (s_end_open(&e, DEPTH, LEN) || gda_qp_address(e.qp, &own.address))
		return NO_DEVICE;
	own.iova = e.mem.iova;
	own.key = e.mem.key;
	if (!introduced(sock, &own, &peer))
		return NO_PEER;
	if (gda_qp_connect(e.qp, &peer.address))
		return NO_CONNECTION;
	if (child && !fork()) {
		close(sock);
		close(ready);
		for (;;)
			pause();
	}
	return put_on(&e, &peer, ready);
}

/* The exit status, or 128 + the signal; -1 if it does not end, and is killed. */
static int reaped(pid_t pid, unsigned int s)
{
	uint64_t until = gda_clock_ns() + s * 1000000000ULL;
	int status;

	while (!waitpid(pid, &status, WNOHANG)) {
		if (gda_clock_ns() > until) {
			kill(pid, SIGKILL);
			waitpid(pid, &status, 0);
			return -1;
		}
		usleep(1000);
	}
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Wait until both have put. */
static bool both_put(int ready)
{
	char byte;

	return read(ready, &byte, 1) == 1 && read(ready, &byte, 1) == 1;
}

/* Return: 0, or what was wrong with the one that was left; -2 if they did not come so far. */
static int kill_one(int which, useconds_t after, bool child)
{
	int sock[2], ready[2], left;
	pid_t pid[2];
	bool both;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sock) || pipe(ready))
		return -2;
	for (int i = 0; i < 2; i++) {
		pid[i] = fork();
		if (!pid[i]) {
			close(ready[0]);
			close(sock[!i]);
			setpgid(0, 0);
			_exit(side(sock[i], ready[1], child && i == which));
		}
	}
	close(sock[0]);
	close(sock[1]);
	close(ready[1]);
	both = both_put(ready[0]);
	if (both)
		usleep(after);
	kill(pid[which], SIGKILL);
	reaped(pid[which], LONG_S);
	left = reaped(pid[!which], 2 * LONG_S);
	kill(-pid[which], SIGKILL);
	close(ready[0]);
	return both ? left : -2;
}

FIXTURE(peer_killed) {
	struct s_end end[2];
};

FIXTURE_SETUP(peer_killed)
{
	memset(self->end, 0, sizeof(self->end));
}

FIXTURE_TEARDOWN(peer_killed)
{
}

TEST_F_TIMEOUT(peer_killed, E4_either_side, 300)
{
	unsigned long rounds = s_stress(40);
	uint64_t seed = s_seed();

	if (rounds < 20)
		rounds = 20;
	TH_LOG("%lu are killed, GDA_SEED=%llu", rounds, (unsigned long long)seed);
	for (unsigned long r = 0; r < rounds; r++) {
		ASSERT_EQ(0, kill_one(r % 2, (useconds_t)s_below(&seed, 20000), false))
			TH_LOG("round %lu", r);
	}
	/* two that live, on the same device */
	ASSERT_OK(s_pair_open(self->end, DEPTH, LEN)) TH_LOG("%s", gda_last_error());
	EXPECT_OK(gda_wait(self->end[0].v, s_put(&self->end[0], 0, &self->end[1], 0, 8, 0), 0));
	s_pair_close(self->end);
}

TEST_F_TIMEOUT(peer_killed, E4_item5_while_its_child_lives, 300)
{
	EXPECT_EQ(0, kill_one(0, 5000, true));
	EXPECT_EQ(0, kill_one(1, 5000, true));
}

TEST_HARNESS_MAIN
