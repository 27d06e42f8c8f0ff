/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Executors carry out the work of a device. gda_core owns contexts, queues, doorbells, MRs and
 * their life; an executor, of gda_core or of another module, registers devices and gda_core calls
 * it for what only the executor knows: how its queue pairs are named and connected, how memory gets
 * a key, and how posted work is carried out.
 *
 * Life of a device: gda_device_register(), then any number of contexts are bound to it, then
 * gda_device_unregister(), after which nothing is executed. Bound contexts keep the structure and
 * the executor's module until they are closed and have given back their objects.
 *
 * Calls for one context are made one after the other; calls for two contexts may run at the same
 * time. All calls but visit() are made in process context, with a lock of the context held. They
 * may sleep, but must not wait for another context, whose owner may be stopped by a CPU limit.
 */
#ifndef GDA_EXECUTOR_H
#define GDA_EXECUTOR_H

#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/xarray.h>

#include <gda/ioctl.h>
#include <gda/work.h>

struct gda_device;
struct gda_flight;
struct gda_mem_backing;
struct module;

/**
 * struct gda_executor_ctx - a context, as its executor knows it
 * @dev: the device that it is bound to
 * @priv: the executor's own
 */
struct gda_executor_ctx {
	struct gda_device *dev;
	void *priv;
};

/**
 * struct gda_executor_qp - a queue pair, as its executor knows it
 * @ctx: its context
 * @priv: the executor's own; if gda_executor_ops.qp_size is set, it points to that many bytes,
 *	which are zero at first
 * @number: 24 bits, which no other QP of the device has
 * @sq_depth: slots of the send queue
 * @recv_depth: entries of its CQ for immediates; 0: it has none
 * @window: set by qp_create(): how many work requests can be in flight, a power of two; 0: none, so
 *	that each is done when visit() returns, or the next visit() goes on with it
 * @flight: with a window, the work in flight (gda/flight.h); visit() and no other operation
 *	uses it
 */
struct gda_executor_qp {
	struct gda_executor_ctx *ctx;
	void *priv;
	u32 number;
	u32 sq_depth;
	u32 recv_depth;
	u32 window;
	struct gda_flight *flight;
};

/**
 * struct gda_executor_mr - a memory region, as its executor knows it
 * @ctx: its context
 * @priv: the executor's own
 * @key: names the MR in work requests; set by mr_map() or mr_reg()
 */
struct gda_executor_mr {
	struct gda_executor_ctx *ctx;
	void *priv;
	u32 key;
};

/**
 * struct gda_executor_mr_attr - what an MR covers
 * @backing: its memory, attached for as long as the MR is mapped; NULL for mr_reg()
 * @addr: start in the caller's address space; for mr_reg() only
 * @iova: address of the first byte in work requests
 * @length: bytes
 * @access: GDA_ACCESS_*
 */
struct gda_executor_mr_attr {
	const struct gda_mem_backing *backing;
	u64 addr;
	u64 iova;
	u64 length;
	u32 access;
};

/**
 * struct gda_executor_ops - operations of an executor
 * @owner: module of the executor; each bound context holds it
 * @release: optional; the last user of the device is gone, and the structure may be freed. Without
 *	this operation the structure must last as long as the module
 * @bind: optional; a context is about to be bound. Returns 0 or a negative errno, which
 *	GDA_IOC_BIND returns
 * @unbind: optional; undo bind(). The context has no objects any more
 * @client: contexts are opened by the module (gda/client.h), and not by %GDA_IOC_BIND. Numbers and
 *	keys are random. qp_address() and qp_connect() are not called
 * @engine: the engine of gda_core carries out queues that have no window, in each context's worker.
 *	gda_core chooses the keys of such a device and finds MRs by them, so the executor has
 *	none of the operations for MRs; it needs visit() only for queues with a window
 * @qp_size: bytes that are allocated, charged and freed with each QP for the executor, and to which
 *	its @priv points. 0: the executor sets @priv as it likes
 * @qp_create: optional; make the executor's part of a QP, which has its number. 0 or a
 *	negative errno
 * @qp_free: optional; undo qp_create(). visit() does not run and is not called any more
 * @qp_address: fill in the bytes, %GDA_ADDRESS_BYTES, by which a peer connects to the QP
 * @qp_connect: connect the QP to the peer whose address is given; it calls
 *	gda_executor_qp_ready() once work may be carried out, at once or later. 0 or a negative
 *	errno of GDA_IOC_QP_CONNECT
 * @qp_find: needed for QPs whose requests name their responder: return the QP of an address, %NULL,
 *	or an error of GDA_IOC_PEER_ADD. Called with gda_srcu held; must not sleep
 * @qp_peer: optional; return the number of the QP of this device to which the QP is connected, or
 *	which it has named and waits for; 0: there is none. Called with no lock held until
 *	qp_free(), while neither QP can be freed; takes no lock
 * @qp_datagram: needed for QPs of datagrams: return the QP that receives a datagram; NULL: nobody
 *	does. Called in a visit, with no lock held: no QP that gda_executor_qp_find() finds is
 *	freed before the visit ends
 * @qp_disconnect: the QP is about to be freed: when this returns nobody finds the QP or makes calls
 *	for it. Also called for a QP that was never connected
 * @mr_map: give the MR a key, by which work may use it from now on. 0 or a negative errno
 * @mr_unmap: the key is dead: when it returns no new work finds the MR. Work that visit() has
 *	begun is waited for afterwards
 * @mr_reg: replaces mr_map() and mr_unmap() for a device that pins and charges memory itself:
 *	register memory of the calling process. Called with no lock of the context held, so it
 *	may wait for user space. The key must differ from those of all other MRs of the device in
 *	some of its 32 bits. 0 or a negative errno of GDA_IOC_MR_REG_USER
 * @mr_dereg: undo mr_reg(). No visit() finds the MR any more; work that a visit has begun may still
 *	be in flight
 * @visit: optional; serve a queue for a while: carry out at most @wqes work requests and move at
 *	most @bytes, and return how many work requests were done. Called by the context's worker,
 *	one call for a QP at a time, when the QP is ready and work is posted. It must not sleep:
 *	memory that is revoked or freed waits until it returns. Without visit() and @engine the
 *	device reads its queues itself, and its contexts have no worker. For a queue with a
 *	window visit() is also called when nothing is posted, in any state of the queue, but not
 *	after the device was unregistered
 * @arm: needed for queues with a window: the worker is about to sleep. The executor has to call
 *	gda_executor_qp_kick() when an outcome or an immediate comes. Returns true if one has
 *	come already, and then visit() is called. Must not sleep
 * @softirq: visit() raises softirqs that should run right after it: they are disabled from before
 *	the read section of the visit until its end
 *
 * Operations that return void cannot fail, and are called also after the device was unregistered.
 * So are qp_create(), qp_connect() and mr_map(), by calls that were under way: then an executor
 * whose hardware is gone returns %-ENODEV.
 */
struct gda_executor_ops {
	struct module *owner;
	bool client;
	bool engine;
	size_t qp_size;
	void (*release)(struct gda_device *dev);
	int (*bind)(struct gda_executor_ctx *ctx);
	void (*unbind)(struct gda_executor_ctx *ctx);
	int (*qp_create)(struct gda_executor_qp *qp);
	void (*qp_free)(struct gda_executor_qp *qp);
	void (*qp_address)(struct gda_executor_qp *qp, u8 *address);
	int (*qp_connect)(struct gda_executor_qp *qp, const u8 *address);
	struct gda_executor_qp *(*qp_find)(struct gda_device *dev, const u8 *address);
	u32 (*qp_peer)(const struct gda_executor_qp *qp);
	struct gda_executor_qp *(*qp_datagram)(const struct gda_executor_qp *qp,
					       const struct gda_datagram *to);
	void (*qp_disconnect)(struct gda_executor_qp *qp);
	int (*mr_map)(struct gda_executor_mr *mr, const struct gda_executor_mr_attr *attr);
	void (*mr_unmap)(struct gda_executor_mr *mr);
	int (*mr_reg)(struct gda_executor_mr *mr, const struct gda_executor_mr_attr *attr);
	void (*mr_dereg)(struct gda_executor_mr *mr);
	u32 (*visit)(struct gda_executor_qp *qp, u32 wqes, u32 bytes);
	bool (*arm)(struct gda_executor_qp *qp);
	bool softirq;
};

/**
 * struct gda_device_limits - limits of a device; members as in struct gda_query
 * @max_qp: QPs per context
 * @max_cq: CQs per context
 * @max_mr: MRs per context
 * @max_counter: counters per context
 * @max_sq_depth: slots of a send queue
 * @max_cq_depth: entries of a CQ
 * @max_sge: local segments of one work request
 * @max_inline: bytes of payload inside a work request
 * @max_msg: bytes of one transfer
 * @max_mr_size: bytes of an MR
 */
struct gda_device_limits {
	u32 max_qp;
	u32 max_cq;
	u32 max_mr;
	u32 max_counter;
	u32 max_sq_depth;
	u32 max_cq_depth;
	u32 max_sge;
	u32 max_inline;
	u32 max_msg;
	u64 max_mr_size;
};

/**
 * enum gda_device_state - the state of a device
 * @GDA_DEVICE_UNREGISTERED: unknown to gda_core
 * @GDA_DEVICE_LIVE: listed; contexts can be bound
 * @GDA_DEVICE_REMOVED: for good; its contexts are disassociated
 */
enum gda_device_state {
	GDA_DEVICE_UNREGISTERED = 0,
	GDA_DEVICE_LIVE = 1,
	GDA_DEVICE_REMOVED = 2,
};

/**
 * struct gda_device - a device that executes work
 * @name: its name for GDA_IOC_BIND; shorter than %GDA_DEVICE_NAME_MAX. See gda_device_rename()
 * @ops: its executor
 * @features: GDA_FEATURE_*. Those of kinds of memory say what the executor can use; they are shown
 *	to users while a module provides that kind
 * @limits: at most gda_device_max
 *
 * The executor fills in these before gda_device_register() and leaves them alone afterwards;
 * all else is zero and gda_core's.
 */
struct gda_device {
	const char *name;
	const struct gda_executor_ops *ops;
	u64 features;
	struct gda_device_limits limits;

	/* private: all below */
	u32 id;				/* higher than the id of every device before it */
	refcount_t refs;		/* 1 for its driver, and 1 for each bound context */
	struct list_head node;		/* in the list of devices */
	/* number -> struct gda_qp; CQs reserve numbers here, but are not found here */
	struct xarray qps;
	struct xarray keys;		/* see key.c */
	u32 next_key;			/* cyclic, random start */
	u32 next_qpn;			/* cyclic, random start */
	spinlock_t lock;		/* guards the next */
	enum gda_device_state state;
	struct mutex export_lock;	/* guards the next */
	struct list_head exports;	/* not revoked yet, also those of contexts that are gone */
};

/* The limits of gda_core itself; no device has higher ones. */
extern const struct gda_device_limits gda_device_max;

/**
 * gda_device_register - offer a device
 * @dev: filled in; stays valid until release(), or without it until the module is gone
 *
 * Contexts may be bound to it before this returns. Process context, sleeps.
 *
 * Return: 0; -EEXIST there is a device of that name; -EBUSY contexts still hold @dev from its
 * registration before; -EINVAL bad name, an operation is missing, a limit is above
 * gda_device_max, or a feature needs a worker (events of CQs, queues in dma-bufs, waiting for
 * a receiver).
 */
int gda_device_register(struct gda_device *dev);

/**
 * gda_device_rename - give a registered device another name
 * @dev: the device
 * @name: the new name. Its memory, and that of the old name, must stay until @dev is released,
 *	because readers take no lock
 *
 * Contexts that are bound stay bound.
 *
 * Return: 0; -EINVAL the name is empty or too long; -EEXIST another device has it.
 */
int gda_device_rename(struct gda_device *dev, const char *name);

/**
 * gda_device_unregister - take a device away
 * @dev: a device that was registered; it may be freed by release() when this returns
 *
 * Its QPs fail, its contexts can only be closed, importers of its exports are told. When it
 * returns, visit() does not run and is not called again, and no context is bound any more. Waits
 * for one visit of each worker and for the importers, but for no context's owner.
 */
void gda_device_unregister(struct gda_device *dev);

/**
 * gda_executor_qp_wait - a QP has named its peer, which has not named it yet
 * @qp: a QP whose qp_connect() is under way
 *
 * Any context.
 */
void gda_executor_qp_wait(struct gda_executor_qp *qp);

/**
 * gda_executor_qp_ready - work of a QP may be carried out from now on
 * @qp: a QP whose qp_connect() was called; if it has failed meanwhile, it stays failed
 *
 * Any context.
 */
void gda_executor_qp_ready(struct gda_executor_qp *qp);

/**
 * gda_executor_qp_fail - fail a QP
 * @qp: a QP that is not freed yet; nothing happens if it has failed, or is about to
 * @why: the status that the queue fails with
 *
 * Work in flight is waited for. Then the oldest work request without an outcome completes with this
 * error, and all others are flushed. If the device has a worker, gda_core does this there. Any
 * context.
 */
void gda_executor_qp_fail(struct gda_executor_qp *qp, struct gda_status why);

/**
 * gda_executor_qp_find - find a QP by its number
 * @dev: its device
 * @number: any
 *
 * The caller holds a lock that qp_disconnect() takes, so the QP is not freed while the lock is
 * held; or the caller is qp_datagram(), and the QP is not freed before the visit ends.
 *
 * Return: the QP, or NULL.
 */
struct gda_executor_qp *gda_executor_qp_find(struct gda_device *dev, u32 number);

/**
 * gda_executor_qp_respond - set the responder of a QP
 * @qp: a QP that the engine carries out
 * @peer: the QP that responds from now on, set before @qp is ready; NULL: none does, and work that
 *	needs a responder fails. Before a peer is freed, its qp_disconnect() sets NULL here
 *
 * The caller has the lock that orders all such calls.
 */
void gda_executor_qp_respond(struct gda_executor_qp *qp, struct gda_executor_qp *peer);

/**
 * gda_executor_qp_grant - set what peers may do through a QP
 * @qp: a QP that the engine carries out; it grants all until this is called
 * @access: GDA_ACCESS_REMOTE_*; MRs must grant it as well
 *
 * Any context. Holds for work that is begun afterwards.
 */
void gda_executor_qp_grant(struct gda_executor_qp *qp, u32 access);

/**
 * gda_executor_qp_failed - has a QP failed, or is it about to?
 * @qp: a QP that is not freed yet
 *
 * Any context.
 *
 * Return: whether it has, or will.
 */
bool gda_executor_qp_failed(const struct gda_executor_qp *qp);

/**
 * gda_executor_qp_rnr - set what a QP does if its peer has no room for what it sends
 * @qp: a QP that the engine carries out
 * @retry: as gda_qp_create.rnr_retry
 * @timer: as gda_qp_create.min_rnr_timer, for what is sent to this QP
 *
 * Any context, in any state of the QP.
 */
void gda_executor_qp_rnr(struct gda_executor_qp *qp, u32 retry, u32 timer);

/**
 * gda_executor_qp_kick - have visit() called soon
 * @qp: a QP that is not freed yet
 *
 * Any context.
 */
void gda_executor_qp_kick(struct gda_executor_qp *qp);

/**
 * gda_executor_hold - count something that a peer has sent and that is kept for a context
 * @ctx: a bound context
 * @most: the limit for all contexts of the user who bound @ctx, and for those of each other account
 *	to which @ctx is charged
 *
 * Any context. gda_executor_release() undoes it, before the context is unbound.
 *
 * Return: whether it may be kept.
 */
bool gda_executor_hold(struct gda_executor_ctx *ctx, unsigned int most);

/**
 * gda_executor_release - what was counted is not kept any more
 * @ctx: that of gda_executor_hold()
 *
 * Any context.
 */
void gda_executor_release(struct gda_executor_ctx *ctx);

/**
 * gda_executor_local_mr - find the MR of a local segment, and check its use
 * @qp: whose visit() calls this
 * @sge: the segment
 * @access: GDA_ACCESS_* needed, 0 to read it
 * @st: out: why not, if it may not be used
 *
 * For devices with mr_reg(). As in visit(), revocation waits: the MR stays until visit() returns.
 *
 * Return: the MR, or NULL.
 */
struct gda_executor_mr *gda_executor_local_mr(struct gda_executor_qp *qp,
					      const struct gda_sge *sge, u32 access,
					      struct gda_status *st);

#endif /* GDA_EXECUTOR_H */
