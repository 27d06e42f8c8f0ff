/* SPDX-License-Identifier: MIT */
/*
 * One-sided communication by windows, signals and counters: the semantics of NCCL's device
 * API (GIN), for the ranks of gda/comm.h.
 *
 *	gda_gin_create(ranks, ctx, &attr, &comm);	collective: queues, signals, counters
 *	gda_window_register(comm, &what, &window);	collective: memory named by offset
 *	gin = gda_gin_context(comm, 0);
 *	gda_gin_put(gin, peer, gda_at(window, 0), gda_at(window, 64), 64, gda_gin_inc(3, 0));
 *	gda_gin_wait_signal(gin, 3, 1, 64, 0);		at the peer
 *
 * A verb takes a rank of the world; gda_team_to_world() converts. Every rank may put to
 * itself. struct gda_gin_how says what a verb does besides moving data:
 *
 *   remote action   a signal of the peer, or a word of a window there, is added to. A strong
 *                   signal arrives only after all earlier puts to the same peer in the same
 *                   context, a weak one after its own put.
 *   local action    a counter ticks once the source of the put may be changed.
 *   flags           %GDA_EXCLUSIVE by the one thread that uses a context of
 *                   %GDA_GIN_SHARE_THREAD, and by nobody else; %GDA_DEFER aggregates: the
 *                   doorbell is left to a later verb or flush.
 *
 * On RC queues, weak and strong cost the same; where nothing is in order (%GDA_GIN_SENDERS) a strong
 * one waits for all that was posted to the peer, a weak one for its own put. Flags should be constants, so that the compiler
 * folds them. A put with a signal is one reservation, two entries, one doorbell; by arrival
 * (%GDA_GIN_ARRIVAL) one entry and no atomic.
 *
 * Verbs wait only for room in the queue, at most gda_gin_attr.timeout_ns; but a put with a signal
 * by arrival that crosses segments waits until all pieces but the last have arrived. Addresses are
 * those of the processor where posters run: a CPU, or, with gda_gin_attr.cuda, that GPU. In a
 * kernel the verbs below are for any thread; those of gda/gpu/gin.h, which comes with this header
 * there, are for posters that keep a queue in registers, and for groups of threads.
 */
#ifndef GDA_GIN_H
#define GDA_GIN_H

#include <gda/gin/barrier.h>

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/**
 * struct gda_gin_known - the part that a verb needs of its context and queue
 * @signals: gda_gin_queue.signals
 * @fetched: gda_gin_queue.fetched
 * @rkey: gda_gin_queue.rkey
 * @lkey: gda_gin_queue.lkey
 * @nsignals: gda_gin.signals
 * @ncounters: gda_gin.counters
 *
 * Not for programs: it exists only during a verb, or as long as a GPU's poster.
 */
struct gda_gin_known {
	uint64_t signals;
	uint64_t fetched;
	uint32_t rkey;
	uint32_t lkey;
	uint32_t nsignals;
	uint32_t ncounters;
};

GDA_HELPER struct gda_gin_known gda_gin_know(const struct gda_gin *gin,
					     const struct gda_gin_queue *q)
{
	struct gda_gin_known known;

	known.signals = q->signals;
	known.fetched = q->fetched;
	known.rkey = q->rkey;
	known.lkey = q->lkey;
	known.nsignals = gin->signals;
	known.ncounters = gin->counters;
	return known;
}

/* Do the signal and the counter that a verb names exist? */
GDA_HELPER int gda_gin_actions(uint32_t signals, uint32_t counters, const struct gda_gin_how *how)
{
	if (how->flags & GDA_GIN_SIGNAL && gda_unlikely(how->signal >= signals))
		return -EINVAL;
	if (how->flags & GDA_GIN_COUNTER && gda_unlikely(how->counter >= counters))
		return -EINVAL;
	return 0;
}

/* Find the queue of a verb, or why there is none. */
GDA_HELPER int gda_gin_route(const struct gda_gin *gin, uint32_t peer,
			     const struct gda_gin_how *how, struct gda_gin_queue **q)
{
	uint32_t endpoint = 0;
	int err;

	if (how->flags & GDA_GIN_VA && gda_gin_senders(gin))
		return -EOPNOTSUPP;
	if (how->flags & (GDA_GIN_SIGNAL | GDA_GIN_VA) && gin->flags & GDA_GIN_ARRIVAL) {
		if (how->flags & (GDA_GIN_VA | GDA_GIN_ADD) || !(how->flags & GDA_GIN_WEAK))
			return -EOPNOTSUPP;
		endpoint = 1 + how->signal;
	}
	err = gda_gin_actions(gin->signals, gin->counters, how);
	if (gda_unlikely(err))
		return err;
	*q = gda_gin_queue(gin, endpoint, peer);
	return *q ? 0 : -ENOTCONN;
}

/* Find @bytes at @at in the memory of @rank; all of them are in one MR. */
GDA_HELPER int gda_gin_resolve(uint32_t rank, struct gda_gin_place at, uint64_t bytes,
			       uint64_t *addr, uint32_t *key)
{
	const struct gda_window *w = at.window;

	if (gda_unlikely(!gda_at_fits(at, bytes)))
		return -EFAULT;
	if (gda_unlikely(gda_fixed32(&w->pieces) > 1))
		return bytes && gda_chunk_span(gda_window_map(w, rank), at.offset, bytes, addr,
					       key) < bytes ? -EFAULT : 0;
	*addr = gda_fixed64(&gda_window_part(w, rank)->iova) + at.offset;
	*key = gda_fixed32(&gda_window_part(w, rank)->key);
	return 0;
}

/**
 * struct gda_gin_target - a word that a verb adds to
 * @addr: where it is, at the peer
 * @add: value to add
 * @key: of its MR
 * @set: 0: there is none, as with signals by arrival
 *
 * Not for programs: it exists only during a verb.
 */
struct gda_gin_target {
	uint64_t addr;
	uint64_t add;
	uint32_t key;
	uint32_t set;
};

/* Find the word for the remote action. @arrival: signals are arrivals, not words. */
GDA_HELPER int gda_gin_aim(const struct gda_gin *gin, const struct gda_gin_known *known,
			   uint32_t peer, const struct gda_gin_how *how, uint32_t arrival,
			   struct gda_gin_target *to)
{
	to->set = 0;
	to->addr = 0;
	to->key = 0;
	to->add = how->flags & GDA_GIN_ADD ? how->add : 1;
	if (how->flags & GDA_GIN_SIGNAL && !arrival) {
		to->addr = known->signals + 8ULL * how->signal;
		to->key = known->rkey;
		to->set = 1;
	}
	if (how->flags & GDA_GIN_VA) {
		to->set = 1;
		gda_gin_check_window(gin, how->at.window, peer);
		if (how->at.offset % 8)
			return -EFAULT;
		return gda_gin_resolve(peer, how->at, 8, &to->addr, &to->key);
	}
	return 0;
}

/*
 * In programs built with GDA_CHECK, tell the peer what will be added to its signal. The signal may
 * use another queue, so this must have arrived before the signal is posted.
 */
GDA_HELPER void gda_gin_announce(const struct gda_gin *gin, uint32_t peer,
				 const struct gda_gin_how *how)
{
#ifdef GDA_CHECK
	struct gda_gin_queue *q = gda_gin_queue(gin, 0, peer);
	uint32_t slot = gin->signals + gin->barriers * gin->nranks + 2 * how->signal;
	int add = !!(how->flags & GDA_GIN_ADD);

	if (how->flags & GDA_GIN_SIGNAL)
		gda_wait(gda_gin_view(q),
			 gda_fetch_add(gda_gin_view(q), q->fetched, q->lkey,
				       q->signals + 8ULL * (slot + (uint32_t)add), q->rkey,
				       how->add, how->flags & GDA_EXCLUSIVE), 0);
#else
	(void)gin;
	(void)peer;
	(void)how;
#endif
}

/* Make the work request that adds to a signal. */
GDA_HELPER struct gda_wr gda_gin_wr_add(const struct gda_gin_known *known,
					const struct gda_gin_target *to)
{
	return gda_wr_fetch_add(known->fetched, known->lkey, to->addr, to->key, to->add);
}

/* Encode @first, followed by the addition of @to. */
GDA_HELPER void gda_gin_make_pair(struct gda_gin_port port, const struct gda_gin *gin,
				  struct gda_wr first, const struct gda_gin_target *to,
				  struct gda_wqe *w)
{
	struct gda_gin_known known = gda_gin_know(gin, port.q);

	gda_wqe_encode(port.dialect, &w[0], &first);
	w[1] = gda_wqe_make(port.dialect, gda_gin_wr_add(&known, to));
}

/* Post the write of one piece, followed by the addition: one reservation, one doorbell. */
GDA_HELPER int gda_gin_post_pair(const struct gda_gin *gin, struct gda_gin_port port,
				 const struct gda_gin_wr *wr, const struct gda_gin_target *to,
				 unsigned int flags)
{
	struct gda_view *v = gda_gin_view(port.q);
	struct gda_wqe w[2];
	uint64_t index;
	int err;

	gda_gin_make_pair(port, gin, gda_gin_wr_of(wr, 0), to, w);
	err = gda_reserve(v, w[0].slots + w[1].slots, &flags, &index);
	if (gda_unlikely(err))
		return err;
	if (wr->count) {
		gda_gin_note_source(port.q, index, wr->laddr, wr->bytes);
		gda_gin_tag(gin, port.q, index, wr->count);
	}
	gda_wqe_store(gda_sq(v, port.dialect), index, &w[0], 0);
	gda_wqe_store(gda_sq(v, port.dialect), index + w[0].slots, &w[1], flags & GDA_SOLICITED);
	gda_publish(v, port.dialect, index, w[0].slots + w[1].slots, flags);
	return 0;
}

GDA_HELPER uint32_t gda_gin_counted(const struct gda_gin_how *how)
{
	return how->flags & GDA_GIN_COUNTER ? how->counter + 1 : 0;
}

GDA_HELPER struct gda_gin_transfer gda_gin_transfer(struct gda_gin_place remote,
						    struct gda_gin_place local, uint64_t bytes,
						    uint32_t get, const struct gda_gin_how *how)
{
	struct gda_gin_transfer t;

	t.remote = remote;
	t.local = local;
	t.bytes = bytes;
	t.get = get;
	t.count = gda_gin_counted(how);
	return t;
}

/*
 * Post all pieces of a transfer but the last one, which is left in @wr (G-21). With signals by
 * arrival they must not be counted, so they use another queue than the last one, and must have
 * arrived before it is posted; so they must in a dialect without %GDA_CAN_ORDER, where the last
 * one's ticket would not stand for them.
 */
GDA_SLOW int gda_gin_pieces(const struct gda_gin *gin, uint32_t peer, struct gda_gin_transfer *t,
			    struct gda_gin_wr *wr, const struct gda_gin_how *how)
{
	struct gda_gin_queue *q = gda_gin_queue(gin, 0, peer);
	unsigned int flags = how->flags & GDA_POST_FLAGS;
	int apart = (how->flags & GDA_GIN_SIGNAL && gin->flags & GDA_GIN_ARRIVAL) ||
		    gda_view_unordered(gda_gin_view(q)), more = 0, err;

	for (;;) {
		gda_gin_piece(gin->rank, peer, t, wr);
		if (!t->bytes)
			return more && apart ? gda_gin_drain(gin, q, flags, 0) : 0;
		err = gda_gin_post_plain(q, gda_gin_wr_of(wr, (int)t->get), flags | GDA_DEFER);
		if (err)
			return err;
		more = 1;
	}
}

/* gda_gin_whole(); if there are several pieces, all but the last one are posted. */
GDA_HELPER int gda_gin_prepare(const struct gda_gin *gin, uint32_t peer,
			       const struct gda_gin_transfer *t, struct gda_gin_wr *wr,
			       const struct gda_gin_how *how)
{
	int whole = gda_gin_whole(peer, t, wr);

	if (gda_unlikely(whole > 0)) {
		/* copies, so that the originals stay in registers */
		struct gda_gin_transfer left = *t;
		struct gda_gin_how same = *how;
		struct gda_gin_wr last;
		int err;

		last.count = 0;
		err = gda_gin_pieces(gin, peer, &left, &last, &same);
		*wr = last;
		wr->count = t->count;
		return err;
	}
	return whole;
}

/* Does a verb's signal have to wait for what it reports? @dialect is a constant mostly. */
GDA_HELPER int gda_gin_fences(const struct gda_gin *gin, uint32_t dialect,
			      const struct gda_gin_how *how)
{
	return gda_cqe_unordered(dialect) && how->flags & GDA_GIN_SIGNAL &&
	       !(gin->flags & GDA_GIN_ARRIVAL);
}

GDA_HELPER int gda_gin_put_by(struct gda_gin *gin, struct gda_gin_port port, uint32_t peer,
			      const struct gda_gin_transfer *t, const struct gda_gin_how *how)
{
	struct gda_gin_known known = gda_gin_know(gin, port.q);
	unsigned int flags = how->flags & 0xffff;
	struct gda_gin_target to;
	struct gda_gin_wr wr;
	int64_t ticket;
	int err;

	err = gda_gin_aim(gin, &known, peer, how, gin->flags & GDA_GIN_ARRIVAL, &to);
	if (gda_unlikely(err))
		return err;
	err = gda_gin_prepare(gin, peer, t, &wr, how);
	if (gda_unlikely(err))
		return err;
	gda_gin_announce(gin, peer, how);
	if (to.set && !gda_gin_fences(gin, port.dialect, how))
		return gda_gin_post_pair(gin, port, &wr, &to, flags);
	ticket = gda_gin_post(gin, port, 0, &wr, flags);
	if (ticket >= 0 && gda_gin_fences(gin, port.dialect, how))
		return gda_gin_signal_fenced(gin, port.q, ticket, how);
	return ticket < 0 ? (int)ticket : 0;
}

GDA_HELPER int gda_gin_get_by(struct gda_gin *gin, struct gda_gin_port port, uint32_t peer,
			      const struct gda_gin_transfer *t, const struct gda_gin_how *how)
{
	struct gda_gin_wr wr;
	int err = gda_gin_prepare(gin, peer, t, &wr, how);
	int64_t ticket;

	if (gda_unlikely(err))
		return err;
	ticket = gda_gin_post(gin, port, 1, &wr, how->flags & 0xffff);
	return ticket < 0 ? (int)ticket : 0;
}

GDA_HELPER int gda_gin_move_by(struct gda_gin *gin, struct gda_gin_port port, uint32_t peer,
			       const struct gda_gin_transfer *t, const struct gda_gin_how *how)
{
	return t->get ? gda_gin_get_by(gin, port, peer, t, how) :
			gda_gin_put_by(gin, port, peer, t, how);
}

GDA_SLOW int gda_gin_move_other(struct gda_gin *gin, struct gda_gin_queue *q, uint32_t peer,
				const struct gda_gin_transfer *t, const struct gda_gin_how *how)
{
	if (gda_gin_by_epochs(gin) && !t->get)
		return gda_gin_epoch_put(gin, q, peer, t, how);
	/* a get has no epoch; but a deferred put before it is to be rung with it */
	if (gda_gin_by_epochs(gin))
		q = gda_gin_epoch_queue(gin, q);
	return gda_gin_move_by(gin, gda_gin_port_other(q), peer, t, how);
}

GDA_HELPER int gda_gin_move_checked(struct gda_gin *gin, uint32_t peer,
				    const struct gda_gin_transfer *t, const struct gda_gin_how *how)
{
	struct gda_gin_queue *q;
	int err;

	if (t->get &&
	    gda_unlikely(how->flags & (GDA_GIN_SIGNAL | GDA_GIN_VA | GDA_GIN_COUNTER)))
		return -EINVAL;
	err = gda_gin_route(gin, peer, how, &q);
	if (gda_unlikely(err))
		return err;
	if (!gda_wqe_is_first(gda_gin_view(q)->dialect)) {
		struct gda_gin_transfer moved = *t;
		struct gda_gin_how same = *how;

		return gda_gin_move_other(gin, q, peer, &moved, &same);
	}
	return gda_gin_move_by(gin, gda_gin_port_first(q), peer, t, how);
}

/**
 * gda_gin_put - write to a window of a peer (G-02)
 * @gin: the context
 * @peer: rank of the peer, in the world
 * @dst: destination, in the peer's memory
 * @src: source, in the caller's memory, of the same or another window
 * @bytes: number of bytes; with 0 only the actions are done
 * @how: actions and flags: gda_gin_plain(), gda_gin_inc() and others make it
 *
 * The source may be changed once the counter has ticked, or after a flush. Any thread may
 * call it, but see %GDA_GIN_SHARE_THREAD.
 *
 * Return: 0; -EFAULT not inside of a window, or a word that is not aligned; -ENOTCONN no queue to
 * this peer (G-24); -EINVAL no such signal or counter; -EOPNOTSUPP an Add, a word of a window, or a
 * strong signal, with signals by arrival (E-03); -EAGAIN the queue is full and %GDA_NOWAIT is set;
 * -ETIMEDOUT it stayed full; -EIO it is full and has failed; -ESHUTDOWN a rank was lost. After such
 * an error pieces of a put, or a put without its signal, may have been posted; putting it again is
 * harmless, but for its counter, which ticks once for each that was posted.
 */
GDA_API int gda_gin_put(struct gda_gin *gin, uint32_t peer, struct gda_gin_place dst,
			struct gda_gin_place src, uint64_t bytes, struct gda_gin_how how)
{
	struct gda_gin_transfer t = gda_gin_transfer(dst, src, bytes, 0, &how);
	int err;

	gda_gin_check_begin(gin, how.flags);
	err = gda_gin_move_checked(gin, peer, &t, &how);
	gda_gin_check_end(gin);
	return err;
}

/* Post the write whose @value is complete but for its remote address. */
GDA_HELPER int gda_gin_put_value_by(struct gda_gin *gin, struct gda_gin_port port, uint32_t peer,
				    struct gda_gin_place dst, struct gda_wr value,
				    const struct gda_gin_how *how)
{
	struct gda_gin_known known = gda_gin_know(gin, port.q);
	unsigned int flags = how->flags & 0xffff;
	struct gda_view *v = gda_gin_view(port.q);
	struct gda_gin_target to;
	struct gda_wqe w[2];
	uint64_t index;
	uint32_t n;
	int err;

	err = gda_gin_aim(gin, &known, peer, how, gin->flags & GDA_GIN_ARRIVAL, &to);
	if (gda_unlikely(err))
		return err;
	err = gda_gin_resolve(peer, dst, value.len, &value.raddr, &value.rkey);
	if (gda_unlikely(err))
		return err;
	gda_gin_announce(gin, peer, how);
	if (gda_gin_fences(gin, port.dialect, how))
		to.set = 0;
	gda_gin_make_pair(port, gin, value, &to, w);
	n = w[0].slots + (to.set ? w[1].slots : 0);
	err = gda_reserve(v, n, &flags, &index);
	if (gda_unlikely(err))
		return err;
	gda_wqe_store(gda_sq(v, port.dialect), index, &w[0], to.set ? 0 : flags & GDA_SOLICITED);
	if (to.set)
		gda_wqe_store(gda_sq(v, port.dialect), index + w[0].slots, &w[1],
			      flags & GDA_SOLICITED);
	gda_publish(v, port.dialect, index, n, flags);
	if (gda_gin_fences(gin, port.dialect, how))
		return gda_gin_signal_fenced(gin, port.q, (int64_t)index, how);
	return 0;
}

GDA_SLOW int gda_gin_put_value_other(struct gda_gin *gin, struct gda_gin_queue *q, uint32_t peer,
				     struct gda_gin_place dst, struct gda_wr value,
				     const struct gda_gin_how *how)
{
	int err;

	if (gda_gin_by_epochs(gin)) {
		err = gda_gin_resolve(peer, dst, value.len, &value.raddr, &value.rkey);
		return err ? err : gda_gin_epoch_one(gin, q, &value, how);
	}
	return gda_gin_put_value_by(gin, gda_gin_port_other(q), peer, dst, value, how);
}

GDA_HELPER int gda_gin_value_checked(struct gda_gin *gin, uint32_t peer, struct gda_gin_place dst,
				     uint64_t value, uint32_t bytes,
				     const struct gda_gin_how *how)
{
	struct gda_gin_queue *q;
	struct gda_wr r;
	int err;

	if (gda_unlikely(bytes - 1 > 7) || how->flags & GDA_GIN_COUNTER)
		return -EINVAL;
	err = gda_gin_route(gin, peer, how, &q);
	if (gda_unlikely(err))
		return err;
	r = gda_wr_bytes(0, 0, value, bytes);
	if (!gda_wqe_is_first(gda_gin_view(q)->dialect)) {
		struct gda_gin_how same = *how;

		return gda_gin_put_value_other(gin, q, peer, dst, r, &same);
	}
	return gda_gin_put_value_by(gin, gda_gin_port_first(q), peer, dst, r, how);
}

/**
 * gda_gin_put_value - write up to 8 bytes given by value (G-11)
 * @gin: the context
 * @peer: rank of the peer, in the world
 * @dst: destination; in one segment, as every aligned element is
 * @value: its first @bytes bytes in memory are written
 * @bytes: 1 to 8
 * @how: actions and flags: gda_gin_plain(), gda_gin_inc() and others make it; no counter, because
 *	there is no source
 *
 * Return: as gda_gin_put(); -EINVAL also for @bytes, or a counter.
 */
GDA_API int gda_gin_put_value(struct gda_gin *gin, uint32_t peer, struct gda_gin_place dst,
			      uint64_t value, uint32_t bytes, struct gda_gin_how how)
{
	int err;

	gda_gin_check_begin(gin, how.flags);
	err = gda_gin_value_checked(gin, peer, dst, value, bytes, &how);
	gda_gin_check_end(gin);
	return err;
}

/**
 * gda_gin_get - read from a window of a peer (G-15)
 * @gin: the context
 * @peer: rank of the peer, in the world
 * @src: source, in the peer's memory
 * @dst: destination, in the caller's memory
 * @bytes: number of bytes
 * @how: flags only: a get has no actions
 *
 * The data has arrived after a flush. It may be read late: the get may return data of a later put
 * to the same place at the peer.
 *
 * Return: as gda_gin_put(); -EINVAL for an action.
 */
GDA_API int gda_gin_get(struct gda_gin *gin, uint32_t peer, struct gda_gin_place src,
			struct gda_gin_place dst, uint64_t bytes, struct gda_gin_how how)
{
	struct gda_gin_transfer t = gda_gin_transfer(src, dst, bytes, 1, &how);
	int err;

	gda_gin_check_begin(gin, how.flags);
	err = gda_gin_move_checked(gin, peer, &t, &how);
	gda_gin_check_end(gin);
	return err;
}

GDA_HELPER int gda_gin_signal_checked(struct gda_gin *gin, uint32_t peer,
				      const struct gda_gin_how *how)
{
	struct gda_gin_known known;
	struct gda_gin_target to;
	struct gda_gin_queue *q;
	int err;

	if (gda_unlikely(!(how->flags & (GDA_GIN_SIGNAL | GDA_GIN_VA)) ||
			 how->flags & GDA_GIN_COUNTER))
		return -EINVAL;
	err = gda_gin_route(gin, peer, how, &q);
	if (gda_unlikely(err))
		return err;
	known = gda_gin_know(gin, q);
	err = gda_gin_aim(gin, &known, peer, how, gin->flags & GDA_GIN_ARRIVAL, &to);
	if (gda_unlikely(err))
		return err;
	gda_gin_announce(gin, peer, how);
	if (gda_gin_by_epochs(gin)) {
		struct gda_wr nothing = gda_wr_put(0, 0, 0, 0, 0);
		struct gda_gin_how same = *how;

		return gda_gin_epoch_one(gin, q, &nothing, &same);
	}
	if (gda_gin_senders(gin))
		return gda_gin_signal_fenced(gin, q, -1, how);
	if (to.set)
		return gda_gin_post_plain(q, gda_gin_wr_add(&known, &to), how->flags & 0xffff);
	return gda_gin_post_plain(q, gda_wr_put(0, 0, 0, 0, 0), how->flags & 0xffff);
}

/**
 * gda_gin_signal - a remote action without data (G-13)
 * @gin: the context
 * @peer: rank of the peer, in the world
 * @how: the action; no counter
 *
 * A strong signal reports all earlier puts to the same peer in the same context.
 *
 * Return: as gda_gin_put(); -EINVAL also without an action, or with a counter.
 */
GDA_API int gda_gin_signal(struct gda_gin *gin, uint32_t peer, struct gda_gin_how how)
{
	int err;

	gda_gin_check_begin(gin, how.flags);
	err = gda_gin_signal_checked(gin, peer, &how);
	gda_gin_check_end(gin);
	return err;
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#ifdef __CUDACC__
#include <gda/gpu/gin.h>
#endif

#endif /* GDA_GIN_H */
