// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The efa dialect, executor side: how far a send queue is published, what an entry of gda/efa.h
 * requests, and the bytes of completions.
 *
 * There is no doorbell record. The low 16 bits of the doorbell count the entries written. Different
 * threads of a producer may store the entries and the doorbell, so the phase bit of each entry is
 * checked too: an entry with the wrong phase has not been written in this lap.
 *
 * Each word of an entry is read once, into private memory; all checks and uses are of that copy.
 * The local key of an entry lacks the low bits of an MR's key. gda_efa_route() looks up the whole
 * key when the request is carried out, and the protection domain decides whether it may be used.
 *
 * A queue fails on a malformed entry and on anything that a guess could hit: a wrong key, missing
 * rights, a range outside of the MR. If the peer is unknown or gone, only the request fails.
 *
 * CQs are rings without a consumer index: a full one is overwritten.
 */
#include <gda/efa.h>
#include "index.h"
#include "visit.h"

#define GDA_EFA_DATA_WORD	(offsetof(struct gda_efa_wide_wqe, data) / sizeof(u64))

static_assert(sizeof(struct gda_efa_wqe) == GDA_EFA_SLOT_BYTES);
static_assert(sizeof(struct gda_efa_wide_wqe) == GDA_EFA_WIDE_BYTES);
static_assert(sizeof(struct gda_efa_cqe) == GDA_EFA_CQE_BYTES);
static_assert(sizeof(struct gda_efa_recv_cqe) == 2 * GDA_EFA_CQE_BYTES);
static_assert(offsetof(struct gda_efa_meta, ah) == 12);
static_assert(offsetof(struct gda_efa_meta, qkey) == 16);
static_assert(offsetof(struct gda_efa_meta, id_ex) == 26);
static_assert(offsetof(struct gda_efa_recv_cqe, imm) == 12);
static_assert(GDA_EFA_MAX_DEPTH <= GDA_ENGINE_MAX_DEPTH);
static_assert(GDA_EFA_MAX_INLINE <= GDA_ENGINE_MAX_INLINE);
static_assert(GDA_EFA_MAX_MSG <= GDA_ENGINE_MAX_MSG);

/* Bits of an entry's first word (ctrl1 in 23:16, ctrl2 in 31:24) that have only one legal value. */
#define GDA_EFA_FIXED	((u32)(u8)~(GDA_EFA_OP_MASK | GDA_EFA_HAS_IMM | GDA_EFA_INLINE) << 16 |	\
			 (u32)(u8)~GDA_EFA_COMPLETE << 24)
#define GDA_EFA_LEGAL	((u32)GDA_EFA_META << 16 | (u32)(GDA_EFA_FIRST | GDA_EFA_LAST) << 24)

static inline u64 gda_efa_word(u64 raw)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return __builtin_bswap64(raw);
#else
	return raw;
#endif
}

static __always_inline const u64 *gda_efa_slot(const struct gda_engine_qp *q, u32 bytes)
{
	return (const u64 *)q->sq + ((u32)q->ci & (q->depth - 1)) * (bytes / sizeof(u64));
}

static __always_inline void gda_efa_published(const struct gda_engine_qp *q,
					      struct gda_ring_scan *scan)
{
	/* pairs with the producer's release: entries are read after it */
	u64 db = gda_efa_word((__force u64)smp_load_acquire(q->db));

	scan->db = (u32)db & 0xffff;
	scan->rec = 0;
	scan->ahead = (u32)(q->pi - q->ci);
	scan->stray = 0;
	scan->illegal = false;
	if (scan->db != q->seen_db)
		gda_index_judge(q, scan->db, scan);
}

static struct gda_status gda_efa_bad_entry(u8 cause)
{
	return gda_status(GDA_CLASS_QUEUE, cause);
}

static struct gda_status gda_efa_bad_length(void)
{
	return gda_status(GDA_CLASS_LOCAL, GDA_CAUSE_LENGTH);
}

/* The caller has read the first two payload words, @e; this function reads the others. */
static struct gda_status gda_efa_decode_inline(const struct gda_engine_qp *q, const u64 *e,
					       u32 len, struct gda_work *work)
{
	const u64 *slot = gda_efa_slot(q, GDA_EFA_WIDE_BYTES);
	u64 data[GDA_EFA_MAX_INLINE / sizeof(u64)];
	u32 i;

	if (q->dialect->slot_bytes != GDA_EFA_WIDE_BYTES)
		return gda_efa_bad_entry(GDA_CAUSE_SIZE);
	if (len > GDA_EFA_MAX_INLINE || len != work->remote.len)
		return gda_efa_bad_length();
	data[0] = e[0];
	data[1] = e[1];
	for (i = 2; i < GDA_EFA_MAX_INLINE / sizeof(u64) && 8 * i < len; i++)
		data[i] = READ_ONCE(slot[GDA_EFA_DATA_WORD + i]);
	memcpy(work->data, data, len);
	work->nsge = 0;
	work->inlined = true;
	return gda_status(GDA_CLASS_NONE, GDA_CAUSE_NONE);
}

/* @segments must be 1, or 0 for a request without bytes, which names no local memory. */
static struct gda_status gda_efa_decode_local(const u64 *e, u32 segments, struct gda_work *work)
{
	u64 head = gda_efa_word(e[0]);
	u32 lkey = (u32)(head >> 32);

	work->inlined = false;
	work->nsge = segments && work->remote.len;
	if (segments > 1)
		return gda_efa_bad_entry(GDA_CAUSE_SIZE);
	if ((segments ? (u32)head : 0) != work->remote.len)
		return gda_efa_bad_length();
	if (!work->nsge)
		return gda_status(GDA_CLASS_NONE, GDA_CAUSE_NONE);
	if (lkey >> (32 - GDA_EFA_LKEY_SHIFT))
		return gda_efa_bad_entry(GDA_CAUSE_RESERVED);
	work->sge[0].len = (u32)head;
	work->sge[0].key = lkey << GDA_EFA_LKEY_SHIFT;
	work->sge[0].addr = gda_efa_word(e[1]);
	return gda_status(GDA_CLASS_NONE, GDA_CAUSE_NONE);
}

/* Decode operation and flags of the first word @w. Return: success, or why the entry is illegal. */
static struct gda_status gda_efa_decode_op(const struct gda_engine_qp *q, u64 w,
					   struct gda_work *work)
{
	u32 ctrl = (u32)w, phase = !!((u32)q->ci & q->depth);
	u32 wrong = (ctrl ^ (GDA_EFA_LEGAL | phase << 24)) & GDA_EFA_FIXED;

	work->opcode = ctrl >> 16 & GDA_EFA_OP_MASK;
	work->flags = ctrl >> 24 & GDA_EFA_COMPLETE ? GDA_WORK_SIGNALED : 0;
	/* the producer has not written this slot in this lap */
	if (wrong & (GDA_EFA_LEGAL | (u32)GDA_EFA_PHASE << 24))
		return gda_efa_bad_entry(GDA_CAUSE_INDEX);
	if (wrong)
		return gda_efa_bad_entry(GDA_CAUSE_RESERVED);
	if (work->opcode == GDA_EFA_WRITE) {
		work->op = ctrl >> 16 & GDA_EFA_HAS_IMM ? GDA_OP_WRITE_IMM : GDA_OP_WRITE;
		return gda_status(GDA_CLASS_NONE, GDA_CAUSE_NONE);
	}
	work->op = GDA_OP_READ;
	if (work->opcode != GDA_EFA_READ || ctrl >> 16 & (GDA_EFA_HAS_IMM | GDA_EFA_INLINE))
		return gda_efa_bad_entry(GDA_CAUSE_OPCODE);
	return gda_status(GDA_CLASS_NONE, GDA_CAUSE_NONE);
}

/*
 * Decode any entry. @w is its first word; @local and work->sge[0].addr are the last two words of
 * a short entry, undecoded; bits of @other must be 0. @work already has the target and the remote
 * range.
 */
static noinline struct gda_status gda_efa_decode_any(const struct gda_engine_qp *q, u64 w,
						     u64 local, u64 other, struct gda_work *work)
{
	const u64 e[] = { local, work->sge[0].addr };
	struct gda_status st = gda_efa_decode_op(q, w, work);

	work->target.id = (work->target.id & ~0xffffULL) | (w & 0xffff);
	if (st.class)
		return st;
	if (other)
		return gda_efa_bad_entry(GDA_CAUSE_RESERVED);
	if (work->remote.len > GDA_EFA_MAX_MSG)
		return gda_efa_bad_length();
	if (w >> 16 & GDA_EFA_INLINE)
		return gda_efa_decode_inline(q, e, (u32)(w >> 48), work);
	return gda_efa_decode_local(e, (u32)(w >> 48), work);
}

/*
 * Return: whether the entry is a one-segment write or read with completion. The caller has seen
 * that no reserved bit of the other words is set.
 */
static __always_inline bool gda_efa_is_common(const struct gda_engine_qp *q, u64 w, u64 head,
					      u32 len)
{
	const u64 ops = (u64)(GDA_EFA_READ | GDA_EFA_WRITE) << 16;
	u64 phase = (u32)q->ci & q->depth ? GDA_EFA_PHASE : 0;
	u64 want = 1ULL << 48 | (GDA_EFA_COMPLETE | phase) << 24 | GDA_EFA_LEGAL;
	u64 op = w & ops;

	return !((w ^ want) & 0xffff0000ffff0000ULL & ~ops) &&
	       op - ((u64)GDA_EFA_READ << 16) <= (u64)(GDA_EFA_WRITE - GDA_EFA_READ) << 16 &&
	       (u32)head == len && len - 1 < GDA_EFA_MAX_MSG &&
	       !(head >> (64 - GDA_EFA_LKEY_SHIFT));
}

static_assert(GDA_EFA_READ == 1 && GDA_EFA_WRITE == 2);
static_assert(GDA_OP_READ == 3 - GDA_EFA_READ && GDA_OP_WRITE == 3 - GDA_EFA_WRITE);

/* Decode an entry of a queue whose entries have @bytes. */
static __always_inline struct gda_status gda_efa_decode_as(const struct gda_engine_qp *q,
							    struct gda_work *work, u32 bytes)
{
	const u64 *slot = gda_efa_slot(q, bytes);
	u64 w = gda_efa_word(READ_ONCE(slot[0]));
	u64 word = gda_efa_word(READ_ONCE(slot[1]));
	u64 other = word >> 50;
	u64 local, head;

	work->imm = (u32)word;
	work->target.handle = (u16)(word >> 32);
	word = gda_efa_word(READ_ONCE(slot[2]));
	other |= word >> 32;
	work->target.number = (u16)(w >> 32);
	work->target.key = (u32)word;
	word = gda_efa_word(READ_ONCE(slot[3]));
	other |= word & 0xffff;
	work->target.id = word | (w & 0xffff);
	word = gda_efa_word(READ_ONCE(slot[4]));
	work->remote.len = (u32)word;
	work->remote.key = (u32)(word >> 32);
	work->remote.addr = gda_efa_word(READ_ONCE(slot[5]));
	local = READ_ONCE(slot[6]);
	work->sge[0].addr = READ_ONCE(slot[7]);
	head = gda_efa_word(local);
	work->slots = 1;
	if (unlikely(other || !gda_efa_is_common(q, w, head, (u32)word)))
		return gda_efa_decode_any(q, w, local, other, work);
	w = w >> 16 & GDA_EFA_OP_MASK;
	work->op = (u8)(3 - w);
	work->nsge = 1;
	work->inlined = false;
	work->opcode = (u8)w;
	work->flags = GDA_WORK_SIGNALED;
	work->sge[0].len = (u32)head;
	work->sge[0].key = (u32)(head >> 32) << GDA_EFA_LKEY_SHIFT;
	work->sge[0].addr = gda_efa_word(work->sge[0].addr);
	return gda_status(GDA_CLASS_NONE, GDA_CAUSE_NONE);
}

static __always_inline struct gda_status gda_efa_decode(const struct gda_engine_qp *q, u32 avail,
							struct gda_work *work)
{
	(void)avail;
	return gda_efa_decode_as(q, work, GDA_EFA_SLOT_BYTES);
}

static struct gda_status gda_efa_wide_decode(const struct gda_engine_qp *q, u32 avail,
					     struct gda_work *work)
{
	(void)avail;
	return gda_efa_decode_as(q, work, GDA_EFA_WIDE_BYTES);
}

/* Complete a local key, which has only the high bits, if the domain has an MR of that number. */
static void gda_efa_complete_key(struct gda_engine_qp *q, struct gda_sge *sge)
{
	const struct gda_mem *mem = gda_host_mem(q, sge->key);

	if (likely(mem && mem->pd == q->pd))
		sge->key = mem->key;
}

/* Called when a request begins or resumes: a request in flight keeps keys, not pointers to MRs. */
static struct gda_status gda_efa_route(struct gda_engine_qp *q, struct gda_engine_qp **peer)
{
	if (likely(q->work.nsge))
		gda_efa_complete_key(q, &q->work.sge[0]);
	return gda_host_target(q, peer);
}

static void gda_efa_preset(struct gda_engine_cq *cq)
{
	memset(cq->entries, 0, (size_t)cq->depth * GDA_EFA_CQE_BYTES << cq->wide);
}

static u8 gda_efa_status(struct gda_status st)
{
	static const u8 of[] = {
		[GDA_CLASS_NONE] = GDA_EFA_OK,
		[GDA_CLASS_LOCAL] = GDA_EFA_BAD_LKEY,
		[GDA_CLASS_QUEUE] = GDA_EFA_QP_INTERNAL,
		[GDA_CLASS_REMOTE_ACCESS] = GDA_EFA_BAD_ADDRESS,
		[GDA_CLASS_REMOTE_OP] = GDA_EFA_ABORT,
		[GDA_CLASS_INVALID_REQUEST] = GDA_EFA_FEATURE_MISMATCH,
		[GDA_CLASS_RETRY] = GDA_EFA_UNRESPONSIVE,
		[GDA_CLASS_RNR] = GDA_EFA_NOT_READY,
		[GDA_CLASS_FLUSH] = GDA_EFA_FLUSHED,
	};
	static const u8 of_peer[] = {
		[GDA_CLASS_LOCAL] = GDA_EFA_BAD_AH,
		[GDA_CLASS_REMOTE_OP] = GDA_EFA_UNKNOWN_PEER,
		[GDA_CLASS_INVALID_REQUEST] = GDA_EFA_BAD_DEST_QP,
		[GDA_CLASS_RETRY] = GDA_EFA_UNRESPONSIVE,
	};

	if (st.cause == GDA_CAUSE_PEER && st.class < sizeof(of_peer) && of_peer[st.class])
		return of_peer[st.class];
	if (st.class == GDA_CLASS_QUEUE && st.cause == GDA_CAUSE_OPCODE)
		return GDA_EFA_BAD_OP;
	if (st.class == GDA_CLASS_LOCAL && st.cause == GDA_CAUSE_LENGTH)
		return GDA_EFA_BAD_LENGTH;
	return of[st.class];
}

/* Store and count an entry. @low is its first word without phase and QP number. */
static __always_inline void gda_efa_store(struct gda_engine_cq *cq, u64 *entry, u32 qpn, u64 low,
					  u64 high)
{
	u64 phase = (u32)cq->producer & cq->depth ? 0 : 1U << 24;

	WRITE_ONCE(entry[1], gda_efa_word(high));
	/* pairs with the poller's acquire */
	smp_store_release(&entry[0], gda_efa_word(low | phase | (u64)(u16)qpn << 32));
	cq->producer++;
}

/* Write the completion of a request. @status is the dialect's. */
static __always_inline void gda_efa_finish_sent(struct gda_engine_cq *cq,
						const struct gda_completion *c, u64 *entry,
						u64 status)
{
	u64 low = (u16)c->id | status << 16 | GDA_EFA_CQE_SENT << 24 | c->id >> 16 << 48;

	/* the opcode has three bits: others fail before anything is executed */
	low |= (u64)(c->wr_opcode & 7) << (24 + GDA_EFA_CQE_OP_SHIFT);
	gda_efa_store(cq, entry, c->qpn, low, c->id >> 32);
}

/* Write the completion of a request that failed, or the receive completion of a peer's write. */
static noinline bool gda_efa_finish_rare(struct gda_engine_cq *cq, const struct gda_completion *c,
					 u64 *entry)
{
	u64 flags = GDA_EFA_CQE_RECEIVED | GDA_EFA_CQE_HAS_IMM | GDA_EFA_CQE_UNSOLICITED |
		    GDA_EFA_WRITE << GDA_EFA_CQE_OP_SHIFT;

	if (c->kind != GDA_COMPLETION_IMM) {
		gda_efa_finish_sent(cq, c, entry, gda_efa_status(c->status));
		return true;
	}
	if (cq->wide)
		WRITE_ONCE(entry[2], gda_efa_word(c->byte_cnt >> 16));
	gda_efa_store(cq, entry, c->qpn, flags << 24 | (u64)c->byte_cnt << 48,
		      (u64)c->lid | (u64)(c->source & 0xffff) << 16 | c->uidx_imm << 32);
	return true;
}

static bool gda_efa_finish(struct gda_engine_cq *cq, const struct gda_completion *c)
{
	u64 *entry = (u64 *)cq->entries + (((u32)cq->producer & (cq->depth - 1)) << (1 + cq->wide));

	if (unlikely(c->kind != GDA_COMPLETION_DONE))
		return gda_efa_finish_rare(cq, c, entry);
	gda_efa_finish_sent(cq, c, entry, GDA_EFA_OK);
	return true;
}

/* An error of the peer (unknown, lost, no room) fails only the request, not the queue. */
static bool gda_efa_fatal(struct gda_status st)
{
	return st.cause != GDA_CAUSE_PEER && st.class != GDA_CLASS_RNR;
}

static const struct gda_dialect_ops gda_dialect_efa_wide;

static u32 gda_efa_visit(struct gda_engine_qp *q, u32 wqes, u32 bytes)
{
	return gda_engine_serve(q, wqes, bytes, &gda_dialect_efa);
}

static u32 gda_efa_wide_visit(struct gda_engine_qp *q, u32 wqes, u32 bytes)
{
	return gda_engine_serve(q, wqes, bytes, &gda_dialect_efa_wide);
}

#define GDA_EFA_OPS			\
	.id = GDA_DIALECT_EFA,		\
	.feature = GDA_FEATURE_DIALECT_EFA,	\
	.cqe_wide = true,		\
	.cqe_bytes = GDA_EFA_CQE_BYTES,	\
	.unordered = true,		\
	.named = true,			\
	.published = gda_efa_published,	\
	.route = gda_efa_route,		\
	.preset = gda_efa_preset,	\
	.finish = gda_efa_finish,	\
	.syndrome = gda_efa_status,	\
	.fatal = gda_efa_fatal

/* The table for queues with 128-byte entries, which can hold inline payload. */
static const struct gda_dialect_ops gda_dialect_efa_wide = {
	GDA_EFA_OPS,
	.slot_bytes = GDA_EFA_WIDE_BYTES,
	.decode = gda_efa_wide_decode,
	.max_depth = GDA_EFA_MAX_DEPTH / 2,
	.visit = gda_efa_wide_visit,
};

const struct gda_dialect_ops gda_dialect_efa = {
	GDA_EFA_OPS,
	.slot_bytes = GDA_EFA_SLOT_BYTES,
	.decode = gda_efa_decode,
	.max_depth = GDA_EFA_MAX_DEPTH,
	.wide = &gda_dialect_efa_wide,
	.visit = gda_efa_visit,
};
