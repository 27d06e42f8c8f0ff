// SPDX-License-Identifier: MIT
/*
 * The library on a device: every call, every kind of work, and what an error looks
 * like from here. In the guest on the kernel's device, natively on the in-process one.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <gda/masked_atomic.h>
#include "kselftest_harness.h"
#include "pair.h"

FIXTURE(device) {
	struct side a, b;
};

FIXTURE_SETUP(device)
{
	ASSERT_EQ(0, side_pair_open(&self->a, &self->b, 64));
}

FIXTURE_TEARDOWN(device)
{
	side_close(&self->a);
	side_close(&self->b);
}

TEST(open_errors)
{
	struct gda_context *ctx = (void *)0x1;
	char name[GDA_DEVICE_NAME_MAX + 1];

	errno = 12345;
	EXPECT_EQ(-ENOENT, gda_open("no such device", &ctx));
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	EXPECT_EQ(-EINVAL, gda_open(name, &ctx));
	EXPECT_EQ((void *)0x1, ctx);
	ASSERT_EQ(0, gda_open(NULL, &ctx));
	EXPECT_LE(0, gda_context_fd(ctx));
	gda_close(ctx);
	gda_close(NULL);
	EXPECT_EQ(12345, errno);
}

/* Some of what is asked, /dev/gda or libibverbs, may be missing, and some of it fails. */
TEST(a_list_of_devices_leaves_errno)
{
	struct gda_device_info list[8] = { { .size = sizeof(list[0]) } };

	errno = 12345;
	EXPECT_LE(1, gda_devices(list, 8));
	EXPECT_EQ(12345, errno);
}

TEST_F(device, query)
{
	struct gda_query q = { .size = sizeof(q) };
	struct gda_qp_query qq = { .size = sizeof(qq) };
	struct gda_mr_query mq = { .size = sizeof(mq) };

	ASSERT_EQ(0, gda_context_query(self->a.ctx, &q));
	EXPECT_NE(0, q.device[0]);
	EXPECT_TRUE(q.features[0] & GDA_FEATURE_DIALECT_MLX5);
	EXPECT_LE(GDA_INLINE_MAX, q.max_inline);
	ASSERT_EQ(0, gda_qp_query(self->a.qp, &qq));
	EXPECT_EQ(GDA_QP_READY, qq.state);
	EXPECT_EQ(64, qq.sq_depth);
	EXPECT_EQ(self->a.v->qpn, qq.qpn);
	ASSERT_EQ(0, gda_mr_query(self->a.mr, &mq));
	EXPECT_EQ(BYTES, mq.length);
	EXPECT_EQ(self->a.key, mq.key);
}

TEST_F(device, put_of_every_size)
{
	struct side *a = &self->a, *b = &self->b;
	uint32_t len;

	for (len = 1; len <= BYTES; len = len * 3 + 1) {
		uint32_t off = (BYTES - len) / 3;

		memset(b->mem, 0, BYTES);
		ASSERT_EQ(0, gda_wait(a->v, gda_put(a->v, a->iova + off, a->key,
						    b->iova + off, b->key, len, 0), 0));
		EXPECT_EQ(0, memcmp(a->mem + off, b->mem + off, len));
		EXPECT_EQ(0, off ? b->mem[off - 1] : 0);
		EXPECT_EQ(0, off + len < BYTES ? b->mem[off + len] : 0);
	}
	ASSERT_EQ(0, gda_wait(a->v, gda_put(a->v, a->iova, a->key, b->iova, b->key, 0, 0), 0));
	ASSERT_EQ(0, gda_wait(a->v, gda_put(a->v, a->iova, a->key, b->iova, b->key, BYTES, 0), 0));
	EXPECT_EQ(0, memcmp(a->mem, b->mem, BYTES));
}

TEST_F(device, get)
{
	struct side *a = &self->a, *b = &self->b;

	ASSERT_EQ(0, gda_wait(b->v, gda_get(b->v, b->iova + 5, b->key, a->iova + 3, a->key,
					    100000, GDA_EXCLUSIVE), 0));
	EXPECT_EQ(0, memcmp(a->mem + 3, b->mem + 5, 100000));
	EXPECT_EQ(0xcc, b->mem[4]);
	EXPECT_EQ(0xcc, b->mem[100005]);
}

TEST_F(device, inline_and_value)
{
	struct side *a = &self->a, *b = &self->b;
	uint64_t value = 0x0123456789abcdefU, got;
	uint32_t len;

	for (len = 0; len <= GDA_INLINE_MAX; len++) {
		unsigned int flags = len % 3 == 1 ? GDA_DEFER : 0;
		int64_t t = gda_put_inline(a->v, b->iova + 64, b->key, a->mem + len, len, flags);

		ASSERT_EQ(0, gda_wait(a->v, t, 0));
		ASSERT_EQ(0, memcmp(a->mem + len, b->mem + 64, len));
		ASSERT_EQ(0xcc, b->mem[64 + len]);
		ASSERT_EQ(0xcc, b->mem[63]);
	}
	ASSERT_EQ(0, gda_wait(a->v, gda_put_value(a->v, b->iova + 1, b->key, value, 0), 0));
	memcpy(&got, b->mem + 1, 8);
	EXPECT_EQ(value, got);
}

TEST_F(device, atomics)
{
	struct side *a = &self->a, *b = &self->b;
	uint64_t *word = (void *)b->mem, *old = (void *)a->mem;

	*word = 40;
	ASSERT_EQ(0, gda_wait(a->v, gda_fetch_add(a->v, a->iova, a->key, b->iova, b->key,
						  (uint64_t)-50, 0), 0));
	EXPECT_EQ(40, *old);
	EXPECT_EQ((uint64_t)-10, *word);
	ASSERT_EQ(0, gda_wait(a->v, gda_compare_swap(a->v, a->iova, a->key, b->iova, b->key,
						     1, 2, 0), 0));
	EXPECT_EQ((uint64_t)-10, *old);
	EXPECT_EQ((uint64_t)-10, *word);
	ASSERT_EQ(0, gda_wait(a->v, gda_compare_swap(a->v, a->iova, a->key, b->iova, b->key,
						     (uint64_t)-10, 2, 0), 0));
	EXPECT_EQ(2, *word);
}

TEST_F(device, I_15_masked_fetch_add)
{
	struct side *a = &self->a, *b = &self->b;
	uint32_t *word = (void *)b->mem, *old = (void *)a->mem;
	uint64_t *wide = (void *)b->mem, was = 0;

	word[0] = 0xffffffffU;
	word[1] = 0x12345678;
	old[1] = 0x77777777;
	ASSERT_EQ(0, gda_wait(a->v, gda_masked_fetch_add32(a->v, a->iova, a->key, b->iova,
							   b->key, 2, 0, 0), 0));
	/* no carry into the next word, no more than a word of the old value */
	EXPECT_EQ(1, word[0]);
	EXPECT_EQ(0x12345678, word[1]);
	EXPECT_EQ(0xffffffffU, gda_masked_old32(old[0]));
	EXPECT_EQ(0x77777777, old[1]);
	word[0] = 0x11223344;
	ASSERT_EQ(0, gda_wait(a->v, gda_masked_fetch_add32(a->v, a->iova, a->key, b->iova,
							   b->key, 2, 0, 0), 0));
	EXPECT_EQ(0x11223344, gda_masked_old32(old[0]));
	EXPECT_EQ(0x11, *(uint8_t *)old);
	*wide = 0x00000001ffffffffU;
	ASSERT_EQ(0, gda_wait(a->v, gda_masked_fetch_add(a->v, a->iova, a->key, b->iova, b->key,
							 0x0000000200000001U, 0x80000000U, 0),
			      0));
	EXPECT_EQ(0x0000000300000000U, *wide);
	memcpy(&was, a->mem, sizeof(was));
	EXPECT_EQ(0x00000001ffffffffU, was);
	EXPECT_EQ(-EIO, gda_wait(a->v, gda_masked_fetch_add32(a->v, a->iova, a->key,
							      b->iova + 2, b->key, 1, 0, 0), 0));
}

TEST_F(device, masked_compare_swap)
{
	struct side *a = &self->a, *b = &self->b;
	uint64_t *word = (void *)b->mem, *old = (void *)a->mem, i;
	uint32_t *half = (void *)b->mem;
	int64_t t = 0;

	half[0] = 0x55667788;
	half[1] = 0x11223344;
	ASSERT_EQ(0, gda_wait(a->v, gda_masked_compare_swap32(a->v, a->iova, a->key, b->iova,
							      b->key, 0xffff7788U, 0xffff,
							      0xaabbccddU, 0xff00ff00U, 0), 0));
	EXPECT_EQ(0x55667788, gda_masked_old32(*(uint32_t *)old));
	EXPECT_EQ(0xaa66cc88, half[0]);
	EXPECT_EQ(0x11223344, half[1]);
	ASSERT_EQ(0, gda_wait(a->v, gda_masked_compare_swap32(a->v, a->iova, a->key, b->iova,
							      b->key, 0x7788, 0xffff, 0, ~0U,
							      0), 0));
	EXPECT_EQ(0xaa66cc88, half[0]);
	EXPECT_EQ(0x11223344, half[1]);
	*word = 0x11223344aa66cc88U;
	for (i = 0; i < 1000; i++) {
		t = gda_masked_compare_swap(a->v, a->iova, a->key, b->iova, b->key, 0x88, 0xff,
					    i << 8, ~(uint64_t)0xff, i % 7 ? GDA_DEFER : 0);
		ASSERT_LE(0, t);
	}
	ASSERT_EQ(0, gda_wait(a->v, t, 0));
	EXPECT_EQ(999U << 8 | 0x88, *word);
	EXPECT_EQ(998U << 8 | 0x88, *old);
}

/* A failed request of several slots is one ticket, and all behind it is flushed. */
TEST_F(device, error_in_several_slots)
{
	struct side *a = &self->a, *b = &self->b;
	struct gda_error e = { .size = sizeof(e) };
	int64_t bad, after, t = 0;
	int i;

	bad = gda_put_inline(a->v, b->iova, b->key ^ 0x10000, a->mem, 500, GDA_DEFER);
	after = gda_put_inline(a->v, b->iova, b->key, a->mem, 500, 0);
	EXPECT_EQ(-ECANCELED, gda_wait(a->v, after, 0));
	EXPECT_EQ(-EIO, gda_wait(a->v, bad, 0));
	ASSERT_EQ(1, gda_error(a->v, &e));
	EXPECT_EQ(bad, e.ticket);
	EXPECT_EQ(GDA_MLX5_VENDOR_KEY, e.vendor);
	EXPECT_EQ(0xcc, b->mem[0]);
	for (i = 0; i < 100 && t != -EIO; i++)
		t = gda_put_inline(a->v, b->iova, b->key, a->mem, 900, 0);
	EXPECT_EQ(-EIO, gda_quiet(a->v, 0));
}

TEST_F(device, deferred)
{
	struct side *a = &self->a, *b = &self->b;
	int i, round;

	for (round = 0; round < 100; round++) {
		for (i = 0; i < round % 7; i++)
			ASSERT_LE(0, gda_put_value(a->v, b->iova + 8 * (unsigned int)i, b->key,
						   (uint64_t)round, GDA_DEFER));
		if (round % 2)
			gda_flush(a->v);
		ASSERT_EQ(0, gda_quiet(a->v, 0));
		for (i = 0; i < round % 7; i++)
			ASSERT_EQ(round, ((uint64_t *)b->mem)[i]);
	}
}

struct adder {
	struct side *a, *b;
	uint8_t bytes[300];
	pthread_t thread;
	uint32_t slot;
	int err;
};

#define ADDS 500

static void *adder_main(void *arg)
{
	struct adder *t = arg;
	int64_t ticket = 0;
	int i;

	for (i = 0; i < ADDS && ticket >= 0; i++) {
		/* among them such as take several slots */
		if (i % 5 == 0) {
			memset(t->bytes, i, sizeof(t->bytes));
			ticket = gda_put_inline(t->a->v, t->b->iova + 4096 * (1 + t->slot),
						t->b->key, t->bytes, sizeof(t->bytes),
						i % 2 ? GDA_DEFER : 0);
			if (ticket < 0)
				break;
		}
		ticket = gda_fetch_add(t->a->v, t->a->iova + 8 * t->slot, t->a->key,
				       t->b->iova, t->b->key, 1, i % 3 ? GDA_DEFER : 0);
	}
	t->err = gda_wait(t->a->v, ticket, 0);
	return NULL;
}

/* Nothing lost, nothing twice. */
TEST_F_TIMEOUT(device, threads_share_a_queue, 100)
{
	struct adder t[4];
	uint32_t i;

	*(uint64_t *)self->b.mem = 0;
	for (i = 0; i < 4; i++) {
		t[i] = (struct adder){ .a = &self->a, .b = &self->b, .slot = i };
		ASSERT_EQ(0, pthread_create(&t[i].thread, NULL, adder_main, &t[i]));
	}
	for (i = 0; i < 4; i++) {
		pthread_join(t[i].thread, NULL);
		EXPECT_EQ(0, t[i].err);
		EXPECT_EQ(0, memcmp(t[i].bytes, self->b.mem + 4096 * (1 + i),
				    sizeof(t[i].bytes)));
	}
	EXPECT_EQ(0, gda_quiet(self->a.v, 0));
	EXPECT_EQ(4 * ADDS, *(uint64_t *)self->b.mem);
}

/* The queue is the parent's, and goes on where it was. */
TEST_F(device, child_of_fork_cannot_post)
{
	struct side *a = &self->a, *b = &self->b;
	int status = -1;
	pid_t pid = fork();

	ASSERT_LE(0, pid);
	if (pid == 0)
		_exit(gda_put(a->v, a->iova, a->key, b->iova, b->key, BYTES, 0) != -EIO);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_NE(0, memcmp(a->mem, b->mem, BYTES));
	EXPECT_EQ(0, gda_put(a->v, a->iova, a->key, b->iova, b->key, BYTES, 0));
	EXPECT_EQ(0, gda_quiet(a->v, 0));
	EXPECT_EQ(0, memcmp(a->mem, b->mem, BYTES));
}

TEST_F(device, I_14_bad_key)
{
	struct side *a = &self->a, *b = &self->b;
	struct gda_error e = { .size = sizeof(e) };
	int64_t good, bad, after;

	good = gda_put(a->v, a->iova, a->key, b->iova, b->key, 8, GDA_DEFER);
	bad = gda_put(a->v, a->iova, a->key, b->iova, b->key ^ 0x10000, 8, GDA_DEFER);
	after = gda_put(a->v, a->iova, a->key, b->iova + 64, b->key, 8, 0);
	EXPECT_EQ(-ECANCELED, gda_wait(a->v, after, 0));
	EXPECT_EQ(-EIO, gda_wait(a->v, bad, 0));
	EXPECT_EQ(0, gda_wait(a->v, good, 0));
	ASSERT_EQ(1, gda_error(a->v, &e));
	EXPECT_EQ(bad, e.ticket);
	EXPECT_EQ(GDA_MLX5_SYND_REMOTE_ACCESS, e.syndrome);
	EXPECT_EQ(GDA_MLX5_VENDOR_KEY, e.vendor);
	EXPECT_EQ(0xcc, b->mem[64]);
	EXPECT_EQ(0, memcmp(a->mem, b->mem, 8));
	EXPECT_EQ(-ECANCELED, gda_wait(a->v, gda_nop(a->v, 0), 0));
	EXPECT_EQ(-EIO, gda_quiet(a->v, 0));
}

TEST_F(device, out_of_range)
{
	struct side *a = &self->a, *b = &self->b;
	struct gda_error e = { .size = sizeof(e) };
	int64_t t = gda_put(a->v, a->iova, a->key, b->iova + BYTES - 4, b->key, 8, 0);

	EXPECT_EQ(-EIO, gda_wait(a->v, t, 0));
	ASSERT_EQ(1, gda_error(a->v, &e));
	EXPECT_EQ(GDA_MLX5_VENDOR_RANGE, e.vendor);
	EXPECT_EQ(0xcc, b->mem[BYTES - 4]);
}

TEST_F(device, peer_is_gone)
{
	struct side *a = &self->a, *b = &self->b;
	struct gda_error e = { .size = sizeof(e) };

	ASSERT_EQ(0, gda_qp_destroy(b->qp));
	b->qp = NULL;
	EXPECT_EQ(-EIO, gda_wait(a->v, gda_put_value(a->v, b->iova, b->key, 1, 0), 0));
	ASSERT_EQ(1, gda_error(a->v, &e));
	EXPECT_EQ(GDA_MLX5_SYND_RETRY_EXC, e.syndrome);
	EXPECT_EQ(GDA_MLX5_VENDOR_PEER, e.vendor);
	EXPECT_EQ(0xcc, b->mem[0]);
}

/* An empty queue fails; all that is posted then, ring after ring, comes back flushed. */
TEST_F(device, peer_is_gone_and_the_ring_fills)
{
	struct side *a = &self->a;
	uint64_t deadline = gda_clock_ns() + 60000000000U;
	struct gda_error e = { .size = sizeof(e) };
	int64_t ticket = -1;
	int i = 0;

	ASSERT_EQ(0, gda_wait(a->v, gda_nop(a->v, 0), 0));
	ASSERT_EQ(0, gda_qp_destroy(self->b.qp));
	self->b.qp = NULL;
	while (!gda_error(a->v, &e))
		ASSERT_LE(gda_clock_ns(), deadline);
	EXPECT_EQ(1, e.ticket);
	while (i < 1000) {
		int64_t t = gda_nop(a->v, i % 5 ? GDA_DEFER : 0);

		ASSERT_LE(gda_clock_ns(), deadline);
		if (t == -EIO)
			continue;
		ASSERT_LE(0, t);
		ticket = t;
		i++;
	}
	EXPECT_EQ(-ECANCELED, gda_wait(a->v, ticket, 0));
	EXPECT_EQ(-EIO, gda_wait(a->v, 1, 0));
}

/* Closing with all still mapped ends the context all the same. */
TEST_F(device, close_without_destroy)
{
	struct side *a = &self->a;
	struct side c = { 0 }, d = { 0 };

	ASSERT_EQ(0, side_open(&c, 16));
	ASSERT_EQ(0, side_open(&d, 16));
	ASSERT_EQ(0, side_connect(&c, &d));
	gda_close(d.ctx);
	EXPECT_EQ(-EIO, gda_wait(c.v, gda_put_value(c.v, d.iova, d.key, 1, 0), 0));
	gda_close(c.ctx);
	EXPECT_EQ(0, gda_wait(a->v, gda_nop(a->v, 0), 0));
}

TEST_F(device, shutdown)
{
	struct side *a = &self->a, *b = &self->b;

	ASSERT_EQ(0, gda_context_shutdown(b->ctx));
	EXPECT_EQ(-EIO, gda_wait(a->v, gda_put_value(a->v, b->iova, b->key, 1, 0), 0));
	EXPECT_EQ(-ENODEV, gda_qp_destroy(b->qp));
	EXPECT_EQ(-ENODEV, gda_mr_dereg(b->mr));
	b->qp = NULL;
	b->mr = NULL;
}

/* Records and doorbells of QPs share pages; each goes on when the others go. */
TEST_F(device, many_queues)
{
	struct gda_qp_attr attr = { .size = sizeof(attr), .sq_depth = 1 };
	struct gda_context *ctx = self->a.ctx;
	struct gda_address address;
	struct gda_qp *qp[100];
	int i;

	for (i = 0; i < 100; i++) {
		ASSERT_EQ(0, gda_qp_create(ctx, &attr, &qp[i]));
		ASSERT_EQ(0, gda_qp_address(qp[i], &address));
		ASSERT_EQ(0, gda_qp_connect(qp[i], &address));
	}
	for (i = 0; i < 100; i += 2)
		ASSERT_EQ(0, gda_qp_destroy(qp[i]));
	for (i = 1; i < 100; i += 2)
		ASSERT_EQ(0, gda_wait(gda_qp_view(qp[i]), gda_nop(gda_qp_view(qp[i]), 0), 0));
	for (i = 1; i < 100; i += 2)
		ASSERT_EQ(0, gda_qp_destroy(qp[i]));
	EXPECT_EQ(0, gda_wait(self->a.v, gda_nop(self->a.v, 0), 0));
}

TEST_F(device, cq_of_ones_own)
{
	struct gda_cq_attr collapsed = { .size = sizeof(collapsed), .flags = GDA_CQ_COLLAPSED };
	struct gda_cq_attr ring = { .size = sizeof(ring), .depth = 16 };
	struct gda_qp_attr attr = { .size = sizeof(attr), .sq_depth = 16 };
	struct gda_qp *qp, *other;

	ASSERT_EQ(0, gda_cq_create(self->a.ctx, &collapsed, &attr.cq));
	ASSERT_EQ(0, gda_qp_create(self->a.ctx, &attr, &qp));
	EXPECT_EQ(-EBUSY, gda_qp_create(self->a.ctx, &attr, &other));
	EXPECT_EQ(-EINVAL, gda_qp_create(self->b.ctx, &attr, &other));
	EXPECT_EQ(-EBUSY, gda_cq_destroy(attr.cq));
	ASSERT_NE(NULL, gda_qp_view(qp));
	EXPECT_EQ(GDA_DIALECT_MLX5, gda_qp_view(qp)->dialect);
	EXPECT_EQ(GDA_CAN_ORDER | GDA_CAN_SIGNAL | GDA_CAN_ATOMIC | GDA_CAN_MASKED | GDA_CAN_IMM |
		  GDA_CAN_COUNTER, gda_qp_view(qp)->can);
	EXPECT_LT(GDA_INLINE_SLOT, gda_qp_view(qp)->max_inline);
	EXPECT_EQ(0, gda_qp_destroy(qp));
	EXPECT_EQ(0, gda_cq_destroy(attr.cq));
	ASSERT_EQ(0, gda_cq_create(self->a.ctx, &ring, &attr.cq));
	ASSERT_EQ(0, gda_qp_create(self->a.ctx, &attr, &qp));
	/* it has as many entries as the queue has slots, and no more */
	EXPECT_NE(NULL, gda_qp_view(qp));
	ASSERT_EQ(0, gda_qp_create(self->a.ctx, &attr, &other));
	EXPECT_EQ(NULL, gda_qp_view(other));
	EXPECT_EQ(0, gda_qp_destroy(other));
	EXPECT_EQ(0, gda_qp_destroy(qp));
	EXPECT_EQ(0, gda_cq_destroy(attr.cq));
	ring.dialect = GDA_DIALECT_MLX5;
	ASSERT_EQ(0, gda_cq_create(self->a.ctx, &ring, &attr.cq));
	EXPECT_NE(NULL, gda_cq_view(attr.cq));
	EXPECT_EQ(0, gda_cq_destroy(attr.cq));
	ring.dialect = 99;
	EXPECT_EQ(-EOPNOTSUPP, gda_cq_create(self->a.ctx, &ring, &attr.cq));
	EXPECT_NE(NULL, strstr(gda_last_error(), "dialect 99"));
	EXPECT_EQ(0, gda_cq_destroy(NULL));
	EXPECT_EQ(0, gda_qp_destroy(NULL));
	EXPECT_EQ(0, gda_mr_dereg(NULL));
}

TEST_F(device, refusals)
{
	struct gda_qp_attr attr = { .size = sizeof(attr), .sq_depth = 3 };
	struct gda_address address;
	struct gda_qp *qp = NULL;
	struct gda_mr *mr = NULL;

	EXPECT_EQ(-EINVAL, gda_qp_create(self->a.ctx, &attr, &qp));
	ASSERT_EQ(0, gda_qp_address(self->b.qp, &address));
	EXPECT_EQ(-EALREADY, gda_qp_connect(self->a.qp, &address));
	EXPECT_EQ(-EINVAL, gda_mr_reg(self->a.ctx, self->a.mem, 0, GDA_ACCESS_ALL, 0, &mr));
	EXPECT_EQ(-EFAULT, gda_mr_reg(self->a.ctx, (void *)4096, 4096, GDA_ACCESS_ALL, 0, &mr));
	EXPECT_EQ(NULL, qp);
	EXPECT_EQ(NULL, mr);
}

TEST_F(device, dead_key)
{
	struct side *a = &self->a, *b = &self->b;

	ASSERT_EQ(0, gda_mr_dereg(b->mr));
	b->mr = NULL;
	EXPECT_EQ(-EIO, gda_wait(a->v, gda_put(a->v, a->iova, a->key, b->iova, b->key, 8, 0), 0));
	EXPECT_EQ(0xcc, b->mem[0]);
}

/* Counters of both ends, a ring for completions that signals an eventfd. */
TEST_HARNESS_MAIN
