/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The code that gda_ib (kmod/gda_ib, over ib_core and the kernel's rdma_cm) and lib/device/verbs
 * (over libibverbs and librdmacm) share: everything that they do alike with a QP of an RDMA device.
 * The files here are built into both and do not depend on which.
 *
 * Rules of everything in this directory:
 *
 * - It includes only gda_fabric_os.h, of which each of the two has its own, this header,
 *   gda/flight.h and uapi. Verbs and rdma_cm have the same structures and calls on both sides but
 *   for a prefix, which gda_fabric_os.h hides.
 * - It takes no lock, allocates nothing and logs nothing; its host may, inside of a
 *   gda_fabric_host_* function. These are ordinary functions, not pointers. held.c and post.c never
 *   sleep. Functions of connect.c call verbs and rdma_cm, which may.
 * - struct gda_fabric_qp is embedded in the host's QP. The host decides which lock guards which
 *   member.
 */
#ifndef GDA_FABRIC_H
#define GDA_FABRIC_H

#include "gda_fabric_os.h"
#include <gda/flight.h>

/* Most work requests that are posted by one call. */
#define GDA_FABRIC_CHAIN	16U

/* Most receives of one QP, and so most immediates that it takes at once. */
#define GDA_FABRIC_RECEIVES	128U

/* Reads and atomics in flight, each way, unless the device has less. */
#define GDA_FABRIC_READS	16U

/* rdma_rxe takes 7 as "without end". The same number is used while the peer has no receive. */
#define GDA_FABRIC_RETRIES	6U

/* Timeout of each step of address resolution, in milliseconds. */
#define GDA_FABRIC_RESOLVE_MS	2000

/* Pauses between probes, in seconds. */
#define GDA_FABRIC_PROBE_FIRST	1U
#define GDA_FABRIC_PROBE_MOST	8U

/*
 * The peer's CM distinguishes requests of one device by QP number, which all probes share, and
 * rejects a probe as stale while another is under way. So many stale rejections in a row are taken
 * for other QPs' probes. Each further one counts as unanswered: it proves nothing, and anybody can
 * cause it.
 */
#define GDA_FABRIC_PROBES_STALE	32U

/* In a wr_id, instead of a ticket: a receive, or the last of all requests (see post.c). */
#define GDA_FABRIC_WR_RECEIVE	0x8000000000000000ULL
#define GDA_FABRIC_WR_DRAIN	0x4000000000000000ULL

/* GDA_ACCESS_* as flags of verbs. */
static inline int gda_fabric_access(u32 access)
{
	return (access & GDA_ACCESS_LOCAL_WRITE ? GDA_OS_IB(ACCESS_LOCAL_WRITE) : 0) |
	       (access & GDA_ACCESS_REMOTE_WRITE ? GDA_OS_IB(ACCESS_REMOTE_WRITE) : 0) |
	       (access & GDA_ACCESS_REMOTE_READ ? GDA_OS_IB(ACCESS_REMOTE_READ) : 0) |
	       (access & GDA_ACCESS_REMOTE_ATOMIC ? GDA_OS_IB(ACCESS_REMOTE_ATOMIC) : 0);
}

/* The GDA_FEATURE_* of queues of an RDMA device, in the kernel and in the library. */
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

/* A request to be posted to the RDMA device. */
struct gda_fabric_wr {
	union gda_os_wr wr;
	struct gda_os_sge sge[GDA_WORK_SGE];
	u8 data[GDA_FABRIC_MAX_INLINE];
};

/* An immediate that has arrived and did not fit into its CQ yet. */
struct gda_fabric_arrival {
	u32 imm;
	u32 bytes;
};

/* An event of rdma_cm: a copy of the members that are used. */
struct gda_fabric_event {
	enum rdma_cm_event_type type;
	int status;
	struct rdma_cm_id *id;
	__be32 qpn;			/* of a request or a reply: the RDMA QP of its sender */
	u8 depth;			/* of a request: its reads and atomics in flight, at most */
	u8 resources;			/* ... and takes */
	struct gda_cm_private private;	/* of a request or a reply; 0 if GDA did not send it */
	struct gda_cm_reject reject;	/* of a rejection; likewise */
};

/* A request that waits for its QP to name a peer. */
struct gda_fabric_request {
	struct gda_fabric_request *next;
	struct gda_fabric_qp *qp;
	struct rdma_cm_id *id;
	struct gda_cm_private private;	/* that came with it */
	__be32 qpn;			/* this and the next two as in struct gda_fabric_event */
	u8 depth;
	u8 resources;
	bool held;
	bool gone;			/* whoever asked gave up */
	u64 until;			/* the host's time at which it is given up */
};

/* The outcome of a probe, if it has one. */
enum gda_fabric_probe {
	GDA_FABRIC_PROBE_GOES_ON,
	GDA_FABRIC_PROBE_NO_NEWS,
	GDA_FABRIC_PROBE_THERE,		/* the peer can still ask */
	GDA_FABRIC_PROBE_GONE,
	GDA_FABRIC_PROBE_MISSED,	/* no answer that proves its sender */
	GDA_FABRIC_PROBE_STALE,		/* the peer says that another probe is under way */
};

/**
 * struct gda_fabric_qp - a QP of an RDMA device
 * @qp: in RESET until it is connected
 * @cq: of @qp alone, for sends and receives; it has room for all of them
 * @max_msg: payload of one request, bytes
 * @max_inline: the same for inline payload
 * @atomic: the device has atomics
 * @nrecv: how many receives @qp has; 0: it takes no immediates
 * @responds: most reads and atomics of the peer at a time
 * @initiates: most reads and atomics of its own in flight
 * @self: its address
 * @peer: the address of its peer, once @named
 * @token: of the request that it sends, if it is the one that asks
 * @named: the peer was named
 * @started: @qp was moved out of RESET
 * @id: its connection, or NULL
 * @held: requests that came before the peer was named, oldest first
 * @nheld: how many are in @held
 * @probe: the probe that is under way, or NULL
 * @probe_token: of @probe
 * @probe_missed: probes without an answer, in a row
 * @probe_stale: probes rejected as stale since the last answer
 * @broken: the device took only a part of a chain, and the part that it took is not signaled. This
 *	and all members below belong to the thread that visits the queue
 * @head: of @arrivals
 * @tail: likewise
 * @unposted: receives to be posted again
 * @chain: the requests to post
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

/* post.c - the steps of a visit, in this order; gda_flight_retire() follows */

/**
 * gda_fabric_poll - report what the fabric has completed, and note immediates
 * @q: the QP
 * @f: its flight
 * @most: about how many completions to take
 *
 * Return: how many completions of requests there were.
 */
u32 gda_fabric_poll(struct gda_fabric_qp *q, struct gda_flight *f, u32 most);

/**
 * gda_fabric_deliver - write immediates to their CQ while it has room
 * @q: the QP
 * @f: its flight
 *
 * Their receives are posted again.
 *
 * Return: how many were delivered.
 */
u32 gda_fabric_deliver(struct gda_fabric_qp *q, struct gda_flight *f);

/**
 * gda_fabric_post - begin the next work requests
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

/* Of two QPs that name each other, the one with the greater address asks. Is it @q? */
static inline bool gda_fabric_asks(const struct gda_fabric_qp *q)
{
	return memcmp(&q->self, &q->peer, sizeof(q->self)) > 0;
}

/* Does @q still wait for its peer to ask? */
static inline bool gda_fabric_waits(const struct gda_fabric_qp *q)
{
	return q->named && !q->id && !gda_fabric_asks(q);
}

/* The prefix of an IPv4-mapped IPv6 address. */
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
 * @id: whose event it is
 * @event: the event of rdma_cm
 */
void gda_fabric_event_set(struct gda_fabric_event *e, struct rdma_cm_id *id,
			  const struct rdma_cm_event *event);

/**
 * gda_fabric_event - advance a connection by an event
 * @q: the QP
 * @e: an event of its @id
 *
 * Return: 0, or a negative errno if the connection has failed.
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
 * gda_fabric_probe_event - advance a probe by an event
 * @q: the QP
 * @e: an event of its @probe
 *
 * Return: the outcome so far.
 */
enum gda_fabric_probe gda_fabric_probe_event(struct gda_fabric_qp *q,
					     const struct gda_fabric_event *e);

/**
 * gda_fabric_probe_over - count the outcome of a probe that ended or could not begin
 * @q: the QP
 * @outcome: its outcome
 *
 * Return: whether the peer is gone, or has to be taken for gone.
 */
bool gda_fabric_probe_over(struct gda_fabric_qp *q, enum gda_fabric_probe outcome);

/* held.c - who may connect, and requests that wait; the host holds the lock of @held */

/**
 * gda_fabric_admit - may the sender of a request connect?
 * @q: the QP that the request names; the sender knows its nonce
 * @e: the request, or a probe
 * @request: out. The host keeps it while it is in @held, and sets its @until
 * @failed: the QP has failed
 * @peer: out: whether the sender is the peer that @q has named
 *
 * Return: 0 if the request is held or accepted; or enum gda_cm_reason.
 */
u8 gda_fabric_admit(struct gda_fabric_qp *q, const struct gda_fabric_event *e,
		    struct gda_fabric_request *request, bool failed, bool *peer);

/**
 * gda_fabric_unhold - take requests off the list
 * @q: the QP
 * @now: the host's time; %GDA_FABRIC_EVER: take all
 *
 * Return: a list of those that are given up or whose time is over.
 */
struct gda_fabric_request *gda_fabric_unhold(struct gda_fabric_qp *q, u64 now);
#define GDA_FABRIC_EVER		(~0ULL)

/**
 * gda_fabric_asked - find the peer's request and take it off a list
 * @q: a QP that has named its peer
 * @requests: the list, of gda_fabric_unhold()
 *
 * Return: the request, or NULL. A request that cannot prove that it is the peer's does not count.
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
 * Return: whether there is room for one more.
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
 * gda_fabric_host_fail - fail the queue of a QP
 * @q: the QP
 * @why: the status that it fails with
 */
void gda_fabric_host_fail(struct gda_fabric_qp *q, struct gda_status why);

#endif /* GDA_FABRIC_H */
