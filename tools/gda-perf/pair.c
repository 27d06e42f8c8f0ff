// SPDX-License-Identifier: MIT
/* The two ends of the puts, which are two contexts of this process, and idle QPs beside them. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include "perf.h"

/* A wait that takes longer than this has failed. */
#define PERF_TIMEOUT_NS	20000000000ULL

char *perf_memory(void)
{
	static unsigned int times;
	size_t skip = 4096UL * 19 * ++times;
	char *p = mmap(NULL, PERF_MAX_BYTES + skip, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		perf_die("out of memory");
	p += skip;
	memset(p, 1, PERF_MAX_BYTES);
	return p;
}

static struct gda_qp *perf_qp(struct gda_context *ctx, unsigned int depth)
{
	struct gda_qp_attr attr = {
		.size = sizeof(attr), .sq_depth = depth, .timeout_ns = PERF_TIMEOUT_NS,
	};
	struct gda_qp *qp;

	perf_must(gda_qp_create(ctx, &attr, &qp), "gda_qp_create");
	return qp;
}

void perf_end_open(struct perf_end *e)
{
	e->memory = perf_memory();
	perf_must(gda_open(NULL, &e->ctx), "gda_open");
	e->qp = perf_qp(e->ctx, perf_options.depth);
	e->v = gda_qp_view(e->qp);
	perf_must(gda_mr_reg(e->ctx, e->memory, PERF_MAX_BYTES, GDA_ACCESS_ALL, 0, &e->mr),
		  "gda_mr_reg (RLIMIT_MEMLOCK?)");
}

void perf_pair_open(struct perf_pair *p)
{
	perf_worker_before();
	perf_end_open(&p->from);
	perf_worker_after("worker of the context that posts");
	perf_worker_before();
	perf_end_open(&p->to);
	perf_worker_after("worker of the target's context, which has nothing to do");
	perf_pair_connect(p);
}

void perf_pair_connect(struct perf_pair *p)
{
	struct gda_address from, to;

	perf_must(gda_qp_address(p->from.qp, &from), "gda_qp_address");
	perf_must(gda_qp_address(p->to.qp, &to), "gda_qp_address");
	perf_must(gda_qp_connect(p->from.qp, &to), "gda_qp_connect");
	perf_must(gda_qp_connect(p->to.qp, &from), "gda_qp_connect");
	p->laddr = gda_mr_iova(p->from.mr);
	p->lkey = gda_mr_key(p->from.mr);
	p->raddr = gda_mr_iova(p->to.mr);
	p->rkey = gda_mr_key(p->to.mr);
}

/* Each idle QP is connected to itself, and was used once. */
int perf_crowd_open(struct gda_context *ctx, struct gda_qp **qps, unsigned int n)
{
	struct gda_qp_attr attr = {
		.size = sizeof(attr), .sq_depth = 16, .timeout_ns = PERF_TIMEOUT_NS,
	};
	struct gda_address addr;
	int err = 0;

	for (unsigned int i = 0; i < n && !err; i++) {
		err = gda_qp_create(ctx, &attr, &qps[i]);
		if (!err)
			err = gda_qp_address(qps[i], &addr);
		if (!err)
			err = gda_qp_connect(qps[i], &addr);
		if (!err)
			err = gda_wait(gda_qp_view(qps[i]), gda_nop(gda_qp_view(qps[i]), 0), 0);
	}
	return err;
}

void perf_crowd_close(struct gda_qp **qps, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		gda_qp_destroy(qps[i]);
		qps[i] = NULL;
	}
}
