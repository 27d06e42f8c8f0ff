/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Connections between the queue pairs of one device, whose peers are found by pointer.
 * Portable like the engine: no lock, no allocation, no lifetime; the host has those.
 *
 * Connecting is mutual. A QP requests its peer and waits in the peer's list of pending
 * connects until the peer requests it too; then both are ready. An address has a random
 * nonce beside the number, so a number that was used again is not taken for the QP that
 * had it before.
 *
 * The host calls everything here under one lock of the device. Two members are read without
 * it: @queue->peer by executors, and both it and @requested_peer by gda_endpoint_number().
 */
#ifndef GDA_CONTROL_CONNECT_H
#define GDA_CONTROL_CONNECT_H

#include "engine.h"

/* Most QPs that may wait for one peer to answer. */
#define GDA_MAX_PENDING_CONNECTS	64U

/**
 * struct gda_endpoint - a queue pair as connections see it; part of the host's QP
 * @queue: its queue; the endpoint changes @queue->peer, @queue->state and @queue->fail only
 * @peer: the connected endpoint, or NULL
 * @requested_peer: the endpoint that this one has requested and that has not answered
 * @pending: the first of those whose @requested_peer is this one
 * @next_pending: the next of those that wait for the same peer
 * @npending: how many wait for this one
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
	u32 magic;		/* of the device; another device's addresses have another */
	u32 qpn;
	u64 nonce;
	u64 reserved[2];
};

/**
 * gda_endpoint_address - make the address that a peer names this endpoint by
 * @e: the endpoint
 * @magic: of the device
 * @address: out, GDA_ADDRESS_BYTES
 */
void gda_endpoint_address(const struct gda_endpoint *e, u32 magic, u8 *address);

/**
 * gda_endpoint_parse - read an address
 * @address: GDA_ADDRESS_BYTES, from the user
 * @magic: of the device that is asked to connect to it
 * @name: out
 *
 * Return: 0; -EINVAL @address is not one of a device with this @magic.
 */
int gda_endpoint_parse(const u8 *address, u32 magic, struct gda_endpoint_name *name);

/**
 * gda_endpoint_connect - request a peer, or answer its request
 * @e: the endpoint
 * @peer: the one that the host found by @name->qpn, or NULL
 * @name: what gda_endpoint_parse() made of the address
 *
 * Return: 0, and both are ready or @e waits; -EOPNOTSUPP one of them is not to be connected;
 * -EALREADY @e is connected, waits or has failed; -ENOENT no such QP, or it has failed; -EBUSY
 * @peer is connected to another or waits for another; -ENOSPC GDA_MAX_PENDING_CONNECTS wait for it.
 */
int gda_endpoint_connect(struct gda_endpoint *e, struct gda_endpoint *peer,
			 const struct gda_endpoint_name *name);

/**
 * gda_endpoint_disconnect - fail the peer, and the endpoints that wait for this one
 * @e: the endpoint; its QP is being destroyed
 */
void gda_endpoint_disconnect(struct gda_endpoint *e);

/**
 * gda_endpoint_number - the number of the peer
 * @e: the endpoint; the caller has the lock, or keeps QPs from being freed that have just been
 *	disconnected
 *
 * Return: of the QP that it is connected to, or else has requested; 0: of none.
 */
u32 gda_endpoint_number(const struct gda_endpoint *e);

/**
 * gda_endpoint_fail - have the executor fail the queue, whether it has work or not
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
