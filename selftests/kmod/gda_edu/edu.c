// SPDX-License-Identifier: GPL-2.0
/*
 * gda_edu: a driver of QEMU's device "edu", for what the selftests ask of a device: it
 * attaches dma-bufs, and has the device's own DMA engine copy to and from wherever it
 * is told. The device is let at nothing but what its IOMMU maps; without one that
 * translates there is no node.
 *
 * The engine copies between memory and 4 KiB of its own, so everything goes through
 * there, from and to a buffer of ours. @edu->lock guards the engine and that buffer.
 * The table @file->maps guards itself; @map->sgt is guarded by the buffer's dma_resv.
 */
#include <linux/delay.h>
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/dma-resv.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/iommu.h>
#include <linux/iopoll.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/xarray.h>

#include <gda/compat.h>

#include "ioctl.h"

#define EDU_DMA_FROM	0x80
#define EDU_DMA_TO	0x88
#define EDU_DMA_BYTES	0x90
#define EDU_DMA_COMMAND	0x98
#define EDU_RUN		1U
#define EDU_TO_MEMORY	2U
#define EDU_OWN_MEMORY	0x40000

#define EDU_MAX_MAPS	XA_LIMIT(1, 1024)

struct edu_device {
	struct mutex lock;	/* the engine and @bounce */
	struct device *dev;
	void __iomem *regs;
	void *bounce;
	dma_addr_t bounce_addr;
	struct miscdevice misc;
};

struct edu_file {
	struct edu_device *edu;
	struct xarray maps;
};

struct edu_map {
	struct dma_buf *dmabuf;
	struct dma_buf_attachment *attach;
	enum dma_data_direction dir;
	struct sg_table *sgt;	/* NULL: it moved */
};

static void edu_unmap_locked(struct edu_map *map)
{
	dma_resv_assert_held(map->dmabuf->resv);
	if (map->sgt)
		dma_buf_unmap_attachment(map->attach, map->sgt, map->dir);
	map->sgt = NULL;
}

/* A copy under way hits what the IOMMU maps no more. */
static void edu_invalidate(struct dma_buf_attachment *attach)
{
	edu_unmap_locked(attach->importer_priv);
}

static const struct dma_buf_attach_ops edu_attach_ops = {
	.allow_peer2peer = true,
	.invalidate_mappings = edu_invalidate,
};

static void edu_map_destroy(struct edu_map *map)
{
	dma_resv_lock(map->dmabuf->resv, NULL);
	edu_unmap_locked(map);
	dma_resv_unlock(map->dmabuf->resv);
	dma_buf_detach(map->dmabuf, map->attach);
	dma_buf_put(map->dmabuf);
	kfree(map);
}

/* The IOMMU makes it one piece, or it is not for this device. */
static int edu_map_open(struct edu_map *map, struct gda_edu_attach *cmd)
{
	struct sg_table *sgt;
	int ret = 0;

	dma_resv_lock(map->dmabuf->resv, NULL);
	sgt = dma_buf_map_attachment(map->attach, map->dir);
	if (IS_ERR(sgt)) {
		ret = PTR_ERR(sgt);
		goto out;
	}
	map->sgt = sgt;
	cmd->iova = sg_dma_address(sgt->sgl);
	cmd->length = map->dmabuf->size;
	if (sgt->nents != 1)
		ret = -EFBIG;
out:
	dma_resv_unlock(map->dmabuf->resv);
	return ret;
}

static struct edu_map *edu_map_create(struct edu_device *edu, struct gda_edu_attach *cmd)
{
	struct edu_map *map = kzalloc(sizeof(*map), GFP_KERNEL);
	int ret;

	if (!map)
		return ERR_PTR(-ENOMEM);
	map->dir = cmd->flags & GDA_EDU_READ_ONLY ? DMA_TO_DEVICE : DMA_BIDIRECTIONAL;
	map->dmabuf = dma_buf_get(cmd->fd);
	if (IS_ERR(map->dmabuf)) {
		ret = PTR_ERR(map->dmabuf);
		goto err_kfree;
	}
	if (cmd->flags & GDA_EDU_DYNAMIC)
		map->attach = dma_buf_dynamic_attach(map->dmabuf, edu->dev, &edu_attach_ops, map);
	else
		map->attach = dma_buf_attach(map->dmabuf, edu->dev);
	if (IS_ERR(map->attach)) {
		ret = PTR_ERR(map->attach);
		goto err_put;
	}
	ret = edu_map_open(map, cmd);
	if (!ret)
		return map;
	edu_map_destroy(map);
	return ERR_PTR(ret);

err_put:
	dma_buf_put(map->dmabuf);
err_kfree:
	kfree(map);
	return ERR_PTR(ret);
}

static long edu_attach(struct edu_file *file, struct gda_edu_attach *cmd)
{
	struct edu_map *map;
	int ret;

	if (cmd->reserved || (cmd->flags && cmd->flags != GDA_EDU_READ_ONLY &&
			      cmd->flags != GDA_EDU_DYNAMIC))
		return -EINVAL;
	map = edu_map_create(file->edu, cmd);
	if (IS_ERR(map))
		return PTR_ERR(map);
	ret = xa_alloc(&file->maps, &cmd->id, map, EDU_MAX_MAPS, GFP_KERNEL);
	if (ret)
		edu_map_destroy(map);
	return ret;
}

static long edu_detach(struct edu_file *file, const struct gda_edu_detach *cmd)
{
	struct edu_map *map = xa_erase(&file->maps, cmd->id);

	if (!map)
		return -ENOENT;
	edu_map_destroy(map);
	return 0;
}

static int edu_run(struct edu_device *edu, u64 from, u64 to, u32 bytes, u32 command)
{
	u64 state;

	lockdep_assert_held(&edu->lock);
	writeq(from, edu->regs + EDU_DMA_FROM);
	writeq(to, edu->regs + EDU_DMA_TO);
	writeq(bytes, edu->regs + EDU_DMA_BYTES);
	writeq(command | EDU_RUN, edu->regs + EDU_DMA_COMMAND);
	return readq_poll_timeout(edu->regs + EDU_DMA_COMMAND, state, !(state & EDU_RUN),
				  1000, 10 * USEC_PER_SEC);
}

/* From one address to another, both as the device sees them. */
static int edu_copy_between(struct edu_device *edu, u64 from, u64 to, u32 bytes)
{
	int ret = edu_run(edu, from, EDU_OWN_MEMORY, bytes, 0);

	return ret ?: edu_run(edu, EDU_OWN_MEMORY, to, bytes, EDU_TO_MEMORY);
}

static long edu_copy(struct edu_file *file, const struct gda_edu_copy *cmd)
{
	struct edu_device *edu = file->edu;
	void __user *data = u64_to_user_ptr(cmd->data);
	int ret;

	if (!cmd->length || cmd->length > GDA_EDU_MAX_COPY || cmd->flags & ~GDA_EDU_WRITE)
		return -EINVAL;
	if (mutex_lock_interruptible(&edu->lock))
		return -EINTR;
	if (cmd->flags & GDA_EDU_WRITE) {
		ret = copy_from_user(edu->bounce, data, cmd->length) ? -EFAULT : 0;
		ret = ret ?: edu_copy_between(edu, edu->bounce_addr, cmd->iova, cmd->length);
	} else {
		ret = edu_copy_between(edu, cmd->iova, edu->bounce_addr, cmd->length);
		if (!ret && copy_to_user(data, edu->bounce, cmd->length))
			ret = -EFAULT;
	}
	mutex_unlock(&edu->lock);
	return ret;
}

static long edu_ioctl(struct file *filp, unsigned int nr, unsigned long arg)
{
	struct edu_file *file = filp->private_data;
	void __user *user = (void __user *)arg;
	union {
		struct gda_edu_attach attach;
		struct gda_edu_detach detach;
		struct gda_edu_copy copy;
	} cmd;
	long ret;

	if (nr != GDA_EDU_ATTACH && nr != GDA_EDU_DETACH && nr != GDA_EDU_COPY)
		return -ENOTTY;
	if (copy_from_user(&cmd, user, _IOC_SIZE(nr)))
		return -EFAULT;
	switch (nr) {
	case GDA_EDU_DETACH:
		return edu_detach(file, &cmd.detach);
	case GDA_EDU_COPY:
		return edu_copy(file, &cmd.copy);
	}
	ret = edu_attach(file, &cmd.attach);
	/* a mapping that cannot be told ends with the file */
	if (!ret && copy_to_user(user, &cmd, _IOC_SIZE(nr)))
		return -EFAULT;
	return ret;
}

static int edu_open(struct inode *inode, struct file *filp)
{
	struct edu_file *file = kzalloc(sizeof(*file), GFP_KERNEL);

	if (!file)
		return -ENOMEM;
	file->edu = container_of(filp->private_data, struct edu_device, misc);
	xa_init_flags(&file->maps, XA_FLAGS_ALLOC1);
	filp->private_data = file;
	return 0;
}

static int edu_release(struct inode *inode, struct file *filp)
{
	struct edu_file *file = filp->private_data;
	struct edu_map *map;
	unsigned long id;

	xa_for_each(&file->maps, id, map)
		edu_map_destroy(map);
	xa_destroy(&file->maps);
	kfree(file);
	return 0;
}

static const struct file_operations edu_fops = {
	.owner = THIS_MODULE,
	.open = edu_open,
	.release = edu_release,
	.unlocked_ioctl = edu_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

static int edu_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(&pdev->dev);
	struct edu_device *edu;
	int ret;

	if (!domain || !(domain->type & __IOMMU_DOMAIN_PAGING))
		return -ENODEV;
	edu = devm_kzalloc(&pdev->dev, sizeof(*edu), GFP_KERNEL);
	if (!edu)
		return -ENOMEM;
	ret = pcim_enable_device(pdev);
	if (ret)
		return ret;
	ret = pcim_iomap_regions(pdev, BIT(0), KBUILD_MODNAME);
	if (ret)
		return ret;
	ret = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(64));
	if (ret)
		return ret;
	mutex_init(&edu->lock);
	edu->dev = &pdev->dev;
	edu->regs = pcim_iomap_table(pdev)[0];
	edu->bounce = dmam_alloc_coherent(edu->dev, GDA_EDU_MAX_COPY, &edu->bounce_addr,
					  GFP_KERNEL);
	if (!edu->bounce)
		return -ENOMEM;
	pci_set_master(pdev);
	pci_set_drvdata(pdev, edu);
	edu->misc.minor = MISC_DYNAMIC_MINOR;
	edu->misc.name = "gda_edu";
	edu->misc.mode = 0600;
	edu->misc.fops = &edu_fops;
	return misc_register(&edu->misc);
}

/* No file is open: they hold the module, and the device cannot be unbound by hand. */
static void edu_remove(struct pci_dev *pdev)
{
	struct edu_device *edu = pci_get_drvdata(pdev);

	misc_deregister(&edu->misc);
	pci_clear_master(pdev);
}

static const struct pci_device_id edu_ids[] = {
	{ PCI_DEVICE(0x1234, 0x11e8) },
	{ }
};
MODULE_DEVICE_TABLE(pci, edu_ids);

static struct pci_driver edu_driver = {
	.name = "edu",
	.id_table = edu_ids,
	.probe = edu_probe,
	.remove = edu_remove,
	.driver.suppress_bind_attrs = true,
};

module_pci_driver(edu_driver);

MODULE_DESCRIPTION("A device that GDA's selftests let at queues");
MODULE_LICENSE("GPL");
GDA_IMPORT_NS(DMA_BUF);
