// SPDX-License-Identifier: MIT
/*
 * Posters of efa queues against a device whose order of completion the test chooses: the rules
 * for tickets, slots and the window of tickets. lib/schemes has rules of other software that fail.
 */
#define GDA_WQE_EFA
#include <stdlib.h>
#include <string.h>
#include <gda/fastpath.h>
#include "kselftest_harness.h"

#define DEPTH	16U

/* A queue in plain memory, and the device's state of it. */
struct queue {
	struct gda_view view;
	struct gda_efa_wide_wqe sq[DEPTH];
	struct gda_efa_recv_cqe cq[DEPTH];
	uint32_t slots[DEPTH];
	uint64_t marks[GDA_VIEW_MARKS_BYTES / 8];
	uint64_t db;
	uint32_t rung;
	uint64_t completed;		/* CQ entries written so far */
};

static struct queue *queue_new(void)
{
	struct queue *q = aligned_alloc(128, (sizeof(*q) + 127) & ~127ULL);
	struct gda_view_attr attr = {
		.size = sizeof(attr), .depth = DEPTH, .qpn = 0x77, .dialect = GDA_DIALECT_EFA,
		.timeout_ns = 1000000,
	};

	memset(q, 0, sizeof(*q));
	attr.sq = q->sq;
	attr.dbrec = &q->rung;
	attr.db = &q->db;
	attr.cq = q->cq;
	attr.slots = q->slots;
	attr.marks = q->marks;
	if (!gda_view_init(&q->view, &attr))
		return q;
	free(q);
	return NULL;
}

/* The index in the doorbell, whose bytes are little-endian. */
static uint16_t rung(const struct queue *q)
{
	uint16_t raw;

	memcpy(&raw, &q->db, sizeof(raw));
	return gda_efa_le16(raw);
}

/* As the device, complete the request of @ticket. */
static void complete(struct queue *q, uint64_t ticket, uint8_t status)
{
	struct gda_efa_recv_cqe *e = &q->cq[q->completed % DEPTH];

	memset(e, 0, sizeof(*e));
	e->id = gda_efa_le16((uint16_t)ticket);
	e->status = status;
	e->qp = gda_efa_le16(0x77);
	e->flags = (uint8_t)(GDA_EFA_CQE_SENT | GDA_EFA_WRITE << GDA_EFA_CQE_OP_SHIFT |
			     !(q->completed & DEPTH));
	q->completed++;
}

FIXTURE(unordered) {
	struct queue *q;
	struct gda_view *v;
};

FIXTURE_VARIANT(unordered) {
	unsigned int mode;
};

FIXTURE_VARIANT_ADD(unordered, shared) { .mode = 0 };
FIXTURE_VARIANT_ADD(unordered, exclusive) { .mode = GDA_EXCLUSIVE };

FIXTURE_SETUP(unordered)
{
	self->q = queue_new();
	ASSERT_NE(NULL, self->q);
	self->v = &self->q->view;
}

FIXTURE_TEARDOWN(unordered)
{
	free(self->q);
}

static int64_t put(struct gda_view *v, unsigned int mode)
{
	return gda_put(v, 0x1000, 0x1200, 0x2000, 0x3400, 8, mode | GDA_NOWAIT);
}

/* Post a put, a get, a put with immediate, or a put of @value. */
static int64_t post(struct gda_view *v, uint32_t op, uint64_t value, unsigned int mode)
{
	const uint64_t laddr = 0x99aabbccddeeff00, raddr = 0x1122334455667788;
	const uint32_t lkey = 0xe1e2e3e4, rkey = 0xa1b2c3d4;

	switch (op) {
	case 0:
		return gda_put(v, laddr, lkey, raddr, rkey, 4096, mode);
	case 1:
		return gda_get(v, laddr, lkey, raddr, rkey, 4096, mode);
	case 2:
		return gda_put_imm(v, laddr, lkey, raddr, rkey, 4096, 0xcafe0001, mode);
	default:
		return gda_put_value(v, raddr, rkey, value, mode);
	}
}

/* The bytes of an entry equal those of gda/efa.h's encoder. */
TEST_F(unordered, entries_byte_by_byte)
{
	const struct gda_peer peer = { .target = 5 | 0x77ULL << 16 | 0x11111111ULL << 32 };
	uint64_t i, value = 0x8877665544332211;

	gda_view_peer(self->v, &peer);
	for (i = 0; i < 3 * DEPTH; i++) {
		struct gda_efa_wide_wqe want;
		uint32_t op = (uint32_t)(i % 4);

		memset(&want, 0, sizeof(want));
		memset(&self->q->sq[i % DEPTH], 0, sizeof(want));
		gda_efa_set_whom(&want.meta, 5, 0x77, 0x11111111);
		gda_efa_set_segment(&want.remote, 0x1122334455667788, 0xa1b2c3d4, op == 3 ? 8 : 4096);
		gda_efa_set_segment((void *)want.data, 0x99aabbccddeeff00, 0xe1e2e3, 4096);
		if (op == 3) {
			memset(want.data, 0, 16);
			memcpy(want.data, &value, 8);
		}
		gda_efa_set_what(&want.meta, i, (uint8_t)(op == 1 ? GDA_EFA_READ : op == 2 ?
				 GDA_EFA_WRITE | GDA_EFA_HAS_IMM : op == 3 ?
				 GDA_EFA_WRITE | GDA_EFA_INLINE : GDA_EFA_WRITE),
				 (uint32_t)(i / DEPTH), op == 3 ? 8 : 1, op == 2 ? 0xcafe0001 : 0);
		ASSERT_EQ((int64_t)i, post(self->v, op, value, variant->mode));
		EXPECT_EQ(0, memcmp(&want, &self->q->sq[i % DEPTH], sizeof(want)));
		EXPECT_EQ((uint16_t)(i + 1), rung(self->q));
		complete(self->q, i, GDA_EFA_OK);
	}
}

/* Efa12: any completion frees a slot, but each ticket completes separately. */
TEST_F(unordered, Efa12_a_ticket_is_done_for_itself)
{
	int64_t t[DEPTH], more;
	uint32_t i;

	for (i = 0; i < DEPTH; i++)
		t[i] = put(self->v, variant->mode);
	EXPECT_EQ(-EAGAIN, put(self->v, variant->mode));
	complete(self->q, 1, GDA_EFA_OK);
	/* one request is done, and other software would take it for the oldest */
	EXPECT_EQ(0, gda_test(self->v, t[0]));
	EXPECT_EQ(1, gda_test(self->v, t[1]));
	EXPECT_EQ(0, gda_test(self->v, t[2]));
	more = put(self->v, variant->mode);
	EXPECT_EQ(DEPTH, more);
	EXPECT_EQ(-EAGAIN, put(self->v, variant->mode));
	EXPECT_EQ(0, gda_test(self->v, more));
	for (i = DEPTH; i > 1; i--)
		complete(self->q, i, GDA_EFA_OK);
	EXPECT_EQ(0, gda_test(self->v, t[0]));
	EXPECT_EQ(1, gda_test(self->v, more));
	complete(self->q, 0, GDA_EFA_OK);
	EXPECT_EQ(1, gda_test(self->v, t[0]));
	EXPECT_EQ(DEPTH + 1, self->v->done);
	EXPECT_EQ(0, self->v->ahead);
	EXPECT_EQ(-EINVAL, gda_test(self->v, DEPTH + 1));
}

/* Efa20: a flush waits for the requests posted before it, not for as many completions. */
TEST_F(unordered, Efa20_a_flush_is_no_count)
{
	put(self->v, variant->mode);
	put(self->v, variant->mode);
	complete(self->q, 1, GDA_EFA_OK);
	EXPECT_EQ(-ETIMEDOUT, gda_quiet(self->v, 0));
	complete(self->q, 0, GDA_EFA_OK);
	EXPECT_EQ(0, gda_quiet(self->v, 0));
}

/* A wait for all up to a ticket does not end with the ticket, nor does it wait for later ones. */
TEST_F(unordered, Efa20_a_wait_for_all_before)
{
	int64_t t[4];
	uint32_t i;

	for (i = 0; i < 4; i++)
		t[i] = put(self->v, variant->mode);
	complete(self->q, 2, GDA_EFA_OK);
	complete(self->q, 0, GDA_EFA_OK);
	EXPECT_EQ(1, gda_test_through(self->v, t[0]));
	EXPECT_EQ(0, gda_test_through(self->v, t[2]));
	EXPECT_EQ(1, gda_test(self->v, t[2]));
	EXPECT_EQ(-ETIMEDOUT, gda_wait_through(self->v, t[2], 0));
	complete(self->q, 1, GDA_EFA_OK);
	EXPECT_EQ(0, gda_wait_through(self->v, t[2], 0));
	EXPECT_EQ(0, gda_test_through(self->v, t[3]));
	EXPECT_EQ(-EINVAL, gda_test_through(self->v, t[3] + 1));
	EXPECT_EQ(-EAGAIN, gda_wait_through(self->v, -EAGAIN, 0));
}

/* It fails if one of them did, also if the error of a later ticket was seen first. */
TEST_F(unordered, a_wait_for_all_before_has_their_errors)
{
	uint32_t i;

	for (i = 0; i < 6; i++)
		put(self->v, variant->mode);
	complete(self->q, 4, GDA_EFA_UNRESPONSIVE);
	EXPECT_EQ(-EIO, gda_test(self->v, 4));
	complete(self->q, 2, GDA_EFA_UNKNOWN_PEER);
	for (i = 0; i < 6; i++)
		if (i % 2 || !i)
			complete(self->q, i, GDA_EFA_OK);
	EXPECT_EQ(1, gda_test_through(self->v, 1));
	EXPECT_EQ(-EIO, gda_test_through(self->v, 2));
	EXPECT_EQ(-EIO, gda_wait_through(self->v, 3, 0));
	EXPECT_EQ(1, gda_test(self->v, 3));
	EXPECT_EQ(-EIO, gda_test_through(self->v, 5));
}

/* The newest error answers for all later tickets, until it is forgotten. */
TEST_F(unordered, an_error_that_is_long_ago)
{
	uint64_t i;

	for (i = 0; i < 3 + GDA_TICKETS_KNOWN; i++) {
		ASSERT_EQ(i, put(self->v, variant->mode));
		complete(self->q, i, i < 2 ? GDA_EFA_UNRESPONSIVE : GDA_EFA_OK);
		ASSERT_EQ(i < 2 + GDA_TICKETS_KNOWN ? -EIO : 1,
			  gda_test_through(self->v, (int64_t)i));
	}
}

/* A signal is not posted before all that it reports is done. */
TEST_F(unordered, Efa03_a_signal_is_fenced)
{
	struct gda_signal s = {
		.size = sizeof(s), .op = GDA_SIGNAL_SET, .raddr = 0x3000, .rkey = 0x3400, .value = 1,
	};

	put(self->v, variant->mode);
	EXPECT_EQ(-ETIMEDOUT, gda_put_signal(self->v, 0x1000, 0x1200, 0x2000, 0x3400, 8, &s,
					     variant->mode));
	/* both puts are posted, and no signal */
	EXPECT_EQ(2, self->v->reserved);
	complete(self->q, 1, GDA_EFA_OK);
	EXPECT_EQ(-ETIMEDOUT, gda_put_signal(self->v, 0x1000, 0x1200, 0x2000, 0x3400, 8, &s,
					     variant->mode));
	EXPECT_EQ(3, self->v->reserved);
	complete(self->q, 2, GDA_EFA_UNRESPONSIVE);
	complete(self->q, 0, GDA_EFA_OK);
	/* what cannot be reported is not */
	EXPECT_EQ(-EIO, gda_wait_through(self->v, 2, 0));
	EXPECT_EQ(3, self->v->reserved);
	/* a bare put behind a put is rung while that may still be under way */
	put(self->v, variant->mode);
	gda_put_value(self->v, 0x3000, 0x3400, 1, variant->mode);
	EXPECT_EQ(5, rung(self->q));
	EXPECT_EQ(0, gda_test(self->v, 3));
}

/* A post that is to come after reads waits for all before it, and is not posted if it cannot. */
TEST_F(unordered, after_reads)
{
	const unsigned int after = variant->mode | GDA_AFTER_READS;
	struct gda_peer to = { .target = 5 };
	struct gda_signal s = {
		.size = sizeof(s), .op = GDA_SIGNAL_SET, .raddr = 0x3000, .rkey = 0x3400, .value = 1,
	};

	EXPECT_EQ(0, put(self->v, after));
	/* what is deferred is rung first */
	post(self->v, 1, 0, variant->mode | GDA_DEFER);
	EXPECT_EQ(-EAGAIN, put(self->v, after));
	EXPECT_EQ(2, (uint16_t)self->q->db);
	EXPECT_EQ(-ETIMEDOUT, post(self->v, 0, 0, after));
	EXPECT_EQ(-ETIMEDOUT, gda_put_to(self->v, &to, 1, 2, 3, 4, 5, after));
	EXPECT_EQ(-ETIMEDOUT, gda_put_signal(self->v, 1, 2, 3, 4, 5, &s, after));
	EXPECT_EQ(-EOPNOTSUPP, gda_fetch_add(self->v, 1, 2, 3, 4, 5, after));
	EXPECT_EQ(2, self->v->reserved);
	complete(self->q, 1, GDA_EFA_OK);
	EXPECT_EQ(-EAGAIN, put(self->v, after));
	/* one that failed is done, too */
	complete(self->q, 0, GDA_EFA_UNRESPONSIVE);
	EXPECT_EQ(2, put(self->v, after));
}

/* A request that is 2^16 tickets behind blocks posts, as a new one would get the same id. */
TEST_F(unordered, no_id_is_given_twice)
{
	uint64_t posted, rounds = 0;

	put(self->v, variant->mode);
	for (posted = 1; put(self->v, variant->mode) >= 0; posted++) {
		complete(self->q, posted, GDA_EFA_OK);
		rounds++;
		ASSERT_GT(2 * 65536, rounds);
	}
	/* the oldest is not done, the newest is */
	EXPECT_EQ(65536, posted);
	EXPECT_EQ(0, gda_test(self->v, 0));
	EXPECT_EQ(1, gda_test(self->v, 65535));
	complete(self->q, 0, GDA_EFA_OK);
	EXPECT_EQ(65536, put(self->v, variant->mode));
	EXPECT_EQ(1, gda_test(self->v, 0));
	EXPECT_EQ(0, gda_test(self->v, 65536));
	EXPECT_EQ(65536, self->v->done);
}

/* Complete in random order and compare with a model, over many laps of the ids. */
TEST_F(unordered, random_orders)
{
	uint64_t open[DEPTH], n = 0, next = 0, seed = 1, i;
	static uint8_t done[4 * 65536];

	memset(done, 0, sizeof(done));
	while (next < sizeof(done)) {
		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
		if (n < DEPTH && seed >> 63) {
			ASSERT_EQ((int64_t)next, put(self->v, variant->mode));
			open[n++] = next++;
		} else if (n) {
			i = (seed >> 40) % n;
			/* mostly complete the oldest, so that a late one lags far behind */
			i = (seed >> 33) % 8 ? 0 : i;
			complete(self->q, open[i], GDA_EFA_OK);
			done[open[i]] = 1;
			memmove(&open[i], &open[i + 1], (n - i - 1) * sizeof(open[0]));
			n--;
		}
		for (i = next > 40 ? next - 40 : 0; i < next && !(seed >> 20 & 7); i++)
			ASSERT_EQ(done[i], gda_test(self->v, (int64_t)i)) TH_LOG("ticket %llu",
				(unsigned long long)i);
	}
	while (n)
		complete(self->q, open[--n], GDA_EFA_OK);
	EXPECT_EQ(0, gda_quiet(self->v, 0));
	EXPECT_EQ(next, self->v->done);
}

TEST_F(unordered, an_error_is_of_its_ticket)
{
	struct gda_error error = { .size = sizeof(error) };
	uint64_t i;

	for (i = 0; i < 4; i++)
		put(self->v, variant->mode);
	complete(self->q, 2, GDA_EFA_UNRESPONSIVE);
	complete(self->q, 0, GDA_EFA_OK);
	EXPECT_EQ(1, gda_test(self->v, 0));
	EXPECT_EQ(0, gda_test(self->v, 1));
	EXPECT_EQ(-EIO, gda_test(self->v, 2));
	EXPECT_EQ(0, gda_test(self->v, 3));
	complete(self->q, 3, GDA_EFA_FLUSHED);
	complete(self->q, 1, GDA_EFA_OK);
	EXPECT_EQ(1, gda_test(self->v, 1));
	EXPECT_EQ(-ECANCELED, gda_test(self->v, 3));
	EXPECT_EQ(-EIO, gda_quiet(self->v, 0));
	ASSERT_EQ(1, gda_error(self->v, &error));
	EXPECT_EQ(2, error.ticket);
	EXPECT_EQ(GDA_EFA_UNRESPONSIVE, error.syndrome);
	/* later tickets with the same low bits do not inherit the errors */
	for (i = 4; i < 65536 + 4; i++) {
		ASSERT_EQ((int64_t)i, put(self->v, variant->mode));
		complete(self->q, i, GDA_EFA_OK);
	}
	EXPECT_EQ(1, gda_test(self->v, 65536 + 2));
	EXPECT_EQ(1, gda_test(self->v, 65536 + 3));
}

/* A queue that goes on after an error waits for room when it is full. */
TEST_F(unordered, room_after_an_error)
{
	uint64_t i;

	put(self->v, variant->mode);
	complete(self->q, 0, GDA_EFA_UNKNOWN_PEER);
	EXPECT_EQ(-EIO, gda_test(self->v, 0));
	for (i = 0; i < DEPTH; i++)
		ASSERT_EQ((int64_t)i + 1, put(self->v, variant->mode));
	/* a full queue reports no room, not the error of another request */
	EXPECT_EQ(-EAGAIN, put(self->v, variant->mode));
	complete(self->q, 2, GDA_EFA_OK);
	EXPECT_EQ(DEPTH + 1, put(self->v, variant->mode));
}

/* Before gda_view_peer() a view has an invalid handle: no context has that number. */
TEST_F(unordered, a_view_that_names_nobody)
{
	put(self->v, variant->mode);
	EXPECT_EQ(GDA_MAX_PEERS, gda_efa_le16(self->q->sq[0].meta.ah));
}

/* An entry that names its target is that of a view which is for it. */
TEST_F(unordered, a_post_that_names_its_peer)
{
	const struct gda_peer first = { .target = 5 | 0x77ULL << 16 | 0x11111111ULL << 32 };
	const struct gda_peer other = { .target = 9 | 0x1234ULL << 16 | 0x99999999ULL << 32 };
	struct gda_efa_wide_wqe want, is;

	gda_view_peer(self->v, &other);
	put(self->v, variant->mode);
	want = self->q->sq[0];
	gda_view_peer(self->v, &first);
	EXPECT_EQ(1, gda_put_to(self->v, &other, 0x1000, 0x1200, 0x2000, 0x3400, 8, variant->mode));
	is = self->q->sq[1];
	is.meta.id = want.meta.id;
	EXPECT_EQ(0, memcmp(&want, &is, sizeof(want)));
	put(self->v, variant->mode);
	EXPECT_EQ(5, gda_efa_le16(self->q->sq[2].meta.ah));
}

TEST_F(unordered, what_the_dialect_has_not)
{
	EXPECT_EQ(-EOPNOTSUPP, gda_nop(self->v, variant->mode));
	EXPECT_EQ(-EOPNOTSUPP, gda_fetch_add(self->v, 0, 0, 0, 0, 1, variant->mode));
	EXPECT_EQ(-EOPNOTSUPP, gda_compare_swap(self->v, 0, 0, 0, 0, 1, 2, variant->mode));
	EXPECT_EQ(-EMSGSIZE, gda_put(self->v, 0, 0, 0, 0, (1ULL << 30) + 1, variant->mode));
	EXPECT_EQ(0, self->v->reserved);
	EXPECT_EQ(0, self->v->can & (GDA_CAN_ORDER | GDA_CAN_ATOMIC | GDA_CAN_MASKED));
	EXPECT_NE(0, self->v->can & GDA_CAN_SIGNAL);
	EXPECT_EQ(GDA_EFA_MAX_INLINE, self->v->max_inline);
}

/* A deferred shared post rings at once, as no later call is sure to ring it. */
TEST_F(unordered, Efa10_Efa11_deferred_posts)
{
	uint32_t i;

	for (i = 0; i < DEPTH - 1; i++)
		gda_put(self->v, 0x1000, 0x1200, 0x2000 + 8 * i, 0x3400, 8, variant->mode | GDA_DEFER);
	/* no entry was overwritten */
	for (i = 0; i < DEPTH - 1; i++)
		EXPECT_EQ(0x2000 + 8 * i, gda_efa_le32(self->q->sq[i].remote.addr_lo));
	EXPECT_EQ(variant->mode & GDA_EXCLUSIVE ? 0 : DEPTH - 1, rung(self->q));
	gda_flush(self->v);
	EXPECT_EQ(DEPTH - 1, rung(self->q));
	for (i = 0; i < DEPTH - 1; i++)
		complete(self->q, i, GDA_EFA_OK);
	EXPECT_EQ(0, gda_quiet(self->v, 0));
}

TEST_HARNESS_MAIN
