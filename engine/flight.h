/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The flight of a send queue: the requests in flight, and the calls by which a host creates it.
 * gda/flight.h has the calls of the executor that drives it.
 *
 * A queue with a flight is visited by its executor, and never by gda_engine_visit() or
 * gda_engine_pending(), except through gda_flight_by_engine().
 */
#ifndef GDA_ENGINE_FLIGHT_H
#define GDA_ENGINE_FLIGHT_H

#include "engine.h"
#include <gda/flight.h>

/* A work request that was begun. The executor sees only its ticket. */
struct gda_flight_request {
	u64 index;			/* of its first slot */
	u32 len;			/* payload, bytes */
	u8 opcode;			/* this and the next three as in struct gda_work */
	u8 op;
	u8 slots;
	u8 flags;
	u8 state;			/* enum gda_flight_state */
	struct gda_status status;	/* once it is done */
};

enum gda_flight_state {
	GDA_FLIGHT_BEGUN,		/* has no outcome */
	GDA_FLIGHT_DONE,		/* has an outcome that was not written yet */
	GDA_FLIGHT_LEFT,
};

/**
 * struct gda_flight - work of a queue that was begun and is not done
 * @q: the queue. q->work is the request whose outcome is written; all below q->ci have theirs
 * @requests: room for @size, by ticket
 * @works: NULL; or the work requests themselves, by ticket, if the engine executes them and counts
 *	their bytes
 * @size: power of two
 * @head: the oldest ticket whose outcome was not written
 * @tail: the next ticket
 * @reported: all tickets below were reported
 * @arrived: immediates
 * @early: slots from @q->ci on whose outcomes were written, if the dialect is unordered
 * @front: a copy of the queue for the dialect's ->published() and ->decode(): all below front.ci
 *	were begun, front.work is next
 * @decoded: front.work is valid, and was not begun yet
 * @stopped: an error was reported that will fail the queue
 * @stop: why the queue fails when nothing is in flight
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
	u32 early;
	struct gda_engine_qp front;
	bool decoded;
	bool stopped;
	struct gda_status stop;
};

/**
 * gda_flight_init - make an empty flight
 * @f: the flight, in memory of the caller
 * @q: its queue, after gda_engine_init() and before the first visit
 * @requests: memory of the caller, need not be initialised; it and @f live as long as @q
 * @size: of @requests, a power of two: the most that can be in flight
 */
void gda_flight_init(struct gda_flight *f, struct gda_engine_qp *q,
		     struct gda_flight_request *requests, u32 size);

/**
 * gda_flight_leave_done - write the outcomes that are due, as the first part of gda_flight_retire()
 * @f: the flight
 * @wqes: at most so many
 *
 * The entry of a collapsed CQ is not written yet, and nothing is flushed.
 *
 * Return: how many outcomes there were.
 */
u32 gda_flight_leave_done(struct gda_flight *f, u32 wqes);

/**
 * gda_flight_by_engine - have the engine itself execute the next work request
 * @f: a flight with nothing in it; else nothing is done
 * @bytes: most payload bytes to move, as of gda_engine_visit()
 *
 * The engine reads the work request again, and checks and executes what it then finds. While
 * q->busy is set it has not finished, and this must be called again before anything else is begun.
 *
 * Return: as gda_engine_visit(), of one work request.
 */
u32 gda_flight_by_engine(struct gda_flight *f, u32 bytes);

#endif /* GDA_ENGINE_FLIGHT_H */
