/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Checks of the parameters of QP and CQ creation, for any host of the engine. Portable like the
 * engine: the host has memory, handles and numbers.
 */
#ifndef GDA_CONTROL_CREATE_H
#define GDA_CONTROL_CREATE_H

#include "engine.h"

/**
 * gda_control_check_qp - check the parameters of a new QP
 * @cmd: the caller's parameters; the host checks handles and the caller's memory
 * @features: GDA_FEATURE_* of the device
 * @max_depth: most slots that the device has
 * @ops: out: the dialect that the caller names
 *
 * Return: 0; -EOPNOTSUPP no such dialect, or a feature that the device lacks; -EINVAL a depth, user
 * index or RNR value beyond the limits of device, dialect or engine, an entry size that the dialect
 * lacks, or a record where the dialect has none.
 */
int gda_control_check_qp(const struct gda_qp_create *cmd, u64 features, u32 max_depth,
			 const struct gda_dialect_ops **ops);

/**
 * gda_control_check_cq - check the parameters of a new CQ
 * @cmd: the caller's parameters; the host checks the caller's memory
 * @features: GDA_FEATURE_* of the device
 * @max_depth: most entries that the device has
 * @ops: out: the dialect that the caller names
 *
 * Return: 0; -EOPNOTSUPP no such dialect, or a feature that the device lacks; -EINVAL a bad depth,
 * a record for a collapsed CQ, an entry stride that the dialect lacks, or a record or a collapsed
 * CQ where the dialect has none.
 */
int gda_control_check_cq(const struct gda_cq_create *cmd, u64 features, u32 max_depth,
			 const struct gda_dialect_ops **ops);

/**
 * gda_control_cq_stride - the distance from one entry of a CQ to the next
 * @cmd: parameters that gda_control_check_cq() accepted
 * @ops: the dialect
 *
 * Return: bytes.
 */
static inline u32 gda_control_cq_stride(const struct gda_cq_create *cmd,
					const struct gda_dialect_ops *ops)
{
	return cmd->stride ? cmd->stride : ops->cqe_bytes << ops->cqe_wide;
}

/**
 * gda_control_init_qp - copy the creator's parameters to a queue
 * @q: the queue; the host fills in its memory, CQs, counters and number
 * @cmd: parameters that gda_control_check_qp() accepted
 * @ops: the dialect
 */
void gda_control_init_qp(struct gda_engine_qp *q, const struct gda_qp_create *cmd,
			 const struct gda_dialect_ops *ops);

/**
 * gda_control_init_cq - copy the creator's parameters to a CQ
 * @cq: the CQ; the host fills in its memory
 * @cmd: parameters that gda_control_check_cq() accepted
 * @ops: the dialect
 */
void gda_control_init_cq(struct gda_engine_cq *cq, const struct gda_cq_create *cmd,
			 const struct gda_dialect_ops *ops);

#endif /* GDA_CONTROL_CREATE_H */
