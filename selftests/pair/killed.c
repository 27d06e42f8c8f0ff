// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The machine of the peer is switched off: what was connected to it fails, and says that it
 * was not heard of. pair-tests.sh runs this last, and side 1 does not come back from it.
 */
#define _GNU_SOURCE
#include <sys/mman.h>
#include "kselftest_harness.h"
#include "remote.h"
#include "../../tools/gda-perf/rc.h"

static const char *const kinds[] = { "ib", "verbs" };

static struct remote remotes[2];
static int opened[2];
static struct rc rc;
static struct rc_address rc_peer;

static int open_raw(void)
{
	struct rc_address own;
	void *mem = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int err = mem == MAP_FAILED ? -ENOMEM :
		  rc_open(&rc, pair_env("GDA_PAIR_RDMA"), mem, 4096, 1);

	if (err)
		return err;
	rc_address(&rc, &own);
	err = pair_swap("raw", &own, &rc_peer, sizeof(own));
	return err ? err : rc_connect(&rc, &rc_peer);
}

/* Return: 0, a negative errno, or the status of the request. */
static int write_raw(void)
{
	struct rc_work w;
	int err;

	rc_prepare(&rc, &rc_peer, &w, IBV_WR_RDMA_WRITE, 8);
	err = rc_post(&rc, &w);
	return err ? err : rc_wait(&rc, gda_clock_ns() + LONG_NS);
}

FIXTURE(machine) {
	int some;	/* kinds of device that there are */
};

FIXTURE_SETUP(machine)
{
	self->some = 0;
	if (pair_side() < 0)
		SKIP(return, "not in gda-pair");
}

FIXTURE_TEARDOWN(machine)
{
}

TEST_F_TIMEOUT(machine, switched_off, 150)
{
	uint32_t why;

	ASSERT_EQ(0, open_raw());
	for (int i = 0; i < 2; i++) {
		opened[i] = remote_open(&remotes[i], kinds[i], "killed");
		ASSERT_LE(0, opened[i]);
	}
	ASSERT_EQ(0, pair_barrier("open"));
	while (pair_side())
		pause();
	ASSERT_EQ(0, write_raw());
	for (int i = 0; i < 2; i++) {
		if (opened[i]) {
			printf("# %s\n", remotes[i].why);
			continue;
		}
		ASSERT_EQ(0, put_wait(&remotes[i], 0, 8));
		self->some++;
	}
	ASSERT_EQ(0, pair_ask("kill", 1));
	EXPECT_EQ(IBV_WC_RETRY_EXC_ERR, write_raw());
	for (int i = 0; i < 2; i++) {
		if (opened[i])
			continue;
		EXPECT_EQ(-EIO, lost(&remotes[i], &why));
		EXPECT_EQ(GDA_MLX5_SYND_RETRY_EXC, why);
	}
	printf("# %d kinds of device, and bare verbs\n", self->some);
}

TEST_HARNESS_MAIN
