// SPDX-License-Identifier: MIT
/*
 * Memory regions (MRs): memory of this process that work requests can access by key.
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

static int gda_mr_called(int err, const char *call, const struct gda_mr_rule *rule)
{
	return gda_called(err, call, "%s %#llx, length %#llx, access %#x, flags %#x",
			  rule->start_name, (unsigned long long)rule->start,
			  (unsigned long long)rule->length, rule->access, rule->flags);
}

/* Note the ways in which the kernel tried to get the memory, if it got that far. */
static void gda_mr_why_tried(int err, const struct gda_mr_tried *tried)
{
	if (!tried->user || err == -ENOMEM)
		return;
	if (tried->peer)
		gda_because(err, "pinning: %s; peer memory: %s", gda_strerror(tried->user),
			    gda_peer_strerror(tried->peer));
	else
		gda_because(err, "pinning: %s", gda_strerror(tried->user));
}

GDA_EXPORT int gda_mr_reg(struct gda_context *ctx, void *addr, size_t length,
			  uint32_t access, uint32_t flags, struct gda_mr **mr)
{
	const struct gda_mr_rule rule = {
		"addr", (uintptr_t)addr, length, GDA_FEATURE_MR_USER, access, flags,
	};
	struct gda_mr_reg_user arg = {
		.size = sizeof(arg),
		.flags = flags,
		.addr = (uintptr_t)addr,
		.length = length,
		.access = access,
	};
	int err = gda_ioctl(ctx, GDA_IOC_MR_REG_USER, &arg);

	if (err) {
		gda_mr_why_tried(err, &arg.tried);
		gda_why_mr(ctx, err, &rule);
		gda_why_mr_user(err, &rule);
	} else {
		err = gda_mr_new(ctx, arg.handle, arg.key, arg.iova, mr);
	}
	return gda_mr_called(err, "gda_mr_reg", &rule);
}

GDA_EXPORT int gda_mr_reg_peer(struct gda_context *ctx, void *addr, size_t length,
			       uint32_t access, uint32_t flags, struct gda_mr **mr)
{
	const struct gda_mr_rule rule = {
		"addr", (uintptr_t)addr, length, GDA_FEATURE_MR_PEER, access, flags,
	};
	struct gda_mr_reg_peer arg = {
		.size = sizeof(arg),
		.flags = flags,
		.addr = (uintptr_t)addr,
		.length = length,
		.access = access,
	};
	int err = gda_ioctl(ctx, GDA_IOC_MR_REG_PEER, &arg);

	if (err) {
		gda_why_mr(ctx, err, &rule);
		gda_why_mr_peer(err);
	} else {
		err = gda_mr_new(ctx, arg.handle, arg.key, arg.iova, mr);
	}
	return gda_mr_called(err, "gda_mr_reg_peer", &rule);
}

GDA_EXPORT int gda_mr_reg_dmabuf(struct gda_context *ctx, int fd, uint64_t offset,
				 size_t length, uint64_t iova, uint32_t access,
				 uint32_t flags, struct gda_mr **mr)
{
	const struct gda_mr_rule rule = {
		"offset", offset, length, GDA_FEATURE_MR_DMABUF, access, flags,
	};
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

	if (err) {
		gda_why_mr(ctx, err, &rule);
		gda_why_mr_dmabuf(err, fd);
	} else {
		err = gda_mr_new(ctx, arg.handle, arg.key, arg.iova, mr);
	}
	return gda_mr_called(err, "gda_mr_reg_dmabuf", &rule);
}

GDA_EXPORT int gda_mr_dereg(struct gda_mr *mr)
{
	uint32_t handle;
	int err;

	if (!mr)
		return 0;
	handle = mr->handle;
	err = gda_destroy_handle(mr->ctx, handle);
	if (err != -EBUSY)
		free(mr);
	return gda_called(err, "gda_mr_dereg", "MR %u", handle);
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

	if (!err) {
		arg.flags = query->flags;
		err = gda_ioctl(mr->ctx, GDA_IOC_MR_QUERY, &arg);
	}
	if (!err)
		gda_struct_write(query, &arg, sizeof(arg));
	return gda_called(err, "gda_mr_query", "MR %u", mr->handle);
}
