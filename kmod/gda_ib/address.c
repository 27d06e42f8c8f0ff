// SPDX-License-Identifier: GPL-2.0
/*
 * Addresses: the address that a QP has (gda/cm.h), and the route to its peer. All QPs of a net
 * namespace send their requests from one port, which they share (listen.c).
 */
#include "gda_ib.h"

void gda_ib_qp_address(struct gda_executor_qp *exec, u8 *address)
{
	const struct gda_ib_qp *qp = exec->priv;

	memcpy(address, &qp->fabric.self, sizeof(qp->fabric.self));
}

/*
 * Look for the route to the peer, from the port that all QPs of the namespace share. On failure the
 * caller destroys @id, whose handler may have been called.
 */
int gda_ib_resolve(const struct gda_ib_qp *qp, struct rdma_cm_id *id)
{
	struct sockaddr_storage from, to;
	int ret;

	gda_fabric_sockaddr(&from, qp->fabric.self.ip, qp->listener->source_port);
	gda_fabric_sockaddr(&to, qp->fabric.peer.ip, qp->fabric.peer.port);
	ret = rdma_set_reuseaddr(id, 1);
	if (!ret)
		ret = rdma_bind_addr(id, (struct sockaddr *)&from);
	/* by now the address may belong to another device, whose removal would wait for this id */
	if (!ret && id->device != qp->ib->ibdev)
		ret = -EHOSTUNREACH;
	return ret ?: rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, GDA_FABRIC_RESOLVE_MS);
}
