// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The owner pays: SECURITY.md E2 (the worker's time counts against the CPU limit of
 * who bound the context) and O12 (queues count against the memory limit, which memory_max.c
 * reaches). Others do not: K5 (who takes memory away does not wait till the owner may run again).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include "gda_fixture.h"
#include "group.h"
#include "move.h"

#define MIB	(1UL << 20)
#define DEPTH	256

FIXTURE(cgroup) {
	struct t_objects base;
	struct t_group group;
};

FIXTURE_SETUP(cgroup)
{
	int err;

	T_BASE_READ(&self->base);
	err = t_group_open(&self->group, "+cpu +memory");
	if (err == -ENODEV)
		SKIP(return, "no cgroup v2");
	if (err == -EOPNOTSUPP)
		SKIP(return, "no controllers for CPU and memory");
	ASSERT_OK(err);
}

FIXTURE_TEARDOWN(cgroup)
{
	t_group_close(&self->group);
	T_BASE_CHECK(&self->base);
}

/* Keep a queue full, without doing anything oneself: the worker burns the time. */
static int burn(void *arg)
{
	const char *dir = arg;
	struct t_qp qp;
	struct t_mr mr;
	struct t_done done;
	uint64_t seen = 0;
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (t_group_enter(dir))
		return 1;
	fd = t_context();
	if (fd < 0 || t_mr_new(fd, 2 * MIB, GDA_ACCESS_ALL, &mr) ||
	    t_qp_open(&qp, fd, DEPTH) || t_connect(&qp, &qp))
		return 2;
	for (;;) {
		while (qp.next - seen < DEPTH) {
			struct t_wr wr = t_wr_write(&mr, 0, &mr, MIB, MIB);

			t_post(&qp, &wr);
		}
		t_ring(&qp);
		t_sleep_ns(T_NS / 100);
		while (seen < qp.next && t_poll(&qp, seen, &done))
			seen++;
	}
}

/* Hundredths of a CPU that the group used in @ns. */
static long share(const char *dir, uint64_t ns)
{
	long before = t_group_get(dir, "cpu.stat", "usage_usec");
	uint64_t start = t_now();

	t_sleep_ns(ns);
	return (t_group_get(dir, "cpu.stat", "usage_usec") - before) * 100 /
	       (long)((t_now() - start) / 1000);
}

TEST_F(cgroup, E2_cpu_max)
{
	long with, without;
	pid_t pid = fork();

	ASSERT_GE(pid, 0);
	if (!pid)
		_exit(burn(self->group.dir));
	t_sleep_ns(T_NS);
	without = share(self->group.dir, t_longer(2) * T_NS);
	ASSERT_OK(t_write_file(self->group.dir, "cpu.max", "10000 100000"));
	t_sleep_ns(T_NS);
	with = share(self->group.dir, t_longer(2) * T_NS);
	ASSERT_OK(t_write_file(self->group.dir, "cpu.max", "max 100000"));
	kill(pid, SIGKILL);
	EXPECT_EQ(128 + SIGKILL, t_reap(pid, T_WAIT_NS));
	TH_LOG("%ld%% of a CPU without a limit, %ld%% with one of 10%%", without, with);
	/* Without a limit it takes what it gets; half of the limit's effect is enough. */
	EXPECT_LT(with, 20);
	EXPECT_GT(without, 2 * with);
}

struct hoard {
	const char *dir;
	int ready[2];		/* pipe: how many queues, and an errno */
};

/* Queues of 2 MiB each until no more. */
static int hoard(void *arg)
{
	struct hoard *h = arg;
	int fd, err = 0, n;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (t_group_enter(h->dir))
		return 1;
	fd = t_context();
	for (n = 0; n < 16 && !err; n++) {
		struct gda_cq_create cq;
		struct gda_qp_create qp;

		err = t_cq_create(fd, GDA_CQ_COLLAPSED, 1, &cq);
		if (!err)
			err = t_qp_create(fd, cq.handle, 1U << 15, &qp);
	}
	if (write(h->ready[1], &n, sizeof(n)) != sizeof(n))
		return 2;
	t_sleep_ns(1000 * T_NS);
	return 0;
}

TEST_F(cgroup, O12_queues_are_charged)
{
	struct hoard h = { .dir = self->group.dir };
	long before, after;
	pid_t pid;
	int n = 0;

	ASSERT_EQ(0, pipe(h.ready));
	before = t_group_get(self->group.dir, "memory.current", NULL);
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid)
		_exit(hoard(&h));
	ASSERT_EQ((ssize_t)sizeof(n), read(h.ready[0], &n, sizeof(n)));
	after = t_group_get(self->group.dir, "memory.current", NULL);
	kill(pid, SIGKILL);
	EXPECT_EQ(128 + SIGKILL, t_reap(pid, T_WAIT_NS));
	TH_LOG("%d queues of 2 MiB: %ld KiB charged", n, (after - before) / 1024);
	EXPECT_EQ(16, n);
	EXPECT_GT(after - before, 16 * 2 * (long)MIB);
	close(h.ready[0]);
	close(h.ready[1]);
}

struct lender {
	const char *dir;
	int sock;
};

/* A context whose worker runs in the group; its file goes to the parent. */
static int lend(void *arg)
{
	struct lender *l = arg;
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (t_group_enter(l->dir))
		return 1;
	fd = t_context();
	if (fd < 0 || t_send_fd(l->sock, fd))
		return 2;
	return 0;
}

/* Memory of gda_test's: a dma-buf, or that of a GPU. */
struct lent {
	int owner;		/* who takes it away */
	int buf;
	void *addr;		/* of the GPU's memory, or NULL */
};

static int lent_reg(const struct lent *l, int fd, struct t_mr *mr)
{
	return l->addr ? t_mr_reg_peer(fd, l->addr, MIB, GDA_ACCESS_ALL, mr) :
			 t_mr_reg_dmabuf(fd, l->buf, MIB, mr);
}

static int lent_take(const struct lent *l, uint64_t *ns)
{
	struct gda_test_peer_invalidate gone = { 0 };
	struct gda_test_move move = { 0 };
	uint64_t start = t_now();
	int err = l->addr ? t_ioctl(l->owner, GDA_TEST_PEER_INVALIDATE, &gone) :
			    t_move(l->owner, l->buf, 0, &move);

	*ns = t_now() - start;
	return err ? err : gone.changed || move.changed ? -EBADMSG : 0;
}

/* One round: work that the worker cannot end, on memory that is taken away meanwhile. */
static int take_busy(const struct lent *l, int fd, struct t_mr *mem, uint64_t pause, uint64_t *ns)
{
	struct t_mr mr;
	struct t_qp qp;
	int err = lent_reg(l, fd, &mr);

	err = err ? err : t_qp_open(&qp, fd, DEPTH);
	err = err ? err : t_connect(&qp, &qp);
	if (err)
		return err;
	t_traffic(&qp, mem, &mr, false);
	t_sleep_ns(pause);
	err = lent_take(l, ns);
	t_qp_close(&qp);
	return err ? err : t_destroy(fd, mr.handle);
}

/* Take memory away from a context that has next to no CPU time: the wait, on average. */
static uint64_t waits_of_throttled(struct __test_metadata *_metadata, FIXTURE_DATA(cgroup) *self,
				   const struct lent *l, int fd, struct t_mr *mem)
{
	unsigned long n = t_longer(10), most = 8 * n, i;
	uint64_t ns, sum = 0, late = 0, seed = t_seed();
	uint64_t *waits = calloc(most, sizeof(*waits));
	long throttled = 0;

	ASSERT_NE(NULL, waits);
	/* Some of the moments must be such that the owner may not run just then. */
	for (i = 0; i < most && t_more(i, n, throttled > 0, &late); i++) {
		uint64_t pause = t_random(&seed) % (T_NS / 2);

		ASSERT_OK(take_busy(l, fd, mem, pause, &ns)) TH_LOG("round %lu", i);
		waits[i] = ns;
		sum += ns;
		throttled = t_group_get(self->group.dir, "cpu.stat", "nr_throttled");
	}
	n = i;
	t_sort(waits, n);
	TH_LOG("throttled %ld times; waited: %llu us on average, median %llu us, most %llu us",
	       throttled, (unsigned long long)(sum / n / 1000),
	       (unsigned long long)waits[n / 2] / 1000, (unsigned long long)waits[n - 1] / 1000);
	EXPECT_LT(0, throttled);
	free(waits);
	return sum / n;
}

#define TRIES	3

/* A quota is waited for in whole seconds. A machine that stops for seconds does so not always. */
static void take_from_throttled(struct __test_metadata *_metadata, FIXTURE_DATA(cgroup) *self,
				const struct lent *l)
{
	struct lender lender = { .dir = self->group.dir };
	uint64_t average = UINT64_MAX;
	struct t_mr mem;
	int pair[2], fd;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	lender.sock = pair[1];
	ASSERT_EQ(0, t_in_child(lend, &lender));
	fd = t_recv_fd(pair[0]);
	ASSERT_GE(fd, 0);
	ASSERT_OK(t_mr_new(fd, MIB, GDA_ACCESS_ALL, &mem));
	/* the least there is: a thousandth of a CPU */
	ASSERT_OK(t_write_file(self->group.dir, "cpu.max", "1000 1000000"));
	for (int i = 0; i < TRIES && average >= T_NS / 5; i++)
		average = waits_of_throttled(_metadata, self, l, fd, &mem);
	ASSERT_OK(t_write_file(self->group.dir, "cpu.max", "max 1000000"));
	EXPECT_LT(average, T_NS / 5);
	t_mr_free(fd, &mem);
	close(fd);
	close(pair[0]);
	close(pair[1]);
}

TEST_F(cgroup, K5_E2_exporter_of_a_throttled_owner)
{
	struct lent l = { .owner = open("/dev/gda_test", O_RDWR | O_CLOEXEC) };

	ASSERT_LE(0, l.owner);
	l.buf = t_test_buffer(l.owner, MIB, 0);
	ASSERT_LE(0, l.buf);
	take_from_throttled(_metadata, self, &l);
	close(l.buf);
	close(l.owner);
}

TEST_F(cgroup, K5_E2_peer_of_a_throttled_owner)
{
	struct lent l = { 0 };

	l.owner = t_gpu_open(MIB, 0, &l.addr);
	ASSERT_LE(0, l.owner);
	take_from_throttled(_metadata, self, &l);
	munmap(l.addr, MIB);
	close(l.owner);
}

#define SPINNERS	64

/* Lets go of everything, the context's file too; when the lender has gone it spins. */
static void spinner(const int go[2])
{
	char c;

	if (dup2(go[0], 0) || close_range(3, ~0U, 0) || read(0, &c, 1))
		_exit(1);
	for (;;)
		;
}

/* A lender, and tasks beside its worker that want all the time there is. */
static int lend_and_spin(void *arg)
{
	int err = lend(arg), ready[2], go[2];
	char c;

	if (err || pipe(ready) || pipe(go))
		return 3;
	for (int i = 0; i < SPINNERS; i++)
		if (!fork())
			spinner(go);
	close(ready[1]);
	return read(ready[0], &c, 1) ? 4 : 0;
}

/* The last close of a context waits for its worker, but not for its owner's CPU limit. */
TEST_F(cgroup, E2_E4_close_of_a_throttled_owners)
{
	struct lender lender = { .dir = self->group.dir };
	uint64_t ns;
	int pair[2], fd;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	lender.sock = pair[1];
	ASSERT_EQ(0, t_in_child(lend_and_spin, &lender));
	fd = t_recv_fd(pair[0]);
	ASSERT_GE(fd, 0);
	ASSERT_OK(t_write_file(self->group.dir, "cpu.max", "1000 1000000"));
	t_sleep_ns(2 * T_NS);
	for (ns = t_now() + T_WAIT_NS; t_now() < ns; t_sleep_ns(T_NS / 100))
		if (t_group_get(self->group.dir, "cpu.stat", "nr_throttled") > 0)
			break;
	EXPECT_LT(0, t_group_get(self->group.dir, "cpu.stat", "nr_throttled"));
	ns = t_now();
	close(fd);
	ns = t_now() - ns;
	ASSERT_OK(t_write_file(self->group.dir, "cpu.max", "max 1000000"));
	TH_LOG("closed in %llu us beside %d tasks", (unsigned long long)ns / 1000, SPINNERS);
	EXPECT_LT(ns, T_WAIT_NS);
	close(pair[0]);
	close(pair[1]);
}

TEST_HARNESS_MAIN
