// SPDX-License-Identifier: GPL-2.0
/*
 * Keys by which the MRs of a device are found, in dev->keys.
 *
 * For a device whose queues the engine carries out, gda_core chooses the keys. Such a key is an
 * index of 24 bits, which goes round from a random start, and 8 random bits; the whole of it is
 * compared. An index comes up again only after all others were used, so a stale key does not hit a
 * new MR. Guessing is not what keeps memory safe: the protection domain is checked too, and each
 * wrong key costs the guesser a queue pair.
 *
 * On a client's device only the key keeps memory safe within a protection domain, so its index is
 * random, too.
 *
 * The key of an MR that its device registered (mr_reg()) comes from the device, and the MR is
 * listed by the whole key. MRs of devices with mr_map() are not found here.
 */
#include <linux/random.h>

#include "gda_private.h"

#define GDA_KEY_INDEX_MAX	0xffffff

static unsigned long gda_key_index(const struct gda_device *dev, u32 key)
{
	return dev->ops->engine ? key >> 8 : key;
}

void gda_keys_init(struct gda_device *dev)
{
	gfp_t flags = dev->ops->engine ? XA_FLAGS_ALLOC1 : 0;

	xa_init_flags(&dev->keys, flags | XA_FLAGS_ACCOUNT);
	dev->next_key = get_random_u32() & GDA_KEY_INDEX_MAX;
}

/* From here on the engine finds the MR; work of its own context may guess the key. */
int gda_key_create(struct gda_device *dev, struct gda_mr *mr)
{
	u32 index, next = get_random_u32() & GDA_KEY_INDEX_MAX;
	int ret;

	ret = xa_alloc_cyclic(&dev->keys, &index, XA_ZERO_ENTRY, XA_LIMIT(1, GDA_KEY_INDEX_MAX),
			      dev->ops->client ? &next : &dev->next_key, GDA_GFP_USER);
	if (ret < 0)
		return gda_cyclic_error(ret);
	mr->exec.key = index << 8 | (get_random_u32() & 0xff);
	mr->mem.key = mr->exec.key;
	/*
	 * the index is reserved: this cannot fail. It orders the MR's fields before its publication
	 */
	xa_store(&dev->keys, index, mr, GDA_GFP_USER);
	gda_stat_add(GDA_STAT_KEYS, 1);
	return 0;
}

/* List an MR whose key its device has chosen. */
int gda_key_insert(struct gda_device *dev, struct gda_mr *mr)
{
	int ret;

	mr->mem.key = mr->exec.key;
	ret = xa_insert(&dev->keys, gda_key_index(dev, mr->exec.key), mr, GDA_GFP_USER);
	if (!ret)
		gda_stat_add(GDA_STAT_KEYS, 1);
	return ret;
}

void gda_key_remove(struct gda_device *dev, struct gda_mr *mr)
{
	xa_erase(&dev->keys, gda_key_index(dev, mr->exec.key));
	gda_stat_add(GDA_STAT_KEYS, -1);
}
