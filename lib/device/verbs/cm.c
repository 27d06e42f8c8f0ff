// SPDX-License-Identifier: MIT
/*
 * Connecting by rdma_cm, as gda/cm.h says: addresses, requests, and a thread of each context
 * that takes what rdma_cm reports. The QP is moved by hand, since rdma_cm need not know it.
 * Nonces of addresses are secrets that are never sent: tags prove that an end knows them, before a
 * request is kept and before a connection begins.
 *
 * All under verbs->lock. An id belongs to the QP that is its context: as v->id, as v->probe, or
 * as one of v->pending; the listener's context is NULL.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include "verbs_internal.h"

/* Requests that nobody has looked at yet. */
#define GDA_VERBS_BACKLOG	1024

static bool gda_verbs_same(const struct gda_cm_address *a, const struct gda_cm_address *b)
{
	return !memcmp(a, b, sizeof(*a));
}

void gda_fabric_host_fail(struct gda_fabric_qp *q, struct gda_status why)
{
	gda_verbs_fail(gda_verbs_qp_of(q), GDA_STATUS(why.class, why.cause));
}

void gda_verbs_fail(struct gda_verbs_qp *v, u32 why)
{
	WRITE_ONCE(v->qp->engine_qp.fail, why);
	gda_host_kick(&v->qp->engine_qp);
}

static void gda_verbs_set_ready(struct gda_verbs_qp *v)
{
	u32 *state = &v->qp->engine_qp.state;

	/* a queue that has failed meanwhile stays failed */
	if (gda_os_cmpxchg32(state, GDA_QP_WAIT, GDA_QP_READY) == GDA_QP_INIT)
		gda_os_cmpxchg32(state, GDA_QP_INIT, GDA_QP_READY);
	gda_host_kick(&v->qp->engine_qp);
}

/* The connection of @v is over, or was none. */
static void gda_verbs_drop(struct gda_verbs_qp *v)
{
	if (!v->id)
		return;
	/* failing, it was not connected */
	gda_rdma.disconnect(v->id);
	gda_rdma.destroy_id(v->id);
	v->id = NULL;
}

static void gda_verbs_reject(struct rdma_cm_id *id, const struct gda_cm_reject *why)
{
	gda_rdma.reject(id, why, sizeof(*why));
	gda_rdma.destroy_id(id);
}

void gda_verbs_refuse(struct gda_verbs_qp *v, struct rdma_cm_id *id, u8 reason,
		      const struct gda_cm_private *asked, bool peer)
{
	struct gda_cm_reject why;

	gda_cm_reject_set(&why, reason, asked, &v->address, peer ? &v->peer : NULL);
	gda_verbs_reject(id, &why);
}

static u8 gda_verbs_reads(int most)
{
	return (u8)(most < (int)GDA_VERBS_READS ? most : (int)GDA_VERBS_READS);
}

/*
 * Fill in what a request with this token, or the reply to it, says about @v to its peer. @data has
 * to last as long as @param.
 */
static void gda_verbs_param(struct gda_verbs_qp *v, enum gda_cm_role role, __be32 token,
			    struct gda_cm_private *data, struct rdma_conn_param *param)
{
	const struct ibv_device_attr *attr = &v->verbs->attr;

	gda_cm_private_set(data, role, token, &v->address, &v->peer);
	gda_cm_sign(data, &v->address, &v->peer, htonl(v->fabric.qp->qp_num));
	*param = (struct rdma_conn_param) {
		.private_data = data,
		.private_data_len = sizeof(*data),
		.responder_resources = gda_verbs_reads(attr->max_qp_rd_atom),
		.initiator_depth = gda_verbs_reads(attr->max_qp_init_rd_atom),
		.retry_count = GDA_VERBS_RETRY,
		.rnr_retry_count = GDA_VERBS_RNR_RETRY,
		.qp_num = v->fabric.qp->qp_num,
	};
}

/* Answer a request of the peer that @v has named. Its id becomes the connection's. */
static void gda_verbs_accept(struct gda_verbs_qp *v, struct rdma_cm_id *id,
			     const struct gda_cm_private *asked)
{
	struct rdma_conn_param param;
	struct gda_cm_private data;
	int err;

	gda_verbs_probe_end(v);
	id->context = v;
	v->id = id;
	gda_verbs_param(v, GDA_CM_ROLE_REPLY, asked->token, &data, &param);
	err = gda_verbs_qp_init(v, id);
	if (!err)
		err = gda_verbs_qp_ready(v, id, &param);
	if (!err && gda_rdma.accept(id, &param))
		err = -errno;
	if (err)
		gda_verbs_fail(v, GDA_STATUS(GDA_CLASS_RETRY, GDA_CAUSE_FABRIC));
}

/* @v has named its peer: answer it, if it has asked, and reject all others. */
static void gda_verbs_settle(struct gda_verbs_qp *v, bool answer)
{
	struct gda_verbs_request *r;

	while ((r = gda_verbs_unhold(v))) {
		/* one that only claims to be the peer is refused as any other */
		if (answer && !v->id &&
		    gda_cm_is_peer(&r->private, &v->address, &v->peer, r->qpn))
			gda_verbs_accept(v, r->id, &r->private);
		else
			gda_verbs_refuse(v, r->id, GDA_CM_REASON_BUSY, &r->private, false);
		free(r);
	}
}

/* Request the peer. Return: 0 or a negative errno. */
static int gda_verbs_ask(struct gda_verbs_qp *v)
{
	struct gda_cm_address own = v->verbs->address;
	struct sockaddr_storage from, to;
	int err;

	if (gda_rdma.create_id(v->verbs->channel, &v->id, v, RDMA_PS_TCP))
		return -errno;
	/* any port */
	own.port = 0;
	gda_verbs_sockaddr(&own, &from);
	gda_verbs_sockaddr(&v->peer, &to);
	if (!gda_rdma.resolve_addr(v->id, (struct sockaddr *)&from, (struct sockaddr *)&to,
				   GDA_VERBS_RESOLVE_MS))
		return 0;
	err = -errno;
	gda_rdma.destroy_id(v->id);
	v->id = NULL;
	return err;
}

static int gda_verbs_connect_locked(struct gda_verbs_qp *v, const struct gda_cm_address *peer)
{
	struct gda_engine_qp *q = &v->qp->engine_qp;
	bool ask = memcmp(&v->address, peer, sizeof(*peer)) > 0;
	int err;

	if (v->named || READ_ONCE(q->state) != GDA_QP_INIT || READ_ONCE(q->fail))
		return -EALREADY;
	v->peer = *peer;
	err = ask ? gda_verbs_ask(v) : 0;
	if (err)
		return gda_because(err,
				   "rdma_cm finds no route to the peer: do the two machines reach each other by IP?");
	v->named = true;
	gda_os_cmpxchg32(&q->state, GDA_QP_INIT, GDA_QP_WAIT);
	gda_verbs_settle(v, !ask);
	gda_verbs_probe_start(v);
	return 0;
}

int gda_verbs_qp_connect(struct gda_inproc_qp *qp, const u8 *address)
{
	struct gda_verbs_qp *v = qp->priv;
	struct gda_cm_address peer;
	int err;

	memcpy(&peer, address, sizeof(peer));
	if (!gda_cm_address_ok(&peer))
		return -EINVAL;
	if (gda_verbs_same(&peer, &v->address))
		return gda_because(-EOPNOTSUPP,
				   "an RDMA device connects no QP to itself: use two QPs");
	pthread_mutex_lock(&v->verbs->lock);
	err = gda_verbs_connect_locked(v, &peer);
	pthread_mutex_unlock(&v->verbs->lock);
	return err;
}

void gda_verbs_qp_address(struct gda_inproc_qp *qp, u8 *address)
{
	const struct gda_verbs_qp *v = qp->priv;

	memcpy(address, &v->address, sizeof(v->address));
}

void gda_verbs_cm_add(struct gda_verbs_qp *v)
{
	struct gda_verbs *verbs = v->verbs;

	v->address = verbs->address;
	v->address.number = htonl(v->qp->engine_qp.qpn);
	v->address.nonce = htobe64(gda_inproc_random());
	pthread_mutex_lock(&verbs->lock);
	v->next = verbs->qps;
	v->link = &verbs->qps;
	if (v->next)
		v->next->link = &v->next;
	verbs->qps = v;
	pthread_mutex_unlock(&verbs->lock);
}

void gda_verbs_qp_disconnect(struct gda_inproc_qp *qp)
{
	struct gda_verbs_qp *v = qp->priv;

	pthread_mutex_lock(&v->verbs->lock);
	*v->link = v->next;
	if (v->next)
		v->next->link = v->link;
	gda_verbs_settle(v, false);
	gda_verbs_probe_end(v);
	gda_verbs_drop(v);
	pthread_mutex_unlock(&v->verbs->lock);
}

/*
 * Packets of the connection would go to the address of which the tags speak: so nobody at another
 * address sends what he has heard. GIDs of RoCE are IP addresses.
 */
static bool gda_verbs_from(const struct gda_verbs *verbs, const struct gda_verbs_event *e)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };
	int mask;

	if (!verbs->roce)
		return true;
	return !gda_rdma.init_qp_attr(e->id, &attr, &mask) && attr.ah_attr.is_global &&
	       !memcmp(attr.ah_attr.grh.dgid.raw, e->private.ip, sizeof(e->private.ip));
}

/* The QP that a request is for, whose sender has been given its address; or NULL. */
static struct gda_verbs_qp *gda_verbs_target(const struct gda_verbs *verbs,
					     const struct gda_verbs_event *e)
{
	struct gda_verbs_qp *v = verbs->qps;

	while (v && v->address.number != e->private.number)
		v = v->next;
	/* a stranger learns nothing: not even that there is a QP */
	return v && gda_cm_knows(&e->private, &v->address, e->qpn) && gda_verbs_from(verbs, e) ?
	       v : NULL;
}

/*
 * Accept a request for @v, or keep it. @peer: it is by the peer that was named. Return: 0, or why
 * it is rejected.
 */
static u8 gda_verbs_admit(struct gda_verbs_qp *v, const struct gda_verbs_event *e, bool peer)
{
	if (READ_ONCE(v->qp->engine_qp.state) == GDA_QP_ERROR ||
	    READ_ONCE(v->qp->engine_qp.fail) || (v->named && !peer))
		return GDA_CM_REASON_BUSY;
	if (e->private.role == GDA_CM_ROLE_PROBE)
		return GDA_CM_REASON_LATER;
	if (!v->named)
		return gda_verbs_hold(v, e);
	/* two that name each other do not both ask */
	if (v->id || memcmp(&v->address, &v->peer, sizeof(v->peer)) > 0)
		return GDA_CM_REASON_BUSY;
	gda_verbs_accept(v, e->id, &e->private);
	return 0;
}

static void gda_verbs_requested(struct gda_verbs *verbs, const struct gda_verbs_event *e)
{
	struct gda_cm_reject why = { .version = GDA_CM_VERSION, .reason = GDA_CM_REASON_VERSION };
	struct gda_verbs_qp *v = NULL;
	bool peer;
	u8 reason;

	if (e->has_private && gda_cm_private_ok(&e->private)) {
		why.reason = GDA_CM_REASON_UNKNOWN;
		v = gda_verbs_target(verbs, e);
	}
	if (!v) {
		gda_verbs_reject(e->id, &why);
		return;
	}
	peer = v->named && gda_cm_is_peer(&e->private, &v->address, &v->peer, e->qpn);
	reason = gda_verbs_admit(v, e, peer);
	if (reason)
		gda_verbs_refuse(v, e->id, reason, &e->private, peer);
}

/* The route is known: send the request. Return: 0 or a negative errno. */
static int gda_verbs_request(struct gda_verbs_qp *v)
{
	struct rdma_conn_param param;
	struct gda_cm_private data;
	int err = gda_verbs_qp_init(v, v->id);

	v->token = (u32)gda_inproc_random();
	gda_verbs_param(v, GDA_CM_ROLE_REQUEST, v->token, &data, &param);
	if (!err && gda_rdma.connect(v->id, &param))
		err = -errno;
	return err;
}

/* The peer has answered. Return: 0 or a negative errno. */
static int gda_verbs_answered(struct gda_verbs_qp *v, const struct gda_verbs_event *e)
{
	struct rdma_conn_param param;
	struct gda_cm_private data;
	int err;

	/* it is the one that was asked, and not just one at its port */
	if (!e->has_private || !gda_cm_private_ok(&e->private) ||
	    e->private.role != GDA_CM_ROLE_REPLY || e->private.token != v->token ||
	    !gda_cm_is_peer(&e->private, &v->address, &v->peer, e->qpn))
		return -EPROTO;
	gda_verbs_param(v, GDA_CM_ROLE_REQUEST, v->token, &data, &param);
	err = gda_verbs_qp_ready(v, v->id, &param);
	if (!err && gda_rdma.establish(v->id))
		err = -errno;
	if (!err)
		gda_verbs_set_ready(v);
	return err;
}

static void gda_verbs_removed(struct gda_verbs *verbs)
{
	struct gda_verbs_qp *v;

	WRITE_ONCE(verbs->removed, true);
	for (v = verbs->qps; v; v = v->next) {
		gda_verbs_settle(v, false);
		gda_verbs_probe_end(v);
		gda_verbs_drop(v);
		gda_verbs_fail(v, GDA_STATUS(GDA_CLASS_QUEUE, GDA_CAUSE_DEVICE));
	}
}

/* An event of the connection of @v. */
static void gda_verbs_connection(struct gda_verbs_qp *v, const struct gda_verbs_event *e)
{
	u32 why = GDA_STATUS(GDA_CLASS_RETRY, GDA_CAUSE_FABRIC);
	int err = -ECONNABORTED;

	switch (e->type) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		err = gda_rdma.resolve_route(v->id, GDA_VERBS_RESOLVE_MS) ? -errno : 0;
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		err = gda_verbs_request(v);
		break;
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		err = gda_verbs_answered(v, e);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		gda_verbs_set_ready(v);
		return;
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_DISCONNECTED:
		why = GDA_FAIL_PEER;
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
		break;
	default:
		return;
	}
	if (!err)
		return;
	gda_verbs_fail(v, why);
	gda_verbs_drop(v);
}

static void gda_verbs_handle(struct gda_verbs *verbs, const struct gda_verbs_event *e)
{
	struct gda_verbs_qp *v = e->id->context;

	if (e->type == RDMA_CM_EVENT_CONNECT_REQUEST)
		gda_verbs_requested(verbs, e);
	else if (e->type == RDMA_CM_EVENT_DEVICE_REMOVAL)
		gda_verbs_removed(verbs);
	else if (v && v->id == e->id)
		gda_verbs_connection(v, e);
	else if (v && v->probe == e->id)
		gda_verbs_probe_event(v, e);
	else if (v)
		gda_verbs_withdrawn(v, e->id);
}

/* Copy what the peer has sent along. */
static void gda_verbs_take_private(struct gda_verbs_event *e, const void *data, size_t length)
{
	if (e->type == RDMA_CM_EVENT_REJECTED && length >= sizeof(e->reject)) {
		memcpy(&e->reject, data, sizeof(e->reject));
	} else if ((e->type == RDMA_CM_EVENT_CONNECT_REQUEST ||
		    e->type == RDMA_CM_EVENT_CONNECT_RESPONSE) && length >= sizeof(e->private)) {
		e->has_private = true;
		memcpy(&e->private, data, sizeof(e->private));
	}
}

/* Take one event. Return: false if there is none. */
static bool gda_verbs_take_event(struct gda_verbs *verbs)
{
	struct gda_verbs_event e = { 0 };
	struct rdma_cm_event *event;

	if (gda_rdma.get_event(verbs->channel, &event))
		return false;
	e.type = event->event;
	e.status = event->status;
	e.id = event->id;
	e.qpn = htonl(event->param.conn.qp_num);
	if (event->param.conn.private_data)
		gda_verbs_take_private(&e, event->param.conn.private_data,
				       event->param.conn.private_data_len);
	gda_rdma.ack_event(event);
	gda_verbs_handle(verbs, &e);
	return true;
}

static void *gda_verbs_cm_main(void *arg)
{
	struct gda_verbs *verbs = arg;
	struct pollfd p[] = {
		{ .fd = verbs->channel->fd, .events = POLLIN },
		{ .fd = verbs->stop, .events = POLLIN },
		{ .fd = verbs->timer, .events = POLLIN },
	};
	bool more;

	prctl(PR_SET_NAME, "gda-verbs", 0, 0, 0);
	for (;;) {
		if (poll(p, 3, -1) > 0 && p[1].revents)
			return NULL;
		if (p[2].revents) {
			pthread_mutex_lock(&verbs->lock);
			gda_verbs_probe_tick(verbs);
			pthread_mutex_unlock(&verbs->lock);
		}
		do {
			pthread_mutex_lock(&verbs->lock);
			more = gda_verbs_take_event(verbs);
			pthread_mutex_unlock(&verbs->lock);
		} while (more);
	}
}

static int gda_verbs_thread_start(struct gda_verbs *verbs)
{
	sigset_t all, before;
	int err;

	verbs->stop = eventfd(0, EFD_CLOEXEC);
	if (verbs->stop < 0)
		return -errno;
	verbs->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (verbs->timer < 0) {
		err = -errno;
		close(verbs->stop);
		return err;
	}
	/* the program's signals are the program's */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&verbs->thread, NULL, gda_verbs_cm_main, verbs);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err) {
		close(verbs->timer);
		close(verbs->stop);
	}
	return -err;
}

/* Listen at verbs->address, at any port. Return: 0 or a negative errno. */
static int gda_verbs_listen(struct gda_verbs *verbs)
{
	int flags = fcntl(verbs->channel->fd, F_GETFL);

	if (flags < 0 || fcntl(verbs->channel->fd, F_SETFL, flags | O_NONBLOCK) ||
	    gda_rdma.listen(verbs->listener, GDA_VERBS_BACKLOG))
		return -errno;
	verbs->address.port = gda_rdma.get_src_port(verbs->listener);
	return 0;
}

int gda_verbs_cm_start(struct gda_verbs *verbs)
{
	int err;

	verbs->address.version = GDA_CM_VERSION;
	verbs->channel = gda_rdma.create_event_channel();
	if (!verbs->channel)
		return gda_because(-errno, "no rdma_cm: is rdma_ucm loaded, and who may open %s?",
				   "/dev/infiniband/rdma_cm");
	gda_verbs_held_init(verbs);
	err = gda_verbs_bind(verbs);
	if (err)
		goto err_channel;
	err = gda_verbs_listen(verbs);
	if (err)
		goto err_listener;
	pthread_mutex_init(&verbs->lock, NULL);
	err = gda_verbs_thread_start(verbs);
	if (err)
		goto err_lock;
	return 0;

err_lock:
	pthread_mutex_destroy(&verbs->lock);
err_listener:
	gda_rdma.destroy_id(verbs->listener);
err_channel:
	gda_rdma.destroy_event_channel(verbs->channel);
	return err;
}

void gda_verbs_cm_stop(struct gda_verbs *verbs)
{
	/* a counter at 0 has room for 1 */
	(void)eventfd_write(verbs->stop, 1);
	pthread_join(verbs->thread, NULL);
	close(verbs->timer);
	close(verbs->stop);
	pthread_mutex_destroy(&verbs->lock);
	gda_rdma.destroy_id(verbs->listener);
	gda_rdma.destroy_event_channel(verbs->channel);
}
