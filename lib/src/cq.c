// SPDX-License-Identifier: MIT
/*
 * Completion queues. The fast path reads collapsed ones; a ring is created and
 * mapped here, and read by whoever asked for it.
 */
#include <errno.h>
#include <stdlib.h>
#include "gda_internal.h"

GDA_EXPORT int gda_cq_create(struct gda_context *ctx, const struct gda_cq_attr *attr,
			     struct gda_cq **cq)
{
	struct gda_cq_create arg = {
		.size = sizeof(arg),
		.flags = attr->flags,
		.depth = attr->flags & GDA_CQ_COLLAPSED ? 1 : attr->depth,
	};
	struct gda_cq *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return -ENOMEM;
	err = gda_ioctl(ctx, GDA_IOC_CQ_CREATE, &arg);
	if (err)
		goto err_free;
	c->ctx = ctx;
	c->handle = arg.handle;
	c->flags = attr->flags;
	err = gda_region_get(ctx, &arg.cq, &c->region, &c->entries);
	if (err)
		goto err_destroy;
	*cq = c;
	return 0;

err_destroy:
	gda_destroy_handle(ctx, c->handle);
err_free:
	free(c);
	return err;
}

GDA_EXPORT int gda_cq_destroy(struct gda_cq *cq)
{
	int err;

	if (!cq)
		return 0;
	err = gda_destroy_handle(cq->ctx, cq->handle);
	if (err == -EBUSY)
		return err;
	/* any other error: the kernel has nothing of it any more */
	gda_region_put(cq->ctx, cq->region);
	free(cq);
	return err;
}

GDA_EXPORT int gda_cq_event(struct gda_cq *cq, int eventfd, uint32_t flags)
{
	struct gda_cq_event arg = {
		.size = sizeof(arg), .flags = flags, .handle = cq->handle, .eventfd = eventfd,
	};

	return gda_ioctl(cq->ctx, GDA_IOC_CQ_EVENT, &arg);
}
