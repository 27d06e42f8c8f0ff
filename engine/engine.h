/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The engine: a portable software NIC. It consumes one send queue at a time,
 * moves the data and writes the completions. The same files are built into
 * gda_core.ko, into libgda's in-process device, into tests and fuzzers.
 *
 * Rules of everything in this directory:
 *
 * - It includes only gda_os.h, headers of this directory and uapi, and those of kmod/include that
 *   executors use, too (gda/work.h, gda/flight.h).
 * - It takes no lock, allocates nothing, never sleeps, reads no clock, logs
 *   nothing. Its host may lock inside a gda_host_* function.
 * - Memory that a user can write (send queue, records, doorbells, payload) is read
 *   exactly once into private memory, and only the copy is checked and used.
 *   Nothing is ever read back from a CQ.
 * - Every work request ends in exactly one outcome: done, or failed with a class and a
 *   cause (dialect.h). When a failure is fatal, the queue is in error and the rest is
 *   flushed; the dialect says whether it is.
 *
 * One thread at a time calls the engine for a queue. The host keeps the queue, its peer, their CQs
 * and every MR alive and mapped for the length of one gda_engine_visit() (in the kernel: an SRCU
 * read section), whose @bytes bounds how much is moved.
 */
#ifndef GDA_ENGINE_H
#define GDA_ENGINE_H

#include "recv.h"
#include <gda/record.h>

struct gda_engine_counter;
struct gda_order;

#define GDA_ENGINE_MAX_DEPTH	32768U		/* slots of the longest queue of any dialect */
#define GDA_ENGINE_MAX_SQ_BYTES	(2U << 20)	/* ... and its bytes */
#define GDA_ENGINE_MAX_CQE_BYTES 64U		/* the longest entry of a CQ */
#define GDA_ENGINE_MAX_MSG	0x7fffffffU	/* the largest payload of a request, in bytes */
#define GDA_ENGINE_RNR_FOREVER	(~0U)	/* gda_engine_qp.rnr_retry: without end */

/* Flag of gda_mem.state, valid with GDA_MR_LIVE: the CPU has no mapping of the memory. */
#define GDA_MEM_NO_CPU	0x100U

/* Bits of gda_engine_qp.record. */
#define GDA_ENGINE_RECORD	1U	/* tell gda_host_record() every outcome, not only errors */
#define GDA_ENGINE_SELECTS	2U	/* @sent_counter counts some operations; for good */

/*
 * An MR as the engine knows it. The host embeds it in its own object.
 * Everything but @state is constant while the engine can find it.
 */
struct gda_mem {
	void *pd;		/* identity of the protection domain */
	u64 iova;		/* address of the first byte, as work requests name it */
	u64 size;		/* bytes; iova + size - 1 does not wrap */
	u32 key;
	u32 access;		/* GDA_ACCESS_* */
	u32 state;		/* enum gda_mr_state, perhaps with GDA_MEM_NO_CPU; use READ_ONCE */
};

/* A completion queue as the engine sees it. Guarded by the host's CQ lock. */
struct gda_engine_cq {
	const struct gda_dialect_ops *dialect;	/* that of its queues may differ */
	void *entries;		/* the first place to write; never read */
	u32 depth;		/* power of two; 1: collapsed, else a ring */
	bool collapsed;
	bool failed;		/* overflowed: nothing is written any more */
	u8 wide;		/* 1: the stride of entries is twice their size */
	u64 producer;		/* index; private, never read back from memory */
	u64 reached;		/* collapsed: 1 + the slot that the entry names */
	const __be32 *consumer;	/* user's consumer index record (ring), or NULL */
	u32 moves;		/* gda_dialect_ops.move wrote so many entries... */
	u32 moved_at;		/* ... while the consumer's index was this... */
	u64 moved;		/* ... the last when @producer was this */
};

enum gda_completion_kind {
	GDA_COMPLETION_DONE,	/* a work request of this queue succeeded */
	GDA_COMPLETION_IMM,	/* a write with immediate arrived from the peer */
	GDA_COMPLETION_ERROR,	/* a work request of this queue failed */
	GDA_COMPLETION_RECV,	/* a receive took what the peer sent */
	GDA_COMPLETION_RECV_IMM,	/* ... and an immediate */
	GDA_COMPLETION_RECV_ERROR,	/* a receive failed, or was flushed */
};

/* A completion, before a dialect writes it as a CQE. */
struct gda_completion {
	u8 kind;		/* enum gda_completion_kind */
	u8 wr_opcode;		/* gda_work.opcode; 0 for what the peer sent */
	bool solicited;
	struct gda_status status;
	struct gda_status first;	/* of an error: the status of the first failed slot */
	u64 first_error;
	u64 index;		/* the work request's first slot, or the receive's index */
	u32 qpn;
	u32 byte_cnt;
	u64 uidx_imm;		/* user index of the QP << 32 | immediate */
	u32 source;		/* of a datagram: number of the QP that sent it... */
	u16 lid;		/* ... its port, or where it is (gda_target.back) */
	u8 sl;			/* ... its service level */
	bool global;		/* ... whether it has a global header */
	u64 id;			/* gda_target.id, if the dialect reports it */
};

/*
 * Did the owner of the CQ cause this completion, rather than a peer? If so, the CQ fails when it
 * has no room for it.
 */
static inline bool gda_completion_own(const struct gda_completion *c)
{
	return c->kind == GDA_COMPLETION_DONE || c->kind == GDA_COMPLETION_ERROR ||
	       (c->kind == GDA_COMPLETION_RECV_ERROR && c->status.class == GDA_CLASS_FLUSH);
}

/* The GDA_CQ_ARM* kinds of arming that a completion triggers. */
static inline u32 gda_completion_fires(const struct gda_completion *c)
{
	if (c->solicited || c->status.class)
		return GDA_CQ_ARM | GDA_CQ_ARM_SOLICITED;
	return GDA_CQ_ARM;
}

/*
 * A send queue and its progress. Writers of its members:
 *
 * The host fills in the first part before the first visit. Later it may change @peer
 * (smp_store_release()), @state (INIT -> WAIT -> READY, by cmpxchg, since the engine may have set
 * ERROR) and @fail (WRITE_ONCE); @denied, @rnr_retry and @min_rnr_timer at any time (WRITE_ONCE);
 * @record between two visits. When the queue's memory goes away the host sets @sq to NULL, between
 * two visits, and @fail: the slots are then flushed unread.
 *
 * The engine owns the rest.
 */
struct gda_engine_qp {
	const struct gda_dialect_ops *dialect;
	const void *sq;			/* user-writable; NULL if gone, and @fail is set */
	const __be32 *dbrec;		/* user-writable: [0] receive, [1] send */
	const __be64 *db;		/* user-writable: doorbell cell */
	struct gda_engine_cq *cq;
	struct gda_engine_cq *recv_cq;	/* for immediates and sends of the peer, or NULL */
	struct gda_engine_rq *rq;	/* for sends of the peer; NULL: it cannot send */
	struct gda_counter_mem *sent;	/* counts completed work, or NULL; shared, atomic */
	struct gda_counter_mem *recv;	/* counts what arrived from the peer, or NULL; likewise */
	const struct gda_port *port;	/* of a datagram queue, or NULL */
	void *pd;
	struct gda_engine_qp *peer;	/* the responder, or NULL; see gda_engine_peer() */
	u32 depth;			/* slots, power of two */
	u32 qpn;
	u32 qkey;			/* which requests must name, if its dialect has keys */
	u32 user_index;			/* 24 bits, reported in completions */
	u32 rnr_retry;			/* retries while the peer is not ready */
	u32 min_rnr_timer;		/* delay imposed on the peer, as verbs encode it */
	u32 wait_ms;			/* timeout of a WAIT */
	u32 denied;			/* GDA_ACCESS_REMOTE_* withheld from every peer */
	u32 max_sge;			/* most local segments of a request; 0: GDA_WORK_SGE */
	u32 state;			/* enum gda_qp_state */
	u32 fail;		/* host's request to fail: GDA_STATUS(), or 0 */
	bool sends;		/* sends are allowed; else they are an unknown opcode */
	u8 record;		/* GDA_ENGINE_RECORD, GDA_ENGINE_SELECTS */
	struct gda_order *order;	/* order.h; NULL: one request after the other */
	struct gda_engine_counter *sent_counter;	/* counter.h; NULL: @sent is all */
	struct gda_engine_counter *recv_counter;	/* likewise, of @recv */

	/* the engine's own */
	u32 (*visit)(struct gda_engine_qp *q, u32 wqes, u32 bytes);
	u64 ci;				/* slots consumed */
	u64 pi;				/* slots known to be published */
	u32 seen_db;			/* the last 16-bit index read from the doorbell... */
	u32 seen_dbrec;			/* ... and from the record */
	bool busy;			/* @work was begun, and resumes at the next visit */
	u32 done;			/* payload bytes of @work moved so far, if @busy */
	struct gda_work work;
	bool cqe_pending;		/* collapsed CQ: @last is not written yet */
	struct gda_completion last;
	bool blame;			/* failed while idle: the next request fails with @first */
	u64 imms;			/* immediates given to the peer */
	u32 rnr_tries;			/* of rnr_retry, used up by @work */
	u64 stray;			/* foreign doorbell that was reported already, or 0 */
	u64 recorded;			/* the @pi that gda_host_record() was told last */
	u64 fetched;			/* 1 + the slot last recorded as begun */
	struct gda_engine_counter *storing;	/* whose words this visit stores, or NULL */
	bool took;			/* @taken is the peer's open entry, for @work */
	struct gda_recv taken;

	/* under the lock of @rq */
	bool recv_open;			/* an entry was taken and is not complete */
	bool recv_closed;		/* no entry can be taken any more */
	u32 recv_index;			/* of the open entry */
	bool recv_kept;			/* its unreliable sender has given it back; acquire */
	bool recv_moves;		/* its sender moves bytes there; not under the lock */

	/* statistics and first error; others read them with READ_ONCE */
	u64 executed;
	u64 flushed;
	u64 bytes;
	u64 first_error;
	struct gda_status first;
};

/**
 * gda_engine_peer - the queue that responds
 * @q: a queue whose state the caller has already read
 *
 * The host sets the peer before it makes the queue ready, and keeps it only while neither has
 * failed. The peer need not be ready yet, so only a failed peer counts as gone.
 *
 * Return: the queue, or NULL.
 */
static inline struct gda_engine_qp *gda_engine_peer(const struct gda_engine_qp *q)
{
	struct gda_engine_qp *peer;

	/* after the caller's load of @q->state; pairs with the host's cmpxchg to READY */
	smp_rmb();
	/* pairs with the host's release: the peer's queue is complete */
	peer = smp_load_acquire(&q->peer);
	return peer && READ_ONCE(peer->state) != GDA_QP_ERROR ? peer : NULL;
}

/* engine.c */

/**
 * gda_engine_init - prepare the engine's part of a queue
 * @q: the host's part is filled in
 */
void gda_engine_init(struct gda_engine_qp *q);

/**
 * gda_engine_visit - serve a queue for a while
 * @q: the queue
 * @wqes: most work requests to begin, resume or flush; at least 1
 * @bytes: most payload bytes to move, at least 1 (a larger transfer resumes at the next visit; one
 *	of up to 64 bytes is never split and may exceed this)
 *
 * Return: how many work requests were begun, resumed or flushed, plus 1 if the queue itself failed;
 * 0 means there was nothing to do. Before returning, every completion of finished work is written.
 */
u32 gda_engine_visit(struct gda_engine_qp *q, u32 wqes, u32 bytes);

/**
 * gda_engine_pending - is there work that a visit would begin or resume?
 * @q: the queue
 *
 * Return: whether there is; also true when the doorbell holds something that must be
 * refused.
 */
bool gda_engine_pending(const struct gda_engine_qp *q);

/* counter.c */

/**
 * gda_counter_visit - gda_engine_visit() of a queue that counts in memory of the caller
 * @q: the queue
 * @wqes: most work requests
 * @bytes: most payload bytes
 *
 * Return: as gda_engine_visit(); a visit that only stored counts has found work, too.
 */
u32 gda_counter_visit(struct gda_engine_qp *q, u32 wqes, u32 bytes);

/* access.c */

/* gda_access_check() allows the access, but the memory is GDA_MEM_NO_CPU. This is no cause. */
#define GDA_ACCESS_NO_CPU	0xffU

/**
 * gda_access_check - may @pd use a range of an MR this way?
 * @mem: the MR that was found by @range->key, or NULL for none
 * @pd: protection domain that uses the key
 * @range: the key as given, compared in full; @len may be 0
 * @access: GDA_ACCESS_* needed, 0 for a local read
 *
 * Return: enum gda_cause, GDA_CAUSE_NONE or GDA_ACCESS_NO_CPU if it may. A
 * foreign domain's key is reported like one that does not exist.
 */
u8 gda_access_check(const struct gda_mem *mem, const void *pd, const struct gda_sge *range,
		    u32 access);

/* exec.c */

/* A span of an MR that was found during this visit, and what it may be used for. */
struct gda_exec_use {
	const struct gda_mem *mem;
	u64 tag;		/* the key, and above it the rights known to be granted */
	u64 addr;
	u64 last;		/* the last offset from @addr at which 8 bytes fit into the span */
	u8 *ptr;
};

/* The MRs that a work request names, found and checked. */
struct gda_exec_mems {
	const struct gda_mem *remote;
	const struct gda_mem *local[GDA_ENGINE_MAX_SGE];
};

/* gda_exec_scope.to.number before any responder is known: no QP has this number. */
#define GDA_EXEC_UNNAMED	(~0U)

/* Values that stay the same for one visit. */
struct gda_exec_scope {
	struct gda_engine_qp *peer;	/* the responder, or NULL if there is none */
	u64 until;			/* stop before q->bytes exceeds this */
	struct gda_exec_use local;
	struct gda_exec_use remote;
	/* of a dialect whose requests name their responder, and not set in others */
	u32 short_key;
	u32 key;			/* the whole of @short_key */
	struct gda_target to;		/* @peer is its queue */
};

/**
 * gda_exec_begin - begin a visit
 * @q: the queue
 * @bytes: most payload bytes to move
 * @scope: out
 */
void gda_exec_begin(const struct gda_engine_qp *q, u32 bytes, struct gda_exec_scope *scope);

/**
 * gda_exec - execute q->work, or go on with it
 * @q: queue; @q->busy if q->work was begun before
 * @scope: of this visit
 *
 * Return: 1 finished, 0 to be resumed (q->busy is set), or -GDA_STATUS().
 */
int gda_exec(struct gda_engine_qp *q, struct gda_exec_scope *scope);

/**
 * gda_exec_check - check a work request that the host itself executes
 * @q: queue
 * @w: its work request, in the host's hands
 * @peer: gda_engine_peer()
 * @mems: out: the MRs that @w names, which may be %GDA_MEM_NO_CPU; @mems->remote is NULL where
 *	there is no remote range
 *
 * These are the checks of gda_exec(). A key can be revoked at any time, so the host calls this
 * before it moves each part of a transfer.
 *
 * Return: 0 or -GDA_STATUS().
 */
int gda_exec_check(const struct gda_engine_qp *q, const struct gda_work *w,
		   const struct gda_engine_qp *peer, struct gda_exec_mems *mems);

/**
 * gda_exec_route - set the responder for the rest of a visit
 * @peer: the queue that responds from now on, or NULL if none does
 * @scope: of this visit
 */
void gda_exec_route(struct gda_engine_qp *peer, struct gda_exec_scope *scope);

/* record.c */

/**
 * gda_engine_describe - fill in a record with what a work request asks for
 * @w: the work request
 * @r: out: opcode, length, addresses and keys
 */
void gda_engine_describe(const struct gda_work *w, struct gda_record *r);

/**
 * gda_engine_record_arrived - tell the host that an immediate has arrived
 * @q: the queue that received it
 * @count: immediates before it
 * @opcode: of the peer's work request
 * @remote: its remote range
 * @imm: the immediate
 */
void gda_engine_record_arrived(const struct gda_engine_qp *q, u64 count, u8 opcode,
			       const struct gda_sge *remote, u32 imm);

/* dialect.c */

/**
 * gda_cq_init - preset the entries of a CQ
 * @cq: the host's fields are filled in
 */
void gda_cq_init(struct gda_engine_cq *cq);

/**
 * gda_cq_refuse - a CQ has no room for a completion; called by gda_dialect_ops.finish
 * @cq: the CQ, which fails unless @c comes from the peer
 * @c: the completion that is not written
 *
 * Return: false.
 */
bool gda_cq_refuse(struct gda_engine_cq *cq, const struct gda_completion *c);

/**
 * gda_cq_push - write one completion
 * @cq: the CQ; the caller holds its lock
 * @c: what to write
 *
 * If the CQ is full, a completion caused by the peer is refused and changes nothing; one caused by
 * the owner (gda_completion_own()) is lost, and the CQ fails.
 *
 * Return: false if nothing was written, because the CQ is full or has failed.
 */
static inline bool gda_cq_push(struct gda_engine_cq *cq, const struct gda_completion *c)
{
	return likely(!cq->failed) && cq->dialect->finish(cq, c);
}

/**
 * gda_cq_reached - does a CQ have the entry that a WAIT names?
 * @cq: the CQ; the caller holds its lock
 * @index: 32 bits of the entry's number: how many entries were before it; on a collapsed CQ, of
 *	the slot of its work request
 *
 * Return: 1: it has or had the entry; 0: not yet; -GDA_STATUS(): it never will, because the CQ has
 * failed or @index is further ahead than a CQ is deep.
 */
int gda_cq_reached(const struct gda_engine_cq *cq, u32 index);

/*
 * The host's side. Called only from gda_engine_visit().
 */

/**
 * gda_host_mem - find an MR of the device of a queue
 * @q: the queue
 * @key: its index part is looked up; the caller compares the rest
 *
 * Return: the MR, or NULL.
 */
const struct gda_mem *gda_host_mem(const struct gda_engine_qp *q, u32 key);

/**
 * gda_host_span - a CPU pointer into an MR
 * @mem: an MR that gda_access_check() accepted for [@off, @off + @len)
 * @off: from the start of the MR
 * @len: bytes wanted, at least 1
 * @ptr: out
 *
 * Return: how many bytes may be used at *@ptr, from 1 to @len: at least those up to the next page
 * boundary of the memory. 0: the CPU has no mapping of the memory.
 */
u32 gda_host_span(const struct gda_mem *mem, u64 off, u32 len, void **ptr);

/**
 * gda_host_push - gda_cq_push() under the CQ's lock, and send its event if it is armed
 * @cq: a CQ of the visited queue, or the peer's for immediates
 * @c: what to write
 *
 * Return: as gda_cq_push().
 */
bool gda_host_push(struct gda_engine_cq *cq, const struct gda_completion *c);

/**
 * gda_host_delay - the peer was not ready, and the queue waits before it tries again
 * @q: the visited queue; the visit ends now
 * @ns: how long
 *
 * Each visit is a retry, so the host does not visit the queue for that long, unless to fail it. The
 * host serves other queues meanwhile.
 */
void gda_host_delay(struct gda_engine_qp *q, u32 ns);

/**
 * gda_host_recv - gda_rq_take() under the lock of @peer->rq
 * @peer: the peer of the visited queue; it has a receive queue
 * @out: the entry
 *
 * Several queues may share the lock. It is held only to read an entry, to move a datagram or to
 * write a completion.
 *
 * Return: as gda_rq_take().
 */
int gda_host_recv(struct gda_engine_qp *peer, struct gda_recv *out);

/**
 * gda_host_recv_end - gda_rq_end() under the lock of @peer->rq
 * @peer: the peer of the visited queue
 * @c: the completion
 *
 * Return: as gda_rq_end().
 */
int gda_host_recv_end(struct gda_engine_qp *peer, const struct gda_completion *c);

/**
 * gda_host_recv_flush - gda_rq_flush() under the lock of @q->rq
 * @q: the visited queue, which has failed
 *
 * Return: as gda_rq_flush().
 */
bool gda_host_recv_flush(struct gda_engine_qp *q);

/**
 * gda_host_datagram - find the receiver of a datagram
 * @q: the visited queue; q->work.to names the receiver
 *
 * Return: the queue, which lives as long as the visit; or NULL if no queue has this key and is
 * ready for datagrams of @q, or if @q may not learn of it.
 */
struct gda_engine_qp *gda_host_datagram(const struct gda_engine_qp *q);

/**
 * gda_host_target - find the responder that a request names
 * @q: the visited queue; q->work.target names the responder, and its @back is filled in
 * @peer: out: the queue, which lives for the length of the visit
 *
 * Return: success; or GDA_CAUSE_PEER with one of the classes GDA_CLASS_LOCAL: the handle names no
 * queue; GDA_CLASS_REMOTE_OP: the owner of the named queue holds no handle of this queue's owner;
 * GDA_CLASS_INVALID_REQUEST: there is no such queue; GDA_CLASS_RETRY: the queue is gone, or in
 * error. Or GDA_CLASS_REMOTE_ACCESS with GDA_CAUSE_KEY: the queue has another key.
 */
struct gda_status gda_host_target(struct gda_engine_qp *q, struct gda_engine_qp **peer);

/**
 * gda_host_recv_datagram - gda_rq_datagram() under the lock of @peer->rq
 * @q: the visited queue; q->work is a datagram
 * @peer: its receiver, which has a receive queue
 * @mems: local segments of the work, which were checked
 *
 * Return: as gda_rq_datagram().
 */
int gda_host_recv_datagram(struct gda_engine_qp *q, struct gda_engine_qp *peer,
			   const struct gda_exec_mems *mems);

/**
 * gda_host_fail - have a queue fail
 * @q: the visited queue, or its peer
 * @fail: stored in @q->fail unless that is set already; the host visits @q soon
 */
void gda_host_fail(struct gda_engine_qp *q, u32 fail);

/**
 * gda_host_wait - wait for an entry of a CQ
 * @q: the visited queue
 * @cqn: number of the CQ, as the queue's owner wrote it: not checked
 * @index: for gda_cq_reached()
 * @resumed: this call repeats an earlier one for the same work request
 *
 * After a return of 0 the visit ends, and the host visits the queue again when the CQ has the
 * entry, has failed or is gone, when @q->wait_ms have passed, or when the queue is to fail.
 *
 * Return: as gda_cq_reached(); -GDA_STATUS() also if there is no such CQ or the time is over.
 */
int gda_host_wait(struct gda_engine_qp *q, u32 cqn, u32 index, bool resumed);

/**
 * gda_host_stray - another queue's doorbell was stored to the page of the visited one
 * @q: the visited queue
 * @qpn: the QP number in the doorbell
 *
 * Return: true if @qpn is another QP of the same context, which then fails; false if it is not.
 */
bool gda_host_stray(struct gda_engine_qp *q, u32 qpn);

/**
 * gda_host_record - keep a record
 * @q: the visited queue; or its peer, if something arrived there; or a queue that is connected or
 *	loses its peer (connect.c): then any thread that holds the lock of endpoints may call
 *	this
 * @r: the record; the host fills in @r->seq and @r->ns
 *
 * Called for each failure, arrival and connection, and for all other records while @q->record has
 * %GDA_ENGINE_RECORD.
 */
void gda_host_record(const struct gda_engine_qp *q, struct gda_record *r);

/**
 * gda_host_event - send the event of an error that has no entry yet, if the CQ is armed for it
 * @cq: a ring, of the visited queue
 * @c: the error, of which no entry is written
 */
void gda_host_event(struct gda_engine_cq *cq, const struct gda_completion *c);

#endif /* GDA_ENGINE_H */
