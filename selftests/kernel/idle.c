// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Doorbell by fault: SECURITY.md E3 (no store is lost between idle and not), what an
 * idle context costs, and how fast the first store after idling is served.
 */
#include <ctype.h>
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <sys/uio.h>
#include "gda_fixture.h"

FIXTURE(idle) {
	struct t_end end[2];
	uint64_t idle_ns;
	uint64_t rnd;
};

T_SETUP(idle)
{
	struct gda_query query = { .size = sizeof(query) };

	self->rnd = t_seed();
	TH_LOG("GDA_SEED=%#llx", (unsigned long long)self->rnd);
	ASSERT_OK(t_pair_open(self->end, 64, T_PAGE));
	ASSERT_OK(t_ioctl(self->end[0].fd, GDA_IOC_QUERY, &query));
	self->idle_ns = query.idle_ns;
}

T_TEARDOWN(idle)
{
	t_pair_close(self->end);
}

static void spin_ns(uint64_t ns)
{
	uint64_t end = t_now() + ns;

	while (t_now() < end)
		;
}

/* One request and its completion; @wait at most. */
static int beat(struct t_end *end, uint64_t wait)
{
	struct t_wr wr = t_wr_write(&end[0].mr, 0, &end[1].mr, 0, 8);
	uint64_t index = t_post(&end[0].qp, &wr);

	t_ring(&end[0].qp);
	return t_wait_ns(&end[0].qp, index, wait, NULL);
}

/* Stores around the moment at which the page is unmapped, from every side of it. */
TEST_F(idle, E3_store_around_the_unmapping)
{
	unsigned long rounds = t_short(600, 10000), i;
	uint64_t longest = 0, end = t_now() + t_short(6, 20) * T_NS;

	/* As many as there is time for, but some: on a busy machine each takes longer. */
	for (i = 0; i < rounds && (i < 500 || t_now() < end); i++) {
		uint64_t gap = self->idle_ns / 2 + t_random(&self->rnd) % self->idle_ns;
		uint64_t start;

		/* Most of the time close to it; spinning, to be exact. */
		spin_ns(i % 4 ? gap : self->idle_ns + t_random(&self->rnd) % 50000);
		start = t_now();
		ASSERT_OK(beat(self->end, T_WAIT_NS)) TH_LOG("cycle %lu", i);
		if (t_now() - start > longest)
			longest = t_now() - start;
	}
	TH_LOG("%lu cycles, slowest answer %llu us", i,
	       (unsigned long long)longest / 1000);
	/* A lost store would never be found: there is no next one before its answer. */
}

/* Two threads that store to two doorbells of one page. */
static void *beater(void *arg)
{
	struct t_qp *qp = arg;
	struct t_wr nop = { .opcode = GDA_MLX5_NOP };
	uint64_t rnd = (uintptr_t)qp, end = t_now() + t_short(1, 4) * T_NS;
	long n = 0;

	while (t_now() < end) {
		spin_ns(t_random(&rnd) % 2500000);
		if (t_run(qp, &nop, NULL))
			return (void *)-1;
		n++;
	}
	return (void *)n;
}

TEST_F(idle, E3_two_threads_one_page)
{
	pthread_t thread[2];
	struct t_qp qp[2];
	void *ret;

	for (int i = 0; i < 2; i++) {
		ASSERT_OK(t_qp_open(&qp[i], self->end[0].fd, 16));
		ASSERT_OK(t_connect(&qp[i], &qp[i]));
	}
	EXPECT_EQ(qp[0].qpc.db.cookie, qp[1].qpc.db.cookie);
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, beater, &qp[i]));
	}
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, pthread_join(thread[i], &ret));
		EXPECT_GT((long)ret, 0);
	}
	for (int i = 0; i < 2; i++)
		t_qp_close(&qp[i]);
}

/* A doorbell stored to through another mapping of the same page. */
TEST_F(idle, E3_second_mapping)
{
	struct t_wr nop = { .opcode = GDA_MLX5_NOP };
	struct t_qp *qp = &self->end[0].qp;
	uint8_t *other = t_map(qp->fd, &qp->qpc.db);
	volatile __be64 *db[2] = { qp->db };

	ASSERT_NE(MAP_FAILED, other);
	db[1] = (volatile __be64 *)(void *)(other + qp->qpc.db.offset);
	for (unsigned long i = 0; i < t_short(80, 200); i++) {
		qp->db = db[i & 1];
		ASSERT_OK(t_run(qp, &nop, NULL));
		t_sleep_ns(i % 3 ? 2 * self->idle_ns : 0);
	}
	qp->db = db[0];
	munmap(other, qp->qpc.db.length);
}

/* A store that the kernel makes on the poster's behalf: read(2) into the doorbell. */
TEST_F(idle, E3_store_by_system_call)
{
	struct t_wr nop = { .opcode = GDA_MLX5_NOP };
	struct t_qp *qp = &self->end[0].qp;
	int fds[2];

	ASSERT_EQ(0, pipe(fds));
	for (unsigned long i = 0; i < t_short(80, 200); i++) {
		uint64_t index = t_post(qp, &nop);
		uint8_t value[8];
		size_t len = t_doorbell(qp, value);
		struct iovec from = { .iov_base = value, .iov_len = len };
		struct iovec to = { .iov_base = (void *)(uintptr_t)qp->db, .iov_len = len };

		t_sleep_ns(i % 3 ? 2 * self->idle_ns : 0);
		if (i & 1) {
			ASSERT_EQ((ssize_t)len, write(fds[1], value, len));
			ASSERT_EQ((ssize_t)len, read(fds[0], (void *)(uintptr_t)qp->db, len));
		} else {
			ASSERT_EQ((ssize_t)len, process_vm_writev(getpid(), &from, 1, &to, 1, 0));
		}
		ASSERT_OK(t_wait(qp, index, NULL)) TH_LOG("round %d", i);
	}
	close(fds[0]);
	close(fds[1]);
}

/* Reading a doorbell while idle harms nothing, and neither does fork. */
TEST_F(idle, E3_child_rings)
{
	struct t_wr nop = { .opcode = GDA_MLX5_NOP };
	struct t_qp *qp = &self->end[0].qp;

	for (int i = 0; i < 50; i++) {
		uint64_t index = t_post(qp, &nop);
		pid_t pid;

		t_sleep_ns(2 * self->idle_ns);
		EXPECT_EQ(0, t_touch_read(qp->db));
		if (i & 1)
			t_sleep_ns(2 * self->idle_ns);
		pid = fork();
		ASSERT_GE(pid, 0);
		if (!pid) {
			t_ring(qp);
			_exit(0);
		}
		ASSERT_EQ(0, t_reap(pid, T_WAIT_NS));
		ASSERT_OK(t_wait(qp, index, NULL)) TH_LOG("round %d", i);
	}
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The least cost of waking a thread here: one that blocks in read(2). */
struct sleeper {
	pthread_t thread;
	int pipe[2];
	uint32_t woken;
};

static void *sleeper_main(void *arg)
{
	struct sleeper *s = arg;
	char c;

	while (read(s->pipe[0], &c, 1) == 1)
		__atomic_add_fetch(&s->woken, 1, __ATOMIC_RELEASE);
	return NULL;
}

static uint64_t sleeper_wake(struct sleeper *s)
{
	uint32_t before = __atomic_load_n(&s->woken, __ATOMIC_ACQUIRE);
	uint64_t start = t_now();

	if (write(s->pipe[1], "", 1) != 1)
		return UINT64_MAX;
	while (__atomic_load_n(&s->woken, __ATOMIC_ACQUIRE) == before)
		if (t_now() - start > T_WAIT_NS)
			return UINT64_MAX;
	return t_now() - start;
}

#define SAMPLES	100

/* The bar is a median of 1 ms, to be read off where nothing else runs; here only a
 * hang fails. The wake-up of a plain thread beside it says what the machine allows.
 */
TEST_F(idle, first_store_after_idling)
{
	uint64_t store[SAMPLES], wake[SAMPLES];
	struct sleeper s = { 0 };

	ASSERT_EQ(0, pipe(s.pipe));
	ASSERT_EQ(0, pthread_create(&s.thread, NULL, sleeper_main, &s));
	for (int i = 0; i < SAMPLES; i++) {
		t_sleep_ns(5 * self->idle_ns);
		store[i] = t_now();
		ASSERT_OK(beat(self->end, T_WAIT_NS));
		store[i] = t_now() - store[i];
		t_sleep_ns(5 * self->idle_ns);
		wake[i] = sleeper_wake(&s);
	}
	close(s.pipe[1]);
	pthread_join(s.thread, NULL);
	close(s.pipe[0]);
	qsort(store, SAMPLES, sizeof(store[0]), compare);
	qsort(wake, SAMPLES, sizeof(wake[0]), compare);
	TH_LOG("first store after idling: median %llu us, 90%% %llu us, worst %llu us; "
	       "waking a plain thread: median %llu us, 90%% %llu us",
	       (unsigned long long)store[SAMPLES / 2] / 1000,
	       (unsigned long long)store[SAMPLES * 9 / 10] / 1000,
	       (unsigned long long)store[SAMPLES - 1] / 1000,
	       (unsigned long long)wake[SAMPLES / 2] / 1000,
	       (unsigned long long)wake[SAMPLES * 9 / 10] / 1000);
	EXPECT_LT(store[SAMPLES / 2], T_NS);
}

/* --- costs --- */

#define CONTEXTS	64
/*
 * One that is polled takes a quarter of a processor of a guest; one that is idle was never
 * seen to run at all, so a limit of a ten-thousandth is far from both in any time.
 */
#define QUIET_S		3
#define QUIET_NS	(QUIET_S * T_NS / 10000)
#define QUIET_TRIES	10
#define WORKERS_MAX	512

struct worker {
	int pid;
	uint64_t run_ns;
};

static uint64_t run_time(int pid)
{
	unsigned long long ns = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (fscanf(f, "%llu", &ns) != 1)
		ns = 0;
	fclose(f);
	return ns;
}

/* All threads of the driver, and what each has run so far. */
static int workers(struct worker *w)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	int n = 0;

	while (proc && (entry = readdir(proc)) && n < WORKERS_MAX) {
		char path[300], comm[32] = "";
		FILE *f;

		if (!isdigit(entry->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		f = fopen(path, "re");
		if (!f)
			continue;
		if (fgets(comm, sizeof(comm), f) && !strncmp(comm, "gda/", 4)) {
			w[n].pid = atoi(entry->d_name);
			w[n].run_ns = run_time(w[n].pid);
			n++;
		}
		fclose(f);
	}
	if (proc)
		closedir(proc);
	return n;
}

/* The CPU time of the busiest worker in @s seconds, ns. */
static uint64_t busiest(unsigned int s)
{
	struct worker w[WORKERS_MAX];
	uint64_t worst = 0;
	int n = workers(w);

	t_sleep_ns(s * T_NS);
	for (int i = 0; i < n; i++) {
		uint64_t ran = run_time(w[i].pid) - w[i].run_ns;

		if (ran > worst)
			worst = ran;
	}
	return worst;
}

/*
 * Are all workers idle? When they are depends on the machine, so a worker that ran is given more
 * time; one that polls runs always. @worst: what the busiest ran in the last QUIET_S.
 */
static bool quiet(uint64_t *worst)
{
	for (int i = 0; i < QUIET_TRIES; i++) {
		*worst = busiest(QUIET_S);
		if (*worst < QUIET_NS)
			return true;
	}
	return false;
}

TEST_F(idle, costs_nothing)
{
	struct t_wr nop = { .opcode = GDA_MLX5_NOP };
	struct worker w[WORKERS_MAX];
	uint64_t worst;
	struct t_qp *qp;
	int fd[CONTEXTS], n;

	qp = calloc(CONTEXTS, sizeof(*qp));
	ASSERT_NE(NULL, qp);
	for (int i = 0; i < CONTEXTS; i++) {
		fd[i] = t_context();
		ASSERT_GE(fd[i], 0);
		ASSERT_OK(t_qp_open(&qp[i], fd[i], 64));
		ASSERT_OK(t_connect(&qp[i], &qp[i]));
		ASSERT_OK(t_run(&qp[i], &nop, NULL));
	}
	t_sleep_ns(T_NS);
	n = workers(w);
	ASSERT_GE(n, CONTEXTS + 2);
	EXPECT_TRUE(quiet(&worst));
	TH_LOG("%d idle contexts, the busiest worker ran %llu ns in %u s", n,
	       (unsigned long long)worst, QUIET_S);
	/* And all of them wake up. */
	for (int i = 0; i < CONTEXTS; i++) {
		EXPECT_OK(t_run(&qp[i], &nop, NULL));
		t_qp_unmap(&qp[i]);
		close(fd[i]);
	}
	free(qp);
}

/* A polled queue is served without anybody's fault, and says so in what it costs. */
TEST_F(idle, polled_needs_no_fault)
{
	struct t_wr nop = { .opcode = GDA_MLX5_NOP };
	struct gda_cq_create cq;
	struct gda_qp_create cmd = {
		.size = sizeof(cmd), .flags = GDA_QP_POLLED,
		.dialect = GDA_DIALECT_MLX5, .sq_depth = 64,
	};
	int fd = self->end[0].fd;
	struct t_qp qp = { .fd = fd, .depth = 64 };
	uint8_t *rec, *cqe;

	ASSERT_OK(t_cq_create(fd, GDA_CQ_COLLAPSED, 1, &cq));
	cmd.cq = cq.handle;
	ASSERT_OK(t_ioctl(fd, GDA_IOC_QP_CREATE, &cmd));
	qp.qpc = cmd;
	ASSERT_OK(t_qp_connect(fd, cmd.handle, fd, cmd.handle));
	qp.sq = t_map(fd, &cmd.sq);
	rec = t_map(fd, &cmd.dbrec);
	cqe = t_map(fd, &cq.cq);
	ASSERT_TRUE(qp.sq != MAP_FAILED && rec != MAP_FAILED && cqe != MAP_FAILED);
	qp.dbrec = (volatile __be32 *)(void *)(rec + cmd.dbrec.offset);
	qp.cqe = cqe + cq.cq.offset;
	for (int i = 0; i < 50; i++) {
		uint64_t index = t_post(&qp, &nop);

		t_sleep_ns(i % 3 ? 3 * self->idle_ns : 0);
		/* The record alone: the doorbell page is not even mapped. */
		__atomic_store_n(&qp.dbrec[1], gda_mlx5_dbrec(qp.next), __ATOMIC_RELEASE);
		ASSERT_OK(t_wait(&qp, index, NULL)) TH_LOG("round %d", i);
	}
	munmap(qp.sq, cmd.sq.length);
	munmap(rec, cmd.dbrec.length);
	munmap(cqe, cq.cq.length);
}

/* Polled as long as there is a dma-buf of it, and not a moment longer. */
TEST_F(idle, polled_while_exported)
{
	struct t_qp *qp = &self->end[0].qp;
	struct gda_region_export cmd = {
		.size = sizeof(cmd), .handle = qp->qpc.handle, .type = GDA_REGION_DB,
	};
	struct t_wr nop = { .opcode = GDA_MLX5_NOP };
	uint64_t worst;
	int fd[8];

	for (int i = 0; i < 8; i++) {
		ASSERT_OK(t_ioctl(qp->fd, GDA_IOC_REGION_EXPORT, &cmd));
		fd[i] = cmd.fd;
	}
	TH_LOG("polled: the worker ran %llu us in 1 s",
	       (unsigned long long)busiest(1) / 1000);
	for (int i = 0; i < 8; i++)
		close(fd[i]);
	t_sleep_ns(T_NS);
	EXPECT_TRUE(quiet(&worst)) TH_LOG("ran %llu us", (unsigned long long)worst / 1000);
	EXPECT_OK(t_run(qp, &nop, NULL));
}

/*
 * A peer that is not ready, for 3.9 s: the QP is passed over, and its worker sleeps in
 * between. The control is the same worker with as long a wait that is polled.
 */
TEST_F(idle, rnr_delay_costs_nothing)
{
	struct gda_cq_create ring, own;
	struct gda_qp_create cmd = {
		.size = sizeof(cmd), .dialect = GDA_DIALECT_MLX5, .sq_depth = 64,
		.rnr_retry = GDA_MAX_RNR_RETRY,
	};
	struct t_wr imm = { .opcode = GDA_MLX5_WRITE_IMM };
	struct t_qp from = { .fd = self->end[0].fd, .depth = 64 };
	uint64_t ran, control, start, index = 0;
	struct t_done done;
	bool early;
	int fd = self->end[0].fd;

	ASSERT_OK(t_cq_create(fd, 0, 2, &ring));
	ASSERT_OK(t_cq_create(fd, GDA_CQ_COLLAPSED, 1, &own));
	cmd.cq = own.handle;
	cmd.recv_cq = ring.handle;
	ASSERT_OK(t_ioctl(fd, GDA_IOC_QP_CREATE, &cmd));
	from.cqc = own;
	from.qpc = cmd;
	ASSERT_OK(t_qp_map(&from));
	ASSERT_OK(t_connect(&from, &from));
	for (int i = 0; i < 3; i++)
		index = t_post(&from, &imm);
	start = t_now();
	t_ring(&from);
	t_sleep_ns(T_NS / 10);
	ran = busiest(1);
	/* on a machine that stops for seconds it may be over */
	early = !t_poll(&from, index, &done);
	EXPECT_TRUE(early || t_now() - start > 3 * T_NS);
	EXPECT_EQ(GDA_MLX5_SYND_RNR_EXC, t_wait(&from, index, &done));
	EXPECT_EQ(index, done.first_error);
	t_qp_close(&from);
	EXPECT_OK(t_destroy(fd, ring.handle));

	/* the same time in which a page is looked at periodically */
	cmd.flags = GDA_QP_POLLED;
	ASSERT_OK(t_cq_create(fd, GDA_CQ_COLLAPSED, 1, &own));
	cmd.cq = own.handle;
	cmd.recv_cq = 0;
	cmd.handle = 0;
	ASSERT_OK(t_ioctl(fd, GDA_IOC_QP_CREATE, &cmd));
	t_sleep_ns(T_NS / 10);
	control = busiest(1);
	EXPECT_OK(t_destroy(fd, cmd.handle));
	EXPECT_OK(t_destroy(fd, own.handle));
	TH_LOG("in 1 s of RNR delays the worker ran %llu us, polled %llu us",
	       (unsigned long long)ran / 1000, (unsigned long long)control / 1000);
	if (!control)
		SKIP(return, "this kernel does not count the time of its threads");
	/* some 3 tries, and idle_us behind each of them */
	EXPECT_LT(ran, control / 2);
}

/* An export whose answer cannot be delivered has never been. */
TEST_F(idle, failed_export_is_not_polled)
{
	struct t_qp *qp = &self->end[0].qp;
	struct gda_region_export *cmd = t_pages(T_PAGE);
	uint64_t worst;

	ASSERT_NE(NULL, cmd);
	cmd->size = sizeof(*cmd);
	cmd->handle = qp->qpc.handle;
	cmd->type = GDA_REGION_DB;
	ASSERT_EQ(0, mprotect(cmd, T_PAGE, PROT_READ));
	for (int i = 0; i < 100; i++)
		ASSERT_EQ(-EFAULT, t_ioctl(qp->fd, GDA_IOC_REGION_EXPORT, cmd));
	t_sleep_ns(T_NS);
	EXPECT_TRUE(quiet(&worst)) TH_LOG("ran %llu us", (unsigned long long)worst / 1000);
	munmap(cmd, T_PAGE);
}

TEST_HARNESS_MAIN
