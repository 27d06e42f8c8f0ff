// SPDX-License-Identifier: GPL-2.0
/*
 * Memory regions: rights and a key over memory that a memory kind provides. Other modules
 * (gda_mr) register the kinds; this file never names one.
 *
 * Deregistration sets the state to revoked, withdraws the key, waits for the executors, and
 * only then has the kind give the memory back.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include <gda/netlink.h>

#include "gda_private.h"
#include "trace.h"

#define GDA_KINDS	4	/* ids of enum gda_mr_kind are less than this */

static const struct gda_mem_kind *gda_kinds[GDA_KINDS];
/* A spinlock, because the CPU limit of a tenant that held a mutex would stall all others. */
static DEFINE_SPINLOCK(gda_kinds_lock);

int gda_mem_kind_register(const struct gda_mem_kind *kind)
{
	int ret = 0;

	if (!kind->id || kind->id >= GDA_KINDS)
		return -EINVAL;
	spin_lock(&gda_kinds_lock);
	if (gda_kinds[kind->id])
		ret = -EBUSY;
	else
		gda_kinds[kind->id] = kind;
	spin_unlock(&gda_kinds_lock);
	return ret;
}
GDA_EXPORT(gda_mem_kind_register);

void gda_mem_kind_unregister(const struct gda_mem_kind *kind)
{
	spin_lock(&gda_kinds_lock);
	gda_kinds[kind->id] = NULL;
	spin_unlock(&gda_kinds_lock);
}
GDA_EXPORT(gda_mem_kind_unregister);

/* Take a reference on the module of a kind. Return: the kind, or NULL if none is registered. */
static const struct gda_mem_kind *gda_mem_kind_get(u32 id)
{
	const struct gda_mem_kind *kind;

	spin_lock(&gda_kinds_lock);
	kind = gda_kinds[id];
	if (kind && !try_module_get(kind->owner))
		kind = NULL;
	spin_unlock(&gda_kinds_lock);
	return kind;
}

bool gda_mem_kind_present(u32 id)
{
	return READ_ONCE(gda_kinds[id]);
}

int gda_mem_attach(struct gda_mem_backing *b, u32 kind_id,
		   const struct gda_mem_request *req)
{
	const struct gda_mem_kind *kind = gda_mem_kind_get(kind_id);
	int ret;

	if (!kind)
		return -EOPNOTSUPP;
	/* an earlier attempt with another kind may have left values here */
	*b = (struct gda_mem_backing) { .kind = kind, .revoke = b->revoke };
	ret = kind->attach(b, req);
	if (ret)
		module_put(kind->owner);
	return ret;
}

void gda_mem_detach(struct gda_mem_backing *b)
{
	const struct gda_mem_kind *kind = b->kind;

	kind->detach(b);
	module_put(kind->owner);
}

/* Give the memory back to its kind, or to the device that registered it. */
static void gda_mr_detach(struct gda_mr *mr)
{
	if (mr->backing.kind)
		gda_mem_detach(&mr->backing);
	else
		mr->exec.ctx->dev->ops->mr_dereg(&mr->exec);
}

static int gda_mr_map(struct gda_device *dev, struct gda_mr *mr,
		      const struct gda_executor_mr_attr *attr)
{
	if (!mr->backing.kind)
		return gda_key_insert(dev, mr);
	return dev->ops->mr_map ? dev->ops->mr_map(&mr->exec, attr) : gda_key_create(dev, mr);
}

static void gda_mr_unmap(struct gda_device *dev, struct gda_mr *mr)
{
	if (mr->backing.kind && dev->ops->mr_unmap)
		dev->ops->mr_unmap(&mr->exec);
	else
		gda_key_remove(dev, mr);
}

static void gda_mr_kill(struct gda_object *obj)
{
	struct gda_mr *mr = container_of(obj, struct gda_mr, obj);

	WRITE_ONCE(mr->mem.state, GDA_MR_REVOKED);
	gda_record_mr(mr, GDA_RECORD_REVOKED, GDA_CAUSE_NONE);
	trace_gda_mr(obj->ctx->id, mr->mem.key, mr->mem.size, mr->kind, false);
	gda_mr_unmap(obj->ctx->dev, mr);
}

static void gda_mr_free(struct gda_object *obj)
{
	struct gda_mr *mr = container_of(obj, struct gda_mr, obj);

	gda_mr_detach(mr);
	obj->ctx->nmr--;
	gda_stat_add(GDA_STAT_MRS, -1);
	kfree(mr);
}

static void gda_mr_publish(struct gda_object *obj)
{
	struct gda_mr *mr = container_of(obj, struct gda_mr, obj);

	gda_record_mr(mr, GDA_RECORD_REGISTERED, GDA_CAUSE_NONE);
	trace_gda_mr(obj->ctx->id, mr->mem.key, mr->mem.size, mr->kind, true);
}

const struct gda_object_ops gda_mr_ops = {
	.publish = gda_mr_publish,
	.kill = gda_mr_kill,
	.free = gda_mr_free,
};

static void gda_mr_revoke(struct gda_mem_backing *b)
{
	struct gda_mr *mr = container_of(b, struct gda_mr, backing);

	WRITE_ONCE(mr->mem.state, GDA_MR_REVOKED);
	gda_record_mr(mr, GDA_RECORD_REVOKED, GDA_CAUSE_REVOKED);
	/* pairs with smp_store_release in gda_object_publish(): the MR has a context */
	if (smp_load_acquire(&mr->obj.published))
		gda_notify_object(GDA_EVENT_KIND_MR_REVOKED, &mr->obj);
}

/*
 * Add an MR whose memory is attached to the context. On failure the MR is freed. @handle and
 * @key are set under the lock: once it is dropped, the context may be destroyed, and the MR
 * with it.
 */
static struct gda_object *gda_mr_insert(struct gda_ctx *ctx, struct gda_mr *mr, u32 *handle,
					u32 *key)
{
	const struct gda_executor_mr_attr attr = {
		.backing = &mr->backing,
		.iova = mr->mem.iova,
		.length = mr->mem.size,
		.access = mr->mem.access,
	};
	int ret;

	ret = gda_ctx_lock(ctx);
	if (ret)
		goto err_detach;
	/* pairs with gda_record_mr(): the memory may be revoked already */
	WRITE_ONCE(mr->ctx, ctx);
	if (!mr->mem.pd)
		mr->mem.pd = ctx;
	mr->exec.ctx = &ctx->exec;
	if (mr->backing.kind)
		mr->kind = mr->backing.kind->id;
	ret = ctx->nmr >= ctx->dev->limits.max_mr ? -ENOSPC : 0;
	if (!ret)
		ret = gda_object_reserve(ctx, &mr->obj, GDA_OBJECT_MR);
	if (ret)
		goto err_leave;
	ret = gda_mr_map(ctx->dev, mr, &attr);
	if (ret)
		goto err_handle;
	mr->mem.key = mr->exec.key;
	ctx->nmr++;
	gda_stat_add(GDA_STAT_MRS, 1);
	gda_object_complete(&mr->obj);
	*handle = mr->obj.handle;
	*key = mr->mem.key;
	gda_ctx_unlock(ctx);
	return &mr->obj;

err_handle:
	gda_object_abort(&mr->obj);
err_leave:
	gda_ctx_unlock(ctx);
err_detach:
	gda_mr_detach(mr);
	kfree(mr);
	return ERR_PTR(ret);
}

/* An MR without memory yet. */
static struct gda_mr *gda_mr_new(struct gda_ctx *ctx, u64 feature, u64 iova, u32 access,
				 struct gda_mem_request *req)
{
	const struct gda_device *dev = READ_ONCE(ctx->dev);
	const struct gda_control_mr_range range = {
		.addr = req->addr, .iova = iova, .length = req->length, .access = access,
	};
	struct gda_mr *mr;
	int ret;

	req->writable = access & GDA_ACCESS_LOCAL_WRITE;
	ret = gda_control_check_mr(&range, dev ? dev->limits.max_mr_size : GDA_MAX_MR_SIZE);
	if (ret)
		return ERR_PTR(ret);
	if (!dev)
		return ERR_PTR(-ENOTCONN);
	if (gda_device_has(dev, feature))
		return ERR_PTR(-EOPNOTSUPP);
	mr = kzalloc(sizeof(*mr), GDA_GFP_USER);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	/* live before attach(): the memory can be revoked from then on */
	gda_control_init_mr(&mr->mem, &range, GDA_MR_LIVE);
	mr->backing.revoke = gda_mr_revoke;
	return mr;
}

/*
 * The memory is attached before the context is locked: attaching may wait for page faults or other
 * drivers, and other calls of the context must not wait for that.
 */
static struct gda_object *gda_mr_create(struct gda_ctx *ctx, u32 kind, u64 iova,
					u32 access, struct gda_mem_request *req,
					u32 *handle, u32 *key)
{
	u64 feature = kind == GDA_KIND_PEER ? GDA_FEATURE_MR_PEER : GDA_FEATURE_MR_DMABUF;
	struct gda_mr *mr = gda_mr_new(ctx, feature, iova, access, req);
	int ret;

	if (IS_ERR(mr))
		return ERR_CAST(mr);
	ret = gda_mem_attach(&mr->backing, kind, req);
	if (ret) {
		kfree(mr);
		return ERR_PTR(ret);
	}
	return gda_mr_insert(ctx, mr, handle, key);
}

/* If pinning fails, try peer memory; return -EFAULT only if no peer claims the range. */
static int gda_mr_attach_user(const struct gda_device *dev, struct gda_mr *mr,
			      const struct gda_mem_request *req, struct gda_mr_tried *tried)
{
	int ret;

	ret = gda_mem_attach(&mr->backing, GDA_KIND_USER, req);
	tried->user = -ret;
	if (ret != -EFAULT || gda_device_has(dev, GDA_FEATURE_MR_PEER))
		return ret;
	ret = gda_mem_attach(&mr->backing, GDA_KIND_PEER, req);
	tried->peer = -ret;
	return ret == -ENXIO ? -EFAULT : ret;
}

/* The device pins the memory itself, and charges it. */
static int gda_mr_reg_device(struct gda_ctx *ctx, struct gda_mr *mr, u64 addr)
{
	const struct gda_executor_mr_attr attr = {
		.addr = addr,
		.iova = mr->mem.iova,
		.length = mr->mem.size,
		.access = mr->mem.access,
	};
	int ret;

	/* the thread that bound the context has dropped its lock: bind() is over */
	ret = gda_ctx_lock(ctx);
	if (ret)
		return ret;
	gda_ctx_unlock(ctx);
	mr->kind = GDA_KIND_USER;
	return ctx->dev->ops->mr_reg(&mr->exec, &attr);
}

struct gda_object *gda_mr_reg_user(struct gda_ctx *ctx, struct gda_mr_reg_user *cmd)
{
	struct gda_mem_request req = { .addr = cmd->addr, .length = cmd->length };
	struct gda_mr *mr;
	int ret;

	cmd->tried = (struct gda_mr_tried) { };
	cmd->iova = gda_control_mr_iova(cmd->flags, cmd->addr);
	mr = gda_mr_new(ctx, GDA_FEATURE_MR_USER, cmd->iova, cmd->access, &req);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	mr->exec.ctx = &ctx->exec;
	if (ctx->dev->ops->mr_reg)
		ret = gda_mr_reg_device(ctx, mr, cmd->addr);
	else
		ret = gda_mr_attach_user(ctx->dev, mr, &req, &cmd->tried);
	if (ret) {
		kfree(mr);
		return ERR_PTR(ret);
	}
	return gda_mr_insert(ctx, mr, &cmd->handle, &cmd->key);
}

/*
 * As gda_mr_create(), for client.c: with any address in work requests, and a protection domain of
 * its own.
 */
struct gda_object *gda_mr_reg_client(struct gda_ctx *ctx, const struct gda_client_mr_attr *attr,
				     u32 *key)
{
	struct gda_mem_request req = { .addr = attr->addr, .length = attr->length };
	struct gda_mr *mr;
	u32 handle;
	int ret;

	mr = gda_mr_new(ctx, GDA_FEATURE_MR_USER, attr->iova, attr->access, &req);
	if (IS_ERR(mr))
		return ERR_CAST(mr);
	mr->mem.pd = attr->pd;
	ret = gda_mem_attach(&mr->backing, GDA_KIND_USER, &req);
	if (ret) {
		kfree(mr);
		return ERR_PTR(ret);
	}
	return gda_mr_insert(ctx, mr, &handle, key);
}

struct gda_object *gda_mr_reg_peer(struct gda_ctx *ctx, struct gda_mr_reg_peer *cmd)
{
	struct gda_mem_request req = { .addr = cmd->addr, .length = cmd->length };

	cmd->iova = gda_control_mr_iova(cmd->flags, cmd->addr);
	return gda_mr_create(ctx, GDA_KIND_PEER, cmd->iova, cmd->access, &req,
			     &cmd->handle, &cmd->key);
}

struct gda_object *gda_mr_reg_dmabuf(struct gda_ctx *ctx, struct gda_mr_reg_dmabuf *cmd)
{
	struct gda_mem_request req = {
		.addr = cmd->offset,
		.length = cmd->length,
		.fd = cmd->fd,
	};

	if ((cmd->flags & GDA_MR_ZERO_BASED) && cmd->iova)
		return ERR_PTR(-EINVAL);
	return gda_mr_create(ctx, GDA_KIND_DMABUF, cmd->iova, cmd->access, &req,
			     &cmd->handle, &cmd->key);
}

void gda_mem_revoke_begin(struct gda_mem_backing *b)
{
	b->revoke(b);
}
GDA_EXPORT(gda_mem_revoke_begin);

void gda_mem_revoke_wait(void)
{
	synchronize_srcu_expedited(&gda_srcu);
}
GDA_EXPORT(gda_mem_revoke_wait);

void gda_mem_revoke(struct gda_mem_backing *b)
{
	gda_mem_revoke_begin(b);
	gda_mem_revoke_wait();
}
GDA_EXPORT(gda_mem_revoke);

int gda_mr_query(struct gda_ctx *ctx, struct gda_mr_query *cmd)
{
	struct gda_object *obj;
	struct gda_mr *mr;

	obj = gda_object_find(ctx, cmd->handle, GDA_OBJECT_MR);
	if (!obj)
		return -ENOENT;
	mr = container_of(obj, struct gda_mr, obj);
	gda_control_query_mr(&mr->mem, mr->kind, cmd);
	return 0;
}
