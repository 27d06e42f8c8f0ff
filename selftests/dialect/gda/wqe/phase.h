/* SPDX-License-Identifier: MIT */
/*
 * The dialect of phase.h as a poster uses it, under the names that gda/wqe.h asks of a dialect:
 * libgda and its tests are built with it in place of gda/wqe/mlx5.h, and no other file of
 * theirs knows. For CPUs alone.
 *
 * An atomic and an immediate take two slots. Completions name first slots, so a NOP ends each
 * entry of several, as in gda/multi_slot.h.
 */
#ifndef GDA_WQE_PHASE_H
#define GDA_WQE_PHASE_H

#include <stddef.h>
#include <string.h>
#include <gda/barrier.h>
#include <gda/cause.h>
#include <gda/mlx5.h>
#include <gda/view.h>
#include <phase.h>

#define GDA_WQE_DIALECT		PH_ID
#define GDA_WQE_SLOT_BYTES	PH_SLOT
#define GDA_WQE_MAX_DEPTH	32768U
#define GDA_WQE_CAN		(GDA_CAN_ORDER | GDA_CAN_SIGNAL | GDA_CAN_ATOMIC)
#define GDA_WQE_INLINE_SLOT	PH_INLINE_SLOT
#define GDA_WQE_INLINE_MAX	972
#define GDA_WQE_MASKED_SLOTS	3

/* As in gda/wqe/mlx5.h; @qpn_be is not used, for a doorbell names no QP. */
struct gda_sq {
	char *slots;
	uint64_t qpn_be;
	uint32_t mask;
};

/* A work request without its phase. @slots: with the NOP that ends more than one. */
struct gda_wqe {
	struct ph_entry e;
	uint64_t operand[4];
	uint32_t slots;
};

struct gda_wqe_masks {
	uint64_t compare;
	uint64_t compare_mask;
	uint64_t swap;
	uint64_t swap_mask;
};

GDA_HELPER char *gda_sq_slot(struct gda_sq sq, uint64_t index)
{
	return sq.slots + (uint64_t)((uint32_t)index & sq.mask) * PH_SLOT;
}

GDA_HELPER uint32_t gda_wqe_slots(const struct gda_wqe *w)
{
	return w->slots;
}

GDA_HELPER int gda_wqe_too_long(uint64_t len)
{
	return len >> 31 != 0;
}

GDA_HELPER struct gda_wqe gda_wqe_entry(uint8_t op, uint64_t laddr, uint32_t lkey,
					uint64_t raddr, uint32_t rkey, uint32_t len)
{
	struct gda_wqe w;

	memset(&w, 0, sizeof(w));
	w.e.op = op;
	w.e.slots = 1;
	w.e.flags = PH_SIGNALED;
	w.e.len = len;
	w.e.raddr = raddr;
	w.e.rkey = rkey;
	w.e.lkey = lkey;
	w.e.laddr = laddr;
	w.slots = 1;
	return w;
}

GDA_HELPER struct gda_wqe gda_wqe_operands(uint8_t op, uint64_t laddr, uint32_t lkey,
					   uint64_t raddr, uint32_t rkey, uint32_t len,
					   struct gda_wqe_masks m)
{
	struct gda_wqe w = gda_wqe_entry(op, laddr, lkey, raddr, rkey, len);

	w.operand[0] = m.swap;
	w.operand[1] = m.compare;
	w.operand[2] = m.swap_mask;
	w.operand[3] = m.compare_mask;
	w.e.slots = 2;
	w.slots = 3;
	return w;
}

GDA_HELPER struct gda_wqe gda_wqe_nop(void)
{
	return gda_wqe_entry(PH_NOP, 0, 0, 0, 0, 0);
}

GDA_HELPER struct gda_wqe gda_wqe_put(uint64_t laddr, uint32_t lkey, uint64_t raddr,
				      uint32_t rkey, uint32_t len)
{
	return gda_wqe_entry(PH_WRITE, laddr, lkey, raddr, rkey, len);
}

GDA_HELPER struct gda_wqe gda_wqe_get(uint64_t laddr, uint32_t lkey, uint64_t raddr,
				      uint32_t rkey, uint32_t len)
{
	return gda_wqe_entry(PH_READ, laddr, lkey, raddr, rkey, len);
}

GDA_HELPER struct gda_wqe gda_wqe_put_imm(uint64_t laddr, uint32_t lkey, uint64_t raddr,
					  uint32_t rkey, uint32_t len, uint32_t imm)
{
	struct gda_wqe_masks m = { 0, 0, imm, 0 };

	return gda_wqe_operands(PH_WRITE_IMM, laddr, lkey, raddr, rkey, len, m);
}

GDA_HELPER struct gda_wqe gda_wqe_fetch_add(uint64_t laddr, uint32_t lkey, uint64_t raddr,
					    uint32_t rkey, uint64_t add)
{
	struct gda_wqe_masks m = { 0, 0, add, 0 };

	return gda_wqe_operands(PH_FETCH_ADD, laddr, lkey, raddr, rkey, 8, m);
}

GDA_HELPER struct gda_wqe gda_wqe_compare_swap(uint64_t laddr, uint32_t lkey, uint64_t raddr,
					       uint32_t rkey, uint64_t compare, uint64_t swap)
{
	struct gda_wqe_masks m = { compare, 0, swap, 0 };

	return gda_wqe_operands(PH_COMPARE_SWAP, laddr, lkey, raddr, rkey, 8, m);
}

GDA_HELPER struct gda_wqe gda_wqe_masked_fetch_add(uint64_t laddr, uint32_t lkey,
						   uint64_t raddr, uint32_t rkey, uint64_t add,
						   uint64_t boundary)
{
	struct gda_wqe_masks m = { boundary, 0, add, 0 };

	return gda_wqe_operands(PH_MASKED_FETCH_ADD, laddr, lkey, raddr, rkey, 8, m);
}

GDA_HELPER struct gda_wqe gda_wqe_masked_fetch_add32(uint64_t laddr, uint32_t lkey,
						     uint64_t raddr, uint32_t rkey,
						     uint32_t add, uint32_t boundary)
{
	struct gda_wqe_masks m = { boundary, 0, add, 0 };

	return gda_wqe_operands(PH_MASKED_FETCH_ADD, laddr, lkey, raddr, rkey, 4, m);
}

GDA_HELPER struct gda_wqe gda_wqe_masked_compare_swap32(uint64_t laddr, uint32_t lkey,
							uint64_t raddr, uint32_t rkey,
							struct gda_wqe_masks m)
{
	return gda_wqe_operands(PH_MASKED_COMPARE_SWAP, laddr, lkey, raddr, rkey, 4, m);
}

/* A write of at most PH_INLINE_SLOT bytes that are in the entry. */
GDA_HELPER struct gda_wqe gda_wqe_inline(uint64_t raddr, uint32_t rkey, const void *src,
					 uint32_t len)
{
	struct gda_wqe w = gda_wqe_entry(PH_WRITE, 0, 0, raddr, rkey, len);

	w.e.flags |= PH_INLINE;
	memcpy(&w.e.laddr, src, len);
	return w;
}

GDA_HELPER struct gda_wqe gda_wqe_bytes(uint64_t raddr, uint32_t rkey, uint64_t value,
					uint32_t len)
{
	return gda_wqe_inline(raddr, rkey, &value, len);
}

GDA_HELPER struct gda_wqe gda_wqe_value(uint64_t raddr, uint32_t rkey, uint64_t value)
{
	return gda_wqe_bytes(raddr, rkey, value, 8);
}

GDA_HELPER void gda_wqe_store_entry(struct gda_sq sq, uint64_t index, struct ph_entry e)
{
	e.flags |= index & ((uint64_t)sq.mask + 1) ? 0 : PH_PHASE;
	memcpy(gda_sq_slot(sq, index), &e, sizeof(e));
}

GDA_HELPER void gda_wqe_store(struct gda_sq sq, uint64_t index, const struct gda_wqe *w,
			      unsigned int solicited)
{
	struct ph_entry e = w->e;

	e.flags |= solicited ? PH_SOLICITED : 0;
	gda_wqe_store_entry(sq, index, e);
	if (w->slots == 1)
		return;
	memcpy(gda_sq_slot(sq, index + 1), w->operand, sizeof(w->operand));
	gda_wqe_store_entry(sq, index + 2, gda_wqe_nop().e);
}

GDA_HELPER void gda_wqe_store_masked(struct gda_sq sq, uint64_t index, uint64_t laddr,
				     uint32_t lkey, uint64_t raddr, uint32_t rkey,
				     struct gda_wqe_masks m, unsigned int solicited)
{
	struct gda_wqe w = gda_wqe_operands(PH_MASKED_COMPARE_SWAP, laddr, lkey, raddr, rkey, 8,
					    m);

	gda_wqe_store(sq, index, &w, solicited);
}

/* With the NOP behind it. */
GDA_HELPER uint32_t gda_wqe_inline_slots(uint32_t len)
{
	return 2 + (len + PH_SLOT - 1) / PH_SLOT;
}

GDA_HELPER uint32_t gda_wqe_max_inline(uint32_t depth)
{
	uint32_t most = depth > 2 ? (depth - 2) * PH_SLOT : PH_INLINE_SLOT;

	return most < GDA_WQE_INLINE_MAX ? most : GDA_WQE_INLINE_MAX;
}

GDA_HELPER void gda_wqe_store_inline(struct gda_sq sq, uint64_t index, uint64_t raddr,
				     uint32_t rkey, const void *src, uint32_t len,
				     unsigned int solicited)
{
	struct gda_wqe w = gda_wqe_entry(PH_WRITE, 0, 0, raddr, rkey, len);
	uint32_t slots = gda_wqe_inline_slots(len), at;

	w.e.flags |= PH_INLINE;
	w.e.slots = (uint8_t)(slots - 1);
	gda_wqe_store(sq, index, &w, solicited);
	for (at = 0; at < len; at += PH_SLOT)
		memcpy(gda_sq_slot(sq, index + 1 + at / PH_SLOT), (const char *)src + at,
		       len - at < PH_SLOT ? len - at : PH_SLOT);
	gda_wqe_store_entry(sq, index + slots - 1, gda_wqe_nop().e);
}

GDA_HELPER void gda_wqe_read_remote(const char *entry, uint64_t *raddr, uint32_t *rkey)
{
	struct ph_entry e;

	memcpy(&e, entry, sizeof(e));
	*raddr = e.raddr;
	*rkey = e.rkey;
}

GDA_HELPER uint64_t gda_db_qpn(uint32_t qpn)
{
	(void)qpn;
	return 0;
}

/* No device reads it; posters keep here how far they rang. */
GDA_HELPER uint32_t gda_db_record(uint64_t next)
{
	return (uint32_t)next;
}

GDA_HELPER uint64_t gda_db_value(uint64_t qpn_be, uint32_t record)
{
	(void)qpn_be;
	return record;
}

GDA_HELPER uint64_t gda_db_rung(uint64_t index, uint32_t record)
{
	return index - ((uint32_t)index - record);
}

#define GDA_CQE_BYTES		PH_SLOT
#define GDA_CQE_QUEUE_ERROR	GDA_MLX5_SYND_LOCAL_QP_OP

GDA_HELPER const struct ph_cqe *gda_cqe_at(uint64_t cqe)
{
	return (const struct ph_cqe *)(uintptr_t)cqe;
}

GDA_HELPER const uint32_t *gda_cqe_last(uint64_t cqe)
{
	return &gda_cqe_at(cqe)->last;
}

GDA_HELPER uint32_t gda_cqe_kind(uint32_t last)
{
	return last >> 29 & 3;
}

GDA_HELPER int gda_cqe_is_done(uint32_t last)
{
	return gda_cqe_kind(last) == PH_DONE;
}

GDA_HELPER int gda_cqe_is_error(uint32_t last)
{
	return gda_cqe_kind(last) == PH_ERROR;
}

GDA_HELPER int gda_cqe_is_imm(uint32_t last)
{
	return gda_cqe_kind(last) == PH_IMM;
}

GDA_HELPER int gda_cqe_is_preset(uint32_t last)
{
	return gda_cqe_kind(last) == PH_NONE;
}

GDA_HELPER int gda_cqe_is_new(uint32_t last, uint64_t index, uint32_t mask)
{
	return last >> 31 == !(index & ((uint64_t)mask + 1));
}

GDA_HELPER uint64_t gda_cqe_unwrap(uint64_t old, uint32_t last)
{
	return old + (uint16_t)(last + 1 - (uint32_t)old);
}

/* As in gda/wqe/mlx5_cqe.h: is the entry that of the slot that failed first? */
GDA_HELPER uint32_t gda_cqe_error(struct gda_view *v, uint32_t last)
{
	const struct ph_cqe *cqe = gda_cqe_at(v->cq);
	uint64_t index = gda_nic_load64((const uint64_t *)&cqe->index);
	uint32_t first = gda_nic_load32(&cqe->first);
	uint64_t failed = index - ((uint32_t)index - first);
	uint32_t why = gda_nic_load32(&cqe->count) & 0xffff;

	gda_store_relaxed64(&v->error, why >> 8 << 8 | ph_syndrome_of(why & 0xff, why >> 8));
	gda_store_release64(&v->error_index, failed);
	return (last >> 24 & 31) != GDA_CLASS_FLUSH && (uint16_t)failed == (uint16_t)last;
}

GDA_HELPER uint64_t gda_cqe_completed(struct gda_view *v, uint32_t last, uint64_t old,
				      int *failed)
{
	*failed = gda_cqe_is_error(last);
	if (*failed)
		return gda_cqe_unwrap(old, last) - gda_cqe_error(v, last);
	return gda_cqe_is_done(last) ? gda_cqe_unwrap(old, last) : old;
}

GDA_HELPER void gda_cqe_copy_error(char *to, const char *cqe)
{
	size_t i;

	for (i = 0; i < offsetof(struct ph_cqe, last); i += 4)
		gda_nic_store32((uint32_t *)(void *)(to + i),
				gda_nic_load32((const uint32_t *)(const void *)(cqe + i)));
}

GDA_HELPER void gda_cqe_write_error(void *cqe, uint8_t cause)
{
	struct ph_cqe e = { 0 };

	e.count = (uint32_t)cause << 8 | GDA_CLASS_QUEUE;
	e.last = 1U << 31 | (uint32_t)PH_ERROR << 29 | (uint32_t)GDA_CLASS_QUEUE << 24 |
		 (uint32_t)cause << 16;
	memcpy(cqe, &e, sizeof(e));
}

GDA_HELPER int gda_cqe_done(uint64_t completed, uint64_t index)
{
	return index < completed;
}

GDA_HELPER uint32_t gda_cqe_qpn(const char *cqe)
{
	return gda_nic_load32(&gda_cqe_at((uintptr_t)cqe)->qpn);
}

/* Kinds as programs know them, gda/view.h; the work's own opcode is not in an entry. */
GDA_HELPER void gda_cqe_read(const char *cqe, uint32_t last, struct gda_cq_entry *entry)
{
	const struct ph_cqe *c = gda_cqe_at((uintptr_t)cqe);

	entry->qpn = c->qpn;
	entry->wr_opcode = 0;
	entry->opcode = gda_cqe_is_done(last) ? GDA_MLX5_CQE_REQ :
			gda_cqe_is_imm(last) ? GDA_MLX5_CQE_RESP_IMM : GDA_MLX5_CQE_REQ_ERR;
	entry->counter = last & 0xffff;
	entry->solicited = 0;
	entry->imm = (uint32_t)c->uidx_imm;
	entry->user_index = c->uidx_imm >> 32 & 0xffffff;
	entry->bytes = gda_cqe_is_error(last) ? 0 : c->count;
	entry->vendor = last >> 16 & 255;
	entry->syndrome = ph_syndrome_of(last >> 24 & 31, entry->vendor);
}

GDA_HELPER uint32_t gda_cqe_record(uint64_t next)
{
	return (uint32_t)next;
}

#endif /* GDA_WQE_PHASE_H */
