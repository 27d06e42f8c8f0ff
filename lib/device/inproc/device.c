// SPDX-License-Identifier: MIT
/*
 * The devices of this process: contexts, and the calls on them. Each device belongs to an executor,
 * which carries out the work of its contexts. Only this file names executors, in the list below;
 * all others call an executor through the table in the context or the queue.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "inproc.h"

/* All executors. The first one has the device without a name. */
static const struct gda_inproc_executor *const gda_inproc_executors[] = {
	&gda_inproc_soft, &gda_verbs_executor,
};

#define GDA_INPROC_EXECUTORS	(sizeof(gda_inproc_executors) / sizeof(gda_inproc_executors[0]))

/* Return: the executor of @device, or NULL. */
static const struct gda_inproc_executor *gda_inproc_executor_find(const char *device)
{
	size_t i;

	for (i = 0; i < GDA_INPROC_EXECUTORS; i++)
		if (gda_inproc_executors[i]->has(device))
			return gda_inproc_executors[i];
	return NULL;
}

bool gda_inproc_has(const char *device)
{
	return gda_inproc_executor_find(device);
}

int gda_inproc_context_create(const char *device, struct gda_inproc_context **context)
{
	struct gda_inproc_context *ctx;
	int err;

	gda_inproc_init();
	ctx = calloc(1, sizeof(*ctx));
	if (!ctx)
		return -ENOMEM;
	ctx->fd = memfd_create("gda", MFD_CLOEXEC);
	if (ctx->fd < 0) {
		err = -errno;
		goto err_free;
	}
	pthread_mutex_init(&ctx->lock, NULL);
	ctx->generation = gda_inproc.generation;
	ctx->next_cookie = GDA_INPROC_PAGE;
	gda_inproc_record_init(ctx);
	ctx->executor = gda_inproc_executor_find(device);
	err = gda_inproc_order_init(ctx);
	if (!err)
		err = ctx->executor->bind(ctx, device);
	if (err)
		goto err_close;
	err = gda_inproc_workers_start(ctx);
	if (err)
		goto err_executor;
	__atomic_fetch_add(&gda_inproc.contexts, 1, __ATOMIC_RELAXED);
	*context = ctx;
	return 0;

err_executor:
	ctx->executor->unbind(ctx);
err_close:
	pthread_mutex_destroy(&ctx->lock);
	close(ctx->fd);
err_free:
	free(ctx);
	return err;
}

/* Destroy every object and revoke every mapping. */
static void gda_inproc_context_shutdown(struct gda_inproc_context *ctx)
{
	if (ctx->dead)
		return;
	ctx->dead = true;
	gda_inproc_workers_stop(ctx);
	gda_inproc_object_destroy_all(ctx);
	gda_inproc_record_stop(ctx);
	/* accesses to the file raise SIGBUS from here on; on failure unused pages stay */
	if (ftruncate(ctx->fd, 0))
		return;
}

void gda_inproc_context_destroy(struct gda_inproc_context *ctx)
{
	/* in a child of fork(2) only ctx->fd is valid: the rest describes the parent's context */
	if (ctx->generation != gda_inproc.generation) {
		close(ctx->fd);
		return;
	}
	pthread_mutex_lock(&ctx->lock);
	gda_inproc_context_shutdown(ctx);
	pthread_mutex_unlock(&ctx->lock);
	gda_inproc_workers_exit(ctx);
	ctx->executor->unbind(ctx);
	close(ctx->fd);
	pthread_mutex_destroy(&ctx->lock);
	__atomic_fetch_sub(&gda_inproc.contexts, 1, __ATOMIC_RELAXED);
	free(ctx->addresses);
	free(ctx->objects);
	free(ctx);
}

int gda_inproc_describe(uint32_t n, struct gda_device_info *info)
{
	size_t i;

	for (i = 0; i < GDA_INPROC_EXECUTORS; i++) {
		uint32_t of = 0;

		*info = (struct gda_device_info) { .size = info->size };
		while (!gda_inproc_executors[i]->describe(of, info)) {
			if (!n--)
				return 0;
			of++;
		}
	}
	return -ENOENT;
}

bool gda_inproc_alone(const struct gda_context *c)
{
	const struct gda_inproc_context *ctx = c->device;

	return c->ops == &gda_device_inproc && !ctx->executor->visit;
}

static int gda_inproc_query(const struct gda_inproc_context *ctx, struct gda_query *cmd)
{
	*cmd = (struct gda_query) {
		.size = cmd->size,
		.abi = 1,
		.page_size = GDA_INPROC_PAGE,
		.features = { ctx->features },
		.max_qp = GDA_INPROC_MAX_QP,
		.max_cq = GDA_INPROC_MAX_CQ,
		.max_mr = GDA_INPROC_MAX_MR,
		.max_counter = GDA_INPROC_MAX_COUNTER,
		.max_sq_depth = GDA_ENGINE_MAX_DEPTH,
		.max_cq_depth = GDA_INPROC_MAX_CQ_DEPTH,
		.max_sge = GDA_WORK_SGE,
		.max_inline = GDA_ENGINE_MAX_INLINE,
		.max_msg = GDA_ENGINE_MAX_MSG,
		.max_mr_size = GDA_INPROC_MAX_MR_SIZE,
		.idle_ns = GDA_INPROC_YIELD_NS,
	};
	ctx->executor->query(ctx, cmd);
	return 0;
}

static int gda_inproc_destroy(struct gda_inproc_context *ctx, const struct gda_destroy *cmd)
{
	if (!cmd->flags)
		return gda_inproc_object_destroy(ctx, cmd->handle);
	if (cmd->handle)
		return -EINVAL;
	gda_inproc_context_shutdown(ctx);
	return 0;
}

static int gda_inproc_region_of_record(const struct gda_inproc_context *ctx,
				       struct gda_region_query *cmd)
{
	if (cmd->handle || !ctx->work_region)
		return -ENOENT;
	gda_inproc_region_info(ctx->work_region, 0, &cmd->info);
	return 0;
}

static int gda_inproc_region_query(struct gda_inproc_context *ctx,
				   struct gda_region_query *cmd)
{
	int err = gda_control_check_region(cmd->type);

	if (cmd->type == GDA_REGION_RECORD)
		return gda_inproc_region_of_record(ctx, cmd);
	if (err)
		return err;
	return gda_inproc_object_region(ctx, cmd->handle, cmd->type, &cmd->info);
}

static int gda_inproc_dispatch(struct gda_inproc_context *ctx, unsigned long request,
			       void *arg)
{
	switch (request) {
	case GDA_IOC_QUERY:
		return gda_inproc_query(ctx, arg);
	case GDA_IOC_DESTROY:
		return gda_inproc_destroy(ctx, arg);
	case GDA_IOC_REGION_INFO:
		return gda_inproc_region_query(ctx, arg);
	case GDA_IOC_CQ_CREATE:
		return gda_inproc_cq_create(ctx, arg);
	case GDA_IOC_CQ_EVENT:
		return gda_inproc_cq_event(ctx, arg);
	case GDA_IOC_QP_CREATE:
		return gda_inproc_qp_create(ctx, arg);
	case GDA_IOC_QP_ADDRESS:
		return gda_inproc_qp_address(ctx, arg);
	case GDA_IOC_QP_CONNECT:
		return gda_inproc_qp_connect(ctx, arg);
	case GDA_IOC_QP_QUERY:
		return gda_inproc_qp_query(ctx, arg);
	case GDA_IOC_MR_REG_USER:
		return gda_inproc_mr_reg(ctx, arg);
	case GDA_IOC_MR_QUERY:
		return gda_inproc_mr_query(ctx, arg);
	case GDA_IOC_COUNTER_CREATE:
		return gda_inproc_counter_create(ctx, arg);
	case GDA_IOC_RECORD:
		return gda_inproc_record_set(ctx, arg);
	case GDA_IOC_PEER_ADD:
		return gda_inproc_peer_add(ctx, arg);
	default:
		return -EOPNOTSUPP;
	}
}

int gda_inproc_call(struct gda_inproc_context *ctx, unsigned long request, void *arg)
{
	int saved = errno;
	int err = gda_inproc_enter(ctx);

	if (err)
		return err;
	err = gda_control_check_request(_IOC_NR(request), arg);
	if (!err)
		err = gda_inproc_dispatch(ctx, request, arg);
	pthread_mutex_unlock(&ctx->lock);
	errno = saved;
	return err;
}

static int gda_inproc_open(struct gda_context *c, const char *device)
{
	struct gda_inproc_context *ctx;
	int saved = errno;
	int err;

	err = gda_inproc_context_create(device, &ctx);
	errno = saved;
	if (err)
		return err;
	c->device = ctx;
	c->fd = ctx->fd;
	return 0;
}

static void gda_inproc_context_forked(struct gda_context *c)
{
	struct gda_inproc_context *ctx = c->device;

	/*
	 * Only in the first child: in a child of that child the descriptors may name other files.
	 */
	if (ctx->generation == gda_inproc.generation && ctx->executor->forked)
		ctx->executor->forked(ctx);
}

static void gda_inproc_close(struct gda_context *c)
{
	gda_inproc_context_destroy(c->device);
}

static int gda_inproc_ioctl(const struct gda_context *c, unsigned long request, void *arg)
{
	return gda_inproc_call(c->device, request, arg);
}

static int gda_inproc_map(struct gda_context *c, const struct gda_region_info *info,
			  void **addr)
{
	struct gda_inproc_context *ctx = c->device;
	int err = gda_inproc_enter(ctx);

	if (err)
		return err;
	err = gda_inproc_region_get(ctx, info->cookie, addr);
	pthread_mutex_unlock(&ctx->lock);
	return err;
}

static void gda_inproc_unmap(struct gda_context *c, void *addr, size_t length)
{
	struct gda_inproc_context *ctx = c->device;

	/* in a child of fork(2) a thread that does not exist there may hold the lock */
	if (ctx->generation != gda_inproc.generation) {
		munmap(addr, length);
		return;
	}
	pthread_mutex_lock(&ctx->lock);
	gda_inproc_region_put(ctx, addr);
	pthread_mutex_unlock(&ctx->lock);
}

static bool gda_inproc_help_queue(struct gda_context *c, uint32_t qpn, unsigned int polls,
				  enum gda_relax_for what)
{
	return gda_inproc_help(c->device, qpn, polls, what);
}

static bool gda_inproc_help_queues(struct gda_context *c, unsigned int polls)
{
	return gda_inproc_help_all(c->device, polls);
}

const struct gda_device_ops gda_device_inproc = {
	.open = gda_inproc_open,
	.close = gda_inproc_close,
	.ioctl = gda_inproc_ioctl,
	.map = gda_inproc_map,
	.unmap = gda_inproc_unmap,
	.help = gda_inproc_help_queue,
	.help_all = gda_inproc_help_queues,
	.forked = gda_inproc_context_forked,
};
