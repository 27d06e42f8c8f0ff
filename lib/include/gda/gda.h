/* SPDX-License-Identifier: MIT */
/*
 * libgda: control calls. They are ordinary functions over /dev/gda; the calls that post and
 * wait are in gda/fastpath.h and never call the kernel.
 *
 * Every function that returns int returns 0 or a negative errno (see gda/ioctl.h for the contract)
 * and never touches errno itself. Results are returned through the last argument, which is written
 * only on success. gda_last_error() names, for the last call that failed, the argument and the rule
 * that it breaks. Objects are created from a context and must be destroyed before it is closed
 * (gda_close() destroys remaining objects in the kernel, but leaks the library's memory for them).
 * Any thread may call any function; the caller serializes calls on the same object. The library has
 * two kinds of threads: a context of the in-process device has a worker, and with %GDA_DEBUG=1 in
 * the environment a thread looks for failed QPs. The library prints nothing unless %GDA_DEBUG=1 is
 * set: then it prints to stderr each call declared here, with arguments and result, and the first
 * error of each QP.
 *
 * The in-process device, %GDA_DEVICE_INPROC, needs no kernel module: queues lie in a memfd, and the
 * engine runs in the worker. All its contexts in one process are on one device and can connect to
 * each other. It differs from the kernel's devices as follows.
 *
 * - Memory is not pinned. If registered memory is unmapped or loses rights, work that names it
 *   fails with %GDA_CAUSE_IO, and the queue with it; see gda_mr_reg().
 * - A worker spins for a millisecond after its last work and then sleeps between two scans of
 *   its queues, for at most a millisecond (50 us while there is a QP with %GDA_QP_POLLED). The
 *   first post after a silence may wait that long. A worker takes no signals.
 * - A thread that waits (gda_wait(), gda_quiet(), a post on a full ring, gda_cq_wait(), waits for
 *   words and signals of gda/shmem.h and gda/gin.h) may execute queues in place of the worker; see
 *   gda_relax().
 * - %GDA_INPROC_WORKERS in the environment is the number of threads per context, 1 to 16;
 *   gda_open() is -EINVAL for any other value.
 * - %GDA_ORDER in the environment, "random:SEED" or "pct:SEED[:DEPTH]", makes each queue execute its
 *   requests in an order that is drawn, of those that are legal: a request other than a get may pass
 *   earlier gets, what a get or an atomic returns may land late, and the bytes of a put land in any
 *   order. The same seed gives the same choices. "plain" is the order without it; gda_open() is
 *   -EINVAL for any other value.
 *
 * Structures begin with their size, which the caller sets to sizeof() of the structure that it
 * was compiled with:
 *
 *	struct gda_qp_attr attr = { .size = sizeof(attr), .sq_depth = 16 };
 *
 * in C and C++20, and "struct gda_qp_attr attr = {}; attr.size = sizeof(attr);" in C++ before that.
 * Every other member may be left zero, which is its default. Members are only appended, and both
 * sides use the members that both know, so programs and libraries of different ages work together.
 * The rules are those of the ioctls: a size smaller than that of the structure's first version is
 * -EINVAL; a size of more than 4096 bytes is -E2BIG, and so is an attribute that the program sets
 * and the library does not know. Members of a result that the library does not know are zero. A
 * view is shared, not copied: gda_qp_view() returns NULL if the library's is smaller than the
 * program's. Formats of wires and devices have no size member and do not change: struct
 * gda_address, struct gda_counter_mem, entries of queues and CQs.
 *
 * Every call may return -ENODEV once the context was shut down or its device is
 * gone, and -ENOMEM. The comments below do not repeat these two.
 */
#ifndef GDA_GDA_H
#define GDA_GDA_H

#include <stddef.h>
#include <stdint.h>
#include <gda/ioctl.h>
#include <gda/record.h>
#include <gda/version.h>
#include <gda/view.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gda_context;
struct gda_cq;
struct gda_cq_entry;
struct gda_qp;
struct gda_counter;
struct gda_mr;
struct gda_record_reader;

/**
 * define GDA_DEVICE_INPROC - name of the device within the calling process
 */
#define GDA_DEVICE_INPROC	"inproc"

/**
 * define GDA_DEVICE_VERBS - prefix of the names of RDMA devices that the calling process uses
 *
 * Followed by the name of an RDMA device, as ibv_devices(1) lists it: "verbs:mlx5_0".
 */
#define GDA_DEVICE_VERBS	"verbs:"

/**
 * gda_devices - list the devices
 * @devices: receives up to @n entries of one size; the caller sets size and flags (0) of the
 *	first. NULL if @n is 0
 * @n: entries that @devices has room for
 *
 * The kernel's devices come first, in the order of their registration, if the caller may open
 * /dev/gda; the in-process device, whose id is 0, comes last. gda_open() takes their names.
 *
 * Return: the number of devices, also if that is more than @n; -EINVAL, -E2BIG the size of an
 * entry is wrong; -EOPNOTSUPP unknown flags; -EMFILE too many open files.
 */
int gda_devices(struct gda_device_info *devices, unsigned int n);

/**
 * gda_open - open a device
 * @device: name of the device. NULL: the device that %GDA_DEVICE in the environment names, or
 *	else %GDA_DEVICE_SOFT, or %GDA_DEVICE_INPROC if there is no /dev/gda
 * @ctx: receives the new context
 *
 * Opens /dev/gda and binds a context to the device. The file is close-on-exec. A context on a
 * device of the kernel has a kernel thread. It counts as one of the user's processes in
 * resource limits, but it is none otherwise: it does not end with this process.
 *
 * A context belongs to the process that opened it. A child of fork(2) has neither the file nor the
 * memory of queues and counters, so the parent's objects end with the parent. In the child every
 * control call is -ENODEV, gda_context_fd() is -1, and the child may open its own context. (Of the
 * in-process device and of RDMA devices the child keeps the memory and its descriptor as long as
 * the parent does: it must not touch them.) In the child each queue is in error and cannot be
 * changed: every post is -EIO, also with %GDA_NOWAIT; gda_test() and gda_wait() of a ticket that
 * the parent had seen done before the fork return as before, of any other ticket -EIO or
 * -ECANCELED; gda_quiet() is -ESHUTDOWN, and gda_error() says %GDA_CAUSE_FORK. A ring CQ returns
 * one entry with that error, and every further wait for an entry is -EIO. Memory of counters reads
 * as zero. A child that is to share the file gets a duplicate by dup(2), made before the fork, for
 * ioctl(2).
 *
 * The library learns of fork(3). It does not notice _Fork(3) or a bare clone(2): such a child may
 * use its parent's queues only if the parent no longer does, and the device notices the parent's
 * end only when the child ends, too.
 *
 * Return: 0; -ENOENT no /dev/gda (is gda_core loaded?) or no such device; -EACCES the user is not
 * in group gda; -EINVAL the name is too long, or %GDA_INPROC_WORKERS is no number from 1 to 16;
 * -EMFILE too many open files; -ENOSPC the user, or its user namespace, has the maximum number of
 * contexts; -EAGAIN RLIMIT_NPROC or (since Linux 6.12) pids.max is reached.
 */
int gda_open(const char *device, struct gda_context **ctx);

/**
 * gda_close - close a context
 * @ctx: the context, or NULL; gone when the call returns
 *
 * Unmaps all remaining regions, so views of its QPs must not be used any more. The kernel destroys
 * the remaining objects, unless another process holds the file, too: one that the file was passed
 * to, or a child of a bare clone(2).
 */
void gda_close(struct gda_context *ctx);

/**
 * gda_context_fd - the file descriptor of a context
 * @ctx: the context
 *
 * The context keeps the descriptor; the caller must not close it.
 *
 * Return: a file descriptor of /dev/gda, for ioctl(2), dup(2) or SCM_RIGHTS; -1 in a child of
 * fork(2), for a device of the kernel. The descriptor of the in-process device serves mmap(2) of
 * cookies only.
 */
int gda_context_fd(const struct gda_context *ctx);

/**
 * gda_context_query - read the features and limits of a context's device
 * @ctx: the context
 * @query: receives them; the caller sets its size, and its flags to 0
 *
 * Return: 0; -EINVAL, -E2BIG the size of @query is wrong; -EOPNOTSUPP unknown flags.
 */
int gda_context_query(struct gda_context *ctx, struct gda_query *query);

/**
 * gda_context_shutdown - destroy all objects and revoke all mappings at once
 * @ctx: the context; it can only be closed afterwards
 *
 * To be called by a thread that does not post: the next access of other threads to a queue is
 * SIGBUS, and their peers get an error completion. The library's objects must still be destroyed;
 * those calls then return -ENODEV and free them.
 *
 * Return: 0 or a negative errno.
 */
int gda_context_shutdown(struct gda_context *ctx);

/**
 * struct gda_place - a part of a queue in memory of the caller
 * @size: sizeof(struct gda_place)
 * @fd: a dma-buf, open for reading and writing; may be closed after the call
 * @offset: first byte in the dma-buf, a multiple of 64, or of 8 for a record
 * @addr: address at which this process has mapped that byte, for as long as the queue lives. NULL:
 *	it is not mapped here, and the queue has no view, because others post to it
 *
 * The exporter of the dma-buf may take the memory away (see struct gda_queue_memory in
 * gda/ioctl.h). The QP, or every QP of the CQ, is then permanently in error, with %GDA_CAUSE_QUEUE.
 */
struct gda_place {
	uint32_t size;
	int32_t fd;
	uint64_t offset;
	void *addr;
};

/**
 * struct gda_cq_attr - attributes of a new CQ
 * @size: sizeof(struct gda_cq_attr)
 * @flags: GDA_CQ_*, except %GDA_CQ_DMABUF and %GDA_CQ_DBREC_DMABUF, which @memory and @dbrec imply
 * @depth: entries, a power of two; ignored (1) for a collapsed CQ
 * @dialect: enum gda_dialect, the format of the entries; 0: that of GDA_DIALECT in the environment,
 *	else %GDA_DIALECT_MLX5. QPs of the CQ are of the same dialect, and the library's reader
 *	(gda_cq_view()) reads the dialects of gda/wqe.h
 * @memory: place of the entries in memory of the caller; NULL: the device's memory
 * @dbrec: place of a ring's consumer index record in memory of the caller; NULL: the
 *	device's memory
 */
struct gda_cq_attr {
	uint32_t size;
	uint32_t flags;
	uint32_t depth;
	uint32_t dialect;
	const struct gda_place *memory;
	const struct gda_place *dbrec;
};

/**
 * gda_cq_create - create and map a completion queue
 * @ctx: the context
 * @attr: attributes of the CQ
 * @cq: receives the new CQ
 *
 * A collapsed CQ (%GDA_CQ_COLLAPSED) serves one QP; gda_qp_create() makes one by itself. A
 * ring serves any number of QPs, see gda_qp_view(); gda_cq_poll() reads it.
 *
 * Return: 0; -EINVAL bad depth or size; -E2BIG a member that this library does not know is set;
 * -EOPNOTSUPP unknown flags, or a dialect that the device lacks; -ENOSPC the context or the user
 * has too many; -ENOMEM over RLIMIT_MEMLOCK (gda(4) says what a queue costs). With memory of the
 * caller also: -EBADF, -EINVAL the fd is no dma-buf, or the part is not inside it or not aligned;
 * -EACCES the fd is not open for writing; -EBUSY the part overlaps with another queue; -EOPNOTSUPP
 * the exporter has no address for the CPU, or the device is in-process; -EMEDIUMTYPE its mapping is
 * not write-back cached; -EAGAIN the buffer moved during the call.
 */
int gda_cq_create(struct gda_context *ctx, const struct gda_cq_attr *attr,
		  struct gda_cq **cq);

/**
 * gda_cq_destroy - destroy a completion queue
 * @cq: the CQ, or NULL; gone when the call returns, unless it returns -EBUSY
 *
 * Return: 0; -EBUSY a QP uses it.
 */
int gda_cq_destroy(struct gda_cq *cq);

/**
 * gda_cq_event - have a CQ signal an eventfd once
 * @cq: the CQ
 * @eventfd: an eventfd(2); -1: the one given before
 * @flags: %GDA_CQ_ARM: the next entry signals; %GDA_CQ_ARM_SOLICITED: the next solicited entry
 *	or error does; 0: disarm; %GDA_CQ_DETACH with @eventfd -1: disarm and release the eventfd
 *
 * An entry written before the call sends no signal. So arm first, then poll the CQ once more, then
 * wait for the eventfd. An entry written while the CQ was armed is signaled soon, to the eventfd
 * with which the CQ was armed, even if the CQ is disarmed, detached or destroyed in between.
 *
 * Return: 0; -EINVAL flags that do not go together, no eventfd given before, or @eventfd is no
 * eventfd; -EBADF @eventfd is no open file; -ENOMEM out of memory; -EOPNOTSUPP unknown flags, also
 * %GDA_CQ_DETACH with a driver that is older than that flag.
 */
int gda_cq_event(struct gda_cq *cq, int eventfd, uint32_t flags);

/**
 * gda_cq_view_sized - the view of a ring, for a caller that knows its size
 * @cq: the CQ
 * @size: bytes of the view that the caller knows
 *
 * Return: as gda_cq_view(); NULL also if the library's view has fewer bytes than @size.
 */
struct gda_cq_view *gda_cq_view_sized(struct gda_cq *cq, size_t size);

/**
 * gda_cq_view - the view through which a ring is read
 * @cq: the CQ
 *
 * Return: the view, see gda/ring.h, valid until gda_cq_destroy(). NULL if the CQ is
 * collapsed, or lies where this process has not mapped it, or if the library is older
 * than this header and its view is smaller.
 */
GDA_HOST_API struct gda_cq_view *gda_cq_view(struct gda_cq *cq)
{
	return gda_cq_view_sized(cq, sizeof(struct gda_cq_view));
}

/**
 * gda_cq_sleep - take the next entry of a ring, sleeping until there is one
 * @cq: the CQ, a ring
 * @eventfd: an eventfd(2) of the caller, used for this CQ alone
 * @flags: %GDA_CQ_ARM: any entry ends the sleep; %GDA_CQ_ARM_SOLICITED: a solicited one does
 * @entry: receives the entry; the caller sets its size
 * @deadline: in ns of gda_clock_ns(); 0: one second from now
 *
 * One thread at a time takes entries, as with gda_cq_poll(). Signals do not end the sleep.
 *
 * Return: 0; -ETIMEDOUT no entry came before the deadline; -ETIME no entry came, and the
 * deadline was more than a second past when the call began (most likely a relative time was
 * passed); -EINVAL the CQ is collapsed, @flags is 0, or the size of @entry is wrong; -E2BIG the
 * size of @entry is wrong; and as gda_cq_event() for the eventfd and @flags.
 */
int gda_cq_sleep(struct gda_cq *cq, int eventfd, uint32_t flags, struct gda_cq_entry *entry,
		 uint64_t deadline);

/**
 * gda_counter_create - create and map a completion counter, at zero
 * @ctx: the context
 * @count: receives the new counter
 *
 * A QP is given its counters at its creation; several QPs may share one.
 *
 * Return: 0; -ENOSPC the context or the user has too many; -ENOMEM over RLIMIT_MEMLOCK.
 */
int gda_counter_create(struct gda_context *ctx, struct gda_counter **count);

/**
 * struct gda_counter_attr - attributes of a new counter
 * @size: sizeof(struct gda_counter_attr)
 * @flags: %GDA_COUNTER_WRAP31: the words, but not the counter, wrap at 2^31; or 0
 * @ops: GDA_COUNT_* of gda/ioctl.h, the operations whose successes count; 0: all. Errors always
 *	count
 * @reserved: must be 0
 * @value_mr: MR of the same context, with %GDA_ACCESS_LOCAL_WRITE, to which the successes are also
 *	stored; or NULL
 * @errors_mr: likewise, for the errors
 * @value_offset: of the word in @value_mr; the word is 64 bits long and aligned
 * @errors_offset: of the word in @errors_mr
 * @first_value: number of successes to begin with
 * @first_errors: number of errors to begin with
 *
 * The counter itself is where gda_counter_memory() says, and has the counts. The executor stores a
 * count that has changed to its word at the end of each visit of the queue, and never reads the
 * word. If it may no longer write there, because the MR was destroyed or its memory revoked, each
 * QP that counts there goes into error with %GDA_CAUSE_QUEUE when a count changes.
 */
struct gda_counter_attr {
	uint32_t size;
	uint32_t flags;
	uint32_t ops;
	uint32_t reserved;
	struct gda_mr *value_mr;
	struct gda_mr *errors_mr;
	uint64_t value_offset;
	uint64_t errors_offset;
	uint64_t first_value;
	uint64_t first_errors;
};

/**
 * gda_counter_create_attr - create and map a completion counter, with attributes
 * @ctx: the context
 * @attr: attributes of the counter; if only the size is set, this is gda_counter_create()
 * @count: receives the new counter
 *
 * Return: as gda_counter_create(); also -EINVAL a word that is not inside of its MR or not
 * aligned, two words that overlap, a wrap without a word, an MR of another context, or a bad size;
 * -E2BIG a member that this library does not know is set; -EACCES the MR lacks
 * %GDA_ACCESS_LOCAL_WRITE; -ENOENT the MR was revoked; -EOPNOTSUPP an unknown flag or operation, a
 * device without %GDA_FEATURE_COUNTER_MEMORY, or memory that no CPU can access.
 */
int gda_counter_create_attr(struct gda_context *ctx, const struct gda_counter_attr *attr,
			    struct gda_counter **count);

/**
 * gda_counter_destroy - destroy a counter
 * @count: the counter, or NULL; gone when the call returns, unless it returns -EBUSY
 *
 * Return: 0; -EBUSY a QP uses it.
 */
int gda_counter_destroy(struct gda_counter *count);

/**
 * gda_counter_memory - the memory in which a counter counts
 * @count: the counter
 *
 * Load its value with acquire order: the work that was counted has then arrived.
 *
 * Return: the memory, read only, valid until gda_counter_destroy().
 */
const struct gda_counter_mem *gda_counter_memory(const struct gda_counter *count);

/**
 * struct gda_qp_attr - attributes of a new QP
 * @size: sizeof(struct gda_qp_attr)
 * @flags: %GDA_QP_POLLED, or 0; @sq and @dbrec stand for the other GDA_QP_*
 * @sq_depth: slots, a power of two; 0: 256
 * @dialect: enum gda_dialect of gda/ioctl.h, the byte format of the queue; 0: that of @cq or
 *	@recv_cq, else that of GDA_DIALECT in the environment, "mlx5" or "efa", else
 *	%GDA_DIALECT_MLX5, whose slots have 64 bytes
 * @timeout_ns: bound of every wait inside a posting call (full ring) and of waits without a
 *	deadline; 0: one second. Also the bound of work requests, posted by hand, that wait for
 *	an entry of a CQ; for these 0 is %GDA_DEFAULT_WAIT_MS
 * @cq: its CQ, of the same context, collapsed or a ring that several QPs share; NULL: a
 *	collapsed CQ of its own, destroyed with the QP. efa: NULL, for a ring of its own
 * @recv_cq: ring that takes the immediates of the peer, of the same context, or NULL
 * @sent_counter: counts work requests completed here, or NULL
 * @recv_counter: counts writes and atomics of the peer that have arrived, or NULL
 * @sq: place of the send queue in memory of the caller; NULL: the device's memory
 * @dbrec: place of the doorbell record in memory of the caller; NULL: the device's memory
 * @user_index: 24 bits that are reported in its entries in ring CQs, see struct gda_cq_entry
 * @rnr_retry: number of retries of a gda_put_imm() of this QP while the peer's @recv_cq has no
 *	room, 0 to %GDA_MAX_RNR_RETRY; all later work waits. 0: it fails at once
 * @min_rnr_timer: time for which the peer waits before each such retry, 0 to
 *	%GDA_MAX_MIN_RNR_TIMER, encoded as in ibv_qp_attr: 1 is 10 us, 12 is 640 us, 31 is 491.52
 *	ms, 0 is 655.36 ms
 * @reserved2: must be 0
 */
struct gda_qp_attr {
	uint32_t size;
	uint32_t flags;
	uint32_t sq_depth;
	uint32_t dialect;
	uint64_t timeout_ns;
	struct gda_cq *cq;
	struct gda_cq *recv_cq;
	struct gda_counter *sent_counter;
	struct gda_counter *recv_counter;
	const struct gda_place *sq;
	const struct gda_place *dbrec;
	uint32_t user_index;
	uint32_t rnr_retry;
	uint32_t min_rnr_timer;
	uint32_t reserved2;
};

/**
 * gda_qp_create - create a queue pair and map its queue, record and doorbell
 * @ctx: the context
 * @attr: attributes of the QP; if only the size is set, all others have their defaults
 * @qp: receives the new QP
 *
 * Return: 0; -EINVAL no attributes, bad depth, size, user index, retry count or timer, or a CQ
 * of another context; -E2BIG a member that this library does not know is set; -EOPNOTSUPP unknown
 * flags, a dialect that the device or this library lacks, or a reserved member is not 0; -EBUSY the
 * collapsed CQ serves another QP; -ENOSPC the context or the user has too many; -ENOMEM over
 * RLIMIT_MEMLOCK (gda(4) says what a queue costs). With memory of the caller also as
 * gda_cq_create().
 */
int gda_qp_create(struct gda_context *ctx, const struct gda_qp_attr *attr,
		  struct gda_qp **qp);

/**
 * gda_qp_destroy - destroy a QP, its view, and the CQ that was created with it
 * @qp: the QP, or NULL; gone when the call returns
 *
 * No thread may post to it or wait for it any more. Its peer goes into error.
 *
 * Return: 0 or a negative errno.
 */
int gda_qp_destroy(struct gda_qp *qp);

/**
 * struct gda_address - the address of a QP, which its peer needs to connect
 * @bytes: opaque; may be sent to the peer by any means
 */
struct gda_address {
	uint8_t bytes[GDA_ADDRESS_BYTES];
};

/**
 * gda_qp_address - read the QP's own address
 * @qp: the QP
 * @addr: receives the address
 *
 * Return: 0 or a negative errno.
 */
int gda_qp_address(struct gda_qp *qp, struct gda_address *addr);

/**
 * gda_qp_connect - name the peer; work flows once the peer has named this QP too
 * @qp: the QP
 * @peer: the address that gda_qp_address() returned at the peer; a QP's own address connects it to
 *	itself
 *
 * Posting may begin before the peer has connected; the work then waits. A QP in the efa dialect is
 * not connected: @peer becomes the target of its posts (gda_peer_add(), gda_view_peer()), and what
 * is posted before the peer has called this function, too, fails.
 *
 * Return: 0; -EINVAL the address is malformed; -ENOENT there is no such QP (any more), or the
 * device is in-process and the QP is of another process; -EALREADY this QP has a peer; -EBUSY
 * that peer has named another QP; -EOPNOTSUPP only one of both is to be connected.
 */
int gda_qp_connect(struct gda_qp *qp, const struct gda_address *peer);

/**
 * gda_peer_add - be able to post work that is for a QP, in a dialect in which each post names one
 * @ctx: the context whose QPs will post it
 * @address: of the QP, by gda_qp_address()
 * @peer: receives what names it
 *
 * Work flows once the context of that QP has added one of this context's QPs, too. Before, it fails
 * with %GDA_CAUSE_PEER, and costs nothing else. See GDA_IOC_PEER_ADD.
 *
 * Return: 0; -EINVAL the address is malformed, or that of a QP that is to be connected; -ENOENT
 * there is no such QP (any more); -ENOSPC this context has %GDA_MAX_PEERS others; -EOPNOTSUPP the
 * device has no such dialect.
 */
int gda_peer_add(struct gda_context *ctx, const struct gda_address *address,
		 struct gda_peer *peer);

/**
 * gda_peer_remove - undo gda_peer_add()
 * @ctx: the context
 * @peer: what gda_peer_add() returned
 *
 * Work that names it fails afterwards, unless another call has added a QP of the same context.
 *
 * Return: 0; -ENOENT it was removed already.
 */
int gda_peer_remove(struct gda_context *ctx, const struct gda_peer *peer);

/**
 * gda_qp_query - read a QP's state, first error and counters
 * @qp: the QP
 * @query: receives them; the caller sets its size, and its flags to 0
 *
 * Return: 0; -EINVAL, -E2BIG the size of @query is wrong; -EOPNOTSUPP unknown flags.
 */
int gda_qp_query(struct gda_qp *qp, struct gda_qp_query *query);

/**
 * gda_qp_view_sized - the view of a QP, for a caller that knows its size
 * @qp: the QP
 * @size: bytes of the view that the caller knows
 *
 * Of programs that speak mlx5 alone.
 *
 * Return: as gda_qp_view(); NULL also if the library's view has fewer bytes than @size.
 */
struct gda_view *gda_qp_view_sized(struct gda_qp *qp, size_t size);

/**
 * gda_qp_view_spoken - gda_qp_view_sized(), for a caller that also knows which dialects it speaks
 * @qp: the QP
 * @size: bytes of the view that the caller knows
 * @spoken: a bit for each enum gda_dialect, as %GDA_SPOKEN
 *
 * Return: as gda_qp_view().
 */
struct gda_view *gda_qp_view_spoken(struct gda_qp *qp, size_t size, uint64_t spoken);

/**
 * gda_qp_view - the view through which threads post to a QP
 * @qp: the QP
 *
 * QPs may share a ring CQ. A thread that waits for one of their views, tests it, or posts to a
 * full one takes the new entries from the ring and credits all views of the ring with them, at
 * the same cost for many QPs as for one. Any number of threads may do so at once. gda_cq_poll()
 * on the ring credits the views, too, and may be called by any thread, but it finds only entries
 * that no wait has taken. Waits leave immediates, and entries behind an immediate, in the ring:
 * a ring that takes immediates as well has to be polled, or it fills up. Such a view is for the
 * CPU threads of this process (%GDA_VIEW_RING), never for a GPU.
 *
 * Return: the view, see gda/fastpath.h, valid until gda_qp_destroy(). NULL if the QP's CQ
 * is a ring with fewer entries than the QPs that it completes have slots, or if a part of
 * queue or CQ lies where this process has not mapped it, or if the library is older than
 * this header and its view is smaller, or if the program does not speak the dialect of the QP
 * (%GDA_SPOKEN).
 */
GDA_HOST_API struct gda_view *gda_qp_view(struct gda_qp *qp)
{
	return gda_qp_view_spoken(qp, sizeof(struct gda_view), GDA_SPOKEN);
}

/**
 * struct gda_exported - a region as a dma-buf
 * @size: sizeof(struct gda_exported)
 * @fd: the dma-buf, close-on-exec; the caller closes it
 * @offset: first byte of the object's part in the dma-buf
 * @reserved: 0
 * @length: bytes of the dma-buf
 */
struct gda_exported {
	uint32_t size;
	int32_t fd;
	uint32_t offset;
	uint32_t reserved;
	uint64_t length;
};

/**
 * gda_qp_export - export a region of a QP as a dma-buf, for a device to map
 * @qp: the QP
 * @type: %GDA_REGION_SQ, %GDA_REGION_DBREC or %GDA_REGION_DB
 * @exported: receives the dma-buf; the caller sets its size
 *
 * The dma-buf keeps the pages, and the user's RLIMIT_MEMLOCK stays charged for them. The dma-buf
 * may outlive the QP, and then no executor reads the pages. A doorbell is polled while a dma-buf of
 * it exists. When the device is removed importers are notified, and the dma-buf can no longer be
 * mapped or imported; existing mappings stay.
 *
 * Return: 0; -EINVAL, -ENOENT no such region; -EOPNOTSUPP the device is in-process;
 * -E2BIG the size of @exported is wrong; -EMFILE too many open files.
 */
int gda_qp_export(struct gda_qp *qp, uint32_t type, struct gda_exported *exported);

/**
 * gda_cq_export - export a region of a CQ as a dma-buf, for a device to map
 * @cq: the CQ
 * @type: %GDA_REGION_CQ, or %GDA_REGION_CQ_DBREC of a ring
 * @exported: receives the dma-buf, read only unless the CQ is %GDA_CQ_WRITABLE; the caller sets
 *	its size
 *
 * Return: as gda_qp_export().
 */
int gda_cq_export(struct gda_cq *cq, uint32_t type, struct gda_exported *exported);

/**
 * gda_counter_export - export a counter's region as a dma-buf, for a device to map
 * @count: the counter
 * @exported: receives the dma-buf, read only; the caller sets its size
 *
 * Return: as gda_qp_export().
 */
int gda_counter_export(struct gda_counter *count, struct gda_exported *exported);

/**
 * gda_mr_reg - register memory of this process
 * @ctx: the context
 * @addr: first byte, any alignment
 * @length: length in bytes, at least 1
 * @access: rights: GDA_ACCESS_*
 * @flags: 0 or %GDA_MR_ZERO_BASED
 * @mr: receives the new MR
 *
 * The pages stay pinned until gda_mr_dereg(). Memory that is shared with a child of fork(2) must be
 * MAP_SHARED; otherwise the child's stores go to a copy. If memory cannot be pinned and a peer
 * driver claims the address range, it is registered as by gda_mr_reg_peer().
 *
 * The in-process device pins nothing. Memory must stay mapped, with the rights that it was
 * registered with, until gda_mr_dereg() returned. If it does not, the work request that accesses it
 * fails with %GDA_CAUSE_IO and the queue is in error; some of the bytes may have moved. (If other
 * memory was mapped there in the meantime, that is used instead.) To catch such faults the first
 * registration installs handlers of SIGSEGV and SIGBUS, which pass all other faults on to the
 * earlier handlers. If the program installs its own handlers later, they get the fault, in a thread
 * of the library; they may pass it on to the library's.
 *
 * Return: 0; -EINVAL bad length or rights; -EFAULT the memory can neither be pinned with these
 * rights nor be registered by a peer driver (gda_last_error() has the reasons); -ENOMEM over
 * RLIMIT_MEMLOCK; -EOVERFLOW address plus length wraps; -ENOSPC the context or the user has too
 * many; -EOPNOTSUPP unknown rights or flags, or gda_mr is not loaded.
 */
int gda_mr_reg(struct gda_context *ctx, void *addr, size_t length, uint32_t access,
	       uint32_t flags, struct gda_mr **mr);

/**
 * gda_mr_reg_dmabuf - register (part of) a dma-buf
 * @ctx: the context
 * @fd: the dma-buf, open for the rights in @access; may be closed after the call
 * @offset: first byte in the dma-buf, any alignment
 * @length: length in bytes, at least 1
 * @iova: address of the first byte in work requests; 0 with %GDA_MR_ZERO_BASED
 * @access: rights: GDA_ACCESS_*
 * @flags: 0 or %GDA_MR_ZERO_BASED
 * @mr: receives the new MR
 *
 * The exporter may take the memory away at any time. The MR is then revoked
 * (gda_mr_query()): work that names it fails, and it can only be deregistered.
 *
 * Return: 0; -EBADF, -EINVAL the fd is no dma-buf, or the range is outside it; -EACCES the fd is
 * not open for @access; -EOPNOTSUPP the exporter has no address for the CPU (for example, a region
 * that was exported read-only), the device is in-process, or gda_mr is not loaded; -EAGAIN the
 * buffer moved during the call; -ETIMEDOUT it stayed busy; -ENODEV it is gone.
 */
int gda_mr_reg_dmabuf(struct gda_context *ctx, int fd, uint64_t offset, size_t length,
		      uint64_t iova, uint32_t access, uint32_t flags, struct gda_mr **mr);

/**
 * gda_mr_reg_peer - register memory of another driver, by address
 * @ctx: the context
 * @addr: address at which it is mapped, any alignment
 * @length: length in bytes, at least 1
 * @access: rights: GDA_ACCESS_*
 * @flags: 0 or %GDA_MR_ZERO_BASED
 * @mr: receives the new MR
 *
 * For device memory that only its own driver can map, if that driver is a peer client of gda_core.
 * The driver may take the memory away at any time, as the exporter of a dma-buf may.
 *
 * Return: as gda_mr_reg(); -ENXIO no client has the whole range; -EACCES it is not mapped for
 * @access; -EOPNOTSUPP the CPU has no address for it, or the device is in-process; -ENODEV it was
 * taken away.
 */
int gda_mr_reg_peer(struct gda_context *ctx, void *addr, size_t length, uint32_t access,
		    uint32_t flags, struct gda_mr **mr);

/**
 * gda_mr_dereg - deregister memory; no executor touches it after the call returns
 * @mr: the MR, or NULL; gone when the call returns
 *
 * Work that still names its key fails.
 *
 * Return: 0 or a negative errno.
 */
int gda_mr_dereg(struct gda_mr *mr);

/**
 * gda_mr_key - the key of an MR for work requests, local and remote
 * @mr: the MR
 *
 * Return: the key.
 */
uint32_t gda_mr_key(const struct gda_mr *mr);

/**
 * gda_mr_iova - the address of an MR's first byte in work requests
 * @mr: the MR
 *
 * Return: the address; 0 with %GDA_MR_ZERO_BASED.
 */
uint64_t gda_mr_iova(const struct gda_mr *mr);

/**
 * gda_mr_query - read the state, rights and range of an MR
 * @mr: the MR
 * @query: receives them; the caller sets its size, and its flags to 0
 *
 * Return: 0; -EINVAL, -E2BIG the size of @query is wrong; -EOPNOTSUPP unknown flags.
 */
int gda_mr_query(struct gda_mr *mr, struct gda_mr_query *query);

/**
 * gda_strerror - describe an errno of this library in one line
 * @error: the errno, negative or positive
 *
 * Return: a constant string, also for an unknown errno.
 */
const char *gda_strerror(int error);

/**
 * gda_record_open - start the flight record of a context, and open a reader of it
 * @ctx: the context; NULL: the posts and completions of this program, which must be compiled, at
 *	least where it posts and waits, with GDA_RECORD defined before the first header of libgda
 * @records: how many records the ring holds, a power of two, %GDA_RECORD_MIN to %GDA_RECORD_MAX;
 *	ignored if the context already has a ring, of the first reader's size
 * @reader: receives the reader
 *
 * Executors write a ring of struct gda_record (gda/record.h): doorbells read, work begun and its
 * outcomes, arrivals, connections. It begins with the control events and errors that every context
 * keeps. An executor writes at most two records for a work request, and none while there is no
 * reader. The ring is mapped read-only, on /dev/gda so that it cannot be made writable.
 *
 * The ring of the program stays until the process ends.
 *
 * Return: 0; -EINVAL @records; -EOPNOTSUPP the device keeps no records.
 */
int gda_record_open(struct gda_context *ctx, uint32_t records,
		    struct gda_record_reader **reader);

/**
 * gda_record_next - read the next record
 * @reader: one thread at a time uses it
 * @record: receives the record
 *
 * Records come in the order of @record->seq, each one higher, unless the ring has lapped the
 * reader: then it goes on with a newer record, and the difference in seq tells how many it missed.
 * A partially written record is never returned. After gda_context_shutdown() an access to the ring
 * is SIGBUS.
 *
 * Return: 1; 0 there is no newer one yet; -EOVERFLOW lapped: the next call goes on.
 */
int gda_record_next(struct gda_record_reader *reader, struct gda_record *record);

/**
 * gda_record_close - end a reader
 * @reader: the reader, or NULL; gone when the call returns
 *
 * The last reader of a context ends the recording of its work, too. Before gda_close().
 */
void gda_record_close(struct gda_record_reader *reader);

/**
 * gda_entry_decode - decode an entry of a send queue
 * @v: the queue, whose slots this thread can read
 * @index: of its first slot, as posts return it
 * @slots: how many slots from there on are written; a longer entry is malformed
 * @record: receives the entry as executors record it: ticket, qpn, opcode, len, raddr, rkey, laddr,
 *	lkey, and in aux the number of slots that it fills; err_class and cause are those with
 *	which an executor would refuse it, or 0
 *
 * This calls the engine's own decoder. Keys and rights are not checked: the responder does that.
 *
 * Return: 0; -EINVAL @slots.
 */
int gda_entry_decode(const struct gda_view *v, uint64_t index, uint32_t slots,
		     struct gda_record *record);

/**
 * enum gda_why - why a ticket is not done, as gda_explain() finds out
 * @GDA_WHY_DONE: it is done
 * @GDA_WHY_NOT_POSTED: no post has returned it yet
 * @GDA_WHY_FAILED: it failed
 * @GDA_WHY_FLUSHED: it was not executed, because an earlier one failed
 * @GDA_WHY_PEER_GONE: the peer is gone, or has failed
 * @GDA_WHY_OVERFLOW: the CQ overflowed
 * @GDA_WHY_UNCONNECTED: the QP has named no peer
 * @GDA_WHY_PEER_WAITS: the QP waits for the peer to name it, too
 * @GDA_WHY_UNRUNG: it was written, and its doorbell is deferred
 * @GDA_WHY_UNWRITTEN: the doorbell does not cover it yet: a poster is still writing
 * @GDA_WHY_NO_PROCESSOR: it was rung, and the worker had no processor
 * @GDA_WHY_ASLEEP: it was rung in a way that does not wake the worker
 * @GDA_WHY_PEER_FULL: the peer's CQ has no room for an immediate
 * @GDA_WHY_IN_FLIGHT: it, or an earlier one, was given to a device
 * @GDA_WHY_RUNS: the executor works on it, or is about to
 */
enum gda_why {
	GDA_WHY_DONE = 1,
	GDA_WHY_NOT_POSTED = 2,
	GDA_WHY_FAILED = 3,
	GDA_WHY_FLUSHED = 4,
	GDA_WHY_PEER_GONE = 5,
	GDA_WHY_OVERFLOW = 6,
	GDA_WHY_UNCONNECTED = 7,
	GDA_WHY_PEER_WAITS = 8,
	GDA_WHY_UNRUNG = 9,
	GDA_WHY_UNWRITTEN = 10,
	GDA_WHY_NO_PROCESSOR = 11,
	GDA_WHY_ASLEEP = 12,
	GDA_WHY_PEER_FULL = 13,
	GDA_WHY_IN_FLIGHT = 14,
	GDA_WHY_RUNS = 15,
};

/**
 * gda_explain - explain why a ticket is not done
 * @v: the view of a QP of libgda, gda_qp_view()
 * @ticket: of a post to this queue; a negative one is returned as it is
 * @buf: receives a line of text, NUL-terminated, cut where @len ends
 * @len: bytes of @buf
 *
 * For a wait that has timed out, or a debugger. Any thread may call it, at any time. It queries the
 * device, and may take 20 ms to see whether the worker runs. The answer may be out of date when it
 * returns.
 *
 * Return: enum gda_why; -ENODEV the device was removed, or the context ended, and the view has seen
 * no completion with that error; -EOPNOTSUPP a view that gda_view_init() made, or of a queue in the
 * memory of a GPU.
 */
int gda_explain(struct gda_view *v, int64_t ticket, char *buf, size_t len);

/**
 * gda_last_error - say why this thread's last failed call failed
 *
 * For a control call the string has the call, the argument, the rule that it breaks and, after a
 * colon, what to do, as in "gda_qp_create: sq_depth 17 is no power of two: set it to 16". For a
 * registration it has the reason of each method that was tried, as in "pinning: ...; peer memory:
 * ...". If only the errno is known it is the text of gda_strerror(). Calls that succeed do not
 * change it, like errno. It is meant for people: the words may change.
 *
 * It covers gda_view_init(), gda_shmem_create(), the calls that set up gda/gin.h, the refusals of
 * gda/async.h, the host's calls of gda/dpa.h, and all calls of gda/gda.h, gda/cuda.h and
 * gda/comm.h.
 *
 * It also covers waits on a CPU, of gda/fastpath.h, gda/ring.h, gda/shmem.h, gda/gin.h and
 * gda/async.h, and posts that have waited for room: what the wait was for, its progress, and, if it
 * was for a ticket and no queue was destroyed since, the state of the queue when this function is
 * called (by one query, like gda_explain()). Posts that fail at once, gda_test() and calls of tasks
 * set nothing here: see gda_strerror(). The manual has a table, under "Reasons", of which call
 * explains what.
 *
 * Return: one line, the thread's until its next call that fails; empty before the first.
 */
const char *gda_last_error(void);

/**
 * gda_syndrome_name - describe the syndrome of a failed work request: what went wrong
 * @syndrome: gda_error.syndrome or gda_cq_entry.syndrome
 *
 * Return: a constant string, also for an unknown syndrome.
 */
const char *gda_syndrome_name(uint32_t syndrome);

/**
 * gda_syndrome_name_in - gda_syndrome_name() of any dialect; that function is of mlx5
 * @dialect: enum gda_dialect; gda_view.dialect
 * @syndrome: gda_error.syndrome or gda_cq_entry.syndrome
 *
 * Return: a constant string, also for an unknown syndrome.
 */
const char *gda_syndrome_name_in(uint32_t dialect, uint32_t syndrome);

/**
 * gda_vendor_name - describe the vendor syndrome of a failed work request: why it went wrong
 * @vendor: gda_error.vendor or gda_cq_entry.vendor, enum gda_cause
 *
 * Return: a constant string, also for an unknown vendor syndrome.
 */
const char *gda_vendor_name(uint32_t vendor);

#ifdef __cplusplus
}
#endif

#endif /* GDA_GDA_H */
