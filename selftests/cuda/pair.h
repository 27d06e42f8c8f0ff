/* SPDX-License-Identifier: MIT */
/* An end of a pair in tests of lib/gpu on a driver without a GPU. */
#ifndef SELFTESTS_CUDA_END_H
#define SELFTESTS_CUDA_END_H

#include <gda/cuda.h>
#include "../inproc/suite.h"
#include "fake.h"

#define LEN	(256U << 10)	/* bytes on the GPU, and as many here */

/* An end on a GPU: memory there, memory here, and a queue. */
struct end {
	struct gda_context *ctx;
	struct gda_cuda *cuda;
	struct gda_cuda_qp *qp;
	struct gda_view *v;		/* what the test posts through */
	struct gda_view moved;
	uint64_t gpu;
	uint8_t *window;
	struct gda_mr *mr;
	uint32_t key;
	struct s_memory near;
};

/* The GPU's view, as the CPU would have it: what lies on the GPU through its window. */
static inline struct gda_view *end_view(struct end *e, uint32_t place)
{
	struct gda_view *there = gda_cuda_qp_view(e->qp);

	if (!(place & ~GDA_CUDA_LEAVES_ROOM))
		return gda_qp_view(gda_cuda_qp_base(e->qp));
	if (place & GDA_CUDA_VIEW_HOST) {
		memcpy(&e->moved, there, sizeof(e->moved));
	} else {
		memcpy(&e->moved, fake_cuda_window((uintptr_t)there), sizeof(e->moved));
		e->moved.slots = (uintptr_t)fake_cuda_window(e->moved.slots);
	}
	if (place & GDA_CUDA_SQ_GPU)
		e->moved.sq = (uintptr_t)fake_cuda_window(e->moved.sq);
	if (place & GDA_CUDA_CQ_GPU)
		e->moved.cq = (uintptr_t)fake_cuda_window(e->moved.cq);
	return &e->moved;
}

/* An end in @dialect; 0: the default. */
static inline int end_open_in(struct end *e, int device, uint32_t depth, uint32_t place,
			      uint32_t dialect)
{
	const struct gda_cuda_qp_attr attr = {
		.size = sizeof(attr),
		.sq_depth = depth, .timeout_ns = S_TIMEOUT_NS, .place = place,
		.dialect = dialect,
	};
	int err;

	memset(e, 0, sizeof(*e));
	err = gda_open(GDA_DEVICE_INPROC, &e->ctx);
	if (!err)
		err = gda_cuda_open(e->ctx, device, &e->cuda);
	if (!err)
		err = gda_cuda_qp_create(e->cuda, &attr, &e->qp);
	if (err)
		return err;
	e->gpu = fake_cuda_alloc(device, LEN);
	e->window = fake_cuda_window(e->gpu);
	err = gda_cuda_mr_reg(e->cuda, e->gpu, LEN, GDA_ACCESS_ALL, 0, &e->mr);
	if (!err)
		err = s_memory_new(e->ctx, LEN, GDA_ACCESS_ALL, &e->near);
	if (err)
		return err;
	e->key = gda_mr_key(e->mr);
	e->v = end_view(e, place);
	return 0;
}

static inline int end_open(struct end *e, int device, uint32_t depth, uint32_t place)
{
	return end_open_in(e, device, depth, place, 0);
}

static inline void end_close(struct end *e)
{
	gda_cuda_qp_destroy(e->qp);
	gda_mr_dereg(e->mr);
	if (e->gpu)
		fake_cuda_free(e->gpu);
	s_memory_free(&e->near);
	gda_cuda_close(e->cuda);
	gda_close(e->ctx);
	memset(e, 0, sizeof(*e));
}

#endif /* SELFTESTS_CUDA_END_H */
