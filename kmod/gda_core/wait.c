// SPDX-License-Identifier: GPL-2.0
/*
 * QPs that wait for an entry of a CQ of their context (GDA_OP_WAIT).
 *
 * A waiting QP has GDA_QP_WAITS in qp->lost, which makes the worker ask here before each visit. So
 * the QP has no visits, and its doorbell page can become silent. qp->wait says what the QP waits
 * for; only the worker uses it. The CQ knows the nearest entry that anybody waits for
 * (cq->awaited), under its lock: the push of that entry changes ctx->wait_turn and kicks the
 * worker, which then asks for each waiting QP again. As long as ctx->wait_turn stays, a waiting QP
 * costs the worker less than an idle one.
 *
 * CQs are found by number in ctx->cqs, under SRCU; CQs of other contexts are not there. A QP holds
 * no reference on the CQ: if the CQ is destroyed, it is not found when the QP is looked at next,
 * and the QP fails. If the entry does not come, the QP wakes the worker when its time is over.
 */
#include <linux/ktime.h>

#include "gda_private.h"

static const int gda_wait_no_cq = -(int)GDA_STATUS(GDA_CLASS_QUEUE, GDA_CAUSE_CQ);

/* QPs that wait for @cq have to ask again. */
static void gda_wait_wake(struct gda_cq *cq)
{
	struct gda_ctx *ctx = cq->obj.ctx;

	lockdep_assert_held(&cq->lock);
	if (!cq->awaited)
		return;
	cq->awaited = false;
	/* after the change that they will see; gda_wait_ask() takes the lock after reading this */
	atomic_inc(&ctx->wait_turn);
	gda_worker_kick(ctx);
}

/* Have the push of the nearest entry that is waited for wake the worker. */
static void gda_wait_arm(struct gda_cq *cq, u32 index)
{
	lockdep_assert_held(&cq->lock);
	if (cq->awaited && (s32)(index - cq->awaited_index) >= 0)
		return;
	cq->awaited = true;
	cq->awaited_index = index;
}

/* Return: as gda_host_wait(), except that the time is not checked. */
static int gda_wait_ask(struct gda_qp *qp)
{
	struct gda_ctx *ctx = qp->obj.ctx;
	int ret = gda_wait_no_cq;
	struct gda_cq *cq;

	qp->wait.turn = atomic_read(&ctx->wait_turn);
	/* the turn is read before the CQ: a later change of the CQ is seen as a new turn */
	smp_rmb();
	cq = xa_load(&ctx->cqs, qp->wait.cqn);
	if (!cq)
		return ret;
	spin_lock(&cq->lock);
	if (!cq->lost)
		ret = gda_cq_reached(&cq->engine_cq, qp->wait.index);
	if (!ret)
		gda_wait_arm(cq, qp->wait.index);
	spin_unlock(&cq->lock);
	return ret;
}

int gda_host_wait(struct gda_engine_qp *q, u32 cqn, u32 index, bool resumed)
{
	struct gda_qp *qp = container_of(q, struct gda_qp, engine_qp);
	struct gda_wait *wait = &qp->wait;
	u64 now;
	int ret;

	wait->cqn = cqn;
	wait->index = index;
	ret = gda_wait_ask(qp);
	if (ret)
		return ret;
	now = ktime_get_ns();
	if (!resumed)
		wait->until = now + (u64)q->wait_ms * NSEC_PER_MSEC;
	else if (now >= wait->until)
		return -(int)GDA_STATUS(GDA_CLASS_RETRY, GDA_CAUSE_CQ);
	set_bit(GDA_QP_WAITS, &qp->lost);
	gda_worker_set_due(qp->obj.ctx, wait->until);
	return 0;
}

/*
 * Called only by the worker, under SRCU, for a waiting QP. Return: whether the QP may be visited.
 */
bool gda_wait_over(struct gda_qp *qp)
{
	struct gda_ctx *ctx = qp->obj.ctx;
	u64 until = qp->wait.until;

	if (likely(!READ_ONCE(qp->engine_qp.fail))) {
		if (qp->wait.turn == atomic_read(&ctx->wait_turn))
			return false;
		if (ktime_get_ns() < until && !gda_wait_ask(qp)) {
			gda_worker_set_due(ctx, until);
			return false;
		}
	}
	clear_bit(GDA_QP_WAITS, &qp->lost);
	return true;
}

/* A CQ that is waited for got an entry, or has failed. */
void gda_wait_pushed(struct gda_cq *cq)
{
	lockdep_assert_held(&cq->lock);
	if (gda_cq_reached(&cq->engine_cq, cq->awaited_index))
		gda_wait_wake(cq);
}

/* A CQ was taken out of ctx->cqs. */
void gda_wait_cq_gone(struct gda_cq *cq)
{
	spin_lock(&cq->lock);
	gda_wait_wake(cq);
	spin_unlock(&cq->lock);
}

/* With cq->lock held: the memory of a CQ was revoked. */
void gda_wait_cq_lost(struct gda_cq *cq)
{
	gda_wait_wake(cq);
}

/* Called by the worker when the time of some QP may be over. */
void gda_wait_due(struct gda_ctx *ctx)
{
	atomic_inc(&ctx->wait_turn);
}
