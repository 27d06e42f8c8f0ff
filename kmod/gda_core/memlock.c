// SPDX-License-Identifier: GPL-2.0
/*
 * RLIMIT_MEMLOCK: pages that the kernel keeps in memory for a user, be they pinned for
 * an MR (gda_mr) or allocated for a queue (region.c).
 *
 * They are added to the locked_vm of the caller's user and compared with the caller's limit, so
 * fork() does not multiply it. Pages of a process with CAP_IPC_LOCK above its limit are not
 * charged; only above the limit is the capability checked, because each refusal may be logged.
 * Pages can outlive the process that was charged, and another user's process can free them: the
 * charge holds the credentials, so exactly what was charged is given back to the user that paid it.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/sched/signal.h>
#include <linux/sched/user.h>

#include "gda_private.h"

int gda_memlock_charge(struct gda_memlock *charge, unsigned long npages)
{
	atomic_long_t *locked = &current_user()->locked_vm;
	unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
	long old = atomic_long_read(locked);

	charge->cred = NULL;
	do {
		if (npages > limit || old > limit - npages)
			return capable(CAP_IPC_LOCK) ? 0 : -ENOMEM;
	} while (!atomic_long_try_cmpxchg(locked, &old, old + npages));
	charge->cred = get_current_cred();
	charge->npages = npages;
	return 0;
}
GDA_EXPORT(gda_memlock_charge);

void gda_memlock_uncharge(struct gda_memlock *charge)
{
	if (!charge->cred)
		return;
	atomic_long_sub(charge->npages, &charge->cred->user->locked_vm);
	put_cred(charge->cred);
	charge->cred = NULL;
}
GDA_EXPORT(gda_memlock_uncharge);
