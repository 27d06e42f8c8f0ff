/* SPDX-License-Identifier: MIT */
/*
 * Views: all that a poster needs of a queue pair, or a reader of a ring CQ, in one plain
 * struct. It lives in memory the posters can reach and has the same layout for CPUs and
 * GPUs, so pointers are 64-bit integers, valid where the posters run.
 *
 * gda_qp_view() returns the view of a QP of libgda; gda_view_init() makes one from
 * pointers. gda/fastpath.h has the calls that post through it. gda_cq_view() returns the view of
 * a ring CQ; gda/ring.h reads it.
 *
 * A view is shared by the library and the program, which may be of different ages: its
 * members stay where they are, and new ones come at the end, or where there was room.
 * Room is zero in a view that was made by a library which knows no member there. A
 * program gets no view that has fewer bytes than its headers say.
 */
#ifndef GDA_VIEW_H
#define GDA_VIEW_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How functions that only a host calls are defined; libgda defines it to export them. */
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
 * To an exclusive post the ring looks full then, so it looks again, and finds out.
 */
#define GDA_NOT_EXCLUSIVE	(1ULL << 63)

/**
 * define GDA_VIEW_DB_UNORDERED - the device takes doorbells in any order and does not wait for
 *	the record
 *
 * So no fence is needed between record and doorbell, nor between two doorbells.
 */
#define GDA_VIEW_DB_UNORDERED	(1U << 0)
/**
 * define GDA_VIEW_SQ_ON_GPU - queue and record lie in the memory of the posters' GPU, and
 *	the device reads them there
 *
 * So what was released at the scope of the GPU is visible to the device. Without it,
 * posters on a GPU release at system scope.
 */
#define GDA_VIEW_SQ_ON_GPU	(1U << 1)
/**
 * define GDA_VIEW_YIELD - more threads poll than there are processors
 *
 * So waits through the view give their processor to others now and then; see
 * gda_view_yield().
 */
#define GDA_VIEW_YIELD	(1U << 2)
/**
 * define GDA_VIEW_RING - completions come through a ring CQ that several QPs share
 *
 * Of a view: its @cq is not the device's, but kept by whoever polls the ring, which must be
 * CPU threads of this process. Of a ring: the same, and gda_cq_poll() does so, too.
 */
#define GDA_VIEW_RING	(1U << 3)

/**
 * define GDA_CAN_ORDER - work requests are carried out and complete in the order of tickets
 *
 * Writes become visible in that order, too. So a ticket that is done says the same of all
 * before it.
 */
#define GDA_CAN_ORDER	(1U << 0)
/**
 * define GDA_CAN_SIGNAL - gda_put_signal() is a strong signal
 *
 * A load with acquire order that sees the signal makes visible all that was put before through
 * the queue. Without it only the signal's own put.
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
 * struct gda_view - a queue pair as its posters see it
 * @size: sizeof(struct gda_view) of who filled it, or less if its owner's is smaller
 * @version: %GDA_VIEW_VERSION of who filled it
 * @sq: send queue, depth slots; of mlx5, of 64 bytes
 * @dbrec: send word of the doorbell record
 * @db: doorbell, 8 bytes
 * @cq: the one entry of the collapsed CQ
 * @slots: a 32-bit word per slot, used by shared posting; see gda/fastpath.h
 * @mask: depth - 1; depth is a power of two, at most 32768
 * @qpn: queue pair number
 * @qpn_be: of mlx5, bytes 4-7 are qpn << 8, big-endian: what doorbells and entries share
 * @timeout_ns: bound of waits that are not given a deadline
 * @abort: a 32-bit word; once it is not 0, every wait ends with -ESHUTDOWN
 * @abort_word: @abort points here unless it was pointed elsewhere
 * @caps: GDA_VIEW_*, what posters on a GPU may rely on and how waits wait; 0 unless it
 *	was set
 * @owner: the library's, or 0
 * @dialect: enum gda_dialect of gda/ioctl.h: the format of entries, which says when a ticket
 *	is done; 0: %GDA_DIALECT_MLX5, by a library that knew no other
 * @can: GDA_CAN_*, what the dialect and the device promise. Of a view that gda_view_init()
 *	made: what the dialect alone does
 * @max_inline: most bytes of gda_put_inline(); 0: of a library that did not tell
 * @spare: 0; room for more constants
 * @reserved: index of the next slot to hand out; it and all below never wrap
 * @exclusive_done: CPU: as @completed, of exclusive posts; %GDA_NOT_EXCLUSIVE: the last post
 *	was a shared one
 * @completed: slots known to have completed: a cached consumer index
 * @error_index: slot that failed first, or %GDA_NO_ERROR
 * @error: vendor << 8 | syndrome of that slot
 * @deferred: 2 * (index + 1) of the newest deferred post, plus 1 if it was exclusive
 * @flushed: everything below was rung by a flush
 * @offer: GPU: where to go on for the poster that takes the combining role; 0: it is not on
 *	offer
 * @retreat: GPU: posters that want to give a slot back
 * @rung: GPU: all below was rung; the combining role is free unless a thread has it
 *
 * The first 128 bytes are constant while anybody posts. Each group after them is
 * written by different threads at different times and has its own 128 bytes (the
 * line of a GPU, two of a CPU that fetches neighbours).
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
	uint32_t spare[5];

	uint64_t reserved __attribute__((aligned(128)));
	uint64_t exclusive_done;

	uint64_t completed __attribute__((aligned(128)));
	uint64_t error_index;
	uint64_t error;

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
 * @sq: send queue, aligned to 64 bytes
 * @dbrec: send word of the doorbell record (the second of its two)
 * @db: doorbell, aligned to 8 bytes
 * @cq: entry of the collapsed CQ, aligned to 64 bytes, preset to 0xff, nothing
 *	completed yet
 * @slots: a word per slot for shared posting, any content; the view's from now on
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
};

/**
 * gda_view_init_sized - gda_view_init() for a caller that knows the view's size
 * @v: receives the view
 * @size: bytes of @v; the library knows no member beyond
 * @attr: pointers and numbers of the queue
 *
 * The functions that the library exports under the names of inline ones know all of the
 * library's view: they take no view of fewer bytes.
 *
 * Return: as gda_view_init().
 */
int gda_view_init_sized(struct gda_view *v, size_t size, const struct gda_view_attr *attr);

/**
 * gda_view_init - make a view of a queue on which nothing was posted yet
 * @v: receives the view
 * @attr: pointers and numbers of the queue
 *
 * For queues that libgda did not create. No thread may use @v during the call.
 *
 * Return: 0; -EINVAL for a bad size, depth, number, pointer or alignment; -E2BIG the
 * library is older than this header: its view is smaller, or it does not know a member of
 * @attr that is set; -EOPNOTSUPP a dialect that posters do not speak; -EPROTO if the CQ entry is
 * not preset to 0xff: without that, index 0 would look complete before it was posted.
 */
GDA_HOST_API int gda_view_init(struct gda_view *v, const struct gda_view_attr *attr)
{
	return gda_view_init_sized(v, sizeof(*v), attr);
}

/**
 * gda_view_share - go on in shared mode after exclusive posting
 * @v: a view to which no thread posts during the call
 *
 * On a CPU the first shared post after exclusive ones does it by itself, and this call
 * is not needed. Deferred posts must have been flushed.
 */
void gda_view_share(struct gda_view *v);

/**
 * gda_view_yield - have waits give their processor to others, or not
 * @v: the view
 * @yield: whether more threads poll than there are processors
 *
 * A wait spins. That is fastest while there is a processor for each thread that polls:
 * those that wait, and the worker of each context of the software or the in-process device.
 * Where there are fewer, the wait takes the processor from what it waits for. So it yields after
 * 64 polls with @yield, and without after 256 or more; once a yield has found that another thread
 * wants this processor, it yields earlier either way. gda_qp_create() decides by the processors
 * that the thread may run on and the contexts that this process has open, for each of which it
 * counts a thread and a worker. A program that knows better calls this function.
 *
 * Any thread may call it, at any time. It has no effect on a GPU.
 */
void gda_view_yield(struct gda_view *v, int yield);

/**
 * gda_yield - let other threads run, for one that waits
 *
 * As sched_yield(2). But beside threads that compute a thread that yields again and again is
 * behind all of them each time, some 30 ms, and one that wakes is not. So where a yield took
 * long this call sleeps some 50 us instead, for the next 1 ms, and up to 60 ms if yields stay long.
 *
 * The waits of this library do the same; a program that waits for a word in another way may call
 * it, too. It is no cancellation point, and errno stays as it is.
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
 * Called by the waits of gda/fastpath.h; a program that waits in another way may call it,
 * too. On the in-process device the thread may execute the queue itself, and so what other
 * threads have posted there, for as long as a worker takes for a turn. Else it pauses, or
 * yields as gda_view_yield() says.
 *
 * Not for signal handlers: one that interrupted it would wait for the thread that it
 * interrupted. Nor may one leave it by longjmp(3).
 */
void gda_relax(struct gda_view *v, unsigned int polls, enum gda_relax_for what);

/**
 * gda_wait_failed - note for gda_last_error() why a wait for a ticket fails
 * @v: the queue
 * @ticket: of the post
 * @err: the errno that the wait returns, negative
 *
 * For the inline functions of gda/fastpath.h, and waits that a program makes of gda_test(). It
 * reads memory; the device is asked when gda_last_error() is called.
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
 * @value: it was compared with
 * @err: the errno that the wait returns, negative
 *
 * For the inline functions of gda/shmem.h and gda/async.h.
 *
 * Return: @err.
 */
int gda_wait_word_failed(const char *call, uint64_t holds, uint64_t value, int err);

/**
 * gda_record_posted - write to the program's ring of records what was posted
 * @v: the queue
 * @index: of the first slot
 * @n: slots, of one entry or more
 *
 * Called by the posts of a program that is compiled with GDA_RECORD, before they ring. Until
 * gda_record_open() makes the ring it does nothing.
 */
void gda_record_posted(const struct gda_view *v, uint64_t index, uint32_t n);

/**
 * gda_record_observed - write to the program's ring of records that an outcome was seen
 * @v: the queue
 * @ticket: the ticket that the outcome is of
 * @done: the value that gda_test() returns, not 0
 *
 * gda_test() and all waits of a program that is compiled with GDA_RECORD call it. Until
 * gda_record_open() makes the ring it does nothing.
 */
void gda_record_observed(const struct gda_view *v, int64_t ticket, int done);

/**
 * struct gda_cq_view - a ring CQ as its reader sees it
 * @size: sizeof(struct gda_cq_view) of who filled it
 * @mask: entries - 1, a power of two less one
 * @entries: the ring
 * @record: the consumer's record, a 32-bit word
 * @next: entries taken so far
 * @error: once it is not 0, every wait that finds no entry ends with this errno
 * @caps: %GDA_VIEW_YIELD, %GDA_VIEW_RING; 0 unless it was set
 * @owner: the library's, or 0
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
 * gda_view_progress - take what is in the ring that completes the work of a view
 * @v: a view with %GDA_VIEW_RING
 *
 * Credits all views of the ring with what has completed, in one pass over what is new
 * there: that costs the same for many QPs as for one. gda_test(), gda_error(), waits and
 * posts on a full queue call it. Any number of threads may; one of them looks, for all.
 */
void gda_view_progress(struct gda_view *v);

/**
 * gda_view_ask - gda_view_progress(), and ask the device if nothing is posted
 * @v: a view with %GDA_VIEW_RING
 *
 * A queue that fails while nothing is posted to it has no entry in a ring: an entry there
 * stands for a work request. So gda_error() calls this; where all that was posted is done
 * it asks the device about the queue, which is a system call on /dev/gda.
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
 * It pauses, helps or yields as gda_relax() does; on the in-process device the queues that it
 * executes are some of those of the ring's context.
 */
void gda_cq_relax(struct gda_cq_view *cq, unsigned int polls);

/**
 * struct gda_cq_entry - an entry of a ring, decoded
 * @size: sizeof(struct gda_cq_entry); the caller sets it and it stays as it is
 * @qpn: number of the QP, of this side
 * @opcode: enum gda_mlx5_cqe_opcode: %GDA_MLX5_CQE_RESP_IMM an immediate arrived,
 *	%GDA_MLX5_CQE_REQ work is done, %GDA_MLX5_CQE_REQ_ERR it failed
 * @wr_opcode: enum gda_mlx5_opcode of the work
 * @counter: low 16 bits of the ticket of the work, not for immediates
 * @imm: the immediate
 * @bytes: payload; 0 for work that failed
 * @solicited: 1 if it is a solicited one
 * @syndrome: enum gda_mlx5_syndrome; 0 for work that did not fail
 * @vendor: enum gda_cause
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
 * @size: sizeof(*@entry) where it is called
 *
 * Return: 1 if there was one, else 0.
 */
int gda_cq_reserve(struct gda_cq_view *cq, struct gda_cq_entry *entry, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* GDA_VIEW_H */
