// SPDX-License-Identifier: MIT
/*
 * Workspaces of gda/async.h: create, describe to posters, destroy; and the texts for calls that are
 * refused.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "async_internal.h"
#include "share.h"

static_assert(sizeof(struct gda_async_workspace) == 80, "layout is ABI");
static_assert(sizeof(struct gda_async_session) == 240, "layout is ABI");
static_assert(sizeof(struct gda_async_event) == 8, "layout is ABI");

/* Any rank, or none. */
#define GDA_ASYNC_MAX_SESSION	(1U << GDA_ASYNC_QUEUE_BITS)

static int gda_async_ranges(const struct gda_async_attr *a, uint32_t nranks)
{
	const struct gda_range ranges[] = {
		{ "groups", a->groups, GDA_ASYNC_MAX_GROUPS },
		{ "queues", a->queues, GDA_ASYNC_MAX_QUEUES },
		{ "depth", a->depth, gda_wqe_max_depth(a->dialect) },
		{ "block_bytes", a->block_bytes, GDA_CHUNK_MAX },
		{ "count", a->count, GDA_ASYNC_MAX_WINDOWS },
		{ "reserved2", a->reserved2, 0 },
	};
	int err = gda_ranges_check(ranges, sizeof(ranges) / sizeof(ranges[0]));

	if (err)
		return err;
	if (a->depth < 4 || a->depth & (a->depth - 1))
		return gda_because(-EINVAL,
				   "depth %u: set it to 4, 8, 16 or a higher power of two",
				   a->depth);
	if (!a->block_bytes || a->block_bytes % 64)
		return gda_because(-EINVAL,
				   "block_bytes %u: set it to a multiple of 64",
				   a->block_bytes);
	if (!a->count)
		return gda_because(-EINVAL, "count is 0: give at least one window");
	if (!a->windows)
		return gda_because(-EINVAL, "windows is NULL, count %u: pass the array",
				   a->count);
	if (nranks > GDA_ASYNC_MAX_SESSION / a->queues)
		return gda_because(-ENOSPC,
				   "%u queues to each of %u ranks are more than %u: use fewer queues",
				   a->queues, nranks, GDA_ASYNC_MAX_SESSION);
	return 0;
}

static int gda_async_check(const struct gda_comm *ranks, struct gda_context *ctx,
			   const struct gda_async_attr *a)
{
	if (a->flags & ~(GDA_ASYNC_FLAG_WAIT | GDA_ASYNC_HUGE_PAGES))
		return gda_because(-EOPNOTSUPP,
				   "flags %#x: only GDA_ASYNC_FLAG_WAIT and GDA_ASYNC_HUGE_PAGES are known",
				   a->flags);
	if (a->flags & GDA_ASYNC_FLAG_WAIT && ranks)
		return gda_because(-EOPNOTSUPP,
				   "GDA_ASYNC_FLAG_WAIT works without ranks only: leave it out, or pass NULL for ranks");
	if (a->cuda && gda_cuda_context(a->cuda) != ctx)
		return gda_because(-EINVAL,
				   "cuda was opened with another context: open it with this one");
	return gda_async_ranges(a, ranks ? gda_comm_size(ranks) : 1);
}

/* Choose the dialect; kernels post in the first one alone. */
static int gda_async_dialect(struct gda_async_attr *a, uint64_t spoken)
{
	if (a->cuda)
		return gda_dialect_kernels(&a->dialect);
	return gda_dialect_choose(&a->dialect, spoken);
}

static int gda_async_read_attr(const struct gda_async_attr *theirs, size_t size,
			       struct gda_async_attr *a)
{
	int err;

	memset(a, 0, sizeof(*a));
	if (!theirs)
		return gda_because(-EINVAL, "attr is NULL: a workspace needs at least one window");
	err = gda_struct_read(a, sizeof(*a), GDA_THROUGH(struct gda_async_attr, reserved2),
			      theirs);
	if (!err && size > sizeof(struct gda_async_workspace))
		err = gda_because(-E2BIG,
				  "the program's structure is larger than the library's: install a newer libgda");
	a->size = sizeof(*a);
	a->groups = a->groups ? a->groups : 1;
	a->queues = a->queues ? a->queues : 1;
	a->depth = a->depth ? a->depth : 256;
	a->block_bytes = a->block_bytes ? a->block_bytes : GDA_ASYNC_BLOCK_BYTES;
	a->timeout_ns = a->timeout_ns ? a->timeout_ns : 1000000000;
	return err;
}

/* Do all ranks have the same attributes, where they must? */
static int gda_async_agree_attr(struct gda_comm *ranks, const struct gda_async_attr *a, int err)
{
	/* of dialects in order each rank may have another one, as a GPU's */
	uint32_t own[] = { a->flags, a->groups, a->queues, a->depth,
			   gda_cqe_unordered(a->dialect) ? a->dialect : 0 }, *all, i, n;

	err = gda_comm_agree(ranks, err);
	if (err || !ranks)
		return err;
	n = gda_comm_size(ranks);
	all = calloc(n, sizeof(own));
	err = gda_comm_agree(ranks, all ? 0 : -ENOMEM);
	if (!err)
		err = gda_comm_exchange(ranks, own, sizeof(own), all);
	for (i = 0; !err && i < n; i++)
		if (memcmp(own, (char *)all + i * sizeof(own), sizeof(own)))
			err = gda_because(-EINVAL,
					  "rank %u gave other flags, groups, queues, depth or dialect: give the same on all ranks",
					  i);
	free(all);
	return gda_comm_agree(ranks, err);
}

static void gda_async_describe(struct gda_async_world *w)
{
	struct gda_async_workspace *v = &w->view;

	v->size = sizeof(*v);
	v->version = GDA_ASYNC_VERSION;
	v->flags = w->attr.flags;
	v->rank = w->ranks ? gda_comm_rank(w->ranks) : 0;
	v->nranks = w->ranks ? gda_comm_size(w->ranks) : 1;
	v->groups = w->attr.groups;
	v->queues = w->attr.queues;
	v->block_bytes = w->attr.block_bytes;
	v->remote = !!w->ranks;
	v->timeout_ns = w->attr.timeout_ns;
	v->owner = (uintptr_t)w;
}

static void gda_async_world_destroy(struct gda_async_world *w)
{
	struct gda_reason reason;

	gda_reason_save(&reason);
	gda_async_gpu_destroy(w);
	gda_async_queues_destroy(w);
	gda_async_windows_destroy(w);
	gda_async_stage_destroy(w);
	free(w);
	gda_reason_restore(&reason);
}

static int gda_async_world_create(struct gda_comm *ranks, struct gda_context *ctx,
				  const struct gda_async_attr *a, struct gda_async_world **world)
{
	struct gda_async_world *w = calloc(1, sizeof(*w));
	int err = gda_comm_agree(ranks, w ? 0 : -ENOMEM);

	if (err) {
		free(w);
		return err;
	}
	w->ranks = ranks;
	w->ctx = ctx;
	w->attr = *a;
	gda_async_describe(w);
	err = gda_comm_agree(ranks, gda_async_stage_create(w));
	if (!err)
		err = gda_async_windows_create(w);
	if (!err)
		err = gda_async_queues_create(w);
	if (!err)
		err = gda_comm_agree(ranks, gda_async_gpu_create(w));
	if (err)
		gda_async_world_destroy(w);
	else
		*world = w;
	return err;
}

GDA_EXPORT int gda_async_create_spoken(struct gda_comm *ranks, struct gda_context *ctx,
				       const struct gda_async_attr *attr, size_t size,
				       uint64_t spoken, struct gda_async_workspace **workspace)
{
	struct gda_async_world *w = NULL;
	struct gda_async_attr a;
	int err = gda_async_read_attr(attr, size, &a);

	if (!err)
		err = gda_async_dialect(&a, spoken);
	if (!err)
		err = gda_async_check(ranks, ctx, &a);
	err = gda_async_agree_attr(ranks, &a, err);
	if (!err)
		err = gda_async_world_create(ranks, ctx, &a, &w);
	if (!err)
		*workspace = &w->view;
	return gda_called(err, "gda_async_create", "%u groups of %u queues, %u windows, flags %#x",
			  a.groups, a.queues, a.count, a.flags);
}

GDA_EXPORT int gda_async_create_sized(struct gda_comm *ranks, struct gda_context *ctx,
				      const struct gda_async_attr *attr, size_t size,
				      struct gda_async_workspace **workspace)
{
	return gda_async_create_spoken(ranks, ctx, attr, size, 1ULL << GDA_WQE_FIRST, workspace);
}

GDA_EXPORT void gda_async_destroy(struct gda_async_workspace *workspace)
{
	struct gda_async_world *w;

	if (!workspace)
		return;
	w = (struct gda_async_world *)(uintptr_t)workspace->owner;
	if (w->ranks)
		gda_comm_barrier(w->ranks, 0);
	gda_async_world_destroy(w);
}

GDA_EXPORT struct gda_async_workspace *
gda_async_cuda_workspace(const struct gda_async_workspace *workspace)
{
	const struct gda_async_world *w = (const struct gda_async_world *)(uintptr_t)
					  workspace->owner;

	return (struct gda_async_workspace *)(uintptr_t)w->gpu;
}
