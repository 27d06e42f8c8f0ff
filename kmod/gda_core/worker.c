// SPDX-License-Identifier: GPL-2.0
/*
 * The worker: one kernel thread a context, charged to the cgroups of whoever bound
 * it. It goes round the active doorbell pages and gives each queue with work one
 * visit of the engine (a budget), so no queue starves another.
 *
 * It busy-polls while pages are active, lets pages go silent after gda_idle_us
 * without work, and sleeps when none is active. Paced pages (see doorbell.c) are
 * looked at every GDA_PACE_US. It holds gda_srcu while it looks at a page and lets go
 * of it after each visit, so whoever destroys something waits for one visit at most;
 * a visit is not preempted, so no CPU limit of the owner can stretch it.
 */
#include <linux/cgroup.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/moduleparam.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/sched/task.h>
#include <linux/timekeeping.h>

#include "gda_private.h"

#define GDA_PACE_US	50

unsigned int gda_idle_us = 1000;
module_param_named(idle_us, gda_idle_us, uint, 0444);
MODULE_PARM_DESC(idle_us, "silence in microseconds after which a doorbell page is unmapped");

/* What one pass over a context's doorbells found. */
struct gda_pass {
	u64 now;
	bool all;		/* look at silent pages too */
	bool progress;
	bool active;		/* some page is active... */
	bool eager;		/* ... and not paced */
};

/* A spinlock may sleep on PREEMPT_RT, where nothing else needs it. */
static u32 gda_worker_visit(struct gda_qp *qp)
{
	u32 n;

	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		return gda_engine_visit(&qp->eqp, GDA_VISIT_WQES, GDA_VISIT_BYTES);
	preempt_disable();
	n = gda_engine_visit(&qp->eqp, GDA_VISIT_WQES, GDA_VISIT_BYTES);
	preempt_enable();
	return n;
}

static bool gda_worker_serve(struct gda_cells *cells, unsigned int slot)
{
	struct gda_qp *qp = READ_ONCE(cells->qps[slot]);

	return qp && gda_engine_pending(&qp->eqp) && gda_worker_visit(qp);
}

/* Serve every queue of one page once. Return: whether any had work. */
static bool gda_worker_scan(struct gda_ctx *ctx, unsigned int page)
{
	unsigned int slot = 0;
	bool progress = false;

	while (slot < GDA_CELLS) {
		int idx = srcu_read_lock(&gda_srcu);
		/* pairs with smp_store_release in gda_cell_alloc() */
		struct gda_cells *cells = smp_load_acquire(&ctx->db[page]);
		bool served = false;

		while (cells && !served && slot < GDA_CELLS) {
			slot = find_next_bit(cells->used, GDA_CELLS, slot);
			if (slot < GDA_CELLS)
				served = gda_worker_serve(cells, slot++);
		}
		srcu_read_unlock(&gda_srcu, idx);
		if (!served)
			break;
		progress = true;
		/* a busy worker is never idle otherwise: RCU tasks wait for this */
		cond_resched_tasks_rcu_qs();
	}
	return progress;
}

enum gda_page_state {
	GDA_PAGE_SILENT,
	GDA_PAGE_WAKE,		/* silent, with work found by a kick */
	GDA_PAGE_ACTIVE,
};

static enum gda_page_state gda_worker_peek(struct gda_ctx *ctx, unsigned int page, bool all)
{
	enum gda_page_state state = GDA_PAGE_SILENT;
	int idx = srcu_read_lock(&gda_srcu);
	/* pairs with smp_store_release in gda_cell_alloc() */
	struct gda_cells *cells = smp_load_acquire(&ctx->db[page]);

	if (cells && READ_ONCE(cells->active))
		state = GDA_PAGE_ACTIVE;
	else if (cells && all && gda_doorbell_pending(cells))
		state = GDA_PAGE_WAKE;
	srcu_read_unlock(&gda_srcu, idx);
	return state;
}

/* Note work or silence. Return: true if the page was silent for long enough. */
static bool gda_worker_age(struct gda_ctx *ctx, unsigned int page, bool progress,
			   struct gda_pass *pass)
{
	bool expired = false;
	int idx = srcu_read_lock(&gda_srcu);
	/* pairs with smp_store_release in gda_cell_alloc() */
	struct gda_cells *cells = smp_load_acquire(&ctx->db[page]);

	if (cells && progress) {
		WRITE_ONCE(cells->paced, false);
		WRITE_ONCE(cells->silent_since, pass->now);
	} else if (cells) {
		/* a fault may have set @silent_since past @now */
		s64 silent = pass->now - READ_ONCE(cells->silent_since);

		expired = silent >= gda_idle_us * 1000LL;
	}
	pass->active |= !!cells;
	pass->eager |= cells && !READ_ONCE(cells->paced);
	srcu_read_unlock(&gda_srcu, idx);
	return expired;
}

static void gda_worker_pass(struct gda_ctx *ctx, struct gda_pass *pass)
{
	unsigned int page;

	for (page = 0; page < GDA_CELL_PAGES; page++) {
		enum gda_page_state state;
		bool progress;

		if (!READ_ONCE(ctx->db[page]))
			continue;
		state = gda_worker_peek(ctx, page, pass->all);
		if (state == GDA_PAGE_SILENT)
			continue;
		if (state == GDA_PAGE_WAKE)
			gda_doorbell_activate(ctx, page);
		progress = gda_worker_scan(ctx, page);
		pass->progress |= progress;
		if (gda_worker_age(ctx, page, progress, pass))
			gda_doorbell_idle(ctx, page);
	}
}

static bool gda_worker_any_active(struct gda_ctx *ctx)
{
	bool active = false;
	unsigned int page;
	int idx;

	idx = srcu_read_lock(&gda_srcu);
	for (page = 0; page < GDA_CELL_PAGES && !active; page++) {
		/* as in gda_worker_peek() */
		struct gda_cells *cells = smp_load_acquire(&ctx->db[page]);

		active = cells && READ_ONCE(cells->active);
	}
	srcu_read_unlock(&gda_srcu, idx);
	return active;
}

static void gda_worker_sleep(struct gda_ctx *ctx)
{
	/* pairs with wake_up_process() after @active, the kick or the stop was set */
	set_current_state(TASK_IDLE);
	if (!kthread_should_stop() && !test_bit(GDA_WORKER_KICK, &ctx->worker.flags) &&
	    !gda_worker_any_active(ctx))
		schedule();
	__set_current_state(TASK_RUNNING);
}

static int gda_worker_main(void *data)
{
	struct gda_ctx *ctx = data;

	while (!kthread_should_stop()) {
		struct gda_pass pass = {
			.now = ktime_get_ns(),
			.all = test_and_clear_bit(GDA_WORKER_KICK, &ctx->worker.flags),
		};

		gda_worker_pass(ctx, &pass);
		if (pass.progress || pass.eager) {
			cond_resched_tasks_rcu_qs();
			cpu_relax();
		} else if (pass.active) {
			usleep_range(GDA_PACE_US, 2 * GDA_PACE_US);
		} else {
			gda_worker_sleep(ctx);
		}
	}
	return 0;
}

/* A thread for @ctx that does not run yet, charged to the caller's cgroups. */
struct task_struct *gda_worker_create(struct gda_ctx *ctx)
{
	struct task_struct *task;
	int ret;

	task = kthread_create(gda_worker_main, ctx, "gda/%u", ctx->id);
	if (IS_ERR(task))
		return task;
	ret = cgroup_attach_task_all(current, task);
	if (ret) {
		kthread_stop(task);
		return ERR_PTR(ret);
	}
	return task;
}

void gda_worker_start(struct gda_ctx *ctx, struct task_struct *task)
{
	lockdep_assert_held(&ctx->lock);
	/* others may wake it until the context is freed, even after it ended */
	get_task_struct(task);
	ctx->worker.task = task;
	wake_up_process(task);
}

void gda_worker_stop(struct gda_ctx *ctx)
{
	lockdep_assert_held(&ctx->lock);
	if (!ctx->worker.task || ctx->worker.stopped)
		return;
	ctx->worker.stopped = true;
	kthread_stop(ctx->worker.task);
}

void gda_worker_free(struct gda_ctx *ctx)
{
	if (ctx->worker.task)
		put_task_struct(ctx->worker.task);
}

void gda_worker_wake(struct gda_ctx *ctx)
{
	wake_up_process(ctx->worker.task);
}

/* Make the worker look at every queue once, silent or not. Any context. */
void gda_worker_kick(struct gda_ctx *ctx)
{
	/* what it is to find was stored before; pairs with test_and_clear_bit() */
	smp_mb__before_atomic();
	set_bit(GDA_WORKER_KICK, &ctx->worker.flags);
	gda_worker_wake(ctx);
}
