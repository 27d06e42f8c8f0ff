// SPDX-License-Identifier: GPL-2.0
/*
 * Counts of live objects over all contexts. Each object adds one when it is made and subtracts
 * one when its memory is freed, so all counts are zero again unless something leaked. Shown in
 * debugfs; not ABI.
 */
#include <linux/atomic.h>
#include <linux/debugfs.h>
#include <linux/seq_file.h>

#include "gda_private.h"

static atomic_long_t gda_stats[GDA_STATS];

static const char * const gda_stat_names[GDA_STATS] = {
	[GDA_STAT_CONTEXTS] = "contexts",
	[GDA_STAT_QPS] = "qps",
	[GDA_STAT_CQS] = "cqs",
	[GDA_STAT_COUNTERS] = "counters",
	[GDA_STAT_MRS] = "mrs",
	[GDA_STAT_REGIONS] = "regions",
	[GDA_STAT_PAGES] = "pages",
	[GDA_STAT_KEYS] = "keys",
};

static struct dentry *gda_debugfs;

void gda_stat_add(enum gda_stat stat, long n)
{
	atomic_long_add(n, &gda_stats[stat]);
}

long gda_stat_read(enum gda_stat stat)
{
	return atomic_long_read(&gda_stats[stat]);
}

static int objects_show(struct seq_file *m, void *unused)
{
	int i;

	for (i = 0; i < GDA_STATS; i++)
		seq_printf(m, "%s %ld\n", gda_stat_names[i],
			   atomic_long_read(&gda_stats[i]));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(objects);

void gda_debugfs_init(void)
{
	gda_debugfs = debugfs_create_dir("gda", NULL);
	debugfs_create_file("objects", 0400, gda_debugfs, NULL, &objects_fops);
}

void gda_debugfs_exit(void)
{
	debugfs_remove(gda_debugfs);
}
