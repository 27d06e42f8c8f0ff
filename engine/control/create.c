// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Checks of the parameters of QP and CQ creation (create.h). */
#include "create.h"

static bool gda_control_is_depth(u32 depth, u32 most)
{
	return depth && !(depth & (depth - 1)) && depth <= most;
}

static u64 gda_control_qp_features(const struct gda_qp_create *cmd)
{
	u64 features = 0;

	if (cmd->flags & GDA_QP_POLLED)
		features |= GDA_FEATURE_QP_POLLED;
	if (cmd->flags & (GDA_QP_SQ_DMABUF | GDA_QP_DBREC_DMABUF))
		features |= GDA_FEATURE_QUEUE_DMABUF;
	if (cmd->recv_cq)
		features |= GDA_FEATURE_IMM;
	if (cmd->sent_counter || cmd->recv_counter)
		features |= GDA_FEATURE_COUNTER;
	if (cmd->user_index)
		features |= GDA_FEATURE_USER_INDEX;
	if (cmd->recv_counter)
		features |= GDA_FEATURE_RECV_COUNTER;
	if (cmd->rnr_retry || cmd->min_rnr_timer)
		features |= GDA_FEATURE_RNR_RETRY;
	if (cmd->wait_ms)
		features |= GDA_FEATURE_WAIT;
	return features;
}

static u64 gda_control_cq_features(const struct gda_cq_create *cmd)
{
	u64 features = cmd->flags & GDA_CQ_COLLAPSED ? GDA_FEATURE_CQ_COLLAPSED :
		       GDA_FEATURE_CQ_RING;

	if (cmd->flags & (GDA_CQ_DMABUF | GDA_CQ_DBREC_DMABUF))
		features |= GDA_FEATURE_QUEUE_DMABUF;
	if (cmd->flags & GDA_CQ_IGNORE_OVERRUN)
		features |= GDA_FEATURE_IGNORE_OVERRUN;
	return features;
}

int gda_control_check_qp(const struct gda_qp_create *cmd, u64 features, u32 max_depth,
			 const struct gda_dialect_ops **ops)
{
	*ops = gda_dialect_find(cmd->dialect);
	if (!*ops || ((*ops)->feature | gda_control_qp_features(cmd)) & ~features)
		return -EOPNOTSUPP;
	if (cmd->user_index > (*ops)->max_user_index || cmd->rnr_retry > GDA_MAX_RNR_RETRY ||
	    cmd->min_rnr_timer > GDA_MAX_MIN_RNR_TIMER)
		return -EINVAL;
	*ops = gda_dialect_slots(*ops, cmd->sq_entry);
	if (!*ops || (!(*ops)->record && cmd->flags & GDA_QP_DBREC_DMABUF))
		return -EINVAL;
	if (!gda_control_is_depth(cmd->sq_depth, min(max_depth, (*ops)->max_depth)))
		return -EINVAL;
	return 0;
}

/* Return: whether CQ places may have this size; 0 stands for the dialect's default. */
static bool gda_control_is_stride(const struct gda_dialect_ops *ops, u32 stride)
{
	return !stride || stride == ops->cqe_bytes ||
	       (ops->cqe_wide && stride == 2 * ops->cqe_bytes);
}

int gda_control_check_cq(const struct gda_cq_create *cmd, u64 features, u32 max_depth,
			 const struct gda_dialect_ops **ops)
{
	*ops = gda_dialect_find_cq(cmd->dialect);
	if (!*ops || ((*ops)->feature | gda_control_cq_features(cmd)) & ~features)
		return -EOPNOTSUPP;
	if (!gda_control_is_depth(cmd->depth, max_depth) ||
	    !gda_control_is_stride(*ops, cmd->stride))
		return -EINVAL;
	if (!(*ops)->record && cmd->flags & (GDA_CQ_COLLAPSED | GDA_CQ_DBREC_DMABUF))
		return -EINVAL;
	if (cmd->flags & GDA_CQ_COLLAPSED &&
	    (cmd->depth != 1 || cmd->flags & GDA_CQ_DBREC_DMABUF))
		return -EINVAL;
	return 0;
}

void gda_control_init_qp(struct gda_engine_qp *q, const struct gda_qp_create *cmd,
			 const struct gda_dialect_ops *ops)
{
	q->dialect = ops;
	q->depth = cmd->sq_depth;
	q->user_index = cmd->user_index;
	q->rnr_retry = cmd->rnr_retry;
	q->min_rnr_timer = cmd->min_rnr_timer;
	q->wait_ms = cmd->wait_ms ? cmd->wait_ms : GDA_DEFAULT_WAIT_MS;
	q->state = ops->named ? GDA_QP_READY : GDA_QP_INIT;
}

void gda_control_init_cq(struct gda_engine_cq *cq, const struct gda_cq_create *cmd,
			 const struct gda_dialect_ops *ops)
{
	cq->dialect = ops;
	cq->depth = cmd->depth;
	cq->collapsed = cmd->flags & GDA_CQ_COLLAPSED;
	cq->wide = gda_control_cq_stride(cmd, ops) != ops->cqe_bytes;
}
