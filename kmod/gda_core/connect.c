// SPDX-License-Identifier: GPL-2.0
/*
 * Connecting and disconnecting QPs of a device: finds them and takes the locks.
 * control/connect.c says what becomes of them.
 *
 * All endpoints are under dev->peer_lock; the executor reads a peer's queue under SRCU.
 */
#include "gda_private.h"
#include "trace.h"

#define GDA_ADDRESS_MAGIC	0x31414447	/* "GDA1" */

void gda_host_kick(struct gda_engine_qp *q)
{
	gda_worker_kick(container_of(q, struct gda_qp, engine_qp)->obj.ctx);
}

void gda_qp_fail(struct gda_qp *qp, u8 syndrome, u8 vendor)
{
	gda_endpoint_fail(&qp->end, (u32)vendor << 8 | syndrome);
}

void gda_qp_encode_address(const struct gda_qp *qp, u8 *address)
{
	gda_endpoint_address(&qp->end, GDA_ADDRESS_MAGIC, address);
}

int gda_qp_connect(struct gda_ctx *ctx, struct gda_qp_connect *cmd)
{
	struct gda_device *dev = ctx->dev;
	struct gda_endpoint_name name;
	struct gda_object *obj;
	struct gda_qp *qp, *peer;
	int ret;

	if (cmd->reserved)
		return -EOPNOTSUPP;
	obj = gda_object_find(ctx, cmd->handle, GDA_OBJECT_QP);
	if (!obj)
		return -ENOENT;
	ret = gda_endpoint_parse(cmd->address, GDA_ADDRESS_MAGIC, &name);
	if (ret)
		return ret;
	qp = container_of(obj, struct gda_qp, obj);
	spin_lock(&dev->peer_lock);
	peer = xa_load(&dev->qps, name.qpn);
	ret = gda_endpoint_connect(&qp->end, peer ? &peer->end : NULL, &name);
	spin_unlock(&dev->peer_lock);
	/*
	 * Removal marks the context dead and then fails its QPs, also in the midst of this
	 * call: the reason is the device. Pairs with smp_mb() in gda_device_retire().
	 */
	smp_rmb();
	if (ret && READ_ONCE(ctx->dead))
		ret = -ENODEV;
	trace_gda_qp_connect(qp->engine_qp.qpn, name.qpn, ret);
	return ret;
}

/* Part of killing a QP: nobody finds it any more, and nobody waits for it in vain. */
void gda_qp_disconnect(struct gda_qp *qp)
{
	struct gda_device *dev = qp->obj.ctx->dev;

	spin_lock(&dev->peer_lock);
	if (qp->engine_qp.qpn)
		xa_erase(&dev->qps, qp->engine_qp.qpn);
	gda_endpoint_disconnect(&qp->end);
	spin_unlock(&dev->peer_lock);
}
