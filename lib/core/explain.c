// SPDX-License-Identifier: MIT
/*
 * Why a ticket is not done: what the view says, what the doorbell's record says, and what the
 * device says of its queue, in the order in which work goes through them. Nothing here changes
 * state. The only wait is a short one, in which a running worker visits all its queues once.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <gda/fastpath.h>
#include "gda_internal.h"

/*
 * A running worker visits all its queues far more often; that of the in-process device sleeps 1 ms.
 */
#define GDA_EXPLAIN_MOMENT_NS	20000000L

struct gda_explanation {
	struct gda_view *v;
	uint64_t ticket;
	struct gda_qp_query q;
	uint64_t rung;			/* slots below were rung */
	bool at_once;			/* skip the wait for a round of the worker */
	char *buf;
	size_t len;
};

static int gda_say(struct gda_explanation *e, enum gda_why why, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Write "ticket N: " and the text. Return: @why. */
static int gda_say(struct gda_explanation *e, enum gda_why why, const char *format, ...)
{
	va_list args;
	int n = snprintf(e->buf, e->len, "ticket %llu: ", (unsigned long long)e->ticket);

	if (n < 0 || (size_t)n >= e->len)
		return (int)why;
	va_start(args, format);
	vsnprintf(e->buf + n, e->len - (size_t)n, format, args);
	va_end(args);
	return (int)why;
}

static int gda_explain_query(const struct gda_view *v, struct gda_qp_query *q)
{
	const struct gda_qp *qp = (const struct gda_qp *)(uintptr_t)v->owner;

	*q = (struct gda_qp_query) { .size = sizeof(*q), .handle = qp->handle };
	return gda_ioctl(qp->ctx, GDA_IOC_QP_QUERY, q);
}

/*
 * Use what the view knows of its failure, where the device cannot be asked: it was removed, or this
 * is a child of fork(2). Return: whether the queue failed.
 */
static bool gda_explain_recall(const struct gda_view *v, struct gda_qp_query *q)
{
	uint64_t at = __atomic_load_n(&v->error_index, __ATOMIC_ACQUIRE);
	uint64_t why = __atomic_load_n(&v->error, __ATOMIC_RELAXED);

	if (at == GDA_NO_ERROR)
		return false;
	*q = (struct gda_qp_query) {
		.state = GDA_QP_ERROR, .qpn = v->qpn, .error_index = at,
		.syndrome = (uint8_t)why, .vendor = (uint32_t)(why >> 8),
	};
	return true;
}

static int gda_explain_ask(struct gda_explanation *e)
{
	int err = gda_explain_query(e->v, &e->q);

	return err == -ENODEV && gda_explain_recall(e->v, &e->q) ? 0 : err;
}

const char *gda_cause_remedy(uint32_t cause)
{
	static const char *const remedies[] = {
		[GDA_CAUSE_KEY] =
			": pass gda_mr_key() of an MR that is registered, of this context as lkey, of the peer's as rkey",
		[GDA_CAUSE_RIGHTS] =
			": register it with local write for a get or an atomic's result, with remote write, read or atomic for a peer's work",
		[GDA_CAUSE_RANGE] =
			": addresses are gda_mr_iova() and an offset, and all bytes lie in the MR",
		[GDA_CAUSE_ALIGN] = ": pass an address that is a multiple of the operand's size",
		[GDA_CAUSE_RECV] =
			": give the peer's QP a recv_cq, take its entries as they come, or set rnr_retry here",
	};

	return cause < sizeof(remedies) / sizeof(remedies[0]) && remedies[cause] ?
	       remedies[cause] : "";
}

/* Explain a queue that has failed, with or without this ticket. */
static int gda_explain_error(struct gda_explanation *e)
{
	const struct gda_qp_query *q = &e->q;
	const char *why = gda_vendor_name(q->vendor);
	unsigned long long at = q->error_index;

	if (q->vendor == GDA_CAUSE_PEER)
		return gda_say(e, GDA_WHY_PEER_GONE,
			       "the peer is gone or has failed: QP %#x failed at ticket %llu",
			       q->qpn, at);
	if (q->vendor == GDA_CAUSE_CQ)
		return gda_say(e, GDA_WHY_OVERFLOW,
			       "the CQ of QP %#x overflowed at ticket %llu: take entries as they come, or create a deeper CQ",
			       q->qpn, at);
	if (q->vendor == GDA_CAUSE_FORK)
		return gda_say(e, GDA_WHY_FAILED, "%s: open one in this process", why);
	if (e->ticket == at)
		return gda_say(e, GDA_WHY_FAILED, "failed: %s: %s%s",
			       gda_syndrome_name_in(e->v->dialect, q->syndrome), why,
			       gda_cause_remedy(q->vendor));
	return gda_say(e, GDA_WHY_FLUSHED, "flushed, for ticket %llu failed before: %s: %s", at,
		       gda_syndrome_name_in(e->v->dialect, q->syndrome), why);
}

/* It was not rung. */
static int gda_explain_unrung(struct gda_explanation *e)
{
	uint64_t deferred = __atomic_load_n(&e->v->deferred, __ATOMIC_RELAXED) >> 1;

	if (deferred > e->ticket)
		return gda_say(e, GDA_WHY_UNRUNG,
			       "written, but never rung: call gda_flush()");
	return gda_say(e, GDA_WHY_UNWRITTEN,
		       "reserved, but never rung: its thread, or that of an earlier request, is still at it");
}

static int gda_explain_full(struct gda_explanation *e)
{
	return gda_say(e, GDA_WHY_PEER_FULL,
		       "QP %#x, the peer, has no room for an immediate: its CQ is full, take entries there", e->q.peer);
}

/* Explain a ticket that the executor has seen. */
static int gda_explain_seen(struct gda_explanation *e)
{
	const struct gda_qp_query *q = &e->q;

	/* it completed between the check of its completion and the query */
	if (q->consumer > e->ticket)
		return gda_say(e, GDA_WHY_DONE, "done, just now");
	if (q->delayed)
		return gda_explain_full(e);
	if (q->in_flight)
		return gda_say(e, GDA_WHY_IN_FLIGHT,
			       "in flight: the device has %u work requests that are not done",
			       q->in_flight);
	return gda_say(e, GDA_WHY_RUNS, "being carried out: %llu slots are before it",
		       (unsigned long long)(e->ticket - q->consumer));
}

/*
 * Explain a ticket that was rung to a ready queue and not seen by the executor: does the worker
 * run?
 */
static int gda_explain_unseen(struct gda_explanation *e)
{
	const struct timespec moment = { .tv_nsec = GDA_EXPLAIN_MOMENT_NS };
	struct gda_qp_query before = e->q;
	int err;

	/* the queue is not visited, because an earlier request finds no room at the peer */
	if (before.delayed)
		return gda_explain_full(e);
	if (before.worker == GDA_QP_WORKER_NONE)
		return gda_say(e, GDA_WHY_RUNS, "rung: the device reads its queue by itself");
	if (e->at_once)
		return gda_say(e, GDA_WHY_RUNS,
			       "rung, and not fetched by the worker yet: gda_explain() says whether it runs");
	nanosleep(&moment, NULL);
	if (gda_test_done(e->v, (int64_t)e->ticket) > 0)
		return gda_say(e, GDA_WHY_DONE, "done, just now");
	err = gda_explain_ask(e);
	if (err)
		return err;
	if (e->q.state == GDA_QP_ERROR)
		return gda_explain_error(e);
	if (e->q.producer > e->ticket)
		return gda_explain_seen(e);
	if (e->q.passes != before.passes)
		return gda_say(e, GDA_WHY_RUNS, "rung: the worker runs, and looks at this queue soon");
	if (e->q.worker == GDA_QP_WORKER_SLEEPS && before.worker == GDA_QP_WORKER_SLEEPS &&
	    !gda_inproc_alone(((const struct gda_qp *)(uintptr_t)e->v->owner)->ctx))
		return gda_say(e, GDA_WHY_ASLEEP,
			       "rung in a way that wakes no worker: is GDA_QP_POLLED missing?");
	return gda_say(e, GDA_WHY_NO_PROCESSOR,
		       "rung, but the worker had no processor for %ld ms: is there a CPU limit (cpu.max)?",
		       GDA_EXPLAIN_MOMENT_NS / 1000000);
}

static int gda_explain_open(struct gda_explanation *e)
{
	const struct gda_qp_query *q = &e->q;

	if (q->state == GDA_QP_ERROR)
		return gda_explain_error(e);
	if (e->ticket >= e->rung)
		return gda_explain_unrung(e);
	if (q->state == GDA_QP_INIT)
		return gda_say(e, GDA_WHY_UNCONNECTED,
			       "QP %#x is not connected: gda_qp_connect() was not called", q->qpn);
	if (q->state == GDA_QP_WAIT)
		return gda_say(e, GDA_WHY_PEER_WAITS,
			       "QP %#x is not connected: it waits for QP %#x to name it, too (gda_qp_connect() there)",
			       q->qpn, q->peer);
	return q->producer > e->ticket ? gda_explain_seen(e) : gda_explain_unseen(e);
}

/* Is all done that was posted? */
static bool gda_explain_idle(struct gda_view *v, uint64_t reserved)
{
	if (gda_cqe_unordered(v->dialect))
		return gda_load_acquire64(&v->done) >= reserved;
	return gda_test_done(v, (int64_t)reserved - 1) > 0;
}

/* Explain a ticket with an outcome of its own, which says nothing of others. */
static int gda_explain_alone(struct gda_explanation *e, int outcome)
{
	const struct gda_view *v = e->v;
	uint32_t first = gda_load_relaxed64(&v->error) & 0xff;

	if (outcome == -ECANCELED)
		return gda_say(e, GDA_WHY_FLUSHED, "flushed: another request has failed the queue");
	if (e->ticket == gda_load_acquire64(&v->error_index))
		return gda_say(e, GDA_WHY_FAILED, "failed: %s",
			       gda_syndrome_name_in(v->dialect, first));
	return gda_say(e, GDA_WHY_FAILED, "failed, after another one: %s",
		       gda_syndrome_name_in(v->dialect, first));
}

static int gda_explain_view(struct gda_explanation *e)
{
	struct gda_view *v = e->v;
	uint64_t reserved = __atomic_load_n(&v->reserved, __ATOMIC_ACQUIRE);
	int done, err;

	if (e->ticket >= reserved)
		return gda_say(e, GDA_WHY_NOT_POSTED, "not posted: the next ticket is %llu",
			       (unsigned long long)reserved);
	done = gda_test_done(v, (int64_t)e->ticket);
	if (done > 0)
		return gda_say(e, GDA_WHY_DONE, "done%s",
			       gda_explain_idle(v, reserved) ?
			       ", and nothing is outstanding" : "");
	if (done < 0 && gda_cqe_unordered(v->dialect))
		return gda_explain_alone(e, done);
	err = gda_explain_ask(e);
	if (err)
		return err;
	e->rung = gda_db_rung(v->dialect, reserved,
			      gda_nic_load32((const uint32_t *)(uintptr_t)v->dbrec));
	return gda_explain_open(e);
}

/* Explain in a child of fork(2), whose copy of the view has what its parent knew. */
static int gda_explain_inherited(struct gda_explanation *e)
{
	if (!gda_explain_recall(e->v, &e->q))
		return -EOPNOTSUPP;
	return e->ticket < e->q.error_index ? gda_say(e, GDA_WHY_DONE, "done") :
					      gda_explain_error(e);
}

static int gda_explain_kept(struct gda_explanation *e)
{
	struct gda_reason reason;
	int ret;

	gda_reason_save(&reason);
	ret = gda_explain_view(e);
	gda_reason_restore(&reason);
	return ret;
}

int gda_explain_at_once(struct gda_view *v, int64_t ticket, char *buf, size_t len)
{
	struct gda_explanation e = {
		.v = v, .ticket = (uint64_t)ticket, .buf = buf, .len = len, .at_once = true,
	};

	if (gda_view_is_inherited(v) || !v->owner || v->caps & GDA_VIEW_SQ_ON_GPU)
		return -EOPNOTSUPP;
	return gda_explain_kept(&e);
}

GDA_EXPORT int gda_explain(struct gda_view *v, int64_t ticket, char *buf, size_t len)
{
	struct gda_explanation e = { .v = v, .ticket = (uint64_t)ticket, .buf = buf, .len = len };

	if (len)
		buf[0] = '\0';
	if (ticket < 0)
		return (int)ticket;
	if (gda_view_is_inherited(v))
		return gda_explain_inherited(&e);
	/* a queue that the program made itself, or posters on a GPU */
	if (!v->owner || v->caps & GDA_VIEW_SQ_ON_GPU)
		return -EOPNOTSUPP;
	return gda_explain_kept(&e);
}
