/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Decoding of WQEs that connected queues (mlx5.c, whose header has the rules) and datagram queues
 * (mlx5_ud.c) share: the only functions that read queue memory, the control segment, and local
 * data.
 */
#ifndef GDA_ENGINE_MLX5_WQE_H
#define GDA_ENGINE_MLX5_WQE_H

#include <gda/mlx5.h>
#include "mlx5_cq.h"
#include "visit.h"

#define GDA_MLX5_SEGS_PER_SLOT	(GDA_MLX5_SLOT_BYTES / GDA_MLX5_SEG_BYTES)
#define GDA_MLX5_MAX_DS		63	/* longest WQE that is executed, in segments */
#define GDA_MLX5_MAX_SLOTS	16	/* the same, in slots */

/* A private copy of one segment: two words, as they lie in memory. */
struct gda_mlx5_seg {
	u64 raw[2];
};

static __always_inline u64 gda_mlx5_word(const struct gda_mlx5_seg *seg, u32 i)
{
	return gda_be64_to_cpu((__force __be64)seg->raw[i]);
}

/* Return: 32-bit word number @i of a segment, in host order. */
static __always_inline u32 gda_mlx5_half(const struct gda_mlx5_seg *seg, u32 i)
{
	return (u32)(gda_mlx5_word(seg, i / 2) >> (i % 2 ? 0 : 32));
}

static __always_inline const u64 *gda_mlx5_slot(const struct gda_engine_qp *q, u32 n)
{
	return (const u64 *)q->sq + (((u32)q->ci + n) & (q->depth - 1)) *
	       (GDA_MLX5_SLOT_BYTES / sizeof(u64));
}

/* Copy segment number @n of a slot. Queue memory is read nowhere else. */
static __always_inline struct gda_mlx5_seg gda_mlx5_fetch(const u64 *slot, u32 n)
{
	struct gda_mlx5_seg copy;

	copy.raw[0] = READ_ONCE(slot[2 * n]);
	copy.raw[1] = READ_ONCE(slot[2 * n + 1]);
	return copy;
}

static struct gda_status gda_mlx5_bad_ds(void)
{
	return gda_status(GDA_CLASS_QUEUE, GDA_CAUSE_SIZE);
}

static struct gda_status gda_mlx5_bad_length(void)
{
	return gda_status(GDA_CLASS_LOCAL, GDA_CAUSE_LENGTH);
}

/* The compiler combines these adjacent members into one store. */
static __always_inline void gda_mlx5_set_shape(struct gda_work *work, u8 op, u8 nsge)
{
	work->op = op;
	work->nsge = nsge;
	work->inlined = false;
}

/*
 * Decode one data segment. A byte count of 0 would mean 2^31 bytes, which exceeds the maximum. An
 * inline segment has the top bit set, so it is refused as too long.
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

/* Copy segment number @n of the entry, which may wrap past the end of the ring. */
static __always_inline struct gda_mlx5_seg gda_mlx5_fetch_far(const struct gda_engine_qp *q, u32 n)
{
	return gda_mlx5_fetch(gda_mlx5_slot(q, n / GDA_MLX5_SEGS_PER_SLOT),
			      n % GDA_MLX5_SEGS_PER_SLOT);
}

/* Decode the data segments from the second one, segment number @n, to the end of the entry, @ds. */
static noinline struct gda_status gda_mlx5_decode_list(const struct gda_engine_qp *q, u32 n,
						       u32 ds, struct gda_work *work)
{
	if (unlikely(ds - n >= (q->max_sge ? q->max_sge : GDA_WORK_SGE)))
		return gda_mlx5_bad_ds();
	for (; n < ds; n++) {
		struct gda_mlx5_seg seg = gda_mlx5_fetch_far(q, n);
		struct gda_sge *sge = &work->sge[work->nsge++];

		if (unlikely(!gda_mlx5_decode_data(&seg, sge)))
			return gda_mlx5_bad_length();
		work->remote.len += sge->len;
		if (unlikely(work->remote.len > GDA_ENGINE_MAX_MSG))
			return gda_mlx5_bad_length();
	}
	return gda_status(GDA_CLASS_NONE, 0);
}

/*
 * Copy inline payload. It begins behind the byte count in @seg, which is segment number @first,
 * and continues in whole segments.
 */
static __always_inline struct gda_status
gda_mlx5_copy_inline(const struct gda_engine_qp *q, u32 first, u32 ds, struct gda_mlx5_seg seg,
		     struct gda_work *work)
{
	u32 len = gda_mlx5_half(&seg, 0) & ~GDA_MLX5_INLINE;
	u32 have = GDA_MLX5_SEG_BYTES - 4;
	u32 n = first + 1;

	if (unlikely(len > GDA_ENGINE_MAX_INLINE))
		return gda_mlx5_bad_length();
	/* checked before the copy: only the segments that @ds covers are published */
	if (unlikely(ds != first + (len + 4 + GDA_MLX5_SEG_BYTES - 1) / GDA_MLX5_SEG_BYTES))
		return gda_mlx5_bad_ds();
	memcpy(work->data, (const u8 *)seg.raw + 4, have);
	while (n < ds) {
		seg = gda_mlx5_fetch_far(q, n);
		memcpy(work->data + have, seg.raw, GDA_MLX5_SEG_BYTES);
		have += GDA_MLX5_SEG_BYTES;
		n++;
	}
	work->nsge = 0;
	work->inlined = true;
	work->remote.len = len;
	return gda_status(GDA_CLASS_NONE, 0);
}

/* The requester asked for a solicited event, which the peer's CQ gets. */
static void gda_mlx5_solicit(struct gda_work *work)
{
	if (work->flags & GDA_WORK_SOLICITED)
		work->flags ^= GDA_WORK_SOLICITED | GDA_WORK_SOLICIT;
}

/* A NOP may have any number of segments, for producers also fill gaps with it. */
static struct gda_status gda_mlx5_decode_nop(struct gda_work *work)
{
	gda_mlx5_set_shape(work, GDA_OP_NOP, 0);
	work->remote.len = 0;
	return gda_status(GDA_CLASS_NONE, 0);
}

/* Handle an entry of more than one slot. Return: false if @ds is impossible. */
static noinline bool gda_mlx5_decode_slots(u32 ds, u32 avail, struct gda_work *work)
{
	u32 slots = (ds + GDA_MLX5_SEGS_PER_SLOT - 1) / GDA_MLX5_SEGS_PER_SLOT;

	if (!slots)
		return false;
	work->slots = (u8)min(slots, avail);
	return slots <= avail && slots <= GDA_MLX5_MAX_SLOTS;
}

/* Return: opcode and opmod of the control segment; gda_mlx5_ds() returns its segment count. */
static __always_inline u32 gda_mlx5_opcode(const struct gda_mlx5_seg *ctrl)
{
	return (u32)(gda_mlx5_word(ctrl, 0) >> 32) & 0xff0000ff;
}

static __always_inline u32 gda_mlx5_ds(const struct gda_mlx5_seg *ctrl)
{
	return (u32)gda_mlx5_word(ctrl, 0) & 0xff;
}

/* Decode the control segment of any WQE. Return: success, or why the entry is illegal. */
static __always_inline struct gda_status
gda_mlx5_decode_ctrl(const struct gda_engine_qp *q, const struct gda_mlx5_seg *ctrl, u32 avail,
		     struct gda_work *work)
{
	u64 head = gda_mlx5_word(ctrl, 0);	/* opmod, index 2, opcode, qpn 3, ds */
	u32 ds = gda_mlx5_ds(ctrl);

	work->opcode = (u8)gda_mlx5_opcode(ctrl);
	work->slots = 1;
	/* the producer did not write this entry for this slot: trust nothing in it */
	if (unlikely((u16)(head >> 40) != (u16)q->ci || (u32)head >> 8 != q->qpn))
		return gda_status(GDA_CLASS_QUEUE, GDA_CAUSE_INDEX);
	if (unlikely(ds - 1 >= GDA_MLX5_SEGS_PER_SLOT) &&
	    !gda_mlx5_decode_slots(ds, avail, work))
		return gda_mlx5_bad_ds();
	work->flags = (u8)(gda_mlx5_word(ctrl, 1) >> 32) &
		      (GDA_WORK_SIGNALED | GDA_WORK_SOLICITED | GDA_WORK_FENCE);
	return gda_status(GDA_CLASS_NONE, 0);
}

#endif /* GDA_ENGINE_MLX5_WQE_H */
