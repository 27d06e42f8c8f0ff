/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Events (event.c), and asynchronous ones of clients' objects (async.c): a part of gda_private.h.
 */
#ifndef GDA_ASYNC_H
#define GDA_ASYNC_H

struct gda_cq;
struct gda_ctx;
struct gda_event;
struct gda_qp;

/* Events that an object has to deliver; part of a QP, a CQ or an SRQ. */
struct gda_async {
	struct gda_event *event;	/* NULL: nobody listens */
	gda_client_event_fn *handler;
	void *priv;
	unsigned long told;		/* bits of enum gda_client_event: delivered already */
	unsigned long pending;		/* likewise: to be delivered */
};

/* event.c */
int gda_cq_event(struct gda_ctx *ctx, const struct gda_cq_event *cmd);
void gda_events_init(struct gda_ctx *ctx);
void gda_event_note(struct gda_cq *cq);
void gda_event_post(struct gda_ctx *ctx, struct gda_event *event);
void gda_event_signal(struct gda_ctx *ctx);
void gda_events_flush(struct gda_ctx *ctx);
void gda_event_put(struct gda_event *event);
struct gda_event *gda_event_create_handler(void (*handler)(void *priv), void *priv);
void gda_event_detach(struct gda_event *event);
static inline unsigned int gda_events_noted(const struct gda_ctx *ctx)
{
	return READ_ONCE(ctx->worker.nevents);
}

/* async.c */
int gda_async_init(struct gda_async *async, gda_client_event_fn *handler, void *priv);
void gda_async_free(struct gda_async *async);
void gda_async_forget(struct gda_async *async);
void gda_async_note(struct gda_ctx *ctx, struct gda_async *async, enum gda_client_event what);
void gda_async_note_once(struct gda_ctx *ctx, struct gda_async *async, enum gda_client_event what);
void gda_async_failed(struct gda_qp *qp);
void gda_async_greet(struct gda_qp *qp);

#endif /* GDA_ASYNC_H */
