/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Address handles, for dialects whose requests name their responder (gda_dialect_ops.named).
 * Portable like the engine: the host has the handles, numbers, locks and lifetime.
 *
 * A handle belongs to one context, its owner, and names a target context, which may be the owner
 * itself. The twin of a handle is the target's handle that names the owner, if there is one. A
 * request finds its responder only through the twin. So work flows only between contexts that
 * have handles of each other, and a request cannot reach a freed context.
 *
 * gda_ah_pair() and gda_ah_unpair() are called under one lock of the device; executors read @twin
 * and @gone without it.
 */
#ifndef GDA_CONTROL_AH_H
#define GDA_CONTROL_AH_H

#include "engine.h"

/* How many queue numbers a context has, and how many handle numbers. */
#define GDA_AH_NUMBERS	0x10000U

/**
 * struct gda_ah - an address handle, embedded in the host's handle
 * @ctx: the host's context to which the handle belongs
 * @owner: the number of @ctx, never used for another context
 * @to: the number of the context that the handle names
 * @twin: the named context's handle of @owner, or NULL
 * @gone: the named context is gone
 * @number: the number by which requests name the handle
 * @users: how many calls added the handle, under the host's lock of @ctx
 */
struct gda_ah {
	void *ctx;
	u64 owner;
	u64 to;
	struct gda_ah *twin;
	bool gone;
	u16 number;
	u32 users;
};

/**
 * gda_ah_check - check that requests may name a queue
 * @q: the queue, or NULL if the caller's address belongs to no queue
 *
 * Return: 0; -ENOENT @q is NULL; -EINVAL the queue has to be connected instead.
 */
static inline int gda_ah_check(const struct gda_engine_qp *q)
{
	if (!q)
		return -ENOENT;
	return q->dialect->named ? 0 : -EINVAL;
}

/**
 * gda_ah_answer - fill in the numbers by which requests name a queue
 * @ah: the handle of the queue's context
 * @q: the queue
 * @cmd: out: all but @cmd->handle
 */
static inline void gda_ah_answer(const struct gda_ah *ah, const struct gda_engine_qp *q,
				 struct gda_peer_add *cmd)
{
	cmd->ah = ah->number;
	cmd->number = q->qpn % GDA_AH_NUMBERS;
	cmd->qkey = q->qkey;
}

/**
 * gda_ah_pair - make two handles twins if each names the owner of the other
 * @ah: a handle that executors may find
 * @other: another one, or @ah, or NULL
 */
void gda_ah_pair(struct gda_ah *ah, struct gda_ah *other);

/**
 * gda_ah_unpair - stop executors from finding a handle through its twin
 * @ah: the handle; the host waits for executors before it frees the handle
 * @gone: the context of @ah is being destroyed
 */
void gda_ah_unpair(struct gda_ah *ah, bool gone);

/**
 * gda_host_ah - find a handle of the context of a queue; the host defines it
 * @q: the visited queue
 * @number: any 16 bits
 *
 * Return: the handle, which lives for the length of the visit, or NULL.
 */
const struct gda_ah *gda_host_ah(const struct gda_engine_qp *q, u32 number);

/**
 * gda_host_numbered - find a queue by its number within its context; the host defines it
 * @ctx: gda_ah.ctx
 * @number: any 16 bits
 *
 * Return: the queue, which lives for the length of the visit, or NULL.
 */
struct gda_engine_qp *gda_host_numbered(void *ctx, u32 number);

#endif /* GDA_CONTROL_AH_H */
