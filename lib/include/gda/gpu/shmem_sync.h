/* SPDX-License-Identifier: MIT */
/*
 * Waits, quiets and blocking calls of the posters of gda/gpu/shmem.h, which includes this.
 */
#ifndef GDA_GPU_SHMEM_SYNC_H
#define GDA_GPU_SHMEM_SYNC_H

#include <gda/gpu/shmem.h>

/**
 * gda_shmem_test - test whether a call is done
 * @p: the poster
 * @ticket: of a call with this poster, or another of its queue pair; a negative one is returned
 *
 * Return: 1 done, 0 not yet, or a negative errno.
 */
template <class queue>
GDA_GPU_API int gda_shmem_test(struct gda_shmem_poster<queue> &p, int64_t ticket)
{
	if (p.direct || p.err || ticket < 0)
		return ticket < 0 ? (int)ticket : p.err ? p.err : 1;
	return gda_test(p.q, ticket);
}

/**
 * gda_shmem_wait - wait until a call is done
 * @p: the poster
 * @ticket: of a call with this poster, or another of its queue pair; a negative one is returned
 * @deadline: in ns of gda_clock_ns(), or %GDA_SHMEM_FOREVER; 0: s->timeout_ns from now
 *
 * Return: 0 or a negative errno, see gda/shmem.h.
 */
template <class queue>
GDA_GPU_API int gda_shmem_wait(struct gda_shmem_poster<queue> &p, int64_t ticket,
			       uint64_t deadline)
{
	int err;

	if (p.direct || p.err || ticket < 0)
		return ticket < 0 ? (int)ticket : p.err;
	err = gda_wait(p.q, ticket, deadline);
	return err == -ECANCELED ? -EIO : err;
}

/**
 * gda_shmem_put - write to a PE
 * @p: the poster
 * @dest: symmetric address, of the caller
 * @source: symmetric memory of the caller; it may be changed when the call returns
 * @bytes: number of bytes
 * @flags: GDA_NOWAIT, GDA_SYSTEM
 *
 * Return: 0 or a negative errno, see gda/shmem.h.
 */
template <class queue>
GDA_GPU_API int gda_shmem_put(struct gda_shmem_poster<queue> &p, void *dest, const void *source,
			      uint64_t bytes, unsigned int flags)
{
	int64_t ticket = gda_shmem_put_nbi(p, dest, source, bytes, flags);

	return bytes ? gda_shmem_wait(p, ticket, 0) : ticket < 0 ? (int)ticket : 0;
}

/**
 * gda_shmem_get - read from a PE
 * @p: the poster
 * @dest: symmetric memory of the caller; the bytes have arrived when the call returns
 * @source: symmetric address, of the caller
 * @bytes: number of bytes
 * @flags: GDA_NOWAIT, GDA_SYSTEM
 *
 * Return: 0 or a negative errno, see gda/shmem.h.
 */
template <class queue>
GDA_GPU_API int gda_shmem_get(struct gda_shmem_poster<queue> &p, void *dest, const void *source,
			      uint64_t bytes, unsigned int flags)
{
	int64_t ticket = gda_shmem_get_nbi(p, dest, source, bytes, flags);

	return bytes ? gda_shmem_wait(p, ticket, 0) : ticket < 0 ? (int)ticket : 0;
}

/* How much was posted, by all posters of the queue pair. */
template <class queue>
GDA_DEVICE uint64_t gda_shmem_posted(struct gda_shmem_poster<queue> &p)
{
	return gda_posted(p.q);
}

GDA_DEVICE uint64_t gda_shmem_posted(struct gda_shmem_poster<struct gda_shared> &p)
{
	return p.q.port.view ? gda_gpu_load64(&p.q.port.view->reserved) : 0;
}

GDA_DEVICE uint64_t gda_shmem_posted(struct gda_shmem_poster<struct gda_block_queue> &p)
{
	return p.q.block ? gda_posted(p.q) : 0;
}

/*
 * Post a read behind all that was posted to @q, and wait for it. Return: how many slots are quiet
 * then, or a negative errno.
 */
template <class queue>
GDA_DEVICE int64_t gda_shmem_settle_queue(queue &q, const struct gda_shmem_peer *to, uint64_t sink,
					  uint32_t sink_key, uint64_t deadline)
{
	const struct gda_chunk *c = (const struct gda_chunk *)to->map.chunks;
	int64_t ticket = gda_get(q, sink, sink_key, c->iova, c->key, 8, 0);
	int err = gda_wait(q, ticket, deadline);

	if (err)
		return err == -ECANCELED ? -EIO : err;
	return ticket + 1;
}

/**
 * struct gda_shmem_quieted - the result of gda_shmem_settle_owned()
 * @quiet: slots that are quiet, or a negative errno
 * @next: the queue's new @next; nothing is deferred
 * @free: the queue's new @free
 */
struct gda_shmem_quieted {
	int64_t quiet;
	uint64_t next;
	uint32_t free;
};

/*
 * The same out of line, for a queue with one poster. The queue is passed and returned by value: by
 * reference it would be in local memory.
 */
GDA_DEVICE_SLOW struct gda_shmem_quieted
gda_shmem_settle_owned(struct gda_exclusive q, const struct gda_shmem_peer *to, uint64_t sink,
		       uint32_t sink_key, uint64_t deadline)
{
	int64_t quiet = gda_shmem_settle_queue(q, to, sink, sink_key, deadline);

	return { quiet, q.next, q.free };
}

template <class queue>
GDA_DEVICE int64_t gda_shmem_settle(struct gda_shmem_poster<queue> &p, uint64_t deadline)
{
	return gda_shmem_settle_queue(p.q, p.to, p.stage + 8, p.stage_key, deadline);
}

GDA_DEVICE int64_t gda_shmem_settle(struct gda_shmem_poster<struct gda_exclusive> &p,
				    uint64_t deadline)
{
	struct gda_shmem_quieted end = gda_shmem_settle_owned(p.q, p.to, p.stage + 8,
							      p.stage_key, deadline);

	p.q.next = end.next;
	p.q.free = end.free;
	p.q.deferred = 0;
	return end.quiet;
}

/**
 * gda_shmem_quiet - complete all that was posted to this queue pair
 * @p: the poster
 * @deadline: in ns of gda_clock_ns(), or %GDA_SHMEM_FOREVER; 0: s->timeout_ns from now
 *
 * Covers posts by this poster and by others of its queue pair. If nothing was posted since this
 * poster's last quiet, this costs a comparison, or a load if others post, too.
 *
 * Return: 0 or a negative errno, see gda/shmem.h.
 */
template <class queue>
GDA_GPU_API int gda_shmem_quiet(struct gda_shmem_poster<queue> &p, uint64_t deadline)
{
	int64_t quiet;

	if (__builtin_expect(gda_shmem_posted(p) == p.quiet, 1))
		return 0;
	if (p.direct || p.err) {
		if (p.direct)
			gda_shmem_settled();
		return p.err;
	}
	quiet = gda_shmem_settle(p, deadline);
	if (quiet < 0)
		return (int)quiet;
	p.quiet = (uint64_t)quiet;
	return 0;
}

/**
 * gda_shmem_fence - order puts, signals and atomics of this queue pair
 * @p: the poster
 *
 * A queue pair is in order, so this does nothing by queue.
 *
 * Return: 0; gda_shmem_poster.err.
 */
template <class queue>
GDA_GPU_API int gda_shmem_fence(struct gda_shmem_poster<queue> &p)
{
	if (p.direct)
		gda_shmem_order();
	return p.err;
}

#endif /* GDA_GPU_SHMEM_SYNC_H */
