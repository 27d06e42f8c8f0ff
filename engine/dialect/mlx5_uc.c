// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Unreliable connections of the mlx5 dialect. Their WQEs are those of reliable connections
 * without the operations that need an answer.
 */
#include <gda/mlx5.h>
#include "mlx5_cq.h"
#include "visit.h"

static bool gda_mlx5_uc_has(u8 op)
{
	switch (op) {
	case GDA_OP_WRITE:
	case GDA_OP_WRITE_IMM:
	case GDA_OP_SEND:
	case GDA_OP_SEND_IMM:
	case GDA_OP_NOP:
		return true;
	default:
		return false;
	}
}

static struct gda_status gda_mlx5_uc_decode(const struct gda_engine_qp *q, u32 avail,
					    struct gda_work *work)
{
	struct gda_status st = gda_dialect_mlx5.decode(q, avail, work);

	if (likely(st.class || gda_mlx5_uc_has(work->op)))
		return st;
	return gda_status(GDA_CLASS_QUEUE, GDA_CAUSE_OPCODE);
}

static u32 gda_mlx5_uc_visit(struct gda_engine_qp *q, u32 wqes, u32 bytes)
{
	return gda_engine_serve(q, wqes, bytes, &gda_mlx5_uc);
}

const struct gda_dialect_ops gda_mlx5_uc = {
	.id = GDA_DIALECT_MLX5,
	.feature = GDA_FEATURE_DIALECT_MLX5,
	.slot_bytes = GDA_MLX5_SLOT_BYTES,
	.max_depth = GDA_MLX5_MAX_DEPTH,
	.max_user_index = GDA_MLX5_MAX_USER_INDEX,
	.unreliable = true,
	.published = gda_mlx5_scan,
	.record = gda_mlx5_record,
	.decode = gda_mlx5_uc_decode,
	.syndrome = gda_mlx5_syndrome,
	.fatal = gda_mlx5_fatal,
	.visit = gda_mlx5_uc_visit,
};
