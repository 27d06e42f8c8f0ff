/* SPDX-License-Identifier: MIT */
/*
 * Work requests of posters, independent of the dialect, the flags of a post, and the queue that
 * holds the entries. A dialect encodes a work request (gda/wqe.h), and the executor decodes it into
 * an equivalent struct gda_work. Constants fold: a request that is made and posted in one place is
 * never stored as a struct gda_wr.
 *
 * Included by gda/wqe.h; programs call gda/fastpath.h.
 */
#ifndef GDA_WR_H
#define GDA_WR_H

#include <gda/barrier.h>
#include <gda/op.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * define GDA_EXCLUSIVE - one poster at a time, so no atomic operations
 */
#define GDA_EXCLUSIVE	(1U << 0)
/**
 * define GDA_DEFER - leave the doorbell to a later post or gda_flush()
 */
#define GDA_DEFER	(1U << 1)
/**
 * define GDA_NOWAIT - a full ring fails with EAGAIN at once, without a bounded wait
 */
#define GDA_NOWAIT	(1U << 2)
/**
 * define GDA_SYSTEM - on a GPU, the source is outside of the GPU's memory
 *
 * To be set unless the caller has released the source at system scope. A put releases whatever the
 * caller wrote, at the scope that the queue needs; this makes it system scope.
 */
#define GDA_SYSTEM	(1U << 3)

/**
 * define GDA_SOLICITED - the completion is a solicited one
 *
 * It signals a CQ that is armed with %GDA_CQ_ARM_SOLICITED: with gda_put_imm() the peer's CQ, with
 * other work the poster's own.
 */
#define GDA_SOLICITED	(1U << 4)

/**
 * define GDA_AFTER_READS - not before the gets and atomics that were posted earlier
 *
 * Nothing of this post happens before all gets and atomics that were posted to the queue earlier
 * are done: a put may overwrite what a get reads, or send on what it fetches. With %GDA_CAN_ORDER
 * the executor sees to it, and the post does not wait. In other dialects the post waits until all
 * that was posted earlier is done, successfully or not: with %GDA_NOWAIT it returns -EAGAIN
 * instead; else it waits for at most view->timeout_ns, and returns the error of that wait. Nothing
 * is posted then.
 *
 * A put of several pieces, or with a signal behind it, is after those reads as a whole. Calls that
 * post to a struct gda_view take this flag; those of the front ends and the posters of gda/gpu do
 * not.
 */
#define GDA_AFTER_READS	(1U << 5)

/* All flags of a post, and those that its entry has. */
#define GDA_POST_FLAGS	(GDA_EXCLUSIVE | GDA_DEFER | GDA_NOWAIT | GDA_SYSTEM | GDA_SOLICITED | \
			 GDA_AFTER_READS)
#define GDA_ENTRY_FLAGS	(GDA_SOLICITED | GDA_AFTER_READS)

/**
 * struct gda_sq - a send queue as its entries are written
 * @slots: the slots
 * @qpn_be: gda_view.qpn_be
 * @mask: number of slots - 1
 * @dialect: enum gda_dialect
 * @ah: gda_view.ah
 * @qkey: gda_view.qkey
 */
struct gda_sq {
	char *slots;
	uint64_t qpn_be;
	uint32_t mask;
	uint32_t dialect;
	uint64_t ah;
	uint64_t qkey;
};

/**
 * enum gda_wr_payload - the place of the bytes of a write
 * @GDA_WR_LOCAL: at gda_wr.laddr, in the MR of gda_wr.lkey
 * @GDA_WR_VALUE: the first bytes of gda_wr.swap_add, at most 8, in the order of memory
 * @GDA_WR_INLINE: at gda_wr.src, any memory of the poster, until the request is stored
 */
enum gda_wr_payload {
	GDA_WR_LOCAL,
	GDA_WR_VALUE,
	GDA_WR_INLINE,
};

/**
 * struct gda_wr - a work request
 * @op: enum gda_op
 * @payload: enum gda_wr_payload, of a write without immediate; else %GDA_WR_LOCAL
 * @len: bytes; of an atomic the width of its word, 4 or 8
 * @imm: of %GDA_OP_WRITE_IMM
 * @laddr: local address; of an atomic, of the old value
 * @raddr: remote address
 * @lkey: key of the local MR
 * @rkey: key of the remote MR
 * @swap_add: of atomics; those of 4 bytes have zeros above
 * @compare: likewise; of a masked fetch-add the last bit of each field
 * @swap_mask: of a masked compare-and-swap
 * @compare_mask: likewise
 * @src: of %GDA_WR_INLINE
 *
 * Numbers are in host byte order.
 */
struct gda_wr {
	uint32_t op;
	uint32_t payload;
	uint32_t len;
	uint32_t imm;
	uint64_t laddr;
	uint64_t raddr;
	uint32_t lkey;
	uint32_t rkey;
	uint64_t swap_add;
	uint64_t compare;
	uint64_t swap_mask;
	uint64_t compare_mask;
	const void *src;
};

GDA_HELPER struct gda_wr gda_wr_make(enum gda_op op, uint64_t laddr, uint32_t lkey, uint64_t raddr,
				     uint32_t rkey, uint32_t len)
{
	struct gda_wr r;

	r.op = op;
	r.payload = GDA_WR_LOCAL;
	r.len = len;
	r.imm = 0;
	r.laddr = laddr;
	r.raddr = raddr;
	r.lkey = lkey;
	r.rkey = rkey;
	r.swap_add = 0;
	r.compare = 0;
	r.swap_mask = 0;
	r.compare_mask = 0;
	r.src = 0;
	return r;
}

GDA_HELPER struct gda_wr gda_wr_nop(void)
{
	return gda_wr_make(GDA_OP_NOP, 0, 0, 0, 0, 0);
}

GDA_HELPER struct gda_wr gda_wr_put(uint64_t laddr, uint32_t lkey, uint64_t raddr, uint32_t rkey,
				    uint32_t len)
{
	return gda_wr_make(GDA_OP_WRITE, laddr, lkey, raddr, rkey, len);
}

GDA_HELPER struct gda_wr gda_wr_put_imm(uint64_t laddr, uint32_t lkey, uint64_t raddr,
					uint32_t rkey, uint32_t len, uint32_t imm)
{
	struct gda_wr r = gda_wr_make(GDA_OP_WRITE_IMM, laddr, lkey, raddr, rkey, len);

	r.imm = imm;
	return r;
}

GDA_HELPER struct gda_wr gda_wr_get(uint64_t laddr, uint32_t lkey, uint64_t raddr, uint32_t rkey,
				    uint32_t len)
{
	return gda_wr_make(GDA_OP_READ, laddr, lkey, raddr, rkey, len);
}

/* A write of @len bytes at @src, inline in the queue. */
GDA_HELPER struct gda_wr gda_wr_inline(uint64_t raddr, uint32_t rkey, const void *src, uint32_t len)
{
	struct gda_wr r = gda_wr_make(GDA_OP_WRITE, 0, 0, raddr, rkey, len);

	r.payload = GDA_WR_INLINE;
	r.src = src;
	return r;
}

/* A write of the first @len bytes of @value, 1 to 8, inline in the queue. */
GDA_HELPER struct gda_wr gda_wr_bytes(uint64_t raddr, uint32_t rkey, uint64_t value, uint32_t len)
{
	struct gda_wr r = gda_wr_make(GDA_OP_WRITE, 0, 0, raddr, rkey, len);

	r.payload = GDA_WR_VALUE;
	r.swap_add = value;
	return r;
}

GDA_HELPER struct gda_wr gda_wr_value(uint64_t raddr, uint32_t rkey, uint64_t value)
{
	return gda_wr_bytes(raddr, rkey, value, 8);
}

GDA_HELPER struct gda_wr gda_wr_fetch_add(uint64_t laddr, uint32_t lkey, uint64_t raddr,
					  uint32_t rkey, uint64_t add)
{
	struct gda_wr r = gda_wr_make(GDA_OP_FETCH_ADD, laddr, lkey, raddr, rkey, 8);

	r.swap_add = add;
	return r;
}

GDA_HELPER struct gda_wr gda_wr_compare_swap(uint64_t laddr, uint32_t lkey, uint64_t raddr,
					     uint32_t rkey, uint64_t compare, uint64_t swap)
{
	struct gda_wr r = gda_wr_make(GDA_OP_COMPARE_SWAP, laddr, lkey, raddr, rkey, 8);

	r.swap_add = swap;
	r.compare = compare;
	return r;
}

/* @width: of the word, 4 or 8. */
GDA_HELPER struct gda_wr gda_wr_masked_fetch_add(uint64_t laddr, uint32_t lkey, uint64_t raddr,
						 uint32_t rkey, uint64_t add, uint64_t boundary,
						 uint32_t width)
{
	struct gda_wr r = gda_wr_make(GDA_OP_MASKED_FETCH_ADD, laddr, lkey, raddr, rkey, width);

	r.swap_add = add;
	r.compare = boundary;
	return r;
}

/**
 * struct gda_wr_masks - the operands of a masked compare-swap
 * @compare: value to compare the word with
 * @compare_mask: bits that are compared
 * @swap: value to swap in
 * @swap_mask: bits that are swapped
 */
struct gda_wr_masks {
	uint64_t compare;
	uint64_t compare_mask;
	uint64_t swap;
	uint64_t swap_mask;
};

/* @width: of the word, 4 or 8. */
GDA_HELPER struct gda_wr gda_wr_masked_compare_swap(uint64_t laddr, uint32_t lkey, uint64_t raddr,
						    uint32_t rkey, struct gda_wr_masks m,
						    uint32_t width)
{
	struct gda_wr r = gda_wr_make(GDA_OP_MASKED_COMPARE_SWAP, laddr, lkey, raddr, rkey, width);

	r.swap_add = m.swap;
	r.compare = m.compare;
	r.swap_mask = m.swap_mask;
	r.compare_mask = m.compare_mask;
	return r;
}

#ifdef __cplusplus
}
#endif

#endif /* GDA_WR_H */
