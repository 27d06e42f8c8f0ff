// SPDX-License-Identifier: GPL-2.0
/*
 * gda_null: an executor of a module of its own, which the selftests list, bind, drive and take
 * away. It has two devices, "null0", whose every work request completes with an error, and
 * "null1", which has no visit() and carries out nothing at all. Both are there while the
 * platform driver "gda_null" is bound to its device.
 *
 * It counts what gda_core has made and not given back: the parameter "live".
 */
#include <linux/atomic.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <gda/compat.h>
#include <gda/executor.h>

#define NULL_DEVICES	2
#define NULL_MAGIC	0x4c4c554e	/* "NULL" */

static atomic_t null_live = ATOMIC_INIT(0);
static atomic_t null_keys = ATOMIC_INIT(0);

static int null_live_get(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%d\n", atomic_read(&null_live));
}

static const struct kernel_param_ops null_live_ops = { .get = null_live_get };
module_param_cb(live, &null_live_ops, NULL, 0444);
MODULE_PARM_DESC(live, "contexts, QPs, MRs and devices that were not given back");

static int null_bind(struct gda_executor_ctx *ctx)
{
	atomic_inc(&null_live);
	ctx->priv = ctx->dev;
	return 0;
}

static void null_unbind(struct gda_executor_ctx *ctx)
{
	WARN_ON_ONCE(ctx->priv != ctx->dev);
	atomic_dec(&null_live);
}

struct null_qp {
	bool connected;
};

static int null_qp_create(struct gda_executor_qp *qp)
{
	struct null_qp *null = kzalloc(sizeof(*null), GFP_KERNEL_ACCOUNT);

	if (!null)
		return -ENOMEM;
	qp->priv = null;
	atomic_inc(&null_live);
	return 0;
}

static void null_qp_free(struct gda_executor_qp *qp)
{
	kfree(qp->priv);
	atomic_dec(&null_live);
}

static void null_qp_address(struct gda_executor_qp *qp, u8 *address)
{
	const u32 name[] = { NULL_MAGIC, qp->number };

	memset(address, 0, GDA_ADDRESS_BYTES);
	memcpy(address, name, sizeof(name));
}

/* Any peer will do. */
static int null_qp_connect(struct gda_executor_qp *qp, const u8 *address)
{
	struct null_qp *null = qp->priv;
	u32 magic;

	memcpy(&magic, address, sizeof(magic));
	if (magic != NULL_MAGIC)
		return -EINVAL;
	if (null->connected)
		return -EALREADY;
	null->connected = true;
	gda_executor_qp_ready(qp);
	return 0;
}

static void null_qp_disconnect(struct gda_executor_qp *qp)
{
	struct null_qp *null = qp->priv;

	null->connected = false;
}

static int null_mr_map(struct gda_executor_mr *mr, const struct gda_executor_mr_attr *attr)
{
	if (!attr->backing || !attr->length)
		return -EINVAL;
	mr->key = (u32)atomic_inc_return(&null_keys);
	atomic_inc(&null_live);
	return 0;
}

static void null_mr_unmap(struct gda_executor_mr *mr)
{
	atomic_dec(&null_live);
}

static u32 null_visit(struct gda_executor_qp *qp, u32 wqes, u32 bytes)
{
	gda_executor_qp_fail(qp, gda_status(GDA_CLASS_QUEUE, GDA_CAUSE_OPCODE));
	return 1;
}

static void null_release(struct gda_device *dev)
{
	kfree(dev);
	atomic_dec(&null_live);
}

#define NULL_OPS(...) {					\
	.owner = THIS_MODULE,				\
	.release = null_release,			\
	.bind = null_bind,				\
	.unbind = null_unbind,				\
	.qp_create = null_qp_create,			\
	.qp_free = null_qp_free,			\
	.qp_address = null_qp_address,			\
	.qp_connect = null_qp_connect,			\
	.qp_disconnect = null_qp_disconnect,		\
	.mr_map = null_mr_map,				\
	.mr_unmap = null_mr_unmap,			\
	__VA_ARGS__					\
}

static const struct gda_executor_ops null_ops[NULL_DEVICES] = {
	NULL_OPS(.visit = null_visit),
	NULL_OPS(),
};

static const char * const null_names[NULL_DEVICES] = { "null0", "null1" };

struct null_pair {
	struct gda_device *dev[NULL_DEVICES];
};

static struct gda_device *null_device_create(int i)
{
	struct gda_device *dev = kzalloc(sizeof(*dev), GFP_KERNEL);
	int ret;

	if (!dev)
		return ERR_PTR(-ENOMEM);
	dev->name = null_names[i];
	dev->ops = &null_ops[i];
	dev->features = GDA_FEATURE_DIALECT_MLX5 | GDA_FEATURE_CQ_COLLAPSED |
			GDA_FEATURE_MR_USER | GDA_FEATURE_DOORBELL_FAULT;
	dev->limits = gda_device_max;
	dev->limits.max_qp = 2;
	dev->limits.max_cq = 3;
	dev->limits.max_mr = 2;
	dev->limits.max_counter = 0;
	dev->limits.max_sq_depth = 64;
	dev->limits.max_cq_depth = 128;
	dev->limits.max_mr_size = 1 << 20;
	atomic_inc(&null_live);
	ret = gda_device_register(dev);
	if (!ret)
		return dev;
	null_release(dev);
	return ERR_PTR(ret);
}

static int null_probe(struct platform_device *pdev)
{
	struct null_pair *pair = devm_kzalloc(&pdev->dev, sizeof(*pair), GFP_KERNEL);
	int i;

	if (!pair)
		return -ENOMEM;
	for (i = 0; i < NULL_DEVICES; i++) {
		int ret;

		pair->dev[i] = null_device_create(i);
		ret = PTR_ERR_OR_ZERO(pair->dev[i]);
		if (!ret)
			continue;
		while (i--)
			gda_device_unregister(pair->dev[i]);
		return ret;
	}
	platform_set_drvdata(pdev, pair);
	return 0;
}

static void null_remove(struct platform_device *pdev)
{
	struct null_pair *pair = platform_get_drvdata(pdev);
	int i;

	for (i = NULL_DEVICES; i--;)
		gda_device_unregister(pair->dev[i]);
}

GDA_PLATFORM_REMOVE(null_remove);

static struct platform_driver null_driver = {
	.driver.name = "gda_null",
	.probe = null_probe,
	.remove = gda_platform_remove(null_remove),
};

static struct platform_device *null_pdev;

/* Devices that are refused. Return: 0, or -EUCLEAN where one was not, or in another way. */
static int __init null_check_refusals(void)
{
	static const struct gda_executor_ops no_ops = { .owner = THIS_MODULE };
	static const struct {
		const char *name;
		const struct gda_executor_ops *ops;
		u64 features;
		u32 more_qps;
		int ret;
	} refused[] = {
		{ "", &null_ops[0], 0, 0, -EINVAL },
		{ GDA_DEVICE_SOFT, &null_ops[0], 0, 0, -EEXIST },
		{ "null2", &no_ops, 0, 0, -EINVAL },
		{ "null2", &null_ops[0], 0, 1, -EINVAL },
		{ "null2", &null_ops[1], GDA_FEATURE_CQ_EVENT, 0, -EINVAL },
		{ "null2", &null_ops[1], GDA_FEATURE_QUEUE_DMABUF, 0, -EINVAL },
	};
	struct gda_device *dev = kzalloc(sizeof(*dev), GFP_KERNEL);
	int i, ret = dev ? 0 : -ENOMEM;

	for (i = 0; !ret && i < ARRAY_SIZE(refused); i++) {
		dev->name = refused[i].name;
		dev->ops = refused[i].ops;
		dev->features = refused[i].features;
		dev->limits = gda_device_max;
		dev->limits.max_qp += refused[i].more_qps;
		if (gda_device_register(dev) != refused[i].ret)
			ret = -EUCLEAN;
	}
	kfree(dev);
	return ret;
}

static int __init null_init(void)
{
	int ret = null_check_refusals();

	if (!ret)
		ret = platform_driver_register(&null_driver);
	if (ret)
		return ret;
	null_pdev = platform_device_register_simple("gda_null", PLATFORM_DEVID_NONE, NULL, 0);
	ret = PTR_ERR_OR_ZERO(null_pdev);
	if (ret)
		platform_driver_unregister(&null_driver);
	return ret;
}

static void __exit null_exit(void)
{
	platform_device_unregister(null_pdev);
	platform_driver_unregister(&null_driver);
}

module_init(null_init);
module_exit(null_exit);

MODULE_DESCRIPTION("An executor that completes everything with an error");
MODULE_LICENSE("GPL");
GDA_IMPORT_NS(GDA);
