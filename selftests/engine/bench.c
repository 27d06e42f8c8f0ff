// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The cost of the engine: executes ROUNDS batches of BATCH 8-byte work requests, all
 * signaled, on a collapsed CQ. Run under callgrind (bench.sh), which counts the
 * instructions below gda_engine_visit(); alone it prints the rate.
 *
 * usage: bench OP BATCH ROUNDS, OP one of write inline read fetch_add nop; or efa_write,
 * efa_inline, efa_read, of queues in the efa dialect, whose completions go to a ring
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <gda/efa.h>
#include "host.h"

#define BENCH_BYTES	65536U
#define BENCH_DEPTH	256U

struct bench {
	struct th_dev dev;
	struct th_qp *qp;
	struct th_qp *peer;
	struct th_mr *local;
	struct th_mr *remote;
};

/* What gda_host_target() finds: as a host does, by a table, and its key is compared. */
static struct gda_engine_qp *bench_peer;

static struct gda_status bench_target(struct gda_engine_qp *q, struct gda_engine_qp **peer)
{
	if (q->work.target.key != 7)
		return gda_status(GDA_CLASS_REMOTE_ACCESS, GDA_CAUSE_KEY);
	*peer = READ_ONCE(bench_peer);
	return gda_status(GDA_CLASS_NONE, GDA_CAUSE_NONE);
}

static void bench_efa(struct th_qp *qp, u32 bytes)
{
	qp->q.dialect = gda_dialect_slots(&gda_dialect_efa, bytes);
	qp->q.depth = BENCH_DEPTH;
	qp->cq.dialect = &gda_dialect_efa;
	qp->cq.consumer = NULL;
	qp->cq.wide = 1;
	qp->q.state = GDA_QP_READY;
	gda_engine_init(&qp->q);
	gda_cq_init(&qp->cq);
}

static void bench_post_efa(struct bench *b, const char *op, u64 n)
{
	u32 bytes = b->qp->q.dialect->slot_bytes;
	struct gda_efa_wide_wqe *e = (void *)(b->qp->sq + (n & (BENCH_DEPTH - 1)) * bytes);
	bool inlined = !strcmp(op, "efa_inline");
	u64 off = n * 8 % BENCH_BYTES;
	u8 ctrl1 = !strcmp(op, "efa_read") ? GDA_EFA_READ : GDA_EFA_WRITE;

	gda_efa_set_what(&e->meta, n, (u8)(ctrl1 | (inlined ? GDA_EFA_INLINE : 0)),
			 (u32)(n / BENCH_DEPTH), inlined ? 8 : 1, 0);
	gda_efa_set_whom(&e->meta, 1, 2, 7);
	gda_efa_set_segment(&e->remote, b->remote->mem.iova + off, b->remote->mem.key, 8);
	if (inlined)
		memcpy(e->data, &n, 8);
	else
		gda_efa_set_segment((void *)e->data, b->local->mem.iova + off,
				    b->local->mem.key >> GDA_EFA_LKEY_SHIFT, 8);
	b->qp->next = n + 1;
	__atomic_store_n((u16 *)(void *)&b->qp->db, (u16)(n + 1), __ATOMIC_RELEASE);
}

static void bench_post(struct bench *b, const char *op, u64 n)
{
	u64 off = n * 8 % BENCH_BYTES;

	if (!strncmp(op, "efa_", 4))
		bench_post_efa(b, op, n);
	else if (!strcmp(op, "write"))
		th_rdma(b->qp, GDA_MLX5_WRITE, GDA_MLX5_CE_ALWAYS, b->local, off, b->remote,
			off, 8);
	else if (!strcmp(op, "inline"))
		th_inline(b->qp, GDA_MLX5_CE_ALWAYS, &n, 8, b->remote, off);
	else if (!strcmp(op, "read"))
		th_rdma(b->qp, GDA_MLX5_READ, GDA_MLX5_CE_ALWAYS, b->local, off, b->remote,
			off, 8);
	else if (!strcmp(op, "fetch_add"))
		th_atomic(b->qp, GDA_MLX5_ATOMIC_FA, GDA_MLX5_CE_ALWAYS, b->local, off,
			  b->remote, off, 1, 0);
	else
		th_nop(b->qp, GDA_MLX5_CE_ALWAYS);
}

static double bench_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	const char *op = argc > 1 ? argv[1] : "write";
	u32 batch = argc > 2 ? (u32)atoi(argv[2]) : 16;
	u32 rounds = argc > 3 ? (u32)atoi(argv[3]) : 100000;
	static int dom_a, dom_b;
	struct bench b = { .dev.variant = 1 };
	bool efa = !strncmp(op, "efa_", 4);
	double in = 0;
	u32 i, k;

	b.qp = th_qp_new(&b.dev, &dom_a, (1 + efa) * BENCH_DEPTH, efa * 2 * BENCH_DEPTH);
	b.peer = th_qp_new(&b.dev, &dom_b, (1 + efa) * BENCH_DEPTH, efa * 2 * BENCH_DEPTH);
	b.qp->q.sent = NULL;
	b.peer->q.recv = NULL;
	if (efa) {
		u32 bytes = strcmp(op, "efa_inline") ? GDA_EFA_SLOT_BYTES : GDA_EFA_WIDE_BYTES;

		th_target = bench_target;
		bench_peer = &b.peer->q;
		bench_efa(b.qp, bytes);
		bench_efa(b.peer, bytes);
	} else {
		th_qp_pair(b.qp, b.peer);
	}
	b.local = th_mr_new(&b.dev, &dom_a, 0x10000, BENCH_BYTES, GDA_ACCESS_ALL, 12, 0);
	b.remote = th_mr_new(&b.dev, &dom_b, 0x900000, BENCH_BYTES, GDA_ACCESS_ALL, 12, 0);
	if (!batch || batch > BENCH_DEPTH)
		return 2;

	for (i = 0; i < rounds; i++) {
		double start;

		for (k = 0; k < batch; k++)
			bench_post(&b, op, (u64)i * batch + k);
		if (!efa)
			th_ring(b.qp);
		start = bench_now();
		if (gda_engine_visit(&b.qp->q, batch, 1U << 20) != batch)
			return 1;
		in += bench_now() - start;
	}
	if (b.qp->q.executed != (u64)rounds * batch ||
	    (!efa && th_cqe_counter(b.qp) != (u16)(b.qp->next - 1)))
		return 1;
	fprintf(stderr, "%s, batches of %u: %.1f ns each\n", op, batch,
		in / rounds / batch * 1000000000);
	th_mr_free(&b.dev, b.local);
	th_mr_free(&b.dev, b.remote);
	th_qp_free(b.qp);
	th_qp_free(b.peer);
	return 0;
}
