// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pairs: a send queue, its record and doorbell, and the CQ it completes to.
 *
 * A QP becomes visible to its worker when its doorbell slot is filled, and to peers
 * when its number is published; both are undone by kill. The engine's part (eqp) is
 * touched by the owner's worker only, except state and fail (see connect.c).
 */
#include <linux/log2.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "gda_private.h"

/* Find what a QP will use; handle 0 means none. */
static int gda_qp_find_used(struct gda_ctx *ctx, const struct gda_qp_create *cmd,
			    struct gda_qp *qp)
{
	struct gda_object *cq = gda_object_find(ctx, cmd->cq, GDA_OBJECT_CQ);
	struct gda_object *recv_cq = gda_object_find(ctx, cmd->recv_cq, GDA_OBJECT_CQ);
	struct gda_object *sent = gda_object_find(ctx, cmd->sent_counter, GDA_OBJECT_COUNTER);
	struct gda_object *recv = gda_object_find(ctx, cmd->recv_counter, GDA_OBJECT_COUNTER);

	if (!cq || (cmd->recv_cq && !recv_cq) || (cmd->sent_counter && !sent) ||
	    (cmd->recv_counter && !recv))
		return -ENOENT;
	qp->cq = container_of(cq, struct gda_cq, obj);
	if (recv_cq)
		qp->recv_cq = container_of(recv_cq, struct gda_cq, obj);
	if (sent)
		qp->sent = container_of(sent, struct gda_count, obj);
	if (recv)
		qp->recv = container_of(recv, struct gda_count, obj);
	if (qp->recv_cq && qp->recv_cq->ecq.collapsed)
		return -EINVAL;
	return qp->cq->ecq.collapsed && cq->users ? -EBUSY : 0;
}

/* Count the QP in (@n 1) or out (@n -1) at everything it uses. */
static void gda_qp_use(struct gda_qp *qp, int n)
{
	qp->cq->obj.users += n;
	if (qp->recv_cq)
		qp->recv_cq->obj.users += n;
	if (qp->sent)
		qp->sent->obj.users += n;
	if (qp->recv)
		qp->recv->obj.users += n;
}

static int gda_qp_check(const struct gda_ctx *ctx, const struct gda_qp_create *cmd)
{
	if (cmd->reserved || cmd->reserved2 || cmd->dialect != GDA_DIALECT_MLX5)
		return -EOPNOTSUPP;
	if (!is_power_of_2(cmd->sq_depth) || cmd->sq_depth > GDA_MLX5_MAX_DEPTH)
		return -EINVAL;
	if (ctx->nqp >= GDA_MAX_QP)
		return -ENOSPC;
	return 0;
}

static void gda_qp_init_engine(struct gda_qp *qp, u32 depth)
{
	struct gda_eqp *q = &qp->eqp;

	q->dialect = &gda_dialect_mlx5;
	q->sq = qp->sq->kaddr;
	q->dbrec = gda_cell_addr(&qp->rec);
	q->db = gda_cell_addr(&qp->db);
	q->cq = &qp->cq->ecq;
	q->recv_cq = qp->recv_cq ? &qp->recv_cq->ecq : NULL;
	q->sent = qp->sent ? gda_cell_addr(&qp->sent->cell) : NULL;
	q->recv = qp->recv ? gda_cell_addr(&qp->recv->cell) : NULL;
	q->pd = qp->obj.ctx;
	q->depth = depth;
	q->state = GDA_QP_INIT;
}

static int gda_qp_alloc_memory(struct gda_ctx *ctx, struct gda_qp *qp, u32 depth)
{
	unsigned int npages = DIV_ROUND_UP(depth * GDA_MLX5_SLOT_BYTES, PAGE_SIZE);
	int ret;

	qp->sq = gda_region_create(ctx, npages, GDA_MAP_RW, NULL);
	if (IS_ERR(qp->sq))
		return PTR_ERR(qp->sq);
	ret = gda_cell_alloc(ctx, ctx->rec, GDA_REC_PAGES, GDA_CELL_RECORD, &qp->rec);
	if (ret)
		goto err_sq;
	ret = gda_cell_alloc(ctx, ctx->db, GDA_CELL_PAGES, GDA_CELL_DOORBELL, &qp->db);
	if (ret)
		goto err_rec;
	return 0;

err_rec:
	gda_cell_kill(ctx->rec, &qp->rec);
	gda_cell_free(&qp->rec);
err_sq:
	gda_region_revoke(qp->sq);
	gda_region_put(qp->sq);
	return ret;
}

/*
 * Show the queue to the worker. Nothing can be pending yet but what user space stores
 * from now on, and then it faults or the page is active already.
 */
static void gda_qp_publish(struct gda_object *obj)
{
	struct gda_qp *qp = container_of(obj, struct gda_qp, obj);

	/* pairs with READ_ONCE in the worker: the engine's part is complete */
	smp_store_release(&qp->db.cells->qps[qp->db.slot], qp);
	if (qp->polled)
		gda_doorbell_poll(qp->db.cells->region, 1);
}

static void gda_qp_kill(struct gda_object *obj)
{
	struct gda_qp *qp = container_of(obj, struct gda_qp, obj);
	struct gda_ctx *ctx = obj->ctx;

	gda_qp_disconnect(qp);
	if (qp->polled && obj->published)
		gda_doorbell_poll(qp->db.cells->region, -1);
	gda_cell_kill(ctx->db, &qp->db);
	gda_cell_kill(ctx->rec, &qp->rec);
	gda_region_revoke(qp->sq);
}

static void gda_qp_free(struct gda_object *obj)
{
	struct gda_qp *qp = container_of(obj, struct gda_qp, obj);

	gda_cell_free(&qp->db);
	gda_cell_free(&qp->rec);
	gda_region_put(qp->sq);
	gda_qp_use(qp, -1);
	obj->ctx->nqp--;
	gda_stat_add(GDA_STAT_QPS, -1);
	kfree(qp);
}

const struct gda_object_ops gda_qp_ops = {
	.publish = gda_qp_publish,
	.kill = gda_qp_kill,
	.free = gda_qp_free,
};

static void gda_qp_answer(const struct gda_qp *qp, struct gda_qp_create *cmd)
{
	cmd->handle = qp->obj.handle;
	cmd->qpn = qp->eqp.qpn;
	gda_region_info(qp->sq, 0, &cmd->sq);
	gda_region_info(qp->rec.cells->region, gda_cell_offset(&qp->rec), &cmd->dbrec);
	gda_region_info(qp->db.cells->region, gda_cell_offset(&qp->db), &cmd->db);
}

/* A number on the device. No peer can name it before it got the nonce. */
static int gda_qp_alloc_number(struct gda_device *dev, struct gda_qp *qp)
{
	u32 qpn;
	int ret;

	ret = xa_alloc_cyclic(&dev->qps, &qpn, qp, XA_LIMIT(1, 0xffffff), &dev->next_qpn,
			      GFP_KERNEL_ACCOUNT);
	if (ret < 0)
		return gda_cyclic_error(ret);
	qp->eqp.qpn = qpn;
	/* the engine keeps a copy in what it completes with */
	gda_engine_init(&qp->eqp);
	return 0;
}

struct gda_object *gda_qp_create(struct gda_ctx *ctx, struct gda_qp_create *cmd)
{
	struct gda_qp *qp;
	int ret;

	ret = gda_qp_check(ctx, cmd);
	if (ret)
		return ERR_PTR(ret);
	qp = kzalloc(sizeof(*qp), GFP_KERNEL_ACCOUNT);
	if (!qp)
		return ERR_PTR(-ENOMEM);
	ret = gda_qp_find_used(ctx, cmd, qp);
	if (ret)
		goto err_kfree;
	qp->polled = cmd->flags & GDA_QP_POLLED;
	qp->nonce = get_random_u64();
	INIT_LIST_HEAD(&qp->suitors);
	INIT_LIST_HEAD(&qp->suit);
	ret = gda_object_reserve(ctx, &qp->obj, GDA_OBJECT_QP);
	if (ret)
		goto err_kfree;
	ret = gda_qp_alloc_memory(ctx, qp, cmd->sq_depth);
	if (ret)
		goto err_handle;
	gda_qp_init_engine(qp, cmd->sq_depth);
	gda_qp_use(qp, 1);
	ctx->nqp++;
	gda_stat_add(GDA_STAT_QPS, 1);
	gda_object_complete(&qp->obj);

	ret = gda_qp_alloc_number(ctx->dev, qp);
	if (ret) {
		gda_object_discard(&qp->obj);
		return ERR_PTR(ret);
	}
	gda_qp_answer(qp, cmd);
	return &qp->obj;

err_handle:
	gda_object_abort(&qp->obj);
err_kfree:
	kfree(qp);
	return ERR_PTR(ret);
}

static struct gda_qp *gda_qp_find(struct gda_ctx *ctx, u32 handle)
{
	struct gda_object *obj = gda_object_find(ctx, handle, GDA_OBJECT_QP);

	return obj ? container_of(obj, struct gda_qp, obj) : NULL;
}

int gda_qp_address(struct gda_ctx *ctx, struct gda_qp_address *cmd)
{
	struct gda_qp *qp;

	if (cmd->reserved)
		return -EOPNOTSUPP;
	qp = gda_qp_find(ctx, cmd->handle);
	if (!qp)
		return -ENOENT;
	gda_qp_encode_address(qp, cmd->address);
	return 0;
}

int gda_qp_query(struct gda_ctx *ctx, struct gda_qp_query *cmd)
{
	const struct gda_eqp *q;
	struct gda_qp *qp;

	qp = gda_qp_find(ctx, cmd->handle);
	if (!qp)
		return -ENOENT;
	q = &qp->eqp;
	/* pairs with the engine: who sees the error sees why */
	cmd->state = smp_load_acquire(&q->state);
	cmd->syndrome = READ_ONCE(q->first.syndrome);
	cmd->vendor = READ_ONCE(q->first.vendor);
	cmd->sq_depth = q->depth;
	cmd->qpn = q->qpn;
	cmd->error_index = READ_ONCE(q->first_error);
	cmd->consumer = READ_ONCE(q->ci);
	cmd->producer = READ_ONCE(q->pi);
	cmd->executed = READ_ONCE(q->executed);
	cmd->flushed = READ_ONCE(q->flushed);
	cmd->bytes = READ_ONCE(q->bytes);
	return 0;
}
