// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pairs: RC, UC and UD. gda_core's engine executes their send queues.
 *
 * The state of a QP is the one that modify set last, or ERR once the engine has failed the QP. A
 * transition to RESET unlinks the QP from its peers and resets its queue between two visits.
 */
#include <linux/log2.h>
#include <rdma/mlx5-abi.h>

#include "gda_rdma.h"

/* Flags of libmlx5 that need no support: this device does the same with and without them. */
#define GDA_RDMA_QP_FLAGS	(MLX5_QP_FLAG_SCATTER_CQE | MLX5_QP_FLAG_UAR_PAGE_INDEX)

#define GDA_RDMA_RQ_SHIFT_MAX	9U

/* Limits of InfiniBand's bit fields. */
#define GDA_RDMA_TIMEOUT_MAX	31U
#define GDA_RDMA_RETRY_MAX	7U
#define GDA_RDMA_QPN_MAX	0xffffffU

/* Store the attributes that modify sets and query returns. */
static void gda_rdma_qp_keep(struct gda_rdma_qp *qp, const struct ib_qp_attr *attr, int mask)
{
	struct ib_qp_attr *to = &qp->attr;

	if (mask & IB_QP_ACCESS_FLAGS) {
		to->qp_access_flags = attr->qp_access_flags;
		gda_executor_qp_grant(qp->exec, gda_rdma_access(attr->qp_access_flags));
	}
	if (mask & IB_QP_QKEY) {
		to->qkey = attr->qkey;
		WRITE_ONCE(((struct gda_rdma_end *)qp->exec->priv)->qkey, attr->qkey);
	}
	if (mask & IB_QP_PKEY_INDEX)
		to->pkey_index = attr->pkey_index;
	if (mask & IB_QP_PORT)
		to->port_num = attr->port_num;
	if (mask & IB_QP_AV) {
		to->ah_attr = attr->ah_attr;
		/* the caller's reference to the GID ends with the call */
		to->ah_attr.grh.sgid_attr = NULL;
	}
	if (mask & IB_QP_PATH_MTU)
		to->path_mtu = attr->path_mtu;
	if (mask & IB_QP_TIMEOUT)
		to->timeout = attr->timeout;
	if (mask & IB_QP_RETRY_CNT)
		to->retry_cnt = attr->retry_cnt;
	if (mask & IB_QP_RNR_RETRY)
		to->rnr_retry = attr->rnr_retry;
	if (mask & IB_QP_RQ_PSN)
		to->rq_psn = attr->rq_psn;
	if (mask & IB_QP_SQ_PSN)
		to->sq_psn = attr->sq_psn;
	if (mask & IB_QP_MAX_QP_RD_ATOMIC)
		to->max_rd_atomic = attr->max_rd_atomic;
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC)
		to->max_dest_rd_atomic = attr->max_dest_rd_atomic;
	if (mask & IB_QP_MIN_RNR_TIMER)
		to->min_rnr_timer = attr->min_rnr_timer;
	if (mask & IB_QP_DEST_QPN)
		to->dest_qp_num = attr->dest_qp_num;
}

/*
 * How long to wait for a peer's answer: as in InfiniBand, the first try and retry_cnt more, each
 * of 4.096 us times 2^timeout. 0: forever.
 */
static unsigned long gda_rdma_patience(const struct ib_qp_attr *attr)
{
	if (!attr->timeout)
		return 0;
	return nsecs_to_jiffies((4096ULL << attr->timeout) * (attr->retry_cnt + 1)) + 1;
}

/* As in InfiniBand, a count of 7 stands for no limit. */
static u32 gda_rdma_rnr_retry(const struct ib_qp_attr *attr)
{
	return attr->rnr_retry == GDA_RDMA_RETRY_MAX ? U32_MAX : attr->rnr_retry;
}

/* The peer has not come: make the queue ready without one, so that posted requests fail. */
static void gda_rdma_give_up(struct work_struct *work)
{
	struct gda_rdma_qp *qp = container_of(to_delayed_work(work), struct gda_rdma_qp, give_up);

	gda_executor_qp_ready(qp->exec);
}

static enum ib_qp_state gda_rdma_qp_state(const struct gda_rdma_qp *qp)
{
	/* some kernels allow a query of a QP that is being destroyed */
	if (!qp->exec || gda_executor_qp_failed(qp->exec))
		return IB_QPS_ERR;
	return qp->attr.qp_state;
}

/* Return: enum gda_service, or -1 if this device has no such QPs. */
static int gda_rdma_service(enum ib_qp_type type)
{
	switch (type) {
	case IB_QPT_RC:
		return GDA_SERVICE_RC;
	case IB_QPT_UC:
		return GDA_SERVICE_UC;
	case IB_QPT_UD:
		return GDA_SERVICE_UD;
	default:
		return -1;
	}
}

static int gda_rdma_qp_request(const struct ib_qp_init_attr *init, struct ib_udata *udata,
			       const struct gda_rdma_ctx *ctx, struct mlx5_ib_create_qp *req)
{
	int ret;

	if (gda_rdma_service(init->qp_type) < 0 || init->create_flags)
		return -EOPNOTSUPP;
	ret = gda_rdma_ask(udata, req, sizeof(*req),
			   offsetofend(struct mlx5_ib_create_qp, bfreg_index));
	if (ret)
		return ret;
	if (req->flags & ~GDA_RDMA_QP_FLAGS)
		return -EOPNOTSUPP;
	if (req->flags & MLX5_QP_FLAG_UAR_PAGE_INDEX && req->bfreg_index != ctx->uar)
		return -EINVAL;
	/* gda_core checks the rest */
	if (req->rq_wqe_count > GDA_RDMA_RECVS || req->rq_wqe_shift > GDA_RDMA_RQ_SHIFT_MAX)
		return -EINVAL;
	return 0;
}

static u64 gda_rdma_rq_bytes(const struct ib_qp_init_attr *init,
			     const struct mlx5_ib_create_qp *req)
{
	return init->srq ? 0 : (u64)req->rq_wqe_count << req->rq_wqe_shift;
}

/* Answer a creation. The RDMA subsystem knows the QP only by the number that is set here. */
static int gda_rdma_qp_answer(struct gda_rdma_qp *qp, struct ib_udata *udata)
{
	struct mlx5_ib_create_qp_resp resp = { };

	qp->ib.qp_num = qp->exec->number;
	return gda_rdma_answer(udata, &resp, sizeof(resp));
}

/* Create the QP. @qp is zeroed; on failure the caller may free it without cleanup. */
int gda_rdma_qp_make(struct gda_rdma_qp *qp, struct gda_rdma_ctx *ctx,
		     const struct gda_client_qp_attr *attr)
{
	int ret;

	qp->ctx = ctx->ctx;
	mutex_init(&qp->lock);
	INIT_DELAYED_WORK(&qp->give_up, gda_rdma_give_up);
	ret = gda_client_qp_create(qp->ctx, attr, &qp->exec);
	if (ret < 0)
		return ret;
	qp->handle = ret;
	gda_rdma_end_init(qp->exec, qp->ib.qp_type, ctx->user);
	return 0;
}

int gda_rdma_create_qp(struct ib_qp *ib, struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	struct gda_rdma_qp *qp = gda_rdma_qp_of(ib);
	struct mlx5_ib_create_qp req = { };
	struct gda_client_qp_attr attr;
	struct gda_rdma_ctx *ctx;
	int ret;

	if (!udata)
		return -EOPNOTSUPP;
	ctx = rdma_udata_to_drv_context(udata, struct gda_rdma_ctx, ib);
	ret = gda_rdma_qp_request(init, udata, ctx, &req);
	if (ret)
		return ret;
	attr = (struct gda_client_qp_attr) {
		.dialect = GDA_DIALECT_MLX5,
		.service = gda_rdma_service(init->qp_type),
		.pd = ib->pd,
		.cq = gda_rdma_cq_of(init->send_cq)->handle,
		.recv_cq = gda_rdma_cq_of(init->recv_cq)->handle,
		.sq_depth = req.sq_wqe_count,
		.rq_depth = init->srq ? 0 : req.rq_wqe_count,
		.rq_shift = req.rq_wqe_shift,
		.srq = init->srq ? gda_rdma_srq_of(init->srq)->handle : 0,
		.rq = req.buf_addr,
		/* the receive queue precedes the send queue */
		.sq = req.buf_addr + gda_rdma_rq_bytes(init, &req),
		.record = req.db_addr,
		.user_index = req.uidx,
		.port = &gda_rdma_of(ib->device)->port,
		.event = gda_rdma_qp_event,
		.priv = qp,
	};
	qp->cap = init->cap;
	/* all entries that the queue has room for */
	qp->cap.max_recv_wr = attr.rq_depth;
	qp->signal_all = init->sq_sig_type == IB_SIGNAL_ALL_WR;
	ret = gda_rdma_qp_make(qp, ctx, &attr);
	if (ret)
		return ret;
	ret = gda_rdma_qp_answer(qp, udata);
	if (ret)
		gda_client_destroy(qp->ctx, qp->handle);
	return ret;
}

/* Change the QP to @state, whose attributes are set. */
static void gda_rdma_qp_enter(struct gda_rdma_qp *qp, enum ib_qp_state state)
{
	const struct gda_status flush = { GDA_CLASS_FLUSH, GDA_CAUSE_NONE };
	unsigned long patience;

	cancel_delayed_work_sync(&qp->give_up);
	/* stop visits before the QP loses its peers, which a visit would miss */
	if (state == IB_QPS_ERR)
		gda_executor_qp_fail(qp->exec, flush);
	else if (state == IB_QPS_RESET)
		gda_client_qp_stop(qp->ctx, qp->handle);
	/* set this before the peer can reach the QP: IB_EVENT_COMM_EST is only reported in RTR */
	WRITE_ONCE(qp->attr.qp_state, state);
	gda_rdma_end_set(qp->exec, state, qp->attr.dest_qp_num);
	if (state == IB_QPS_RESET)
		gda_client_qp_reset(qp->ctx, qp->handle);
	patience = state == IB_QPS_RTS && qp->ib.qp_type == IB_QPT_RC ? gda_rdma_patience(&qp->attr) : 0;
	if (patience)
		schedule_delayed_work(&qp->give_up, patience);
}

/* Check numbers that uverbs passes on unchecked from the program. */
static bool gda_rdma_numbers_ok(const struct ib_qp_attr *attr, int mask)
{
	if (mask & IB_QP_PATH_MTU && ib_mtu_enum_to_int(attr->path_mtu) < 0)
		return false;
	if (mask & IB_QP_DEST_QPN && attr->dest_qp_num > GDA_RDMA_QPN_MAX)
		return false;
	return !(mask & IB_QP_MIN_RNR_TIMER && attr->min_rnr_timer > GDA_MAX_MIN_RNR_TIMER) &&
	       !(mask & IB_QP_TIMEOUT && attr->timeout > GDA_RDMA_TIMEOUT_MAX) &&
	       !(mask & IB_QP_RETRY_CNT && attr->retry_cnt > GDA_RDMA_RETRY_MAX) &&
	       !(mask & IB_QP_RNR_RETRY && attr->rnr_retry > GDA_RDMA_RETRY_MAX);
}

static int gda_rdma_modify_locked(struct gda_rdma_qp *qp, struct ib_qp_attr *attr, int mask)
{
	enum ib_qp_state state = gda_rdma_qp_state(qp);
	enum ib_qp_state next = mask & IB_QP_STATE ? attr->qp_state : state;

	if (mask & IB_QP_CUR_STATE && attr->cur_qp_state != state)
		return -EINVAL;
	if (!ib_modify_qp_is_ok(state, next, qp->ib.qp_type, mask))
		return -EINVAL;
	if (next == IB_QPS_SQD || next == IB_QPS_SQE)
		return -EOPNOTSUPP;
	if (mask & IB_QP_PORT && attr->port_num != GDA_RDMA_PORT)
		return -EINVAL;
	if (mask & IB_QP_PKEY_INDEX && attr->pkey_index)
		return -EINVAL;
	if (!gda_rdma_numbers_ok(attr, mask))
		return -EINVAL;
	gda_rdma_qp_keep(qp, attr, mask);
	if (mask & (IB_QP_MIN_RNR_TIMER | IB_QP_RNR_RETRY))
		gda_executor_qp_rnr(qp->exec, gda_rdma_rnr_retry(&qp->attr),
				    qp->attr.min_rnr_timer);
	if (mask & IB_QP_STATE && (next != state || next == IB_QPS_RESET))
		gda_rdma_qp_enter(qp, next);
	return 0;
}

int gda_rdma_modify_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
		       struct ib_udata *udata)
{
	struct gda_rdma_qp *qp = gda_rdma_qp_of(ib);
	int ret;

	if (mask & ~IB_QP_ATTR_STANDARD_BITS)
		return -EOPNOTSUPP;
	mutex_lock(&qp->lock);
	ret = gda_rdma_modify_locked(qp, attr, mask);
	mutex_unlock(&qp->lock);
	return ret;
}

int gda_rdma_query_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
		      struct ib_qp_init_attr *init)
{
	struct gda_rdma_qp *qp = gda_rdma_qp_of(ib);

	mutex_lock(&qp->lock);
	*attr = qp->attr;
	attr->qp_state = gda_rdma_qp_state(qp);
	mutex_unlock(&qp->lock);
	attr->cur_qp_state = attr->qp_state;
	attr->cap = qp->cap;
	*init = (struct ib_qp_init_attr) {
		.qp_context = ib->qp_context,
		.send_cq = ib->send_cq,
		.recv_cq = ib->recv_cq,
		.srq = ib->srq,
		.cap = qp->cap,
		.sq_sig_type = qp->signal_all ? IB_SIGNAL_ALL_WR : IB_SIGNAL_REQ_WR,
		.qp_type = ib->qp_type,
	};
	return 0;
}

int gda_rdma_destroy_qp(struct ib_qp *ib, struct ib_udata *udata)
{
	struct gda_rdma_qp *qp = gda_rdma_qp_of(ib);

	cancel_delayed_work_sync(&qp->give_up);
	mutex_lock(&qp->lock);
	qp->exec = NULL;
	mutex_unlock(&qp->lock);
	/* drop a receive that the QP has begun at its peer */
	gda_client_qp_stop(qp->ctx, qp->handle);
	gda_client_destroy(qp->ctx, qp->handle);
	return 0;
}
