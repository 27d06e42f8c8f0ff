// SPDX-License-Identifier: MIT
/*
 * Contexts: an open file of /dev/gda, bound to a device. A context owns the mapped
 * regions of its objects (region.c); the objects point to it and do not outlive it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "gda_internal.h"

#define GDA_NODE "/dev/gda"

int gda_ioctl(const struct gda_context *ctx, unsigned long request, void *arg)
{
	int saved = errno;
	int err = ioctl(ctx->fd, request, arg) < 0 ? -errno : 0;

	errno = saved;
	return err;
}

int gda_destroy_handle(const struct gda_context *ctx, uint32_t handle)
{
	struct gda_destroy arg = { .size = sizeof(arg), .handle = handle };

	return gda_ioctl(ctx, GDA_IOC_DESTROY, &arg);
}

static int gda_context_open_node(struct gda_context *ctx)
{
	int saved = errno;
	int err = 0;

	ctx->fd = open(GDA_NODE, O_RDWR | O_CLOEXEC);
	if (ctx->fd < 0)
		err = -errno;
	errno = saved;
	return err;
}

static int gda_context_bind(struct gda_context *ctx, const char *device)
{
	struct gda_bind arg = { .size = sizeof(arg) };

	if (device) {
		if (strlen(device) >= sizeof(arg.device))
			return -EINVAL;
		memcpy(arg.device, device, strlen(device));
	}
	return gda_ioctl(ctx, GDA_IOC_BIND, &arg);
}

GDA_EXPORT int gda_open(const char *device, struct gda_context **ctx)
{
	struct gda_context *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return -ENOMEM;
	err = gda_context_open_node(c);
	if (err)
		goto err_free;
	err = gda_context_bind(c, device);
	if (err)
		goto err_close;
	pthread_mutex_init(&c->lock, NULL);
	*ctx = c;
	return 0;

err_close:
	close(c->fd);
err_free:
	free(c);
	return err;
}

GDA_EXPORT void gda_close(struct gda_context *ctx)
{
	if (!ctx)
		return;
	/* mappings hold the file open: without this the kernel would keep it all */
	gda_region_drop_all(ctx);
	close(ctx->fd);
	pthread_mutex_destroy(&ctx->lock);
	free(ctx);
}

GDA_EXPORT int gda_context_fd(const struct gda_context *ctx)
{
	return ctx->fd;
}

GDA_EXPORT int gda_context_query(struct gda_context *ctx, struct gda_query *query)
{
	struct gda_query arg = { .size = sizeof(arg) };
	int err = gda_ioctl(ctx, GDA_IOC_QUERY, &arg);

	if (!err)
		*query = arg;
	return err;
}

GDA_EXPORT int gda_context_shutdown(struct gda_context *ctx)
{
	struct gda_destroy arg = { .size = sizeof(arg), .flags = GDA_DESTROY_CONTEXT };

	return gda_ioctl(ctx, GDA_IOC_DESTROY, &arg);
}
