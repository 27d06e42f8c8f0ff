// SPDX-License-Identifier: GPL-2.0
/*
 * Contexts: an open file, the protection domain of everything made through it.
 *
 * A context is unbound until GDA_IOC_BIND and dead after GDA_DESTROY_CONTEXT; only in
 * between does it have objects. If its device is taken away it is dead as well, but what
 * it has stays until it is closed: queues have failed, and its worker flushes what is
 * posted, so that whoever waits is told. All its VMAs hang on a pseudo inode of its own, so
 * one unmap_mapping_range() reaches them wherever they were moved, split or forked.
 * VMAs hold the file, so a context outlives every mapping.
 */
#include <linux/atomic.h>
#include <linux/fs.h>
#include <linux/kthread.h>
#include <linux/mount.h>
#include <linux/pseudo_fs.h>
#include <linux/slab.h>

#include "gda_private.h"

#define GDA_FS_MAGIC	0x67646166	/* "gdaf" */

static struct vfsmount *gda_mount;
static atomic_t gda_ctx_ids = ATOMIC_INIT(0);

static int gda_fs_init_fs_context(struct fs_context *fc)
{
	return init_pseudo(fc, GDA_FS_MAGIC) ? 0 : -ENOMEM;
}

/* No owner: it is mounted for as long as the module is there, and must not keep it. */
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

/* open() allocates this and its inode, no more: what takes time is left to BIND. */
struct gda_ctx *gda_ctx_create(struct file *file)
{
	struct gda_ctx *ctx;
	int ret;

	ctx = kzalloc(sizeof(*ctx), GFP_KERNEL_ACCOUNT);
	if (!ctx)
		return ERR_PTR(-ENOMEM);
	ctx->inode = alloc_anon_inode(gda_mount->mnt_sb);
	if (IS_ERR(ctx->inode)) {
		ret = PTR_ERR(ctx->inode);
		goto err_free;
	}
	ctx->id = atomic_inc_return(&gda_ctx_ids);
	INIT_LIST_HEAD(&ctx->node);
	mutex_init(&ctx->lock);
	mutex_init(&ctx->map_lock);
	INIT_LIST_HEAD(&ctx->loans);
	gda_events_init(ctx);
	xa_init_flags(&ctx->objects, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	xa_init_flags(&ctx->regions, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	file->f_mapping = ctx->inode->i_mapping;
	gda_stat_add(GDA_STAT_CONTEXTS, 1);
	return ctx;

err_free:
	kfree(ctx);
	return ERR_PTR(ret);
}

/* Bound once, and for good. */
static int gda_ctx_unbound(const struct gda_ctx *ctx)
{
	if (READ_ONCE(ctx->dead))
		return -ENODEV;
	return READ_ONCE(ctx->dev) ? -EALREADY : 0;
}

/*
 * The worker is made first, under no lock of ours: that takes locks of the cgroups,
 * and wakes up and waits for a thread. Who may not have one more gets none made.
 */
int gda_ctx_bind(struct gda_ctx *ctx, struct gda_device *dev)
{
	struct gda_account account = { };
	struct task_struct *task;
	int ret;

	ret = gda_ctx_unbound(ctx);
	if (ret)
		return ret;
	ret = gda_account_context(&account);
	if (ret)
		return ret;
	task = gda_worker_create(ctx);
	if (IS_ERR(task)) {
		gda_unaccount_context(&account);
		return PTR_ERR(task);
	}
	mutex_lock(&dev->lock);
	/* one that was bound meanwhile can keep its lock, and all who wait for ours, for long */
	ret = gda_ctx_unbound(ctx);
	if (!ret && !dev->attached)
		ret = -ENODEV;
	if (!ret) {
		mutex_lock(&ctx->lock);
		ctx->account = account;
		gda_worker_start(ctx, task);
		WRITE_ONCE(ctx->dev, dev);
		list_add(&ctx->node, &dev->contexts);
		mutex_unlock(&ctx->lock);
	}
	mutex_unlock(&dev->lock);
	if (ret) {
		kthread_stop(task);
		gda_unaccount_context(&account);
	}
	return ret;
}

/* Take the lock of a context that can have objects. A signal leaves nothing behind. */
int gda_ctx_enter(struct gda_ctx *ctx)
{
	int ret = 0;

	if (mutex_lock_interruptible(&ctx->lock))
		return -ERESTARTSYS;
	if (ctx->dead)
		ret = -ENODEV;
	else if (!ctx->dev)
		ret = -ENOTCONN;
	if (ret)
		mutex_unlock(&ctx->lock);
	return ret;
}

void gda_ctx_leave(struct gda_ctx *ctx)
{
	mutex_unlock(&ctx->lock);
}

/* Destroy every object and revoke every mapping; nothing can be made after it. */
void gda_ctx_shutdown(struct gda_ctx *ctx)
{
	lockdep_assert_held(&ctx->lock);
	WRITE_ONCE(ctx->dead, true);
	gda_worker_stop(ctx);
	gda_object_destroy_all(ctx);
}

/* Its device has gone: nothing works any more, and everybody is told. */
static void gda_ctx_orphan(struct gda_ctx *ctx)
{
	struct gda_object *obj;
	unsigned long handle;

	mutex_lock(&ctx->lock);
	/* shut down already, it has none */
	WRITE_ONCE(ctx->dead, true);
	xa_for_each(&ctx->objects, handle, obj) {
		if (obj->type == GDA_OBJECT_QP && obj->published)
			gda_qp_fail(container_of(obj, struct gda_qp, obj),
				    GDA_MLX5_SYND_LOCAL_QP_OP, GDA_MLX5_VENDOR_DEVICE);
		cond_resched();
	}
	mutex_unlock(&ctx->lock);
}

void gda_device_attach(struct gda_device *dev)
{
	mutex_lock(&dev->lock);
	dev->attached = true;
	mutex_unlock(&dev->lock);
}

/*
 * When it returns, nothing is executed any more, and importers of exports know. Waits for
 * one visit of each worker, and for the importers.
 */
void gda_device_detach(struct gda_device *dev)
{
	struct gda_ctx *ctx;

	mutex_lock(&dev->lock);
	dev->attached = false;
	list_for_each_entry(ctx, &dev->contexts, node)
		gda_ctx_orphan(ctx);
	synchronize_srcu_expedited(&gda_srcu);
	mutex_unlock(&dev->lock);
	gda_exports_revoke(dev);
}

void gda_ctx_destroy(struct gda_ctx *ctx, struct file *file)
{
	if (ctx->dev) {
		mutex_lock(&ctx->dev->lock);
		list_del(&ctx->node);
		mutex_unlock(&ctx->dev->lock);
	}
	mutex_lock(&ctx->lock);
	gda_ctx_shutdown(ctx);
	mutex_unlock(&ctx->lock);

	gda_events_flush(ctx);
	gda_worker_free(ctx);
	file->f_mapping = file_inode(file)->i_mapping;
	WARN_ON_ONCE(!xa_empty(&ctx->objects));
	WARN_ON_ONCE(!xa_empty(&ctx->regions));
	xa_destroy(&ctx->objects);
	xa_destroy(&ctx->regions);
	iput(ctx->inode);
	gda_unaccount_context(&ctx->account);
	gda_stat_add(GDA_STAT_CONTEXTS, -1);
	kfree(ctx);
}
