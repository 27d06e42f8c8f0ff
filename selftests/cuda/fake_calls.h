/* SPDX-License-Identifier: MIT */
/* The driver's functions that lib/gpu calls and fake.c has, as the driver declares them. */
#ifndef GDA_FAKE_CALLS_H
#define GDA_FAKE_CALLS_H

#include <stddef.h>
#include <stdint.h>

/* CUstreamBatchMemOpParams, as far as it is used. */
union fake_memop {
	struct {
		int type;
		uint64_t addr;
		uint64_t value;
		unsigned int flags;
		uint64_t alias;
	} write;
	uint64_t pad[6];
};

int cuInit(unsigned int flags);
int cuDeviceGet(int *device, int ordinal);
int cuDeviceGetAttribute(int *value, int name, int device);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuDevicePrimaryCtxRelease_v2(int device);
int cuCtxPushCurrent_v2(void *context);
int cuCtxPopCurrent_v2(void **context);
int cuCtxSetCurrent(void *context);
int cuCtxGetStreamPriorityRange(int *least, int *greatest);
int cuDeviceCanAccessPeer(int *can, int device, int peer);
int cuCtxEnablePeerAccess(void *peer, unsigned int flags);
int cuMemAlloc_v2(uint64_t *addr, size_t bytes);
int cuMemFree_v2(uint64_t addr);
int cuMemHostAlloc(void **p, size_t bytes, unsigned int flags);
int cuMemFreeHost(void *p);
int cuMemHostRegister_v2(void *p, size_t bytes, unsigned int flags);
int cuMemHostUnregister(void *p);
int cuMemHostGetDevicePointer_v2(uint64_t *addr, void *p, unsigned int flags);
int cuPointerGetAttribute(void *value, int name, uint64_t addr);
int cuMemGetHandleForAddressRange(void *handle, uint64_t addr, size_t bytes, int type,
				  unsigned long long flags);
int cuStreamCreateWithPriority(void **stream, unsigned int flags, int priority);
int cuStreamDestroy_v2(void *stream);
int cuStreamSynchronize(void *stream);
int cuStreamQuery(void *stream);
int cuMemcpyAsync(uint64_t dst, uint64_t src, size_t bytes, void *stream);
int cuStreamWriteValue32_v2(void *stream, uint64_t addr, uint32_t value, unsigned int flags);
int cuStreamWriteValue64_v2(void *stream, uint64_t addr, uint64_t value, unsigned int flags);
int cuStreamWaitValue64_v2(void *stream, uint64_t addr, uint64_t value, unsigned int flags);
int cuStreamBatchMemOp_v2(void *stream, unsigned int count, union fake_memop *ops,
			  unsigned int flags);
int cuStreamWaitEvent(void *stream, void *event, unsigned int flags);
int cuEventCreate(void **event, unsigned int flags);
int cuEventDestroy_v2(void *event);
int cuEventRecord(void *event, void *stream);

#endif /* GDA_FAKE_CALLS_H */
