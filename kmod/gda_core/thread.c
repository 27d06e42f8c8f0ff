// SPDX-License-Identifier: GPL-2.0
/*
 * Room for a worker among the threads of the process that binds a context.
 *
 * A worker is a kernel thread, so no limit of the process is checked when it is created, and a
 * cgroup that it moves into counts it, whatever pids.max says. So the process first gets one more
 * thread of its own, for which fork() checks every limit: pids.max up to the root, RLIMIT_NPROC,
 * threads-max. That thread holds the place until the worker is counted in the cgroup, and then
 * ends. So limits are exceeded only while a bind() is under way, by one thread each.
 *
 * The thread cannot be the worker: it ends with its process, and a context does not.
 *
 * The thread may be frozen or stopped with its process at any time, by cgroup.freeze, by SIGSTOP or
 * because the machine suspends. Nobody may wait for it uninterruptibly then: the process would not
 * freeze, and suspending would fail. So the thread ends by itself as soon as it runs, a work item
 * frees its resources, and bind() waits for that unless a signal comes or the process freezes.
 *
 * Kernels before 6.12 offer no such thread to modules (compat.h): there pids.max counts workers but
 * does not limit them.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "gda_private.h"

/* How often to check whether the thread has gone, and for how long. */
#define GDA_THREAD_US	50
#define GDA_THREAD_TRIES	(USEC_PER_SEC / GDA_THREAD_US)

/* How long bind() still waits for a thread to end after a signal came. */
#define GDA_THREAD_GRACE	(HZ / 50)

/* A place among the threads of the process that binds, held by bind() and by the work item. */
struct gda_thread {
	refcount_t users;
	struct vhost_task *vhost;
	struct task_struct *task;	/* the thread, with a reference, once it ends */
	struct work_struct end;
	struct completion ended;
};

static void gda_thread_put(struct gda_thread *thread)
{
	if (refcount_dec_and_test(&thread->users))
		kfree(thread);
}

/* The thread has announced its end: wait until it has left the process and its cgroup. */
static void gda_thread_end(struct work_struct *work)
{
	struct gda_thread *thread = container_of(work, struct gda_thread, end);
	int tries;

	vhost_task_stop(thread->vhost);
	for (tries = 0; tries < GDA_THREAD_TRIES; tries++) {
		if (READ_ONCE(thread->task->__state) & TASK_DEAD)
			break;
		usleep_range(GDA_THREAD_US, 2 * GDA_THREAD_US);
	}
	put_task_struct(thread->task);
	complete(&thread->ended);
	gda_thread_put(thread);
	/* module exit waits for the queue, and so for this function */
	module_put(THIS_MODULE);
}

/* Called by the thread when it gets a fatal signal, from its process or from gda_thread_run(). */
static void gda_thread_killed(void *data)
{
	struct gda_thread *thread = data;

	thread->task = get_task_struct(current);
	/*
	 * The work item waits until the thread has ended, and must not wait for the CPU limit of
	 * the thread's cgroup as well. If the whole process ends, this may be the thread that frees
	 * all its memory, which no real-time task should do.
	 */
	if (!(READ_ONCE(current->signal->flags) & SIGNAL_GROUP_EXIT))
		gda_worker_unlimit(current);
	queue_work(gda_wq, &thread->end);
}

/*
 * Called by the thread when it first runs. vhost_task_stop() would wait for the thread, also while
 * it is frozen, so the thread sends a fatal signal to itself alone. Return: false, for it has no
 * work.
 */
static bool gda_thread_run(void *data)
{
	spin_lock_irq(&current->sighand->siglock);
	sigaddset(&current->pending.signal, SIGKILL);
	set_thread_flag(TIF_SIGPENDING);
	spin_unlock_irq(&current->sighand->siglock);
	return false;
}

/*
 * Reserve a place for one more thread of the caller's process. Return: the place; NULL: this kernel
 * does not offer it; -EAGAIN a limit of threads or processes is reached; -ENOMEM; -ERESTARTNOINTR a
 * signal came first.
 */
struct gda_thread *gda_thread_reserve(void)
{
	struct gda_thread *thread = kzalloc(sizeof(*thread), GFP_KERNEL);
	struct vhost_task *vhost;

	if (!thread)
		return ERR_PTR(-ENOMEM);
	refcount_set(&thread->users, 2);
	INIT_WORK(&thread->end, gda_thread_end);
	init_completion(&thread->ended);
	vhost = gda_vhost_task_create(gda_thread_run, gda_thread_killed, thread, "gda-bind");
	if (IS_ERR_OR_NULL(vhost)) {
		kfree(thread);
		/* after unshare(CLONE_NEWPID) a process cannot create more threads */
		return vhost == ERR_PTR(-EINVAL) ? ERR_PTR(-EAGAIN) : ERR_CAST(vhost);
	}
	thread->vhost = vhost;
	__module_get(THIS_MODULE);
	return thread;
}

/*
 * Release the place. When this returns, the thread has left its process and its cgroup, so a
 * process with one thread has one again, unless a signal came or its cgroup is being frozen.
 */
void gda_thread_release(struct gda_thread *thread)
{
	if (!thread)
		return;
	vhost_task_start(thread->vhost);
	if (wait_for_completion_state(&thread->ended, TASK_INTERRUPTIBLE | TASK_FREEZABLE))
		wait_for_completion_timeout(&thread->ended, GDA_THREAD_GRACE);
	gda_thread_put(thread);
}
