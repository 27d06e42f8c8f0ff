// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The mlx5 dialect, executor side: the bytes of completion queue entries (CQEs).
 *
 * A poller that sees bytes 60..63 of an entry sees the rest of the entry and everything that the
 * work request moved: those bytes are stored last, as one aligned store with release semantics. The
 * executor reads nothing from entries. The consumer's record is an untrusted number: a bad one can
 * make the CQ fail and has no other effect. On a collapsed CQ the words that name the first error
 * are stored whole and never change again, so a poller may read them at any time after the error
 * shows.
 */
#include <gda/mlx5.h>
#include "engine.h"
#include "mlx5_cq.h"

/* Opcode of the entry that says that the ring continues elsewhere; CQs of /dev/gda have none. */
#define GDA_MLX5_CQE_MOVED	5U

#define GDA_MLX5_CQE_LAP0	(GDA_MLX5_CQE_INVALID << 4 | 1)	/* not valid in lap 0 */

static_assert(GDA_MLX5_CQE_BYTES <= GDA_ENGINE_MAX_CQE_BYTES);

/* The part of a CQE that is written, as words; bytes 0..15 are reserved. */
struct gda_mlx5_cqe_words {
	u8 rsvd[16];
	__be64 lid;		/* 16: LID of a datagram's sender, 2 bytes */
	__be64 source;		/* 24: of a datagram: GRH flag, service level, QP number */
	__be64 uidx_imm;	/* 32 */
	__be64 count;		/* 40: byte_cnt, or first_error */
	__be64 status;		/* 48: timestamp, or the syndromes */
	__be32 sop_qpn;		/* 56 */
	__be32 last;		/* 60: wqe_counter, signature, op_own */
};

static_assert(sizeof(struct gda_mlx5_cqe_words) == GDA_MLX5_CQE_BYTES);
static_assert(sizeof(struct gda_mlx5_cqe) == GDA_MLX5_CQE_BYTES);
static_assert(sizeof(struct gda_mlx5_err_cqe) == GDA_MLX5_CQE_BYTES);
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

/* The executor stores a cause as the vendor syndrome, unchanged. */
static_assert((u32)GDA_CAUSE_NONE == GDA_MLX5_VENDOR_NONE);
static_assert((u32)GDA_CAUSE_DOORBELL == GDA_MLX5_VENDOR_DOORBELL);
static_assert((u32)GDA_CAUSE_INDEX == GDA_MLX5_VENDOR_INDEX);
static_assert((u32)GDA_CAUSE_OPCODE == GDA_MLX5_VENDOR_OPCODE);
static_assert((u32)GDA_CAUSE_SIZE == GDA_MLX5_VENDOR_DS);
static_assert((u32)GDA_CAUSE_LENGTH == GDA_MLX5_VENDOR_LENGTH);
static_assert((u32)GDA_CAUSE_ALIGN == GDA_MLX5_VENDOR_ALIGN);
static_assert((u32)GDA_CAUSE_KEY == GDA_MLX5_VENDOR_KEY);
static_assert((u32)GDA_CAUSE_REVOKED == GDA_MLX5_VENDOR_REVOKED);
static_assert((u32)GDA_CAUSE_RIGHTS == GDA_MLX5_VENDOR_RIGHTS);
static_assert((u32)GDA_CAUSE_RANGE == GDA_MLX5_VENDOR_RANGE);
static_assert((u32)GDA_CAUSE_IO == GDA_MLX5_VENDOR_IO);
static_assert((u32)GDA_CAUSE_PEER == GDA_MLX5_VENDOR_PEER);
static_assert((u32)GDA_CAUSE_CQ == GDA_MLX5_VENDOR_CQ);
static_assert((u32)GDA_CAUSE_QUEUE == GDA_MLX5_VENDOR_QUEUE);
static_assert((u32)GDA_CAUSE_RECV == GDA_MLX5_VENDOR_RECV);
static_assert((u32)GDA_CAUSE_DEVICE == GDA_MLX5_VENDOR_DEVICE);
static_assert((u32)GDA_CAUSE_FORK == GDA_MLX5_VENDOR_FORK);
static_assert((u32)GDA_CAUSE_FABRIC == GDA_MLX5_VENDOR_FABRIC);

u8 gda_mlx5_syndrome(struct gda_status st)
{
	static const u8 of[] = {
		[GDA_CLASS_NONE] = GDA_MLX5_SYND_NONE,
		[GDA_CLASS_LOCAL] = GDA_MLX5_SYND_LOCAL_PROT,
		[GDA_CLASS_QUEUE] = GDA_MLX5_SYND_LOCAL_QP_OP,
		[GDA_CLASS_REMOTE_ACCESS] = GDA_MLX5_SYND_REMOTE_ACCESS,
		[GDA_CLASS_REMOTE_OP] = GDA_MLX5_SYND_REMOTE_OP,
		[GDA_CLASS_INVALID_REQUEST] = GDA_MLX5_SYND_REMOTE_INVAL_REQ,
		[GDA_CLASS_RETRY] = GDA_MLX5_SYND_RETRY_EXC,
		[GDA_CLASS_RNR] = GDA_MLX5_SYND_RNR_EXC,
		[GDA_CLASS_FLUSH] = GDA_MLX5_SYND_WR_FLUSH,
	};

	if (st.class == GDA_CLASS_LOCAL && st.cause == GDA_CAUSE_LENGTH)
		return GDA_MLX5_SYND_LOCAL_LENGTH;
	return of[st.class];
}

void gda_mlx5_preset(struct gda_engine_cq *cq)
{
	u8 *entry = cq->entries;
	u32 i;

	if (cq->collapsed) {
		/* wqe_counter 0xffff: by every polling rule, index 0 is not complete yet */
		memset(entry, 0xff, GDA_MLX5_CQE_BYTES);
		return;
	}
	for (i = 0; i < cq->depth; i++, entry += GDA_MLX5_CQE_BYTES << cq->wide) {
		memset(entry, 0, GDA_MLX5_CQE_BYTES);
		entry[offsetof(struct gda_mlx5_cqe, op_own)] = GDA_MLX5_CQE_LAP0;
	}
}

/* Both counts are modulo 2^24, so a consumer index ahead of the producer also exceeds any depth. */
static u32 gda_mlx5_cq_consumer(const struct gda_engine_cq *cq)
{
	/* pairs with the consumer's release: the consumer has read the entry that is overwritten */
	return gda_be32_to_cpu(smp_load_acquire(cq->consumer));
}

/* Return: whether @consumer is the index of the last move. It recurs every 2^24 entries. */
static bool gda_mlx5_cq_moved_at(const struct gda_engine_cq *cq, u32 consumer)
{
	return cq->moves && consumer == cq->moved_at && cq->producer - cq->moved <= cq->depth;
}

/* Return: how many entries the consumer, whose index is @consumer, has not read. */
static noinline u32 gda_mlx5_cq_unread(const struct gda_engine_cq *cq, u32 consumer)
{
	/* the consumer has read the move entries too, but counts them only when it polls again */
	if (gda_mlx5_cq_moved_at(cq, consumer))
		consumer += cq->moves;
	return ((u32)cq->producer - consumer) & 0xffffff;
}

static bool gda_mlx5_cq_full(const struct gda_engine_cq *cq)
{
	u32 consumer;

	if (!cq->consumer)
		return false;
	consumer = gda_mlx5_cq_consumer(cq);
	return unlikely((((u32)cq->producer - consumer) & 0xffffff) >= cq->depth) &&
	       gda_mlx5_cq_unread(cq, consumer) >= cq->depth;
}

/*
 * For each kind of completion, the CQE opcode and the opcode reported for the peer's request,
 * which may come from a queue of another dialect.
 */
static const struct gda_mlx5_cqe_kind {
	u8 opcode;
	u8 wr_opcode;
} gda_mlx5_cqe_kinds[] = {
	[GDA_COMPLETION_IMM] = { GDA_MLX5_CQE_RESP_IMM, GDA_MLX5_WRITE_IMM },
	[GDA_COMPLETION_ERROR] = { GDA_MLX5_CQE_REQ_ERR, 0 },
	[GDA_COMPLETION_RECV] = { GDA_MLX5_CQE_RESP_SEND, GDA_MLX5_SEND },
	[GDA_COMPLETION_RECV_IMM] = { GDA_MLX5_CQE_RESP_SEND_IMM, GDA_MLX5_SEND_IMM },
	[GDA_COMPLETION_RECV_ERROR] = { GDA_MLX5_CQE_RESP_ERR, 0 },
};

/* Store and count an entry. @op is its opcode, @sop the opcode of the work request. */
static __always_inline bool gda_mlx5_store(struct gda_engine_cq *cq, const struct gda_completion *c,
					   struct gda_mlx5_cqe_words *cqe, u32 op, u32 sop,
					   u64 count, u64 status)
{
	u32 owner = !cq->collapsed && cq->producer & cq->depth;

	WRITE_ONCE(cqe->uidx_imm, gda_be64(c->uidx_imm));
	WRITE_ONCE(cqe->count, gda_be64(count));
	WRITE_ONCE(cqe->status, gda_be64(status));
	WRITE_ONCE(cqe->sop_qpn, gda_be32(sop << 24 | c->qpn));
	/* pairs with the poller's acquire */
	smp_store_release(&cqe->last, gda_be32((u32)c->index << 16 | op << 4 |
					       (u32)c->solicited << 1 | owner));
	cq->producer++;
	return true;
}

/* Store the sender of a received message: zeros unless it is a datagram. */
static void gda_mlx5_store_source(const struct gda_completion *c, struct gda_mlx5_cqe_words *cqe)
{
	u32 source = (u32)c->global << 28 | (u32)c->sl << 24 | c->source;

	WRITE_ONCE(cqe->lid, gda_be64(c->lid));
	WRITE_ONCE(cqe->source, gda_be64((u64)source << 32));
}

/* Write the CQE of an error or of a receive. */
static noinline bool gda_mlx5_finish_other(struct gda_engine_cq *cq, const struct gda_completion *c,
					   struct gda_mlx5_cqe_words *cqe)
{
	u32 op = gda_mlx5_cqe_kinds[c->kind].opcode;
	u32 sop = c->wr_opcode | gda_mlx5_cqe_kinds[c->kind].wr_opcode;
	u64 status = (u64)gda_mlx5_syndrome(c->first) << 24 | (u64)c->first.cause << 16 |
		     (u64)c->status.cause << 8 | gda_mlx5_syndrome(c->status);

	if (op >= GDA_MLX5_CQE_REQ_ERR)
		return gda_mlx5_store(cq, c, cqe, op, sop, c->first_error, status);
	gda_mlx5_store_source(c, cqe);
	return gda_mlx5_store(cq, c, cqe, op, sop, c->byte_cnt, 0);
}

bool gda_mlx5_finish(struct gda_engine_cq *cq, const struct gda_completion *c)
{
	struct gda_mlx5_cqe_words *cqe = cq->entries;

	if (!cq->collapsed) {
		if (unlikely(gda_mlx5_cq_full(cq)))
			return gda_cq_refuse(cq, c);
		cqe += (cq->producer & (cq->depth - 1)) << cq->wide;
	} else {
		cq->reached = c->index + 1;
	}
	if (unlikely(c->kind != GDA_COMPLETION_DONE))
		return gda_mlx5_finish_other(cq, c, cqe);
	return gda_mlx5_store(cq, c, cqe, GDA_MLX5_CQE_REQ, c->wr_opcode, c->byte_cnt, 0);
}

u32 gda_mlx5_arm(const struct gda_engine_cq *cq, u32 word, u64 *read)
{
	*read = cq->producer - (((u32)cq->producer - word) & 0xffffff);
	return word & GDA_MLX5_CQ_ARM_SOLICITED ? GDA_CQ_ARM_SOLICITED : GDA_CQ_ARM;
}

/*
 * The consumer copies its unread entries to the new ring. The move entry written here is counted
 * but not copied, so the ring must not be overfull with it.
 */
bool gda_mlx5_move(struct gda_engine_cq *cq, void *entries, u32 depth)
{
	const struct gda_completion none = { .kind = GDA_COMPLETION_DONE };
	struct gda_mlx5_cqe_words *cqe = cq->entries;
	u32 consumer, unread;

	if (cq->collapsed || !cq->consumer)
		return false;
	consumer = gda_mlx5_cq_consumer(cq);
	unread = gda_mlx5_cq_unread(cq, consumer);
	if (unread >= cq->depth || unread >= depth)
		return false;
	cqe += (cq->producer & (cq->depth - 1)) << cq->wide;
	gda_mlx5_store(cq, &none, cqe, GDA_MLX5_CQE_MOVED, 0, 0, 0);
	cq->moves = gda_mlx5_cq_moved_at(cq, consumer) ? cq->moves + 1 : 1;
	cq->moved_at = consumer;
	cq->moved = cq->producer;
	cq->entries = entries;
	WRITE_ONCE(cq->depth, depth);
	return true;
}
