// SPDX-License-Identifier: GPL-2.0
/*
 * The calls that executors of other modules make for a queue pair, and how the worker serves
 * the QPs of such executors.
 *
 * Only the worker accesses engine_qp. Other threads may change its state to READY, by a
 * compare-exchange, and request its failure (gda_endpoint_fail()), which the engine then carries
 * out. So an executor's visit() sees only queues that are ready, and failed queues are
 * flushed in one place.
 */
#include <gda/netlink.h>

#include "../gda_private.h"

/* The engine is portable and so exports no symbols itself. */
GDA_EXPORT(gda_flight_next);
GDA_EXPORT(gda_flight_begin);
GDA_EXPORT(gda_flight_done);
GDA_EXPORT(gda_flight_done_through);
GDA_EXPORT(gda_flight_abandon);
GDA_EXPORT(gda_flight_retire);
GDA_EXPORT(gda_flight_arrived);
GDA_EXPORT(gda_flight_pending);
GDA_EXPORT(gda_flight_count);
GDA_EXPORT(gda_flight_room);
GDA_EXPORT(gda_flight_stopped);

void gda_executor_qp_wait(struct gda_executor_qp *exec)
{
	gda_os_cmpxchg32(&gda_qp_of(exec)->engine_qp.state, GDA_QP_INIT, GDA_QP_WAIT);
}
GDA_EXPORT(gda_executor_qp_wait);

void gda_executor_qp_ready(struct gda_executor_qp *exec)
{
	struct gda_qp *qp = gda_qp_of(exec);
	struct gda_engine_qp *q = &qp->engine_qp;
	u32 was = gda_os_cmpxchg32(&q->state, GDA_QP_WAIT, GDA_QP_READY);

	if (was == GDA_QP_INIT)
		was = gda_os_cmpxchg32(&q->state, GDA_QP_INIT, GDA_QP_READY);
	if (was != GDA_QP_INIT && was != GDA_QP_WAIT)
		return;
	gda_record_connection(qp, GDA_RECORD_CONNECTED,
			      gda_status(GDA_CLASS_NONE, GDA_CAUSE_NONE));
	gda_notify_connected(qp, 0);
	/* work may have been posted already */
	gda_host_kick(q);
}
GDA_EXPORT(gda_executor_qp_ready);

void gda_executor_qp_fail(struct gda_executor_qp *exec, struct gda_status why)
{
	struct gda_engine_qp *q = &gda_qp_of(exec)->engine_qp;

	if (!gda_os_cmpxchg32(&q->fail, 0, GDA_STATUS(why.class, why.cause)) &&
	    why.class == GDA_CLASS_RETRY)
		gda_record_connection(gda_qp_of(exec), GDA_RECORD_LOST, why);
	if (!gda_device_has_worker(exec->ctx->dev)) {
		WRITE_ONCE(q->state, GDA_QP_ERROR);
		gda_notify_failed(gda_qp_of(exec));
	}
	gda_host_kick(q);
}
GDA_EXPORT(gda_executor_qp_fail);

struct gda_executor_qp *gda_executor_qp_find(struct gda_device *dev, u32 number)
{
	struct gda_qp *qp = xa_load(&dev->qps, number);

	return qp ? &qp->exec : NULL;
}
GDA_EXPORT(gda_executor_qp_find);

void gda_executor_qp_respond(struct gda_executor_qp *exec, struct gda_executor_qp *peer)
{
	/* pairs with the load in gda_engine_peer() */
	smp_store_release(&gda_qp_of(exec)->engine_qp.peer,
			  peer ? &gda_qp_of(peer)->engine_qp : NULL);
	WRITE_ONCE(gda_qp_of(exec)->greets, peer);
}
GDA_EXPORT(gda_executor_qp_respond);

void gda_executor_qp_grant(struct gda_executor_qp *exec, u32 access)
{
	WRITE_ONCE(gda_qp_of(exec)->engine_qp.denied,
		   ~access & (GDA_ACCESS_REMOTE_WRITE | GDA_ACCESS_REMOTE_READ |
			      GDA_ACCESS_REMOTE_ATOMIC));
}
GDA_EXPORT(gda_executor_qp_grant);

bool gda_executor_qp_failed(const struct gda_executor_qp *exec)
{
	const struct gda_engine_qp *q = &container_of(exec, struct gda_qp, exec)->engine_qp;

	return READ_ONCE(q->state) == GDA_QP_ERROR || READ_ONCE(q->fail);
}
GDA_EXPORT(gda_executor_qp_failed);

void gda_executor_qp_rnr(struct gda_executor_qp *exec, u32 retry, u32 timer)
{
	struct gda_engine_qp *q = &gda_qp_of(exec)->engine_qp;

	WRITE_ONCE(q->rnr_retry, retry);
	WRITE_ONCE(q->min_rnr_timer, timer);
}
GDA_EXPORT(gda_executor_qp_rnr);

void gda_executor_qp_kick(struct gda_executor_qp *exec)
{
	gda_host_kick(&gda_qp_of(exec)->engine_qp);
}
GDA_EXPORT(gda_executor_qp_kick);

/* Return: the peer's QP number. With other executors the peer is usually on another machine. */
u32 gda_executor_peer(const struct gda_qp *qp)
{
	const struct gda_executor_ops *ops = qp->exec.ctx->dev->ops;
	u32 number;
	int idx;

	if (!ops->qp_peer)
		return 0;
	idx = gda_read_lock();
	number = ops->qp_peer(&qp->exec);
	gda_read_unlock(idx);
	return number;
}

struct gda_executor_mr *gda_executor_local_mr(struct gda_executor_qp *exec,
					      const struct gda_sge *sge, u32 access,
					      struct gda_status *st)
{
	struct gda_mr *mr = xa_load(&exec->ctx->dev->keys, sge->key);
	u8 cause = gda_access_check(mr ? &mr->mem : NULL, gda_qp_of(exec)->engine_qp.pd, sge,
				    access);

	if (!cause)
		return &mr->exec;
	*st = gda_status(GDA_CLASS_LOCAL, cause);
	return NULL;
}
GDA_EXPORT(gda_executor_local_mr);

/* A device that was unregistered is not called any more: none of its queues makes progress. */
static bool gda_executor_is_gone(const struct gda_qp *qp)
{
	return READ_ONCE(qp->exec.ctx->dev->state) == GDA_DEVICE_REMOVED;
}

/*
 * Called by the worker, under SRCU: serve a queue with a flight. The executor completes, fails
 * and flushes requests by gda_flight_retire(), in any state of the queue.
 */
static u32 gda_executor_visit_flight(struct gda_qp *qp)
{
	const struct gda_status gone = { GDA_CLASS_QUEUE, GDA_CAUSE_DEVICE };

	if (!gda_executor_is_gone(qp))
		return qp->visit(&qp->exec, GDA_VISIT_WQES, GDA_VISIT_BYTES);
	gda_flight_abandon(qp->exec.flight, gone);
	return gda_flight_retire(qp->exec.flight, GDA_VISIT_WQES);
}

/*
 * Called by the worker, under SRCU: serve a queue of another executor. The engine visits a queue
 * without a flight only to fail it or to flush its requests: a state that was read as INIT may be
 * READY by now.
 *
 * Return: the number of work requests done.
 */
u32 gda_executor_visit(struct gda_qp *qp)
{
	struct gda_engine_qp *q = &qp->engine_qp;
	u32 state = READ_ONCE(q->state);

	if (qp->exec.flight)
		return gda_executor_visit_flight(qp);
	if (state == GDA_QP_ERROR || READ_ONCE(q->fail))
		return gda_engine_visit(q, GDA_VISIT_WQES, GDA_VISIT_BYTES);
	if (state != GDA_QP_READY || !gda_engine_pending(q))
		return 0;
	return qp->visit(&qp->exec, GDA_VISIT_WQES, GDA_VISIT_BYTES);
}

/*
 * Called by the worker, under SRCU. Return: whether requests are in flight and no visit is needed
 * before the wire completes one, which wakes the worker.
 */
bool gda_executor_waits(struct gda_qp *qp)
{
	const struct gda_flight *f = qp->exec.flight;

	return f && qp->exec.ctx->dev->ops->arm && gda_flight_count(f) &&
	       !gda_flight_pending(f);
}

/*
 * Called by the worker, under SRCU, before it sleeps. Return: whether the queue needs a visit; if
 * not, any event of the wire wakes the worker.
 */
bool gda_executor_pending(struct gda_qp *qp)
{
	if (!qp->exec.flight)
		return gda_engine_pending(&qp->engine_qp);
	if (gda_flight_pending(qp->exec.flight))
		return true;
	/* the wire completes nothing any more: the requests in flight are to be abandoned */
	if (gda_executor_is_gone(qp))
		return gda_flight_count(qp->exec.flight);
	return qp->exec.ctx->dev->ops->arm(&qp->exec);
}
