// SPDX-License-Identifier: GPL-2.0
/*
 * The software device, %GDA_DEVICE_SOFT: queues of contexts on this host, which the engine
 * executes in each context's worker. It exists from module load on and can be removed like any
 * other device: its driver, "gda_soft" on the platform bus, can be unbound. Each bind creates a
 * new device.
 */
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/slab.h>

#include "soft.h"

static void gda_soft_release(struct gda_device *dev)
{
	kfree(gda_soft_of(dev));
}

static const struct gda_executor_ops gda_soft_ops = {
	.owner = THIS_MODULE,
	.engine = true,
	.qp_size = sizeof(struct gda_soft_qp),
	.release = gda_soft_release,
	.qp_create = gda_soft_qp_create,
	.qp_address = gda_soft_address,
	.qp_connect = gda_soft_connect,
	.qp_find = gda_soft_find,
	.qp_peer = gda_soft_peer,
	.qp_disconnect = gda_soft_disconnect,
};

static int gda_soft_probe(struct platform_device *pdev)
{
	struct gda_soft *soft = kzalloc(sizeof(*soft), GFP_KERNEL);
	int ret;

	if (!soft)
		return -ENOMEM;
	soft->dev = (struct gda_device) {
		.name = GDA_DEVICE_SOFT,
		.ops = &gda_soft_ops,
		.features = gda_dialect_features(true) | GDA_FEATURE_CQ_COLLAPSED |
			    GDA_FEATURE_CQ_RING | GDA_FEATURE_MR_USER |
			    GDA_FEATURE_DOORBELL_FAULT | GDA_FEATURE_QP_POLLED |
			    GDA_FEATURE_CQ_EVENT | GDA_FEATURE_COUNTER |
			    GDA_FEATURE_MR_DMABUF | GDA_FEATURE_EXPORT | GDA_FEATURE_IMM |
			    GDA_FEATURE_MASKED | GDA_FEATURE_MR_PEER |
			    GDA_FEATURE_QUEUE_DMABUF | GDA_FEATURE_USER_INDEX |
			    GDA_FEATURE_IGNORE_OVERRUN | GDA_FEATURE_RNR_RETRY |
			    GDA_FEATURE_ATOMIC | GDA_FEATURE_ATOMIC_CPU |
			    GDA_FEATURE_WORD_STORE | GDA_FEATURE_LOOPBACK |
			    GDA_FEATURE_RECV_COUNTER | GDA_FEATURE_WAIT |
			    GDA_FEATURE_COUNTER_MEMORY,
		.limits = gda_device_max,
	};
	spin_lock_init(&soft->peer_lock);
	ret = gda_device_register(&soft->dev);
	if (ret) {
		gda_soft_release(&soft->dev);
		return ret;
	}
	platform_set_drvdata(pdev, soft);
	return 0;
}

static void gda_soft_remove(struct platform_device *pdev)
{
	struct gda_soft *soft = platform_get_drvdata(pdev);

	gda_device_unregister(&soft->dev);
}

GDA_PLATFORM_REMOVE(gda_soft_remove);

static struct platform_driver gda_soft_driver = {
	.driver.name = "gda_soft",
	.probe = gda_soft_probe,
	.remove = gda_platform_remove(gda_soft_remove),
};

static struct platform_device *gda_soft_pdev;

static int gda_soft_register(void)
{
	int ret = platform_driver_register(&gda_soft_driver);

	if (ret)
		return ret;
	gda_soft_pdev = platform_device_register_simple("gda_soft", PLATFORM_DEVID_NONE, NULL, 0);
	ret = PTR_ERR_OR_ZERO(gda_soft_pdev);
	/* the driver core keeps a platform device whose probe failed */
	if (!ret && !platform_get_drvdata(gda_soft_pdev)) {
		platform_device_unregister(gda_soft_pdev);
		ret = -ENOMEM;
	}
	if (ret)
		platform_driver_unregister(&gda_soft_driver);
	return ret;
}

int gda_soft_init(void)
{
	int ret = gda_soft_register();

	/*
	 * The driver core returns -EINVAL when it has no memory for a name or a directory; no
	 * argument here is invalid.
	 */
	return ret == -EINVAL ? -ENOMEM : ret;
}

void gda_soft_exit(void)
{
	platform_device_unregister(gda_soft_pdev);
	platform_driver_unregister(&gda_soft_driver);
}
