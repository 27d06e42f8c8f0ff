// SPDX-License-Identifier: MIT
/*
 * Who is connected to whom, as in kmod/gda_core/connect.c: a QP names its peer and
 * waits as one of its suitors until the peer names it too; then both are ready. An
 * address carries a random nonce beside the number.
 *
 * All links are under dev->peer_lock; workers read qp->peer without it. A QP that
 * goes takes its links along and fails whoever was connected to it or waited for it.
 */
#include <errno.h>
#include "inproc.h"

#define GDA_INPROC_MAGIC	0x49414447	/* "GDAI": no address of the kernel's */

/* What is inside the opaque bytes of an address. */
struct gda_inproc_name {
	u32 magic;
	u32 qpn;
	u64 nonce;
	u64 reserved[2];
};

static_assert(sizeof(struct gda_inproc_name) == GDA_ADDRESS_BYTES);

void gda_inproc_qp_encode_address(const struct gda_inproc_qp *qp, u8 *address)
{
	const struct gda_inproc_name name = {
		.magic = GDA_INPROC_MAGIC, .qpn = qp->eqp.qpn, .nonce = qp->nonce,
	};

	memcpy(address, &name, sizeof(name));
}

/* Make the QP's worker fail it, asleep or not. */
static void gda_inproc_qp_fail(struct gda_inproc_qp *qp, u8 syndrome, u8 vendor)
{
	WRITE_ONCE(qp->eqp.fail, (u32)vendor << 8 | syndrome);
	gda_inproc_kick(qp->obj.ctx, qp->slot);
}

/* Stop waiting for an answer. */
static void gda_inproc_qp_withdraw(struct gda_inproc_qp *qp)
{
	struct gda_inproc_qp **link;

	if (!qp->named)
		return;
	for (link = &qp->named->suitors; *link != qp;)
		link = &(*link)->next_suitor;
	*link = qp->next_suitor;
	qp->named->nsuitors--;
	qp->named = NULL;
}

/* Whoever waits for @qp's answer waits in vain. */
static void gda_inproc_qp_refuse_suitors(struct gda_inproc_qp *qp)
{
	while (qp->suitors) {
		struct gda_inproc_qp *suitor = qp->suitors;

		gda_inproc_qp_withdraw(suitor);
		gda_inproc_qp_fail(suitor, GDA_MLX5_SYND_RETRY_EXC, GDA_MLX5_VENDOR_PEER);
	}
}

static void gda_inproc_qp_set_ready(struct gda_inproc_qp *qp, struct gda_inproc_qp *peer)
{
	gda_inproc_qp_withdraw(qp);
	/* pairs with gda_host_peer() */
	smp_store_release(&qp->peer, peer);
	/* a QP that has failed meanwhile stays failed */
	if (gda_os_cmpxchg32(&qp->eqp.state, GDA_QP_WAIT, GDA_QP_READY) == GDA_QP_INIT)
		gda_os_cmpxchg32(&qp->eqp.state, GDA_QP_INIT, GDA_QP_READY);
	/* work may have been posted already */
	gda_inproc_kick(qp->obj.ctx, qp->slot);
}

static bool gda_inproc_qp_failed(const struct gda_inproc_qp *qp)
{
	return READ_ONCE(qp->eqp.state) == GDA_QP_ERROR || READ_ONCE(qp->eqp.fail);
}

static int gda_inproc_qp_name_peer(struct gda_inproc_qp *qp,
				   const struct gda_inproc_name *name)
{
	struct gda_inproc_qp *peer;

	if (qp->peer || qp->named || READ_ONCE(qp->eqp.state) != GDA_QP_INIT)
		return -EALREADY;
	peer = name->qpn >> 24 ? NULL : gda_inproc_table_find(&gda_inproc.qps, name->qpn);
	if (!peer || peer->nonce != name->nonce || gda_inproc_qp_failed(peer))
		return -ENOENT;
	if (peer == qp || peer->named == qp) {
		gda_inproc_qp_set_ready(qp, peer);
		if (peer != qp)
			gda_inproc_qp_set_ready(peer, qp);
		gda_inproc_qp_refuse_suitors(qp);
		gda_inproc_qp_refuse_suitors(peer);
		return 0;
	}
	if (peer->peer || peer->named)
		return -EBUSY;
	if (peer->nsuitors == GDA_INPROC_MAX_SUITORS)
		return -ENOSPC;
	qp->named = peer;
	peer->nsuitors++;
	qp->next_suitor = peer->suitors;
	peer->suitors = qp;
	gda_os_cmpxchg32(&qp->eqp.state, GDA_QP_INIT, GDA_QP_WAIT);
	return 0;
}

int gda_inproc_qp_connect(struct gda_inproc_context *ctx, const struct gda_qp_connect *cmd)
{
	struct gda_inproc_object *obj;
	struct gda_inproc_name name;
	int err;

	if (cmd->flags || cmd->reserved)
		return -EOPNOTSUPP;
	obj = gda_inproc_object_find(ctx, cmd->handle, GDA_INPROC_QP);
	if (!obj)
		return -ENOENT;
	memcpy(&name, cmd->address, sizeof(name));
	if (name.magic != GDA_INPROC_MAGIC || name.reserved[0] || name.reserved[1])
		return -EINVAL;
	pthread_mutex_lock(&gda_inproc.peer_lock);
	err = gda_inproc_qp_name_peer(gda_inproc_of(obj, struct gda_inproc_qp, obj), &name);
	pthread_mutex_unlock(&gda_inproc.peer_lock);
	return err;
}

/* Part of killing a QP: no number, no links, and nobody waits for it in vain. */
void gda_inproc_qp_disconnect(struct gda_inproc_qp *qp)
{
	pthread_mutex_lock(&gda_inproc.lock);
	pthread_mutex_lock(&gda_inproc.peer_lock);
	qp->dead_leaf = gda_inproc_table_erase(&gda_inproc.qps, qp->eqp.qpn);
	gda_inproc_qp_withdraw(qp);
	if (qp->peer && qp->peer != qp) {
		/* pairs with gda_host_peer() */
		smp_store_release(&qp->peer->peer, NULL);
		gda_inproc_qp_fail(qp->peer, GDA_MLX5_SYND_RETRY_EXC, GDA_MLX5_VENDOR_PEER);
	}
	/* the same */
	smp_store_release(&qp->peer, NULL);
	gda_inproc_qp_refuse_suitors(qp);
	pthread_mutex_unlock(&gda_inproc.peer_lock);
	pthread_mutex_unlock(&gda_inproc.lock);
}
