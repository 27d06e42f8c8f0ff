/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What gda_ib (kmod/gda_ib, over ib_core and the kernel's rdma_cm) and lib/device/verbs (over
 * libibverbs and librdmacm) do in the same way with a QP of an RDMA device. The files here are
 * built into both, and do not know in which they are.
 *
 * Rules of everything in this directory:
 *
 * - It includes gda_fabric_os.h, of which each of the two has one, this header, what an executor sees
 *   of work (gda/flight.h) and uapi, nothing else. Verbs and rdma_cm have the same structures and
 *   calls on both sides but for a prefix, which gda_fabric_os.h takes away.
 * - It takes no lock, allocates nothing, never sleeps and logs nothing; its host may, inside of a
 *   gda_fabric_host_* function. No such function is called by a pointer.
 * - struct gda_fabric_qp is a part of the host's QP. Which lock guards a part of it is for the host to
 *   say.
 */
#ifndef GDA_FABRIC_H
#define GDA_FABRIC_H

#include "gda_fabric_os.h"
#include <gda/flight.h>

/* Work requests that are posted at once. */
#define GDA_FABRIC_CHAIN	16U

/* Immediates that one QP has receives for, at most. */
#define GDA_FABRIC_RECEIVES	128U

/* Of a work completion: no ticket, but a receive, or the last of all requests (see post.c). */
#define GDA_FABRIC_WR_RECEIVE	(1ULL << 63)
#define GDA_FABRIC_WR_DRAIN	(1ULL << 62)

/* A request of the fabric, until it was posted. */
struct gda_fabric_wr {
	union gda_os_wr wr;
	struct gda_os_sge sge[GDA_ENGINE_MAX_SGE];
	u8 data[GDA_FABRIC_MAX_INLINE];
};

/* An immediate that has arrived, and had no room in its CQ yet. */
struct gda_fabric_arrival {
	u32 imm;
	u32 bytes;
};

/**
 * struct gda_fabric_qp - a QP of an RDMA device
 * @qp: reset, until it is connected
 * @cq: completions of @qp alone, of sends and receives; it has room for all of them
 * @max_msg: payload of one request, bytes
 * @max_inline: the same of one whose payload is inside of it
 * @atomic: the device has atomics
 * @nrecv: receives that @qp has in all; 0: it takes no immediates
 * @broken: the device took a part of a chain only; what it took has no signal. This and all below are
 *	for whoever visits the queue
 * @head: of @arrivals
 * @tail: likewise
 * @unposted: receives to be posted again
 * @chain: what is being posted
 * @arrivals: a ring of @nrecv
 */
struct gda_fabric_qp {
	struct gda_os_qp *qp;
	struct gda_os_cq *cq;
	u32 max_msg;
	u32 max_inline;
	bool atomic;
	u32 nrecv;

	bool broken;
	u32 head;
	u32 tail;
	u32 unposted;
	struct gda_fabric_wr chain[GDA_FABRIC_CHAIN];
	struct gda_fabric_arrival arrivals[GDA_FABRIC_RECEIVES];
};

/* post.c - of a visit, in this order; and then gda_flight_retire() */

/**
 * gda_fabric_poll - report what the fabric has completed, and note immediates
 * @q: the QP
 * @f: its flight
 * @most: about how many completions to take
 *
 * Return: how many of requests there were.
 */
u32 gda_fabric_poll(struct gda_fabric_qp *q, struct gda_flight *f, u32 most);

/**
 * gda_fabric_deliver - give immediates to their CQ, as far as it has room
 * @q: the QP
 * @f: its flight
 *
 * Their receives are posted again.
 *
 * Return: how many there were.
 */
u32 gda_fabric_deliver(struct gda_fabric_qp *q, struct gda_flight *f);

/**
 * gda_fabric_post - begin what is next
 * @q: the QP; once it is @broken the host ends what is in flight
 * @f: its flight
 * @wqes: at most so many work requests
 * @bytes: about so many bytes of payload
 *
 * Return: how many were begun.
 */
u32 gda_fabric_post(struct gda_fabric_qp *q, struct gda_flight *f, u32 wqes, u32 bytes);

/**
 * gda_fabric_post_receives - post empty receives, for immediates
 * @q: the QP
 * @n: how many
 *
 * Return: how many were posted: all, unless the QP is in error.
 */
u32 gda_fabric_post_receives(struct gda_fabric_qp *q, u32 n);

/* The host's side. */

/**
 * gda_fabric_host_lkey - check a local segment, and name its MR as the RDMA device does
 * @q: the QP that is visited
 * @sge: the segment
 * @access: GDA_ACCESS_* needed, 0 to read it
 * @lkey: out
 *
 * Return: success, or why it may not be used.
 */
struct gda_status gda_fabric_host_lkey(struct gda_fabric_qp *q, const struct gda_sge *sge,
				       u32 access, u32 *lkey);

/**
 * gda_fabric_host_fail - have the queue of a QP fail
 * @q: the QP
 * @why: the status that it fails with
 */
void gda_fabric_host_fail(struct gda_fabric_qp *q, struct gda_status why);

#endif /* GDA_FABRIC_H */
