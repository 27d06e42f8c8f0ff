// SPDX-License-Identifier: GPL-2.0
/*
 * Room for a worker among the threads of the process that binds a context.
 *
 * A worker is a thread of the kernel's, so no limit of the process is asked when it is
 * made, and moving it into a cgroup counts it there whatever pids.max says. So the process
 * gets one more thread of its own first, for which fork() asks every limit: pids.max up to
 * the root, RLIMIT_NPROC, threads-max. That thread holds the place until the worker is
 * counted in the cgroup, and then ends. Limits are thus never exceeded by more than what is
 * under way, and when bind() returns not at all.
 *
 * The thread cannot be the worker: it ends with its process, and a context does not.
 *
 * Kernels before 6.12 offer no such thread to modules (compat.h): there pids.max counts
 * workers and does not stop them.
 */
#include <linux/delay.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

#include "gda_private.h"

/* How often, and for how long, to check whether the thread has gone. */
#define GDA_THREAD_US	50
#define GDA_THREAD_TRIES	(USEC_PER_SEC / GDA_THREAD_US)

static void gda_thread_killed(void *data)
{
	struct gda_thread *thread = data;

	if (thread->task)
		return;
	thread->task = get_task_struct(current);
	complete(&thread->started);
}

/* Called by the thread each time it is woken. Return: false, for it never has work. */
static bool gda_thread_run(void *data)
{
	gda_thread_killed(data);
	return false;
}

/*
 * Reserve a place for one more thread of the caller's process. Return: 0; -EAGAIN a limit of
 * threads or processes is reached; -ENOMEM; -ERESTARTNOINTR a signal came first.
 */
int gda_thread_reserve(struct gda_thread *thread)
{
	thread->task = NULL;
	init_completion(&thread->started);
	thread->vhost = gda_vhost_task_create(gda_thread_run, gda_thread_killed, thread,
					      "gda-bind");
	/* after unshare(CLONE_NEWPID) a process can have no more threads */
	if (PTR_ERR_OR_ZERO(thread->vhost) == -EINVAL)
		return -EAGAIN;
	return PTR_ERR_OR_ZERO(thread->vhost);
}

/*
 * Release the place. When this returns, the thread has left its process and its cgroup, so a
 * process with one thread has one again.
 */
void gda_thread_release(struct gda_thread *thread)
{
	int tries;

	if (!thread->vhost)
		return;
	vhost_task_start(thread->vhost);
	/* a thread that is stopped before it ran would not say which task it is */
	wait_for_completion(&thread->started);
	vhost_task_stop(thread->vhost);
	/* the thread has announced its end; wait until it has left the process and its cgroup */
	for (tries = 0; tries < GDA_THREAD_TRIES; tries++) {
		if (READ_ONCE(thread->task->__state) & TASK_DEAD)
			break;
		usleep_range(GDA_THREAD_US, 2 * GDA_THREAD_US);
	}
	put_task_struct(thread->task);
}
