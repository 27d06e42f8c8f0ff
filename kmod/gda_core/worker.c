// SPDX-License-Identifier: GPL-2.0
/*
 * The worker: one kernel thread for each bound context, charged to the cgroups of the task that
 * bound it. It scans the active doorbell pages in turn and gives each queue that has work one visit
 * of the engine. A visit is bounded, so no queue starves another.
 *
 * Posts to pages that are not mapped are carried out by their faults (doorbell.c), which may visit
 * queues while the worker does not: see gda_visit_trylock().
 *
 * The worker busy-polls while pages are active, makes a page silent after idle_us without work, or
 * after GDA_WIRE_US if work is in flight, and sleeps when no page is active. It scans paced pages
 * (see doorbell.c) every GDA_PACE_US; if a scan takes long, it sleeps GDA_PACE_SHARE times as long
 * as the scan took. It is inside gda_read_lock() while it scans a page and leaves after each visit,
 * so a task that destroys an object or revokes memory waits for one visit at most, whatever the CPU
 * limit of the context's owner. Between visits it signals the events of the context's CQs
 * (event.c).
 *
 * A QP whose peer was not ready is not visited until its delay is over. The delay keeps no page
 * active: the worker sleeps until the first delay ends, and then scans all pages.
 */
#include <linux/bottom_half.h>
#include <linux/cgroup.h>
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/rcupdate.h>
#include <linux/sched/stat.h>
#include <linux/sched/task.h>
#include <linux/timekeeping.h>

#include <gda/netlink.h>

#include "gda_private.h"
#include "trace.h"

#define GDA_PACE_US	50U

/* How long a page is polled at most whose queues only wait for the wire. */
#define GDA_WIRE_US	200U
#define GDA_PACE_SHARE	8U

/* How long a page is polled at most while stores to it fault. */
#define GDA_TRY_US	200U

/* A worker that had no processor for longer than this was late: posters have to do without it. */
#define GDA_LATE_US	300U

/* A pass over a context's doorbells, and what it found. */
struct gda_pass {
	u64 now;
	bool all;		/* look at all queues of active pages */
	bool progress;
	bool active;		/* some page is active... */
	bool eager;		/* ... and not paced */
};

/* Copy a bitmap that other CPUs change meanwhile. */
static void gda_worker_snapshot(unsigned long *to, const unsigned long *from, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < BITS_TO_LONGS(n); i++)
		to[i] = READ_ONCE(from[i]);
}

/* Was gda_worker_stop() called? Then nothing is visited (unstarted: see gda_worker_wait()). */
static bool gda_worker_stopping(const struct gda_ctx *ctx)
{
	return READ_ONCE(ctx->worker.stopped);
}

/* Does the pass end here, because the worker has to stop, or to leave the group that pays? */
static bool gda_worker_breaks(const struct gda_ctx *ctx)
{
	return gda_worker_stopping(ctx) || test_bit(GDA_WORKER_MOVED, &ctx->worker.flags);
}

/*
 * Signal noted events. No lock is held and no SRCU section is entered: an eventfd may have many
 * waiters.
 */
static void gda_worker_signal(struct gda_ctx *ctx)
{
	unsigned int n;

	for (n = gda_events_noted(ctx); unlikely(n) && !gda_worker_stopping(ctx); n--) {
		gda_event_signal(ctx);
		cond_resched_tasks_rcu_qs();
	}
}

/* While outcomes are traced, the engine tells them as if they were recorded. */
static bool gda_worker_traces(struct gda_engine_qp *q)
{
	if (!trace_gda_fetched_enabled() && !trace_gda_outcome_enabled())
		return false;
	q->record |= GDA_ENGINE_RECORD;
	return true;
}

static u32 gda_worker_visit(struct gda_qp *qp)
{
	struct gda_engine_qp *q = &qp->engine_qp;

	if (unlikely(gda_record_visit(&qp->obj.ctx->record, q) | gda_worker_traces(q)))
		qp->visit_ns = ktime_get_ns();
	if (unlikely(qp->visit))
		return gda_executor_visit(qp);
	return gda_engine_visit(&qp->engine_qp, GDA_VISIT_WQES, GDA_VISIT_BYTES);
}

/*
 * Serve one queue. Called under SRCU, with the right to visit. A visit that finds nothing to do is
 * not counted, and costs no store.
 */
bool gda_worker_serve(struct gda_db_page *db_page, unsigned int slot, u64 now)
{
	struct gda_qp *qp = READ_ONCE(db_page->qps[slot]);
	u64 producer;

	if (!qp || !gda_qp_may_visit(qp))
		return false;
	producer = qp->engine_qp.pi;
	if (!gda_worker_visit(qp))
		return false;
	gda_qp_account_visit(qp, producer, now);
	return true;
}

/* Serve the next queue of @pass that has work. Return: whether one had. */
static bool gda_worker_serve_next(struct gda_db_page *db_page, struct gda_sweep_pass *pass,
				  u64 now)
{
	u32 slot;

	while (gda_sweep_next(&db_page->sweep, pass, &slot)) {
		if (!gda_worker_serve(db_page, slot, now))
			continue;
		gda_sweep_worked(&db_page->sweep, slot);
		return true;
	}
	return false;
}

/*
 * Begin to read. If a visit may raise softirqs, they are disabled until the section is over, so
 * that nobody waits for them.
 */
static int gda_worker_read_lock(bool softirq) __acquires(&gda_srcu)
{
	if (softirq)
		local_bh_disable();
	return gda_read_lock();
}

static void gda_worker_read_unlock(bool softirq, int idx) __releases(&gda_srcu)
{
	gda_read_unlock(idx);
	if (softirq)
		local_bh_enable();
}

/* Does another task want the worker's processor? */
static bool gda_worker_is_wanted(void)
{
	return gda_need_resched() || !single_task_running();
}

/*
 * Another task wants the worker's processor: have posters do without the worker, and give way. A
 * task that wants the processor for long then has it.
 */
static void gda_worker_give_way(struct gda_ctx *ctx)
{
	bool relied = READ_ONCE(ctx->policy.mapped) || READ_ONCE(ctx->policy.tried);
	u64 begin;

	WRITE_ONCE(ctx->worker.alone, false);
	if (!relied || !gda_policy_applies(ctx)) {
		cond_resched_tasks_rcu_qs();
		return;
	}
	gda_doorbell_withdraw(ctx);
	begin = ktime_get_ns();
	yield();
	if (ktime_get_ns() - begin > GDA_LATE_US * NSEC_PER_USEC || gda_worker_is_wanted())
		gda_doorbell_late(ctx);
}

/* Called between two passes without a sleep. */
static void gda_worker_stay(struct gda_ctx *ctx)
{
	if (unlikely(gda_worker_is_wanted())) {
		gda_worker_give_way(ctx);
		return;
	}
	WRITE_ONCE(ctx->worker.alone, true);
	/* a worker that never sleeps must report quiescence to RCU tasks */
	cond_resched_tasks_rcu_qs();
}

/* The worker lost its processor since the last pass, and did not give way. Was that for long? */
static void gda_worker_switched(struct gda_ctx *ctx, u64 now)
{
	struct gda_worker *worker = &ctx->worker;

	worker->switched = current->nivcsw;
	if (now - worker->last_pass > GDA_LATE_US * NSEC_PER_USEC &&
	    READ_ONCE(ctx->policy.mapped) && gda_policy_applies(ctx))
		gda_doorbell_late(ctx);
}

/* Serve the next queue of a page. @begun: it is not the first. Return: whether any had work. */
static bool gda_worker_scan_next(struct gda_ctx *ctx, unsigned int page, bool begun,
				 struct gda_sweep_pass *pass,
				 const struct gda_pass *worker_pass)
{
	bool softirq = ctx->exec.dev->ops->softirq;
	int idx = gda_worker_read_lock(softirq);
	/* pairs with smp_store_release in gda_cell_alloc() */
	struct gda_db_page *db_page = smp_load_acquire(&ctx->db[page]);
	bool served = false;

	if (db_page && !begun)
		gda_sweep_begin(&db_page->sweep, pass, BITS_TO_LONGS(GDA_CELLS),
				worker_pass->all);
	if (db_page)
		served = gda_worker_serve_next(db_page, pass, worker_pass->now);
	gda_worker_read_unlock(softirq, idx);
	return served;
}

/*
 * Serve the queues of one page, each once. Return: whether any had work. If a fault has the right
 * to visit, the rest is left to the next pass.
 */
static bool gda_worker_scan(struct gda_ctx *ctx, unsigned int page,
			    const struct gda_pass *worker_pass)
{
	bool begun = false, progress = false;
	struct gda_sweep_pass pass;

	if (!gda_visit_trylock(&ctx->visiting))
		return false;
	for (;;) {
		bool served = gda_worker_scan_next(ctx, page, begun, &pass, worker_pass);

		begun = true;
		gda_worker_signal(ctx);
		progress |= served;
		if (!served || gda_worker_breaks(ctx))
			break;
		if (likely(!gda_need_resched())) {
			/* as in gda_worker_stay() */
			cond_resched_tasks_rcu_qs();
			continue;
		}
		gda_visit_unlock(&ctx->visiting);
		gda_worker_give_way(ctx);
		if (!gda_visit_trylock(&ctx->visiting))
			return progress;
	}
	gda_visit_unlock(&ctx->visiting);
	return progress;
}

/*
 * Should a page that was silent for @silent ns be polled no more? A page that waits for the wire is
 * polled only while no other task wants the processor, and not for long: a completion wakes the
 * worker, and its sender may need this processor. A page whose stores fault is not polled for long
 * either.
 */
static bool gda_worker_expired(const struct gda_ctx *ctx, const struct gda_db_page *db_page,
			       s64 silent)
{
	unsigned int us = READ_ONCE(gda_limits.idle_us);

	if (ctx->exec.dev->ops->arm && gda_doorbell_waits(db_page)) {
		if (need_resched())
			return true;
		us = min(us, GDA_WIRE_US);
	} else if (gda_policy_applies(ctx) && gda_doorbell_faults(db_page)) {
		us = min(us, GDA_TRY_US);
	}
	return silent >= us * 1000LL;
}

/* Update the page's time of last work. Return: true if the page was silent for long enough. */
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
		u64 since = max(READ_ONCE(db_page->silent_since), ctx->worker.woken);
		/* a fault may have set @silent_since past @now */
		s64 silent = pass->now - since;

		expired = gda_worker_expired(ctx, db_page, silent);
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

		if (gda_worker_breaks(ctx))
			return;
		progress = gda_worker_scan(ctx, page, pass);
		pass->active = true;
		pass->progress |= progress;
		if (gda_worker_age(ctx, page, progress, pass))
			gda_doorbell_idle(ctx, page);
	}
}

/* Has a page work? Perhaps, if a fault has the right to visit. */
static bool gda_worker_pending(struct gda_ctx *ctx, unsigned int page)
{
	struct gda_db_page *db_page;
	bool pending;
	int idx;

	if (!gda_visit_trylock(&ctx->visiting))
		return true;
	idx = gda_read_lock();
	/* as in gda_worker_scan_next() */
	db_page = smp_load_acquire(&ctx->db[page]);
	pending = db_page && gda_doorbell_pending(db_page);
	gda_read_unlock(idx);
	gda_visit_unlock(&ctx->visiting);
	return pending;
}

/* After a kick: activate each silent page that has work. */
static void gda_worker_activate_pages(struct gda_ctx *ctx)
{
	DECLARE_BITMAP(active, GDA_CELL_PAGES);
	unsigned int page;

	gda_worker_snapshot(active, ctx->active, GDA_CELL_PAGES);
	for_each_clear_bit(page, active, GDA_CELL_PAGES)
		if (READ_ONCE(ctx->db[page]) && gda_worker_pending(ctx, page))
			gda_doorbell_activate(ctx, page);
}

/*
 * Have the worker wake up at @ns, when a QP's delay ends. Called with the right to visit: the page
 * of the QP may be silent at @ns, and no doorbell wakes the worker for it. A fault kicks the worker
 * afterwards, which then asks again for all QPs.
 */
void gda_worker_set_due(struct gda_ctx *ctx, u64 ns)
{
	u64 due = READ_ONCE(ctx->worker.due);

	if (!due || ns < due)
		WRITE_ONCE(ctx->worker.due, ns);
}

/* Has the delay of some QP ended? gda_qp_attend() sets those delays that go on again. */
static bool gda_worker_is_due(struct gda_ctx *ctx, u64 now)
{
	u64 due = READ_ONCE(ctx->worker.due);

	if (likely(!due) || now < due)
		return false;
	WRITE_ONCE(ctx->worker.due, 0);
	gda_wait_due(ctx);
	return true;
}

/* Sleep until wake_up_process(), or until the first delay ends. */
static void gda_worker_schedule(const struct gda_ctx *ctx)
{
	ktime_t due = ns_to_ktime(READ_ONCE(ctx->worker.due));

	if (due)
		schedule_hrtimeout_range(&due, GDA_PACE_US * NSEC_PER_USEC, HRTIMER_MODE_ABS);
	else
		schedule();
}

static void gda_worker_sleep(struct gda_ctx *ctx)
{
	struct gda_worker *worker = &ctx->worker;
	DECLARE_BITMAP(active, GDA_CELL_PAGES);
	bool slept = false;

	/* pairs with wake_up_process() after a page, the kick, an event or the stop was set */
	set_current_state(TASK_IDLE);
	gda_worker_snapshot(active, ctx->active, GDA_CELL_PAGES);
	if (!gda_worker_stopping(ctx) && !READ_ONCE(ctx->worker.flags) &&
	    !gda_events_noted(ctx) && bitmap_empty(active, GDA_CELL_PAGES)) {
		WRITE_ONCE(worker->state, GDA_WORKER_STATE_ASLEEP);
		WRITE_ONCE(worker->sleeps, worker->sleeps + 1);
		gda_record_asleep(ctx, true);
		trace_gda_worker(ctx->id, true);
		gda_worker_schedule(ctx);
		WRITE_ONCE(worker->wakeups, worker->wakeups + 1);
		worker->woken = ktime_get_ns();
		slept = true;
	}
	__set_current_state(TASK_RUNNING);
	if (slept) {
		gda_record_asleep(ctx, false);
		trace_gda_worker(ctx->id, false);
	}
}

/*
 * Sleep until the paced pages are to be scanned again, or an event is noted. TASK_IDLE does not
 * count as load.
 */
static void gda_worker_pace(struct gda_ctx *ctx, const struct gda_pass *pass)
{
	u64 ns = (ktime_get_ns() - pass->now) * GDA_PACE_SHARE;
	ktime_t wait;

	ns = clamp_t(u64, ns, GDA_PACE_US * NSEC_PER_USEC,
		     (READ_ONCE(gda_limits.idle_us) + GDA_PACE_US) * NSEC_PER_USEC);
	wait = ns_to_ktime(ns);
	WRITE_ONCE(ctx->worker.state, GDA_WORKER_STATE_PACED);
	set_current_state(TASK_IDLE);
	/* pairs with wake_up_process() in gda_event_note() */
	if (!gda_events_noted(ctx))
		schedule_hrtimeout_range(&wait, ns, HRTIMER_MODE_REL);
	__set_current_state(TASK_RUNNING);
}

static bool gda_worker_is(const struct gda_ctx *ctx, enum gda_payer_place place)
{
	return unlikely(READ_ONCE(ctx->payer.place) == place);
}

/* Stop while the payer's group freezes. gda_payer_tell() and gda_worker_stop() end the stop. */
static void gda_worker_park(struct gda_ctx *ctx)
{
	for (;;) {
		set_current_state(TASK_IDLE);
		if (!gda_worker_is(ctx, GDA_PAYER_FREEZES) || gda_worker_stopping(ctx))
			break;
		WRITE_ONCE(ctx->worker.state, GDA_WORKER_STATE_ASLEEP);
		schedule();
	}
	__set_current_state(TASK_RUNNING);
}

/* A cpuset that the worker has entered sets its affinity: keep only CPUs of the owner. */
static void gda_worker_affine(struct gda_worker *worker)
{
	cpumask_var_t cpus;

	if (!alloc_cpumask_var(&cpus, GFP_KERNEL))
		return;
	if (cpumask_and(cpus, &worker->cpus, &current->cpus_mask) &&
	    !cpumask_equal(cpus, &current->cpus_mask))
		set_cpus_allowed_ptr(current, cpus);
	free_cpumask_var(cpus);
}

/* Another process is the payer, or the worker is in another group. */
static void gda_worker_moved(struct gda_ctx *ctx)
{
	if (gda_worker_is(ctx, GDA_PAYER_GONE))
		gda_doorbell_recall(ctx);
	gda_worker_affine(&ctx->worker);
	gda_worker_park(ctx);
}

/*
 * Nobody pays: sleep GDA_PACE_SHARE times as long as the pass took, for each such context of the
 * user. Together they take a ninth of a processor.
 */
static void gda_worker_rest(struct gda_ctx *ctx, const struct gda_pass *pass)
{
	u64 now = ktime_get_ns();
	u64 ns = (now - pass->now) * GDA_PACE_SHARE * gda_account_orphans(ctx);
	ktime_t end = ns_to_ktime(now + max_t(u64, ns, GDA_PACE_US * NSEC_PER_USEC));
	bool over = false;

	WRITE_ONCE(ctx->worker.state, GDA_WORKER_STATE_PACED);
	while (!over) {
		ktime_t wait = end;

		gda_worker_signal(ctx);
		/* pairs with wake_up_process() after an event was noted, or in gda_payer_tell() */
		set_current_state(TASK_IDLE);
		over = !gda_worker_is(ctx, GDA_PAYER_GONE) || gda_worker_stopping(ctx);
		if (!over && !gda_events_noted(ctx))
			over = !schedule_hrtimeout_range(&wait, GDA_PACE_US * NSEC_PER_USEC,
							 HRTIMER_MODE_ABS);
		__set_current_state(TASK_RUNNING);
	}
}

/* Arguments of a new worker, on the stack of its creator, which waits for it. */
struct gda_worker_create_args {
	struct gda_ctx *ctx;
	struct task_struct *owner;
	struct completion done;
	int ret;
};

/*
 * Exempt a thread that other tasks wait for from the CPU limit of its owner's cgroup. With
 * RT_GROUP_SCHED a real-time task of that cgroup may have no time at all.
 */
void gda_worker_unlimit(struct task_struct *task)
{
	if (!IS_ENABLED(CONFIG_RT_GROUP_SCHED))
		sched_set_fifo_low(task);
}

/*
 * The worker attaches itself to the cgroups of its owner, because attaching takes a mutex of
 * all cgroups: if the owner did it, its CPU limit could stop it with the mutex held. The worker
 * is under that limit as soon as it is attached. Its nice value and affinity are the owner's.
 */
static struct gda_ctx *gda_worker_created(struct gda_worker_create_args *args)
{
	struct gda_ctx *ctx = args->ctx;
	int nice = task_nice(args->owner);

	gda_worker_unlimit(current);
	args->ret = cgroup_attach_task_all(args->owner, current);
	set_cpus_allowed_ptr(current, &args->owner->cpus_mask);
	complete(&args->done);
	sched_set_normal(current, nice);
	return ctx;
}

/* Wait for gda_worker_start(). Return: false if kthread_stop() came first. */
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

		if (unlikely(test_bit(GDA_WORKER_MOVED, &ctx->worker.flags)) &&
		    test_and_clear_bit(GDA_WORKER_MOVED, &ctx->worker.flags)) {
			gda_worker_moved(ctx);
			continue;
		}
		if (test_and_clear_bit(GDA_WORKER_KICK, &ctx->worker.flags) ||
		    gda_worker_is_due(ctx, pass.now)) {
			gda_worker_activate_pages(ctx);
			pass.all = true;
		}
		WRITE_ONCE(ctx->worker.passes, ctx->worker.passes + 1);
		gda_worker_signal(ctx);
		if (unlikely(current->nivcsw != ctx->worker.switched))
			gda_worker_switched(ctx, pass.now);
		WRITE_ONCE(ctx->worker.last_pass, pass.now);
		gda_worker_pass(ctx, &pass);
		if (unlikely(READ_ONCE(ctx->narming)))
			gda_arm_look(ctx);
		found = pass.progress;
		if (pass.active && gda_worker_is(ctx, GDA_PAYER_GONE)) {
			gda_worker_rest(ctx, &pass);
		} else if (pass.progress || pass.eager) {
			WRITE_ONCE(ctx->worker.state, GDA_WORKER_STATE_POLLING);
			gda_worker_stay(ctx);
			cpu_relax();
		} else if (pass.active) {
			gda_worker_pace(ctx, &pass);
		} else {
			gda_worker_sleep(ctx);
		}
	}
	return 0;
}

/*
 * Create a worker that visits no queue before gda_worker_start(), charged to the caller's
 * cgroups. @id: of the context, which does not have it yet.
 */
struct task_struct *gda_worker_create(struct gda_ctx *ctx, u32 id)
{
	struct gda_worker_create_args args = { .ctx = ctx, .owner = current };
	struct task_struct *task;

	init_completion(&args.done);
	task = kthread_run(gda_worker_main, &args, "gda/%u", id);
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
	/* gda_worker_wake() may come until the context is freed, also after the thread ended */
	get_task_struct(task);
	ctx->worker.state = GDA_WORKER_STATE_POLLING;
	/* not where the worker is created: two threads that bind at once create two workers */
	cpumask_copy(&ctx->worker.cpus, &task->cpus_mask);
	/* pairs with smp_load_acquire() in gda_payer_look() */
	smp_store_release(&ctx->worker.task, task);
	wake_up_process(task);
}

void gda_worker_stop(struct gda_ctx *ctx)
{
	lockdep_assert_held(&ctx->lock);
	if (!ctx->worker.task || ctx->worker.stopped)
		return;
	/*
	 * set before the worker becomes a real-time task: if the worker went on, it would keep this
	 * task from running
	 */
	WRITE_ONCE(ctx->worker.stopped, true);
	/* the last close of the file may be by another process than the owner */
	gda_worker_unlimit(ctx->worker.task);
	kthread_stop(ctx->worker.task);
	/* when this lock was taken, faults that did not see @stopped have visited their queues */
	mutex_lock(&ctx->map_lock);
	mutex_unlock(&ctx->map_lock);
}

void gda_worker_free(struct gda_ctx *ctx)
{
	if (ctx->worker.task)
		put_task_struct(ctx->worker.task);
}

/* Its part of GDA_IOC_QP_QUERY. */
void gda_worker_query(const struct gda_ctx *ctx, struct gda_qp_query *cmd)
{
	const struct task_struct *task = READ_ONCE(ctx->worker.task);

	cmd->passes = READ_ONCE(ctx->worker.passes);
	cmd->worker = GDA_QP_WORKER_NONE;
	if (task)
		cmd->worker = READ_ONCE(task->__state) == TASK_RUNNING ? GDA_QP_WORKER_RUNS :
									 GDA_QP_WORKER_SLEEPS;
}

/* There is no worker to wake unless gda_device_has_worker(). */
void gda_worker_wake(struct gda_ctx *ctx)
{
	struct task_struct *task = READ_ONCE(ctx->worker.task);

	if (task)
		wake_up_process(task);
}

/* Have the worker scan every queue once, also those of silent pages. Any context may call it. */
void gda_worker_kick(struct gda_ctx *ctx)
{
	/* orders the caller's stores before the bit; pairs with test_and_clear_bit() */
	smp_mb__before_atomic();
	set_bit(GDA_WORKER_KICK, &ctx->worker.flags);
	gda_worker_wake(ctx);
}
