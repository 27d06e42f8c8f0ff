/* SPDX-License-Identifier: MIT */
/*
 * How the verbs of gda/gin.h reach a queue: the poster on a CPU. Included by gda/gin.h; not
 * to be called by programs.
 *
 * Counters. The poster tags the slot of a put that asks for one, before it publishes it: the slot's
 * index and the counter. A thread that polls completions takes the tags of slots that are done,
 * each only once, by a compare-swap to zero, and ticks the counters. A slot is reserved again only
 * when its last put is done, so a poster that finds an older tag ticks that one's counter; in a
 * dialect without %GDA_CAN_ORDER it waits for that put before. So nothing is counted early, nothing
 * twice, and the order of completions does not matter (E-12, E-20).
 */
#ifndef GDA_GIN_POST_H
#define GDA_GIN_POST_H

#include <gda/fastpath.h>
#include <gda/gin/check.h>
#include <gda/gin/window.h>

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/* A tag: index of the slot << 12 | counter + 1. */
#define GDA_GIN_TAG_BITS	12

/**
 * struct gda_gin_wr - the transfer of a work request
 * @laddr: local address
 * @raddr: remote address
 * @lkey: key of the local MR
 * @rkey: key of the remote MR
 * @bytes: number of bytes, less than 2^31
 * @count: the counter that it ticks, plus 1; 0: none
 *
 * Not for programs: it exists only during a verb.
 */
struct gda_gin_wr {
	uint64_t laddr;
	uint64_t raddr;
	uint32_t lkey;
	uint32_t rkey;
	uint32_t bytes;
	uint32_t count;
};

GDA_HELPER struct gda_view *gda_gin_view(const struct gda_gin_queue *q)
{
	return (struct gda_view *)(uintptr_t)q->view;
}

/* The queue of @endpoint to @peer, or NULL if there is none. */
GDA_HELPER struct gda_gin_queue *gda_gin_queue(const struct gda_gin *gin, uint32_t endpoint,
					       uint32_t peer)
{
	struct gda_gin_queue *q = (struct gda_gin_queue *)(uintptr_t)gin->queues +
				  (uint64_t)endpoint * gin->nranks + peer;

	return gda_unlikely(peer >= gin->nranks) || gda_unlikely(!q->view) ? 0 : q;
}

GDA_HELPER uint64_t *gda_gin_word64(uint64_t table, uint32_t index)
{
	return (uint64_t *)(uintptr_t)table + index;
}

/* The put with @tag is done: tick its counter, since the program may change the source. */
GDA_SLOW void gda_gin_tick(const struct gda_gin *gin, struct gda_gin_queue *q, uint64_t tag)
{
	uint32_t counter = (uint32_t)(tag & ((1U << GDA_GIN_TAG_BITS) - 1)) - 1;

	gda_gin_check_source(gin, q, tag >> GDA_GIN_TAG_BITS, counter);
	gda_add64(gda_gin_word64(gin->counts, counter), 1);
}

/* Was the request at @index executed? It is done. */
GDA_HELPER int gda_gin_succeeded(const struct gda_gin_queue *q, uint64_t index)
{
	const struct gda_view *v = gda_gin_view(q);

	return !gda_view_unordered(v) || gda_cqe_outcome(gda_wqe_other(v->dialect), v, index) > 0;
}

/*
 * Wait for the put of @tag; without gda_wait(), which may ring for a slot that the caller has not
 * written. Return: what gda_test() does, or the error of the wait.
 */
GDA_SLOW int gda_gin_wait_tag(struct gda_view *v, uint64_t tag, unsigned int flags)
{
	uint64_t deadline = 0;
	unsigned int polls;
	int done, err = 0;

	for (polls = 1;; polls++) {
		done = gda_test(v, (int64_t)(tag >> GDA_GIN_TAG_BITS));
		if (done || err)
			return done ? done : err;
		if (flags & GDA_NOWAIT)
			return -EAGAIN;
		gda_rest(v, polls, GDA_RELAX_DONE);
		err = gda_expired(v, polls, &deadline);
	}
}

/* Tag slot @index, which is reserved and not published, as a put that ticks counter @count - 1. */
GDA_HELPER void gda_gin_tag(const struct gda_gin *gin, struct gda_gin_queue *q, uint64_t index,
			    uint32_t count)
{
	uint32_t slot = (uint32_t)index & gda_fixed32(&gda_gin_view(q)->mask);
	uint64_t old = gda_exchange64(gda_gin_word64(gda_fixed64(&q->tags), slot),
				      index << GDA_GIN_TAG_BITS | count);

	/* in no order a slot is free before its request is done */
	if (gda_unlikely(old) && (!gda_view_unordered(gda_gin_view(q)) ||
				  gda_gin_wait_tag(gda_gin_view(q), old, 0) > 0))
		gda_gin_tick(gin, q, old);
}

/* Take the tags of all slots below @done, which have completed without an error. */
GDA_SLOW void gda_gin_take(const struct gda_gin *gin, struct gda_gin_queue *q, uint64_t done)
{
	uint64_t i = gda_load_relaxed64(&q->credited);
	uint32_t mask = gda_gin_view(q)->mask;

	if (!q->tags || i >= done)
		return;
	if (done - i > mask + 1)
		i = done - mask - 1;
	for (; i < done; i++) {
		uint64_t *word = gda_gin_word64(q->tags, (uint32_t)i & mask);
		uint64_t tag = gda_load_relaxed64(word);

		if (tag && tag >> GDA_GIN_TAG_BITS < done && gda_cas64(word, &tag, 0) &&
		    gda_gin_succeeded(q, tag >> GDA_GIN_TAG_BITS))
			gda_gin_tick(gin, q, tag);
	}
	gda_max64(&q->credited, done);
}

/* Take the tags of a queue's completed slots. */
GDA_SLOW void gda_gin_credit(const struct gda_gin *gin, struct gda_gin_queue *q)
{
	struct gda_view *v = gda_gin_view(q);
	uint64_t done, failed;

	gda_progress(v);
	done = gda_poll(v, 0);
	failed = gda_load_acquire64(&v->error_index);
	if (gda_view_unordered(v)) {
		done = gda_load_acquire64(&v->done);
		failed = done;
	}
	gda_gin_take(gin, q, done > failed ? failed : done);
}

/**
 * struct gda_gin_transfer - the memory that a put or a get copies
 * @remote: in the peer's memory
 * @local: in the caller's memory
 * @bytes: number of bytes; while pieces are posted, of those that are left
 * @get: 1 from @remote to @local, 0 the other way
 * @count: number of the counter that it ticks, plus 1; 0: none
 *
 * Not for programs: it exists only during a verb.
 */
struct gda_gin_transfer {
	struct gda_gin_place remote;
	struct gda_gin_place local;
	uint64_t bytes;
	uint32_t get;
	uint32_t count;
};

/* Cut the next piece off a transfer that crosses segments. */
GDA_HELPER void gda_gin_piece(uint32_t self, uint32_t peer, struct gda_gin_transfer *t,
			      struct gda_gin_wr *wr)
{
	uint64_t span = t->bytes < GDA_CHUNK_MAX ? t->bytes : GDA_CHUNK_MAX;

	span = gda_chunk_span(gda_window_map(t->local.window, self), t->local.offset, span,
			      &wr->laddr, &wr->lkey);
	span = gda_chunk_span(gda_window_map(t->remote.window, peer), t->remote.offset, span,
			      &wr->raddr, &wr->rkey);
	wr->bytes = (uint32_t)span;
	t->remote.offset += span;
	t->local.offset += span;
	t->bytes -= span;
}

/* Fill in source and destination in @wr. Return: 0; -EFAULT; 1 if there are several pieces. */
GDA_HELPER int gda_gin_whole(uint32_t peer, const struct gda_gin_transfer *t,
			     struct gda_gin_wr *wr)
{
	if (gda_unlikely(!gda_at_fits(t->remote, t->bytes)) ||
	    gda_unlikely(!gda_at_fits(t->local, t->bytes)))
		return -EFAULT;
	if (gda_unlikely((gda_fixed32(&t->remote.window->pieces) |
			  gda_fixed32(&t->local.window->pieces)) > 1) ||
	    gda_unlikely(t->bytes > GDA_CHUNK_MAX))
		return 1;
	wr->raddr = gda_fixed64(&gda_window_part(t->remote.window, peer)->iova) + t->remote.offset;
	wr->rkey = gda_fixed32(&gda_window_part(t->remote.window, peer)->key);
	wr->laddr = gda_fixed64(&t->local.window->iova) + t->local.offset;
	wr->lkey = gda_fixed32(&t->local.window->key);
	wr->bytes = (uint32_t)t->bytes;
	wr->count = t->count;
	return 0;
}

/* Make the write of @wr, or the read. */
GDA_HELPER struct gda_wr gda_gin_wr_of(const struct gda_gin_wr *wr, int get)
{
	return get ? gda_wr_get(wr->laddr, wr->lkey, wr->raddr, wr->rkey, wr->bytes) :
		     gda_wr_put(wr->laddr, wr->lkey, wr->raddr, wr->rkey, wr->bytes);
}

/**
 * struct gda_gin_port - the queue that a verb goes to
 * @q: the queue
 * @dialect: its dialect, as a constant if there are at most two
 * @unused: 0
 *
 * Not for programs. A verb checks the dialect once, when it has found its queue: for a dialect
 * other than the first an out-of-line function, like gda_gin_move_other(), begins the verb again.
 * That function gets copies, so that the originals stay in registers.
 */
struct gda_gin_port {
	struct gda_gin_queue *q;
	uint32_t dialect;
	uint32_t unused;
};

GDA_HELPER struct gda_gin_port gda_gin_port_first(struct gda_gin_queue *q)
{
	struct gda_gin_port port;

	port.q = q;
	port.dialect = GDA_WQE_FIRST;
	port.unused = 0;
	return port;
}

GDA_HELPER struct gda_gin_port gda_gin_port_other(struct gda_gin_queue *q)
{
	struct gda_gin_port port;

	port.q = q;
	port.dialect = gda_wqe_other(gda_gin_view(q)->dialect);
	port.unused = 0;
	return port;
}

/*
 * Where requests complete in any order: wait until the next slot's last put with a counter is done,
 * if it has one, so that its tag need not be waited for with a slot in hand. Another poster may
 * take that slot meanwhile: for that gda_gin_tag() waits, too.
 */
GDA_SLOW int gda_gin_tag_room(struct gda_gin_queue *q, unsigned int flags)
{
	struct gda_view *v = gda_gin_view(q);
	uint32_t slot = (uint32_t)gda_load_relaxed64(&v->reserved) & v->mask;
	uint64_t tag = gda_load_relaxed64(gda_gin_word64(q->tags, slot));
	int done = tag ? gda_gin_wait_tag(v, tag, flags) : 1;

	return done > 0 || done == -EIO || done == -ECANCELED ? 0 : done;
}

/*
 * Post @r, for the transfer of @wr, or NULL if it ticks no counter. Return: its ticket, or a
 * negative errno.
 */
GDA_HELPER int64_t gda_gin_post_request(const struct gda_gin *gin, struct gda_gin_port port,
					struct gda_wr r, const struct gda_gin_wr *wr,
					unsigned int flags)
{
	struct gda_wqe w = gda_wqe_make(port.dialect, r);
	struct gda_view *v = gda_gin_view(port.q);
	int counts = wr && wr->count;
	uint64_t index;
	int err;

	gda_check_flags(flags);
	err = counts && gda_cqe_unordered(port.dialect) ? gda_gin_tag_room(port.q, flags) : 0;
	if (!err)
		err = gda_reserve(v, w.slots, &flags, &index);
	if (err)
		return err;
	if (counts) {
		gda_gin_note_source(port.q, index, wr->laddr, wr->bytes);
		gda_gin_tag(gin, port.q, index, wr->count);
	}
	gda_wqe_store(gda_sq(v, port.dialect), index, &w, flags & GDA_SOLICITED);
	gda_publish(v, port.dialect, index, w.slots, flags);
	return (int64_t)index;
}

/* Post one write or read. Return: its ticket, or a negative errno. */
GDA_HELPER int64_t gda_gin_post(const struct gda_gin *gin, struct gda_gin_port port, int get,
				const struct gda_gin_wr *wr, unsigned int flags)
{
	return gda_gin_post_request(gin, port, gda_gin_wr_of(wr, get), wr, flags);
}

/* Post a work request that ticks no counter, in the dialect of the queue. */
GDA_HELPER int gda_gin_post_plain(struct gda_gin_queue *q, struct gda_wr r, unsigned int flags)
{
	int64_t ticket;

	gda_check_flags(flags);
	ticket = gda_post(gda_gin_view(q), r, flags);
	return ticket < 0 ? (int)ticket : 0;
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif /* GDA_GIN_POST_H */
