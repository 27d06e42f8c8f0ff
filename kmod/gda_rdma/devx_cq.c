// SPDX-License-Identifier: GPL-2.0
/*
 * CQs created by command: entries and record lie in umems. Such CQs are polled and have no
 * events.
 */
#include <linux/slab.h>

#include "devx.h"

struct gda_devx_cq {
	struct gda_devx_obj obj;
	u32 handle;
};

static void gda_devx_name_cq(struct gda_devx_obj *obj)
{
	gda_client_name(obj->ctx->ctx, container_of(obj, struct gda_devx_cq, obj)->handle);
}

static int gda_devx_destroy_cq(struct gda_devx_obj *obj)
{
	struct gda_devx_cq *cq = container_of(obj, struct gda_devx_cq, obj);
	int ret = gda_client_try_destroy(obj->ctx->ctx, cq->handle);

	if (!ret)
		kfree(cq);
	return ret;
}

/* Read the parameters of a new CQ, and refuse those that this device does not support. */
static int gda_devx_read_cq(const struct gda_devx_cmd *cmd, struct gda_client_cq_attr *attr)
{
	const void *cqc = MLX5_ADDR_OF(create_cq_in, cmd->in, cq_context);
	u32 size = MLX5_GET(cqc, cqc, cqe_sz);

	if (MLX5_GET(cqc, cqc, apu_cq) || MLX5_GET(cqc, cqc, cqe_comp_en))
		return GDA_DEVX_REFUSE(BAD_PARAM_ERR, KIND);
	if (size > 1)
		return GDA_DEVX_REFUSE(BAD_PARAM_ERR, SIZE);
	if (MLX5_GET(cqc, cqc, uar_page) != cmd->ctx->uar)
		return GDA_DEVX_REFUSE(BAD_PARAM_ERR, UAR);
	if (MLX5_GET(cqc, cqc, c_eqn_or_apu_element) != GDA_DEVX_EQN)
		return GDA_DEVX_REFUSE(BAD_RES_ERR, EQ);
	*attr = (struct gda_client_cq_attr) {
		.dialect = GDA_DIALECT_MLX5,
		.depth = 1U << MLX5_GET(cqc, cqc, log_cq_size),
		.wide = size,
		.collapsed = MLX5_GET(cqc, cqc, cc),
		.overrun = MLX5_GET(cqc, cqc, oi),
		.entries = gda_devx_u64(cmd->in, GDA_DEVX_CREATE_CQ_OFFSET),
		.entries_umem = gda_devx_u32(cmd->in, GDA_DEVX_CREATE_CQ_UMEM),
		.record = MLX5_GET64(cqc, cqc, dbr_addr),
		.record_umem = gda_devx_u32(cqc, GDA_DEVX_CQC_RECORD_UMEM),
	};
	/* umem 0 would make the offset a user address */
	if (!attr->entries_umem || !attr->record_umem)
		return GDA_DEVX_REFUSE(BAD_RES_ERR, UMEM);
	if (attr->depth > gda_device_max.max_cq_depth)
		return GDA_DEVX_REFUSE(BAD_PARAM_ERR, SIZE);
	return 0;
}

int gda_devx_create_cq(struct gda_devx_cmd *cmd)
{
	struct gda_client_cq_attr attr;
	struct gda_devx_cq *cq;
	int ret;

	ret = gda_devx_read_cq(cmd, &attr);
	if (ret)
		return ret;
	cq = kzalloc(sizeof(*cq), GFP_KERNEL_ACCOUNT);
	if (!cq)
		return -ENOMEM;
	ret = gda_client_cq_create(cmd->ctx->ctx, &attr, &cq->obj.number);
	if (ret < 0) {
		kfree(cq);
		return ret;
	}
	cq->handle = ret;
	cq->obj.name = gda_devx_name_cq;
	cq->obj.destroy = gda_devx_destroy_cq;
	MLX5_SET(create_cq_out, cmd->out, cqn, cq->obj.number);
	cmd->obj = &cq->obj;
	return 0;
}
