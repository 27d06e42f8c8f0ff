/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A queue whose requests need not be carried out one after the other: several are in flight
 * (gda/flight.h), the engine carries out each of them, and which of them goes on next is a choice.
 * Its host gives the queue the memory for that (gda_engine_qp.order) before gda_engine_init(), and
 * visits it as any other.
 *
 * A choice is legal: requests of an unordered dialect may pass each other. Of another dialect what
 * is no read may pass reads that were posted before it, unless it is fenced: on RC queues of
 * InfiniBand the responder executes writes and atomics in their order (C9-28), and reads when it
 * likes, but for one that it refuses. Outcomes leave in the order of posting, or of an unordered
 * dialect as they come. A WAIT is begun alone. What takes a receive of the peer goes on only when
 * it is the oldest: receives are taken in the order of posting, and one at a time.
 */
#ifndef GDA_ENGINE_ORDER_H
#define GDA_ENGINE_ORDER_H

#include "flight.h"

/* Work requests in flight of a queue, a power of two. */
#define GDA_ORDER_WINDOW	32U

/* gda_order.stepping: none. */
#define GDA_ORDER_NONE		GDA_ORDER_WINDOW

/* How far a work request is that was begun: members of struct gda_engine_qp, while it goes on. */
struct gda_order_slot {
	u64 ticket;
	u32 done;
	u32 rnr_tries;
	bool busy;
};

/**
 * struct gda_order - what is in flight of a queue
 * @choose: which request goes on next, of @n that may: 0 is the oldest of them. NULL: always the
 *	oldest, and none is begun before it is done. Called by the thread that visits the queue
 * @arg: for @choose
 * @q: the queue
 * @flight: its flight
 * @requests: of @flight
 * @works: by ticket. They name memory by keys, which are looked up at each step
 * @slots: by ticket
 * @waiting: places in @slots of those without an outcome, by age
 * @n: of @waiting
 * @stepping: place in @waiting of the one that is being carried out, or GDA_ORDER_NONE
 */
struct gda_order {
	u32 (*choose)(struct gda_order *o, u32 n);
	void *arg;

	struct gda_engine_qp *q;
	struct gda_flight flight;
	struct gda_flight_request requests[GDA_ORDER_WINDOW];
	struct gda_work works[GDA_ORDER_WINDOW];
	struct gda_order_slot slots[GDA_ORDER_WINDOW];
	u8 waiting[GDA_ORDER_WINDOW];
	u32 n;
	u32 stepping;
};

/**
 * gda_order_init - make an order with nothing in flight, for gda_engine_init()
 * @o: of @q; all but @choose and @arg is set
 * @q: the queue
 */
void gda_order_init(struct gda_order *o, struct gda_engine_qp *q);

/**
 * gda_order_visit - gda_engine_visit() of a queue with an order
 * @q: as there, and the next two
 * @wqes: most work requests
 * @bytes: most payload bytes
 *
 * Return: as gda_engine_visit().
 */
u32 gda_order_visit(struct gda_engine_qp *q, u32 wqes, u32 bytes);

/**
 * gda_order_fault - a request was given up in the middle of being carried out
 * @o: of which @stepping is not GDA_ORDER_NONE; nothing below gda_order_visit() goes on
 * @st: its outcome
 */
void gda_order_fault(struct gda_order *o, struct gda_status st);

/**
 * gda_order_pending - gda_engine_pending() of a queue with an order
 * @o: its order
 *
 * Return: as gda_engine_pending().
 */
bool gda_order_pending(const struct gda_order *o);

#endif /* GDA_ENGINE_ORDER_H */
