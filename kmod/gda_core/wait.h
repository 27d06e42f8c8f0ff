/* SPDX-License-Identifier: GPL-2.0 */
/* QPs that wait for a CQ (wait.c): a part of gda_private.h. */
#ifndef GDA_WAIT_H
#define GDA_WAIT_H

struct gda_cq;

/* The entry of a CQ that a QP waits for (wait.c). Only the worker reads and writes this. */
struct gda_wait {
	u64 until;			/* ns, CLOCK_MONOTONIC: then it fails */
	u32 cqn;
	u32 index;
	int turn;			/* ctx->wait_turn when the CQ was last asked */
};

bool gda_wait_over(struct gda_qp *qp);
void gda_wait_pushed(struct gda_cq *cq);
void gda_wait_cq_gone(struct gda_cq *cq);
void gda_wait_cq_lost(struct gda_cq *cq);
void gda_wait_due(struct gda_ctx *ctx);

#endif /* GDA_WAIT_H */
