// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * SECURITY.md O14: a context has a kernel thread, to which limits of a process do not apply
 * by themselves. Binding is refused where fork() would be (RLIMIT_NPROC, pids.max), so that no
 * other process's fork() fails because of it. Yet a worker is no thread of the process that
 * bound its context, which may end.
 */
#include <dirent.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include "gda_fixture.h"
#include "group.h"

#define NPROC		8
#define PIDS		16	/* of the tenant */
#define PIDS_ALL	40	/* of it and its neighbour */
#define MANY		100	/* contexts that one process tries to have */

FIXTURE(threads) {
	struct t_group group;		/* of all tenants */
	char tenant[96], neighbour[96];
};

T_SETUP(threads)
{
	if (t_group_open(&self->group, "+pids"))
		return;
	ASSERT_OK(t_write_file(self->group.dir, "cgroup.subtree_control", "+pids"));
	ASSERT_OK(t_group_sub(&self->group, "tenant", self->tenant));
	ASSERT_OK(t_group_sub(&self->group, "neighbour", self->neighbour));
	ASSERT_OK(t_write_file(self->group.dir, "pids.max", "40"));
	ASSERT_OK(t_write_file(self->tenant, "pids.max", "16"));
}

T_TEARDOWN(threads)
{
	if (self->tenant[0])
		t_group_remove(self->tenant);
	if (self->neighbour[0])
		t_group_remove(self->neighbour);
	t_group_close(&self->group);
}

/* Does this kernel let modules ask pids.max? */
static bool asks_pids_max(void)
{
	char line[256];
	bool found = false;
	FILE *f = fopen("/proc/kallsyms", "re");

	while (f && !found && fgets(line, sizeof(line), f))
		found = strstr(line, " vhost_task_create\n");
	if (f)
		fclose(f);
	return found && t_kernel() >= 6012;
}

static int limit_processes(rlim_t n)
{
	struct rlimit rl = { .rlim_cur = n, .rlim_max = n };

	return setrlimit(RLIMIT_NPROC, &rl) ? -errno : 0;
}

/* Bind contexts into @fd till it is refused or there are @max; how many, and why no more. */
static int bind_many(int *fd, int max, int *err)
{
	int n;

	*err = 0;
	for (n = 0; n < max; n++) {
		fd[n] = t_context();
		if (fd[n] < 0) {
			*err = fd[n];
			break;
		}
	}
	return n;
}

static int one_more(void *arg)
{
	int fd = t_context();

	(void)arg;
	return fd < 0 ? -fd : 0;
}

static int forks(void *arg)
{
	(void)arg;
	return 0;
}

static int nproc(void *arg)
{
	int fd[NPROC + 1], err;

	(void)arg;
	CHECK(!limit_processes(NPROC) && !t_drop(true));
	/* this process is one, the workers are the others */
	CHECK(bind_many(fd, NPROC + 1, &err) == NPROC - 1);
	CHECK(err == -EAGAIN);
	/* of another process of the same user, too; that one itself is no worker */
	CHECK(t_in_child(one_more, NULL) == EAGAIN);
	close(fd[0]);
	CHECK(t_in_child(one_more, NULL) == EAGAIN);
	fd[0] = t_context();
	CHECK(fd[0] >= 0);
	CHECK(t_context() == -EAGAIN);
	close(fd[0]);
	close(fd[1]);
	CHECK(t_in_child(one_more, NULL) == 0);
	return 0;
}

TEST_F(threads, O14_rlimit_nproc)
{
	EXPECT_EQ(0, t_in_child(nproc, NULL));
}

/* The limit of processes does not stop root, as it does not stop root's fork(). */
T_CHILD_TEST(threads, O14_rlimit_nproc_of_root)
{
	int fd[NPROC + 1], err;

	CHECK(!limit_processes(1));
	CHECK(bind_many(fd, NPROC + 1, &err) == NPROC + 1);
	return 0;
}

/* Bind as many as possible, say how many and why no more, and keep them. */
struct tenant {
	const char *dir;
	uid_t uid;
	rlim_t nproc;
	int told[2];
};

struct told {
	int n, err;
};

static void tenant(const struct tenant *t)
{
	gid_t group = T_GROUP;
	struct told told = { -1, 0 };
	int fd[MANY];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!t_group_enter(t->dir) && !limit_processes(t->nproc) && !setgroups(1, &group) &&
	    !setresgid(t->uid, t->uid, t->uid) && !setresuid(t->uid, t->uid, t->uid))
		told.n = bind_many(fd, MANY, &told.err);
	if (write(t->told[1], &told, sizeof(told)) == sizeof(told))
		pause();
	_exit(1);
}

static pid_t tenant_start(struct tenant *t, struct told *told)
{
	pid_t pid = fork();

	if (!pid)
		tenant(t);
	if (pid > 0 && read(t->told[0], told, sizeof(*told)) != sizeof(*told))
		told->n = -1;
	return pid;
}

/* A process that lives in the neighbour's group, and forks. */
static int neighbour(void *arg)
{
	CHECK(!t_group_enter(arg));
	CHECK(t_in_child(forks, NULL) == 0);
	return 0;
}

/* Wait until nothing is counted any more: a worker may end a little after its file. */
static int emptied(const char *dir)
{
	uint64_t end = t_now() + T_WAIT_NS;

	while (t_group_get(dir, "pids.current", NULL))
		if (t_now() > end)
			return -ETIMEDOUT;
	return 0;
}

TEST_F(threads, O14_pids_max)
{
	struct tenant t = { .dir = self->tenant, .uid = T_NOBODY, .nproc = RLIM_INFINITY };
	struct told told = { 0 };
	pid_t pid;

	if (!self->tenant[0])
		SKIP(return, "no cgroup v2 that limits processes");
	if (!asks_pids_max())
		SKIP(return, "no module can ask pids.max of this kernel");
	printf("# dmesg: cgroup: fork rejected by pids controller\n");
	fflush(stdout);
	ASSERT_EQ(0, pipe(t.told));
	for (int i = 0; i < 3; i++) {
		pid = tenant_start(&t, &told);
		ASSERT_LE(0, pid);
		TH_LOG("%d contexts with pids.max %d, then errno %d; pids.current %ld", told.n,
		       PIDS, -told.err, t_group_get(self->tenant, "pids.current", NULL));
		EXPECT_EQ(-EAGAIN, told.err);
		/* the tenant's process is one of them */
		EXPECT_EQ(PIDS - 1, told.n);
		EXPECT_EQ(PIDS, t_group_get(self->tenant, "pids.current", NULL));
		EXPECT_EQ(0, t_in_child(neighbour, self->neighbour));
		kill(pid, SIGKILL);
		EXPECT_EQ(128 + SIGKILL, t_reap(pid, T_WAIT_NS));
		EXPECT_OK(emptied(self->tenant));
	}
	close(t.told[0]);
	close(t.told[1]);
}

#define USERS	4

/* The limits of each user are those of all together, whatever the kernel can ask. */
TEST_F(threads, O14_four_users)
{
	struct told told[USERS] = { 0 };
	pid_t pid[USERS];
	struct tenant t = { .dir = self->tenant, .nproc = PIDS / USERS };
	int n = 0;

	if (!self->tenant[0])
		SKIP(return, "no cgroup v2 that limits processes");
	ASSERT_EQ(0, pipe(t.told));
	for (int i = 0; i < USERS; i++) {
		t.uid = (uid_t)(70001 + i);
		pid[i] = tenant_start(&t, &told[i]);
		ASSERT_LE(0, pid[i]);
		EXPECT_LE(0, told[i].n);
		EXPECT_EQ(-EAGAIN, told[i].err);
		n += told[i].n;
	}
	TH_LOG("%d contexts of %d users with RLIMIT_NPROC %d, pids.current %ld", n, USERS,
	       PIDS / USERS, t_group_get(self->tenant, "pids.current", NULL));
	EXPECT_EQ(PIDS - USERS, n);
	EXPECT_EQ(PIDS, t_group_get(self->tenant, "pids.current", NULL));
	EXPECT_EQ(0, t_in_child(neighbour, self->neighbour));
	for (int i = 0; i < USERS; i++) {
		kill(pid[i], SIGKILL);
		EXPECT_EQ(128 + SIGKILL, t_reap(pid[i], T_WAIT_NS));
	}
	close(t.told[0]);
	close(t.told[1]);
}

/* When a bind has returned, its process has the threads that it had. */
T_CHILD_TEST(threads, O14_bind_leaves_no_thread)
{
	for (int i = 0; i < 50; i++) {
		int fd = t_context();

		CHECK(fd >= 0);
		/* refused to processes with more than one thread */
		CHECK(!unshare(CLONE_THREAD));
		CHECK(t_proc_value("/proc/self/status", "Threads") == 1);
		close(fd);
	}
	return 0;
}

/* The thread of the kernel's that has the highest number of those named gda/... */
static pid_t last_worker(void)
{
	pid_t last = 0;
	DIR *proc = opendir("/proc");
	struct dirent *entry;

	while (proc && (entry = readdir(proc))) {
		char path[300], name[16] = "";
		pid_t pid = atoi(entry->d_name);
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		f = pid > last ? fopen(path, "re") : NULL;
		if (f && fgets(name, sizeof(name), f) && !strncmp(name, "gda/", 4))
			last = pid;
		if (f)
			fclose(f);
	}
	if (proc)
		closedir(proc);
	return last;
}

/* A binder at nice 7, on one processor; it may be in a group with a cpuset. */
T_CHILD_TEST(threads, E2_nice_and_affinity_are_the_binders)
{
	cpu_set_t cpus;
	pid_t worker;
	int fd;

	CPU_ZERO(&cpus);
	CPU_SET(sysconf(_SC_NPROCESSORS_ONLN) - 1, &cpus);
	CHECK(!sched_setaffinity(0, sizeof(cpus), &cpus));
	CHECK(nice(7) == 7);
	fd = t_context();
	CHECK(fd >= 0);
	worker = last_worker();
	CHECK(worker > 0);
	/* it has them when it has begun to work, a moment after bind() */
	for (uint64_t end = t_now() + T_WAIT_NS; getpriority(PRIO_PROCESS, worker) != 7;)
		CHECK(t_now() < end);
	CPU_ZERO(&cpus);
	CHECK(!sched_getaffinity(worker, sizeof(cpus), &cpus) && CPU_COUNT(&cpus) == 1);
	CHECK(CPU_ISSET(sysconf(_SC_NPROCESSORS_ONLN) - 1, &cpus));
	close(fd);
	return 0;
}

enum end { EXITS, EXECS, STOPS };

/* Bind a context, hand it over, and when told to, end in one way or another. */
static void binder(enum end how, int sock)
{
	int fd = t_context();
	char c;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (fd < 0 || t_send_fd(sock, fd) || read(sock, &c, 1) != 1)
		_exit(1);
	if (how == STOPS)
		raise(SIGSTOP);
	else if (how == EXECS)
		execl("/bin/sleep", "sleep", "1000", NULL);
	_exit(0);
}

/* Wait until the binder has come to its end. */
static int ended(pid_t pid, enum end how)
{
	uint64_t end = t_now() + T_WAIT_NS;
	char path[64], name[16] = "";
	siginfo_t info;

	if (how != EXECS)
		return waitid(P_PID, (id_t)pid, &info, WEXITED | WSTOPPED | WNOWAIT) ? -errno : 0;
	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	while (strncmp(name, "sleep", 5)) {
		FILE *f = fopen(path, "re");

		if (!f || !fgets(name, sizeof(name), f) || t_now() > end)
			return -ETIMEDOUT;
		fclose(f);
	}
	return 0;
}

static void outlives(struct __test_metadata *_metadata, enum end how)
{
	struct t_wr nop = { .opcode = GDA_MLX5_NOP };
	struct t_qp qp;
	int pair[2], fd;
	pid_t pid;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		binder(how, pair[1]);
	fd = t_recv_fd(pair[0]);
	ASSERT_LE(0, fd);
	ASSERT_OK(t_qp_open(&qp, fd, 64));
	ASSERT_OK(t_connect(&qp, &qp));
	EXPECT_OK(t_run(&qp, &nop, NULL));
	ASSERT_EQ(1, write(pair[0], "", 1));
	ASSERT_OK(ended(pid, how));
	EXPECT_OK(t_run(&qp, &nop, NULL)) TH_LOG("end %d", how);
	/* also after it slept */
	t_sleep_ns(T_NS / 5);
	EXPECT_OK(t_run(&qp, &nop, NULL)) TH_LOG("end %d", how);
	kill(pid, SIGKILL);
	t_reap(pid, T_WAIT_NS);
	EXPECT_OK(t_run(&qp, &nop, NULL)) TH_LOG("end %d", how);
	t_qp_close(&qp);
	close(fd);
	close(pair[0]);
	close(pair[1]);
}

TEST_F(threads, O14_outlives_exit_of_its_binder)
{
	outlives(_metadata, EXITS);
}

TEST_F(threads, O14_outlives_exec_of_its_binder)
{
	outlives(_metadata, EXECS);
}

TEST_F(threads, O14_outlives_stop_of_its_binder)
{
	outlives(_metadata, STOPS);
}

/* Binding against kills, stops and signals: it ends, and is done or not. */
static int signalled(void *arg)
{
	(void)arg;
	for (;;) {
		int fd = t_context();

		if (fd < 0 && fd != -EINTR)
			_exit(1);
		close(fd);
	}
}

TEST_F(threads, O14_bind_against_signals)
{
	static const int signals[] = { SIGSTOP, SIGCONT, SIGWINCH };
	unsigned long rounds = t_rounds(30);
	uint64_t seed = t_seed();

	for (unsigned long i = 0; i < rounds; i++) {
		pid_t pid = fork();

		ASSERT_LE(0, pid);
		if (!pid)
			_exit(signalled(NULL));
		for (int k = 0; k < 20; k++) {
			kill(pid, signals[t_random(&seed) % 3]);
			t_sleep_ns(t_random(&seed) % (T_NS / 2000));
		}
		kill(pid, SIGKILL);
		EXPECT_EQ(128 + SIGKILL, t_reap(pid, T_WAIT_NS)) TH_LOG("round %lu", i);
	}
}

TEST_HARNESS_MAIN
