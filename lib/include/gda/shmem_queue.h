/* SPDX-License-Identifier: MIT */
/*
 * Access by queue of gda/shmem.h: what each call posts. Not to be called by programs.
 *
 * Requests on one queue pair to a PE are executed in order, so a fence of one queue pair does
 * nothing; in a dialect without %GDA_CAN_ORDER (%GDA_SHMEM_UNORDERED) it is a quiet. A completed put need not be visible to all PEs, but later work to that PE follows it. So
 * a quiet posts a read behind everything on each queue pair that was used, and waits for the reads
 * (gda_shmem_queue_flush()).
 *
 * The word that receives an old value belongs to its request until the request's ticket is done and
 * the word was read: it is reserved and released. An unwanted old value goes to the beginning of
 * s->stage, which is never read.
 */
#ifndef GDA_SHMEM_QUEUE_H
#define GDA_SHMEM_QUEUE_H

#include <string.h>
#include <gda/masked_atomic.h>
#include <gda/shmem_direct.h>

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/**
 * gda_shmem_view - the queue that calls to a PE post to
 * @s: the heap
 * @pe: number of the PE
 * @flags: GDA_SHMEM_QP() chooses the queue pair; 0: the first
 *
 * For gda_error(), or posts of the program's own.
 *
 * Return: the view; NULL no such PE, or it is reached directly.
 */
GDA_API struct gda_view *gda_shmem_view(const struct gda_shmem *s, uint32_t pe,
					uint32_t flags)
{
	const struct gda_shmem_peer *p = gda_shmem_peer(s, pe);

	if (!p || p->heap)
		return NULL;
	return (struct gda_view *)(uintptr_t)
		((struct gda_shmem_qp *)(uintptr_t)p->qps + (flags >> 16) % s->qps)->view;
}

/**
 * gda_shmem_word_reserve - reserve a word for the value that a request fetches
 * @s: the heap
 * @at: receives its address, also in work requests, with s->stage_key
 *
 * For the inline functions of gda/shmem.h.
 *
 * Return: its number; -ETIMEDOUT all words belonged to requests that are not done for
 * s->timeout_ns.
 */
int gda_shmem_word_reserve(struct gda_shmem *s, uint64_t *at);

/**
 * gda_shmem_word_wait - wait for a request, read the value that it fetched, and release the word
 * @s: the heap
 * @view: the queue
 * @ticket: of the request; or a negative errno: the word is released
 * @word: of gda_shmem_word_reserve()
 * @value: receives the first @bytes bytes of the word, unchanged
 * @bytes: number of bytes to take, at most 8
 *
 * For the inline functions of gda/shmem.h. If the wait ends before the request is done the
 * word stays with the request until it is.
 *
 * Return: @ticket if it is negative, or as gda_wait().
 */
int gda_shmem_word_wait(struct gda_shmem *s, struct gda_view *view, int64_t ticket, int word,
			void *value, uint32_t bytes);

/**
 * gda_shmem_stage_put - write unregistered memory to a PE
 * @s: the heap
 * @dest: symmetric address, of the caller
 * @source: any memory of the caller
 * @bytes: number of bytes
 * @pe: number of the PE to write to, which is reached by queue
 * @flags: GDA_*, GDA_SHMEM_QP()
 *
 * For the inline functions of gda/shmem.h. The data goes through registered memory of the library.
 *
 * Return: the ticket of the last piece, all of which are done; or a negative errno.
 */
int64_t gda_shmem_stage_put(struct gda_shmem *s, void *dest, const void *source,
			    uint64_t bytes, uint32_t pe, uint32_t flags);

/**
 * gda_shmem_stage_get - read from a PE into memory that is not registered
 * @s: the heap
 * @dest: any memory of the caller
 * @source: symmetric address, of the caller
 * @bytes: number of bytes
 * @pe: number of the PE to read from, which is reached by queue
 * @flags: GDA_*, GDA_SHMEM_QP()
 *
 * For the inline functions of gda/shmem.h, as gda_shmem_stage_put().
 *
 * Return: as gda_shmem_stage_put().
 */
int64_t gda_shmem_stage_get(struct gda_shmem *s, void *dest, const void *source,
			    uint64_t bytes, uint32_t pe, uint32_t flags);

/**
 * struct gda_shmem_move - the memory that a put or a get copies
 * @remote: symmetric address, of the caller
 * @local: memory of the caller
 * @bytes: number of bytes
 * @get: 1 from @remote to @local, 0 the other way; on GPUs a constant, so that it folds
 *
 * Not for programs: it exists only during a call.
 */
struct gda_shmem_move {
	const void *remote;
	const void *local;
	uint64_t bytes;
	uint64_t get;
};

/* Reserve a word for a fetched value, by the function for a CPU or a GPU. */
GDA_HELPER int gda_shmem_word_take(struct gda_shmem *s, uint64_t *at)
{
	return GDA_HERE(gda_shmem_word_reserve(s, at), gda_shmem_gpu_word_reserve(s, at));
}

GDA_HELPER int gda_shmem_word_end(struct gda_shmem *s, struct gda_view *view, int64_t ticket,
				  int word, void *value, uint32_t bytes)
{
	return GDA_HERE(gda_shmem_word_wait(s, view, ticket, word, value, bytes),
			gda_shmem_gpu_word_wait(s, view, ticket, word, value, bytes));
}

/* The flags of a call that are flags of its post. */
GDA_HELPER unsigned int gda_shmem_post_flags(uint32_t flags)
{
	return flags & GDA_POST_FLAGS;
}

/* The queue pair of a call to a PE that is reached by queue. I-01. */
GDA_HELPER struct gda_shmem_qp *gda_shmem_qp(const struct gda_shmem *s,
					     const struct gda_shmem_peer *p, uint32_t flags)
{
	return (struct gda_shmem_qp *)(uintptr_t)p->qps +
	       (flags >> 16) % s->qps;
}

GDA_HELPER struct gda_view *gda_shmem_queue(const struct gda_shmem *s,
					    const struct gda_shmem_peer *p, uint32_t flags)
{
	return (struct gda_view *)(uintptr_t)gda_shmem_qp(s, p, flags)->view;
}

/* The MRs of the caller. */
GDA_HELPER const struct gda_chunk_map *gda_shmem_local(const struct gda_shmem *s)
{
	return &((const struct gda_shmem_peer *)(uintptr_t)s->peers)[s->pe].map;
}

/* The address in work requests of a range within one MR; 0 if it is not. */
GDA_HELPER int gda_shmem_one(const struct gda_chunk_map *map, const void *addr, uint64_t bytes,
			     uint64_t *iova, uint32_t *key)
{
	const struct gda_chunk *c = gda_chunk_find(map, (uintptr_t)addr);
	uint64_t off = (uintptr_t)addr - c->addr;

	*iova = c->iova + off;
	*key = c->key;
	return bytes <= c->length && off <= c->length - bytes;
}

GDA_HELPER int gda_shmem_remote(const struct gda_shmem_peer *p, const void *symmetric,
				uint64_t bytes, uint64_t *iova, uint32_t *key)
{
	return gda_shmem_one(&p->map, symmetric, bytes, iova, key);
}

/* Like gda_put_chunked(), but in the other direction; both ranges of @cut are covered. */
GDA_HELPER int64_t gda_shmem_queue_read(struct gda_view *v, struct gda_chunk_cut cut,
					unsigned int flags)
{
	int64_t ticket = -1;
	int err;

	do {
		gda_chunk_next(&cut);
		err = gda_chunk_before(v, ticket);
		if (err)
			return err;
		ticket = gda_get(v, cut.liova, cut.lkey, cut.riova, cut.rkey, cut.len,
				 cut.left ? flags | GDA_DEFER : flags);
	} while (ticket >= 0 && cut.left);
	return ticket;
}

/**
 * struct gda_shmem_outcome - the outcome of a put, as the function that posted it knows it
 * @ticket: of the put, or a negative errno
 * @source_free: 1: the source was copied, and the caller may change it; 0: it may be changed when
 *	the ticket is done. This does not follow from the length: a short put whose destination
 *	is in two MRs is not inline
 *
 * Not for programs: it exists only during a call.
 */
struct gda_shmem_outcome {
	int64_t ticket;
	uint64_t source_free;
};

GDA_HELPER struct gda_shmem_outcome gda_shmem_outcome(int64_t ticket, uint64_t source_free)
{
	struct gda_shmem_outcome outcome;

	outcome.ticket = ticket;
	outcome.source_free = source_free;
	return outcome;
}

/* May so many bytes be inline in the queue? */
GDA_HELPER int gda_shmem_fits_inline(const struct gda_view *v, uint64_t bytes, uint64_t most)
{
	if (gda_view_unordered(v))
		return bytes <= GDA_INLINE_SLOT || (bytes <= most && bytes <= v->max_inline);
	return bytes <= GDA_INLINE_SLOT || (bytes <= most && v->mask >= GDA_INLINE_MAX / 32);
}

/*
 * Put by queue. @most: up to so many bytes are inline: then the source is free at once, but the
 * bytes are moved twice.
 */
GDA_SLOW struct gda_shmem_outcome gda_shmem_queue_put(struct gda_shmem *s, void *dest,
						      const void *source, uint64_t bytes,
						      uint32_t pe, uint32_t flags, uint64_t most)
{
	const struct gda_shmem_peer *p = gda_shmem_peer(s, pe);
	struct gda_view *v = gda_shmem_queue(s, p, flags);
	const struct gda_chunk_map *local = gda_shmem_local(s);
	unsigned int post = gda_shmem_post_flags(flags);
	int remote, single, covered;
	uint64_t iova, liova;
	uint32_t key, lkey;

	remote = gda_shmem_remote(p, dest, bytes, &iova, &key);
	single = gda_shmem_one(local, source, bytes, &liova, &lkey);
	covered = single || gda_chunk_covers(local, (uintptr_t)source, bytes);
	if (!covered && bytes <= GDA_INLINE_MAX)
		most = GDA_INLINE_MAX;
	if (remote && gda_shmem_fits_inline(v, bytes, most))
		return gda_shmem_outcome(gda_put_inline(v, iova, key, source, (uint32_t)bytes,
							post), 1);
	if (remote && single && bytes <= GDA_CHUNK_MAX)
		return gda_shmem_outcome(gda_put(v, liova, lkey, iova, key, (uint32_t)bytes, post),
					0);
	if (!gda_chunk_covers(&p->map, (uintptr_t)dest, bytes))
		return gda_shmem_outcome(-EFAULT, 0);
	if (!covered)
		return gda_shmem_outcome(GDA_HERE(gda_shmem_stage_put(s, dest, source, bytes, pe,
								      flags), -EFAULT), 1);
	return gda_shmem_outcome(gda_put_chunked(v, local, (uintptr_t)source, &p->map,
						 (uintptr_t)dest, bytes, post), 0);
}

/* Get by queue. */
GDA_SLOW int64_t gda_shmem_queue_get(struct gda_shmem *s, void *dest, const void *source,
				     uint64_t bytes, uint32_t pe, uint32_t flags)
{
	const struct gda_shmem_peer *p = gda_shmem_peer(s, pe);
	const struct gda_chunk_map *local = gda_shmem_local(s);

	if (!gda_chunk_covers(&p->map, (uintptr_t)source, bytes))
		return -EFAULT;
	if (!gda_chunk_covers(local, (uintptr_t)dest, bytes))
		return GDA_HERE(gda_shmem_stage_get(s, dest, source, bytes, pe, flags), -EFAULT);
	return gda_shmem_queue_read(gda_shmem_queue(s, p, flags),
				    gda_chunk_begin(local, (uintptr_t)dest, &p->map,
						    (uintptr_t)source, bytes),
				    gda_shmem_post_flags(flags));
}

/* Wait for a ticket of these functions. */
GDA_HELPER int gda_shmem_queue_wait(struct gda_view *v, int64_t ticket, uint64_t deadline)
{
	int err = gda_wait(v, ticket, deadline);

	return err == -ECANCELED ? -EIO : err;
}

/* Put a value of 1, 2, 4 or 8 bytes. */
GDA_HELPER int64_t gda_shmem_queue_p(const struct gda_shmem *s, const struct gda_shmem_peer *p,
				     void *dest, uint64_t value, uint32_t bytes, uint32_t flags)
{
	struct gda_view *v = gda_shmem_queue(s, p, flags);
	uint32_t key = 0, word = (uint32_t)value;
	uint16_t half = (uint16_t)value;
	uint8_t byte = (uint8_t)value;
	uint64_t iova = 0;

	flags = gda_shmem_post_flags(flags);
	if (gda_unlikely(!gda_shmem_remote(p, dest, bytes, &iova, &key)))
		return -EFAULT;
	if (bytes == 8)
		return gda_put_value(v, iova, key, value, flags);
	return gda_put_inline(v, iova, key, bytes == 4 ? (const void *)&word :
			      bytes == 2 ? (const void *)&half : (const void *)&byte, bytes,
			      flags);
}

/* The value of a word whose bytes are the first of @stored. */
GDA_HELPER uint64_t gda_shmem_widen(uint64_t stored, uint32_t bytes)
{
	uint32_t word;
	uint16_t half;
	uint8_t byte;

	memcpy(&word, &stored, 4);
	memcpy(&half, &stored, 2);
	memcpy(&byte, &stored, 1);
	return bytes == 8 ? stored : bytes == 4 ? word : bytes == 2 ? half : byte;
}

/* Get the value of a word of 1, 2, 4 or 8 bytes. */
GDA_SLOW int gda_shmem_queue_g(struct gda_shmem *s, const struct gda_shmem_peer *p,
			       uint64_t *value, const void *source, uint32_t bytes,
			       uint32_t flags)
{
	struct gda_view *v = gda_shmem_queue(s, p, flags);
	uint64_t iova = 0, at;
	uint32_t key = 0;
	int64_t ticket;
	int word, err;

	if (!gda_shmem_remote(p, source, bytes, &iova, &key))
		return -EFAULT;
	word = gda_shmem_word_take(s, &at);
	if (word < 0)
		return word;
	ticket = gda_get(v, at, s->stage_key, iova, key, bytes, gda_shmem_post_flags(flags));
	err = gda_shmem_word_end(s, v, ticket, word, value, bytes);
	if (!err)
		*value = gda_shmem_widen(*value, bytes);
	return err;
}

/*
 * The work request of an operation of gda/shmem_atomic.h on a 64-bit word; @at receives the old
 * value.
 */
GDA_HELPER int64_t gda_shmem_queue_op64(struct gda_shmem *s, const struct gda_shmem_peer *p,
					const uint64_t *dest, uint32_t op, uint64_t value,
					uint64_t at, uint32_t flags)
{
	struct gda_view *v = gda_shmem_queue(s, p, flags);
	uint64_t iova = 0;
	uint32_t key = 0;

	flags = gda_shmem_post_flags(flags);
	if (gda_unlikely(!gda_shmem_remote(p, dest, 8, &iova, &key) ||
			 !gda_shmem_has_atomics(s, dest)))
		return -EFAULT;
	switch (op) {
	case GDA_SHMEM_SET:
		return gda_masked_compare_swap(v, at, s->stage_key, iova, key, 0, 0, value,
					       UINT64_MAX, flags);
	case GDA_SHMEM_AND:
		return gda_masked_compare_swap(v, at, s->stage_key, iova, key, 0, 0, 0, ~value,
					       flags);
	case GDA_SHMEM_OR:
		return gda_masked_compare_swap(v, at, s->stage_key, iova, key, 0, 0, value,
					       value, flags);
	case GDA_SHMEM_XOR:
		/* every bit is a separate field, so there are no carries */
		return gda_masked_fetch_add(v, at, s->stage_key, iova, key, value, UINT64_MAX,
					    flags);
	default:
		return gda_fetch_add(v, at, s->stage_key, iova, key,
				     op == GDA_SHMEM_ADD ? value : 0, flags);
	}
}

/* The same for a 32-bit word, whose old value is big-endian. */
GDA_HELPER int64_t gda_shmem_queue_op32(struct gda_shmem *s, const struct gda_shmem_peer *p,
					const uint32_t *dest, uint32_t op, uint32_t value,
					uint64_t at, uint32_t flags)
{
	struct gda_view *v = gda_shmem_queue(s, p, flags);
	uint64_t iova = 0;
	uint32_t key = 0;

	flags = gda_shmem_post_flags(flags);
	if (gda_unlikely(!gda_shmem_remote(p, dest, 4, &iova, &key) ||
			 !gda_shmem_has_atomics(s, dest)))
		return -EFAULT;
	switch (op) {
	case GDA_SHMEM_SET:
		return gda_masked_compare_swap32(v, at, s->stage_key, iova, key, 0, 0, value,
						 UINT32_MAX, flags);
	case GDA_SHMEM_AND:
		return gda_masked_compare_swap32(v, at, s->stage_key, iova, key, 0, 0, 0,
						 ~value, flags);
	case GDA_SHMEM_OR:
		return gda_masked_compare_swap32(v, at, s->stage_key, iova, key, 0, 0, value,
						 value, flags);
	case GDA_SHMEM_XOR:
		return gda_masked_fetch_add32(v, at, s->stage_key, iova, key, value,
					      UINT32_MAX, flags);
	default:
		return gda_masked_fetch_add32(v, at, s->stage_key, iova, key,
					      op == GDA_SHMEM_ADD ? value : 0, 0, flags);
	}
}

/*
 * Post a read behind everything posted to a queue pair, unless the newest post is such a read.
 * Return: 1 if there is something to wait for, 0 if not, or a negative errno.
 */
GDA_HELPER int gda_shmem_queue_flush(const struct gda_shmem *s, const struct gda_shmem_peer *p,
				     struct gda_shmem_qp *qp)
{
	const struct gda_chunk *c = (const struct gda_chunk *)(uintptr_t)p->map.chunks;
	struct gda_view *v = (struct gda_view *)(uintptr_t)qp->view;
	uint64_t end = gda_handed_out(v);
	int64_t ticket;

	if (end == gda_load_acquire64(&qp->quiet))
		return 0;
	if (end == gda_load_acquire64(&qp->flush))
		return 1;
	ticket = gda_get(v, s->stage + 8, s->stage_key, c->iova, c->key, 8, 0);
	if (ticket < 0)
		return (int)ticket;
	gda_max64(&qp->flush, (uint64_t)ticket + 1);
	return 1;
}

/*
 * Where requests complete in any order: wait until all that was posted is done, and then for a read
 * that is posted behind it. What others post meanwhile is left to the next quiet.
 */
GDA_SLOW int gda_shmem_queue_settle_each(const struct gda_shmem *s, const struct gda_shmem_peer *p,
					 struct gda_shmem_qp *qp, uint64_t deadline)
{
	const struct gda_chunk *c = (const struct gda_chunk *)(uintptr_t)p->map.chunks;
	struct gda_view *v = (struct gda_view *)(uintptr_t)qp->view;
	uint64_t end = gda_handed_out(v);
	int64_t ticket;
	int err;

	if (end == gda_load_acquire64(&qp->quiet))
		return 0;
	err = gda_quiet(v, deadline);
	if (err)
		return err;
	ticket = gda_get(v, s->stage + 8, s->stage_key, c->iova, c->key, 8, 0);
	err = gda_shmem_queue_wait(v, ticket, deadline);
	if (!err)
		gda_max64(&qp->quiet, (uint64_t)ticket == end ? end + 1 : end);
	return err;
}

/* Wait for the read of gda_shmem_queue_flush(). */
GDA_HELPER int gda_shmem_queue_settle(struct gda_shmem_qp *qp, uint64_t deadline)
{
	struct gda_view *v = (struct gda_view *)(uintptr_t)qp->view;
	uint64_t end = gda_load_acquire64(&qp->flush);
	int err;

	err = end ? gda_shmem_queue_wait(v, (int64_t)(end - 1), deadline) : 0;
	if (!err)
		gda_max64(&qp->quiet, end);
	return err;
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif /* GDA_SHMEM_QUEUE_H */
