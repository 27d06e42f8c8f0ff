// SPDX-License-Identifier: MIT
/*
 * A visit of a queue: take completions of its RDMA device and post the next requests, both by
 * engine/fabric/post.c, and write outcomes. Nothing here waits: the visit ends when there is
 * nothing more to do, and the next one finds what has completed meanwhile. So a worker that only
 * waits for the fabric rests like an idle one (lib/device/inproc/worker.c).
 */
#include "access.h"
#include "verbs_internal.h"

/* How long a QP may take to flush its requests in flight before it is reset, in ns. */
#define GDA_VERBS_FLUSH_NS	1000000000U

/*
 * Without a completion for this long, plus the time for the bytes in flight at 1 MB/s, an RDMA
 * device that retries GDA_FABRIC_RETRIES times has failed.
 */
#define GDA_VERBS_SILENT_NS	8000000000U
#define GDA_VERBS_BYTE_NS	1000U

/* The longest gap between two visits that counts: the process may have been stopped. */
#define GDA_VERBS_GAP_NS	100000000U

struct gda_status gda_fabric_host_lkey(struct gda_fabric_qp *q, const struct gda_sge *sge,
				       u32 access, u32 *lkey)
{
	const struct gda_verbs_qp *v = gda_verbs_qp_of(q);
	const struct gda_verbs_mr *m = gda_verbs_mr_find(v->verbs, sge->key);
	u8 cause = gda_access_check(m ? &m->mr->mem : NULL, v->qp->engine_qp.pd, sge, access);

	if (cause)
		return gda_status(GDA_CLASS_LOCAL, cause);
	*lkey = m->ib->lkey;
	return gda_status(GDA_CLASS_NONE, GDA_CAUSE_NONE);
}

static int gda_verbs_set_state(struct gda_verbs_qp *v, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	return gda_ibv.modify_qp(v->fabric.qp, &attr, IBV_QP_STATE);
}

/*
 * The queue shall fail for a reason outside of its requests: have the RDMA device flush those in
 * flight, and reset a QP that does not. After the error of a request this is not needed: earlier
 * requests still complete, and later ones are flushed by the device.
 */
static void gda_verbs_hasten(struct gda_verbs_qp *v)
{
	const struct gda_status lost = { GDA_CLASS_QUEUE, GDA_CAUSE_FABRIC };
	const struct gda_status gone = { GDA_CLASS_QUEUE, GDA_CAUSE_DEVICE };
	bool removed = READ_ONCE(v->verbs->removed);

	if (!gda_flight_count(&v->flight) ||
	    !(v->fabric.broken || READ_ONCE(v->qp->engine_qp.fail)))
		return;
	if (!v->hastened && !removed) {
		v->hastened = true;
		v->since = gda_inproc_now();
		if (!gda_verbs_set_state(v, IBV_QPS_ERR))
			return;
	} else if (!removed && gda_inproc_now() - v->since < GDA_VERBS_FLUSH_NS) {
		return;
	}
	/* a removed device moves no data, whatever this returns */
	gda_verbs_set_state(v, IBV_QPS_RESET);
	gda_flight_abandon(&v->flight, removed ? gone : lost);
}

/* How long the RDMA device may take for all that is in flight, in ns. */
static u64 gda_verbs_patience(const struct gda_verbs_qp *v)
{
	const struct gda_flight *f = &v->flight;
	u64 ticket, bytes = 0;

	for (ticket = f->head; ticket != f->tail; ticket++)
		bytes += v->requests[ticket & (f->size - 1)].len;
	return GDA_VERBS_SILENT_NS + bytes * GDA_VERBS_BYTE_NS;
}

/*
 * There was no completion: account for the time. A device that is silent for too long fails the
 * queue.
 */
static void gda_verbs_wait(struct gda_verbs_qp *v)
{
	u64 now = gda_inproc_now();

	if (v->silent_at)
		v->silent += min(now - v->silent_at, (u64)GDA_VERBS_GAP_NS);
	v->silent_at = now;
	if (likely(v->silent < GDA_VERBS_SILENT_NS) || v->silent < gda_verbs_patience(v))
		return;
	v->silent = 0;
	gda_os_cmpxchg32(&v->qp->engine_qp.fail, 0,
			 GDA_STATUS(GDA_CLASS_RETRY, GDA_CAUSE_FABRIC));
}

u32 gda_verbs_visit(struct gda_inproc_qp *qp, u32 wqes, u32 bytes)
{
	struct gda_verbs_qp *v = qp->priv;
	u32 in_flight = gda_flight_count(&v->flight), n = 0;

	if (in_flight || v->fabric.nrecv)
		n = gda_fabric_poll(&v->fabric, &v->flight, wqes);
	if (n || !in_flight) {
		v->silent = 0;
		v->silent_at = 0;
	} else {
		gda_verbs_wait(v);
	}
	n += gda_fabric_deliver(&v->fabric, &v->flight);
	n += gda_fabric_post(&v->fabric, &v->flight, wqes, bytes);
	if (unlikely(gda_flight_stopped(&v->flight)))
		gda_verbs_hasten(v);
	return n + gda_flight_retire(&v->flight, wqes);
}
