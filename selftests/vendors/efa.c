// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Code of a vendor drives queues of the efa dialect, unmodified: what it encodes, posts, rings and
 * reads. The queues are those of a context of the in-process device, through the requests of
 * /dev/gda.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "../kernel/gda_fixture.h"
#include "../kernel/efa_queue.h"
#include "client.h"

#define DEPTH	16U
#define BATCH	CLIENT_BATCH
#define PART	512U
#define SIZE	(DEPTH * PART)

FIXTURE(vendor) {
	int fd[2];
	struct t_efa q[2];
	struct client *e[2];
	struct t_mr mr[2];
	struct t_efa_peer to[2];	/* what each has of the other */
	uint8_t want[2][SIZE];		/* of both MRs */
	uint64_t seed;
};

FIXTURE_VARIANT(vendor) {
	uint32_t entry;
	bool older;
};

FIXTURE_VARIANT_ADD(vendor, narrow) { .entry = GDA_EFA_SLOT_BYTES };
FIXTURE_VARIANT_ADD(vendor, wide) { .entry = GDA_EFA_WIDE_BYTES };
FIXTURE_VARIANT_ADD(vendor, older_calls) { .entry = GDA_EFA_SLOT_BYTES, .older = true };

static struct client *drive(const struct t_efa *q, bool older)
{
	const struct client_attr attr = {
		.sq = q->sq, .sq_depth = q->query.sq_depth, .sq_entry = q->query.sq_entry,
		.db = q->db, .cq = q->cq, .cq_depth = q->cqc.depth,
		.cq_stride = 2 * GDA_EFA_CQE_BYTES,
		.number = (uint16_t)q->query.qpn, .older = older,
	};

	return client_new(&attr);
}

FIXTURE_SETUP(vendor)
{
	int i;

	if (!client_present(variant->older))
		SKIP(return, "no GPU here, or no such calls");
	self->seed = t_seed();
	for (i = 0; i < 2; i++) {
		self->fd[i] = t_context();
		ASSERT_LE(0, self->fd[i]);
		ASSERT_OK(t_efa_open_writable(&self->q[i], self->fd[i], DEPTH, variant->entry));
		ASSERT_OK(t_mr_new(self->fd[i], SIZE, GDA_ACCESS_ALL, &self->mr[i]));
		self->e[i] = drive(&self->q[i], variant->older);
		ASSERT_NE(NULL, self->e[i]);
	}
	for (i = 0; i < 2; i++)
		ASSERT_OK(t_efa_peer(self->fd[i], &self->q[!i], &self->to[i]));
}

FIXTURE_TEARDOWN(vendor)
{
	int i;

	for (i = 0; i < 2; i++) {
		client_delete(self->e[i]);
		t_efa_close(&self->q[i]);
		t_mr_free(self->fd[i], &self->mr[i]);
		close(self->fd[i]);
	}
}

/* Return a random request from A to B, in part @i of both MRs. */
static struct client_wr any(struct _test_data_vendor *self, uint32_t entry, uint32_t i)
{
	uint64_t r = t_random(&self->seed);
	struct client_wr wr = {
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
static int take(struct client *e, struct client_done *done)
{
	uint64_t end = t_now() + T_WAIT_NS;

	while (!client_poll(e, done)) {
		if (t_now() > end)
			return -ETIMEDOUT;
		t_sleep_ns(1000);
	}
	return 0;
}

static void encode(uint8_t *slot, uint32_t entry, uint32_t lap, const struct client_wr *wr)
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

/* As the device, complete the request that @slot has, by an entry of a CQ of DEPTH entries. */
static void complete(uint8_t *cq, uint32_t i, const uint8_t *slot, uint16_t number)
{
	const struct gda_efa_meta *meta = (const void *)slot;
	struct gda_efa_cqe e = {
		.id = meta->id, .qp = gda_efa_le16(number),
		.flags = (uint8_t)(GDA_EFA_CQE_SENT | (i & DEPTH ? 0 : GDA_EFA_CQE_PHASE) |
				   (meta->ctrl1 & GDA_EFA_OP_MASK) << GDA_EFA_CQE_OP_SHIFT),
	};

	memcpy(e.id_ex, meta->id_ex, sizeof(e.id_ex));
	memcpy(cq + i % DEPTH * 2 * GDA_EFA_CQE_BYTES, &e, sizeof(e));
}

/* Return: a request of which every member is random. */
static struct client_wr anything(struct _test_data_vendor *self, uint32_t entry)
{
	struct client_wr wr = any(self, entry, 0);

	wr.raddr = t_random(&self->seed);
	wr.laddr = t_random(&self->seed);
	wr.rkey = (uint32_t)t_random(&self->seed);
	wr.lkey = (uint32_t)t_random(&self->seed) >> GDA_EFA_LKEY_SHIFT;
	wr.ah = (uint16_t)t_random(&self->seed);
	wr.number = (uint16_t)t_random(&self->seed);
	wr.qkey = (uint32_t)t_random(&self->seed);
	return wr;
}

/* Whether @slot has the entry @i of a ring, of @wr; the older calls have ids of their own. */
static bool is_entry(const uint8_t *slot, uint32_t entry, uint32_t i, const struct client_wr *wr,
		     bool older)
{
	uint8_t ours[GDA_EFA_WIDE_BYTES];

	encode(ours, entry, i / DEPTH, wr);
	if (older) {
		memcpy(ours, slot, sizeof(uint16_t));
		memset(ours + offsetof(struct gda_efa_meta, id_ex), 0, 6);
	}
	return !memcmp(slot, ours, entry);
}

/*
 * 10^6 entries: ours are the vendor's, byte for byte, over the laps of a ring, and it recognises
 * their completions.
 */
TEST_F(vendor, Efa15_entries_are_its_entries)
{
	static uint8_t theirs[DEPTH * GDA_EFA_WIDE_BYTES] __attribute__((aligned(4096)));
	static uint8_t cq[DEPTH * 2 * GDA_EFA_CQE_BYTES] __attribute__((aligned(4096)));
	static volatile uint32_t db __attribute__((aligned(4096)));
	struct client_attr attr = {
		.sq = theirs, .sq_depth = DEPTH, .sq_entry = variant->entry, .db = &db,
		.cq = cq, .cq_depth = DEPTH, .cq_stride = 2 * GDA_EFA_CQE_BYTES,
		.number = 0x1234, .older = variant->older,
	};
	struct client *e = client_new(&attr);
	struct client_done done;
	uint32_t next = 0, i, n;

	ASSERT_NE(NULL, e);
	while (next < 1000000) {
		struct client_wr wr[BATCH];

		n = 1 + (uint32_t)(t_random(&self->seed) % BATCH);
		/* provider.c has one address handle at a time */
		for (i = 0; i < n; i++) {
			wr[i] = anything(self, variant->entry);
			wr[i].ah = wr[0].ah;
		}
		ASSERT_EQ(0, client_post(e, wr, (int)n));
		ASSERT_EQ((uint16_t)(next + n), (uint16_t)db);
		ASSERT_EQ(false, client_poll(e, &done));
		for (i = 0; i < n; i++, next++) {
			uint8_t *slot = theirs + next % DEPTH * variant->entry;

			ASSERT_TRUE(is_entry(slot, variant->entry, next, &wr[i], variant->older));
			complete(cq, next, slot, attr.number);
			ASSERT_EQ(true, client_poll(e, &done));
			ASSERT_EQ(wr[i].id, done.id);
			ASSERT_EQ(attr.number, done.qp);
			ASSERT_EQ(wr[i].read, done.read);
			ASSERT_EQ(GDA_EFA_OK, done.status);
		}
	}
	client_delete(e);
}

/* The completion of one of @wr, which is taken out of @open. */
static int match(const struct client_wr *wr, uint32_t *open, const struct client_done *done)
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
		struct client_wr wr[DEPTH] = { 0 };
		struct client_done done;
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
		ASSERT_EQ(0, client_post(self->e[0], wr, (int)n));
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
	struct client_wr wr = {
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
		struct client_done done;

		wr.imm = (uint32_t)t_random(&self->seed);
		ASSERT_EQ(0, client_post(self->e[0], &wr, 1));
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
	struct client_wr wr[3];
	struct client_done done;
	uint32_t seen = 0;
	int i;

	for (i = 0; i < 3; i++) {
		wr[i] = any(self, GDA_EFA_SLOT_BYTES, 0);
		wr[i].len = 8;
		wr[i].rkey ^= 0x100;
		wr[i].id = (uint64_t)i;
	}
	ASSERT_EQ(0, client_post(self->e[0], wr, 3));
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, take(self->e[0], &done));
		seen |= 1U << done.id;
		/* in another order than that of posting some may have been begun */
		if (done.status != GDA_EFA_FLUSHED || !i)
			EXPECT_EQ(GDA_EFA_BAD_ADDRESS, done.status);
	}
	EXPECT_EQ(7, seen);
}

/* Sends are refused, by the status that says so. */
TEST_F(vendor, a_send_is_no_operation_here)
{
	struct client_wr wr = any(self, GDA_EFA_SLOT_BYTES, 0);
	struct client_done done;

	wr.read = wr.has_imm = false;
	wr.send = true;
	wr.len = 8;
	ASSERT_EQ(0, client_post(self->e[0], &wr, 1));
	ASSERT_EQ(0, take(self->e[0], &done));
	EXPECT_EQ(wr.id, done.id);
	EXPECT_EQ(GDA_EFA_BAD_OP, done.status);
}

/* Post @wr with the value @i, and see it arrive. */
static int put_value(struct _test_data_vendor *self, const struct client_wr *wr, uint64_t i)
{
	volatile uint64_t *last = (void *)self->mr[1].addr;
	uint64_t end = t_now() + T_WAIT_NS;
	int err;

	memcpy(self->mr[0].addr, &i, 8);
	err = client_post(self->e[0], wr, 1);
	while (!err && *last != i) {
		if (t_now() > end)
			return -ETIMEDOUT;
		t_sleep_ns(1000);
	}
	return err;
}

/*
 * A producer that reads no completion, as NCCL, which counts arrivals: its queue goes on. One that
 * counts its slots (rdma-core) stops by itself when they are taken, and goes on once it has read.
 */
TEST_F(vendor, Efa07_Efa20_a_ring_that_nobody_reads_stops_nothing)
{
	struct client_wr wr = any(self, GDA_EFA_SLOT_BYTES, 0);
	struct client_done done;
	uint32_t i;

	wr.read = wr.has_imm = false;
	wr.len = 8;
	for (i = 1; i <= 40 * DEPTH; i++) {
		if (client_counts() && i > DEPTH) {
			ASSERT_EQ(-ENOMEM, client_post(self->e[0], &wr, 1));
			ASSERT_EQ(0, take(self->e[0], &done));
			ASSERT_EQ(GDA_EFA_OK, done.status);
		}
		ASSERT_EQ(0, put_value(self, &wr, i));
	}
}

TEST_HARNESS_MAIN
