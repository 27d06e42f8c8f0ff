// SPDX-License-Identifier: MIT
/*
 * What a PE of OpenSHMEM's library does when it has waited for a while: it moves away from a
 * processor on which a peer of a lower number polls, or yields there; alone it spins. The peers
 * are words in this process.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <string.h>
#include "osh.h"
#include "kselftest_harness.h"

#define LOOKS	2U	/* after so many a PE that shared a processor looks for peers again */

FIXTURE(waiting) {
	struct gda_osh_control controls[3];
	struct gda_shmem_peer peers[3];
	struct gda_shmem s;
	cpu_set_t allowed;
};

static void be(struct gda_osh *osh, struct gda_osh_control *controls, int me)
{
	osh->me = me;
	osh->control = &controls[me];
	gda_osh_wait_init(false);
}

FIXTURE_SETUP(waiting)
{
	unsigned int pe;

	ASSERT_EQ(0, sched_getaffinity(0, sizeof(self->allowed), &self->allowed));
	for (pe = 0; pe < 3; pe++) {
		self->controls[pe].cpu = -1;
		self->peers[pe].heap = (uintptr_t)&self->controls[pe];
	}
	self->s = (struct gda_shmem) {
		.size = sizeof(self->s), .npes = 3, .peers = (uintptr_t)self->peers,
	};
	gda_osh = (struct gda_osh) { .npes = 3, .s = &self->s };
}

FIXTURE_TEARDOWN(waiting)
{
	sched_setaffinity(0, sizeof(self->allowed), &self->allowed);
}

static void stay_on(int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

static bool yields(void)
{
	return gda_osh.spins <= LOOKS;
}

TEST_F(waiting, alone_it_spins)
{
	int cpu = sched_getcpu();

	be(&gda_osh, self->controls, 1);
	stay_on(cpu);
	gda_osh_rest("test", LOOKS);
	EXPECT_FALSE(yields());
	EXPECT_EQ(cpu, self->controls[1].cpu);
}

TEST_F(waiting, beside_a_peer_it_yields_if_it_may_not_move)
{
	int cpu = sched_getcpu();

	be(&gda_osh, self->controls, 1);
	stay_on(cpu);
	self->controls[0].cpu = cpu;
	gda_osh_rest("test", LOOKS);
	EXPECT_TRUE(yields());
	/* the peer has gone */
	self->controls[0].cpu = cpu + 1;
	gda_osh_rest("test", LOOKS);
	EXPECT_FALSE(yields());
}

TEST_F(waiting, the_lower_pe_stays)
{
	int cpu = sched_getcpu();

	be(&gda_osh, self->controls, 1);
	stay_on(cpu);
	self->controls[2].cpu = cpu;
	sched_setaffinity(0, sizeof(self->allowed), &self->allowed);
	gda_osh_rest("test", LOOKS);
	if (sched_getcpu() == cpu)
		EXPECT_TRUE(yields());
}

TEST_F(waiting, the_higher_pe_moves_and_keeps_its_affinity)
{
	cpu_set_t now;
	int cpu, i;

	if (CPU_COUNT(&self->allowed) < 2)
		SKIP(return, "one processor");
	be(&gda_osh, self->controls, 2);
	/* the scheduler may move this thread between two of its own looks */
	for (i = 0; i < 100; i++) {
		cpu = sched_getcpu();
		self->controls[0].cpu = cpu;
		self->controls[2].cpu = -1;
		gda_osh_rest("test", LOOKS);
		if (self->controls[2].cpu != cpu)
			break;
	}
	EXPECT_NE(100, i);
	EXPECT_TRUE(CPU_ISSET(self->controls[2].cpu, &self->allowed));
	ASSERT_EQ(0, sched_getaffinity(0, sizeof(now), &now));
	EXPECT_TRUE(CPU_EQUAL(&now, &self->allowed));
}

TEST_F(waiting, with_a_peer_on_each_processor_none_moves)
{
	int cpu, other;

	be(&gda_osh, self->controls, 2);
	cpu = sched_getcpu();
	for (other = 0; other == cpu || !CPU_ISSET(other, &self->allowed); other++)
		if (other == CPU_SETSIZE - 1)
			SKIP(return, "one processor");
	if (CPU_COUNT(&self->allowed) != 2)
		SKIP(return, "not two processors");
	self->controls[0].cpu = cpu;
	self->controls[1].cpu = other;
	gda_osh_rest("test", LOOKS);
	EXPECT_TRUE(yields());
}

TEST_HARNESS_MAIN
