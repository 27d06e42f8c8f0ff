// SPDX-License-Identifier: MIT
/*
 * Records of work and connections (gda/record.h), on whatever device gda_open(NULL) opens; and
 * of this program, which is compiled with GDA_RECORD.
 */
#define GDA_RECORD
#include <pthread.h>
#include <gda/mlx5.h>
#include <gda/ring.h>
#include "suite.h"

#define DEPTH	64U
#define BYTES	(1U << 20)
#define MOST	4096U

/* The next record of @kind, for at most a while; 0 in seq if none comes. */
static struct gda_record await(struct gda_record_reader *reader, uint8_t kind)
{
	uint64_t end = gda_clock_ns() + 10000000000ULL;
	struct gda_record r;

	while (gda_clock_ns() < end) {
		int ret = gda_record_next(reader, &r);

		if (ret > 0 && r.kind == kind)
			return r;
		if (!ret)
			usleep(100);
	}
	return (struct gda_record){ 0 };
}

/* How many records of each kind are there now? */
static void count(struct gda_record_reader *reader, unsigned int *kinds)
{
	struct gda_record r;

	memset(kinds, 0, 256 * sizeof(*kinds));
	while (gda_record_next(reader, &r) > 0)
		kinds[r.kind]++;
}

FIXTURE(record) {
	struct s_end end[2];
	struct gda_record_reader *reader[2];
};

FIXTURE_SETUP(record)
{
	ASSERT_OK(s_pair_open(self->end, DEPTH, BYTES));
	S_NEEDS(self->end[0].ctx, GDA_FEATURE_RECORD);
	S_NEEDS_SIGHT(self->end[0].ctx);
	for (int i = 0; i < 2; i++)
		ASSERT_OK(gda_record_open(self->end[i].ctx, MOST, &self->reader[i]));
}

FIXTURE_TEARDOWN(record)
{
	for (int i = 0; i < 2; i++)
		gda_record_close(self->reader[i]);
	s_pair_close(self->end);
}

TEST_F(record, M_04_done_and_doorbell)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];
	struct gda_record r, db;
	uint64_t before = gda_clock_ns();

	ASSERT_EQ(0, s_put(a, 8, b, 16, 24, GDA_DEFER));
	ASSERT_EQ(1, s_get(a, 64, b, 128, 32, 0));
	ASSERT_OK(gda_wait(a->v, 1, 0));
	db = await(self->reader[0], GDA_RECORD_DOORBELL);
	EXPECT_EQ(2, db.ticket);
	EXPECT_EQ(2, db.aux);
	EXPECT_EQ(a->v->qpn, db.qpn);
	r = await(self->reader[0], GDA_RECORD_DONE);
	EXPECT_EQ(db.seq + 1, r.seq);
	EXPECT_EQ(0, r.ticket);
	EXPECT_EQ(a->v->qpn, r.qpn);
	EXPECT_EQ(GDA_MLX5_WRITE, r.opcode);
	EXPECT_EQ(24, r.len);
	EXPECT_EQ(1, r.aux);
	EXPECT_EQ(a->mem.iova + 8, r.laddr);
	EXPECT_EQ(a->mem.key, r.lkey);
	EXPECT_EQ(b->mem.iova + 16, r.raddr);
	EXPECT_EQ(b->mem.key, r.rkey);
	EXPECT_EQ(0, r.err_class | r.cause);
	EXPECT_GE(r.ns, before);
	EXPECT_LE(r.ns, gda_clock_ns());
	r = await(self->reader[0], GDA_RECORD_DONE);
	EXPECT_EQ(1, r.ticket);
	EXPECT_EQ(GDA_MLX5_READ, r.opcode);
	EXPECT_EQ(b->mem.iova + 128, r.raddr);
}

/* A work request that spans visits has two records, and no more. */
TEST_F(record, M_04_fetched)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];
	unsigned int kinds[256];
	struct gda_record r;
	int64_t t;

	t = s_put(a, 0, b, 0, BYTES, 0);
	ASSERT_OK(gda_wait(a->v, t, 0));
	r = await(self->reader[0], GDA_RECORD_FETCHED);
	EXPECT_EQ(0, r.ticket);
	EXPECT_EQ(1, r.aux);
	EXPECT_EQ(BYTES, r.len);
	EXPECT_EQ(a->mem.iova, r.laddr);
	r = await(self->reader[0], GDA_RECORD_DONE);
	EXPECT_EQ(0, r.ticket);
	EXPECT_EQ(BYTES, r.len);
	count(self->reader[0], kinds);
	EXPECT_EQ(0, kinds[GDA_RECORD_FETCHED] + kinds[GDA_RECORD_DOORBELL]);
}

/* At most two records of each work request. */
TEST_F(record, M_04_two_at_most)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];
	unsigned int kinds[256], n = 1000;

	count(self->reader[0], kinds);
	for (unsigned int i = 0; i < n; i++)
		ASSERT_OK(gda_wait(a->v, s_put(a, 0, b, 0, 8, 0), 0));
	count(self->reader[0], kinds);
	EXPECT_EQ(n, kinds[GDA_RECORD_DONE]);
	EXPECT_LE(kinds[GDA_RECORD_DOORBELL] + kinds[GDA_RECORD_FETCHED], n);
	EXPECT_EQ(0, kinds[GDA_RECORD_FAILED] + kinds[GDA_RECORD_FLUSHED]);
}

TEST_F(record, M_04_failed_and_flushed)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];
	struct gda_record r;

	ASSERT_EQ(0, gda_put(a->v, a->mem.iova, a->mem.key, b->mem.iova, b->mem.key ^ 1, 8,
			     GDA_DEFER));
	ASSERT_EQ(1, s_put(a, 0, b, 0, 16, 0));
	ASSERT_EQ(-ECANCELED, gda_wait(a->v, 1, 0));
	r = await(self->reader[0], GDA_RECORD_FAILED);
	EXPECT_EQ(0, r.ticket);
	EXPECT_EQ(GDA_MLX5_WRITE, r.opcode);
	EXPECT_EQ(GDA_CLASS_REMOTE_ACCESS, r.err_class);
	EXPECT_EQ(GDA_CAUSE_KEY, r.cause);
	EXPECT_EQ(b->mem.key ^ 1, r.rkey);
	EXPECT_EQ(b->mem.iova, r.raddr);
	r = await(self->reader[0], GDA_RECORD_FLUSHED);
	EXPECT_EQ(1, r.ticket);
	EXPECT_EQ(GDA_CLASS_FLUSH, r.err_class);
	EXPECT_EQ(16, r.len);
}

/* An entry that nobody could have written: its cause, and no address of the one before. */
TEST_F(record, M_04_malformed)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];
	struct gda_mlx5_ctrl *ctrl;
	struct gda_record r;

	ASSERT_OK(gda_wait(a->v, s_put(a, 0, b, 0, 8, 0), 0));
	ASSERT_EQ(1, s_put(a, 0, b, 0, 8, GDA_DEFER));
	ctrl = (void *)((char *)(uintptr_t)a->v->sq + 64);
	ctrl->opmod_idx_opcode |= gda_be32(0x55);
	ASSERT_EQ(2, gda_nop(a->v, 0));
	ASSERT_EQ(-EIO, gda_wait(a->v, 1, 0));
	r = await(self->reader[0], GDA_RECORD_FAILED);
	EXPECT_EQ(1, r.ticket);
	EXPECT_EQ(0x55 | GDA_MLX5_WRITE, r.opcode);
	EXPECT_EQ(GDA_CLASS_QUEUE, r.err_class);
	EXPECT_EQ(GDA_CAUSE_OPCODE, r.cause);
	EXPECT_EQ(0, r.raddr | r.laddr | r.rkey | r.lkey | r.len);
}

/* Control events from before there was a ring of work come first in it. */
TEST_F(record, M_04_connected_registered_revoked_lost)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];
	uint32_t qpn[2] = { a->v->qpn, b->v->qpn };
	struct gda_record r;
	struct s_memory m;

	r = await(self->reader[0], GDA_RECORD_REGISTERED);
	EXPECT_EQ(1, r.seq);
	EXPECT_EQ(a->mem.key, r.rkey);
	EXPECT_EQ(a->mem.iova, r.raddr);
	EXPECT_EQ(BYTES, r.laddr);
	EXPECT_EQ(GDA_ACCESS_ALL, r.aux);
	r = await(self->reader[0], GDA_RECORD_CONNECTED);
	EXPECT_EQ(qpn[0], r.qpn);
	EXPECT_EQ(qpn[1], r.aux);
	r = await(self->reader[1], GDA_RECORD_CONNECTED);
	EXPECT_EQ(qpn[1], r.qpn);
	EXPECT_EQ(qpn[0], r.aux);
	ASSERT_OK(s_memory_new(a->ctx, 4096, GDA_ACCESS_REMOTE_READ, &m));
	r = await(self->reader[0], GDA_RECORD_REGISTERED);
	EXPECT_EQ(m.key, r.rkey);
	EXPECT_EQ(GDA_ACCESS_REMOTE_READ, r.aux);
	r.rkey = m.key;
	s_memory_free(&m);
	EXPECT_EQ(r.rkey, await(self->reader[0], GDA_RECORD_REVOKED).rkey);
	ASSERT_OK(gda_qp_destroy(b->qp));
	b->qp = NULL;
	r = await(self->reader[0], GDA_RECORD_LOST);
	EXPECT_EQ(qpn[0], r.qpn);
	EXPECT_EQ(qpn[1], r.aux);
	EXPECT_EQ(GDA_CLASS_RETRY, r.err_class);
	EXPECT_EQ(GDA_CAUSE_PEER, r.cause);
	/* of a queue with a collapsed CQ and nothing posted: the queue itself */
	r = await(self->reader[0], GDA_RECORD_FAILED);
	EXPECT_EQ(0, r.aux);
	EXPECT_EQ(GDA_CAUSE_PEER, r.cause);
}

/* Something for the worker. A post may be carried out by its poster; a connection is not. */
static int give_work(struct s_end *a)
{
	struct gda_qp *qp[2];
	int err;

	err = s_qp_open(a->ctx, 16, S_TIMEOUT_NS, &qp[0]);
	err = err ? err : s_qp_open(a->ctx, 16, S_TIMEOUT_NS, &qp[1]);
	err = err ? err : s_connect(qp[0], qp[1]);
	if (err)
		return err;
	gda_qp_destroy(qp[0]);
	return gda_qp_destroy(qp[1]);
}

TEST_F(record, M_04_sleep_and_wake)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];
	struct gda_record sleep, wake;

	/* gda_wait() would execute the queue itself, and the worker could sleep on */
	ASSERT_EQ(0, s_put(a, 0, b, 0, 8, 0));
	while (!gda_test(a->v, 0))
		usleep(100);
	ASSERT_OK(give_work(a));
	sleep = await(self->reader[0], GDA_RECORD_SLEEP);
	ASSERT_NE(0, sleep.seq);
	ASSERT_EQ(1, s_put(a, 0, b, 0, 8, 0));
	ASSERT_OK(give_work(a));
	wake = await(self->reader[0], GDA_RECORD_WAKE);
	EXPECT_GT(wake.seq, sleep.seq);
	ASSERT_OK(gda_wait(a->v, 1, 0));
}

TEST_F(record, M_04_arrived_and_overflow)
{
	struct gda_cq_attr ring = { .size = sizeof(ring), .depth = 2 };
	struct gda_qp_attr attr = { .size = sizeof(attr), .sq_depth = 8,
				    .timeout_ns = S_TIMEOUT_NS };
	struct s_end *a = &self->end[0], *b = &self->end[1];
	struct gda_qp *from, *to;
	struct gda_cq_entry entry = { .size = sizeof(entry) };
	struct gda_cq *cq, *small;
	struct gda_record r;
	struct gda_view *v;

	S_NEEDS(a->ctx, GDA_FEATURE_IMM | GDA_FEATURE_CQ_RING);
	ASSERT_OK(gda_cq_create(b->ctx, &ring, &cq));
	attr.recv_cq = cq;
	ASSERT_OK(gda_qp_create(b->ctx, &attr, &to));
	attr.recv_cq = NULL;
	ASSERT_OK(gda_cq_create(a->ctx, &ring, &small));
	attr.sq_depth = 2;
	attr.cq = small;
	ASSERT_OK(gda_qp_create(a->ctx, &attr, &from));
	ASSERT_OK(s_connect(from, to));
	v = gda_qp_view(from);
	ASSERT_NE(NULL, v);
	ASSERT_EQ(0, gda_put_imm(v, a->mem.iova, a->mem.key, b->mem.iova + 32, b->mem.key, 8,
				 0x12345678, 0));
	r = await(self->reader[1], GDA_RECORD_ARRIVED);
	EXPECT_EQ(0x12345678, r.aux);
	EXPECT_EQ(gda_qp_view(to)->qpn, r.qpn);
	EXPECT_EQ(8, r.len);
	EXPECT_EQ(b->mem.iova + 32, r.raddr);
	EXPECT_EQ(GDA_MLX5_WRITE_IMM, r.opcode);
	/* its completion is in the ring, which is touched from here on */
	ASSERT_OK(gda_cq_wait(gda_cq_view(small), &entry, gda_clock_ns() + S_TIMEOUT_NS));
	/* the consumer's record goes far ahead: the ring looks full */
	__atomic_store_n((uint32_t *)(uintptr_t)gda_cq_view(small)->record, gda_be32(0x800000),
			 __ATOMIC_RELEASE);
	ASSERT_EQ(1, gda_nop(v, 0));
	r = await(self->reader[0], GDA_RECORD_OVERFLOW);
	EXPECT_EQ(1, r.ticket);
	EXPECT_EQ(v->qpn, r.qpn);
	EXPECT_EQ(GDA_CLASS_QUEUE, r.err_class);
	EXPECT_EQ(GDA_CAUSE_CQ, r.cause);
	gda_qp_destroy(from);
	gda_qp_destroy(to);
	gda_cq_destroy(small);
	gda_cq_destroy(cq);
}

/* A reader that is slower than the ring is told so, and goes on. */
TEST_F(record, M_04_lapped)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];
	struct gda_record r = { 0 };
	uint64_t seq = 0, lost = 0, n = 0, done = 0;
	int ret;

	for (unsigned int i = 0; i < 3 * MOST; i++)
		ASSERT_LE(0, s_put(a, 0, b, 0, 8, 0));
	ASSERT_OK(gda_quiet(a->v, 0));
	while ((ret = gda_record_next(self->reader[0], &r))) {
		if (ret < 0) {
			ASSERT_EQ(-EOVERFLOW, ret);
			lost++;
			continue;
		}
		ASSERT_GT(r.seq, seq);
		ASSERT_TRUE(r.seq == seq + 1 || lost);
		seq = r.seq;
		done = r.kind == GDA_RECORD_DONE ? r.ticket : done;
		n++;
	}
	EXPECT_GT(lost, 0);
	EXPECT_GE(n, MOST / 2);
	EXPECT_EQ(3 * MOST - 1, done);
}

/*
 * Two workers write one ring, that of the second context: its own, and the first one's, whose
 * immediates arrive there. Each record is whole, and all that are not lapped are there.
 */
TEST_F(record, M_04_two_writers)
{
	struct gda_cq_attr ring = { .size = sizeof(ring), .depth = 4096,
				    .flags = GDA_CQ_IGNORE_OVERRUN };
	struct gda_qp_attr attr = { .size = sizeof(attr), .sq_depth = DEPTH,
				    .timeout_ns = S_TIMEOUT_NS };
	unsigned long n = s_short(5000, 20000), whole = 0, lapped = 0, kinds[256] = { 0 };
	struct s_end *a = &self->end[0], *b = &self->end[1];
	struct gda_record r;
	struct gda_qp *from, *to;
	struct gda_view *v;
	struct gda_cq *cq;
	uint64_t seq = 0;
	int ret;

	S_NEEDS(a->ctx, GDA_FEATURE_IMM | GDA_FEATURE_IGNORE_OVERRUN);
	ASSERT_OK(gda_cq_create(b->ctx, &ring, &cq));
	attr.recv_cq = cq;
	ASSERT_OK(gda_qp_create(b->ctx, &attr, &to));
	attr.recv_cq = NULL;
	ASSERT_OK(gda_qp_create(a->ctx, &attr, &from));
	ASSERT_OK(s_connect(from, to));
	v = gda_qp_view(from);
	for (unsigned long i = 0; i <= n; i++) {
		/* mine, then the other's; of both the address says which it is */
		if (i < n) {
			ASSERT_EQ((int64_t)i, s_put(b, i % 512 * 8, a, i % 256 * 8, 8, 0));
			ASSERT_EQ((int64_t)i, gda_put_imm(v, a->mem.iova, a->mem.key,
							  b->mem.iova + i % 128 * 8, b->mem.key,
							  8, (uint32_t)i, 0));
		} else {
			ASSERT_OK(gda_quiet(b->v, 0));
			ASSERT_OK(gda_quiet(v, 0));
		}
		while ((ret = gda_record_next(self->reader[1], &r))) {
			lapped += ret < 0;
			if (ret < 0)
				continue;
			ASSERT_GT(r.seq, seq);
			seq = r.seq;
			kinds[r.kind]++;
			if (r.kind == GDA_RECORD_DONE) {
				ASSERT_EQ(b->mem.iova + r.ticket % 512 * 8, r.laddr);
				ASSERT_EQ(a->mem.iova + r.ticket % 256 * 8, r.raddr);
				ASSERT_EQ(b->mem.key, r.lkey);
				ASSERT_EQ(a->mem.key, r.rkey);
			} else if (r.kind == GDA_RECORD_ARRIVED) {
				ASSERT_EQ(r.ticket, r.aux);
				ASSERT_EQ(b->mem.iova + r.ticket % 128 * 8, r.raddr);
				ASSERT_EQ(b->mem.key, r.rkey);
				ASSERT_EQ(0, r.lkey);
			}
			whole++;
		}
	}
	TH_LOG("%lu whole, lapped %lu times, %lu done, %lu arrived", whole, lapped,
	       kinds[GDA_RECORD_DONE], kinds[GDA_RECORD_ARRIVED]);
	if (!lapped) {
		EXPECT_EQ(n, kinds[GDA_RECORD_DONE]);
		EXPECT_EQ(n, kinds[GDA_RECORD_ARRIVED]);
	}
	EXPECT_GT(kinds[GDA_RECORD_DONE], 0);
	EXPECT_GT(kinds[GDA_RECORD_ARRIVED], 0);
	gda_qp_destroy(from);
	gda_qp_destroy(to);
	gda_cq_destroy(cq);
}

/* Puts in @ns, with a queue that is never empty. */
static uint64_t rate(struct s_end *a, struct s_end *b, uint64_t ns)
{
	uint64_t begin = gda_clock_ns(), now, n = 0;

	do {
		for (unsigned int i = 0; i < 256; i++, n++)
			if (s_put(a, 0, b, 0, 8, i % 16 == 15 ? 0 : GDA_DEFER) < 0)
				return 0;
		now = gda_clock_ns();
	} while (now - begin < ns);
	return gda_quiet(a->v, 0) ? 0 : n * 1000000000 / (gda_clock_ns() - begin);
}

/* The best of some turns each: recording costs less than 0.4 of the rate, as a program has it. */
TEST_F(record, M_04_rate)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];
	uint64_t off = 0, on = 0, r;

	if (test_slow())
		SKIP(return, "emulated, or under a sanitizer");
	for (unsigned int i = 0; i < 20; i++) {
		r = rate(a, b, 50000000);
		on = r > on ? r : on;
		gda_record_close(self->reader[0]);
		self->reader[0] = NULL;
		r = rate(a, b, 50000000);
		off = r > off ? r : off;
		ASSERT_OK(gda_record_open(a->ctx, MOST, &self->reader[0]));
		if (i > 4 && on * 10 >= off * 6)
			break;
	}
	TH_LOG("%llu puts a second, recorded %llu", (unsigned long long)off,
	       (unsigned long long)on);
	EXPECT_GE(on * 10, off * 6);
}

TEST_F(record, M_04_once_for_all_readers)
{
	struct s_end *a = &self->end[0];
	struct gda_record_reader *more;
	struct gda_record r;

	/* the ring that there is, whatever size is asked for */
	ASSERT_OK(gda_record_open(a->ctx, GDA_RECORD_MIN, &more));
	ASSERT_OK(gda_wait(a->v, gda_nop(a->v, 0), 0));
	r = await(more, GDA_RECORD_DONE);
	EXPECT_EQ(r.seq, await(self->reader[0], GDA_RECORD_DONE).seq);
	EXPECT_EQ(GDA_MLX5_NOP, r.opcode);
	gda_record_close(more);
	ASSERT_OK(gda_wait(a->v, gda_nop(a->v, 0), 0));
	EXPECT_EQ(1, await(self->reader[0], GDA_RECORD_DONE).ticket);
	/* the last one ends it, and the next begins a new ring */
	gda_record_close(self->reader[0]);
	ASSERT_OK(gda_wait(a->v, gda_nop(a->v, 0), 0));
	ASSERT_OK(gda_record_open(a->ctx, MOST, &self->reader[0]));
	ASSERT_OK(gda_wait(a->v, gda_nop(a->v, 0), 0));
	EXPECT_EQ(3, await(self->reader[0], GDA_RECORD_DONE).ticket);
}

TEST_F(record, M_04_sizes)
{
	static const uint32_t bad[] = { 0, 1, 32, 63, 65, 100, 65535, 131072, 0x80000000 };
	struct gda_record_reader *reader;

	gda_record_close(self->reader[0]);
	self->reader[0] = NULL;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		EXPECT_EQ(-EINVAL, gda_record_open(self->end[0].ctx, bad[i], &reader));
	EXPECT_NE(NULL, strstr(gda_last_error(), "set it to a power of two"));
	ASSERT_OK(gda_record_open(self->end[0].ctx, GDA_RECORD_MAX, &self->reader[0]));
}

/* The posts and completions of this program, in its own ring. */
TEST_F(record, M_04_program)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];
	struct gda_record_reader *reader;
	unsigned int kinds[256];
	char text[100] = "";
	struct gda_record r;

	/* nothing was noted before the ring was asked for */
	ASSERT_OK(gda_wait(a->v, s_put(a, 0, b, 0, 8, 0), 0));
	ASSERT_OK(gda_record_open(NULL, 1024, &reader));
	EXPECT_EQ(0, gda_record_next(reader, &r));
	ASSERT_EQ(1, s_put(a, 8, b, 16, 24, 0));
	ASSERT_OK(gda_wait(a->v, 1, 0));
	ASSERT_EQ(1, gda_record_next(reader, &r));
	EXPECT_EQ(GDA_RECORD_POSTED, r.kind);
	EXPECT_EQ(1, r.ticket);
	EXPECT_EQ(a->v->qpn, r.qpn);
	EXPECT_EQ(GDA_MLX5_WRITE, r.opcode);
	EXPECT_EQ(24, r.len);
	EXPECT_EQ(a->mem.iova + 8, r.laddr);
	EXPECT_EQ(b->mem.iova + 16, r.raddr);
	EXPECT_EQ(b->mem.key, r.rkey);
	ASSERT_EQ(1, gda_record_next(reader, &r));
	EXPECT_EQ(GDA_RECORD_OBSERVED, r.kind);
	EXPECT_EQ(1, r.ticket);
	EXPECT_EQ(0, r.aux);
	EXPECT_EQ(0, gda_record_next(reader, &r));
	/* two entries, of which one has three slots */
	ASSERT_EQ(2, gda_put_inline(a->v, b->mem.iova, b->mem.key, text, sizeof(text), 0));
	ASSERT_OK(gda_quiet(a->v, 0));
	ASSERT_EQ(1, gda_record_next(reader, &r));
	EXPECT_EQ(3, r.aux);
	EXPECT_EQ(100, r.len);
	ASSERT_EQ(1, gda_record_next(reader, &r));
	EXPECT_EQ(GDA_RECORD_POSTED, r.kind);
	EXPECT_EQ(GDA_MLX5_NOP, r.opcode);
	EXPECT_EQ(5, r.ticket);
	ASSERT_EQ(6, gda_put(a->v, a->mem.iova, a->mem.key, b->mem.iova, b->mem.key ^ 1, 8, 0));
	ASSERT_EQ(-EIO, gda_wait(a->v, 6, 0));
	count(reader, kinds);
	EXPECT_EQ(1, kinds[GDA_RECORD_POSTED]);
	/* one of each wait; of gda_quiet(), which waits for two entries, one of each as well */
	EXPECT_LE(2, kinds[GDA_RECORD_OBSERVED]);
	EXPECT_GE(3, kinds[GDA_RECORD_OBSERVED]);
	gda_record_close(reader);
}

static struct gda_context *churn_ctx;
static int churn_over;

static void *churn(void *arg)
{
	struct gda_record_reader *reader;

	while (!__atomic_load_n(&churn_over, __ATOMIC_RELAXED))
		if (!gda_record_open(churn_ctx, MOST, &reader))
			gda_record_close(reader);
	return arg;
}

/* The last reader of one thread goes while another thread's first one comes. */
TEST_F(record, M_04_a_reader_comes_while_one_goes)
{
	struct gda_record_reader *reader;
	pthread_t thread;
	int i, failed = 0;

	gda_record_close(self->reader[0]);
	self->reader[0] = NULL;
	churn_ctx = self->end[0].ctx;
	ASSERT_EQ(0, pthread_create(&thread, NULL, churn, NULL));
	for (i = 0; i < 5000; i++) {
		if (gda_record_open(churn_ctx, MOST, &reader))
			failed++;
		else
			gda_record_close(reader);
	}
	__atomic_store_n(&churn_over, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	EXPECT_EQ(0, failed);
}

TEST_F(record, M_04_ends_with_the_context)
{
	struct s_end *a = &self->end[0];
	struct gda_record_reader *reader;

	gda_record_close(self->reader[0]);
	self->reader[0] = NULL;
	ASSERT_OK(gda_context_shutdown(a->ctx));
	EXPECT_EQ(-ENODEV, gda_record_open(a->ctx, MOST, &reader));
}

TEST_HARNESS_MAIN
