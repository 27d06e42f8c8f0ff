// SPDX-License-Identifier: MIT
/*
 * The executor's table: RDMA devices that can be opened, and a context on one.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "verbs_internal.h"

/* If this directory does not exist there are no RDMA devices, and no library is loaded. */
#define GDA_VERBS_CLASS	"/sys/class/infiniband_verbs"

static bool gda_verbs_has(const char *device)
{
	return !strncmp(device, GDA_DEVICE_VERBS, strlen(GDA_DEVICE_VERBS));
}

/* Does the device have RC queue pairs that rdma_cm can connect without a stream below? */
static bool gda_verbs_usable(const struct ibv_device *dev)
{
	return dev->node_type == IBV_NODE_CA && dev->transport_type == IBV_TRANSPORT_IB;
}

static u64 gda_verbs_features(const struct ibv_device_attr *attr)
{
	return gda_dialect_features(false) | GDA_FEATURE_RECORD |
	       gda_fabric_features((int)attr->atomic_cap);
}

/* Return: 0 or a negative errno. */
static int gda_verbs_describe_one(struct ibv_device *dev, struct gda_device_info *info)
{
	struct ibv_context *context = gda_ibv.open_device(dev);
	struct ibv_device_attr attr;
	int err;

	if (!context)
		return -errno;
	err = gda_ibv.query_device(context, &attr);
	gda_ibv.close_device(context);
	if (err)
		return -err;
	info->features[0] = gda_verbs_features(&attr);
	snprintf((char *)info->device, sizeof(info->device), GDA_DEVICE_VERBS "%s",
		 gda_ibv.get_device_name(dev));
	return 0;
}

/* Devices that this user cannot open are not listed. */
static int gda_verbs_describe(u32 n, struct gda_device_info *info)
{
	struct ibv_device **list;
	int i, count, err = -ENOENT;

	if (access(GDA_VERBS_CLASS, F_OK))
		return -ENOENT;
	if (gda_verbs_load()) {
		gda_forget_reason();
		return -ENOENT;
	}
	list = gda_ibv.get_device_list(&count);
	for (i = 0; list && i < count && err; i++)
		if (gda_verbs_usable(list[i]) && !gda_verbs_describe_one(list[i], info) && !n--)
			err = 0;
	if (list)
		gda_ibv.free_device_list(list);
	return err;
}

/* Open an RDMA device by its name. Return: 0 or a negative errno. */
static int gda_verbs_open_device(struct gda_verbs *verbs, const char *name)
{
	struct ibv_device **list;
	int i, count, err = -ENODEV;

	list = gda_ibv.get_device_list(&count);
	for (i = 0; list && i < count; i++) {
		if (strcmp(gda_ibv.get_device_name(list[i]), name))
			continue;
		if (!gda_verbs_usable(list[i])) {
			err = gda_because(-EOPNOTSUPP,
					  "%s has no queue pairs of kind RC: use another device",
					  name);
			break;
		}
		verbs->dev = gda_ibv.open_device(list[i]);
		err = verbs->dev ? 0 : -errno;
		if (err)
			gda_because(err, "%s: may this user open /dev/infiniband/uverbs*?", name);
		break;
	}
	if (list)
		gda_ibv.free_device_list(list);
	if (err == -ENODEV)
		return gda_because(-ENOENT, "there is no RDMA device \"%s\" (see ibv_devices)",
				   name);
	return err;
}

static u32 gda_verbs_least(u32 ours, u64 theirs)
{
	return theirs < ours ? (u32)theirs : ours;
}

/* Query the device's abilities once its port is known. Return: 0 or a negative errno. */
static int gda_verbs_examine(struct gda_verbs *verbs)
{
	struct ibv_port_attr port = { 0 };

	if (gda_ibv.query_port(verbs->dev, verbs->listener->port_num, (void *)&port))
		return -EIO;
	verbs->roce = port.link_layer == IBV_LINK_LAYER_ETHERNET;
	verbs->max_msg = gda_verbs_least(GDA_ENGINE_MAX_MSG, port.max_msg_sz);
	verbs->max_inline = gda_verbs_max_inline(verbs);
	if (!verbs->max_inline)
		return gda_because(-EOPNOTSUPP,
				   "%s makes no queue pair with inline payload: use another device",
				   gda_ibv.get_device_name(verbs->dev->device));
	return 0;
}

/* Set up the context on an open device. Return: 0 or a negative errno. */
static int gda_verbs_start(struct gda_verbs *verbs)
{
	int err = -gda_ibv.query_device(verbs->dev, &verbs->attr);

	if (err)
		return err;
	verbs->pd = gda_ibv.alloc_pd(verbs->dev);
	if (!verbs->pd)
		return -errno;
	err = gda_verbs_cm_start(verbs);
	if (err)
		goto err_pd;
	err = gda_verbs_examine(verbs);
	if (err)
		goto err_cm;
	return 0;

err_cm:
	gda_verbs_cm_stop(verbs);
err_pd:
	gda_ibv.dealloc_pd(verbs->pd);
	return err;
}

static int gda_verbs_open(struct gda_inproc_context *ctx, const char *device)
{
	struct gda_verbs *verbs;
	int err = gda_verbs_load();

	if (err)
		return err;
	verbs = calloc(1, sizeof(*verbs));
	if (!verbs)
		return -ENOMEM;
	verbs->ctx = ctx;
	err = gda_verbs_open_device(verbs, device + strlen(GDA_DEVICE_VERBS));
	if (err)
		goto err_free;
	err = gda_verbs_start(verbs);
	if (err)
		goto err_close;
	ctx->priv = verbs;
	ctx->features = gda_verbs_features(&verbs->attr);
	return 0;

err_close:
	gda_ibv.close_device(verbs->dev);
err_free:
	free(verbs);
	return err;
}

static void gda_verbs_close(struct gda_inproc_context *ctx)
{
	struct gda_verbs *verbs = gda_verbs_of(ctx);

	gda_verbs_cm_stop(verbs);
	gda_ibv.dealloc_pd(verbs->pd);
	gda_ibv.close_device(verbs->dev);
	free(verbs);
}

static void gda_verbs_query(const struct gda_inproc_context *ctx, struct gda_query *cmd)
{
	const struct gda_verbs *verbs = gda_verbs_of(ctx);

	cmd->max_qp = gda_verbs_least(cmd->max_qp, (u64)verbs->attr.max_qp);
	cmd->max_mr = gda_verbs_least(cmd->max_mr, (u64)verbs->attr.max_mr);
	cmd->max_inline = verbs->max_inline;
	cmd->max_msg = verbs->max_msg;
	if (verbs->attr.max_mr_size < cmd->max_mr_size)
		cmd->max_mr_size = verbs->attr.max_mr_size;
	snprintf((char *)cmd->device, sizeof(cmd->device), GDA_DEVICE_VERBS "%s",
		 gda_ibv.get_device_name(verbs->dev->device));
}

const struct gda_inproc_executor gda_verbs_executor = {
	.has = gda_verbs_has,
	.describe = gda_verbs_describe,
	.bind = gda_verbs_open,
	.unbind = gda_verbs_close,
	.forked = gda_verbs_forked,
	.query = gda_verbs_query,
	.qp_create = gda_verbs_qp_create,
	.qp_free = gda_verbs_qp_free,
	.qp_address = gda_verbs_qp_address,
	.qp_connect = gda_verbs_qp_connect,
	.qp_disconnect = gda_verbs_qp_disconnect,
	.mr_map = gda_verbs_mr_map,
	.mr_unmap = gda_verbs_mr_unmap,
	.mr_free = gda_verbs_mr_free,
	.visit = gda_verbs_visit,
};
