// SPDX-License-Identifier: MIT
/*
 * Calls of gda/ioctl.h on the device of a context. The files of all objects call this one, which
 * calls none of them.
 */
#include "gda_internal.h"

int gda_ioctl(const struct gda_context *ctx, unsigned long request, void *arg)
{
	return ctx->ops->ioctl(ctx, request, arg);
}

int gda_destroy_handle(const struct gda_context *ctx, uint32_t handle)
{
	struct gda_destroy arg = { .size = sizeof(arg), .handle = handle };

	return gda_ioctl(ctx, GDA_IOC_DESTROY, &arg);
}
