// SPDX-License-Identifier: MIT
/*
 * Queue pairs: each has an RC QP with its own CQ, moved through the states that rdma_cm requires.
 * The CQ has room for everything in flight, so it never overflows.
 */
#include <errno.h>
#include <stdlib.h>
#include "verbs_internal.h"

/* Return: NULL with errno. */
static struct ibv_qp *gda_verbs_ib_create(struct gda_verbs *verbs, struct ibv_cq *cq, u32 window,
					  u32 inline_bytes)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = {
			.max_send_wr = window,
			.max_recv_wr = GDA_VERBS_RECVS,
			.max_send_sge = GDA_WORK_SGE,
			.max_recv_sge = 1,
			.max_inline_data = inline_bytes,
		},
		.qp_type = IBV_QPT_RC,
	};

	return gda_ibv.create_qp(verbs->pd, &attr);
}

/*
 * Some drivers log every size that is too large, so the size that most drivers accept is tried
 * first.
 */
u32 gda_verbs_max_inline(struct gda_verbs *verbs)
{
	static const u32 sizes[] = { 512, 256, 128, 64, 32, 16 };
	struct ibv_cq *cq = gda_ibv.create_cq(verbs->dev, 1, NULL, NULL, 0);
	struct ibv_qp *qp = NULL;
	u32 i, found = 0;

	if (!cq)
		return 0;
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]) && !qp; i++) {
		qp = gda_verbs_ib_create(verbs, cq, 1, sizes[i]);
		found = sizes[i];
	}
	if (qp)
		gda_ibv.destroy_qp(qp);
	gda_ibv.destroy_cq(cq);
	return qp ? found : 0;
}

/* Work requests in flight: a power of two, as a flight needs. */
static u32 gda_verbs_window(const struct gda_verbs *verbs, u32 depth)
{
	u32 window = min(depth, GDA_VERBS_WINDOW);

	while (window > 1 && (window > (u32)verbs->attr.max_qp_wr ||
			      window + GDA_VERBS_RECVS > (u32)verbs->attr.max_cqe))
		window /= 2;
	return window;
}

static int gda_verbs_ib_make(struct gda_verbs_qp *v, u32 window)
{
	struct gda_verbs *verbs = v->verbs;

	v->fabric.cq = gda_ibv.create_cq(verbs->dev, (int)(window + GDA_VERBS_RECVS), NULL, NULL,
					 0);
	if (!v->fabric.cq)
		return -errno;
	v->fabric.qp = gda_verbs_ib_create(verbs, v->fabric.cq, window, verbs->max_inline);
	return v->fabric.qp ? 0 : -errno;
}

static void gda_verbs_qp_destroy(struct gda_verbs_qp *v)
{
	/* fails only if the device is gone */
	if (v->fabric.qp)
		gda_ibv.destroy_qp(v->fabric.qp);
	if (v->fabric.cq)
		gda_ibv.destroy_cq(v->fabric.cq);
	free(v->requests);
	free(v);
}

static u8 gda_verbs_reads(int most)
{
	return (u8)(most < (int)GDA_FABRIC_READS ? most : (int)GDA_FABRIC_READS);
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
	v->fabric.max_msg = verbs->max_msg;
	v->fabric.max_inline = verbs->max_inline;
	v->fabric.responds = gda_verbs_reads(verbs->attr.max_qp_rd_atom);
	v->fabric.initiates = gda_verbs_reads(verbs->attr.max_qp_init_rd_atom);
	v->fabric.atomic = verbs->attr.atomic_cap != IBV_ATOMIC_NONE;
	/* without a CQ for immediates none could ever be delivered */
	v->fabric.nrecv = qp->parts.recv_cq.cq ? GDA_VERBS_RECVS : 0;
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
