// SPDX-License-Identifier: GPL-2.0
/*
 * The ioctl layer: one table, one copy in, and size and flag checks in one place. Handlers see
 * kernel memory only and run under ctx->lock, which serializes the calls on one context. A signal
 * before the lock is taken leaves no side effect. User memory is never accessed under the lock,
 * because that access may block.
 *
 * Creation: create the object, answer, publish the object. If the answer cannot be delivered, the
 * object is discarded; no one has seen it.
 */
#include <linux/dma-buf.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/nospec.h>
#include <linux/uaccess.h>

#include "gda_private.h"

union gda_ucmd {
	u32 size;
	struct {
		u32 size;
		u32 flags;
	} head;
	struct gda_bind bind;
	struct gda_query query;
	struct gda_destroy destroy;
	struct gda_region_query region;
	struct gda_cq_create cq_create;
	struct gda_qp_create qp_create;
	struct gda_qp_address qp_address;
	struct gda_qp_connect qp_connect;
	struct gda_qp_query qp_query;
	struct gda_mr_reg_user mr_reg_user;
	struct gda_mr_query mr_query;
	struct gda_cq_event cq_event;
	struct gda_counter_create counter_create;
	struct gda_mr_reg_dmabuf mr_reg_dmabuf;
	struct gda_region_export region_export;
	struct gda_mr_reg_peer mr_reg_peer;
	struct gda_device_info device_info;
	struct gda_record_set record_set;
	struct gda_peer_add peer_add;
};

/*
 * Copy an answer out, as far as the caller's structure goes: it may be shorter (older header) or
 * longer (newer header) than the kernel's.
 */
static int gda_ioctl_respond(void __user *ucmd, const void *cmd, size_t ksize)
{
	size_t n = min_t(size_t, *(const u32 *)cmd, ksize);

	return copy_to_user(ucmd, cmd, n) ? -EFAULT : 0;
}

static int gda_ioc_bind(struct gda_ctx *ctx, union gda_ucmd *ucmd, void __user *arg)
{
	struct gda_bind *cmd = &ucmd->bind;
	struct gda_device *dev;
	int ret;

	size_t len = strnlen(cmd->device, sizeof(cmd->device));

	/* bytes behind the name are reserved */
	if (len == sizeof(cmd->device) ||
	    memchr_inv(cmd->device + len, 0, sizeof(cmd->device) - len))
		return -EINVAL;
	dev = gda_device_get(cmd->device);
	if (!dev)
		return len ? -ENOENT : -ENODEV;
	ret = dev->ops->client ? -EOPNOTSUPP : gda_ctx_bind(ctx, dev);
	if (ret)
		gda_device_put(dev);
	return ret;
}

static int gda_ioc_query(struct gda_ctx *ctx, union gda_ucmd *ucmd, void __user *arg)
{
	struct gda_query *cmd = &ucmd->query;
	struct gda_device *dev = ctx->dev ?: gda_device_get("");

	gda_device_query(dev, cmd);
	if (ctx->dev)
		strscpy(cmd->device, dev->name, sizeof(cmd->device));
	else if (dev)
		gda_device_put(dev);
	return 0;
}

static int gda_ioc_device_info(struct gda_ctx *ctx, union gda_ucmd *ucmd, void __user *arg)
{
	return gda_device_info(&ucmd->device_info);
}

static int gda_ioc_destroy(struct gda_ctx *ctx, union gda_ucmd *ucmd, void __user *arg)
{
	struct gda_destroy *cmd = &ucmd->destroy;
	int ret;

	ret = gda_ctx_lock(ctx);
	if (ret)
		return ret;
	if (!(cmd->flags & GDA_DESTROY_CONTEXT))
		ret = gda_object_destroy(ctx, cmd->handle);
	else if (cmd->handle)
		ret = -EINVAL;
	else
		gda_ctx_shutdown(ctx);
	gda_ctx_unlock(ctx);
	/* deliver events of the destroyed CQ, or of a context that has no worker any more */
	gda_events_flush(ctx);
	return ret;
}

/* Answer for the record ring, which belongs to no object. */
static int gda_record_region(struct gda_ctx *ctx, struct gda_region_query *cmd)
{
	if (cmd->handle || !ctx->work_region)
		return -ENOENT;
	gda_region_info(ctx->work_region, 0, &cmd->info);
	return 0;
}

static int gda_ioc_region(struct gda_ctx *ctx, union gda_ucmd *ucmd, void __user *arg)
{
	struct gda_region_query *cmd = &ucmd->region;
	struct gda_region *region;
	u32 offset;
	int ret;

	if (cmd->type == GDA_REGION_RECORD)
		return gda_record_region(ctx, cmd);
	ret = gda_control_check_region(cmd->type);
	if (ret)
		return ret;
	region = gda_object_region(ctx, cmd->handle, cmd->type, &offset);
	if (!region)
		return -ENOENT;
	gda_region_info(region, offset, &cmd->info);
	return 0;
}

static struct gda_object *gda_ioc_cq_create(struct gda_ctx *ctx, union gda_ucmd *ucmd)
{
	return gda_cq_create(ctx, &ucmd->cq_create, NULL, NULL);
}

static struct gda_object *gda_ioc_qp_create(struct gda_ctx *ctx, union gda_ucmd *ucmd)
{
	return gda_qp_create(ctx, &ucmd->qp_create, NULL);
}

/* If the answer cannot be delivered, remove the new ring, unless another call has asked for it. */
static int gda_ioc_record(struct gda_ctx *ctx, union gda_ucmd *ucmd, void __user *arg)
{
	struct gda_record_set *cmd = &ucmd->record_set;
	unsigned int mine;
	bool had;
	int ret;

	ret = gda_ctx_lock(ctx);
	if (ret)
		return ret;
	had = ctx->record.work;
	ret = gda_record_set(ctx, cmd);
	mine = ctx->record_sets;
	gda_ctx_unlock(ctx);
	if (ret)
		return ret;
	if (cmd->records && !had)
		ret = gda_headroom_check();
	ret = ret ?: gda_ioctl_respond(arg, cmd, sizeof(*cmd));
	if (!ret || had)
		return ret;
	mutex_lock(&ctx->lock);
	if (ctx->record_sets == mine)
		gda_record_stop(ctx);
	mutex_unlock(&ctx->lock);
	return ret;
}

/* The file is installed last: no one has it before the answer is copied out, and then it stays. */
static int gda_ioc_region_export(struct gda_ctx *ctx, union gda_ucmd *ucmd,
				 void __user *arg)
{
	struct gda_region_export *cmd = &ucmd->region_export;
	struct dma_buf *dmabuf;
	int fd, ret;

	ret = gda_control_check_region(cmd->type);
	if (ret)
		return ret;
	fd = get_unused_fd_flags(O_CLOEXEC);
	if (fd < 0)
		return fd;
	dmabuf = gda_region_export(ctx, cmd);
	if (IS_ERR(dmabuf)) {
		ret = PTR_ERR(dmabuf);
		goto err_fd;
	}
	cmd->fd = fd;
	cmd->length = dmabuf->size;
	ret = gda_ioctl_respond(arg, cmd, sizeof(*cmd));
	if (ret)
		goto err_dmabuf;
	fd_install(fd, dmabuf->file);
	return 0;

err_dmabuf:
	dma_buf_put(dmabuf);
err_fd:
	put_unused_fd(fd);
	return ret;
}

/* The other handlers take their command out of the union, and no more. */
#define GDA_IOC_CALL(_name)							\
	static int gda_ioc_##_name(struct gda_ctx *ctx, union gda_ucmd *ucmd, void __user *arg) \
	{									\
		return gda_##_name(ctx, &ucmd->_name);				\
	}
#define GDA_IOC_CREATE(_name)							\
	static struct gda_object *gda_ioc_##_name(struct gda_ctx *ctx, union gda_ucmd *ucmd) \
	{									\
		return gda_##_name(ctx, &ucmd->_name);				\
	}

GDA_IOC_CALL(qp_address)
GDA_IOC_CALL(qp_connect)
GDA_IOC_CALL(qp_query)
GDA_IOC_CALL(mr_query)
GDA_IOC_CALL(cq_event)
GDA_IOC_CREATE(mr_reg_user)
GDA_IOC_CREATE(mr_reg_dmabuf)
GDA_IOC_CREATE(mr_reg_peer)
GDA_IOC_CREATE(counter_create)
GDA_IOC_CREATE(peer_add)

struct gda_ioctl_op {
	unsigned int cmd;
	u32 size;
	u32 min_size;		/* size up to the last member of version 1 */
	bool unbound;		/* allowed before GDA_IOC_BIND */
	bool respond;		/* copy the structure out on success */
	bool locks;		/* takes ctx->lock itself */
	u32 tried;		/* offset of struct gda_mr_tried, also copied out on failure */
	/* exactly one of these two is set */
	int (*fn)(struct gda_ctx *ctx, union gda_ucmd *ucmd, void __user *arg);
	struct gda_object *(*create)(struct gda_ctx *ctx, union gda_ucmd *ucmd);
};

#define GDA_OP(_nr, _struct, _last, ...)					\
	[GDA_IOC_NR_##_nr] = {							\
		.cmd = GDA_IOC_##_nr,						\
		.size = sizeof(_struct) +					\
			BUILD_BUG_ON_ZERO(sizeof(union gda_ucmd) < sizeof(_struct)), \
		.min_size = offsetofend(_struct, _last),			\
		__VA_ARGS__							\
	}

static const struct gda_ioctl_op gda_ioctl_ops[] = {
	GDA_OP(BIND, struct gda_bind, device,
	       .fn = gda_ioc_bind, .locks = true),
	GDA_OP(QUERY, struct gda_query, device,
	       .fn = gda_ioc_query, .unbound = true, .respond = true),
	GDA_OP(DESTROY, struct gda_destroy, reserved,
	       .fn = gda_ioc_destroy, .locks = true),
	GDA_OP(REGION_INFO, struct gda_region_query, info,
	       .fn = gda_ioc_region, .respond = true),
	GDA_OP(CQ_CREATE, struct gda_cq_create, dbrec,
	       .create = gda_ioc_cq_create, .locks = true),
	GDA_OP(QP_CREATE, struct gda_qp_create, sq_entry,
	       .create = gda_ioc_qp_create, .locks = true),
	GDA_OP(QP_ADDRESS, struct gda_qp_address, address,
	       .fn = gda_ioc_qp_address, .respond = true),
	GDA_OP(QP_CONNECT, struct gda_qp_connect, address,
	       .fn = gda_ioc_qp_connect),
	GDA_OP(QP_QUERY, struct gda_qp_query, bytes,
	       .fn = gda_ioc_qp_query, .respond = true),
	GDA_OP(MR_REG_USER, struct gda_mr_reg_user, iova,
	       .create = gda_ioc_mr_reg_user, .locks = true,
	       .tried = offsetof(struct gda_mr_reg_user, tried)),
	GDA_OP(MR_QUERY, struct gda_mr_query, length,
	       .fn = gda_ioc_mr_query, .respond = true),
	GDA_OP(CQ_EVENT, struct gda_cq_event, eventfd,
	       .fn = gda_ioc_cq_event, .locks = true),
	GDA_OP(COUNTER_CREATE, struct gda_counter_create, counter,
	       .create = gda_ioc_counter_create),
	GDA_OP(MR_REG_DMABUF, struct gda_mr_reg_dmabuf, key,
	       .create = gda_ioc_mr_reg_dmabuf, .locks = true),
	GDA_OP(REGION_EXPORT, struct gda_region_export, length,
	       .fn = gda_ioc_region_export, .locks = true),
	GDA_OP(MR_REG_PEER, struct gda_mr_reg_peer, iova,
	       .create = gda_ioc_mr_reg_peer, .locks = true),
	GDA_OP(DEVICE_INFO, struct gda_device_info, device,
	       .fn = gda_ioc_device_info, .unbound = true, .respond = true),
	GDA_OP(RECORD, struct gda_record_set, ring,
	       .fn = gda_ioc_record, .locks = true),
	GDA_OP(PEER_ADD, struct gda_peer_add, address,
	       .create = gda_ioc_peer_add),
};

/* Copy the command in and apply the checks that all commands share. */
static int gda_ioctl_fetch(unsigned int nr, union gda_ucmd *ucmd, void __user *arg)
{
	const struct gda_ioctl_op *op = &gda_ioctl_ops[nr];
	u32 size;
	int ret;

	if (get_user(size, (u32 __user *)arg))
		return -EFAULT;
	if (size < op->min_size)
		return -EINVAL;
	if (size > PAGE_SIZE)
		return -E2BIG;
	ret = copy_struct_from_user(ucmd, op->size, arg, size);
	if (ret)
		return ret;
	/* the caller may have changed the size since it was read */
	ucmd->size = size;
	return gda_control_check_request(nr, ucmd);
}

static int gda_ioctl_lock(struct gda_ctx *ctx, const struct gda_ioctl_op *op)
{
	if (op->locks)
		return 0;
	if (!op->unbound)
		return gda_ctx_lock(ctx);
	if (mutex_lock_interruptible(&ctx->lock))
		return -ERESTARTSYS;
	if (!READ_ONCE(ctx->dead))
		return 0;
	mutex_unlock(&ctx->lock);
	return -ENODEV;
}

static void gda_ioctl_unlock(struct gda_ctx *ctx, const struct gda_ioctl_op *op)
{
	if (!op->locks)
		gda_ctx_unlock(ctx);
}

static int gda_ioctl_call(struct gda_ctx *ctx, const struct gda_ioctl_op *op,
			  union gda_ucmd *ucmd, void __user *arg)
{
	int ret;

	ret = gda_ioctl_lock(ctx, op);
	if (ret)
		return ret;
	ret = op->fn(ctx, ucmd, arg);
	gda_ioctl_unlock(ctx, op);
	if (!ret && op->respond)
		ret = gda_ioctl_respond(arg, ucmd, op->size);
	return ret;
}

/* Copy out why the call fails with @err, if more is known and the caller's structure has room. */
static int gda_ioctl_explain(const struct gda_ioctl_op *op, const union gda_ucmd *ucmd,
			     void __user *arg, int err)
{
	const struct gda_mr_tried *tried = (const void *)ucmd + op->tried;

	if (!op->tried || !tried->user || ucmd->size < op->tried + sizeof(*tried))
		return err;
	return copy_to_user(arg + op->tried, tried, sizeof(*tried)) ? -EFAULT : err;
}

static int gda_ioctl_create(struct gda_ctx *ctx, const struct gda_ioctl_op *op,
			    union gda_ucmd *ucmd, void __user *arg)
{
	struct gda_object *obj;
	int ret;

	ret = gda_ioctl_lock(ctx, op);
	if (ret)
		return ret;
	obj = op->create(ctx, ucmd);
	gda_ioctl_unlock(ctx, op);
	if (IS_ERR(obj))
		return gda_ioctl_explain(op, ucmd, arg, PTR_ERR(obj));

	ret = gda_headroom_check();
	ret = ret ?: gda_ioctl_respond(arg, ucmd, op->size);
	mutex_lock(&ctx->lock);
	if (READ_ONCE(ctx->dead))
		ret = -ENODEV;		/* the object is, or will be, destroyed with the context */
	else if (ret)
		gda_object_discard(obj);
	else
		gda_object_publish(obj);
	mutex_unlock(&ctx->lock);
	return ret;
}

long gda_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct gda_ctx *ctx = file->private_data;
	void __user *uarg = (void __user *)arg;
	const struct gda_ioctl_op *op;
	union gda_ucmd ucmd = {};
	unsigned int nr = _IOC_NR(cmd);
	int ret;

	if (nr >= ARRAY_SIZE(gda_ioctl_ops))
		return -ENOTTY;
	nr = array_index_nospec(nr, ARRAY_SIZE(gda_ioctl_ops));
	op = &gda_ioctl_ops[nr];
	if (cmd != op->cmd)
		return -ENOTTY;
	ret = gda_ioctl_fetch(nr, &ucmd, uarg);
	if (ret)
		return ret;
	if (op->create)
		return gda_ioctl_create(ctx, op, &ucmd, uarg);
	return gda_ioctl_call(ctx, op, &ucmd, uarg);
}
