/* SPDX-License-Identifier: MIT */
/*
 * Private to lib/gpu. A *map* is a region of libgda that the GPU has mapped, too; QPs share maps.
 * Lock order: the list of GPUs, then cuda->lock.
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
	struct gda_cuda *next;		/* in the list of all open GPUs */
	struct gda_context *ctx;
	unsigned int generation;	/* gda_fork_generation() of the process that opened it */
	int ordinal;
	int device;
	int priority;			/* of streams: the greatest */
	void *context;
	struct gda_cuda_caps caps;
	pthread_mutex_t lock;		/* guards the lists */
	struct gda_cuda_map *maps;
	struct gda_cuda_qp *qps;
	struct gda_cuda_lane *lane;	/* the lane for words, or NULL if no MR needed it yet */
};

/* enter.c */

/* Was the GPU opened by a parent of this process? Then CUDA cannot be used with it. */
bool gda_cuda_inherited(const struct gda_cuda *cuda);

/*
 * Make the GPU's context current on a thread of the program; the leave function restores the old
 * one.
 */
int gda_cuda_enter(struct gda_cuda *cuda);
void gda_cuda_leave(void);

/* Does the GPU belong to an in-process device, and so need a copier? */
bool gda_cuda_copies(const struct gda_cuda *cuda);

/* map.c; between gda_cuda_enter() and gda_cuda_leave() */

/*
 * Map the region that contains @host, or count another user; *@addr is the GPU's address of @host.
 */
int gda_cuda_map_get(struct gda_cuda *cuda, const struct gda_region *region, uint64_t host,
		     uint64_t *addr, struct gda_cuda_map **map);
void gda_cuda_map_put(struct gda_cuda *cuda, struct gda_cuda_map *map);

/* qp.c */
void gda_cuda_qp_destroy_all(struct gda_cuda *cuda);

/* copier.c */

/*
 * The stage: pinned memory through which copies within one GPU go. It has pieces, of which one copy
 * engine fills one while the other empties another, and room for a small transfer, which one engine
 * does both ways.
 */
#define GDA_CUDA_PIECES		3U
#define GDA_CUDA_PIECE		(2U << 20)
#define GDA_CUDA_SMALL		(256U << 10)
#define GDA_CUDA_STAGE_BYTES	(GDA_CUDA_PIECES * GDA_CUDA_PIECE + GDA_CUDA_SMALL)

/* Stores of a lane that are held back, to be begun by one call of the driver. */
#define GDA_CUDA_STORES		16U

struct gda_cuda_stores {
	union gda_cu_memop ops[GDA_CUDA_STORES];
	uint32_t count;
};

struct gda_cuda_copier {
	struct gda_inproc_copier base;
	struct gda_cuda *cuda;
	void *stream[GDA_INPROC_LANES];
	uint64_t host_addr;		/* the GPU's address of its pinned memory */
	uint64_t host_bytes;
	uint64_t stage;			/* the stage in there; 0: not to be used */
	void *fill;			/* the stream that fills pieces of the stage */
	void *full[GDA_CUDA_PIECES];	/* events: piece was filled */
	void *empty[GDA_CUDA_PIECES];	/* ... piece was emptied by the data lane */
	void *order;			/* event: @fill waits for the data lane up to here */
	uint32_t piece;			/* number of the next piece, counted on */
	uint64_t wrote_from;		/* data lane's copies behind @order write from here */
	uint64_t wrote_to;
	struct gda_cuda_stores stores[GDA_INPROC_LANES];
	uint64_t asked;			/* GPUs, by number: is it known whether stores reach them... */
	uint64_t reached;		/* ... and do they? */
};

/*
 * Create the streams, with @stages also those of the stage; the caller fills in the rest of
 * @c->base. The context is entered.
 */
int gda_cuda_copier_init(struct gda_cuda *cuda, struct gda_cuda_copier *c, bool stages);
void gda_cuda_copier_exit(struct gda_cuda_copier *c);
/* Order whatever begins on the data lane from now on behind @event. */
int gda_cuda_copier_wait(struct gda_inproc_copier *base, void *event);

/* word_lane.c */

/* Get another reference to the lane for words of this GPU's memory. The context is entered. */
int gda_cuda_lane_get(struct gda_cuda *cuda, struct gda_inproc_lane **lane);
/* The GPU is being closed: a lane that MRs still use stays. */
void gda_cuda_lane_close(struct gda_cuda *cuda);

#endif /* GDA_CUDA_INTERNAL_H */
