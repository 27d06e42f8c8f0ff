/* SPDX-License-Identifier: MIT */
/*
 * The in-process device: the kernel's semantics (kmod/gda_core) over memory of this
 * process. Control calls take the structures of gda/ioctl.h; the engine, built from
 * engine, runs in a worker thread of each context.
 *
 * Vocabulary: a *region* is a part of the context's memfd, the offset in it is the
 * cookie; a *cell* is 64 bytes of a region, for a doorbell, a record or a counter; a
 * worker is *quiescent* when it holds no pointer to any object.
 *
 * Lock order, outermost first:
 *
 *   ctx->lock        objects, regions and cells of a context; one call at a time
 *   dev->lock        the list of workers, numbers of QPs and MRs, live objects
 *   dev->peer_lock   who is connected to whom
 *   worker->lock     whether the worker sleeps
 *   lane->lock       words of a device's memory; then gda_words_lock, see copier/atomic.c
 *   cq->lock         entries of a CQ; this and the two above are what a worker takes to execute
 *
 * Destroying is: unlink from everything workers look at, gda_inproc_sync(), free. A thread
 * that waits may do all that a worker may do, in its place: see help.c.
 */
#ifndef GDA_INPROC_H
#define GDA_INPROC_H

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include "gda_internal.h"
#include "connect.h"
#include "create.h"
#include "engine.h"
#include "event.h"
#include "flight.h"
#include "qp_refs.h"
#include "query.h"
#include "record.h"
#include "request.h"
#include "sweep.h"

#define GDA_INPROC_PAGE		4096U

#define GDA_INPROC_MAX_QP	4096U
#define GDA_INPROC_MAX_CQ	4096U
#define GDA_INPROC_MAX_MR	65536U
#define GDA_INPROC_MAX_COUNTER	4096U
#define GDA_INPROC_MAX_CQ_DEPTH	65536U
#define GDA_INPROC_MAX_MR_SIZE	(1ULL << 47)
#define GDA_INPROC_MAX_WORKERS	16U
#define GDA_INPROC_SLOT_WORDS	(GDA_INPROC_MAX_QP / GDA_SWEEP_WORD)

#define gda_inproc_of(ptr, type, member) \
	((type *)(void *)((char *)(uintptr_t)(ptr) - offsetof(type, member)))

struct gda_inproc_context;
struct gda_inproc_mr;
struct gda_inproc_qp;

/* device.c has the list */

/*
 * An executor carries out the work of a context, as in kmod/include/gda/executor.h: one table each,
 * with the same names for the same. Calls of one context are one after the other, with ctx->lock
 * held but for those that the table says; what returns void cannot fail.
 *
 * One can be attached to a QP later, to serve it in place of the context's (copier/copier.h). It
 * has visit() and poll() only.
 */
struct gda_inproc_executor {
	/* Without a lock: is it asked for a device of this name? */
	bool (*has)(const char *device);
	/* Likewise: fill in name and features of its devices, @n from 0. 0, or -ENOENT: no more. */
	int (*describe)(u32 n, struct gda_device_info *info);
	/* Before all other calls of a context: set ctx->features. 0 or a negative errno */
	int (*bind)(struct gda_inproc_context *ctx, const char *device);
	/* After all others. */
	void (*unbind)(struct gda_inproc_context *ctx);
	/*
	 * Instead of any other, in a child of fork(2): close what a device would keep for the
	 * parent. NULL: nothing
	 */
	void (*forked)(struct gda_inproc_context *ctx);
	/* Its name, and limits that are lower than those that are filled in. */
	void (*query)(const struct gda_inproc_context *ctx, struct gda_query *cmd);
	/* Bytes of its own that are allocated with each QP, qp->priv; 0: it sets that itself */
	size_t qp_size;
	/*
	 * A QP that has its number is about to be shown to its worker. If work of it can be in
	 * flight between two visits, set qp->flight. 0 or a negative errno
	 */
	int (*qp_create)(struct gda_inproc_qp *qp);
	/* Optional: undo qp_create(). */
	void (*qp_free)(struct gda_inproc_qp *qp);
	void (*qp_address)(struct gda_inproc_qp *qp, u8 *address);
	int (*qp_connect)(struct gda_inproc_qp *qp, const u8 *address);
	/* It is being killed: nobody finds its number any more. */
	void (*qp_disconnect)(struct gda_inproc_qp *qp);
	/* Optional: the number of the peer that it has named, or 0. */
	u32 (*qp_peer)(const struct gda_inproc_qp *qp);
	/*
	 * Set mr->mem.key; all else there is filled in. 0 or a negative errno. Without these three
	 * keys are key.c's, as the engine finds them
	 */
	int (*mr_map)(struct gda_inproc_mr *mr);
	/* The key is dead; queues may be at work with the MR until mr_free(). */
	void (*mr_unmap)(struct gda_inproc_mr *mr);
	void (*mr_free)(struct gda_inproc_mr *mr);
	/*
	 * Serve a queue for a while, in place of gda_engine_visit(); NULL: the engine does. Called
	 * without a lock, by whoever has the queue's turn. Return: how much was done, in work
	 * requests, and more than 0 also while the worker is to come again soon
	 */
	u32 (*visit)(struct gda_inproc_qp *qp, u32 wqes, u32 bytes);
	/*
	 * Optional: the queue's worker alone visits it. After gda_inproc_poll_later() it calls this
	 * in every pass, and neither sleeps nor is quiescent, until this is false: nothing is in
	 * flight
	 */
	bool (*poll)(struct gda_inproc_qp *qp);
};

/* Data that an attached executor keeps with an object; the object frees it. */
struct gda_inproc_attachment {
	void (*free)(struct gda_inproc_attachment *attached);
};

extern const struct gda_inproc_executor gda_inproc_soft, gda_verbs_executor;

/* table.c - numbers of 24 bits, looked up by workers without a lock */

#define GDA_INPROC_LEAF		4096U
#define GDA_INPROC_LEAVES	4096U

struct gda_inproc_leaf {
	u32 nused;
	u64 used[GDA_INPROC_LEAF / 64];
	void *entry[GDA_INPROC_LEAF];
};

struct gda_inproc_table {
	struct gda_inproc_leaf *leaf[GDA_INPROC_LEAVES];
	u32 next;			/* goes round */
};

/* Reserve the next free number from 1 up: not found before it is published. */
int gda_inproc_table_reserve(struct gda_inproc_table *t, u32 *index);
void gda_inproc_table_publish(struct gda_inproc_table *t, u32 index, void *entry);
/* Give a number back. Return: what to free() after gda_inproc_sync(), or NULL. */
void *gda_inproc_table_erase(struct gda_inproc_table *t, u32 index);

static inline void *gda_inproc_table_find(const struct gda_inproc_table *t, u32 index)
{
	/* pairs with the release of a new leaf */
	const struct gda_inproc_leaf *leaf = smp_load_acquire(&t->leaf[index / GDA_INPROC_LEAF]);

	/* pairs with the release of a new entry */
	return leaf ? smp_load_acquire(&leaf->entry[index % GDA_INPROC_LEAF]) : NULL;
}

/* region.c - memory that posters map, and cells of it */

struct gda_inproc_region {
	struct gda_inproc_region *next;
	u64 cookie;			/* offset in ctx->fd */
	u64 length;
	u32 map;			/* enum gda_map_type */
	u32 users;			/* of the library's, of @addr */
	void *addr;			/* always writable */
};

enum gda_inproc_use {
	GDA_INPROC_DOORBELL,
	GDA_INPROC_RECORD,
	GDA_INPROC_COUNTER,		/* posters only read it */
	GDA_INPROC_USES
};

struct gda_inproc_cells {
	struct gda_inproc_cells *next;
	struct gda_inproc_region *region;
	u64 used;			/* bit per cell */
	u32 use;
};

struct gda_inproc_cell {
	struct gda_inproc_cells *cells;	/* NULL: none */
	u32 offset;
	void *addr;
};

int gda_inproc_region_create(struct gda_inproc_context *ctx, u64 length, u32 map,
			     struct gda_inproc_region **region);
void gda_inproc_region_destroy(struct gda_inproc_context *ctx,
			       struct gda_inproc_region *region);
/* Let the library use the mapping of the region with this cookie: 0 or -ENXIO. */
int gda_inproc_region_get(struct gda_inproc_context *ctx, u64 cookie, void **addr);
/* The library uses this mapping once less. The region may be gone before. */
void gda_inproc_region_put(struct gda_inproc_context *ctx, void *addr);
void gda_inproc_region_info(const struct gda_inproc_region *region, u32 offset,
			    struct gda_region_info *info);
int gda_inproc_cell_create(struct gda_inproc_context *ctx, u32 use,
			   struct gda_inproc_cell *cell);
void gda_inproc_cell_destroy(struct gda_inproc_context *ctx, struct gda_inproc_cell *cell);
void gda_inproc_cell_info(const struct gda_inproc_cell *cell, struct gda_region_info *info);

/* object.c - handles */

enum gda_inproc_type {
	GDA_INPROC_QP,			/* in the order in which they need each other */
	GDA_INPROC_CQ,
	GDA_INPROC_COUNT,
	GDA_INPROC_MR,
	GDA_INPROC_TYPES
};

struct gda_inproc_object {
	struct gda_inproc_context *ctx;
	u32 handle;
	u32 type;
	u32 users;			/* other objects that need it */
};

/* Both under ctx->lock, in between gda_inproc_sync(); neither can fail. */
struct gda_inproc_object_ops {
	void (*kill)(struct gda_inproc_object *obj);
	void (*free)(struct gda_inproc_object *obj);
	u32 max;			/* objects of the type in a context */
};

extern const struct gda_inproc_object_ops gda_inproc_qp_ops, gda_inproc_cq_ops,
					  gda_inproc_counter_ops, gda_inproc_mr_ops;

/* Room for one more object of @type? Then gda_inproc_object_add() cannot fail. */
int gda_inproc_object_room(struct gda_inproc_context *ctx, u32 type);
void gda_inproc_object_add(struct gda_inproc_context *ctx, struct gda_inproc_object *obj,
			   u32 type);
struct gda_inproc_object *gda_inproc_object_find(struct gda_inproc_context *ctx, u32 handle,
						 u32 type);
int gda_inproc_object_destroy(struct gda_inproc_context *ctx, u32 handle);
void gda_inproc_object_destroy_all(struct gda_inproc_context *ctx);

/* fault.c - memory that is taken away while it is registered */

/* Where a thread that executes queues goes on after such a fault. */
struct gda_inproc_guard {
	sigjmp_buf env;			/* without the signal mask */
	struct gda_inproc_qp *qp;	/* that it executes, or did last; NULL: none */
	u32 key;			/* out: of the MR whose memory is gone */
};

/* Of this thread, or NULL: no fault of it is caught. */
extern _Thread_local struct gda_inproc_guard *gda_inproc_guard
	__attribute__((tls_model("initial-exec")));

/* Catch such faults from now on. */
void gda_inproc_fault_init(void);
/* After the jump: fail the queue. */
void gda_inproc_fault(struct gda_inproc_guard *guard);

/* worker.c - who executes */

struct gda_inproc_worker {
	struct gda_inproc_context *ctx;
	struct gda_inproc_worker *next;	/* of all workers of the device; dev->lock */
	u32 number;			/* serves the slots congruent to it */
	bool stop;			/* atomic */
	u64 acked;			/* atomic: quiescent since dev->grace was this */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;		/* on CLOCK_MONOTONIC */
	bool asleep;			/* under @lock, and then quiescent */
	bool kicked;			/* under @lock */
	/* the worker's own */
	struct gda_inproc_guard guard;
	struct gda_inproc_qp *polled;	/* those that it polls */
	bool found;			/* the last pass found work */
	bool lent;			/* this pass left a queue to its helper */
	bool said_asleep;		/* the last record of it says so */
	u64 passes;			/* atomic: how often it went round; read by anybody */
	bool owns;			/* a queue may be GDA_INPROC_MINE */
	u32 crowded;			/* times in a row that others ran when it yielded */
	struct gda_sweep sweep;		/* over these, a bit for each slot of the context */
	unsigned long busy[GDA_INPROC_SLOT_WORDS];
	unsigned long fresh[GDA_INPROC_SLOT_WORDS];
	/* atomic: slots with a QP that this worker serves; written under ctx->lock */
	unsigned long used[GDA_INPROC_SLOT_WORDS];
};

/* One visit of a queue, by whoever has its turn. Return: whether there was work. */
bool gda_inproc_visit(struct gda_inproc_qp *qp);
/* Called by visit(): something is in flight, and the worker is to poll the queue. */
void gda_inproc_poll_later(struct gda_inproc_qp *qp);

/* How long a doorbell may stay silent before its worker begins to sleep. */
#define GDA_INPROC_YIELD_NS	1000000U

/* ns of CLOCK_MONOTONIC */
u64 gda_inproc_now(void);
int gda_inproc_workers_start(struct gda_inproc_context *ctx);
/* They execute nothing any more, but can still be kicked. */
void gda_inproc_workers_stop(struct gda_inproc_context *ctx);
void gda_inproc_workers_exit(struct gda_inproc_context *ctx);
/* End the sleep of whoever serves @slot: something there has changed. */
void gda_inproc_kick(struct gda_inproc_context *ctx, u32 slot);
/* The same, if that is no wait: who holds the worker's lock may be anybody. */
void gda_inproc_nudge(struct gda_inproc_context *ctx, u32 slot);
/* Until no worker has a pointer that it found before the call. */
void gda_inproc_sync(void);

/* help.c */

enum gda_inproc_turn {
	GDA_INPROC_FREE,
	GDA_INPROC_HELD,
	GDA_INPROC_MINE,
	GDA_INPROC_ASKED,
};

#define GDA_INPROC_SEATS	8U

struct gda_inproc_seat {
	u64 taken;			/* atomic: odd while somebody sits there */
	u8 pad[56];
};

/* Execute a queue in place of its worker, if that lets us. Return: whether there was work. */
bool gda_inproc_help(struct gda_inproc_context *ctx, u32 qpn, unsigned int polls,
		     enum gda_relax_for what);
/* The same with some of the queues of the context, others at the next call. */
bool gda_inproc_help_all(struct gda_inproc_context *ctx, unsigned int polls);
/* Wait until whoever helps now has finished. */
void gda_inproc_risen(struct gda_inproc_context *ctx);

/* device.c */

/* The one device of this process. */
struct gda_inproc_device {
	pthread_mutex_t lock;
	pthread_mutex_t peer_lock;
	struct gda_inproc_table qps;
	struct gda_inproc_table keys;
	struct gda_inproc_table cqs;
	u32 generation;			/* of processes: a child of fork(2) begins anew */
	struct gda_inproc_worker *workers;
	u64 grace;			/* atomic; see worker.c */
	long objects[GDA_INPROC_TYPES];	/* atomic, for leak tests; as the next two */
	long contexts;
	long regions;
};

extern struct gda_inproc_device gda_inproc;

u64 gda_inproc_random(void);

struct gda_inproc_context {
	pthread_mutex_t lock;
	const struct gda_inproc_executor *executor;
	void *priv;			/* the executor's */
	u64 features;			/* GDA_FEATURE_* */
	int fd;				/* memfd */
	u32 generation;
	bool dead;			/* shut down */
	u32 order;			/* enum gda_inproc_order_kind */
	u64 order_seed;
	u64 next_cookie;
	u64 end_cookie;			/* size of the file */
	struct gda_inproc_region *regions;	/* by cookie */
	struct gda_inproc_region *left;	/* destroyed, but the library uses the mapping */
	struct gda_inproc_cells *cells;
	struct gda_inproc_object **objects;	/* by handle; 0 is none */
	u32 nhandles;			/* room in @objects */
	u32 full_below;			/* no free handle is lower */
	u32 count[GDA_INPROC_TYPES];
	u32 nworkers;
	struct gda_inproc_worker worker[GDA_INPROC_MAX_WORKERS];
	struct gda_record_rings record;	/* see record.c, as for the next two */
	struct gda_inproc_region *work_region;
	struct gda_record control_records[GDA_RECORD_MIN];
	u32 wait_turn;			/* atomic: changes when QPs that wait are to ask, wait.c */
	u32 npolled;			/* atomic: QPs that bound the workers' sleep */
	u32 nslots;			/* atomic: all QPs are in slots below */
	u32 help_cursor;		/* atomic: slot where gda_inproc_help_all() goes on */
	struct gda_inproc_seat seat[GDA_INPROC_SEATS];
	struct gda_inproc_qp *slot[GDA_INPROC_MAX_QP];	/* atomic, read by workers */
};

/* Take ctx->lock, if the context can still be used. */
int gda_inproc_enter(struct gda_inproc_context *ctx);
/* A call as ioctl(2) would make it; the structures' size member is not looked at. */
int gda_inproc_call(struct gda_inproc_context *ctx, unsigned long request, void *arg);
int gda_inproc_context_create(const char *device, struct gda_inproc_context **ctx);
void gda_inproc_context_destroy(struct gda_inproc_context *ctx);

/* cq.c */

struct gda_inproc_cq {
	struct gda_inproc_object obj;
	struct gda_engine_cq engine_cq;		/* under @lock once a QP uses it */
	pthread_mutex_t lock;
	u32 cqn;
	struct gda_inproc_region *region;
	struct gda_inproc_cell rec;	/* ring only */
	void *dead_leaf;		/* of its number, to be freed with it */
	int event;			/* eventfd or -1; under @lock */
	u32 armed;			/* GDA_CQ_ARM_*; under @lock */
	bool awaited;			/* a QP waits for this entry, and none for an earlier */
	u32 awaited_index;		/* ... both under @lock */
};

/*
 * Stands for a CQ in memory that no CPU reaches: a QP completes to @engine_cq, which has no
 * entries.
 */
struct gda_inproc_far_cq {
	struct gda_engine_cq engine_cq;
	struct gda_engine_cq *cq;	/* the one that it stands for */
	/* gda_host_push(), without a lock */
	bool (*push)(struct gda_inproc_far_cq *far, const struct gda_completion *c);
};

int gda_inproc_cq_create(struct gda_inproc_context *ctx, struct gda_cq_create *cmd);
int gda_inproc_cq_event(struct gda_inproc_context *ctx, const struct gda_cq_event *cmd);

/* counter.c */

struct gda_inproc_counter {
	struct gda_inproc_object obj;
	struct gda_inproc_cell cell;
};

int gda_inproc_counter_create(struct gda_inproc_context *ctx, struct gda_counter_create *cmd);

/* wait.c */

/* The entry of a CQ that a QP waits for. Only the thread that visits the QP uses this. */
struct gda_inproc_wait {
	u64 until;			/* then it fails */
	u32 cqn;
	u32 index;
	u32 turn;			/* ctx->wait_turn when the CQ was asked */
	u32 looks;
	bool on;			/* it waits */
};

/* By whoever has the turn of the QP: does it still wait? Then it is not to be visited. */
bool gda_inproc_waits(struct gda_inproc_qp *qp);
/* With cq->lock held, after a push. Return: whether gda_inproc_wait_wake() is to be called. */
bool gda_inproc_wait_pushed(struct gda_inproc_cq *cq);
/* All that wait in the context are to ask again. */
void gda_inproc_wait_turn(struct gda_inproc_context *ctx);
/* Likewise: a collapsed CQ in memory that no CPU reaches has come so far. */
void gda_inproc_wait_reached(struct gda_inproc_cq *cq, u64 reached);
/* Without a lock: end the sleep of the context's workers. */
void gda_inproc_wait_wake(struct gda_inproc_context *ctx);

/* qp.c */

struct gda_inproc_qp {
	struct gda_engine_qp engine_qp;		/* of whose turn it is, but for state and fail */
	/* waiting threads load it often: not in a cache line that the engine stores to */
	u32 turn __attribute__((aligned(128)));	/* atomic: enum gda_inproc_turn */
	u32 helps;			/* visits by helpers; written while HELD */
	u32 seen_helps;			/* the worker's: @helps when it looked last */
	const struct gda_inproc_executor *executor;	/* its context's, or one attached */
	struct gda_inproc_object obj;
	struct gda_control_parts parts;
	struct gda_inproc_region *sq;
	struct gda_inproc_cell rec;
	struct gda_inproc_cell db;
	void *dead_leaf;		/* of its number, to be freed with it */
	u32 slot;
	bool polled;
	bool aside;			/* a visit is not just the engine's: the next, or visit() */
	u64 rnr_until;			/* the peer was not ready: not before, or 0 */
	struct gda_inproc_wait wait;
	u64 visit_ns;			/* while engine_qp.record: when its visit began */
	void *priv;			/* that of its context's executor */
	const struct gda_flight *flight;	/* work in flight, or NULL; see gda/flight.h */
	struct gda_inproc_attachment *attached;	/* of @executor, or NULL */
	struct gda_inproc_qp *next_polled;	/* of the worker's, while @polls */
	bool polls;
};

struct gda_inproc_qp *gda_inproc_qp_find(struct gda_inproc_context *ctx, u32 handle);
/* Hide it from its worker, and show it again. */
void gda_inproc_qp_unlink(struct gda_inproc_qp *qp);
void gda_inproc_qp_link(struct gda_inproc_qp *qp, u32 slot);
/* Have @executor serve a QP that was hidden. @attached is freed with the QP. */
void gda_inproc_qp_attach(struct gda_inproc_qp *qp, const struct gda_inproc_executor *executor,
			  struct gda_inproc_attachment *attached);
int gda_inproc_qp_create(struct gda_inproc_context *ctx, struct gda_qp_create *cmd);
int gda_inproc_qp_address(struct gda_inproc_context *ctx, struct gda_qp_address *cmd);
int gda_inproc_qp_query(struct gda_inproc_context *ctx, struct gda_qp_query *cmd);

int gda_inproc_qp_connect(struct gda_inproc_context *ctx, const struct gda_qp_connect *cmd);

/* mr.c */

struct gda_inproc_mr {
	struct gda_mem mem;
	u8 *addr;
	struct gda_inproc_object obj;
	struct gda_inproc_attachment *attached;	/* or NULL */
	void *dead_leaf;		/* of its key, to be freed with it */
	void *priv;			/* the executor's */
};

int gda_inproc_mr_reg(struct gda_inproc_context *ctx, struct gda_mr_reg_user *cmd);
/*
 * The same of memory that no CPU reaches, but attached executors: cmd->addr is theirs. @attached
 * is the MR's on success, or NULL. Takes ctx->lock.
 */
int gda_inproc_mr_reg_no_cpu(struct gda_inproc_context *ctx, struct gda_mr_reg_user *cmd,
			     struct gda_inproc_attachment *attached);
int gda_inproc_mr_query(struct gda_inproc_context *ctx, struct gda_mr_query *cmd);

/* key.c */

int gda_inproc_key_create(struct gda_inproc_mr *mr);
void gda_inproc_key_remove(struct gda_inproc_mr *mr);

/* order.c */

enum gda_inproc_order_kind {
	GDA_INPROC_ORDER_NONE,		/* queues of unordered dialects have the plain one */
	GDA_INPROC_ORDER_PLAIN,
	GDA_INPROC_ORDER_RANDOM,
};

/* Read GDA_ORDER. Return: 0 or -EINVAL, with the reason. */
int gda_inproc_order_init(struct gda_inproc_context *ctx);
/* Before gda_engine_init(): give the queue an order, if it is to have one. 0 or -ENOMEM. */
int gda_inproc_order_create(struct gda_inproc_context *ctx, struct gda_inproc_qp *qp);
void gda_inproc_order_destroy(struct gda_inproc_qp *qp);

/* record.c */

void gda_inproc_record_init(struct gda_inproc_context *ctx);
/* GDA_IOC_RECORD. */
int gda_inproc_record_set(struct gda_inproc_context *ctx, struct gda_record_set *cmd);
void gda_inproc_record_stop(struct gda_inproc_context *ctx);
/* Write a record with the time that it is now. */
void gda_inproc_record_keep(struct gda_inproc_context *ctx, struct gda_record *r);
void gda_inproc_record_mr(struct gda_inproc_mr *mr, u8 kind);
void gda_inproc_record_asleep(struct gda_inproc_worker *w, bool asleep);
/* A visit of the queue begins. */
static inline void gda_inproc_begin_visit(struct gda_inproc_qp *qp)
{
	if (unlikely(gda_record_visit(&qp->obj.ctx->record, &qp->engine_qp)))
		qp->visit_ns = gda_inproc_now();
}

#endif /* GDA_INPROC_H */
