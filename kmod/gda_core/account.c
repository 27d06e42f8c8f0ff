// SPDX-License-Identifier: GPL-2.0
/*
 * What one user may have. A bound context is a kernel thread, which no limit of the
 * process covers, so contexts are counted by user; CAP_SYS_RESOURCE goes beyond.
 * Everything else is covered: memory by the memory cgroup and RLIMIT_MEMLOCK, objects
 * by limits per context.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/moduleparam.h>
#include <linux/uidgid.h>

#include "gda_private.h"

static unsigned int gda_max_contexts = 256;
module_param_named(max_contexts, gda_max_contexts, uint, 0444);
MODULE_PARM_DESC(max_contexts, "bound contexts of one user");

/* uid -> number of contexts, under the lock */
static DEFINE_XARRAY(gda_users);
static DEFINE_MUTEX(gda_users_lock);

static unsigned long gda_user_contexts(unsigned long uid)
{
	void *entry = xa_load(&gda_users, uid);

	lockdep_assert_held(&gda_users_lock);
	return entry ? xa_to_value(entry) : 0;
}

int gda_account_context(struct gda_ctx *ctx)
{
	kuid_t uid = current_uid();
	unsigned long n;
	int ret;

	mutex_lock(&gda_users_lock);
	n = gda_user_contexts(__kuid_val(uid));
	if (n >= gda_max_contexts && !capable(CAP_SYS_RESOURCE))
		ret = -ENOSPC;
	else
		ret = xa_err(xa_store(&gda_users, __kuid_val(uid), xa_mk_value(n + 1),
				      GFP_KERNEL));
	mutex_unlock(&gda_users_lock);
	ctx->uid = uid;
	ctx->charged = !ret;
	return ret;
}

void gda_unaccount_context(struct gda_ctx *ctx)
{
	unsigned long uid = __kuid_val(ctx->uid);
	unsigned long n;

	if (!ctx->charged)
		return;
	mutex_lock(&gda_users_lock);
	n = gda_user_contexts(uid) - 1;
	/* replacing an entry allocates nothing */
	if (n)
		xa_store(&gda_users, uid, xa_mk_value(n), GFP_KERNEL);
	else
		xa_erase(&gda_users, uid);
	mutex_unlock(&gda_users_lock);
}
