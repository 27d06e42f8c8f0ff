// SPDX-License-Identifier: GPL-2.0
/*
 * What the worker does for a queue, mostly by engine/fabric/post.c. Nothing here sleeps or waits.
 */
#include "gda_ib.h"

struct gda_status gda_fabric_host_lkey(struct gda_fabric_qp *q, const struct gda_sge *sge,
				       u32 access, u32 *lkey)
{
	struct gda_status st = { };
	struct gda_executor_mr *mr;

	mr = gda_executor_local_mr(gda_ib_qp_of(q)->exec, sge, access, &st);
	if (mr)
		*lkey = ((struct gda_ib_mr *)mr->priv)->mr->lkey;
	return st;
}

void gda_fabric_host_fail(struct gda_fabric_qp *q, struct gda_status why)
{
	gda_executor_qp_fail(gda_ib_qp_of(q)->exec, why);
}

u32 gda_ib_visit(struct gda_executor_qp *exec, u32 wqes, u32 bytes)
{
	struct gda_ib_qp *qp = exec->priv;
	struct gda_flight *f = exec->flight;
	u32 n;

	if (unlikely(READ_ONCE(qp->drained)))
		gda_flight_abandon(f, gda_status(GDA_CLASS_RETRY, GDA_CAUSE_PEER));
	n = gda_fabric_poll(&qp->fabric, f, wqes);
	n += gda_fabric_deliver(&qp->fabric, f);
	n += gda_fabric_post(&qp->fabric, f, wqes, bytes);
	n += gda_flight_retire(f, wqes);
	/* the peer has to be told, and what is in flight has to end */
	if (unlikely(qp->fabric.broken || gda_flight_stopped(f)))
		gda_ib_hang_up(qp);
	return n;
}

/*
 * Return: whether the worker may sleep. It may not while an immediate waits for room in a CQ,
 * because the owner of the CQ tells nobody when there is room; nor while a queue is to fail,
 * because a visit hangs it up.
 */
bool gda_ib_arm(struct gda_executor_qp *exec)
{
	struct gda_ib_qp *qp = exec->priv;

	if (qp->fabric.head != qp->fabric.tail)
		return true;
	if (gda_flight_stopped(exec->flight) && !READ_ONCE(qp->hung_up))
		return true;
	return ib_req_notify_cq(qp->fabric.cq, IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS) > 0;
}
