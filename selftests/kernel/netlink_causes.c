// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Why a queue failed, told in three places: the QP's attributes, the event, and the record. Each
 * cause that one tenant can make alone on the software device is made here on purpose, and all
 * three name its ticket, its opcode (but for the QP and the event, which have none) and its class.
 */
#include "causes.h"
#include "gda_fixture.h"

FIXTURE(causes) {
	struct t_nl nl;			/* asks */
	struct t_nl heard;		/* listens */
	struct t_failure failure;
	uint32_t id;			/* context of its first end */
};

FIXTURE_VARIANT(causes) {
	int (*fail)(struct t_failure *f);
	struct t_cause cause;
};

T_SETUP(causes)
{
	ASSERT_OK(t_nl_open(&self->nl));
	ASSERT_OK(t_nl_open(&self->heard));
	ASSERT_OK(t_nl_join(&self->heard));
	ASSERT_OK(t_failure_open(&self->failure));
	self->id = t_nl_my_context(&self->nl) - 1;
}

T_TEARDOWN(causes)
{
	EXPECT_OK(t_failure_close(&self->failure));
	t_nl_close(&self->heard);
	t_nl_close(&self->nl);
}

#define CAUSE(name, op, cls, why, at)							\
	FIXTURE_VARIANT_ADD(causes, name) {						\
		.fail = t_fail_##name, .cause = T_CAUSE(op, cls, why, at, at),		\
	}

CAUSE(remote_key, GDA_MLX5_WRITE, REMOTE_ACCESS, KEY, 2);
CAUSE(local_key, GDA_MLX5_WRITE, LOCAL, KEY, 2);
CAUSE(range, GDA_MLX5_WRITE, REMOTE_ACCESS, RANGE, 2);
CAUSE(rights, GDA_MLX5_WRITE, REMOTE_ACCESS, RIGHTS, 2);
CAUSE(align, GDA_MLX5_ATOMIC_FA, INVALID_REQUEST, ALIGN, 2);
CAUSE(length, GDA_MLX5_ATOMIC_FA, LOCAL, LENGTH, 2);
CAUSE(recv_cq, GDA_MLX5_WRITE_IMM, INVALID_REQUEST, RECV, 2);
CAUSE(rnr, GDA_MLX5_WRITE_IMM, RNR, RECV, 2);
CAUSE(revoked, GDA_MLX5_WRITE, REMOTE_ACCESS, REVOKED, 2);
CAUSE(slot_index, GDA_MLX5_WRITE, QUEUE, INDEX, 2);
CAUSE(opcode, 0x55, QUEUE, OPCODE, 2);
CAUSE(size, GDA_MLX5_WRITE, QUEUE, SIZE, 2);
CAUSE(doorbell, 0, QUEUE, DOORBELL, 2);
CAUSE(peer, 0, RETRY, PEER, 2);
CAUSE(queue, 0, QUEUE, QUEUE, 0);
CAUSE(device, 0, QUEUE, DEVICE, 2);

/* It was carried out, and there was no room for its completion. */
FIXTURE_VARIANT_ADD(causes, cq) {
	.fail = t_fail_cq, .cause = T_CAUSE(GDA_MLX5_NOP, QUEUE, CQ, 4, 5),
};

TEST_F(causes, M_04_named_in_three_places)
{
	ASSERT_OK(variant->fail(&self->failure));
	T_EXPECT_CAUSE(&self->nl, &self->heard, self->id, self->failure.qp, &variant->cause);
}

TEST_HARNESS_MAIN
