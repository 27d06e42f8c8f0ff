// SPDX-License-Identifier: GPL-2.0
/*
 * RC QPs created by command, whose queues and record lie in umems. Such a QP has a struct
 * gda_rdma_qp (qp.c), but the RDMA subsystem does not know it. Each state transition becomes a
 * call of ibv_modify_qp()'s code.
 */
#include <linux/slab.h>
#include <linux/mlx5/qp.h>

#include "devx.h"

#define GDA_DEVX_RQ_STRIDE	4U	/* log2 of a receive queue's smallest entry */

/**
 * struct gda_devx_qp - a QP that a command created
 * @obj: the part that all objects have
 * @qp: the QP as verbs see it, with those members of ib_qp that qp.c reads
 * @pd: its protection domain, on which it has a reference
 * @lock: serializes commands; taken before qp.lock. Guards @qpc
 * @qpc: the parameters of the creation, updated with the path of each transition
 */
struct gda_devx_qp {
	struct gda_devx_obj obj;
	struct gda_rdma_qp qp;
	struct gda_rdma_pd *pd;
	struct mutex lock;		/* serializes commands, guards @qpc */
	u8 qpc[MLX5_ST_SZ_BYTES(qpc)];
};

/* A transition: the attributes that it sets, and those that opt_param_mask selects. */
struct gda_devx_step {
	u16 opcode;
	bool any;			/* allowed from any state */
	enum ib_qp_state from;
	enum ib_qp_state to;
	int mask;
	int optional;
};

static const struct gda_devx_step gda_devx_steps[] = {
	{ MLX5_CMD_OP_RST2INIT_QP, false, IB_QPS_RESET, IB_QPS_INIT,
	  IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS, 0 },
	{ MLX5_CMD_OP_INIT2INIT_QP, false, IB_QPS_INIT, IB_QPS_INIT,
	  0, IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_ACCESS_FLAGS },
	{ MLX5_CMD_OP_INIT2RTR_QP, false, IB_QPS_INIT, IB_QPS_RTR,
	  IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN |
	  IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER,
	  IB_QP_PKEY_INDEX | IB_QP_ACCESS_FLAGS },
	{ MLX5_CMD_OP_RTR2RTS_QP, false, IB_QPS_RTR, IB_QPS_RTS,
	  IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY | IB_QP_SQ_PSN |
	  IB_QP_MAX_QP_RD_ATOMIC, IB_QP_ACCESS_FLAGS | IB_QP_MIN_RNR_TIMER },
	{ MLX5_CMD_OP_RTS2RTS_QP, false, IB_QPS_RTS, IB_QPS_RTS,
	  0, IB_QP_ACCESS_FLAGS | IB_QP_MIN_RNR_TIMER },
	{ MLX5_CMD_OP_2ERR_QP, true, IB_QPS_RESET, IB_QPS_ERR, 0, 0 },
	{ MLX5_CMD_OP_2RST_QP, true, IB_QPS_RESET, IB_QPS_RESET, 0, 0 },
};

/* Attributes that opt_param_mask selects; bits of the path are accepted and have no effect. */
#define GDA_DEVX_OPT_ACCESS	(MLX5_QP_OPTPAR_RRE | MLX5_QP_OPTPAR_RAE | MLX5_QP_OPTPAR_RWE)
#define GDA_DEVX_OPT_PATH	(MLX5_QP_OPTPAR_PRIMARY_ADDR_PATH | BIT(17) | BIT(23))
#define GDA_DEVX_OPT		(GDA_DEVX_OPT_ACCESS | GDA_DEVX_OPT_PATH |		\
				 MLX5_QP_OPTPAR_PKEY_INDEX | MLX5_QP_OPTPAR_RNR_TIMEOUT | \
				 MLX5_QP_OPTPAR_PRI_PORT)

static int gda_devx_destroy_qp(struct gda_devx_obj *obj)
{
	struct gda_devx_qp *dq = container_of(obj, struct gda_devx_qp, obj);

	gda_rdma_destroy_qp(&dq->qp.ib, NULL);
	gda_rdma_pd_put(dq->pd);
	kfree(dq);
	return 0;
}

/* Read the receive queue, or the SRQ used in its place. */
static int gda_devx_read_rq(const struct gda_rdma_ctx *ctx, const void *qpc,
			    struct gda_client_qp_attr *attr)
{
	int srq;

	switch (MLX5_GET(qpc, qpc, rq_type)) {
	case MLX5_NON_ZERO_RQ:
		attr->rq_depth = 1U << MLX5_GET(qpc, qpc, log_rq_size);
		attr->rq_shift = MLX5_GET(qpc, qpc, log_rq_stride) + GDA_DEVX_RQ_STRIDE;
		return 0;
	case MLX5_SRQ_RQ:
		srq = gda_client_srq_find(ctx->ctx, MLX5_GET(qpc, qpc, srqn_rmpn_xrqn));
		if (srq < 0)
			return GDA_DEVX_REFUSE(BAD_RES_ERR, ATTR);
		attr->srq = srq;
		return 0;
	case MLX5_ZERO_LEN_RQ:
		return 0;
	default:
		return GDA_DEVX_REFUSE(BAD_PARAM_ERR, KIND);
	}
}

/* Read the CQs. A QP that only sends or only receives has one CQ for both. */
static int gda_devx_read_cqs(const struct gda_rdma_ctx *ctx, const void *qpc,
			     struct gda_client_qp_attr *attr)
{
	bool sends = attr->sq_depth, receives = attr->rq_depth || attr->srq;
	u32 cqn_snd = MLX5_GET(qpc, qpc, cqn_snd), cqn_rcv = MLX5_GET(qpc, qpc, cqn_rcv);
	int cq = gda_client_cq_find(ctx->ctx, sends ? cqn_snd : cqn_rcv);
	int recv_cq = gda_client_cq_find(ctx->ctx, receives ? cqn_rcv : cqn_snd);

	if (cq < 0 || (receives && recv_cq < 0))
		return GDA_DEVX_REFUSE(BAD_RES_ERR, CQ);
	attr->cq = cq;
	attr->recv_cq = receives ? recv_cq : cq;
	return 0;
}

/* Read the parameters of a new QP, and refuse those that this device does not support. */
static int gda_devx_read_qp(const struct gda_devx_cmd *cmd, struct gda_client_qp_attr *attr)
{
	const void *qpc = MLX5_ADDR_OF(create_qp_in, cmd->in, qpc);
	u32 umem = gda_devx_u32(cmd->in, GDA_DEVX_CREATE_QP_UMEM);
	u64 offset = gda_devx_u64(cmd->in, GDA_DEVX_CREATE_QP_OFFSET);
	int ret;

	if (MLX5_GET(qpc, qpc, st) != MLX5_QP_ST_RC || MLX5_GET(qpc, qpc, wq_signature))
		return GDA_DEVX_REFUSE(BAD_PARAM_ERR, KIND);
	if (MLX5_GET(qpc, qpc, uar_page) != cmd->ctx->uar)
		return GDA_DEVX_REFUSE(BAD_PARAM_ERR, UAR);
	*attr = (struct gda_client_qp_attr) {
		.dialect = GDA_DIALECT_MLX5,
		.service = GDA_SERVICE_RC,
		.sq_depth = MLX5_GET(qpc, qpc, no_sq) ? 0 : 1U << MLX5_GET(qpc, qpc, log_sq_size),
		.sq_umem = umem,
		.rq = offset,
		.rq_umem = umem,
		.record = MLX5_GET64(qpc, qpc, dbr_addr),
		.record_umem = gda_devx_u32(qpc, GDA_DEVX_QPC_RECORD_UMEM),
		.user_index = MLX5_GET(qpc, qpc, user_index),
	};
	ret = gda_devx_read_rq(cmd->ctx, qpc, attr);
	if (ret)
		return ret;
	/* the receive queue precedes the send queue */
	if (check_add_overflow(offset, (u64)attr->rq_depth << attr->rq_shift, &attr->sq))
		return GDA_DEVX_REFUSE(BAD_PARAM_ERR, SIZE);
	/* umem 0 would make the offset a user address */
	if (!attr->record_umem || (!umem && (attr->sq_depth || attr->rq_depth)))
		return GDA_DEVX_REFUSE(BAD_RES_ERR, UMEM);
	return gda_devx_read_cqs(cmd->ctx, qpc, attr);
}

/* On failure @dq is unchanged. */
static int gda_devx_make_qp(struct gda_devx_cmd *cmd, struct gda_devx_qp *dq,
			    struct gda_client_qp_attr *attr)
{
	const void *qpc = MLX5_ADDR_OF(create_qp_in, cmd->in, qpc);
	int ret;

	dq->pd = gda_rdma_pd_get(cmd->ctx, MLX5_GET(qpc, qpc, pd));
	if (!dq->pd)
		return GDA_DEVX_REFUSE(BAD_RES_ERR, PD);
	attr->pd = &dq->pd->ib;
	dq->qp.ib.device = cmd->ctx->ib.device;
	dq->qp.ib.qp_type = IB_QPT_RC;
	ret = gda_rdma_qp_make(&dq->qp, cmd->ctx, attr);
	if (ret)
		gda_rdma_pd_put(dq->pd);
	return ret;
}

int gda_devx_create_qp(struct gda_devx_cmd *cmd)
{
	struct gda_client_qp_attr attr;
	struct gda_devx_qp *dq;
	int ret;

	ret = gda_devx_read_qp(cmd, &attr);
	if (ret)
		return ret;
	dq = kzalloc(sizeof(*dq), GFP_KERNEL_ACCOUNT);
	if (!dq)
		return -ENOMEM;
	mutex_init(&dq->lock);
	memcpy(dq->qpc, MLX5_ADDR_OF(create_qp_in, cmd->in, qpc), sizeof(dq->qpc));
	ret = gda_devx_make_qp(cmd, dq, &attr);
	if (ret) {
		kfree(dq);
		return ret;
	}
	dq->obj.number = dq->qp.exec->number;
	dq->obj.destroy = gda_devx_destroy_qp;
	MLX5_SET(create_qp_out, cmd->out, qpn, dq->obj.number);
	cmd->obj = &dq->obj;
	return 0;
}

/* Return: the mask of attributes that opt_param_mask selects. */
static int gda_devx_chosen(u32 opt)
{
	return (opt & GDA_DEVX_OPT_ACCESS ? IB_QP_ACCESS_FLAGS : 0) |
	       (opt & MLX5_QP_OPTPAR_PKEY_INDEX ? IB_QP_PKEY_INDEX : 0) |
	       (opt & MLX5_QP_OPTPAR_RNR_TIMEOUT ? IB_QP_MIN_RNR_TIMER : 0) |
	       (opt & MLX5_QP_OPTPAR_PRI_PORT ? IB_QP_PORT : 0);
}

/* Return: the command's access rights where a bit of @opt selects them, otherwise those of @old. */
static int gda_devx_access(const void *qpc, u32 opt, int old)
{
	int now = (MLX5_GET(qpc, qpc, rre) ? IB_ACCESS_REMOTE_READ : 0) |
		  (MLX5_GET(qpc, qpc, rwe) ? IB_ACCESS_REMOTE_WRITE : 0) |
		  (MLX5_GET(qpc, qpc, rae) ? IB_ACCESS_REMOTE_ATOMIC : 0);
	int chosen = (opt & MLX5_QP_OPTPAR_RRE ? IB_ACCESS_REMOTE_READ : 0) |
		     (opt & MLX5_QP_OPTPAR_RWE ? IB_ACCESS_REMOTE_WRITE : 0) |
		     (opt & MLX5_QP_OPTPAR_RAE ? IB_ACCESS_REMOTE_ATOMIC : 0);

	return (now & chosen) | (old & ~chosen);
}

/* Read all attributes from @qpc; the caller's mask says which of them are valid. */
static void gda_devx_read_attr(const void *qpc, struct ib_qp_attr *attr)
{
	const void *path = MLX5_ADDR_OF(qpc, qpc, primary_address_path);

	attr->pkey_index = MLX5_GET(ads, path, pkey_index);
	attr->port_num = MLX5_GET(ads, path, vhca_port_num);
	attr->path_mtu = MLX5_GET(qpc, qpc, mtu);
	attr->dest_qp_num = MLX5_GET(qpc, qpc, remote_qpn);
	attr->rq_psn = MLX5_GET(qpc, qpc, next_rcv_psn);
	attr->sq_psn = MLX5_GET(qpc, qpc, next_send_psn);
	attr->max_dest_rd_atomic = 1U << MLX5_GET(qpc, qpc, log_rra_max);
	attr->max_rd_atomic = 1U << MLX5_GET(qpc, qpc, log_sra_max);
	attr->min_rnr_timer = MLX5_GET(qpc, qpc, min_rnr_nak);
	attr->timeout = MLX5_GET(ads, path, ack_timeout);
	attr->retry_cnt = MLX5_GET(qpc, qpc, retry_count);
	attr->rnr_retry = MLX5_GET(qpc, qpc, rnr_retry);
	rdma_ah_set_port_num(&attr->ah_attr, GDA_RDMA_PORT);
}

static const struct gda_devx_step *gda_devx_find_step(u32 opcode)
{
	const struct gda_devx_step *step = gda_devx_steps;

	/* the command table has no other opcodes, so this terminates */
	while (step->opcode != opcode)
		step++;
	return step;
}

/* Called under dq->lock: do the transition of a command. @old are the attributes so far. */
static int gda_devx_take_step(struct gda_devx_qp *dq, const void *in,
			      const struct gda_devx_step *step, const struct ib_qp_attr *old)
{
	const void *qpc = MLX5_ADDR_OF(rst2init_qp_in, in, qpc);
	struct ib_qp_attr attr = { .qp_state = step->to };
	u32 opt;

	if (step->any)
		return gda_rdma_modify_qp(&dq->qp.ib, &attr, IB_QP_STATE, NULL);
	if (old->qp_state != step->from)
		return GDA_DEVX_REFUSE(BAD_QP_STATE_ERR, STATE);
	opt = MLX5_GET(rst2init_qp_in, in, opt_param_mask);
	if (opt & ~GDA_DEVX_OPT)
		return GDA_DEVX_REFUSE(BAD_PARAM_ERR, OPTION);
	if (step->mask & IB_QP_ACCESS_FLAGS)
		opt |= GDA_DEVX_OPT_ACCESS;
	if (step->mask & IB_QP_PATH_MTU &&
	    (MLX5_GET(qpc, qpc, mtu) < IB_MTU_256 || MLX5_GET(qpc, qpc, mtu) > IB_MTU_4096))
		return GDA_DEVX_REFUSE(BAD_PARAM_ERR, SIZE);
	gda_devx_read_attr(qpc, &attr);
	attr.qp_access_flags = gda_devx_access(qpc, opt, old->qp_access_flags);
	return gda_rdma_modify_qp(&dq->qp.ib, &attr, IB_QP_STATE | step->mask |
				  (gda_devx_chosen(opt) & step->optional), NULL);
}

int gda_devx_modify_qp(struct gda_devx_cmd *cmd)
{
	const struct gda_devx_step *step =
		gda_devx_find_step(MLX5_GET(rst2init_qp_in, cmd->in, opcode));
	struct gda_devx_qp *dq = container_of(cmd->obj, struct gda_devx_qp, obj);
	struct ib_qp_init_attr init;
	struct ib_qp_attr old;
	int ret;

	mutex_lock(&dq->lock);
	gda_rdma_query_qp(&dq->qp.ib, &old, 0, &init);
	ret = gda_devx_take_step(dq, cmd->in, step, &old);
	if (!ret && step->mask & IB_QP_AV)
		memcpy(MLX5_ADDR_OF(qpc, dq->qpc, primary_address_path),
		       MLX5_ADDR_OF(rst2init_qp_in, cmd->in, qpc.primary_address_path),
		       MLX5_ST_SZ_BYTES(ads));
	mutex_unlock(&dq->lock);
	return ret;
}

int gda_devx_query_qp(struct gda_devx_cmd *cmd)
{
	void *qpc = MLX5_ADDR_OF(query_qp_out, cmd->out, qpc);
	void *path = MLX5_ADDR_OF(qpc, qpc, primary_address_path);
	struct gda_devx_qp *dq = container_of(cmd->obj, struct gda_devx_qp, obj);
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;

	mutex_lock(&dq->lock);
	gda_rdma_query_qp(&dq->qp.ib, &attr, 0, &init);
	memcpy(qpc, dq->qpc, sizeof(dq->qpc));
	mutex_unlock(&dq->lock);
	/* verbs and qpc use the same numbers for states */
	MLX5_SET(qpc, qpc, state, attr.qp_state);
	MLX5_SET(qpc, qpc, pm_state, MLX5_QP_PM_MIGRATED);
	MLX5_SET(qpc, qpc, mtu, attr.path_mtu);
	MLX5_SET(qpc, qpc, remote_qpn, attr.dest_qp_num);
	MLX5_SET(qpc, qpc, next_rcv_psn, attr.rq_psn);
	MLX5_SET(qpc, qpc, next_send_psn, attr.sq_psn);
	MLX5_SET(qpc, qpc, log_rra_max, ilog2(max_t(u8, attr.max_dest_rd_atomic, 1)));
	MLX5_SET(qpc, qpc, log_sra_max, ilog2(max_t(u8, attr.max_rd_atomic, 1)));
	MLX5_SET(qpc, qpc, min_rnr_nak, attr.min_rnr_timer);
	MLX5_SET(qpc, qpc, retry_count, attr.retry_cnt);
	MLX5_SET(qpc, qpc, rnr_retry, attr.rnr_retry);
	MLX5_SET(qpc, qpc, rre, !!(attr.qp_access_flags & IB_ACCESS_REMOTE_READ));
	MLX5_SET(qpc, qpc, rwe, !!(attr.qp_access_flags & IB_ACCESS_REMOTE_WRITE));
	MLX5_SET(qpc, qpc, rae, !!(attr.qp_access_flags & IB_ACCESS_REMOTE_ATOMIC));
	MLX5_SET(ads, path, ack_timeout, attr.timeout);
	MLX5_SET(ads, path, pkey_index, attr.pkey_index);
	MLX5_SET(ads, path, vhca_port_num, attr.port_num);
	return 0;
}
