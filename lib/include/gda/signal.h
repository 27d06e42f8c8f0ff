/* SPDX-License-Identifier: MIT */
/*
 * A put and a signal behind it: two entries with one reservation and one doorbell.
 * Included by gda/fastpath.h.
 *
 * The signal is a separate work request. If the dialect executes work in order it is executed after
 * the put and after everything posted to the queue before: it is a strong signal. In a dialect
 * without %GDA_CAN_ORDER the signal is fenced: it is posted when all before it is done.
 */
#ifndef GDA_SIGNAL_H
#define GDA_SIGNAL_H

#include <gda/fastpath.h>

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/**
 * enum gda_signal_op - the change that a signal makes to the peer's word
 * @GDA_SIGNAL_ADD: add gda_signal.value, modulo 2^64, by an atomic that fetches the old value
 * @GDA_SIGNAL_SET: store gda_signal.value, carried in the queue itself
 */
enum gda_signal_op {
	GDA_SIGNAL_ADD = 0,
	GDA_SIGNAL_SET = 1,
};

/**
 * struct gda_signal - the word that tells the peer of a put
 * @size: sizeof(struct gda_signal)
 * @op: enum gda_signal_op
 * @raddr: address of the word in the remote MR, as in its iova; a multiple of 8
 * @value: added or stored, in the poster's byte order
 * @laddr: %GDA_SIGNAL_ADD: local address of 8 bytes, where the word's old value is stored;
 *	%GDA_SIGNAL_SET: ignored
 * @rkey: key of the remote MR, with remote atomic for %GDA_SIGNAL_ADD, else remote write
 * @lkey: %GDA_SIGNAL_ADD: key of the local MR, with local write; %GDA_SIGNAL_SET: ignored
 *
 * Signals in flight may share the 8 bytes at @laddr if the old values are not needed.
 */
struct gda_signal {
	uint32_t size;
	uint32_t op;
	uint64_t raddr;
	uint64_t value;
	uint64_t laddr;
	uint32_t rkey;
	uint32_t lkey;
};

GDA_HELPER struct gda_wqe gda_wqe_signal(uint32_t dialect, const struct gda_signal *s)
{
	if (s->op == GDA_SIGNAL_SET)
		return gda_wqe_make(dialect, gda_wr_value(s->raddr, s->rkey, s->value));
	return gda_wqe_make(dialect, gda_wr_fetch_add(s->laddr, s->lkey, s->raddr, s->rkey,
						      s->value));
}

GDA_HELPER int64_t gda_put_signal_as(uint32_t dialect, struct gda_view *v,
				     const struct gda_wqe *put, const struct gda_wqe *then,
				     unsigned int flags)
{
	uint32_t n = put->slots + then->slots;
	uint64_t index;
	int err = gda_reserve(v, n, &flags, &index);

	if (err)
		return err;
	gda_wqe_store(gda_sq(v, dialect), index, put, flags & GDA_AFTER_READS);
	gda_wqe_store(gda_sq(v, dialect), index + put->slots, then, flags & GDA_SOLICITED);
	gda_publish(v, dialect, index, n, flags);
	return (int64_t)(index + put->slots);
}

/*
 * Post a put, wait until it and all before it are done, and post a store of the signal. Later work
 * to a peer arrives after what is done, so whoever sees the signal sees all that.
 */
GDA_SLOW int64_t gda_put_signal_fenced(uint32_t dialect, struct gda_view *v,
				       const struct gda_wqe *put, const struct gda_wqe *then,
				       unsigned int flags)
{
	int err = gda_post_begin(dialect, v, flags);
	int64_t ticket = err ? err : gda_post_as(dialect, v, put, flags & ~GDA_SOLICITED);

	if (ticket < 0)
		return ticket;
	err = gda_wait_through(v, ticket, 0);
	return err ? err : gda_post_as(dialect, v, then, flags);
}

GDA_SLOW int64_t gda_put_signal_other(struct gda_view *v, struct gda_wr r,
				      const struct gda_signal *signal, unsigned int flags)
{
	uint32_t dialect = gda_wqe_other(v->dialect);
	struct gda_wqe put = gda_wqe_make(dialect, r), then = gda_wqe_signal(dialect, signal);

	if (gda_wqe_too_long(dialect, r.len))
		return -EMSGSIZE;
	if (gda_cqe_unordered(dialect)) {
		if (signal->op != GDA_SIGNAL_SET)
			return -EOPNOTSUPP;
		return gda_put_signal_fenced(dialect, v, &put, &then, flags);
	}
	return gda_put_signal_as(dialect, v, &put, &then, flags);
}

/**
 * gda_put_signal - write local memory to remote memory, then change a word there
 * @v: the queue
 * @laddr: local address, as in the MR's iova
 * @lkey: key of the local MR
 * @raddr: remote address
 * @rkey: key of the remote MR
 * @len: bytes, less than 2^31; 0 moves nothing, and @raddr and @rkey are not checked
 * @signal: the word and its change; not used after the call
 * @flags: GDA_*; with %GDA_SOLICITED the signal's completion is a solicited one
 *
 * A load of the word with acquire order that sees the signal makes visible what the put wrote, and
 * what every earlier post to @v wrote. Additions to one word are atomic against one another and
 * against %GDA_SIGNAL_SET on soft0 and the in-process device; on a NIC an addition that races with
 * a store to the same word may undo the store, so do not mix the two there.
 *
 * It takes two slots. If the put fails the signal is not executed. In a dialect without
 * %GDA_CAN_ORDER the call posts the put, waits until it and all before it are done, for at most
 * view->timeout_ns, and then posts the signal; %GDA_SIGNAL_ADD is -EOPNOTSUPP. If that wait, or the
 * post of the signal, ends with an error the call returns it: the put was posted, and the signal was
 * not. So it does if any of the last %GDA_TICKETS_KNOWN requests failed.
 *
 * Any thread may call it; with %GDA_EXCLUSIVE the caller serializes all posts to the queue.
 *
 * Return: the ticket of the signal, done when both are; or a negative errno and nothing was posted:
 * those of gda_put(), -EINVAL gda_signal.op is neither; of the library's function alone, the size
 * of @signal is too small, -EMSGSIZE @len is too long, or the ring has less than 2 slots, -E2BIG of
 * the library's function alone: the size of @signal is too large. Bad addresses and keys are
 * reported when the ticket is waited for.
 */
GDA_SIZED_API int64_t gda_put_signal(struct gda_view *v, uint64_t laddr, uint32_t lkey,
				     uint64_t raddr, uint32_t rkey, uint64_t len,
				     const struct gda_signal *signal, unsigned int flags)
{
	struct gda_wqe put, then;
	struct gda_wr r;

	gda_check_flags(flags);
	if (gda_unlikely(gda_wqe_too_long(GDA_WQE_FIRST, len)))
		return -EMSGSIZE;
	if (gda_unlikely(signal->op > GDA_SIGNAL_SET))
		return -EINVAL;
	r = gda_wr_put(laddr, lkey, raddr, rkey, (uint32_t)len);
	put = gda_wqe_make(GDA_WQE_FIRST, r);
	then = gda_wqe_signal(GDA_WQE_FIRST, signal);
	if (!gda_wqe_is_first(v->dialect))
		return gda_put_signal_other(v, r, signal, flags);
	return gda_put_signal_as(GDA_WQE_FIRST, v, &put, &then, flags);
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif /* GDA_SIGNAL_H */
