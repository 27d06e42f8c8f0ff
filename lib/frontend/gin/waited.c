// SPDX-License-Identifier: MIT
/*
 * Explains failed waits of gda/gin.h, for gda_last_error(): which signal, counter or barrier was
 * waited for, and which rank or queue ended the wait.
 */
#include <errno.h>
#include <stdio.h>
#include <gda/gin/barrier.h>
#include "gin_internal.h"

/*
 * The number of the signal whose word is @word; numbers from @gin->signals on are barriers; -1:
 * none.
 */
static int64_t gda_gin_signal_of(const struct gda_gin *gin, const uint64_t *word)
{
	uint32_t i, n = gin->signals + gin->barriers * gin->nranks;

	for (i = 0; i < n; i++)
		if (*gda_gin_word64(gin->words, i) == (uintptr_t)word)
			return i;
	return -1;
}

static int64_t gda_gin_counter_of(const struct gda_gin *gin, const uint64_t *word)
{
	uint32_t i;

	for (i = 0; i < gin->counters; i++)
		if (gda_gin_word64(gin->counts, i) == word)
			return i;
	return -1;
}

/* Describe the event that was waited for, and its progress. */
static void gda_gin_waited_for(const struct gda_gin *gin, const uint64_t *word,
			       const uint64_t value[2], char *text, size_t len)
{
	int64_t signal = gda_gin_signal_of(gin, word), counter = gda_gin_counter_of(gin, word);
	unsigned long long holds = value[0], least = value[1];

	if (!word)
		snprintf(text, len, "a flush of context %u", gin->index);
	else if (signal >= gin->signals)
		snprintf(text, len, "barrier %u: rank %u has not come",
			 (uint32_t)(signal - gin->signals) / gin->nranks,
			 (uint32_t)(signal - gin->signals) % gin->nranks);
	else if (signal >= 0)
		snprintf(text, len, "signal %u holds %llu, %llu is waited for", (uint32_t)signal,
			 holds, least);
	else if (counter >= 0)
		snprintf(text, len, "counter %u holds %llu, %llu is waited for",
			 (uint32_t)counter, holds, least);
	else
		snprintf(text, len, "a signal in a window holds %llu, %llu is waited for", holds,
			 least);
}

/* Name the queue that failed, or the rank that is lost. */
static void gda_gin_waited_error(const struct gda_gin *gin, int err, char *text, size_t len)
{
	struct gda_gin_error e = { .context = gin->index };

	if (gda_nic_load32((const uint32_t *)(uintptr_t)gin->abort))
		snprintf(text, len, "gda_gin_abort() was called");
	else if (!gda_gin_find_error(gin, &e))
		snprintf(text, len, "%s", gda_strerror(err));
	else if (e.lost)
		snprintf(text, len, "rank %u is lost", e.peer);
	else
		snprintf(text, len, "the queue to rank %u has failed: %s: %s", e.peer,
			 gda_syndrome_name(e.syndrome), gda_vendor_name(e.vendor));
}

GDA_EXPORT int gda_gin_wait_failed(const struct gda_gin *gin, const uint64_t *word, uint64_t holds,
				   uint64_t least, int err)
{
	const uint64_t value[2] = { holds, least };
	char what[128], why[192];
	int saved = errno;

	gda_gin_waited_for(gin, word, value, what, sizeof(what));
	if (err == -ETIMEDOUT)
		snprintf(why, sizeof(why), "not at the deadline");
	else if (err == -ETIME)
		snprintf(why, sizeof(why), "the deadline was long past: add gda_clock_ns()");
	else
		gda_gin_waited_error(gin, err, why, sizeof(why));
	gda_said("gda_gin: rank %u of %u: %s: %s", gin->rank, gin->nranks, what, why);
	errno = saved;
	return err;
}
