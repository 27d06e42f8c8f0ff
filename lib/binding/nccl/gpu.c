// SPDX-License-Identifier: MIT
/*
 * The GPU of a rank is that of the thread in which NCCL calls, and only the CUDA driver can say
 * which that is. libgda opens the same driver, if there is any.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include "nccl_internal.h"

int gda_nccl_gpu(void)
{
	const char *name = secure_getenv("GDA_LIBCUDA");
	/* RTLD_NOLOAD: no code of a file that is not loaded yet runs, wherever it lies */
	void *library = dlopen(name ? name : "libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	int (*current)(int *device) = NULL;
	void *symbol;
	int device = 0;

	if (!library)
		return -1;
	symbol = dlsym(library, "cuCtxGetDevice");
	dlclose(library);
	if (!symbol)
		return -1;
	memcpy(&current, &symbol, sizeof(current));
	/* a thread without a context: GPU 0 is as right as any */
	return current(&device) ? 0 : device;
}
