/* SPDX-License-Identifier: MIT */
/*
 * Copiers: the executor that is attached to a QP of the in-process device for memory that no CPU
 * reaches. It owns how a queue goes on while copies are in flight; who makes a copier (lib/gpu)
 * says how bytes are moved. The worker of the QP alone calls a copier.
 */
#ifndef GDA_COPIER_H
#define GDA_COPIER_H

#include "inproc.h"

struct gda_inproc_copier;

/* Called by one thread at a time. Lanes are independent, each is in order. */
struct gda_inproc_copier_ops {
	/*
	 * Begin a copy of at most GDA_INPROC_MOST bytes behind all that was begun on
	 * @lane. Return: 0 or a negative errno.
	 */
	int (*copy)(struct gda_inproc_copier *c, u32 lane, u64 dst, u64 src, u64 len);
	/* Behind all that was begun on @lane, store @value at the address @dst. */
	int (*store)(struct gda_inproc_copier *c, u32 lane, u64 dst, u32 value);
	/* Is it still at work? Else -EIO: nothing is in flight and nothing will be done. */
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
 * The copier of memory that no CPU reaches, for one queue. Addresses are the copier's:
 * of what the CPU can reach, too.
 */
struct gda_inproc_copier {
	const struct gda_inproc_copier_ops *ops;
	struct {
		const u32 *word;	/* where the CPU sees what @addr was set to */
		u64 addr;
	} mark[GDA_INPROC_LANES];	/* both 0 at first */
	u8 *bounce;			/* GDA_INPROC_BOUNCE bytes */
	u64 bounce_addr;
	u64 cq;				/* address of the collapsed CQ in device memory, or 0 */
	u64 sq;				/* address of the send queue in device memory, or 0 */
	void *sq_copy;			/* then: as much memory of the CPU's */
	u64 sq_copy_addr;
};

/*
 * Have a QP served by @copier, which is gone with the QP. Before the first post.
 * Return: 0; -ENOENT; -EBUSY it has one; -EINVAL a CQ in device memory that is no collapsed one;
 * -ENOMEM.
 */
int gda_inproc_copier_attach(struct gda_inproc_context *ctx, u32 handle,
			     struct gda_inproc_copier *copier);

/* atomic.c - words in memory that no CPU reaches, changed by queues with a copier */

struct gda_inproc_lane;

/* All but put() with lane->lock held. Return: 0 or a negative errno. */
struct gda_inproc_lane_ops {
	/* Behind all that was begun on the lane, store @width bytes, 4 or 8, whole. */
	int (*store)(struct gda_inproc_lane *lane, u64 dst, u64 value, u32 width);
	/* Likewise, read at most GDA_INPROC_BOUNCE bytes to @dst in host memory. */
	int (*read)(struct gda_inproc_lane *lane, u64 dst, u64 src, u32 len);
	/* Order what begins on the lane of @c's data from now on behind all begun here. */
	int (*order)(struct gda_inproc_lane *lane, struct gda_inproc_copier *c);
	/* Is it still at work? Else -EIO, as of a copier. Called without the lock. */
	int (*check)(struct gda_inproc_lane *lane);
	/* An MR with words uses it once less. */
	void (*put)(struct gda_inproc_lane *lane);
};

/* The one lane on which words of a device's memory are stored, in order. */
struct gda_inproc_lane {
	const struct gda_inproc_lane_ops *ops;
	pthread_mutex_t lock;
};

/*
 * Words of [@addr, @addr + @length), addresses of the copiers', multiples of 8; with @stores others
 * store to them, too. On success the use of @lane is that of @words, to be attached to an MR.
 * Return: 0; -ENOMEM; -EBUSY some of it has words already.
 */
int gda_inproc_words_create(u64 addr, u64 length, struct gda_inproc_lane *lane, bool stores,
			    struct gda_inproc_attachment **words);

#endif /* GDA_COPIER_H */
