/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The parts of a queue pair: the CQs and counters that it names at its creation and keeps from
 * being destroyed. Portable like the engine; the host finds them by handle and holds the lock
 * of the context.
 */
#ifndef GDA_CONTROL_QP_REFS_H
#define GDA_CONTROL_QP_REFS_H

#include "engine.h"

/**
 * struct gda_control_part - a CQ or a counter, as a QP uses it
 * @cq: the CQ, or NULL
 * @counter: the counter, or NULL
 * @users: how many QPs use it; NULL: there is no such part
 */
struct gda_control_part {
	struct gda_engine_cq *cq;
	struct gda_counter_mem *counter;
	u32 *users;
};

/**
 * struct gda_control_parts - all parts of a QP; of the last three there may be none
 * @cq: of the QP's own work
 * @recv_cq: of immediates
 * @sent: counts the QP's own work
 * @recv: counts the peer's
 */
struct gda_control_parts {
	struct gda_control_part cq;
	struct gda_control_part recv_cq;
	struct gda_control_part sent;
	struct gda_control_part recv;
};

/**
 * gda_control_find_parts - find the parts of a new QP
 * @parts: out
 * @cmd: the handles; 0 stands for no part
 * @ops: the dialect of the QP
 * @ctx: the host's context
 *
 * Return: 0; -ENOENT no such CQ or counter; -EINVAL a CQ of another dialect, or immediates in
 * a collapsed CQ, or in one of places that are too short for them; -EBUSY a collapsed CQ that
 * another QP uses.
 */
int gda_control_find_parts(struct gda_control_parts *parts, const struct gda_qp_create *cmd,
			   const struct gda_dialect_ops *ops, void *ctx);

/**
 * gda_control_attach_parts - have a queue use its parts, which are kept until it is detached
 * @q: the queue
 * @parts: what gda_control_find_parts() found
 */
void gda_control_attach_parts(struct gda_engine_qp *q, const struct gda_control_parts *parts);

/**
 * gda_control_detach_parts - the queue does not use its parts any more
 * @parts: those of gda_control_attach_parts()
 */
void gda_control_detach_parts(const struct gda_control_parts *parts);

/**
 * gda_host_find_cq - find a CQ; the host defines it
 * @ctx: the host's context
 * @handle: from the user
 * @part: out, unless there is no such CQ
 */
void gda_host_find_cq(void *ctx, u32 handle, struct gda_control_part *part);

/**
 * gda_host_find_counter - find a counter; the host defines it
 * @ctx: the host's context
 * @handle: from the user
 * @part: out, unless there is no such counter
 */
void gda_host_find_counter(void *ctx, u32 handle, struct gda_control_part *part);

#endif /* GDA_CONTROL_QP_REFS_H */
