// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Owns the published range of a send queue: what the doorbell cell and the doorbell
 * record, both written by anybody at any time, say about how far to consume.
 *
 * Invariant: ci <= pi <= ci + depth, and pi never moves backwards. Both sources
 * carry a 16-bit next index. Each is read once per look; one whose index has not
 * changed since the last look says nothing (so a producer may leave it alone for
 * ever). A changed index, seen from the consumer, is one of
 *
 *	ahead by 0 to depth			work; the newer of both counts
 *	behind by at most 2^15 - depth		stale: stored late, ignored
 *	anything else				no legal producer writes it
 *
 * and the last is an error, not clamped: what it would cover was never written.
 *
 * Producers store the record, then the doorbell; so the record is read first: then
 * neither is ever found behind what the other has shown. Producers that ring the
 * doorbell before and after the record (DOCA) can leave the record behind by what one
 * ring covers, up to depth, so that much is stale in any case. At 2^15 slots this
 * leaves no illegal index; there the index inside each entry is what tells.
 */
#include "engine.h"

#define GDA_RING_HALF	0x8000U

/* What the two sources say; @db and @rec are their raw 16-bit indices. */
struct gda_ring_scan {
	u32 db;
	u32 rec;
	u32 ahead;		/* slots beyond ci that are published */
	bool illegal;
};

static u32 gda_ring_read_rec(const struct gda_engine_qp *q)
{
	/* pairs with the producer's release: the doorbell and entries are read after it */
	return gda_be32_to_cpu(smp_load_acquire(&q->dbrec[1])) & 0xffff;
}

/* Bits 8..23 of the first four bytes; producers may spill above them. */
static u32 gda_ring_read_db(const struct gda_engine_qp *q)
{
	/* as above */
	return (u32)(gda_be64_to_cpu(smp_load_acquire(q->db)) >> 40) & 0xffff;
}

/* How far behind the consumer an index may be. */
static u32 gda_ring_stale(u32 depth)
{
	return depth > GDA_RING_HALF / 2 ? depth : GDA_RING_HALF - depth;
}

static void gda_ring_judge(const struct gda_engine_qp *q, u32 index, struct gda_ring_scan *look)
{
	u32 ahead = (index - (u32)q->ci) & 0xffff;

	if (likely(ahead <= q->depth)) {
		if (ahead > look->ahead)
			look->ahead = ahead;
	} else if (0x10000 - ahead > gda_ring_stale(q->depth)) {
		look->illegal = true;
	}
}

static void gda_ring_scan(const struct gda_engine_qp *q, struct gda_ring_scan *look)
{
	look->rec = gda_ring_read_rec(q);
	look->db = gda_ring_read_db(q);
	look->ahead = (u32)(q->pi - q->ci);
	look->illegal = false;
	if (look->db != q->seen_db)
		gda_ring_judge(q, look->db, look);
	if (look->rec != q->seen_dbrec)
		gda_ring_judge(q, look->rec, look);
}

struct gda_status gda_ring_refresh(struct gda_engine_qp *q)
{
	struct gda_status st = { 0, 0 };
	struct gda_ring_scan look;

	gda_ring_scan(q, &look);
	q->seen_db = look.db;
	q->seen_dbrec = look.rec;
	WRITE_ONCE(q->pi, q->ci + look.ahead);
	if (unlikely(look.illegal)) {
		st.syndrome = GDA_MLX5_SYND_LOCAL_QP_OP;
		st.vendor = GDA_MLX5_VENDOR_DOORBELL;
	}
	return st;
}

bool gda_ring_pending(const struct gda_engine_qp *q, bool *illegal)
{
	struct gda_ring_scan look;

	gda_ring_scan(q, &look);
	*illegal = look.illegal;
	return look.ahead;
}
