/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Shared by the files that execute work requests (exec.c, send.c): how bytes are moved, and how a
 * local or remote pointer is found.
 */
#ifndef GDA_ENGINE_MOVE_H
#define GDA_ENGINE_MOVE_H

#include "access.h"

/* A transfer up to this size is not split by the budget, so that its store stays whole. */
#define GDA_EXEC_WHOLE	64U

static inline int gda_exec_fail(u8 class, u8 cause)
{
	return -(int)GDA_STATUS(class, cause);
}

static __always_inline u32 gda_exec_span(const struct gda_mem *mem,
					 const struct gda_sge *range, u32 off, u32 len,
					 void **ptr)
{
	return gda_host_span(mem, range->addr + off - mem->iova, len, ptr);
}

static noinline void gda_exec_copy_bytes(u8 *dst, const u8 *src, u32 len)
{
	uintptr_t ahead = (uintptr_t)dst - (uintptr_t)src;

	if (likely(ahead >= len && -ahead >= len))
		memcpy(dst, src, len);
	else
		memmove(dst, src, len);
}

/* Is it one word, of 4 or 8 bytes, at addresses that are multiples of its size? */
static __always_inline bool gda_exec_is_word(const void *dst, const void *src, u32 len)
{
	return !((len - 4) & ~4U) && !(((uintptr_t)dst | (uintptr_t)src) & (len - 1));
}

/*
 * One load and one store. A program may poll the word: the store releases what earlier work
 * requests stored, for the program's acquire, and the load acquires what the program released.
 */
static __always_inline void gda_exec_copy_word(void *dst, const void *src, u32 len)
{
	if (likely(len == sizeof(u64)))
		/*
		 * pairs with the acquire of a program that polls @dst, and the release of one that
		 * stores @src
		 */
		smp_store_release((u64 *)dst, smp_load_acquire((const u64 *)src));
	else	/* likewise */
		smp_store_release((u32 *)dst, smp_load_acquire((const u32 *)src));
}

static __always_inline void gda_exec_copy(void *dst, const void *src, u32 len)
{
	if (likely(gda_exec_is_word(dst, src, len)))
		gda_exec_copy_word(dst, src, len);
	else
		gda_exec_copy_bytes(dst, src, len);
}

/* Move @len bytes between two pointers, as @op requires. */
static __always_inline void gda_exec_move(struct gda_engine_qp *q, u8 op, void *local,
					  void *remote, u32 len)
{
	if (op != GDA_OP_READ) {
		smp_wmb(); /* order this after the stores of earlier work requests */
	} else {
		void *dst = local;

		smp_mb(); /* order loads, too, after the stores of earlier work requests */
		local = remote;
		remote = dst;
	}
	gda_exec_copy(remote, local, len);
	WRITE_ONCE(q->bytes, q->bytes + len);
}

/* Does the peer have a CQ for the immediate, if the work request has one? */
static inline int gda_exec_check_imm(const struct gda_work *w, const struct gda_engine_qp *peer)
{
	if (w->op == GDA_OP_WRITE_IMM && unlikely(!peer->recv_cq))
		return gda_exec_fail(GDA_CLASS_INVALID_REQUEST, GDA_CAUSE_RECV);
	return 0;
}

/* Count a write or an atomic at the peer once all its bytes are in place. */
static __always_inline void gda_exec_arrived(u8 op, const struct gda_engine_qp *peer)
{
	if (op != GDA_OP_READ && peer->recv)
		gda_os_fetch_add64(&peer->recv->value, 1);
}

/*
 * Find the local memory at q->done. Return: how many bytes of at most @len are there, 0 if the CPU
 * has no mapping.
 */
static inline u32 gda_exec_local(struct gda_engine_qp *q, const struct gda_exec_mems *mems,
				 u32 len, void **ptr)
{
	struct gda_work *w = &q->work;
	u32 off = q->done;
	u32 i = 0;

	if (w->inlined) {
		*ptr = w->data + off;
		return len;
	}
	while (off >= w->sge[i].len)
		off -= w->sge[i++].len;
	/* the queue's owner chose the lengths, and the loop may run on speculatively */
	i = (u32)gda_os_clamp(i, w->nsge);
	return gda_exec_span(mems->local[i], &w->sge[i], off, min(len, w->sge[i].len - off),
			     ptr);
}

/* exec.c */

/* The longest value that gda_exec_fetch() returns, bytes. */
#define GDA_EXEC_HELD	64U

/**
 * gda_exec_fetch - execute what the responder does for a read or an atomic
 * @q: the queue; q->work is an atomic, or a read of at most %GDA_EXEC_HELD bytes into one segment
 * @scope: of this visit
 * @value: out: what is returned to the poster
 *
 * Return: as gda_exec(); 1 if @value may land.
 */
int gda_exec_fetch(struct gda_engine_qp *q, const struct gda_exec_scope *scope, u64 *value);

/**
 * gda_exec_land - store what a read or an atomic returns
 * @q: the queue, for which gda_exec_fetch() returned 1
 * @value: from gda_exec_fetch()
 *
 * Only the local segment is checked again: the responder has done its part.
 *
 * Return: 1, or -GDA_STATUS().
 */
int gda_exec_land(struct gda_engine_qp *q, const u64 *value);

/**
 * gda_exec_part - move some bytes of a write, without counting it or giving an immediate
 * @q: the queue; q->work is a write that has bytes
 * @scope: of this visit
 * @from: the first byte
 * @to: behind the last
 *
 * Return: 0, or -GDA_STATUS().
 */
int gda_exec_part(struct gda_engine_qp *q, const struct gda_exec_scope *scope, u32 from, u32 to);

/* imm.c */

/**
 * gda_exec_count - end a write whose bytes are in place, or that has none; or execute a WAIT
 * @q: the queue
 * @scope: of this visit
 *
 * A request of no bytes: its keys are not looked at (InfiniBand C9-88), but the responder has to be
 * there. A WAIT names no memory and needs no peer.
 *
 * Return: as gda_exec().
 */
int gda_exec_count(struct gda_engine_qp *q, struct gda_exec_scope *scope);

/**
 * gda_exec_push_imm - deliver the immediate once the write is done
 * @q: the queue; q->work has an immediate, which is ordered behind the bytes
 * @scope: of this visit
 *
 * Return: as gda_exec().
 */
int gda_exec_push_imm(struct gda_engine_qp *q, struct gda_exec_scope *scope);

/**
 * gda_exec_dump - execute a fence by reading
 * @q: the queue; q->work is one
 * @mems: its memory, which was checked
 *
 * Order earlier work's stores before, and load the first byte. That read makes a device's posted
 * writes arrive.
 *
 * Return: 1 or gda_exec_fail().
 */
int gda_exec_dump(const struct gda_engine_qp *q, const struct gda_exec_mems *mems);

/**
 * gda_exec_not_ready - the peer has no room, as an RNR NAK says on a wire
 * @q: the queue; it retries after the peer's delay, if it has a retry left
 * @scope: of this visit, which ends
 *
 * Bytes that are in place (q->done) are not moved again.
 *
 * Return: 0, or -GDA_STATUS() after the last try.
 */
int gda_exec_not_ready(struct gda_engine_qp *q, struct gda_exec_scope *scope);

/* send.c */

/* The MRs that an entry of a receive queue names. */
struct gda_send_mems {
	const struct gda_mem *at[GDA_RECV_MAX_SGE];
};

/**
 * gda_send_check - check the segments of a receive that a message will fill
 * @q: the queue that sends; q->taken is the receive
 * @peer: the owner of the receive
 * @len: bytes of the message
 * @mems: out: the MRs of the receive
 *
 * Return: success, or what is wrong with the receive.
 */
struct gda_status gda_send_check(const struct gda_engine_qp *q, const struct gda_engine_qp *peer,
				 u32 len, struct gda_send_mems *mems);

/**
 * gda_send_span - find where a byte of a message goes
 * @r: the receive
 * @mems: its MRs
 * @off: which byte, among those that were checked
 * @len: at most so many bytes
 * @ptr: out
 *
 * Return: how many bytes may be stored at *@ptr, 0 if the CPU has no mapping.
 */
u32 gda_send_span(const struct gda_recv *r, const struct gda_send_mems *mems, u32 off, u32 len,
		  void **ptr);

/* datagram.c */

/**
 * gda_exec_datagram - send a datagram
 * @q: the queue; q->work is one
 * @peer: its receiver, or NULL
 * @mems: its local segments, which were checked
 *
 * Return: 1, or -GDA_STATUS().
 */
int gda_exec_datagram(struct gda_engine_qp *q, struct gda_engine_qp *peer,
		      const struct gda_exec_mems *mems);

/* send.c */

/**
 * gda_exec_send - execute a send, or go on with it
 * @q: the queue; q->work is one
 * @scope: of this visit
 * @mems: its local segments, which were checked
 *
 * Return: as gda_exec().
 */
int gda_exec_send(struct gda_engine_qp *q, struct gda_exec_scope *scope,
		  const struct gda_exec_mems *mems);

/**
 * gda_exec_give_imm - give an immediate to a peer that has a receive queue
 * @q: the queue; q->work is a write with immediate, whose bytes are in place
 * @scope: of this visit
 *
 * Return: as gda_exec().
 */
int gda_exec_give_imm(struct gda_engine_qp *q, struct gda_exec_scope *scope);

#endif /* GDA_ENGINE_MOVE_H */
