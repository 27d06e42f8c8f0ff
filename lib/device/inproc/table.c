// SPDX-License-Identifier: MIT
/*
 * Tables of 24-bit numbers: of QPs, and the index part of keys. A number is used again only after
 * all others. Tables have two levels. Changes are made under dev->lock; workers look up without a
 * lock, so the caller frees an empty leaf only after gda_inproc_sync().
 */
#include <errno.h>
#include <stdlib.h>
#include "inproc.h"

#define GDA_INPROC_NUMBERS	(GDA_INPROC_LEAF * GDA_INPROC_LEAVES)

static struct gda_inproc_leaf *gda_inproc_leaf_get(struct gda_inproc_table *t, u32 n)
{
	if (!t->leaf[n]) {
		struct gda_inproc_leaf *leaf = calloc(1, sizeof(*leaf));

		if (n == 0 && leaf) {
			leaf->used[0] = 1;	/* 0 is never a number */
			leaf->nused = 1;
		}
		/* pairs with gda_inproc_table_find() */
		smp_store_release(&t->leaf[n], leaf);
	}
	return t->leaf[n];
}

/* Return: the first free number of a leaf from @from on, or GDA_INPROC_LEAF. */
static u32 gda_inproc_leaf_free(const struct gda_inproc_leaf *leaf, u32 from)
{
	while (from < GDA_INPROC_LEAF && leaf->used[from / 64] >> from % 64 & 1)
		from++;
	return from;
}

int gda_inproc_table_reserve(struct gda_inproc_table *t, u32 *index)
{
	u32 next = t->next % GDA_INPROC_NUMBERS;
	u32 tries, in;

	/* the last iteration covers the skipped start of the first leaf */
	for (tries = 0; tries <= GDA_INPROC_LEAVES; tries++) {
		struct gda_inproc_leaf *leaf = gda_inproc_leaf_get(t, next / GDA_INPROC_LEAF);

		if (!leaf)
			return -ENOMEM;
		in = gda_inproc_leaf_free(leaf, next % GDA_INPROC_LEAF);
		if (in < GDA_INPROC_LEAF) {
			leaf->used[in / 64] |= 1ULL << in % 64;
			leaf->nused++;
			*index = next - next % GDA_INPROC_LEAF + in;
			t->next = *index + 1;
			return 0;
		}
		next = (next - next % GDA_INPROC_LEAF + GDA_INPROC_LEAF) % GDA_INPROC_NUMBERS;
	}
	return -ENOSPC;
}

void gda_inproc_table_publish(struct gda_inproc_table *t, u32 index, void *entry)
{
	/* pairs with gda_inproc_table_find() */
	smp_store_release(&t->leaf[index / GDA_INPROC_LEAF]->entry[index % GDA_INPROC_LEAF],
			  entry);
}

void *gda_inproc_table_erase(struct gda_inproc_table *t, u32 index)
{
	struct gda_inproc_leaf *leaf = t->leaf[index / GDA_INPROC_LEAF];
	u32 in = index % GDA_INPROC_LEAF;

	/* pairs with gda_inproc_table_find() */
	smp_store_release(&leaf->entry[in], NULL);
	leaf->used[in / 64] &= ~(1ULL << in % 64);
	leaf->nused--;
	/* number 0 keeps the first leaf in use */
	if (leaf->nused > !(index / GDA_INPROC_LEAF))
		return NULL;
	/* pairs with gda_inproc_table_find() */
	smp_store_release(&t->leaf[index / GDA_INPROC_LEAF], NULL);
	return leaf;
}
