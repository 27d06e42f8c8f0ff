// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queues. Entries and record are memory of the process. The process arms a CQ by a
 * store to the record and a doorbell, without a call (gda_core/arm.c).
 */
#include <linux/log2.h>
#include <rdma/mlx5-abi.h>

#include "gda_rdma.h"

#define GDA_RDMA_CQE_BYTES	64U

static void gda_rdma_cq_completed(void *priv)
{
	struct gda_rdma_cq *cq = priv;

	if (cq->ib.comp_handler)
		cq->ib.comp_handler(&cq->ib, cq->ib.cq_context);
}

/* Copy in the parameters of a new CQ, and refuse those that this device does not support. */
static int gda_rdma_cq_request(struct ib_udata *udata, const struct gda_rdma_ctx *ctx,
			       struct mlx5_ib_create_cq *req)
{
	int ret;

	ret = gda_rdma_ask(udata, req, sizeof(*req),
			   offsetofend(struct mlx5_ib_create_cq, cqe_comp_res_format));
	if (ret)
		return ret;
	if (req->cqe_comp_en || req->flags & ~MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX)
		return -EOPNOTSUPP;
	if (req->flags && req->uar_page_index != ctx->uar)
		return -EINVAL;
	return req->cqe_size == GDA_RDMA_CQE_BYTES || req->cqe_size == 2 * GDA_RDMA_CQE_BYTES ?
	       0 : -EINVAL;
}

int gda_rdma_create_cq(struct ib_cq *ib, const struct ib_cq_init_attr *attr,
		       struct ib_udata *udata)
{
	struct gda_rdma_cq *cq = gda_rdma_cq_of(ib);
	struct mlx5_ib_create_cq_resp resp = { };
	struct mlx5_ib_create_cq req = { };
	struct gda_client_cq_attr cq_attr;
	struct gda_rdma_ctx *ctx;
	int ret;

	if (!udata || attr->flags)
		return -EOPNOTSUPP;
	if (attr->cqe < 1 || attr->cqe >= gda_device_max.max_cq_depth)
		return -EINVAL;
	ctx = rdma_udata_to_drv_context(udata, struct gda_rdma_ctx, ib);
	ret = gda_rdma_cq_request(udata, ctx, &req);
	if (ret)
		return ret;
	cq_attr = (struct gda_client_cq_attr) {
		.dialect = GDA_DIALECT_MLX5,
		.depth = roundup_pow_of_two(attr->cqe + 1),
		.wide = req.cqe_size == 2 * GDA_RDMA_CQE_BYTES,
		.entries = req.buf_addr,
		.record = req.db_addr,
		/* without a completion channel no one waits for events */
		.handler = ib->cq_context ? gda_rdma_cq_completed : NULL,
		.event = gda_rdma_cq_event,
		.priv = cq,
	};
	cq->ctx = ctx->ctx;
	ib->cqe = cq_attr.depth - 1;
	ret = gda_client_cq_create(cq->ctx, &cq_attr, &resp.cqn);
	if (ret < 0)
		return ret;
	cq->handle = ret;
	ret = gda_rdma_answer(udata, &resp, sizeof(resp));
	if (ret)
		gda_client_destroy(cq->ctx, cq->handle);
	else
		gda_client_name(cq->ctx, cq->handle);
	return ret;
}

/*
 * The library has allocated the new entries. When this function returns, it copies the unpolled
 * entries; its own lock excludes polls meanwhile.
 */
int gda_rdma_resize_cq(struct ib_cq *ib, unsigned int cqe, struct ib_udata *udata)
{
	struct gda_rdma_cq *cq = gda_rdma_cq_of(ib);
	struct mlx5_ib_resize_cq req = { };
	struct gda_client_cq_attr attr;
	int ret;

	if (!udata)
		return -EOPNOTSUPP;
	if (cqe < 1 || cqe >= gda_device_max.max_cq_depth)
		return -EINVAL;
	ret = gda_rdma_ask(udata, &req, sizeof(req), sizeof(req));
	if (ret)
		return ret;
	if (req.reserved0 || req.reserved1)
		return -EOPNOTSUPP;
	if (req.cqe_size != GDA_RDMA_CQE_BYTES && req.cqe_size != 2 * GDA_RDMA_CQE_BYTES)
		return -EINVAL;
	attr = (struct gda_client_cq_attr) {
		.depth = roundup_pow_of_two(cqe + 1),
		.wide = req.cqe_size == 2 * GDA_RDMA_CQE_BYTES,
		.entries = req.buf_addr,
	};
	ret = gda_client_cq_resize(cq->ctx, cq->handle, &attr);
	if (!ret)
		ib->cqe = attr.depth - 1;
	return ret;
}

int gda_rdma_destroy_cq(struct ib_cq *ib, struct ib_udata *udata)
{
	struct gda_rdma_cq *cq = gda_rdma_cq_of(ib);

	/* a QP that a command created, unknown to the RDMA subsystem, may still use the CQ */
	return gda_client_try_destroy(cq->ctx, cq->handle);
}
