/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Work in flight: for executors that hand work to a device, or to another thread, and learn its
 * outcome later.
 *
 * A flight belongs to one send queue. The engine reads and decodes the queue, and writes
 * completions; the executor takes the next work request, begins it, reports each outcome when it
 * comes, and has outcomes retired:
 *
 *	visit:	for each outcome that has come
 *			gda_flight_done(f, ticket, status);
 *		while (room in the device && (work = gda_flight_next(f)))
 *			begin it, with ticket = gda_flight_begin(f);
 *		return begun + gda_flight_retire(f, wqes);
 *
 * - Tickets count the work requests of a queue, from 0, with 64 bits: none comes up twice. An
 *   executor that keeps something for each work request uses ticket % size as its place.
 * - Outcomes leave in the order of tickets, whatever the order in which they are reported, or
 *   as they are reported if the dialect says so (gda_dialect_ops.unordered). The consumer
 *   index that a query shows moves only with them.
 * - The first error that leaves is the queue's first error, if an error ends a queue in its
 *   dialect. All that was begun after it is flushed when it leaves, whatever its own outcome was,
 *   and so is all that was posted and never begun.
 * - When the queue is to fail for another reason (the host asks, the doorbell is illegal, the
 *   CQ has overflowed) or an error was reported, nothing new is begun. Work in flight keeps its
 *   own outcome, and is waited for: it may still move bytes. An executor that cannot wait makes
 *   sure that nothing moves any more, and then calls gda_flight_abandon().
 *
 * All calls for a flight come from one thread at a time, the one that visits the queue, during the
 * visit. None of them waits, takes a lock of its own or allocates.
 */
#ifndef GDA_FLIGHT_API_H
#define GDA_FLIGHT_API_H

#include <gda/work.h>

struct gda_flight;

/**
 * gda_flight_next - look at the work request that is next
 * @f: the flight
 *
 * Takes new doorbells, and decodes. An entry that is malformed gets its outcome here, in its
 * turn, and is not returned.
 *
 * Return: a private copy, checked as far as the dialect goes: keys, rights and ranges are not. It
 * stays until gda_flight_begin(), and until then the next call returns it again. NULL if there is
 * nothing to begin: nothing is posted, there is no room for another ticket, the queue is not ready,
 * or it has stopped (gda_flight_stopped()).
 */
const struct gda_work *gda_flight_next(struct gda_flight *f);

/**
 * gda_flight_begin - begin the work request that gda_flight_next() returned
 * @f: the flight
 *
 * Also called for a request that the executor refuses: its outcome is then reported at once, and
 * leaves in its turn. The copy is not to be used after the next gda_flight_next().
 *
 * Return: its ticket: one more than that of the one before.
 */
u64 gda_flight_begin(struct gda_flight *f);

/**
 * gda_flight_done - report an outcome
 * @f: the flight
 * @ticket: of the work request; nothing changes if it has, or had, an outcome
 * @st: how it ended. If no error explains %GDA_CLASS_FLUSH, it stands for the status with which the
 *	host has asked the queue to fail, or else for %GDA_FAIL_PEER
 */
void gda_flight_done(struct gda_flight *f, u64 ticket, struct gda_status st);

/**
 * gda_flight_done_through - report success of several work requests
 * @f: the flight
 * @ticket: of the last one; it and all earlier ones that have no outcome yet have succeeded
 */
void gda_flight_done_through(struct gda_flight *f, u64 ticket);

/**
 * gda_flight_abandon - nothing more will be reported, and the queue fails
 * @f: the flight
 * @st: why. If the queue is to fail for another reason already, that reason counts
 *
 * The oldest work request in flight without an outcome fails, unless an earlier one did, and the
 * others are flushed. The caller has made sure that none of them moves bytes any more. Later
 * reports are ignored. This takes effect with the next gda_flight_retire().
 */
void gda_flight_abandon(struct gda_flight *f, struct gda_status st);

/**
 * gda_flight_retire - let outcomes leave
 * @f: the flight
 * @wqes: at most so many
 *
 * Writes completions, moves the consumer index and counters; once nothing is in flight it fails a
 * queue that is to fail, and flushes what is posted to one that has failed. Called at the end of
 * each visit.
 *
 * Return: how many outcomes there were.
 */
u32 gda_flight_retire(struct gda_flight *f, u32 wqes);

/**
 * gda_flight_arrived - an immediate has come from the peer
 * @f: the flight of the queue that receives
 * @imm: the immediate, in host order
 * @bytes: length of the write that it came with
 * @solicited: the peer asked for an event
 *
 * Writes a completion to the queue's CQ for immediates, and adds to its counter of arrivals. The
 * bytes of the write are in place already. The state of the send queue does not matter.
 *
 * Return: false if there is no room in the CQ: nothing has changed, and the call may be repeated.
 */
bool gda_flight_arrived(struct gda_flight *f, u32 imm, u32 bytes, bool solicited);

/**
 * gda_flight_pending - would a visit find anything to do?
 * @f: the flight
 *
 * Return: whether work may be begun or an outcome may leave; outcomes that the executor has not
 * reported yet do not count.
 */
bool gda_flight_pending(const struct gda_flight *f);

/**
 * gda_flight_count - how much is in flight?
 * @f: the flight
 *
 * Return: work requests that were begun and whose outcomes have not left.
 */
u32 gda_flight_count(const struct gda_flight *f);

/**
 * gda_flight_room - how much more may be begun?
 * @f: the flight
 *
 * Return: work requests.
 */
u32 gda_flight_room(const struct gda_flight *f);

/**
 * gda_flight_stopped - has a flight stopped, so that nothing new is begun?
 * @f: the flight
 *
 * Return: true once the queue has failed, or will when what is in flight has its outcomes.
 * An executor then hastens them, if it can.
 */
bool gda_flight_stopped(const struct gda_flight *f);

#endif /* GDA_FLIGHT_API_H */
