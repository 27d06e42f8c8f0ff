// SPDX-License-Identifier: GPL-2.0
/*
 * Keys. A key is an index of 24 bits, which goes round from a random start, and 8
 * random bits; the whole of it is compared. An index comes up again only after all
 * others were used, so a stale key does not hit a new MR. Guessing is not what keeps
 * memory safe: the protection domain is checked too, and each wrong key costs the
 * guesser a queue pair.
 */
#include <linux/random.h>

#include "gda_private.h"

#define GDA_KEY_INDEX_MAX	0xffffff

/* Reserve a key: no lookup finds it before gda_key_publish(). */
int gda_key_alloc(struct gda_device *dev, struct gda_mr *mr)
{
	u32 index;
	int ret;

	ret = xa_alloc_cyclic(&dev->keys, &index, XA_ZERO_ENTRY,
			      XA_LIMIT(1, GDA_KEY_INDEX_MAX), &dev->next_key,
			      GFP_KERNEL_ACCOUNT);
	if (ret < 0)
		return gda_cyclic_error(ret);
	mr->mem.key = index << 8 | (get_random_u32() & 0xff);
	gda_stat_add(GDA_STAT_KEYS, 1);
	return 0;
}

void gda_key_publish(struct gda_device *dev, struct gda_mr *mr)
{
	/* reserved: allocates nothing; orders the MR's fields before it is found */
	xa_store(&dev->keys, mr->mem.key >> 8, mr, GFP_KERNEL_ACCOUNT);
}

void gda_key_free(struct gda_device *dev, struct gda_mr *mr)
{
	xa_erase(&dev->keys, mr->mem.key >> 8);
	gda_stat_add(GDA_STAT_KEYS, -1);
}
