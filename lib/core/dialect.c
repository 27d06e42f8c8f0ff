// SPDX-License-Identifier: MIT
/*
 * Selects the dialect of a new queue or CQ, from its creator or the default, and its error texts.
 */
#include <errno.h>
#include <gda/wqe.h>
#include "gda_internal.h"

int gda_dialect_check(uint32_t *dialect)
{
	if (!*dialect)
		*dialect = GDA_WQE_DEFAULT;
	if (gda_wqe_speaks(*dialect))
		return 0;
	return gda_because(-EOPNOTSUPP,
			   "dialect %u: this library writes no entries of it: set it to 0",
			   *dialect);
}

GDA_EXPORT const char *gda_syndrome_name_in(uint32_t dialect, uint32_t syndrome)
{
	const char *text;

	if (dialect != GDA_DIALECT_EFA)
		return gda_syndrome_name(syndrome);
	text = gda_efa_status_name(syndrome);
	return text ? text : "unknown status";
}
