// SPDX-License-Identifier: MIT
/*
 * Mapped regions. Doorbells and doorbell records of several QPs share a region, and the kernel then
 * returns the same cookie for them: a context maps each cookie once and counts its users. ctx->lock
 * guards the list and the counts.
 */
#include <errno.h>
#include <stdlib.h>
#include "gda_internal.h"

static struct gda_region *gda_region_find(struct gda_context *ctx, uint64_t cookie)
{
	struct gda_region *r = ctx->regions;

	while (r && r->cookie != cookie)
		r = r->next;
	return r;
}

static int gda_region_map(struct gda_context *ctx, const struct gda_region_info *info,
			  struct gda_region **region)
{
	struct gda_region *r = calloc(1, sizeof(*r));
	int saved = errno;
	int err;

	if (!r)
		return -ENOMEM;
	r->cookie = info->cookie;
	r->length = info->length;
	err = ctx->ops->map(ctx, info, &r->addr);
	errno = saved;
	if (err) {
		free(r);
		return err;
	}
	r->next = ctx->regions;
	ctx->regions = r;
	*region = r;
	return 0;
}

int gda_region_get(struct gda_context *ctx, const struct gda_region_info *info,
		   struct gda_region **region, void **part)
{
	struct gda_region *r;
	int err = 0;

	if (info->offset >= info->length)
		return -EPROTO;
	pthread_mutex_lock(&ctx->lock);
	r = gda_region_find(ctx, info->cookie);
	if (!r)
		err = gda_region_map(ctx, info, &r);
	if (!err) {
		r->users++;
		*region = r;
		*part = (char *)r->addr + info->offset;
	}
	pthread_mutex_unlock(&ctx->lock);
	return err;
}

int gda_place_get(struct gda_context *ctx, const struct gda_place *place,
		  const struct gda_region_info *info, struct gda_region **region,
		  void **part)
{
	if (!place)
		return gda_region_get(ctx, info, region, part);
	*part = place->addr;
	return 0;
}

int gda_place_read(const struct gda_place **place, struct gda_place *copy)
{
	int err;

	if (!*place)
		return 0;
	err = gda_struct_read(copy, sizeof(*copy), GDA_THROUGH(struct gda_place, addr), *place);
	*place = copy;
	return err;
}

struct gda_queue_memory gda_place_memory(const struct gda_place *place)
{
	struct gda_queue_memory mem = { 0 };

	if (place) {
		mem.fd = place->fd;
		mem.offset = place->offset;
	}
	return mem;
}

void gda_region_put(struct gda_context *ctx, struct gda_region *region)
{
	struct gda_region **link;

	if (!region)
		return;
	pthread_mutex_lock(&ctx->lock);
	if (--region->users == 0) {
		for (link = &ctx->regions; *link != region;)
			link = &(*link)->next;
		*link = region->next;
		ctx->ops->unmap(ctx, region->addr, region->length);
		free(region);
	}
	pthread_mutex_unlock(&ctx->lock);
}

static int gda_region_export(struct gda_context *ctx, const char *object, uint32_t handle,
			     uint32_t type, struct gda_exported *exported)
{
	struct gda_region_export arg = { .size = sizeof(arg), .handle = handle, .type = type };
	struct gda_exported answer = { .size = sizeof(answer) };
	int err = gda_struct_check(exported, GDA_THROUGH(struct gda_exported, length));

	if (err)
		return err;
	err = gda_ioctl(ctx, GDA_IOC_REGION_EXPORT, &arg);
	if (err)
		return gda_why_export(ctx, err, object, type);
	answer.fd = arg.fd;
	answer.offset = arg.offset;
	answer.length = arg.length;
	gda_struct_write(exported, &answer, sizeof(answer));
	return 0;
}

GDA_EXPORT int gda_qp_export(struct gda_qp *qp, uint32_t type, struct gda_exported *exported)
{
	return gda_called(gda_region_export(qp->ctx, "QP", qp->handle, type, exported),
			  "gda_qp_export", "QP %u, type %u", qp->handle, type);
}

GDA_EXPORT int gda_cq_export(struct gda_cq *cq, uint32_t type, struct gda_exported *exported)
{
	return gda_called(gda_region_export(cq->ctx, "CQ", cq->handle, type, exported),
			  "gda_cq_export", "CQ %u, type %u", cq->handle, type);
}

GDA_EXPORT int gda_counter_export(struct gda_counter *count, struct gda_exported *exported)
{
	return gda_called(gda_region_export(count->ctx, "counter", count->handle,
					    GDA_REGION_COUNTER, exported),
			  "gda_counter_export", "counter %u", count->handle);
}

void gda_region_drop_all(struct gda_context *ctx)
{
	struct gda_region *r;

	pthread_mutex_lock(&ctx->lock);
	while ((r = ctx->regions)) {
		ctx->regions = r->next;
		ctx->ops->unmap(ctx, r->addr, r->length);
		free(r);
	}
	pthread_mutex_unlock(&ctx->lock);
}
