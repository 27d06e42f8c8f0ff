// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Executes what moves no bytes: the immediate of a write whose bytes are in place, the retry when
 * the peer has no room for it, a WAIT, a fence by reading.
 *
 * Invariant: an immediate is given once. Until the peer has room the request stays begun
 * (q->busy), and its bytes are not moved again.
 */
#include "move.h"

int gda_exec_not_ready(struct gda_engine_qp *q, struct gda_exec_scope *scope)
{
	/* the delays of InfiniBand's RNR NAK timer, in units of 10 us; the code 0 is 65536 */
	static const u16 delays[GDA_MAX_MIN_RNR_TIMER + 1] = {
		0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192,
		256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288,
		16384, 24576, 32768, 49152,
	};
	u32 delay = delays[READ_ONCE(scope->peer->min_rnr_timer)];
	u32 retry = READ_ONCE(q->rnr_retry);

	if (retry != GDA_ENGINE_RNR_FOREVER) {
		if (q->rnr_tries >= retry)
			return gda_exec_fail(GDA_CLASS_RNR, GDA_CAUSE_RECV);
		q->rnr_tries++;
	}
	q->busy = true;
	/* begin nothing after it in this visit */
	scope->until = q->bytes;
	gda_host_delay(q, (delay ? delay : 65536U) * 10000U);
	return 0;
}

int gda_exec_push_imm(struct gda_engine_qp *q, struct gda_exec_scope *scope)
{
	struct gda_engine_qp *peer = scope->peer;
	const struct gda_work *w = &q->work;
	const struct gda_completion c = {
		.kind = GDA_COMPLETION_IMM,
		.solicited = (w->flags & GDA_WORK_SOLICIT) != 0,
		.index = q->imms,
		.qpn = peer->qpn,
		.byte_cnt = w->remote.len,
		.uidx_imm = (u64)peer->user_index << 32 | w->imm,
		.source = q->dialect->named ? q->qpn : 0,
		.lid = q->dialect->named ? scope->to.back : 0,
	};

	if (unlikely(peer->rq))
		return gda_exec_give_imm(q, scope);
	if (unlikely(!gda_host_push(peer->recv_cq, &c)))
		return gda_exec_not_ready(q, scope);
	gda_engine_record_arrived(peer, q->imms, w->opcode, &w->remote, w->imm);
	q->imms++;
	q->rnr_tries = 0;
	q->busy = false;
	return 1;
}

int gda_exec_dump(const struct gda_engine_qp *q, const struct gda_exec_mems *mems)
{
	void *ptr;

	if (unlikely(!gda_exec_span(mems->local[0], &q->work.sge[0], 0, 1, &ptr)))
		return gda_exec_fail(GDA_CLASS_LOCAL, GDA_CAUSE_IO);
	smp_mb(); /* order this after the stores of earlier work requests */
	(void)READ_ONCE(*(const u8 *)ptr);
	return 1;
}

/* Return: as gda_exec(). */
static noinline int gda_exec_wait(struct gda_engine_qp *q, struct gda_exec_scope *scope)
{
	int ret = gda_host_wait(q, q->work.remote.key, q->work.imm, q->busy);

	q->busy = !ret;
	/* begin nothing after it in this visit */
	if (!ret)
		scope->until = q->bytes;
	return ret;
}

int gda_exec_count(struct gda_engine_qp *q, struct gda_exec_scope *scope)
{
	u8 op = q->work.op;
	int ret;

	/* a WAIT names no memory and needs no peer */
	if (op == GDA_OP_WAIT)
		return gda_exec_wait(q, scope);
	if (unlikely(!scope->peer))
		return gda_exec_fail(GDA_CLASS_RETRY, GDA_CAUSE_PEER);
	ret = gda_exec_check_imm(&q->work, scope->peer);
	if (unlikely(ret))
		return ret;
	ret = op == GDA_OP_WRITE_IMM ? gda_exec_push_imm(q, scope) : 1;
	if (likely(ret > 0))
		gda_exec_arrived(op, scope->peer);
	return ret;
}
