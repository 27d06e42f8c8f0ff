// SPDX-License-Identifier: GPL-2.0
/* Queries by command: the device's capabilities. A capability that is not set is not supported. */
#include <linux/log2.h>

#include "devx.h"

#define GDA_DEVX_LOG_UMEM	16U
#define GDA_DEVX_LOG_BF_REG	9U

/* Fill in the general capabilities. */
static void gda_devx_general(const struct gda_rdma_ctx *ctx, void *cap)
{
	const struct gda_device_limits *limits = &gda_rdma_of(ctx->ib.device)->dev.limits;
	bool eth = rdma_port_get_link_layer(ctx->ib.device, GDA_RDMA_PORT) ==
		   IB_LINK_LAYER_ETHERNET;

	MLX5_SET(cmd_hca_cap, cap, cqe_version, 1);
	MLX5_SET(cmd_hca_cap, cap, rc, 1);
	MLX5_SET(cmd_hca_cap, cap, cq_oi, 1);
	MLX5_SET(cmd_hca_cap, cap, bf, 1);
	MLX5_SET(cmd_hca_cap, cap, log_bf_reg_size, GDA_DEVX_LOG_BF_REG);
	MLX5_SET(cmd_hca_cap, cap, num_ports, 1);
	MLX5_SET(cmd_hca_cap, cap, port_type, eth);
	MLX5_SET(cmd_hca_cap, cap, log_max_msg, ilog2(limits->max_msg));
	MLX5_SET(cmd_hca_cap, cap, log_max_qp, ilog2(limits->max_qp));
	MLX5_SET(cmd_hca_cap, cap, log_max_qp_sz, ilog2(limits->max_sq_depth));
	MLX5_SET(cmd_hca_cap, cap, log_max_cq, ilog2(limits->max_cq));
	MLX5_SET(cmd_hca_cap, cap, log_max_cq_sz, ilog2(limits->max_cq_depth));
	MLX5_SET(cmd_hca_cap, cap, log_max_srq, ilog2(limits->max_qp));
	MLX5_SET(cmd_hca_cap, cap, log_max_mkey, ilog2(limits->max_mr));
	MLX5_SET(cmd_hca_cap, cap, log_max_pd, ilog2(limits->max_mr));
	MLX5_SET(cmd_hca_cap, cap, log_max_umem, GDA_DEVX_LOG_UMEM);
	MLX5_SET(cmd_hca_cap, cap, log_max_uctx, 1);
	MLX5_SET(cmd_hca_cap, cap, log_max_ra_req_qp, 4);
	MLX5_SET(cmd_hca_cap, cap, log_max_ra_res_qp, 4);
	MLX5_SET(cmd_hca_cap, cap, max_wqe_sz_sq, GDA_RDMA_SEND_BYTES);
	MLX5_SET(cmd_hca_cap, cap, max_wqe_sz_rq, GDA_RDMA_RECV_BYTES);
}

/* Capabilities of RoCE and atomics, as a NIC reports them, are answered with zeros: none. */
int gda_devx_query_hca_cap(struct gda_devx_cmd *cmd)
{
	u32 type = MLX5_GET(query_hca_cap_in, cmd->in, op_mod) >> 1;

	if (MLX5_GET(query_hca_cap_in, cmd->in, other_function))
		return GDA_DEVX_REFUSE(BAD_PARAM_ERR, KIND);
	if (type == MLX5_CAP_GENERAL)
		gda_devx_general(cmd->ctx, MLX5_ADDR_OF(query_hca_cap_out, cmd->out, capability));
	else if (type != MLX5_CAP_ATOMIC && type != MLX5_CAP_ROCE && type != MLX5_CAP_GENERAL_2)
		return GDA_DEVX_REFUSE(BAD_PARAM_ERR, KIND);
	return 0;
}

int gda_devx_query_hca_vport(struct gda_devx_cmd *cmd)
{
	void *vport = MLX5_ADDR_OF(query_hca_vport_context_out, cmd->out, hca_vport_context);
	u64 guid = be64_to_cpu(cmd->ctx->ib.device->node_guid);

	if (MLX5_GET(query_hca_vport_context_in, cmd->in, other_vport))
		return GDA_DEVX_REFUSE(BAD_PARAM_ERR, KIND);
	if (MLX5_GET(query_hca_vport_context_in, cmd->in, port_num) > GDA_RDMA_PORT)
		return GDA_DEVX_REFUSE(BAD_PARAM_ERR, PORT);
	MLX5_SET(hca_vport_context, vport, lid, GDA_RDMA_LID);
	MLX5_SET(hca_vport_context, vport, sm_lid, GDA_RDMA_LID);
	MLX5_SET(hca_vport_context, vport, vport_state, IB_PORT_ACTIVE);
	MLX5_SET(hca_vport_context, vport, port_physical_state, IB_PORT_PHYS_STATE_LINK_UP);
	MLX5_SET64(hca_vport_context, vport, port_guid, guid);
	MLX5_SET64(hca_vport_context, vport, node_guid, guid);
	return 0;
}

int gda_devx_query_nic_vport(struct gda_devx_cmd *cmd)
{
	void *vport = MLX5_ADDR_OF(query_nic_vport_context_out, cmd->out, nic_vport_context);
	u64 guid = be64_to_cpu(cmd->ctx->ib.device->node_guid);

	if (MLX5_GET(query_nic_vport_context_in, cmd->in, other_vport))
		return GDA_DEVX_REFUSE(BAD_PARAM_ERR, KIND);
	MLX5_SET(nic_vport_context, vport, mtu, ib_mtu_enum_to_int(IB_MTU_4096));
	MLX5_SET64(nic_vport_context, vport, port_guid, guid);
	MLX5_SET64(nic_vport_context, vport, node_guid, guid);
	return 0;
}
