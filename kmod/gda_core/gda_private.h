/* SPDX-License-Identifier: GPL-2.0 */
/*
 * gda_core's own structures.
 *
 * Lock order, outermost first:
 *
 *   ctx->lock          mutex     objects of a context; one ioctl at a time
 *   dev->export_lock   mutex     which exports of a device there are
 *   dma_resv           ww_mutex  of other drivers: attaching (under no lock of ours),
 *                                detaching, invalidate_mappings(); of our exports
 *   mmap_lock          (mm)      or that of a VMA, held by a fault; pinning takes it under no
 *                                lock of ours
 *   ctx->map_lock      mutex     doorbell mutex: mmap(), faults, revocation, idling
 *   i_mmap_rwsem       (mm)      taken by unmap_mapping_range()
 *
 *   gda_devices_lock   spinlock  which devices there are
 *   dev->lock          spinlock  whether a device is there
 *   an executor's own  spinlock  who is connected to whom
 *   rq->lock           spinlock  what was taken of a receive queue
 *   whole->lock        spinlock  which queues lie in a umem
 *   cq->lock           spinlock  entries of a CQ
 *   worker.event_lock  spinlock  events that a context's worker is to signal
 *   payer.lock         spinlock  which process pays for a context's worker
 *   gda_ah_lock        spinlock  which address handles are twins
 *   gda_dead_lock      spinlock  contexts that are kept after their end
 *
 * Nothing under ctx->lock or map_lock takes mmap_lock, and a fault never takes ctx->lock.
 * An invalidate_mappings() takes no mutex of ours.
 *
 * Executing work (in the worker of any context, or in a fault, under map_lock) holds gda_srcu while
 * it looks at a QP, CQ or MR, for at most GDA_VISIT_BYTES of copying. Whoever executes has the
 * right to visit (gda_visit_trylock()), for which nobody waits. Destroying is: unlink, synchronize,
 * free.
 */
#ifndef GDA_PRIVATE_H
#define GDA_PRIVATE_H

#include <linux/bitmap.h>
#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/preempt.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/srcu.h>
#include <linux/xarray.h>

#include <gda/client.h>
#include <gda/compat.h>
#include <gda/executor.h>
#include <gda/ioctl.h>
#include <gda/mem.h>

#include "account.h"
#include "address.h"
#include "control/connect.h"
#include "control/create.h"
#include "control/event.h"
#include "control/mr.h"
#include "control/qp_refs.h"
#include "control/query.h"
#include "control/record.h"
#include "control/request.h"
#include "control/sweep.h"
#include "engine/access.h"
#include "engine/engine.h"
#include "engine/flight.h"
#include "opener.h"
#include "payer.h"
#include "policy.h"

#define GDA_MAX_QP		4096
#define GDA_MAX_CQ		4096
#define GDA_MAX_MR		65536
#define GDA_MAX_COUNTER		4096
#define GDA_MAX_CQ_DEPTH	65536
#define GDA_MAX_MR_SIZE		(1ULL << 38)
#define GDA_MAX_MSG		0x7fffffffU

#define GDA_CELL_BYTES		64
#define GDA_RECORD_BYTES	8U
#define GDA_CELLS		(PAGE_SIZE / GDA_CELL_BYTES)
#define GDA_CELL_PAGES		(GDA_MAX_QP / GDA_CELLS)
#define GDA_REC_PAGES		((GDA_MAX_QP + GDA_MAX_CQ) / GDA_CELLS)
#define GDA_COUNTER_PAGES	(GDA_MAX_COUNTER / GDA_CELLS)

/* One visit of a queue: the length of an SRCU read section. */
#define GDA_VISIT_WQES		64U
#define GDA_VISIT_BYTES		(64U << 10)

struct cred;
struct dma_buf;
struct gda_ctx;
struct gda_event;
struct gda_qp;
struct pid;

extern struct srcu_struct gda_srcu;

/*
 * SRCU read side. Preemption is disabled so that a reader throttled by its CPU limit cannot
 * stall synchronize_srcu(); not on PREEMPT_RT, where the spinlocks of a visit may sleep.
 */
static inline int gda_read_lock(void)
{
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		preempt_disable();
	return srcu_read_lock(&gda_srcu);
}

static inline void gda_read_unlock(int idx)
{
	srcu_read_unlock(&gda_srcu, idx);
	if (!IS_ENABLED(CONFIG_PREEMPT_RT))
		preempt_enable();
}

/*
 * The right to visit queues of a context, and to look whether they have work: the worker has it for
 * the scan of a page, a fault for one visit. Nobody waits for it: a thread that does not get it
 * leaves the visit to the holder, or tries again later.
 */
static inline bool gda_visit_trylock(u32 *visiting)
{
	/* what only visits write is seen as the last visit left it */
	return !xchg_acquire(visiting, 1);
}

static inline void gda_visit_unlock(u32 *visiting)
{
	/* pairs with xchg_acquire() */
	smp_store_release(visiting, 0);
}

#include "region.h"

/*
 * A page of 64-byte cells, shared by the QPs of one context: doorbells, or records.
 * @used and @qps are written under ctx->lock, @npolled and the next three under
 * ctx->map_lock; the worker reads all of them under SRCU.
 */
struct gda_db_page {
	struct gda_region *region;
	unsigned int page;		/* index in the context's table */
	DECLARE_BITMAP(used, GDA_CELLS);
	unsigned int npolled;		/* how many of its queues are polled */
	bool paced;			/* never silent: if idle, it is scanned periodically */
	bool mapped;			/* for posters that otherwise ring by a fault */
	u64 silent_since;		/* ns, CLOCK_MONOTONIC */

	/* the worker's own */
	struct gda_sweep sweep;		/* over these and @used */
	DECLARE_BITMAP(busy, GDA_CELLS);
	DECLARE_BITMAP(fresh, GDA_CELLS);

	struct gda_qp *qps[GDA_CELLS];
};

/* One cell. */
struct gda_cell {
	struct gda_db_page *db_page;
	unsigned int slot;
	bool last;			/* set by kill: no other cell of its page is used */
};

/*
 * The thread that executes a context's queues. Only it writes the members from @due on (faults
 * write @due, too); netlink/netlink.c reads all of these but @due.
 */
struct gda_worker {
	struct task_struct *task;	/* with a reference; NULL before bind */
	unsigned long flags;
	bool stopped;			/* under ctx->lock */
	struct cpumask cpus;		/* affinity of the thread that bound, at that time */
	u64 due;			/* when to scan all pages, or 0; ns. Faults write it, too */
	bool alone;			/* no other task wanted its processor at the last look */
	unsigned long switched;		/* how often it lost its processor, as far as known */
	u64 woken;			/* when it last woke up; ns, CLOCK_MONOTONIC */
	u64 passes;			/* scans of its queues */
	u32 state;			/* enum gda_worker_state */
	u64 sleeps;			/* how often it went to sleep... */
	u64 wakeups;			/* ... and woke up from that */
	u64 last_pass;			/* begin of the last pass; ns, CLOCK_MONOTONIC */

	spinlock_t event_lock;		/* guards the next two */
	struct list_head events;	/* events that were noted, to be signalled; see event.c */
	unsigned int nevents;		/* how many events; also read without the lock */
};

enum {
	GDA_WORKER_KICK,		/* scan all pages once */
	GDA_WORKER_MOVED,		/* payer.place was written */
};

/* A context: one open file, one protection domain. */
struct gda_ctx {
	struct mutex lock;		/* one ioctl at a time; see above */
	struct gda_device *dev;		/* set once by bind, held */
	struct gda_executor_ctx exec;
	u32 id;				/* in gda_contexts; 0 before bind */
	bool dead;			/* shut down, or its device is gone; see ctx.c */
	bool closed;			/* shut down: readers look up no objects any more */
	struct gda_opener opener;
	atomic_t generation;		/* changes whenever an object comes or goes */
	unsigned int nqp, ncq, nmr, ncounter;	/* under @lock */
	struct gda_account account;	/* what the context is charged to, once bound */
	struct xarray objects;		/* handle -> struct gda_object */
	struct xarray cqs;		/* number -> struct gda_cq; readers: gda_srcu */
	struct gda_addresses addresses;
	atomic_t wait_turn;		/* changes when waiting QPs have to ask again, see wait.c */
	struct inode *inode;		/* the mapping all VMAs hang on */

	struct mutex map_lock;		/* faults, revocation, doorbells; see above */
	struct xarray regions;		/* cookie / GDA_COOKIE_STRIDE -> struct gda_region */
	u32 next_region;
	struct gda_db_page *db[GDA_CELL_PAGES];	/* written under both locks, read under SRCU */
	DECLARE_BITMAP(active, GDA_CELL_PAGES);	/* of @db, scanned; under @map_lock */
	struct gda_policy policy;
	u32 visiting;			/* see gda_visit_trylock() */
	struct gda_region *doorbells;	/* of a client: stands for all of @db; set once, or NULL */
	struct file *file;		/* likewise: its VMAs and the client hold it */
	unsigned int narming;		/* CQs in @cqs that their records arm; under @lock */
	struct gda_db_page *rec[GDA_REC_PAGES];	/* under @lock */
	struct gda_db_page *cnt[GDA_COUNTER_PAGES];	/* under @lock */
	struct list_head umems;		/* of struct gda_umem; under @lock */
	struct gda_record_rings record;	/* written by anybody under SRCU, see record.c */
	struct gda_region *work_region;	/* of record.ring; under @lock */
	unsigned int record_sets;	/* calls that switched recording; guarded by @lock */
	struct gda_worker worker;
	struct gda_payer payer;
};

/* object.c - handles */

enum gda_object_type {
	GDA_OBJECT_QP,
	GDA_OBJECT_CQ,
	GDA_OBJECT_COUNTER,
	GDA_OBJECT_MR,
	GDA_OBJECT_PEER,
	GDA_OBJECT_SRQ,			/* objects of a client: this one and the next */
	GDA_OBJECT_UMEM,
	GDA_OBJECT_TYPES,
};

struct gda_object {
	struct gda_ctx *ctx;
	u32 handle;
	u8 type;
	bool published;
	bool named;			/* gda_client_name() was called; under ctx->lock */
	u32 users;			/* other objects that need it; under ctx->lock */
};

/*
 * Creation completes an object before lookups find it, so that it can still fail when copying
 * the answer to user space fails; publish cannot fail. Destruction is kill (unlink, unmap;
 * cannot fail), synchronize, free; it also undoes what was never published.
 */
struct gda_object_ops {
	void (*publish)(struct gda_object *obj);
	void (*kill)(struct gda_object *obj);
	void (*free)(struct gda_object *obj);
	/* optional: the region of type GDA_REGION_* and its offset there; or NULL */
	struct gda_region *(*region)(struct gda_object *obj, u32 type, u32 *offset);
};

extern const struct gda_object_ops gda_qp_ops, gda_cq_ops, gda_counter_ops,
				   gda_mr_ops, gda_peer_ops, gda_srq_ops, gda_umem_ops;

int gda_object_reserve(struct gda_ctx *ctx, struct gda_object *obj, u8 type);
void gda_object_abort(struct gda_object *obj);
void gda_object_complete(struct gda_object *obj);
void gda_object_publish(struct gda_object *obj);
void gda_object_discard(struct gda_object *obj);
struct gda_object *gda_object_find(struct gda_ctx *ctx, u32 handle, u8 type);
struct gda_region *gda_object_region(struct gda_ctx *ctx, u32 handle, u32 type, u32 *offset);
int gda_object_destroy(struct gda_ctx *ctx, u32 handle);
void gda_object_destroy_all(struct gda_ctx *ctx);

/* A mark in ctx->objects of all objects but MRs and peers, which are many: for a short search. */
#define GDA_OBJECT_FEW	XA_MARK_1

/* ctx.c */
extern struct xarray gda_contexts;	/* id -> struct gda_ctx that is bound; readers: gda_srcu */
int gda_fs_mount(void);
void gda_fs_unmount(void);
struct gda_ctx *gda_ctx_create(struct file *file);
int gda_ctx_bind(struct gda_ctx *ctx, struct gda_device *dev);
int gda_ctx_lock(struct gda_ctx *ctx);
void gda_ctx_unlock(struct gda_ctx *ctx);
void gda_ctx_shutdown(struct gda_ctx *ctx);
void gda_ctx_destroy(struct gda_ctx *ctx, struct file *file);

/* mmap.c */
int gda_mmap(struct file *file, struct vm_area_struct *vma);
int gda_mmap_region(struct gda_region *region, struct vm_area_struct *vma);

/* export.c */
struct dma_buf *gda_region_export(struct gda_ctx *ctx, struct gda_region_export *cmd);
void gda_exports_revoke(struct gda_device *dev);

/* db_page.c */
enum gda_cell_use {
	GDA_CELL_DOORBELL,	/* a fault wakes the worker */
	GDA_CELL_RECORD,
	GDA_CELL_COUNTER,	/* user space only reads it */
};

int gda_cell_alloc(struct gda_ctx *ctx, struct gda_db_page **table, unsigned int n,
		   enum gda_cell_use use, struct gda_cell *cell);
void gda_cell_kill(struct gda_db_page **table, struct gda_cell *cell);
void gda_cell_free(struct gda_cell *cell);
struct gda_region *gda_cell_region(const struct gda_cell *cell, u32 *offset);
static inline u32 gda_cell_offset(const struct gda_cell *cell)
{
	return cell->slot * GDA_CELL_BYTES;
}

static inline void *gda_cell_addr(const struct gda_cell *cell)
{
	return cell->db_page->region->kaddr + gda_cell_offset(cell);
}

#include "doorbell.h"
#include "umem.h"
#include "wait.h"

#include "arm.h"
#include "async.h"

/* cq.c */
struct gda_cq {
	struct gda_object obj;
	struct gda_engine_cq engine_cq;		/* under @lock once published */
	spinlock_t lock;
	u32 cqn;
	struct gda_region *region;	/* NULL: the entries are in a umem */
	struct gda_cell rec;		/* ring only */
	struct gda_umem region_umem;
	struct gda_umem *resized;	/* the umem after a resize, or NULL; see resize.c */
	struct gda_umem rec_umem;
	bool lost;			/* its memory was revoked; under @lock */
	bool overflowed;		/* that was noted; under @lock */
	struct gda_event *event;	/* or NULL; under @lock */
	u32 armed;			/* GDA_CQ_ARM_*; under @lock */
	struct gda_arm arm;		/* in a client's CQ, likewise; see arm.c */
	struct gda_async async;		/* likewise, see async.c */
	bool awaited;			/* some QP waits for @awaited_index, none for less */
	u32 awaited_index;		/* ... both under @lock, see wait.c */
};

#include "rq.h"

static inline bool gda_cq_lost(struct gda_engine_cq *engine_cq)
{
	return READ_ONCE(container_of(engine_cq, struct gda_cq, engine_cq)->lost);
}

struct gda_object *gda_cq_create(struct gda_ctx *ctx, struct gda_cq_create *cmd,
				 const struct gda_umem_addresses *user, struct gda_event *event);

void gda_resize_free(struct gda_umem *umem);	/* resize.c */

/* client.c */
int gda_client_publish(struct gda_ctx *ctx, struct gda_object *obj, int ret);

/* counter.c */
struct gda_counter {
	struct gda_object obj;
	struct gda_cell cell;
	struct gda_engine_counter engine_counter;
};

struct gda_object *gda_counter_create(struct gda_ctx *ctx,
				      struct gda_counter_create *cmd);

/* qp.c */
enum gda_qp_revoked {
	GDA_QP_REVOKED_SQ,
	GDA_QP_REVOKED_REC,
	GDA_QP_REVOKED_CQ,
	GDA_QP_DELAYED,			/* no memory is revoked, but no visit before @rnr_until */
	GDA_QP_WAITS,			/* likewise, but no visit before @wait is over */
};

/* Progress of a queue, for those who look at it (netlink/). Its worker writes it, once a visit. */
struct gda_qp_stats {
	u64 doorbells;			/* visits that found a new doorbell */
	u64 visits;			/* visits that found something to do */
	u64 last_progress;		/* the last of these; ns, CLOCK_MONOTONIC, or 0 */
	bool failed;			/* its failure was noted */
};

struct gda_qp {
	struct gda_object obj;
	struct gda_engine_qp engine_qp;		/* written by the worker, except state and fail */
	struct gda_qp_stats stats;
	struct gda_control_parts parts;
	struct gda_region *sq;		/* NULL: the slots are in a umem */
	struct gda_cell rec;
	struct gda_cell db;
	struct gda_umem sq_umem;
	struct gda_umem rec_umem;
	struct gda_rq *rq;		/* the receive queue of a client's QP, or NULL */
	struct gda_srq *srq;		/* likewise */
	struct gda_async async;		/* likewise, see async.c */
	bool greets;			/* its peer was not reached yet, see gda_async_greet() */
	__be32 rec_blank[2];		/* read in place of a record that was revoked */
	unsigned long lost;		/* bits of enum gda_qp_revoked, for the next visit */
	u64 rnr_until;			/* ns, CLOCK_MONOTONIC; the worker's */
	struct gda_wait wait;
	u64 visit_ns;			/* while work is recorded: when a visit began; likewise */
	bool polled;
	struct gda_executor_qp exec;
	/* the executor's, see gda_executor_visit(); NULL: the engine carries out the queue */
	u32 (*visit)(struct gda_executor_qp *exec, u32 wqes, u32 bytes);
};

struct gda_object *gda_qp_create(struct gda_ctx *ctx, struct gda_qp_create *cmd,
				 const struct gda_umem_addresses *user);
int gda_number_reserve(struct gda_device *dev, u32 *number);
int gda_qp_address(struct gda_ctx *ctx, struct gda_qp_address *cmd);
int gda_qp_connect(struct gda_ctx *ctx, struct gda_qp_connect *cmd);
int gda_qp_query(struct gda_ctx *ctx, struct gda_qp_query *cmd);
void gda_qp_fail(struct gda_qp *qp, u8 cause);
void gda_qp_stop(struct gda_qp *qp);
void gda_qp_reset(struct gda_qp *qp);
void gda_qp_detach_cq(struct gda_ctx *ctx, const struct gda_cq *cq);
bool gda_qp_attend(struct gda_qp *qp);

static inline struct gda_qp *gda_qp_of(struct gda_executor_qp *exec)
{
	return container_of(exec, struct gda_qp, exec);
}

/* netlink/event.c - in any context; @kind: enum gda_event_kind. The caller holds the object. */
void gda_notify_device(u32 kind, const struct gda_device *dev);
void gda_notify_context(u32 kind, const struct gda_ctx *ctx);
void gda_notify_object(u32 kind, const struct gda_object *obj);
void gda_notify_connected(const struct gda_qp *qp, u32 peer_qpn);
void gda_notify_failed(const struct gda_qp *qp);

/* Called by the worker after a visit that did something; @producer is what it was before. */
static inline void gda_qp_account_visit(struct gda_qp *qp, u64 producer, u64 now)
{
	struct gda_qp_stats *stats = &qp->stats;

	WRITE_ONCE(stats->visits, stats->visits + 1);
	if (qp->engine_qp.pi != producer)
		WRITE_ONCE(stats->doorbells, stats->doorbells + 1);
	WRITE_ONCE(stats->last_progress, now);
	/* pairs with the engine's release: a state of error comes with its reason */
	if (unlikely(smp_load_acquire(&qp->engine_qp.state) == GDA_QP_ERROR) && !stats->failed) {
		stats->failed = true;
		gda_notify_failed(qp);
		gda_async_failed(qp);
	}
	if (unlikely(READ_ONCE(qp->greets)) && qp->engine_qp.executed)
		gda_async_greet(qp);
}

/* Nobody reads memory that was revoked, so it is not known what such a queue holds. */
static inline bool gda_qp_readable(const struct gda_qp *qp)
{
	return !(READ_ONCE(qp->lost) & ~(BIT(GDA_QP_DELAYED) | BIT(GDA_QP_WAITS)));
}

/* Called by the worker, under SRCU. Return: whether the QP may be visited now. */
static inline bool gda_qp_may_visit(struct gda_qp *qp)
{
	/* Must follow srcu_read_lock(): revocation sets ->lost, then waits for earlier readers. */
	return likely(!READ_ONCE(qp->lost)) || gda_qp_attend(qp);
}

/* mr.c */
struct gda_mr {
	struct gda_object obj;
	u32 kind;			/* enum gda_mr_kind */
	struct gda_executor_mr exec;
	struct gda_ctx *ctx;		/* set once the MR is in a context; see gda_record_mr() */
	struct gda_mem mem;
	struct gda_mem_backing backing;	/* no kind if the device pins it, gda_mr_reg_device() */
};

struct gda_object *gda_mr_reg_user(struct gda_ctx *ctx, struct gda_mr_reg_user *cmd);
struct gda_object *gda_mr_reg_client(struct gda_ctx *ctx, const struct gda_client_mr_attr *attr,
				     u32 *key);
struct gda_object *gda_mr_reg_dmabuf(struct gda_ctx *ctx, struct gda_mr_reg_dmabuf *cmd);
struct gda_object *gda_mr_reg_peer(struct gda_ctx *ctx, struct gda_mr_reg_peer *cmd);
int gda_mr_query(struct gda_ctx *ctx, struct gda_mr_query *cmd);
bool gda_mem_kind_present(u32 id);
int gda_mem_attach(struct gda_mem_backing *b, u32 kind_id,
		   const struct gda_mem_request *req);
void gda_mem_detach(struct gda_mem_backing *b);

/* key.c */
void gda_keys_init(struct gda_device *dev);
int gda_key_create(struct gda_device *dev, struct gda_mr *mr);
int gda_key_insert(struct gda_device *dev, struct gda_mr *mr);
void gda_key_remove(struct gda_device *dev, struct gda_mr *mr);

/* worker.c */
struct task_struct *gda_worker_create(struct gda_ctx *ctx, u32 id);
void gda_worker_start(struct gda_ctx *ctx, struct task_struct *task);
void gda_worker_unlimit(struct task_struct *task);
void gda_worker_stop(struct gda_ctx *ctx);
void gda_worker_free(struct gda_ctx *ctx);
void gda_worker_wake(struct gda_ctx *ctx);
void gda_worker_kick(struct gda_ctx *ctx);
void gda_worker_set_due(struct gda_ctx *ctx, u64 ns);
bool gda_worker_serve(struct gda_db_page *db_page, unsigned int slot, u64 now);
void gda_worker_query(const struct gda_ctx *ctx, struct gda_qp_query *cmd);

/* ioctl.c */
long gda_ioctl(struct file *file, unsigned int cmd, unsigned long arg);

/* netlink/netlink.c */
int gda_netlink_init(void);
void gda_netlink_exit(void);

int gda_headroom_check(void);		/* headroom.c */

/* Map the error of xa_alloc_cyclic() to that of the uAPI. */
static inline int gda_cyclic_error(int ret)
{
	return ret == -EBUSY ? -ENOSPC : min(ret, 0);
}

/* executor/device.c */
struct gda_device *gda_device_get(const char *name);
void gda_device_hold(struct gda_device *dev);
void gda_device_put(struct gda_device *dev);
int gda_device_add_context(struct gda_device *dev, struct gda_ctx *ctx);
void gda_device_del_context(struct gda_ctx *ctx);
int gda_device_has(const struct gda_device *dev, u64 features);
void gda_device_query(const struct gda_device *dev, struct gda_query *cmd);
int gda_device_info(struct gda_device_info *cmd);
int gda_device_next(u32 *id, struct gda_query *query);

/* Do contexts of the device have a worker? If not, the device reads its queues itself. */
static inline bool gda_device_has_worker(const struct gda_device *dev)
{
	return dev->ops->visit || dev->ops->engine;
}

/* executor/qp.c */
u32 gda_executor_peer(const struct gda_qp *qp);
u32 gda_executor_visit(struct gda_qp *qp);
bool gda_executor_waits(struct gda_qp *qp);
bool gda_executor_pending(struct gda_qp *qp);

/* stats.c - live objects, for netlink and leak tests */
enum gda_stat {
	GDA_STAT_CONTEXTS,
	GDA_STAT_QPS,
	GDA_STAT_CQS,
	GDA_STAT_COUNTERS,
	GDA_STAT_MRS,
	GDA_STAT_REGIONS,
	GDA_STAT_PAGES,
	GDA_STAT_KEYS,
	GDA_STATS,
};

void gda_stat_add(enum gda_stat stat, long n);
long gda_stat_read(enum gda_stat stat);

#include "recorder/recorder.h"

#endif /* GDA_PRIVATE_H */
