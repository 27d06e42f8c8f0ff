// SPDX-License-Identifier: MIT
/*
 * The windows of a workspace: each rank registers its own, and sends base, length and key to the
 * others. Posters find a window by its address in the map of its rank (gda/chunk.h). Behind a
 * rank's windows, not counted in the map, is the word of its stage that peers read.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "async_internal.h"
#include "share.h"

static int gda_async_by_addr(const void *a, const void *b)
{
	const struct gda_async_window *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static int gda_async_windows_check(struct gda_async_world *w)
{
	const struct gda_async_window *win = w->windows;
	uint32_t i;
	int err = 0;

	for (i = 0; i < w->attr.count; i++) {
		if (!win[i].addr || !win[i].bytes || win[i].bytes - 1 > UINT64_MAX - win[i].addr)
			return gda_because(-EINVAL,
					   "a window at %#llx of %#llx bytes is empty or wraps: give its first address and its length",
					   (unsigned long long)win[i].addr,
					   (unsigned long long)win[i].bytes);
		if (i && win[i].addr - win[i - 1].addr < win[i - 1].bytes)
			return gda_because(-EINVAL,
					   "windows at %#llx and %#llx overlap: give each byte in one window only",
					   (unsigned long long)win[i - 1].addr,
					   (unsigned long long)win[i].addr);
	}
	for (i = 0; !err && w->attr.flags & GDA_ASYNC_HUGE_PAGES && i < w->attr.count; i++)
		err = gda_async_huge(&win[i]);
	return err;
}

static int gda_async_window_mr(struct gda_async_world *w, const struct gda_async_window *win,
			       struct gda_mr **mr)
{
	if (w->attr.cuda && gda_cuda_owns(w->attr.cuda, win->addr))
		return gda_cuda_mr_reg(w->attr.cuda, win->addr, win->bytes, GDA_ACCESS_ALL, 0, mr);
	return gda_mr_reg(w->ctx, (void *)(uintptr_t)win->addr, win->bytes, GDA_ACCESS_ALL, 0, mr);
}

static int gda_async_windows_register(struct gda_async_world *w, struct gda_chunk *own)
{
	uint32_t i;
	int err;

	w->windows = calloc(w->attr.count, sizeof(*w->windows));
	w->mrs = calloc(w->attr.count, sizeof(struct gda_mr *));
	if (!own || !w->windows || !w->mrs)
		return -ENOMEM;
	memcpy(w->windows, w->attr.windows, w->attr.count * sizeof(*w->windows));
	qsort(w->windows, w->attr.count, sizeof(*w->windows), gda_async_by_addr);
	err = gda_async_windows_check(w);
	for (i = 0; !err && i < w->attr.count; i++) {
		err = gda_because_last(gda_async_window_mr(w, &w->windows[i], &w->mrs[i]));
		if (err)
			break;
		own[i].addr = w->windows[i].addr;
		own[i].length = w->windows[i].bytes;
		own[i].iova = gda_mr_iova(w->mrs[i]);
		own[i].key = gda_mr_key(w->mrs[i]);
	}
	own[w->attr.count].iova = w->view.stage + 8 * gda_async_count(w);
	own[w->attr.count].addr = own[w->attr.count].iova;
	own[w->attr.count].length = 8;
	own[w->attr.count].key = w->view.stage_key;
	return err;
}

/* Exchange windows with the other ranks, which may have more or fewer. */
static int gda_async_windows_exchange(struct gda_async_world *w, const struct gda_chunk *own)
{
	uint32_t n = w->view.nranks, i;
	uint32_t counts[GDA_COMM_MAX_RANKS], most = 0;
	int err;

	err = gda_comm_exchange(w->ranks, &w->attr.count, sizeof(w->attr.count), counts);
	if (err)
		return err;
	for (i = 0; i < n; i++)
		most = counts[i] >= most ? counts[i] + 1 : most;
	w->chunks = calloc((size_t)most * (n + 1), sizeof(*w->chunks));
	err = gda_comm_agree(w->ranks, w->chunks ? 0 : -ENOMEM);
	if (err)
		return err;
	/* this rank's windows, padded to the largest number, follow those of all ranks */
	memcpy(w->chunks + (size_t)n * most, own, (w->attr.count + 1) * sizeof(*own));
	err = gda_comm_exchange(w->ranks, w->chunks + (size_t)n * most, most * sizeof(*own),
				w->chunks);
	for (i = 0; i < n; i++) {
		w->maps[i].size = sizeof(w->maps[i]);
		w->maps[i].count = counts[i];
		w->maps[i].chunks = (uintptr_t)(w->chunks + (size_t)i * most);
	}
	return err;
}

int gda_async_windows_create(struct gda_async_world *w)
{
	struct gda_chunk *own = calloc(w->attr.count + 1, sizeof(*own));
	int err;

	w->maps = calloc(w->view.nranks, sizeof(*w->maps));
	err = gda_async_windows_register(w, own);
	err = gda_comm_agree(w->ranks, err ? err : w->maps ? 0 : -ENOMEM);
	if (!err && w->ranks) {
		err = gda_async_windows_exchange(w, own);
	} else if (!err) {
		w->chunks = own;
		own = NULL;
		w->maps->size = sizeof(*w->maps);
		w->maps->count = w->attr.count;
		w->maps->chunks = (uintptr_t)w->chunks;
	}
	free(own);
	w->view.maps = (uintptr_t)w->maps;
	return gda_comm_agree(w->ranks, err);
}

void gda_async_windows_destroy(struct gda_async_world *w)
{
	uint32_t i;

	for (i = 0; w->mrs && i < w->attr.count; i++)
		gda_mr_dereg(w->mrs[i]);
	free(w->mrs);
	free(w->windows);
	free(w->chunks);
	free(w->maps);
}
