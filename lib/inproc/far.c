// SPDX-License-Identifier: MIT
/*
 * Queues with a copier. What is far (GDA_MEM_FAR, and the queue itself if it is) only
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
 *   GDA_FAR_TELL work requests at once, if so many were found, because copies wait for it.
 * - A far send queue is copied, what was published of it, before the engine is shown
 *   the doorbell that covers it.
 *
 * All is the worker's, but for attaching and freeing.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include "inproc.h"

#define GDA_FAR_WINDOW	256U		/* copies in flight, a long one counts as many */
#define GDA_FAR_LONG	(1U << 20)
#define GDA_FAR_HELD	512U		/* completions */
#define GDA_FAR_TELL	8U
#define GDA_FAR_VISIT	(128U << 20)	/* bytes of a visit, which only begins copies */
#define GDA_FAR_LOOKS	4096U		/* in vain, then see if the copier is alive */

struct gda_far_held {
	u32 after;			/* copies begun before it */
	struct gda_completion c;
};

struct gda_inproc_far {
	struct gda_inproc_qp *qp;
	struct gda_inproc_copier *copier;
	struct gda_inproc_far *next;	/* of the worker's, while @listed */
	bool listed;
	bool broken;			/* the copier is: all else is over */
	bool lost;			/* ... and what it had not done has failed first */
	bool failed;			/* the CQ names the first error */
	struct gda_ecq stand_in;
	struct gda_ecq *cq;

	u32 begun;			/* copies by weight, as all counts of them modulo 2^32 */
	u32 marked;			/* ... when the mark was last asked for */
	u32 bounced;			/* ... when the bounce buffer was last used */
	u32 pulled;			/* bytes in it that q->work still wants */
	u32 looks;
	u32 untold;			/* completions that a far CQ is to be told, ... */
	struct gda_completion newest;	/* ... of which it is told the newest */
	u64 reported;			/* slots below are completed */

	u32 head;			/* of @held, as tail */
	u32 tail;
	struct gda_far_held held[GDA_FAR_HELD];

	/* a far send queue; @rec and @db are what the engine sees */
	const __be32 *real_rec;
	const __be64 *real_db;
	__be32 rec[2];
	__be64 db;
	__be32 next_rec;		/* to be shown when @fetches are done */
	__be64 next_db;
	bool fetching;
	u32 fetches;
	u64 fetched;			/* slots below were copied */
};

static u32 gda_far_mark(const struct gda_inproc_far *far, u32 lane)
{
	/* pairs with the copier's store: what it did before is seen */
	return smp_load_acquire(far->copier->mark[lane].word);
}

/* Are the first @count copies done? */
static bool gda_far_done(const struct gda_inproc_far *far, u32 count)
{
	return far->broken || gda_far_mark(far, GDA_INPROC_LANE_DATA) - count < 1U << 31;
}

/* Is nothing in flight and nothing held? */
static bool gda_far_idle(const struct gda_inproc_far *far)
{
	return far->head == far->tail && gda_far_done(far, far->begun);
}

/*
 * The copier has died with copies in flight: of what was not reported nobody knows how
 * far it came, so the oldest of that is what failed. What was held as failed or flushed
 * is so still, and the engine will not say it again. Nor is there another first error where
 * the CQ has named one: all that comes behind it is flushed anyway.
 */
static void gda_far_break(struct gda_inproc_far *far)
{
	struct gda_eqp *q = &far->qp->eqp;
	struct gda_completion c = {
		.cqe_opcode = GDA_MLX5_CQE_REQ_ERR, .solicited = true,
		.status = { GDA_MLX5_SYND_LOCAL_QP_OP, GDA_MLX5_VENDOR_IO },
		.index = far->reported, .qpn = q->qpn,
		.uidx_imm = (u64)q->user_index << 32,
	};
	u32 at = far->head, end = far->tail;

	far->broken = true;
	far->lost = !far->failed;
	far->head = end;
	WRITE_ONCE(q->fail, GDA_MLX5_VENDOR_IO << 8 | GDA_MLX5_SYND_LOCAL_QP_OP);
	if (far->lost)
		gda_inproc_far_push(&far->stand_in, &c);
	for (; at != end; at++) {
		const struct gda_completion *held = &far->held[at % GDA_FAR_HELD].c;

		if (held->status.syndrome && !(far->lost && held->index == far->reported))
			gda_inproc_far_push(&far->stand_in, held);
	}
}

static void gda_far_complete(struct gda_inproc_far *far, const struct gda_completion *c)
{
	if (c->status.syndrome)
		far->failed = true;
	else
		far->reported = c->index + 1;
	if (!gda_host_push(far->cq, c))
		WRITE_ONCE(far->qp->eqp.fail,
			   GDA_MLX5_VENDOR_CQ << 8 | GDA_MLX5_SYND_LOCAL_QP_OP);
}

/* Complete what is done. Return: whether anything is left. */
static bool gda_far_look(struct gda_inproc_far *far)
{
	u32 before = far->head;

	while (far->head != far->tail) {
		const struct gda_far_held *h = &far->held[far->head % GDA_FAR_HELD];

		if (!gda_far_done(far, h->after))
			break;
		gda_far_complete(far, &h->c);
		far->head++;
	}
	if (far->fetching && gda_far_mark(far, GDA_INPROC_LANE_FETCH) == far->fetches) {
		/* the engine is this thread: it needs no order */
		far->rec[1] = far->next_rec;
		far->db = far->next_db;
		far->fetching = false;
	}
	if (before != far->head)
		far->looks = 0;
	/* counts are compared modulo 2^32: none may grow old */
	if (gda_far_done(far, far->bounced))
		far->bounced = gda_far_mark(far, GDA_INPROC_LANE_DATA);
	if (gda_far_idle(far) && (!far->fetching || far->broken))
		return false;
	if (++far->looks % GDA_FAR_LOOKS == 0 && !far->broken &&
	    far->copier->ops->check(far->copier))
		gda_far_break(far);
	return true;
}

/* Far from everything else, the copier stores word @at of the CQ entry. */
static void gda_far_store(struct gda_inproc_far *far, const u8 *entry, u32 at)
{
	u32 word;

	memcpy(&word, entry + at, sizeof(word));
	if (!far->copier->ops->store(far->copier, GDA_INPROC_LANE_DATA, far->copier->cq + at,
				     word))
		far->begun++;
}

/* @entry becomes what @c says. */
static const u8 *gda_far_entry(u64 entry[8], const struct gda_completion *c)
{
	struct gda_ecq one = { .entries = entry, .depth = 1, .collapsed = true };

	gda_cq_push(&one, c);
	return (const u8 *)entry;
}

static void gda_far_tell(struct gda_inproc_far *far)
{
	u64 entry[8] = { 0 };

	if (!far->untold)
		return;
	far->untold = 0;
	gda_far_store(far, gda_far_entry(entry, &far->newest),
		      offsetof(struct gda_mlx5_cqe, wqe_counter));
}

/* A far CQ. What names the first error is stored once, for it may be being read. */
static void gda_far_push_far(struct gda_inproc_far *far, const struct gda_completion *c)
{
	u64 entry[8] = { 0 };
	const u8 *bytes;

	if (!c->status.syndrome) {
		far->newest = *c;
		if (++far->untold == GDA_FAR_TELL)
			gda_far_tell(far);
		return;
	}
	gda_far_tell(far);
	bytes = gda_far_entry(entry, c);
	if (!far->failed) {
		gda_far_store(far, bytes, offsetof(struct gda_mlx5_err_cqe, first_error));
		gda_far_store(far, bytes, offsetof(struct gda_mlx5_err_cqe, first_error) + 4);
	}
	far->failed = true;
	gda_far_store(far, bytes, offsetof(struct gda_mlx5_err_cqe, first_syndrome));
	gda_far_store(far, bytes, offsetof(struct gda_mlx5_cqe, wqe_counter));
}

/* Hold @c back until what was begun is done. */
static void gda_far_hold(struct gda_inproc_far *far, const struct gda_completion *c)
{
	struct gda_far_held *last = &far->held[(far->tail - 1) % GDA_FAR_HELD];
	bool solicited = c->solicited;

	if (far->cq->collapsed && far->head != far->tail && last->after == far->begun) {
		/* only the newest matters */
		solicited |= last->c.solicited;
		far->tail--;
	}
	while (far->tail - far->head == GDA_FAR_HELD) {
		gda_far_look(far);
		sched_yield();
	}
	if (unlikely(far->broken)) {
		gda_inproc_far_push(&far->stand_in, c);
		return;
	}
	last = &far->held[far->tail++ % GDA_FAR_HELD];
	last->after = far->begun;
	last->c = *c;
	last->c.solicited = solicited;
}

bool gda_inproc_far_push(struct gda_ecq *ecq, const struct gda_completion *c)
{
	struct gda_inproc_far *far = gda_inproc_of(ecq, struct gda_inproc_far, stand_in);
	const struct gda_status io = { GDA_MLX5_SYND_LOCAL_QP_OP, GDA_MLX5_VENDOR_IO };
	struct gda_completion late = *c;

	if (unlikely(far->broken)) {
		/* the engine is ahead of what anybody knows to be done */
		if (!c->status.syndrome)
			return true;
		if (far->lost) {
			late.first = io;
			late.first_error = far->reported;
			WRITE_ONCE(far->qp->eqp.first_error, far->reported);
		}
	}
	if (far->copier->cq)
		gda_far_push_far(far, &late);
	else if (gda_far_idle(far))
		gda_far_complete(far, &late);
	else
		gda_far_hold(far, &late);
	return true;
}

struct gda_ecq *gda_inproc_far_cq(struct gda_ecq *ecq)
{
	return gda_inproc_of(ecq, struct gda_inproc_far, stand_in)->cq;
}

/* One end of a transfer at an offset. Return: its address if it is far, or 0. */
static u64 gda_far_end(const struct gda_mem *mem, u64 off, u32 len, void **near)
{
	const struct gda_inproc_mr *mr = gda_inproc_of(mem, struct gda_inproc_mr, mem);

	if (READ_ONCE(mem->state) & GDA_MEM_FAR)
		return (uintptr_t)mr->addr + off;
	gda_host_span(mem, off, len, near);
	return 0;
}

/* Return: 0 or -(vendor << 8 | syndrome). */
static int gda_far_copy(struct gda_inproc_far *far, u64 dst, u64 src, u32 len)
{
	struct gda_inproc_copier *c = far->copier;

	if (far->broken || c->ops->copy(c, GDA_INPROC_LANE_DATA, dst, src, len))
		return -(GDA_MLX5_VENDOR_IO << 8 | GDA_MLX5_SYND_LOCAL_QP_OP);
	far->begun += 1 + len / GDA_FAR_LONG;
	return 0;
}

/* Bytes from near memory to @dst. Return: how many, 0 to wait, or an error. */
static int gda_far_bounce_out(struct gda_inproc_far *far, u64 dst, const void *src, u32 len)
{
	int err;

	if (!gda_far_done(far, far->bounced))
		return 0;
	len = min(len, GDA_INPROC_BOUNCE);
	memcpy(far->copier->bounce, src, len);
	err = gda_far_copy(far, dst, far->copier->bounce_addr, len);
	far->bounced = far->begun;
	return err ? err : (int)len;
}

/* Bytes from @src to near memory: asked for, waited for, and stored. Return: likewise. */
static int gda_far_bounce_in(struct gda_inproc_far *far, void *dst, u64 src, u32 len)
{
	int err;

	if (!gda_far_done(far, far->bounced))
		return 0;
	if (far->pulled) {
		/* that was the last to be begun, so nothing is in flight */
		len = far->pulled;
		memcpy(dst, far->copier->bounce, len);
		far->pulled = 0;
		return (int)len;
	}
	len = min(len, GDA_INPROC_BOUNCE);
	err = gda_far_copy(far, far->copier->bounce_addr, src, len);
	far->bounced = far->begun;
	far->pulled = err ? 0 : len;
	return err;
}

/* The next piece of q->work, from q->done on. Return: likewise. */
static int gda_far_step(struct gda_inproc_far *far, struct gda_eqp *q,
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
		local = gda_far_end(mems->local[second],
				    sge->addr + off - mems->local[second]->iova, len, &near_local);
	}
	remote = gda_far_end(mems->remote, w->remote.addr + q->done - mems->remote->iova, len,
			     &near_remote);
	if (local && remote) {
		len = min(len, GDA_INPROC_MOST);
		err = w->op == GDA_OP_WRITE ? gda_far_copy(far, remote, local, len) :
					      gda_far_copy(far, local, remote, len);
		return err ? err : (int)len;
	}
	if (w->op == GDA_OP_WRITE)
		return remote ? gda_far_bounce_out(far, remote, near_local, len) :
				gda_far_bounce_in(far, near_remote, local, len);
	return local ? gda_far_bounce_out(far, local, near_remote, len) :
		       gda_far_bounce_in(far, near_local, remote, len);
}

static bool gda_far_concerns(const struct gda_work *w, const struct gda_exec_mems *mems)
{
	/* a work request without bytes has no remote MR */
	u32 far = mems->remote ? READ_ONCE(mems->remote->state) : 0;
	u32 i;

	for (i = 0; i < w->nsge; i++)
		far |= READ_ONCE(mems->local[i]->state);
	return far & GDA_MEM_FAR;
}

static int gda_far_exec(struct gda_eqp *q, const struct gda_eqp *peer,
			const struct gda_exec_mems *mems)
{
	struct gda_inproc_far *far = gda_inproc_of(q, struct gda_inproc_qp, eqp)->far;
	const struct gda_work *w = &q->work;
	int n;

	if (!q->busy) {
		q->done = 0;
		far->pulled = 0;
	}
	if (!gda_far_concerns(w, mems))
		return gda_far_idle(far) ? GDA_FAR_NEAR : 0;
	if (w->op != GDA_OP_WRITE && w->op != GDA_OP_READ) {
		/* the copier copies, and does no arithmetic */
		if (READ_ONCE(mems->remote->state) & GDA_MEM_FAR)
			return -(GDA_MLX5_VENDOR_IO << 8 | GDA_MLX5_SYND_REMOTE_OP);
		return -(GDA_MLX5_VENDOR_IO << 8 | GDA_MLX5_SYND_LOCAL_PROT);
	}
	while (q->done < w->remote.len) {
		if (!gda_far_done(far, far->begun - GDA_FAR_WINDOW))
			return 0;
		n = gda_far_step(far, q, mems);
		if (n <= 0)
			return n;
		q->done += (u32)n;
		WRITE_ONCE(q->bytes, q->bytes + (u32)n);
	}
	/* who counts what is done counts no more than that */
	if ((q->sent || peer->recv) && !gda_far_done(far, far->begun))
		return 0;
	return 1;
}

static const struct gda_far_ops gda_far_ops = { .exec = gda_far_exec };

/* How far beyond the consumer an index is; what is not legal the engine will refuse. */
static u32 gda_far_ahead(const struct gda_eqp *q, u32 index)
{
	u32 ahead = (index - (u32)q->ci) & 0xffff;

	return ahead <= q->depth ? ahead : 0;
}

/* Begin to copy @count slots from @first on. Return: 0 or a negative errno. */
static int gda_far_fetch_slots(struct gda_inproc_far *far, u64 first, u32 count)
{
	struct gda_inproc_copier *c = far->copier;
	u32 depth = far->qp->eqp.depth;

	while (count) {
		u32 slot = (u32)first & (depth - 1);
		u64 off = (u64)slot * GDA_MLX5_SLOT_BYTES;
		u32 n = min(count, depth - slot);
		int err = c->ops->copy(c, GDA_INPROC_LANE_FETCH, c->sq_copy_addr + off,
				       c->sq + off, (u64)n * GDA_MLX5_SLOT_BYTES);

		if (err)
			return err;
		first += n;
		count -= n;
	}
	return c->ops->store(c, GDA_INPROC_LANE_FETCH, c->mark[GDA_INPROC_LANE_FETCH].addr,
			     ++far->fetches);
}

/* Take a new doorbell of a far send queue, and what it covers. */
static void gda_far_fetch(struct gda_inproc_far *far)
{
	const struct gda_eqp *q = &far->qp->eqp;
	u64 end;
	u32 ahead;

	if (far->fetching || far->broken)
		return;
	/* as the engine reads them: the slots are read after it */
	far->next_rec = smp_load_acquire(&far->real_rec[1]);
	/* and after this */
	far->next_db = smp_load_acquire(far->real_db);
	if (far->next_rec == far->rec[1] && far->next_db == far->db)
		return;
	ahead = gda_far_ahead(q, gda_be32_to_cpu(far->next_rec));
	end = q->ci + ahead;
	ahead = gda_far_ahead(q, (u32)(gda_be64_to_cpu(far->next_db) >> 40));
	if (q->ci + ahead > end)
		end = q->ci + ahead;
	if (end <= far->fetched) {
		far->rec[1] = far->next_rec;
		far->db = far->next_db;
		return;
	}
	if (gda_far_fetch_slots(far, far->fetched, (u32)(end - far->fetched))) {
		gda_far_break(far);
		return;
	}
	far->fetched = end;
	far->fetching = true;
}

bool gda_inproc_far_visit(struct gda_inproc_worker *w, struct gda_inproc_far *far, u32 wqes,
			  u32 bytes)
{
	struct gda_inproc_copier *c = far->copier;
	u32 n;

	if (c->sq)
		gda_far_fetch(far);
	n = gda_engine_visit(&far->qp->eqp, wqes, bytes < GDA_FAR_VISIT ? GDA_FAR_VISIT : bytes);
	gda_far_tell(far);
	if (far->begun != far->marked && !far->broken) {
		far->marked = far->begun;
		if (c->ops->store(c, GDA_INPROC_LANE_DATA, c->mark[GDA_INPROC_LANE_DATA].addr,
				  far->marked))
			gda_far_break(far);
	}
	if (!far->listed && gda_far_look(far)) {
		far->listed = true;
		far->next = w->far;
		w->far = far;
	}
	return n || far->listed;
}

void gda_inproc_far_poll(struct gda_inproc_worker *w)
{
	struct gda_inproc_far **link = &w->far;
	struct gda_inproc_far *far;

	while ((far = *link)) {
		if (gda_far_look(far)) {
			link = &far->next;
			continue;
		}
		far->listed = false;
		*link = far->next;
	}
}

void gda_inproc_far_drain(struct gda_inproc_worker *w)
{
	while (w->far) {
		gda_inproc_far_poll(w);
		sched_yield();
	}
}

/* The QP's worker does not see it. */
static int gda_far_attach(struct gda_inproc_qp *qp, struct gda_inproc_copier *copier)
{
	struct gda_inproc_far *far = calloc(1, sizeof(*far));
	struct gda_eqp *q = &qp->eqp;

	if (!far)
		return -ENOMEM;
	far->qp = qp;
	far->copier = copier;
	far->cq = q->cq;
	far->stand_in.collapsed = q->cq->collapsed;
	q->cq = &far->stand_in;
	q->far = &gda_far_ops;
	if (copier->sq) {
		far->real_rec = q->dbrec;
		far->real_db = q->db;
		q->dbrec = far->rec;
		q->db = &far->db;
		q->sq = copier->sq_copy;
	}
	qp->far = far;
	qp->aside = true;
	return 0;
}

int gda_inproc_far_attach(struct gda_inproc_context *ctx, u32 handle,
			  struct gda_inproc_copier *copier)
{
	struct gda_inproc_qp *qp;
	int err = gda_inproc_enter(ctx);

	if (err)
		return err;
	qp = gda_inproc_qp_find(ctx, handle);
	if (!qp)
		err = -ENOENT;
	else if (qp->far)
		err = -EBUSY;
	else if (copier->cq && !qp->eqp.cq->collapsed)
		err = -EINVAL;
	if (!err) {
		gda_inproc_qp_unlink(qp);
		gda_inproc_sync();
		err = gda_far_attach(qp, copier);
		gda_inproc_qp_link(qp, qp->slot);
		gda_inproc_kick(ctx, qp->slot);
	}
	pthread_mutex_unlock(&ctx->lock);
	return err;
}

void gda_inproc_far_free(struct gda_inproc_far *far)
{
	if (!far)
		return;
	far->copier->ops->free(far->copier);
	free(far);
}
