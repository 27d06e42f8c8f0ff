/* SPDX-License-Identifier: MIT */
/*
 * The work of a queue with a copier. copy.c is the executor, atomic.c executes work requests that
 * change words, and both begin copies through data_lane.c. One count covers the copies that are
 * begun on the data lane and the stores of words on another lane. The data lane is ordered behind
 * the latter before it begins anything else, so a mark on the data lane proves that both are done.
 */
#ifndef GDA_COPIER_ASYNC_H
#define GDA_COPIER_ASYNC_H

#include "copier.h"

struct gda_inproc_words;

#define GDA_ASYNC_WINDOW	256U		/* copies in flight; a long one counts as several */
#define GDA_ASYNC_FLIGHT	512U		/* work requests */

struct gda_async_end {
	u64 ticket;
	u32 after;			/* copies begun before it */
	bool arrives;			/* the peer counts it */
	struct gda_target target;	/* of a request that names one */
	u8 result_bytes;		/* size of an old value to store here, or 0 */
	struct gda_status status;
	u64 old;
	void *result;			/* in host memory */
};

#define gda_attached_of(ptr, type)	gda_inproc_of(ptr, type, attachment)

struct gda_inproc_async {
	struct gda_inproc_attachment attachment;
	struct gda_inproc_qp *qp;
	struct gda_inproc_copier *copier;
	bool broken;			/* the copier has failed, and so has the queue */
	struct gda_inproc_far_cq far;	/* stands for a CQ in device memory */
	struct gda_flight flight;
	struct gda_flight_request requests[GDA_ASYNC_FLIGHT];
	struct gda_work *works;		/* if requests name targets: completions return their ids */

	u32 head;			/* of @ends, as tail */
	u32 tail;
	struct gda_async_end ends[GDA_ASYNC_FLIGHT];	/* requests that were not reported yet */

	const struct gda_work *carried;	/* the request that is being executed, or NULL */
	u64 ticket;			/* of it */
	bool counted;			/* its responder counts what arrives */
	struct gda_target target;	/* its, if requests name one */
	u32 copied;			/* bytes of @carried whose copy was begun */
	u32 begun;			/* copies begun, by weight; all counts are modulo 2^32 */
	u32 marked;			/* ... when the mark was last requested */
	u32 bounced;			/* ... when the bounce buffer was last used */
	u32 pulled;			/* bytes in the bounce buffer for @carried */
	u32 data;			/* ... when a copy was last begun; words wait for those */
	struct gda_inproc_lane *lane;	/* has words of this queue in flight, or NULL */
	struct gda_inproc_lane *behind;	/* the data lane is not ordered behind it yet, or NULL */
	struct gda_inproc_words *holds;	/* the queue reads a word of it, or NULL; see atomic.c */
	u64 old;			/* old value of @carried's word: @old_bytes for @result */
	void *result;
	u32 old_bytes;
	u32 results;			/* entries of @ends whose old value is not stored yet */
	u32 looks;
	u32 untold;			/* completions not written to a CQ in device memory... */
	struct gda_completion newest;	/* ... the newest of them */
	u64 told[GDA_ENGINE_MAX_CQE_BYTES / 8];	/* the CQE written there, but for its last word */

	/* a send queue in device memory; the engine sees @rec and @db */
	const __be32 *real_rec;
	const __be64 *real_db;
	__be32 rec[2];
	__be64 db;
	__be32 next_rec[2];		/* shown to the engine when @fetches are done */
	__be64 next_db;
	bool fetching;
	u32 fetches;
	u64 fetched;			/* slots below were copied */
};

static inline u32 gda_async_mark(const struct gda_inproc_async *async, u32 lane)
{
	/* pairs with the copier's store of the mark: the copies before it are visible */
	return smp_load_acquire(async->copier->mark[lane].word);
}

/* Are the first @count copies done? */
static inline bool gda_async_done(const struct gda_inproc_async *async, u32 count)
{
	return async->broken || gda_async_mark(async, GDA_INPROC_LANE_DATA) - count < 1U << 31;
}

/*
 * Find the responder of q->work, in any dialect: @peer is NULL if a connected queue has none. It
 * stays for the length of a visit, so it is looked up again in each.
 */
static inline struct gda_status gda_async_route(struct gda_engine_qp *q,
						struct gda_engine_qp **peer)
{
	if (q->dialect->named)
		return q->dialect->route(q, peer);
	/* after gda_flight_next(), which has read the state: a ready queue has its peer */
	*peer = gda_engine_peer(q);
	return gda_status(GDA_CLASS_NONE, GDA_CAUSE_NONE);
}

/* A request failed. Return: as the functions below. */
static inline int gda_async_fail(u8 class, u8 cause)
{
	return -(int)GDA_STATUS(class, cause);
}

/* data_lane.c; functions that return int return bytes, 0 to wait, or gda_async_fail() */

/* Order whatever begins on the data lane from now on behind all words. 0 or an errno. */
int gda_async_order(struct gda_inproc_async *async);
/* Begin a copy. */
int gda_async_copy(struct gda_inproc_async *async, u64 dst, u64 src, u32 len);
/*
 * Begin to store 4 or 8 bytes of host memory as one word at @dst, if the copier can; else as
 * gda_async_bounce_out().
 */
int gda_async_word(struct gda_inproc_async *async, u64 dst, const void *src, u32 len);
/* Begin to copy from host memory to @dst. */
int gda_async_bounce_out(struct gda_inproc_async *async, u64 dst, const void *src, u32 len);
/* Copy from @src to host memory: begin the copy to the bounce buffer, wait, store. */
int gda_async_bounce_in(struct gda_inproc_async *async, void *dst, u64 src, u32 len);
/*
 * Report work requests whose copies are done. With a CQ in device memory, report those whose copies
 * were begun, because the CQ is written behind them on the same lane. The CPU updates counters, and
 * not before the data is there.
 */
void gda_async_report(struct gda_inproc_async *async);
/* Are all fetched old values stored? Until then no other host memory may be accessed. */
bool gda_async_settled(struct gda_inproc_async *async);

/* atomic.c */

/* Is @w for gda_words_carry()? If not, it is an ordinary copy. */
bool gda_words_concern(const struct gda_work *w, const struct gda_exec_mems *mems);
/* Execute @w, or go on with it. Return: 1 if all is begun; 0 to wait; or gda_async_fail(). */
int gda_words_carry(struct gda_inproc_async *async, const struct gda_work *w,
		    const struct gda_exec_mems *mems);
/* The current work request has ended or was given up: release the words that it holds. */
void gda_words_release(struct gda_inproc_async *async);

#endif /* GDA_COPIER_ASYNC_H */
