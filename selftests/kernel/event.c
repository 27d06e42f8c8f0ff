// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The worker of a CQ's context signals its eventfd. SECURITY.md E11: an owner may have any
 * number of waiters on its eventfd, so they may delay only the owner: no peer whose
 * immediate is the event, no exporter that takes the CQ's memory away, and no thread that waits
 * for executors. And no event is lost on the way.
 */
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include "gda_fixture.h"
#include "move.h"

#define DEPTH	64
#define CQES	64

/* A poster, and a receiver with a ring for the immediates of the poster. */
FIXTURE(event) {
	int test;			/* /dev/gda_test */
	int fd[2];
	struct t_qp qp[2];
	struct t_mr mr[2];
	struct t_cq_ring ring;
};

static int arm(int fd, uint32_t cq, uint32_t flags, int event)
{
	struct gda_cq_event cmd = {
		.size = sizeof(cmd), .flags = flags, .handle = cq, .eventfd = event,
	};

	return t_ioctl(fd, GDA_IOC_CQ_EVENT, &cmd);
}

static int new_event(void)
{
	return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
}

/* How often it was signalled, waiting @ms for the first. */
static uint64_t signals(int event, int ms)
{
	struct pollfd p = { .fd = event, .events = POLLIN };
	uint64_t n = 0;

	return poll(&p, 1, ms) == 1 && read(event, &n, 8) == 8 ? n : 0;
}

/* Adds a waiter in the kernel that delays each signal of @event by @busy_us; or -errno. */
static int watch(int event, uint32_t busy_us)
{
	struct gda_test_watch cmd = { .fd = event, .busy_us = busy_us };
	int fd = open("/dev/gda_test_watch", O_RDWR | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = t_ioctl(fd, GDA_TEST_WATCH, &cmd);
	if (!err)
		return fd;
	close(fd);
	return err;
}

static int signaller(int watch)
{
	struct gda_test_watched seen;

	return t_ioctl(watch, GDA_TEST_WATCHED, &seen) ? -1 : seen.pid;
}

static uint32_t called(int watch)
{
	struct gda_test_watched seen;

	return t_ioctl(watch, GDA_TEST_WATCHED, &seen) ? ~0U : seen.count;
}

static int receiver_open(FIXTURE_DATA(event) *self)
{
	int err = t_cq_ring_open(&self->ring, self->fd[1], CQES);

	return err ? err : t_qp_open_receiver(&self->qp[1], self->fd[1], DEPTH,
					      self->ring.cq.handle);
}

T_SETUP(event)
{
	memset(self, 0, sizeof(*self));
	self->test = open("/dev/gda_test", O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, self->test);
	for (int i = 0; i < 2; i++) {
		self->fd[i] = t_context();
		ASSERT_LE(0, self->fd[i]);
		ASSERT_OK(t_mr_new(self->fd[i], T_PAGE, GDA_ACCESS_ALL, &self->mr[i]));
	}
	ASSERT_OK(t_qp_open(&self->qp[0], self->fd[0], DEPTH));
	ASSERT_OK(receiver_open(self));
	ASSERT_OK(t_connect(&self->qp[0], &self->qp[1]));
}

T_TEARDOWN(event)
{
	t_qp_close(&self->qp[0]);
	t_qp_unmap(&self->qp[1]);
	t_cq_ring_unmap(&self->ring);
	for (int i = 0; i < 2; i++) {
		munmap(self->mr[i].addr, T_PAGE);
		if (self->fd[i] >= 0)
			close(self->fd[i]);
	}
	close(self->test);
}

static int nop(struct t_qp *qp)
{
	struct t_wr wr = { .opcode = GDA_MLX5_NOP };

	return t_run(qp, &wr, NULL);
}

static void send_imm(FIXTURE_DATA(event) *self)
{
	struct t_wr wr = t_wr_write(&self->mr[0], 0, &self->mr[1], 0, 8);

	wr.opcode = GDA_MLX5_WRITE_IMM;
	wr.imm = (uint32_t)self->ring.seen;
	t_post(&self->qp[0], &wr);
	t_ring(&self->qp[0]);
}

/* Is the next immediate there? Then it is taken. */
static bool take(FIXTURE_DATA(event) *self)
{
	uint8_t cqe[64];

	return t_cq_ring_poll(&self->ring, cqe);
}

/* Asleep: the poster's worker may be queued behind one that is kept, and wants our CPU. */
static int take_wait(FIXTURE_DATA(event) *self)
{
	uint64_t end = t_now() + T_WAIT_NS;

	while (!take(self)) {
		if (t_now() > end)
			return -ETIMEDOUT;
		t_sleep_ns(T_NS / 20000);
	}
	return 0;
}

/* The worker of a QP's context, by its signal of a completion of its own; or -1. */
static int worker_of(struct t_qp *qp)
{
	int event = new_event(), w = watch(event, 0), pid = -1;

	if (w >= 0 && !arm(qp->fd, qp->cqc.handle, GDA_CQ_ARM, event) && !nop(qp) &&
	    signals(event, 20000))
		pid = signaller(w);
	close(w);
	close(event);
	return pid;
}

/* A peer's immediate is an event of the receiver's, whose worker signals it. */
TEST_F(event, E11_signalled_by_the_owners_worker)
{
	int event = new_event(), w = watch(event, 0);
	int workers[2] = { worker_of(&self->qp[0]), worker_of(&self->qp[1]) };

	ASSERT_LE(0, w);
	ASSERT_LT(0, workers[0]);
	ASSERT_LT(0, workers[1]);
	ASSERT_NE(workers[0], workers[1]);
	EXPECT_NE(getpid(), workers[0]);
	for (int i = 0; i < 20; i++) {
		/* the receiver's worker sleeps, or not */
		t_sleep_ns(i % 2 ? T_NS / 50 : 0);
		ASSERT_OK(arm(self->fd[1], self->ring.cq.handle, GDA_CQ_ARM, i ? -1 : event));
		send_imm(self);
		ASSERT_OK(take_wait(self));
		ASSERT_EQ(1, signals(event, 20000)) TH_LOG("round %d", i);
		ASSERT_EQ(workers[1], signaller(w))
			TH_LOG("by the %s", signaller(w) == workers[0] ? "poster's worker" : "?");
	}
	close(w);
	close(event);
}

/* An exporter that takes a CQ's memory away does not wait for the CQ's waiters. */
TEST_F(event, E11_exporter_meets_no_waiter)
{
	int buf = t_test_buffer(self->test, T_PAGE, 0), event = new_event();
	int w = watch(event, 50000), worker;
	uint64_t ns[2];

	ASSERT_LE(0, buf);
	ASSERT_LE(0, w);
	worker = worker_of(&self->qp[0]);
	for (int i = 0; i < 2; i++) {
		struct gda_cq_create cq = {
			.size = sizeof(cq), .flags = GDA_CQ_COLLAPSED | GDA_CQ_DMABUF,
			.depth = 1, .cq_memory.fd = buf,
		};
		struct gda_test_move move = { 0 };

		ASSERT_OK(t_ioctl(self->fd[0], GDA_IOC_CQ_CREATE, &cq));
		if (i)
			ASSERT_OK(arm(self->fd[0], cq.handle, GDA_CQ_ARM, event));
		ASSERT_OK(t_move(self->test, buf, 0, &move));
		ns[i] = move.wait_ns;
		EXPECT_EQ((uint64_t)i, signals(event, i * 20000));
		ASSERT_OK(t_destroy(self->fd[0], cq.handle));
	}
	TH_LOG("a waiter that takes long: the exporter waited %llu us, unarmed %llu us",
	       (unsigned long long)ns[1] / 1000, (unsigned long long)ns[0] / 1000);
	EXPECT_NE(getpid(), signaller(w));
	EXPECT_EQ(worker, signaller(w));
	close(w);
	close(event);
	close(buf);
}

/* Keep the receiver's worker: it signals @slow, whose waiter takes its time. */
static int keep_worker(FIXTURE_DATA(event) *self, int slow)
{
	int err = arm(self->fd[1], self->qp[1].cqc.handle, GDA_CQ_ARM, slow);

	return err ? err : nop(&self->qp[1]);
}

enum { REPLACED, DISARMED, DETACHED, DESTROYED, SHUT_DOWN, CLOSED, WAYS };

/* Fates of the ring between the noting of its event and the signal. */
static int separate(FIXTURE_DATA(event) *self, int way, int other)
{
	int err;

	switch (way) {
	case REPLACED:
		return arm(self->fd[1], self->ring.cq.handle, 0, other);
	case DISARMED:
		return arm(self->fd[1], self->ring.cq.handle, 0, -1);
	case DETACHED:
		return arm(self->fd[1], self->ring.cq.handle, GDA_CQ_DETACH, -1);
	case DESTROYED:
		err = t_destroy(self->fd[1], self->qp[1].qpc.handle);
		return err ? err : t_destroy(self->fd[1], self->ring.cq.handle);
	case SHUT_DOWN:
		return t_shutdown(self->fd[1]);
	}
	t_qp_unmap(&self->qp[1]);
	t_cq_ring_unmap(&self->ring);
	close(self->fd[1]);
	self->fd[1] = -1;
	return 0;
}

TEST_F(event, E11_noted_is_signalled)
{
	int slow = new_event(), w = watch(slow, 50000), other = new_event();

	ASSERT_LE(0, w);
	for (int way = 0; way < WAYS; way++) {
		int event = new_event();

		ASSERT_OK(keep_worker(self, slow));
		ASSERT_OK(arm(self->fd[1], self->ring.cq.handle, GDA_CQ_ARM, event));
		send_imm(self);
		ASSERT_OK(take_wait(self)) TH_LOG("way %d", way);
		ASSERT_OK(separate(self, way, other)) TH_LOG("way %d", way);
		EXPECT_EQ(1, signals(event, 20000)) TH_LOG("way %d", way);
		EXPECT_EQ(0, signals(other, 0));
		EXPECT_EQ(1, signals(slow, 20000)) TH_LOG("way %d", way);
		close(event);
		if (way < DESTROYED)
			continue;
		/* the next one needs another receiver */
		FIXTURE_DATA(event) old = *self;

		self->fd[1] = t_context();
		ASSERT_LE(0, self->fd[1]);
		munmap(self->mr[1].addr, T_PAGE);
		ASSERT_OK(t_mr_new(self->fd[1], T_PAGE, GDA_ACCESS_ALL, &self->mr[1]));
		t_qp_close(&self->qp[0]);
		ASSERT_OK(t_qp_open(&self->qp[0], self->fd[0], DEPTH));
		ASSERT_OK(receiver_open(self));
		ASSERT_OK(t_connect(&self->qp[0], &self->qp[1]));
		if (way == CLOSED)
			continue;
		t_qp_unmap(&old.qp[1]);
		t_cq_ring_unmap(&old.ring);
		close(old.fd[1]);
	}
	close(w);
	close(slow);
	close(other);
}

/* Events that come while the worker is kept are one signal, and it comes after them. */
TEST_F(event, E11_one_signal_for_many)
{
	/* waiters that came later are called first */
	int slow = new_event(), last = watch(slow, 0), w[34], event = new_event();
	unsigned int ws = 0;
	bool kept = false;

	ASSERT_LE(0, last);
	ASSERT_OK(arm(self->fd[1], self->ring.cq.handle, 0, event));
	for (uint32_t round = 0; round < 30 && !kept; round++) {
		uint64_t n;

		/* a machine that is slower wants it kept for longer */
		for (; ws < round + 4; ws++) {
			w[ws] = watch(slow, 100000);
			ASSERT_LE(0, w[ws]);
		}
		ASSERT_OK(keep_worker(self, slow));
		for (int i = 0; i < 5; i++) {
			ASSERT_OK(arm(self->fd[1], self->ring.cq.handle, GDA_CQ_ARM, -1));
			send_imm(self);
			ASSERT_OK(take_wait(self));
		}
		kept = called(last) == round;
		n = signals(event, 20000);
		TH_LOG("%llu signals for 5 events, the worker kept: %d", (unsigned long long)n,
		       kept);
		EXPECT_LE(1, n);
		EXPECT_EQ(1, signals(slow, 20000));
		/* of one that was not kept there may be more */
		while (!kept && signals(event, 100))
			;
		if (kept) {
			EXPECT_EQ(1, n);
			EXPECT_EQ(0, signals(event, 100));
		}
	}
	EXPECT_TRUE(kept);
	while (ws)
		close(w[--ws]);
	close(last);
	close(slow);
	close(event);
}

struct sender {
	FIXTURE_DATA(event) *self;
	volatile unsigned long n;
	volatile unsigned long taken;
};

static void *sender(void *arg)
{
	struct sender *s = arg;
	uint64_t seed = t_seed();

	for (unsigned long i = 0; i < s->n; i++) {
		while (s->taken < i)
			sched_yield();
		/* beyond the idle time, too: workers sleep then */
		if (i % 4)
			t_sleep_ns(t_random(&seed) % (T_NS / 400));
		send_imm(s->self);
	}
	return NULL;
}

/* Arm, look once more, sleep: as one is told to. */
TEST_F(event, E11_no_wakeup_is_lost)
{
	struct sender s = { .self = self, .n = t_rounds(2000) };
	unsigned long slept = 0;
	uint64_t seed = t_seed(), end = t_now() + 80 * T_NS;
	int event = new_event();
	pthread_t thread;

	ASSERT_OK(arm(self->fd[1], self->ring.cq.handle, 0, event));
	ASSERT_OK(pthread_create(&thread, NULL, sender, &s));
	while (s.taken < s.n) {
		struct pollfd p = { .fd = event, .events = POLLIN };
		uint64_t n, most;

		/* a slow machine has time for fewer; the sender has begun the next one */
		if (t_now() > end)
			s.n = s.taken + 1;
		/*
		 * now before the immediate comes, now after it, now meanwhile: later, the longer
		 * none was found without sleep
		 */
		most = (slept == s.taken ? slept + 1 : 1) * T_NS / 5000;
		if (s.taken % 2)
			t_sleep_ns(t_random(&seed) % most);
		ASSERT_OK(arm(self->fd[1], self->ring.cq.handle, GDA_CQ_ARM, -1));
		if (take(self)) {
			s.taken++;
			continue;
		}
		ASSERT_EQ(1, poll(&p, 1, 20000)) TH_LOG("after %lu of %lu", s.taken, s.n);
		ASSERT_EQ(8, read(event, &n, 8));
		slept++;
		if (take(self))
			s.taken++;
	}
	pthread_join(thread, NULL);
	TH_LOG("slept %lu times for %lu immediates", slept, s.n);
	EXPECT_LT(0, slept);
	EXPECT_GT(s.n, slept);
	close(event);
}

TEST_F(event, detach)
{
	struct t_qp *qp = &self->qp[0];
	uint32_t cq = qp->cqc.handle;
	int event = new_event();

	/* of what has none, too */
	EXPECT_OK(arm(qp->fd, cq, GDA_CQ_DETACH, -1));
	ASSERT_OK(arm(qp->fd, cq, GDA_CQ_ARM, event));
	EXPECT_EQ(-EINVAL, arm(qp->fd, cq, GDA_CQ_DETACH, event));
	EXPECT_EQ(-EINVAL, arm(qp->fd, cq, GDA_CQ_DETACH | GDA_CQ_ARM, -1));
	ASSERT_OK(arm(qp->fd, cq, GDA_CQ_DETACH, -1));
	ASSERT_OK(nop(qp));
	EXPECT_EQ(0, signals(event, 50));
	EXPECT_EQ(-EINVAL, arm(qp->fd, cq, GDA_CQ_ARM, -1));
	EXPECT_OK(arm(qp->fd, cq, 0, -1));
	ASSERT_OK(arm(qp->fd, cq, GDA_CQ_ARM, event));
	ASSERT_OK(nop(qp));
	EXPECT_EQ(1, signals(event, 20000));
	close(event);
}

TEST_HARNESS_MAIN
