// SPDX-License-Identifier: MIT
/*
 * Requests that wait for their QP to name a peer (engine/fabric/held.c). A context holds at most
 * GDA_VERBS_PENDING_MOST beside the first of each QP. All of them time out, because their rdma_cm
 * ids use memory of the kernel.
 *
 * verbs->lock guards all of it.
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

bool gda_fabric_host_reserve(struct gda_fabric_qp *q)
{
	struct gda_verbs *verbs = gda_verbs_qp_of(q)->verbs;

	if (verbs->npending == GDA_VERBS_PENDING_MOST)
		return false;
	verbs->npending++;
	return true;
}

void gda_fabric_host_release(struct gda_fabric_qp *q)
{
	gda_verbs_qp_of(q)->verbs->npending--;
}

void gda_verbs_hold(struct gda_verbs_qp *v, struct gda_fabric_request *r)
{
	r->until = v->verbs->ticks + v->verbs->pending_s;
	r->id->context = v;
	gda_verbs_ticks(v->verbs);
}

void gda_verbs_refuse_all(struct gda_verbs_qp *v, struct gda_fabric_request *requests, u8 reason)
{
	struct gda_fabric_request *r;

	while ((r = requests)) {
		requests = r->next;
		if (r->gone)
			gda_rdma.destroy_id(r->id);
		else
			gda_verbs_refuse(v, r->id, reason, &r->private, false);
		free(r);
	}
}

void gda_verbs_withdrawn(struct gda_verbs_qp *v, const struct rdma_cm_id *id)
{
	struct gda_fabric_request *r = v->fabric.held;

	while (r && r->id != id)
		r = r->next;
	if (!r)
		return;
	r->gone = true;
	gda_verbs_held_tick(v);
}

bool gda_verbs_held_tick(struct gda_verbs_qp *v)
{
	gda_verbs_refuse_all(v, gda_fabric_unhold(&v->fabric, v->verbs->ticks),
			     GDA_CM_REASON_LATER);
	return v->fabric.held;
}
