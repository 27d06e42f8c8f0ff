// SPDX-License-Identifier: MIT
/*
 * Workspaces whose posters are a GPU: all that they read is in one block of GPU memory, a copy of
 * the host's data with addresses that are valid there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "async_internal.h"
#include "share.h"

/* The size of w->chunks: for each rank its windows, and behind them a word. */
static size_t gda_async_chunks(const struct gda_async_world *w)
{
	size_t most = 0;
	uint32_t i;

	for (i = 0; i < w->view.nranks; i++)
		most = w->maps[i].count >= most ? w->maps[i].count + 1 : most;
	return most * w->view.nranks;
}

int gda_async_gpu_create(struct gda_async_world *w)
{
	size_t views = gda_async_count(w) * sizeof(*w->views);
	size_t maps = w->view.nranks * sizeof(*w->maps);
	size_t chunks = gda_async_chunks(w) * sizeof(*w->chunks);
	size_t bytes = sizeof(w->view) + views + maps + chunks;
	struct gda_async_workspace *image;
	struct gda_chunk_map *map;
	uint32_t i;
	int err;

	if (!w->attr.cuda)
		return 0;
	image = calloc(1, bytes);
	err = image ? gda_cuda_gpu_alloc(w->attr.cuda, bytes, &w->gpu) : -ENOMEM;
	if (err) {
		free(image);
		return err;
	}
	*image = w->view;
	image->views = w->gpu + sizeof(*image);
	image->maps = image->views + views;
	map = (void *)((char *)(image + 1) + views);
	memcpy(image + 1, w->views, views);
	memcpy(map, w->maps, maps);
	memcpy((char *)map + maps, w->chunks, chunks);
	for (i = 0; i < w->view.nranks; i++)
		map[i].chunks = image->maps + maps + (w->maps[i].chunks - (uintptr_t)w->chunks);
	err = gda_cuda_upload(w->attr.cuda, w->gpu, image, bytes);
	free(image);
	return err;
}

void gda_async_gpu_destroy(struct gda_async_world *w)
{
	if (w->gpu)
		gda_cuda_gpu_free(w->attr.cuda, w->gpu);
}
