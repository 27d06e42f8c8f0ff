/* SPDX-License-Identifier: MIT */
/*
 * Windows: memory that all ranks register together and name by offset. Included by
 * gda/gin.h.
 *
 * A rank's part may consist of several segments with consecutive offsets. Segments may differ
 * between ranks, but their total length may not.
 */
#ifndef GDA_GIN_WINDOW_H
#define GDA_GIN_WINDOW_H

#include <gda/chunk.h>
#include <gda/gin/setup.h>

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/**
 * define GDA_WINDOW_STRICT - words of the window may be signals
 *
 * G-09. Writes to it are never relaxed, so a signal arrives after the data that it reports.
 * Segments in memory of a GPU need %GDA_CUDA_ATOMIC for such signals, and are registered with
 * %GDA_CUDA_MR_WORDS and %GDA_CUDA_MR_STORES, so they can be in only one such window at a time.
 */
#define GDA_WINDOW_STRICT	(1U << 0)

/**
 * struct gda_window_segment - a range of memory of this rank
 * @addr: first byte, a multiple of 8
 * @bytes: length in bytes, a multiple of 8, at least 8
 *
 * An element of an array, so it never grows.
 */
struct gda_window_segment {
	uint64_t addr;
	uint64_t bytes;
};

/**
 * struct gda_window_attr - attributes of a new window
 * @size: sizeof(struct gda_window_attr)
 * @flags: GDA_WINDOW_*, the same on all ranks
 * @segments: of this rank
 * @count: number of segments, 1 to %GDA_GIN_MAX_SEGMENTS; may differ between ranks
 * @reserved: must be 0
 */
struct gda_window_attr {
	uint32_t size;
	uint32_t flags;
	const struct gda_window_segment *segments;
	uint32_t count;
	uint32_t reserved;
};

/**
 * struct gda_window_part - a rank's part of a window, if it is one segment
 * @iova: address of offset 0 in work requests
 * @key: key of its MR
 * @reserved: 0
 *
 * An element of an array, so it never grows.
 */
struct gda_window_part {
	uint64_t iova;
	uint32_t key;
	uint32_t reserved;
};

/**
 * struct gda_window - a window, as posters see it
 * @size: bytes of the structure that the library knows
 * @version: %GDA_GIN_VERSION of the library
 * @flags: those of gda_window_attr
 * @pieces: the largest number of segments on any rank
 * @bytes: length of every rank's part
 * @iova: of the caller's part, if it is one segment
 * @key: of the caller's part, if it is one segment
 * @rank: the caller's
 * @parts: struct gda_window_part of each rank; valid only if @pieces is 1
 * @maps: struct gda_chunk_map of each rank, by offset
 * @owner: private to the library
 * @reserved: 0
 */
struct gda_window {
	uint32_t size;
	uint32_t version;
	uint32_t flags;
	uint32_t pieces;
	uint64_t bytes;
	uint64_t iova;
	uint32_t key;
	uint32_t rank;
	uint64_t parts;
	uint64_t maps;
	uint64_t owner;
	uint64_t reserved;
};

/**
 * gda_window_register_sized - gda_window_register() for callers that pass the size of their
 * structure
 * @comm: the communicator
 * @attr: attributes of the window
 * @size: bytes of struct gda_window of the caller
 * @window: receives the window
 *
 * Return: as gda_window_register().
 */
int gda_window_register_sized(struct gda_gin_comm *comm, const struct gda_window_attr *attr,
			      size_t size, struct gda_window **window);

/**
 * gda_window_register - register memory on all ranks (G-29)
 * @comm: the communicator
 * @attr: attributes of the window
 * @window: receives the window
 *
 * Collective. The rules of gda_mr_reg() for memory apply. Peers get all rights: write, read,
 * atomics. With gda_gin_attr.cuda a segment may be GPU memory that gda_cuda_mr_reg() accepts; words
 * for additions are in host memory, which the GPU has mapped at the same address.
 *
 * Return: 0; -EINVAL a bad size, count, or segment, or the parts of the ranks differ in length
 * or flags; -E2BIG as gda_gin_create(); -EOPNOTSUPP unknown flags; what gda_mr_reg() and
 * gda_comm_allgather() return; the error of another rank.
 */
GDA_HOST_API int gda_window_register(struct gda_gin_comm *comm,
				     const struct gda_window_attr *attr,
				     struct gda_window **window)
{
	return gda_window_register_sized(comm, attr, sizeof(struct gda_window), window);
}

/**
 * gda_gin_cuda_window - the address of a window for kernels of the communicator's GPU
 * @window: the window
 *
 * Return: its address on the GPU, valid until gda_window_deregister(); NULL without
 * gda_gin_attr.cuda.
 */
const struct gda_window *gda_gin_cuda_window(const struct gda_window *window);

/**
 * gda_window_deregister - end a window
 * @window: the window, or NULL; gone when the call returns
 *
 * Collective: it waits for the other ranks as gda_gin_destroy() does. No unfinished work may name
 * the window.
 */
void gda_window_deregister(struct gda_window *window);

/**
 * struct gda_gin_place - a place in a window
 * @window: the window
 * @offset: byte in it
 *
 * Passed by value, so it never grows.
 */
struct gda_gin_place {
	const struct gda_window *window;
	uint64_t offset;
};

/**
 * gda_at - name a place in a window
 * @window: the window
 * @offset: byte in it
 *
 * Return: the place.
 */
GDA_API struct gda_gin_place gda_at(const struct gda_window *window, uint64_t offset)
{
	struct gda_gin_place at;

	at.window = window;
	at.offset = offset;
	return at;
}

/**
 * gda_at_element - name an element of an array in a window (G-12)
 * @window: the window
 * @first: offset of the array
 * @index: of the element
 * @bytes: length of each element
 *
 * Return: the place.
 */
GDA_API struct gda_gin_place gda_at_element(const struct gda_window *window, uint64_t first,
					    uint64_t index, uint32_t bytes)
{
	return gda_at(window, first + index * bytes);
}

GDA_HELPER const struct gda_chunk_map *gda_window_map(const struct gda_window *w,
						      uint32_t rank)
{
	return (const struct gda_chunk_map *)(uintptr_t)w->maps + rank;
}

GDA_HELPER const struct gda_window_part *gda_window_part(const struct gda_window *w,
							 uint32_t rank)
{
	return (const struct gda_window_part *)(uintptr_t)gda_fixed64(&w->parts) + rank;
}

/* Are all @bytes at @at within the window? */
GDA_HELPER int gda_at_fits(struct gda_gin_place at, uint64_t bytes)
{
	uint64_t end = gda_fixed64(&at.window->bytes);

	return at.offset <= end && bytes <= end - at.offset;
}

/**
 * gda_at_local - the caller's own memory at a place
 * @at: the place, in the window
 *
 * Return: the address, valid up to the end of its segment; NULL outside of the window.
 */
GDA_API void *gda_at_local(struct gda_gin_place at)
{
	const struct gda_window *w = at.window;
	uint64_t iova = w->iova + at.offset;
	uint32_t key;

	if (!gda_at_fits(at, 1))
		return 0;
	if (w->pieces > 1)
		gda_chunk_span(gda_window_map(w, w->rank), at.offset, 1, &iova, &key);
	return (void *)(uintptr_t)iova;
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif /* GDA_GIN_WINDOW_H */
