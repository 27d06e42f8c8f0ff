/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Regions (region.c) and the providers of their memory: a part of gda_private.h.
 *
 * A region is identity, references, mappings and revocation; a provider has its memory: pages
 * of the kernel (region_pages.c), or a window of a device that keeps its queues itself. Nobody
 * else knows whether there is a struct page behind it. The engine, which executes queues of the
 * first kind, reads and writes them by @kaddr.
 */
#ifndef GDA_REGION_H
#define GDA_REGION_H

struct gda_region;
struct scatterlist;
struct sg_table;

/**
 * struct gda_region_provider - where the memory of regions comes from
 * @alloc: allocate a region for so many pages, which are not there yet; NULL: no memory
 * @populate: set @npages and @kaddr; the pages are zero and charged already. On failure @free frees
 *	what was allocated
 * @free: give back the memory and the region itself; nobody maps or reads it any more
 * @insert: map page @index at @addr of a VMA with VM_MIXEDMAP, for the processor
 * @sg_alloc: fill in a table of all pages, for the DMA layer
 * @page_at: is page @index at this address of the physical bus?
 * @shared: does anybody but the region's own mappings hold the first page?
 */
struct gda_region_provider {
	struct gda_region *(*alloc)(unsigned int npages);
	int (*populate)(struct gda_region *region, unsigned int npages);
	void (*free)(struct gda_region *region);
	vm_fault_t (*insert)(const struct gda_region *region, struct vm_area_struct *vma,
			     unsigned long addr, unsigned long index);
	int (*sg_alloc)(const struct gda_region *region, struct sg_table *sgt);
	bool (*page_at)(const struct gda_region *region, unsigned int index, phys_addr_t phys);
	bool (*shared)(const struct gda_region *region);
};

extern const struct gda_region_provider gda_region_pages;

/*
 * A region: zeroed memory that can be mapped. Its object and every VMA hold it, so it outlives the
 * object; ctx->map_lock guards @revoked, @db_page and the page tables. @exports counts its
 * dma-bufs, which may outlive @ctx.
 */
struct gda_region {
	struct kref ref;
	const struct gda_region_provider *provider;
	struct gda_ctx *ctx;		/* outlives the region: VMAs hold the file */
	u32 id;				/* the cookie's id, see region.c */
	unsigned int npages;
	u32 map;			/* enum gda_map_type */
	bool revoked;
	struct gda_db_page *db_page;	/* the doorbell page that a fault makes active; or NULL */
	bool client;			/* ... a fault makes all pages of the context active */
	atomic_t exports;
	struct gda_memlock charge;	/* of the pages */
	void *kaddr;
};

struct gda_region *gda_region_create(struct gda_ctx *ctx, unsigned int npages, u32 map,
				     struct gda_db_page *db_page);
void gda_region_revoke(struct gda_region *region);
void gda_region_revoke_locked(struct gda_region *region);
void gda_region_put(struct gda_region *region);
void gda_region_info(const struct gda_region *region, u32 offset,
		     struct gda_region_info *info);
struct gda_region *gda_region_find(struct gda_ctx *ctx, unsigned long pgoff);
u64 gda_region_cookie(const struct gda_region *region);
static inline unsigned long gda_region_bytes(const struct gda_region *region)
{
	return (unsigned long)region->npages << PAGE_SHIFT;
}

#endif /* GDA_REGION_H */
