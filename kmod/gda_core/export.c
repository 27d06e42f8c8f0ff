// SPDX-License-Identifier: GPL-2.0
/*
 * Regions as dma-bufs, so that other drivers (a GPU's) can map a queue, a doorbell or a CQ for
 * their device. The dma-buf holds the region, never the object or the context: after these are gone
 * the region is ordinary memory, which gda_core does not read.
 *
 * Pages never move. When the device is removed, its exports are revoked: importers with
 * invalidate_mappings() are notified, and attaching, mapping and registering fail from then on.
 * Existing mappings, by CPUs and by importers without invalidate_mappings(), stay, as mappings of
 * /dev/gda do; stores to them are not executed.
 *
 * A read-only region stays read-only: the dma-buf has no writable mapping, and devices only read.
 * It is exported as a static exporter, because for static importers of a dynamic exporter the
 * kernel maps in both directions. The kernel does so for dynamic importers of a static exporter,
 * too, so those are refused.
 *
 * An export is in its device's list until it is revoked or released, whichever is first.
 * dev->export_lock guards the list and is held while one export is revoked, so the dma-buf stays:
 * its release waits for the lock. @gone is set under the dma_resv.
 */
#include <linux/device.h>
#include <linux/dma-buf.h>
#include <linux/dma-direct.h>
#include <linux/dma-map-ops.h>
#include <linux/dma-mapping.h>
#include <linux/dma-resv.h>
#include <linux/iommu.h>
#include <linux/iosys-map.h>
#include <linux/slab.h>

#include "gda_private.h"

struct gda_export {
	struct gda_region *region;	/* held */
	struct gda_device *dev;		/* held */
	struct dma_buf *dmabuf;
	struct list_head node;		/* in dev->exports */
	bool gone;			/* for good */
};

static int gda_export_check(const struct dma_buf *dmabuf)
{
	const struct gda_export *export = dmabuf->priv;

	return READ_ONCE(export->gone) ? -ENODEV : 0;
}

static int gda_export_attach(struct dma_buf *dmabuf, struct dma_buf_attachment *attach)
{
	return gda_export_check(dmabuf);
}

/* Pages never move, but importers pin them all the same. */
static int gda_export_pin(struct dma_buf_attachment *attach)
{
	dma_resv_assert_held(attach->dmabuf->resv);
	return gda_export_check(attach->dmabuf);
}

static void gda_export_unpin(struct dma_buf_attachment *attach)
{
	dma_resv_assert_held(attach->dmabuf->resv);
}

/* Return: the physical address of the memory that @dev reaches at @addr. */
static phys_addr_t gda_export_phys(struct device *dev, struct iommu_domain *domain,
				   dma_addr_t addr)
{
	phys_addr_t phys = domain ? iommu_iova_to_phys(domain, addr) : addr;

	/* there is no IOMMU, or it passes addresses through: the DMA layer alone translates */
	return phys == addr ? dma_to_phys(dev, addr) : phys;
}

/*
 * Return: whether the device sees a copy of the region instead of the region. The DMA layer makes
 * one (swiotlb) where the device does not reach the pages or may not see all of them, and then no
 * code keeps the copy and the queue the same. An address that an IOMMU translates is followed to
 * the page that it maps. Where another layer translates (Xen's), a copy cannot be told from the
 * region, and the mapping counts as good.
 */
static bool gda_export_bounced(struct device *dev, const struct gda_region *region,
			       struct sg_table *sgt)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(dev);
	struct scatterlist *sg;
	unsigned int page = 0;
	unsigned long off;
	int i;

	if (!domain && get_dma_ops(dev))
		return false;
	for_each_sgtable_dma_sg(sgt, sg, i) {
		for (off = 0; off < sg_dma_len(sg); off += PAGE_SIZE, page++) {
			phys_addr_t phys = gda_export_phys(dev, domain, sg_dma_address(sg) + off);

			if (!region->provider->page_at(region, page, phys))
				return true;
		}
	}
	return false;
}

static struct sg_table *gda_export_map(struct dma_buf_attachment *attach,
				       enum dma_data_direction dir)
{
	const struct gda_export *export = attach->dmabuf->priv;
	struct gda_region *region = export->region;
	struct sg_table *sgt;
	int ret;

	ret = gda_export_check(attach->dmabuf);
	if (ret)
		return ERR_PTR(ret);
	if (region->map == GDA_MAP_RO && dir != DMA_TO_DEVICE)
		return ERR_PTR(-EACCES);
	sgt = kzalloc(sizeof(*sgt), GDA_GFP_USER);
	if (!sgt)
		return ERR_PTR(-ENOMEM);
	ret = region->provider->sg_alloc(region, sgt);
	if (ret)
		goto err_kfree;
	/*
	 * The pages belong to us and the CPU while others have them mapped, too, any number of
	 * times: an importer that needs a sync asks for it.
	 */
	ret = dma_map_sgtable(attach->dev, sgt, dir, DMA_ATTR_SKIP_CPU_SYNC);
	if (ret)
		goto err_table;
	if (gda_export_bounced(attach->dev, region, sgt)) {
		ret = -EMEDIUMTYPE;
		goto err_map;
	}
	return sgt;

err_map:
	dma_unmap_sgtable(attach->dev, sgt, dir, DMA_ATTR_SKIP_CPU_SYNC);
err_table:
	sg_free_table(sgt);
err_kfree:
	kfree(sgt);
	return ERR_PTR(ret);
}

static void gda_export_unmap(struct dma_buf_attachment *attach, struct sg_table *sgt,
			     enum dma_data_direction dir)
{
	dma_unmap_sgtable(attach->dev, sgt, dir, DMA_ATTR_SKIP_CPU_SYNC);
	sg_free_table(sgt);
	kfree(sgt);
}

/* Cannot fail: the dma-buf core warns if it does. Attaching a revoked export was refused. */
static int gda_export_vmap(struct dma_buf *dmabuf, struct iosys_map *map)
{
	const struct gda_export *export = dmabuf->priv;

	iosys_map_set_vaddr(map, export->region->kaddr);
	return 0;
}

static vm_fault_t gda_export_fault(struct vm_fault *vmf)
{
	struct gda_region *region = vmf->vma->vm_private_data;

	if (vmf->pgoff >= region->npages)
		return VM_FAULT_SIGBUS;
	return region->provider->insert(region, vmf->vma, vmf->address & PAGE_MASK, vmf->pgoff);
}

static const struct vm_operations_struct gda_export_vm_ops = {
	.fault = gda_export_fault,
};

static int gda_export_mmap(struct dma_buf *dmabuf, struct vm_area_struct *vma)
{
	const struct gda_export *export = dmabuf->priv;
	struct gda_region *region = export->region;
	int ret;

	ret = gda_export_check(dmabuf);
	if (ret)
		return ret;
	/* mmap() clears VM_SHARED if the file is not open for writing */
	if (!(vma->vm_flags & VM_MAYSHARE))
		return -EINVAL;
	if (vma->vm_flags & VM_EXEC)
		return -EPERM;
	vm_flags_clear(vma, VM_MAYEXEC);
	if (region->map == GDA_MAP_RO) {
		if (vma->vm_flags & VM_WRITE)
			return -EPERM;
		vm_flags_clear(vma, VM_MAYWRITE);
	}
	/* the VMA holds the dma-buf's file, which holds the region */
	vm_flags_set(vma, VM_MIXEDMAP | VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_private_data = region;
	vma->vm_ops = &gda_export_vm_ops;
	return 0;
}

/*
 * The last reference is gone: no CPU mapping or attachment is left, and all stores through them are
 * done.
 */
static void gda_export_release(struct dma_buf *dmabuf)
{
	struct gda_export *export = dmabuf->priv;

	mutex_lock(&export->dev->export_lock);
	list_del(&export->node);
	mutex_unlock(&export->dev->export_lock);
	/* pairs with the scan in gda_doorbell_unmap() */
	smp_mb__before_atomic();
	atomic_dec(&export->region->exports);
	gda_region_put(export->region);
	gda_device_put(export->dev);
	kfree(export);
}

static const struct dma_buf_ops gda_export_ops = {
	.attach = gda_export_attach,
	.pin = gda_export_pin,
	.unpin = gda_export_unpin,
	.map_dma_buf = gda_export_map,
	.unmap_dma_buf = gda_export_unmap,
	.vmap = gda_export_vmap,
	.mmap = gda_export_mmap,
	.release = gda_export_release,
};

/* No vmap of a read-only region: a kernel mapping is writable, and the core warns if vmap fails. */
static const struct dma_buf_ops gda_export_ro_ops = {
	.attach = gda_export_attach,
	.map_dma_buf = gda_export_map,
	.unmap_dma_buf = gda_export_unmap,
	.mmap = gda_export_mmap,
	.release = gda_export_release,
};

/* invalidate_mappings() runs with @dmabuf->resv held; importers may or may not unmap. */
static void gda_export_revoke(struct gda_export *export)
{
	struct dma_buf *dmabuf = export->dmabuf;

	lockdep_assert_held(&export->dev->export_lock);
	list_del_init(&export->node);
	dma_resv_lock(dmabuf->resv, NULL);
	WRITE_ONCE(export->gone, true);
	dma_buf_invalidate_mappings(dmabuf);
	dma_resv_unlock(dmabuf->resv);
}

static struct dma_buf *gda_export_create(struct gda_device *dev, struct gda_region *region)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);
	struct gda_export *export;
	struct dma_buf *dmabuf;

	export = kzalloc(sizeof(*export), GDA_GFP_USER);
	if (!export)
		return ERR_PTR(-ENOMEM);
	info.ops = region->map == GDA_MAP_RO ? &gda_export_ro_ops : &gda_export_ops;
	info.size = gda_region_bytes(region);
	info.flags = region->map == GDA_MAP_RO ? O_RDONLY : O_RDWR;
	info.priv = export;
	dmabuf = dma_buf_export(&info);
	if (IS_ERR(dmabuf)) {
		kfree(export);
		return dmabuf;
	}
	kref_get(&region->ref);
	export->region = region;
	gda_device_hold(dev);
	export->dev = dev;
	export->dmabuf = dmabuf;
	gda_doorbell_export(region);
	mutex_lock(&dev->export_lock);
	list_add(&export->node, &dev->exports);
	/* the device is being removed, and the removal may have missed this export: see device.c */
	if (READ_ONCE(region->ctx->dead))
		gda_export_revoke(export);
	mutex_unlock(&dev->export_lock);
	return dmabuf;
}

/*
 * Revoke the exports of a device whose contexts are dead. Exports that are made meanwhile are
 * revoked at once.
 */
void gda_exports_revoke(struct gda_device *dev)
{
	struct gda_export *export;

	/*
	 * one export at a time: a task that closes an export waits only for the importers of that
	 * one
	 */
	do {
		mutex_lock(&dev->export_lock);
		export = list_first_entry_or_null(&dev->exports, struct gda_export, node);
		if (export)
			gda_export_revoke(export);
		mutex_unlock(&dev->export_lock);
		cond_resched();
	} while (export);
}

/* Return: the dma-buf of the region that @cmd names; it holds the region from here on. */
struct dma_buf *gda_region_export(struct gda_ctx *ctx, struct gda_region_export *cmd)
{
	struct dma_buf *dmabuf = ERR_PTR(-EOPNOTSUPP);
	struct gda_region *region;
	int ret;

	ret = gda_ctx_lock(ctx);
	if (ret)
		return ERR_PTR(ret);
	if (!gda_device_has(ctx->dev, GDA_FEATURE_EXPORT)) {
		region = gda_object_region(ctx, cmd->handle, cmd->type, &cmd->offset);
		dmabuf = region ? gda_export_create(ctx->dev, region) : ERR_PTR(-ENOENT);
	}
	gda_ctx_unlock(ctx);
	return dmabuf;
}
