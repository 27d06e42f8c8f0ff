/* SPDX-License-Identifier: MIT */
/*
 * Put and get. A blocking call returns when the source may be changed (put) or the bytes have
 * arrived (get); a call with _nbi returns when the work is posted, and the same holds when its
 * ticket is done, or after gda_shmem_quiet(). A put is visible to its PE after gda_shmem_quiet(),
 * and before any put that follows a gda_shmem_fence(). Included by gda/shmem.h.
 */
#ifndef GDA_SHMEM_RMA_H
#define GDA_SHMEM_RMA_H

#include <string.h>
#include <gda/shmem_queue.h>

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/*
 * A transfer of no bytes. By queue it posts an entry that moves nothing, because its ticket is
 * waited for and tested like all others, and also tells about the work before it.
 */
GDA_SLOW int64_t gda_shmem_nothing(struct gda_shmem *s, uint32_t pe, uint32_t flags)
{
	const struct gda_shmem_peer *p = gda_shmem_peer(s, pe);

	if (!p)
		return -EINVAL;
	return p->heap ? 0 : gda_post_nothing(gda_shmem_queue(s, p, flags),
					      gda_shmem_post_flags(flags));
}

/* Begin a put; @most as for gda_shmem_queue_put(). With direct access it is done at once. */
GDA_HELPER struct gda_shmem_outcome gda_shmem_begin_put(struct gda_shmem *s, void *dest,
						       const void *source, uint64_t bytes,
						       uint32_t pe, uint32_t flags, uint64_t most)
{
	const struct gda_shmem_peer *p = gda_shmem_peer(s, pe);
	char *to;

	if (gda_unlikely(!p))
		return gda_shmem_outcome(-EINVAL, 0);
	if (!bytes)
		return gda_shmem_outcome(0, 1);
	if (!p->heap)
		return gda_shmem_queue_put(s, dest, source, bytes, pe, flags, most);
	to = gda_shmem_mapped(s, p, dest, bytes);
	if (gda_unlikely(!to))
		return gda_shmem_outcome(-EFAULT, 0);
	GDA_HERE(gda_shmem_copy_put(to, source, bytes),
		 gda_shmem_copy_mapped(to, source, bytes, 0, 1));
	return gda_shmem_outcome(0, 1);
}

/**
 * gda_shmem_put_nbi - begin to write to a PE
 * @s: the heap
 * @dest: symmetric address, of the caller
 * @source: any memory of the caller
 * @bytes: number of bytes; 0 moves nothing, but returns a ticket
 * @pe: number of the PE to write to
 * @flags: GDA_*, GDA_SHMEM_QP()
 *
 * Any thread may call it; with %GDA_EXCLUSIVE the caller serializes all posts to that queue pair.
 *
 * Return: a ticket, or a negative errno, see gda/shmem.h.
 */
GDA_API int64_t gda_shmem_put_nbi(struct gda_shmem *s, void *dest, const void *source,
				  uint64_t bytes, uint32_t pe, uint32_t flags)
{
	if (gda_unlikely(!bytes))
		return gda_shmem_nothing(s, pe, flags);
	return gda_shmem_begin_put(s, dest, source, bytes, pe, flags, 0).ticket;
}

/**
 * gda_shmem_put - write to a PE
 * @s: the heap
 * @dest: symmetric address, of the caller
 * @source: any memory of the caller; it may be changed when the call returns
 * @bytes: number of bytes
 * @pe: number of the PE to write to
 * @flags: GDA_*, GDA_SHMEM_QP()
 *
 * Return: 0 or a negative errno, see gda/shmem.h.
 */
GDA_API int gda_shmem_put(struct gda_shmem *s, void *dest, const void *source, uint64_t bytes,
			  uint32_t pe, uint32_t flags)
{
	struct gda_shmem_outcome put = gda_shmem_begin_put(s, dest, source, bytes, pe, flags,
							  GDA_INLINE_MAX);

	if (put.ticket < 0 || put.source_free)
		return put.ticket < 0 ? (int)put.ticket : 0;
	return gda_shmem_queue_wait(gda_shmem_queue(s, gda_shmem_peer(s, pe), flags), put.ticket,
				    0);
}

/**
 * gda_shmem_get_nbi - begin to read from a PE
 * @s: the heap
 * @dest: any memory of the caller
 * @source: symmetric address, of the caller
 * @bytes: number of bytes
 * @pe: number of the PE to read from
 * @flags: GDA_*, GDA_SHMEM_QP()
 *
 * Return: a ticket, or a negative errno, see gda/shmem.h.
 */
GDA_API int64_t gda_shmem_get_nbi(struct gda_shmem *s, void *dest, const void *source,
				  uint64_t bytes, uint32_t pe, uint32_t flags)
{
	const struct gda_shmem_peer *p = gda_shmem_peer(s, pe);
	const char *from;

	if (gda_unlikely(!bytes))
		return gda_shmem_nothing(s, pe, flags);
	if (gda_unlikely(!p))
		return -EINVAL;
	if (!p->heap)
		return gda_shmem_queue_get(s, dest, source, bytes, pe, flags);
	from = gda_shmem_mapped(s, p, source, bytes);
	if (gda_unlikely(!from))
		return -EFAULT;
	GDA_HERE(memmove(dest, from, bytes), gda_shmem_copy_mapped(dest, from, bytes, 0, 1));
	return 0;
}

/**
 * gda_shmem_get - read from a PE
 * @s: the heap
 * @dest: any memory of the caller; the bytes have arrived when the call returns
 * @source: symmetric address, of the caller
 * @bytes: number of bytes
 * @pe: number of the PE to read from
 * @flags: GDA_*, GDA_SHMEM_QP()
 *
 * Return: 0 or a negative errno, see gda/shmem.h.
 */
GDA_API int gda_shmem_get(struct gda_shmem *s, void *dest, const void *source, uint64_t bytes,
			  uint32_t pe, uint32_t flags)
{
	const struct gda_shmem_peer *p = gda_shmem_peer(s, pe);
	int64_t ticket;

	if (gda_unlikely(!bytes))
		return p ? 0 : -EINVAL;
	ticket = gda_shmem_get_nbi(s, dest, source, bytes, pe, flags);
	if (ticket < 0 || p->heap)
		return ticket < 0 ? (int)ticket : 0;
	return gda_shmem_queue_wait(gda_shmem_queue(s, p, flags), ticket, 0);
}

/**
 * gda_shmem_p - write a value to a PE
 * @s: the heap
 * @dest: symmetric address, of the caller, a multiple of @bytes
 * @value: its low bytes are written, with one store
 * @bytes: 1, 2, 4 or 8; a constant
 * @pe: number of the PE to write to
 * @flags: GDA_*, GDA_SHMEM_QP()
 *
 * By queue the value is inline in the request. I-16.
 *
 * Return: a ticket, or a negative errno, see gda/shmem.h.
 */
GDA_API int64_t gda_shmem_p(struct gda_shmem *s, void *dest, uint64_t value, uint32_t bytes,
			    uint32_t pe, uint32_t flags)
{
	const struct gda_shmem_peer *p = gda_shmem_peer(s, pe);
	char *to;

	if (gda_unlikely(pe >= s->npes || !gda_shmem_is_word(dest, bytes)))
		return -EINVAL;
	if (!p->heap)
		return gda_shmem_queue_p(s, p, dest, value, bytes, flags);
	to = gda_shmem_mapped(s, p, dest, bytes);
	if (gda_unlikely(!to))
		return -EFAULT;
	gda_shmem_store(to, value, bytes);
	return 0;
}

/**
 * gda_shmem_g - read a value from a PE
 * @s: the heap
 * @value: receives the value
 * @source: symmetric address, of the caller, a multiple of @bytes
 * @bytes: 1, 2, 4 or 8; a constant
 * @pe: number of the PE to read from
 * @flags: GDA_*, GDA_SHMEM_QP()
 *
 * Return: 0 or a negative errno, see gda/shmem.h.
 */
GDA_API int gda_shmem_g(struct gda_shmem *s, uint64_t *value, const void *source,
			uint32_t bytes, uint32_t pe, uint32_t flags)
{
	const struct gda_shmem_peer *p = gda_shmem_peer(s, pe);
	const char *from;

	if (gda_unlikely(!p || !gda_shmem_is_word(source, bytes)))
		return -EINVAL;
	if (!p->heap)
		return gda_shmem_queue_g(s, p, value, source, bytes, flags);
	from = gda_shmem_mapped(s, p, source, bytes);
	if (gda_unlikely(!from))
		return -EFAULT;
	*value = gda_shmem_load(from, bytes);
	return 0;
}

/**
 * struct gda_shmem_strided - the elements that a strided put or get moves
 * @dest: first element at the destination
 * @source: first element at the source
 * @dest_stride: from one element to the next, in elements
 * @source_stride: from one element to the next, in elements
 * @bytes: length of an element
 * @count: number of elements
 *
 * Its layout does not change.
 */
struct gda_shmem_strided {
	void *dest;
	const void *source;
	int64_t dest_stride;
	int64_t source_stride;
	uint64_t bytes;
	uint64_t count;
};

/**
 * gda_shmem_iput - write elements to a PE, each a stride behind the one before
 * @s: the heap
 * @what: the elements; @dest is symmetric
 * @pe: number of the PE to write to
 * @flags: GDA_*, GDA_SHMEM_QP()
 *
 * The source may be changed when the call returns. If it fails some elements may have been
 * written.
 *
 * Return: 0 or a negative errno, see gda/shmem.h.
 */
GDA_API int gda_shmem_iput(struct gda_shmem *s, const struct gda_shmem_strided *what,
			   uint32_t pe, uint32_t flags)
{
	const char *source = (const char *)what->source;
	char *dest = (char *)what->dest;
	uint64_t i;
	int err = 0;

	for (i = 0; i < what->count && !err; i++) {
		err = gda_shmem_put(s, dest, source, what->bytes, pe, flags);
		dest += what->dest_stride * (int64_t)what->bytes;
		source += what->source_stride * (int64_t)what->bytes;
	}
	return err;
}

/**
 * gda_shmem_iget - read elements from a PE, each a stride behind the one before
 * @s: the heap
 * @what: the elements; @source is symmetric
 * @pe: number of the PE to read from
 * @flags: GDA_*, GDA_SHMEM_QP()
 *
 * Return: 0 or a negative errno, see gda/shmem.h.
 */
GDA_API int gda_shmem_iget(struct gda_shmem *s, const struct gda_shmem_strided *what,
			   uint32_t pe, uint32_t flags)
{
	const char *source = (const char *)what->source;
	char *dest = (char *)what->dest;
	uint64_t i;
	int err = 0;

	for (i = 0; i < what->count && !err; i++) {
		err = gda_shmem_get(s, dest, source, what->bytes, pe, flags);
		dest += what->dest_stride * (int64_t)what->bytes;
		source += what->source_stride * (int64_t)what->bytes;
	}
	return err;
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif /* GDA_SHMEM_RMA_H */
