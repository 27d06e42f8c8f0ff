/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Connections between the queue pairs of one device, which find each other by pointer. Portable
 * like the engine: the host has locks, allocation and lifetime.
 *
 * Connecting is mutual. A QP requests its peer and waits in the peer's list of pending
 * connects until the peer requests it too; then both are ready. An address has the QP number and
 * a random nonce, so that a QP with a reused number is not taken for the previous one.
 *
 * The host calls everything here under one lock of the device. Two members are read without
 * it: executors read @queue->peer, and gda_endpoint_number() reads @queue->peer and
 * @requested_peer.
 */
#ifndef GDA_CONTROL_CONNECT_H
#define GDA_CONTROL_CONNECT_H

#include "engine.h"

/* How many QPs may wait for the same peer. */
#define GDA_MAX_PENDING_CONNECTS	64U

/**
 * struct gda_endpoint - a queue pair as connections see it; part of the host's QP
 * @queue: the QP's queue, of which the endpoint changes only ->peer, ->state and ->fail
 * @peer: the connected endpoint, or NULL
 * @requested_peer: the endpoint that this one has requested and that has not answered
 * @pending: list of the endpoints whose @requested_peer is this one
 * @next_pending: the next endpoint in the list of the requested peer
 * @npending: length of @pending
 * @nonce: random, part of the address
 */
struct gda_endpoint {
	struct gda_engine_qp *queue;
	struct gda_endpoint *peer;
	struct gda_endpoint *requested_peer;
	struct gda_endpoint *pending;
	struct gda_endpoint *next_pending;
	u32 npending;
	u64 nonce;
};

/* The contents of an address, whose bytes are opaque to all other code. */
struct gda_endpoint_name {
	u32 magic;		/* of the device; no other device has the same */
	u32 qpn;
	u64 nonce;
	u64 reserved[2];
};

/**
 * gda_endpoint_address - make the address by which peers name an endpoint
 * @e: the endpoint
 * @magic: of the device
 * @address: out, GDA_ADDRESS_BYTES
 */
void gda_endpoint_address(const struct gda_endpoint *e, u32 magic, u8 *address);

/**
 * gda_endpoint_parse - read an address
 * @address: GDA_ADDRESS_BYTES, from the user
 * @magic: of the device that is to connect to the address
 * @name: out
 *
 * Return: 0; -EINVAL @address does not belong to a device with this @magic.
 */
int gda_endpoint_parse(const u8 *address, u32 magic, struct gda_endpoint_name *name);

/**
 * gda_endpoint_connect - request a peer, or answer its request
 * @e: the endpoint
 * @peer: the endpoint that the host found by @name->qpn, or NULL
 * @name: the address, as gda_endpoint_parse() decoded it
 *
 * Return: 0, and both are ready or @e waits; -EOPNOTSUPP one of them has a dialect without
 * connections; -EALREADY @e is connected, waits or has failed; -ENOENT no such QP, or it has
 * failed; -EBUSY @peer is connected to another QP or waits for another;
 * -ENOSPC GDA_MAX_PENDING_CONNECTS QPs wait for @peer.
 */
int gda_endpoint_connect(struct gda_endpoint *e, struct gda_endpoint *peer,
			 const struct gda_endpoint_name *name);

/**
 * gda_endpoint_disconnect - fail the peer, and the endpoints that wait for this one
 * @e: the endpoint; its QP is being destroyed
 */
void gda_endpoint_disconnect(struct gda_endpoint *e);

/**
 * gda_endpoint_number - the QP number of the peer
 * @e: the endpoint; the caller holds the lock, or keeps QPs that were just disconnected from
 *	being freed
 *
 * Return: the number of the connected QP, or else of the requested one; 0 if there is neither.
 */
u32 gda_endpoint_number(const struct gda_endpoint *e);

/**
 * gda_endpoint_fail - have the executor fail the queue, even if it has no work
 * @e: the endpoint
 * @why: for gda_engine_qp.fail
 */
void gda_endpoint_fail(struct gda_endpoint *e, u32 why);

/**
 * gda_host_kick - have the executor visit a queue soon; the host defines it
 * @q: the queue
 */
void gda_host_kick(struct gda_engine_qp *q);

#endif /* GDA_CONTROL_CONNECT_H */
