// SPDX-License-Identifier: GPL-2.0
/*
 * Probes: a QP that waits to be asked asks whether its peer is still there (gda/cm.h), after 1 s,
 * and then after pauses of 2, 4, 8, 8, ... s, and up to a quarter of each more. After one without
 * an answer that proves by whom it is the next comes after 1 s, and the third in a row ends the
 * wait.
 *
 * One work item of the QP does all: after a pause it begins a probe; and when the probe's handler
 * has noted the outcome and queued the work again, it ends the probe and begins the next pause.
 * qp->probe is the work's, and that of gda_ib_probe_end() after the work was canceled.
 */
#include <linux/random.h>
#include <rdma/ib_cm.h>

#include "gda_ib.h"

/* Pauses, in seconds. */
#define GDA_IB_PROBE_FIRST	1U
#define GDA_IB_PROBE_MOST	8U

/* Probes that end without an answer, in a row, before the QP fails. */
#define GDA_IB_PROBE_MISSES	3U

enum gda_ib_probe_outcome {
	GDA_IB_PROBE_NONE,		/* yet */
	GDA_IB_PROBE_THERE,
	GDA_IB_PROBE_GONE,
	GDA_IB_PROBE_MISSED,
};

/* Is it to be asked, and was not? */
static bool gda_ib_waits(struct gda_ib_qp *qp)
{
	bool waits;

	spin_lock_irq(&qp->lock);
	waits = qp->named && !qp->id && !qp->connecting && !qp->closing && !qp->hung_up &&
		memcmp(&qp->self, &qp->peer, sizeof(qp->self)) < 0;
	spin_unlock_irq(&qp->lock);
	return waits;
}

/* Up to a quarter more, so that QPs which were connected at once do not go on asking at once. */
static unsigned long gda_ib_probe_delay(unsigned int seconds)
{
	return seconds * HZ + reciprocal_scale(get_random_u32(), seconds * HZ / 4);
}

/* Queue the work, unless the QP goes. */
static void gda_ib_probe_queue(struct gda_ib_qp *qp, unsigned int seconds)
{
	unsigned long flags;

	spin_lock_irqsave(&qp->lock, flags);
	if (!qp->closing)
		mod_delayed_work(gda_ib_probe_wq, &qp->probe_work, gda_ib_probe_delay(seconds));
	spin_unlock_irqrestore(&qp->lock, flags);
}

/*
 * The peer, or its machine, or a stranger has rejected the probe. Nobody proves that a QP is gone:
 * the nonce went with it.
 */
static enum gda_ib_probe_outcome gda_ib_probe_rejected(const struct gda_ib_qp *qp,
						       const struct rdma_cm_event *event)
{
	const struct rdma_conn_param *conn = &event->param.conn;
	struct gda_cm_reject reject = { };
	enum gda_cm_proof proof;

	/*
	 * The peer's CM tells the requests of one device apart by QP number, which all probes
	 * share: another one is under way, or somebody else sent it, and the host lives.
	 */
	if (event->status == IB_CM_REJ_STALE_CONN)
		return GDA_IB_PROBE_NONE;
	if (event->status != IB_CM_REJ_CONSUMER_DEFINED)
		return GDA_IB_PROBE_MISSED;
	if (conn->private_data)
		memcpy(&reject, conn->private_data,
		       min_t(size_t, conn->private_data_len, sizeof(reject)));
	proof = gda_cm_reject_proof(&reject, qp->probe_token, &qp->self, &qp->peer);
	if (proof == GDA_CM_PROOF_NONE)
		return GDA_IB_PROBE_MISSED;
	if (reject.reason == GDA_CM_REASON_LATER || reject.reason == GDA_CM_REASON_FULL)
		return GDA_IB_PROBE_THERE;
	return proof == GDA_CM_PROOF_FULL ? GDA_IB_PROBE_GONE : GDA_IB_PROBE_MISSED;
}

/* The way to the peer is known. */
static int gda_ib_probe_send(struct gda_ib_qp *qp, struct rdma_cm_id *id)
{
	struct gda_cm_private p;
	struct rdma_conn_param param = {
		.private_data = &p,
		.private_data_len = sizeof(p),
		.retry_count = GDA_IB_RETRIES,
		.qp_num = GDA_CM_PROBE_QPN,
	};

	qp->probe_token = (__force __be32)get_random_u32();
	gda_cm_private_set(&p, GDA_CM_ROLE_PROBE, qp->probe_token, &qp->self, &qp->peer);
	gda_cm_sign(&p, &qp->self, &qp->peer, cpu_to_be32(GDA_CM_PROBE_QPN));
	return rdma_connect_locked(id, &param);
}

static int gda_ib_probe_handler(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	enum gda_ib_probe_outcome outcome = GDA_IB_PROBE_MISSED;
	struct gda_ib_qp *qp = id->context;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		if (id->device == qp->ib->ibdev && !rdma_resolve_route(id, GDA_IB_RESOLVE_MS))
			return 0;
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		if (!gda_ib_probe_send(qp, id))
			return 0;
		break;
	case RDMA_CM_EVENT_REJECTED:
		outcome = gda_ib_probe_rejected(qp, event);
		break;
	case RDMA_CM_EVENT_UNREACHABLE:
		/* many tries in a row, for more than a minute */
		outcome = GDA_IB_PROBE_GONE;
		break;
	default:
		break;
	}
	WRITE_ONCE(qp->probe_outcome, outcome);
	gda_ib_probe_queue(qp, 0);
	return 0;
}

/* With qp->probe NULL. On failure there is no probe either. */
static int gda_ib_probe_begin(struct gda_ib_qp *qp)
{
	struct rdma_cm_id *id;
	int ret;

	id = rdma_create_id(qp->ctx->listener->net, gda_ib_probe_handler, qp, RDMA_PS_TCP,
			    IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	qp->probe = id;
	WRITE_ONCE(qp->probe_outcome, GDA_IB_PROBE_NONE);
	ret = gda_ib_resolve(qp, id);
	if (ret) {
		qp->probe = NULL;
		rdma_destroy_id(id);
	}
	return ret;
}

/* End the probe that has an outcome. Return: whether the peer is gone. */
static bool gda_ib_probe_over(struct gda_ib_qp *qp)
{
	u8 outcome = READ_ONCE(qp->probe_outcome);

	rdma_destroy_id(qp->probe);
	qp->probe = NULL;
	if (outcome == GDA_IB_PROBE_THERE)
		qp->probe_missed = 0;
	else if (outcome == GDA_IB_PROBE_MISSED)
		qp->probe_missed++;
	return outcome == GDA_IB_PROBE_GONE;
}

static void gda_ib_probe_work(struct work_struct *work)
{
	struct gda_ib_qp *qp = container_of(to_delayed_work(work), struct gda_ib_qp, probe_work);
	bool gone = false;

	if (!qp->probe && !gda_ib_waits(qp))
		return;
	if (qp->probe) {
		gone = gda_ib_probe_over(qp);
	} else if (__ratelimit(&qp->ctx->probes)) {
		/* if not, other QPs of the context have begun all of this second's: later */
		if (!gda_ib_probe_begin(qp))
			return;
		qp->probe_missed++;
	}
	/* the peer may have asked meanwhile */
	if (!gda_ib_waits(qp))
		return;
	if (gone || qp->probe_missed >= GDA_IB_PROBE_MISSES) {
		gda_ib_fail(qp, gda_status(GDA_CLASS_RETRY, GDA_CAUSE_PEER));
		return;
	}
	/* a miss is looked into at once */
	if (qp->probe_missed)
		qp->probe_pause = GDA_IB_PROBE_FIRST;
	else
		qp->probe_pause = min(2 * qp->probe_pause, GDA_IB_PROBE_MOST);
	gda_ib_probe_queue(qp, qp->probe_pause);
}

void gda_ib_probe_init(struct gda_ib_qp *qp)
{
	INIT_DELAYED_WORK(&qp->probe_work, gda_ib_probe_work);
	qp->probe_pause = GDA_IB_PROBE_FIRST;
}

/* The QP has named its peer, and waits to be asked. */
void gda_ib_probe_start(struct gda_ib_qp *qp)
{
	gda_ib_probe_queue(qp, GDA_IB_PROBE_FIRST);
}

/* With qp->closing set, so that nothing queues the work any more. */
void gda_ib_probe_end(struct gda_ib_qp *qp)
{
	cancel_delayed_work_sync(&qp->probe_work);
	if (!qp->probe)
		return;
	rdma_destroy_id(qp->probe);
	qp->probe = NULL;
}
