// SPDX-License-Identifier: GPL-2.0
/*
 * Mapping regions into user space. A cookie is mapped exactly as it was handed out:
 * same offset, same length, shared, never executable, never split.
 *
 * Pages are installed by the fault handler itself, under map_lock: revocation and idling take the
 * same lock, so no page shows up in a page table behind their back. (If the handler returned the
 * page to the mm core, it would be mapped after the handler returned.)
 */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/sched.h>

#include "gda_private.h"

/* Neighbouring pages that are mapped along with a faulting page. */
#define GDA_FAULT_AROUND	16

static void gda_vma_open(struct vm_area_struct *vma)
{
	struct gda_region *region = vma->vm_private_data;

	kref_get(&region->ref);
}

static void gda_vma_close(struct vm_area_struct *vma)
{
	gda_region_put(vma->vm_private_data);
}

static int gda_vma_may_split(struct vm_area_struct *vma, unsigned long addr)
{
	return -EINVAL;
}

/* Return: the index in the region of the page that the fault is about. */
static unsigned long gda_fault_index(const struct gda_region *region,
				     const struct vm_fault *vmf)
{
	return vmf->pgoff - (gda_region_cookie(region) >> PAGE_SHIFT);
}

static vm_fault_t gda_region_install(struct gda_region *region, struct vm_fault *vmf)
{
	const struct gda_region_provider *provider = region->provider;
	unsigned long i = gda_fault_index(region, vmf);
	unsigned long end = min_t(unsigned long, region->npages, i + GDA_FAULT_AROUND);
	unsigned long addr = vmf->address & PAGE_MASK;
	vm_fault_t ret;

	ret = provider->insert(region, vmf->vma, addr, i);
	/* mapping the neighbours is optional: errors are ignored */
	while (ret == VM_FAULT_NOPAGE && ++i < end) {
		addr += PAGE_SIZE;
		if (provider->insert(region, vmf->vma, addr, i) != VM_FAULT_NOPAGE)
			break;
	}
	return ret;
}

/*
 * Give way, if the lock of the fault may be dropped for that. The file keeps the context and the
 * module: its last reference is dropped once the task has returned from here.
 */
static vm_fault_t gda_fault_yield(struct vm_fault *vmf)
{
	struct file *file;

	if (!(vmf->flags & FAULT_FLAG_ALLOW_RETRY) || vmf->flags & FAULT_FLAG_RETRY_NOWAIT)
		return VM_FAULT_NOPAGE;
	file = get_file(vmf->vma->vm_file);
	gda_fault_unlock(vmf);
	yield();
	fput(file);
	return VM_FAULT_NOPAGE | VM_FAULT_COMPLETED;
}

static vm_fault_t gda_vma_fault(struct vm_fault *vmf)
{
	struct gda_region *region = vmf->vma->vm_private_data;
	enum gda_doorbell_answer answer = GDA_DOORBELL_MAP;
	struct gda_ctx *ctx = region->ctx;
	vm_fault_t ret = VM_FAULT_SIGBUS;
	bool inside, live;

	mutex_lock(&ctx->map_lock);
	/*
	 * a verbs program may ring after the device has gone: it stores to the page, and nobody
	 * looks
	 */
	inside = gda_fault_index(region, vmf) < region->npages;
	live = inside && !region->revoked;
	if (live && region->client)
		answer = gda_doorbell_fault_all(ctx, vmf);
	else if (live && region->db_page)
		answer = gda_doorbell_fault(ctx, region->db_page, vmf);
	if (live || (inside && region->client))
		ret = answer == GDA_DOORBELL_MAP ? gda_region_install(region, vmf) :
						   VM_FAULT_NOPAGE;
	mutex_unlock(&ctx->map_lock);
	return answer == GDA_DOORBELL_YIELD ? gda_fault_yield(vmf) : ret;
}

/* With this operation faults hold only the lock of their VMA, in kernels that have one. */
static vm_fault_t gda_vma_map_pages(struct vm_fault *vmf, pgoff_t start, pgoff_t end)
{
	return 0;
}

static const struct vm_operations_struct gda_vm_ops = {
	.open = gda_vma_open,
	.close = gda_vma_close,
	.may_split = gda_vma_may_split,
	.fault = gda_vma_fault,
	.map_pages = gda_vma_map_pages,
};

static int gda_mmap_check(const struct gda_region *region,
			  const struct vm_area_struct *vma)
{
	if (vma->vm_end - vma->vm_start != gda_region_bytes(region))
		return -EINVAL;
	/* mmap() clears VM_SHARED if the file is not open for writing */
	if (!(vma->vm_flags & VM_MAYSHARE))
		return -EINVAL;
	if (vma->vm_flags & VM_EXEC)
		return -EPERM;
	if (region->map == GDA_MAP_RO && (vma->vm_flags & VM_WRITE))
		return -EPERM;
	return 0;
}

/* The VMA holds the region from here on, unless this fails. */
int gda_mmap_region(struct gda_region *region, struct vm_area_struct *vma)
{
	int ret = gda_mmap_check(region, vma);

	if (ret)
		return ret;
	vm_flags_clear(vma, VM_MAYEXEC);
	if (region->map == GDA_MAP_RO)
		vm_flags_clear(vma, VM_MAYWRITE);
	/* VM_MIXEDMAP from the start: the fault handler inserts pages itself */
	vm_flags_set(vma, VM_MIXEDMAP | VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_private_data = region;
	vma->vm_ops = &gda_vm_ops;
	return 0;
}

int gda_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct gda_region *region = gda_region_find(file->private_data, vma->vm_pgoff);
	int ret;

	if (!region)
		return -ENXIO;
	ret = gda_mmap_region(region, vma);
	if (ret)
		gda_region_put(region);
	return ret;
}
