/* SPDX-License-Identifier: MIT */
/*
 * Entries of several slots. Included by gda/fastpath.h.
 *
 * A completion names the first slot of an entry, and consumed slots are counted by what
 * completions name; so a NOP follows that ends the entry, in a slot of its own. The
 * ticket is the first slot.
 *
 * Slots are taken and published together. The poster marks its slots ready from the
 * last to the first: the combining role, which stops only where a slot is not ready, comes
 * through the first, so no doorbell ends within the entry.
 */
#ifndef GDA_MULTI_SLOT_H
#define GDA_MULTI_SLOT_H

#include <gda/fastpath.h>

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/* Take @n slots if they are free now: the first, or -1. Who fills the ring must ring. */
GDA_HELPER int64_t gda_multi_try(struct gda_view *v, uint32_t n, unsigned int *flags)
{
	uint64_t index = gda_load_relaxed64(&v->reserved);
	int64_t used;

	do {
		uint64_t done = gda_poll(v, *flags);

		used = (int64_t)(index + n - done);
		if (used > (int64_t)v->mask + 1)
			return -1;
		if (*flags & GDA_EXCLUSIVE) {
#ifndef __CUDA_ARCH__
			gda_exclusive_go(v, index, done);
#endif
			gda_store_relaxed64(&v->reserved, index + n);
			break;
		}
	} while (!gda_cas64(&v->reserved, &index, index + n));
	if (used == (int64_t)v->mask + 1)
		*flags &= ~GDA_DEFER;
	return (int64_t)index;
}

/*
 * Hand out @n slots in a row. Unlike one slot they may be missing while the ring is not
 * full, so that nobody has rung what was deferred: then this does.
 */
GDA_SLOW int64_t gda_multi_reserve(struct gda_view *v, uint32_t n, unsigned int *flags)
{
	uint64_t deadline = 0;
	unsigned int polls;
	int64_t index;
	int err;

	if (n > v->mask + 1)
		return -EMSGSIZE;
#ifdef __CUDA_ARCH__
	if (!(*flags & GDA_EXCLUSIVE))
		return gda_shared_reserve(v, n, *flags);
#endif
	for (polls = 1;; polls++) {
		gda_poll_ring(v);
		index = gda_multi_try(v, n, flags);
		if (index >= 0)
			return index;
		/* there was no room, and of a queue that has failed none comes free */
		if (gda_load_acquire64(&v->error_index) != GDA_NO_ERROR)
			return -EIO;
		if (polls % GDA_POLLS == 1)
			gda_flush(v);
		if (*flags & GDA_NOWAIT)
			return -EAGAIN;
		err = gda_expired(v, polls, &deadline);
		if (err)
			return err;
		gda_rest(v, polls, GDA_RELAX_ROOM);
	}
}

GDA_HELPER char *gda_multi_segment(const struct gda_view *v, uint64_t index, uint32_t n)
{
	uint32_t slot = ((uint32_t)index + n / 4) & v->mask;

	return (char *)(uintptr_t)v->sq + (uint64_t)slot * GDA_MLX5_SLOT_BYTES + n % 4 * 16;
}

/* The entry at @index has @ds segments: what is left of its slots, and the NOP. */
GDA_HELPER void gda_multi_end(struct gda_view *v, uint64_t index, uint32_t ds)
{
	uint32_t end = (ds + 3) & ~3U;
	char *nop;

	for (; ds < end; ds++)
		gda_store_segment(gda_multi_segment(v, index, ds), 0, 0);
	nop = gda_entry(v, index + end / 4, GDA_MLX5_NOP, 1, 0, 0);
	gda_store_segment(nop + 16, 0, 0);
	gda_store_segment(nop + 32, 0, 0);
	gda_store_segment(nop + 48, 0, 0);
}

/* The @n slots from @index on are written. */
GDA_SLOW void gda_multi_publish(struct gda_view *v, uint64_t index, uint32_t n,
				unsigned int flags)
{
	if (flags & GDA_EXCLUSIVE) {
		gda_publish(v, index + n - 1, flags);
		return;
	}
#ifdef __CUDA_ARCH__
	gda_shared_publish_view(v, index, n, flags);
#else
	int ring = !(flags & GDA_DEFER);
	uint32_t kind = ring ? GDA_SLOT_READY : GDA_SLOT_DEFERRED;

	uint64_t end = index + n;

	while (--n)
		gda_exchange32(gda_slot(v, index + n), gda_slot_word(index + n, kind));
	gda_publish_shared(v, index, ring);
	if (!ring)
		gda_max64(&v->deferred, end << 1);
#endif
}

/* The part of gda_put_inline() that takes more than a slot. */
GDA_SLOW int64_t gda_put_inline_long(struct gda_view *v, uint64_t raddr, uint32_t rkey,
				     const void *src, uint32_t len, unsigned int flags)
{
	uint32_t ds = 2 + (len + 19) / 16, n = (ds + 3) / 4 + 1, at = 12, i;
	int64_t index = -EMSGSIZE;
	uint64_t data[2];
	char *entry;

	if (len <= GDA_INLINE_MAX)
		index = gda_multi_reserve(v, n, &flags);
	if (index < 0)
		return index;
	entry = gda_entry(v, (uint64_t)index, GDA_MLX5_WRITE, ds, 0, flags);
	gda_store_segment(entry + 16, gda_be64(raddr), gda_pair(gda_be32(rkey), 0));
	data[0] = gda_pair(gda_be32(len | GDA_MLX5_INLINE), 0);
	memcpy((char *)data + 4, src, 12);
	gda_store_segment(entry + 32, data[0], data[1]);
	for (i = 3; i < ds; i++, at += 16) {
		data[0] = 0;
		data[1] = 0;
		memcpy(data, (const char *)src + at, len - at < 16 ? len - at : 16);
		gda_store_segment(gda_multi_segment(v, (uint64_t)index, i), data[0], data[1]);
	}
	gda_multi_end(v, (uint64_t)index, ds);
	gda_multi_publish(v, (uint64_t)index, n, flags);
	return index;
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#include <gda/signal.h>

#endif /* GDA_MULTI_SLOT_H */
