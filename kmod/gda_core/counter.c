// SPDX-License-Identifier: GPL-2.0
/*
 * Completion counters: 64-bit cells that executors add to and user space only reads. A QP names its
 * counters when it is created, and they cannot be destroyed before it. Peers add through the QP,
 * under SRCU, so a counter's page is freed only after synchronize_srcu(). Of a counter with words
 * in memory of its creator the cell has the counts, too (engine/counter.h).
 */
#include <linux/slab.h>

#include "control/counters.h"
#include "gda_private.h"

static void gda_counter_kill(struct gda_object *obj)
{
	struct gda_counter *count = container_of(obj, struct gda_counter, obj);

	gda_cell_kill(obj->ctx->cnt, &count->cell);
}

static void gda_counter_free(struct gda_object *obj)
{
	struct gda_counter *count = container_of(obj, struct gda_counter, obj);

	gda_cell_free(&count->cell);
	obj->ctx->ncounter--;
	gda_stat_add(GDA_STAT_COUNTERS, -1);
	kfree(count);
}

static struct gda_region *gda_counter_region(struct gda_object *obj, u32 type, u32 *offset)
{
	struct gda_counter *count = container_of(obj, struct gda_counter, obj);

	return type == GDA_REGION_COUNTER ? gda_cell_region(&count->cell, offset) : NULL;
}

const struct gda_object_ops gda_counter_ops = {
	.kill = gda_counter_kill,
	.free = gda_counter_free,
	.region = gda_counter_region,
};

const struct gda_mem *gda_host_find_mem(void *ctx, u32 key)
{
	const struct gda_mr *mr = xa_load(&((struct gda_ctx *)ctx)->dev->keys, key >> 8);

	return mr ? &mr->mem : NULL;
}

/* The MRs of the words may be revoked at any time, and are not freed meanwhile. */
static int gda_counter_init(struct gda_ctx *ctx, struct gda_counter *count,
			    const struct gda_counter_create *cmd)
{
	int idx = gda_read_lock();
	int ret = gda_control_init_counter(&count->engine_counter, gda_cell_addr(&count->cell),
					   cmd, ctx);

	gda_read_unlock(idx);
	return ret;
}

struct gda_object *gda_counter_create(struct gda_ctx *ctx,
				      struct gda_counter_create *cmd)
{
	struct gda_counter *count;
	int ret;

	ret = gda_control_check_counter(cmd, ctx->dev->features);
	if (ret)
		return ERR_PTR(ret);
	if (ctx->ncounter >= ctx->dev->limits.max_counter)
		return ERR_PTR(-ENOSPC);
	count = kzalloc(sizeof(*count), GDA_GFP_USER);
	if (!count)
		return ERR_PTR(-ENOMEM);
	ret = gda_object_reserve(ctx, &count->obj, GDA_OBJECT_COUNTER);
	if (ret)
		goto err_kfree;
	ret = gda_cell_alloc(ctx, ctx->cnt, GDA_COUNTER_PAGES, GDA_CELL_COUNTER,
			     &count->cell);
	if (ret)
		goto err_handle;
	ret = gda_counter_init(ctx, count, cmd);
	if (ret)
		goto err_cell;
	ctx->ncounter++;
	gda_stat_add(GDA_STAT_COUNTERS, 1);
	gda_object_complete(&count->obj);

	cmd->handle = count->obj.handle;
	gda_region_info(count->cell.db_page->region, gda_cell_offset(&count->cell),
			&cmd->counter);
	return &count->obj;

err_cell:
	gda_cell_kill(ctx->cnt, &count->cell);
	gda_cell_free(&count->cell);
err_handle:
	gda_object_abort(&count->obj);
err_kfree:
	kfree(count);
	return ERR_PTR(ret);
}

void gda_host_find_counter(void *ctx, u32 handle, struct gda_control_part *part)
{
	struct gda_object *obj = gda_object_find(ctx, handle, GDA_OBJECT_COUNTER);

	if (!obj)
		return;
	part->users = &obj->users;
	part->counter = &container_of(obj, struct gda_counter, obj)->engine_counter;
}
