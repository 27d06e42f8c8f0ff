/* SPDX-License-Identifier: MIT */
/*
 * Shared by the programs of Documentation/tutorial: MUST() ends the program when a call
 * fails, and a struct end is one end of a connection with the memory that it moves.
 */
#ifndef TUTORIAL_H
#define TUTORIAL_H

#include <stdio.h>
#include <stdlib.h>
#include <gda/fastpath.h>
#include <gda/gda.h>

/* Ends the program when @result is a negative errno, and returns it otherwise. */
static inline int64_t must(const char *call, int64_t result)
{
	if (result >= 0)
		return result;
	fprintf(stderr, "%s: %s\n", call, gda_strerror((int)result));
	exit(1);
}

#define MUST(call) must(#call, call)

/* A context, a queue pair in it, and memory that is registered with it. */
struct end {
	struct gda_context *ctx;
	struct gda_qp *qp;
	struct gda_mr *mr;
};

static inline void end_open(struct end *e, void *memory, size_t bytes)
{
	struct gda_qp_attr attr = { .size = sizeof(attr) };

	MUST(gda_open(NULL, &e->ctx));
	MUST(gda_qp_create(e->ctx, &attr, &e->qp));
	MUST(gda_mr_reg(e->ctx, memory, bytes, GDA_ACCESS_ALL, 0, &e->mr));
}

static inline void end_close(struct end *e)
{
	MUST(gda_mr_dereg(e->mr));
	MUST(gda_qp_destroy(e->qp));
	gda_close(e->ctx);
}

/* Connects two ends of one process, or one end to itself. */
static inline void end_connect(struct end *a, struct end *b)
{
	struct gda_address addr_a, addr_b;

	MUST(gda_qp_address(a->qp, &addr_a));
	MUST(gda_qp_address(b->qp, &addr_b));
	MUST(gda_qp_connect(a->qp, &addr_b));
	if (b != a)
		MUST(gda_qp_connect(b->qp, &addr_a));
}

/* A deadline @ms milliseconds from now. */
static inline uint64_t in_ms(uint64_t ms)
{
	return gda_clock_ns() + ms * 1000000;
}

#endif /* TUTORIAL_H */
