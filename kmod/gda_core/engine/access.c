// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Owns the decision whether a key may be used: identity, protection domain,
 * revocation, rights, range, in this order.
 *
 * Invariant: what it accepts lies wholly inside the MR, for every 64-bit address and
 * every length; and a domain learns nothing about keys of another, not even that
 * they exist.
 */
#include "engine.h"

u8 gda_access_check(const struct gda_mem *mem, const void *pd, const struct gda_sge *range,
		    u32 access)
{
	u64 off;

	if (unlikely(!mem || mem->key != range->key || mem->pd != pd))
		return GDA_MLX5_VENDOR_KEY;
	if (unlikely(READ_ONCE(mem->state) != GDA_MR_LIVE))
		return GDA_MLX5_VENDOR_REVOKED;
	if (unlikely(access & ~mem->access))
		return GDA_MLX5_VENDOR_RIGHTS;
	/* below iova wraps to at least size, because iova + size - 1 does not wrap */
	off = range->addr - mem->iova;
	if (unlikely(off > mem->size || range->len > mem->size - off))
		return GDA_MLX5_VENDOR_RANGE;
	return GDA_MLX5_VENDOR_NONE;
}
