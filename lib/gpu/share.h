/* SPDX-License-Identifier: MIT */
/*
 * Memory that front ends share with a GPU's posters. Each call may be made from any thread of the
 * program, and only those that free memory wait for kernels. They are not control calls, so their
 * errors are not for gda_because_last().
 */
#ifndef GDA_CUDA_SHARE_H
#define GDA_CUDA_SHARE_H

#include <stdbool.h>
#include <gda/cuda.h>

struct gda_cuda_map;

/* Is @addr in GPU memory? */
bool gda_cuda_owns(struct gda_cuda *cuda, uint64_t addr);

/* Allocate zeroed, pinned host memory that all GPUs reach at the same address. */
int gda_cuda_host_alloc(struct gda_cuda *cuda, size_t bytes, void **memory);
void gda_cuda_host_free(struct gda_cuda *cuda, void *memory);

/* The same, or just whole pages of host memory if @cuda is NULL. */
int gda_cuda_pages_alloc(struct gda_cuda *cuda, size_t bytes, void **pages);
void gda_cuda_pages_free(struct gda_cuda *cuda, size_t bytes, void *pages);

/* Allocate GPU memory, uninitialized. */
int gda_cuda_gpu_alloc(struct gda_cuda *cuda, size_t bytes, uint64_t *addr);
void gda_cuda_gpu_free(struct gda_cuda *cuda, uint64_t addr);

/* Copy to GPU memory, synchronously. */
int gda_cuda_upload(struct gda_cuda *cuda, uint64_t to, const void *from, size_t bytes);

/* Map whole pages of host memory for the GPU, at *@addr, until they are put. */
int gda_cuda_pages_get(struct gda_cuda *cuda, void *pages, size_t bytes, uint64_t *addr,
		       struct gda_cuda_map **map);
void gda_cuda_pages_put(struct gda_cuda *cuda, struct gda_cuda_map *map);

/* Make a stream of the program wait until the word at @addr is at least @value; or write it. */
int gda_cuda_stream_wait(struct gda_cuda *cuda, void *stream, uint64_t addr, uint64_t value);
int gda_cuda_stream_store(struct gda_cuda *cuda, void *stream, uint64_t addr, uint64_t value);

/* Can kernels of the GPU access the GPU memory at @addr, on the same or on another GPU? */
bool gda_cuda_reaches(struct gda_cuda *cuda, uint64_t addr);

/* A block of GPU memory that is built in host memory and then copied. */
struct gda_cuda_image {
	uint64_t addr;
	char *bytes;
	size_t size;
	size_t used;
};

int gda_cuda_image_open(struct gda_cuda_image *i, struct gda_cuda *cuda, size_t size);
/*
 * Reserve room in the block, at most 127 bytes more than @bytes. Return: its GPU address; its host
 * address in *@here.
 */
uint64_t gda_cuda_image_take(struct gda_cuda_image *i, size_t bytes, void **here);
uint64_t gda_cuda_image_copy(struct gda_cuda_image *i, const void *from, size_t bytes);
/* Copy the block to the GPU. On failure the block is freed. */
int gda_cuda_image_close(struct gda_cuda_image *i, struct gda_cuda *cuda);

/* Translate a pointer into the host's table at @from to the GPU's copy at @to. */
static inline void gda_cuda_image_move(uint64_t *pointer, const void *from, uint64_t to)
{
	*pointer = to + (*pointer - (uintptr_t)from);
}

/* The context with which a GPU was opened. */
struct gda_context *gda_cuda_context(const struct gda_cuda *cuda);

#endif /* GDA_CUDA_SHARE_H */
