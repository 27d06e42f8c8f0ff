// SPDX-License-Identifier: GPL-2.0
/*
 * Contexts of clients: modules that offer queues by an interface of their own (gda/client.h).
 *
 * Such a context has a file, as a context of /dev/gda has, but no descriptor: the client holds the
 * file, and so does each mapping. Its one region that can be mapped is the page of doorbells
 * (ctx->doorbells). The last holder of the file frees the context.
 */
#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/fs.h>

#include "gda_private.h"

static int gda_client_release(struct inode *inode, struct file *file)
{
	/* none: its creation failed */
	if (file->private_data)
		gda_ctx_destroy(file->private_data, file);
	return 0;
}

static const struct file_operations gda_client_fops = {
	.owner = THIS_MODULE,
	.release = gda_client_release,
};

static struct file *gda_client_file(void)
{
	struct file *file = anon_inode_getfile("[gda]", &gda_client_fops, NULL, O_RDWR);
	struct gda_ctx *ctx;

	if (IS_ERR(file))
		return file;
	ctx = gda_ctx_create(file);
	if (IS_ERR(ctx)) {
		fput(file);
		return ERR_CAST(ctx);
	}
	file->private_data = ctx;
	ctx->file = file;
	return file;
}

static int gda_client_add_doorbells(struct gda_ctx *ctx)
{
	struct gda_region *region = gda_region_create(ctx, 1, GDA_MAP_RW, NULL);

	if (IS_ERR(region))
		return PTR_ERR(region);
	region->client = true;
	ctx->doorbells = region;
	return 0;
}

struct gda_ctx *gda_client_open(struct gda_device *dev)
{
	struct file *file = gda_client_file();
	struct gda_ctx *ctx;
	int ret;

	if (IS_ERR(file))
		return ERR_CAST(file);
	ctx = file->private_data;
	ret = gda_client_add_doorbells(ctx);
	if (ret)
		goto err_put;
	gda_device_hold(dev);
	ret = gda_ctx_bind(ctx, dev);
	if (ret) {
		gda_device_put(dev);
		goto err_put;
	}
	return ctx;

err_put:
	fput(file);
	return ERR_PTR(ret);
}
GDA_EXPORT(gda_client_open);

void gda_client_close(struct gda_ctx *ctx)
{
	mutex_lock(&ctx->lock);
	gda_ctx_shutdown(ctx);
	mutex_unlock(&ctx->lock);
	gda_events_flush(ctx);
	fput(ctx->file);
}
GDA_EXPORT(gda_client_close);

int gda_client_count(struct gda_ctx *ctx)
{
	return gda_account_one(ctx, GDA_COUNT_OBJECTS);
}
GDA_EXPORT(gda_client_count);

void gda_client_uncount(struct gda_ctx *ctx)
{
	gda_unaccount_one(ctx, GDA_COUNT_OBJECTS);
}
GDA_EXPORT(gda_client_uncount);

int gda_client_mmap(struct gda_ctx *ctx, struct vm_area_struct *vma)
{
	struct gda_region *region = ctx->doorbells;
	int ret;

	/* a fault finds its place in the region by this */
	vma->vm_pgoff = gda_region_cookie(region) >> PAGE_SHIFT;
	ret = gda_mmap_region(region, vma);
	if (ret)
		return ret;
	kref_get(&region->ref);
	vma_set_file(vma, ctx->file);
	return 0;
}
GDA_EXPORT(gda_client_mmap);

/*
 * Publish an object whose handle no ioctl copies to user space: its creation is complete, unless
 * @ret is an error.
 */
int gda_client_publish(struct gda_ctx *ctx, struct gda_object *obj, int ret)
{
	int handle = obj->handle;

	ret = ret ?: gda_headroom_check();
	mutex_lock(&ctx->lock);
	if (READ_ONCE(ctx->dead) && !ret)
		ret = -ENODEV;
	/*
	 * if the context was shut down, the object is gone; if only its device was removed, it is
	 * there
	 */
	if (ret && !ctx->closed)
		gda_object_discard(obj);
	else if (!ret)
		gda_object_publish(obj);
	mutex_unlock(&ctx->lock);
	return ret ?: handle;
}

int gda_client_cq_create(struct gda_ctx *ctx, const struct gda_client_cq_attr *attr, u32 *number)
{
	const struct gda_umem_addresses user = {
		.entries = attr->entries,
		.record = attr->record,
		.entries_umem = attr->entries_umem,
		.record_umem = attr->record_umem,
		.wide = attr->wide,
	};
	struct gda_cq_create cmd = {
		.dialect = attr->dialect,
		.depth = attr->collapsed ? 1 : attr->depth,
		.flags = (attr->collapsed ? GDA_CQ_COLLAPSED : 0) |
			 (attr->overrun ? GDA_CQ_IGNORE_OVERRUN : 0),
	};
	struct gda_event *event = NULL;
	struct gda_object *obj;

	if ((!attr->entries && !attr->entries_umem) || (!attr->record && !attr->record_umem))
		return -EINVAL;
	if (attr->handler) {
		event = gda_event_create_handler(attr->handler, attr->priv);
		if (!event)
			return -ENOMEM;
	}
	obj = gda_cq_create(ctx, &cmd, &user, event);
	if (IS_ERR(obj))
		return PTR_ERR(obj);
	*number = cmd.cqn;
	return gda_client_publish(ctx, obj,
				  gda_async_init(&container_of(obj, struct gda_cq, obj)->async,
						 attr->event, attr->priv));
}
GDA_EXPORT(gda_client_cq_create);

/* Nobody knows it yet. */
static void gda_client_qp_init(struct gda_qp *qp, const struct gda_client_qp_attr *attr,
			       const struct gda_dialect_ops *dialect)
{
	struct gda_engine_qp *q = &qp->engine_qp;

	q->dialect = dialect;
	q->pd = attr->pd;
	q->port = attr->service == GDA_SERVICE_UD ? attr->port : NULL;
	q->sends = true;
	q->max_sge = GDA_ENGINE_MAX_SGE;
	gda_engine_init(q);
}

int gda_client_cq_find(struct gda_ctx *ctx, u32 number)
{
	struct gda_cq *cq;
	int ret = -ENOENT;

	mutex_lock(&ctx->lock);
	cq = xa_load(&ctx->cqs, number);
	if (cq && cq->obj.published && cq->obj.named)
		ret = cq->obj.handle;
	mutex_unlock(&ctx->lock);
	return ret;
}
GDA_EXPORT(gda_client_cq_find);

int gda_client_srq_find(struct gda_ctx *ctx, u32 number)
{
	struct gda_object *obj;
	int ret = -ENOENT;

	mutex_lock(&ctx->lock);
	obj = gda_object_find(ctx, number, GDA_OBJECT_SRQ);
	if (obj && obj->named)
		ret = obj->handle;
	mutex_unlock(&ctx->lock);
	return ret;
}
GDA_EXPORT(gda_client_srq_find);

void gda_client_name(struct gda_ctx *ctx, u32 handle)
{
	struct gda_object *obj;

	mutex_lock(&ctx->lock);
	obj = xa_load(&ctx->objects, handle);
	/* if the context was shut down, the object is gone */
	if (obj && !ctx->closed)
		obj->named = true;
	mutex_unlock(&ctx->lock);
}
GDA_EXPORT(gda_client_name);

static bool gda_client_qp_lies(const struct gda_client_qp_attr *attr)
{
	return (!attr->sq_depth || attr->sq || attr->sq_umem) &&
	       (!attr->rq_depth || attr->rq || attr->rq_umem) &&
	       (attr->record || attr->record_umem);
}

/* The QP is not published. */
static int gda_client_attach_srq(struct gda_ctx *ctx, struct gda_qp *qp, u32 handle)
{
	int ret;

	mutex_lock(&ctx->lock);
	/* if the context was shut down, the QP went with it */
	ret = ctx->closed ? -ENODEV : gda_srq_attach(qp, handle);
	mutex_unlock(&ctx->lock);
	return ret;
}

int gda_client_qp_create(struct gda_ctx *ctx, const struct gda_client_qp_attr *attr,
			 struct gda_executor_qp **exec)
{
	const struct gda_umem_addresses user = {
		.entries = attr->sq_depth ? attr->sq : 0,
		.record = attr->record,
		.recv = attr->rq,
		.entries_umem = attr->sq_depth ? attr->sq_umem : 0,
		.record_umem = attr->record_umem,
		.recv_umem = attr->rq_umem,
		.recv_depth = attr->rq_depth,
		.recv_shift = attr->rq_shift,
	};
	struct gda_qp_create cmd = {
		.dialect = attr->dialect,
		.cq = attr->cq,
		.recv_cq = attr->rq_depth || attr->srq ? attr->recv_cq : 0,
		.sq_depth = attr->sq_depth ?: 1,
		.user_index = attr->user_index,
	};
	const struct gda_dialect_ops *dialect;
	struct gda_object *obj;
	struct gda_qp *qp;
	int ret;

	dialect = gda_dialect_service(gda_dialect_find(attr->dialect), attr->service);
	if (!dialect)
		return -EOPNOTSUPP;
	if (!gda_client_qp_lies(attr))
		return -EINVAL;
	obj = gda_qp_create(ctx, &cmd, &user);
	if (IS_ERR(obj))
		return PTR_ERR(obj);
	qp = container_of(obj, struct gda_qp, obj);
	gda_client_qp_init(qp, attr, dialect);
	gda_rq_attach(qp);
	ret = attr->srq ? gda_client_attach_srq(ctx, qp, attr->srq) : 0;
	*exec = &qp->exec;
	return gda_client_publish(ctx, obj, ret ?: gda_async_init(&qp->async, attr->event,
								  attr->priv));
}
GDA_EXPORT(gda_client_qp_create);

int gda_client_srq_create(struct gda_ctx *ctx, const struct gda_client_srq_attr *attr)
{
	struct gda_object *obj = gda_srq_create(ctx, attr);

	return IS_ERR(obj) ? PTR_ERR(obj) : gda_client_publish(ctx, obj, 0);
}
GDA_EXPORT(gda_client_srq_create);

static struct gda_srq *gda_client_srq(struct gda_ctx *ctx, u32 handle)
{
	struct gda_object *obj = gda_object_find(ctx, handle, GDA_OBJECT_SRQ);

	return obj ? container_of(obj, struct gda_srq, obj) : NULL;
}

int gda_client_srq_set_limit(struct gda_ctx *ctx, u32 handle, u32 limit)
{
	struct gda_srq *srq;
	int ret = -EINVAL;

	mutex_lock(&ctx->lock);
	srq = gda_client_srq(ctx, handle);
	if (srq && limit < srq->rq.engine_rq.depth) {
		gda_srq_set_limit(srq, limit);
		ret = 0;
	}
	mutex_unlock(&ctx->lock);
	return ret;
}
GDA_EXPORT(gda_client_srq_set_limit);

u32 gda_client_srq_limit(struct gda_ctx *ctx, u32 handle)
{
	struct gda_srq *srq;
	u32 limit = 0;

	mutex_lock(&ctx->lock);
	srq = gda_client_srq(ctx, handle);
	if (srq)
		limit = READ_ONCE(srq->limit);
	mutex_unlock(&ctx->lock);
	return limit;
}
GDA_EXPORT(gda_client_srq_limit);

static void gda_client_qp_call(struct gda_ctx *ctx, u32 handle, void (*fn)(struct gda_qp *qp))
{
	struct gda_object *obj;

	mutex_lock(&ctx->lock);
	obj = gda_object_find(ctx, handle, GDA_OBJECT_QP);
	if (obj)
		fn(container_of(obj, struct gda_qp, obj));
	mutex_unlock(&ctx->lock);
}

void gda_client_qp_stop(struct gda_ctx *ctx, u32 handle)
{
	gda_client_qp_call(ctx, handle, gda_qp_stop);
}
GDA_EXPORT(gda_client_qp_stop);

void gda_client_qp_reset(struct gda_ctx *ctx, u32 handle)
{
	gda_client_qp_call(ctx, handle, gda_qp_reset);
}
GDA_EXPORT(gda_client_qp_reset);

int gda_client_mr_reg(struct gda_ctx *ctx, const struct gda_client_mr_attr *attr, u32 *key)
{
	struct gda_object *obj = gda_mr_reg_client(ctx, attr, key);

	return IS_ERR(obj) ? PTR_ERR(obj) : gda_client_publish(ctx, obj, 0);
}
GDA_EXPORT(gda_client_mr_reg);

int gda_client_try_destroy(struct gda_ctx *ctx, u32 handle)
{
	int ret;

	mutex_lock(&ctx->lock);
	ret = gda_object_destroy(ctx, handle);
	mutex_unlock(&ctx->lock);
	gda_events_flush(ctx);
	return ret;
}
GDA_EXPORT(gda_client_try_destroy);

void gda_client_destroy(struct gda_ctx *ctx, u32 handle)
{
	WARN_ON_ONCE(gda_client_try_destroy(ctx, handle));
}
GDA_EXPORT(gda_client_destroy);
