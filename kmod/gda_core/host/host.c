// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel as the engine's host: the gda_host_*() functions. A visitor, which is a worker or a
 * page fault, calls all but gda_host_kick() under gda_srcu, which keeps the QP, its peer, their
 * CQs and all MRs alive. They do not sleep, allocate or take locks of memory management.
 */
#include <linux/ktime.h>
#include <linux/nospec.h>

#include <gda/netlink.h>

#include "../gda_private.h"
#include "../trace.h"

void gda_host_kick(struct gda_engine_qp *q)
{
	gda_worker_kick(container_of(q, struct gda_qp, engine_qp)->obj.ctx);
}

/*
 * All keys here belong to gda_core (key.c): the engine executes no work request of another
 * device, see gda_executor_visit().
 */
const struct gda_mem *gda_host_mem(const struct gda_engine_qp *q, u32 key)
{
	const struct gda_qp *qp = container_of(q, struct gda_qp, engine_qp);
	const struct gda_mr *mr = xa_load(&qp->exec.ctx->dev->keys, key >> 8);

	return mr ? &mr->mem : NULL;
}

/* A run of adjacent pages is one span, so that a huge page is copied at once. */
u32 gda_host_span(const struct gda_mem *mem, u64 off, u32 len, void **ptr)
{
	const struct gda_mr *mr = container_of(mem, struct gda_mr, mem);
	const struct gda_mem_backing *b = &mr->backing;
	unsigned long i;
	u32 n;

	if (!b->pages)
		return b->kind->span(b, off, len, ptr);
	/* speculation beyond the range check must not select a pointer */
	off = array_index_nospec(off, mem->size) + b->offset;
	i = off >> PAGE_SHIFT;
	off &= ~PAGE_MASK;
	*ptr = page_address(b->pages[i]) + off;
	n = PAGE_SIZE - off;
	while (n < len && b->pages[i + 1] == b->pages[i] + 1) {
		n += PAGE_SIZE;
		i++;
	}
	return min(n, len);
}

void gda_host_delay(struct gda_engine_qp *q, u32 ns)
{
	struct gda_qp *qp = container_of(q, struct gda_qp, engine_qp);

	qp->rnr_until = ktime_get_ns() + ns;
	set_bit(GDA_QP_DELAYED, &qp->lost);
	gda_worker_set_due(qp->obj.ctx, qp->rnr_until);
}

static struct gda_rq *gda_host_rq(const struct gda_engine_qp *q)
{
	return container_of(q->rq, struct gda_rq, engine_rq);
}

int gda_host_recv(struct gda_engine_qp *peer, struct gda_recv *out)
{
	struct gda_rq *rq = gda_host_rq(peer);
	int ret;

	spin_lock(&rq->lock);
	ret = gda_rq_take(peer, out);
	if (rq->engine_rq.linked)
		gda_srq_taken(rq, ret);
	spin_unlock(&rq->lock);
	return ret;
}

int gda_host_recv_end(struct gda_engine_qp *peer, const struct gda_completion *c)
{
	struct gda_rq *rq = gda_host_rq(peer);
	int ret;

	spin_lock(&rq->lock);
	ret = gda_rq_end(peer, c);
	spin_unlock(&rq->lock);
	return ret;
}

bool gda_host_recv_flush(struct gda_engine_qp *q)
{
	struct gda_qp *qp = container_of(q, struct gda_qp, engine_qp);
	struct gda_rq *rq = gda_host_rq(q);
	bool flushed, last;

	spin_lock(&rq->lock);
	flushed = gda_rq_flush(q);
	/* the QP has completed all entries that it took from a shared receive queue */
	last = !flushed && rq->engine_rq.linked && !q->recv_open;
	spin_unlock(&rq->lock);
	if (last)
		gda_async_note_once(qp->obj.ctx, &qp->async, GDA_CLIENT_LAST_RECV);
	return flushed;
}

struct gda_engine_qp *gda_host_datagram(const struct gda_engine_qp *q)
{
	const struct gda_qp *qp = container_of(q, struct gda_qp, engine_qp);
	struct gda_executor_qp *to = qp->exec.ctx->dev->ops->qp_datagram(&qp->exec, &q->work.to);

	return to ? &gda_qp_of(to)->engine_qp : NULL;
}

int gda_host_recv_datagram(struct gda_engine_qp *q, struct gda_engine_qp *peer,
			   const struct gda_exec_mems *mems)
{
	const int lies = -(int)GDA_STATUS(GDA_CLASS_QUEUE, GDA_CAUSE_DOORBELL);
	struct gda_rq *rq = gda_host_rq(peer);
	u32 taken;
	int ret;

	spin_lock(&rq->lock);
	taken = rq->engine_rq.taken;
	ret = gda_rq_datagram(q, peer, mems);
	/* a wrong entry is used up, too; only a wrong record fails the shared queue */
	if (rq->engine_rq.linked)
		gda_srq_taken(rq, ret == lies ? ret : rq->engine_rq.taken != taken);
	spin_unlock(&rq->lock);
	return ret;
}

void gda_host_fail(struct gda_engine_qp *q, u32 fail)
{
	cmpxchg(&q->fail, 0, fail);
	gda_host_kick(q);
}

bool gda_host_stray(struct gda_engine_qp *q, u32 qpn)
{
	struct gda_qp *qp = container_of(q, struct gda_qp, engine_qp);
	struct gda_qp *other = xa_load(&qp->exec.ctx->dev->qps, qpn);

	if (!other || other == qp || other->obj.ctx != qp->obj.ctx)
		return false;
	if (!READ_ONCE(other->engine_qp.fail))
		gda_qp_fail(other, GDA_CAUSE_DOORBELL);
	return true;
}

void gda_host_event(struct gda_engine_cq *engine_cq, const struct gda_completion *c)
{
	struct gda_cq *cq = container_of(engine_cq, struct gda_cq, engine_cq);

	trace_gda_qp_error(c->qpn, c->first_error, 0, engine_cq->dialect->syndrome(c->status),
			   c->status.cause);
	spin_lock(&cq->lock);
	if (cq->armed & gda_completion_fires(c))
		gda_event_note(cq);
	spin_unlock(&cq->lock);
}

/* Handle a completion that was not written. Only the first one that makes a CQ fail is an event. */
static void gda_host_refused(struct gda_cq *cq)
{
	lockdep_assert_held(&cq->lock);
	if (!cq->engine_cq.failed || cq->overflowed)
		return;
	cq->overflowed = true;
	gda_notify_object(GDA_EVENT_KIND_CQ_OVERFLOWED, &cq->obj);
	gda_async_note_once(cq->obj.ctx, &cq->async, GDA_CLIENT_FATAL);
}

bool gda_host_push(struct gda_engine_cq *engine_cq, const struct gda_completion *c)
{
	struct gda_cq *cq = container_of(engine_cq, struct gda_cq, engine_cq);
	bool pushed;

	if (unlikely(c->status.class))
		trace_gda_qp_error(c->qpn, c->index, c->wr_opcode,
				   engine_cq->dialect->syndrome(c->status), c->status.cause);
	spin_lock(&cq->lock);
	if (unlikely(cq->lost)) {
		spin_unlock(&cq->lock);
		/* the QP of this CQ fails at its next visit because of the revocation */
		return gda_completion_own(c);
	}
	pushed = gda_cq_push(engine_cq, c);
	if (unlikely(!pushed))
		gda_host_refused(cq);
	if (unlikely(cq->arm.record))
		gda_arm_completed(cq, c);
	if (gda_control_fires(engine_cq, cq->armed, c, pushed))
		gda_event_note(cq);
	if (unlikely(cq->awaited))
		gda_wait_pushed(cq);
	spin_unlock(&cq->lock);
	return pushed;
}
