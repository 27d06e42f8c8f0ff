// SPDX-License-Identifier: GPL-2.0
/*
 * What one user may have: contexts, which are kernel threads that no limit of a process
 * covers, and objects, of which all share one space of keys. Memory is for the memory
 * cgroup and RLIMIT_MEMLOCK.
 *
 * The owner of the user namespace that a user is in is charged as well, so that
 * subordinate ids are worth nothing more; for namespaces within each other the outermost
 * counts, but for root's: those are containers, which should not share a limit.
 * CAP_SYS_RESOURCE goes beyond. A user is known while it has contexts.
 *
 * The rdma controller of cgroups is not asked: up to 6.12 at least, a group that is removed
 * while it has a limit for an idle device is not taken off that device's list, and
 * rdmacg_unregister_device() follows it into freed memory.
 *
 * gda_users_lock is for contexts; objects are counted by atomics.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/hashtable.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>

#include "gda_private.h"

static unsigned int gda_max_contexts = 256;
module_param_named(max_contexts, gda_max_contexts, uint, 0444);
MODULE_PARM_DESC(max_contexts, "bound contexts of one user");

static unsigned int gda_max_objects = 1 << 20;
module_param_named(max_objects, gda_max_objects, uint, 0444);
MODULE_PARM_DESC(max_objects, "objects of one user, in all contexts");

struct gda_user {
	kuid_t uid;
	struct hlist_node node;	/* in gda_users */
	unsigned int contexts;	/* under the lock; freed with the last */
	atomic_t objects;
};

/* by uid, under the lock, which is never held while memory is waited for */
static DEFINE_HASHTABLE(gda_users, 6);
static DEFINE_MUTEX(gda_users_lock);

/* Whom else to charge for what is done in a user namespace, or an invalid id. */
static kuid_t gda_user_owner(void)
{
	struct user_namespace *ns = current_user_ns();
	kuid_t owner = INVALID_UID;

	for (; ns != &init_user_ns; ns = ns->parent)
		if (!uid_eq(ns->owner, GLOBAL_ROOT_UID))
			owner = ns->owner;
	return uid_eq(owner, current_uid()) ? INVALID_UID : owner;
}

static struct gda_user *gda_user_find(kuid_t uid)
{
	struct gda_user *user;

	lockdep_assert_held(&gda_users_lock);
	hash_for_each_possible(gda_users, user, node, __kuid_val(uid))
		if (uid_eq(user->uid, uid))
			return user;
	return NULL;
}

static void gda_user_drop(struct gda_user *user)
{
	lockdep_assert_held(&gda_users_lock);
	if (user->contexts)
		return;
	hash_del(&user->node);
	kfree(user);
}

/* A context more of @uid; NULL if that is invalid. */
static struct gda_user *gda_user_get(kuid_t uid)
{
	struct gda_user *user, *fresh;

	if (!uid_valid(uid))
		return NULL;
	fresh = kzalloc(sizeof(*fresh), GFP_KERNEL);
	if (!fresh)
		return ERR_PTR(-ENOMEM);
	fresh->uid = uid;
	mutex_lock(&gda_users_lock);
	user = gda_user_find(uid);
	if (!user) {
		swap(user, fresh);
		hash_add(gda_users, &user->node, __kuid_val(uid));
	}
	if (user->contexts >= gda_max_contexts && !capable(CAP_SYS_RESOURCE)) {
		gda_user_drop(user);
		user = ERR_PTR(-ENOSPC);
	} else {
		user->contexts++;
	}
	mutex_unlock(&gda_users_lock);
	kfree(fresh);
	return user;
}

static void gda_user_put(struct gda_user *user)
{
	if (!user)
		return;
	mutex_lock(&gda_users_lock);
	user->contexts--;
	gda_user_drop(user);
	mutex_unlock(&gda_users_lock);
}

/* A context of the caller's. On failure nothing is charged. */
int gda_account_context(struct gda_account *account)
{
	account->user = gda_user_get(current_uid());
	if (IS_ERR(account->user))
		return PTR_ERR(account->user);
	account->owner = gda_user_get(gda_user_owner());
	if (IS_ERR(account->owner)) {
		gda_user_put(account->user);
		return PTR_ERR(account->owner);
	}
	return 0;
}

/* The same account, or one that was never charged. */
void gda_unaccount_context(struct gda_account *account)
{
	if (!account->user)
		return;
	gda_user_put(account->owner);
	gda_user_put(account->user);
}

static bool gda_user_charge(struct gda_user *user)
{
	if (!user || atomic_inc_return(&user->objects) <= gda_max_objects ||
	    capable(CAP_SYS_RESOURCE))
		return true;
	atomic_dec(&user->objects);
	return false;
}

static void gda_user_uncharge(struct gda_user *user)
{
	if (user)
		atomic_dec(&user->objects);
}

int gda_account_object(struct gda_ctx *ctx)
{
	if (!gda_user_charge(ctx->account.user))
		return -ENOSPC;
	if (gda_user_charge(ctx->account.owner))
		return 0;
	gda_user_uncharge(ctx->account.user);
	return -ENOSPC;
}

void gda_unaccount_object(struct gda_ctx *ctx)
{
	gda_user_uncharge(ctx->account.owner);
	gda_user_uncharge(ctx->account.user);
}
