// SPDX-License-Identifier: MIT
/*
 * Rings that complete the work of views. A view polls one entry, that of a collapsed CQ. QPs that
 * share a ring each have a *cell* of that form in their struct gda_qp. A thread that polls the ring
 * copies new entries to the cells, so the fast path is the same as with a collapsed CQ. The cost of
 * a pass depends on the number of new entries, not of QPs.
 *
 * A pass removes completions from the ring up to the first immediate. The program must take that by
 * gda_cq_poll(); a pass credits the entries behind an immediate and leaves them in the ring.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <gda/queue.h>
#include <gda/ring.h>
#include "gda_internal.h"

#define GDA_CREDITS_LEAST	16U

static struct gda_credit *gda_credit_find(struct gda_credits *c, uint32_t qpn)
{
	uint32_t i;

	/* QP numbers are consecutive, so collisions are rare */
	for (i = qpn & c->mask; c->table[i].cell; i = (i + 1) & c->mask)
		if (c->table[i].qpn == qpn)
			break;
	return &c->table[i];
}

/*
 * Copy an entry to the cell of its QP, whose dialect is the ring's; @last is the entry's last word.
 */
static void gda_credit(struct gda_credits *c, uint32_t dialect, const char *cqe, uint32_t last)
{
	const struct gda_credit *credit;
	char *cell;

	if (!gda_cqe_is_done(dialect, last) && !gda_cqe_is_error(dialect, last))
		return;
	credit = gda_credit_find(c, gda_cqe_qpn(dialect, cqe));
	if (!credit->cell)
		return;		/* the QP was destroyed */
	cell = (char *)(uintptr_t)credit->cell;
	if (gda_cqe_is_error(dialect, last))
		gda_cqe_copy_error(dialect, cell, cqe);
	/* pairs with gda_poll(): its acquire of @last makes the moved data visible */
	gda_nic_store32((uint32_t *)(uintptr_t)gda_cqe_last(dialect, credit->cell), last);
}

/* Credit the next entry, if there is one. @last: its last word. Return: whether there was one. */
static bool gda_credits_next(struct gda_credits *c, const struct gda_cq_view *v, uint32_t *last)
{
	const char *cqe = (const char *)(uintptr_t)v->entries +
			  (uint64_t)((uint32_t)c->seen & v->mask) * gda_cqe_bytes(v->dialect);

	/* pairs with the executor's release of this word */
	*last = gda_nic_load32(gda_cqe_last(v->dialect, (uintptr_t)cqe));
	if (!gda_cqe_is_new(v->dialect, *last, c->seen, v->mask) ||
	    c->seen - v->next > v->mask)
		return false;
	gda_credit(c, v->dialect, cqe, *last);
	c->seen++;
	return true;
}

static __attribute__((noinline)) void gda_credits_pass(struct gda_credits *c, struct gda_cq_view *v)
{
	uint64_t next = v->next, end = c->seen + v->mask + 1;

	while (c->seen != end) {
		bool first = c->seen == v->next;
		uint32_t last;

		if (!gda_credits_next(c, v, &last))
			break;
		if (first && !gda_cqe_is_imm(v->dialect, last))
			v->next++;
	}
	/* pairs with the executor's acquire before it writes these entries again */
	if (v->next != next)
		gda_nic_store32((uint32_t *)(uintptr_t)v->record,
				gda_cqe_record(v->dialect, v->next));
}

GDA_EXPORT void gda_view_progress(struct gda_view *v)
{
	struct gda_qp *q = (struct gda_qp *)(uintptr_t)v->owner;
	struct gda_credits *c = &q->cq->credits;

	/* gda_poll() reads a ring of the view's own */
	if (!q->credited)
		return;
	/* the thread that holds the lock credits this view, too */
	if (pthread_mutex_trylock(&c->lock))
		return;
	gda_credits_pass(c, &q->cq->view);
	pthread_mutex_unlock(&c->lock);
}

GDA_EXPORT void gda_view_ask(struct gda_view *v)
{
	struct gda_qp_query query = { .size = sizeof(query) };
	struct gda_qp *q;

	gda_view_progress(v);
	q = (struct gda_qp *)(uintptr_t)v->owner;
	query.handle = q->handle;
	/* there is an entry if anything was posted, or there will be one */
	if (gda_poll(v, 0) != gda_load_acquire64(&v->reserved) ||
	    gda_load_acquire64(&v->error_index) != GDA_NO_ERROR ||
	    q->ctx->ops->ioctl(q->ctx, GDA_IOC_QP_QUERY, &query) || query.state != GDA_QP_ERROR)
		return;
	if (gda_cqe_unordered(v->dialect) && !gda_cas32(&v->reaper, 0, 1))
		return;
	/* gda_poll() stores the error, too, when the next request fails with it */
	gda_store_relaxed64(&v->error, (uint64_t)query.vendor << 8 | query.syndrome);
	gda_store_release64(&v->error_index, query.error_index);
	if (gda_cqe_unordered(v->dialect))
		gda_exchange32(&v->reaper, 0);
}

GDA_EXPORT int gda_cq_reserve(struct gda_cq_view *cq, struct gda_cq_entry *entry, size_t size)
{
	struct gda_credits *c = &((struct gda_cq *)(uintptr_t)cq->owner)->credits;
	struct gda_cq_entry ours = { .size = (uint32_t)size };
	uint32_t last;
	int ret;

	pthread_mutex_lock(&c->lock);
	if (c->seen == cq->next)
		gda_credits_next(c, cq, &last);
	ret = c->seen != cq->next && gda_cq_next(cq, &ours);
	pthread_mutex_unlock(&c->lock);
	if (ret)
		memcpy((char *)entry + sizeof(ours.size), (char *)&ours + sizeof(ours.size),
		       (size < sizeof(ours) ? size : sizeof(ours)) - sizeof(ours.size));
	return ret;
}

/* Grow the table for one more QP. */
static int gda_credits_grow(struct gda_credits *c)
{
	struct gda_credits bigger = { .mask = c->table ? 2 * c->mask + 1 : GDA_CREDITS_LEAST - 1 };
	uint32_t i;

	if (c->table && 2 * (c->count + 1) <= c->mask)
		return 0;
	bigger.table = calloc((size_t)bigger.mask + 1, sizeof(*bigger.table));
	if (!bigger.table)
		return -ENOMEM;
	for (i = 0; c->table && i <= c->mask; i++)
		if (c->table[i].cell)
			*gda_credit_find(&bigger, c->table[i].qpn) = c->table[i];
	free(c->table);
	c->table = bigger.table;
	c->mask = bigger.mask;
	return 0;
}

int gda_credits_add(struct gda_cq *cq, uint32_t qpn, void *cell, uint32_t depth)
{
	struct gda_credits *c = &cq->credits;
	int err = 0;

	pthread_mutex_lock(&c->lock);
	if (depth > cq->view.mask + 1 - c->slots)
		err = -ENOSPC;
	if (!err)
		err = gda_credits_grow(c);
	if (!err) {
		*gda_credit_find(c, qpn) = (struct gda_credit){ (uintptr_t)cell, qpn };
		c->count++;
		c->slots += depth;
		if (!(cq->view.caps & GDA_VIEW_RING)) {
			c->seen = cq->view.next;
			__atomic_fetch_or(&cq->view.caps, GDA_VIEW_RING, __ATOMIC_RELEASE);
		}
	}
	pthread_mutex_unlock(&c->lock);
	return err;
}

void gda_credits_remove(struct gda_cq *cq, uint32_t qpn, uint32_t depth)
{
	struct gda_credits *c = &cq->credits;
	struct gda_credit *gone;
	uint32_t i;

	pthread_mutex_lock(&c->lock);
	gone = c->table ? gda_credit_find(c, qpn) : NULL;
	if (gone && gone->cell) {
		gone->cell = 0;
		c->count--;
		c->slots -= depth;
		/*
		 * an entry behind the freed one may have been placed there by a collision: move it
		 * back
		 */
		for (i = ((uint32_t)(gone - c->table) + 1) & c->mask; c->table[i].cell;
		     i = (i + 1) & c->mask) {
			struct gda_credit moved = c->table[i];

			c->table[i].cell = 0;
			*gda_credit_find(c, moved.qpn) = moved;
		}
	}
	pthread_mutex_unlock(&c->lock);
}
