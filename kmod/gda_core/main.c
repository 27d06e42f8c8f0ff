// SPDX-License-Identifier: GPL-2.0
/*
 * The node /dev/gda: module init and exit, open and release. Opening creates a context, which
 * holds everything else; the last reference to the file destroys it.
 *
 * The node is a character device of its own. A misc device's open() runs under a mutex of
 * all misc devices: one user who is throttled there by cpu.max would stall every other open.
 */
#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/dma-mapping.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/workqueue.h>

#include "executor/soft/soft.h"
#include "gda_private.h"

DEFINE_SRCU(gda_srcu);

struct workqueue_struct *gda_wq;

static int gda_open(struct inode *inode, struct file *file)
{
	struct gda_ctx *ctx = gda_ctx_create(file);

	if (IS_ERR(ctx))
		return PTR_ERR(ctx);
	file->private_data = ctx;
	return 0;
}

static int gda_release(struct inode *inode, struct file *file)
{
	gda_ctx_destroy(file->private_data, file);
	return 0;
}

static const struct file_operations gda_fops = {
	.owner = THIS_MODULE,
	.open = gda_open,
	.release = gda_release,
	.unlocked_ioctl = gda_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = gda_mmap,
};

static char *gda_devnode(GDA_DEVNODE_CONST struct device *dev, umode_t *mode)
{
	if (mode)
		*mode = 0660;
	return NULL;
}

static struct class gda_class = {
	.name = "gda",
	.devnode = gda_devnode,
};

static dev_t gda_devt;
static struct cdev *gda_cdev;
static struct device *gda_device;

struct device *gda_dma_device(void)
{
	return gda_device;
}
GDA_EXPORT(gda_dma_device);

/* registered last: from here on a process may hold the module open, so nothing may fail */
static int __init gda_cdev_add(void)
{
	int ret;

	gda_cdev = cdev_alloc();
	if (!gda_cdev)
		return -ENOMEM;
	gda_cdev->owner = THIS_MODULE;
	gda_cdev->ops = &gda_fops;
	ret = cdev_add(gda_cdev, gda_devt, 1);
	if (ret)
		kobject_put(&gda_cdev->kobj);
	return ret;
}

static int __init gda_node_create(void)
{
	int ret;

	ret = alloc_chrdev_region(&gda_devt, 0, 1, "gda");
	if (ret)
		return ret;
	ret = class_register(&gda_class);
	if (ret)
		goto err_region;
	gda_device = device_create(&gda_class, NULL, gda_devt, NULL, "gda");
	if (IS_ERR(gda_device)) {
		ret = PTR_ERR(gda_device);
		goto err_class;
	}
	/*
	 * gda_mr attaches dma-bufs with this device; the software device itself maps nothing for
	 * DMA
	 */
	ret = dma_coerce_mask_and_coherent(gda_device, DMA_BIT_MASK(64));
	if (!ret)
		ret = gda_cdev_add();
	if (ret)
		goto err_device;
	return 0;

err_device:
	device_destroy(&gda_class, gda_devt);
err_class:
	class_unregister(&gda_class);
err_region:
	unregister_chrdev_region(gda_devt, 1);
	return ret;
}

static void __exit gda_node_destroy(void)
{
	cdev_del(gda_cdev);
	device_destroy(&gda_class, gda_devt);
	class_unregister(&gda_class);
	unregister_chrdev_region(gda_devt, 1);
}

static int __init gda_init(void)
{
	int ret;

	gda_wq = alloc_workqueue("gda", WQ_UNBOUND, 0);
	if (!gda_wq)
		return -ENOMEM;
	ret = gda_fs_mount();
	if (ret)
		goto err_wq;
	ret = gda_soft_init();
	if (ret)
		goto err_fs;
	ret = gda_netlink_init();
	if (ret)
		goto err_soft;
	ret = gda_node_create();
	if (ret)
		goto err_netlink;
	return 0;

err_netlink:
	gda_netlink_exit();
err_soft:
	gda_soft_exit();
err_fs:
	gda_fs_unmount();
err_wq:
	destroy_workqueue(gda_wq);
	return ret;
}

static void __exit gda_exit(void)
{
	/* wait until no task is preempted in the return path of gda_fault_yield() */
	synchronize_rcu_tasks();
	gda_node_destroy();
	gda_netlink_exit();
	gda_soft_exit();
	gda_payer_exit();
	gda_dead_exit();
	gda_fs_unmount();
	destroy_workqueue(gda_wq);
}

module_init(gda_init);
module_exit(gda_exit);

MODULE_DESCRIPTION("Device-initiated one-sided RDMA");
MODULE_LICENSE("GPL");
MODULE_SOFTDEP("post: gda_mr");
GDA_IMPORT_NS(DMA_BUF);
