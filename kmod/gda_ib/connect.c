// SPDX-License-Identifier: GPL-2.0
/*
 * How a queue pair is connected to its peer and loses it, over rdma_cm (gda/cm.h describes the
 * messages).
 *
 * engine/fabric decides and makes the messages; this file says when, and under which lock.
 *
 * Of two QPs that name each other, the one with the greater address sends the request. A request
 * for a QP that has not named its peer yet is held: rdma_cm tells the other end to be patient. All
 * other requests are rejected, and their target does not notice.
 *
 * hangup.c says who destroys the id of a QP. The id of a held request belongs to the request, until
 * the request is taken off the list under qp->lock.
 */
#include <linux/module.h>
#include <linux/slab.h>

#include "gda_ib.h"

/* Seconds, as the delay of a work item. */
static unsigned int gda_ib_pending_s = 120;
module_param_named(pending_s, gda_ib_pending_s, uint, 0444);
MODULE_PARM_DESC(pending_s, "seconds for which a request waits until its target names a peer");

/*
 * A held request is some kilobytes of rdma_cm's, which are charged to nobody. The first request of
 * each QP is not counted: there are no more of these than QPs, and a peer of a group that asks
 * early does not flood.
 */
static unsigned int gda_ib_pending_context = 1024;
module_param_named(pending_context, gda_ib_pending_context, uint, 0444);
MODULE_PARM_DESC(pending_context, "requests that the QPs of a context hold, beside one each");

static unsigned int gda_ib_pending_user = 4096;
module_param_named(pending_user, gda_ib_pending_user, uint, 0444);
MODULE_PARM_DESC(pending_user, "requests that the QPs of a user hold, beside one each");

static unsigned long gda_ib_pending_jiffies(void)
{
	return clamp(gda_ib_pending_s, 1U, 86400U) * HZ;
}

static const struct gda_status gda_ib_lost = { GDA_CLASS_RETRY, GDA_CAUSE_PEER };

/* --- requests that are held --- */

/* Free a request that was held. */
static void gda_ib_request_free(struct gda_fabric_request *request)
{
	gda_ib_qp_put(gda_ib_qp_of(request->qp));
	kfree(request);
}

/* When this returns, no handler of these requests runs any more. */
static void gda_ib_refuse_all(struct gda_fabric_request *requests, u8 reason)
{
	struct gda_fabric_request *request;
	struct gda_cm_reject reject;

	while ((request = requests)) {
		requests = request->next;
		gda_cm_reject_set(&reject, reason, &request->private, &request->qp->self, NULL);
		rdma_lock_handler(request->id);
		gda_os_reject(request->id, &reject);
		rdma_unlock_handler(request->id);
		rdma_destroy_id(request->id);
		gda_ib_request_free(request);
	}
}

bool gda_fabric_host_reserve(struct gda_fabric_qp *q)
{
	struct gda_ib_qp *qp = gda_ib_qp_of(q);

	lockdep_assert_held(&qp->lock);
	if (atomic_inc_return(&qp->ctx->npending) <= gda_ib_pending_context &&
	    gda_executor_hold(qp->exec->ctx, gda_ib_pending_user))
		return true;
	atomic_dec(&qp->ctx->npending);
	return false;
}

void gda_fabric_host_release(struct gda_fabric_qp *q)
{
	struct gda_ib_qp *qp = gda_ib_qp_of(q);

	lockdep_assert_held(&qp->lock);
	atomic_dec(&qp->ctx->npending);
	gda_executor_release(qp->exec->ctx);
}

/*
 * The requester gave up, or its machine failed, before the QP has named a peer. The id is not
 * destroyed here: whoever destroys it waits for this handler, so that none runs when the module
 * goes.
 */
static int gda_ib_held_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct gda_fabric_request *request = id->context;
	struct gda_ib_qp *qp = gda_ib_qp_of(request->qp);

	spin_lock_irq(&qp->lock);
	request->gone = true;
	if (request->held && !qp->closing)
		mod_delayed_work(gda_ib_wq, &qp->reap, 0);
	spin_unlock_irq(&qp->lock);
	return 0;
}

/* Make room: end the requests that were given up, and those that have waited for too long. */
static void gda_ib_reap_work(struct work_struct *work)
{
	struct gda_ib_qp *qp = container_of(to_delayed_work(work), struct gda_ib_qp, reap);
	struct gda_fabric_request *over;
	u64 now = get_jiffies_64();

	spin_lock_irq(&qp->lock);
	over = gda_fabric_unhold(&qp->fabric, now);
	/* they are in the order of their arrival */
	if (qp->fabric.held && !qp->closing)
		queue_delayed_work(gda_ib_wq, &qp->reap, qp->fabric.held->until - now);
	spin_unlock_irq(&qp->lock);
	gda_ib_refuse_all(over, GDA_CM_REASON_LATER);
}

/* --- both ends --- */

void gda_ib_connection_init(struct gda_ib_qp *qp)
{
	struct gda_cm_address *self = &qp->fabric.self;

	spin_lock_init(&qp->lock);
	INIT_DELAYED_WORK(&qp->hangup, gda_ib_hang_up_work);
	INIT_DELAYED_WORK(&qp->reap, gda_ib_reap_work);
	gda_ib_probe_init(qp);
	qp->listener = qp->ctx->listener;
	self->version = GDA_CM_VERSION;
	self->port = qp->ctx->listener->port;
	self->number = cpu_to_be32(qp->exec->number);
	self->nonce = (__force __be64)get_random_u64();
	memcpy(self->ip, qp->ctx->ip, sizeof(self->ip));
}

void gda_ib_connection_end(struct gda_ib_qp *qp)
{
	struct gda_fabric_request *requests;
	struct rdma_cm_id *id;

	spin_lock(&qp->ib->lock);
	if (!qp->closing)
		xa_erase(&qp->ib->numbers, be32_to_cpu(qp->fabric.self.number));
	spin_unlock(&qp->ib->lock);
	spin_lock_irq(&qp->lock);
	qp->closing = true;
	requests = gda_fabric_unhold(&qp->fabric, GDA_FABRIC_EVER);
	spin_unlock_irq(&qp->lock);
	/* the work item may queue the other one */
	gda_ib_probe_end(qp);
	cancel_delayed_work_sync(&qp->hangup);
	cancel_delayed_work_sync(&qp->reap);
	gda_ib_refuse_all(requests, GDA_CM_REASON_UNKNOWN);
	id = gda_ib_take_id(qp);
	if (!id)
		return;
	rdma_disconnect(id);
	rdma_destroy_id(id);
}

void gda_ib_qp_disconnect(struct gda_executor_qp *exec)
{
	struct gda_ib_qp *qp = exec->priv;

	if (!gda_ib_enter_free(qp->ib))
		return;
	gda_ib_connection_end(qp);
	gda_ib_exit(qp->ib);
}

void gda_fabric_host_ready(struct gda_fabric_qp *q)
{
	struct gda_ib_qp *qp = gda_ib_qp_of(q);

	WRITE_ONCE(qp->connected, true);
	gda_executor_qp_ready(qp->exec);
}

/* Handler of an id that belongs to a QP, at either end. */
static int gda_ib_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct gda_ib_qp *qp = id->context;
	struct gda_fabric_event e;

	gda_fabric_event_set(&e, id, event);
	if (e.type == RDMA_CM_EVENT_DISCONNECTED) {
		/* comes first: once the worker sees the failure, it would hang up at once */
		gda_ib_over(qp, GDA_IB_LAST_WORDS_MS, gda_ib_lost);
		/* both ends have the answer now; this leaves the state of the QP alone */
		rdma_disconnect(id);
	} else if (e.type == RDMA_CM_EVENT_DEVICE_REMOVAL) {
		gda_ib_over(qp, 0, gda_status(GDA_CLASS_QUEUE, GDA_CAUSE_DEVICE));
	} else if ((e.type == RDMA_CM_EVENT_ROUTE_RESOLVED && READ_ONCE(qp->hung_up)) ||
		   gda_fabric_event(&qp->fabric, &e)) {
		gda_ib_over(qp, 0, gda_ib_lost);
	}
	return 0;
}

/* --- the target of a request --- */

/* Called with the handler lock of the request's id, which belongs to the QP. */
static int gda_ib_accept(struct gda_ib_qp *qp, const struct gda_fabric_request *request)
{
	struct gda_cm_reject reject;
	int ret;

	ret = READ_ONCE(qp->hung_up) ? -ECANCELED : gda_fabric_accept(&qp->fabric, request);
	if (!ret)
		return 0;
	gda_cm_reject_set(&reject, GDA_CM_REASON_BUSY, &request->private, &qp->fabric.self,
			  &qp->fabric.peer);
	gda_os_reject(request->id, &reject);
	return ret;
}

/*
 * Decide on a request @e, whose sender knows the nonce of the QP. Return: enum gda_cm_reason, or 0:
 * @request is held, or the id belongs to the QP.
 */
static u8 gda_ib_admit(struct gda_ib_qp *qp, const struct gda_fabric_event *e,
		       struct gda_fabric_request *request, bool *peer)
{
	u8 reason;

	lockdep_assert_held(&qp->lock);
	reason = gda_fabric_admit(&qp->fabric, e, request, qp->hung_up || qp->closing, peer);
	if (qp->closing)
		return GDA_CM_REASON_UNKNOWN;
	if (reason)
		return reason;
	if (!request->held) {
		if (qp->connecting)
			return GDA_CM_REASON_BUSY;
		qp->fabric.id = e->id;
		e->id->context = qp;
		e->id->event_handler = gda_ib_handler;
		return 0;
	}
	request->until = get_jiffies_64() + gda_ib_pending_jiffies();
	/* does nothing while the work item is queued for an earlier request */
	queue_delayed_work(gda_ib_wq, &qp->reap, gda_ib_pending_jiffies());
	e->id->context = request;
	e->id->event_handler = gda_ib_held_handler;
	return 0;
}

/*
 * Called by the listener, with the handler's lock of the id: @e is a request or a probe, whose
 * sender knows the nonce of the QP. Return: whether the id belongs to the QP now; if not, @reject
 * is filled.
 */
bool gda_ib_request(struct gda_ib_qp *qp, const struct gda_fabric_event *e,
		    struct gda_cm_reject *reject)
{
	const struct gda_fabric_qp *q = &qp->fabric;
	struct gda_fabric_request *request;
	bool held, peer = false;
	u8 reason;

	request = kzalloc(sizeof(*request), GFP_KERNEL);
	if (!request) {
		gda_cm_reject_set(reject, GDA_CM_REASON_FULL, &e->private, &q->self, NULL);
		return false;
	}
	kref_get(&qp->ref);
	spin_lock_irq(&qp->lock);
	reason = gda_ib_admit(qp, e, request, &peer);
	/* a held request may be taken off the list as soon as the lock is free */
	held = request->held;
	spin_unlock_irq(&qp->lock);
	if (held)
		return true;
	if (reason)
		gda_cm_reject_set(reject, reason, &e->private, &q->self, peer ? &q->peer : NULL);
	else if (gda_ib_accept(qp, request))
		gda_ib_fail(qp, gda_ib_lost);
	kfree(request);
	gda_ib_qp_put(qp);
	return !reason;
}

/*
 * qp_connect() has finished with an id: it belongs to the QP from here on. @id is NULL if there is
 * none. The QP may have failed meanwhile; gda_ib_hang_up_work() has left it alone until now.
 */
static void gda_ib_set_id(struct gda_ib_qp *qp, struct rdma_cm_id *id)
{
	spin_lock_irq(&qp->lock);
	qp->fabric.id = id;
	qp->connecting = false;
	if (qp->hung_up && !qp->closing)
		queue_delayed_work(gda_ib_wq, &qp->hangup, 0);
	spin_unlock_irq(&qp->lock);
}

/*
 * Accept a request of the peer that came before the peer was named. The request belongs to the QP
 * now.
 */
static int gda_ib_accept_held(struct gda_ib_qp *qp, struct gda_fabric_request *request)
{
	struct rdma_cm_id *id = request->id;
	int ret;

	rdma_lock_handler(id);
	id->context = qp;
	id->event_handler = gda_ib_handler;
	ret = gda_ib_accept(qp, request);
	rdma_unlock_handler(id);
	gda_ib_set_id(qp, id);
	gda_ib_request_free(request);
	return ret;
}

/* --- qp_connect() --- */

static int gda_ib_ask(struct gda_ib_qp *qp)
{
	struct rdma_cm_id *id;
	int ret;

	id = rdma_create_id(qp->ctx->listener->net, gda_ib_handler, qp, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id)) {
		gda_ib_set_id(qp, NULL);
		return PTR_ERR(id);
	}
	ret = gda_ib_resolve(qp, id);
	if (ret) {
		rdma_destroy_id(id);
		id = NULL;
	}
	gda_ib_set_id(qp, id);
	return ret;
}

static int gda_ib_name(struct gda_ib_qp *qp, const struct gda_cm_address *peer)
{
	struct gda_fabric_request *requests, *request;
	struct gda_fabric_qp *q = &qp->fabric;
	int ret = 0;

	spin_lock_irq(&qp->lock);
	if (q->named || qp->hung_up) {
		spin_unlock_irq(&qp->lock);
		return -EALREADY;
	}
	q->peer = *peer;
	q->named = true;
	requests = gda_fabric_unhold(q, GDA_FABRIC_EVER);
	request = gda_fabric_asked(q, &requests);
	/* another request of the peer finds the QP busy */
	qp->connecting = request || gda_fabric_asks(q);
	spin_unlock_irq(&qp->lock);

	gda_ib_refuse_all(requests, GDA_CM_REASON_BUSY);
	if (request)
		ret = gda_ib_accept_held(qp, request);
	else if (gda_fabric_asks(q))
		ret = gda_ib_ask(qp);
	else
		gda_ib_probe_start(qp);
	/* the peer is named, for good: any error from here on fails the QP */
	if (ret)
		gda_ib_fail(qp, gda_ib_lost);
	else
		gda_executor_qp_wait(qp->exec);
	return 0;
}

int gda_ib_qp_connect(struct gda_executor_qp *exec, const u8 *address)
{
	struct gda_ib_qp *qp = exec->priv;
	struct gda_cm_address peer;
	int ret;

	memcpy(&peer, address, sizeof(peer));
	if (!gda_cm_address_ok(&peer))
		return -EINVAL;
	if (!memcmp(&peer, &qp->fabric.self, sizeof(peer)))
		return -EOPNOTSUPP;
	if (!gda_ib_enter(qp->ib))
		return -ENODEV;
	ret = gda_ib_name(qp, &peer);
	gda_ib_exit(qp->ib);
	return ret;
}
