/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The bytes as rdma-core's infiniband/mlx5dv.h makes and reads them, behind plain
 * functions. dv_present() says whether the header was there at build time.
 */
#ifndef GDA_TEST_MLX5DV_H
#define GDA_TEST_MLX5DV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where mlx5dv.h has the fields of completion entries, and what they hold. */
struct dv_layout {
	size_t cqe_size, uidx, imm, byte_cnt, timestamp, sop_qpn, wqe_counter, signature, op_own;
	size_t err_size, err_uidx, vendor, syndrome, err_qpn, err_counter, err_op_own;
};

struct dv_cqe {
	uint8_t opcode, owner, solicited, format;
	uint16_t wqe_counter;
	uint32_t sop_qpn, byte_cnt, imm, uidx;
	uint8_t vendor, syndrome;	/* of the error view */
};

bool dv_present(void);
void dv_ctrl(void *seg, uint16_t pi, uint8_t opcode, uint8_t opmod, uint32_t qpn,
	     uint8_t fm_ce_se, uint8_t ds, uint32_t imm);
void dv_data(void *seg, uint32_t len, uint32_t lkey, uint64_t addr);
void dv_raddr(void *seg, uint64_t raddr, uint32_t rkey);
void dv_atomic(void *seg, uint64_t swap_add, uint64_t compare);
void dv_inline(void *seg, uint32_t len, const void *data);
void dv_layout(struct dv_layout *l);
void dv_cqe(void *entry, struct dv_cqe *c);

/* opcodes and syndromes, by the index of this list */
#define DV_VALUES 29
extern const uint32_t dv_values[DV_VALUES];

#endif /* GDA_TEST_MLX5DV_H */
