// SPDX-License-Identifier: MIT
/*
 * Windows of gda/gin.h: each rank registers its segments, one MR each, and sends their keys to the
 * others. Posters find an MR by offset in the rank's map (gda/chunk.h), or directly if no rank has
 * more than one segment.
 *
 * A segment's local address is its MR's iova, because gda_mr_reg() sets the iova to the address.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "gin_internal.h"
#include "share.h"

static_assert(sizeof(struct gda_window) == 72, "layout is ABI");
static_assert(offsetof(struct gda_window, parts) == 40, "layout is ABI");

/* A rank's part of a window, as sent to the others. */
struct gda_gin_part {
	uint64_t bytes;
	uint32_t count;
	uint32_t flags;
};

struct gda_gin_segment {
	uint64_t bytes;
	uint64_t iova;
	uint64_t key;
};

static int gda_window_check(const struct gda_window_attr *a, uint64_t *bytes)
{
	uint32_t i;

	*bytes = 0;
	if (a->flags & ~GDA_WINDOW_STRICT)
		return gda_because(-EOPNOTSUPP,
				   "flags %#x has unknown bits: clear them, or install a newer libgda",
				   a->flags);
	if (a->reserved || !a->count || a->count > GDA_GIN_MAX_SEGMENTS)
		return gda_because(-EINVAL, "count %u: set it to 1 to %u, and reserved to 0",
				   a->count, GDA_GIN_MAX_SEGMENTS);
	if (!a->segments)
		return gda_because(-EINVAL, "segments is NULL, count %u: pass the array",
				   a->count);
	for (i = 0; i < a->count; i++) {
		const struct gda_window_segment *s = &a->segments[i];

		if (!s->bytes || (s->addr | s->bytes) % 8)
			return gda_because(-EINVAL,
					   "segment %u: give it an address and a length that are multiples of 8, and not 0",
					   i);
		if (__builtin_add_overflow(*bytes, s->bytes, bytes))
			return gda_because(-EINVAL,
					   "the lengths of the segments add up to more than 64 bits: is one of them wrong?");
	}
	return 0;
}

static int gda_window_alloc(struct gda_gin_window *w, uint32_t pieces, uint32_t nranks)
{
	w->chunks = calloc((size_t)pieces * nranks, sizeof(*w->chunks));
	w->maps = calloc(nranks, sizeof(*w->maps));
	w->parts = calloc(nranks, sizeof(*w->parts));
	return w->chunks && w->maps && w->parts ? 0 : -ENOMEM;
}

/*
 * Register a segment, which may be GPU memory if posters are a GPU. With @words it may hold
 * signals.
 */
static int gda_window_mr(struct gda_gin_world *w, const struct gda_window_segment *s, bool words,
			 struct gda_mr **mr)
{
	uint32_t flags = 0;

	/* others store there, too: puts of data, and kernels that reset words */
	if (words && w->cuda && gda_gin_gpu_words(w->cuda))
		flags = GDA_CUDA_MR_WORDS | GDA_CUDA_MR_STORES;
	if (w->cuda && gda_cuda_owns(w->cuda, s->addr))
		return gda_cuda_mr_reg(w->cuda, s->addr, s->bytes, GDA_ACCESS_ALL, flags, mr);
	return gda_mr_reg(w->ctx, (void *)(uintptr_t)s->addr, s->bytes, GDA_ACCESS_ALL, 0, mr);
}

static int gda_window_mrs(struct gda_gin_window *w, const struct gda_window_attr *a)
{
	uint32_t i;
	int err = 0;

	w->mrs = calloc(a->count, sizeof(struct gda_mr *));
	if (!w->mrs)
		return -ENOMEM;
	w->count = a->count;
	for (i = 0; !err && i < a->count; i++)
		err = gda_window_mr(w->world, &a->segments[i], a->flags & GDA_WINDOW_STRICT,
				    &w->mrs[i]);
	return gda_because_last(err);
}

/* Place the segments of a rank one behind the other. */
static void gda_window_map_rank(struct gda_gin_window *w, uint32_t rank, uint32_t pieces,
				uint32_t count, const struct gda_gin_segment *s)
{
	struct gda_chunk *c = &w->chunks[(size_t)rank * pieces];
	uint64_t offset = 0;
	uint32_t i;

	w->maps[rank].size = sizeof(w->maps[rank]);
	w->maps[rank].count = count;
	w->maps[rank].chunks = (uintptr_t)c;
	for (i = 0; i < count; i++) {
		c[i].addr = offset;
		c[i].length = s[i].bytes;
		c[i].iova = s[i].iova;
		c[i].key = (uint32_t)s[i].key;
		offset += s[i].bytes;
	}
	w->parts[rank].iova = c->iova;
	w->parts[rank].key = c->key;
}

/* Do the parts of all ranks fit together? @pieces: the largest number of segments of a rank. */
static int gda_window_agree(struct gda_gin_window *w, const struct gda_gin_part *own,
			    struct gda_gin_part *all, uint32_t *pieces)
{
	struct gda_comm *ranks = w->world->ranks;
	uint32_t i;
	int err = gda_comm_exchange(ranks, own, sizeof(*own), all);

	*pieces = 0;
	for (i = 0; !err && i < w->world->view.nranks; i++) {
		if (all[i].count > *pieces)
			*pieces = all[i].count;
		if (all[i].bytes != own->bytes || all[i].flags != own->flags)
			err = gda_because(-EINVAL,
					  "rank %u gives %llu bytes, flags %#x, this one %llu, %#x: give the same on all ranks",
					  i, (unsigned long long)all[i].bytes, all[i].flags,
					  (unsigned long long)own->bytes, own->flags);
	}
	return gda_comm_agree(ranks, err);
}

static int gda_window_exchange(struct gda_gin_window *w, const struct gda_window_attr *a,
			       const struct gda_gin_part *parts, uint32_t pieces)
{
	uint32_t n = w->world->view.nranks, i;
	struct gda_gin_segment *all = calloc((size_t)pieces * (n + 1), sizeof(*all));
	struct gda_gin_segment *own = all ? all + (size_t)pieces * n : NULL;
	int err = all ? gda_window_alloc(w, pieces, n) : -ENOMEM;

	if (!err)
		err = gda_window_mrs(w, a);
	err = gda_comm_agree(w->world->ranks, err);
	for (i = 0; !err && i < a->count; i++) {
		own[i].bytes = a->segments[i].bytes;
		own[i].iova = gda_mr_iova(w->mrs[i]);
		own[i].key = gda_mr_key(w->mrs[i]);
	}
	if (!err)
		err = gda_comm_exchange(w->world->ranks, own, pieces * sizeof(*own), all);
	for (i = 0; !err && i < n; i++)
		gda_window_map_rank(w, i, pieces, parts[i].count, all + (size_t)i * pieces);
	free(all);
	return err;
}

static void gda_window_free(struct gda_gin_window *w)
{
	struct gda_reason reason;
	uint32_t i;

	if (!w)
		return;
	gda_reason_save(&reason);
	gda_gin_gpu_window_destroy(w);
	for (i = 0; i < w->count; i++)
		gda_mr_dereg(w->mrs[i]);
	free(w->mrs);
	free(w->chunks);
	free(w->maps);
	free(w->parts);
	free(w);
	gda_reason_restore(&reason);
}

static void gda_window_describe(struct gda_gin_window *w, const struct gda_gin_part *own,
				uint32_t pieces)
{
	uint32_t rank = w->world->view.rank;

	w->view.size = sizeof(w->view);
	w->view.version = GDA_GIN_VERSION;
	w->view.flags = own->flags;
	w->view.pieces = pieces;
	w->view.bytes = own->bytes;
	w->view.iova = w->parts[rank].iova;
	w->view.key = w->parts[rank].key;
	w->view.rank = rank;
	w->view.parts = (uintptr_t)w->parts;
	w->view.maps = (uintptr_t)w->maps;
	w->view.owner = (uintptr_t)w;
}

static void gda_window_publish(struct gda_gin_window *w)
{
	struct gda_gin_world *world = w->world;

	pthread_mutex_lock(&world->lock);
	w->next = world->windows;
	world->windows = w;
	pthread_mutex_unlock(&world->lock);
}

static int gda_window_create(struct gda_gin_world *world, const struct gda_window_attr *attr,
			     size_t size, struct gda_gin_window **window)
{
	struct gda_gin_window *w = calloc(1, sizeof(*w));
	struct gda_gin_part own = { 0 }, *all;
	struct gda_window_attr a = { 0 };
	uint32_t pieces;
	int err;

	all = calloc(world->view.nranks, sizeof(*all));
	err = w && all ? 0 : -ENOMEM;
	if (!err && size > sizeof(struct gda_window))
		err = gda_because(-E2BIG,
				  "the program's window is larger than the library's: install a newer libgda");
	if (!err)
		err = gda_struct_read(&a, sizeof(a), GDA_THROUGH(struct gda_window_attr, reserved),
				      attr);
	if (!err)
		err = gda_window_check(&a, &own.bytes);
	err = gda_comm_agree(world->ranks, err);
	if (err)
		goto out;
	w->world = world;
	own.count = a.count;
	own.flags = a.flags;
	err = gda_window_agree(w, &own, all, &pieces);
	if (!err)
		err = gda_window_exchange(w, &a, all, pieces);
	if (err)
		goto out;
	gda_window_describe(w, &own, pieces);
	err = gda_comm_agree(world->ranks, gda_gin_gpu_window_create(w, pieces));
	if (err)
		goto out;
	gda_window_publish(w);
	*window = w;
	w = NULL;
out:
	gda_window_free(w);
	free(all);
	return err;
}

GDA_EXPORT int gda_window_register_sized(struct gda_gin_comm *comm,
					 const struct gda_window_attr *attr, size_t size,
					 struct gda_window **window)
{
	struct gda_gin_window *w = NULL;
	int err = gda_window_create((struct gda_gin_world *)(uintptr_t)comm->owner, attr, size,
				    &w);

	if (!err)
		*window = &w->view;
	return gda_called(err, "gda_window_register", "%p", (const void *)attr);
}

GDA_EXPORT void gda_window_deregister(struct gda_window *window)
{
	struct gda_gin_window *w, **link;

	if (!window)
		return;
	w = (struct gda_gin_window *)(uintptr_t)window->owner;
	gda_comm_barrier(w->world->ranks, 0);
	pthread_mutex_lock(&w->world->lock);
	for (link = &w->world->windows; *link != w; link = &(*link)->next)
		;
	*link = w->next;
	pthread_mutex_unlock(&w->world->lock);
	gda_window_free(w);
}
