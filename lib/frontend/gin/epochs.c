// SPDX-License-Identifier: MIT
/*
 * Epochs of a communicator (GDA_GIN_EPOCHS): for each context and peer the ring of the peer's
 * immediates, two counters of its writes, and a block in the memory that peers write. A block has
 * the peer's notes, the word that tells the peer how many of its epochs were delivered, and the
 * copy of the peer's such word.
 *
 * The blocks of a context lie behind its words, one for each peer.
 */
#include <errno.h>
#include <stdlib.h>
#include "gin_internal.h"
#include "share.h"

#define GDA_GIN_NOTE_WORDS	(sizeof(struct gda_epoch_note) / sizeof(uint64_t))

/* Most epochs that are closed and not delivered. */
static uint32_t gda_gin_epoch_places(const struct gda_gin_world *w)
{
	return w->attr.depth;
}

static size_t gda_gin_block_words(const struct gda_gin_world *w)
{
	return GDA_GIN_NOTE_WORDS * gda_gin_epoch_places(w) + 2;
}

size_t gda_gin_epochs_words(const struct gda_gin_world *w)
{
	return w->attr.flags & GDA_GIN_EPOCHS ? w->view.nranks * gda_gin_block_words(w) : 0;
}

static int gda_gin_epochs_create_one(struct gda_gin_world *w, struct gda_gin_epoch_parts *p)
{
	struct gda_cq_attr attr = {
		.size = sizeof(attr),
		.depth = gda_gin_epoch_places(w),
		.dialect = w->attr.dialect,
	};
	struct gda_cq_view *ring;
	uint32_t i;
	int err = gda_cq_create(w->ctx, &attr, &p->ring);

	for (i = 0; !err && i < 2; i++) {
		err = gda_counter_create(w->ctx, &p->counters[i]);
		if (!err)
			p->epochs.arrived[i] =
				(uintptr_t)&gda_counter_memory(p->counters[i])->value;
	}
	if (err)
		return gda_because_last(err);
	ring = gda_cq_view(p->ring);
	if (!ring)
		return gda_because_last(-EINVAL);
	p->epochs.ring = (uintptr_t)ring;
	p->epochs.room = gda_gin_epoch_places(w);
	return 0;
}

int gda_gin_epochs_create(struct gda_gin_world *w)
{
	size_t i, n = (size_t)w->attr.contexts * w->view.nranks;
	int err = 0;

	if (!(w->attr.flags & GDA_GIN_EPOCHS))
		return 0;
	w->epochs = calloc(n, sizeof(*w->epochs));
	if (!w->epochs)
		return -ENOMEM;
	for (i = 0; !err && i < n; i++)
		if (gda_gin_connects(w, (uint32_t)(i % w->view.nranks)))
			err = gda_gin_epochs_create_one(w, &w->epochs[i]);
	return err;
}

void gda_gin_epochs_describe(struct gda_gin_world *w, struct gda_gin_queue *q, uint32_t context,
			     uint32_t peer)
{
	size_t words = gda_gin_word_at(w, w->slots), block = gda_gin_block_words(w);
	size_t notes = GDA_GIN_NOTE_WORDS * gda_gin_epoch_places(w);
	size_t here = words + peer * block, there = words + w->view.rank * block;
	uint64_t *own = w->memory + context * w->memory_words + here;
	struct gda_gin_epochs *e;

	if (!w->epochs)
		return;
	e = &w->epochs[(size_t)context * w->view.nranks + peer].epochs;
	e->notes = (uintptr_t)own;
	e->told = (uintptr_t)(own + notes);
	e->read = (uintptr_t)(own + notes + 1);
	e->read_at = gda_mr_iova(w->mr) + 8 * (context * w->memory_words + here + notes + 1);
	e->notes_at = q->signals + 8 * there;
	e->told_at = q->signals + 8 * (there + notes);
	q->epochs = (uintptr_t)e;
}

void gda_gin_epochs_destroy(struct gda_gin_world *w)
{
	size_t i, n = (size_t)w->attr.contexts * w->view.nranks;

	for (i = 0; w->epochs && i < n; i++) {
		gda_counter_destroy(w->epochs[i].counters[0]);
		gda_counter_destroy(w->epochs[i].counters[1]);
		gda_cq_destroy(w->epochs[i].ring);
	}
	free(w->epochs);
}
