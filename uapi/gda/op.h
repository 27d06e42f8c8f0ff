/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/**
 * DOC: Operations of work requests
 *
 * What a work request does, whatever the byte format of its queue is. A poster's request (struct
 * gda_wr of gda/wr.h) and the one that an executor decodes (struct gda_work of the driver) name it
 * by these numbers; a dialect translates them to opcodes of its own and back.
 */
#ifndef _UAPI_GDA_OP_H
#define _UAPI_GDA_OP_H

/**
 * enum gda_op - the operation of a work request
 * @GDA_OP_NOP: nothing; it completes in its turn
 * @GDA_OP_WRITE: local memory, or inline payload, to the remote range
 * @GDA_OP_READ: the remote range to local memory
 * @GDA_OP_WRITE_IMM: a write, and then an immediate for the peer's CQ
 * @GDA_OP_DUMP: local memory is read and dropped; there is no remote range
 * @GDA_OP_WAIT: until a CQ has an entry; there is no remote range
 * @GDA_OP_FETCH_ADD: this and the next three are atomics
 * @GDA_OP_COMPARE_SWAP: swap if equal
 * @GDA_OP_MASKED_FETCH_ADD: addition in fields
 * @GDA_OP_MASKED_COMPARE_SWAP: compare and swap some of the bits
 * @GDA_OP_SEND: local memory, or inline payload, to the memory of a receive that the peer has
 *	posted
 * @GDA_OP_SEND_IMM: a send, and an immediate for the completion of the receive
 */
enum gda_op {
	GDA_OP_NOP,
	GDA_OP_WRITE,
	GDA_OP_READ,
	GDA_OP_WRITE_IMM,
	GDA_OP_DUMP,
	GDA_OP_WAIT,
	GDA_OP_FETCH_ADD,
	GDA_OP_COMPARE_SWAP,
	GDA_OP_MASKED_FETCH_ADD,
	GDA_OP_MASKED_COMPARE_SWAP,
	GDA_OP_SEND,
	GDA_OP_SEND_IMM,
};

#endif /* _UAPI_GDA_OP_H */
