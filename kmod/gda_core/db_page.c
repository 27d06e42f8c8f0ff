// SPDX-License-Identifier: GPL-2.0
/*
 * Cells: 64 bytes each, 64 to a page, for doorbells, records and counters. A page belongs to one
 * context and never to two; it exists while at least one of its cells is used. In a client's
 * context one page, ctx->doorbells, stands for all pages of doorbells and stays; their cells only
 * say which queues there are.
 *
 * ctx->lock guards tables and bitmaps, map_lock the tables as well. Dropping the last cell revokes
 * the page; gda_cell_free() frees the struct, once executors have been waited for.
 */
#include <linux/slab.h>

#include "gda_private.h"

static struct gda_db_page *gda_db_page_create(struct gda_ctx *ctx, enum gda_cell_use use,
					      unsigned int page)
{
	u32 map = use == GDA_CELL_COUNTER ? GDA_MAP_RO : GDA_MAP_RW;
	struct gda_region *region;
	struct gda_db_page *db_page;

	db_page = kzalloc(sizeof(*db_page), GDA_GFP_USER);
	if (!db_page)
		return ERR_PTR(-ENOMEM);
	/* set before the region can be mapped and take faults */
	db_page->page = page;
	db_page->sweep.used = db_page->used;
	db_page->sweep.busy = db_page->busy;
	db_page->sweep.fresh = db_page->fresh;
	if (use == GDA_CELL_DOORBELL && ctx->doorbells) {
		kref_get(&ctx->doorbells->ref);
		db_page->region = ctx->doorbells;
		return db_page;
	}
	region = gda_region_create(ctx, 1, map, use == GDA_CELL_DOORBELL ? db_page : NULL);
	if (IS_ERR(region)) {
		kfree(db_page);
		return ERR_CAST(region);
	}
	db_page->region = region;
	return db_page;
}

/* Any page with a free cell, else a new page. */
int gda_cell_alloc(struct gda_ctx *ctx, struct gda_db_page **table, unsigned int n,
		   enum gda_cell_use use, struct gda_cell *cell)
{
	unsigned int i, empty = n;
	struct gda_db_page *db_page;

	lockdep_assert_held(&ctx->lock);
	for (i = 0; i < n; i++) {
		db_page = table[i];
		if (!db_page)
			empty = min(empty, i);
		else if (!bitmap_full(db_page->used, GDA_CELLS))
			break;
	}
	if (i == n) {
		if (empty == n)
			return -ENOSPC;
		db_page = gda_db_page_create(ctx, use, empty);
		if (IS_ERR(db_page))
			return PTR_ERR(db_page);
		i = empty;
		mutex_lock(&ctx->map_lock);
		/* pairs with smp_load_acquire in the worker */
		smp_store_release(&table[i], db_page);
		/* the page of doorbells may be mapped already */
		if (db_page->region->client)
			gda_doorbell_renew(ctx, db_page);
		mutex_unlock(&ctx->map_lock);
	}
	cell->db_page = db_page;
	cell->last = false;
	cell->slot = find_first_zero_bit(db_page->used, GDA_CELLS);
	set_bit(cell->slot, db_page->used);
	memset(gda_cell_addr(cell), 0, GDA_CELL_BYTES);
	return 0;
}

void gda_cell_kill(struct gda_db_page **table, struct gda_cell *cell)
{
	struct gda_db_page *db_page = cell->db_page;
	struct gda_ctx *ctx = db_page->region->ctx;

	lockdep_assert_held(&ctx->lock);
	WRITE_ONCE(db_page->qps[cell->slot], NULL);
	clear_bit(cell->slot, db_page->used);
	if (!bitmap_empty(db_page->used, GDA_CELLS))
		return;
	cell->last = true;
	mutex_lock(&ctx->map_lock);
	WRITE_ONCE(table[db_page->page], NULL);
	if (db_page->region->db_page || db_page->region->client)
		gda_doorbell_forget(db_page);
	if (!db_page->region->client)
		gda_region_revoke_locked(db_page->region);
	mutex_unlock(&ctx->map_lock);
}

void gda_cell_free(struct gda_cell *cell)
{
	if (!cell->last)
		return;
	gda_region_put(cell->db_page->region);
	kfree(cell->db_page);
}

/* Return: the region of a cell; @offset is set to the cell's place in it. */
struct gda_region *gda_cell_region(const struct gda_cell *cell, u32 *offset)
{
	/* no cell: a collapsed CQ has none, or the record is in a umem */
	if (!cell->db_page)
		return NULL;
	*offset = gda_cell_offset(cell);
	return cell->db_page->region;
}
