/* SPDX-License-Identifier: MIT */
/*
 * Masked atomics, on words of 4 and 8 bytes: fetch-add in bit fields, and
 * compare-swap that compares some bits and swaps others.
 *
 * They are atomic against one another and against other atomics of the same width. A
 * word of 4 bytes is never more than 4 bytes, at both ends: neither what lies beside
 * the remote word nor beside the old value is touched.
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

#define GDA_MASKED_4BYTE(opcode) ((uint32_t)GDA_MLX5_OPMOD_4BYTE << 24 | (opcode))
#define GDA_MASKED_8BYTE(opcode) ((uint32_t)GDA_MLX5_OPMOD_8BYTE << 24 | (opcode))

/**
 * gda_masked_old32 - the old value of a 32-bit masked atomic in host order
 * @stored: the word at its local address, loaded after the work request is done
 *
 * For what gda_masked_fetch_add32() and gda_masked_compare_swap32() fetch. Anybody may
 * call it.
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
 * @add: what is added, field by field
 * @boundary: the highest bit of each field; what is carried out of it is lost. 0: the
 *	word is one field
 * @flags: GDA_*
 *
 * Return: as gda_put().
 */
GDA_API int64_t gda_masked_fetch_add(struct gda_view *v, uint64_t laddr, uint32_t lkey,
				     uint64_t raddr, uint32_t rkey, uint64_t add,
				     uint64_t boundary, unsigned int flags)
{
	return gda_post_atomic(v, GDA_MASKED_8BYTE(GDA_MLX5_MASKED_FA), laddr, lkey, raddr,
			       rkey, gda_be64(add), gda_be64(boundary), 8, flags);
}

/**
 * gda_masked_fetch_add32 - add in fields of a remote 32-bit word, fetch what it was
 * @v: the queue
 * @laddr: local address of 4 bytes for the old value, big-endian: gda_masked_old32()
 * @lkey: key of the local MR
 * @raddr: remote address, a multiple of 4
 * @rkey: key of the remote MR, with remote atomic
 * @add: what is added, field by field
 * @boundary: as in gda_masked_fetch_add()
 * @flags: GDA_*
 *
 * Return: as gda_put().
 */
GDA_API int64_t gda_masked_fetch_add32(struct gda_view *v, uint64_t laddr, uint32_t lkey,
				       uint64_t raddr, uint32_t rkey, uint32_t add,
				       uint32_t boundary, unsigned int flags)
{
	return gda_post_atomic(v, GDA_MASKED_4BYTE(GDA_MLX5_MASKED_FA), laddr, lkey, raddr,
			       rkey, gda_pair(gda_be32(add), gda_be32(boundary)), 0, 4,
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
 * @swap: what the bits of @swap_mask are set to
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
	int64_t index;
	char *entry;

	gda_check_flags(flags);
	index = gda_multi_reserve(v, 3, &flags);
	if (index < 0)
		return index;
	entry = gda_entry(v, (uint64_t)index, GDA_MASKED_8BYTE(GDA_MLX5_MASKED_CS), 5, 0,
			  flags);
	gda_store_segment(entry + 16, gda_be64(raddr), gda_pair(gda_be32(rkey), 0));
	gda_store_segment(entry + 32, gda_be64(swap), gda_be64(compare));
	gda_store_segment(entry + 48, gda_be64(swap_mask), gda_be64(compare_mask));
	gda_store_segment(gda_multi_segment(v, (uint64_t)index, 4),
			  gda_pair(gda_be32(8), gda_be32(lkey)), gda_be64(laddr));
	gda_multi_end(v, (uint64_t)index, 5);
	gda_multi_publish(v, (uint64_t)index, 3, flags);
	return index;
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
 * @swap: what the bits of @swap_mask are set to
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
	return gda_post_atomic(v, GDA_MASKED_4BYTE(GDA_MLX5_MASKED_CS), laddr, lkey, raddr,
			       rkey, gda_pair(gda_be32(swap), gda_be32(compare)),
			       gda_pair(gda_be32(swap_mask), gda_be32(compare_mask)), 4,
			       flags);
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif /* GDA_MASKED_ATOMIC_H */
