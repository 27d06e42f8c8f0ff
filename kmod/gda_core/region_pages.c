// SPDX-License-Identifier: GPL-2.0
/*
 * Regions of pages: ordinary, write-back cached memory of the kernel, in one range of its
 * addresses. The engine executes queues in them. They never move; a driver may pin one, and then
 * the page outlives even the region.
 */
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "gda_private.h"

struct gda_pages {
	struct gda_region region;
	struct page *page[];
};

static struct gda_pages *gda_pages_of(const struct gda_region *region)
{
	return container_of(region, struct gda_pages, region);
}

static struct gda_region *gda_pages_alloc(unsigned int npages)
{
	struct gda_pages *pages = gda_alloc_large(struct_size(pages, page, npages));

	return pages ? &pages->region : NULL;
}

static int gda_pages_populate(struct gda_region *region, unsigned int npages)
{
	struct gda_pages *pages = gda_pages_of(region);

	while (region->npages < npages) {
		struct page *page = alloc_page(GDA_GFP_USER | __GFP_ZERO);

		if (!page)
			return -ENOMEM;
		pages->page[region->npages++] = page;
	}
	if (npages == 1)
		region->kaddr = page_address(pages->page[0]);
	else
		region->kaddr = vmap(pages->page, npages, VM_MAP, PAGE_KERNEL);
	return region->kaddr ? 0 : -ENOMEM;
}

static void gda_pages_free(struct gda_region *region)
{
	struct gda_pages *pages = gda_pages_of(region);
	unsigned int i;

	if (region->npages > 1 && region->kaddr)
		vunmap(region->kaddr);
	for (i = 0; i < region->npages; i++)
		__free_page(pages->page[i]);
	kvfree(pages);
}

static vm_fault_t gda_pages_insert(const struct gda_region *region, struct vm_area_struct *vma,
				   unsigned long addr, unsigned long index)
{
	return vmf_insert_page(vma, addr, gda_pages_of(region)->page[index]);
}

static int gda_pages_sg_alloc(const struct gda_region *region, struct sg_table *sgt)
{
	return sg_alloc_table_from_pages(sgt, gda_pages_of(region)->page, region->npages, 0,
					 gda_region_bytes(region), GDA_GFP_USER);
}

static bool gda_pages_at(const struct gda_region *region, unsigned int index, phys_addr_t phys)
{
	return phys == page_to_phys(gda_pages_of(region)->page[index]);
}

/* Has the page a pin, or a reference that is about to be dropped? */
static bool gda_pages_shared(const struct gda_region *region)
{
	return page_count(gda_pages_of(region)->page[0]) > 1;
}

const struct gda_region_provider gda_region_pages = {
	.alloc = gda_pages_alloc,
	.populate = gda_pages_populate,
	.free = gda_pages_free,
	.insert = gda_pages_insert,
	.sg_alloc = gda_pages_sg_alloc,
	.page_at = gda_pages_at,
	.shared = gda_pages_shared,
};
