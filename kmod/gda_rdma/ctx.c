// SPDX-License-Identifier: GPL-2.0
/*
 * Verbs contexts and protection domains.
 *
 * All doorbell registers that libmlx5 knows of are in one page. A store there says only that
 * requests were posted or a CQ was armed; records in memory say which. So queues share a register,
 * and the library is told not to store whole work requests to a register (BlueFlame).
 */
#include <linux/cred.h>
#include <linux/sched/task.h>
#include <rdma/mlx5-abi.h>
#include <rdma/ib_umem.h>

#include "gda_rdma.h"

/* Commands in mmap()'s page offset: map a doorbell page write-combining, or not. */
#define GDA_RDMA_MMAP_COMMAND(pgoff)	((pgoff) >> 8 & 0xff)
#define GDA_RDMA_MMAP_INDEX(pgoff)	((pgoff) & 0xff)
#define GDA_RDMA_MMAP_PLAIN		0U
#define GDA_RDMA_MMAP_WC		2U
#define GDA_RDMA_MMAP_NC		3U

/*
 * One page of two registers; the first one takes only doorbells. A library that allocates such
 * pages as objects (umem.c) is told that there are none.
 */
#define GDA_RDMA_REGISTERS		2U
#define GDA_RDMA_REGISTER_BYTES		512U

#define GDA_RDMA_NUMBER_MAX		0xffffffU

static int gda_rdma_describe(struct ib_udata *udata, u8 cqe_version, bool objects)
{
	struct mlx5_ib_alloc_ucontext_resp resp = {
		.qp_tab_size = 1U << 18,
		.bf_reg_size = objects ? 0 : GDA_RDMA_REGISTER_BYTES,
		.tot_bfregs = objects ? 0 : GDA_RDMA_REGISTERS,
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

static int gda_rdma_open(struct gda_rdma_ctx *ctx, struct ib_udata *udata)
{
	struct mlx5_ib_alloc_ucontext_req_v2 req = { };
	int ret;

	ret = gda_rdma_ask(udata, &req, sizeof(req), sizeof(struct mlx5_ib_alloc_ucontext_req));
	if (ret)
		return ret;
	if (req.flags & ~MLX5_IB_ALLOC_UCTX_DEVX)
		return -EOPNOTSUPP;
	/* completions carry the QP's user index, which libraries of version 0 do not expect */
	if (!req.max_cqe_version)
		return -EOPNOTSUPP;
	ctx->ctx = gda_client_open(&gda_rdma_of(ctx->ib.device)->dev);
	if (IS_ERR(ctx->ctx))
		return PTR_ERR(ctx->ctx);
	ctx->user = current_euid();
	/* the library passes the number on in 16 bits */
	ctx->uar = get_random_u32() % U16_MAX + 1;
	ctx->devx = req.flags & MLX5_IB_ALLOC_UCTX_DEVX;
	xa_init_flags(&ctx->pds, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	ret = gda_rdma_describe(udata, 1, req.lib_caps & MLX5_LIB_CAP_DYN_UAR);
	if (ret)
		gda_client_close(ctx->ctx);
	return ret;
}

/*
 * If this function fails, UVERBS_METHOD_GET_CONTEXT frees @ib but not its reference on the task,
 * so a user at a limit could leak any number of tasks. So drop the reference here. The older
 * command drops it itself, and then finds no task.
 */
int gda_rdma_alloc_ucontext(struct ib_ucontext *ib, struct ib_udata *udata)
{
	int ret = gda_rdma_open(gda_rdma_ctx_of(ib), udata);

	if (ret && ib->res.task) {
		put_task_struct(ib->res.task);
		ib->res.task = NULL;
	}
	return ret;
}

void gda_rdma_dealloc_ucontext(struct ib_ucontext *ib)
{
	gda_client_close(gda_rdma_ctx_of(ib)->ctx);
}

/* Objects are already destroyed. Once the context is closed, doorbells have no effect. */
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

/* Return: the file offset at which the page of doorbells is mapped. */
u64 gda_rdma_doorbells_offset(void)
{
	return (u64)GDA_RDMA_MMAP_NC << 8 << PAGE_SHIFT;
}

/* Numbers are per context, so that a number tells nothing about other contexts. */
struct gda_rdma_pd *gda_rdma_pd_get(struct gda_rdma_ctx *ctx, u32 number)
{
	struct gda_rdma_pd *pd;

	xa_lock(&ctx->pds);
	pd = xa_load(&ctx->pds, number);
	if (pd)
		pd->users++;
	xa_unlock(&ctx->pds);
	return pd;
}

void gda_rdma_pd_put(struct gda_rdma_pd *pd)
{
	xa_lock(&pd->ctx->pds);
	pd->users--;
	xa_unlock(&pd->ctx->pds);
}

/* Unpublish a protection domain unless QPs use it. Return: whether it was unused. */
static bool gda_rdma_pd_forget(struct gda_rdma_pd *pd)
{
	bool unused;

	xa_lock(&pd->ctx->pds);
	unused = !pd->users;
	if (unused)
		__xa_erase(&pd->ctx->pds, pd->number);
	xa_unlock(&pd->ctx->pds);
	return unused;
}

int gda_rdma_alloc_pd(struct ib_pd *ib, struct ib_udata *udata)
{
	struct mlx5_ib_alloc_pd_resp resp = { };
	struct gda_rdma_pd *pd = gda_rdma_pd_of(ib);
	int ret;

	if (!udata)
		return -EOPNOTSUPP;
	pd->ctx = rdma_udata_to_drv_context(udata, struct gda_rdma_ctx, ib);
	/* the RDMA subsystem does not limit the number of protection domains */
	ret = gda_client_count(pd->ctx->ctx);
	if (ret)
		return ret;
	ret = xa_alloc(&pd->ctx->pds, &pd->number, XA_ZERO_ENTRY, XA_LIMIT(1, GDA_RDMA_NUMBER_MAX),
		       GFP_KERNEL_ACCOUNT);
	if (ret)
		goto err_uncount;
	resp.pdn = pd->number;
	ret = gda_rdma_answer(udata, &resp, sizeof(resp));
	if (ret)
		goto err_number;
	/* commands find the PD from here on; the index is reserved, so this cannot fail */
	xa_store(&pd->ctx->pds, pd->number, pd, GFP_KERNEL_ACCOUNT);
	return 0;

err_number:
	xa_erase(&pd->ctx->pds, pd->number);
err_uncount:
	gda_client_uncount(pd->ctx->ctx);
	return ret;
}

int gda_rdma_dealloc_pd(struct ib_pd *ib, struct ib_udata *udata)
{
	struct gda_rdma_pd *pd = gda_rdma_pd_of(ib);

	if (!gda_rdma_pd_forget(pd))
		return -EBUSY;
	gda_client_uncount(pd->ctx->ctx);
	return 0;
}
