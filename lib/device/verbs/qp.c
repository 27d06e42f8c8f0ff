// SPDX-License-Identifier: MIT
/*
 * Queue pairs: an RC QP with two CQs each, whose states are those that rdma_cm asks for. The
 * CQs hold all that can be in flight, so they never overflow.
 */
#include <errno.h>
#include <stdlib.h>
#include "verbs_internal.h"

/* Return: NULL with errno. */
static struct ibv_qp *gda_verbs_ib_create(struct gda_verbs *verbs, struct ibv_cq *cq,
					  struct ibv_cq *recv_cq, u32 window, u32 inline_bytes)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = recv_cq,
		.cap = {
			.max_send_wr = window,
			.max_recv_wr = GDA_VERBS_RECVS,
			.max_send_sge = GDA_ENGINE_MAX_SGE,
			.max_recv_sge = 1,
			.max_inline_data = inline_bytes,
		},
		.qp_type = IBV_QPT_RC,
	};

	return gda_ibv.create_qp(verbs->pd, &attr);
}

/* Some drivers log each size that is too large: the first one is what most have. */
u32 gda_verbs_max_inline(struct gda_verbs *verbs)
{
	static const u32 sizes[] = { 512, 256, 128, 64, 32, 16 };
	struct ibv_cq *cq = gda_ibv.create_cq(verbs->dev, 1, NULL, NULL, 0);
	struct ibv_qp *qp = NULL;
	u32 i, found = 0;

	if (!cq)
		return 0;
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]) && !qp; i++) {
		qp = gda_verbs_ib_create(verbs, cq, cq, 1, sizes[i]);
		found = sizes[i];
	}
	if (qp)
		gda_ibv.destroy_qp(qp);
	gda_ibv.destroy_cq(cq);
	return qp ? found : 0;
}

/* A power of two, as flights want it. */
static u32 gda_verbs_window(const struct gda_verbs *verbs, u32 depth)
{
	u32 window = min(depth, GDA_VERBS_WINDOW);

	while (window > (u32)verbs->attr.max_qp_wr || window > (u32)verbs->attr.max_cqe)
		window /= 2;
	return window;
}

static int gda_verbs_ib_make(struct gda_verbs_qp *v, u32 window)
{
	struct gda_verbs *verbs = v->verbs;

	v->cq = gda_ibv.create_cq(verbs->dev, (int)window, NULL, NULL, 0);
	if (!v->cq)
		return -errno;
	v->recv_cq = gda_ibv.create_cq(verbs->dev, (int)GDA_VERBS_RECVS, NULL, NULL, 0);
	if (!v->recv_cq)
		return -errno;
	v->ib = gda_verbs_ib_create(verbs, v->cq, v->recv_cq, window, verbs->max_inline);
	return v->ib ? 0 : -errno;
}

static void gda_verbs_qp_destroy(struct gda_verbs_qp *v)
{
	/* failing, they are those of a device that is gone */
	if (v->ib)
		gda_ibv.destroy_qp(v->ib);
	if (v->recv_cq)
		gda_ibv.destroy_cq(v->recv_cq);
	if (v->cq)
		gda_ibv.destroy_cq(v->cq);
	free(v->requests);
	free(v);
}

int gda_verbs_qp_create(struct gda_inproc_qp *qp)
{
	struct gda_verbs *verbs = gda_verbs_of(qp->obj.ctx);
	u32 window = gda_verbs_window(verbs, qp->engine_qp.depth);
	struct gda_verbs_qp *v = calloc(1, sizeof(*v));
	int err = -ENOMEM;

	if (!v)
		return err;
	v->qp = qp;
	v->verbs = verbs;
	v->requests = calloc(window, sizeof(*v->requests));
	if (v->requests)
		err = gda_verbs_ib_make(v, window);
	if (err) {
		gda_verbs_qp_destroy(v);
		return err;
	}
	gda_flight_init(&v->flight, &qp->engine_qp, v->requests, window);
	qp->priv = v;
	qp->flight = &v->flight;
	gda_verbs_cm_add(v);
	return 0;
}

void gda_verbs_qp_free(struct gda_inproc_qp *qp)
{
	gda_verbs_qp_destroy(qp->priv);
}

/* Return: 0 or a negative errno. */
static int gda_verbs_qp_move(struct gda_verbs_qp *v, struct rdma_cm_id *id, enum ibv_qp_state state,
			     const struct rdma_conn_param *param)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int mask;

	if (gda_rdma.init_qp_attr(id, &attr, &mask))
		return -errno;
	/* the MR itself checks its rights */
	if (state == IBV_QPS_INIT) {
		attr.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				       IBV_ACCESS_REMOTE_READ;
		if (v->verbs->attr.atomic_cap != IBV_ATOMIC_NONE)
			attr.qp_access_flags |= IBV_ACCESS_REMOTE_ATOMIC;
		mask |= IBV_QP_ACCESS_FLAGS;
	} else if (state == IBV_QPS_RTR) {
		attr.min_rnr_timer = GDA_VERBS_RNR_TIMER;
		attr.max_dest_rd_atomic = min(attr.max_dest_rd_atomic, param->responder_resources);
	} else {
		attr.timeout = GDA_VERBS_TIMEOUT;
		attr.retry_cnt = GDA_VERBS_RETRY;
		attr.rnr_retry = GDA_VERBS_RNR_RETRY;
		attr.max_rd_atomic = min(attr.max_rd_atomic, param->initiator_depth);
	}
	return -gda_ibv.modify_qp(v->ib, &attr, mask);
}

int gda_verbs_qp_init(struct gda_verbs_qp *v, struct rdma_cm_id *id)
{
	int err = gda_verbs_qp_move(v, id, IBV_QPS_INIT, NULL);
	u32 i;

	/* without a CQ for immediates there is never room for one */
	for (i = 0; !err && v->qp->parts.recv_cq.cq && i < GDA_VERBS_RECVS; i++)
		gda_verbs_recv(v);
	return err;
}

int gda_verbs_qp_ready(struct gda_verbs_qp *v, struct rdma_cm_id *id,
		       struct rdma_conn_param *param)
{
	int err = gda_verbs_qp_move(v, id, IBV_QPS_RTR, param);

	return err ? err : gda_verbs_qp_move(v, id, IBV_QPS_RTS, param);
}
