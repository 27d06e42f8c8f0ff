/* SPDX-License-Identifier: MIT */
/*
 * A queue that a poster keeps in registers, lent to a function off the path: by values, so that
 * nothing of the caller's is spilled. Included by gda/gpu/gin.h and gda/gpu/shmem.h.
 */
#ifndef GDA_GPU_LEND_H
#define GDA_GPU_LEND_H

#include <gda/gpu/post.h>

/**
 * struct gda_lent - the state that a poster gives to a function off the path
 * @where: address of the view or the block; plus 1: with a courier
 * @next: index of the newest post, or, of an exclusive queue, of the one to come
 * @free: gda_exclusive.free
 * @deferred: gda_exclusive.deferred
 *
 * Not for programs: that function opens the queue anew.
 */
struct gda_lent {
	uint64_t where;
	uint64_t next;
	uint32_t free;
	uint32_t deferred;
};

GDA_DEVICE struct gda_lent gda_lend(const struct gda_exclusive &q)
{
	return { (uintptr_t)q.port.view, q.next, q.free, q.deferred };
}

GDA_DEVICE struct gda_lent gda_lend(const struct gda_shared &q)
{
	return { (uintptr_t)q.port.view + q.courier, 0, 0, 0 };
}

GDA_DEVICE struct gda_lent gda_lend(const struct gda_block_queue &q)
{
	return { (uintptr_t)q.block + q.courier, q.last, 0, 0 };
}

GDA_DEVICE void gda_reopen(struct gda_exclusive &q, struct gda_lent lent)
{
	q.port = gda_port_open((struct gda_view *)lent.where);
	q.next = lent.next;
	q.free = lent.free;
	q.deferred = lent.deferred;
}

GDA_DEVICE void gda_reopen(struct gda_shared &q, struct gda_lent lent)
{
	q = gda_shared_open((struct gda_view *)(lent.where & ~1ULL), lent.where & 1);
}

GDA_DEVICE void gda_reopen(struct gda_block_queue &q, struct gda_lent lent)
{
	q = gda_block_join((struct gda_block *)(lent.where & ~1ULL), lent.where & 1);
	q.last = lent.next;
}

/* A queue that others share is not given back: what the poster knew of it is old, and right. */
GDA_DEVICE void gda_give_back(struct gda_exclusive &q)
{
	gda_exclusive_close(q);
}

GDA_DEVICE void gda_take_back(struct gda_exclusive &q)
{
	struct gda_exclusive now = gda_exclusive_open(q.port.view);

	q.next = now.next;
	q.free = now.free;
	q.deferred = 0;
}

template <class queue>
GDA_DEVICE void gda_give_back(queue &)
{
}

template <class queue>
GDA_DEVICE void gda_take_back(queue &)
{
}

#endif /* GDA_GPU_LEND_H */
