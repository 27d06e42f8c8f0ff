// SPDX-License-Identifier: GPL-2.0
/*
 * Counts of live objects over all contexts. Each object adds one when it is made and subtracts
 * one when its memory is freed, so all counts are zero again unless something leaked. Netlink
 * shows them to administrators (GDA_CMD_STATS_GET).
 */
#include <linux/atomic.h>

#include "gda_private.h"

static atomic_long_t gda_stats[GDA_STATS];

void gda_stat_add(enum gda_stat stat, long n)
{
	atomic_long_add(n, &gda_stats[stat]);
}

long gda_stat_read(enum gda_stat stat)
{
	return atomic_long_read(&gda_stats[stat]);
}
