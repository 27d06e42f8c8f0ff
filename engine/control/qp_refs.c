// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The CQs and counters of a QP: lookup, checks and use counts (qp_refs.h). */
#include "qp_refs.h"

/* Return: whether the caller named an optional part that does not exist. */
static bool gda_control_part_missing(const struct gda_control_part *part, u32 handle)
{
	return handle && !part->users;
}

int gda_control_find_parts(struct gda_control_parts *parts, const struct gda_qp_create *cmd,
			   const struct gda_dialect_ops *ops, void *ctx)
{
	const struct gda_engine_cq *recv_cq;

	memset(parts, 0, sizeof(*parts));
	gda_host_find_cq(ctx, cmd->cq, &parts->cq);
	gda_host_find_cq(ctx, cmd->recv_cq, &parts->recv_cq);
	gda_host_find_counter(ctx, cmd->sent_counter, &parts->sent);
	gda_host_find_counter(ctx, cmd->recv_counter, &parts->recv);
	if (!parts->cq.users || gda_control_part_missing(&parts->recv_cq, cmd->recv_cq) ||
	    gda_control_part_missing(&parts->sent, cmd->sent_counter) ||
	    gda_control_part_missing(&parts->recv, cmd->recv_counter))
		return -ENOENT;
	recv_cq = parts->recv_cq.cq;
	if (parts->cq.cq->dialect->id != ops->id)
		return -EINVAL;
	if (recv_cq && (recv_cq->dialect->id != ops->id || recv_cq->collapsed ||
			recv_cq->wide < ops->cqe_wide))
		return -EINVAL;
	return parts->cq.cq->collapsed && *parts->cq.users ? -EBUSY : 0;
}

static void gda_control_count(const struct gda_control_parts *parts, u32 n)
{
	*parts->cq.users += n;
	if (parts->recv_cq.users)
		*parts->recv_cq.users += n;
	if (parts->sent.users)
		*parts->sent.users += n;
	if (parts->recv.users)
		*parts->recv.users += n;
}

void gda_control_attach_parts(struct gda_engine_qp *q, const struct gda_control_parts *parts)
{
	q->cq = parts->cq.cq;
	q->recv_cq = parts->recv_cq.cq;
	q->sent = parts->sent.counter;
	q->recv = parts->recv.counter;
	gda_control_count(parts, 1);
}

void gda_control_detach_parts(const struct gda_control_parts *parts)
{
	gda_control_count(parts, -1U);
}
