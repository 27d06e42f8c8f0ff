// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The mlx5 dialect, requester's side: one work queue entry (WQE) of gda/mlx5.h
 * becomes one struct gda_work.
 *
 * Invariant: every byte of an entry is read at most once, by gda_mlx5_fetch(), into
 * a private buffer; all checks and all use are of that copy. A producer that
 * rewrites an entry meanwhile gets one of the things it wrote, checked, or an error.
 *
 * Not looked at: signature, dci, an immediate the opcode does not carry, reserved
 * words, the fence bits (the engine executes in order) and what follows the last
 * segment an opcode needs in NOP.
 */
#include "engine.h"

#define GDA_MLX5_SEGS_PER_SLOT	(GDA_MLX5_SLOT_BYTES / GDA_MLX5_SEG_BYTES)
#define GDA_MLX5_SLOT_WORDS	(GDA_MLX5_SLOT_BYTES / sizeof(u64))

/* The private copy of an entry, as wide as the widest that is executed. */
union gda_mlx5_wqe {
	u64 words[GDA_ENGINE_MAX_SLOTS * GDA_MLX5_SLOT_WORDS];
	u8 bytes[GDA_ENGINE_MAX_SLOTS * GDA_MLX5_SLOT_BYTES];
	struct {
		struct gda_mlx5_ctrl ctrl;
		struct gda_mlx5_raddr raddr;
		union {
			struct gda_mlx5_data data[GDA_ENGINE_MAX_SGE];
			struct gda_mlx5_inline inl;
			struct {
				struct gda_mlx5_atomic operands;
				struct gda_mlx5_data result;
			} atomic;
		};
	};
};

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

/* Copy slot number @n of the entry at ci. The only reader of queue memory. */
static void gda_mlx5_fetch(const struct gda_eqp *q, u32 n, union gda_mlx5_wqe *wqe)
{
	u32 slot = ((u32)q->ci + n) & (q->depth - 1);
	const u64 *src = (const u64 *)q->sq + slot * GDA_MLX5_SLOT_WORDS;
	u64 *dst = wqe->words + n * GDA_MLX5_SLOT_WORDS;

	/* unrolled by hand: it is on the way of every entry */
	dst[0] = READ_ONCE(src[0]);
	dst[1] = READ_ONCE(src[1]);
	dst[2] = READ_ONCE(src[2]);
	dst[3] = READ_ONCE(src[3]);
	dst[4] = READ_ONCE(src[4]);
	dst[5] = READ_ONCE(src[5]);
	dst[6] = READ_ONCE(src[6]);
	dst[7] = READ_ONCE(src[7]);
}

/*
 * One data segment. A zero byte count would mean 2^31, more than we move; and one
 * that is inline has its top bit set, so it is too long where it may not be.
 */
static __always_inline bool gda_mlx5_decode_sge(const struct gda_mlx5_data *data,
						struct gda_work *work)
{
	struct gda_sge *sge = &work->sge[work->nsge++];

	sge->addr = gda_be64_to_cpu(data->addr);
	sge->key = gda_be32_to_cpu(data->lkey);
	sge->len = gda_be32_to_cpu(data->byte_count);
	work->remote.len += sge->len;
	return sge->len && sge->len <= GDA_ENGINE_MAX_MSG &&
	       work->remote.len <= GDA_ENGINE_MAX_MSG;
}

static noinline struct gda_status gda_mlx5_decode_inline(const union gda_mlx5_wqe *wqe,
							 u32 ds, struct gda_work *work)
{
	u32 len = gda_be32_to_cpu(wqe->inl.byte_count) & ~GDA_MLX5_INLINE;
	u32 segs;

	if (unlikely(len > GDA_ENGINE_MAX_INLINE))
		return gda_mlx5_bad_length();
	segs = (u32)(sizeof(wqe->inl.byte_count) + len + GDA_MLX5_SEG_BYTES - 1) /
		GDA_MLX5_SEG_BYTES;
	if (unlikely(ds != 2 + segs))
		return gda_mlx5_bad_ds();
	work->inlined = true;
	work->remote.len = len;
	if (len == 8)
		memcpy(work->data, wqe->inl.data, 8);
	else
		memcpy(work->data, wqe->bytes + offsetof(union gda_mlx5_wqe, inl.data), len);
	return gda_mlx5_bad(0, 0);
}

/* RDMA_WRITE and RDMA_READ: no local part, data segments, or (WRITE) inline data. */
static __always_inline struct gda_status
gda_mlx5_decode_rdma(const union gda_mlx5_wqe *wqe, u32 ds, struct gda_work *work)
{
	if (unlikely(ds < 2 || ds > GDA_ENGINE_MAX_DS))
		return gda_mlx5_bad_ds();
	if (unlikely(ds == 2))
		return gda_mlx5_bad(0, 0);
	if (work->op == GDA_OP_WRITE &&
	    (gda_be32_to_cpu(wqe->inl.byte_count) & GDA_MLX5_INLINE))
		return gda_mlx5_decode_inline(wqe, ds, work);
	if (unlikely(ds > 2 + GDA_ENGINE_MAX_SGE))
		return gda_mlx5_bad_ds();
	if (unlikely(!gda_mlx5_decode_sge(&wqe->data[0], work)))
		return gda_mlx5_bad_length();
	if (unlikely(ds == 4 && !gda_mlx5_decode_sge(&wqe->data[1], work)))
		return gda_mlx5_bad_length();
	return gda_mlx5_bad(0, 0);
}

/* ATOMIC_FA and ATOMIC_CS: operands, then one data segment for the old value. */
static noinline struct gda_status gda_mlx5_decode_atomic(const union gda_mlx5_wqe *wqe,
							 u32 ds, struct gda_work *work)
{
	if (unlikely(ds != 4))
		return gda_mlx5_bad_ds();
	work->swap_add = gda_be64_to_cpu(wqe->atomic.operands.swap_add);
	work->compare = gda_be64_to_cpu(wqe->atomic.operands.compare);
	if (unlikely(!gda_mlx5_decode_sge(&wqe->atomic.result, work) ||
		     work->remote.len != sizeof(u64)))
		return gda_mlx5_bad_length();
	return gda_mlx5_bad(0, 0);
}

static struct gda_status gda_mlx5_decode_op(const union gda_mlx5_wqe *wqe, u32 ds,
					    struct gda_work *work)
{
	switch (work->opcode) {
	case GDA_MLX5_WRITE:
		work->op = GDA_OP_WRITE;
		return gda_mlx5_decode_rdma(wqe, ds, work);
	case GDA_MLX5_READ:
		work->op = GDA_OP_READ;
		return gda_mlx5_decode_rdma(wqe, ds, work);
	case GDA_MLX5_ATOMIC_FA:
		work->op = GDA_OP_FETCH_ADD;
		return gda_mlx5_decode_atomic(wqe, ds, work);
	case GDA_MLX5_ATOMIC_CS:
		work->op = GDA_OP_COMPARE_SWAP;
		return gda_mlx5_decode_atomic(wqe, ds, work);
	case GDA_MLX5_NOP:
		work->op = GDA_OP_NOP;
		if (ds < 1 || ds > 2)
			return gda_mlx5_bad_ds();
		return gda_mlx5_bad(0, 0);
	default:
		return gda_mlx5_bad(GDA_MLX5_SYND_LOCAL_QP_OP, GDA_MLX5_VENDOR_OPCODE);
	}
}

/* Not the common case of one slot. Return: false if so many cannot be. */
static noinline bool gda_mlx5_fetch_rest(const struct gda_eqp *q, u32 avail, u32 ds,
					 union gda_mlx5_wqe *wqe, struct gda_work *work)
{
	u32 slots = (ds + GDA_MLX5_SEGS_PER_SLOT - 1) / GDA_MLX5_SEGS_PER_SLOT;
	u32 i;

	if (!slots)
		return false;
	work->slots = (u8)min(slots, avail);
	if (slots > avail || slots > GDA_ENGINE_MAX_SLOTS)
		return false;
	for (i = 1; i < slots; i++)
		gda_mlx5_fetch(q, i, wqe);
	return true;
}

static struct gda_status gda_mlx5_decode(const struct gda_eqp *q, u32 avail,
					 struct gda_work *work)
{
	union gda_mlx5_wqe wqe;
	u32 opcode, qpn_ds, ds;

	gda_mlx5_fetch(q, 0, &wqe);
	opcode = gda_be32_to_cpu(wqe.ctrl.opmod_idx_opcode);
	qpn_ds = gda_be32_to_cpu(wqe.ctrl.qpn_ds);
	ds = qpn_ds & 0xff;
	work->opcode = (u8)opcode;
	work->slots = 1;
	/* not the producer's entry for this slot: nothing in it can be trusted */
	if (unlikely(((opcode >> 8 ^ (u32)q->ci) & 0xffff) || qpn_ds >> 8 != q->qpn))
		return gda_mlx5_bad(GDA_MLX5_SYND_LOCAL_QP_OP, GDA_MLX5_VENDOR_INDEX);
	if (unlikely(ds - 1 >= GDA_MLX5_SEGS_PER_SLOT) &&
	    !gda_mlx5_fetch_rest(q, avail, ds, &wqe, work))
		return gda_mlx5_bad_ds();
	/* the operand size belongs to opcodes that are not executed yet */
	if (unlikely(opcode >> 24))
		return gda_mlx5_bad(GDA_MLX5_SYND_LOCAL_QP_OP, GDA_MLX5_VENDOR_OPCODE);

	work->nsge = 0;
	work->inlined = false;
	work->signaled = (wqe.ctrl.fm_ce_se & GDA_MLX5_CE_ALWAYS) != 0;
	work->solicited = (wqe.ctrl.fm_ce_se & GDA_MLX5_SE) != 0;
	/* of a NOP these are whatever was there, and unused */
	work->remote.addr = gda_be64_to_cpu(wqe.raddr.raddr);
	work->remote.key = gda_be32_to_cpu(wqe.raddr.rkey);
	work->remote.len = 0;
	return gda_mlx5_decode_op(&wqe, ds, work);
}

const struct gda_dialect_ops gda_dialect_mlx5 = {
	.decode = gda_mlx5_decode,
};
