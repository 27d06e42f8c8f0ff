// SPDX-License-Identifier: MIT
/*
 * Requests that wait for their QP to name a peer: whoever sends one knows the nonce of the QP. A QP
 * holds one of each requester, and some in all. Beside the first of each QP, which a peer of a
 * large group may have sent early, a context holds no more than GDA_VERBS_PENDING_MOST. All go
 * after a while: ids of rdma_cm are memory of the kernel's.
 *
 * All under verbs->lock.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include "verbs_internal.h"

void gda_verbs_held_init(struct gda_verbs *verbs)
{
	const char *env = secure_getenv("GDA_PENDING_S");
	long seconds = env ? strtol(env, NULL, 10) : 0;

	verbs->pending_s = GDA_VERBS_PENDING_S;
	if (seconds > 0 && seconds <= 86400)
		verbs->pending_s = (u32)seconds;
}

/* Is a request of the QP that sent @p held? */
static bool gda_verbs_holds(const struct gda_verbs_qp *v, const struct gda_cm_private *p)
{
	struct gda_cm_address from, other;
	const struct gda_verbs_request *r;

	gda_cm_private_from(p, &from);
	for (r = v->pending; r; r = r->next) {
		gda_cm_private_from(&r->private, &other);
		if (gda_cm_same_end(&from, &other))
			return true;
	}
	return false;
}

u8 gda_verbs_hold(struct gda_verbs_qp *v, const struct gda_verbs_event *e)
{
	struct gda_verbs *verbs = v->verbs;
	struct gda_verbs_request *r;

	if (gda_verbs_holds(v, &e->private))
		return GDA_CM_REASON_BUSY;
	if (v->npending == GDA_CM_MAX_PENDING ||
	    (v->npending && verbs->npending == GDA_VERBS_PENDING_MOST))
		return GDA_CM_REASON_FULL;
	r = calloc(1, sizeof(*r));
	if (!r)
		return GDA_CM_REASON_FULL;
	e->id->context = v;
	r->id = e->id;
	r->private = e->private;
	r->qpn = e->qpn;
	r->next = v->pending;
	v->pending = r;
	verbs->npending += v->npending > 0;
	v->npending++;
	gda_verbs_ticks(verbs);
	return 0;
}

/* Take *@link off the list. */
static struct gda_verbs_request *gda_verbs_take_held(struct gda_verbs_qp *v,
						     struct gda_verbs_request **link)
{
	struct gda_verbs_request *r = *link;

	*link = r->next;
	v->npending--;
	v->verbs->npending -= v->npending > 0;
	return r;
}

struct gda_verbs_request *gda_verbs_unhold(struct gda_verbs_qp *v)
{
	return v->pending ? gda_verbs_take_held(v, &v->pending) : NULL;
}

void gda_verbs_withdrawn(struct gda_verbs_qp *v, const struct rdma_cm_id *id)
{
	struct gda_verbs_request **link = &v->pending;
	struct gda_verbs_request *r;

	while (*link && (*link)->id != id)
		link = &(*link)->next;
	if (!*link)
		return;
	r = gda_verbs_take_held(v, link);
	gda_rdma.destroy_id(r->id);
	free(r);
}

bool gda_verbs_held_tick(struct gda_verbs_qp *v)
{
	struct gda_verbs_request **link = &v->pending;
	struct gda_verbs_request *r;

	while (*link) {
		if (++(*link)->waited < v->verbs->pending_s) {
			link = &(*link)->next;
			continue;
		}
		r = gda_verbs_take_held(v, link);
		gda_verbs_refuse(v, r->id, GDA_CM_REASON_LATER, &r->private, false);
		free(r);
	}
	return v->pending;
}
