// SPDX-License-Identifier: MIT
/*
 * fork(2): the contexts, QPs and CQs of the process. In the child every view that it inherited is
 * cut off from its queue (inherited.c).
 *
 * Descriptors of the library (fds.c) and a device's files and mappings are closed in the child:
 * while a child kept them the device would not notice that the parent has died.
 *
 * Lock order: that of waited.c, gda_fork_lock, then the lock of each context, then that of fds.c.
 * All are held while the process forks, so the child finds the lists consistent.
 */
#include "gda_internal.h"

static pthread_mutex_t gda_fork_lock = PTHREAD_MUTEX_INITIALIZER;
static struct gda_context *gda_contexts;
static unsigned int gda_generation;
static pthread_once_t gda_fork_once = PTHREAD_ONCE_INIT;
static int gda_fork_error;

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

/* Install the fork handlers before the first descriptor is listed: they close what is listed. */
void gda_fd_lock(void)
{
	gda_fork_init();
	gda_fd_prepare();
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
