// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The cost of the engine: executes ROUNDS batches of BATCH 8-byte work requests, all
 * signaled, on a collapsed CQ. Run under callgrind (bench.sh), which counts the
 * instructions below gda_engine_visit(); alone it prints the rate.
 *
 * usage: bench OP BATCH ROUNDS, OP one of write inline read fetch_add nop
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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

static void bench_post(struct bench *b, const char *op, u64 n)
{
	u64 off = n * 8 % BENCH_BYTES;

	if (!strcmp(op, "write"))
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
	double in = 0;
	u32 i, k;

	b.qp = th_qp_new(&b.dev, &dom_a, BENCH_DEPTH, 0);
	b.peer = th_qp_new(&b.dev, &dom_b, BENCH_DEPTH, 0);
	b.qp->q.sent = NULL;
	b.peer->q.recv = NULL;
	th_qp_pair(b.qp, b.peer);
	b.local = th_mr_new(&b.dev, &dom_a, 0x10000, BENCH_BYTES, GDA_ACCESS_ALL, 12, 0);
	b.remote = th_mr_new(&b.dev, &dom_b, 0x900000, BENCH_BYTES, GDA_ACCESS_ALL, 12, 0);
	if (!batch || batch > BENCH_DEPTH)
		return 2;

	for (i = 0; i < rounds; i++) {
		double start;

		for (k = 0; k < batch; k++)
			bench_post(&b, op, (u64)i * batch + k);
		th_ring(b.qp);
		start = bench_now();
		if (gda_engine_visit(&b.qp->q, batch, 1U << 20) != batch)
			return 1;
		in += bench_now() - start;
	}
	if (b.qp->q.executed != (u64)rounds * batch ||
	    th_cqe_counter(b.qp) != (u16)(b.qp->next - 1))
		return 1;
	fprintf(stderr, "%s, batches of %u: %.1f ns each\n", op, batch,
		in / rounds / batch * 1000000000);
	th_mr_free(&b.dev, b.local);
	th_mr_free(&b.dev, b.remote);
	th_qp_free(b.qp);
	th_qp_free(b.peer);
	return 0;
}
