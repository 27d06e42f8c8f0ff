// SPDX-License-Identifier: MIT
/*
 * RDMA handles, seen from the host: each is a QP, created and connected here and used only by
 * tasks. The pool knows handles by number. An event is exported as an address and a key of the
 * context's MR.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "dpa_internal.h"

#define GDA_DPA_CAN	(GDA_CAN_ORDER | GDA_CAN_SIGNAL | GDA_CAN_ATOMIC)
#define GDA_DPA_DEPTH	256U

int gda_dpa_check_view(const struct gda_view *view)
{
	if ((view->can & GDA_DPA_CAN) == GDA_DPA_CAN)
		return 0;
	return gda_because(-EOPNOTSUPP,
			   "the queue lacks %s: use soft0 or inproc, and not GDA_DIALECT=efa",
			   !(view->can & GDA_CAN_ORDER) ? "GDA_CAN_ORDER" :
			   !(view->can & GDA_CAN_SIGNAL) ? "GDA_CAN_SIGNAL" : "GDA_CAN_ATOMIC");
}

static int gda_dpa_rdma_attr_read(struct gda_dpa_rdma_attr *a,
				  const struct gda_dpa_rdma_attr *theirs)
{
	int err = 0;

	memset(a, 0, sizeof(*a));
	if (theirs)
		err = gda_struct_read(a, sizeof(*a),
				      GDA_THROUGH(struct gda_dpa_rdma_attr, timeout_ns), theirs);
	if (err)
		return err;
	if (a->flags)
		return gda_because(-EOPNOTSUPP, "flags %#x: set it to 0", a->flags);
	if (a->reserved)
		return gda_because(-EINVAL,
				   "reserved is not 0: set all members that are not used to 0");
	a->sq_depth = a->sq_depth ? a->sq_depth : GDA_DPA_DEPTH;
	return 0;
}

static int gda_dpa_rdma_queue(struct gda_dpa_rdma *r, const struct gda_dpa_rdma_attr *attr)
{
	struct gda_view *view;
	struct gda_qp_attr qp = {
		.size = sizeof(qp), .sq_depth = attr->sq_depth, .timeout_ns = attr->timeout_ns,
		.recv_cq = r->dpa->wake_cq,
	};
	int err = gda_because_last(gda_qp_create(r->dpa->ctx, &qp, &r->qp));

	if (err)
		return err;
	view = gda_qp_view(r->qp);
	err = view ? gda_dpa_check_view(view) : -EINVAL;
	if (err)
		return err;
	view->abort = (uintptr_t)&r->dpa->map.header->stop;
	return 0;
}

static int gda_dpa_rdma_build(struct gda_dpa_rdma *r, const struct gda_dpa_rdma_attr *attr)
{
	int err;

	/* additions store the old value there */
	err = gda_because_last(gda_dpa_alloc(r->dpa, sizeof(uint64_t), &r->scratch));
	if (!err)
		err = gda_because_last(gda_dpa_heap_buf(r->dpa, r->scratch, sizeof(uint64_t),
							&r->fetched));
	if (!err)
		err = gda_dpa_rdma_queue(r, attr);
	if (!err)
		err = gda_dpa_number_handle(r->dpa, r, &r->handle);
	return err;
}

static void gda_dpa_rdma_release(struct gda_dpa_rdma *r)
{
	struct gda_reason reason;

	gda_reason_save(&reason);
	if (r->handle)
		gda_dpa_drop_handle(r->dpa, r->handle);
	gda_qp_destroy(r->qp);
	if (r->scratch)
		gda_dpa_free(r->dpa, r->scratch);
	gda_dpa_threads_give(1);
	free(r);
	gda_reason_restore(&reason);
}

static int gda_dpa_rdma_new(struct gda_dpa *dpa, const struct gda_dpa_rdma_attr *theirs,
			    struct gda_dpa_rdma **rdma)
{
	struct gda_dpa_rdma_attr attr;
	struct gda_dpa_rdma *r;
	int err = gda_dpa_enter(dpa);

	if (!err)
		err = gda_dpa_rdma_attr_read(&attr, theirs);
	if (!err)
		err = gda_dpa_threads_take(1);
	if (err)
		return err;
	r = calloc(1, sizeof(*r));
	if (!r) {
		gda_dpa_threads_give(1);
		return -ENOMEM;
	}
	r->dpa = dpa;
	err = gda_dpa_rdma_build(r, &attr);
	if (err) {
		gda_dpa_rdma_release(r);
		return err;
	}
	pthread_mutex_lock(&dpa->lock);
	r->next = dpa->rdmas;
	dpa->rdmas = r;
	pthread_mutex_unlock(&dpa->lock);
	*rdma = r;
	return 0;
}

GDA_EXPORT int gda_dpa_rdma_create(struct gda_dpa *dpa, const struct gda_dpa_rdma_attr *attr,
				   struct gda_dpa_rdma **rdma)
{
	return gda_called(gda_dpa_rdma_new(dpa, attr, rdma), "gda_dpa_rdma_create", "%p",
			  (const void *)attr);
}

void gda_dpa_rdma_drop_all(struct gda_dpa *dpa)
{
	struct gda_dpa_rdma *r;

	while ((r = dpa->rdmas)) {
		dpa->rdmas = r->next;
		gda_dpa_rdma_release(r);
	}
}

GDA_EXPORT int gda_dpa_rdma_destroy(struct gda_dpa_rdma *rdma)
{
	struct gda_dpa_rdma **link;
	struct gda_dpa *dpa;

	if (!rdma)
		return 0;
	dpa = rdma->dpa;
	/* in a child of fork(2) the QP, the number and the socket belong to the parent */
	if (dpa->generation != gda_fork_generation()) {
		free(rdma);
		return 0;
	}
	pthread_mutex_lock(&dpa->lock);
	for (link = &dpa->rdmas; *link != rdma;)
		link = &(*link)->next;
	*link = rdma->next;
	pthread_mutex_unlock(&dpa->lock);
	gda_dpa_rdma_release(rdma);
	return gda_called(0, "gda_dpa_rdma_destroy", "%p", (void *)rdma);
}

GDA_EXPORT int gda_dpa_rdma_address(struct gda_dpa_rdma *rdma, struct gda_address *addr)
{
	int err = gda_dpa_enter(rdma->dpa);

	if (!err)
		err = gda_because_last(gda_qp_address(rdma->qp, addr));
	return gda_called(err, "gda_dpa_rdma_address", "%u", rdma->handle);
}

GDA_EXPORT int gda_dpa_rdma_connect(struct gda_dpa_rdma *rdma, const struct gda_address *peer)
{
	int err = gda_dpa_enter(rdma->dpa);

	if (!err)
		err = gda_because_last(gda_qp_connect(rdma->qp, peer));
	return gda_called(err, "gda_dpa_rdma_connect", "%u", rdma->handle);
}

GDA_EXPORT int gda_dpa_rdma_query(struct gda_dpa_rdma *rdma, struct gda_qp_query *query)
{
	int err = gda_dpa_enter(rdma->dpa);

	if (!err)
		err = gda_because_last(gda_qp_query(rdma->qp, query));
	return gda_called(err, "gda_dpa_rdma_query", "%u", rdma->handle);
}

GDA_EXPORT uint32_t gda_dpa_rdma_handle(const struct gda_dpa_rdma *rdma)
{
	return rdma->handle;
}

static int gda_dpa_event_tell(struct gda_dpa_event *event, struct gda_dpa_remote_event *remote)
{
	struct gda_dpa *dpa = event->dpa;
	int err = gda_dpa_enter(dpa);

	if (err)
		return err;
	if (!(event->publishers & GDA_DPA_PEERS))
		return gda_because(-EACCES,
				   "peers are no publisher of the event: create it with GDA_DPA_PEERS among publishers");
	*remote = (struct gda_dpa_remote_event) {
		.addr = gda_mr_iova(dpa->mr) +
			(uint64_t)((char *)&dpa->map.words[event->handle].value - dpa->map.base) -
			dpa->map.mr_offset,
		.key = gda_mr_key(dpa->mr),
		.flags = dpa->wake_cq ? GDA_DPA_REMOTE_WAKES : 0,
	};
	return 0;
}

GDA_EXPORT int gda_dpa_event_export(struct gda_dpa_event *event,
				    struct gda_dpa_remote_event *remote)
{
	return gda_called(gda_dpa_event_tell(event, remote), "gda_dpa_event_export", "event %u",
			  event->handle);
}
