// SPDX-License-Identifier: MIT
/*
 * The queues of a communicator. Each context has one queue to each peer. With signals by arrival it
 * has one more for each signal and each barrier, where a counter counts the peers' writes: one
 * counter for all peers of a signal, one for each peer of a barrier.
 *
 * With epochs there are two, of which peers' writes are counted (epochs.c).
 *
 * If the device cannot connect a QP to itself, each queue of a rank to itself gets a mirror, a QP
 * that only receives.
 *
 * One MR has the memory that peers write: for each context the words of its slots and the
 * announcements (GDA_CHECK), and for each queue 8 bytes for the old value of an atomic. With
 * GDA_GIN_SIGNALS_GPU the first two are in another MR, in GPU memory.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "gin_internal.h"
#include "share.h"

#define GDA_GIN_MAX_QUEUES	(1U << 20)

bool gda_gin_connects(const struct gda_gin_world *w, uint32_t peer)
{
	uint32_t rank = w->view.rank;

	switch (w->attr.connect) {
	case GDA_GIN_FULL:
		return true;
	case GDA_GIN_RAIL:
		return peer % w->view.local == rank % w->view.local;
	case GDA_GIN_STRIDE:
		return peer % w->view.stride == rank % w->view.stride;
	default:
		return false;
	}
}

/* The counter for arrivals from @peer at @endpoint, or NULL. */
static struct gda_counter *gda_gin_arrivals(const struct gda_gin_world *w, uint32_t context,
					    uint32_t endpoint, uint32_t peer)
{
	uint32_t signals = w->attr.signals, slot;

	if (!endpoint)
		return NULL;
	slot = endpoint - 1;
	if (slot >= signals)
		slot = signals + (slot - signals) * w->view.nranks + peer;
	return w->arrivals[(size_t)context * w->slots + slot];
}

/* Count arrivals, and take immediates, as the kind of signals asks for. */
static void gda_gin_queue_receives(const struct gda_gin_world *w, uint32_t context,
				   uint32_t endpoint, uint32_t peer, struct gda_qp_attr *attr)
{
	const struct gda_gin_epoch_parts *p;

	if (w->attr.flags & GDA_GIN_ARRIVAL)
		attr->recv_counter = gda_gin_arrivals(w, context, endpoint, peer);
	if (!w->epochs)
		return;
	p = &w->epochs[(size_t)context * w->view.nranks + peer];
	attr->recv_counter = p->counters[endpoint];
	attr->recv_cq = p->ring;
}

static int gda_gin_queue_create(struct gda_gin_world *w, uint32_t context, uint32_t endpoint,
				uint32_t peer)
{
	size_t at = gda_gin_at(w, context, endpoint, peer);
	struct gda_gin_queue *q = &w->queues[at];
	struct gda_qp_attr attr = {
		.size = sizeof(attr),
		.sq_depth = w->attr.depth,
		.dialect = w->attr.dialect,
		.timeout_ns = w->attr.timeout_ns,
	};
	int err;

	if (w->cuda)
		return gda_gin_gpu_queue_create(w, at);
	gda_gin_queue_receives(w, context, endpoint, peer, &attr);
	if (w->mirrors && peer == w->view.rank) {
		err = gda_qp_create(w->ctx, &attr, &w->mirrors[at]);
		if (err)
			return gda_because_last(err);
		attr.recv_counter = NULL;
		attr.recv_cq = NULL;
	}
	err = gda_qp_create(w->ctx, &attr, &w->qps[at]);
	if (err)
		return gda_because_last(err);
	if (w->attr.counters)
		q->tags = (uintptr_t)calloc(w->attr.depth, sizeof(uint64_t));
	if (w->attr.flags & GDA_GIN_CHECKED)
		q->sums = (uintptr_t)calloc(w->attr.depth, 3 * sizeof(uint64_t));
	if (w->attr.flags & GDA_GIN_SENDERS)
		q->sent = (uintptr_t)calloc(w->attr.signals + w->attr.barriers + 1, sizeof(uint64_t));
	if ((w->attr.counters && !q->tags) || (w->attr.flags & GDA_GIN_CHECKED && !q->sums) ||
	    (w->attr.flags & GDA_GIN_SENDERS && !q->sent))
		return -ENOMEM;
	return 0;
}

/* Call @make for every queue of the communicator. */
static int gda_gin_each(struct gda_gin_world *w,
			int (*make)(struct gda_gin_world *w, uint32_t context,
				    uint32_t endpoint, uint32_t peer))
{
	uint32_t c, e, p;
	int err = 0;

	for (c = 0; c < w->attr.contexts; c++)
		for (e = 0; e < w->endpoints; e++)
			for (p = 0; !err && p < w->view.nranks; p++)
				if (gda_gin_connects(w, p))
					err = make(w, c, e, p);
	return err;
}

static int gda_gin_arrivals_create(struct gda_gin_world *w)
{
	size_t i, n = (size_t)w->attr.contexts * w->slots;
	int err = 0;

	if (!(w->attr.flags & GDA_GIN_ARRIVAL))
		return 0;
	w->arrivals = calloc(n + 1, sizeof(struct gda_counter *));
	if (!w->arrivals)
		return -ENOMEM;
	for (i = 0; !err && i < n; i++)
		err = gda_counter_create(w->ctx, &w->arrivals[i]);
	return gda_because_last(err);
}

uint64_t gda_gin_word_at(const struct gda_gin_world *w, uint64_t slot)
{
	uint64_t each = w->view.nranks + !!(w->attr.flags & GDA_GIN_EPOCHS);
	uint64_t signals = w->attr.signals;

	if (!(w->attr.flags & GDA_GIN_SENDERS))
		return slot;
	return slot < signals ? slot * each : slot + signals * (each - 1);
}

static int gda_gin_memory_create(struct gda_gin_world *w)
{
	uint32_t access = GDA_ACCESS_LOCAL_WRITE | GDA_ACCESS_REMOTE_READ | GDA_ACCESS_REMOTE_ATOMIC;
	bool checked = w->attr.flags & GDA_GIN_CHECKED;
	size_t bytes;
	void *p;
	int err;

	w->memory_words = gda_gin_word_at(w, w->slots) + (checked ? 2 * (size_t)w->attr.signals : 0) +
			  gda_gin_epochs_words(w) + (size_t)w->endpoints * w->view.nranks;
	/* with senders' words there may be more than 32 bits can count */
	if ((uint64_t)w->memory_words * w->attr.contexts > SIZE_MAX / sizeof(uint64_t))
		return gda_because(-ENOSPC, "%zu words are too many: use fewer signals",
				   w->memory_words);
	bytes = w->memory_words * w->attr.contexts * sizeof(uint64_t);
	err = gda_cuda_pages_alloc(w->cuda, bytes, &p);
	if (err)
		return err;
	w->memory = p;
	w->shared = (uintptr_t)p;
	w->shared_words = w->memory_words;
	if (w->attr.flags & GDA_GIN_SENDERS)
		access |= GDA_ACCESS_REMOTE_WRITE;
	err = gda_mr_reg(w->ctx, p, bytes, access, 0, &w->mr);
	w->shared_mr = w->mr;
	return err ? gda_because_last(err) : gda_gin_gpu_signals_create(w);
}

/*
 * Does every QP of the device need another one as its peer? If so, allocate room for the mirrors.
 */
static int gda_gin_mirrors_alloc(struct gda_gin_world *w, size_t n)
{
	struct gda_query q = { .size = sizeof(q) };
	int err = w->cuda ? 0 : gda_context_query(w->ctx, &q);

	if (err || w->cuda || q.features[0] & GDA_FEATURE_LOOPBACK)
		return gda_because_last(err);
	w->mirrors = calloc(n, sizeof(struct gda_qp *));
	return w->mirrors ? 0 : -ENOMEM;
}

static int gda_gin_queues_alloc(struct gda_gin_world *w)
{
	size_t n = (size_t)w->attr.contexts * w->endpoints * w->view.nranks;
	int err;

	if (n > GDA_GIN_MAX_QUEUES)
		return gda_because(-ENOSPC,
				   "%zu queues are more than %u: use fewer contexts, or connect fewer ranks",
				   n, GDA_GIN_MAX_QUEUES);
	w->queues = calloc(n, sizeof(*w->queues));
	w->qps = calloc(n, sizeof(struct gda_qp *));
	w->gpu_qps = calloc(n, sizeof(struct gda_cuda_qp *));
	if (!w->queues || !w->qps || !w->gpu_qps)
		return -ENOMEM;
	err = gda_gin_mirrors_alloc(w, n);
	if (!err)
		err = gda_gin_memory_create(w);
	if (!err)
		err = gda_gin_arrivals_create(w);
	if (!err)
		err = gda_gin_epochs_create(w);
	return err ? err : gda_gin_each(w, gda_gin_queue_create);
}

struct gda_gin_key {
	uint64_t iova;
	uint32_t key;
	uint32_t reserved;
};

/* Write to all queues where their peers' words are. */
static void gda_gin_describe(struct gda_gin_world *w, const struct gda_gin_key *keys)
{
	size_t n = (size_t)w->endpoints * w->view.nranks, i;
	uint64_t own = gda_mr_iova(w->mr);
	uint32_t c;

	for (c = 0; c < w->attr.contexts; c++) {
		for (i = 0; i < n; i++) {
			struct gda_gin_queue *q = &w->queues[c * n + i];
			const struct gda_gin_key *peer = &keys[i % w->view.nranks];
			size_t scratch = (c + 1) * w->memory_words - n + i;

			q->signals = peer->iova + 8 * c * w->shared_words;
			q->rkey = peer->key;
			q->fetched = own + 8 * scratch;
			q->lkey = gda_mr_key(w->mr);
			gda_gin_epochs_describe(w, q, c, (uint32_t)(i % w->view.nranks));
		}
	}
}

static int gda_gin_exchange_keys(struct gda_gin_world *w)
{
	struct gda_gin_key own = {
		.iova = gda_mr_iova(w->shared_mr),
		.key = gda_mr_key(w->shared_mr),
	};
	struct gda_gin_key *all = calloc(w->view.nranks, sizeof(own));
	int err;

	if (!all)
		return gda_comm_agree(w->ranks, -ENOMEM);
	err = gda_comm_exchange(w->ranks, &own, sizeof(own), all);
	if (!err)
		gda_gin_describe(w, all);
	free(all);
	return err;
}

/* Connect this rank's queue to itself and its mirror to each other. */
static int gda_gin_connect_mirror(struct gda_gin_world *w, size_t at)
{
	struct gda_address queue, mirror;
	int err = gda_qp_address(w->qps[at], &queue);

	if (!err)
		err = gda_qp_address(w->mirrors[at], &mirror);
	if (!err)
		err = gda_qp_connect(w->qps[at], &mirror);
	if (!err)
		err = gda_qp_connect(w->mirrors[at], &queue);
	return gda_because_last(err);
}

/*
 * Connect the queues of an endpoint. @all: room for the addresses of all ranks' queues to all
 * ranks, followed by this rank's. @err: the result of the steps before; a rank that failed passes
 * no addresses.
 */
static int gda_gin_connect_endpoint(struct gda_gin_world *w, uint32_t context, uint32_t endpoint,
				    struct gda_address *all, int err)
{
	struct gda_qp **qps = &w->qps[gda_gin_at(w, context, endpoint, 0)];
	uint32_t n = w->view.nranks, p;
	struct gda_address *own = all + (size_t)n * n;
	int failed;

	memset(own, 0, n * sizeof(*own));
	for (p = 0; !err && p < n; p++)
		if (qps[p])
			err = gda_because_last(gda_qp_address(qps[p], &own[p]));
	failed = gda_comm_exchange(w->ranks, own, n * sizeof(*own), all);
	if (!err)
		err = failed;
	for (p = 0; !err && p < n; p++) {
		size_t at = gda_gin_at(w, context, endpoint, p);

		if (w->mirrors && w->mirrors[at])
			err = gda_gin_connect_mirror(w, at);
		else if (qps[p])
			err = gda_because_last(gda_qp_connect(qps[p], &all[(size_t)p * n +
							      w->view.rank]));
	}
	return err;
}

static int gda_gin_connect_all(struct gda_gin_world *w)
{
	uint32_t n = w->view.nranks, c, e;
	struct gda_address *all = calloc((size_t)n * (n + 1), sizeof(*all));
	int err = gda_comm_agree(w->ranks, all ? 0 : -ENOMEM);

	if (err) {
		free(all);
		return err;
	}
	for (c = 0; c < w->attr.contexts; c++)
		for (e = 0; e < w->endpoints; e++)
			err = gda_gin_connect_endpoint(w, c, e, all, err);
	free(all);
	return gda_comm_agree(w->ranks, err);
}

/* All queues of a context poll the abort word of that context. */
static int gda_gin_queue_publish(struct gda_gin_world *w, uint32_t context, uint32_t endpoint,
				 uint32_t peer)
{
	size_t at = gda_gin_at(w, context, endpoint, peer);
	struct gda_view *v = w->cuda ? gda_cuda_qp_view(w->gpu_qps[at]) : gda_qp_view(w->qps[at]);

	if (!v)
		return gda_because_last(-EINVAL);
	if (!w->cuda)
		v->abort = (uintptr_t)&w->gins[context].abort_word;
	w->queues[at].view = (uintptr_t)v;
	return 0;
}

int gda_gin_queues_create(struct gda_gin_world *w)
{
	int err = gda_comm_agree(w->ranks, gda_gin_queues_alloc(w));

	if (!err)
		err = gda_gin_exchange_keys(w);
	if (!err)
		err = gda_gin_connect_all(w);
	return gda_comm_agree(w->ranks, err ? err : gda_gin_each(w, gda_gin_queue_publish));
}

void gda_gin_queues_destroy(struct gda_gin_world *w)
{
	size_t n = (size_t)w->attr.contexts * w->endpoints * w->view.nranks, i;
	struct gda_reason reason;

	gda_reason_save(&reason);
	for (i = 0; w->qps && w->gpu_qps && i < n; i++) {
		if (w->cuda)
			gda_cuda_qp_destroy(w->gpu_qps[i]);
		else
			gda_qp_destroy(w->qps[i]);
	}
	for (i = 0; w->mirrors && i < n; i++)
		gda_qp_destroy(w->mirrors[i]);
	for (i = 0; w->queues && i < n; i++) {
		free((void *)(uintptr_t)w->queues[i].tags);
		free((void *)(uintptr_t)w->queues[i].sums);
		free((void *)(uintptr_t)w->queues[i].sent);
	}
	gda_gin_gpu_signals_destroy(w);
	n = (size_t)w->attr.contexts * w->slots;
	for (i = 0; w->arrivals && i < n; i++)
		gda_counter_destroy(w->arrivals[i]);
	gda_gin_epochs_destroy(w);
	gda_mr_dereg(w->mr);
	gda_cuda_pages_free(w->cuda, w->memory_words * w->attr.contexts * sizeof(uint64_t),
			    w->memory);
	free(w->arrivals);
	free(w->queues);
	free(w->qps);
	free(w->mirrors);
	free(w->gpu_qps);
	gda_reason_restore(&reason);
}
