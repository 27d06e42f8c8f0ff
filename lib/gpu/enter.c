// SPDX-License-Identifier: MIT
/*
 * What a call on an open GPU asks first: is it of this process, and of the in-process device? And
 * the GPU's context, which is current while the call runs.
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
