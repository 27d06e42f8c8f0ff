// SPDX-License-Identifier: MIT
/*
 * Selects the dialect of a new queue or CQ, from its creator, the environment or the default, and
 * its error texts.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <gda/wqe.h>
#include "gda_internal.h"

static int gda_dialect_default(uint32_t *dialect)
{
	const char *env = secure_getenv("GDA_DIALECT");

	*dialect = GDA_WQE_DEFAULT;
	if (!env || !*env)
		return 0;
	for (*dialect = GDA_WQE_FIRST; gda_wqe_speaks(*dialect); ++*dialect)
		if (!strcmp(env, gda_wqe_name(*dialect)))
			return 0;
	return gda_because(-EINVAL, "GDA_DIALECT=%s names no dialect: unset it, or set it to %s or %s",
			   env, gda_wqe_name(GDA_WQE_FIRST), gda_wqe_name(GDA_DIALECT_EFA));
}

int gda_dialect_check(uint32_t *dialect)
{
	int err = *dialect ? 0 : gda_dialect_default(dialect);

	if (err || gda_wqe_speaks(*dialect))
		return err;
	return gda_because(-EOPNOTSUPP,
			   "dialect %u: this library writes no entries of it: set it to 0",
			   *dialect);
}

int gda_dialect_spoken(uint32_t dialect, uint64_t spoken)
{
	if (spoken >> dialect % 64 & 1)
		return 0;
	return gda_because(-EOPNOTSUPP,
			   "the program does not speak dialect %u: define GDA_WQE_EFA before it includes a header of gda",
			   dialect);
}

int gda_dialect_choose(uint32_t *dialect, uint64_t spoken)
{
	uint32_t chosen = *dialect;
	int err = gda_dialect_check(&chosen);

	if (!err)
		err = gda_dialect_spoken(chosen, spoken);
	if (!err && gda_cqe_unordered(chosen))
		*dialect = chosen;
	return err;
}

int gda_dialect_kernels(uint32_t *dialect)
{
	uint32_t can = gda_wqe_can(*dialect);
	int err = *dialect ? gda_dialect_check(dialect) : 0;

	if (!err && *dialect > GDA_WQE_FIRST)
		err = gda_because(-EOPNOTSUPP,
				  "dialect %u lacks %s, which this front end needs where kernels post: set it to 0",
				  *dialect, !(can & GDA_CAN_ORDER) ? "GDA_CAN_ORDER" :
				  !(can & GDA_CAN_ATOMIC) ? "GDA_CAN_ATOMIC" : "posters of kernels");
	if (!err)
		*dialect = GDA_WQE_FIRST;
	return err;
}

GDA_EXPORT const char *gda_syndrome_name_in(uint32_t dialect, uint32_t syndrome)
{
	const char *text;

	if (dialect != GDA_DIALECT_EFA)
		return gda_syndrome_name(syndrome);
	text = gda_efa_status_name(syndrome);
	return text ? text : "unknown status";
}
