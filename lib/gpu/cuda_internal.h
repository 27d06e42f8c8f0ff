/* SPDX-License-Identifier: MIT */
/*
 * Between the files of lib/gpu. A *map* is a region of libgda's that the GPU has
 * mapped, too; QPs share them. Lock order: the list of GPUs, then cuda->lock.
 */
#ifndef GDA_CUDA_INTERNAL_H
#define GDA_CUDA_INTERNAL_H

#include <pthread.h>
#include <gda/cuda.h>
#include "driver.h"
#include "copier.h"

struct gda_cuda_map {
	struct gda_cuda_map *next;
	void *host;
	size_t length;
	uint64_t addr;
	unsigned int users;
};

struct gda_cuda {
	struct gda_cuda *next;		/* of all that are open */
	struct gda_context *ctx;
	unsigned int generation;	/* of the process that opened it: gda_fork_generation() */
	int ordinal;
	int device;
	int priority;			/* of streams: the greatest */
	void *context;
	struct gda_cuda_caps caps;
	pthread_mutex_t lock;		/* guards the lists */
	struct gda_cuda_map *maps;
	struct gda_cuda_qp *qps;
	struct gda_cuda_lane *lane;	/* for words, or NULL: no MR had any yet */
};

/* enter.c */

/* Opened by a parent of this process? Then CUDA does not know of it. */
bool gda_cuda_inherited(const struct gda_cuda *cuda);

/* For calls from a thread of the program: its current context comes back in the end. */
int gda_cuda_enter(struct gda_cuda *cuda);
void gda_cuda_leave(void);

/* Of the in-process device, and so with a copier? */
bool gda_cuda_copies(const struct gda_cuda *cuda);

/* map.c; between gda_cuda_enter() and gda_cuda_leave() */

/* Map the region that @host lies in, or use that once more; @addr is what @host is. */
int gda_cuda_map_get(struct gda_cuda *cuda, const struct gda_region *region, uint64_t host,
		     uint64_t *addr, struct gda_cuda_map **map);
void gda_cuda_map_put(struct gda_cuda *cuda, struct gda_cuda_map *map);

/* qp.c */
void gda_cuda_qp_destroy_all(struct gda_cuda *cuda);

/* copier.c */

/*
 * The stage: room for what is on its way through the host within one GPU. Pieces, that one
 * copy engine fills while the other empties the one before, and room for a small transfer,
 * which one engine does both ways.
 */
#define GDA_CUDA_PIECES		3U
#define GDA_CUDA_PIECE		(2U << 20)
#define GDA_CUDA_SMALL		(256U << 10)
#define GDA_CUDA_STAGE_BYTES	(GDA_CUDA_PIECES * GDA_CUDA_PIECE + GDA_CUDA_SMALL)

struct gda_cuda_copier {
	struct gda_inproc_copier base;
	struct gda_cuda *cuda;
	void *stream[GDA_INPROC_LANES];
	uint64_t host_addr;		/* of what it has in pinned memory */
	uint64_t host_bytes;
	uint64_t stage;			/* of that; 0: not to be used */
	void *fill;			/* stream that fills pieces of the stage */
	void *full[GDA_CUDA_PIECES];	/* events, recorded when it has */
	void *empty[GDA_CUDA_PIECES];	/* ... and when the lane of the data has emptied it */
	void *order;			/* event: up to here @fill has to wait for that lane */
	uint32_t piece;			/* the next to be filled, counted on */
	uint64_t wrote_from;		/* copies of that lane may write behind @order */
	uint64_t wrote_to;
};

/*
 * Give it streams, with @stages also for the stage; the rest of @c->base is the caller's to
 * fill. Entered.
 */
int gda_cuda_copier_init(struct gda_cuda *cuda, struct gda_cuda_copier *c, bool stages);
void gda_cuda_copier_exit(struct gda_cuda_copier *c);
/* Order what begins on the lane of its data from now on behind @event. */
int gda_cuda_copier_wait(struct gda_inproc_copier *base, void *event);

/* word_lane.c */

/* Use the lane for words of this GPU's memory once more. Entered. */
int gda_cuda_lane_get(struct gda_cuda *cuda, struct gda_inproc_lane **lane);
/* The GPU is being closed: what MRs still use stays. */
void gda_cuda_lane_close(struct gda_cuda *cuda);

#endif /* GDA_CUDA_INTERNAL_H */
