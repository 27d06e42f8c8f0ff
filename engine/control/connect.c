// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Connections: connect, answer, refuse and disconnect (connect.h). */
#include "connect.h"

static_assert(sizeof(struct gda_endpoint_name) == GDA_ADDRESS_BYTES);

void gda_endpoint_address(const struct gda_endpoint *e, u32 magic, u8 *address)
{
	const struct gda_endpoint_name name = {
		.magic = magic,
		.qpn = e->queue->qpn,
		.nonce = e->nonce,
	};

	memcpy(address, &name, sizeof(name));
}

int gda_endpoint_parse(const u8 *address, u32 magic, struct gda_endpoint_name *name)
{
	memcpy(name, address, sizeof(*name));
	if (name->magic != magic || name->reserved[0] || name->reserved[1])
		return -EINVAL;
	return 0;
}

/* Record that the QP was connected to, or lost, the peer with this number; @kind says which. */
static void gda_endpoint_record(const struct gda_endpoint *e, u8 kind, u32 peer, u32 why)
{
	struct gda_record r = {
		.kind = kind,
		.qpn = e->queue->qpn,
		.err_class = (u8)why,
		.cause = (u8)(why >> 8),
		.aux = peer,
	};

	gda_host_record(e->queue, &r);
}

void gda_endpoint_fail(struct gda_endpoint *e, u32 why)
{
	WRITE_ONCE(e->queue->fail, why);
	gda_host_kick(e->queue);
}

/* If @e waits for a peer, remove it from the peer's list. */
static void gda_endpoint_withdraw(struct gda_endpoint *e)
{
	struct gda_endpoint **link;

	if (!e->requested_peer)
		return;
	for (link = &e->requested_peer->pending; *link != e;)
		link = &(*link)->next_pending;
	*link = e->next_pending;
	e->requested_peer->npending--;
	/* pairs with gda_endpoint_number() */
	smp_store_release(&e->requested_peer, NULL);
}

/* Fail the endpoints that wait for @e, which will not connect to them. */
static void gda_endpoint_refuse(struct gda_endpoint *e)
{
	while (e->pending) {
		struct gda_endpoint *waiting = e->pending;

		gda_endpoint_withdraw(waiting);
		gda_endpoint_record(waiting, GDA_RECORD_LOST, e->queue->qpn, GDA_FAIL_PEER);
		gda_endpoint_fail(waiting, GDA_FAIL_PEER);
	}
}

static void gda_endpoint_set_ready(struct gda_endpoint *e, struct gda_endpoint *peer)
{
	e->peer = peer;
	/* pairs with the load in gda_engine_peer() */
	smp_store_release(&e->queue->peer, peer->queue);
	gda_endpoint_withdraw(e);
	gda_endpoint_record(e, GDA_RECORD_CONNECTED, peer->queue->qpn, 0);
	/*
	 * The exchanges order the store of the peer before that of the state. A queue that has
	 * failed meanwhile stays failed.
	 */
	if (gda_os_cmpxchg32(&e->queue->state, GDA_QP_WAIT, GDA_QP_READY) == GDA_QP_INIT)
		gda_os_cmpxchg32(&e->queue->state, GDA_QP_INIT, GDA_QP_READY);
	/* work may have been posted already */
	gda_host_kick(e->queue);
}

u32 gda_endpoint_number(const struct gda_endpoint *e)
{
	/* pairs with gda_endpoint_withdraw(): once the request was answered, ->peer below is set */
	const struct gda_endpoint *requested = smp_load_acquire(&e->requested_peer);
	/* pairs with gda_endpoint_set_ready(): the peer's queue is complete */
	const struct gda_engine_qp *peer = smp_load_acquire(&e->queue->peer);

	if (!peer && requested)
		peer = requested->queue;
	return peer ? peer->qpn : 0;
}

static bool gda_endpoint_failed(const struct gda_endpoint *e)
{
	return READ_ONCE(e->queue->state) == GDA_QP_ERROR || READ_ONCE(e->queue->fail);
}

int gda_endpoint_connect(struct gda_endpoint *e, struct gda_endpoint *peer,
			 const struct gda_endpoint_name *name)
{
	if (e->queue->dialect->named)
		return -EOPNOTSUPP;
	if (e->peer || e->requested_peer || READ_ONCE(e->queue->state) != GDA_QP_INIT)
		return -EALREADY;
	if (!peer || peer->nonce != name->nonce || gda_endpoint_failed(peer))
		return -ENOENT;
	if (peer->queue->dialect->named)
		return -EOPNOTSUPP;
	if (peer == e || peer->requested_peer == e) {
		gda_endpoint_set_ready(e, peer);
		if (peer != e)
			gda_endpoint_set_ready(peer, e);
		gda_endpoint_refuse(e);
		gda_endpoint_refuse(peer);
		return 0;
	}
	if (peer->peer || peer->requested_peer)
		return -EBUSY;
	if (peer->npending == GDA_MAX_PENDING_CONNECTS)
		return -ENOSPC;
	/* pairs with gda_endpoint_number() */
	smp_store_release(&e->requested_peer, peer);
	e->next_pending = peer->pending;
	peer->pending = e;
	peer->npending++;
	gda_os_cmpxchg32(&e->queue->state, GDA_QP_INIT, GDA_QP_WAIT);
	return 0;
}

void gda_endpoint_disconnect(struct gda_endpoint *e)
{
	struct gda_endpoint *peer = e->peer;

	gda_endpoint_withdraw(e);
	if (peer && peer != e) {
		peer->peer = NULL;
		/* pairs with the load in gda_engine_peer() */
		smp_store_release(&peer->queue->peer, NULL);
		gda_endpoint_record(peer, GDA_RECORD_LOST, e->queue->qpn, GDA_FAIL_PEER);
		gda_endpoint_fail(peer, GDA_FAIL_PEER);
	}
	e->peer = NULL;
	/* pairs with the load in gda_engine_peer(), too */
	smp_store_release(&e->queue->peer, NULL);
	gda_endpoint_refuse(e);
}
