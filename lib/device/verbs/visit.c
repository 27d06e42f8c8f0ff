// SPDX-License-Identifier: MIT
/*
 * A visit of a queue: take what its RDMA device has completed, post what is next as one chain,
 * let outcomes leave. Nothing here waits: a visit ends when there is nothing more to do now,
 * and whoever visits next finds what has come meanwhile. So a worker that only waits for the
 * fabric goes to rest as one that has no work does (lib/device/inproc/worker.c).
 *
 * Only the last request of a chain is signaled: an RC QP completes in order, so its completion
 * says that all before it are done, and an error of one that those before it are.
 */
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <gda/wc.h>
#include "access.h"
#include "verbs_internal.h"

/* Completions that are taken at once. */
#define GDA_VERBS_POLL		16

/* How long a QP may take to flush what is in flight, before it is reset: ns. */
#define GDA_VERBS_FLUSH_NS	1000000000U

/*
 * An RDMA device that gives up after GDA_VERBS_RETRY tries, or GDA_VERBS_RNR_RETRY, has said so
 * after this time without a completion, and after the time that its bytes take at 1 MB/s.
 */
#define GDA_VERBS_SILENT_NS	8000000000U
#define GDA_VERBS_BYTE_NS	1000U

/* The most that counts between two visits: the process may have been stopped. */
#define GDA_VERBS_GAP_NS	100000000U

static_assert(IBV_WC_SUCCESS == 0 && IBV_WC_WR_FLUSH_ERR == 5 && IBV_WC_REM_ACCESS_ERR == 10 &&
	      IBV_WC_RNR_RETRY_EXC_ERR == 13 && IBV_WC_FATAL_ERR == 19 &&
	      IBV_WC_GENERAL_ERR == 21, "gda/wc.h knows them by these numbers");

/* A chain that is being made. */
struct gda_verbs_chain {
	struct ibv_send_wr wr[GDA_VERBS_CHAIN];
	struct ibv_sge sge[GDA_VERBS_CHAIN][GDA_ENGINE_MAX_SGE];
	u32 n;
	u32 inlined;			/* bytes of v->data */
	u32 bytes;
};

static struct gda_status gda_verbs_status(u32 status)
{
	u32 st = gda_wc_status(status);

	return gda_status((u8)st, (u8)(st >> 8));
}

static void gda_verbs_report(struct gda_verbs_qp *v, const struct ibv_wc *wc)
{
	if (wc->status == IBV_WC_SUCCESS) {
		gda_flight_done_through(&v->flight, wc->wr_id);
		return;
	}
	if (wc->wr_id)
		gda_flight_done_through(&v->flight, wc->wr_id - 1);
	gda_flight_done(&v->flight, wc->wr_id, gda_verbs_status(wc->status));
}

static u32 gda_verbs_poll(struct gda_verbs_qp *v)
{
	struct ibv_wc wc[GDA_VERBS_POLL];
	u32 found = 0;
	int i, n;

	if (!gda_flight_count(&v->flight))
		return 0;
	do {
		n = ibv_poll_cq(v->cq, GDA_VERBS_POLL, wc);
		for (i = 0; i < n; i++)
			gda_verbs_report(v, &wc[i]);
		found += n > 0 ? (u32)n : 0;
	} while (n == GDA_VERBS_POLL);
	return found;
}

void gda_verbs_recv(struct gda_verbs_qp *v)
{
	struct ibv_recv_wr wr = { .num_sge = 0 }, *bad;

	/* a QP that has failed takes none, and needs none */
	(void)ibv_post_recv(v->ib, &wr, &bad);
}

/* Hand an immediate on. Return: false if it has to wait for room. */
static bool gda_verbs_arrived(struct gda_verbs_qp *v)
{
	/* the peer may have asked for an event, and its completion does not say so */
	v->holds = !gda_flight_arrived(&v->flight, ntohl(v->held.imm_data), v->held.byte_len, true);
	if (v->holds)
		return false;
	gda_verbs_recv(v);
	return true;
}

/* Take immediates that have come. A receive is posted again when its immediate has room. */
static u32 gda_verbs_poll_recv(struct gda_verbs_qp *v, u32 most)
{
	u32 n = 0;

	if (v->holds && !gda_verbs_arrived(v))
		return 0;
	while (n < most && ibv_poll_cq(v->recv_cq, 1, &v->held) == 1) {
		if (v->held.status != IBV_WC_SUCCESS)
			continue;
		/* a peer of GDA sends nothing else, and imm_data of another receive is not valid */
		if (v->held.opcode != IBV_WC_RECV_RDMA_WITH_IMM) {
			gda_verbs_fail(v, GDA_STATUS(GDA_CLASS_QUEUE, GDA_CAUSE_FABRIC));
			break;
		}
		if (!gda_verbs_arrived(v))
			break;
		n++;
	}
	return n;
}

/* Check the local segments, and name them as the RDMA device does. */
static struct gda_status gda_verbs_local(const struct gda_verbs_qp *v, const struct gda_work *work,
					 struct ibv_sge *sge)
{
	u32 access = work->op == GDA_OP_WRITE || work->op == GDA_OP_WRITE_IMM ?
		     0 : GDA_ACCESS_LOCAL_WRITE;
	u32 i;

	for (i = 0; i < work->nsge; i++) {
		const struct gda_verbs_mr *m = gda_verbs_mr_find(v->verbs, work->sge[i].key);
		u8 cause = gda_access_check(m ? &m->mr->mem : NULL, v->qp->engine_qp.pd,
					    &work->sge[i], access);

		if (cause)
			return gda_status(GDA_CLASS_LOCAL, cause);
		sge[i].addr = work->sge[i].addr;
		sge[i].length = work->sge[i].len;
		sge[i].lkey = m->ib->lkey;
	}
	return gda_status(GDA_CLASS_NONE, GDA_CAUSE_NONE);
}

/* Fill in the operation. Return: false if the RDMA device has none like it. */
static bool gda_verbs_opcode(const struct gda_work *work, struct ibv_send_wr *wr)
{
	wr->wr.rdma.remote_addr = work->remote.addr;
	wr->wr.rdma.rkey = work->remote.key;
	switch (work->op) {
	case GDA_OP_WRITE:
		wr->opcode = IBV_WR_RDMA_WRITE;
		return true;
	case GDA_OP_WRITE_IMM:
		wr->opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
		wr->imm_data = htonl(work->imm);
		return true;
	case GDA_OP_READ:
		wr->opcode = IBV_WR_RDMA_READ;
		return true;
	case GDA_OP_FETCH_ADD:
		wr->opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
		wr->wr.atomic.compare_add = work->swap_add;
		break;
	case GDA_OP_COMPARE_SWAP:
		wr->opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
		wr->wr.atomic.compare_add = work->compare;
		wr->wr.atomic.swap = work->swap_add;
		break;
	default:
		return false;
	}
	wr->wr.atomic.remote_addr = work->remote.addr;
	wr->wr.atomic.rkey = work->remote.key;
	return true;
}

/* Append a work request to the chain. Return: success, or why it is refused. */
static struct gda_status gda_verbs_append(struct gda_verbs_qp *v, const struct gda_work *work,
					  struct gda_verbs_chain *chain)
{
	struct ibv_send_wr *wr = &chain->wr[chain->n];
	struct ibv_sge *sge = chain->sge[chain->n];
	struct gda_status st;

	*wr = (struct ibv_send_wr) { .sg_list = sge, .num_sge = work->nsge };
	if (!gda_verbs_opcode(work, wr))
		return gda_status(GDA_CLASS_QUEUE, GDA_CAUSE_OPCODE);
	if (work->op >= GDA_OP_FETCH_ADD && work->remote.addr % sizeof(u64))
		return gda_status(GDA_CLASS_INVALID_REQUEST, GDA_CAUSE_ALIGN);
	st = gda_verbs_local(v, work, sge);
	if (st.class)
		return st;
	if (work->remote.len > (work->inlined ? v->verbs->max_inline : v->verbs->max_msg))
		return gda_status(GDA_CLASS_LOCAL, GDA_CAUSE_LENGTH);
	if (work->flags & GDA_WORK_SOLICIT)
		wr->send_flags |= IBV_SEND_SOLICITED;
	if (work->inlined) {
		memcpy(v->data + chain->inlined, work->data, work->remote.len);
		sge->addr = (uintptr_t)v->data + chain->inlined;
		sge->length = work->remote.len;
		wr->num_sge = 1;
		wr->send_flags |= IBV_SEND_INLINE;
		chain->inlined += work->remote.len;
	}
	chain->bytes += work->remote.len;
	chain->n++;
	return st;
}

/* Begin what is next, and append it to the chain if the RDMA device is to carry it out. */
static void gda_verbs_begin(struct gda_verbs_qp *v, const struct gda_work *work,
			    struct gda_verbs_chain *chain)
{
	struct gda_status st = { GDA_CLASS_NONE, GDA_CAUSE_NONE };
	u32 n = chain->n;
	u64 ticket;

	if (work->op != GDA_OP_NOP)
		st = gda_verbs_append(v, work, chain);
	ticket = gda_flight_begin(&v->flight);
	if (chain->n == n)
		gda_flight_done(&v->flight, ticket, st);
	else
		chain->wr[n].wr_id = ticket;
}

static void gda_verbs_post_chain(struct gda_verbs_qp *v, struct gda_verbs_chain *chain)
{
	const struct gda_status refused = { GDA_CLASS_QUEUE, GDA_CAUSE_FABRIC };
	struct ibv_send_wr *bad = NULL;
	u32 i;

	for (i = 0; i + 1 < chain->n; i++)
		chain->wr[i].next = &chain->wr[i + 1];
	chain->wr[i].send_flags |= IBV_SEND_SIGNALED;
	if (!ibv_post_send(v->ib, chain->wr, &bad))
		return;
	/* earlier entries have no signal, so they are to be flushed */
	v->broken = true;
	for (; bad; bad = bad->next)
		gda_flight_done(&v->flight, bad->wr_id, refused);
}

/* Post what is next, at most @wqes and about @bytes. Return: how many were begun. */
static u32 gda_verbs_post(struct gda_verbs_qp *v, u32 wqes, u32 bytes)
{
	const struct gda_work *work = NULL;
	struct gda_verbs_chain chain;
	u32 n = 0;

	do {
		chain.n = 0;
		chain.inlined = 0;
		chain.bytes = 0;
		while (n < wqes && chain.n < GDA_VERBS_CHAIN && chain.bytes < bytes) {
			work = gda_flight_next(&v->flight);
			if (!work || (work->inlined && work->remote.len >
				      GDA_VERBS_INLINE_BYTES - chain.inlined))
				break;
			gda_verbs_begin(v, work, &chain);
			n++;
		}
		if (chain.n)
			gda_verbs_post_chain(v, &chain);
		bytes -= min(bytes, chain.bytes);
	} while (work && n < wqes && bytes);
	return n;
}

static int gda_verbs_set_state(struct gda_verbs_qp *v, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	return gda_ibv.modify_qp(v->ib, &attr, IBV_QP_STATE);
}

/*
 * The queue is to fail, for a reason that is not one of its requests': have the RDMA device
 * flush what is in flight, and take it away from one that does not. After an error of a request
 * there is nothing to hasten: what was begun before it still completes, what came behind it on
 * the fabric is flushed already.
 */
static void gda_verbs_hasten(struct gda_verbs_qp *v)
{
	const struct gda_status lost = { GDA_CLASS_QUEUE, GDA_CAUSE_FABRIC };
	const struct gda_status gone = { GDA_CLASS_QUEUE, GDA_CAUSE_DEVICE };
	bool removed = READ_ONCE(v->verbs->removed);

	if (!gda_flight_count(&v->flight) ||
	    !(v->broken || READ_ONCE(v->qp->engine_qp.fail)))
		return;
	if (!v->hastened && !removed) {
		v->hastened = true;
		v->since = gda_inproc_now();
		if (!gda_verbs_set_state(v, IBV_QPS_ERR))
			return;
	} else if (!removed && gda_inproc_now() - v->since < GDA_VERBS_FLUSH_NS) {
		return;
	}
	/* a device that is gone moves nothing, whatever it answers */
	gda_verbs_set_state(v, IBV_QPS_RESET);
	gda_flight_abandon(&v->flight, removed ? gone : lost);
}

/* How long may the RDMA device carry out what is in flight? ns */
static u64 gda_verbs_patience(const struct gda_verbs_qp *v)
{
	const struct gda_flight *f = &v->flight;
	u64 ticket, bytes = 0;

	for (ticket = f->head; ticket != f->tail; ticket++)
		bytes += v->requests[ticket & (f->size - 1)].len;
	return GDA_VERBS_SILENT_NS + bytes * GDA_VERBS_BYTE_NS;
}

/*
 * There was no completion: note the time. A device that is silent for too long is not waited
 * for any more.
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
	u32 n = gda_verbs_poll(v);

	if (n || !gda_flight_count(&v->flight)) {
		v->silent = 0;
		v->silent_at = 0;
	} else {
		gda_verbs_wait(v);
	}
	if (qp->parts.recv_cq.cq)
		n += gda_verbs_poll_recv(v, wqes);
	n += gda_verbs_post(v, wqes, bytes);
	if (unlikely(gda_flight_stopped(&v->flight)))
		gda_verbs_hasten(v);
	return n + gda_flight_retire(&v->flight, wqes);
}
