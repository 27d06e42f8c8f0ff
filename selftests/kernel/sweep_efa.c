// SPDX-License-Identifier: GPL-2.0 OR MIT
/* The calls that fail_nth sweeps which make, name and end queues of the efa dialect. */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include "efa_queue.h"
#include "sweep.h"

/* A CQ for each kind of completion, and counters; no QP. */
static int prepare_parts(struct fx *fx)
{
	struct gda_cq_create *cq[2] = { &fx->cq, &fx->ring };
	int i, err = sweep_bound(fx);

	for (i = 0; i < 2 && !err; i++) {
		*cq[i] = (struct gda_cq_create) {
			.size = sizeof(*cq[i]), .dialect = GDA_DIALECT_EFA, .depth = 1024,
		};
		err = t_ioctl(fx->fd, GDA_IOC_CQ_CREATE, cq[i]);
	}
	for (i = 0; i < 2 && !err; i++)
		err = sweep_counter(fx, &fx->count[i]);
	return err;
}

static int call_cq(struct fx *fx)
{
	struct gda_cq_create cmd = {
		.size = sizeof(cmd), .dialect = GDA_DIALECT_EFA, .depth = 4096,
		.stride = GDA_EFA_CQE_BYTES,
	};
	int err = t_ioctl(fx->fd, GDA_IOC_CQ_CREATE, &cmd);

	fx->made = cmd.handle;
	return err;
}

static int call_qp(struct fx *fx)
{
	int err;

	fx->qp = (struct gda_qp_create) {
		.size = sizeof(fx->qp), .dialect = GDA_DIALECT_EFA, .cq = fx->cq.handle,
		.recv_cq = fx->ring.handle, .sq_depth = 1024, .sq_entry = GDA_EFA_WIDE_BYTES,
		.sent_counter = fx->count[0].handle, .recv_counter = fx->count[1].handle,
	};
	err = t_ioctl(fx->fd, GDA_IOC_QP_CREATE, &fx->qp);
	fx->made = fx->qp.handle;
	return err;
}

static int prepare_qp(struct fx *fx)
{
	int err = prepare_parts(fx);

	return err ? err : call_qp(fx);
}

/* Its own QP is one that it may name. */
static int call_peer(struct fx *fx)
{
	struct gda_peer_add cmd = { .size = sizeof(cmd) };
	int err = t_efa_address(fx->fd, fx->qp.handle, cmd.address);

	if (!err)
		err = t_ioctl(fx->fd, GDA_IOC_PEER_ADD, &cmd);
	fx->made = cmd.handle;
	return err;
}

static int prepare_peer(struct fx *fx)
{
	int err = prepare_qp(fx);

	return err ? err : call_peer(fx);
}

/* The last reference to a context with a QP and a handle. */
static int call_close(struct fx *fx)
{
	int err = close(fx->fd) ? -errno : 0;

	fx->fd = -1;
	return err;
}

const struct op sweep_efa_ops[] = {
	OP(efa_cq, .prepare = sweep_bound, .call = call_cq, .undo = sweep_undo_made),
	OP(efa_qp, .prepare = prepare_parts, .call = call_qp, .undo = sweep_undo_made),
	OP(efa_peer, .prepare = prepare_qp, .call = call_peer, .undo = sweep_undo_made),
	OP(efa_peer_again, .prepare = prepare_peer, .call = call_peer, .undo = sweep_undo_made),
	OP(efa_destroy_peer, .prepare = prepare_peer, .call = sweep_destroy, .cannot_fail = true),
	OP(efa_destroy_qp, .prepare = prepare_qp, .call = sweep_destroy, .cannot_fail = true),
	OP(efa_close, .prepare = prepare_peer, .call = call_close, .cannot_fail = true,
	   .asks_nothing = true),
	{ 0 }
};
