/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The engine's loop. Each dialect has its own copy of it: gda_engine_serve() is inlined into the
 * dialect's ->visit with a table that is constant there, so the operations on an entry are direct
 * calls. Functions that a queue needs once in its life are in engine.c.
 *
 * Only the dialects include this, and flight.c, which completes work long after it decodes it.
 */
#ifndef GDA_ENGINE_VISIT_H
#define GDA_ENGINE_VISIT_H

#include "engine.h"

/* engine.c */

/**
 * gda_engine_overflow - q->last was not written, because there is no room
 * @q: the queue, which fails; only QP_QUERY shows that
 */
void gda_engine_overflow(struct gda_engine_qp *q);

/**
 * gda_engine_fail_work - write an error completion for q->work
 * @q: the queue; its dialect says whether it fails
 * @index: slot at which q->work begins, which may be undecoded
 * @st: the error
 */
void gda_engine_fail_work(struct gda_engine_qp *q, u64 index, struct gda_status st);

/**
 * gda_engine_die - write an error completion for q->work, and fail the queue
 * @q: the queue; it fails whatever its dialect says
 * @index: slot at which q->work begins
 * @st: the error
 */
void gda_engine_die(struct gda_engine_qp *q, u64 index, struct gda_status st);

/**
 * gda_engine_lose - decide whether a failure of an unreliable queue counts as success
 * @q: the queue
 * @ret: -GDA_STATUS(), by gda_exec()
 *
 * Return: 1 if the peer could not take the message, which is lost while the request succeeds; else
 * @ret.
 */
int gda_engine_lose(struct gda_engine_qp *q, int ret);

/**
 * gda_engine_flush_work - complete q->work unexecuted
 * @q: the queue, which is in error
 * @index: slot at which q->work begins
 */
void gda_engine_flush_work(struct gda_engine_qp *q, u64 index);

/**
 * gda_engine_fail_queue - fail a queue for a reason outside of its work requests
 * @q: the queue
 * @st: the reason
 */
void gda_engine_fail_queue(struct gda_engine_qp *q, struct gda_status st);

/**
 * gda_engine_flush - complete the work request at ci unexecuted
 * @q: the queue, which is in error
 */
void gda_engine_flush(struct gda_engine_qp *q);

/**
 * gda_engine_stray - handle a doorbell that has another queue's number
 * @host: the queue as its host has it
 * @q: that queue, or a copy, from which @scan was made
 * @ops: its dialect
 * @scan: in and out: made again without the doorbell if that belongs to another QP, which then
 *	fails
 */
void gda_engine_stray(struct gda_engine_qp *host, struct gda_engine_qp *q,
		      const struct gda_dialect_ops *ops, struct gda_ring_scan *scan);

/* record.c */

/**
 * gda_engine_record - tell the host the outcome of q->work, and count it if @q chooses what counts
 * @q: the queue
 * @kind: enum gda_record_kind
 * @index: slot at which q->work begins
 * @st: the outcome
 */
void gda_engine_record(struct gda_engine_qp *q, u8 kind, u64 index, struct gda_status st);

/**
 * gda_engine_record_fetched - tell the host, once, that a work request was begun
 * @q: the queue
 * @w: the work request
 * @index: slot at which it begins
 */
void gda_engine_record_fetched(struct gda_engine_qp *q, const struct gda_work *w, u64 index);

/* Clear the ranges of the previous request, because the entry was not decoded in full. */
static __always_inline void gda_engine_forget(struct gda_work *w)
{
	memset(&w->remote, 0, sizeof(w->remote));
	w->nsge = 0;
}

/*
 * Copy a work request. The payload is the longest part, and most requests have none and few
 * segments.
 */
static inline void gda_work_copy(struct gda_work *to, const struct gda_work *from)
{
	memcpy(to, from, offsetof(struct gda_work, data));
	if (from->inlined)
		memcpy(to->data, from->data, from->remote.len);
	else if (unlikely(from->nsge > GDA_WORK_SGE))
		memcpy(to->sge, from->sge, from->nsge * sizeof(from->sge[0]));
}

/* Write q->last. */
static __always_inline void gda_engine_push(struct gda_engine_qp *q)
{
	bool pushed = gda_host_push(q->cq, &q->last);

	q->cqe_pending = false;
	q->last.solicited = false;
	if (unlikely(!pushed))
		gda_engine_overflow(q);
}

/* q->last was filled in. Write it now, or on a collapsed CQ at the end of the visit. */
static __always_inline void gda_engine_complete(struct gda_engine_qp *q)
{
	if (q->cq->collapsed)
		q->cqe_pending = true;
	else
		gda_engine_push(q);
}

/* q->work, which begins at slot @index, is done. @ops is the queue's dialect. */
static __always_inline void gda_engine_succeed(struct gda_engine_qp *q, u64 index,
					       const struct gda_dialect_ops *ops)
{
	const struct gda_work *w = &q->work;

	WRITE_ONCE(q->executed, q->executed + 1);
	if (unlikely(q->record))
		gda_engine_record(q, GDA_RECORD_DONE, index, gda_status(GDA_CLASS_NONE, 0));
	if (q->sent)
		gda_os_fetch_add64(&q->sent->value, 1);
	if (!(w->flags & GDA_WORK_SIGNALED))
		return;
	q->last.wr_opcode = w->opcode;
	q->last.index = index;
	if (ops->named) {
		q->last.id = w->target.id;
		if (unlikely(!gda_host_push(q->cq, &q->last)))
			gda_engine_overflow(q);
		return;
	}
	/* if the pending completion was solicited, the merged one is, too */
	q->last.solicited |= (w->flags & GDA_WORK_SOLICITED) != 0;
	q->last.byte_cnt = w->remote.len;
	gda_engine_complete(q);
}

/* Advance ci past q->work, which has its outcome. */
static __always_inline void gda_engine_advance(struct gda_engine_qp *q)
{
	WRITE_ONCE(q->ci, q->ci + q->work.slots);
}

/*
 * Is the responder of q->work that of the last request, and its local key the same? The queue that
 * responds, and the MR, stay for the length of a visit; whether the MR was revoked is read each
 * time.
 */
static __always_inline bool gda_engine_routed(struct gda_engine_qp *q,
					      const struct gda_exec_scope *scope)
{
	const struct gda_target *to = &q->work.target;
	struct gda_sge *sge = &q->work.sge[0];

	if (unlikely(to->number != scope->to.number || to->key != scope->to.key ||
		     to->handle != scope->to.handle))
		return false;
	if (unlikely(READ_ONCE(scope->peer->state) == GDA_QP_ERROR))
		return false;
	if (!q->work.nsge)
		return true;
	if (unlikely(sge->key != scope->short_key))
		return false;
	sge->key = scope->key;
	return true;
}

/* Find the responder of q->work. Return: 0 or -GDA_STATUS(). */
static __always_inline int gda_engine_route(struct gda_engine_qp *q, struct gda_exec_scope *scope,
					    const struct gda_dialect_ops *ops)
{
	struct gda_engine_qp *peer;
	struct gda_status st;
	u32 key;

	if (ops->named && likely(gda_engine_routed(q, scope)))
		return 0;
	key = q->work.sge[0].key;
	peer = NULL;
	st = ops->route(q, &peer);
	if (ops->named)
		scope->to.number = GDA_EXEC_UNNAMED;
	if (unlikely(st.class))
		return -(int)GDA_STATUS(st.class, st.cause);
	gda_exec_route(peer, scope);
	if (ops->named) {
		scope->short_key = key;
		scope->key = q->work.sge[0].key;
		scope->to = q->work.target;
		if (!q->work.nsge)
			scope->to.number = GDA_EXEC_UNNAMED;
	}
	return 0;
}

/* Begin or resume the work request at ci. */
static __always_inline void gda_engine_step(struct gda_engine_qp *q,
					    struct gda_exec_scope *scope,
					    const struct gda_dialect_ops *ops)
{
	struct gda_status st;
	int ret = 0;

	if (likely(!q->busy)) {
		st = ops->decode(q, (u32)(q->pi - q->ci), &q->work);
		if (unlikely(st.class)) {
			gda_engine_forget(&q->work);
			gda_engine_fail_work(q, q->ci, st);
			gda_engine_advance(q);
			return;
		}
	}
	if (ops->route)
		ret = gda_engine_route(q, scope, ops);
	if (likely(!ret))
		ret = gda_exec(q, scope);
	if (ops->unreliable && ret < 0)
		ret = gda_engine_lose(q, ret);
	if (likely(ret > 0)) {
		gda_engine_succeed(q, q->ci, ops);
		gda_engine_advance(q);
	} else if (ret < 0) {
		gda_recv_drop(q);
		st.class = (u8)-ret;
		st.cause = (u8)(-ret >> 8);
		gda_engine_fail_work(q, q->ci, st);
		gda_engine_advance(q);
	} else if (unlikely(q->record)) {
		gda_engine_record_fetched(q, &q->work, q->ci);
	}
}

/* Does the host ask the queue to fail, and why? */
static __always_inline struct gda_status gda_engine_asked(const struct gda_engine_qp *q)
{
	u32 fail = READ_ONCE(q->fail);
	struct gda_status st = { (u8)fail, (u8)(fail >> 8) };

	return st;
}

/*
 * Read how far @q is published; the host has it as @host. Return: success, or why the queue fails.
 */
static __always_inline struct gda_status gda_engine_refresh(struct gda_engine_qp *host,
							    struct gda_engine_qp *q,
							    const struct gda_dialect_ops *ops)
{
	struct gda_status st = { 0, 0 };
	struct gda_ring_scan scan;

	ops->published(q, &scan);
	if (unlikely(scan.stray))
		gda_engine_stray(host, q, ops, &scan);
	q->seen_db = scan.db;
	q->seen_dbrec = scan.rec;
	WRITE_ONCE(q->pi, q->ci + scan.ahead);
	if (unlikely(scan.illegal)) {
		st.class = GDA_CLASS_QUEUE;
		st.cause = GDA_CAUSE_DOORBELL;
	}
	return st;
}

/* Take new doorbells and requests of the host to fail. Return: whether the queue failed now. */
static __always_inline bool gda_engine_admit(struct gda_engine_qp *q, u32 state,
					     const struct gda_dialect_ops *ops)
{
	struct gda_status asked = gda_engine_asked(q);
	struct gda_status st = asked;

	if (likely(state == GDA_QP_READY || state == GDA_QP_ERROR))
		st = gda_engine_refresh(q, q, ops);
	if (unlikely(asked.class))
		st = asked;
	if (likely(!st.class) || state == GDA_QP_ERROR)
		return false;
	gda_engine_fail_queue(q, st);
	return true;
}

/**
 * gda_engine_serve - the body of a dialect's ->visit
 * @q: as for gda_engine_visit(), like the next two
 * @wqes: most work requests
 * @bytes: most payload bytes
 * @ops: the dialect's table, whose contents the compiler sees
 *
 * Return: as gda_engine_visit().
 */
static __always_inline u32 gda_engine_serve(struct gda_engine_qp *q, u32 wqes, u32 bytes,
					    const struct gda_dialect_ops *ops)
{
	u32 n = gda_engine_admit(q, READ_ONCE(q->state), ops);
	struct gda_exec_scope scope;

	if (q->pi == q->ci && !n)
		return gda_recv_flush(q, wqes);
	gda_exec_begin(q, bytes, &scope);
	if (ops->named)
		scope.to.number = GDA_EXEC_UNNAMED;
	while (q->pi != q->ci && n < wqes && q->bytes < scope.until) {
		if (likely(READ_ONCE(q->state) == GDA_QP_READY))
			gda_engine_step(q, &scope, ops);
		else
			gda_engine_flush(q);
		n++;
	}
	if (q->cqe_pending)
		gda_engine_push(q);
	return n;
}

#endif /* GDA_ENGINE_VISIT_H */
