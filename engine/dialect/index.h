/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * How to judge the 16-bit index that a producer stores, which counts the entries written.
 *
 * An index that has changed since the last scan is, relative to the consumer, one of
 *
 *	ahead by 0 to depth			work; the newest counts
 *	behind by at most 2^15 - depth		stale: stored late, ignored
 *	anything else				no legal producer writes it
 *
 * The last case is an error and is not clamped: the entries that it would cover were never written.
 */
#ifndef GDA_ENGINE_INDEX_H
#define GDA_ENGINE_INDEX_H

#include "engine.h"

#define GDA_INDEX_HALF	0x8000U

/* How far behind the consumer an index may be and still count as stale. */
static inline u32 gda_index_stale(u32 depth)
{
	return depth > GDA_INDEX_HALF / 2 ? depth : GDA_INDEX_HALF - depth;
}

static __always_inline void gda_index_judge(const struct gda_engine_qp *q, u32 index,
					    struct gda_ring_scan *scan)
{
	u32 ahead = (index - (u32)q->ci) & 0xffff;

	if (likely(ahead <= q->depth)) {
		if (ahead > scan->ahead)
			scan->ahead = ahead;
	} else if (0x10000 - ahead > gda_index_stale(q->depth)) {
		scan->illegal = true;
	}
}

#endif /* GDA_ENGINE_INDEX_H */
