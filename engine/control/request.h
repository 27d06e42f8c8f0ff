/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The rules that hold for every control call: flags that it does not know and reserved members
 * must be zero. And the rule for those that name a region. Portable like the engine; the host has
 * the size of the structure.
 */
#ifndef GDA_CONTROL_REQUEST_H
#define GDA_CONTROL_REQUEST_H

#include "gda_os.h"
#include <gda/ioctl.h>

/**
 * gda_control_check_request - are the flags of a call known, and its reserved members zero?
 * @nr: enum gda_ioc_nr; the caller keeps a processor from speculating beyond it
 * @cmd: the whole structure of the call, in memory that no user can write
 *
 * Return: 0; -EOPNOTSUPP.
 */
int gda_control_check_request(u32 nr, const void *cmd);

/**
 * gda_control_check_region - does a call name a type of region that an object has?
 * @type: enum gda_region_type, as the caller asks
 *
 * Return: 0; -EINVAL.
 */
static inline int gda_control_check_region(u32 type)
{
	return type && type <= GDA_REGION_COUNTER ? 0 : -EINVAL;
}

#endif /* GDA_CONTROL_REQUEST_H */
