// SPDX-License-Identifier: GPL-2.0
/*
 * Umems that a client registers as a whole, as objects: queues lie at offsets in them. The memory
 * of a whole is pinned and charged once. A part has a gda_umem of its own, which refers to the
 * whole and takes no memory.
 *
 * The whole is destroyed after its parts. Its memory has a reference count all the same: a creation
 * that fails gives its parts back without a lock, when the context may have been shut down already.
 *
 * whole->lock guards @parts. A revocation goes through all parts, and so reaches each queue as if
 * the dma-buf were the queue's own.
 */
#include <linux/overflow.h>
#include <linux/refcount.h>
#include <linux/slab.h>

#include "gda_private.h"

struct gda_umem_whole {
	struct gda_object obj;
	struct gda_umem umem;
	bool dmabuf;
	refcount_t refs;		/* 1 for the object, and 1 for each part */
	spinlock_t lock;		/* guards the next two */
	unsigned int nparts;
	struct list_head parts;
};

/* The exporter's dma_resv is held. */
static void gda_umem_whole_revoked(struct gda_umem *umem)
{
	struct gda_umem_whole *whole = container_of(umem, struct gda_umem_whole, umem);
	struct gda_umem *part;

	spin_lock(&whole->lock);
	list_for_each_entry(part, &whole->parts, part) {
		WRITE_ONCE(part->revoked, true);
		part->revoked_cb(part);
	}
	spin_unlock(&whole->lock);
}

static void gda_umem_whole_put(struct gda_umem_whole *whole)
{
	if (!refcount_dec_and_test(&whole->refs))
		return;
	gda_umem_put(&whole->umem);
	kfree(whole);
}

/* Under ctx->lock. */
static struct gda_umem_whole *gda_umem_whole_find(struct gda_ctx *ctx, u32 handle)
{
	struct gda_object *obj = gda_object_find(ctx, handle, GDA_OBJECT_UMEM);

	return obj ? container_of(obj, struct gda_umem_whole, obj) : NULL;
}

/* Under ctx->lock. From here on a revocation finds the part. */
static int gda_umem_cut(struct gda_umem_whole *whole, struct gda_umem *umem, u64 offset,
			u32 length, u32 align)
{
	void *addr = whole->umem.addr + offset;
	int ret = 0;

	if (offset > whole->umem.length || length > whole->umem.length - offset)
		return -EINVAL;
	if (!IS_ALIGNED((unsigned long)addr, align))
		return -EINVAL;
	spin_lock(&whole->lock);
	if (READ_ONCE(whole->umem.revoked)) {
		ret = -EAGAIN;
	} else if (whole->dmabuf && whole->nparts >= GDA_CLIENT_UMEM_DMABUF_PARTS) {
		ret = -ENOSPC;
	} else {
		whole->nparts++;
		refcount_inc(&whole->refs);
		umem->whole = whole;
		umem->addr = addr;
		umem->length = length;
		list_add(&umem->part, &whole->parts);
	}
	spin_unlock(&whole->lock);
	return ret;
}

/*
 * As gda_umem_get_user(), for a umem whose ->obj is in a context. A whole that is not named cannot
 * have parts: its creation may still fail, and with a part it could not be undone.
 */
int gda_umem_get_part(struct gda_umem *umem, u32 handle, u64 offset, u32 length, u32 align)
{
	struct gda_ctx *ctx = umem->obj->ctx;
	struct gda_umem_whole *whole;
	int ret = gda_ctx_lock(ctx);

	if (ret)
		return ret;
	whole = gda_umem_whole_find(ctx, handle);
	ret = whole && whole->obj.named ? gda_umem_cut(whole, umem, offset, length, align) : -ENOENT;
	gda_ctx_unlock(ctx);
	return ret;
}

void gda_umem_put_part(struct gda_umem *umem)
{
	struct gda_umem_whole *whole = umem->whole;

	spin_lock(&whole->lock);
	list_del(&umem->part);
	whole->nparts--;
	spin_unlock(&whole->lock);
	umem->whole = NULL;
	umem->addr = NULL;
	gda_umem_whole_put(whole);
}

/* Return: whether nobody can take the memory away. */
bool gda_umem_part_fixed(const struct gda_umem *umem)
{
	return !umem->whole || !umem->whole->dmabuf;
}

/* Only parts of the whole could find it. */
static void gda_umem_kill(struct gda_object *obj)
{
}

static void gda_umem_free(struct gda_object *obj)
{
	gda_umem_whole_put(container_of(obj, struct gda_umem_whole, obj));
}

const struct gda_object_ops gda_umem_ops = {
	.kill = gda_umem_kill,
	.free = gda_umem_free,
};

/* Called with no lock held: pinning and attaching wait. */
static int gda_umem_whole_attach(struct gda_umem_whole *whole,
				 const struct gda_client_umem_attr *attr)
{
	const struct gda_queue_memory mem = { .offset = attr->addr, .fd = attr->fd };

	if (!attr->length ||
	    attr->length > (attr->dmabuf ? GDA_CLIENT_UMEM_DMABUF_MAX : GDA_CLIENT_UMEM_MAX))
		return -EINVAL;
	gda_umem_init(&whole->umem, &whole->obj, gda_umem_whole_revoked);
	whole->dmabuf = attr->dmabuf;
	if (attr->dmabuf)
		return gda_umem_get(&whole->umem, &mem, attr->length, 1);
	return gda_umem_get_user(&whole->umem, attr->addr, attr->length, 1);
}

static struct gda_umem_whole *gda_umem_whole_create(struct gda_ctx *ctx,
						    const struct gda_client_umem_attr *attr)
{
	struct gda_umem_whole *whole = kzalloc(sizeof(*whole), GDA_GFP_USER);
	int ret;

	if (!whole)
		return ERR_PTR(-ENOMEM);
	refcount_set(&whole->refs, 1);
	spin_lock_init(&whole->lock);
	INIT_LIST_HEAD(&whole->parts);
	ret = gda_umem_whole_attach(whole, attr);
	if (ret)
		goto err_put;
	ret = gda_ctx_lock(ctx);
	if (ret)
		goto err_put;
	ret = gda_object_reserve(ctx, &whole->obj, GDA_OBJECT_UMEM);
	if (!ret)
		gda_object_complete(&whole->obj);
	gda_ctx_unlock(ctx);
	if (ret)
		goto err_put;
	return whole;

err_put:
	gda_umem_whole_put(whole);
	return ERR_PTR(ret);
}

int gda_client_umem_reg(struct gda_ctx *ctx, const struct gda_client_umem_attr *attr)
{
	struct gda_umem_whole *whole = gda_umem_whole_create(ctx, attr);

	return IS_ERR(whole) ? PTR_ERR(whole) : gda_client_publish(ctx, &whole->obj, 0);
}
GDA_EXPORT(gda_client_umem_reg);

static bool gda_umem_whole_used(struct gda_umem_whole *whole)
{
	bool used;

	spin_lock(&whole->lock);
	used = !list_empty(&whole->parts);
	spin_unlock(&whole->lock);
	return used;
}

int gda_client_umem_dereg(struct gda_ctx *ctx, u32 handle)
{
	struct gda_umem_whole *whole;
	int ret = 0;

	mutex_lock(&ctx->lock);
	whole = gda_umem_whole_find(ctx, handle);
	/* parts are created under the lock: none is added any more */
	if (whole && gda_umem_whole_used(whole))
		ret = -EBUSY;
	else if (whole)
		gda_object_discard(&whole->obj);
	mutex_unlock(&ctx->lock);
	return ret;
}
GDA_EXPORT(gda_client_umem_dereg);
