// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A store to a silent doorbell carries out what was posted by its own fault (issue 44, item 1), up
 * to the length of a visit, while the worker comes and goes, and whatever ends meanwhile. Whether a
 * fault served a queue is told by netlink, GDA_A_CONTEXT_FAULT_VISITS. Which stores are decoded is
 * in stores.c.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include "gda_fixture.h"
#include "nl.h"

/* Faults serve queues where stores are decoded. */
#ifdef __x86_64__
#define DECODED	true
#else
#define DECODED	false
#endif

#define NEEDS_DECODER()	do {							\
	if (!DECODED)								\
		SKIP(return, "on this architecture no fault decodes a store");	\
} while (0)

#define MR_BYTES	(1UL << 20)
#define VISIT_BYTES	(64UL << 10)	/* of one visit: GDA_VISIT_BYTES of the driver */

FIXTURE(fault) {
	struct t_end end[2];
	struct t_nl nl;
	uint32_t id;			/* of the first end's context */
	uint64_t rnd;
};

T_SETUP(fault)
{
	self->rnd = t_seed();
	TH_LOG("GDA_SEED=%#llx", (unsigned long long)self->rnd);
	ASSERT_OK(t_nl_open(&self->nl));
	ASSERT_OK(t_pair_open(self->end, 256, MR_BYTES));
	self->id = t_nl_my_context(&self->nl) - 1;
}

T_TEARDOWN(fault)
{
	t_pair_close(self->end);
	t_nl_close(&self->nl);
}

static uint64_t visits(FIXTURE_DATA(fault) *self)
{
	return t_nl_context(&self->nl, self->id, GDA_A_CONTEXT_FAULT_VISITS);
}

/* Wait until the worker sleeps, and so all its pages are silent. */
static bool silent(FIXTURE_DATA(fault) *self)
{
	return t_nl_asleep(&self->nl, self->id);
}

/* --- what a fault does, and what it leaves to the worker --- */

/* The completion is there when the store is over: nobody is waited for. */
TEST_F(fault, I44_1_done_when_the_store_is_over)
{
	struct t_wr wr = t_wr_write(&self->end[0].mr, 0, &self->end[1].mr, 0, 64);
	struct t_qp *qp = &self->end[0].qp;
	struct t_done done;

	NEEDS_DECODER();
	for (int i = 0; i < 50; i++) {
		uint64_t index;

		ASSERT_TRUE(silent(self));
		self->end[0].mr.addr[63] = (uint8_t)i;
		index = t_post(qp, &wr);
		t_ring(qp);
		ASSERT_TRUE(t_poll(qp, index, &done)) TH_LOG("round %d", i);
		EXPECT_EQ((uint8_t)i, self->end[1].mr.addr[63]);
	}
	EXPECT_LE(50, visits(self));
}

static uint64_t qp_visits(FIXTURE_DATA(fault) *self)
{
	struct t_nl_msg msg;

	if (t_nl_get(&self->nl, GDA_CMD_QP_GET, self->id, self->end[0].qp.qpc.handle, &msg))
		return UINT64_MAX;
	return t_nl_u64(&msg, GDA_A_QP_VISITS);
}

/* A long post: one visit is the fault's, which is bounded, and the worker makes the others. */
TEST_F(fault, I44_1_budget)
{
	struct t_wr wr = t_wr_write(&self->end[0].mr, 0, &self->end[1].mr, 0, MR_BYTES);
	struct t_qp *qp = &self->end[0].qp;
	uint64_t by_fault, all, index;

	NEEDS_DECODER();
	ASSERT_TRUE(silent(self));
	by_fault = visits(self);
	all = qp_visits(self);
	index = t_post(qp, &wr);
	t_ring(qp);
	ASSERT_OK(t_wait(qp, index, NULL));
	EXPECT_EQ(by_fault + 1, visits(self));
	ASSERT_TRUE(silent(self));
	EXPECT_LE(all + MR_BYTES / VISIT_BYTES, qp_visits(self));
}

/* More requests than a visit has are all carried out, by one doorbell. */
TEST_F(fault, I44_1_many_requests_one_doorbell)
{
	struct t_wr nop = { .opcode = GDA_MLX5_NOP };
	struct t_qp *qp = &self->end[0].qp;
	uint64_t index = 0;

	for (int round = 0; round < 20; round++) {
		ASSERT_TRUE(silent(self));
		for (int i = 0; i < 250; i++)
			index = t_post(qp, &nop);
		t_ring(qp);
		ASSERT_OK(t_wait(qp, index, NULL)) TH_LOG("round %d", round);
	}
}

/* The eventfd of an armed CQ is signalled, though the worker slept. */
TEST_F(fault, I44_1_event)
{
	struct t_wr nop = { .opcode = GDA_MLX5_NOP };
	struct t_qp *qp = &self->end[0].qp;
	struct gda_cq_event cmd = {
		.size = sizeof(cmd), .handle = qp->cqc.handle, .flags = GDA_CQ_ARM,
		.eventfd = eventfd(0, EFD_CLOEXEC),
	};

	ASSERT_GE(cmd.eventfd, 0);
	for (int i = 0; i < 20; i++) {
		uint64_t n = 0, index;

		ASSERT_OK(t_ioctl(qp->fd, GDA_IOC_CQ_EVENT, &cmd));
		ASSERT_TRUE(silent(self));
		index = t_post(qp, &nop);
		t_ring(qp);
		ASSERT_EQ(8, read(cmd.eventfd, &n, sizeof(n)));
		EXPECT_EQ(1, n);
		ASSERT_OK(t_wait(qp, index, NULL));
	}
	close(cmd.eventfd);
}

static int set_idle_us(struct t_nl *nl, uint32_t us)
{
	struct t_nl_req req;
	struct t_nl_msg msg;

	t_nl_begin(nl, &req, GDA_CMD_LIMITS_SET, NLM_F_ACK);
	t_nl_put_u32(&req, GDA_A_LIMITS_IDLE_US, us);
	return t_nl_ask(nl, &req, &msg);
}

/* A page to which a device may store, without a fault, is polled for as long as idle_us says. */
TEST_F(fault, I44_1_polled_for_idle_us)
{
	struct gda_query query = { .size = sizeof(query) };
	struct gda_qp_create cmd = {
		.size = sizeof(cmd), .flags = GDA_QP_POLLED, .dialect = GDA_DIALECT_MLX5,
		.sq_depth = 64,
	};
	int fd = self->end[0].fd;
	struct gda_cq_create cq;
	uint64_t start, state;

	ASSERT_OK(t_ioctl(fd, GDA_IOC_QUERY, &query));
	ASSERT_OK(t_cq_create(fd, GDA_CQ_COLLAPSED, 1, &cq));
	cmd.cq = cq.handle;
	ASSERT_OK(set_idle_us(&self->nl, 900000));
	start = t_now();
	EXPECT_OK(t_ioctl(fd, GDA_IOC_QP_CREATE, &cmd));
	t_sleep_ns(T_NS / 50);
	state = t_nl_context(&self->nl, self->id, GDA_A_CONTEXT_WORKER_STATE);
	/* on a machine that stops for so long it may be over */
	EXPECT_TRUE(state == GDA_WORKER_STATE_POLLING || t_now() - start > T_NS / 2) {
		TH_LOG("state %llu", (unsigned long long)state);
	}
	EXPECT_OK(set_idle_us(&self->nl, (uint32_t)(query.idle_ns / 1000)));
	EXPECT_OK(t_destroy(fd, cmd.handle));
	EXPECT_OK(t_destroy(fd, cq.handle));
}

/* A doorbell that no queue has, in a page of some, and what is stored there later. */
TEST_F(fault, E3_cell_of_no_queue)
{
	struct t_wr nop = { .opcode = GDA_MLX5_NOP };
	struct t_qp *qp = &self->end[0].qp, other;
	volatile __be64 *db;

	ASSERT_OK(t_qp_open(&other, qp->fd, 16));
	ASSERT_OK(t_connect(&other, &other));
	ASSERT_EQ(qp->qpc.db.cookie, other.qpc.db.cookie);
	db = (volatile __be64 *)((uint8_t *)(uintptr_t)qp->db - qp->qpc.db.offset +
				 other.qpc.db.offset);
	t_qp_close(&other);
	for (int i = 0; i < 20; i++) {
		ASSERT_TRUE(silent(self));
		__atomic_store_n(db, ~0ULL, __ATOMIC_RELEASE);
		ASSERT_OK(t_run(qp, &nop, NULL));
	}
}

/* --- others store --- */

/* A child inherits the mapping; a tracer stores for a process; one that is traced stores itself. */
TEST_F(fault, E3_child_rings)
{
	struct t_wr nop = { .opcode = GDA_MLX5_NOP };
	struct t_qp *qp = &self->end[0].qp;

	for (int i = 0; i < 20; i++) {
		uint64_t before, index;
		pid_t pid;

		ASSERT_TRUE(silent(self));
		before = visits(self);
		index = t_post(qp, &nop);
		pid = fork();
		ASSERT_GE(pid, 0);
		if (!pid) {
			t_ring(qp);
			_exit(0);
		}
		ASSERT_EQ(0, t_reap(pid, T_WAIT_NS));
		ASSERT_OK(t_wait(qp, index, NULL)) TH_LOG("round %d", i);
		EXPECT_EQ(before + DECODED, visits(self));
	}
}

/* A child that stops, and rings when it goes on. */
static pid_t traced_child(struct t_qp *qp)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		_exit(1);
	raise(SIGSTOP);
	t_ring(qp);
	_exit(0);
}

TEST_F(fault, E3_tracer_rings)
{
	struct t_wr nop = { .opcode = GDA_MLX5_NOP };
	struct t_qp *qp = &self->end[0].qp;
	int status;

	T_NEEDS("a doorbell of 64 bits");	/* as many as ptrace() stores */
	for (int i = 0; i < 10; i++) {
		pid_t pid = traced_child(qp);
		uint64_t before, index;

		ASSERT_GT(pid, 0);
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		ASSERT_TRUE(WIFSTOPPED(status));
		ASSERT_TRUE(silent(self));
		before = visits(self);
		index = t_post(qp, &nop);
		__atomic_store_n(&qp->dbrec[1], gda_mlx5_dbrec(qp->next), __ATOMIC_RELEASE);
		ASSERT_EQ(0, ptrace(PTRACE_POKEDATA, pid, (void *)(uintptr_t)qp->db,
				    gda_mlx5_doorbell(qp->next, qp->qpc.qpn)));
		ASSERT_OK(t_wait(qp, index, NULL)) TH_LOG("round %d", i);
		EXPECT_EQ(before, visits(self));
		/* and by itself, step by step */
		ASSERT_TRUE(silent(self));
		index = t_post(qp, &nop);
		ASSERT_EQ(0, kill(pid, SIGKILL));
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		pid = traced_child(qp);
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		ASSERT_EQ(0, ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL));
		while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status))
			ASSERT_EQ(0, ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL));
		EXPECT_TRUE(WIFEXITED(status));
		ASSERT_OK(t_wait(qp, index, NULL)) TH_LOG("round %d", i);
		EXPECT_EQ(before, visits(self));
	}
}

/* --- a worker that comes and goes --- */

struct poster {
	pthread_t thread;
	struct t_qp qp;
	unsigned long posts;
	uint64_t rnd;
	unsigned long done;
};

/*
 * Posts in runs of any length, with pauses of which some are as long as the page is polled. Now and
 * then one maps the page.
 */
static void *poster_main(void *arg)
{
	struct t_wr nop = { .opcode = GDA_MLX5_NOP };
	struct poster *p = arg;

	for (p->done = 0; p->done < p->posts; p->done++) {
		uint64_t chance = t_random(&p->rnd), index;

		if (chance % 512 == 0)
			t_sleep_ns((chance >> 32) % 1500000);
		index = t_post(&p->qp, &nop);
		if (chance % 64 == 1)
			t_ring_exchange(&p->qp);
		else
			t_ring(&p->qp);
		if (t_wait(&p->qp, index, NULL))
			break;
	}
	return NULL;
}

/* Wants a processor every now and then, so that a worker that has it must give way. */
static void *neighbour_main(void *arg)
{
	const bool *stop = arg;
	uint64_t rnd = 1;

	while (!__atomic_load_n(stop, __ATOMIC_RELAXED)) {
		uint64_t end = t_now() + t_random(&rnd) % 3000000;

		while (t_now() < end)
			;
		t_sleep_ns(t_random(&rnd) % 2000000);
	}
	return NULL;
}

TEST_F_TIMEOUT(fault, E3_two_queues_of_a_page, 400)
{
	unsigned long posts = t_short(6000, 50000);
	pthread_t neighbour[2];
	struct poster p[2];
	bool stop = false;

	for (int i = 0; i < 2; i++) {
		p[i].posts = posts;
		p[i].rnd = t_random(&self->rnd);
		ASSERT_OK(t_qp_open(&p[i].qp, self->end[0].fd, 16));
		ASSERT_OK(t_connect(&p[i].qp, &p[i].qp));
	}
	EXPECT_EQ(p[0].qp.qpc.db.cookie, p[1].qp.qpc.db.cookie);
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, pthread_create(&neighbour[i], NULL, neighbour_main, &stop));
		ASSERT_EQ(0, pthread_create(&p[i].thread, NULL, poster_main, &p[i]));
	}
	for (int i = 0; i < 2; i++) {
		pthread_join(p[i].thread, NULL);
		EXPECT_EQ(posts, p[i].done);
		t_qp_close(&p[i].qp);
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		pthread_join(neighbour[i], NULL);
	TH_LOG("%lu posts, %llu visits by faults, %llu wake-ups", 2 * posts,
	       (unsigned long long)visits(self),
	       (unsigned long long)t_nl_context(&self->nl, self->id,
							      GDA_A_CONTEXT_WORKER_WAKEUPS));
}

/* A program on each processor that never sleeps. */
static int neighbours(pid_t *pid, int n)
{
	for (int i = 0; i < n; i++) {
		pid[i] = fork();
		if (pid[i] < 0)
			return -errno;
		while (!pid[i])
			;
	}
	return 0;
}

/* Beside programs that compute, a poster that spins has its posts carried out by itself. */
TEST_F(fault, I44_1_busy_neighbours)
{
	struct t_wr nop = { .opcode = GDA_MLX5_NOP };
	int n = (int)sysconf(_SC_NPROCESSORS_ONLN);
	unsigned long posts = t_short(2000, 5000);
	struct t_qp *qp = &self->end[0].qp;
	uint64_t before = visits(self), start;
	pid_t pid[64];

	NEEDS_DECODER();
	n = n > 64 ? 64 : n;
	ASSERT_OK(neighbours(pid, n));
	start = t_now();
	for (unsigned long i = 0; i < posts; i++)
		ASSERT_OK(t_run(qp, &nop, NULL));
	TH_LOG("%lu posts in %llu us, %llu visits by faults", posts,
	       (unsigned long long)(t_now() - start) / 1000,
	       (unsigned long long)(visits(self) - before));
	for (int i = 0; i < n; i++) {
		kill(pid[i], SIGKILL);
		waitpid(pid[i], NULL, 0);
	}
	EXPECT_LT(posts / 2, visits(self) - before);
}

/* --- the end, in the middle of a visit --- */

/* Posts long writes by fault until it is killed, or its context is shut down beneath it. */
static void post_for_ever(struct t_end end[2], uint64_t rnd)
{
	struct t_wr wr = t_wr_write(&end[0].mr, 0, &end[1].mr, 0, VISIT_BYTES);

	for (;;) {
		uint64_t index = t_post(&end[0].qp, &wr);

		t_ring(&end[0].qp);
		if (t_wait_ns(&end[0].qp, index, T_NS, NULL))
			_exit(0);
		if (t_random(&rnd) % 4 == 0)
			t_sleep_ns(t_random(&rnd) % 200000);
	}
}

TEST_F(fault, I44_1_killed_in_a_visit)
{
	unsigned long rounds = t_short(40, 100);

	for (unsigned long i = 0; i < rounds; i++) {
		struct t_end end[2];
		pid_t pid = fork();

		ASSERT_GE(pid, 0);
		if (!pid) {
			if (t_pair_open(end, 64, VISIT_BYTES))
				_exit(1);
			post_for_ever(end, t_random(&self->rnd));
		}
		t_sleep_ns(1000000 + t_random(&self->rnd) % 5000000);
		kill(pid, SIGKILL);
		ASSERT_EQ(pid, waitpid(pid, NULL, 0));
		t_random(&self->rnd);
	}
}

static void *shutter(void *arg)
{
	struct t_end *end = arg;

	t_sleep_ns(1000000 + t_now() % 3000000);
	if (end[0].qp.next & 1)
		t_shutdown(end[0].fd);
	else
		t_destroy(end[0].fd, end[0].qp.qpc.handle);
	return NULL;
}

/* The page goes while another thread stores to it: the store is served, or a SIGBUS. */
TEST_F(fault, M6_revoked_in_a_visit)
{
	unsigned long rounds = t_short(40, 100), bus = 0;

	for (unsigned long i = 0; i < rounds; i++) {
		pid_t pid = fork();
		int status;

		ASSERT_GE(pid, 0);
		if (!pid) {
			struct t_end end[2];
			pthread_t thread;

			if (t_pair_open(end, 64, VISIT_BYTES) ||
			    pthread_create(&thread, NULL, shutter, end))
				_exit(1);
			post_for_ever(end, t_random(&self->rnd));
		}
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		if (WIFSIGNALED(status)) {
			EXPECT_EQ(SIGBUS, WTERMSIG(status));
			bus++;
		} else {
			EXPECT_EQ(0, WEXITSTATUS(status));
		}
		t_random(&self->rnd);
	}
	TH_LOG("%lu of %lu ended by SIGBUS", bus, rounds);
}

TEST_HARNESS_MAIN
