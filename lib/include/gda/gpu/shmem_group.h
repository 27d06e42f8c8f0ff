/* SPDX-License-Identifier: MIT */
/*
 * Calls of gda/gpu/shmem.h that a warp, a block or any other group of threads makes together, and
 * calls in which each lane of a warp has its own transfer. Included by gda/gpu/shmem.h.
 *
 * All threads of the group call, with the same arguments. The call covers what any of them wrote
 * before, and after a blocking call all of them see the data. By queue the thread of rank 0 posts,
 * with its poster; with direct access all of them copy. gda/gpu/group.h says what a group is.
 */
#ifndef GDA_GPU_SHMEM_GROUP_H
#define GDA_GPU_SHMEM_GROUP_H

#include <gda/gpu/shmem.h>

/**
 * gda_shmem_group - make a call together
 * @g: the group; all its threads call
 * @call: function that the thread of rank 0 calls; it returns an int
 *
 * For calls without a group version: gda_shmem_quiet(), gda_shmem_wait_until64(), atomics.
 * Everything the group did before is ordered before the call, and the call before everything it
 * does afterwards.
 *
 * Return: the value that @call returned, in every thread.
 */
template <class group, class callable>
GDA_GPU_API int gda_shmem_group(const group &g, const callable &call)
{
	int result = 0;

	g.sync();
	if (g.thread_rank() == 0)
		result = call();
	return gda_group_share(g, result);
}

/* Put or get by a group of threads. */
template <class group, class queue>
GDA_DEVICE int64_t gda_shmem_move_group(const group &g, struct gda_shmem_poster<queue> &p,
					const struct gda_shmem_move &m, unsigned int flags)
{
	bool first = g.thread_rank() == 0, whole;
	struct gda_wqe w;
	int64_t ticket = 0;

	g.sync();
	w = gda_wqe_make(p.q.port.view->dialect, gda_shmem_wr(p, m));
	whole = gda_shmem_whole(p, m);
	if (__builtin_expect(gda_try_first(p.q, first, whole, w, flags, ticket), 1))
		return ticket;
	if (__builtin_expect(whole, 1)) {
		if (first)
			ticket = gda_shmem_move_whole(p, m, flags);
	} else if (p.direct) {
		ticket = gda_shmem_copy(p, m, g.thread_rank(), g.size());
		g.sync();
	} else if (first) {
		ticket = gda_shmem_move_other(p, m, flags);
	}
	return ticket;
}

/**
 * gda_shmem_put_nbi_group - begin to write to a PE
 * @g: the group
 * @p: the poster
 * @dest: symmetric address, of the caller
 * @source: symmetric memory of the caller
 * @bytes: number of bytes
 * @flags: GDA_*, GDA_SHMEM_QP()
 *
 * Return: as gda_shmem_put_nbi() in the thread of rank 0; in the others 0, or with direct access
 * the same.
 */
template <class group, class queue>
GDA_GPU_API int64_t gda_shmem_put_nbi_group(const group &g, struct gda_shmem_poster<queue> &p,
					    void *dest, const void *source, uint64_t bytes,
					    unsigned int flags)
{
	return gda_shmem_move_group(g, p, { dest, source, bytes, 0 }, flags);
}

/**
 * gda_shmem_get_nbi_group - begin to read from a PE
 * @g: the group
 * @p: the poster
 * @dest: symmetric memory of the caller
 * @source: symmetric address, of the caller
 * @bytes: number of bytes
 * @flags: GDA_*, GDA_SHMEM_QP()
 *
 * Return: as gda_shmem_put_nbi_group().
 */
template <class group, class queue>
GDA_GPU_API int64_t gda_shmem_get_nbi_group(const group &g, struct gda_shmem_poster<queue> &p,
					    void *dest, const void *source, uint64_t bytes,
					    unsigned int flags)
{
	return gda_shmem_move_group(g, p, { source, dest, bytes, 1 }, flags);
}

/**
 * gda_shmem_put_group - write to a PE
 * @g: the group
 * @p: the poster
 * @dest: symmetric address, of the caller
 * @source: symmetric memory of the caller; it may be changed when the call returns
 * @bytes: number of bytes
 * @flags: GDA_*, GDA_SHMEM_QP()
 *
 * Return: 0 or a negative errno, in every thread.
 */
template <class group, class queue>
GDA_GPU_API int gda_shmem_put_group(const group &g, struct gda_shmem_poster<queue> &p, void *dest,
				    const void *source, uint64_t bytes, unsigned int flags)
{
	int64_t ticket = gda_shmem_put_nbi_group(g, p, dest, source, bytes, flags);

	return gda_shmem_group(g, [&] {
		return bytes ? gda_shmem_wait(p, ticket, 0) : ticket < 0 ? (int)ticket : 0;
	});
}

/**
 * gda_shmem_get_group - read from a PE
 * @g: the group
 * @p: the poster
 * @dest: symmetric memory of the caller; the bytes have arrived when the call returns
 * @source: symmetric address, of the caller
 * @bytes: number of bytes
 * @flags: GDA_*, GDA_SHMEM_QP()
 *
 * Return: 0 or a negative errno, in every thread.
 */
template <class group, class queue>
GDA_GPU_API int gda_shmem_get_group(const group &g, struct gda_shmem_poster<queue> &p, void *dest,
				    const void *source, uint64_t bytes, unsigned int flags)
{
	int64_t ticket = gda_shmem_get_nbi_group(g, p, dest, source, bytes, flags);

	return gda_shmem_group(g, [&] {
		return bytes ? gda_shmem_wait(p, ticket, 0) : ticket < 0 ? (int)ticket : 0;
	});
}

/**
 * gda_shmem_put_signal_nbi_group - begin to write to a PE, and signal when the bytes have arrived
 * @g: the group
 * @p: the poster
 * @dest: symmetric address, of the caller
 * @source: symmetric memory of the caller
 * @bytes: number of bytes
 * @signal: visible to the PE after the bytes; by queue in gda_shmem.data
 * @flags: GDA_*, GDA_SHMEM_QP()
 *
 * Return: as gda_shmem_put_signal_nbi() in the thread of rank 0, 0 or an errno in the others.
 */
template <class group, class queue>
GDA_GPU_API int64_t gda_shmem_put_signal_nbi_group(const group &g,
						   struct gda_shmem_poster<queue> &p, void *dest,
						   const void *source, uint64_t bytes,
						   const struct gda_shmem_signal &signal,
						   unsigned int flags)
{
	if (__builtin_expect(p.direct, 0))
		return gda_shmem_signal_direct(g, p, { dest, source, bytes, 0 }, signal);
	g.sync();
	return g.thread_rank() ? 0 :
	       gda_shmem_put_signal_nbi(p, dest, source, bytes, signal, flags);
}

#define GDA_SHMEM_GROUP_CALL(call, returns) \
template <class queue, class... with> \
GDA_GPU_API returns call##_warp(struct gda_shmem_poster<queue> &p, const with &...arguments) \
{ \
	return call##_group(gda_warp_group(), p, arguments...); \
} \
\
template <class queue, class... with> \
GDA_GPU_API returns call##_block(struct gda_shmem_poster<queue> &p, const with &...arguments) \
{ \
	return call##_group(gda_block_group(), p, arguments...); \
}

/* The same for the 32 lanes of a warp and for the threads of a block, without @g. */
GDA_SHMEM_GROUP_CALL(gda_shmem_put_nbi, int64_t)
GDA_SHMEM_GROUP_CALL(gda_shmem_get_nbi, int64_t)
GDA_SHMEM_GROUP_CALL(gda_shmem_put, int)
GDA_SHMEM_GROUP_CALL(gda_shmem_get, int)
GDA_SHMEM_GROUP_CALL(gda_shmem_put_signal_nbi, int64_t)

/* The same if a heap has several MRs, or if a range is not symmetric. */
template <class queue>
GDA_DEVICE_SLOW int64_t gda_shmem_put_each_other(const struct gda_shmem *s, uint32_t pe,
						 struct gda_saved_queue saved,
						 struct gda_shmem_move m, unsigned int flags)
{
	uint64_t to = 0, from = 0;
	uint32_t rkey = 0, lkey = 0;
	int64_t ticket = -EFAULT;
	queue q;
	bool good = gda_shmem_remote(gda_shmem_peer(s, pe), m.remote, m.bytes, &to, &rkey) &&
		    gda_shmem_one(gda_shmem_local(s), m.local, m.bytes, &from, &lkey) &&
		    m.bytes - 1 < INT32_MAX;

	gda_queue_restore(q, saved);
	if (__all_sync(~0U, good))
		ticket = gda_put_each(q, from, lkey, to, rkey, (uint32_t)m.bytes, flags);
	__syncwarp();
	gda_queue_write_back(q);
	__syncwarp();
	return ticket;
}

/**
 * gda_shmem_put_nbi_each - a put of each lane of a warp, all to one PE
 * @p: the poster; of gda_shmem_open_thread() if all lanes make all calls together
 * @dest: symmetric address, of the caller; in one MR
 * @source: symmetric memory of the caller, in one MR
 * @bytes: number of bytes, below 2^31; at least 1
 * @flags: GDA_NOWAIT, GDA_DEFER (posters of gda_shmem_open_thread()), GDA_SYSTEM
 *
 * All 32 lanes call it. One reservation, one ring.
 *
 * Return: the lane's own ticket; or in every lane a negative errno, and nothing was posted: those
 * of gda_shmem_put_nbi(); -EFAULT also if a range of any lane is not in one MR. With direct access
 * the lane's own errno, or 0.
 */
template <class queue>
GDA_GPU_API int64_t gda_shmem_put_nbi_each(struct gda_shmem_poster<queue> &p, void *dest,
					   const void *source, uint64_t bytes, unsigned int flags)
{
	const struct gda_shmem_move m = { dest, source, bytes, 0 };
	bool whole = gda_shmem_whole(p, m);
	struct gda_wqe w = gda_wqe_make(p.q.port.view->dialect, gda_shmem_wr(p, m));
	struct gda_saved_queue saved;
	int64_t ticket;

	if (__builtin_expect(gda_try_each(p.q, whole, w, flags, ticket), 1))
		return ticket;
	if (__builtin_expect(__all_sync(~0U, whole), 1))
		return gda_post_each(p.q, w, flags);
	if (p.err)
		return p.err;
	if (p.direct)
		return gda_shmem_copy(p, m, 0, 1);
	saved = gda_queue_save(p.q);
	ticket = gda_shmem_put_each_other<queue>(p.s, p.pe, saved, m, flags);
	gda_queue_reload(p.q);
	return ticket;
}

#endif /* GDA_GPU_SHMEM_GROUP_H */
