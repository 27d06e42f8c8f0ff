// SPDX-License-Identifier: GPL-2.0
/*
 * Events: a CQ that was armed signals its eventfd once. For an object of a client (client.c) a
 * handler is called instead, also when something happens to the object (async.c).
 *
 * eventfd_signal() calls every waiter of the eventfd, with interrupts disabled, and user
 * space chooses how many waiters there are. So it is never called under a lock of ours or
 * inside a gda_srcu section. A completion that fires only notes the event: it puts the
 * event on a list of the context that owns the CQ and wakes that context's worker, which
 * signals between two visits. Only the owner of an eventfd spends time on its waiters: neither
 * a peer whose immediate fires the event does, nor an exporter that takes the CQ's memory away.
 *
 * An event that is noted again before it is signalled is signalled once. The CQ and the list
 * each hold a reference, so a noted event is signalled also when the CQ has been given
 * another eventfd since then or has been destroyed. The ioctls that separate an event
 * from its CQ signal the list themselves before they return; otherwise a context whose worker
 * does not get to run could collect any number of eventfds there.
 *
 * worker.event_lock guards the list. It is taken under cq->lock, and no other lock is taken
 * under it.
 */
#include <linux/eventfd.h>
#include <linux/kref.h>
#include <linux/slab.h>

#include "gda_private.h"

struct gda_event {
	struct kref ref;
	struct list_head node;		/* in worker.events while noted */
	struct eventfd_ctx *fd;		/* NULL for a client's event, which has the next three */
	spinlock_t lock;		/* the handler runs under it */
	void (*handler)(void *priv);	/* NULL: the object is gone; guarded by @lock */
	void *priv;
};

void gda_events_init(struct gda_ctx *ctx)
{
	spin_lock_init(&ctx->worker.event_lock);
	INIT_LIST_HEAD(&ctx->worker.events);
}

static struct gda_event *gda_event_create(int fd)
{
	struct gda_event *event = kzalloc(sizeof(*event), GDA_GFP_USER);
	int ret;

	if (!event)
		return ERR_PTR(-ENOMEM);
	event->fd = eventfd_ctx_fdget(fd);
	if (IS_ERR(event->fd)) {
		ret = PTR_ERR(event->fd);
		kfree(event);
		return ERR_PTR(ret);
	}
	kref_init(&event->ref);
	INIT_LIST_HEAD(&event->node);
	return event;
}

/* Create the event of a client's object, which calls @handler in place of an eventfd. */
struct gda_event *gda_event_create_handler(void (*handler)(void *priv), void *priv)
{
	struct gda_event *event = kzalloc(sizeof(*event), GDA_GFP_USER);

	if (!event)
		return NULL;
	spin_lock_init(&event->lock);
	event->handler = handler;
	event->priv = priv;
	kref_init(&event->ref);
	INIT_LIST_HEAD(&event->node);
	return event;
}

/* When this returns, the handler does not run and is not called again. */
void gda_event_detach(struct gda_event *event)
{
	if (!event || event->fd)
		return;
	spin_lock(&event->lock);
	event->handler = NULL;
	spin_unlock(&event->lock);
}

static void gda_event_deliver(struct gda_event *event)
{
	if (event->fd) {
		gda_eventfd_signal(event->fd);
		return;
	}
	spin_lock(&event->lock);
	if (event->handler)
		event->handler(event->priv);
	spin_unlock(&event->lock);
}

static void gda_event_release(struct kref *ref)
{
	struct gda_event *event = container_of(ref, struct gda_event, ref);

	if (event->fd)
		eventfd_ctx_put(event->fd);
	kfree(event);
}

void gda_event_put(struct gda_event *event)
{
	if (event)
		kref_put(&event->ref, gda_event_release);
}

/*
 * Have the worker of @ctx signal the event. Called under locks of the object, which holds the
 * event.
 */
void gda_event_post(struct gda_ctx *ctx, struct gda_event *event)
{
	struct gda_worker *worker = &ctx->worker;
	bool wake;

	spin_lock(&worker->event_lock);
	wake = list_empty(&event->node);
	if (wake) {
		kref_get(&event->ref);
		list_add_tail(&event->node, &worker->events);
		WRITE_ONCE(worker->nevents, worker->nevents + 1);
	}
	spin_unlock(&worker->event_lock);
	/* pairs with set_current_state() in the worker, which then looks at nevents */
	if (wake)
		gda_worker_wake(ctx);
}

/* An armed CQ fires: disarm the CQ and have the worker of its context signal the event. */
void gda_event_note(struct gda_cq *cq)
{
	lockdep_assert_held(&cq->lock);
	cq->armed = 0;
	gda_event_post(cq->obj.ctx, cq->event);
}

/* Signal the event that was noted first, if there is one. Called with no lock held. */
void gda_event_signal(struct gda_ctx *ctx)
{
	struct gda_worker *worker = &ctx->worker;
	struct gda_event *event;

	spin_lock(&worker->event_lock);
	event = list_first_entry_or_null(&worker->events, struct gda_event, node);
	if (event) {
		/*
		 * taken off the list before it is signalled: a completion from here on notes it
		 * again
		 */
		list_del_init(&event->node);
		WRITE_ONCE(worker->nevents, worker->nevents - 1);
	}
	spin_unlock(&worker->event_lock);
	if (!event)
		return;
	gda_event_deliver(event);
	gda_event_put(event);
}

/* Signal the events noted so far. Events noted meanwhile are left: the loop could go on forever. */
void gda_events_flush(struct gda_ctx *ctx)
{
	unsigned int n;

	for (n = gda_events_noted(ctx); n; n--) {
		gda_event_signal(ctx);
		cond_resched();
	}
}

/* Give the CQ another event, or with %GDA_CQ_DETACH none; @event becomes the old one. */
static int gda_cq_arm(struct gda_cq *cq, const struct gda_cq_event *cmd,
		      struct gda_event **event)
{
	u32 arm = gda_control_arm_flags(cmd);
	int ret = 0;

	spin_lock(&cq->lock);
	/* a CQ without memory has no completions, so it would never signal */
	if (cq->lost && arm)
		ret = -ENODEV;
	if (!ret && (*event || cmd->flags & GDA_CQ_DETACH))
		swap(cq->event, *event);
	if (!ret)
		cq->armed = arm;
	spin_unlock(&cq->lock);
	return ret;
}

/* Return: 0 or an error; *@old is an event on which the caller drops the reference, or NULL. */
static int gda_cq_event_locked(struct gda_ctx *ctx, const struct gda_cq_event *cmd,
			       struct gda_event **old)
{
	struct gda_object *obj;
	struct gda_cq *cq;
	int ret;

	if (gda_device_has(ctx->dev, GDA_FEATURE_CQ_EVENT))
		return -EOPNOTSUPP;
	obj = gda_object_find(ctx, cmd->handle, GDA_OBJECT_CQ);
	if (!obj)
		return -ENOENT;
	cq = container_of(obj, struct gda_cq, obj);
	ret = gda_control_check_event(cmd, cq->event);
	if (ret)
		return ret;
	if (cmd->eventfd >= 0) {
		struct gda_event *event = gda_event_create(cmd->eventfd);

		if (IS_ERR(event))
			return PTR_ERR(event);
		*old = event;
	}
	return gda_cq_arm(cq, cmd, old);
}

int gda_cq_event(struct gda_ctx *ctx, const struct gda_cq_event *cmd)
{
	struct gda_event *old = NULL;
	int ret;

	ret = gda_ctx_lock(ctx);
	if (ret)
		return ret;
	ret = gda_cq_event_locked(ctx, cmd, &old);
	gda_ctx_unlock(ctx);
	if (old) {
		gda_event_put(old);
		gda_events_flush(ctx);
	}
	return ret;
}
