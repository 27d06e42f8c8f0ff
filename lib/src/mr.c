// SPDX-License-Identifier: MIT
/*
 * Memory regions (MRs): memory of this process that work requests can name.
 */
#include <errno.h>
#include <stdlib.h>
#include "gda_internal.h"

GDA_EXPORT int gda_mr_reg(struct gda_context *ctx, void *addr, size_t length,
			  uint32_t access, uint32_t flags, struct gda_mr **mr)
{
	struct gda_mr_reg_user arg = {
		.size = sizeof(arg),
		.flags = flags,
		.addr = (uintptr_t)addr,
		.length = length,
		.access = access,
	};
	struct gda_mr *m = calloc(1, sizeof(*m));
	int err;

	if (!m)
		return -ENOMEM;
	err = gda_ioctl(ctx, GDA_IOC_MR_REG_USER, &arg);
	if (err) {
		free(m);
		return err;
	}
	m->ctx = ctx;
	m->handle = arg.handle;
	m->key = arg.key;
	m->iova = arg.iova;
	*mr = m;
	return 0;
}

GDA_EXPORT int gda_mr_dereg(struct gda_mr *mr)
{
	int err;

	if (!mr)
		return 0;
	err = gda_destroy_handle(mr->ctx, mr->handle);
	if (err == -EBUSY)
		return err;
	free(mr);
	return err;
}

GDA_EXPORT uint32_t gda_mr_key(const struct gda_mr *mr)
{
	return mr->key;
}

GDA_EXPORT uint64_t gda_mr_iova(const struct gda_mr *mr)
{
	return mr->iova;
}

GDA_EXPORT int gda_mr_query(struct gda_mr *mr, struct gda_mr_query *query)
{
	struct gda_mr_query arg = { .size = sizeof(arg), .handle = mr->handle };
	int err = gda_ioctl(mr->ctx, GDA_IOC_MR_QUERY, &arg);

	if (!err)
		*query = arg;
	return err;
}
