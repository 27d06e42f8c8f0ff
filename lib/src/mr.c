// SPDX-License-Identifier: MIT
/*
 * Memory regions (MRs): memory of this process that work requests can name.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* Why the last registration of this thread failed. */
static _Thread_local char gda_refusal[256];

static const char *gda_peer_strerror(int error)
{
	switch (error) {
	case ENXIO:
		return "no driver says that it is its memory";
	case EACCES:
		return "not mapped for this access";
	case EOPNOTSUPP:
		return "its driver gives the CPU no address";
	case ENODEV:
		return "its driver took it away";
	default:
		return gda_strerror(error);
	}
}

/* Return: @err. */
static int gda_refused(int err, const char *way, const char *why)
{
	snprintf(gda_refusal, sizeof(gda_refusal), "%s: %s", way, why);
	return err;
}

/* What was tried, or, if that is not known, just why. */
static int gda_user_refused(int err, const struct gda_mr_tried *tried)
{
	int n;

	if (!tried->user)
		return gda_refused(err, "registration", gda_strerror(err));
	gda_refused(err, "pinning", gda_strerror(tried->user));
	n = (int)strlen(gda_refusal);
	if (tried->peer)
		snprintf(gda_refusal + n, sizeof(gda_refusal) - (size_t)n, "; peer memory: %s",
			 gda_peer_strerror(tried->peer));
	return err;
}

GDA_EXPORT const char *gda_mr_refusal(void)
{
	return gda_refusal;
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

	if (err)
		return gda_user_refused(err, &arg.tried);
	return gda_mr_new(ctx, arg.handle, arg.key, arg.iova, mr);
}

GDA_EXPORT int gda_mr_reg_peer(struct gda_context *ctx, void *addr, size_t length,
			       uint32_t access, uint32_t flags, struct gda_mr **mr)
{
	struct gda_mr_reg_peer arg = {
		.size = sizeof(arg),
		.flags = flags,
		.addr = (uintptr_t)addr,
		.length = length,
		.access = access,
	};
	int err = gda_ioctl(ctx, GDA_IOC_MR_REG_PEER, &arg);

	if (err)
		return gda_refused(err, "peer memory", gda_peer_strerror(-err));
	return gda_mr_new(ctx, arg.handle, arg.key, arg.iova, mr);
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

	if (err)
		return gda_refused(err, "dma-buf", gda_strerror(err));
	return gda_mr_new(ctx, arg.handle, arg.key, arg.iova, mr);
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
	int err = gda_struct_check(query, GDA_THROUGH(struct gda_mr_query, length));

	if (err)
		return err;
	arg.flags = query->flags;
	err = gda_ioctl(mr->ctx, GDA_IOC_MR_QUERY, &arg);
	if (!err)
		gda_struct_write(query, &arg, sizeof(arg));
	return err;
}
