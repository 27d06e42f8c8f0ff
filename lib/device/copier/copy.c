// SPDX-License-Identifier: MIT
/*
 * Queues with a copier. Only the copier reaches device memory (memory with GDA_MEM_NO_CPU, and the
 * queue itself if it lies there). It copies asynchronously and in order: the worker begins copies
 * and goes on to the next work request, so many are in flight (gda/flight.h).
 *
 * - Copies of a queue are begun in the order of its work requests, on one lane, and so take effect
 *   in that order. begun counts them. At the end of a visit the copier is asked to store that count
 *   at the lane's mark, so the mark tells how many copies are done.
 * - A work request is done when all copies that were begun before its end are.
 * - Host memory is written only while nothing is in flight. Between host and device memory
 *   the bytes go through a bounce buffer, one piece at a time; but a word to device memory is
 *   stored by the copier, with the words behind it in one call: a copy engine takes longer. The
 *   engine itself carries out a work request that has host memory at both ends.
 * - Words of an MR that was registered for atomics are handled by atomic.c.
 * - The copier writes a CQ in device memory, on the data lane and so behind the data. One store
 *   covers up to GDA_ASYNC_TELL work requests, because copies wait for it. Their outcomes are
 *   reported without waiting for that store.
 * - A request that names its target is routed whenever it begins or goes on, as the engine does:
 *   nothing that a peer or an MR owns is kept from one visit to the next.
 * - The copier copies the published slots of a send queue in device memory before the engine sees
 *   the doorbell that covers them.
 *
 * Everything runs on the worker, except attaching and freeing.
 */
#include <errno.h>
#include <stdlib.h>
#include "async.h"
#include "waiter.h"

#define GDA_ASYNC_TELL	8U
#define GDA_ASYNC_VISIT	(128U << 20)	/* payload of a visit, which only begins copies */
#define GDA_ASYNC_SCANS	4096U		/* scans in vain before a check of the copier */

/* Is nothing in flight? */
static bool gda_async_idle(const struct gda_inproc_async *async)
{
	return async->head == async->tail && gda_async_done(async, async->begun);
}

/*
 * The copier has died with copies in flight, and it is unknown which of them were done. So the
 * oldest work request that was not reported fails.
 */
static void gda_async_break(struct gda_inproc_async *async)
{
	async->broken = true;
	async->head = async->tail;
	async->results = 0;
	async->carried = NULL;
	async->lane = NULL;
	async->behind = NULL;
	gda_words_release(async);
	gda_flight_abandon(&async->flight, gda_status(GDA_CLASS_QUEUE, GDA_CAUSE_IO));
}

/* Have the copier store word @at of the CQ entry. */
static void gda_async_store(struct gda_inproc_async *async, const u8 *entry, u32 at)
{
	u32 word;

	memcpy(&word, entry + at, sizeof(word));
	if (!gda_async_order(async) &&
	    !async->copier->ops->store(async->copier, GDA_INPROC_LANE_DATA, async->copier->cq + at,
				       word, sizeof(word)))
		async->begun++;
}

/* Write @c as a CQE to @entry, a copy of the one in device memory. */
static const u8 *gda_async_entry(struct gda_inproc_async *async, void *entry,
				 const struct gda_completion *c)
{
	struct gda_engine_cq one = async->far.engine_cq;

	memcpy(entry, async->told, sizeof(async->told));
	one.entries = entry;
	gda_cq_push(&one, c);
	return entry;
}

static void gda_async_tell(struct gda_inproc_async *async)
{
	u64 entry[GDA_ENGINE_MAX_CQE_BYTES / 8];

	if (!async->untold)
		return;
	async->untold = 0;
	gda_async_store(async, gda_async_entry(async, entry, &async->newest),
			async->far.cq->dialect->cqe_last);
}

/*
 * Push @c to a CQ in device memory. A word that an error has stored is stored again only if it
 * changes: a poster may be reading the word that names the first error.
 */
static void gda_async_push_device(struct gda_inproc_async *async, const struct gda_completion *c)
{
	const struct gda_dialect_ops *ops = async->far.cq->dialect;
	u64 entry[GDA_ENGINE_MAX_CQE_BYTES / 8];
	const u8 *bytes;
	u32 at;

	if (!c->status.class) {
		async->newest = *c;
		if (++async->untold == GDA_ASYNC_TELL)
			gda_async_tell(async);
		return;
	}
	gda_async_tell(async);
	bytes = gda_async_entry(async, entry, c);
	for (at = 0; at < ops->cqe_bytes; at += sizeof(u32))
		if (at != ops->cqe_last &&
		    memcmp(bytes + at, (const u8 *)async->told + at, sizeof(u32)))
			gda_async_store(async, bytes, at);
	memcpy(async->told, entry, sizeof(entry));
	gda_async_store(async, bytes, ops->cqe_last);
}

static bool gda_async_push(struct gda_inproc_far_cq *far, const struct gda_completion *c)
{
	gda_async_push_device(gda_inproc_of(far, struct gda_inproc_async, far), c);
	/* the data is copied, so a WAIT need not wait for the entry to arrive */
	gda_inproc_wait_reached(gda_inproc_of(far->cq, struct gda_inproc_cq, engine_cq),
				c->index + 1);
	return true;
}

/* Request the mark behind all that was begun; before it, write a CQ in device memory. */
static void gda_async_ask_mark(struct gda_inproc_async *async)
{
	struct gda_inproc_copier *c = async->copier;

	gda_async_tell(async);
	if (async->begun == async->marked || async->broken)
		return;
	async->marked = async->begun;
	if (gda_async_order(async) ||
	    c->ops->store(c, GDA_INPROC_LANE_DATA, c->mark[GDA_INPROC_LANE_DATA].addr,
			  async->marked, sizeof(u32)) ||
	    c->ops->flush(c, GDA_INPROC_LANE_DATA))
		gda_async_break(async);
}

/*
 * Complete requests that are done, and show fetched slots to the engine. Return: whether to repeat.
 */
static bool gda_async_scan(struct gda_inproc_async *async)
{
	u32 n;

	gda_async_report(async);
	n = gda_flight_retire(&async->flight, GDA_ASYNC_FLIGHT);
	gda_async_ask_mark(async);
	if (async->fetching && gda_async_mark(async, GDA_INPROC_LANE_FETCH) == async->fetches) {
		/* the engine runs on this thread: no ordering is needed */
		async->rec[1] = async->next_rec[1];
		async->db = async->next_db;
		async->fetching = false;
	}
	/* counts are compared modulo 2^32, so none may become too old */
	if (gda_async_done(async, async->bounced))
		async->bounced = gda_async_mark(async, GDA_INPROC_LANE_DATA);
	if (gda_async_done(async, async->data))
		async->data = gda_async_mark(async, GDA_INPROC_LANE_DATA);
	if (gda_async_idle(async))
		async->lane = NULL;
	if (gda_async_idle(async) && (!async->fetching || async->broken))
		return n;
	if (++async->looks % GDA_ASYNC_SCANS == 0 && !async->broken &&
	    (async->copier->ops->check(async->copier) ||
	     (async->lane && async->lane->ops->check(async->lane))))
		gda_async_break(async);
	return true;
}

/* Find one end of a transfer at an offset. Return: its address in device memory, or 0. */
static u64 gda_async_end(const struct gda_mem *mem, u64 off, u32 len, void **span)
{
	const struct gda_inproc_mr *mr = gda_inproc_of(mem, struct gda_inproc_mr, mem);

	if (READ_ONCE(mem->state) & GDA_MEM_NO_CPU)
		return (uintptr_t)mr->addr + off;
	gda_host_span(mem, off, len, span);
	return 0;
}

/* Is a piece of @len bytes all of @w, and the size of a word? */
static bool gda_async_is_word(const struct gda_work *w, u32 len)
{
	return len == w->remote.len && (len == sizeof(u32) || len == sizeof(u64));
}

/* Begin the next piece of @w. Return: its bytes, 0 to wait, or gda_async_fail(). */
static int gda_async_step(struct gda_inproc_async *async, const struct gda_work *w,
			  const struct gda_exec_mems *mems)
{
	bool second = !w->inlined && async->copied >= w->sge[0].len;
	u32 len = w->remote.len - async->copied;
	void *host_local = NULL, *host_remote = NULL;
	u64 local = 0, remote;
	int err;

	if (w->inlined) {
		host_local = (u8 *)(uintptr_t)w->data + async->copied;
	} else {
		const struct gda_sge *sge = &w->sge[second];
		u32 off = async->copied - (second ? w->sge[0].len : 0);

		len = sge->len - off;
		local = gda_async_end(mems->local[second],
				      sge->addr + off - mems->local[second]->iova, len,
				      &host_local);
	}
	remote = gda_async_end(mems->remote, w->remote.addr + async->copied - mems->remote->iova,
			       len, &host_remote);
	if (local && remote) {
		len = min(len, GDA_INPROC_MOST);
		err = w->op == GDA_OP_WRITE ? gda_async_copy(async, remote, local, len) :
					      gda_async_copy(async, local, remote, len);
		return err ? err : (int)len;
	}
	if (remote && w->op == GDA_OP_WRITE && gda_async_is_word(w, len))
		return gda_async_word(async, remote, host_local, len);
	if (w->op == GDA_OP_WRITE)
		return remote ? gda_async_bounce_out(async, remote, host_local, len) :
				gda_async_bounce_in(async, host_remote, local, len);
	return local ? gda_async_bounce_out(async, local, host_remote, len) :
		       gda_async_bounce_in(async, host_local, remote, len);
}

static bool gda_async_concerns(const struct gda_work *w, const struct gda_exec_mems *mems)
{
	/* a work request without bytes has no remote MR */
	u32 state = mems->remote ? READ_ONCE(mems->remote->state) : 0;
	u32 i;

	for (i = 0; i < w->nsge; i++)
		state |= READ_ONCE(mems->local[i]->state);
	return state & GDA_MEM_NO_CPU;
}

/* A result of gda_async_carry(): the work request accesses host memory only. */
#define GDA_ASYNC_HOST_ONLY	2

/* Execute @w, or go on with it. Return: as gda_words_carry(), or GDA_ASYNC_HOST_ONLY. */
static int gda_async_carry(struct gda_inproc_async *async, const struct gda_work *w)
{
	struct gda_engine_qp *q = &async->qp->engine_qp, *peer = NULL;
	struct gda_exec_mems mems;
	struct gda_status st;
	int n;

	if (q->dialect->named) {
		/* routing completes the local key */
		q->work = *w;
		w = &q->work;
	}
	st = gda_async_route(q, &peer);
	if (st.class)
		return gda_async_fail(st.class, st.cause);
	async->counted = peer && peer->recv;
	async->target = w->target;
	n = gda_exec_check(q, w, peer, &mems);
	if (n)
		return n;
	if (w->op == GDA_OP_NOP)
		return 1;
	if (w->op == GDA_OP_WAIT)
		return GDA_ASYNC_HOST_ONLY;
	if (!gda_async_concerns(w, &mems))
		return GDA_ASYNC_HOST_ONLY;
	if (w->op == GDA_OP_DUMP)
		return 1;
	if (gda_words_concern(w, &mems))
		return gda_words_carry(async, w, &mems);
	if (w->op != GDA_OP_WRITE && w->op != GDA_OP_READ) {
		/* the copier has no arithmetic, except for words */
		if (READ_ONCE(mems.remote->state) & GDA_MEM_NO_CPU)
			return gda_async_fail(GDA_CLASS_REMOTE_OP, GDA_CAUSE_IO);
		return gda_async_fail(GDA_CLASS_LOCAL, GDA_CAUSE_IO);
	}
	while (async->copied < w->remote.len) {
		if (!gda_async_done(async, async->begun - GDA_ASYNC_WINDOW))
			return 0;
		n = gda_async_step(async, w, &mems);
		if (n <= 0)
			return n;
		async->copied += (u32)n;
	}
	return 1;
}

/* All copies of the current request were begun, or it has failed: queue its outcome. */
static void gda_async_end_add(struct gda_inproc_async *async, int ret)
{
	struct gda_async_end *end = &async->ends[async->tail++ % GDA_ASYNC_FLIGHT];
	u8 op = async->carried->op;

	*end = (struct gda_async_end){ .ticket = async->ticket, .after = async->begun };
	if (ret < 0) {
		end->status = gda_status((u8)-ret, (u8)(-ret >> 8));
	} else {
		end->arrives = (op == GDA_OP_WRITE || gda_op_is_atomic(op)) && async->counted;
		end->target = async->target;
		end->result_bytes = (u8)async->old_bytes;
		async->results += async->old_bytes != 0;
		end->result = async->result;
		end->old = async->old;
	}
	gda_words_release(async);
	async->carried = NULL;
}

/* Begin the next request, or go on with the current one. Return: whether to repeat. */
static bool gda_async_next(struct gda_inproc_async *async)
{
	struct gda_engine_qp *q = &async->qp->engine_qp;
	const struct gda_work *w = async->carried;
	int ret = GDA_ASYNC_HOST_ONLY;

	if (!w && !q->busy) {
		w = gda_flight_next(&async->flight);
		if (!w)
			return false;
		async->copied = 0;
		async->pulled = 0;
		async->old_bytes = 0;
	}
	if (w)
		ret = gda_async_carry(async, w);
	/* the engine may write host memory only when all that is in flight is done */
	if (ret == GDA_ASYNC_HOST_ONLY)
		return gda_async_idle(async) &&
		       gda_flight_by_engine(&async->flight, GDA_ASYNC_VISIT) && !q->busy;
	if (!async->carried) {
		async->carried = w;
		async->ticket = gda_flight_begin(&async->flight);
	}
	if (ret)
		gda_async_end_add(async, ret);
	return ret;
}

/* Where the published slots end, by a record and a doorbell that the engine has not seen yet. */
static u64 gda_async_published(const struct gda_inproc_async *async)
{
	struct gda_engine_qp q = async->flight.front;
	struct gda_ring_scan scan;

	q.dbrec = async->next_rec;
	q.db = &async->next_db;
	q.dialect->published(&q, &scan);
	return q.ci + scan.ahead;
}

/* Begin to copy @count slots, starting at @first. Return: 0 or a negative errno. */
static int gda_async_fetch_slots(struct gda_inproc_async *async, u64 first, u32 count)
{
	struct gda_inproc_copier *c = async->copier;
	u32 bytes = async->qp->engine_qp.dialect->slot_bytes;
	u32 depth = async->qp->engine_qp.depth;

	while (count) {
		u32 slot = (u32)first & (depth - 1);
		u64 off = (u64)slot * bytes;
		u32 n = min(count, depth - slot);
		int err = c->ops->copy(c, GDA_INPROC_LANE_FETCH, c->sq_copy_addr + off,
				       c->sq + off, (u64)n * bytes);

		if (err)
			return err;
		first += n;
		count -= n;
	}
	if (c->ops->store(c, GDA_INPROC_LANE_FETCH, c->mark[GDA_INPROC_LANE_FETCH].addr,
			  ++async->fetches, sizeof(u32)))
		return -EIO;
	return c->ops->flush(c, GDA_INPROC_LANE_FETCH);
}

/*
 * Read a new doorbell of a send queue in device memory, and begin to copy the slots that it covers.
 */
static void gda_async_fetch(struct gda_inproc_async *async)
{
	u64 end;

	if (async->fetching || async->broken)
		return;
	/* acquire, as in the engine: the slots are read after the record */
	async->next_rec[1] = smp_load_acquire(&async->real_rec[1]);
	/* and after this */
	async->next_db = smp_load_acquire(async->real_db);
	if (async->next_rec[1] == async->rec[1] && async->next_db == async->db)
		return;
	end = gda_async_published(async);
	if (end <= async->fetched) {
		async->rec[1] = async->next_rec[1];
		async->db = async->next_db;
		return;
	}
	if (gda_async_fetch_slots(async, async->fetched, (u32)(end - async->fetched))) {
		gda_async_break(async);
		return;
	}
	async->fetched = end;
	async->fetching = true;
}

static struct gda_inproc_async *gda_async_of(const struct gda_inproc_qp *qp)
{
	return gda_attached_of(qp->attached, struct gda_inproc_async);
}

static u32 gda_async_visit(struct gda_inproc_qp *qp, u32 wqes, u32 bytes)
{
	struct gda_inproc_async *async = gda_async_of(qp);
	u32 n = 0;

	(void)bytes;		/* not used: a visit only begins copies */
	if (async->copier->sq)
		gda_async_fetch(async);
	while (n < wqes && gda_async_next(async))
		n++;
	if (gda_async_scan(async))
		gda_inproc_poll_later(qp);
	return n + (qp->polls || async->carried || qp->engine_qp.busy);
}

static bool gda_async_poll(struct gda_inproc_qp *qp)
{
	return gda_async_scan(gda_async_of(qp));
}

static const struct gda_inproc_executor gda_copier_executor = {
	.visit = gda_async_visit,
	.poll = gda_async_poll,
};

/* The copier's memory is freed with the QP, when nothing is in flight. */
static void gda_async_free(struct gda_inproc_attachment *attached)
{
	struct gda_inproc_async *async = gda_attached_of(attached, struct gda_inproc_async);

	gda_words_release(async);
	async->copier->ops->free(async->copier);
	free(async->works);
	free(async);
}

/* Let the QP complete to a host CQ that stands for the one in device memory. */
static void gda_async_stand_in(struct gda_inproc_async *async, struct gda_engine_qp *q)
{
	struct gda_inproc_far_cq *far = &async->far;

	far->cq = q->cq;
	far->push = gda_async_push;
	far->engine_cq.dialect = q->cq->dialect;
	far->engine_cq.depth = 1;
	far->engine_cq.collapsed = true;
	far->engine_cq.entries = async->told;
	gda_cq_init(&far->engine_cq);
	far->engine_cq.entries = NULL;
	q->cq = &far->engine_cq;
}

/* Attach a copier while the worker does not see the QP. */
static int gda_async_attach(struct gda_inproc_qp *qp, struct gda_inproc_copier *copier)
{
	struct gda_inproc_async *async = calloc(1, sizeof(*async));
	struct gda_engine_qp *q = &qp->engine_qp;

	if (!async)
		return -ENOMEM;
	if (q->dialect->named) {
		async->works = calloc(GDA_ASYNC_FLIGHT, sizeof(*async->works));
		if (!async->works) {
			free(async);
			return -ENOMEM;
		}
	}
	/* a copier keeps the order of posting; nothing was posted yet */
	gda_inproc_order_destroy(qp);
	async->attachment.free = gda_async_free;
	async->qp = qp;
	async->copier = copier;
	if (copier->cq)
		gda_async_stand_in(async, q);
	if (copier->sq) {
		async->real_rec = q->dbrec;
		async->real_db = q->db;
		q->dbrec = async->rec;
		q->db = &async->db;
		q->sq = copier->sq_copy;
	}
	gda_flight_init(&async->flight, q, async->requests, GDA_ASYNC_FLIGHT);
	async->flight.works = async->works;
	qp->flight = &async->flight;
	gda_inproc_qp_attach(qp, &gda_copier_executor, &async->attachment);
	return 0;
}

int gda_inproc_copier_attach(struct gda_inproc_context *ctx, u32 handle,
			     struct gda_inproc_copier *copier)
{
	struct gda_inproc_qp *qp;
	int err = gda_inproc_enter(ctx);

	if (err)
		return err;
	qp = gda_inproc_qp_find(ctx, handle);
	if (!qp)
		err = -ENOENT;
	else if (qp->attached)
		err = -EBUSY;
	else if (copier->cq && !qp->engine_qp.cq->collapsed)
		err = -EINVAL;
	else if (qp->engine_qp.dialect->named && (copier->cq || copier->sq))
		err = -EOPNOTSUPP;
	if (!err) {
		gda_inproc_qp_unlink(qp);
		gda_inproc_sync();
		err = gda_async_attach(qp, copier);
		gda_inproc_qp_link(qp, qp->slot);
		gda_inproc_kick(ctx, qp->slot);
	}
	pthread_mutex_unlock(&ctx->lock);
	return err;
}
