/* SPDX-License-Identifier: MIT */
/*
 * The in-process device: the kernel's semantics (kmod/gda_core) over memory of this process.
 * Control calls take the structures of gda/ioctl.h; the engine runs in a worker thread of each
 * context. This header has the process, its contexts and their objects; executors, workers,
 * regions and tables have headers of their own.
 *
 * Vocabulary: a *region* is a part of the context's memfd; its offset there is its
 * cookie. A *cell* is 64 bytes of a region, for a doorbell, a record or a counter. A
 * worker is *quiescent* while it holds no pointer to any object.
 *
 * Lock order, outermost first:
 *
 *   ctx->lock        objects, regions and cells of a context; one call at a time
 *   dev->lock        the list of workers, numbers of QPs and MRs, live objects
 *   dev->peer_lock   which QPs are connected
 *   worker->lock     whether the worker sleeps
 *   lane->lock       words of a device's memory; then gda_words_lock, see copier/atomic.c
 *   cq->lock         entries of a CQ; to execute, a worker takes only this and the two above
 *
 * To destroy an object: unlink it from everything that workers look at, gda_inproc_sync(), free.
 * A waiting thread may execute queues in place of the worker, under the same rules: see help.c.
 */
#ifndef GDA_INPROC_H
#define GDA_INPROC_H

#include <pthread.h>
#include "gda_internal.h"
#include "ah.h"
#include "connect.h"
#include "create.h"
#include "engine.h"
#include "event.h"
#include "executor.h"
#include "flight.h"
#include "qp_refs.h"
#include "query.h"
#include "record.h"
#include "region.h"
#include "request.h"
#include "table.h"
#include "worker.h"

#define GDA_INPROC_PAGE		4096U
#define GDA_INPROC_MAX_CQ	4096U
#define GDA_INPROC_MAX_MR	65536U
#define GDA_INPROC_MAX_COUNTER	4096U
#define GDA_INPROC_MAX_CQ_DEPTH	65536U
#define GDA_INPROC_MAX_MR_SIZE	(1ULL << 47)

#define gda_inproc_of(ptr, type, member) \
	((type *)(void *)((char *)(uintptr_t)(ptr) - offsetof(type, member)))

/* object.c - handles */

enum gda_inproc_type {
	GDA_INPROC_QP,			/* in an order such that each type needs only later ones */
	GDA_INPROC_CQ,
	GDA_INPROC_COUNT,
	GDA_INPROC_MR,
	GDA_INPROC_PEER,
	GDA_INPROC_TYPES
};

struct gda_inproc_object {
	struct gda_inproc_context *ctx;
	const struct gda_inproc_object_ops *ops;
	u32 handle;
	u32 users;			/* how many other objects need this one */
};

/* The operations of a type of object; the type's file defines them. */
struct gda_inproc_object_ops {
	enum gda_inproc_type type;
	u32 max;			/* most objects of the type in a context */
	/* Called under ctx->lock, with gda_inproc_sync() between. Cannot fail. kill may be NULL. */
	void (*kill)(struct gda_inproc_object *obj);
	void (*free)(struct gda_inproc_object *obj);
	/* Find the region of @type (GDA_REGION_*): 0 or -ENOENT. NULL: the type has no regions. */
	int (*region)(struct gda_inproc_object *obj, u32 type, struct gda_region_info *info);
};

/* Reserve room for one more object of @ops, so that gda_inproc_object_add() cannot fail. */
int gda_inproc_object_room(struct gda_inproc_context *ctx,
			   const struct gda_inproc_object_ops *ops);
void gda_inproc_object_add(struct gda_inproc_context *ctx, struct gda_inproc_object *obj,
			   const struct gda_inproc_object_ops *ops);
struct gda_inproc_object *gda_inproc_object_find(struct gda_inproc_context *ctx, u32 handle,
						 u32 type);
int gda_inproc_object_region(struct gda_inproc_context *ctx, u32 handle, u32 type,
			     struct gda_region_info *info);
int gda_inproc_object_destroy(struct gda_inproc_context *ctx, u32 handle);
void gda_inproc_object_destroy_all(struct gda_inproc_context *ctx);

/* process.c */

/* The one device of this process. */
struct gda_inproc_device {
	pthread_mutex_t lock;
	pthread_mutex_t peer_lock;
	struct gda_inproc_table qps;
	struct gda_inproc_table keys;
	struct gda_inproc_table cqs;
	u32 generation;			/* of this process: a child of fork(2) starts a new one */
	struct gda_inproc_worker *workers;
	u64 grace;			/* atomic; see quiesce.c */
	long objects[GDA_INPROC_TYPES];	/* atomic, for leak tests; so are the next two */
	long contexts;
	long regions;
};

extern struct gda_inproc_device gda_inproc;

/* Called before the first context and in a child of fork(2): reset, and start numbers at random. */
void gda_inproc_init(void);
u64 gda_inproc_random(void);
/* Return: CLOCK_MONOTONIC in ns. */
u64 gda_inproc_now(void);

struct gda_inproc_context {
	pthread_mutex_t lock;
	const struct gda_inproc_executor *executor;
	void *priv;			/* owned by the executor */
	u64 features;			/* GDA_FEATURE_* */
	int fd;				/* memfd */
	u32 generation;
	bool dead;			/* shut down */
	u32 order;			/* enum gda_inproc_order_kind */
	u64 order_seed;
	u32 order_depth;
	u64 next_cookie;
	u64 end_cookie;			/* size of the file */
	struct gda_inproc_region *regions;	/* by cookie */
	struct gda_inproc_region *left;	/* destroyed regions whose mapping the library still uses */
	struct gda_inproc_cells *cells;
	struct gda_inproc_object **objects;	/* by handle; 0 is none */
	u32 nhandles;			/* room in @objects */
	u32 full_below;			/* all handles below are in use */
	u32 count[GDA_INPROC_TYPES];
	u32 nworkers;
	struct gda_inproc_worker worker[GDA_INPROC_MAX_WORKERS];
	struct gda_inproc_addresses *addresses;	/* set once, by the first user; until then NULL */
	struct gda_record_rings record;	/* this and the next two: see record.c */
	struct gda_inproc_region *work_region;
	struct gda_record control_records[GDA_RECORD_MIN];
	u32 wait_turn;			/* atomic: changes when waiting QPs shall check, wait.c */
	u32 npolled;			/* atomic: QPs for which workers sleep only briefly */
	u32 nslots;			/* atomic: all QPs are in slots below this */
	u32 help_cursor;		/* atomic: slot where gda_inproc_help_all() continues */
	struct gda_inproc_seat seat[GDA_INPROC_SEATS];
	struct gda_inproc_qp *slot[GDA_INPROC_MAX_QP];	/* atomic, read by workers */
};

/* Take ctx->lock. Fails if the context cannot be used any more. */
int gda_inproc_enter(struct gda_inproc_context *ctx);

/* device.c */

/* Make the call that ioctl(2) would make; the size member of the structures is ignored. */
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
	void *dead_leaf;		/* leaf of its number, freed with the CQ */
	int event;			/* eventfd or -1; under @lock */
	u32 armed;			/* GDA_CQ_ARM_*; under @lock */
	bool awaited;			/* a QP waits for @awaited_index, none for less */
	u32 awaited_index;		/* under @lock, as @awaited */
};

/* Stands for a CQ in memory that no CPU can access; @engine_cq, to which QPs complete, is empty. */
struct gda_inproc_far_cq {
	struct gda_engine_cq engine_cq;
	struct gda_engine_cq *cq;	/* the CQ that this stands for */
	/* In place of gda_host_push(), without a lock. */
	bool (*push)(struct gda_inproc_far_cq *far, const struct gda_completion *c);
};

int gda_inproc_cq_create(struct gda_inproc_context *ctx, struct gda_cq_create *cmd);
int gda_inproc_cq_event(struct gda_inproc_context *ctx, const struct gda_cq_event *cmd);

/* counter.c */

struct gda_inproc_counter {
	struct gda_inproc_object obj;
	struct gda_inproc_cell cell;
	struct gda_engine_counter engine_counter;
};

int gda_inproc_counter_create(struct gda_inproc_context *ctx, struct gda_counter_create *cmd);

/* wait.c */

/* The CQ entry that a QP waits for. Only the thread that visits the QP uses it. */
struct gda_inproc_wait {
	u64 until;			/* the QP fails at this time */
	u32 cqn;
	u32 index;
	u32 turn;			/* ctx->wait_turn when the CQ was checked */
	u32 looks;
	bool on;			/* the QP is waiting */
};

/* Called by the holder of the QP's turn. Return: whether the QP still waits: do not visit it. */
bool gda_inproc_waits(struct gda_inproc_qp *qp);
/* Called under cq->lock, after a push. Return: whether to call gda_inproc_wait_wake(). */
bool gda_inproc_wait_pushed(struct gda_inproc_cq *cq);
/* Make all waiting QPs of the context check their CQ again. */
void gda_inproc_wait_turn(struct gda_inproc_context *ctx);
/* Make them check again: a collapsed CQ in memory that no CPU can access has come to @reached. */
void gda_inproc_wait_reached(struct gda_inproc_cq *cq, u64 reached);
/* Called without a lock: wake the context's workers. */
void gda_inproc_wait_wake(struct gda_inproc_context *ctx);

/* qp.c */

struct gda_inproc_qp {
	struct gda_engine_qp engine_qp;		/* of the turn's holder, except state and fail */
	/* Waiting threads load @turn often: keep it out of cache lines that the engine writes. */
	u32 turn __attribute__((aligned(128)));	/* atomic: enum gda_inproc_turn */
	u32 helps;			/* visits by helpers; written in state HELD */
	u32 seen_helps;			/* @helps at the worker's last pass */
	const struct gda_inproc_executor *executor;	/* the context's, or an attached one */
	struct gda_inproc_object obj;
	struct gda_control_parts parts;
	struct gda_inproc_region *sq;
	struct gda_inproc_cell rec;
	struct gda_inproc_cell db;
	void *dead_leaf;		/* leaf of its number, freed with the QP */
	u32 slot;
	bool polled;
	bool aside;			/* not a plain engine visit: RNR, a wait, or visit() */
	u64 rnr_until;			/* after RNR: no visit before this time; 0 none */
	struct gda_inproc_wait wait;
	u64 visit_ns;			/* while its work is recorded: when the visit began */
	void *priv;			/* owned by the context's executor */
	const struct gda_flight *flight;	/* work in flight (gda/flight.h), or NULL */
	struct gda_inproc_attachment *attached;	/* of @executor, or NULL */
	struct gda_inproc_qp *next_polled;	/* list of the worker, while @polls */
	bool polls;
};

struct gda_inproc_qp *gda_inproc_qp_find(struct gda_inproc_context *ctx, u32 handle);
/* Hide the QP from its worker; gda_inproc_qp_link() shows it again. */
void gda_inproc_qp_unlink(struct gda_inproc_qp *qp);
void gda_inproc_qp_link(struct gda_inproc_qp *qp, u32 slot);
/* Make @executor serve a hidden QP. @attached is freed with the QP. */
void gda_inproc_qp_attach(struct gda_inproc_qp *qp, const struct gda_inproc_executor *executor,
			  struct gda_inproc_attachment *attached);
int gda_inproc_qp_create(struct gda_inproc_context *ctx, struct gda_qp_create *cmd);
int gda_inproc_qp_address(struct gda_inproc_context *ctx, struct gda_qp_address *cmd);
int gda_inproc_qp_query(struct gda_inproc_context *ctx, struct gda_qp_query *cmd);

int gda_inproc_qp_connect(struct gda_inproc_context *ctx, const struct gda_qp_connect *cmd);

/* address.c */

/* Allocate the tables of numbers and handles on first use. 0 or -ENOMEM. */
int gda_inproc_addresses_create(struct gda_inproc_context *ctx);
/* Reserve a number that lookups do not find yet. 0 or a negative errno. */
int gda_inproc_number_reserve(struct gda_inproc_qp *qp);
void gda_inproc_number_publish(struct gda_inproc_qp *qp);
/* Release a reserved or published number. */
void gda_inproc_number_erase(struct gda_inproc_qp *qp);
/* GDA_IOC_PEER_ADD. */
int gda_inproc_peer_add(struct gda_inproc_context *ctx, struct gda_peer_add *cmd);

/* mr.c */

struct gda_inproc_mr {
	struct gda_mem mem;
	u8 *addr;
	struct gda_inproc_object obj;
	struct gda_inproc_attachment *attached;	/* or NULL */
	void *dead_leaf;		/* leaf of its key, freed with the MR */
	void *priv;			/* the executor's */
};

int gda_inproc_mr_reg(struct gda_inproc_context *ctx, struct gda_mr_reg_user *cmd);
/*
 * Register memory that only attached executors, and no CPU, can access: cmd->addr is the
 * executors'. On success the MR owns @attached, which may be NULL. Takes ctx->lock.
 */
int gda_inproc_mr_reg_no_cpu(struct gda_inproc_context *ctx, struct gda_mr_reg_user *cmd,
			     struct gda_inproc_attachment *attached);
int gda_inproc_mr_query(struct gda_inproc_context *ctx, struct gda_mr_query *cmd);

/* key.c */

int gda_inproc_key_create(struct gda_inproc_mr *mr);
void gda_inproc_key_remove(struct gda_inproc_mr *mr);

/* order.c */

enum gda_inproc_order_kind {
	GDA_INPROC_ORDER_NONE,
	GDA_INPROC_ORDER_PLAIN,
	GDA_INPROC_ORDER_RANDOM,
	GDA_INPROC_ORDER_PCT,
};

/* Read GDA_ORDER. Return: 0 or -EINVAL, with the reason. */
int gda_inproc_order_init(struct gda_inproc_context *ctx);
/* Called before gda_engine_init(): set up the order that GDA_ORDER asks for. 0 or -ENOMEM. */
int gda_inproc_order_create(struct gda_inproc_context *ctx, struct gda_inproc_qp *qp);
void gda_inproc_order_destroy(struct gda_inproc_qp *qp);

/* record.c */

void gda_inproc_record_init(struct gda_inproc_context *ctx);
/* GDA_IOC_RECORD. */
int gda_inproc_record_set(struct gda_inproc_context *ctx, struct gda_record_set *cmd);
void gda_inproc_record_stop(struct gda_inproc_context *ctx);
/* Write a record with the current time. */
void gda_inproc_record_keep(struct gda_inproc_context *ctx, struct gda_record *r);
void gda_inproc_record_mr(struct gda_inproc_mr *mr, u8 kind);
void gda_inproc_record_asleep(struct gda_inproc_worker *w, bool asleep);
/* Called when a visit of the queue begins. */
static inline void gda_inproc_begin_visit(struct gda_inproc_qp *qp)
{
	if (unlikely(gda_record_visit(&qp->obj.ctx->record, &qp->engine_qp)))
		qp->visit_ns = gda_inproc_now();
}

#endif /* GDA_INPROC_H */
