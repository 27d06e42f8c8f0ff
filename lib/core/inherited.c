// SPDX-License-Identifier: MIT
/*
 * Views in a child of fork(2). A view is private memory of its process, and the queue behind it is
 * shared: a child that posted through its copy would overwrite the parent's posts. So in the child
 * (fork.c) every inherited view is cut off from its queue: its pointers no longer lead there, and
 * its counters say that the ring is full and has failed, which the slow paths of gda/fastpath.h
 * report as they report any queue in error. The fast path needs no extra instruction.
 */
#include <errno.h>
#include <string.h>
#include <gda/cause.h>
#include <gda/queue.h>
#include "gda_internal.h"

/* Beyond every index of a queue; the second is more than any ring's length beyond the first. */
#define GDA_DISASSOCIATED_COMPLETED	(1ULL << 61)
#define GDA_DISASSOCIATED_RESERVED	(GDA_DISASSOCIATED_COMPLETED + (1ULL << 60))

/* The targets of a child's views: a doorbell, its record, and an entry without a completion. */
static struct {
	uint8_t none[GDA_CQE_MAX_BYTES] __attribute__((aligned(64)));
	uint64_t db;
	uint32_t dbrec;
	uint32_t record;
	uint32_t abort;
} gda_disassociated;

void gda_disassociate_init(void)
{
	memset(gda_disassociated.none, 0xff, sizeof(gda_disassociated.none));
	gda_disassociated.abort = 1;
}

/*
 * Posts find a full ring, so they never access the send queue; the slot words are the child's own
 * copy. Work known to be done stays done. A queue that had not failed fails at the first index that
 * is not known to be done.
 */
void gda_view_disassociate(struct gda_view *v)
{
	if (v->error_index == GDA_NO_ERROR || gda_cqe_unordered(v->dialect)) {
		v->error_index = gda_cqe_first(v->dialect, v);
		v->error = GDA_CAUSE_FORK << 8 | gda_cqe_queue_error(GDA_WQE_FIRST);
	}
	/* tickets are done in order from here on */
	v->dialect = GDA_WQE_FIRST;
	v->completed = GDA_DISASSOCIATED_COMPLETED;
	v->reserved = GDA_DISASSOCIATED_RESERVED;
	v->exclusive_done = GDA_NOT_EXCLUSIVE;
	v->deferred = 0;
	v->flushed = 0;
	v->sq = 0;
	v->dbrec = (uintptr_t)&gda_disassociated.dbrec;
	v->db = (uintptr_t)&gda_disassociated.db;
	v->cq = (uintptr_t)gda_disassociated.none;
	v->abort = (uintptr_t)&gda_disassociated.abort;
	v->owner = 0;
	v->caps &= ~GDA_VIEW_RING;
}

bool gda_view_is_inherited(const struct gda_view *v)
{
	return v->dbrec == (uintptr_t)&gda_disassociated.dbrec;
}

void gda_cq_view_disassociate(struct gda_cq *cq)
{
	struct gda_cq_view *v = &cq->view;

	gda_cqe_write_error(v->dialect, cq->orphan, GDA_CAUSE_FORK);
	v->entries = (uintptr_t)cq->orphan;
	v->record = (uintptr_t)&gda_disassociated.record;
	v->mask = 0;
	v->next = 0;
	v->error = EIO;
	v->owner = 0;
	v->caps = 0;
}
