/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The process that opened a context (opener.c). Included by gda_private.h.
 */
#ifndef GDA_OPENER_H
#define GDA_OPENER_H

#include <linux/sched.h>
#include <linux/types.h>
#include <linux/uidgid.h>

struct cred;
struct file;
struct pid;

/* The process that opened a context, for those who look at it (opener.c); constant. */
struct gda_opener {
	const struct cred *cred;	/* of open(2), referenced */
	struct pid *pid;		/* of its process, referenced */
	u64 net_cookie;			/* of its network namespace */
	bool dumpable;			/* it was at open(2) */
	char comm[TASK_COMM_LEN];
};

void gda_opener_init(struct gda_opener *opener, const struct file *file);
void gda_opener_get(struct gda_opener *to, const struct gda_opener *opener);
void gda_opener_put(struct gda_opener *opener);
bool gda_opener_open_to(const struct gda_opener *opener, kuid_t uid);

#endif /* GDA_OPENER_H */
