// SPDX-License-Identifier: MIT
/*
 * Queue pairs, as in kmod/gda_core/qp.c. A QP becomes visible to its worker when its
 * slot is filled, and to peers when its number is published; kill undoes both.
 */
#include <errno.h>
#include <stdlib.h>
#include "inproc.h"

static int gda_inproc_qp_memory(struct gda_inproc_context *ctx, struct gda_inproc_qp *qp)
{
	const struct gda_engine_qp *q = &qp->engine_qp;
	int err = gda_inproc_region_create(ctx, (u64)q->depth * q->dialect->slot_bytes,
					   GDA_MAP_RW, &qp->sq);

	if (err)
		return err;
	if (q->dialect->record)
		err = gda_inproc_cell_create(ctx, GDA_INPROC_RECORD, &qp->rec);
	if (err)
		goto err_sq;
	err = gda_inproc_cell_create(ctx, GDA_INPROC_DOORBELL, &qp->db);
	if (err)
		goto err_rec;
	return 0;

err_rec:
	gda_inproc_cell_destroy(ctx, &qp->rec);
err_sq:
	gda_inproc_region_destroy(ctx, qp->sq);
	return err;
}

static void gda_inproc_qp_memory_free(struct gda_inproc_context *ctx,
				      struct gda_inproc_qp *qp)
{
	gda_inproc_cell_destroy(ctx, &qp->db);
	gda_inproc_cell_destroy(ctx, &qp->rec);
	gda_inproc_region_destroy(ctx, qp->sq);
}

static void gda_inproc_qp_init_engine(struct gda_inproc_context *ctx,
				      struct gda_inproc_qp *qp)
{
	struct gda_engine_qp *q = &qp->engine_qp;

	q->sq = qp->sq->addr;
	q->dbrec = qp->rec.addr;
	q->db = qp->db.addr;
	gda_control_attach_parts(q, &qp->parts);
	q->pd = ctx;
	gda_engine_init(q);
}

/* Set the bit that tells the worker of @slot about its QP. Only this writes it, under ctx->lock. */
static void gda_inproc_qp_set_used(struct gda_inproc_context *ctx, u32 slot, bool used)
{
	unsigned long *word = &ctx->worker[slot % ctx->nworkers].used[slot / GDA_SWEEP_WORD];
	unsigned long bit = 1UL << slot % GDA_SWEEP_WORD;

	WRITE_ONCE(*word, used ? *word | bit : *word & ~bit);
}

void gda_inproc_qp_link(struct gda_inproc_qp *qp, u32 slot)
{
	struct gda_inproc_context *ctx = qp->obj.ctx;

	qp->slot = slot;
	/* pairs with the worker's pass: engine_qp is complete */
	smp_store_release(&ctx->slot[slot], qp);
	gda_inproc_qp_set_used(ctx, slot, true);
	if (slot >= ctx->nslots)
		WRITE_ONCE(ctx->nslots, slot + 1);
}

void gda_inproc_qp_unlink(struct gda_inproc_qp *qp)
{
	struct gda_inproc_context *ctx = qp->obj.ctx;

	/* pairs with the worker's acquire */
	smp_store_release(&ctx->slot[qp->slot], NULL);
	gda_inproc_qp_set_used(ctx, qp->slot, false);
	while (ctx->nslots && !ctx->slot[ctx->nslots - 1])
		WRITE_ONCE(ctx->nslots, ctx->nslots - 1);
}

/* Publish the QP to its worker and to peers. There are as many slots as QPs, so one is free. */
static void gda_inproc_qp_publish(struct gda_inproc_context *ctx, struct gda_inproc_qp *qp)
{
	u32 slot = 0;

	while (ctx->slot[slot])
		slot++;
	__atomic_fetch_add(&ctx->npolled, qp->polled, __ATOMIC_RELAXED);
	gda_inproc_qp_link(qp, slot);
	pthread_mutex_lock(&gda_inproc.peer_lock);
	gda_inproc_number_publish(qp);
	pthread_mutex_unlock(&gda_inproc.peer_lock);
	gda_inproc_kick(ctx, slot);
}

static void gda_inproc_qp_kill(struct gda_inproc_object *obj)
{
	struct gda_inproc_qp *qp = gda_inproc_of(obj, struct gda_inproc_qp, obj);
	struct gda_inproc_context *ctx = obj->ctx;

	pthread_mutex_lock(&gda_inproc.lock);
	pthread_mutex_lock(&gda_inproc.peer_lock);
	gda_inproc_number_erase(qp);
	pthread_mutex_unlock(&gda_inproc.peer_lock);
	pthread_mutex_unlock(&gda_inproc.lock);
	ctx->executor->qp_disconnect(qp);
	gda_inproc_qp_unlink(qp);
	__atomic_fetch_sub(&ctx->npolled, qp->polled, __ATOMIC_RELAXED);
}

static void gda_inproc_qp_free(struct gda_inproc_object *obj)
{
	struct gda_inproc_qp *qp = gda_inproc_of(obj, struct gda_inproc_qp, obj);

	if (qp->attached)
		qp->attached->free(qp->attached);
	if (obj->ctx->executor->qp_free)
		obj->ctx->executor->qp_free(qp);
	gda_inproc_qp_memory_free(obj->ctx, qp);
	gda_control_detach_parts(&qp->parts);
	gda_inproc_order_destroy(qp);
	free(qp->dead_leaf);
	free(qp);
}

static int gda_inproc_qp_region(struct gda_inproc_object *obj, u32 type,
				struct gda_region_info *info)
{
	const struct gda_inproc_qp *qp = gda_inproc_of(obj, struct gda_inproc_qp, obj);

	if (type == GDA_REGION_SQ)
		gda_inproc_region_info(qp->sq, 0, info);
	else if (type == GDA_REGION_DBREC && qp->rec.cells)
		gda_inproc_cell_info(&qp->rec, info);
	else if (type == GDA_REGION_DB)
		gda_inproc_cell_info(&qp->db, info);
	else
		return -ENOENT;
	return 0;
}

static const struct gda_inproc_object_ops gda_inproc_qp_ops = {
	.type = GDA_INPROC_QP,
	.max = GDA_INPROC_MAX_QP,
	.kill = gda_inproc_qp_kill,
	.free = gda_inproc_qp_free,
	.region = gda_inproc_qp_region,
};

static void gda_inproc_qp_respond(const struct gda_inproc_qp *qp, struct gda_qp_create *cmd)
{
	cmd->handle = qp->obj.handle;
	cmd->qpn = qp->engine_qp.qpn;
	gda_inproc_region_info(qp->sq, 0, &cmd->sq);
	gda_inproc_cell_info(&qp->rec, &cmd->dbrec);
	gda_inproc_cell_info(&qp->db, &cmd->db);
}

/* Allocate a QP with the executor's part behind it. */
static struct gda_inproc_qp *gda_inproc_qp_alloc(const struct gda_inproc_executor *executor)
{
	const size_t align = _Alignof(struct gda_inproc_qp);
	size_t bytes = (sizeof(struct gda_inproc_qp) + executor->qp_size + align - 1) & -align;
	struct gda_inproc_qp *qp = aligned_alloc(align, bytes);

	if (!qp)
		return NULL;
	memset(qp, 0, bytes);
	qp->executor = executor;
	qp->priv = executor->qp_size ? qp + 1 : NULL;
	qp->aside = executor->visit;
	return qp;
}

void gda_inproc_qp_attach(struct gda_inproc_qp *qp, const struct gda_inproc_executor *executor,
			  struct gda_inproc_attachment *attached)
{
	qp->executor = executor;
	qp->attached = attached;
	qp->aside = true;
}

int gda_inproc_qp_create(struct gda_inproc_context *ctx, struct gda_qp_create *cmd)
{
	const struct gda_dialect_ops *dialect;
	struct gda_inproc_qp *qp;
	int err;

	err = gda_control_check_qp(cmd, ctx->features, GDA_ENGINE_MAX_DEPTH, &dialect);
	if (!err)
		err = gda_inproc_object_room(ctx, &gda_inproc_qp_ops);
	if (err)
		return err;
	qp = gda_inproc_qp_alloc(ctx->executor);
	if (!qp)
		return -ENOMEM;
	err = gda_control_find_parts(&qp->parts, cmd, dialect, ctx);
	if (err)
		goto err_free;
	gda_control_init_qp(&qp->engine_qp, cmd, dialect);
	err = gda_inproc_qp_memory(ctx, qp);
	if (err)
		goto err_free;
	err = gda_inproc_order_create(ctx, qp);
	if (err)
		goto err_memory;
	qp->obj.ctx = ctx;
	err = gda_inproc_number_reserve(qp);
	if (err)
		goto err_order;
	gda_inproc_qp_init_engine(ctx, qp);
	/* peers count in the cell, and visits of this queue store the word */
	qp->polled = cmd->flags & GDA_QP_POLLED || gda_counter_has_words(qp->parts.recv.counter);
	err = ctx->executor->qp_create(qp);
	if (err)
		goto err_number;
	gda_inproc_object_add(ctx, &qp->obj, &gda_inproc_qp_ops);
	gda_inproc_qp_publish(ctx, qp);
	gda_inproc_qp_respond(qp, cmd);
	return 0;

err_number:
	gda_control_detach_parts(&qp->parts);
	pthread_mutex_lock(&gda_inproc.lock);
	gda_inproc_number_erase(qp);
	pthread_mutex_unlock(&gda_inproc.lock);
	/* a worker may be looking up a number in the leaf */
	if (qp->dead_leaf)
		gda_inproc_sync();
	free(qp->dead_leaf);
err_order:
	gda_inproc_order_destroy(qp);
err_memory:
	gda_inproc_qp_memory_free(ctx, qp);
err_free:
	free(qp);
	return err;
}

struct gda_inproc_qp *gda_inproc_qp_find(struct gda_inproc_context *ctx, u32 handle)
{
	struct gda_inproc_object *obj = gda_inproc_object_find(ctx, handle, GDA_INPROC_QP);

	return obj ? gda_inproc_of(obj, struct gda_inproc_qp, obj) : NULL;
}

int gda_inproc_qp_address(struct gda_inproc_context *ctx, struct gda_qp_address *cmd)
{
	struct gda_inproc_qp *qp = gda_inproc_qp_find(ctx, cmd->handle);

	if (!qp)
		return -ENOENT;
	ctx->executor->qp_address(qp, cmd->address);
	return 0;
}

int gda_inproc_qp_connect(struct gda_inproc_context *ctx, const struct gda_qp_connect *cmd)
{
	struct gda_inproc_qp *qp = gda_inproc_qp_find(ctx, cmd->handle);

	if (!qp)
		return -ENOENT;
	return ctx->executor->qp_connect(qp, cmd->address);
}

/* The thread that visits the queue may change the flight meanwhile. */
static u32 gda_inproc_in_flight(const struct gda_flight *f)
{
	u64 head;

	if (!f)
		return 0;
	/* load the head first: it may pass a tail that was loaded before it */
	head = smp_load_acquire(&f->head);
	return (u32)min(READ_ONCE(f->tail) - head, (u64)f->size);
}

int gda_inproc_qp_query(struct gda_inproc_context *ctx, struct gda_qp_query *cmd)
{
	struct gda_inproc_qp *qp = gda_inproc_qp_find(ctx, cmd->handle);
	const struct gda_inproc_worker *w;

	if (!qp)
		return -ENOENT;
	gda_control_query_qp(&qp->engine_qp, cmd);
	w = &ctx->worker[qp->slot % ctx->nworkers];
	cmd->peer = ctx->executor->qp_peer ? ctx->executor->qp_peer(qp) : 0;
	cmd->delayed = READ_ONCE(qp->rnr_until) != 0;
	cmd->in_flight = gda_inproc_in_flight(qp->flight);
	cmd->passes = READ_ONCE(w->passes);
	cmd->worker = READ_ONCE(w->asleep) ? GDA_QP_WORKER_SLEEPS : GDA_QP_WORKER_RUNS;
	return 0;
}
