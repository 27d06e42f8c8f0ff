// SPDX-License-Identifier: MIT
/*
 * The process as the engine's host: the gda_host_*() functions. A worker that is not quiescent or
 * a helper with a seat calls them; either keeps the QP, its peer, their CQs and all MRs alive.
 */
#include <errno.h>
#include <poll.h>
#include <unistd.h>
#include "inproc.h"
#include "race.h"

const struct gda_mem *gda_host_mem(const struct gda_engine_qp *q, u32 key)
{
	(void)q;		/* this process has only one device */
	return gda_inproc_table_find(&gda_inproc.keys, key >> 8);
}

void gda_host_kick(struct gda_engine_qp *q)
{
	struct gda_inproc_qp *qp = gda_inproc_of(q, struct gda_inproc_qp, engine_qp);

	gda_inproc_kick(qp->obj.ctx, qp->slot);
}

u32 gda_host_span(const struct gda_mem *mem, u64 off, u32 len, void **ptr)
{
	*ptr = gda_inproc_of(mem, struct gda_inproc_mr, mem)->addr + off;
	return len;
}

/* Signal an eventfd without blocking. One at its maximum is readable already, which suffices. */
static void gda_inproc_signal(int event)
{
	const u64 one = 1;
	struct pollfd p = { .fd = event, .events = POLLOUT };
	int cancel, saved = errno;

	/* a thread of the program may run the engine here and hold locks: disable cancellation */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (poll(&p, 1, 0) == 1 && write(event, &one, sizeof(one)) < 0)
		errno = 0;	/* another thread signalled it meanwhile */
	pthread_setcancelstate(cancel, NULL);
	errno = saved;
}

void gda_host_delay(struct gda_engine_qp *q, u32 ns)
{
	struct gda_inproc_qp *qp = gda_inproc_of(q, struct gda_inproc_qp, engine_qp);

	WRITE_ONCE(qp->rnr_until, gda_inproc_now() + ns);
	qp->aside = true;
}

/* No queue of this device has a receive queue (gda_engine_qp.rq) or carries datagrams. */

int gda_host_recv(struct gda_engine_qp *peer, struct gda_recv *out)
{
	return gda_rq_take(peer, out);
}

int gda_host_recv_end(struct gda_engine_qp *peer, const struct gda_completion *c)
{
	return gda_rq_end(peer, c);
}

bool gda_host_recv_flush(struct gda_engine_qp *q)
{
	return gda_rq_flush(q);
}

struct gda_engine_qp *gda_host_datagram(const struct gda_engine_qp *q)
{
	(void)q;
	return NULL;
}

int gda_host_recv_datagram(struct gda_engine_qp *q, struct gda_engine_qp *peer,
			   const struct gda_exec_mems *mems)
{
	return gda_rq_datagram(q, peer, mems);
}

void gda_host_fail(struct gda_engine_qp *q, u32 fail)
{
	u32 none = 0;

	__atomic_compare_exchange_n(&q->fail, &none, fail, false, __ATOMIC_RELEASE,
				    __ATOMIC_RELAXED);
	gda_host_kick(q);
}

bool gda_host_stray(struct gda_engine_qp *q, u32 qpn)
{
	struct gda_inproc_qp *qp = gda_inproc_of(q, struct gda_inproc_qp, engine_qp);
	struct gda_inproc_qp *other = gda_inproc_table_find(&gda_inproc.qps, qpn);
	u32 none = 0;

	if (!other || other == qp || other->obj.ctx != qp->obj.ctx)
		return false;
	__atomic_compare_exchange_n(&other->engine_qp.fail, &none,
				    GDA_STATUS(GDA_CLASS_QUEUE, GDA_CAUSE_DOORBELL), false,
				    __ATOMIC_RELEASE, __ATOMIC_RELAXED);
	return true;
}

/* Disarm a CQ and signal its eventfd. cq->lock is held. */
static void gda_inproc_cq_fire(struct gda_inproc_cq *cq)
{
	cq->armed = 0;
	gda_inproc_signal(cq->event);
}

static struct gda_inproc_far_cq *gda_inproc_far(struct gda_engine_cq *engine_cq)
{
	return gda_inproc_of(engine_cq, struct gda_inproc_far_cq, engine_cq);
}

void gda_host_event(struct gda_engine_cq *engine_cq, const struct gda_completion *c)
{
	struct gda_inproc_cq *cq;

	if (!engine_cq->entries)
		engine_cq = gda_inproc_far(engine_cq)->cq;
	cq = gda_inproc_of(engine_cq, struct gda_inproc_cq, engine_cq);
	pthread_mutex_lock(&cq->lock);
	if (cq->armed & gda_completion_fires(c))
		gda_inproc_cq_fire(cq);
	pthread_mutex_unlock(&cq->lock);
}

/* Tell the race detector that the word which the dialect stores last was released. */
static void gda_inproc_push_seen(const struct gda_engine_cq *engine_cq)
{
	const struct gda_dialect_ops *ops = engine_cq->dialect;
	const u8 *entries = engine_cq->entries;

	gda_race_release(entries + ops->cqe_last + ops->cqe_bytes *
			 ((engine_cq->producer & (engine_cq->depth - 1)) << engine_cq->wide));
}

bool gda_host_push(struct gda_engine_cq *engine_cq, const struct gda_completion *c)
{
	struct gda_inproc_cq *cq = gda_inproc_of(engine_cq, struct gda_inproc_cq, engine_cq);
	bool pushed, wakes;

	if (unlikely(!engine_cq->entries)) {
		struct gda_inproc_far_cq *far = gda_inproc_far(engine_cq);

		return far->push(far, c);
	}
	pthread_mutex_lock(&cq->lock);
	gda_inproc_push_seen(engine_cq);
	pushed = gda_cq_push(engine_cq, c);
	if (unlikely(gda_control_fires(engine_cq, cq->armed, c, pushed)))
		gda_inproc_cq_fire(cq);
	wakes = gda_inproc_wait_pushed(cq);
	pthread_mutex_unlock(&cq->lock);
	if (unlikely(wakes))
		gda_inproc_wait_wake(cq->obj.ctx);
	return pushed;
}
