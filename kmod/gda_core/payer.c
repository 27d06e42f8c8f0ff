// SPDX-License-Identifier: GPL-2.0
/*
 * The payer: the process whose cgroups the worker of a context is in, so that its time counts
 * there. It is the process that bound the context; once that has ended, the next process that uses
 * the context by a call or by a store to a silent doorbell page. Until one does, the context has no
 * payer.
 *
 * Cgroups do not know of payers: a kernel thread in a group keeps the group from being removed and,
 * because it is counted and never freezes, from being frozen. So one work item looks at all bound
 * contexts every GDA_PAYER_PERIOD and moves workers: after a payer that has moved to other groups,
 * and to the root group if the payer has ended or its group is about to freeze. A worker stops
 * before it leaves a group. In the root group it stands still until its payer thaws; if it has no
 * payer, it works for a small part of the time (worker.c).
 *
 * The moves of one round are made by a task of the usermode helper, which is no kernel thread and
 * executes no program, for two reasons:
 *
 * - A group is counted as frozen when its last task freezes or a task leaves it, but not when a
 *   kernel thread leaves it. The task enters the group, moves the worker out, and leaves.
 * - A payer may end, and its groups be removed, before the worker gets there; a task in a removed
 *   group never leaves it. So the helper's task enters the groups first: either it keeps them, or
 *   it is caught there itself, and ends.
 *
 * A round makes one such task, and at most GDA_PAYER_BATCH moves, for all tenants together; the
 * next one goes on where it ended. Moving takes the mutex of all cgroups. Neither the work item nor
 * the task has a CPU limit while it moves workers; of a context's locks they take only payer.lock,
 * and they are in no read section then.
 */
#include <linux/cgroup.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/umh.h>
#include <linux/workqueue.h>

#include "gda_private.h"

#define GDA_PAYER_PERIOD	(HZ / 10)

/*
 * How many contexts are looked at in one read section, workers moved in a round, and threads of a
 * payer looked at.
 */
#define GDA_PAYER_BATCH		64U

/* A worker that is not where its payer wants it. */
struct gda_payer_move {
	u32 id;				/* of its context */
	enum gda_payer_place place;
	struct task_struct *worker;	/* with a reference */
	struct task_struct *to;		/* ... into whose cgroups; NULL: it is there already */
};

/* The work item's own. */
static struct {
	struct gda_payer_move move[GDA_PAYER_BATCH];
	unsigned int n;
	bool leaves;			/* some worker is in the wrong groups */
	unsigned long next;		/* id of the context to look at first */
} gda_payer_moves;

static void gda_payer_round(struct work_struct *work);
static DECLARE_DELAYED_WORK(gda_payer_work, gda_payer_round);

/* The caller becomes the payer, unless it is a kernel thread that touches memory for a process. */
void gda_payer_become(struct gda_payer *payer)
{
	struct pid *process, *thread;

	if (current->flags & PF_KTHREAD)
		return;
	process = get_pid(task_tgid(current));
	thread = get_pid(task_pid(current));
	spin_lock(&payer->lock);
	swap(payer->process, process);
	swap(payer->thread, thread);
	WRITE_ONCE(payer->gone, false);
	spin_unlock(&payer->lock);
	put_pid(thread);
	put_pid(process);
}

void gda_payer_init(struct gda_ctx *ctx)
{
	spin_lock_init(&ctx->payer.lock);
}

/* The caller binds @ctx, whose worker is in the caller's cgroups. */
void gda_payer_bind(struct gda_ctx *ctx)
{
	gda_payer_become(&ctx->payer);
	queue_delayed_work(gda_wq, &gda_payer_work, GDA_PAYER_PERIOD);
}

/* No reader finds @ctx any more, or @ctx was never bound. */
void gda_payer_free(struct gda_ctx *ctx)
{
	if (ctx->payer.place == GDA_PAYER_GONE)
		gda_account_orphan(ctx, -1);
	put_pid(ctx->payer.thread);
	put_pid(ctx->payer.process);
}

static bool gda_payer_ends(struct task_struct *task)
{
	return READ_ONCE(task->flags) & PF_EXITING;
}

/*
 * Under RCU. Return: a thread of the process that has not ended, or NULL. A tracer may keep any
 * number of ended threads, so not all threads are looked at.
 */
static struct task_struct *gda_payer_any_thread(struct task_struct *leader)
{
	struct task_struct *thread;
	unsigned int looked = 0;

	for_each_thread(leader, thread) {
		if (!gda_payer_ends(thread))
			return thread;
		if (++looked == GDA_PAYER_BATCH)
			break;
	}
	return NULL;
}

/*
 * Under RCU. Return: the thread that became the payer; if it has ended, one of its process; or
 * NULL.
 */
static struct task_struct *gda_payer_thread(struct gda_payer *payer)
{
	struct task_struct *thread, *leader;

	spin_lock(&payer->lock);
	thread = pid_task(payer->thread, PIDTYPE_PID);
	leader = pid_task(payer->process, PIDTYPE_TGID);
	spin_unlock(&payer->lock);
	if (thread && !gda_payer_ends(thread))
		return thread;
	return leader ? gda_payer_any_thread(leader) : NULL;
}

/* Under RCU. A task freezes if its group, or one above, is about to freeze. */
static bool gda_payer_freezing(struct task_struct *task)
{
	return test_bit(CGRP_FREEZE, &task_dfl_cgroup(task)->flags);
}

/* Under RCU: where should the worker of @ctx be, and in whose cgroups? */
static enum gda_payer_place gda_payer_place(struct gda_ctx *ctx, struct task_struct **to)
{
	struct task_struct *payer = gda_payer_thread(&ctx->payer);

	*to = &init_task;
	if (!payer)
		return GDA_PAYER_GONE;
	if (gda_payer_freezing(payer))
		return GDA_PAYER_FREEZES;
	*to = payer;
	return GDA_PAYER_PAYS;
}

/* Under RCU and gda_srcu: note @ctx if its worker has to be moved or told something. */
static void gda_payer_look(struct gda_ctx *ctx)
{
	struct gda_payer_move *m = &gda_payer_moves.move[gda_payer_moves.n];
	struct task_struct *to;

	/* pairs with smp_store_release() in gda_worker_start(): ctx->account is set, too */
	m->worker = smp_load_acquire(&ctx->worker.task);
	if (!m->worker || READ_ONCE(ctx->worker.stopped))
		return;
	m->id = ctx->id;
	m->place = gda_payer_place(ctx, &to);
	m->to = NULL;
	/* all groups of a task, in all hierarchies, are one object */
	if (task_css_set(m->worker) != task_css_set(to))
		m->to = get_task_struct(to);
	else if (m->place == READ_ONCE(ctx->payer.place) &&
		 (m->place != GDA_PAYER_GONE || READ_ONCE(ctx->payer.gone)))
		return;
	gda_payer_moves.leaves |= !!m->to;
	get_task_struct(m->worker);
	gda_payer_moves.n++;
}

/* Look at some contexts from @id on. Return: the id to go on with, or 0 after the last one. */
static unsigned long gda_payer_look_from(unsigned long id)
{
	unsigned int looked = 0;
	unsigned long index;
	struct gda_ctx *ctx;
	int idx = gda_read_lock();

	rcu_read_lock();
	xa_for_each_start(&gda_contexts, index, ctx, id) {
		if (looked++ == GDA_PAYER_BATCH || gda_payer_moves.n == GDA_PAYER_BATCH)
			break;
		gda_payer_look(ctx);
	}
	rcu_read_unlock();
	gda_read_unlock(idx);
	return ctx ? index : 0;
}

static void gda_payer_collect(void)
{
	unsigned long id = gda_payer_moves.next;

	gda_payer_moves.n = 0;
	gda_payer_moves.leaves = false;
	do {
		id = gda_payer_look_from(id);
		cond_resched();
	} while (id && gda_payer_moves.n < GDA_PAYER_BATCH);
	gda_payer_moves.next = id;
}

/* Tell the worker, if it still is that of a context. */
static void gda_payer_tell(const struct gda_payer_move *m, enum gda_payer_place place)
{
	int idx = gda_read_lock();
	struct gda_ctx *ctx = xa_load(&gda_contexts, m->id);

	if (ctx && READ_ONCE(ctx->worker.task) == m->worker) {
		struct gda_payer *payer = &ctx->payer;

		gda_account_orphan(ctx, (place == GDA_PAYER_GONE) -
					(payer->place == GDA_PAYER_GONE));
		spin_lock(&payer->lock);
		WRITE_ONCE(payer->gone, place == GDA_PAYER_GONE);
		spin_unlock(&payer->lock);
		WRITE_ONCE(payer->place, place);
		/*
		 * pairs with test_and_clear_bit() in gda_worker_main(): a worker that sees the bit
		 * sees the place
		 */
		smp_mb__before_atomic();
		set_bit(GDA_WORKER_MOVED, &ctx->worker.flags);
		gda_worker_wake(ctx);
	}
	gda_read_unlock(idx);
}

/* The worker is about to leave its group: it stops, or goes on slowly. */
static void gda_payer_tell_leaves(const struct gda_payer_move *m)
{
	gda_payer_tell(m, m->place == GDA_PAYER_PAYS ? GDA_PAYER_FREEZES : m->place);
}

/*
 * Enter the groups of @task. Return: whether these groups cannot be removed now, because this task
 * is in them.
 */
static bool gda_payer_enter(struct task_struct *task)
{
	bool kept;

	if (cgroup_attach_task_all(task, current))
		return false;
	rcu_read_lock();
	kept = !task_css_set(current)->dead;
	rcu_read_unlock();
	return kept;
}

/*
 * Return: false if this task cannot go on, and the remaining moves are left to the next round. A
 * task that has ended keeps no group: its group may be removed, and has no controllers a grace
 * period of RCU later, which cgroup_attach_task_all() does not check. So the task is checked just
 * before.
 */
static bool gda_payer_move(const struct gda_payer_move *m)
{
	if (m->to) {
		if (gda_payer_ends(m->worker))
			return true;
		if (!gda_payer_enter(m->worker))
			return false;
		gda_payer_tell_leaves(m);
		if (cgroup_attach_task_all(&init_task, m->worker))
			return true;
	}
	if (m->to && m->place == GDA_PAYER_PAYS) {
		if (gda_payer_ends(m->to))
			return true;
		if (!gda_payer_enter(m->to))
			return false;
		if (cgroup_attach_task_all(current, m->worker))
			return true;
	}
	gda_payer_tell(m, m->place);
	return true;
}

/*
 * Runs in a task of the usermode helper, see above. Return: never 0, which would execute a program.
 */
static int gda_payer_move_all(struct subprocess_info *info, struct cred *cred)
{
	unsigned int i;

	/*
	 * so that no CPU limit of these groups stops this task while it holds the mutex of all
	 * cgroups
	 */
	gda_worker_unlimit(current);
	for (i = 0; i < gda_payer_moves.n; i++) {
		if (!gda_payer_move(&gda_payer_moves.move[i])) {
			/*
			 * the next round begins after this worker, which so keeps no other from
			 * being moved
			 */
			gda_payer_moves.next = gda_payer_moves.move[i].id + 1UL;
			break;
		}
	}
	cgroup_attach_task_all(&init_task, current);
	return -ECANCELED;
}

/*
 * Move a worker without the usermode helper: groups can be removed, but do not report that they
 * have frozen.
 */
static void gda_payer_move_alone(const struct gda_payer_move *m)
{
	if (m->to) {
		gda_payer_tell_leaves(m);
		if (gda_payer_ends(m->to) || gda_payer_ends(m->worker))
			return;
		if (cgroup_attach_task_all(m->to, m->worker))
			return;
	}
	gda_payer_tell(m, m->place);
}

/*
 * Return: 0 if there is no usermode helper. If it fails, as while the machine suspends, the next
 * round repeats the moves. UMH_WAIT_EXEC: when this returns, the task runs no code of the module.
 */
static int gda_payer_help(void)
{
	char *argv[2] = { "gda", NULL };
	struct subprocess_info *info;

	info = call_usermodehelper_setup(argv[0], argv, argv + 1, GFP_KERNEL, gda_payer_move_all,
					 NULL, NULL);
	return info ? call_usermodehelper_exec(info, UMH_WAIT_EXEC) : -ENOMEM;
}

static void gda_payer_round(struct work_struct *work)
{
	bool alone;
	unsigned int i;

	gda_payer_collect();
	/*
	 * with RT_GROUP_SCHED the helper cannot be exempted from the limits of the groups that it
	 * enters
	 */
	alone = !gda_payer_moves.leaves || IS_ENABLED(CONFIG_RT_GROUP_SCHED) || !gda_payer_help();
	for (i = 0; i < gda_payer_moves.n; i++) {
		struct gda_payer_move *m = &gda_payer_moves.move[i];

		if (alone)
			gda_payer_move_alone(m);
		if (m->to)
			put_task_struct(m->to);
		put_task_struct(m->worker);
	}
	/* an id that bind() has reserved counts */
	if (!xa_empty(&gda_contexts))
		queue_delayed_work(gda_wq, &gda_payer_work, GDA_PAYER_PERIOD);
}

void gda_payer_exit(void)
{
	cancel_delayed_work_sync(&gda_payer_work);
}
