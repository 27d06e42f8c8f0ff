/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/**
 * DOC: The efa dialect
 *
 * The bytes of send queue entries, doorbells and completion queue entries as the Elastic Fabric
 * Adapter defines them (efa_io_defs.h of Linux and rdma-core; newer devices have the 128-byte
 * entry, 64-bit ids and statuses above 13). Values wider than a byte are little-endian.
 *
 * A queue has no fixed peer: each entry names an address handle, the number of a queue at that
 * address, and the key of that queue. Requests may be executed and complete in any order.
 * The id of a request is returned in its completion bit for bit and is never interpreted.
 */
#ifndef _UAPI_GDA_EFA_H
#define _UAPI_GDA_EFA_H

#include <linux/types.h>

/**
 * DOC: Sizes of efa queues
 *
 * %GDA_EFA_SLOT_BYTES
 *	Size of a send queue entry without inline payload.
 * %GDA_EFA_WIDE_BYTES
 *	Size of a send queue entry with room for inline payload.
 * %GDA_EFA_CQE_BYTES
 *	Size of a completion. Entries may be twice as far apart, and must be to receive immediates.
 * %GDA_EFA_MAX_INLINE
 *	Largest payload in an entry of %GDA_EFA_WIDE_BYTES.
 * %GDA_EFA_MAX_DEPTH
 *	Most entries of a send queue: half of the 16-bit index space.
 * %GDA_EFA_MAX_MSG
 *	Largest payload of a request, in bytes.
 */
#define GDA_EFA_SLOT_BYTES	64
#define GDA_EFA_WIDE_BYTES	128
#define GDA_EFA_CQE_BYTES	16
#define GDA_EFA_MAX_INLINE	80
#define GDA_EFA_MAX_DEPTH	32768
#define GDA_EFA_MAX_MSG		(1U << 30)

/**
 * enum gda_efa_op - struct gda_efa_meta.ctrl1, bits 3:0, and gda_efa_cqe.flags, bits 6:4
 * @GDA_EFA_SEND: refused, for there are no receive queues
 * @GDA_EFA_READ: remote to local memory
 * @GDA_EFA_WRITE: local memory, or inline payload, to remote memory
 */
enum gda_efa_op {
	GDA_EFA_SEND	= 0,
	GDA_EFA_READ	= 1,
	GDA_EFA_WRITE	= 2,
};

/**
 * DOC: Bits of an entry
 *
 * %GDA_EFA_OP_MASK
 *	gda_efa_meta.ctrl1: enum gda_efa_op.
 * %GDA_EFA_HAS_IMM
 *	gda_efa_meta.ctrl1: the request is a write with immediate.
 * %GDA_EFA_INLINE
 *	gda_efa_meta.ctrl1: the entry has payload in place of the local segment.
 * %GDA_EFA_META
 *	gda_efa_meta.ctrl1: must be set.
 * %GDA_EFA_PHASE
 *	gda_efa_meta.ctrl2: lowest bit of the ring's lap, 0 in the first lap.
 * %GDA_EFA_FIRST, %GDA_EFA_LAST
 *	gda_efa_meta.ctrl2: must be set.
 * %GDA_EFA_COMPLETE
 *	gda_efa_meta.ctrl2: success writes a completion, too, not only an error.
 * %GDA_EFA_HINTS
 *	gda_efa_meta.hints: ignored.
 *
 * All other bits must be 0.
 */
#define GDA_EFA_OP_MASK		0x0f
#define GDA_EFA_HAS_IMM		0x10
#define GDA_EFA_INLINE		0x20
#define GDA_EFA_META		0x80
#define GDA_EFA_PHASE		0x01
#define GDA_EFA_FIRST		0x04
#define GDA_EFA_LAST		0x08
#define GDA_EFA_COMPLETE	0x10
#define GDA_EFA_HINTS		0x03

/**
 * define GDA_EFA_LKEY_SHIFT - how many low bits of an MR's key the local key of an entry lacks
 */
#define GDA_EFA_LKEY_SHIFT	8

/**
 * struct gda_efa_meta - the first 32 bytes of every entry
 * @id: low 16 bits of the request's id
 * @ctrl1: enum gda_efa_op and flags, see "Bits of an entry"
 * @ctrl2: flags, see "Bits of an entry"
 * @dest_qp: number of the target queue at the address
 * @length: bytes of inline payload; without it the number of local segments: 1, or 0 for a request
 *	without bytes
 * @imm: the immediate
 * @ah: address handle
 * @hints: ignored
 * @reserved15: 0
 * @qkey: key of the target queue
 * @reserved20: 0
 * @id_ex: upper 48 bits of the request's id
 */
struct gda_efa_meta {
	__le16 id;
	__u8 ctrl1;
	__u8 ctrl2;
	__le16 dest_qp;
	__le16 length;
	__le32 imm;
	__le16 ah;
	__u8 hints;
	__u8 reserved15;
	__le32 qkey;
	__u8 reserved20[6];
	__u8 id_ex[6];
};

/**
 * struct gda_efa_segment - a range of memory
 * @length: bytes; local and remote segment have the same length
 * @key: key of the remote MR; in the local segment key >> %GDA_EFA_LKEY_SHIFT, which has 24 bits
 * @addr_lo: address in the MR, lower half
 * @addr_hi: address in the MR, upper half
 */
struct gda_efa_segment {
	__le32 length;
	__le32 key;
	__le32 addr_lo;
	__le32 addr_hi;
};

/**
 * struct gda_efa_wqe - an entry of a send queue
 * @meta: common part
 * @remote: the remote range
 * @local: the local range
 */
struct gda_efa_wqe {
	struct gda_efa_meta meta;
	struct gda_efa_segment remote;
	struct gda_efa_segment local;
};

/**
 * struct gda_efa_wide_wqe - an entry of a send queue that has room for inline payload
 * @meta: common part
 * @remote: the remote range
 * @data: with %GDA_EFA_INLINE the payload; otherwise it begins with a struct gda_efa_segment, the
 *	local range
 */
struct gda_efa_wide_wqe {
	struct gda_efa_meta meta;
	struct gda_efa_segment remote;
	__u8 data[GDA_EFA_MAX_INLINE];
};

/**
 * enum gda_efa_status - struct gda_efa_cqe.status
 * @GDA_EFA_OK: success
 * @GDA_EFA_FLUSHED: the queue had failed before
 * @GDA_EFA_QP_INTERNAL: the entry is malformed, or the queue's own memory cannot be read
 * @GDA_EFA_BAD_OP: no such operation
 * @GDA_EFA_BAD_AH: no such address handle
 * @GDA_EFA_BAD_LKEY: bad local key, right or range
 * @GDA_EFA_BAD_LENGTH: bad length
 * @GDA_EFA_BAD_ADDRESS: bad remote key, right or range, or bad key of the target queue
 * @GDA_EFA_ABORT: the responder cannot execute the request
 * @GDA_EFA_BAD_DEST_QP: no such queue at the address
 * @GDA_EFA_NOT_READY: the responder's CQ for immediates has no room
 * @GDA_EFA_UNRESPONSIVE: the peer is gone
 * @GDA_EFA_UNKNOWN_PEER: the context that the handle names has no handle of this queue's context
 * @GDA_EFA_FEATURE_MISMATCH: the responder takes no immediates
 */
enum gda_efa_status {
	GDA_EFA_OK			= 0,
	GDA_EFA_FLUSHED			= 1,
	GDA_EFA_QP_INTERNAL		= 2,
	GDA_EFA_BAD_OP			= 3,
	GDA_EFA_BAD_AH			= 4,
	GDA_EFA_BAD_LKEY		= 5,
	GDA_EFA_BAD_LENGTH		= 6,
	GDA_EFA_BAD_ADDRESS		= 7,
	GDA_EFA_ABORT			= 8,
	GDA_EFA_BAD_DEST_QP		= 9,
	GDA_EFA_NOT_READY		= 10,
	GDA_EFA_UNRESPONSIVE		= 13,
	GDA_EFA_UNKNOWN_PEER		= 14,
	GDA_EFA_FEATURE_MISMATCH	= 18,
};

/**
 * DOC: Bits of a completion
 *
 * %GDA_EFA_CQE_PHASE
 *	gda_efa_cqe.flags: the ring's lap, 1 in the first lap. An entry is valid if this bit is that
 *	of the lap in which the consumer reads it.
 * %GDA_EFA_CQE_SENT, %GDA_EFA_CQE_RECEIVED
 *	gda_efa_cqe.flags: values of bits 2:1, a request of this queue or of the peer.
 * %GDA_EFA_CQE_HAS_IMM
 *	gda_efa_cqe.flags: the completion has an immediate.
 * %GDA_EFA_CQE_OP_SHIFT
 *	gda_efa_cqe.flags: lowest of the 3 bits of enum gda_efa_op.
 * %GDA_EFA_CQE_UNSOLICITED
 *	gda_efa_cqe.flags: an immediate that consumed no receive, and so has no id.
 */
#define GDA_EFA_CQE_PHASE	0x01
#define GDA_EFA_CQE_SENT	(1 << 1)
#define GDA_EFA_CQE_RECEIVED	(2 << 1)
#define GDA_EFA_CQE_HAS_IMM	0x08
#define GDA_EFA_CQE_OP_SHIFT	4
#define GDA_EFA_CQE_UNSOLICITED	0x80

/**
 * define GDA_EFA_AH_UNKNOWN - gda_efa_recv_cqe.ah if there is no handle of the sender
 */
#define GDA_EFA_AH_UNKNOWN	0xffff

/**
 * struct gda_efa_cqe - completion of a request
 * @id: low 16 bits of the request's id
 * @status: enum gda_efa_status
 * @flags: GDA_EFA_CQE_*
 * @qp: number of the queue
 * @id_ex: upper 48 bits of the request's id
 * @reserved: 0
 *
 * The first 8 bytes are written last, as one aligned store. There is no consumer index: an entry
 * that is not read in time is overwritten.
 */
struct gda_efa_cqe {
	__le16 id;
	__u8 status;
	__u8 flags;
	__le16 qp;
	__u8 id_ex[6];
	__u8 reserved[4];
};

/**
 * struct gda_efa_recv_cqe - completion of a received write with immediate
 * @id: 0
 * @status: %GDA_EFA_OK
 * @flags: GDA_EFA_CQE_*
 * @qp: number of the receiving queue
 * @length: bytes of the write, low 16 bits
 * @ah: the receiver's address handle of the sender
 * @src_qp: number of the sender's queue
 * @imm: the immediate
 * @length_hi: upper bits of the length
 * @reserved: 0
 *
 * Only in CQs whose entries are 32 bytes apart. Written in the same order as struct gda_efa_cqe.
 */
struct gda_efa_recv_cqe {
	__le16 id;
	__u8 status;
	__u8 flags;
	__le16 qp;
	__le16 length;
	__le16 ah;
	__le16 src_qp;
	__le32 imm;
	__le16 length_hi;
	__u8 reserved[14];
};

#if defined(__cplusplus) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 199901L)

#include <gda/inline.h>

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/**
 * gda_efa_le16 - convert to or from little-endian
 * @v: in host order
 *
 * Return: @v as stored.
 */
GDA_UAPI_INLINE __le16 gda_efa_le16(__u16 v)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return (GDA_UAPI_FORCE __le16)(__u16)(v << 8 | v >> 8);
#else
	return (GDA_UAPI_FORCE __le16)v;
#endif
}

/**
 * gda_efa_le32 - convert to or from little-endian
 * @v: in host order
 *
 * Return: @v as stored.
 */
GDA_UAPI_INLINE __le32 gda_efa_le32(__u32 v)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return (GDA_UAPI_FORCE __le32)(v << 24 | (v & 0xff00U) << 8 | (v >> 8 & 0xff00U) | v >> 24);
#else
	return (GDA_UAPI_FORCE __le32)v;
#endif
}

/**
 * gda_efa_set_what - fill in the operation of a request
 * @meta: common part of the entry, all but the target
 * @id: id of the request, any 64 bits
 * @ctrl1: enum gda_efa_op, with %GDA_EFA_HAS_IMM and %GDA_EFA_INLINE
 * @lap: lap of the ring in which the entry is written: its lowest bit is the phase
 * @length: gda_efa_meta.length
 * @imm: the immediate in host order, or 0
 */
GDA_UAPI_INLINE void gda_efa_set_what(struct gda_efa_meta *meta, __u64 id, __u8 ctrl1, __u32 lap,
				      __u16 length, __u32 imm)
{
	int i;

	meta->id = gda_efa_le16((__u16)id);
	meta->ctrl1 = (__u8)(ctrl1 | GDA_EFA_META);
	meta->ctrl2 = (__u8)((lap & GDA_EFA_PHASE) | GDA_EFA_FIRST | GDA_EFA_LAST | GDA_EFA_COMPLETE);
	meta->length = gda_efa_le16(length);
	meta->imm = gda_efa_le32(imm);
	meta->hints = 0;
	meta->reserved15 = 0;
	for (i = 0; i < 6; i++) {
		meta->reserved20[i] = 0;
		meta->id_ex[i] = (__u8)(id >> (16 + 8 * i));
	}
}

/**
 * gda_efa_set_whom - fill in the target of a request
 * @meta: common part of the entry
 * @ah: address handle
 * @qpn: number of the target queue at the address
 * @qkey: key of the target queue
 */
GDA_UAPI_INLINE void gda_efa_set_whom(struct gda_efa_meta *meta, __u16 ah, __u16 qpn, __u32 qkey)
{
	meta->ah = gda_efa_le16(ah);
	meta->dest_qp = gda_efa_le16(qpn);
	meta->qkey = gda_efa_le32(qkey);
}

/**
 * gda_efa_set_segment - fill in a range of memory
 * @seg: out, all 16 bytes
 * @addr: address in the MR
 * @key: key of the remote MR; for a local segment key >> %GDA_EFA_LKEY_SHIFT
 * @length: bytes
 */
GDA_UAPI_INLINE void gda_efa_set_segment(struct gda_efa_segment *seg, __u64 addr, __u32 key,
					 __u32 length)
{
	seg->length = gda_efa_le32(length);
	seg->key = gda_efa_le32(key);
	seg->addr_lo = gda_efa_le32((__u32)addr);
	seg->addr_hi = gda_efa_le32((__u32)(addr >> 32));
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif /* C99 or C++ */

#endif /* _UAPI_GDA_EFA_H */
