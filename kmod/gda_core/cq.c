// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queues. Workers of any context write entries under cq->lock, at a private producer
 * index, and never read them back. User space maps them read-only unless it asked otherwise.
 *
 * A collapsed CQ serves one QP. A ring serves any number and has a record with the consumer's
 * index, which user space writes and only the overflow check reads.
 *
 * Entries and record may lie in memory of the caller (umem.c). They are accessed under
 * cq->lock, and not after ->lost is set.
 */
#include <linux/slab.h>

#include "gda_private.h"

/* How many entries to preset under cq->lock at a time, which bounds the wait of a revocation. */
#define GDA_CQ_PRESET	1024U

static int gda_cq_check(const struct gda_device *dev, const struct gda_cq_create *cmd,
			const struct gda_dialect_ops **dialect)
{
	int ret;

	ret = gda_control_check_cq(cmd, dev->features, dev->limits.max_cq_depth, dialect);
	ret = ret ?: gda_umem_check(&cmd->cq_memory, cmd->flags & GDA_CQ_DMABUF);
	return ret ?: gda_umem_check(&cmd->dbrec_memory, cmd->flags & GDA_CQ_DBREC_DMABUF);
}

static int gda_cq_alloc_entries(struct gda_ctx *ctx, struct gda_cq *cq,
				const struct gda_cq_create *cmd)
{
	u32 map = cmd->flags & GDA_CQ_WRITABLE ? GDA_MAP_RW : GDA_MAP_RO;
	struct gda_region *region;
	u32 bytes;

	if (cq->region_umem.addr) {
		cq->engine_cq.entries = cq->region_umem.addr +
					cq->engine_cq.wide * cq->engine_cq.dialect->cqe_at;
		return gda_umem_insert(&cq->region_umem);
	}
	bytes = cmd->depth * cq->engine_cq.dialect->cqe_bytes << cq->engine_cq.wide;
	region = gda_region_create(ctx, DIV_ROUND_UP(bytes, PAGE_SIZE), map, NULL);
	if (IS_ERR(region))
		return PTR_ERR(region);
	cq->region = region;
	cq->engine_cq.entries = region->kaddr + cq->engine_cq.wide * cq->engine_cq.dialect->cqe_at;
	return 0;
}

static int gda_cq_alloc_rec(struct gda_ctx *ctx, struct gda_cq *cq)
{
	int ret;

	if (!cq->engine_cq.dialect->record)
		return 0;
	if (cq->rec_umem.addr) {
		cq->engine_cq.consumer = cq->rec_umem.addr;
		ret = gda_umem_insert(&cq->rec_umem);
		return ret ?: gda_umem_clear(&cq->rec_umem);
	}
	ret = gda_cell_alloc(ctx, ctx->rec, GDA_REC_PAGES, GDA_CELL_RECORD, &cq->rec);
	if (!ret)
		cq->engine_cq.consumer = gda_cell_addr(&cq->rec);
	return ret;
}

static int gda_cq_preset(struct gda_cq *cq)
{
	const struct gda_dialect_ops *ops = cq->engine_cq.dialect;
	u32 i, n;

	for (i = 0; i < cq->engine_cq.depth; i += n) {
		struct gda_engine_cq part = {
			.dialect = ops,
			.entries = cq->engine_cq.entries +
				   ((size_t)i * ops->cqe_bytes << cq->engine_cq.wide),
			.depth = n = min(cq->engine_cq.depth - i, GDA_CQ_PRESET),
			.collapsed = cq->engine_cq.collapsed,
			.wide = cq->engine_cq.wide,
		};
		bool lost;

		spin_lock(&cq->lock);
		lost = cq->lost;
		if (!lost)
			gda_cq_init(&part);
		spin_unlock(&cq->lock);
		if (lost)
			return -EAGAIN;
		cond_resched();
	}
	return 0;
}

/* On failure gda_cq_kill_memory() and gda_cq_free_memory() undo it. */
static int gda_cq_alloc_memory(struct gda_ctx *ctx, struct gda_cq *cq,
			       const struct gda_cq_create *cmd)
{
	int ret;

	ret = gda_cq_alloc_entries(ctx, cq, cmd);
	if (!ret && !cq->engine_cq.collapsed)
		ret = gda_cq_alloc_rec(ctx, cq);
	/* user space may store to the record, but the engine ignores it */
	if (cmd->flags & GDA_CQ_IGNORE_OVERRUN)
		cq->engine_cq.consumer = NULL;
	return ret ?: gda_cq_preset(cq);
}

static void gda_cq_kill_memory(struct gda_ctx *ctx, struct gda_cq *cq)
{
	if (cq->region)
		gda_region_revoke(cq->region);
	if (cq->rec.db_page)
		gda_cell_kill(ctx->rec, &cq->rec);
	gda_umem_remove(&cq->rec_umem);
	gda_umem_remove(cq->resized ?: &cq->region_umem);
}

static void gda_cq_free_memory(struct gda_cq *cq)
{
	if (cq->rec.db_page)
		gda_cell_free(&cq->rec);
	if (cq->region)
		gda_region_put(cq->region);
	gda_umem_put(&cq->rec_umem);
	gda_umem_put(&cq->region_umem);
	gda_resize_free(cq->resized);
}

/* End all accesses to the memory. Wake the sleepers of an armed CQ: no completion will come. */
static void gda_cq_revoke(struct gda_umem *umem)
{
	struct gda_cq *cq = container_of(umem->obj, struct gda_cq, obj);

	spin_lock(&cq->lock);
	WRITE_ONCE(cq->lost, true);
	if (cq->armed)
		gda_event_note(cq);
	gda_wait_cq_lost(cq);
	spin_unlock(&cq->lock);
	/* orders ->lost before the search for QPs; pairs with smp_mb() in gda_qp_publish() */
	smp_mb();
	gda_qp_detach_cq(cq->obj.ctx, cq);
}

static void gda_cq_kill(struct gda_object *obj)
{
	struct gda_cq *cq = container_of(obj, struct gda_cq, obj);
	struct gda_ctx *ctx = obj->ctx;

	xa_erase(&ctx->cqs, cq->cqn);
	if (cq->arm.record)
		gda_arm_kill(cq);
	gda_wait_cq_gone(cq);
	xa_erase(&ctx->dev->qps, cq->cqn);
	gda_cq_kill_memory(ctx, cq);
}

static void gda_cq_free(struct gda_object *obj)
{
	struct gda_cq *cq = container_of(obj, struct gda_cq, obj);

	gda_cq_free_memory(cq);
	gda_event_detach(cq->event);
	gda_event_put(cq->event);
	gda_async_free(&cq->async);
	obj->ctx->ncq--;
	gda_stat_add(GDA_STAT_CQS, -1);
	kfree(cq);
}

static struct gda_region *gda_cq_region(struct gda_object *obj, u32 type, u32 *offset)
{
	struct gda_cq *cq = container_of(obj, struct gda_cq, obj);

	if (type == GDA_REGION_CQ)
		return cq->region;
	if (type == GDA_REGION_CQ_DBREC)
		return gda_cell_region(&cq->rec, offset);
	return NULL;
}

const struct gda_object_ops gda_cq_ops = {
	.kill = gda_cq_kill,
	.free = gda_cq_free,
	.region = gda_cq_region,
};

/* Attach memory of the caller, see gda_qp_borrow(). */
static int gda_cq_borrow(struct gda_ctx *ctx, struct gda_cq *cq,
			 const struct gda_cq_create *cmd, const struct gda_umem_addresses *user)
{
	const struct gda_dialect_ops *dialect;
	u32 bytes;
	int ret;

	gda_umem_init(&cq->region_umem, &cq->obj, gda_cq_revoke);
	gda_umem_init(&cq->rec_umem, &cq->obj, gda_cq_revoke);
	if (!user && !(cmd->flags & (GDA_CQ_DMABUF | GDA_CQ_DBREC_DMABUF)))
		return 0;
	ret = gda_ctx_lock(ctx);
	if (ret)
		return ret;
	gda_ctx_unlock(ctx);
	cq->obj.ctx = ctx;
	ret = gda_cq_check(ctx->dev, cmd, &dialect);
	bytes = ret ? 0 : dialect->cqe_bytes;
	if (!ret && user)
		return gda_umem_get_both(&cq->region_umem, &cq->rec_umem, user,
					 cmd->depth * bytes << user->wide, bytes);
	if (!ret && cmd->flags & GDA_CQ_DMABUF)
		ret = gda_umem_get(&cq->region_umem, &cmd->cq_memory,
				   cmd->depth * gda_control_cq_stride(cmd, dialect), bytes);
	if (!ret && cmd->flags & GDA_CQ_DBREC_DMABUF)
		ret = gda_umem_get(&cq->rec_umem, &cmd->dbrec_memory, GDA_RECORD_BYTES,
				   GDA_RECORD_BYTES);
	return ret;
}

/* On failure the caller has only the umems to free. */
static int gda_cq_build(struct gda_ctx *ctx, struct gda_cq *cq,
			const struct gda_cq_create *cmd, const struct gda_umem_addresses *user)
{
	const struct gda_dialect_ops *dialect;
	int ret;

	ret = gda_cq_check(ctx->dev, cmd, &dialect);
	if (!ret && cq->event && !dialect->arm)
		ret = -EOPNOTSUPP;
	if (!ret && ctx->ncq >= ctx->dev->limits.max_cq)
		ret = -ENOSPC;
	if (!ret)
		ret = gda_object_reserve(ctx, &cq->obj, GDA_OBJECT_CQ);
	if (ret)
		return ret;
	gda_control_init_cq(&cq->engine_cq, cmd, dialect);
	if (user)
		cq->engine_cq.wide = user->wide;
	ret = gda_cq_alloc_memory(ctx, cq, cmd);
	if (ret)
		goto err_memory;
	ret = gda_number_reserve(ctx->dev, &cq->cqn);
	if (ret)
		goto err_memory;
	if (cq->event)
		gda_arm_init(cq);
	/* the CQ is complete: queues of the context may name it from here on */
	ret = xa_insert(&ctx->cqs, cq->cqn, cq, GDA_GFP_USER);
	if (ret)
		goto err_number;
	if (cq->event)
		gda_arm_publish(cq);
	ctx->ncq++;
	gda_stat_add(GDA_STAT_CQS, 1);
	gda_object_complete(&cq->obj);
	return 0;

err_number:
	xa_erase(&ctx->dev->qps, cq->cqn);
err_memory:
	gda_cq_kill_memory(ctx, cq);
	gda_object_abort(&cq->obj);
	return ret;
}

static void gda_cq_answer(const struct gda_cq *cq, struct gda_cq_create *cmd)
{
	cmd->handle = cq->obj.handle;
	cmd->cqn = cq->cqn;
	memset(&cmd->cq, 0, sizeof(cmd->cq));
	if (cq->region)
		gda_region_info(cq->region, 0, &cmd->cq);
	memset(&cmd->dbrec, 0, sizeof(cmd->dbrec));
	if (cq->rec.db_page)
		gda_region_info(cq->rec.db_page->region, gda_cell_offset(&cq->rec),
				&cmd->dbrec);
}

/*
 * @user: addresses of entries and record in the calling process, or NULL. @event: the event that
 * the record arms, which the CQ then owns, or NULL.
 */
struct gda_object *gda_cq_create(struct gda_ctx *ctx, struct gda_cq_create *cmd,
				 const struct gda_umem_addresses *user, struct gda_event *event)
{
	struct gda_cq *cq;
	int ret;

	cq = kzalloc(sizeof(*cq), GDA_GFP_USER);
	if (!cq) {
		gda_event_put(event);
		return ERR_PTR(-ENOMEM);
	}
	spin_lock_init(&cq->lock);
	cq->event = event;
	ret = gda_cq_borrow(ctx, cq, cmd, user);
	if (ret)
		goto err_free;
	ret = gda_ctx_lock(ctx);
	if (ret)
		goto err_free;
	ret = gda_cq_build(ctx, cq, cmd, user);
	if (!ret)
		gda_cq_answer(cq, cmd);
	gda_ctx_unlock(ctx);
	if (ret)
		goto err_free;
	return &cq->obj;

err_free:
	gda_cq_free_memory(cq);
	gda_event_put(cq->event);
	kfree(cq);
	return ERR_PTR(ret);
}

void gda_host_find_cq(void *ctx, u32 handle, struct gda_control_part *part)
{
	struct gda_object *obj = gda_object_find(ctx, handle, GDA_OBJECT_CQ);

	if (!obj)
		return;
	part->users = &obj->users;
	part->cq = &container_of(obj, struct gda_cq, obj)->engine_cq;
}
