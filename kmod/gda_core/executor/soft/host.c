// SPDX-License-Identifier: GPL-2.0
/*
 * The software device as the engine's host: finds the memory that
 * a key names. Called by a worker under gda_srcu, which keeps all MRs alive. The
 * engine executes no queue of another device (gda_executor_visit()), so it looks up no key
 * there.
 */
#include "soft.h"

const struct gda_mem *gda_host_mem(const struct gda_engine_qp *q, u32 key)
{
	const struct gda_qp *qp = container_of(q, struct gda_qp, engine_qp);
	const struct gda_mr *mr = xa_load(&gda_soft_of(qp->exec.ctx->dev)->keys, key >> 8);

	return mr ? &mr->mem : NULL;
}
