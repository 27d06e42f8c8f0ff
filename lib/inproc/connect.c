// SPDX-License-Identifier: MIT
/*
 * Connecting and disconnecting QPs of the in-process device: finds them and takes the
 * locks. kmod/gda_core/control/connect.c says what becomes of them.
 *
 * All endpoints are under dev->peer_lock; workers read a peer's queue without it.
 */
#include <errno.h>
#include "inproc.h"

#define GDA_INPROC_MAGIC	0x49414447	/* "GDAI": no address of the kernel's */

void gda_host_kick(struct gda_engine_qp *q)
{
	struct gda_inproc_qp *qp = gda_inproc_of(q, struct gda_inproc_qp, engine_qp);

	gda_inproc_kick(qp->obj.ctx, qp->slot);
}

void gda_inproc_qp_encode_address(const struct gda_inproc_qp *qp, u8 *address)
{
	gda_endpoint_address(&qp->end, GDA_INPROC_MAGIC, address);
}

int gda_inproc_qp_connect(struct gda_inproc_context *ctx, const struct gda_qp_connect *cmd)
{
	struct gda_inproc_qp *qp, *peer = NULL;
	struct gda_endpoint_name name;
	int err;

	if (cmd->flags || cmd->reserved)
		return -EOPNOTSUPP;
	qp = gda_inproc_qp_find(ctx, cmd->handle);
	if (!qp)
		return -ENOENT;
	err = gda_endpoint_parse(cmd->address, GDA_INPROC_MAGIC, &name);
	if (err)
		return err;
	pthread_mutex_lock(&gda_inproc.peer_lock);
	if (!(name.qpn >> 24))
		peer = gda_inproc_table_find(&gda_inproc.qps, name.qpn);
	err = gda_endpoint_connect(&qp->end, peer ? &peer->end : NULL, &name);
	pthread_mutex_unlock(&gda_inproc.peer_lock);
	return err;
}

/* Part of killing a QP: nobody finds it any more, and nobody waits for it in vain. */
void gda_inproc_qp_disconnect(struct gda_inproc_qp *qp)
{
	pthread_mutex_lock(&gda_inproc.lock);
	pthread_mutex_lock(&gda_inproc.peer_lock);
	qp->dead_leaf = gda_inproc_table_erase(&gda_inproc.qps, qp->engine_qp.qpn);
	gda_endpoint_disconnect(&qp->end);
	pthread_mutex_unlock(&gda_inproc.peer_lock);
	pthread_mutex_unlock(&gda_inproc.lock);
}
