/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Queries of a queue, for any host of the engine. Portable like the engine. */
#ifndef GDA_CONTROL_QUERY_H
#define GDA_CONTROL_QUERY_H

#include "engine.h"

/**
 * gda_control_query_qp - fill in the state and the progress of a queue
 * @q: the queue; its executor may run meanwhile
 * @cmd: out; the host fills in the members behind @cmd->bytes, except the last
 *	two
 */
void gda_control_query_qp(const struct gda_engine_qp *q, struct gda_qp_query *cmd);

#endif /* GDA_CONTROL_QUERY_H */
