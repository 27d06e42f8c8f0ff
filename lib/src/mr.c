// SPDX-License-Identifier: MIT
/*
 * Memory regions (MRs): memory of this process that work requests can name.
 */
#include <errno.h>
#include <stdlib.h>
#include "gda_internal.h"

static int gda_mr_new(struct gda_context *ctx, uint32_t handle, uint32_t key, uint64_t iova,
		      struct gda_mr **mr)
{
	struct gda_mr *m = calloc(1, sizeof(*m));

	if (!m) {
		gda_destroy_handle(ctx, handle);
		return -ENOMEM;
	}
	m->ctx = ctx;
	m->handle = handle;
	m->key = key;
	m->iova = iova;
	*mr = m;
	return 0;
}

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
	int err = gda_ioctl(ctx, GDA_IOC_MR_REG_USER, &arg);

	return err ? err : gda_mr_new(ctx, arg.handle, arg.key, arg.iova, mr);
}

GDA_EXPORT int gda_mr_reg_dmabuf(struct gda_context *ctx, int fd, uint64_t offset,
				 size_t length, uint64_t iova, uint32_t access,
				 uint32_t flags, struct gda_mr **mr)
{
	struct gda_mr_reg_dmabuf arg = {
		.size = sizeof(arg),
		.flags = flags,
		.offset = offset,
		.length = length,
		.iova = iova,
		.access = access,
		.fd = fd,
	};
	int err = gda_ioctl(ctx, GDA_IOC_MR_REG_DMABUF, &arg);

	return err ? err : gda_mr_new(ctx, arg.handle, arg.key, arg.iova, mr);
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
