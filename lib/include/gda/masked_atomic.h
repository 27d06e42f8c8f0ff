/* SPDX-License-Identifier: MIT */
/*
 * Masked atomics, on words of 4 and 8 bytes: fetch-add in bit fields, and
 * compare-swap that compares some bits and swaps others.
 *
 * They are atomic against one another and against other atomics of the same width. An atomic on 4
 * bytes accesses only 4 bytes at both ends: it touches nothing beside the remote word or beside the
 * old value.
 *
 * The old value of 8 bytes is stored in host order. The old value of 4 bytes is stored
 * big-endian, as ConnectX stores it: gda_masked_old32() converts it.
 */
#ifndef GDA_MASKED_ATOMIC_H
#define GDA_MASKED_ATOMIC_H

#include <gda/fastpath.h>

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/**
 * gda_masked_old32 - the old value of a 32-bit masked atomic in host order
 * @stored: the word at its local address, loaded after the work request is done
 *
 * For the words that gda_masked_fetch_add32() and gda_masked_compare_swap32() fetch. Any thread
 * may call it.
 *
 * Return: the value.
 */
GDA_API uint32_t gda_masked_old32(uint32_t stored)
{
	return gda_be32_to_cpu((GDA_UAPI_FORCE __be32)stored);
}

/**
 * gda_masked_fetch_add - add in fields of a remote 64-bit word, fetch what it was
 * @v: the queue
 * @laddr: local address of 8 bytes for the old value
 * @lkey: key of the local MR
 * @raddr: remote address, a multiple of 8
 * @rkey: key of the remote MR, with remote atomic
 * @add: added field by field
 * @boundary: the highest bit of each field; carries out of it are lost. 0: the word is one field
 * @flags: GDA_*
 *
 * Return: as gda_put().
 */
GDA_API int64_t gda_masked_fetch_add(struct gda_view *v, uint64_t laddr, uint32_t lkey,
				     uint64_t raddr, uint32_t rkey, uint64_t add,
				     uint64_t boundary, unsigned int flags)
{
	gda_check_flags(flags);
	return gda_post(v, gda_wr_masked_fetch_add(laddr, lkey, raddr, rkey, add, boundary, 8),
			flags);
}

/**
 * gda_masked_fetch_add32 - add in fields of a remote 32-bit word, fetch what it was
 * @v: the queue
 * @laddr: local address of 4 bytes for the old value, big-endian: gda_masked_old32()
 * @lkey: key of the local MR
 * @raddr: remote address, a multiple of 4
 * @rkey: key of the remote MR, with remote atomic
 * @add: added field by field
 * @boundary: the highest bit of each field; carries out of it are lost. 0: one field
 * @flags: GDA_*
 *
 * Return: as gda_put().
 */
GDA_API int64_t gda_masked_fetch_add32(struct gda_view *v, uint64_t laddr, uint32_t lkey,
				       uint64_t raddr, uint32_t rkey, uint32_t add,
				       uint32_t boundary, unsigned int flags)
{
	gda_check_flags(flags);
	return gda_post(v, gda_wr_masked_fetch_add(laddr, lkey, raddr, rkey, add, boundary, 4),
			flags);
}

/**
 * gda_masked_compare_swap - set bits of a remote 64-bit word if others have a value
 * @v: the queue
 * @laddr: local address of 8 bytes for the old value
 * @lkey: key of the local MR
 * @raddr: remote address, a multiple of 8
 * @rkey: key of the remote MR, with remote atomic
 * @compare: the word is changed if it equals this in @compare_mask
 * @compare_mask: bits that are compared
 * @swap: new value of the bits of @swap_mask
 * @swap_mask: bits that are set
 * @flags: GDA_*
 *
 * It takes three slots, the last one for a NOP that marks the end.
 *
 * Return: as gda_put(); -EMSGSIZE if the ring has less than 4 slots.
 */
GDA_API int64_t gda_masked_compare_swap(struct gda_view *v, uint64_t laddr, uint32_t lkey,
					uint64_t raddr, uint32_t rkey, uint64_t compare,
					uint64_t compare_mask, uint64_t swap,
					uint64_t swap_mask, unsigned int flags)
{
	struct gda_wr_masks m = { compare, compare_mask, swap, swap_mask };

	gda_check_flags(flags);
	return gda_post(v, gda_wr_masked_compare_swap(laddr, lkey, raddr, rkey, m, 8), flags);
}

/**
 * gda_masked_compare_swap32 - set bits of a remote 32-bit word if others have a value
 * @v: the queue
 * @laddr: local address of 4 bytes for the old value, big-endian: gda_masked_old32()
 * @lkey: key of the local MR
 * @raddr: remote address, a multiple of 4
 * @rkey: key of the remote MR, with remote atomic
 * @compare: the word is changed if it equals this in @compare_mask
 * @compare_mask: bits that are compared
 * @swap: new value of the bits of @swap_mask
 * @swap_mask: bits that are set
 * @flags: GDA_*
 *
 * Return: as gda_put().
 */
GDA_API int64_t gda_masked_compare_swap32(struct gda_view *v, uint64_t laddr, uint32_t lkey,
					  uint64_t raddr, uint32_t rkey, uint32_t compare,
					  uint32_t compare_mask, uint32_t swap,
					  uint32_t swap_mask, unsigned int flags)
{
	struct gda_wr_masks m = { compare, compare_mask, swap, swap_mask };

	gda_check_flags(flags);
	return gda_post(v, gda_wr_masked_compare_swap(laddr, lkey, raddr, rkey, m, 4), flags);
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif /* GDA_MASKED_ATOMIC_H */
