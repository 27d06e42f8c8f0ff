/* SPDX-License-Identifier: MIT */
/* Tables of 24-bit numbers. Changed under dev->lock; workers look up without a lock. */
#ifndef GDA_INPROC_TABLE_H
#define GDA_INPROC_TABLE_H

#include "gda_os.h"

#define GDA_INPROC_LEAF		4096U
#define GDA_INPROC_LEAVES	4096U

struct gda_inproc_leaf {
	u32 nused;
	u64 used[GDA_INPROC_LEAF / 64];
	void *entry[GDA_INPROC_LEAF];
};

struct gda_inproc_table {
	struct gda_inproc_leaf *leaf[GDA_INPROC_LEAVES];
	u32 next;			/* number to try next, wraps around */
};

/* Reserve the next free number, from 1 up. Lookups find it only once it is published. */
int gda_inproc_table_reserve(struct gda_inproc_table *t, u32 *index);
void gda_inproc_table_publish(struct gda_inproc_table *t, u32 index, void *entry);
/* Release a number. Return: memory to free() after gda_inproc_sync(), or NULL. */
void *gda_inproc_table_erase(struct gda_inproc_table *t, u32 index);

static inline void *gda_inproc_table_find(const struct gda_inproc_table *t, u32 index)
{
	/* pairs with the release of a new leaf */
	const struct gda_inproc_leaf *leaf = smp_load_acquire(&t->leaf[index / GDA_INPROC_LEAF]);

	/* pairs with the release of a new entry */
	return leaf ? smp_load_acquire(&leaf->entry[index % GDA_INPROC_LEAF]) : NULL;
}

#endif /* GDA_INPROC_TABLE_H */
