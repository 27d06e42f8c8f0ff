// SPDX-License-Identifier: GPL-2.0
/*
 * The worker: one kernel thread a context, charged to the cgroups of whoever bound
 * it. It goes round the active doorbell pages and gives each queue with work one
 * visit of the engine (a budget), so no queue starves another.
 *
 * It busy-polls while pages are active, lets pages go silent after gda_idle_us
 * without work, and sleeps when none is active. Paced pages (see doorbell.c) are
 * looked at every GDA_PACE_US, or less often if looking takes long: it sleeps
 * GDA_PACE_SHARE times as long as it looked. It is a reader (gda_read_lock()) while it
 * looks at a page and lets go after each visit, so whoever destroys something, or takes
 * memory away, waits for one visit at most, whatever the CPU limit of the owner. Between
 * visits it signals the events of its context's CQs (event.c).
 *
 * A QP whose peer was not ready is passed over until its delay is over. That keeps no page
 * active: the worker sleeps until the first of them is due, and then looks at all pages.
 */
#include <linux/bottom_half.h>
#include <linux/cgroup.h>
#include <linux/completion.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/moduleparam.h>
#include <linux/rcupdate.h>
#include <linux/sched/task.h>
#include <linux/timekeeping.h>

#include "gda_private.h"

#define GDA_PACE_US	50U
#define GDA_PACE_SHARE	8U

unsigned int gda_idle_us = 1000;
module_param_named(idle_us, gda_idle_us, uint, 0444);
MODULE_PARM_DESC(idle_us, "silence in microseconds after which a doorbell page is unmapped");

/* A pass over a context's doorbells, and what it found. */
struct gda_pass {
	u64 now;
	bool all;		/* look at all queues of active pages */
	bool progress;
	bool active;		/* some page is active... */
	bool eager;		/* ... and not paced */
};

/* A copy of bits that others set and clear meanwhile. */
static void gda_worker_snapshot(unsigned long *to, const unsigned long *from, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < BITS_TO_LONGS(n); i++)
		to[i] = READ_ONCE(from[i]);
}

/* No more visits: others wait for the end. Of one that was started, see gda_worker_wait(). */
static bool gda_worker_stopping(const struct gda_ctx *ctx)
{
	return READ_ONCE(ctx->worker.stopped);
}

/* Signal what is noted, under no lock and as no reader: that may take long. */
static void gda_worker_signal(struct gda_ctx *ctx)
{
	unsigned int n;

	for (n = gda_events_noted(ctx); unlikely(n) && !gda_worker_stopping(ctx); n--) {
		gda_event_signal(ctx);
		cond_resched_tasks_rcu_qs();
	}
}

static bool gda_worker_serve(struct gda_db_page *db_page, unsigned int slot)
{
	struct gda_qp *qp = READ_ONCE(db_page->qps[slot]);

	if (!qp || !gda_qp_may_visit(qp))
		return false;
	if (unlikely(qp->visit))
		return gda_executor_visit(qp);
	return gda_engine_visit(&qp->engine_qp, GDA_VISIT_WQES, GDA_VISIT_BYTES);
}

/* Serve the next queue of @pass that has work. Return: whether one had. */
static bool gda_worker_serve_next(struct gda_db_page *db_page, struct gda_sweep_pass *pass)
{
	u32 slot;

	while (gda_sweep_next(&db_page->sweep, pass, &slot)) {
		if (!gda_worker_serve(db_page, slot))
			continue;
		gda_sweep_worked(&db_page->sweep, slot);
		return true;
	}
	return false;
}

/*
 * Begin to read, with softirqs disabled where a visit raises some: they run when the section
 * is over, so that nobody waits for them.
 */
static int gda_worker_read_lock(bool softirq)
{
	if (softirq)
		local_bh_disable();
	return gda_read_lock();
}

static void gda_worker_read_unlock(bool softirq, int idx)
{
	gda_read_unlock(idx);
	if (softirq)
		local_bh_enable();
}

/* Serve the queues of one page, each once. Return: whether any had work. */
static bool gda_worker_scan(struct gda_ctx *ctx, unsigned int page, bool all)
{
	bool softirq = ctx->exec.dev->ops->softirq;
	bool begun = false, progress = false;
	struct gda_sweep_pass pass;

	for (;;) {
		int idx = gda_worker_read_lock(softirq);
		/* pairs with smp_store_release in gda_cell_alloc() */
		struct gda_db_page *db_page = smp_load_acquire(&ctx->db[page]);
		bool served = false;

		if (db_page && !begun)
			gda_sweep_begin(&db_page->sweep, &pass, BITS_TO_LONGS(GDA_CELLS), all);
		begun = true;
		if (db_page)
			served = gda_worker_serve_next(db_page, &pass);
		gda_worker_read_unlock(softirq, idx);
		gda_worker_signal(ctx);
		if (!served || gda_worker_stopping(ctx))
			return progress;
		progress = true;
		/* a busy worker is never idle otherwise: RCU tasks wait for this */
		cond_resched_tasks_rcu_qs();
	}
}

/* Note work or silence. Return: true if the page was silent for long enough. */
static bool gda_worker_age(struct gda_ctx *ctx, unsigned int page, bool progress,
			   struct gda_pass *pass)
{
	bool expired = false;
	int idx = gda_read_lock();
	/* pairs with smp_store_release in gda_cell_alloc() */
	struct gda_db_page *db_page = smp_load_acquire(&ctx->db[page]);

	if (db_page && progress) {
		WRITE_ONCE(db_page->paced, false);
		WRITE_ONCE(db_page->silent_since, pass->now);
	} else if (db_page) {
		/* a fault may have set @silent_since past @now */
		s64 silent = pass->now - READ_ONCE(db_page->silent_since);

		expired = silent >= gda_idle_us * 1000LL;
	}
	pass->eager |= db_page && !READ_ONCE(db_page->paced);
	gda_read_unlock(idx);
	return expired;
}

static void gda_worker_pass(struct gda_ctx *ctx, struct gda_pass *pass)
{
	DECLARE_BITMAP(active, GDA_CELL_PAGES);
	unsigned int page;

	gda_worker_snapshot(active, ctx->active, GDA_CELL_PAGES);
	for_each_set_bit(page, active, GDA_CELL_PAGES) {
		bool progress;

		if (gda_worker_stopping(ctx))
			return;
		progress = gda_worker_scan(ctx, page, pass->all);
		pass->active = true;
		pass->progress |= progress;
		if (gda_worker_age(ctx, page, progress, pass))
			gda_doorbell_idle(ctx, page);
	}
}

static bool gda_worker_pending(struct gda_ctx *ctx, unsigned int page)
{
	int idx = gda_read_lock();
	/* as in gda_worker_scan() */
	struct gda_db_page *db_page = smp_load_acquire(&ctx->db[page]);
	bool pending = db_page && gda_doorbell_pending(db_page);

	gda_read_unlock(idx);
	return pending;
}

/* Somebody says that there is work, also on pages that are silent. */
static void gda_worker_rouse(struct gda_ctx *ctx)
{
	DECLARE_BITMAP(active, GDA_CELL_PAGES);
	unsigned int page;

	gda_worker_snapshot(active, ctx->active, GDA_CELL_PAGES);
	for_each_clear_bit(page, active, GDA_CELL_PAGES)
		if (READ_ONCE(ctx->db[page]) && gda_worker_pending(ctx, page))
			gda_doorbell_activate(ctx, page);
}

/*
 * A QP of the context is not to be visited before @ns. Called only by the worker: its page
 * may be silent by then, and nobody rings for it.
 */
void gda_worker_set_due(struct gda_ctx *ctx, u64 ns)
{
	if (!ctx->worker.due || ns < ctx->worker.due)
		ctx->worker.due = ns;
}

/* Has the time of some QP come? Those that are still delayed say so once more. */
static bool gda_worker_is_due(struct gda_ctx *ctx, u64 now)
{
	if (likely(!ctx->worker.due) || now < ctx->worker.due)
		return false;
	ctx->worker.due = 0;
	return true;
}

/* Until the worker is woken, or due. */
static void gda_worker_schedule(const struct gda_ctx *ctx)
{
	ktime_t due = ns_to_ktime(ctx->worker.due);

	if (due)
		schedule_hrtimeout_range(&due, GDA_PACE_US * NSEC_PER_USEC, HRTIMER_MODE_ABS);
	else
		schedule();
}

static void gda_worker_sleep(struct gda_ctx *ctx)
{
	DECLARE_BITMAP(active, GDA_CELL_PAGES);

	/* pairs with wake_up_process() after a page, the kick, an event or the stop was set */
	set_current_state(TASK_IDLE);
	gda_worker_snapshot(active, ctx->active, GDA_CELL_PAGES);
	if (!gda_worker_stopping(ctx) && !test_bit(GDA_WORKER_KICK, &ctx->worker.flags) &&
	    !gda_events_noted(ctx) && bitmap_empty(active, GDA_CELL_PAGES))
		gda_worker_schedule(ctx);
	__set_current_state(TASK_RUNNING);
}

/*
 * Sleep until the paced pages are to be looked at again, or an event is noted. Not as load:
 * nobody waits for it.
 */
static void gda_worker_pace(const struct gda_ctx *ctx, const struct gda_pass *pass)
{
	u64 ns = (ktime_get_ns() - pass->now) * GDA_PACE_SHARE;
	ktime_t wait;

	ns = clamp_t(u64, ns, GDA_PACE_US * NSEC_PER_USEC,
		     (gda_idle_us + GDA_PACE_US) * NSEC_PER_USEC);
	wait = ns_to_ktime(ns);
	set_current_state(TASK_IDLE);
	/* pairs with wake_up_process() in gda_event_note() */
	if (!gda_events_noted(ctx))
		schedule_hrtimeout_range(&wait, ns, HRTIMER_MODE_REL);
	__set_current_state(TASK_RUNNING);
}

/* Arguments of a new worker, on the stack of its creator, which waits. */
struct gda_worker_create_args {
	struct gda_ctx *ctx;
	struct task_struct *owner;
	struct completion done;
	int ret;
};

/*
 * Where others wait for a worker, the CPU limit of its owner's cgroup does not hold. With
 * RT_GROUP_SCHED it may have no time at all as a real-time task.
 */
static void gda_worker_unlimit(struct task_struct *task)
{
	if (!IS_ENABLED(CONFIG_RT_GROUP_SCHED))
		sched_set_fifo_low(task);
}

/*
 * It attaches itself to the cgroups of its owner, for that is done under a mutex of all
 * cgroups: the owner's CPU limit could stop the owner there, and everybody with it. That
 * limit is the worker's from the midst of it on.
 */
static struct gda_ctx *gda_worker_created(struct gda_worker_create_args *args)
{
	struct gda_ctx *ctx = args->ctx;

	gda_worker_unlimit(current);
	args->ret = cgroup_attach_task_all(args->owner, current);
	complete(&args->done);
	sched_set_normal(current, 0);
	return ctx;
}

/* Until gda_worker_start(). Return: false if the end comes without it. */
static bool gda_worker_wait(struct gda_ctx *ctx)
{
	bool started;

	for (;;) {
		set_current_state(TASK_IDLE);
		started = READ_ONCE(ctx->worker.task) == current;
		if (started || kthread_should_stop())
			break;
		schedule();
	}
	__set_current_state(TASK_RUNNING);
	return started;
}

static int gda_worker_main(void *data)
{
	struct gda_ctx *ctx = gda_worker_created(data);
	bool found = false;

	if (!gda_worker_wait(ctx))
		return 0;
	while (!gda_worker_stopping(ctx)) {
		struct gda_pass pass = { .now = ktime_get_ns(), .all = !found };

		if (test_and_clear_bit(GDA_WORKER_KICK, &ctx->worker.flags) ||
		    gda_worker_is_due(ctx, pass.now)) {
			gda_worker_rouse(ctx);
			pass.all = true;
		}
		gda_worker_signal(ctx);
		gda_worker_pass(ctx, &pass);
		found = pass.progress;
		if (pass.progress || pass.eager) {
			cond_resched_tasks_rcu_qs();
			cpu_relax();
		} else if (pass.active) {
			gda_worker_pace(ctx, &pass);
		} else {
			gda_worker_sleep(ctx);
		}
	}
	return 0;
}

/* A thread for @ctx that does not work yet, charged to the caller's cgroups. */
struct task_struct *gda_worker_create(struct gda_ctx *ctx)
{
	struct gda_worker_create_args args = { .ctx = ctx, .owner = current };
	struct task_struct *task;

	init_completion(&args.done);
	task = kthread_run(gda_worker_main, &args, "gda/%u", ctx->id);
	if (IS_ERR(task))
		return task;
	wait_for_completion(&args.done);
	if (args.ret) {
		kthread_stop(task);
		return ERR_PTR(args.ret);
	}
	return task;
}

void gda_worker_start(struct gda_ctx *ctx, struct task_struct *task)
{
	lockdep_assert_held(&ctx->lock);
	/* others may wake it until the context is freed, even after it ended */
	get_task_struct(task);
	WRITE_ONCE(ctx->worker.task, task);
	wake_up_process(task);
}

void gda_worker_stop(struct gda_ctx *ctx)
{
	lockdep_assert_held(&ctx->lock);
	if (!ctx->worker.task || ctx->worker.stopped)
		return;
	/* before it is a real-time task: one that went on would keep us from running */
	WRITE_ONCE(ctx->worker.stopped, true);
	/* who closes last need not be its owner */
	gda_worker_unlimit(ctx->worker.task);
	kthread_stop(ctx->worker.task);
}

void gda_worker_free(struct gda_ctx *ctx)
{
	if (ctx->worker.task)
		put_task_struct(ctx->worker.task);
}

/* Nothing where the device has no visit(): there is no worker. */
void gda_worker_wake(struct gda_ctx *ctx)
{
	struct task_struct *task = READ_ONCE(ctx->worker.task);

	if (task)
		wake_up_process(task);
}

/* Make the worker look at every queue once, silent or not. Any context. */
void gda_worker_kick(struct gda_ctx *ctx)
{
	/* what it is to find was stored before; pairs with test_and_clear_bit() */
	smp_mb__before_atomic();
	set_bit(GDA_WORKER_KICK, &ctx->worker.flags);
	gda_worker_wake(ctx);
}
