// SPDX-License-Identifier: MIT
/*
 * Handles and lifetime of objects, as in kmod/gda_core/object.c: an object gets its handle last,
 * when nothing can fail any more, and destruction cannot fail. A new handle is the lowest free
 * number from 1 up. All functions are called under ctx->lock.
 */
#include <errno.h>
#include <stdlib.h>
#include "inproc.h"

/* Return: the lowest free handle, or ctx->nhandles. */
static u32 gda_inproc_handle_free(const struct gda_inproc_context *ctx)
{
	u32 handle = ctx->full_below;

	while (handle < ctx->nhandles && ctx->objects[handle])
		handle++;
	return handle;
}

int gda_inproc_object_room(struct gda_inproc_context *ctx,
			   const struct gda_inproc_object_ops *ops)
{
	struct gda_inproc_object **objects;
	u32 more = ctx->nhandles ? ctx->nhandles * 2 : 16;

	if (ctx->count[ops->type] >= ops->max)
		return -ENOSPC;
	ctx->full_below = gda_inproc_handle_free(ctx);
	if (ctx->full_below < ctx->nhandles)
		return 0;
	objects = realloc(ctx->objects, more * sizeof(*objects));
	if (!objects)
		return -ENOMEM;
	memset(objects + ctx->nhandles, 0, (more - ctx->nhandles) * sizeof(*objects));
	ctx->objects = objects;
	ctx->nhandles = more;
	if (!ctx->full_below)
		ctx->full_below = 1;	/* 0 is never a handle */
	return 0;
}

void gda_inproc_object_add(struct gda_inproc_context *ctx, struct gda_inproc_object *obj,
			   const struct gda_inproc_object_ops *ops)
{
	obj->ctx = ctx;
	obj->ops = ops;
	obj->handle = gda_inproc_handle_free(ctx);
	ctx->objects[obj->handle] = obj;
	ctx->count[ops->type]++;
	__atomic_fetch_add(&gda_inproc.objects[ops->type], 1, __ATOMIC_RELAXED);
}

struct gda_inproc_object *gda_inproc_object_find(struct gda_inproc_context *ctx, u32 handle,
						 u32 type)
{
	struct gda_inproc_object *obj = handle < ctx->nhandles ? ctx->objects[handle] : NULL;

	return obj && (type == GDA_INPROC_TYPES || obj->ops->type == type) ? obj : NULL;
}

int gda_inproc_object_region(struct gda_inproc_context *ctx, u32 handle, u32 type,
			     struct gda_region_info *info)
{
	struct gda_inproc_object *obj = gda_inproc_object_find(ctx, handle, GDA_INPROC_TYPES);

	return obj && obj->ops->region ? obj->ops->region(obj, type, info) : -ENOENT;
}

static void gda_inproc_object_kill(struct gda_inproc_object *obj)
{
	if (obj->ops->kill)
		obj->ops->kill(obj);
}

static void gda_inproc_object_free(struct gda_inproc_object *obj)
{
	struct gda_inproc_context *ctx = obj->ctx;
	u32 type = obj->ops->type;

	ctx->objects[obj->handle] = NULL;
	ctx->full_below = min(ctx->full_below, obj->handle);
	ctx->count[type]--;
	__atomic_fetch_sub(&gda_inproc.objects[type], 1, __ATOMIC_RELAXED);
	obj->ops->free(obj);
}

int gda_inproc_object_destroy(struct gda_inproc_context *ctx, u32 handle)
{
	struct gda_inproc_object *obj = gda_inproc_object_find(ctx, handle, GDA_INPROC_TYPES);

	if (!obj)
		return -ENOENT;
	if (obj->users)
		return -EBUSY;
	gda_inproc_object_kill(obj);
	gda_inproc_sync();
	gda_inproc_object_free(obj);
	return 0;
}

void gda_inproc_object_destroy_all(struct gda_inproc_context *ctx)
{
	u32 handle, type;

	for (handle = 1; handle < ctx->nhandles; handle++) {
		struct gda_inproc_object *obj = ctx->objects[handle];

		if (obj)
			gda_inproc_object_kill(obj);
	}
	gda_inproc_sync();
	for (type = 0; type < GDA_INPROC_TYPES; type++)
		for (handle = 1; handle < ctx->nhandles; handle++)
			if (gda_inproc_object_find(ctx, handle, type))
				gda_inproc_object_free(ctx->objects[handle]);
}
