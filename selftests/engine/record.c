// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Records that the engine makes of an outcome, and gda_entry_decode()'s reading of the same entry:
 * they agree on entries that are right, and on entries with bytes of chance.
 */
#include <stdlib.h>
#include <kselftest_harness.h>
#include "gda_internal.h"
#include "host.h"

#undef TEST_TIMEOUT_DEFAULT
#define TEST_TIMEOUT_DEFAULT	100

#define ENTRIES	1000000U
#define DEPTH	32U

struct world {
	struct th_dev dev;
	struct th_mr *local, *remote;
	struct th_qp *a, *b;
};

static void world_queues(struct world *w)
{
	w->a = th_qp_new(&w->dev, w, DEPTH, 0);
	w->b = th_qp_new(&w->dev, w, DEPTH, 0);
	/* as those of the library's devices, of which its decoder knows */
	w->a->q.max_sge = 0;
	w->a->q.sends = false;
	gda_engine_init(&w->a->q);
	th_qp_pair(w->a, w->b);
	w->a->q.record = true;
}

static void world_open(struct world *w)
{
	memset(w, 0, sizeof(*w));
	w->local = th_mr_new(&w->dev, w, 0x10000, 8192, GDA_ACCESS_ALL, 12, 0);
	w->remote = th_mr_new(&w->dev, w, 0x90000, 8192, GDA_ACCESS_ALL, 12, 0);
	world_queues(w);
}

static void world_drop_queues(struct world *w)
{
	th_qp_free(w->a);
	th_qp_free(w->b);
}

static void world_close(struct world *w)
{
	world_drop_queues(w);
	th_mr_free(&w->dev, w->local);
	th_mr_free(&w->dev, w->remote);
}

static void post_any(struct world *w, struct th_rand *r)
{
	static const u32 ops[] = { GDA_MLX5_WRITE, GDA_MLX5_READ };
	const struct th_masked m = { .width = th_below(r, 2) ? 4 : 8, .swap_add = th_rand(r) };
	u64 off = 8 * th_below(r, 512);
	const struct gda_sge two[2] = {
		{ w->local->mem.iova + off, 1 + th_below(r, 100), w->local->mem.key },
		{ w->local->mem.iova, 1 + th_below(r, 100), w->local->mem.key },
	};
	u8 data[64] = { 1 };

	switch (th_below(r, 7)) {
	case 5:
		th_rdma2(w->a, ops[th_below(r, 2)], 8, two, w->remote, off);
		break;
	case 0:
		th_nop(w->a, 8);
		break;
	case 1:
		th_inline(w->a, 8, data, th_below(r, 64), w->remote, off);
		break;
	case 2:
		th_atomic(w->a, GDA_MLX5_ATOMIC_FA, 8, w->local, off, w->remote, off, 1, 0);
		break;
	case 3:
		th_masked(w->a, GDA_MLX5_MASKED_CS, 8, w->local, off, w->remote, off, &m);
		break;
	case 4:
		th_dump(w->a, 8, w->local, off, 1 + th_below(r, 100));
		break;
	default:
		th_rdma(w->a, ops[th_below(r, 2)], 8, w->local, off, w->remote, off,
			th_below(r, 4096));
	}
}

/* The record of the outcome of @index, or NULL. */
static const struct gda_record *outcome(const struct th_qp *qp, u64 index)
{
	u32 i;

	for (i = 0; i < qp->nrecords && i < TH_RECORDS; i++) {
		const struct gda_record *r = &qp->records[i];

		if (r->ticket == index && (r->kind == GDA_RECORD_DONE ||
					   r->kind == GDA_RECORD_FAILED))
			return r;
	}
	return NULL;
}

static bool same(const struct gda_record *is, const struct gda_record *said)
{
	if (is->ticket != said->ticket || is->qpn != said->qpn || is->opcode != said->opcode ||
	    is->aux != said->aux || is->len != said->len || is->raddr != said->raddr ||
	    is->rkey != said->rkey || is->laddr != said->laddr || is->lkey != said->lkey)
		return false;
	/* the decoder says nothing about keys and ranges */
	if (!said->err_class)
		return is->err_class != GDA_CLASS_QUEUE;
	return is->kind == GDA_RECORD_FAILED && is->err_class == said->err_class &&
	       is->cause == said->cause;
}

TEST(M_04_decoder_agrees)
{
	struct th_rand r = { 20261123 };
	u32 n, done = 0, refused = 0, failed = 0;
	struct world w;

	world_open(&w);
	for (n = 0; n < ENTRIES; n++) {
		const struct gda_record *is;
		u64 index = w.a->next, end;
		struct gda_record said;
		struct gda_view v;
		u32 flips = th_below(&r, 4);

		post_any(&w, &r);
		end = w.a->next;
		while (flips--)
			((u8 *)th_seg(w.a, index, th_below(&r, 4)))[th_below(&r, 16)] ^=
				(u8)(1U << th_below(&r, 8));
		memset((void *)&v, 0, sizeof(v));
		v.sq = (uintptr_t)w.a->sq;
		v.mask = DEPTH - 1;
		v.qpn = w.a->q.qpn;
		v.dialect = th_below(&r, 2) ? GDA_DIALECT_MLX5 : 0;
		gda_entry_read(&v, index, (u32)(end - index), &said);
		w.a->nrecords = 0;
		th_ring(w.a);
		th_run(w.a);
		is = outcome(w.a, index);
		ASSERT_NE(NULL, is);
		ASSERT_TRUE(same(is, &said)) {
			TH_LOG("entry %u: kind %u, class %u cause %u opcode %#x, said %u %u %#x", n,
			       is->kind, is->err_class, is->cause, is->opcode, said.err_class,
			       said.cause, said.opcode);
		}
		done += is->kind == GDA_RECORD_DONE;
		refused += said.err_class != 0;
		failed += is->kind == GDA_RECORD_FAILED && !said.err_class;
		/* an entry shorter than what was published leaves slots that are none */
		if (w.a->q.state == GDA_QP_ERROR || w.a->q.ci != w.a->next) {
			world_drop_queues(&w);
			world_queues(&w);
		}
	}
	TH_LOG("%u done, %u refused by the decoder, %u failed behind it", done, refused, failed);
	EXPECT_GT(done, ENTRIES / 10);
	EXPECT_GT(refused, ENTRIES / 10);
	EXPECT_GT(failed, ENTRIES / 100);
	world_close(&w);
}

/* Off, nothing is told but errors. */
TEST(M_04_off_tells_errors_only)
{
	struct world w;

	world_open(&w);
	w.a->q.record = false;
	th_rdma(w.a, GDA_MLX5_WRITE, 8, w.local, 0, w.remote, 0, 4096);
	th_nop(w.a, 8);
	th_ring(w.a);
	th_run(w.a);
	EXPECT_EQ(0, w.a->nrecords);
	th_ctrl(w.a, th_nop(w.a, 8))->opmod_idx_opcode = 0;
	th_nop(w.a, 8);
	th_ring(w.a);
	th_run(w.a);
	EXPECT_EQ(2, w.a->nrecords);
	EXPECT_EQ(GDA_RECORD_FAILED, w.a->records[0].kind);
	EXPECT_EQ(GDA_CAUSE_INDEX, w.a->records[0].cause);
	EXPECT_EQ(GDA_RECORD_FLUSHED, w.a->records[1].kind);
	world_close(&w);
}

/* Work that does not end in its visit is told once, and then its outcome. */
TEST(M_04_fetched_once)
{
	struct world w;
	u32 i;

	world_open(&w);
	th_rdma(w.a, GDA_MLX5_WRITE, 8, w.local, 0, w.remote, 0, 4096);
	th_ring(w.a);
	for (i = 0; i < 64; i++)
		gda_engine_visit(&w.a->q, 1, 256);
	ASSERT_EQ(2, w.a->nrecords);
	EXPECT_EQ(GDA_RECORD_FETCHED, w.a->records[0].kind);
	EXPECT_EQ(1, w.a->records[0].aux);
	EXPECT_EQ(4096, w.a->records[0].len);
	EXPECT_EQ(GDA_RECORD_DONE, w.a->records[1].kind);
	EXPECT_EQ(0, w.a->records[1].ticket);
	world_close(&w);
}

TEST_HARNESS_MAIN
