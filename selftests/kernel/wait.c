// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * SECURITY.md S11: a queue that waits for an entry of a CQ (WAIT), as NCCL's GDAKI kernels count
 * finished puts. What does not come ends with an error of the queue's own; it costs no visits, and
 * others go on. And a doorbell that is stored to another queue's cell.
 */
#include "gda_fixture.h"
#include "nl.h"

#define DEPTH	64U
#define MS	1000000ULL
#define SHORT	100U			/* ms: what does not come is waited for so long... */
#define LONG	60000U			/* ... and what comes */

FIXTURE(wait) {
	int fd, other;
	struct t_qp m, c;		/* a queue, and the one that waits for its CQ */
	struct t_mr mr;
};

/* A QP with a collapsed CQ, connected to itself. */
static int open_qp(struct t_qp *qp, int fd, uint32_t wait_ms)
{
	int err;

	memset(qp, 0, sizeof(*qp));
	qp->fd = fd;
	qp->depth = DEPTH;
	err = t_cq_create(fd, GDA_CQ_COLLAPSED, 1, &qp->cqc);
	qp->qpc = (struct gda_qp_create) {
		.size = sizeof(qp->qpc),
		.dialect = GDA_DIALECT_MLX5,
		.cq = qp->cqc.handle,
		.sq_depth = DEPTH,
		.wait_ms = wait_ms,
	};
	err = err ? err : t_ioctl(fd, GDA_IOC_QP_CREATE, &qp->qpc);
	err = err ? err : t_qp_map(qp);
	return err ? err : t_connect(qp, qp);
}

T_SETUP(wait)
{
	self->fd = t_context();
	ASSERT_LE(0, self->fd);
	self->other = t_context();
	ASSERT_LE(0, self->other);
	ASSERT_OK(open_qp(&self->m, self->fd, LONG));
	ASSERT_OK(open_qp(&self->c, self->fd, LONG));
	ASSERT_OK(t_mr_new(self->fd, 4 * T_PAGE, GDA_ACCESS_ALL, &self->mr));
}

T_TEARDOWN(wait)
{
	t_qp_close(&self->m);
	t_qp_close(&self->c);
	t_mr_free(self->fd, &self->mr);
	close(self->fd);
	close(self->other);
}

static uint64_t post_wait(struct t_qp *qp, uint32_t cqn, uint64_t index)
{
	uint8_t wqe[GDA_MLX5_SLOT_BYTES] = { 0 };

	gda_mlx5_set_ctrl((void *)wqe, qp->next, GDA_MLX5_WAIT, qp->qpc.qpn, 2, GDA_MLX5_CE_ALWAYS,
			  0);
	gda_mlx5_set_wait((void *)(wqe + GDA_MLX5_SEG_BYTES), cqn, (uint32_t)index);
	return t_post_raw(qp, wqe, 1);
}

static uint64_t post_nop(struct t_qp *qp)
{
	const struct t_wr nop = { .opcode = GDA_MLX5_NOP };

	return t_post(qp, &nop);
}

/* Entries of the queue that netlink shows. */
static int shown(struct t_nl *nl, uint32_t context, uint32_t handle)
{
	struct t_nl_req req;
	struct t_nl_msg msg;
	int n = 0;

	t_nl_begin(nl, &req, GDA_CMD_WQE_GET, NLM_F_DUMP);
	t_nl_put_u32(&req, GDA_A_WQE_CONTEXT, context);
	t_nl_put_u32(&req, GDA_A_WQE_HANDLE, handle);
	if (t_nl_send(nl, &req))
		return -1;
	while (t_nl_next(nl, &msg) > 0)
		n++;
	return n;
}

/* Post a WAIT, ring and wait for its end: 0 or its syndrome; its cause is in @done. */
static int run_wait(struct t_qp *qp, uint32_t cqn, uint64_t index, struct t_done *done)
{
	index = post_wait(qp, cqn, index);
	t_ring(qp);
	return t_wait(qp, index, done);
}

/* A put, and on another queue a WAIT for its completion and a fetch-add of a counter. */
TEST_F(wait, S11_counter_of_puts)
{
	struct t_qp *m = &self->m, *c = &self->c;
	uint64_t rounds = t_longer(50), early = 0;
	volatile uint64_t *counter = (void *)(self->mr.addr + 64);

	for (uint64_t i = 0; i < rounds; i++) {
		struct t_wr put = t_wr_write(&self->mr, 0, &self->mr, 2 * T_PAGE, 8);
		struct t_wr count = t_wr_atomic(GDA_MLX5_ATOMIC_FA, &self->mr, 128, &self->mr, 64,
						1, 0);
		uint64_t last, done, key = i % 3 ? i : ~i;

		memcpy(self->mr.addr, &key, sizeof(key));
		last = t_post(m, &put);
		post_wait(c, m->cqc.cqn, last);
		done = t_post(c, &count);
		/* mostly the WAIT comes first, for longer than a worker polls or not */
		if (i % 4)
			t_ring(c);
		if (i % 4 == 2)
			t_sleep_ns(20 * MS);
		early += *counter != i;
		t_ring(m);
		if (i % 4 == 0)
			t_ring(c);
		ASSERT_OK(t_wait(c, done, NULL)) TH_LOG("round %llu", (unsigned long long)i);
		ASSERT_EQ(i + 1, *counter);
		ASSERT_EQ(0, memcmp(&key, self->mr.addr + 2 * T_PAGE, sizeof(key)));
	}
	EXPECT_EQ(0, early);
}

/* Who asks why a queue stands still sees what stands in it. */
TEST_F(wait, S11_what_waits_is_shown)
{
	struct t_qp *m = &self->m, *c = &self->c;
	struct t_nl nl;
	uint64_t done;

	/* these tests are the in-process device's, too, which netlink does not know */
	if (access("/dev/gda", R_OK))
		SKIP(return, "no /dev/gda");
	ASSERT_OK(t_nl_open(&nl));
	post_wait(c, m->cqc.cqn, m->next);
	post_nop(c);
	done = post_nop(c);
	t_ring(c);
	t_sleep_ns(20 * MS);
	/* the one of two contexts that was bound first */
	EXPECT_LE(2, shown(&nl, t_nl_my_context(&nl) - 1, c->qpc.handle));
	post_nop(m);
	t_ring(m);
	ASSERT_OK(t_wait(c, done, NULL));
	t_nl_close(&nl);
}

/* Immediates of a peer in another context arrive at a ring: each is an entry. */
TEST_F(wait, S11_woken_by_a_peer)
{
	struct t_qp *c = &self->c, to, from;
	struct t_cq_ring ring;
	struct t_mr mr;

	ASSERT_OK(t_cq_ring_open(&ring, self->fd, 16));
	ASSERT_OK(t_qp_open_receiver(&to, self->fd, DEPTH, ring.cq.handle));
	ASSERT_OK(t_qp_open(&from, self->other, DEPTH));
	ASSERT_OK(t_connect(&to, &from));
	ASSERT_OK(t_mr_new(self->other, T_PAGE, GDA_ACCESS_ALL, &mr));
	for (uint32_t i = 0; i < 40; i++) {
		struct t_wr imm = t_wr_write(&mr, 0, &self->mr, 0, 8);
		uint64_t done = post_wait(c, ring.cq.cqn, i);
		struct t_done before;
		uint8_t cqe[64];

		imm.opcode = GDA_MLX5_WRITE_IMM;
		t_ring(c);
		t_sleep_ns(i % 2 * 10 * MS);
		EXPECT_FALSE(t_poll(c, done, &before));
		ASSERT_OK(t_run(&from, &imm, NULL));
		ASSERT_OK(t_wait(c, done, NULL)) TH_LOG("immediate %u", i);
		ASSERT_OK(t_cq_ring_wait(&ring, cqe));
	}
	t_qp_close(&from);
	t_qp_close(&to);
	t_cq_ring_unmap(&ring);
	EXPECT_OK(t_destroy(self->fd, ring.cq.handle));
	t_mr_free(self->other, &mr);
}

/* A queue that waits for this fails with @syndrome, for the CQ. */
static bool fails(FIXTURE_DATA(wait) *self, uint32_t cqn, uint64_t index, int syndrome)
{
	struct t_qp c;
	struct t_done done;
	bool as_it_should;

	if (open_qp(&c, self->fd, SHORT))
		return false;
	as_it_should = run_wait(&c, cqn, index, &done) == syndrome &&
		       done.vendor == GDA_MLX5_VENDOR_CQ;
	t_qp_close(&c);
	return as_it_should;
}

TEST_F(wait, S11_foreign_CQ)
{
	struct gda_cq_create foreign;

	ASSERT_OK(t_cq_create(self->other, GDA_CQ_COLLAPSED, 1, &foreign));
	EXPECT_TRUE(fails(self, foreign.cqn, 0, GDA_MLX5_SYND_LOCAL_QP_OP));
	/* no CQ: a QP, 0, more than a number has bits */
	EXPECT_TRUE(fails(self, self->m.qpc.qpn, 0, GDA_MLX5_SYND_LOCAL_QP_OP));
	EXPECT_TRUE(fails(self, 0, 0, GDA_MLX5_SYND_LOCAL_QP_OP));
	EXPECT_TRUE(fails(self, self->m.cqc.cqn | 1U << 24, 0, GDA_MLX5_SYND_LOCAL_QP_OP));
	EXPECT_TRUE(fails(self, ~0U, 0, GDA_MLX5_SYND_LOCAL_QP_OP));
}

TEST_F(wait, S11_index_out_of_reach)
{
	struct t_cq_ring ring;

	ASSERT_OK(t_cq_ring_open(&ring, self->fd, 16));
	EXPECT_TRUE(fails(self, ring.cq.cqn, 16, GDA_MLX5_SYND_LOCAL_QP_OP));
	EXPECT_TRUE(fails(self, ring.cq.cqn, 15, GDA_MLX5_SYND_RETRY_EXC));
	EXPECT_TRUE(fails(self, ring.cq.cqn, 1U << 30, GDA_MLX5_SYND_LOCAL_QP_OP));
	EXPECT_TRUE(fails(self, self->m.cqc.cqn, GDA_MLX5_MAX_DEPTH, GDA_MLX5_SYND_LOCAL_QP_OP));
	EXPECT_TRUE(fails(self, self->m.cqc.cqn, GDA_MLX5_MAX_DEPTH - 1, GDA_MLX5_SYND_RETRY_EXC));
	t_cq_ring_unmap(&ring);
	EXPECT_OK(t_destroy(self->fd, ring.cq.handle));
}

/* Both fail; nothing waits for ever. */
TEST_F(wait, S11_cycle)
{
	struct t_qp m, c;
	struct t_done done[2];
	uint64_t start, a, b;
	int got[2];

	ASSERT_OK(open_qp(&m, self->fd, SHORT));
	ASSERT_OK(open_qp(&c, self->fd, SHORT));
	a = post_wait(&m, c.cqc.cqn, 0);
	b = post_wait(&c, m.cqc.cqn, 0);
	start = t_now();
	t_ring(&m);
	t_ring(&c);
	got[0] = t_wait(&m, a, &done[0]);
	got[1] = t_wait(&c, b, &done[1]);
	TH_LOG("ended after %llu ms", (unsigned long long)((t_now() - start) / MS));
	/* the error of the first is an entry: the other one may be content with it */
	EXPECT_TRUE(got[0] == GDA_MLX5_SYND_RETRY_EXC || got[1] == GDA_MLX5_SYND_RETRY_EXC);
	EXPECT_TRUE(!got[0] || got[0] == GDA_MLX5_SYND_RETRY_EXC);
	EXPECT_TRUE(!got[1] || got[1] == GDA_MLX5_SYND_RETRY_EXC);
	EXPECT_LE(SHORT * MS, t_now() - start);
	t_qp_close(&m);
	t_qp_close(&c);
}

/* Its own CQ, which gets no entry while it waits. */
TEST_F(wait, S11_for_itself)
{
	struct t_qp c;
	struct t_done done;

	ASSERT_OK(open_qp(&c, self->fd, SHORT));
	EXPECT_EQ(GDA_MLX5_SYND_RETRY_EXC, run_wait(&c, c.cqc.cqn, 0, &done));
	EXPECT_EQ(GDA_MLX5_VENDOR_CQ, done.vendor);
	t_qp_close(&c);
	/* one of before is there, also if it is completed in the same visit */
	post_nop(&self->c);
	EXPECT_EQ(0, run_wait(&self->c, self->c.cqc.cqn, 0, &done));
}

TEST_F(wait, S11_CQ_destroyed)
{
	for (unsigned long i = 0; i < t_longer(20); i++) {
		struct gda_cq_create cq;
		struct t_done done;
		uint64_t index;

		ASSERT_OK(t_cq_create(self->fd, 0, 16, &cq));
		index = post_wait(&self->c, cq.cqn, 0);
		t_ring(&self->c);
		t_sleep_ns(i % 3 * 3 * MS);
		ASSERT_OK(t_destroy(self->fd, cq.handle));
		EXPECT_EQ(GDA_MLX5_SYND_LOCAL_QP_OP, t_wait(&self->c, index, &done));
		EXPECT_EQ(GDA_MLX5_VENDOR_CQ, done.vendor);
		t_qp_close(&self->c);
		ASSERT_OK(open_qp(&self->c, self->fd, LONG));
	}
}

/* Queues that wait are destroyed, or closed, at any time. */
TEST_F(wait, S11_destroyed_while_it_waits)
{
	for (unsigned long i = 0; i < t_longer(20); i++) {
		int fd = t_context();
		struct t_qp m, c;

		ASSERT_LE(0, fd);
		ASSERT_OK(open_qp(&m, fd, LONG));
		ASSERT_OK(open_qp(&c, fd, LONG));
		post_wait(&c, m.cqc.cqn, 0);
		t_ring(&c);
		t_sleep_ns(i % 4 * MS);
		if (i % 2)
			t_qp_close(&c);
		else
			t_qp_unmap(&c);
		post_nop(&m);
		t_ring(&m);
		t_qp_unmap(&m);
		close(fd);
	}
}

/* A worker that has nothing to do but to wait sleeps. Not of the in-process device. */
TEST_F(wait, S11_costs_no_visits)
{
	struct t_qp *m = &self->m, c;
	struct gda_qp_query before, after;
	uint64_t index;

	ASSERT_OK(open_qp(&c, self->fd, LONG));
	index = post_wait(&c, m->cqc.cqn, 0);
	t_ring(&c);
	/* A worker naps between its last looks, too: it is at rest when it makes none any more. */
	ASSERT_OK(t_qp_query(self->fd, c.qpc.handle, &before));
	for (uint64_t end = t_now() + T_WAIT_NS; t_now() < end; before = after) {
		t_sleep_ns(50 * MS);
		ASSERT_OK(t_qp_query(self->fd, c.qpc.handle, &after));
		if (after.worker == GDA_QP_WORKER_SLEEPS && after.passes == before.passes)
			break;
	}
	ASSERT_EQ(GDA_QP_WORKER_SLEEPS, after.worker);
	ASSERT_EQ(before.passes, after.passes);
	t_sleep_ns(500 * MS);
	ASSERT_OK(t_qp_query(self->fd, c.qpc.handle, &after));
	TH_LOG("%llu passes in 500 ms", (unsigned long long)(after.passes - before.passes));
	EXPECT_GE(before.passes + 2, after.passes);
	post_nop(m);
	t_ring(m);
	EXPECT_OK(t_wait(&c, index, NULL));
	t_qp_close(&c);
}

#define WAITERS	63U

/* Work requests that a queue completes in @ns. */
static uint64_t rate(struct t_qp *qp, uint64_t ns)
{
	uint64_t end = t_now() + ns, n = 0;

	while (t_now() < end) {
		for (uint32_t i = 0; i < DEPTH / 2; i++)
			post_nop(qp);
		t_ring(qp);
		if (t_wait(qp, qp->next - 1, NULL))
			return 0;
		n += DEPTH / 2;
	}
	return n;
}

/*
 * Queues of the same context, idle and then waiting for what does not come, beside one that works:
 * all its work is done. How fast is told, and not judged: a machine that does other things is not
 * steady enough.
 */
TEST_F(wait, S11_others_go_on)
{
	uint64_t without[5], with[5];
	struct t_qp c[WAITERS];

	for (int i = 0; i < 5; i++) {
		for (uint32_t k = 0; k < WAITERS; k++)
			ASSERT_OK(open_qp(&c[k], self->fd, LONG));
		without[i] = rate(&self->m, 100 * MS);
		for (uint32_t k = 0; k < WAITERS; k++) {
			post_wait(&c[k], self->c.cqc.cqn, k);
			t_ring(&c[k]);
		}
		with[i] = rate(&self->m, 100 * MS);
		for (uint32_t k = 0; k < WAITERS; k++)
			t_qp_close(&c[k]);
		ASSERT_NE(0, without[i]);
		ASSERT_NE(0, with[i]);
	}
	t_sort(without, 5);
	t_sort(with, 5);
	TH_LOG("%llu%% of its rate beside %u queues that wait",
	       (unsigned long long)(with[2] * 100 / without[2]), WAITERS);
}

/* The queue whose cell lies @bytes behind that of @qp, of @n queues. */
static struct t_qp *neighbour(struct t_qp *qps, unsigned int n, const struct t_qp *qp,
			      uint32_t bytes)
{
	for (unsigned int i = 0; i < n; i++)
		if (qps[i].qpc.db.cookie == qp->qpc.db.cookie &&
		    qps[i].qpc.db.offset == qp->qpc.db.offset + bytes)
			return &qps[i];
	return NULL;
}

#define CELLS	8U
#define BUFFER	256U			/* BlueFlame's, on hardware */

TEST_F(wait, S11_blueflame_at_256)
{
	struct t_qp qps[CELLS], *qp = NULL, *victim = NULL;
	struct gda_qp_query query;
	struct t_done done;
	uint64_t index;

	for (unsigned int i = 0; i < CELLS; i++)
		ASSERT_OK(open_qp(&qps[i], self->fd, 0));
	for (unsigned int i = 0; i < CELLS && !victim; i++) {
		qp = &qps[i];
		victim = neighbour(qps, CELLS, qp, BUFFER);
	}
	ASSERT_NE(NULL, victim);
	for (int i = 0; i < 5; i++)
		post_nop(qp);
	for (int i = 0; i < 3; i++)
		index = post_nop(victim);
	t_ring(victim);
	ASSERT_OK(t_wait(victim, index, NULL));
	/* a whole entry, as BlueFlame stores it, whose index is no legal one of the victim's */
	for (int i = 0; i < 40; i++)
		index = post_nop(qp);
	memcpy((uint8_t *)qp->db + BUFFER + 8, qp->sq + index % DEPTH * 64 + 8, 56);
	*(volatile uint64_t *)((uint8_t *)qp->db + BUFFER) =
		*(uint64_t *)(qp->sq + index % DEPTH * 64);
	EXPECT_EQ(GDA_QP_ERROR, t_wait_state(qp, GDA_QP_READY, T_WAIT_NS));
	ASSERT_OK(t_qp_query(self->fd, qp->qpc.handle, &query));
	EXPECT_EQ(GDA_MLX5_VENDOR_DOORBELL, query.vendor);
	for (int i = 0; i < 100; i++) {
		index = post_nop(victim);
		t_ring(victim);
		ASSERT_EQ(0, t_wait(victim, index, &done)) TH_LOG("NOP %d", i);
	}
	for (unsigned int i = 0; i < CELLS; i++)
		t_qp_close(&qps[i]);
}

TEST_HARNESS_MAIN
