/* SPDX-License-Identifier: MIT */
/*
 * Private to lib/frontend/gin: a communicator and all that it owns.
 *
 * Arrays with an element per context, endpoint and rank have the index (context * endpoints +
 * endpoint) * nranks + rank. A context's "slots" are its signals followed by its barriers.
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
	struct gda_window view;		/* first: the program has its address */
	struct gda_gin_world *world;
	struct gda_gin_window *next;	/* in the communicator's list, under its lock */
	struct gda_mr **mrs;		/* of the caller's segments */
	uint32_t count;
	struct gda_chunk *chunks;	/* of all ranks */
	struct gda_chunk_map *maps;
	struct gda_window_part *parts;
	uint64_t gpu;			/* the copy for posters, or 0 */
};

/* Of a context and a peer. */
struct gda_gin_epoch_parts {
	struct gda_gin_epochs epochs;	/* the program has its address */
	struct gda_counter *counters[2];
	struct gda_cq *ring;
};

struct gda_gin_world {
	struct gda_gin_comm view;	/* first: the program has its address */
	struct gda_comm *ranks;
	struct gda_context *ctx;
	struct gda_gin_attr attr;
	uint32_t endpoints;		/* queues to each peer, in each context */
	uint32_t slots;			/* signals and barriers of each context */
	struct gda_gin *gins;
	struct gda_gin_queue *queues;
	struct gda_qp **qps;
	struct gda_qp **mirrors;	/* if the device lacks GDA_FEATURE_LOOPBACK, see queues.c */
	struct gda_counter **arrivals;	/* signals by arrival: of each slot of each context */
	struct gda_gin_epoch_parts *epochs;	/* GDA_GIN_EPOCHS: context * nranks + peer */
	uint64_t *tables;		/* words, resets, shadows and counts of all contexts */
	uint32_t *checks;
	uint64_t *memory;		/* written by peers: words, announcements, scratch */
	size_t memory_words;		/* of each context */
	struct gda_mr *mr;
	uint64_t shared;		/* address of the signals: in @memory, or on the GPU */
	size_t shared_words;		/* from one context to the next */
	struct gda_mr *shared_mr;	/* @mr, or the MR of the GPU's memory */
	/* only if posters are a GPU: */
	struct gda_cuda *cuda;
	uint32_t place;			/* of queues */
	struct gda_cuda_qp **gpu_qps;	/* own those of @qps */
	uint64_t gpu_signals;		/* memory of the GPU for signals, or 0 */
	uint64_t gpu;			/* copy of all that posters use */
	uint64_t lost;			/* the GPU's address of the ranks' abort words */
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
/* Check that @attr is valid and the same on all ranks; @err is the result of reading it. */
int gda_gin_agree_attr(struct gda_comm *ranks, const struct gda_gin_attr *attr, int err);

/* queues.c */

/* Does this rank have queues to @peer? */
bool gda_gin_connects(const struct gda_gin_world *w, uint32_t peer);
/*
 * The first word of slot @slot: with senders' words a signal has as many as there are ranks, and
 * with epochs one more.
 */
uint64_t gda_gin_word_at(const struct gda_gin_world *w, uint64_t slot);

/* Create, connect and describe all queues; collective. */
int gda_gin_queues_create(struct gda_gin_world *w);
void gda_gin_queues_destroy(struct gda_gin_world *w);

/* epochs.c; does nothing without GDA_GIN_EPOCHS */

/* How many words of each context it needs in memory that peers write. */
size_t gda_gin_epochs_words(const struct gda_gin_world *w);
/* Create what queues need; they follow. */
int gda_gin_epochs_create(struct gda_gin_world *w);
/* Write to queue @q where the words of its epochs are. */
void gda_gin_epochs_describe(struct gda_gin_world *w, struct gda_gin_queue *q, uint32_t context,
			     uint32_t peer);
void gda_gin_epochs_destroy(struct gda_gin_world *w);

/* Size of gda_gin_world.tables and .checks, in bytes. */
static inline size_t gda_gin_tables_bytes(const struct gda_gin_world *w)
{
	return w->attr.contexts * (3 * (size_t)w->slots + w->attr.counters) * sizeof(uint64_t);
}

static inline size_t gda_gin_checks_bytes(const struct gda_gin_world *w)
{
	return w->attr.contexts * (1 + (size_t)w->attr.barriers) * sizeof(uint32_t);
}

/* gpu.c; does nothing if posters are CPU threads */

/* May signals be words in GPU memory? */
bool gda_gin_gpu_words(struct gda_cuda *cuda);
/* If the attributes ask for it, allocate the words that peers add to in GPU memory. */
int gda_gin_gpu_signals_create(struct gda_gin_world *w);
void gda_gin_gpu_signals_destroy(struct gda_gin_world *w);
/* Create queue @at for the GPU. */
int gda_gin_gpu_queue_create(struct gda_gin_world *w, size_t at);
/* Copy the described communicator to the GPU. */
int gda_gin_gpu_create(struct gda_gin_world *w);
void gda_gin_gpu_destroy(struct gda_gin_world *w);
/* The same for a window with at most @pieces segments per rank. */
int gda_gin_gpu_window_create(struct gda_gin_window *win, uint32_t pieces);
void gda_gin_gpu_window_destroy(struct gda_gin_window *win);

static inline size_t gda_gin_at(const struct gda_gin_world *w, uint32_t context,
				uint32_t endpoint, uint32_t rank)
{
	return ((size_t)context * w->endpoints + endpoint) * w->view.nranks + rank;
}

#endif /* GDA_GIN_INTERNAL_H */
