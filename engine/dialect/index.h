/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What an index of 16 bits says that a producer has stored: how many entries it has written.
 *
 * One that has changed since it was read last is, seen from the consumer, one of
 *
 *	ahead by 0 to depth			work; the newest counts
 *	behind by at most 2^15 - depth		stale: stored late, ignored
 *	anything else				no legal producer writes it
 *
 * and the last is an error, not clamped: what it would cover was never written.
 */
#ifndef GDA_ENGINE_INDEX_H
#define GDA_ENGINE_INDEX_H

#include "engine.h"

#define GDA_INDEX_HALF	0x8000U

/* How far behind the consumer an index may be. */
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
