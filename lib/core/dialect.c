// SPDX-License-Identifier: MIT
/*
 * Chooses the dialect of a new queue or CQ: the one that its creator names, or the default.
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
