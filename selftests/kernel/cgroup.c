// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The owner pays: SECURITY.md E2 (the worker's time counts against the CPU limit of
 * who bound the context) and O12 (queues count against the memory limit, which memory_max.c
 * reaches). Others do not: K5 (who takes memory away does not wait till the owner may run again).
 */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include "gda_fixture.h"
#include "group.h"
#include "move.h"

#define MIB	(1UL << 20)
#define DEPTH	256
#define TIMES	7		/* that are looked at */

FIXTURE(cgroup) {
	struct t_group group;
};

T_SETUP(cgroup)
{
	int err;

	err = t_group_open(&self->group, "+cpu +memory");
	if (err == -ENODEV)
		SKIP(return, "no cgroup v2");
	if (err == -EOPNOTSUPP)
		SKIP(return, "no controllers for CPU and memory");
	ASSERT_OK(err);
}

T_TEARDOWN(cgroup)
{
	t_group_close(&self->group);
}

/* Keep a queue full, without doing anything oneself: the worker burns the time. */
static int burn(const char *dir, uint64_t *done_by_worker)
{
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
		__atomic_store_n(done_by_worker, seen, __ATOMIC_RELAXED);
	}
}

/* Hundredths of a CPU that the group used in @ns. */
static long share_of(const char *dir, uint64_t ns)
{
	long before = t_group_get(dir, "cpu.stat", "usage_usec");
	uint64_t start = t_now();

	t_sleep_ns(ns);
	return (t_group_get(dir, "cpu.stat", "usage_usec") - before) * 100 /
	       (long)((t_now() - start) / 1000);
}

/*
 * The same as the median of some times, and the puts that its worker did in all of them. A guest
 * that its host has stopped for a while counts this as time of the task that was running.
 */
static long share(const char *dir, const uint64_t *puts, uint64_t *done)
{
	uint64_t seen = __atomic_load_n(puts, __ATOMIC_RELAXED);
	uint64_t shares[TIMES];

	for (int i = 0; i < TIMES; i++)
		shares[i] = (uint64_t)share_of(dir, t_longer(2) * T_NS / 4);
	*done = __atomic_load_n(puts, __ATOMIC_RELAXED) - seen;
	t_sort(shares, TIMES);
	return (long)shares[TIMES / 2];
}

TEST_F(cgroup, E2_cpu_max)
{
	uint64_t *puts = mmap(NULL, T_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			      -1, 0);
	uint64_t done_with, done_without;
	long with, without;
	pid_t pid;

	ASSERT_NE(MAP_FAILED, puts);
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid)
		_exit(burn(self->group.dir, puts));
	t_sleep_ns(T_NS);
	without = share(self->group.dir, puts, &done_without);
	ASSERT_OK(t_write_file(self->group.dir, "cpu.max", "10000 100000"));
	t_sleep_ns(T_NS);
	with = share(self->group.dir, puts, &done_with);
	ASSERT_OK(t_write_file(self->group.dir, "cpu.max", "max 100000"));
	kill(pid, SIGKILL);
	EXPECT_EQ(128 + SIGKILL, t_reap(pid, T_WAIT_NS));
	munmap(puts, T_PAGE);
	TH_LOG("%ld%% of a CPU and %llu puts without a limit, %ld%% and %llu with one of 10%%",
	       without, (unsigned long long)done_without, with, (unsigned long long)done_with);
	/* Without a limit it takes what it gets; half of the limit's effect is enough. */
	EXPECT_LT(with, 20);
	EXPECT_GT(without, 2 * with);
	/* nor does the worker go on in another group */
	EXPECT_GT(done_without, 2 * done_with);
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
static int lend(const struct lender *l)
{
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (t_group_enter(l->dir))
		return 1;
	fd = t_context();
	if (fd < 0 || t_send_fd(l->sock, fd))
		return 2;
	return 0;
}

/* The lender pays as long as it lives. Return: the file. */
static int lend_from(const struct lender *l, int sock, void (*then)(void), pid_t *pid)
{
	*pid = fork();
	if (!*pid) {
		if (lend(l))
			_exit(1);
		if (then)
			then();
		for (;;)
			pause();
	}
	return *pid < 0 ? -errno : t_recv_fd(sock);
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
	pid_t pid;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	lender.sock = pair[1];
	fd = lend_from(&lender, pair[0], NULL, &pid);
	ASSERT_GE(fd, 0);
	ASSERT_OK(t_mr_new(fd, MIB, GDA_ACCESS_ALL, &mem));
	/* the least there is: a thousandth of a CPU */
	ASSERT_OK(t_write_file(self->group.dir, "cpu.max", "1000 1000000"));
	for (int i = 0; i < TRIES && average >= T_NS / 5; i++)
		average = waits_of_throttled(_metadata, self, l, fd, &mem);
	ASSERT_OK(t_write_file(self->group.dir, "cpu.max", "max 1000000"));
	EXPECT_LT(average, T_NS / 5);
	kill(pid, SIGKILL);
	EXPECT_EQ(128 + SIGKILL, t_reap(pid, T_WAIT_NS));
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

/* Tasks beside the worker that want all the time there is. */
static void spin(void)
{
	if (close_range(3, ~0U, 0))
		_exit(1);
	for (int i = 1; i < SPINNERS; i++) {
		if (!fork())
			break;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		;
}

/* The last close of a context waits for its worker, but not for its owner's CPU limit. */
TEST_F(cgroup, E2_E4_close_of_a_throttled_owners)
{
	struct lender lender = { .dir = self->group.dir };
	uint64_t ns;
	int pair[2], fd;
	pid_t pid;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	lender.sock = pair[1];
	fd = lend_from(&lender, pair[0], spin, &pid);
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
	kill(pid, SIGKILL);
	EXPECT_EQ(128 + SIGKILL, t_reap(pid, T_WAIT_NS));
	close(pair[0]);
	close(pair[1]);
}

TEST_HARNESS_MAIN
