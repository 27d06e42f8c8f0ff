// SPDX-License-Identifier: MIT
/*
 * A thread that polls spins, yields or sleeps, as it finds its processor.
 *
 *	its own	it spins, and yields now and then to learn whether that is still so
 *	shared	a yield took as long as a switch of threads: somebody else wants this processor,
 *		perhaps the thread that is waited for. From then on it spins for as long as a
 *		switch takes, and yields. Each yield that finds nobody doubles the looks between
 *		two
 *	taken	a yield took a slice: a program computes. The scheduler takes a yield for a whole
 *		slice, so a thread that yields again and again is behind all such programs each
 *		time, some 30 ms; one that wakes is not. So it sleeps for as long as the slack of
 *		its timers, 50 us. While it runs it spins as on a processor of its own, for its
 *		peer may do the same on another one
 *
 * What a thread has found is its own, and stays from one wait to the next. No lock, no shared word.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>
#include <sys/syscall.h>
#include <gda/barrier.h>
#include "gda_internal.h"
#include "waiter.h"

/* A yield that takes less time found no other thread to run. */
#define GDA_WAITER_ALONE_NS	1000U
/*
 * Polls, some 20 ns each or more, that take about as long as a switch of threads. A power of two.
 */
#define GDA_WAITER_SHARED	32U

/*
 * A yield that takes longer let a compute-bound program run. The thread then sleeps instead: 1 ms
 * in all at first, and up to 60 ms if each yield in between is as long.
 */
#define GDA_WAITER_LONG_NS	500000U
#define GDA_WAITER_NAPS		16U
#define GDA_WAITER_NAPS_MAX	1024U

static __thread struct {
	unsigned int looks;	/* polls between two yields, a power of two; 0: the most */
	unsigned int naps;	/* sleeps that replace the next yields */
	unsigned int next;	/* how many naps follow the next long yield; 0: the fewest */
} gda_waiter;

/* Calls the kernel directly, because nanosleep() is a cancellation point. */
static void gda_waiter_nap(void)
{
	const struct timespec nap = { .tv_nsec = 1 };

	gda_waiter.naps--;
	syscall(SYS_nanosleep, &nap, NULL);
}

static void gda_waiter_found(uint64_t ns)
{
	unsigned int looks = gda_waiter.looks, next = gda_waiter.next;

	if (ns > GDA_WAITER_LONG_NS) {
		gda_waiter.looks = 0;
		gda_waiter.naps = next ? next : GDA_WAITER_NAPS;
		gda_waiter.next = gda_waiter.naps < GDA_WAITER_NAPS_MAX ? gda_waiter.naps * 2 :
									  gda_waiter.naps;
		return;
	}
	gda_waiter.next = next / 2;
	if (ns)
		gda_waiter.looks = GDA_WAITER_SHARED;
	else
		gda_waiter.looks = looks < GDA_WAITER_RARELY ? looks * 2 : 0;
}

uint64_t gda_waiter_yield(void)
{
	int saved = errno;
	uint64_t ns;

	if (gda_waiter.naps) {
		ns = GDA_WAITER_LONG_NS;
		gda_waiter_nap();
	} else {
		ns = gda_clock_ns();
		sched_yield();
		ns = gda_clock_ns() - ns;
		ns = ns < GDA_WAITER_ALONE_NS ? 0 : ns;
		gda_waiter_found(ns);
	}
	errno = saved;
	return ns;
}

void gda_waiter_rest(unsigned int polls, unsigned int most)
{
	unsigned int looks = gda_waiter.looks;

	if (!looks || looks > most)
		looks = most;
	if (polls % looks == 0)
		gda_waiter_yield();
	else if (polls > 1)	/* not at the first poll: the thread has only just begun to wait */
		gda_pause();
}

GDA_EXPORT void gda_yield(void)
{
	gda_waiter_yield();
}
