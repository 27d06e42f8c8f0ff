// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Shared memory that lies: SECURITY.md S1 (entries that change while they are read),
 * S2 (producer indices that no producer writes), S3 (CQ memory and consumer records).
 */
#include <pthread.h>
#include "gda_fixture.h"

#define LEN	(8 * T_PAGE)
#define DEPTH	64

FIXTURE(ring) {
	struct t_end end[2];
	struct t_end by[2];		/* bystanders, in contexts of their own */
	struct t_qp same[2];		/* bystanders in the same contexts */
	uint64_t rnd;
};

T_SETUP(ring)
{
	self->rnd = t_seed();
	TH_LOG("GDA_SEED=%#llx", (unsigned long long)self->rnd);
	ASSERT_OK(t_pair_open(self->end, DEPTH, LEN));
	ASSERT_OK(t_pair_open(self->by, DEPTH, LEN));
	for (int i = 0; i < 2; i++) {
		ASSERT_OK(t_qp_open(&self->same[i], self->end[i].fd, DEPTH));
	}
	ASSERT_OK(t_connect(&self->same[0], &self->same[1]));
}

/* The others go on: in other contexts, and beside a failed queue in its own. */
static int others_work(FIXTURE_DATA(ring) *self)
{
	struct t_wr wr = t_wr_write(&self->by[0].mr, 0, &self->by[1].mr, 0, 8);
	struct t_wr own = t_wr_write(&self->end[0].mr, 0, &self->end[1].mr, 0, 8);
	int err = t_run(&self->by[0].qp, &wr, NULL);

	return err ? err : t_run(&self->same[0], &own, NULL);
}

T_TEARDOWN(ring)
{
	EXPECT_EQ(0, others_work(self));
	for (int i = 0; i < 2; i++)
		t_qp_unmap(&self->same[i]);
	t_pair_close(self->by);
	t_pair_close(self->end);
}

static int renew(FIXTURE_DATA(ring) *self, uint32_t depth)
{
	int err;

	for (int i = 0; i < 2; i++) {
		t_qp_close(&self->end[i].qp);
		err = t_qp_open(&self->end[i].qp, self->end[i].fd, depth);
		if (err)
			return err;
	}
	return t_connect(&self->end[0].qp, &self->end[1].qp);
}

/* Where an index bears the queue: ahead by at most depth is work, a bit behind stale. */
static bool illegal(uint16_t ahead, uint32_t depth)
{
	return ahead > depth && 0x10000U - ahead > 0x8000 - depth;
}

enum source { RECORD, DOORBELL, BOTH };

static void ring_raw(struct t_qp *qp, enum source from, uint64_t index)
{
	if (from != DOORBELL)
		__atomic_store_n(&qp->dbrec[1], gda_mlx5_dbrec(index), __ATOMIC_RELEASE);
	/* The record wakes no worker: ring the doorbell too, with its old value. */
	if (from == RECORD)
		index = qp->next;
	__atomic_store_n(qp->db, gda_mlx5_doorbell(index, qp->qpc.qpn), __ATOMIC_RELEASE);
}

TEST_F(ring, S2_corners)
{
	struct t_wr nop = { .opcode = GDA_MLX5_NOP };
	static const uint32_t depths[] = { 1, 64, 16384 };

	for (size_t d = 0; d < ARRAY_SIZE(depths); d++) {
		uint32_t depth = depths[d];
		const uint16_t ahead[] = {
			(uint16_t)(depth + 1), (uint16_t)(2 * depth + 1), 0x4001, 0x7ffe,
			0x7fff, 0x8000, (uint16_t)(0x8000 + depth - 1),
		};

		for (size_t i = 0; i < ARRAY_SIZE(ahead); i++) {
			struct t_qp *qp = &self->end[0].qp;
			struct t_done done;

			if (!illegal(ahead[i], depth))
				continue;
			for (int from = RECORD; from <= BOTH; from++) {
				ASSERT_OK(renew(self, depth));
				/* Not at zero: some work first. */
				for (int k = 0; k < 5; k++) {
					ASSERT_OK(t_run(qp, &nop, NULL));
				}
				ring_raw(qp, from, qp->next + ahead[i]);
				EXPECT_GT(t_wait(qp, qp->next, &done), 0)
					TH_LOG("depth %u ahead %#x source %d", depth, ahead[i],
					       from);
				EXPECT_EQ(GDA_MLX5_VENDOR_DOORBELL, done.first_vendor);
				EXPECT_EQ(5, done.first_error);
				EXPECT_EQ((int)GDA_QP_ERROR,
					  t_wait_state(qp, GDA_QP_READY, T_WAIT_NS));
			}
		}
		ASSERT_EQ(0, others_work(self));
	}
}

/* Legal values are no error: the corners on the other side. */
TEST_F(ring, S2_stale_is_ignored)
{
	struct t_wr nop = { .opcode = GDA_MLX5_NOP };
	const uint16_t behind[] = { 1, 2, DEPTH, DEPTH + 1, 0x4000, 0x8000 - DEPTH };
	struct t_qp *qp = &self->end[0].qp;

	for (size_t i = 0; i < ARRAY_SIZE(behind); i++) {
		for (int from = RECORD; from <= BOTH; from++) {
			ASSERT_OK(t_run(qp, &nop, NULL));
			ring_raw(qp, from, qp->next - behind[i]);
			ASSERT_OK(t_run(qp, &nop, NULL))
				TH_LOG("behind %u source %d", behind[i], from);
		}
	}
}

/* Record and doorbell full of noise, all 64 bits of it. */
TEST_F(ring, S2_noise)
{
	unsigned long rounds = t_stress(200);

	for (unsigned long i = 0; i < rounds; i++) {
		struct t_qp *qp = &self->end[0].qp;
		struct t_done done;
		int got = 0;

		for (int k = 0; k < 20 && !got; k++) {
			uint64_t raw = t_random(&self->rnd);

			__atomic_store_n(&qp->dbrec[0], (__be32)raw, __ATOMIC_RELAXED);
			__atomic_store_n(&qp->dbrec[1], (__be32)(raw >> 32),
					 __ATOMIC_RELAXED);
			__atomic_store_n(qp->db, (__be64)t_random(&self->rnd),
					 __ATOMIC_RELEASE);
			t_sleep_ns(100000);
			got = t_poll(qp, 0, &done);
		}
		if (got) {
			EXPECT_TRUE(done.error);
		}
		ASSERT_OK(renew(self, DEPTH));
	}
}

/* All of the doorbell page and the record page that is not this queue's. */
TEST_F(ring, S2_other_cells_of_the_page)
{
	struct t_wr nop = { .opcode = GDA_MLX5_NOP };
	struct t_qp *qp = &self->end[0].qp;
	uint8_t *db = qp->map[2], *rec = qp->map[1];

	for (int i = 0; i < 50; i++) {
		for (size_t k = 0; k < T_PAGE; k += 8) {
			uint64_t junk = t_random(&self->rnd);

			/* not the cells of two queues at the beginning */
			if (k >= 4 * 64) {
				memcpy(db + k, &junk, 8);
				memcpy(rec + k, &junk, 8);
			}
		}
		/* nor the rest of this queue's own cells */
		memset((uint8_t *)(uintptr_t)qp->db + 8, (int)t_random(&self->rnd), 56);
		memset((uint8_t *)(uintptr_t)qp->dbrec + 8, (int)t_random(&self->rnd), 56);
		ASSERT_OK(t_run(qp, &nop, NULL));
	}
	/* A queue made now gets cells that are zero again. */
	for (int i = 0; i < 8; i++) {
		struct t_qp more;

		ASSERT_OK(t_qp_open(&more, self->end[0].fd, 16));
		EXPECT_EQ(0, *more.db);
		EXPECT_EQ(0, more.dbrec[0] | more.dbrec[1]);
		ASSERT_OK(t_connect(&more, &more));
		EXPECT_OK(t_run(&more, &nop, NULL));
		t_qp_unmap(&more);
	}
}

/* Rung before it is connected, rightly and wrongly: nothing until it is. */
TEST_F(ring, S2_before_connecting)
{
	struct t_wr nop = { .opcode = GDA_MLX5_NOP };
	struct t_done done;
	struct t_qp qp;
	uint64_t index;

	ASSERT_OK(t_qp_open(&qp, self->end[0].fd, 16));
	index = t_post(&qp, &nop);
	t_ring(&qp);
	t_sleep_ns(T_NS / 20);
	EXPECT_FALSE(t_poll(&qp, index, &done));
	ASSERT_OK(t_connect(&qp, &qp));
	EXPECT_OK(t_wait(&qp, index, NULL));
	t_qp_close(&qp);

	ASSERT_OK(t_qp_open(&qp, self->end[0].fd, 16));
	t_ring_index(&qp, 1000);
	t_sleep_ns(T_NS / 20);
	ASSERT_OK(t_connect(&qp, &qp));
	EXPECT_GT(t_wait(&qp, 0, &done), 0);
	EXPECT_EQ(GDA_MLX5_VENDOR_DOORBELL, done.first_vendor);
	t_qp_close(&qp);
}

/* --- S1 --- */

struct flip {
	uint8_t *slot;			/* the queue's first slot */
	uint64_t good[8], bad[8];	/* entry to flip between, word by word */
	uint64_t rnd;
	bool stop;
	unsigned long flips;
};

static void *flipper(void *arg)
{
	struct flip *f = arg;

	while (!__atomic_load_n(&f->stop, __ATOMIC_RELAXED)) {
		for (int i = 0; i < 256; i++) {
			uint64_t r = t_random(&f->rnd);
			unsigned int w = r % 8;

			__atomic_store_n((uint64_t *)(void *)f->slot + w,
					 r >> 32 & 1 ? f->good[w] : f->bad[w],
					 __ATOMIC_RELAXED);
		}
		f->flips += 256;
	}
	return NULL;
}

/*
 * A request that is legal in every word it shows at one time and, in each, illegal at
 * another: whatever mixture is executed must have passed the checks as a whole. The
 * only legal effects are on the target's window; around it are canaries.
 */
static int flip_once(FIXTURE_DATA(ring) *self, struct flip *f, const struct t_mr *src,
		     const struct t_mr *dst, const struct t_mr *forbidden, int kind)
{
	struct t_wr good = t_wr_write(src, 0, dst, 0, 64), bad = good;
	struct t_qp *qp = &self->end[0].qp;
	uint8_t wqe[T_WQE_MAX];
	pthread_t thread;
	uint64_t end;
	int err;

	bad.raddr += dst->len - 8;
	bad.sge[0].len = (uint32_t)dst->len + 4096;
	if (kind & 1) {
		bad.rkey = forbidden->key;
		bad.raddr = forbidden->iova;
	}
	if (kind & 2)
		good.opcode = GDA_MLX5_READ;
	if (kind & 4)
		bad.sge[0].addr = forbidden->iova;
	if (kind & 8)
		bad = t_wr_atomic(GDA_MLX5_ATOMIC_FA, src, 0, forbidden, 0, 1, 0);
	t_encode(wqe, &good, qp->next, qp->qpc.qpn);
	memcpy(f->good, wqe, 64);
	t_encode(wqe, &bad, qp->next, qp->qpc.qpn);
	memcpy(f->bad, wqe, 64);
	f->slot = qp->sq;
	f->stop = false;
	memcpy(qp->sq, f->good, 64);
	if (pthread_create(&thread, NULL, flipper, f))
		return -EAGAIN;
	/* Depth 1: each ring runs the one slot; the index alone must be right. */
	end = t_now() + T_NS / 10;
	do {
		uint64_t index = qp->next++;
		uint64_t word;

		t_encode(wqe, &good, index, qp->qpc.qpn);
		memcpy(&word, wqe, 8);
		f->good[0] = word;
		t_encode(wqe, &bad, index, qp->qpc.qpn);
		memcpy(&word, wqe, 8);
		f->bad[0] = word;
		__atomic_store_n((uint64_t *)(void *)qp->sq, word, __ATOMIC_RELAXED);
		t_ring(qp);
		err = t_wait(qp, index, NULL);
	} while (!err && t_now() < end);
	__atomic_store_n(&f->stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	return err < 0 ? err : 0;
}

TEST_F(ring, S1_entries_that_change)
{
	struct t_end *a = &self->end[0], *b = &self->end[1];
	struct flip flip = { .rnd = self->rnd };
	struct t_mr dst, src, forbidden;
	uint8_t *room = t_pages(5 * T_PAGE), *own = t_pages(5 * T_PAGE);
	uint64_t end = t_now() + t_short(2, 6) * T_NS;
	unsigned long rounds = 0;

	ASSERT_NE(NULL, room);
	ASSERT_NE(NULL, own);
	memset(room, 0xa1, 5 * T_PAGE);
	memset(own, 0xb2, 5 * T_PAGE);
	ASSERT_OK(t_mr_reg(b->fd, room + 2 * T_PAGE, T_PAGE, GDA_ACCESS_ALL, &dst));
	ASSERT_OK(t_mr_reg(b->fd, room, T_PAGE, 0, &forbidden));
	ASSERT_OK(t_mr_reg(a->fd, own + 2 * T_PAGE, T_PAGE, GDA_ACCESS_ALL, &src));
	for (; t_now() < end; rounds++) {
		ASSERT_OK(renew(self, 1));
		ASSERT_OK(flip_once(self, &flip, &src, &dst, &forbidden, (int)(rounds % 16)));
		ASSERT_TRUE(t_all(room, 0xa1, 2 * T_PAGE));
		ASSERT_TRUE(t_all(room + 3 * T_PAGE, 0xa1, 2 * T_PAGE));
		ASSERT_TRUE(t_all(own, 0xb2, 2 * T_PAGE));
		ASSERT_TRUE(t_all(own + 3 * T_PAGE, 0xb2, 2 * T_PAGE));
	}
	TH_LOG("%lu rounds, %lu flips", rounds, flip.flips);
	t_destroy(b->fd, dst.handle);
	t_destroy(b->fd, forbidden.handle);
	t_destroy(a->fd, src.handle);
}

/* --- S3 --- */

/* A collapsed CQ that its user scribbles over: never read back. */
TEST_F(ring, S3_writable_cq_is_never_read)
{
	struct t_wr nop = { .opcode = GDA_MLX5_NOP };
	struct gda_cq_create cq;
	struct gda_qp_query q;
	struct t_qp qp;
	uint8_t *map;

	ASSERT_OK(t_cq_create(self->end[0].fd, GDA_CQ_COLLAPSED | GDA_CQ_WRITABLE, 1, &cq));
	ASSERT_OK(t_qp_open_on(&qp, self->end[0].fd, 16, &cq));
	ASSERT_OK(t_connect(&qp, &qp));
	map = t_map(self->end[0].fd, &cq.cq);
	ASSERT_NE(MAP_FAILED, map);
	for (uint64_t i = 0; i < 500; i++) {
		for (size_t k = 0; k < 64; k++)
			map[cq.cq.offset + k] = (uint8_t)t_random(&self->rnd);
		t_post(&qp, &nop);
		t_ring(&qp);
		do {
			ASSERT_OK(t_qp_query(qp.fd, qp.qpc.handle, &q));
		} while (q.consumer != qp.next);
		ASSERT_EQ(i + 1, q.executed);
		ASSERT_EQ((uint32_t)GDA_QP_READY, q.state);
	}
	munmap(map, cq.cq.length);
	t_qp_close(&qp);
}

TEST_HARNESS_MAIN
