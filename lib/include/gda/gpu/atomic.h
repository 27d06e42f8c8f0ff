/* SPDX-License-Identifier: MIT */
/*
 * Atomics of CUDA device code, through a poster, which keeps a queue in registers. Included by
 * gda/gpu/post.h.
 */
#ifndef GDA_GPU_ATOMIC_H
#define GDA_GPU_ATOMIC_H

#include <gda/gpu/post.h>
#include <gda/masked_atomic.h>

/**
 * gda_fetch_add - add to a word of the peer
 * @q: the poster's queue
 * @laddr: address for the old value, 8 bytes
 * @lkey: key of local memory
 * @raddr: the word, aligned to 8
 * @rkey: key of the peer's memory
 * @add: value to add, modulo 2^64
 * @flags: GDA_NOWAIT, GDA_DEFER (exclusive posters), GDA_SYSTEM
 *
 * Return: the ticket; -EIO, -ETIMEDOUT, -ESHUTDOWN, or -EAGAIN with GDA_NOWAIT, and
 * nothing was posted.
 */
template <class queue>
GDA_GPU_API int64_t gda_fetch_add(queue &q, uint64_t laddr, uint32_t lkey, uint64_t raddr,
				 uint32_t rkey, uint64_t add, unsigned int flags)
{
	return gda_post(q, flags, [&] {
		return gda_wr_fetch_add(laddr, lkey, raddr, rkey, add);
	});
}

/**
 * gda_compare_swap - replace a word of the peer if it has a value
 * @q: the poster's queue
 * @laddr: address for the old value, 8 bytes
 * @lkey: key of local memory
 * @raddr: the word, aligned to 8
 * @rkey: key of the peer's memory
 * @compare: the value that it must have
 * @swap: its new value
 * @flags: GDA_NOWAIT, GDA_DEFER (exclusive posters), GDA_SYSTEM
 *
 * Return: the ticket; -EIO, -ETIMEDOUT, -ESHUTDOWN, or -EAGAIN with GDA_NOWAIT, and
 * nothing was posted.
 */
template <class queue>
GDA_GPU_API int64_t gda_compare_swap(queue &q, uint64_t laddr, uint32_t lkey, uint64_t raddr,
				    uint32_t rkey, uint64_t compare, uint64_t swap,
				    unsigned int flags)
{
	return gda_post(q, flags, [&] {
		return gda_wr_compare_swap(laddr, lkey, raddr, rkey, compare, swap);
	});
}

/**
 * gda_masked_fetch_add - add in fields of a 64-bit word of the peer
 * @q: the poster's queue
 * @laddr: address for the old value
 * @lkey: key of local memory
 * @raddr: the word
 * @rkey: key of the peer's memory
 * @add: value to add, field by field
 * @boundary: the highest bit of each field
 * @flags: GDA_NOWAIT, GDA_DEFER (exclusive posters), GDA_SYSTEM
 *
 * As gda_masked_fetch_add() of gda/masked_atomic.h.
 *
 * Return: as gda_fetch_add().
 */
template <class queue>
GDA_GPU_API int64_t gda_masked_fetch_add(queue &q, uint64_t laddr, uint32_t lkey,
					 uint64_t raddr, uint32_t rkey, uint64_t add,
					 uint64_t boundary, unsigned int flags)
{
	return gda_post(q, flags, [&] {
		return gda_wr_masked_fetch_add(laddr, lkey, raddr, rkey, add, boundary, 8);
	});
}

/**
 * gda_masked_fetch_add32 - add in fields of a 32-bit word of the peer
 * @q: the poster's queue
 * @laddr: address for the old value
 * @lkey: key of local memory
 * @raddr: the word
 * @rkey: key of the peer's memory
 * @add: value to add, field by field
 * @boundary: the highest bit of each field
 * @flags: GDA_NOWAIT, GDA_DEFER (exclusive posters), GDA_SYSTEM
 *
 * As gda_masked_fetch_add32() of gda/masked_atomic.h.
 *
 * Return: as gda_fetch_add().
 */
template <class queue>
GDA_GPU_API int64_t gda_masked_fetch_add32(queue &q, uint64_t laddr, uint32_t lkey,
					   uint64_t raddr, uint32_t rkey, uint32_t add,
					   uint32_t boundary, unsigned int flags)
{
	return gda_post(q, flags, [&] {
		return gda_wr_masked_fetch_add(laddr, lkey, raddr, rkey, add, boundary, 4);
	});
}

/**
 * gda_masked_compare_swap - set bits of a 64-bit word of the peer if others have a value
 * @q: the poster's queue
 * @laddr: address for the old value
 * @lkey: key of local memory
 * @raddr: the word
 * @rkey: key of the peer's memory
 * @compare: the word is changed if it equals this in @compare_mask
 * @compare_mask: bits that are compared
 * @swap: new value of the bits of @swap_mask
 * @swap_mask: bits that are set
 * @flags: GDA_NOWAIT, GDA_DEFER (exclusive posters), GDA_SYSTEM
 *
 * As gda_masked_compare_swap() of gda/masked_atomic.h.
 *
 * Return: as gda_fetch_add().
 */
template <class queue>
GDA_GPU_API int64_t gda_masked_compare_swap(queue &q, uint64_t laddr, uint32_t lkey,
					    uint64_t raddr, uint32_t rkey, uint64_t compare,
					    uint64_t compare_mask, uint64_t swap,
					    uint64_t swap_mask, unsigned int flags)
{
	struct gda_wr_masks m = { compare, compare_mask, swap, swap_mask };

	return gda_post_multi(q, gda_wr_masked_compare_swap(laddr, lkey, raddr, rkey, m, 8), flags);
}

/**
 * gda_masked_compare_swap32 - set bits of a 32-bit word of the peer if others have a value
 * @q: the poster's queue
 * @laddr: address for the old value
 * @lkey: key of local memory
 * @raddr: the word
 * @rkey: key of the peer's memory
 * @compare: the word is changed if it equals this in @compare_mask
 * @compare_mask: bits that are compared
 * @swap: new value of the bits of @swap_mask
 * @swap_mask: bits that are set
 * @flags: GDA_NOWAIT, GDA_DEFER (exclusive posters), GDA_SYSTEM
 *
 * As gda_masked_compare_swap32() of gda/masked_atomic.h.
 *
 * Return: as gda_fetch_add().
 */
template <class queue>
GDA_GPU_API int64_t gda_masked_compare_swap32(queue &q, uint64_t laddr, uint32_t lkey,
					      uint64_t raddr, uint32_t rkey, uint32_t compare,
					      uint32_t compare_mask, uint32_t swap,
					      uint32_t swap_mask, unsigned int flags)
{
	struct gda_wr_masks m = { compare, compare_mask, swap, swap_mask };

	return gda_post(q, flags, [&] {
		return gda_wr_masked_compare_swap(laddr, lkey, raddr, rkey, m, 4);
	});
}

#endif /* GDA_GPU_ATOMIC_H */
