// SPDX-License-Identifier: GPL-2.0
/*
 * The node /dev/gda: module life, open and release. Everything else hangs off the
 * context that open creates; the last reference to the file destroys it.
 */
#include <linux/dma-mapping.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>

#include "gda_private.h"

DEFINE_SRCU(gda_srcu);

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

static struct miscdevice gda_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "gda",
	.nodename = "gda",
	.mode = 0660,
	.fops = &gda_fops,
};

struct device *gda_dma_device(void)
{
	return gda_misc.this_device;
}
GDA_EXPORT(gda_dma_device);

static int __init gda_init(void)
{
	int ret;

	ret = gda_soft_init();
	if (ret)
		return ret;
	gda_debugfs_init();
	ret = misc_register(&gda_misc);
	if (ret)
		goto err_debugfs;
	/* dma-bufs are attached in its name; "soft0" itself maps nothing for DMA */
	ret = dma_coerce_mask_and_coherent(gda_misc.this_device, DMA_BIT_MASK(64));
	if (ret)
		goto err_misc;
	return 0;

err_misc:
	misc_deregister(&gda_misc);
err_debugfs:
	gda_debugfs_exit();
	gda_soft_exit();
	return ret;
}

static void __exit gda_exit(void)
{
	misc_deregister(&gda_misc);
	gda_debugfs_exit();
	gda_soft_exit();
}

module_init(gda_init);
module_exit(gda_exit);

MODULE_DESCRIPTION("Device-initiated one-sided RDMA");
MODULE_LICENSE("GPL");
MODULE_SOFTDEP("post: gda_mr");
GDA_IMPORT_NS(DMA_BUF);
