/* SPDX-License-Identifier: MIT */
/*
 * The threads that execute the queues of a context: workers, and waiting threads, which help.
 * Also what both share: faults on registered memory, the sleep of workers, and quiescence.
 */
#ifndef GDA_INPROC_WORKER_H
#define GDA_INPROC_WORKER_H

#include <pthread.h>
#include <setjmp.h>
#include "gda_internal.h"
#include "gda_os.h"
#include "sweep.h"

struct gda_inproc_context;
struct gda_inproc_qp;

#define GDA_INPROC_MAX_QP	4096U
#define GDA_INPROC_MAX_WORKERS	16U
#define GDA_INPROC_SLOT_WORDS	(GDA_INPROC_MAX_QP / GDA_SWEEP_WORD)

/* fault.c - faults on registered memory */

/* Where a thread that executes queues continues after a fault on registered memory. */
struct gda_inproc_guard {
	sigjmp_buf env;			/* without the signal mask */
	struct gda_inproc_qp *qp;	/* QP being executed, or the last one; NULL: none yet */
	u32 key;			/* out: key of the MR that faulted */
};

/* This thread's guard, or NULL: its faults are not handled. */
extern _Thread_local struct gda_inproc_guard *gda_inproc_guard
	__attribute__((tls_model("initial-exec")));

/* Install the handler of such faults. */
void gda_inproc_fault_init(void);
/* Called after the jump: fail the queue. */
void gda_inproc_fault(struct gda_inproc_guard *guard);

/* worker.c - the threads that execute */

struct gda_inproc_worker {
	struct gda_inproc_context *ctx;
	struct gda_inproc_worker *next;	/* list of all workers, under dev->lock */
	u32 number;			/* serves the slots congruent to it */
	bool stop;			/* atomic */
	u64 acked;			/* atomic: worker was quiescent at this dev->grace */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;		/* on CLOCK_MONOTONIC */
	bool asleep;			/* under @lock; a sleeping worker is quiescent */
	bool kicked;			/* under @lock */
	/* used only by the worker */
	struct gda_inproc_guard guard;
	struct gda_inproc_qp *polled;	/* list of QPs that it polls */
	bool found;			/* the last pass found work */
	bool lent;			/* this pass left a queue to its helper */
	bool said_asleep;		/* the last record about this worker says so */
	u64 passes;			/* atomic: number of passes; read by any thread */
	bool owns;			/* a queue may be GDA_INPROC_MINE */
	u32 crowded;			/* successive yields in which other threads ran */
	struct gda_sweep sweep;		/* over the next member, a bit per slot */
	unsigned long busy[GDA_INPROC_SLOT_WORDS];
	unsigned long fresh[GDA_INPROC_SLOT_WORDS];
	/* atomic: slots with a QP that this worker serves; written under ctx->lock */
	unsigned long used[GDA_INPROC_SLOT_WORDS];
};

/* Visit a queue once; the caller has its turn. Return: whether there was work. */
bool gda_inproc_visit(struct gda_inproc_qp *qp);
/* Called by visit(): requests are in flight, so the worker shall poll the queue. */
void gda_inproc_poll_later(struct gda_inproc_qp *qp);

/* How long doorbells may stay unchanged before the worker begins to sleep. */
#define GDA_INPROC_YIELD_NS	1000000U

int gda_inproc_workers_start(struct gda_inproc_context *ctx);
/* Stop the workers of a context: they execute nothing more but can still be kicked. */
void gda_inproc_workers_stop(struct gda_inproc_context *ctx);
void gda_inproc_workers_exit(struct gda_inproc_context *ctx);

/* sleep.c */

void gda_inproc_sleep_init(struct gda_inproc_worker *w);
void gda_inproc_sleep_exit(struct gda_inproc_worker *w);
/* Sleep for @ns, or until a kick. Return: whether a kick ended the sleep. */
bool gda_inproc_sleep(struct gda_inproc_worker *w, u64 ns);
/* Called when the worker ends: to all other threads it then sleeps. */
void gda_inproc_sleep_ended(struct gda_inproc_worker *w);
bool gda_inproc_asleep(struct gda_inproc_worker *w);
void gda_inproc_wake(struct gda_inproc_worker *w);
/* Wake the worker of @slot because something in the slot has changed. */
void gda_inproc_kick(struct gda_inproc_context *ctx, u32 slot);
/* gda_inproc_kick() that does not block: any thread may hold the worker's lock. */
void gda_inproc_nudge(struct gda_inproc_context *ctx, u32 slot);

/* quiesce.c */

#define GDA_INPROC_SEATS	8U

struct gda_inproc_seat {
	u64 taken;			/* atomic: odd while a helper has the seat */
	u8 pad[56];
};

/* Take a seat before helping. Return: NULL if all seats are taken. */
struct gda_inproc_seat *gda_inproc_sit(struct gda_inproc_context *ctx);
void gda_inproc_rise(struct gda_inproc_seat *seat);
/* Wait until no worker and no helper has a pointer that it found before the call. */
void gda_inproc_sync(void);

/* help.c */

enum gda_inproc_turn {
	GDA_INPROC_FREE,
	GDA_INPROC_HELD,
	GDA_INPROC_MINE,
	GDA_INPROC_ASKED,
};

/* Execute a queue in place of its worker, if qp->turn permits. Return: whether there was work. */
bool gda_inproc_help(struct gda_inproc_context *ctx, u32 qpn, unsigned int polls,
		     enum gda_relax_for what);
/* gda_inproc_help() for some of the context's queues; the next call tries others. */
bool gda_inproc_help_all(struct gda_inproc_context *ctx, unsigned int polls);

#endif /* GDA_INPROC_WORKER_H */
