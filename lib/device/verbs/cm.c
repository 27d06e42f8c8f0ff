// SPDX-License-Identifier: MIT
/*
 * Connecting by rdma_cm, as gda/cm.h says: addresses, requests, and a thread of each context that
 * takes rdma_cm's events. Messages and decisions are in engine/fabric.
 *
 * verbs->lock guards all of it. An id's context is the QP that owns it: as its connection, its
 * probe, or a held request; the listener's context is NULL.
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

/* Requests that may queue at the listener. */
#define GDA_VERBS_BACKLOG	1024

void gda_fabric_host_fail(struct gda_fabric_qp *q, struct gda_status why)
{
	gda_verbs_fail(gda_verbs_qp_of(q), GDA_STATUS(why.class, why.cause));
}

void gda_verbs_fail(struct gda_verbs_qp *v, u32 why)
{
	WRITE_ONCE(v->qp->engine_qp.fail, why);
	gda_host_kick(&v->qp->engine_qp);
}

void gda_fabric_host_ready(struct gda_fabric_qp *q)
{
	struct gda_engine_qp *engine_qp = &gda_verbs_qp_of(q)->qp->engine_qp;

	/* a queue that has failed in the meantime stays failed */
	if (gda_os_cmpxchg32(&engine_qp->state, GDA_QP_WAIT, GDA_QP_READY) == GDA_QP_INIT)
		gda_os_cmpxchg32(&engine_qp->state, GDA_QP_INIT, GDA_QP_READY);
	gda_host_kick(engine_qp);
}

/* End the connection of @v, if it has one. */
static void gda_verbs_drop(struct gda_verbs_qp *v)
{
	if (!v->fabric.id)
		return;
	/* fails if it was not connected */
	gda_rdma.disconnect(v->fabric.id);
	gda_rdma.destroy_id(v->fabric.id);
	v->fabric.id = NULL;
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

	gda_cm_reject_set(&why, reason, asked, &v->fabric.self, peer ? &v->fabric.peer : NULL);
	gda_verbs_reject(id, &why);
}

/* Accept a request of the peer that @v has named. Its id becomes that of the connection. */
static void gda_verbs_accept(struct gda_verbs_qp *v, const struct gda_fabric_request *r)
{
	gda_verbs_probe_end(v);
	r->id->context = v;
	v->fabric.id = r->id;
	if (gda_fabric_accept(&v->fabric, r))
		gda_verbs_fail(v, GDA_STATUS(GDA_CLASS_RETRY, GDA_CAUSE_FABRIC));
}

/* @v has named its peer: accept that peer's request, if there is one, and reject all others. */
static void gda_verbs_settle(struct gda_verbs_qp *v, bool answer)
{
	struct gda_fabric_request *requests = gda_fabric_unhold(&v->fabric, GDA_FABRIC_EVER);
	struct gda_fabric_request *r = answer ? gda_fabric_asked(&v->fabric, &requests) : NULL;

	if (r)
		gda_verbs_accept(v, r);
	free(r);
	gda_verbs_refuse_all(v, requests, GDA_CM_REASON_BUSY);
}

int gda_verbs_find(struct gda_verbs_qp *v, struct rdma_cm_id **id)
{
	struct sockaddr_storage from, to;
	int err;

	if (gda_rdma.create_id(v->verbs->channel, id, v, RDMA_PS_TCP)) {
		*id = NULL;
		return -errno;
	}
	gda_fabric_sockaddr(&from, v->fabric.self.ip, 0);
	gda_fabric_sockaddr(&to, v->fabric.peer.ip, v->fabric.peer.port);
	if (!gda_rdma.resolve_addr(*id, (struct sockaddr *)&from, (struct sockaddr *)&to,
				   GDA_FABRIC_RESOLVE_MS))
		return 0;
	err = -errno;
	gda_rdma.destroy_id(*id);
	*id = NULL;
	return err;
}

static int gda_verbs_connect_locked(struct gda_verbs_qp *v, const struct gda_cm_address *peer)
{
	struct gda_engine_qp *q = &v->qp->engine_qp;
	bool ask;
	int err;

	if (v->fabric.named || READ_ONCE(q->state) != GDA_QP_INIT || READ_ONCE(q->fail))
		return -EALREADY;
	v->fabric.peer = *peer;
	ask = gda_fabric_asks(&v->fabric);
	err = ask ? gda_verbs_find(v, &v->fabric.id) : 0;
	if (err)
		return gda_because(err,
				   "rdma_cm finds no route to the peer: do the two machines reach each other by IP?");
	v->fabric.named = true;
	gda_os_cmpxchg32(&q->state, GDA_QP_INIT, GDA_QP_WAIT);
	gda_verbs_settle(v, true);
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
	if (!memcmp(&peer, &v->fabric.self, sizeof(peer)))
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

	memcpy(address, &v->fabric.self, sizeof(v->fabric.self));
}

void gda_verbs_cm_add(struct gda_verbs_qp *v)
{
	struct gda_verbs *verbs = v->verbs;

	v->fabric.self = verbs->address;
	v->fabric.self.number = htonl(v->qp->engine_qp.qpn);
	v->fabric.self.nonce = htobe64(gda_inproc_random());
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
 * Does the request come from the address that its tags are for? Replies go to that address, so
 * nobody at another address can replay a request. GIDs of RoCE are IP addresses.
 */
static bool gda_verbs_from(const struct gda_verbs *verbs, const struct gda_fabric_event *e)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };
	int mask;

	if (!verbs->roce)
		return true;
	return !gda_rdma.init_qp_attr(e->id, &attr, &mask) && attr.ah_attr.is_global &&
	       !memcmp(attr.ah_attr.grh.dgid.raw, e->private.ip, sizeof(e->private.ip));
}

/* Find the QP of a request whose sender knows that QP's address. Return: NULL if there is none. */
static struct gda_verbs_qp *gda_verbs_target(const struct gda_verbs *verbs,
					     const struct gda_fabric_event *e)
{
	struct gda_verbs_qp *v = verbs->qps;

	while (v && v->fabric.self.number != e->private.number)
		v = v->next;
	/* a stranger learns nothing, not even whether the QP exists */
	return v && gda_cm_knows(&e->private, &v->fabric.self, e->qpn) &&
	       gda_verbs_from(verbs, e) ? v : NULL;
}

/* Accept, hold or reject a request for @v, whose sender knows its nonce. */
static void gda_verbs_asked(struct gda_verbs_qp *v, const struct gda_fabric_event *e)
{
	bool holds = !v->fabric.named && e->private.role != GDA_CM_ROLE_PROBE;
	struct gda_fabric_request now, *r = holds ? malloc(sizeof(*r)) : &now;
	u8 reason = GDA_CM_REASON_FULL;
	bool peer = false;

	if (r)
		reason = gda_fabric_admit(&v->fabric, e, r,
					  READ_ONCE(v->qp->engine_qp.state) == GDA_QP_ERROR ||
					  READ_ONCE(v->qp->engine_qp.fail), &peer);
	if (!reason && r->held) {
		gda_verbs_hold(v, r);
		return;
	}
	if (reason)
		gda_verbs_refuse(v, e->id, reason, &e->private, peer);
	else
		gda_verbs_accept(v, r);
	if (holds)
		free(r);
}

static void gda_verbs_requested(struct gda_verbs *verbs, const struct gda_fabric_event *e)
{
	struct gda_cm_reject why = { .version = GDA_CM_VERSION, .reason = GDA_CM_REASON_VERSION };
	struct gda_verbs_qp *v = NULL;

	if (gda_cm_private_ok(&e->private)) {
		why.reason = GDA_CM_REASON_UNKNOWN;
		v = gda_verbs_target(verbs, e);
	}
	if (v)
		gda_verbs_asked(v, e);
	else
		gda_verbs_reject(e->id, &why);
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

/* Handle an event of the connection of @v. */
static void gda_verbs_connection(struct gda_verbs_qp *v, const struct gda_fabric_event *e)
{
	bool by_peer = e->type == RDMA_CM_EVENT_REJECTED || e->type == RDMA_CM_EVENT_DISCONNECTED;

	if (!gda_fabric_event(&v->fabric, e))
		return;
	gda_verbs_fail(v, by_peer ? GDA_FAIL_PEER :
		       GDA_STATUS(GDA_CLASS_RETRY, GDA_CAUSE_FABRIC));
	gda_verbs_drop(v);
}

static void gda_verbs_handle(struct gda_verbs *verbs, const struct gda_fabric_event *e)
{
	struct gda_verbs_qp *v = e->id->context;

	if (e->type == RDMA_CM_EVENT_CONNECT_REQUEST)
		gda_verbs_requested(verbs, e);
	else if (e->type == RDMA_CM_EVENT_DEVICE_REMOVAL)
		gda_verbs_removed(verbs);
	else if (v && v->fabric.id == e->id)
		gda_verbs_connection(v, e);
	else if (v && v->fabric.probe == e->id)
		gda_verbs_probe_event(v, e);
	else if (v)
		gda_verbs_withdrawn(v, e->id);
}

/* Handle one event. Return: false if there is none. */
static bool gda_verbs_take_event(struct gda_verbs *verbs)
{
	struct rdma_cm_event *event;
	struct gda_fabric_event e;

	if (gda_rdma.get_event(verbs->channel, &event))
		return false;
	gda_fabric_event_set(&e, event->id, event);
	/* before the id is destroyed, which waits for this */
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
	/* signals are for the program's own threads */
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

/* Listen on verbs->address, on any port. Return: 0 or a negative errno. */
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
	/* cannot fail: the counter is 0 */
	(void)eventfd_write(verbs->stop, 1);
	pthread_join(verbs->thread, NULL);
	close(verbs->timer);
	close(verbs->stop);
	pthread_mutex_destroy(&verbs->lock);
	gda_rdma.destroy_id(verbs->listener);
	gda_rdma.destroy_event_channel(verbs->channel);
}
