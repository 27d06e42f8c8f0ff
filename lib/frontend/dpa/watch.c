// SPDX-License-Identifier: MIT
/*
 * The watchdog: a thread of the host that makes the context fatal if a thread of a task runs beyond
 * its time limit. If tasks have a process of their own, it kills that, and notices when it ends. It
 * reads the slots that the pool writes; their contents are reported only if they are plausible.
 *
 * It also rings the bell for peers: with GDA_DPA_WAKE the handles of a context share a CQ for
 * immediates, which is armed and signals an eventfd. The entries of that CQ are not read.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "dpa_internal.h"

#define GDA_DPA_WATCH_NS	100000000U	/* longest time between two checks */

/* Report which task a thread of the pool runs. */
static void gda_dpa_watch_blame(struct gda_dpa *dpa, uint32_t thread, uint64_t now)
{
	const struct gda_dpa_slot *s = &dpa->map.slots[thread];
	uint32_t task = __atomic_load_n(&s->task, __ATOMIC_RELAXED);
	uint64_t started = __atomic_load_n(&s->started_ns, __ATOMIC_RELAXED);
	struct gda_dpa_report *r = &dpa->report;

	r->rank = __atomic_load_n(&s->rank, __ATOMIC_RELAXED);
	r->threads = __atomic_load_n(&s->threads, __ATOMIC_RELAXED);
	r->ran_ns = started && started < now ? now - started : 0;
	if (task < __atomic_load_n(&dpa->ntasks, __ATOMIC_ACQUIRE))
		snprintf(r->task, sizeof(r->task), "%s", dpa->tasks[task].name);
}

void gda_dpa_watch_note(struct gda_dpa *dpa)
{
	uint64_t fatal = __atomic_load_n(&dpa->map.header->fatal, __ATOMIC_ACQUIRE);
	uint32_t thread = (uint32_t)fatal - 1;

	if (dpa->report.reason || !fatal)
		return;
	dpa->report.time_ns = gda_clock_ns();
	dpa->report.reason = (uint32_t)(fatal >> 32);
	if (!dpa->report.reason || dpa->report.reason > GDA_DPA_EXITED)
		dpa->report.reason = GDA_DPA_CORRUPTED;
	if (thread < dpa->map.threads)
		gda_dpa_watch_blame(dpa, thread, dpa->report.time_ns);
}

/* The thread that the process named as it crashed, or the first one that runs a task. */
static uint32_t gda_dpa_watch_suspect(const struct gda_dpa *dpa)
{
	const struct gda_dpa_header *h = dpa->map.header;
	uint32_t i;

	if (__atomic_load_n(&h->crash_kind, __ATOMIC_ACQUIRE)) {
		i = __atomic_load_n(&h->crash_thread, __ATOMIC_RELAXED) - 1;
		if (i < dpa->map.threads)
			return i;
	}
	for (i = 0; i < dpa->map.threads; i++)
		if (__atomic_load_n(&dpa->map.slots[i].started_ns, __ATOMIC_RELAXED))
			return i;
	return UINT32_MAX;
}

/* Handle the end of the process of tasks, with @status of waitpid(2). */
static void gda_dpa_watch_ended(struct gda_dpa *dpa, int status)
{
	const struct gda_dpa_header *h = dpa->map.header;
	bool killed = dpa->report.reason;	/* by this thread */

	gda_dpa_fatal(&dpa->map, WIFSIGNALED(status) ? GDA_DPA_CRASHED : GDA_DPA_EXITED,
		      gda_dpa_watch_suspect(dpa));
	gda_dpa_watch_note(dpa);
	dpa->report.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	dpa->report.status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
	if (!killed && __atomic_load_n(&h->crash_kind, __ATOMIC_ACQUIRE) == GDA_DPA_CRASHED)
		dpa->report.address = h->crash_address;
}

static void gda_dpa_watch_process(struct gda_dpa *dpa)
{
	int status;

	if (!dpa->pid)
		return;
	if (dpa->report.reason)
		gda_dpa_process_kill(dpa);
	status = gda_dpa_process_reap(dpa, dpa->report.reason);
	if (status >= 0)
		gda_dpa_watch_ended(dpa, status);
}

/* Check all threads. Return: when to check again. */
static uint64_t gda_dpa_watch_look(struct gda_dpa *dpa)
{
	uint64_t limit = dpa->attr.run_limit_ns, now, started, next;
	uint32_t i;

	gda_dpa_watch_note(dpa);
	/* a thread that starts after @now has not used up its limit at the next check */
	now = gda_clock_ns();
	next = now + (limit < GDA_DPA_WATCH_NS ? limit : GDA_DPA_WATCH_NS);
	for (i = 0; !dpa->report.reason && i < dpa->map.threads; i++) {
		started = __atomic_load_n(&dpa->map.slots[i].started_ns, __ATOMIC_ACQUIRE);
		if (!started || started > now)
			continue;
		if (now - started >= limit) {
			gda_dpa_fatal(&dpa->map, GDA_DPA_RUN_LIMIT, i);
			gda_dpa_watch_note(dpa);
		} else if (started + limit < next) {
			next = started + limit;
		}
	}
	gda_dpa_watch_process(dpa);
	return next;
}

/* --- peers --- */

#define GDA_DPA_WAKE_NEEDS \
	(GDA_FEATURE_CQ_RING | GDA_FEATURE_IMM | GDA_FEATURE_IGNORE_OVERRUN)
#define GDA_DPA_WAKE_DEPTH	16U

int gda_dpa_wake_create(struct gda_dpa *dpa)
{
	struct gda_cq_attr attr = {
		.size = sizeof(attr), .flags = GDA_CQ_IGNORE_OVERRUN, .depth = GDA_DPA_WAKE_DEPTH,
	};
	struct gda_query q = { .size = sizeof(q) };
	int err = gda_because_last(gda_context_query(dpa->ctx, &q));

	if (err)
		return err;
	if ((q.features[0] & GDA_DPA_WAKE_NEEDS) != GDA_DPA_WAKE_NEEDS)
		return gda_because(-EOPNOTSUPP,
				   "GDA_DPA_WAKE: the device has no immediates: leave the flag out, or use soft0 or the in-process device");
	gda_fd_lock();
	dpa->wake_fd = gda_fd_list(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	gda_fd_unlock();
	if (dpa->wake_fd < 0)
		return -errno;
	err = gda_cq_create(dpa->ctx, &attr, &dpa->wake_cq);
	if (!err)
		err = gda_cq_event(dpa->wake_cq, dpa->wake_fd, GDA_CQ_ARM_SOLICITED);
	return gda_because_last(err);
}

void gda_dpa_wake_destroy(struct gda_dpa *dpa)
{
	gda_cq_destroy(dpa->wake_cq);
	if (dpa->wake_fd >= 0)
		gda_fd_close(dpa->wake_fd);
}

/*
 * An immediate has arrived: arm the CQ again and ring the bell. An immediate before the CQ is armed
 * is covered by this ring.
 */
static void gda_dpa_wake_ring(struct gda_dpa *dpa)
{
	uint64_t n;

	if (read(dpa->wake_fd, &n, sizeof(n)) < 0)
		return;
	gda_cq_event(dpa->wake_cq, -1, GDA_CQ_ARM_SOLICITED);
	gda_dpa_bell_ring(&dpa->map, GDA_DPA_FOR_PEERS);
}

/* --- --- */

static void *gda_dpa_watch_main(void *arg)
{
	struct gda_dpa *dpa = arg;
	struct pollfd p[3] = { { .events = POLLIN }, { .events = POLLIN }, { .events = POLLIN } };
	struct timespec ts;
	uint64_t next, now;

	p[0].fd = dpa->watch_fd;
	p[2].fd = dpa->wake_fd;
	while (!p[0].revents) {
		pthread_mutex_lock(&dpa->lock);
		next = gda_dpa_watch_look(dpa);
		/* the pidfd of a process that was waited for stays readable */
		p[1].fd = dpa->reaped ? -1 : dpa->pidfd;
		pthread_mutex_unlock(&dpa->lock);
		now = gda_clock_ns();
		next = next > now ? next - now : 0;
		ts.tv_sec = (time_t)(next / 1000000000);
		ts.tv_nsec = (long)(next % 1000000000);
		if (ppoll(p, 3, &ts, NULL) < 0) {
			p[0].revents = 0;
			p[2].revents = 0;
		}
		if (p[2].revents)
			gda_dpa_wake_ring(dpa);
	}
	return NULL;
}

int gda_dpa_watch_start(struct gda_dpa *dpa)
{
	sigset_t all, old;
	int err;

	gda_fd_lock();
	dpa->watch_fd = gda_fd_list(eventfd(0, EFD_CLOEXEC));
	gda_fd_unlock();
	if (dpa->watch_fd < 0)
		return -errno;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = -pthread_create(&dpa->watch, NULL, gda_dpa_watch_main, dpa);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err)
		gda_fd_close(dpa->watch_fd);
	return err;
}

void gda_dpa_watch_stop(struct gda_dpa *dpa)
{
	uint64_t one = 1;

	while (write(dpa->watch_fd, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	pthread_join(dpa->watch, NULL);
	gda_fd_close(dpa->watch_fd);
}
