// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Calls that fail_nth sweeps with memory of others: a peer's, a dma-buf's that stays and
 * one's that moves, and queues in them.
 */
#include "sweep.h"
#include "../kmod/gda_test/ioctl.h"

#define PEER	"/dev/gda_test_peer"
#define UDMABUF	"/dev/udmabuf"
#define MOVER	"/dev/gda_test"

static int call_peer(struct fx *fx)
{
	struct t_mr mr;
	int err = t_mr_reg_peer(fx->fd, fx->mem, fx->len, GDA_ACCESS_ALL, &mr);

	fx->made = mr.handle;
	return err;
}

static int prepare_peer(struct fx *fx)
{
	int err = sweep_bound(fx);

	if (err)
		return err;
	fx->len = 20 * T_PAGE;
	fx->gpu = t_gpu_open(fx->len, 0, &fx->mem);
	if (fx->gpu >= 0)
		return 0;
	fx->mem = NULL;
	return fx->gpu;
}

static int prepare_peer_mr(struct fx *fx)
{
	int err = prepare_peer(fx);

	return err ? err : call_peer(fx);
}

static int call_invalidate(struct fx *fx)
{
	struct gda_test_peer_invalidate cmd = { 0 };

	return t_ioctl(fx->gpu, GDA_TEST_PEER_INVALIDATE, &cmd);
}

/* The GPU's last reference but that of the MR. */
static int call_close_gpu(struct fx *fx)
{
	munmap(fx->mem, fx->len);
	fx->mem = NULL;
	if (close(fx->gpu))
		return -errno;
	fx->gpu = -1;
	return 0;
}

/* Memory of udmabuf, which stays where it is. */
static int prepare_dmabuf(struct fx *fx)
{
	int err = sweep_bound(fx);

	if (err)
		return err;
	fx->dmabuf = t_udmabuf(8 * T_PAGE);
	return fx->dmabuf < 0 ? fx->dmabuf : 0;
}

static int call_dmabuf(struct fx *fx)
{
	struct gda_mr_reg_dmabuf cmd = {
		.size = sizeof(cmd), .offset = 100, .length = 7 * T_PAGE,
		.access = GDA_ACCESS_ALL, .fd = fx->dmabuf,
	};
	int err = t_ioctl(fx->fd, GDA_IOC_MR_REG_DMABUF, &cmd);

	fx->made = cmd.handle;
	return err;
}

static int prepare_dmabuf_mr(struct fx *fx)
{
	int err = prepare_dmabuf(fx);

	return err ? err : call_dmabuf(fx);
}

/* A ring and a queue in memory of the caller. */
static int call_cq_dmabuf(struct fx *fx)
{
	struct gda_cq_create cmd = {
		.size = sizeof(cmd), .depth = 64,
		.flags = GDA_CQ_DMABUF | GDA_CQ_DBREC_DMABUF,
		.cq_memory = { .fd = fx->dmabuf, .offset = T_PAGE },
		.dbrec_memory = { .fd = fx->dmabuf },
	};
	int err = t_ioctl(fx->fd, GDA_IOC_CQ_CREATE, &cmd);

	fx->made = cmd.handle;
	return err;
}

static int prepare_qp_dmabuf(struct fx *fx)
{
	int err = prepare_dmabuf(fx);

	return err ? err : t_cq_create(fx->fd, GDA_CQ_COLLAPSED, 1, &fx->cq);
}

static int call_qp_dmabuf(struct fx *fx)
{
	struct gda_qp_create cmd = {
		.size = sizeof(cmd), .dialect = GDA_DIALECT_MLX5, .cq = fx->cq.handle,
		.sq_depth = 256, .flags = GDA_QP_SQ_DMABUF | GDA_QP_DBREC_DMABUF,
		.sq_memory = { .fd = fx->dmabuf, .offset = T_PAGE },
		.dbrec_memory = { .fd = fx->dmabuf },
	};
	int err = t_ioctl(fx->fd, GDA_IOC_QP_CREATE, &cmd);

	fx->made = cmd.handle;
	return err;
}

static int prepare_made_qp_dmabuf(struct fx *fx)
{
	int err = prepare_qp_dmabuf(fx);

	return err ? err : call_qp_dmabuf(fx);
}

/* Memory of gda_test, which moves and tells its importers. */
static int prepare_moving(struct fx *fx)
{
	struct gda_test_export cmd = { .length = 8 * T_PAGE };
	int err = sweep_bound(fx);

	if (!err)
		err = t_cq_create(fx->fd, GDA_CQ_COLLAPSED, 1, &fx->cq);
	if (err)
		return err;
	fx->dev = open(MOVER, O_RDWR | O_CLOEXEC);
	err = fx->dev < 0 ? -errno : t_ioctl(fx->dev, GDA_TEST_EXPORT, &cmd);
	if (!err)
		fx->dmabuf = cmd.fd;
	return err;
}

static int prepare_moving_mr(struct fx *fx)
{
	int err = prepare_moving(fx);

	return err ? err : call_dmabuf(fx);
}

static int prepare_moving_cq(struct fx *fx)
{
	int err = prepare_moving(fx);

	return err ? err : call_cq_dmabuf(fx);
}

static int prepare_moving_qp(struct fx *fx)
{
	int err = prepare_moving(fx);

	return err ? err : call_qp_dmabuf(fx);
}

/* The importer is told that the memory moves, and lets go of it. */
static int call_move_memory(struct fx *fx)
{
	struct gda_test_move cmd = { .fd = fx->dmabuf };

	return t_ioctl(fx->dev, GDA_TEST_MOVE, &cmd);
}

/*
 * udmabuf says EINVAL if there is no memory for a mapping; of other exporters the same
 * means that they cannot map at all, so it is EOPNOTSUPP to the caller.
 */
#define NOT_MAPPED	(-EOPNOTSUPP)

const struct op sweep_memory_ops[] = {
	OP(mr_dmabuf, .prepare = prepare_dmabuf, .call = call_dmabuf, .undo = sweep_undo_made,
	   .needs = UDMABUF, .warns = true, .says = NOT_MAPPED),
	OP(mr_peer, .prepare = prepare_peer, .call = call_peer, .undo = sweep_undo_made,
	   .needs = PEER),
	OP(mr_user_peer, .prepare = prepare_peer, .call = sweep_mr, .undo = sweep_undo_made,
	   .needs = PEER),
	OP(cq_dmabuf, .prepare = prepare_dmabuf, .call = call_cq_dmabuf, .undo = sweep_undo_made,
	   .needs = UDMABUF, .warns = true, .says = NOT_MAPPED),
	OP(qp_dmabuf, .prepare = prepare_qp_dmabuf, .call = call_qp_dmabuf, .undo = sweep_undo_made,
	   .needs = UDMABUF, .warns = true, .says = NOT_MAPPED),
	OP(destroy_qp_dmabuf, .prepare = prepare_made_qp_dmabuf, .call = sweep_destroy,
	   .needs = UDMABUF, .warns = true, .cannot_fail = true),
	OP(destroy_dmabuf, .prepare = prepare_dmabuf_mr, .call = sweep_destroy,
	   .needs = UDMABUF, .warns = true, .cannot_fail = true),
	OP(destroy_peer, .prepare = prepare_peer_mr, .call = sweep_destroy,
	   .needs = PEER, .cannot_fail = true),
	OP(invalidate, .prepare = prepare_peer_mr, .call = call_invalidate,
	   .needs = PEER, .cannot_fail = true),
	OP(close_gpu, .prepare = prepare_peer_mr, .call = call_close_gpu,
	   .needs = PEER, .cannot_fail = true),
	OP(mr_moving, .prepare = prepare_moving, .call = call_dmabuf, .undo = sweep_undo_made,
	   .needs = MOVER),
	OP(cq_moving, .prepare = prepare_moving, .call = call_cq_dmabuf,
	   .undo = sweep_undo_made, .needs = MOVER),
	OP(qp_moving, .prepare = prepare_moving, .call = call_qp_dmabuf,
	   .undo = sweep_undo_made, .needs = MOVER),
	OP(destroy_qp_moving, .prepare = prepare_moving_qp, .call = sweep_destroy,
	   .needs = MOVER, .cannot_fail = true),
	OP(move_of_mr, .prepare = prepare_moving_mr, .call = call_move_memory, .needs = MOVER,
	   .cannot_fail = true),
	OP(move_of_cq, .prepare = prepare_moving_cq, .call = call_move_memory, .needs = MOVER,
	   .cannot_fail = true),
	OP(move_of_qp, .prepare = prepare_moving_qp, .call = call_move_memory, .needs = MOVER,
	   .cannot_fail = true),
	{ 0 }
};
