// SPDX-License-Identifier: MIT
/*
 * Keys of MRs that the engine finds, as in kmod/gda_core/key.c: gda_inproc.keys. A key is an index
 * of 24 bits, which goes round from a random start, and 8 random bits; the whole of it is compared,
 * and so is the protection domain.
 */
#include "inproc.h"

int gda_inproc_key_create(struct gda_inproc_mr *mr)
{
	u32 index;
	int err;

	/* the engine is about to touch its memory, which may be taken away */
	gda_inproc_fault_init();
	pthread_mutex_lock(&gda_inproc.lock);
	err = gda_inproc_table_reserve(&gda_inproc.keys, &index);
	if (!err) {
		mr->mem.key = index << 8 | (gda_inproc_random() & 0xff);
		gda_inproc_table_publish(&gda_inproc.keys, index, mr);
	}
	pthread_mutex_unlock(&gda_inproc.lock);
	return err;
}

void gda_inproc_key_remove(struct gda_inproc_mr *mr)
{
	pthread_mutex_lock(&gda_inproc.lock);
	mr->dead_leaf = gda_inproc_table_erase(&gda_inproc.keys, mr->mem.key >> 8);
	pthread_mutex_unlock(&gda_inproc.lock);
}
