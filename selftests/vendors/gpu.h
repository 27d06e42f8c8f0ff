/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What clients of vendors need of a processor, for a GPU. */
#ifndef GDA_VENDORS_GPU_H
#define GDA_VENDORS_GPU_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Run a kernel of one thread, or of @n, to its end; whether it ran. */
#define RUN(kernel, e)		RUN_BY(kernel, e, 1)
#define RUN_BY(kernel, e, n)	(kernel<<<1, n>>>(e), cudaDeviceSynchronize() == cudaSuccess)

static bool present(void)
{
	int n = 0;

	return cudaGetDeviceCount(&n) == cudaSuccess && n > 0;
}

static void *memory_new(size_t bytes)
{
	void *p;

	if (cudaMallocManaged(&p, bytes) != cudaSuccess)
		return nullptr;
	memset(p, 0, bytes);
	return p;
}

static void memory_free(void *p)
{
	cudaFree(p);
}

/* Memory of a queue, page by page, for some of its parts are in one page. */
static bool reach(void *p, size_t bytes)
{
	uintptr_t at = (uintptr_t)p & ~(uintptr_t)4095, end = (uintptr_t)p + bytes;

	for (; at < end; at += 4096) {
		cudaError_t err = cudaHostRegister((void *)at, 4096, cudaHostRegisterDefault);

		/* counters are mapped read only */
		if (err == cudaErrorInvalidValue || err == cudaErrorNotSupported)
			err = cudaHostRegister((void *)at, 4096, cudaHostRegisterReadOnly);
		if (err != cudaSuccess && err != cudaErrorHostMemoryAlreadyRegistered) {
			fprintf(stderr, "page of a queue: %s\n", cudaGetErrorString(err));
			return false;
		}
		cudaGetLastError();
	}
	return true;
}

#endif /* GDA_VENDORS_GPU_H */
