/* SPDX-License-Identifier: MIT */
/*
 * Memory that front ends share with a GPU's posters. Each call may be made from any thread of
 * the program, and none of them waits for a kernel, but for those that free. They are no control
 * calls: what they return is no matter for gda_because_last().
 */
#ifndef GDA_CUDA_SHARE_H
#define GDA_CUDA_SHARE_H

#include <stdbool.h>
#include <gda/cuda.h>

struct gda_cuda_map;

/* Is @addr in memory of a GPU? */
bool gda_cuda_owns(struct gda_cuda *cuda, uint64_t addr);

/* Zeroed memory of the host, pinned, that all GPUs reach at the same address. */
int gda_cuda_host_alloc(struct gda_cuda *cuda, size_t bytes, void **memory);
void gda_cuda_host_free(struct gda_cuda *cuda, void *memory);

/* The same, or whole pages of the host if there is no @cuda. */
int gda_cuda_pages_alloc(struct gda_cuda *cuda, size_t bytes, void **pages);
void gda_cuda_pages_free(struct gda_cuda *cuda, size_t bytes, void *pages);

/* Memory of the GPU; its content is not known. */
int gda_cuda_gpu_alloc(struct gda_cuda *cuda, size_t bytes, uint64_t *addr);
void gda_cuda_gpu_free(struct gda_cuda *cuda, uint64_t addr);

/* Copy to memory of the GPU; done when the call returns. */
int gda_cuda_upload(struct gda_cuda *cuda, uint64_t to, const void *from, size_t bytes);

/* Let the GPU reach whole pages of the host, at @addr, until they are given back. */
int gda_cuda_pages_get(struct gda_cuda *cuda, void *pages, size_t bytes, uint64_t *addr,
		       struct gda_cuda_map **map);
void gda_cuda_pages_put(struct gda_cuda *cuda, struct gda_cuda_map *map);

/* Have a stream of the program wait until the word at @addr is at least @value, and write it. */
int gda_cuda_stream_wait(struct gda_cuda *cuda, void *stream, uint64_t addr, uint64_t value);
int gda_cuda_stream_store(struct gda_cuda *cuda, void *stream, uint64_t addr, uint64_t value);

/* Do kernels of the GPU reach the GPU memory at @addr, of the same GPU or of another? */
bool gda_cuda_reaches(struct gda_cuda *cuda, uint64_t addr);

/* A block of GPU memory that is filled here, and then sent there. */
struct gda_cuda_image {
	uint64_t addr;
	char *bytes;
	size_t size;
	size_t used;
};

int gda_cuda_image_open(struct gda_cuda_image *i, struct gda_cuda *cuda, size_t size);
/* Room in the block, at most 127 bytes more than asked for; its address there, its memory here. */
uint64_t gda_cuda_image_take(struct gda_cuda_image *i, size_t bytes, void **here);
uint64_t gda_cuda_image_copy(struct gda_cuda_image *i, const void *from, size_t bytes);
/* Send it to the GPU. On failure the block is gone. */
int gda_cuda_image_close(struct gda_cuda_image *i, struct gda_cuda *cuda);

/* A pointer into a table of the host at @from, moved to the GPU's at @to. */
static inline void gda_cuda_image_move(uint64_t *pointer, const void *from, uint64_t to)
{
	*pointer = to + (*pointer - (uintptr_t)from);
}

/* The context that a GPU was opened with. */
struct gda_context *gda_cuda_context(const struct gda_cuda *cuda);

#endif /* GDA_CUDA_SHARE_H */
