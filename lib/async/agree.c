// SPDX-License-Identifier: MIT
/*
 * The agreement of all ranks when a workspace is made. A rank that failed takes part in every
 * exchange up to the next gda_async_agree(), which tells the others; so nobody is left waiting.
 */
#include <errno.h>
#include <stdlib.h>
#include "async_internal.h"

int gda_async_allgather(struct gda_comm *ranks, const void *in, size_t bytes, void *out)
{
	struct gda_reason reason;
	int err;

	gda_reason_save(&reason);
	err = gda_comm_allgather(ranks, in, bytes, out, 0);
	gda_reason_restore(&reason);
	return gda_async_because(err);
}

int gda_async_agree(struct gda_comm *ranks, int err)
{
	uint32_t n = ranks ? gda_comm_size(ranks) : 0, i;
	int32_t *all = calloc(n + 1, sizeof(*all));
	int32_t own = all ? err : -ENOMEM;
	int failed;

	if (!ranks || !all) {
		free(all);
		return own;		/* the others are told by their deadline */
	}
	failed = gda_async_allgather(ranks, &own, sizeof(own), all);
	for (i = 0; !failed && !own && i < n; i++)
		if (all[i])
			own = gda_because(all[i], "rank %u: %s", i, gda_strerror(all[i]));
	free(all);
	return own ? own : failed;
}
