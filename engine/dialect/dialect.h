/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A dialect, the byte format of a queue or a CQ, is one table of operations to the engine.
 * Everything outside of such a table speaks of causes, classes and kinds of completions, and
 * of no bytes.
 *
 * A dialect is one file, engine/<name>.c, that defines gda_dialect_<name>, and one line of
 * gda_dialects.h. It builds its ->visit from gda_engine_serve() in visit.h, so that the
 * engine's loop calls the other operations directly.
 */
#ifndef GDA_ENGINE_DIALECT_H
#define GDA_ENGINE_DIALECT_H

#include "gda_os.h"
#include <gda/cause.h>
#include <gda/ioctl.h>
#include <gda/work.h>

struct gda_completion;
struct gda_engine_cq;
struct gda_engine_qp;
struct gda_engine_rq;
struct gda_recv;

/* The raw values of a doorbell and its record, as the dialect reads them. */
struct gda_ring_scan {
	u32 db;
	u32 rec;
	u32 ahead;			/* slots beyond ci that are published */
	u64 stray;			/* a doorbell with another queue's number, not reported */
	bool illegal;			/* no legal producer writes such a value */
};

/**
 * struct gda_dialect_ops - a dialect
 * @id: enum gda_dialect
 * @feature: GDA_FEATURE_DIALECT_*, which says that there is the dialect
 * @slot_bytes: of a slot of the send queue
 * @max_depth: most slots of a send queue, within GDA_ENGINE_MAX_DEPTH and, in bytes,
 *	GDA_ENGINE_MAX_SQ_BYTES
 * @max_user_index: largest user index of a queue
 * @cqe_bytes: of an entry of a CQ
 * @cqe_at: offset of an entry in a place twice as long (gda_engine_cq.wide)
 * @cqe_wide: places are twice as long unless the creator of a CQ asks otherwise, and must be where
 *	immediates arrive. Of other dialects they are not, on devices that are told by control calls
 * @cqe_last: offset in an entry of the 4-byte word that ->finish() stores last
 * @wide: the table of its queues of longer slots, or NULL: there are none
 * @uc: the table of its queues of unreliable connections, or NULL: there are none
 * @ud: likewise, of datagrams; it has a @route
 * @unreliable: a request is done once it is sent: what the peer has against it, the queue is not
 *	told (gda_engine_lose())
 * @unordered: completions of what was in flight at the same time come in any order (flight.c);
 *	its queues complete to rings
 * @named: each request names who responds, in q->work.target, and its completion has the request's
 *	id. Such a queue is not connected, and is ready when it is created. It has a @route
 * @published: read doorbell and record, each once, and compare them with those that
 *	were seen before. Called in any state of the queue. A doorbell that has the number of
 *	another queue counts unless it is q->stray
 * @record: fill in a doorbell record that says what the last one said, for a queue whose
 *	own record is gone. NULL: the dialect has no records, neither of doorbells nor of consumers'
 *	indices, and its CQs are rings
 * @decode: copy the entry at q->ci out of the queue and decode it. @avail slots are
 *	published, at least 1. On failure work->slots (1 to @avail) and work->opcode are
 *	still valid, for the error completion
 * @route: find the queue that responds to q->work: NULL if it is gone, or why the request fails. A
 *	dialect whose queues are connected has no @route: gda_engine_peer() finds the responder of a
 *	visit
 * @posted: how many entries of a receive queue were posted and not taken, by its record, which is
 *	read once: any number of 16 bits. NULL: the dialect has no receive queues
 * @recv: copy an entry out of a receive queue and decode it, all but its index: entry number @at,
 *	below the depth. NULL as @posted
 * @preset: fill all entries of a CQ such that none is valid
 * @finish: write an outcome as one entry, for gda_cq_push(), and count it in cq->producer; on a
 *	collapsed CQ set cq->reached
 * @arm: optional; how a CQ is armed by @word, which its consumer has stored behind its index:
 *	GDA_CQ_ARM*. Out: how many entries it had read then, by cq->producer's count
 * @move: optional; have a ring go on at @entries, as of gda_engine_cq.entries, with @depth places:
 *	write one more entry, which says so, where the ring was. False, and nothing is changed:
 *	entries that its consumer has not read do not fit in, or that one does not
 * @syndrome: the dialect's code for a status
 * @fatal: does a queue die of a request that fails this way? If not, the error completion
 *	is the request's alone, and the queue completes to a ring
 * @visit: gda_engine_serve() with this table
 */
struct gda_dialect_ops {
	u32 id;
	u64 feature;
	u32 slot_bytes;
	u32 max_depth;
	u32 max_user_index;
	u32 cqe_bytes;
	u32 cqe_last;
	u32 cqe_at;
	bool cqe_wide;
	const struct gda_dialect_ops *wide;
	const struct gda_dialect_ops *uc;
	const struct gda_dialect_ops *ud;
	bool unreliable;
	bool unordered;
	bool named;
	void (*published)(const struct gda_engine_qp *q, struct gda_ring_scan *scan);
	void (*record)(const struct gda_engine_qp *q, __be32 *rec);
	struct gda_status (*decode)(const struct gda_engine_qp *q, u32 avail,
				    struct gda_work *work);
	struct gda_status (*route)(struct gda_engine_qp *q, struct gda_engine_qp **peer);
	u32 (*posted)(const struct gda_engine_rq *rq);
	void (*recv)(const struct gda_engine_rq *rq, u32 at, struct gda_recv *out);
	void (*preset)(struct gda_engine_cq *cq);
	bool (*finish)(struct gda_engine_cq *cq, const struct gda_completion *c);
	u32 (*arm)(const struct gda_engine_cq *cq, u32 word, u64 *read);
	bool (*move)(struct gda_engine_cq *cq, void *entries, u32 depth);
	u8 (*syndrome)(struct gda_status st);
	bool (*fatal)(struct gda_status st);
	u32 (*visit)(struct gda_engine_qp *q, u32 wqes, u32 bytes);
};

/**
 * gda_dialect_find - a dialect by its number
 * @id: enum gda_dialect, or anything that a user chose
 *
 * Return: its table, or NULL.
 */
const struct gda_dialect_ops *gda_dialect_find(u32 id);

/**
 * gda_dialect_find_cq - the dialect of a CQ by its number
 * @id: as of gda_dialect_find(); 0 stands for the first dialect of the table
 *
 * Return: its table, or NULL.
 */
const struct gda_dialect_ops *gda_dialect_find_cq(u32 id);

/**
 * gda_dialect_service - the table of a dialect for queues of a kind
 * @ops: the dialect, or NULL
 * @service: enum gda_service
 *
 * Return: its table, or NULL.
 */
const struct gda_dialect_ops *gda_dialect_service(const struct gda_dialect_ops *ops, u32 service);

/**
 * gda_dialect_slots - the table of a dialect for queues of slots so long
 * @ops: the dialect
 * @bytes: of a slot, anything that a user chose; 0: the shortest that the dialect has
 *
 * Return: its table, or NULL.
 */
static inline const struct gda_dialect_ops *gda_dialect_slots(const struct gda_dialect_ops *ops,
							      u32 bytes)
{
	if (!bytes || bytes == ops->slot_bytes)
		return ops;
	return ops->wide && bytes == ops->wide->slot_bytes ? ops->wide : NULL;
}

/**
 * gda_dialect_features - the feature bits of dialects
 * @named: also of those whose requests name their responder
 *
 * Return: GDA_FEATURE_DIALECT_*.
 */
u64 gda_dialect_features(bool named);

#define GDA_DIALECT(name) extern const struct gda_dialect_ops gda_dialect_##name;
#include <gda_dialects.h>
#undef GDA_DIALECT

#endif /* GDA_ENGINE_DIALECT_H */
