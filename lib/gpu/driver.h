/* SPDX-License-Identifier: MIT */
/*
 * The part of the CUDA driver API that is used here, according to its manual; no header of CUDA is
 * needed to build. The library is opened at run time, once.
 */
#ifndef GDA_CUDA_DRIVER_H
#define GDA_CUDA_DRIVER_H

#include <stddef.h>
#include <stdint.h>

/* CUresult */
enum {
	GDA_CU_SUCCESS = 0,
	GDA_CU_INVALID_VALUE = 1,
	GDA_CU_OUT_OF_MEMORY = 2,
	GDA_CU_NO_DEVICE = 100,
	GDA_CU_INVALID_DEVICE = 101,
	GDA_CU_NOT_READY = 600,
	GDA_CU_PEER_ACCESS_ALREADY_ENABLED = 704,
	GDA_CU_NOT_SUPPORTED = 801,
};

/* CUdevice_attribute */
enum {
	GDA_CU_MULTIPROCESSOR_COUNT = 16,
	GDA_CU_UNIFIED_ADDRESSING = 41,
	GDA_CU_HOST_REGISTER_SUPPORTED = 99,
	GDA_CU_64_BIT_STREAM_MEM_OPS = 122,
	GDA_CU_DMA_BUF_SUPPORTED = 124,
};

/* CUpointer_attribute, and a CUmemorytype */
enum {
	GDA_CU_POINTER_MEMORY_TYPE = 2,
	GDA_CU_POINTER_DEVICE = 9,
	GDA_CU_POINTER_RANGE_START = 11,
	GDA_CU_POINTER_RANGE_SIZE = 12,
	GDA_CU_MEMORY_DEVICE = 2,
};

/* CUstreamBatchMemOpType, and the two of CUstreamBatchMemOpParams that are used here. */
enum {
	GDA_CU_WRITE_VALUE_32 = 2,
	GDA_CU_WRITE_VALUE_64 = 5,
};

union gda_cu_memop {
	struct {
		int type;
		uint64_t addr;
		uint64_t value;		/* of 32 bits: the first four bytes */
		unsigned int flags;
		uint64_t alias;		/* private to the driver */
	} write;
	uint64_t pad[6];
};

/* Flags for registering and for allocating host memory, which are the same. */
enum {
	GDA_CU_STREAM_NON_BLOCKING = 1,
	GDA_CU_EVENT_DISABLE_TIMING = 2,
	GDA_CU_HOST_PORTABLE = 1,
	GDA_CU_HOST_DEVICEMAP = 2,
	GDA_CU_RANGE_DMA_BUF_FD = 1,
};

/* The calls; all return a CUresult, and addresses of GPU memory are integers. */
struct gda_cu {
	int (*init)(unsigned int flags);
	int (*device_get)(int *device, int ordinal);
	int (*device_attribute)(int *value, int name, int device);
	int (*context_retain)(void **context, int device);
	int (*context_release)(int device);
	int (*context_push)(void *context);
	int (*context_pop)(void **context);
	int (*context_set)(void *context);
	int (*priorities)(int *least, int *greatest);
	int (*peer_can)(int *can, int device, int peer);
	int (*peer_enable)(void *peer, unsigned int flags);
	int (*alloc)(uint64_t *addr, size_t bytes);
	int (*free)(uint64_t addr);
	int (*host_alloc)(void **p, size_t bytes, unsigned int flags);
	int (*host_free)(void *p);
	int (*host_register)(void *p, size_t bytes, unsigned int flags);
	int (*host_unregister)(void *p);
	int (*host_address)(uint64_t *addr, void *p, unsigned int flags);
	int (*pointer_attribute)(void *value, int name, uint64_t addr);
	int (*range_handle)(void *handle, uint64_t addr, size_t bytes, int type,
			    unsigned long long flags);
	int (*stream_create)(void **stream, unsigned int flags, int priority);
	int (*stream_destroy)(void *stream);
	int (*stream_sync)(void *stream);
	int (*stream_query)(void *stream);
	int (*stream_copy)(uint64_t dst, uint64_t src, size_t bytes, void *stream);
	int (*stream_store)(void *stream, uint64_t addr, uint32_t value, unsigned int flags);
	int (*stream_store64)(void *stream, uint64_t addr, uint64_t value, unsigned int flags);
	/* in order; they count as one operation of the stream */
	int (*stream_batch)(void *stream, unsigned int count, union gda_cu_memop *ops,
			    unsigned int flags);
	/* waits until *@addr - @value, as a signed number, is not negative */
	int (*stream_wait64)(void *stream, uint64_t addr, uint64_t value, unsigned int flags);
	int (*stream_wait)(void *stream, void *event, unsigned int flags);
	int (*event_create)(void **event, unsigned int flags);
	int (*event_destroy)(void *event);
	int (*event_record)(void *event, void *stream);
};

extern struct gda_cu gda_cu;

/*
 * Open libcuda, or the library that GDA_LIBCUDA in the environment names. Return: as
 * gda_cuda_open().
 */
int gda_cu_load(void);

/* Convert a CUresult to a negative errno. */
int gda_cu_errno(int result);

#endif /* GDA_CUDA_DRIVER_H */
