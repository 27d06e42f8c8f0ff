// SPDX-License-Identifier: MIT
/*
 * With GDA_DEBUG in the environment, print the first error of each queue on stderr, whoever posted
 * to it: a thread queries the state of every QP, and each QP is queried a last time before it is
 * destroyed. Without GDA_DEBUG nothing here runs.
 *
 * gda_debug_lock guards the list. It is held during a query, so that no listed QP is destroyed
 * meanwhile. The device's own locks nest inside it.
 */
#include <errno.h>
#include <signal.h>
#include <time.h>
#include "gda_internal.h"

#define GDA_DEBUG_PERIOD_NS	20000000L

static pthread_mutex_t gda_debug_lock = PTHREAD_MUTEX_INITIALIZER;
static struct gda_qp *gda_debug_qps;
static int gda_debug_running;
static pthread_once_t gda_debug_fork = PTHREAD_ONCE_INIT;

/* Print the first error of @qp, unless it was printed before. */
static void gda_debug_look(struct gda_qp *qp)
{
	struct gda_qp_query q = { .size = sizeof(q), .handle = qp->handle };

	if (qp->debug_failed || gda_ioctl(qp->ctx, GDA_IOC_QP_QUERY, &q) ||
	    q.state != GDA_QP_ERROR)
		return;
	qp->debug_failed = 1;
	gda_debug("QP %u of fd %d (number %#x) failed at ticket %llu: %s: %s", qp->handle,
		  qp->ctx->fd, q.qpn, (unsigned long long)q.error_index,
		  gda_syndrome_name_in(qp->dialect, q.syndrome), gda_vendor_name(q.vendor));
}

static void *gda_debug_main(void *arg)
{
	const struct timespec period = { .tv_nsec = GDA_DEBUG_PERIOD_NS };
	struct gda_qp *qp;

	for (;;) {
		pthread_mutex_lock(&gda_debug_lock);
		for (qp = gda_debug_qps; qp; qp = qp->debug_next)
			gda_debug_look(qp);
		pthread_mutex_unlock(&gda_debug_lock);
		nanosleep(&period, NULL);
	}
	return arg;
}

static void gda_debug_prepare(void)
{
	pthread_mutex_lock(&gda_debug_lock);
}

static void gda_debug_parent(void)
{
	pthread_mutex_unlock(&gda_debug_lock);
}

/* The thread exists in the parent only; the child's next QP starts one. */
static void gda_debug_child(void)
{
	gda_debug_running = 0;
	pthread_mutex_unlock(&gda_debug_lock);
}

static void gda_debug_fork_init(void)
{
	pthread_atfork(gda_debug_prepare, gda_debug_parent, gda_debug_child);
}

/* If no thread can be created, errors are printed when their QPs are destroyed. */
static void gda_debug_start(void)
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	gda_debug_running = !pthread_create(&thread, &attr, gda_debug_main, NULL);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void gda_debug_add(struct gda_qp *qp)
{
	if (!gda_debugging())
		return;
	pthread_once(&gda_debug_fork, gda_debug_fork_init);
	pthread_mutex_lock(&gda_debug_lock);
	qp->debug_next = gda_debug_qps;
	gda_debug_qps = qp;
	if (!gda_debug_running)
		gda_debug_start();
	pthread_mutex_unlock(&gda_debug_lock);
}

void gda_debug_remove(const struct gda_context *ctx, const struct gda_qp *qp)
{
	struct gda_qp **link = &gda_debug_qps;

	if (!gda_debugging())
		return;
	pthread_mutex_lock(&gda_debug_lock);
	while (*link) {
		if ((*link)->ctx == ctx && (!qp || *link == qp)) {
			gda_debug_look(*link);
			*link = (*link)->debug_next;
		} else {
			link = &(*link)->debug_next;
		}
	}
	pthread_mutex_unlock(&gda_debug_lock);
}
