// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Decides who may connect to a QP, and keeps requests until the QP names its peer. A QP holds one
 * request of each requester, and GDA_CM_MAX_PENDING in all. The first request of each QP is always
 * held: there are no more of these than QPs, and a peer that asks early is no flood. The host
 * limits all others together.
 */
#include "fabric.h"

static u8 gda_fabric_hold(struct gda_fabric_qp *q, struct gda_fabric_request *request)
{
	struct gda_fabric_request **link;
	struct gda_cm_address from, other;

	gda_cm_private_from(&request->private, &from);
	for (link = &q->held; *link; link = &(*link)->next) {
		gda_cm_private_from(&(*link)->private, &other);
		if (gda_cm_same_end(&from, &other))
			return GDA_CM_REASON_BUSY;
	}
	if (q->nheld == GDA_CM_MAX_PENDING || (q->nheld && !gda_fabric_host_reserve(q)))
		return GDA_CM_REASON_FULL;
	q->nheld++;
	request->held = true;
	*link = request;
	return 0;
}

u8 gda_fabric_admit(struct gda_fabric_qp *q, const struct gda_fabric_event *e,
		    struct gda_fabric_request *request, bool failed, bool *peer)
{
	*request = (struct gda_fabric_request) {
		.qp = q,
		.id = e->id,
		.private = e->private,
		.qpn = e->qpn,
		.depth = e->depth,
		.resources = e->resources,
	};
	*peer = q->named && gda_cm_is_peer(&e->private, &q->self, &q->peer, e->qpn);
	if (failed || (q->named && !*peer))
		return GDA_CM_REASON_BUSY;
	if (e->private.role == GDA_CM_ROLE_PROBE)
		return GDA_CM_REASON_LATER;
	if (!q->named)
		return gda_fabric_hold(q, request);
	/* of two that name each other only one asks */
	return gda_fabric_waits(q) ? 0 : GDA_CM_REASON_BUSY;
}

struct gda_fabric_request *gda_fabric_unhold(struct gda_fabric_qp *q, u64 now)
{
	struct gda_fabric_request *taken = NULL, **end = &taken, **link = &q->held, *r;

	while ((r = *link)) {
		if (!r->gone && r->until > now) {
			link = &r->next;
			continue;
		}
		*link = r->next;
		r->next = NULL;
		r->held = false;
		*end = r;
		end = &r->next;
		if (--q->nheld)
			gda_fabric_host_release(q);
	}
	return taken;
}

struct gda_fabric_request *gda_fabric_asked(const struct gda_fabric_qp *q,
					    struct gda_fabric_request **requests)
{
	struct gda_fabric_request **link, *r;

	/* of two that name each other only one asks */
	for (link = requests; (r = *link) && !gda_fabric_asks(q); link = &r->next) {
		if (!gda_cm_is_peer(&r->private, &q->self, &q->peer, r->qpn))
			continue;
		*link = r->next;
		return r;
	}
	return NULL;
}
