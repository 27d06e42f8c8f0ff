// SPDX-License-Identifier: MIT
/*
 * Completion counters: cells that the engine adds to and posters only read. A QP names its
 * counters at creation; a counter in use cannot be destroyed. Of a counter with words in memory of
 * the program the cell has the counts, too (engine/counter.h).
 */
#include <errno.h>
#include <stdlib.h>
#include "counters.h"
#include "inproc.h"

static void gda_inproc_counter_free(struct gda_inproc_object *obj)
{
	struct gda_inproc_counter *count = gda_inproc_of(obj, struct gda_inproc_counter, obj);

	gda_inproc_cell_destroy(obj->ctx, &count->cell);
	free(count);
}

static int gda_inproc_counter_region(struct gda_inproc_object *obj, u32 type,
				     struct gda_region_info *info)
{
	if (type != GDA_REGION_COUNTER)
		return -ENOENT;
	gda_inproc_cell_info(&gda_inproc_of(obj, struct gda_inproc_counter, obj)->cell, info);
	return 0;
}

static const struct gda_inproc_object_ops gda_inproc_counter_ops = {
	.type = GDA_INPROC_COUNT,
	.max = GDA_INPROC_MAX_COUNTER,
	.free = gda_inproc_counter_free,
	.region = gda_inproc_counter_region,
};

int gda_inproc_counter_create(struct gda_inproc_context *ctx, struct gda_counter_create *cmd)
{
	struct gda_inproc_counter *count;
	int err;

	err = gda_control_check_counter(cmd, ctx->features);
	if (!err)
		err = gda_inproc_object_room(ctx, &gda_inproc_counter_ops);
	if (err)
		return err;
	count = calloc(1, sizeof(*count));
	if (!count)
		return -ENOMEM;
	err = gda_inproc_cell_create(ctx, GDA_INPROC_COUNTER, &count->cell);
	if (err)
		goto err_free;
	/* MRs of the context are freed under ctx->lock, which is held */
	err = gda_control_init_counter(&count->engine_counter, count->cell.addr, cmd, ctx);
	if (err)
		goto err_cell;
	gda_inproc_object_add(ctx, &count->obj, &gda_inproc_counter_ops);
	cmd->handle = count->obj.handle;
	gda_inproc_cell_info(&count->cell, &cmd->counter);
	return 0;

err_cell:
	gda_inproc_cell_destroy(ctx, &count->cell);
err_free:
	free(count);
	return err;
}

const struct gda_mem *gda_host_find_mem(void *ctx, u32 key)
{
	(void)ctx;		/* this process has only one device */
	return gda_inproc_table_find(&gda_inproc.keys, key >> 8);
}

void gda_host_find_counter(void *ctx, u32 handle, struct gda_control_part *part)
{
	struct gda_inproc_object *obj = gda_inproc_object_find(ctx, handle, GDA_INPROC_COUNT);

	if (!obj)
		return;
	part->users = &obj->users;
	part->counter = &gda_inproc_of(obj, struct gda_inproc_counter, obj)->engine_counter;
}
