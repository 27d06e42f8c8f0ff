/* SPDX-License-Identifier: MIT */
/*
 * Who executes the queues of a context: workers, and threads that wait, which help. With what both
 * share: faults of memory that was taken away, the sleep of workers and its end, and quiescence.
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

int gda_inproc_workers_start(struct gda_inproc_context *ctx);
/* They execute nothing any more, but can still be kicked. */
void gda_inproc_workers_stop(struct gda_inproc_context *ctx);
void gda_inproc_workers_exit(struct gda_inproc_context *ctx);

/* sleep.c */

void gda_inproc_sleep_init(struct gda_inproc_worker *w);
void gda_inproc_sleep_exit(struct gda_inproc_worker *w);
/* For @ns, or until a kick while there is no queue. Return: whether it was kicked. */
bool gda_inproc_sleep(struct gda_inproc_worker *w, u64 ns);
/* The worker ends: for all others it sleeps. */
void gda_inproc_sleep_ended(struct gda_inproc_worker *w);
bool gda_inproc_asleep(struct gda_inproc_worker *w);
void gda_inproc_wake(struct gda_inproc_worker *w);
/* End the sleep of whoever serves @slot: something there has changed. */
void gda_inproc_kick(struct gda_inproc_context *ctx, u32 slot);
/* The same, if that is no wait: who holds the worker's lock may be anybody. */
void gda_inproc_nudge(struct gda_inproc_context *ctx, u32 slot);

/* quiesce.c */

#define GDA_INPROC_SEATS	8U

struct gda_inproc_seat {
	u64 taken;			/* atomic: odd while somebody sits there */
	u8 pad[56];
};

/* A helper begins; NULL: all seats are taken. */
struct gda_inproc_seat *gda_inproc_sit(struct gda_inproc_context *ctx);
void gda_inproc_rise(struct gda_inproc_seat *seat);
/* Until no worker and no helper has a pointer that it found before the call. */
void gda_inproc_sync(void);

/* help.c */

enum gda_inproc_turn {
	GDA_INPROC_FREE,
	GDA_INPROC_HELD,
	GDA_INPROC_MINE,
	GDA_INPROC_ASKED,
};

/* Execute a queue in place of its worker, if that lets us. Return: whether there was work. */
bool gda_inproc_help(struct gda_inproc_context *ctx, u32 qpn, unsigned int polls,
		     enum gda_relax_for what);
/* The same with some of the queues of the context, others at the next call. */
bool gda_inproc_help_all(struct gda_inproc_context *ctx, unsigned int polls);

#endif /* GDA_INPROC_WORKER_H */
