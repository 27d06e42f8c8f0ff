/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What gda_ib (kmod/gda_ib, over ib_core and the kernel's rdma_cm) and lib/device/verbs (over
 * libibverbs and librdmacm) do in the same way with a QP of an RDMA device. The files here are
 * built into both, and do not know in which they are.
 *
 * Rules of everything in this directory:
 *
 * - It includes gda_fabric_os.h, of which each of the two has one, this header, what an executor
 *   sees of work (gda/flight.h) and uapi, nothing else. Verbs and rdma_cm have the same structures
 *   and calls on both sides but for a prefix, which gda_fabric_os.h takes away.
 * - It takes no lock, allocates nothing and logs nothing; its host may, inside of a
 *   gda_fabric_host_* function. No such function is called by a pointer. held.c and post.c never
 *   sleep. Functions of connect.c call verbs and rdma_cm, which may.
 * - struct gda_fabric_qp is a part of the host's QP. Which lock guards a part of it is for the
 *   host to say.
 */
#ifndef GDA_FABRIC_H
#define GDA_FABRIC_H

#include "gda_fabric_os.h"
#include <gda/flight.h>

/* Work requests that are posted at once. */
#define GDA_FABRIC_CHAIN	16U

/* Immediates that one QP has receives for, at most. */
#define GDA_FABRIC_RECEIVES	128U

/* Reads and atomics in flight, each way, unless the device has less. */
#define GDA_FABRIC_READS	16U

/* rdma_rxe takes 7 for "without end"; also of tries while the peer has no receive. */
#define GDA_FABRIC_RETRIES	6U

/* Of one step of resolving an address, in milliseconds. */
#define GDA_FABRIC_RESOLVE_MS	2000

/* Pauses between probes, in seconds. */
#define GDA_FABRIC_PROBE_FIRST	1U
#define GDA_FABRIC_PROBE_MOST	8U

/*
 * The peer's CM tells the requests of one device apart by QP number, which all probes share, and
 * refuses one while another is under way. So many of these are other QPs' probes; any more each
 * count as one without an answer, for they prove nothing, and anybody can cause them.
 */
#define GDA_FABRIC_PROBES_STALE	32U

/* Of a work completion: no ticket, but a receive, or the last of all requests (see post.c). */
#define GDA_FABRIC_WR_RECEIVE	0x8000000000000000ULL
#define GDA_FABRIC_WR_DRAIN	0x4000000000000000ULL

/* GDA_ACCESS_* as verbs have them. */
static inline int gda_fabric_access(u32 access)
{
	return (access & GDA_ACCESS_LOCAL_WRITE ? GDA_OS_IB(ACCESS_LOCAL_WRITE) : 0) |
	       (access & GDA_ACCESS_REMOTE_WRITE ? GDA_OS_IB(ACCESS_REMOTE_WRITE) : 0) |
	       (access & GDA_ACCESS_REMOTE_READ ? GDA_OS_IB(ACCESS_REMOTE_READ) : 0) |
	       (access & GDA_ACCESS_REMOTE_ATOMIC ? GDA_OS_IB(ACCESS_REMOTE_ATOMIC) : 0);
}

/* The GDA_FEATURE_* that queues of an RDMA device have in the kernel and in the library. */
static inline u64 gda_fabric_features(int atomic_cap)
{
	u64 features = GDA_FEATURE_CQ_COLLAPSED | GDA_FEATURE_CQ_RING | GDA_FEATURE_MR_USER |
		       GDA_FEATURE_QP_POLLED | GDA_FEATURE_CQ_EVENT | GDA_FEATURE_COUNTER |
		       GDA_FEATURE_IMM | GDA_FEATURE_USER_INDEX | GDA_FEATURE_IGNORE_OVERRUN;

	if (atomic_cap != GDA_OS_IB(ATOMIC_NONE))
		features |= GDA_FEATURE_ATOMIC;
	if (atomic_cap == GDA_OS_IB(ATOMIC_GLOB))
		features |= GDA_FEATURE_ATOMIC_CPU;
	return features;
}

/* A request of the fabric, until it was posted. */
struct gda_fabric_wr {
	union gda_os_wr wr;
	struct gda_os_sge sge[GDA_WORK_SGE];
	u8 data[GDA_FABRIC_MAX_INLINE];
};

/* An immediate that has arrived, and had no room in its CQ yet. */
struct gda_fabric_arrival {
	u32 imm;
	u32 bytes;
};

/* An event of rdma_cm: what is looked at, copied. */
struct gda_fabric_event {
	enum rdma_cm_event_type type;
	int status;
	struct rdma_cm_id *id;
	__be32 qpn;			/* of a request or a reply: the RDMA QP of its sender */
	u8 depth;			/* of a request: reads and atomics that it has in flight */
	u8 resources;			/* ... and takes */
	struct gda_cm_private private;	/* of a request or a reply; 0 if it is none of GDA's */
	struct gda_cm_reject reject;	/* of a rejection; likewise */
};

/* A request that waits for its QP to name a peer. */
struct gda_fabric_request {
	struct gda_fabric_request *next;
	struct gda_fabric_qp *qp;
	struct rdma_cm_id *id;
	struct gda_cm_private private;	/* that came with it */
	__be32 qpn;			/* as in struct gda_fabric_event, and the next two */
	u8 depth;
	u8 resources;
	bool held;
	bool gone;			/* whoever asked gave up */
	u64 until;			/* the host's time: it waits no longer */
};

/* How a probe has ended, or that it has not. */
enum gda_fabric_probe {
	GDA_FABRIC_PROBE_GOES_ON,
	GDA_FABRIC_PROBE_NO_NEWS,
	GDA_FABRIC_PROBE_THERE,		/* the peer can still ask */
	GDA_FABRIC_PROBE_GONE,
	GDA_FABRIC_PROBE_MISSED,	/* no answer that proves by whom it is */
	GDA_FABRIC_PROBE_STALE,		/* another probe is under way, it is said */
};

/**
 * struct gda_fabric_qp - a QP of an RDMA device
 * @qp: reset, until it is connected
 * @cq: completions of @qp alone, of sends and receives; it has room for all of them
 * @max_msg: payload of one request, bytes
 * @max_inline: the same of one whose payload is inside of it
 * @atomic: the device has atomics
 * @nrecv: receives that @qp has in all; 0: it takes no immediates
 * @responds: reads and atomics that it takes at once
 * @initiates: ... and has in flight
 * @self: its address
 * @peer: the address of its peer, once @named
 * @token: of its request, if it asks
 * @named: the peer was named
 * @started: @qp was moved out of RESET
 * @id: its connection, or NULL
 * @held: requests that came before the peer was named, in their order
 * @nheld: how many
 * @probe: that is under way, or NULL
 * @probe_token: of @probe
 * @probe_missed: probes without an answer, in a row
 * @probe_stale: probes since the last answer of which rdma_cm said that another is under way
 * @broken: the device took a part of a chain only; what it took has no signal. This and all below
 *	are for whoever visits the queue
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
	u8 responds;
	u8 initiates;

	struct gda_cm_address self;
	struct gda_cm_address peer;
	__be32 token;
	bool named;
	bool started;
	struct rdma_cm_id *id;
	struct gda_fabric_request *held;
	u32 nheld;
	struct rdma_cm_id *probe;
	__be32 probe_token;
	u32 probe_missed;
	u32 probe_stale;

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

/* connect.c - messages of rdma_cm (gda/cm.h), and what they do to a QP */

/* Does @q, of the two that name each other, ask? The greater one does. */
static inline bool gda_fabric_asks(const struct gda_fabric_qp *q)
{
	return memcmp(&q->self, &q->peer, sizeof(q->self)) > 0;
}

/* Is it to be asked, and was not? */
static inline bool gda_fabric_waits(const struct gda_fabric_qp *q)
{
	return q->named && !q->id && !gda_fabric_asks(q);
}

/* The first bytes of an IPv4 address as an IPv6 one. */
extern const u8 gda_fabric_mapped[12];

/**
 * gda_fabric_sockaddr - make a socket address
 * @sa: out
 * @ip: as in struct gda_cm_address
 * @port: of rdma_cm, or 0
 */
void gda_fabric_sockaddr(struct sockaddr_storage *sa, const u8 *ip, __be16 port);

/**
 * gda_fabric_event_set - copy an event
 * @e: out
 * @id: of which it is
 * @event: as rdma_cm has it
 */
void gda_fabric_event_set(struct gda_fabric_event *e, struct rdma_cm_id *id,
			  const struct rdma_cm_event *event);

/**
 * gda_fabric_event - go on with a connection
 * @q: the QP
 * @e: an event of its @id
 *
 * Return: 0, or a negative errno: nothing comes of the connection any more.
 */
int gda_fabric_event(struct gda_fabric_qp *q, const struct gda_fabric_event *e);

/**
 * gda_fabric_accept - answer a request of the peer
 * @q: the QP, which has named it; @request->id is its connection
 * @request: that of the peer
 *
 * Return: 0 or a negative errno.
 */
int gda_fabric_accept(struct gda_fabric_qp *q, const struct gda_fabric_request *request);

/**
 * gda_fabric_probe_event - go on with a probe
 * @q: the QP
 * @e: an event of its @probe
 *
 * Return: what has come of it.
 */
enum gda_fabric_probe gda_fabric_probe_event(struct gda_fabric_qp *q,
					     const struct gda_fabric_event *e);

/**
 * gda_fabric_probe_over - end a probe, or one that could not begin
 * @q: the QP
 * @outcome: what has come of it
 *
 * Return: is the peer gone, or to be taken for it?
 */
bool gda_fabric_probe_over(struct gda_fabric_qp *q, enum gda_fabric_probe outcome);

/* held.c - who may connect, and requests that wait; all under the lock of @held */

/**
 * gda_fabric_admit - may the sender of a request connect?
 * @q: the QP that it is for, whose nonce the sender knows
 * @e: the request, or a probe
 * @request: out. The host keeps it while it is @held, of which it sets @until
 * @failed: the QP has failed
 * @peer: out: it is by the peer that was named
 *
 * Return: 0: it is held, or else accepted; or enum gda_cm_reason.
 */
u8 gda_fabric_admit(struct gda_fabric_qp *q, const struct gda_fabric_event *e,
		    struct gda_fabric_request *request, bool failed, bool *peer);

/**
 * gda_fabric_unhold - take requests off the list
 * @q: the QP
 * @now: the host's time; %GDA_FABRIC_EVER: take all
 *
 * Return: those that are given up or have waited until now, the first of a list.
 */
struct gda_fabric_request *gda_fabric_unhold(struct gda_fabric_qp *q, u64 now);
#define GDA_FABRIC_EVER		(~0ULL)

/**
 * gda_fabric_asked - take the request of the peer off a list
 * @q: a QP that has named it
 * @requests: of gda_fabric_unhold()
 *
 * Return: it; or NULL. One that only claims to be is none.
 */
struct gda_fabric_request *gda_fabric_asked(const struct gda_fabric_qp *q,
					    struct gda_fabric_request **requests);

/* The host's side. */

/**
 * gda_fabric_host_ready - a QP is connected
 * @q: the QP
 */
void gda_fabric_host_ready(struct gda_fabric_qp *q);

/**
 * gda_fabric_host_reserve - count a request that is to be held, beside the first of its QP
 * @q: the QP
 *
 * Return: is there room for one more?
 */
bool gda_fabric_host_reserve(struct gda_fabric_qp *q);

/**
 * gda_fabric_host_release - undo gda_fabric_host_reserve()
 * @q: the QP
 */
void gda_fabric_host_release(struct gda_fabric_qp *q);

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
