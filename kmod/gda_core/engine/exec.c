// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Carries one decoded work request out: checks all of it, then moves bytes between
 * the local segments and the remote range, or does the atomic.
 *
 * Invariants:
 *
 * - No byte moves before every segment and the remote range are checked; all are
 *   checked again at each call, since a key can be revoked between two.
 * - q->done bytes, in address order, are in place when a call returns.
 * - Effects of a work request are not visible before those of earlier ones.
 * - Naturally aligned 4 and 8 byte transfers within one span are single stores.
 *
 * The local and remote memory may be the same, overlap, or be the queue itself: that
 * changes what bytes arrive in the overlap and nothing else.
 */
#include "engine.h"

/* A transfer this short is not split by the budget, so that its store stays whole. */
#define GDA_EXEC_WHOLE	64U

/* What the work request names, looked up and checked. */
struct gda_exec_mems {
	const struct gda_eqp *peer;
	const struct gda_mem *local[GDA_ENGINE_MAX_SGE];
	const struct gda_mem *remote;
};

static bool gda_exec_fail(struct gda_status *st, u8 syndrome, u8 vendor)
{
	st->syndrome = syndrome;
	st->vendor = vendor;
	return false;
}

/* Rights the responder must grant. */
static u32 gda_exec_remote_access(const struct gda_work *w)
{
	switch (w->op) {
	case GDA_OP_WRITE:
		return GDA_ACCESS_REMOTE_WRITE;
	case GDA_OP_READ:
		return GDA_ACCESS_REMOTE_READ;
	default:
		return GDA_ACCESS_REMOTE_ATOMIC;
	}
}

static bool gda_exec_check(const struct gda_eqp *q, struct gda_exec_mems *mems,
			   struct gda_status *st)
{
	const struct gda_work *w = &q->work;
	u32 access = w->op == GDA_OP_WRITE ? 0 : GDA_ACCESS_LOCAL_WRITE;
	u32 i;
	u8 why;

	for (i = 0; i < w->nsge; i++) {
		const struct gda_sge *sge = &w->sge[i];

		mems->local[i] = gda_host_mem(q, sge->key);
		why = gda_access_check(mems->local[i], q->pd, sge->key, sge->addr,
				       sge->len, access);
		if (unlikely(why))
			return gda_exec_fail(st, GDA_MLX5_SYND_LOCAL_PROT, why);
	}
	mems->peer = gda_host_peer(q);
	if (unlikely(!mems->peer))
		return gda_exec_fail(st, GDA_MLX5_SYND_RETRY_EXC, GDA_MLX5_VENDOR_PEER);
	mems->remote = gda_host_mem(q, w->rkey);
	why = gda_access_check(mems->remote, mems->peer->pd, w->rkey, w->raddr, w->len,
			       gda_exec_remote_access(w));
	if (unlikely(why))
		return gda_exec_fail(st, GDA_MLX5_SYND_REMOTE_ACCESS, why);
	return true;
}

static bool gda_exec_disjoint(const u8 *a, const u8 *b, u32 len)
{
	return (uintptr_t)a - (uintptr_t)b >= len && (uintptr_t)b - (uintptr_t)a >= len;
}

static void gda_exec_copy(void *dst, const void *src, u32 len)
{
	/* a fixed size becomes one load and one store */
	if (len == 8)
		memcpy(dst, src, 8);
	else if (len == 4)
		memcpy(dst, src, 4);
	else if (likely(gda_exec_disjoint(dst, src, len)))
		memcpy(dst, src, len);
	else
		memmove(dst, src, len);
}

/*
 * A pointer to the local bytes at q->done, at most @len of them.
 * Return: how many, 0 if they have no window.
 */
static u32 gda_exec_local(struct gda_eqp *q, const struct gda_exec_mems *mems, u32 len,
			  void **ptr)
{
	struct gda_work *w = &q->work;
	const struct gda_sge *sge = w->sge;
	u32 off = q->done;
	u32 i = 0;

	if (w->inlined) {
		*ptr = w->data + off;
		return len;
	}
	if (off >= sge->len) {
		off -= sge->len;
		sge++;
		i++;
	}
	return gda_host_span(mems->local[i], sge->addr + off - mems->local[i]->iova,
			     min(len, sge->len - off), ptr);
}

/* Move up to @len bytes on from q->done. Return: bytes moved; 0 with *@st filled. */
static u32 gda_exec_chunk(struct gda_eqp *q, const struct gda_exec_mems *mems, u32 len,
			  struct gda_status *st)
{
	const struct gda_work *w = &q->work;
	const struct gda_mem *remote = mems->remote;
	void *lptr, *rptr;
	u32 n;

	n = gda_exec_local(q, mems, len, &lptr);
	if (unlikely(!n)) {
		gda_exec_fail(st, GDA_MLX5_SYND_LOCAL_PROT, GDA_MLX5_VENDOR_IO);
		return 0;
	}
	n = gda_host_span(remote, w->raddr + q->done - remote->iova, n, &rptr);
	if (unlikely(!n)) {
		gda_exec_fail(st, GDA_MLX5_SYND_REMOTE_OP, GDA_MLX5_VENDOR_IO);
		return 0;
	}
	if (w->op == GDA_OP_WRITE)
		gda_exec_copy(rptr, lptr, n);
	else
		gda_exec_copy(lptr, rptr, n);
	q->done += n;
	return n;
}

static int gda_exec_transfer(struct gda_eqp *q, const struct gda_exec_mems *mems,
			     u32 *bytes, struct gda_status *st)
{
	u32 len = q->work.len;
	u32 start = q->done;
	u32 end = len;
	int ret = 1;

	if (len > GDA_EXEC_WHOLE && len - start > *bytes) {
		end = start + *bytes;
		ret = 0;
	}
	if (q->work.op == GDA_OP_READ)
		smp_mb(); /* loads after the stores of earlier work requests */
	else
		smp_wmb(); /* stores after those of earlier work requests */
	while (q->done < end) {
		if (unlikely(!gda_exec_chunk(q, mems, end - q->done, st))) {
			ret = -1;
			break;
		}
	}
	*bytes -= min(*bytes, q->done - start);
	WRITE_ONCE(q->bytes, q->bytes + (q->done - start));
	return ret;
}

/* Store the old value at the local segment, or with @dry only see that one can. */
static bool gda_exec_result(const struct gda_eqp *q, const struct gda_exec_mems *mems,
			    u64 value, bool dry)
{
	const struct gda_mem *mem = mems->local[0];
	u64 off = q->work.sge[0].addr - mem->iova;
	const u8 *src = (const u8 *)&value;
	u32 left = sizeof(value);

	while (left) {
		void *ptr;
		u32 n = gda_host_span(mem, off, left, &ptr);

		if (unlikely(!n))
			return false;
		if (!dry)
			gda_exec_copy(ptr, src, n);
		src += n;
		off += n;
		left -= n;
	}
	return true;
}

static bool gda_exec_atomic(struct gda_eqp *q, const struct gda_exec_mems *mems,
			    struct gda_status *st)
{
	const struct gda_work *w = &q->work;
	const struct gda_mem *remote = mems->remote;
	void *ptr;
	u64 old;
	u32 n;

	if (unlikely(w->raddr % sizeof(u64)))
		return gda_exec_fail(st, GDA_MLX5_SYND_REMOTE_INVAL_REQ,
				     GDA_MLX5_VENDOR_ALIGN);
	if (unlikely(!gda_exec_result(q, mems, 0, true)))
		return gda_exec_fail(st, GDA_MLX5_SYND_LOCAL_PROT, GDA_MLX5_VENDOR_IO);
	n = gda_host_span(remote, w->raddr - remote->iova, sizeof(u64), &ptr);
	if (unlikely(!n))
		return gda_exec_fail(st, GDA_MLX5_SYND_REMOTE_OP, GDA_MLX5_VENDOR_IO);
	/* an iova need not be aligned as its memory is, and a split lock is fatal */
	if (unlikely(n != sizeof(u64) || (uintptr_t)ptr % sizeof(u64)))
		return gda_exec_fail(st, GDA_MLX5_SYND_REMOTE_INVAL_REQ,
				     GDA_MLX5_VENDOR_ALIGN);
	if (w->op == GDA_OP_FETCH_ADD)
		old = gda_os_fetch_add64(ptr, w->swap_add);
	else
		old = gda_os_cmpxchg64(ptr, w->compare, w->swap_add);
	gda_exec_result(q, mems, old, false);
	q->done = sizeof(u64);
	WRITE_ONCE(q->bytes, q->bytes + sizeof(u64));
	return true;
}

/* The peer counts writes and atomics once they are all there. */
static void gda_exec_arrived(const struct gda_work *w, const struct gda_eqp *peer)
{
	if (peer->recv && w->op != GDA_OP_READ)
		gda_os_fetch_add64(&peer->recv->value, 1);
}

int gda_exec(struct gda_eqp *q, u32 *bytes, struct gda_status *st)
{
	const struct gda_work *w = &q->work;
	struct gda_exec_mems mems;
	int ret = 1;

	if (w->op == GDA_OP_NOP)
		return 1;
	if (unlikely(!gda_exec_check(q, &mems, st)))
		return -1;
	if (likely(w->op == GDA_OP_WRITE || w->op == GDA_OP_READ))
		ret = gda_exec_transfer(q, &mems, bytes, st);
	else if (unlikely(!gda_exec_atomic(q, &mems, st)))
		ret = -1;
	else
		*bytes -= min(*bytes, w->len);
	if (likely(ret > 0))
		gda_exec_arrived(w, mems.peer);
	return ret;
}
