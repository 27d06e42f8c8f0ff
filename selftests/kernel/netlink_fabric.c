// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Why a queue on an RDMA device failed, told in the same three places as on the software device:
 * the responder refuses a key, the port is down, the device goes.
 */
#include "causes.h"
#include "gda_fixture.h"
#include "rxe.h"

FIXTURE(fabric) {
	struct t_nl nl;			/* asks */
	struct t_nl heard;		/* listens */
	struct t_end end[2];
	uint32_t id;			/* context of end[0] */
};

T_SETUP(fabric)
{
	struct t_wr wr;

	memset(self->end, 0, sizeof(self->end));
	T_RXE_UP();
	ASSERT_OK(t_nl_open(&self->nl));
	ASSERT_OK(t_nl_open(&self->heard));
	ASSERT_OK(t_nl_join(&self->heard));
	ASSERT_OK(t_ib_pair_open(self->end, 16, T_PAGE));
	self->id = t_nl_my_context(&self->nl) - 1;
	wr = t_wr_write(&self->end[0].mr, 0, &self->end[1].mr, 0, 8);
	for (int i = 0; i < 2; i++)
		ASSERT_OK(t_run(&self->end[0].qp, &wr, NULL));
}

T_TEARDOWN(fabric)
{
	t_pair_close(self->end);
	t_nl_close(&self->heard);
	t_nl_close(&self->nl);
	EXPECT_OK(t_rxe_down());
}

static void post(FIXTURE_DATA(fabric) *self, uint32_t flip)
{
	struct t_wr wr = t_wr_write(&self->end[0].mr, 0, &self->end[1].mr, 0, 8);

	wr.rkey ^= flip;
	t_post(&self->end[0].qp, &wr);
	t_ring(&self->end[0].qp);
}

#define EXPECT_NAMED(op, cls, why) do {							\
	const struct t_cause cause_ = T_CAUSE(op, cls, why, 2, 2);			\
											\
	T_EXPECT_CAUSE(&self->nl, &self->heard, self->id, &self->end[0].qp, &cause_);	\
} while (0)

TEST_F(fabric, M_04_refused)
{
	post(self, 1);
	EXPECT_NAMED(GDA_MLX5_WRITE, REMOTE_ACCESS, FABRIC);
}

/*
 * Its own port is down. rdma_rxe finds no way to send, and fails the QP without a retry, as on
 * 6.1; or its retries come to an end, as seen on 6.12.
 */
TEST_F(fabric, M_04_port_down)
{
	struct t_cause want = T_CAUSE(GDA_MLX5_WRITE, QUEUE, FABRIC, 2, 2);

	want.or_class = GDA_CLASS_RETRY;
	want.or_cause = GDA_CAUSE_PEER;
	ASSERT_EQ(0, system("ip link set gda-rxe down"));
	post(self, 0);
	T_EXPECT_CAUSE(&self->nl, &self->heard, self->id, &self->end[0].qp, &want);
}

TEST_F(fabric, M_04_device_removed)
{
	ASSERT_OK(t_rxe_del());
	EXPECT_NAMED(0, QUEUE, DEVICE);
}

TEST_HARNESS_MAIN
