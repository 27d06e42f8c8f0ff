// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Address handles: pairing of twins, and the lookup of a request's responder (ah.h). */
#include "ah.h"

void gda_ah_pair(struct gda_ah *ah, struct gda_ah *other)
{
	if (!other || ah->to != other->owner || other->to != ah->owner)
		return;
	/* pairs with gda_host_target(), which finds a complete handle */
	smp_store_release(&ah->twin, other);
	/* pairs with gda_host_target(), too */
	smp_store_release(&other->twin, ah);
}

void gda_ah_unpair(struct gda_ah *ah, bool gone)
{
	struct gda_ah *twin = ah->twin;

	if (!twin)
		return;
	WRITE_ONCE(twin->gone, gone);
	/* pairs with gda_host_target(), which reads @gone once @twin is NULL */
	smp_store_release(&twin->twin, NULL);
	/* pairs with gda_host_target(), too */
	smp_store_release(&ah->twin, NULL);
}

static struct gda_status gda_ah_status(u8 class)
{
	return gda_status(class, GDA_CAUSE_PEER);
}

struct gda_status gda_host_target(struct gda_engine_qp *q, struct gda_engine_qp **peer)
{
	struct gda_target *to = &q->work.target;
	const struct gda_ah *ah = gda_host_ah(q, to->handle);
	const struct gda_ah *twin;
	struct gda_engine_qp *found;

	if (unlikely(!ah))
		return gda_ah_status(GDA_CLASS_LOCAL);
	/* pairs with gda_ah_pair() and gda_ah_unpair() */
	twin = smp_load_acquire(&ah->twin);
	if (unlikely(!twin))
		return gda_ah_status(READ_ONCE(ah->gone) ? GDA_CLASS_RETRY : GDA_CLASS_REMOTE_OP);
	found = gda_host_numbered(twin->ctx, to->number);
	if (unlikely(!found))
		return gda_ah_status(GDA_CLASS_INVALID_REQUEST);
	/* a wrong Q key may be a guess: fail the queue, not only the request */
	if (unlikely(found->qkey != to->key))
		return gda_status(GDA_CLASS_REMOTE_ACCESS, GDA_CAUSE_KEY);
	if (unlikely(READ_ONCE(found->state) == GDA_QP_ERROR))
		return gda_ah_status(GDA_CLASS_RETRY);
	to->back = twin->number;
	*peer = found;
	return gda_status(GDA_CLASS_NONE, GDA_CAUSE_NONE);
}
