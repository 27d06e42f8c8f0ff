// SPDX-License-Identifier: GPL-2.0
/*
 * CQs of clients that continue in other memory, with another depth. The last entry in the old
 * memory says so; the consumer, and nobody else, copies the entries that it has not read.
 *
 * The new memory is pinned under no lock. Entries are accessed under cq->lock: once the CQ was
 * switched under that lock, nobody uses the old memory any more, and it is given back at once.
 */
#include <linux/log2.h>
#include <linux/slab.h>

#include "gda_private.h"

/* Nobody takes the memory of a process away from a CQ: it is pinned. */
static void gda_resize_revoke(struct gda_umem *umem)
{
}

/* Return: the CQ, if it can be resized to @attr; or an error. */
static struct gda_cq *gda_resize_find(struct gda_ctx *ctx, u32 handle,
				      const struct gda_client_cq_attr *attr)
{
	struct gda_object *obj = gda_object_find(ctx, handle, GDA_OBJECT_CQ);
	struct gda_cq *cq;

	if (READ_ONCE(ctx->dead))
		return ERR_PTR(-ENODEV);
	if (!obj)
		return ERR_PTR(-ENOENT);
	cq = container_of(obj, struct gda_cq, obj);
	if (cq->region || !cq->engine_cq.dialect->move)
		return ERR_PTR(-EOPNOTSUPP);
	if (!attr->entries || attr->wide != cq->engine_cq.wide || !is_power_of_2(attr->depth) ||
	    attr->depth > ctx->dev->limits.max_cq_depth)
		return ERR_PTR(-EINVAL);
	return cq;
}

/* The old memory of the entries is left in @umem. */
static int gda_resize_switch(struct gda_cq *cq, struct gda_umem *umem,
			     const struct gda_client_cq_attr *attr)
{
	u32 bytes = cq->engine_cq.dialect->cqe_bytes;
	bool moved;
	int ret;

	umem->obj = &cq->obj;
	ret = gda_umem_insert(umem);
	if (ret)
		return ret;
	spin_lock(&cq->lock);
	gda_arm_look_at(cq);
	moved = !cq->lost && !cq->engine_cq.failed &&
		cq->engine_cq.dialect->move(&cq->engine_cq, umem->addr + attr->wide * bytes,
					    attr->depth);
	if (moved)
		gda_arm_moved(cq);
	/* it counts as an entry */
	if (moved && cq->awaited)
		gda_wait_pushed(cq);
	spin_unlock(&cq->lock);
	if (!moved)
		gda_umem_remove(umem);
	return moved ? 0 : -EINVAL;
}

/* Called under no lock. gda_resize_free() undoes it. */
static struct gda_umem *gda_resize_pin(const struct gda_client_cq_attr *attr, u32 bytes)
{
	struct gda_umem *umem = kzalloc(sizeof(*umem), GDA_GFP_USER);
	int ret;

	if (!umem)
		return ERR_PTR(-ENOMEM);
	gda_umem_init(umem, NULL, gda_resize_revoke);
	ret = gda_umem_get_user(umem, attr->entries, attr->depth * bytes << attr->wide, bytes);
	if (!ret)
		return umem;
	kfree(umem);
	return ERR_PTR(ret);
}

/* Frees nothing if @umem is NULL, as for a CQ that was never resized. */
void gda_resize_free(struct gda_umem *umem)
{
	if (!umem)
		return;
	gda_umem_put(umem);
	kfree(umem);
}

int gda_client_cq_resize(struct gda_ctx *ctx, u32 handle, const struct gda_client_cq_attr *attr)
{
	struct gda_umem *umem;
	struct gda_cq *cq;
	u32 bytes = 0;
	int ret;

	mutex_lock(&ctx->lock);
	cq = gda_resize_find(ctx, handle, attr);
	ret = PTR_ERR_OR_ZERO(cq);
	if (!ret)
		bytes = cq->engine_cq.dialect->cqe_bytes;
	mutex_unlock(&ctx->lock);
	if (ret)
		return ret;
	umem = gda_resize_pin(attr, bytes);
	if (IS_ERR(umem))
		return PTR_ERR(umem);
	mutex_lock(&ctx->lock);
	cq = gda_resize_find(ctx, handle, attr);
	ret = PTR_ERR_OR_ZERO(cq) ?: gda_resize_switch(cq, umem, attr);
	if (!ret) {
		swap(cq->resized, umem);
		/* the first time, the CQ's own umem */
		gda_umem_remove(umem ?: &cq->region_umem);
		if (!umem)
			gda_umem_put(&cq->region_umem);
	}
	mutex_unlock(&ctx->lock);
	gda_resize_free(umem);
	return ret;
}
GDA_EXPORT(gda_client_cq_resize);
