/* SPDX-License-Identifier: MIT */
/*
 * Atomics, values that are fetched, and puts with signals, by posters of gda/gpu/shmem.h, which
 * includes this. By queue the words are in gda_shmem.data.
 */
#ifndef GDA_GPU_SHMEM_ATOMIC_H
#define GDA_GPU_SHMEM_ATOMIC_H

#include <gda/gpu/shmem.h>

/*
 * Make the work request of @at with an operation, one of enum gda_shmem_op, on a word of 4 or 8
 * bytes. An old value of 4 bytes is big-endian.
 */
GDA_DEVICE struct gda_wr gda_shmem_wr_op(struct gda_wr at, uint32_t op, uint64_t value)
{
	struct gda_wr r = gda_wr_make(GDA_OP_MASKED_COMPARE_SWAP, at.laddr, at.lkey, at.raddr,
				      at.rkey, at.len);
	uint64_t all = at.len == 8 ? UINT64_MAX : UINT32_MAX;

	r.swap_add = value;
	switch (op) {
	case GDA_SHMEM_SET:
		r.swap_mask = all;
		return r;
	case GDA_SHMEM_AND:
		r.swap_add = 0;
		r.swap_mask = ~value & all;
		return r;
	case GDA_SHMEM_OR:
		r.swap_mask = value;
		return r;
	case GDA_SHMEM_XOR:
		/* every bit is a separate field, so there are no carries */
		r.op = GDA_OP_MASKED_FETCH_ADD;
		r.compare = all;
		return r;
	default:
		r.op = at.len == 8 ? GDA_OP_FETCH_ADD : GDA_OP_MASKED_FETCH_ADD;
		r.swap_add = op == GDA_SHMEM_ADD ? value : 0;
		return r;
	}
}

/* The same for a compare-and-swap. */
GDA_DEVICE struct gda_wr gda_shmem_wr_cas(struct gda_wr at, uint64_t cond, uint64_t value)
{
	struct gda_wr r = gda_wr_compare_swap(at.laddr, at.lkey, at.raddr, at.rkey, cond, value);

	if (at.len == 8)
		return r;
	r.op = GDA_OP_MASKED_COMPARE_SWAP;
	r.len = 4;
	r.compare_mask = UINT32_MAX;
	r.swap_mask = UINT32_MAX;
	return r;
}

GDA_DEVICE uint64_t gda_shmem_apply(uint64_t *at, uint32_t op, uint64_t value)
{
	return gda_shmem_apply64(at, op, value);
}

GDA_DEVICE uint32_t gda_shmem_apply(uint32_t *at, uint32_t op, uint32_t value)
{
	return gda_shmem_apply32(at, op, value);
}

GDA_DEVICE void gda_shmem_change(uint64_t *at, uint32_t op, uint64_t value)
{
	gda_shmem_change64(at, op, value);
}

GDA_DEVICE void gda_shmem_change(uint32_t *at, uint32_t op, uint32_t value)
{
	gda_shmem_change32(at, op, value);
}

GDA_DEVICE uint64_t gda_shmem_cas(uint64_t *at, uint64_t cond, uint64_t value)
{
	return gda_shmem_cas64(at, cond, value);
}

GDA_DEVICE uint32_t gda_shmem_cas(uint32_t *at, uint32_t cond, uint32_t value)
{
	return gda_shmem_cas32(at, cond, value);
}

/* The word of the PE where it is mapped; NULL if it is not symmetric. */
template <class queue, class word>
GDA_DEVICE word *gda_shmem_word_mapped(const struct gda_shmem_poster<queue> &p, word *dest)
{
	return (word *)gda_shmem_reach(p, dest, sizeof(word));
}

/* Make a work request on a word of the PE. The caller sets its operation. Return: 0 or -EFAULT. */
template <class queue, class word>
GDA_DEVICE int gda_shmem_begin_atomic(struct gda_shmem_poster<queue> &p, word *dest,
				      struct gda_wr &r)
{
	uint64_t iova = 0;
	uint32_t key = 0;
	bool found = gda_shmem_aim_atomic(p, dest, sizeof(word), iova, key);

	r = gda_wr_get(p.stage, p.stage_key, iova, key, sizeof(word));
	return found ? 0 : -EFAULT;
}

/*
 * The checks of an operation; @old: receives the old value if done directly, or NULL. Return: 0 by
 * queue, with its work request; 1 if done directly; or an errno.
 */
template <class queue, class word>
GDA_DEVICE int gda_shmem_begin_op(struct gda_shmem_poster<queue> &p, word *dest, uint32_t op,
				  word value, word *old, struct gda_wr &r)
{
	word *at;
	int err;

	if (p.err || !gda_shmem_is_word(dest, sizeof(word)) || op > GDA_SHMEM_XOR)
		return p.err ? p.err : -EINVAL;
	if (!p.direct) {
		err = gda_shmem_begin_atomic(p, dest, r);
		r = gda_shmem_wr_op(r, op, value);
		return err;
	}
	at = gda_shmem_word_mapped(p, dest);
	if (!at)
		return -EFAULT;
	if (old)
		*old = gda_shmem_apply(at, op, value);
	else
		gda_shmem_change(at, op, value);
	return 1;
}

template <class queue>
GDA_DEVICE int64_t gda_shmem_post_atomic(queue &q, const struct gda_wr &r, unsigned int flags)
{
	if (r.op == GDA_OP_MASKED_COMPARE_SWAP && r.len == 8)
		return gda_post_multi(q, r, flags);
	return gda_post(q, flags, [&] {
		return r;
	});
}

template <class queue, class word>
GDA_DEVICE int64_t gda_shmem_atomic(struct gda_shmem_poster<queue> &p, word *dest, uint32_t op,
				    word value, unsigned int flags)
{
	struct gda_wr r;
	int done = gda_shmem_begin_op(p, dest, op, value, (word *)NULL, r);

	if (done)
		return done < 0 ? done : 0;
	return gda_shmem_post_atomic(p.q, r, flags);
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
	return gda_shmem_atomic(p, dest, op, value, flags);
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
	return gda_shmem_atomic(p, dest, op, value, flags);
}

/* Post a request on a word, wait for it, and read the value that it fetched. */
template <class queue>
GDA_DEVICE int gda_shmem_fetch(struct gda_shmem_poster<queue> &p, struct gda_wr r,
			       uint64_t &stored, unsigned int flags)
{
	uint64_t at;
	int word = gda_shmem_gpu_word_reserve(p.s, &at), err;
	int64_t ticket;

	if (word < 0)
		return word;
	r.laddr = at;
	ticket = gda_shmem_post_atomic(p.q, r, flags);
	if (ticket < 0) {
		gda_shmem_gpu_word_release(p.s, word);
		return (int)ticket;
	}
	err = gda_shmem_wait(p, ticket, 0);
	if (!err)
		stored = gda_shmem_gpu_word_load(p.s, word, r.len);
	return gda_shmem_gpu_word_done(p.s, word, err);
}

template <class queue, class word>
GDA_DEVICE int gda_shmem_fetch_atomic(struct gda_shmem_poster<queue> &p, const struct gda_wr &r,
				      word &old, unsigned int flags)
{
	uint64_t stored;
	int err = gda_shmem_fetch(p, r, stored, flags);

	if (!err)
		old = sizeof(word) == 8 ? (word)stored : gda_masked_old32((uint32_t)stored);
	return err;
}

template <class queue, class word>
GDA_DEVICE int gda_shmem_fetch_op(struct gda_shmem_poster<queue> &p, word *dest, uint32_t op,
				  word value, word &old, unsigned int flags)
{
	struct gda_wr r;
	word was = 0;
	int err = gda_shmem_begin_op(p, dest, op, value, &was, r);

	if (!err)
		err = gda_shmem_fetch_atomic(p, r, was, flags);
	if (err >= 0)
		old = was;
	return err < 0 ? err : 0;
}

template <class queue, class word>
GDA_DEVICE int gda_shmem_fetch_cas(struct gda_shmem_poster<queue> &p, word *dest, word cond,
				   word value, word &old, unsigned int flags)
{
	struct gda_wr r;
	word *at;

	if (p.err || !gda_shmem_is_word(dest, sizeof(word)))
		return p.err ? p.err : -EINVAL;
	if (p.direct) {
		at = gda_shmem_word_mapped(p, dest);
		if (at)
			old = gda_shmem_cas(at, cond, value);
		return at ? 0 : -EFAULT;
	}
	if (gda_shmem_begin_atomic(p, dest, r))
		return -EFAULT;
	return gda_shmem_fetch_atomic(p, gda_shmem_wr_cas(r, cond, value), old, flags);
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
	return gda_shmem_fetch_op(p, dest, op, value, *old, flags);
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
	return gda_shmem_fetch_op(p, dest, op, value, *old, flags);
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
	return gda_shmem_fetch_cas(p, dest, cond, value, *old, flags);
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
	return gda_shmem_fetch_cas(p, dest, cond, value, *old, flags);
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
	uint64_t iova = 0, stored = 0;
	uint32_t key = 0;
	char *mapped;
	int err;

	if (p.err || !gda_shmem_is_word(source, bytes))
		return p.err ? p.err : -EINVAL;
	if (p.direct) {
		mapped = gda_shmem_reach(p, source, bytes);
		if (mapped)
			*value = gda_shmem_load(mapped, bytes);
		return mapped ? 0 : -EFAULT;
	}
	if (!gda_shmem_aim(p, source, bytes, iova, key))
		return -EFAULT;
	err = gda_shmem_fetch(p, gda_wr_get(0, p.stage_key, iova, key, bytes), stored, flags);
	if (!err)
		*value = stored;
	return err;
}

/*
 * Direct access: where a signal's word is mapped, or an errno.
 */
template <class queue>
GDA_DEVICE int gda_shmem_reach_signal(const struct gda_shmem_poster<queue> &p,
				      const struct gda_shmem_signal &signal, uint64_t *&at)
{
	if (signal.op != GDA_SHMEM_SET && signal.op != GDA_SHMEM_ADD)
		return -EINVAL;
	at = (uint64_t *)gda_shmem_reach(p, signal.word, 8);
	if (!at)
		return -EFAULT;
	return (uintptr_t)signal.word & 7 ? -EINVAL : 0;
}

/*
 * Direct access: copy by a group, then signal by its first thread, whose fence covers the bytes of
 * all. Nothing is copied if the signal is refused.
 */
template <class group, class queue>
GDA_DEVICE int64_t gda_shmem_signal_direct(const group &g, const struct gda_shmem_poster<queue> &p,
					   const struct gda_shmem_move &m,
					   const struct gda_shmem_signal &signal)
{
	uint64_t *at;
	int64_t err = gda_shmem_reach_signal(p, signal, at);

	g.sync();
	if (!err && m.bytes)
		err = gda_shmem_copy(p, m, g.thread_rank(), g.size());
	g.sync();
	if (!err && !g.thread_rank())
		gda_shmem_change64(at, signal.op, signal.value);
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
	if (p.direct)
		return gda_shmem_signal_direct(gda_thread_group(), p, { dest, source, bytes, 0 },
					       signal);
	if (signal.op != GDA_SHMEM_SET && signal.op != GDA_SHMEM_ADD)
		return -EINVAL;
	if (!gda_shmem_is_symmetric(p.s, signal.word, 8) ||
	    !gda_shmem_has_atomics(p.s, signal.word))
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
