/* SPDX-License-Identifier: MIT */
/*
 * Set-up of gda/gin.h: the communicator, its contexts, and windows. Included by gda/gin.h.
 *
 * Posters read struct gda_gin_comm, struct gda_gin and struct gda_window: plain data with 64-bit
 * addresses, like struct gda_view. The library fills them in. Members never move, and new ones are
 * appended. A posting program never gets a structure that is smaller than its headers say.
 *
 * Every call that creates or destroys one of them is collective: all ranks make the same calls in
 * the same order, and all of them succeed, or all fail.
 */
#ifndef GDA_GIN_SETUP_H
#define GDA_GIN_SETUP_H

#include <stddef.h>
#include <stdint.h>
#include <gda/comm.h>
#include <gda/cuda.h>
#include <gda/gda.h>
#include <gda/gin/team.h>

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/**
 * define GDA_GIN_VERSION - layout of the structures of gda/gin.h; fields are only appended
 */
#define GDA_GIN_VERSION		1
/**
 * define GDA_GIN_MAX_COUNTERS - most counters of a context
 */
#define GDA_GIN_MAX_COUNTERS	4095
/**
 * define GDA_GIN_MAX_SEGMENTS - most segments of a window on one rank
 */
#define GDA_GIN_MAX_SEGMENTS	4096

/**
 * define GDA_GIN_ARRIVAL - signals are arrivals at queues of their own
 *
 * G-05, E-02. Without this flag a signal is a word to which the peer adds, by a work request behind
 * the data. With it the device counts arrivals of the data: one work request and no atomic. Such a
 * signal is weak, allows only Inc, and is no word of a window; each signal and each barrier needs a
 * queue per peer.
 */
#define GDA_GIN_ARRIVAL		(1U << 0)
/**
 * define GDA_GIN_NEED_STRONG - gda_gin_create() fails if signals are only weak
 */
#define GDA_GIN_NEED_STRONG	(1U << 1)
/**
 * define GDA_GIN_NEED_ADD - gda_gin_create() fails if signals only allow Inc
 */
#define GDA_GIN_NEED_ADD	(1U << 2)
/**
 * define GDA_GIN_NEED_VA - gda_gin_create() fails if words of windows cannot be signals
 */
#define GDA_GIN_NEED_VA		(1U << 3)
/**
 * define GDA_GIN_CHECKED - set by gda_gin_create() in programs built with GDA_CHECK
 */
#define GDA_GIN_CHECKED		(1U << 4)
/**
 * define GDA_GIN_SIGNALS_GPU - signals and barriers are words in memory of the GPU that posts
 *
 * For communicators with gda_gin_attr.cuda, if that GPU has %GDA_CUDA_ATOMIC. A waiting thread then
 * polls memory of its own GPU; without this flag it polls host memory, across the bus.
 */
#define GDA_GIN_SIGNALS_GPU	(1U << 5)
/**
 * define GDA_GIN_SENDERS - set by gda_gin_create() if the queues have no order and no atomics
 *
 * In gda_gin.flags, not by programs; not with %GDA_GIN_ARRIVAL. Each sender then has a word of its
 * own for each signal, and a verb with a signal waits until what the signal reports is done: with a
 * strong one all that was posted to the peer, with %GDA_GIN_WEAK its own put. %GDA_GIN_VA returns
 * -EOPNOTSUPP.
 */
#define GDA_GIN_SENDERS		(1U << 6)
/**
 * define GDA_GIN_EPOCHS - where queues have no order, a signal does not wait for what it reports
 *
 * Such a signal is sent as soon as the verb is called, and the receiver delays it until what it
 * reports has arrived (gda/gin/epoch.h); %GDA_GIN_WEAK is as strong. A rank then has two queues to
 * each peer, each with a counter of arrivals, and a ring for its peers' signals. A verb waits only
 * until the epoch before the one that the last signal has ended is done. On queues with order the
 * flag has no effect, and gda_gin_create() clears it; not with %GDA_GIN_ARRIVAL.
 *
 * Each signal has as many places as gda_gin_attr.depth at a peer that does not read its signals.
 * When there is none left a signal waits as without this flag.
 */
#define GDA_GIN_EPOCHS		(1U << 7)

/**
 * enum gda_gin_connect - the peers to which a rank has queues, besides itself
 * @GDA_GIN_FULL: all ranks
 * @GDA_GIN_RAIL: those of its rail
 * @GDA_GIN_STRIDE: those whose rank differs by a multiple of gda_gin_attr.stride
 * @GDA_GIN_NONE: no rank, not even itself
 */
enum gda_gin_connect {
	GDA_GIN_FULL = 0,
	GDA_GIN_RAIL = 1,
	GDA_GIN_STRIDE = 2,
	GDA_GIN_NONE = 3,
};

/**
 * enum gda_gin_sharing - the threads that share a context (G-22)
 * @GDA_GIN_SHARE_GPU: any threads of the CPU or GPU that the context is for
 * @GDA_GIN_SHARE_CTA: threads of one block; on a CPU as %GDA_GIN_SHARE_GPU
 * @GDA_GIN_SHARE_THREAD: one thread at a time, whose posts pass %GDA_EXCLUSIVE
 */
enum gda_gin_sharing {
	GDA_GIN_SHARE_GPU = 0,
	GDA_GIN_SHARE_CTA = 1,
	GDA_GIN_SHARE_THREAD = 2,
};

/**
 * struct gda_gin_attr - attributes of a new communicator (G-28)
 * @size: sizeof(struct gda_gin_attr)
 * @flags: %GDA_GIN_ARRIVAL, %GDA_GIN_SIGNALS_GPU, %GDA_GIN_EPOCHS, GDA_GIN_NEED_*
 * @contexts: number of channels, each ordered only within itself; 0: 1
 * @depth: slots of each queue, a power of two; 0: 256
 * @sharing: enum gda_gin_sharing, of every context
 * @connect: enum gda_gin_connect
 * @stride: of %GDA_GIN_STRIDE, else 0; divides the number of ranks
 * @local: ranks of a local team, divides the number of ranks; 0: those of this machine, if all
 *	machines have the same number and their ranks are consecutive, else 1
 * @signals: signals of each context, numbered from 0
 * @counters: counters of each context, at most %GDA_GIN_MAX_COUNTERS
 * @barriers: barriers of each context
 * @dialect: enum gda_dialect of gda/ioctl.h, of the queues; 0: as gda_qp_attr.dialect
 * @timeout_ns: bound of waits without a deadline; 0: one second
 * @cuda: the GPU that posts, opened with the same context; NULL: CPU threads post
 * @place: with @cuda: as gda_cuda_qp_attr.place, of the queues
 * @reserved2: must be 0
 *
 * All members but @cuda and @place must be the same on all ranks.
 */
struct gda_gin_attr {
	uint32_t size;
	uint32_t flags;
	uint32_t contexts;
	uint32_t depth;
	uint32_t sharing;
	uint32_t connect;
	uint32_t stride;
	uint32_t local;
	uint32_t signals;
	uint32_t counters;
	uint32_t barriers;
	uint32_t dialect;
	uint64_t timeout_ns;
	struct gda_cuda *cuda;
	uint32_t place;
	uint32_t reserved2;
};

/**
 * struct gda_gin_queue - a queue to a peer, with its data
 * @view: struct gda_view; 0: not connected
 * @tags: a 64-bit word per slot, for counters; 0: there are none
 * @signals: iova of the first signal word of this context in the peer's memory
 * @fetched: iova of the 8 local bytes for an atomic's old value
 * @rkey: key of @signals
 * @lkey: key of @fetched
 * @sums: address of the checksums of sources in flight, by slot, or 0: see gda/gin/check.h
 * @sent: %GDA_GIN_SENDERS: a 64-bit word for each signal and barrier, the sum of what was added
 * @behind: %GDA_GIN_SENDERS: ticket of the newest store of such a sum, plus 1; 0: none
 * @sending: %GDA_GIN_SENDERS: 1 while a thread stores a sum
 * @reserved2: 0
 * @epochs: %GDA_GIN_EPOCHS: struct gda_gin_epochs of the peer
 * @reserved: 0
 * @credited: tags of all slots below were taken
 *
 * An element of an array, so it never grows.
 */
struct gda_gin_queue {
	uint64_t view;
	uint64_t tags;
	uint64_t signals;
	uint64_t fetched;
	uint32_t rkey;
	uint32_t lkey;
	uint64_t sums;
	uint64_t sent;
	uint64_t behind;
	uint32_t sending;
	uint32_t reserved2;
	uint64_t epochs;
	uint64_t reserved[5];
	uint64_t credited;
};

/**
 * struct gda_gin - a context of a communicator, all that a poster needs of it
 * @size: bytes of the structure that the library knows
 * @version: %GDA_GIN_VERSION of the library
 * @rank: the caller's in the world
 * @nranks: ranks of the world
 * @index: of the context
 * @flags: of gda_gin_attr
 * @sharing: of gda_gin_attr
 * @signals: number of signals of the program; those of barriers follow
 * @counters: number of counters
 * @barriers: number of barriers
 * @endpoints: queues to each peer: 1, and with signals by arrival one more per signal and barrier;
 *	2 with %GDA_GIN_EPOCHS
 * @abort_word: @abort points here on a CPU
 * @queues: struct gda_gin_queue of endpoint e and rank r at e * @nranks + r
 * @words: for each signal the address of its 64-bit word
 * @resets: for each signal the 64-bit value of its word that counts as 0
 * @shadows: for each signal its 64-bit shadow
 * @counts: for each counter its 64-bit value
 * @lost: a 32-bit word for each rank, not 0 once that rank is lost
 * @timeout_ns: of gda_gin_attr
 * @checks: state of programs built with GDA_CHECK, or 0
 * @announced: in such programs, for each signal the sums that peers announced: by Inc, and by Add
 * @owner: private to the library
 * @abort: a 32-bit word: once it is not 0 all waits end; @abort_word, or for a GPU a word in
 *	memory of the host
 */
struct gda_gin {
	uint32_t size;
	uint32_t version;
	uint32_t rank;
	uint32_t nranks;
	uint32_t index;
	uint32_t flags;
	uint32_t sharing;
	uint32_t signals;
	uint32_t counters;
	uint32_t barriers;
	uint32_t endpoints;
	uint32_t abort_word;
	uint64_t queues;
	uint64_t words;
	uint64_t resets;
	uint64_t shadows;
	uint64_t counts;
	uint64_t lost;
	uint64_t timeout_ns;
	uint64_t checks;
	uint64_t announced;
	uint64_t owner;
	uint64_t abort;
};

/**
 * struct gda_gin_comm - a communicator
 * @size: bytes of the structure that the library knows
 * @version: %GDA_GIN_VERSION of the library
 * @rank: the caller's
 * @nranks: number of ranks
 * @local: ranks of a local team
 * @stride: of the stride team; 0 if there is none
 * @contexts: number of contexts
 * @gin_bytes: from one struct gda_gin to the next
 * @gins: the first of them
 * @owner: private to the library
 */
struct gda_gin_comm {
	uint32_t size;
	uint32_t version;
	uint32_t rank;
	uint32_t nranks;
	uint32_t local;
	uint32_t stride;
	uint32_t contexts;
	uint32_t gin_bytes;
	uint64_t gins;
	uint64_t owner;
};

/**
 * gda_gin_create_sized - gda_gin_create() for callers that pass the sizes of their structures
 * @ranks: the ranks
 * @ctx: the caller's context, as of gda_gin_create()
 * @attr: attributes of the communicator, or NULL
 * @flags: more flags of @attr
 * @layout: bytes of struct gda_gin_comm << 16 | bytes of struct gda_gin of the caller
 * @comm: receives the communicator
 *
 * Return: as gda_gin_create().
 */
int gda_gin_create_sized(struct gda_comm *ranks, struct gda_context *ctx,
			 const struct gda_gin_attr *attr, uint32_t flags, uint32_t layout,
			 struct gda_gin_comm **comm);

/**
 * gda_gin_create_spoken - gda_gin_create_sized(), for callers that also know which dialects they
 * speak
 * @ranks: the ranks
 * @ctx: the caller's context
 * @attr: attributes of the communicator
 * @flags: added to those of @attr
 * @layout: as of gda_gin_create_sized()
 * @spoken: a bit for each enum gda_dialect, as %GDA_SPOKEN
 * @comm: receives the communicator
 *
 * Return: as gda_gin_create(); -EOPNOTSUPP also if @spoken lacks the dialect of the queues.
 */
int gda_gin_create_spoken(struct gda_comm *ranks, struct gda_context *ctx,
			  const struct gda_gin_attr *attr, uint32_t flags, uint32_t layout,
			  uint64_t spoken, struct gda_gin_comm **comm);

/**
 * gda_gin_create - create a communicator with its contexts, signals and counters
 * @ranks: the ranks, which must outlive the communicator
 * @ctx: the caller's context, of queues and memory, which must outlive the communicator; so must
 *	gda_gin_attr.cuda
 * @attr: attributes of the communicator; NULL: one context without signals
 * @comm: receives the communicator
 *
 * Collective, by one thread of each rank. Queues are connected when it returns: any rank
 * may put to any peer that it is connected to.
 *
 * Return: 0; -EINVAL a member is out of its range, the ranks gave different attributes, or
 * @attr.size is too small; -E2BIG @attr is of a later version with members set that this library
 * does not know, or the program's structures are larger than the library's; -EOPNOTSUPP unknown
 * flags, or flags or a GDA_GIN_NEED_* that its signals do not meet (gda_last_error() names it);
 * -ENOSPC, -ENOMEM too many queues; -ENOENT a rank is another process, and the device is
 * in-process; what gda_comm_allgather() returns; the error of another rank.
 */
GDA_HOST_API int gda_gin_create(struct gda_comm *ranks, struct gda_context *ctx,
				const struct gda_gin_attr *attr, struct gda_gin_comm **comm)
{
#ifdef GDA_CHECK
	uint32_t flags = GDA_GIN_CHECKED;
#else
	uint32_t flags = 0;
#endif

	return gda_gin_create_spoken(ranks, ctx, attr, flags,
				     (uint32_t)(sizeof(struct gda_gin_comm) << 16 |
						sizeof(struct gda_gin)), GDA_SPOKEN, comm);
}

/**
 * gda_gin_cuda_comm - the address of a communicator for kernels of its GPU
 * @comm: the communicator
 *
 * All verbs are then called in kernels, with the result of gda_gin_context() there. The host calls
 * no verbs, only gda_gin_abort() and gda_gin_query_error(), with the result of gda_gin_context()
 * here.
 *
 * Return: its address on the GPU, valid until gda_gin_destroy(); NULL without gda_gin_attr.cuda.
 */
struct gda_gin_comm *gda_gin_cuda_comm(const struct gda_gin_comm *comm);

/**
 * gda_gin_destroy - destroy a communicator, its queues and signals
 * @comm: the communicator, or NULL; gone when the call returns
 *
 * Collective; all windows must be deregistered before. It waits for the other ranks as long as any
 * collective call, so that none loses a peer for which it still waits. No thread may post or wait
 * meanwhile. If a GPU posts the call waits for running kernels.
 */
void gda_gin_destroy(struct gda_gin_comm *comm);

/**
 * gda_gin_context - a context of a communicator (G-01)
 * @comm: the communicator
 * @index: of the context, counted modulo gda_gin_comm.contexts
 *
 * Return: the context, valid until gda_gin_destroy().
 */
GDA_API struct gda_gin *gda_gin_context(const struct gda_gin_comm *comm, uint32_t index)
{
	return (struct gda_gin *)(uintptr_t)
		(comm->gins + (uint64_t)(index % comm->contexts) * comm->gin_bytes);
}

/**
 * gda_gin_abort - end the waits of a context
 * @gin: the context
 *
 * Every wait of this rank in the context, now and later, ends with -ESHUTDOWN. Any thread may call
 * it. The other ranks are not notified: they notice at their deadlines, or when this rank has left
 * (gda_comm_destroy()).
 */
GDA_API void gda_gin_abort(struct gda_gin *gin)
{
	gda_nic_store32((uint32_t *)(uintptr_t)gin->abort, 1);
}

/**
 * gda_team_world - all ranks
 * @comm: the communicator
 *
 * Return: the team.
 */
GDA_API struct gda_team gda_team_world(const struct gda_gin_comm *comm)
{
	return gda_team_make(comm->nranks, comm->rank, 1);
}

/**
 * gda_team_local - the ranks that reach each other through memory
 * @comm: the communicator
 *
 * Return: the team that the caller is in.
 */
GDA_API struct gda_team gda_team_local(const struct gda_gin_comm *comm)
{
	return gda_team_inner(gda_team_world(comm), comm->local);
}

/**
 * gda_team_rail - the ranks with the caller's number in their local teams
 * @comm: the communicator
 *
 * Return: the team.
 */
GDA_API struct gda_team gda_team_rail(const struct gda_gin_comm *comm)
{
	return gda_team_outer(gda_team_world(comm), comm->local);
}

/**
 * gda_team_stride - the ranks that differ from the caller's by a multiple of the stride
 * @comm: a communicator with gda_gin_attr.stride
 *
 * Return: the team.
 */
GDA_API struct gda_team gda_team_stride(const struct gda_gin_comm *comm)
{
	return gda_team_outer(gda_team_world(comm), comm->stride);
}

/**
 * struct gda_gin_error - where a context failed first
 * @size: sizeof(struct gda_gin_error); the caller sets it
 * @context: index of the context
 * @peer: rank of the peer, in the world
 * @syndrome: the code of what went wrong, see gda_syndrome_name()
 * @vendor: why it went wrong, see gda_vendor_name()
 * @lost: 1 if no queue failed, but the rank @peer is lost; then the rest is 0
 * @window: the window at the peer that the work named, or NULL, for example for a signal
 * @offset: in @window
 */
struct gda_gin_error {
	uint32_t size;
	uint32_t context;
	uint32_t peer;
	uint32_t syndrome;
	uint32_t vendor;
	uint32_t lost;
	const struct gda_window *window;
	uint64_t offset;
};

/**
 * gda_gin_query_error - tell whether a context has failed, and where (G-30)
 * @gin: the context
 * @error: receives the error, if the context has failed; the caller sets its size
 *
 * If several queues have failed, the one to the lowest rank is reported. Any thread may call it.
 *
 * Return: 1 if the context has failed, else 0; -EINVAL, -E2BIG the structure's size.
 */
int gda_gin_query_error(struct gda_gin *gin, struct gda_gin_error *error);

/**
 * gda_gin_wait_failed - note for gda_last_error() why a wait of a context fails
 * @gin: the context
 * @word: the word that was waited for; NULL: a flush
 * @holds: its value
 * @least: the value to reach
 * @err: the errno that the wait returns, negative
 *
 * For the inline functions of gda/gin.h.
 *
 * Return: @err.
 */
int gda_gin_wait_failed(const struct gda_gin *gin, const uint64_t *word, uint64_t holds,
			uint64_t least, int err);

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif /* GDA_GIN_SETUP_H */
