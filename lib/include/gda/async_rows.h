/* SPDX-License-Identifier: MIT */
/*
 * Copies of rows at a pitch, and the prefetch hint. Included by gda/async.h.
 */
#ifndef GDA_ASYNC_ROWS_H
#define GDA_ASYNC_ROWS_H

#include <gda/async.h>

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/**
 * struct gda_async_rows - rows of equal length at a pitch
 * @size: sizeof(struct gda_async_rows)
 * @rows: number of rows
 * @dst: address of the first row's destination
 * @dst_pitch: bytes from one row to the next there, at least @bytes
 * @src: address of the first row's source
 * @src_pitch: bytes from one row to the next there, at least @bytes
 * @bytes: of a row, less than 2^30
 */
struct gda_async_rows {
	uint32_t size;
	uint32_t rows;
	uint64_t dst;
	uint64_t dst_pitch;
	uint64_t src;
	uint64_t src_pitch;
	uint64_t bytes;
};

/* Bytes from the first row to the end of the last; 0 if rows overlap, or if the range wraps. */
GDA_HELPER uint64_t gda_async_extent(const struct gda_async_rows *r, uint64_t pitch)
{
	uint64_t before = r->rows - 1ULL;

	if (pitch < r->bytes || r->bytes >= GDA_CHUNK_MAX ||
	    (before && pitch > (UINT64_MAX / 2 - r->bytes) / before))
		return 0;
	return before * pitch + r->bytes;
}

/*
 * Find the first row of a copy, all of whose rows must be in one window on either side. Return: 0,
 * or why not.
 */
GDA_HELPER uint32_t gda_async_resolve_rows(struct gda_async_session *s, uint32_t engine,
					   const struct gda_async_rows *r,
					   struct gda_async_move *m)
{
	uint64_t dst = gda_async_extent(r, r->dst_pitch), src = gda_async_extent(r, r->src_pitch);

	if (!dst || !src)
		return GDA_ASYNC_WHY_PITCH;
	m->bytes = m->put ? src : dst;
	m->extent = m->put ? dst : src;
	return gda_async_resolve(s, engine, m->put ? r->src : r->dst, m->put ? r->dst : r->src, m);
}

/* Post all rows to one queue, and ring the doorbell for the last one. */
GDA_HELPER struct gda_async_event gda_async_send_rows(struct gda_async_session *s,
						      const struct gda_async_rows *r,
						      struct gda_async_move *m,
						      unsigned int flags)
{
	uint64_t lpitch = m->put ? r->src_pitch : r->dst_pitch;
	uint64_t rpitch = m->put ? r->dst_pitch : r->src_pitch;
	uint32_t queue = gda_async_turn(s, m->first), i;
	struct gda_view *v = gda_async_view(s, queue);
	int64_t last = -1, ticket = gda_async_room(s, flags);

	for (i = 0; i < r->rows && ticket >= 0; i++) {
		ticket = gda_post(v, gda_async_wr(m, 0, (uint32_t)r->bytes),
				  i + 1 < r->rows ? flags | GDA_DEFER : flags);
		last = ticket < 0 ? last : ticket;
		m->laddr += lpitch;
		m->raddr += rpitch;
	}
	if (last >= 0 && s->view)
		s->last = last;
	else if (last >= 0)
		*gda_async_history(s, s->posted++) = (uint64_t)last << GDA_ASYNC_QUEUE_BITS |
						     queue;
	if (ticket < 0)
		return gda_async_lost(s, ticket);
	return gda_async_event(gda_async_newest(s));
}

GDA_SLOW struct gda_async_event gda_async_copy_rows(struct gda_async_session *s, uint32_t engine,
						    const struct gda_async_rows *r, uint32_t put,
						    unsigned int flags)
{
	const char *call = put ? "gda_async_put_rows" : "gda_async_get_rows";
	struct gda_async_move m;
	uint32_t why;

	if (!r->rows || !r->bytes)
		return gda_async_event(0);
	if (r->dst_pitch == r->bytes && r->src_pitch == r->bytes &&
	    r->bytes <= UINT64_MAX / r->rows)
		return gda_async_copy_any(s, engine,
					  gda_async_asked(r->dst, r->src, r->rows * r->bytes, put),
					  flags);
	m.put = gda_async_is_put(s, engine, put);
	why = gda_async_resolve_rows(s, engine, r, &m);
	if (why)
		return gda_async_none(s, call, why);
	return gda_async_send_rows(s, r, &m, flags);
}

/**
 * gda_async_get_rows - copy rows from the peer to this rank, with one doorbell
 * @s: the session
 * @engine: %GDA_ASYNC_COPY, %GDA_ASYNC_PEER or GDA_ASYNC_PEERS()
 * @rows: the rows, their source and their destination; not used after the call
 * @flags: GDA_*
 *
 * All rows have one event and go to one queue. The doorbell is rung once, behind the last row, and
 * whenever the rows fill the queue. Rows without gaps on both sides are one copy, as by
 * gda_async_get().
 *
 * Return: as gda_async_get().
 */
GDA_SIZED_API struct gda_async_event gda_async_get_rows(struct gda_async_session *s,
							uint32_t engine,
							const struct gda_async_rows *rows,
							unsigned int flags)
{
	gda_check_flags(flags);
	return gda_async_copy_rows(s, engine, rows, 0, flags);
}

/**
 * gda_async_put_rows - copy rows from this rank to the peer, with one doorbell
 * @s: the session
 * @engine: %GDA_ASYNC_COPY, %GDA_ASYNC_PEER or GDA_ASYNC_PEERS()
 * @rows: the rows, their source and their destination; not used after the call
 * @flags: GDA_*
 *
 * All rows have one event and go to one queue. The doorbell is rung once, behind the last row, and
 * whenever the rows fill the queue. Rows without gaps on both sides are one copy, as by
 * gda_async_put().
 *
 * Return: as gda_async_put().
 */
GDA_SIZED_API struct gda_async_event gda_async_put_rows(struct gda_async_session *s,
							uint32_t engine,
							const struct gda_async_rows *rows,
							unsigned int flags)
{
	gda_check_flags(flags);
	return gda_async_copy_rows(s, engine, rows, 1, flags);
}

/* The largest part of a range that is prefetched, a cache line at a time. */
#define GDA_ASYNC_PREFETCH_BYTES	4096U
#define GDA_ASYNC_LINE_BYTES		64U

/**
 * gda_async_prefetch - announce that the poster will copy, or read, a range
 * @s: the session
 * @engine: %GDA_ASYNC_COPY, %GDA_ASYNC_PEER or GDA_ASYNC_PEERS()
 * @src: the range
 * @bytes: length in bytes
 *
 * This is a hint. With %GDA_ASYNC_COPY, on a CPU, the first 4096 bytes are fetched into the
 * poster's cache; otherwise the range is only checked. Nothing is posted, and no wait covers it.
 *
 * Return: the event 0, which is complete; gda_async_session.refused is set if a copy of the
 * range would be refused.
 */
GDA_API struct gda_async_event gda_async_prefetch(struct gda_async_session *s, uint32_t engine,
						  const void *src, uint64_t bytes)
{
	uint64_t addr = (uintptr_t)src, at;
	uint32_t first, why = gda_async_route(s, engine, &first);
	struct gda_chunk window;

	if (!bytes)
		return gda_async_event(0);
	if (!why && !gda_async_find(s, s->peer + first / s->queues, addr, bytes, &window))
		why = addr ? GDA_ASYNC_WHY_SRC : GDA_ASYNC_WHY_NULL;
	if (why)
		return gda_async_none(s, "gda_async_prefetch", why);
	if ((engine & 0xff) != GDA_ASYNC_COPY)
		return gda_async_event(0);
	if (bytes > GDA_ASYNC_PREFETCH_BYTES)
		bytes = GDA_ASYNC_PREFETCH_BYTES;
	for (at = 0; at < bytes; at += GDA_ASYNC_LINE_BYTES)
		GDA_HERE(__builtin_prefetch((const void *)(uintptr_t)(addr + at)), (void)addr);
	return gda_async_event(0);
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif /* GDA_ASYNC_ROWS_H */
