/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/**
 * DOC: The efa dialect
 *
 * Bytes of a send queue, doorbell and completion queue entry as the Elastic Fabric Adapter defines
 * them (efa_io_defs.h of Linux and of rdma-core; the entry of 128 bytes, ids of 64 bits and statuses
 * above 13 are of newer devices). Everything wider than a byte is little-endian.
 *
 * A queue has no peer of its own: each entry names an address handle, the number of a queue at that
 * address and the key of that queue. Nothing is promised of the order in which requests are carried
 * out or complete. A request is known by its id, which comes back in its completion bit for bit, and is
 * never interpreted.
 */
#ifndef _UAPI_GDA_EFA_H
#define _UAPI_GDA_EFA_H

#include <linux/types.h>

/**
 * DOC: Sizes of efa queues
 *
 * %GDA_EFA_SLOT_BYTES
 *	An entry of a send queue.
 * %GDA_EFA_WIDE_BYTES
 *	An entry of a send queue that has inline payload.
 * %GDA_EFA_CQE_BYTES
 *	A completion; entries may be twice as far apart, and are where immediates arrive.
 * %GDA_EFA_MAX_INLINE
 *	Payload in an entry of %GDA_EFA_WIDE_BYTES.
 * %GDA_EFA_MAX_DEPTH
 *	Most entries of a send queue: half of the 16-bit index space.
 * %GDA_EFA_MAX_MSG
 *	Payload of a request, bytes.
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
 * gda_efa_meta.ctrl1: %GDA_EFA_OP_MASK: enum gda_efa_op. %GDA_EFA_HAS_IMM: a write has an immediate. %GDA_EFA_INLINE: payload follows, in
 * place of the local segment. %GDA_EFA_META: must be set.
 *
 * gda_efa_meta.ctrl2: %GDA_EFA_PHASE: the lap of the ring, 0 in the first. %GDA_EFA_FIRST and
 * %GDA_EFA_LAST must be set. %GDA_EFA_COMPLETE: a completion is asked for also of success.
 *
 * All other bits must be 0, but for %GDA_EFA_HINTS of gda_efa_meta.hints, which are ignored.
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
 * define GDA_EFA_LKEY_SHIFT - a local key is the number of the MR's key without its low bits
 */
#define GDA_EFA_LKEY_SHIFT	8

/**
 * struct gda_efa_meta - what every entry begins with, 32 bytes
 * @id: of the request, low 16 bits
 * @ctrl1: enum gda_efa_op, GDA_EFA_*
 * @ctrl2: GDA_EFA_*
 * @dest_qp: number of the queue at the address
 * @length: inline payload in bytes; otherwise local segments: 1, or 0 of no bytes
 * @imm: the immediate
 * @ah: address handle
 * @hints: ignored
 * @reserved15: 0
 * @qkey: key of the queue at the address
 * @reserved20: 0
 * @id_ex: of the request, other 48 bits
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
 * @length: bytes; the local one is as long as the remote one
 * @key: of the remote MR; of the local one 24 bits, the key >> %GDA_EFA_LKEY_SHIFT, the rest 0
 * @addr_lo: address in the MR
 * @addr_hi: likewise, upper half
 */
struct gda_efa_segment {
	__le32 length;
	__le32 key;
	__le32 addr_lo;
	__le32 addr_hi;
};

/**
 * struct gda_efa_wqe - an entry of a send queue
 * @meta: of any request
 * @remote: the remote range
 * @local: the local one
 */
struct gda_efa_wqe {
	struct gda_efa_meta meta;
	struct gda_efa_segment remote;
	struct gda_efa_segment local;
};

/**
 * struct gda_efa_wide_wqe - an entry of a send queue that was made for inline payload
 * @meta: of any request
 * @remote: the remote range
 * @data: with %GDA_EFA_INLINE the payload; otherwise it begins with a struct gda_efa_segment, the local
 *	range
 */
struct gda_efa_wide_wqe {
	struct gda_efa_meta meta;
	struct gda_efa_segment remote;
	__u8 data[GDA_EFA_MAX_INLINE];
};

/**
 * enum gda_efa_status - struct gda_efa_cqe.status
 * @GDA_EFA_OK: done
 * @GDA_EFA_FLUSHED: the queue had failed before
 * @GDA_EFA_QP_INTERNAL: the entry, or the queue's own memory, cannot be read as it has to be
 * @GDA_EFA_BAD_OP: no such operation
 * @GDA_EFA_BAD_AH: the address handle names nobody
 * @GDA_EFA_BAD_LKEY: local key, right or range
 * @GDA_EFA_BAD_LENGTH: length
 * @GDA_EFA_BAD_ADDRESS: remote key, right or range; or the key of the queue at the address
 * @GDA_EFA_ABORT: the responder cannot carry it out
 * @GDA_EFA_BAD_DEST_QP: no such queue at the address
 * @GDA_EFA_NOT_READY: the responder's CQ for immediates has no room
 * @GDA_EFA_UNRESPONSIVE: the peer is gone
 * @GDA_EFA_UNKNOWN_PEER: whom the handle names holds none for the queue's context
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
 * gda_efa_cqe.flags: %GDA_EFA_CQE_PHASE: the lap of the ring, 1 in the first; it is valid when it is
 * that of the lap in which its place is read. Bits 2:1 are %GDA_EFA_CQE_SENT or %GDA_EFA_CQE_RECEIVED.
 * %GDA_EFA_CQE_HAS_IMM. From bit %GDA_EFA_CQE_OP_SHIFT on there is enum gda_efa_op, 3 bits. %GDA_EFA_CQE_UNSOLICITED: of an immediate, which
 * took no receive: there is no id.
 */
#define GDA_EFA_CQE_PHASE	0x01
#define GDA_EFA_CQE_SENT	(1 << 1)
#define GDA_EFA_CQE_RECEIVED	(2 << 1)
#define GDA_EFA_CQE_HAS_IMM	0x08
#define GDA_EFA_CQE_OP_SHIFT	4
#define GDA_EFA_CQE_UNSOLICITED	0x80

/**
 * define GDA_EFA_AH_UNKNOWN - gda_efa_recv_cqe.ah of a sender for whom there is no handle
 */
#define GDA_EFA_AH_UNKNOWN	0xffff

/**
 * struct gda_efa_cqe - completion of a request
 * @id: of the request, low 16 bits
 * @status: enum gda_efa_status
 * @flags: GDA_EFA_CQE_*
 * @qp: number of the queue
 * @id_ex: of the request, other 48 bits
 * @reserved: 0
 *
 * The first 8 bytes are written last, as one aligned store. There is no consumer index: an entry that
 * was not read in time is overwritten.
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
 * struct gda_efa_recv_cqe - a write with immediate has arrived
 * @id: 0
 * @status: %GDA_EFA_OK
 * @flags: GDA_EFA_CQE_*
 * @qp: number of the queue it was for
 * @length: bytes of the write, low 16 bits
 * @ah: own handle of the sender
 * @src_qp: number of the sender's queue
 * @imm: the immediate
 * @length_hi: upper bits of the length
 * @reserved: 0
 *
 * In CQs whose entries are 32 bytes apart alone. Written as struct gda_efa_cqe.
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

#ifndef GDA_UAPI_INLINE
#ifdef __CUDACC__
#define GDA_UAPI_INLINE static __host__ __device__ __forceinline__
#else
#define GDA_UAPI_INLINE static __inline__
#endif
#endif

#ifndef GDA_UAPI_FORCE
#ifdef __CHECKER__
#define GDA_UAPI_FORCE __attribute__((force))
#else
#define GDA_UAPI_FORCE
#endif
#endif

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/**
 * gda_efa_le16 - to little-endian, and from it
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
 * gda_efa_le32 - to little-endian, and from it
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
 * gda_efa_set_what - fill in what a request does
 * @meta: of its entry; all but for whom it is
 * @id: of the request, any 64 bits
 * @ctrl1: enum gda_efa_op, with %GDA_EFA_HAS_IMM and %GDA_EFA_INLINE
 * @lap: of the ring in which the entry is written: its lowest bit is the phase
 * @length: gda_efa_meta.length
 * @imm: the immediate in host order, 0 where there is none
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
 * gda_efa_set_whom - fill in for whom a request is
 * @meta: of its entry
 * @ah: address handle
 * @qpn: number of the queue at the address
 * @qkey: key of that queue
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
 * @key: of the remote MR; of the local one without its low %GDA_EFA_LKEY_SHIFT bits
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
