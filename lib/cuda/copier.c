// SPDX-License-Identifier: MIT
/*
 * Copies by the CUDA driver, for a queue of the in-process device. A lane is a stream
 * that waits for no other one, of the highest priority: streams share the hardware's
 * channels by priority, and kernels seldom have this one.
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

static int gda_cuda_copier_copy(struct gda_inproc_copier *base, u32 lane, u64 dst, u64 src,
				u64 len)
{
	struct gda_cuda_copier *c = gda_cuda_copier_of(base);

	gda_cu.context_set(c->cuda->context);
	return gda_cu_errno(gda_cu.stream_copy(dst, src, len, c->stream[lane]));
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
	u32 lane;

	gda_cu.context_set(c->cuda->context);
	for (lane = 0; lane < GDA_INPROC_LANES; lane++) {
		int result = gda_cu.stream_query(c->stream[lane]);

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
