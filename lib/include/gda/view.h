/* SPDX-License-Identifier: MIT */
/*
 * Views: everything that a poster needs of a queue pair, or a reader of a ring CQ, in one plain
 * struct. A view is in memory that the posters can reach, and has the same layout for CPUs and
 * GPUs, so pointers are 64-bit integers, valid where the posters run.
 *
 * gda_qp_view() returns the view of a QP of libgda; gda_view_init() makes one from
 * pointers. gda/fastpath.h has the calls that post through it. gda_cq_view() returns the view of
 * a ring CQ; gda/ring.h reads it.
 *
 * Library and program share a view and may be of different ages: its members never move, and new
 * ones are appended, or placed in unused room, which older libraries set to zero. A program never
 * gets a view that is smaller than its headers say.
 */
#ifndef GDA_VIEW_H
#define GDA_VIEW_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/* The linkage of functions that only a host calls; libgda defines this to export them. */
#ifndef GDA_HOST_API
#define GDA_HOST_API static inline
#endif

/**
 * define GDA_VIEW_VERSION - layout of struct gda_view; fields are only appended
 */
#define GDA_VIEW_VERSION 2

/**
 * define GDA_NO_ERROR - error_index of a queue without an error
 */
#define GDA_NO_ERROR UINT64_MAX

/**
 * define GDA_NOT_EXCLUSIVE - exclusive_done of a queue to which shared posts go
 *
 * To an exclusive post the ring then looks full, so it reads the CQ again and notices.
 */
#define GDA_NOT_EXCLUSIVE	(1ULL << 63)

/**
 * define GDA_VIEW_DB_UNORDERED - the device accepts doorbells in any order and does not need the
 *	record
 *
 * So no fence is needed between record and doorbell, nor between two doorbells.
 */
#define GDA_VIEW_DB_UNORDERED	(1U << 0)
/**
 * define GDA_VIEW_SQ_ON_GPU - queue and record are in the memory of the posters' GPU, where the
 *	device reads them
 *
 * So stores released at GPU scope are visible to the device. Without this flag posters on a GPU
 * release at system scope.
 */
#define GDA_VIEW_SQ_ON_GPU	(1U << 1)
/**
 * define GDA_VIEW_YIELD - more threads poll than there are processors
 *
 * So waits through the view yield their processor from time to time; see gda_view_yield().
 */
#define GDA_VIEW_YIELD	(1U << 2)
/**
 * define GDA_VIEW_RING - completions come through a ring CQ that several QPs share
 *
 * In a view: its @cq is written not by the device but by CPU threads of this process that poll the
 * ring. In a ring's view: gda_cq_poll() is one of these pollers.
 */
#define GDA_VIEW_RING	(1U << 3)

/**
 * define GDA_CAN_ORDER - work requests are executed and complete in the order of tickets
 *
 * Writes become visible in that order, too. So when a ticket is done all earlier ones are.
 */
#define GDA_CAN_ORDER	(1U << 0)
/**
 * define GDA_CAN_SIGNAL - gda_put_signal() is a strong signal
 *
 * A load with acquire order that sees the signal makes all earlier puts of the queue visible;
 * without this flag, only the signal's own put.
 */
#define GDA_CAN_SIGNAL	(1U << 1)
/**
 * define GDA_CAN_ATOMIC - atomics that fetch
 *
 * gda_fetch_add() and gda_compare_swap().
 */
#define GDA_CAN_ATOMIC	(1U << 2)
/**
 * define GDA_CAN_MASKED - the atomics of gda/masked_atomic.h
 */
#define GDA_CAN_MASKED	(1U << 3)
/**
 * define GDA_CAN_IMM - puts that leave an entry in a ring of the peer
 *
 * gda_put_imm().
 */
#define GDA_CAN_IMM	(1U << 4)
/**
 * define GDA_CAN_COUNTER - gda_qp_attr.sent_counter and gda_qp_attr.recv_counter
 */
#define GDA_CAN_COUNTER	(1U << 5)

/**
 * define GDA_VIEW_MARKS_BYTES - bytes at gda_view.marks
 */
#define GDA_VIEW_MARKS_BYTES	24576U

/**
 * define GDA_TICKETS_KNOWN - tickets of a queue without %GDA_CAN_ORDER whose outcomes are known
 *
 * Those that are at most so far behind the newest one.
 */
#define GDA_TICKETS_KNOWN	65535U

/**
 * define GDA_SPOKEN - the dialects that the posts of a program speak, a bit for each enum
 * gda_dialect
 *
 * mlx5; and efa in a program that defines GDA_WQE_EFA before its first include of a header of gda.
 * A post of such a program costs up to 5 instructions more on an mlx5 queue.
 */
#if defined(GDA_WQE_EFA) && defined(GDA_WQE_TEST)
#define GDA_SPOKEN	(1ULL << GDA_DIALECT_MLX5 | 1ULL << GDA_DIALECT_EFA |	\
			 1ULL << GDA_WQE_TEST % 64)
#elif defined(GDA_WQE_EFA)
#define GDA_SPOKEN	(1ULL << GDA_DIALECT_MLX5 | 1ULL << GDA_DIALECT_EFA)
#elif defined(GDA_WQE_TEST)
#define GDA_SPOKEN	(1ULL << GDA_DIALECT_MLX5 | 1ULL << GDA_WQE_TEST % 64)
#else
#define GDA_SPOKEN	(1ULL << GDA_DIALECT_MLX5)
#endif

/**
 * struct gda_peer - a QP as the target of work, where each post names one
 * @target: address handle, number << 16, and key << 32, in host byte order
 * @handle: for gda_peer_remove()
 * @reserved: 0
 *
 * gda_peer_add() fills it in. Plain data, to be copied to wherever posters run.
 */
struct gda_peer {
	uint64_t target;
	uint32_t handle;
	uint32_t reserved;
};

/**
 * struct gda_view - a queue pair as its posters see it
 * @size: sizeof(struct gda_view) of the library that filled it in, or less if the owner's is
 *	smaller
 * @version: %GDA_VIEW_VERSION of that library
 * @sq: send queue, depth slots; of mlx5, of 64 bytes
 * @dbrec: send word of the doorbell record; where there is none, a word of the poster's
 * @db: doorbell, 8 bytes
 * @cq: the one entry of the collapsed CQ; unordered: the ring that completes this queue's work
 *	alone, as deep as the queue
 * @slots: a 32-bit word per slot, used by shared posting; see gda/fastpath.h
 * @mask: depth - 1; depth is a power of two, at most 32768
 * @qpn: queue pair number
 * @qpn_be: of mlx5, bytes 4-7 are qpn << 8, big-endian: what doorbells and entries share; of efa
 *	the number of the QP that posts are for, in bits 47:32
 * @timeout_ns: bound of waits that are not given a deadline
 * @abort: a 32-bit word; once it is not 0, every wait ends with -ESHUTDOWN
 * @abort_word: @abort points here by default
 * @caps: GDA_VIEW_*, properties of the device and of waits; 0 by default
 * @owner: private to the library, or 0
 * @dialect: enum gda_dialect of gda/ioctl.h: the format of entries, which determines when a ticket
 *	is done; 0: %GDA_DIALECT_MLX5, set by a library that knew no other
 * @can: GDA_CAN_*, the promises of dialect and device. In a view of gda_view_init(): those of the
 *	dialect alone
 * @max_inline: most bytes of gda_put_inline(); 0: set by a library without this member
 * @qkey: efa: key of the QP that posts are for
 * @marks: unordered: %GDA_VIEW_MARKS_BYTES with the outcomes of tickets; see gda/wqe/efa.h
 * @ah: efa: address handle of that QP, in bits 47:32
 * @reserved: index of the next slot to reserve; it and all indices below never wrap
 * @exclusive_done: CPU: like @completed, for exclusive posts; %GDA_NOT_EXCLUSIVE: the last post was
 *	a shared one
 * @completed: slots known to have completed: a cached consumer index
 * @error_index: slot that failed first, or %GDA_NO_ERROR
 * @error: vendor << 8 | syndrome of that slot
 * @taken: unordered: entries taken from the ring at @cq
 * @done: unordered: all tickets below are done
 * @ahead: unordered: tickets beyond @done that are done, of whoever is the reaper
 * @reaper: unordered: 1 while a thread takes entries
 * @failed: unordered: the newest ticket that failed, plus 1; 0: none did
 * @deferred: 2 * (index + 1) of the newest deferred post, plus 1 if it was exclusive
 * @flushed: everything below was rung by a flush
 * @offer: GPU: the slot at which the poster that takes the combining role goes on; 0: the role is
 *	not offered
 * @retreat: GPU: number of posters that want to return a slot
 * @rung: GPU: all slots below were rung
 *
 * The first 128 bytes are constant while threads post. Each group of members after them is written
 * by different threads at different times and has its own 128 bytes (a cache line of a GPU, two of
 * a CPU that prefetches neighbours).
 */
struct gda_view {
	uint32_t size;
	uint32_t version;
	uint64_t sq;
	uint64_t dbrec;
	uint64_t db;
	uint64_t cq;
	uint64_t slots;
	uint32_t mask;
	uint32_t qpn;
	uint64_t qpn_be;
	uint64_t timeout_ns;
	uint64_t abort;
	uint32_t abort_word;
	uint32_t caps;
	uint64_t owner;
	uint32_t dialect;
	uint32_t can;
	uint32_t max_inline;
	uint32_t qkey;
	uint64_t marks;
	uint64_t ah;

	uint64_t reserved __attribute__((aligned(128)));
	uint64_t exclusive_done;

	uint64_t completed __attribute__((aligned(128)));
	uint64_t error_index;
	uint64_t error;
	uint64_t taken;
	uint64_t done;
	uint32_t ahead;
	uint32_t reaper;
	uint64_t failed;

	uint64_t deferred __attribute__((aligned(128)));
	uint64_t flushed;
	uint64_t offer;
	uint32_t retreat;
	uint64_t rung;
} __attribute__((aligned(128)));

/**
 * struct gda_view_attr - pointers and numbers that a view is made from
 * @size: sizeof(struct gda_view_attr)
 * @depth: slots, a power of two, at most 32768
 * @qpn: queue pair number, 24 bits
 * @dialect: enum gda_dialect of gda/ioctl.h: the format of the queue; 0: %GDA_DIALECT_MLX5
 * @timeout_ns: bound of waits that are not given a deadline; 0: one second
 * @sq: send queue, aligned to 64 bytes; of efa, of entries of 128 bytes
 * @dbrec: send word of the doorbell record (the second of its two); of efa any word
 * @db: doorbell, aligned to 8 bytes
 * @cq: entry of the collapsed CQ, aligned to 64 bytes, preset to 0xff, nothing
 *	completed yet; efa: a ring of @depth places of 32 bytes, zero, for this queue alone
 * @slots: a word per slot for shared posting, any content; used by the view from now on
 * @marks: efa: %GDA_VIEW_MARKS_BYTES, zero, aligned to 8 bytes; used by the view from now on
 */
struct gda_view_attr {
	uint32_t size;
	uint32_t depth;
	uint32_t qpn;
	uint32_t dialect;
	uint64_t timeout_ns;
	void *sq;
	void *dbrec;
	void *db;
	const void *cq;
	uint32_t *slots;
	void *marks;
};

/**
 * gda_view_init_sized - gda_view_init() for a caller that knows the view's size
 * @v: receives the view
 * @size: bytes of @v; the library knows no member beyond
 * @attr: pointers and numbers of the queue
 *
 * The exported versions of inline functions use all members of the library's view, so they take no
 * smaller view.
 *
 * Return: as gda_view_init().
 */
int gda_view_init_sized(struct gda_view *v, size_t size, const struct gda_view_attr *attr);

/**
 * gda_view_init - make a view of a queue without posts
 * @v: receives the view
 * @attr: pointers and numbers of the queue
 *
 * For queues that libgda did not create. No thread may use @v during the call.
 *
 * Return: 0; -EINVAL for a bad size, depth, number, pointer or alignment; -E2BIG the library is
 * older than this header: its view is smaller, or it does not know a member of @attr that is set;
 * -EOPNOTSUPP a dialect that posters do not speak; -EPROTO the CQ entry is not preset to 0xff, so
 * index 0 would look complete before it was posted.
 */
GDA_HOST_API int gda_view_init(struct gda_view *v, const struct gda_view_attr *attr)
{
	return gda_view_init_sized(v, sizeof(*v), attr);
}

/**
 * gda_view_peer - choose whom posts are for
 * @v: a view to which no thread posts during the call, of a dialect in which each post names its
 *	target
 * @peer: the target
 */
GDA_HOST_API void gda_view_peer(struct gda_view *v, const struct gda_peer *peer)
{
	v->qpn_be = (peer->target >> 16 & 0xffff) << 32;
	v->ah = (peer->target & 0xffff) << 32;
	v->qkey = (uint32_t)(peer->target >> 32);
}

/**
 * gda_view_share - go on in shared mode after exclusive posting
 * @v: a view to which no thread posts during the call
 *
 * On a CPU the first shared post after exclusive ones does this itself, and the call is not needed.
 * Deferred posts must have been flushed.
 */
void gda_view_share(struct gda_view *v);

/**
 * gda_view_yield - set whether waits yield their processor
 * @v: the view
 * @yield: whether more threads poll than there are processors
 *
 * A wait spins. That is fastest while there is a processor for each polling thread: the waiting
 * ones, and the worker of each context of the software or the in-process device. With fewer
 * processors the wait takes the processor from the thread that it waits for. So it yields after 64
 * polls with @yield, and otherwise after 256 or more; once a yield has found that another thread
 * wants this processor, it yields earlier in both cases. gda_qp_create() sets the default by the
 * processors that the thread may run on and the contexts that this process has open, counting a
 * thread and a worker for each. A program that knows better calls this function.
 *
 * Any thread may call it, at any time. It has no effect on a GPU.
 */
void gda_view_yield(struct gda_view *v, int yield);

/**
 * gda_yield - let other threads run while the caller waits
 *
 * Like sched_yield(2). But a thread that yields repeatedly beside compute-bound threads waits for
 * all of them each time, some 30 ms, whereas a thread that wakes does not. So after a long yield
 * the next calls sleep some 50 us instead, for 1 ms, and up to 60 ms if yields stay long.
 *
 * The waits of this library do the same; a program that waits for a word in another way may call
 * it, too. It is no cancellation point, and errno is preserved.
 */
void gda_yield(void);

/**
 * enum gda_relax_for - the event that a thread waits for
 * @GDA_RELAX_DONE: work that it posted
 * @GDA_RELAX_ROOM: room in the ring, to post
 */
enum gda_relax_for {
	GDA_RELAX_DONE,
	GDA_RELAX_ROOM,
};

/**
 * gda_relax - pause between two polls of a wait, or help
 * @v: the queue
 * @polls: polls so far, at least 1
 * @what: the event that the thread waits for
 *
 * Called by the waits of gda/fastpath.h; a program that waits in another way may call it, too. On
 * the in-process device the thread may execute the queue itself, including posts of other threads,
 * for as long as one turn of a worker. Otherwise it pauses, or yields as set by gda_view_yield().
 *
 * Not for signal handlers: a handler that interrupted this function would wait for the interrupted
 * thread. Nor may this function be left by longjmp(3).
 */
void gda_relax(struct gda_view *v, unsigned int polls, enum gda_relax_for what);

/**
 * gda_wait_failed - note for gda_last_error() why a wait for a ticket fails
 * @v: the queue
 * @ticket: of the post
 * @err: the errno that the wait returns, negative
 *
 * For the inline functions of gda/fastpath.h, and for waits that a program builds from gda_test().
 * It only reads memory; the device is queried when gda_last_error() is called.
 *
 * Return: @err.
 */
int gda_wait_failed(struct gda_view *v, int64_t ticket, int err);

/**
 * gda_post_failed - note for gda_last_error() why a post got no room
 * @v: the queue
 * @err: the errno that the post returns, negative
 *
 * For the inline functions of gda/queue.h.
 *
 * Return: @err.
 */
int gda_post_failed(struct gda_view *v, int err);

/**
 * gda_wait_word_failed - note for gda_last_error() why a wait for a word fails
 * @call: the name of the function that waits
 * @holds: the value of the word
 * @value: the value to compare with
 * @err: the errno that the wait returns, negative
 *
 * For the inline functions of gda/shmem.h and gda/async.h.
 *
 * Return: @err.
 */
int gda_wait_word_failed(const char *call, uint64_t holds, uint64_t value, int err);

/**
 * gda_record_posted - write a post to the program's ring of records
 * @v: the queue
 * @index: of the first slot
 * @n: slots, of one entry or more
 *
 * Called by the posts of a program that is compiled with GDA_RECORD, before they ring. Until
 * gda_record_open() makes the ring it does nothing.
 */
void gda_record_posted(const struct gda_view *v, uint64_t index, uint32_t n);

/**
 * gda_record_observed - write an observed outcome to the program's ring of records
 * @v: the queue
 * @ticket: the ticket that the outcome is of
 * @done: the value that gda_test() returns, not 0
 *
 * gda_test() and waits for a ticket, of a program that is compiled with GDA_RECORD, call it. Until
 * gda_record_open() makes the ring it does nothing.
 */
void gda_record_observed(const struct gda_view *v, int64_t ticket, int done);

/**
 * struct gda_cq_view - a ring CQ as its reader sees it
 * @size: sizeof(struct gda_cq_view) of the library that filled it in
 * @mask: entries - 1, a power of two less one
 * @entries: the ring
 * @record: the consumer's record, a 32-bit word
 * @next: entries taken so far
 * @error: once it is not 0, every wait that finds no entry ends with this errno
 * @caps: %GDA_VIEW_YIELD, %GDA_VIEW_RING; 0 by default
 * @owner: private to the library, or 0
 * @dialect: enum gda_dialect of gda/ioctl.h: the format of the entries
 * @reserved: 0
 *
 * Plain data like struct gda_view: pointers are valid where the reader runs.
 */
struct gda_cq_view {
	uint32_t size;
	uint32_t mask;
	uint64_t entries;
	uint64_t record;
	uint64_t next;
	uint32_t error;
	uint32_t caps;
	uint64_t owner;
	uint32_t dialect;
	uint32_t reserved;
};

/**
 * gda_view_progress - take new entries from the ring that completes a view's work
 * @v: a view with %GDA_VIEW_RING
 *
 * Credits all views of the ring with completed work, in one pass over the new entries, at the same
 * cost for many QPs as for one. gda_test(), gda_error(), waits and posts on a full queue call it.
 * Any number of threads may call it; one of them reads the ring for all.
 */
void gda_view_progress(struct gda_view *v);

/**
 * gda_view_ask - gda_view_progress(), and query the device if nothing is posted
 * @v: a view with %GDA_VIEW_RING
 *
 * A ring has entries only for work requests, so it does not show that an idle queue has failed.
 * gda_error() therefore calls this function: if all posted work is done, it queries the device
 * about the queue, by a system call on /dev/gda.
 */
void gda_view_ask(struct gda_view *v);

/**
 * gda_cq_wait_failed - note for gda_last_error() why a wait for an entry fails
 * @cq: the ring
 * @err: the errno that the wait returns, negative
 *
 * For the inline functions of gda/ring.h.
 *
 * Return: @err.
 */
int gda_cq_wait_failed(struct gda_cq_view *cq, int err);

/**
 * gda_cq_relax - pause between two polls of gda_cq_wait(), or help
 * @cq: the ring
 * @polls: polls so far, at least 1
 *
 * It pauses, helps or yields as gda_relax() does; on the in-process device it executes some queues
 * of the ring's context.
 */
void gda_cq_relax(struct gda_cq_view *cq, unsigned int polls);

/**
 * enum gda_cq_kind - what an entry of a ring is of, in every dialect
 * @GDA_CQ_KIND_DONE: work is done
 * @GDA_CQ_KIND_IMM: an immediate arrived
 * @GDA_CQ_KIND_ERROR: work failed
 */
enum gda_cq_kind {
	GDA_CQ_KIND_DONE = 0x0,
	GDA_CQ_KIND_IMM = 0x1,
	GDA_CQ_KIND_ERROR = 0xd,
};

/**
 * struct gda_cq_entry - an entry of a ring, decoded
 * @size: sizeof(struct gda_cq_entry); set by the caller, and not changed
 * @qpn: number of the QP on this side; efa: its low 16 bits
 * @opcode: enum gda_cq_kind; mlx5: the same numbers as enum gda_mlx5_cqe_opcode
 * @wr_opcode: the dialect's opcode of the work
 * @counter: low 16 bits of the ticket of the work, not for immediates
 * @imm: the immediate
 * @bytes: payload; 0 for work that failed
 * @solicited: 1 if it is a solicited one
 * @syndrome: the dialect's code of an error; 0 for work that did not fail
 * @vendor: enum gda_cause; of efa 0: gda_qp_query() tells
 * @user_index: gda_qp_attr.user_index of that QP
 */
struct gda_cq_entry {
	uint32_t size;
	uint32_t qpn;
	uint32_t opcode;
	uint32_t wr_opcode;
	uint32_t counter;
	uint32_t imm;
	uint32_t bytes;
	uint32_t solicited;
	uint32_t syndrome;
	uint32_t vendor;
	uint32_t user_index;
};

/**
 * gda_cq_reserve - gda_cq_poll() of a ring with %GDA_VIEW_RING, for that inline function
 * @cq: the ring
 * @entry: receives the entry, if there is one
 * @size: sizeof(*@entry) in the caller
 *
 * Return: 1 if there was one, else 0.
 */
int gda_cq_reserve(struct gda_cq_view *cq, struct gda_cq_entry *entry, size_t size);

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif /* GDA_VIEW_H */
