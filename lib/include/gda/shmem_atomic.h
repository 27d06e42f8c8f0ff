/* SPDX-License-Identifier: MIT */
/*
 * Atomics of 32 and 64 bits. They are atomic against one another, from all PEs, for words
 * of the same width. An atomic has the width of its word and never touches what lies
 * beside it (I-15). Included by gda/shmem.h.
 */
#ifndef GDA_SHMEM_ATOMIC_H
#define GDA_SHMEM_ATOMIC_H

#include <gda/shmem_rma.h>

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/* Atomic by queue; waits for the old value. */
GDA_SLOW int gda_shmem_queue_fetch64(struct gda_shmem *s, const struct gda_shmem_peer *p,
				     const uint64_t *dest, uint32_t op, uint64_t value,
				     uint64_t *old, uint32_t flags)
{
	struct gda_view *v = gda_shmem_queue(s, p, flags);
	uint64_t at;
	int word;

	if (gda_shmem_unordered(s))
		return op == GDA_SHMEM_FETCH ? gda_shmem_queue_g(s, p, old, dest, 8, flags) :
					       -EOPNOTSUPP;
	word = gda_shmem_word_take(s, &at);
	if (word < 0)
		return word;
	return gda_shmem_word_end(s, v, gda_shmem_queue_op64(s, p, dest, op, value, at, flags),
				  word, old, 8);
}

GDA_SLOW int gda_shmem_queue_fetch32(struct gda_shmem *s, const struct gda_shmem_peer *p,
				     const uint32_t *dest, uint32_t op, uint32_t value,
				     uint32_t *old, uint32_t flags)
{
	struct gda_view *v = gda_shmem_queue(s, p, flags);
	uint64_t at, wide;
	int word, err;

	if (gda_shmem_unordered(s)) {
		err = op == GDA_SHMEM_FETCH ? gda_shmem_queue_g(s, p, &wide, dest, 4, flags) :
					      -EOPNOTSUPP;
		if (!err)
			*old = (uint32_t)wide;
		return err;
	}
	word = gda_shmem_word_take(s, &at);
	if (word < 0)
		return word;
	err = gda_shmem_word_end(s, v,
				 gda_shmem_queue_op32(s, p, dest, op, value, at, flags), word,
				 old, 4);
	if (!err)
		*old = gda_masked_old32(*old);
	return err;
}

GDA_SLOW int gda_shmem_queue_cas64(struct gda_shmem *s, const struct gda_shmem_peer *p,
				   const uint64_t *dest, uint64_t cond, uint64_t value,
				   uint64_t *old, uint32_t flags)
{
	struct gda_view *v = gda_shmem_queue(s, p, flags);
	uint64_t at, iova = 0;
	uint32_t key = 0;
	int64_t ticket;
	int word;

	if (!gda_shmem_remote(p, dest, 8, &iova, &key) || !gda_shmem_has_atomics(s, dest))
		return -EFAULT;
	word = gda_shmem_word_take(s, &at);
	if (word < 0)
		return word;
	ticket = gda_compare_swap(v, at, s->stage_key, iova, key, cond, value,
				  gda_shmem_post_flags(flags));
	return gda_shmem_word_end(s, v, ticket, word, old, 8);
}

GDA_SLOW int gda_shmem_queue_cas32(struct gda_shmem *s, const struct gda_shmem_peer *p,
				   const uint32_t *dest, uint32_t cond, uint32_t value,
				   uint32_t *old, uint32_t flags)
{
	struct gda_view *v = gda_shmem_queue(s, p, flags);
	uint64_t at, iova = 0;
	uint32_t key = 0;
	int64_t ticket;
	int word, err;

	if (!gda_shmem_remote(p, dest, 4, &iova, &key) || !gda_shmem_has_atomics(s, dest))
		return -EFAULT;
	word = gda_shmem_word_take(s, &at);
	if (word < 0)
		return word;
	ticket = gda_masked_compare_swap32(v, at, s->stage_key, iova, key, cond, UINT32_MAX,
					   value, UINT32_MAX, gda_shmem_post_flags(flags));
	err = gda_shmem_word_end(s, v, ticket, word, old, 4);
	if (!err)
		*old = gda_masked_old32(*old);
	return err;
}

/*
 * Is the call valid? With constants only the PE's number and the address are checked at run time.
 */
GDA_HELPER int gda_shmem_atomic_valid(const struct gda_shmem_peer *p, const void *dest,
				      uint32_t bytes, uint32_t op)
{
	return p && gda_shmem_is_word(dest, bytes) && op <= GDA_SHMEM_XOR;
}

/**
 * gda_shmem_atomic64 - change a 64-bit word of a PE
 * @s: the heap
 * @dest: symmetric address, of the caller, a multiple of 8
 * @op: enum gda_shmem_op, a constant, so that it folds
 * @value: the operand
 * @pe: number of the PE that has the word
 * @flags: GDA_*, GDA_SHMEM_QP()
 *
 * Return: a ticket, or a negative errno, see gda/shmem.h.
 */
GDA_API int64_t gda_shmem_atomic64(struct gda_shmem *s, uint64_t *dest, uint32_t op,
				   uint64_t value, uint32_t pe, uint32_t flags)
{
	const struct gda_shmem_peer *p = gda_shmem_peer(s, pe);
	char *at;

	if (gda_unlikely(!gda_shmem_atomic_valid(p, dest, 8, op)))
		return -EINVAL;
	if (!p->heap && gda_shmem_unordered(s))
		return op == GDA_SHMEM_SET ? gda_shmem_queue_p(s, p, dest, value, 8, flags) :
					     -EOPNOTSUPP;
	if (!p->heap)
		return gda_shmem_queue_op64(s, p, dest, op, value, s->stage, flags);
	at = gda_shmem_mapped(s, p, dest, 8);
	if (gda_unlikely(!at))
		return -EFAULT;
	gda_shmem_change64((uint64_t *)(void *)at, op, value);
	return 0;
}

/**
 * gda_shmem_atomic32 - change a 32-bit word of a PE
 * @s: the heap
 * @dest: symmetric address, of the caller, a multiple of 4
 * @op: enum gda_shmem_op, a constant, so that it folds
 * @value: the operand
 * @pe: number of the PE that has the word
 * @flags: GDA_*, GDA_SHMEM_QP()
 *
 * Return: a ticket, or a negative errno, see gda/shmem.h.
 */
GDA_API int64_t gda_shmem_atomic32(struct gda_shmem *s, uint32_t *dest, uint32_t op,
				   uint32_t value, uint32_t pe, uint32_t flags)
{
	const struct gda_shmem_peer *p = gda_shmem_peer(s, pe);
	char *at;

	if (gda_unlikely(!gda_shmem_atomic_valid(p, dest, 4, op)))
		return -EINVAL;
	if (!p->heap && gda_shmem_unordered(s))
		return op == GDA_SHMEM_SET ? gda_shmem_queue_p(s, p, dest, value, 4, flags) :
					     -EOPNOTSUPP;
	if (!p->heap)
		return gda_shmem_queue_op32(s, p, dest, op, value, s->stage, flags);
	at = gda_shmem_mapped(s, p, dest, 4);
	if (gda_unlikely(!at))
		return -EFAULT;
	gda_shmem_change32((uint32_t *)(void *)at, op, value);
	return 0;
}

/**
 * gda_shmem_atomic_fetch64 - change a 64-bit word of a PE, fetch what it was
 * @s: the heap
 * @dest: symmetric address, of the caller, a multiple of 8
 * @op: enum gda_shmem_op, a constant, so that it folds
 * @value: the operand
 * @old: receives the old value of the word
 * @pe: number of the PE that has the word
 * @flags: GDA_*, GDA_SHMEM_QP()
 *
 * Return: 0 or a negative errno, see gda/shmem.h; the word may have changed if it is
 * -ETIMEDOUT or -ESHUTDOWN.
 */
GDA_API int gda_shmem_atomic_fetch64(struct gda_shmem *s, uint64_t *dest, uint32_t op,
				     uint64_t value, uint64_t *old, uint32_t pe, uint32_t flags)
{
	const struct gda_shmem_peer *p = gda_shmem_peer(s, pe);
	char *at;

	if (gda_unlikely(!gda_shmem_atomic_valid(p, dest, 8, op)))
		return -EINVAL;
	if (!p->heap)
		return gda_shmem_queue_fetch64(s, p, dest, op, value, old, flags);
	at = gda_shmem_mapped(s, p, dest, 8);
	if (gda_unlikely(!at))
		return -EFAULT;
	*old = gda_shmem_apply64((uint64_t *)(void *)at, op, value);
	return 0;
}

/**
 * gda_shmem_atomic_fetch32 - change a 32-bit word of a PE, fetch what it was
 * @s: the heap
 * @dest: symmetric address, of the caller, a multiple of 4
 * @op: enum gda_shmem_op, a constant, so that it folds
 * @value: the operand
 * @old: receives the old value of the word
 * @pe: number of the PE that has the word
 * @flags: GDA_*, GDA_SHMEM_QP()
 *
 * Return: as gda_shmem_atomic_fetch64().
 */
GDA_API int gda_shmem_atomic_fetch32(struct gda_shmem *s, uint32_t *dest, uint32_t op,
				     uint32_t value, uint32_t *old, uint32_t pe, uint32_t flags)
{
	const struct gda_shmem_peer *p = gda_shmem_peer(s, pe);
	char *at;

	if (gda_unlikely(!gda_shmem_atomic_valid(p, dest, 4, op)))
		return -EINVAL;
	if (!p->heap)
		return gda_shmem_queue_fetch32(s, p, dest, op, value, old, flags);
	at = gda_shmem_mapped(s, p, dest, 4);
	if (gda_unlikely(!at))
		return -EFAULT;
	*old = gda_shmem_apply32((uint32_t *)(void *)at, op, value);
	return 0;
}

/**
 * gda_shmem_compare_swap64 - set a 64-bit word of a PE if it has a value
 * @s: the heap
 * @dest: symmetric address, of the caller, a multiple of 8
 * @cond: the word is set if it equals this
 * @value: new value of the word
 * @old: receives the old value of the word
 * @pe: number of the PE that has the word
 * @flags: GDA_*, GDA_SHMEM_QP()
 *
 * Return: as gda_shmem_atomic_fetch64().
 */
GDA_API int gda_shmem_compare_swap64(struct gda_shmem *s, uint64_t *dest, uint64_t cond,
				     uint64_t value, uint64_t *old, uint32_t pe, uint32_t flags)
{
	const struct gda_shmem_peer *p = gda_shmem_peer(s, pe);
	char *at;

	if (gda_unlikely(!gda_shmem_atomic_valid(p, dest, 8, GDA_SHMEM_SWAP)))
		return -EINVAL;
	if (!p->heap)
		return gda_shmem_queue_cas64(s, p, dest, cond, value, old, flags);
	at = gda_shmem_mapped(s, p, dest, 8);
	if (gda_unlikely(!at))
		return -EFAULT;
	*old = gda_shmem_cas64((uint64_t *)(void *)at, cond, value);
	return 0;
}

/**
 * gda_shmem_compare_swap32 - set a 32-bit word of a PE if it has a value
 * @s: the heap
 * @dest: symmetric address, of the caller, a multiple of 4
 * @cond: the word is set if it equals this
 * @value: new value of the word
 * @old: receives the old value of the word
 * @pe: number of the PE that has the word
 * @flags: GDA_*, GDA_SHMEM_QP()
 *
 * Return: as gda_shmem_atomic_fetch64().
 */
GDA_API int gda_shmem_compare_swap32(struct gda_shmem *s, uint32_t *dest, uint32_t cond,
				     uint32_t value, uint32_t *old, uint32_t pe, uint32_t flags)
{
	const struct gda_shmem_peer *p = gda_shmem_peer(s, pe);
	char *at;

	if (gda_unlikely(!gda_shmem_atomic_valid(p, dest, 4, GDA_SHMEM_SWAP)))
		return -EINVAL;
	if (!p->heap)
		return gda_shmem_queue_cas32(s, p, dest, cond, value, old, flags);
	at = gda_shmem_mapped(s, p, dest, 4);
	if (gda_unlikely(!at))
		return -EFAULT;
	*old = gda_shmem_cas32((uint32_t *)(void *)at, cond, value);
	return 0;
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif /* GDA_SHMEM_ATOMIC_H */
