// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * SECURITY.md E12: a cgroup whose processes have bound contexts freezes, and it can be removed when
 * its processes have gone, whatever the worker of a context has to do: it never keeps a group. In
 * between, the group pays for it.
 *
 * A member is a process in a group with a context of one kind. It may be told to hand its
 * context over and to end.
 */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "gda_fixture.h"
#include "group.h"

#define ROUNDS	10

enum kind { IDLE, TRAFFIC, POLLED, EXPORTED, PEER };

FIXTURE(freeze) {
	struct t_group group;
	char a[96], b[96];
	uint64_t *puts;		/* how many a member has seen completed */
	int pair[2];
	pid_t pid, peer;
};

FIXTURE_VARIANT(freeze) {
	enum kind kind;
};

FIXTURE_VARIANT_ADD(freeze, idle) { .kind = IDLE };
FIXTURE_VARIANT_ADD(freeze, traffic) { .kind = TRAFFIC };
FIXTURE_VARIANT_ADD(freeze, polled) { .kind = POLLED };
FIXTURE_VARIANT_ADD(freeze, exported) { .kind = EXPORTED };
FIXTURE_VARIANT_ADD(freeze, peer) { .kind = PEER };

T_SETUP(freeze)
{
	if (t_group_open(&self->group, "+cpu"))
		SKIP(return, "no cgroup v2");
	ASSERT_OK(t_group_sub(&self->group, "a", self->a));
	ASSERT_OK(t_group_sub(&self->group, "b", self->b));
	self->pair[0] = -1;
	self->puts = mmap(NULL, T_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->puts);
}

T_TEARDOWN(freeze)
{
	for (int i = 0; i < 2; i++) {
		pid_t pid = i ? self->peer : self->pid;

		if (pid > 0) {
			kill(pid, SIGKILL);
			t_reap(pid, T_WAIT_NS);
		}
	}
	t_write_file(self->group.dir, "cgroup.freeze", "0");
	t_group_remove(self->a);
	t_group_remove(self->b);
	t_group_close(&self->group);
	munmap(self->puts, T_PAGE);
	close(self->pair[0]);
}

/* A QP that is connected to itself, and what keeps its worker awake. */
static int of_kind(enum kind kind, int fd, struct t_qp *qp)
{
	struct gda_region_export db = { .size = sizeof(db), .type = GDA_REGION_DB };
	struct gda_qp_create polled = {
		.size = sizeof(polled), .flags = GDA_QP_POLLED,
		.dialect = GDA_DIALECT_MLX5, .sq_depth = 64,
	};
	struct gda_cq_create cq;
	int err = t_qp_open(qp, fd, 64);

	err = err ? err : t_connect(qp, qp);
	db.handle = qp->qpc.handle;
	if (!err && kind == POLLED) {
		/* a collapsed CQ is that of one QP */
		err = t_cq_create(fd, GDA_CQ_COLLAPSED, 1, &cq);
		polled.cq = cq.handle;
		err = err ? err : t_ioctl(fd, GDA_IOC_QP_CREATE, &polled);
	}
	if (!err && kind == EXPORTED)
		err = t_ioctl(fd, GDA_IOC_REGION_EXPORT, &db);
	return err;
}

/* Ends when its file has been taken, and it is told to. */
static void member(FIXTURE_DATA(freeze) *self, enum kind kind)
{
	struct t_wr nop = { .opcode = GDA_MLX5_NOP };
	int fd, sock = self->pair[1];
	struct t_qp qp;
	char c;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (t_group_enter(self->a))
		_exit(1);
	fd = t_context();
	if (fd < 0 || of_kind(kind, fd, &qp) || t_send_fd(sock, fd))
		_exit(2);
	while (kind != IDLE && kind != PEER) {
		if (t_run(&qp, &nop, NULL))
			_exit(3);
		__atomic_fetch_add(self->puts, 1, __ATOMIC_RELAXED);
		if (recv(sock, &c, 1, MSG_DONTWAIT) == 1)
			_exit(0);
		if (kind != TRAFFIC)
			t_sleep_ns(T_NS / 1000);
	}
	_exit(recv(sock, &c, 1, 0) != 1);
}

/* Sockets to talk with a child: each has one end, and so sees that the other has ended. */
static pid_t fork_with_sockets(FIXTURE_DATA(freeze) *self)
{
	close(self->pair[0]);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, self->pair))
		return -1;
	self->pid = fork();
	if (self->pid < 0)
		return -1;
	close(self->pair[self->pid ? 1 : 0]);
	return self->pid;
}

/* Outside of the groups: puts into the member's context, as fast as it can. */
static void load(FIXTURE_DATA(freeze) *self, int fd)
{
	int own = t_context();
	struct t_qp from, to;
	struct t_mr src, dst;
	struct t_wr put;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(self->pair[0]);
	if (own < 0 || t_qp_open(&from, own, 64) || t_qp_open(&to, fd, 64) ||
	    t_connect(&from, &to) || t_mr_new(own, T_PAGE, GDA_ACCESS_ALL, &src) ||
	    t_mr_new(fd, T_PAGE, GDA_ACCESS_ALL, &dst))
		_exit(1);
	put = t_wr_write(&src, 0, &dst, 0, T_PAGE);
	while (!t_run(&from, &put, NULL))
		__atomic_fetch_add(self->puts, 1, __ATOMIC_RELAXED);
	_exit(2);
}

/* Puts were seen completed since there were @puts: whether it goes on, within a time. */
static bool goes_on(FIXTURE_DATA(freeze) *self, uint64_t puts)
{
	for (uint64_t end = t_now() + T_WAIT_NS; t_now() < end; t_sleep_ns(T_NS / 1000))
		if (__atomic_load_n(self->puts, __ATOMIC_RELAXED) > puts + 1)
			return true;
	return false;
}

/* Return: its context's file. */
static int start(FIXTURE_DATA(freeze) *self, enum kind kind)
{
	int fd;

	if (fork_with_sockets(self) < 0)
		return -errno;
	if (!self->pid)
		member(self, kind);
	fd = t_recv_fd(self->pair[0]);
	if (fd < 0 || kind != PEER)
		return fd;
	self->peer = fork();
	if (!self->peer)
		load(self, fd);
	return self->peer > 0 && goes_on(self, 0) ? fd : -ETIMEDOUT;
}

static uint64_t ms_since(uint64_t start)
{
	return (t_now() - start) / 1000000;
}

/* Freeze the group or thaw it, and wait until it says so: milliseconds, or -ETIMEDOUT. */
static long frozen(const char *dir, bool on)
{
	uint64_t begin = t_now();
	int err = t_write_file(dir, "cgroup.freeze", on ? "1" : "0");

	while (!err && t_group_get(dir, "cgroup.events", "frozen") != on) {
		if (t_now() > begin + T_WAIT_NS)
			return -ETIMEDOUT;
		t_sleep_ns(T_NS / 200);
	}
	return err ? err : (long)ms_since(begin);
}

/* Milliseconds until the group was removed, or -ETIMEDOUT. */
static long removed(const char *dir)
{
	uint64_t begin = t_now();

	while (rmdir(dir)) {
		if (errno != EBUSY)
			return -errno;
		if (t_now() > begin + T_WAIT_NS)
			return -ETIMEDOUT;
		t_sleep_ns(T_NS / 200);
	}
	return (long)ms_since(begin);
}

/* Wait until @n threads are in the group: 0, or -ETIMEDOUT. */
static int has_tasks(const char *dir, int n)
{
	uint64_t end = t_now() + T_WAIT_NS;
	char path[128], line[32];
	int found = -1;

	snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
	while (found != n && t_now() < end) {
		FILE *f = fopen(path, "re");

		for (found = 0; f && fgets(line, sizeof(line), f); found++)
			;
		if (f)
			fclose(f);
		if (found != n)
			t_sleep_ns(T_NS / 100);
	}
	return found == n ? 0 : -ETIMEDOUT;
}

/* The worker of the kernel moves with its payer: count it where it should be. */
TEST_F(freeze, E12_freezes_and_goes_on)
{
	int fd = start(self, variant->kind);
	uint64_t puts;
	long ms;

	ASSERT_LE(0, fd);
	for (int i = 0; i < ROUNDS; i++) {
		t_sleep_ns(T_NS / 20);
		ms = frozen(i & 1 ? self->group.dir : self->a, true);
		ASSERT_LE(0, ms) TH_LOG("round %d", i);
		if (!i)
			TH_LOG("frozen after %ld ms", ms);
		puts = __atomic_load_n(self->puts, __ATOMIC_RELAXED);
		if (variant->kind == PEER)
			EXPECT_TRUE(goes_on(self, puts)) TH_LOG("round %d", i);
		ASSERT_LE(0, frozen(i & 1 ? self->group.dir : self->a, false));
	}
	EXPECT_OK(has_tasks(self->a, 2));
	puts = __atomic_load_n(self->puts, __ATOMIC_RELAXED);
	if (variant->kind != IDLE)
		EXPECT_TRUE(goes_on(self, puts));
	close(fd);
}

TEST_F(freeze, E12_removed_when_its_process_moved)
{
	int fd = start(self, variant->kind);
	char pid[16];
	long ms;

	ASSERT_LE(0, fd);
	snprintf(pid, sizeof(pid), "%d", self->pid);
	ASSERT_OK(t_write_file(self->b, "cgroup.procs", pid));
	ms = removed(self->a);
	TH_LOG("removed after %ld ms", ms);
	EXPECT_LE(0, ms);
	EXPECT_OK(has_tasks(self->b, 2));
	EXPECT_LE(0, frozen(self->b, true));
	EXPECT_LE(0, frozen(self->b, false));
	close(fd);
}

/* Who uses a context whose payer has ended pays. */
static int uses(const char *dir, int fd, int sock)
{
	struct t_wr nop = { .opcode = GDA_MLX5_NOP };
	struct t_qp qp;
	char c;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	CHECK(!t_group_enter(dir));
	CHECK(!t_qp_open(&qp, fd, 64) && !t_connect(&qp, &qp));
	for (int i = 0; i < 100; i++)
		CHECK(!t_run(&qp, &nop, NULL));
	CHECK(write(sock, "", 1) == 1 && read(sock, &c, 1) == 1);
	t_qp_close(&qp);
	return 0;
}

TEST_F(freeze, E12_removed_while_held_elsewhere)
{
	int fd = start(self, variant->kind), status;
	char c;
	long ms;

	ASSERT_LE(0, fd);
	ASSERT_EQ(1, write(self->pair[0], "", 1));
	EXPECT_EQ(0, t_reap(self->pid, T_WAIT_NS));
	ASSERT_LE(0, fork_with_sockets(self));
	if (!self->pid) {
		ms = removed(self->a);
		printf("# removed after %ld ms\n", ms);
		fflush(stdout);
		_exit(ms < 0 ? 127 : uses(self->b, fd, self->pair[1]));
	}
	ASSERT_EQ(1, recv(self->pair[0], &c, 1, 0));
	EXPECT_OK(has_tasks(self->b, 2));
	EXPECT_LE(0, frozen(self->b, true));
	EXPECT_LE(0, frozen(self->b, false));
	ASSERT_EQ(1, write(self->pair[0], "", 1));
	status = t_reap(self->pid, T_WAIT_NS);
	EXPECT_EQ(0, status);
	self->pid = 0;
	close(fd);
}

FIXTURE(binds) {
	struct t_group group;
};

T_SETUP(binds)
{
	if (t_group_open(&self->group, "+cpu"))
		SKIP(return, "no cgroup v2");
}

T_TEARDOWN(binds)
{
	t_write_file(self->group.dir, "cgroup.freeze", "0");
	t_group_close(&self->group);
}

/* A process that binds is frozen at any moment of it, and can be killed then. */
TEST_F(binds, E12_freezes_while_it_binds)
{
	uint64_t seed = t_seed();

	for (int i = 0; i < ROUNDS; i++) {
		pid_t pid = fork();

		ASSERT_LE(0, pid);
		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (int fd = t_group_enter(self->group.dir); fd >= 0; fd = t_context())
				if (fd)
					close(fd);
			_exit(1);
		}
		t_sleep_ns(T_NS / 20 + t_random(&seed) % (T_NS / 20));
		ASSERT_LE(0, frozen(self->group.dir, true)) TH_LOG("round %d", i);
		kill(pid, SIGKILL);
		EXPECT_EQ(128 + SIGKILL, t_reap(pid, T_WAIT_NS));
		EXPECT_LE(0, frozen(self->group.dir, false));
	}
}

#define ENDED	64	/* threads of a payer that are looked at, GDA_PAYER_BATCH of payer.c */

FIXTURE(ended) {
	struct t_group group;
	char a[96], b[96];
	int pair[2];		/* to the thread that has the context */
	int go[2];		/* pipe: the others end when it is closed */
	pid_t pid;
};

T_SETUP(ended)
{
	if (t_group_open(&self->group, "+cpu"))
		SKIP(return, "no cgroup v2");
	/* a group that is removed loses what it has */
	ASSERT_OK(t_write_file(self->group.dir, "cgroup.subtree_control", "+cpu"));
	ASSERT_OK(t_group_sub(&self->group, "a", self->a));
	ASSERT_OK(t_group_sub(&self->group, "b", self->b));
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, self->pair));
	ASSERT_EQ(0, pipe(self->go));
}

T_TEARDOWN(ended)
{
	if (self->pid > 0) {
		kill(self->pid, SIGKILL);
		/* all threads that are traced, and then the first of them */
		while (waitpid(-1, NULL, __WALL) > 0)
			;
	}
	if (self->a[0])
		t_group_remove(self->a);
	if (self->b[0])
		t_group_remove(self->b);
	t_group_close(&self->group);
}

/* A thread that ends, and no other with it. */
static void *ends(void *arg)
{
	FIXTURE_DATA(ended) *self = arg;
	char c;

	while (read(self->go[0], &c, 1) > 0)
		;
	syscall(SYS_exit, 0);
	return NULL;
}

/* The last thread: it has bound the context, and so it is the payer while it lives. */
static void *pays(void *arg)
{
	FIXTURE_DATA(ended) *self = arg;
	int fd = t_context();
	char c;

	if (fd < 0 || t_send_fd(self->pair[1], fd))
		_exit(3);
	recv(self->pair[1], &c, 1, 0);
	syscall(SYS_exit, 0);
	return NULL;
}

static void has_threads(FIXTURE_DATA(ended) *self)
{
	pthread_t thread;

	close(self->pair[0]);
	close(self->go[1]);
	if (t_group_enter(self->a))
		_exit(1);
	for (int i = 1; i <= ENDED; i++)
		if (pthread_create(&thread, NULL, i < ENDED ? ends : pays, self))
			_exit(2);
	ends(self);
}

static char state_of(pid_t pid, const char *tid)
{
	char path[64], line[256] = "", *end;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%.20s/stat", pid, tid);
	f = fopen(path, "re");
	if (f && !fgets(line, sizeof(line), f))
		line[0] = 0;
	if (f)
		fclose(f);
	end = strrchr(line, ')');
	return end && end[1] ? end[2] : 0;
}

/* How many threads of the process have ended; or, with @trace: how many are traced from now on. */
static int threads(pid_t pid, bool trace)
{
	struct dirent *e;
	char path[32];
	int n = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		if (trace ? !ptrace(PTRACE_SEIZE, atoi(e->d_name), NULL, NULL) :
			    state_of(pid, e->d_name) == 'Z')
			n++;
	}
	if (d)
		closedir(d);
	return n;
}

static int have_ended(pid_t pid, int n)
{
	uint64_t end = t_now() + T_WAIT_NS;

	while (threads(pid, false) != n) {
		if (t_now() > end)
			return -ETIMEDOUT;
		t_sleep_ns(T_NS / 100);
	}
	return 0;
}

/* One put, by a QP and memory of its own. */
static int puts_once(int fd)
{
	struct t_mr mr;
	struct t_qp qp;
	struct t_wr put;
	int err = t_mr_new(fd, 2 * T_PAGE, GDA_ACCESS_ALL, &mr);

	if (err)
		return err;
	err = t_qp_open(&qp, fd, 64);
	err = err ? err : t_connect(&qp, &qp);
	if (err)
		return err;
	memset(mr.addr, 0xa5, T_PAGE);
	put = t_wr_write(&mr, 0, &mr, T_PAGE, (uint32_t)T_PAGE);
	err = t_run(&qp, &put, NULL);
	if (!err && !t_all(mr.addr + T_PAGE, 0xa5, T_PAGE))
		err = -EBADMSG;
	t_qp_close(&qp);
	t_mr_free(fd, &mr);
	return err;
}

/*
 * The payer has as many ended threads as are looked at, which a tracer keeps, and the group in
 * which they ended has been removed: when its last thread ends, too, the worker goes nowhere there.
 */
TEST_F(ended, E12_ended_threads_of_a_removed_group)
{
	char pid[16];
	int fd, own;

	self->pid = fork();
	ASSERT_LE(0, self->pid);
	if (!self->pid)
		has_threads(self);
	close(self->pair[1]);
	fd = t_recv_fd(self->pair[0]);
	ASSERT_LE(0, fd);
	ASSERT_EQ(ENDED + 1, threads(self->pid, true));
	close(self->go[1]);
	ASSERT_OK(have_ended(self->pid, ENDED));
	/* the one thread that lives moves, and the worker follows it */
	snprintf(pid, sizeof(pid), "%d", self->pid);
	ASSERT_OK(t_write_file(self->b, "cgroup.procs", pid));
	ASSERT_LE(0, removed(self->a));
	/* a grace period of RCU, after which the group has no controllers */
	t_sleep_ns(T_NS / 2);
	ASSERT_EQ(1, write(self->pair[0], "", 1));
	ASSERT_OK(have_ended(self->pid, ENDED + 1));
	t_sleep_ns(T_NS);
	/* the kernel lives */
	EXPECT_OK(has_tasks(self->b, 0));
	own = t_context();
	ASSERT_LE(0, own);
	EXPECT_OK(puts_once(own));
	EXPECT_OK(puts_once(fd));
	close(own);
	close(fd);
	close(self->pair[0]);
}

TEST_HARNESS_MAIN
