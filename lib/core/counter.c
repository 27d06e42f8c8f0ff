// SPDX-License-Identifier: MIT
/*
 * Completion counters: create them, map them read-only, attach them to QPs. A counter may also have
 * words in MRs of the program (struct gda_counter_attr), which the executor finds by their keys.
 */
#include <errno.h>
#include <stdlib.h>
#include "gda_internal.h"

static struct gda_counter_memory gda_counter_word(const struct gda_mr *mr, uint64_t offset)
{
	return (struct gda_counter_memory){ .addr = mr->iova + offset, .key = mr->key };
}

static int gda_counter_make(struct gda_context *ctx, const struct gda_counter_attr *attr,
			    struct gda_counter **count)
{
	struct gda_counter_create arg = {
		.size = sizeof(arg), .flags = attr->flags, .ops = attr->ops,
		.first_value = attr->first_value, .first_errors = attr->first_errors,
	};
	struct gda_counter *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return -ENOMEM;
	if (attr->value_mr) {
		arg.flags |= GDA_COUNTER_VALUE_MEMORY;
		arg.value_memory = gda_counter_word(attr->value_mr, attr->value_offset);
	}
	if (attr->errors_mr) {
		arg.flags |= GDA_COUNTER_ERRORS_MEMORY;
		arg.errors_memory = gda_counter_word(attr->errors_mr, attr->errors_offset);
	}
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
	const struct gda_counter_attr attr = { 0 };
	int err = gda_counter_make(ctx, &attr, count);

	if (err)
		gda_why_counter(ctx, err, &attr);
	return gda_called(err, "gda_counter_create", "fd %d", ctx->fd);
}

/* Check what the device does not see. */
static int gda_counter_check(const struct gda_context *ctx, const struct gda_counter_attr *attr)
{
	if (attr->reserved || attr->flags & ~GDA_COUNTER_WRAP31)
		return gda_because(-EOPNOTSUPP,
				   "flags or reserved has unknown bits: clear them, or install a newer libgda");
	if ((attr->value_mr && attr->value_mr->ctx != ctx) ||
	    (attr->errors_mr && attr->errors_mr->ctx != ctx))
		return gda_because(-EINVAL,
				   "value_mr or errors_mr is of another context: use one context");
	if ((!attr->value_mr && attr->value_offset) || (!attr->errors_mr && attr->errors_offset))
		return gda_because(-EINVAL, "an offset has no MR: set it to 0, or pass the MR");
	return 0;
}

GDA_EXPORT int gda_counter_create_attr(struct gda_context *ctx,
				       const struct gda_counter_attr *attr,
				       struct gda_counter **count)
{
	struct gda_counter_attr a = { 0 };
	int err = gda_struct_read(&a, sizeof(a), GDA_THROUGH(struct gda_counter_attr, first_errors),
				  attr);

	if (!err)
		err = gda_counter_check(ctx, &a);
	if (!err) {
		err = gda_counter_make(ctx, &a, count);
		if (err)
			gda_why_counter(ctx, err, &a);
	}
	return gda_called(err, "gda_counter_create_attr", "fd %d, flags %#x, ops %#x%s%s", ctx->fd,
			  a.flags, a.ops, a.value_mr ? ", value_mr" : "",
			  a.errors_mr ? ", errors_mr" : "");
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
