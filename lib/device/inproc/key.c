// SPDX-License-Identifier: MIT
/*
 * Keys of MRs that the engine looks up, as in kmod/gda_core/key.c: gda_inproc.keys. A key has a
 * 24-bit index, which increases from a random start, and 8 random bits. A lookup compares the
 * whole key and the protection domain.
 */
#include "inproc.h"

int gda_inproc_key_create(struct gda_inproc_mr *mr)
{
	u32 index;
	int err;

	/* from now on the engine may access the MR's memory, which the program may unmap */
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
