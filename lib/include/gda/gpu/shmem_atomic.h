/* SPDX-License-Identifier: MIT */
/*
 * Atomics, values that are fetched, and puts with signals, by posters of gda/gpu/shmem.h, which
 * includes this. By queue the words are in gda_shmem.data.
 */
#ifndef GDA_GPU_SHMEM_ATOMIC_H
#define GDA_GPU_SHMEM_ATOMIC_H

#include <gda/gpu/shmem.h>

/* The work request of an operation on a 64-bit word; @at receives the old value. */
template <class queue>
GDA_DEVICE int64_t gda_shmem_post_op64(struct gda_shmem_poster<queue> &p, uint32_t op,
				       uint64_t value, uint64_t iova, uint32_t key, uint64_t at,
				       unsigned int flags)
{
	switch (op) {
	case GDA_SHMEM_SET:
		return gda_masked_compare_swap(p.q, at, p.stage_key, iova, key, 0, 0, value,
					       UINT64_MAX, flags);
	case GDA_SHMEM_AND:
		return gda_masked_compare_swap(p.q, at, p.stage_key, iova, key, 0, 0, 0, ~value,
					       flags);
	case GDA_SHMEM_OR:
		return gda_masked_compare_swap(p.q, at, p.stage_key, iova, key, 0, 0, value,
					       value, flags);
	case GDA_SHMEM_XOR:
		/* every bit is a separate field, so there are no carries */
		return gda_masked_fetch_add(p.q, at, p.stage_key, iova, key, value, UINT64_MAX,
					    flags);
	default:
		return gda_fetch_add(p.q, at, p.stage_key, iova, key,
				     op == GDA_SHMEM_ADD ? value : 0, flags);
	}
}

/* The same for a 32-bit word, whose old value is big-endian. */
template <class queue>
GDA_DEVICE int64_t gda_shmem_post_op32(struct gda_shmem_poster<queue> &p, uint32_t op,
				       uint32_t value, uint64_t iova, uint32_t key, uint64_t at,
				       unsigned int flags)
{
	switch (op) {
	case GDA_SHMEM_SET:
		return gda_masked_compare_swap32(p.q, at, p.stage_key, iova, key, 0, 0, value,
						 UINT32_MAX, flags);
	case GDA_SHMEM_AND:
		return gda_masked_compare_swap32(p.q, at, p.stage_key, iova, key, 0, 0, 0,
						 ~value, flags);
	case GDA_SHMEM_OR:
		return gda_masked_compare_swap32(p.q, at, p.stage_key, iova, key, 0, 0, value,
						 value, flags);
	case GDA_SHMEM_XOR:
		return gda_masked_fetch_add32(p.q, at, p.stage_key, iova, key, value,
					      UINT32_MAX, flags);
	default:
		return gda_masked_fetch_add32(p.q, at, p.stage_key, iova, key,
					      op == GDA_SHMEM_ADD ? value : 0, 0, flags);
	}
}

/*
 * The checks of an atomic. Return: 0 by queue, with the word's address there; 1 if done directly;
 * or an errno.
 */
template <class queue>
GDA_DEVICE int gda_shmem_begin64(struct gda_shmem_poster<queue> &p, uint64_t *dest, uint32_t op,
				 uint64_t value, uint64_t &old, uint64_t &iova, uint32_t &key)
{
	char *at;

	if (p.err || !gda_shmem_is_word(dest, 8) || op > GDA_SHMEM_XOR)
		return p.err ? p.err : -EINVAL;
	if (!p.direct)
		return gda_shmem_aim_atomic(p, dest, 8, iova, key) ? 0 : -EFAULT;
	at = gda_shmem_mapped(p.s, p.to, dest, 8);
	if (!at)
		return -EFAULT;
	old = gda_shmem_apply64((uint64_t *)at, op, value);
	return 1;
}

template <class queue>
GDA_DEVICE int gda_shmem_begin32(struct gda_shmem_poster<queue> &p, uint32_t *dest, uint32_t op,
				 uint32_t value, uint32_t &old, uint64_t &iova, uint32_t &key)
{
	char *at;

	if (p.err || !gda_shmem_is_word(dest, 4) || op > GDA_SHMEM_XOR)
		return p.err ? p.err : -EINVAL;
	if (!p.direct)
		return gda_shmem_aim_atomic(p, dest, 4, iova, key) ? 0 : -EFAULT;
	at = gda_shmem_mapped(p.s, p.to, dest, 4);
	if (!at)
		return -EFAULT;
	old = gda_shmem_apply32((uint32_t *)at, op, value);
	return 1;
}

/**
 * gda_shmem_atomic64 - change a 64-bit word of a PE
 * @p: the poster
 * @dest: symmetric address, of the caller, a multiple of 8
 * @op: enum gda_shmem_op, a constant, so that it folds
 * @value: the operand
 * @flags: GDA_NOWAIT, GDA_DEFER (posters of gda_shmem_open_thread()), GDA_SYSTEM
 *
 * Return: a ticket, or a negative errno, see gda/shmem.h.
 */
template <class queue>
GDA_GPU_API int64_t gda_shmem_atomic64(struct gda_shmem_poster<queue> &p, uint64_t *dest,
				       uint32_t op, uint64_t value, unsigned int flags)
{
	uint64_t old, iova = 0;
	uint32_t key = 0;
	int done = gda_shmem_begin64(p, dest, op, value, old, iova, key);

	if (done)
		return done < 0 ? done : 0;
	return gda_shmem_post_op64(p, op, value, iova, key, p.stage, flags);
}

/**
 * gda_shmem_atomic32 - change a 32-bit word of a PE
 * @p: the poster
 * @dest: symmetric address, of the caller, a multiple of 4
 * @op: enum gda_shmem_op, a constant, so that it folds
 * @value: the operand
 * @flags: GDA_NOWAIT, GDA_DEFER (posters of gda_shmem_open_thread()), GDA_SYSTEM
 *
 * Return: a ticket, or a negative errno, see gda/shmem.h.
 */
template <class queue>
GDA_GPU_API int64_t gda_shmem_atomic32(struct gda_shmem_poster<queue> &p, uint32_t *dest,
				       uint32_t op, uint32_t value, unsigned int flags)
{
	uint64_t iova = 0;
	uint32_t old, key = 0;
	int done = gda_shmem_begin32(p, dest, op, value, old, iova, key);

	if (done)
		return done < 0 ? done : 0;
	return gda_shmem_post_op32(p, op, value, iova, key, p.stage, flags);
}

/* Wait for a request, read the value that it fetched, and release the word. */
template <class queue>
GDA_DEVICE int gda_shmem_fetched(struct gda_shmem_poster<queue> &p, int64_t ticket, int word,
				 uint64_t &value, uint32_t bytes)
{
	int err;

	if (ticket < 0) {
		gda_shmem_gpu_word_release(p.s, word);
		return (int)ticket;
	}
	err = gda_shmem_wait(p, ticket, 0);
	if (!err)
		value = gda_shmem_gpu_word_load(p.s, word, bytes);
	return gda_shmem_gpu_word_done(p.s, word, err);
}

/**
 * gda_shmem_atomic_fetch64 - change a 64-bit word of a PE, fetch what it was
 * @p: the poster
 * @dest: symmetric address, of the caller, a multiple of 8
 * @op: enum gda_shmem_op, a constant, so that it folds
 * @value: the operand
 * @old: receives the old value of the word
 * @flags: GDA_NOWAIT, GDA_SYSTEM
 *
 * Return: as gda_shmem_atomic_fetch64() of gda/shmem.h.
 */
template <class queue>
GDA_GPU_API int gda_shmem_atomic_fetch64(struct gda_shmem_poster<queue> &p, uint64_t *dest,
					 uint32_t op, uint64_t value, uint64_t *old,
					 unsigned int flags)
{
	uint64_t iova = 0, at, was = 0;
	uint32_t key = 0;
	int err = gda_shmem_begin64(p, dest, op, value, was, iova, key), word;

	if (!err) {
		word = gda_shmem_gpu_word_reserve(p.s, &at);
		if (word < 0)
			return word;
		err = gda_shmem_fetched(p, gda_shmem_post_op64(p, op, value, iova, key, at, flags),
					word, was, 8);
	}
	if (err >= 0)
		*old = was;
	return err < 0 ? err : 0;
}

/**
 * gda_shmem_atomic_fetch32 - change a 32-bit word of a PE, fetch what it was
 * @p: the poster
 * @dest: symmetric address, of the caller, a multiple of 4
 * @op: enum gda_shmem_op, a constant, so that it folds
 * @value: the operand
 * @old: receives the old value of the word
 * @flags: GDA_NOWAIT, GDA_SYSTEM
 *
 * Return: as gda_shmem_atomic_fetch64() of gda/shmem.h.
 */
template <class queue>
GDA_GPU_API int gda_shmem_atomic_fetch32(struct gda_shmem_poster<queue> &p, uint32_t *dest,
					 uint32_t op, uint32_t value, uint32_t *old,
					 unsigned int flags)
{
	uint64_t iova = 0, at, stored = 0;
	uint32_t key = 0, was = 0;
	int err = gda_shmem_begin32(p, dest, op, value, was, iova, key), word;

	if (!err) {
		word = gda_shmem_gpu_word_reserve(p.s, &at);
		if (word < 0)
			return word;
		err = gda_shmem_fetched(p, gda_shmem_post_op32(p, op, value, iova, key, at, flags),
					word, stored, 4);
		was = gda_masked_old32((uint32_t)stored);
	}
	if (err >= 0)
		*old = was;
	return err < 0 ? err : 0;
}

/**
 * gda_shmem_compare_swap64 - set a 64-bit word of a PE if it has a value
 * @p: the poster
 * @dest: symmetric address, of the caller, a multiple of 8
 * @cond: the word is set if it equals this
 * @value: new value of the word
 * @old: receives the old value of the word
 * @flags: GDA_NOWAIT, GDA_SYSTEM
 *
 * Return: as gda_shmem_atomic_fetch64() of gda/shmem.h.
 */
template <class queue>
GDA_GPU_API int gda_shmem_compare_swap64(struct gda_shmem_poster<queue> &p, uint64_t *dest,
					 uint64_t cond, uint64_t value, uint64_t *old,
					 unsigned int flags)
{
	uint64_t iova = 0, at, was = 0;
	uint32_t key = 0;
	char *mapped;
	int err, word;

	if (p.err || !gda_shmem_is_word(dest, 8))
		return p.err ? p.err : -EINVAL;
	if (p.direct) {
		mapped = gda_shmem_mapped(p.s, p.to, dest, 8);
		if (mapped)
			*old = gda_shmem_cas64((uint64_t *)mapped, cond, value);
		return mapped ? 0 : -EFAULT;
	}
	if (!gda_shmem_aim_atomic(p, dest, 8, iova, key))
		return -EFAULT;
	word = gda_shmem_gpu_word_reserve(p.s, &at);
	if (word < 0)
		return word;
	err = gda_shmem_fetched(p, gda_compare_swap(p.q, at, p.stage_key, iova, key, cond, value,
						    flags), word, was, 8);
	if (!err)
		*old = was;
	return err;
}

/**
 * gda_shmem_compare_swap32 - set a 32-bit word of a PE if it has a value
 * @p: the poster
 * @dest: symmetric address, of the caller, a multiple of 4
 * @cond: the word is set if it equals this
 * @value: new value of the word
 * @old: receives the old value of the word
 * @flags: GDA_NOWAIT, GDA_SYSTEM
 *
 * Return: as gda_shmem_atomic_fetch64() of gda/shmem.h.
 */
template <class queue>
GDA_GPU_API int gda_shmem_compare_swap32(struct gda_shmem_poster<queue> &p, uint32_t *dest,
					 uint32_t cond, uint32_t value, uint32_t *old,
					 unsigned int flags)
{
	uint64_t iova = 0, at, was = 0;
	uint32_t key = 0;
	char *mapped;
	int err, word;

	if (p.err || !gda_shmem_is_word(dest, 4))
		return p.err ? p.err : -EINVAL;
	if (p.direct) {
		mapped = gda_shmem_mapped(p.s, p.to, dest, 4);
		if (mapped)
			*old = gda_shmem_cas32((uint32_t *)mapped, cond, value);
		return mapped ? 0 : -EFAULT;
	}
	if (!gda_shmem_aim_atomic(p, dest, 4, iova, key))
		return -EFAULT;
	word = gda_shmem_gpu_word_reserve(p.s, &at);
	if (word < 0)
		return word;
	err = gda_shmem_fetched(p, gda_masked_compare_swap32(p.q, at, p.stage_key, iova, key, cond,
							     UINT32_MAX, value, UINT32_MAX, flags),
				word, was, 4);
	if (!err)
		*old = gda_masked_old32((uint32_t)was);
	return err;
}

/**
 * gda_shmem_g - read a value from a PE
 * @p: the poster
 * @value: receives the value
 * @source: symmetric address, of the caller, a multiple of @bytes
 * @bytes: 1, 2, 4 or 8; a constant, so that it folds
 * @flags: GDA_NOWAIT, GDA_SYSTEM
 *
 * Return: 0 or a negative errno, see gda/shmem.h.
 */
template <class queue>
GDA_GPU_API int gda_shmem_g(struct gda_shmem_poster<queue> &p, uint64_t *value,
			    const void *source, uint32_t bytes, unsigned int flags)
{
	uint64_t iova = 0, at, was = 0;
	uint32_t key = 0;
	char *mapped;
	int err, word;

	if (p.err || !gda_shmem_is_word(source, bytes))
		return p.err ? p.err : -EINVAL;
	if (p.direct) {
		mapped = gda_shmem_mapped(p.s, p.to, source, bytes);
		if (mapped)
			*value = gda_shmem_load(mapped, bytes);
		return mapped ? 0 : -EFAULT;
	}
	if (!gda_shmem_aim(p, source, bytes, iova, key))
		return -EFAULT;
	word = gda_shmem_gpu_word_reserve(p.s, &at);
	if (word < 0)
		return word;
	err = gda_shmem_fetched(p, gda_get(p.q, at, p.stage_key, iova, key, bytes, flags), word,
				was, bytes);
	if (!err)
		*value = was;
	return err;
}

/**
 * gda_shmem_put_signal_nbi - begin to write to a PE, and signal when the bytes have arrived
 * @p: the poster
 * @dest: symmetric address, of the caller
 * @source: symmetric memory of the caller
 * @bytes: number of bytes; with 0 only the signal is sent
 * @signal: visible to the PE after the bytes; by queue in gda_shmem.data
 * @flags: GDA_NOWAIT, GDA_DEFER (posters of gda_shmem_open_thread()), GDA_SYSTEM
 *
 * Return: the ticket of the signal, done when both are; or a negative errno, see gda/shmem.h.
 */
template <class queue>
GDA_GPU_API int64_t gda_shmem_put_signal_nbi(struct gda_shmem_poster<queue> &p, void *dest,
					     const void *source, uint64_t bytes,
					     const struct gda_shmem_signal &signal,
					     unsigned int flags)
{
	struct gda_signal then = { sizeof(then), GDA_SIGNAL_ADD, 0, signal.value, p.stage, 0,
				   p.stage_key };
	int64_t ticket;
	bool whole = gda_shmem_whole(p, { dest, source, bytes, 0 }) &
		     gda_shmem_in(p.words, signal.word, 8) & !((uintptr_t)signal.word & 7);

	if (__builtin_expect(whole & (signal.op == GDA_SHMEM_ADD), 1)) {
		then.raddr = (uintptr_t)signal.word + p.words.remote;
		then.rkey = p.words.rkey;
		return gda_put_signal(p.q, (uintptr_t)source + p.heap.local, p.heap.lkey,
				      (uintptr_t)dest + p.heap.remote, p.heap.rkey,
				      (uint32_t)bytes, then, flags);
	}
	if (p.err)
		return p.err;
	if (signal.op != GDA_SHMEM_SET && signal.op != GDA_SHMEM_ADD)
		return -EINVAL;
	if (!gda_shmem_is_symmetric(p.s, signal.word, 8) ||
	    (!p.direct && !gda_shmem_has_atomics(p.s, signal.word)))
		return -EFAULT;
	if ((uintptr_t)signal.word & 7)
		return -EINVAL;
	ticket = bytes ? gda_shmem_put_nbi(p, dest, source, bytes, flags | GDA_DEFER) : 0;
	if (ticket < 0)
		return ticket;
	return gda_shmem_atomic64(p, signal.word, signal.op, signal.value, flags);
}

/**
 * gda_shmem_put_signal - write to a PE, and signal when the bytes have arrived
 * @p: the poster
 * @dest: symmetric address, of the caller
 * @source: symmetric memory of the caller; it may be changed when the call returns
 * @bytes: number of bytes
 * @signal: visible to the PE after the bytes
 * @flags: GDA_NOWAIT, GDA_SYSTEM
 *
 * Return: 0 or a negative errno, see gda/shmem.h.
 */
template <class queue>
GDA_GPU_API int gda_shmem_put_signal(struct gda_shmem_poster<queue> &p, void *dest,
				     const void *source, uint64_t bytes,
				     const struct gda_shmem_signal &signal, unsigned int flags)
{
	return gda_shmem_wait(p, gda_shmem_put_signal_nbi(p, dest, source, bytes, signal, flags),
			      0);
}

#endif /* GDA_GPU_SHMEM_ATOMIC_H */
