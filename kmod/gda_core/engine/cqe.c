// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Owns the bytes of completion queues: presets, entries, ownership, overflow.
 *
 * Invariants:
 *
 * - A poller that sees bytes 60..63 of an entry sees the rest of it, and everything
 *   the work request moved: they are one aligned store, released, and the last.
 * - Nothing is read from the entries; the producer index is private. The consumer's
 *   record is any number a user likes: it can make the CQ fail, nothing else.
 * - A peer can fill the CQ that takes its immediates, and cannot make it fail.
 * - On a collapsed CQ the words that name the first error are stored whole and with
 *   the same value ever after, so they can be read at any time once an error shows.
 */
#include "engine.h"

#define GDA_CQE_BYTES		64
#define GDA_CQE_RING_INVALID	(GDA_MLX5_CQE_INVALID << 4 | 1)	/* not of lap 0 */

/* The part of an entry that is written, as words; bytes 0..31 are reserved. */
struct gda_cqe_words {
	u8 rsvd[32];
	__be64 uidx_imm;	/* 32 */
	__be64 count;		/* 40: byte_cnt, or first_error */
	__be64 status;		/* 48: timestamp, or the syndromes */
	__be32 sop_qpn;		/* 56 */
	__be32 last;		/* 60: wqe_counter, signature, op_own */
};

static_assert(sizeof(struct gda_cqe_words) == GDA_CQE_BYTES);
static_assert(sizeof(struct gda_mlx5_cqe) == GDA_CQE_BYTES);
static_assert(sizeof(struct gda_mlx5_err_cqe) == GDA_CQE_BYTES);
static_assert(offsetof(struct gda_mlx5_cqe, srqn_uidx) == 32);
static_assert(offsetof(struct gda_mlx5_cqe, imm) == 36);
static_assert(offsetof(struct gda_mlx5_cqe, byte_cnt) == 44);
static_assert(offsetof(struct gda_mlx5_cqe, timestamp) == 48);
static_assert(offsetof(struct gda_mlx5_cqe, sop_qpn) == 56);
static_assert(offsetof(struct gda_mlx5_cqe, wqe_counter) == 60);
static_assert(offsetof(struct gda_mlx5_cqe, op_own) == 63);
static_assert(offsetof(struct gda_mlx5_err_cqe, srqn) == 32);
static_assert(offsetof(struct gda_mlx5_err_cqe, first_error) == 40);
static_assert(offsetof(struct gda_mlx5_err_cqe, first_syndrome) == 52);
static_assert(offsetof(struct gda_mlx5_err_cqe, first_vendor) == 53);
static_assert(offsetof(struct gda_mlx5_err_cqe, vendor_err_synd) == 54);
static_assert(offsetof(struct gda_mlx5_err_cqe, syndrome) == 55);
static_assert(offsetof(struct gda_mlx5_err_cqe, s_wqe_opcode_qpn) == 56);

void gda_cq_init(struct gda_engine_cq *cq)
{
	u8 *entry = cq->entries;
	u32 i;

	cq->failed = false;
	cq->producer = 0;
	if (cq->collapsed) {
		/* counter 0xffff: index 0 is not complete, by every polling rule */
		memset(entry, 0xff, GDA_CQE_BYTES);
		return;
	}
	for (i = 0; i < cq->depth; i++, entry += GDA_CQE_BYTES) {
		memset(entry, 0, GDA_CQE_BYTES);
		entry[offsetof(struct gda_mlx5_cqe, op_own)] = GDA_CQE_RING_INVALID;
	}
}

/* Both counts modulo 2^24: a consumer index ahead of the producer is "full" too. */
static bool gda_cq_full(const struct gda_engine_cq *cq)
{
	u32 consumer;

	if (!cq->consumer)
		return false;
	/* pairs with the consumer's release: it has read the entry we overwrite */
	consumer = gda_be32_to_cpu(smp_load_acquire(cq->consumer));
	return (((u32)cq->producer - consumer) & 0xffffff) >= cq->depth;
}

bool gda_cq_push(struct gda_engine_cq *cq, const struct gda_completion *c)
{
	struct gda_cqe_words *cqe = cq->entries;
	bool error = c->cqe_opcode >= GDA_MLX5_CQE_REQ_ERR;
	u32 op_own = (u32)c->cqe_opcode << 4 | (u32)c->solicited << 1;
	u64 count = c->byte_cnt;
	u64 status = 0;

	if (unlikely(cq->failed))
		return false;
	if (!cq->collapsed) {
		if (unlikely(gda_cq_full(cq))) {
			cq->failed = c->cqe_opcode != GDA_MLX5_CQE_RESP_IMM;
			return false;
		}
		cqe += cq->producer & (cq->depth - 1);
		op_own |= (cq->producer & cq->depth) != 0;
	}
	if (unlikely(error)) {
		count = c->first_error;
		status = (u64)c->first.syndrome << 24 | (u64)c->first.vendor << 16 |
			 (u64)c->status.vendor << 8 | c->status.syndrome;
	}
	WRITE_ONCE(cqe->uidx_imm, gda_be64(c->uidx_imm));
	WRITE_ONCE(cqe->count, gda_be64(count));
	WRITE_ONCE(cqe->status, gda_be64(status));
	WRITE_ONCE(cqe->sop_qpn, gda_be32((u32)c->wr_opcode << 24 | c->qpn));
	/* pairs with the poller's acquire */
	smp_store_release(&cqe->last, gda_be32((u32)c->index << 16 | op_own));
	cq->producer++;
	return true;
}
