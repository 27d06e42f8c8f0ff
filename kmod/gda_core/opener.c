// SPDX-License-Identifier: GPL-2.0
/*
 * The process that opened a context, and whether its user may look at it.
 *
 * Keys and addresses of a context are worth as much as the memory of the process. So the rule is
 * that of ptrace(2): a process that has more rights than its user, or that has asked not to be
 * dumped, is closed to that user. ptrace_may_access() itself is not exported to modules. The check
 * is of the process as it is at that moment; once it has ended, as it was when it opened the
 * context.
 */
#include <linux/cred.h>
#include <linux/fs.h>
#include <linux/nsproxy.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/uidgid.h>
#include <net/net_namespace.h>

#include "gda_private.h"

void gda_opener_init(struct gda_opener *opener, const struct file *file)
{
	opener->cred = get_cred(file->f_cred);
	opener->pid = get_pid(task_tgid(current));
	opener->net_cookie = current->nsproxy->net_ns->net_cookie;
	rcu_read_lock();
	opener->dumpable = current->mm && gda_task_dumpable(current, false);
	rcu_read_unlock();
	get_task_comm(opener->comm, current);
}

void gda_opener_get(struct gda_opener *to, const struct gda_opener *opener)
{
	*to = *opener;
	get_cred(to->cred);
	get_pid(to->pid);
}

void gda_opener_put(struct gda_opener *opener)
{
	put_pid(opener->pid);
	put_cred(opener->cred);
}

/* Under RCU: has the process only the rights of the user? */
static bool gda_opener_is(const struct cred *cred, kuid_t uid)
{
	return uid_eq(cred->uid, uid) && uid_eq(cred->euid, uid) && uid_eq(cred->suid, uid);
}

/* May user @uid, of the opener's user namespace, look at the context? Any context. */
bool gda_opener_open_to(const struct gda_opener *opener, kuid_t uid)
{
	bool dumpable = opener->dumpable, is;
	struct task_struct *task;

	rcu_read_lock();
	task = pid_task(opener->pid, PIDTYPE_TGID);
	is = gda_opener_is(task ? __task_cred(task) : opener->cred, uid);
	if (task)
		dumpable = gda_task_dumpable(task, dumpable);
	rcu_read_unlock();
	return is && dumpable;
}
