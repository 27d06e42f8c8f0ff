// SPDX-License-Identifier: MIT
/*
 * What a PE does between two polls of a word: it spins while the PE that stores the word may be
 * running, and gives up its processor if that PE cannot run.
 *
 * Each polling PE publishes its processor (control->cpu). The scheduler may leave two PEs on one
 * processor for as long as the job runs, even if another program has a processor to itself. So of
 * two PEs that poll on one processor the one with the higher number moves to a processor without a
 * polling peer, if it may; else both yield from the second poll on. If there are more PEs than
 * processors, all yield. A published processor may be out of date, which costs a useless yield.
 *
 * A wait of a collective call sleeps after a while. On busy processors a PE that spins or yields
 * may wait for many time slices of others until it runs at the same time as its peer; a PE that is
 * woken runs soon after the peer's store. PEs have mapped each other's heaps, so the futex is a
 * word there.
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
 * Polls before a wait yields or sleeps, if no peer shares the processor: about a millisecond.
 * Processors may be busy with other programs, and a wait that yields early gives away the time
 * slice in which its peer would have run, too.
 */
#define SPINS		20000U
#define SPINS_FIRST	64U	/* polls before, and between, searches for a peer here */
#define SPINS_SHARED	2U
#define YIELDS		64U	/* if PEs share processors: yields before a wait sleeps */
#define PEERS		16U	/* peers that are examined each time */
#define MOVE_NS		5000000U	/* between two moves to another processor */

#define SLEEP_NS	2000000		/* longest sleep until the word and lost PEs are checked */
#define ARRIVE_LOOKS	100U		/* some us: for a store that is not visible yet */

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

/* Find a peer that polls on this processor, among a few that are examined; -1: none. */
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
 * Move to a processor that no peer polls on, if this thread may. Its affinity mask is restored, so
 * the scheduler may move it again.
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
	/* start at different processors in different jobs and PEs */
	n = (int)((unsigned int)getpid() % (unsigned int)n);
	for (cpu = 0; !CPU_ISSET(cpu, &others) || n--; cpu++)
		;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		return false;
	__atomic_store_n(&gda_osh.control->cpu, cpu, __ATOMIC_RELAXED);
	/* the cpuset may have changed meanwhile: use any processor that it allows */
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

/* Poll on for a while: a peer that stored the word before it could see the flag wakes nobody. */
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
 * The flag stays set after the wait, because another thread may sleep; the next store then clears
 * it, and wakes nobody if none does.
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
