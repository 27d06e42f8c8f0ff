// SPDX-License-Identifier: GPL-2.0
/*
 * The software device "soft0": queues of contexts on this host, executed by the
 * engine in each context's worker. Always there.
 *
 * Numbers (QPs, CQs, key indices) start at a random place and go round, so that one
 * is not used again soon after it died.
 */
#include <linux/random.h>
#include <linux/string.h>

#include "../gda_private.h"

struct gda_device gda_soft = {
	.name = "soft0",
	.features = GDA_FEATURE_DIALECT_MLX5 | GDA_FEATURE_CQ_COLLAPSED |
		    GDA_FEATURE_CQ_RING | GDA_FEATURE_DOORBELL_FAULT |
		    GDA_FEATURE_QP_POLLED | GDA_FEATURE_CQ_EVENT | GDA_FEATURE_COUNTER |
		    GDA_FEATURE_EXPORT | GDA_FEATURE_IMM | GDA_FEATURE_MASKED,
	.peer_lock = __SPIN_LOCK_UNLOCKED(gda_soft.peer_lock),
};

void gda_soft_init(void)
{
	xa_init_flags(&gda_soft.qps, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	xa_init_flags(&gda_soft.keys, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	xa_init_flags(&gda_soft.cqns, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	gda_soft.next_qpn = get_random_u32() & 0xffffff;
	gda_soft.next_key = get_random_u32() & 0xffffff;
	gda_soft.next_cqn = get_random_u32() & 0xffffff;
}

void gda_soft_exit(void)
{
	xa_destroy(&gda_soft.qps);
	xa_destroy(&gda_soft.keys);
	xa_destroy(&gda_soft.cqns);
}

struct gda_device *gda_device_find(const char *name)
{
	if (!name[0] || !strcmp(name, gda_soft.name))
		return &gda_soft;
	return NULL;
}
