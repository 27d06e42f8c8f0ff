/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Receive queues: entries that a program posted for what its peers send. A queue has one of its
 * own, or shares one with others (a shared receive queue, SRQ).
 *
 * Its entries and its record are memory that a user can write. An entry is read once, when it is
 * taken, into a struct gda_recv of the queue that sends, and only that copy is used. The record's
 * count bounds what can be taken. Whatever they say costs the queues of their owner at most.
 *
 * An entry that was taken is open until its completion is written: by the sender, or by the
 * owner's flush, if its queue fails first. An unreliable sender that loses its message keeps it: the
 * next message is given the same entry, which is read again. A queue has one open entry at most, so entries of its
 * own ring complete in their order. The host's lock of the receive queue guards what is open, and
 * orders the two: gda_rq_*() below are called with it held, by the gda_host_*() functions of
 * engine.h.
 */
#ifndef GDA_ENGINE_RECV_H
#define GDA_ENGINE_RECV_H

#include "dialect/dialect.h"

#define GDA_RECV_MIN_SHIFT	4U	/* log2 of an entry's bytes, at least */
#define GDA_RECV_MAX_SHIFT	9U	/* ... at most */
#define GDA_RECV_MAX_DEPTH	32768U	/* entries of a receive queue */
#define GDA_RECV_MAX_SGE	32U	/* segments of an entry, in any dialect */

struct gda_completion;
struct gda_exec_mems;

/* An entry that was taken: a private copy, decoded. */
struct gda_recv {
	u32 index;		/* of the entry, as its completion has it: 16 bits */
	u32 next;		/* of a list: the entry behind it, as the owner says */
	u32 nsge;
	struct gda_status st;	/* why the list is none, if it is not success */
	u64 len;		/* bytes of all segments */
	struct gda_sge sge[GDA_RECV_MAX_SGE];
};

/*
 * A receive queue. The host fills in the first part and calls gda_rq_init(). It keeps the memory
 * until no queue has it as its rq and no visit goes on.
 */
struct gda_engine_rq {
	const struct gda_dialect_ops *dialect;	/* with ->posted and ->recv */
	const void *entries;		/* user-writable, @depth << @shift bytes */
	const __be32 *record;		/* user-writable: how many were posted, 16 bits */
	void *pd;			/* of the keys in entries */
	u32 depth;			/* entries, power of two */
	u32 shift;			/* log2 of an entry's bytes */
	bool linked;			/* each entry says which is next; the first is 0 */

	/* the engine's own, under the host's lock */
	u32 head;			/* linked: the entry that is next */
	u32 taken;			/* entries taken, 32 bits; read by others with READ_ONCE */
};

/**
 * gda_rq_init - prepare the engine's part of a receive queue
 * @rq: the host's part is filled in
 *
 * Return: false if that part is not legal.
 */
bool gda_rq_init(struct gda_engine_rq *rq);

/**
 * gda_rq_peek - read the entry that is next, for gda_rq_take() and gda_rq_datagram()
 * @peer: a queue that has a receive queue
 * @out: the entry; its index is not filled in
 *
 * Return: as gda_rq_take().
 */
int gda_rq_peek(struct gda_engine_qp *peer, struct gda_recv *out);

/**
 * gda_rq_advance - count an entry as taken
 * @rq: the receive queue
 * @next: of a list: the entry behind it, as the owner says
 *
 * Return: its index.
 */
u32 gda_rq_advance(struct gda_engine_rq *rq, u32 next);

/**
 * gda_rq_take - take an entry, for gda_host_recv()
 * @peer: a queue that has a receive queue
 * @out: the entry
 *
 * Return: 1; 0 if none is posted, or one is open and not kept; -%GDA_FAIL_PEER if @peer has failed; another
 * -GDA_STATUS() if the record says more than the queue can hold.
 */
int gda_rq_take(struct gda_engine_qp *peer, struct gda_recv *out);

/**
 * gda_rq_datagram - put a datagram into the next entry and complete it (datagram.c)
 * @q: the queue that sends; q->work is a datagram, q->taken and q->done are overwritten
 * @peer: who takes it; @q itself, perhaps
 * @mems: local segments of the work, which were checked
 *
 * Return: 1; 0 if it is lost; -GDA_STATUS() of class %GDA_CLASS_LOCAL: @q fails with it; of another
 * class: it is lost, and @peer is to fail with it, unless it is %GDA_FAIL_PEER.
 */
int gda_rq_datagram(struct gda_engine_qp *q, struct gda_engine_qp *peer,
		    const struct gda_exec_mems *mems);

/**
 * gda_rq_end - complete the open entry, for gda_host_recv_end()
 * @peer: the queue from which it was taken
 * @c: its completion, for @peer->recv_cq
 *
 * Return: 1; 0 if there is no room in the CQ, and the entry stays open, as it does with another
 * -GDA_STATUS() if the CQ has failed; -%GDA_FAIL_PEER if it is not open any more.
 */
int gda_rq_end(struct gda_engine_qp *peer, const struct gda_completion *c);

/**
 * gda_rq_flush - complete one entry unused, for gda_host_recv_flush()
 * @q: a queue that has failed, and has a receive queue
 *
 * The open entry comes first, then those that are posted to a ring of its own. From the first call
 * on nothing can be taken.
 *
 * Return: false if there was none, or a sender still moves bytes into the open one.
 */
bool gda_rq_flush(struct gda_engine_qp *q);

/**
 * gda_rq_pending - is gda_rq_flush() to be called?
 * @q: a queue that has failed, and has a receive queue
 *
 * Needs no lock.
 *
 * Return: whether it was not called yet, or would find an entry.
 */
bool gda_rq_pending(const struct gda_engine_qp *q);

/**
 * gda_recv_flush - flush receives, as a part of gda_engine_visit()
 * @q: a queue without a work request in its send queue
 * @most: entries
 *
 * Return: how many there were; 0 if @q has not failed or has no receive queue.
 */
u32 gda_recv_flush(struct gda_engine_qp *q, u32 most);

/**
 * gda_recv_drop - the work request for which an entry was taken does not go on
 * @q: the queue that sends; its peer fails if an entry is open for it, and flushes it. That of an
 *	unreliable queue keeps it
 */
void gda_recv_drop(struct gda_engine_qp *q);

#endif /* GDA_ENGINE_RECV_H */
