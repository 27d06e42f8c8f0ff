/* SPDX-License-Identifier: MIT */
/*
 * Ranks of the examples of gda/async.h: each example is a body that every rank runs.
 */
#ifndef ASYNC_RANKS_H
#define ASYNC_RANKS_H

#include <stdbool.h>
#include <stdint.h>
#include <gda/async.h>
#include "../ranks.h"

struct rank {
	struct gda_comm *ranks;
	struct gda_context *ctx;
	struct gda_async_workspace *workspace;
	uint32_t rank, nranks;
	void *memory;			/* the window of this rank, zeroed */
	void **memories;		/* where each rank has its own */
};

/* must(), of a copy that has to be on its way. */
struct gda_async_event begun(struct gda_async_event event, const char *name);

/*
 * Run @body on all ranks, each with a window of @bytes, and groups and queues as @attr has them.
 * It returns whether its result is that of a serial reference. Return: the exit status.
 */
int run_ranks(const char *name, const struct gda_async_attr *attr, size_t bytes,
	      bool (*body)(struct rank *r));

#endif /* ASYNC_RANKS_H */
