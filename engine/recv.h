/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Receive queues: entries that a program posts for messages of its peers. A queue has a receive
 * queue of its own, or shares one with others (SRQ).
 *
 * The entries and the record are memory that a user can write. An entry is read once, when it is
 * taken, into a struct gda_recv of the sending queue, and only that copy is used. The record's
 * count bounds how many can be taken. Bad contents harm only the queues of their owner.
 *
 * An entry is open from when it is taken until its completion is written, by the sender or, if the
 * owner's queue fails first, by the owner's flush. If an unreliable sender loses its message the
 * entry is kept: the next message gets the same entry, which is read again. A queue has at most one
 * open entry, so entries of its own ring complete in order. The host's lock of the receive queue
 * guards the open entry against both: the gda_host_*() functions of engine.h call the gda_rq_*()
 * functions below with it held.
 */
#ifndef GDA_ENGINE_RECV_H
#define GDA_ENGINE_RECV_H

#include "dialect/dialect.h"

#define GDA_RECV_MIN_SHIFT	4U	/* log2 of the smallest entry, in bytes */
#define GDA_RECV_MAX_SHIFT	9U	/* ... at most */
#define GDA_RECV_MAX_DEPTH	32768U	/* most entries of a receive queue */
#define GDA_RECV_MAX_SGE	32U	/* most segments of an entry, in any dialect */

struct gda_completion;
struct gda_exec_mems;

/* An entry that was taken: a private copy, decoded. */
struct gda_recv {
	u32 index;		/* of the entry, as its completion reports it: 16 bits */
	u32 next;		/* linked: index of the next entry, as the owner wrote it */
	u32 nsge;
	struct gda_status st;	/* success, or why the segments are not usable */
	u64 len;		/* bytes of all segments */
	struct gda_sge sge[GDA_RECV_MAX_SGE];
};

/*
 * A receive queue. The host fills in the first part, calls gda_rq_init(), and keeps the memory
 * until no queue has it as its rq and no visit is running.
 */
struct gda_engine_rq {
	const struct gda_dialect_ops *dialect;	/* with ->posted and ->recv */
	const void *entries;		/* user-writable, @depth << @shift bytes */
	const __be32 *record;		/* user-writable: count of posted entries, 16 bits */
	void *pd;			/* the keys in entries belong to this domain */
	u32 depth;			/* entries, power of two */
	u32 shift;			/* log2 of an entry's bytes */
	bool linked;			/* SRQ: each entry names the next; the first is 0 */

	/* the engine's own, under the host's lock */
	u32 head;			/* linked: index of the next entry to take */
	u32 taken;			/* count of entries taken; others read it with READ_ONCE */
};

/**
 * gda_rq_init - prepare the engine's part of a receive queue
 * @rq: the host's part is filled in
 *
 * Return: false if that part is not legal.
 */
bool gda_rq_init(struct gda_engine_rq *rq);

/**
 * gda_rq_peek - read the next entry, for gda_rq_take() and gda_rq_datagram()
 * @peer: a queue that has a receive queue
 * @out: the entry; its index is not filled in
 *
 * Return: as gda_rq_take().
 */
int gda_rq_peek(struct gda_engine_qp *peer, struct gda_recv *out);

/**
 * gda_rq_advance - count an entry as taken
 * @rq: the receive queue
 * @next: linked: index of the entry behind it, as the owner wrote it
 *
 * Return: its index.
 */
u32 gda_rq_advance(struct gda_engine_rq *rq, u32 next);

/**
 * gda_rq_take - take an entry, for gda_host_recv()
 * @peer: a queue that has a receive queue
 * @out: the entry
 *
 * Return: 1; 0 if none is posted, or if one is open and was not given back; -%GDA_FAIL_PEER if
 * @peer has failed; another -GDA_STATUS() if the record says more than the queue can hold.
 */
int gda_rq_take(struct gda_engine_qp *peer, struct gda_recv *out);

/**
 * gda_rq_datagram - put a datagram into the next entry and complete it (datagram.c)
 * @q: the queue that sends; q->work is a datagram, q->taken and q->done are overwritten
 * @peer: its receiver, which may be @q itself
 * @mems: local segments of the work, which were checked
 *
 * Return: 1; 0 if the datagram is dropped; -GDA_STATUS() of class %GDA_CLASS_LOCAL: @q fails with
 * it; of another class: the datagram is dropped, and @peer is to fail with the status, unless it is
 * %GDA_FAIL_PEER.
 */
int gda_rq_datagram(struct gda_engine_qp *q, struct gda_engine_qp *peer,
		    const struct gda_exec_mems *mems);

/**
 * gda_rq_end - complete the open entry, for gda_host_recv_end()
 * @peer: the queue from which it was taken
 * @c: its completion, for @peer->recv_cq
 *
 * Return: 1; -%GDA_FAIL_PEER if the entry is not open any more. The entry stays open if 0 is
 * returned, because the CQ is full, or another -GDA_STATUS(), because the CQ has failed.
 */
int gda_rq_end(struct gda_engine_qp *peer, const struct gda_completion *c);

/**
 * gda_rq_flush - complete one entry unused, for gda_host_recv_flush()
 * @q: a queue that has failed, and has a receive queue
 *
 * The open entry comes first, then those posted to its own ring. After the first call no entry can
 * be taken.
 *
 * Return: false if there was none, or if a sender still moves bytes into the open entry.
 */
bool gda_rq_flush(struct gda_engine_qp *q);

/**
 * gda_rq_pending - is gda_rq_flush() to be called?
 * @q: a queue that has failed, and has a receive queue
 *
 * Needs no lock.
 *
 * Return: true if it was not called yet, or if it would find an entry.
 */
bool gda_rq_pending(const struct gda_engine_qp *q);

/**
 * gda_recv_flush - flush receives, as a part of gda_engine_visit()
 * @q: a queue without a work request in its send queue
 * @most: how many entries
 *
 * Return: how many were flushed; 0 if @q has not failed or has no receive queue.
 */
u32 gda_recv_flush(struct gda_engine_qp *q, u32 most);

/**
 * gda_recv_drop - give up the work request for which an entry was taken
 * @q: the queue that sends. If an entry is open for it the peer fails and flushes the entry; the
 *	peer of an unreliable queue keeps the entry instead
 */
void gda_recv_drop(struct gda_engine_qp *q);

#endif /* GDA_ENGINE_RECV_H */
