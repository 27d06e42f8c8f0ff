// SPDX-License-Identifier: MIT
/*
 * Contexts: an open device. A context owns the mapped regions of its objects
 * (region.c); the objects point to it and do not outlive it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "gda_internal.h"

static int gda_context_open(struct gda_context *ctx, const struct gda_device_ops *ops,
			    const char *device)
{
	ctx->ops = ops;
	return ops->open(ctx, device);
}

/*
 * Choose a device if the caller names none: the kernel's default device, else the in-process one.
 */
static int gda_context_choose(struct gda_context *ctx, const char *device)
{
	int err;

	if (!device)
		device = secure_getenv("GDA_DEVICE");
	if (device && *device && gda_inproc_has(device))
		return gda_context_open(ctx, &gda_device_inproc, device);
	if (device && *device)
		return gda_context_open(ctx, &gda_device_kernel, device);
	err = gda_context_open(ctx, &gda_device_kernel, "");
	/* no device node, or a stale one whose module is gone */
	if (err == -ENOENT || err == -ENXIO || err == -ENODEV) {
		gda_forget_reason();
		if (gda_debugging())
			gda_debug("gda_open: no device in /dev/gda: taking " GDA_DEVICE_INPROC
				  ", which reaches this process alone; with GDA_DEVICE="
				  GDA_DEVICE_SOFT " this is an error");
		err = gda_context_open(ctx, &gda_device_inproc, GDA_DEVICE_INPROC);
	}
	return err;
}

static int gda_context_new(const char *device, struct gda_context **ctx)
{
	struct gda_context *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return -ENOMEM;
	err = gda_fork_init();
	if (!err)
		err = gda_context_choose(c, device);
	if (err) {
		free(c);
		return err;
	}
	pthread_mutex_init(&c->lock, NULL);
	gda_fork_add_context(c);
	__atomic_fetch_add(&gda_contexts_open, 1, __ATOMIC_RELAXED);
	*ctx = c;
	return 0;
}

GDA_EXPORT int gda_open(const char *device, struct gda_context **ctx)
{
	return gda_called(gda_context_new(device, ctx), "gda_open", "%s",
			  device ? device : "NULL");
}

GDA_EXPORT void gda_close(struct gda_context *ctx)
{
	if (!ctx)
		return;
	gda_debug_remove(ctx, NULL);
	gda_waited_destroyed();
	gda_called(0, "gda_close", "fd %d", ctx->fd);
	/* mappings keep the file open, and with it all objects in the kernel */
	gda_region_drop_all(ctx);
	/* only now: a child of an earlier fork(2) still closes what it inherited of @ctx */
	gda_fork_remove_context(ctx);
	__atomic_fetch_sub(&gda_contexts_open, 1, __ATOMIC_RELAXED);
	ctx->ops->close(ctx);
	pthread_mutex_destroy(&ctx->lock);
	free(ctx);
}

GDA_EXPORT uint32_t gda_version(void)
{
	return GDA_VERSION;
}

GDA_EXPORT int gda_context_fd(const struct gda_context *ctx)
{
	return ctx->fd;
}

GDA_EXPORT int gda_context_query(struct gda_context *ctx, struct gda_query *query)
{
	struct gda_query arg = { .size = sizeof(arg) };
	int err = gda_struct_check(query, GDA_THROUGH(struct gda_query, device));

	if (!err) {
		arg.flags = query->flags;
		err = gda_ioctl(ctx, GDA_IOC_QUERY, &arg);
	}
	if (!err)
		gda_struct_write(query, &arg, sizeof(arg));
	return gda_called(err, "gda_context_query", "fd %d", ctx->fd);
}

GDA_EXPORT int gda_context_shutdown(struct gda_context *ctx)
{
	struct gda_destroy arg = { .size = sizeof(arg), .flags = GDA_DESTROY_CONTEXT };

	/* their errors cannot be queried any more */
	gda_debug_remove(ctx, NULL);
	return gda_called(gda_ioctl(ctx, GDA_IOC_DESTROY, &arg), "gda_context_shutdown", "fd %d",
			  ctx->fd);
}
