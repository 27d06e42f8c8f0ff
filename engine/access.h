/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Owns the parts of the decision whether a key may be used: identity, rights, reach. The functions
 * are inline for the path of short transfers; all other callers use gda_access_check(), which
 * returns the reason of a refusal.
 *
 * Invariant: a range that all of them accept lies wholly inside the MR, for every 64-bit address
 * and every length.
 */
#ifndef GDA_ENGINE_ACCESS_H
#define GDA_ENGINE_ACCESS_H

#include "engine.h"

/*
 * The key is this MR's and the protection domain owns it. Neither changes while the MR can be
 * found.
 */
static __always_inline bool gda_access_owned(const struct gda_mem *mem, const void *pd,
					     u32 key)
{
	return likely(mem && mem->key == key && mem->pd == pd);
}

/* @denied: rights that the queue withholds even from its own domain; it may change at any time. */
static __always_inline bool gda_access_granted(const struct gda_mem *mem, u32 denied, u32 access)
{
	return likely(!(access & (~mem->access | denied)));
}

/* The state may change at any time, so it is read for every use. */
static __always_inline bool gda_access_live(const struct gda_mem *mem)
{
	return likely(READ_ONCE(mem->state) == GDA_MR_LIVE);
}

static __always_inline bool gda_access_inside(const struct gda_mem *mem, u64 addr, u32 len)
{
	/* an address below iova wraps to at least size, because iova + size - 1 does not wrap */
	u64 off = addr - mem->iova;

	return likely(off <= mem->size && len <= mem->size - off);
}

#endif /* GDA_ENGINE_ACCESS_H */
