// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The executor's side of the dialect of phase.h. As in mlx5.c, each word of a queue is read
 * once, and only the copy is checked and used.
 */
#include "engine.h"
#include "phase.h"
#include "visit.h"

static_assert(sizeof(struct ph_entry) == PH_SLOT);
static_assert(sizeof(struct ph_cqe) == PH_SLOT);
static_assert((u32)PH_WRITE_IMM == (u32)GDA_OP_WRITE_IMM);
static_assert((u32)PH_MASKED_COMPARE_SWAP == (u32)GDA_OP_MASKED_COMPARE_SWAP);
static_assert((u32)PH_IMM == (u32)GDA_COMPLETION_IMM && (u32)PH_ERROR == (u32)GDA_COMPLETION_ERROR);

#ifndef PH_FATAL
#define PH_FATAL	0
#endif

union ph_slot {
	u64 raw[PH_SLOT / 8];
	struct ph_entry entry;
	u8 bytes[PH_SLOT];
};

static void ph_fetch(const struct gda_engine_qp *q, u32 n, union ph_slot *copy)
{
	const u64 *slot = (const u64 *)q->sq +
			  (((u32)q->ci + n) & (q->depth - 1)) * (PH_SLOT / 8);
	u32 i;

	for (i = 0; i < PH_SLOT / 8; i++)
		copy->raw[i] = READ_ONCE(slot[i]);
}

static void ph_published(const struct gda_engine_qp *q, struct gda_ring_scan *scan)
{
	/* pairs with the producer's release: entries are read after it */
	u32 next = (u32)(u64)smp_load_acquire(q->db);
	u32 ahead = next - (u32)q->ci;

	scan->db = next;
	scan->stray = 0;
	scan->rec = 0;
	scan->ahead = (u32)(q->pi - q->ci);
	scan->illegal = ahead > q->depth && ahead < 1U << 31;
	if (ahead <= q->depth && ahead > scan->ahead)
		scan->ahead = ahead;
}

static void ph_record(const struct gda_engine_qp *q, __be32 *rec)
{
	(void)q;
	(void)rec;
}

static struct gda_status ph_bad(u8 cause)
{
	return gda_status(GDA_CLASS_QUEUE, cause);
}

static struct gda_status ph_decode_inline(const struct gda_engine_qp *q,
					  const struct ph_entry *e, struct gda_work *work)
{
	u32 len = work->remote.len, n;
	union ph_slot slot;

	if (work->op != GDA_OP_WRITE || len > GDA_ENGINE_MAX_INLINE)
		return gda_status(GDA_CLASS_LOCAL, GDA_CAUSE_LENGTH);
	work->nsge = 0;
	work->inlined = true;
	if (work->slots == 1 && len <= PH_INLINE_SLOT) {
		memcpy(work->data, &e->laddr, len);
		return gda_status(GDA_CLASS_NONE, GDA_CAUSE_NONE);
	}
	if (work->slots != 1 + (len + PH_SLOT - 1) / PH_SLOT)
		return ph_bad(GDA_CAUSE_SIZE);
	for (n = 0; n < len; n += PH_SLOT) {
		ph_fetch(q, 1 + n / PH_SLOT, &slot);
		memcpy(work->data + n, slot.bytes, min(len - n, PH_SLOT));
	}
	return gda_status(GDA_CLASS_NONE, GDA_CAUSE_NONE);
}

/* The second slot of an atomic or of an immediate. */
static struct gda_status ph_decode_operands(const struct gda_engine_qp *q,
					    struct gda_work *work)
{
	union ph_slot slot;

	if (work->slots != 2)
		return ph_bad(GDA_CAUSE_SIZE);
	if (work->op != GDA_OP_WRITE_IMM && work->remote.len != sizeof(u64) &&
	    (work->op < GDA_OP_MASKED_FETCH_ADD || work->remote.len != sizeof(u32)))
		return gda_status(GDA_CLASS_LOCAL, GDA_CAUSE_LENGTH);
	ph_fetch(q, 1, &slot);
	work->imm = (u32)slot.raw[0];
	work->swap_add = slot.raw[0];
	work->compare = slot.raw[1];
	work->swap_mask = slot.raw[2];
	work->compare_mask = slot.raw[3];
	return gda_status(GDA_CLASS_NONE, GDA_CAUSE_NONE);
}

static void ph_fill(const struct ph_entry *e, struct gda_work *work)
{
	work->op = e->op;
	work->flags = e->len == sizeof(u32) ? GDA_WORK_BIG_ENDIAN : 0;
	if (e->flags & PH_SIGNALED)
		work->flags |= GDA_WORK_SIGNALED;
	if (e->flags & PH_SOLICITED)
		work->flags |= GDA_WORK_SOLICITED | GDA_WORK_SOLICIT;
	work->inlined = false;
	work->nsge = e->op != GDA_OP_NOP && e->len;
	work->remote = (struct gda_sge){ e->raddr, e->len, e->rkey };
	work->sge[0] = (struct gda_sge){ e->laddr, e->len, e->lkey };
}

static struct gda_status ph_decode(const struct gda_engine_qp *q, u32 avail,
				   struct gda_work *work)
{
	const struct ph_entry *e;
	union ph_slot slot;

	ph_fetch(q, 0, &slot);
	e = &slot.entry;
	work->opcode = e->op;
	work->slots = e->slots && e->slots <= avail ? e->slots : 1;
	if ((e->flags & PH_PHASE) == !!(q->ci & q->depth))
		return ph_bad(GDA_CAUSE_INDEX);
	if (e->slots != work->slots)
		return ph_bad(GDA_CAUSE_SIZE);
	if (e->op > GDA_OP_MASKED_COMPARE_SWAP || e->op == GDA_OP_DUMP ||
	    e->op == GDA_OP_WAIT)
		return ph_bad(GDA_CAUSE_OPCODE);
	if (e->len > GDA_ENGINE_MAX_MSG)
		return gda_status(GDA_CLASS_LOCAL, GDA_CAUSE_LENGTH);
	ph_fill(e, work);
	if (e->flags & PH_INLINE)
		return ph_decode_inline(q, e, work);
	if (e->op >= GDA_OP_FETCH_ADD || e->op == GDA_OP_WRITE_IMM)
		return ph_decode_operands(q, work);
	return e->slots == 1 ? gda_status(GDA_CLASS_NONE, GDA_CAUSE_NONE) :
			       ph_bad(GDA_CAUSE_SIZE);
}

static void ph_preset(struct gda_engine_cq *cq)
{
	memset(cq->entries, cq->collapsed ? 0xff : 0, (size_t)cq->depth * PH_SLOT);
}

static bool ph_finish(struct gda_engine_cq *cq, const struct gda_completion *c)
{
	struct ph_cqe *cqe = (struct ph_cqe *)cq->entries + (cq->producer & (cq->depth - 1));
	u32 phase = !(cq->producer & cq->depth);
	u32 consumer = (u32)cq->producer;

	if (!cq->collapsed && cq->consumer)
		/* pairs with the consumer's release: it has read what is overwritten */
		consumer = (u32)smp_load_acquire(cq->consumer);
	if ((u32)cq->producer - consumer >= cq->depth)
		return gda_cq_refuse(cq, c);
	WRITE_ONCE(cqe->index, c->index);
	WRITE_ONCE(cqe->uidx_imm, c->uidx_imm);
	WRITE_ONCE(cqe->qpn, c->qpn);
	WRITE_ONCE(cqe->count, c->kind == GDA_COMPLETION_ERROR ?
			       (u32)c->first.cause << 8 | c->first.class : c->byte_cnt);
	WRITE_ONCE(cqe->first, (u32)c->first_error);
	/* pairs with the poller's acquire */
	smp_store_release(&cqe->last, phase << 31 | (u32)c->kind << 29 |
				      (u32)c->status.class << 24 |
				      (u32)c->status.cause << 16 | (u16)c->index);
	cq->producer++;
	cq->reached = c->index + 1;
	return true;
}

static u8 ph_syndrome(struct gda_status st)
{
	return (u8)ph_syndrome_of(st.class, st.cause);
}

/*
 * With libgda's posters each error is: gda_error() says of one error that it is the queue's last,
 * and a queue that survives some completes to a ring that its program reads.
 */
static bool ph_fatal(struct gda_status st)
{
	return PH_FATAL || st.class != GDA_CLASS_REMOTE_ACCESS;
}

static u32 ph_visit(struct gda_engine_qp *q, u32 wqes, u32 bytes)
{
	return gda_engine_serve(q, wqes, bytes, &gda_dialect_phase);
}

const struct gda_dialect_ops gda_dialect_phase = {
	.id = PH_ID,
	.slot_bytes = PH_SLOT,
	.max_depth = GDA_ENGINE_MAX_DEPTH,
	.max_user_index = 0xffffff,
	.cqe_bytes = PH_SLOT,
	.cqe_last = offsetof(struct ph_cqe, last),
	.published = ph_published,
	.record = ph_record,
	.decode = ph_decode,
	.preset = ph_preset,
	.finish = ph_finish,
	.syndrome = ph_syndrome,
	.fatal = ph_fatal,
	.visit = ph_visit,
};
