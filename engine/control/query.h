/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Answers about a queue, for any host of the engine. Portable like the engine.
 */
#ifndef GDA_CONTROL_QUERY_H
#define GDA_CONTROL_QUERY_H

#include "engine.h"

/**
 * gda_control_query_qp - fill in what a queue is and how far it got
 * @q: the queue; its executor may go on meanwhile
 * @cmd: out; the host fills in what is behind @cmd->bytes, but for the
 *	last two
 */
void gda_control_query_qp(const struct gda_engine_qp *q, struct gda_qp_query *cmd);

#endif /* GDA_CONTROL_QUERY_H */
