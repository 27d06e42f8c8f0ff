// SPDX-License-Identifier: MIT
/*
 * Agreement of all ranks, for front ends whose set-up is collective: exchanges that keep the reason
 * of a failed step, and the question whether a step succeeded on every rank.
 */
#include <errno.h>
#include <stdlib.h>
#include "comm_internal.h"

int gda_comm_exchange(struct gda_comm *ranks, const void *in, size_t bytes, void *out)
{
	struct gda_reason reason;
	int err;

	gda_reason_save(&reason);
	err = gda_comm_allgather(ranks, in, bytes, out, 0);
	gda_reason_restore(&reason);
	return gda_because_last(err);
}

int gda_comm_agree(struct gda_comm *ranks, int err)
{
	uint32_t n = ranks ? gda_comm_size(ranks) : 0, i;
	int32_t *all, own = err;
	int failed;

	if (!ranks)
		return err;
	all = calloc(n, sizeof(*all));
	if (!all)
		return -ENOMEM;		/* the others notice by their deadline */
	failed = gda_comm_exchange(ranks, &own, sizeof(own), all);
	for (i = 0; !failed && !own && i < n; i++)
		if (all[i])
			own = gda_because(all[i], "rank %u: %s", i, gda_strerror(all[i]));
	free(all);
	return own ? own : failed;
}
