// SPDX-License-Identifier: MIT
/*
 * The watchdog: a thread of the host that knows when each thread of a task must have ended, and
 * makes the context fatal if it has not. It reads the slots that the pool writes; what it reads
 * there goes into the report only if it makes sense.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "dpa_internal.h"

#define GDA_DPA_WATCH_NS	100000000U	/* between two looks, at most */

/* Fill in which task a thread of the pool runs. */
static void gda_dpa_watch_blame(struct gda_dpa *dpa, uint32_t thread, uint64_t now)
{
	const struct gda_dpa_slot *s = &dpa->map.slots[thread];
	uint32_t task = __atomic_load_n(&s->task, __ATOMIC_RELAXED);
	uint64_t started = __atomic_load_n(&s->started_ns, __ATOMIC_RELAXED);
	struct gda_dpa_report *r = &dpa->report;

	r->rank = __atomic_load_n(&s->rank, __ATOMIC_RELAXED);
	r->threads = __atomic_load_n(&s->threads, __ATOMIC_RELAXED);
	r->ran_ns = started && started < now ? now - started : 0;
	if (task < __atomic_load_n(&dpa->pool->ntasks, __ATOMIC_ACQUIRE))
		snprintf(r->task, sizeof(r->task), "%s", dpa->pool->tasks[task]->name);
}

void gda_dpa_watch_note(struct gda_dpa *dpa)
{
	uint64_t fatal = __atomic_load_n(&dpa->map.header->fatal, __ATOMIC_ACQUIRE);
	uint32_t thread = (uint32_t)fatal - 1;

	if (dpa->report.reason || !fatal)
		return;
	dpa->report.time_ns = gda_clock_ns();
	dpa->report.reason = (uint32_t)(fatal >> 32);
	if (!dpa->report.reason || dpa->report.reason > GDA_DPA_CORRUPTED)
		dpa->report.reason = GDA_DPA_CORRUPTED;
	if (thread < dpa->map.threads)
		gda_dpa_watch_blame(dpa, thread, dpa->report.time_ns);
}

/* Look at all threads. Return: when to look again. */
static uint64_t gda_dpa_watch_look(struct gda_dpa *dpa)
{
	uint64_t limit = dpa->attr.run_limit_ns, now, started, next;
	uint32_t i;

	gda_dpa_watch_note(dpa);
	/* a thread that starts after @now has its limit left when this thread looks again */
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
	return next;
}

static void *gda_dpa_watch_main(void *arg)
{
	struct gda_dpa *dpa = arg;
	struct timespec until;
	uint64_t next;

	pthread_mutex_lock(&dpa->lock);
	while (!dpa->watch_over) {
		next = gda_dpa_watch_look(dpa);
		until.tv_sec = (time_t)(next / 1000000000);
		until.tv_nsec = (long)(next % 1000000000);
		pthread_cond_timedwait(&dpa->watch_end, &dpa->lock, &until);
	}
	pthread_mutex_unlock(&dpa->lock);
	return NULL;
}

int gda_dpa_watch_start(struct gda_dpa *dpa)
{
	pthread_condattr_t attr;
	sigset_t all, old;
	int err;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&dpa->watch_end, &attr);
	pthread_condattr_destroy(&attr);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = -pthread_create(&dpa->watch, NULL, gda_dpa_watch_main, dpa);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return err;
}

void gda_dpa_watch_stop(struct gda_dpa *dpa)
{
	pthread_mutex_lock(&dpa->lock);
	dpa->watch_over = true;
	pthread_cond_signal(&dpa->watch_end);
	pthread_mutex_unlock(&dpa->lock);
	pthread_join(dpa->watch, NULL);
	pthread_cond_destroy(&dpa->watch_end);
}
