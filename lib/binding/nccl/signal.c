// SPDX-License-Identifier: MIT
/*
 * Signal words in GPU memory. The new value is computed here and stored through the owner's queue
 * to itself, which keeps the stores in order and copies by the GPU that has the word.
 *
 * If the GPU may store to the word, to reset it, the word is read before each addition, on the same
 * queue and so behind all stores to it. Otherwise it is read once.
 */
#include <errno.h>
#include <stdlib.h>
#include "nccl_internal.h"

static struct gda_nccl_word **gda_nccl_word_find(struct gda_nccl_region *region, uint64_t offset)
{
	struct gda_nccl_word **link = &region->words[offset / 8 % GDA_NCCL_BUCKETS];

	while (*link && (*link)->offset != offset)
		link = &(*link)->next;
	return link;
}

static int gda_nccl_word_read(const struct gda_nccl_region *region, struct gda_nccl_queue *q,
			      uint64_t offset, uint64_t *value)
{
	const struct gda_nccl_member *m = region->owner;
	uint64_t at = gda_mr_iova(m->scratch_mr) + GDA_NCCL_READ * sizeof(m->scratch[0]);
	int64_t ticket = gda_get(q->view, at, gda_mr_key(m->scratch_mr), region->iova + offset,
				 region->key, sizeof(*value), 0);
	int err = gda_wait(q->view, ticket, gda_clock_ns() + GDA_NCCL_READ_NS);

	if (!err)
		*value = m->scratch[GDA_NCCL_READ];
	return err;
}

/* With the owner's lock. */
static int gda_nccl_word_value(struct gda_nccl_region *region, struct gda_nccl_queue *q,
			       uint64_t offset, struct gda_nccl_word **word)
{
	struct gda_nccl_word **link = gda_nccl_word_find(region, offset);
	struct gda_nccl_word *w;
	int err;

	if (*link) {
		*word = *link;
		return 0;
	}
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->offset = offset;
	err = gda_nccl_word_read(region, q, offset, &w->value);
	if (err) {
		free(w);
		return err;
	}
	*link = w;
	*word = w;
	return 0;
}

static int gda_nccl_word_add_locked(struct gda_nccl_region *region, uint64_t offset,
				    uint64_t add, int64_t *ticket)
{
	struct gda_nccl_member *m = region->owner;
	struct gda_nccl_queue *q = &m->serve[m->rank];
	struct gda_nccl_word *word = NULL;
	uint64_t value;
	int err;

	if (m->closed)
		return -EPIPE;
	if (region->never_reset) {
		err = gda_nccl_word_value(region, q, offset, &word);
		value = err ? 0 : word->value;
	} else {
		err = gda_nccl_word_read(region, q, offset, &value);
	}
	if (err)
		return err;
	*ticket = gda_put_value(q->view, region->iova + offset, region->key, value + add, 0);
	if (*ticket < 0)
		return (int)*ticket;
	if (word)
		word->value = value + add;
	return 0;
}

int gda_nccl_word_add(struct gda_nccl_region *region, uint64_t offset, uint64_t value,
		      int64_t *ticket)
{
	int err;

	pthread_mutex_lock(&region->owner->lock);
	err = gda_nccl_word_add_locked(region, offset, value, ticket);
	pthread_mutex_unlock(&region->owner->lock);
	return err;
}
