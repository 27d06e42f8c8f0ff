// SPDX-License-Identifier: MIT
/*
 * Put, put with signal, get and flush. Misuse is detected before anything is posted.
 *
 * A put is posted to the context's queue to the peer. A get is a put by the peer, posted to its
 * serve queue for this rank. A signal in host memory is an atomic behind the put, on the same
 * queue; signal.c has those in GPU memory. Both follow all earlier puts of the context to that
 * peer, so weak signals are as strong as strong ones.
 */
#include <errno.h>
#include "nccl_internal.h"

static int gda_nccl_misuse(const char *what, const char *why, uint32_t rank, int index)
{
	gda_nccl_log(GDA_NCCL_LOG_WARN, "GDA: %s, rank %u, context %d: %s", what, rank, index, why);
	return GDA_NCCL_INVALID_ARGUMENT;
}

/* Does @size at @offset lie in the region of @rank? */
static bool gda_nccl_inside(const struct gda_nccl_context *c, const struct gda_nccl_mr *mr,
			    uint32_t rank, uint64_t offset, uint64_t size)
{
	const struct gda_nccl_region *r;

	if (!mr || mr->coll != c->coll)
		return false;
	r = mr->region[rank];
	return offset <= r->size && size <= r->size - offset;
}

/* The queue to @rank, or NULL if the call is a misuse. c->lock is held. */
static struct gda_nccl_queue *gda_nccl_queue_to(struct gda_nccl_context *c, const char *what,
						int index, uint32_t rank)
{
	uint32_t ranks = (uint32_t)c->coll->group->ranks;
	struct gda_nccl_queue *q;

	if (index < 0 || index >= c->contexts || rank >= ranks) {
		gda_nccl_misuse(what,
				"no such rank or context: pass one of this communicator",
				rank, index);
		return NULL;
	}
	q = &c->queues[(uint32_t)index * ranks + rank];
	if (!q->view) {
		gda_nccl_misuse(what,
				"the context's rank stride leaves this rank out: create the context with another stride",
				rank, index);
		return NULL;
	}
	return q;
}

static int gda_nccl_post_failed(struct gda_nccl_request *r, int64_t err)
{
	gda_nccl_log(GDA_NCCL_LOG_WARN, "GDA: %s, rank %u, context %d, offset %#llx: %s", r->what,
		     r->peer, r->index, (unsigned long long)r->offset,
		     err == -EPIPE ? gda_nccl_reason((int)err) : gda_strerror((int)err));
	r->context->failed = true;
	gda_nccl_request_put(r);
	return err == -ENOMEM ? GDA_NCCL_SYSTEM_ERROR : GDA_NCCL_REMOTE_ERROR;
}

static struct gda_nccl_request *gda_nccl_begin(struct gda_nccl_context *c, const char *what,
					       int index, uint32_t rank, uint64_t offset)
{
	struct gda_nccl_request *r = gda_nccl_request_get(c, what);

	if (!r)
		return NULL;
	r->index = index;
	r->peer = rank;
	r->offset = offset;
	return r;
}

struct gda_nccl_data {
	struct gda_nccl_mr *src;
	struct gda_nccl_mr *dst;
	uint64_t src_offset;
	uint64_t dst_offset;
	uint64_t size;
};

static int64_t gda_nccl_post_data(struct gda_nccl_context *c, struct gda_nccl_queue *q,
				  uint32_t rank, const struct gda_nccl_data *d)
{
	const struct gda_nccl_region *from, *to;

	if (!d->size)
		return q->last;
	from = d->src->region[c->coll->rank];
	to = d->dst->region[rank];
	return gda_nccl_queue_put(q, from->iova + d->src_offset, from->key,
				  to->iova + d->dst_offset, to->key, d->size);
}

static bool gda_nccl_data_inside(const struct gda_nccl_context *c, uint32_t rank,
				 const struct gda_nccl_data *d)
{
	return !d->size ||
	       (gda_nccl_inside(c, d->src, (uint32_t)c->coll->rank, d->src_offset, d->size) &&
		gda_nccl_inside(c, d->dst, rank, d->dst_offset, d->size));
}

static int gda_nccl_put(struct gda_nccl_context *c, int index, uint32_t rank,
			const struct gda_nccl_data *d, void **request)
{
	struct gda_nccl_queue *q = gda_nccl_queue_to(c, "iput", index, rank);
	struct gda_nccl_request *r;
	int64_t ticket;

	if (!q)
		return GDA_NCCL_INVALID_ARGUMENT;
	if (!gda_nccl_data_inside(c, rank, d))
		return gda_nccl_misuse("iput",
				       "not inside of what is registered: register it by ncclCommWindowRegister()",
				       rank, index);
	r = gda_nccl_begin(c, "iput", index, rank, d->dst_offset);
	if (!r)
		return GDA_NCCL_SYSTEM_ERROR;
	ticket = gda_nccl_post_data(c, q, rank, d);
	if (ticket < -1)
		return gda_nccl_post_failed(r, ticket);
	if (d->size) {
		r->queue = q;
		r->ticket = ticket;
	}
	*request = r;
	return GDA_NCCL_SUCCESS;
}

int gda_nccl_iput(void *context, int index, uint64_t src_offset, void *src_mr, size_t size,
		  uint64_t dst_offset, void *dst_mr, uint32_t rank, void **request)
{
	const struct gda_nccl_data d = { src_mr, dst_mr, src_offset, dst_offset, size };
	struct gda_nccl_context *c = context;
	int result;

	pthread_mutex_lock(&c->lock);
	result = gda_nccl_put(c, index, rank, &d, request);
	pthread_mutex_unlock(&c->lock);
	return result;
}

struct gda_nccl_signal {
	struct gda_nccl_mr *mr;
	uint64_t offset;
	uint64_t value;
	uint32_t op;
};

/* Post the signal behind what was posted to @q. Return: 0 or a negative errno. */
static int64_t gda_nccl_post_signal(struct gda_nccl_request *r, struct gda_nccl_queue *q,
				    const struct gda_nccl_signal *s)
{
	uint64_t value = s->op == GDA_NCCL_SIGNAL_INC ? 1 : s->value;
	struct gda_nccl_region *region = s->mr->region[r->peer];
	const struct gda_nccl_member *m = r->context->coll->member;
	int64_t ticket;

	if (region->gpu) {
		r->signal = region;
		r->signal_offset = s->offset;
		r->signal_value = value;
		gda_nccl_request_queue(r);
		return 0;
	}
	ticket = gda_fetch_add(q->view, gda_mr_iova(m->scratch_mr), gda_mr_key(m->scratch_mr),
			       region->iova + s->offset, region->key, value, 0);
	if (ticket < 0)
		return ticket;
	q->last = ticket;
	r->queue = q;
	r->ticket = ticket;
	return 0;
}

static int gda_nccl_put_signal(struct gda_nccl_context *c, int index, uint32_t rank,
			       const struct gda_nccl_data *d, const struct gda_nccl_signal *s,
			       void **request)
{
	struct gda_nccl_queue *q = gda_nccl_queue_to(c, "iputSignal", index, rank);
	struct gda_nccl_request *r;
	int64_t err;

	if (!q)
		return GDA_NCCL_INVALID_ARGUMENT;
	if (s->op != GDA_NCCL_SIGNAL_INC && s->op != GDA_NCCL_SIGNAL_ADD)
		return gda_nccl_misuse("iputSignal",
				       "the signal is neither Inc nor Add: pass one of them",
				       rank, index);
	if (s->offset % 8 || !gda_nccl_inside(c, s->mr, rank, s->offset, 8))
		return gda_nccl_misuse("iputSignal",
				       "the signal is no aligned word of a window: register it, at a multiple of 8",
				       rank, index);
	if (!gda_nccl_data_inside(c, rank, d))
		return gda_nccl_misuse("iputSignal",
				       "not inside of what is registered: register it by ncclCommWindowRegister()",
				       rank, index);
	r = gda_nccl_begin(c, "iputSignal", index, rank, d->dst_offset);
	if (!r)
		return GDA_NCCL_SYSTEM_ERROR;
	err = gda_nccl_post_data(c, q, rank, d);
	if (err < -1)
		return gda_nccl_post_failed(r, err);
	/* a signal without data waits for the earlier puts */
	if (q->last >= 0) {
		r->queue = q;
		r->ticket = q->last;
	}
	err = gda_nccl_post_signal(r, q, s);
	if (err)
		return gda_nccl_post_failed(r, err);
	*request = r;
	return GDA_NCCL_SUCCESS;
}

int gda_nccl_iput_signal(void *context, int index, uint64_t src_offset, void *src_mr,
			 size_t size, uint64_t dst_offset, void *dst_mr, uint32_t rank,
			 uint64_t signal_offset, void *signal_mr, uint64_t signal_value,
			 uint32_t signal_op, bool strong, void **request)
{
	const struct gda_nccl_data d = { src_mr, dst_mr, src_offset, dst_offset, size };
	const struct gda_nccl_signal s = { signal_mr, signal_offset, signal_value, signal_op };
	struct gda_nccl_context *c = context;
	int result;

	(void)strong;
	pthread_mutex_lock(&c->lock);
	result = gda_nccl_put_signal(c, index, rank, &d, &s, request);
	pthread_mutex_unlock(&c->lock);
	return result;
}

/* Post a put by the member that has the bytes, to this rank. */
static int64_t gda_nccl_post_get(struct gda_nccl_context *c, uint32_t rank,
				 const struct gda_nccl_data *d)
{
	const struct gda_nccl_region *from = d->src->region[rank];
	const struct gda_nccl_region *to = d->dst->region[c->coll->rank];
	struct gda_nccl_member *server = from->owner;
	int64_t ticket = -EPIPE;

	pthread_mutex_lock(&server->lock);
	if (!server->closed)
		ticket = gda_nccl_queue_put(&server->serve[c->coll->rank],
					    from->iova + d->src_offset, from->key,
					    to->iova + d->dst_offset, to->key, d->size);
	pthread_mutex_unlock(&server->lock);
	return ticket;
}

static void gda_nccl_wait_served(struct gda_nccl_request *r, int64_t ticket)
{
	struct gda_nccl_coll *coll = r->context->coll;

	r->server = coll->group->member[r->peer];
	r->serve = coll->rank;
	r->served = ticket;
}

static int gda_nccl_get_locked(struct gda_nccl_context *c, int index, uint32_t rank,
			       const struct gda_nccl_data *d, void **request)
{
	struct gda_nccl_queue *q = gda_nccl_queue_to(c, "iget", index, rank);
	struct gda_nccl_request *r;
	int64_t ticket;

	if (!q)
		return GDA_NCCL_INVALID_ARGUMENT;
	if (d->size &&
	    (!gda_nccl_inside(c, d->src, rank, d->src_offset, d->size) ||
	     !gda_nccl_inside(c, d->dst, (uint32_t)c->coll->rank, d->dst_offset, d->size)))
		return gda_nccl_misuse("iget",
				       "not inside of what is registered: register it by ncclCommWindowRegister()",
				       rank, index);
	r = gda_nccl_begin(c, "iget", index, rank, d->src_offset);
	if (!r)
		return GDA_NCCL_SYSTEM_ERROR;
	if (d->size) {
		ticket = gda_nccl_post_get(c, rank, d);
		if (ticket < 0)
			return gda_nccl_post_failed(r, ticket);
		c->gets[rank] = ticket;
		gda_nccl_wait_served(r, ticket);
	}
	*request = r;
	return GDA_NCCL_SUCCESS;
}

int gda_nccl_iget(void *context, int index, uint64_t remote_offset, void *remote_mr,
		  size_t size, uint64_t local_offset, void *local_mr, uint32_t rank,
		  void **request)
{
	const struct gda_nccl_data d = { remote_mr, local_mr, remote_offset, local_offset, size };
	struct gda_nccl_context *c = context;
	int result;

	pthread_mutex_lock(&c->lock);
	result = gda_nccl_get_locked(c, index, rank, &d, request);
	pthread_mutex_unlock(&c->lock);
	return result;
}

int gda_nccl_iflush(void *context, int index, void *mr, uint32_t rank, void **request)
{
	struct gda_nccl_context *c = context;
	struct gda_nccl_request *r = NULL;
	struct gda_nccl_queue *q;

	(void)mr;
	pthread_mutex_lock(&c->lock);
	q = gda_nccl_queue_to(c, "iflush", index, rank);
	if (q)
		r = gda_nccl_begin(c, "iflush", index, rank, 0);
	if (r && q->last >= 0) {
		r->queue = q;
		r->ticket = q->last;
	}
	if (r && c->gets[rank] >= 0)
		gda_nccl_wait_served(r, c->gets[rank]);
	pthread_mutex_unlock(&c->lock);
	if (!r)
		return q ? GDA_NCCL_SYSTEM_ERROR : GDA_NCCL_INVALID_ARGUMENT;
	*request = r;
	return GDA_NCCL_SUCCESS;
}
