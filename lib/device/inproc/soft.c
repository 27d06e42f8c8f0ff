// SPDX-License-Identifier: MIT
/*
 * The in-process device: its executor is the engine, and its QPs find each other by
 * pointer. engine/control/connect.c connects them, as in kmod/gda_core/executor/soft;
 * this file has the locking.
 *
 * All endpoints are under dev->peer_lock; workers read a peer's queue without it.
 *
 * Memory is neither pinned nor accounted: the program must keep it mapped. A queue whose
 * requests access registered memory that was unmapped fails (fault.c).
 */
#include <errno.h>
#include "inproc.h"

#define GDA_INPROC_MAGIC	0x49414447	/* "GDAI", differs from the kernel's addresses */

/* The soft part of a QP, gda_inproc_qp.priv. */
struct gda_soft_qp {
	struct gda_endpoint end;	/* under dev->peer_lock */
};

static u64 gda_soft_features(void)
{
	return gda_dialect_features(true) | GDA_FEATURE_CQ_COLLAPSED | GDA_FEATURE_CQ_RING |
	       GDA_FEATURE_MR_USER | GDA_FEATURE_QP_POLLED | GDA_FEATURE_CQ_EVENT |
	       GDA_FEATURE_COUNTER | GDA_FEATURE_IMM | GDA_FEATURE_MASKED |
	       GDA_FEATURE_USER_INDEX | GDA_FEATURE_IGNORE_OVERRUN | GDA_FEATURE_RNR_RETRY |
	       GDA_FEATURE_ATOMIC | GDA_FEATURE_ATOMIC_CPU | GDA_FEATURE_WORD_STORE |
	       GDA_FEATURE_LOOPBACK | GDA_FEATURE_RECV_COUNTER | GDA_FEATURE_RECORD |
	       GDA_FEATURE_WAIT | GDA_FEATURE_COUNTER_MEMORY;
}

static bool gda_soft_has(const char *device)
{
	return !strcmp(device, GDA_DEVICE_INPROC);
}

static int gda_soft_describe(u32 n, struct gda_device_info *info)
{
	if (n)
		return -ENOENT;
	info->features[0] = gda_soft_features();
	memcpy(info->device, GDA_DEVICE_INPROC, sizeof(GDA_DEVICE_INPROC));
	return 0;
}

static int gda_soft_bind(struct gda_inproc_context *ctx, const char *device)
{
	(void)device;
	ctx->features = gda_soft_features();
	return 0;
}

static void gda_soft_unbind(struct gda_inproc_context *ctx)
{
	(void)ctx;
}

static void gda_soft_query(const struct gda_inproc_context *ctx, struct gda_query *cmd)
{
	(void)ctx;
	memcpy(cmd->device, GDA_DEVICE_INPROC, sizeof(GDA_DEVICE_INPROC));
}

static struct gda_endpoint *gda_soft_end(const struct gda_inproc_qp *qp)
{
	struct gda_soft_qp *soft = qp->priv;

	return &soft->end;
}

static int gda_soft_qp_create(struct gda_inproc_qp *qp)
{
	struct gda_endpoint *end = gda_soft_end(qp);

	end->queue = &qp->engine_qp;
	end->nonce = gda_inproc_random();
	return 0;
}

static void gda_soft_qp_address(struct gda_inproc_qp *qp, u8 *address)
{
	gda_endpoint_address(gda_soft_end(qp), GDA_INPROC_MAGIC, address);
}

/* Find an endpoint by number; the number may belong to a QP of another device of this process. */
static struct gda_endpoint *gda_soft_find(u32 qpn)
{
	struct gda_inproc_qp *qp = qpn >> 24 ? NULL : gda_inproc_table_find(&gda_inproc.qps, qpn);

	return qp && qp->obj.ctx->executor == &gda_inproc_soft ? gda_soft_end(qp) : NULL;
}

static int gda_soft_qp_connect(struct gda_inproc_qp *qp, const u8 *address)
{
	struct gda_endpoint_name name;
	int err = gda_endpoint_parse(address, GDA_INPROC_MAGIC, &name);

	if (err)
		return err;
	pthread_mutex_lock(&gda_inproc.peer_lock);
	err = gda_endpoint_connect(gda_soft_end(qp), gda_soft_find(name.qpn), &name);
	pthread_mutex_unlock(&gda_inproc.peer_lock);
	return err;
}

static int gda_soft_qp_find(const u8 *address, struct gda_inproc_qp **qp)
{
	struct gda_endpoint_name name;
	struct gda_endpoint *end;
	int err = gda_endpoint_parse(address, GDA_INPROC_MAGIC, &name);

	if (err)
		return err;
	end = gda_soft_find(name.qpn);
	*qp = end && end->nonce == name.nonce ?
	      gda_inproc_of(end->queue, struct gda_inproc_qp, engine_qp) : NULL;
	return 0;
}

/* Fail the peers that are connected to the QP or wait for it. */
static void gda_soft_qp_disconnect(struct gda_inproc_qp *qp)
{
	pthread_mutex_lock(&gda_inproc.peer_lock);
	gda_endpoint_disconnect(gda_soft_end(qp));
	pthread_mutex_unlock(&gda_inproc.peer_lock);
}

static u32 gda_soft_qp_peer(const struct gda_inproc_qp *qp)
{
	u32 number;

	pthread_mutex_lock(&gda_inproc.peer_lock);
	number = gda_endpoint_number(gda_soft_end(qp));
	pthread_mutex_unlock(&gda_inproc.peer_lock);
	return number;
}

const struct gda_inproc_executor gda_inproc_soft = {
	.has = gda_soft_has,
	.describe = gda_soft_describe,
	.bind = gda_soft_bind,
	.unbind = gda_soft_unbind,
	.query = gda_soft_query,
	.qp_size = sizeof(struct gda_soft_qp),
	.qp_create = gda_soft_qp_create,
	.qp_address = gda_soft_qp_address,
	.qp_connect = gda_soft_qp_connect,
	.qp_find = gda_soft_qp_find,
	.qp_disconnect = gda_soft_qp_disconnect,
	.qp_peer = gda_soft_qp_peer,
};
