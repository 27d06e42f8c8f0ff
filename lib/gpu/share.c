// SPDX-License-Identifier: MIT
/*
 * Memory that front ends share with a GPU's posters: data that both access is in pinned host
 * memory, data that only posters use is in GPU memory, and existing host pages can be mapped.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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
		err = gda_because(-EOPNOTSUPP,
				  "the GPU maps memory of the host at other addresses: use one with unified addressing");
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

int gda_cuda_pages_alloc(struct gda_cuda *cuda, size_t bytes, void **pages)
{
	void *p;

	if (cuda)
		return gda_cuda_host_alloc(cuda, bytes, pages);
	p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return -ENOMEM;
	*pages = p;
	return 0;
}

void gda_cuda_pages_free(struct gda_cuda *cuda, size_t bytes, void *pages)
{
	if (cuda)
		gda_cuda_host_free(cuda, pages);
	else if (pages)
		munmap(pages, bytes);
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

/* Call @memop of the driver for a 64-bit word. */
static int gda_cuda_word(struct gda_cuda *cuda, void *stream, uint64_t addr, uint64_t value,
			 int (*memop)(void *stream, uint64_t addr, uint64_t value,
				      unsigned int flags))
{
	int can = 0, err = gda_cuda_enter(cuda);

	if (err)
		return err;
	if (gda_cu.device_attribute(&can, GDA_CU_64_BIT_STREAM_MEM_OPS, cuda->device) || !can)
		err = gda_because(-EOPNOTSUPP,
				  "the GPU has no 64-bit waits and writes of streams: wait on the CPU, or use another GPU");
	else
		err = gda_cu_errno(memop(stream, addr, value, 0));
	gda_cuda_leave();
	return err;
}

int gda_cuda_stream_wait(struct gda_cuda *cuda, void *stream, uint64_t addr, uint64_t value)
{
	return gda_cuda_word(cuda, stream, addr, value, gda_cu.stream_wait64);
}

int gda_cuda_stream_store(struct gda_cuda *cuda, void *stream, uint64_t addr, uint64_t value)
{
	return gda_cuda_word(cuda, stream, addr, value, gda_cu.stream_store64);
}

bool gda_cuda_reaches(struct gda_cuda *cuda, uint64_t addr)
{
	int device = -1, other, can = 0;

	if (gda_cuda_enter(cuda))
		return false;
	if (!gda_cu.pointer_attribute(&device, GDA_CU_POINTER_DEVICE, addr))
		can = device == cuda->ordinal;
	if (!can && device >= 0 && !gda_cu.device_get(&other, device) &&
	    gda_cu.peer_can(&can, cuda->device, other))
		can = 0;
	gda_cuda_leave();
	return can;
}

uint64_t gda_cuda_image_take(struct gda_cuda_image *i, size_t bytes, void **here)
{
	size_t at = i->used;

	i->used += (bytes + 127) / 128 * 128;
	*here = i->bytes + at;
	return i->addr + at;
}

uint64_t gda_cuda_image_copy(struct gda_cuda_image *i, const void *from, size_t bytes)
{
	void *here;
	uint64_t addr = gda_cuda_image_take(i, bytes, &here);

	if (bytes)
		memcpy(here, from, bytes);
	return addr;
}

int gda_cuda_image_open(struct gda_cuda_image *i, struct gda_cuda *cuda, size_t size)
{
	int err;

	i->size = size;
	i->used = 0;
	i->addr = 0;
	i->bytes = calloc(1, size);
	if (!i->bytes)
		return -ENOMEM;
	err = gda_cuda_gpu_alloc(cuda, size, &i->addr);
	if (err)
		free(i->bytes);
	return err;
}

int gda_cuda_image_close(struct gda_cuda_image *i, struct gda_cuda *cuda)
{
	int err = gda_cuda_upload(cuda, i->addr, i->bytes, i->size);

	free(i->bytes);
	if (err)
		gda_cuda_gpu_free(cuda, i->addr);
	return err;
}
