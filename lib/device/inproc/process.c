// SPDX-License-Identifier: MIT
/*
 * What all contexts of a process share: the numbers of QPs and CQs, keys, the list of workers, and
 * the two locks that guard them. In the kernel these belong to a device; a process has one,
 * gda_inproc, which is reset in a child of fork(2).
 *
 * A context belongs to the process that opened it. A child of fork(2) has its memory but not its
 * threads: every call on it returns -ENODEV there. The child may open its own context.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/random.h>
#include <gda/barrier.h>
#include "inproc.h"

struct gda_inproc_device gda_inproc = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.peer_lock = PTHREAD_MUTEX_INITIALIZER,
};

static pthread_once_t gda_inproc_once = PTHREAD_ONCE_INIT;

u64 gda_inproc_now(void)
{
	return gda_clock_ns();
}

u64 gda_inproc_random(void)
{
	u64 value = 0;

	if (getrandom(&value, sizeof(value), GRND_NONBLOCK) == sizeof(value))
		return value;
	/* getrandom() fails early at boot or in a sandbox; a poor start value will do */
	return gda_inproc_now() * 0x9e3779b97f4a7c15U;
}

static void gda_inproc_number(void)
{
	gda_inproc.qps.next = (u32)gda_inproc_random() & 0xffffff;
	gda_inproc.keys.next = (u32)gda_inproc_random() & 0xffffff;
	gda_inproc.cqs.next = (u32)gda_inproc_random() & 0xffffff;
}

/* Called in the child of fork(2), which has none of the parent's contexts, workers and locks. */
static void gda_inproc_forked(void)
{
	u32 generation = gda_inproc.generation + 1;

	memset(&gda_inproc, 0, sizeof(gda_inproc));
	pthread_mutex_init(&gda_inproc.lock, NULL);
	pthread_mutex_init(&gda_inproc.peer_lock, NULL);
	gda_inproc.generation = generation;
	gda_inproc_number();
}

static void gda_inproc_start(void)
{
	gda_inproc_number();
	pthread_atfork(NULL, NULL, gda_inproc_forked);
}

void gda_inproc_init(void)
{
	pthread_once(&gda_inproc_once, gda_inproc_start);
}

int gda_inproc_enter(struct gda_inproc_context *ctx)
{
	if (ctx->generation != gda_inproc.generation)
		return gda_because(-ENODEV,
				   "the context belongs to the parent of this process: open another one here");
	pthread_mutex_lock(&ctx->lock);
	if (!ctx->dead)
		return 0;
	pthread_mutex_unlock(&ctx->lock);
	return -ENODEV;
}
