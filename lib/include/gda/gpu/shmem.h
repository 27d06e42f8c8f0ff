/* SPDX-License-Identifier: MIT */
/*
 * The calls of gda/shmem.h for CUDA kernels, through posters. Included by gda/shmem.h in CUDA
 * code.
 *
 * A poster is one thread's copy, in registers, of what it needs to reach a PE: one queue pair, and
 * the addresses of the heap. Its kind depends on which threads post to the queue pair:
 *
 *   gda_shmem_open_thread()	one thread, or the lanes of a warp together
 *   gda_shmem_open_block()	the threads of a block
 *   gda_shmem_open_gpu()	any threads of the GPU
 *
 * The last two exist with or without a courier, a warp that rings for the others
 * (gda/gpu/courier.h, gda/gpu/block.h). All posters of a queue pair have the same kind. A PE with
 * direct access has posters, too: they load and store.
 *
 * The calls take a poster where those of gda/shmem.h take the heap, the PE and GDA_SHMEM_QP();
 * effects and results are the same. Those of gda/shmem.h itself post as gda_shmem_open_gpu()
 * without a courier does, and are not for queue pairs that have posters of another kind; nor are
 * its quiets, which cover all queue pairs: such posters have their own gda_shmem_quiet(). Any
 * thread may wait for and test words, and call gda_shmem_gpu_relax().
 *
 * gda/gpu/shmem_group.h has what warps, blocks and other groups do together: names that end
 * with _warp, _block and _group; and _each, where every lane of a warp has a transfer of its own.
 *
 * A post releases what the caller wrote, at the scope that the queue needs; %GDA_SYSTEM says
 * that its source is outside of the GPU's memory.
 */
#ifndef GDA_GPU_SHMEM_H
#define GDA_GPU_SHMEM_H

#include <gda/shmem.h>
#include <gda/gpu/saved.h>

/**
 * struct gda_shmem_range - symmetric memory that is one MR, as a poster keeps it in registers
 * @addr: the caller's address
 * @bytes: number of bytes; 0: there are several MRs: then each call looks up the MR
 * @remote: offset from the caller's address to the PE's address in work requests; with direct
 *	access to where the memory is mapped
 * @local: offset from the caller's address to the local address in work requests
 * @rkey: key of the MR of the PE
 * @lkey: key of the MR of the caller
 */
struct gda_shmem_range {
	uint64_t addr;
	uint64_t bytes;
	uint64_t remote;
	uint64_t local;
	uint32_t rkey;
	uint32_t lkey;
};

/**
 * struct gda_shmem_poster - the way to a PE, and a thread that posts there
 * @s: the heap
 * @to: the PE
 * @pe: its number; with @err, the caller's
 * @err: 0, or the error that every call returns: -EINVAL there is no such PE; -EOPNOTSUPP by
 *	gda_shmem_open_block(): it is reached directly
 * @direct: the PE has direct access, and no queue
 * @most: bytes that a transfer within @heap may have, to be one work request; 0: none is, or
 *	@direct
 * @heap: the part of it that calls read
 * @words: the same of gda_shmem.data
 * @stage: gda_shmem.stage
 * @stage_key: gda_shmem.stage_key
 * @quiet: slots below are visible to all PEs, as far as this poster knows
 * @q: the queue that posts; zeros with @err or @direct
 */
template <class queue>
struct gda_shmem_poster {
	struct gda_shmem *s;
	const struct gda_shmem_peer *to;
	uint32_t pe;
	int err;
	bool direct;
	uint64_t most;
	struct gda_shmem_range heap;
	struct gda_shmem_range words;
	uint64_t stage;
	uint32_t stage_key;
	uint64_t quiet;
	queue q;
};

/* Load once: the compiler may not repeat the load where the value is used. */
GDA_DEVICE struct gda_shmem_range gda_shmem_range_open(const struct gda_shmem *s,
						       const struct gda_shmem_peer *to,
						       uint64_t addr, uint64_t bytes)
{
	struct gda_shmem_range r = {};
	const volatile struct gda_chunk *remote, *local;

	if (!bytes)
		return r;
	remote = gda_chunk_find(&to->map, addr);
	local = gda_chunk_find(gda_shmem_local(s), addr);
	if (remote->addr != addr || remote->length < bytes)
		return r;
	r.addr = addr;
	r.bytes = bytes;
	r.remote = remote->iova - addr;
	r.local = local->iova - addr;
	r.rkey = remote->key;
	r.lkey = local->key;
	return r;
}

/* The same of memory that is mapped at @mapped. */
GDA_DEVICE struct gda_shmem_range gda_shmem_range_mapped(uint64_t addr, uint64_t bytes,
							 uint64_t mapped)
{
	return { addr, bytes, mapped - addr, 0, 0, 0 };
}

/* Fill in everything but the queue. Return: whether there is a queue. */
template <class queue>
GDA_DEVICE bool gda_shmem_find(struct gda_shmem_poster<queue> &p, struct gda_shmem *s,
			       uint32_t pe)
{
	p = {};
	p.err = pe < s->npes ? 0 : -EINVAL;
	p.s = s;
	p.pe = p.err ? s->pe : pe;
	p.to = gda_shmem_peer(s, p.pe);
	p.direct = !p.err && p.to->heap;
	p.stage = *(const volatile uint64_t *)&s->stage;
	p.stage_key = *(const volatile uint32_t *)&s->stage_key;
	/* without a queue calls must not take the path that uses one */
	p.quiet = p.err || p.direct;
	if (p.direct) {
		p.heap = gda_shmem_range_mapped(s->heap, s->heap_bytes, p.to->heap);
		p.words = gda_shmem_range_mapped(s->data, s->data_bytes, p.to->data);
	}
	if (p.quiet)
		return false;
	p.heap = gda_shmem_range_open(s, p.to, s->heap, s->heap_bytes);
	p.words = gda_shmem_range_open(s, p.to, s->data, s->data_bytes);
	p.most = p.heap.bytes < GDA_CHUNK_MAX ? p.heap.bytes : GDA_CHUNK_MAX;
	return true;
}

/**
 * gda_shmem_open_thread - own a queue pair to a PE
 * @s: the heap, of gda_shmem_cuda()
 * @pe: number of the PE
 * @id: id of a connection, as GDA_SHMEM_QP() takes it
 *
 * Called by one thread, or by all lanes of a warp, which then make the same calls together, those
 * with _each and the quiets between them. No other thread may post to this queue pair until
 * gda_shmem_close().
 *
 * Return: the poster; see gda_shmem_poster.err.
 */
GDA_GPU_API struct gda_shmem_poster<struct gda_exclusive>
gda_shmem_open_thread(struct gda_shmem *s, uint32_t pe, uint32_t id)
{
	struct gda_shmem_poster<struct gda_exclusive> p;

	if (gda_shmem_find(p, s, pe)) {
		p.q = gda_exclusive_open(gda_shmem_queue(s, p.to, GDA_SHMEM_QP(id)));
		p.quiet = gda_gpu_load64(&gda_shmem_qp(s, p.to, GDA_SHMEM_QP(id))->quiet);
	}
	return p;
}

/**
 * gda_shmem_open_gpu - share a queue pair to a PE with all threads of the GPU
 * @s: the heap, of gda_shmem_cuda()
 * @pe: number of the PE
 * @id: id of a connection, as GDA_SHMEM_QP() takes it
 * @courier: whether a warp runs gda_courier_run() for this queue pair; a constant
 *
 * Return: the poster of this thread; see gda_shmem_poster.err.
 */
GDA_GPU_API struct gda_shmem_poster<struct gda_shared>
gda_shmem_open_gpu(struct gda_shmem *s, uint32_t pe, uint32_t id, bool courier)
{
	struct gda_shmem_poster<struct gda_shared> p;

	if (gda_shmem_find(p, s, pe))
		p.q = gda_shared_open(gda_shmem_queue(s, p.to, GDA_SHMEM_QP(id)), courier);
	return p;
}

/**
 * gda_shmem_open_block - share a queue pair to a PE within a block
 * @s: the heap, of gda_shmem_cuda()
 * @pe: number of the PE, reached by queue
 * @block: after gda_block_open() of gda_shmem_view(@s, @pe, GDA_SHMEM_QP(id))
 * @courier: whether a warp runs gda_block_courier(); a constant
 *
 * Only the block may use the queue pair until gda_block_close().
 *
 * Return: the poster of this thread; see gda_shmem_poster.err.
 */
GDA_GPU_API struct gda_shmem_poster<struct gda_block_queue>
gda_shmem_open_block(struct gda_shmem *s, uint32_t pe, struct gda_block *block, bool courier)
{
	struct gda_shmem_poster<struct gda_block_queue> p;

	if (gda_shmem_find(p, s, pe)) {
		p.q = gda_block_join(block, courier);
	} else if (p.direct) {
		p.direct = false;
		p.err = -EOPNOTSUPP;
	}
	return p;
}

/**
 * gda_shmem_close - end the ownership of a queue pair
 * @p: the poster of gda_shmem_open_thread(); deferred posts are rung
 */
GDA_GPU_API void gda_shmem_close(struct gda_shmem_poster<struct gda_exclusive> &p)
{
	if (!p.err && !p.direct)
		gda_exclusive_close(p.q);
}

GDA_DEVICE bool gda_shmem_in(const struct gda_shmem_range &r, const void *at, uint64_t bytes)
{
	uint64_t off = (uintptr_t)at - r.addr;

	return off < r.bytes && bytes <= r.bytes - off;
}

/* Is a transfer within the heap one work request? */
template <class queue>
GDA_DEVICE bool gda_shmem_whole(const struct gda_shmem_poster<queue> &p,
				const struct gda_shmem_move &m)
{
	uint64_t room = p.heap.bytes - m.bytes;

	return (m.bytes - 1 < p.most) & ((uintptr_t)m.remote - p.heap.addr <= room) &
	       ((uintptr_t)m.local - p.heap.addr <= room);
}

/* The address of @bytes of the PE in work requests; false if they are not in one MR. */
template <class queue>
GDA_DEVICE bool gda_shmem_aim(const struct gda_shmem_poster<queue> &p, const void *symmetric,
			      uint64_t bytes, uint64_t &iova, uint32_t &key)
{
	bool word = gda_shmem_in(p.words, symmetric, bytes);

	if (word || gda_shmem_in(p.heap, symmetric, bytes)) {
		iova = (uintptr_t)symmetric + (word ? p.words.remote : p.heap.remote);
		key = word ? p.words.rkey : p.heap.rkey;
		return true;
	}
	return gda_shmem_remote(p.to, symmetric, bytes, &iova, &key);
}

/* The same for an atomic on a word. */
template <class queue>
GDA_DEVICE bool gda_shmem_aim_atomic(const struct gda_shmem_poster<queue> &p, const void *word,
				     uint32_t bytes, uint64_t &iova, uint32_t &key)
{
	return gda_shmem_has_atomics(p.s, word) && gda_shmem_aim(p, word, bytes, iova, key);
}

/* Like gda_put_chunked(), but in the other direction; both ranges of @cut are covered. */
template <class queue>
GDA_DEVICE int64_t gda_shmem_read(queue &q, struct gda_chunk_cut cut, unsigned int flags)
{
	int64_t ticket;

	do {
		gda_chunk_next(&cut);
		ticket = gda_get(q, cut.liova, cut.lkey, cut.riova, cut.rkey, cut.len,
				 cut.left ? flags | GDA_DEFER : flags);
	} while (ticket >= 0 && cut.left);
	return ticket;
}

/*
 * A transfer that is not within one MR on both sides, or not symmetric, or of no bytes. The last
 * posts an entry that moves nothing, because its ticket may be waited for. The queue is opened anew
 * and closed in every case.
 */
template <class queue>
GDA_DEVICE_SLOW int64_t gda_shmem_move_pieces(const struct gda_shmem *s, uint32_t pe,
					      struct gda_saved_queue saved,
					      struct gda_shmem_move m, unsigned int flags)
{
	const struct gda_chunk_map *lmap = gda_shmem_local(s), *rmap = &gda_shmem_peer(s, pe)->map;
	uint64_t left = (uintptr_t)m.local, right = (uintptr_t)m.remote;
	int64_t ticket;
	queue q;

	gda_queue_restore(q, saved);
	if (!gda_chunk_covers(rmap, right, m.bytes) || !gda_chunk_covers(lmap, left, m.bytes))
		ticket = -EFAULT;
	else if (m.get && m.bytes)
		ticket = gda_shmem_read(q, gda_chunk_begin(lmap, left, rmap, right, m.bytes),
					flags);
	else
		ticket = gda_put_chunked(q, lmap, left, rmap, right, m.bytes, flags);
	gda_queue_write_back(q);
	return ticket;
}

/* With direct access: where @bytes of the PE are mapped; NULL if any byte is not symmetric. */
template <class queue>
GDA_DEVICE char *gda_shmem_reach(const struct gda_shmem_poster<queue> &p, const void *symmetric,
				 uint64_t bytes)
{
	if (gda_shmem_in(p.heap, symmetric, bytes))
		return (char *)symmetric + p.heap.remote;
	return gda_shmem_in(p.words, symmetric, bytes) ? (char *)symmetric + p.words.remote : NULL;
}

/* Direct access, by @size threads; this one has number @rank. */
template <class queue>
GDA_DEVICE int64_t gda_shmem_copy(const struct gda_shmem_poster<queue> &p,
				  const struct gda_shmem_move &m, uint32_t rank, uint32_t size)
{
	char *at = gda_shmem_reach(p, m.remote, m.bytes);

	if (!at)
		return -EFAULT;
	gda_shmem_copy_mapped(m.get ? (void *)m.local : at, m.get ? at : m.local, m.bytes, rank,
			      size);
	return 0;
}

/* A block's posters reach nothing directly: no code, whose registers a kernel would have. */
GDA_DEVICE int64_t gda_shmem_copy(const struct gda_shmem_poster<struct gda_block_queue> &,
				  const struct gda_shmem_move &, uint32_t, uint32_t)
{
	return -EOPNOTSUPP;
}

/* Transfers that are not one work request of a queue. */
template <class queue>
GDA_DEVICE int64_t gda_shmem_move_other(struct gda_shmem_poster<queue> &p,
					const struct gda_shmem_move &m, unsigned int flags)
{
	struct gda_saved_queue saved;
	int64_t ticket;

	if (p.err)
		return p.err;
	if (p.direct)
		return m.bytes ? gda_shmem_copy(p, m, 0, 1) : 0;
	saved = gda_queue_save(p.q);
	ticket = gda_shmem_move_pieces<queue>(p.s, p.pe, saved, m, flags);
	gda_queue_reload(p.q);
	return ticket;
}

/* The request of a transfer for which gda_shmem_whole() is true. */
template <class queue>
GDA_DEVICE struct gda_wr gda_shmem_wr(const struct gda_shmem_poster<queue> &p,
				      const struct gda_shmem_move &m)
{
	uint64_t laddr = (uintptr_t)m.local + p.heap.local;
	uint64_t raddr = (uintptr_t)m.remote + p.heap.remote;

	return m.get ? gda_wr_get(laddr, p.heap.lkey, raddr, p.heap.rkey, (uint32_t)m.bytes) :
		       gda_wr_put(laddr, p.heap.lkey, raddr, p.heap.rkey, (uint32_t)m.bytes);
}

template <class queue>
GDA_DEVICE int64_t gda_shmem_move_whole(struct gda_shmem_poster<queue> &p,
					const struct gda_shmem_move &m, unsigned int flags)
{
	return gda_post(p.q, flags, [&] {
		return gda_shmem_wr(p, m);
	});
}

/* Begin a put or a get. */
template <class queue>
GDA_DEVICE int64_t gda_shmem_move_begin(struct gda_shmem_poster<queue> &p,
					const struct gda_shmem_move &m, unsigned int flags)
{
	if (__builtin_expect(!gda_shmem_whole(p, m), 0))
		return gda_shmem_move_other(p, m, flags);
	return gda_shmem_move_whole(p, m, flags);
}

/**
 * gda_shmem_put_nbi - begin to write to a PE
 * @p: the poster
 * @dest: symmetric address, of the caller
 * @source: symmetric memory of the caller
 * @bytes: number of bytes; 0 moves nothing
 * @flags: GDA_NOWAIT, GDA_DEFER (posters of gda_shmem_open_thread()), GDA_SYSTEM
 *
 * Return: as gda_shmem_put_nbi() of gda/shmem.h; gda_shmem_poster.err.
 */
template <class queue>
GDA_GPU_API int64_t gda_shmem_put_nbi(struct gda_shmem_poster<queue> &p, void *dest,
				      const void *source, uint64_t bytes, unsigned int flags)
{
	return gda_shmem_move_begin(p, { dest, source, bytes, 0 }, flags);
}

/**
 * gda_shmem_get_nbi - begin to read from a PE
 * @p: the poster
 * @dest: symmetric memory of the caller
 * @source: symmetric address, of the caller
 * @bytes: number of bytes
 * @flags: GDA_NOWAIT, GDA_DEFER (posters of gda_shmem_open_thread()), GDA_SYSTEM
 *
 * Return: as gda_shmem_get_nbi() of gda/shmem.h; gda_shmem_poster.err.
 */
template <class queue>
GDA_GPU_API int64_t gda_shmem_get_nbi(struct gda_shmem_poster<queue> &p, void *dest,
				      const void *source, uint64_t bytes, unsigned int flags)
{
	return gda_shmem_move_begin(p, { source, dest, bytes, 1 }, flags);
}

/**
 * gda_shmem_p - write a value to a PE
 * @p: the poster
 * @dest: symmetric address, of the caller, a multiple of @bytes
 * @value: its low bytes are written
 * @bytes: 1, 2, 4 or 8; a constant
 * @flags: GDA_NOWAIT, GDA_DEFER (posters of gda_shmem_open_thread()), GDA_SYSTEM
 *
 * Return: as gda_shmem_p() of gda/shmem.h; gda_shmem_poster.err.
 */
template <class queue>
GDA_GPU_API int64_t gda_shmem_p(struct gda_shmem_poster<queue> &p, void *dest, uint64_t value,
				uint32_t bytes, unsigned int flags)
{
	uint64_t iova = 0;
	uint32_t key = 0;
	char *at;

	if (p.err || !gda_shmem_is_word(dest, bytes))
		return p.err ? p.err : -EINVAL;
	if (p.direct) {
		at = gda_shmem_reach(p, dest, bytes);
		if (at)
			gda_shmem_store(at, value, bytes);
		return at ? 0 : -EFAULT;
	}
	if (!gda_shmem_aim(p, dest, bytes, iova, key))
		return -EFAULT;
	if (bytes == 8)
		return gda_put_value(p.q, iova, key, value, flags);
	return gda_post(p.q, flags, [&] {
		return gda_wr_bytes(iova, key, value, bytes);
	});
}

#include <gda/gpu/shmem_sync.h>
#include <gda/gpu/shmem_atomic.h>
#include <gda/gpu/shmem_group.h>

#endif /* GDA_GPU_SHMEM_H */
