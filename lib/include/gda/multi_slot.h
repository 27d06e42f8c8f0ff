/* SPDX-License-Identifier: MIT */
/*
 * Entries of several slots. Included by gda/fastpath.h.
 *
 * A completion names the first slot of an entry, and the consumer index advances by completions; so
 * the entry is followed by a NOP in a slot of its own, which marks its end. The ticket is the first
 * slot. All slots are reserved and published together.
 */
#ifndef GDA_MULTI_SLOT_H
#define GDA_MULTI_SLOT_H

#include <gda/fastpath.h>

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/* The part of gda_put_inline() for more than one slot. */
GDA_SLOW int64_t gda_put_inline_long(struct gda_view *v, uint64_t raddr, uint32_t rkey,
				     const void *src, uint64_t len, unsigned int flags)
{
	if (len > gda_wqe_max_inline(v->dialect, v->mask + 1) && len > gda_wqe_inline_slot(v->dialect))
		return -EMSGSIZE;
	return gda_post(v, gda_wr_inline(raddr, rkey, src, (uint32_t)len), flags);
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif /* GDA_MULTI_SLOT_H */
