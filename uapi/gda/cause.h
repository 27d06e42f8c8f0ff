/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/**
 * DOC: Why work fails
 *
 * Every dialect reports an error in codes of its own. Executors report a class and a cause, which
 * belong to no dialect: the class says where work failed, the cause why. A dialect maps the pair to
 * its own syndrome or status.
 */
#ifndef _UAPI_GDA_CAUSE_H
#define _UAPI_GDA_CAUSE_H

/**
 * enum gda_class - where work failed
 * @GDA_CLASS_NONE: it did not fail
 * @GDA_CLASS_LOCAL: at the poster's memory: a local key, right, range or length
 * @GDA_CLASS_QUEUE: in the queue itself: a malformed entry or doorbell, lost memory, a full
 *	CQ
 * @GDA_CLASS_REMOTE_ACCESS: the responder refuses a key, right or range
 * @GDA_CLASS_REMOTE_OP: the responder cannot carry the request out
 * @GDA_CLASS_INVALID_REQUEST: the responder finds the request invalid
 * @GDA_CLASS_RETRY: no responder answers
 * @GDA_CLASS_RNR: the responder was not ready, even at the last try
 * @GDA_CLASS_FLUSH: the request was not carried out, because one before it failed
 */
enum gda_class {
	GDA_CLASS_NONE = 0,
	GDA_CLASS_LOCAL = 1,
	GDA_CLASS_QUEUE = 2,
	GDA_CLASS_REMOTE_ACCESS = 3,
	GDA_CLASS_REMOTE_OP = 4,
	GDA_CLASS_INVALID_REQUEST = 5,
	GDA_CLASS_RETRY = 6,
	GDA_CLASS_RNR = 7,
	GDA_CLASS_FLUSH = 8,
};

/**
 * enum gda_cause - why work failed
 * @GDA_CAUSE_NONE: no further detail
 * @GDA_CAUSE_DOORBELL: a doorbell index that no legal producer writes
 * @GDA_CAUSE_INDEX: the entry is not the one that its producer writes to this slot
 * @GDA_CAUSE_OPCODE: unknown opcode or operand size
 * @GDA_CAUSE_SIZE: entry of a size that is impossible for the opcode
 * @GDA_CAUSE_LENGTH: length impossible for the opcode
 * @GDA_CAUSE_ALIGN: atomic operand is not naturally aligned
 * @GDA_CAUSE_KEY: no such key in the protection domain
 * @GDA_CAUSE_REVOKED: the key's memory was revoked
 * @GDA_CAUSE_RIGHTS: the MR does not grant the right
 * @GDA_CAUSE_RANGE: outside the MR
 * @GDA_CAUSE_IO: memory that the executor cannot reach this way: it has no CPU window, or
 *	is an I/O window and the opcode an atomic one
 * @GDA_CAUSE_PEER: the peer QP is gone or in error
 * @GDA_CAUSE_CQ: the CQ overflowed or is in error, or a work request waits for an entry that a CQ
 *	cannot have (class queue) or did not get in time (class retry)
 * @GDA_CAUSE_QUEUE: the queue's own memory was revoked
 * @GDA_CAUSE_RECV: the peer has no CQ for immediates, or no room in it; or no receive queue, or no
 *	receive posted there
 * @GDA_CAUSE_DEVICE: the device was taken away
 * @GDA_CAUSE_FORK: only in a child of fork(2), by libgda: the queue is its parent's
 * @GDA_CAUSE_FABRIC: an RDMA fabric, or its device, reports that work failed, but not why
 * @GDA_CAUSE_RESERVED: a bit of the entry is set that must be 0
 *
 * Every dialect that has room for a detail beside its syndrome stores these numbers there.
 */
enum gda_cause {
	GDA_CAUSE_NONE = 0,
	GDA_CAUSE_DOORBELL = 1,
	GDA_CAUSE_INDEX = 2,
	GDA_CAUSE_OPCODE = 3,
	GDA_CAUSE_SIZE = 4,
	GDA_CAUSE_LENGTH = 5,
	GDA_CAUSE_ALIGN = 6,
	GDA_CAUSE_KEY = 7,
	GDA_CAUSE_REVOKED = 8,
	GDA_CAUSE_RIGHTS = 9,
	GDA_CAUSE_RANGE = 10,
	GDA_CAUSE_IO = 11,
	GDA_CAUSE_PEER = 12,
	GDA_CAUSE_CQ = 13,
	GDA_CAUSE_QUEUE = 14,
	GDA_CAUSE_RECV = 15,
	GDA_CAUSE_DEVICE = 16,
	GDA_CAUSE_FORK = 17,
	GDA_CAUSE_FABRIC = 18,
	GDA_CAUSE_RESERVED = 19,
};

#endif /* _UAPI_GDA_CAUSE_H */
