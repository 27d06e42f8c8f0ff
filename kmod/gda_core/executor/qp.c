// SPDX-License-Identifier: GPL-2.0
/*
 * The calls that executors of other modules make for a queue pair, and how the worker serves
 * one of theirs.
 *
 * The engine's part of a QP is the worker's. Others change its state to READY, by a compare
 * and exchange, and ask for its failure (gda_endpoint_fail()), which the engine then carries
 * out. So an executor's visit() sees only queues that are ready, and what has failed is
 * flushed in one place.
 */
#include "../gda_private.h"

void gda_executor_qp_ready(struct gda_executor_qp *exec)
{
	struct gda_engine_qp *q = &gda_qp_of(exec)->engine_qp;

	gda_os_cmpxchg32(&q->state, GDA_QP_INIT, GDA_QP_READY);
	/* work may have been posted already */
	gda_host_kick(q);
}
GDA_EXPORT(gda_executor_qp_ready);

void gda_executor_qp_fail(struct gda_executor_qp *exec, u8 cause)
{
	gda_qp_fail(gda_qp_of(exec), cause);
}
GDA_EXPORT(gda_executor_qp_fail);

/*
 * Under SRCU, by the worker: serve a queue of another executor. The engine gets it only to fail
 * it, or to flush what is posted: a state that was read as INIT may be READY by now.
 *
 * Return: what was done, in work requests.
 */
u32 gda_executor_visit(struct gda_qp *qp)
{
	struct gda_engine_qp *q = &qp->engine_qp;
	u32 state = READ_ONCE(q->state);

	if (state == GDA_QP_ERROR || READ_ONCE(q->fail))
		return gda_engine_visit(q, GDA_VISIT_WQES, GDA_VISIT_BYTES);
	if (state != GDA_QP_READY || !gda_engine_pending(q))
		return 0;
	return qp->visit(&qp->exec, GDA_VISIT_WQES, GDA_VISIT_BYTES);
}
