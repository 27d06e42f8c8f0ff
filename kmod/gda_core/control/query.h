/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Answers about a queue, for any host of the engine. Portable like the engine.
 */
#ifndef GDA_CONTROL_QUERY_H
#define GDA_CONTROL_QUERY_H

#include "engine.h"

/* Fill in what @q is and how far it got, while its executor goes on. */
void gda_control_query_qp(const struct gda_engine_qp *q, struct gda_qp_query *cmd);

#endif /* GDA_CONTROL_QUERY_H */
