// SPDX-License-Identifier: MIT
/*
 * Queues of the efa dialect through the library: between two contexts, by one thread and by
 * several, in the order of posting and, with GDA_ORDER, in any other.
 */
#define GDA_WQE_EFA
#include <pthread.h>
#include <sys/wait.h>
#include <gda/chunk.h>
#include <gda/ring.h>
#include "suite.h"

#define DEPTH	64U
#define LEN	(1U << 20)
#define THREADS	4

FIXTURE(efa) {
	struct s_end end[2];
	uint64_t rnd;
};

FIXTURE_VARIANT(efa) {
	unsigned int mode;
};

FIXTURE_VARIANT_ADD(efa, shared) { .mode = 0 };
FIXTURE_VARIANT_ADD(efa, exclusive) { .mode = GDA_EXCLUSIVE };

static int open_end(struct s_end *e, struct gda_cq *recv_cq)
{
	struct gda_qp_attr attr = {
		.size = sizeof(attr), .sq_depth = DEPTH, .timeout_ns = S_TIMEOUT_NS,
		.dialect = GDA_DIALECT_EFA, .recv_cq = recv_cq,
	};
	int err = gda_qp_create(e->ctx, &attr, &e->qp);

	e->v = err ? NULL : gda_qp_view(e->qp);
	return err ? err : e->v ? 0 : -EINVAL;
}

FIXTURE_SETUP(efa)
{
	int i;

	self->rnd = s_seed();
	TH_LOG("GDA_SEED=%#llx", (unsigned long long)self->rnd);
	memset(self->end, 0, sizeof(self->end));
	for (i = 0; i < 2; i++) {
		ASSERT_OK(gda_open(NULL, &self->end[i].ctx));
		if (!s_has(self->end[i].ctx, GDA_FEATURE_DIALECT_EFA)) {
			ASSERT_TRUE(s_fabric(self->end[i].ctx));
			SKIP(return, "RDMA devices have no such queues");
		}
		ASSERT_OK(s_memory_new(self->end[i].ctx, LEN, GDA_ACCESS_ALL, &self->end[i].mem));
		ASSERT_OK(open_end(&self->end[i], NULL));
	}
	ASSERT_OK(s_connect(self->end[0].qp, self->end[1].qp));
}

FIXTURE_TEARDOWN(efa)
{
	s_pair_close(self->end);
}

TEST_F(efa, puts_and_gets)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];
	uint64_t i, rounds = s_short(60, 600);

	for (i = 0; i < LEN; i += 8) {
		uint64_t word = s_random(&self->rnd);

		memcpy(a->mem.addr + i, &word, 8);
	}
	for (i = 0; i < rounds; i++) {
		uint32_t len = (uint32_t)s_below(&self->rnd, i % 8 ? 200 : LEN / 2);
		uint64_t src = s_below(&self->rnd, LEN - len), dst = s_below(&self->rnd, LEN - len);
		int64_t t;

		t = s_put(a, src, b, dst, len, variant->mode);
		ASSERT_OK(gda_wait(a->v, t, 0));
		ASSERT_EQ(0, memcmp(a->mem.addr + src, b->mem.addr + dst, len));
		memset(a->mem.addr + src, 0x5a, len);
		t = s_get(a, src, b, dst, len, variant->mode);
		ASSERT_OK(gda_wait(a->v, t, 0));
		ASSERT_EQ(0, memcmp(a->mem.addr + src, b->mem.addr + dst, len));
	}
}

TEST_F(efa, inline_bytes_and_values)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];
	uint8_t data[GDA_INLINE_MAX];
	uint64_t value = 0x8877665544332211, len;

	for (len = 0; len < sizeof(data); len++)
		data[len] = (uint8_t)len;
	for (len = 0; len <= a->v->max_inline; len++) {
		memset(b->mem.addr, 0xff, 128);
		ASSERT_OK(gda_wait(a->v, gda_put_inline(a->v, b->mem.iova, b->mem.key, data, len,
							variant->mode), 0));
		ASSERT_EQ(0, memcmp(b->mem.addr, data, len));
		ASSERT_EQ(0xff, b->mem.addr[len]);
	}
	EXPECT_EQ(-EMSGSIZE, gda_put_inline(a->v, b->mem.iova, b->mem.key, data, len, variant->mode));
	ASSERT_OK(gda_wait(a->v, gda_put_value(a->v, b->mem.iova, b->mem.key, value, variant->mode), 0));
	EXPECT_EQ(0, memcmp(b->mem.addr, &value, 8));
}

/* Many more posts than slots: no entry is overwritten before it is read. */
TEST_F(efa, Efa07_a_ring_is_never_lapped)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];
	uint64_t i, rounds = s_short(2000, 100000), *words = (void *)b->mem.addr;

	for (i = 0; i < rounds; i++)
		ASSERT_LE(0, gda_put_value(a->v, b->mem.iova + 8 * (i % (LEN / 8)), b->mem.key, i,
					   variant->mode | (i % 3 ? GDA_DEFER : 0)));
	gda_flush(a->v);
	ASSERT_OK(gda_quiet(a->v, 0));
	for (i = rounds > LEN / 8 ? rounds - LEN / 8 : 0; i < rounds; i++)
		ASSERT_EQ(i, words[i % (LEN / 8)]);
	EXPECT_EQ(rounds, a->v->done);
}

struct poster {
	pthread_t thread;
	struct s_end *from, *to;
	uint64_t at;			/* offset of its words in the target memory */
	uint64_t rounds;
	int err;
};

/* Wait for each put, or for quiet: its data must then have arrived. */
static void *post_and_wait(void *arg)
{
	struct poster *p = arg;
	const volatile uint64_t *word = (void *)(p->to->mem.addr + p->at);
	uint64_t i;

	for (i = 1; i <= p->rounds && !p->err; i++) {
		int64_t t = gda_put_value(p->from->v, p->to->mem.iova + p->at, p->to->mem.key, i, 0);

		p->err = i % 7 ? gda_wait(p->from->v, t, 0) : gda_quiet(p->from->v, 0);
		if (!p->err && *word != i)
			p->err = -EPROTO;
	}
	return NULL;
}

TEST_F(efa, Efa08_threads_share_a_queue)
{
	struct poster p[THREADS];
	int i;

	if (variant->mode)
		SKIP(return, "one thread posts");
	for (i = 0; i < THREADS; i++) {
		p[i] = (struct poster){ .from = &self->end[0], .to = &self->end[1],
					.at = 4096 * (uint64_t)i, .rounds = s_short(300, 5000) };
		ASSERT_EQ(0, pthread_create(&p[i].thread, NULL, post_and_wait, &p[i]));
	}
	for (i = 0; i < THREADS; i++) {
		pthread_join(p[i].thread, NULL);
		EXPECT_EQ(0, p[i].err);
	}
	EXPECT_EQ(self->end[0].v->reserved, self->end[0].v->done);
}

/* What a get reads is overwritten when it is done, though a put could pass it. */
TEST_F(efa, a_put_after_reads)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];
	uint64_t *got = (void *)a->mem.addr, round, rounds = s_short(300, 3000);
	unsigned int mode = variant->mode | (variant->mode ? GDA_DEFER : 0);
	int64_t t = gda_put_value(a->v, b->mem.iova, b->mem.key, 1, variant->mode);

	ASSERT_OK(gda_wait(a->v, t, 0));
	for (round = 1; round <= rounds; round++) {
		*got = 0;
		t = s_get(a, 0, b, 0, 8, mode);
		ASSERT_LE(0, gda_put_value(a->v, b->mem.iova, b->mem.key, round + 1,
					   variant->mode | GDA_AFTER_READS));
		ASSERT_OK(gda_quiet(a->v, 0));
		ASSERT_EQ(round, *got);
	}
}

/* Efa03, Efa05: whoever sees a signal sees all puts before it. */
TEST_F(efa, Efa03_Efa05_a_signal_is_strong)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];
	volatile uint64_t *words = (void *)b->mem.addr, *flag = words + 512;
	uint64_t round, k, rounds = s_short(200, 2000);
	struct gda_signal s = {
		.size = sizeof(s), .op = GDA_SIGNAL_SET, .raddr = b->mem.iova + 4096,
		.rkey = b->mem.key,
	};

	for (round = 1; round <= rounds; round++) {
		uint64_t deadline = gda_clock_ns() + S_TIMEOUT_NS;

		for (k = 0; k < 15; k++)
			gda_put_value(a->v, b->mem.iova + 8 * k, b->mem.key, round,
				      variant->mode | (variant->mode ? GDA_DEFER : 0));
		s.value = round;
		memcpy(a->mem.addr + 8 * 15, &round, 8);
		ASSERT_LE(0, gda_put_signal(a->v, a->mem.iova + 8 * 15, a->mem.key,
					    b->mem.iova + 8 * 15, b->mem.key, 8, &s, variant->mode));
		while (gda_load_acquire64((const uint64_t *)flag) != round && gda_clock_ns() < deadline)
			gda_relax(a->v, 1, GDA_RELAX_DONE);
		for (k = 0; k < 16; k++)
			ASSERT_EQ(round, words[k]);
	}
	ASSERT_OK(gda_quiet(a->v, 0));
}

TEST_F(efa, immediates_arrive_in_a_ring)
{
	struct gda_cq_attr attr = {
		.size = sizeof(attr), .depth = 4 * DEPTH, .dialect = GDA_DIALECT_EFA,
	};
	struct s_end *a = &self->end[0], *b = &self->end[1];
	struct gda_cq_entry entry = { .size = sizeof(entry) };
	uint64_t seen = 0;
	struct gda_cq *cq;
	uint32_t i;

	/* start again, with a receive ring at B */
	ASSERT_OK(gda_qp_destroy(a->qp));
	ASSERT_OK(gda_qp_destroy(b->qp));
	ASSERT_OK(gda_cq_create(b->ctx, &attr, &cq));
	ASSERT_OK(open_end(a, NULL));
	ASSERT_OK(open_end(b, cq));
	ASSERT_OK(s_connect(a->qp, b->qp));
	for (i = 0; i < DEPTH; i++)
		ASSERT_LE(0, gda_put_imm(a->v, a->mem.iova, a->mem.key, b->mem.iova, b->mem.key, i, i,
					 variant->mode));
	for (i = 0; i < DEPTH; i++) {
		ASSERT_OK(gda_cq_wait(gda_cq_view(cq), &entry, gda_clock_ns() + S_TIMEOUT_NS));
		EXPECT_EQ(GDA_CQ_KIND_IMM, entry.opcode);
		EXPECT_EQ(entry.imm, entry.bytes);
		seen |= 1ULL << entry.imm;
	}
	EXPECT_EQ(~0ULL, seen);
	ASSERT_OK(gda_quiet(a->v, 0));
	ASSERT_OK(gda_qp_destroy(b->qp));
	b->qp = NULL;
	ASSERT_OK(gda_cq_destroy(cq));
}

TEST_F(efa, an_error_is_of_its_ticket)
{
	struct gda_error error = { .size = sizeof(error) };
	struct s_end *a = &self->end[0], *b = &self->end[1];
	int64_t good = s_put(a, 0, b, 0, 8, variant->mode), bad, flushed;
	struct gda_qp_query query = { .size = sizeof(query) };

	ASSERT_OK(gda_wait(a->v, good, 0));
	bad = gda_put(a->v, a->mem.iova, a->mem.key, b->mem.iova, b->mem.key ^ 0x10, 8, variant->mode);
	EXPECT_EQ(-EIO, gda_wait(a->v, bad, 0));
	flushed = s_put(a, 0, b, 0, 8, variant->mode);
	EXPECT_EQ(-ECANCELED, gda_wait(a->v, flushed, 0));
	EXPECT_EQ(1, gda_test(a->v, good));
	EXPECT_EQ(-EIO, gda_quiet(a->v, 0));
	ASSERT_EQ(1, gda_error(a->v, &error));
	EXPECT_EQ(bad, error.ticket);
	EXPECT_EQ(GDA_EFA_BAD_ADDRESS, error.syndrome);
	ASSERT_OK(gda_qp_query(a->qp, &query));
	EXPECT_EQ(GDA_CAUSE_KEY, query.vendor);
}

/* A peer that is gone fails only the requests that name it, not those for other peers. */
/* Put 64 bytes that are in two MRs' worth of chunks on both sides. */
static int put_in_pieces(struct s_end *a, struct s_end *b, unsigned int mode)
{
	struct gda_chunk from[] = { { 0, 32, a->mem.iova, a->mem.key, 0 },
				    { 32, 32, a->mem.iova + 256, a->mem.key, 0 } };
	struct gda_chunk to[] = { { 0, 16, b->mem.iova, b->mem.key, 0 },
				  { 16, 48, b->mem.iova + 512, b->mem.key, 0 } };
	struct gda_chunk_map lmap = { sizeof(lmap), 2, (uintptr_t)from };
	struct gda_chunk_map rmap = { sizeof(rmap), 2, (uintptr_t)to };
	int err;

	memset(a->mem.addr, 0x11, 32);
	memset(a->mem.addr + 256, 0x22, 32);
	err = gda_wait(a->v, gda_put_chunked(a->v, &lmap, 0, &rmap, 0, 64, mode), 0);
	if (err)
		return err;
	return memcmp(b->mem.addr, a->mem.addr, 16) || memcmp(b->mem.addr + 512, a->mem.addr, 16) ||
	       memcmp(b->mem.addr + 528, a->mem.addr + 256, 32) ? -EPROTO : 0;
}

TEST_F(efa, Q2_other_peers_go_on)
{
	struct s_end *a = &self->end[0], *b = &self->end[1], c = { 0 };
	struct gda_peer to_b, to_c, to_a;
	struct gda_address at_a, at_b, at_c;
	int64_t t;

	ASSERT_OK(gda_open(NULL, &c.ctx));
	ASSERT_OK(s_memory_new(c.ctx, 4096, GDA_ACCESS_ALL, &c.mem));
	ASSERT_OK(open_end(&c, NULL));
	ASSERT_OK(gda_qp_address(a->qp, &at_a));
	ASSERT_OK(gda_qp_address(b->qp, &at_b));
	ASSERT_OK(gda_qp_address(c.qp, &at_c));
	ASSERT_OK(gda_peer_add(a->ctx, &at_b, &to_b));
	ASSERT_OK(gda_peer_add(a->ctx, &at_c, &to_c));
	/* C has not added A yet */
	gda_view_peer(a->v, &to_c);
	t = s_put(a, 0, &c, 0, 8, variant->mode);
	EXPECT_EQ(-EIO, gda_wait(a->v, t, 0));
	ASSERT_OK(gda_peer_add(c.ctx, &at_a, &to_a));
	t = s_put(a, 0, &c, 0, 8, variant->mode);
	EXPECT_OK(gda_wait(a->v, t, 0));
	s_end_close(&c);
	t = gda_put(a->v, a->mem.iova, a->mem.key, b->mem.iova, b->mem.key, 8, variant->mode);
	EXPECT_EQ(-EIO, gda_wait(a->v, t, 0));
	gda_view_peer(a->v, &to_b);
	t = s_put(a, 0, b, 0, 8, variant->mode);
	EXPECT_OK(gda_wait(a->v, t, 0));
	EXPECT_OK(gda_peer_remove(a->ctx, &to_c));
	EXPECT_EQ(-ENOENT, gda_peer_remove(a->ctx, &to_c));
	EXPECT_OK(gda_peer_remove(a->ctx, &to_b));
	/* gda_qp_connect() had added B, too, so its handle remains */
	t = s_put(a, 0, b, 0, 8, variant->mode);
	EXPECT_OK(gda_wait(a->v, t, 0));
	EXPECT_EQ(-EALREADY, gda_qp_connect(a->qp, &at_b));
	/* what failed to C is none of a put to B whose pieces are waited for */
	EXPECT_OK(put_in_pieces(a, b, variant->mode));
}

/* One queue puts to two peers and gets from them, by turns; the view's own peer stays. */
TEST_F(efa, a_peer_per_post)
{
	struct s_end *a = &self->end[0], *b = &self->end[1], c = { 0 };
	uint64_t i, value, *got = (void *)(a->mem.addr + 512);
	struct gda_address at_a, at_b, at_c;
	struct gda_peer to[2], to_a;

	ASSERT_OK(gda_open(NULL, &c.ctx));
	ASSERT_OK(s_memory_new(c.ctx, 8192, GDA_ACCESS_ALL, &c.mem));
	ASSERT_OK(open_end(&c, NULL));
	ASSERT_OK(gda_qp_address(a->qp, &at_a));
	ASSERT_OK(gda_qp_address(b->qp, &at_b));
	ASSERT_OK(gda_qp_address(c.qp, &at_c));
	ASSERT_OK(gda_peer_add(a->ctx, &at_b, &to[0]));
	ASSERT_OK(gda_peer_add(a->ctx, &at_c, &to[1]));
	ASSERT_OK(gda_peer_add(c.ctx, &at_a, &to_a));
	for (i = 1; i < s_short(300, 3000); i++) {
		const struct s_end *e = i % 2 ? &c : b;

		value = i << 32;
		memcpy(a->mem.addr, &value, 8);
		ASSERT_OK(gda_wait(a->v, gda_put_to(a->v, &to[i % 2], a->mem.iova, a->mem.key,
						    e->mem.iova + 8 * i % 4096, e->mem.key, 8,
						    variant->mode), 0));
		ASSERT_OK(gda_wait(a->v, gda_put_value_to(a->v, &to[i % 2], e->mem.iova + 4096,
							  e->mem.key, i, variant->mode), 0));
		ASSERT_OK(gda_wait(a->v, gda_get_to(a->v, &to[i % 2], a->mem.iova + 512, a->mem.key,
						    e->mem.iova + 8 * i % 4096, e->mem.key, 8,
						    variant->mode), 0));
		ASSERT_EQ(value, *got);
		ASSERT_EQ(0, memcmp(e->mem.addr + 4096, &i, 8));
	}
	EXPECT_EQ(-EMSGSIZE, gda_put_to(a->v, &to[0], 0, 0, 0, 0, 1ULL << 32, variant->mode));
	/* a peer that is gone fails what is for it, and nothing else */
	s_end_close(&c);
	EXPECT_EQ(-EIO, gda_wait(a->v, gda_put_value_to(a->v, &to[1], 0, 0, i, variant->mode), 0));
	/* without a name a post is for the peer of the view */
	EXPECT_OK(gda_wait(a->v, s_put(a, 0, b, 0, 8, variant->mode), 0));
	EXPECT_OK(gda_wait(a->v, gda_put_value_to(a->v, &to[0], b->mem.iova, b->mem.key, i,
						  variant->mode), 0));
}

static int child_sees(struct s_end *a, int64_t good, int64_t bad)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		/* the child sees what the parent knew to be done, and nothing else */
		if (gda_test(a->v, good) != 1)
			_exit(1);
		if (gda_test(a->v, bad) >= 0)
			_exit(2);
		_exit(s_put(a, 0, a, 8, 8, GDA_NOWAIT) < 0 ? 0 : 3);
	}
	return waitpid(pid, &status, 0) == pid ? status : -1;
}

/* In a child of fork(2) no ticket is done that failed or is not known to be done. */
TEST_F(efa, a_child_of_fork)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];
	int64_t good = s_put(a, 0, b, 0, 8, variant->mode), bad, other;
	struct gda_peer nobody = { .target = 0xfffe };

	ASSERT_OK(gda_wait(a->v, good, 0));
	gda_view_peer(a->v, &nobody);
	bad = s_put(a, 0, b, 0, 8, variant->mode);
	EXPECT_EQ(-EIO, gda_wait(a->v, bad, 0));
	other = s_put(a, 0, b, 0, 8, variant->mode);
	EXPECT_EQ(-EIO, gda_wait(a->v, other, 0));
	EXPECT_EQ(0, child_sees(a, good, bad));
	EXPECT_EQ(0, child_sees(a, good, other));
}

TEST_F(efa, errors_are_told_by_their_names)
{
	struct s_end *a = &self->end[0], *b = &self->end[1];
	struct gda_peer nobody = { .target = 0xfffe };
	char text[200];
	int64_t t;

	gda_view_peer(a->v, &nobody);
	t = s_put(a, 0, b, 0, 8, variant->mode);
	ASSERT_EQ(-EIO, gda_wait(a->v, t, 0));
	EXPECT_NE(NULL, strstr(gda_last_error(), "the address handle names nobody"))
		TH_LOG("%s", gda_last_error());
	EXPECT_EQ(GDA_WHY_FAILED, gda_explain(a->v, t, text, sizeof(text)));
	EXPECT_NE(NULL, strstr(text, "the address handle names nobody")) TH_LOG("%s", text);
}

TEST_F(efa, Efa03_what_the_dialect_has_not)
{
	struct gda_signal signal = { .size = sizeof(signal), .op = GDA_SIGNAL_ADD };
	struct s_end *a = &self->end[0];
	struct gda_qp_attr attr = {
		.size = sizeof(attr), .dialect = GDA_DIALECT_EFA,
	};
	struct gda_cq_attr ring = {
		.size = sizeof(ring), .depth = 1024, .dialect = GDA_DIALECT_EFA,
	};
	struct gda_cq *cq;
	struct gda_qp *qp;

	EXPECT_EQ(-EOPNOTSUPP, gda_fetch_add(a->v, 0, 0, 0, 0, 1, variant->mode));
	EXPECT_EQ(-EOPNOTSUPP, gda_nop(a->v, variant->mode));
	EXPECT_EQ(-EOPNOTSUPP, gda_put_signal(a->v, 0, 0, 0, 0, 0, &signal, variant->mode));
	EXPECT_EQ(0, a->v->reserved);
	EXPECT_EQ(0, a->v->can & (GDA_CAN_ORDER | GDA_CAN_ATOMIC | GDA_CAN_MASKED));
	EXPECT_NE(0, a->v->can & GDA_CAN_SIGNAL);
	EXPECT_NE(0, a->v->can & GDA_CAN_IMM);
	/* a program's own CQ ring may only receive immediates */
	ASSERT_OK(gda_cq_create(a->ctx, &ring, &cq));
	attr.cq = cq;
	EXPECT_EQ(-EOPNOTSUPP, gda_qp_create(a->ctx, &attr, &qp));
	EXPECT_OK(gda_cq_destroy(cq));
	/* a program compiled without the dialect does not get the view */
	EXPECT_EQ(NULL, gda_qp_view_sized(a->qp, sizeof(struct gda_view)));
}

TEST_HARNESS_MAIN
