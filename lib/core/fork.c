// SPDX-License-Identifier: MIT
/*
 * fork(2). A view is private memory of its process, and the queue behind it is shared: a
 * child that posted through its copy would overwrite what the parent posts. So in the
 * child every view that it inherited is cut off from its queue: no pointer leads to it any
 * more, and the counters say that the ring is full and has failed, which
 * the slow paths of gda/fastpath.h report as they report any queue in error. The fast path
 * has no instruction for it.
 *
 * Descriptors of the library are closed in the child (fds.c), and a device's files with what is
 * mapped of them: while a child had them the device would not learn that the parent has died.
 *
 * Lock order: that of waited.c, gda_fork_lock, then the lock of each context, then that of fds.c.
 * All are held while the process forks, so the child finds the lists whole.
 */
#include <errno.h>
#include <string.h>
#include <gda/cause.h>
#include <gda/queue.h>
#include "gda_internal.h"

/* Beyond any index of a queue; the second beyond the first by more than any ring's length. */
#define GDA_DISASSOCIATED_COMPLETED	(1ULL << 61)
#define GDA_DISASSOCIATED_RESERVED	(GDA_DISASSOCIATED_COMPLETED + (1ULL << 60))

static pthread_mutex_t gda_fork_lock = PTHREAD_MUTEX_INITIALIZER;
static struct gda_context *gda_contexts;
static unsigned int gda_generation;
static pthread_once_t gda_fork_once = PTHREAD_ONCE_INIT;
static int gda_fork_error;

/* Where the views of a child lead: a doorbell and its record; an entry without a completion. */
static struct {
	uint8_t none[GDA_CQE_MAX_BYTES] __attribute__((aligned(64)));
	uint64_t db;
	uint32_t dbrec;
	uint32_t record;
	uint32_t abort;
} gda_disassociated;

static void gda_disassociate_init(void)
{
	memset(gda_disassociated.none, 0xff, sizeof(gda_disassociated.none));
	gda_disassociated.abort = 1;
}

/*
 * Cut an inherited view off from its queue. Posts find a full ring, so the send queue is never
 * accessed; the slot words are the child's own copy. Work known to be done stays done; a queue
 * that had not failed has failed now, at the first index that was not done.
 */
static void gda_view_disassociate(struct gda_view *v)
{
	if (v->error_index == GDA_NO_ERROR) {
		v->error_index = v->completed;
		v->error = GDA_CAUSE_FORK << 8 | gda_cqe_queue_error(v->dialect);
	}
	v->completed = GDA_DISASSOCIATED_COMPLETED;
	v->reserved = GDA_DISASSOCIATED_RESERVED;
	v->exclusive_done = GDA_NOT_EXCLUSIVE;
	v->deferred = 0;
	v->flushed = 0;
	v->sq = 0;
	v->dbrec = (uintptr_t)&gda_disassociated.dbrec;
	v->db = (uintptr_t)&gda_disassociated.db;
	v->cq = (uintptr_t)gda_disassociated.none;
	v->abort = (uintptr_t)&gda_disassociated.abort;
	v->owner = 0;
	v->caps &= ~GDA_VIEW_RING;
}

bool gda_view_is_inherited(const struct gda_view *v)
{
	return v->dbrec == (uintptr_t)&gda_disassociated.dbrec;
}

/* It becomes a ring of one entry, which is an error. */
static void gda_cq_view_disassociate(struct gda_cq *cq)
{
	struct gda_cq_view *v = &cq->view;

	gda_cqe_write_error(v->dialect, cq->orphan, GDA_CAUSE_FORK);
	v->entries = (uintptr_t)cq->orphan;
	v->record = (uintptr_t)&gda_disassociated.record;
	v->mask = 0;
	v->next = 0;
	v->error = EIO;
	v->owner = 0;
	v->caps = 0;
}

static void gda_fork_prepare(void)
{
	struct gda_context *ctx;

	gda_waited_hold();
	pthread_mutex_lock(&gda_fork_lock);
	for (ctx = gda_contexts; ctx; ctx = ctx->next)
		pthread_mutex_lock(&ctx->lock);
	gda_fd_prepare();
}

static void gda_fork_unlock(void)
{
	struct gda_context *ctx;

	for (ctx = gda_contexts; ctx; ctx = ctx->next)
		pthread_mutex_unlock(&ctx->lock);
	pthread_mutex_unlock(&gda_fork_lock);
	gda_waited_release();
}

static void gda_fork_parent(void)
{
	gda_fd_parent();
	gda_fork_unlock();
}

static void gda_fork_child(void)
{
	struct gda_context *ctx;
	struct gda_qp *qp;
	struct gda_cq *cq;

	gda_fd_child();
	gda_generation++;
	gda_disassociate_init();
	for (ctx = gda_contexts; ctx; ctx = ctx->next) {
		ctx->ops->forked(ctx);
		for (qp = ctx->qps; qp; qp = qp->next)
			if (qp->has_view)
				gda_view_disassociate(&qp->view);
		for (cq = ctx->cqs; cq; cq = cq->next)
			if (cq->entries && cq->record)
				gda_cq_view_disassociate(cq);
	}
	gda_fork_unlock();
}

static void gda_fork_register(void)
{
	gda_fork_error = -pthread_atfork(gda_fork_prepare, gda_fork_parent, gda_fork_child);
}

unsigned int gda_fork_generation(void)
{
	return gda_generation;
}

int gda_fork_init(void)
{
	pthread_once(&gda_fork_once, gda_fork_register);
	return gda_fork_error;
}

void gda_fork_add_context(struct gda_context *ctx)
{
	pthread_mutex_lock(&gda_fork_lock);
	ctx->next = gda_contexts;
	gda_contexts = ctx;
	pthread_mutex_unlock(&gda_fork_lock);
}

void gda_fork_remove_context(struct gda_context *ctx)
{
	struct gda_context **link = &gda_contexts;

	pthread_mutex_lock(&gda_fork_lock);
	while (*link != ctx)
		link = &(*link)->next;
	*link = ctx->next;
	pthread_mutex_unlock(&gda_fork_lock);
}

void gda_fork_add_qp(struct gda_qp *qp)
{
	pthread_mutex_lock(&qp->ctx->lock);
	qp->next = qp->ctx->qps;
	qp->link = &qp->ctx->qps;
	if (qp->next)
		qp->next->link = &qp->next;
	*qp->link = qp;
	pthread_mutex_unlock(&qp->ctx->lock);
}

void gda_fork_remove_qp(struct gda_qp *qp)
{
	pthread_mutex_lock(&qp->ctx->lock);
	*qp->link = qp->next;
	if (qp->next)
		qp->next->link = qp->link;
	pthread_mutex_unlock(&qp->ctx->lock);
}

void gda_fork_add_cq(struct gda_cq *cq)
{
	pthread_mutex_lock(&cq->ctx->lock);
	cq->next = cq->ctx->cqs;
	cq->link = &cq->ctx->cqs;
	if (cq->next)
		cq->next->link = &cq->next;
	*cq->link = cq;
	pthread_mutex_unlock(&cq->ctx->lock);
}

void gda_fork_remove_cq(struct gda_cq *cq)
{
	pthread_mutex_lock(&cq->ctx->lock);
	*cq->link = cq->next;
	if (cq->next)
		cq->next->link = cq->link;
	pthread_mutex_unlock(&cq->ctx->lock);
}
