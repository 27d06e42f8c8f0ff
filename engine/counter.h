/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Counters that have more than their cell: copies of the counts in memory of the caller, or a
 * choice of the operations that count.
 *
 * The cell, which only the engine writes, has the counts. A visit of a queue ends with a store of
 * each count that has changed to its word in memory of the caller. The word is never read, so
 * whatever its owner writes there lasts until the next store, and changes no count. The key of the
 * memory is looked up and checked for each store, as that of a work request: revoked memory is
 * not touched, and the queue fails.
 *
 * The words of @recv are stored by visits of the queue that counts there, not by those of its
 * peers. So no queue stores to memory of another context on behalf of a counter, and a queue
 * without such a counter executes the same instructions as before: gda_engine_init() chooses
 * gda_counter_visit() for the others.
 */
#ifndef GDA_ENGINE_COUNTER_H
#define GDA_ENGINE_COUNTER_H

#include "engine.h"

enum gda_counter_word {
	GDA_COUNTER_VALUE,
	GDA_COUNTER_ERRORS,
	GDA_COUNTER_WORDS
};

/*
 * A counter as the engine knows it. The host embeds it in its own object. All but the last three
 * members are constant while a queue has the counter.
 */
struct gda_engine_counter {
	struct gda_counter_mem *mem;	/* the counts; atomic */
	void *pd;			/* of the context whose memory the words are in */
	u32 ops;			/* GDA_COUNT_*, or 0: all */
	bool wrap;			/* words wrap at 2^31 */
	struct gda_sge word[GDA_COUNTER_WORDS];	/* in memory of the caller; @len is 0 for none */
	/* of the thread that has set @storing */
	bool lost[GDA_COUNTER_WORDS];	/* the memory was revoked */
	u64 stored[GDA_COUNTER_WORDS];	/* the count that the word has */
	u32 storing;			/* atomic: a thread stores; others do so later */
};

/* Has the counter a word in memory of the caller? */
static inline bool gda_counter_has_words(const struct gda_engine_counter *c)
{
	return c && (c->word[GDA_COUNTER_VALUE].len || c->word[GDA_COUNTER_ERRORS].len);
}

/* Return: whether visits of the queue store counts, as gda_engine_init() has decided. */
static inline bool gda_counter_is_stored(const struct gda_engine_qp *q)
{
	return q->visit == gda_counter_visit;
}

/**
 * gda_counter_put - store a count to its word, without any check
 * @c: the counter
 * @word: the aligned word
 * @count: what is to be stored
 */
static inline void gda_counter_put(const struct gda_engine_counter *c, u64 *word, u64 count)
{
	/* pairs with the acquire of the program that polls the word */
	smp_store_release(word, c->wrap ? count & (GDA_COUNTER_WRAP - 1) : count);
}

/**
 * gda_counter_store - store the counts of a queue's counters that have changed
 * @q: the visited queue; it fails if the memory of a word was revoked
 *
 * Return: whether there was something to store.
 */
bool gda_counter_store(struct gda_engine_qp *q);

/**
 * gda_counter_pending - would gda_counter_store() have something to store?
 * @q: a queue for which gda_counter_is_stored() holds
 *
 * Return: whether it would.
 */
bool gda_counter_pending(const struct gda_engine_qp *q);

/**
 * gda_counter_done - count q->work if its operation counts; for a queue with %GDA_ENGINE_SELECTS
 * @q: the queue
 */
void gda_counter_done(const struct gda_engine_qp *q);

/**
 * gda_counter_failed - count an error of q->work
 * @q: the queue
 */
void gda_counter_failed(const struct gda_engine_qp *q);

/**
 * gda_counter_fault - a store to a word has faulted, and the visit was abandoned
 * @q: the queue that was visited
 *
 * Return: false if the visit was not storing; else true, and the queue is asked to fail.
 */
bool gda_counter_fault(struct gda_engine_qp *q);

#endif /* GDA_ENGINE_COUNTER_H */
