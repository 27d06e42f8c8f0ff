// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Taking things down while they run: SECURITY.md E4 (destroy, shut down and close
 * under load), K6 (in every order, with a shutdown, a close or a kill at the end) and
 * E5 (what one tenant leaves behind is not seen by the next).
 */
#include <signal.h>
#include <sys/prctl.h>
#include "gda_fixture.h"

#define DEPTH	64
#define LEN	(1UL << 16)

FIXTURE(teardown) {
	uint64_t rnd;
};

T_SETUP(teardown)
{
	self->rnd = t_seed();
}

T_TEARDOWN(teardown)
{
}

/* A ring full of work that takes a while. */
static void load(struct t_end *end)
{
	for (uint32_t i = 0; i < DEPTH; i++) {
		struct t_wr wr = t_wr_write(&end[0].mr, 0, &end[1].mr, 0, LEN);

		t_post(&end[0].qp, &wr);
	}
	t_ring(&end[0].qp);
}

/* The parts of a pair. */
enum { QP0, CQ0, MR0, QP1, CQ1, MR1, PARTS };

static int destroy_part(struct t_end *end, int part)
{
	struct t_end *e = &end[part >= QP1];

	switch (part % QP1) {
	case QP0:
		return t_destroy(e->fd, e->qp.qpc.handle);
	case CQ0:
		return t_destroy(e->fd, e->qp.cqc.handle);
	default:
		return t_destroy(e->fd, e->mr.handle);
	}
}

static void unmap(struct t_end *end)
{
	for (int i = 0; i < 2; i++)
		t_qp_unmap(&end[i].qp);
}

/* Every order of the six parts, a CQ only after its QP; then the file goes. */
static int order(struct t_end *end, unsigned int n)
{
	int left[PARTS] = { QP0, CQ0, MR0, QP1, CQ1, MR1 };

	for (int k = PARTS; k > 0; k--) {
		int pick = (int)(n % (unsigned int)k), part = left[pick], err;

		n /= (unsigned int)k;
		memmove(&left[pick], &left[pick + 1], (size_t)(k - 1 - pick) * sizeof(*left));
		err = destroy_part(end, part);
		if (err == -EBUSY && part % QP1 == CQ0)
			continue;	/* its QP is still there: closing takes both */
		if (err)
			return err;
	}
	return 0;
}

#define ORDERS	720

TEST_F_TIMEOUT(teardown, K6_every_order, 300)
{
	/* where this is not every one, an odd step: @n chooses what follows, too */
	unsigned int some = (unsigned int)t_short(ORDERS / 7, ORDERS);
	unsigned int step = some < ORDERS ? ORDERS / some | 1 : 1;
	struct t_end end[2];

	for (unsigned int n = 0; n < ORDERS; n += step) {
		ASSERT_OK(t_pair_open(end, DEPTH, LEN)) TH_LOG("order %u", n);
		load(end);
		EXPECT_OK(order(end, n)) TH_LOG("order %u", n);
		unmap(end);
		for (int i = 0; i < 2; i++) {
			if (n % 3) {
				EXPECT_OK(t_shutdown(end[i ^ (int)(n & 1)].fd));
			}
			close(end[i ^ (int)(n & 1)].fd);
		}
		for (int i = 0; i < 2; i++)
			munmap(end[i].mr.addr, end[i].mr.len);
	}
}

/* Everything at once, at a random moment of the work. */
static int whole(void *arg)
{
	unsigned long seed = (unsigned long)(uintptr_t)arg;
	uint64_t rnd = seed;
	struct t_end end[2];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (t_pair_open(end, DEPTH, LEN))
		return 1;
	load(end);
	t_sleep_ns(t_random(&rnd) % (T_NS / 1000));
	switch (t_random(&rnd) % 4) {
	case 0:
		return t_shutdown(end[0].fd) || t_shutdown(end[1].fd);
	case 1:
		unmap(end);
		close(end[0].fd);
		return close(end[1].fd);
	case 2:
		kill(getpid(), SIGKILL);
		return 2;
	default:
		return 0;
	}
}

TEST_F_TIMEOUT(teardown, K6_E4_under_load, 300)
{
	unsigned long rounds = t_short(30, 200);

	for (unsigned long i = 0; i < rounds; i++) {
		unsigned long seed = (unsigned long)t_random(&self->rnd);
		int err = t_in_child(whole, (void *)(uintptr_t)seed);

		ASSERT_TRUE(err == 0 || err == 128 + SIGKILL)
			TH_LOG("round %lu, seed %#lx: %d", i, seed, err);
	}
}

/* One QP after the other destroyed while its ring is executed, the peer goes on. */
TEST_F_TIMEOUT(teardown, E4_destroy_under_load, 300)
{
	unsigned long rounds = t_short(75, 500);
	struct t_end end[2];
	uint64_t last;

	ASSERT_OK(t_pair_open(end, DEPTH, LEN));
	for (unsigned long i = 0; i < rounds; i++) {
		struct t_qp qp;

		ASSERT_OK(t_qp_open(&qp, end[0].fd, DEPTH));
		ASSERT_OK(t_connect(&qp, &qp));
		for (uint32_t k = 0; k < DEPTH; k++) {
			struct t_wr wr = t_wr_write(&end[0].mr, 0, &end[0].mr, LEN / 2, LEN / 2);

			t_post(&qp, &wr);
		}
		t_ring(&qp);
		if (i % 2) {
			last = t_now() + t_random(&self->rnd) % (T_NS / 5000);
			while (t_now() < last)
				;
		}
		t_qp_close(&qp);
	}
	load(end);
	EXPECT_OK(t_wait(&end[0].qp, end[0].qp.next - 1, NULL));
	t_pair_close(end);
}

/* Bytes that a tenant marked are in no region of the next one. */
static bool marked(const void *map, size_t len)
{
	static const uint8_t mark[8] = { 0xca, 0x9a, 0x51, 0xe7, 0xca, 0x9a, 0x51, 0xe7 };

	return memmem(map, len, mark, sizeof(mark));
}

static int tenant(void *arg)
{
	struct t_end end[2];
	bool found = false;

	(void)arg;
	if (t_drop(true) || t_pair_open(end, 1024, LEN))
		return 1;
	for (int i = 0; i < 2; i++) {
		for (int k = 0; k < 4; k++)
			found |= end[i].qp.map[k] &&
				 marked(end[i].qp.map[k], t_qp_length(&end[i].qp, k));
		for (size_t k = 0; k < 1024 * 64; k += 4)
			memcpy(end[i].qp.sq + k, "\xca\x9a\x51\xe7", 4);
		for (size_t k = 0; k < LEN; k += 4)
			memcpy(end[i].mr.addr + k, "\xca\x9a\x51\xe7", 4);
	}
	load(end);
	return found ? 2 : 0;
}

TEST_F_TIMEOUT(teardown, E5_canaries_between_tenants, 300)
{
	unsigned long rounds = t_short(15, 100);

	for (unsigned long i = 0; i < rounds; i++) {
		ASSERT_EQ(0, t_in_child(tenant, NULL)) TH_LOG("round %lu", i);
	}
}

TEST_HARNESS_MAIN
