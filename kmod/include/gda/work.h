/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Work requests as executors see them: decoded, and the same for all dialects. The engine and
 * libgda's in-process device include this after their gda_os.h; so do modules that register devices
 * (gda/executor.h).
 */
#ifndef GDA_WORK_H
#define GDA_WORK_H

#include <linux/types.h>

#include <gda/cause.h>
#include <gda/op.h>

#define GDA_WORK_SGE		2	/* number of local segments, unless stated otherwise */
#define GDA_ENGINE_MAX_SGE	30	/* ... and most */
#define GDA_ENGINE_MAX_INLINE	972	/* inline payload, bytes */

/**
 * struct gda_status - how a work request ended
 * @class: enum gda_class; 0 is success
 * @cause: enum gda_cause
 */
struct gda_status {
	u8 class;
	u8 cause;
};

/* Class and cause in one word, as gda_engine_qp.fail holds them. */
#define GDA_STATUS(class, cause)	((u32)(cause) << 8 | (u32)(class))

static __always_inline struct gda_status gda_status(u8 class, u8 cause)
{
	struct gda_status st = { class, cause };

	return st;
}

/* A value of GDA_STATUS(): the peer is gone. */
#define GDA_FAIL_PEER	GDA_STATUS(GDA_CLASS_RETRY, GDA_CAUSE_PEER)

/**
 * struct gda_sge - a range of memory that a key names: a local segment, or the remote range
 * @addr: of the first byte, in the MR's addresses
 * @len: bytes
 * @key: of the MR
 */
struct gda_sge {
	u64 addr;
	u32 len;
	u32 key;
};

/**
 * enum gda_service - what a queue can rely on
 * @GDA_SERVICE_RC: a reliable connection: what is done has arrived
 * @GDA_SERVICE_UC: an unreliable connection: what is done was sent, and is lost if the peer could
 *	not take it
 * @GDA_SERVICE_UD: datagrams: likewise, and each names its receiver
 */
enum gda_service {
	GDA_SERVICE_RC,
	GDA_SERVICE_UC,
	GDA_SERVICE_UD,
};

#define GDA_DATAGRAM_HEAD	40U	/* bytes of a receive before those of the datagram */
#define GDA_DATAGRAM_MAX	4096U	/* payload of a datagram, bytes */

/*
 * A value of gda_datagram.key that stands for the sender's own key. Only privileged senders may use
 * it.
 */
#define GDA_DATAGRAM_OWN_KEY	0x80000000U

/**
 * struct gda_datagram - the receiver of a datagram, as its sender names it
 * @number: of the QP
 * @key: the key that this QP must have
 * @flow: 0, or the first word of a global header: version, traffic class, flow label
 * @lid: of its port
 * @sl: service level
 * @hops: hop limit, for the global header
 * @gid: of its port, for the global header
 */
struct gda_datagram {
	u32 number;
	u32 key;
	u32 flow;
	u16 lid;
	u8 sl;
	u8 hops;
	u8 gid[16];
};

/**
 * struct gda_target - the responder of a request on a queue without a connection, as its poster
 * names it
 * @id: of the request, for its completion
 * @number: of the QP that responds
 * @key: the key that this QP must have
 * @handle: of the address where that QP is
 * @back: once the QP was found: the handle by which its end knows the poster, or the value for
 *	"none"
 */
struct gda_target {
	u64 id;
	u32 number;
	u32 key;
	u16 handle;
	u16 back;
};

/**
 * struct gda_port - where datagrams come from
 * @gid: of the port
 * @lid: likewise
 */
struct gda_port {
	u8 gid[16];
	u16 lid;
};

static inline bool gda_op_is_atomic(u8 op)
{
	return op >= GDA_OP_FETCH_ADD && op <= GDA_OP_MASKED_COMPARE_SWAP;
}

/* gda_work.flags */
#define GDA_WORK_SOLICIT	0x01	/* the completion at the peer causes an event */
#define GDA_WORK_SOLICITED	0x02	/* its completion is an event */
#define GDA_WORK_BIG_ENDIAN	0x04	/* an old value of 4 bytes is stored big-endian */
#define GDA_WORK_SIGNALED	0x08	/* completion also on success */
#define GDA_WORK_FENCE		0xe0	/* any bit: begin after all earlier reads and atomics */

/**
 * struct gda_work - a decoded work request: private, immutable once decoded
 * @op: enum gda_op
 * @nsge: how many of @sge
 * @inlined: the payload is in @data, @nsge is 0
 * @opcode: the dialect's own, for completions
 * @slots: of the send queue that it fills
 * @flags: GDA_WORK_*
 * @imm: of %GDA_OP_WRITE_IMM and %GDA_OP_SEND_IMM; of %GDA_OP_WAIT, which waits until the CQ with
 *	number @remote.key has this entry (gda_cq_reached())
 * @remote: @remote.len is the length of the whole payload, to which the segments add up. In a send
 *	the other members are 0
 * @swap_add: of atomics, which are @remote.len bytes wide; narrow ones have zeros above
 * @compare: likewise; of a masked fetch-add the last bit of each field
 * @swap_mask: of a masked compare-and-swap
 * @compare_mask: likewise
 * @to: of datagrams
 * @target: for a queue without a connection, each of whose requests names its responder
 * @few: the first of @sge
 * @data: inline payload, in the place of the others
 * @sge: local segments; of an atomic one, for the old value
 *
 * The dialect fills this in, executors read it, and the dialect writes the outcome.
 */
struct gda_work {
	u8 op;
	u8 nsge;
	bool inlined;
	u8 opcode;
	u8 slots;
	u8 flags;
	u32 imm;
	struct gda_sge remote;
	union {
		struct {
			u64 swap_add;
			u64 compare;
			u64 swap_mask;
			u64 compare_mask;
		};
		struct gda_datagram to;
		struct gda_target target;
	};
	union {
		struct {
			struct gda_sge few[GDA_WORK_SGE];
			u8 data[GDA_ENGINE_MAX_INLINE];
		};
		struct gda_sge sge[GDA_ENGINE_MAX_SGE];
	};
};

#endif /* GDA_WORK_H */
