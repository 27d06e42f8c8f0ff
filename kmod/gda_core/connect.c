// SPDX-License-Identifier: GPL-2.0
/*
 * Who is connected to whom. Connecting is mutual: a QP names its peer and waits as
 * one of the peer's suitors until the peer names it too; then both are ready. An
 * address carries a random nonce beside the number, so a number that was used again
 * names nobody by accident.
 *
 * All links are under dev->peer_lock; the executor reads qp->peer under SRCU. A QP
 * that goes takes its links along and fails whoever was connected to it or waited
 * for it: every one of them gets an error completion.
 */

#include "gda_private.h"
#include "trace.h"

#define GDA_ADDRESS_MAGIC	0x31414447	/* "GDA1" */

/* What is inside the opaque bytes of an address. Host order: it never leaves it. */
struct gda_qp_name {
	u32 magic;
	u32 qpn;
	u64 nonce;
	u64 reserved[2];
};

static_assert(sizeof(struct gda_qp_name) == GDA_ADDRESS_BYTES);

void gda_qp_encode_address(const struct gda_qp *qp, u8 *address)
{
	struct gda_qp_name name = {
		.magic = GDA_ADDRESS_MAGIC,
		.qpn = qp->eqp.qpn,
		.nonce = qp->nonce,
	};

	memcpy(address, &name, sizeof(name));
}

static int gda_qp_decode_address(const u8 *address, struct gda_qp_name *name)
{
	memcpy(name, address, sizeof(*name));
	if (name->magic != GDA_ADDRESS_MAGIC || name->reserved[0] || name->reserved[1])
		return -EINVAL;
	return 0;
}

/* Make the owner's worker fail the QP, idle or not. */
void gda_qp_fail(struct gda_qp *qp, u8 syndrome, u8 vendor)
{
	WRITE_ONCE(qp->eqp.fail, (u32)vendor << 8 | syndrome);
	gda_worker_kick(qp->obj.ctx);
}

/* Stop waiting for an answer. */
static void gda_qp_withdraw(struct gda_qp *qp)
{
	if (!qp->named)
		return;
	list_del_init(&qp->suit);
	qp->named->nsuitors--;
	qp->named = NULL;
}

/* Whoever waits for @qp's answer waits in vain. */
static void gda_qp_refuse_suitors(struct gda_qp *qp)
{
	struct gda_qp *suitor, *next;

	list_for_each_entry_safe(suitor, next, &qp->suitors, suit) {
		gda_qp_withdraw(suitor);
		gda_qp_fail(suitor, GDA_MLX5_SYND_RETRY_EXC, GDA_MLX5_VENDOR_PEER);
	}
}

static void gda_qp_set_ready(struct gda_qp *qp, struct gda_qp *peer)
{
	gda_qp_withdraw(qp);
	WRITE_ONCE(qp->peer, peer);
	/*
	 * Orders @peer before the state, see gda_host_peer(). A QP that has failed
	 * meanwhile stays failed.
	 */
	if (cmpxchg(&qp->eqp.state, GDA_QP_WAIT, GDA_QP_READY) == GDA_QP_INIT)
		cmpxchg(&qp->eqp.state, GDA_QP_INIT, GDA_QP_READY);
	/* work may have been posted already */
	gda_worker_kick(qp->obj.ctx);
}

static bool gda_qp_failed(const struct gda_qp *qp)
{
	return READ_ONCE(qp->eqp.state) == GDA_QP_ERROR || READ_ONCE(qp->eqp.fail);
}

static int gda_qp_name_peer(struct gda_qp *qp, const struct gda_qp_name *name)
{
	struct gda_device *dev = qp->obj.ctx->dev;
	struct gda_qp *peer;

	lockdep_assert_held(&dev->peer_lock);
	if (qp->peer || qp->named || READ_ONCE(qp->eqp.state) != GDA_QP_INIT)
		return -EALREADY;
	peer = xa_load(&dev->qps, name->qpn);
	if (!peer || peer->nonce != name->nonce || gda_qp_failed(peer))
		return -ENOENT;
	if (peer == qp || peer->named == qp) {
		gda_qp_set_ready(qp, peer);
		if (peer != qp)
			gda_qp_set_ready(peer, qp);
		gda_qp_refuse_suitors(qp);
		gda_qp_refuse_suitors(peer);
		return 0;
	}
	if (peer->peer || peer->named)
		return -EBUSY;
	if (peer->nsuitors == GDA_MAX_SUITORS)
		return -ENOSPC;
	qp->named = peer;
	peer->nsuitors++;
	list_add_tail(&qp->suit, &peer->suitors);
	cmpxchg(&qp->eqp.state, GDA_QP_INIT, GDA_QP_WAIT);
	return 0;
}

int gda_qp_connect(struct gda_ctx *ctx, struct gda_qp_connect *cmd)
{
	struct gda_device *dev = ctx->dev;
	struct gda_qp_name name;
	struct gda_object *obj;
	int ret;

	if (cmd->reserved)
		return -EOPNOTSUPP;
	obj = gda_object_find(ctx, cmd->handle, GDA_OBJECT_QP);
	if (!obj)
		return -ENOENT;
	ret = gda_qp_decode_address(cmd->address, &name);
	if (ret)
		return ret;
	spin_lock(&dev->peer_lock);
	ret = gda_qp_name_peer(container_of(obj, struct gda_qp, obj), &name);
	spin_unlock(&dev->peer_lock);
	trace_gda_qp_connect(container_of(obj, struct gda_qp, obj)->eqp.qpn, name.qpn, ret);
	return ret;
}

/* Part of killing a QP: no number, no links, and nobody waits for it in vain. */
void gda_qp_disconnect(struct gda_qp *qp)
{
	struct gda_device *dev = qp->obj.ctx->dev;

	spin_lock(&dev->peer_lock);
	if (qp->eqp.qpn)
		xa_erase(&dev->qps, qp->eqp.qpn);
	gda_qp_withdraw(qp);
	if (qp->peer && qp->peer != qp) {
		WRITE_ONCE(qp->peer->peer, NULL);
		gda_qp_fail(qp->peer, GDA_MLX5_SYND_RETRY_EXC, GDA_MLX5_VENDOR_PEER);
	}
	WRITE_ONCE(qp->peer, NULL);
	gda_qp_refuse_suitors(qp);
	spin_unlock(&dev->peer_lock);
}
