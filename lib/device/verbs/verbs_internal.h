/* SPDX-License-Identifier: MIT */
/*
 * The executor on verbs: devices `verbs:<rdma device>`, which execute queues of this process
 * through libibverbs and librdmacm, without a GDA module and without root. Queues, completions and
 * workers are those of lib/device/inproc; these files map them to an RDMA device.
 *
 * A context has one open RDMA device with one PD, an rdma_cm listener and a thread for rdma_cm's
 * events. A QP has one RC QP with its own CQ.
 *
 * Locks: verbs->lock nests inside ctx->lock (lib/device/inproc) and guards all state of rdma_cm.
 * Ids of rdma_cm are destroyed and events are taken only under it, so that an event whose id is
 * gone is never handled. A worker takes neither.
 */
#ifndef GDA_VERBS_INTERNAL_H
#define GDA_VERBS_INTERNAL_H

#include "fabric.h"
#include "flight.h"

/* Most work requests of a queue in flight. */
#define GDA_VERBS_WINDOW	256U

/* Empty receives, for immediates. */
#define GDA_VERBS_RECVS		64U

/* Most requests that a context holds beside the first of each QP; and for how many seconds. */
#define GDA_VERBS_PENDING_MOST	1024U
#define GDA_VERBS_PENDING_S	120U

#define GDA_VERBS_BUCKETS	1024U

struct gda_verbs_mr {
	struct gda_verbs_mr *next;	/* next in the hash bucket; workers read it */
	struct gda_inproc_mr *mr;
	struct ibv_mr *ib;
};

struct gda_verbs {
	struct gda_inproc_context *ctx;
	struct ibv_context *dev;
	struct ibv_pd *pd;
	struct ibv_device_attr attr;
	u32 max_msg;
	u32 max_inline;
	bool roce;			/* GIDs are IP addresses */
	bool removed;			/* atomic: the RDMA device is gone */
	/* by 32-bit key; written under ctx->lock, read by workers */
	struct gda_verbs_mr *keys[GDA_VERBS_BUCKETS];

	/* cm.c; @address and the next six are constant */
	struct gda_cm_address address;	/* without number and nonce */
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener;
	pthread_t thread;
	int stop;			/* eventfd */
	int timer;			/* a timerfd, for probes and held requests */
	u32 pending_s;			/* GDA_PENDING_S, of the environment */
	pthread_mutex_t lock;		/* guards the next four */
	struct gda_verbs_qp *qps;
	u32 npending;			/* requests that its QPs hold, beside the first of each */
	bool ticking;			/* @timer */
	u64 ticks;			/* seconds for which it did */
};

struct gda_verbs_qp {
	struct gda_inproc_qp *qp;
	struct gda_verbs *verbs;

	struct gda_fabric_qp fabric;	/* the connection: under verbs->lock */

	/* this and the rest belong to the thread that visits the queue */
	struct gda_flight flight;
	struct gda_flight_request *requests;
	bool hastened;			/* in-flight work is being flushed, since ... */
	u64 since;
	u64 silent;			/* ns without a completion while work is in flight */
	u64 silent_at;			/* when @silent was updated; 0: nothing was in flight */

	/* under verbs->lock */
	struct gda_verbs_qp *next;
	struct gda_verbs_qp **link;
	u32 waited;			/* seconds */
};

static inline struct gda_verbs_qp *gda_verbs_qp_of(struct gda_fabric_qp *q)
{
	return gda_inproc_of(q, struct gda_verbs_qp, fabric);
}

static inline struct gda_verbs *gda_verbs_of(const struct gda_inproc_context *ctx)
{
	return ctx->priv;
}

/* mr.c */

int gda_verbs_mr_map(struct gda_inproc_mr *mr);
void gda_verbs_mr_unmap(struct gda_inproc_mr *mr);
void gda_verbs_mr_free(struct gda_inproc_mr *mr);
/* Return: the MR with this key, or NULL. */
const struct gda_verbs_mr *gda_verbs_mr_find(const struct gda_verbs *verbs, u32 key);

/* qp.c */

int gda_verbs_qp_create(struct gda_inproc_qp *qp);
void gda_verbs_qp_free(struct gda_inproc_qp *qp);
/* Most inline payload that QPs of the device take, up to 512 bytes; 0: none. */
u32 gda_verbs_max_inline(struct gda_verbs *verbs);

/* visit.c */

u32 gda_verbs_visit(struct gda_inproc_qp *qp, u32 wqes, u32 bytes);

/* cm.c */

int gda_verbs_cm_start(struct gda_verbs *verbs);
void gda_verbs_cm_stop(struct gda_verbs *verbs);

/* forked.c */

/* Called in a child of fork(2), with the parent's RDMA files closed. */
void gda_verbs_forked(struct gda_inproc_context *ctx);
/* From here on peers can request the QP ... */
void gda_verbs_cm_add(struct gda_verbs_qp *v);
/* ... until here, where its connection ends. */
void gda_verbs_qp_disconnect(struct gda_inproc_qp *qp);
void gda_verbs_qp_address(struct gda_inproc_qp *qp, u8 *address);
int gda_verbs_qp_connect(struct gda_inproc_qp *qp, const u8 *address);

/* Make the QP fail. */
void gda_verbs_fail(struct gda_verbs_qp *v, u32 why);

/* probe.c; under verbs->lock */

/* @v has named its peer: probe the peer from time to time while @v waits for its request. */
void gda_verbs_probe_start(struct gda_verbs_qp *v);
void gda_verbs_probe_end(struct gda_verbs_qp *v);
/* verbs->timer has run out. */
void gda_verbs_probe_tick(struct gda_verbs *verbs);
/* An event of v->probe. */
void gda_verbs_probe_event(struct gda_verbs_qp *v, const struct gda_fabric_event *e);

/* Create an id, and resolve the address of @v's peer. Return: 0, or a negative errno and no id. */
int gda_verbs_find(struct gda_verbs_qp *v, struct rdma_cm_id **id);

/* Start the ticks of @verbs->timer: something waits for them. */
void gda_verbs_ticks(struct gda_verbs *verbs);

/* held.c: requests that wait for their QPs to name a peer; under verbs->lock */

/* Hold the request; the list then owns its memory and its id. */
void gda_verbs_hold(struct gda_verbs_qp *v, struct gda_fabric_request *r);
/* Reject and free all requests of a list; those that were withdrawn are only freed. */
void gda_verbs_refuse_all(struct gda_verbs_qp *v, struct gda_fabric_request *requests, u8 reason);
/* The sender has withdrawn the request with this id. */
void gda_verbs_withdrawn(struct gda_verbs_qp *v, const struct rdma_cm_id *id);
/* A second has passed: reject requests whose time is over. Return: whether others still wait. */
bool gda_verbs_held_tick(struct gda_verbs_qp *v);
/* Of a new context. */
void gda_verbs_held_init(struct gda_verbs *verbs);

/* Reject a request whose sender knows the nonce of @v. @peer: it is the peer that was named. */
void gda_verbs_refuse(struct gda_verbs_qp *v, struct rdma_cm_id *id, u8 reason,
		      const struct gda_cm_private *asked, bool peer);

/* port.c */

/*
 * Bind an id to an address of the RDMA device, and fill in verbs->address. Return: 0;
 * -EADDRNOTAVAIL the device has none; or another negative errno.
 */
int gda_verbs_bind(struct gda_verbs *verbs);
#endif /* GDA_VERBS_INTERNAL_H */
