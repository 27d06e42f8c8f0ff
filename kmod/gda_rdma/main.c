// SPDX-License-Identifier: GPL-2.0
/*
 * The module: one RDMA device, gda0, and its device of gda_core.
 *
 * The module serves existing verbs programs. It is not loaded automatically, and a machine with a
 * NIC does not need it. Only numbers and keys protect QPs from each other; so by default
 * (peers=user) a QP cannot reach the QPs of other users.
 */
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/slab.h>
#include <rdma/mlx5-abi.h>

#include <gda/compat.h>

#include "gda_rdma.h"

#define GDA_RDMA_NAME	"rdma:gda0"

bool gda_rdma_peers_any;
static const char *const gda_rdma_peers[] = { "user", "any" };

static int gda_rdma_set_peers(const char *val, const struct kernel_param *kp)
{
	int policy = sysfs_match_string(gda_rdma_peers, val);

	if (policy < 0)
		return policy;
	WRITE_ONCE(gda_rdma_peers_any, policy);
	return 0;
}

static int gda_rdma_get_peers(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%s\n", gda_rdma_peers[READ_ONCE(gda_rdma_peers_any)]);
}

static const struct kernel_param_ops gda_rdma_peers_ops = {
	.set = gda_rdma_set_peers,
	.get = gda_rdma_get_peers,
};

module_param_cb(peers, &gda_rdma_peers_ops, NULL, 0644);
MODULE_PARM_DESC(peers, "whose QPs a QP can have as its peer: user (its own user's), any");

static void gda_rdma_release(struct gda_device *dev)
{
	kfree(container_of(dev, struct gda_rdma, dev));
}

static const struct gda_executor_ops gda_rdma_executor = {
	.owner = THIS_MODULE,
	.client = true,
	.engine = true,
	.qp_size = sizeof(struct gda_rdma_end),
	.release = gda_rdma_release,
	.qp_peer = gda_rdma_peer,
	.qp_datagram = gda_rdma_datagram,
	.qp_disconnect = gda_rdma_disconnect,
};

GDA_IB_CREATE_CQ(gda_rdma_create_cq)
GDA_IB_RESIZE_CQ(gda_rdma_resize_cq)
GDA_IB_REG_USER_MR(gda_rdma_reg_mr)

static const struct ib_device_ops gda_rdma_ops = {
	.owner = THIS_MODULE,
	.driver_id = RDMA_DRIVER_MLX5,
	.uverbs_abi_ver = MLX5_IB_UVERBS_ABI_VERSION,
	.query_device = gda_rdma_query_device,
	.query_port = gda_rdma_query_port,
	.query_gid = gda_rdma_query_gid,
	.query_pkey = gda_rdma_query_pkey,
	.get_port_immutable = gda_rdma_port_immutable,
	.get_link_layer = gda_rdma_link_layer,
	.alloc_ucontext = gda_rdma_alloc_ucontext,
	.dealloc_ucontext = gda_rdma_dealloc_ucontext,
	.disassociate_ucontext = gda_rdma_disassociate_ucontext,
	.mmap = gda_rdma_mmap,
	.alloc_pd = gda_rdma_alloc_pd,
	.dealloc_pd = gda_rdma_dealloc_pd,
	.reg_user_mr = gda_ib_reg_user_mr(gda_rdma_reg_mr),
	.dereg_mr = gda_rdma_dereg_mr,
	.create_cq = gda_ib_create_cq(gda_rdma_create_cq),
	gda_ib_resize_cq(gda_rdma_resize_cq),
	.destroy_cq = gda_rdma_destroy_cq,
	.create_srq = gda_rdma_create_srq,
	.modify_srq = gda_rdma_modify_srq,
	.query_srq = gda_rdma_query_srq,
	.destroy_srq = gda_rdma_destroy_srq,
	.create_qp = gda_rdma_create_qp,
	.modify_qp = gda_rdma_modify_qp,
	.query_qp = gda_rdma_query_qp,
	.destroy_qp = gda_rdma_destroy_qp,
	INIT_RDMA_OBJ_SIZE(ib_ucontext, gda_rdma_ctx, ib),
	INIT_RDMA_OBJ_SIZE(ib_pd, gda_rdma_pd, ib),
	INIT_RDMA_OBJ_SIZE(ib_cq, gda_rdma_cq, ib),
	INIT_RDMA_OBJ_SIZE(ib_srq, gda_rdma_srq, ib),
	INIT_RDMA_OBJ_SIZE(ib_qp, gda_rdma_qp, ib),
};

static const struct uapi_definition gda_rdma_defs[] = {
	UAPI_DEF_CHAIN(gda_rdma_devx_defs),
	UAPI_DEF_CHAIN(gda_rdma_umem_defs),
	{ }
};

static struct platform_device *gda_rdma_pdev;
static int gda_rdma_probed = -ENODEV;	/* last return value of probe() */

/* Create the device of gda_core, which may outlive that of the RDMA subsystem. */
static struct gda_rdma *gda_rdma_create(void)
{
	struct gda_rdma *rdma = kzalloc(sizeof(*rdma), GFP_KERNEL);
	int ret;

	if (!rdma)
		return ERR_PTR(-ENOMEM);
	spin_lock_init(&rdma->peers_lock);
	gda_rdma_port_init(&rdma->port, cpu_to_be64(GDA_RDMA_GUID));
	rdma->dev = (struct gda_device) {
		.name = GDA_RDMA_NAME,
		.ops = &gda_rdma_executor,
		.features = GDA_FEATURE_DIALECT_MLX5 | GDA_FEATURE_CQ_RING |
			    GDA_FEATURE_MR_USER | GDA_FEATURE_DOORBELL_FAULT |
			    GDA_FEATURE_CQ_EVENT | GDA_FEATURE_USER_INDEX |
			    GDA_FEATURE_CQ_COLLAPSED | GDA_FEATURE_IGNORE_OVERRUN |
			    GDA_FEATURE_IMM |
			    GDA_FEATURE_RNR_RETRY | GDA_FEATURE_ATOMIC |
			    GDA_FEATURE_ATOMIC_CPU | GDA_FEATURE_WORD_STORE |
			    GDA_FEATURE_LOOPBACK,
		.limits = gda_device_max,
	};
	ret = gda_device_register(&rdma->dev);
	if (ret) {
		kfree(rdma);
		return ERR_PTR(ret);
	}
	return rdma;
}

static int gda_rdma_add(struct platform_device *pdev, struct gda_rdma *rdma)
{
	struct gda_rdma_device *device = ib_alloc_device(gda_rdma_device, ib);
	struct ib_device *ib;
	int ret;

	if (!device)
		return -ENOMEM;
	ib = &device->ib;
	device->rdma = rdma;
	rdma->ibdev = ib;
	ib->dev.parent = &pdev->dev;
	ib->node_type = RDMA_NODE_IB_CA;
	ib->node_guid = cpu_to_be64(GDA_RDMA_GUID);
	ib->phys_port_cnt = 1;
	ib->num_comp_vectors = 1;
	strscpy(ib->node_desc, "GDA", sizeof(ib->node_desc));
	ib->driver_def = gda_rdma_defs;
	ib_set_device_ops(ib, &gda_rdma_ops);
	ret = ib_register_device(ib, "gda%d", NULL);
	if (ret) {
		ib_dealloc_device(ib);
		return ret;
	}
	platform_set_drvdata(pdev, device);
	return 0;
}

static int gda_rdma_probe(struct platform_device *pdev)
{
	struct gda_rdma *rdma = gda_rdma_create();
	int ret;

	ret = PTR_ERR_OR_ZERO(rdma);
	if (!ret) {
		ret = gda_rdma_add(pdev, rdma);
		if (ret)
			gda_device_unregister(&rdma->dev);
	}
	gda_rdma_probed = ret;
	return ret;
}

/* Called at exit or when root unbinds the device: programs that have it open lose it. */
static void gda_rdma_remove(struct platform_device *pdev)
{
	struct gda_rdma_device *device = platform_get_drvdata(pdev);
	struct gda_rdma *rdma = device->rdma;

	ib_unregister_device(&device->ib);
	ib_dealloc_device(&device->ib);
	gda_device_unregister(&rdma->dev);
}
GDA_PLATFORM_REMOVE(gda_rdma_remove);

static struct platform_driver gda_rdma_driver = {
	.driver = {
		.name = "gda_rdma",
		.probe_type = PROBE_FORCE_SYNCHRONOUS,
	},
	.probe = gda_rdma_probe,
	.remove = gda_platform_remove(gda_rdma_remove),
};

static int __init gda_rdma_init(void)
{
	int ret;

	ret = platform_driver_register(&gda_rdma_driver);
	if (ret)
		return ret;
	gda_rdma_pdev = platform_device_register_simple("gda_rdma", PLATFORM_DEVID_NONE, NULL, 0);
	ret = PTR_ERR_OR_ZERO(gda_rdma_pdev);
	if (ret)
		goto err_driver;
	ret = gda_rdma_probed;
	if (ret)
		goto err_device;
	return 0;

err_device:
	platform_device_unregister(gda_rdma_pdev);
err_driver:
	platform_driver_unregister(&gda_rdma_driver);
	return ret;
}

static void __exit gda_rdma_exit(void)
{
	platform_device_unregister(gda_rdma_pdev);
	platform_driver_unregister(&gda_rdma_driver);
}

module_init(gda_rdma_init);
module_exit(gda_rdma_exit);

MODULE_DESCRIPTION("An RDMA device without a NIC: verbs on queues that gda_core carries out");
MODULE_LICENSE("GPL");
MODULE_SOFTDEP("post: ib_uverbs");
GDA_IMPORT_NS(GDA);
