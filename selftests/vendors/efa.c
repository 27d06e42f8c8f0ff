// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The vendor's device library drives queues of the efa dialect, unmodified: what it encodes, posts,
 * rings and reads. The queues are those of a context of the in-process device, through the requests
 * of /dev/gda.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "../kernel/gda_fixture.h"
#include "../kernel/efa_queue.h"
#include "efa_cuda.h"

#define DEPTH	16U
#define BATCH	EFA_CUDA_BATCH
#define PART	512U
#define SIZE	(DEPTH * PART)

FIXTURE(vendor) {
	int fd[2];
	struct t_efa q[2];
	struct efa_cuda *e[2];
	struct t_mr mr[2];
	struct t_efa_peer to[2];	/* what each has of the other */
	uint8_t want[2][SIZE];		/* of both MRs */
	uint64_t seed;
};

FIXTURE_VARIANT(vendor) {
	uint32_t entry;
};

FIXTURE_VARIANT_ADD(vendor, narrow) { .entry = GDA_EFA_SLOT_BYTES };
FIXTURE_VARIANT_ADD(vendor, wide) { .entry = GDA_EFA_WIDE_BYTES };

static struct efa_cuda *drive(const struct t_efa *q)
{
	const struct efa_cuda_attr attr = {
		.sq = q->sq, .sq_depth = q->query.sq_depth, .sq_entry = q->query.sq_entry,
		.db = q->db, .cq = q->cq, .cq_depth = q->cqc.depth,
		.cq_stride = 2 * GDA_EFA_CQE_BYTES,
	};

	return efa_cuda_new(&attr);
}

FIXTURE_SETUP(vendor)
{
	int i;

	if (!efa_cuda_present())
		SKIP(return, "no GPU here");
	self->seed = t_seed();
	for (i = 0; i < 2; i++) {
		self->fd[i] = t_context();
		ASSERT_LE(0, self->fd[i]);
		ASSERT_OK(t_efa_open_writable(&self->q[i], self->fd[i], DEPTH, variant->entry));
		ASSERT_OK(t_mr_new(self->fd[i], SIZE, GDA_ACCESS_ALL, &self->mr[i]));
		self->e[i] = drive(&self->q[i]);
		ASSERT_NE(NULL, self->e[i]);
	}
	for (i = 0; i < 2; i++)
		ASSERT_OK(t_efa_peer(self->fd[i], &self->q[!i], &self->to[i]));
}

FIXTURE_TEARDOWN(vendor)
{
	int i;

	for (i = 0; i < 2; i++) {
		efa_cuda_delete(self->e[i]);
		t_efa_close(&self->q[i]);
		t_mr_free(self->fd[i], &self->mr[i]);
		close(self->fd[i]);
	}
}

/* Return a random request from A to B, in part @i of both MRs. */
static struct efa_cuda_wr any(struct _test_data_vendor *self, uint32_t entry, uint32_t i)
{
	uint64_t r = t_random(&self->seed);
	struct efa_cuda_wr wr = {
		.id = r & 1 ? t_random(&self->seed) : r >> 8 & 3,	/* vendors repeat them */
		.read = (r >> 16) % 3 == 0,
		.hint = r >> 20 & 1,
		.imm = (uint32_t)(r >> 24),
		.raddr = self->mr[1].iova + i * PART, .rkey = self->mr[1].key,
		.laddr = self->mr[0].iova + i * PART, .lkey = self->mr[0].key >> GDA_EFA_LKEY_SHIFT,
		.len = (uint32_t)(t_random(&self->seed) % (PART + 1)),
		.ah = self->to[0].ah, .number = self->to[0].number, .qkey = self->to[0].qkey,
	};

	wr.has_imm = !wr.read && r >> 21 & 1;
	if (!wr.read && entry == GDA_EFA_WIDE_BYTES && r >> 22 & 1) {
		wr.len %= GDA_EFA_MAX_INLINE + 1;
		wr.inlined = true;
		memcpy(wr.data, self->want[0] + i * PART, wr.len);
	}
	return wr;
}

/* Wait for a completion of @e, as long as any wait of these tests. */
static int take(struct efa_cuda *e, struct efa_cuda_done *done)
{
	uint64_t end = t_now() + T_WAIT_NS;

	while (!efa_cuda_poll(e, done)) {
		if (t_now() > end)
			return -ETIMEDOUT;
		t_sleep_ns(1000);
	}
	return 0;
}

static void encode(uint8_t *slot, uint32_t entry, uint32_t lap, const struct efa_cuda_wr *wr)
{
	struct gda_efa_wide_wqe e;

	memset(&e, 0, sizeof(e));
	gda_efa_set_what(&e.meta, wr->id,
			 (uint8_t)((wr->read ? GDA_EFA_READ : GDA_EFA_WRITE) |
				   (wr->has_imm ? GDA_EFA_HAS_IMM : 0) |
				   (wr->inlined ? GDA_EFA_INLINE : 0)),
			 lap, (uint16_t)(wr->inlined ? wr->len : 1), wr->has_imm ? wr->imm : 0);
	gda_efa_set_whom(&e.meta, wr->ah, wr->number, wr->qkey);
	e.meta.hints = wr->hint;
	gda_efa_set_segment(&e.remote, wr->raddr, wr->rkey, wr->len);
	if (wr->inlined)
		memcpy(e.data, wr->data, wr->len);
	else
		gda_efa_set_segment((void *)e.data, wr->laddr, wr->lkey, wr->len);
	memcpy(slot, &e, entry);
}

/* 10^6 entries: ours are the vendor's, byte for byte, over the laps of a ring. */
TEST_F(vendor, entries_are_its_entries)
{
	static uint8_t theirs[DEPTH * GDA_EFA_WIDE_BYTES] __attribute__((aligned(4096)));
	static volatile uint32_t db __attribute__((aligned(4096)));
	uint8_t ours[GDA_EFA_WIDE_BYTES];
	struct efa_cuda_attr attr = {
		.sq = theirs, .sq_depth = DEPTH, .sq_entry = variant->entry,
		.db = &db, .cq_depth = DEPTH,
	};
	struct efa_cuda *e = efa_cuda_new(&attr);
	uint32_t i;

	ASSERT_NE(NULL, e);
	for (i = 0; i < 1000000; i++) {
		struct efa_cuda_wr wr = any(self, variant->entry, i % DEPTH);

		wr.raddr = t_random(&self->seed);
		wr.laddr = t_random(&self->seed);
		wr.rkey = (uint32_t)t_random(&self->seed);
		wr.lkey = (uint32_t)t_random(&self->seed) >> GDA_EFA_LKEY_SHIFT;
		wr.ah = (uint16_t)t_random(&self->seed);
		wr.number = (uint16_t)t_random(&self->seed);
		wr.qkey = (uint32_t)t_random(&self->seed);
		encode(ours, variant->entry, i / DEPTH, &wr);
		ASSERT_EQ(0, efa_cuda_post(e, &wr, 1));
		ASSERT_EQ(0, memcmp(theirs + i % DEPTH * variant->entry, ours, variant->entry));
		ASSERT_EQ(i + 1, db);
	}
	efa_cuda_delete(e);
}

/* The completion of one of @wr, which is taken out of @open. */
static int match(const struct efa_cuda_wr *wr, uint32_t *open, const struct efa_cuda_done *done)
{
	for (uint32_t i = 0; i < DEPTH; i++)
		if (*open >> i & 1 && wr[i].id == done->id && wr[i].read == done->read) {
			*open &= ~(1U << i);
			return 0;
		}
	return -ENOENT;
}

/* Batches of any length, each with one doorbell. */
TEST_F(vendor, Efa01_batches_of_every_operation)
{
	for (uint32_t round = 0; round < t_rounds(2000); round++) {
		uint32_t n = 1 + (uint32_t)(t_random(&self->seed) % BATCH), open = (1U << n) - 1, i;
		struct efa_cuda_wr wr[DEPTH] = { 0 };
		struct efa_cuda_done done;
		uint32_t imms = 0;

		for (i = 0; i < SIZE; i++) {
			self->want[0][i] = (uint8_t)t_random(&self->seed);
			self->want[1][i] = (uint8_t)(self->want[0][i] + 1 + i % 200);
		}
		memcpy(self->mr[0].addr, self->want[0], SIZE);
		memcpy(self->mr[1].addr, self->want[1], SIZE);
		for (i = 0; i < n; i++) {
			uint8_t *to, *from;

			wr[i] = any(self, variant->entry, i);
			imms += wr[i].has_imm;
			to = self->want[!wr[i].read] + i * PART;
			from = self->want[wr[i].read] + i * PART;
			memcpy(to, from, wr[i].len);
		}
		ASSERT_EQ(0, efa_cuda_post(self->e[0], wr, (int)n));
		while (open) {
			ASSERT_EQ(0, take(self->e[0], &done));
			ASSERT_EQ(GDA_EFA_OK, done.status);
			ASSERT_EQ(self->to[1].number, done.qp);
			ASSERT_EQ(false, done.received);
			ASSERT_EQ(0, match(wr, &open, &done));
		}
		for (i = 0; i < imms; i++) {
			ASSERT_EQ(0, take(self->e[1], &done));
			ASSERT_EQ(true, done.received && done.has_imm && done.unsolicited);
		}
		ASSERT_EQ(0, memcmp(self->want[0], self->mr[0].addr, SIZE));
		ASSERT_EQ(0, memcmp(self->want[1], self->mr[1].addr, SIZE));
	}
}

/* An immediate, of every length in which a length has two halves. */
TEST_F(vendor, an_immediate_says_what_and_whose)
{
	struct efa_cuda_wr wr = {
		.has_imm = true, .ah = self->to[0].ah, .number = self->to[0].number,
		.qkey = self->to[0].qkey,
	};
	struct t_mr big[2];
	int i;

	for (i = 0; i < 2; i++)
		ASSERT_OK(t_mr_new(self->fd[i], 1 << 20, GDA_ACCESS_ALL, &big[i]));
	wr.lkey = big[0].key >> GDA_EFA_LKEY_SHIFT;
	wr.laddr = big[0].iova;
	wr.rkey = big[1].key;
	wr.raddr = big[1].iova;
	for (wr.len = 0; wr.len <= 1 << 20; wr.len = wr.len * 4 + 3) {
		struct efa_cuda_done done;

		wr.imm = (uint32_t)t_random(&self->seed);
		ASSERT_EQ(0, efa_cuda_post(self->e[0], &wr, 1));
		ASSERT_EQ(0, take(self->e[0], &done));
		ASSERT_EQ(GDA_EFA_OK, done.status);
		ASSERT_EQ(0, take(self->e[1], &done));
		EXPECT_EQ(true, done.received && done.has_imm && done.unsolicited);
		EXPECT_EQ(wr.imm, done.imm);
		EXPECT_EQ(wr.len, done.len);
		EXPECT_EQ(self->to[0].number, done.qp);
		EXPECT_EQ(self->to[1].number, done.src_qp);
		EXPECT_EQ(self->to[1].ah, done.ah);
	}
	for (i = 0; i < 2; i++)
		t_mr_free(self->fd[i], &big[i]);
}

/* A key that is none kills the queue, and whoever waits behind it is told. */
TEST_F(vendor, a_wrong_key_is_told_and_what_is_behind_it_flushed)
{
	struct efa_cuda_wr wr[3];
	struct efa_cuda_done done;
	int i;

	for (i = 0; i < 3; i++) {
		wr[i] = any(self, GDA_EFA_SLOT_BYTES, 0);
		wr[i].len = 8;
		wr[i].rkey ^= 0x100;
		wr[i].id = 7 + i;
	}
	ASSERT_EQ(0, efa_cuda_post(self->e[0], wr, 3));
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, take(self->e[0], &done));
		EXPECT_EQ(7 + i, done.id);
		EXPECT_EQ(i ? GDA_EFA_FLUSHED : GDA_EFA_BAD_ADDRESS, done.status);
	}
}

/* A producer that reads no completion, as NCCL, which counts arrivals: its queue goes on. */
TEST_F(vendor, Efa20_a_ring_that_nobody_reads_stops_nothing)
{
	volatile uint64_t *last = (void *)self->mr[1].addr;
	struct efa_cuda_wr wr = any(self, GDA_EFA_SLOT_BYTES, 0);
	uint32_t i;

	wr.read = wr.has_imm = false;
	wr.len = 8;
	for (i = 1; i <= 40 * DEPTH; i++) {
		uint64_t end = t_now() + T_WAIT_NS;

		memcpy(self->mr[0].addr, &(uint64_t){ i }, 8);
		ASSERT_EQ(0, efa_cuda_post(self->e[0], &wr, 1));
		while (*last != i) {
			ASSERT_GT(end, t_now());
			t_sleep_ns(1000);
		}
	}
}

TEST_HARNESS_MAIN
