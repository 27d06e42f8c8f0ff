// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * NCCL's EFA-GDA back end puts between two ranks on queues of the efa dialect, unmodified. A rank
 * is a context of the in-process device, with a queue for data, one for values and one for each
 * signal and counter; the counters that NCCL reads are those of these queues.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "../kernel/gda_fixture.h"
#include "../kernel/efa_queue.h"
#include "gin_client.h"

#define DEPTH	32U
#define BATCH	16U
#define WINDOW	(1U << 16)
#define THREADS	32		/* a warp */

/* The queues of a rank. */
enum { DATA, VALUES, SIGNALS, QUEUES = SIGNALS + GIN_SIGNALS };

struct rank {
	int fd;
	struct t_efa q[QUEUES];
	struct t_mr window;
	struct t_mr scratch;
	struct gin *gin;
	struct t_efa_peer to[GIN_RANKS][QUEUES];	/* what it has of each */
};

FIXTURE(nccl) {
	struct rank r[GIN_RANKS];
	uint64_t seed;
};

FIXTURE_VARIANT(nccl) {
	uint32_t entry;			/* of all but values */
};

FIXTURE_VARIANT_ADD(nccl, narrow) { .entry = GDA_EFA_SLOT_BYTES };
FIXTURE_VARIANT_ADD(nccl, wide) { .entry = GDA_EFA_WIDE_BYTES };

static struct gin_queue queue_of(const struct t_efa *q)
{
	return (struct gin_queue) {
		.sq = q->sq, .sq_depth = q->query.sq_depth, .sq_entry = q->query.sq_entry,
		.db = q->db, .sent = (const uint64_t *)&q->sent->value,
		.arrived = (const uint64_t *)&q->arrived->value,
	};
}

static struct gin_target target_of(const struct t_efa_peer *to)
{
	return (struct gin_target) { to->ah, to->number, to->qkey };
}

static struct gin_memory memory_of(const struct t_mr *mr)
{
	return (struct gin_memory) { mr->iova, mr->key >> GDA_EFA_LKEY_SHIFT, mr->key };
}

static struct gin *drive(struct rank *r, int me)
{
	struct gin_attr attr = {
		.rank = me, .batch = BATCH,
		.data = queue_of(&r[me].q[DATA]), .values = queue_of(&r[me].q[VALUES]),
	};
	int p, i;

	for (i = 0; i < GIN_SIGNALS; i++)
		attr.signal[i] = queue_of(&r[me].q[SIGNALS + i]);
	for (p = 0; p < GIN_RANKS; p++) {
		attr.to[0][p] = target_of(&r[me].to[p][DATA]);
		for (i = 0; i < GIN_SIGNALS; i++)
			attr.to[1 + i][p] = target_of(&r[me].to[p][SIGNALS + i]);
		attr.scratch[p] = memory_of(&r[p].scratch);
		attr.window[p] = memory_of(&r[p].window);
	}
	return gin_new(&attr);
}

static int open_rank(struct rank *r, uint32_t entry)
{
	int i, err = 0;

	r->fd = t_context();
	if (r->fd < 0)
		return r->fd;
	for (i = 0; i < QUEUES && !err; i++)
		err = t_efa_open_counted(&r->q[i], r->fd, DEPTH,
					 i == VALUES ? GDA_EFA_WIDE_BYTES : entry);
	if (!err)
		err = t_mr_new(r->fd, WINDOW, GDA_ACCESS_ALL, &r->window);
	return err ? err : t_mr_new(r->fd, 4096, GDA_ACCESS_ALL, &r->scratch);
}

FIXTURE_SETUP(nccl)
{
	int i, p, q;

	if (!gin_present())
		SKIP(return, "no GPU here");
	self->seed = t_seed();
	for (i = 0; i < GIN_RANKS; i++)
		ASSERT_OK(open_rank(&self->r[i], variant->entry));
	for (i = 0; i < GIN_RANKS; i++)
		for (p = 0; p < GIN_RANKS; p++)
			for (q = 0; q < QUEUES; q++)
				ASSERT_OK(t_efa_peer(self->r[i].fd, &self->r[p].q[q],
						     &self->r[i].to[p][q]));
	for (i = 0; i < GIN_RANKS; i++) {
		self->r[i].gin = drive(self->r, i);
		ASSERT_NE(NULL, self->r[i].gin);
	}
}

FIXTURE_TEARDOWN(nccl)
{
	int i, q;

	for (i = 0; i < GIN_RANKS; i++) {
		gin_delete(self->r[i].gin);
		for (q = 0; q < QUEUES; q++)
			t_efa_close(&self->r[i].q[q]);
		t_mr_free(self->r[i].fd, &self->r[i].window);
		t_mr_free(self->r[i].fd, &self->r[i].scratch);
		close(self->r[i].fd);
	}
}

static const struct gin_op flush = { .what = GIN_FLUSH };

/* A put of rank 0 to the same place at rank @peer. */
static struct gin_op put_of(int peer, uint64_t at, uint64_t bytes)
{
	return (struct gin_op) {
		.what = GIN_PUT, .peer = peer, .remote = at, .local = at, .bytes = bytes,
		.signal = -1, .counter = -1,
	};
}

static int run(struct _test_data_nccl *self, const struct gin_op *op)
{
	return gin_run(self->r[0].gin, op, 1);
}

/* Fill @bytes of the window of rank 0 at @at, with other bytes than before. */
static void fill(struct _test_data_nccl *self, uint64_t at, uint64_t bytes)
{
	uint64_t i;

	for (i = at; i < at + bytes; i++)
		self->r[0].window.addr[i] = (uint8_t)t_random(&self->seed);
}

static bool same(const struct _test_data_nccl *self, int peer, uint64_t at, uint64_t bytes)
{
	return !memcmp(self->r[0].window.addr + at, self->r[peer].window.addr + at, bytes);
}

/* Wait for @n of a signal of rank @peer. */
static int await(struct _test_data_nccl *self, int peer, int signal, uint64_t n)
{
	uint64_t end = t_now() + T_WAIT_NS;

	while (gin_signal(self->r[peer].gin, signal) < n)
		if (t_now() > end)
			return -ETIMEDOUT;
	return gin_signal(self->r[peer].gin, signal) == n ? 0 : -EOVERFLOW;
}

/* What each queue of rank 0 has sent, and what has arrived at each of rank 1. */
static bool counts_are(const struct _test_data_nccl *self, const uint64_t *sent,
		       const uint64_t *arrived)
{
	int q;

	for (q = 0; q < QUEUES; q++)
		if (__atomic_load_n(&self->r[0].q[q].sent->value, __ATOMIC_ACQUIRE) != sent[q] ||
		    __atomic_load_n(&self->r[1].q[q].arrived->value, __ATOMIC_ACQUIRE) != arrived[q])
			return false;
	return true;
}

/* Without a signal: by the queue for data, to that of the peer; a counter chooses the poster. */
TEST_F(nccl, Efa01_Efa04_Efa19_put_without_signal)
{
	uint64_t sent[QUEUES] = { 0 }, arrived[QUEUES] = { 0 };
	uint32_t i, rounds = t_rounds(200);

	for (i = 0; i < rounds; i++) {
		uint64_t bytes = 1 + t_random(&self->seed) % 4096, at = t_random(&self->seed) % 32768;
		struct gin_op op = put_of(1, at, bytes);

		op.counter = (int)(i % (GIN_SIGNALS + 1)) - 1;
		fill(self, at, bytes);
		ASSERT_EQ(0, run(self, &op));
		ASSERT_EQ(0, run(self, &flush));
		ASSERT_TRUE(same(self, 1, at, bytes));
		sent[op.counter < 0 ? DATA : SIGNALS + op.counter]++;
		arrived[DATA]++;
		ASSERT_TRUE(counts_are(self, sent, arrived));
		if (op.counter >= 0)
			ASSERT_EQ(sent[SIGNALS + op.counter], gin_counter(self->r[0].gin, op.counter));
	}
}

/* A signal is the count of writes that arrived at its queue; its data is there when it is seen. */
TEST_F(nccl, Efa02_Efa17_Efa19_put_with_signal)
{
	uint64_t n[GIN_RANKS][GIN_SIGNALS] = { { 0 } };
	uint32_t i, rounds = t_rounds(300);

	for (i = 0; i < rounds; i++) {
		uint64_t bytes = 1 + t_random(&self->seed) % 4096, at = t_random(&self->seed) % 32768;
		int peer = (int)(i % 2), signal = (int)(i % GIN_SIGNALS);
		struct gin_op op = put_of(peer, at, bytes);

		/* to itself, too: from one half of the window to the other */
		op.remote = at + (peer ? 0 : 32768);
		op.signal = signal;
		op.bytes = bytes = at + bytes > 32768 ? 32768 - at : bytes;
		fill(self, at, bytes);
		ASSERT_EQ(0, run(self, &op));
		ASSERT_EQ(0, await(self, peer, signal, ++n[peer][signal]));
		ASSERT_EQ(0, memcmp(self->r[0].window.addr + at,
				    self->r[peer].window.addr + op.remote, bytes));
	}
}

/* Add is so many writes, of which the counter of the poster counts one. */
TEST_F(nccl, Efa03_Efa05_signals_without_data_and_more_than_one)
{
	uint64_t sent[QUEUES] = { 0 }, arrived[QUEUES] = { 0 };
	uint32_t n;

	for (n = 0; n < 20; n++) {
		struct gin_op op = put_of(1, 0, n % 3 ? 0 : 64);

		op.add = n;			/* 0: Inc */
		op.signal = (int)(n % GIN_SIGNALS);
		op.counter = n % 2 ? -1 : op.signal;
		ASSERT_EQ(0, run(self, &op));
		sent[op.counter < 0 ? DATA : SIGNALS + op.counter]++;
		sent[DATA] += n ? n - 1 : 0;
		arrived[SIGNALS + op.signal] += n ? n : 1;
		ASSERT_EQ(0, await(self, 1, op.signal, arrived[SIGNALS + op.signal]));
		ASSERT_EQ(0, run(self, &flush));
		ASSERT_TRUE(counts_are(self, sent, arrived));
	}
	EXPECT_TRUE(t_all(self->r[1].scratch.addr, 0, 4096));
}

/* Values are in the entries of a queue of their own. */
TEST_F(nccl, Efa06_Efa21_values)
{
	uint64_t sent[QUEUES] = { 0 }, arrived[QUEUES] = { 0 }, value;
	uint32_t i, rounds = t_rounds(200);

	for (i = 0; i < rounds; i++) {
		struct gin_op op = put_of(1, 8 * (i % 512), 1U << i % 4);
		uint8_t *at = self->r[1].window.addr + op.remote;

		op.what = GIN_VALUE;
		op.value = t_random(&self->seed);
		op.signal = (int)(i % (GIN_SIGNALS + 1)) - 1;
		memset(at, 0xee, 8);
		ASSERT_EQ(0, run(self, &op));
		arrived[op.signal < 0 ? DATA : SIGNALS + op.signal]++;
		sent[VALUES]++;
		if (op.signal >= 0)
			ASSERT_EQ(0, await(self, 1, op.signal, arrived[SIGNALS + op.signal]));
		ASSERT_EQ(0, run(self, &flush));
		memset(&value, 0xee, 8);
		memcpy(&value, &op.value, op.bytes);
		ASSERT_EQ(0, memcmp(at, &value, 8));
		ASSERT_TRUE(counts_are(self, sent, arrived));
	}
}

/* Eight puts of which seven are deferred: one doorbell, and each has its own entry. */
TEST_F(nccl, Efa10_Efa19_a_burst_of_eight)
{
	uint32_t round, i, rounds = t_rounds(100);

	for (round = 0; round < rounds; round++) {
		uint16_t rung = (uint16_t)(8 * round);
		struct gin_op op[8];

		fill(self, 0, 8 * 64);
		memset(self->r[1].window.addr, 0, WINDOW);
		for (i = 0; i < 8; i++) {
			op[i] = put_of(1, 64 * i, 64);
			op[i].signal = (int)(i % GIN_SIGNALS);
			op[i].defer = i < 7;
		}
		ASSERT_EQ(0, gin_run(self->r[0].gin, op, 7));
		ASSERT_EQ(rung, (uint16_t)*self->r[0].q[DATA].db);
		ASSERT_TRUE(t_all(self->r[1].window.addr, 0, WINDOW));
		ASSERT_EQ(0, run(self, &op[7]));
		ASSERT_EQ((uint16_t)(rung + 8), (uint16_t)*self->r[0].q[DATA].db);
		for (i = 0; i < GIN_SIGNALS; i++)
			ASSERT_EQ(0, await(self, 1, (int)i, (round + 1) * (i == 2 ? 2 : 3)));
		ASSERT_TRUE(same(self, 1, 0, 8 * 64));
		/* the sentinel behind them */
		ASSERT_TRUE(t_all(self->r[1].window.addr + 8 * 64, 0, WINDOW - 8 * 64));
		ASSERT_EQ(0, run(self, &flush));
	}
}

/* No more are deferred than the adapter holds entries without a doorbell. */
TEST_F(nccl, Efa11_deferral_ends_at_a_batch)
{
	struct gin_op op = put_of(1, 0, 8);
	uint32_t i;

	op.defer = true;
	for (i = 1; i <= 4 * DEPTH; i++) {
		ASSERT_EQ(0, run(self, &op));
		ASSERT_EQ((uint16_t)(i / BATCH * BATCH), (uint16_t)*self->r[0].q[DATA].db);
	}
	op.defer = false;
	ASSERT_EQ(0, run(self, &op));
	ASSERT_EQ((uint16_t)i, (uint16_t)*self->r[0].q[DATA].db);
	EXPECT_EQ(0, run(self, &flush));
}

/* A flush waits for each queue that posts. */
TEST_F(nccl, Efa13_flush_drains_every_queue)
{
	uint32_t round, i, rounds = t_rounds(100);

	for (round = 0; round < rounds; round++) {
		struct gin_op op[3 + GIN_SIGNALS];

		fill(self, 0, WINDOW);
		for (i = 0; i < GIN_SIGNALS + 1; i++) {
			op[i] = put_of(1, 8192 * i, 8192);
			op[i].counter = (int)i - 1;
		}
		op[i] = put_of(1, 8192 * i, 8);
		op[i].what = GIN_VALUE;
		memcpy(&op[i].value, self->r[0].window.addr + op[i].local, 8);
		op[++i] = flush;
		ASSERT_EQ(0, gin_run(self->r[0].gin, op, (int)i + 1));
		ASSERT_TRUE(same(self, 1, 0, 8192 * (GIN_SIGNALS + 1) + 8));
	}
}

/* Nobody can write to a counter: to reset one is to remember what it was. */
TEST_F(nccl, Efa14_resets)
{
	struct gin_op op = put_of(1, 0, 8), reset = { .what = GIN_RESET_SIGNAL, .signal = 1 };
	int round, i;

	op.signal = 1;
	op.counter = 2;
	for (round = 0; round < 5; round++) {
		for (i = 1; i <= 10; i++) {
			ASSERT_EQ(0, run(self, &op));
			ASSERT_EQ(0, await(self, 1, 1, (uint64_t)i));
		}
		ASSERT_EQ(0, run(self, &flush));
		ASSERT_EQ(10, gin_counter(self->r[0].gin, 2));
		reset.what = GIN_RESET_COUNTER;
		reset.counter = 2;
		ASSERT_EQ(0, run(self, &reset));
		EXPECT_EQ(0, gin_counter(self->r[0].gin, 2));
		reset.what = GIN_RESET_SIGNAL;
		ASSERT_EQ(0, gin_run(self->r[1].gin, &reset, 1));
		EXPECT_EQ(0, gin_signal(self->r[1].gin, 1));
	}
}

/* Reads, which the same flush waits for. */
TEST_F(nccl, gets)
{
	uint32_t i, j, rounds = t_rounds(100);

	for (i = 0; i < rounds; i++) {
		struct gin_op op = put_of(1, t_random(&self->seed) % 32768, t_random(&self->seed) % 4096);

		op.what = GIN_GET;
		op.local = t_random(&self->seed) % 32768;
		for (j = 0; j < op.bytes; j++)
			self->r[1].window.addr[op.remote + j] = (uint8_t)t_random(&self->seed);
		ASSERT_EQ(0, run(self, &op));
		ASSERT_EQ(0, run(self, &flush));
		ASSERT_EQ(0, memcmp(self->r[0].window.addr + op.local,
				    self->r[1].window.addr + op.remote, op.bytes));
	}
}

/* More puts than slots, with no flush: no entry is overwritten before it is read. */
TEST_F(nccl, Efa07_Efa09_a_ring_is_never_lapped)
{
	uint32_t round, i, rounds = t_rounds(20);
	uint64_t n = 0;

	for (round = 0; round < rounds; round++) {
		struct gin_op op[GIN_OPS];

		fill(self, 0, 64 * GIN_OPS);
		for (i = 0; i < GIN_OPS; i++) {
			op[i] = put_of(1, 64 * i, 64);
			op[i].signal = 0;
			op[i].defer = i % 3 && i < GIN_OPS - 1;
		}
		ASSERT_EQ(0, gin_run(self->r[0].gin, op, GIN_OPS));
		n += GIN_OPS;
		ASSERT_EQ(0, await(self, 1, 0, n));
		ASSERT_TRUE(same(self, 1, 0, 64 * GIN_OPS));
	}
	ASSERT_EQ(0, run(self, &flush));
	EXPECT_EQ(n, self->r[0].q[DATA].sent->value);
}

/* Threads share queues: each one's last value is there, and all are counted. */
TEST_F(nccl, Efa08_threads_share_queues)
{
	struct gin_op op[THREADS];
	uint64_t times = t_rounds(100), i;

	fill(self, 0, 64 * THREADS);
	for (i = 0; i < THREADS; i++) {
		op[i] = put_of(1, 64 * i, 64);
		op[i].signal = (int)(i % GIN_SIGNALS);
		if (i % 4 == 3) {
			op[i].what = GIN_VALUE;
			op[i].bytes = 8;
			memcpy(&op[i].value, self->r[0].window.addr + 64 * i, 8);
			memset(self->r[0].window.addr + 64 * i + 8, 0, 56);
		} else if (i % 4 == 2) {
			op[i].counter = (int)(i % GIN_SIGNALS);
		}
	}
	ASSERT_EQ(0, gin_run_by(self->r[0].gin, op, THREADS, (int)times));
	ASSERT_EQ(0, run(self, &flush));
	for (i = 0; i < GIN_SIGNALS; i++)
		ASSERT_EQ(0, await(self, 1, (int)i, times * ((THREADS - i + 2) / GIN_SIGNALS)));
	EXPECT_TRUE(same(self, 1, 0, 64 * THREADS));
}

TEST_HARNESS_MAIN
