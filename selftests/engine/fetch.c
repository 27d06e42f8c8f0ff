// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * S1, double fetch: an entry is read once, and what was read is what is checked and
 * used, while the producer rewrites it.
 *
 * Two ways to show it. A thread that flips words of an entry while it is executed.
 * And memory that changes after each access: the queue is not accessible, each access
 * faults, is logged, let through for one instruction, and then what was read there is
 * overwritten. That is exact, but needs x86 and its trap flag.
 */
#define _GNU_SOURCE
#include <sched.h>

#include "host.h"
#include "kselftest_harness.h"
#include "watch.h"

#define SIZE	WATCH_BYTES

static int dom_a, dom_b;

struct ends {
	struct th_dev dev;
	struct th_qp *a, *b;
	struct th_mr *l, *r;
};

static void ends_open(struct ends *e, u32 depth)
{
	memset(e, 0, sizeof(*e));
	e->a = th_qp_new(&e->dev, &dom_a, depth, 0);
	e->b = th_qp_new(&e->dev, &dom_b, depth, 16);
	e->b->q.recv_cq = &e->b->cq;
	th_qp_pair(e->a, e->b);
	e->l = th_mr_new(&e->dev, &dom_a, 0x10000, SIZE, GDA_ACCESS_ALL, 12, 0);
	e->r = th_mr_new(&e->dev, &dom_b, 0x20000, SIZE, GDA_ACCESS_ALL, 12, 0);
}

static void ends_close(struct ends *e)
{
	th_mr_free(&e->dev, e->l);
	th_mr_free(&e->dev, e->r);
	th_qp_free(e->a);
	th_qp_free(e->b);
}

/*
 * One word of an entry alternates between a legal value and one that must be refused.
 * Each execution is one or the other: right to the byte, or the right error.
 */
static u32 flip_word(struct ends *e, u32 word, u64 bad_value, u32 why, u32 rounds,
		     u64 *flips)
{
	struct flip f;
	u32 i, bad = 0, ok = 0, refused = 0;

	th_rdma(e->a, GDA_MLX5_WRITE, GDA_MLX5_CE_ALWAYS, e->l, 64, e->r, 128, 40);
	if (flip_start(&f, (u64 *)(void *)e->a->sq + word, bad_value))
		return ~0U;
	for (i = 0; i < rounds; i++) {
		/* both are seen even where the threads run by turns */
		if (i % 8192 == 0)
			sched_yield();
		__atomic_store_n(f.word, f.variant[i & 1], __ATOMIC_RELAXED);
		/* the queue as it was before this one work request */
		e->a->q.state = GDA_QP_READY;
		gda_engine_init(&e->a->q);
		memset(e->r->pages[0], 0, SIZE);
		th_ring(e->a);
		bad += gda_engine_visit(&e->a->q, 1, 1000) != 1;
		if (e->a->q.state == GDA_QP_READY) {
			ok++;
			bad += memcmp(e->r->pages[0] + 128, e->l->pages[0] + 64, 40) != 0;
			bad += e->a->q.bytes != 40;
		} else {
			refused++;
			bad += ((u32)th_syndrome(e->a) << 8 | e->a->q.first.cause) != why;
			bad += e->a->q.bytes != 0 || e->r->pages[0][128] != 0;
		}
		bad += e->r->pages[0][127] != 0 || e->r->pages[0][168] != 0;
	}
	*flips += flip_stop(&f);
	/* both must have been seen, or nothing was shown */
	return bad + !ok + !refused;
}

#define WHY(synd, vend)	((u32)GDA_MLX5_SYND_##synd << 8 | GDA_MLX5_VENDOR_##vend)

static u64 word_of(u32 high, u32 low)
{
	return gda_be64((u64)high << 32 | low);
}

TEST(S1_flipper)
{
	struct {
		u32 word;
		u64 value;
		u32 why;
	} rows[6];
	struct ends e;
	u64 flips = 0;
	u32 i;

	ends_open(&e, 16);
	for (i = 0; i < SIZE; i++)
		e.l->pages[0][i] = (u8)(1 + i % 255);
	/* a longer transfer, another key, another address, another opcode */
	rows[0] = (typeof(rows[0])){ 4, word_of(0x7fffffff, e.l->mem.key),
				     WHY(LOCAL_PROT, RANGE) };
	rows[1] = (typeof(rows[0])){ 4, word_of(40, e.r->mem.key), WHY(LOCAL_PROT, KEY) };
	rows[2] = (typeof(rows[0])){ 5, word_of(0, 0x10000 + SIZE - 39),
				     WHY(LOCAL_PROT, RANGE) };
	rows[3] = (typeof(rows[0])){ 2, word_of(0, 0x20000 + SIZE - 39),
				     WHY(REMOTE_ACCESS, RANGE) };
	rows[4] = (typeof(rows[0])){ 3, word_of(e.l->mem.key, 0), WHY(REMOTE_ACCESS, KEY) };
	rows[5] = (typeof(rows[0])){ 0, word_of(0x77, TH_QPN << 8 | 3),
				     WHY(LOCAL_QP_OP, OPCODE) };
	ends_close(&e);
	for (i = 0; i < 6; i++) {
		ends_open(&e, 16);
		memset(e.l->pages[0], 0x33, SIZE);
		EXPECT_EQ(0, flip_word(&e, rows[i].word, rows[i].value, rows[i].why, 150000,
				       &flips))
			TH_LOG("row %u", i);
		ends_close(&e);
	}
	TH_LOG("%llu flips", (unsigned long long)flips);
}

#ifdef __x86_64__

/* Each entry of each shape: read once, executed as it was, never written. */
TEST(S1_each_byte_is_read_once)
{
	u8 bytes[60], got[60];
	struct ends e;
	u32 shape, i, twice = 0;

	for (shape = 0; shape < 15; shape++) {
		struct gda_sge sge[2];
		u64 v;

		ends_open(&e, 64);
		for (i = 0; i < 60; i++)
			bytes[i] = (u8)(i + 1);
		th_mr_put(e.l, 0, bytes, 60);
		th_mr_put(e.r, 1024, bytes, 60);
		sge[0] = (struct gda_sge){ .addr = 0x10000, .len = 20, .key = e.l->mem.key };
		sge[1] = (struct gda_sge){ .addr = 0x10014, .len = 40, .key = e.l->mem.key };
		switch (shape) {
		case 0:
			th_nop(e.a, GDA_MLX5_CE_ALWAYS);
			break;
		case 1:
			th_rdma(e.a, GDA_MLX5_WRITE, GDA_MLX5_CE_ALWAYS, e.l, 0, e.r, 0, 60);
			break;
		case 2:
			th_rdma2(e.a, GDA_MLX5_WRITE, GDA_MLX5_CE_ALWAYS, sge, e.r, 0);
			break;
		case 3:
			th_rdma(e.a, GDA_MLX5_READ, GDA_MLX5_CE_ALWAYS, e.l, 512, e.r, 1024, 60);
			break;
		case 4:
			th_inline(e.a, GDA_MLX5_CE_ALWAYS, bytes, 8, e.r, 0);
			break;
		case 5:
			th_inline(e.a, GDA_MLX5_CE_ALWAYS, bytes, 28, e.r, 0);
			break;
		case 6:
			th_inline(e.a, GDA_MLX5_CE_ALWAYS, bytes, 60, e.r, 0);
			break;
		case 9:
			th_imm(e.a, GDA_MLX5_CE_ALWAYS, 7, e.l, 0, e.r, 0, 60);
			break;
		case 10:
			th_dump(e.a, GDA_MLX5_CE_ALWAYS, e.l, 0, 60);
			break;
		case 11:
		case 12:
			th_masked(e.a, GDA_MLX5_MASKED_FA, GDA_MLX5_CE_ALWAYS, e.l, 512, e.r, 0,
				  &(struct th_masked){ .width = shape == 11 ? 4 : 8,
						       .swap_add = 5 });
			break;
		case 13:
		case 14:
			th_masked(e.a, GDA_MLX5_MASKED_CS, GDA_MLX5_CE_ALWAYS, e.l, 512, e.r, 0,
				  &(struct th_masked){ shape == 13 ? 4 : 8, 5, 0, 0xff, 0xff });
			break;
		default:
			th_atomic(e.a, shape == 7 ? GDA_MLX5_ATOMIC_FA : GDA_MLX5_ATOMIC_CS,
				  GDA_MLX5_CE_ALWAYS, e.l, 512, e.r, 0, 5, 0);
		}
		th_ring(e.a);
		trap_arm(e.a);
		EXPECT_EQ(1, th_run(e.a));
		trap_disarm(e.a);
		for (i = 0; i < SIZE; i++)
			twice += trap.reads[i] > 1;
		EXPECT_EQ(0, twice);
		EXPECT_FALSE(trap.stores);
		EXPECT_LE(2, trap.accesses);
		EXPECT_EQ(GDA_QP_READY, e.a->q.state);
		EXPECT_EQ(1, e.a->q.executed);
		EXPECT_EQ(0, th_cqe_counter(e.a));
		if (shape == 1 || shape == 2 || (shape >= 4 && shape <= 6) || shape == 9) {
			u32 len = shape == 4 ? 8 : shape == 5 ? 28 : 60;

			th_mr_get(e.r, 0, got, 60);
			EXPECT_EQ(0, memcmp(got, bytes, len));
		}
		if (shape == 3) {
			th_mr_get(e.l, 512, got, 60);
			EXPECT_EQ(0, memcmp(got, bytes, 60));
		}
		if (shape >= 7 && shape != 9 && shape != 10) {
			th_mr_get(e.r, 0, &v, 8);
			EXPECT_EQ(5, v);
		}
		ends_close(&e);
	}
}

/* Large and resumed: the entry is not looked at again at later visits. */
TEST(S1_resumed_work_is_not_read_again)
{
	struct ends e;
	u32 i, twice = 0;

	ends_open(&e, 64);
	memset(e.l->pages[0], 0x5c, SIZE);
	th_rdma(e.a, GDA_MLX5_WRITE, GDA_MLX5_CE_ALWAYS, e.l, 0, e.r, 0, SIZE);
	th_ring(e.a);
	trap_arm(e.a);
	while (gda_engine_visit(&e.a->q, 4, 100))
		;
	trap_disarm(e.a);
	for (i = 0; i < SIZE; i++)
		twice += trap.reads[i] > 1 || e.r->pages[0][i] != 0x5c;
	EXPECT_EQ(0, twice);
	EXPECT_EQ(1, e.a->q.executed);
	ends_close(&e);
}

/* Flushing reads an entry once too, and whatever it says changes nothing. */
TEST(S1_flush_reads_once)
{
	struct ends e;
	u32 i, twice = 0;

	ends_open(&e, 64);
	for (i = 0; i < 10; i++)
		th_rdma(e.a, GDA_MLX5_WRITE, GDA_MLX5_CE_ALWAYS, e.l, 0, e.r, 0, 8);
	th_ring(e.a);
	WRITE_ONCE(e.a->q.fail, GDA_FAIL_PEER);
	trap_arm(e.a);
	EXPECT_EQ(10, th_run(e.a));
	trap_disarm(e.a);
	for (i = 0; i < SIZE; i++)
		twice += trap.reads[i] > 1;
	EXPECT_EQ(0, twice);
	EXPECT_EQ(10, e.a->q.ci);
	ends_close(&e);
}

/*
 * Any interleaving of a producer's stores with the consumer's loads. The record and
 * the doorbell are trapped; between two loads the producer makes some of its next
 * stores, in its order, as far as there is room in the ring.
 */
static struct {
	u8 *page;		/* record at 0, doorbell at 64 */
	struct th_qp *qp;
	struct th_rand r;
	bool db_twice;		/* doorbell, record, doorbell */
	const u8 *script;	/* stores before each load, 0xff at its end; or NULL */
	u32 step;		/* of the ring that is being made */
	u32 batch;
	u64 rung;
} producer;

static void producer_stores(u32 n)
{
	while (n--) {
		u32 what = producer.step++ % 4;

		if (what == 0) {
			u64 room = producer.qp->q.depth - (producer.rung - producer.qp->q.ci);
			u32 k = producer.batch < room ? producer.batch : (u32)room;

			if (!k) {
				producer.step--;
				return;
			}
			producer.rung += k;
			while (producer.qp->next < producer.rung)
				th_nop(producer.qp, GDA_MLX5_CE_ERROR);
		}
		if (what == 2)
			*(__be32 *)(void *)(producer.page + 4) = gda_mlx5_dbrec(producer.rung);
		if (what == 3 || (what == 1 && producer.db_twice))
			*(__be64 *)(void *)(producer.page + 64) =
				gda_mlx5_doorbell(producer.rung, TH_QPN);
	}
}

static void on_ring_segv(int sig, siginfo_t *si, void *ctx)
{
	(void)sig;
	(void)si;
	mprotect(producer.page, SIZE, PROT_READ | PROT_WRITE);
	if (producer.script && *producer.script != 0xff)
		producer_stores(*producer.script++);
	else
		producer_stores(th_below(&producer.r, 3) ? th_below(&producer.r, 12) : 0);
	((ucontext_t *)ctx)->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
}

static void on_ring_trap(int sig, siginfo_t *si, void *ctx)
{
	(void)sig;
	(void)si;
	((ucontext_t *)ctx)->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
	mprotect(producer.page, SIZE, PROT_NONE);
}

static u64 run_interleaved(u32 depth, u32 batch, bool db_twice, const u8 *script,
			   u32 visits)
{
	struct sigaction segv = { .sa_sigaction = on_ring_segv, .sa_flags = SA_SIGINFO };
	struct sigaction step = { .sa_sigaction = on_ring_trap, .sa_flags = SA_SIGINFO };
	struct th_qp *qp = th_qp_new(NULL, NULL, depth, 0);
	u64 pi = 0, bad = 0;

	th_qp_pair(qp, qp);
	memset(&producer, 0, sizeof(producer));
	producer.qp = qp;
	producer.r.s = depth + batch;
	producer.batch = batch;
	producer.db_twice = db_twice;
	producer.script = script;
	producer.page = mmap(NULL, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	qp->q.dbrec = (void *)producer.page;
	qp->q.db = (void *)(producer.page + 64);
	th_moved(qp);
	sigaction(SIGSEGV, &segv, NULL);
	sigaction(SIGTRAP, &step, NULL);
	while (visits-- && qp->q.state == GDA_QP_READY) {
		/* mostly all there is: then the sources can be a whole ring apart */
		gda_engine_visit(&qp->q, script || th_below(&producer.r, 8) ? depth : 1, 1);
		bad += qp->q.pi < pi || qp->q.pi > producer.rung;
		pi = qp->q.pi;
	}
	signal(SIGSEGV, SIG_DFL);
	signal(SIGTRAP, SIG_DFL);
	bad += qp->q.state != GDA_QP_READY || pi < 20;
	munmap(producer.page, SIZE);
	th_qp_free(qp);
	return bad;
}

TEST(I_10_any_interleaving_of_rings)
{
	static const u32 depths[] = { 1, 2, 16, 1024, 16384, 32768 };
	u32 d, twice, part;

	for (d = 0; d < ARRAY_SIZE(depths); d++)
		for (twice = 0; twice < 2; twice++)
			for (part = 1; part <= 4 && part <= depths[d]; part *= 4)
				EXPECT_EQ(0, run_interleaved(depths[d], depths[d] / part, twice,
							     NULL, depths[d] > 1024 ? 80 : 300))
					TH_LOG("depth %u/%u, doorbell twice %u", depths[d], part,
					       twice);
}

/*
 * The one schedule in which a doorbell is behind by the largest ring: a consumer that
 * looked at the doorbell first would take it for a whole ring of work.
 */
TEST(I_10_doorbell_behind_by_the_largest_ring)
{
	static const u8 script[] = { 0, 3, 0, 4, 0, 0, 0, 0, 0xff };

	EXPECT_EQ(0, run_interleaved(32768, 32768, false, script, 30));
}

#endif /* __x86_64__ */

/* Doorbells: each source is read once for a decision. */
static u32 db_thread_stop;

static void *db_flip(void *arg)
{
	struct th_qp *qp = arg;
	u32 n = 0;

	while (!__atomic_load_n(&db_thread_stop, __ATOMIC_RELAXED)) {
		/* stale, legal and nonsense, in turns; the record is always legal */
		static const u16 values[] = { 3, 0x7fff, 1, 0x4000, 2, 0x8001 };

		th_ring_db(qp, values[n++ % 6]);
	}
	return NULL;
}

TEST(S1_S2_doorbell_flipper)
{
	u32 i, bad = 0, failed = 0, fine = 0;
	struct ends e;
	pthread_t t;

	ends_open(&e, 16);
	for (i = 0; i < 3; i++)
		th_nop(e.a, GDA_MLX5_CE_ALWAYS);
	ASSERT_EQ(0, pthread_create(&t, NULL, db_flip, e.a));
	for (i = 0; i < 300000; i++) {
		if (i % 8192 == 0)
			sched_yield();
		th_ring_db(e.a, i & 1 ? 3 : 0x7fff);
		e.a->q.state = GDA_QP_READY;
		gda_engine_init(&e.a->q);
		gda_engine_visit(&e.a->q, 8, 8);
		bad += e.a->q.pi > 3 || e.a->q.ci != e.a->q.pi;
		if (e.a->q.state == GDA_QP_ERROR) {
			bad += e.a->q.first.cause != GDA_MLX5_VENDOR_DOORBELL;
			failed++;
		} else {
			fine++;
		}
	}
	__atomic_store_n(&db_thread_stop, 1, __ATOMIC_RELAXED);
	pthread_join(t, NULL);
	EXPECT_EQ(0, bad);
	EXPECT_NE(0, failed);
	EXPECT_NE(0, fine);
	ends_close(&e);
}

TEST_HARNESS_MAIN
