// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The other end: addresses that are none, SECURITY.md K4 (connecting is mutual), and
 * a peer that goes: destroyed, shut down, closed, killed. The survivor always gets an
 * error completion, and nothing leaks.
 */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include "gda_fixture.h"

#define LEN	(64 * T_PAGE)

FIXTURE(peer) {
	struct t_end end[2];
	uint64_t rnd;
};

T_SETUP(peer)
{
	self->rnd = t_seed();
	ASSERT_OK(t_pair_open(self->end, 64, LEN));
}

T_TEARDOWN(peer)
{
	t_pair_close(self->end);
}

static int address_of(const struct t_qp *qp, struct gda_qp_connect *cmd)
{
	struct gda_qp_address a = { .size = sizeof(a), .handle = qp->qpc.handle };
	int err = t_ioctl(qp->fd, GDA_IOC_QP_ADDRESS, &a);

	memset(cmd, 0, sizeof(*cmd));
	cmd->size = sizeof(*cmd);
	memcpy(cmd->address, a.address, sizeof(cmd->address));
	return err;
}

static int state_of(const struct t_qp *qp)
{
	struct gda_qp_query q;
	int err = t_qp_query(qp->fd, qp->qpc.handle, &q);

	return err ? err : (int)q.state;
}

TEST_F(peer, address_is_stable_and_distinct)
{
	struct gda_qp_connect a, again, b;

	ASSERT_OK(address_of(&self->end[0].qp, &a));
	ASSERT_OK(address_of(&self->end[0].qp, &again));
	ASSERT_OK(address_of(&self->end[1].qp, &b));
	EXPECT_EQ(0, memcmp(a.address, again.address, sizeof(a.address)));
	EXPECT_NE(0, memcmp(a.address, b.address, sizeof(a.address)));
}

/* An address with one bit wrong names no QP, and not another QP. */
TEST_F(peer, address_with_a_bit_wrong)
{
	struct gda_qp_connect cmd;
	struct t_qp a, b;

	ASSERT_OK(t_qp_open(&a, self->end[0].fd, 16));
	ASSERT_OK(t_qp_open(&b, self->end[1].fd, 16));
	for (size_t bit = 0; bit < 8 * GDA_ADDRESS_BYTES; bit++) {
		int err;

		ASSERT_OK(address_of(&b, &cmd));
		cmd.handle = a.qpc.handle;
		cmd.address[bit / 8] ^= (uint8_t)(1U << bit % 8);
		err = t_ioctl(a.fd, GDA_IOC_QP_CONNECT, &cmd);
		EXPECT_TRUE(err == -EINVAL || err == -ENOENT) TH_LOG("bit %zu: %d", bit, err);
	}
	memset(cmd.address, 0, sizeof(cmd.address));
	EXPECT_EQ(-EINVAL, t_ioctl(a.fd, GDA_IOC_QP_CONNECT, &cmd));
	for (int i = 0; i < 1000; i++) {
		int err;

		for (size_t k = 0; k < sizeof(cmd.address); k++)
			cmd.address[k] = (uint8_t)t_random(&self->rnd);
		err = t_ioctl(a.fd, GDA_IOC_QP_CONNECT, &cmd);
		ASSERT_TRUE(err == -EINVAL || err == -ENOENT);
	}
	EXPECT_EQ((int)GDA_QP_INIT, state_of(&a));
	EXPECT_OK(t_connect(&a, &b));
	t_qp_close(&a);
	t_qp_close(&b);
}

TEST_F(peer, states_while_connecting)
{
	struct t_qp a, b;

	ASSERT_OK(t_qp_open(&a, self->end[0].fd, 16));
	ASSERT_OK(t_qp_open(&b, self->end[1].fd, 16));
	EXPECT_EQ((int)GDA_QP_INIT, state_of(&a));
	ASSERT_OK(t_qp_connect(a.fd, a.qpc.handle, b.fd, b.qpc.handle));
	EXPECT_EQ((int)GDA_QP_WAIT, state_of(&a));
	EXPECT_EQ((int)GDA_QP_INIT, state_of(&b));
	EXPECT_EQ(-EALREADY, t_qp_connect(a.fd, a.qpc.handle, b.fd, b.qpc.handle));
	ASSERT_OK(t_qp_connect(b.fd, b.qpc.handle, a.fd, a.qpc.handle));
	EXPECT_EQ((int)GDA_QP_READY, state_of(&a));
	EXPECT_EQ((int)GDA_QP_READY, state_of(&b));
	EXPECT_EQ(-EALREADY, t_qp_connect(b.fd, b.qpc.handle, a.fd, a.qpc.handle));
	t_qp_close(&a);
	t_qp_close(&b);
}

/* Naming a QP gives no access to it: nothing moves until it answers. */
TEST_F(peer, K4_one_sided_connect_moves_nothing)
{
	struct t_end *a = &self->end[0], *b = &self->end[1];
	struct t_done done;
	struct t_qp qa, qb;
	struct t_wr wr;
	uint64_t index;

	ASSERT_OK(t_qp_open(&qa, a->fd, 16));
	ASSERT_OK(t_qp_open(&qb, b->fd, 16));
	ASSERT_OK(t_qp_connect(a->fd, qa.qpc.handle, b->fd, qb.qpc.handle));
	memset(a->mr.addr, 0x77, 64);
	wr = t_wr_write(&a->mr, 0, &b->mr, 0, 64);
	index = t_post(&qa, &wr);
	t_ring(&qa);
	t_sleep_ns(T_NS / 20);
	EXPECT_FALSE(t_poll(&qa, index, &done));
	EXPECT_EQ(0, b->mr.addr[0]);
	/* Then the other one answers, and what waits is done. */
	ASSERT_OK(t_qp_connect(b->fd, qb.qpc.handle, a->fd, qa.qpc.handle));
	EXPECT_OK(t_wait(&qa, index, NULL));
	EXPECT_EQ(0x77, b->mr.addr[63]);
	t_qp_close(&qa);
	t_qp_close(&qb);
}

/* A QP that has a peer cannot be taken over. */
TEST_F(peer, K4_third_party)
{
	struct t_end *a = &self->end[0], *b = &self->end[1];
	int fd = t_context();
	struct t_qp c, d, e;
	struct t_wr wr;

	ASSERT_GE(fd, 0);
	ASSERT_OK(t_qp_open(&c, fd, 16));
	EXPECT_EQ(-EBUSY, t_qp_connect(fd, c.qpc.handle, b->fd, b->qp.qpc.handle));
	EXPECT_EQ((int)GDA_QP_INIT, state_of(&c));
	/* Two that name the same one: the one that it names gets it. */
	ASSERT_OK(t_qp_open(&d, b->fd, 16));
	ASSERT_OK(t_qp_connect(fd, c.qpc.handle, b->fd, d.qpc.handle));
	ASSERT_OK(t_qp_open(&e, a->fd, 16));
	ASSERT_OK(t_connect(&e, &d));
	EXPECT_EQ((int)GDA_QP_READY, state_of(&e));
	EXPECT_NE((int)GDA_QP_READY, state_of(&c));
	wr = t_wr_write(&a->mr, 0, &b->mr, 0, 64);
	EXPECT_OK(t_run(&e, &wr, NULL));
	/* The one in vain learns of it, at the latest when that QP goes. */
	t_qp_close(&d);
	EXPECT_EQ(GDA_MLX5_SYND_RETRY_EXC, t_wait(&c, 0, NULL));
	t_qp_close(&e);
	t_qp_unmap(&c);
	close(fd);
}

/* An address of a QP that is gone, though its number may live again. */
TEST_F(peer, address_of_the_dead)
{
	struct gda_qp_connect cmd;
	struct t_qp a, b;

	ASSERT_OK(t_qp_open(&a, self->end[0].fd, 16));
	ASSERT_OK(t_qp_open(&b, self->end[1].fd, 16));
	ASSERT_OK(address_of(&b, &cmd));
	t_qp_close(&b);
	cmd.handle = a.qpc.handle;
	EXPECT_EQ(-ENOENT, t_ioctl(a.fd, GDA_IOC_QP_CONNECT, &cmd));
	EXPECT_EQ((int)GDA_QP_INIT, state_of(&a));
	t_qp_close(&a);
}

enum way { DESTROY_QP, SHUTDOWN, CLOSE, PEER_ERROR, WAYS };

/* How the peer ends, before and while work flows. */
static void end_of(struct t_end *b, enum way way)
{
	switch (way) {
	case DESTROY_QP:
		t_destroy(b->fd, b->qp.qpc.handle);
		break;
	case SHUTDOWN:
		t_shutdown(b->fd);
		break;
	case CLOSE:
		t_qp_unmap(&b->qp);
		close(b->fd);
		b->fd = 0;
		break;
	default:
		t_ring_index(&b->qp, 1000);
		t_wait(&b->qp, 0, NULL);
		break;
	}
}

TEST_F(peer, gone_while_idle)
{
	for (int way = DESTROY_QP; way < WAYS; way++) {
		struct t_end *a = &self->end[0], *b = &self->end[1];
		struct t_done done;
		struct t_wr wr;

		wr = t_wr_write(&a->mr, 0, &b->mr, 0, 64);
		ASSERT_OK(t_run(&a->qp, &wr, NULL));
		end_of(b, way);
		/* Even without posting: the next index fails. */
		if (way != PEER_ERROR) {
			EXPECT_EQ(GDA_MLX5_SYND_RETRY_EXC, t_wait(&a->qp, 1, &done))
				TH_LOG("way %d", way);
		}
		EXPECT_NE(0, t_run(&a->qp, &wr, &done)) TH_LOG("way %d", way);
		EXPECT_EQ(GDA_MLX5_SYND_RETRY_EXC, done.first_syndrome) TH_LOG("way %d", way);
		EXPECT_EQ(GDA_MLX5_VENDOR_PEER, done.first_vendor) TH_LOG("way %d", way);
		EXPECT_EQ(1, done.first_error) TH_LOG("way %d", way);
		t_pair_close(self->end);
		ASSERT_OK(t_pair_open(self->end, 64, LEN));
	}
}

TEST_F(peer, gone_under_load)
{
	unsigned long rounds = t_stress(40);

	for (unsigned long i = 0; i < rounds; i++) {
		struct t_end *a = &self->end[0], *b = &self->end[1];
		uint64_t last = 0;
		int got;

		for (int k = 0; k < 64; k++) {
			struct t_wr wr = t_wr_write(&a->mr, 0, &b->mr, 0, LEN);

			if (k & 1)
				wr = t_wr_read(&a->mr, 0, &b->mr, 0, LEN);
			wr.ce = k < 63 ? 0xff : GDA_MLX5_CE_ALWAYS;
			last = t_post(&a->qp, &wr);
		}
		t_ring(&a->qp);
		t_sleep_ns(t_random(&self->rnd) % 2000000);
		end_of(b, (enum way)(i % PEER_ERROR));
		got = t_wait(&a->qp, last, NULL);
		/* All may have been done before: then the next one fails. */
		if (!got)
			got = t_wait(&a->qp, last + 1, NULL);
		ASSERT_GT(got, 0) TH_LOG("round %lu", i);
		t_pair_close(self->end);
		ASSERT_OK(t_pair_open(self->end, 64, LEN));
	}
}

/* Memory that is deregistered while it is written to: not a byte after the call. */
TEST_F(peer, target_deregistered_under_load)
{
	unsigned long rounds = t_stress(60);

	for (unsigned long i = 0; i < rounds; i++) {
		struct t_end *a = &self->end[0], *b = &self->end[1];
		uint64_t last = 0;

		memset(a->mr.addr, 0x5a, LEN);
		for (int k = 0; k < 64; k++) {
			struct t_wr wr = t_wr_write(&a->mr, 0, &b->mr, 0, LEN);

			wr.ce = k < 63 ? 0xff : GDA_MLX5_CE_ALWAYS;
			last = t_post(&a->qp, &wr);
		}
		t_ring(&a->qp);
		t_sleep_ns(t_random(&self->rnd) % 1000000);
		ASSERT_OK(t_destroy(b->fd, b->mr.handle));
		b->mr.handle = 0;
		memset(b->mr.addr, 0xc3, LEN);
		/* All was done before, or what is left fails; in vain either way. */
		ASSERT_NE(-ETIMEDOUT, t_wait(&a->qp, last, NULL));
		ASSERT_TRUE(t_all(b->mr.addr, 0xc3, LEN)) TH_LOG("round %lu", i);
		t_pair_close(self->end);
		ASSERT_OK(t_pair_open(self->end, 64, LEN));
	}
}

/* The child's side of the kill test: connects to the parent's QP and streams. */
static int child_streams(int sock, bool killed_while_target)
{
	struct gda_qp_address mine = { .size = sizeof(mine) };
	struct gda_qp_connect cmd = { .size = sizeof(cmd) };
	struct t_mr mr, theirs = { 0 };
	struct t_qp qp;
	int fd = t_context();

	if (fd < 0 || t_qp_open(&qp, fd, 64) || t_mr_new(fd, LEN, GDA_ACCESS_ALL, &mr))
		return 1;
	mine.handle = qp.qpc.handle;
	cmd.handle = qp.qpc.handle;
	if (t_ioctl(fd, GDA_IOC_QP_ADDRESS, &mine) ||
	    send(sock, mine.address, sizeof(mine.address), 0) != sizeof(mine.address) ||
	    recv(sock, cmd.address, sizeof(cmd.address), MSG_WAITALL) != sizeof(cmd.address) ||
	    t_ioctl(fd, GDA_IOC_QP_CONNECT, &cmd) ||
	    send(sock, &mr, sizeof(mr), 0) != sizeof(mr) ||
	    recv(sock, &theirs, sizeof(theirs), MSG_WAITALL) != sizeof(theirs))
		return 2;
	for (;;) {
		struct t_wr wr = t_wr_write(&mr, 0, &theirs, 0, LEN);

		if (killed_while_target)
			t_sleep_ns(T_NS / 1000);
		else if (t_run(&qp, &wr, NULL))
			return 3;
	}
}

/* Connect @a to the child that @sock leads to; its MR comes back. */
static int meet(struct t_end *a, int sock, struct t_mr *theirs)
{
	struct gda_qp_connect cmd = { .size = sizeof(cmd) }, mine;
	int err = address_of(&a->qp, &mine);

	if (err)
		return err;
	cmd.handle = a->qp.qpc.handle;
	if (recv(sock, cmd.address, sizeof(cmd.address), MSG_WAITALL) != sizeof(cmd.address))
		return -EPIPE;
	err = t_ioctl(a->fd, GDA_IOC_QP_CONNECT, &cmd);
	if (err)
		return err;
	if (send(sock, mine.address, sizeof(mine.address), 0) != sizeof(mine.address) ||
	    recv(sock, theirs, sizeof(*theirs), MSG_WAITALL) != sizeof(*theirs) ||
	    send(sock, &a->mr, sizeof(a->mr), 0) != sizeof(a->mr))
		return -EPIPE;
	return 0;
}

/* kill -9 at random moments of a stream, in either direction or both. */
TEST_F(peer, killed)
{
	unsigned long rounds = t_stress(20);
	struct t_objects before, after;

	t_pair_close(self->end);
	ASSERT_OK(t_objects_read(&before));
	for (unsigned long i = 0; i < rounds; i++) {
		struct t_end *a = &self->end[0];
		bool write = i & 1, target = i & 2;
		struct t_mr theirs;
		struct t_done done;
		int pair[2], got = 0;
		uint64_t until;
		pid_t pid;

		ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair));
		pid = fork();
		ASSERT_GE(pid, 0);
		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			close(pair[0]);
			_exit(child_streams(pair[1], target));
		}
		close(pair[1]);
		a->fd = t_context();
		ASSERT_GE(a->fd, 0);
		ASSERT_OK(t_qp_open(&a->qp, a->fd, 64));
		ASSERT_OK(t_mr_new(a->fd, LEN, GDA_ACCESS_ALL, &a->mr));
		ASSERT_OK(meet(a, pair[0], &theirs));
		until = t_now() + t_random(&self->rnd) % 20000000;
		while (write && !got && t_now() < until) {
			struct t_wr wr = t_wr_write(&a->mr, 0, &theirs, 0, LEN);

			got = t_run(&a->qp, &wr, NULL);
		}
		ASSERT_EQ(0, got);
		if (!write)
			t_sleep_ns(until - t_now() < T_NS ? until - t_now() : 0);
		kill(pid, SIGKILL);
		EXPECT_GT(t_wait(&a->qp, a->qp.next, &done), 0) TH_LOG("round %lu", i);
		EXPECT_EQ(GDA_MLX5_SYND_RETRY_EXC, done.first_syndrome);
		EXPECT_EQ(128 + SIGKILL, t_reap(pid, T_WAIT_NS));
		t_pair_close(self->end);
		close(pair[0]);
	}
	EXPECT_OK(t_objects_settle(&before, &after));
}

TEST_HARNESS_MAIN
