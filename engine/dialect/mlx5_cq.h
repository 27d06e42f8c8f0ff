/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Operations of the mlx5 dialect's tables (dialect.h) that its files share. */
#ifndef GDA_ENGINE_MLX5_CQ_H
#define GDA_ENGINE_MLX5_CQ_H

#include "dialect.h"

#define GDA_MLX5_CQE_BYTES	64

/* The table for queues of unreliable connections (mlx5_uc.c). */
extern const struct gda_dialect_ops gda_mlx5_uc;

/* The table for queues of datagrams (mlx5_ud.c). */
extern const struct gda_dialect_ops gda_mlx5_ud;

/* mlx5.c */

/**
 * gda_mlx5_scan - see gda_dialect_ops.published
 * @q: the queue
 * @scan: out
 */
void gda_mlx5_scan(const struct gda_engine_qp *q, struct gda_ring_scan *scan);

/**
 * gda_mlx5_record - see gda_dialect_ops.record
 * @q: the queue
 * @rec: out: the record
 */
void gda_mlx5_record(const struct gda_engine_qp *q, __be32 *rec);

/**
 * gda_mlx5_fatal - see gda_dialect_ops.fatal; a connection ends with its first error
 * @st: the error
 *
 * Return: true.
 */
bool gda_mlx5_fatal(struct gda_status st);

/* mlx5_cq.c */

/**
 * gda_mlx5_syndrome - see gda_dialect_ops.syndrome
 * @st: the status
 *
 * Return: enum gda_mlx5_syndrome.
 */
u8 gda_mlx5_syndrome(struct gda_status st);

/**
 * gda_mlx5_preset - fill all entries of a CQ such that none is valid
 * @cq: the CQ
 */
void gda_mlx5_preset(struct gda_engine_cq *cq);

/**
 * gda_mlx5_finish - write a completion as one entry
 * @cq: the CQ
 * @c: the completion
 *
 * Return: false if there is no room.
 */
bool gda_mlx5_finish(struct gda_engine_cq *cq, const struct gda_completion *c);

/**
 * gda_mlx5_arm - see gda_dialect_ops.arm
 * @cq: the CQ
 * @word: the word that the consumer stored behind its index
 * @read: out: how many entries the consumer had read then
 *
 * Return: GDA_CQ_ARM*.
 */
u32 gda_mlx5_arm(const struct gda_engine_cq *cq, u32 word, u64 *read);

/**
 * gda_mlx5_move - see gda_dialect_ops.move
 * @cq: the CQ
 * @entries: the new ring
 * @depth: places of the new ring
 *
 * Return: false if the CQ was not moved.
 */
bool gda_mlx5_move(struct gda_engine_cq *cq, void *entries, u32 depth);

#endif /* GDA_ENGINE_MLX5_CQ_H */
