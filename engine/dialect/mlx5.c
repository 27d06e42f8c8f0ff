// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The mlx5 dialect, executor side: how far a send queue is published, and what an entry (WQE) of
 * gda/mlx5.h requests, in a send queue or a receive queue. mlx5_cq.c has the entries of CQs.
 *
 * Published range. User space and devices write the doorbell cell and the doorbell record at
 * any time. Both carry a 16-bit next index, and each is read once per scan. An index that has not
 * changed since the last scan is ignored, so a producer may use only one of the two. index.h says
 * which values a changed index may have.
 *
 * Producers store the record, then the doorbell. The record is read first, so that neither value is
 * found behind what the other has shown. Producers that ring the doorbell before and after the
 * record (DOCA) can leave the record behind by what one ring covers, up to depth, so an index that
 * far behind is always stale. At 2^15 slots every index is then legal, and only the index inside
 * each entry detects an error.
 *
 * A doorbell also carries the number of its queue. A doorbell with another number was stored here
 * by mistake, as happens with BlueFlame's second buffer: if it names a QP of the same context, that
 * QP fails, and this queue ignores the store.
 *
 * WQE. gda_mlx5_fetch() reads an entry one segment at a time, each at most once, into private
 * memory; all checks and uses are of that copy. If a producer rewrites an entry meanwhile, the
 * engine executes one of the versions, checked, or reports an error. The engine ignores signature,
 * dci, an immediate that the opcode does not carry, reserved words, and all of a NOP behind its
 * control segment. The engine executes in order and needs no fence.
 */
#include "index.h"
#include "mlx5_wqe.h"

/* Opcode and operand size of a masked atomic, as gda_mlx5_decode() compares them. */
#define GDA_MLX5_MASKED(bytes, op) \
	((u32)GDA_MLX5_OPMOD_##bytes##BYTE << 24 | (u32)GDA_MLX5_MASKED_##op)

static_assert(GDA_MLX5_CE_ALWAYS == GDA_WORK_SIGNALED);
static_assert(GDA_MLX5_SE == GDA_WORK_SOLICITED);
static_assert(GDA_MLX5_FM_MASK == GDA_WORK_FENCE);
static_assert(GDA_ENGINE_MAX_INLINE == (GDA_MLX5_MAX_DS - 2) * GDA_MLX5_SEG_BYTES - 4);
static_assert(GDA_MLX5_MAX_SLOTS * GDA_MLX5_SEGS_PER_SLOT >= GDA_MLX5_MAX_DS);

static u32 gda_mlx5_read_rec(const struct gda_engine_qp *q)
{
	/* pairs with the producer's release: the doorbell and entries are read after it */
	return gda_be32_to_cpu(smp_load_acquire(&q->dbrec[1])) & 0xffff;
}

static u64 gda_mlx5_read_db(const struct gda_engine_qp *q)
{
	/* pairs with the producer's release: the entries are read after it */
	return gda_be64_to_cpu(smp_load_acquire(q->db));
}

/* Bits 8..23 of the first four bytes of a doorbell; producers may set bits above them. */
static u32 gda_mlx5_db_index(u64 db)
{
	return (u32)(db >> 40) & 0xffff;
}

/*
 * Judge a doorbell whose index is new and differs from the record's. A doorbell that has another
 * queue's number and the same new index as the record does not get here, as the number is then
 * not checked: this queue continues with what its own producer published, and the other queue
 * does not fail.
 */
static void gda_mlx5_judge_db(const struct gda_engine_qp *q, u64 db, struct gda_ring_scan *scan)
{
	if (unlikely((u32)db >> 8 != q->qpn)) {
		if (db && db == q->stray) {
			scan->db = q->seen_db;
			return;
		}
		scan->stray = db;
	}
	gda_index_judge(q, scan->db, scan);
}

/*
 * Slow path: the indices differ, or one is new. A return by value keeps the caller's in
 * registers.
 */
static noinline struct gda_ring_scan gda_mlx5_published_apart(const struct gda_engine_qp *q,
							      u32 rec, u64 db)
{
	struct gda_ring_scan scan = {
		.rec = rec,
		.db = gda_mlx5_db_index(db),
		.ahead = (u32)(q->pi - q->ci),
	};

	if (scan.rec != q->seen_dbrec)
		gda_index_judge(q, scan.rec, &scan);
	if (scan.db != q->seen_db)
		gda_mlx5_judge_db(q, db, &scan);
	return scan;
}

static __always_inline void gda_mlx5_published(const struct gda_engine_qp *q,
					       struct gda_ring_scan *scan)
{
	u64 db;

	scan->rec = gda_mlx5_read_rec(q);
	db = gda_mlx5_read_db(q);
	scan->db = gda_mlx5_db_index(db);
	scan->ahead = (u32)(q->pi - q->ci);
	scan->stray = 0;
	scan->illegal = false;
	/* most producers store the same index to both, so judge it once */
	if (likely(scan->rec != q->seen_dbrec && scan->rec == scan->db))
		gda_index_judge(q, scan->rec, scan);
	else if (unlikely(scan->rec != q->seen_dbrec || scan->db != q->seen_db))
		*scan = gda_mlx5_published_apart(q, scan->rec, db);
}

static noinline struct gda_status gda_mlx5_decode_inline(const struct gda_engine_qp *q, u32 ds,
							 struct gda_mlx5_seg seg,
							 struct gda_work *work)
{
	return gda_mlx5_copy_inline(q, 2, ds, seg, work);
}

static __always_inline void gda_mlx5_decode_remote(const u64 *slot, struct gda_work *work)
{
	struct gda_mlx5_seg seg = gda_mlx5_fetch(slot, 1);

	work->remote.addr = gda_mlx5_word(&seg, 0);
	work->remote.key = (u32)(gda_mlx5_word(&seg, 1) >> 32);
}

/* Decode RDMA_WRITE and RDMA_READ: no local part, data segments, or (WRITE only) inline data. */
static __always_inline struct gda_status
gda_mlx5_decode_rdma(const struct gda_engine_qp *q, const u64 *slot, u32 ds, u8 op,
		     struct gda_work *work)
{
	struct gda_mlx5_seg seg;

	gda_mlx5_set_shape(work, op, 1);
	if (unlikely(ds < 2 || ds > GDA_MLX5_MAX_DS))
		return gda_mlx5_bad_ds();
	gda_mlx5_decode_remote(slot, work);
	if (unlikely(ds == 2)) {
		gda_mlx5_set_shape(work, op, 0);
		work->remote.len = 0;
		return gda_status(GDA_CLASS_NONE, 0);
	}
	seg = gda_mlx5_fetch(slot, 2);
	if (unlikely(!gda_mlx5_decode_data(&seg, &work->sge[0]))) {
		if (op != GDA_OP_READ && (work->sge[0].len & GDA_MLX5_INLINE))
			return gda_mlx5_decode_inline(q, ds, seg, work);
		return gda_mlx5_bad_length();
	}
	work->remote.len = work->sge[0].len;
	if (likely(ds == 3))
		return gda_status(GDA_CLASS_NONE, 0);
	return gda_mlx5_decode_list(q, 3, ds, work);
}

/* Decode RDMA_WRITE_IMM. */
static noinline struct gda_status
gda_mlx5_decode_write_imm(const struct gda_engine_qp *q, const u64 *slot, u32 ds, u32 imm,
			  struct gda_work *work)
{
	work->imm = imm;
	gda_mlx5_solicit(work);
	return gda_mlx5_decode_rdma(q, slot, ds, GDA_OP_WRITE_IMM, work);
}

/* Decode SEND and SEND_IMM: data segments, inline data or neither, behind the control segment. */
static noinline struct gda_status
gda_mlx5_decode_send(const struct gda_engine_qp *q, const u64 *slot, u32 ds, u8 op,
		     struct gda_work *work)
{
	struct gda_mlx5_seg seg;

	if (!q->sends)
		return gda_status(GDA_CLASS_QUEUE, GDA_CAUSE_OPCODE);
	gda_mlx5_set_shape(work, op, ds > 1);
	memset(&work->remote, 0, sizeof(work->remote));
	gda_mlx5_solicit(work);
	if (unlikely(ds > GDA_MLX5_MAX_DS))
		return gda_mlx5_bad_ds();
	if (ds == 1)
		return gda_status(GDA_CLASS_NONE, 0);
	seg = gda_mlx5_fetch(slot, 1);
	if (unlikely(!gda_mlx5_decode_data(&seg, &work->sge[0])))
		return work->sge[0].len & GDA_MLX5_INLINE ?
		       gda_mlx5_copy_inline(q, 1, ds, seg, work) : gda_mlx5_bad_length();
	work->remote.len = work->sge[0].len;
	return gda_mlx5_decode_list(q, 2, ds, work);
}

/* Decode the remote address segment of an atomic. Return: whether @ds fits the operation. */
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

/* Decode the data segment of an atomic, which receives the old value. */
static struct gda_status gda_mlx5_decode_result(const u64 *slot, u32 n,
						struct gda_work *work)
{
	struct gda_mlx5_seg seg = gda_mlx5_fetch(slot, n);

	if (unlikely(!gda_mlx5_decode_data(&seg, &work->sge[0]) ||
		     work->sge[0].len != work->remote.len))
		return gda_mlx5_bad_length();
	return gda_status(GDA_CLASS_NONE, 0);
}

/* Decode ATOMIC_FA, ATOMIC_CS and the 8-byte MASKED_FA, whose boundary is in "compare". */
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

/* Decode the 4-byte MASKED_FA and MASKED_CS: four words; MASKED_FA ignores the last two. */
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
	/* ConnectX stores a 4-byte old value in big endian and an 8-byte one in host order */
	work->flags |= GDA_WORK_BIG_ENDIAN;
	return gda_mlx5_decode_result(slot, 3, work);
}

/* Decode the 8-byte MASKED_CS: operands, masks, and the result in a second slot. */
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

/* Decode DUMP: one data segment behind the control segment, no remote address. */
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
	return gda_status(GDA_CLASS_NONE, 0);
}

/* Decode WAIT: the number of a CQ and the index of an entry, behind 8 reserved bytes. */
static noinline struct gda_status gda_mlx5_decode_wait(const u64 *slot, u32 ds,
						       struct gda_work *work)
{
	struct gda_mlx5_seg seg;

	gda_mlx5_set_shape(work, GDA_OP_WAIT, 0);
	work->remote.len = 0;
	work->remote.addr = 0;
	if (unlikely(ds != 2))
		return gda_mlx5_bad_ds();
	seg = gda_mlx5_fetch(slot, 1);
	work->imm = gda_mlx5_half(&seg, 2);
	work->remote.key = gda_mlx5_half(&seg, 3);
	return gda_status(GDA_CLASS_NONE, 0);
}

static struct gda_status gda_mlx5_decode(const struct gda_engine_qp *q, u32 avail,
					 struct gda_work *work)
{
	const u64 *slot = gda_mlx5_slot(q, 0);
	struct gda_mlx5_seg ctrl = gda_mlx5_fetch(slot, 0);
	u32 opcode = gda_mlx5_opcode(&ctrl);
	u32 ds = gda_mlx5_ds(&ctrl);
	struct gda_status st = gda_mlx5_decode_ctrl(q, &ctrl, avail, work);

	if (unlikely(st.class))
		return st;
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
	case GDA_MLX5_WAIT:
		return gda_mlx5_decode_wait(slot, ds, work);
	case GDA_MLX5_SEND:
		work->imm = 0;
		return gda_mlx5_decode_send(q, slot, ds, GDA_OP_SEND, work);
	case GDA_MLX5_SEND_IMM:
		work->imm = gda_mlx5_half(&ctrl, 3);
		return gda_mlx5_decode_send(q, slot, ds, GDA_OP_SEND_IMM, work);
	default:
		return gda_status(GDA_CLASS_QUEUE, GDA_CAUSE_OPCODE);
	}
}

static u32 gda_mlx5_posted(const struct gda_engine_rq *rq)
{
	/* pairs with the owner's release: the entries are read after it */
	u32 posted = gda_be32_to_cpu(smp_load_acquire(rq->record));

	return (posted - READ_ONCE(rq->taken)) & 0xffff;
}

/* Decode one segment of a receive's list. Return: false if the list ends before it. */
static bool gda_mlx5_recv_data(const struct gda_mlx5_seg *seg, struct gda_recv *out)
{
	struct gda_sge *sge = &out->sge[out->nsge];

	if (gda_mlx5_decode_data(seg, sge)) {
		out->nsge++;
		out->len += sge->len;
		return true;
	}
	if (sge->key == GDA_MLX5_INVALID_LKEY)
		return false;
	if (sge->len)
		out->st = gda_mlx5_bad_length();
	return !sge->len;
}

static void gda_mlx5_recv(const struct gda_engine_rq *rq, u32 at, struct gda_recv *out)
{
	const u64 *entry = (const u64 *)rq->entries + ((size_t)at << rq->shift) / sizeof(u64);
	u32 n = rq->linked, segs = (1U << rq->shift) / GDA_MLX5_SEG_BYTES;
	struct gda_mlx5_seg seg;

	out->next = 0;
	out->nsge = 0;
	out->len = 0;
	out->st = gda_status(GDA_CLASS_NONE, GDA_CAUSE_NONE);
	if (rq->linked) {
		seg = gda_mlx5_fetch(entry, 0);
		out->next = gda_mlx5_half(&seg, 0) & 0xffff;
	}
	for (; n < segs; n++) {
		seg = gda_mlx5_fetch(entry, n);
		if (!gda_mlx5_recv_data(&seg, out))
			break;
	}
}

void gda_mlx5_scan(const struct gda_engine_qp *q, struct gda_ring_scan *scan)
{
	gda_mlx5_published(q, scan);
}

void gda_mlx5_record(const struct gda_engine_qp *q, __be32 *rec)
{
	rec[1] = gda_be32(q->seen_dbrec);
}

bool gda_mlx5_fatal(struct gda_status st)
{
	(void)st;
	return true;
}

static u32 gda_mlx5_visit(struct gda_engine_qp *q, u32 wqes, u32 bytes)
{
	return gda_engine_serve(q, wqes, bytes, &gda_dialect_mlx5);
}

static_assert(GDA_MLX5_MAX_DEPTH <= GDA_ENGINE_MAX_DEPTH);
static_assert(GDA_MLX5_MAX_DEPTH * GDA_MLX5_SLOT_BYTES <= GDA_ENGINE_MAX_SQ_BYTES);

const struct gda_dialect_ops gda_dialect_mlx5 = {
	.id = GDA_DIALECT_MLX5,
	.feature = GDA_FEATURE_DIALECT_MLX5,
	.slot_bytes = GDA_MLX5_SLOT_BYTES,
	.max_depth = GDA_MLX5_MAX_DEPTH,
	.max_user_index = GDA_MLX5_MAX_USER_INDEX,
	.cqe_at = GDA_MLX5_CQE_BYTES,
	.cqe_bytes = GDA_MLX5_CQE_BYTES,
	.cqe_last = offsetof(struct gda_mlx5_cqe, wqe_counter),
	.uc = &gda_mlx5_uc,
	.ud = &gda_mlx5_ud,
	.published = gda_mlx5_published,
	.record = gda_mlx5_record,
	.decode = gda_mlx5_decode,
	.posted = gda_mlx5_posted,
	.recv = gda_mlx5_recv,
	.preset = gda_mlx5_preset,
	.finish = gda_mlx5_finish,
	.arm = gda_mlx5_arm,
	.move = gda_mlx5_move,
	.syndrome = gda_mlx5_syndrome,
	.fatal = gda_mlx5_fatal,
	.visit = gda_mlx5_visit,
};
