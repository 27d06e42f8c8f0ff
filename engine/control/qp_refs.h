/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The parts of a queue pair: the CQs and counters that a QP names at creation. They cannot be
 * destroyed while a QP uses them. Portable like the engine; the host finds parts by handle and
 * holds the lock of the context.
 */
#ifndef GDA_CONTROL_QP_REFS_H
#define GDA_CONTROL_QP_REFS_H

#include "counter.h"

/**
 * struct gda_control_part - a CQ or a counter that a QP uses
 * @cq: the CQ, or NULL
 * @counter: the counter, or NULL
 * @users: how many QPs use the part; the pointer is NULL if there is no such part
 */
struct gda_control_part {
	struct gda_engine_cq *cq;
	struct gda_engine_counter *counter;
	u32 *users;
};

/**
 * struct gda_control_parts - the parts of a QP; all but @cq are optional
 * @cq: gets the completions of the QP's own requests
 * @recv_cq: gets the completions of received immediates
 * @sent: counts the QP's own requests
 * @recv: counts the peer's requests
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
 * Return: 0; -ENOENT no such CQ or counter; -EINVAL a CQ of another dialect, a receive CQ
 * that is collapsed or whose places are too short for immediates, or a counter that would count
 * nothing; -EBUSY a collapsed CQ that another QP uses.
 */
int gda_control_find_parts(struct gda_control_parts *parts, const struct gda_qp_create *cmd,
			   const struct gda_dialect_ops *ops, void *ctx);

/**
 * gda_control_attach_parts - attach its parts to a queue; they stay until the queue is detached
 * @q: the queue
 * @parts: the result of gda_control_find_parts()
 */
void gda_control_attach_parts(struct gda_engine_qp *q, const struct gda_control_parts *parts);

/**
 * gda_control_detach_parts - detach the parts of a queue
 * @parts: the parts that gda_control_attach_parts() attached
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
