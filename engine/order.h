/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A queue whose requests need not be executed one after the other: several are in flight
 * (gda/flight.h), the engine executes each in steps, and a callback chooses which goes on next. The
 * host sets gda_engine_qp.order before gda_engine_init(), and visits the queue as any other.
 *
 * Every choice is legal. Requests of an unordered dialect may pass each other. In other dialects a
 * request that is no read may pass earlier reads, unless it is fenced: the responder of an
 * InfiniBand RC queue executes writes and atomics in order (C9-28) but may delay reads, unless it
 * refuses them. If they are split, what a read or an atomic returns lands in a step of its own, and
 * anything but a result may pass that, too, unless it is fenced: responses arrive in order, but at
 * any time. The bytes of a write of up to GDA_ORDER_SPLIT_MAX land in up to GDA_ORDER_PARTS parts,
 * in any order: only the completion, the immediate or a later request says that all are there.
 *
 * Outcomes are written in the order of posting, or for an unordered dialect as they come. A WAIT is
 * begun alone. A request that takes a receive of the peer goes on only when it is the oldest, so
 * receives are taken one at a time and in order.
 */
#ifndef GDA_ENGINE_ORDER_H
#define GDA_ENGINE_ORDER_H

#include "flight.h"
#include "move.h"

/* Most work requests of a queue in flight, a power of two. */
#define GDA_ORDER_WINDOW	32U

/* gda_order.split: which requests are executed in several steps. */
#define GDA_ORDER_SPLIT_RESULTS	0x1	/* what reads and atomics return lands in one of its own */
#define GDA_ORDER_SPLIT_WRITES	0x2	/* bytes of writes land in any order, then they count */
#define GDA_ORDER_SPLIT_ALL	0x3

/* The longest write whose bytes land in any order, and in how many parts at most. */
#define GDA_ORDER_SPLIT_MAX	4096U
#define GDA_ORDER_PARTS		8U

/* gda_order.stepping: none. */
#define GDA_ORDER_NONE		GDA_ORDER_WINDOW

/**
 * struct gda_order_slot - progress of a request that was begun
 * @ticket: of the request
 * @value: what it returns, once it was @fetched
 * @done: like the next two: a member of struct gda_engine_qp, saved between the request's steps
 * @rnr_tries: likewise
 * @busy: likewise
 * @fetched: the responder has executed this read or atomic; its result has not landed
 * @parts: which parts of a write have landed, a bit each
 */
struct gda_order_slot {
	u64 ticket;
	u64 value[GDA_EXEC_HELD / sizeof(u64)];
	u32 done;
	u32 rnr_tries;
	bool busy;
	bool fetched;
	u8 parts;
};

/**
 * struct gda_order - the requests of a queue in flight
 * @choose: choose one of @n, at least 2: which of the requests in @may goes on next, the oldest
 *	first; or if @parts, which part of a write lands next. NULL: always the oldest, one at a
 *	time and whole. Called by the thread that visits the queue
 * @arg: for @choose
 * @split: GDA_ORDER_SPLIT_*, if there is a @choose
 * @q: the queue
 * @flight: its flight
 * @requests: of @flight
 * @works: by ticket. Their keys are looked up at each step
 * @slots: by ticket
 * @waiting: places in @slots of those without an outcome, by age
 * @n: length of @waiting
 * @may: for @choose: places in @waiting of the requests that may go on
 * @parts: for @choose: it chooses a part
 * @stepping: place in @waiting of the request that is being executed, or GDA_ORDER_NONE
 */
struct gda_order {
	u32 (*choose)(struct gda_order *o, u32 n);
	void *arg;
	u32 split;

	struct gda_engine_qp *q;
	struct gda_flight flight;
	struct gda_flight_request requests[GDA_ORDER_WINDOW];
	struct gda_work works[GDA_ORDER_WINDOW];
	struct gda_order_slot slots[GDA_ORDER_WINDOW];
	u8 waiting[GDA_ORDER_WINDOW];
	u32 n;
	u8 may[GDA_ORDER_WINDOW];
	bool parts;
	u32 stepping;
};

/**
 * gda_order_init - make an order with nothing in flight, for gda_engine_init()
 * @o: of @q; everything but @choose, @arg and @split is set here
 * @q: the queue
 */
void gda_order_init(struct gda_order *o, struct gda_engine_qp *q);

/**
 * gda_order_visit - gda_engine_visit() of a queue with an order
 * @q: as in gda_engine_visit(), like the next two
 * @wqes: most work requests
 * @bytes: most payload bytes
 *
 * Return: as gda_engine_visit().
 */
u32 gda_order_visit(struct gda_engine_qp *q, u32 wqes, u32 bytes);

/**
 * gda_order_fault - give up a request in the middle of a step
 * @o: its @stepping is not GDA_ORDER_NONE; gda_order_visit() was left for good
 * @st: the outcome of the request
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
