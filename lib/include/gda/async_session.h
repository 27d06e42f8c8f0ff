/* SPDX-License-Identifier: MIT */
/*
 * Sessions of gda/async.h: opened by the poster itself, without a call of the host. Included by
 * gda/async.h.
 *
 * A session with one queue needs no history: an event is the ticket of its last entry, plus 1,
 * because the queue completes in order. A session with several queues keeps queue and ticket of
 * each entry in the scratch, a ring of words in the order of posting; an event is the count of
 * entries after its last one was added. So an event covers all entries up to its own and no later
 * one, whichever queues they went to. An entry leaves the ring when it is done; if the ring is
 * full, the next post waits for the oldest.
 */
#ifndef GDA_ASYNC_SESSION_H
#define GDA_ASYNC_SESSION_H

#include <gda/async_setup.h>

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/**
 * struct gda_async_session - a poster's use of a group of queues (P-06)
 * @size: sizeof(struct gda_async_session); the caller sets it before gda_async_open()
 * @engine: enum gda_async_engine
 * @queues: to each peer
 * @next: queue of the next copy
 * @workspace: struct gda_async_workspace
 * @view: the only queue, or 0
 * @fast: for each engine: @view, if gets are posted as reads and puts as writes in the first
 *	dialect; else 0
 * @ready: @view, if a wait only has to poll that view, in the first dialect; else 0
 * @last: ticket of the last entry of the only queue, or -1
 * @local: window that was used last at this rank
 * @remote: window that was used last at a peer
 * @posted: the last event, with several queues
 * @done: all events up to this one have ended and were reported
 * @broken: first event that failed, minus 1, or UINT64_MAX; with several queues
 * @views: of the first queue
 * @scratch: of the caller
 * @flag: with %GDA_ASYNC_FLAG_WAIT: the last value of flags; 0: none was posted
 * @mask: entries of the history - 1
 * @peer: rank of the first peer
 * @peers: number of peers
 * @block: a longer copy is dealt over the queues
 * @failed: errno of the first post that failed since the last gda_async_wait(), or 0
 * @refused: errno of the last call that was refused, or 0; the caller may clear it
 * @flags: of the workspace
 * @reserved: 0
 * @flagged: with %GDA_ASYNC_FLAG_WAIT: a bit for each queue whose flag was posted by a wait that
 *	ended before the flag arrived
 * @reserved2: 0
 *
 * Plain data. Programs use @size, @engine and @refused; the other members are private.
 */
struct gda_async_session {
	uint32_t size;
	uint32_t engine;
	uint32_t queues;
	uint32_t next;
	uint64_t workspace;
	uint64_t view;
	uint64_t fast[3];
	uint64_t ready;
	int64_t last;
	struct gda_chunk local;
	struct gda_chunk remote;
	uint64_t posted;
	uint64_t done;
	uint64_t broken;
	uint64_t views;
	uint64_t scratch;
	uint64_t flag;
	uint32_t mask;
	uint32_t peer;
	uint32_t peers;
	uint32_t block;
	int32_t failed;
	int32_t refused;
	uint32_t flags;
	uint32_t reserved;
	uint64_t flagged;
	uint64_t reserved2[2];
};

/**
 * struct gda_async_event - the event that a call of a session returns
 * @handle: 0: complete, or the call was refused; positive: pass it to a wait or test; negative: the
 *	errno with which the post failed
 *
 * Passed by value; 8 bytes.
 */
struct gda_async_event {
	int64_t handle;
};

/* A word of the history: the ticket in 52 bits, the session's queue in 12. */
#define GDA_ASYNC_QUEUE_BITS	12
#define GDA_ASYNC_QUEUE_MASK	((1U << GDA_ASYNC_QUEUE_BITS) - 1)

GDA_HELPER struct gda_async_event gda_async_event(int64_t handle)
{
	struct gda_async_event event;

	event.handle = handle;
	return event;
}

GDA_HELPER const struct gda_async_workspace *gda_async_of(const struct gda_async_session *s)
{
	return (const struct gda_async_workspace *)(uintptr_t)s->workspace;
}

/* Queue @index of a session: peer * queues + queue. */
GDA_HELPER struct gda_view *gda_async_view(const struct gda_async_session *s, uint64_t index)
{
	return (struct gda_view *)(uintptr_t)((const uint64_t *)(uintptr_t)s->views)[index];
}

GDA_HELPER uint64_t *gda_async_history(const struct gda_async_session *s, uint64_t entry)
{
	return (uint64_t *)(uintptr_t)s->scratch + (entry & s->mask);
}

/* The words for flags follow the history. */
GDA_HELPER uint64_t *gda_async_flag(const struct gda_async_session *s, uint32_t queue)
{
	return (uint64_t *)(uintptr_t)s->scratch + (s->view ? 0 : s->mask + 1) + queue;
}

/* The event of the last entry that was posted. */
GDA_HELPER int64_t gda_async_newest(const struct gda_async_session *s)
{
	return s->view ? s->last + 1 : (int64_t)s->posted;
}

/* The windows of a rank. */
GDA_HELPER const struct gda_chunk_map *gda_async_map(const struct gda_async_session *s,
						     uint32_t rank)
{
	return (const struct gda_chunk_map *)(uintptr_t)gda_async_of(s)->maps + rank;
}

/* The call is refused and posts nothing: note why. */
GDA_SLOW int gda_async_refuse(const char *call, uint32_t why)
{
	GDA_HERE(gda_async_refused(call, why), (void)call);
	if (why == GDA_ASYNC_WHY_ATOMIC)
		return -EOPNOTSUPP;
	if (why == GDA_ASYNC_WHY_DST || why == GDA_ASYNC_WHY_SRC ||
	    why == GDA_ASYNC_WHY_SCRATCH_WINDOW)
		return -EFAULT;
	return why == GDA_ASYNC_WHY_PEER ? -ENOTCONN : -EINVAL;
}

/* The least power of two that is at least @n. */
GDA_HELPER uint32_t gda_async_roundup(uint32_t n)
{
	uint32_t power = 1;

	while (power < n)
		power *= 2;
	return power;
}

/**
 * gda_async_scratch_bytes - the least scratch of a session
 * @w: the workspace
 * @peer: of gda_async_open_peer(); %GDA_ASYNC_AUTO: of gda_async_open()
 *
 * Eight bytes for each queue of a group, rounded up to a power of two, and eight more with
 * %GDA_ASYNC_FLAG_WAIT and several queues. Each further eight bytes allow one more copy, or block
 * of a copy, in flight; with one queue more gains nothing. A session with one queue to a peer needs
 * none.
 *
 * Return: bytes.
 */
GDA_API uint32_t gda_async_scratch_bytes(const struct gda_async_workspace *w, uint32_t peer)
{
	uint32_t history = gda_async_roundup(w->queues);

	if (w->remote && peer != GDA_ASYNC_AUTO && w->queues == 1)
		return 0;
	if (w->flags & GDA_ASYNC_FLAG_WAIT && w->queues > 1)
		history += w->queues;
	return 8 * history;
}

/* The group of a session. */
GDA_HELPER uint32_t gda_async_group(const struct gda_async_workspace *w, uint32_t group)
{
	if (group != GDA_ASYNC_AUTO)
		return group;
	return GDA_HERE(gda_async_thread(),
			blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z)) %
	       w->groups;
}

/* Divide the scratch: as much history as there is room for, followed by flags. */
GDA_HELPER uint32_t gda_async_use_scratch(struct gda_async_session *s, void *scratch,
					  uint32_t bytes)
{
	uint64_t words = bytes / 8, iova = 0;
	uint32_t key = 0;

	s->scratch = (uintptr_t)scratch;
	if (words && (!scratch || (uintptr_t)scratch % 8))
		return GDA_ASYNC_WHY_SCRATCH;
	if (s->flags & GDA_ASYNC_FLAG_WAIT) {
		if (gda_chunk_span(gda_async_map(s, 0), s->scratch, bytes, &iova, &key) < bytes)
			return GDA_ASYNC_WHY_SCRATCH_WINDOW;
		words -= s->view ? 0 : s->queues;
	}
	while (!s->view && s->mask < 0xfffff && 2 * (s->mask + 1ULL) <= words)
		s->mask = 2 * s->mask + 1;
	return 0;
}

/*
 * The only queue, if copies and waits need nothing else: no flag is posted, and the queue has the
 * first dialect, the only one that gda_async_copy() and gda_async_wait() encode and read.
 * gda_async_copy_any() and gda_async_wait_all() handle the others.
 */
GDA_HELPER uint64_t gda_async_ready(const struct gda_async_session *s)
{
	const struct gda_view *v = (const struct gda_view *)(uintptr_t)s->view;

	if (s->flags & GDA_ASYNC_FLAG_WAIT || (v && !gda_wqe_is_first(v->dialect)))
		return 0;
	return s->view;
}

GDA_HELPER void gda_async_fill(struct gda_async_session *s, const struct gda_async_workspace *w,
			       uint32_t group, uint32_t peer)
{
	uint32_t bound = !w->remote || peer != GDA_ASYNC_AUTO;
	uint32_t size = s->size;

	memset(s, 0, sizeof(*s));
	s->size = size;
	s->engine = !w->remote ? GDA_ASYNC_COPY : bound ? GDA_ASYNC_PEER : GDA_ASYNC_ANY;
	s->workspace = (uintptr_t)w;
	s->flags = w->flags;
	s->queues = w->queues;
	s->peers = bound ? 1 : w->nranks;
	s->peer = !w->remote ? w->rank : bound ? peer : 0;
	s->views = w->views + 8ULL * (((uint64_t)group * w->nranks + s->peer) * w->queues);
	s->broken = UINT64_MAX;
	s->last = -1;
	s->local = *gda_chunk_find(gda_async_map(s, w->rank), 0);
	s->remote = *gda_chunk_find(gda_async_map(s, s->peer), 0);
	s->block = w->queues > 1 ? w->block_bytes : GDA_CHUNK_MAX;
	if (bound && w->queues == 1) {
		s->view = *(const uint64_t *)(uintptr_t)s->views;
		s->ready = gda_async_ready(s);
		s->fast[s->engine] = s->ready;
	}
}

GDA_HELPER int gda_async_open_any(const struct gda_async_workspace *w, uint32_t group,
				  uint32_t peer, void *scratch, uint32_t bytes,
				  struct gda_async_session *s)
{
	const char *call = "gda_async_open";
	uint32_t why;

	if (s->size < sizeof(*s))
		return gda_async_refuse(call, GDA_ASYNC_WHY_SESSION);
	if (!w || w->size < sizeof(*w) || !w->views)
		return gda_async_refuse(call, GDA_ASYNC_WHY_WORKSPACE);
	group = gda_async_group(w, group);
	if (group >= w->groups)
		return gda_async_refuse(call, GDA_ASYNC_WHY_GROUP);
	if (peer != GDA_ASYNC_AUTO && (!w->remote || peer >= w->nranks))
		return gda_async_refuse(call, GDA_ASYNC_WHY_PEER);
	if (bytes < gda_async_scratch_bytes(w, peer))
		return gda_async_refuse(call, GDA_ASYNC_WHY_SCRATCH);
	gda_async_fill(s, w, group, peer);
	why = gda_async_use_scratch(s, scratch, bytes);
	if (!why)
		return 0;
	s->engine = UINT32_MAX;
	s->fast[GDA_ASYNC_COPY] = 0;
	return gda_async_refuse(call, why);
}

/**
 * gda_async_open - open a session (P-04, P-06, P-07, P-08)
 * @w: the workspace, at the poster's address
 * @group: number of the group, or %GDA_ASYNC_AUTO
 * @scratch: memory of the poster, of any kind, a multiple of 8; used by the session until its last
 *	call
 * @bytes: length of @scratch in bytes, at least gda_async_scratch_bytes()
 * @s: the session; the caller sets its size
 *
 * The session's engine is %GDA_ASYNC_COPY if the workspace has no ranks, else %GDA_ASYNC_ANY. A
 * session need not be closed. The scratch holds tickets and flags, never bytes of copies.
 *
 * Return: 0; -EINVAL no such workspace or group, the scratch is too small or not aligned, or
 * the session's size is too small; -EFAULT with %GDA_ASYNC_FLAG_WAIT: the scratch is in no
 * window. On a CPU gda_last_error() says why.
 */
GDA_API int gda_async_open(const struct gda_async_workspace *w, uint32_t group, void *scratch,
			   uint32_t bytes, struct gda_async_session *s)
{
	return gda_async_open_any(w, group, GDA_ASYNC_AUTO, scratch, bytes, s);
}

/**
 * gda_async_open_peer - open a session of the engine %GDA_ASYNC_PEER (P-05)
 * @w: a workspace that was made for ranks
 * @group: number of the group, or %GDA_ASYNC_AUTO
 * @peer: the rank for all calls of the session, which may be the caller's own
 * @scratch: memory of the poster, of any kind, a multiple of 8; NULL if the group has one queue to
 *	each peer
 * @bytes: length of @scratch in bytes
 * @s: the session; the caller sets its size
 *
 * Return: as gda_async_open(); -ENOTCONN there is no such rank.
 */
GDA_API int gda_async_open_peer(const struct gda_async_workspace *w, uint32_t group,
				uint32_t peer, void *scratch, uint32_t bytes,
				struct gda_async_session *s)
{
	/* no rank has this number, so it is refused */
	if (peer == GDA_ASYNC_AUTO)
		return gda_async_refuse("gda_async_open", GDA_ASYNC_WHY_PEER);
	return gda_async_open_any(w, group, peer, scratch, bytes, s);
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif /* GDA_ASYNC_SESSION_H */
