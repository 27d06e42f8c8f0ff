// SPDX-License-Identifier: GPL-2.0
/*
 * Keys of the software device. A key is an index of 24 bits, which goes round from a random
 * start, and 8 random bits; the whole of it is compared. An index comes up again only after
 * all others were used, so a stale key does not hit a new MR. Guessing is not what keeps
 * memory safe: the protection domain is checked too, and each wrong key costs the
 * guesser a queue pair.
 */
#include <linux/random.h>

#include "soft.h"

#define GDA_KEY_INDEX_MAX	0xffffff

/* The engine finds the MR from here on; its own context's work may guess the key. */
int gda_soft_map(struct gda_executor_mr *exec, const struct gda_executor_mr_attr *attr)
{
	struct gda_soft *soft = gda_soft_of(exec->ctx->dev);
	struct gda_mr *mr = container_of(exec, struct gda_mr, exec);
	u32 index;
	int ret;

	ret = xa_alloc_cyclic(&soft->keys, &index, XA_ZERO_ENTRY,
			      XA_LIMIT(1, GDA_KEY_INDEX_MAX), &soft->next_key,
			      GDA_GFP_USER);
	if (ret < 0)
		return gda_cyclic_error(ret);
	exec->key = index << 8 | (get_random_u32() & 0xff);
	mr->mem.key = exec->key;
	/* the index is reserved: cannot fail. Orders the MR's fields before its publication */
	xa_store(&soft->keys, index, mr, GDA_GFP_USER);
	gda_stat_add(GDA_STAT_KEYS, 1);
	return 0;
}

void gda_soft_unmap(struct gda_executor_mr *exec)
{
	xa_erase(&gda_soft_of(exec->ctx->dev)->keys, exec->key >> 8);
	gda_stat_add(GDA_STAT_KEYS, -1);
}
