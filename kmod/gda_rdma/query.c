// SPDX-License-Identifier: GPL-2.0
/*
 * Queries of the device. Its port has the InfiniBand link layer and a LID, by which programs name
 * each other, and no subnet management: there is no wire.
 */
#include "gda_rdma.h"

/* No vendor has this ID: the bit of locally administered addresses is set. */
#define GDA_RDMA_VENDOR		0x024744U
#define GDA_RDMA_VENDOR_PART	1U

int gda_rdma_query_device(struct ib_device *ib, struct ib_device_attr *attr,
			  struct ib_udata *udata)
{
	const struct gda_device_limits *limits = &gda_rdma_of(ib)->dev.limits;

	*attr = (struct ib_device_attr) {
		.vendor_id = GDA_RDMA_VENDOR,
		.vendor_part_id = GDA_RDMA_VENDOR_PART,
		.sys_image_guid = ib->node_guid,
		.device_cap_flags = IB_DEVICE_RC_RNR_NAK_GEN,
		.atomic_cap = IB_ATOMIC_GLOB,
		.page_size_cap = PAGE_MASK,
		.max_mr_size = limits->max_mr_size,
		.max_mr = limits->max_mr,
		.max_pd = limits->max_mr,
		.max_cq = limits->max_cq,
		.max_cqe = limits->max_cq_depth - 1,
		.max_qp = limits->max_qp,
		.max_qp_wr = limits->max_sq_depth,
		.max_send_sge = GDA_ENGINE_MAX_SGE,
		.max_recv_sge = GDA_RDMA_RECV_BYTES / GDA_RDMA_SEGMENT_BYTES,
		.max_sge_rd = GDA_ENGINE_MAX_SGE,
		.max_qp_rd_atom = 16,
		.max_qp_init_rd_atom = 16,
		.max_srq = limits->max_qp,
		.max_srq_wr = GDA_RDMA_RECVS - 1,
		.max_srq_sge = GDA_RDMA_RECV_BYTES / GDA_RDMA_SEGMENT_BYTES - 1,
		/* address handles exist only in libmlx5 */
		.max_ah = INT_MAX,
		.max_pkeys = 1,
		.local_ca_ack_delay = 16,
	};
	return 0;
}

int gda_rdma_query_port(struct ib_device *ib, u32 port, struct ib_port_attr *attr)
{
	attr->state = IB_PORT_ACTIVE;
	attr->phys_state = IB_PORT_PHYS_STATE_LINK_UP;
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = IB_MTU_4096;
	attr->gid_tbl_len = 1;
	attr->pkey_tbl_len = 1;
	attr->max_msg_sz = gda_rdma_of(ib)->dev.limits.max_msg;
	attr->lid = GDA_RDMA_LID;
	attr->sm_lid = GDA_RDMA_LID;
	attr->active_width = IB_WIDTH_4X;
	attr->active_speed = IB_SPEED_EDR;
	return 0;
}

int gda_rdma_query_gid(struct ib_device *ib, u32 port, int index, union ib_gid *gid)
{
	gid->global.subnet_prefix = cpu_to_be64(GDA_RDMA_SUBNET);
	gid->global.interface_id = ib->node_guid;
	return 0;
}

int gda_rdma_query_pkey(struct ib_device *ib, u32 port, u16 index, u16 *pkey)
{
	*pkey = GDA_RDMA_PKEY;
	return index ? -EINVAL : 0;
}

int gda_rdma_port_immutable(struct ib_device *ib, u32 port, struct ib_port_immutable *immutable)
{
	immutable->gid_tbl_len = 1;
	immutable->pkey_tbl_len = 1;
	immutable->core_cap_flags = RDMA_CORE_CAP_PROT_IB;
	return 0;
}

enum rdma_link_layer gda_rdma_link_layer(struct ib_device *ib, u32 port)
{
	return IB_LINK_LAYER_INFINIBAND;
}
