// SPDX-License-Identifier: GPL-2.0
/*
 * How a queue pair gets its peer and loses it, over rdma_cm (gda/cm.h says what is exchanged).
 * The QP is not rdma_cm's: it is moved by hand, so that it exists before its connection does.
 *
 * Of two addresses that name each other the greater one asks. A request for a QP that has not
 * named its peer yet is held: rdma_cm tells the other end to be patient. All others are
 * rejected, and the QP that they ask for does not notice. Nonces of addresses are secrets that
 * are never sent: tags prove that an end knows them, before a request is held and before a
 * connection begins.
 *
 * An id that belongs to a QP is destroyed by gda_ib_connection_end(), or after a failure by
 * gda_ib_hang_up_work(), which do not run at the same time; and a handler of it always returns 0.
 * So whoever destroys it waits for the handler. qp_connect() sets qp->id when it is done with
 * the id itself. One that is held belongs to its request, until the request is taken off the list
 * under qp->lock.
 */
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "gda_ib.h"

/* Most reads and atomics in flight, each way. */
#define GDA_IB_MAX_RD_ATOMIC	16

/* Seconds, as a delay of a work. */
static unsigned int gda_ib_pending_s = 120;
module_param_named(pending_s, gda_ib_pending_s, uint, 0444);
MODULE_PARM_DESC(pending_s, "seconds for which a request waits until its target names a peer");

/*
 * A request that is held is some kilobytes of rdma_cm's that nobody is charged for. The first of
 * each QP is not counted: there are no more of these than QPs, and a peer of a group that asks
 * early is none who floods.
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

static_assert(sizeof(struct gda_cm_address) == GDA_ADDRESS_BYTES);

/* A request that waits for its QP to name a peer. */
struct gda_ib_request {
	struct list_head node;		/* in qp->pending, while @held */
	bool held;			/* under qp->lock */
	bool gone;			/* likewise: whoever asked gave up */
	unsigned long until;		/* jiffies: it waits no longer */
	struct gda_ib_qp *qp;		/* with a reference */
	struct rdma_cm_id *id;
	struct gda_cm_private private;	/* that came with it */
	__be32 qpn;			/* of the RDMA QP that asks */
	u8 depth;			/* reads and atomics that the requester has in flight */
	u8 resources;			/* ... and takes */
};

static const struct gda_status gda_ib_lost = { GDA_CLASS_RETRY, GDA_CAUSE_PEER };

static bool gda_ib_same(const struct gda_cm_address *a, const struct gda_cm_address *b)
{
	return !memcmp(a, b, sizeof(*a));
}

/* --- the end --- */

/* Take the id away from the QP. The caller destroys it, and waits for its handler so. */
static struct rdma_cm_id *gda_ib_take_id(struct gda_ib_qp *qp)
{
	struct rdma_cm_id *id;

	spin_lock_irq(&qp->lock);
	id = qp->id;
	qp->id = NULL;
	spin_unlock_irq(&qp->lock);
	return id;
}

/* Nothing is posted to a QP that never left RESET: the RDMA driver would log it. */
static void gda_ib_end_work(struct gda_ib_qp *qp)
{
	if (qp->ended)
		return;
	if (READ_ONCE(qp->started)) {
		qp->ended = true;
		gda_ib_qp_to_error(qp);
		if (!gda_ib_post_drain(qp))
			return;
	}
	WRITE_ONCE(qp->drained, true);
	gda_executor_qp_kick(qp->exec);
}

/*
 * It runs again when the messages that end a connection have gone their way, or when qp_connect(),
 * which moves the QP as well, is done with it: gda_ib_set_id() queues it then. The id goes as soon
 * as it is of no more use: it is memory of rdma_cm's.
 */
static void gda_ib_hang_up_work(struct work_struct *work)
{
	struct gda_ib_qp *qp = container_of(to_delayed_work(work), struct gda_ib_qp, hangup);
	struct rdma_cm_id *id;
	bool connecting;

	spin_lock_irq(&qp->lock);
	connecting = qp->connecting;
	spin_unlock_irq(&qp->lock);
	if (connecting)
		return;
	if (READ_ONCE(qp->connected) && !READ_ONCE(qp->over)) {
		gda_ib_end_work(qp);
		/* RDMA_CM_EVENT_DISCONNECTED comes of it; nobody else takes the id meanwhile */
		id = READ_ONCE(qp->id);
		if (id)
			rdma_disconnect(id);
		return;
	}
	/* first, so that no handler moves the QP on afterwards */
	id = gda_ib_take_id(qp);
	if (id) {
		rdma_disconnect(id);
		rdma_destroy_id(id);
	}
	gda_ib_end_work(qp);
}

/* Any context. @again: though it has been hung up. */
static void gda_ib_hang_up_in(struct gda_ib_qp *qp, unsigned int ms, bool again)
{
	unsigned long flags;

	if (!again && READ_ONCE(qp->hung_up))
		return;
	spin_lock_irqsave(&qp->lock, flags);
	/* when it is queued already this changes nothing */
	if (!qp->closing && (again || !qp->hung_up))
		queue_delayed_work(gda_ib_wq, &qp->hangup, msecs_to_jiffies(ms));
	qp->hung_up = true;
	spin_unlock_irqrestore(&qp->lock, flags);
}

/* The QP has failed, or is to: nothing of it goes on, and the peer is told. Any context. */
void gda_ib_hang_up(struct gda_ib_qp *qp)
{
	gda_ib_hang_up_in(qp, 0, false);
}

void gda_ib_fail(struct gda_ib_qp *qp, struct gda_status why)
{
	gda_executor_qp_fail(qp->exec, why);
	gda_ib_hang_up(qp);
}

/*
 * As gda_ib_fail(), when the fabric has failed the QP or the peer has ended the connection. One of
 * the ends has then refused a work request of the other, perhaps. rdma_rxe says so by a packet
 * that it may not have sent yet, or not looked at yet, and never does once its QP is in error: the
 * work request would fail for the end of the connection, and its cause be lost. So the end comes
 * later. A QP with nothing in flight fails now.
 */
void gda_ib_fail_slowly(struct gda_ib_qp *qp, struct gda_status why)
{
	/* first: the worker, once it sees the failure, would hang up at once */
	gda_ib_hang_up_in(qp, GDA_IB_LAST_WORDS_MS, false);
	gda_executor_qp_fail(qp->exec, why);
}

/* Handler of the id of @qp: it was the last event that counts. In @ms the id may go. */
static void gda_ib_over(struct gda_ib_qp *qp, unsigned int ms, struct gda_status why)
{
	WRITE_ONCE(qp->over, true);
	gda_ib_hang_up_in(qp, ms, true);
	gda_executor_qp_fail(qp->exec, why);
}

/* Of one that was held. */
static void gda_ib_request_free(struct gda_ib_request *request)
{
	gda_ib_qp_put(request->qp);
	kfree(request);
}

/* No handler of it runs any more when this returns. */
static void gda_ib_refuse(struct gda_ib_request *request, u8 reason)
{
	struct gda_cm_reject reject;

	gda_cm_reject_set(&reject, reason, &request->private, &request->qp->self, NULL);
	rdma_lock_handler(request->id);
	gda_ib_reject(request->id, &reject);
	rdma_unlock_handler(request->id);
	rdma_destroy_id(request->id);
	gda_ib_request_free(request);
}

static void gda_ib_refuse_all(struct list_head *requests, u8 reason)
{
	struct gda_ib_request *request, *next;

	list_for_each_entry_safe(request, next, requests, node)
		gda_ib_refuse(request, reason);
}

/* @n of those that are held are held no longer. */
static void gda_ib_unreserve(struct gda_ib_qp *qp, unsigned int n)
{
	lockdep_assert_held(&qp->lock);
	while (n--) {
		if (!--qp->npending)
			return;
		atomic_dec(&qp->ctx->npending);
		gda_executor_release(qp->exec->ctx);
	}
}

/* Take all that are held; each is the caller's then. */
static void gda_ib_take_pending(struct gda_ib_qp *qp, struct list_head *requests)
{
	struct gda_ib_request *request;

	lockdep_assert_held(&qp->lock);
	list_for_each_entry(request, &qp->pending, node)
		request->held = false;
	list_splice_init(&qp->pending, requests);
	gda_ib_unreserve(qp, qp->npending);
}

void gda_ib_connection_end(struct gda_ib_qp *qp)
{
	struct rdma_cm_id *id;
	LIST_HEAD(requests);

	spin_lock(&qp->ib->lock);
	if (!qp->closing)
		xa_erase(&qp->ib->numbers, be32_to_cpu(qp->self.number));
	spin_unlock(&qp->ib->lock);
	spin_lock_irq(&qp->lock);
	qp->closing = true;
	gda_ib_take_pending(qp, &requests);
	spin_unlock_irq(&qp->lock);
	/* it may queue the other one */
	gda_ib_probe_end(qp);
	cancel_delayed_work_sync(&qp->hangup);
	cancel_delayed_work_sync(&qp->reap);
	gda_ib_refuse_all(&requests, GDA_CM_REASON_UNKNOWN);
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

/* --- both ends --- */

static void gda_ib_reap_work(struct work_struct *work);

void gda_ib_connection_init(struct gda_ib_qp *qp)
{
	spin_lock_init(&qp->lock);
	INIT_LIST_HEAD(&qp->pending);
	INIT_DELAYED_WORK(&qp->hangup, gda_ib_hang_up_work);
	INIT_DELAYED_WORK(&qp->reap, gda_ib_reap_work);
	gda_ib_probe_init(qp);
	qp->listener = qp->ctx->listener;
	qp->self.version = GDA_CM_VERSION;
	qp->self.port = qp->ctx->listener->port;
	qp->self.number = cpu_to_be32(qp->exec->number);
	qp->self.nonce = (__force __be64)get_random_u64();
	memcpy(qp->self.ip, qp->ctx->ip, sizeof(qp->self.ip));
}

static struct rdma_conn_param gda_ib_conn_param(const struct gda_ib_qp *qp,
						const struct gda_cm_private *p, u8 depth,
						u8 resources)
{
	const struct ib_device_attr *attrs = &qp->ib->ibdev->attrs;

	return (struct rdma_conn_param) {
		.private_data = p,
		.private_data_len = sizeof(*p),
		.responder_resources = min3(depth, GDA_IB_MAX_RD_ATOMIC, attrs->max_qp_rd_atom),
		.initiator_depth = min3(resources, GDA_IB_MAX_RD_ATOMIC,
					attrs->max_qp_init_rd_atom),
		.retry_count = GDA_IB_RETRIES,
		.rnr_retry_count = GDA_IB_RNR_RETRIES,
		.qp_num = qp->fabric.qp->qp_num,
	};
}

/* --- the end that is asked --- */

/* With the handler's lock of @id, which is the QP's. @asked is the request of the peer. */
static int gda_ib_accept(struct gda_ib_qp *qp, struct rdma_cm_id *id,
			 const struct gda_cm_private *asked, u8 depth, u8 resources)
{
	struct gda_cm_reject reject;
	struct rdma_conn_param param;
	struct gda_cm_private p;
	int ret;

	gda_cm_private_set(&p, GDA_CM_ROLE_REPLY, asked->token, &qp->self, &qp->peer);
	gda_cm_sign(&p, &qp->self, &qp->peer, cpu_to_be32(qp->fabric.qp->qp_num));
	param = gda_ib_conn_param(qp, &p, depth, resources);
	ret = READ_ONCE(qp->hung_up) ? -ECANCELED : gda_ib_qp_to_init(qp, id);
	if (!ret)
		ret = gda_ib_qp_to_rts(qp, id);
	if (!ret)
		return rdma_accept(id, &param);
	gda_cm_reject_set(&reject, GDA_CM_REASON_BUSY, asked, &qp->self, &qp->peer);
	gda_ib_reject(id, &reject);
	return ret;
}

/*
 * Whoever asked gave up, or its machine did, before the QP has named a peer. The id is not
 * destroyed here: whoever does it waits for this handler, so that none runs when the module goes.
 */
static int gda_ib_held_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct gda_ib_request *request = id->context;
	struct gda_ib_qp *qp = request->qp;

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
	struct gda_ib_request *request, *next;
	unsigned long now = jiffies;
	LIST_HEAD(gone);

	spin_lock_irq(&qp->lock);
	list_for_each_entry_safe(request, next, &qp->pending, node) {
		if (!request->gone && time_before(now, request->until))
			continue;
		request->held = false;
		list_move(&request->node, &gone);
		gda_ib_unreserve(qp, 1);
	}
	/* they are in the order in which they came */
	request = list_first_entry_or_null(&qp->pending, struct gda_ib_request, node);
	if (request && !qp->closing)
		queue_delayed_work(gda_ib_wq, &qp->reap, request->until - now);
	spin_unlock_irq(&qp->lock);
	gda_ib_refuse_all(&gone, GDA_CM_REASON_LATER);
}

static int gda_ib_handler(struct rdma_cm_id *id, struct rdma_cm_event *event);

/* Is a request of the QP that sent @p held? */
static bool gda_ib_holds(const struct gda_ib_qp *qp, const struct gda_cm_private *p)
{
	const struct gda_ib_request *request;
	struct gda_cm_address from, other;

	lockdep_assert_held(&qp->lock);
	gda_cm_private_from(p, &from);
	list_for_each_entry(request, &qp->pending, node) {
		gda_cm_private_from(&request->private, &other);
		if (gda_cm_same_end(&from, &other))
			return true;
	}
	return false;
}

/* Room for one more that is held. */
static bool gda_ib_reserve(struct gda_ib_qp *qp)
{
	lockdep_assert_held(&qp->lock);
	if (qp->npending == GDA_CM_MAX_PENDING)
		return false;
	if (qp->npending) {
		if (atomic_inc_return(&qp->ctx->npending) > gda_ib_pending_context ||
		    !gda_executor_hold(qp->exec->ctx, gda_ib_pending_user)) {
			atomic_dec(&qp->ctx->npending);
			return false;
		}
	}
	qp->npending++;
	return true;
}

/*
 * The sender of @request knows the nonce of the QP. @peer: it is the peer that was named. Return:
 * enum gda_cm_reason, or 0: @request is held, or @id is the QP's.
 */
static u8 gda_ib_admit(struct gda_ib_qp *qp, struct rdma_cm_id *id,
		       struct gda_ib_request *request, bool peer)
{
	lockdep_assert_held(&qp->lock);
	if (qp->closing)
		return GDA_CM_REASON_UNKNOWN;
	if (qp->hung_up || (qp->named && !peer))
		return GDA_CM_REASON_BUSY;
	if (request->private.role == GDA_CM_ROLE_PROBE)
		return GDA_CM_REASON_LATER;
	if (qp->named) {
		if (qp->id || qp->connecting || memcmp(&qp->self, &qp->peer, sizeof(qp->self)) > 0)
			return GDA_CM_REASON_BUSY;
		qp->id = id;
		id->context = qp;
		id->event_handler = gda_ib_handler;
		return 0;
	}
	if (gda_ib_holds(qp, &request->private))
		return GDA_CM_REASON_BUSY;
	if (!gda_ib_reserve(qp))
		return GDA_CM_REASON_FULL;
	request->held = true;
	request->until = jiffies + gda_ib_pending_jiffies();
	/* does nothing while it is queued for one that came before */
	queue_delayed_work(gda_ib_wq, &qp->reap, gda_ib_pending_jiffies());
	list_add_tail(&request->node, &qp->pending);
	id->context = request;
	id->event_handler = gda_ib_held_handler;
	return 0;
}

/*
 * Called by the listener, with the handler's lock of @id: @p is a request or a probe, whose sender
 * knows the nonce of the QP. Return: whether @id belongs to the QP now; if not, @reject is filled.
 */
bool gda_ib_request(struct gda_ib_qp *qp, struct rdma_cm_id *id, const struct gda_cm_private *p,
		    const struct rdma_conn_param *conn, struct gda_cm_reject *reject)
{
	struct gda_ib_request *request;
	bool held, peer;
	u8 reason;

	request = kzalloc(sizeof(*request), GFP_KERNEL);
	if (!request) {
		gda_cm_reject_set(reject, GDA_CM_REASON_FULL, p, &qp->self, NULL);
		return false;
	}
	kref_get(&qp->ref);
	request->qp = qp;
	request->id = id;
	request->private = *p;
	request->qpn = cpu_to_be32(conn->qp_num);
	/* what it initiates is what is responded to here */
	request->depth = conn->responder_resources;
	request->resources = conn->initiator_depth;
	spin_lock_irq(&qp->lock);
	peer = qp->named && gda_cm_is_peer(p, &qp->self, &qp->peer, request->qpn);
	reason = gda_ib_admit(qp, id, request, peer);
	/* one that is held may be taken off the list as soon as the lock is free */
	held = request->held;
	spin_unlock_irq(&qp->lock);
	if (held)
		return true;
	if (reason)
		gda_cm_reject_set(reject, reason, p, &qp->self, peer ? &qp->peer : NULL);
	else if (gda_ib_accept(qp, id, p, request->depth, request->resources))
		gda_ib_fail(qp, gda_ib_lost);
	kfree(request);
	gda_ib_qp_put(qp);
	return !reason;
}

/*
 * qp_connect() is done with an id, which is the QP's from here on, or has found none: @id is NULL.
 * The QP may have failed meanwhile; gda_ib_hang_up_work() has left it alone until now.
 */
static void gda_ib_set_id(struct gda_ib_qp *qp, struct rdma_cm_id *id)
{
	spin_lock_irq(&qp->lock);
	qp->id = id;
	qp->connecting = false;
	if (qp->hung_up && !qp->closing)
		queue_delayed_work(gda_ib_wq, &qp->hangup, 0);
	spin_unlock_irq(&qp->lock);
}

/* The peer has asked before it was named. It is the QP's own now. */
static int gda_ib_accept_held(struct gda_ib_qp *qp, struct gda_ib_request *request)
{
	struct rdma_cm_id *id = request->id;
	int ret;

	rdma_lock_handler(id);
	id->context = qp;
	id->event_handler = gda_ib_handler;
	ret = gda_ib_accept(qp, id, &request->private, request->depth, request->resources);
	rdma_unlock_handler(id);
	gda_ib_set_id(qp, id);
	gda_ib_request_free(request);
	return ret;
}

/* --- the end that asks --- */

static int gda_ib_ask_at(struct gda_ib_qp *qp, struct rdma_cm_id *id)
{
	struct rdma_conn_param param;
	struct gda_cm_private p;
	int ret;

	if (READ_ONCE(qp->hung_up))
		return -ECANCELED;
	qp->token = (__force __be32)get_random_u32();
	gda_cm_private_set(&p, GDA_CM_ROLE_REQUEST, qp->token, &qp->self, &qp->peer);
	gda_cm_sign(&p, &qp->self, &qp->peer, cpu_to_be32(qp->fabric.qp->qp_num));
	param = gda_ib_conn_param(qp, &p, GDA_IB_MAX_RD_ATOMIC, GDA_IB_MAX_RD_ATOMIC);
	ret = gda_ib_qp_to_init(qp, id);
	return ret ?: rdma_connect_locked(id, &param);
}

static void gda_ib_established(struct gda_ib_qp *qp)
{
	WRITE_ONCE(qp->connected, true);
	gda_executor_qp_ready(qp->exec);
}

/* The peer has answered: it has named this QP, if it is the one that was asked. */
static int gda_ib_answered(struct gda_ib_qp *qp, struct rdma_cm_id *id,
			   const struct rdma_conn_param *conn)
{
	struct gda_cm_private p = { };
	int ret;

	if (conn->private_data)
		memcpy(&p, conn->private_data, min_t(size_t, conn->private_data_len, sizeof(p)));
	if (!gda_cm_private_ok(&p) || p.role != GDA_CM_ROLE_REPLY || p.token != qp->token ||
	    !gda_cm_is_peer(&p, &qp->self, &qp->peer, cpu_to_be32(conn->qp_num)))
		return -EPROTO;
	ret = gda_ib_qp_to_rts(qp, id);
	ret = ret ?: rdma_accept(id, NULL);
	if (!ret)
		gda_ib_established(qp);
	return ret;
}

static int gda_ib_resolved(struct gda_ib_qp *qp, struct rdma_cm_id *id)
{
	if (id->device != qp->ib->ibdev)
		return -EHOSTUNREACH;
	return rdma_resolve_route(id, GDA_IB_RESOLVE_MS);
}

/* Of an id that is a QP's, at either end. */
static int gda_ib_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct gda_ib_qp *qp = id->context;
	int ret = 0;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		ret = gda_ib_resolved(qp, id);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		ret = gda_ib_ask_at(qp, id);
		break;
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		ret = gda_ib_answered(qp, id, &event->param.conn);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		gda_ib_established(qp);
		break;
	case RDMA_CM_EVENT_ADDR_CHANGE:
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		/* first: the worker, once it sees the failure, would hang up at once */
		gda_ib_over(qp, GDA_IB_LAST_WORDS_MS, gda_ib_lost);
		/* the peer has its answer now, whoever asked first; this leaves the QP alone */
		rdma_disconnect(id);
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		gda_ib_over(qp, 0, gda_status(GDA_CLASS_QUEUE, GDA_CAUSE_DEVICE));
		break;
	default:
		/* also the end of a connection without a message: RDMA_CM_EVENT_TIMEWAIT_EXIT */
		ret = -ECONNRESET;
		break;
	}
	if (ret)
		gda_ib_over(qp, 0, gda_ib_lost);
	return 0;
}

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

/* --- */

/* The request of the peer among @requests, or NULL. One that only claims to be is none. */
static struct gda_ib_request *gda_ib_find_request(const struct gda_ib_qp *qp,
						  struct list_head *requests)
{
	struct gda_ib_request *request;

	/* two that name each other do not both ask */
	if (memcmp(&qp->self, &qp->peer, sizeof(qp->self)) > 0)
		return NULL;
	list_for_each_entry(request, requests, node)
		if (gda_cm_is_peer(&request->private, &qp->self, &qp->peer, request->qpn))
			return request;
	return NULL;
}

static int gda_ib_name(struct gda_ib_qp *qp, const struct gda_cm_address *peer)
{
	struct gda_ib_request *request;
	LIST_HEAD(requests);
	int ret = 0;

	spin_lock_irq(&qp->lock);
	if (qp->named || qp->hung_up) {
		spin_unlock_irq(&qp->lock);
		return -EALREADY;
	}
	qp->peer = *peer;
	qp->named = true;
	gda_ib_take_pending(qp, &requests);
	request = gda_ib_find_request(qp, &requests);
	if (request)
		list_del(&request->node);
	/* another request of the peer finds the QP busy */
	qp->connecting = request || memcmp(&qp->self, &qp->peer, sizeof(qp->self)) > 0;
	spin_unlock_irq(&qp->lock);

	gda_ib_refuse_all(&requests, GDA_CM_REASON_BUSY);
	if (request)
		ret = gda_ib_accept_held(qp, request);
	else if (memcmp(&qp->self, &qp->peer, sizeof(qp->self)) > 0)
		ret = gda_ib_ask(qp);
	else
		gda_ib_probe_start(qp);
	/* the peer is named, for good; whatever is wrong with it fails the QP */
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
	if (gda_ib_same(&peer, &qp->self))
		return -EOPNOTSUPP;
	if (!gda_ib_enter(qp->ib))
		return -ENODEV;
	ret = gda_ib_name(qp, &peer);
	gda_ib_exit(qp->ib);
	return ret;
}
