/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What the files that carry work requests out have in common: how bytes are moved, and where the
 * local ones are (exec.c, send.c).
 */
#ifndef GDA_ENGINE_MOVE_H
#define GDA_ENGINE_MOVE_H

#include "access.h"

/* A transfer this short is not split by the budget, so that its store stays whole. */
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
 * requests stored, so that its acquire sees all of that, and the load acquires likewise.
 */
static __always_inline void gda_exec_copy_word(void *dst, const void *src, u32 len)
{
	if (likely(len == sizeof(u64)))
		/* pairs with the program's: it polls @dst, and stores to @src */
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

/* @len bytes between two pointers, the way of @op. */
static __always_inline void gda_exec_move(struct gda_engine_qp *q, u8 op, void *local,
					  void *remote, u32 len)
{
	if (op != GDA_OP_READ) {
		smp_wmb(); /* after the stores of earlier work requests */
	} else {
		void *dst = local;

		smp_mb(); /* loads, too, after the stores of earlier ones */
		local = remote;
		remote = dst;
	}
	gda_exec_copy(remote, local, len);
	WRITE_ONCE(q->bytes, q->bytes + len);
}

/* The peer counts writes and atomics once they are all there. */
static __always_inline void gda_exec_arrived(u8 op, const struct gda_engine_qp *peer)
{
	if (op != GDA_OP_READ && peer->recv)
		gda_os_fetch_add64(&peer->recv->value, 1);
}

/*
 * A pointer to the local bytes at q->done, at most @len of them.
 * Return: how many, 0 if they have no window.
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
	/* the lengths are the queue's, and a processor that speculates may go on */
	i = (u32)gda_os_clamp(i, w->nsge);
	return gda_exec_span(mems->local[i], &w->sge[i], off, min(len, w->sge[i].len - off),
			     ptr);
}

/* exec.c */

/**
 * gda_exec_not_ready - the peer has no room: what an RNR NAK says on a wire
 * @q: the queue; it tries again after the peer's delay, if it has a try left
 * @scope: of this visit, which ends
 *
 * Bytes that are in place stay so: q->done says how many.
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
 * gda_send_check - check as much of an entry as is needed
 * @q: the queue that sends, and has it as q->taken
 * @peer: whose it is
 * @len: bytes that it is to receive
 * @mems: out: its MRs
 *
 * Return: success, or what is wrong with it.
 */
struct gda_status gda_send_check(const struct gda_engine_qp *q, const struct gda_engine_qp *peer,
				 u32 len, struct gda_send_mems *mems);

/**
 * gda_send_span - a pointer to where a byte goes
 * @r: the entry
 * @mems: its MRs
 * @off: which byte, of those that were checked
 * @len: for at most so many of them
 * @ptr: out
 *
 * Return: for how many, 0 if they have no window.
 */
u32 gda_send_span(const struct gda_recv *r, const struct gda_send_mems *mems, u32 off, u32 len,
		  void **ptr);

/* datagram.c */

/**
 * gda_exec_datagram - send a datagram
 * @q: the queue; q->work is one
 * @peer: who takes it, or NULL
 * @mems: its local segments, which were checked
 *
 * Return: 1, or -GDA_STATUS().
 */
int gda_exec_datagram(struct gda_engine_qp *q, struct gda_engine_qp *peer,
		      const struct gda_exec_mems *mems);

/* send.c */

/**
 * gda_exec_send - carry a send on
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
