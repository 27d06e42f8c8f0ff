// SPDX-License-Identifier: MIT
/*
 * Queue pairs: create them, map them and fill in their views. A QP that is created without a CQ
 * gets its own collapsed one, which is destroyed with it.
 */
#include <errno.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>
#include "gda_internal.h"

#define GDA_DEFAULT_DEPTH 256

/* Choose the dialect: the creator's choice, else that of its CQs, if posters speak it. */
static int gda_qp_dialect(const struct gda_qp_attr *attr, uint32_t *dialect)
{
	*dialect = attr->dialect;
	if (!*dialect && attr->cq && gda_wqe_speaks(attr->cq->dialect))
		*dialect = attr->cq->dialect;
	if (!*dialect && attr->recv_cq && gda_wqe_speaks(attr->recv_cq->dialect))
		*dialect = attr->recv_cq->dialect;
	return gda_dialect_check(dialect);
}

static int gda_qp_take_cq(struct gda_qp *q, struct gda_cq *given, uint32_t dialect,
			  uint32_t depth)
{
	struct gda_cq_attr attr = {
		.size = sizeof(attr), .flags = GDA_CQ_COLLAPSED, .depth = 1,
	};
	int err;

	q->cq = given;
	if (given && gda_cqe_unordered(dialect))
		return gda_because(-EOPNOTSUPP,
				   "cq is given, but a QP in dialect %u has a ring of its own: set cq to NULL",
				   dialect);
	if (given && given->ctx != q->ctx)
		return gda_because(-EINVAL, "cq is of another context: use one context");
	if (given && given->dialect != dialect)
		return gda_because(-EINVAL,
				   "cq is in dialect %u, the QP in %u: create cq in that of the QP",
				   given->dialect, dialect);
	if (given)
		return 0;
	attr.dialect = dialect;
	if (gda_cqe_unordered(dialect)) {
		attr.flags = 0;
		attr.depth = depth;
	}
	err = gda_cq_new(q->ctx, &attr, &q->own_cq);
	q->cq = q->own_cq;
	return err;
}

static void gda_qp_unmap(struct gda_qp *q)
{
	if (q->credited)
		gda_credits_remove(q->cq, q->qpn, q->credited);
	gda_region_put(q->ctx, q->db);
	gda_region_put(q->ctx, q->dbrec);
	gda_region_put(q->ctx, q->sq);
	free(q->slots);
	free(q->marks);
}

/* Set the view's capabilities: those of the dialect, and those that the device adds. */
static int gda_view_promise(struct gda_view *v, struct gda_context *ctx)
{
	struct gda_query query = { .size = sizeof(query) };
	int err = gda_ioctl(ctx, GDA_IOC_QUERY, &query);

	if (err)
		return err;
	if (query.features[0] & GDA_FEATURE_IMM)
		v->can |= GDA_CAN_IMM;
	if (query.features[0] & GDA_FEATURE_MASKED && v->can & GDA_CAN_ATOMIC)
		v->can |= GDA_CAN_MASKED;
	if (query.features[0] & GDA_FEATURE_COUNTER)
		v->can |= GDA_CAN_COUNTER;
	/* a device may lack atomics of its dialect, and signals are words that programs poll */
	if (!(query.features[0] & GDA_FEATURE_ATOMIC))
		v->can &= ~GDA_CAN_ATOMIC;
	if (!(query.features[0] & GDA_FEATURE_WORD_STORE))
		v->can &= ~GDA_CAN_SIGNAL;
	if (query.max_inline < v->max_inline)
		v->max_inline = query.max_inline;
	return 0;
}

/* The CQ and the record of a view, where they are not the device's. */
static int gda_qp_stand_ins(struct gda_qp *q, const struct gda_qp_create *made,
			    struct gda_view_attr *attr)
{
	int err;

	if (gda_cqe_unordered(made->dialect)) {
		q->marks = calloc(1, GDA_VIEW_MARKS_BYTES);
		attr->marks = q->marks;
		return q->marks ? 0 : -ENOMEM;
	}
	if (q->cq->flags & GDA_CQ_COLLAPSED)
		return 0;
	memset(q->cell, 0xff, sizeof(q->cell));
	attr->cq = q->cell;
	err = gda_credits_add(q->cq, made->qpn, q->cell, made->sq_depth);
	if (!err) {
		q->credited = made->sq_depth;
		q->qpn = made->qpn;
	}
	return err;
}

/* Where the send queue, the record and the doorbell are mapped, or NULL. */
static int gda_qp_map_parts(struct gda_qp *q, const struct gda_qp_attr *how,
			    const struct gda_qp_create *made, struct gda_view_attr *attr)
{
	char *dbrec = NULL;
	void *record;
	int err = gda_place_get(q->ctx, how->sq, &made->sq, &q->sq, &attr->sq);

	if (gda_cqe_unordered(made->dialect)) {
		attr->dbrec = &q->own_dbrec;
	} else if (!err) {
		err = gda_place_get(q->ctx, how->dbrec, &made->dbrec, &q->dbrec, &record);
		dbrec = err ? NULL : record;
		attr->dbrec = dbrec ? dbrec + 4 : NULL;		/* [0] receive, [1] send */
	}
	return err ? err : gda_region_get(q->ctx, &made->db, &q->db, &attr->db);
}

/* Map what the kernel created and fill in the view. On failure gda_qp_unmap() cleans up. */
static int gda_qp_map(struct gda_qp *q, const struct gda_qp_attr *how,
		      const struct gda_qp_create *made)
{
	struct gda_view_attr attr = {
		.size = sizeof(attr),
		.cq = q->cq->entries,
		.depth = made->sq_depth,
		.qpn = made->qpn,
		.dialect = made->dialect,
		.timeout_ns = how->timeout_ns,
	};
	int err = gda_qp_map_parts(q, how, made, &attr);

	/* some parts are mapped only where the posters are */
	if (err || !attr.sq || !attr.dbrec || !attr.cq)
		return err;
	if (!(q->cq->flags & GDA_CQ_COLLAPSED) && !q->cq->record)
		return 0;
	err = gda_qp_stand_ins(q, made, &attr);
	if (err)
		return err == -ENOSPC ? 0 : err;
	q->slots = calloc(made->sq_depth, sizeof(*q->slots));
	if (!q->slots)
		return -ENOMEM;
	attr.slots = q->slots;
	q->has_view = 1;
	err = gda_view_make(&q->view, sizeof(q->view), &attr);
	if (!err)
		err = gda_view_promise(&q->view, q->ctx);
	if (!err) {
		q->view.owner = (uintptr_t)q;
		if (!(q->cq->flags & GDA_CQ_COLLAPSED))
			q->view.caps = GDA_VIEW_RING;
		gda_view_yield(&q->view, gda_crowded());
	}
	return err;
}

/* Check that the objects belong to @ctx: a handle means another object in another context. */
static int gda_qp_check_owner(const struct gda_context *ctx, const struct gda_qp_attr *attr,
			      uint32_t dialect)
{
	if (attr->recv_cq && attr->recv_cq->ctx != ctx)
		return gda_because(-EINVAL,
				   "recv_cq is of another context: use one context");
	if (attr->recv_cq && attr->recv_cq->dialect != dialect)
		return gda_because(-EINVAL,
				   "recv_cq is in dialect %u, the QP in %u: create it in that of the QP",
				   attr->recv_cq->dialect, dialect);
	if (attr->sent_counter && attr->sent_counter->ctx != ctx)
		return gda_because(-EINVAL,
				   "sent_counter is of another context: use one context");
	if (attr->recv_counter && attr->recv_counter->ctx != ctx)
		return gda_because(-EINVAL,
				   "recv_counter is of another context: use one context");
	return 0;
}

/* The timeout of a WAIT, also of one that is posted by hand; 0: the device's default. */
static uint32_t gda_qp_wait_ms(const struct gda_qp_attr *attr)
{
	uint64_t ms = attr->timeout_ns / 1000000 + (attr->timeout_ns % 1000000 != 0);

	return ms < UINT32_MAX ? (uint32_t)ms : UINT32_MAX;
}

static int gda_qp_ask(struct gda_context *ctx, struct gda_qp_create *arg)
{
	int err = gda_ioctl(ctx, GDA_IOC_QP_CREATE, arg);

	if (err != -EOPNOTSUPP || !arg->wait_ms)
		return err;
	/* the device has no WAIT, and so no timeout for it */
	arg->wait_ms = 0;
	return gda_ioctl(ctx, GDA_IOC_QP_CREATE, arg);
}

/* @attr is a copy that the library owns, places included. */
static int gda_qp_new(struct gda_context *ctx, const struct gda_qp_attr *attr,
		      struct gda_qp **qp)
{
	struct gda_qp_create arg = {
		.size = sizeof(arg),
		.flags = attr->flags | (attr->sq ? GDA_QP_SQ_DMABUF : 0) |
			 (attr->dbrec ? GDA_QP_DBREC_DMABUF : 0),
		.sq_depth = attr->sq_depth ? attr->sq_depth : GDA_DEFAULT_DEPTH,
		.sq_memory = gda_place_memory(attr->sq),
		.dbrec_memory = gda_place_memory(attr->dbrec),
		.user_index = attr->user_index,
		.rnr_retry = attr->rnr_retry,
		.min_rnr_timer = attr->min_rnr_timer,
		.wait_ms = gda_qp_wait_ms(attr),
	};
	struct gda_qp *q = aligned_alloc(alignof(struct gda_qp), sizeof(*q));
	int err;

	if (!q)
		return -ENOMEM;
	memset(q, 0, sizeof(*q));
	q->ctx = ctx;
	err = gda_qp_dialect(attr, &arg.dialect);
	if (!err && gda_cqe_unordered(arg.dialect))
		arg.sq_entry = gda_wqe_slot_bytes(arg.dialect);
	if (!err)
		err = gda_qp_take_cq(q, attr->cq, arg.dialect, arg.sq_depth);
	if (err)
		goto err_free;
	err = gda_qp_check_owner(ctx, attr, arg.dialect);
	if (err)
		goto err_cq;
	q->dialect = arg.dialect;
	arg.cq = q->cq->handle;
	arg.recv_cq = attr->recv_cq ? attr->recv_cq->handle : 0;
	arg.sent_counter = attr->sent_counter ? attr->sent_counter->handle : 0;
	arg.recv_counter = attr->recv_counter ? attr->recv_counter->handle : 0;
	err = gda_qp_ask(ctx, &arg);
	if (err)
		goto err_cq;
	q->handle = arg.handle;
	err = gda_qp_map(q, attr, &arg);
	if (err)
		goto err_unmap;
	gda_fork_add_qp(q);
	*qp = q;
	return 0;

err_unmap:
	gda_destroy_handle(ctx, q->handle);
	gda_qp_unmap(q);
err_cq:
	gda_cq_drop(q->own_cq);
err_free:
	free(q);
	return err;
}

GDA_EXPORT int gda_qp_create(struct gda_context *ctx, const struct gda_qp_attr *attr,
			     struct gda_qp **qp)
{
	struct gda_place sq, dbrec;
	struct gda_qp_attr a = { 0 };
	int err;

	if (attr)
		err = gda_struct_read(&a, sizeof(a), GDA_THROUGH(struct gda_qp_attr, dbrec), attr);
	else
		err = gda_because(-EINVAL, "attr is NULL: give one with its size set");
	if (!err)
		err = gda_place_read(&a.sq, &sq);
	if (!err)
		err = gda_place_read(&a.dbrec, &dbrec);
	if (!err && a.reserved2)
		err = -EOPNOTSUPP;
	if (!err) {
		err = gda_qp_new(ctx, &a, qp);
		if (err)
			gda_why_qp(ctx, err, &a);
		else
			gda_debug_add(*qp);
	}
	return gda_called(err, "gda_qp_create", "fd %d, sq_depth %u, flags %#x%s%s", ctx->fd,
			  a.sq_depth, a.flags, a.sq ? ", sq" : "", a.dbrec ? ", dbrec" : "");
}

GDA_EXPORT int gda_qp_destroy(struct gda_qp *qp)
{
	uint32_t handle;
	int err;

	if (!qp)
		return 0;
	gda_debug_remove(qp->ctx, qp);
	gda_waited_destroyed();
	handle = qp->handle;
	err = gda_destroy_handle(qp->ctx, handle);
	if (err != -EBUSY) {
		if (qp->peer.handle)
			gda_destroy_handle(qp->ctx, qp->peer.handle);
		gda_fork_remove_qp(qp);
		gda_qp_unmap(qp);
		gda_cq_drop(qp->own_cq);
		free(qp);
	}
	return gda_called(err, "gda_qp_destroy", "QP %u", handle);
}

GDA_EXPORT int gda_qp_address(struct gda_qp *qp, struct gda_address *addr)
{
	struct gda_qp_address arg = { .size = sizeof(arg), .handle = qp->handle };
	int err = gda_ioctl(qp->ctx, GDA_IOC_QP_ADDRESS, &arg);

	if (!err)
		memcpy(addr->bytes, arg.address, sizeof(addr->bytes));
	return gda_called(err, "gda_qp_address", "QP %u", qp->handle);
}

/* The QP is not connected, but what is posted to it is for @peer from now on. */
static int gda_qp_name(struct gda_qp *qp, const struct gda_address *address)
{
	struct gda_peer peer;
	int err;

	if (qp->peer.handle)
		return -EALREADY;
	err = gda_peer_make(qp->ctx, address, &peer);
	if (err)
		return err;
	qp->peer = peer;
	gda_view_peer(&qp->view, &peer);
	return 0;
}

GDA_EXPORT int gda_qp_connect(struct gda_qp *qp, const struct gda_address *peer)
{
	struct gda_qp_connect arg = { .size = sizeof(arg), .handle = qp->handle };

	if (qp->has_view && gda_cqe_unordered(qp->view.dialect))
		return gda_called(gda_qp_name(qp, peer), "gda_qp_connect", "QP %u", qp->handle);
	memcpy(arg.address, peer->bytes, sizeof(arg.address));
	return gda_called(gda_why_connect(qp->ctx,
					  gda_ioctl(qp->ctx, GDA_IOC_QP_CONNECT, &arg)),
			  "gda_qp_connect", "QP %u", qp->handle);
}

GDA_EXPORT int gda_qp_query(struct gda_qp *qp, struct gda_qp_query *query)
{
	struct gda_qp_query arg = { .size = sizeof(arg), .handle = qp->handle };
	int err = gda_struct_check(query, GDA_THROUGH(struct gda_qp_query, bytes));

	if (!err) {
		arg.flags = query->flags;
		err = gda_ioctl(qp->ctx, GDA_IOC_QP_QUERY, &arg);
	}
	if (!err)
		gda_struct_write(query, &arg, sizeof(arg));
	return gda_called(err, "gda_qp_query", "QP %u", qp->handle);
}

GDA_EXPORT struct gda_view *gda_qp_view_spoken(struct gda_qp *qp, size_t size, uint64_t spoken)
{
	int err = gda_view_fits(size);

	if (!err && !qp->has_view)
		err = gda_because(-EINVAL,
				  "its CQ is a ring that is too small for it, or a part of it is not mapped here: create a deeper one here");
	if (!err)
		err = gda_dialect_spoken(qp->view.dialect, spoken);
	if (!err)
		return &qp->view;
	gda_called(err, "gda_qp_view", "QP %u", qp->handle);
	return NULL;
}

GDA_EXPORT struct gda_view *gda_qp_view_sized(struct gda_qp *qp, size_t size)
{
	return gda_qp_view_spoken(qp, size, 1ULL << GDA_WQE_FIRST);
}
