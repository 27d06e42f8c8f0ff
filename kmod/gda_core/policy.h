/* SPDX-License-Identifier: GPL-2.0 */
/* When doorbell pages are mapped (policy.c): a part of gda_private.h. */
#ifndef GDA_POLICY_H
#define GDA_POLICY_H

#include <linux/sched.h>
#include <linux/types.h>

struct gda_ctx;

/* For a task that is not the caller: is it on another processor? */
static inline bool gda_task_on_cpu(const struct task_struct *task)
{
#ifdef CONFIG_SMP
	return READ_ONCE(task->on_cpu);
#else
	return task == current;
#endif
}

/* Under ctx->map_lock; some are also read without it. Times are ns, CLOCK_MONOTONIC. */
struct gda_policy {
	unsigned int mapped;		/* how many pages are mapped whose stores could fault */
	bool tried;			/* the worker was woken, so that a page can be mapped */
	unsigned int streak;		/* posts by fault in quick succession */
	u64 fault;			/* the last of them */
	u64 since;			/* when a page was mapped while none had been */
	u64 good;			/* how long pages were mapped before that, without a miss */
	u64 until;			/* no page is mapped before this */
	u64 backoff;			/* how long the last miss delays the next mapping, or 0 */
	u64 served;			/* faults that visited a queue */
	pid_t poster;			/* the thread that made the last of these posts; a hint */
};

bool gda_policy_applies(const struct gda_ctx *ctx);
bool gda_policy_maps(const struct gda_ctx *ctx, u64 now);
bool gda_policy_wants_worker(struct gda_ctx *ctx, u64 now);
void gda_policy_mapped(struct gda_ctx *ctx, u64 now);
void gda_policy_unmapped(struct gda_ctx *ctx);
void gda_policy_missed(struct gda_ctx *ctx);
bool gda_policy_waits_here(const struct gda_ctx *ctx);

#endif /* GDA_POLICY_H */
