/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Clients: modules that give processes queues of gda_core by an interface of their own, as
 * kmod/gda_rdma does by verbs. A client has a device of its own, with gda_executor_ops.client set,
 * and opens a context there for a process. Objects of the context are charged to that process.
 * Engine and worker serve them, and netlink shows them, like those of /dev/gda.
 *
 * Such a context differs in three ways. Queues, CQs and records lie in memory of the process, which
 * is pinned. One page of doorbells serves all QPs of the context; it says only that something was
 * posted, and the records say what. Numbers and keys are random, since no exchange of addresses
 * shows that both ends agree to a connection.
 *
 * All calls may sleep. Calls that open, map, create or register are made in the process; any
 * process may close, destroy, stop and reset. A handle is valid in one context.
 */
#ifndef GDA_CLIENT_H
#define GDA_CLIENT_H

#include <linux/types.h>

#include <gda/executor.h>

struct gda_ctx;
struct vm_area_struct;

/**
 * gda_client_open - open a context for the calling process
 * @dev: the client's device, which is registered
 *
 * The context holds the device, and its module, until the last mapping of it is gone.
 *
 * Return: the context, for gda_client_close(); or an error of GDA_IOC_BIND.
 */
struct gda_ctx *gda_client_open(struct gda_device *dev);

/**
 * gda_client_close - end a context
 * @ctx: the context, of which nothing is used any more; its objects are destroyed
 *
 * Stores to its doorbells go nowhere from now on. Any process may call it; it waits for one visit.
 */
void gda_client_close(struct gda_ctx *ctx);

/**
 * gda_client_count - count something of a client's own as an object
 * @ctx: the context; the object counts towards the limit of the user who opened it
 *
 * Return: 0; -ENOSPC or another error of a creation, and then the client must not create it.
 */
int gda_client_count(struct gda_ctx *ctx);

/**
 * gda_client_uncount - a client's own object is gone
 * @ctx: that of gda_client_count()
 */
void gda_client_uncount(struct gda_ctx *ctx);

/**
 * gda_client_mmap - map the page of doorbells
 * @ctx: the context
 * @vma: an empty one, of one page; it becomes a mapping of the context
 *
 * Return: 0; -EINVAL it is not one shared page; -EPERM it is executable.
 */
int gda_client_mmap(struct gda_ctx *ctx, struct vm_area_struct *vma);

/**
 * enum gda_client_event - what happens to an object beside its completions
 * @GDA_CLIENT_FATAL: a QP has failed for a reason that no completion tells: its doorbell record,
 *	its queue, its CQ, or a peer that went away in the midst of a receive. Or a CQ had no
 *	room, or the record of an SRQ counts more entries than the SRQ has
 * @GDA_CLIENT_BAD_REQUEST: a QP has failed because a receive was too short for what its peer sent
 * @GDA_CLIENT_BAD_ACCESS: a QP has failed because the memory of a receive may not be written
 * @GDA_CLIENT_LAST_RECV: a QP with an SRQ has failed, and takes nothing more from it
 * @GDA_CLIENT_REACHED: the peer of a QP has carried out its first request there
 * @GDA_CLIENT_LIMIT: an SRQ has fewer entries than the limit that gda_client_srq_set_limit() has
 *	set
 *
 * Each event comes once for a QP until the QP is reset, and once for a CQ or an SRQ;
 * @GDA_CLIENT_LIMIT comes once for each call that sets a limit. If the client itself fails a QP,
 * only @GDA_CLIENT_LAST_RECV comes.
 */
enum gda_client_event {
	GDA_CLIENT_FATAL,
	GDA_CLIENT_BAD_REQUEST,
	GDA_CLIENT_BAD_ACCESS,
	GDA_CLIENT_LAST_RECV,
	GDA_CLIENT_REACHED,
	GDA_CLIENT_LIMIT,
};

/*
 * Called as gda_client_cq_attr.handler: under a spinlock, by the worker or in a call; must not
 * sleep.
 */
typedef void gda_client_event_fn(void *priv, enum gda_client_event event);

/**
 * struct gda_client_cq_attr - a CQ to be created
 * @dialect: GDA_DIALECT_*
 * @depth: entries, a power of two
 * @wide: an entry is the second half of a slot that is twice as long
 * @collapsed: all completions are written to the first entry, and the CQ serves only the send queue
 *	of one QP
 * @overrun: the CQ never overflows: its consumer index is not looked at
 * @entries: address of them in the calling process
 * @record: address of its record: 4 bytes of consumer index, and 4 that arm the CQ
 * @entries_umem: handle of a umem in which @entries is an offset; 0: none
 * @record_umem: likewise for @record
 * @handler: optional; called once for each time that the record arms the CQ, when there is an entry
 *	that the consumer has not read. The context's worker or a call of this header calls it,
 *	under a spinlock; it must not sleep
 * @event: optional; called when something happens to the CQ
 * @priv: the argument of both
 */
struct gda_client_cq_attr {
	u32 dialect;
	u32 depth;
	bool wide;
	bool collapsed;
	bool overrun;
	u64 entries;
	u64 record;
	u32 entries_umem;
	u32 record_umem;
	void (*handler)(void *priv);
	gda_client_event_fn *event;
	void *priv;
};

/**
 * struct gda_client_srq_attr - a shared receive queue to be created
 * @dialect: GDA_DIALECT_*
 * @pd: its protection domain
 * @depth: entries, a power of two
 * @shift: log2 of an entry's bytes, 4 to 9
 * @entries: address of them in the calling process; the first bytes of each say which is next
 * @record: address of its record, whose first 4 bytes count what was posted
 * @event: optional; called when something happens to the SRQ
 * @priv: its argument
 */
struct gda_client_srq_attr {
	u32 dialect;
	void *pd;
	u32 depth;
	u32 shift;
	u64 entries;
	u64 record;
	gda_client_event_fn *event;
	void *priv;
};

/**
 * struct gda_client_qp_attr - a QP to be created
 * @dialect: GDA_DIALECT_*
 * @service: enum gda_service
 * @pd: its protection domain, which its MRs must have, too
 * @cq: handle of the CQ of its send queue
 * @recv_cq: handle of the CQ of its receive queue
 * @sq_depth: slots, a power of two; 0: nothing is ever posted to it
 * @srq: handle of an SRQ in place of a receive queue; 0: none
 * @sq: address of the slots in the calling process
 * @rq_depth: entries of the receive queue, a power of two; 0: it has none of its own. If @srq is 0
 *	as well, neither a send nor an immediate can reach it, and @recv_cq is not used
 * @rq_shift: log2 of an entry's bytes, 4 to 9
 * @rq: address of the entries in the calling process
 * @record: address of its record: 4 bytes of receive index, and 4 of send index
 * @sq_umem: handle of a umem in which @sq is an offset; 0: none
 * @rq_umem: likewise for @rq; the umem is not a dma-buf
 * @record_umem: likewise for @record
 * @user_index: 24 bits, for completions
 * @port: for a QP of datagrams: the port that they come from; stays as long as the device
 * @event: optional; called when something happens to the QP
 * @priv: its argument
 */
struct gda_client_qp_attr {
	u32 dialect;
	u32 service;
	void *pd;
	u32 cq;
	u32 recv_cq;
	u32 sq_depth;
	u32 rq_depth;
	u32 rq_shift;
	u32 srq;
	u64 sq;
	u64 rq;
	u64 record;
	u32 sq_umem;
	u32 rq_umem;
	u32 record_umem;
	u32 user_index;
	const struct gda_port *port;
	gda_client_event_fn *event;
	void *priv;
};

/**
 * struct gda_client_mr_attr - memory of the calling process to be registered
 * @pd: its protection domain
 * @addr: start
 * @iova: address of the first byte in work requests
 * @length: bytes
 * @access: GDA_ACCESS_*
 */
struct gda_client_mr_attr {
	void *pd;
	u64 addr;
	u64 iova;
	u64 length;
	u32 access;
};

#define GDA_CLIENT_UMEM_MAX	(256U << 20)
/* ... in a dma-buf, because a revocation goes through all parts of it in one go */
#define GDA_CLIENT_UMEM_DMABUF_MAX	(8U << 20)
#define GDA_CLIENT_UMEM_DMABUF_PARTS	64

/**
 * struct gda_client_umem_attr - memory to be registered, in which queues will lie
 * @addr: start in the calling process, or offset in the dma-buf
 * @length: bytes, 1 to %GDA_CLIENT_UMEM_MAX; in a dma-buf, at most %GDA_CLIENT_UMEM_DMABUF_MAX
 * @dmabuf: the memory is that of @fd, whose exporter may take it away: then the queues in it fail
 * @fd: a dma-buf
 */
struct gda_client_umem_attr {
	u64 addr;
	u64 length;
	bool dmabuf;
	int fd;
};

/**
 * gda_client_umem_reg - register memory for queues
 * @ctx: the context
 * @attr: which memory
 *
 * The memory is pinned and charged once for all queues that will lie in it.
 *
 * Return: its handle, above 0; or an error of GDA_IOC_QP_CREATE.
 */
int gda_client_umem_reg(struct gda_ctx *ctx, const struct gda_client_umem_attr *attr);

/**
 * gda_client_umem_dereg - deregister memory for queues
 * @ctx: the context
 * @handle: of the umem
 *
 * Return: 0; -EBUSY a queue lies in it.
 */
int gda_client_umem_dereg(struct gda_ctx *ctx, u32 handle);

/**
 * gda_client_cq_create - create a CQ
 * @ctx: the context
 * @attr: what it is to be
 * @number: out: its number, 24 bits
 *
 * Return: its handle, above 0; or an error of GDA_IOC_CQ_CREATE.
 */
int gda_client_cq_create(struct gda_ctx *ctx, const struct gda_client_cq_attr *attr, u32 *number);

/**
 * gda_client_cq_find - find a CQ by its number
 * @ctx: its context
 * @number: any
 *
 * Return: its handle, above 0; -ENOENT the context has no such CQ, or gda_client_name() was not
 * called for it.
 */
int gda_client_cq_find(struct gda_ctx *ctx, u32 number);

/**
 * gda_client_srq_find - find a shared receive queue by its number, which is its handle
 * @ctx: its context
 * @number: any
 *
 * Return: its handle, above 0; -ENOENT the context has none such, or gda_client_name() was not
 * called for it.
 */
int gda_client_srq_find(struct gda_ctx *ctx, u32 number);

/**
 * gda_client_name - let an object be found by its number
 * @ctx: its context
 * @handle: of a CQ, a shared receive queue or a umem (the number of a umem is its handle)
 *
 * Called when the creation cannot fail any more: once another object uses this one, it cannot be
 * destroyed.
 */
void gda_client_name(struct gda_ctx *ctx, u32 handle);

/**
 * gda_client_cq_resize - move a CQ to other memory
 * @ctx: the context
 * @handle: of the CQ
 * @attr: its new depth and the address of its new entries, none of which is valid yet; @wide must
 *	be as before. Other members are ignored
 *
 * Entries that the consumer has not read stay where they are, and one more entry after them says
 * that the CQ was moved. The consumer copies them. When this returns the old memory is not used.
 *
 * Return: 0; -EINVAL also if the entries that were not read do not fit, or if the CQ is full or has
 * failed; -EOPNOTSUPP it cannot be moved; -ENOENT; or an error of gda_client_cq_create().
 */
int gda_client_cq_resize(struct gda_ctx *ctx, u32 handle, const struct gda_client_cq_attr *attr);

/**
 * gda_client_srq_create - create a shared receive queue
 * @ctx: the context
 * @attr: what it is to be
 *
 * Return: its handle, above 0; or an error of GDA_IOC_QP_CREATE.
 */
int gda_client_srq_create(struct gda_ctx *ctx, const struct gda_client_srq_attr *attr);

/**
 * gda_client_srq_set_limit - have an SRQ cause an event when it has few entries
 * @ctx: the context
 * @handle: of the SRQ
 * @limit: %GDA_CLIENT_LIMIT comes once when it has fewer entries than this, maybe at once. 0: no
 *	event
 *
 * Return: 0; -EINVAL so many entries can never be in it.
 */
int gda_client_srq_set_limit(struct gda_ctx *ctx, u32 handle, u32 limit);

/**
 * gda_client_srq_limit - the limit of an SRQ below which it causes an event
 * @ctx: the context
 * @handle: of the SRQ
 *
 * Return: the limit that was set; 0: none is set, or the event has come.
 */
u32 gda_client_srq_limit(struct gda_ctx *ctx, u32 handle);

/**
 * gda_client_qp_create - create a QP
 * @ctx: the context
 * @attr: what it is to be
 * @exec: out: the QP as its executor knows it, with its number; valid until it is destroyed
 *
 * The client calls gda_executor_qp_ready() when work may be carried out.
 *
 * Return: its handle, above 0; -EOPNOTSUPP the dialect has no such queues; -ENOENT there is no such
 * SRQ or umem; or an error of GDA_IOC_QP_CREATE.
 */
int gda_client_qp_create(struct gda_ctx *ctx, const struct gda_client_qp_attr *attr,
			 struct gda_executor_qp **exec);

/**
 * gda_client_qp_stop - carry out no more work of a QP until gda_client_qp_reset()
 * @ctx: the context
 * @handle: of the QP
 *
 * A peer that has begun to receive from this QP fails. Waits for one visit.
 */
void gda_client_qp_stop(struct gda_ctx *ctx, u32 handle);

/**
 * gda_client_qp_reset - make a stopped QP like a new one
 * @ctx: the context
 * @handle: of the QP, which was stopped; no QP responds to it any more, and it responds to none
 *
 * What was posted is forgotten. Waits for one visit.
 */
void gda_client_qp_reset(struct gda_ctx *ctx, u32 handle);

/**
 * gda_client_mr_reg - register memory of the calling process
 * @ctx: the context
 * @attr: which memory
 * @key: out: its key
 *
 * Return: its handle, above 0; or an error of GDA_IOC_MR_REG_USER.
 */
int gda_client_mr_reg(struct gda_ctx *ctx, const struct gda_client_mr_attr *attr, u32 *key);

/**
 * gda_client_destroy - destroy an object
 * @ctx: its context
 * @handle: the object, which no other object uses
 *
 * When it returns, nothing of its memory is used and its handler does not run. Any process may
 * call it; it waits for one visit.
 */
void gda_client_destroy(struct gda_ctx *ctx, u32 handle);

/**
 * gda_client_try_destroy - destroy an object that others may use
 * @ctx: its context
 * @handle: the object
 *
 * As gda_client_destroy(), for an object to which programs may refer by its number
 * (gda_client_name()).
 *
 * Return: 0; -EBUSY another object uses it.
 */
int gda_client_try_destroy(struct gda_ctx *ctx, u32 handle);

#endif /* GDA_CLIENT_H */
