// SPDX-License-Identifier: MIT
/*
 * The GPU of a rank is the current device of the thread in which NCCL calls, which only the CUDA
 * driver knows. libgda opens the same driver, if there is one.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include "nccl_internal.h"

int gda_nccl_gpu(void)
{
	const char *name = secure_getenv("GDA_LIBCUDA");
	/*
	 * RTLD_NOLOAD: only a library that is loaded already is used, so no other file's code runs
	 */
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
	/* the thread has no context: any GPU will do */
	return current(&device) ? 0 : device;
}
