// SPDX-License-Identifier: MIT
/*
 * The data lane of a queue: beginning copies on it, and storing words, ordered behind words that
 * another lane stores; the bounce buffer, through which bytes go between host and device memory;
 * and reporting requests that are done. copy.c and atomic.c use these functions.
 */
#include "async.h"

#define GDA_ASYNC_LONG	(1U << 20)

int gda_async_order(struct gda_inproc_async *async)
{
	struct gda_inproc_lane *lane = async->behind;
	int err;

	if (likely(!lane))
		return 0;
	async->behind = NULL;
	pthread_mutex_lock(&lane->lock);
	err = lane->ops->order(lane, async->copier);
	pthread_mutex_unlock(&lane->lock);
	return err;
}

int gda_async_copy(struct gda_inproc_async *async, u64 dst, u64 src, u32 len)
{
	struct gda_inproc_copier *c = async->copier;

	if (async->broken || gda_async_order(async) ||
	    c->ops->copy(c, GDA_INPROC_LANE_DATA, dst, src, len))
		return gda_async_fail(GDA_CLASS_QUEUE, GDA_CAUSE_IO);
	async->begun += 1 + len / GDA_ASYNC_LONG;
	async->data = async->begun;
	return 0;
}

/* Store the old value of a word. After a fault this is not retried, and the queue fails. */
static void gda_async_result(struct gda_inproc_async *async, struct gda_async_end *end)
{
	u8 bytes = end->result_bytes;

	if (likely(!bytes))
		return;
	end->result_bytes = 0;
	async->results--;
	if (bytes == sizeof(u64) && !((uintptr_t)end->result % sizeof(u64)))
		/* pairs with the acquire of a program that polls it */
		smp_store_release((u64 *)end->result, end->old);
	else if (bytes == sizeof(u32) && !((uintptr_t)end->result % sizeof(u32)))
		/* likewise */
		smp_store_release((u32 *)end->result, (u32)end->old);
	else
		memcpy(end->result, &end->old, bytes);
}

/* Count the bytes of a request: a flight that has the work requests leaves that to the executor. */
static void gda_async_count(struct gda_inproc_async *async, const struct gda_async_end *end)
{
	struct gda_engine_qp *q = &async->qp->engine_qp;

	if (async->works && !end->status.class)
		WRITE_ONCE(q->bytes, q->bytes +
				     async->works[end->ticket % GDA_ASYNC_FLIGHT].remote.len);
}

/* Count a request at its responder, unless that has gone meanwhile. */
static void gda_async_arrived(struct gda_inproc_async *async, const struct gda_async_end *end)
{
	struct gda_engine_qp *q = &async->qp->engine_qp, *peer = NULL;
	struct gda_target saved = q->work.target;
	struct gda_status st;

	if (q->dialect->named) {
		q->work.target = end->target;
		st = gda_host_target(q, &peer);
		q->work.target = saved;
	} else {
		st = gda_async_route(q, &peer);
	}
	if (!st.class && peer && peer->recv)
		gda_os_fetch_add64(&peer->recv->value, 1);
}

void gda_async_report(struct gda_inproc_async *async)
{
	const struct gda_engine_qp *q = &async->qp->engine_qp;
	bool told = async->copier->cq && !q->sent && !q->sent_counter;

	for (; async->head != async->tail; async->head++) {
		struct gda_async_end *end = &async->ends[async->head % GDA_ASYNC_FLIGHT];

		if (!(told && !end->arrives && !end->result_bytes) &&
		    !gda_async_done(async, end->after))
			break;
		async->looks = 0;
		gda_async_result(async, end);
		gda_async_count(async, end);
		gda_flight_done(&async->flight, end->ticket, end->status);
		if (end->arrives)
			gda_async_arrived(async, end);
	}
}

bool gda_async_settled(struct gda_inproc_async *async)
{
	if (unlikely(async->results))
		gda_async_report(async);
	return !async->results;
}

int gda_async_bounce_out(struct gda_inproc_async *async, u64 dst, const void *src, u32 len)
{
	int err;

	if (!gda_async_done(async, async->bounced) || !gda_async_settled(async))
		return 0;
	len = min(len, GDA_INPROC_BOUNCE);
	memcpy(async->copier->bounce, src, len);
	err = gda_async_copy(async, dst, async->copier->bounce_addr, len);
	async->bounced = async->begun;
	return err ? err : (int)len;
}

int gda_async_word(struct gda_inproc_async *async, u64 dst, const void *src, u32 len)
{
	struct gda_inproc_copier *c = async->copier;
	u64 value = 0;

	if (dst % len || !c->ops->reaches(c, dst, len))
		return gda_async_bounce_out(async, dst, src, len);
	if (!gda_async_settled(async))
		return 0;
	memcpy(&value, src, len);
	if (async->broken || gda_async_order(async) ||
	    c->ops->store(c, GDA_INPROC_LANE_DATA, dst, value, len))
		return gda_async_fail(GDA_CLASS_QUEUE, GDA_CAUSE_IO);
	async->begun++;
	async->data = async->begun;
	return (int)len;
}

int gda_async_bounce_in(struct gda_inproc_async *async, void *dst, u64 src, u32 len)
{
	int err;

	if (!gda_async_done(async, async->bounced) || !gda_async_settled(async))
		return 0;
	if (async->pulled) {
		/* that copy was the last one begun, so nothing is in flight */
		len = async->pulled;
		memcpy(dst, async->copier->bounce, len);
		async->pulled = 0;
		return (int)len;
	}
	len = min(len, GDA_INPROC_BOUNCE);
	err = gda_async_copy(async, async->copier->bounce_addr, src, len);
	async->bounced = async->begun;
	async->pulled = err ? 0 : len;
	return err;
}
