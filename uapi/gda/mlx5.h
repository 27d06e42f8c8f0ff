/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/**
 * DOC: The mlx5 dialect
 *
 * Bytes of a send queue, doorbell and completion queue entry as ConnectX NICs
 * define them (rdma-core mlx5dv.h). Everything wider than a byte is big-endian. A
 * slot (WQEBB) is 64 bytes, a segment 16 bytes; a work request (WQE) is a control
 * segment followed by others, "ds" segments in all, and fills whole slots.
 *
 * In strict C90 this header has types only. Where the compiler has inline (C99), it has the
 * encoders, too: each fills one 16-byte segment from values in host order and never reads it.
 */
#ifndef _UAPI_GDA_MLX5_H
#define _UAPI_GDA_MLX5_H

#include <linux/types.h>

/**
 * DOC: Sizes
 *
 * %GDA_MLX5_SLOT_BYTES
 *	A slot of the send queue, and an entry of a CQ.
 * %GDA_MLX5_SEG_BYTES
 *	A segment.
 * %GDA_MLX5_MAX_DEPTH
 *	Most slots of a queue: half of the 16-bit index space.
 * %GDA_MLX5_MAX_USER_INDEX
 *	Largest user index of a queue: 24 bits.
 */
#define GDA_MLX5_SLOT_BYTES	64
#define GDA_MLX5_SEG_BYTES	16
#define GDA_MLX5_MAX_DEPTH	32768
#define GDA_MLX5_MAX_USER_INDEX	0xffffff

/**
 * enum gda_mlx5_opcode - gda_mlx5_ctrl.opmod_idx_opcode, low byte
 * @GDA_MLX5_NOP: moves nothing, completes; of any number of segments
 * @GDA_MLX5_WRITE: local to remote memory. If this or one of the next two moves no bytes, the
 *	remote key is not checked
 * @GDA_MLX5_WRITE_IMM: the same, and a completion with the immediate at the target
 * @GDA_MLX5_READ: remote to local memory
 * @GDA_MLX5_ATOMIC_CS: compare and swap of 8 bytes, old value to local memory
 * @GDA_MLX5_ATOMIC_FA: fetch and add of 8 bytes, old value to local memory
 * @GDA_MLX5_MASKED_CS: compare and swap under masks, 4 or 8 bytes
 * @GDA_MLX5_MASKED_FA: fetch and add in bit fields, 4 or 8 bytes
 * @GDA_MLX5_SEND: local memory to the memory of a receive of the peer (struct gda_mlx5_srq_next).
 *	Where the device has no receive queues, this and the next one are unknown opcodes
 * @GDA_MLX5_SEND_IMM: the same, and an immediate in the completion at the target
 * @GDA_MLX5_WAIT: nothing behind it is begun before a CQ of the same context has an entry
 *	(struct gda_mlx5_wait)
 * @GDA_MLX5_DUMP: reads local memory and moves it nowhere
 */
enum gda_mlx5_opcode {
	GDA_MLX5_NOP		= 0x00,
	GDA_MLX5_WRITE		= 0x08,
	GDA_MLX5_WRITE_IMM	= 0x09,
	GDA_MLX5_SEND		= 0x0a,
	GDA_MLX5_SEND_IMM	= 0x0b,
	GDA_MLX5_WAIT		= 0x0f,
	GDA_MLX5_READ		= 0x10,
	GDA_MLX5_ATOMIC_CS	= 0x11,
	GDA_MLX5_ATOMIC_FA	= 0x12,
	GDA_MLX5_MASKED_CS	= 0x14,
	GDA_MLX5_MASKED_FA	= 0x15,
	GDA_MLX5_DUMP		= 0x23,
};

/**
 * DOC: Operand size
 *
 * gda_mlx5_ctrl.opmod_idx_opcode, high byte: operand size of masked atomics,
 * %GDA_MLX5_OPMOD_4BYTE or %GDA_MLX5_OPMOD_8BYTE.
 */
#define GDA_MLX5_OPMOD_4BYTE	0x08
#define GDA_MLX5_OPMOD_8BYTE	0x09

/**
 * DOC: Fence, completion and event bits
 *
 * gda_mlx5_ctrl.fm_ce_se:
 *
 * %GDA_MLX5_CE_MASK
 *	Bits 3:2, when a completion queue entry is written.
 * %GDA_MLX5_CE_ERROR
 *	On error only.
 * %GDA_MLX5_CE_FIRST_ERROR
 *	On error only.
 * %GDA_MLX5_CE_ALWAYS
 *	Always; also known as CQ_UPDATE.
 * %GDA_MLX5_CE_EQE
 *	Always, and an event.
 * %GDA_MLX5_SE
 *	Bit 1, solicited event: at the peer for WRITE_IMM, SEND and SEND_IMM, as in verbs;
 *	with any other opcode at the poster's own completion.
 * %GDA_MLX5_FM_MASK
 *	Bits 7:5, fence.
 * %GDA_MLX5_FM_FENCE
 *	Not before earlier reads and atomics are done, as %IBV_SEND_FENCE in verbs.
 */
#define GDA_MLX5_CE_MASK	0x0c
#define GDA_MLX5_CE_ERROR	0x00
#define GDA_MLX5_CE_FIRST_ERROR	0x04
#define GDA_MLX5_CE_ALWAYS	0x08
#define GDA_MLX5_CE_EQE		0x0c
#define GDA_MLX5_SE		0x02
#define GDA_MLX5_FM_MASK	0xe0
#define GDA_MLX5_FM_FENCE	0x80

/**
 * DOC: Arming a CQ
 *
 * A CQ of a client (verbs on gda_rdma) is armed by the second word of its record: the consumer
 * index in 24 bits, and %GDA_MLX5_CQ_ARM_SOLICITED for solicited completions and errors alone. A
 * word arms once, if it differs from the word before.
 */
#define GDA_MLX5_CQ_ARM_SOLICITED	(1U << 24)

/**
 * DOC: Doorbell and BlueFlame
 *
 * The doorbell of a queue is one cell of 64 bytes, of which the first 8 are read:
 * gda_mlx5_doorbell(). A producer stores these 8 bytes, or, with BlueFlame, a whole WQE, which
 * begins with its control segment; what follows the 8 bytes is not looked at.
 *
 * On hardware BlueFlame has two buffers, and rdma-core goes from one to the other with each
 * doorbell (bf->offset ^= bf->buf_size). Here there is no second buffer: in its place lies a cell
 * of no queue, or that of another queue of the same context. A doorbell in a cell of no queue is
 * not seen (a new doorbell record still is, when the queue is looked at). For a doorbell in another
 * queue's cell, the QP that the doorbell names fails with %GDA_MLX5_VENDOR_DOORBELL, and the other
 * queue goes on; but if the index is the new one of the other queue's record, the doorbell counts
 * as that queue's own. Tell such a producer that the size of the buffer is 0 (mlx5dv_qp.bf.size):
 * it then rings by 8 bytes, always in the same place.
 */

/**
 * define GDA_MLX5_INLINE - bit of a segment's byte_count, the payload follows
 */
#define GDA_MLX5_INLINE		0x80000000U

/**
 * enum gda_mlx5_cqe_opcode - gda_mlx5_cqe.op_own, bits 7:4
 * @GDA_MLX5_CQE_REQ: requester: work of this queue is done
 * @GDA_MLX5_CQE_RESP_IMM: responder: an RDMA write with immediate arrived
 * @GDA_MLX5_CQE_RESP_SEND: responder: a receive took a send
 * @GDA_MLX5_CQE_RESP_SEND_IMM: responder: a receive took a send with immediate
 * @GDA_MLX5_CQE_REQ_ERR: requester: work of this queue failed
 * @GDA_MLX5_CQE_RESP_ERR: responder: a receive failed
 * @GDA_MLX5_CQE_INVALID: nothing was written here yet
 *
 * The other bits: 3:2 format, 1 solicited, 0 owner.
 */
enum gda_mlx5_cqe_opcode {
	GDA_MLX5_CQE_REQ	= 0,
	GDA_MLX5_CQE_RESP_IMM	= 1,
	GDA_MLX5_CQE_RESP_SEND	= 2,
	GDA_MLX5_CQE_RESP_SEND_IMM = 3,
	GDA_MLX5_CQE_REQ_ERR	= 13,
	GDA_MLX5_CQE_RESP_ERR	= 14,
	GDA_MLX5_CQE_INVALID	= 15,
};

/**
 * enum gda_mlx5_syndrome - gda_mlx5_err_cqe.syndrome: what went wrong
 * @GDA_MLX5_SYND_NONE: nothing
 * @GDA_MLX5_SYND_LOCAL_LENGTH: a length the opcode does not allow
 * @GDA_MLX5_SYND_LOCAL_QP_OP: the entry or the doorbell is malformed
 * @GDA_MLX5_SYND_LOCAL_PROT: a local key, right or range
 * @GDA_MLX5_SYND_WR_FLUSH: not carried out, because an earlier request failed
 * @GDA_MLX5_SYND_BAD_RESP: the response is malformed
 * @GDA_MLX5_SYND_LOCAL_ACCESS: local access failed
 * @GDA_MLX5_SYND_REMOTE_INVAL_REQ: the responder finds the request invalid
 * @GDA_MLX5_SYND_REMOTE_ACCESS: a remote key, right or range
 * @GDA_MLX5_SYND_REMOTE_OP: the responder could not carry it out
 * @GDA_MLX5_SYND_RETRY_EXC: the peer is gone
 * @GDA_MLX5_SYND_RNR_EXC: the peer was not ready, even at the last try
 * @GDA_MLX5_SYND_REMOTE_ABORTED: the responder aborted
 */
enum gda_mlx5_syndrome {
	GDA_MLX5_SYND_NONE		= 0x00,
	GDA_MLX5_SYND_LOCAL_LENGTH	= 0x01,
	GDA_MLX5_SYND_LOCAL_QP_OP	= 0x02,
	GDA_MLX5_SYND_LOCAL_PROT	= 0x04,
	GDA_MLX5_SYND_WR_FLUSH		= 0x05,
	GDA_MLX5_SYND_BAD_RESP		= 0x10,
	GDA_MLX5_SYND_LOCAL_ACCESS	= 0x11,
	GDA_MLX5_SYND_REMOTE_INVAL_REQ	= 0x12,
	GDA_MLX5_SYND_REMOTE_ACCESS	= 0x13,
	GDA_MLX5_SYND_REMOTE_OP		= 0x14,
	GDA_MLX5_SYND_RETRY_EXC		= 0x15,
	GDA_MLX5_SYND_RNR_EXC		= 0x16,
	GDA_MLX5_SYND_REMOTE_ABORTED	= 0x22,
};

/**
 * enum gda_mlx5_vendor - err_cqe.vendor_err_synd as GDA's executors set it: enum gda_cause
 * @GDA_MLX5_VENDOR_NONE: no further detail
 * @GDA_MLX5_VENDOR_DOORBELL: a doorbell index that no legal producer writes
 * @GDA_MLX5_VENDOR_INDEX: the WQE's index or QP number is not this slot's
 * @GDA_MLX5_VENDOR_OPCODE: unknown opcode or operand size
 * @GDA_MLX5_VENDOR_DS: segment count impossible for the opcode
 * @GDA_MLX5_VENDOR_LENGTH: length impossible for the opcode
 * @GDA_MLX5_VENDOR_ALIGN: atomic operand is not naturally aligned
 * @GDA_MLX5_VENDOR_KEY: no such key in the protection domain
 * @GDA_MLX5_VENDOR_REVOKED: the key's memory was revoked
 * @GDA_MLX5_VENDOR_RIGHTS: the MR does not grant the right
 * @GDA_MLX5_VENDOR_RANGE: outside the MR
 * @GDA_MLX5_VENDOR_IO: memory that the executor cannot reach this way: it has no CPU
 *	window, or is an I/O window and the opcode an atomic one
 * @GDA_MLX5_VENDOR_PEER: the peer QP is gone or in error
 * @GDA_MLX5_VENDOR_CQ: the CQ overflowed or is in error
 * @GDA_MLX5_VENDOR_QUEUE: the queue's own memory was revoked
 * @GDA_MLX5_VENDOR_RECV: the peer has no CQ for immediates, or no room in it; or no receive queue,
 *	or no receive posted there
 * @GDA_MLX5_VENDOR_DEVICE: the device was taken away
 * @GDA_MLX5_VENDOR_FORK: only in a child of fork(2), by libgda: the queue is its parent's
 * @GDA_MLX5_VENDOR_FABRIC: an RDMA fabric, or its device, reports that work failed, but not why
 */
enum gda_mlx5_vendor {
	GDA_MLX5_VENDOR_NONE = 0,
	GDA_MLX5_VENDOR_DOORBELL = 1,
	GDA_MLX5_VENDOR_INDEX = 2,
	GDA_MLX5_VENDOR_OPCODE = 3,
	GDA_MLX5_VENDOR_DS = 4,
	GDA_MLX5_VENDOR_LENGTH = 5,
	GDA_MLX5_VENDOR_ALIGN = 6,
	GDA_MLX5_VENDOR_KEY = 7,
	GDA_MLX5_VENDOR_REVOKED = 8,
	GDA_MLX5_VENDOR_RIGHTS = 9,
	GDA_MLX5_VENDOR_RANGE = 10,
	GDA_MLX5_VENDOR_IO = 11,
	GDA_MLX5_VENDOR_PEER = 12,
	GDA_MLX5_VENDOR_CQ = 13,
	GDA_MLX5_VENDOR_QUEUE = 14,
	GDA_MLX5_VENDOR_RECV = 15,
	GDA_MLX5_VENDOR_DEVICE = 16,
	GDA_MLX5_VENDOR_FORK = 17,
	GDA_MLX5_VENDOR_FABRIC = 18,
};

/**
 * struct gda_mlx5_ctrl - control segment, first of every WQE
 * @opmod_idx_opcode: opmod << 24 | (index & 0xffff) << 8 | opcode
 * @qpn_ds: qpn << 8 | segments of the WQE, this one included
 * @signature: ignored
 * @dci: ignored
 * @fm_ce_se: fence, completion and event bits
 * @imm: immediate; ignored unless the opcode carries one
 */
struct gda_mlx5_ctrl {
	__be32 opmod_idx_opcode;
	__be32 qpn_ds;
	__u8 signature;
	__u8 dci[2];
	__u8 fm_ce_se;
	__be32 imm;
};

/**
 * struct gda_mlx5_raddr - remote address segment
 * @raddr: address in the remote MR, as in its iova
 * @rkey: key of the remote MR
 * @reserved: ignored
 */
struct gda_mlx5_raddr {
	__be64 raddr;
	__be32 rkey;
	__be32 reserved;
};

/**
 * struct gda_mlx5_data - local data segment
 * @byte_count: 31 bits; with %GDA_MLX5_INLINE the payload follows instead
 * @lkey: key of the local MR
 * @addr: address in the local MR, as in its iova
 */
struct gda_mlx5_data {
	__be32 byte_count;
	__be32 lkey;
	__be64 addr;
};

/**
 * define GDA_MLX5_INVALID_LKEY - lkey of the segment that ends a receive's list
 */
#define GDA_MLX5_INVALID_LKEY	0x100

/**
 * struct gda_mlx5_srq_next - first segment of an entry of a shared receive queue
 * @reserved: ignored
 * @next_wqe_index: the entry that is taken after this one, modulo the queue's depth
 * @reserved2: ignored
 *
 * An entry of a receive queue is a list of data segments, as many as its size holds, or up to one
 * whose lkey is %GDA_MLX5_INVALID_LKEY. In a shared queue the list follows this segment. Segments
 * of no bytes are passed over. The low 16 bits of word 0 of the doorbell record say how many
 * entries were posted; a shared queue has a record of its own. More than the queue holds is an
 * error.
 */
struct gda_mlx5_srq_next {
	__u8 reserved[2];
	__be16 next_wqe_index;
	__u8 reserved2[12];
};

/**
 * struct gda_mlx5_wait - what a WAIT waits for
 * @reserved: ignored
 * @max_index: the entry, by the low 32 bits of its number: in a ring, how many entries were written
 *	before it; in a collapsed CQ, the index of its work request. Entries of errors count
 * @cqn: number of a CQ of the same context (gda_cq_create.cqn)
 *
 * The queue sleeps until the CQ has the entry, or has had it. It fails with
 * %GDA_MLX5_SYND_LOCAL_QP_OP and %GDA_MLX5_VENDOR_CQ if the context has no such CQ (any more), if
 * the CQ has failed, or if @max_index is further ahead than the ring is deep (of a collapsed CQ:
 * %GDA_MLX5_MAX_DEPTH); with %GDA_MLX5_SYND_RETRY_EXC and %GDA_MLX5_VENDOR_CQ when the QP's wait_ms
 * are over (gda_qp_create.wait_ms). Devices without %GDA_FEATURE_WAIT refuse the opcode.
 */
struct gda_mlx5_wait {
	__be64 reserved;
	__be32 max_index;
	__be32 cqn;
};

/**
 * struct gda_mlx5_atomic - operands of ATOMIC_FA and ATOMIC_CS
 * @swap_add: what is added, or swapped in
 * @compare: what is compared with; not read by ATOMIC_FA
 */
struct gda_mlx5_atomic {
	__be64 swap_add;
	__be64 compare;
};

/**
 * struct gda_mlx5_inline - inline data segment
 * @byte_count: bytes | %GDA_MLX5_INLINE
 * @data: in memory order; goes on in the next segments
 */
struct gda_mlx5_inline {
	__be32 byte_count;
	__u8 data[12];
};

/**
 * struct gda_mlx5_masked4 - operands of 4-byte masked atomics
 * @swap_add: what is added, or swapped in
 * @compare: what is compared with; of MASKED_FA: field boundary
 * @swap_mask: bits that are swapped; not read by MASKED_FA
 * @compare_mask: bits that are compared; not read by MASKED_FA
 *
 * A bit that is set in the field boundary is the highest of a field: a carry out of it is lost.
 * Without such a bit the word is one field.
 *
 * The old value is stored big-endian, while that of an 8-byte atomic, masked or not, is
 * stored in host order; the remote word is in host order in any case.
 */
struct gda_mlx5_masked4 {
	__be32 swap_add;
	__be32 compare;
	__be32 swap_mask;
	__be32 compare_mask;
};

/**
 * struct gda_mlx5_masked8 - operands of 8-byte MASKED_FA; of MASKED_CS, two of them
 * @swap_add: what is added, or swapped in; in the second of MASKED_CS: swap mask
 * @compare: what is compared with; of MASKED_FA: field boundary; in the second of
 *	MASKED_CS: compare mask
 */
struct gda_mlx5_masked8 {
	__be64 swap_add;
	__be64 compare;
};

/**
 * struct gda_mlx5_cqe - completion queue entry without error, 64 bytes
 * @rsvd0: reserved
 * @srqn_uidx: user index of the QP
 * @imm: immediate, responder entries only
 * @rsvd40: reserved
 * @byte_cnt: payload bytes
 * @timestamp: 0: not provided
 * @sop_qpn: opcode << 24 | qpn
 * @wqe_counter: low 16 bits of the index of the WQE's first slot; of a receive, those of how many
 *	entries were taken before it, or of a shared queue its entry
 * @signature: 0
 * @op_own: opcode << 4 | solicited << 1 | owner
 *
 * @wqe_counter to @op_own are written last, as one aligned 4-byte store.
 */
struct gda_mlx5_cqe {
	__u8 rsvd0[32];
	__be32 srqn_uidx;
	__be32 imm;
	__u8 rsvd40[4];
	__be32 byte_cnt;
	__be64 timestamp;
	__be32 sop_qpn;
	__be16 wqe_counter;
	__u8 signature;
	__u8 op_own;
};

/**
 * struct gda_mlx5_err_cqe - completion queue entry with error, 64 bytes
 * @rsvd0: reserved
 * @srqn: user index of the QP, as gda_mlx5_cqe.srqn_uidx
 * @rsvd36: reserved
 * @first_error: 64-bit index of the slot that failed first
 * @rsvd48: reserved
 * @first_syndrome: enum gda_mlx5_syndrome of that slot
 * @first_vendor: enum gda_mlx5_vendor of that slot
 * @vendor_err_synd: enum gda_mlx5_vendor
 * @syndrome: enum gda_mlx5_syndrome
 * @s_wqe_opcode_qpn: opcode << 24 | qpn
 * @wqe_counter: low 16 bits of the index of the WQE's first slot
 * @signature: 0
 * @op_own: opcode << 4 | solicited << 1 | owner
 *
 * @first_error, @first_syndrome and @first_vendor are reserved bytes of the
 * format. On a collapsed CQ the entries of flushed work overwrite the one that
 * failed first; these three keep naming it. Once a QP is in error they never
 * change again, so they can be read without any further care.
 */
struct gda_mlx5_err_cqe {
	__u8 rsvd0[32];
	__be32 srqn;
	__u8 rsvd36[4];
	__be64 first_error;
	__u8 rsvd48[4];
	__u8 first_syndrome;
	__u8 first_vendor;
	__u8 vendor_err_synd;
	__u8 syndrome;
	__be32 s_wqe_opcode_qpn;
	__be16 wqe_counter;
	__u8 signature;
	__u8 op_own;
};

#if defined(__cplusplus) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 199901L)

#include <gda/inline.h>

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/* Byte swaps that every compiler here turns into one instruction. */

/**
 * gda_be32 - to big-endian
 * @v: in host order
 *
 * Return: @v as stored.
 */
GDA_UAPI_INLINE __be32 gda_be32(__u32 v)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return (GDA_UAPI_FORCE __be32)v;
#else
	return (GDA_UAPI_FORCE __be32)(v << 24 | (v & 0xff00U) << 8 |
				       (v >> 8 & 0xff00U) | v >> 24);
#endif
}

/**
 * gda_be64 - to big-endian
 * @v: in host order
 *
 * Return: @v as stored.
 */
GDA_UAPI_INLINE __be64 gda_be64(__u64 v)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return (GDA_UAPI_FORCE __be64)v;
#else
	return (GDA_UAPI_FORCE __be64)
		((__u64)(GDA_UAPI_FORCE __u32)gda_be32((__u32)v) << 32 |
		 (GDA_UAPI_FORCE __u32)gda_be32((__u32)(v >> 32)));
#endif
}

/**
 * gda_be32_to_cpu - from big-endian
 * @v: as stored
 *
 * Return: @v in host order.
 */
GDA_UAPI_INLINE __u32 gda_be32_to_cpu(__be32 v)
{
	return (GDA_UAPI_FORCE __u32)gda_be32((GDA_UAPI_FORCE __u32)v);
}

/**
 * gda_be64_to_cpu - from big-endian
 * @v: as stored
 *
 * Return: @v in host order.
 */
GDA_UAPI_INLINE __u64 gda_be64_to_cpu(__be64 v)
{
	return (GDA_UAPI_FORCE __u64)gda_be64((GDA_UAPI_FORCE __u64)v);
}

/**
 * gda_mlx5_set_ctrl - fill a control segment
 * @seg: out, all 16 bytes
 * @index: index of the WQE's first slot; the low 16 bits are used
 * @opcode: enum gda_mlx5_opcode, opmod << 24 for masked atomics
 * @qpn: queue pair number
 * @ds: segments of the WQE, this one included
 * @fm_ce_se: fence, completion and solicited bits
 * @imm: immediate in host order, 0 where the opcode carries none
 */
GDA_UAPI_INLINE void gda_mlx5_set_ctrl(struct gda_mlx5_ctrl *seg, __u64 index,
				       __u32 opcode, __u32 qpn, __u32 ds,
				       __u8 fm_ce_se, __u32 imm)
{
	seg->opmod_idx_opcode = gda_be32(opcode | ((__u32)index & 0xffffU) << 8);
	seg->qpn_ds = gda_be32(qpn << 8 | ds);
	seg->signature = 0;
	seg->dci[0] = 0;
	seg->dci[1] = 0;
	seg->fm_ce_se = fm_ce_se;
	seg->imm = gda_be32(imm);
}

/**
 * gda_mlx5_set_raddr - fill a remote address segment
 * @seg: out, all 16 bytes
 * @raddr: address in the remote MR
 * @rkey: key of the remote MR
 */
GDA_UAPI_INLINE void gda_mlx5_set_raddr(struct gda_mlx5_raddr *seg, __u64 raddr,
					__u32 rkey)
{
	seg->raddr = gda_be64(raddr);
	seg->rkey = gda_be32(rkey);
	seg->reserved = 0;
}

/**
 * gda_mlx5_set_data - fill a data segment
 * @seg: out, all 16 bytes
 * @addr: address in the local MR
 * @lkey: key of the local MR
 * @len: bytes, 1 to 2^31 - 1
 */
GDA_UAPI_INLINE void gda_mlx5_set_data(struct gda_mlx5_data *seg, __u64 addr,
				       __u32 lkey, __u32 len)
{
	seg->byte_count = gda_be32(len);
	seg->lkey = gda_be32(lkey);
	seg->addr = gda_be64(addr);
}

/**
 * gda_mlx5_set_wait - fill what a WAIT waits for
 * @seg: out, all 16 bytes
 * @cqn: number of the CQ
 * @max_index: the entry, see struct gda_mlx5_wait
 */
GDA_UAPI_INLINE void gda_mlx5_set_wait(struct gda_mlx5_wait *seg, __u32 cqn, __u32 max_index)
{
	seg->reserved = 0;
	seg->max_index = gda_be32(max_index);
	seg->cqn = gda_be32(cqn);
}

/**
 * gda_mlx5_set_atomic - fill the operands of ATOMIC_FA or ATOMIC_CS
 * @seg: out, all 16 bytes
 * @swap_add: what is added, or swapped in
 * @compare: what is compared with; 0 for ATOMIC_FA
 */
GDA_UAPI_INLINE void gda_mlx5_set_atomic(struct gda_mlx5_atomic *seg,
					 __u64 swap_add, __u64 compare)
{
	seg->swap_add = gda_be64(swap_add);
	seg->compare = gda_be64(compare);
}

/**
 * gda_mlx5_set_masked4 - fill the operands of a 4-byte masked atomic
 * @seg: out, all 16 bytes
 * @swap_add: what is added, or swapped in
 * @compare: what is compared with; of MASKED_FA: field boundary
 * @swap_mask: bits that are swapped; 0 for MASKED_FA
 * @compare_mask: bits that are compared; 0 for MASKED_FA
 */
GDA_UAPI_INLINE void gda_mlx5_set_masked4(struct gda_mlx5_masked4 *seg, __u32 swap_add,
					  __u32 compare, __u32 swap_mask,
					  __u32 compare_mask)
{
	seg->swap_add = gda_be32(swap_add);
	seg->compare = gda_be32(compare);
	seg->swap_mask = gda_be32(swap_mask);
	seg->compare_mask = gda_be32(compare_mask);
}

/**
 * gda_mlx5_set_masked8 - fill a segment of the operands of an 8-byte masked atomic
 * @seg: out, all 16 bytes
 * @swap_add: what is added, or swapped in; in the second segment of MASKED_CS: swap mask
 * @compare: what is compared with; of MASKED_FA: field boundary; in the second segment
 *	of MASKED_CS: compare mask
 */
GDA_UAPI_INLINE void gda_mlx5_set_masked8(struct gda_mlx5_masked8 *seg, __u64 swap_add,
					  __u64 compare)
{
	seg->swap_add = gda_be64(swap_add);
	seg->compare = gda_be64(compare);
}

/**
 * gda_mlx5_doorbell - the 8 bytes of a doorbell
 * @next: index of the slot after the last one that was written
 * @qpn: queue pair number
 *
 * Return: as stored.
 */
GDA_UAPI_INLINE __be64 gda_mlx5_doorbell(__u64 next, __u32 qpn)
{
	return gda_be64((next & 0xffffU) << 40 | (__u64)qpn << 8);
}

/**
 * gda_mlx5_dbrec - the send word of a doorbell record
 * @next: index of the slot after the last one that was written
 *
 * Return: as stored.
 */
GDA_UAPI_INLINE __be32 gda_mlx5_dbrec(__u64 next)
{
	return gda_be32((__u32)next & 0xffffU);
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif /* C99 or C++ */

#endif /* _UAPI_GDA_MLX5_H */
