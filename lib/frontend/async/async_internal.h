/* SPDX-License-Identifier: MIT */
/*
 * Private to lib/frontend/async: a workspace and all that it owns.
 *
 * Queues lie in arrays with the index (group * nranks + rank) * queues + queue, as posters index
 * their views.
 */
#ifndef GDA_ASYNC_INTERNAL_H
#define GDA_ASYNC_INTERNAL_H

#include <gda/async.h>
#include "gda_internal.h"

struct gda_async_world {
	struct gda_async_workspace view;	/* first: the program has its address */
	struct gda_comm *ranks;			/* or NULL */
	struct gda_context *ctx;
	struct gda_async_attr attr;
	struct gda_qp **qps;
	struct gda_cuda_qp **gpu_qps;		/* if posters are a GPU: own those of @qps */
	struct gda_qp **mirrors;		/* if no QP connects to itself, see queues.c */
	uint64_t *views;
	uint64_t *stage;			/* a word for each queue, and one to be read */
	struct gda_mr *stage_mr;
	struct gda_mr **mrs;			/* of the windows, sorted by address */
	struct gda_async_window *windows;	/* likewise */
	struct gda_chunk *chunks;		/* of all ranks; each rank's word is the last */
	struct gda_chunk_map *maps;
	uint64_t gpu;				/* the copy of all of it on the GPU, or 0 */
};

/* queues.c */

/* Register the words of all queues, and one for peers to read. */
int gda_async_stage_create(struct gda_async_world *w);
void gda_async_stage_destroy(struct gda_async_world *w);
/* Create and connect all queues, and list their views; collective. */
int gda_async_queues_create(struct gda_async_world *w);
void gda_async_queues_destroy(struct gda_async_world *w);
size_t gda_async_count(const struct gda_async_world *w);

/* windows.c */

/* Register the windows, and tell the other ranks; collective. */
int gda_async_windows_create(struct gda_async_world *w);
void gda_async_windows_destroy(struct gda_async_world *w);

/* huge.c */

/*
 * Is all of @window backed by huge pages? Return: 0; or -EFAULT, and the range that is not is
 * noted.
 */
int gda_async_huge(const struct gda_async_window *window);

/* gpu.c; does nothing if posters are CPU threads */

int gda_async_gpu_create(struct gda_async_world *w);
void gda_async_gpu_destroy(struct gda_async_world *w);

#endif /* GDA_ASYNC_INTERNAL_H */
