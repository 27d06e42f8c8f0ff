// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * How queue pairs of an RDMA device find each other and lose each other: whichever end names its
 * peer first, strangers, requests that wait, and a peer whose process is killed.
 */
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include "gda_fixture.h"
#include "rxe.h"

#define DEPTH	16
#define PENDING	64		/* GDA_CM_MAX_PENDING */

T_RXE_FIXTURE(ib_connect)

static int address(const struct t_qp *qp, uint8_t bytes[GDA_ADDRESS_BYTES])
{
	struct gda_qp_address cmd = { .size = sizeof(cmd), .handle = qp->qpc.handle };
	int err = t_ioctl(qp->fd, GDA_IOC_QP_ADDRESS, &cmd);

	memcpy(bytes, cmd.address, GDA_ADDRESS_BYTES);
	return err;
}

static int name(const struct t_qp *qp, const uint8_t bytes[GDA_ADDRESS_BYTES])
{
	struct gda_qp_connect cmd = { .size = sizeof(cmd), .handle = qp->qpc.handle };

	memcpy(cmd.address, bytes, GDA_ADDRESS_BYTES);
	return t_ioctl(qp->fd, GDA_IOC_QP_CONNECT, &cmd);
}

/* @end[0] is the one that asks: its address is the greater one. */
static int make_asker_first(struct t_end end[2])
{
	uint8_t a[GDA_ADDRESS_BYTES], b[GDA_ADDRESS_BYTES];
	int err = t_ib_pair_make(end, DEPTH, T_PAGE);

	err = err ? err : address(&end[0].qp, a);
	err = err ? err : address(&end[1].qp, b);
	if (!err && memcmp(a, b, sizeof(a)) < 0) {
		struct t_end e = end[0];

		end[0] = end[1];
		end[1] = e;
	}
	return err;
}

static int put(struct t_end *from, struct t_end *to)
{
	struct t_wr wr = t_wr_write(&from->mr, 0, &to->mr, 0, 8);

	return t_run(&from->qp, &wr, NULL);
}

/* Work that is posted before the peer has named the QP waits, and is then carried out. */
TEST_F(ib_connect, E1_either_end_first)
{
	for (int i = 0; i < 6; i++) {
		int first = i % 2;
		uint8_t a[GDA_ADDRESS_BYTES], b[GDA_ADDRESS_BYTES];
		struct gda_qp_query q;
		struct t_wr wr;
		uint64_t last;

		ASSERT_OK(make_asker_first(self->end));
		ASSERT_OK(address(&self->end[first].qp, a));
		ASSERT_OK(address(&self->end[!first].qp, b));
		ASSERT_OK(name(&self->end[first].qp, b));
		EXPECT_EQ(-EALREADY, name(&self->end[first].qp, b));
		wr = t_wr_write(&self->end[first].mr, 0, &self->end[!first].mr, 0, 8);
		memset(self->end[first].mr.addr, 0x5a, 8);
		last = t_post(&self->end[first].qp, &wr);
		t_ring(&self->end[first].qp);
		/* long enough that a request has come */
		t_sleep_ns(T_NS / 10 * (unsigned int)(i / 2));
		ASSERT_OK(t_qp_query(self->end[first].fd, self->end[first].qp.qpc.handle, &q));
		EXPECT_EQ((uint32_t)GDA_QP_WAIT, q.state);
		EXPECT_TRUE(t_all(self->end[!first].mr.addr, 0, 8));
		ASSERT_OK(name(&self->end[!first].qp, a));
		EXPECT_OK(t_wait(&self->end[first].qp, last, NULL)) TH_LOG("round %d", i);
		EXPECT_TRUE(t_all(self->end[!first].mr.addr, 0x5a, 8));
		ASSERT_OK(t_ib_wait_ready(&self->end[!first].qp));
		EXPECT_OK(put(&self->end[!first], &self->end[first]));
		t_pair_close(self->end);
		memset(self->end, 0, sizeof(self->end));
	}
}

/* A request that comes while its QP names the peer is accepted once. */
TEST_F(ib_connect, E1_named_as_the_request_comes)
{
	unsigned long rounds = t_short(12, 30);
	uint64_t seed = t_seed();

	for (unsigned long r = 0; r < rounds; r++) {
		uint8_t asker[GDA_ADDRESS_BYTES], asked[GDA_ADDRESS_BYTES];

		ASSERT_OK(make_asker_first(self->end));
		ASSERT_OK(address(&self->end[0].qp, asker));
		ASSERT_OK(address(&self->end[1].qp, asked));
		ASSERT_OK(name(&self->end[0].qp, asked));
		t_sleep_ns(t_random(&seed) % (T_NS / 200));
		ASSERT_OK(name(&self->end[1].qp, asker));
		ASSERT_OK(t_ib_wait_ready(&self->end[0].qp)) TH_LOG("round %lu", r);
		ASSERT_OK(t_ib_wait_ready(&self->end[1].qp)) TH_LOG("round %lu", r);
		EXPECT_OK(put(&self->end[0], &self->end[1]));
		EXPECT_OK(put(&self->end[1], &self->end[0]));
		t_pair_close(self->end);
		memset(self->end, 0, sizeof(self->end));
	}
}

/*
 * The end that is asked waits while its peer is there and may ask, and fails when the peer is
 * gone before it has asked, or has named another.
 */
TEST_F(ib_connect, E4_peer_that_never_asks)
{
	for (int i = 0; i < 2; i++) {
		uint8_t a[GDA_ADDRESS_BYTES];
		struct gda_qp_query q;
		struct t_end other = { 0 };
		struct t_qp *asked = &self->end[1].qp;

		ASSERT_OK(make_asker_first(self->end));
		ASSERT_OK(address(&self->end[0].qp, a));
		ASSERT_OK(name(asked, a));
		/* it has asked after its peer */
		EXPECT_EQ(-ETIMEDOUT, t_wait_state(asked, GDA_QP_WAIT, 5 * T_NS / 2));
		if (i) {
			other.fd = t_context_on(T_IB);
			ASSERT_LE(0, other.fd);
			ASSERT_OK(t_qp_open(&other.qp, other.fd, DEPTH));
			ASSERT_OK(address(&other.qp, a));
			ASSERT_OK(name(&self->end[0].qp, a));
		} else {
			t_qp_close(&self->end[0].qp);
		}
		EXPECT_EQ(GDA_QP_ERROR, t_wait_state(asked, GDA_QP_WAIT, T_WAIT_NS));
		ASSERT_OK(t_qp_query(asked->fd, asked->qpc.handle, &q));
		EXPECT_EQ(GDA_MLX5_VENDOR_PEER, q.vendor);
		if (i) {
			t_qp_close(&other.qp);
			close(other.fd);
		}
		t_pair_close(self->end);
		memset(self->end, 0, sizeof(self->end));
	}
}

/* Bytes that are no address, the wrong nonce, a number that nobody has. */
TEST_F(ib_connect, E6_stranger_is_refused)
{
	static const int flipped[] = { 8, 15, 7 };

	for (size_t i = 0; i < ARRAY_SIZE(flipped); i++) {
		uint8_t a[GDA_ADDRESS_BYTES], b[GDA_ADDRESS_BYTES];
		struct t_end stranger = { 0 };

		ASSERT_OK(make_asker_first(self->end));
		ASSERT_OK(address(&self->end[1].qp, b));
		b[0] ^= 1;
		EXPECT_EQ(-EINVAL, name(&self->end[0].qp, b));
		b[0] ^= 1;
		/* a third QP, whose number and so whose address is greater than both, asks */
		stranger.fd = t_context_on(T_IB);
		ASSERT_LE(0, stranger.fd);
		ASSERT_OK(t_qp_open(&stranger.qp, stranger.fd, DEPTH));
		ASSERT_OK(address(&stranger.qp, a));
		b[flipped[i]] ^= 0x10;
		if (memcmp(a, b, sizeof(a)) > 0) {
			ASSERT_OK(name(&stranger.qp, b));
			EXPECT_EQ(GDA_QP_ERROR,
				  t_wait_state(&stranger.qp, GDA_QP_WAIT, T_WAIT_NS))
				TH_LOG("byte %d", flipped[i]);
		}
		/* the target is as before */
		ASSERT_OK(t_connect(&self->end[0].qp, &self->end[1].qp));
		ASSERT_OK(t_ib_wait_ready(&self->end[0].qp));
		EXPECT_OK(put(&self->end[0], &self->end[1]));
		t_qp_close(&stranger.qp);
		close(stranger.fd);
		t_pair_close(self->end);
		memset(self->end, 0, sizeof(self->end));
	}
}

/* So many may wait for one QP, and no more; one is chosen, and the others fail. */
TEST_F(ib_connect, E6_64_wait)
{
	uint8_t to[GDA_ADDRESS_BYTES], from[GDA_ADDRESS_BYTES];
	int failed = 0, chosen = -1;
	struct t_qp *asks;
	struct t_qp target;
	int fd;

	asks = calloc(PENDING + 1, sizeof(*asks));
	fd = t_context_on(T_IB);
	ASSERT_NE(NULL, asks);
	ASSERT_LE(0, fd);
	ASSERT_OK(t_qp_open(&target, fd, DEPTH));
	ASSERT_OK(address(&target, to));
	for (int i = 0; i <= PENDING; i++) {
		ASSERT_OK(t_qp_open(&asks[i], fd, DEPTH));
		ASSERT_OK(address(&asks[i], from));
		if (memcmp(from, to, sizeof(from)) < 0)
			SKIP(break, "the numbers have gone round");
		ASSERT_OK(name(&asks[i], to));
	}
	for (uint64_t until = t_now() + T_WAIT_NS; !failed && t_now() < until;) {
		for (int i = 0; i <= PENDING; i++) {
			struct gda_qp_query q;

			ASSERT_OK(t_qp_query(fd, asks[i].qpc.handle, &q));
			if (q.state == GDA_QP_ERROR)
				failed++;
			else
				chosen = i;
		}
	}
	EXPECT_EQ(1, failed);
	ASSERT_LE(0, chosen);
	ASSERT_OK(address(&asks[chosen], from));
	ASSERT_OK(name(&target, from));
	EXPECT_OK(t_ib_wait_ready(&asks[chosen]));
	for (int i = 0; i <= PENDING; i++)
		if (i != chosen)
			EXPECT_EQ(GDA_QP_ERROR, t_wait_state(&asks[i], GDA_QP_WAIT, T_WAIT_NS));
	for (int i = 0; i <= PENDING; i++)
		t_qp_close(&asks[i]);
	t_qp_close(&target);
	close(fd);
	free(asks);
}

/* One that gave up takes no place: more than may wait at a time ask, and go again. */
TEST_F(ib_connect, E6_place_of_one_that_gave_up)
{
	uint8_t to[GDA_ADDRESS_BYTES], from[GDA_ADDRESS_BYTES];
	struct t_qp target, asks;
	int fd = t_context_on(T_IB);

	ASSERT_LE(0, fd);
	ASSERT_OK(t_qp_open(&target, fd, DEPTH));
	ASSERT_OK(address(&target, to));
	for (int i = 0; i < PENDING + 8; i++) {
		ASSERT_OK(t_qp_open(&asks, fd, DEPTH));
		ASSERT_OK(address(&asks, from));
		if (memcmp(from, to, sizeof(from)) < 0)
			SKIP(break, "the numbers have gone round");
		ASSERT_OK(name(&asks, to));
		t_sleep_ns(T_NS / 20);
		EXPECT_EQ(-ETIMEDOUT, t_wait_state(&asks, GDA_QP_WAIT, 1)) TH_LOG("request %d", i);
		t_qp_close(&asks);
	}
	ASSERT_OK(t_qp_open(&asks, fd, DEPTH));
	ASSERT_OK(address(&asks, from));
	ASSERT_OK(name(&asks, to));
	EXPECT_EQ(-ETIMEDOUT, t_wait_state(&asks, GDA_QP_WAIT, T_NS));
	ASSERT_OK(name(&target, from));
	EXPECT_OK(t_ib_wait_ready(&asks));
	t_qp_close(&asks);
	t_qp_close(&target);
	close(fd);
}

/* A process that names its peer by the socket, and then does nothing. */
static int peer_main(int sock)
{
	uint8_t mine[GDA_ADDRESS_BYTES], other[GDA_ADDRESS_BYTES];
	struct t_end end = { 0 };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	end.fd = t_context_on(T_IB);
	CHECK(end.fd >= 0);
	CHECK(!t_qp_open(&end.qp, end.fd, DEPTH));
	CHECK(!address(&end.qp, mine));
	CHECK(send(sock, mine, sizeof(mine), 0) == sizeof(mine));
	CHECK(recv(sock, other, sizeof(other), MSG_WAITALL) == sizeof(other));
	CHECK(!name(&end.qp, other));
	CHECK(!t_ib_wait_ready(&end.qp));
	CHECK(send(sock, mine, 1, 0) == 1);
	pause();
	return 0;
}

TEST_F(ib_connect, E4_peer_killed)
{
	unsigned long rounds = t_short(5, 10);

	for (unsigned long r = 0; r < rounds; r++) {
		uint8_t mine[GDA_ADDRESS_BYTES], other[GDA_ADDRESS_BYTES];
		struct gda_qp_query q;
		struct t_qp qp;
		int sock[2], fd;
		pid_t pid;

		ASSERT_OK(socketpair(AF_UNIX, SOCK_STREAM, 0, sock));
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid)
			_exit(peer_main(sock[1]));
		close(sock[1]);
		fd = t_context_on(T_IB);
		ASSERT_LE(0, fd);
		ASSERT_OK(t_qp_open(&qp, fd, DEPTH));
		ASSERT_OK(address(&qp, mine));
		ASSERT_EQ(sizeof(mine), send(sock[0], mine, sizeof(mine), MSG_NOSIGNAL));
		ASSERT_EQ(sizeof(other), recv(sock[0], other, sizeof(other), MSG_WAITALL));
		ASSERT_OK(name(&qp, other));
		ASSERT_EQ(1, recv(sock[0], other, 1, 0));
		ASSERT_OK(t_ib_wait_ready(&qp));
		kill(pid, SIGKILL);
		EXPECT_EQ(128 + SIGKILL, t_reap(pid, T_WAIT_NS));
		/* idle as it is */
		EXPECT_EQ(GDA_QP_ERROR, t_wait_state(&qp, GDA_QP_READY, T_WAIT_NS))
			TH_LOG("round %lu", r);
		ASSERT_OK(t_qp_query(fd, qp.qpc.handle, &q));
		EXPECT_EQ(GDA_MLX5_VENDOR_PEER, q.vendor);
		t_qp_close(&qp);
		close(fd);
		close(sock[0]);
	}
}

/* The device as a new network namespace sees it: the error of a bind there. */
static int bind_elsewhere(void *arg)
{
	(void)arg;
	if (unshare(CLONE_NEWNET))
		return 127;
	return -t_context_on(T_IB);
}

/*
 * Devices are shared by all namespaces, or each is in one of them. In one of which it is not
 * there is no way to the device; in one that shares it, it has no address.
 */
TEST_F(ib_connect, P2_namespace_without_the_device)
{
	int fd;

	EXPECT_EQ(EADDRNOTAVAIL, t_in_child(bind_elsewhere, NULL));
	if (system("rdma system set netns exclusive"))
		SKIP(return, "no exclusive namespaces here");
	EXPECT_EQ(ENOENT, t_in_child(bind_elsewhere, NULL));
	fd = t_context_on(T_IB);
	EXPECT_LE(0, fd);
	close(fd);
	/* the namespaces of both children go in their own time */
	for (uint64_t until = t_now() + T_WAIT_NS; t_now() < until;) {
		if (!system("rdma system set netns shared 2>/dev/null"))
			break;
		t_sleep_ns(T_NS / 10);
	}
}

TEST_HARNESS_MAIN
