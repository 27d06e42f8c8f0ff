/* SPDX-License-Identifier: MIT */
/*
 * The verbs of gda/gin.h for CUDA kernels, through posters. Included by gda/gin.h in CUDA
 * code.
 *
 * A poster is one thread's copy, in registers, of the queue from a context to one peer. Its kind
 * depends on which threads share the context (enum gda_gin_sharing):
 *
 *   gda_gin_open_thread()	one thread has the queue for itself	GDA_GIN_SHARE_THREAD
 *   gda_gin_open_block()	the threads of a block share it		GDA_GIN_SHARE_CTA
 *   gda_gin_open_gpu()		any threads of the GPU share it		GDA_GIN_SHARE_GPU
 *
 * The last two exist with or without a courier, a warp that rings for the others
 * (gda/gpu/courier.h, gda/gpu/block.h). All posters of a queue have the same kind. The verbs take a
 * poster where those of gda/gin.h take the context and the peer; effects and results are the same,
 * and are documented there.
 *
 * The verbs of gda/gin.h itself work in a kernel, too: they post as gda_gin_open_gpu() without a
 * courier does. So do its flushes and barriers, which are not for queues that have posters of
 * another kind; such posters use their own gda_gin_flush() and gda_gin_barrier_tell(). Any thread
 * may wait for signals, through the context.
 *
 * A put releases what the caller wrote, at the scope that the queue needs; %GDA_SYSTEM says
 * that its source is outside of the GPU's memory. gda_gin_group() lets a warp, a block or any
 * other group of threads do a verb together.
 *
 * Windows that a kernel uses are registered before it starts. Communicators whose signals are
 * arrivals have no posters.
 */
#ifndef GDA_GPU_GIN_H
#define GDA_GPU_GIN_H

#include <gda/gin.h>
#include <gda/gpu/saved.h>

/**
 * struct gda_gin_poster - the queue of a context to a peer, and a thread that posts to it
 * @gin: the context
 * @to: the queue; with @err, the first one of the context
 * @peer: rank of the peer, in the world; with @err, the caller's
 * @err: 0, or the error that every verb returns: -ENOTCONN there is no queue to this peer;
 *	-EOPNOTSUPP signals are arrivals
 * @known: the part of both that verbs read
 * @q: the queue that posts; not set with @err
 */
template <class queue>
struct gda_gin_poster {
	struct gda_gin *gin;
	struct gda_gin_queue *to;
	uint32_t peer;
	int err;
	struct gda_gin_known known;
	queue q;
};

/**
 * struct gda_gin_opened - a window, and its part on a peer, as a poster keeps them in registers
 * @window: the window
 * @bytes: its length; 0 if a rank has several segments: then each put looks up the segment
 * @raddr: address of offset 0 at the peer
 * @laddr: address of offset 0 here
 * @rkey: key of the peer's part
 * @lkey: key of the caller's part
 *
 * A loop of puts then loads nothing of the window, instead of eleven words for each put.
 */
struct gda_gin_opened {
	const struct gda_window *window;
	uint64_t bytes;
	uint64_t raddr;
	uint64_t laddr;
	uint32_t rkey;
	uint32_t lkey;
};

/**
 * struct gda_gin_opened_place - a place in such a window
 * @opened: the window
 * @offset: byte in it
 */
struct gda_gin_opened_place {
	const struct gda_gin_opened &opened;
	uint64_t offset;
};

/**
 * gda_at - name a place in an opened window
 * @opened: of gda_gin_open_window()
 * @offset: byte in it
 *
 * Return: the place, for gda_gin_put() and gda_gin_get() by a poster to the same peer.
 */
GDA_GPU_API struct gda_gin_opened_place gda_at(const struct gda_gin_opened &opened, uint64_t offset)
{
	return { opened, offset };
}

/* The flag with which verbs of a poster are checked. */
GDA_DEVICE unsigned int gda_gin_alone(const struct gda_exclusive &)
{
	return GDA_EXCLUSIVE;
}

template <class queue>
GDA_DEVICE unsigned int gda_gin_alone(const queue &)
{
	return 0;
}

template <class queue>
GDA_DEVICE bool gda_gin_find(struct gda_gin_poster<queue> &p, struct gda_gin *gin, uint32_t peer)
{
	struct gda_gin_queue *to = gda_gin_queue(gin, 0, peer);

	/*
	 * valid even with an error: verbs read the constants of queue and peer before they check it
	 */
	p.gin = gin;
	p.peer = to ? peer : gin->rank;
	p.to = to ? to : (struct gda_gin_queue *)gin->queues;
	p.known = gda_gin_know(gin, p.to);
	p.err = gin->flags & GDA_GIN_ARRIVAL ? -EOPNOTSUPP : to ? 0 : -ENOTCONN;
	return !p.err;
}

/**
 * gda_gin_open_thread - own the queue to a peer
 * @gin: a context of %GDA_GIN_SHARE_THREAD
 * @peer: rank of the peer, in the world
 *
 * Called by one thread. No other thread may post to this peer in the context until gda_gin_close().
 *
 * Return: the poster; see gda_gin_poster.err.
 */
GDA_GPU_API struct gda_gin_poster<struct gda_exclusive> gda_gin_open_thread(struct gda_gin *gin,
									    uint32_t peer)
{
	struct gda_gin_poster<struct gda_exclusive> p;

	if (gda_gin_find(p, gin, peer))
		p.q = gda_exclusive_open(gda_gin_view(p.to));
	return p;
}

/**
 * gda_gin_open_gpu - share the queue to a peer with all threads of the GPU
 * @gin: a context of %GDA_GIN_SHARE_GPU
 * @peer: rank of the peer, in the world
 * @courier: whether a warp runs gda_courier_run() for this queue; a constant
 *
 * Return: the poster of this thread; see gda_gin_poster.err.
 */
GDA_GPU_API struct gda_gin_poster<struct gda_shared> gda_gin_open_gpu(struct gda_gin *gin,
								      uint32_t peer, bool courier)
{
	struct gda_gin_poster<struct gda_shared> p;

	if (gda_gin_find(p, gin, peer))
		p.q = gda_shared_open(gda_gin_view(p.to), courier);
	return p;
}

/**
 * gda_gin_open_block - share the queue to a peer within a block
 * @gin: a context of %GDA_GIN_SHARE_CTA
 * @peer: rank of the peer, in the world
 * @block: after gda_block_open() of gda_gin_view(gda_gin_queue(@gin, 0, @peer))
 * @courier: whether a warp runs gda_block_courier(); a constant
 *
 * Only the block may use the queue until gda_block_close().
 *
 * Return: the poster of this thread; see gda_gin_poster.err.
 */
GDA_GPU_API struct gda_gin_poster<struct gda_block_queue>
gda_gin_open_block(struct gda_gin *gin, uint32_t peer, struct gda_block *block, bool courier)
{
	struct gda_gin_poster<struct gda_block_queue> p;

	if (gda_gin_find(p, gin, peer))
		p.q = gda_block_join(block, courier);
	return p;
}

/* Load once: the compiler may not repeat the load where the value is used. */
GDA_DEVICE uint64_t gda_gin_keep(const uint64_t *p)
{
	return *(const volatile uint64_t *)p;
}

GDA_DEVICE uint32_t gda_gin_keep(const uint32_t *p)
{
	return *(const volatile uint32_t *)p;
}

/**
 * gda_gin_open_window - keep a window in registers
 * @p: the poster that uses it
 * @window: the window
 *
 * Return: the window.
 */
template <class queue>
GDA_GPU_API struct gda_gin_opened gda_gin_open_window(const struct gda_gin_poster<queue> &p,
						      const struct gda_window *window)
{
	const struct gda_window_part *part = gda_window_part(window, p.peer);
	struct gda_gin_opened o;

	o.window = window;
	o.bytes = gda_gin_keep(&window->pieces) > 1 ? 0 : gda_gin_keep(&window->bytes);
	o.raddr = gda_gin_keep(&part->iova);
	o.laddr = gda_gin_keep(&window->iova);
	o.rkey = gda_gin_keep(&part->key);
	o.lkey = gda_gin_keep(&window->key);
	return o;
}

GDA_DEVICE int gda_gin_whole(uint32_t peer, struct gda_gin_place remote, struct gda_gin_place local,
			     struct gda_gin_wr *wr, const struct gda_gin_how *how, uint64_t bytes)
{
	struct gda_gin_transfer t = gda_gin_transfer(remote, local, bytes, 0, how);

	return gda_gin_whole(peer, &t, wr);
}

GDA_DEVICE bool gda_at_fits(const struct gda_gin_opened_place &at, uint64_t bytes)
{
	return (bytes <= at.opened.bytes) & (at.offset <= at.opened.bytes - bytes);
}

/* The same for opened windows: 0, or 1 if there are several pieces, or if it does not fit. */
GDA_DEVICE int gda_gin_whole(uint32_t, const struct gda_gin_opened_place &remote,
			     const struct gda_gin_opened_place &local, struct gda_gin_wr *wr,
			     const struct gda_gin_how *how, uint64_t bytes)
{
	wr->raddr = remote.opened.raddr + remote.offset;
	wr->rkey = remote.opened.rkey;
	wr->laddr = local.opened.laddr + local.offset;
	wr->lkey = local.opened.lkey;
	wr->bytes = (uint32_t)bytes;
	wr->count = gda_gin_counted(how);
	return !gda_at_fits(remote, bytes) | !gda_at_fits(local, bytes) | (bytes > GDA_CHUNK_MAX);
}

GDA_DEVICE struct gda_gin_place gda_gin_plain_place(struct gda_gin_place at)
{
	return at;
}

GDA_DEVICE struct gda_gin_place gda_gin_plain_place(const struct gda_gin_opened_place &at)
{
	return gda_at(at.opened.window, at.offset);
}

/**
 * gda_gin_close - end the ownership of the queue to a peer
 * @p: the poster of gda_gin_open_thread(); deferred posts are rung
 */
GDA_GPU_API void gda_gin_close(struct gda_gin_poster<struct gda_exclusive> &p)
{
	if (!p.err)
		gda_exclusive_close(p.q);
}

/**
 * gda_gin_group - do a verb together (G-17)
 * @g: an object with thread_rank(), size(), sync(), and share(int) or shfl(int, int), like those of
 *	gda/gpu/group.h and tiles of cooperative_groups; all its threads call
 * @verb: function that the thread of rank 0 calls; it returns an int
 *
 * Everything the group did before is ordered before the verb, and the verb before everything it
 * does afterwards. @verb uses the poster of rank 0.
 *
 * Return: the value that @verb returned, in every thread.
 */
template <class group, class call>
GDA_GPU_API int gda_gin_group(const group &g, const call &verb)
{
	int result = 0;

	g.sync();
	if (g.thread_rank() == 0)
		result = verb();
	return gda_group_share(g, result);
}

/* Post a write or a read, followed by @then if @both. */
template <class queue>
GDA_DEVICE int gda_gin_post(struct gda_gin_poster<queue> &p, const struct gda_gin_wr &wr, int get,
			    const struct gda_wr &then, bool both, unsigned int flags)
{
	struct gda_wqe wqe = gda_wqe_make(p.q.port.view->dialect, gda_gin_wr_of(&wr, get));
	struct gda_wqe add = gda_wqe_make(p.q.port.view->dialect, then);

	gda_prepare(p.q, wqe);
	return (int)gda_post_for(p.q, wqe.slots + both * add.slots, flags, [&](uint64_t index) {
		if (wr.count) {
			gda_gin_note_source(p.to, index, wr.laddr, wr.bytes);
			gda_gin_tag(p.gin, p.to, index, wr.count);
		}
		gda_wqe_store(gda_sq(p.q.port), index, &wqe, both ? 0 : flags & GDA_SOLICITED);
		if (both)
			gda_wqe_store(gda_sq(p.q.port), index + wqe.slots, &add,
				      flags & GDA_SOLICITED);
	}, [](uint64_t) {
		return 0;
	});
}

/*
 * A transfer of several pieces, whose actions go with the last one (G-21), or outside of a window.
 */
template <class queue>
GDA_DEVICE_SLOW int gda_gin_move_pieces(struct gda_gin *gin, uint32_t peer,
					struct gda_saved_queue saved, struct gda_gin_transfer t,
					struct gda_gin_target then, unsigned int flags)
{
	struct gda_gin_poster<queue> p;
	struct gda_gin_wr wr = {};
	struct gda_wr add;
	int err;

	p.gin = gin;
	p.to = gda_gin_queue(gin, 0, peer);
	p.known = gda_gin_know(gin, p.to);
	add = gda_gin_wr_add(&p.known, &then);
	gda_queue_restore(p.q, saved);
	if (!gda_at_fits(t.remote, t.bytes) || !gda_at_fits(t.local, t.bytes)) {
		gda_queue_write_back(p.q);
		return -EFAULT;
	}
	do {
		bool last;

		gda_gin_piece(gin->rank, peer, &t, &wr);
		last = !t.bytes;
		wr.count = last ? t.count : 0;
		err = gda_gin_post(p, wr, t.get, add, last && then.set,
				   last ? flags : flags | GDA_DEFER);
	} while (!err && t.bytes);
	gda_queue_write_back(p.q);
	return err;
}

/*
 * The checks of every verb of a poster. Return: 0, and the request that adds to a signal, if there
 * is one.
 */
template <class queue>
GDA_DEVICE int gda_gin_ready(struct gda_gin_poster<queue> &p, const struct gda_gin_how &how,
			     struct gda_gin_target &then, struct gda_wr &add)
{
	int known = gda_gin_actions(p.known.nsignals, p.known.ncounters, &how);
	int aimed = gda_gin_aim(p.gin, &p.known, p.peer, &how, 0, &then);

	add = gda_gin_wr_add(&p.known, &then);
	return p.err ? p.err : known ? known : aimed;
}

template <class queue, class place>
GDA_DEVICE int gda_gin_move(struct gda_gin_poster<queue> &p, int get, const place &remote,
			    const place &local, uint64_t bytes, const struct gda_gin_how &how)
{
	unsigned int flags = how.flags & 0xffff;
	struct gda_gin_target then;
	struct gda_gin_wr wr;
	struct gda_wr add;
	int err = gda_gin_ready(p, how, then, add);
	int whole = gda_gin_whole(p.peer, remote, local, &wr, &how, bytes);

	if (__builtin_expect(err | whole, 0)) {
		struct gda_saved_queue saved = gda_queue_save(p.q);

		if (err || whole < 0)
			return err ? err : whole;
		gda_gin_announce(p.gin, p.peer, &how);
		err = gda_gin_move_pieces<queue>(p.gin, p.peer, saved,
						 gda_gin_transfer(gda_gin_plain_place(remote),
								  gda_gin_plain_place(local),
								  bytes, get, &how), then, flags);
		gda_queue_reload(p.q);
		return err;
	}
	gda_gin_announce(p.gin, p.peer, &how);
	return gda_gin_post(p, wr, get, add, then.set, flags);
}

/**
 * gda_gin_put - write to a window of the peer (G-02)
 * @p: the poster
 * @dst: destination, in the peer's memory: gda_at() of a window, or of an opened one
 * @src: source, in the caller's memory: the same kind of place
 * @bytes: number of bytes
 * @how: actions and flags: gda_gin_plain(), gda_gin_inc() and others make it; %GDA_DEFER for
 *	posters of gda_gin_open_thread()
 *
 * Return: as gda_gin_put() of gda/gin.h.
 */
template <class queue, class place>
GDA_GPU_API int gda_gin_put(struct gda_gin_poster<queue> &p, const place &dst, const place &src,
			    uint64_t bytes, struct gda_gin_how how)
{
	int err;

	gda_gin_check_begin(p.gin, how.flags | gda_gin_alone(p.q));
	err = gda_gin_move(p, 0, dst, src, bytes, how);
	gda_gin_check_end(p.gin);
	return err;
}

/**
 * gda_gin_get - read from a window of the peer (G-15)
 * @p: the poster
 * @src: source, in the peer's memory, as for gda_gin_put()
 * @dst: destination, in the caller's memory
 * @bytes: number of bytes
 * @how: flags only
 *
 * Return: as gda_gin_get() of gda/gin.h.
 */
template <class queue, class place>
GDA_GPU_API int gda_gin_get(struct gda_gin_poster<queue> &p, const place &src, const place &dst,
			    uint64_t bytes, struct gda_gin_how how)
{
	int err;

	if (how.flags & (GDA_GIN_SIGNAL | GDA_GIN_VA | GDA_GIN_COUNTER))
		return -EINVAL;
	gda_gin_check_begin(p.gin, how.flags | gda_gin_alone(p.q));
	err = gda_gin_move(p, 1, src, dst, bytes, how);
	gda_gin_check_end(p.gin);
	return err;
}

template <class queue>
GDA_DEVICE int gda_gin_value(struct gda_gin_poster<queue> &p, struct gda_gin_place dst,
			     uint64_t value, uint32_t bytes, const struct gda_gin_how &how)
{
	unsigned int flags = how.flags & 0xffff;
	struct gda_gin_target then;
	struct gda_wqe put, second;
	struct gda_wr add;
	uint64_t addr = 0;
	uint32_t key = 0;
	int64_t ticket;
	int err = gda_gin_ready(p, how, then, add);

	if (!err)
		err = gda_gin_resolve(p.peer, dst, bytes, &addr, &key);
	if (__builtin_expect(err, 0))
		return err;
	gda_gin_announce(p.gin, p.peer, &how);
	put = gda_wqe_make(p.q.port.view->dialect, gda_wr_bytes(addr, key, value, bytes));
	second = gda_wqe_make(p.q.port.view->dialect, add);
	ticket = gda_post(p.q, put.slots + then.set * second.slots, flags, [&](uint64_t index) {
		gda_wqe_store(gda_sq(p.q.port), index, &put, then.set ? 0 : flags & GDA_SOLICITED);
		if (then.set)
			gda_wqe_store(gda_sq(p.q.port), index + put.slots, &second,
				      flags & GDA_SOLICITED);
	});
	return ticket < 0 ? (int)ticket : 0;
}

/**
 * gda_gin_put_value - write up to 8 bytes given by value (G-11)
 * @p: the poster
 * @dst: destination
 * @value: its first @bytes bytes in memory are written
 * @bytes: 1 to 8
 * @how: actions and flags: gda_gin_plain(), gda_gin_inc() and others make it; no counter
 *
 * Return: as gda_gin_put_value() of gda/gin.h.
 */
template <class queue>
GDA_GPU_API int gda_gin_put_value(struct gda_gin_poster<queue> &p, struct gda_gin_place dst,
				  uint64_t value, uint32_t bytes, struct gda_gin_how how)
{
	int err;

	if (bytes - 1 > 7 || how.flags & GDA_GIN_COUNTER)
		return -EINVAL;
	gda_gin_check_begin(p.gin, how.flags | gda_gin_alone(p.q));
	err = gda_gin_value(p, dst, value, bytes, how);
	gda_gin_check_end(p.gin);
	return err;
}

/**
 * gda_gin_signal - a remote action without data (G-13)
 * @p: the poster
 * @how: the action; no counter
 *
 * Return: as gda_gin_signal() of gda/gin.h.
 */
template <class queue>
GDA_GPU_API int gda_gin_signal(struct gda_gin_poster<queue> &p, struct gda_gin_how how)
{
	struct gda_gin_target then;
	struct gda_wr add;
	int64_t ticket;
	int err;

	if (!(how.flags & (GDA_GIN_SIGNAL | GDA_GIN_VA)) || how.flags & GDA_GIN_COUNTER)
		return -EINVAL;
	gda_gin_check_begin(p.gin, how.flags | gda_gin_alone(p.q));
	err = gda_gin_ready(p, how, then, add);
	if (!err) {
		gda_gin_announce(p.gin, p.peer, &how);
		ticket = gda_post(p.q, how.flags & 0xffff, [&] {
			return add;
		});
		err = ticket < 0 ? (int)ticket : 0;
	}
	gda_gin_check_end(p.gin);
	return err;
}

/* The end of all that was posted. In a shared queue at most one ring of it is not done. */
template <class queue>
GDA_DEVICE uint64_t gda_gin_end(queue &q)
{
	return gda_posted(q);
}

GDA_DEVICE uint64_t gda_gin_end(struct gda_shared &q)
{
	return gda_handed_out(q.port.view);
}

/* Ring deferred doorbells, and tick the counters of completed puts. */
template <class queue>
GDA_DEVICE void gda_gin_progress(struct gda_gin_poster<queue> &p)
{
	uint64_t done, first;
	int failed;

	gda_ring_deferred(p.q);
	done = gda_refresh(p.q, gda_scan(p.q), failed);
	first = failed ? gda_load_acquire64(&gda_gin_view(p.to)->error_index) : done;
	gda_gin_take(p.gin, p.to, first < done ? first : done);
}

/**
 * gda_gin_flush - wait until sources may be changed, and gets have arrived (G-14)
 * @p: the poster
 * @deadline: in ns of gda_clock_ns(); 0: gda_gin_attr.timeout_ns from now
 *
 * Covers everything posted to this peer in the context.
 *
 * Return: 0, -EIO, -ESHUTDOWN or -ETIMEDOUT; gda_gin_poster.err.
 */
template <class queue>
GDA_GPU_API int gda_gin_flush(struct gda_gin_poster<queue> &p, uint64_t deadline)
{
	int err = p.err;

	if (err)
		return err;
	gda_flush(p.q);
	err = gda_quiet(p.q, deadline);
	gda_gin_progress(p);
	return err;
}

/**
 * gda_gin_flush_peer - begin to flush (G-16)
 * @p: the poster
 * @request: receives the request
 *
 * Return: 0; gda_gin_poster.err.
 */
template <class queue>
GDA_GPU_API int gda_gin_flush_peer(struct gda_gin_poster<queue> &p,
				   struct gda_gin_request *request)
{
	if (p.err)
		return p.err;
	gda_flush(p.q);
	request->size = sizeof(*request);
	request->peer = p.peer;
	request->endpoint = 0;
	request->reserved = 0;
	request->ticket = (int64_t)gda_gin_end(p.q) - 1;
	return 0;
}

/**
 * gda_gin_test - is a flush done?
 * @p: the poster with which it was begun
 * @request: of gda_gin_flush_peer()
 *
 * Return: 1 done; 0 not yet; -EIO some of it failed.
 */
template <class queue>
GDA_GPU_API int gda_gin_test(struct gda_gin_poster<queue> &p,
			     const struct gda_gin_request *request)
{
	int done = request->ticket < 0 ? 1 : gda_test(p.q, request->ticket);

	if (done > 0)
		gda_gin_progress(p);
	return done < 0 ? -EIO : done;
}

/**
 * gda_gin_wait - wait until a flush is done
 * @p: the poster with which it was begun
 * @request: of gda_gin_flush_peer()
 * @deadline: in ns of gda_clock_ns(); 0: gda_gin_attr.timeout_ns from now
 *
 * Return: 0, -EIO, -ESHUTDOWN or -ETIMEDOUT.
 */
template <class queue>
GDA_GPU_API int gda_gin_wait(struct gda_gin_poster<queue> &p,
			     const struct gda_gin_request *request, uint64_t deadline)
{
	int err = request->ticket < 0 ? 0 : gda_wait(p.q, request->ticket, deadline);

	gda_gin_progress(p);
	return err == -ECANCELED ? -EIO : err;
}

/**
 * gda_gin_read_counter - the value of a counter (G-10)
 * @p: a poster of the context: it polls only its own completions
 * @counter: number of the counter
 * @bits: number of its lowest bits to read, 1 to %GDA_GIN_COUNTER_BITS
 *
 * Return: the value.
 */
template <class queue>
GDA_GPU_API uint64_t gda_gin_read_counter(struct gda_gin_poster<queue> &p, uint32_t counter,
					  uint32_t bits)
{
	struct gda_gin_value value = gda_gin_counter_value(p.gin, counter, bits);

	if (!p.err)
		gda_gin_progress(p);
	return gda_gin_value(&value);
}

/**
 * gda_gin_wait_counter - wait until a counter has a value
 * @p: a poster of the context: puts by other posters count only when those poll, too
 * @counter: number of the counter, less than gda_gin_attr.counters
 * @least: value to reach or pass, in rolling compare
 * @bits: 1 to %GDA_GIN_COUNTER_BITS
 * @deadline: in ns of gda_clock_ns(); 0: gda_gin_attr.timeout_ns from now
 *
 * Return: 0, -EIO, -ESHUTDOWN, -ETIMEDOUT or -ETIME; -EINVAL no such counter; gda_gin_poster.err.
 */
template <class queue>
GDA_GPU_API int gda_gin_wait_counter(struct gda_gin_poster<queue> &p, uint32_t counter,
				     uint64_t least, uint32_t bits, uint64_t deadline)
{
	unsigned int polls;
	int err = p.err;

	if (gda_unlikely(counter >= p.gin->counters))
		return -EINVAL;
	for (polls = 1;; polls++) {
		if (err)
			return err;
		if (gda_gin_reached(least, gda_gin_read_counter(p, counter, bits), bits))
			return 0;
		err = gda_gin_expired(p.gin, polls, &deadline);
	}
}

/**
 * gda_gin_barrier_tell - tell a member of a barrier that the caller has arrived
 * @b: the session
 * @p: a poster to that member
 *
 * gda_gin_barrier_sync() for posters: the caller tells each other member, then calls
 * gda_gin_barrier_wait(). Its earlier puts to a member are visible there after the barrier, as with
 * %GDA_GIN_FENCE_PUT; for %GDA_GIN_FENCE_GET the caller flushes all its posters before.
 *
 * Return: as gda_gin_signal().
 */
template <class queue>
GDA_GPU_API int gda_gin_barrier_tell(const struct gda_gin_barrier *b,
				     struct gda_gin_poster<queue> &p)
{
	uint32_t slot = gda_gin_barrier_slot(b->gin, b->index, b->gin->rank);
	int64_t ticket;

	if (p.err)
		return p.err;
	ticket = gda_fetch_add(p.q, p.known.fetched, p.known.lkey, p.known.signals + 8ULL * slot,
			       p.known.rkey, 1, 0);
	return ticket < 0 ? (int)ticket : 0;
}

#endif /* GDA_GPU_GIN_H */
