// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Executes sends, and immediates for a peer that has a receive queue: takes an entry there, copies
 * the payload into its segments, and writes its completion.
 *
 * Invariants:
 *
 * - An entry is taken once for a work request, and read once: q->taken is the copy. The request
 *   uses the same entry until that completes (q->took).
 * - No byte moves before every segment that will receive bytes is checked. A bad entry completes
 *   with an error and fails its owner's queue.
 * - The completion is written once, after the bytes; a flush waits for a sender that moves bytes
 *   (recv_moves).
 */
#include "move.h"

/* Take an entry of the peer, if none was taken. Return: 1, 0 to be resumed, or gda_exec_fail(). */
static int gda_send_take(struct gda_engine_qp *q, struct gda_exec_scope *scope)
{
	struct gda_engine_qp *peer = scope->peer;
	int ret;

	if (q->took) {
		if (likely(READ_ONCE(peer->recv_open)))
			return 1;
		/* the peer was reset meanwhile, and the entry is no longer open */
		q->took = false;
		return -(int)GDA_FAIL_PEER;
	}
	ret = gda_host_recv(peer, &q->taken);
	if (!ret)
		return gda_exec_not_ready(q, scope);
	if (ret == -(int)GDA_FAIL_PEER)
		return ret;
	if (unlikely(ret < 0)) {
		gda_host_fail(peer, (u32)-ret);
		return gda_exec_fail(GDA_CLASS_REMOTE_OP, (u8)(-ret >> 8));
	}
	q->took = true;
	q->rnr_tries = 0;
	return 1;
}

/* Complete the entry. Return: as gda_send_take(). */
static int gda_send_end(struct gda_engine_qp *q, struct gda_exec_scope *scope,
			const struct gda_completion *c)
{
	int ret = gda_host_recv_end(scope->peer, c);

	if (unlikely(!ret))
		return gda_exec_not_ready(q, scope);
	q->took = false;
	q->rnr_tries = 0;
	q->busy = false;
	if (unlikely(ret < 0 && ret != -(int)GDA_FAIL_PEER)) {
		gda_host_fail(scope->peer, (u32)-ret);
		return gda_exec_fail(GDA_CLASS_REMOTE_OP, (u8)(-ret >> 8));
	}
	return ret;
}

/* Complete the receive and the send. Return: as gda_exec(). */
static int gda_send_complete(struct gda_engine_qp *q, struct gda_exec_scope *scope, u8 kind)
{
	const struct gda_engine_qp *peer = scope->peer;
	const struct gda_work *w = &q->work;
	const struct gda_completion c = {
		.kind = kind,
		.solicited = (w->flags & GDA_WORK_SOLICIT) != 0,
		.index = q->taken.index,
		.qpn = peer->qpn,
		.byte_cnt = w->remote.len,
		.uidx_imm = (u64)peer->user_index << 32 | w->imm,
	};
	int ret = gda_send_end(q, scope, &c);

	if (likely(ret > 0)) {
		gda_engine_record_arrived(peer, q->imms, w->opcode, &w->remote, w->imm);
		q->imms++;
	}
	return ret;
}

/*
 * The entry cannot take the payload, for the reason @st. The receive completes with that reason,
 * and the peer's queue fails and flushes the rest. The exception, as in InfiniBand: a message of an
 * unreliable sender that is too long for the entry is lost and the queue goes on. Then an entry of
 * the peer's own ring is kept for the next message (class D), and one of an SRQ completes with an
 * error (class E). Return: as gda_exec(), never 1.
 */
static noinline int gda_send_refuse(struct gda_engine_qp *q, struct gda_exec_scope *scope,
				    struct gda_status st)
{
	struct gda_engine_qp *peer = scope->peer;
	const struct gda_completion c = {
		.kind = GDA_COMPLETION_RECV_ERROR,
		.solicited = true,
		.status = st,
		.first = st,
		.first_error = q->taken.index,
		.index = q->taken.index,
		.qpn = peer->qpn,
		.uidx_imm = (u64)peer->user_index << 32,
	};
	bool lost = q->dialect->unreliable && st.cause == GDA_CAUSE_LENGTH && !q->taken.st.class;
	u8 class = st.cause == GDA_CAUSE_LENGTH ? GDA_CLASS_INVALID_REQUEST : GDA_CLASS_REMOTE_OP;
	int ret;

	if (lost && !peer->rq->linked)
		return gda_exec_fail(class, st.cause);
	ret = gda_send_end(q, scope, &c);
	if (ret <= 0)
		return ret;
	if (!lost)
		gda_host_fail(peer, GDA_STATUS(GDA_CLASS_FLUSH, st.cause));
	return gda_exec_fail(class, st.cause);
}

struct gda_status gda_send_check(const struct gda_engine_qp *q, const struct gda_engine_qp *peer,
				 u32 len, struct gda_send_mems *mems)
{
	const struct gda_recv *r = &q->taken;
	u64 sum = 0;
	u32 i;

	if (r->st.class)
		return r->st;
	if (r->len < len)
		return gda_status(GDA_CLASS_LOCAL, GDA_CAUSE_LENGTH);
	for (i = 0; sum < len; i++) {
		/* as in gda_send_span() */
		u32 at = (u32)gda_os_clamp(i, GDA_RECV_MAX_SGE);
		const struct gda_sge *sge = &r->sge[at];
		u8 why;

		mems->at[at] = gda_host_mem(q, sge->key);
		why = gda_access_check(mems->at[at], peer->rq->pd, sge, GDA_ACCESS_LOCAL_WRITE);
		if (unlikely(why))
			return gda_status(GDA_CLASS_LOCAL,
					  why == GDA_ACCESS_NO_CPU ? GDA_CAUSE_IO : why);
		sum += sge->len;
	}
	return gda_status(GDA_CLASS_NONE, GDA_CAUSE_NONE);
}

u32 gda_send_span(const struct gda_recv *r, const struct gda_send_mems *mems, u32 off, u32 len,
		  void **ptr)
{
	u32 i = 0;

	while (off >= r->sge[i].len)
		off -= r->sge[i++].len;
	/* the entry's owner chose the lengths, and the loop may run on speculatively */
	i = (u32)gda_os_clamp(i, r->nsge);
	return gda_exec_span(mems->at[i], &r->sge[i], off, min(len, r->sge[i].len - off), ptr);
}

/* Move the payload. Return: as gda_exec(). */
static int gda_send_move(struct gda_engine_qp *q, struct gda_exec_scope *scope,
			 const struct gda_exec_mems *mems, const struct gda_send_mems *to)
{
	u32 len = q->work.remote.len;

	while (q->done < len) {
		u64 left = len > GDA_EXEC_WHOLE ? scope->until - q->bytes : len;
		void *local, *remote;
		u32 n;

		q->busy = !left;
		if (!left)
			return 0;
		n = gda_exec_local(q, mems, (u32)min(left, (u64)len - q->done), &local);
		if (unlikely(!n))
			return gda_exec_fail(GDA_CLASS_LOCAL, GDA_CAUSE_IO);
		n = gda_send_span(&q->taken, to, q->done, n, &remote);
		if (unlikely(!n))
			return gda_send_refuse(q, scope, gda_status(GDA_CLASS_LOCAL, GDA_CAUSE_IO));
		gda_exec_move(q, GDA_OP_SEND, local, remote, n);
		q->done += n;
	}
	return 1;
}

/* Store the payload in the entry. Return: as gda_exec(). */
static int gda_send_place(struct gda_engine_qp *q, struct gda_exec_scope *scope,
			  const struct gda_exec_mems *mems)
{
	struct gda_engine_qp *peer = scope->peer;
	struct gda_send_mems to;
	struct gda_status st;
	int ret = -(int)GDA_FAIL_PEER;

	/* the keys of the entry are not checked for a send without bytes, as for a write */
	if (!q->work.remote.len)
		return 1;
	st = gda_send_check(q, peer, q->work.remote.len, &to);
	if (unlikely(st.class))
		return gda_send_refuse(q, scope, st);
	/* after the peer's flush its program owns the entry, and no byte may move any more */
	WRITE_ONCE(peer->recv_moves, true);
	smp_mb(); /* pairs with gda_rq_flush(): it sees recv_moves, or we see ERROR */
	if (likely(READ_ONCE(peer->state) != GDA_QP_ERROR))
		ret = gda_send_move(q, scope, mems, &to);
	/* pairs with the acquire in gda_rq_flush() */
	smp_store_release(&peer->recv_moves, false);
	return ret;
}

int gda_exec_send(struct gda_engine_qp *q, struct gda_exec_scope *scope,
		  const struct gda_exec_mems *mems)
{
	bool imm = q->work.op == GDA_OP_SEND_IMM;
	struct gda_engine_qp *peer = scope->peer;
	int ret;

	if (q->port)
		return gda_exec_datagram(q, peer, mems);
	if (unlikely(!peer))
		return gda_exec_fail(GDA_CLASS_RETRY, GDA_CAUSE_PEER);
	if (unlikely(!peer->rq || !peer->recv_cq))
		return gda_exec_fail(GDA_CLASS_INVALID_REQUEST, GDA_CAUSE_RECV);
	if (!q->busy)
		q->done = 0;
	ret = gda_send_take(q, scope);
	if (likely(ret > 0))
		ret = gda_send_place(q, scope, mems);
	if (likely(ret > 0))
		ret = gda_send_complete(q, scope, imm ? GDA_COMPLETION_RECV_IMM :
						  GDA_COMPLETION_RECV);
	if (likely(ret > 0))
		gda_exec_arrived(q->work.op, peer);
	return ret;
}

int gda_exec_give_imm(struct gda_engine_qp *q, struct gda_exec_scope *scope)
{
	int ret = gda_send_take(q, scope);

	return likely(ret > 0) ? gda_send_complete(q, scope, GDA_COMPLETION_IMM) : ret;
}
