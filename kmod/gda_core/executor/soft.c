// SPDX-License-Identifier: GPL-2.0
/*
 * The software device "soft0": queues of contexts on this host, executed by the
 * engine in each context's worker. There from the start, and as any other device it can
 * be taken away: its driver, "gda_soft" on the platform bus, can be unbound (ctx.c).
 *
 * Numbers (QPs, CQs, key indices) start at a random place and go round, so that one
 * is not used again soon after it died.
 */
#include <linux/platform_device.h>
#include <linux/random.h>
#include <linux/string.h>

#include "../gda_private.h"

struct gda_device gda_soft = {
	.name = "soft0",
	.features = GDA_FEATURE_DIALECT_MLX5 | GDA_FEATURE_CQ_COLLAPSED |
		    GDA_FEATURE_CQ_RING | GDA_FEATURE_DOORBELL_FAULT |
		    GDA_FEATURE_QP_POLLED | GDA_FEATURE_CQ_EVENT | GDA_FEATURE_COUNTER |
		    GDA_FEATURE_EXPORT | GDA_FEATURE_IMM | GDA_FEATURE_MASKED |
		    GDA_FEATURE_USER_INDEX | GDA_FEATURE_IGNORE_OVERRUN |
		    GDA_FEATURE_RNR_RETRY,
	.peer_lock = __SPIN_LOCK_UNLOCKED(gda_soft.peer_lock),
	.lock = __SPIN_LOCK_UNLOCKED(gda_soft.lock),
	.contexts = LIST_HEAD_INIT(gda_soft.contexts),
	.export_lock = __MUTEX_INITIALIZER(gda_soft.export_lock),
	.exports = LIST_HEAD_INIT(gda_soft.exports),
};

static int gda_soft_probe(struct platform_device *pdev)
{
	gda_device_attach(&gda_soft);
	return 0;
}

static void gda_soft_remove(struct platform_device *pdev)
{
	gda_device_detach(&gda_soft);
}

GDA_PLATFORM_REMOVE(gda_soft_remove);

static struct platform_driver gda_soft_driver = {
	.driver.name = "gda_soft",
	.probe = gda_soft_probe,
	.remove = gda_platform_remove(gda_soft_remove),
};

static struct platform_device *gda_soft_device;

static int gda_soft_register(void)
{
	int ret = platform_driver_register(&gda_soft_driver);

	if (ret)
		return ret;
	gda_soft_device = platform_device_register_simple("gda_soft", PLATFORM_DEVID_NONE, NULL,
							  0);
	ret = PTR_ERR_OR_ZERO(gda_soft_device);
	if (ret)
		platform_driver_unregister(&gda_soft_driver);
	return ret;
}

int gda_soft_init(void)
{
	int ret;

	xa_init_flags(&gda_soft.qps, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	xa_init_flags(&gda_soft.keys, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	gda_soft.next_qpn = get_random_u32() & 0xffffff;
	gda_soft.next_key = get_random_u32() & 0xffffff;
	ret = gda_soft_register();
	/*
	 * The driver core says so where it had no memory, for the name of a device or
	 * the folder of a driver, and goes on without; nothing else is invalid.
	 */
	return ret == -EINVAL ? -ENOMEM : ret;
}

void gda_soft_exit(void)
{
	platform_device_unregister(gda_soft_device);
	platform_driver_unregister(&gda_soft_driver);
	xa_destroy(&gda_soft.qps);
	xa_destroy(&gda_soft.keys);
}

struct gda_device *gda_device_find(const char *name)
{
	if (!name[0] || !strcmp(name, gda_soft.name))
		return &gda_soft;
	return NULL;
}
