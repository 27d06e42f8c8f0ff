// SPDX-License-Identifier: GPL-2.0
/*
 * A context: an open file, and the protection domain of everything made through it.
 *
 * A context is unbound until GDA_IOC_BIND and dead after GDA_DESTROY_CONTEXT; only in between does
 * it have objects. If its device is taken away the context is dead as well, but its objects stay
 * until it is closed: queues have failed, and its worker flushes what is posted, so that waiting
 * threads are told (executor/device.c).
 *
 * A bound context has an id, by which gda_contexts lists it. A reader that finds it there, under
 * gda_srcu, may read it and its objects, and waits for nobody (netlink.c).
 *
 * All its VMAs hang on a pseudo inode of its own, so
 * one unmap_mapping_range() reaches them wherever they were moved, split or forked.
 * VMAs hold the file, so a context outlives every mapping.
 */
#include <linux/atomic.h>
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/kthread.h>
#include <linux/mount.h>
#include <linux/nsproxy.h>
#include <linux/pid.h>
#include <linux/pseudo_fs.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <net/net_namespace.h>

#include <gda/netlink.h>

#include "gda_private.h"

#define GDA_FS_MAGIC	0x67646166	/* "gdaf" */

static struct vfsmount *gda_mount;
static u32 gda_next_context;
DEFINE_XARRAY_FLAGS(gda_contexts, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);

static int gda_fs_init_fs_context(struct fs_context *fc)
{
	return init_pseudo(fc, GDA_FS_MAGIC) ? 0 : -ENOMEM;
}

/* No owner: the module mounts this at load, and must not pin itself. */
static struct file_system_type gda_fs_type = {
	.name = "gda",
	.init_fs_context = gda_fs_init_fs_context,
	.kill_sb = kill_anon_super,
};

int gda_fs_mount(void)
{
	gda_mount = kern_mount(&gda_fs_type);
	return PTR_ERR_OR_ZERO(gda_mount);
}

void gda_fs_unmount(void)
{
	kern_unmount(gda_mount);
}

/* open() allocates only the context and its inode; GDA_IOC_BIND does what takes time. */
struct gda_ctx *gda_ctx_create(struct file *file)
{
	struct gda_ctx *ctx;
	int ret;

	ctx = kzalloc(sizeof(*ctx), GDA_GFP_USER);
	if (!ctx)
		return ERR_PTR(-ENOMEM);
	ctx->inode = alloc_anon_inode(gda_mount->mnt_sb);
	if (IS_ERR(ctx->inode)) {
		ret = PTR_ERR(ctx->inode);
		goto err_free;
	}
	gda_opener_init(&ctx->opener, file);
	mutex_init(&ctx->lock);
	mutex_init(&ctx->map_lock);
	INIT_LIST_HEAD(&ctx->umems);
	gda_events_init(ctx);
	gda_payer_init(ctx);
	xa_init_flags(&ctx->objects, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	xa_init_flags(&ctx->cqs, XA_FLAGS_ACCOUNT);
	gda_addresses_init(&ctx->addresses);
	xa_init_flags(&ctx->regions, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	file->f_mapping = ctx->inode->i_mapping;
	gda_stat_add(GDA_STAT_CONTEXTS, 1);
	return ctx;

err_free:
	kfree(ctx);
	return ERR_PTR(ret);
}

/* A context is bound once, for good. */
static int gda_ctx_unbound(const struct gda_ctx *ctx)
{
	if (READ_ONCE(ctx->dead))
		return -ENODEV;
	return READ_ONCE(ctx->dev) ? -EALREADY : 0;
}

/* Create an unstarted worker, if limits allow one more thread of the caller's. */
static struct task_struct *gda_ctx_create_worker(struct gda_ctx *ctx, u32 id)
{
	struct gda_thread *place = gda_thread_reserve();
	struct task_struct *task;

	if (IS_ERR(place))
		return ERR_CAST(place);
	task = gda_worker_create(ctx, id);
	gda_thread_release(place);
	return task;
}

/* Called with ctx->lock held. On failure the context is unchanged. */
static int gda_ctx_associate(struct gda_ctx *ctx, struct gda_device *dev, u32 id)
{
	const struct gda_executor_ops *ops = dev->ops;
	int ret;

	/* another thread may have bound it meanwhile */
	ret = gda_ctx_unbound(ctx);
	if (!ret)
		ret = gda_record_init(ctx);
	if (ret)
		return ret;
	gda_payer_bind(ctx);
	ctx->exec.dev = dev;
	ctx->id = id;
	gda_addresses_bind(ctx);
	ret = ops->bind ? ops->bind(&ctx->exec) : 0;
	if (ret)
		return ret;
	ret = gda_device_add_context(dev, ctx);
	if (ret && ops->unbind)
		ops->unbind(&ctx->exec);
	return ret;
}

static int gda_ctx_reserve_id(u32 *id)
{
	int ret = xa_alloc_cyclic(&gda_contexts, id, XA_ZERO_ENTRY, xa_limit_31b,
				  &gda_next_context, GDA_GFP_USER);

	return gda_cyclic_error(ret);
}

/*
 * The worker is created first, without a lock of ours: creation takes locks of the cgroups, and
 * wakes up and waits for threads. A user who is at a limit has none created. The context takes
 * over the caller's reference on @dev.
 */
int gda_ctx_bind(struct gda_ctx *ctx, struct gda_device *dev)
{
	struct gda_account account = { };
	struct task_struct *task = NULL;
	u32 id;
	int ret;

	ret = gda_ctx_unbound(ctx);
	if (ret)
		return ret;
	ret = gda_account_context(&account);
	if (ret)
		return ret;
	ret = gda_ctx_reserve_id(&id);
	if (ret)
		goto err_account;
	if (gda_device_has_worker(dev))
		task = gda_ctx_create_worker(ctx, id);
	if (IS_ERR(task)) {
		ret = PTR_ERR(task);
		goto err_id;
	}
	mutex_lock(&ctx->lock);
	ret = gda_ctx_associate(ctx, dev, id);
	if (!ret) {
		ctx->account = account;
		if (task)
			gda_worker_start(ctx, task);
		WRITE_ONCE(ctx->dev, dev);
	}
	mutex_unlock(&ctx->lock);
	if (!ret) {
		gda_notify_context(GDA_EVENT_KIND_CONTEXT_BOUND, ctx);
		return 0;
	}
	if (task)
		kthread_stop(task);
err_id:
	xa_erase(&gda_contexts, id);
err_account:
	gda_unaccount_context(&account);
	return ret;
}

/* Lock a context that can have objects, interruptibly. */
int gda_ctx_lock(struct gda_ctx *ctx)
{
	int ret = 0;

	if (mutex_lock_interruptible(&ctx->lock))
		return -ERESTARTSYS;
	if (READ_ONCE(ctx->dead))
		ret = -ENODEV;
	else if (!ctx->dev)
		ret = -ENOTCONN;
	if (ret)
		mutex_unlock(&ctx->lock);
	else
		gda_payer_adopt(&ctx->payer);
	return ret;
}

void gda_ctx_unlock(struct gda_ctx *ctx)
{
	mutex_unlock(&ctx->lock);
}

/* Destroy every object and revoke every mapping; afterwards nothing can be created. */
void gda_ctx_shutdown(struct gda_ctx *ctx)
{
	lockdep_assert_held(&ctx->lock);
	WRITE_ONCE(ctx->dead, true);
	/* seen by readers that begin after the synchronize_srcu() in gda_object_destroy_all() */
	WRITE_ONCE(ctx->closed, true);
	gda_worker_stop(ctx);
	gda_dead_keep(ctx);
	gda_object_destroy_all(ctx);
	gda_record_stop(ctx);
	if (ctx->doorbells && !ctx->doorbells->revoked)
		gda_region_revoke(ctx->doorbells);
}

void gda_ctx_destroy(struct gda_ctx *ctx, struct file *file)
{
	struct gda_device *dev = ctx->dev;
	bool waits = xa_empty(&ctx->objects);

	if (dev) {
		gda_device_del_context(ctx);
		gda_notify_context(GDA_EVENT_KIND_CONTEXT_GONE, ctx);
	}
	mutex_lock(&ctx->lock);
	gda_ctx_shutdown(ctx);
	mutex_unlock(&ctx->lock);
	/* readers have found the context; if it had objects, readers were waited for with these */
	if (dev && waits)
		synchronize_srcu_expedited(&gda_srcu);

	gda_events_flush(ctx);
	gda_worker_free(ctx);
	gda_payer_free(ctx);
	if (dev && dev->ops->unbind)
		dev->ops->unbind(&ctx->exec);
	file->f_mapping = file_inode(file)->i_mapping;
	if (ctx->doorbells)
		gda_region_put(ctx->doorbells);
	WARN_ON_ONCE(!xa_empty(&ctx->objects));
	WARN_ON_ONCE(!xa_empty(&ctx->regions));
	xa_destroy(&ctx->objects);
	xa_destroy(&ctx->cqs);
	gda_addresses_free(&ctx->addresses);
	xa_destroy(&ctx->regions);
	iput(ctx->inode);
	gda_opener_put(&ctx->opener);
	gda_unaccount_context(&ctx->account);
	gda_stat_add(GDA_STAT_CONTEXTS, -1);
	gda_record_free(ctx);
	kfree(ctx);
	if (dev)
		gda_device_put(dev);
}
