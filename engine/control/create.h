/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The rules by which queues and CQs are created, for any host of the engine. Portable like
 * the engine: the host has memory, handles and numbers.
 */
#ifndef GDA_CONTROL_CREATE_H
#define GDA_CONTROL_CREATE_H

#include "engine.h"

/**
 * gda_control_check_qp - may a QP be created so?
 * @cmd: what the caller asks for; the host checks handles, and memory of the caller
 * @features: GDA_FEATURE_* of the device
 * @max_depth: most slots that the device has
 * @ops: out: the dialect that the caller names
 *
 * Return: 0; -EOPNOTSUPP no such dialect, or a feature that the device lacks; -EINVAL a depth,
 * user index or RNR value beyond what the device, the dialect and the engine take, a length of
 * entries that the dialect has not, or a record where it has none.
 */
int gda_control_check_qp(const struct gda_qp_create *cmd, u64 features, u32 max_depth,
			 const struct gda_dialect_ops **ops);

/**
 * gda_control_check_cq - may a CQ be created so?
 * @cmd: what the caller asks for; the host checks memory of the caller
 * @features: GDA_FEATURE_* of the device
 * @max_depth: most entries that the device has
 * @ops: out: the dialect that the caller names
 *
 * Return: 0; -EOPNOTSUPP no such dialect, or a feature that the device lacks; -EINVAL a depth,
 * a record of a collapsed CQ, a length of places that the dialect has not, or a record or a
 * collapsed CQ where it has none.
 */
int gda_control_check_cq(const struct gda_cq_create *cmd, u64 features, u32 max_depth,
			 const struct gda_dialect_ops **ops);

/**
 * gda_control_cq_stride - from an entry of a CQ to the next
 * @cmd: what gda_control_check_cq() accepted
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
 * gda_control_init_qp - fill in what the caller of a creation says about a queue
 * @q: the queue; its memory, CQs, counters and number are the host's to fill in
 * @cmd: what gda_control_check_qp() accepted
 * @ops: the dialect
 */
void gda_control_init_qp(struct gda_engine_qp *q, const struct gda_qp_create *cmd,
			 const struct gda_dialect_ops *ops);

/**
 * gda_control_init_cq - fill in what the caller of a creation says about a CQ
 * @cq: the CQ; its memory is the host's to fill in
 * @cmd: what gda_control_check_cq() accepted
 * @ops: the dialect
 */
void gda_control_init_cq(struct gda_engine_cq *cq, const struct gda_cq_create *cmd,
			 const struct gda_dialect_ops *ops);

#endif /* GDA_CONTROL_CREATE_H */
