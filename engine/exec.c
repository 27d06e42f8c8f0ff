// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Executes one decoded work request: checks all of it, then moves bytes between the local segments
 * and the remote range, or does the atomic, or a write with immediate at both ends. Messages that
 * fill a receive of the peer are in send.c.
 *
 * Invariants:
 *
 * - No byte moves before every segment and the remote range are checked; all are checked again at
 *   each call, since a key can be revoked between two. A request without bytes needs only a
 *   responder.
 * - Bytes move in address order; q->done counts those that are in place when a request is resumed.
 * - Effects of a work request are not visible before those of earlier ones.
 * - Naturally aligned 4 and 8 byte transfers within one span are one load and one store.
 * - An immediate is given to the peer once, after all the bytes of its write. The peer may refuse
 *   it several times before; the bytes are not moved again.
 *
 * The local and remote memory may be the same, overlap, or be the queue itself: that
 * changes what bytes arrive in the overlap and nothing else.
 */
#include "move.h"

/* The longest transfer that counts as short, and the longest span that is looked up at once. */
#define GDA_EXEC_AHEAD	4096U

/* The size of a word that gda_exec_again() finds without a lookup. */
#define GDA_EXEC_WORD	8U

/* How many times a masked atomic retries against other writers before the visit goes on. */
#define GDA_EXEC_TRIES	16U

/* Rights that the MRs at both ends must grant. */
static const struct gda_exec_rights {
	u32 local;
	u32 remote;
} gda_exec_rights[] = {
	[GDA_OP_WRITE] = { 0, GDA_ACCESS_REMOTE_WRITE },
	[GDA_OP_READ] = { GDA_ACCESS_LOCAL_WRITE, GDA_ACCESS_REMOTE_READ },
	[GDA_OP_WRITE_IMM] = { 0, GDA_ACCESS_REMOTE_WRITE },
	[GDA_OP_DUMP] = { 0, 0 },
	[GDA_OP_FETCH_ADD] = { GDA_ACCESS_LOCAL_WRITE, GDA_ACCESS_REMOTE_ATOMIC },
	[GDA_OP_COMPARE_SWAP] = { GDA_ACCESS_LOCAL_WRITE, GDA_ACCESS_REMOTE_ATOMIC },
	[GDA_OP_MASKED_FETCH_ADD] = { GDA_ACCESS_LOCAL_WRITE, GDA_ACCESS_REMOTE_ATOMIC },
	[GDA_OP_MASKED_COMPARE_SWAP] = { GDA_ACCESS_LOCAL_WRITE, GDA_ACCESS_REMOTE_ATOMIC },
	[GDA_OP_SEND] = { 0, 0 },
	[GDA_OP_SEND_IMM] = { 0, 0 },
};

static __always_inline u64 gda_exec_tag(u32 key, u32 access)
{
	return (u64)access << 32 | key;
}

/*
 * Report why a segment or the remote range may not be used. With @far the MR is valid, but no CPU
 * mapping reaches it.
 */
static noinline int gda_exec_refuse(bool far, bool remote, u8 why)
{
	u8 class = remote ? GDA_CLASS_REMOTE_ACCESS : GDA_CLASS_LOCAL;

	if (why != GDA_ACCESS_NO_CPU)
		return gda_exec_fail(class, why);
	if (far)
		return 0;
	if (remote)
		class = GDA_CLASS_REMOTE_OP;
	return gda_exec_fail(class, GDA_CAUSE_IO);
}

/* The two functions below return 0 or gda_exec_fail(). */
static __always_inline int gda_exec_check_local(const struct gda_engine_qp *q,
						const struct gda_work *w, bool far,
						struct gda_exec_mems *mems)
{
	u32 i;
	u8 why;

	for (i = 0; i < w->nsge; i++) {
		mems->local[i] = gda_host_mem(q, w->sge[i].key);
		why = gda_access_check(mems->local[i], q->pd, &w->sge[i],
				       gda_exec_rights[w->op].local);
		if (unlikely(why && gda_exec_refuse(far, false, why)))
			return gda_exec_refuse(far, false, why);
	}
	return 0;
}

static __always_inline int gda_exec_check_remote(const struct gda_engine_qp *q,
						 const struct gda_work *w, bool far,
						 const struct gda_engine_qp *peer,
						 struct gda_exec_mems *mems)
{
	u8 why;

	if (unlikely(!peer))
		return gda_exec_fail(GDA_CLASS_RETRY, GDA_CAUSE_PEER);
	if (unlikely(READ_ONCE(peer->denied) & gda_exec_rights[w->op].remote))
		return gda_exec_fail(GDA_CLASS_REMOTE_ACCESS, GDA_CAUSE_RIGHTS);
	mems->remote = gda_host_mem(q, w->remote.key);
	why = gda_access_check(mems->remote, peer->pd, &w->remote,
			       gda_exec_rights[w->op].remote);
	if (unlikely(why && gda_exec_refuse(far, true, why)))
		return gda_exec_refuse(far, true, why);
	return gda_exec_check_imm(w, peer);
}

int gda_exec_check(const struct gda_engine_qp *q, const struct gda_work *w,
		   const struct gda_engine_qp *peer, struct gda_exec_mems *mems)
{
	int ret = gda_exec_check_local(q, w, true, mems);

	mems->remote = NULL;
	if (ret || w->op == GDA_OP_NOP || w->op == GDA_OP_DUMP || w->op == GDA_OP_WAIT)
		return ret;
	if (w->remote.len)
		return gda_exec_check_remote(q, w, true, peer, mems);
	return peer ? gda_exec_check_imm(w, peer) :
		      gda_exec_fail(GDA_CLASS_RETRY, GDA_CAUSE_PEER);
}

/*
 * Reuse the MR that was found last, without a lookup, if key, use and span are the same. Whether it
 * was revoked is read each time. Return: false if it cannot be reused.
 */
static __always_inline bool gda_exec_again(const struct gda_sge *range, u32 access,
					   const struct gda_exec_use *use, void **ptr)
{
	u64 off = range->addr - use->addr;

	if (unlikely(use->tag != gda_exec_tag(range->key, access) || off > use->last ||
		     !gda_access_live(use->mem)))
		return false;
	/* the queue's owner chose @off, and the check above may still be speculative */
	*ptr = use->ptr + gda_os_clamp(off, use->last + 1);
	return true;
}

/*
 * Find the memory of a range: in the last span, else by its MR, which is looked up unless it is the
 * last one. A span of up to GDA_EXEC_AHEAD bytes is remembered. Return: NULL if anything is wrong;
 * the caller finds out what.
 */
static __always_inline void *gda_exec_find(const struct gda_engine_qp *q,
					   const struct gda_engine_qp *owner,
					   const struct gda_sge *range, u32 access,
					   struct gda_exec_use *use)
{
	u64 tag = gda_exec_tag(range->key, access);
	const struct gda_mem *mem;
	void *ptr = NULL;
	u64 off;
	u32 n;

	if (unlikely(use->tag == tag)) {
		mem = use->mem;
		off = range->addr - use->addr;
		if (off <= use->last && range->len <= use->last + GDA_EXEC_WORD - off &&
		    gda_access_live(mem))
			return use->ptr + gda_os_clamp(off, use->last + 1);
	} else {
		mem = gda_host_mem(q, range->key);
		if (!gda_access_owned(mem, owner->pd, range->key) ||
		    !gda_access_granted(mem, READ_ONCE(owner->denied), access))
			return NULL;
	}
	if (!gda_access_live(mem) || !gda_access_inside(mem, range->addr, range->len))
		return NULL;
	off = range->addr - mem->iova;
	use->mem = mem;
	use->tag = tag;
	use->addr = range->addr;
	n = gda_host_span(mem, off, (u32)min(mem->size - off, (u64)GDA_EXEC_AHEAD), &ptr);
	use->ptr = ptr;
	use->last = n - GDA_EXEC_WORD;
	/* a span shorter than a word is not remembered */
	if (unlikely(n < GDA_EXEC_WORD))
		use->tag = ~0ULL;
	return likely(n >= range->len) ? ptr : NULL;
}

/*
 * The fast path of the most frequent requests: one word, inline or to or from memory that was found
 * before. It calls nothing. @op is constant. The one segment is as long as the remote range.
 * Return: false for any other request, and nothing was done.
 */
static __always_inline bool gda_exec_word(struct gda_engine_qp *q, enum gda_op op,
					  struct gda_exec_scope *scope)
{
	const struct gda_exec_rights *rights = &gda_exec_rights[op];
	struct gda_work *w = &q->work;
	u64 len = w->remote.len;
	void *local = w->data;
	void *remote;

	if ((len - 4) & ~4ULL)
		return false;
	if (likely(w->nsge == 1)) {
		if (!gda_exec_again(&w->sge[0], rights->local, &scope->local, &local))
			return false;
	} else if (!w->inlined) {
		return false;
	}
	if (!gda_exec_again(&w->remote, rights->remote, &scope->remote, &remote) ||
	    unlikely(((uintptr_t)local | (uintptr_t)remote) & (len - 1)))
		return false;
	if (op == GDA_OP_READ) {
		smp_mb(); /* order this after the stores of earlier work requests, for loads, too */
		gda_exec_copy_word(local, remote, (u32)len);
	} else {
		gda_exec_copy_word(remote, local, (u32)len);
	}
	WRITE_ONCE(q->bytes, q->bytes + len);
	gda_exec_arrived(op, scope->peer);
	return true;
}

/*
 * One short segment, or inline data, and one span at each end. Return: false for any other request,
 * valid or not, and nothing was done.
 */
static bool gda_exec_short(struct gda_engine_qp *q, struct gda_exec_scope *scope)
{
	struct gda_work *w = &q->work;
	const struct gda_exec_rights *rights = &gda_exec_rights[w->op];
	void *local = w->data;
	void *remote;

	if (!w->inlined)
		local = gda_exec_find(q, q, &w->sge[0], rights->local, &scope->local);
	if (!local)
		return false;
	remote = gda_exec_find(q, scope->peer, &w->remote, rights->remote, &scope->remote);
	if (!remote)
		return false;
	gda_exec_move(q, w->op, local, remote, w->remote.len);
	gda_exec_arrived(w->op, scope->peer);
	return true;
}

/* Move the bytes of a request from @from to @to. Return: 0 or gda_exec_fail(). */
static int gda_exec_move_to(struct gda_engine_qp *q, const struct gda_exec_mems *mems, u32 from,
			    u32 to)
{
	void *local, *remote;
	u32 n;

	for (q->done = from; q->done < to; q->done += n) {
		n = gda_exec_local(q, mems, to - q->done, &local);
		if (unlikely(!n))
			return gda_exec_fail(GDA_CLASS_LOCAL, GDA_CAUSE_IO);
		n = gda_exec_span(mems->remote, &q->work.remote, q->done, n, &remote);
		if (unlikely(!n))
			return gda_exec_fail(GDA_CLASS_REMOTE_OP, GDA_CAUSE_IO);
		gda_exec_move(q, q->work.op, local, remote, n);
	}
	return 0;
}

/* Return: as gda_exec(). */
static int gda_exec_transfer(struct gda_engine_qp *q, const struct gda_exec_mems *mems, u64 until)
{
	const struct gda_sge *range = &q->work.remote;

	u32 from = q->busy ? q->done : 0;
	u32 to = range->len;
	int ret;

	if (range->len > GDA_EXEC_WHOLE && to - from > until - q->bytes)
		to = from + (u32)(until - q->bytes);
	ret = gda_exec_move_to(q, mems, from, to);
	q->busy = !ret && to < range->len;
	return ret ? ret : to == range->len;
}

/*
 * Store what a request returns at its local segment, which may consist of several spans; with @dry
 * only check that this is possible.
 */
static noinline bool gda_exec_result(const struct gda_engine_qp *q,
				     const struct gda_exec_mems *mems, const void *value, bool dry)
{
	const u8 *src = value;
	u32 len = q->work.remote.len;
	u32 done = 0;

	while (done < len) {
		void *ptr;
		u32 n = gda_exec_span(mems->local[0], &q->work.sge[0], done, len - done,
				      &ptr);

		if (unlikely(!n))
			return false;
		if (!dry)
			gda_exec_copy(ptr, src + done, n);
		done += n;
	}
	return true;
}

/*
 * The new value that a masked atomic stores for @old. Fields are added without the top bit of each,
 * so that no carry leaves a field; the top bits are then added without carry.
 */
static u64 gda_exec_masked(const struct gda_work *w, u64 old)
{
	u64 last = w->compare;

	if (w->op == GDA_OP_MASKED_FETCH_ADD)
		return ((old & ~last) + (w->swap_add & ~last)) ^ ((old ^ w->swap_add) & last);
	if ((old ^ w->compare) & w->compare_mask)
		return old;
	return (old & ~w->swap_mask) | (w->swap_add & w->swap_mask);
}

static u64 gda_exec_load(const void *ptr, u32 width)
{
	return width == sizeof(u32) ? READ_ONCE(*(const u32 *)ptr) :
				      READ_ONCE(*(const u64 *)ptr);
}

static u64 gda_exec_cmpxchg(void *ptr, u32 width, u64 old, u64 new)
{
	return width == sizeof(u32) ? gda_os_cmpxchg32(ptr, (u32)old, (u32)new) :
				      gda_os_cmpxchg64(ptr, old, new);
}

/*
 * The read-modify-write itself, on naturally aligned memory. Return: false if other writers won
 * each try, and nothing was done.
 */
static __always_inline bool gda_exec_modify(const struct gda_work *w, void *ptr, u64 *old)
{
	u32 i;

	if (w->op == GDA_OP_FETCH_ADD) {
		*old = gda_os_fetch_add64(ptr, w->swap_add);
		return true;
	}
	if (w->op == GDA_OP_COMPARE_SWAP) {
		*old = gda_os_cmpxchg64(ptr, w->compare, w->swap_add);
		return true;
	}
	*old = gda_exec_load(ptr, w->remote.len);
	for (i = 0; i < GDA_EXEC_TRIES; i++) {
		u64 seen = gda_exec_cmpxchg(ptr, w->remote.len, *old,
					    gda_exec_masked(w, *old));

		if (likely(seen == *old))
			return true;
		*old = seen;
	}
	return false;
}

/* Find the word of an atomic. Return: 0 or gda_exec_fail(). */
static __always_inline int gda_exec_find_word(const struct gda_work *w,
					      const struct gda_exec_mems *mems, void **ptr)
{
	u32 width = w->remote.len;
	u32 n = gda_exec_span(mems->remote, &w->remote, 0, width, ptr);

	if (unlikely(!n))
		return gda_exec_fail(GDA_CLASS_REMOTE_OP, GDA_CAUSE_IO);
	/* an aligned iova does not imply aligned memory, and a split lock is fatal */
	if (unlikely(n != width || (uintptr_t)*ptr % width))
		return gda_exec_fail(GDA_CLASS_INVALID_REQUEST, GDA_CAUSE_ALIGN);
	return 0;
}

/* Convert the old value of an atomic of 4 bytes to the order of bytes that its poster wants. */
static __always_inline void gda_exec_convert(const struct gda_work *w, u64 *old)
{
	if (unlikely(w->flags & GDA_WORK_BIG_ENDIAN)) {
		const u8 bytes[] = { (u8)(*old >> 24), (u8)(*old >> 16), (u8)(*old >> 8),
				     (u8)*old };

		memcpy(old, bytes, sizeof(bytes));
	}
}

/* Return: as gda_exec(). */
static int gda_exec_atomic(struct gda_engine_qp *q, const struct gda_exec_mems *mems)
{
	const struct gda_work *w = &q->work;
	u32 width = w->remote.len;
	void *ptr, *result;
	u64 old;
	int ret;

	if (unlikely(w->remote.addr % width))
		return gda_exec_fail(GDA_CLASS_INVALID_REQUEST, GDA_CAUSE_ALIGN);
	if (unlikely(gda_exec_span(mems->local[0], &w->sge[0], 0, width, &result) != width)) {
		result = NULL;
		if (!gda_exec_result(q, mems, NULL, true))
			return gda_exec_fail(GDA_CLASS_LOCAL, GDA_CAUSE_IO);
	}
	ret = gda_exec_find_word(w, mems, &ptr);
	if (unlikely(ret))
		return ret;
	q->busy = !gda_exec_modify(w, ptr, &old);
	if (unlikely(q->busy))
		return 0;
	gda_exec_convert(w, &old);
	if (likely(result))
		gda_exec_copy(result, &old, width);
	else
		gda_exec_result(q, mems, &old, false);
	WRITE_ONCE(q->bytes, q->bytes + width);
	return 1;
}

/* Take the bytes of a read. Return: as gda_exec_fetch(). */
static int gda_exec_take(const struct gda_engine_qp *q, const struct gda_exec_mems *mems, u8 *value)
{
	u32 len = q->work.remote.len;
	u32 done, n;
	void *ptr;

	smp_mb(); /* order loads, too, after the stores of earlier work requests */
	for (done = 0; done < len; done += n) {
		n = gda_exec_span(mems->remote, &q->work.remote, done, len - done, &ptr);
		if (unlikely(!n))
			return gda_exec_fail(GDA_CLASS_REMOTE_OP, GDA_CAUSE_IO);
		gda_exec_copy(value + done, ptr, n);
	}
	return 1;
}

int gda_exec_fetch(struct gda_engine_qp *q, const struct gda_exec_scope *scope, u64 *value)
{
	const struct gda_work *w = &q->work;
	struct gda_exec_mems mems;
	int ret = gda_exec_check(q, w, scope->peer, &mems);
	void *ptr;

	if (ret)
		return ret;
	if (w->op != GDA_OP_READ && w->remote.addr % w->remote.len)
		return gda_exec_fail(GDA_CLASS_INVALID_REQUEST, GDA_CAUSE_ALIGN);
	if (!gda_exec_result(q, &mems, NULL, true))
		return gda_exec_fail(GDA_CLASS_LOCAL, GDA_CAUSE_IO);
	if (w->op == GDA_OP_READ)
		return gda_exec_take(q, &mems, (u8 *)value);
	ret = gda_exec_find_word(w, &mems, &ptr);
	if (ret)
		return ret;
	if (!gda_exec_modify(w, ptr, value))
		return 0;
	gda_exec_convert(w, value);
	gda_exec_arrived(w->op, scope->peer);
	return 1;
}

int gda_exec_land(struct gda_engine_qp *q, const u64 *value)
{
	struct gda_exec_mems mems;
	int ret = gda_exec_check_local(q, &q->work, true, &mems);

	if (ret)
		return ret;
	if (!gda_exec_result(q, &mems, value, false))
		return gda_exec_fail(GDA_CLASS_LOCAL, GDA_CAUSE_IO);
	WRITE_ONCE(q->bytes, q->bytes + q->work.remote.len);
	return 1;
}

int gda_exec_part(struct gda_engine_qp *q, const struct gda_exec_scope *scope, u32 from, u32 to)
{
	struct gda_exec_mems mems;
	int ret = gda_exec_check(q, &q->work, scope->peer, &mems);

	return ret ? ret : gda_exec_move_to(q, &mems, from, to);
}

static noinline int gda_exec_any(struct gda_engine_qp *q, struct gda_exec_scope *scope)
{
	struct gda_exec_mems mems;
	u8 op = q->work.op;
	int ret;

	ret = gda_exec_check_local(q, &q->work, false, &mems);
	if (unlikely(ret))
		return ret;
	if (unlikely(op >= GDA_OP_SEND))
		return gda_exec_send(q, scope, &mems);
	/* DUMP has a local segment only */
	if (unlikely(!q->work.remote.len))
		return op == GDA_OP_DUMP ? gda_exec_dump(q, &mems) : gda_exec_count(q, scope);
	ret = gda_exec_check_remote(q, &q->work, false, scope->peer, &mems);
	if (unlikely(ret))
		return ret;
	ret = op >= GDA_OP_FETCH_ADD ? gda_exec_atomic(q, &mems) :
				       gda_exec_transfer(q, &mems, scope->until);
	if (ret > 0 && op == GDA_OP_WRITE_IMM)
		ret = gda_exec_push_imm(q, scope);
	if (likely(ret > 0))
		gda_exec_arrived(op, scope->peer);
	return ret;
}

/* Writes and reads that are not for gda_exec_word(). */
static noinline int gda_exec_rdma(struct gda_engine_qp *q, struct gda_exec_scope *scope)
{
	const struct gda_work *w = &q->work;
	u32 len = w->remote.len;

	if (len > GDA_EXEC_WHOLE && len > scope->until - q->bytes)
		return gda_exec_any(q, scope);
	if (len - 1 < GDA_EXEC_AHEAD && w->nsge < 2 && !q->busy && likely(scope->peer) &&
	    gda_exec_short(q, scope))
		return 1;
	return gda_exec_any(q, scope);
}

void gda_exec_begin(const struct gda_engine_qp *q, u32 bytes, struct gda_exec_scope *scope)
{
	scope->peer = gda_engine_peer(q);
	scope->until = q->bytes + bytes;
	/* no work request needs these rights, so nothing counts as found */
	scope->local.tag = ~0ULL;
	scope->remote.tag = ~0ULL;
}

void gda_exec_route(struct gda_engine_qp *peer, struct gda_exec_scope *scope)
{
	if (peer == scope->peer)
		return;
	scope->peer = peer;
	/* the last span belongs to another responder */
	scope->remote.tag = ~0ULL;
}

int gda_exec(struct gda_engine_qp *q, struct gda_exec_scope *scope)
{
	switch (q->work.op) {
	case GDA_OP_WRITE:
		return likely(gda_exec_word(q, GDA_OP_WRITE, scope)) ? 1 : gda_exec_rdma(q, scope);
	case GDA_OP_READ:
		return likely(gda_exec_word(q, GDA_OP_READ, scope)) ? 1 : gda_exec_rdma(q, scope);
	case GDA_OP_NOP:
		return 1;
	default:
		return gda_exec_any(q, scope);
	}
}
