/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Limits of users, and what is charged to them (account.c).
 */
#ifndef GDA_ACCOUNT_H
#define GDA_ACCOUNT_H

struct gda_ctx;
struct gda_user;

/*
 * Limits that an administrator can change at any time (netlink/global.c). Module parameters are
 * their initial values.
 */
struct gda_limits {
	unsigned int max_contexts;
	unsigned int max_objects;
	unsigned int max_executor_qps;
	unsigned int idle_us;
};

extern struct gda_limits gda_limits;

/* The users that a context is charged to; or NULL. */
enum {
	GDA_ACCOUNT_USER,
	GDA_ACCOUNT_NAMESPACE,		/* all of the user's namespace */
	GDA_ACCOUNT_OWNER,		/* of that */
	GDA_ACCOUNTS
};

struct gda_account {
	struct gda_user *users[GDA_ACCOUNTS];
};

/* Resources that are limited for each user. */
enum gda_count {
	GDA_COUNT_OBJECTS,
	GDA_COUNT_EXECUTOR_QPS,		/* counts for which an executor has memory of its own */
	GDA_COUNT_HELD,			/* see gda_executor_hold() */
	GDA_COUNTS
};

int gda_account_context(struct gda_account *account);
void gda_unaccount_context(struct gda_account *account);
int gda_account_one(struct gda_ctx *ctx, enum gda_count what);
void gda_unaccount_one(struct gda_ctx *ctx, enum gda_count what);
void gda_account_orphan(struct gda_ctx *ctx, int n);
unsigned int gda_account_orphans(const struct gda_ctx *ctx);

#endif /* GDA_ACCOUNT_H */
