// SPDX-License-Identifier: GPL-2.0
/*
 * Connecting and disconnecting QPs of the software device: lookup and locking.
 * engine/control/connect.c has the rules.
 *
 * All endpoints are under soft->peer_lock; the executor reads a peer's queue under SRCU. A QP
 * is erased from dev->qps before it is disconnected. So a peer that still found it has linked
 * itself before, and is unlinked.
 */
#include <linux/random.h>

#include "soft.h"
#include "../../trace.h"

#define GDA_ADDRESS_MAGIC	0x31414447	/* "GDA1" */

static struct gda_endpoint *gda_soft_end(const struct gda_executor_qp *exec)
{
	struct gda_soft_qp *qp = exec->priv;

	return &qp->end;
}

int gda_soft_qp_create(struct gda_executor_qp *exec)
{
	struct gda_endpoint *end = gda_soft_end(exec);

	end->queue = &gda_qp_of(exec)->engine_qp;
	end->nonce = get_random_u64();
	return 0;
}

void gda_soft_address(struct gda_executor_qp *exec, u8 *address)
{
	gda_endpoint_address(gda_soft_end(exec), GDA_ADDRESS_MAGIC, address);
}

int gda_soft_connect(struct gda_executor_qp *exec, const u8 *address)
{
	struct gda_soft *soft = gda_soft_of(exec->ctx->dev);
	struct gda_qp *qp = gda_qp_of(exec), *peer;
	struct gda_endpoint *end = gda_soft_end(exec);
	struct gda_endpoint_name name;
	bool connected;
	int ret;

	ret = gda_endpoint_parse(address, GDA_ADDRESS_MAGIC, &name);
	if (ret)
		return ret;
	spin_lock(&soft->peer_lock);
	peer = xa_load(&soft->dev.qps, name.qpn);
	ret = gda_endpoint_connect(end, peer ? gda_soft_end(&peer->exec) : NULL, &name);
	connected = !ret && end->peer;
	/* only the lock keeps the peer alive */
	if (connected && peer != qp)
		gda_notify_connected(peer, exec->number);
	spin_unlock(&soft->peer_lock);
	if (connected)
		gda_notify_connected(qp, name.qpn);
	trace_gda_qp_connect(exec->number, name.qpn, ret);
	return ret;
}

struct gda_executor_qp *gda_soft_find(struct gda_device *dev, const u8 *address)
{
	struct gda_endpoint_name name;
	struct gda_qp *qp;
	int ret;

	ret = gda_endpoint_parse(address, GDA_ADDRESS_MAGIC, &name);
	if (ret)
		return ERR_PTR(ret);
	qp = xa_load(&dev->qps, name.qpn);
	return qp && gda_soft_end(&qp->exec)->nonce == name.nonce ? &qp->exec : NULL;
}

u32 gda_soft_peer(const struct gda_executor_qp *exec)
{
	return gda_endpoint_number(gda_soft_end(exec));
}

void gda_soft_disconnect(struct gda_executor_qp *exec)
{
	struct gda_soft *soft = gda_soft_of(exec->ctx->dev);

	spin_lock(&soft->peer_lock);
	gda_endpoint_disconnect(gda_soft_end(exec));
	spin_unlock(&soft->peer_lock);
}
