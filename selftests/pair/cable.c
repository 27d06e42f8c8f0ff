// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The pair itself: its sides meet, datagrams pass between them, and a link that is off, a
 * machine that is stopped and netem keep them from passing. Side 1 answers each datagram
 * by the same one; side 0 sends and looks.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <poll.h>
#include <stdint.h>
#include <sys/socket.h>
#include "kselftest_harness.h"
#include "pair.h"

#define PORT	7000

FIXTURE(cable) {
	int fd;
	uint32_t last;	/* of the datagrams that were sent */
};

FIXTURE_SETUP(cable)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(PORT) };

	if (pair_side() < 0)
		SKIP(return, "not in gda-pair");
	self->last = 0;
	self->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, bind(self->fd, (struct sockaddr *)&a, sizeof(a)));
	inet_pton(AF_INET, pair_env("GDA_PAIR_PEER"), &a.sin_addr);
	ASSERT_EQ(0, connect(self->fd, (struct sockaddr *)&a, sizeof(a)));
}

FIXTURE_TEARDOWN(cable)
{
	close(self->fd);
}

static bool arrives(int fd, uint32_t *number, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	/* A refused one is an error of the socket, too. */
	return poll(&p, 1, ms) == 1 && read(fd, number, sizeof(*number)) == sizeof(*number);
}

/* Side 1: send back what comes, until it is number 0. */
static int answer_all(int fd)
{
	uint32_t number;

	while (arrives(fd, &number, PAIR_SECONDS * 1000)) {
		if (!number)
			return 0;
		if (write(fd, &number, sizeof(number)) < 0)
			continue;
	}
	return -ETIMEDOUT;
}

/* Send one datagram. Return: was it answered within @ms? */
static bool answered(FIXTURE_DATA(cable) *self, int ms)
{
	uint32_t sent = ++self->last, got;

	if (write(self->fd, &sent, sizeof(sent)) < 0)
		return false;
	while (arrives(self->fd, &got, ms))
		if (got == sent)
			return true;
	return false;
}

/* The first may be lost: either end may just have come up. */
static bool passes(FIXTURE_DATA(cable) *self)
{
	for (int i = 0; i < 100; i++)
		if (answered(self, 100))
			return true;
	return false;
}

static void dismiss(FIXTURE_DATA(cable) *self)
{
	uint32_t zero = 0;

	if (write(self->fd, &zero, sizeof(zero)) < 0)
		perror("the last datagram");
}

TEST_F_TIMEOUT(cable, meet_and_swap, 60)
{
	uint64_t own = 40 + pair_side(), peer = 0;

	ASSERT_EQ(0, pair_barrier("meet"));
	ASSERT_EQ(0, pair_swap("swap", &own, &peer, sizeof(own)));
	ASSERT_EQ(41 - pair_side(), peer);
}

TEST_F_TIMEOUT(cable, link_off_and_on, 60)
{
	ASSERT_EQ(0, pair_barrier("link"));
	if (pair_side()) {
		ASSERT_EQ(0, answer_all(self->fd));
		return;
	}
	ASSERT_TRUE(passes(self));
	for (int side = 0; side < 2; side++) {
		ASSERT_EQ(0, pair_ask("link-off", side));
		EXPECT_FALSE(answered(self, 500));
		ASSERT_EQ(0, pair_ask("link-on", side));
		EXPECT_TRUE(passes(self));
	}
	dismiss(self);
}

TEST_F_TIMEOUT(cable, stop_and_continue, 60)
{
	ASSERT_EQ(0, pair_barrier("stop"));
	if (pair_side()) {
		ASSERT_EQ(0, answer_all(self->fd));
		return;
	}
	ASSERT_TRUE(passes(self));
	ASSERT_EQ(0, pair_ask("stop", 1));
	EXPECT_FALSE(answered(self, 1000));
	ASSERT_EQ(0, pair_ask("cont", 1));
	EXPECT_TRUE(passes(self));
	dismiss(self);
}

static int netem(const char *how, const char *with)
{
	char command[160];

	snprintf(command, sizeof(command), "tc qdisc %s dev %s root netem %s", how,
		 pair_env("GDA_PAIR_NETDEV"), with);
	return system(command);
}

TEST_F_TIMEOUT(cable, loss_by_netem, 60)
{
	int lost = 0;

	ASSERT_EQ(0, pair_barrier("netem"));
	if (pair_side()) {
		ASSERT_EQ(0, answer_all(self->fd));
		return;
	}
	ASSERT_TRUE(passes(self));
	ASSERT_EQ(0, netem("add", "loss 100%"));
	EXPECT_FALSE(answered(self, 200));
	ASSERT_EQ(0, netem("change", "loss 30%"));
	for (int i = 0; i < 50; i++)
		lost += !answered(self, 50);
	EXPECT_LT(0, lost);
	EXPECT_GT(50, lost);
	ASSERT_EQ(0, netem("del", ""));
	EXPECT_TRUE(passes(self));
	dismiss(self);
}

TEST_F(cable, unknown_requests_are_refused)
{
	EXPECT_EQ(-EINVAL, pair_ask("explode", 1));
	EXPECT_EQ(-EINVAL, pair_ask("link-off", 2));
}

TEST_HARNESS_MAIN
