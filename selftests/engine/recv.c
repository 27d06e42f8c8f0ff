// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Receive queues: what a record and a list may say, and what is flushed. The owner can write all
 * of it at any time, and the worst that comes of it is his own.
 */
#include <endian.h>
#include <pthread.h>
#include "send.h"

TEST(shapes)
{
	struct th_rq *rq = th_rq_new(NULL, 8, 6, false);
	struct gda_dialect_ops none = gda_dialect_mlx5;
	u32 depth, shift;

	for (depth = 0; depth < 70000; depth++) {
		rq->rq.depth = depth;
		EXPECT_EQ(depth && !(depth & (depth - 1)) && depth <= GDA_RECV_MAX_DEPTH,
			  gda_rq_init(&rq->rq));
	}
	rq->rq.depth = 8;
	for (shift = 0; shift < 64; shift++) {
		rq->rq.shift = shift;
		EXPECT_EQ(shift >= 4 && shift <= 9, gda_rq_init(&rq->rq));
	}
	rq->rq.shift = 6;
	none.recv = NULL;
	rq->rq.dialect = &none;
	EXPECT_FALSE(gda_rq_init(&rq->rq));
	th_rq_free(rq);
}

/* A queue is never so deep that its record cannot say that all of it is posted. */
TEST_F(send, all_of_the_longest_queue)
{
	struct th_rq *rq = th_rq_new(&dom_b, GDA_RECV_MAX_DEPTH, 5, variant->linked);
	struct gda_sge to = part(self->r, 0, 8);
	u32 i, lap, bad = 0;

	self->b->q.rq = &rq->rq;
	for (lap = 0; lap < 3; lap++) {
		for (i = 0; i < GDA_RECV_MAX_DEPTH; i++)
			th_rq_post(rq, &to, 1);
		for (i = 0; i < GDA_RECV_MAX_DEPTH; i++) {
			const struct gda_mlx5_cqe *cqe;

			post(self, 0, 8);
			th_run(self->a);
			cqe = next_entry(self);
			bad += !cqe || cqe->op_own >> 4 != GDA_MLX5_CQE_RESP_SEND;
			if (cqe && variant->linked)
				th_rq_reuse(rq, be16toh(cqe->wqe_counter));
		}
		post(self, 0, 8);
		EXPECT_EQ(GDA_QP_READY, self->a->q.state);
		self->a->q.rnr_retry = GDA_ENGINE_RNR_FOREVER;
		EXPECT_EQ(1, th_run(self->a));
		th_rq_post(rq, &to, 1);
		th_run(self->a);
		next_entry(self);
		if (variant->linked)
			th_rq_reuse(rq, (u32)((rq->rq.taken - 1) & (GDA_RECV_MAX_DEPTH - 1)));
	}
	EXPECT_EQ(0, bad);
	EXPECT_EQ(3 * (GDA_RECV_MAX_DEPTH + 1), rq->rq.taken);
	th_rq_free(rq);
}

/* Every value of the record: as many as it says, if the queue can hold them; else an error. */
TEST_F(send, X2_record_that_jumps)
{
	u32 i, value, refused = 0, bad = 0;

	self->a->q.rnr_retry = GDA_ENGINE_RNR_FOREVER;
	for (i = 0; i < 0x10000; i++) {
		u32 ahead, before = self->rq->rq.taken;
		u64 executed = self->a->q.executed;

		receive(self, 0, 8);
		/* all values, first near what was taken; 16 bits count, and none above them */
		value = i & 1 ? i * 40503 & 0xffff : before + (i >> 1 & 15) - 4;
		self->rq->record = gda_be32((value & 0xffff) | i << 16);
		ahead = (value - before) & 0xffff;
		if (!th_busy(self->a))
			post(self, 0, 8);
		th_run(self->a);
		if (!ahead) {
			bad += self->a->q.state != GDA_QP_READY || !th_busy(self->a);
		} else if (ahead <= DEPTH) {
			bad += self->a->q.executed != executed + 1;
			bad += self->rq->rq.taken != before + 1;
			next_entry(self);
		} else {
			bad += self->a->q.state != GDA_QP_ERROR ||
			       th_syndrome(self->a) != GDA_MLX5_SYND_REMOTE_OP ||
			       self->a->q.first.cause != GDA_CAUSE_DOORBELL ||
			       self->b->q.fail != GDA_STATUS(GDA_CLASS_QUEUE, GDA_CAUSE_DOORBELL) ||
			       self->rq->rq.taken != before;
			self->b->q.fail = 0;
			th_again(self->a);
			refused++;
		}
		self->rq->posted = self->rq->rq.taken;
	}
	EXPECT_EQ(0, bad);
	EXPECT_LT(0x8000, refused);
}

/* A list that points to itself, to nowhere, in circles: each send takes one entry of it. */
TEST_F(send, X2_list_that_lies)
{
	struct th_rand r = { 5 };
	u32 i, at = 0, bad = 0;

	/* a ring has no links */
	if (!variant->linked)
		return;
	for (i = 0; i < 100000; i++) {
		struct gda_mlx5_srq_next *next;
		const struct gda_mlx5_cqe *cqe;
		u32 to = (u32)th_rand(&r) >> th_below(&r, 32);

		at = self->rq->rq.head;
		self->rq->head = at;
		receive(self, 8 * at, 8);
		next = th_rq_entry(self->rq, at);
		next->next_wqe_index = htobe16((u16)to);
		self->rq->record = gda_be32(self->rq->rq.taken + 1);
		post(self, 0, 8);
		th_run(self->a);
		cqe = next_entry(self);
		bad += !cqe || cqe->op_own >> 4 != GDA_MLX5_CQE_RESP_SEND ||
		       be16toh(cqe->wqe_counter) != at;
		bad += self->rq->rq.head != (to & (DEPTH - 1));
	}
	EXPECT_EQ(0, bad);
	EXPECT_TRUE(untouched(self, 8 * DEPTH, 1000));
	EXPECT_EQ(GDA_QP_READY, self->b->q.state);
	/* a loop goes on as long as the record says so, and a visit ends before */
	self->rq->record = gda_be32((self->rq->rq.taken + DEPTH) & 0xffff);
	for (i = 0; i < DEPTH; i++)
		((struct gda_mlx5_srq_next *)th_rq_entry(self->rq, i))->next_wqe_index = 0;
	for (i = 0; i < DEPTH + 1; i++)
		post(self, 0, 8);
	self->a->q.rnr_retry = GDA_ENGINE_RNR_FOREVER;
	EXPECT_EQ(DEPTH + 1, th_run(self->a));
	EXPECT_TRUE(th_busy(self->a));
}

/* Its own ring is flushed, in order, so many a visit; an SRQ is not its own. */
TEST_F(send, flush_is_bounded)
{
	u32 i;

	for (i = 0; i < DEPTH; i++)
		receive(self, 0, 8);
	post(self, 0, 8);
	th_run(self->a);
	next_entry(self);
	self->b->q.fail = GDA_STATUS(GDA_CLASS_QUEUE, GDA_CAUSE_DEVICE);
	th_nop(self->b, 0);
	th_nop(self->b, 0);
	th_ring(self->b);
	EXPECT_TRUE(gda_engine_pending(&self->b->q));
	EXPECT_EQ(2, gda_engine_visit(&self->b->q, 3, 1));
	/* one beside each send that is flushed: who posts sends for ever gets the receives back */
	if (!variant->linked)
		EXPECT_EQ(0, failed(next_entry(self), 1, GDA_MLX5_SYND_WR_FLUSH, 0));
	EXPECT_EQ(NULL, next_entry(self));
	EXPECT_EQ(!variant->linked, gda_engine_pending(&self->b->q));
	if (variant->linked) {
		EXPECT_EQ(0, gda_engine_visit(&self->b->q, 3, 1));
		EXPECT_EQ(1, self->rq->rq.taken);
		return;
	}
	EXPECT_EQ(3, gda_engine_visit(&self->b->q, 3, 1));
	EXPECT_TRUE(gda_engine_pending(&self->b->q));
	EXPECT_EQ(3, gda_engine_visit(&self->b->q, 3, 1));
	EXPECT_FALSE(gda_engine_pending(&self->b->q));
	EXPECT_EQ(0, gda_engine_visit(&self->b->q, 3, 1));
	for (i = 2; i < DEPTH; i++)
		EXPECT_EQ(0, failed(next_entry(self), i, GDA_MLX5_SYND_WR_FLUSH, 0));
	/* what is posted later is flushed as well, and what its record only claims is not */
	receive(self, 0, 8);
	EXPECT_TRUE(gda_engine_pending(&self->b->q));
	EXPECT_EQ(1, th_run(self->b));
	EXPECT_EQ(0, failed(next_entry(self), DEPTH, GDA_MLX5_SYND_WR_FLUSH, 0));
	self->rq->record = gda_be32(self->rq->rq.taken + DEPTH + 1);
	EXPECT_FALSE(gda_engine_pending(&self->b->q));
	EXPECT_EQ(0, th_run(self->b));
	EXPECT_EQ(0, self->b->q.first_error);
	EXPECT_EQ(ENTRIES, self->sink->cq.depth);
}

/* Flushed receives are its own: where they find no room, the CQ fails, and nothing waits. */
TEST_F(send, flush_without_room)
{
	struct gda_completion other = { .kind = GDA_COMPLETION_DONE };
	u32 i;

	for (i = 0; i < ENTRIES - 2; i++)
		EXPECT_TRUE(gda_cq_push(&self->sink->cq, &other));
	for (i = 0; i < DEPTH; i++)
		receive(self, 0, 8);
	self->b->q.fail = GDA_STATUS(GDA_CLASS_QUEUE, GDA_CAUSE_DEVICE);
	/* an SRQ is not flushed */
	EXPECT_EQ(1 + (variant->linked ? 0 : DEPTH), th_run(self->b));
	EXPECT_EQ(!variant->linked, self->sink->cq.failed);
	EXPECT_FALSE(gda_engine_pending(&self->b->q));
	EXPECT_EQ(ENTRIES - (variant->linked ? 2 : 0), self->sink->cq.producer);
}

/* Two queues that send to two others, which share a list: each receive is one's, and no two's. */
static void shared_by_two(FIXTURE_DATA(send) *self, struct __test_metadata *_metadata)
{
	struct th_qp *c = th_qp_new(&self->dev, &dom_a, 64, 0);
	struct th_qp *d = th_qp_new(&self->dev, &dom_b, 64, 0);
	struct gda_sge from = part(self->l, 0, 300);
	u32 first, second;

	d->q.qpn = 0xd;
	d->q.recv_cq = &self->sink->cq;
	d->q.rq = &self->rq->rq;
	th_qp_pair(c, d);
	first = receive(self, 0, 300);
	second = receive(self, 1000, 300);
	post(self, 0, 300);
	EXPECT_EQ(1, gda_engine_visit(&self->a->q, 1, 100));
	th_send(c, 0, &from, 1);
	th_ring(c);
	EXPECT_EQ(1, th_run(c));
	EXPECT_EQ(second, be16toh(next_entry(self)->wqe_counter));
	EXPECT_EQ(1, th_run(self->a));
	EXPECT_EQ(0, wrong(next_entry(self), GDA_MLX5_CQE_RESP_SEND, first, 300, 0));
	EXPECT_TRUE(arrived(self, 0, 0, 300) && arrived(self, 1000, 0, 300));
	/* of one that fails only what is open is completed */
	receive(self, 0, 300);
	receive(self, 0, 300);
	post(self, 0, 300);
	EXPECT_EQ(1, gda_engine_visit(&self->a->q, 1, 100));
	self->b->q.fail = GDA_STATUS(GDA_CLASS_QUEUE, GDA_CAUSE_DEVICE);
	th_run(self->b);
	EXPECT_EQ(0, failed(next_entry(self), 2, GDA_MLX5_SYND_WR_FLUSH, 0));
	EXPECT_EQ(NULL, next_entry(self));
	th_send(c, 0, &from, 1);
	th_ring(c);
	EXPECT_EQ(1, th_run(c));
	EXPECT_EQ(3, be16toh(next_entry(self)->wqe_counter));
	EXPECT_EQ(GDA_QP_READY, d->q.state);
	th_qp_free(c);
	th_qp_free(d);
}

TEST_F(send, shared)
{
	/* a ring is of one queue */
	if (variant->linked)
		shared_by_two(self, _metadata);
}

/* A second queue that sends to the same peer finds it not ready while a receive is open. */
TEST_F(send, one_open_receive)
{
	struct th_qp *c = th_qp_new(&self->dev, &dom_a, 16, 0);
	struct gda_sge from = part(self->l, 8, 300);
	u32 first = receive(self, 0, 300), second = receive(self, 1000, 300);

	c->q.peer = &self->b->q;
	c->q.state = GDA_QP_READY;
	c->q.rnr_retry = 2;
	post(self, 0, 300);
	EXPECT_EQ(1, gda_engine_visit(&self->a->q, 1, 100));
	th_send(c, 0, &from, 1);
	th_ring(c);
	EXPECT_EQ(1, th_run(c));
	EXPECT_EQ(1, c->delays);
	EXPECT_EQ(1, th_run(self->a));
	EXPECT_EQ(1, th_run(c));
	EXPECT_EQ(0, wrong(next_entry(self), GDA_MLX5_CQE_RESP_SEND, first, 300, 0));
	EXPECT_EQ(0, wrong(next_entry(self), GDA_MLX5_CQE_RESP_SEND, second, 300, 0));
	EXPECT_TRUE(arrived(self, 0, 0, 300) && arrived(self, 1000, 8, 300));
	/* one that fails with a receive open has that to flush, and says so */
	receive(self, 0, 300);
	post(self, 0, 300);
	EXPECT_EQ(1, gda_engine_visit(&self->a->q, 1, 100));
	self->b->q.fail = GDA_STATUS(GDA_CLASS_QUEUE, GDA_CAUSE_DEVICE);
	EXPECT_EQ(1, gda_engine_visit(&self->b->q, 1, 1));
	EXPECT_TRUE(gda_engine_pending(&self->b->q));
	EXPECT_EQ(1, gda_engine_visit(&self->b->q, 1, 1));
	EXPECT_FALSE(gda_engine_pending(&self->b->q));
	/* and to a queue that has failed, but flushed nothing yet, nothing goes */
	self->b->q.recv_closed = false;
	receive(self, 0, 300);
	th_send(c, 0, &from, 1);
	th_ring(c);
	th_run(c);
	EXPECT_EQ(GDA_MLX5_SYND_RETRY_EXC, th_syndrome(c));
	th_qp_free(c);
}

struct flipper {
	struct th_rq *rq;
	u32 bad;
	bool stop;
};

/* The owner: rewrites entries and links all the time. */
static void *flip(void *arg)
{
	struct flipper *f = arg;
	struct th_rand r = { 9 };

	while (!__atomic_load_n(&f->stop, __ATOMIC_RELAXED)) {
		u64 *seg = th_rq_entry(f->rq, th_below(&r, DEPTH));
		/* of no legal length, or of one */
		u64 what = th_below(&r, 2) ? ~0ULL : 0x1100000022000000ULL;
		u32 i, words = (1U << f->rq->rq.shift) / 8;

		for (i = 0; i < words; i++)
			__atomic_store_n(&seg[i], what, __ATOMIC_RELAXED);
	}
	return NULL;
}

/*
 * What is decoded is one of the things that were written, word by word, whatever is written
 * meanwhile: a segment that was taken passed the check with the very value that is kept.
 */
TEST_F(send, X2_entries_rewritten_while_they_are_read)
{
	struct flipper f = { .rq = self->rq };
	static struct gda_recv out;
	pthread_t thread;
	u32 i, k;

	ASSERT_EQ(0, pthread_create(&thread, NULL, flip, &f));
	for (i = 0; i < 300000; i++) {
		u64 sum = 0;

		self->rq->record = gda_be32(self->rq->rq.taken + 1);
		self->b->q.recv_open = false;
		if (gda_rq_take(&self->b->q, &out) != 1) {
			f.bad++;
			continue;
		}
		f.bad += self->rq->rq.head >= DEPTH || out.nsge > 4;
		for (k = 0; k < out.nsge; k++) {
			f.bad += out.sge[k].len - 1 >= GDA_ENGINE_MAX_MSG;
			sum += out.sge[k].len;
		}
		f.bad += sum != out.len;
	}
	__atomic_store_n(&f.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	EXPECT_EQ(0, f.bad);
}

TEST_HARNESS_MAIN
