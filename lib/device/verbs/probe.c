// SPDX-License-Identifier: MIT
/*
 * Probes: a QP that waits for its peer's request checks that the peer still exists (gda/cm.h). A
 * timer of the context ticks once a second while any of its QPs waits. A QP sends probes after 1,
 * 2, 4 and 8 s, and then every 8 s; QPs probe at different seconds. A probe without an answer that
 * proves its sender is repeated at the next tick, and the third such probe in a row ends the wait:
 * after at most 10 s if the peer is gone. The same ticks time out held requests (held.c).
 *
 * verbs->lock guards all of it.
 */
#include <sys/timerfd.h>
#include <unistd.h>
#include "verbs_internal.h"

/* Does the QP still wait for its peer's request? */
static bool gda_verbs_waits(const struct gda_verbs_qp *v)
{
	const struct gda_engine_qp *q = &v->qp->engine_qp;

	return gda_fabric_waits(&v->fabric) && READ_ONCE(q->state) == GDA_QP_WAIT &&
	       !READ_ONCE(q->fail);
}

/* QPs that were connected at the same time probe at different ticks, by their numbers. */
static bool gda_verbs_probe_due(const struct gda_verbs_qp *v)
{
	u32 seconds = v->waited;

	if (seconds <= GDA_FABRIC_PROBE_MOST)
		return !(seconds & (seconds - 1));
	return (seconds + ntohl(v->fabric.self.number)) % GDA_FABRIC_PROBE_MOST == 0;
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
	if (v->fabric.probe)
		gda_rdma.destroy_id(v->fabric.probe);
	v->fabric.probe = NULL;
}

/* A probe has ended with an outcome. */
static void gda_verbs_probe_over(struct gda_verbs_qp *v, enum gda_fabric_probe outcome, u32 why)
{
	/* the peer's request may have come meanwhile */
	if (gda_fabric_probe_over(&v->fabric, outcome) && gda_verbs_waits(v))
		gda_verbs_fail(v, why);
}

void gda_verbs_probe_tick(struct gda_verbs *verbs)
{
	bool waits = false;
	struct gda_verbs_qp *v;
	u64 ticks;

	if (read(verbs->timer, &ticks, sizeof(ticks)) < 0)
		return;
	verbs->ticks++;
	for (v = verbs->qps; v; v = v->next) {
		waits |= gda_verbs_held_tick(v);
		if (!gda_verbs_waits(v)) {
			gda_verbs_probe_end(v);
			continue;
		}
		waits = true;
		v->waited++;
		if (!v->fabric.probe && (v->fabric.probe_missed || gda_verbs_probe_due(v)) &&
		    gda_verbs_find(v, &v->fabric.probe))
			gda_verbs_probe_over(v, GDA_FABRIC_PROBE_MISSED,
					     GDA_STATUS(GDA_CLASS_RETRY, GDA_CAUSE_FABRIC));
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

void gda_verbs_probe_event(struct gda_verbs_qp *v, const struct gda_fabric_event *e)
{
	enum gda_fabric_probe outcome = gda_fabric_probe_event(&v->fabric, e);

	if (outcome != GDA_FABRIC_PROBE_GOES_ON)
		gda_verbs_probe_over(v, outcome, e->type == RDMA_CM_EVENT_REJECTED ? GDA_FAIL_PEER :
				     GDA_STATUS(GDA_CLASS_RETRY, GDA_CAUSE_FABRIC));
}
