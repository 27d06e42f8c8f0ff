// SPDX-License-Identifier: GPL-2.0
/*
 * How a queue pair fails, and its connection ends.
 *
 * An id that belongs to a QP is destroyed by gda_ib_connection_end(), or after a failure by
 * gda_ib_hang_up_work(), which do not run at the same time; and a handler of it always returns 0.
 * So whoever destroys it waits for the handler. qp_connect() sets qp->fabric.id when it is done
 * with the id itself.
 */
#include "gda_ib.h"

/* Take the id away from the QP. The caller destroys it, and waits for its handler so. */
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
 * Move the QP to ERROR, and post its last request. When it has come back, so has all that will:
 * of what was not signaled, and of what could not be posted, nothing comes.
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
 * It runs again when the messages that end a connection have gone their way, or when qp_connect(),
 * which moves the QP as well, is done with it: gda_ib_set_id() queues it then. The id goes as soon
 * as it is of no more use: it is memory of rdma_cm's.
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
		/* RDMA_CM_EVENT_DISCONNECTED comes of it; nobody else takes the id meanwhile */
		id = READ_ONCE(qp->fabric.id);
		if (id)
			rdma_disconnect(id);
		return;
	}
	/* first, so that no handler moves the QP on afterwards */
	id = gda_ib_take_id(qp);
	if (id) {
		rdma_disconnect(id);
		rdma_destroy_id(id);
	}
	gda_ib_end_work(qp);
}

/* Any context. @again: though it has been hung up. */
static void gda_ib_hang_up_in(struct gda_ib_qp *qp, unsigned int ms, bool again)
{
	unsigned long flags;

	if (!again && READ_ONCE(qp->hung_up))
		return;
	spin_lock_irqsave(&qp->lock, flags);
	/* when it is queued already this changes nothing */
	if (!qp->closing && (again || !qp->hung_up))
		queue_delayed_work(gda_ib_wq, &qp->hangup, msecs_to_jiffies(ms));
	qp->hung_up = true;
	spin_unlock_irqrestore(&qp->lock, flags);
}

/* The QP has failed, or is to: nothing of it goes on, and the peer is told. Any context. */
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
 * As gda_ib_fail(), when the fabric has failed the QP or the peer has ended the connection. One of
 * the ends has then refused a work request of the other, perhaps. rdma_rxe says so by a packet
 * that it may not have sent yet, or not looked at yet, and never does once its QP is in error: the
 * work request would fail for the end of the connection, and its cause be lost. So the end comes
 * later. A QP with nothing in flight fails now.
 */
void gda_ib_fail_slowly(struct gda_ib_qp *qp, struct gda_status why)
{
	/* first: the worker, once it sees the failure, would hang up at once */
	gda_ib_hang_up_in(qp, GDA_IB_LAST_WORDS_MS, false);
	gda_executor_qp_fail(qp->exec, why);
}

/* Handler of the id of @qp: it was the last event that counts. In @ms the id may go. */
void gda_ib_over(struct gda_ib_qp *qp, unsigned int ms, struct gda_status why)
{
	WRITE_ONCE(qp->over, true);
	gda_ib_hang_up_in(qp, ms, true);
	gda_executor_qp_fail(qp->exec, why);
}
