/* SPDX-License-Identifier: MIT */
/* Regions, which are memory that posters map, and their 64-byte cells. Used under ctx->lock. */
#ifndef GDA_INPROC_REGION_H
#define GDA_INPROC_REGION_H

#include <gda/ioctl.h>
#include "gda_os.h"

struct gda_inproc_context;

struct gda_inproc_region {
	struct gda_inproc_region *next;
	u64 cookie;			/* offset in ctx->fd */
	u64 length;
	u32 map;			/* enum gda_map_type */
	u32 users;			/* how many users in the library @addr has */
	void *addr;			/* the device's mapping, always writable */
};

enum gda_inproc_use {
	GDA_INPROC_DOORBELL,
	GDA_INPROC_RECORD,
	GDA_INPROC_COUNTER,		/* read-only for posters */
	GDA_INPROC_USES
};

struct gda_inproc_cells {
	struct gda_inproc_cells *next;
	struct gda_inproc_region *region;
	u64 used;			/* bit per cell */
	u32 use;
};

struct gda_inproc_cell {
	struct gda_inproc_cells *cells;	/* NULL if not allocated */
	u32 offset;
	void *addr;
};

int gda_inproc_region_create(struct gda_inproc_context *ctx, u64 length, u32 map,
			     struct gda_inproc_region **region);
void gda_inproc_region_destroy(struct gda_inproc_context *ctx,
			       struct gda_inproc_region *region);
/* Take a reference on the mapping of the region with this cookie: 0 or -ENXIO. */
int gda_inproc_region_get(struct gda_inproc_context *ctx, u64 cookie, void **addr);
/* Drop a reference of gda_inproc_region_get(). The region may be gone already. */
void gda_inproc_region_put(struct gda_inproc_context *ctx, void *addr);
void gda_inproc_region_info(const struct gda_inproc_region *region, u32 offset,
			    struct gda_region_info *info);
int gda_inproc_cell_create(struct gda_inproc_context *ctx, u32 use,
			   struct gda_inproc_cell *cell);
void gda_inproc_cell_destroy(struct gda_inproc_context *ctx, struct gda_inproc_cell *cell);
void gda_inproc_cell_info(const struct gda_inproc_cell *cell, struct gda_region_info *info);

#endif /* GDA_INPROC_REGION_H */
