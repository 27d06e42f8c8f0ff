/* SPDX-License-Identifier: MIT */
/*
 * The dialect of phase.h as a poster uses it, under the names that gda/wqe.h asks of a dialect.
 * libgda and its tests are built with it beside gda/wqe/mlx5.h (GDA_WQE_TEST), and no other file of
 * theirs knows. For CPUs alone.
 *
 * An atomic and an immediate take two slots. Completions name first slots, so a NOP ends each
 * entry of several, as in mlx5.
 */
#ifndef GDA_WQE_TEST_H
#define GDA_WQE_TEST_H

#include <stddef.h>
#include <string.h>
#include <gda/barrier.h>
#include <gda/cause.h>
#include <gda/mlx5.h>
#include <gda/view.h>
#include <phase.h>

#define GDA_TEST_WQE_NAME	"test"
#define GDA_TEST_WQE_SLOT_BYTES	PH_SLOT
#define GDA_TEST_WQE_MAX_DEPTH	32768U
#define GDA_TEST_WQE_CAN	(GDA_CAN_ORDER | GDA_CAN_SIGNAL | GDA_CAN_ATOMIC)
#define GDA_TEST_WQE_INLINE_SLOT PH_INLINE_SLOT
#define GDA_TEST_WQE_WORD_SLOTS	3
#define GDA_TEST_WQE_CQE_BYTES	PH_SLOT
#define GDA_TEST_WQE_CQE_QUEUE_ERROR ((uint32_t)GDA_MLX5_SYND_LOCAL_QP_OP)

/* The dialect of a queue whose creator names none: each in turn, or as GDA_TEST_DIALECT says. */
uint32_t gda_test_dialect(void);

/* A work request without its phase. @slots: with the NOP that ends more than one. */
struct gda_test_wqe {
	struct ph_entry e;
	uint64_t operand[4];
	uint32_t slots;
	const void *src;		/* inline payload of more than a slot, or NULL */
};

GDA_HELPER char *gda_test_slot(struct gda_sq sq, uint64_t index)
{
	return sq.slots + (uint64_t)((uint32_t)index & sq.mask) * PH_SLOT;
}

GDA_HELPER int gda_test_wqe_too_long(uint64_t len)
{
	return len >> 31 != 0;
}

GDA_HELPER uint32_t gda_test_wqe_max_inline(uint32_t depth)
{
	uint32_t most = depth > 2 ? (depth - 2) * PH_SLOT : PH_INLINE_SLOT;

	return most < PH_INLINE_MAX ? most : PH_INLINE_MAX;
}

/* The numbers of enum gda_op are those of enum ph_op. */
GDA_HELPER void gda_test_encode_entry(struct gda_test_wqe *w, const struct gda_wr *r)
{
	memset(w, 0, sizeof(*w));
	w->e.op = (uint8_t)r->op;
	w->e.slots = 1;
	w->e.flags = PH_SIGNALED;
	w->e.len = r->len;
	w->e.raddr = r->raddr;
	w->e.rkey = r->rkey;
	w->e.lkey = r->lkey;
	w->e.laddr = r->laddr;
	w->slots = 1;
}

GDA_HELPER void gda_test_encode_operands(struct gda_test_wqe *w, const struct gda_wr *r)
{
	w->operand[0] = r->op == GDA_OP_WRITE_IMM ? r->imm : r->swap_add;
	w->operand[1] = r->compare;
	w->operand[2] = r->swap_mask;
	w->operand[3] = r->compare_mask;
	w->e.slots = 2;
	w->slots = 3;
}

GDA_HELPER void gda_test_encode_inline(struct gda_test_wqe *w, const struct gda_wr *r)
{
	w->e.flags |= PH_INLINE;
	if (r->payload == GDA_WR_VALUE) {
		memcpy(&w->e.laddr, &r->swap_add, sizeof(w->e.laddr));
	} else if (r->len <= PH_INLINE_SLOT) {
		if (r->src)
			memcpy(&w->e.laddr, r->src, r->len);
	} else {
		w->src = r->src;
		w->slots = 2 + (r->len + PH_SLOT - 1) / PH_SLOT;
		w->e.slots = (uint8_t)(w->slots - 1);
	}
}

GDA_HELPER uint32_t gda_test_wqe_encode(struct gda_test_wqe *w, const struct gda_wr *r)
{
	gda_test_encode_entry(w, r);
	if (r->op >= GDA_OP_FETCH_ADD || r->op == GDA_OP_WRITE_IMM)
		gda_test_encode_operands(w, r);
	else if (r->payload != GDA_WR_LOCAL)
		gda_test_encode_inline(w, r);
	return w->slots;
}

GDA_HELPER uint64_t gda_test_wqe_early(const struct gda_test_wqe *w, int second)
{
	return second ? w->e.laddr : w->e.raddr;
}

GDA_HELPER void gda_test_store_entry(struct gda_sq sq, uint64_t index, struct ph_entry e)
{
	e.flags |= index & ((uint64_t)sq.mask + 1) ? 0 : PH_PHASE;
	memcpy(gda_test_slot(sq, index), &e, sizeof(e));
}

GDA_HELPER void gda_test_wqe_store_if(const struct gda_test_wqe *w, uint32_t on, struct gda_sq sq,
				      uint64_t index, unsigned int flags)
{
	const char *more = w->src ? (const char *)w->src : (const char *)w->operand;
	uint32_t len = w->src ? w->e.len : (uint32_t)sizeof(w->operand), at;
	struct ph_entry e = w->e, nop;

	if (!on)
		return;
	e.flags |= flags & GDA_SOLICITED ? PH_SOLICITED : 0;
	gda_test_store_entry(sq, index, e);
	if (w->slots == 1)
		return;
	for (at = 0; at < len; at += PH_SLOT)
		memcpy(gda_test_slot(sq, index + 1 + at / PH_SLOT), more + at,
		       len - at < PH_SLOT ? len - at : PH_SLOT);
	memset(&nop, 0, sizeof(nop));
	nop.op = PH_NOP;
	nop.slots = 1;
	nop.flags = PH_SIGNALED;
	gda_test_store_entry(sq, index + w->slots - 1, nop);
}

GDA_HELPER void gda_test_wqe_read_remote(const char *entry, uint64_t *raddr, uint32_t *rkey)
{
	struct ph_entry e;

	memcpy(&e, entry, sizeof(e));
	*raddr = e.raddr;
	*rkey = e.rkey;
}

GDA_HELPER uint64_t gda_test_db_qpn(uint32_t qpn)
{
	(void)qpn;
	return 0;
}

/* No device reads it; posters keep here how far they rang. */
GDA_HELPER uint32_t gda_test_db_record(uint64_t next)
{
	return (uint32_t)next;
}

GDA_HELPER uint64_t gda_test_db_value(uint64_t qpn_be, uint32_t record)
{
	(void)qpn_be;
	return record;
}

GDA_HELPER uint64_t gda_test_db_rung(uint64_t index, uint32_t record)
{
	return index - ((uint32_t)index - record);
}

GDA_HELPER const struct ph_cqe *gda_test_cqe_at(uint64_t cqe)
{
	return (const struct ph_cqe *)(uintptr_t)cqe;
}

GDA_HELPER const uint32_t *gda_test_cqe_last(uint64_t cqe)
{
	return &gda_test_cqe_at(cqe)->last;
}

GDA_HELPER uint32_t gda_test_cqe_kind(uint32_t last)
{
	return last >> 29 & 3;
}

GDA_HELPER int gda_test_cqe_is_done(uint32_t last)
{
	return gda_test_cqe_kind(last) == PH_DONE;
}

GDA_HELPER int gda_test_cqe_is_error(uint32_t last)
{
	return gda_test_cqe_kind(last) == PH_ERROR;
}

GDA_HELPER int gda_test_cqe_is_imm(uint32_t last)
{
	return gda_test_cqe_kind(last) == PH_IMM;
}

GDA_HELPER int gda_test_cqe_is_preset(uint32_t last)
{
	return gda_test_cqe_kind(last) == PH_NONE;
}

GDA_HELPER int gda_test_cqe_is_new(uint32_t last, uint64_t index, uint32_t mask)
{
	return last >> 31 == !(index & ((uint64_t)mask + 1));
}

GDA_HELPER uint32_t gda_test_cqe_behind(uint64_t rung, uint32_t last)
{
	return (uint16_t)((uint32_t)rung - last - 1);
}

GDA_HELPER uint64_t gda_test_cqe_unwrap(uint64_t old, uint32_t last)
{
	return old + (uint16_t)(last + 1 - (uint32_t)old);
}

/* As in gda/wqe/mlx5_cqe.h: is the entry that of the slot that failed first? */
GDA_HELPER uint32_t gda_test_cqe_error(struct gda_view *v, uint32_t last)
{
	const struct ph_cqe *cqe = gda_test_cqe_at(v->cq);
	uint64_t index = gda_nic_load64((const uint64_t *)&cqe->index);
	uint32_t first = gda_nic_load32(&cqe->first);
	uint64_t failed = index - ((uint32_t)index - first);
	uint32_t why = gda_nic_load32(&cqe->count) & 0xffff;

	gda_store_relaxed64(&v->error, why >> 8 << 8 | ph_syndrome_of(why & 0xff, why >> 8));
	gda_store_release64(&v->error_index, failed);
	return (last >> 24 & 31) != GDA_CLASS_FLUSH && (uint16_t)failed == (uint16_t)last;
}

GDA_HELPER uint64_t gda_test_cqe_completed(struct gda_view *v, uint32_t last, uint64_t old,
					   int *failed)
{
	*failed = gda_test_cqe_is_error(last);
	if (*failed)
		return gda_test_cqe_unwrap(old, last) - gda_test_cqe_error(v, last);
	return gda_test_cqe_is_done(last) ? gda_test_cqe_unwrap(old, last) : old;
}

GDA_HELPER void gda_test_cqe_copy_error(char *to, const char *cqe)
{
	size_t i;

	for (i = 0; i < offsetof(struct ph_cqe, last); i += 4)
		gda_nic_store32((uint32_t *)(void *)(to + i),
				gda_nic_load32((const uint32_t *)(const void *)(cqe + i)));
}

GDA_HELPER void gda_test_cqe_write_error(void *cqe, uint8_t cause)
{
	struct ph_cqe e = { 0 };

	e.count = (uint32_t)cause << 8 | GDA_CLASS_QUEUE;
	e.last = 1U << 31 | (uint32_t)PH_ERROR << 29 | (uint32_t)GDA_CLASS_QUEUE << 24 |
		 (uint32_t)cause << 16;
	memcpy(cqe, &e, sizeof(e));
}

GDA_HELPER uint32_t gda_test_cqe_qpn(const char *cqe)
{
	return gda_nic_load32(&gda_test_cqe_at((uintptr_t)cqe)->qpn);
}

/* Kinds as programs know them, gda/view.h; the work's own opcode is not in an entry. */
GDA_HELPER void gda_test_cqe_read(const char *cqe, uint32_t last, struct gda_cq_entry *entry)
{
	const struct ph_cqe *c = gda_test_cqe_at((uintptr_t)cqe);

	entry->qpn = c->qpn;
	entry->wr_opcode = 0;
	entry->opcode = gda_test_cqe_is_done(last) ? GDA_MLX5_CQE_REQ :
			gda_test_cqe_is_imm(last) ? GDA_MLX5_CQE_RESP_IMM : GDA_MLX5_CQE_REQ_ERR;
	entry->counter = last & 0xffff;
	entry->solicited = 0;
	entry->imm = (uint32_t)c->uidx_imm;
	entry->user_index = c->uidx_imm >> 32 & 0xffffff;
	entry->bytes = gda_test_cqe_is_error(last) ? 0 : c->count;
	entry->vendor = last >> 16 & 255;
	entry->syndrome = ph_syndrome_of(last >> 24 & 31, entry->vendor);
}

GDA_HELPER uint32_t gda_test_cqe_record(uint64_t next)
{
	return (uint32_t)next;
}

#endif /* GDA_WQE_TEST_H */
