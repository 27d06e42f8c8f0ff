/* SPDX-License-Identifier: MIT */
/*
 * Entries of several slots. Included by gda/fastpath.h.
 *
 * A completion names the first slot of an entry, and consumed slots are counted by what
 * completions name; so a NOP follows that ends the entry, in a slot of its own. The
 * ticket is the first slot. All slots are reserved and published together.
 */
#ifndef GDA_MULTI_SLOT_H
#define GDA_MULTI_SLOT_H

#include <gda/fastpath.h>

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/* The part of gda_put_inline() that takes more than a slot. */
GDA_SLOW int64_t gda_put_inline_long(struct gda_view *v, uint64_t raddr, uint32_t rkey,
				     const void *src, uint64_t len, unsigned int flags)
{
	if (len > GDA_INLINE_MAX)
		return -EMSGSIZE;
	return gda_post(v, gda_wr_inline(raddr, rkey, src, (uint32_t)len), flags);
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif /* GDA_MULTI_SLOT_H */
