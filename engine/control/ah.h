/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Address handles: whom requests may name that name their responder (gda_dialect_ops.named).
 * Portable like the engine: the host has handles, numbers, locks and lifetime.
 *
 * A handle belongs to one context and names another, or its own. Its twin is the handle by which
 * that one names the owner, once there is one. A request finds its responder through the twin
 * alone, so that work flows only between contexts that hold each other, and a context that was
 * freed, with its handles, is not found.
 *
 * gda_ah_pair() and gda_ah_unpair() are called under one lock of the device; executors read @twin
 * and @gone without it.
 */
#ifndef GDA_CONTROL_AH_H
#define GDA_CONTROL_AH_H

#include "engine.h"

/* Numbers of queues within a context, and of handles. */
#define GDA_AH_NUMBERS	0x10000U

/**
 * struct gda_ah - an address handle; part of the host's
 * @ctx: the host's context to which it belongs
 * @owner: a number of that context that no other has, or had
 * @to: that of the context that it names
 * @twin: that context's handle of @owner, or NULL
 * @gone: that context is gone
 * @number: by which requests name it
 * @users: calls that added it, under the host's lock of @ctx
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
 * gda_ah_check - may requests name a queue?
 * @q: the queue, or NULL: the address that a caller has is that of none
 *
 * Return: 0; -ENOENT it is none; -EINVAL it is to be connected.
 */
static inline int gda_ah_check(const struct gda_engine_qp *q)
{
	if (!q)
		return -ENOENT;
	return q->dialect->named ? 0 : -EINVAL;
}

/**
 * gda_ah_answer - fill in how requests name a queue
 * @ah: the handle of its context
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
 * gda_ah_pair - make two handles twins, if each names the owner of the other
 * @ah: a handle that executors may find
 * @other: another one, or @ah, or NULL
 */
void gda_ah_pair(struct gda_ah *ah, struct gda_ah *other);

/**
 * gda_ah_unpair - have nobody find a handle through its twin
 * @ah: the handle; its host waits for executors before it is freed
 * @gone: its context is being destroyed
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
