// SPDX-License-Identifier: GPL-2.0
/*
 * Regions: refcounted, zeroed memory behind queues, records and doorbells. Its provider decides
 * where the memory comes from (region.h).
 *
 * A region has a cookie from creation until it is revoked; both the revocation and a lookup by
 * cookie, which takes a reference, hold map_lock. Cookies are used in turn: none is used again
 * soon, so a stale one finds nothing. Its object holds one reference and so does every VMA.
 * Revoking ends all mappings at once and for ever; the memory goes with the last reference.
 *
 * Pages count as locked memory (RLIMIT_MEMLOCK) of the user who created the region until the region
 * is freed, that is as long as an object, a VMA or a dma-buf holds it. A driver that pins a page
 * for longer charges its own user.
 */
#include <linux/fs.h>

#include "gda_private.h"

/*
 * A cookie is an id times a stride that is longer than any region. Ids are limited such that
 * cookies stay below 2^44: mmap2() of a 32-bit program has 32 bits of page offset. Cookie 0 is
 * never used.
 */
#define GDA_COOKIE_STRIDE	(1UL << 10)	/* pages */
#define GDA_COOKIE_IDS		XA_LIMIT(1, (1U << (34 - PAGE_SHIFT)) - 1)
static_assert(GDA_MAX_CQ_DEPTH * GDA_ENGINE_MAX_CQE_BYTES <= GDA_COOKIE_STRIDE << 12);
static_assert(GDA_COOKIE_STRIDE << 12 >= GDA_ENGINE_MAX_SQ_BYTES);
static_assert(GDA_RECORD_MAX * sizeof(struct gda_record) <= GDA_COOKIE_STRIDE << 12);

static void gda_region_free(struct kref *ref)
{
	struct gda_region *region = container_of(ref, struct gda_region, ref);

	gda_memlock_uncharge(&region->charge);
	gda_stat_add(GDA_STAT_PAGES, -(long)region->npages);
	gda_stat_add(GDA_STAT_REGIONS, -1);
	region->provider->free(region);
}

/* The caller owns the first reference. @db_page: the doorbell page of the region, or NULL. */
struct gda_region *gda_region_create(struct gda_ctx *ctx, unsigned int npages, u32 map,
				     struct gda_db_page *db_page)
{
	const struct gda_region_provider *provider = &gda_region_pages;
	struct gda_region *region = provider->alloc(npages);
	int ret;

	if (!region)
		return ERR_PTR(-ENOMEM);
	kref_init(&region->ref);
	region->provider = provider;
	region->ctx = ctx;
	region->map = map;
	region->db_page = db_page;
	gda_stat_add(GDA_STAT_REGIONS, 1);
	ret = gda_memlock_charge(&region->charge, npages);
	if (!ret)
		ret = provider->populate(region, npages);
	gda_stat_add(GDA_STAT_PAGES, region->npages);
	if (ret)
		goto err_put;
	/*
	 * from here on mmap() finds the region, whether the cookie was told to user space or
	 * guessed
	 */
	if (db_page)
		db_page->region = region;
	ret = xa_alloc_cyclic(&ctx->regions, &region->id, region, GDA_COOKIE_IDS,
			      &ctx->next_region, GDA_GFP_USER);
	ret = gda_cyclic_error(ret);
	if (ret)
		goto err_put;
	return region;

err_put:
	gda_region_put(region);
	return ERR_PTR(ret);
}

void gda_region_revoke_locked(struct gda_region *region)
{
	struct gda_ctx *ctx = region->ctx;

	lockdep_assert_held(&ctx->map_lock);
	region->revoked = true;
	region->db_page = NULL;
	xa_erase(&ctx->regions, region->id);
	unmap_mapping_range(ctx->inode->i_mapping, gda_region_cookie(region),
			    gda_region_bytes(region), 1);
}

void gda_region_revoke(struct gda_region *region)
{
	mutex_lock(&region->ctx->map_lock);
	gda_region_revoke_locked(region);
	mutex_unlock(&region->ctx->map_lock);
}

u64 gda_region_cookie(const struct gda_region *region)
{
	return (u64)region->id * GDA_COOKIE_STRIDE << PAGE_SHIFT;
}

/* Return: the region with a reference, or NULL if @pgoff is no cookie of this context. */
struct gda_region *gda_region_find(struct gda_ctx *ctx, unsigned long pgoff)
{
	struct gda_region *region;

	if (pgoff % GDA_COOKIE_STRIDE)
		return NULL;
	mutex_lock(&ctx->map_lock);
	region = xa_load(&ctx->regions, pgoff / GDA_COOKIE_STRIDE);
	if (region)
		kref_get(&region->ref);
	mutex_unlock(&ctx->map_lock);
	return region;
}

void gda_region_put(struct gda_region *region)
{
	kref_put(&region->ref, gda_region_free);
}

void gda_region_info(const struct gda_region *region, u32 offset,
		     struct gda_region_info *info)
{
	info->cookie = gda_region_cookie(region);
	info->length = gda_region_bytes(region);
	info->offset = offset;
	info->map = region->map;
}
