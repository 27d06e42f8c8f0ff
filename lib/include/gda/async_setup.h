/* SPDX-License-Identifier: MIT */
/*
 * Set-up of gda/async.h: workspaces, and sessions of posters. Included by gda/async.h.
 *
 * The library fills in struct gda_async_workspace: plain data with 64-bit addresses that are valid
 * where the posters run, like struct gda_view. Members never move, and new ones are appended. A
 * program never gets a workspace that is smaller than its headers say.
 *
 * struct gda_async_session lies in memory of the poster: on its stack, or in registers. It is
 * for one thread. Sessions may share a group, and even a queue.
 */
#ifndef GDA_ASYNC_SETUP_H
#define GDA_ASYNC_SETUP_H

#include <stddef.h>
#include <stdint.h>
#include <gda/chunk.h>
#include <gda/comm.h>
#include <gda/cuda.h>
#include <gda/gda.h>

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/**
 * define GDA_ASYNC_VERSION - layout of the structures of gda/async.h; fields are only appended
 */
#define GDA_ASYNC_VERSION	1
/**
 * define GDA_ASYNC_MAX_GROUPS - most groups of a workspace
 */
#define GDA_ASYNC_MAX_GROUPS	1024
/**
 * define GDA_ASYNC_MAX_QUEUES - most queues of a group to one peer
 */
#define GDA_ASYNC_MAX_QUEUES	64
/**
 * define GDA_ASYNC_MAX_WINDOWS - most windows of a rank
 */
#define GDA_ASYNC_MAX_WINDOWS	1024
/**
 * define GDA_ASYNC_BLOCK_BYTES - the default of gda_async_attr.block_bytes
 */
#define GDA_ASYNC_BLOCK_BYTES	(1U << 20)

/**
 * define GDA_ASYNC_FLAG_WAIT - gda_async_wait() posts a flag, and polls a word near the poster
 *
 * P-09: a copy posts no more than its data; the wait posts a flag behind it, in each queue that
 * was used, and polls the flag's word, which lies in the scratch of the session. The scratch then
 * lies in a window. For workspaces without ranks.
 */
#define GDA_ASYNC_FLAG_WAIT	(1U << 0)
/**
 * define GDA_ASYNC_HUGE_PAGES - all windows must be backed by huge pages
 *
 * P-12: gda_async_create() fails, and names the range that is not.
 */
#define GDA_ASYNC_HUGE_PAGES	(1U << 1)

/**
 * define GDA_ASYNC_AUTO - the group of the poster's own number, modulo the number of groups
 *
 * P-07: on a GPU the number of its block, on a CPU the thread's number of gda_async_thread().
 */
#define GDA_ASYNC_AUTO		UINT32_MAX

/**
 * enum gda_async_engine - where the bytes of a session's copies come from, and who moves them
 * @GDA_ASYNC_COPY: memory of this rank; copied by the executor of loopback queues (P-04)
 * @GDA_ASYNC_PEER: memory of the one peer that the session was opened for (P-05)
 * @GDA_ASYNC_ANY: memory of the peer that each call names: GDA_ASYNC_PEERS()
 *
 * Each call names the engine by a constant, so that the others are not compiled.
 */
enum gda_async_engine {
	GDA_ASYNC_COPY = 0,
	GDA_ASYNC_PEER = 1,
	GDA_ASYNC_ANY = 2,
};

/**
 * define GDA_ASYNC_PEERS - the engine %GDA_ASYNC_ANY, and the peer of one call
 * @peer: rank
 */
#define GDA_ASYNC_PEERS(peer)	((peer) << 8 | 2U)

/**
 * struct gda_async_window - a range of this rank that copies may name
 * @addr: first byte
 * @bytes: length in bytes
 *
 * An element of an array, so it never grows.
 */
struct gda_async_window {
	uint64_t addr;
	uint64_t bytes;
};

/**
 * struct gda_async_attr - attributes of a new workspace
 * @size: sizeof(struct gda_async_attr)
 * @flags: %GDA_ASYNC_FLAG_WAIT, %GDA_ASYNC_HUGE_PAGES
 * @groups: at most %GDA_ASYNC_MAX_GROUPS; 0: 1
 * @queues: of each group to each peer, at most %GDA_ASYNC_MAX_QUEUES; 0: 1
 * @depth: slots of each queue, a power of two of at least 4; 0: 256
 * @block_bytes: a longer copy is dealt over the queues; a multiple of 64, at most 1 GiB;
 *	0: %GDA_ASYNC_BLOCK_BYTES
 * @count: number of windows, 1 to %GDA_ASYNC_MAX_WINDOWS; may differ between ranks
 * @dialect: enum gda_dialect of gda/ioctl.h, of the queues; 0: as gda_qp_attr.dialect
 * @windows: of this rank; they must not overlap
 * @timeout_ns: bound of waits for room, and of waits without a deadline; 0: one second
 * @cuda: the GPU that posts, opened with the same context; NULL: CPU threads post
 * @place: with @cuda: as gda_cuda_qp_attr.place, of the queues
 * @reserved2: must be 0
 *
 * @flags, @groups, @queues, @depth and @dialect are the same on all ranks.
 */
struct gda_async_attr {
	uint32_t size;
	uint32_t flags;
	uint32_t groups;
	uint32_t queues;
	uint32_t depth;
	uint32_t block_bytes;
	uint32_t count;
	uint32_t dialect;
	const struct gda_async_window *windows;
	uint64_t timeout_ns;
	struct gda_cuda *cuda;
	uint32_t place;
	uint32_t reserved2;
};

/**
 * struct gda_async_workspace - queues and windows, as posters see them
 * @size: bytes of the structure that the library knows
 * @version: %GDA_ASYNC_VERSION of the library
 * @flags: of gda_async_attr
 * @rank: the caller's; 0 without ranks
 * @nranks: number of ranks; 1 without ranks
 * @groups: number of groups
 * @queues: of each group to each peer
 * @block_bytes: of gda_async_attr
 * @remote: 1 if it was made for ranks, 0 if its queues are loopback queues
 * @stage_key: key of the words at @stage
 * @timeout_ns: of gda_async_attr
 * @views: address of struct gda_view of queue q of group g to rank r, at
 *	(g * @nranks + r) * @queues + q
 * @maps: struct gda_chunk_map of the windows of each rank; behind the last window are 8 bytes that
 *	are never written, for reads that wait for writes
 * @stage: 8 bytes for each view, for an atomic's old value; address and iova
 * @owner: private to the library
 */
struct gda_async_workspace {
	uint32_t size;
	uint32_t version;
	uint32_t flags;
	uint32_t rank;
	uint32_t nranks;
	uint32_t groups;
	uint32_t queues;
	uint32_t block_bytes;
	uint32_t remote;
	uint32_t stage_key;
	uint64_t timeout_ns;
	uint64_t views;
	uint64_t maps;
	uint64_t stage;
	uint64_t owner;
};

/**
 * gda_async_create_sized - gda_async_create() for callers that pass the size of their structure
 * @ranks: the ranks, or NULL
 * @ctx: the caller's context, as of gda_async_create()
 * @attr: attributes of the workspace
 * @size: bytes of struct gda_async_workspace of the caller
 * @workspace: receives the workspace
 *
 * Return: as gda_async_create().
 */
int gda_async_create_sized(struct gda_comm *ranks, struct gda_context *ctx,
			   const struct gda_async_attr *attr, size_t size,
			   struct gda_async_workspace **workspace);

/**
 * gda_async_create_spoken - gda_async_create_sized(), for callers that also know which dialects
 * they speak
 * @ranks: the ranks, or NULL
 * @ctx: the caller's context
 * @attr: attributes of the workspace
 * @size: bytes of struct gda_async_workspace of the caller
 * @spoken: a bit for each enum gda_dialect, as %GDA_SPOKEN
 * @workspace: receives the workspace
 *
 * Return: as gda_async_create(); -EOPNOTSUPP also if @spoken lacks the dialect of the queues.
 */
int gda_async_create_spoken(struct gda_comm *ranks, struct gda_context *ctx,
			    const struct gda_async_attr *attr, size_t size, uint64_t spoken,
			    struct gda_async_workspace **workspace);

/**
 * gda_async_create - create a workspace: groups of queues, and windows (P-04, P-05, P-12)
 * @ranks: the ranks, which must outlive the workspace. NULL: this rank alone, the queues are
 *	loopback queues, and sessions have the engine %GDA_ASYNC_COPY
 * @ctx: the caller's context, of queues and windows, which must outlive the workspace; so must
 *	gda_async_attr.cuda
 * @attr: attributes of the workspace
 * @workspace: receives the workspace
 *
 * Collective, if there are ranks. Queues are connected when the call returns. The rules of
 * gda_mr_reg() for memory apply to windows.
 *
 * Return: 0; -EINVAL a member is out of its range, windows overlap, or the ranks gave different
 * attributes; -EFAULT a window is not mapped, or with %GDA_ASYNC_HUGE_PAGES not of huge pages
 * (gda_last_error() names the range); -E2BIG @attr is of a later version with members set that
 * this library does not know, or the program's structure is larger than the library's;
 * -EOPNOTSUPP unknown flags, or %GDA_ASYNC_FLAG_WAIT with ranks; -ENOSPC, -ENOMEM too many queues;
 * -ENOENT a rank is another process, and the device is in-process; what gda_mr_reg() and
 * gda_comm_allgather() return; the error of another rank.
 */
GDA_HOST_API int gda_async_create(struct gda_comm *ranks, struct gda_context *ctx,
				  const struct gda_async_attr *attr,
				  struct gda_async_workspace **workspace)
{
	return gda_async_create_spoken(ranks, ctx, attr, sizeof(struct gda_async_workspace),
				       GDA_SPOKEN, workspace);
}

/**
 * gda_async_destroy - destroy a workspace, its queues and windows
 * @workspace: the workspace, or NULL; gone when the call returns
 *
 * Collective, if there are ranks: the call waits for the others as long as any collective call. No
 * session of the workspace may be in use.
 */
void gda_async_destroy(struct gda_async_workspace *workspace);

/**
 * gda_async_cuda_workspace - the address of a workspace for kernels of its GPU
 * @workspace: the workspace
 *
 * Return: its address on the GPU, valid until gda_async_destroy(); NULL without
 * gda_async_attr.cuda.
 */
struct gda_async_workspace *gda_async_cuda_workspace(const struct gda_async_workspace *workspace);

/**
 * enum gda_async_why - why a call was refused, and nothing was posted
 * @GDA_ASYNC_WHY_NULL: an address is NULL
 * @GDA_ASYNC_WHY_DST: the destination is not all in one window
 * @GDA_ASYNC_WHY_SRC: the source is not all in one window
 * @GDA_ASYNC_WHY_SHAPE: a tensor is not flat, contiguous and of one dimension
 * @GDA_ASYNC_WHY_TYPE: the tensors differ in length, element or layout
 * @GDA_ASYNC_WHY_ENGINE: the session is of another engine
 * @GDA_ASYNC_WHY_PEER: there is no such peer
 * @GDA_ASYNC_WHY_WORD: a word is no multiple of 8, or the operation is unknown
 * @GDA_ASYNC_WHY_PITCH: rows overlap, or their last one wraps
 * @GDA_ASYNC_WHY_WORKSPACE: the workspace is NULL, or of another version
 * @GDA_ASYNC_WHY_GROUP: the workspace has no such group
 * @GDA_ASYNC_WHY_SCRATCH: the scratch is too small, or not aligned to 8 bytes
 * @GDA_ASYNC_WHY_SCRATCH_WINDOW: %GDA_ASYNC_FLAG_WAIT, and the scratch is in no window
 * @GDA_ASYNC_WHY_SESSION: gda_async_session.size is too small
 * @GDA_ASYNC_WHY_ATOMIC: the queues have no atomics (%GDA_CAN_ATOMIC)
 */
enum gda_async_why {
	GDA_ASYNC_WHY_NULL = 1,
	GDA_ASYNC_WHY_DST,
	GDA_ASYNC_WHY_SRC,
	GDA_ASYNC_WHY_SHAPE,
	GDA_ASYNC_WHY_TYPE,
	GDA_ASYNC_WHY_ENGINE,
	GDA_ASYNC_WHY_PEER,
	GDA_ASYNC_WHY_WORD,
	GDA_ASYNC_WHY_PITCH,
	GDA_ASYNC_WHY_WORKSPACE,
	GDA_ASYNC_WHY_GROUP,
	GDA_ASYNC_WHY_SCRATCH,
	GDA_ASYNC_WHY_SCRATCH_WINDOW,
	GDA_ASYNC_WHY_SESSION,
	GDA_ASYNC_WHY_ATOMIC,
};

/**
 * gda_async_refused - have gda_last_error() say why a call was refused
 * @call: name of the call
 * @why: enum gda_async_why
 *
 * For the inline functions of gda/async.h, on a CPU.
 */
void gda_async_refused(const char *call, uint32_t why);

/**
 * gda_async_thread - a number of the calling thread, for %GDA_ASYNC_AUTO
 *
 * Return: 0 in the first thread that calls this, 1 in the next, and so on; always the same in one
 * thread.
 */
uint32_t gda_async_thread(void);

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif /* GDA_ASYNC_SETUP_H */
