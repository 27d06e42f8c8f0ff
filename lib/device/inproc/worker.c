// SPDX-License-Identifier: MIT
/*
 * Workers: threads that visit the queues of one context in turn, each with a visit of the engine.
 * A context has one worker, or as many as GDA_INPROC_WORKERS says; a queue belongs to one of
 * them for life.
 *
 * A doorbell is an ordinary store, of which no worker is notified, so a worker polls. How it
 * polls depends on the time since it last found work:
 *
 *	up to GDA_INPROC_SPIN_NS	it spins
 *	up to GDA_INPROC_YIELD_NS	it spins and yields each time; if other threads ran when it
 *					yielded lately, it yields from the beginning
 *	longer				it sleeps for an eighth of that time, at most
 *					GDA_INPROC_SLEEP_NS (GDA_INPROC_PACE_NS while the
 *					context has a QP with GDA_QP_POLLED)
 *
 * So the first work after an idle time waits for at most an eighth of that time, plus the time
 * that the system takes to wake a thread, and never much longer than GDA_INPROC_SLEEP_NS.
 *
 * A queue whose executor has poll() may have work in flight when its visit ends. The worker then
 * polls it in every pass, and neither sleeps nor becomes quiescent before that work is done.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <gda/barrier.h>
#include "inproc.h"
#include "race.h"
#include "waiter.h"

/* Limits of one visit, which bound how long other queues and gda_inproc_sync() wait. */
#define GDA_INPROC_VISIT_WQES	64U
#define GDA_INPROC_VISIT_BYTES	(256U << 10)

#define GDA_INPROC_LOOKS	64U	/* polls of idle queues per read of the clock */

#define GDA_INPROC_SPIN_NS	20000U

/* After this many successive yields in which another thread ran, the CPU counts as contended. */
#define GDA_INPROC_CROWDED	4U

/* Pauses of the worker between two polls of queues that helpers execute. */
#define GDA_INPROC_APART	16U
#define GDA_INPROC_SLEEP_NS	1000000U
#define GDA_INPROC_PACE_NS	50000U

/* Called by the worker of the QP. */
void gda_inproc_poll_later(struct gda_inproc_qp *qp)
{
	struct gda_inproc_context *ctx = qp->obj.ctx;
	struct gda_inproc_worker *w = &ctx->worker[qp->slot % ctx->nworkers];

	if (qp->polls)
		return;
	qp->polls = true;
	qp->next_polled = w->polled;
	w->polled = qp;
}

/* Poll the queues with work in flight. */
static void gda_inproc_poll(struct gda_inproc_worker *w)
{
	struct gda_inproc_qp **link = &w->polled;
	struct gda_inproc_qp *qp;

	while ((qp = *link)) {
		w->guard.qp = qp;
		gda_inproc_begin_visit(qp);
		if (qp->executor->poll(qp)) {
			link = &qp->next_polled;
			continue;
		}
		qp->polls = false;
		*link = qp->next_polled;
	}
}

/* Poll until nothing is in flight. */
static void gda_inproc_drain(struct gda_inproc_worker *w)
{
	while (w->polled) {
		gda_inproc_poll(w);
		gda_waiter_yield();
	}
}

/* Acknowledge a grace period: the worker holds no pointer to any object. */
static void gda_inproc_quiescent(struct gda_inproc_worker *w)
{
	/* pairs with gda_inproc_sync(): later lookups do not find what was unlinked before */
	u64 grace = smp_load_acquire(&gda_inproc.grace);

	if (likely(grace == w->acked))
		return;
	gda_inproc_drain(w);
	/* pairs with gda_inproc_passed(): uses of pointers found before come first */
	smp_store_release(&w->acked, grace);
}

/*
 * Return: whether to skip a QP because its RNR delay still runs or it waits for an entry of a CQ.
 * A QP that is asked to fail is visited at once.
 */
static bool gda_inproc_too_early(struct gda_inproc_qp *qp)
{
	if (gda_inproc_waits(qp))
		return true;
	if (qp->rnr_until && !READ_ONCE(qp->engine_qp.fail) && gda_inproc_now() < qp->rnr_until)
		return true;
	if (qp->rnr_until)
		WRITE_ONCE(qp->rnr_until, 0);
	qp->aside = qp->executor->visit;
	return false;
}

bool gda_inproc_visit(struct gda_inproc_qp *qp)
{
	gda_race_acquire(&qp->engine_qp.dbrec[1]);
	gda_inproc_begin_visit(qp);
	if (unlikely(qp->aside)) {
		if (gda_inproc_too_early(qp))
			return false;
		if (qp->executor->visit)
			return qp->executor->visit(qp, GDA_INPROC_VISIT_WQES,
						   GDA_INPROC_VISIT_BYTES);
	}
	return gda_engine_visit(&qp->engine_qp, GDA_INPROC_VISIT_WQES, GDA_INPROC_VISIT_BYTES);
}

/* Take the turn at a queue that is not GDA_INPROC_MINE. Return: whether it may be visited now. */
static bool gda_inproc_turn_take(struct gda_inproc_worker *w, struct gda_inproc_qp *qp,
				 u32 turn)
{
	u32 helps = READ_ONCE(qp->helps);

	if (turn == GDA_INPROC_ASKED) {
		/* pairs with the helper's acquire; the helper asked, and is polling */
		smp_store_release(&qp->turn, GDA_INPROC_FREE);
		w->lent = true;
		return false;
	}
	if (helps != qp->seen_helps) {
		qp->seen_helps = helps;
		w->lent = true;
		return false;
	}
	/* the helper that holds the turn releases it soon */
	if (turn != GDA_INPROC_FREE)
		return false;
	/* pairs with the helper's release */
	return __atomic_compare_exchange_n(&qp->turn, &turn, GDA_INPROC_HELD, false,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* A queue that had work stays this worker's: more work is likely. */
static void gda_inproc_turn_end(struct gda_inproc_worker *w, struct gda_inproc_qp *qp,
				bool worked)
{
	w->owns |= worked;
	/* pairs with a helper's acquire */
	smp_store_release(&qp->turn, worked ? GDA_INPROC_MINE : GDA_INPROC_FREE);
}

/* Release all queues before this worker sleeps, so that waiting threads may execute them. */
static void gda_inproc_turns_free(struct gda_inproc_worker *w)
{
	u32 nslots = READ_ONCE(w->ctx->nslots);
	u32 i;

	if (!w->owns)
		return;
	w->owns = false;
	for (i = w->number; i < nslots; i += w->ctx->nworkers) {
		/* pairs with the store of a QP that is complete */
		struct gda_inproc_qp *qp = smp_load_acquire(&w->ctx->slot[i]);

		if (!qp || READ_ONCE(qp->turn) < GDA_INPROC_MINE)
			continue;
		/* pairs with a helper's acquire; MINE and ASKED are this worker's to end */
		smp_store_release(&qp->turn, GDA_INPROC_FREE);
	}
}

static bool gda_inproc_serve(struct gda_inproc_worker *w, u32 slot)
{
	/* pairs with the store of a QP that is complete */
	struct gda_inproc_qp *qp = smp_load_acquire(&w->ctx->slot[slot]);
	bool worked;
	u32 turn;

	if (!qp)
		return false;
	/* pairs with a helper's release */
	turn = smp_load_acquire(&qp->turn);
	if (unlikely(turn != GDA_INPROC_MINE) && !gda_inproc_turn_take(w, qp, turn))
		return false;
	w->guard.qp = qp;
	worked = gda_inproc_visit(qp);
	if (unlikely(turn != GDA_INPROC_MINE))
		gda_inproc_turn_end(w, qp, worked);
	if (!worked)
		return false;
	gda_sweep_worked(&w->sweep, slot);
	gda_inproc_quiescent(w);
	return true;
}

/* Give each queue of this pass a visit. Return: whether any had work. */
static bool gda_inproc_pass(struct gda_inproc_worker *w)
{
	u32 words = (READ_ONCE(w->ctx->nslots) + GDA_SWEEP_WORD - 1) / GDA_SWEEP_WORD;
	bool progress = w->polled;
	struct gda_sweep_pass pass;
	u32 slot;

	if (unlikely(progress))
		gda_inproc_poll(w);
	gda_sweep_begin(&w->sweep, &pass, words, !w->found);
	while (gda_sweep_next(&w->sweep, &pass, &slot))
		progress |= gda_inproc_serve(w, slot);
	w->found = progress;
	return progress;
}

/* Yield, and note whether another thread ran. */
static void gda_inproc_yield(struct gda_inproc_worker *w)
{
	if (!gda_waiter_yield())
		w->crowded = 0;
	else if (w->crowded < GDA_INPROC_CROWDED)
		w->crowded++;
}

/* Spin, yield or sleep, after @silent ns without work. Return: whether a kick ended the sleep. */
static bool gda_inproc_rest(struct gda_inproc_worker *w, u64 silent)
{
	u64 most = READ_ONCE(w->ctx->npolled) ? GDA_INPROC_PACE_NS : GDA_INPROC_SLEEP_NS;

	if (silent >= GDA_INPROC_YIELD_NS) {
		gda_inproc_turns_free(w);
		gda_inproc_record_asleep(w, true);
		return gda_inproc_sleep(w, min(silent / 8, most));
	}
	if (silent >= GDA_INPROC_SPIN_NS || w->crowded == GDA_INPROC_CROWDED)
		gda_inproc_yield(w);
	return false;
}

/*
 * Called when helpers executed all work since @since: do not compete for their queues. The worker
 * stays awake if it is alone on this CPU, because the next post may have no waiting thread. If
 * other threads, perhaps the helpers, want the CPU, it sleeps. Return: since when there is no
 * work, or 0.
 */
static u64 gda_inproc_stand_back(struct gda_inproc_worker *w, u64 since)
{
	u64 now = gda_inproc_now();
	u32 i;

	w->lent = false;
	for (i = 0; i < GDA_INPROC_APART; i++)
		gda_pause();
	if (!since || now - since < GDA_INPROC_SPIN_NS)
		return since ? since : now;
	if (gda_inproc_rest(w, now - since))
		return 0;
	return w->crowded ? since : now - GDA_INPROC_SPIN_NS;
}

/* Separate from the caller of setjmp(), which keeps little in registers. */
static noinline void gda_inproc_worker_loop(struct gda_inproc_worker *w)
{
	u64 since = 0;			/* 0: there was work */
	u32 looks = 0;

	/* pairs with gda_inproc_worker_stop() */
	while (!smp_load_acquire(&w->stop)) {
		gda_inproc_quiescent(w);
		WRITE_ONCE(w->passes, w->passes + 1);
		if (gda_inproc_pass(w)) {
			if (unlikely(w->said_asleep))
				gda_inproc_record_asleep(w, false);
			since = 0;
			looks = 0;
			w->lent = false;
			continue;
		}
		if (unlikely(w->lent)) {
			since = gda_inproc_stand_back(w, since);
			looks = 0;
			continue;
		}
		looks += 1 + READ_ONCE(w->ctx->nslots);
		if (likely(looks < GDA_INPROC_LOOKS))
			continue;
		looks = 0;
		if (!since)
			since = gda_inproc_now();
		else if (gda_inproc_rest(w, gda_inproc_now() - since))
			since = 0;
	}
	gda_inproc_drain(w);
	gda_race_show();
	gda_inproc_sleep_ended(w);
}

static void *gda_inproc_worker_main(void *arg)
{
	struct gda_inproc_worker *w = arg;

	/* otherwise sleeps end 50 us late */
	prctl(PR_SET_TIMERSLACK, 1000UL, 0, 0, 0);
	prctl(PR_SET_NAME, "gda-inproc", 0, 0, 0);
	gda_race_hide();
	gda_inproc_guard = &w->guard;
	if (sigsetjmp(w->guard.env, 0)) {
		struct gda_inproc_qp *qp = w->guard.qp;

		gda_inproc_fault(&w->guard);
		/* the faulting queue stays this worker's, which fails it at its next visit */
		gda_inproc_turn_end(w, qp, true);
	}
	gda_inproc_worker_loop(w);
	return NULL;
}

static int gda_inproc_worker_start(struct gda_inproc_context *ctx, u32 number)
{
	struct gda_inproc_worker *w = &ctx->worker[number];
	sigset_t all, before;
	int err;

	w->ctx = ctx;
	w->number = number;
	w->sweep.used = w->used;
	w->sweep.busy = w->busy;
	w->sweep.fresh = w->fresh;
	gda_inproc_sleep_init(w);
	/* a worker blocks the program's signals, except those that the engine's accesses raise */
	sigfillset(&all);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_mutex_lock(&gda_inproc.lock);
	w->acked = __atomic_load_n(&gda_inproc.grace, __ATOMIC_ACQUIRE);
	err = pthread_create(&w->thread, NULL, gda_inproc_worker_main, w);
	if (!err) {
		w->next = gda_inproc.workers;
		gda_inproc.workers = w;
	}
	pthread_mutex_unlock(&gda_inproc.lock);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err)
		gda_inproc_sleep_exit(w);
	return -err;
}

static void gda_inproc_worker_stop(struct gda_inproc_worker *w)
{
	/* pairs with the worker's loop */
	smp_store_release(&w->stop, true);
	gda_inproc_wake(w);
	pthread_join(w->thread, NULL);
}

/* Stop a worker's thread, after the helpers of the context have left. */
static void gda_inproc_worker_exit(struct gda_inproc_worker *w)
{
	struct gda_inproc_worker **link = &gda_inproc.workers;

	pthread_mutex_lock(&gda_inproc.lock);
	while (*link != w)
		link = &(*link)->next;
	*link = w->next;
	pthread_mutex_unlock(&gda_inproc.lock);
	gda_inproc_sleep_exit(w);
}

/* Return: the number of workers of a context; or -EINVAL. */
static int gda_inproc_workers_wanted(void)
{
	const char *env = secure_getenv("GDA_INPROC_WORKERS");
	char *end;
	long n;

	if (!env)
		return 1;
	n = strtol(env, &end, 10);
	if (end == env || *end || n < 1 || n > (long)GDA_INPROC_MAX_WORKERS)
		return gda_because(-EINVAL,
				   "GDA_INPROC_WORKERS=%s is no number from 1 to %u: unset it, or correct it",
				   env, GDA_INPROC_MAX_WORKERS);
	return (int)n;
}

int gda_inproc_workers_start(struct gda_inproc_context *ctx)
{
	int wanted = gda_inproc_workers_wanted();
	u32 i;
	int err;

	if (wanted < 0)
		return wanted;
	/* set nworkers before the first worker, which reads it, starts; it never changes */
	ctx->nworkers = (u32)wanted;
	for (i = 0; i < ctx->nworkers; i++) {
		err = gda_inproc_worker_start(ctx, i);
		if (err)
			goto err_stop;
	}
	return 0;

err_stop:
	while (i--) {
		gda_inproc_worker_stop(&ctx->worker[i]);
		gda_inproc_worker_exit(&ctx->worker[i]);
	}
	return err;
}

void gda_inproc_workers_stop(struct gda_inproc_context *ctx)
{
	u32 i;

	for (i = 0; i < ctx->nworkers; i++)
		gda_inproc_worker_stop(&ctx->worker[i]);
}

void gda_inproc_workers_exit(struct gda_inproc_context *ctx)
{
	u32 i;

	for (i = 0; i < ctx->nworkers; i++)
		gda_inproc_worker_exit(&ctx->worker[i]);
}
