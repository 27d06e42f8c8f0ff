// SPDX-License-Identifier: GPL-2.0
/*
 * Cells: 64 bytes each, 64 to a page, for doorbells, records and counters. A page
 * belongs to one context and never to two; it exists while at least one of its cells
 * is used.
 *
 * Tables and bitmaps are under ctx->lock, tables also under map_lock. Dropping the
 * last cell revokes the page; the struct goes after the executors have been waited
 * for (gda_cell_free).
 */
#include <linux/slab.h>

#include "gda_private.h"

static struct gda_cells *gda_cells_create(struct gda_ctx *ctx, enum gda_cell_use use,
					  unsigned int page)
{
	u32 map = use == GDA_CELL_COUNTER ? GDA_MAP_RO : GDA_MAP_RW;
	struct gda_region *region;
	struct gda_cells *cells;

	cells = kzalloc(sizeof(*cells), GFP_KERNEL_ACCOUNT);
	if (!cells)
		return ERR_PTR(-ENOMEM);
	/* before it can be mapped, and touched */
	cells->page = page;
	region = gda_region_create(ctx, 1, map, use == GDA_CELL_DOORBELL ? cells : NULL);
	if (IS_ERR(region)) {
		kfree(cells);
		return ERR_CAST(region);
	}
	cells->region = region;
	return cells;
}

/* Any page with a free cell, else a new page. */
int gda_cell_alloc(struct gda_ctx *ctx, struct gda_cells **table, unsigned int n,
		   enum gda_cell_use use, struct gda_cell *cell)
{
	unsigned int i, empty = n;
	struct gda_cells *cells;

	lockdep_assert_held(&ctx->lock);
	for (i = 0; i < n; i++) {
		cells = table[i];
		if (!cells)
			empty = min(empty, i);
		else if (!bitmap_full(cells->used, GDA_CELLS))
			break;
	}
	if (i == n) {
		if (empty == n)
			return -ENOSPC;
		cells = gda_cells_create(ctx, use, empty);
		if (IS_ERR(cells))
			return PTR_ERR(cells);
		i = empty;
		mutex_lock(&ctx->map_lock);
		/* pairs with smp_load_acquire in the worker */
		smp_store_release(&table[i], cells);
		mutex_unlock(&ctx->map_lock);
	}
	cell->cells = cells;
	cell->last = false;
	cell->slot = find_first_zero_bit(cells->used, GDA_CELLS);
	set_bit(cell->slot, cells->used);
	memset(gda_cell_addr(cell), 0, GDA_CELL_BYTES);
	return 0;
}

void gda_cell_kill(struct gda_cells **table, struct gda_cell *cell)
{
	struct gda_cells *cells = cell->cells;
	struct gda_ctx *ctx = cells->region->ctx;

	lockdep_assert_held(&ctx->lock);
	WRITE_ONCE(cells->qps[cell->slot], NULL);
	clear_bit(cell->slot, cells->used);
	if (!bitmap_empty(cells->used, GDA_CELLS))
		return;
	cell->last = true;
	mutex_lock(&ctx->map_lock);
	WRITE_ONCE(table[cells->page], NULL);
	if (cells->region->cells)
		gda_doorbell_forget(cells);
	gda_region_revoke_locked(cells->region);
	mutex_unlock(&ctx->map_lock);
}

void gda_cell_free(struct gda_cell *cell)
{
	if (!cell->last)
		return;
	gda_region_put(cell->cells->region);
	kfree(cell->cells);
}
