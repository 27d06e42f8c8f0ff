// SPDX-License-Identifier: MIT
/*
 * Copies by the CUDA driver, for a queue of the in-process device. A lane is a stream
 * that waits for no other one, of the highest priority: streams share the hardware's
 * channels by priority, and kernels seldom have this one.
 *
 * Between the GPU and the host, and between two GPUs, copy engines copy. From one place
 * to another on the same GPU the driver runs a kernel, by whatever call: that would wait
 * for room on a multiprocessor, and who has them all may be waiting for the copy. So
 * these bytes go by way of pinned memory, unless the poster promises room. One stage
 * does for all that is in flight, because a lane is in order.
 *
 * Copies from and to host memory name pinned memory only: from any other the driver
 * copies before it returns, or waits. Called by a worker, whose thread is the
 * library's: it may leave any context current.
 */
#include <errno.h>
#include "cuda_internal.h"

static struct gda_cuda_copier *gda_cuda_copier_of(struct gda_inproc_copier *c)
{
	return gda_inproc_of(c, struct gda_cuda_copier, base);
}

/* Which GPU has it, or -1. */
static int gda_cuda_copier_where(const struct gda_cuda_copier *c, u64 addr)
{
	int device = -1;

	if (addr - c->host_addr < c->host_bytes ||
	    gda_cu.pointer_attribute(&device, GDA_CU_POINTER_DEVICE, addr))
		return -1;
	return device;
}

/* Would the driver run a kernel? */
static bool gda_cuda_copier_stages(const struct gda_cuda_copier *c, u64 dst, u64 src)
{
	int from, to;

	if (!c->stage)
		return false;
	from = gda_cuda_copier_where(c, src);
	to = gda_cuda_copier_where(c, dst);
	return from >= 0 && from == to;
}

static int gda_cuda_copier_copy(struct gda_inproc_copier *base, u32 lane, u64 dst, u64 src,
				u64 len)
{
	struct gda_cuda_copier *c = gda_cuda_copier_of(base);
	int result = GDA_CU_SUCCESS;

	gda_cu.context_set(c->cuda->context);
	if (gda_cuda_copier_stages(c, dst, src)) {
		result = gda_cu.stream_copy(c->stage, src, len, c->stream[lane]);
		src = c->stage;
	}
	if (!result)
		result = gda_cu.stream_copy(dst, src, len, c->stream[lane]);
	return gda_cu_errno(result);
}

static int gda_cuda_copier_store(struct gda_inproc_copier *base, u32 lane, u64 dst, u32 value)
{
	struct gda_cuda_copier *c = gda_cuda_copier_of(base);

	gda_cu.context_set(c->cuda->context);
	/* without flags, what was copied before is visible before it */
	return gda_cu_errno(gda_cu.stream_store(c->stream[lane], dst, value, 0));
}

static int gda_cuda_copier_check(struct gda_inproc_copier *base)
{
	struct gda_cuda_copier *c = gda_cuda_copier_of(base);

	int result;
	u32 lane;

	gda_cu.context_set(c->cuda->context);
	for (lane = 0; lane < GDA_INPROC_LANES; lane++) {
		result = gda_cu.stream_query(c->stream[lane]);
		if (result && result != GDA_CU_NOT_READY)
			return -EIO;
	}
	return 0;
}

/* Its memory is that of struct gda_cuda_qp, which outlives it. */
static void gda_cuda_copier_free(struct gda_inproc_copier *base)
{
	(void)base;
}

static const struct gda_inproc_copier_ops gda_cuda_copier_ops = {
	.copy = gda_cuda_copier_copy,
	.store = gda_cuda_copier_store,
	.check = gda_cuda_copier_check,
	.free = gda_cuda_copier_free,
};

int gda_cuda_copier_init(struct gda_cuda *cuda, struct gda_cuda_copier *c)
{
	u32 lane;
	int err = 0;

	c->cuda = cuda;
	c->base.ops = &gda_cuda_copier_ops;
	for (lane = 0; lane < GDA_INPROC_LANES && !err; lane++)
		err = gda_cu_errno(gda_cu.stream_create(&c->stream[lane],
							GDA_CU_STREAM_NON_BLOCKING,
							cuda->priority));
	return err;
}

void gda_cuda_copier_exit(struct gda_cuda_copier *c)
{
	u32 lane;

	for (lane = 0; lane < GDA_INPROC_LANES; lane++)
		if (c->stream[lane])
			gda_cu.stream_destroy(c->stream[lane]);
}
