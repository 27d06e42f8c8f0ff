// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * See mlx5dv.h. Nothing of ours is included here.
 */
#include "mlx5dv.h"

#if defined(GDA_VERBS) && __has_include(<infiniband/mlx5dv.h>)

#include <string.h>
#include <infiniband/mlx5dv.h>

const uint32_t dv_values[DV_VALUES] = {
	MLX5_OPCODE_NOP, MLX5_OPCODE_RDMA_WRITE, MLX5_OPCODE_RDMA_WRITE_IMM,
	MLX5_OPCODE_RDMA_READ, MLX5_OPCODE_ATOMIC_CS, MLX5_OPCODE_ATOMIC_FA,
	MLX5_OPCODE_ATOMIC_MASKED_CS, MLX5_OPCODE_ATOMIC_MASKED_FA,
	MLX5_CQE_REQ, MLX5_CQE_RESP_WR_IMM, MLX5_CQE_REQ_ERR, MLX5_CQE_RESP_ERR,
	MLX5_CQE_INVALID,
	MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR, MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR,
	MLX5_CQE_SYNDROME_LOCAL_PROT_ERR, MLX5_CQE_SYNDROME_WR_FLUSH_ERR,
	MLX5_CQE_SYNDROME_BAD_RESP_ERR, MLX5_CQE_SYNDROME_LOCAL_ACCESS_ERR,
	MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR, MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR,
	MLX5_CQE_SYNDROME_REMOTE_OP_ERR, MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR,
	MLX5_CQE_SYNDROME_RNR_RETRY_EXC_ERR, MLX5_CQE_SYNDROME_REMOTE_ABORTED_ERR,
	MLX5_WQE_CTRL_CQ_UPDATE, MLX5_WQE_CTRL_SOLICITED, MLX5_INLINE_SEG,
	MLX5_SEND_WQE_BB,
};

bool dv_present(void)
{
	return true;
}

void dv_ctrl(void *seg, uint16_t pi, uint8_t opcode, uint8_t opmod, uint32_t qpn,
	     uint8_t fm_ce_se, uint8_t ds, uint32_t imm)
{
	mlx5dv_set_ctrl_seg(seg, pi, opcode, opmod, qpn, fm_ce_se, ds, 0, htobe32(imm));
}

void dv_data(void *seg, uint32_t len, uint32_t lkey, uint64_t addr)
{
	mlx5dv_set_data_seg(seg, len, lkey, addr);
}

void dv_raddr(void *seg, uint64_t raddr, uint32_t rkey)
{
	struct mlx5_wqe_raddr_seg *r = seg;

	r->raddr = htobe64(raddr);
	r->rkey = htobe32(rkey);
	r->reserved = 0;
}

void dv_atomic(void *seg, uint64_t swap_add, uint64_t compare)
{
	struct mlx5_wqe_atomic_seg *a = seg;

	a->swap_add = htobe64(swap_add);
	a->compare = htobe64(compare);
}

void dv_inline(void *seg, uint32_t len, const void *data)
{
	struct mlx5_wqe_inl_data_seg *i = seg;

	i->byte_count = htobe32(len | MLX5_INLINE_SEG);
	memcpy(i + 1, data, len);
}

void dv_layout(struct dv_layout *l)
{
	l->cqe_size = sizeof(struct mlx5_cqe64);
	l->uidx = offsetof(struct mlx5_cqe64, srqn_uidx);
	l->imm = offsetof(struct mlx5_cqe64, imm_inval_pkey);
	l->byte_cnt = offsetof(struct mlx5_cqe64, byte_cnt);
	l->timestamp = offsetof(struct mlx5_cqe64, timestamp);
	l->sop_qpn = offsetof(struct mlx5_cqe64, sop_drop_qpn);
	l->wqe_counter = offsetof(struct mlx5_cqe64, wqe_counter);
	l->signature = offsetof(struct mlx5_cqe64, signature);
	l->op_own = offsetof(struct mlx5_cqe64, op_own);
	l->err_size = sizeof(struct mlx5_err_cqe);
	l->err_uidx = offsetof(struct mlx5_err_cqe, srqn);
	l->vendor = offsetof(struct mlx5_err_cqe, vendor_err_synd);
	l->syndrome = offsetof(struct mlx5_err_cqe, syndrome);
	l->err_qpn = offsetof(struct mlx5_err_cqe, s_wqe_opcode_qpn);
	l->err_counter = offsetof(struct mlx5_err_cqe, wqe_counter);
	l->err_op_own = offsetof(struct mlx5_err_cqe, op_own);
}

void dv_cqe(void *entry, struct dv_cqe *c)
{
	struct mlx5_cqe64 *cqe = entry;
	struct mlx5_err_cqe *err = entry;

	c->opcode = mlx5dv_get_cqe_opcode(cqe);
	c->owner = mlx5dv_get_cqe_owner(cqe);
	c->solicited = mlx5dv_get_cqe_se(cqe);
	c->format = mlx5dv_get_cqe_format(cqe);
	c->wqe_counter = be16toh(cqe->wqe_counter);
	c->sop_qpn = be32toh(cqe->sop_drop_qpn);
	c->byte_cnt = be32toh(cqe->byte_cnt);
	c->imm = be32toh(cqe->imm_inval_pkey);
	c->uidx = be32toh(cqe->srqn_uidx) & 0xffffff;
	c->vendor = err->vendor_err_synd;
	c->syndrome = err->syndrome;
}

#else /* no mlx5dv.h */

const uint32_t dv_values[DV_VALUES];

bool dv_present(void)
{
	return false;
}

void dv_ctrl(void *seg, uint16_t pi, uint8_t opcode, uint8_t opmod, uint32_t qpn,
	     uint8_t fm_ce_se, uint8_t ds, uint32_t imm)
{
	(void)seg, (void)pi, (void)opcode, (void)opmod;
	(void)qpn, (void)fm_ce_se, (void)ds, (void)imm;
}

void dv_data(void *seg, uint32_t len, uint32_t lkey, uint64_t addr)
{
	(void)seg, (void)len, (void)lkey, (void)addr;
}

void dv_raddr(void *seg, uint64_t raddr, uint32_t rkey)
{
	(void)seg, (void)raddr, (void)rkey;
}

void dv_atomic(void *seg, uint64_t swap_add, uint64_t compare)
{
	(void)seg, (void)swap_add, (void)compare;
}

void dv_inline(void *seg, uint32_t len, const void *data)
{
	(void)seg, (void)len, (void)data;
}

void dv_layout(struct dv_layout *l)
{
	(void)l;
}

void dv_cqe(void *entry, struct dv_cqe *c)
{
	(void)entry, (void)c;
}

#endif
