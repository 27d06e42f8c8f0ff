// SPDX-License-Identifier: GPL-2.0
/*
 * Verbs contexts and protection domains.
 *
 * All doorbell registers that libmlx5 knows of are one page, which says only that something was
 * posted or a CQ armed: records in memory say what. So queues share a register, and no store of a
 * whole work request to it (BlueFlame) is asked for.
 */
#include <linux/cred.h>
#include <rdma/mlx5-abi.h>
#include <rdma/ib_umem.h>

#include "gda_rdma.h"

/* Commands in the page offset of mmap(): libmlx5 maps a doorbell page write-combining, or plain. */
#define GDA_RDMA_MMAP_COMMAND(pgoff)	((pgoff) >> 8 & 0xff)
#define GDA_RDMA_MMAP_INDEX(pgoff)	((pgoff) & 0xff)
#define GDA_RDMA_MMAP_PLAIN		0U
#define GDA_RDMA_MMAP_WC		2U
#define GDA_RDMA_MMAP_NC		3U

/* One page of two registers, of which the first is for doorbells alone. */
#define GDA_RDMA_REGISTERS		2U
#define GDA_RDMA_REGISTER_BYTES		512U

static int gda_rdma_describe(struct ib_udata *udata, u8 cqe_version)
{
	struct mlx5_ib_alloc_ucontext_resp resp = {
		.qp_tab_size = 1U << 18,
		.bf_reg_size = GDA_RDMA_REGISTER_BYTES,
		.tot_bfregs = GDA_RDMA_REGISTERS,
		.cache_line_size = 64,
		.max_sq_desc_sz = GDA_RDMA_SEND_BYTES,
		.max_rq_desc_sz = GDA_RDMA_RECV_BYTES,
		.max_send_wqebb = gda_device_max.max_sq_depth,
		.max_recv_wr = GDA_RDMA_RECVS,
		.max_srq_recv_wr = GDA_RDMA_RECVS - 1,
		.num_ports = 1,
		.cqe_version = cqe_version,
		.eth_min_inline = MLX5_USER_INLINE_MODE_NONE,
		.log_uar_size = PAGE_SHIFT,
		.num_uars_per_page = 1,
	};

	resp.response_length = min(udata->outlen, sizeof(resp));
	return gda_rdma_answer(udata, &resp, sizeof(resp));
}

int gda_rdma_alloc_ucontext(struct ib_ucontext *ib, struct ib_udata *udata)
{
	struct gda_rdma_ctx *ctx = gda_rdma_ctx_of(ib);
	struct mlx5_ib_alloc_ucontext_req_v2 req = { };
	int ret;

	ret = gda_rdma_ask(udata, &req, sizeof(req), sizeof(struct mlx5_ib_alloc_ucontext_req));
	if (ret)
		return ret;
	if (req.flags)
		return -EOPNOTSUPP;
	/* completions carry the user's index of a QP: what they carried before is not written */
	if (!req.max_cqe_version)
		return -EOPNOTSUPP;
	ctx->ctx = gda_client_open(&gda_rdma_of(ib->device)->dev);
	if (IS_ERR(ctx->ctx))
		return PTR_ERR(ctx->ctx);
	ctx->user = current_euid();
	ret = gda_rdma_describe(udata, 1);
	if (ret)
		gda_client_close(ctx->ctx);
	return ret;
}

void gda_rdma_dealloc_ucontext(struct ib_ucontext *ib)
{
	gda_client_close(gda_rdma_ctx_of(ib)->ctx);
}

/* Objects are destroyed already; stores to the doorbells go nowhere once the context is closed. */
void gda_rdma_disassociate_ucontext(struct ib_ucontext *ib)
{
}

int gda_rdma_mmap(struct ib_ucontext *ib, struct vm_area_struct *vma)
{
	unsigned long command = GDA_RDMA_MMAP_COMMAND(vma->vm_pgoff);

	if (command != GDA_RDMA_MMAP_PLAIN && command != GDA_RDMA_MMAP_WC &&
	    command != GDA_RDMA_MMAP_NC)
		return -EINVAL;
	if (GDA_RDMA_MMAP_INDEX(vma->vm_pgoff))
		return -EINVAL;
	return gda_client_mmap(gda_rdma_ctx_of(ib)->ctx, vma);
}

int gda_rdma_alloc_pd(struct ib_pd *ib, struct ib_udata *udata)
{
	struct mlx5_ib_alloc_pd_resp resp = { };
	struct gda_rdma_pd *pd = gda_rdma_pd_of(ib);
	struct gda_rdma_ctx *ctx;
	int ret;

	if (!udata)
		return -EOPNOTSUPP;
	ctx = rdma_udata_to_drv_context(udata, struct gda_rdma_ctx, ib);
	pd->ctx = ctx->ctx;
	/* the RDMA subsystem has no limit of these */
	ret = gda_client_count(pd->ctx);
	if (ret)
		return ret;
	ret = gda_rdma_answer(udata, &resp, sizeof(resp));
	if (ret)
		gda_client_uncount(pd->ctx);
	return ret;
}

int gda_rdma_dealloc_pd(struct ib_pd *ib, struct ib_udata *udata)
{
	gda_client_uncount(gda_rdma_pd_of(ib)->ctx);
	return 0;
}
