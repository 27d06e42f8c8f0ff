// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Why a queue on an RDMA device hangs: gdactl names the port that is down. */
#include <stdlib.h>
#include "../kernel/gda_fixture.h"
#include "../kernel/rxe.h"
#include "gdactl.h"

FIXTURE(port) {
	struct t_objects base;
	struct t_end end[2];
	char out[ROOM];
};

FIXTURE_SETUP(port)
{
	T_BASE_READ(&self->base);
	memset(self->end, 0, sizeof(self->end));
	T_RXE_UP();
}

FIXTURE_TEARDOWN(port)
{
	t_pair_close(self->end);
	EXPECT_OK(t_rxe_down());
	T_BASE_CHECK(&self->base);
}

TEST_F(port, M4_why_port_down)
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

TEST_HARNESS_MAIN
