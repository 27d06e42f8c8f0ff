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
 * @cmd: what the caller asks for; the host checks flags and handles
 * @ops: the dialect that the caller names
 * @max_depth: most slots that the device has
 *
 * Return: 0; -EOPNOTSUPP a reserved member; -EINVAL a depth, user index or RNR value beyond
 * what the device, the dialect and the engine take.
 */
int gda_control_check_qp(const struct gda_qp_create *cmd, const struct gda_dialect_ops *ops,
			 u32 max_depth);

/**
 * gda_control_qp_features - what a device has to offer for a QP to be created so
 * @cmd: what the caller asks for
 *
 * Return: GDA_FEATURE_*, but for the dialect's.
 */
u64 gda_control_qp_features(const struct gda_qp_create *cmd);

/**
 * gda_control_check_cq - may a CQ be created so?
 * @cmd: what the caller asks for; the host checks flags, and memory of the caller
 * @max_depth: most entries that the device has
 *
 * Return: 0; -EOPNOTSUPP a reserved member; -EINVAL a depth, or a record of a collapsed CQ.
 */
int gda_control_check_cq(const struct gda_cq_create *cmd, u32 max_depth);

/**
 * gda_control_check_cqs - may a QP complete to these CQs?
 * @ops: the dialect of the QP
 * @cq: the CQ of its own work
 * @recv_cq: the CQ of immediates, or NULL
 *
 * Return: 0; -EINVAL a CQ of another dialect, or immediates in a collapsed CQ.
 */
int gda_control_check_cqs(const struct gda_dialect_ops *ops, const struct gda_engine_cq *cq,
			  const struct gda_engine_cq *recv_cq);

/**
 * gda_control_init_qp - fill in what the caller of a creation says about a queue
 * @q: the queue; its memory, CQs, counters and number are the host's to fill in
 * @cmd: what gda_control_check_qp() accepted
 * @ops: the dialect
 */
void gda_control_init_qp(struct gda_engine_qp *q, const struct gda_qp_create *cmd,
			 const struct gda_dialect_ops *ops);

#endif /* GDA_CONTROL_CREATE_H */
