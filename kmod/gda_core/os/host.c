// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel as the engine's host: what a running queue of any device may ask for (who responds
 * and what a key names, soft/host.c answers). Everything here but gda_host_kick()
 * is called by a worker under gda_srcu, which keeps the QP, its peer, their CQs and
 * all MRs alive; nothing sleeps, allocates or takes a lock of memory management.
 */
#include <linux/ktime.h>
#include <linux/nospec.h>

#include "../gda_private.h"
#include "../trace.h"

void gda_host_kick(struct gda_engine_qp *q)
{
	gda_worker_kick(container_of(q, struct gda_qp, engine_qp)->obj.ctx);
}

/* Runs of adjacent pages are one span: huge pages are copied in one go. */
u32 gda_host_span(const struct gda_mem *mem, u64 off, u32 len, void **ptr)
{
	const struct gda_mr *mr = container_of(mem, struct gda_mr, mem);
	const struct gda_mem_backing *b = &mr->backing;
	unsigned long i;
	u32 n;

	if (!b->pages)
		return b->kind->span(b, off, len, ptr);
	/* a range that is only being guessed to be inside must not choose a pointer */
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

bool gda_host_push(struct gda_engine_cq *engine_cq, const struct gda_completion *c)
{
	struct gda_cq *cq = container_of(engine_cq, struct gda_cq, engine_cq);
	bool pushed;

	if (unlikely(c->kind == GDA_COMPLETION_ERROR))
		trace_gda_qp_error(c->qpn, c->index, c->wr_opcode,
				   engine_cq->dialect->syndrome(c->status), c->status.cause);
	spin_lock(&cq->lock);
	if (unlikely(cq->lost)) {
		spin_unlock(&cq->lock);
		/* the owner's QP fails for that at its next visit, and says so */
		return c->kind != GDA_COMPLETION_IMM;
	}
	pushed = gda_cq_push(engine_cq, c);
	/* an overflow is an event too: there is nothing else to wait for */
	if ((pushed || engine_cq->failed) && cq->armed & gda_completion_fires(c))
		gda_event_note(cq);
	spin_unlock(&cq->lock);
	return pushed;
}
