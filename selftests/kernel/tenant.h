/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * User nobody, with a context that others look at through netlink. As in gda_test.h nothing
 * prints; what fails is told by a line number below 128, as CHECK() does.
 */
#ifndef GDA_TENANT_H
#define GDA_TENANT_H

#include "gda_test.h"

#define T_OTHER	(T_NOBODY - 1)	/* another user, who has nothing */
#define T_SKIP	200		/* no line of CHECK(): ordinary users may not do it */

/* Tenants that are opened from now on may not be dumped, or traced by their user. */
extern bool t_tenant_closed;

/* A context with one of everything; its QP is not connected, and has an entry. */
struct t_tenant {
	uint32_t context;
	uint32_t handle[4];		/* QP, CQ, MR, counter */
	int fd;
};

/* 0 or -errno: as the user that the caller is. */
int t_tenant_open(struct t_tenant *t);
/* Run @fn, whose argument is the tenant, in a child while another child, nobody, holds it open. */
int t_beside_tenant(int (*fn)(void *), int (*become)(void));
/* For t_in_child(): nobody's context ends with a QP in error, and is kept. */
int t_tenant_die(void *unused);
/* Become another user, who has no group and no capability. */
int t_become_other(void);

#endif /* GDA_TENANT_H */
