/* SPDX-License-Identifier: MIT */
/*
 * Between the files of lib/frontend/gin: a communicator with all that it owns.
 *
 * Everything that is there once per context, endpoint and rank lies in arrays with the
 * index (context * endpoints + endpoint) * nranks + rank. Signals are counted with the
 * slots of barriers behind them: "slots" of a context.
 */
#ifndef GDA_GIN_INTERNAL_H
#define GDA_GIN_INTERNAL_H

#include <pthread.h>
#include <gda/gin.h>
#include "gda_internal.h"

struct gda_cuda;
struct gda_cuda_map;
struct gda_cuda_qp;

struct gda_gin_window {
	struct gda_window view;		/* first: what the program sees */
	struct gda_gin_world *world;
	struct gda_gin_window *next;	/* of the communicator's, under its lock */
	struct gda_mr **mrs;		/* of the caller's segments */
	uint32_t count;
	struct gda_chunk *chunks;	/* of all ranks */
	struct gda_chunk_map *maps;
	struct gda_window_part *parts;
	uint64_t gpu;			/* where the posters have it, or 0 */
};

struct gda_gin_world {
	struct gda_gin_comm view;	/* first: what the program sees */
	struct gda_comm *ranks;
	struct gda_context *ctx;
	struct gda_gin_attr attr;
	uint32_t endpoints;		/* queues to a peer, of each context */
	uint32_t slots;			/* signals of each context, with those of barriers */
	struct gda_gin *gins;
	struct gda_gin_queue *queues;
	struct gda_qp **qps;
	struct gda_qp **mirrors;	/* of a device without GDA_FEATURE_LOOPBACK, see queues.c */
	struct gda_counter **arrivals;	/* by arrival: of each slot of each context */
	uint64_t *tables;		/* words, resets, shadows and counts of the contexts */
	uint32_t *checks;
	uint64_t *memory;		/* peers change it: words, announcements, scratch */
	size_t memory_words;		/* of each context */
	struct gda_mr *mr;
	uint64_t shared;		/* where signals begin: in @memory, or on the GPU */
	size_t shared_words;		/* of each context, from one to the next */
	struct gda_mr *shared_mr;	/* @mr, or that of the GPU's */
	/* if posters are a GPU: */
	struct gda_cuda *cuda;
	uint32_t place;			/* of queues */
	struct gda_cuda_qp **gpu_qps;	/* those of @qps belong to them */
	uint64_t gpu_signals;		/* memory of the GPU for signals, or 0 */
	uint64_t gpu;			/* copy of the communicator, with all that posters use */
	uint64_t lost;			/* where they have the abort words of the ranks */
	struct gda_cuda_map *lost_map;
	pthread_mutex_t lock;		/* guards the list */
	struct gda_gin_window *windows;
};

/* gin.c */

/* gda_gin_query_error(), of any context. */
int gda_gin_find_error(const struct gda_gin *gin, struct gda_gin_error *e);

/* same_attr.c; all are collective */

/* Find how many ranks a local team has. */
int gda_gin_local(struct gda_comm *ranks, uint32_t *local);
/* Is @attr, with @err of whoever read it, good, and the same on all ranks? */
int gda_gin_agree_attr(struct gda_comm *ranks, const struct gda_gin_attr *attr, int err);

/* queues.c */

/* Create, connect and describe all queues; collective. */
int gda_gin_queues_create(struct gda_gin_world *w);
void gda_gin_queues_destroy(struct gda_gin_world *w);

/* Bytes of gda_gin_world.tables and .checks. */
static inline size_t gda_gin_tables_bytes(const struct gda_gin_world *w)
{
	return w->attr.contexts * (3 * (size_t)w->slots + w->attr.counters) * sizeof(uint64_t);
}

static inline size_t gda_gin_checks_bytes(const struct gda_gin_world *w)
{
	return w->attr.contexts * (1 + (size_t)w->attr.barriers) * sizeof(uint32_t);
}

/* gpu.c; nothing where posters are CPU threads */

/* May words in memory of the GPU be signals? */
bool gda_gin_gpu_words(struct gda_cuda *cuda);
/* Have the words that peers add to in memory of the GPU, if the communicator is to. */
int gda_gin_gpu_signals_create(struct gda_gin_world *w);
void gda_gin_gpu_signals_destroy(struct gda_gin_world *w);
/* Create queue @at for the GPU. */
int gda_gin_gpu_queue_create(struct gda_gin_world *w, size_t at);
/* Copy the communicator, which is described, to the GPU. */
int gda_gin_gpu_create(struct gda_gin_world *w);
void gda_gin_gpu_destroy(struct gda_gin_world *w);
/* Likewise a window, at most @pieces segments a rank. */
int gda_gin_gpu_window_create(struct gda_gin_window *win, uint32_t pieces);
void gda_gin_gpu_window_destroy(struct gda_gin_window *win);

static inline size_t gda_gin_at(const struct gda_gin_world *w, uint32_t context,
				uint32_t endpoint, uint32_t rank)
{
	return ((size_t)context * w->endpoints + endpoint) * w->view.nranks + rank;
}

#endif /* GDA_GIN_INTERNAL_H */
