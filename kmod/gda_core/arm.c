// SPDX-License-Identifier: GPL-2.0
/*
 * CQs of clients, which user space arms by stores to the CQ's record and to a doorbell, without a
 * call.
 *
 * The word of the record that arms is read with each completion, in each pass of the worker, and by
 * the fault that a doorbell causes (in a context with many CQs the fault wakes the worker, which
 * reads it). So a word that was stored after the last completion is seen, too. Only a word that has
 * changed arms the CQ, once. cq->lock guards everything here; the CQs of a context are found by a
 * mark in ctx->cqs.
 */
#include "gda_private.h"

/* The value of the word before a consumer has stored one: no consumer stores this value. */
#define GDA_ARM_NEVER	0xffffffffU

#define GDA_ARM_MARK	XA_MARK_1

/* The record was set to zero; nobody else knows it yet. */
void gda_arm_init(struct gda_cq *cq)
{
	__be32 *word = cq->rec_umem.addr + sizeof(__be32);

	WRITE_ONCE(*word, cpu_to_be32(GDA_ARM_NEVER));
	cq->arm.record = word;
	cq->arm.seen = GDA_ARM_NEVER;
}

/* The CQ is in ctx->cqs. */
void gda_arm_publish(struct gda_cq *cq)
{
	struct gda_ctx *ctx = cq->obj.ctx;

	lockdep_assert_held(&ctx->lock);
	xa_set_mark(&ctx->cqs, cq->cqn, GDA_ARM_MARK);
	WRITE_ONCE(ctx->narming, ctx->narming + 1);
}

void gda_arm_kill(struct gda_cq *cq)
{
	struct gda_ctx *ctx = cq->obj.ctx;

	lockdep_assert_held(&ctx->lock);
	WRITE_ONCE(ctx->narming, ctx->narming - 1);
}

/* Has the consumer armed the CQ, and are there entries after those that it had read? */
static void gda_arm_read(struct gda_cq *cq)
{
	const struct gda_engine_cq *engine_cq = &cq->engine_cq;
	struct gda_arm *arm = &cq->arm;
	u64 read, fired;
	u32 word;

	lockdep_assert_held(&cq->lock);
	/* pairs with the consumer's release: it has read the entries before the index in it */
	word = be32_to_cpu(smp_load_acquire(arm->record));
	if (likely(word == arm->seen))
		return;
	arm->seen = word;
	cq->armed = engine_cq->dialect->arm(engine_cq, word, &read);
	fired = cq->armed & GDA_CQ_ARM ? engine_cq->producer : arm->solicited;
	/*
	 * a consumer that reads nothing gets no second event, however it arms: events are memory of
	 * the kernel. Its index only grows, whatever is stored
	 */
	read = clamp(read, engine_cq->producer - min_t(u64, engine_cq->producer, engine_cq->depth),
		     engine_cq->producer);
	if (fired <= read || (fired <= arm->told && read <= arm->told_read))
		return;
	arm->told = max(arm->told, fired);
	arm->told_read = max(arm->told_read, read);
	gda_event_note(cq);
}

/* @c was written. */
void gda_arm_completed(struct gda_cq *cq, const struct gda_completion *c)
{
	if (gda_completion_fires(c) & GDA_CQ_ARM_SOLICITED)
		cq->arm.solicited = cq->engine_cq.producer;
	gda_arm_read(cq);
}

/* With cq->lock held. */
void gda_arm_look_at(struct gda_cq *cq)
{
	if (cq->arm.record && !cq->lost)
		gda_arm_read(cq);
}

/* Likewise: one more entry was written, which says that the CQ was moved. */
void gda_arm_moved(struct gda_cq *cq)
{
	struct gda_arm *arm = &cq->arm;

	lockdep_assert_held(&cq->lock);
	arm->solicited++;
	arm->told++;
	arm->told_read++;
}

/*
 * Called by the worker, or by a fault: look at all CQs of the context that their records can arm.
 */
void gda_arm_look(struct gda_ctx *ctx)
{
	unsigned long cqn = 0;
	struct gda_cq *cq;

	do {
		int idx = gda_read_lock();

		cq = xa_find(&ctx->cqs, &cqn, ULONG_MAX, GDA_ARM_MARK);
		if (cq) {
			spin_lock(&cq->lock);
			gda_arm_look_at(cq);
			spin_unlock(&cq->lock);
		}
		gda_read_unlock(idx);
		cqn++;
	} while (cq);
}
