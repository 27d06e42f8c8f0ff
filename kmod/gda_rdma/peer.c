// SPDX-License-Identifier: GPL-2.0
/*
 * Peers of QPs: which QP responds to which.
 *
 * A verbs QP names its peer by number, and each side does so on its own. A QP gets its peer once it
 * is in RTS, and the peer is in RTR or RTS and names the QP. Until then an RC QP's requests wait,
 * or fail once gda_rdma_give_up() has run. Requests of an unreliable connection do not wait:
 * without a peer they are lost, and the peer may come later. Each change of state tries both
 * directions: to link the QP to the peer that it names, and to link that peer to the QP. With
 * peers=user (main.c) the QPs of other users do not exist for a QP.
 *
 * All under rdma->peers_lock. gda_core removes a QP from its table before qp_disconnect(), so
 * a QP that is found here is not freed before the lock is dropped.
 */
#include "gda_rdma.h"

static struct gda_rdma *gda_rdma_of_exec(const struct gda_executor_qp *exec)
{
	return container_of(exec->ctx->dev, struct gda_rdma, dev);
}

static struct gda_rdma_end *gda_rdma_find(struct gda_rdma *rdma, u32 number)
{
	struct gda_executor_qp *exec = gda_executor_qp_find(&rdma->dev, number);

	return exec ? exec->priv : NULL;
}

/* With peers=user only QPs of the same user exist for a QP. */
bool gda_rdma_exists_for(const struct gda_rdma_end *end, const struct gda_rdma_end *other)
{
	return READ_ONCE(gda_rdma_peers_any) || uid_eq(end->user, other->user);
}

static bool gda_rdma_responds(const struct gda_rdma_end *end, const struct gda_rdma_end *to)
{
	return gda_rdma_exists_for(end, to) && end->type == to->type &&
	       (end->state == IB_QPS_RTR || end->state == IB_QPS_RTS) &&
	       end->dest == to->exec->number;
}

/* Give the QP its peer, if the peer exists and names the QP. */
static void gda_rdma_link(struct gda_rdma *rdma, struct gda_rdma_end *end)
{
	struct gda_rdma_end *peer;

	if (end->state != IB_QPS_RTS || end->peer)
		return;
	peer = gda_rdma_find(rdma, end->dest);
	if (!peer || !gda_rdma_responds(peer, end))
		return;
	end->peer = peer;
	peer->asker = end;
	gda_executor_qp_respond(end->exec, peer->exec);
	gda_executor_qp_ready(end->exec);
}

static void gda_rdma_unlink(struct gda_rdma_end *end)
{
	if (!end->peer)
		return;
	end->peer->asker = NULL;
	end->peer = NULL;
	gda_executor_qp_respond(end->exec, NULL);
}

/* Stop the QP from responding. Do not look for another peer: the asker may be going away, too. */
static void gda_rdma_dismiss(struct gda_rdma_end *end)
{
	if (end->asker)
		gda_rdma_unlink(end->asker);
}

/* Initialize the end of a new QP. Its state is RESET, so no QP links with it. */
void gda_rdma_end_init(struct gda_executor_qp *exec, enum ib_qp_type type, kuid_t user)
{
	struct gda_rdma_end *end = exec->priv;

	end->exec = exec;
	end->type = type;
	end->user = user;
}

void gda_rdma_end_set(struct gda_executor_qp *exec, enum ib_qp_state state, u32 dest)
{
	struct gda_rdma *rdma = gda_rdma_of_exec(exec);
	struct gda_rdma_end *end = exec->priv, *other;

	spin_lock(&rdma->peers_lock);
	if (state != IB_QPS_RTR && state != IB_QPS_RTS) {
		gda_rdma_dismiss(end);
		/* a failed QP keeps its peer, which may have begun to receive from it */
		if (state != IB_QPS_ERR)
			gda_rdma_unlink(end);
		WRITE_ONCE(end->state, state);
	} else {
		/* pairs with the acquire in gda_rdma_datagram() */
		smp_store_release(&end->state, state);
		end->dest = dest;
		gda_rdma_link(rdma, end);
		other = gda_rdma_find(rdma, dest);
		if (other)
			gda_rdma_link(rdma, other);
		if (state == IB_QPS_RTS && end->type != IB_QPT_RC)
			gda_executor_qp_ready(exec);
		else if (state == IB_QPS_RTS && !end->peer)
			gda_executor_qp_wait(exec);
	}
	spin_unlock(&rdma->peers_lock);
}

/* gda_executor_ops.qp_peer */
u32 gda_rdma_peer(const struct gda_executor_qp *exec)
{
	const struct gda_rdma_end *end = exec->priv;

	return READ_ONCE(end->state) >= IB_QPS_RTR ? READ_ONCE(end->dest) : 0;
}

/* gda_executor_ops.qp_disconnect */
void gda_rdma_disconnect(struct gda_executor_qp *exec)
{
	struct gda_rdma *rdma = gda_rdma_of_exec(exec);
	struct gda_rdma_end *end = exec->priv;

	spin_lock(&rdma->peers_lock);
	WRITE_ONCE(end->state, IB_QPS_RESET);
	gda_rdma_dismiss(end);
	gda_rdma_unlink(end);
	spin_unlock(&rdma->peers_lock);
}
