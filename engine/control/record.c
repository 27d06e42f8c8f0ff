// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Rings of records (record.h). */
#include "record.h"

#define GDA_RECORD_WORDS	(sizeof(struct gda_record) / sizeof(u64))

static_assert(sizeof(struct gda_record) == 64);
static_assert(offsetof(struct gda_record, seq) == 0);

/* Copy the words behind seq by single stores: readers and a writer a lap ahead may access them. */
static void gda_record_store(struct gda_record *to, const struct gda_record *from)
{
	const u64 *src = (const u64 *)from;
	u64 *dst = (u64 *)to;
	u32 i;

	for (i = 1; i < GDA_RECORD_WORDS; i++)
		WRITE_ONCE(dst[i], src[i]);
}

static void gda_record_load(struct gda_record *to, const struct gda_record *from)
{
	const u64 *src = (const u64 *)from;
	u64 *dst = (u64 *)to;
	u32 i;

	for (i = 1; i < GDA_RECORD_WORDS; i++)
		dst[i] = READ_ONCE(src[i]);
}

void gda_record_write(struct gda_record_ring *ring, const struct gda_record *r)
{
	u64 pos = gda_os_fetch_add64(&ring->next, 1);
	struct gda_record *to = &ring->records[pos & ring->mask];
	u64 before = READ_ONCE(to->seq);

	/* another writer has the record, or one a lap ahead has already written it */
	if (unlikely(before & GDA_RECORD_BUSY || before > pos))
		return;
	if (unlikely(gda_os_cmpxchg64((u64 *)&to->seq, before,
				      GDA_RECORD_BUSY | (pos + 1)) != before))
		return;
	/* pairs with smp_rmb() in gda_record_read(): who sees a new word also sees the claim */
	smp_wmb();
	gda_record_store(to, r);
	/* pairs with the reader's acquire */
	smp_store_release(&to->seq, pos + 1);
}

/* Return: whether the ring is half a lap past @pos, so that the record will never be written. */
static bool gda_record_overtaken(const struct gda_record *records, u32 mask, u64 pos)
{
	u64 ahead = pos + mask / 2 + 1;

	return (READ_ONCE(records[ahead & mask].seq) & ~GDA_RECORD_BUSY) > ahead;
}

int gda_record_read(const struct gda_record *records, u32 mask, u64 pos, struct gda_record *r)
{
	const struct gda_record *from = &records[pos & mask];
	/* pairs with the writer's release */
	u64 seq = smp_load_acquire(&from->seq);

	if ((seq & ~GDA_RECORD_BUSY) > pos + 1)
		return -EOVERFLOW;
	if (seq != pos + 1)
		return gda_record_overtaken(records, mask, pos) ? -EOVERFLOW : 0;
	gda_record_load(r, from);
	/* pairs with smp_wmb() of the writer: all words are read before seq is read again */
	smp_rmb();
	if (READ_ONCE(from->seq) != seq)
		return -EOVERFLOW;
	r->seq = seq;
	return 1;
}

u32 gda_record_copy(struct gda_record_ring *ring, struct gda_record *to, u32 n)
{
	u64 end = READ_ONCE(ring->next), pos = 0;
	u32 copied = 0;

	n = min(n, ring->mask + 1);
	if (end > n)
		pos = end - n;
	for (; pos != end; pos++)
		if (gda_record_read(ring->records, ring->mask, pos, &to[copied]) > 0)
			copied++;
	return copied;
}

void gda_record_publish(struct gda_record_rings *rings, struct gda_record *records, u32 n)
{
	struct gda_record_ring *from = &rings->control;
	u64 end = READ_ONCE(from->next);
	u64 pos = end > from->mask ? end - from->mask - 1 : 0;
	struct gda_record r;

	rings->ring.records = records;
	rings->ring.mask = n - 1;
	rings->ring.next = 0;
	for (; pos != end; pos++)
		if (gda_record_read(from->records, from->mask, pos, &r) > 0)
			gda_record_write(&rings->ring, &r);
	/* pairs with the acquire of gda_record_keep(): the ring is complete */
	smp_store_release(&rings->work, &rings->ring);
}

void gda_record_withdraw(struct gda_record_rings *rings)
{
	WRITE_ONCE(rings->work, NULL);
}

/* The ring of control events keeps every record of these kinds. */
static bool gda_record_is_control(u8 kind)
{
	switch (kind) {
	case GDA_RECORD_FAILED:
	case GDA_RECORD_CONNECTED:
	case GDA_RECORD_LOST:
	case GDA_RECORD_REGISTERED:
	case GDA_RECORD_REVOKED:
	case GDA_RECORD_OVERFLOW:
		return true;
	default:
		return false;
	}
}

void gda_record_keep(struct gda_record_rings *rings, const struct gda_record *r)
{
	/* pairs with the release in gda_record_publish() */
	struct gda_record_ring *work = smp_load_acquire(&rings->work);

	if (gda_record_is_control(r->kind))
		gda_record_write(&rings->control, r);
	if (work)
		gda_record_write(work, r);
}

bool gda_record_wanted(const struct gda_record_rings *rings, u8 kind)
{
	return READ_ONCE(rings->work) || gda_record_is_control(kind);
}

struct gda_record gda_record_mem(const struct gda_mem *mem, u8 kind, u8 cause)
{
	const struct gda_record r = {
		.kind = kind,
		.cause = cause,
		.raddr = mem->iova,
		.laddr = mem->size,
		.rkey = READ_ONCE(mem->key),
		.aux = mem->access,
	};

	return r;
}

int gda_control_check_record(u32 records)
{
	if (records < GDA_RECORD_MIN || records > GDA_RECORD_MAX || records & (records - 1))
		return -EINVAL;
	return 0;
}
