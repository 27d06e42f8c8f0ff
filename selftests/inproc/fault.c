// SPDX-License-Identifier: MIT
/*
 * Memory that goes while it is registered with the in-process device: the work request that
 * names it fails, and nothing else does; faults that are not the device's go where they
 * went before. Not in the guest, for the kernel pins what it registers.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>
#include "suite.h"

#define LEN	(64U * 4096)

FIXTURE(fault) {
	struct s_end end[2];
};

FIXTURE_SETUP(fault)
{
	ASSERT_OK(s_pair_open(self->end, 16, LEN));
	memset(self->end[0].mem.addr, 0x11, LEN);
	memset(self->end[1].mem.addr, 0x22, LEN);
}

FIXTURE_TEARDOWN(fault)
{
	s_pair_close(self->end);
}

enum way { UNMAPPED, NO_ACCESS, READ_ONLY, TRUNCATED, WAYS };

/* Take the memory of @m away from its second page on. */
static int take_away(struct s_memory *m, enum way way)
{
	uint8_t *from = m->addr + 4096;

	switch (way) {
	case UNMAPPED:
		return munmap(from, LEN - 4096);
	case NO_ACCESS:
		return mprotect(from, LEN - 4096, PROT_NONE);
	case READ_ONLY:
		return mprotect(from, LEN - 4096, PROT_READ);
	default:
		return 0;
	}
}

/* Memory of a file that is @way TRUNCATED later; of any other way, it could be. */
static int memory_new(struct gda_context *ctx, struct s_memory *m, int *fd)
{
	*fd = memfd_create("fault", MFD_CLOEXEC);
	if (*fd < 0 || ftruncate(*fd, LEN))
		return -1;
	m->addr = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	if (m->addr == MAP_FAILED || gda_mr_reg(ctx, m->addr, LEN, GDA_ACCESS_ALL, 0, &m->mr))
		return -1;
	m->iova = gda_mr_iova(m->mr);
	m->key = gda_mr_key(m->mr);
	memset(m->addr, 0x33, LEN);
	return 0;
}

static int renew(struct s_end *end)
{
	int i, err = 0;

	for (i = 0; i < 2 && !err; i++) {
		err = gda_qp_destroy(end[i].qp);
		if (!err)
			err = s_qp_open(end[i].ctx, 16, S_TIMEOUT_NS, &end[i].qp);
		end[i].v = gda_qp_view(end[i].qp);
	}
	return err ? err : s_connect(end[0].qp, end[1].qp);
}

enum work { PUT_8, PUT_ALL, GET_8, GET_ALL, FETCH_ADD, WORKS };

/* Work between @m, at offset 4096 where there is nothing any more, and memory that stays. */
static int64_t post(struct s_end *from, const struct s_memory *local,
		    const struct s_memory *remote, enum work work)
{
	uint64_t l = local->iova + 4096, r = remote->iova + 4096;

	switch (work) {
	case PUT_8:
		return gda_put(from->v, l, local->key, r, remote->key, 8, 0);
	case PUT_ALL:
		return gda_put(from->v, local->iova, local->key, remote->iova, remote->key, LEN, 0);
	case GET_8:
		return gda_get(from->v, l, local->key, r, remote->key, 8, 0);
	case GET_ALL:
		return gda_get(from->v, local->iova, local->key, remote->iova, remote->key, LEN, 0);
	default:
		return gda_fetch_add(from->v, l, local->key, r, remote->key, 1, 0);
	}
}

/* Does @work fault? Memory that is read-only can still be read from. */
static bool faults(enum way way, enum work work, bool local_gone)
{
	bool written = work == FETCH_ADD || (work >= GET_8) == local_gone;

	return way != READ_ONLY || written;
}

/* One kind of work, one end whose memory goes one way. */
static bool one(struct s_end *end, enum way way, enum work work, bool local_gone)
{
	struct s_end *a = &end[0];
	struct s_memory *stays = &end[local_gone].mem, gone;
	struct gda_error e = { .size = sizeof(e) };
	int64_t before, t, after;
	int fd, want = faults(way, work, local_gone) ? -EIO : 0;
	bool ok;

	if (memory_new(end[!local_gone].ctx, &gone, &fd) || take_away(&gone, way) ||
	    (way == TRUNCATED && ftruncate(fd, 4096)))
		return false;
	before = gda_nop(a->v, 0);
	t = local_gone ? post(a, &gone, stays, work) : post(a, stays, &gone, work);
	after = gda_nop(a->v, 0);
	ok = !gda_wait(a->v, before, 0) && gda_wait(a->v, t, 0) == want &&
	     gda_wait(a->v, after, 0) == (want ? -ECANCELED : 0);
	if (want)
		ok = ok && gda_error(a->v, &e) == 1 && e.ticket == t &&
		     e.vendor == GDA_MLX5_VENDOR_IO &&
		     e.syndrome == (local_gone ? GDA_MLX5_SYND_LOCAL_PROT :
						 GDA_MLX5_SYND_REMOTE_OP);
	if (!ok)
		printf("# way %d, work %d, %s: ticket %lld, error of %lld: %s, %s\n", way, work,
		       local_gone ? "local" : "remote", (long long)t, (long long)e.ticket,
		       gda_syndrome_name(e.syndrome), gda_vendor_name(e.vendor));
	ok = !gda_mr_dereg(gone.mr) && ok;
	/* the rest is another's by now, perhaps */
	munmap(gone.addr, way == UNMAPPED ? 4096 : LEN);
	close(fd);
	return !renew(end) && ok;
}

TEST_F_TIMEOUT(fault, work_that_names_it_fails, 60)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];
	int way, work, n = 0;

	/* the workers run: none maps memory of its own where some is about to go */
	ASSERT_OK(gda_wait(a->v, gda_nop(a->v, 0), 0));
	ASSERT_OK(gda_wait(b->v, gda_nop(b->v, 0), 0));
	for (way = 0; way < WAYS; way++)
		for (work = 0; work < WORKS; work++)
			n += one(self->end, (enum way)way, (enum work)work, false) +
			     one(self->end, (enum way)way, (enum work)work, true);
	EXPECT_EQ(2 * WAYS * WORKS, n);
	/* the workers are well */
	memset(a->mem.addr, 0x5a, LEN);
	EXPECT_OK(gda_wait(a->v, s_put(a, 0, b, 0, LEN, 0), 0));
	EXPECT_EQ(0, memcmp(a->mem.addr, b->mem.addr, LEN));
}

/* Other queues of the same worker go on, and what was done before the fault is done. */
TEST_F(fault, other_queues_go_on)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];
	struct gda_address address;
	struct s_memory gone;
	struct gda_qp *other;
	struct gda_view *v;
	int64_t t, last = 0;
	int fd, i;

	ASSERT_OK(s_qp_open(a->ctx, 64, S_TIMEOUT_NS, &other));
	ASSERT_OK(gda_qp_address(other, &address));
	ASSERT_OK(gda_qp_connect(other, &address));
	v = gda_qp_view(other);
	ASSERT_EQ(0, memory_new(b->ctx, &gone, &fd));
	ASSERT_EQ(0, take_away(&gone, UNMAPPED));
	for (i = 0; i < 50; i++) {
		uint64_t value = (uint64_t)i;

		last = gda_put_value(v, a->mem.iova + 8 * value, a->mem.key, value, 0);
		ASSERT_LE(0, last);
	}
	ASSERT_LE(0, gda_put_value(a->v, b->mem.iova, b->mem.key, 77, GDA_DEFER));
	t = gda_put(a->v, a->mem.iova, a->mem.key, gone.iova + 4096, gone.key, 8, 0);
	EXPECT_EQ(-EIO, gda_wait(a->v, t, 0));
	EXPECT_EQ(77, *(uint64_t *)(void *)b->mem.addr);
	EXPECT_OK(gda_wait(v, last, 0));
	for (i = 0; i < 50; i++)
		EXPECT_EQ(i, ((uint64_t *)(void *)a->mem.addr)[i]);
	EXPECT_OK(gda_wait(v, gda_nop(v, 0), 0));
	EXPECT_OK(gda_mr_dereg(gone.mr));
	EXPECT_OK(gda_qp_destroy(other));
	munmap(gone.addr, 4096);
	close(fd);
}

/* A word of a counter: the queue fails for it, no count is lost, and queues that share it go on. */
TEST_F(fault, Q6_a_word_of_a_counter)
{
	struct gda_counter_attr attr = { .size = sizeof(attr), .value_offset = 4096 };
	struct gda_qp_attr qp = { .size = sizeof(qp), .sq_depth = 16, .timeout_ns = S_TIMEOUT_NS };
	struct s_end *a = &self->end[0];
	struct gda_counter *c;
	struct gda_qp *q;
	struct s_memory gone;
	struct gda_view *v;
	uint64_t done;
	enum way way;
	int fd;

	for (way = UNMAPPED; way < WAYS; way++) {
		ASSERT_EQ(0, memory_new(a->ctx, &gone, &fd));
		attr.value_mr = gone.mr;
		ASSERT_OK(gda_counter_create_attr(a->ctx, &attr, &c));
		qp.sent_counter = c;
		ASSERT_OK(gda_qp_create(a->ctx, &qp, &q));
		ASSERT_OK(s_connect(q, q));
		v = gda_qp_view(q);
		EXPECT_OK(gda_wait(v, gda_nop(v, 0), 0));
		ASSERT_EQ(0, take_away(&gone, way));
		ASSERT_EQ(0, way == TRUNCATED ? ftruncate(fd, 4096) : 0);
		for (done = 1; done < 1000 && !gda_wait(v, gda_nop(v, 0), 0); done++)
			;
		EXPECT_GT(1000, done);
		EXPECT_TRUE(s_fails_by_queue(q)) TH_LOG("way %d", way);
		EXPECT_EQ(done, gda_counter_memory(c)->value);
		EXPECT_OK(gda_qp_destroy(q));
		/* its counter is not stuck: the next queue that counts there fails alike */
		ASSERT_OK(gda_qp_create(a->ctx, &qp, &q));
		ASSERT_OK(s_connect(q, q));
		EXPECT_TRUE(s_fails_by_queue(q)) TH_LOG("way %d", way);
		EXPECT_OK(gda_qp_destroy(q));
		EXPECT_OK(gda_counter_destroy(c));
		EXPECT_OK(gda_mr_dereg(gone.mr));
		munmap(gone.addr, LEN);
		close(fd);
	}
}

static sigjmp_buf back;
static void *fault_at;

static void on_fault(int sig, siginfo_t *info, void *context)
{
	(void)context;
	fault_at = sig == SIGSEGV && info->si_code > 0 ? info->si_addr : NULL;
	siglongjmp(back, 1);
}

/* The program's own faults are its own, with a handler of before or without one. */
TEST(handler_of_before)
{
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	struct s_end end[2];
	uint8_t *p;

	ASSERT_EQ(0, sigaction(SIGSEGV, &action, NULL));
	ASSERT_OK(s_pair_open(end, 16, LEN));
	p = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, p);
	if (!sigsetjmp(back, 1)) {
		*(volatile uint8_t *)p = 1;
		EXPECT_TRUE(false);
	}
	EXPECT_EQ(p, fault_at);
	/* also in memory that is registered: no queue is executed by this thread */
	fault_at = NULL;
	ASSERT_EQ(0, mprotect(end[0].mem.addr, 4096, PROT_NONE));
	if (!sigsetjmp(back, 1)) {
		*(volatile uint8_t *)end[0].mem.addr = 1;
		EXPECT_TRUE(false);
	}
	EXPECT_EQ(end[0].mem.addr, fault_at);
	s_pair_close(end);
}

/* Killed by @sig; a sanitizer had a handler, and exits. */
static bool died_of(int status, int sig)
{
#ifdef __SANITIZE_ADDRESS__
	(void)sig;
	return WIFEXITED(status) && WEXITSTATUS(status);
#else
	return WIFSIGNALED(status) && WTERMSIG(status) == sig;
#endif
}

TEST(no_handler_before)
{
	struct s_end end[2];
	uint8_t *p = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int status;
	pid_t pid;

	ASSERT_NE(MAP_FAILED, p);
	ASSERT_OK(s_pair_open(end, 16, LEN));
	pid = fork();
	if (!pid) {
		*(volatile uint8_t *)p = 1;
		_exit(0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(died_of(status, SIGSEGV));
	pid = fork();
	if (!pid) {
		raise(SIGBUS);
		_exit(0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_TRUE(died_of(status, SIGBUS));
	s_pair_close(end);
}

TEST_HARNESS_MAIN
