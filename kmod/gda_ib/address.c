// SPDX-License-Identifier: GPL-2.0
/*
 * Addresses: what a QP says of its own (gda/cm.h), and the way to that of its peer. All QPs of
 * a net namespace ask from one port, which they share (listen.c).
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <net/ipv6.h>

#include "gda_ib.h"

void gda_ib_qp_address(struct gda_executor_qp *exec, u8 *address)
{
	const struct gda_ib_qp *qp = exec->priv;

	memcpy(address, &qp->self, sizeof(qp->self));
}

static void gda_ib_sockaddr(struct sockaddr_storage *sa, const u8 *ip, __be16 port)
{
	const struct in6_addr *in6 = (const struct in6_addr *)ip;

	memset(sa, 0, sizeof(*sa));
	if (ipv6_addr_v4mapped(in6)) {
		struct sockaddr_in *sin = (void *)sa;

		sin->sin_family = AF_INET;
		sin->sin_port = port;
		sin->sin_addr.s_addr = in6->s6_addr32[3];
	} else {
		struct sockaddr_in6 *sin6 = (void *)sa;

		sin6->sin6_family = AF_INET6;
		sin6->sin6_port = port;
		sin6->sin6_addr = *in6;
	}
}

/*
 * Look for the way to the peer, from the port that all QPs of the namespace share. On failure the
 * caller destroys @id, whose handler may have been called.
 */
int gda_ib_resolve(const struct gda_ib_qp *qp, struct rdma_cm_id *id)
{
	struct sockaddr_storage from, to;
	int ret;

	gda_ib_sockaddr(&from, qp->self.ip, qp->listener->source_port);
	gda_ib_sockaddr(&to, qp->peer.ip, qp->peer.port);
	ret = rdma_set_reuseaddr(id, 1);
	if (!ret)
		ret = rdma_bind_addr(id, (struct sockaddr *)&from);
	/* the address may be another device's by now, whose removal would wait for this id */
	if (!ret && id->device != qp->ib->ibdev)
		ret = -EHOSTUNREACH;
	return ret ?: rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, GDA_IB_RESOLVE_MS);
}
