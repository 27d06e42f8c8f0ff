// SPDX-License-Identifier: MIT
/*
 * Communicators and windows whose posters are a GPU. Data that only posters access is in one block
 * of GPU memory, a copy of the host's data with addresses that are valid there: the communicator,
 * its contexts, queues, tables and tags. Words that peers add to are in pinned host memory, at the
 * same address for both, or in GPU memory with GDA_GIN_SIGNALS_GPU. The abort words of contexts
 * stay in host memory.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "gin_internal.h"
#include "share.h"

static size_t gda_gin_queue_bytes(const struct gda_gin_world *w)
{
	return (w->attr.counters ? 8 * (size_t)w->attr.depth + 128 : 0) +
	       (w->attr.flags & GDA_GIN_CHECKED ? 24 * (size_t)w->attr.depth + 128 : 0);
}

static size_t gda_gin_world_bytes(const struct gda_gin_world *w)
{
	size_t queues = (size_t)w->attr.contexts * w->endpoints * w->view.nranks;

	return sizeof(w->view) + w->attr.contexts * sizeof(*w->gins) +
	       queues * (sizeof(*w->queues) + gda_gin_queue_bytes(w)) +
	       gda_gin_tables_bytes(w) + gda_gin_checks_bytes(w) + 8 * 128;
}

static void gda_gin_fill_queues(struct gda_gin_world *w, struct gda_cuda_image *i,
				struct gda_gin_queue *queues)
{
	size_t n = (size_t)w->attr.contexts * w->endpoints * w->view.nranks, k;
	void *here;

	for (k = 0; k < n; k++) {
		if (!queues[k].view)
			continue;
		if (w->attr.counters)
			queues[k].tags = gda_cuda_image_take(i, 8 * (size_t)w->attr.depth, &here);
		if (w->attr.flags & GDA_GIN_CHECKED)
			queues[k].sums = gda_cuda_image_take(i, 24 * (size_t)w->attr.depth, &here);
	}
}

static void gda_gin_fill_image(struct gda_gin_world *w, struct gda_cuda_image *i)
{
	size_t n = (size_t)w->attr.contexts * w->endpoints * w->view.nranks;
	uint64_t gins, queues, tables, checks;
	struct gda_gin_comm *comm;
	struct gda_gin_queue *q;
	struct gda_gin *gin;
	void *here;
	uint32_t c;

	gda_cuda_image_take(i, sizeof(*comm), &here);
	comm = here;
	gins = gda_cuda_image_take(i, w->attr.contexts * sizeof(*gin), &here);
	gin = here;
	queues = gda_cuda_image_take(i, n * sizeof(*q), &here);
	q = here;
	tables = gda_cuda_image_copy(i, w->tables, gda_gin_tables_bytes(w));
	checks = gda_cuda_image_copy(i, w->checks, gda_gin_checks_bytes(w));
	*comm = w->view;
	comm->gins = gins;
	memcpy(q, w->queues, n * sizeof(*q));
	gda_gin_fill_queues(w, i, q);
	for (c = 0; c < w->attr.contexts; c++) {
		gin[c] = w->gins[c];
		gda_cuda_image_move(&gin[c].queues, w->queues, queues);
		gda_cuda_image_move(&gin[c].words, w->tables, tables);
		gda_cuda_image_move(&gin[c].resets, w->tables, tables);
		gda_cuda_image_move(&gin[c].shadows, w->tables, tables);
		gda_cuda_image_move(&gin[c].counts, w->tables, tables);
		gda_cuda_image_move(&gin[c].checks, w->checks, checks);
		gin[c].lost = w->lost;
	}
}

/* Let posts that wait poll the abort word of their context. */
static int gda_gin_watch_abort(struct gda_gin_world *w)
{
	size_t each = (size_t)w->endpoints * w->view.nranks, k;
	int err = 0;

	for (k = 0; !err && k < each * w->attr.contexts; k++)
		if (w->queues[k].view)
			err = gda_cuda_upload(w->cuda, w->queues[k].view +
					      offsetof(struct gda_view, abort),
					      &w->gins[k / each].abort, sizeof(uint64_t));
	return err;
}

int gda_gin_gpu_create(struct gda_gin_world *w)
{
	struct gda_cuda_image image;
	int err;

	if (!w->cuda)
		return 0;
	err = gda_cuda_pages_get(w->cuda, (void *)(uintptr_t)gda_comm_abort_word(w->ranks, 0),
				 gda_comm_abort_bytes(w->ranks), &w->lost, &w->lost_map);
	if (!err)
		err = gda_gin_watch_abort(w);
	if (!err)
		err = gda_cuda_image_open(&image, w->cuda, gda_gin_world_bytes(w));
	if (err)
		return err;
	gda_gin_fill_image(w, &image);
	err = gda_cuda_image_close(&image, w->cuda);
	if (!err)
		w->gpu = image.addr;
	return err;
}

void gda_gin_gpu_destroy(struct gda_gin_world *w)
{
	if (!w->cuda)
		return;
	gda_cuda_gpu_free(w->cuda, w->gpu);
	gda_cuda_pages_put(w->cuda, w->lost_map);
}

bool gda_gin_gpu_words(struct gda_cuda *cuda)
{
	struct gda_cuda_caps caps = { .size = sizeof(caps) };

	return !gda_cuda_query(cuda, &caps) && caps.features & GDA_CUDA_ATOMIC;
}

int gda_gin_gpu_signals_create(struct gda_gin_world *w)
{
	size_t words = w->slots + (w->attr.flags & GDA_GIN_CHECKED ? 2 * w->attr.signals : 0);
	/* never 0: a flush reads from a queue even without signals */
	size_t bytes = (words + 1) * w->attr.contexts * sizeof(uint64_t);
	void *zeros;
	int err;

	if (!(w->attr.flags & GDA_GIN_SIGNALS_GPU))
		return 0;
	zeros = calloc(1, bytes);
	if (!zeros)
		return -ENOMEM;
	w->shared_words = words + 1;
	err = gda_cuda_gpu_alloc(w->cuda, bytes, &w->gpu_signals);
	if (!err)
		err = gda_cuda_upload(w->cuda, w->gpu_signals, zeros, bytes);
	free(zeros);
	if (err)
		return err;
	w->shared = w->gpu_signals;
	err = gda_cuda_mr_reg(w->cuda, w->shared, bytes, GDA_ACCESS_LOCAL_WRITE |
			      GDA_ACCESS_REMOTE_READ | GDA_ACCESS_REMOTE_ATOMIC,
			      GDA_CUDA_MR_WORDS, &w->shared_mr);
	return gda_because_last(err);
}

void gda_gin_gpu_signals_destroy(struct gda_gin_world *w)
{
	if (w->shared_mr != w->mr)
		gda_mr_dereg(w->shared_mr);
	if (w->gpu_signals)
		gda_cuda_gpu_free(w->cuda, w->gpu_signals);
}

int gda_gin_gpu_queue_create(struct gda_gin_world *w, size_t at)
{
	const struct gda_cuda_qp_attr attr = {
		.size = sizeof(attr),
		.sq_depth = w->attr.depth,
		.place = w->place,
		.timeout_ns = w->attr.timeout_ns,
	};
	int err = gda_cuda_qp_create(w->cuda, &attr, &w->gpu_qps[at]);

	if (!err)
		w->qps[at] = gda_cuda_qp_base(w->gpu_qps[at]);
	return gda_because_last(err);
}

int gda_gin_gpu_window_create(struct gda_gin_window *win, uint32_t pieces)
{
	struct gda_gin_world *w = win->world;
	size_t n = w->view.nranks, chunks = (size_t)pieces * n * sizeof(*win->chunks);
	struct gda_cuda_image image;
	struct gda_chunk_map *maps;
	struct gda_window *view;
	uint64_t moved;
	void *here;
	size_t i;
	int err;

	if (!w->cuda)
		return 0;
	err = gda_cuda_image_open(&image, w->cuda, sizeof(*view) + chunks +
				 n * (sizeof(*maps) + sizeof(*win->parts)) + 4 * 128);
	if (err)
		return err;
	gda_cuda_image_take(&image, sizeof(*view), &here);
	view = here;
	*view = win->view;
	view->parts = gda_cuda_image_copy(&image, win->parts, n * sizeof(*win->parts));
	moved = gda_cuda_image_copy(&image, win->chunks, chunks);
	view->maps = gda_cuda_image_take(&image, n * sizeof(*maps), &here);
	maps = here;
	for (i = 0; i < n; i++) {
		maps[i] = win->maps[i];
		gda_cuda_image_move(&maps[i].chunks, win->chunks, moved);
	}
	err = gda_cuda_image_close(&image, w->cuda);
	if (!err)
		win->gpu = image.addr;
	return err;
}

void gda_gin_gpu_window_destroy(struct gda_gin_window *win)
{
	if (win->world && win->world->cuda)
		gda_cuda_gpu_free(win->world->cuda, win->gpu);
}

GDA_EXPORT struct gda_gin_comm *gda_gin_cuda_comm(const struct gda_gin_comm *comm)
{
	const struct gda_gin_world *w = (const struct gda_gin_world *)(uintptr_t)comm->owner;

	return (struct gda_gin_comm *)(uintptr_t)w->gpu;
}

GDA_EXPORT const struct gda_window *gda_gin_cuda_window(const struct gda_window *window)
{
	const struct gda_gin_window *win = (const struct gda_gin_window *)(uintptr_t)window->owner;

	return (const struct gda_window *)(uintptr_t)win->gpu;
}
