/* SPDX-License-Identifier: MIT */
/*
 * How the calls of gda/async.h reach a queue. Included by gda/async.h; not to be called by
 * programs.
 *
 * A copy of at most a block goes to one queue, the next in turn. A longer one is divided: every
 * queue gets at most one piece of whole blocks, unless a piece would exceed %GDA_CHUNK_MAX. A copy
 * of the engine COPY is a read of the loopback queue, because a read's bytes have arrived when it
 * is done; with %GDA_ASYNC_FLAG_WAIT it is a write, because writes arrive before the flag that is
 * posted behind them.
 */
#ifndef GDA_ASYNC_POST_H
#define GDA_ASYNC_POST_H

#include <gda/async_wait.h>

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/**
 * struct gda_async_asked - a copy as the caller asked for it
 * @dst: destination, as its rank has it
 * @src: source, as its rank has it
 * @bytes: number of bytes
 * @put: 1 to the peer, 0 from it
 *
 * Not for programs: it exists only during a call.
 */
struct gda_async_asked {
	uint64_t dst;
	uint64_t src;
	uint64_t bytes;
	uint64_t put;
};

/**
 * struct gda_async_move - a copy that was checked
 * @laddr: local address in work requests
 * @raddr: remote address in work requests
 * @bytes: number of bytes here
 * @extent: number of bytes at the peer; more than @bytes for rows at a pitch
 * @lkey: key of the local window
 * @rkey: key of the remote window
 * @first: the first queue to the peer, among those of the session
 * @put: 1 a write, 0 a read
 *
 * Not for programs: it exists only during a call.
 */
struct gda_async_move {
	uint64_t laddr;
	uint64_t raddr;
	uint64_t bytes;
	uint64_t extent;
	uint32_t lkey;
	uint32_t rkey;
	uint32_t first;
	uint32_t put;
};

GDA_HELPER struct gda_async_asked gda_async_asked(uint64_t dst, uint64_t src, uint64_t bytes,
						  uint64_t put)
{
	struct gda_async_asked a;

	a.dst = dst;
	a.src = src;
	a.bytes = bytes;
	a.put = put;
	return a;
}

/* The first of the session's queues to the peer of a call, or why there is none. */
GDA_HELPER uint32_t gda_async_route(const struct gda_async_session *s, uint32_t engine,
				    uint32_t *first)
{
	uint32_t peer = engine >> 8;

	*first = 0;
	if (s->engine != (engine & 0xff))
		return GDA_ASYNC_WHY_ENGINE;
	if (s->engine != GDA_ASYNC_ANY)
		return 0;
	*first = peer * s->queues;
	return peer < s->peers ? 0 : GDA_ASYNC_WHY_PEER;
}

/* Is the whole range in @window? */
GDA_HELPER int gda_async_within(const struct gda_chunk *window, uint64_t addr, uint64_t bytes)
{
	return bytes <= window->length && addr - window->addr <= window->length - bytes;
}

/* Find the window of a rank that contains a range; it is remembered in *@window. */
GDA_HELPER int gda_async_find(const struct gda_async_session *s, uint32_t rank, uint64_t addr,
			      uint64_t bytes, struct gda_chunk *window)
{
	const struct gda_chunk *found = gda_chunk_find(gda_async_map(s, rank), addr);

	if (!gda_async_within(found, addr, bytes))
		return 0;
	*window = *found;
	return 1;
}

/* The address of a range in work requests. */
GDA_HELPER uint64_t gda_async_iova(const struct gda_chunk *window, uint64_t addr)
{
	return window->iova + (addr - window->addr);
}

/*
 * Fill in addresses and keys of a copy whose lengths are in @m. Return: 0, or why that is
 * impossible.
 */
GDA_HELPER uint32_t gda_async_resolve(struct gda_async_session *s, uint32_t engine,
				      uint64_t local, uint64_t remote, struct gda_async_move *m)
{
	uint32_t why = gda_async_route(s, engine, &m->first);
	uint32_t rank = s->peer + (m->first ? m->first / s->queues : 0);

	if (why)
		return why;
	if (!local || !remote)
		return GDA_ASYNC_WHY_NULL;
	if (!gda_async_find(s, gda_async_of(s)->rank, local, m->bytes, &s->local))
		return m->put ? GDA_ASYNC_WHY_SRC : GDA_ASYNC_WHY_DST;
	if (!gda_async_find(s, rank, remote, m->extent, &s->remote))
		return m->put ? GDA_ASYNC_WHY_DST : GDA_ASYNC_WHY_SRC;
	m->laddr = gda_async_iova(&s->local, local);
	m->raddr = gda_async_iova(&s->remote, remote);
	m->lkey = s->local.key;
	m->rkey = s->remote.key;
	return 0;
}

GDA_HELPER struct gda_wr gda_async_wr(const struct gda_async_move *m, uint64_t at, uint32_t bytes)
{
	return m->put ? gda_wr_put(m->laddr + at, m->lkey, m->raddr + at, m->rkey, bytes) :
			gda_wr_get(m->laddr + at, m->lkey, m->raddr + at, m->rkey, bytes);
}

/*
 * A post failed: its errno is the event, and the next wait returns it, too. Not so with %GDA_NOWAIT
 * and a full queue: the caller repeats that.
 */
GDA_HELPER struct gda_async_event gda_async_lost(struct gda_async_session *s, int64_t err)
{
	if (!s->failed && err != -EAGAIN)
		s->failed = (int32_t)err;
	s->ready = 0;
	return gda_async_event(err);
}

/* Make room for an entry in the history: wait for the oldest one, if necessary. */
GDA_HELPER int gda_async_room(struct gda_async_session *s, unsigned int flags)
{
	if (s->view || s->posted - s->done <= s->mask)
		return 0;
	if (flags & GDA_NOWAIT)
		return gda_async_retire_done(s, s->done + 1) ? 0 : -EAGAIN;
	return gda_async_retire(s, s->done + 1, 0);
}

/*
 * Post @r to queue @queue of the session, and add it to the history. Return: 0 or a negative errno.
 */
GDA_HELPER int gda_async_send(struct gda_async_session *s, uint32_t queue, struct gda_wr r,
			      unsigned int flags)
{
	int64_t ticket = gda_async_room(s, flags);

	if (!ticket)
		ticket = gda_post(gda_async_view(s, queue), r, flags);
	if (ticket < 0)
		return (int)ticket;
	if (s->view) {
		s->last = ticket;
		return 0;
	}
	*gda_async_history(s, s->posted++) = (uint64_t)ticket << GDA_ASYNC_QUEUE_BITS | queue;
	return 0;
}

/* Choose the next queue in turn, among those to a peer. */
GDA_HELPER uint32_t gda_async_turn(struct gda_async_session *s, uint32_t first)
{
	uint32_t turn = s->next;

	s->next = turn + 1 < s->queues ? turn + 1 : 0;
	return first + turn;
}

/* How long a piece of a copy is. */
GDA_HELPER uint64_t gda_async_piece(const struct gda_async_session *s, uint64_t bytes)
{
	uint64_t share;

	if (bytes <= s->block)
		return bytes;
	share = (bytes + s->queues - 1) / s->queues;
	share = (share + s->block - 1) / s->block * s->block;
	return share < GDA_CHUNK_MAX ? share : GDA_CHUNK_MAX;
}

GDA_HELPER struct gda_async_event gda_async_deal(struct gda_async_session *s,
						 const struct gda_async_move *m,
						 unsigned int flags)
{
	uint64_t piece = gda_async_piece(s, m->bytes), at = 0, left = m->bytes;
	int err = 0;

	while (!err && left) {
		uint64_t bytes = left < piece ? left : piece;

		err = gda_async_send(s, gda_async_turn(s, m->first),
				     gda_async_wr(m, at, (uint32_t)bytes), flags);
		at += bytes;
		left -= bytes;
	}
	return err ? gda_async_lost(s, err) : gda_async_event(gda_async_newest(s));
}

/* The event of a refused call: nothing is posted, and the event is complete. */
GDA_HELPER struct gda_async_event gda_async_none(struct gda_async_session *s, const char *call,
						 uint32_t why)
{
	s->refused = gda_async_refuse(call, why);
	return gda_async_event(0);
}

/* Is the copy posted as a write? With the engine COPY it is a read, or with flags a write. */
GDA_HELPER uint32_t gda_async_is_put(const struct gda_async_session *s, uint32_t engine,
				     uint32_t put)
{
	if ((engine & 0xff) != GDA_ASYNC_COPY)
		return put;
	return (s->flags & GDA_ASYNC_FLAG_WAIT) != 0;
}

/* Post a copy of any kind. */
GDA_SLOW struct gda_async_event gda_async_copy_any(struct gda_async_session *s, uint32_t engine,
						   struct gda_async_asked a, unsigned int flags)
{
	const char *call = a.put ? "gda_async_put" : "gda_async_get";
	struct gda_async_move m;
	uint32_t why;

	if (!a.bytes)
		return gda_async_event(0);
	m.put = gda_async_is_put(s, engine, (uint32_t)a.put);
	m.bytes = a.bytes;
	m.extent = a.bytes;
	why = gda_async_resolve(s, engine, m.put ? a.src : a.dst, m.put ? a.dst : a.src, &m);
	if (why)
		return gda_async_none(s, call, why);
	return gda_async_deal(s, &m, flags);
}

/*
 * Is a copy one piece, and inside the windows that were used last? Windows are shorter than 2^63
 * bytes: so an offset with the highest bit set is outside, and with any other offset the sum cannot
 * wrap.
 */
GDA_HELPER int gda_async_in_last_windows(const struct gda_async_session *s, uint64_t local,
					 uint64_t remote, uint64_t bytes)
{
	uint64_t loff = local - s->local.addr, roff = remote - s->remote.addr;

	return !gda_unlikely(bytes - 1 >= s->block) && !gda_unlikely((loff | roff) >> 63) &&
	       !gda_unlikely(loff + bytes > s->local.length) &&
	       !gda_unlikely(roff + bytes > s->remote.length);
}

/*
 * Post a copy: at once if there is one queue, the copy is at most a block, and it is inside the
 * windows that were used last.
 */
GDA_HELPER struct gda_async_event gda_async_copy(struct gda_async_session *s, uint32_t engine,
						 struct gda_async_asked a, unsigned int flags)
{
	uint32_t write = (engine & 0xff) != GDA_ASYNC_COPY && a.put;
	uint64_t local = write ? a.src : a.dst, remote = write ? a.dst : a.src;
	struct gda_view *v = (engine & 0xff) > GDA_ASYNC_PEER ? 0 :
			     (struct gda_view *)(uintptr_t)s->fast[engine & 0xff];
	struct gda_async_move m;
	struct gda_wqe w;
	uint64_t index;
	int err;

	gda_check_flags(flags);
	if (gda_unlikely(!v) || gda_unlikely(!gda_async_in_last_windows(s, local, remote, a.bytes)))
		return gda_async_copy_any(s, engine, a, flags);
	m.laddr = gda_async_iova(&s->local, local);
	m.raddr = gda_async_iova(&s->remote, remote);
	m.lkey = s->local.key;
	m.rkey = s->remote.key;
	m.bytes = a.bytes;
	m.put = write;
	w = gda_wqe_make(GDA_WQE_FIRST, gda_async_wr(&m, 0, (uint32_t)a.bytes));
	err = gda_reserve(v, w.slots, &flags, &index);
	if (gda_unlikely(err))
		return gda_async_lost(s, err);
	gda_wqe_store(gda_sq(v, GDA_WQE_FIRST), index, &w, flags & GDA_SOLICITED);
	gda_publish(v, GDA_WQE_FIRST, index, w.slots, flags);
	s->last = (int64_t)index;
	return gda_async_event((int64_t)index + 1);
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif /* GDA_ASYNC_POST_H */
