// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The CQs and counters of a QP: lookup, checks and use counts (qp_refs.h). */
#include "qp_refs.h"

/* Return: whether the caller named an optional part that does not exist. */
static bool gda_control_part_missing(const struct gda_control_part *part, u32 handle)
{
	return handle && !part->users;
}

/* Return: whether the counter would never count one of these operations (GDA_COUNT_*). */
static bool gda_control_counts_nothing(const struct gda_control_part *part, u32 ops)
{
	return part->counter && part->counter->ops && !(part->counter->ops & ops);
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
	if (gda_control_counts_nothing(&parts->sent, GDA_COUNT_READ | GDA_COUNT_WRITE) ||
	    gda_control_counts_nothing(&parts->recv, GDA_COUNT_REMOTE_WRITE))
		return -EINVAL;
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

/* A counter of which the cell is all is not looked at again: the queue adds to the cell. */
static void gda_control_attach_counters(struct gda_engine_qp *q, struct gda_engine_counter *sent,
					struct gda_engine_counter *recv)
{
	bool selects = sent && sent->ops;

	q->sent = sent && !selects ? sent->mem : NULL;
	q->sent_counter = selects || gda_counter_has_words(sent) ? sent : NULL;
	q->record = selects ? GDA_ENGINE_SELECTS : 0;
	q->recv = recv ? recv->mem : NULL;
	q->recv_counter = gda_counter_has_words(recv) ? recv : NULL;
}

void gda_control_attach_parts(struct gda_engine_qp *q, const struct gda_control_parts *parts)
{
	q->cq = parts->cq.cq;
	q->recv_cq = parts->recv_cq.cq;
	gda_control_attach_counters(q, parts->sent.counter, parts->recv.counter);
	gda_control_count(parts, 1);
}

void gda_control_detach_parts(const struct gda_control_parts *parts)
{
	gda_control_count(parts, -1U);
}
