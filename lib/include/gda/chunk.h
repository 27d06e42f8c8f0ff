/* SPDX-License-Identifier: MIT */
/*
 * Transfers over several MRs. A range of a program's own addresses (a symmetric
 * heap, a large array) may be registered in pieces; a work request must not cross
 * from one MR into the next, on either side. gda_put_chunked() cuts a transfer
 * where a local or a remote piece ends.
 */
#ifndef GDA_CHUNK_H
#define GDA_CHUNK_H

#include <gda/fastpath.h>

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/**
 * define GDA_CHUNK_MAX - most bytes of one work request of a chunked transfer
 */
#define GDA_CHUNK_MAX	(1U << 30)

/**
 * struct gda_chunk - a range of addresses that is one MR
 * @addr: first address, in whatever addresses the program uses
 * @length: bytes, at least 1
 * @iova: address of the first byte in work requests
 * @key: key of the MR
 * @reserved: 0
 *
 * An element of an array, so it never grows.
 */
struct gda_chunk {
	uint64_t addr;
	uint64_t length;
	uint64_t iova;
	uint32_t key;
	uint32_t reserved;
};

/**
 * struct gda_chunk_map - the MRs behind a range of addresses
 * @size: sizeof(struct gda_chunk_map)
 * @count: number of chunks, at least 1
 * @chunks: array of struct gda_chunk by ascending address, without overlaps
 *
 * Plain data like struct gda_view: the pointer is valid where the poster runs.
 */
struct gda_chunk_map {
	uint32_t size;
	uint32_t count;
	uint64_t chunks;
};

/* The last chunk that begins at or below @addr, or the first one if none does. */
GDA_HELPER const struct gda_chunk *gda_chunk_find(const struct gda_chunk_map *map,
						  uint64_t addr)
{
	const struct gda_chunk *c = (const struct gda_chunk *)(uintptr_t)map->chunks;
	uint32_t count = map->count;

	if (!gda_unlikely(count > 1))
		return c;
	do {
		uint32_t half = count / 2;

		if (c[half].addr <= addr) {
			c += half;
			count -= half;
		} else {
			count = half;
		}
	} while (count > 1);
	return c;
}

/*
 * Translate @addr to an address in work requests. Return: how many of @len bytes follow in the same
 * MR; 0 if no MR contains @addr.
 */
GDA_HELPER uint64_t gda_chunk_span(const struct gda_chunk_map *map, uint64_t addr,
				   uint64_t len, uint64_t *iova, uint32_t *key)
{
	const struct gda_chunk *c = gda_chunk_find(map, addr);
	uint64_t off = addr - c->addr;

	if (off >= c->length)
		return 0;
	*iova = c->iova + off;
	*key = c->key;
	return len < c->length - off ? len : c->length - off;
}

/* Do the MRs of @map cover all of [@addr, @addr + @len)? */
GDA_HELPER int gda_chunk_covers(const struct gda_chunk_map *map, uint64_t addr,
				uint64_t len)
{
	uint64_t iova, span;
	uint32_t key;

	for (; len; addr += span, len -= span) {
		span = gda_chunk_span(map, addr, len, &iova, &key);
		if (!span)
			return 0;
	}
	return 1;
}

/**
 * struct gda_chunk_cut - a transfer that may cross MRs, cut into pieces that do not
 * @lmap: MRs of the local range
 * @rmap: MRs of the remote range
 * @laddr: local address behind the piece
 * @raddr: remote address behind the piece
 * @left: bytes behind the piece
 * @liova: local address of the piece in work requests
 * @riova: remote address of the piece in work requests
 * @lkey: key of the piece's local MR
 * @rkey: key of the piece's remote MR
 * @len: bytes of the piece
 * @reserved: 0
 */
struct gda_chunk_cut {
	const struct gda_chunk_map *lmap;
	const struct gda_chunk_map *rmap;
	uint64_t laddr;
	uint64_t raddr;
	uint64_t left;
	uint64_t liova;
	uint64_t riova;
	uint32_t lkey;
	uint32_t rkey;
	uint32_t len;
	uint32_t reserved;
};

GDA_HELPER struct gda_chunk_cut gda_chunk_begin(const struct gda_chunk_map *lmap,
						uint64_t laddr,
						const struct gda_chunk_map *rmap,
						uint64_t raddr, uint64_t len)
{
	struct gda_chunk_cut cut = { lmap, rmap, laddr, raddr, len, 0, 0, 0, 0, 0, 0 };

	return cut;
}

/* Cut off the next piece. Both ranges are covered by their maps. */
GDA_HELPER void gda_chunk_next(struct gda_chunk_cut *cut)
{
	uint64_t span = cut->left < GDA_CHUNK_MAX ? cut->left : GDA_CHUNK_MAX;

	span = gda_chunk_span(cut->lmap, cut->laddr, span, &cut->liova, &cut->lkey);
	span = gda_chunk_span(cut->rmap, cut->raddr, span, &cut->riova, &cut->rkey);
	cut->laddr += span;
	cut->raddr += span;
	cut->left -= span;
	cut->len = (uint32_t)span;
}

/*
 * The ticket of the last piece stands for all: so where tickets are done in any order each piece, of
 * @ticket, has to be done before the next one is posted.
 */
GDA_HELPER int gda_chunk_before(struct gda_view *v, int64_t ticket)
{
	return gda_view_unordered(v) && ticket >= 0 ? gda_wait(v, ticket, 0) : 0;
}

/**
 * gda_put_chunked - write a range that may cross MRs
 * @v: the queue
 * @lmap: MRs of the local range
 * @laddr: local address, as in @lmap
 * @rmap: MRs of the remote range
 * @raddr: remote address, as in @rmap
 * @len: bytes, any number
 * @flags: GDA_*; without %GDA_DEFER, one doorbell for all
 *
 * Posts as many puts as there are pieces; in a dialect without %GDA_CAN_ORDER it waits for all but
 * the last one. On -EAGAIN, -ETIMEDOUT and -ESHUTDOWN
 * some may have been posted; putting the whole range again is harmless.
 *
 * Return: the ticket of the last piece, done when all are; or a negative errno: those of gda_put(),
 * and -EFAULT: a part is in no MR, and nothing was posted. The library's function also returns
 * -EINVAL and -E2BIG for the size of a map, which the inline one does not check.
 */
GDA_SIZED_API int64_t gda_put_chunked(struct gda_view *v, const struct gda_chunk_map *lmap,
				      uint64_t laddr, const struct gda_chunk_map *rmap,
				      uint64_t raddr, uint64_t len, unsigned int flags)
{
	struct gda_chunk_cut cut = gda_chunk_begin(lmap, laddr, rmap, raddr, len);
	int64_t ticket = -1;
	int err;

	gda_check_flags(flags);
	if (!gda_chunk_covers(lmap, laddr, len) || !gda_chunk_covers(rmap, raddr, len))
		return -EFAULT;
	if (!len)
		return gda_post_nothing(v, flags);
	do {
		gda_chunk_next(&cut);
		err = gda_chunk_before(v, ticket);
		if (err)
			return err;
		ticket = gda_put(v, cut.liova, cut.lkey, cut.riova, cut.rkey, cut.len,
				 cut.left ? flags | GDA_DEFER : flags);
		/* the pieces behind it are after those reads, too */
		flags &= ~GDA_AFTER_READS;
	} while (ticket >= 0 && cut.left);
	return ticket;
}

/**
 * gda_qp_index - choose the QP that a connection uses among many
 * @pe: the peer
 * @id: the connection, any number
 * @per_pe: QPs per peer and device
 * @devices: number of devices that the QPs to a peer are spread over
 *
 * For an array with @per_pe * @devices QPs to each peer. Ids that differ by less than that number
 * use different QPs.
 *
 * Return: index into the array.
 */
GDA_API uint64_t gda_qp_index(uint32_t pe, uint32_t id, uint32_t per_pe, uint32_t devices)
{
	uint64_t per_peer = (uint64_t)per_pe * devices;

	return pe * per_peer + id % per_peer;
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif /* GDA_CHUNK_H */
