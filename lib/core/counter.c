// SPDX-License-Identifier: MIT
/*
 * Completion counters: create them, map them read-only, attach them to QPs.
 */
#include <errno.h>
#include <stdlib.h>
#include "gda_internal.h"

static int gda_counter_make(struct gda_context *ctx, struct gda_counter **count)
{
	struct gda_counter_create arg = { .size = sizeof(arg) };
	struct gda_counter *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return -ENOMEM;
	err = gda_ioctl(ctx, GDA_IOC_COUNTER_CREATE, &arg);
	if (err)
		goto err_free;
	c->ctx = ctx;
	c->handle = arg.handle;
	err = gda_region_get(ctx, &arg.counter, &c->region, &c->memory);
	if (err)
		goto err_destroy;
	*count = c;
	return 0;

err_destroy:
	gda_destroy_handle(ctx, c->handle);
err_free:
	free(c);
	return err;
}

GDA_EXPORT int gda_counter_create(struct gda_context *ctx, struct gda_counter **count)
{
	int err = gda_counter_make(ctx, count);

	if (err)
		gda_why_counter(ctx, err);
	return gda_called(err, "gda_counter_create", "fd %d", ctx->fd);
}

GDA_EXPORT int gda_counter_destroy(struct gda_counter *count)
{
	uint32_t handle;
	int err;

	if (!count)
		return 0;
	handle = count->handle;
	err = gda_why_busy(gda_destroy_handle(count->ctx, handle));
	if (err != -EBUSY) {
		gda_region_put(count->ctx, count->region);
		free(count);
	}
	return gda_called(err, "gda_counter_destroy", "counter %u", handle);
}

GDA_EXPORT const struct gda_counter_mem *gda_counter_memory(const struct gda_counter *count)
{
	return count->memory;
}
