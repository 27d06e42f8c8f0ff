/* SPDX-License-Identifier: MIT */
/*
 * Common part of the examples of gda/gin.h: each is a body that every rank runs.
 */
#ifndef GIN_RANKS_H
#define GIN_RANKS_H

#include <stdbool.h>
#include <stdint.h>
#include <gda/gin.h>
#include "ranks.h"

struct rank {
	struct gda_comm *ranks;
	struct gda_context *ctx;
	struct gda_gin_comm *comm;
	struct gda_gin *gin;
	uint32_t rank, nranks;
};

/* Memory of @bytes, zeroed, and a window of it. */
void *window_of(struct rank *r, size_t bytes, struct gda_window **window);

/*
 * Run @body on all ranks, with the communicator that @attr asks for. It returns whether its
 * result is that of a serial reference. Return: the exit status.
 */
int run_ranks(const char *name, const struct gda_gin_attr *attr, bool (*body)(struct rank *r));

#endif /* GIN_RANKS_H */
