// SPDX-License-Identifier: MIT
/*
 * Replaces the executor on verbs where libgda is built without the headers of libibverbs and
 * librdmacm: it lists no devices, and opening one fails with that reason.
 */
#include <errno.h>
#include "inproc.h"

static bool gda_verbs_has(const char *device)
{
	return !strncmp(device, GDA_DEVICE_VERBS, strlen(GDA_DEVICE_VERBS));
}

static int gda_verbs_describe(u32 n, struct gda_device_info *info)
{
	(void)n;
	(void)info;
	return -ENOENT;
}

static int gda_verbs_open(struct gda_inproc_context *ctx, const char *device)
{
	(void)ctx;
	return gda_because(-EOPNOTSUPP,
			   "%s: libgda was built without RDMA devices: build it with %s",
			   device, "packages libibverbs-dev and librdmacm-dev");
}

const struct gda_inproc_executor gda_verbs_executor = {
	.has = gda_verbs_has,
	.describe = gda_verbs_describe,
	.bind = gda_verbs_open,
};
