// SPDX-License-Identifier: GPL-2.0
/*
 * Limits of one user: contexts, each of which has a kernel thread; objects, which all share one
 * space of keys; and what executors allocate from a driver (QPs, and requests that they hold),
 * because the driver charges that to nobody, the memory cgroup does not see it, and RLIMIT_MEMLOCK
 * may be unlimited. All other memory is limited by the memory cgroup and RLIMIT_MEMLOCK.
 *
 * A context counts for the user that binds it. In a user namespace it also counts for the namespace
 * as a whole (the outermost one, if namespaces are nested), so that a container has a limit, and
 * one id in two containers is two users. And it counts for the owner of the namespace, so that
 * subordinate ids raise no limit; root does not count as an owner, because its namespaces are
 * containers, which should not share a limit. A caller with CAP_SYS_RESOURCE may exceed the limits.
 * An account exists while it has contexts.
 *
 * A kernel thread is not one of the user's processes, which RLIMIT_NPROC limits. So a context is
 * refused if another process would be refused, were the user's workers processes. The same holds
 * for the owner of a namespace, with the limit that the namespace has noted. A user who may fork
 * beyond the limit may bind beyond it. See thread.c for pids.max.
 *
 * The rdma controller of cgroups is not used: up to 6.12 at least, a group that is removed while it
 * has a limit for an idle device is not taken off that device's list, and
 * rdmacg_unregister_device() follows it into freed memory.
 *
 * gda_users_lock guards the counts of contexts; objects are counted by atomics.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/hashtable.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uidgid.h>
#include <linux/user_namespace.h>

#include "gda_private.h"

struct gda_user {
	kuid_t uid;			/* INVALID_UID: all users of @ns */
	struct user_namespace *ns;	/* outermost, referenced; or init_user_ns */
	struct hlist_node node;		/* in gda_users */
	unsigned int contexts;		/* guarded by gda_users_lock; at 0 the entry is freed */
	atomic_t counts[GDA_COUNTS];
	atomic_t orphans;		/* contexts without a payer, see payer.c */
};

/* The limits of those counts that have one limit for all executors. */
static const unsigned int *const gda_count_limits[GDA_COUNTS] = {
	[GDA_COUNT_OBJECTS] = &gda_limits.max_objects,
	[GDA_COUNT_EXECUTOR_QPS] = &gda_limits.max_executor_qps,
};

/*
 * Hashed by uid. A spinlock, because the CPU limit of a tenant that held a mutex would stall all
 * others.
 */
static DEFINE_HASHTABLE(gda_users, 6);
static DEFINE_SPINLOCK(gda_users_lock);

/* The users that a context is charged to. */
struct gda_charge {
	kuid_t uid;
	struct user_namespace *ns;	/* NULL: nobody */
	unsigned long workers;		/* processes and workers that RLIMIT_NPROC allows */
};

static unsigned long gda_charge_room(struct ucounts *ucounts, unsigned long limit)
{
	unsigned long tasks = get_rlimit_value(ucounts, UCOUNT_RLIMIT_NPROC);

	return limit > tasks ? limit - tasks : 0;
}

/* Set @c to the owner of the outermost user namespace that is not root's; never to root. */
static void gda_charge_owner(struct user_namespace *ns, struct user_namespace *outermost,
			     struct gda_charge *c)
{
	unsigned long limit;

	for (; ns != &init_user_ns; ns = ns->parent) {
		if (uid_eq(ns->owner, GLOBAL_ROOT_UID))
			continue;
		limit = get_userns_rlimit_max(ns, UCOUNT_RLIMIT_NPROC);
		c->uid = ns->owner;
		c->ns = ns == outermost ? &init_user_ns : outermost;
		c->workers = gda_charge_room(ns->ucounts, limit);
	}
}

static void gda_charge_all(struct gda_charge c[GDA_ACCOUNTS])
{
	struct user_namespace *ns = current_user_ns(), *outermost = ns;

	while (outermost != &init_user_ns && outermost->parent != &init_user_ns)
		outermost = outermost->parent;
	c[GDA_ACCOUNT_USER] = (struct gda_charge) {
		.uid = current_uid(),
		.ns = outermost,
		.workers = gda_charge_room(current_ucounts(), rlimit(RLIMIT_NPROC)),
	};
	c[GDA_ACCOUNT_NAMESPACE] = (struct gda_charge) {
		.uid = INVALID_UID,
		.ns = ns == &init_user_ns ? NULL : outermost,
		.workers = ULONG_MAX,
	};
	c[GDA_ACCOUNT_OWNER] = (struct gda_charge) { };
	gda_charge_owner(ns, outermost, &c[GDA_ACCOUNT_OWNER]);
	/* a nested namespace: the account of the container counts this context already */
	if (uid_eq(c[GDA_ACCOUNT_OWNER].uid, c[GDA_ACCOUNT_USER].uid) &&
	    c[GDA_ACCOUNT_OWNER].ns == c[GDA_ACCOUNT_USER].ns)
		c[GDA_ACCOUNT_OWNER].ns = NULL;
}

static struct gda_user *gda_user_find(const struct gda_charge *c)
{
	struct gda_user *user;

	lockdep_assert_held(&gda_users_lock);
	hash_for_each_possible(gda_users, user, node, __kuid_val(c->uid))
		if (__kuid_val(user->uid) == __kuid_val(c->uid) && user->ns == c->ns)
			return user;
	return NULL;
}

static struct gda_user *gda_user_create(const struct gda_charge *c)
{
	struct gda_user *user = kzalloc(sizeof(*user), GFP_KERNEL);

	if (!user)
		return NULL;
	user->uid = c->uid;
	user->ns = get_user_ns(c->ns);
	return user;
}

static void gda_user_free(struct gda_user *user)
{
	if (!user)
		return;
	put_user_ns(user->ns);
	kfree(user);
}

/* @beyond: the error of a limit that the caller may exceed; with -ENOSPC it may exceed both */
static int gda_user_check(const struct gda_user *user, const struct gda_charge *c, int beyond)
{
	lockdep_assert_held(&gda_users_lock);
	if (beyond == -ENOSPC)
		return 0;
	if (user->contexts >= READ_ONCE(gda_limits.max_contexts))
		return -ENOSPC;
	return user->contexts >= c->workers && beyond != -EAGAIN ? -EAGAIN : 0;
}

static struct gda_user *gda_user_charge_context(const struct gda_charge *c, int beyond)
{
	struct gda_user *user, *fresh = gda_user_create(c);
	int ret;

	if (!fresh)
		return ERR_PTR(-ENOMEM);
	spin_lock(&gda_users_lock);
	user = gda_user_find(c);
	ret = gda_user_check(user ?: fresh, c, beyond);
	if (!ret && !user) {
		swap(user, fresh);
		hash_add(gda_users, &user->node, __kuid_val(user->uid));
	}
	if (!ret)
		user->contexts++;
	spin_unlock(&gda_users_lock);
	gda_user_free(fresh);
	return ret ? ERR_PTR(ret) : user;
}

/* May the caller exceed the limit that failed with @err? */
static bool gda_user_beyond(int err)
{
	if (err == -ENOSPC)
		return capable(CAP_SYS_RESOURCE);
	/* as fork() has it */
	return err == -EAGAIN && (uid_eq(current_uid(), GLOBAL_ROOT_UID) ||
				  capable(CAP_SYS_RESOURCE) || capable(CAP_SYS_ADMIN));
}

/* NULL for nobody. */
static struct gda_user *gda_user_get(const struct gda_charge *c)
{
	struct gda_user *user;

	if (!c->ns)
		return NULL;
	user = gda_user_charge_context(c, 0);
	if (IS_ERR(user) && gda_user_beyond(PTR_ERR(user)))
		user = gda_user_charge_context(c, PTR_ERR(user));
	return user;
}

static void gda_user_put(struct gda_user *user)
{
	bool last;

	if (!user)
		return;
	spin_lock(&gda_users_lock);
	last = !--user->contexts;
	if (last)
		hash_del(&user->node);
	spin_unlock(&gda_users_lock);
	if (last)
		gda_user_free(user);
}

/* Charge a context to the caller. On failure nothing is charged. */
int gda_account_context(struct gda_account *account)
{
	struct gda_charge c[GDA_ACCOUNTS];
	struct gda_user *user;
	int i;

	gda_charge_all(c);
	for (i = 0; i < GDA_ACCOUNTS; i++) {
		user = gda_user_get(&c[i]);
		if (IS_ERR(user)) {
			gda_unaccount_context(account);
			return PTR_ERR(user);
		}
		account->users[i] = user;
	}
	return 0;
}

/* Undo gda_account_context(); also for an account that was never charged. */
void gda_unaccount_context(struct gda_account *account)
{
	int i;

	for (i = 0; i < GDA_ACCOUNTS; i++) {
		gda_user_put(account->users[i]);
		account->users[i] = NULL;
	}
}

/* @beyond: a caller with the capability may exceed the limit of @most. */
static bool gda_user_charge(struct gda_user *user, enum gda_count what, unsigned int most,
			    bool beyond)
{
	if (!user || atomic_inc_return(&user->counts[what]) <= most ||
	    (beyond && capable(CAP_SYS_RESOURCE)))
		return true;
	atomic_dec(&user->counts[what]);
	return false;
}

static void gda_account_return(struct gda_ctx *ctx, enum gda_count what, int n)
{
	while (n--)
		if (ctx->account.users[n])
			atomic_dec(&ctx->account.users[n]->counts[what]);
}

static int gda_account_below(struct gda_ctx *ctx, enum gda_count what, unsigned int most,
			     bool beyond)
{
	int i;

	for (i = 0; i < GDA_ACCOUNTS; i++) {
		if (!gda_user_charge(ctx->account.users[i], what, most, beyond)) {
			gda_account_return(ctx, what, i);
			return -ENOSPC;
		}
	}
	return 0;
}

int gda_account_one(struct gda_ctx *ctx, enum gda_count what)
{
	return gda_account_below(ctx, what, READ_ONCE(*gda_count_limits[what]), true);
}

void gda_unaccount_one(struct gda_ctx *ctx, enum gda_count what)
{
	gda_account_return(ctx, what, GDA_ACCOUNTS);
}

/* The context has lost its payer (@n is 1) or has one again (@n is -1). */
void gda_account_orphan(struct gda_ctx *ctx, int n)
{
	int i;

	for (i = 0; n && i < GDA_ACCOUNTS; i++)
		if (ctx->account.users[i])
			atomic_add(n, &ctx->account.users[i]->orphans);
}

/*
 * Return: how many contexts of this context's user have no payer; in a container, of all its users.
 */
unsigned int gda_account_orphans(const struct gda_ctx *ctx)
{
	unsigned int n = 0;
	int i;

	for (i = 0; i < GDA_ACCOUNTS; i++)
		if (ctx->account.users[i])
			n = max_t(unsigned int, n, atomic_read(&ctx->account.users[i]->orphans));
	return n;
}

/* The caller is not the process that causes this, so no capability lets it exceed the limit. */
bool gda_executor_hold(struct gda_executor_ctx *exec, unsigned int most)
{
	struct gda_ctx *ctx = container_of(exec, struct gda_ctx, exec);

	return !gda_account_below(ctx, GDA_COUNT_HELD, most, false);
}
GDA_EXPORT(gda_executor_hold);

void gda_executor_release(struct gda_executor_ctx *exec)
{
	gda_unaccount_one(container_of(exec, struct gda_ctx, exec), GDA_COUNT_HELD);
}
GDA_EXPORT(gda_executor_release);
