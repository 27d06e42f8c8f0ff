// SPDX-License-Identifier: MIT
/*
 * Errors in words: errnos as the library uses them, and the causes that an error completion
 * names. The words for its syndrome are the dialect's.
 *
 * Many calls return the same errno, so its text fits all of them and gives no advice. Advice comes
 * from code that knows the call: see last_error.c.
 */
#include <errno.h>
#include <stddef.h>
#include <gda/cause.h>
#include "gda_internal.h"

const char *gda_error_lookup(const struct gda_error_text *table, size_t count, int code)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (table[i].code == code)
			return table[i].text;
	return NULL;
}

static const struct gda_error_text gda_errnos[] = {
	{ 0, "success" },
	{ E2BIG, "the kernel or the library is older than the program, or a size is not sizeof()" },
	{ EACCES, "no permission" },
	{ EADDRNOTAVAIL, "this machine has no such address or RDMA device" },
	{ EAGAIN, "the ring is full, the memory moves, or a limit of threads is reached" },
	{ EBADF, "no open file" },
	{ EBUSY, "in use, or still referenced by another object" },
	{ ECANCELED, "not carried out: something before it failed" },
	{ ECONNRESET, "a rank joined and then died" },
	{ EEXIST, "another rank has this number" },
	{ EFAULT, "the memory cannot be read, written or pinned" },
	{ EINTR, "interrupted by a signal" },
	{ EINVAL, "a wrong value, or a ticket that was never posted" },
	{ EIO, "the work request failed; the queue is in error" },
	{ EMEDIUMTYPE, "memory that is not write-back cached" },
	{ EMSGSIZE, "longer than one work request may be" },
	{ EMFILE, "too many open files (RLIMIT_NOFILE)" },
	{ ENODEV, "the context was shut down, or its device is gone" },
	{ ENOENT, "no such object, device, name or file" },
	{ ENOMEM, "out of memory, over RLIMIT_MEMLOCK, or at memory.max of the cgroup" },
	{ ENOSPC, "over a limit of the device, of this user or of an object" },
	{ ENOTCONN, "no queue to this rank, or the context is not bound to a device" },
	{ EALREADY, "done already" },
	{ EOPNOTSUPP, "not supported by this device or library" },
	{ ENOTTY, "not known to this kernel" },
	{ ENXIO, "no such region, or memory that no driver has" },
	{ ENOEXEC, "the program cannot be loaded, or has no such task" },
	{ ENOTRECOVERABLE, "a task of the context failed before: gda_dpa_error() says why" },
	{ ERANGE, "not all of the range lies in the object" },
	{ EOVERFLOW, "address plus length wraps" },
	{ EPERM, "refused by policy" },
	{ EPROTO, "the queue is not as the format says" },
	{ ESHUTDOWN, "aborted" },
	{ ETIME, "not done, and the deadline was past before the call: it is absolute" },
	{ ETIMEDOUT, "not done at the deadline" },
};

GDA_EXPORT const char *gda_strerror(int error)
{
	const char *text = GDA_LOOKUP(gda_errnos, error < 0 ? -error : error);

	return text ? text : "unknown error";
}

static const struct gda_error_text gda_causes[] = {
	{ GDA_CAUSE_NONE, "no further detail" },
	{ GDA_CAUSE_DOORBELL, "a doorbell index that no legal producer writes" },
	{ GDA_CAUSE_INDEX, "the entry's index or QP number is not this slot's" },
	{ GDA_CAUSE_OPCODE, "unknown opcode or operand size" },
	{ GDA_CAUSE_SIZE, "segment count impossible for the opcode" },
	{ GDA_CAUSE_LENGTH, "length impossible for the opcode" },
	{ GDA_CAUSE_ALIGN, "the atomic operand is not naturally aligned" },
	{ GDA_CAUSE_KEY, "no such key in the protection domain" },
	{ GDA_CAUSE_REVOKED, "the key's memory was revoked" },
	{ GDA_CAUSE_RIGHTS, "the MR does not grant the right" },
	{ GDA_CAUSE_RANGE, "outside the MR" },
	{ GDA_CAUSE_IO, "memory that the executor cannot reach this way" },
	{ GDA_CAUSE_PEER, "the peer QP is gone or in error" },
	{ GDA_CAUSE_CQ, "the CQ overflowed or is in error, or did not get the entry that was waited for" },
	{ GDA_CAUSE_QUEUE, "the queue's own memory was revoked" },
	{ GDA_CAUSE_RECV, "the peer has no CQ for immediates, or no room in it" },
	{ GDA_CAUSE_DEVICE, "the device was taken away" },
	{ GDA_CAUSE_FORK, "the queue belongs to the parent of this process" },
	{ GDA_CAUSE_FABRIC, "the RDMA fabric gives no further detail" },
	{ GDA_CAUSE_RESERVED, "a bit of the entry is set that must be 0" },
};

GDA_EXPORT const char *gda_vendor_name(uint32_t vendor)
{
	const char *text = GDA_LOOKUP(gda_causes, (int)vendor);

	return text ? text : "unknown vendor syndrome";
}
