// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * SECURITY.md E13: the machine suspends while processes bind contexts, close them and have
 * traffic. Nobody waits uninterruptibly for a thread that the freezer has stopped: suspending
 * would fail with EBUSY after a timeout.
 *
 * pm_test makes the kernel go a part of the way and come back. "devices" and "core" are tried
 * where the file system outlives them: a guest's, on virtio 9p, does not, since that driver
 * has no resume. What "core" does to threads, processors that go and come, is tried everywhere.
 */
#include <signal.h>
#include <sys/prctl.h>
#include "gda_fixture.h"

#define BINDERS		4
#define ROUNDS		20
#define POWER		"/sys/power"
#define TIMEOUT_MS	"2000"		/* of the freezer: 20 s by default */
#define CPU1		"/sys/devices/system/cpu/cpu1"

FIXTURE(suspend) {
	pid_t pid[BINDERS + 1];
	int n;
};

T_SETUP(suspend)
{
	if (access(POWER "/pm_test", W_OK))
		SKIP(return, "a kernel without pm_test");
	t_write_file("/sys/module/suspend/parameters", "pm_test_delay", "0");
	ASSERT_OK(t_write_file(POWER, "pm_freeze_timeout", TIMEOUT_MS));
}

T_TEARDOWN(suspend)
{
	t_write_file(POWER, "pm_test", "none");
	t_write_file(POWER, "pm_freeze_timeout", "20000");
	for (int i = 0; i < self->n; i++) {
		kill(self->pid[i], SIGKILL);
		EXPECT_EQ(128 + SIGKILL, t_reap(self->pid[i], T_WAIT_NS)) TH_LOG("process %d", i);
	}
}

static void binds(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		int fd = t_context();

		if (fd < 0)
			_exit(1);
		close(fd);
		t_sleep_ns(T_NS / 1000);
	}
}

static void puts_and_waits(void)
{
	struct t_end end[2];
	struct t_wr wr;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (t_pair_open(end, 16, T_PAGE))
		_exit(1);
	wr = t_wr_write(&end[0].mr, 0, &end[1].mr, 0, 64);
	while (!t_run(&end[0].qp, &wr, NULL))
		;
	_exit(2);
}

static void start(FIXTURE_DATA(suspend) *self, void (*fn)(void))
{
	pid_t pid = fork();

	if (!pid)
		fn();
	self->pid[self->n++] = pid;
}

/* Suspend ROUNDS times at moments that differ; how many attempts failed. */
static int suspends(const char *level, uint64_t *seed, int *err)
{
	int failed = 0;

	*err = t_write_file(POWER, "pm_test", level);
	for (int i = 0; i < ROUNDS && !*err; i++) {
		if (t_write_file(POWER, "state", "mem"))
			failed++;
		t_sleep_ns(t_random(seed) % (T_NS / 50));
	}
	return failed;
}

static void suspend_beside(struct __test_metadata *_metadata)
{
	static const char * const levels[] = { "freezer", "devices", "core" };
	int n = access("/sys/bus/virtio/drivers/9pnet_virtio", F_OK) ? 3 : 1;
	uint64_t seed = t_seed();
	int err, failed;

	t_sleep_ns(T_NS / 2);
	for (int i = 0; i < n; i++) {
		failed = suspends(levels[i], &seed, &err);
		TH_LOG("pm_test %s: %d of %d failed", levels[i], failed, ROUNDS);
		EXPECT_OK(err);
		EXPECT_EQ(0, failed);
	}
}

TEST_F_TIMEOUT(suspend, E13_binding, 120)
{
	for (int i = 0; i < BINDERS; i++)
		start(self, binds);
	suspend_beside(_metadata);
}

TEST_F_TIMEOUT(suspend, E13_traffic, 120)
{
	start(self, puts_and_waits);
	suspend_beside(_metadata);
}

TEST_F_TIMEOUT(suspend, E13_processors, 120)
{
	if (access(CPU1 "/online", W_OK))
		SKIP(return, "one processor");
	for (int i = 0; i < BINDERS; i++)
		start(self, i & 1 ? binds : puts_and_waits);
	for (int i = 0; i < ROUNDS; i++) {
		EXPECT_OK(t_write_file(CPU1, "online", "0"));
		t_sleep_ns(T_NS / 100);
		EXPECT_OK(t_write_file(CPU1, "online", "1"));
		t_sleep_ns(T_NS / 100);
	}
	/* nobody has ended by itself */
	for (int i = 0; i < self->n; i++)
		EXPECT_EQ(0, kill(self->pid[i], 0));
}

TEST_HARNESS_MAIN
