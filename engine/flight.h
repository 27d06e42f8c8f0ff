/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The flight of a send queue: its requests, and how its host makes one. gda/flight.h is for the
 * executor that drives it.
 *
 * A host visits a queue with a flight through its executor, and never with
 * gda_engine_visit() or gda_engine_pending(), but for what is said at gda_flight_by_engine().
 */
#ifndef GDA_ENGINE_FLIGHT_H
#define GDA_ENGINE_FLIGHT_H

#include "engine.h"
#include <gda/flight.h>

/* A work request that was begun. Private: the executor sees its ticket. */
struct gda_flight_request {
	u64 index;			/* of its first slot */
	u32 len;			/* payload, bytes */
	u8 opcode;			/* as in struct gda_work, and the next two */
	u8 slots;
	u8 flags;
	u8 state;			/* enum gda_flight_state */
	struct gda_status status;	/* once it is done */
};

enum gda_flight_state {
	GDA_FLIGHT_BEGUN,		/* has no outcome */
	GDA_FLIGHT_DONE,		/* has one, that has not left */
	GDA_FLIGHT_LEFT,
};

/**
 * struct gda_flight - work of a queue that was begun and is not done
 * @q: the queue. q->work is what leaves, q->ci has outcomes below it
 * @requests: room for @size, by ticket
 * @works: NULL; or what was begun, likewise: the engine carries it out, and counts its bytes
 * @size: power of two
 * @head: the oldest ticket whose outcome has not left
 * @tail: the ticket that is next
 * @reported: all tickets below were reported
 * @arrived: immediates
 * @front: a queue only to be read from: front.ci is what was begun, front.work what is next.
 *	For the dialect's ->published() and ->decode()
 * @decoded: front.work is there, and was not begun yet
 * @stopped: an error was reported that the queue will die of
 * @stop: why the queue is to fail, once nothing is in flight
 */
struct gda_flight {
	struct gda_engine_qp *q;
	struct gda_flight_request *requests;
	struct gda_work *works;
	u32 size;
	u64 head;
	u64 tail;
	u64 reported;
	u64 arrived;
	struct gda_engine_qp front;
	bool decoded;
	bool stopped;
	struct gda_status stop;
};

/**
 * gda_flight_init - make an empty flight
 * @f: the flight, in memory of the caller
 * @q: its queue, after gda_engine_init() and before the first visit
 * @requests: of the caller, need not be initialised; both last as long as @q
 * @size: of @requests, a power of two: the most that can be in flight
 */
void gda_flight_init(struct gda_flight *f, struct gda_engine_qp *q,
		     struct gda_flight_request *requests, u32 size);

/**
 * gda_flight_leave_done - let outcomes leave that may, as the first part of gda_flight_retire()
 * @f: the flight
 * @wqes: at most so many
 *
 * The entry of a collapsed CQ is not written yet, and nothing else is flushed.
 *
 * Return: how many outcomes there were.
 */
u32 gda_flight_leave_done(struct gda_flight *f, u32 wqes);

/**
 * gda_flight_by_engine - have the engine itself carry out what is next
 * @f: a flight with nothing in it; else nothing is done
 * @bytes: most payload bytes to move, as of gda_engine_visit()
 *
 * The engine reads the work request once more: it checks and does what it then finds. While
 * q->busy it is not through with that, and this is called again before anything else is begun.
 *
 * Return: as gda_engine_visit(), of one work request.
 */
u32 gda_flight_by_engine(struct gda_flight *f, u32 bytes);

#endif /* GDA_ENGINE_FLIGHT_H */
