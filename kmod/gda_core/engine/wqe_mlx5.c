// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The mlx5 dialect, requester's side: one work queue entry (WQE) of gda/mlx5.h
 * becomes one struct gda_work.
 *
 * Invariant: an entry is read one segment at a time by gda_mlx5_fetch(), each segment
 * at most once, into private memory; all checks and all use are of that copy. A
 * producer that rewrites an entry meanwhile gets one of the things it wrote, checked,
 * or an error.
 *
 * Not looked at: signature, dci, an immediate the opcode does not carry, reserved
 * words, the fence bits (the engine executes in order) and all of a NOP behind its
 * control segment.
 */
#include "engine.h"

#define GDA_MLX5_SEGS_PER_SLOT	(GDA_MLX5_SLOT_BYTES / GDA_MLX5_SEG_BYTES)

/* Opcode and operand size of a masked atomic, as gda_mlx5_decode() looks at them. */
#define GDA_MLX5_MASKED(bytes, op) \
	((u32)GDA_MLX5_OPMOD_##bytes##BYTE << 24 | (u32)GDA_MLX5_MASKED_##op)

static_assert(GDA_MLX5_CE_ALWAYS == GDA_WORK_SIGNALED);
static_assert(GDA_MLX5_SE == GDA_WORK_SOLICITED);
static_assert(GDA_ENGINE_MAX_INLINE == (GDA_ENGINE_MAX_DS - 2) * GDA_MLX5_SEG_BYTES - 4);
static_assert(GDA_ENGINE_MAX_SLOTS * GDA_MLX5_SEGS_PER_SLOT >= GDA_ENGINE_MAX_DS);

/* A private copy of one segment: its two words, in memory order and in host order. */
struct gda_mlx5_seg {
	u64 raw[2];
};

static __always_inline u64 gda_mlx5_word(const struct gda_mlx5_seg *seg, u32 i)
{
	return gda_be64_to_cpu((__force __be64)seg->raw[i]);
}

/* The first and the second 32-bit word of the first half of a segment; and so on. */
static __always_inline u32 gda_mlx5_half(const struct gda_mlx5_seg *seg, u32 i)
{
	return (u32)(gda_mlx5_word(seg, i / 2) >> (i % 2 ? 0 : 32));
}

static __always_inline const u64 *gda_mlx5_slot(const struct gda_engine_qp *q, u32 n)
{
	return (const u64 *)q->sq + (((u32)q->ci + n) & (q->depth - 1)) *
	       (GDA_MLX5_SLOT_BYTES / sizeof(u64));
}

/* Segment number @n of a slot. The only reader of queue memory. */
static __always_inline struct gda_mlx5_seg gda_mlx5_fetch(const u64 *slot, u32 n)
{
	struct gda_mlx5_seg copy;

	copy.raw[0] = READ_ONCE(slot[2 * n]);
	copy.raw[1] = READ_ONCE(slot[2 * n + 1]);
	return copy;
}

static struct gda_status gda_mlx5_bad(u8 syndrome, u8 vendor)
{
	struct gda_status st = { syndrome, vendor };

	return st;
}

static struct gda_status gda_mlx5_bad_ds(void)
{
	return gda_mlx5_bad(GDA_MLX5_SYND_LOCAL_QP_OP, GDA_MLX5_VENDOR_DS);
}

static struct gda_status gda_mlx5_bad_length(void)
{
	return gda_mlx5_bad(GDA_MLX5_SYND_LOCAL_LENGTH, GDA_MLX5_VENDOR_LENGTH);
}

/* Neighbours that the compiler stores as one. */
static __always_inline void gda_mlx5_set_shape(struct gda_work *work, u8 op, u8 nsge)
{
	work->op = op;
	work->nsge = nsge;
	work->inlined = false;
}

/*
 * One data segment. A zero byte count would mean 2^31, more than we move; and one
 * that is inline has its top bit set, so it is too long where it may not be.
 */
static __always_inline bool gda_mlx5_decode_data(const struct gda_mlx5_seg *seg,
						 struct gda_sge *sge)
{
	u64 head = gda_mlx5_word(seg, 0);

	sge->len = (u32)(head >> 32);
	sge->key = (u32)head;
	sge->addr = gda_mlx5_word(seg, 1);
	return sge->len - 1 < GDA_ENGINE_MAX_MSG;
}

/* The second of two data segments. */
static noinline struct gda_status gda_mlx5_decode_second(const u64 *slot,
							 struct gda_work *work)
{
	struct gda_mlx5_seg seg = gda_mlx5_fetch(slot, 3);

	work->nsge = 2;
	if (unlikely(!gda_mlx5_decode_data(&seg, &work->sge[1])))
		return gda_mlx5_bad_length();
	work->remote.len += work->sge[1].len;
	if (unlikely(work->remote.len > GDA_ENGINE_MAX_MSG))
		return gda_mlx5_bad_length();
	return gda_mlx5_bad(0, 0);
}

/* Inline payload begins behind the count in @seg and goes on in whole segments. */
static noinline struct gda_status gda_mlx5_decode_inline(const struct gda_engine_qp *q, u32 ds,
							 struct gda_mlx5_seg seg,
							 struct gda_work *work)
{
	u32 len = gda_mlx5_half(&seg, 0) & ~GDA_MLX5_INLINE;
	u32 have = GDA_MLX5_SEG_BYTES - 4;
	u32 n = 3;

	if (unlikely(len > GDA_ENGINE_MAX_INLINE))
		return gda_mlx5_bad_length();
	/* before anything is copied: only what @ds covers is published */
	if (unlikely(ds != 2 + (len + 4 + GDA_MLX5_SEG_BYTES - 1) / GDA_MLX5_SEG_BYTES))
		return gda_mlx5_bad_ds();
	memcpy(work->data, (const u8 *)seg.raw + 4, have);
	while (n < ds) {
		seg = gda_mlx5_fetch(gda_mlx5_slot(q, n / GDA_MLX5_SEGS_PER_SLOT),
				     n % GDA_MLX5_SEGS_PER_SLOT);
		memcpy(work->data + have, seg.raw, GDA_MLX5_SEG_BYTES);
		have += GDA_MLX5_SEG_BYTES;
		n++;
	}
	work->nsge = 0;
	work->inlined = true;
	work->remote.len = len;
	return gda_mlx5_bad(0, 0);
}

static __always_inline void gda_mlx5_decode_remote(const u64 *slot, struct gda_work *work)
{
	struct gda_mlx5_seg seg = gda_mlx5_fetch(slot, 1);

	work->remote.addr = gda_mlx5_word(&seg, 0);
	work->remote.key = (u32)(gda_mlx5_word(&seg, 1) >> 32);
}

/* RDMA_WRITE and RDMA_READ: no local part, data segments, or (not READ) inline data. */
static __always_inline struct gda_status
gda_mlx5_decode_rdma(const struct gda_engine_qp *q, const u64 *slot, u32 ds, u8 op,
		     struct gda_work *work)
{
	struct gda_mlx5_seg seg;

	gda_mlx5_set_shape(work, op, 1);
	if (unlikely(ds < 2 || ds > GDA_ENGINE_MAX_DS))
		return gda_mlx5_bad_ds();
	gda_mlx5_decode_remote(slot, work);
	if (unlikely(ds == 2)) {
		gda_mlx5_set_shape(work, op, 0);
		work->remote.len = 0;
		return gda_mlx5_bad(0, 0);
	}
	seg = gda_mlx5_fetch(slot, 2);
	if (unlikely(!gda_mlx5_decode_data(&seg, &work->sge[0]))) {
		if (op != GDA_OP_READ && (work->sge[0].len & GDA_MLX5_INLINE))
			return gda_mlx5_decode_inline(q, ds, seg, work);
		return gda_mlx5_bad_length();
	}
	work->remote.len = work->sge[0].len;
	if (likely(ds == 3))
		return gda_mlx5_bad(0, 0);
	if (unlikely(ds > 2 + GDA_ENGINE_MAX_SGE))
		return gda_mlx5_bad_ds();
	return gda_mlx5_decode_second(slot, work);
}

/* RDMA_WRITE_IMM. Its event is the peer's. */
static noinline struct gda_status
gda_mlx5_decode_write_imm(const struct gda_engine_qp *q, const u64 *slot, u32 ds, u32 imm,
			  struct gda_work *work)
{
	work->imm = imm;
	if (work->flags & GDA_WORK_SOLICITED)
		work->flags ^= GDA_WORK_SOLICITED | GDA_WORK_SOLICIT;
	return gda_mlx5_decode_rdma(q, slot, ds, GDA_OP_WRITE_IMM, work);
}

/* What all atomics begin with. Return: whether @ds is what it must be. */
static bool gda_mlx5_decode_target(const u64 *slot, u32 ds, u32 want, u8 op, u32 width,
				   struct gda_work *work)
{
	gda_mlx5_set_shape(work, op, 1);
	work->remote.len = width;
	if (unlikely(ds != want))
		return false;
	gda_mlx5_decode_remote(slot, work);
	return true;
}

/* What all atomics end with: the data segment for the old value. */
static struct gda_status gda_mlx5_decode_result(const u64 *slot, u32 n,
						struct gda_work *work)
{
	struct gda_mlx5_seg seg = gda_mlx5_fetch(slot, n);

	if (unlikely(!gda_mlx5_decode_data(&seg, &work->sge[0]) ||
		     work->sge[0].len != work->remote.len))
		return gda_mlx5_bad_length();
	return gda_mlx5_bad(0, 0);
}

/* ATOMIC_FA and ATOMIC_CS, and the 8-byte MASKED_FA, whose boundary is in "compare". */
static noinline struct gda_status gda_mlx5_decode_atomic(const u64 *slot, u32 ds, u8 op,
							 struct gda_work *work)
{
	struct gda_mlx5_seg seg;

	if (!gda_mlx5_decode_target(slot, ds, 4, op, sizeof(u64), work))
		return gda_mlx5_bad_ds();
	seg = gda_mlx5_fetch(slot, 2);
	work->swap_add = gda_mlx5_word(&seg, 0);
	work->compare = gda_mlx5_word(&seg, 1);
	return gda_mlx5_decode_result(slot, 3, work);
}

/* 4-byte MASKED_FA and MASKED_CS: four words; the former's last two say nothing. */
static noinline struct gda_status gda_mlx5_decode_masked4(const u64 *slot, u32 ds, u8 op,
							  struct gda_work *work)
{
	struct gda_mlx5_seg seg;

	if (!gda_mlx5_decode_target(slot, ds, 4, op, sizeof(u32), work))
		return gda_mlx5_bad_ds();
	seg = gda_mlx5_fetch(slot, 2);
	work->swap_add = gda_mlx5_half(&seg, 0);
	work->compare = gda_mlx5_half(&seg, 1);
	work->swap_mask = gda_mlx5_half(&seg, 2);
	work->compare_mask = gda_mlx5_half(&seg, 3);
	return gda_mlx5_decode_result(slot, 3, work);
}

/* 8-byte MASKED_CS: operands, masks, and the result in a second slot. */
static noinline struct gda_status
gda_mlx5_decode_masked_cs8(const struct gda_engine_qp *q, const u64 *slot, u32 ds,
			   struct gda_work *work)
{
	struct gda_mlx5_seg seg;

	if (!gda_mlx5_decode_target(slot, ds, 5, GDA_OP_MASKED_COMPARE_SWAP, sizeof(u64),
				    work))
		return gda_mlx5_bad_ds();
	seg = gda_mlx5_fetch(slot, 2);
	work->swap_add = gda_mlx5_word(&seg, 0);
	work->compare = gda_mlx5_word(&seg, 1);
	seg = gda_mlx5_fetch(slot, 3);
	work->swap_mask = gda_mlx5_word(&seg, 0);
	work->compare_mask = gda_mlx5_word(&seg, 1);
	return gda_mlx5_decode_result(gda_mlx5_slot(q, 1), 0, work);
}

/* One data segment behind the control segment, and no remote address. */
static noinline struct gda_status gda_mlx5_decode_dump(const u64 *slot, u32 ds,
						       struct gda_work *work)
{
	struct gda_mlx5_seg seg;

	gda_mlx5_set_shape(work, GDA_OP_DUMP, 1);
	work->remote.len = 0;
	if (unlikely(ds != 2))
		return gda_mlx5_bad_ds();
	seg = gda_mlx5_fetch(slot, 1);
	if (unlikely(!gda_mlx5_decode_data(&seg, &work->sge[0])))
		return gda_mlx5_bad_length();
	return gda_mlx5_bad(0, 0);
}

/* As many segments as its producer likes: a NOP is also what fills a gap. */
static struct gda_status gda_mlx5_decode_nop(struct gda_work *work)
{
	gda_mlx5_set_shape(work, GDA_OP_NOP, 0);
	work->remote.len = 0;
	return gda_mlx5_bad(0, 0);
}

/* Not the common case of one slot. Return: false if @ds cannot be. */
static noinline bool gda_mlx5_decode_slots(u32 ds, u32 avail, struct gda_work *work)
{
	u32 slots = (ds + GDA_MLX5_SEGS_PER_SLOT - 1) / GDA_MLX5_SEGS_PER_SLOT;

	if (!slots)
		return false;
	work->slots = (u8)min(slots, avail);
	return slots <= avail && slots <= GDA_ENGINE_MAX_SLOTS;
}

static struct gda_status gda_mlx5_decode(const struct gda_engine_qp *q, u32 avail,
					 struct gda_work *work)
{
	const u64 *slot = gda_mlx5_slot(q, 0);
	struct gda_mlx5_seg ctrl = gda_mlx5_fetch(slot, 0);
	u64 head = gda_mlx5_word(&ctrl, 0);	/* opmod, index 2, opcode, qpn 3, ds */
	u32 opcode = (u32)(head >> 32) & 0xff0000ff;	/* with opmod */
	u32 ds = (u32)head & 0xff;

	work->opcode = (u8)opcode;
	work->slots = 1;
	/* not the producer's entry for this slot: nothing in it can be trusted */
	if (unlikely((u16)(head >> 40) != (u16)q->ci || (u32)head >> 8 != q->qpn))
		return gda_mlx5_bad(GDA_MLX5_SYND_LOCAL_QP_OP, GDA_MLX5_VENDOR_INDEX);
	if (unlikely(ds - 1 >= GDA_MLX5_SEGS_PER_SLOT) &&
	    !gda_mlx5_decode_slots(ds, avail, work))
		return gda_mlx5_bad_ds();
	work->flags = (u8)(gda_mlx5_word(&ctrl, 1) >> 32) &
		      (GDA_WORK_SIGNALED | GDA_WORK_SOLICITED);

	if (likely(opcode == GDA_MLX5_WRITE))
		return gda_mlx5_decode_rdma(q, slot, ds, GDA_OP_WRITE, work);
	switch (opcode) {
	case GDA_MLX5_READ:
		return gda_mlx5_decode_rdma(q, slot, ds, GDA_OP_READ, work);
	case GDA_MLX5_WRITE_IMM:
		return gda_mlx5_decode_write_imm(q, slot, ds, gda_mlx5_half(&ctrl, 3), work);
	case GDA_MLX5_ATOMIC_FA:
		return gda_mlx5_decode_atomic(slot, ds, GDA_OP_FETCH_ADD, work);
	case GDA_MLX5_ATOMIC_CS:
		return gda_mlx5_decode_atomic(slot, ds, GDA_OP_COMPARE_SWAP, work);
	case GDA_MLX5_MASKED(4, FA):
		return gda_mlx5_decode_masked4(slot, ds, GDA_OP_MASKED_FETCH_ADD, work);
	case GDA_MLX5_MASKED(8, FA):
		return gda_mlx5_decode_atomic(slot, ds, GDA_OP_MASKED_FETCH_ADD, work);
	case GDA_MLX5_MASKED(4, CS):
		return gda_mlx5_decode_masked4(slot, ds, GDA_OP_MASKED_COMPARE_SWAP, work);
	case GDA_MLX5_MASKED(8, CS):
		return gda_mlx5_decode_masked_cs8(q, slot, ds, work);
	case GDA_MLX5_DUMP:
		return gda_mlx5_decode_dump(slot, ds, work);
	case GDA_MLX5_NOP:
		return gda_mlx5_decode_nop(work);
	default:
		return gda_mlx5_bad(GDA_MLX5_SYND_LOCAL_QP_OP, GDA_MLX5_VENDOR_OPCODE);
	}
}

const struct gda_dialect_ops gda_dialect_mlx5 = {
	.decode = gda_mlx5_decode,
};
