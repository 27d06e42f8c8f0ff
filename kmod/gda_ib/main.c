// SPDX-License-Identifier: GPL-2.0
/*
 * This file owns the devices: one GDA device "ib:<name>" for each RDMA device whose driver this
 * module can use from the kernel.
 *
 * Only rdma_rxe and mlx5 are offered: when the kernel calls them, other drivers register memory of
 * the caller in ways of their own, or fail.
 */
#include <linux/module.h>
#include <linux/slab.h>

#include "gda_ib.h"

/*
 * Return: the name of the RDMA device as that of @ib, or NULL. A name that @ib has had is not
 * allocated again.
 */
static const char *gda_ib_name_get(struct gda_ib *ib)
{
	char name[GDA_DEVICE_NAME_MAX];
	struct gda_ib_name *n;

	snprintf(name, sizeof(name), "ib:%s", dev_name(&ib->ibdev->dev));
	for (n = ib->names; n; n = n->older)
		if (!strcmp(n->name, name))
			return n->name;
	n = kzalloc(sizeof(*n), GFP_KERNEL);
	if (!n)
		return NULL;
	strscpy(n->name, name, sizeof(n->name));
	n->older = ib->names;
	ib->names = n;
	return n->name;
}

static void gda_ib_discard(struct gda_ib *ib)
{
	struct gda_ib_name *n;

	while (ib->names) {
		n = ib->names;
		ib->names = n->older;
		kfree(n);
	}
	kfree(ib);
}

static void gda_ib_free(struct kref *ref)
{
	struct gda_ib *ib = container_of(ref, struct gda_ib, ref);

	WARN_ON_ONCE(!list_empty(&ib->ctxs) || !list_empty(&ib->qps) || !list_empty(&ib->mrs));
	xa_destroy(&ib->numbers);
	gda_ib_discard(ib);
}

static void gda_ib_release(struct gda_device *dev)
{
	kref_put(&gda_ib_of(dev)->ref, gda_ib_free);
}

static const struct gda_executor_ops gda_ib_ops = {
	.owner = THIS_MODULE,
	.release = gda_ib_release,
	.bind = gda_ib_bind,
	.unbind = gda_ib_unbind,
	.qp_create = gda_ib_qp_create,
	.qp_free = gda_ib_qp_free,
	.qp_address = gda_ib_qp_address,
	.qp_connect = gda_ib_qp_connect,
	.qp_disconnect = gda_ib_qp_disconnect,
	.mr_reg = gda_ib_mr_reg,
	.mr_dereg = gda_ib_mr_dereg,
	.visit = gda_ib_visit,
	.arm = gda_ib_arm,
	.softirq = true,
};

static bool gda_ib_usable(const struct ib_device *ibdev)
{
	const struct ib_device_ops *ops = &ibdev->ops;

	if (ops->driver_id != RDMA_DRIVER_RXE && ops->driver_id != RDMA_DRIVER_MLX5)
		return false;
	return ops->reg_user_mr && rdma_protocol_roce(ibdev, rdma_start_port(ibdev));
}

static u64 gda_ib_features(const struct ib_device *ibdev)
{
	u64 features = GDA_FEATURE_DIALECT_MLX5 | GDA_FEATURE_DOORBELL_FAULT |
		       GDA_FEATURE_EXPORT | gda_fabric_features(ibdev->attrs.atomic_cap);

	/* rdma_rxe reports this also for atomics that consist of a load and a store */
	if (ibdev->ops.driver_id == RDMA_DRIVER_RXE)
		features &= ~GDA_FEATURE_ATOMIC_CPU;
	return features;
}

static int gda_ib_init_limits(struct gda_ib *ib)
{
	struct gda_device_limits *limits = &ib->dev.limits;
	struct ib_device *ibdev = ib->ibdev;
	struct ib_port_attr port;
	int ret;

	ret = ib_query_port(ibdev, rdma_start_port(ibdev), &port);
	if (ret)
		return ret;
	*limits = gda_device_max;
	limits->max_qp = min_t(u32, limits->max_qp, ibdev->attrs.max_qp);
	limits->max_mr = min_t(u32, limits->max_mr, ibdev->attrs.max_mr);
	limits->max_sge = min_t(u32, limits->max_sge, ibdev->attrs.max_send_sge);
	limits->max_inline = GDA_FABRIC_MAX_INLINE;
	limits->max_msg = min(limits->max_msg, port.max_msg_sz);
	limits->max_mr_size = min_t(u64, limits->max_mr_size, ibdev->attrs.max_mr_size);
	return 0;
}

static struct gda_ib *gda_ib_create(struct ib_device *ibdev)
{
	struct gda_ib *ib = kzalloc(sizeof(*ib), GFP_KERNEL);
	int ret;

	if (!ib)
		return ERR_PTR(-ENOMEM);
	ib->ibdev = ibdev;
	kref_init(&ib->ref);
	refcount_set(&ib->calls, 1);
	init_completion(&ib->idle);
	init_completion(&ib->gone);
	spin_lock_init(&ib->lock);
	INIT_LIST_HEAD(&ib->ctxs);
	INIT_LIST_HEAD(&ib->qps);
	INIT_LIST_HEAD(&ib->mrs);
	xa_init(&ib->numbers);
	ib->dev.name = gda_ib_name_get(ib);
	ib->dev.ops = &gda_ib_ops;
	ib->dev.features = gda_ib_features(ibdev);
	ret = ib->dev.name ? gda_ib_init_limits(ib) : -ENOMEM;
	if (ret) {
		gda_ib_discard(ib);
		return ERR_PTR(ret);
	}
	return ib;
}

static int gda_ib_add(struct ib_device *ibdev);
static void gda_ib_remove(struct ib_device *ibdev, void *client_data);
static void gda_ib_rename(struct ib_device *ibdev, void *client_data);

static struct ib_client gda_ib_client = {
	.name = "gda",
	.add = gda_ib_add,
	.remove = gda_ib_remove,
	.rename = gda_ib_rename,
};

static int gda_ib_add(struct ib_device *ibdev)
{
	struct gda_ib *ib;
	int ret;

	if (!gda_ib_usable(ibdev))
		return -EOPNOTSUPP;
	ib = gda_ib_create(ibdev);
	if (IS_ERR(ib))
		return PTR_ERR(ib);
	gda_ib_show(ib);
	ret = gda_device_register(&ib->dev);
	if (!ret) {
		kref_get(&ib->ref);
		ib_set_client_data(ibdev, &gda_ib_client, ib);
		return 0;
	}
	gda_ib_hide(ib);
	/* a connection request may have found it meanwhile */
	gda_ib_exit(ib);
	wait_for_completion(&ib->idle);
	gda_ib_discard(ib);
	return ret;
}

/*
 * Without this the next RDMA device that gets the old name would find it taken. ib_core calls this
 * for one device at a time. Without memory for the new name the device keeps the old one.
 */
static void gda_ib_rename(struct ib_device *ibdev, void *client_data)
{
	struct gda_ib *ib = client_data;
	const char *name = ib ? gda_ib_name_get(ib) : NULL;

	if (name)
		gda_device_rename(&ib->dev, name);
}

/* Waits for calls that are under way, as every client has to, but for no context's owner. */
static void gda_ib_remove(struct ib_device *ibdev, void *client_data)
{
	struct gda_ib *ib = client_data;

	if (!ib)
		return;
	gda_ib_hide(ib);
	gda_device_unregister(&ib->dev);
	gda_ib_exit(ib);
	wait_for_completion(&ib->idle);
	gda_ib_qps_free(ib);
	gda_ib_mrs_free(ib);
	gda_ib_ctxs_free(ib);
	complete_all(&ib->gone);
	kref_put(&ib->ref, gda_ib_free);
}

static int __init gda_ib_init(void)
{
	int ret = -ENOMEM;

	gda_ib_wq = alloc_workqueue("gda_ib", WQ_UNBOUND, 0);
	if (!gda_ib_wq)
		return ret;
	gda_ib_probe_wq = alloc_workqueue("gda_ib_probe", WQ_UNBOUND, 0);
	if (!gda_ib_probe_wq)
		goto err_wq;
	ret = ib_register_client(&gda_ib_client);
	if (!ret)
		return 0;
	destroy_workqueue(gda_ib_probe_wq);
err_wq:
	destroy_workqueue(gda_ib_wq);
	return ret;
}

static void __exit gda_ib_exit_module(void)
{
	ib_unregister_client(&gda_ib_client);
	destroy_workqueue(gda_ib_probe_wq);
	destroy_workqueue(gda_ib_wq);
}

module_init(gda_ib_init);
module_exit(gda_ib_exit_module);

MODULE_DESCRIPTION("GDA over RDMA devices");
MODULE_LICENSE("GPL");
GDA_IMPORT_NS(GDA);
