/* SPDX-License-Identifier: MIT */
/*
 * Flushes of gda/gin.h: all of a context, or one peer as a request. Included by gda/gin.h.
 *
 * A flush waits for the requests themselves, by their tickets, and not for a number of completions:
 * posts by other threads in the meantime neither end it early nor delay it (E-20).
 */
#ifndef GDA_GIN_FLUSH_H
#define GDA_GIN_FLUSH_H

#include <gda/gin/wait.h>

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/**
 * struct gda_gin_request - the flush of a peer, to be tested or waited for (G-16)
 * @size: sizeof(struct gda_gin_request) of who filled it
 * @peer: the peer
 * @endpoint: how many queues to the peer are done
 * @reserved: 0
 * @ticket: the awaited ticket of the next queue; negative: none
 *
 * It is in any memory of the caller, and need not be released.
 */
struct gda_gin_request {
	uint32_t size;
	uint32_t peer;
	uint32_t endpoint;
	uint32_t reserved;
	int64_t ticket;
};

/* The last ticket of a queue, whose doorbell is rung; negative: nothing was posted. */
GDA_HELPER int64_t gda_gin_last(const struct gda_gin_queue *q)
{
	struct gda_view *v = gda_gin_view(q);

	gda_flush(v);
	return (int64_t)(gda_handed_out(v) - 1);
}

/**
 * gda_gin_flush - wait until sources may be changed, and gets have arrived (G-14)
 * @gin: the context
 * @deadline: in ns of gda_clock_ns(); 0: gda_gin_attr.timeout_ns from now
 *
 * Covers all that was posted to the context before the call, and rings deferred doorbells. It does
 * not mean that puts have arrived at the peers. In a context of one thread only the poster may call
 * it.
 *
 * Return: 0; -EIO a queue of the context failed (gda_gin_query_error() says which);
 * -ESHUTDOWN a rank was lost, or gda_gin_abort() was called; -ETIMEDOUT not done at @deadline;
 * -ETIME not done, and @deadline was more than a second past when the wait began.
 */
GDA_API int gda_gin_flush(struct gda_gin *gin, uint64_t deadline)
{
	struct gda_gin_queue *q = (struct gda_gin_queue *)(uintptr_t)gin->queues;
	uint32_t i, n = gin->endpoints * gin->nranks;
	int err, first = 0;

	gda_gin_progress(gin, 1);
	for (i = 0; i < n; i++, q++) {
		if (!q->view || !gda_handed_out(gda_gin_view(q)))
			continue;
		if (!deadline)
			deadline = gda_clock_ns() + gin->timeout_ns;
		err = gda_quiet(gda_gin_view(q), deadline);
		first = first ? first : err;
	}
	gda_gin_progress(gin, 0);
	return first;
}

/**
 * gda_gin_flush_peer - begin to flush what was posted to a peer (G-16)
 * @gin: the context
 * @peer: rank of the peer, in the world
 * @request: receives the request
 *
 * Rings deferred doorbells. Never waits.
 *
 * Return: 0; -ENOTCONN no queue to this peer.
 */
GDA_API int gda_gin_flush_peer(struct gda_gin *gin, uint32_t peer,
			       struct gda_gin_request *request)
{
	struct gda_gin_queue *q = gda_gin_queue(gin, 0, peer);
	uint32_t e;

	if (!q)
		return -ENOTCONN;
	request->size = sizeof(*request);
	request->peer = peer;
	request->endpoint = 0;
	request->reserved = 0;
	request->ticket = gda_gin_last(q);
	for (e = 1; e < gin->endpoints; e++)
		gda_flush(gda_gin_view(gda_gin_queue(gin, e, peer)));
	return 0;
}

/**
 * gda_gin_test - test whether a flush is done
 * @gin: the context
 * @request: of gda_gin_flush_peer(), by one thread at a time
 *
 * If there are several queues to a peer the test goes from one to the next, and the flush also
 * covers later posts to queues that it has not reached yet.
 *
 * Return: 1 done; 0 not yet; -EIO some of it failed.
 */
GDA_API int gda_gin_test(struct gda_gin *gin, struct gda_gin_request *request)
{
	for (;;) {
		struct gda_gin_queue *q = gda_gin_queue(gin, request->endpoint, request->peer);
		int done = request->ticket < 0 ? 1 :
			   gda_test_through(gda_gin_view(q), request->ticket);

		if (done < 0)
			return -EIO;
		if (!done)
			return 0;
		gda_gin_credit(gin, q);
		if (request->endpoint + 1 == gin->endpoints)
			return 1;
		q = gda_gin_queue(gin, ++request->endpoint, request->peer);
		request->ticket = gda_gin_last(q);
	}
}

/**
 * gda_gin_wait - wait until a flush is done
 * @gin: the context
 * @request: of gda_gin_flush_peer(), by one thread at a time
 * @deadline: in ns of gda_clock_ns(); 0: gda_gin_attr.timeout_ns from now
 *
 * Return: as gda_gin_flush().
 */
GDA_API int gda_gin_wait(struct gda_gin *gin, struct gda_gin_request *request,
			 uint64_t deadline)
{
	unsigned int polls;
	int err = 0, done;

	for (polls = 1;; polls++) {
		done = gda_gin_test(gin, request);
		if (done > 0)
			return 0;
		err = done ? done : err;
		if (err)
			return GDA_HERE(gda_gin_wait_failed(gin, NULL, 0, 0, err), err);
		err = gda_gin_expired(gin, polls, &deadline);
	}
}

/*
 * Wait until all that was put to a peer through @q has arrived: a read behind it tells, because it
 * is later work of the same queue, whereas the completion of a write does not tell. In a dialect
 * without %GDA_CAN_ORDER the read is posted when what is before it is done.
 */
GDA_SLOW int gda_gin_drain(const struct gda_gin *gin, struct gda_gin_queue *q,
			   unsigned int flags, uint64_t deadline)
{
	struct gda_view *v = gda_gin_view(q);
	int64_t ticket;
	int err;

	if (!gda_handed_out(v))
		return 0;
	if (!deadline)
		deadline = gda_clock_ns() + gin->timeout_ns;
	err = gda_view_unordered(v) ? gda_quiet(v, deadline) : 0;
	if (err)
		return err;
	ticket = gda_get(v, q->fetched, q->lkey, q->signals, q->rkey, 8, flags);
	return gda_wait(v, ticket, deadline);
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif /* GDA_GIN_FLUSH_H */
