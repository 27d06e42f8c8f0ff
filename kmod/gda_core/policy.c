// SPDX-License-Identifier: GPL-2.0
/*
 * Who carries out a post: the worker, or the fault of a store. A store to a doorbell page that is
 * mapped costs the poster nothing, but only a worker that polls sees it, and where there are more
 * threads than processors the worker has no processor while others have their turn. A store to a
 * page that is in no page table faults, and the fault visits the queue itself (doorbell.c): that
 * costs a microsecond or two, always.
 *
 * So pages are mapped only while the worker polls on another processor, alone there and on time.
 * Posts in quick succession wake it for that; the next post that finds it polling maps the page.
 * When others want its processor, it unmaps the pages before it gives way. If the worker came back
 * late, or was woken and no post found it polling, that is a miss: no page is mapped for some time,
 * twice as long after each miss. Once pages have been mapped for long without a miss, earlier
 * misses are forgotten.
 *
 * A fault gives way if it carried out work for which a thread may wait that wants this very
 * processor: otherwise two threads that spin for each other's posts would each time wait for the
 * end of a time slice.
 *
 * All of this is about when, not whether, work is carried out: a worker scans the pages that are
 * active, mapped or not.
 */
#include <linux/minmax.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/timekeeping.h>

#include <gda/netlink.h>

#include "gda_private.h"

/* So many posts by fault in a row, in quick succession, wake the worker. */
#define GDA_POLICY_STREAK	4U
#define GDA_POLICY_GAP_NS	(500 * NSEC_PER_USEC)

/* A worker that polls is on time if its last pass began no longer ago than this. */
#define GDA_POLICY_FRESH_NS	(100 * NSEC_PER_USEC)

/* How long no page is mapped after a miss, at first and at most. */
#define GDA_POLICY_BACKOFF_NS	NSEC_PER_MSEC
#define GDA_POLICY_BACKOFF_MOST	NSEC_PER_SEC

/* If pages were mapped for so long in all without a miss, earlier misses are forgotten. */
#define GDA_POLICY_GOOD_NS	(100 * NSEC_PER_MSEC)

/*
 * Does the policy apply? Other executors may raise softirqs, or wait for the wire, so only their
 * worker visits. Nor does it apply where no fault can carry a store out (store.h).
 */
bool gda_policy_applies(const struct gda_ctx *ctx)
{
	const struct gda_executor_ops *ops = ctx->exec.dev->ops;

	return IS_ENABLED(CONFIG_X86_64) && ops->engine && !ops->visit;
}

/*
 * Does the worker poll on another processor, and on time? The caller runs, so a worker that is on a
 * processor is on another one.
 */
static bool gda_policy_polls(const struct gda_worker *worker, u64 now)
{
	struct task_struct *task = worker->task;

	return READ_ONCE(worker->state) == GDA_WORKER_STATE_POLLING && READ_ONCE(worker->alone) &&
	       gda_task_on_cpu(task) && !test_tsk_need_resched(task) &&
	       (s64)(now - READ_ONCE(worker->last_pass)) < GDA_POLICY_FRESH_NS;
}

/* A store was made to a page that is in no page table. Should the page be mapped? */
bool gda_policy_maps(const struct gda_ctx *ctx, u64 now)
{
	lockdep_assert_held(&ctx->map_lock);
	return now >= ctx->policy.until && gda_policy_polls(&ctx->worker, now);
}

/* A fault has served a queue. Should the worker be woken, so that a page can be mapped? */
bool gda_policy_wants_worker(struct gda_ctx *ctx, u64 now)
{
	struct gda_policy *policy = &ctx->policy;
	bool soon = now - policy->fault < GDA_POLICY_GAP_NS;

	lockdep_assert_held(&ctx->map_lock);
	policy->fault = now;
	WRITE_ONCE(policy->poster, task_pid_nr(current));
	policy->streak = soon ? policy->streak + 1 : 0;
	if (policy->streak < GDA_POLICY_STREAK || now < policy->until)
		return false;
	policy->streak = 0;
	WRITE_ONCE(policy->tried, true);
	return true;
}

/* One more page is mapped. */
void gda_policy_mapped(struct gda_ctx *ctx, u64 now)
{
	struct gda_policy *policy = &ctx->policy;

	lockdep_assert_held(&ctx->map_lock);
	WRITE_ONCE(policy->tried, false);
	if (!policy->mapped)
		policy->since = now;
	WRITE_ONCE(policy->mapped, policy->mapped + 1);
}

/* A page was unmapped. */
void gda_policy_unmapped(struct gda_ctx *ctx)
{
	struct gda_policy *policy = &ctx->policy;

	lockdep_assert_held(&ctx->map_lock);
	WRITE_ONCE(policy->mapped, policy->mapped - 1);
	if (policy->mapped)
		return;
	policy->good += ktime_get_ns() - policy->since;
	if (policy->good >= GDA_POLICY_GOOD_NS)
		policy->backoff = 0;
}

/* A miss: the worker was late, or was woken for nothing. */
void gda_policy_missed(struct gda_ctx *ctx)
{
	struct gda_policy *policy = &ctx->policy;

	lockdep_assert_held(&ctx->map_lock);
	WRITE_ONCE(policy->tried, false);
	policy->good = 0;
	policy->backoff = clamp_t(u64, 2 * policy->backoff, GDA_POLICY_BACKOFF_NS,
				  GDA_POLICY_BACKOFF_MOST);
	policy->until = ktime_get_ns() + policy->backoff;
}

/*
 * Under SRCU: does the thread that posted last to @ctx wait for the caller's processor? If it spins
 * for what the caller has posted, it cannot see that before the caller gives way.
 */
bool gda_policy_waits_here(const struct gda_ctx *ctx)
{
	pid_t poster = READ_ONCE(ctx->policy.poster);
	struct task_struct *task;
	bool waits = false;

	/* a deadline task that gives way runs no more before its next period */
	if (!poster || current->prio < MAX_RT_PRIO)
		return false;
	rcu_read_lock();
	task = pid_task(find_pid_ns(poster, &init_pid_ns), PIDTYPE_PID);
	if (task && task != current)
		waits = READ_ONCE(task->__state) == TASK_RUNNING && !gda_task_on_cpu(task) &&
			task_cpu(task) == raw_smp_processor_id();
	rcu_read_unlock();
	return waits;
}
