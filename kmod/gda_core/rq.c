// SPDX-License-Identifier: GPL-2.0
/*
 * Receive queues of a client's QPs: their entries lie in memory of the process. A receive queue
 * comes and goes with its QP, whose record counts what was posted; or it is an object that many QPs
 * share (an SRQ), which has a record of its own and is destroyed after them.
 */
#include <linux/slab.h>

#include "gda_private.h"

/* Nobody takes the memory of a process away from a queue: it is pinned. */
static void gda_rq_revoke(struct gda_umem *umem)
{
}

/* Called with no lock held: pinning waits. gda_umem_put() of its entries undoes it. */
static int gda_rq_init_memory(struct gda_rq *rq, struct gda_object *obj, u32 umem, u64 entries,
			      const struct gda_engine_rq *engine_rq)
{
	int ret;

	if (!engine_rq->dialect->posted)
		return -EOPNOTSUPP;
	if (engine_rq->depth > GDA_RECV_MAX_DEPTH || engine_rq->shift > GDA_RECV_MAX_SHIFT)
		return -EINVAL;
	spin_lock_init(&rq->lock);
	rq->engine_rq = *engine_rq;
	gda_umem_init(&rq->entries, obj, gda_rq_revoke);
	ret = gda_umem_get_at(&rq->entries, umem, entries, engine_rq->depth << engine_rq->shift,
			      1U << GDA_RECV_MIN_SHIFT);
	return ret || gda_umem_part_fixed(&rq->entries) ? ret : -EOPNOTSUPP;
}

/* As gda_rq_init_memory(). On failure gda_rq_free() undoes it. */
int gda_rq_create(struct gda_qp *qp, const struct gda_umem_addresses *user,
		  const struct gda_dialect_ops *dialect)
{
	const struct gda_engine_rq engine_rq = {
		.dialect = dialect,
		.depth = user->recv_depth,
		.shift = user->recv_shift,
	};
	int ret;

	if (!user->recv_depth)
		return 0;
	qp->rq = kzalloc(sizeof(*qp->rq), GDA_GFP_USER);
	if (!qp->rq)
		return -ENOMEM;
	ret = gda_rq_init_memory(qp->rq, &qp->obj, user->recv_umem, user->recv, &engine_rq);
	if (ret)
		return ret;
	qp->rq->engine_rq.entries = qp->rq->entries.addr;
	return gda_rq_init(&qp->rq->engine_rq) ? 0 : -EINVAL;
}

/* Called when the engine's part of the QP is filled in: give it the receive queue. */
void gda_rq_attach(struct gda_qp *qp)
{
	struct gda_engine_qp *q = &qp->engine_qp;

	if (!qp->rq)
		return;
	qp->rq->engine_rq.record = q->dbrec;
	qp->rq->engine_rq.pd = q->pd;
	q->rq = &qp->rq->engine_rq;
}

void gda_rq_free(struct gda_qp *qp)
{
	if (!qp->rq)
		return;
	gda_umem_put(&qp->rq->entries);
	kfree(qp->rq);
}

/* Only the QPs of the SRQ could find it, and they are gone. */
static void gda_srq_kill(struct gda_object *obj)
{
}

static void gda_srq_release(struct gda_srq *srq)
{
	gda_async_free(&srq->async);
	gda_umem_put(&srq->record);
	gda_umem_put(&srq->rq.entries);
	kfree(srq);
}

static void gda_srq_free(struct gda_object *obj)
{
	gda_srq_release(container_of(obj, struct gda_srq, obj));
}

const struct gda_object_ops gda_srq_ops = {
	.kill = gda_srq_kill,
	.free = gda_srq_free,
};

/* As gda_rq_init_memory(). On failure gda_srq_release() undoes it. */
static int gda_srq_init_memory(struct gda_srq *srq, const struct gda_client_srq_attr *attr)
{
	const struct gda_engine_rq engine_rq = {
		.dialect = gda_dialect_find(attr->dialect),
		.pd = attr->pd,
		.depth = attr->depth,
		.shift = attr->shift,
		.linked = true,
	};
	int ret;

	if (!engine_rq.dialect)
		return -EOPNOTSUPP;
	gda_umem_init(&srq->record, &srq->obj, gda_rq_revoke);
	ret = gda_rq_init_memory(&srq->rq, &srq->obj, 0, attr->entries, &engine_rq);
	ret = ret ?: gda_umem_get_user(&srq->record, attr->record, GDA_RECORD_BYTES,
				       GDA_RECORD_BYTES);
	if (ret)
		return ret;
	srq->rq.engine_rq.entries = srq->rq.entries.addr;
	srq->rq.engine_rq.record = srq->record.addr;
	return gda_rq_init(&srq->rq.engine_rq) ? 0 : -EINVAL;
}

struct gda_object *gda_srq_create(struct gda_ctx *ctx, const struct gda_client_srq_attr *attr)
{
	struct gda_srq *srq = kzalloc(sizeof(*srq), GDA_GFP_USER);
	int ret;

	if (!srq)
		return ERR_PTR(-ENOMEM);
	ret = gda_async_init(&srq->async, attr->event, attr->priv);
	ret = ret ?: gda_srq_init_memory(srq, attr);
	if (ret)
		goto err_free;
	ret = gda_ctx_lock(ctx);
	if (ret)
		goto err_free;
	ret = gda_object_reserve(ctx, &srq->obj, GDA_OBJECT_SRQ);
	if (!ret)
		gda_object_complete(&srq->obj);
	gda_ctx_unlock(ctx);
	if (ret)
		goto err_free;
	return &srq->obj;

err_free:
	gda_srq_release(srq);
	return ERR_PTR(ret);
}

/* Under ctx->lock, for a QP that is not published: have it take its receives from the SRQ. */
int gda_srq_attach(struct gda_qp *qp, u32 handle)
{
	struct gda_object *obj = gda_object_find(qp->obj.ctx, handle, GDA_OBJECT_SRQ);

	if (!obj)
		return -ENOENT;
	obj->users++;
	qp->srq = container_of(obj, struct gda_srq, obj);
	qp->engine_qp.rq = &qp->srq->rq.engine_rq;
	return 0;
}

void gda_srq_detach(struct gda_qp *qp)
{
	if (qp->srq)
		qp->srq->obj.users--;
}

/*
 * An SRQ that has fewer entries than its limit causes one event. If its owner sets the limit again,
 * there is no second event before an entry is taken: events that nobody reads are memory of the
 * kernel.
 */
static void gda_srq_look(struct gda_srq *srq)
{
	const struct gda_engine_rq *rq = &srq->rq.engine_rq;

	lockdep_assert_held(&srq->rq.lock);
	if (likely(!srq->limit) || srq->told || rq->dialect->posted(rq) >= srq->limit)
		return;
	WRITE_ONCE(srq->limit, 0);
	srq->told = true;
	gda_async_note(srq->obj.ctx, &srq->async, GDA_CLIENT_LIMIT);
}

/* An entry was to be taken. @taken is the result of gda_rq_take(). */
void gda_srq_taken(struct gda_rq *rq, int taken)
{
	struct gda_srq *srq = container_of(rq, struct gda_srq, rq);

	lockdep_assert_held(&rq->lock);
	if (taken > 0)
		srq->told = false;
	if (unlikely(taken < 0 && taken != -(int)GDA_FAIL_PEER))
		gda_async_note_once(srq->obj.ctx, &srq->async, GDA_CLIENT_FATAL);
	else
		gda_srq_look(srq);
}

/* 0: there is none. */
void gda_srq_set_limit(struct gda_srq *srq, u32 limit)
{
	spin_lock(&srq->rq.lock);
	WRITE_ONCE(srq->limit, limit);
	gda_srq_look(srq);
	spin_unlock(&srq->rq.lock);
}
