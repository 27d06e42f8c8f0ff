/* SPDX-License-Identifier: MIT */
/*
 * The receiver's side of epochs (%GDA_GIN_EPOCHS): takes the immediates of peers, and adds what the
 * epochs say to the signals. Included by gda/gin.h; not to be called by programs.
 *
 * Every thread that reads or waits for a signal does so; one at a time for each peer. Nothing else
 * needs to: a sender that finds no room sends its signal fenced (gda/gin/epoch_send.h).
 */
#ifndef GDA_GIN_EPOCH_RECEIVE_H
#define GDA_GIN_EPOCH_RECEIVE_H

#include <gda/gin/epoch.h>
#include <gda/gin/post.h>
#include <gda/ring.h>

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

/**
 * struct gda_gin_epochs - epochs to and from a peer
 * @send: the sender's state, used between gda_gin_fence_begin() and gda_gin_fence_end()
 * @recv: the receiver's state, used while @receiving is held
 * @arrived: for each number, the address of the counter of the peer's writes
 * @ring: struct gda_cq_view of the peer's immediates
 * @notes: address of the peer's notes here
 * @told: address of the word here that tells the peer how many of its epochs were delivered
 * @read: address of 8 bytes here for a copy of the peer's such word
 * @notes_at: iova of the caller's notes at the peer
 * @told_at: iova of the peer's word for the caller's epochs
 * @read_at: iova of @read
 * @room: most epochs that are closed and not delivered
 * @receiving: 1 while a thread takes immediates
 *
 * Memory of the library, so it may grow.
 */
struct gda_gin_epochs {
	struct gda_epoch_sender send;
	struct gda_epoch_receiver recv;
	uint64_t arrived[2];
	uint64_t ring;
	uint64_t notes;
	uint64_t told;
	uint64_t read;
	uint64_t notes_at;
	uint64_t told_at;
	uint64_t read_at;
	uint32_t room;
	uint32_t receiving;
};

/* Are strong signals sent by epochs? In programs that speak no such dialect a constant. */
GDA_HELPER int gda_gin_by_epochs(const struct gda_gin *gin)
{
	return GDA_WQE_UNORDERED && gin->flags & GDA_GIN_EPOCHS;
}

GDA_HELPER struct gda_gin_epochs *gda_gin_epochs(const struct gda_gin_queue *q)
{
	return (struct gda_gin_epochs *)(uintptr_t)q->epochs;
}

/* Deliver the epochs of a peer that are complete; the caller holds gda_gin_epochs.receiving. */
GDA_SLOW void gda_gin_deliver_ready(const struct gda_gin *gin, struct gda_gin_epochs *e)
{
	const struct gda_epoch_note *notes = (const struct gda_epoch_note *)(uintptr_t)e->notes;
	struct gda_epoch_note note;

	for (;;) {
		uint64_t counter = e->arrived[gda_epoch_number(e->recv.epoch)];
		uint64_t arrived = gda_nic_load64((const uint64_t *)(uintptr_t)counter);

		if (!gda_epoch_deliver(&e->recv, arrived, notes, e->room, &note))
			return;
		/* behind the words of the senders */
		if (note.signal < gin->signals)
			gda_add64((uint64_t *)(uintptr_t)
				  *gda_gin_word64(gin->words, (uint32_t)note.signal) + gin->nranks,
				  note.add);
		/* pairs with the read by which the sender learns of room: the note was read */
		gda_nic_store64((uint64_t *)(uintptr_t)e->told, e->recv.epoch);
	}
}

GDA_SLOW void gda_gin_deliver_from(const struct gda_gin *gin, struct gda_gin_epochs *e)
{
	struct gda_cq_view *ring = (struct gda_cq_view *)(uintptr_t)e->ring;
	struct gda_cq_entry entry;

	while (!gda_cas32(&e->receiving, 0, 1))
		GDA_HERE(gda_yield(), gda_pause());
	entry.size = sizeof(entry);
	gda_gin_deliver_ready(gin, e);
	while (gda_cq_poll(ring, &entry)) {
		/* those of an epoch and of the next but one are in this order in the ring */
		if (entry.opcode == GDA_CQ_KIND_IMM)
			gda_epoch_closed(&e->recv, entry.imm);
		gda_gin_deliver_ready(gin, e);
	}
	gda_exchange32(&e->receiving, 0);
}

/* Add to the signals what peers have sent. */
GDA_SLOW void gda_gin_deliver(const struct gda_gin *gin)
{
	struct gda_gin_queue *q = (struct gda_gin_queue *)(uintptr_t)gin->queues;
	uint32_t i;

	for (i = 0; i < gin->nranks; i++, q++)
		if (q->view)
			gda_gin_deliver_from(gin, gda_gin_epochs(q));
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif /* GDA_GIN_EPOCH_RECEIVE_H */
