// SPDX-License-Identifier: GPL-2.0
/*
 * A dynamic importer of dma-bufs: an open file is a device, which attaches one, pins and
 * maps it, and counts how often it is told that it moves.
 *
 * @lock comes before the buffer's dma_resv, which guards @sgt and @notified. What
 * moved is let go at once, and mapped again when the test says so.
 */
#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include <gda/compat.h>
#include <gda/mem.h>

#include "ioctl.h"
#include "parts.h"

struct test_importer {
	struct mutex lock;	/* guards the next two */
	struct dma_buf *dmabuf;	/* NULL: nothing is attached */
	struct dma_buf_attachment *attach;
	struct sg_table *sgt;	/* pinned and mapped, or NULL */
	unsigned int notified;
};

static void test_importer_unmap(struct test_importer *imp)
{
	dma_resv_assert_held(imp->dmabuf->resv);
	if (!imp->sgt)
		return;
	dma_buf_unmap_attachment(imp->attach, imp->sgt, DMA_BIDIRECTIONAL);
	dma_buf_unpin(imp->attach);
	imp->sgt = NULL;
}

static int test_importer_map(struct test_importer *imp)
{
	struct sg_table *sgt;
	int ret;

	dma_resv_assert_held(imp->dmabuf->resv);
	if (imp->sgt)
		return -EBUSY;
	ret = dma_buf_pin(imp->attach);
	/* a pin that fails is one of the answers wanted, but so is that of the mapping */
	sgt = dma_buf_map_attachment(imp->attach, DMA_BIDIRECTIONAL);
	if (!ret && !IS_ERR(sgt)) {
		imp->sgt = sgt;
		return 0;
	}
	if (!IS_ERR(sgt))
		dma_buf_unmap_attachment(imp->attach, sgt, DMA_BIDIRECTIONAL);
	if (!ret)
		dma_buf_unpin(imp->attach);
	/* one without the other is none of them; not so want of memory, or of a way there */
	if (!ret && (PTR_ERR_OR_ZERO(sgt) == -ENOMEM || PTR_ERR_OR_ZERO(sgt) == -EMEDIUMTYPE))
		return PTR_ERR(sgt);
	return ret == PTR_ERR_OR_ZERO(sgt) ? ret : -EPROTO;
}

static void test_importer_notify(struct dma_buf_attachment *attach)
{
	struct test_importer *imp = attach->importer_priv;

	imp->notified++;
	test_importer_unmap(imp);
}

static const struct dma_buf_attach_ops test_importer_ops = {
	.allow_peer2peer = true,
	.invalidate_mappings = test_importer_notify,
};

static void test_importer_detach(struct test_importer *imp)
{
	dma_resv_lock(imp->dmabuf->resv, NULL);
	test_importer_unmap(imp);
	dma_resv_unlock(imp->dmabuf->resv);
	dma_buf_detach(imp->dmabuf, imp->attach);
	dma_buf_put(imp->dmabuf);
	imp->dmabuf = NULL;
}

static int test_importer_remap(struct test_importer *imp)
{
	int ret;

	dma_resv_lock(imp->dmabuf->resv, NULL);
	ret = test_importer_map(imp);
	dma_resv_unlock(imp->dmabuf->resv);
	return ret;
}

static int test_importer_attach(struct test_importer *imp, int fd)
{
	struct dma_buf *dmabuf;
	int ret;

	if (imp->dmabuf)
		return -EBUSY;
	dmabuf = dma_buf_get(fd);
	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	imp->dmabuf = dmabuf;
	imp->attach = dma_buf_dynamic_attach(dmabuf, gda_dma_device(), &test_importer_ops, imp);
	if (IS_ERR(imp->attach)) {
		imp->dmabuf = NULL;
		dma_buf_put(dmabuf);
		return PTR_ERR(imp->attach);
	}
	ret = test_importer_remap(imp);
	if (ret)
		test_importer_detach(imp);
	return ret;
}

static unsigned int test_importer_notified(struct test_importer *imp)
{
	unsigned int n;

	dma_resv_lock(imp->dmabuf->resv, NULL);
	n = imp->notified;
	dma_resv_unlock(imp->dmabuf->resv);
	return n;
}

static long test_importer_ioctl(struct file *file, unsigned int nr, unsigned long arg)
{
	struct test_importer *imp = file->private_data;
	long ret = -ENOTCONN;
	s32 fd;

	if (nr == GDA_TEST_ATTACH && get_user(fd, (s32 __user *)arg))
		return -EFAULT;
	mutex_lock(&imp->lock);
	if (nr == GDA_TEST_ATTACH)
		ret = test_importer_attach(imp, fd);
	else if (nr != GDA_TEST_MAP && nr != GDA_TEST_NOTIFIED)
		ret = -ENOTTY;
	else if (imp->dmabuf && nr == GDA_TEST_MAP)
		ret = test_importer_remap(imp);
	else if (imp->dmabuf)
		ret = put_user(test_importer_notified(imp), (u32 __user *)arg);
	mutex_unlock(&imp->lock);
	return ret;
}

static int test_importer_open(struct inode *inode, struct file *file)
{
	struct test_importer *imp = kzalloc(sizeof(*imp), GFP_KERNEL);

	if (!imp)
		return -ENOMEM;
	mutex_init(&imp->lock);
	file->private_data = imp;
	return 0;
}

static int test_importer_release(struct inode *inode, struct file *file)
{
	struct test_importer *imp = file->private_data;

	if (imp->dmabuf)
		test_importer_detach(imp);
	mutex_destroy(&imp->lock);
	kfree(imp);
	return 0;
}

static const struct file_operations test_importer_fops = {
	.owner = THIS_MODULE,
	.open = test_importer_open,
	.release = test_importer_release,
	.unlocked_ioctl = test_importer_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

struct miscdevice test_importer_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "gda_test_importer",
	.mode = 0600,
	.fops = &test_importer_fops,
};
