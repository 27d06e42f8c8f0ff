// SPDX-License-Identifier: GPL-2.0
/*
 * Asynchronous events: what happens to a client's QP, CQ or SRQ beside its completions. They are
 * delivered as the events of a CQ are (event.c): a visit notes an event, under SRCU and perhaps
 * under a lock, and the worker of the context that owns the object calls the client, outside of
 * locks and read sections.
 *
 * An object has one place in the worker's list for all its events; bits say which ones. Each kind
 * of event is delivered once, until the object is reset; the event of an SRQ's limit, once for each
 * time that the limit is set.
 */
#include "gda_private.h"

static void gda_async_deliver(void *priv)
{
	struct gda_async *async = priv;
	unsigned long pending = xchg(&async->pending, 0);
	unsigned int what;

	for_each_set_bit(what, &pending, BITS_PER_LONG)
		async->handler(async->priv, what);
}

int gda_async_init(struct gda_async *async, gda_client_event_fn *handler, void *priv)
{
	if (!handler)
		return 0;
	async->handler = handler;
	async->priv = priv;
	async->event = gda_event_create_handler(gda_async_deliver, async);
	return async->event ? 0 : -ENOMEM;
}

/* Nobody notes events of the object any more. When this returns the client is not called. */
void gda_async_free(struct gda_async *async)
{
	gda_event_detach(async->event);
	gda_event_put(async->event);
	async->event = NULL;
}

/* The object begins anew. */
void gda_async_forget(struct gda_async *async)
{
	WRITE_ONCE(async->pending, 0);
	WRITE_ONCE(async->told, 0);
}

void gda_async_note(struct gda_ctx *ctx, struct gda_async *async, enum gda_client_event what)
{
	if (!async->event)
		return;
	set_bit(what, &async->pending);
	gda_event_post(ctx, async->event);
}

void gda_async_note_once(struct gda_ctx *ctx, struct gda_async *async, enum gda_client_event what)
{
	if (async->event && !test_and_set_bit(what, &async->told))
		gda_async_note(ctx, async, what);
}

/*
 * Why has a QP failed, if no completion of a request says so? If the client itself has failed the
 * QP there is no event, and neither is there one for a request that failed with a completion of its
 * own. Return: enum gda_client_event, or -1.
 */
static int gda_async_kind(struct gda_status st)
{
	if (st.class != GDA_CLASS_FLUSH && st.class != GDA_CLASS_QUEUE)
		return -1;
	switch (st.cause) {
	/* an error of an entry, which has a completion that says so */
	case GDA_CAUSE_INDEX:
	case GDA_CAUSE_OPCODE:
	case GDA_CAUSE_SIZE:
	case GDA_CAUSE_RESERVED:
	case GDA_CAUSE_NONE:
		return -1;
	case GDA_CAUSE_LENGTH:
		return GDA_CLIENT_BAD_REQUEST;
	case GDA_CAUSE_KEY:
	case GDA_CAUSE_REVOKED:
	case GDA_CAUSE_RIGHTS:
	case GDA_CAUSE_RANGE:
		return GDA_CLIENT_BAD_ACCESS;
	default:
		return GDA_CLIENT_FATAL;
	}
}

/* Called by a visit of the QP: the QP has failed. */
void gda_async_failed(struct gda_qp *qp)
{
	int kind = gda_async_kind(qp->engine_qp.first);

	if (kind >= 0)
		gda_async_note_once(qp->obj.ctx, &qp->async, kind);
}

/*
 * Called by a visit of the QP: its first request was carried out, at a peer that may not know it
 * yet.
 */
void gda_async_greet(struct gda_qp *qp)
{
	struct gda_engine_qp *q = gda_engine_peer(&qp->engine_qp);
	struct gda_qp *peer;

	/* the peer is gone: the QP soon has another, or is being stopped */
	if (!q)
		return;
	WRITE_ONCE(qp->greets, false);
	peer = container_of(q, struct gda_qp, engine_qp);
	gda_async_note_once(peer->obj.ctx, &peer->async, GDA_CLIENT_REACHED);
}
