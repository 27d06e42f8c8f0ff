// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A worker polls a page without work only while nobody else wants its processor: with idle_us at
 * half a second. Beside a task that computes it sleeps some 50 us at a time.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/prctl.h>
#include "gda_fixture.h"
#include "reload.h"

#define IDLE		"idle_us=500000"
#define IDLE_US		500000ULL

/* The shortest time between two passes of a worker that sleeps between them. */
#define PACE_US		50

/* More passes than it makes in the 100 us for which it polls first. */
#define PASSES_FIRST	2000

FIXTURE(idle_shared) {
	struct t_modules m;
	struct t_qp qp;
	pid_t child;
	bool reloaded;
	bool opened;
};

FIXTURE_SETUP(idle_shared)
{
	int fd;

	self->child = 0;
	self->reloaded = false;
	self->opened = false;
	if (t_modules_begin(&self->m))
		SKIP(return, "no modules at %s", self->m.path[T_CORE]);
	self->reloaded = true;
	ASSERT_OK(t_reload(&self->m, IDLE));
	fd = t_context();
	ASSERT_LE(0, fd);
	ASSERT_OK(t_qp_open(&self->qp, fd, 64));
	self->opened = true;
	ASSERT_OK(t_connect(&self->qp, &self->qp));
}

FIXTURE_TEARDOWN(idle_shared)
{
	if (self->child > 0) {
		kill(self->child, SIGKILL);
		t_reap(self->child, T_WAIT_NS);
	}
	if (self->opened) {
		t_qp_unmap(&self->qp);
		close(self->qp.fd);
	}
	if (!self->reloaded)
		return;
	EXPECT_OK(t_reload(&self->m, ""));
	EXPECT_OK(t_modules_end(&self->m));
}

static int pin(pid_t pid)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	return sched_setaffinity(pid, sizeof(set), &set) ? -errno : 0;
}

/* All workers to the first processor. Return: how many. */
static int pin_workers(void)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	int n = 0;

	while (proc && (entry = readdir(proc))) {
		char path[300], comm[32] = "";
		FILE *f;

		if (!isdigit(entry->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		f = fopen(path, "re");
		if (!f)
			continue;
		if (fgets(comm, sizeof(comm), f) && !strncmp(comm, "gda/", 4) &&
		    !pin(atoi(entry->d_name)))
			n++;
		fclose(f);
	}
	if (proc)
		closedir(proc);
	return n;
}

/* Passes of the worker in the time after a request, most of idle_us. @us: how long that was. */
static int passes_after_work(struct t_qp *qp, uint64_t *passes, uint64_t *us)
{
	struct gda_qp_query query = { .size = sizeof(query), .handle = qp->qpc.handle };
	struct t_wr nop = { .opcode = GDA_MLX5_NOP };
	uint64_t start;
	int err = t_run(qp, &nop, NULL);

	start = t_now();
	err = err ? err : t_ioctl(qp->fd, GDA_IOC_QP_QUERY, &query);
	*passes = query.passes;
	t_sleep_ns(IDLE_US * 1000 * 4 / 5);
	err = err ? err : t_ioctl(qp->fd, GDA_IOC_QP_QUERY, &query);
	*passes = query.passes - *passes;
	*us = (t_now() - start) / 1000;
	return err;
}

TEST_F(idle_shared, rests_beside_a_task_that_computes)
{
	uint64_t alone, shared, most, us;

	ASSERT_EQ(1, pin_workers());
	ASSERT_OK(passes_after_work(&self->qp, &alone, &us));
	self->child = fork();
	ASSERT_LE(0, self->child);
	if (!self->child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pin(0);
		for (;;)
			;
	}
	t_sleep_ns(T_NS / 10);
	ASSERT_OK(passes_after_work(&self->qp, &shared, &us));
	most = us / PACE_US + PASSES_FIRST;
	TH_LOG("%llu passes alone, %llu beside it in %llu us", (unsigned long long)alone,
	       (unsigned long long)shared, (unsigned long long)us);
	EXPECT_LE(shared, most);
	/* It looks still: the page was not made silent. */
	EXPECT_LT(10, shared);
	/* The control: one that polls makes more. */
	if (alone < 2 * most)
		SKIP(return, "too slow a machine to tell polling from %llu passes",
		     (unsigned long long)most);
}

TEST_HARNESS_MAIN
