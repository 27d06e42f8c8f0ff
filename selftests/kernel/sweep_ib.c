// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Calls that fail_ib sweeps on an RDMA device: binding, objects, and both ends of a connection.
 *
 * A call that connects may succeed although something failed in it: then the QP is ready, or has
 * failed, within T_WAIT_NS.
 */
#include "rxe.h"
#include "sweep.h"

#define DEPTH	16

enum { ASKS, ASKED };

static int call_bind(struct fx *fx)
{
	fx->made_fd = t_context_on(T_IB);
	return fx->made_fd < 0 ? fx->made_fd : 0;
}

static int prepare_bound(struct fx *fx)
{
	fx->fd = t_context_on(T_IB);
	return fx->fd < 0 ? fx->fd : 0;
}

static int prepare_cq(struct fx *fx)
{
	int err = prepare_bound(fx);

	if (!err)
		err = t_cq_create(fx->fd, GDA_CQ_COLLAPSED, 1, &fx->cq);
	return err ? err : t_cq_create(fx->fd, 0, 64, &fx->ring);
}

/* With receives, and memory for what arrives. */
static int call_qp(struct fx *fx)
{
	struct gda_qp_create cmd = {
		.size = sizeof(cmd), .dialect = GDA_DIALECT_MLX5, .cq = fx->cq.handle,
		.sq_depth = DEPTH, .recv_cq = fx->ring.handle,
	};
	int err = t_ioctl(fx->fd, GDA_IOC_QP_CREATE, &cmd);

	fx->made = cmd.handle;
	return err;
}

static int prepare_qp(struct fx *fx)
{
	int err = prepare_cq(fx);

	return err ? err : call_qp(fx);
}

static int prepare_memory(struct fx *fx)
{
	fx->len = 20 * T_PAGE;
	fx->mem = t_pages(fx->len);
	return fx->mem ? prepare_bound(fx) : -ENOMEM;
}

static int prepare_mr(struct fx *fx)
{
	int err = prepare_memory(fx);

	return err ? err : sweep_mr(fx);
}

/* --- connections --- */

static int name(const struct t_qp *qp, const struct t_qp *peer)
{
	struct gda_qp_address address = { .size = sizeof(address), .handle = peer->qpc.handle };
	struct gda_qp_connect cmd = { .size = sizeof(cmd), .handle = qp->qpc.handle };
	int err = t_ioctl(peer->fd, GDA_IOC_QP_ADDRESS, &address);

	memcpy(cmd.address, address.address, sizeof(cmd.address));
	return err ? err : t_ioctl(qp->fd, GDA_IOC_QP_CONNECT, &cmd);
}

/* end[ASKS] is the one whose address is greater. */
static int prepare_pair(struct fx *fx)
{
	struct gda_qp_address a[2];
	int err = t_ib_pair_make(fx->end, DEPTH, T_PAGE);

	for (int i = 0; i < 2 && !err; i++) {
		a[i] = (struct gda_qp_address) {
			.size = sizeof(a[i]), .handle = fx->end[i].qp.qpc.handle,
		};
		err = t_ioctl(fx->end[i].fd, GDA_IOC_QP_ADDRESS, &a[i]);
	}
	if (!err && memcmp(a[ASKS].address, a[ASKED].address, sizeof(a[0].address)) < 0) {
		struct t_end end = fx->end[ASKS];

		fx->end[ASKS] = fx->end[ASKED];
		fx->end[ASKED] = end;
	}
	return err;
}

/* The end that is asked has named its peer. */
static int prepare_ask(struct fx *fx)
{
	int err = prepare_pair(fx);

	return err ? err : name(&fx->end[ASKED].qp, &fx->end[ASKS].qp);
}

static int call_ask(struct fx *fx)
{
	return name(&fx->end[ASKS].qp, &fx->end[ASKED].qp);
}

/* The other end has asked, and has been held for a while. */
static int prepare_accept(struct fx *fx)
{
	int err = prepare_pair(fx);

	err = err ? err : call_ask(fx);
	t_sleep_ns(T_NS / 20);
	return err;
}

static int call_accept(struct fx *fx)
{
	return name(&fx->end[ASKED].qp, &fx->end[ASKS].qp);
}

/* The state in which a QP is in the end, or -ETIMEDOUT. */
static int outcome(const struct t_qp *qp)
{
	int state = t_wait_state(qp, GDA_QP_INIT, T_WAIT_NS);

	return state == GDA_QP_WAIT ? t_wait_state(qp, GDA_QP_WAIT, T_WAIT_NS) : state;
}

/* Both ends agree, sooner or later. */
static int settled(struct fx *fx)
{
	int asks = outcome(&fx->end[ASKS].qp), asked = outcome(&fx->end[ASKED].qp);

	if (asks == GDA_QP_READY && asked == GDA_QP_ERROR)
		asks = t_wait_state(&fx->end[ASKS].qp, GDA_QP_READY, T_WAIT_NS);
	if (asked == GDA_QP_READY && asks == GDA_QP_ERROR)
		asked = t_wait_state(&fx->end[ASKED].qp, GDA_QP_READY, T_WAIT_NS);
	if (asks == asked && (asks == GDA_QP_READY || asks == GDA_QP_ERROR))
		return 0;
	printf("# %s: who asks is %d, who is asked %d\n", fx->op->name, asks, asked);
	return -EPROTO;
}

static int prepare_connected(struct fx *fx)
{
	return t_ib_pair_open(fx->end, DEPTH, T_PAGE);
}

static int call_disconnect(struct fx *fx)
{
	return t_destroy(fx->end[ASKS].fd, fx->end[ASKS].qp.qpc.handle);
}

/*
 * The other end hears of it, when it posts at the latest: ib_send_cm_dreq() tells it unless it has
 * no memory for a message, and does not say so.
 */
static int heard(struct fx *fx)
{
	struct t_wr wr = t_wr_write(&fx->end[ASKED].mr, 0, &fx->end[ASKS].mr, 0, 8);
	int err = t_run(&fx->end[ASKED].qp, &wr, NULL);

	return err > 0 ? 0 : err ? err : -EPROTO;
}

const struct op sweep_ib_ops[] = {
	OP(ib_bind, .call = call_bind, .undo = sweep_undo_fd),
	/* rdma_rxe makes a socket for each QP: without memory for that it says ENFILE */
	OP(ib_qp, .prepare = prepare_cq, .call = call_qp, .undo = sweep_undo_made,
	   .says = -ENFILE),
	OP(ib_mr, .prepare = prepare_memory, .call = sweep_mr, .undo = sweep_undo_made),
	OP(ib_ask, .prepare = prepare_ask, .call = call_ask, .check = settled),
	OP(ib_accept, .prepare = prepare_accept, .call = call_accept, .check = settled),
	OP(ib_destroy_qp, .prepare = prepare_qp, .call = sweep_destroy, .cannot_fail = true),
	OP(ib_destroy_mr, .prepare = prepare_mr, .call = sweep_destroy, .cannot_fail = true),
	OP(ib_disconnect, .prepare = prepare_connected, .call = call_disconnect, .check = heard,
	   .cannot_fail = true),
	{ 0 }
};
