// SPDX-License-Identifier: MIT
/* RMA contexts: each of NCCL's contexts has a queue to every peer. */
#include <errno.h>
#include <stdlib.h>
#include "nccl_internal.h"

/* Is @peer connected, if peers are multiples of @stride away? */
static bool gda_nccl_is_peer(const struct gda_nccl_coll *coll, int stride, int peer)
{
	return stride <= 1 || (peer - coll->rank) % stride == 0;
}

static int gda_nccl_context_queues(struct gda_nccl_context *c, int stride)
{
	struct gda_nccl_coll *coll = c->coll;
	int ranks = coll->group->ranks, i;
	int err = 0;

	for (i = 0; i < c->contexts * ranks && !err; i++)
		if (gda_nccl_is_peer(coll, stride, i % ranks))
			err = gda_nccl_queue_create(coll->member,
						    coll->group->member[i % ranks]->device,
						    &c->queues[i]);
	return err;
}

/* The addresses of a rank for all others, and its error. */
struct gda_nccl_offer {
	int err;
	int contexts;
	int stride;
	int reserved;
	struct gda_address address[];
};

static size_t gda_nccl_offer_bytes(const struct gda_nccl_context *c)
{
	return sizeof(struct gda_nccl_offer) + (size_t)(c->contexts * c->coll->group->ranks) *
						       sizeof(struct gda_address);
}

static int gda_nccl_offer_take(struct gda_nccl_context *c, const unsigned char *all, int stride)
{
	int ranks = c->coll->group->ranks, rank = c->coll->rank, i;
	size_t bytes = gda_nccl_offer_bytes(c);
	int err = 0;

	for (i = 0; i < ranks && !err; i++) {
		const struct gda_nccl_offer *o = (const void *)(all + (size_t)i * bytes);

		err = o->err ? -ECANCELED : o->stride != stride ? -EBADMSG : 0;
	}
	for (i = 0; i < c->contexts * ranks && !err; i++) {
		const struct gda_nccl_offer *o =
			(const void *)(all + (size_t)(i % ranks) * bytes);

		if (c->queues[i].qp)
			err = gda_nccl_queue_connect(&c->queues[i],
						     &o->address[i / ranks * ranks + rank]);
	}
	return err;
}

static int gda_nccl_context_connect(struct gda_nccl_context *c, int stride, int err)
{
	int ranks = c->coll->group->ranks, i;
	size_t bytes = gda_nccl_offer_bytes(c);
	struct gda_nccl_offer *mine = calloc(1, bytes);
	unsigned char *all = calloc((size_t)ranks, bytes);

	if (!mine || !all) {
		err = -ENOMEM;
		goto out;
	}
	for (i = 0; i < c->contexts * ranks && !err; i++)
		if (c->queues[i].qp)
			err = gda_qp_address(c->queues[i].qp, &mine->address[i]);
	mine->err = err;
	mine->contexts = c->contexts;
	mine->stride = stride;
	err = gda_nccl_meet(c->coll, mine, bytes, all);
	err = mine->err ? mine->err : err;
	if (!err)
		err = gda_nccl_offer_take(c, all, stride);
out:
	free(mine);
	free(all);
	return err;
}

static void gda_nccl_context_free(struct gda_nccl_context *c)
{
	int i;

	for (i = 0; c->queues && i < c->contexts * c->coll->group->ranks; i++)
		gda_nccl_queue_destroy(&c->queues[i]);
	gda_nccl_requests_free(c);
	pthread_mutex_destroy(&c->lock);
	free(c->queues);
	free(c->gets);
	free(c);
}

static int gda_nccl_context_new(struct gda_nccl_coll *coll, int contexts, int stride,
				struct gda_nccl_context **context)
{
	struct gda_nccl_context *c = calloc(1, sizeof(*c));
	int ranks = coll->group->ranks, i;
	int err = -ENOMEM;

	if (!c)
		return err;
	c->coll = coll;
	c->contexts = contexts;
	c->signals_end = &c->signals;
	pthread_mutex_init(&c->lock, NULL);
	c->queues = calloc((size_t)(contexts * ranks), sizeof(c->queues[0]));
	c->gets = malloc((size_t)ranks * sizeof(c->gets[0]));
	if (c->queues && c->gets) {
		for (i = 0; i < ranks; i++)
			c->gets[i] = -1;
		for (i = 0; i < contexts * ranks; i++)
			c->queues[i].last = -1;
		err = gda_nccl_context_connect(c, stride, gda_nccl_context_queues(c, stride));
	}
	if (err) {
		gda_nccl_context_free(c);
		return err;
	}
	*context = c;
	return 0;
}

int gda_nccl_create_context(void *coll, struct gda_nccl_config *config, void **context)
{
	struct gda_nccl_coll *co = coll;
	int stride = config->rank_stride;
	struct gda_nccl_context *c;
	int err;

	if (config->contexts < 1 || config->contexts > 1024 || stride < 0 ||
	    (stride > 1 && co->group->ranks % stride)) {
		gda_nccl_log(GDA_NCCL_LOG_WARN,
			     "GDA: createContext: %d contexts, rank stride %d of %d ranks: from 1 to 1024 contexts, and a stride that divides the ranks",
			     config->contexts, stride, co->group->ranks);
		return GDA_NCCL_INVALID_ARGUMENT;
	}
	err = gda_nccl_context_new(co, config->contexts, stride, &c);
	if (err) {
		gda_nccl_log(GDA_NCCL_LOG_WARN, "GDA: createContext: %s",
			     gda_nccl_reason(err));
		return GDA_NCCL_SYSTEM_ERROR;
	}
	c->next = co->contexts;
	co->contexts = c;
	*context = c;
	return GDA_NCCL_SUCCESS;
}

int gda_nccl_destroy_context(void *context)
{
	struct gda_nccl_context *c = context, **link;

	if (!c)
		return GDA_NCCL_SUCCESS;
	for (link = &c->coll->contexts; *link && *link != c;)
		link = &(*link)->next;
	if (!*link)
		return GDA_NCCL_INVALID_ARGUMENT;
	*link = c->next;
	gda_nccl_context_free(c);
	return GDA_NCCL_SUCCESS;
}
