// SPDX-License-Identifier: MIT
/*
 * Memory that front ends share with a GPU's posters: what both read and write is pinned
 * memory of the host, what only posters use lies on the GPU, and pages that are there already
 * are mapped.
 */
#include <errno.h>
#include <string.h>
#include "cuda_internal.h"
#include "share.h"

struct gda_context *gda_cuda_context(const struct gda_cuda *cuda)
{
	return cuda->ctx;
}

bool gda_cuda_owns(struct gda_cuda *cuda, uint64_t addr)
{
	unsigned int type = 0;

	if (gda_cuda_enter(cuda))
		return false;
	if (gda_cu.pointer_attribute(&type, GDA_CU_POINTER_MEMORY_TYPE, addr))
		type = 0;
	gda_cuda_leave();
	return type == GDA_CU_MEMORY_DEVICE;
}

int gda_cuda_host_alloc(struct gda_cuda *cuda, size_t bytes, void **memory)
{
	uint64_t addr = 0;
	void *p = NULL;
	int err = gda_cuda_enter(cuda);

	if (err)
		return err;
	err = gda_cu_errno(gda_cu.host_alloc(&p, bytes,
					     GDA_CU_HOST_PORTABLE | GDA_CU_HOST_DEVICEMAP));
	if (!err)
		err = gda_cu_errno(gda_cu.host_address(&addr, p, 0));
	if (!err && addr != (uintptr_t)p)
		err = gda_because(-EOPNOTSUPP, "the GPU has memory of the host elsewhere");
	if (err && p)
		gda_cu.host_free(p);
	gda_cuda_leave();
	if (err)
		return err;
	memset(p, 0, bytes);
	*memory = p;
	return 0;
}

void gda_cuda_host_free(struct gda_cuda *cuda, void *memory)
{
	if (!memory || gda_cuda_enter(cuda))
		return;
	gda_cu.host_free(memory);
	gda_cuda_leave();
}

int gda_cuda_gpu_alloc(struct gda_cuda *cuda, size_t bytes, uint64_t *addr)
{
	int err = gda_cuda_enter(cuda);

	if (err)
		return err;
	err = gda_cu_errno(gda_cu.alloc(addr, bytes));
	gda_cuda_leave();
	return err;
}

void gda_cuda_gpu_free(struct gda_cuda *cuda, uint64_t addr)
{
	if (!addr || gda_cuda_enter(cuda))
		return;
	gda_cu.free(addr);
	gda_cuda_leave();
}

int gda_cuda_upload(struct gda_cuda *cuda, uint64_t to, const void *from, size_t bytes)
{
	void *stream;
	int err = gda_cuda_enter(cuda);

	if (err)
		return err;
	err = gda_cu_errno(gda_cu.stream_create(&stream, GDA_CU_STREAM_NON_BLOCKING, 0));
	if (!err) {
		err = gda_cu_errno(gda_cu.stream_copy(to, (uintptr_t)from, bytes, stream));
		if (!err)
			err = gda_cu_errno(gda_cu.stream_sync(stream));
		gda_cu.stream_destroy(stream);
	}
	gda_cuda_leave();
	return err;
}

int gda_cuda_pages_get(struct gda_cuda *cuda, void *pages, size_t bytes, uint64_t *addr,
		       struct gda_cuda_map **map)
{
	const struct gda_region region = { .addr = pages, .length = bytes };
	int err = gda_cuda_enter(cuda);

	if (err)
		return err;
	err = gda_cuda_map_get(cuda, &region, (uintptr_t)pages, addr, map);
	gda_cuda_leave();
	return err;
}

void gda_cuda_pages_put(struct gda_cuda *cuda, struct gda_cuda_map *map)
{
	if (!map || gda_cuda_enter(cuda))
		return;
	gda_cuda_map_put(cuda, map);
	gda_cuda_leave();
}
