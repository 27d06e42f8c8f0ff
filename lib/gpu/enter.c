// SPDX-License-Identifier: MIT
/*
 * The checks at the start of a call on an open GPU (does it belong to this process, and to the
 * in-process device?), and entering and leaving the GPU's context.
 */
#include <errno.h>
#include "cuda_internal.h"

bool gda_cuda_inherited(const struct gda_cuda *cuda)
{
	return cuda->generation != gda_fork_generation();
}

int gda_cuda_enter(struct gda_cuda *cuda)
{
	if (gda_cuda_inherited(cuda))
		return -ENODEV;
	return gda_cu_errno(gda_cu.context_push(cuda->context));
}

void gda_cuda_leave(void)
{
	void *context;

	gda_cu.context_pop(&context);
}

bool gda_cuda_copies(const struct gda_cuda *cuda)
{
	return gda_inproc_alone(cuda->ctx);
}
