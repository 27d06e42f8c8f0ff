// SPDX-License-Identifier: MIT
/*
 * Locks: a queue of waiting PEs, each of which looks at a word of its own (MCS). The 8
 * bytes of a lock are two words. The first, at the lock's home, names who came last; the
 * second, at each waiting PE, who is behind it, and whether the lock is its own now. PEs
 * are named by number plus 1; 0 is nobody, and a lock that is 0 everywhere is free.
 */
#include "define.h"
#include "way.h"

#define LOCK_GRANTED	0x80000000U

struct lock {
	uint32_t last;
	uint32_t mine;
};

/* Locks beside each other have different homes. */
static int home(const volatile long *lock)
{
	uint64_t at = (uintptr_t)lock, off = at - gda_osh.s->heap;

	if (off >= gda_osh.s->heap_bytes)
		off = at - gda_osh.s->data;
	return gda_osh.npes ? (int)(off / sizeof(*lock) % gda_osh.npes) : 0;
}

static struct lock *lock_at(const char *call, volatile long *lock, int pe)
{
	_Static_assert(sizeof(struct lock) == sizeof(long), "a lock is a long");
	return (struct lock *)gda_osh_at(call, lock, sizeof(struct lock), pe);
}

static uint32_t wait_word(const char *call, const uint32_t *word, uint32_t bits)
{
	unsigned int polls = 0;
	uint32_t value;

	while (value = __atomic_load_n(word, __ATOMIC_ACQUIRE), !(value & bits))
		gda_osh_relax(call, ++polls);
	return value & bits;
}

GDA_OSH_PUBLIC void pshmem_set_lock(volatile long *lock)
{
	struct lock *at_home = lock_at(GDA_OSH_CALL_NAME, lock, home(lock));
	struct lock *own = lock_at(GDA_OSH_CALL_NAME, lock, gda_osh.me);
	uint32_t name = (uint32_t)gda_osh.me + 1, before;

	__atomic_store_n(&own->mine, 0, __ATOMIC_RELAXED);
	before = __atomic_exchange_n(&at_home->last, name, __ATOMIC_ACQ_REL);
	if (!before)
		return;
	__atomic_fetch_or(&lock_at(GDA_OSH_CALL_NAME, lock, (int)before - 1)->mine, name,
			  __ATOMIC_ACQ_REL);
	wait_word(GDA_OSH_CALL_NAME, &own->mine, LOCK_GRANTED);
}

GDA_OSH_PUBLIC int pshmem_test_lock(volatile long *lock)
{
	struct lock *at_home = lock_at(GDA_OSH_CALL_NAME, lock, home(lock));
	struct lock *own = lock_at(GDA_OSH_CALL_NAME, lock, gda_osh.me);
	uint32_t nobody = 0;

	/* Its holder may test it: then a PE behind it is not to be forgotten. */
	if (__atomic_load_n(&at_home->last, __ATOMIC_ACQUIRE))
		return 1;
	__atomic_store_n(&own->mine, 0, __ATOMIC_RELAXED);
	return !__atomic_compare_exchange_n(&at_home->last, &nobody, (uint32_t)gda_osh.me + 1,
					    false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

GDA_OSH_PUBLIC void pshmem_clear_lock(volatile long *lock)
{
	struct lock *at_home = lock_at(GDA_OSH_CALL_NAME, lock, home(lock));
	struct lock *own = lock_at(GDA_OSH_CALL_NAME, lock, gda_osh.me);
	uint32_t last = (uint32_t)gda_osh.me + 1, next;

	gda_osh_quiet();
	if (__atomic_compare_exchange_n(&at_home->last, &last, 0, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE)) {
		__atomic_store_n(&own->mine, 0, __ATOMIC_RELAXED);
		return;
	}
	next = wait_word(GDA_OSH_CALL_NAME, &own->mine, ~LOCK_GRANTED);
	__atomic_store_n(&own->mine, 0, __ATOMIC_RELAXED);
	__atomic_fetch_or(&lock_at(GDA_OSH_CALL_NAME, lock, (int)next - 1)->mine, LOCK_GRANTED,
			  __ATOMIC_ACQ_REL);
}

GDA_OSH_LOCKS(GDA_OSH_WEAK_CALL)
