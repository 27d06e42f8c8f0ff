// SPDX-License-Identifier: MIT
/*
 * Notifications of the library: completion counters, events, a ring of immediates at the
 * target. In the guest on the kernel's device, natively on the in-process one.
 */
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <gda/ring.h>
#include "kselftest_harness.h"
#include "pair.h"

FIXTURE(told) {
	struct side a, b;
};

FIXTURE_SETUP(told)
{
	ASSERT_EQ(0, side_pair_open(&self->a, &self->b, 64));
}

FIXTURE_TEARDOWN(told)
{
	side_close(&self->a);
	side_close(&self->b);
}

TEST_F(told, E_02_E_04_counters_and_events)
{
	struct gda_cq_attr ring = { .size = sizeof(ring), .depth = 64 };
	struct gda_counter *sent, *recv;
	struct gda_qp_attr attr = {
		.size = sizeof(attr), .sq_depth = 16, .timeout_ns = 20000000000U,
	};
	struct pollfd p = { .events = POLLIN };
	struct gda_address address;
	struct gda_qp *qp;
	struct gda_cq *cq;
	int i;

	ASSERT_EQ(0, gda_cq_create(self->a.ctx, &ring, &cq));
	ASSERT_EQ(0, gda_counter_create(self->a.ctx, &sent));
	ASSERT_EQ(0, gda_counter_create(self->a.ctx, &recv));
	attr.sent_counter = sent;
	attr.recv_counter = recv;
	attr.recv_cq = cq;
	EXPECT_EQ(-EINVAL, gda_qp_create(self->b.ctx, &attr, &qp));
	ASSERT_EQ(0, gda_qp_create(self->a.ctx, &attr, &qp));
	ASSERT_EQ(0, gda_qp_address(qp, &address));
	ASSERT_EQ(0, gda_qp_connect(qp, &address));
	EXPECT_EQ(-EBUSY, gda_counter_destroy(sent));
	EXPECT_EQ(-EBUSY, gda_cq_destroy(cq));
	for (i = 1; i <= 100; i++) {
		int64_t t = gda_put_value(gda_qp_view(qp), self->a.iova, self->a.key, i, 0);

		ASSERT_EQ(0, gda_wait(gda_qp_view(qp), t, 0));
		ASSERT_EQ(i, __atomic_load_n(&gda_counter_memory(sent)->value, __ATOMIC_ACQUIRE));
		ASSERT_EQ(i, __atomic_load_n(&gda_counter_memory(recv)->value, __ATOMIC_ACQUIRE));
	}
	EXPECT_EQ(0, gda_counter_memory(sent)->errors);
	p.fd = eventfd(0, EFD_CLOEXEC);
	EXPECT_EQ(-EINVAL, gda_cq_event(cq, -1, GDA_CQ_ARM));
	EXPECT_EQ(-EBADF, gda_cq_event(cq, 9999, GDA_CQ_ARM));
	EXPECT_EQ(0, gda_cq_event(cq, p.fd, GDA_CQ_ARM));
	EXPECT_EQ(0, poll(&p, 1, 0));
	EXPECT_EQ(0, gda_cq_event(cq, -1, 0));
	close(p.fd);
	EXPECT_EQ(0, gda_qp_destroy(qp));
	EXPECT_EQ(0, gda_counter_destroy(sent));
	EXPECT_EQ(0, gda_counter_destroy(recv));
	EXPECT_EQ(0, gda_counter_destroy(NULL));
	EXPECT_EQ(0, gda_cq_destroy(cq));
}

/* A pair whose second end has a ring for immediates. */
struct pair {
	struct gda_cq *cq;
	struct gda_qp *from, *to;
	struct gda_view *v;
	struct side *target;
	uint32_t taken;
	int err;
};

#define RING	8

static int pair_open(struct pair *p, struct side *a, struct side *b)
{
	struct gda_cq_attr ring = { .size = sizeof(ring), .depth = RING };
	struct gda_qp_attr attr = {
		.size = sizeof(attr), .sq_depth = 16, .timeout_ns = 20000000000U,
	};
	struct gda_address address;
	int err = gda_cq_create(b->ctx, &ring, &p->cq);

	err = err ? err : gda_qp_create(a->ctx, &attr, &p->from);
	attr.recv_cq = p->cq;
	err = err ? err : gda_qp_create(b->ctx, &attr, &p->to);
	err = err ? err : gda_qp_address(p->to, &address);
	err = err ? err : gda_qp_connect(p->from, &address);
	err = err ? err : gda_qp_address(p->from, &address);
	err = err ? err : gda_qp_connect(p->to, &address);
	if (err)
		return err;
	p->v = gda_qp_view(p->from);
	p->target = b;
	return 0;
}

static int pair_close(struct pair *p)
{
	int err = gda_qp_destroy(p->from);

	err = err ? err : gda_qp_destroy(p->to);
	return err ? err : gda_cq_destroy(p->cq);
}

/* The target looks at its ring and at nothing else; the ring wraps many times. */
TEST_F(told, I_16_put_imm)
{
	struct side *a = &self->a, *b = &self->b;
	struct gda_cq_entry entry = { .size = sizeof(entry) };
	struct gda_cq_view *ring;
	struct pair p;
	uint32_t i;

	ASSERT_EQ(0, pair_open(&p, a, b));
	ring = gda_cq_view(p.cq);
	ASSERT_NE(NULL, ring);
	EXPECT_EQ(0, gda_cq_poll(ring, &entry));
	EXPECT_EQ(-ETIMEDOUT, gda_cq_wait(ring, &entry, gda_clock_ns() + 1000000));
	for (i = 0; i < 20 * RING; i++) {
		uint32_t len = i % 3 ? i * 97 : 0;

		memset(a->mem, (int)i, len);
		ASSERT_LE(0, gda_put_imm(p.v, a->iova, a->key, b->iova, b->key, len,
					 0xbeef0000U + i, i % 2 ? GDA_SOLICITED : 0));
		ASSERT_EQ(0, gda_cq_wait(ring, &entry, gda_clock_ns() + 20000000000U));
		ASSERT_EQ(0, memcmp(a->mem, b->mem, len));
		ASSERT_EQ(GDA_MLX5_CQE_RESP_IMM, entry.opcode);
		ASSERT_EQ(0xbeef0000U + i, entry.imm);
		ASSERT_EQ(len, entry.bytes);
		ASSERT_EQ(i % 2, entry.solicited);
		ASSERT_EQ(0, entry.syndrome);
		ASSERT_EQ(gda_qp_view(p.to)->qpn, entry.qpn);
		ASSERT_EQ(0, gda_cq_poll(ring, &entry));
	}
	/* what is not taken is not overwritten: the next one fails */
	for (i = 0; i < RING; i++)
		ASSERT_EQ(0, gda_wait(p.v, gda_put_imm(p.v, 0, 0, b->iova, b->key, 0, i, 0), 0));
	EXPECT_EQ(-EIO, gda_wait(p.v, gda_put_imm(p.v, 0, 0, b->iova, b->key, 0, 99, 0), 0));
	for (i = 0; i < RING; i++) {
		ASSERT_EQ(1, gda_cq_poll(ring, &entry));
		EXPECT_EQ(i, entry.imm);
	}
	EXPECT_EQ(0, gda_cq_poll(ring, &entry));
	EXPECT_EQ(0, pair_close(&p));
}

static void *pair_main(void *arg)
{
	struct pair *p = arg;
	int64_t ticket;
	uint32_t i;

	for (i = 0; i < 100; i++) {
		usleep(i % 4 ? 0 : 2000);
		/* a full ring would be an error */
		while (i - __atomic_load_n(&p->taken, __ATOMIC_ACQUIRE) >= RING)
			usleep(100);
		ticket = gda_put_imm(p->v, 0, 0, p->target->iova, p->target->key, 0, i,
				     GDA_SOLICITED);
		p->err = gda_wait(p->v, ticket, 0);
		if (p->err)
			break;
	}
	return NULL;
}

TEST_F_TIMEOUT(told, sleep_until_an_immediate_comes, 200)
{
	int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct gda_cq_entry entry = { .size = sizeof(entry) };
	pthread_t thread;
	struct pair p = { 0 };
	uint32_t i;

	ASSERT_EQ(0, pair_open(&p, &self->a, &self->b));
	EXPECT_EQ(-EINVAL, gda_cq_sleep(p.cq, event, 0, &entry, 0));
	EXPECT_EQ(-EBADF, gda_cq_sleep(p.cq, 9999, GDA_CQ_ARM, &entry, 0));
	EXPECT_EQ(-ETIMEDOUT, gda_cq_sleep(p.cq, event, GDA_CQ_ARM, &entry,
					   gda_clock_ns() + 1000000));
	ASSERT_EQ(0, pthread_create(&thread, NULL, pair_main, &p));
	for (i = 0; i < 100; i++) {
		uint32_t how = i % 2 ? GDA_CQ_ARM : GDA_CQ_ARM_SOLICITED;

		ASSERT_EQ(0, gda_cq_sleep(p.cq, event, how, &entry, gda_clock_ns() + 20000000000U))
			TH_LOG("entry %u, the peer says %d", i, p.err);
		ASSERT_EQ(i, entry.imm);
		__atomic_store_n(&p.taken, i + 1, __ATOMIC_RELEASE);
	}
	pthread_join(thread, NULL);
	EXPECT_EQ(0, p.err);
	close(event);
	EXPECT_EQ(0, pair_close(&p));
}

TEST_F(told, collapsed_cq_is_no_ring)
{
	struct gda_cq_attr collapsed = { .size = sizeof(collapsed), .flags = GDA_CQ_COLLAPSED };
	struct gda_cq_entry entry = { .size = sizeof(entry) };
	struct gda_cq *cq;

	ASSERT_EQ(0, gda_cq_create(self->a.ctx, &collapsed, &cq));
	EXPECT_EQ(NULL, gda_cq_view(cq));
	EXPECT_EQ(-EINVAL, gda_cq_sleep(cq, 0, GDA_CQ_ARM, &entry, 0));
	EXPECT_EQ(0, gda_cq_destroy(cq));
}

TEST_HARNESS_MAIN
