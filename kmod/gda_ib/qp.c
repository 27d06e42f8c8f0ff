// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pairs: each is a reliable connection and a CQ of its own, which is large enough for all
 * that can be in flight, so it never overflows.
 */
#include <linux/log2.h>
#include <linux/slab.h>

#include <rdma/ib_user_verbs.h>

#include "gda_ib.h"

/* Bytes of a work request with GDA_FABRIC_MAX_INLINE bytes of payload, and of a receive. */
#define GDA_IB_SEND_BYTES	512U
#define GDA_IB_RECEIVE_BYTES	128U

/* Any context: a completion has come, and the worker may be asleep. */
static void gda_ib_qp_comes(struct ib_cq *cq, void *context)
{
	struct gda_ib_qp *qp = context;

	gda_executor_qp_kick(qp->exec);
}

static void gda_ib_cq_event(struct ib_event *event, void *context)
{
	struct gda_ib_qp *qp = context;

	gda_executor_qp_fail(qp->exec, gda_status(GDA_CLASS_QUEUE, GDA_CAUSE_FABRIC));
}

static void gda_ib_qp_event(struct ib_event *event, void *context)
{
	struct gda_ib_qp *qp = context;

	/* the other events have no consequence here */
	if (event->event == IB_EVENT_QP_FATAL || event->event == IB_EVENT_QP_REQ_ERR ||
	    event->event == IB_EVENT_QP_ACCESS_ERR)
		gda_ib_fail_slowly(qp, gda_status(GDA_CLASS_QUEUE, GDA_CAUSE_FABRIC));
}

static int gda_ib_qp_open(struct gda_ib_qp *qp, u32 window)
{
	const struct ib_cq_init_attr cq_attr = { .cqe = window + 1 + qp->fabric.nrecv };
	struct ib_device *ibdev = qp->ib->ibdev;
	struct ib_qp_init_attr attr = {
		.event_handler = gda_ib_qp_event,
		.qp_context = qp,
		.qp_type = IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.cap = {
			/* and the last request of all, see gda_ib_flush() */
			.max_send_wr = window + 1,
			.max_recv_wr = qp->fabric.nrecv,
			.max_send_sge = qp->ib->dev.limits.max_sge,
			.max_recv_sge = 1,
			.max_inline_data = GDA_FABRIC_MAX_INLINE,
		},
	};
	int ret;

	qp->fabric.cq = ib_create_cq(ibdev, gda_ib_qp_comes, gda_ib_cq_event, qp, &cq_attr);
	if (IS_ERR(qp->fabric.cq))
		return PTR_ERR(qp->fabric.cq);
	attr.send_cq = qp->fabric.cq;
	attr.recv_cq = qp->fabric.cq;
	qp->fabric.qp = ib_create_qp(qp->ctx->pd, &attr);
	if (IS_ERR(qp->fabric.qp)) {
		ret = PTR_ERR(qp->fabric.qp);
		ib_destroy_cq(qp->fabric.cq);
		return ret;
	}
	return 0;
}

static void gda_ib_qp_close(struct gda_ib_qp *qp)
{
	spin_lock(&qp->ib->lock);
	list_del(&qp->node);
	spin_unlock(&qp->ib->lock);
	ib_destroy_qp(qp->fabric.qp);
	qp->fabric.qp = NULL;
	ib_destroy_cq(qp->fabric.cq);
	qp->fabric.cq = NULL;
}

static u32 gda_ib_window(const struct gda_ib *ib, u32 sq_depth)
{
	u32 most = min_t(u32, GDA_IB_WINDOW, ib->ibdev->attrs.max_qp_wr / 2);

	return min(sq_depth, rounddown_pow_of_two(most));
}

/*
 * Called in a call (gda_ib_enter()). From here on the number is found; the nonce is not known yet.
 */
static int gda_ib_qp_insert(struct gda_ib_qp *qp, struct gda_executor_qp *exec)
{
	struct gda_ib *ib = qp->ib;
	int ret;

	ret = gda_ib_qp_open(qp, exec->window);
	if (ret)
		return ret;
	spin_lock(&ib->lock);
	list_add(&qp->node, &ib->qps);
	spin_unlock(&ib->lock);
	ret = xa_insert(&ib->numbers, exec->number, qp, GDA_GFP_USER);
	if (ret)
		gda_ib_qp_close(qp);
	return ret;
}

/* An RDMA driver charges nobody for QPs of the kernel, so charge about what rdma_rxe allocates. */
static int gda_ib_qp_charge(struct gda_ib_qp *qp, u32 window)
{
	u32 nrecv = qp->fabric.nrecv;
	size_t bytes = roundup_pow_of_two(window + 2) * GDA_IB_SEND_BYTES +
		       roundup_pow_of_two(nrecv + 1) * GDA_IB_RECEIVE_BYTES +
		       roundup_pow_of_two(window + nrecv + 2) * sizeof(struct ib_uverbs_wc);

	return gda_memlock_charge(&qp->charge, DIV_ROUND_UP(bytes, PAGE_SIZE));
}

int gda_ib_qp_create(struct gda_executor_qp *exec)
{
	struct gda_ib_ctx *ctx = exec->ctx->priv;
	struct gda_ib *ib = ctx->ib;
	struct gda_ib_qp *qp;
	int ret = -ENODEV;

	qp = kzalloc(sizeof(*qp), GDA_GFP_USER);
	if (!qp)
		return -ENOMEM;
	kref_init(&qp->ref);
	qp->ib = ib;
	qp->ctx = ctx;
	qp->exec = exec;
	qp->fabric.nrecv = min(exec->recv_depth, GDA_FABRIC_RECEIVES);
	qp->fabric.max_msg = ib->dev.limits.max_msg;
	qp->fabric.max_inline = GDA_FABRIC_MAX_INLINE;
	qp->fabric.responds = min_t(u32, GDA_FABRIC_READS, ib->ibdev->attrs.max_qp_rd_atom);
	qp->fabric.initiates = min_t(u32, GDA_FABRIC_READS,
				     ib->ibdev->attrs.max_qp_init_rd_atom);
	qp->fabric.atomic = ib->dev.features & GDA_FEATURE_ATOMIC;
	gda_ib_connection_init(qp);
	if (gda_ib_enter(ib)) {
		exec->window = gda_ib_window(ib, exec->sq_depth);
		ret = gda_ib_qp_charge(qp, exec->window);
		ret = ret ?: gda_ib_qp_insert(qp, exec);
		gda_ib_exit(ib);
	}
	if (ret) {
		gda_ib_qp_put(qp);
		return ret;
	}
	exec->priv = qp;
	return 0;
}

void gda_ib_qp_free(struct gda_executor_qp *exec)
{
	struct gda_ib_qp *qp = exec->priv;

	if (gda_ib_enter_free(qp->ib)) {
		/* does nothing if qp_disconnect() was called */
		gda_ib_connection_end(qp);
		gda_ib_qp_close(qp);
		gda_ib_exit(qp->ib);
	}
	gda_ib_qp_put(qp);
}

/* Called by removal, when no call is under way. */
void gda_ib_qps_free(struct gda_ib *ib)
{
	struct gda_ib_qp *qp, *next;

	list_for_each_entry_safe(qp, next, &ib->qps, node) {
		gda_ib_connection_end(qp);
		gda_ib_qp_close(qp);
	}
}
