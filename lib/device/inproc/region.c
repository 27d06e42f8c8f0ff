// SPDX-License-Identifier: MIT
/*
 * Regions: page-aligned parts of the context's memfd. The cookie of a region is its offset, so
 * that mmap(2) of the file maps it; cookies wrap around below 2^44.
 *
 * The device maps each region once, and the posters of this process use the same mapping: a race
 * detector knows memory by address and so sees that both sides use the same words. The mapping may
 * outlive the region: it is unmapped with its last user. Until then it reads as zero, or raises
 * SIGBUS after a shutdown. A program that maps the file itself gets a separate mapping, which the
 * device never uses.
 *
 * Cells are 64 bytes of a one-page region, which exists while one of them is in use.
 *
 * All functions are called under ctx->lock. Workers do not access destroyed objects.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "inproc.h"

#define GDA_INPROC_COOKIES	(1ULL << 44)
#define GDA_INPROC_CELL		64U

/* Find @length unused bytes of the file from ctx->next_cookie on, and the link for a new region. */
static int gda_inproc_region_place(struct gda_inproc_context *ctx, u64 length, u64 *cookie,
				   struct gda_inproc_region ***link)
{
	u64 start = ctx->next_cookie;
	int rounds;

	for (rounds = 0; rounds < 2; rounds++) {
		struct gda_inproc_region **l = &ctx->regions;

		for (; *l && (*l)->cookie < start + length; l = &(*l)->next)
			if ((*l)->cookie + (*l)->length > start)
				start = (*l)->cookie + (*l)->length;
		if (start + length <= GDA_INPROC_COOKIES) {
			*cookie = start;
			*link = l;
			return 0;
		}
		start = GDA_INPROC_PAGE;	/* 0 is never a cookie */
	}
	return -ENOSPC;
}

static int gda_inproc_region_map(struct gda_inproc_context *ctx,
				 struct gda_inproc_region *r)
{
	u64 end = r->cookie + r->length;

	if (end > ctx->end_cookie) {
		if (ftruncate(ctx->fd, (off_t)end))
			return -errno;
		ctx->end_cookie = end;
	}
	r->addr = mmap(NULL, r->length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
		       ctx->fd, (off_t)r->cookie);
	return r->addr == MAP_FAILED ? -errno : 0;
}

int gda_inproc_region_create(struct gda_inproc_context *ctx, u64 length, u32 map,
			     struct gda_inproc_region **region)
{
	struct gda_inproc_region *r = calloc(1, sizeof(*r));
	struct gda_inproc_region **link;
	int err;

	if (!r)
		return -ENOMEM;
	r->length = (length + GDA_INPROC_PAGE - 1) / GDA_INPROC_PAGE * GDA_INPROC_PAGE;
	r->map = map;
	err = gda_inproc_region_place(ctx, r->length, &r->cookie, &link);
	if (!err)
		err = gda_inproc_region_map(ctx, r);
	if (err) {
		free(r);
		return err;
	}
	ctx->next_cookie = r->cookie + r->length;
	r->next = *link;
	*link = r;
	__atomic_fetch_add(&gda_inproc.regions, 1, __ATOMIC_RELAXED);
	*region = r;
	return 0;
}

void gda_inproc_region_destroy(struct gda_inproc_context *ctx,
			       struct gda_inproc_region *region)
{
	struct gda_inproc_region **link = &ctx->regions;

	while (*link != region)
		link = &(*link)->next;
	*link = region->next;
	/* free the pages even where posters still map them; a failure only keeps them longer */
	(void)fallocate(ctx->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			(off_t)region->cookie, (off_t)region->length);
	__atomic_fetch_sub(&gda_inproc.regions, 1, __ATOMIC_RELAXED);
	if (region->users) {
		region->next = ctx->left;
		ctx->left = region;
		return;
	}
	munmap(region->addr, region->length);
	free(region);
}

int gda_inproc_region_get(struct gda_inproc_context *ctx, u64 cookie, void **addr)
{
	struct gda_inproc_region *r = ctx->regions;

	while (r && r->cookie != cookie)
		r = r->next;
	if (!r)
		return -ENXIO;
	r->users++;
	*addr = r->addr;
	return 0;
}

void gda_inproc_region_put(struct gda_inproc_context *ctx, void *addr)
{
	struct gda_inproc_region **link = &ctx->left;
	struct gda_inproc_region *r;

	for (r = ctx->regions; r; r = r->next) {
		if (r->addr == addr) {
			r->users--;
			return;
		}
	}
	while (*link && (*link)->addr != addr)
		link = &(*link)->next;
	r = *link;
	if (!r || --r->users)
		return;
	*link = r->next;
	munmap(r->addr, r->length);
	free(r);
}

void gda_inproc_region_info(const struct gda_inproc_region *region, u32 offset,
			    struct gda_region_info *info)
{
	info->cookie = region->cookie;
	info->length = region->length;
	info->offset = offset;
	info->map = region->map;
}

static int gda_inproc_cells_create(struct gda_inproc_context *ctx, u32 use,
				   struct gda_inproc_cells **cells)
{
	struct gda_inproc_cells *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return -ENOMEM;
	err = gda_inproc_region_create(ctx, GDA_INPROC_PAGE,
				       use == GDA_INPROC_COUNTER ? GDA_MAP_RO : GDA_MAP_RW,
				       &c->region);
	if (err) {
		free(c);
		return err;
	}
	c->use = use;
	c->next = ctx->cells;
	ctx->cells = c;
	*cells = c;
	return 0;
}

int gda_inproc_cell_create(struct gda_inproc_context *ctx, u32 use,
			   struct gda_inproc_cell *cell)
{
	struct gda_inproc_cells *c = ctx->cells;
	int err;

	while (c && (c->use != use || !~c->used))
		c = c->next;
	if (!c) {
		err = gda_inproc_cells_create(ctx, use, &c);
		if (err)
			return err;
	}
	cell->cells = c;
	cell->offset = (u32)__builtin_ctzll(~c->used) * GDA_INPROC_CELL;
	cell->addr = (char *)c->region->addr + cell->offset;
	c->used |= c->used + 1;			/* sets the lowest clear bit */
	memset(cell->addr, 0, GDA_INPROC_CELL);
	return 0;
}

void gda_inproc_cell_destroy(struct gda_inproc_context *ctx, struct gda_inproc_cell *cell)
{
	struct gda_inproc_cells **link = &ctx->cells;
	struct gda_inproc_cells *c = cell->cells;

	if (!c)
		return;
	c->used &= ~(1ULL << cell->offset / GDA_INPROC_CELL);
	if (c->used)
		return;
	while (*link != c)
		link = &(*link)->next;
	*link = c->next;
	gda_inproc_region_destroy(ctx, c->region);
	free(c);
}

void gda_inproc_cell_info(const struct gda_inproc_cell *cell, struct gda_region_info *info)
{
	if (cell->cells)
		gda_inproc_region_info(cell->cells->region, cell->offset, info);
	else
		memset(info, 0, sizeof(*info));
}
