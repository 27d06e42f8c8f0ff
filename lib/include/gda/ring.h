/* SPDX-License-Identifier: MIT */
/*
 * Read a ring CQ from mapped memory: the immediates of peers (gda_qp_attr.recv_cq), or
 * the completions of QPs that share it. No system call.
 *
 * The owner bit of an entry says whether it is of this lap. The executor writes it last, so a
 * thread that sees it sees the rest of the entry and all bytes that the work moved. The consumer
 * index record returns entries that were taken. A full ring refuses immediates (the sender retries
 * as its gda_qp_attr.rnr_retry says), and overflows if completions of its own QPs go there. A ring
 * with %GDA_CQ_IGNORE_OVERRUN does neither: its reader must never be a whole lap behind, or it
 * would take new entries for old ones.
 *
 * Each entry is of a work request, or of an immediate. A QP that fails while nothing is posted to
 * it signals the event of its ring and has no entry there: gda_qp_query() reports the reason. The
 * next work request posted to it completes with that error, and later ones as flushed.
 */
#ifndef GDA_RING_H
#define GDA_RING_H

#include <errno.h>
#include <stddef.h>
#include <gda/barrier.h>
#include <gda/view.h>
#include <gda/wqe.h>

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/* Polls of the ring between two reads of the clock. */
#define GDA_RING_POLLS	64

/* Take the next entry of a ring that credits no views, or whose lock the caller holds. */
GDA_HELPER int gda_cq_next(struct gda_cq_view *cq, struct gda_cq_entry *entry)
{
	const char *cqe = (const char *)(uintptr_t)cq->entries +
			  (uint64_t)((uint32_t)cq->next & cq->mask) *
			  gda_cqe_bytes(cq->dialect);
	/* pairs with the executor's release of this word */
	uint32_t last = gda_nic_load32(gda_cqe_last(cq->dialect, (uintptr_t)cqe));

	if (!gda_cqe_is_new(cq->dialect, last, cq->next, cq->mask))
		return 0;
	gda_cqe_read(cq->dialect, cqe, last, entry);
	cq->next++;
	/* the entry was read; pairs with the executor's acquire before it writes a new one there */
	gda_nic_store32((uint32_t *)(uintptr_t)cq->record,
			gda_cqe_record(cq->dialect, cq->next));
	return 1;
}

/**
 * gda_cq_poll - take the next entry, if there is one
 * @cq: the ring
 * @entry: receives the entry, if there is one
 *
 * A ring that completes the work of views (see gda_qp_view()) may be polled by any number of
 * threads; it credits the views as it goes, and does not return entries that a wait has taken. Any
 * other ring is for one thread at a time. The call never waits. The inline function fills in the
 * structure that it was compiled with; the library's function checks its size.
 *
 * Return: 1 if there was one, else 0. The library's function also returns -EINVAL or -E2BIG for the
 * structure's size, and takes nothing.
 */
GDA_SIZED_API int gda_cq_poll(struct gda_cq_view *cq, struct gda_cq_entry *entry)
{
	if (gda_unlikely(GDA_HERE(cq->caps, 0) & GDA_VIEW_RING))
		return GDA_HERE(gda_cq_reserve(cq, entry, sizeof(*entry)), 0);
	return gda_cq_next(cq, entry);
}

/* The checks of gda_cq_wait() besides the ring itself, once in many polls. */
GDA_HELPER int gda_cq_expired(const struct gda_cq_view *cq, int first, uint64_t *deadline)
{
	uint64_t now = gda_clock_ns();

	if (cq->error)
		return -(int)cq->error;
	if (!*deadline)
		*deadline = now + 1000000000U;
	if (now < *deadline)
		return 0;
	return first && now - *deadline > GDA_LONG_AGO_NS ? -ETIME : -ETIMEDOUT;
}

/**
 * gda_cq_wait - take the next entry, waiting for it
 * @cq: the ring
 * @entry: receives the entry
 * @deadline: in ns of gda_clock_ns(); 0: one second from now
 *
 * It spins; gda_cq_sleep() sleeps. As gda_cq_poll(), it is for one thread at a time. After a
 * failure gda_last_error() says why, on a CPU.
 *
 * Return: 0; -ETIMEDOUT no entry came before the deadline; -ETIME no entry came, and the deadline
 * was more than a second past when the wait began: was a relative one passed? -EIO this process is
 * a child of the one that created the CQ. The library's function also returns -EINVAL or -E2BIG for
 * the structure's size.
 */
GDA_SIZED_API int gda_cq_wait(struct gda_cq_view *cq, struct gda_cq_entry *entry,
			      uint64_t deadline)
{
	unsigned int polls;

	for (polls = 0;; polls++) {
		if (gda_cq_poll(cq, entry))
			return 0;
		if (polls % GDA_RING_POLLS == 0) {
			int err = gda_cq_expired(cq, !polls, &deadline);

			if (err)
				return GDA_HERE(gda_cq_wait_failed(cq, err), err);
		}
		GDA_HERE(gda_cq_relax(cq, polls + 1), gda_pause());
	}
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif /* GDA_RING_H */
