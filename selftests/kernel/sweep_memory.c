// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Calls that fail_nth sweeps with memory of others: a peer's, and queues in dma-bufs.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>
#include "sweep.h"
#include "../kmod/gda_test/ioctl.h"

int sweep_peer(struct fx *fx)
{
	struct t_mr mr;
	int err = t_mr_reg_peer(fx->fd, fx->mem, fx->len, GDA_ACCESS_ALL, &mr);

	fx->made = mr.handle;
	return err;
}

int sweep_invalidate(struct fx *fx)
{
	struct gda_test_peer_invalidate cmd = { 0 };

	return t_ioctl(fx->gpu, GDA_TEST_PEER_INVALIDATE, &cmd);
}

/* The GPU's last reference but that of the MR. */
int sweep_close_gpu(struct fx *fx)
{
	munmap(fx->mem, fx->len);
	fx->mem = NULL;
	if (close(fx->gpu))
		return -errno;
	fx->gpu = -1;
	return 0;
}

/* A ring and a queue in memory of the caller. */
int sweep_cq_dmabuf(struct fx *fx)
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

int sweep_qp_dmabuf(struct fx *fx)
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
