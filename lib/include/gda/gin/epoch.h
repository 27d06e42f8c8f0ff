/* SPDX-License-Identifier: MIT */
/*
 * Epochs: a signal that reports all earlier writes, where writes arrive in any order, and which its
 * sender need not hold back until they have. This file has the arithmetic of both ends, on plain
 * memory; gda/gin/epoch_send.h and gda/gin/epoch_receive.h apply it to queues.
 *
 * A receiver has two *numbers* for each sender (two QPs), each with a counter of the writes that
 * arrived there. The writes of an epoch go to number epoch % 2. Its last one is the signal, and
 * *closes* it: its immediate tells how many writes the epoch has, with itself. The next epoch has
 * the other number. The receiver *delivers* an epoch, which makes the signal visible, when
 *
 * - all epochs before it were delivered,
 * - its closing write has arrived, and
 * - as many writes have arrived at its number as the epochs of that number have until then.
 *
 * Invariant: nothing of epoch e + 2 is posted before all of e is done at the sender, and so has
 * arrived. Otherwise a write of e + 2 might be counted in place of one of e. One number would not
 * do, however the writes are counted: after put, signal, put the second put may arrive in place of
 * the first.
 *
 * The 32 bits of an immediate:
 *
 *	31	the number
 *	30	0: *short*: add 1 to the signal in bits 29 to 16; bits 15 to 0 say how many writes
 *		the epoch has
 *		1: *long*: all that is in the struct gda_epoch_note that the closing write
 *		carried, at place epoch % room; bits 29 to 0 are 0
 *
 * So no count overflows: an epoch of more than 65535 writes ends with a long one.
 *
 * The receiver has *room* for so many closed epochs that were not delivered, in the ring of
 * immediates and in its notes. The sender closes no more: how many were delivered the receiver
 * writes to a word that the sender reads when it knows of no room.
 */
#ifndef GDA_GIN_EPOCH_H
#define GDA_GIN_EPOCH_H

#include <errno.h>
#include <stdint.h>
#include <gda/barrier.h>

#ifdef __cplusplus
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#endif

#define GDA_EPOCH_NUMBER	31
#define GDA_EPOCH_LONG		(1U << 30)
#define GDA_EPOCH_SIGNAL	16
#define GDA_EPOCH_SIGNALS	(1U << 14)
#define GDA_EPOCH_COUNT		0xffffU

/**
 * struct gda_epoch_note - what a closing write says
 * @add: added to the signal
 * @writes: of the epoch, with the closing one
 * @signal: number of the signal
 */
struct gda_epoch_note {
	uint64_t add;
	uint64_t writes;
	uint64_t signal;
};

/**
 * struct gda_epoch_sender - the epochs of a sender to one receiver
 * @epoch: the current one, counted from 0
 * @writes: how many were posted in it
 * @delivered: how many epochs the receiver had delivered when it was last read
 * @pending: 1 until all of epoch @epoch - 2 is known to be done; nothing may be posted meanwhile
 * @unused: 0
 *
 * All zeros at first. One thread at a time uses it.
 */
struct gda_epoch_sender {
	uint64_t epoch;
	uint64_t writes;
	uint64_t delivered;
	uint32_t pending;
	uint32_t unused;
};

/**
 * struct gda_epoch_receiver - the epochs of one sender at a receiver
 * @epoch: the next to be delivered
 * @arrived: for each number, the writes of its epochs that were delivered
 * @closing: for each number, the immediate of its oldest epoch that was closed and not delivered
 * @closed: for each number, is there such an epoch?
 *
 * All zeros at first. One thread at a time uses it.
 */
struct gda_epoch_receiver {
	uint64_t epoch;
	uint64_t arrived[2];
	uint32_t closing[2];
	uint32_t closed[2];
};

/* The number that an epoch's writes go to. */
GDA_HELPER uint32_t gda_epoch_number(uint64_t epoch)
{
	return (uint32_t)epoch & 1;
}

/* All that was posted to the current epoch's number is done: the epoch may begin. */
GDA_HELPER void gda_epoch_open(struct gda_epoch_sender *s)
{
	s->pending = 0;
}

/* A write was posted in the current epoch. */
GDA_HELPER void gda_epoch_wrote(struct gda_epoch_sender *s)
{
	s->writes++;
}

/* As far as the sender knows, has the receiver room for one more closed epoch? */
GDA_HELPER int gda_epoch_has_room(const struct gda_epoch_sender *s, uint32_t room)
{
	return s->epoch - s->delivered < room;
}

/*
 * Make the immediate of the next write, which is to close the epoch, and the note that it carries
 * if the immediate is long.
 */
GDA_HELPER uint32_t gda_epoch_imm(const struct gda_epoch_sender *s, uint32_t signal, uint64_t add,
				  struct gda_epoch_note *note)
{
	uint32_t number = gda_epoch_number(s->epoch) << GDA_EPOCH_NUMBER;

	note->add = add;
	note->writes = s->writes + 1;
	note->signal = signal;
	if (add != 1 || signal >= GDA_EPOCH_SIGNALS || note->writes > GDA_EPOCH_COUNT)
		return number | GDA_EPOCH_LONG;
	return number | signal << GDA_EPOCH_SIGNAL | (uint32_t)note->writes;
}

/* The closing write was posted: the next epoch is the current one. */
GDA_HELPER void gda_epoch_close(struct gda_epoch_sender *s)
{
	gda_store_relaxed64(&s->epoch, s->epoch + 1);
	s->writes = 0;
	s->pending = 1;
}

/*
 * A closing write has arrived, with @imm. Whatever can be delivered was delivered before. Return:
 * 0; -EPROTO the epoch before of this number was not delivered, which no sender here causes.
 */
GDA_HELPER int gda_epoch_closed(struct gda_epoch_receiver *r, uint32_t imm)
{
	uint32_t number = imm >> GDA_EPOCH_NUMBER;

	if (gda_unlikely(r->closed[number]))
		return -EPROTO;
	r->closing[number] = imm;
	r->closed[number] = 1;
	return 0;
}

/* Read what the closing write of the next epoch says; @notes has a place for @room of them. */
GDA_HELPER void gda_epoch_read(const struct gda_epoch_receiver *r,
			       const struct gda_epoch_note *notes, uint32_t room,
			       struct gda_epoch_note *note)
{
	uint32_t imm = r->closing[gda_epoch_number(r->epoch)];

	if (gda_unlikely(imm & GDA_EPOCH_LONG)) {
		*note = notes[r->epoch % room];
		return;
	}
	note->add = 1;
	note->writes = imm & GDA_EPOCH_COUNT;
	note->signal = imm >> GDA_EPOCH_SIGNAL & (GDA_EPOCH_SIGNALS - 1);
}

/*
 * Deliver the next epoch, if that is possible. @arrived: how many writes have arrived at its number
 * since the beginning. Return: 1 and what is to be added in @note, else 0.
 */
GDA_HELPER int gda_epoch_deliver(struct gda_epoch_receiver *r, uint64_t arrived,
				 const struct gda_epoch_note *notes, uint32_t room,
				 struct gda_epoch_note *note)
{
	uint32_t number = gda_epoch_number(r->epoch);

	if (!r->closed[number])
		return 0;
	gda_epoch_read(r, notes, room, note);
	if ((int64_t)(arrived - r->arrived[number] - note->writes) < 0)
		return 0;
	r->arrived[number] += note->writes;
	r->closed[number] = 0;
	r->epoch++;
	return 1;
}

#ifdef __cplusplus
#pragma GCC diagnostic pop
}
#endif

#endif /* GDA_GIN_EPOCH_H */
