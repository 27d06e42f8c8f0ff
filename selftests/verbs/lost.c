// SPDX-License-Identifier: MIT
/*
 * Devices `verbs:` over a fake RDMA device (fake.c): what goes wrong on a fabric, and that each
 * wait ends. Natively, so also under the sanitizers.
 */
#include "fabric.h"
#include "../inproc/suite.h"

#define LEN	65536U
#define DEPTH	64
#define SECOND	1000000000ULL

static uint32_t qp_state(struct gda_qp *qp)
{
	struct gda_qp_query q = { .size = sizeof(q) };

	return gda_qp_query(qp, &q) ? ~0U : q.state;
}

/* Wait until the QP has another state than @state, @s seconds at most. Return: the state. */
static uint32_t state_after(struct gda_qp *qp, uint32_t state, unsigned int s)
{
	uint64_t end = gda_clock_ns() + s * SECOND;

	while (qp_state(qp) == state && gda_clock_ns() < end)
		usleep(1000);
	return qp_state(qp);
}

static uint32_t vendor(struct gda_qp *qp)
{
	struct gda_qp_query q = { .size = sizeof(q) };

	return gda_qp_query(qp, &q) ? 0 : q.vendor;
}

FIXTURE(lost) {
	struct s_end end[2];	/* the first is the one that asks */
};

FIXTURE_SETUP(lost)
{
	struct gda_address a, b;

	unsetenv("GDA_FAKE");
	unsetenv("GDA_FAKE_DELAY");
	for (int i = 0; i < 2; i++)
		ASSERT_OK(s_end_open(&self->end[i], DEPTH, LEN)) TH_LOG("%s", gda_last_error());
	ASSERT_OK(gda_qp_address(self->end[0].qp, &a));
	ASSERT_OK(gda_qp_address(self->end[1].qp, &b));
	if (memcmp(a.bytes, b.bytes, sizeof(a.bytes)) < 0) {
		struct s_end e = self->end[0];

		self->end[0] = self->end[1];
		self->end[1] = e;
	}
}

FIXTURE_TEARDOWN(lost)
{
	unsetenv("GDA_FAKE");
	s_pair_close(self->end);
}

static int name(struct s_end *from, struct s_end *to)
{
	struct gda_address address;
	int err = gda_qp_address(to->qp, &address);

	return err ? err : gda_qp_connect(from->qp, &address);
}

/* The end that is asked waits for as long as its peer is there, and no longer. */
TEST_F(lost, peer_that_has_not_asked_yet)
{
	struct s_end *asks = &self->end[0], *asked = &self->end[1];
	int64_t ticket;

	ASSERT_OK(name(asked, asks));
	ticket = s_put(asked, 0, asks, 0, 8, 0);
	EXPECT_EQ(GDA_QP_WAIT, state_after(asked->qp, GDA_QP_WAIT, 5));
	ASSERT_OK(name(asks, asked));
	EXPECT_OK(gda_wait(asked->v, ticket, 0));
	EXPECT_OK(gda_wait(asks->v, s_put(asks, 0, asked, 0, 8, 0), 0));
}

TEST_F(lost, peer_that_goes_before_it_asks)
{
	struct s_end *asks = &self->end[0], *asked = &self->end[1];

	ASSERT_OK(name(asked, asks));
	EXPECT_OK(gda_qp_destroy(asks->qp));
	asks->qp = NULL;
	EXPECT_EQ(-EIO, gda_wait(asked->v, s_put(asked, 0, asks, 0, 8, 0), 0));
	EXPECT_EQ(GDA_MLX5_VENDOR_PEER, vendor(asked->qp));
}

TEST_F(lost, context_that_closes_before_it_asks)
{
	struct s_end *asks = &self->end[0], *asked = &self->end[1];

	ASSERT_OK(name(asked, asks));
	/* its probes are answered for a while */
	EXPECT_EQ(GDA_QP_WAIT, state_after(asked->qp, GDA_QP_WAIT, 3));
	EXPECT_OK(gda_qp_destroy(asks->qp));
	asks->qp = NULL;
	gda_mr_dereg(asks->mem.mr);
	munmap(asks->mem.addr, LEN);
	gda_close(asks->ctx);
	EXPECT_EQ(GDA_QP_ERROR, state_after(asked->qp, GDA_QP_WAIT, 10));
	EXPECT_EQ(GDA_MLX5_VENDOR_PEER, vendor(asked->qp));
	ASSERT_OK(s_end_open(asks, DEPTH, LEN));
}

TEST_F(lost, peer_that_names_another)
{
	struct s_end *asks = &self->end[0], *asked = &self->end[1], other;

	ASSERT_OK(s_end_open(&other, DEPTH, LEN));
	ASSERT_OK(name(asked, asks));
	ASSERT_OK(name(asks, &other));
	EXPECT_EQ(GDA_QP_ERROR, state_after(asked->qp, GDA_QP_WAIT, 10));
	EXPECT_EQ(GDA_MLX5_VENDOR_PEER, vendor(asked->qp));
	s_end_close(&other);
}

/* Nothing says that the peer is gone, and what is posted to it says so itself. */
TEST_F(lost, peer_that_goes_silently)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];

	ASSERT_OK(s_connect(a->qp, b->qp));
	EXPECT_OK(gda_wait(a->v, s_put(a, 0, b, 0, 8, 0), 0));
	setenv("GDA_FAKE", "silent", 1);
	EXPECT_OK(gda_qp_destroy(b->qp));
	b->qp = NULL;
	EXPECT_EQ(GDA_QP_READY, qp_state(a->qp));
	EXPECT_EQ(-EIO, gda_wait(a->v, s_put(a, 0, b, 0, 8, 0), 0));
}

/* The fence bits of the request in this slot. */
static uint8_t *fence_of(const struct gda_view *v, int64_t ticket)
{
	return (uint8_t *)(uintptr_t)v->sq + ((uint64_t)ticket & v->mask) * 64 + 11;
}

/* A put that has a fence carries what the get before it has brought. */
TEST_F(lost, fence_behind_a_get)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];
	uint64_t *local = (uint64_t *)(void *)a->mem.addr;
	uint64_t *remote = (uint64_t *)(void *)b->mem.addr;
	int64_t put;

	ASSERT_OK(s_connect(a->qp, b->qp));
	setenv("GDA_FAKE", "late", 1);
	for (int fence = 0; fence < 2; fence++) {
		local[0] = 1;
		remote[0] = 2;
		ASSERT_LE(0, s_get(a, 0, b, 0, 8, GDA_DEFER));
		put = s_put(a, 0, b, 8, 8, GDA_DEFER);
		ASSERT_LE(0, put);
		*fence_of(a->v, put) |= fence ? GDA_MLX5_FM_MASK : 0;
		ASSERT_OK(gda_wait(a->v, s_put(a, 16, b, 16, 8, 0), 0));
		EXPECT_EQ(2, local[0]);
		/* without one the device may be early, and this one is */
		EXPECT_EQ(fence ? 2 : 1, remote[1]);
	}
}

/* A device that never completes anything: the library does not wait for ever. */
TEST_F(lost, device_without_completions)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];
	struct gda_error error = { .size = sizeof(error) };
	uint64_t begin;
	int64_t first;

	ASSERT_OK(s_connect(a->qp, b->qp));
	EXPECT_OK(gda_wait(a->v, s_put(a, 0, b, 0, 8, 0), 0));
	setenv("GDA_FAKE", "mute", 1);
	begin = gda_clock_ns();
	first = s_put(a, 0, b, 0, 8, 0);
	EXPECT_EQ(-ETIMEDOUT, gda_wait(a->v, first, begin + 4 * SECOND));
	EXPECT_EQ(-EIO, gda_wait(a->v, first, 0));
	EXPECT_LE(8 * SECOND, gda_clock_ns() - begin);
	EXPECT_GE(20 * SECOND, gda_clock_ns() - begin);
	ASSERT_EQ(1, gda_error(a->v, &error));
	EXPECT_EQ(GDA_MLX5_SYND_RETRY_EXC, error.syndrome);
}

/*
 * Anybody can have a peer's CM say of each probe that another is under way: that too ends the wait.
 * Here without a clock, by what is counted of each probe.
 */
TEST(P9_probes_that_are_said_to_be_stale_end_the_wait)
{
	struct gda_fabric_qp q;
	uint32_t i;

	memset(&q, 0, sizeof(q));
	for (i = 0; i < GDA_FABRIC_PROBES_STALE + 2; i++)
		ASSERT_FALSE(gda_fabric_probe_over(&q, GDA_FABRIC_PROBE_STALE));
	EXPECT_TRUE(gda_fabric_probe_over(&q, GDA_FABRIC_PROBE_STALE));
	/* an answer begins it again */
	memset(&q, 0, sizeof(q));
	for (i = 0; i < 4 * GDA_FABRIC_PROBES_STALE; i++) {
		ASSERT_FALSE(gda_fabric_probe_over(&q, GDA_FABRIC_PROBE_STALE));
		if (i % GDA_FABRIC_PROBES_STALE == 0)
			ASSERT_FALSE(gda_fabric_probe_over(&q, GDA_FABRIC_PROBE_THERE));
	}
}

TEST_HARNESS_MAIN
