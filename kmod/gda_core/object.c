// SPDX-License-Identifier: GPL-2.0
/*
 * Handles and the life of objects.
 *
 * A handle is reserved first and published last: until gda_object_publish() no lookup finds the
 * object, so its creation can still fail. Between complete and publish the lock is dropped while
 * the answer is copied to user space; if the context is shut down in the meantime, the object is
 * destroyed with the others. After publish only destruction ends an object. It cannot fail: kill
 * (unlink the object from everything executors look at), wait for the executors, free.
 *
 * ctx->lock guards all of this.
 */
#include "gda_private.h"

static const struct gda_object_ops * const gda_object_ops[GDA_OBJECT_TYPES] = {
	[GDA_OBJECT_QP] = &gda_qp_ops,
	[GDA_OBJECT_CQ] = &gda_cq_ops,
	[GDA_OBJECT_COUNTER] = &gda_counter_ops,
	[GDA_OBJECT_MR] = &gda_mr_ops,
	[GDA_OBJECT_PEER] = &gda_peer_ops,
	[GDA_OBJECT_SRQ] = &gda_srq_ops,
	[GDA_OBJECT_UMEM] = &gda_umem_ops,
};

int gda_object_reserve(struct gda_ctx *ctx, struct gda_object *obj, u8 type)
{
	int ret;

	lockdep_assert_held(&ctx->lock);
	obj->ctx = ctx;
	obj->type = type;
	obj->published = false;
	obj->named = false;
	obj->users = 0;
	ret = gda_account_one(ctx, GDA_COUNT_OBJECTS);
	if (ret)
		return ret;
	ret = xa_alloc(&ctx->objects, &obj->handle, XA_ZERO_ENTRY, xa_limit_31b,
		       GDA_GFP_USER);
	if (ret)
		gda_unaccount_one(ctx, GDA_COUNT_OBJECTS);
	return ret;
}

/* No executor can find the object any more. */
static void gda_object_free(struct gda_object *obj)
{
	struct gda_ctx *ctx = obj->ctx;

	gda_object_ops[obj->type]->free(obj);
	gda_unaccount_one(ctx, GDA_COUNT_OBJECTS);
}

/* Undo gda_object_reserve(): creation failed. */
void gda_object_abort(struct gda_object *obj)
{
	lockdep_assert_held(&obj->ctx->lock);
	xa_erase(&obj->ctx->objects, obj->handle);
	gda_unaccount_one(obj->ctx, GDA_COUNT_OBJECTS);
}

/* The object is complete: from here on kill and free undo it. */
void gda_object_complete(struct gda_object *obj)
{
	void *old;

	lockdep_assert_held(&obj->ctx->lock);
	/* the index is reserved: this allocates nothing and cannot fail */
	old = xa_store(&obj->ctx->objects, obj->handle, obj, GDA_GFP_USER);
	WARN_ON_ONCE(old);
	if (obj->type != GDA_OBJECT_MR && obj->type != GDA_OBJECT_PEER)
		xa_set_mark(&obj->ctx->objects, obj->handle, GDA_OBJECT_FEW);
}

void gda_object_publish(struct gda_object *obj)
{
	const struct gda_object_ops *ops = gda_object_ops[obj->type];

	lockdep_assert_held(&obj->ctx->lock);
	if (ops->publish)
		ops->publish(obj);
	/* pairs with smp_load_acquire in netlink.c: the object is complete */
	smp_store_release(&obj->published, true);
	atomic_inc(&obj->ctx->generation);
}

struct gda_object *gda_object_find(struct gda_ctx *ctx, u32 handle, u8 type)
{
	struct gda_object *obj;

	lockdep_assert_held(&ctx->lock);
	obj = xa_load(&ctx->objects, handle);
	if (!obj || !obj->published || obj->type != type)
		return NULL;
	return obj;
}

/* Return: the region of type @type, or NULL if there is no such object or it has no such region. */
struct gda_region *gda_object_region(struct gda_ctx *ctx, u32 handle, u32 type, u32 *offset)
{
	struct gda_object *obj = xa_load(&ctx->objects, handle);

	lockdep_assert_held(&ctx->lock);
	*offset = 0;
	if (!obj || !obj->published || !gda_object_ops[obj->type]->region)
		return NULL;
	return gda_object_ops[obj->type]->region(obj, type, offset);
}

/* Undo a completed object, published or not. */
void gda_object_discard(struct gda_object *obj)
{
	const struct gda_object_ops *ops = gda_object_ops[obj->type];

	lockdep_assert_held(&obj->ctx->lock);
	xa_erase(&obj->ctx->objects, obj->handle);
	atomic_inc(&obj->ctx->generation);
	ops->kill(obj);
	synchronize_srcu_expedited(&gda_srcu);
	gda_object_free(obj);
}

int gda_object_destroy(struct gda_ctx *ctx, u32 handle)
{
	struct gda_object *obj;

	lockdep_assert_held(&ctx->lock);
	obj = xa_load(&ctx->objects, handle);
	if (!obj || !obj->published)
		return -ENOENT;
	if (obj->users)
		return -EBUSY;
	gda_object_discard(obj);
	return 0;
}

/*
 * Types are in the order of their dependencies: QPs before the CQs they use. Objects are in the
 * table until they are freed; readers do not look there once ctx->closed is set.
 */
void gda_object_destroy_all(struct gda_ctx *ctx)
{
	struct gda_object *obj;
	unsigned long handle;
	u8 type;

	lockdep_assert_held(&ctx->lock);
	if (xa_empty(&ctx->objects))
		return;
	xa_for_each(&ctx->objects, handle, obj) {
		gda_object_ops[obj->type]->kill(obj);
		cond_resched();
	}
	synchronize_srcu_expedited(&gda_srcu);
	for (type = 0; type < GDA_OBJECT_TYPES; type++) {
		xa_for_each(&ctx->objects, handle, obj) {
			if (obj->type != type)
				continue;
			xa_erase(&ctx->objects, handle);
			gda_object_free(obj);
			cond_resched();
		}
	}
}
