// SPDX-License-Identifier: MIT
/*
 * Completion counters: cells that the engine adds to and posters only read. A QP names its
 * counters at creation; a counter in use cannot be destroyed.
 */
#include <errno.h>
#include <stdlib.h>
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

	err = gda_inproc_object_room(ctx, &gda_inproc_counter_ops);
	if (err)
		return err;
	count = calloc(1, sizeof(*count));
	if (!count)
		return -ENOMEM;
	err = gda_inproc_cell_create(ctx, GDA_INPROC_COUNTER, &count->cell);
	if (err) {
		free(count);
		return err;
	}
	gda_inproc_object_add(ctx, &count->obj, &gda_inproc_counter_ops);
	cmd->handle = count->obj.handle;
	gda_inproc_cell_info(&count->cell, &cmd->counter);
	return 0;
}

void gda_host_find_counter(void *ctx, u32 handle, struct gda_control_part *part)
{
	struct gda_inproc_object *obj = gda_inproc_object_find(ctx, handle, GDA_INPROC_COUNT);

	if (!obj)
		return;
	part->users = &obj->users;
	part->counter = gda_inproc_of(obj, struct gda_inproc_counter, obj)->cell.addr;
}
