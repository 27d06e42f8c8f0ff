// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Why a queue on an RDMA device hangs: work is on the wire, or the port is down. */
#include <stdlib.h>
#include "../kernel/gda_fixture.h"
#include "../kernel/rxe.h"
#include "gdactl.h"

FIXTURE(port) {
	struct t_end end[2];
	char out[ROOM];
};

T_SETUP(port)
{
	memset(self->end, 0, sizeof(self->end));
	T_RXE_UP();
}

T_TEARDOWN(port)
{
	t_pair_close(self->end);
	EXPECT_OK(t_rxe_down());
}

TEST_F(port, M_04_why_port_down)
{
	uint64_t limit = t_now() + T_WAIT_NS;
	struct t_wr wr;

	ASSERT_OK(t_ib_pair_open(self->end, 16, T_PAGE));
	wr = t_wr_write(&self->end[0].mr, 0, &self->end[1].mr, 0, 8);
	ASSERT_OK(t_run(&self->end[0].qp, &wr, NULL));
	EXPECT_EQ(0, run_on(self->out, "why qp", self->end[0].qp.qpc.qpn));
	EXPECT_SAYS("nothing outstanding at all");
	ASSERT_EQ(0, system("ip link set gda-rxe down"));
	t_post(&self->end[0].qp, &wr);
	t_ring(&self->end[0].qp);
	do {
		ASSERT_EQ(0, run_on(self->out, "why qp", self->end[0].qp.qpc.qpn));
	} while (!strstr(self->out, "is down") && t_now() < limit);
	EXPECT_SAYS("port 1 of " T_RXE " is down");
	TH_LOG("%.200s", self->out);
}

#define ROUNDS	20

/* An immediate for which nobody there has a receive is tried again for about a second. */
static bool says_in_flight(struct t_end end[2], char *out)
{
	struct t_wr wr = t_wr_write(&end[0].mr, 0, &end[1].mr, 0, 8);

	wr.opcode = GDA_MLX5_WRITE_IMM;
	t_post(&end[0].qp, &wr);
	t_ring(&end[0].qp);
	do {
		if (run_on(out, "why qp", end[0].qp.qpc.qpn))
			return false;
		if (strstr(out, "owes 1 slots") && strstr(out, ": 1 in flight on the wire for ") &&
		    strstr(out, " ms: no answer from the peer"))
			return true;
	} while (!strstr(out, "(rnr/"));
	return false;
}

TEST_F(port, M_04_why_in_flight)
{
	bool said = false;

	/* on a busy machine the second may pass before it is asked */
	for (int i = 0; i < ROUNDS && !said; i++) {
		ASSERT_OK(t_ib_pair_open(self->end, 16, T_PAGE));
		said = says_in_flight(self->end, self->out);
		t_pair_close(self->end);
	}
	EXPECT_TRUE(said);
	TH_LOG("%.200s", self->out);
}

TEST_HARNESS_MAIN
