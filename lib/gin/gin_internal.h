/* SPDX-License-Identifier: MIT */
/*
 * Between the files of lib/gin: a communicator with all that it owns.
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

struct gda_gin_window {
	struct gda_window view;		/* first: what the program sees */
	struct gda_gin_world *world;
	struct gda_gin_window *next;	/* of the communicator's, under its lock */
	struct gda_mr **mrs;		/* of the caller's segments */
	uint32_t count;
	struct gda_chunk *chunks;	/* of all ranks */
	struct gda_chunk_map *maps;
	struct gda_window_part *parts;
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
	struct gda_counter **arrivals;	/* by arrival: of each slot of each context */
	uint64_t *tables;		/* words, resets, shadows and counts of the contexts */
	uint32_t *checks;
	uint64_t *memory;		/* what peers change: words, announcements, scratch */
	size_t memory_words;		/* of each context */
	struct gda_mr *mr;
	pthread_mutex_t lock;		/* guards the list */
	struct gda_gin_window *windows;
};

/* agree.c; all are collective */

/* gda_comm_allgather(), which drops no reason that was noted, and notes its own. */
int gda_gin_allgather(struct gda_comm *ranks, const void *in, size_t bytes, void *out);
/*
 * The outcome of a step that each rank has made for itself: 0 if all succeeded; else the
 * caller's error, or that of the first rank that has one.
 */
int gda_gin_agree(struct gda_comm *ranks, int err);
/* Find how many ranks a local team has. */
int gda_gin_local(struct gda_comm *ranks, uint32_t *local);
/* Is @attr, with @err of whoever read it, good, and the same on all ranks? */
int gda_gin_agree_attr(struct gda_comm *ranks, const struct gda_gin_attr *attr, int err);

/* queues.c */

/* Create, connect and describe all queues; collective. */
int gda_gin_queues_create(struct gda_gin_world *w);
void gda_gin_queues_destroy(struct gda_gin_world *w);

/* @err of a control call: its reason is that of the call that is under way. */
static inline int gda_gin_because(int err)
{
	return err ? gda_because(err, "%s", gda_last_error()) : 0;
}

static inline size_t gda_gin_at(const struct gda_gin_world *w, uint32_t context,
				uint32_t endpoint, uint32_t rank)
{
	return ((size_t)context * w->endpoints + endpoint) * w->view.nranks + rank;
}

#endif /* GDA_GIN_INTERNAL_H */
