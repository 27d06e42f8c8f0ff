/* SPDX-License-Identifier: MIT */
/*
 * libgda: control calls. Ordinary functions over /dev/gda; posting and waiting is
 * in gda/fastpath.h and never calls the kernel.
 *
 * Every function that returns int returns 0 or a negative errno (see gda/ioctl.h
 * for the contract) and never touches errno itself; pointers come back through the
 * last argument and are written only on success. gda_last_error() says of the last call
 * that failed which argument broke which rule. Objects are created from a
 * context and must be destroyed before it is closed (gda_close() destroys what is
 * left in the kernel, not the library's memory for it). Any thread may call any
 * function; two calls on the same object are the caller's to order. There are no hidden
 * threads but one: a context of the in-process device has a worker. Nothing is printed,
 * unless %GDA_DEBUG=1 is in the environment: then every call here, with its arguments and
 * its result, and the first error of each QP are lines on stderr, for which there is one
 * more thread.
 *
 * The in-process device, "inproc", needs no kernel module: queues lie in a memfd, and
 * the engine runs in the worker. All contexts of it in one process are on one device
 * and can connect to each other. It differs from the kernel's devices in this:
 *
 * - Memory is not pinned. Where it is unmapped, or loses rights, while it is registered,
 *   work that names it fails with %GDA_MLX5_VENDOR_IO, and the queue with it, see
 *   gda_mr_reg().
 * - A worker spins for a millisecond after its last work and then sleeps in between
 *   looks, at most a millisecond (50 us while there is a QP with %GDA_QP_POLLED): that
 *   is what the first post after a silence may wait for. It takes no signals.
 * - A thread that waits (gda_wait(), gda_quiet(), a post on a full ring, gda_cq_wait())
 *   may execute queues in place of the worker; see gda_relax().
 * - A context belongs to the process that opened it; in a child of fork(2) every control
 *   call is -ENODEV, and the child may open its own.
 * - %GDA_INPROC_WORKERS in the environment: threads per context, 1 to 16; gda_open()
 *   is -EINVAL if it is anything else.
 *
 * Structures begin with their size, which the caller sets to sizeof() of what it was
 * compiled with:
 *
 *	struct gda_qp_attr attr = { .size = sizeof(attr), .sq_depth = 16 };
 *
 * in C and C++20, and "struct gda_qp_attr attr = {}; attr.size = sizeof(attr);" in C++
 * before that. All else may be left zero, which is the default of every member. Members
 * are only appended, and both sides use what both know, so programs and libraries of
 * different ages work together. The rules are those of the ioctls: a size that is less
 * than the structure ever was is -EINVAL, one of more than 4096 bytes is -E2BIG, and so
 * is what a program sets of an attribute that its library does not know; members of a
 * result that the library does not know are zero. A view is shared, not copied:
 * gda_qp_view() returns NULL where the library's is smaller than the program's. What is
 * bytes on a wire or a device's format has no size and does not change: struct
 * gda_address, struct gda_counter_mem, gda/mlx5.h.
 *
 * Any of them may return -ENODEV once the context was shut down or its device is
 * gone, and -ENOMEM; that is not repeated below.
 */
#ifndef GDA_GDA_H
#define GDA_GDA_H

#include <stddef.h>
#include <stdint.h>
#include <gda/ioctl.h>
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

/**
 * gda_open - open a device
 * @device: name of the device; NULL: what %GDA_DEVICE in the environment says, or
 *	else "soft0", or "inproc" where there is no /dev/gda
 * @ctx: out
 *
 * Opens /dev/gda and binds a context to the device. The file is close-on-exec. A context of
 * the kernel's has a thread there, which counts as one of the user's processes as far as
 * limits go, and is none otherwise: it does not end with this process.
 *
 * A child of fork(2) shares the context with its parent and may make any control call on
 * it and on everything made from it; objects that either destroys are gone for both. But
 * only the parent posts to the queues that it created: to the child each is a queue in
 * error, which it cannot change. Every post is -EIO, %GDA_NOWAIT or not; gda_test() and
 * gda_wait() of what the parent had seen done before are as ever, of anything else -EIO or
 * -ECANCELED; gda_quiet() is -ESHUTDOWN, and gda_error() says %GDA_MLX5_VENDOR_FORK. A
 * ring says so with one entry, and every wait for another is -EIO. QPs and CQs that the
 * child creates are its own. This is for fork(3); a child of _Fork(3) or a bare
 * clone(2), and one with views that the program made with gda_view_init(), is not told,
 * and may use them only if its parent does not any more.
 *
 * Return: 0; -ENOENT no /dev/gda (is gda_core loaded?) or no such device; -EACCES
 * the user is not in group gda; -EINVAL the name is too long, or %GDA_INPROC_WORKERS is
 * no number from 1 to 16; -EMFILE too many open files; -ENOSPC the user, or its user
 * namespace, has as many contexts as it may have; -EAGAIN RLIMIT_NPROC or (since Linux 6.12)
 * pids.max is reached.
 */
int gda_open(const char *device, struct gda_context **ctx);

/**
 * gda_close - close a context
 * @ctx: the context, or NULL; gone when the call returns
 *
 * Unmaps what is still mapped: views of its QPs must not be used any more. The
 * kernel destroys what it still owns, unless another process (by fork or passing
 * of the file) holds the context too.
 */
void gda_close(struct gda_context *ctx);

/**
 * gda_context_fd - the file behind a context
 * @ctx: the context
 *
 * Return: a file descriptor of /dev/gda, for ioctl(2), fork(2) or SCM_RIGHTS; that of
 * the in-process device takes only mmap(2) of cookies. The context keeps it.
 */
int gda_context_fd(const struct gda_context *ctx);

/**
 * gda_context_query - features and limits
 * @ctx: the context
 * @query: out, but for its size, and its flags, which are 0
 *
 * Return: 0; -EINVAL, -E2BIG the structure's size; -EOPNOTSUPP unknown flags.
 */
int gda_context_query(struct gda_context *ctx, struct gda_query *query);

/**
 * gda_context_shutdown - destroy all objects and revoke all mappings at once
 * @ctx: the context; it can only be closed afterwards
 *
 * For another thread than those who post: their next access to a queue is SIGBUS,
 * their peers see an error completion. The library's objects still want to be
 * destroyed, which then returns -ENODEV and frees them.
 *
 * Return: 0 or a negative errno.
 */
int gda_context_shutdown(struct gda_context *ctx);

/**
 * struct gda_place - where a part of a queue lies in memory of the caller
 * @size: sizeof(struct gda_place)
 * @fd: a dma-buf, open for reading and writing; may be closed afterwards
 * @offset: first byte in it; a multiple of 64, of a record: of 8
 * @addr: where this process has mapped that byte, for as long as the queue lives; NULL:
 *	nowhere, and the queue has no view, for only others post to it
 *
 * Whose memory it is may take it away (see struct gda_queue_memory in gda/ioctl.h): the
 * QP, or every QP of the CQ, is then in error for good, with %GDA_MLX5_VENDOR_QUEUE.
 */
struct gda_place {
	uint32_t size;
	int32_t fd;
	uint64_t offset;
	void *addr;
};

/**
 * struct gda_cq_attr - how to create a CQ
 * @size: sizeof(struct gda_cq_attr)
 * @flags: GDA_CQ_*, but for the two that say where it lies
 * @depth: entries, power of two; ignored (1) for a collapsed CQ
 * @reserved: must be 0
 * @memory: where the entries lie, or NULL
 * @dbrec: where the consumer index record of a ring lies, or NULL
 */
struct gda_cq_attr {
	uint32_t size;
	uint32_t flags;
	uint32_t depth;
	uint32_t reserved;
	const struct gda_place *memory;
	const struct gda_place *dbrec;
};

/**
 * gda_cq_create - create and map a completion queue
 * @ctx: context
 * @attr: how
 * @cq: out
 *
 * A collapsed CQ (%GDA_CQ_COLLAPSED) serves one QP; gda_qp_create() makes one by itself. A
 * ring serves any number, see gda_qp_view(), and gda_cq_poll() reads it.
 *
 * Return: 0; -EINVAL bad depth or size; -E2BIG a member that this library does not know is
 * set; -EOPNOTSUPP unknown flags; -ENOSPC too many; -ENOMEM over RLIMIT_MEMLOCK (gda(4) says
 * what a queue costs). With memory of the caller also: -EBADF,
 * -EINVAL no dma-buf, not inside it or not aligned; -EACCES not open for writing; -EBUSY it
 * overlaps with another queue; -EOPNOTSUPP its exporter has no address for the CPU, or the
 * device is in-process; -EMEDIUMTYPE that address is not write-back cached; -EAGAIN it
 * moved meanwhile.
 */
int gda_cq_create(struct gda_context *ctx, const struct gda_cq_attr *attr,
		  struct gda_cq **cq);

/**
 * gda_cq_destroy - destroy a completion queue
 * @cq: the CQ, or NULL; unless -EBUSY it is gone when the call returns
 *
 * Return: 0; -EBUSY a QP uses it.
 */
int gda_cq_destroy(struct gda_cq *cq);

/**
 * gda_cq_event - have a CQ signal an eventfd once
 * @cq: the CQ
 * @eventfd: an eventfd(2); -1: the one given before
 * @flags: %GDA_CQ_ARM, %GDA_CQ_ARM_SOLICITED, 0 to disarm, or %GDA_CQ_DETACH with @eventfd
 *	-1: disarm, and let go of the eventfd
 *
 * What completed before the call signals nothing: arm, look once more, then wait. What
 * completed while the CQ was armed is signaled soon, to the eventfd that it was armed with,
 * also if the CQ is disarmed, detached or destroyed meanwhile.
 *
 * Return: 0; -EINVAL bad flags, no eventfd given before, or @eventfd is none; -EBADF;
 * -ENOMEM; -EOPNOTSUPP %GDA_CQ_DETACH, if the driver is older than that.
 */
int gda_cq_event(struct gda_cq *cq, int eventfd, uint32_t flags);

/**
 * gda_cq_view_sized - what a ring is read through, for those who know its size
 * @cq: the CQ
 * @size: bytes of the view that the caller knows
 *
 * Return: as gda_cq_view(); NULL also if the library's view has fewer bytes than @size.
 */
struct gda_cq_view *gda_cq_view_sized(struct gda_cq *cq, size_t size);

/**
 * gda_cq_view - what a ring is read through
 * @cq: the CQ
 *
 * Return: the view, see gda/ring.h, valid until gda_cq_destroy(); NULL if the CQ is
 * collapsed, or lies where this process has not mapped it, or if the library is older
 * than this header and its view is smaller.
 */
GDA_HOST_API struct gda_cq_view *gda_cq_view(struct gda_cq *cq)
{
	return gda_cq_view_sized(cq, sizeof(struct gda_cq_view));
}

/**
 * gda_cq_sleep - take the next entry of a ring, asleep until it comes
 * @cq: the CQ, a ring
 * @eventfd: an eventfd(2) of the caller's, for this CQ alone
 * @flags: %GDA_CQ_ARM; or %GDA_CQ_ARM_SOLICITED: only solicited entries wake it
 * @entry: out, but for its size
 * @deadline: in ns of gda_clock_ns(); 0: one second from now
 *
 * One thread at a time takes entries, as with gda_cq_poll(). Signals do not end it.
 *
 * Return: 0; -ETIMEDOUT no entry came before the deadline; -ETIME the same, and the
 * deadline was more than a second past when the call began: was a relative one passed?;
 * what gda_cq_event() returns; -EINVAL also if the CQ is collapsed, or for the size of
 * @entry; -E2BIG likewise.
 */
int gda_cq_sleep(struct gda_cq *cq, int eventfd, uint32_t flags, struct gda_cq_entry *entry,
		 uint64_t deadline);

/**
 * gda_counter_create - create and map a completion counter, at zero
 * @ctx: context
 * @count: out
 *
 * QPs are given it at their creation; several may share one.
 *
 * Return: 0; -ENOSPC too many; -ENOMEM over RLIMIT_MEMLOCK.
 */
int gda_counter_create(struct gda_context *ctx, struct gda_counter **count);

/**
 * gda_counter_destroy - destroy a counter
 * @count: the counter, or NULL; unless -EBUSY it is gone when the call returns
 *
 * Return: 0; -EBUSY a QP uses it.
 */
int gda_counter_destroy(struct gda_counter *count);

/**
 * gda_counter_memory - what a counter counts in
 * @count: the counter
 *
 * Load its value with acquire order: what was counted has then arrived.
 *
 * Return: the memory, read only, valid until gda_counter_destroy().
 */
const struct gda_counter_mem *gda_counter_memory(const struct gda_counter *count);

/**
 * struct gda_qp_attr - how to create a QP
 * @size: sizeof(struct gda_qp_attr)
 * @flags: GDA_QP_*
 * @sq_depth: slots of 64 bytes, power of two; 0: 256
 * @reserved: must be 0
 * @timeout_ns: bound of every wait inside a posting call (full ring) and of waits
 *	without a deadline; 0: one second
 * @cq: its CQ, of the same context, collapsed or a ring that several QPs share; NULL: a
 *	collapsed CQ of its own, destroyed with the QP
 * @recv_cq: ring that takes the immediates of the peer, of the same context, or NULL
 * @sent_counter: counts work requests completed here, or NULL
 * @recv_counter: counts writes and atomics of the peer that have arrived, or NULL
 * @sq: where the send queue lies, or NULL
 * @dbrec: where the doorbell record lies, or NULL
 * @user_index: 24 bits that its entries in ring CQs carry, see struct gda_cq_entry
 * @rnr_retry: how often gda_put_imm() of this QP is tried again while the peer's @recv_cq
 *	has no room, 0 to %GDA_MAX_RNR_RETRY; everything behind it waits meanwhile. 0: it
 *	fails at once
 * @min_rnr_timer: how long the peer waits before each such try, 0 to
 *	%GDA_MAX_MIN_RNR_TIMER, by the code of ibv_qp_attr: 1 is 10 us, 12 is 640 us, 31 is
 *	491.52 ms, 0 is 655.36 ms
 * @reserved2: 0
 */
struct gda_qp_attr {
	uint32_t size;
	uint32_t flags;
	uint32_t sq_depth;
	uint32_t reserved;
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
 * @ctx: context
 * @attr: how
 * @qp: out
 *
 * Return: 0; -EINVAL bad depth, size, user index, retry count or timer, or a CQ of another
 * context; -E2BIG a member that this library does not know is set; -EOPNOTSUPP unknown
 * flags; -EBUSY the collapsed CQ serves another QP; -ENOSPC too many; -ENOMEM over
 * RLIMIT_MEMLOCK (gda(4) says what a queue costs). With memory of the
 * caller also as gda_cq_create().
 */
int gda_qp_create(struct gda_context *ctx, const struct gda_qp_attr *attr,
		  struct gda_qp **qp);

/**
 * gda_qp_destroy - destroy a QP, the CQ it brought along, and its view
 * @qp: the QP, or NULL; gone when the call returns
 *
 * Nobody may post or wait any more. Its peer goes into error.
 *
 * Return: 0 or a negative errno.
 */
int gda_qp_destroy(struct gda_qp *qp);

/**
 * struct gda_address - what a peer needs to connect; plain bytes, send them anyhow
 * @bytes: opaque
 */
struct gda_address {
	uint8_t bytes[GDA_ADDRESS_BYTES];
};

/**
 * gda_qp_address - the QP's own address
 * @qp: the QP
 * @addr: out
 *
 * Return: 0 or a negative errno.
 */
int gda_qp_address(struct gda_qp *qp, struct gda_address *addr);

/**
 * gda_qp_connect - name the peer; work flows once it has named this QP too
 * @qp: the QP
 * @peer: what gda_qp_address() said there; its own address: loopback
 *
 * Posting may begin before the peer has connected; it waits.
 *
 * Return: 0; -EINVAL malformed; -ENOENT no such QP (any more); -EALREADY this QP has
 * a peer; -EBUSY that peer has named another QP.
 */
int gda_qp_connect(struct gda_qp *qp, const struct gda_address *peer);

/**
 * gda_qp_query - state, first error and counters
 * @qp: the QP
 * @query: out, but for its size, and its flags, which are 0
 *
 * Return: 0; -EINVAL, -E2BIG the structure's size; -EOPNOTSUPP unknown flags.
 */
int gda_qp_query(struct gda_qp *qp, struct gda_qp_query *query);

/**
 * gda_qp_view_sized - what posts to this QP, for those who know its size
 * @qp: the QP
 * @size: bytes of the view that the caller knows
 *
 * Return: as gda_qp_view(); NULL also if the library's view has fewer bytes than @size.
 */
struct gda_view *gda_qp_view_sized(struct gda_qp *qp, size_t size);

/**
 * gda_qp_view - what posts to this QP
 * @qp: the QP
 *
 * QPs may share a ring CQ: whoever waits for one of the views, tests it, or posts on a full
 * one takes what is new from the ring and credits all the views of the ring with it, at the
 * same cost for many QPs as for one. Any number of threads may do so at once. gda_cq_poll()
 * on the ring credits the views, too, and may be called by any thread, but finds only what
 * no wait has taken. Waits leave immediates, and what came behind them, in the ring: where
 * it takes immediates as well, it has to be polled, or it fills up. Such a view is for the
 * CPU threads of this process (%GDA_VIEW_RING), never for a GPU.
 *
 * Return: the view, see gda/fastpath.h, valid until gda_qp_destroy(); NULL if the QP's CQ
 * is a ring with fewer entries than the QPs that it completes have slots, or if a part of
 * queue or CQ lies where this process has not mapped it, or if the library is older than
 * this header and its view is smaller.
 */
GDA_HOST_API struct gda_view *gda_qp_view(struct gda_qp *qp)
{
	return gda_qp_view_sized(qp, sizeof(struct gda_view));
}

/**
 * struct gda_exported - a region as a dma-buf
 * @size: sizeof(struct gda_exported)
 * @fd: the dma-buf, close-on-exec; the caller's to close
 * @offset: where the object's part begins in it
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
 * gda_qp_export - a region of a QP, for a device to map
 * @qp: the QP
 * @type: %GDA_REGION_SQ, %GDA_REGION_DBREC or %GDA_REGION_DB
 * @exported: out, but for its size
 *
 * The dma-buf keeps the pages, and the user's RLIMIT_MEMLOCK charged for them, and may
 * outlive the QP, but then nobody looks at them. A
 * doorbell is polled while a dma-buf of it exists. When the device is removed importers
 * are told, and nobody can map or import the dma-buf any more; what is mapped stays.
 *
 * Return: 0; -EINVAL, -ENOENT no such region; -EOPNOTSUPP the device is in-process;
 * -EINVAL, -E2BIG the structure's size; -EMFILE.
 */
int gda_qp_export(struct gda_qp *qp, uint32_t type, struct gda_exported *exported);

/**
 * gda_cq_export - a region of a CQ, for a device to map
 * @cq: the CQ
 * @type: %GDA_REGION_CQ, or %GDA_REGION_CQ_DBREC of a ring
 * @exported: out, but for its size; read only, unless the CQ is %GDA_CQ_WRITABLE
 *
 * Return: as gda_qp_export().
 */
int gda_cq_export(struct gda_cq *cq, uint32_t type, struct gda_exported *exported);

/**
 * gda_counter_export - a counter's region, for a device to map
 * @count: the counter
 * @exported: out, but for its size; read only
 *
 * Return: as gda_qp_export().
 */
int gda_counter_export(struct gda_counter *count, struct gda_exported *exported);

/**
 * gda_mr_reg - register memory of this process
 * @ctx: context
 * @addr: first byte, any alignment
 * @length: bytes
 * @access: GDA_ACCESS_*
 * @flags: 0 or %GDA_MR_ZERO_BASED
 * @mr: out
 *
 * The pages stay pinned until gda_mr_dereg(). Memory that is shared with a child of
 * fork(2) must be MAP_SHARED, or the child's stores go elsewhere. Memory that cannot be
 * pinned is registered as by gda_mr_reg_peer(), if a driver says that it is its own.
 *
 * The in-process device pins nothing. Memory must stay mapped, with the rights that it was
 * registered with, until gda_mr_dereg() returned. Where it does not, the work request that
 * meets it fails with %GDA_MLX5_VENDOR_IO and the queue is in error; some of its bytes may
 * have moved. (What was mapped there in the meantime is used instead.) For that the first
 * registration sets handlers of SIGSEGV and SIGBUS, which pass on to those that were set
 * before all that is not such a fault. A program that sets handlers of its own later has
 * the fault delivered there, in a thread of the library; it may pass it on in its turn.
 *
 * Return: 0; -EINVAL bad length or rights; -EFAULT it cannot be pinned with these
 * rights, nor had from a driver: gda_last_error(); -ENOMEM over RLIMIT_MEMLOCK;
 * -EOVERFLOW it wraps; -ENOSPC too many; -EOPNOTSUPP gda_mr is not loaded.
 */
int gda_mr_reg(struct gda_context *ctx, void *addr, size_t length, uint32_t access,
	       uint32_t flags, struct gda_mr **mr);

/**
 * gda_mr_reg_dmabuf - register (part of) a dma-buf
 * @ctx: context
 * @fd: the dma-buf, open for what @access asks; may be closed afterwards
 * @offset: first byte in it, any alignment
 * @length: bytes
 * @iova: address of the first byte in work requests; 0 with %GDA_MR_ZERO_BASED
 * @access: GDA_ACCESS_*
 * @flags: 0 or %GDA_MR_ZERO_BASED
 * @mr: out
 *
 * Who exported the memory may take it away at any time. The MR is then revoked
 * (gda_mr_query()): work that names it fails, and it can only be deregistered.
 *
 * Return: 0; -EBADF, -EINVAL no dma-buf, or not in its range; -EACCES not open for that;
 * -EOPNOTSUPP the exporter has no address for the CPU (as of a region that is exported
 * for reading only), the device is in-process, or gda_mr is not loaded; -EAGAIN it moved
 * meanwhile; -ETIMEDOUT it stayed busy; -ENODEV it is gone.
 */
int gda_mr_reg_dmabuf(struct gda_context *ctx, int fd, uint64_t offset, size_t length,
		      uint64_t iova, uint32_t access, uint32_t flags, struct gda_mr **mr);

/**
 * gda_mr_reg_peer - register memory of another driver, by address
 * @ctx: context
 * @addr: where it is mapped, any alignment
 * @length: bytes
 * @access: GDA_ACCESS_*
 * @flags: 0 or %GDA_MR_ZERO_BASED
 * @mr: out
 *
 * For memory of devices that only their driver can hand out, and whose driver is a peer
 * client of GDA's. It may take the memory away at any time, as the exporter of a dma-buf.
 *
 * Return: as gda_mr_reg(); -ENXIO no client has all of it; -EACCES not mapped for that;
 * -EOPNOTSUPP the CPU has no address for it, or the device is in-process; -ENODEV it was
 * taken away.
 */
int gda_mr_reg_peer(struct gda_context *ctx, void *addr, size_t length, uint32_t access,
		    uint32_t flags, struct gda_mr **mr);

/**
 * gda_mr_dereg - when it returns no executor touches the memory any more
 * @mr: the MR, or NULL; gone when the call returns
 *
 * Work that still names its key fails.
 *
 * Return: 0 or a negative errno.
 */
int gda_mr_dereg(struct gda_mr *mr);

/**
 * gda_mr_key - key for work requests, local and remote
 * @mr: the MR
 *
 * Return: the key.
 */
uint32_t gda_mr_key(const struct gda_mr *mr);

/**
 * gda_mr_iova - address of the first byte in work requests
 * @mr: the MR
 *
 * Return: the address; 0 with %GDA_MR_ZERO_BASED.
 */
uint64_t gda_mr_iova(const struct gda_mr *mr);

/**
 * gda_mr_query - describe the MR
 * @mr: the MR
 * @query: out, but for its size, and its flags, which are 0
 *
 * Return: 0; -EINVAL, -E2BIG the structure's size; -EOPNOTSUPP unknown flags.
 */
int gda_mr_query(struct gda_mr *mr, struct gda_mr_query *query);

/**
 * gda_strerror - one line for an errno of this library
 * @error: negative errno, or positive
 *
 * Return: a constant string, also for what is not known.
 */
const char *gda_strerror(int error);

/**
 * gda_last_error - why this thread's last control call that failed did so
 *
 * The call, the argument and the rule that it breaks, as in "gda_qp_create: sq_depth 17 is
 * no power of two"; of a registration each way in which the memory was tried to be had, as
 * "pinning: ...; peer memory: ...". Where no more is known than the errno it is the text
 * of gda_strerror(). Calls that succeed leave it alone, as they do with errno. For people:
 * the words may change.
 *
 * It covers all calls of gda/gda.h, gda/cuda.h and gda/comm.h, gda_view_init() and
 * gda_shmem_create(). What posts and waits in gda/fastpath.h, gda/ring.h and gda/shmem.h
 * leaves nothing here: see gda_strerror() and gda_error().
 *
 * Return: one line, the thread's until its next call that fails; empty before the first.
 */
const char *gda_last_error(void);

/**
 * gda_syndrome_name - what went wrong with a work request
 * @syndrome: enum gda_mlx5_syndrome
 *
 * Return: a constant string, also for what is not known.
 */
const char *gda_syndrome_name(uint32_t syndrome);

/**
 * gda_vendor_name - why it went wrong
 * @vendor: enum gda_mlx5_vendor
 *
 * Return: a constant string, also for what is not known.
 */
const char *gda_vendor_name(uint32_t vendor);

#ifdef __cplusplus
}
#endif

#endif /* GDA_GDA_H */
