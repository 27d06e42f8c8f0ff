// SPDX-License-Identifier: MIT
/*
 * Probes: a QP that waits to be asked asks whether its peer is still there (gda/cm.h). A timer of
 * the context ticks while any of its QPs waits, once a second; a QP is probed after 1, 2, 4 and
 * 8 s, and then every 8 s, at seconds of its own. After a probe without an answer that proves by
 * whom it is the next comes at the next tick, and the third in a row ends the wait: for a peer that
 * is gone it is 10 s at most. The same ticks end requests that are held (held.c).
 *
 * All under verbs->lock.
 */
#include <errno.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include "verbs_internal.h"

#define GDA_VERBS_PROBE_EVERY	8U

/* Probes that end without an answer, in a row, before the QP fails. */
#define GDA_VERBS_PROBE_MISSES	3U

/* Why rdma_cm says that a request was rejected: whoever listens there says it. */
#define GDA_VERBS_REJ_BY_PEER		28

/* Is it to be asked, and was not? */
static bool gda_verbs_waits(const struct gda_verbs_qp *v)
{
	const struct gda_engine_qp *q = &v->qp->engine_qp;

	return v->named && !v->id && READ_ONCE(q->state) == GDA_QP_WAIT && !READ_ONCE(q->fail) &&
	       memcmp(&v->address, &v->peer, sizeof(v->peer)) < 0;
}

/* QPs that were connected at once do not go on asking at once: their numbers differ. */
static bool gda_verbs_probe_due(const struct gda_verbs_qp *v)
{
	u32 seconds = v->waited;

	if (seconds <= GDA_VERBS_PROBE_EVERY)
		return !(seconds & (seconds - 1));
	return (seconds + ntohl(v->address.number)) % GDA_VERBS_PROBE_EVERY == 0;
}

static void gda_verbs_timer_set(struct gda_verbs *verbs, bool on)
{
	const struct itimerspec every = {
		.it_value.tv_sec = on, .it_interval.tv_sec = on,
	};

	if (verbs->ticking == on)
		return;
	verbs->ticking = on;
	timerfd_settime(verbs->timer, 0, &every, NULL);
}

void gda_verbs_probe_end(struct gda_verbs_qp *v)
{
	if (v->probe)
		gda_rdma.destroy_id(v->probe);
	v->probe = NULL;
}

/* There was no answer. Return: is it to be so for good? */
static bool gda_verbs_probe_missed(struct gda_verbs_qp *v)
{
	return ++v->missed == GDA_VERBS_PROBE_MISSES;
}

static void gda_verbs_probe_begin(struct gda_verbs_qp *v)
{
	struct gda_cm_address own = v->address;
	struct sockaddr_storage from, to;

	if (gda_rdma.create_id(v->verbs->channel, &v->probe, v, RDMA_PS_TCP)) {
		v->probe = NULL;
		return;
	}
	/* any port */
	own.port = 0;
	gda_verbs_sockaddr(&own, &from);
	gda_verbs_sockaddr(&v->peer, &to);
	if (!gda_rdma.resolve_addr(v->probe, (struct sockaddr *)&from, (struct sockaddr *)&to,
				   GDA_VERBS_RESOLVE_MS))
		return;
	gda_verbs_probe_end(v);
	if (gda_verbs_probe_missed(v))
		gda_verbs_fail(v, GDA_STATUS(GDA_CLASS_RETRY, GDA_CAUSE_FABRIC));
}

void gda_verbs_probe_tick(struct gda_verbs *verbs)
{
	bool waits = false;
	struct gda_verbs_qp *v;
	u64 ticks;

	if (read(verbs->timer, &ticks, sizeof(ticks)) < 0)
		return;
	for (v = verbs->qps; v; v = v->next) {
		waits |= gda_verbs_held_tick(v);
		if (!gda_verbs_waits(v)) {
			gda_verbs_probe_end(v);
			continue;
		}
		waits = true;
		v->waited++;
		if (!v->probe && (v->missed || gda_verbs_probe_due(v)))
			gda_verbs_probe_begin(v);
	}
	gda_verbs_timer_set(verbs, waits);
}

void gda_verbs_ticks(struct gda_verbs *verbs)
{
	gda_verbs_timer_set(verbs, true);
}

void gda_verbs_probe_start(struct gda_verbs_qp *v)
{
	if (gda_verbs_waits(v))
		gda_verbs_ticks(v->verbs);
}

/* The way to the peer is known. Return: 0 or a negative errno. */
static int gda_verbs_probe_send(struct gda_verbs_qp *v)
{
	struct gda_cm_private data;
	struct rdma_conn_param param = {
		.private_data = &data,
		.private_data_len = sizeof(data),
		.retry_count = GDA_VERBS_RETRY,
		.qp_num = GDA_CM_PROBE_QPN,
	};

	v->probe_token = (u32)gda_inproc_random();
	gda_cm_private_set(&data, GDA_CM_ROLE_PROBE, v->probe_token, &v->address, &v->peer);
	gda_cm_sign(&data, &v->address, &v->peer, htonl(GDA_CM_PROBE_QPN));
	return gda_rdma.connect(v->probe, &param) ? -errno : 0;
}

/*
 * The peer, or its machine, or a stranger has rejected it. Nobody proves that a QP is gone: the
 * nonce went with it. Return: 0, or why the QP fails.
 */
static u32 gda_verbs_probe_rejected(struct gda_verbs_qp *v, const struct gda_verbs_event *e)
{
	enum gda_cm_proof proof = GDA_CM_PROOF_NONE;

	if (e->status == GDA_VERBS_REJ_BY_PEER)
		proof = gda_cm_reject_proof(&e->reject, v->probe_token, &v->address, &v->peer);
	if (proof != GDA_CM_PROOF_NONE && (e->reject.reason == GDA_CM_REASON_LATER ||
					   e->reject.reason == GDA_CM_REASON_FULL)) {
		v->missed = 0;
		return 0;
	}
	return proof == GDA_CM_PROOF_FULL || gda_verbs_probe_missed(v) ? GDA_FAIL_PEER : 0;
}

/* Return: 0, or why the QP fails. */
static u32 gda_verbs_probe_answer(struct gda_verbs_qp *v, const struct gda_verbs_event *e)
{
	switch (e->type) {
	case RDMA_CM_EVENT_REJECTED:
		return gda_verbs_probe_rejected(v, e);
	case RDMA_CM_EVENT_UNREACHABLE:
		/* many tries in a row, for more than a minute */
		return GDA_STATUS(GDA_CLASS_RETRY, GDA_CAUSE_FABRIC);
	default:
		return gda_verbs_probe_missed(v) ?
		       GDA_STATUS(GDA_CLASS_RETRY, GDA_CAUSE_FABRIC) : 0;
	}
}

void gda_verbs_probe_event(struct gda_verbs_qp *v, const struct gda_verbs_event *e)
{
	u32 why;

	if (e->type == RDMA_CM_EVENT_ADDR_RESOLVED &&
	    !gda_rdma.resolve_route(v->probe, GDA_VERBS_RESOLVE_MS))
		return;
	if (e->type == RDMA_CM_EVENT_ROUTE_RESOLVED && !gda_verbs_probe_send(v))
		return;
	why = gda_verbs_probe_answer(v, e);
	gda_verbs_probe_end(v);
	/* the peer may have asked meanwhile */
	if (why && gda_verbs_waits(v))
		gda_verbs_fail(v, why);
}
