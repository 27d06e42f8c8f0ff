// SPDX-License-Identifier: MIT
/*
 * QPs that wait for an entry of a CQ of their context, as in kmod/gda_core/wait.c. A waiting QP is
 * @aside and is not visited. In place of a visit, the holder of its turn checks the CQ, found by
 * number, if ctx->wait_turn has changed. Two events change ctx->wait_turn and wake the context's
 * workers: the push of the nearest awaited entry, and the destruction of a CQ, which lookups then
 * no longer find. The clock is read less often.
 */
#include "inproc.h"

/* Read the clock once in so many skipped visits. */
#define GDA_INPROC_WAIT_LOOKS	16U

/* Return: as gda_host_wait(), which adds the timeout. */
static int gda_inproc_wait_ask(struct gda_inproc_qp *qp)
{
	struct gda_inproc_wait *wait = &qp->wait;
	int ret = -(int)GDA_STATUS(GDA_CLASS_QUEUE, GDA_CAUSE_CQ);
	struct gda_inproc_cq *cq = NULL;

	/* before the lookup of the CQ; pairs with gda_inproc_wait_turn() */
	wait->turn = __atomic_load_n(&qp->obj.ctx->wait_turn, __ATOMIC_SEQ_CST);
	if (!(wait->cqn >> 24))
		cq = gda_inproc_table_find(&gda_inproc.cqs, wait->cqn);
	if (!cq || cq->obj.ctx != qp->obj.ctx)
		return ret;
	pthread_mutex_lock(&cq->lock);
	ret = gda_cq_reached(&cq->engine_cq, wait->index);
	if (!ret && (!cq->awaited || (int)(wait->index - cq->awaited_index) < 0)) {
		cq->awaited = true;
		cq->awaited_index = wait->index;
	}
	pthread_mutex_unlock(&cq->lock);
	return ret;
}

int gda_host_wait(struct gda_engine_qp *q, u32 cqn, u32 index, bool resumed)
{
	struct gda_inproc_qp *qp = gda_inproc_of(q, struct gda_inproc_qp, engine_qp);
	struct gda_inproc_wait *wait = &qp->wait;
	int ret;
	u64 now;

	wait->cqn = cqn;
	wait->index = index;
	ret = gda_inproc_wait_ask(qp);
	if (ret)
		return ret;
	now = gda_inproc_now();
	if (!resumed)
		wait->until = now + (u64)q->wait_ms * 1000000U;
	else if (now >= wait->until)
		return -(int)GDA_STATUS(GDA_CLASS_RETRY, GDA_CAUSE_CQ);
	wait->on = true;
	qp->aside = true;
	return 0;
}

bool gda_inproc_waits(struct gda_inproc_qp *qp)
{
	struct gda_inproc_wait *wait = &qp->wait;

	if (!wait->on)
		return false;
	if (wait->turn == __atomic_load_n(&qp->obj.ctx->wait_turn, __ATOMIC_ACQUIRE) &&
	    ++wait->looks % GDA_INPROC_WAIT_LOOKS && !READ_ONCE(qp->engine_qp.fail))
		return true;
	wait->on = !READ_ONCE(qp->engine_qp.fail) && gda_inproc_now() < wait->until &&
		   !gda_inproc_wait_ask(qp);
	return wait->on;
}

void gda_inproc_wait_turn(struct gda_inproc_context *ctx)
{
	__atomic_fetch_add(&ctx->wait_turn, 1, __ATOMIC_SEQ_CST);
}

bool gda_inproc_wait_pushed(struct gda_inproc_cq *cq)
{
	if (!cq->awaited || !gda_cq_reached(&cq->engine_cq, cq->awaited_index))
		return false;
	cq->awaited = false;
	gda_inproc_wait_turn(cq->obj.ctx);
	return true;
}

void gda_inproc_wait_reached(struct gda_inproc_cq *cq, u64 reached)
{
	bool wakes;

	pthread_mutex_lock(&cq->lock);
	cq->engine_cq.reached = reached;
	wakes = gda_inproc_wait_pushed(cq);
	pthread_mutex_unlock(&cq->lock);
	if (wakes)
		gda_inproc_wait_wake(cq->obj.ctx);
}

void gda_inproc_wait_wake(struct gda_inproc_context *ctx)
{
	u32 i;

	for (i = 0; i < ctx->nworkers; i++)
		gda_inproc_nudge(ctx, i);
}
