// SPDX-License-Identifier: GPL-2.0
/*
 * Probes: a QP that waits for a request asks whether its peer is still there (gda/cm.h): after 1 s,
 * and then after pauses of 2, 4, 8, 8, ... s, each longer by up to a quarter. If no answer comes
 * that proves its sender, the next probe follows after 1 s, and the third such probe in a row ends
 * the wait.
 *
 * One work item of the QP does everything: after a pause it begins a probe; when the probe's
 * handler has noted the outcome and queued the work again, it ends the probe and begins the next
 * pause. qp->fabric.probe belongs to the work item, and to gda_ib_probe_end() once the work was
 * canceled.
 */
#include "gda_ib.h"

/* Return: whether the QP waits for a request of its peer that has not come yet. */
static bool gda_ib_waits(struct gda_ib_qp *qp)
{
	bool waits;

	spin_lock_irq(&qp->lock);
	waits = gda_fabric_waits(&qp->fabric) && !qp->connecting && !qp->closing && !qp->hung_up;
	spin_unlock_irq(&qp->lock);
	return waits;
}

/*
 * The delay is longer by up to a quarter, so that QPs that were connected at the same time do not
 * go on probing at the same time.
 */
static unsigned long gda_ib_probe_delay(unsigned int seconds)
{
	return seconds * HZ + reciprocal_scale(get_random_u32(), seconds * HZ / 4);
}

/* Queue the work, unless the QP is closing. */
static void gda_ib_probe_queue(struct gda_ib_qp *qp, unsigned int seconds)
{
	unsigned long flags;

	spin_lock_irqsave(&qp->lock, flags);
	if (!qp->closing)
		mod_delayed_work(gda_ib_probe_wq, &qp->probe_work, gda_ib_probe_delay(seconds));
	spin_unlock_irqrestore(&qp->lock, flags);
}

static int gda_ib_probe_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	enum gda_fabric_probe outcome;
	struct gda_ib_qp *qp = id->context;
	struct gda_fabric_event e;

	gda_fabric_event_set(&e, id, event);
	outcome = gda_fabric_probe_event(&qp->fabric, &e);
	if (outcome == GDA_FABRIC_PROBE_GOES_ON)
		return 0;
	WRITE_ONCE(qp->probe_outcome, outcome);
	gda_ib_probe_queue(qp, 0);
	return 0;
}

/* Called with qp->fabric.probe NULL. On failure there is no probe either. */
static int gda_ib_probe_begin(struct gda_ib_qp *qp)
{
	struct rdma_cm_id *id;

	id = rdma_create_id(qp->ctx->listener->net, gda_ib_probe_handler, qp, RDMA_PS_TCP,
			    IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	qp->fabric.probe = id;
	WRITE_ONCE(qp->probe_outcome, GDA_FABRIC_PROBE_NO_NEWS);
	return gda_ib_resolve(qp, id);
}

static void gda_ib_probe_work(struct work_struct *work)
{
	struct gda_ib_qp *qp = container_of(to_delayed_work(work), struct gda_ib_qp, probe_work);
	bool gone = false;

	if (!qp->fabric.probe && !gda_ib_waits(qp))
		return;
	if (qp->fabric.probe) {
		gone = gda_fabric_probe_over(&qp->fabric, READ_ONCE(qp->probe_outcome));
	} else if (__ratelimit(&qp->ctx->probes)) {
		/*
		 * if not, other QPs of the context have used up this second's probes: try again
		 * later
		 */
		if (!gda_ib_probe_begin(qp))
			return;
		gone = gda_fabric_probe_over(&qp->fabric, GDA_FABRIC_PROBE_MISSED);
	}
	/* the peer may have sent its request meanwhile */
	if (!gda_ib_waits(qp))
		return;
	if (gone) {
		gda_ib_fail(qp, gda_status(GDA_CLASS_RETRY, GDA_CAUSE_PEER));
		return;
	}
	/* after a miss the next probe follows at once */
	if (qp->fabric.probe_missed)
		qp->probe_pause = GDA_FABRIC_PROBE_FIRST;
	else
		qp->probe_pause = min(2 * qp->probe_pause, GDA_FABRIC_PROBE_MOST);
	gda_ib_probe_queue(qp, qp->probe_pause);
}

void gda_ib_probe_init(struct gda_ib_qp *qp)
{
	INIT_DELAYED_WORK(&qp->probe_work, gda_ib_probe_work);
	qp->probe_pause = GDA_FABRIC_PROBE_FIRST;
}

/* Called when the QP has named its peer, and waits for its request. */
void gda_ib_probe_start(struct gda_ib_qp *qp)
{
	gda_ib_probe_queue(qp, GDA_FABRIC_PROBE_FIRST);
}

/* Called with qp->closing set, so that nothing queues the work any more. */
void gda_ib_probe_end(struct gda_ib_qp *qp)
{
	cancel_delayed_work_sync(&qp->probe_work);
	if (!qp->fabric.probe)
		return;
	rdma_destroy_id(qp->fabric.probe);
	qp->fabric.probe = NULL;
}
