// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * A worker that only waits for the wire sleeps, however long it would poll for new work: with
 * idle_us at half a second. An immediate that finds no receive is in flight for about a second.
 */
#include <dirent.h>
#include "gda_fixture.h"
#include "reload.h"
#include "rxe.h"

#define IDLE	"idle_us=500000"

FIXTURE(ib_wire) {
	struct t_modules m;
	struct t_end end[2];
	bool reloaded;
};

FIXTURE_SETUP(ib_wire)
{
	memset(self->end, 0, sizeof(self->end));
	self->reloaded = false;
	if (t_modules_begin(&self->m))
		SKIP(return, "no modules at %s", self->m.path[T_CORE]);
	self->reloaded = true;
	ASSERT_OK(t_reload(&self->m, IDLE));
	T_RXE_UP();
}

FIXTURE_TEARDOWN(ib_wire)
{
	if (!self->reloaded)
		return;
	t_pair_close(self->end);
	EXPECT_OK(t_rxe_down());
	EXPECT_OK(t_reload(&self->m, ""));
	EXPECT_OK(t_modules_end(&self->m));
}

/* The CPU time of all workers, in ms. */
static long workers_ran(void)
{
	long sum = 0, user, kernel, tick = sysconf(_SC_CLK_TCK);
	DIR *proc = opendir("/proc");
	struct dirent *d;

	while (proc && (d = readdir(proc))) {
		char path[300], line[512] = "", *after;
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%s/stat", d->d_name);
		f = fopen(path, "re");
		if (!f)
			continue;
		if (!fgets(line, sizeof(line), f))
			line[0] = 0;
		fclose(f);
		after = strrchr(line, ')');
		if (strstr(line, "(gda/") && after &&
		    sscanf(after, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld %ld", &user,
			   &kernel) == 2)
			sum += (user + kernel) * 1000 / tick;
	}
	if (proc)
		closedir(proc);
	return sum;
}

TEST_F(ib_wire, I_who_waits_for_the_wire_sleeps)
{
	struct t_wr wr;
	struct t_done done;
	uint64_t last, start;
	long before, ran, took;

	ASSERT_OK(t_ib_pair_open(self->end, 16, T_PAGE));
	wr = t_wr_write(&self->end[0].mr, 0, &self->end[1].mr, 0, 8);
	ASSERT_OK(t_run(&self->end[0].qp, &wr, NULL));
	/* polls for work, and finds none */
	t_sleep_ns(2 * T_NS);
	wr.opcode = GDA_MLX5_WRITE_IMM;
	last = t_post(&self->end[0].qp, &wr);
	before = workers_ran();
	/* that was half a second of polling: for new work, and not for the wire */
	EXPECT_LT(100, before);
	start = t_now();
	t_ring(&self->end[0].qp);
	t_sleep_ns(T_NS * 7 / 10);
	ran = workers_ran() - before;
	took = (long)((t_now() - start) / 1000000);
	TH_LOG("workers ran %ld ms of %ld", ran, took);
	/* a worker that polled would have run for most of it; a debug kernel's visits are long */
	EXPECT_GT(took * 450 / 700, ran);
	EXPECT_NE(0, t_wait(&self->end[0].qp, last, &done));
	EXPECT_EQ(GDA_MLX5_SYND_RNR_EXC, done.first_syndrome);
}

TEST_HARNESS_MAIN
