/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A dialect is the byte format of a queue or a CQ. The engine sees it as one table of operations.
 * Code outside of the table uses causes, classes and kinds of completions, and no byte layouts.
 *
 * A dialect is one file, engine/dialect/<name>.c, that defines gda_dialect_<name>, and one line of
 * gda_dialects.h. The file builds ->visit from gda_engine_serve() in visit.h, so that the engine's
 * loop calls the other operations directly.
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
	u64 stray;			/* foreign doorbell that was not reported yet, or 0 */
	bool illegal;			/* no legal producer writes such a value */
};

/**
 * struct gda_dialect_ops - a dialect
 * @id: enum gda_dialect
 * @feature: the GDA_FEATURE_DIALECT_* bit that announces the dialect
 * @slot_bytes: size of a slot of the send queue
 * @max_depth: most slots of a send queue, within GDA_ENGINE_MAX_DEPTH and, in bytes,
 *	GDA_ENGINE_MAX_SQ_BYTES
 * @max_user_index: largest user index of a queue
 * @cqe_bytes: size of a CQ entry
 * @cqe_at: offset of the entry in a place of twice @cqe_bytes (gda_engine_cq.wide)
 * @cqe_wide: CQ places have twice @cqe_bytes unless the creator asks otherwise; a CQ that receives
 *	immediates must have such places. Where this is false, devices that are programmed by
 *	control calls have no such places
 * @cqe_last: offset in an entry of the 4-byte word that ->finish() stores last
 * @wide: the table for queues with longer slots, or NULL if the dialect has none
 * @uc: the table for unreliable connections, or NULL if the dialect has none
 * @ud: the table for datagrams, or NULL if the dialect has none; it has a @route
 * @unreliable: a request is complete once it is sent. The queue does not learn of an error at the
 *	peer (gda_engine_lose())
 * @unordered: requests that are in flight together complete in any order (flight.c); the CQs of
 *	such queues are rings
 * @named: each request names its responder in q->work.target, and its completion carries the
 *	request's id. Such a queue is ready once it is created, is never connected, and has a @route
 * @published: read the doorbell and its record, each once, and compare them with the values seen
 *	before. Called in any state of the queue. A doorbell that has another
 *	queue's number counts unless it equals q->stray
 * @record: fill in a doorbell record that repeats the last value seen, for a queue whose own
 *	record is gone. NULL if the dialect has no records, neither for doorbells nor for consumer
 *	indices; its CQs are then rings
 * @decode: copy the entry at q->ci out of the queue and decode it. @avail slots are
 *	published, at least 1. On failure work->slots (1 to @avail) and work->opcode are
 *	still valid, for the error completion
 * @route: find the queue that responds to q->work: NULL if that queue is gone; the status says why
 *	the request fails. NULL for a dialect of connected queues: gda_engine_peer() finds the
 *	responder once per visit
 * @posted: the number of receive queue entries that were posted and not taken, from one read of the
 *	record: any 16-bit number. NULL if the dialect has no receive queues
 * @recv: copy entry number @at, below the depth, out of a receive queue and decode all of it but
 *	its index. NULL if @posted is
 * @preset: fill all entries of a CQ such that none is valid
 * @finish: write a completion as one entry, for gda_cq_push(), and count the entry in cq->producer;
 *	on a collapsed CQ set cq->reached
 * @arm: optional; return how @word, which the consumer stores behind its index, arms the CQ:
 *	GDA_CQ_ARM*. Out: how many entries the consumer had read then, as cq->producer counts
 * @move: optional; continue a ring at @entries (as gda_engine_cq.entries) with @depth places, and
 *	write one more entry to the old ring that says so. Return false and change nothing if the
 *	unread entries do not fit in the new ring, or the extra entry not in the old one
 * @syndrome: the dialect's code for a status
 * @fatal: does a queue fail when a request fails with this status? If not, only the request fails,
 *	and the queue completes to a ring
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
 * gda_dialect_find - find a dialect by its number
 * @id: enum gda_dialect, or anything that a user chose
 *
 * Return: its table, or NULL.
 */
const struct gda_dialect_ops *gda_dialect_find(u32 id);

/**
 * gda_dialect_find_cq - find the dialect of a CQ by its number
 * @id: enum gda_dialect, or anything that a user chose; 0 stands for the first dialect of the table
 *
 * Return: its table, or NULL.
 */
const struct gda_dialect_ops *gda_dialect_find_cq(u32 id);

/**
 * gda_dialect_service - find the table of a dialect for a type of service
 * @ops: the dialect, or NULL
 * @service: enum gda_service
 *
 * Return: its table, or NULL.
 */
const struct gda_dialect_ops *gda_dialect_service(const struct gda_dialect_ops *ops, u32 service);

/**
 * gda_dialect_slots - find the table of a dialect for a slot size
 * @ops: the dialect
 * @bytes: slot size, anything that a user chose; 0 stands for the dialect's shortest
 *
 * Return: the table, or NULL.
 */
static inline const struct gda_dialect_ops *gda_dialect_slots(const struct gda_dialect_ops *ops,
							      u32 bytes)
{
	if (!bytes || bytes == ops->slot_bytes)
		return ops;
	return ops->wide && bytes == ops->wide->slot_bytes ? ops->wide : NULL;
}

/**
 * gda_dialect_features - collect the feature bits of the dialects
 * @named: include dialects whose requests name their responder (gda_dialect_ops.named)
 *
 * Return: GDA_FEATURE_DIALECT_*.
 */
u64 gda_dialect_features(bool named);

#define GDA_DIALECT(name) extern const struct gda_dialect_ops gda_dialect_##name;
#include <gda_dialects.h>
#undef GDA_DIALECT

#endif /* GDA_ENGINE_DIALECT_H */
