// SPDX-License-Identifier: GPL-2.0
/*
 * Events: devices, contexts and objects that are created, removed or fail, for administrators who
 * listen. They are sent into the initial network namespace only, to listeners with CAP_NET_ADMIN
 * there.
 *
 * An event may happen in a visit of a queue or under a spinlock, where nothing can be sent: it is
 * noted in a ring, and a work item sends it. If nobody listens nothing is noted. A tenant may cause
 * events faster than they are sent; events that find no room are counted, and the next event says
 * how many were lost. So listeners never make tenants wait.
 */
#include <linux/cred.h>
#include <linux/pid.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/user_namespace.h>
#include <linux/workqueue.h>
#include <net/net_namespace.h>

#include "nl.h"

#define GDA_NOTICES	256U

/*
 * One event. A member that is 0 is an attribute that the event does not have: no such attribute is
 * 0.
 */
struct gda_notice {
	u32 kind;			/* enum gda_event_kind */
	u32 context;
	u32 handle;
	u32 qpn;
	u32 peer_qpn;
	struct gda_status status;
	u64 error_index;		/* with a status */
	u64 time;
	pid_t pid;			/* of the context's opener, as @uid */
	kuid_t uid;
	char device[GDA_DEVICE_NAME_MAX];
};

static struct {
	spinlock_t lock;		/* guards all of it */
	bool open;			/* the family is registered */
	u32 head, tail;			/* positions in the ring; it has tail - head events */
	u64 lost;
	struct gda_notice ring[GDA_NOTICES];
} gda_notices = { .lock = __SPIN_LOCK_UNLOCKED(gda_notices.lock) };

static int gda_nl_fill_origin(struct sk_buff *msg, const struct gda_notice *n)
{
	if (n->device[0] && nla_put_string(msg, GDA_A_EVENT_DEVICE, n->device))
		return -EMSGSIZE;
	if (!n->context)
		return 0;
	if (nla_put_u32(msg, GDA_A_EVENT_CONTEXT, n->context) ||
	    nla_put_u32(msg, GDA_A_EVENT_PID, n->pid) ||
	    nla_put_u32(msg, GDA_A_EVENT_UID, from_kuid_munged(&init_user_ns, n->uid)))
		return -EMSGSIZE;
	return 0;
}

static int gda_nl_fill_event(struct sk_buff *msg, const struct gda_notice *n, u64 lost)
{
	if (nla_put_u32(msg, GDA_A_EVENT_KIND, n->kind) ||
	    nla_put_u64_64bit(msg, GDA_A_EVENT_TIME, n->time, GDA_A_EVENT_PAD) ||
	    (lost && nla_put_u64_64bit(msg, GDA_A_EVENT_LOST, lost, GDA_A_EVENT_PAD)) ||
	    gda_nl_fill_origin(msg, n) ||
	    (n->handle && nla_put_u32(msg, GDA_A_EVENT_HANDLE, n->handle)) ||
	    (n->qpn && nla_put_u32(msg, GDA_A_EVENT_QPN, n->qpn)) ||
	    (n->peer_qpn && nla_put_u32(msg, GDA_A_EVENT_PEER_QPN, n->peer_qpn)))
		return -EMSGSIZE;
	if (!n->status.class)
		return 0;
	if (nla_put_u32(msg, GDA_A_EVENT_CLASS, n->status.class) ||
	    nla_put_u32(msg, GDA_A_EVENT_CAUSE, n->status.cause) ||
	    nla_put_u64_64bit(msg, GDA_A_EVENT_ERROR_INDEX, n->error_index, GDA_A_EVENT_PAD))
		return -EMSGSIZE;
	return 0;
}

static bool gda_notice_send(const struct gda_notice *n, u64 lost)
{
	struct sk_buff *msg = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	void *header;

	if (!msg)
		return false;
	header = genlmsg_put(msg, 0, 0, &gda_nl_family, 0, GDA_CMD_EVENT);
	if (!header || gda_nl_fill_event(msg, n, lost)) {
		nlmsg_free(msg);
		return false;
	}
	genlmsg_end(msg, header);
	/* -ESRCH: the last listener has just gone */
	genlmsg_multicast_netns(&gda_nl_family, &init_net, msg, 0, GDA_NLGRP_EVENTS,
				GFP_KERNEL);
	return true;
}

static bool gda_notice_next(struct gda_notice *n, u64 *lost)
{
	unsigned long flags;
	bool found;

	spin_lock_irqsave(&gda_notices.lock, flags);
	found = gda_notices.open && gda_notices.head != gda_notices.tail;
	if (found)
		*n = gda_notices.ring[gda_notices.head++ % GDA_NOTICES];
	*lost = gda_notices.lost;
	spin_unlock_irqrestore(&gda_notices.lock, flags);
	return found;
}

static void gda_notice_lose(void)
{
	unsigned long flags;

	spin_lock_irqsave(&gda_notices.lock, flags);
	gda_notices.lost++;
	spin_unlock_irqrestore(&gda_notices.lock, flags);
}

static void gda_notices_send(struct work_struct *work)
{
	struct gda_notice n;
	u64 lost;

	while (gda_notice_next(&n, &lost)) {
		if (!gda_notice_send(&n, lost))
			gda_notice_lose();
		cond_resched();
	}
}

static DECLARE_WORK(gda_notices_work, gda_notices_send);

static bool gda_notice_wanted(void)
{
	return READ_ONCE(gda_notices.open) &&
	       genl_has_listeners(&gda_nl_family, &init_net, GDA_NLGRP_EVENTS);
}

static void gda_notice_add(struct gda_notice *n)
{
	unsigned long flags;

	n->time = ktime_get_ns();
	spin_lock_irqsave(&gda_notices.lock, flags);
	if (!gda_notices.open)
		goto out;
	if (gda_notices.tail - gda_notices.head < GDA_NOTICES)
		gda_notices.ring[gda_notices.tail++ % GDA_NOTICES] = *n;
	else
		gda_notices.lost++;
	queue_work(system_unbound_wq, &gda_notices_work);
out:
	spin_unlock_irqrestore(&gda_notices.lock, flags);
}

static void gda_notice_init(struct gda_notice *n, u32 kind, const struct gda_ctx *ctx)
{
	*n = (struct gda_notice) {
		.kind = kind,
		.context = ctx->id,
		.pid = pid_nr(ctx->opener.pid),
		.uid = ctx->opener.cred->euid,
	};
	strscpy(n->device, READ_ONCE(ctx->exec.dev->name), sizeof(n->device));
}

void gda_notify_device(u32 kind, const struct gda_device *dev)
{
	struct gda_notice n = { .kind = kind };

	if (!gda_notice_wanted())
		return;
	strscpy(n.device, READ_ONCE(dev->name), sizeof(n.device));
	gda_notice_add(&n);
}

void gda_notify_context(u32 kind, const struct gda_ctx *ctx)
{
	struct gda_notice n;

	if (!gda_notice_wanted())
		return;
	gda_notice_init(&n, kind, ctx);
	gda_notice_add(&n);
}

void gda_notify_connected(const struct gda_qp *qp, u32 peer_qpn)
{
	struct gda_notice n;

	if (!gda_notice_wanted())
		return;
	gda_notice_init(&n, GDA_EVENT_KIND_QP_CONNECTED, qp->obj.ctx);
	n.handle = qp->obj.handle;
	n.qpn = qp->exec.number;
	n.peer_qpn = peer_qpn;
	gda_notice_add(&n);
}

/* The state of the QP is ERROR; its reason was stored before the state. */
void gda_notify_failed(const struct gda_qp *qp)
{
	const struct gda_engine_qp *q = &qp->engine_qp;
	struct gda_notice n;

	if (!gda_notice_wanted())
		return;
	gda_notice_init(&n, GDA_EVENT_KIND_QP_FAILED, qp->obj.ctx);
	n.handle = qp->obj.handle;
	n.qpn = qp->exec.number;
	n.status.class = READ_ONCE(q->first.class);
	n.status.cause = READ_ONCE(q->first.cause);
	n.error_index = READ_ONCE(q->first_error);
	gda_notice_add(&n);
}

void gda_notify_object(u32 kind, const struct gda_object *obj)
{
	struct gda_notice n;

	if (!gda_notice_wanted())
		return;
	gda_notice_init(&n, kind, obj->ctx);
	n.handle = obj->handle;
	gda_notice_add(&n);
}

void gda_notices_open(bool open)
{
	unsigned long flags;

	spin_lock_irqsave(&gda_notices.lock, flags);
	WRITE_ONCE(gda_notices.open, open);
	spin_unlock_irqrestore(&gda_notices.lock, flags);
	if (!open)
		cancel_work_sync(&gda_notices_work);
}
