// SPDX-License-Identifier: MIT
/*
 * Queues with a copier. What is far (GDA_MEM_NO_CPU, and the queue itself if it is) only
 * the copier reaches, in order, in its own time; the worker begins copies and goes on
 * to the next work request, so many are in flight.
 *
 * - Copies of a queue are begun in the order of its work requests, on one lane, and so
 *   take effect in that order. begun counts them; behind the last of a visit the copier
 *   is asked to store that count at the lane's mark, which says what is done.
 * - A completion is held until all copies that were begun before it are done. The
 *   engine knows nothing of that: its CQ is a stand-in without entries.
 * - Near memory is written only while nothing is in flight. Between near and far the
 *   bytes go through a bounce buffer, one piece at a time.
 * - A far CQ is written by the copier, on the lane of the data and so behind it: for
 *   GDA_ASYNC_TELL work requests at once, if so many were found, because copies wait for it.
 * - A far send queue is copied, what was published of it, before the engine is shown
 *   the doorbell that covers it.
 *
 * All is the worker's, but for attaching and freeing.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include "inproc.h"

#define GDA_ASYNC_WINDOW	256U		/* copies in flight, a long one counts as many */
#define GDA_ASYNC_LONG	(1U << 20)
#define GDA_ASYNC_HELD	512U		/* completions */
#define GDA_ASYNC_TELL	8U
#define GDA_ASYNC_VISIT	(128U << 20)	/* bytes of a visit, which only begins copies */
#define GDA_ASYNC_SCANS	4096U		/* in vain, then see if the copier is alive */

struct gda_async_held {
	u32 after;			/* copies begun before it */
	struct gda_completion c;
};

struct gda_inproc_async {
	struct gda_inproc_qp *qp;
	struct gda_inproc_copier *copier;
	struct gda_inproc_async *next;	/* of the worker's, while @listed */
	bool listed;
	bool broken;			/* the copier is: all else is over */
	bool lost;			/* ... and what it had not done has failed first */
	bool failed;			/* the CQ names the first error */
	struct gda_engine_cq stand_in;
	struct gda_engine_cq *cq;

	u32 begun;			/* copies by weight, as all counts of them modulo 2^32 */
	u32 marked;			/* ... when the mark was last asked for */
	u32 bounced;			/* ... when the bounce buffer was last used */
	u32 pulled;			/* bytes in it that q->work still wants */
	u32 looks;
	u32 untold;			/* completions that a far CQ is to be told, ... */
	struct gda_completion newest;	/* ... of which it is told the newest */
	u64 reported;			/* slots below are completed */
	u64 told[GDA_ENGINE_MAX_CQE_BYTES / 8];	/* the entry of a far CQ, but for its last word */

	u32 head;			/* of @held, as tail */
	u32 tail;
	struct gda_async_held held[GDA_ASYNC_HELD];

	/* a far send queue; @rec and @db are what the engine sees */
	const __be32 *real_rec;
	const __be64 *real_db;
	__be32 rec[2];
	__be64 db;
	__be32 next_rec[2];		/* to be shown when @fetches are done */
	__be64 next_db;
	bool fetching;
	u32 fetches;
	u64 fetched;			/* slots below were copied */
};

static u32 gda_async_mark(const struct gda_inproc_async *async, u32 lane)
{
	/* pairs with the copier's store: what it did before is seen */
	return smp_load_acquire(async->copier->mark[lane].word);
}

/* Are the first @count copies done? */
static bool gda_async_done(const struct gda_inproc_async *async, u32 count)
{
	return async->broken || gda_async_mark(async, GDA_INPROC_LANE_DATA) - count < 1U << 31;
}

/* Is nothing in flight and nothing held? */
static bool gda_async_idle(const struct gda_inproc_async *async)
{
	return async->head == async->tail && gda_async_done(async, async->begun);
}

/*
 * The copier has died with copies in flight: of what was not reported nobody knows how
 * far it came, so the oldest of that is what failed. What was held as failed or flushed
 * is so still, and the engine will not say it again. Nor is there another first error where
 * the CQ has named one: all that comes behind it is flushed anyway.
 */
static void gda_async_break(struct gda_inproc_async *async)
{
	struct gda_engine_qp *q = &async->qp->engine_qp;
	struct gda_completion c = {
		.kind = GDA_COMPLETION_ERROR, .solicited = true,
		.status = { GDA_CLASS_QUEUE, GDA_CAUSE_IO },
		.index = async->reported, .qpn = q->qpn,
		.uidx_imm = (u64)q->user_index << 32,
	};
	u32 at = async->head, end = async->tail;

	async->broken = true;
	async->lost = !async->failed;
	async->head = end;
	WRITE_ONCE(q->fail, GDA_STATUS(GDA_CLASS_QUEUE, GDA_CAUSE_IO));
	if (async->lost)
		gda_inproc_async_push(&async->stand_in, &c);
	for (; at != end; at++) {
		const struct gda_completion *held = &async->held[at % GDA_ASYNC_HELD].c;

		if (held->status.class && !(async->lost && held->index == async->reported))
			gda_inproc_async_push(&async->stand_in, held);
	}
}

static void gda_async_complete(struct gda_inproc_async *async, const struct gda_completion *c)
{
	if (c->status.class)
		async->failed = true;
	else
		async->reported = c->index + 1;
	if (!gda_host_push(async->cq, c))
		WRITE_ONCE(async->qp->engine_qp.fail,
			   GDA_STATUS(GDA_CLASS_QUEUE, GDA_CAUSE_CQ));
}

/* Complete what is done. Return: whether anything is left. */
static bool gda_async_scan(struct gda_inproc_async *async)
{
	u32 before = async->head;

	while (async->head != async->tail) {
		const struct gda_async_held *h = &async->held[async->head % GDA_ASYNC_HELD];

		if (!gda_async_done(async, h->after))
			break;
		gda_async_complete(async, &h->c);
		async->head++;
	}
	if (async->fetching && gda_async_mark(async, GDA_INPROC_LANE_FETCH) == async->fetches) {
		/* the engine is this thread: it needs no order */
		async->rec[1] = async->next_rec[1];
		async->db = async->next_db;
		async->fetching = false;
	}
	if (before != async->head)
		async->looks = 0;
	/* counts are compared modulo 2^32: none may grow old */
	if (gda_async_done(async, async->bounced))
		async->bounced = gda_async_mark(async, GDA_INPROC_LANE_DATA);
	if (gda_async_idle(async) && (!async->fetching || async->broken))
		return false;
	if (++async->looks % GDA_ASYNC_SCANS == 0 && !async->broken &&
	    async->copier->ops->check(async->copier))
		gda_async_break(async);
	return true;
}

/* Far from everything else, the copier stores word @at of the CQ entry. */
static void gda_async_store(struct gda_inproc_async *async, const u8 *entry, u32 at)
{
	u32 word;

	memcpy(&word, entry + at, sizeof(word));
	if (!async->copier->ops->store(async->copier, GDA_INPROC_LANE_DATA, async->copier->cq + at,
				       word))
		async->begun++;
}

/* @entry, whose words are those that the far CQ has, becomes what @c says. */
static const u8 *gda_async_entry(struct gda_inproc_async *async, void *entry,
				 const struct gda_completion *c)
{
	struct gda_engine_cq one = async->stand_in;

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
			async->cq->dialect->cqe_last);
}

/*
 * A far CQ. A word that an error has stored is stored again only if it changes: what names
 * the first error may be being read.
 */
static void gda_async_push_far(struct gda_inproc_async *async, const struct gda_completion *c)
{
	const struct gda_dialect_ops *ops = async->cq->dialect;
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
	async->failed = true;
	gda_async_store(async, bytes, ops->cqe_last);
}

/* Hold @c back until what was begun is done. */
static void gda_async_hold(struct gda_inproc_async *async, const struct gda_completion *c)
{
	struct gda_async_held *last = &async->held[(async->tail - 1) % GDA_ASYNC_HELD];
	bool solicited = c->solicited;

	if (async->cq->collapsed && async->head != async->tail && last->after == async->begun) {
		/* only the newest matters */
		solicited |= last->c.solicited;
		async->tail--;
	}
	while (async->tail - async->head == GDA_ASYNC_HELD) {
		gda_async_scan(async);
		sched_yield();
	}
	if (unlikely(async->broken)) {
		gda_inproc_async_push(&async->stand_in, c);
		return;
	}
	last = &async->held[async->tail++ % GDA_ASYNC_HELD];
	last->after = async->begun;
	last->c = *c;
	last->c.solicited = solicited;
}

bool gda_inproc_async_push(struct gda_engine_cq *engine_cq, const struct gda_completion *c)
{
	struct gda_inproc_async *async =
		gda_inproc_of(engine_cq, struct gda_inproc_async, stand_in);
	const struct gda_status io = { GDA_CLASS_QUEUE, GDA_CAUSE_IO };
	struct gda_completion late = *c;

	if (unlikely(async->broken)) {
		/* the engine is ahead of what anybody knows to be done */
		if (!c->status.class)
			return true;
		if (async->lost) {
			late.first = io;
			late.first_error = async->reported;
			WRITE_ONCE(async->qp->engine_qp.first_error, async->reported);
		}
	}
	if (async->copier->cq)
		gda_async_push_far(async, &late);
	else if (gda_async_idle(async))
		gda_async_complete(async, &late);
	else
		gda_async_hold(async, &late);
	return true;
}

struct gda_engine_cq *gda_inproc_async_cq(struct gda_engine_cq *engine_cq)
{
	return gda_inproc_of(engine_cq, struct gda_inproc_async, stand_in)->cq;
}

/* One end of a transfer at an offset. Return: its address if it is far, or 0. */
static u64 gda_async_end(const struct gda_mem *mem, u64 off, u32 len, void **near)
{
	const struct gda_inproc_mr *mr = gda_inproc_of(mem, struct gda_inproc_mr, mem);

	if (READ_ONCE(mem->state) & GDA_MEM_NO_CPU)
		return (uintptr_t)mr->addr + off;
	gda_host_span(mem, off, len, near);
	return 0;
}

/* Return: 0 or -GDA_STATUS(). */
static int gda_async_copy(struct gda_inproc_async *async, u64 dst, u64 src, u32 len)
{
	struct gda_inproc_copier *c = async->copier;

	if (async->broken || c->ops->copy(c, GDA_INPROC_LANE_DATA, dst, src, len))
		return -(int)(GDA_STATUS(GDA_CLASS_QUEUE, GDA_CAUSE_IO));
	async->begun += 1 + len / GDA_ASYNC_LONG;
	return 0;
}

/* Bytes from near memory to @dst. Return: how many, 0 to wait, or an error. */
static int gda_async_bounce_out(struct gda_inproc_async *async, u64 dst, const void *src, u32 len)
{
	int err;

	if (!gda_async_done(async, async->bounced))
		return 0;
	len = min(len, GDA_INPROC_BOUNCE);
	memcpy(async->copier->bounce, src, len);
	err = gda_async_copy(async, dst, async->copier->bounce_addr, len);
	async->bounced = async->begun;
	return err ? err : (int)len;
}

/* Bytes from @src to near memory: asked for, waited for, and stored. Return: likewise. */
static int gda_async_bounce_in(struct gda_inproc_async *async, void *dst, u64 src, u32 len)
{
	int err;

	if (!gda_async_done(async, async->bounced))
		return 0;
	if (async->pulled) {
		/* that was the last to be begun, so nothing is in flight */
		len = async->pulled;
		memcpy(dst, async->copier->bounce, len);
		async->pulled = 0;
		return (int)len;
	}
	len = min(len, GDA_INPROC_BOUNCE);
	err = gda_async_copy(async, async->copier->bounce_addr, src, len);
	async->bounced = async->begun;
	async->pulled = err ? 0 : len;
	return err;
}

/* The next piece of q->work, from q->done on. Return: likewise. */
static int gda_async_step(struct gda_inproc_async *async, struct gda_engine_qp *q,
			  const struct gda_exec_mems *mems)
{
	struct gda_work *w = &q->work;
	bool second = !w->inlined && q->done >= w->sge[0].len;
	u32 len = w->remote.len - q->done;
	void *near_local = NULL, *near_remote = NULL;
	u64 local = 0, remote;
	int err;

	if (w->inlined) {
		near_local = w->data + q->done;
	} else {
		const struct gda_sge *sge = &w->sge[second];
		u32 off = q->done - (second ? w->sge[0].len : 0);

		len = sge->len - off;
		local = gda_async_end(mems->local[second],
				      sge->addr + off - mems->local[second]->iova, len,
				      &near_local);
	}
	remote = gda_async_end(mems->remote, w->remote.addr + q->done - mems->remote->iova, len,
			       &near_remote);
	if (local && remote) {
		len = min(len, GDA_INPROC_MOST);
		err = w->op == GDA_OP_WRITE ? gda_async_copy(async, remote, local, len) :
					      gda_async_copy(async, local, remote, len);
		return err ? err : (int)len;
	}
	if (w->op == GDA_OP_WRITE)
		return remote ? gda_async_bounce_out(async, remote, near_local, len) :
				gda_async_bounce_in(async, near_remote, local, len);
	return local ? gda_async_bounce_out(async, local, near_remote, len) :
		       gda_async_bounce_in(async, near_local, remote, len);
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

static int gda_async_exec(struct gda_engine_qp *q, const struct gda_engine_qp *peer,
			  const struct gda_exec_mems *mems)
{
	struct gda_inproc_async *async = gda_inproc_of(q, struct gda_inproc_qp, engine_qp)->async;
	const struct gda_work *w = &q->work;
	int n;

	if (!q->busy) {
		q->done = 0;
		async->pulled = 0;
	}
	if (!gda_async_concerns(w, mems))
		return gda_async_idle(async) ? GDA_ASYNC_BY_ENGINE : 0;
	if (w->op != GDA_OP_WRITE && w->op != GDA_OP_READ) {
		/* the copier copies, and does no arithmetic */
		if (READ_ONCE(mems->remote->state) & GDA_MEM_NO_CPU)
			return -(int)GDA_STATUS(GDA_CLASS_REMOTE_OP, GDA_CAUSE_IO);
		return -(int)GDA_STATUS(GDA_CLASS_LOCAL, GDA_CAUSE_IO);
	}
	while (q->done < w->remote.len) {
		if (!gda_async_done(async, async->begun - GDA_ASYNC_WINDOW))
			return 0;
		n = gda_async_step(async, q, mems);
		if (n <= 0)
			return n;
		q->done += (u32)n;
		WRITE_ONCE(q->bytes, q->bytes + (u32)n);
	}
	/* who counts what is done counts no more than that */
	if ((q->sent || peer->recv) && !gda_async_done(async, async->begun))
		return 0;
	return 1;
}

static const struct gda_async_ops gda_async_ops = { .exec = gda_async_exec };

/* The end of what is published by a record and a doorbell that the engine has not seen. */
static u64 gda_async_published(const struct gda_inproc_async *async)
{
	struct gda_engine_qp q = async->qp->engine_qp;
	struct gda_ring_scan scan;

	q.dbrec = async->next_rec;
	q.db = &async->next_db;
	q.dialect->published(&q, &scan);
	return q.ci + scan.ahead;
}

/* Begin to copy @count slots from @first on. Return: 0 or a negative errno. */
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
	return c->ops->store(c, GDA_INPROC_LANE_FETCH, c->mark[GDA_INPROC_LANE_FETCH].addr,
			     ++async->fetches);
}

/* Take a new doorbell of a far send queue, and what it covers. */
static void gda_async_fetch(struct gda_inproc_async *async)
{
	u64 end;

	if (async->fetching || async->broken)
		return;
	/* as the engine reads them: the slots are read after it */
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

bool gda_inproc_async_visit(struct gda_inproc_worker *w, struct gda_inproc_async *async, u32 wqes,
			    u32 bytes)
{
	struct gda_inproc_copier *c = async->copier;
	u32 n;

	if (c->sq)
		gda_async_fetch(async);
	n = gda_engine_visit(&async->qp->engine_qp, wqes,
			     bytes < GDA_ASYNC_VISIT ? GDA_ASYNC_VISIT : bytes);
	gda_async_tell(async);
	if (async->begun != async->marked && !async->broken) {
		async->marked = async->begun;
		if (c->ops->store(c, GDA_INPROC_LANE_DATA, c->mark[GDA_INPROC_LANE_DATA].addr,
				  async->marked))
			gda_async_break(async);
	}
	if (!async->listed && gda_async_scan(async)) {
		async->listed = true;
		async->next = w->async;
		w->async = async;
	}
	return n || async->listed;
}

void gda_inproc_async_poll(struct gda_inproc_worker *w)
{
	struct gda_inproc_async **link = &w->async;
	struct gda_inproc_async *async;

	while ((async = *link)) {
		if (gda_async_scan(async)) {
			link = &async->next;
			continue;
		}
		async->listed = false;
		*link = async->next;
	}
}

void gda_inproc_async_drain(struct gda_inproc_worker *w)
{
	while (w->async) {
		gda_inproc_async_poll(w);
		sched_yield();
	}
}

/* The QP's worker does not see it. */
static int gda_async_attach(struct gda_inproc_qp *qp, struct gda_inproc_copier *copier)
{
	struct gda_inproc_async *async = calloc(1, sizeof(*async));
	struct gda_engine_qp *q = &qp->engine_qp;

	if (!async)
		return -ENOMEM;
	async->qp = qp;
	async->copier = copier;
	async->cq = q->cq;
	async->stand_in.dialect = q->cq->dialect;
	async->stand_in.depth = 1;
	async->stand_in.collapsed = q->cq->collapsed;
	async->stand_in.entries = async->told;
	gda_cq_init(&async->stand_in);
	async->stand_in.entries = NULL;
	q->cq = &async->stand_in;
	q->async = &gda_async_ops;
	if (copier->sq) {
		async->real_rec = q->dbrec;
		async->real_db = q->db;
		q->dbrec = async->rec;
		q->db = &async->db;
		q->sq = copier->sq_copy;
	}
	qp->async = async;
	qp->aside = true;
	return 0;
}

int gda_inproc_async_attach(struct gda_inproc_context *ctx, u32 handle,
			    struct gda_inproc_copier *copier)
{
	struct gda_inproc_qp *qp;
	int err = gda_inproc_enter(ctx);

	if (err)
		return err;
	qp = gda_inproc_qp_find(ctx, handle);
	if (!qp)
		err = -ENOENT;
	else if (qp->async)
		err = -EBUSY;
	else if (copier->cq && !qp->engine_qp.cq->collapsed)
		err = -EINVAL;
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

void gda_inproc_async_free(struct gda_inproc_async *async)
{
	if (!async)
		return;
	async->copier->ops->free(async->copier);
	free(async);
}
