// SPDX-License-Identifier: MIT
/*
 * Explains this thread's last failed wait, for gda_last_error(). The inline waits of the headers
 * end here when they fail, and only then.
 *
 * A failed wait reads only its view, because its caller may wait again and again with short
 * deadlines. gda_last_error() queries the device when the text is read, unless any queue was
 * destroyed since, which might be this one. gda_waited_lock guards the number of destroyed queues,
 * and is held during the query, so that the queue stays; the device's own locks nest inside it. It
 * is held while the process forks.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <gda/fastpath.h>
#include <gda/gin.h>
#include <gda/ring.h>
#include "gda_internal.h"

#define GDA_WAITED_TEXT	256

static pthread_mutex_t gda_waited_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long gda_waited_gone;	/* queues that were destroyed */

/*
 * The wait that failed last. @v: its view, if the device can be queried; NULL: the text is
 * complete.
 */
static _Thread_local struct {
	struct gda_view *v;
	int64_t ticket;
	unsigned long gone;
	unsigned long text;		/* its number, see gda_last_text() */
} gda_waited;

void gda_waited_hold(void)
{
	pthread_mutex_lock(&gda_waited_lock);
}

void gda_waited_release(void)
{
	pthread_mutex_unlock(&gda_waited_lock);
}

void gda_waited_destroyed(void)
{
	pthread_mutex_lock(&gda_waited_lock);
	__atomic_fetch_add(&gda_waited_gone, 1, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&gda_waited_lock);
}

/*
 * Write what the device says now about the wait that failed last. Return: whether it said anything.
 */
static bool gda_waited_ask(char *text, size_t len)
{
	struct gda_view *v = gda_waited.v;
	int why = -ENOENT;

	gda_waited.v = NULL;
	pthread_mutex_lock(&gda_waited_lock);
	if (gda_waited.gone == gda_waited_gone)
		why = gda_explain_at_once(v, gda_waited.ticket, text, len);
	pthread_mutex_unlock(&gda_waited_lock);
	return why > 0;
}

GDA_EXPORT const char *gda_last_error(void)
{
	unsigned long number;
	const char *last = gda_last_text(&number);
	char text[GDA_LAST_TEXT];

	if (gda_waited.v && gda_waited.text == number && gda_waited_ask(text, sizeof(text)))
		gda_last_text_add(text);
	return last;
}

int gda_because_last(int err)
{
	return err ? gda_because(err, "%s", gda_last_error()) : 0;
}

static const char *gda_waited_end(int err)
{
	switch (err) {
	case -ETIMEDOUT:
		return "not at the deadline";
	case -ETIME:
		return "the deadline was long past when the wait began: it is absolute, add gda_clock_ns()";
	case -ESHUTDOWN:
		return "aborted: the device is gone, the context was shut down, or a rank is lost (gda_comm_failed() names it)";
	default:
		return gda_strerror(err);
	}
}

/* Explain a queue that has failed at this ticket or before it. */
static void gda_waited_error(const struct gda_view *v, int64_t ticket, char *text, size_t len)
{
	uint64_t at = gda_load_acquire64(&v->error_index);
	uint64_t why = gda_load_relaxed64(&v->error);
	const char *what = gda_syndrome_name_in(v->dialect, (uint32_t)why & 0xff);
	const char *cause = gda_vendor_name((uint32_t)(why >> 8));

	if (gda_cqe_unordered(v->dialect) && ticket >= 0 && ticket != (int64_t)at)
		snprintf(text, len, "%s; ticket %lld failed first: %s",
			 gda_cqe_outcome(v->dialect, v, (uint64_t)ticket) == -EIO ? "failed" :
			 "was flushed", (long long)at, what);
	else if (ticket == (int64_t)at)
		snprintf(text, len, "failed: %s: %s%s", what, cause,
			 gda_cause_remedy((uint32_t)(why >> 8)));
	else
		snprintf(text, len, "was not carried out, for ticket %lld failed before: %s: %s",
			 (long long)at, what, cause);
}

static void gda_waited_note(struct gda_view *v, int64_t ticket)
{
	/* a queue that the program made itself has no device to query */
	gda_waited.v = v->owner ? v : NULL;
	gda_waited.ticket = ticket;
	gda_last_text(&gda_waited.text);
	gda_waited.gone = __atomic_load_n(&gda_waited_gone, __ATOMIC_RELAXED);
}

GDA_EXPORT int gda_wait_failed(struct gda_view *v, int64_t ticket, int err)
{
	unsigned long long next = gda_load_relaxed64(&v->reserved);
	char text[GDA_WAITED_TEXT];
	int saved = errno;

	if (ticket < 0)
		snprintf(text, sizeof(text), "the ticket is an error of the post: %s",
			 gda_strerror(err));
	else if (gda_view_is_inherited(v))
		snprintf(text, sizeof(text), "QP %#x: %s: open one in this process", v->qpn,
			 gda_vendor_name(GDA_CAUSE_FORK));
	else if (err == -EINVAL)
		snprintf(text, sizeof(text),
			 "ticket %lld was never posted to QP %#x: the next one is %llu",
			 (long long)ticket, v->qpn, next);
	else if (err == -EIO || err == -ECANCELED)
		gda_waited_error(v, ticket, text, sizeof(text));
	else
		snprintf(text, sizeof(text), "%s", gda_waited_end(err));
	if (ticket >= 0 && err != -EINVAL && !gda_view_is_inherited(v))
		gda_said("gda_wait: ticket %lld of QP %#x: %s", (long long)ticket, v->qpn, text);
	else
		gda_said("gda_wait: %s", text);
	if (ticket >= 0 && (err == -ETIMEDOUT || err == -ETIME))
		gda_waited_note(v, ticket);
	errno = saved;
	return err;
}

/* Called when a post that waited for room has failed. */
GDA_EXPORT int gda_post_failed(struct gda_view *v, int err)
{
	uint64_t oldest = gda_load_relaxed64(&v->completed);
	char text[GDA_WAITED_TEXT];
	int saved = errno;

	if (err == -EIO)
		gda_waited_error(v, -1, text, sizeof(text));
	else
		snprintf(text, sizeof(text), "%s", gda_waited_end(err));
	if (err == -EIO)
		gda_said("a post to QP %#x %s", v->qpn, text);
	else
		gda_said("a post to QP %#x: no room in its %u slots: %s", v->qpn, v->mask + 1,
			 text);
	if (err == -ETIMEDOUT)
		gda_waited_note(v, (int64_t)oldest);
	errno = saved;
	return err;
}

GDA_EXPORT int gda_wait_word_failed(const char *call, uint64_t holds, uint64_t value, int err)
{
	int saved = errno;

	if (err == -EINVAL)
		gda_said("%s: the comparison is unknown: pass a value of its enumeration", call);
	else if (err == -EIO)
		gda_said("%s: a queue has failed while it waited: gda_error() of each says why",
			 call);
	else
		gda_said("%s: the word holds %#llx, and is compared with %#llx: %s", call,
			 (unsigned long long)holds, (unsigned long long)value,
			 gda_waited_end(err));
	errno = saved;
	return err;
}

GDA_EXPORT int gda_cq_wait_failed(struct gda_cq_view *cq, int err)
{
	int saved = errno;

	if (cq->error)
		gda_said("gda_cq_wait: %s", gda_vendor_name(GDA_CAUSE_FORK));
	else
		gda_said("gda_cq_wait: no entry has come since entry %llu: %s",
			 (unsigned long long)cq->next, gda_waited_end(err));
	errno = saved;
	return err;
}
