// SPDX-License-Identifier: GPL-2.0
/*
 * How a queue pair fails, and its connection ends.
 *
 * The id of a QP is destroyed by gda_ib_connection_end(), or after a failure by
 * gda_ib_hang_up_work(); the two do not run at the same time. A handler of the id always returns 0,
 * so it does not destroy the id, and whoever destroys it waits for the handler. qp_connect() sets
 * qp->fabric.id when it does not use the id itself any more.
 */
#include "gda_ib.h"

/* Take the id away from the QP. The caller destroys it, and so waits for its handler. */
struct rdma_cm_id *gda_ib_take_id(struct gda_ib_qp *qp)
{
	struct rdma_cm_id *id;

	spin_lock_irq(&qp->lock);
	id = qp->fabric.id;
	qp->fabric.id = NULL;
	spin_unlock_irq(&qp->lock);
	return id;
}

/*
 * Move the QP to ERROR, and post its last request. When that has come back, so have all others that
 * will: requests that were not signaled, or could not be posted, have no completion.
 */
static int gda_ib_flush(struct gda_ib_qp *qp)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };
	const struct ib_rdma_wr wr = {
		.wr = {
			.wr_id = GDA_FABRIC_WR_DRAIN,
			.opcode = IB_WR_RDMA_WRITE,
			.send_flags = IB_SEND_SIGNALED,
		},
	};

	ib_modify_qp(qp->fabric.qp, &attr, IB_QP_STATE);
	return ib_post_send(qp->fabric.qp, &wr.wr, NULL);
}

/* Nothing is posted to a QP that never left RESET: the RDMA driver would log it. */
static void gda_ib_end_work(struct gda_ib_qp *qp)
{
	if (qp->ended)
		return;
	if (READ_ONCE(qp->fabric.started)) {
		qp->ended = true;
		if (!gda_ib_flush(qp))
			return;
	}
	WRITE_ONCE(qp->drained, true);
	gda_executor_qp_kick(qp->exec);
}

/*
 * This runs again when the messages that end a connection have been sent, or when qp_connect(),
 * which moves the QP as well, has finished with it: gda_ib_set_id() then queues it. The id is
 * destroyed as soon as it is of no more use, because it is memory of rdma_cm's.
 */
void gda_ib_hang_up_work(struct work_struct *work)
{
	struct gda_ib_qp *qp = container_of(to_delayed_work(work), struct gda_ib_qp, hangup);
	struct rdma_cm_id *id;
	bool connecting;

	spin_lock_irq(&qp->lock);
	connecting = qp->connecting;
	spin_unlock_irq(&qp->lock);
	if (connecting)
		return;
	if (READ_ONCE(qp->connected) && !READ_ONCE(qp->over)) {
		gda_ib_end_work(qp);
		/* leads to RDMA_CM_EVENT_DISCONNECTED; nobody else takes the id meanwhile */
		id = READ_ONCE(qp->fabric.id);
		if (id)
			rdma_disconnect(id);
		return;
	}
	/* comes first, so that no handler moves the QP on afterwards */
	id = gda_ib_take_id(qp);
	if (id) {
		rdma_disconnect(id);
		rdma_destroy_id(id);
	}
	gda_ib_end_work(qp);
}

/* Any context. @again: also if the QP was hung up before. */
static void gda_ib_hang_up_in(struct gda_ib_qp *qp, unsigned int ms, bool again)
{
	unsigned long flags;

	if (!again && READ_ONCE(qp->hung_up))
		return;
	spin_lock_irqsave(&qp->lock, flags);
	/* changes nothing if the work item is queued already */
	if (!qp->closing && (again || !qp->hung_up))
		queue_delayed_work(gda_ib_wq, &qp->hangup, msecs_to_jiffies(ms));
	qp->hung_up = true;
	spin_unlock_irqrestore(&qp->lock, flags);
}

/* The QP has failed, or is to fail: all its work ends, and the peer is told. Any context. */
void gda_ib_hang_up(struct gda_ib_qp *qp)
{
	gda_ib_hang_up_in(qp, 0, false);
}

void gda_ib_fail(struct gda_ib_qp *qp, struct gda_status why)
{
	gda_executor_qp_fail(qp->exec, why);
	gda_ib_hang_up(qp);
}

/*
 * As gda_ib_fail(), for a failure that the fabric reports, or when the peer has ended the
 * connection. Perhaps one of the ends has then refused a work request of the other. rdma_rxe says
 * so by a packet, which it may not have sent or read yet, and never will once its QP is in error:
 * the work request would fail because of the end of the connection, and its true cause would be
 * lost. So the connection ends later. A QP with nothing in flight fails at once.
 */
void gda_ib_fail_slowly(struct gda_ib_qp *qp, struct gda_status why)
{
	/* comes first: once the worker sees the failure, it would hang up at once */
	gda_ib_hang_up_in(qp, GDA_IB_LAST_WORDS_MS, false);
	gda_executor_qp_fail(qp->exec, why);
}

/*
 * Called by the handler of the id of @qp: this was the last event that counts. In @ms the id may be
 * destroyed.
 */
void gda_ib_over(struct gda_ib_qp *qp, unsigned int ms, struct gda_status why)
{
	WRITE_ONCE(qp->over, true);
	gda_ib_hang_up_in(qp, ms, true);
	gda_executor_qp_fail(qp->exec, why);
}
