/* SPDX-License-Identifier: MIT */
/*
 * Shared memory over ranks: put, get, atomics, fence and quiet to a processing element (PE), on a
 * symmetric heap, with the words and the semantics of OpenSHMEM. A PE is a rank of gda/comm.h. The
 * OpenSHMEM library is built on it.
 *
 * gda_shmem_create() makes the heap and chooses how each PE is reached. With *direct* access the
 * memory of the PE is mapped in this process, and calls are loads, stores and the processor's
 * atomics. By *queue* they are work requests of gda/fastpath.h on queue pairs to that PE. Both have
 * the same semantics, and gda_shmem_fence() and gda_shmem_quiet() cover both.
 *
 * Symmetric memory is the heap, and a range of the program's own if the caller named one (a data
 * segment). Every call takes addresses of the caller's own symmetric memory, for any PE: the offset
 * is what counts, and addresses need not be equal at all PEs.
 *
 * Every call takes a PE and @flags: %GDA_EXCLUSIVE, %GDA_DEFER and %GDA_NOWAIT as a post
 * takes them, and GDA_SHMEM_QP() to choose one of the queue pairs to that PE. With 0 any
 * number of threads may call at once.
 *
 * A call that returns int64_t returns a ticket, to be tested or waited for with the same PE
 * and flags, or a negative errno:
 *
 *	-EINVAL		there is no such PE, or no such operation or width
 *	-EFAULT		a byte of the remote range is not symmetric
 *	-ESHUTDOWN	the PE was lost; gda_comm_failed() names it
 *	-EIO		the queue pair has failed, see gda_error() of gda_shmem_view()
 *	-ETIMEDOUT	a queue stayed full, or the work was not done, until the deadline
 *	-EAGAIN		a queue is full, and %GDA_NOWAIT was given
 *
 * and a call that returns int returns 0 or one of these.
 *
 * In CUDA code the same calls work in kernels, for any thread, on the heap that gda_shmem_cuda()
 * returns; those of gda/gpu/shmem.h, which comes with this header there, are for posters that keep
 * a queue in registers, and for warps, blocks and other groups. Such a heap is in GPU memory and is
 * created with gda_shmem_attr.cuda. By queue its atomics and signals are for words of
 * gda_shmem.data, which is host memory that GPUs reach, and local memory must be symmetric; only a
 * put of up to %GDA_INLINE_MAX bytes by a thread without a poster takes any memory.
 */
#ifndef GDA_SHMEM_H
#define GDA_SHMEM_H

#include <gda/comm.h>
#include <gda/shmem_peer.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gda_cuda;

/**
 * enum gda_shmem_way - ways to reach a PE
 * @GDA_SHMEM_AUTO: as %GDA_SHMEM_WAY in the environment says ("direct" or "queue"); without
 *	it directly if all PEs run on one machine, else by queue
 * @GDA_SHMEM_DIRECT: by mapping its memory
 * @GDA_SHMEM_QUEUE: by queue pairs, also to the caller itself
 */
enum gda_shmem_way {
	GDA_SHMEM_AUTO,
	GDA_SHMEM_DIRECT,
	GDA_SHMEM_QUEUE,
};

/**
 * struct gda_shmem_attr - attributes of a new symmetric heap
 * @size: sizeof(struct gda_shmem_attr) of the caller
 * @flags: 0
 * @way: enum gda_shmem_way
 * @qps: queue pairs to each PE, at most %GDA_SHMEM_MAX_QPS; 0: one
 * @depth: slots of each, a power of two; 0: 256
 * @data_fd: 0; or 1 + the memfd of which @data is a shared mapping already. The library then owns
 *	the memfd and closes it, and copies nothing
 * @heap_bytes: of the heap, at least 1; rounded up to pages. The heap begins at a multiple
 *	of the next power of two, so that an offset has the same alignment at each PE
 * @data: start of a range of this process's memory that becomes symmetric in place, a multiple of a
 *	page; or NULL. No other thread may write there during the call. The range is copied to a
 *	memfd, which then permanently replaces it
 * @data_bytes: of that range, a multiple of a page
 * @chunk_bytes: most bytes of one MR, a multiple of a page; 0: no limit
 * @timeout_ns: bound of waits that are not given a deadline; 0: 30 seconds
 * @device: name of the device for the queue way; NULL: as gda_open()
 * @cuda: NULL; or the GPU whose kernels post. Then the heap is in its memory, @data and @device are
 *	NULL, gda_shmem.data is @word_bytes of words for atomics and signals, and the default is
 *	access by queue, on the context with which the GPU was opened. With direct access PEs are
 *	threads of one process, whose GPUs reach each other's memory
 * @word_bytes: with @cuda: bytes of words, rounded up to pages; 0: one page
 * @place: with @cuda: as in struct gda_cuda_qp_attr
 * @dialect: enum gda_dialect of gda/ioctl.h, of the queues; 0: as gda_qp_attr.dialect
 *
 * All members but addresses, @device and the GPU must be the same at all PEs. A heap in GPU memory
 * begins at any multiple of 256.
 */
struct gda_shmem_attr {
	uint32_t size;
	uint32_t flags;
	uint32_t way;
	uint32_t qps;
	uint32_t depth;
	uint32_t data_fd;
	uint64_t heap_bytes;
	void *data;
	uint64_t data_bytes;
	uint64_t chunk_bytes;
	uint64_t timeout_ns;
	const char *device;
	struct gda_cuda *cuda;
	uint64_t word_bytes;
	uint32_t place;
	uint32_t dialect;
};

/**
 * gda_shmem_create_sized - gda_shmem_create() for callers that pass the size of their structure
 * @comm: the PEs
 * @attr: attributes of the heap
 * @known: bytes of struct gda_shmem that the caller knows
 * @shmem: receives the heap
 *
 * Return: as gda_shmem_create(); -E2BIG also if the library's structure has fewer bytes.
 */
int gda_shmem_create_sized(struct gda_comm *comm, const struct gda_shmem_attr *attr,
			   size_t known, struct gda_shmem **shmem);

/**
 * gda_shmem_create_spoken - gda_shmem_create_sized(), for callers that also know which dialects
 * they speak
 * @comm: the PEs
 * @attr: attributes of the heap
 * @known: bytes of struct gda_shmem that the caller knows
 * @spoken: a bit for each enum gda_dialect, as %GDA_SPOKEN
 * @shmem: receives the heap
 *
 * Return: as gda_shmem_create(); -EOPNOTSUPP also if @spoken lacks the dialect of the queues.
 */
int gda_shmem_create_spoken(struct gda_comm *comm, const struct gda_shmem_attr *attr,
			    size_t known, uint64_t spoken, struct gda_shmem **shmem);

/**
 * gda_shmem_create - make a symmetric heap, and connect to each PE
 * @comm: the PEs; owned by the caller, and must outlive the heap
 * @attr: attributes of the heap
 * @shmem: receives the heap
 *
 * A collective call: all ranks of @comm make it, and it succeeds on all of them or on none;
 * gda_last_error() says which PE failed, and why. The heap begins as zeros.
 *
 * Return: 0; -EINVAL a member that is out of its range, or PEs that are threads of one process and
 * give @data; -EPROTO PEs do not agree on a size; -EOPNOTSUPP unknown flags, an unknown dialect,
 * also where there are no queues, or the requested way is impossible; -EACCES the memory of a PE on this machine cannot be mapped; -ENOMEM; -EMFILE;
 * what gda_comm_allgather() returns; by queue what gda_open(), gda_qp_create() and gda_mr_reg()
 * return.
 */
GDA_HOST_API int gda_shmem_create(struct gda_comm *comm, const struct gda_shmem_attr *attr,
				  struct gda_shmem **shmem)
{
	return gda_shmem_create_spoken(comm, attr, sizeof(struct gda_shmem), GDA_SPOKEN, shmem);
}

/**
 * gda_shmem_destroy - destroy a symmetric heap
 * @s: the heap, or NULL; gone when the call returns
 *
 * Not collective: call gda_comm_barrier() before if other PEs may still access this one. A range
 * that was made symmetric in place stays where it is.
 */
void gda_shmem_destroy(struct gda_shmem *s);

/**
 * gda_shmem_cuda - the address of a heap for kernels
 * @s: of gda_shmem_create(), made with gda_shmem_attr.cuda
 *
 * The host may call gda_shmem_destroy() and, with queues, load, store and wait for words of
 * gda_shmem.data. It posts nothing, because the queues belong to the GPU.
 *
 * Return: its address on the GPU, for kernels, valid until gda_shmem_destroy(); NULL if CPU
 * threads post.
 */
struct gda_shmem *gda_shmem_cuda(const struct gda_shmem *s);

/**
 * gda_shmem_relax - pause between two polls of a wait
 * @s: the heap
 * @polls: polls so far, at least 1
 * @pe: a PE whose loss ends the wait, or %GDA_SHMEM_ANY_PE for that of any
 * @deadline: in ns of gda_clock_ns(), or %GDA_SHMEM_FOREVER. If it is 0, this call sets it to the
 *	time-out of the heap from now
 *
 * Pauses, or yields if ranks and workers outnumber processors. Every 64th call checks PEs and the
 * deadline. If PEs are reached by queue, the call may execute this PE's posts: so it must not be
 * called in signal handlers, and neither it nor a wait that calls it may be left by longjmp(3).
 *
 * Return: 0 poll again; -ESHUTDOWN the PE was lost; -ETIMEDOUT the deadline has passed;
 * -EINVAL no such PE.
 */
int gda_shmem_relax(struct gda_shmem *s, unsigned int polls, uint32_t pe, uint64_t *deadline);

#ifdef __cplusplus
}
#endif

#include <gda/shmem_atomic.h>
#include <gda/shmem_rma.h>
#include <gda/shmem_sync.h>

#ifdef __CUDACC__
#include <gda/gpu/shmem.h>
#endif

#endif /* GDA_SHMEM_H */
