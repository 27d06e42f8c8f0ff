/* SPDX-License-Identifier: MIT */
/*
 * The efa dialect, poster side: encodes work requests and doorbells, and reads completions, in the
 * byte format of gda/efa.h. gda/wqe.h includes this file if GDA_WQE_EFA is defined; the functions
 * have the names that gda/wqe.h needs of a dialect.
 *
 * Entries have 128 bytes, so that each has room for inline payload; unless that exceeds 16 bytes,
 * the second half is neither written nor read. A queue has its own completion ring, as deep as the
 * queue, and requests complete in any order. A ticket is the id of its request; the completion
 * returns 16 bits of it. Any thread that waits empties the ring (gda_efa_reap()) and updates
 *
 *	done		all tickets below are done
 *	marks		a bit for each of the 2^16 tickets from there on: done, too
 *	completed	slots below are free: the executor fetches entries in order, so that k
 *			completions of any tickets free k slots; but no ticket is issued
 *			that is 2^16 beyond one that is not done
 *
 * gda_view.reaper is a lock of the thread that empties the ring; no thread waits for the lock.
 */
#ifndef GDA_WQE_EFA_H
#define GDA_WQE_EFA_H

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <gda/barrier.h>
#include <gda/efa.h>
#include <gda/view.h>
#include <gda/wr.h>

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

#define GDA_EFA_WQE_NAME	"efa"
#define GDA_EFA_WQE_SLOT_BYTES	GDA_EFA_WIDE_BYTES
#define GDA_EFA_WQE_MAX_DEPTH	(GDA_EFA_MAX_DEPTH / 2)
#define GDA_EFA_WQE_WORD_SLOTS	1
#define GDA_EFA_WQE_CAN		GDA_CAN_SIGNAL
#define GDA_EFA_WQE_CQE_BYTES	(2 * GDA_EFA_CQE_BYTES)
#define GDA_EFA_WQE_CQE_QUEUE_ERROR ((uint32_t)GDA_EFA_QP_INTERNAL)
#define GDA_EFA_WQE_INLINE_SLOT	GDA_EFA_MAX_INLINE

/* Largest distance from the first ticket that is not done to the last one issued. */
#define GDA_EFA_WINDOW		0x10000U

/**
 * enum gda_efa_mark - the bitmaps of gda_view.marks
 * @GDA_EFA_DONE: tickets from gda_view.done on that are done
 * @GDA_EFA_FAILED: tickets that failed, of the last %GDA_EFA_WINDOW that were done
 * @GDA_EFA_UNDONE: tickets that were flushed, of the last %GDA_EFA_WINDOW that were done
 */
enum gda_efa_mark {
	GDA_EFA_DONE,
	GDA_EFA_FAILED,
	GDA_EFA_UNDONE,
};

/**
 * struct gda_efa_encoded - a work request without its index
 * @head: ctrl1 and length of the entry (gda/efa.h)
 * @seg: remote segment, and the local segment or inline payload of at most 16 bytes
 * @src: longer inline payload, or NULL
 * @imm: immediate
 * @len: bytes of inline payload
 */
struct gda_efa_encoded {
	uint64_t head;
	uint64_t seg[2][2];
	const void *src;
	uint32_t imm;
	uint32_t len;
};

GDA_HELPER uint64_t gda_efa_wire(uint64_t v)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return __builtin_bswap64(v);
#else
	return v;
#endif
}

GDA_HELPER char *gda_efa_slot(struct gda_sq sq, uint64_t index)
{
	return sq.slots + (uint64_t)((uint32_t)index & sq.mask) * GDA_EFA_WQE_SLOT_BYTES;
}

/* Return: whether the dialect has the operation. */
GDA_HELPER int gda_efa_wqe_has(uint32_t op)
{
	return op == GDA_OP_WRITE || op == GDA_OP_READ || op == GDA_OP_WRITE_IMM;
}

/* Return: how many slots the request fills. */
GDA_HELPER uint32_t gda_efa_wqe_encode(struct gda_efa_encoded *w, const struct gda_wr *r)
{
	uint64_t ctrl1 = r->op == GDA_OP_READ ? GDA_EFA_READ : GDA_EFA_WRITE;

	if (r->op == GDA_OP_WRITE_IMM)
		ctrl1 |= GDA_EFA_HAS_IMM;
	w->imm = r->op == GDA_OP_WRITE_IMM ? r->imm : 0;
	w->seg[0][0] = r->len | (uint64_t)r->rkey << 32;
	w->seg[0][1] = r->raddr;
	w->src = 0;
	w->len = 0;
	if (r->payload == GDA_WR_LOCAL) {
		w->head = (ctrl1 | GDA_EFA_META) << 16 | 1ULL << 48;
		w->seg[1][0] = r->len | (uint64_t)(r->lkey >> GDA_EFA_LKEY_SHIFT) << 32;
		w->seg[1][1] = r->laddr;
		return 1;
	}
	w->head = (ctrl1 | GDA_EFA_META | GDA_EFA_INLINE) << 16 | (uint64_t)r->len << 48;
	w->seg[1][0] = r->payload == GDA_WR_VALUE ? r->swap_add : 0;
	w->seg[1][1] = 0;
	if (r->payload == GDA_WR_INLINE) {
		w->src = r->src;
		w->len = r->len;
	}
	return 1;
}

GDA_HELPER uint64_t gda_efa_wqe_early(const struct gda_efa_encoded *w, int second)
{
	return second ? w->seg[1][1] : w->seg[0][1];
}

GDA_HELPER void gda_efa_store_inline(char *to, const struct gda_efa_encoded *w)
{
	uint32_t i, len = w->len < GDA_EFA_MAX_INLINE ? w->len : GDA_EFA_MAX_INLINE;
	uint64_t data[GDA_EFA_MAX_INLINE / 8] = { 0 };

	if (len)
		memcpy(data, w->src, len);
	for (i = 0; i < GDA_EFA_MAX_INLINE / 8; i += 2)
		gda_store_segment(to + 8 * i, data[i], data[i + 1]);
}

/* Store the entry; sq.qpn_be, ah and qkey name its target. */
GDA_HELPER void gda_efa_wqe_store_if(const struct gda_efa_encoded *w, uint32_t on, struct gda_sq sq,
				     uint64_t index, unsigned int flags)
{
	uint64_t phase = index & ((uint64_t)sq.mask + 1) ? GDA_EFA_PHASE : 0;
	uint64_t ctrl2 = phase | GDA_EFA_FIRST | GDA_EFA_LAST | GDA_EFA_COMPLETE;
	char *e = gda_efa_slot(sq, index);

	(void)flags;
	gda_store_segment_if(on, e, gda_efa_wire((index & 0xffff) | w->head | ctrl2 << 24 |
						 sq.qpn_be),
			     gda_efa_wire(w->imm | sq.ah));
	gda_store_segment_if(on, e + 16, gda_efa_wire(sq.qkey), 0);
	gda_store_segment_if(on, e + 32, gda_efa_wire(w->seg[0][0]), gda_efa_wire(w->seg[0][1]));
	if (on && w->src)
		gda_efa_store_inline(e + 48, w);
	else if (w->head >> 16 & GDA_EFA_INLINE)
		/* store payload bytes unconverted */
		gda_store_segment_if(on, e + 48, w->seg[1][0], w->seg[1][1]);
	else
		gda_store_segment_if(on, e + 48, gda_efa_wire(w->seg[1][0]),
				     gda_efa_wire(w->seg[1][1]));
}

GDA_HELPER int gda_efa_wqe_too_long(uint64_t len)
{
	return len > GDA_EFA_MAX_MSG;
}

GDA_HELPER uint32_t gda_efa_wqe_max_inline(uint32_t depth)
{
	(void)depth;
	return GDA_EFA_MAX_INLINE;
}

GDA_HELPER void gda_efa_wqe_read_remote(const char *entry, uint64_t *raddr, uint32_t *rkey)
{
	uint64_t seg[2];

	memcpy(seg, entry + 32, sizeof(seg));
	*rkey = (uint32_t)(gda_efa_wire(seg[0]) >> 32);
	*raddr = gda_efa_wire(seg[1]);
}

/* Doorbells do not carry a QP number, and no target is set yet. */
GDA_HELPER uint64_t gda_efa_db_qpn(uint32_t qpn)
{
	(void)qpn;
	return 0;
}

/* No device reads the record; posters keep in it how far they rang. */
GDA_HELPER uint32_t gda_efa_db_record(uint64_t next)
{
	return (uint32_t)next;
}

GDA_HELPER uint64_t gda_efa_db_value(uint64_t qpn_be, uint32_t record)
{
	(void)qpn_be;
	/* the index is in the first bytes, whatever the width of the store */
	return (GDA_UAPI_FORCE uint32_t)gda_efa_le32(record);
}

GDA_HELPER uint64_t gda_efa_db_rung(uint64_t index, uint32_t record)
{
	return index - ((uint32_t)index - record);
}

/* --- completions --- */

/* Return: the word of a bitmap that has the bit of @ticket. */
GDA_HELPER uint64_t *gda_efa_word_of(const struct gda_view *v, enum gda_efa_mark mark,
				     uint64_t ticket)
{
	return (uint64_t *)(uintptr_t)v->marks + (uint32_t)mark * (GDA_EFA_WINDOW / 64) +
	       (ticket & (GDA_EFA_WINDOW - 1)) / 64;
}

GDA_HELPER int gda_efa_marked(const struct gda_view *v, enum gda_efa_mark mark, uint64_t ticket)
{
	return gda_load_acquire64(gda_efa_word_of(v, mark, ticket)) >> (ticket & 63) & 1;
}

/* Called by the holder of gda_view.reaper. The bit is released after what the request moved. */
GDA_HELPER void gda_efa_set_mark(const struct gda_view *v, enum gda_efa_mark mark, uint64_t ticket,
				 int on)
{
	uint64_t *word = gda_efa_word_of(v, mark, ticket), bit = 1ULL << (ticket & 63);

	gda_store_release64(word, on ? *word | bit : *word & ~bit);
}

/* Called if a request failed, and for all later ones, which may have an older ticket's bits. */
GDA_SLOW void gda_efa_outcome(struct gda_view *v, uint64_t ticket, uint32_t status)
{
	gda_efa_set_mark(v, GDA_EFA_FAILED, ticket, status != GDA_EFA_OK);
	gda_efa_set_mark(v, GDA_EFA_UNDONE, ticket, status == GDA_EFA_FLUSHED);
	if (status == GDA_EFA_OK)
		return;
	if (ticket >= v->failed)
		gda_store_relaxed64(&v->failed, ticket + 1);
	if (gda_load_relaxed64(&v->error_index) != GDA_NO_ERROR)
		return;
	gda_store_relaxed64(&v->error, status);
	gda_store_release64(&v->error_index, ticket);
}

/* Return: the first word of ring entry @index. */
GDA_HELPER uint64_t gda_efa_entry(const struct gda_view *v, uint64_t index)
{
	return gda_efa_wire(gda_nic_load64((const uint64_t *)(uintptr_t)
		(v->cq + ((uint32_t)index & v->mask) * GDA_EFA_WQE_CQE_BYTES)));
}

GDA_HELPER int gda_efa_entry_is_new(uint64_t word, uint64_t index, uint32_t mask)
{
	return (word >> 24 & GDA_EFA_CQE_PHASE) == !(index & ((uint64_t)mask + 1));
}

/* Empty the ring; the caller holds gda_view.reaper. */
GDA_HELPER void gda_efa_take(struct gda_view *v)
{
	uint64_t taken = v->taken, done = v->done, free, word;
	uint32_t ahead = v->ahead;

	while (gda_efa_entry_is_new(word = gda_efa_entry(v, taken), taken, v->mask)) {
		uint64_t ticket = done + (uint16_t)(word - done);

		taken++;
		if (gda_unlikely((word >> 16 & 0xff) ||
				 gda_load_relaxed64(&v->error_index) != GDA_NO_ERROR))
			gda_efa_outcome(v, ticket, (uint32_t)(word >> 16 & 0xff));
		if (gda_unlikely(ticket != done)) {
			gda_efa_set_mark(v, GDA_EFA_DONE, ticket, 1);
			ahead++;
			continue;
		}
		done++;
		for (; ahead && gda_efa_marked(v, GDA_EFA_DONE, done); ahead--, done++) {
			/* a thread that finds the bit cleared also finds the ticket below ->done */
			gda_store_release64(&v->done, done + 1);
			gda_efa_set_mark(v, GDA_EFA_DONE, done, 0);
		}
	}
	v->ahead = ahead;
	gda_store_relaxed64(&v->taken, taken);
	gda_store_release64(&v->done, done);
	free = done + GDA_EFA_WINDOW - 1 - v->mask;
	gda_store_release64(&v->completed, taken < free ? taken : free);
}

#ifdef __CUDACC__
extern "C++" {
#include <gda/gpu/reap_efa.h>
}
#endif

GDA_HELPER uint64_t gda_efa_reap_cpu(struct gda_view *v)
{
	uint64_t taken = gda_load_relaxed64(&v->taken);

	if (gda_efa_entry_is_new(gda_efa_entry(v, taken), taken, v->mask) &&
	    gda_cas32(&v->reaper, 0, 1)) {
		gda_efa_take(v);
		gda_exchange32(&v->reaper, 0);
	}
	return gda_load_acquire64(&v->completed);
}

/* Empty the ring unless another thread does. Return: gda_view.completed. */
GDA_HELPER uint64_t gda_efa_reap(struct gda_view *v)
{
	return GDA_HERE(gda_efa_reap_cpu(v), gda_efa_reap_gpu(v));
}

GDA_HELPER int gda_efa_cqe_done(const struct gda_view *v, uint64_t completed, uint64_t index)
{
	(void)completed;
	return index < gda_load_acquire64(&v->done) ||
	       (index < gda_load_relaxed64(&v->reserved) && gda_efa_marked(v, GDA_EFA_DONE, index));
}

/* The same for a ticket that was posted, where gda_view.reserved is not kept up to date. */
GDA_HELPER int gda_efa_cqe_passed(const struct gda_view *v, uint64_t index)
{
	return index < gda_load_acquire64(&v->done) || gda_efa_marked(v, GDA_EFA_DONE, index);
}

/* Return: 1, or the error of a ticket that is done. */
GDA_HELPER int gda_efa_cqe_outcome(const struct gda_view *v, uint64_t index)
{
	if (gda_load_acquire64(&v->error_index) == GDA_NO_ERROR ||
	    index + GDA_EFA_WINDOW < gda_load_relaxed64(&v->reserved) ||
	    !gda_efa_marked(v, GDA_EFA_FAILED, index))
		return 1;
	return gda_efa_marked(v, GDA_EFA_UNDONE, index) ? -ECANCELED : -EIO;
}

/* Return: the oldest ticket that failed or is not known to be done. Nothing reaps meanwhile. */
GDA_SLOW uint64_t gda_efa_cqe_first(const struct gda_view *v)
{
	uint64_t ticket = v->done > GDA_EFA_WINDOW ? v->done - GDA_EFA_WINDOW : 0;

	while (ticket < v->done && gda_efa_cqe_outcome(v, ticket) > 0)
		ticket++;
	return ticket;
}

GDA_HELPER const uint32_t *gda_efa_cqe_last(uint64_t cqe)
{
	return (const uint32_t *)(uintptr_t)cqe;
}

/* Return: flags of an entry, whose first word is @last, as stored. */
GDA_HELPER uint32_t gda_efa_cqe_flags(uint32_t last)
{
	return (GDA_UAPI_FORCE uint32_t)gda_efa_le32(last) >> 24;
}

GDA_HELPER uint32_t gda_efa_cqe_status(uint32_t last)
{
	return (GDA_UAPI_FORCE uint32_t)gda_efa_le32(last) >> 16 & 0xff;
}

GDA_HELPER int gda_efa_cqe_is_imm(uint32_t last)
{
	return (gda_efa_cqe_flags(last) & GDA_EFA_CQE_RECEIVED) != 0;
}

GDA_HELPER int gda_efa_cqe_is_error(uint32_t last)
{
	return gda_efa_cqe_status(last) != GDA_EFA_OK;
}

GDA_HELPER int gda_efa_cqe_is_done(uint32_t last)
{
	return !gda_efa_cqe_is_imm(last) && !gda_efa_cqe_is_error(last);
}

GDA_HELPER int gda_efa_cqe_is_preset(uint32_t last)
{
	return !(gda_efa_cqe_flags(last) & GDA_EFA_CQE_PHASE);
}

GDA_HELPER int gda_efa_cqe_is_new(uint32_t last, uint64_t index, uint32_t mask)
{
	return (gda_efa_cqe_flags(last) & GDA_EFA_CQE_PHASE) == !(index & ((uint64_t)mask + 1));
}

GDA_HELPER uint32_t gda_efa_cqe_qpn(const char *cqe)
{
	return (uint32_t)(gda_efa_wire(gda_nic_load64((const uint64_t *)(const void *)cqe)) >> 32) &
	       0xffff;
}

/* Convert an entry to the kinds of gda/view.h, which programs see. */
GDA_HELPER void gda_efa_cqe_read(const char *cqe, uint32_t last, struct gda_cq_entry *entry)
{
	struct gda_efa_recv_cqe e;

	memcpy(&e, cqe, sizeof(e));
	memset((char *)entry + sizeof(entry->size), 0, sizeof(*entry) - sizeof(entry->size));
	entry->qpn = gda_efa_cqe_qpn(cqe);
	entry->syndrome = gda_efa_cqe_status(last);
	if (gda_efa_cqe_is_imm(last)) {
		entry->opcode = GDA_CQ_KIND_IMM;
		entry->imm = (GDA_UAPI_FORCE uint32_t)gda_efa_le32((GDA_UAPI_FORCE uint32_t)e.imm);
		entry->bytes = (GDA_UAPI_FORCE uint16_t)gda_efa_le16((GDA_UAPI_FORCE uint16_t)e.length) |
			       (uint32_t)(GDA_UAPI_FORCE uint16_t)
				       gda_efa_le16((GDA_UAPI_FORCE uint16_t)e.length_hi) << 16;
		return;
	}
	entry->opcode = entry->syndrome ? GDA_CQ_KIND_ERROR : GDA_CQ_KIND_DONE;
	entry->wr_opcode = gda_efa_cqe_flags(last) >> GDA_EFA_CQE_OP_SHIFT & 7;
	entry->counter = (GDA_UAPI_FORCE uint32_t)gda_efa_le32(last) & 0xffff;
}

/* There is no record for the consumer index. */
GDA_HELPER uint32_t gda_efa_cqe_record(uint64_t next)
{
	return (uint32_t)next;
}

GDA_HELPER void gda_efa_cqe_write_error(void *cqe, uint8_t cause)
{
	struct gda_efa_cqe e;

	(void)cause;
	memset(&e, 0, sizeof(e));
	e.status = GDA_EFA_QP_INTERNAL;
	e.flags = GDA_EFA_CQE_PHASE | GDA_EFA_CQE_SENT;
	memcpy(cqe, &e, sizeof(e));
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif /* GDA_WQE_EFA_H */
