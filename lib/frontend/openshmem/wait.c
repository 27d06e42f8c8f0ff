// SPDX-License-Identifier: MIT
/*
 * What a PE does between two looks at a word: it spins while whoever stores that word may be
 * running, and gives its processor up where that PE cannot.
 *
 * Each PE that polls writes down on which processor it does (control->cpu). The scheduler may leave
 * two PEs on one processor, beside a program that has another one for itself, for as long as the
 * job runs. So of two that poll on one processor the one of the higher number moves to one on which
 * no peer polls, if it may; else both yield from the second look on. Where PEs are more than
 * processors, all yield. What is written down may be old, which costs a yield in vain.
 *
 * A wait of a collective call that is not over after a while sleeps. Where processors have other
 * work, too, a PE that spins or yields may wait for many turns of others until it runs at the same
 * time as its peer; one that is woken runs soon after the peer's store. PEs have mapped each
 * other's heap, so the futex is a word of it.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "reach.h"

/*
 * Looks before a wait yields, or sleeps, where no peer shares the processor: about a millisecond.
 * Other programs may have processors meanwhile, and a wait that yields early then gives away the
 * turn in which its peer would have run, too.
 */
#define SPINS		20000U
#define SPINS_FIRST	64U	/* before, and between, looks for a peer on this processor */
#define SPINS_SHARED	2U
#define YIELDS		64U	/* where PEs share processors, before a wait sleeps */
#define PEERS		16U	/* that are looked at each time */
#define MOVE_NS		5000000U	/* between two moves to another processor */

#define SLEEP_NS	2000000		/* at most, until a look at the word, and for who is lost */
#define ARRIVE_LOOKS	100U		/* some us: for a store that is on its way */

static void share(bool shares)
{
	__atomic_store_n(&gda_osh.spins, shares ? SPINS_SHARED : SPINS_FIRST, __ATOMIC_RELAXED);
	__atomic_store_n(&gda_osh.looks, shares ? SPINS_SHARED + YIELDS : SPINS, __ATOMIC_RELAXED);
}

void gda_osh_wait_init(bool crowded)
{
	gda_osh.crowded = crowded;
	gda_osh.control->cpu = -1;
	share(crowded);
}

static int cpu_of(unsigned int pe)
{
	const struct gda_shmem_peer *p =
		(const struct gda_shmem_peer *)(uintptr_t)gda_osh.s->peers + pe;
	const struct gda_osh_control *control = (const struct gda_osh_control *)(uintptr_t)p->heap;

	return control ? __atomic_load_n(&control->cpu, __ATOMIC_RELAXED) : -1;
}

/* A peer that polls on this processor, as far as a look at some of them tells; -1: none. */
static int peer_on(int cpu)
{
	static unsigned int next, with;
	unsigned int i, pe = __atomic_load_n(&with, __ATOMIC_RELAXED);

	if (pe != (unsigned int)gda_osh.me && cpu_of(pe) == cpu)
		return (int)pe;
	pe = __atomic_load_n(&next, __ATOMIC_RELAXED);
	for (i = 0; i < PEERS && i < gda_osh.npes; i++, pe++) {
		pe = pe < gda_osh.npes ? pe : 0;
		if (pe != (unsigned int)gda_osh.me && cpu_of(pe) == cpu) {
			__atomic_store_n(&with, pe, __ATOMIC_RELAXED);
			return (int)pe;
		}
	}
	__atomic_store_n(&next, pe, __ATOMIC_RELAXED);
	return -1;
}

/*
 * Run on a processor that no peer polls on, if this thread may. It stays allowed to run on all that
 * it was, so the scheduler may move it again.
 */
static bool move_away(void)
{
	cpu_set_t all, others, one;
	unsigned int pe;
	int cpu, n;

	if (sched_getaffinity(0, sizeof(all), &all))
		return false;
	others = all;
	for (pe = 0; pe < gda_osh.npes; pe++)
		if (cpu_of(pe) >= 0 && cpu_of(pe) < CPU_SETSIZE)
			CPU_CLR(cpu_of(pe), &others);
	n = CPU_COUNT(&others);
	if (!n)
		return false;
	/* jobs and PEs do not all take the first one */
	n = (int)((unsigned int)getpid() % (unsigned int)n);
	for (cpu = 0; !CPU_ISSET(cpu, &others) || n--; cpu++)
		;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		return false;
	__atomic_store_n(&gda_osh.control->cpu, cpu, __ATOMIC_RELAXED);
	/* the cpuset may have changed meanwhile: then any that it allows */
	if (sched_setaffinity(0, sizeof(all), &all)) {
		memset(&all, 0xff, sizeof(all));
		sched_setaffinity(0, sizeof(all), &all);
	}
	return true;
}

/* Does a peer poll on this processor? Of two that share one, the second moves away if it can. */
static bool shares_processor(void)
{
	static uint64_t moved;
	int cpu = sched_getcpu(), pe;
	uint64_t now;

	if (gda_osh.control->cpu != cpu)
		__atomic_store_n(&gda_osh.control->cpu, cpu, __ATOMIC_RELAXED);
	pe = peer_on(cpu);
	if (pe < 0)
		return false;
	if (pe > gda_osh.me)
		return true;
	now = gda_clock_ns();
	if (now - __atomic_load_n(&moved, __ATOMIC_RELAXED) < MOVE_NS)
		return true;
	__atomic_store_n(&moved, now, __ATOMIC_RELAXED);
	return !move_away();
}

void gda_osh_rest(const char *call, unsigned int polls)
{
	bool look = polls % SPINS_FIRST == 0 || polls == SPINS_SHARED;

	if (!gda_osh.crowded && look)
		share(shares_processor());
	if (polls < SPINS && __atomic_load_n(&gda_osh.spins, __ATOMIC_RELAXED) != SPINS_SHARED) {
		gda_pause();
		return;
	}
	gda_yield();
	if (polls % 64 == 0)
		gda_osh_check(call);
}

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
