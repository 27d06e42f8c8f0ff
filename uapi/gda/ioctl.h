/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/**
 * DOC: The control interface of /dev/gda
 *
 * One open file is one context, and the context is the protection domain:
 * handles, cookies and local keys mean nothing outside it. The first ioctl is
 * GDA_IOC_BIND; until then all others except GDA_IOC_QUERY and GDA_IOC_DEVICE_INFO
 * fail with ENOTCONN.
 *
 * Rules that hold for every structure here:
 *
 * * The first member is @size, set by the caller to sizeof(the structure it was
 *   compiled with). A structure shorter than version 1 is EINVAL. A longer one is
 *   accepted if all bytes past what the kernel knows are zero, else it is E2BIG. New
 *   members are only ever appended, and zero keeps the old behaviour.
 * * Flags and reserved members that the kernel does not know must be zero, or the
 *   call fails with EOPNOTSUPP.
 * * Outputs are written only on success, except for struct gda_mr_tried.
 *
 * errno contract, for all calls:
 *
 * =============  ==========================================================
 * ENOTTY         unknown ioctl number
 * E2BIG          unknown, non-zero bytes behind the known structure, or a structure
 *                larger than a page
 * EINVAL         a known member has a wrong value
 * EOPNOTSUPP     a flag, reserved member or kind that is not supported
 * ENOENT         no such handle of that type in this context, or no such device
 * EBUSY          still referenced by another object
 * EOVERFLOW      address plus length wraps
 * ENOMEM         out of memory, over RLIMIT_MEMLOCK (MRs of user memory, queues), or at the limit
 *                of the caller's memory cgroup: no process is killed for what GDA allocates.
 *                Pages that registration faults in count as the caller's own page faults
 * ENOSPC         too many: over a count that GDA_IOC_QUERY reports, or more contexts or
 *                objects than one user may have. A single value (depth, length) out of
 *                range is EINVAL
 * EAGAIN         no further thread can be created, as fork(2) would report it
 *                (GDA_IOC_BIND); the buffer is being moved (MR registration)
 * EPERM          refused by policy
 * EFAULT         a pointer of the caller's cannot be read, written or pinned
 * ENOTCONN       the context is not bound yet
 * EALREADY       the context is bound already
 * ENODEV         the context was shut down, or its device is gone
 * ENXIO          no peer client owns the memory (GDA_IOC_MR_REG_PEER)
 * EINTR          a signal came first; nothing was done (restarted by SA_RESTART)
 * =============  ==========================================================
 *
 * All integers are in host byte order, all lengths in bytes.
 */
#ifndef _UAPI_GDA_IOCTL_H
#define _UAPI_GDA_IOCTL_H

#include <linux/ioctl.h>
#include <linux/types.h>

/**
 * define GDA_IOC_MAGIC - type of all ioctls; free in the kernel's list of them
 *
 * The numbers carry no size (_IO): a structure may grow, its ioctl stays.
 */
#define GDA_IOC_MAGIC	0xD6

/* Numbers are appended and never reused. */
enum gda_ioc_nr {
	GDA_IOC_NR_BIND = 0x00,
	GDA_IOC_NR_QUERY,
	GDA_IOC_NR_DESTROY,
	GDA_IOC_NR_REGION_INFO,
	GDA_IOC_NR_CQ_CREATE,
	GDA_IOC_NR_QP_CREATE,
	GDA_IOC_NR_QP_ADDRESS,
	GDA_IOC_NR_QP_CONNECT,
	GDA_IOC_NR_QP_QUERY,
	GDA_IOC_NR_MR_REG_USER,
	GDA_IOC_NR_MR_QUERY,
	GDA_IOC_NR_CQ_EVENT,
	GDA_IOC_NR_COUNTER_CREATE,
	GDA_IOC_NR_MR_REG_DMABUF,
	GDA_IOC_NR_REGION_EXPORT,
	GDA_IOC_NR_MR_REG_PEER,
	GDA_IOC_NR_DEVICE_INFO,
	GDA_IOC_NR_RECORD,
	GDA_IOC_NR_PEER_ADD,
	GDA_IOC_NR_END
};

/**
 * define GDA_DEVICE_NAME_MAX - longest device name, with its NUL
 */
#define GDA_DEVICE_NAME_MAX	64

/**
 * define GDA_DEVICE_SOFT - name of the software device, which executes queues in the kernel
 */
#define GDA_DEVICE_SOFT		"soft0"

/**
 * struct gda_bind - choose the device of a context (GDA_IOC_BIND)
 * @size: sizeof(struct gda_bind)
 * @flags: must be 0
 * @device: in: NUL-terminated device name; an empty one means %GDA_DEVICE_SOFT
 *
 * Binding creates the context's worker, a kernel thread that is charged to the caller's
 * cgroups. The worker is not one of the caller's threads: the context continues to work when the
 * process that bound it exits, executes another program or is stopped. A context is bound once
 * (EALREADY).
 *
 * ENOSPC: the number of bound contexts has reached max_contexts for the caller's user, its
 * outermost user namespace or the owner of that namespace; CAP_SYS_RESOURCE overrides this.
 * EAGAIN: the user's processes and workers together have reached RLIMIT_NPROC, or those of the
 * owner of its user namespace have reached the limit with which the namespace was created; as
 * with fork(2), root, CAP_SYS_RESOURCE and CAP_SYS_ADMIN override this. Since Linux 6.12 EAGAIN
 * also means that pids.max of one of the caller's cgroups or the system's limit of threads is
 * reached, or that the caller unshared its pid namespace and can have no further thread. On older
 * kernels pids.max counts workers but does not limit them.
 */
struct gda_bind {
	__u32 size;
	__u32 flags;
	__u8 device[GDA_DEVICE_NAME_MAX];
};
#define GDA_IOC_BIND		_IO(GDA_IOC_MAGIC, GDA_IOC_NR_BIND)

/**
 * DOC: Features
 *
 * Bits of gda_query.features[0]. A feature is probed by its bit (or by
 * EOPNOTSUPP), never by a version.
 *
 * %GDA_FEATURE_DIALECT_MLX5
 *	queues in the mlx5 dialect
 * %GDA_FEATURE_CQ_COLLAPSED
 *	GDA_CQ_COLLAPSED
 * %GDA_FEATURE_CQ_RING
 *	CQs with ownership bits
 * %GDA_FEATURE_MR_USER
 *	GDA_IOC_MR_REG_USER
 * %GDA_FEATURE_DOORBELL_FAULT
 *	idle contexts cost nothing
 * %GDA_FEATURE_QP_POLLED
 *	GDA_QP_POLLED
 * %GDA_FEATURE_CQ_EVENT
 *	GDA_IOC_CQ_EVENT
 * %GDA_FEATURE_COUNTER
 *	GDA_IOC_COUNTER_CREATE
 * %GDA_FEATURE_MR_DMABUF
 *	GDA_IOC_MR_REG_DMABUF
 * %GDA_FEATURE_EXPORT
 *	GDA_IOC_REGION_EXPORT
 * %GDA_FEATURE_IMM
 *	write with immediate: gda_qp_create.recv_cq
 * %GDA_FEATURE_MASKED
 *	masked atomics of 4 and 8 bytes, and DUMP
 * %GDA_FEATURE_MR_PEER
 *	GDA_IOC_MR_REG_PEER
 * %GDA_FEATURE_QUEUE_DMABUF
 *	queues in memory of the caller: struct gda_queue_memory
 * %GDA_FEATURE_USER_INDEX
 *	gda_qp_create.user_index
 * %GDA_FEATURE_IGNORE_OVERRUN
 *	GDA_CQ_IGNORE_OVERRUN
 * %GDA_FEATURE_RNR_RETRY
 *	gda_qp_create.rnr_retry and gda_qp_create.min_rnr_timer
 * %GDA_FEATURE_ATOMIC
 *	fetch-add and compare-swap of 8 bytes
 * %GDA_FEATURE_ATOMIC_CPU
 *	atomics are atomic also with respect to CPUs and other devices. Without it they are
 *	atomic only with respect to atomics executed by the same device
 * %GDA_FEATURE_WORD_STORE
 *	a naturally aligned transfer of 4 or 8 bytes arrives as one store: a program that polls
 *	the word never sees part of it. Without it the program needs an atomic, an immediate or
 *	a completion to know that the transfer has arrived
 * %GDA_FEATURE_LOOPBACK
 *	a QP may be connected to itself
 * %GDA_FEATURE_RECV_COUNTER
 *	gda_qp_create.recv_counter
 * %GDA_FEATURE_RECORD
 *	GDA_IOC_RECORD
 * %GDA_FEATURE_WAIT
 *	work requests that wait for an entry of a CQ (struct gda_mlx5_wait), and
 *	gda_qp_create.wait_ms
 * %GDA_FEATURE_DIALECT_EFA
 *	queues in the efa dialect, and GDA_IOC_PEER_ADD
 * %GDA_FEATURE_COUNTER_MEMORY
 *	counters in memory of the caller, that count some operations only or begin at another
 *	number than zero: all members of struct gda_counter_create behind @counter
 */
#define GDA_FEATURE_DIALECT_MLX5	(1ULL << 0)
#define GDA_FEATURE_CQ_COLLAPSED	(1ULL << 1)
#define GDA_FEATURE_CQ_RING		(1ULL << 2)
#define GDA_FEATURE_MR_USER		(1ULL << 3)
#define GDA_FEATURE_DOORBELL_FAULT	(1ULL << 4)
#define GDA_FEATURE_QP_POLLED		(1ULL << 5)
#define GDA_FEATURE_CQ_EVENT		(1ULL << 6)
#define GDA_FEATURE_COUNTER		(1ULL << 7)
#define GDA_FEATURE_MR_DMABUF		(1ULL << 8)
#define GDA_FEATURE_EXPORT		(1ULL << 9)
#define GDA_FEATURE_IMM			(1ULL << 10)
#define GDA_FEATURE_MASKED		(1ULL << 11)
#define GDA_FEATURE_MR_PEER		(1ULL << 12)
#define GDA_FEATURE_QUEUE_DMABUF	(1ULL << 13)
#define GDA_FEATURE_USER_INDEX		(1ULL << 14)
#define GDA_FEATURE_IGNORE_OVERRUN	(1ULL << 15)
#define GDA_FEATURE_RNR_RETRY		(1ULL << 16)
#define GDA_FEATURE_ATOMIC		(1ULL << 17)
#define GDA_FEATURE_ATOMIC_CPU		(1ULL << 18)
#define GDA_FEATURE_WORD_STORE		(1ULL << 19)
#define GDA_FEATURE_LOOPBACK		(1ULL << 20)
#define GDA_FEATURE_RECV_COUNTER	(1ULL << 21)
#define GDA_FEATURE_RECORD		(1ULL << 22)
#define GDA_FEATURE_WAIT		(1ULL << 23)
#define GDA_FEATURE_DIALECT_EFA		(1ULL << 24)
#define GDA_FEATURE_COUNTER_MEMORY	(1ULL << 25)

/**
 * struct gda_query - features and limits of the bound device (GDA_IOC_QUERY)
 * @size: sizeof(struct gda_query)
 * @flags: must be 0
 * @abi: out: informational only, for bug reports
 * @page_size: out: bytes; cookies and region lengths are multiples of it
 * @features: out: GDA_FEATURE_* bits
 * @max_qp: out: QPs per context
 * @max_cq: out: CQs per context
 * @max_mr: out: MRs per context
 * @max_counter: out: counters per context
 * @max_sq_depth: out: largest send queue in entries; a dialect may have a lower limit
 * @max_cq_depth: out: largest CQ in entries
 * @max_sge: out: local segments of one work request
 * @max_inline: out: bytes of payload inside a work request
 * @max_msg: out: longest transfer of one work request in bytes
 * @reserved: out: 0
 * @max_mr_size: out: largest MR in bytes
 * @idle_ns: out: how long a doorbell may stay unchanged before its page is unmapped
 * @device: out: name of the bound device, NUL-terminated
 *
 * Before the context is bound, @device is empty and the figures are those
 * of %GDA_DEVICE_SOFT, or zero if there is no such device.
 */
struct gda_query {
	__u32 size;
	__u32 flags;
	__u32 abi;
	__u32 page_size;
	__aligned_u64 features[4];
	__u32 max_qp;
	__u32 max_cq;
	__u32 max_mr;
	__u32 max_counter;
	__u32 reserved;
	__u32 max_sq_depth;
	__u32 max_cq_depth;
	__u32 max_sge;
	__u32 max_inline;
	__u32 max_msg;
	__aligned_u64 max_mr_size;
	__aligned_u64 idle_ns;
	__u8 device[GDA_DEVICE_NAME_MAX];
};
#define GDA_IOC_QUERY		_IO(GDA_IOC_MAGIC, GDA_IOC_NR_QUERY)

/**
 * struct gda_device_info - list the devices, one per call (GDA_IOC_DEVICE_INFO)
 * @size: sizeof(struct gda_device_info)
 * @flags: must be 0
 * @after: in: 0, or the id of the previous device
 * @id: out: id of this device
 * @features: out: GDA_FEATURE_* bits
 * @device: out: the name, NUL-terminated, as GDA_IOC_BIND takes it
 *
 * The answer is the device with the smallest id above @after; ENOENT: there is none. Ids increase
 * in the order of registration and are not reused: a program that reads the list while devices come
 * and go sees each device that stays exactly once. The context need not be bound.
 */
struct gda_device_info {
	__u32 size;
	__u32 flags;
	__u32 after;
	__u32 id;
	__aligned_u64 features[4];
	__u8 device[GDA_DEVICE_NAME_MAX];
};
#define GDA_IOC_DEVICE_INFO	_IO(GDA_IOC_MAGIC, GDA_IOC_NR_DEVICE_INFO)

/**
 * define GDA_DESTROY_CONTEXT - destroy every object, revoke every mapping
 */
#define GDA_DESTROY_CONTEXT	(1U << 0)

/**
 * struct gda_destroy - destroy one object, or all (GDA_IOC_DESTROY)
 * @size: sizeof(struct gda_destroy)
 * @flags: 0 or %GDA_DESTROY_CONTEXT
 * @handle: in: object to destroy; must be 0 with %GDA_DESTROY_CONTEXT
 * @reserved: must be 0
 *
 * When the call returns, the executor no longer accesses the object's memory, its
 * mappings fault with SIGBUS, and its key or number is dead. The mapping of a region that
 * several objects share (doorbells, records, counters) faults once the last of them is
 * destroyed; until then stores to a destroyed object's part have no effect. A CQ that a QP
 * uses is EBUSY. After %GDA_DESTROY_CONTEXT every further call on this file is ENODEV.
 * Closing the last reference to the file also destroys the context.
 */
struct gda_destroy {
	__u32 size;
	__u32 flags;
	__u32 handle;
	__u32 reserved;
};
#define GDA_IOC_DESTROY		_IO(GDA_IOC_MAGIC, GDA_IOC_NR_DESTROY)

/**
 * enum gda_region_type - the parts of an object that can be mapped
 * @GDA_REGION_SQ: send queue of a QP: its entries; read and write
 * @GDA_REGION_DBREC: doorbell record of a QP, 8 bytes at the region's offset; read
 *	and write. Dialects without records have no such region
 * @GDA_REGION_DB: doorbell cell of a QP, 64 bytes at the region's offset; read and
 *	write; the first 8 bytes are the doorbell
 * @GDA_REGION_CQ: completion queue; read only unless %GDA_CQ_WRITABLE
 * @GDA_REGION_CQ_DBREC: consumer index record of a ring CQ, 8 bytes at the region's offset; read
 *	and write. Dialects without records have no such region
 * @GDA_REGION_COUNTER: a counter, struct gda_counter_mem at the offset; read only
 * @GDA_REGION_RECORD: the ring of GDA_IOC_RECORD, while there is one, by handle 0. Read only, and
 *	cannot be exported
 */
enum gda_region_type {
	GDA_REGION_SQ = 1,
	GDA_REGION_DBREC = 2,
	GDA_REGION_DB = 3,
	GDA_REGION_CQ = 4,
	GDA_REGION_CQ_DBREC = 5,
	GDA_REGION_COUNTER = 6,
	GDA_REGION_RECORD = 7,
};

/**
 * enum gda_map_type - how a region is mapped
 * @GDA_MAP_RW: ordinary memory, write-back cached, PROT_READ | PROT_WRITE
 * @GDA_MAP_RO: the same, PROT_READ only; it can never be made writable
 */
enum gda_map_type {
	GDA_MAP_RW = 1,
	GDA_MAP_RO = 2,
};

/**
 * struct gda_region_info - where a region is mapped
 * @cookie: offset for mmap(2); page-aligned, below 2^44, opaque
 * @length: length for mmap(2), which accepts no other
 * @offset: where this object's part begins inside the mapping
 * @map: enum gda_map_type
 *
 * Map it by mmap(NULL, length, prot, MAP_SHARED, fd, cookie). Any other length or offset,
 * MAP_PRIVATE and PROT_EXEC are refused (EINVAL, EPERM; ENXIO for a cookie of another
 * context). Doorbells and records of several QPs may share a region and
 * then have the same cookie.
 */
struct gda_region_info {
	__aligned_u64 cookie;
	__aligned_u64 length;
	__u32 offset;
	__u32 map;
};

/**
 * struct gda_region_query - look a region up again (GDA_IOC_REGION_INFO)
 * @size: sizeof(struct gda_region_query)
 * @flags: must be 0
 * @handle: in: a CQ or QP
 * @type: in: enum gda_region_type
 * @info: out: as returned when the object was created
 *
 * ENOENT if the object has no region of that type; EINVAL if there is no such type.
 */
struct gda_region_query {
	__u32 size;
	__u32 flags;
	__u32 handle;
	__u32 type;
	struct gda_region_info info;
};
#define GDA_IOC_REGION_INFO	_IO(GDA_IOC_MAGIC, GDA_IOC_NR_REGION_INFO)

/**
 * struct gda_queue_memory - a part of a queue that lies in a dma-buf of the caller
 * @offset: in: first byte; a multiple of 64, for a record of 8
 * @fd: in: the dma-buf, open for reading and writing
 * @reserved: must be 0
 *
 * A flag of CQ or QP creation says that the part lies in a dma-buf; without the flag this
 * structure must be zero (EINVAL). Such a part has no region: its struct gda_region_info is zero on
 * return, and GDA_IOC_REGION_INFO and GDA_IOC_REGION_EXPORT return ENOENT. Posters map the dma-buf
 * itself. Creation sets a record to zero and presets the entries of a CQ.
 *
 * The object holds a reference on the dma-buf. The exporter may revoke the memory at any time:
 * once the exporter's call returns, the executor no longer reads or writes it, and the QP, or
 * every QP of the CQ, is in the error state for good (%GDA_CAUSE_QUEUE). Slots that were
 * published by then are flushed with one completion each; a ring without room for them overflows.
 * A CQ that lost its memory gets no completions: GDA_IOC_QP_QUERY has the reason.
 *
 * EBADF, EINVAL: @fd is no dma-buf, or the part is not inside of it or not aligned.
 * EOVERFLOW: @offset plus length wraps. EACCES: @fd is not writable. EBUSY: the part overlaps with
 * another part of this or another queue of the context (in the same dma-buf; two dma-bufs of
 * the same pages are not detected). EOPNOTSUPP: the software device needs a CPU mapping (vmap),
 * which the exporter does not provide, or the memory is I/O memory. EMEDIUMTYPE: the CPU mapping is
 * not write-back cached, so that posters would not see its stores in order (checked only on x86).
 * EAGAIN: the buffer was moved meanwhile. ETIMEDOUT: the buffer stayed busy.
 */
struct gda_queue_memory {
	__aligned_u64 offset;
	__s32 fd;
	__u32 reserved;
};

/**
 * DOC: What queues cost
 *
 * The pages behind a CQ, QP or counter are charged to RLIMIT_MEMLOCK of the user who
 * creates it, together with MRs of user memory (ENOMEM), unless the process has
 * CAP_IPC_LOCK:
 *
 * * entries of a CQ and of a send queue, of the size that dialect and creator choose, in whole
 *   pages of their own (a collapsed CQ: one page)
 * * doorbells, records and counters: 64 bytes each, in pages that the objects of a context
 *   share
 * * parts in memory of the caller (struct gda_queue_memory): nothing
 *
 * A page is uncharged when the last object, mapping or dma-buf that holds it is gone, in
 * whichever process that is. A queue's page tables and the kernel's own structures (less than 4 KiB
 * for a QP and its CQ) are charged only to the memory cgroup; the limits on objects bound them.
 * Creation fails with ENOMEM if it would leave the cgroup fewer than 16 pages, so that
 * the next page fault of a process in the cgroup does not invoke the OOM killer.
 */

/**
 * DOC: CQ flags
 *
 * %GDA_CQ_COLLAPSED
 *	One entry that every completion of the CQ's only QP overwrites (a second QP
 *	is EBUSY). Its bytes are 0xff at creation: opcode "invalid", counter 0xffff.
 * %GDA_CQ_WRITABLE
 *	May be mapped read-write, for GPU drivers that can only register writable
 *	memory; the kernel never reads it back.
 * %GDA_CQ_DMABUF
 *	The entries lie in gda_cq_create.cq_memory.
 * %GDA_CQ_DBREC_DMABUF
 *	The consumer index record lies in gda_cq_create.dbrec_memory. Not with
 *	%GDA_CQ_COLLAPSED.
 * %GDA_CQ_IGNORE_OVERRUN
 *	As IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN: the consumer does not report its index. The
 *	consumer index record exists but is not read. A ring never overflows and accepts every
 *	immediate; an entry that was not read in time is overwritten in a later
 *	lap. A collapsed CQ never overflows anyway.
 */
#define GDA_CQ_COLLAPSED	(1U << 0)
#define GDA_CQ_WRITABLE		(1U << 1)
#define GDA_CQ_DMABUF		(1U << 2)
#define GDA_CQ_DBREC_DMABUF	(1U << 3)
#define GDA_CQ_IGNORE_OVERRUN	(1U << 4)

/**
 * struct gda_cq_create - create a completion queue (GDA_IOC_CQ_CREATE)
 * @size: sizeof(struct gda_cq_create)
 * @flags: GDA_CQ_*
 * @depth: in: entries, a power of two; 1 for a collapsed CQ
 * @handle: out
 * @cqn: out: number of the CQ on its device, informational
 * @reserved: must be 0
 * @cq: out: the entries
 * @dbrec: out: consumer index record; all zero for a collapsed CQ
 * @cq_memory: in: with %GDA_CQ_DMABUF
 * @dbrec_memory: in: with %GDA_CQ_DBREC_DMABUF
 * @dialect: in: enum gda_dialect, the format of the entries; 0: %GDA_DIALECT_MLX5.
 *	EOPNOTSUPP: the device does not have the dialect
 * @stride: in: bytes from an entry to the next; 0: the default. mlx5: 64. efa: 32 (default) or 16;
 *	a CQ with 16 cannot receive immediates
 *
 * An entry of a ring names a posted work request. If a QP fails while nothing
 * is posted to it, its ring has no entry at first: the CQ's event is signaled, GDA_IOC_QP_QUERY has
 * the reason, and the next posted work request completes with that error. A collapsed CQ
 * is written at once, and its entry names the next slot.
 */
struct gda_cq_create {
	__u32 size;
	__u32 flags;
	__u32 depth;
	__u32 handle;
	__u32 cqn;
	__u32 reserved;
	struct gda_region_info cq;
	struct gda_region_info dbrec;
	struct gda_queue_memory cq_memory;
	struct gda_queue_memory dbrec_memory;
	__u32 dialect;
	__u32 stride;
};
#define GDA_IOC_CQ_CREATE	_IO(GDA_IOC_MAGIC, GDA_IOC_NR_CQ_CREATE)

/**
 * DOC: CQ events
 *
 * When a CQ signals its eventfd. It signals once; then it must be armed again.
 *
 * %GDA_CQ_ARM
 *	At the next completion.
 * %GDA_CQ_ARM_SOLICITED
 *	At the next completion that is solicited or an error.
 * %GDA_CQ_DETACH
 *	Never: disarm the CQ and release its eventfd, if it has one. Drivers that do not
 *	know the flag return EOPNOTSUPP.
 */
#define GDA_CQ_ARM		(1U << 0)
#define GDA_CQ_ARM_SOLICITED	(1U << 1)
#define GDA_CQ_DETACH		(1U << 2)

/**
 * struct gda_cq_event - wait for a CQ without polling (GDA_IOC_CQ_EVENT)
 * @size: sizeof(struct gda_cq_event)
 * @flags: %GDA_CQ_ARM, %GDA_CQ_ARM_SOLICITED, %GDA_CQ_DETACH, or 0 to disarm
 * @handle: in: a CQ of this context
 * @eventfd: in: eventfd(2) to signal; -1: the one of the previous call (EINVAL if none);
 *	with %GDA_CQ_DETACH it must be -1 (EINVAL)
 *
 * A completion that was written before the call signals nothing: arm, poll the
 * CQ once more, then wait. EBADF or EINVAL: @eventfd is no eventfd. ENOMEM. ENODEV: the memory of
 * the CQ was revoked (struct gda_queue_memory) and nothing would signal; an eventfd that was armed
 * before has been signaled. A QP that fails while nothing is posted to it signals a ring once
 * without an entry: a program that arms the ring later must call GDA_IOC_QP_QUERY.
 *
 * The worker of the CQ's context signals, soon after the entry was written. If the CQ is disarmed,
 * given another eventfd, detached or destroyed in between, the signal still goes to the
 * eventfd with which the CQ was armed. If the worker finds two events of a CQ together, it signals
 * once.
 */
struct gda_cq_event {
	__u32 size;
	__u32 flags;
	__u32 handle;
	__s32 eventfd;
};
#define GDA_IOC_CQ_EVENT	_IO(GDA_IOC_MAGIC, GDA_IOC_NR_CQ_EVENT)

/**
 * struct gda_counter_mem - a completion counter in memory
 * @value: requests that ended without error; 64 bits, never wraps in practice
 * @errors: work requests that ended with an error or were flushed
 *
 * The executor increments @value after the effects of the request are visible (load it with acquire
 * order). The counter does not say which request completed.
 */
struct gda_counter_mem {
	__aligned_u64 value;
	__aligned_u64 errors;
};

/**
 * DOC: Counters in memory of the caller
 *
 * Each of the two counts of a counter can also be stored to a 64-bit word in an MR of the caller,
 * as hardware stores completion counters (efa's comp_cntr). The words may be in two MRs of any
 * kind: pages of the process, a dma-buf, memory of a peer driver.
 *
 * The counter itself stays where it is and has the count. After each visit of the queue the
 * executor stores the counts that have changed to their words. It never reads the words: a word
 * that its owner overwrites changes no count, and has the count again after the next request that
 * counts. Load a word with acquire order. A word is behind its count by one visit at most. A QP
 * whose @recv_counter has a word is polled as with %GDA_QP_POLLED.
 *
 * The MR is used as by a work request of the context. Once it was revoked or destroyed, the
 * executor no longer writes the word, and each QP that counts there goes into error for good
 * with %GDA_CAUSE_QUEUE when a count changes. The counter and the other word still have all counts.
 *
 * %GDA_COUNTER_VALUE_MEMORY
 *	The successes are also stored to gda_counter_create.value_memory.
 * %GDA_COUNTER_ERRORS_MEMORY
 *	The errors are also stored to gda_counter_create.errors_memory.
 * %GDA_COUNTER_WRAP31
 *	The words, but not the counter, begin at 0 again after %GDA_COUNTER_WRAP - 1.
 */
#define GDA_COUNTER_VALUE_MEMORY	(1U << 0)
#define GDA_COUNTER_ERRORS_MEMORY	(1U << 1)
#define GDA_COUNTER_WRAP31		(1U << 2)

/**
 * define GDA_COUNTER_WRAP - the number that a word with %GDA_COUNTER_WRAP31 never reaches
 */
#define GDA_COUNTER_WRAP		(1ULL << 31)

/**
 * DOC: Operations that count
 *
 * Bits of gda_counter_create.ops, with the values of verbs (enum ibv_comp_cntr_attach_op).
 *
 * %GDA_COUNT_READ
 *	Reads of the QP, as its sent_counter.
 * %GDA_COUNT_WRITE
 *	Writes of the QP, with immediate or without, as its sent_counter.
 * %GDA_COUNT_REMOTE_WRITE
 *	Writes and atomics of the peer, as the recv_counter of a QP.
 */
#define GDA_COUNT_READ			(1U << 2)
#define GDA_COUNT_WRITE			(1U << 4)
#define GDA_COUNT_REMOTE_WRITE		(1U << 5)

/**
 * struct gda_counter_memory - a word in memory of the caller
 * @addr: in: the address as work requests name it; the word must be 8-byte aligned
 * @key: in: an MR of the context with %GDA_ACCESS_LOCAL_WRITE
 * @reserved: must be 0
 */
struct gda_counter_memory {
	__aligned_u64 addr;
	__u32 key;
	__u32 reserved;
};

/**
 * struct gda_counter_create - create a counter (GDA_IOC_COUNTER_CREATE)
 * @size: sizeof(struct gda_counter_create)
 * @flags: GDA_COUNTER_*
 * @handle: out
 * @reserved: must be 0
 * @counter: out: where to map it, read only
 * @ops: in: GDA_COUNT_*, the operations whose successes count; 0: all. Errors always count.
 *	EOPNOTSUPP: an unknown one
 * @reserved2: must be 0
 * @value_memory: in: with %GDA_COUNTER_VALUE_MEMORY, else zero (EINVAL)
 * @errors_memory: in: with %GDA_COUNTER_ERRORS_MEMORY, else zero (EINVAL)
 * @first_value: in: the number of successes to begin with, usually 0
 * @first_errors: in: the number of errors to begin with, usually 0
 *
 * A QP names its counters at creation. A counter that a QP uses is EBUSY; several
 * QPs may share one. A counter that counts no operation for which a QP would use it is EINVAL at
 * the creation of that QP.
 *
 * Of both words: they are set to the first counts. ENOENT: the context has no MR with this key, or
 * the MR was revoked. EACCES: the MR lacks %GDA_ACCESS_LOCAL_WRITE. EINVAL: the word is not inside
 * the MR or not aligned, both words overlap, or %GDA_COUNTER_WRAP31 is set without a word.
 * EOPNOTSUPP: the memory has no CPU mapping.
 */
struct gda_counter_create {
	__u32 size;
	__u32 flags;
	__u32 handle;
	__u32 reserved;
	struct gda_region_info counter;
	__u32 ops;
	__u32 reserved2;
	struct gda_counter_memory value_memory;
	struct gda_counter_memory errors_memory;
	__aligned_u64 first_value;
	__aligned_u64 first_errors;
};
#define GDA_IOC_COUNTER_CREATE	_IO(GDA_IOC_MAGIC, GDA_IOC_NR_COUNTER_CREATE)

/**
 * enum gda_dialect - byte format of a queue
 * @GDA_DIALECT_MLX5: gda/mlx5.h
 * @GDA_DIALECT_EFA: gda/efa.h: requests may complete in any order, and each names its target by the
 *	numbers that GDA_IOC_PEER_ADD returns. Such a QP is not connected: it is %GDA_QP_READY once
 *	created. It has no doorbell record. Its CQs have no consumer index and are always rings
 */
enum gda_dialect {
	GDA_DIALECT_MLX5 = 1,
	GDA_DIALECT_EFA = 2,
};

/**
 * DOC: QP flags
 *
 * %GDA_QP_POLLED
 *	The doorbell is polled periodically even if no store to it faults: for posters that
 *	are devices, or that map its page by other means. The context never becomes fully idle.
 * %GDA_QP_SQ_DMABUF
 *	The send queue lies in gda_qp_create.sq_memory.
 * %GDA_QP_DBREC_DMABUF
 *	The doorbell record lies in gda_qp_create.dbrec_memory. A poster that writes only the
 *	record and not the doorbell also needs %GDA_QP_POLLED.
 */
#define GDA_QP_POLLED		(1U << 0)
#define GDA_QP_SQ_DMABUF	(1U << 1)
#define GDA_QP_DBREC_DMABUF	(1U << 2)

/**
 * DOC: Receiver not ready
 *
 * Limits of gda_qp_create.rnr_retry and gda_qp_create.min_rnr_timer, by which a work request waits
 * for room at the peer for at most 3.9 s.
 *
 * %GDA_MAX_RNR_RETRY
 *	Largest number of retries.
 * %GDA_MAX_MIN_RNR_TIMER
 *	Largest code of a delay.
 */
/**
 * define GDA_DEFAULT_WAIT_MS - how long a work request waits for a CQ entry if
 *	gda_qp_create.wait_ms is 0
 */
#define GDA_DEFAULT_WAIT_MS	10000

#define GDA_MAX_RNR_RETRY	6
#define GDA_MAX_MIN_RNR_TIMER	31

/**
 * struct gda_qp_create - create a queue pair (GDA_IOC_QP_CREATE)
 * @size: sizeof(struct gda_qp_create)
 * @flags: GDA_QP_*
 * @dialect: in: enum gda_dialect
 * @cq: in: handle of the CQ that receives the completions
 * @sq_depth: in: entries, a power of two, 1 to max_sq_depth or the dialect's lower limit
 * @handle: out
 * @qpn: out: 24-bit queue pair number on the device; in dialects whose requests name their target,
 *	its low 16 bits are the QP's number within the context
 * @reserved: must be 0
 * @sq: out: the send queue
 * @dbrec: out: the doorbell record
 * @db: out: the doorbell
 * @recv_cq: in: handle of a ring CQ that receives the completions of the peer's writes with
 *	immediate; 0: none, such writes then fail. It may be @cq. While it is full, such writes
 *	wait and then fail (@rnr_retry of the peer; by default at once). So a peer can fill the
 *	CQ: if it also takes completions of this QP, it overflows by them unless it is read.
 * @sent_counter: in: handle of a counter of work requests completed here; 0: none
 * @recv_counter: in: handle of a counter of the peer's writes and atomics that have
 *	arrived here, one per request; 0: none
 * @sq_entry: in: bytes of a send queue entry; 0: 64. efa also has 128, for inline payload
 * @sq_memory: in: with %GDA_QP_SQ_DMABUF
 * @dbrec_memory: in: with %GDA_QP_DBREC_DMABUF
 * @user_index: in: 24 bits that the CQEs of this QP carry beside its number, for its own work and
 *	for immediates; more bits are EINVAL
 * @rnr_retry: in: how often a write with immediate of this QP is retried while the
 *	peer's @recv_cq has no room, 0 to %GDA_MAX_RNR_RETRY (7, which in verbs means no limit, is
 *	EINVAL). Meanwhile the QP executes nothing else
 * @min_rnr_timer: in: delay before each retry of the peer, 0 to
 *	%GDA_MAX_MIN_RNR_TIMER, by the code of ibv_qp_attr: 1 is 10 us, 12 is 640 us, 31 is
 *	491.52 ms, 0 is 655.36 ms
 * @wait_ms: in: how long a work request of this QP waits for a CQ entry before it fails, in
 *	milliseconds; 0: %GDA_DEFAULT_WAIT_MS
 */
struct gda_qp_create {
	__u32 size;
	__u32 flags;
	__u32 dialect;
	__u32 cq;
	__u32 sq_depth;
	__u32 handle;
	__u32 qpn;
	__u32 reserved;
	struct gda_region_info sq;
	struct gda_region_info dbrec;
	struct gda_region_info db;
	__u32 recv_cq;
	__u32 sent_counter;
	__u32 recv_counter;
	__u32 sq_entry;
	struct gda_queue_memory sq_memory;
	struct gda_queue_memory dbrec_memory;
	__u32 user_index;
	__u32 rnr_retry;
	__u32 min_rnr_timer;
	__u32 wait_ms;
};
#define GDA_IOC_QP_CREATE	_IO(GDA_IOC_MAGIC, GDA_IOC_NR_QP_CREATE)

/**
 * define GDA_ADDRESS_BYTES - size of a QP's address
 */
#define GDA_ADDRESS_BYTES	32

/**
 * struct gda_qp_address - the address a peer connects to (GDA_IOC_QP_ADDRESS)
 * @size: sizeof(struct gda_qp_address)
 * @flags: must be 0
 * @handle: in: a QP of this context
 * @reserved: must be 0
 * @address: out: opaque bytes, which the program carries to the peer by any means
 */
struct gda_qp_address {
	__u32 size;
	__u32 flags;
	__u32 handle;
	__u32 reserved;
	__u8 address[GDA_ADDRESS_BYTES];
};
#define GDA_IOC_QP_ADDRESS	_IO(GDA_IOC_MAGIC, GDA_IOC_NR_QP_ADDRESS)

/**
 * struct gda_qp_connect - connect a QP to its peer (GDA_IOC_QP_CONNECT)
 * @size: sizeof(struct gda_qp_connect)
 * @flags: must be 0
 * @handle: in: a QP of this context
 * @reserved: must be 0
 * @address: in: the peer's address; the QP's own address connects it to itself
 *
 * Connecting is mutual: requests posted to the queue wait until the peer has named
 * this QP too. EINVAL: the address is malformed. ENOENT: no such QP (any more).
 * EALREADY: this QP has named a peer, or has failed. EBUSY: that peer has named
 * another QP. ENOSPC: too many QPs wait for that peer already. EOPNOTSUPP: one of the QPs has a
 * dialect in which each request names its target.
 */
struct gda_qp_connect {
	__u32 size;
	__u32 flags;
	__u32 handle;
	__u32 reserved;
	__u8 address[GDA_ADDRESS_BYTES];
};
#define GDA_IOC_QP_CONNECT	_IO(GDA_IOC_MAGIC, GDA_IOC_NR_QP_CONNECT)

/**
 * enum gda_qp_state - state of a QP
 * @GDA_QP_INIT: created, no peer named
 * @GDA_QP_WAIT: this QP has named its peer, which has not named this QP yet
 * @GDA_QP_READY: connected; posted work is executed
 * @GDA_QP_ERROR: failed, for good; posted work completes as flushed
 */
enum gda_qp_state {
	GDA_QP_INIT = 0,
	GDA_QP_WAIT = 1,
	GDA_QP_READY = 2,
	GDA_QP_ERROR = 3,
};

/**
 * enum gda_qp_worker - state of the worker that serves a QP
 * @GDA_QP_WORKER_NONE: there is no worker: the device reads its queues itself
 * @GDA_QP_WORKER_RUNS: the worker executes or polls, as far as it gets a processor
 * @GDA_QP_WORKER_SLEEPS: the worker sleeps until a store to a doorbell, or for a moment
 */
enum gda_qp_worker {
	GDA_QP_WORKER_NONE = 0,
	GDA_QP_WORKER_RUNS = 1,
	GDA_QP_WORKER_SLEEPS = 2,
};

/**
 * struct gda_qp_query - state of a QP (GDA_IOC_QP_QUERY)
 * @size: sizeof(struct gda_qp_query)
 * @flags: must be 0
 * @handle: in: a QP of this context
 * @state: out: enum gda_qp_state
 * @syndrome: out: syndrome of the first error, as in the dialect; 0 without one
 * @vendor: out: vendor syndrome of the first error, enum gda_cause
 * @sq_depth: out: slots
 * @qpn: out: number of this QP
 * @error_index: out: 64-bit index of the slot that failed first
 * @consumer: out: slots consumed by the executor since creation
 * @producer: out: slots that the executor has seen published
 * @executed: out: work requests that completed without error
 * @flushed: out: work requests flushed
 * @bytes: out: payload bytes moved by this QP
 * @peer: out: number of the QP that this one is connected to or has named; 0: none, or
 *	unknown to the executor
 * @delayed: out: 1 if the peer has no room for an immediate and the QP will retry
 * @in_flight: out: work requests that a device or a copier has begun and not finished
 * @worker: out: enum gda_qp_worker
 * @passes: out: how often the worker has polled all queues of the context
 * @qkey: out: key by which requests name this QP; 0 if the dialect has none
 * @sq_entry: out: bytes of a send queue entry
 * @sent_value: out: the word of the sent_counter's successes; zero without one
 * @sent_errors: out: likewise, of its errors
 * @recv_value: out: likewise, of the recv_counter's successes
 */
struct gda_qp_query {
	__u32 size;
	__u32 flags;
	__u32 handle;
	__u32 state;
	__u32 syndrome;
	__u32 vendor;
	__u32 sq_depth;
	__u32 qpn;
	__aligned_u64 error_index;
	__aligned_u64 consumer;
	__aligned_u64 producer;
	__aligned_u64 executed;
	__aligned_u64 flushed;
	__aligned_u64 bytes;
	__u32 peer;
	__u32 delayed;
	__u32 in_flight;
	__u32 worker;
	__aligned_u64 passes;
	__u32 qkey;
	__u32 sq_entry;
	struct gda_counter_memory sent_value;
	struct gda_counter_memory sent_errors;
	struct gda_counter_memory recv_value;
};
#define GDA_IOC_QP_QUERY	_IO(GDA_IOC_MAGIC, GDA_IOC_NR_QP_QUERY)

/**
 * DOC: Rights of an MR
 *
 * As in verbs, remote write and atomic rights need local write. Local read is
 * always granted.
 *
 * %GDA_ACCESS_LOCAL_WRITE
 *	Requests of its own context may write to it: the target of a get, the old value
 *	of an atomic.
 * %GDA_ACCESS_REMOTE_WRITE
 *	Requests of the connected peer may write to it.
 * %GDA_ACCESS_REMOTE_READ
 *	Requests of the connected peer may read it.
 * %GDA_ACCESS_REMOTE_ATOMIC
 *	Atomics of the connected peer may change it.
 * %GDA_ACCESS_ALL
 *	All of these.
 */
#define GDA_ACCESS_LOCAL_WRITE		(1U << 0)
#define GDA_ACCESS_REMOTE_WRITE		(1U << 1)
#define GDA_ACCESS_REMOTE_READ		(1U << 2)
#define GDA_ACCESS_REMOTE_ATOMIC	(1U << 3)
#define GDA_ACCESS_ALL			0xfU

/**
 * define GDA_MR_ZERO_BASED - flag of MR registration, iova starts at 0
 */
#define GDA_MR_ZERO_BASED		(1U << 0)

/**
 * struct gda_mr_tried - why each registration method failed
 * @user: positive errno of pinning the pages; 0: this worked or was not tried
 * @peer: positive errno of the peer clients; 0: this worked or was not tried. ENXIO: no client
 *	claims the memory, or there is no client
 * @reserved: 0
 *
 * Written also if the call fails, provided that the caller's structure includes it.
 */
struct gda_mr_tried {
	__u16 user;
	__u16 peer;
	__u32 reserved;
};

/**
 * struct gda_mr_reg_user - register memory of the caller (GDA_IOC_MR_REG_USER)
 * @size: sizeof(struct gda_mr_reg_user)
 * @flags: 0 or %GDA_MR_ZERO_BASED
 * @addr: in: start in the caller's address space, any alignment
 * @length: in: 1 to max_mr_size
 * @access: in: GDA_ACCESS_*
 * @handle: out
 * @key: out: names the MR in work requests, local and remote alike; opaque
 * @reserved: must be 0
 * @iova: out: address of the first byte in work requests
 * @tried: out: why each registration method failed
 *
 * The pages are pinned until the MR is destroyed and are charged to
 * RLIMIT_MEMLOCK of the user (ENOMEM), unless CAP_IPC_LOCK. If the range cannot be pinned with
 * these rights (unmapped, read-only, device memory, file-backed where the kernel refuses long-term
 * pins), it is registered as peer memory, with the errors of GDA_IOC_MR_REG_PEER. EFAULT: it is not
 * peer memory either. EOVERFLOW: @addr plus @length wraps.
 */
struct gda_mr_reg_user {
	__u32 size;
	__u32 flags;
	__aligned_u64 addr;
	__aligned_u64 length;
	__u32 access;
	__u32 handle;
	__u32 key;
	__u32 reserved;
	__aligned_u64 iova;
	struct gda_mr_tried tried;
};
#define GDA_IOC_MR_REG_USER	_IO(GDA_IOC_MAGIC, GDA_IOC_NR_MR_REG_USER)

/**
 * struct gda_mr_reg_peer - register memory of another driver (GDA_IOC_MR_REG_PEER)
 * @size: sizeof(struct gda_mr_reg_peer)
 * @flags: 0 or %GDA_MR_ZERO_BASED
 * @addr: in: start of the caller's mapping, any alignment
 * @length: in: 1 to max_mr_size
 * @access: in: GDA_ACCESS_*
 * @handle: out
 * @key: out
 * @reserved: must be 0
 * @iova: out: address of the first byte in work requests
 *
 * For device memory that only the device's own driver can provide; that driver has to be a peer
 * client (kmod/include/gda/peer_memory.h). As the exporter of a dma-buf, the driver may revoke the
 * memory at any time: see struct gda_mr_reg_dmabuf. ENXIO: no client owns the whole range.
 * If one does, errors are the client's; EACCES: the mapping lacks the rights of @access.
 * EOPNOTSUPP: the software device needs a CPU address, which the memory lacks. ENODEV: the device
 * is gone. EFAULT: not an address of user space.
 */
struct gda_mr_reg_peer {
	__u32 size;
	__u32 flags;
	__aligned_u64 addr;
	__aligned_u64 length;
	__u32 access;
	__u32 handle;
	__u32 key;
	__u32 reserved;
	__aligned_u64 iova;
};
#define GDA_IOC_MR_REG_PEER	_IO(GDA_IOC_MAGIC, GDA_IOC_NR_MR_REG_PEER)

/**
 * struct gda_mr_reg_dmabuf - register (part of) a dma-buf (GDA_IOC_MR_REG_DMABUF)
 * @size: sizeof(struct gda_mr_reg_dmabuf)
 * @flags: 0 or %GDA_MR_ZERO_BASED
 * @offset: in: first byte inside the dma-buf, any alignment
 * @length: in: 1 to max_mr_size
 * @iova: in and out: address of the first byte in work requests, which the caller
 *	chooses; 0 with %GDA_MR_ZERO_BASED
 * @access: in: GDA_ACCESS_*
 * @fd: in: the dma-buf, open with the rights that @access needs
 * @handle: out
 * @key: out
 *
 * The MR holds a reference on the dma-buf. The exporter may revoke the memory at any time: the
 * MR is then revoked (enum gda_mr_state), and requests that name it fail. Once the
 * exporter's call returns, the executor no longer reads or writes the memory. EBADF, EINVAL:
 * @fd is no dma-buf, or the range is outside of it. EACCES: @fd is not writable.
 * EOPNOTSUPP: the software device needs a CPU mapping (vmap), which the exporter does not provide;
 * a region that is exported read-only has none. EAGAIN: the buffer was moved during the
 * registration. ETIMEDOUT: the buffer stayed busy.
 */
struct gda_mr_reg_dmabuf {
	__u32 size;
	__u32 flags;
	__aligned_u64 offset;
	__aligned_u64 length;
	__aligned_u64 iova;
	__u32 access;
	__s32 fd;
	__u32 handle;
	__u32 key;
};
#define GDA_IOC_MR_REG_DMABUF	_IO(GDA_IOC_MAGIC, GDA_IOC_NR_MR_REG_DMABUF)

/**
 * struct gda_region_export - export a region as a dma-buf (GDA_IOC_REGION_EXPORT)
 * @size: sizeof(struct gda_region_export)
 * @flags: must be 0
 * @handle: in: a CQ, QP or counter
 * @type: in: enum gda_region_type
 * @fd: out: the dma-buf, close-on-exec
 * @offset: out: where this object's part begins in the dma-buf
 * @length: out: size of the dma-buf
 *
 * For devices that map a queue. The dma-buf keeps the pages alive, not the object. It
 * may outlive the context; the executor then no longer reads the pages. A read-only region is
 * exported read-only. While a dma-buf of a doorbell exists, the doorbell is polled as with
 * %GDA_QP_POLLED, because stores of devices do not fault.
 *
 * When the device is removed, the dma-buf is revoked: importers are notified, and attaching,
 * mapping and registering it are ENODEV from then on. Existing mappings stay.
 *
 * Mapping the dma-buf fails with EMEDIUMTYPE for a device that would use a bounce buffer because it
 * cannot reach the pages: the copy would differ from the queue. The program sees this error
 * when that device's driver imports the dma-buf.
 */
struct gda_region_export {
	__u32 size;
	__u32 flags;
	__u32 handle;
	__u32 type;
	__s32 fd;
	__u32 offset;
	__aligned_u64 length;
};
#define GDA_IOC_REGION_EXPORT	_IO(GDA_IOC_MAGIC, GDA_IOC_NR_REGION_EXPORT)

/**
 * enum gda_mr_state - state of an MR
 * @GDA_MR_LIVE: usable
 * @GDA_MR_REVOKED: its memory was revoked; work that names it fails
 */
enum gda_mr_state {
	GDA_MR_LIVE = 1,
	GDA_MR_REVOKED = 2,
};

/**
 * enum gda_mr_kind - where the memory of an MR comes from
 * @GDA_KIND_USER: pages of the caller's address space
 * @GDA_KIND_DMABUF: a dma-buf
 * @GDA_KIND_PEER: memory of another driver, by address
 */
enum gda_mr_kind {
	GDA_KIND_USER = 1,
	GDA_KIND_DMABUF = 2,
	GDA_KIND_PEER = 3,
};

/**
 * struct gda_mr_query - describe an MR (GDA_IOC_MR_QUERY)
 * @size: sizeof(struct gda_mr_query)
 * @flags: must be 0
 * @handle: in: an MR of this context
 * @key: out
 * @kind: out: enum gda_mr_kind
 * @state: out: enum gda_mr_state
 * @access: out: GDA_ACCESS_*
 * @reserved: must be 0
 * @iova: out: address of the first byte in work requests
 * @length: out: bytes
 */
struct gda_mr_query {
	__u32 size;
	__u32 flags;
	__u32 handle;
	__u32 key;
	__u32 kind;
	__u32 state;
	__u32 access;
	__u32 reserved;
	__aligned_u64 iova;
	__aligned_u64 length;
};
#define GDA_IOC_MR_QUERY	_IO(GDA_IOC_MAGIC, GDA_IOC_NR_MR_QUERY)

/**
 * struct gda_record_set - start or stop recording work (GDA_IOC_RECORD)
 * @size: sizeof(struct gda_record_set)
 * @flags: must be 0
 * @records: in: size of the ring in records, a power of two, %GDA_RECORD_MIN to %GDA_RECORD_MAX; 0:
 *	stop. out: size of the ring
 * @reserved: must be 0
 * @ring: out: where to map the ring, read only; zero if there is no ring
 *
 * Each context always keeps its newest control events and errors (gda/record.h). After this
 * call its executor also records all work in a ring, which begins with those events. If there is
 * a ring already, the call returns that one, whatever size it asks for. The pages are
 * charged as those of queues. Stopping ends the mappings, as does the end of the context.
 *
 * EINVAL: @records. EOPNOTSUPP: the device reads its queues itself and records nothing.
 */
struct gda_record_set {
	__u32 size;
	__u32 flags;
	__u32 records;
	__u32 reserved;
	struct gda_region_info ring;
};
#define GDA_IOC_RECORD		_IO(GDA_IOC_MAGIC, GDA_IOC_NR_RECORD)

/**
 * define GDA_MAX_PEERS - how many other contexts a context can name by address handles
 */
#define GDA_MAX_PEERS		65535

/**
 * struct gda_peer_add - get the numbers by which requests name a QP (GDA_IOC_PEER_ADD)
 * @size: sizeof(struct gda_peer_add)
 * @flags: must be 0
 * @handle: out: for GDA_IOC_DESTROY
 * @ah: out: 16-bit address handle, by which requests of this context name the QP's context
 * @number: out: 16-bit number of the QP within its context
 * @qkey: out: key of the QP; a work request with a wrong key fails the QP that it is posted to
 * @address: in: the QP's address from GDA_IOC_QP_ADDRESS; the QP may belong to this context
 *
 * Work flows only between contexts that have address handles of each other. Before both have one,
 * and after either has destroyed its last one, a work request fails without failing its QP.
 * GDA_IOC_DESTROY of @handle undoes one call. All calls for QPs of one context
 * return the same @ah, which exists until the last of them is undone.
 *
 * EINVAL: the address is malformed, or the QP's dialect needs a connection. ENOENT: no such QP
 * (any more). ENOSPC: the context names %GDA_MAX_PEERS others already. EOPNOTSUPP: the device has
 * no dialect whose requests name their target.
 */
struct gda_peer_add {
	__u32 size;
	__u32 flags;
	__u32 handle;
	__u32 ah;
	__u32 number;
	__u32 qkey;
	__u8 address[GDA_ADDRESS_BYTES];
};
#define GDA_IOC_PEER_ADD	_IO(GDA_IOC_MAGIC, GDA_IOC_NR_PEER_ADD)

#endif /* _UAPI_GDA_IOCTL_H */
