/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What the files of the mlx5 dialect share: operations of its tables (dialect.h).
 */
#ifndef GDA_ENGINE_MLX5_CQ_H
#define GDA_ENGINE_MLX5_CQ_H

#include "dialect.h"

#define GDA_MLX5_CQE_BYTES	64

/* Queues of unreliable connections (mlx5_uc.c). */
extern const struct gda_dialect_ops gda_mlx5_uc;

/* Queues of datagrams (mlx5_ud.c). */
extern const struct gda_dialect_ops gda_mlx5_ud;

/* mlx5.c */

/**
 * gda_mlx5_scan - as gda_dialect_ops.published, and the next two likewise
 * @q: the queue
 * @scan: out
 */
void gda_mlx5_scan(const struct gda_engine_qp *q, struct gda_ring_scan *scan);

/**
 * gda_mlx5_record - fill in a record that says what the last one said
 * @q: the queue
 * @rec: out: the record
 */
void gda_mlx5_record(const struct gda_engine_qp *q, __be32 *rec);

/**
 * gda_mlx5_fatal - does a queue die of an error? A connection ends with its first
 * @st: the error
 *
 * Return: true.
 */
bool gda_mlx5_fatal(struct gda_status st);

/* mlx5_cq.c */

/**
 * gda_mlx5_syndrome - as gda_dialect_ops.syndrome, and the next ones likewise
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
 * gda_mlx5_finish - write an outcome as one entry
 * @cq: the CQ
 * @c: the outcome
 *
 * Return: false if there is no room.
 */
bool gda_mlx5_finish(struct gda_engine_cq *cq, const struct gda_completion *c);

/**
 * gda_mlx5_arm - how a consumer's word arms a CQ
 * @cq: the CQ
 * @word: what it has stored behind its index
 * @read: out: entries that it had read then
 *
 * Return: GDA_CQ_ARM*.
 */
u32 gda_mlx5_arm(const struct gda_engine_cq *cq, u32 word, u64 *read);

/**
 * gda_mlx5_move - as gda_dialect_ops.move
 * @cq: a CQ
 * @entries: where it goes on
 * @depth: with how many places
 *
 * Return: false if it does not.
 */
bool gda_mlx5_move(struct gda_engine_cq *cq, void *entries, u32 depth);

#endif /* GDA_ENGINE_MLX5_CQ_H */
