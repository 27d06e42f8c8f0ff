// SPDX-License-Identifier: MIT
/*
 * The queues of a workspace. Each group has some queues to each rank, or, without ranks, loopback
 * queues that are connected to themselves. If the device cannot connect a QP to itself, each
 * loopback queue gets a mirror, a QP that only receives. Each queue has 8 bytes of the stage, for
 * the old value of an atomic or the result of a trailing read.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "async_internal.h"
#include "share.h"

#define GDA_ASYNC_MAX_VIEWS	(1U << 20)

size_t gda_async_count(const struct gda_async_world *w)
{
	return (size_t)w->view.groups * w->view.nranks * w->view.queues;
}

static int gda_async_queue_create(struct gda_async_world *w, size_t at)
{
	struct gda_qp_attr attr = {
		.size = sizeof(attr),
		.sq_depth = w->attr.depth,
		.dialect = w->attr.dialect,
		.timeout_ns = w->attr.timeout_ns,
	};
	struct gda_cuda_qp_attr gpu = {
		.size = sizeof(gpu),
		.sq_depth = w->attr.depth,
		.place = w->attr.place,
		.timeout_ns = w->attr.timeout_ns,
	};
	int err;

	if (!w->attr.cuda)
		return gda_because_last(gda_qp_create(w->ctx, &attr, &w->qps[at]));
	err = gda_cuda_qp_create(w->attr.cuda, &gpu, &w->gpu_qps[at]);
	if (!err)
		w->qps[at] = gda_cuda_qp_base(w->gpu_qps[at]);
	return gda_because_last(err);
}

/* The last word is never written: peers read it, see gda_async_settle(). */
static size_t gda_async_stage_bytes(const struct gda_async_world *w)
{
	return (gda_async_count(w) + 1) * sizeof(uint64_t);
}

int gda_async_stage_create(struct gda_async_world *w)
{
	size_t n = gda_async_count(w), bytes = gda_async_stage_bytes(w);
	void *p;
	int err;

	if (n > GDA_ASYNC_MAX_VIEWS)
		return gda_because(-ENOSPC,
				   "%zu queues are more than %u: use fewer queues or groups",
				   n, GDA_ASYNC_MAX_VIEWS);
	err = gda_cuda_pages_alloc(w->attr.cuda, bytes, &p);
	if (err)
		return err;
	w->stage = p;
	err = gda_mr_reg(w->ctx, p, bytes, GDA_ACCESS_LOCAL_WRITE | GDA_ACCESS_REMOTE_READ, 0,
			 &w->stage_mr);
	if (err)
		return gda_because_last(err);
	w->view.stage = gda_mr_iova(w->stage_mr);
	w->view.stage_key = gda_mr_key(w->stage_mr);
	return 0;
}

/*
 * Do this rank's queues to itself need another QP as their peer? If so, allocate room for the
 * mirrors.
 */
static int gda_async_mirrors_alloc(struct gda_async_world *w, size_t n)
{
	struct gda_query q = { .size = sizeof(q) };
	int err = w->attr.cuda ? 0 : gda_context_query(w->ctx, &q);

	if (err || w->attr.cuda || q.features[0] & GDA_FEATURE_LOOPBACK)
		return gda_because_last(err);
	w->mirrors = calloc(n, sizeof(struct gda_qp *));
	return w->mirrors ? 0 : -ENOMEM;
}

static int gda_async_queues_alloc(struct gda_async_world *w)
{
	size_t n = gda_async_count(w), i;
	int err = 0;

	w->qps = calloc(n, sizeof(struct gda_qp *));
	w->gpu_qps = calloc(n, sizeof(struct gda_cuda_qp *));
	w->views = calloc(n, sizeof(*w->views));
	if (!w->qps || !w->gpu_qps || !w->views)
		return -ENOMEM;
	err = gda_async_mirrors_alloc(w, n);
	for (i = 0; !err && i < n; i++)
		err = gda_async_queue_create(w, i);
	return err;
}

/* Connect the queue and its mirror to each other. */
static int gda_async_connect_mirror(struct gda_async_world *w, size_t at)
{
	struct gda_qp_attr attr = {
		.size = sizeof(attr), .sq_depth = 1, .dialect = w->attr.dialect,
		.timeout_ns = w->attr.timeout_ns,
	};
	struct gda_address queue, mirror;
	int err = gda_qp_create(w->ctx, &attr, &w->mirrors[at]);

	if (!err)
		err = gda_qp_address(w->qps[at], &queue);
	if (!err)
		err = gda_qp_address(w->mirrors[at], &mirror);
	if (!err)
		err = gda_qp_connect(w->qps[at], &mirror);
	if (!err)
		err = gda_qp_connect(w->mirrors[at], &queue);
	return gda_because_last(err);
}

/* Connect loopback queues. */
static int gda_async_connect_self(struct gda_async_world *w)
{
	size_t n = gda_async_count(w), i;
	struct gda_address own;
	int err = 0;

	for (i = 0; w->mirrors && !err && i < n; i++)
		err = gda_async_connect_mirror(w, i);
	for (i = 0; !w->mirrors && !err && i < n; i++) {
		err = gda_qp_address(w->qps[i], &own);
		if (!err)
			err = gda_qp_connect(w->qps[i], &own);
	}
	return gda_because_last(err);
}

/*
 * Connect the queues of a group. @all: room for the addresses of all ranks' queues of a group,
 * followed by this rank's. @err: the result of the steps before; a rank that failed passes no
 * addresses.
 */
static int gda_async_connect_group(struct gda_async_world *w, uint32_t group,
				   struct gda_address *all, int err)
{
	size_t each = (size_t)w->view.nranks * w->view.queues, i;
	struct gda_qp **qps = w->qps + group * each;
	struct gda_address *own = all + each * w->view.nranks;
	int failed;

	memset(own, 0, each * sizeof(*own));
	for (i = 0; !err && i < each; i++)
		err = gda_because_last(gda_qp_address(qps[i], &own[i]));
	failed = gda_comm_exchange(w->ranks, own, each * sizeof(*own), all);
	if (!err)
		err = failed;
	for (i = 0; !err && i < each; i++) {
		size_t peer = i / w->view.queues, queue = i % w->view.queues;

		if (w->mirrors && peer == w->view.rank)
			err = gda_async_connect_mirror(w, group * each + i);
		else
			err = gda_because_last(gda_qp_connect(qps[i], &all[peer * each +
							      w->view.rank * w->view.queues +
							      queue]));
	}
	return err;
}

static int gda_async_connect(struct gda_async_world *w)
{
	size_t each = (size_t)w->view.nranks * w->view.queues;
	struct gda_address *all;
	uint32_t g;
	int err;

	if (!w->ranks)
		return gda_async_connect_self(w);
	all = calloc(each * (w->view.nranks + 1), sizeof(*all));
	err = gda_comm_agree(w->ranks, all ? 0 : -ENOMEM);
	for (g = 0; all && g < w->view.groups; g++)
		err = gda_async_connect_group(w, g, all, err);
	free(all);
	return gda_comm_agree(w->ranks, err);
}

/* List the views; a CPU's waits end when their peer is lost. */
static int gda_async_publish(struct gda_async_world *w)
{
	size_t n = gda_async_count(w), i;

	for (i = 0; i < n; i++) {
		struct gda_view *v = w->attr.cuda ? gda_cuda_qp_view(w->gpu_qps[i]) :
						    gda_qp_view(w->qps[i]);

		if (!v)
			return gda_because_last(-EINVAL);
		w->views[i] = (uintptr_t)v;
		if (w->ranks && !w->attr.cuda)
			gda_comm_watch(w->ranks, (uint32_t)(i / w->view.queues % w->view.nranks),
				       v);
	}
	w->view.views = (uintptr_t)w->views;
	return 0;
}

int gda_async_queues_create(struct gda_async_world *w)
{
	int err = gda_comm_agree(w->ranks, gda_async_queues_alloc(w));

	if (!err)
		err = gda_async_connect(w);
	return gda_comm_agree(w->ranks, err ? err : gda_async_publish(w));
}

void gda_async_queues_destroy(struct gda_async_world *w)
{
	size_t n = gda_async_count(w), i;

	for (i = 0; w->mirrors && i < n; i++)
		gda_qp_destroy(w->mirrors[i]);
	for (i = 0; w->qps && w->gpu_qps && i < n; i++) {
		if (w->attr.cuda)
			gda_cuda_qp_destroy(w->gpu_qps[i]);
		else
			gda_qp_destroy(w->qps[i]);
	}
	free(w->qps);
	free(w->gpu_qps);
	free(w->mirrors);
	free(w->views);
}

void gda_async_stage_destroy(struct gda_async_world *w)
{
	gda_mr_dereg(w->stage_mr);
	gda_cuda_pages_free(w->attr.cuda, gda_async_stage_bytes(w), w->stage);
}
