// SPDX-License-Identifier: MIT
/*
 * Receiver not ready. The ring for immediates is full: the sender is passed over for the
 * target's delay and tries again. Others of the same worker go on meanwhile, and so does the
 * sender once there is room; else it fails after the last try.
 */
#include "hand.h"

struct scene {
	struct hand_cq own[3];
	struct hand_cq ring;
	struct hand h[3];		/* sender, target, bystander */
};

#define RNR_SHORT	24U		/* 40.96 ms */
#define RNR_SHORT_NS	40960000U
#define RNR_LONG	0U		/* 655.36 ms: all tries take longer than a machine stalls */

FIXTURE(rnr) {
	struct gda_context *ctx;
};

FIXTURE_SETUP(rnr)
{
	ASSERT_OK(gda_open(NULL, &self->ctx));
}

FIXTURE_TEARDOWN(rnr)
{
	gda_close(self->ctx);
}

static int scene_open(struct gda_context *ctx, uint32_t retry, uint32_t timer, struct scene *r)
{
	int i, err = hand_cq_open(ctx, 4, 0, &r->ring);

	for (i = 0; i < 3 && !err; i++) {
		struct gda_qp_create how = { 0 };

		err = hand_cq_open(ctx, DEPTH, 0, &r->own[i]);
		how.cq = r->own[i].cq.handle;
		how.rnr_retry = i ? 0 : retry;
		how.min_rnr_timer = i == 1 ? timer : 0;
		how.recv_cq = i == 1 ? r->ring.cq.handle : 0;
		if (!err)
			err = hand_open(ctx, &how, &r->h[i]);
	}
	if (!err)
		err = hand_connect(&r->h[0], &r->h[1]);
	if (!err)
		err = hand_connect(&r->h[1], &r->h[0]);
	return err ? err : hand_connect(&r->h[2], &r->h[2]);
}

static void scene_close(struct gda_context *ctx, struct scene *r)
{
	int i;

	for (i = 0; i < 3; i++) {
		hand_close(&r->h[i]);
		hand_cq_close(ctx, &r->own[i]);
	}
	hand_cq_close(ctx, &r->ring);
}

TEST_F(rnr, waits_for_room)
{
	const struct gda_mlx5_cqe *e;
	uint64_t start, beats = 0;
	struct scene r;
	uint32_t i;

	ASSERT_OK(scene_open(self->ctx, GDA_MAX_RNR_RETRY, RNR_LONG, &r));
	for (i = 0; i < 4; i++)
		hand_imm(&r.h[0], i);
	for (i = 0; i < 4; i++)
		ASSERT_NE(NULL, hand_next(&r.own[0]));
	for (i = 4; i < 6; i++) {
		/* it waits, and a NOP behind it */
		hand_imm(&r.h[0], i);
		hand_post(&r.h[0], GDA_MLX5_NOP, GDA_MLX5_CE_ALWAYS);
		start = gda_clock_ns();
		do {
			hand_post(&r.h[2], GDA_MLX5_NOP, GDA_MLX5_CE_ALWAYS);
			ASSERT_NE(NULL, hand_next(&r.own[2]));
			hand_consume(&r.own[2]);
			beats++;
		} while (gda_clock_ns() - start < RNR_SHORT_NS);
		/* one is taken: room for one */
		e = hand_next(&r.ring);
		ASSERT_NE(NULL, e);
		EXPECT_EQ(i - 4, gda_be32_to_cpu(e->imm));
		hand_consume(&r.ring);
		e = hand_next(&r.own[0]);
		ASSERT_NE(NULL, e);
		EXPECT_EQ(GDA_MLX5_CQE_REQ, e->op_own >> 4);
		ASSERT_NE(NULL, hand_next(&r.own[0]));
		hand_consume(&r.own[0]);
	}
	TH_LOG("another queue did %llu while one waited twice", (unsigned long long)beats);
	scene_close(self->ctx, &r);
}

TEST_F(rnr, ends_after_the_last_try)
{
	uint32_t retry;

	for (retry = 0; retry <= GDA_MAX_RNR_RETRY; retry += 2) {
		const struct gda_mlx5_err_cqe *e;
		uint64_t start, took;
		struct scene r;
		uint32_t i;

		ASSERT_OK(scene_open(self->ctx, retry, RNR_SHORT, &r));
		for (i = 0; i < 4; i++) {
			hand_imm(&r.h[0], i);
			ASSERT_NE(NULL, hand_next(&r.own[0]));
		}
		start = gda_clock_ns();
		hand_imm(&r.h[0], 4);
		hand_post(&r.h[0], GDA_MLX5_NOP, GDA_MLX5_CE_ALWAYS);
		e = (const void *)hand_next(&r.own[0]);
		took = gda_clock_ns() - start;
		ASSERT_NE(NULL, e);
		EXPECT_EQ(GDA_MLX5_CQE_REQ_ERR, e->op_own >> 4);
		EXPECT_EQ(GDA_MLX5_SYND_RNR_EXC, e->syndrome);
		EXPECT_EQ(GDA_MLX5_VENDOR_RECV, e->vendor_err_synd);
		TH_LOG("%u tries more: failed after %llu us, at least %u", retry,
		       (unsigned long long)took / 1000, retry * RNR_SHORT_NS / 1000);
		EXPECT_LE(retry * RNR_SHORT_NS, took);
		e = (const void *)hand_next(&r.own[0]);
		ASSERT_NE(NULL, e);
		EXPECT_EQ(GDA_MLX5_SYND_WR_FLUSH, e->syndrome);
		scene_close(self->ctx, &r);
	}
}

TEST_F(rnr, limits)
{
	struct gda_qp_attr attr = { .size = sizeof(attr) };
	struct gda_qp *qp;

	attr.rnr_retry = GDA_MAX_RNR_RETRY + 1;
	EXPECT_EQ(-EINVAL, gda_qp_create(self->ctx, &attr, &qp));
	attr.rnr_retry = GDA_MAX_RNR_RETRY;
	attr.min_rnr_timer = GDA_MAX_MIN_RNR_TIMER + 1;
	EXPECT_EQ(-EINVAL, gda_qp_create(self->ctx, &attr, &qp));
	attr.min_rnr_timer = GDA_MAX_MIN_RNR_TIMER;
	ASSERT_OK(gda_qp_create(self->ctx, &attr, &qp));
	EXPECT_OK(gda_qp_destroy(qp));
}

/* The target goes while its sender waits the longest of all delays: it is told at once. */
TEST_F(rnr, target_goes)
{
	const struct gda_mlx5_err_cqe *e;
	struct scene r;
	uint32_t i;

	ASSERT_OK(scene_open(self->ctx, GDA_MAX_RNR_RETRY, RNR_LONG, &r));
	for (i = 0; i < 5; i++)
		hand_imm(&r.h[0], i);
	for (i = 0; i < 4; i++)
		ASSERT_NE(NULL, hand_next(&r.own[0]));
	EXPECT_OK(hand_close(&r.h[1]));
	e = (const void *)hand_next(&r.own[0]);
	ASSERT_NE(NULL, e);
	EXPECT_EQ(GDA_MLX5_SYND_RETRY_EXC, e->syndrome);
	r.h[1].qp.handle = 0;
	memset(r.h[1].region, 0, sizeof(r.h[1].region));
	scene_close(self->ctx, &r);
}

TEST_HARNESS_MAIN
