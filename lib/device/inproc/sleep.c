// SPDX-License-Identifier: MIT
/*
 * The sleep of a worker and its end. A kick of a worker that is awake ends its next sleep at
 * once. A worker is quiescent (quiesce.c) while it sleeps and once it has ended. All under
 * w->lock, which guards nothing else.
 */
#include <time.h>
#include "inproc.h"

void gda_inproc_sleep_init(struct gda_inproc_worker *w)
{
	pthread_condattr_t attr;

	pthread_mutex_init(&w->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&w->wake, &attr);
	pthread_condattr_destroy(&attr);
}

void gda_inproc_sleep_exit(struct gda_inproc_worker *w)
{
	pthread_cond_destroy(&w->wake);
	pthread_mutex_destroy(&w->lock);
}

bool gda_inproc_sleep(struct gda_inproc_worker *w, u64 ns)
{
	u64 end = gda_inproc_now() + ns;
	struct timespec ts = {
		.tv_sec = (time_t)(end / 1000000000U), .tv_nsec = (long)(end % 1000000000U),
	};
	bool kicked;
	int err = 0;

	pthread_mutex_lock(&w->lock);
	WRITE_ONCE(w->asleep, true);
	while (!w->kicked && !err) {
		if (READ_ONCE(w->ctx->nslots))
			err = pthread_cond_timedwait(&w->wake, &w->lock, &ts);
		else
			pthread_cond_wait(&w->wake, &w->lock);
	}
	kicked = w->kicked;
	WRITE_ONCE(w->asleep, false);
	w->kicked = false;
	pthread_mutex_unlock(&w->lock);
	return kicked;
}

void gda_inproc_sleep_ended(struct gda_inproc_worker *w)
{
	pthread_mutex_lock(&w->lock);
	WRITE_ONCE(w->asleep, true);
	pthread_mutex_unlock(&w->lock);
}

bool gda_inproc_asleep(struct gda_inproc_worker *w)
{
	bool asleep;

	pthread_mutex_lock(&w->lock);
	asleep = w->asleep;
	pthread_mutex_unlock(&w->lock);
	return asleep;
}

/* Called under w->lock. */
static void gda_inproc_wake_locked(struct gda_inproc_worker *w)
{
	w->kicked = true;
	if (w->asleep)
		pthread_cond_signal(&w->wake);
}

void gda_inproc_wake(struct gda_inproc_worker *w)
{
	pthread_mutex_lock(&w->lock);
	gda_inproc_wake_locked(w);
	pthread_mutex_unlock(&w->lock);
}

void gda_inproc_kick(struct gda_inproc_context *ctx, u32 slot)
{
	gda_inproc_wake(&ctx->worker[slot % ctx->nworkers]);
}

void gda_inproc_nudge(struct gda_inproc_context *ctx, u32 slot)
{
	struct gda_inproc_worker *w = &ctx->worker[slot % ctx->nworkers];

	if (pthread_mutex_trylock(&w->lock))
		return;
	gda_inproc_wake_locked(w);
	pthread_mutex_unlock(&w->lock);
}
