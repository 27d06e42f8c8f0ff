/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Between the files of gda_ib: one GDA device for each RDMA device, over ib_core and rdma_cm.
 *
 * Life. The structures here last as long as gda_core's objects do; their objects of ib_core and
 * rdma_cm go with the RDMA device. Every operation that touches such an object is between
 * gda_ib_enter() and gda_ib_exit(). Removal unregisters the device, waits for those calls, and
 * frees all objects of ib_core and rdma_cm that are left; whoever frees a structure later waits for
 * the end of the removal and finds nothing more to free.
 *
 * Locks, outermost first. A handler of rdma_cm takes locks of gda_core only by calls that any
 * context may make, so that rdma_destroy_id(), which waits for it, may be called under ctx->lock.
 *
 *   ctx->lock          mutex     gda_core's: operations of one context, but mr_reg()
 *   handler_mutex      mutex     rdma_cm's, of an id: held by its handler
 *   qp->lock           spinlock  how a QP is connected
 *   ib->lock           spinlock  what a device has
 *   gda_ib_lock        spinlock  devices, listeners (guard.c, listen.c: one each)
 */
#ifndef GDA_IB_H
#define GDA_IB_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/ratelimit.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include <gda/compat.h>
#include <gda/executor.h>
#include <gda/mem.h>

#include "fabric.h"

/* Work requests of one QP that may be in flight. */
#define GDA_IB_WINDOW		128U

/* A name that a device has or had: readers may still look at it. */
struct gda_ib_name {
	struct gda_ib_name *older;
	char name[GDA_DEVICE_NAME_MAX];
};

/**
 * struct gda_ib - one RDMA device
 * @dev: as gda_core knows it
 * @ref: 1 for gda_core, and 1 for the RDMA device
 * @names: of @dev, the newest first
 * @ibdev: until removal has ended
 * @node: in the list of devices, for connection requests
 * @calls: 1 for the device itself, and 1 for each call
 * @idle: @calls is 0
 * @gone: removal has ended: nothing of ib_core and rdma_cm is left
 * @lock: guards the next three and @numbers
 * @ctxs: struct gda_ib_ctx
 * @qps: struct gda_ib_qp
 * @mrs: struct gda_ib_mr
 * @numbers: number -> struct gda_ib_qp that may be connected to
 */
struct gda_ib {
	struct gda_device dev;
	struct kref ref;
	struct gda_ib_name *names;
	struct ib_device *ibdev;
	struct list_head node;
	refcount_t calls;
	struct completion idle;
	struct completion gone;
	spinlock_t lock;		/* guards the lists, and @numbers for lookups */
	struct list_head ctxs;
	struct list_head qps;
	struct list_head mrs;
	struct xarray numbers;
};

/**
 * struct gda_ib_listener - the port at which the contexts of one net namespace receive requests
 * @net: the namespace, held by @id
 * @id: the id that listens
 * @port: of rdma_cm, of @id
 * @source: an id that reserves @source_port, from which all contexts send requests
 * @source_port: of rdma_cm
 * @users: contexts
 * @node: in the list of listeners
 */
struct gda_ib_listener {
	struct net *net;
	struct rdma_cm_id *id;
	__be16 port;
	struct rdma_cm_id *source;
	__be16 source_port;
	unsigned int users;
	struct list_head node;
};

/**
 * struct gda_ib_ctx - a context
 * @ib: its device
 * @node: in @ib->ctxs
 * @pd: of all that the context has; NULL after removal
 * @listener: of the net namespace that bound the context
 * @ip: of the device in that namespace, as in struct gda_cm_address
 * @npending: requests that its QPs hold, beside the first of each
 * @probes: limits how many probes begin in a second
 */
struct gda_ib_ctx {
	struct gda_ib *ib;
	struct list_head node;
	struct ib_pd *pd;
	struct gda_ib_listener *listener;
	u8 ip[16];
	atomic_t npending;
	struct ratelimit_state probes;
};

/**
 * struct gda_ib_mr - a memory region
 * @ib: its device
 * @node: in @ib->mrs
 * @mr: NULL after removal
 */
struct gda_ib_mr {
	struct gda_ib *ib;
	struct list_head node;
	struct ib_mr *mr;
};

/* Probes of one context that may begin in a second. */
#define GDA_IB_PROBES		64

/* How long a failed connection may still send messages, see gda_ib_fail_slowly(). */
#define GDA_IB_LAST_WORDS_MS	100

/**
 * struct gda_ib_qp - a queue pair
 * @ref: 1 for gda_core's QP, and 1 for each request that waits or is being looked at
 * @ib: its device
 * @ctx: its context
 * @exec: the QP as gda_core knows it, until gda_core frees it
 * @node: in @ib->qps
 * @fabric: its QP and CQ are NULL after removal
 * @charge: for what the RDMA driver allocates
 * @listener: the listener of its context; only compared with that by which a request comes
 * @lock: guards the next four, and of @fabric the addresses, the id and requests that are held
 * @closing: the QP takes no request and begins nothing any more
 * @hung_up: @hangup was queued, maybe with a delay
 * @connecting: qp_connect() is about to set the id
 * @hangup: ends the connection after a failure
 * @connected: the id is a connection that rdma_cm ends by messages of both ends
 * @over: the id has no more events that count: it is only to be destroyed
 * @ended: @hangup has moved the QP to ERROR
 * @reap: ends the requests that were given up, or are too old
 * @probe_work: probes a peer that has not sent its request yet; the next member and @fabric's probe
 *	belong to it
 * @probe_pause: before the next one, in seconds
 * @probe_outcome: enum gda_fabric_probe of the probe, by its handler
 * @drained: all that was posted has completed or never will
 */
struct gda_ib_qp {
	struct kref ref;
	struct gda_ib *ib;
	struct gda_ib_ctx *ctx;
	struct gda_executor_qp *exec;
	struct list_head node;
	struct gda_fabric_qp fabric;
	struct gda_memlock charge;
	const struct gda_ib_listener *listener;

	spinlock_t lock;		/* guards the next four, and more */
	bool closing;
	bool hung_up;
	bool connecting;
	struct delayed_work hangup;
	bool connected;
	bool over;
	bool ended;
	struct delayed_work reap;
	struct delayed_work probe_work;
	unsigned int probe_pause;
	u8 probe_outcome;
	bool drained;
};

/*
 * defined in guard.c; they run the work items of QPs, and those of probes, which wait longer for
 * rdma_cm
 */
extern struct workqueue_struct *gda_ib_wq;
extern struct workqueue_struct *gda_ib_probe_wq;
bool gda_ib_enter(struct gda_ib *ib);
void gda_ib_exit(struct gda_ib *ib);
/* Connection requests find the device between these two calls. */
void gda_ib_show(struct gda_ib *ib);
void gda_ib_hide(struct gda_ib *ib);
/* Return: the device of @ibdev, entered; or NULL. */
struct gda_ib *gda_ib_enter_device(const struct ib_device *ibdev);
struct gda_ib_qp *gda_ib_qp_get(struct gda_ib *ib, u32 number);
void gda_ib_qp_put(struct gda_ib_qp *qp);
static inline struct gda_ib *gda_ib_of(struct gda_device *dev)
{
	return container_of(dev, struct gda_ib, dev);
}

/*
 * Called before an object is freed. Return: whether the object still has something of ib_core; if
 * so, gda_ib_exit() follows.
 */
static inline bool gda_ib_enter_free(struct gda_ib *ib)
{
	if (gda_ib_enter(ib))
		return true;
	wait_for_completion(&ib->gone);
	return false;
}

/* ctx.c */
int gda_ib_bind(struct gda_executor_ctx *exec);
void gda_ib_unbind(struct gda_executor_ctx *exec);
void gda_ib_ctxs_free(struct gda_ib *ib);

/* mr.c */
int gda_ib_mr_reg(struct gda_executor_mr *exec, const struct gda_executor_mr_attr *attr);
void gda_ib_mr_dereg(struct gda_executor_mr *exec);
void gda_ib_mrs_free(struct gda_ib *ib);

/* qp.c */
static inline struct gda_ib_qp *gda_ib_qp_of(struct gda_fabric_qp *q)
{
	return container_of(q, struct gda_ib_qp, fabric);
}

int gda_ib_qp_create(struct gda_executor_qp *exec);
void gda_ib_qp_free(struct gda_executor_qp *exec);
void gda_ib_qps_free(struct gda_ib *ib);

/* post.c */
u32 gda_ib_visit(struct gda_executor_qp *exec, u32 wqes, u32 bytes);
bool gda_ib_arm(struct gda_executor_qp *exec);

/* address.c */
void gda_ib_qp_address(struct gda_executor_qp *exec, u8 *address);
int gda_ib_resolve(const struct gda_ib_qp *qp, struct rdma_cm_id *id);

/* connect.c */
int gda_ib_qp_connect(struct gda_executor_qp *exec, const u8 *address);
void gda_ib_qp_disconnect(struct gda_executor_qp *exec);
void gda_ib_connection_init(struct gda_ib_qp *qp);
void gda_ib_connection_end(struct gda_ib_qp *qp);
bool gda_ib_request(struct gda_ib_qp *qp, const struct gda_fabric_event *e,
		    struct gda_cm_reject *reject);

/* hangup.c */
struct rdma_cm_id *gda_ib_take_id(struct gda_ib_qp *qp);
void gda_ib_hang_up_work(struct work_struct *work);
void gda_ib_hang_up(struct gda_ib_qp *qp);
void gda_ib_fail(struct gda_ib_qp *qp, struct gda_status why);
void gda_ib_fail_slowly(struct gda_ib_qp *qp, struct gda_status why);
void gda_ib_over(struct gda_ib_qp *qp, unsigned int ms, struct gda_status why);

/* probe.c */
void gda_ib_probe_init(struct gda_ib_qp *qp);
void gda_ib_probe_start(struct gda_ib_qp *qp);
void gda_ib_probe_end(struct gda_ib_qp *qp);

/* listen.c */
struct gda_ib_listener *gda_ib_listener_get(struct net *net);
void gda_ib_listener_put(struct gda_ib_listener *listener);

#endif /* GDA_IB_H */
