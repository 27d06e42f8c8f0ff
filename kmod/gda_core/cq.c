// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queues. The entries are written under cq->lock by whichever worker has
 * a completion for it, from a private producer index, and never read back. User
 * space maps them read-only unless it asked otherwise.
 *
 * A collapsed CQ serves one QP; a ring serves any number and has a consumer index
 * record, user-written and trusted only as far as the overflow check.
 */
#include <linux/eventfd.h>
#include <linux/slab.h>

#include "gda_private.h"

static int gda_cq_check(const struct gda_ctx *ctx, const struct gda_cq_create *cmd)
{
	if (cmd->reserved)
		return -EOPNOTSUPP;
	if (!is_power_of_2(cmd->depth) || cmd->depth > GDA_MAX_CQ_DEPTH)
		return -EINVAL;
	if ((cmd->flags & GDA_CQ_COLLAPSED) && cmd->depth != 1)
		return -EINVAL;
	if (ctx->ncq >= GDA_MAX_CQ)
		return -ENOSPC;
	return 0;
}

static int gda_cq_alloc_memory(struct gda_ctx *ctx, struct gda_cq *cq,
			       const struct gda_cq_create *cmd)
{
	u32 map = cmd->flags & GDA_CQ_WRITABLE ? GDA_MAP_RW : GDA_MAP_RO;
	int ret;

	cq->region = gda_region_create(ctx, DIV_ROUND_UP(cmd->depth * 64, PAGE_SIZE),
				       map, NULL);
	if (IS_ERR(cq->region))
		return PTR_ERR(cq->region);
	cq->ecq.entries = cq->region->kaddr;
	cq->ecq.depth = cmd->depth;
	cq->ecq.collapsed = cmd->flags & GDA_CQ_COLLAPSED;
	if (!cq->ecq.collapsed) {
		ret = gda_cell_alloc(ctx, ctx->rec, GDA_REC_PAGES, GDA_CELL_RECORD,
				     &cq->rec);
		if (ret) {
			gda_region_revoke(cq->region);
			gda_region_put(cq->region);
			return ret;
		}
		cq->ecq.consumer = gda_cell_addr(&cq->rec);
	}
	gda_cq_init(&cq->ecq);
	return 0;
}

static void gda_cq_kill(struct gda_object *obj)
{
	struct gda_cq *cq = container_of(obj, struct gda_cq, obj);
	struct gda_ctx *ctx = obj->ctx;

	xa_erase(&ctx->dev->cqns, cq->cqn);
	gda_region_revoke(cq->region);
	if (!cq->ecq.collapsed)
		gda_cell_kill(ctx->rec, &cq->rec);
}

static void gda_cq_free(struct gda_object *obj)
{
	struct gda_cq *cq = container_of(obj, struct gda_cq, obj);

	if (!cq->ecq.collapsed)
		gda_cell_free(&cq->rec);
	gda_region_put(cq->region);
	if (cq->event)
		eventfd_ctx_put(cq->event);
	obj->ctx->ncq--;
	gda_stat_add(GDA_STAT_CQS, -1);
	kfree(cq);
}

const struct gda_object_ops gda_cq_ops = {
	.kill = gda_cq_kill,
	.free = gda_cq_free,
};

struct gda_object *gda_cq_create(struct gda_ctx *ctx, struct gda_cq_create *cmd)
{
	struct gda_cq *cq;
	int ret;

	ret = gda_cq_check(ctx, cmd);
	if (ret)
		return ERR_PTR(ret);
	cq = kzalloc(sizeof(*cq), GFP_KERNEL_ACCOUNT);
	if (!cq)
		return ERR_PTR(-ENOMEM);
	spin_lock_init(&cq->lock);
	ret = gda_object_reserve(ctx, &cq->obj, GDA_OBJECT_CQ);
	if (ret)
		goto err_kfree;
	ret = gda_cq_alloc_memory(ctx, cq, cmd);
	if (ret)
		goto err_handle;
	ret = xa_alloc_cyclic(&ctx->dev->cqns, &cq->cqn, cq, XA_LIMIT(1, 0xffffff),
			      &ctx->dev->next_cqn, GFP_KERNEL_ACCOUNT);
	ret = gda_cyclic_error(ret);
	if (ret)
		goto err_memory;
	ctx->ncq++;
	gda_stat_add(GDA_STAT_CQS, 1);
	gda_object_complete(&cq->obj);

	cmd->handle = cq->obj.handle;
	cmd->cqn = cq->cqn;
	gda_region_info(cq->region, 0, &cmd->cq);
	memset(&cmd->dbrec, 0, sizeof(cmd->dbrec));
	if (!cq->ecq.collapsed)
		gda_region_info(cq->rec.cells->region, gda_cell_offset(&cq->rec),
				&cmd->dbrec);
	return &cq->obj;

err_memory:
	gda_region_revoke(cq->region);
	gda_region_put(cq->region);
	if (!cq->ecq.collapsed) {
		gda_cell_kill(ctx->rec, &cq->rec);
		gda_cell_free(&cq->rec);
	}
err_handle:
	gda_object_abort(&cq->obj);
err_kfree:
	kfree(cq);
	return ERR_PTR(ret);
}

int gda_cq_event(struct gda_ctx *ctx, struct gda_cq_event *cmd)
{
	struct eventfd_ctx *event = NULL;
	struct gda_object *obj;
	struct gda_cq *cq;

	if (hweight32(cmd->flags) > 1)
		return -EINVAL;
	obj = gda_object_find(ctx, cmd->handle, GDA_OBJECT_CQ);
	if (!obj)
		return -ENOENT;
	cq = container_of(obj, struct gda_cq, obj);
	if (cmd->eventfd < -1 || (cmd->eventfd == -1 && cmd->flags && !cq->event))
		return -EINVAL;
	if (cmd->eventfd >= 0) {
		event = eventfd_ctx_fdget(cmd->eventfd);
		if (IS_ERR(event))
			return PTR_ERR(event);
	}
	spin_lock(&cq->lock);
	if (event)
		swap(cq->event, event);
	cq->armed = cmd->flags;
	spin_unlock(&cq->lock);
	if (event)
		eventfd_ctx_put(event);
	return 0;
}
