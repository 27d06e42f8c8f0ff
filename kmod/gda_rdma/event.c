// SPDX-License-Identifier: GPL-2.0
/*
 * Asynchronous events of verbs. gda_core calls these functions in the worker of the object's
 * context, under a spinlock. The RDMA subsystem queues the event for the program and does not
 * sleep.
 */
#include "gda_rdma.h"

static const enum ib_event_type gda_rdma_qp_events[] = {
	[GDA_CLIENT_FATAL] = IB_EVENT_QP_FATAL,
	[GDA_CLIENT_BAD_REQUEST] = IB_EVENT_QP_REQ_ERR,
	[GDA_CLIENT_BAD_ACCESS] = IB_EVENT_QP_ACCESS_ERR,
	[GDA_CLIENT_LAST_RECV] = IB_EVENT_QP_LAST_WQE_REACHED,
	[GDA_CLIENT_REACHED] = IB_EVENT_COMM_EST,
};

void gda_rdma_qp_event(void *priv, enum gda_client_event what)
{
	struct gda_rdma_qp *qp = priv;
	struct ib_event event = {
		.device = qp->ib.device,
		.element.qp = &qp->ib,
		.event = gda_rdma_qp_events[what],
	};

	/* IB_EVENT_COMM_EST makes sense only while the QP is in RTR */
	if (what == GDA_CLIENT_REACHED && READ_ONCE(qp->attr.qp_state) != IB_QPS_RTR)
		return;
	if (qp->ib.event_handler)
		qp->ib.event_handler(&event, qp->ib.qp_context);
}

void gda_rdma_cq_event(void *priv, enum gda_client_event what)
{
	struct gda_rdma_cq *cq = priv;
	struct ib_event event = {
		.device = cq->ib.device,
		.element.cq = &cq->ib,
		.event = IB_EVENT_CQ_ERR,
	};

	if (cq->ib.event_handler)
		cq->ib.event_handler(&event, cq->ib.cq_context);
}

void gda_rdma_srq_event(void *priv, enum gda_client_event what)
{
	struct gda_rdma_srq *srq = priv;
	struct ib_event event = {
		.device = srq->ib.device,
		.element.srq = &srq->ib,
		.event = what == GDA_CLIENT_LIMIT ? IB_EVENT_SRQ_LIMIT_REACHED : IB_EVENT_SRQ_ERR,
	};

	if (srq->ib.event_handler)
		srq->ib.event_handler(&event, srq->ib.srq_context);
}
