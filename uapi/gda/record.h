/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/**
 * DOC: The flight record
 *
 * A ring of records says what became of work and of connections, in the order in which
 * it was seen. Every context has one for control events and errors, and its owner may switch
 * on one for work, too (GDA_IOC_RECORD). A program that is compiled with GDA_RECORD writes
 * a ring of its own, of what it posted and observed.
 *
 * The record of position p is at p modulo the number of records in the ring, which is a power of
 * two. Its @seq is p + 1, and is stored last: a reader that finds another value has no record of p
 * there. A lesser value says that the record is not written yet, a greater one that the ring has
 * lapped the reader. %GDA_RECORD_BUSY is set while a writer is at the record. So a reader loads
 * @seq with acquire order, copies the record, and loads @seq again: if it changed in between, the
 * record was lapped. A writer that was overtaken by a whole lap leaves its position unwritten.
 *
 * All integers are in host byte order.
 */
#ifndef _UAPI_GDA_RECORD_H
#define _UAPI_GDA_RECORD_H

#include <linux/types.h>
#include <gda/cause.h>

/**
 * define GDA_RECORD_BUSY - the bit of a seq whose record is being written
 */
#define GDA_RECORD_BUSY		(1ULL << 63)

/**
 * define GDA_RECORD_MIN - fewest records of a ring
 */
#define GDA_RECORD_MIN		64

/**
 * define GDA_RECORD_MAX - most records of a ring
 */
#define GDA_RECORD_MAX		65536

/**
 * enum gda_record_kind - what a record tells
 * @GDA_RECORD_DOORBELL: a doorbell was taken: slots below @ticket are published, of which the
 *	last @aux have no outcome
 * @GDA_RECORD_FETCHED: a work request was begun, and does not end in this visit of its queue; @aux
 *	slots are published from it on, and no record tells of their doorbell
 * @GDA_RECORD_DONE: a work request is done; it fills @aux slots
 * @GDA_RECORD_FAILED: a work request failed, or with @aux 0 the queue itself
 * @GDA_RECORD_FLUSHED: a work request was not carried out, since one before it failed
 * @GDA_RECORD_ARRIVED: an immediate arrived from the peer of @qpn: @aux; or a send, without one 0.
 *	@ticket counts them
 * @GDA_RECORD_CONNECTED: @qpn is connected to the QP whose number is @aux
 * @GDA_RECORD_LOST: @qpn lost its peer, whose number was @aux, or the peer refuses it
 * @GDA_RECORD_REGISTERED: an MR: @rkey, rights in @aux, its first address in @raddr, its bytes
 *	in @laddr
 * @GDA_RECORD_REVOKED: an MR is gone, with the members of REGISTERED: taken away if @cause is
 *	%GDA_CAUSE_REVOKED, otherwise deregistered
 * @GDA_RECORD_OVERFLOW: the completion of @ticket found no room in its CQ, and the queue fails
 * @GDA_RECORD_SLEEP: a worker begins to sleep, since no queue has work; @aux is its number
 * @GDA_RECORD_WAKE: the worker goes on
 * @GDA_RECORD_PLACED: the adversary put @len bytes of a work request in place
 * @GDA_RECORD_POSTED: a program posted a work request
 * @GDA_RECORD_OBSERVED: a program saw that @ticket has its outcome: @aux is 0, or a positive
 *	errno
 *
 * POSTED and OBSERVED are written by programs alone, all others by executors.
 */
enum gda_record_kind {
	GDA_RECORD_DOORBELL = 1,
	GDA_RECORD_FETCHED = 2,
	GDA_RECORD_DONE = 3,
	GDA_RECORD_FAILED = 4,
	GDA_RECORD_FLUSHED = 5,
	GDA_RECORD_ARRIVED = 6,
	GDA_RECORD_CONNECTED = 7,
	GDA_RECORD_LOST = 8,
	GDA_RECORD_REGISTERED = 9,
	GDA_RECORD_REVOKED = 10,
	GDA_RECORD_OVERFLOW = 11,
	GDA_RECORD_SLEEP = 12,
	GDA_RECORD_WAKE = 13,
	GDA_RECORD_PLACED = 14,
	GDA_RECORD_POSTED = 15,
	GDA_RECORD_OBSERVED = 16,
};

/**
 * struct gda_record - one event
 * @seq: position in the ring + 1; see above
 * @ns: CLOCK_MONOTONIC; of work the time at which the visit of its queue began
 * @ticket: 64-bit index of the work request's first slot, as posts return it
 * @raddr: remote address
 * @laddr: address of the first local segment; 0: there is none
 * @len: payload in bytes
 * @rkey: key of the remote MR
 * @lkey: key of the first local segment
 * @qpn: number of the QP; 0: it is about no QP
 * @kind: enum gda_record_kind
 * @opcode: of the entry, in the QP's dialect
 * @err_class: enum gda_class
 * @cause: enum gda_cause
 * @aux: as the kind says
 *
 * Members that a kind does not speak of are 0; so are addresses and keys of an entry that was
 * malformed, or whose outcome came in a later visit than that in which it was read.
 */
struct gda_record {
	__aligned_u64 seq;
	__aligned_u64 ns;
	__aligned_u64 ticket;
	__aligned_u64 raddr;
	__aligned_u64 laddr;
	__u32 len;
	__u32 rkey;
	__u32 lkey;
	__u32 qpn;
	__u8 kind;
	__u8 opcode;
	__u8 err_class;
	__u8 cause;
	__u32 aux;
};

#endif /* _UAPI_GDA_RECORD_H */
