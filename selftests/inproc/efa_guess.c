// SPDX-License-Identifier: MIT
/*
 * Forged targets of efa requests: 2^20 tries by random handles, numbers, keys of queues and of memory
 * move no byte. A wrong key costs the queue; a wrong handle or number, of which all 2^16 are tried,
 * the request. selftests/kernel/efa.c says which status each has.
 */
#define GDA_WQE_EFA
#include <gda/to.h>
#include "suite.h"

#define BATCH	32U		/* tries of a queue, the last one of which costs it */
#define LEN	4096U
#define CANARY	0xc5

FIXTURE(guess) {
	struct s_end end[2];		/* the guesser's, the victim's */
	struct gda_peer to;		/* the guesser's of the victim */
	uint64_t rnd;
};

/* A queue of the guesser, which the victim's context knows. */
static int open_queue(struct s_end *e)
{
	struct gda_qp_attr attr = {
		.size = sizeof(attr), .sq_depth = BATCH, .timeout_ns = S_TIMEOUT_NS,
		.dialect = GDA_DIALECT_EFA,
	};
	int err = gda_qp_create(e->ctx, &attr, &e->qp);

	e->v = err ? NULL : gda_qp_view(e->qp);
	return err ? err : e->v ? 0 : -EINVAL;
}

static int add(struct s_end *from, struct s_end *to, struct gda_peer *peer)
{
	struct gda_address at;
	int err = gda_qp_address(to->qp, &at);

	return err ? err : gda_peer_add(from->ctx, &at, peer);
}

FIXTURE_SETUP(guess)
{
	struct gda_peer back;

	self->rnd = s_seed();
	TH_LOG("GDA_SEED=%#llx", (unsigned long long)self->rnd);
	memset(self->end, 0, sizeof(self->end));
	for (int i = 0; i < 2; i++) {
		ASSERT_OK(gda_open(NULL, &self->end[i].ctx));
		if (!s_has(self->end[i].ctx, GDA_FEATURE_DIALECT_EFA)) {
			ASSERT_TRUE(s_fabric(self->end[i].ctx));
			SKIP(return, "RDMA devices have no such queues");
		}
		ASSERT_OK(s_memory_new(self->end[i].ctx, LEN, GDA_ACCESS_ALL, &self->end[i].mem));
		ASSERT_OK(open_queue(&self->end[i]));
	}
	ASSERT_OK(add(&self->end[0], &self->end[1], &self->to));
	ASSERT_OK(add(&self->end[1], &self->end[0], &back));
	memset(self->end[1].mem.addr, CANARY, LEN);
}

FIXTURE_TEARDOWN(guess)
{
	s_pair_close(self->end);
}

/* A put of what is not the canary. */
static int64_t put(FIXTURE_DATA(guess) *self, const struct gda_peer *to, uint32_t rkey)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];

	return gda_put_to(a->v, to, a->mem.iova, a->mem.key, b->mem.iova, rkey, LEN, 0);
}

static bool untouched(const struct s_end *e)
{
	for (size_t i = 0; i < LEN; i++)
		if (e->mem.addr[i] != CANARY)
			return false;
	return true;
}

static int state(const struct s_end *e)
{
	struct gda_qp_query query = { .size = sizeof(query) };
	int err = gda_qp_query(e->qp, &query);

	return err ? err : (int)query.state;
}

/* A handle, a number or both that are not the victim's. */
static struct gda_peer stray(FIXTURE_DATA(guess) *self)
{
	struct gda_peer to = self->to;
	uint64_t flip = 1 + s_below(&self->rnd, UINT32_MAX);

	to.target ^= flip & (s_random(&self->rnd) % 2 ? 0xffff : 0xffffffff);
	to.target ^= to.target == self->to.target;
	return to;
}

/* The last try of a queue: a key that is none. */
static int64_t last_try(FIXTURE_DATA(guess) *self)
{
	uint32_t flip = (uint32_t)(1 + s_below(&self->rnd, UINT32_MAX));
	struct gda_peer to = self->to;

	if (s_random(&self->rnd) % 2)
		return put(self, &to, self->end[1].mem.key ^ flip);
	to.target ^= (uint64_t)flip << 32;
	return put(self, &to, self->end[1].mem.key);
}

TEST_F(guess, Q1_no_byte_by_a_forged_target)
{
	uint64_t tries, n = s_short(1 << 12, 1 << 20);
	struct s_end *a = &self->end[0];

	for (tries = 0; tries < n; tries += BATCH) {
		int64_t t[BATCH];

		for (unsigned int i = 0; i + 1 < BATCH; i++) {
			struct gda_peer to = stray(self);

			t[i] = put(self, &to, self->end[1].mem.key);
			ASSERT_LE(0, t[i]);
		}
		for (unsigned int i = 0; i + 1 < BATCH; i++)
			ASSERT_EQ(-EIO, gda_wait(a->v, t[i], 0));
		ASSERT_EQ((int)GDA_QP_READY, state(a));
		ASSERT_EQ(-EIO, gda_wait(a->v, last_try(self), 0));
		ASSERT_EQ((int)GDA_QP_ERROR, state(a));
		gda_qp_destroy(a->qp);
		ASSERT_OK(open_queue(a));
	}
	TH_LOG("%llu tries, %llu queues", (unsigned long long)tries,
	       (unsigned long long)(tries / BATCH));
	EXPECT_TRUE(untouched(&self->end[1]));
	EXPECT_OK(gda_wait(a->v, put(self, &self->to, self->end[1].mem.key), 0));
	EXPECT_FALSE(untouched(&self->end[1]));
}

TEST_F(guess, Q1_Q5_every_handle_and_every_number)
{
	uint64_t step = test_slow() ? 97 : 1;
	struct s_end *a = &self->end[0];

	for (int shift = 0; shift < 32; shift += 16) {
		for (uint64_t n = step; n < 1 << 16; n += step) {
			struct gda_peer to = self->to;

			to.target ^= n << shift;
			ASSERT_EQ(-EIO, gda_wait(a->v, put(self, &to, self->end[1].mem.key), 0));
		}
	}
	EXPECT_EQ((int)GDA_QP_READY, state(a));
	EXPECT_TRUE(untouched(&self->end[1]));
	EXPECT_OK(gda_wait(a->v, put(self, &self->to, self->end[1].mem.key), 0));
}

TEST_HARNESS_MAIN
