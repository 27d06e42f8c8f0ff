// SPDX-License-Identifier: MIT
/*
 * A wait of a collective call that is not over after a while sleeps. Where processors have other
 * work, too, a PE that spins or yields may wait for many turns of others until it runs at the same
 * time as its peer; one that is woken runs soon after the peer's store. PEs have mapped each
 * other's heap, so the futex is a word of it.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "way.h"

#define SLEEP_NS	2000000		/* at most, until a look at the word, and for who is lost */
#define ARRIVE_LOOKS	100U		/* some us: for a store that is on its way */

/* A peer that stored the word before it could see the flag wakes nobody. */
static bool arrives(const uint64_t *word, uint64_t least)
{
	unsigned int polls;

	for (polls = 0; polls < ARRIVE_LOOKS; polls++) {
		if (gda_osh_load(word) >= least)
			return true;
		gda_pause();
	}
	return false;
}

/*
 * The flag stays up when the wait is over, for another thread may sleep: then the next store
 * wakes nobody, and clears it.
 */
void gda_osh_sleep_least(const char *call, const uint64_t *word, uint64_t least)
{
	const struct timespec rest = { .tv_nsec = SLEEP_NS };
	uint32_t *asleep = &gda_osh.control->asleep;

	for (;;) {
		__atomic_store_n(asleep, 1, __ATOMIC_RELAXED);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		if (arrives(word, least))
			return;
		syscall(SYS_futex, asleep, FUTEX_WAIT, 1, &rest, NULL, 0);
		gda_osh_check(call);
	}
}

void gda_osh_wake(uint32_t *asleep)
{
	__atomic_store_n(asleep, 0, __ATOMIC_RELAXED);
	syscall(SYS_futex, asleep, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}
