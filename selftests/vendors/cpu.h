/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Stand-ins for the parts of CUDA that efa_cuda.cc uses, for a CPU. */
#ifndef GDA_VENDORS_CPU_H
#define GDA_VENDORS_CPU_H

#include <stdlib.h>

#define __device__
#define __global__
#define __ldg(p)		(*(p))
#define __threadfence_block()	__atomic_thread_fence(__ATOMIC_SEQ_CST)
#define __threadfence_system()	__atomic_thread_fence(__ATOMIC_SEQ_CST)

/* Run a kernel to its end; whether it ran. */
#define RUN(kernel, e)		(kernel(e), true)

static bool present(void)
{
	return true;
}

static void *memory_new(size_t bytes)
{
	return calloc(1, bytes);
}

static void memory_free(void *p)
{
	free(p);
}

static bool reach(void *, size_t)
{
	return true;
}

#endif /* GDA_VENDORS_CPU_H */
