// SPDX-License-Identifier: MIT
/*
 * Events: words in the context's memory, how they are updated, and how threads of any process
 * wait for them. The header of dpa_internal.h says why no update is missed.
 *
 * A wait spins for a while and then sleeps on the bell. It reads an event whose updates may be
 * silent every millisecond: updates by peers are silent unless an immediate follows them (watch.c).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "dpa_internal.h"
#include "waiter.h"

#define GDA_DPA_POLLS		64U	/* polls of a word between two reads of the clock */

static void gda_dpa_futex_wake(uint32_t *bell, int n, uint32_t who)
{
	int saved = errno;

	syscall(SYS_futex, bell, FUTEX_WAKE_BITSET, n, NULL, NULL, who);
	errno = saved;
}

static void gda_dpa_bell_wake(const struct gda_dpa_map *m, int n, uint32_t who)
{
	struct gda_dpa_header *h = m->header;

	__atomic_fetch_add(&h->bell, 1, __ATOMIC_SEQ_CST);
	gda_dpa_futex_wake(&h->bell, n, who);
}

void gda_dpa_bell_ring(const struct gda_dpa_map *m, uint32_t who)
{
	struct gda_dpa_header *h = m->header;

	if (gda_unlikely(__atomic_load_n(&h->sleepers, __ATOMIC_SEQ_CST)))
		gda_dpa_bell_wake(m, INT_MAX, who | GDA_DPA_LOOKOUT);
	if (gda_unlikely(__atomic_load_n(&h->bench, __ATOMIC_SEQ_CST)))
		gda_dpa_bell_wake(m, 1, GDA_DPA_BENCH);
}

void gda_dpa_bell_bench(const struct gda_dpa_map *m, int n)
{
	gda_dpa_bell_wake(m, n, GDA_DPA_BENCH);
}

void gda_dpa_bell_all(const struct gda_dpa_map *m)
{
	gda_dpa_bell_wake(m, INT_MAX, UINT32_MAX);
}

void gda_dpa_bell_sleep(const struct gda_dpa_map *m, uint32_t bell, uint64_t ns, uint32_t who)
{
	uint64_t until = gda_clock_ns() + ns;
	struct timespec ts = {
		.tv_sec = (time_t)(until / 1000000000), .tv_nsec = (long)(until % 1000000000),
	};
	int saved = errno;

	syscall(SYS_futex, &m->header->bell, FUTEX_WAIT_BITSET, bell, &ts, NULL, who);
	errno = saved;
}

bool gda_dpa_fatal(const struct gda_dpa_map *m, uint32_t reason, uint32_t thread)
{
	uint64_t none = 0;
	bool first = __atomic_compare_exchange_n(&m->header->fatal, &none,
						 GDA_DPA_FATAL(reason, thread), false,
						 __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);

	__atomic_store_n(&m->header->stop, 1, __ATOMIC_SEQ_CST);
	gda_dpa_bell_all(m);
	return first;
}

static int gda_dpa_word_find(const struct gda_dpa_map *m, uint32_t handle,
			     struct gda_dpa_word **word)
{
	if (!handle || handle > m->events)
		return -EINVAL;
	*word = &m->words[handle];
	return __atomic_load_n(&(*word)->publishers, __ATOMIC_RELAXED) ? 0 : -EINVAL;
}

int gda_dpa_word_publish(const struct gda_dpa_map *m, uint32_t handle, uint32_t place,
			 struct gda_dpa_word **word)
{
	int err = gda_dpa_word_find(m, handle, word);

	if (err)
		return err;
	return __atomic_load_n(&(*word)->publishers, __ATOMIC_RELAXED) & place ? 0 : -EACCES;
}

int gda_dpa_word_subscribe(const struct gda_dpa_map *m, uint32_t handle, uint32_t place,
			   struct gda_dpa_word **word)
{
	int err = gda_dpa_word_find(m, handle, word);

	if (err)
		return err;
	return __atomic_load_n(&(*word)->subscribers, __ATOMIC_RELAXED) & place ? 0 : -EACCES;
}

void gda_dpa_word_add(const struct gda_dpa_map *m, struct gda_dpa_word *w, uint64_t value)
{
	__atomic_fetch_add(&w->value, value, __ATOMIC_SEQ_CST);
	gda_dpa_bell_ring(m, GDA_DPA_FOR(w - m->words));
}

void gda_dpa_word_set(const struct gda_dpa_map *m, struct gda_dpa_word *w, uint64_t value)
{
	/* an exchange, to acquire the additions before it, which others may have made */
	__atomic_exchange_n(&w->value, value, __ATOMIC_SEQ_CST);
	gda_dpa_bell_ring(m, GDA_DPA_FOR(w - m->words));
}

static bool gda_dpa_word_is(const struct gda_dpa_wait *wait)
{
	uint64_t value = __atomic_load_n(&wait->word->value, __ATOMIC_SEQ_CST) & wait->mask;

	return wait->differs ? value != wait->than : value > wait->than;
}

static bool gda_dpa_wait_over(const struct gda_dpa_map *m, bool task)
{
	const struct gda_dpa_header *h = m->header;

	return __atomic_load_n(&h->fatal, __ATOMIC_RELAXED) ||
	       (task && __atomic_load_n(&h->stop, __ATOMIC_RELAXED));
}

/* Spin until @until. Return: whether the condition holds. */
static bool gda_dpa_word_spin(const struct gda_dpa_map *m, const struct gda_dpa_wait *wait,
			      uint64_t until, bool task)
{
	unsigned int polls;

	for (polls = 1;; polls++) {
		if (gda_dpa_word_is(wait))
			return true;
		if (polls % GDA_DPA_POLLS == 0) {
			if (gda_clock_ns() >= until || gda_dpa_wait_over(m, task))
				return false;
		}
		gda_waiter_rest(polls, GDA_WAITER_SHORT);
	}
}

static void gda_dpa_word_nap(const struct gda_dpa_map *m, const struct gda_dpa_wait *wait,
			     uint64_t left)
{
	uint32_t publishers = __atomic_load_n(&wait->word->publishers, __ATOMIC_RELAXED);
	uint64_t most = publishers & GDA_DPA_SILENT ? GDA_DPA_NAP_NS : GDA_DPA_SLEEP_NS;
	uint32_t who = GDA_DPA_FOR(wait->word - m->words);
	struct gda_dpa_header *h = m->header;
	uint32_t bell;

	if (publishers & GDA_DPA_PEERS)
		who |= GDA_DPA_FOR_PEERS;
	__atomic_fetch_add(&h->sleepers, 1, __ATOMIC_SEQ_CST);
	bell = __atomic_load_n(&h->bell, __ATOMIC_SEQ_CST);
	if (!gda_dpa_word_is(wait))
		gda_dpa_bell_sleep(m, bell, left < most ? left : most, who);
	__atomic_fetch_sub(&h->sleepers, 1, __ATOMIC_SEQ_CST);
}

int gda_dpa_word_wait(const struct gda_dpa_map *m, const struct gda_dpa_wait *wait,
		      uint64_t deadline, bool task)
{
	uint64_t now, spin;

	if (gda_dpa_word_is(wait))
		return 0;
	now = gda_clock_ns();
	if (now >= deadline)
		return now - deadline > GDA_LONG_AGO_NS ? -ETIME : -ETIMEDOUT;
	spin = m->spin_ns == UINT64_MAX ? now : now + m->spin_ns;
	if (spin > now && gda_dpa_word_spin(m, wait, spin < deadline ? spin : deadline, task))
		return 0;
	for (;;) {
		if (gda_dpa_word_is(wait))
			return 0;
		if (gda_dpa_wait_over(m, task))
			return -ESHUTDOWN;
		now = gda_clock_ns();
		if (now >= deadline)
			return -ETIMEDOUT;
		gda_dpa_word_nap(m, wait, deadline - now);
	}
}
