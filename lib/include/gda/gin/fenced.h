/* SPDX-License-Identifier: MIT */
/*
 * Signals where requests complete in any order and no atomics exist (%GDA_GIN_SENDERS). Included by
 * gda/gin.h; not to be called by programs.
 *
 * For each signal of a context each sender has a word of its own at the receiver, where it stores
 * the sum of all that it has added; the value of the signal is the sum of its words. A sender stores
 * to a word when what the signal reports is done, and its store before that, too: so stores do not
 * overtake each other, and what is done has arrived before the store does. gda_gin_queue.sending is
 * held from the sum to the store; a thread that waits for it does so for as long as a wait may take.
 */
#ifndef GDA_GIN_FENCED_H
#define GDA_GIN_FENCED_H

#include <gda/gin/flush.h>
#include <gda/gin/how.h>

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/* The caller alone adds to signals of the peer next. Return: 0, or the error of the wait. */
GDA_SLOW int gda_gin_fence_begin(struct gda_gin_queue *q, uint64_t deadline)
{
	struct gda_view *v = gda_gin_view(q);
	unsigned int polls;
	int err = 0;

	for (polls = 1; !gda_cas32(&q->sending, 0, 1); polls++) {
		if (err)
			return err;
		gda_rest(v, polls, GDA_RELAX_DONE);
		err = gda_expired(v, polls, &deadline);
	}
	return 0;
}

GDA_HELPER void gda_gin_fence_end(struct gda_gin_queue *q)
{
	gda_nic_store32(&q->sending, 0);
}

/*
 * Add @add to signal or barrier @index of the peer: barriers follow the signals. What the signal
 * reports is done, and so is the last store of a sum; the caller is between gda_gin_fence_begin() and
 * gda_gin_fence_end().
 */
GDA_SLOW int gda_gin_add_fenced(const struct gda_gin *gin, struct gda_gin_queue *q, uint32_t index,
				uint64_t add, unsigned int flags)
{
	uint64_t *sum = gda_gin_word64(q->sent, index);
	struct gda_view *v = gda_gin_view(q);
	int64_t ticket;

	ticket = gda_put_value(v, q->signals + 8 * gda_gin_word_of(gin, index, gin->rank), q->rkey,
			       *sum + add, flags);
	if (ticket < 0)
		return (int)ticket;
	*sum += add;
	q->behind = (uint64_t)ticket + 1;
	return 0;
}

/*
 * Wait until what a signal reports is done, and add to it. @ticket: of the put that it belongs to, or
 * -1. Return: 0, or the error, and nothing was added.
 */
GDA_SLOW int gda_gin_signal_fenced(const struct gda_gin *gin, struct gda_gin_queue *q,
				   int64_t ticket, const struct gda_gin_how *how)
{
	uint64_t add = how->flags & GDA_GIN_ADD ? how->add : 1;
	struct gda_view *v = gda_gin_view(q);
	int err = gda_gin_fence_begin(q, 0);

	if (err)
		return err;
	if (!(how->flags & GDA_GIN_WEAK))
		err = gda_quiet(v, 0);
	else if (ticket >= 0)
		err = gda_wait(v, ticket, 0);
	if (!err && q->behind)
		err = gda_wait(v, (int64_t)q->behind - 1, 0);
	if (!err)
		err = gda_gin_add_fenced(gin, q, how->signal, add, how->flags & GDA_POST_FLAGS);
	gda_gin_fence_end(q);
	return err;
}

/* Tell the peer that the caller has arrived at barrier @index, behind all that it put there. */
GDA_SLOW int gda_gin_barrier_fenced(const struct gda_gin *gin, struct gda_gin_queue *q,
				    uint32_t index, unsigned int flags, uint64_t deadline)
{
	int err = gda_gin_fence_begin(q, deadline);

	if (err)
		return err;
	/* the last store of a sum, too */
	err = gda_quiet(gda_gin_view(q), deadline);
	if (!err)
		err = gda_gin_add_fenced(gin, q, gin->signals + index, 1, flags);
	gda_gin_fence_end(q);
	return err;
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif /* GDA_GIN_FENCED_H */
