// SPDX-License-Identifier: MIT
/*
 * The in-process device executes queues of the dialect of phase.h: data, errors, threads, CQs and
 * events, as selftests/inproc asks of mlx5. The device, its worker and its control calls are
 * those of the library; only the table of dialects has one line more.
 */
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include "hand.h"
#include "phase.h"

#define SIZE	8192U

/* A QP of this dialect with a ring of its own. */
struct ph_end {
	struct gda_context *ctx;
	struct hand_cq cq;
	struct hand h;
	struct s_memory mem;
};

static int ph_open_qp(struct gda_context *ctx, const struct hand_cq *cq,
		      const struct hand_cq *recv_cq, struct hand *h)
{
	const struct gda_qp_create how = {
		.dialect = PH_ID, .cq = cq->cq.handle, .recv_cq = recv_cq ? recv_cq->cq.handle : 0,
	};

	return hand_open(ctx, &how, h);
}

static int ph_open(struct ph_end *e)
{
	int err = gda_open(NULL, &e->ctx);

	if (!err)
		err = hand_cq_open_in(e->ctx, PH_ID, DEPTH, 0, &e->cq);
	if (!err)
		err = ph_open_qp(e->ctx, &e->cq, NULL, &e->h);
	return err ? err : s_memory_new(e->ctx, SIZE, GDA_ACCESS_ALL, &e->mem);
}

static int ph_close(struct ph_end *e)
{
	int err = hand_close(&e->h);

	if (!err)
		err = hand_cq_close(e->ctx, &e->cq);
	s_memory_free(&e->mem);
	gda_close(e->ctx);
	return err;
}

/* Write @e and the slots behind it; ph_ring() makes them the device's. Return: its index. */
static uint64_t ph_post(struct hand *h, struct ph_entry e, const void *more, uint32_t len)
{
	uint64_t index = h->next, i;

	e.slots = (uint8_t)(1 + (len + PH_SLOT - 1) / PH_SLOT);
	e.flags |= index & DEPTH ? 0 : PH_PHASE;
	memcpy(h->sq + (index & (DEPTH - 1)) * PH_SLOT, &e, sizeof(e));
	for (i = 0; i < len; i++)
		h->sq[((index + 1 + i / PH_SLOT) & (DEPTH - 1)) * PH_SLOT + i % PH_SLOT] =
			((const uint8_t *)more)[i];
	h->next += e.slots;
	return index;
}

static void ph_ring(struct hand *h)
{
	__atomic_store_n((uint64_t *)(void *)h->db, h->next, __ATOMIC_RELEASE);
}

static const struct ph_cqe *ph_peek(const struct hand_cq *c, bool *is_new)
{
	const struct ph_cqe *cqe = (const struct ph_cqe *)(const void *)c->entries +
				   (c->seen & (c->cq.depth - 1));
	uint32_t last = __atomic_load_n(&cqe->last, __ATOMIC_ACQUIRE);

	*is_new = last >> 31 == !(c->seen & c->cq.depth);
	return cqe;
}

/* The next entry of a ring, or NULL after a while; it is given back at the next call. */
static const struct ph_cqe *ph_next(struct hand_cq *c)
{
	uint64_t end = gda_clock_ns() + S_TIMEOUT_NS / 6;
	const struct ph_cqe *cqe;
	bool is_new;

	__atomic_store_n((uint32_t *)(void *)c->consumer, (uint32_t)c->seen, __ATOMIC_RELEASE);
	do {
		cqe = ph_peek(c, &is_new);
		if (is_new) {
			c->seen++;
			return cqe;
		}
		gda_pause();
	} while (gda_clock_ns() < end);
	return NULL;
}

static uint32_t ph_kind(const struct ph_cqe *cqe)
{
	return cqe->last >> 29 & 3;
}

/* Is the next entry of @kind, and of the work request at @index? */
static bool ph_completes(struct ph_end *e, uint32_t kind, uint64_t index)
{
	const struct ph_cqe *cqe = ph_next(&e->cq);

	return cqe && ph_kind(cqe) == kind && cqe->index == index &&
	       cqe->qpn == e->h.qp.qpn;
}

static struct ph_entry ph_entry(enum ph_op op, const struct ph_end *a, uint64_t laddr,
				const struct ph_end *b, uint64_t raddr, uint32_t len)
{
	return (struct ph_entry){
		.op = (uint8_t)op, .flags = PH_SIGNALED, .len = len,
		.laddr = a->mem.iova + laddr, .lkey = a->mem.key,
		.raddr = b->mem.iova + raddr, .rkey = b->mem.key,
	};
}

FIXTURE(phase) {
	struct ph_end a, b;
	uint64_t seed;
	uint8_t flat[2][SIZE];
};

FIXTURE_SETUP(phase)
{
	memset(self, 0, sizeof(*self));
	self->seed = s_seed();
	TH_LOG("GDA_SEED=%llu", (unsigned long long)self->seed);
	ASSERT_OK(ph_open(&self->a));
	ASSERT_OK(ph_open(&self->b));
	ASSERT_OK(hand_connect(&self->a.h, &self->b.h));
	ASSERT_OK(hand_connect(&self->b.h, &self->a.h));
}

FIXTURE_TEARDOWN(phase)
{
	EXPECT_OK(ph_close(&self->a));
	EXPECT_OK(ph_close(&self->b));
}

/* One random work request of @a, and the same on the flat model. Return: its index. */
static uint64_t ph_step(FIXTURE_DATA(phase) *self)
{
	uint32_t len = 1 + (uint32_t)s_below(&self->seed, 600);
	uint32_t loff = 8 * (uint32_t)s_below(&self->seed, (SIZE - len) / 8);
	uint32_t roff = 8 * (uint32_t)s_below(&self->seed, (SIZE - len) / 8);
	uint64_t operands[2] = { s_random(&self->seed), 0 }, old;
	uint8_t data[600];
	struct ph_entry e;
	uint32_t i;

	switch (s_below(&self->seed, 4)) {
	case 0:
		memcpy(self->flat[1] + roff, self->flat[0] + loff, len);
		e = ph_entry(PH_WRITE, &self->a, loff, &self->b, roff, len);
		return ph_post(&self->a.h, e, NULL, 0);
	case 1:
		memcpy(self->flat[0] + loff, self->flat[1] + roff, len);
		e = ph_entry(PH_READ, &self->a, loff, &self->b, roff, len);
		return ph_post(&self->a.h, e, NULL, 0);
	case 2:
		for (i = 0; i < len; i++)
			data[i] = (uint8_t)s_random(&self->seed);
		memcpy(self->flat[1] + roff, data, len);
		e = ph_entry(PH_WRITE, &self->a, 0, &self->b, roff, len);
		e.flags |= PH_INLINE;
		return ph_post(&self->a.h, e, data, len);
	default:
		memcpy(&old, self->flat[1] + roff, sizeof(old));
		memcpy(self->flat[0] + loff, &old, sizeof(old));
		old += operands[0];
		memcpy(self->flat[1] + roff, &old, sizeof(old));
		e = ph_entry(PH_FETCH_ADD, &self->a, loff, &self->b, roff, sizeof(old));
		return ph_post(&self->a.h, e, operands, sizeof(operands));
	}
}

TEST_F(phase, data_is_that_of_a_flat_model)
{
	unsigned long i, rounds = s_short(800, 3000);

	for (i = 0; i < rounds; i++) {
		uint64_t index = ph_step(self);

		ph_ring(&self->a.h);
		ASSERT_TRUE(ph_completes(&self->a, PH_DONE, index));
	}
	EXPECT_EQ(0, memcmp(self->a.mem.addr, self->flat[0], SIZE));
	EXPECT_EQ(0, memcmp(self->b.mem.addr, self->flat[1], SIZE));
}

/* A refused request fails alone; a malformed entry is the end of the queue. */
TEST_F(phase, errors_have_a_class_and_a_cause)
{
	struct ph_entry bad = ph_entry(PH_WRITE, &self->a, 0, &self->b, 0, 8);
	const struct ph_entry nop = { .op = PH_NOP, .flags = PH_SIGNALED };
	struct gda_qp_query query = { .size = sizeof(query), .handle = self->a.h.qp.handle };
	const struct ph_cqe *cqe;
	uint64_t index;

	bad.rkey ^= 0x100;
	index = ph_post(&self->a.h, bad, NULL, 0);
	ph_post(&self->a.h, nop, NULL, 0);
	ph_ring(&self->a.h);
	cqe = ph_next(&self->a.cq);
	ASSERT_NE(NULL, cqe);
	EXPECT_EQ(PH_ERROR, ph_kind(cqe));
	EXPECT_EQ(index, cqe->index);
	EXPECT_EQ(GDA_CLASS_REMOTE_ACCESS, cqe->last >> 24 & 31);
	EXPECT_EQ(GDA_CAUSE_KEY, cqe->last >> 16 & 255);
	EXPECT_TRUE(ph_completes(&self->a, PH_DONE, index + 1));

	bad.op = 0xff;
	index = ph_post(&self->a.h, bad, NULL, 0);
	ph_post(&self->a.h, nop, NULL, 0);
	ph_ring(&self->a.h);
	EXPECT_TRUE(ph_completes(&self->a, PH_ERROR, index));
	cqe = ph_next(&self->a.cq);
	ASSERT_NE(NULL, cqe);
	EXPECT_EQ(GDA_CLASS_FLUSH, cqe->last >> 24 & 31);
	ASSERT_OK(gda_ioctl(self->a.ctx, GDA_IOC_QP_QUERY, &query));
	EXPECT_EQ(GDA_QP_ERROR, query.state);
	EXPECT_EQ(GDA_CAUSE_OPCODE, query.vendor);
	EXPECT_EQ(index, query.error_index);
}

/* A stale entry of the lap before is refused, and so is a doorbell beyond the ring. */
TEST_F(phase, S1_S2_stale_entry_and_illegal_doorbell)
{
	struct gda_qp_query query = { .size = sizeof(query), .handle = self->a.h.qp.handle };
	const struct ph_entry nop = { .op = PH_NOP, .flags = PH_SIGNALED };
	uint64_t i;

	for (i = 0; i < DEPTH; i++) {
		ph_post(&self->a.h, nop, NULL, 0);
		ph_ring(&self->a.h);
		ASSERT_TRUE(ph_completes(&self->a, PH_DONE, i));
	}
	self->a.h.next++;
	ph_ring(&self->a.h);
	EXPECT_TRUE(ph_completes(&self->a, PH_ERROR, DEPTH));
	ASSERT_OK(gda_ioctl(self->a.ctx, GDA_IOC_QP_QUERY, &query));
	EXPECT_EQ(GDA_CAUSE_INDEX, query.vendor);

	self->b.h.next = DEPTH + 1;
	ph_ring(&self->b.h);
	query.handle = self->b.h.qp.handle;
	for (i = gda_clock_ns(); gda_clock_ns() - i < S_TIMEOUT_NS / 6; gda_pause()) {
		ASSERT_OK(gda_ioctl(self->b.ctx, GDA_IOC_QP_QUERY, &query));
		if (query.state == GDA_QP_ERROR)
			break;
	}
	EXPECT_EQ(GDA_QP_ERROR, query.state);
	EXPECT_EQ(GDA_CAUSE_DOORBELL, query.vendor);
}

/* A CQ serves QPs of its own dialect only. */
TEST_F(phase, a_cq_of_another_dialect_is_refused)
{
	struct hand_cq mlx5, none;
	struct hand h;

	EXPECT_EQ(-EOPNOTSUPP, hand_cq_open_in(self->a.ctx, PH_ID + 1, DEPTH, 0, &none));
	ASSERT_OK(hand_cq_open(self->a.ctx, DEPTH, 0, &mlx5));
	EXPECT_EQ(-EINVAL, ph_open_qp(self->a.ctx, &mlx5, NULL, &h));
	EXPECT_EQ(-EINVAL, ph_open_qp(self->a.ctx, &self->a.cq, &mlx5, &h));
	EXPECT_OK(hand_cq_close(self->a.ctx, &mlx5));
}

/* The library makes the CQ, and has no reader for it. */
TEST_F(phase, the_library_creates_a_cq_of_the_dialect)
{
	struct gda_cq_attr attr = { .size = sizeof(attr), .depth = DEPTH, .dialect = PH_ID };
	struct gda_qp_attr qp_attr = { .size = sizeof(qp_attr) };
	struct gda_qp *qp;
	struct hand h;

	ASSERT_OK(gda_cq_create(self->a.ctx, &attr, &qp_attr.cq));
	EXPECT_EQ(NULL, gda_cq_view(qp_attr.cq));
	EXPECT_EQ(-EINVAL, gda_qp_create(self->a.ctx, &qp_attr, &qp));
	ASSERT_OK(hand_open(self->a.ctx, &(struct gda_qp_create){
		.dialect = PH_ID, .cq = qp_attr.cq->handle }, &h));
	EXPECT_EQ(-EBUSY, gda_cq_destroy(qp_attr.cq));
	EXPECT_OK(hand_close(&h));
	EXPECT_OK(gda_cq_destroy(qp_attr.cq));
	attr.dialect = PH_ID + 1;
	EXPECT_EQ(-EOPNOTSUPP, gda_cq_create(self->a.ctx, &attr, &qp_attr.cq));
}

/* QPs share a ring; an immediate comes to the ring that was named for it, and its event. */
TEST_F(phase, rings_immediates_and_events)
{
	const struct ph_entry nop = { .op = PH_NOP, .flags = PH_SIGNALED };
	const struct ph_entry imm = { .op = PH_WRITE_IMM, .flags = PH_SIGNALED };
	const uint64_t value = 0x12345678;
	struct gda_cq_event event = { .size = sizeof(event), .flags = GDA_CQ_ARM };
	struct pollfd p = { .fd = eventfd(0, EFD_NONBLOCK), .events = POLLIN };
	const struct ph_cqe *cqe;
	struct hand_cq recv;
	struct hand h[2];
	uint32_t i, n[2] = { 0, 0 };

	ASSERT_OK(hand_cq_open_in(self->a.ctx, PH_ID, DEPTH, 0, &recv));
	for (i = 0; i < 2; i++)
		ASSERT_OK(ph_open_qp(self->a.ctx, &self->a.cq, &recv, &h[i]));
	ASSERT_OK(hand_connect(&h[0], &h[1]));
	ASSERT_OK(hand_connect(&h[1], &h[0]));
	for (i = 0; i < 8; i++) {
		ph_post(&h[i & 1], nop, NULL, 0);
		ph_ring(&h[i & 1]);
	}
	for (i = 0; i < 8; i++) {
		cqe = ph_next(&self->a.cq);
		ASSERT_NE(NULL, cqe);
		n[cqe->qpn == h[1].qp.qpn]++;
	}
	EXPECT_EQ(4, n[0]);
	EXPECT_EQ(4, n[1]);

	event.handle = recv.cq.handle;
	event.eventfd = p.fd;
	ASSERT_OK(gda_ioctl(self->a.ctx, GDA_IOC_CQ_EVENT, &event));
	ph_post(&h[0], imm, &value, sizeof(value));
	ph_ring(&h[0]);
	EXPECT_EQ(1, poll(&p, 1, (int)(S_TIMEOUT_NS / 6000000)));
	cqe = ph_next(&recv);
	ASSERT_NE(NULL, cqe);
	EXPECT_EQ(PH_IMM, ph_kind(cqe));
	EXPECT_EQ(value, (uint32_t)cqe->uidx_imm);
	EXPECT_EQ(h[1].qp.qpn, cqe->qpn);
	for (i = 0; i < 2; i++)
		EXPECT_OK(hand_close(&h[i]));
	EXPECT_OK(hand_cq_close(self->a.ctx, &recv));
	close(p.fd);
}

#define THREADS	4
#define ADDS	2000

static uint64_t ph_adds;

static void *ph_adder(void *arg)
{
	struct ph_end *target = arg, e = { 0 };
	const uint64_t one[2] = { 1, 0 };
	struct ph_entry add;
	struct hand other;
	uint64_t i, done = 0;

	if (ph_open(&e) || ph_open_qp(target->ctx, &target->cq, NULL, &other) ||
	    hand_connect(&e.h, &other) || hand_connect(&other, &e.h))
		return NULL;
	for (i = 0; i < ADDS; i++) {
		add = ph_entry(PH_FETCH_ADD, &e, 0, target, 0, 8);
		ph_post(&e.h, add, one, sizeof(one));
		ph_ring(&e.h);
		done += ph_completes(&e, PH_DONE, 2 * i);
	}
	if (hand_close(&other) || ph_close(&e))
		return NULL;
	__atomic_fetch_add(&ph_adds, done, __ATOMIC_RELAXED);
	return NULL;
}

/* Threads with contexts of their own add to one word. */
TEST_F(phase, threads_add_atomically)
{
	pthread_t thread[THREADS];
	int i;

	for (i = 0; i < THREADS; i++)
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, ph_adder, &self->b));
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	EXPECT_EQ(THREADS * ADDS, ph_adds);
	EXPECT_EQ(THREADS * ADDS, *(uint64_t *)(void *)self->b.mem.addr);
}

/* A peer that goes takes the work of the other one with it, and nothing else. */
TEST_F(phase, a_peer_that_is_destroyed)
{
	const struct ph_entry nop = { .op = PH_NOP, .flags = PH_SIGNALED };
	const struct ph_cqe *cqe;
	struct hand h[2];

	ASSERT_OK(ph_open_qp(self->a.ctx, &self->a.cq, NULL, &h[0]));
	ASSERT_OK(ph_open_qp(self->a.ctx, &self->a.cq, NULL, &h[1]));
	ASSERT_OK(hand_connect(&h[0], &h[1]));
	ASSERT_OK(hand_connect(&h[1], &h[0]));
	EXPECT_OK(hand_close(&h[1]));
	ph_post(&h[0], nop, NULL, 0);
	ph_ring(&h[0]);
	cqe = ph_next(&self->a.cq);
	ASSERT_NE(NULL, cqe);
	EXPECT_EQ(PH_ERROR, ph_kind(cqe));
	EXPECT_EQ(GDA_CAUSE_PEER, cqe->last >> 16 & 255);
	EXPECT_OK(hand_close(&h[0]));
	ph_post(&self->a.h, nop, NULL, 0);
	ph_ring(&self->a.h);
	EXPECT_TRUE(ph_completes(&self->a, PH_DONE, 0));
}

TEST_HARNESS_MAIN
