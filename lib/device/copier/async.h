/* SPDX-License-Identifier: MIT */
/*
 * The work of a queue with a copier. copy.c is the executor, atomic.c carries out what changes
 * words, and both begin copies by data_lane.c. Copies are counted as they are begun on the lane of
 * the data, and so are stores of words, which another lane makes: before anything else is begun on
 * the lane of the data it is ordered behind them, so the mark there says that both are done.
 */
#ifndef GDA_COPIER_ASYNC_H
#define GDA_COPIER_ASYNC_H

#include "copier.h"

struct gda_inproc_words;

#define GDA_ASYNC_WINDOW	256U		/* copies in flight, a long one counts as many */
#define GDA_ASYNC_FLIGHT	512U		/* work requests */

struct gda_async_end {
	u64 ticket;
	u32 after;			/* copies begun before it */
	bool arrives;			/* the peer counts it */
	u8 result_bytes;		/* 0: of an old value none is to be stored here */
	struct gda_status status;
	u64 old;
	void *result;			/* in host memory */
};

#define gda_attached_of(ptr, type)	gda_inproc_of(ptr, type, attachment)

struct gda_inproc_async {
	struct gda_inproc_attachment attachment;
	struct gda_inproc_qp *qp;
	struct gda_inproc_copier *copier;
	bool broken;			/* the copier is: all else is over */
	struct gda_inproc_far_cq far;	/* of a CQ in device memory */
	struct gda_flight flight;
	struct gda_flight_request requests[GDA_ASYNC_FLIGHT];

	u32 head;			/* of @ends, as tail */
	u32 tail;
	struct gda_async_end ends[GDA_ASYNC_FLIGHT];	/* of what was not reported */

	const struct gda_work *carried;	/* the last that was begun, or NULL: all of it was copied */
	u64 ticket;			/* of it */
	u32 copied;			/* bytes of it that are, or are being */
	u32 begun;			/* copies by weight, as all counts of them modulo 2^32 */
	u32 marked;			/* ... when the mark was last asked for */
	u32 bounced;			/* ... when the bounce buffer was last used */
	u32 pulled;			/* bytes in it that @carried still wants */
	u32 data;			/* ... when a copy was last begun: words wait for it */
	struct gda_inproc_lane *lane;	/* of words that may be in flight, or NULL */
	struct gda_inproc_lane *behind;	/* of words that the data lane was not ordered behind yet */
	struct gda_inproc_words *holds;	/* of which it reads a word, or NULL; see atomic.c */
	u64 old;			/* of the word of @carried, @old_bytes for @result */
	void *result;
	u32 old_bytes;
	u32 results;			/* of @ends: old values that are not stored yet */
	u32 looks;
	u32 untold;			/* completions to write to a CQ in device memory, ... */
	struct gda_completion newest;	/* ... of which it is told the newest */
	u64 told[GDA_ENGINE_MAX_CQE_BYTES / 8];	/* the CQE there, but for its last word */

	/* a send queue in device memory; the engine sees @rec and @db */
	const __be32 *real_rec;
	const __be64 *real_db;
	__be32 rec[2];
	__be64 db;
	__be32 next_rec[2];		/* to be shown when @fetches are done */
	__be64 next_db;
	bool fetching;
	u32 fetches;
	u64 fetched;			/* slots below were copied */
};

static inline u32 gda_async_mark(const struct gda_inproc_async *async, u32 lane)
{
	/* pairs with the copier's store: what it did before is seen */
	return smp_load_acquire(async->copier->mark[lane].word);
}

/* Are the first @count copies done? */
static inline bool gda_async_done(const struct gda_inproc_async *async, u32 count)
{
	return async->broken || gda_async_mark(async, GDA_INPROC_LANE_DATA) - count < 1U << 31;
}

/* Work must not go on now. Return: as the functions below. */
static inline int gda_async_fail(u8 class, u8 cause)
{
	return -(int)GDA_STATUS(class, cause);
}

/* data_lane.c; what returns int returns bytes or 0, 0 to wait, or gda_async_fail() */

/* Order what begins on the lane from now on behind all words. 0 or an errno. */
int gda_async_order(struct gda_inproc_async *async);
/* Begin a copy. */
int gda_async_copy(struct gda_inproc_async *async, u64 dst, u64 src, u32 len);
/* Begin to copy from host memory to @dst. */
int gda_async_bounce_out(struct gda_inproc_async *async, u64 dst, const void *src, u32 len);
/* Copy from @src to host memory: ask, wait, store. */
int gda_async_bounce_in(struct gda_inproc_async *async, void *dst, u64 src, u32 len);
/*
 * Report work requests whose copies are done; with a CQ in device memory those whose copies were
 * begun, for the CQ is written on the lane behind them. Counters are the CPU's and are not ahead
 * of the data.
 */
void gda_async_report(struct gda_inproc_async *async);
/* Are all old values stored that were fetched? Not before may other host memory be used. */
bool gda_async_settled(struct gda_inproc_async *async);

/* atomic.c */

/* Is @w for gda_words_carry()? If not, it is a copy as any other. */
bool gda_words_concern(const struct gda_work *w, const struct gda_exec_mems *mems);
/* Carry @w on. Return: 1 all is begun; 0 to wait; or gda_async_fail(). */
int gda_words_carry(struct gda_inproc_async *async, const struct gda_work *w,
		    const struct gda_exec_mems *mems);
/* The work request that @async carried has ended, or never will: others may go on. */
void gda_words_release(struct gda_inproc_async *async);

#endif /* GDA_COPIER_ASYNC_H */
