// SPDX-License-Identifier: MIT
/*
 * Requests in flight. A request is done when first its data and then its signal is done. progress()
 * sends signals whose data has arrived, so that a signal does not depend on a test of its request.
 *
 * A failed request is reported in NCCL's log with its reason; NCCL makes it the communicator's
 * asynchronous error.
 */
#include <errno.h>
#include <stdlib.h>
#include "nccl_internal.h"

struct gda_nccl_request *gda_nccl_request_get(struct gda_nccl_context *c, const char *what)
{
	struct gda_nccl_request *r = c->free, *block;

	if (r) {
		c->free = r->next;
	} else {
		r = calloc(1, sizeof(*r));
		if (!r)
			return NULL;
		r->block = c->all;
		c->all = r;
	}
	block = r->block;
	*r = (struct gda_nccl_request){
		.context = c, .block = block, .busy = true, .what = what, .ticket = -1,
	};
	return r;
}

void gda_nccl_request_put(struct gda_nccl_request *r)
{
	r->busy = false;
	r->next = r->context->free;
	r->context->free = r;
}

void gda_nccl_requests_free(struct gda_nccl_context *c)
{
	struct gda_nccl_request *r;

	while ((r = c->all)) {
		c->all = r->block;
		free(r);
	}
}

void gda_nccl_request_queue(struct gda_nccl_request *r)
{
	r->next = NULL;
	*r->context->signals_end = r;
	r->context->signals_end = &r->next;
}

static void gda_nccl_request_unqueue(struct gda_nccl_request *r)
{
	struct gda_nccl_request **link = &r->context->signals;

	while (*link && *link != r)
		link = &(*link)->next;
	if (!*link)
		return;
	*link = r->next;
	if (!r->next)
		r->context->signals_end = link;
}

static int gda_nccl_request_fail(struct gda_nccl_request *r, struct gda_view *view, int err)
{
	struct gda_error e = { .size = sizeof(e) };
	bool known = view && gda_error(view, &e) == 1;

	gda_nccl_log(GDA_NCCL_LOG_WARN,
		     "GDA: %s of rank %d to rank %u, context %d, offset %#llx: %s%s%s%s%s",
		     r->what, r->context->coll->rank, r->peer, r->index,
		     (unsigned long long)r->offset,
		     err == -EPIPE ? gda_nccl_reason(err) : gda_strerror(err),
		     known ? ": " : "", known ? gda_syndrome_name(e.syndrome) : "",
		     known ? ": " : "", known ? gda_vendor_name(e.vendor) : "");
	r->context->failed = true;
	r->error = GDA_NCCL_REMOTE_ERROR;
	return r->error;
}

/* Return: 1 done, 0 not yet, or a negative errno. */
static int gda_nccl_request_served(const struct gda_nccl_request *r)
{
	struct gda_nccl_member *m = r->server;
	int done;

	pthread_mutex_lock(&m->lock);
	done = m->closed ? -EPIPE : gda_test(m->serve[r->serve].view, r->served);
	pthread_mutex_unlock(&m->lock);
	return done;
}

/* The data of @r has arrived: begin its signal. */
static int gda_nccl_request_signal(struct gda_nccl_request *r)
{
	struct gda_nccl_region *region = r->signal;
	int64_t ticket;
	int err = gda_nccl_word_add(region, r->signal_offset, r->signal_value, &ticket);

	gda_nccl_request_unqueue(r);
	r->signal = NULL;
	if (err)
		return gda_nccl_request_fail(r, NULL, err);
	r->server = region->owner;
	r->serve = region->owner->rank;
	r->served = ticket;
	return GDA_NCCL_SUCCESS;
}

/* Advance @r. Return: enum gda_nccl_result; *@done is set if it is done. */
static int gda_nccl_request_step(struct gda_nccl_request *r, bool *done)
{
	int state;

	*done = false;
	if (r->error)
		return r->error;
	if (r->queue) {
		state = gda_test(r->queue->view, r->ticket);
		if (state < 0)
			return gda_nccl_request_fail(r, r->queue->view, state);
		if (!state)
			return GDA_NCCL_SUCCESS;
		r->queue = NULL;
	}
	if (r->signal && gda_nccl_request_signal(r))
		return r->error;
	if (r->server) {
		state = gda_nccl_request_served(r);
		if (state < 0)
			return gda_nccl_request_fail(r, NULL, state);
		if (!state)
			return GDA_NCCL_SUCCESS;
		r->server = NULL;
	}
	*done = true;
	return GDA_NCCL_SUCCESS;
}

int gda_nccl_test(void *coll, void *request, int *done)
{
	struct gda_nccl_request *r = request;
	bool finished = false;
	int result;

	*done = 0;
	if (!r || r->context->coll != coll) {
		gda_nccl_log(GDA_NCCL_LOG_WARN,
			     "GDA: test: not a request of this communicator: pass what iput() and others returned");
		return GDA_NCCL_INVALID_ARGUMENT;
	}
	pthread_mutex_lock(&r->context->lock);
	if (!r->busy) {
		gda_nccl_log(GDA_NCCL_LOG_WARN,
			     "GDA: test: the request was reported done before: do not test it again");
		result = GDA_NCCL_INVALID_ARGUMENT;
	} else {
		result = gda_nccl_request_step(r, &finished);
	}
	if (finished)
		gda_nccl_request_put(r);
	pthread_mutex_unlock(&r->context->lock);
	*done = finished;
	return result;
}

int gda_nccl_progress(void *context)
{
	struct gda_nccl_context *c = context;
	struct gda_nccl_request *r, *next;
	bool done;

	pthread_mutex_lock(&c->lock);
	for (r = c->signals; r; r = next) {
		next = r->next;
		gda_nccl_request_step(r, &done);
		if (r->error) {
			gda_nccl_request_unqueue(r);
			r->signal = NULL;
		}
	}
	pthread_mutex_unlock(&c->lock);
	return GDA_NCCL_SUCCESS;
}

int gda_nccl_query_last_error(void *context, bool *has_error)
{
	struct gda_nccl_context *c = context;

	pthread_mutex_lock(&c->lock);
	*has_error = c->failed;
	pthread_mutex_unlock(&c->lock);
	return GDA_NCCL_SUCCESS;
}
