/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Checks that every control call needs: unknown flags and reserved members must be zero, and the
 * type of a region must exist. Portable like the engine; the host knows the size of the
 * structure.
 */
#ifndef GDA_CONTROL_REQUEST_H
#define GDA_CONTROL_REQUEST_H

#include "gda_os.h"
#include <gda/ioctl.h>

/**
 * gda_control_check_request - check that a call's flags are known and its reserved members zero
 * @nr: enum gda_ioc_nr; the caller prevents speculation beyond the table (array_index_nospec())
 * @cmd: the whole structure of the call, in memory that no user can write
 *
 * Return: 0; -EOPNOTSUPP.
 */
int gda_control_check_request(u32 nr, const void *cmd);

/**
 * gda_control_check_region - check the type of region that a call names
 * @type: enum gda_region_type, from the caller
 *
 * Return: 0; -EINVAL.
 */
static inline int gda_control_check_region(u32 type)
{
	return type && type <= GDA_REGION_COUNTER ? 0 : -EINVAL;
}

#endif /* GDA_CONTROL_REQUEST_H */
