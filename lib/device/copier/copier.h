/* SPDX-License-Identifier: MIT */
/*
 * Copiers: the executor that is attached to a QP of the in-process device for memory that no CPU
 * reaches. It decides how a queue goes on while copies are in flight; lib/gpu, which creates
 * copiers, implements the copies. Only the worker of the QP calls a copier.
 */
#ifndef GDA_COPIER_H
#define GDA_COPIER_H

#include "inproc.h"

struct gda_inproc_copier;

/* Called by one thread at a time. Lanes are independent of each other; each lane is in order. */
struct gda_inproc_copier_ops {
	/*
	 * Begin a copy of at most GDA_INPROC_MOST bytes, ordered behind all earlier ones on @lane.
	 * Return: 0 or a negative errno.
	 */
	int (*copy)(struct gda_inproc_copier *c, u32 lane, u64 dst, u64 src, u64 len);
	/*
	 * Store @width bytes, 4 or 8, aligned to as many, as one store, ordered behind all that was
	 * begun on @lane. It may be held back until the next call for that lane that is no store.
	 */
	int (*store)(struct gda_inproc_copier *c, u32 lane, u64 dst, u64 value, u32 width);
	/* Begin what store() has held back. */
	int (*flush)(struct gda_inproc_copier *c, u32 lane);
	/* Does store() reach a word at @dst in device memory? If not, copy() does. */
	bool (*reaches)(struct gda_inproc_copier *c, u64 dst, u32 width);
	/*
	 * Does the copier still work? If not, -EIO: nothing is in flight, and nothing will be done.
	 */
	int (*check)(struct gda_inproc_copier *c);
	/* Nothing is in flight. */
	void (*free)(struct gda_inproc_copier *c);
};

#define GDA_INPROC_LANE_DATA	0U
#define GDA_INPROC_LANE_FETCH	1U
#define GDA_INPROC_LANES	2U

#define GDA_INPROC_BOUNCE	65536U
#define GDA_INPROC_MOST		(64U << 20)

/*
 * The copier of one queue, for memory that no CPU reaches. All addresses are the copier's, also
 * those of memory that the CPU reaches.
 */
struct gda_inproc_copier {
	const struct gda_inproc_copier_ops *ops;
	struct {
		const u32 *word;	/* where the CPU reads the value stored at @addr */
		u64 addr;
	} mark[GDA_INPROC_LANES];	/* both 0 at first */
	u8 *bounce;			/* GDA_INPROC_BOUNCE bytes */
	u64 bounce_addr;
	u64 cq;				/* address of the collapsed CQ in device memory, or 0 */
	u64 sq;				/* address of the send queue in device memory, or 0 */
	void *sq_copy;			/* if @sq is set: as much host memory */
	u64 sq_copy_addr;
};

/*
 * Attach @copier to a QP before the first post; it is freed with the QP. Return: 0; -ENOENT; -EBUSY
 * the QP has one; -EINVAL it has a CQ in device memory that is not collapsed; -ENOMEM.
 */
int gda_inproc_copier_attach(struct gda_inproc_context *ctx, u32 handle,
			     struct gda_inproc_copier *copier);

/* atomic.c - words in memory that no CPU reaches, changed by queues with a copier */

struct gda_inproc_lane;

/* All but put() are called with lane->lock held. Return: 0 or a negative errno. */
struct gda_inproc_lane_ops {
	/*
	 * Store @width bytes, 4 or 8, as one store, ordered behind all that was begun on the lane.
	 */
	int (*store)(struct gda_inproc_lane *lane, u64 dst, u64 value, u32 width);
	/* Read at most GDA_INPROC_BOUNCE bytes to @dst in host memory, ordered likewise. */
	int (*read)(struct gda_inproc_lane *lane, u64 dst, u64 src, u32 len);
	/* Order whatever @c begins on its data lane from now on behind all begun on this lane. */
	int (*order)(struct gda_inproc_lane *lane, struct gda_inproc_copier *c);
	/* Does it still work? If not, -EIO, as for a copier. Called without the lock. */
	int (*check)(struct gda_inproc_lane *lane);
	/* Drop the reference of an MR with words. */
	void (*put)(struct gda_inproc_lane *lane);
};

/* The one lane on which words of a device's memory are stored, in order. */
struct gda_inproc_lane {
	const struct gda_inproc_lane_ops *ops;
	pthread_mutex_t lock;
};

/*
 * Words of [@addr, @addr + @length), multiples of 8 in the copiers' addresses, to be attached to an
 * MR; with @stores others store to them, too. On success the reference to @lane passes to @words.
 * Return: 0; -ENOMEM; -EBUSY the range has words already.
 */
int gda_inproc_words_create(u64 addr, u64 length, struct gda_inproc_lane *lane, bool stores,
			    struct gda_inproc_attachment **words);

#endif /* GDA_COPIER_H */
