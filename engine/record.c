// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Records of outcomes for the host (gda/record.h). Errors are always recorded; other outcomes only
 * while the host has set %GDA_ENGINE_RECORD. A work request has at most two records: one of its
 * outcome, and before that one of the doorbell or of its begin.
 */
#include "counter.h"
#include "visit.h"

static struct gda_record gda_engine_note(const struct gda_engine_qp *q, u8 kind, u64 ticket,
					 u32 aux)
{
	const struct gda_record r = {
		.ticket = ticket,
		.qpn = q->qpn,
		.kind = kind,
		.aux = aux,
	};

	return r;
}

void gda_engine_describe(const struct gda_work *w, struct gda_record *r)
{
	r->opcode = w->opcode;
	r->len = w->remote.len;
	if (w->op != GDA_OP_NOP && w->op != GDA_OP_DUMP) {
		r->raddr = w->remote.addr;
		r->rkey = w->remote.key;
	}
	if (w->nsge) {
		r->laddr = w->sge[0].addr;
		r->lkey = w->sge[0].key;
	}
}

/* Record the doorbell if slots were published since the last such record. */
static void gda_engine_record_doorbell(struct gda_engine_qp *q)
{
	struct gda_record r;

	if (!(q->record & GDA_ENGINE_RECORD) || q->recorded == q->pi)
		return;
	q->recorded = q->pi;
	r = gda_engine_note(q, GDA_RECORD_DOORBELL, q->pi, (u32)(q->pi - q->ci));
	gda_host_record(q, &r);
}

noinline void gda_engine_record(struct gda_engine_qp *q, u8 kind, u64 index,
				struct gda_status st)
{
	struct gda_record r = gda_engine_note(q, kind, index, q->work.slots);

	if (kind == GDA_RECORD_DONE) {
		if (q->record & GDA_ENGINE_SELECTS)
			gda_counter_done(q);
		if (!(q->record & GDA_ENGINE_RECORD))
			return;
	}
	gda_engine_record_doorbell(q);
	gda_engine_describe(&q->work, &r);
	r.err_class = st.class;
	r.cause = st.cause;
	gda_host_record(q, &r);
}

noinline void gda_engine_record_fetched(struct gda_engine_qp *q, const struct gda_work *w,
					u64 index)
{
	struct gda_record r = gda_engine_note(q, GDA_RECORD_FETCHED, index,
					      (u32)(q->pi - index));

	if (!(q->record & GDA_ENGINE_RECORD) || q->fetched == index + 1)
		return;
	q->fetched = index + 1;
	q->recorded = q->pi;
	gda_engine_describe(w, &r);
	gda_host_record(q, &r);
}

void gda_engine_record_arrived(const struct gda_engine_qp *q, u64 count, u8 opcode,
			       const struct gda_sge *remote, u32 imm)
{
	struct gda_record r = gda_engine_note(q, GDA_RECORD_ARRIVED, count, imm);

	r.opcode = opcode;
	r.len = remote->len;
	r.raddr = remote->addr;
	r.rkey = remote->key;
	gda_host_record(q, &r);
}
