// SPDX-License-Identifier: MIT
/*
 * Locks: a queue of waiting PEs, each of which polls a word of its own (MCS). The 8 bytes of a lock
 * are two words. The first, at the lock's home PE, names the last PE of the queue; the second, at
 * each waiting PE, names the PE behind it and tells whether it has the lock now. A PE is named by
 * its number plus 1, and 0 names none; a lock that is 0 everywhere is free. A PE is in the queue
 * once: its threads take turns through their own second word.
 */
#include "define.h"
#include "reach.h"

#define LOCK_GRANTED	0x80000000U
#define LOCK_TAKEN	0x40000000U	/* a thread of this PE holds the lock, or waits for it */
#define LOCK_NAME	0x3fffffffU

struct lock {
	uint32_t last;
	uint32_t mine;
};

/* Neighbouring locks have different home PEs. */
static int home(const volatile long *lock)
{
	uint64_t at = (uintptr_t)lock, off = at - gda_osh.s->heap;

	if (off >= gda_osh.s->heap_bytes)
		off = at - gda_osh.s->data;
	return gda_osh.npes ? (int)(off / sizeof(*lock) % gda_osh.npes) : 0;
}

/* This PE's part of a lock, which must be in symmetric memory. */
static struct lock *lock_of(const char *call, volatile long *lock)
{
	_Static_assert(sizeof(struct lock) == sizeof(long), "a lock is a long");
	if (!gda_shmem_is_symmetric(gda_osh.s, (const void *)lock, sizeof(struct lock)))
		gda_osh_bad(call, (const void *)lock, sizeof(struct lock), gda_osh.me);
	return (struct lock *)lock;
}

/* Change a word of a PE. Each function returns the old value. */
static uint32_t word_change(const char *call, uint32_t *word, uint32_t op, uint32_t value, int pe)
{
	uint32_t *at = (uint32_t *)gda_osh_mapped(call, word, sizeof(*word), pe);
	const struct gda_osh_atomic a = {
		.word = word, .op = op, .bytes = sizeof(*word), .value = value,
	};

	if (!at)
		return (uint32_t)gda_osh_queue_fetch(call, &a, pe);
	if (op == GDA_SHMEM_FETCH)
		return __atomic_load_n(at, __ATOMIC_ACQUIRE);
	if (op == GDA_SHMEM_SWAP)
		return __atomic_exchange_n(at, value, __ATOMIC_ACQ_REL);
	return __atomic_fetch_or(at, value, __ATOMIC_ACQ_REL);
}

static uint32_t word_compare_swap(const char *call, uint32_t *word, uint32_t cond,
				  uint32_t value, int pe)
{
	uint32_t *at = (uint32_t *)gda_osh_mapped(call, word, sizeof(*word), pe);
	const struct gda_osh_atomic a = {
		.word = word, .bytes = sizeof(*word), .value = value,
	};

	if (!at)
		return (uint32_t)gda_osh_queue_compare_swap(call, &a, cond, pe);
	__atomic_compare_exchange_n(at, &cond, value, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
	return cond;
}

static uint32_t wait_word(const char *call, const uint32_t *word, uint32_t bits)
{
	unsigned int polls = 0;
	uint32_t value;

	while (value = __atomic_load_n(word, __ATOMIC_ACQUIRE), !(value & bits))
		gda_osh_relax(call, ++polls);
	return value & bits;
}

static bool take(struct lock *own)
{
	uint32_t nobody = 0;

	return __atomic_compare_exchange_n(&own->mine, &nobody, LOCK_TAKEN, false,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static void give(struct lock *own)
{
	__atomic_store_n(&own->mine, 0, __ATOMIC_RELEASE);
}

GDA_OSH_PUBLIC void pshmem_set_lock(volatile long *lock)
{
	struct lock *own = lock_of(GDA_OSH_CALL_NAME, lock);
	uint32_t name = (uint32_t)gda_osh.me + 1, before;
	unsigned int polls = 0;

	while (!take(own))
		gda_osh_relax(GDA_OSH_CALL_NAME, ++polls);
	before = word_change(GDA_OSH_CALL_NAME, &own->last, GDA_SHMEM_SWAP, name, home(lock));
	if (!before)
		return;
	word_change(GDA_OSH_CALL_NAME, &own->mine, GDA_SHMEM_OR, name, (int)before - 1);
	wait_word(GDA_OSH_CALL_NAME, &own->mine, LOCK_GRANTED);
}

GDA_OSH_PUBLIC int pshmem_test_lock(volatile long *lock)
{
	struct lock *own = lock_of(GDA_OSH_CALL_NAME, lock);

	/* Testing a lock that is held costs only a load. */
	if (word_change(GDA_OSH_CALL_NAME, &own->last, GDA_SHMEM_FETCH, 0, home(lock)) ||
	    !take(own))
		return !gda_osh_tested(GDA_OSH_CALL_NAME, false);
	if (!word_compare_swap(GDA_OSH_CALL_NAME, &own->last, 0, (uint32_t)gda_osh.me + 1,
			       home(lock)))
		return 0;
	give(own);
	return !gda_osh_tested(GDA_OSH_CALL_NAME, false);
}

GDA_OSH_PUBLIC void pshmem_clear_lock(volatile long *lock)
{
	struct lock *own = lock_of(GDA_OSH_CALL_NAME, lock);
	uint32_t name = (uint32_t)gda_osh.me + 1, next;

	gda_osh_quiet(GDA_OSH_CALL_NAME);
	if (word_compare_swap(GDA_OSH_CALL_NAME, &own->last, name, 0, home(lock)) == name) {
		give(own);
		return;
	}
	next = wait_word(GDA_OSH_CALL_NAME, &own->mine, LOCK_NAME);
	give(own);
	word_change(GDA_OSH_CALL_NAME, &own->mine, GDA_SHMEM_OR, LOCK_GRANTED, (int)next - 1);
}

GDA_OSH_LOCKS(GDA_OSH_WEAK_CALL)
