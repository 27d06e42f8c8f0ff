/* SPDX-License-Identifier: MIT */
/*
 * A poster's queue, saved from registers for an out-of-line function: by value, so that nothing of
 * the caller is spilled. Included by gda/gpu/gin.h and gda/gpu/shmem.h.
 */
#ifndef GDA_GPU_SAVED_H
#define GDA_GPU_SAVED_H

#include <gda/gpu/post.h>

/**
 * struct gda_saved_queue - the state that a poster passes to an out-of-line function
 * @where: address of the view or the block; plus 1: with a courier
 * @next: index of the newest post, or, for an exclusive queue, of the next one
 * @free: gda_exclusive.free
 * @deferred: gda_exclusive.deferred
 *
 * Not for programs: the function opens the queue anew.
 */
struct gda_saved_queue {
	uint64_t where;
	uint64_t next;
	uint32_t free;
	uint32_t deferred;
};

GDA_DEVICE struct gda_saved_queue gda_queue_save(const struct gda_exclusive &q)
{
	return { (uintptr_t)q.port.view, q.next, q.free, q.deferred };
}

GDA_DEVICE struct gda_saved_queue gda_queue_save(const struct gda_shared &q)
{
	return { (uintptr_t)q.port.view + q.courier, 0, 0, 0 };
}

GDA_DEVICE struct gda_saved_queue gda_queue_save(const struct gda_block_queue &q)
{
	return { (uintptr_t)q.block + q.courier, q.last, 0, 0 };
}

GDA_DEVICE void gda_queue_restore(struct gda_exclusive &q, struct gda_saved_queue saved)
{
	q.port = gda_port_open((struct gda_view *)saved.where);
	q.next = saved.next;
	q.free = saved.free;
	q.deferred = saved.deferred;
}

GDA_DEVICE void gda_queue_restore(struct gda_shared &q, struct gda_saved_queue saved)
{
	q = gda_shared_open((struct gda_view *)(saved.where & ~1ULL), saved.where & 1);
}

GDA_DEVICE void gda_queue_restore(struct gda_block_queue &q, struct gda_saved_queue saved)
{
	q = gda_block_join((struct gda_block *)(saved.where & ~1ULL), saved.where & 1);
	q.last = saved.next;
}

/* A shared queue is not written back: the poster's copy is old, but still correct. */
GDA_DEVICE void gda_queue_write_back(struct gda_exclusive &q)
{
	gda_exclusive_close(q);
}

GDA_DEVICE void gda_queue_reload(struct gda_exclusive &q)
{
	struct gda_exclusive now = gda_exclusive_open(q.port.view);

	q.next = now.next;
	q.free = now.free;
	q.deferred = 0;
}

template <class queue>
GDA_DEVICE void gda_queue_write_back(queue &)
{
}

template <class queue>
GDA_DEVICE void gda_queue_reload(queue &)
{
}

#endif /* GDA_GPU_SAVED_H */
