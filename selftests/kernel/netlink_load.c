// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Dumps of netlink while objects come and go, of as much as a user may have, and beside tenants: an
 * object that lives throughout is there exactly once, and nobody waits for a dump, nor a dump
 * for anybody.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include "gda_fixture.h"
#include "group.h"
#include "nl.h"

FIXTURE(load) {
	struct t_nl nl;
};

T_SETUP(load)
{
	ASSERT_OK(t_nl_open(&self->nl));
}

T_TEARDOWN(load)
{
	t_nl_close(&self->nl);
}

/* Objects of one context come and go until @stop, and contexts, if @contexts. */
struct churn {
	int fd;
	bool contexts;
	bool stop;
	unsigned long n;
	int err;
};

static void *churn(void *arg)
{
	struct churn *c = arg;
	struct gda_cq_create cq;
	struct gda_qp_create qp;
	struct t_mr mr;
	uint8_t *page = t_pages(T_PAGE);

	while (!__atomic_load_n(&c->stop, __ATOMIC_ACQUIRE) && !c->err) {
		c->err = t_cq_create(c->fd, GDA_CQ_COLLAPSED, 1, &cq) ?:
			 t_qp_create(c->fd, cq.handle, 16, &qp) ?:
			 t_mr_reg(c->fd, page, T_PAGE, 0, &mr) ?:
			 t_destroy(c->fd, qp.handle) ?: t_destroy(c->fd, mr.handle) ?:
			 t_destroy(c->fd, cq.handle);
		if (c->contexts && c->n % 16 == 0) {
			int fd = t_context();

			c->err = fd < 0 ? fd : close(fd) ? -errno : c->err;
		}
		__atomic_add_fetch(&c->n, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static unsigned long changes(const struct churn *c)
{
	return __atomic_load_n(&c->n, __ATOMIC_RELAXED);
}

/* Where an object is in a dump; they are in this order. */
static uint64_t place_of(const struct t_nl_msg *msg)
{
	if (msg->cmd == GDA_CMD_CONTEXT_GET)
		return t_nl_u32(msg, GDA_A_CONTEXT_ID);
	return (uint64_t)t_nl_u32(msg, GDA_A_QP_CONTEXT) << 32 | t_nl_u32(msg, GDA_A_QP_HANDLE);
}

/* Objects that stay, in order. */
struct staying {
	uint8_t cmd;
	uint64_t *place;
	size_t n;
};

/* Begin with all that there are now, and that is @n. */
static int staying_learn(struct staying *s, struct t_nl *nl, uint8_t cmd, size_t n)
{
	struct t_nl_msg msg;
	int err;

	s->cmd = cmd;
	s->n = 0;
	s->place = calloc(n, sizeof(*s->place));
	err = s->place ? t_nl_dump(nl, cmd, 0) : -ENOMEM;
	while (!err && (err = t_nl_next(nl, &msg)) > 0) {
		if (s->n == n)
			return -E2BIG;
		s->place[s->n++] = place_of(&msg);
		err = 0;
	}
	return err ? err : s->n == n ? 0 : -ENOENT;
}

/* A dump has each of them once, in order, and perhaps others. */
static int staying_check(const struct staying *s, struct t_nl *nl, unsigned long *intr)
{
	uint64_t last = 0;
	struct t_nl_msg msg;
	size_t found = 0;
	int err;

	err = t_nl_dump(nl, s->cmd, 0);
	while (!err && (err = t_nl_next(nl, &msg)) > 0) {
		uint64_t place = place_of(&msg);

		if (place <= last)
			return -EILSEQ;
		last = place;
		found += found < s->n && s->place[found] == place;
		err = 0;
	}
	*intr += nl->intr;
	return err ? err : found == s->n ? 0 : -ENOENT;
}

#define SMALL	16

/* Many dumps of a small set. */
TEST_F_TIMEOUT(load, O8_small_set, 300)
{
	unsigned long n = t_soaked(500, 1000), dumps, intr = 0;
	uint64_t late = 0;
	struct staying qps, mrs;
	struct gda_cq_create cq;
	struct gda_qp_create qp;
	struct churn c = { 0 };
	pthread_t thread;
	struct t_mr mr;
	uint8_t *page = t_pages(T_PAGE);

	c.fd = t_context();
	ASSERT_GE(c.fd, 0);
	ASSERT_OK(t_cq_create(c.fd, 0, 64, &cq));
	for (int i = 0; i < SMALL; i++) {
		ASSERT_OK(t_qp_create(c.fd, cq.handle, 16, &qp));
		ASSERT_OK(t_mr_reg(c.fd, page, T_PAGE, 0, &mr));
	}
	ASSERT_OK(staying_learn(&qps, &self->nl, GDA_CMD_QP_GET, SMALL));
	ASSERT_OK(staying_learn(&mrs, &self->nl, GDA_CMD_MR_GET, SMALL));
	ASSERT_EQ(0, pthread_create(&thread, NULL, churn, &c));
	/* also until enough came and went: who destroys waits, and dumps do not */
	for (dumps = 0; t_more(dumps, n, changes(&c) > n / 50, &late); dumps++) {
		ASSERT_OK(staying_check(dumps % 2 ? &qps : &mrs, &self->nl, &intr))
			TH_LOG("dump %lu", dumps);
	}
	__atomic_store_n(&c.stop, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	TH_LOG("%lu dumps, %lu say that something changed, beside %lu changes", dumps, intr, c.n);
	EXPECT_EQ(0, c.err);
	EXPECT_LT(0, c.n);
	free(qps.place);
	free(mrs.place);
	close(c.fd);
}

#define STAYING	200

/* An object that lives throughout is there exactly once in each dump, whatever comes and goes. */
TEST_F_TIMEOUT(load, dumps_while_objects_come_and_go, 300)
{
	unsigned long dumps = t_rounds(100), intr = 0;
	uint32_t handle[STAYING], id;
	struct gda_cq_create cq;
	struct gda_qp_create qp;
	struct churn c = { 0 };
	struct t_nl_msg msg;
	pthread_t thread;

	c.fd = t_context();
	ASSERT_GE(c.fd, 0);
	ASSERT_OK(t_cq_create(c.fd, 0, 64, &cq));
	for (int i = 0; i < STAYING; i++) {
		ASSERT_OK(t_qp_create(c.fd, cq.handle, 16, &qp));
		handle[i] = qp.handle;
	}
	id = t_nl_my_context(&self->nl);
	ASSERT_EQ(0, pthread_create(&thread, NULL, churn, &c));
	for (unsigned long d = 0; d < dumps; d++) {
		uint32_t last = 0;
		int found = 0, err;

		ASSERT_OK(t_nl_dump(&self->nl, GDA_CMD_QP_GET, d % 2 ? id : 0));
		while ((err = t_nl_next(&self->nl, &msg)) > 0) {
			uint32_t h = t_nl_u32(&msg, GDA_A_QP_HANDLE);

			if (t_nl_u32(&msg, GDA_A_QP_CONTEXT) != id)
				continue;
			ASSERT_LT(last, h);
			last = h;
			found += found < STAYING && handle[found] == h;
		}
		ASSERT_EQ(0, err);
		ASSERT_EQ(STAYING, found);
		intr += self->nl.intr;
	}
	/* a dump whose middle nothing changed says so, and here that is rare */
	EXPECT_LT(0, intr);
	__atomic_store_n(&c.stop, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	EXPECT_EQ(0, c.err);
	EXPECT_LT(0, c.n);
	ASSERT_OK(t_nl_dump(&self->nl, GDA_CMD_QP_GET, 0));
	while (t_nl_next(&self->nl, &msg) > 0)
		;
	EXPECT_FALSE(self->nl.intr);
	close(c.fd);
}

/* All of a dump, in order: how many there are, or -errno; and how long it took. */
static long count_in_order(struct t_nl *nl, uint8_t cmd, uint64_t *ns)
{
	uint64_t begin = t_now(), place, last = 0;
	struct t_nl_msg msg;
	long n = 0;
	int err;

	err = t_nl_dump(nl, cmd, 0);
	while (!err && (err = t_nl_next(nl, &msg)) > 0) {
		place = (uint64_t)t_nl_u32(&msg, GDA_A_QP_CONTEXT) << 32 |
			t_nl_u32(&msg, GDA_A_QP_HANDLE);
		if (place <= last)
			return -EILSEQ;
		last = place;
		err = 0;
		n++;
	}
	*ns = t_now() - begin;
	return err ? err : n;
}

#define MANY_CONTEXTS	256

/* A user may have no more of these in a long run, and a slow kernel has fewer. */
static unsigned long as_many(unsigned long n)
{
	unsigned long rounds = t_rounds(n);

	return rounds < n ? rounds : n;
}

/* As much as a user may have; and then a tenant comes and goes beside it. */
TEST_F_TIMEOUT(load, O11_much, 600)
{
	unsigned long nmr = as_many(65536), nqp = as_many(4096);
	unsigned long dumps = t_soaked(1, 10), intr = 0;
	struct staying stays[3];
	struct gda_cq_create cq;
	struct gda_qp_create qp;
	struct churn c = { .contexts = true };
	int fd[MANY_CONTEXTS];
	pthread_t thread;
	struct t_mr mr;
	uint8_t *page = t_pages(T_PAGE);
	uint64_t ns;

	for (int i = 0; i < MANY_CONTEXTS; i++) {
		fd[i] = t_context();
		ASSERT_GE(fd[i], 0);
	}
	ASSERT_OK(t_cq_create(fd[0], 0, 16, &cq));
	for (unsigned long i = 0; i < nqp; i++)
		ASSERT_OK(t_qp_create(fd[0], cq.handle, 16, &qp));
	for (unsigned long i = 0; i < nmr; i++)
		ASSERT_OK(t_mr_reg(fd[i < nmr / 2 ? 0 : i % MANY_CONTEXTS], page, 1, 0, &mr));
	ASSERT_OK(staying_learn(&stays[0], &self->nl, GDA_CMD_CONTEXT_GET, MANY_CONTEXTS));
	ASSERT_OK(staying_learn(&stays[1], &self->nl, GDA_CMD_QP_GET, nqp));
	ASSERT_OK(staying_learn(&stays[2], &self->nl, GDA_CMD_MR_GET, nmr));
	EXPECT_EQ((long)nqp, count_in_order(&self->nl, GDA_CMD_QP_GET, &ns));
	TH_LOG("%lu QPs in %llu ms", nqp, (unsigned long long)ns / 1000000);
	EXPECT_EQ((long)nmr, count_in_order(&self->nl, GDA_CMD_MR_GET, &ns));
	TH_LOG("%lu MRs in %llu ms", nmr, (unsigned long long)ns / 1000000);
	EXPECT_EQ(1, count_in_order(&self->nl, GDA_CMD_CQ_GET, &ns));
	EXPECT_FALSE(self->nl.intr);
	c.fd = t_context();
	ASSERT_GE(c.fd, 0);
	ASSERT_EQ(0, pthread_create(&thread, NULL, churn, &c));
	for (unsigned long d = 0; d < 3 * dumps; d++) {
		ASSERT_OK(staying_check(&stays[d % 3], &self->nl, &intr))
			TH_LOG("dump %lu", d);
	}
	__atomic_store_n(&c.stop, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	TH_LOG("%lu times 3 dumps, %lu say that something changed, beside %lu changes", dumps,
	       intr, c.n);
	EXPECT_EQ(0, c.err);
	close(c.fd);
	for (int i = 0; i < MANY_CONTEXTS; i++)
		close(fd[i]);
	for (int k = 0; k < 3; k++)
		free(stays[k].place);
}

/* In a group that may run for 1 ms of a second: in a call of its context most of the time. */
static void be_frozen(const char *dir, int told)
{
	struct churn c = { 0 };

	if (t_group_enter(dir))
		_exit(1);
	c.fd = t_context();
	if (c.fd < 0 || write(told, "", 1) != 1)
		_exit(2);
	churn(&c);
	_exit(3);
}

#define FROZEN_DUMPS	40

/* A tenant that its CPU limit stops inside of ioctls, with its context locked. */
TEST_F_TIMEOUT(load, E9_dump_beside_a_frozen_tenant, 300)
{
	uint64_t ns, longest = 0, before = 0;
	struct t_group group;
	int told[2], err, late = 0;
	pid_t pid;
	char c;

	err = t_group_open(&group, "+cpu");
	if (err)
		SKIP(return, "no CPU controller");
	for (int i = 0; i < 20; i++) {
		ASSERT_GE(count_in_order(&self->nl, GDA_CMD_QP_GET, &ns), 0);
		before = ns > before ? ns : before;
	}
	ASSERT_EQ(0, pipe(told));
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid)
		be_frozen(group.dir, told[1]);
	ASSERT_EQ(1, read(told[0], &c, 1));
	ASSERT_OK(t_write_file(group.dir, "cpu.max", "1000 1000000"));
	for (int i = 0; i < FROZEN_DUMPS; i++) {
		ASSERT_GE(count_in_order(&self->nl, GDA_CMD_QP_GET, &ns), 0);
		longest = ns > longest ? ns : longest;
		late += ns > before + T_NS / 10;
		t_sleep_ns(T_NS / 20);
	}
	TH_LOG("longest dump %llu us, without the tenant %llu us; %d are late",
	       (unsigned long long)longest / 1000, (unsigned long long)before / 1000, late);
	/* the tenant is stopped nearly all the time: if that delayed dumps, then nearly all */
	EXPECT_GE(FROZEN_DUMPS / 4, late);
	kill(pid, SIGKILL);
	t_write_file(group.dir, "cpu.max", "max");
	waitpid(pid, NULL, 0);
	t_group_close(&group);
	close(told[0]);
	close(told[1]);
}

/* --- the puts of a tenant, beside dumps --- */

#define PUTS_LEAST	100U
#define PUTS	1000000U		/* at most, in */
#define PUTS_NS	(T_NS / 4)
#define TURNS	25

/* The neighbour of the tenant: a process that computes, one that reads /proc, one that dumps. */
enum beside { ALONE, SPINS, READS, DUMPS, BESIDES };

static void run_beside(enum beside what)
{
	static struct t_nl nl;
	uint64_t ns;

	if (what == DUMPS && t_nl_open(&nl))
		_exit(1);
	for (;;) {
		if (what == READS)
			t_proc_value("/proc/self/smaps", "no such key");
		if (what == DUMPS && count_in_order(&nl, GDA_CMD_MR_GET, &ns) < 0)
			_exit(2);
	}
}

/* 99 of 100 puts take no longer than that. */
static uint64_t p99(struct t_end end[2])
{
	struct t_wr wr = t_wr_write(&end[0].mr, 0, &end[1].mr, 0, 8);
	uint64_t begin, over = t_now() + PUTS_NS;
	uint64_t *ns = calloc(PUTS, sizeof(*ns)), found = 0;
	size_t n = 0;

	while (ns && n < PUTS && (n < PUTS_LEAST || t_now() < over)) {
		begin = t_now();
		if (t_run(&end[0].qp, &wr, NULL)) {
			free(ns);
			return 0;
		}
		ns[n++] = t_now() - begin;
	}
	if (ns) {
		t_sort(ns, n);
		found = ns[n * 99 / 100];
	}
	free(ns);
	return found;
}

/* ... while a process of this kind runs. */
static uint64_t p99_beside(struct t_end end[2], enum beside what)
{
	uint64_t ns;
	int status;
	pid_t pid;

	if (what == ALONE)
		return p99(end);
	pid = fork();
	if (!pid)
		run_beside(what);
	ns = p99(end);
	/* it did not end by itself */
	if (waitpid(pid, &status, WNOHANG))
		return 0;
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return ns;
}

/*
 * Dumps, one after the other, beside another tenant's puts. A guest has two processors for three
 * threads, those of the putter, of its worker and of the neighbour: where the machine is busy,
 * any neighbour may cost a time slice. So the best of some turns counts, which is to be twice
 * what it is alone, or what other neighbours cost, at most; a busy machine has made it 2.6 times.
 * A put that waits for a dump, which takes tens of milliseconds, is a thousand times as long.
 */
TEST_F_TIMEOUT(load, E1_puts_beside_dumps, 300)
{
	uint64_t least[BESIDES], bar, ns;
	uint8_t *page = t_pages(T_PAGE);
	struct t_end end[2];
	struct t_mr mr;
	int fd, turn;

	if (t_stress(10) < 10)
		SKIP(return, "a kernel that is slow by itself");
	fd = t_context();
	ASSERT_GE(fd, 0);
	for (int i = 0; i < 2000; i++)
		ASSERT_OK(t_mr_reg(fd, page, 1, 0, &mr));
	ASSERT_OK(t_pair_open(end, 16, T_PAGE));
	memset(least, 0xff, sizeof(least));
	for (turn = 0; turn < TURNS; turn++) {
		for (enum beside what = ALONE; what < BESIDES; what++) {
			ns = p99_beside(end, what);
			ASSERT_NE(0, ns);
			least[what] = ns < least[what] ? ns : least[what];
		}
		if (turn > 3 && least[DUMPS] <= 2 * least[ALONE])
			break;
	}
	TH_LOG("p99 in ns: alone %llu, beside dumps %llu; who spins %llu, who reads /proc %llu",
	       (unsigned long long)least[ALONE], (unsigned long long)least[DUMPS],
	       (unsigned long long)least[SPINS], (unsigned long long)least[READS]);
	bar = least[SPINS] > least[READS] ? least[SPINS] : least[READS];
	bar = bar > least[ALONE] ? bar : least[ALONE];
	EXPECT_GE(20 * bar, least[DUMPS]);
	t_pair_close(end);
	close(fd);
}

TEST_HARNESS_MAIN
