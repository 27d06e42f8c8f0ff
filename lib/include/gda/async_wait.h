/* SPDX-License-Identifier: MIT */
/*
 * Waits of gda/async.h: for all of a session, for an event and all before it, and for a word
 * that a peer's notification changes. Included by gda/async.h.
 *
 * Every wait ends: with completion, with an error of the awaited copies, with -ESHUTDOWN when the
 * peer is lost or the queue's abort word is set, or at its deadline. Deadlines are those of
 * gda_wait(): in ns of gda_clock_ns(); 0 means gda_async_attr.timeout_ns from now.
 */
#ifndef GDA_ASYNC_WAIT_H
#define GDA_ASYNC_WAIT_H

#include <gda/async_session.h>

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/* A queue that failed earlier reports -ECANCELED for later work: an error all the same. */
GDA_HELPER int gda_async_error(int err)
{
	return err == -ECANCELED ? -EIO : err;
}

/* Is this an error of a work request, with which that has ended? */
GDA_HELPER int gda_async_is_final(int err)
{
	return err == -EIO || err == -ECANCELED;
}

/*
 * Like gda_test_through(), but ring the doorbell for deferred posts first, because repeated tests
 * must end, too. An entry of the history stands for all of its call: in a dialect without
 * %GDA_CAN_ORDER, too, so every wait here is for all tickets up to the entry's.
 */
GDA_HELPER int gda_async_poll(struct gda_view *v, int64_t ticket)
{
	int done = gda_test_through(v, ticket);

	if (!done && gda_load_relaxed64(&v->deferred) >> 1 > (uint64_t)ticket)
		gda_flush(v);
	return done;
}

/* The oldest entry of the history has ended. */
GDA_HELPER void gda_async_end(struct gda_async_session *s, int err)
{
	if (err < 0 && s->broken == UINT64_MAX)
		s->broken = s->done;
	if (err < 0 && !s->failed)
		s->failed = gda_async_error(err);
	s->done++;
}

/*
 * Wait until all entries of the history below @until have ended, in order. Return: 0, also if they
 * failed, which is noted; or the error of the wait.
 */
GDA_SLOW int gda_async_retire(struct gda_async_session *s, uint64_t until, uint64_t deadline)
{
	while (s->done < until) {
		uint64_t word = *gda_async_history(s, s->done);
		struct gda_view *v = gda_async_view(s, word & GDA_ASYNC_QUEUE_MASK);
		int64_t ticket = (int64_t)(word >> GDA_ASYNC_QUEUE_BITS);
		int err = gda_test_through(v, ticket);

		if (!err) {
			if (!deadline)
				deadline = gda_clock_ns() + gda_async_of(s)->timeout_ns;
			err = gda_wait_through(v, ticket, deadline);
		} else if (err > 0) {
			err = 0;
		}
		if (err && !gda_async_is_final(err))
			return err;
		gda_async_end(s, err);
	}
	return 0;
}

/* The same without waiting. Return: 1 all have ended; 0 not yet. */
GDA_SLOW int gda_async_retire_done(struct gda_async_session *s, uint64_t until)
{
	while (s->done < until) {
		uint64_t word = *gda_async_history(s, s->done);
		int done = gda_async_poll(gda_async_view(s, word & GDA_ASYNC_QUEUE_MASK),
					  (int64_t)(word >> GDA_ASYNC_QUEUE_BITS));

		if (!done)
			return 0;
		gda_async_end(s, done);
	}
	return 1;
}

/* Have all entries up to @event succeeded? All of them have ended. */
GDA_HELPER int gda_async_result(const struct gda_async_session *s, uint64_t event)
{
	return s->broken < event ? -EIO : 0;
}

/*
 * Wait for the flag that was posted to @v: for its word, because earlier copies have arrived then,
 * and for its ticket, because until then the device may write the word, which belongs to the caller
 * when the session has ended.
 */
GDA_HELPER int gda_async_flag_wait(struct gda_view *v, const uint64_t *word, uint64_t value,
				   int64_t ticket, uint64_t deadline)
{
	unsigned int polls;
	int err = 0;

	for (polls = 1; !err && gda_nic_load64(word) != value; polls++) {
		gda_rest(v, polls, GDA_RELAX_DONE);
		err = gda_expired(v, polls, &deadline);
		if (!err && polls % GDA_POLLS == 0 && gda_test(v, ticket) < 0)
			err = -EIO;
	}
	return err ? err : gda_async_error(gda_wait(v, ticket, deadline));
}

/*
 * Post a flag behind everything in each queue of @used, and poll the flags' words (P-09). The
 * scratch may have any content, also flags of an earlier session: so values start from the clock,
 * and a word is set to another value before its flag is posted.
 */
GDA_SLOW int gda_async_flags(struct gda_async_session *s, uint64_t used, uint64_t deadline)
{
	uint64_t value, iova = 0;
	uint32_t key = 0, q;
	int64_t ticket;
	int err = 0, e;

	s->flag = s->flag ? s->flag + 1 : gda_clock_ns() | 1;
	value = s->flag;
	if (!deadline)
		deadline = gda_clock_ns() + gda_async_of(s)->timeout_ns;
	for (q = 0; q < s->queues; q++) {
		uint64_t *word = gda_async_flag(s, q), bit = 1ULL << q;
		struct gda_view *v = gda_async_view(s, q);

		if (!((used | s->flagged) & bit))
			continue;
		gda_chunk_span(gda_async_map(s, s->peer), (uintptr_t)word, 8, &iova, &key);
		gda_nic_store64(word, ~value);
		/* in no order a flag follows what is done */
		e = gda_view_unordered(v) ? gda_quiet(v, deadline) : 0;
		ticket = e ? e : gda_put_value(v, iova, key, value, 0);
		if (ticket >= 0)
			s->flagged |= bit;
		e = ticket < 0 ? (int)ticket :
				 gda_async_flag_wait(v, word, value, ticket, deadline);
		if (!e || gda_async_is_final(e))
			s->flagged &= ~bit;
		err = err ? err : e;
	}
	return err;
}

/* The queues with entries that have not ended. */
GDA_HELPER uint64_t gda_async_used(const struct gda_async_session *s)
{
	uint64_t used = 0, i;

	if (s->view)
		return 1;
	for (i = s->done; i < s->posted; i++)
		used |= 1ULL << (*gda_async_history(s, i) & GDA_ASYNC_QUEUE_MASK);
	return used;
}

/* Wait for the only queue of a session. Return: 0, also if the queue failed, which is noted. */
GDA_HELPER int gda_async_wait_only(struct gda_async_session *s, uint64_t deadline)
{
	int err = gda_wait_through((struct gda_view *)(uintptr_t)s->view, s->last, deadline);

	if (err && !gda_async_is_final(err))
		return err;
	s->done = (uint64_t)s->last + 1;
	s->failed = s->failed ? s->failed : gda_async_error(err);
	return 0;
}

/* gda_async_wait() of any session. */
GDA_SLOW int gda_async_wait_all(struct gda_async_session *s, uint64_t deadline)
{
	int err = 0;

	if ((uint64_t)gda_async_newest(s) != s->done || gda_unlikely(s->flagged)) {
		if (s->flags & GDA_ASYNC_FLAG_WAIT)
			err = gda_async_flags(s, gda_async_used(s), deadline);
		if (err && err != -EIO)
			return err;
		s->failed = s->failed ? s->failed : err;
		err = s->view ? gda_async_wait_only(s, deadline) :
				gda_async_retire(s, s->posted, deadline);
		if (err)
			return err;
	}
	err = s->failed;
	s->failed = 0;
	s->ready = gda_async_ready(s);
	return err;
}

/**
 * gda_async_wait - wait until all of a session is done (P-09, P-10, P-11)
 * @s: the session
 * @deadline: in ns of gda_clock_ns(); 0: gda_async_attr.timeout_ns from now
 *
 * Covers all calls since the last wait: the bytes of gets have arrived, and sources of puts may be
 * changed. With %GDA_ASYNC_FLAG_WAIT the wait posts a flag to each queue and polls its word; the
 * scratch belongs to the caller again when it has returned 0.
 *
 * Return: 0; -EIO a copy failed, and all have ended; the errno of a post that failed; -ETIMEDOUT,
 * -ETIME not done at the deadline, and the next wait covers it, too; -ESHUTDOWN the peer is lost.
 */
GDA_API int gda_async_wait(struct gda_async_session *s, uint64_t deadline)
{
	struct gda_view *v = (struct gda_view *)(uintptr_t)s->ready;
	uint64_t last = (uint64_t)s->last;

	if (!gda_unlikely(!v) &&
	    gda_cqe_done(GDA_WQE_FIRST, v, gda_poll_as(GDA_WQE_FIRST, v, 0), last) &&
	    last < gda_load_acquire64(&v->error_index))
		return 0;
	return gda_async_wait_all(s, deadline);
}

/**
 * gda_async_wait_for - wait until an event and all before it are done
 * @s: the session that it is of
 * @event: the event
 * @deadline: in ns of gda_clock_ns(); 0: gda_async_attr.timeout_ns from now
 *
 * It never waits for later copies.
 *
 * Return: 0, at once if the event is 0; -EIO the event, or an earlier one, failed; -EINVAL the
 * session has not had this event; a negative event itself; -ETIMEDOUT, -ETIME not done at the
 * deadline; -ESHUTDOWN the peer is lost.
 */
GDA_API int gda_async_wait_for(struct gda_async_session *s, struct gda_async_event event,
			       uint64_t deadline)
{
	int err;

	if (event.handle <= 0)
		return (int)event.handle;
	if (gda_unlikely(event.handle > gda_async_newest(s)))
		return -EINVAL;
	if (s->view)
		return gda_wait_through((struct gda_view *)(uintptr_t)s->view, event.handle - 1,
					deadline);
	err = gda_async_retire(s, (uint64_t)event.handle, deadline);
	return err ? err : gda_async_result(s, (uint64_t)event.handle);
}

/**
 * gda_async_test - test whether an event and all before it are done
 * @s: the session that it is of
 * @event: the event
 *
 * Rings the doorbell for deferred posts. Never waits.
 *
 * Return: 1 done, also if the event is 0; 0 not yet; a negative event itself; -EIO it, or an
 * event before it, failed; -EINVAL the session has not had this event.
 */
GDA_API int gda_async_test(struct gda_async_session *s, struct gda_async_event event)
{
	int done;

	if (event.handle <= 0)
		return event.handle ? (int)event.handle : 1;
	if (gda_unlikely(event.handle > gda_async_newest(s)))
		return -EINVAL;
	if (s->view)
		return gda_async_error(gda_async_poll((struct gda_view *)(uintptr_t)s->view,
						      event.handle - 1));
	if (!gda_async_retire_done(s, (uint64_t)event.handle))
		return 0;
	done = gda_async_result(s, (uint64_t)event.handle);
	return done ? done : 1;
}

/**
 * enum gda_async_compare - comparisons of gda_async_wait_word(), of unsigned numbers
 * @GDA_ASYNC_EQ: the word is equal to the value
 * @GDA_ASYNC_NE: it is not
 * @GDA_ASYNC_GT: it is greater
 * @GDA_ASYNC_GE: it is greater or equal
 * @GDA_ASYNC_LT: it is less
 * @GDA_ASYNC_LE: it is less or equal
 */
enum gda_async_compare {
	GDA_ASYNC_EQ = 0,
	GDA_ASYNC_NE = 1,
	GDA_ASYNC_GT = 2,
	GDA_ASYNC_GE = 3,
	GDA_ASYNC_LT = 4,
	GDA_ASYNC_LE = 5,
};

GDA_HELPER int gda_async_holds(uint64_t word, uint32_t compare, uint64_t value)
{
	switch (compare) {
	case GDA_ASYNC_EQ:
		return word == value;
	case GDA_ASYNC_NE:
		return word != value;
	case GDA_ASYNC_GT:
		return word > value;
	case GDA_ASYNC_GE:
		return word >= value;
	case GDA_ASYNC_LT:
		return word < value;
	default:
		return word <= value;
	}
}

/* Has a queue of the session failed? Each call checks another queue. */
GDA_HELPER int gda_async_failed(const struct gda_async_session *s, unsigned int turn)
{
	struct gda_view *v = gda_async_view(s, turn % (s->queues * s->peers));

	gda_progress(v);
	gda_poll(v, 0);
	if (gda_load_acquire64(&v->error_index) != GDA_NO_ERROR)
		return -EIO;
	return gda_nic_load32((const uint32_t *)(uintptr_t)v->abort) ? -ESHUTDOWN : 0;
}

/**
 * gda_async_wait_word - wait until a word of this rank compares with a value
 * @s: a session, whose queues' errors end the wait
 * @word: the word, changed by gda_async_notify() of a peer or by another thread
 * @compare: enum gda_async_compare
 * @value: value to compare the word with
 * @deadline: in ns of gda_clock_ns(); 0: gda_async_attr.timeout_ns from now
 *
 * Everything that the peer put before its notification is visible when the wait returns 0.
 *
 * Return: 0; -EINVAL @compare is none; -EIO a queue of the session failed; -ESHUTDOWN a peer is
 * lost; -ETIMEDOUT, or -ETIME if the deadline was long past when the wait began.
 */
GDA_API int gda_async_wait_word(struct gda_async_session *s, const uint64_t *word,
				uint32_t compare, uint64_t value, uint64_t deadline)
{
	struct gda_view *v = gda_async_view(s, 0);
	unsigned int polls;
	int err = 0;

	if (gda_unlikely(compare > GDA_ASYNC_LE))
		return -EINVAL;
	for (polls = 1;; polls++) {
		if (gda_async_holds(gda_nic_load64(word), compare, value))
			return 0;
		if (err)
			return GDA_HERE(gda_wait_word_failed("gda_async_wait_word",
							     gda_nic_load64(word), value, err), err);
		if (polls % GDA_POLLS == 0) {
			if (!deadline)
				deadline = gda_clock_ns() + gda_async_of(s)->timeout_ns;
			err = gda_async_failed(s, polls / GDA_POLLS);
		}
		gda_rest(v, polls, GDA_RELAX_ROOM);
		if (!err)
			err = gda_expired(v, polls, &deadline);
	}
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif /* GDA_ASYNC_WAIT_H */
