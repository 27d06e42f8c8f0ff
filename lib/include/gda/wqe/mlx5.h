/* SPDX-License-Identifier: MIT */
/*
 * The mlx5 dialect as a poster uses it: the encoder of work requests and doorbells, and the
 * reader of completion entries. One text for CPUs and GPUs; the bytes are those of gda/mlx5.h.
 * Included by gda/wqe.h.
 *
 * A work request is encoded in two steps. gda_wqe_*() makes all words but the index, as they
 * are stored, in registers; gda_wqe_store() writes them to a slot that was reserved. So only
 * the index is encoded between the reservation and the stores.
 *
 * Programs call gda/fastpath.h, not this.
 */
#ifndef GDA_WQE_MLX5_H
#define GDA_WQE_MLX5_H

#include <stddef.h>
#include <string.h>
#include <gda/barrier.h>
#include <gda/mlx5.h>
#include <gda/view.h>

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

#define GDA_WQE_DIALECT		GDA_DIALECT_MLX5
#define GDA_WQE_SLOT_BYTES	GDA_MLX5_SLOT_BYTES
#define GDA_WQE_MAX_DEPTH	GDA_MLX5_MAX_DEPTH

/* An entry means nothing to a device until a record or a doorbell covers its slot. */
#define GDA_WQE_MUTE	1

/* A queue of this dialect promises these on a reliable connection, whatever the device. */
#define GDA_WQE_CAN	(GDA_CAN_ORDER | GDA_CAN_SIGNAL | GDA_CAN_ATOMIC)

/* Words as they are stored; GPUs have an instruction for it that they do not find by itself. */
GDA_HELPER uint32_t gda_wire32(uint32_t v)
{
	return GDA_HERE((GDA_UAPI_FORCE uint32_t)gda_be32(v), __byte_perm(v, 0, 0x0123));
}

GDA_HELPER uint64_t gda_wire64(uint64_t v)
{
	return GDA_HERE((GDA_UAPI_FORCE uint64_t)gda_be64(v),
			gda_pair(gda_wire32((uint32_t)(v >> 32)), gda_wire32((uint32_t)v)));
}

/* The low 16 bits of an index in bytes 1 and 2. */
GDA_HELPER uint32_t gda_wire_index(uint64_t index)
{
	return GDA_HERE(gda_be_shl8(gda_wire32((uint32_t)index & 0xffff)),
			__byte_perm((uint32_t)index, 0, 0x4014));
}

/* Bytes that an entry of one slot carries itself, and an entry of at most 63 segments. */
#define GDA_WQE_INLINE_SLOT	28
#define GDA_WQE_INLINE_MAX	972

/**
 * struct gda_sq - a send queue as its entries are written
 * @slots: the slots, 64 bytes each
 * @qpn_be: bytes 4 to 7 are QP number << 8, big-endian; the others are 0
 * @mask: number of slots - 1
 */
struct gda_sq {
	char *slots;
	uint64_t qpn_be;
	uint32_t mask;
};

/**
 * struct gda_wqe - a work request of one slot, without its index
 * @opcode: enum gda_mlx5_opcode; the operand size of masked atomics in the high byte
 * @ds: number of segments
 * @imm: immediate, as stored
 * @seg: the segments behind the control segment, as stored
 */
struct gda_wqe {
	uint32_t opcode;
	uint32_t ds;
	uint32_t imm;
	uint64_t seg[3][2];
};

/* Slots that an entry takes; all that gda_wqe_*() makes take one. */
GDA_HELPER uint32_t gda_wqe_slots(const struct gda_wqe *w)
{
	(void)w;
	return 1;
}

GDA_HELPER char *gda_sq_slot(struct gda_sq sq, uint64_t index)
{
	return sq.slots + (uint64_t)((uint32_t)index & sq.mask) * GDA_MLX5_SLOT_BYTES;
}

/* Segment @n of an entry that begins at slot @index, and may go on around the ring's end. */
GDA_HELPER char *gda_sq_segment(struct gda_sq sq, uint64_t index, uint32_t n)
{
	return gda_sq_slot(sq, index + n / 4) + n % 4 * GDA_MLX5_SEG_BYTES;
}

GDA_HELPER void gda_wqe_set(struct gda_wqe *w, uint32_t n, uint64_t first, uint64_t second)
{
	w->seg[n][0] = first;
	w->seg[n][1] = second;
}

/* @opcode to @raddr, without a local segment. */
GDA_HELPER struct gda_wqe gda_wqe_remote(uint32_t opcode, uint64_t raddr, uint32_t rkey,
					 uint32_t ds)
{
	struct gda_wqe w;

	w.opcode = opcode;
	w.ds = ds;
	w.imm = 0;
	gda_wqe_set(&w, 0, gda_wire64(raddr), gda_pair(gda_wire32(rkey), 0));
	gda_wqe_set(&w, 1, 0, 0);
	gda_wqe_set(&w, 2, 0, 0);
	return w;
}

GDA_HELPER struct gda_wqe gda_wqe_nop(void)
{
	return gda_wqe_remote(GDA_MLX5_NOP, 0, 0, 1);
}

/* Most bytes of a work request: bit 31 of a length says that they are inline. */
GDA_HELPER int gda_wqe_too_long(uint64_t len)
{
	return len >= GDA_MLX5_INLINE;
}

/* A write or read of one local segment; a length of 0 has no segment, for it means 2^31. */
GDA_HELPER struct gda_wqe gda_wqe_rdma(uint32_t opcode, uint64_t laddr, uint32_t lkey,
				       uint64_t raddr, uint32_t rkey, uint32_t len)
{
	struct gda_wqe w = gda_wqe_remote(opcode, raddr, rkey, 2 + (len != 0));

	gda_wqe_set(&w, 1, gda_pair(gda_wire32(len), gda_wire32(lkey)), gda_wire64(laddr));
	return w;
}

GDA_HELPER struct gda_wqe gda_wqe_put(uint64_t laddr, uint32_t lkey, uint64_t raddr,
				      uint32_t rkey, uint32_t len)
{
	return gda_wqe_rdma(GDA_MLX5_WRITE, laddr, lkey, raddr, rkey, len);
}

GDA_HELPER struct gda_wqe gda_wqe_put_imm(uint64_t laddr, uint32_t lkey, uint64_t raddr,
					  uint32_t rkey, uint32_t len, uint32_t imm)
{
	struct gda_wqe w = gda_wqe_rdma(GDA_MLX5_WRITE_IMM, laddr, lkey, raddr, rkey, len);

	w.imm = gda_wire32(imm);
	return w;
}

GDA_HELPER struct gda_wqe gda_wqe_get(uint64_t laddr, uint32_t lkey, uint64_t raddr,
				      uint32_t rkey, uint32_t len)
{
	return gda_wqe_rdma(GDA_MLX5_READ, laddr, lkey, raddr, rkey, len);
}

/* An atomic on a word of @width bytes; @first and @second are its operands as stored. */
GDA_HELPER struct gda_wqe gda_wqe_atomic(uint32_t opcode, uint64_t laddr, uint32_t lkey,
					 uint64_t raddr, uint32_t rkey, uint64_t first,
					 uint64_t second, uint32_t width)
{
	struct gda_wqe w = gda_wqe_remote(opcode, raddr, rkey, 4);

	gda_wqe_set(&w, 1, first, second);
	gda_wqe_set(&w, 2, gda_pair(gda_be32(width), gda_wire32(lkey)), gda_wire64(laddr));
	return w;
}

GDA_HELPER struct gda_wqe gda_wqe_fetch_add(uint64_t laddr, uint32_t lkey, uint64_t raddr,
					    uint32_t rkey, uint64_t add)
{
	return gda_wqe_atomic(GDA_MLX5_ATOMIC_FA, laddr, lkey, raddr, rkey, gda_wire64(add), 0,
			      8);
}

GDA_HELPER struct gda_wqe gda_wqe_compare_swap(uint64_t laddr, uint32_t lkey, uint64_t raddr,
					       uint32_t rkey, uint64_t compare, uint64_t swap)
{
	return gda_wqe_atomic(GDA_MLX5_ATOMIC_CS, laddr, lkey, raddr, rkey, gda_wire64(swap),
			      gda_wire64(compare), 8);
}

GDA_HELPER uint32_t gda_wqe_opmod(uint32_t opcode, uint32_t width)
{
	return (uint32_t)(width == 4 ? GDA_MLX5_OPMOD_4BYTE : GDA_MLX5_OPMOD_8BYTE) << 24 | opcode;
}

GDA_HELPER struct gda_wqe gda_wqe_masked_fetch_add(uint64_t laddr, uint32_t lkey,
						   uint64_t raddr, uint32_t rkey, uint64_t add,
						   uint64_t boundary)
{
	return gda_wqe_atomic(gda_wqe_opmod(GDA_MLX5_MASKED_FA, 8), laddr, lkey, raddr, rkey,
			      gda_wire64(add), gda_wire64(boundary), 8);
}

GDA_HELPER struct gda_wqe gda_wqe_masked_fetch_add32(uint64_t laddr, uint32_t lkey,
						     uint64_t raddr, uint32_t rkey,
						     uint32_t add, uint32_t boundary)
{
	return gda_wqe_atomic(gda_wqe_opmod(GDA_MLX5_MASKED_FA, 4), laddr, lkey, raddr, rkey,
			      gda_pair(gda_wire32(add), gda_wire32(boundary)), 0, 4);
}

/**
 * struct gda_wqe_masks - the operands of a masked compare-swap
 * @compare: value to compare the word with
 * @compare_mask: bits that are compared
 * @swap: value to swap in
 * @swap_mask: bits that are swapped
 */
struct gda_wqe_masks {
	uint64_t compare;
	uint64_t compare_mask;
	uint64_t swap;
	uint64_t swap_mask;
};

GDA_HELPER struct gda_wqe gda_wqe_masked_compare_swap32(uint64_t laddr, uint32_t lkey,
							uint64_t raddr, uint32_t rkey,
							struct gda_wqe_masks m)
{
	return gda_wqe_atomic(gda_wqe_opmod(GDA_MLX5_MASKED_CS, 4), laddr, lkey, raddr, rkey,
			      gda_pair(gda_wire32((uint32_t)m.swap),
				       gda_wire32((uint32_t)m.compare)),
			      gda_pair(gda_wire32((uint32_t)m.swap_mask),
				       gda_wire32((uint32_t)m.compare_mask)), 4);
}

/* A write of the first @len bytes of @value, 1 to 8, which are in the entry. */
GDA_HELPER struct gda_wqe gda_wqe_bytes(uint64_t raddr, uint32_t rkey, uint64_t value,
					uint32_t len)
{
	struct gda_wqe w = gda_wqe_remote(GDA_MLX5_WRITE, raddr, rkey, 3);
	uint32_t half[2];

	memcpy(half, &value, sizeof(half));
	gda_wqe_set(&w, 1, gda_pair(gda_wire32(len | GDA_MLX5_INLINE), half[0]),
		    gda_pair(half[1], 0));
	return w;
}

/* A write of 8 bytes that are in the entry. */
GDA_HELPER struct gda_wqe gda_wqe_value(uint64_t raddr, uint32_t rkey, uint64_t value)
{
	return gda_wqe_bytes(raddr, rkey, value, 8);
}

/* A write of at most GDA_WQE_INLINE_SLOT bytes that are in the entry. */
GDA_HELPER struct gda_wqe gda_wqe_inline(uint64_t raddr, uint32_t rkey, const void *src,
					 uint32_t len)
{
	struct gda_wqe w = gda_wqe_remote(GDA_MLX5_WRITE, raddr, rkey,
					  2U + (len != 0) + (len > 12));
	uint64_t data[4] = { 0 };

	data[0] = gda_pair(gda_wire32(len | GDA_MLX5_INLINE), 0);
	memcpy((char *)data + 4, src, len);
	gda_wqe_set(&w, 1, data[0], data[1]);
	gda_wqe_set(&w, 2, data[2], data[3]);
	return w;
}

/* The control segment of slot @index, if @on. */
GDA_HELPER void gda_wqe_store_ctrl(uint32_t on, struct gda_sq sq, uint64_t index,
				   const struct gda_wqe *w, unsigned int solicited)
{
	uint32_t ce = GDA_MLX5_CE_ALWAYS | (solicited ? GDA_MLX5_SE : 0);
	uint32_t first = gda_wire_index(index) | gda_be32(w->opcode);

	gda_store_segment_if(on, gda_sq_slot(sq, index),
			     sq.qpn_be | gda_pair(first, gda_be_byte(w->ds)),
			     gda_pair(gda_be32(ce), w->imm));
}

/*
 * Write @w to slot @index, if @on. Segments beyond its last are not read by a device: a CPU
 * writes them, so that the slot's cache line is written whole, a GPU leaves them.
 */
GDA_HELPER void gda_wqe_store_if(uint32_t on, struct gda_sq sq, uint64_t index,
				 const struct gda_wqe *w, unsigned int solicited)
{
	char *entry = gda_sq_slot(sq, index);

	gda_wqe_store_ctrl(on, sq, index, w, solicited);
	if (GDA_HERE(1, w->ds > 1))
		gda_store_segment_if(on, entry + 16, w->seg[0][0], w->seg[0][1]);
	if (GDA_HERE(1, w->ds != 1))
		gda_store_segment_if(on, entry + 32, w->seg[1][0], w->seg[1][1]);
	if (GDA_HERE(1, w->ds > 3))
		gda_store_segment_if(on, entry + 48, w->seg[2][0], w->seg[2][1]);
}

GDA_HELPER void gda_wqe_store(struct gda_sq sq, uint64_t index, const struct gda_wqe *w,
			      unsigned int solicited)
{
	gda_wqe_store_if(1, sq, index, w, solicited);
}

/*
 * End an entry of several slots, of @ds segments: what is left of its last slot is zero, and a
 * NOP follows, because consumed slots are counted by completions, which name first slots.
 */
GDA_HELPER void gda_wqe_store_end(struct gda_sq sq, uint64_t index, uint32_t ds)
{
	struct gda_wqe nop = gda_wqe_nop();
	uint32_t end = (ds + 3) & ~3U;

	for (; ds < end; ds++)
		gda_store_segment(gda_sq_segment(sq, index, ds), 0, 0);
	gda_wqe_store(sq, index + end / 4, &nop, 0);
}

/* Segments of an entry that carries @len bytes, and its slots with the NOP behind it. */
GDA_HELPER uint32_t gda_wqe_inline_ds(uint32_t len)
{
	return 2 + (len + 19) / 16;
}

GDA_HELPER uint32_t gda_wqe_inline_slots(uint32_t len)
{
	return (gda_wqe_inline_ds(len) + 3) / 4 + 1;
}

/* Most bytes inline in a ring of @depth slots. */
GDA_HELPER uint32_t gda_wqe_max_inline(uint32_t depth)
{
	uint32_t most = depth > 2 ? (depth - 1) * GDA_MLX5_SLOT_BYTES - 36 : GDA_WQE_INLINE_SLOT;

	return most < GDA_WQE_INLINE_MAX ? most : GDA_WQE_INLINE_MAX;
}

/* A write of more than GDA_WQE_INLINE_SLOT bytes that are in the entry. */
GDA_HELPER void gda_wqe_store_inline(struct gda_sq sq, uint64_t index, uint64_t raddr,
				     uint32_t rkey, const void *src, uint32_t len,
				     unsigned int solicited)
{
	struct gda_wqe w = gda_wqe_remote(GDA_MLX5_WRITE, raddr, rkey, gda_wqe_inline_ds(len));
	uint64_t data[2] = { gda_pair(gda_wire32(len | GDA_MLX5_INLINE), 0), 0 };
	uint32_t at = 12, i;

	gda_wqe_store_ctrl(1, sq, index, &w, solicited);
	gda_store_segment(gda_sq_segment(sq, index, 1), w.seg[0][0], w.seg[0][1]);
	memcpy((char *)data + 4, src, 12);
	gda_store_segment(gda_sq_segment(sq, index, 2), data[0], data[1]);
	for (i = 3; i < w.ds; i++, at += 16) {
		data[0] = 0;
		data[1] = 0;
		memcpy(data, (const char *)src + at, len - at < 16 ? len - at : 16);
		gda_store_segment(gda_sq_segment(sq, index, i), data[0], data[1]);
	}
	gda_wqe_store_end(sq, index, w.ds);
}

/* Slots of a masked compare-swap of 8 bytes. */
#define GDA_WQE_MASKED_SLOTS	3

GDA_HELPER void gda_wqe_store_masked(struct gda_sq sq, uint64_t index, uint64_t laddr,
				     uint32_t lkey, uint64_t raddr, uint32_t rkey,
				     struct gda_wqe_masks m, unsigned int solicited)
{
	struct gda_wqe w = gda_wqe_remote(gda_wqe_opmod(GDA_MLX5_MASKED_CS, 8), raddr, rkey, 5);

	gda_wqe_set(&w, 1, gda_wire64(m.swap), gda_wire64(m.compare));
	gda_wqe_set(&w, 2, gda_wire64(m.swap_mask), gda_wire64(m.compare_mask));
	gda_wqe_store(sq, index, &w, solicited);
	gda_store_segment(gda_sq_segment(sq, index, 4), gda_pair(gda_be32(8), gda_wire32(lkey)),
			  gda_wire64(laddr));
	gda_wqe_store_end(sq, index, 5);
}

/* The remote address and key that the entry of one slot at @entry names. */
GDA_HELPER void gda_wqe_read_remote(const char *entry, uint64_t *raddr, uint32_t *rkey)
{
	struct gda_mlx5_raddr to;

	memcpy(&to, entry + GDA_MLX5_SEG_BYTES, sizeof(to));
	*raddr = gda_be64_to_cpu(to.raddr);
	*rkey = gda_be32_to_cpu(to.rkey);
}

/* The bytes of a doorbell that name the QP, as gda_db_value() wants them. */
GDA_HELPER uint64_t gda_db_qpn(uint32_t qpn)
{
	return (GDA_UAPI_FORCE uint64_t)gda_mlx5_doorbell(0, qpn);
}

/* The doorbell record that says that all slots below @next are written, as stored. */
GDA_HELPER uint32_t gda_db_record(uint64_t next)
{
	return GDA_HERE(gda_be32((uint32_t)next & 0xffff),
			__byte_perm((uint32_t)next, 0, 0x0144));
}

/* The doorbell that goes with @record. */
GDA_HELPER uint64_t gda_db_value(uint64_t qpn_be, uint32_t record)
{
	return qpn_be | gda_pair(gda_be_shl8(record), 0);
}

/* The slot before which @record says that all is written; @index is beyond, by less than 2^16. */
GDA_HELPER uint64_t gda_db_rung(uint64_t index, uint32_t record)
{
	return index - (uint16_t)(index - gda_be32_to_cpu((GDA_UAPI_FORCE __be32)record));
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#include <gda/wqe/mlx5_cqe.h>

#endif /* GDA_WQE_MLX5_H */
