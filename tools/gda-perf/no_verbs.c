// SPDX-License-Identifier: MIT
/* Replaces verbs.c where libibverbs is not available at build time. */
#include "perf.h"

static int no_verbs(struct perf_row *row, struct perf_sample *s)
{
	(void)s;
	return perf_missing(row, "built without libibverbs-dev");
}

void perf_verbs_plan(void)
{
	for (unsigned int t = 0; t < PERF_TESTS; t++)
		perf_row_add((enum perf_test)t, "verbs_write", "raw verbs: write",
			     t == PERF_BW ? 65536 : 8, no_verbs, 0);
}
