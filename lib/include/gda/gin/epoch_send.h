/* SPDX-License-Identifier: MIT */
/*
 * The sender's side of epochs (%GDA_GIN_EPOCHS): each write to a peer belongs to an epoch, and a
 * signal closes it. Included by gda/gin.h; not to be called by programs.
 *
 * Endpoint 0 and 1 of a peer are the two numbers (gda/gin/epoch.h). gda_gin_queue.sending of
 * endpoint 0 is held from the choice of the number until the write is posted and counted. Then a
 * signal waits for nothing, and the first write behind it for the epoch before the one that it
 * closed.
 *
 * If the peer has not delivered gda_gin_epochs.room epochs, a signal is *fenced* instead: it waits
 * until all that was posted is done, and stores to a word (gda/gin/fenced.h). That store is a write
 * of the current epoch, which goes on. Barriers are such stores, too.
 */
#ifndef GDA_GIN_EPOCH_SEND_H
#define GDA_GIN_EPOCH_SEND_H

#include <gda/gin/fenced.h>

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/* The queue of the current epoch. */
GDA_HELPER struct gda_gin_queue *gda_gin_epoch_queue(const struct gda_gin *gin,
						     struct gda_gin_queue *q)
{
	uint64_t epoch = gda_load_relaxed64(&gda_gin_epochs(q)->send.epoch);

	return q + (uint64_t)gda_epoch_number(epoch) * gin->nranks;
}

/*
 * Wait until the epoch that had the current number last is done, so that the current one may be
 * posted to. Return: 0; -EAGAIN with %GDA_NOWAIT, or the error of the wait.
 */
GDA_SLOW int gda_gin_epoch_await(struct gda_gin_epochs *e, struct gda_gin_queue *q,
				 unsigned int flags)
{
	struct gda_view *v = gda_gin_view(q);
	int err = 0;

	if (flags & GDA_NOWAIT && gda_handed_out(v))
		err = gda_test_through(v, gda_gin_last(q)) ? 0 : -EAGAIN;
	if (!err)
		err = gda_quiet(v, 0);
	if (!err)
		gda_epoch_open(&e->send);
	return err;
}

/* A verb that writes to the peer ends; @q is the queue of endpoint 0. */
GDA_HELPER void gda_gin_epoch_end(struct gda_gin_queue *q, unsigned int flags)
{
	if (!(flags & GDA_EXCLUSIVE))
		gda_gin_fence_end(q);
}

/* Begin a verb that writes to the peer: nothing else posts writes to it until it ends. */
GDA_HELPER int gda_gin_epoch_begin(const struct gda_gin *gin, struct gda_gin_queue *q,
				   unsigned int flags)
{
	struct gda_gin_epochs *e = gda_gin_epochs(q);
	int err = 0;

	if (!(flags & GDA_EXCLUSIVE) && gda_unlikely(!gda_cas32(&q->sending, 0, 1)))
		err = gda_gin_fence_begin(q, 0);
	if (gda_unlikely(err))
		return err;
	if (e->send.pending)
		err = gda_gin_epoch_await(e, gda_gin_epoch_queue(gin, q), flags);
	if (gda_unlikely(err))
		gda_gin_epoch_end(q, flags);
	return err;
}

/* Post a write of the current epoch to its queue @q; @wr as of gda_gin_post_request(). */
GDA_HELPER int gda_gin_epoch_write(const struct gda_gin *gin, struct gda_gin_epochs *e,
				   struct gda_gin_queue *q, struct gda_wr r,
				   const struct gda_gin_wr *wr, unsigned int flags)
{
	int64_t ticket = gda_gin_post_request(gin, gda_gin_port_other(q), r, wr, flags);

	if (gda_unlikely(ticket < 0))
		return (int)ticket;
	gda_epoch_wrote(&e->send);
	return 0;
}

/*
 * Ask the peer how many epochs it has delivered. Return: whether it has room for one more closed
 * epoch, or the error of asking it.
 */
GDA_SLOW int gda_gin_epoch_ask(struct gda_gin_epochs *e, struct gda_gin_queue *q,
			       unsigned int flags)
{
	struct gda_view *v = gda_gin_view(q);
	int64_t ticket = gda_get(v, e->read_at, q->lkey, e->told_at, q->rkey, 8,
				 flags & GDA_EXCLUSIVE);
	int err = gda_wait(v, ticket, 0);

	if (err)
		return err;
	e->send.delivered = gda_nic_load64((const uint64_t *)(uintptr_t)e->read);
	return gda_epoch_has_room(&e->send, e->room);
}

/* Close the epoch by a write that carries a note. */
GDA_SLOW int gda_gin_epoch_close_long(const struct gda_gin *gin, struct gda_gin_epochs *e,
				      struct gda_gin_queue *q, const struct gda_gin_how *how)
{
	uint64_t add = how->flags & GDA_GIN_ADD ? how->add : 1;
	struct gda_epoch_note note;
	uint32_t imm = gda_epoch_imm(&e->send, how->signal, add, &note);
	uint64_t at = e->notes_at + e->send.epoch % e->room * sizeof(note);
	struct gda_wr r = gda_wr_inline(at, q->rkey, &note, sizeof(note));
	int err;

	r.op = GDA_OP_WRITE_IMM;
	r.imm = imm;
	err = gda_gin_epoch_write(gin, e, q, r, 0, how->flags & GDA_POST_FLAGS & ~GDA_DEFER);
	if (!err)
		gda_epoch_close(&e->send);
	return err;
}

/*
 * Post @last, the last write of a verb, and close the epoch: by that write if the immediate has
 * room for all, else by one more. Later writes have another queue, so the doorbell is rung.
 */
GDA_HELPER int gda_gin_epoch_finish(const struct gda_gin *gin, struct gda_gin_epochs *e,
				    struct gda_gin_queue *q, struct gda_wr last,
				    const struct gda_gin_wr *wr, const struct gda_gin_how *how)
{
	uint64_t add = how->flags & GDA_GIN_ADD ? how->add : 1;
	unsigned int flags = how->flags & GDA_POST_FLAGS & ~GDA_DEFER;
	struct gda_epoch_note note;
	uint32_t imm = gda_epoch_imm(&e->send, how->signal, add, &note);
	int err;

	if (gda_unlikely(imm & GDA_EPOCH_LONG)) {
		err = last.len || wr ? gda_gin_epoch_write(gin, e, q, last, wr, flags) : 0;
		return err ? err : gda_gin_epoch_close_long(gin, e, q, how);
	}
	last.op = GDA_OP_WRITE_IMM;
	last.imm = imm;
	err = gda_gin_epoch_write(gin, e, q, last, wr, flags);
	if (!err)
		gda_epoch_close(&e->send);
	return err;
}

/*
 * Add to signal or barrier @index of the peer, whose queue of endpoint 0 is @q, behind all that was
 * posted to it: wait for that, and store the sum.
 */
GDA_SLOW int gda_gin_epoch_fence(const struct gda_gin *gin, struct gda_gin_queue *q, uint32_t index,
				 uint64_t add, unsigned int flags, uint64_t deadline)
{
	uint64_t *sum = gda_gin_word64(q->sent, index);
	struct gda_gin_epochs *e = gda_gin_epochs(q);
	struct gda_wr r;
	int err = gda_quiet(gda_gin_view(q), deadline);

	if (!err)
		err = gda_quiet(gda_gin_view(q + gin->nranks), deadline);
	if (err)
		return err;
	gda_epoch_open(&e->send);
	r = gda_wr_value(q->signals + 8 * gda_gin_word_of(gin, index, gin->rank), q->rkey,
			 *sum + add);
	err = gda_gin_epoch_write(gin, e, gda_gin_epoch_queue(gin, q), r, 0, flags);
	*sum += err ? 0 : add;
	return err;
}

/* Post the last write of a verb, and its signal. The caller alone posts to the peer. */
GDA_HELPER int gda_gin_epoch_last(const struct gda_gin *gin, struct gda_gin_queue *q,
				  struct gda_wr last, const struct gda_gin_wr *wr,
				  const struct gda_gin_how *how)
{
	struct gda_gin_queue *to = gda_gin_epoch_queue(gin, q);
	unsigned int flags = how->flags & GDA_POST_FLAGS;
	struct gda_gin_epochs *e = gda_gin_epochs(q);
	int room = 1, err = 0;

	if (how->flags & GDA_GIN_SIGNAL) {
		if (gda_unlikely(!gda_epoch_has_room(&e->send, e->room)))
			room = gda_gin_epoch_ask(e, to, flags);
		if (gda_unlikely(room < 0))
			return room;
		if (room)
			return gda_gin_epoch_finish(gin, e, to, last, wr, how);
	}
	if (last.len || wr)
		err = gda_gin_epoch_write(gin, e, to, last, wr, flags);
	if (err || room)
		return err;
	return gda_gin_epoch_fence(gin, q, how->signal, how->flags & GDA_GIN_ADD ? how->add : 1,
				   flags, 0);
}

/* A verb of one write: a value, or a signal without data. */
GDA_SLOW int gda_gin_epoch_one(const struct gda_gin *gin, struct gda_gin_queue *q,
			       const struct gda_wr *r, const struct gda_gin_how *how)
{
	int err = gda_gin_epoch_begin(gin, q, how->flags);

	if (err)
		return err;
	err = gda_gin_epoch_last(gin, q, *r, 0, how);
	gda_gin_epoch_end(q, how->flags);
	return err;
}

/* Post the pieces of a put; each is a write of the epoch. */
GDA_SLOW int gda_gin_epoch_pieces(const struct gda_gin *gin, uint32_t peer, struct gda_gin_queue *q,
				  struct gda_gin_transfer *t, const struct gda_gin_how *how)
{
	unsigned int flags = (how->flags & GDA_POST_FLAGS) | GDA_DEFER;
	struct gda_gin_wr wr = { 0, 0, 0, 0, 0, 0 };
	struct gda_wr r;
	int err;

	for (;;) {
		gda_gin_piece(gin->rank, peer, t, &wr);
		r = gda_gin_wr_of(&wr, 0);
		if (!t->bytes)
			break;
		err = gda_gin_epoch_write(gin, gda_gin_epochs(q), gda_gin_epoch_queue(gin, q), r,
					  0, flags);
		if (err)
			return err;
	}
	wr.count = t->count;
	return gda_gin_epoch_last(gin, q, r, &wr, how);
}

GDA_SLOW int gda_gin_epoch_put(const struct gda_gin *gin, struct gda_gin_queue *q, uint32_t peer,
			       const struct gda_gin_transfer *t, const struct gda_gin_how *how)
{
	struct gda_gin_transfer left = *t;
	struct gda_gin_wr wr = { 0, 0, 0, 0, 0, 0 };
	int err, several = gda_gin_whole(peer, t, &wr);

	if (several < 0)
		return several;
	err = gda_gin_epoch_begin(gin, q, how->flags);
	if (err)
		return err;
	if (several)
		err = gda_gin_epoch_pieces(gin, peer, q, &left, how);
	else
		err = gda_gin_epoch_last(gin, q, gda_gin_wr_of(&wr, 0), &wr, how);
	gda_gin_epoch_end(q, how->flags);
	return err;
}

/* Tell the peer that the caller has arrived at barrier @index, behind all that it put there. */
GDA_SLOW int gda_gin_epoch_barrier(const struct gda_gin *gin, struct gda_gin_queue *q,
				   uint32_t index, unsigned int flags, uint64_t deadline)
{
	int err = flags & GDA_EXCLUSIVE ? 0 : gda_gin_fence_begin(q, deadline);

	if (err)
		return err;
	err = gda_gin_epoch_fence(gin, q, gin->signals + index, 1, flags, deadline);
	gda_gin_epoch_end(q, flags);
	return err;
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif /* GDA_GIN_EPOCH_SEND_H */
