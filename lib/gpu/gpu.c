// SPDX-License-Identifier: MIT
/*
 * A GPU that a context uses: its primary context, its abilities, and which other GPUs of this
 * process it reaches.
 */
#include <errno.h>
#include <stdlib.h>
#include "cuda_internal.h"
#include "library.h"

static pthread_mutex_t gda_cuda_lock = PTHREAD_MUTEX_INITIALIZER;
static struct gda_cuda *gda_cuda_all;

static int gda_cuda_attribute(const struct gda_cuda *cuda, int name)
{
	int value = 0;

	return gda_cu.device_attribute(&value, name, cuda->device) ? 0 : value;
}

static int gda_cuda_examine(struct gda_cuda *cuda)
{
	int least;

	if (!gda_cuda_attribute(cuda, GDA_CU_UNIFIED_ADDRESSING) ||
	    !gda_cuda_attribute(cuda, GDA_CU_HOST_REGISTER_SUPPORTED))
		return gda_because(-EOPNOTSUPP,
				   "GPU %d cannot map memory of the host: use another GPU",
				   cuda->ordinal);
	cuda->caps.size = sizeof(cuda->caps);
	cuda->caps.device = cuda->ordinal;
	cuda->caps.multiprocessors =
		(uint32_t)gda_cuda_attribute(cuda, GDA_CU_MULTIPROCESSOR_COUNT);
	if (gda_cuda_copies(cuda))
		cuda->caps.features |= GDA_CUDA_COPY;
	if (gda_cuda_copies(cuda) && gda_cuda_attribute(cuda, GDA_CU_64_BIT_STREAM_MEM_OPS))
		cuda->caps.features |= GDA_CUDA_ATOMIC;
	if (gda_cuda_attribute(cuda, GDA_CU_DMA_BUF_SUPPORTED))
		cuda->caps.features |= GDA_CUDA_DMABUF;
	return gda_cu_errno(gda_cu.priorities(&least, &cuda->priority));
}

/*
 * Let @from access the memory of @to. Where that is impossible the driver copies through host
 * memory.
 */
static void gda_cuda_reach(struct gda_cuda *from, struct gda_cuda *to)
{
	int can = 0;

	if (gda_cu.peer_can(&can, from->device, to->device) || !can || gda_cuda_enter(from))
		return;
	gda_cu.peer_enable(to->context, 0);	/* fails if it is enabled already */
	gda_cuda_leave();
}

/* Add the GPU to the list, and enable access between it and all others there. */
static void gda_cuda_link(struct gda_cuda *cuda)
{
	struct gda_cuda *other;

	pthread_mutex_lock(&gda_cuda_lock);
	for (other = gda_cuda_all; other; other = other->next) {
		if (other->device == cuda->device)
			continue;
		gda_cuda_reach(cuda, other);
		gda_cuda_reach(other, cuda);
	}
	cuda->next = gda_cuda_all;
	gda_cuda_all = cuda;
	pthread_mutex_unlock(&gda_cuda_lock);
}

static void gda_cuda_unlink(struct gda_cuda *cuda)
{
	struct gda_cuda **link = &gda_cuda_all;

	pthread_mutex_lock(&gda_cuda_lock);
	while (*link != cuda)
		link = &(*link)->next;
	*link = cuda->next;
	pthread_mutex_unlock(&gda_cuda_lock);
}

static int gda_cuda_new(struct gda_context *ctx, int device, struct gda_cuda **cuda)
{
	struct gda_cuda *c;
	int err = gda_cu_load();

	if (err == -ENOENT)
		gda_because(err,
			    "there is no CUDA driver: no libcuda.so.1: install it, or set GDA_LIBCUDA");
	else if (err == -EINVAL || err == -EACCES)
		gda_library_because(err, "libcuda.so.1", "GDA_LIBCUDA");
	if (err)
		return err;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->ctx = ctx;
	c->generation = gda_fork_generation();
	c->ordinal = device;
	err = gda_cu_errno(gda_cu.device_get(&c->device, device));
	if (!err)
		err = gda_cu_errno(gda_cu.context_retain(&c->context, c->device));
	if (err)
		goto err_free;
	err = gda_cuda_enter(c);
	if (err)
		goto err_release;
	err = gda_cuda_examine(c);
	gda_cuda_leave();
	if (err)
		goto err_release;
	pthread_mutex_init(&c->lock, NULL);
	gda_cuda_link(c);
	*cuda = c;
	return 0;

err_release:
	gda_cu.context_release(c->device);
err_free:
	free(c);
	return err;
}

GDA_EXPORT int gda_cuda_open(struct gda_context *ctx, int device, struct gda_cuda **cuda)
{
	return gda_called(gda_cuda_new(ctx, device, cuda), "gda_cuda_open", "fd %d, GPU %d",
			  ctx->fd, device);
}

GDA_EXPORT void gda_cuda_close(struct gda_cuda *cuda)
{
	if (!cuda || gda_cuda_inherited(cuda))
		return;
	gda_cuda_unlink(cuda);
	gda_cuda_qp_destroy_all(cuda);
	gda_cuda_lane_close(cuda);
	gda_cu.context_release(cuda->device);
	pthread_mutex_destroy(&cuda->lock);
	free(cuda);
}

GDA_EXPORT int gda_cuda_query(struct gda_cuda *cuda, struct gda_cuda_caps *caps)
{
	int err = gda_struct_check(caps, GDA_THROUGH(struct gda_cuda_caps, multiprocessors));

	if (!err && gda_cuda_inherited(cuda))
		err = -ENODEV;
	if (!err)
		gda_struct_write(caps, &cuda->caps, sizeof(cuda->caps));
	return gda_called(err, "gda_cuda_query", "GPU %d", cuda->ordinal);
}
