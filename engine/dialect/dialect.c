// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The table of dialects, and the CQ functions common to all dialects. A CQ that has failed stays
 * failed and takes no further completion.
 */
#include "engine.h"

#define GDA_DIALECT(name) &gda_dialect_##name,
static const struct gda_dialect_ops *const gda_dialects[] = {
#include <gda_dialects.h>
	NULL
};
#undef GDA_DIALECT

const struct gda_dialect_ops *gda_dialect_find(u32 id)
{
	const struct gda_dialect_ops *const *ops = gda_dialects;

	while (*ops && (*ops)->id != id)
		ops++;
	return *ops;
}

const struct gda_dialect_ops *gda_dialect_find_cq(u32 id)
{
	return id ? gda_dialect_find(id) : gda_dialects[0];
}

const struct gda_dialect_ops *gda_dialect_service(const struct gda_dialect_ops *ops, u32 service)
{
	if (!ops)
		return NULL;
	switch (service) {
	case GDA_SERVICE_RC:
		return ops;
	case GDA_SERVICE_UC:
		return ops->uc;
	case GDA_SERVICE_UD:
		return ops->ud;
	default:
		return NULL;
	}
}

u64 gda_dialect_features(bool named)
{
	const struct gda_dialect_ops *const *ops;
	u64 features = 0;

	for (ops = gda_dialects; *ops; ops++)
		if (named || !(*ops)->named)
			features |= (*ops)->feature;
	return features;
}

void gda_cq_init(struct gda_engine_cq *cq)
{
	cq->failed = false;
	cq->producer = 0;
	cq->reached = 0;
	cq->moves = 0;
	cq->dialect->preset(cq);
}

int gda_cq_reached(const struct gda_engine_cq *cq, u32 index)
{
	u32 missing = index + 1 - (u32)(cq->collapsed ? cq->reached : cq->producer);

	if (!missing || missing > 1U << 31)
		return 1;
	/* a collapsed CQ belongs to one queue, which has at most GDA_ENGINE_MAX_DEPTH slots */
	if (cq->failed || missing > (cq->collapsed ? GDA_ENGINE_MAX_DEPTH : cq->depth))
		return -(int)GDA_STATUS(GDA_CLASS_QUEUE, GDA_CAUSE_CQ);
	return 0;
}

bool gda_cq_refuse(struct gda_engine_cq *cq, const struct gda_completion *c)
{
	cq->failed = gda_completion_own(c);
	return false;
}
