// SPDX-License-Identifier: MIT
/*
 * Communicators of gda/gin.h: create, describe to posters, destroy; and find the place of a
 * failure. This file sets everything that posters rely on without a check.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "gin_internal.h"
#include "share.h"

static_assert(sizeof(struct gda_gin_queue) == 128, "layout is ABI");
static_assert(sizeof(struct gda_gin) == 136, "layout is ABI");
static_assert(sizeof(struct gda_gin_comm) == 48, "layout is ABI");
static_assert(offsetof(struct gda_gin, queues) == 48, "layout is ABI");

/* Point a context to its part of the tables. */
static void gda_gin_fill(struct gda_gin_world *w, uint32_t context, uint64_t *tables)
{
	uint64_t own = w->shared + 8 * context * w->shared_words;
	struct gda_gin *gin = &w->gins[context];
	uint64_t i;

	gin->size = sizeof(*gin);
	gin->version = GDA_GIN_VERSION;
	gin->rank = w->view.rank;
	gin->nranks = w->view.nranks;
	gin->index = context;
	gin->flags = w->attr.flags;
	gin->sharing = w->attr.sharing;
	gin->signals = w->attr.signals;
	gin->counters = w->attr.counters;
	gin->barriers = w->attr.barriers;
	gin->endpoints = w->endpoints;
	gin->queues = (uintptr_t)&w->queues[gda_gin_at(w, context, 0, 0)];
	gin->words = (uintptr_t)tables;
	gin->resets = (uintptr_t)(tables + w->slots);
	gin->shadows = (uintptr_t)(tables + 2 * (size_t)w->slots);
	gin->counts = (uintptr_t)(tables + 3 * (size_t)w->slots);
	gin->lost = (uintptr_t)gda_comm_abort_word(w->ranks, 0);
	gin->timeout_ns = w->attr.timeout_ns;
	gin->checks = (uintptr_t)(w->checks + context * (1 + w->attr.barriers));
	gin->announced = own + 8 * (uint64_t)w->slots;
	gin->owner = (uintptr_t)w;
	gin->abort = (uintptr_t)&gin->abort_word;
	for (i = 0; i < w->slots; i++)
		tables[i] = w->arrivals ?
			(uintptr_t)&gda_counter_memory(w->arrivals[context * w->slots + i])->value :
			own + 8 * gda_gin_word_at(w, i);
}

static int gda_gin_tables_create(struct gda_gin_world *w)
{
	uint32_t contexts = w->attr.contexts;

	void *gins = NULL;
	int err = 0;

	/* they contain the abort words, which a GPU reads */
	if (w->cuda)
		err = gda_cuda_host_alloc(w->cuda, contexts * sizeof(*w->gins), &gins);
	else
		gins = calloc(contexts, sizeof(*w->gins));
	w->gins = gins;
	w->checks = calloc(1, gda_gin_checks_bytes(w));
	w->tables = calloc(1, gda_gin_tables_bytes(w) + 1);
	if (!err && !(w->gins && w->checks && w->tables))
		err = -ENOMEM;
	return gda_comm_agree(w->ranks, err);
}

static void gda_gin_world_free(struct gda_gin_world *w)
{
	pthread_mutex_destroy(&w->lock);
	if (w->cuda)
		gda_cuda_host_free(w->cuda, w->gins);
	else
		free(w->gins);
	free(w->checks);
	free(w->tables);
	free(w);
}

static void gda_gin_describe_comm(struct gda_gin_world *w)
{
	size_t each = 3 * (size_t)w->slots + w->attr.counters;
	uint32_t c;

	for (c = 0; c < w->attr.contexts; c++)
		gda_gin_fill(w, c, w->tables + c * each);
	w->view.size = sizeof(w->view);
	w->view.version = GDA_GIN_VERSION;
	w->view.contexts = w->attr.contexts;
	w->view.stride = w->attr.stride;
	w->view.gin_bytes = sizeof(struct gda_gin);
	w->view.gins = (uintptr_t)w->gins;
	w->view.owner = (uintptr_t)w;
}

static void gda_gin_world_destroy(struct gda_gin_world *w)
{
	gda_gin_gpu_destroy(w);
	gda_gin_queues_destroy(w);
	gda_gin_world_free(w);
}

static int gda_gin_world_create(struct gda_comm *ranks, struct gda_context *ctx,
				const struct gda_gin_attr *attr, struct gda_gin_world **world)
{
	struct gda_gin_world *w = calloc(1, sizeof(*w));
	int err = gda_comm_agree(ranks, w ? 0 : -ENOMEM);

	if (!w || err) {
		free(w);
		return err;
	}
	pthread_mutex_init(&w->lock, NULL);
	w->ranks = ranks;
	w->ctx = ctx;
	w->attr = *attr;
	if (gda_cqe_unordered(attr->dialect) && !(attr->flags & GDA_GIN_ARRIVAL))
		w->attr.flags |= GDA_GIN_SENDERS;
	else
		w->attr.flags &= ~GDA_GIN_EPOCHS;
	w->cuda = attr->cuda;
	w->place = attr->place;
	w->view.rank = gda_comm_rank(ranks);
	w->view.nranks = gda_comm_size(ranks);
	w->view.local = attr->local;
	w->view.stride = attr->stride;
	w->endpoints = attr->flags & GDA_GIN_ARRIVAL ? 1 + attr->signals + attr->barriers : 1;
	if (w->attr.flags & GDA_GIN_EPOCHS)
		w->endpoints = 2;
	w->slots = attr->signals + attr->barriers * w->view.nranks;
	err = attr->local ? 0 : gda_gin_local(ranks, &w->view.local);
	if (!err)
		err = gda_gin_tables_create(w);
	if (!err)
		err = gda_gin_queues_create(w);
	if (!err) {
		gda_gin_describe_comm(w);
		err = gda_comm_agree(ranks, gda_gin_gpu_create(w));
	}
	if (err) {
		gda_gin_world_destroy(w);
		return err;
	}
	*world = w;
	return 0;
}

static int gda_gin_read_attr(const struct gda_gin_attr *theirs, uint32_t flags, uint32_t layout,
			     struct gda_gin_attr *a)
{
	int err = 0;

	memset(a, 0, sizeof(*a));
	if (theirs)
		err = gda_struct_read(a, sizeof(*a), GDA_THROUGH(struct gda_gin_attr, timeout_ns),
				      theirs);
	if (layout >> 16 > sizeof(struct gda_gin_comm) ||
	    (layout & 0xffff) > sizeof(struct gda_gin))
		err = gda_because(-E2BIG,
				  "the program's structures are larger than the library's: install a newer libgda");
	a->size = sizeof(*a);
	a->flags |= flags;
	a->contexts = a->contexts ? a->contexts : 1;
	a->depth = a->depth ? a->depth : 256;
	a->timeout_ns = a->timeout_ns ? a->timeout_ns : 1000000000;
	return err;
}

/* Choose the dialect, and what it decides; kernels post in the first one alone. */
static int gda_gin_dialect(struct gda_gin_attr *a, uint64_t spoken)
{
	int err = a->cuda ? gda_dialect_kernels(&a->dialect) : 0;

	if (!err)
		err = gda_dialect_choose(&a->dialect, spoken);
	if (err || !gda_cqe_unordered(a->dialect))
		return err;
	if (a->flags & (GDA_GIN_CHECKED | GDA_GIN_NEED_VA))
		return gda_because(-EOPNOTSUPP,
				   "dialect %u has no atomics (GDA_CAN_ATOMIC), which GDA_CHECK and GDA_GIN_NEED_VA need: leave them out",
				   a->dialect);
	return 0;
}

/* If posters shall be a GPU, can it post to such a communicator? */
static int gda_gin_check_cuda(struct gda_context *ctx, const struct gda_gin_attr *a)
{
	if (a->flags & GDA_GIN_SIGNALS_GPU && !(a->cuda && gda_gin_gpu_words(a->cuda)))
		return gda_because(-EOPNOTSUPP,
				   "GDA_GIN_SIGNALS_GPU: it needs cuda, of a GPU that has GDA_CUDA_ATOMIC");
	if (!a->cuda)
		return 0;
	if (gda_cuda_context(a->cuda) != ctx)
		return gda_because(-EINVAL,
				   "cuda was opened with another context: open it with this one");
	if (a->flags & GDA_GIN_ARRIVAL)
		return gda_because(-EOPNOTSUPP,
				   "GDA_GIN_ARRIVAL: queues of a GPU have no counters of arrivals: leave it out, or set cuda to NULL");
	return 0;
}

GDA_EXPORT int gda_gin_create_spoken(struct gda_comm *ranks, struct gda_context *ctx,
				     const struct gda_gin_attr *attr, uint32_t flags,
				     uint32_t layout, uint64_t spoken, struct gda_gin_comm **comm)
{
	struct gda_gin_world *w = NULL;
	struct gda_gin_attr a;
	int err = gda_gin_read_attr(attr, flags, layout, &a);

	if (!err)
		err = gda_gin_check_cuda(ctx, &a);
	if (!err)
		err = gda_gin_dialect(&a, spoken);
	err = gda_gin_agree_attr(ranks, &a, err);
	if (!err)
		err = gda_gin_world_create(ranks, ctx, &a, &w);
	if (!err)
		*comm = &w->view;
	return gda_called(err, "gda_gin_create", "%u ranks, flags %#x", gda_comm_size(ranks),
			  a.flags);
}

GDA_EXPORT int gda_gin_create_sized(struct gda_comm *ranks, struct gda_context *ctx,
				    const struct gda_gin_attr *attr, uint32_t flags,
				    uint32_t layout, struct gda_gin_comm **comm)
{
	return gda_gin_create_spoken(ranks, ctx, attr, flags, layout, 1ULL << GDA_WQE_FIRST, comm);
}

GDA_EXPORT void gda_gin_destroy(struct gda_gin_comm *comm)
{
	struct gda_gin_world *w;

	if (!comm)
		return;
	w = (struct gda_gin_world *)(uintptr_t)comm->owner;
	gda_comm_barrier(w->ranks, 0);
	gda_gin_world_destroy(w);
}

/* The window that has @key and @addr in work for @peer, or NULL. */
static const struct gda_window *gda_gin_find(struct gda_gin_world *w, uint32_t peer,
					     uint32_t key, uint64_t addr, uint64_t *offset)
{
	const struct gda_gin_window *win;
	uint32_t i;

	for (win = w->windows; win; win = win->next) {
		const struct gda_chunk_map *map = &win->maps[peer];
		const struct gda_chunk *c = (const struct gda_chunk *)(uintptr_t)map->chunks;

		for (i = 0; i < map->count; i++) {
			if (c[i].key != key)
				continue;
			*offset = c[i].addr + (addr - c[i].iova);
			return &win->view;
		}
	}
	return NULL;
}

/* Report remote address and key of the work request that failed first. */
static void gda_gin_name(struct gda_gin_world *w, const struct gda_view *v, uint64_t index,
			 struct gda_gin_error *e)
{
	const char *entry = (const char *)(uintptr_t)v->sq +
			    (uint64_t)((uint32_t)index & v->mask) *
			    gda_wqe_slot_bytes(v->dialect);
	uint64_t raddr;
	uint32_t rkey;

	gda_wqe_read_remote(v->dialect, entry, &raddr, &rkey);
	pthread_mutex_lock(&w->lock);
	e->window = gda_gin_find(w, e->peer, rkey, raddr, &e->offset);
	pthread_mutex_unlock(&w->lock);
}

/* gda_error() for a queue whose view belongs to a GPU. */
static int gda_gin_gpu_error(struct gda_qp *qp, struct gda_error *why)
{
	struct gda_qp_query query = { .size = sizeof(query) };

	if (gda_qp_query(qp, &query) || query.state != GDA_QP_ERROR)
		return 0;
	why->ticket = (int64_t)query.error_index;
	why->syndrome = query.syndrome;
	why->vendor = query.vendor;
	return 1;
}

int gda_gin_find_error(const struct gda_gin *gin, struct gda_gin_error *e)
{
	struct gda_gin_world *w = (struct gda_gin_world *)(uintptr_t)gin->owner;
	struct gda_error why = { .size = sizeof(why) };
	uint32_t i, end;

	for (e->peer = 0; e->peer < gin->nranks; e->peer++) {
		for (i = 0, end = gin->endpoints; i < end; i++) {
			struct gda_gin_queue *q = gda_gin_queue(gin, i, e->peer);

			struct gda_qp *qp = w->qps[gda_gin_at(w, gin->index, i, e->peer)];

			if (!q || !(w->cuda ? gda_gin_gpu_error(qp, &why) :
					      gda_error(gda_gin_view(q), &why)))
				continue;
			e->syndrome = why.syndrome;
			e->vendor = why.vendor;
			if (!(w->place & GDA_CUDA_SQ_GPU))
				gda_gin_name(w, gda_qp_view(qp), (uint64_t)why.ticket, e);
			return 1;
		}
	}
	for (e->peer = 0; e->peer < gin->nranks; e->peer++) {
		if (gda_gin_lost(gin, e->peer)) {
			e->lost = 1;
			return 1;
		}
	}
	return 0;
}

GDA_EXPORT int gda_gin_query_error(struct gda_gin *gin, struct gda_gin_error *error)
{
	struct gda_gin_error e = { .context = gin->index };
	int ret = gda_struct_check(error, GDA_THROUGH(struct gda_gin_error, offset));

	if (ret)
		return gda_called(ret, "gda_gin_query_error", "context %u", gin->index);
	ret = gda_gin_find_error(gin, &e);
	if (ret)
		gda_struct_write(error, &e, sizeof(e));
	return ret;
}
