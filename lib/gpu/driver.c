// SPDX-License-Identifier: MIT
/*
 * Opens the CUDA driver. It stays loaded, because it has threads and exit handlers.
 */
#define _GNU_SOURCE
#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "driver.h"
#include "gda_internal.h"
#include "library.h"

struct gda_cu gda_cu;

static const struct gda_cu_symbol {
	const char *name;
	size_t at;
} gda_cu_symbols[] = {
	{ "cuInit", offsetof(struct gda_cu, init) },
	{ "cuDeviceGet", offsetof(struct gda_cu, device_get) },
	{ "cuDeviceGetAttribute", offsetof(struct gda_cu, device_attribute) },
	{ "cuDevicePrimaryCtxRetain", offsetof(struct gda_cu, context_retain) },
	{ "cuDevicePrimaryCtxRelease_v2", offsetof(struct gda_cu, context_release) },
	{ "cuCtxPushCurrent_v2", offsetof(struct gda_cu, context_push) },
	{ "cuCtxPopCurrent_v2", offsetof(struct gda_cu, context_pop) },
	{ "cuCtxSetCurrent", offsetof(struct gda_cu, context_set) },
	{ "cuCtxGetStreamPriorityRange", offsetof(struct gda_cu, priorities) },
	{ "cuDeviceCanAccessPeer", offsetof(struct gda_cu, peer_can) },
	{ "cuCtxEnablePeerAccess", offsetof(struct gda_cu, peer_enable) },
	{ "cuMemAlloc_v2", offsetof(struct gda_cu, alloc) },
	{ "cuMemFree_v2", offsetof(struct gda_cu, free) },
	{ "cuMemHostAlloc", offsetof(struct gda_cu, host_alloc) },
	{ "cuMemFreeHost", offsetof(struct gda_cu, host_free) },
	{ "cuMemHostRegister_v2", offsetof(struct gda_cu, host_register) },
	{ "cuMemHostUnregister", offsetof(struct gda_cu, host_unregister) },
	{ "cuMemHostGetDevicePointer_v2", offsetof(struct gda_cu, host_address) },
	{ "cuPointerGetAttribute", offsetof(struct gda_cu, pointer_attribute) },
	{ "cuMemGetHandleForAddressRange", offsetof(struct gda_cu, range_handle) },
	{ "cuStreamCreateWithPriority", offsetof(struct gda_cu, stream_create) },
	{ "cuStreamDestroy_v2", offsetof(struct gda_cu, stream_destroy) },
	{ "cuStreamSynchronize", offsetof(struct gda_cu, stream_sync) },
	{ "cuStreamQuery", offsetof(struct gda_cu, stream_query) },
	{ "cuMemcpyAsync", offsetof(struct gda_cu, stream_copy) },
	{ "cuStreamWriteValue32_v2", offsetof(struct gda_cu, stream_store) },
	{ "cuStreamWriteValue64_v2", offsetof(struct gda_cu, stream_store64) },
	{ "cuStreamBatchMemOp_v2", offsetof(struct gda_cu, stream_batch) },
	{ "cuStreamWaitValue64_v2", offsetof(struct gda_cu, stream_wait64) },
	{ "cuStreamWaitEvent", offsetof(struct gda_cu, stream_wait) },
	{ "cuEventCreate", offsetof(struct gda_cu, event_create) },
	{ "cuEventDestroy_v2", offsetof(struct gda_cu, event_destroy) },
	{ "cuEventRecord", offsetof(struct gda_cu, event_record) },
};

static_assert(sizeof(gda_cu_symbols) / sizeof(gda_cu_symbols[0]) ==
	      sizeof(struct gda_cu) / sizeof(void *), "one symbol a call");

static pthread_once_t gda_cu_once = PTHREAD_ONCE_INIT;
static int gda_cu_loaded;

static int gda_cu_resolve(void *library)
{
	size_t i;

	for (i = 0; i < sizeof(gda_cu_symbols) / sizeof(gda_cu_symbols[0]); i++) {
		void *symbol = dlsym(library, gda_cu_symbols[i].name);

		if (!symbol)
			return -EOPNOTSUPP;
		memcpy((char *)&gda_cu + gda_cu_symbols[i].at, &symbol, sizeof(symbol));
	}
	return 0;
}

static void gda_cu_open(void)
{
	void *library;

	gda_cu_loaded = gda_library_open("libcuda.so.1", "GDA_LIBCUDA", &library);
	if (!gda_cu_loaded)
		gda_cu_loaded = gda_cu_resolve(library);
	if (!gda_cu_loaded)
		gda_cu_loaded = gda_cu_errno(gda_cu.init(0));
}

int gda_cu_load(void)
{
	pthread_once(&gda_cu_once, gda_cu_open);
	return gda_cu_loaded;
}

int gda_cu_errno(int result)
{
	switch (result) {
	case GDA_CU_SUCCESS:
		return 0;
	case GDA_CU_INVALID_VALUE:
		return gda_because(-EINVAL,
				   "the CUDA driver refuses a value (error %d): is the memory of this GPU, and still allocated?",
				   result);
	case GDA_CU_OUT_OF_MEMORY:
		return gda_because(-ENOMEM,
				   "the CUDA driver is out of memory (error %d): free some of the GPU, see nvidia-smi",
				   result);
	case GDA_CU_NO_DEVICE:
	case GDA_CU_INVALID_DEVICE:
		return gda_because(-ENODEV,
				   "the CUDA driver has no such GPU (error %d): nvidia-smi lists them",
				   result);
	case GDA_CU_NOT_SUPPORTED:
		return gda_because(-EOPNOTSUPP,
				   "the CUDA driver does not support it here (error %d): a later driver or another GPU may",
				   result);
	default:
		return gda_because(-EIO,
				   "the CUDA driver reports error %d: cuda.h says which, dmesg why",
				   result);
	}
}
