// SPDX-License-Identifier: GPL-2.0
/*
 * Shared receive queues. Entries and record are memory of the process; each entry names the next
 * one in the list of free entries.
 */
#include <linux/log2.h>
#include <rdma/mlx5-abi.h>

#include "gda_rdma.h"

/* The entry size as libmlx5 computes it: the list's segment and the data segments. */
static u32 gda_rdma_srq_shift(u32 sges)
{
	u32 bytes = GDA_RDMA_SEGMENT_BYTES * (1 + sges);

	return ilog2(roundup_pow_of_two(max(bytes, 2 * GDA_RDMA_SEGMENT_BYTES)));
}

static int gda_rdma_srq_request(const struct ib_srq_init_attr *init, struct ib_udata *udata,
				struct mlx5_ib_create_srq *req)
{
	int ret;

	if (init->srq_type != IB_SRQT_BASIC)
		return -EOPNOTSUPP;
	if (init->attr.max_wr >= GDA_RDMA_RECVS ||
	    init->attr.max_sge >= GDA_RDMA_RECV_BYTES / GDA_RDMA_SEGMENT_BYTES)
		return -EINVAL;
	ret = gda_rdma_ask(udata, req, sizeof(*req), offsetofend(struct mlx5_ib_create_srq, flags));
	if (ret)
		return ret;
	return req->flags ? -EOPNOTSUPP : 0;
}

int gda_rdma_create_srq(struct ib_srq *ib, struct ib_srq_init_attr *init, struct ib_udata *udata)
{
	struct gda_rdma_srq *srq = gda_rdma_srq_of(ib);
	struct mlx5_ib_create_srq_resp resp = { };
	struct mlx5_ib_create_srq req = { };
	struct gda_client_srq_attr attr;
	struct gda_rdma_ctx *ctx;
	int ret;

	if (!udata)
		return -EOPNOTSUPP;
	ret = gda_rdma_srq_request(init, udata, &req);
	if (ret)
		return ret;
	ctx = rdma_udata_to_drv_context(udata, struct gda_rdma_ctx, ib);
	attr = (struct gda_client_srq_attr) {
		.dialect = GDA_DIALECT_MLX5,
		.pd = ib->pd,
		.depth = roundup_pow_of_two(init->attr.max_wr + 1),
		.shift = gda_rdma_srq_shift(init->attr.max_sge),
		.entries = req.buf_addr,
		.record = req.db_addr,
		.event = gda_rdma_srq_event,
		.priv = srq,
	};
	srq->ctx = ctx->ctx;
	srq->max_wr = attr.depth - 1;
	srq->max_sge = init->attr.max_sge;
	ret = gda_client_srq_create(srq->ctx, &attr);
	if (ret < 0)
		return ret;
	srq->handle = ret;
	init->attr.max_wr = srq->max_wr;
	/* libmlx5 also needs a number for an SRQ, which no completion here carries */
	resp.srqn = srq->handle;
	ret = gda_rdma_answer(udata, &resp, sizeof(resp));
	if (ret)
		gda_client_destroy(srq->ctx, srq->handle);
	else
		gda_client_name(srq->ctx, srq->handle);
	return ret;
}

int gda_rdma_modify_srq(struct ib_srq *ib, struct ib_srq_attr *attr, enum ib_srq_attr_mask mask,
			struct ib_udata *udata)
{
	const struct gda_rdma_srq *srq = gda_rdma_srq_of(ib);

	if (mask & IB_SRQ_MAX_WR)
		return -EOPNOTSUPP;
	if (!(mask & IB_SRQ_LIMIT))
		return 0;
	return gda_client_srq_set_limit(srq->ctx, srq->handle, attr->srq_limit);
}

int gda_rdma_query_srq(struct ib_srq *ib, struct ib_srq_attr *attr)
{
	const struct gda_rdma_srq *srq = gda_rdma_srq_of(ib);

	attr->max_wr = srq->max_wr;
	attr->max_sge = srq->max_sge;
	attr->srq_limit = gda_client_srq_limit(srq->ctx, srq->handle);
	return 0;
}

int gda_rdma_destroy_srq(struct ib_srq *ib, struct ib_udata *udata)
{
	struct gda_rdma_srq *srq = gda_rdma_srq_of(ib);

	/* a QP that a command created, unknown to the RDMA subsystem, may still use the SRQ */
	return gda_client_try_destroy(srq->ctx, srq->handle);
}
