// SPDX-License-Identifier: MIT
/*
 * gda/dpa.h with tasks in a process of their own: what they can do there, and that nothing they
 * do ends the caller (D-02, D-14, D-16 of FIELD.md). The program is tasks.so, beside the variants
 * of this one; gda-dpa is that of the build.
 *
 * DPA_CONTEXTS in the environment: how many contexts fail in one test.
 */
#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <gda/fastpath.h>
#include "dpa.h"
#include "dpa_internal.h"
#include "paths.h"
#include "tasks.h"

/* Without an option of the compiler. */
#ifndef PROCESS_CONTEXTS
#define PROCESS_CONTEXTS 24
#endif

static const struct gda_dpa_task p_work = { .size = sizeof(p_work), .name = "p_work" };
static const struct gda_dpa_task p_fault = { .size = sizeof(p_fault), .name = "p_fault" };
static const struct gda_dpa_task p_signal = { .size = sizeof(p_signal), .name = "p_signal" };

static int p_open(struct gda_context *ctx, uint32_t flags, uint64_t run_limit_ns,
		  struct gda_dpa **dpa)
{
	struct gda_dpa_attr attr = {
		.size = sizeof(attr), .flags = flags, .threads = 3, .events = 16, .launches = 16,
		.log_lines = 16, .heap_bytes = 65536, .run_limit_ns = run_limit_ns,
		.program = tasks_path,
	};

	return gda_dpa_create(ctx, &attr, dpa);
}

FIXTURE(process) {
	struct gda_context *ctx;
	struct gda_dpa *dpa;
	struct gda_dpa_event *event;
};

FIXTURE_SETUP(process)
{
	ASSERT_EQ(0, gda_open(NULL, &self->ctx));
	ASSERT_EQ(0, p_open(self->ctx, GDA_DPA_WAKE, 0, &self->dpa)) TH_LOG("%s", gda_last_error());
	ASSERT_EQ(0, gda_dpa_event_create(self->dpa, NULL, &self->event));
}

FIXTURE_TEARDOWN(process)
{
	EXPECT_EQ(0, gda_dpa_destroy(self->dpa));
	gda_close(self->ctx);
}

TEST_F(process, D_02_a_task_has_all_it_needs)
{
	struct gda_dpa_event_attr peers = { .size = sizeof(peers), .publishers = GDA_DPA_PEERS };
	struct p_work w = { .event = gda_dpa_event_handle(self->event) };
	struct gda_dpa_launch_attr l = {
		.size = sizeof(l), .task = &p_work, .threads = 3, .args = &w, .bytes = sizeof(w),
		.done = self->event, .value = 100,
	};
	unsigned char *mem = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
				  -1, 0);
	struct gda_dpa_event *arrived;
	struct gda_dpa_rdma *rdma;
	struct gda_address addr;
	struct gda_dpa_buf bufs[2];
	char line[GDA_DPA_LINE_BYTES];
	uint64_t heap, value;
	struct gda_mr *mr;
	int64_t out[8];
	int i, round;

	ASSERT_EQ(0, gda_mr_reg(self->ctx, mem, 4096, GDA_ACCESS_ALL, 0, &mr));
	ASSERT_EQ(0, gda_dpa_alloc(self->dpa, 4096, &heap));
	ASSERT_EQ(0, gda_dpa_alloc(self->dpa, sizeof(out), &w.out));
	ASSERT_EQ(0, gda_dpa_mr_buf(self->dpa, mr, mem, 4096, &bufs[0]));
	ASSERT_EQ(0, gda_dpa_heap_buf(self->dpa, heap, 4096, &bufs[1]));
	ASSERT_EQ(0, gda_dpa_bufs_create(self->dpa, bufs, 2, &w.array));
	ASSERT_EQ(0, gda_dpa_event_create(self->dpa, &peers, &arrived));
	ASSERT_EQ(0, gda_dpa_event_export(arrived, &w.remote));
	ASSERT_EQ(0, gda_dpa_rdma_create(self->dpa, NULL, &rdma));
	ASSERT_EQ(0, gda_dpa_rdma_address(rdma, &addr));
	ASSERT_EQ(0, gda_dpa_rdma_connect(rdma, &addr));
	w.rdma = gda_dpa_rdma_handle(rdma);
	for (i = 0; i < 4096; i++)
		mem[i] = (unsigned char)(i * 3);
	for (round = 1; round <= 20; round++) {
		ASSERT_EQ(0, gda_dpa_launch(self->dpa, &l)) TH_LOG("%s", gda_last_error());
		ASSERT_EQ(0, gda_dpa_event_await_gt(arrived, (uint64_t)round - 1, UINT64_MAX,
						    d_in(20 * SECOND)));
		for (i = 0; i < 4096; i++)
			ASSERT_EQ((unsigned char)(i * 3 + round), mem[i]);
		ASSERT_EQ(0, gda_dpa_event_await_gt(self->event, (uint64_t)round * 105 - 1,
						    UINT64_MAX, d_in(20 * SECOND)));
		ASSERT_EQ(0, gda_dpa_read(self->dpa, out, w.out, sizeof(out)));
		for (i = 0; i < 7; i++)
			ASSERT_EQ(0, out[i]);
		ASSERT_EQ(self->dpa->pid, out[7]);
		ASSERT_LT(0, gda_dpa_log_read(self->dpa, line, sizeof(line)));
	}
	EXPECT_NE(getpid(), self->dpa->pid);
	ASSERT_EQ(0, gda_dpa_event_get(self->event, &value));
	EXPECT_EQ(20 * 105, value);
	EXPECT_EQ(0, gda_dpa_rdma_destroy(rdma));
	EXPECT_EQ(0, gda_mr_dereg(mr));
}

/* A counter of the caller's QP starts a launch there. */
TEST_F(process, D_11_a_counter_of_the_caller)
{
	struct p_fault_args f = { .rank = 99 };		/* none fails */
	struct gda_qp_attr attr = { .size = sizeof(attr), .sq_depth = 16 };
	struct gda_dpa_launch_attr l = {
		.size = sizeof(l), .task = &p_fault, .threads = 2, .args = &f, .bytes = sizeof(f),
		.arrivals = 2, .done = self->event, .value = 1,
	};
	struct gda_dpa_remote_event word;
	struct gda_dpa_event_attr peers = { .size = sizeof(peers), .publishers = GDA_DPA_PEERS };
	struct gda_dpa_event *event;
	struct gda_address addr;
	struct gda_qp *qp;
	int i;

	ASSERT_EQ(0, gda_counter_create(self->ctx, &l.counter));
	attr.recv_counter = l.counter;
	ASSERT_EQ(0, gda_qp_create(self->ctx, &attr, &qp));
	ASSERT_EQ(0, gda_qp_address(qp, &addr));
	ASSERT_EQ(0, gda_qp_connect(qp, &addr));
	ASSERT_EQ(0, gda_dpa_event_create(self->dpa, &peers, &event));
	ASSERT_EQ(0, gda_dpa_event_export(event, &word));
	ASSERT_EQ(0, gda_dpa_launch(self->dpa, &l)) TH_LOG("%s", gda_last_error());
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(-ETIMEDOUT, gda_dpa_event_await_gt(self->event, 0, UINT64_MAX,
							     d_in(5 * MS)));
		ASSERT_EQ(i, gda_put_value(gda_qp_view(qp), word.addr, word.key, 1, 0));
		ASSERT_EQ(0, gda_wait(gda_qp_view(qp), i, d_in(20 * SECOND)));
	}
	EXPECT_EQ(0, gda_dpa_event_await_gt(self->event, 0, UINT64_MAX, d_in(20 * SECOND)));
	EXPECT_EQ(0, gda_dpa_destroy(self->dpa));
	EXPECT_EQ(0, gda_qp_destroy(qp));
	EXPECT_EQ(0, gda_counter_destroy(l.counter));
	ASSERT_EQ(0, p_open(self->ctx, GDA_DPA_WAKE, 0, &self->dpa));
}

TEST_F(process, D_02_a_program_that_is_none)
{
	struct gda_dpa_task none = { .size = sizeof(none), .name = "no_such_task" };
	struct gda_dpa_task malloc_ = { .size = sizeof(malloc_), .name = "malloc" };
	struct gda_dpa_launch_attr l = { .size = sizeof(l), .task = &none, .threads = 1 };
	struct gda_dpa_attr attr = { .size = sizeof(attr), .program = "/no/such/program.so" };
	struct gda_dpa *dpa;
	char *path = strdup(getenv("GDA_DPA"));

	EXPECT_EQ(-ENOEXEC, gda_dpa_create(self->ctx, &attr, &dpa));
	EXPECT_NE(NULL, strstr(gda_last_error(), "/no/such/program.so"));
	EXPECT_EQ(NULL, strstr(gda_last_error(), "slash"));
	attr.program = "no-such-program.so";
	EXPECT_EQ(-ENOEXEC, gda_dpa_create(self->ctx, &attr, &dpa));
	EXPECT_NE(NULL, strstr(gda_last_error(), "a name without a slash"));
	attr.program = tasks_path;
	setenv("GDA_DPA", "gda-dpa", 1);
	EXPECT_EQ(-EINVAL, gda_dpa_create(self->ctx, &attr, &dpa));
	setenv("GDA_DPA", "/no/such/gda-dpa", 1);
	EXPECT_EQ(-ENOENT, gda_dpa_create(self->ctx, &attr, &dpa));
	/* a program that is another: it ends, or does not answer as it should */
	setenv("GDA_DPA", "/bin/true", 1);
	EXPECT_EQ(-ENOTRECOVERABLE, gda_dpa_create(self->ctx, &attr, &dpa));
	EXPECT_NE(NULL, strstr(gda_last_error(), "/bin/true --version"));
	setenv("GDA_DPA", path, 1);
	free(path);
	EXPECT_EQ(-ENOENT, gda_dpa_launch(self->dpa, &l));
	EXPECT_NE(NULL, strstr(gda_last_error(), "no task no_such_task"));
	l.task = &malloc_;
	EXPECT_EQ(-EINVAL, gda_dpa_launch(self->dpa, &l));
	EXPECT_EQ(0, gda_dpa_error(self->dpa, NULL));
}

/* A launch of the task of a local structure, as Documentation/dpa.rst shows it. */
static __attribute__((noinline)) int launch_by_name(struct gda_dpa *dpa, const char *name)
{
	struct gda_dpa_task task = { .size = sizeof(task), .name = name };
	struct gda_dpa_launch_attr l = { .size = sizeof(l), .task = &task, .threads = 1 };

	return gda_dpa_launch(dpa, &l);
}

/* One address, and one buffer for the name, hold a task after the other: the name tells them. */
TEST_F(process, D_11_a_task_is_its_name_not_its_address)
{
	char name[GDA_DPA_NAME_BYTES] = "t_left", line[GDA_DPA_LINE_BYTES];
	int i;

	for (i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "%s", i % 2 ? "t_right" : "t_left");
		ASSERT_EQ(0, launch_by_name(self->dpa, name)) TH_LOG("%s", gda_last_error());
		while (gda_dpa_log_read(self->dpa, line, sizeof(line)) < 0)
			ASSERT_EQ(0, gda_dpa_error(self->dpa, NULL));
		ASSERT_STREQ(name, line);
	}
	EXPECT_EQ(-ENOENT, launch_by_name(self->dpa, "t_middle"));
	EXPECT_NE(NULL, strstr(gda_last_error(), "no task t_middle"));
	EXPECT_EQ(0, launch_by_name(self->dpa, "t_left"));
}

/* --- faults --- */

static int count_open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

/* How long a task may run: on a slow machine a crash takes longer than a short limit. */
static uint64_t limit_for(uint32_t fault)
{
	if (fault == P_ENDLESS)
		return 20 * MS;
	return fault == P_NOISE ? 200 * MS : 10 * SECOND;
}

static const char *words_of(uint32_t fault)
{
	switch (fault) {
	case P_SEGV:
		return "signal 11 at address 0x";
	case P_ABORT:
		return "signal 6: ";
	case P_DIVIDE:
		return "signal 8: ";
	case P_EXIT:
	case P_EXIT_NOW:
		return "with exit status ";
	default:
		return NULL;
	}
}

/* One context whose task fails. Return: a line of this file where something was not so, or 0. */
static int fail_once(struct gda_context *ctx, uint32_t fault, uint64_t seed, uint64_t limit)
{
	struct p_fault_args f = { .fault = fault, .rank = (uint32_t)(seed % 3), .seed = seed };
	struct gda_dpa_launch_attr l = {
		.size = sizeof(l), .task = &p_fault, .threads = 3, .args = &f, .bytes = sizeof(f),
	};
	struct gda_dpa_report r = { .size = sizeof(r) };
	struct gda_dpa_event *event;
	struct gda_dpa *dpa;
	uint64_t begin = gda_clock_ns();
	pid_t pid;
	int err;

	if (p_open(ctx, seed % 2 ? GDA_DPA_WAKE : 0, limit, &dpa) ||
	    gda_dpa_event_create(dpa, NULL, &event))
		return __LINE__;
	pid = dpa->pid;
	f.before = (uint64_t)(dpa->map.heap - dpa->map.base);
	if (gda_dpa_launch(dpa, &l))
		return __LINE__;
	err = gda_dpa_event_await_gt(event, UINT64_MAX - 1, UINT64_MAX, d_in(30 * SECOND));
	/* noise may be more than what is waited for */
	if (err != -ENOTRECOVERABLE && !(fault == P_NOISE && !err))
		return __LINE__;
	while (!gda_dpa_error(dpa, NULL))
		usleep(100);
	if (gda_dpa_launch(dpa, &l) != -ENOTRECOVERABLE || gda_dpa_event_add(event, 1) !=
	    -ENOTRECOVERABLE || gda_dpa_alloc(dpa, 64, &begin) != -ENOTRECOVERABLE)
		return __LINE__;
	/* it is said in words, too, which signal or status it was */
	if (words_of(fault) && !strstr(gda_last_error(), words_of(fault)))
		return __LINE__;
	/* the report is complete when the process has been waited for */
	while (!kill(pid, 0))
		usleep(100);
	if (gda_dpa_error(dpa, &r) != 1 || !r.time_ns)
		return __LINE__;
	/* another rank was stopped by this machine for as long, before it could return */
	if (fault == P_ENDLESS && r.rank != f.rank && limit < SECOND)
		return gda_dpa_destroy(dpa) ? __LINE__ : fail_once(ctx, fault, seed, 2 * SECOND);
	if (fault != P_NOISE && fault != P_EXIT_NOW &&
	    (strcmp(r.task, "p_fault") || r.rank != f.rank || r.threads != 3))
		return __LINE__;
	switch (fault) {
	case P_ENDLESS:
		if (r.reason != GDA_DPA_RUN_LIMIT || r.signal != SIGKILL || r.ran_ns < limit)
			return __LINE__;
		break;
	case P_SEGV:
	case P_STACK:
		if (r.reason != GDA_DPA_CRASHED || r.signal != SIGSEGV || !r.address ||
		    (fault == P_SEGV && r.address != P_BAD_ADDRESS))
			return __LINE__;
		break;
	case P_ABORT:
	case P_DIVIDE:
		/* neither accessed memory: the sender of SIGABRT is no address */
		if (r.reason != GDA_DPA_CRASHED || r.address ||
		    r.signal != (fault == P_ABORT ? SIGABRT : SIGFPE))
			return __LINE__;
		break;
	case P_EXIT:
	case P_EXIT_NOW:
		if (r.reason != GDA_DPA_EXITED || r.status != P_STATUS || r.signal)
			return __LINE__;
		break;
	default:
		if (!r.reason || r.reason > GDA_DPA_EXITED)
			return __LINE__;
		break;
	}
	if (gda_dpa_destroy(dpa))
		return __LINE__;
	return waitpid(pid, NULL, WNOHANG) == -1 && errno == ECHILD ? 0 : __LINE__;
}

/* All faults in turn, and afterwards nothing is left of them; the fixture's context goes on. */
TEST_F_TIMEOUT(process, D_14_D_16_no_fault_ends_the_caller, 300)
{
	const char *env = getenv("DPA_CONTEXTS");
	int contexts = env ? atoi(env) : access("/dev/gda", F_OK) ? PROCESS_CONTEXTS : 20, i;
	struct p_fault_args f = { .rank = 99 };
	struct gda_dpa_launch_attr l = {
		.size = sizeof(l), .task = &p_fault, .threads = 3, .args = &f, .bytes = sizeof(f),
		.done = self->event, .value = 1,
	};
	struct gda_dpa_limits limits = { .size = sizeof(limits) };
	int files = count_open_files();

	for (i = 0; i < contexts; i++) {
		uint32_t fault = (uint32_t)i % P_FAULTS;

		ASSERT_EQ(0, fail_once(self->ctx, fault, (uint64_t)i + 1, limit_for(fault)))
			TH_LOG("fault %d, seed %d: %s", i % P_FAULTS, i + 1, gda_last_error());
		ASSERT_EQ(0, gda_dpa_launch(self->dpa, &l));
		ASSERT_EQ(0, gda_dpa_event_await_gt(self->event, (uint64_t)i, UINT64_MAX,
						    d_in(20 * SECOND)));
	}
	EXPECT_EQ(files, count_open_files());
	ASSERT_EQ(0, gda_dpa_query(self->ctx, &limits));
	EXPECT_EQ(3, limits.threads_in_use);
}

/* A child of fork(2) destroys its own copy, wherever another thread was at the time. */
TEST_F(process, D_02_a_child_takes_nothing_away)
{
	struct gda_dpa_rdma *rdma, *other;
	int status;
	pid_t pid;

	ASSERT_EQ(0, gda_dpa_rdma_create(self->dpa, NULL, &rdma));
	pthread_mutex_lock(&self->dpa->lock);
	pid = fork();
	if (!pid) {
		alarm(60);
		_exit(gda_dpa_event_destroy(self->event) || gda_dpa_rdma_destroy(rdma));
	}
	pthread_mutex_unlock(&self->dpa->lock);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	pid = fork();
	if (!pid)
		_exit(gda_dpa_rdma_destroy(rdma));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	/* the number of the first is still in use */
	ASSERT_EQ(0, gda_dpa_rdma_create(self->dpa, NULL, &other));
	EXPECT_NE(gda_dpa_rdma_handle(rdma), gda_dpa_rdma_handle(other));
}

TEST_F(process, D_02_a_signal_ends_no_context)
{
	struct gda_dpa_launch_attr l = {
		.size = sizeof(l), .task = &p_signal, .threads = 1, .done = self->event, .value = 1,
	};
	struct gda_dpa_rdma *rdma;
	uint64_t i;

	/* at the first launch it may not wait for questions yet */
	for (i = 0; i < 3; i++, usleep(50000)) {
		ASSERT_EQ(0, gda_dpa_launch(self->dpa, &l)) TH_LOG("%s", gda_last_error());
		ASSERT_EQ(0, gda_dpa_event_await_gt(self->event, i, UINT64_MAX,
						    d_in(20 * SECOND)));
	}
	EXPECT_EQ(0, gda_dpa_rdma_create(self->dpa, NULL, &rdma)) TH_LOG("%s", gda_last_error());
	usleep(200000);
	EXPECT_EQ(0, gda_dpa_error(self->dpa, NULL));
}

static int p_mappings(pid_t pid)
{
	char name[64];
	int n = 0, c;
	FILE *maps;

	snprintf(name, sizeof(name), "/proc/%d/maps", pid);
	maps = fopen(name, "r");
	while (maps && (c = fgetc(maps)) != EOF)
		n += c == '\n';
	if (maps)
		fclose(maps);
	return n;
}

/* The process's mappings of a handle go with the handle. */
TEST_F(process, D_09_handles_leave_no_mappings)
{
	struct gda_dpa_rdma *rdma;
	int before = 0, i;

	for (i = 0; i < 21; i++) {
		ASSERT_EQ(0, gda_dpa_rdma_create(self->dpa, NULL, &rdma));
		gda_dpa_rdma_destroy(rdma);
		before = i ? before : p_mappings(self->dpa->pid);
	}
	EXPECT_LT(0, before);
	/* 20 handles. A few more are arenas and stacks of threads that came to work meanwhile. */
	EXPECT_GE(before + 10, p_mappings(self->dpa->pid));
}

/* An answer that comes too late is none to the next question. */
TEST_F(process, D_02_an_answer_that_is_late)
{
	struct gda_dpa_launch_attr l = {
		.size = sizeof(l), .task = &p_signal, .threads = 1, .done = self->event, .value = 1,
	};
	struct gda_dpa_rdma *rdma;

	ASSERT_EQ(0, kill(self->dpa->pid, SIGSTOP));
	EXPECT_EQ(-ETIMEDOUT, gda_dpa_rdma_create(self->dpa, NULL, &rdma));
	ASSERT_EQ(0, kill(self->dpa->pid, SIGCONT));
	EXPECT_EQ(0, gda_dpa_launch(self->dpa, &l)) TH_LOG("%s", gda_last_error());
	EXPECT_EQ(0, gda_dpa_event_await_gt(self->event, 0, UINT64_MAX, d_in(20 * SECOND)));
	EXPECT_EQ(0, gda_dpa_error(self->dpa, NULL));
}

/* The process of tasks does not outlive the caller. */
TEST_F(process, D_02_it_ends_with_the_caller)
{
	struct gda_context *ctx;
	struct gda_dpa *dpa;
	int pair[2], i;
	pid_t caller, tasks = 0;

	ASSERT_EQ(0, pipe(pair));
	caller = fork();
	if (!caller) {
		if (gda_open(NULL, &ctx) || p_open(ctx, 0, 0, &dpa))
			_exit(1);
		_exit(write(pair[1], &dpa->pid, sizeof(pid_t)) != sizeof(pid_t));
	}
	ASSERT_EQ(sizeof(pid_t), read(pair[0], &tasks, sizeof(pid_t)));
	ASSERT_EQ(caller, waitpid(caller, NULL, 0));
	ASSERT_LT(0, tasks);
	/* it is gone, or waits for init to take note */
	for (i = 0; i < 20000 && !kill(tasks, 0); i++) {
		char name[64], state = 0;
		FILE *stat;

		snprintf(name, sizeof(name), "/proc/%d/stat", tasks);
		stat = fopen(name, "r");
		if (!stat)
			break;
		if (fscanf(stat, "%*d %*s %c", &state) == 1 && state == 'Z')
			i = INT_MAX - 1;
		fclose(stat);
		usleep(1000);
	}
	EXPECT_NE(20000, i);
	close(pair[0]);
	close(pair[1]);
}

TEST_HARNESS_MAIN
