// SPDX-License-Identifier: GPL-2.0
/*
 * Devices: their list, the contexts bound to them, and their removal. Executors register devices
 * (gda/executor.h).
 *
 * A device is in the list while it is live. Its driver holds one reference, and each bound
 * context another one plus a reference on the executor's module. So a removed device lasts
 * until the contexts that were bound to it are closed.
 *
 * Removal of a device takes no ctx->lock, because its holder may be throttled by cpu.max.
 * gda_device_unregister() marks all contexts dead (ctx->dead, for good), then fails the QPs
 * and revokes the exports that the device lists. A call under way may still add to these lists. It
 * adds first, reads ctx->dead afterwards, and then fails or revokes what it added
 * (gda_qp_publish(), gda_export_create()).
 *
 * gda_devices_lock guards the list, dev->lock a device's state. Both are spinlocks, under which no
 * other lock is taken: the owner of a mutex may be a tenant that is throttled by cpu.max.
 * The contexts of all devices are in one table, gda_contexts.
 */
#include <linux/module.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/string.h>

#include <gda/netlink.h>

#include "../gda_private.h"
#include "../trace.h"

static LIST_HEAD(gda_devices);
static DEFINE_SPINLOCK(gda_devices_lock);
static u32 gda_device_ids;

/* An executor without any of these features needs no worker. */
#define GDA_FEATURES_OF_WORKER	(GDA_FEATURE_CQ_EVENT | GDA_FEATURE_QUEUE_DMABUF |	\
				 GDA_FEATURE_RNR_RETRY)

const struct gda_device_limits gda_device_max = {
	.max_qp = GDA_MAX_QP,
	.max_cq = GDA_MAX_CQ,
	.max_mr = GDA_MAX_MR,
	.max_counter = GDA_MAX_COUNTER,
	.max_sq_depth = GDA_ENGINE_MAX_DEPTH,
	.max_cq_depth = GDA_MAX_CQ_DEPTH,
	.max_sge = GDA_WORK_SGE,
	.max_inline = GDA_ENGINE_MAX_INLINE,
	.max_msg = GDA_MAX_MSG,
	.max_mr_size = GDA_MAX_MR_SIZE,
};
GDA_EXPORT(gda_device_max);

static bool gda_device_limits_ok(const struct gda_device_limits *l)
{
	const struct gda_device_limits *max = &gda_device_max;

	return l->max_qp <= max->max_qp && l->max_cq <= max->max_cq &&
	       l->max_mr <= max->max_mr && l->max_counter <= max->max_counter &&
	       l->max_sq_depth <= max->max_sq_depth && l->max_cq_depth <= max->max_cq_depth &&
	       l->max_sge <= max->max_sge && l->max_inline <= max->max_inline &&
	       l->max_msg <= max->max_msg && l->max_mr_size <= max->max_mr_size;
}

static bool gda_device_name_ok(const char *name)
{
	return name[0] && strlen(name) < GDA_DEVICE_NAME_MAX;
}

/*
 * Return: whether the executor has the MR operations that it needs. The engine finds MRs by
 * gda_core's keys; other executors register MRs and have keys of their own.
 */
static bool gda_executor_has_keys(const struct gda_executor_ops *ops)
{
	if (ops->engine)
		return !ops->mr_map && !ops->mr_reg;
	return (ops->mr_map && ops->mr_unmap) || (ops->mr_reg && ops->mr_dereg);
}

static bool gda_device_valid(const struct gda_device *dev)
{
	const struct gda_executor_ops *ops = dev->ops;

	if (!gda_device_name_ok(dev->name))
		return false;
	if (!ops->qp_disconnect || (!ops->client && (!ops->qp_address || !ops->qp_connect)))
		return false;
	if (!gda_executor_has_keys(ops))
		return false;
	if (!gda_device_has_worker(dev) && dev->features & GDA_FEATURES_OF_WORKER)
		return false;
	return gda_device_limits_ok(&dev->limits);
}

static struct gda_device *gda_device_find_locked(const char *name)
{
	struct gda_device *dev;

	lockdep_assert_held(&gda_devices_lock);
	list_for_each_entry(dev, &gda_devices, node)
		if (!strcmp(dev->name, name))
			return dev;
	return NULL;
}

static int gda_device_list(struct gda_device *dev)
{
	int ret = 0;

	spin_lock(&gda_devices_lock);
	if (gda_device_find_locked(dev->name)) {
		ret = -EEXIST;
	} else {
		dev->id = ++gda_device_ids;
		dev->state = GDA_DEVICE_LIVE;
		list_add_tail(&dev->node, &gda_devices);
	}
	spin_unlock(&gda_devices_lock);
	return ret;
}

int gda_device_register(struct gda_device *dev)
{
	int ret;

	if (!gda_device_valid(dev))
		return -EINVAL;
	if (refcount_read(&dev->refs))
		return -EBUSY;
	refcount_set(&dev->refs, 1);
	xa_init_flags(&dev->qps, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	gda_keys_init(dev);
	/* start at random, so that not even the next device of that name reuses a number soon */
	dev->next_qpn = get_random_u32() & 0xffffff;
	spin_lock_init(&dev->lock);
	mutex_init(&dev->export_lock);
	INIT_LIST_HEAD(&dev->exports);
	ret = gda_device_list(dev);
	if (ret) {
		refcount_set(&dev->refs, 0);
		return ret;
	}
	trace_gda_device(dev->id, dev->name, true);
	gda_notify_device(GDA_EVENT_KIND_DEVICE_ADDED, dev);
	return 0;
}
GDA_EXPORT(gda_device_register);

int gda_device_rename(struct gda_device *dev, const char *name)
{
	struct gda_device *other;

	if (!gda_device_name_ok(name))
		return -EINVAL;
	spin_lock(&gda_devices_lock);
	other = gda_device_find_locked(name);
	if (!other)
		WRITE_ONCE(dev->name, name);
	spin_unlock(&gda_devices_lock);
	return other && other != dev ? -EEXIST : 0;
}
GDA_EXPORT(gda_device_rename);

/* Drop the driver's reference, or that of gda_device_get() without the module's. */
static void gda_device_unref(struct gda_device *dev)
{
	if (!refcount_dec_and_test(&dev->refs))
		return;
	WARN_ON_ONCE(!xa_empty(&dev->qps) || !xa_empty(&dev->keys));
	xa_destroy(&dev->qps);
	xa_destroy(&dev->keys);
	if (dev->ops->release)
		dev->ops->release(dev);
}

/* Get a device by name, with a reference; NULL if none. An empty name is the software device. */
struct gda_device *gda_device_get(const char *name)
{
	struct gda_device *dev;

	spin_lock(&gda_devices_lock);
	dev = gda_device_find_locked(name[0] ? name : GDA_DEVICE_SOFT);
	if (dev && try_module_get(dev->ops->owner))
		refcount_inc(&dev->refs);
	else
		dev = NULL;
	spin_unlock(&gda_devices_lock);
	return dev;
}

/* Take another reference; the caller already has one. */
void gda_device_hold(struct gda_device *dev)
{
	refcount_inc(&dev->refs);
	__module_get(dev->ops->owner);
}

void gda_device_put(struct gda_device *dev)
{
	struct module *owner = dev->ops->owner;

	gda_device_unref(dev);
	module_put(owner);
}

/*
 * List a context, whose id is reserved. The context is added before the state is read, so either
 * this function sees the removal, or removal finds the context.
 */
int gda_device_add_context(struct gda_device *dev, struct gda_ctx *ctx)
{
	bool live;

	/* the index is reserved: this allocates nothing and cannot fail */
	xa_store(&gda_contexts, ctx->id, ctx, GDA_GFP_USER);
	spin_lock(&dev->lock);
	live = dev->state == GDA_DEVICE_LIVE;
	spin_unlock(&dev->lock);
	if (live)
		return 0;
	/* keep the id reserved */
	xa_store(&gda_contexts, ctx->id, XA_ZERO_ENTRY, GDA_GFP_USER);
	/* a reader may have found the context and may read the device that it names */
	synchronize_srcu_expedited(&gda_srcu);
	/* removal may have marked the unbound context dead: let it be bound to another device */
	WRITE_ONCE(ctx->dead, false);
	return -ENODEV;
}

/* Unlist a context. Wait for SRCU readers, which may still use it, before freeing it. */
void gda_device_del_context(struct gda_ctx *ctx)
{
	xa_erase(&gda_contexts, ctx->id);
}

/* Mark the device's contexts dead. One that is found is not freed before gda_read_unlock(). */
static void gda_device_kill_contexts(const struct gda_device *dev)
{
	unsigned long id = 0;
	struct gda_ctx *ctx;

	do {
		int idx = gda_read_lock();

		ctx = xa_find(&gda_contexts, &id, ULONG_MAX, XA_PRESENT);
		if (ctx && ctx->exec.dev == dev)
			WRITE_ONCE(ctx->dead, true);
		gda_read_unlock(idx);
		id++;
		cond_resched();
	} while (ctx);
}

/* From here on no context can be bound, and no call on a bound one begins. */
static void gda_device_retire(struct gda_device *dev)
{
	spin_lock(&gda_devices_lock);
	list_del(&dev->node);
	spin_unlock(&gda_devices_lock);

	spin_lock(&dev->lock);
	dev->state = GDA_DEVICE_REMOVED;
	spin_unlock(&dev->lock);
	gda_device_kill_contexts(dev);
	/* pairs with smp_mb() in gda_qp_publish(); exports are ordered by their lock */
	smp_mb();
}

/* Fail all QPs of the device. A QP found here is not freed before gda_read_unlock(). */
static void gda_device_fail_queues(struct gda_device *dev)
{
	unsigned long qpn = 0;
	struct gda_qp *qp;

	do {
		int idx = gda_read_lock();

		qp = xa_find(&dev->qps, &qpn, ULONG_MAX, XA_PRESENT);
		if (qp)
			gda_qp_fail(qp, GDA_CAUSE_DEVICE);
		gda_read_unlock(idx);
		qpn++;
		cond_resched();
	} while (qp);
}

void gda_device_unregister(struct gda_device *dev)
{
	gda_device_retire(dev);
	trace_gda_device(dev->id, READ_ONCE(dev->name), false);
	gda_notify_device(GDA_EVENT_KIND_DEVICE_REMOVED, dev);
	gda_device_fail_queues(dev);
	synchronize_srcu_expedited(&gda_srcu);
	gda_exports_revoke(dev);
	gda_device_unref(dev);
}
GDA_EXPORT(gda_device_unregister);

/* Return: the features that the device has with the kinds of memory registered now. */
static u64 gda_device_features(const struct gda_device *dev)
{
	u64 features = dev->features;

	if (!dev->ops->mr_reg && !gda_mem_kind_present(GDA_KIND_USER))
		features &= ~GDA_FEATURE_MR_USER;
	if (!gda_mem_kind_present(GDA_KIND_DMABUF))
		features &= ~(GDA_FEATURE_MR_DMABUF | GDA_FEATURE_QUEUE_DMABUF);
	if (!gda_mem_kind_present(GDA_KIND_PEER))
		features &= ~GDA_FEATURE_MR_PEER;
	if (gda_device_has_worker(dev))
		features |= GDA_FEATURE_RECORD;
	return features;
}

/* GDA_IOC_QUERY. Without a device, @dev is NULL and all limits are 0. */
void gda_device_query(const struct gda_device *dev, struct gda_query *cmd)
{
	const struct gda_device_limits none = { }, *l = dev ? &dev->limits : &none;

	*cmd = (struct gda_query) {
		.size = cmd->size,
		.abi = 1,
		.page_size = PAGE_SIZE,
		.features = { dev ? gda_device_features(dev) : 0 },
		.max_qp = l->max_qp,
		.max_cq = l->max_cq,
		.max_mr = l->max_mr,
		.max_counter = l->max_counter,
		.max_sq_depth = l->max_sq_depth,
		.max_cq_depth = l->max_cq_depth,
		.max_sge = l->max_sge,
		.max_inline = l->max_inline,
		.max_msg = l->max_msg,
		.max_mr_size = l->max_mr_size,
		.idle_ns = READ_ONCE(gda_limits.idle_us) * 1000ULL,
	};
}

/* GDA_IOC_DEVICE_INFO: the first device with an id above @cmd->after that belongs to no client. */
int gda_device_info(struct gda_device_info *cmd)
{
	struct gda_device *dev;
	int ret = -ENOENT;

	spin_lock(&gda_devices_lock);
	list_for_each_entry(dev, &gda_devices, node) {
		if (dev->id <= cmd->after || dev->ops->client)
			continue;
		*cmd = (struct gda_device_info) {
			.size = cmd->size,
			.after = cmd->after,
			.id = dev->id,
			.features = { gda_device_features(dev) },
		};
		strscpy(cmd->device, dev->name, sizeof(cmd->device));
		ret = 0;
		break;
	}
	spin_unlock(&gda_devices_lock);
	return ret;
}

/*
 * For netlink: find the first device with an id above *@id; return its id, limits and name.
 * Return: 0; -ENOENT there is none.
 */
int gda_device_next(u32 *id, struct gda_query *query)
{
	struct gda_device *dev;
	int ret = -ENOENT;

	spin_lock(&gda_devices_lock);
	list_for_each_entry(dev, &gda_devices, node) {
		if (dev->id <= *id)
			continue;
		*id = dev->id;
		gda_device_query(dev, query);
		strscpy(query->device, dev->name, sizeof(query->device));
		ret = 0;
		break;
	}
	spin_unlock(&gda_devices_lock);
	return ret;
}

/* Return: 0; -EOPNOTSUPP the device lacks some of @features. */
int gda_device_has(const struct gda_device *dev, u64 features)
{
	return features & ~dev->features ? -EOPNOTSUPP : 0;
}
