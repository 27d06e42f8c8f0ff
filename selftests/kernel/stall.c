// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * SECURITY.md E9 and E10: no process waits for a tenant whose CPU limit has stopped it, be it
 * in open() and close() of /dev/gda, or while it destroys its objects.
 *
 * Each test measures the longest time that others wait beside such a tenant, and beside a
 * control: one that is limited in the same way and does nothing to GDA. A task that waits for
 * a mutex that a stopped tenant holds waits for the next period of its limit, and with more
 * of them in the queue for more periods. So the bar is three times the control, which
 * counts as a tenth of a period at least: that much any wait may take on a busy machine. A busy
 * machine may stop anybody for longer, once: a round that is above the bar is repeated, and the
 * test fails if all are.
 *
 * In E10 the grace periods of RCU are a control too. A preemptible kernel, as the debug kernel,
 * stops the tenant also inside rcu_read_lock(), in whatever part of the kernel it is (seen: in
 * xa_find() of its own objects, for 800 ms); up to 6.12 at least, the grace period then lasts until
 * the tenant has run again. Each bind waits for one: cgroup_attach_task_all() takes
 * cgroup_threadgroup_rwsem, so percpu_down_write() calls synchronize_rcu(). membarrier() waits for
 * the same, in no call of GDA's, and is measured beside the same tenant.
 */
#include <linux/membarrier.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include "gda_fixture.h"
#include "group.h"

#define PERIOD		T_NS		/* of the CPU limit */
#define QUOTA		"1000 1000000"	/* 1 ms of it, the least there is */
/* A debug kernel takes longer than that inside RCU's read sections of its own: RCU stalls. */
#define QUOTA_SLOW	"20000 1000000"
#define ROUNDS		4		/* of the attack, until one is below the bar */
#define CROWD		16

FIXTURE(stall) {
	struct t_group group;
};

T_SETUP(stall)
{
	int err;

	err = t_group_open(&self->group, "+cpu");
	if (err == -ENODEV || err == -EOPNOTSUPP)
		SKIP(return, "no cgroup v2 that limits the CPU");
	ASSERT_OK(err);
}

T_TEARDOWN(stall)
{
	if (self->group.dir[0])
		t_write_file(self->group.dir, "cpu.max", "max 1000000");
	t_group_close(&self->group);
}

static uint64_t bar(uint64_t control)
{
	return 3 * (control > PERIOD / 10 ? control : PERIOD / 10);
}

static unsigned long long us(uint64_t ns)
{
	return ns / 1000;
}

static bool stop;

/* A call that began at @start has ended: is it the longest so far? */
static void note(uint64_t *longest, uint64_t start)
{
	uint64_t ns = t_now() - start;

	*longest = ns > *longest ? ns : *longest;
}

/* Every waiting call returns in the end, because the limit is lifted. */
static void *lift(void *arg)
{
	uint64_t end = t_now() + 5 * PERIOD;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED) && t_now() < end)
		t_sleep_ns(T_NS / 100);
	t_write_file(arg, "cpu.max", "max 1000000");
	return NULL;
}

/* --- E9: open and close --- */

struct crowd {
	const char *dir;
	const char *path;
	pid_t pid[CROWD];
};

static void open_and_close(const struct crowd *c)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (t_group_enter(c->dir))
		_exit(1);
	for (;;) {
		int fd = open(c->path, O_RDWR | O_CLOEXEC);

		if (fd < 0)
			_exit(2);
		close(fd);
	}
}

static void crowd_start(struct crowd *c)
{
	for (int i = 0; i < CROWD; i++) {
		c->pid[i] = fork();
		if (!c->pid[i])
			open_and_close(c);
	}
}

/* When their limit is lifted: they must run to end. */
static int crowd_end(struct crowd *c)
{
	int err = 0;

	for (int i = 0; i < CROWD; i++)
		kill(c->pid[i], SIGKILL);
	for (int i = 0; i < CROWD; i++)
		if (t_reap(c->pid[i], T_WAIT_NS) != 128 + SIGKILL)
			err = -ECHILD;
	return err;
}

/* Another misc device (gda_test's), and the very same one. */
enum { MISC, OURS, PATHS };

static void opens_of_others(uint64_t longest[PATHS])
{
	static const char * const path[PATHS] = { "/dev/gda_test", "/dev/gda" };
	uint64_t end = t_now() + 2 * PERIOD;

	do {
		for (int i = 0; i < PATHS; i++) {
			uint64_t start = t_now();
			int fd = open(path[i], O_RDWR | O_CLOEXEC);

			note(&longest[i], start);
			close(fd);
		}
		t_sleep_ns(T_NS / 1000);
	} while (t_now() < end);
}

static void opens_beside(struct __test_metadata *_metadata, FIXTURE_DATA(stall) *self,
			 const char *path, uint64_t longest[PATHS])
{
	struct crowd c = { .dir = self->group.dir, .path = path };
	pthread_t lifter;

	crowd_start(&c);
	t_sleep_ns(PERIOD / 10);
	EXPECT_OK(t_write_file(c.dir, "cpu.max", getenv("GDA_SLOW") ? QUOTA_SLOW : QUOTA));
	t_sleep_ns(PERIOD / 2);
	stop = false;
	EXPECT_EQ(0, pthread_create(&lifter, NULL, lift, self->group.dir));
	opens_of_others(longest);
	EXPECT_LT(0, t_group_get(c.dir, "cpu.stat", "nr_throttled"));
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(lifter, NULL);
	EXPECT_OK(crowd_end(&c));
}

TEST_F(stall, E9_open_close_stalls_nobody)
{
	uint64_t control[PATHS] = { 0 }, longest[PATHS] = { 0 };

	bool below = false;

	opens_beside(_metadata, self, "/dev/null", control);
	TH_LOG("beside %d that open /dev/null: a misc device %llu us, /dev/gda %llu us", CROWD,
	       us(control[MISC]), us(control[OURS]));
	for (int i = 0; i < ROUNDS && !below; i++) {
		memset(longest, 0, sizeof(longest));
		opens_beside(_metadata, self, "/dev/gda", longest);
		TH_LOG("beside %d that open /dev/gda: a misc device %llu us, /dev/gda %llu us",
		       CROWD, us(longest[MISC]), us(longest[OURS]));
		below = longest[MISC] <= bar(control[MISC]) && longest[OURS] <= bar(control[OURS]);
	}
	EXPECT_LE(longest[MISC], bar(control[MISC]));
	EXPECT_LE(longest[OURS], bar(control[OURS]));
}

/* --- E10: removal --- */

/* Enough to come to begin, and too little to come to an end. */
#define QUOTA_TENANT	"1000 100000"

#define QUEUES	3000UL		/* of the tenant, each with a CQ; fewer for a slow kernel */

static unsigned long queues(void)
{
	unsigned long n = t_stress(QUEUES);

	return n < QUEUES / 10 ? QUEUES / 10 : n < QUEUES ? n : QUEUES;
}

struct tenant {
	const char *dir;
	int ready[2];		/* pipe: it has all that it wants */
	int go[2];		/* pipe: it is to destroy that */
	unsigned int *doing;	/* of this */
};

enum { HAS, DESTROYS, DESTROYED };

/* Have many objects, and destroy them all in one call. */
static int tenant(const struct tenant *t)
{
	struct gda_cq_create cq;
	struct gda_qp_create qp;
	int fd = t_context();
	char c = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	CHECK(fd >= 0);
	for (unsigned long i = 0; i < queues(); i++)
		CHECK(!t_cq_create(fd, GDA_CQ_COLLAPSED, 1, &cq) &&
		      !t_qp_create(fd, cq.handle, 16, &qp));
	CHECK(!t_group_enter(t->dir));
	CHECK(write(t->ready[1], &c, 1) == 1);
	CHECK(read(t->go[0], &c, 1) == 1);
	__atomic_store_n(t->doing, DESTROYS, __ATOMIC_RELAXED);
	t_shutdown(fd);
	__atomic_store_n(t->doing, DESTROYED, __ATOMIC_RELAXED);
	return 0;
}

static int tenant_start(struct tenant *t, pid_t *pid)
{
	char c;

	if (pipe(t->ready) || pipe(t->go))
		return -errno;
	*t->doing = HAS;
	*pid = fork();
	if (!*pid)
		_exit(tenant(t));
	close(t->ready[1]);
	return read(t->ready[0], &c, 1) == 1 ? 0 : -EPIPE;
}

/* Let it begin, and go on until its limit has stopped it in the midst of it. */
static int tenant_destroys(struct tenant *t)
{
	uint64_t end = t_now() + T_WAIT_NS;

	if (write(t->go[1], "", 1) != 1)
		return -EPIPE;
	while (__atomic_load_n(t->doing, __ATOMIC_RELAXED) == HAS)
		if (t_now() > end)
			return -ETIMEDOUT;
	t_sleep_ns(PERIOD / 2);
	return 0;
}

static void tenant_end(struct tenant *t, pid_t pid)
{
	kill(pid, SIGKILL);
	t_reap(pid, T_WAIT_NS);
	close(t->ready[0]);
	close(t->go[0]);
	close(t->go[1]);
}

/* Opens, binds and closes, whether there is a device or not. */
static void *foreigner(void *longest)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		uint64_t start = t_now();
		int fd = t_context();

		if (fd >= 0)
			close(fd);
		note(longest, start);
	}
	return NULL;
}

/* Waits for grace periods of RCU, one after the other; for none where there is one processor. */
static void *rcu_user(void *longest)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		uint64_t start = t_now();

		if (syscall(__NR_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
			return NULL;
		note(longest, start);
		t_sleep_ns(T_NS / 1000);
	}
	return NULL;
}

struct waits {
	uint64_t unbind;
	uint64_t foreign;	/* bind and close of others meanwhile */
	uint64_t grace;		/* membarrier() meanwhile */
	bool met;		/* the tenant was at it all the time, or unbind waited for it */
};

/* Remove the device beside a tenant that destroys what it has, or (the control) has it. */
static void removal_beside(struct __test_metadata *_metadata, struct tenant *t, bool destroys,
			   struct waits *w)
{
	pthread_t other, lifter, rcu;
	uint64_t start;
	pid_t pid = -1;

	ASSERT_OK(tenant_start(t, &pid));
	ASSERT_OK(t_write_file(t->dir, "cpu.max", QUOTA_TENANT));
	stop = false;
	if (destroys)
		ASSERT_OK(tenant_destroys(t));
	ASSERT_EQ(0, pthread_create(&lifter, NULL, lift, (void *)t->dir));
	ASSERT_EQ(0, pthread_create(&rcu, NULL, rcu_user, &w->grace));
	ASSERT_EQ(0, pthread_create(&other, NULL, foreigner, &w->foreign));
	t_sleep_ns(PERIOD / 10);
	start = t_now();
	EXPECT_OK(t_soft0("unbind"));
	note(&w->unbind, start);
	w->met = w->unbind > 3 * PERIOD ||
		 __atomic_load_n(t->doing, __ATOMIC_RELAXED) != DESTROYED;
	t_sleep_ns(PERIOD / 10);
	EXPECT_OK(t_soft0("bind"));
	t_sleep_ns(PERIOD / 10);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	pthread_join(other, NULL);
	pthread_join(rcu, NULL);
	pthread_join(lifter, NULL);
	tenant_end(t, pid);
}

/* The longest that a wait may last, if it is @control without the attack. */
static uint64_t bar_removal(uint64_t control, const struct waits *w)
{
	return bar(control > w->grace ? control : w->grace);
}

TEST_F(stall, E10_removal_waits_for_no_tenant)
{
	struct tenant t = { .dir = self->group.dir };
	struct waits control = { 0 }, w = { 0 };
	bool below = false;

	t.doing = mmap(NULL, T_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, t.doing);
	removal_beside(_metadata, &t, false, &control);
	TH_LOG("tenant of %lu objects: unbind %llu us, bind and close %llu us, RCU %llu us",
	       2 * queues(), us(control.unbind), us(control.foreign), us(control.grace));
	for (int i = 0; i < ROUNDS && !below; i++) {
		memset(&w, 0, sizeof(w));
		removal_beside(_metadata, &t, true, &w);
		TH_LOG("that %s them all: unbind %llu us, bind and close %llu us, RCU %llu us",
		       w.met ? "destroys" : "has destroyed", us(w.unbind), us(w.foreign),
		       us(w.grace));
		below = w.met && w.unbind <= bar_removal(control.unbind, &w) &&
			w.foreign <= bar_removal(control.foreign, &w);
	}
	EXPECT_TRUE(w.met);
	EXPECT_LE(w.unbind, bar_removal(control.unbind, &w));
	EXPECT_LE(w.foreign, bar_removal(control.foreign, &w));
	munmap(t.doing, T_PAGE);
}

TEST_HARNESS_MAIN
