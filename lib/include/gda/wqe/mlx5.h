/* SPDX-License-Identifier: MIT */
/*
 * The poster's side of the mlx5 dialect: encodes work requests and doorbells, and reads completion
 * entries, on CPUs and GPUs. The formats are those of gda/mlx5.h. Included by gda/wqe.h, which
 * documents the functions of a dialect and calls them.
 *
 * A work request is encoded in two steps. gda_mlx5_wqe_encode() computes all words but the index in
 * registers, in their stored form; gda_mlx5_wqe_store_if() writes them to a slot that was reserved.
 * So only the index is encoded between the reservation and the stores.
 */
#ifndef GDA_WQE_MLX5_H
#define GDA_WQE_MLX5_H

#include <stddef.h>
#include <string.h>
#include <gda/barrier.h>
#include <gda/mlx5.h>
#include <gda/view.h>
#include <gda/wr.h>

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/* Constants that gda/wqe.h needs from a dialect. */
#define GDA_MLX5_WQE_NAME	"mlx5"
#define GDA_MLX5_WQE_SLOT_BYTES	GDA_MLX5_SLOT_BYTES
#define GDA_MLX5_WQE_MAX_DEPTH	GDA_MLX5_MAX_DEPTH
/* Most slots of a request with an inline word, or of an atomic on 8 bytes. */
#define GDA_MLX5_WQE_WORD_SLOTS	1
#define GDA_MLX5_WQE_CAN	(GDA_CAN_ORDER | GDA_CAN_SIGNAL | GDA_CAN_ATOMIC)
#define GDA_MLX5_WQE_CQE_BYTES	GDA_MLX5_SLOT_BYTES
/* The syndrome of an error of the queue itself. */
#define GDA_MLX5_WQE_CQE_QUEUE_ERROR ((uint32_t)GDA_MLX5_SYND_LOCAL_QP_OP)
#define GDA_MLX5_WQE_MUTE	1
/* Most inline bytes in an entry of one slot, and in an entry of at most 63 segments. */
#define GDA_MLX5_WQE_INLINE_SLOT 28
#define GDA_MLX5_WQE_INLINE_MAX	972

/* Combine two words into eight bytes of memory, @first at the lower address. */
GDA_HELPER uint64_t gda_pair(uint32_t first, uint32_t second)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return (uint64_t)first << 32 | second;
#else
	return (uint64_t)second << 32 | first;
#endif
}

/* The last of the four bytes of a word, @word as stored. */
GDA_HELPER uint32_t gda_be_byte3(uint32_t word)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return word & 0xff;
#else
	return word >> 24;
#endif
}

/* A number below 256 as a big-endian word. */
GDA_HELPER uint32_t gda_be_byte(uint32_t v)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return v;
#else
	return v << 24;
#endif
}

/* Shift a big-endian word left by 8 bits, @word and result as stored. */
GDA_HELPER uint32_t gda_be_shl8(uint32_t word)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return word << 8;
#else
	return word >> 8;
#endif
}

/*
 * Convert words to their stored form; GPUs have an instruction that their compiler does not find.
 */
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

/**
 * struct gda_mlx5_wqe - a work request without its index
 * @opcode: enum gda_mlx5_opcode; the operand size of masked atomics in the high byte
 * @ds: number of segments
 * @imm: immediate, as stored
 * @slots: number of slots that it fills, including the NOP behind an entry of several slots
 * @seg: the segments behind the control segment, as stored
 * @src: inline payload of an entry of more than one slot, or NULL
 * @len: its bytes
 */
struct gda_mlx5_wqe {
	uint32_t opcode;
	uint32_t ds;
	uint32_t imm;
	uint32_t slots;
	uint64_t seg[4][2];
	const void *src;
	uint32_t len;
};

GDA_HELPER char *gda_mlx5_slot(struct gda_sq sq, uint64_t index)
{
	return sq.slots + (uint64_t)((uint32_t)index & sq.mask) * GDA_MLX5_SLOT_BYTES;
}

/* Segment @n of an entry that begins at slot @index and may wrap around the end of the ring. */
GDA_HELPER char *gda_mlx5_segment(struct gda_sq sq, uint64_t index, uint32_t n)
{
	return gda_mlx5_slot(sq, index + n / 4) + n % 4 * GDA_MLX5_SEG_BYTES;
}

GDA_HELPER void gda_mlx5_set(struct gda_mlx5_wqe *w, uint32_t n, uint64_t first, uint64_t second)
{
	w->seg[n][0] = first;
	w->seg[n][1] = second;
}

/* Encode @opcode on the remote range of @r, with @ds segments in one slot and no local segment. */
GDA_HELPER void gda_mlx5_encode_remote(struct gda_mlx5_wqe *w, const struct gda_wr *r,
				       uint32_t opcode, uint32_t ds)
{
	w->opcode = opcode;
	w->ds = ds;
	w->imm = 0;
	w->slots = 1;
	gda_mlx5_set(w, 0, gda_wire64(r->raddr), gda_pair(gda_wire32(r->rkey), 0));
	gda_mlx5_set(w, 1, 0, 0);
	gda_mlx5_set(w, 2, 0, 0);
	gda_mlx5_set(w, 3, 0, 0);
	w->src = 0;
	w->len = 0;
}

/* An entry of @ds segments needs several slots, and one more for its NOP. */
GDA_HELPER void gda_mlx5_encode_long(struct gda_mlx5_wqe *w, uint32_t ds)
{
	w->ds = ds;
	w->slots = (ds + 3) / 4 + 1;
}

/*
 * Encode a write or read with one local segment, or none for a length of 0, which a segment encodes
 * as 2^31.
 */
GDA_HELPER void gda_mlx5_encode_local(struct gda_mlx5_wqe *w, const struct gda_wr *r,
				      uint32_t opcode)
{
	gda_mlx5_encode_remote(w, r, opcode, 2 + (r->len != 0));
	gda_mlx5_set(w, 1, gda_pair(gda_wire32(r->len), gda_wire32(r->lkey)),
		     gda_wire64(r->laddr));
}

GDA_HELPER void gda_mlx5_encode_value(struct gda_mlx5_wqe *w, const struct gda_wr *r)
{
	uint32_t half[2];

	gda_mlx5_encode_remote(w, r, GDA_MLX5_WRITE, 3);
	memcpy(half, &r->swap_add, sizeof(half));
	gda_mlx5_set(w, 1, gda_pair(gda_wire32(r->len | GDA_MLX5_INLINE), half[0]),
		     gda_pair(half[1], 0));
}

GDA_HELPER void gda_mlx5_encode_inline(struct gda_mlx5_wqe *w, const struct gda_wr *r)
{
	uint64_t data[4] = { 0 };

	gda_mlx5_encode_remote(w, r, GDA_MLX5_WRITE, 2U + (r->len != 0) + (r->len > 12));
	if (r->len > GDA_MLX5_WQE_INLINE_SLOT) {
		gda_mlx5_encode_long(w, 2 + (r->len + 19) / 16);
		w->src = r->src;
		w->len = r->len;
		return;
	}
	if (!r->len) {
		gda_mlx5_set(w, 1, gda_pair(gda_wire32(GDA_MLX5_INLINE), 0), 0);
		return;
	}
	if (!r->src)
		__builtin_unreachable();
	data[0] = gda_pair(gda_wire32(r->len | GDA_MLX5_INLINE), 0);
	memcpy((char *)data + 4, r->src, r->len);
	gda_mlx5_set(w, 1, data[0], data[1]);
	gda_mlx5_set(w, 2, data[2], data[3]);
}

/* Encode an atomic on a word of @width bytes; @first and @second are its operands as stored. */
GDA_HELPER void gda_mlx5_encode_atomic(struct gda_mlx5_wqe *w, const struct gda_wr *r,
				       uint32_t opcode, uint64_t first, uint64_t second)
{
	gda_mlx5_encode_remote(w, r, opcode, 4);
	gda_mlx5_set(w, 1, first, second);
	gda_mlx5_set(w, 2, gda_pair(gda_wire32(r->len), gda_wire32(r->lkey)),
		     gda_wire64(r->laddr));
}

GDA_HELPER uint32_t gda_mlx5_opmod(uint32_t opcode, uint32_t width)
{
	return (uint32_t)(width == 4 ? GDA_MLX5_OPMOD_4BYTE : GDA_MLX5_OPMOD_8BYTE) << 24 | opcode;
}

GDA_HELPER void gda_mlx5_encode_masked_add(struct gda_mlx5_wqe *w, const struct gda_wr *r)
{
	uint32_t opcode = gda_mlx5_opmod(GDA_MLX5_MASKED_FA, r->len);

	if (r->len == 4)
		gda_mlx5_encode_atomic(w, r, opcode, gda_pair(gda_wire32((uint32_t)r->swap_add),
							      gda_wire32((uint32_t)r->compare)), 0);
	else
		gda_mlx5_encode_atomic(w, r, opcode, gda_wire64(r->swap_add),
				       gda_wire64(r->compare));
}

/*
 * Encode a masked compare-swap. On 8 bytes it has a segment of masks, for which one slot has no
 * room.
 */
GDA_HELPER void gda_mlx5_encode_masked_swap(struct gda_mlx5_wqe *w, const struct gda_wr *r)
{
	uint32_t opcode = gda_mlx5_opmod(GDA_MLX5_MASKED_CS, r->len);

	if (r->len == 4) {
		gda_mlx5_encode_atomic(w, r, opcode,
				       gda_pair(gda_wire32((uint32_t)r->swap_add),
						gda_wire32((uint32_t)r->compare)),
				       gda_pair(gda_wire32((uint32_t)r->swap_mask),
						gda_wire32((uint32_t)r->compare_mask)));
		return;
	}
	gda_mlx5_encode_atomic(w, r, opcode, gda_wire64(r->swap_add), gda_wire64(r->compare));
	gda_mlx5_set(w, 3, w->seg[2][0], w->seg[2][1]);
	gda_mlx5_set(w, 2, gda_wire64(r->swap_mask), gda_wire64(r->compare_mask));
	gda_mlx5_encode_long(w, 5);
}

GDA_HELPER void gda_mlx5_encode(struct gda_mlx5_wqe *w, const struct gda_wr *r)
{
	switch (r->op) {
	case GDA_OP_WRITE:
		if (r->payload == GDA_WR_LOCAL)
			gda_mlx5_encode_local(w, r, GDA_MLX5_WRITE);
		else if (r->payload == GDA_WR_VALUE)
			gda_mlx5_encode_value(w, r);
		else
			gda_mlx5_encode_inline(w, r);
		return;
	case GDA_OP_READ:
		gda_mlx5_encode_local(w, r, GDA_MLX5_READ);
		return;
	case GDA_OP_WRITE_IMM:
		gda_mlx5_encode_local(w, r, GDA_MLX5_WRITE_IMM);
		w->imm = gda_wire32(r->imm);
		return;
	case GDA_OP_FETCH_ADD:
		gda_mlx5_encode_atomic(w, r, GDA_MLX5_ATOMIC_FA, gda_wire64(r->swap_add), 0);
		return;
	case GDA_OP_COMPARE_SWAP:
		gda_mlx5_encode_atomic(w, r, GDA_MLX5_ATOMIC_CS, gda_wire64(r->swap_add),
				       gda_wire64(r->compare));
		return;
	case GDA_OP_MASKED_FETCH_ADD:
		gda_mlx5_encode_masked_add(w, r);
		return;
	case GDA_OP_MASKED_COMPARE_SWAP:
		gda_mlx5_encode_masked_swap(w, r);
		return;
	default:
		gda_mlx5_encode_remote(w, r, GDA_MLX5_NOP, 1);
	}
}

/* Encode @r. Return: the number of slots that it fills. */
GDA_HELPER uint32_t gda_mlx5_wqe_encode(struct gda_mlx5_wqe *w, const struct gda_wr *r)
{
	gda_mlx5_encode(w, r);
	return w->slots;
}

GDA_HELPER uint64_t gda_mlx5_wqe_early(const struct gda_mlx5_wqe *w, int second)
{
	return second ? w->seg[1][1] : w->seg[0][0];
}

/* Store the control segment of slot @index, if @on. */
GDA_HELPER void gda_mlx5_store_ctrl(uint32_t on, struct gda_sq sq, uint64_t index,
				    const struct gda_mlx5_wqe *w, unsigned int flags)
{
	uint32_t ce = GDA_MLX5_CE_ALWAYS | (flags & GDA_SOLICITED ? GDA_MLX5_SE : 0) |
		      (flags & GDA_AFTER_READS ? GDA_MLX5_FM_FENCE : 0);
	uint32_t first = gda_wire_index(index) | gda_be32(w->opcode);

	gda_store_segment_if(on, gda_mlx5_slot(sq, index),
			     sq.qpn_be | gda_pair(first, gda_be_byte(w->ds)),
			     gda_pair(gda_be32(ce), w->imm));
}

/*
 * Store an entry of one slot. A device does not read segments behind the last one: a CPU writes
 * them nevertheless, so that the whole cache line is written; a GPU does not.
 */
GDA_HELPER void gda_mlx5_store_slot(uint32_t on, struct gda_sq sq, uint64_t index,
				    const struct gda_mlx5_wqe *w, unsigned int flags)
{
	char *entry = gda_mlx5_slot(sq, index);

	gda_mlx5_store_ctrl(on, sq, index, w, flags);
	if (GDA_HERE(1, w->ds > 1))
		gda_store_segment_if(on, entry + 16, w->seg[0][0], w->seg[0][1]);
	if (GDA_HERE(1, w->ds != 1))
		gda_store_segment_if(on, entry + 32, w->seg[1][0], w->seg[1][1]);
	if (GDA_HERE(1, w->ds > 3))
		gda_store_segment_if(on, entry + 48, w->seg[2][0], w->seg[2][1]);
}

/* Store inline payload of several slots, from the second segment on. */
GDA_HELPER void gda_mlx5_store_inline(struct gda_sq sq, uint64_t index,
				      const struct gda_mlx5_wqe *w)
{
	uint64_t data[2] = { gda_pair(gda_wire32(w->len | GDA_MLX5_INLINE), 0), 0 };
	uint32_t at = 12, i;

	memcpy((char *)data + 4, w->src, 12);
	gda_store_segment(gda_mlx5_segment(sq, index, 2), data[0], data[1]);
	for (i = 3; i < w->ds; i++, at += 16) {
		data[0] = 0;
		data[1] = 0;
		memcpy(data, (const char *)w->src + at, w->len - at < 16 ? w->len - at : 16);
		gda_store_segment(gda_mlx5_segment(sq, index, i), data[0], data[1]);
	}
}

/*
 * Store an entry of several slots. The rest of its last slot is zeroed, and a NOP follows, because
 * completions name first slots and the consumer index advances by completions.
 */
GDA_HELPER void gda_mlx5_store_long(struct gda_sq sq, uint64_t index,
				    const struct gda_mlx5_wqe *w, unsigned int flags)
{
	struct gda_wr r = gda_wr_nop();
	struct gda_mlx5_wqe nop;
	uint32_t end = (w->ds + 3) & ~3U, ds;

	if (w->src) {
		gda_mlx5_store_ctrl(1, sq, index, w, flags);
		gda_store_segment(gda_mlx5_segment(sq, index, 1), w->seg[0][0], w->seg[0][1]);
		gda_mlx5_store_inline(sq, index, w);
	} else {
		gda_mlx5_store_slot(1, sq, index, w, flags);
		gda_store_segment(gda_mlx5_segment(sq, index, 4), w->seg[3][0], w->seg[3][1]);
	}
	for (ds = w->ds; ds < end; ds++)
		gda_store_segment(gda_mlx5_segment(sq, index, ds), 0, 0);
	gda_mlx5_encode(&nop, &r);
	gda_mlx5_store_slot(1, sq, index + end / 4, &nop, 0);
}

GDA_HELPER void gda_mlx5_wqe_store_if(const struct gda_mlx5_wqe *w, uint32_t on, struct gda_sq sq,
				      uint64_t index, unsigned int flags)
{
	if (w->slots == 1)
		gda_mlx5_store_slot(on, sq, index, w, flags);
	else if (on)
		gda_mlx5_store_long(sq, index, w, flags);
}

/* Bit 31 of a length marks inline bytes, so it is no part of the length. */
GDA_HELPER int gda_mlx5_wqe_too_long(uint64_t len)
{
	return len >= GDA_MLX5_INLINE;
}

GDA_HELPER uint32_t gda_mlx5_wqe_max_inline(uint32_t depth)
{
	uint32_t most = depth > 2 ? (depth - 1) * GDA_MLX5_SLOT_BYTES - 36 :
				    GDA_MLX5_WQE_INLINE_SLOT;

	return most < GDA_MLX5_WQE_INLINE_MAX ? most : GDA_MLX5_WQE_INLINE_MAX;
}

/* The remote address and key that the entry of one slot at @entry names. */
GDA_HELPER void gda_mlx5_wqe_read_remote(const char *entry, uint64_t *raddr, uint32_t *rkey)
{
	struct gda_mlx5_raddr to;

	memcpy(&to, entry + GDA_MLX5_SEG_BYTES, sizeof(to));
	*raddr = gda_be64_to_cpu(to.raddr);
	*rkey = gda_be32_to_cpu(to.rkey);
}

/* The bytes of a doorbell that name the QP, for gda_mlx5_db_value(). */
GDA_HELPER uint64_t gda_mlx5_db_qpn(uint32_t qpn)
{
	return (GDA_UAPI_FORCE uint64_t)gda_mlx5_doorbell(0, qpn);
}

/* The doorbell record that says that all slots below @next are written, as stored. */
GDA_HELPER uint32_t gda_mlx5_db_record(uint64_t next)
{
	return GDA_HERE(gda_be32((uint32_t)next & 0xffff),
			__byte_perm((uint32_t)next, 0, 0x0144));
}

/* The doorbell that goes with @record. */
GDA_HELPER uint64_t gda_mlx5_db_value(uint64_t qpn_be, uint32_t record)
{
	return qpn_be | gda_pair(gda_be_shl8(record), 0);
}

/* The end of the slots that @record covers; @index is beyond it, by less than 2^16. */
GDA_HELPER uint64_t gda_mlx5_db_rung(uint64_t index, uint32_t record)
{
	return index - (uint16_t)(index - gda_be32_to_cpu((GDA_UAPI_FORCE __be32)record));
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#include <gda/wqe/mlx5_cqe.h>

#endif /* GDA_WQE_MLX5_H */
