// SPDX-License-Identifier: MIT
/*
 * Decode an entry of a send queue for a flight record, with the executor's decoder. Posters may
 * write to the queue meanwhile.
 */
#include "engine.h"
#include "gda_internal.h"

void gda_entry_read(const struct gda_view *v, uint64_t index, uint32_t avail,
		    struct gda_record *r)
{
	const struct gda_dialect_ops *ops = gda_dialect_find_cq(v->dialect);
	struct gda_engine_qp q = { 0 };
	struct gda_status st;

	memset(r, 0, sizeof(*r));
	r->ticket = index;
	r->qpn = v->qpn;
	if (!ops) {
		r->err_class = GDA_CLASS_QUEUE;
		r->cause = GDA_CAUSE_INDEX;
		return;
	}
	q.sq = (const void *)(uintptr_t)v->sq;
	q.depth = v->mask + 1;
	q.qpn = v->qpn;
	q.ci = index;
	st = ops->decode(&q, avail, &q.work);
	r->opcode = q.work.opcode;
	r->aux = q.work.slots;
	r->err_class = st.class;
	r->cause = st.cause;
	if (!st.class)
		gda_engine_describe(&q.work, r);
}
