// SPDX-License-Identifier: GPL-2.0
/*
 * The receiver of a datagram. Each datagram names its receiver by number and queue key. The
 * receiver is looked up for each one, under the same policy as a connection (peer.c). libmlx5
 * keeps address handles to itself: the kernel sees their content in each work request.
 *
 * All functions are called in visits, under no lock. A QP that is found here is not freed before
 * the visit ends. A QP that leaves RTR and RTS is reset only after the visits that found it.
 */
#include "gda_rdma.h"

static bool gda_rdma_is_here(const struct gda_port *port, const struct gda_datagram *to)
{
	return to->lid == port->lid && (!to->flow || !memcmp(to->gid, port->gid, sizeof(to->gid)));
}

/* Return: whether the QP takes datagrams of @from. */
static bool gda_rdma_takes(const struct gda_rdma_end *end, const struct gda_rdma_end *from)
{
	/* pairs with the release in gda_rdma_end_set(): type and user were set before the state */
	enum ib_qp_state state = smp_load_acquire(&end->state);

	return (state == IB_QPS_RTR || state == IB_QPS_RTS) && end->type == IB_QPT_UD &&
	       gda_rdma_exists_for(end, from);
}

/* gda_executor_ops.qp_datagram */
struct gda_executor_qp *gda_rdma_datagram(const struct gda_executor_qp *exec,
					  const struct gda_datagram *to)
{
	const struct gda_rdma *rdma = container_of(exec->ctx->dev, struct gda_rdma, dev);
	const struct gda_rdma_end *from = exec->priv, *end;
	struct gda_executor_qp *other;
	u32 key = to->key;

	if (!gda_rdma_is_here(&rdma->port, to))
		return NULL;
	other = gda_executor_qp_find(exec->ctx->dev, to->number);
	if (!other)
		return NULL;
	end = other->priv;
	if (!gda_rdma_takes(end, from))
		return NULL;
	if (key & GDA_DATAGRAM_OWN_KEY)
		key = READ_ONCE(from->qkey);
	return READ_ONCE(end->qkey) == key ? other : NULL;
}

void gda_rdma_port_init(struct gda_port *port, __be64 guid)
{
	const union ib_gid gid = {
		.global = {
			.subnet_prefix = cpu_to_be64(GDA_RDMA_SUBNET),
			.interface_id = guid,
		},
	};

	static_assert(sizeof(gid) == sizeof(port->gid));
	memcpy(port->gid, &gid, sizeof(gid));
	port->lid = GDA_RDMA_LID;
}
