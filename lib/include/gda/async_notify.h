/* SPDX-License-Identifier: MIT */
/*
 * Notifications: a word of the peer that tells that everything the session put before has arrived.
 * Included by gda/async.h; gda_async_wait_word() waits for such a word.
 */
#ifndef GDA_ASYNC_NOTIFY_H
#define GDA_ASYNC_NOTIFY_H

#include <gda/async.h>

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/**
 * enum gda_async_change - the change that a notification makes to its word
 * @GDA_ASYNC_SET: store the value
 * @GDA_ASYNC_ADD: add the value, modulo 2^64
 */
enum gda_async_change {
	GDA_ASYNC_SET = 0,
	GDA_ASYNC_ADD = 1,
};

/* The address of the 8 bytes in which queue @queue of a session stores an atomic's old value. */
GDA_HELPER uint64_t gda_async_stage(const struct gda_async_session *s, uint32_t queue)
{
	const struct gda_async_workspace *w = gda_async_of(s);

	return w->stage + (s->views - w->views) + 8ULL * queue;
}

/*
 * Wait until everything put to a peer through its queues from @first on, except through @own, has
 * arrived. A read posted behind it tells, because it is later work of the same queue. Its source is
 * a word of the peer that is never written, behind the windows of its map. In a dialect without
 * %GDA_CAN_ORDER the notification and the read may only be posted when what is before them is done.
 */
GDA_SLOW int gda_async_settle(struct gda_async_session *s, uint32_t first, uint32_t own,
			      unsigned int flags)
{
	const struct gda_chunk_map *map = gda_async_map(s, s->peer + first / s->queues);
	const struct gda_chunk *c = (const struct gda_chunk *)(uintptr_t)map->chunks + map->count;
	uint64_t deadline = gda_clock_ns() + gda_async_of(s)->timeout_ns;
	uint32_t key = gda_async_of(s)->stage_key, q;
	int err = 0;

	for (q = first; !err && q < first + s->queues; q++) {
		struct gda_view *v = gda_async_view(s, q);
		int64_t ticket;

		if (!gda_handed_out(v))
			continue;
		if (gda_view_unordered(v))
			err = gda_async_error(gda_quiet(v, deadline));
		if (err || q == own)
			continue;
		ticket = gda_get(v, gda_async_stage(s, q), key, c->iova, c->key, 8, flags);
		err = gda_async_error(gda_wait(v, ticket, deadline));
	}
	return err;
}

/*
 * Wait for everything that must arrive before a notification may be posted. Copies that are reads
 * of a loopback queue may arrive after later work, and so may copies of other queues if there are
 * several. A copy that could not be posted is an error: the peer must not be notified of it.
 */
GDA_HELPER int gda_async_before(struct gda_async_session *s, uint32_t first, uint32_t own,
				unsigned int flags)
{
	int err = 0;

	if (s->engine == GDA_ASYNC_COPY && !(s->flags & GDA_ASYNC_FLAG_WAIT)) {
		if (s->view && s->last >= 0)
			err = gda_wait_through((struct gda_view *)(uintptr_t)s->view, s->last, 0);
		else if (!s->view)
			err = gda_async_retire(s, s->posted, 0);
	} else if (s->queues > 1 || gda_view_unordered(gda_async_view(s, own))) {
		err = gda_async_settle(s, first, own, flags);
	}
	return err ? gda_async_error(err) : s->failed;
}

/**
 * gda_async_notify - change a word of the peer after all earlier puts (P-15)
 * @s: the session
 * @engine: %GDA_ASYNC_COPY, %GDA_ASYNC_PEER or GDA_ASYNC_PEERS()
 * @word: the word, a multiple of 8, in a window of the peer, at the address that it has there
 * @change: enum gda_async_change
 * @value: stored or added, in the poster's byte order
 * @flags: GDA_*
 *
 * A load of the word with acquire order that sees the change, as by gda_async_wait_word(), sees all
 * that the session put to that peer before. With one queue to a peer the notification is one work
 * request behind the others, and this call does not wait; with several queues, and with
 * %GDA_ASYNC_COPY, it first waits until earlier puts have arrived, at most
 * gda_async_attr.timeout_ns. So it does in a dialect without %GDA_CAN_ORDER; without
 * %GDA_CAN_ATOMIC %GDA_ASYNC_ADD is refused.
 *
 * Return: as gda_async_put(); negative also if an awaited put failed: the word is then unchanged.
 */
GDA_API struct gda_async_event gda_async_notify(struct gda_async_session *s, uint32_t engine,
						uint64_t *word, uint32_t change, uint64_t value,
						unsigned int flags)
{
	uint32_t first, own, why = gda_async_route(s, engine, &first);
	uint64_t addr = (uintptr_t)word, at;
	struct gda_chunk c;
	int err;

	gda_check_flags(flags);
	if (!why && !gda_async_find(s, s->peer + first / s->queues, addr, 8, &c))
		why = addr ? GDA_ASYNC_WHY_DST : GDA_ASYNC_WHY_NULL;
	if (!why && (addr % 8 || change > GDA_ASYNC_ADD))
		why = GDA_ASYNC_WHY_WORD;
	if (why)
		return gda_async_none(s, "gda_async_notify", why);
	own = gda_async_turn(s, first);
	if (change == GDA_ASYNC_ADD && gda_view_unordered(gda_async_view(s, own)))
		return gda_async_none(s, "gda_async_notify", GDA_ASYNC_WHY_ATOMIC);
	err = gda_async_before(s, first, own, flags);
	if (err)
		return gda_async_lost(s, err);
	at = gda_async_iova(&c, addr);
	err = gda_async_send(s, own, change == GDA_ASYNC_SET ?
			     gda_wr_value(at, c.key, value) :
			     gda_wr_fetch_add(gda_async_stage(s, own), gda_async_of(s)->stage_key,
					      at, c.key, value), flags);
	return err ? gda_async_lost(s, err) : gda_async_event(gda_async_newest(s));
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif /* GDA_ASYNC_NOTIFY_H */
