// SPDX-License-Identifier: MIT
/*
 * The pool: threads that take launches out of the ring, hold back those that wait, and run the
 * others in the order in which they became ready, rank by rank.
 *
 * A thread without work is the *lookout*, or is on the *bench*. There is at most one lookout: it
 * polls the ring and the words that launches wait for, and sleeps after a while; while a launch
 * waits for a word with silent updates it polls every millisecond. Threads on the bench sleep. A
 * lookout that takes work sets header.bench, polls once more, and leaves; from then on an update
 * wakes a thread of the bench, which becomes the lookout. So a launch starts without a system call,
 * and some thread always notices it.
 *
 * A thread whose task was the last of its launch updates the event and then polls for work itself,
 * so a chain of launches involves no other thread.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "dpa_internal.h"
#include "waiter.h"

#define GDA_DPA_POLLS		64U

/* Set a word that threads read without the lock, as a hint only. */
#define GDA_DPA_HINT(word, value) __atomic_store_n(&(word), value, __ATOMIC_RELAXED)
#define GDA_DPA_GUESS(word) __atomic_load_n(&(word), __ATOMIC_RELAXED)

_Thread_local struct gda_dpa_thread *gda_dpa_self;

static bool gda_dpa_pool_over(const struct gda_dpa_pool *p)
{
	return __atomic_load_n(&p->map->header->stop, __ATOMIC_ACQUIRE);
}

/* Must an update wake a thread of the bench? Called after every change of lookout and idle. */
static void gda_dpa_pool_bench(struct gda_dpa_pool *p)
{
	__atomic_store_n(&p->map->header->bench, !p->lookout && p->idle, __ATOMIC_SEQ_CST);
}

static void gda_dpa_pool_ready(struct gda_dpa_pool *p, struct gda_dpa_pending *l)
{
	l->next = NULL;
	*p->ready_end = l;
	p->ready_end = &l->next;
	GDA_DPA_HINT(p->nready, p->nready + 1);
}

static void gda_dpa_source_insert(struct gda_dpa_pool *p, uint32_t number,
				  struct gda_dpa_pending *l)
{
	struct gda_dpa_source *s = &p->sources[number];
	struct gda_dpa_pending **link = &s->first;

	if (!s->armed) {
		if (number <= p->map->events)
			s->silent = !!(__atomic_load_n(&p->map->words[number].publishers,
						       __ATOMIC_RELAXED) & GDA_DPA_SILENT);
		p->armed[p->narmed] = number;
		GDA_DPA_HINT(p->narmed, p->narmed + 1);
		s->armed = p->narmed;
		p->nsilent += s->silent;
	}
	/* most come in order */
	if (s->last && s->last->threshold <= l->threshold)
		link = &s->last->next;
	while (*link && (*link)->threshold <= l->threshold)
		link = &(*link)->next;
	l->next = *link;
	*link = l;
	if (!l->next)
		s->last = l;
}

/*
 * Move launches whose condition holds to the ready list. Return: whether others still wait for the
 * source.
 */
static bool gda_dpa_source_look(struct gda_dpa_pool *p, struct gda_dpa_source *s)
{
	uint64_t value = __atomic_load_n(s->word, __ATOMIC_SEQ_CST);
	struct gda_dpa_pending *l;

	while ((l = s->first) && value > l->threshold) {
		s->first = l->next;
		gda_dpa_pool_ready(p, l);
	}
	if (s->first)
		return true;
	s->last = NULL;
	return false;
}

static void gda_dpa_pool_look(struct gda_dpa_pool *p)
{
	uint32_t i = 0;

	while (i < p->narmed) {
		struct gda_dpa_source *s = &p->sources[p->armed[i]];

		if (gda_dpa_source_look(p, s)) {
			i++;
			continue;
		}
		s->armed = 0;
		p->nsilent -= s->silent;
		GDA_DPA_HINT(p->narmed, p->narmed - 1);
		if (i < p->narmed) {
			p->armed[i] = p->armed[p->narmed];
			p->sources[p->armed[i]].armed = i + 1;
		}
	}
}

/* Is the entry copied from the ring a valid launch? *@source: 0, or the number of its source. */
static bool gda_dpa_entry_good(const struct gda_dpa_pool *p, const struct gda_dpa_entry *e,
			       uint32_t *source)
{
	const struct gda_dpa_map *m = p->map;
	struct gda_dpa_word *word;

	*source = e->source;
	if (e->source & GDA_DPA_COUNTER) {
		if ((e->source & ~GDA_DPA_COUNTER) >= p->ncounters)
			return false;
		*source = m->events + 1 + (e->source & ~GDA_DPA_COUNTER);
	} else if (e->source && gda_dpa_word_subscribe(m, e->source, GDA_DPA_TASKS, &word)) {
		return false;
	}
	if (e->done && gda_dpa_word_publish(m, e->done, GDA_DPA_TASKS, &word))
		return false;
	return e->threads && e->threads <= m->threads && !(e->flags & ~GDA_DPA_DONE_SET) &&
	       e->bytes <= GDA_DPA_MAX_ARGS &&
	       e->task < __atomic_load_n(&p->ntasks, __ATOMIC_ACQUIRE);
}

static void gda_dpa_pool_admit(struct gda_dpa_pool *p, const struct gda_dpa_entry *e,
			       uint32_t source)
{
	struct gda_dpa_pending *l = p->unused;

	p->unused = l->next;
	l->threshold = e->threshold;
	l->value = e->value;
	l->flags = e->flags;
	l->task = e->task;
	l->done = e->done;
	l->threads = e->threads;
	l->begun = 0;
	l->left = e->threads;
	memcpy(l->args, e->args, e->bytes);
	if (source)
		gda_dpa_source_insert(p, source, l);
	else
		gda_dpa_pool_ready(p, l);
}

/* Copy new launches from the ring, each once, and check the copies. */
static void gda_dpa_pool_take(struct gda_dpa_pool *p)
{
	const struct gda_dpa_map *m = p->map;
	uint64_t tail = __atomic_load_n(&m->header->tail, __ATOMIC_SEQ_CST);
	struct gda_dpa_entry e;
	uint32_t source;

	if (tail == p->taken)
		return;
	if (tail - p->taken > m->launches) {
		gda_dpa_fatal(m, GDA_DPA_CORRUPTED, UINT32_MAX);
		return;
	}
	for (; p->taken != tail; GDA_DPA_HINT(p->taken, p->taken + 1)) {
		memcpy(&e, &m->ring[p->taken % m->launches], sizeof(e));
		__asm__ volatile("" : : "r"(&e) : "memory");
		if (!p->unused || !gda_dpa_entry_good(p, &e, &source)) {
			gda_dpa_fatal(m, GDA_DPA_CORRUPTED, UINT32_MAX);
			return;
		}
		gda_dpa_pool_admit(p, &e, source);
	}
}

static void gda_dpa_pool_scan(struct gda_dpa_pool *p)
{
	gda_dpa_pool_take(p);
	gda_dpa_pool_look(p);
}

/* More is ready than the caller takes: wake another thread, unless the lookout is awake. */
static void gda_dpa_pool_share(struct gda_dpa_pool *p)
{
	if (p->lookout)
		gda_dpa_bell_ring(p->map, 0);
	else if (p->idle)
		gda_dpa_bell_bench(p->map, 1);
}

static void gda_dpa_thread_run(struct gda_dpa_thread *t, struct gda_dpa_pending *l)
{
	gda_dpa_function *function = t->pool->tasks[l->task].function;
	struct gda_dpa_slot *s = t->slot;

	t->threads = l->threads;
	__atomic_store_n(&s->task, l->task, __ATOMIC_RELAXED);
	__atomic_store_n(&s->rank, t->rank, __ATOMIC_RELAXED);
	__atomic_store_n(&s->threads, l->threads, __ATOMIC_RELAXED);
	__atomic_store_n(&s->started_ns, gda_clock_ns(), __ATOMIC_RELEASE);
	function(t, l->args);
	gda_dpa_rdma_leave(t);
	__atomic_store_n(&s->started_ns, 0, __ATOMIC_RELEASE);
}

/* A thread of a launch has ended. If it was the last one, publish that and free the launch. */
static void gda_dpa_pool_end(struct gda_dpa_pool *p, struct gda_dpa_pending *l)
{
	const struct gda_dpa_map *m = p->map;
	struct gda_dpa_word *word;

	if (--l->left)
		return;
	if (l->done) {
		word = &m->words[l->done];
		if (l->flags & GDA_DPA_DONE_SET)
			gda_dpa_word_set(m, word, l->value);
		else
			gda_dpa_word_add(m, word, l->value);
	}
	l->next = p->unused;
	p->unused = l;
	__atomic_fetch_add(&m->header->ended, 1, __ATOMIC_RELEASE);
}

/* Run one thread of the launch that became ready first. */
static void gda_dpa_pool_run(struct gda_dpa_thread *t)
{
	struct gda_dpa_pool *p = t->pool;
	struct gda_dpa_pending *l = p->ready;

	t->rank = l->begun++;
	if (l->begun == l->threads) {
		p->ready = l->next;
		GDA_DPA_HINT(p->nready, p->nready - 1);
		if (!p->ready)
			p->ready_end = &p->ready;
	}
	if (p->ready)
		gda_dpa_pool_share(p);
	pthread_mutex_unlock(&p->lock);
	gda_dpa_thread_run(t, l);
	pthread_mutex_lock(&p->lock);
	gda_dpa_pool_end(p, l);
}

static void gda_dpa_pool_sit(struct gda_dpa_pool *p)
{
	uint32_t bell;

	p->idle++;
	gda_dpa_pool_bench(p);
	bell = __atomic_load_n(&p->map->header->bell, __ATOMIC_SEQ_CST);
	if (!gda_dpa_pool_over(p)) {
		pthread_mutex_unlock(&p->lock);
		gda_dpa_bell_sleep(p->map, bell, GDA_DPA_SLEEP_NS, GDA_DPA_BENCH);
		pthread_mutex_lock(&p->lock);
	}
	p->idle--;
	gda_dpa_pool_bench(p);
}

/* May there be work, or the end of the pool? Called without the lock. */
static bool gda_dpa_pool_guess(const struct gda_dpa_pool *p)
{
	return GDA_DPA_GUESS(p->map->header->tail) != GDA_DPA_GUESS(p->taken) ||
	       GDA_DPA_GUESS(p->narmed) || GDA_DPA_GUESS(p->nready) || gda_dpa_pool_over(p);
}

/*
 * Spin as the lookout, with the lock, which may be released in between. Return: whether there is
 * work, or the pool ends.
 */
static bool gda_dpa_lookout_spin(struct gda_dpa_pool *p)
{
	uint64_t spin = p->map->spin_ns, until;
	unsigned int polls;

	if (spin == UINT64_MAX)
		return false;
	until = gda_clock_ns() + spin;
	pthread_mutex_unlock(&p->lock);
	for (polls = 1;; polls++) {
		if (gda_dpa_pool_guess(p) && !pthread_mutex_trylock(&p->lock)) {
			gda_dpa_pool_scan(p);
			if (p->ready || gda_dpa_pool_over(p))
				return true;
			pthread_mutex_unlock(&p->lock);
		}
		if (polls % GDA_DPA_POLLS == 0) {
			if (gda_clock_ns() >= until)
				break;
		}
		gda_waiter_rest(polls, GDA_WAITER_SHORT);
	}
	pthread_mutex_lock(&p->lock);
	return false;
}

static void gda_dpa_lookout_sleep(struct gda_dpa_pool *p)
{
	struct gda_dpa_header *h = p->map->header;
	uint64_t ns;
	uint32_t bell;

	__atomic_fetch_add(&h->sleepers, 1, __ATOMIC_SEQ_CST);
	for (;;) {
		bell = __atomic_load_n(&h->bell, __ATOMIC_SEQ_CST);
		gda_dpa_pool_scan(p);
		if (p->ready || gda_dpa_pool_over(p))
			break;
		ns = p->nsilent ? GDA_DPA_NAP_NS : GDA_DPA_SLEEP_NS;
		pthread_mutex_unlock(&p->lock);
		gda_dpa_bell_sleep(p->map, bell, ns, GDA_DPA_LOOKOUT);
		pthread_mutex_lock(&p->lock);
	}
	__atomic_fetch_sub(&h->sleepers, 1, __ATOMIC_SEQ_CST);
}

/* Be the lookout until there is work, also if work arrived while no thread was. */
static void gda_dpa_pool_lookout(struct gda_dpa_pool *p)
{
	p->lookout = true;
	gda_dpa_pool_bench(p);
	if (!gda_dpa_lookout_spin(p))
		gda_dpa_lookout_sleep(p);
	p->lookout = false;
	gda_dpa_pool_bench(p);
	gda_dpa_pool_scan(p);
	/* updates of silent words ring no bell, so another thread must poll them */
	if (p->nsilent && p->idle)
		gda_dpa_bell_bench(p->map, 1);
}

static void *gda_dpa_thread_main(void *arg)
{
	struct gda_dpa_thread *t = arg;
	struct gda_dpa_pool *p = t->pool;

	gda_dpa_self = t;
	gda_dpa_serve_thread();
	pthread_mutex_lock(&p->lock);
	while (!gda_dpa_pool_over(p)) {
		gda_dpa_pool_scan(p);
		if (p->ready)
			gda_dpa_pool_run(t);
		else if (p->lookout)
			gda_dpa_pool_sit(p);
		else
			gda_dpa_pool_lookout(p);
	}
	p->alive--;
	pthread_cond_broadcast(&p->ended);
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

static int gda_dpa_pool_start(struct gda_dpa_pool *p, struct gda_view **views)
{
	sigset_t all, old;
	uint32_t i;
	int err = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pthread_mutex_lock(&p->lock);
	for (i = 0; !err && i < p->map->threads; i++) {
		struct gda_dpa_thread *t = &p->threads[i];

		t->pool = p;
		t->slot = &p->map->slots[i];
		t->view = views[i];
		t->index = i;
		err = -pthread_create(&t->pthread, NULL, gda_dpa_thread_main, t);
		p->alive += !err;
		p->started += !err;
	}
	pthread_mutex_unlock(&p->lock);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return err;
}

static int gda_dpa_pool_alloc(struct gda_dpa_pool *p)
{
	const struct gda_dpa_map *m = p->map;
	uint32_t nsources = m->events + 1 + GDA_DPA_COUNTERS, i;

	p->pending = calloc(m->launches, sizeof(*p->pending));
	p->sources = calloc(nsources, sizeof(*p->sources));
	p->armed = calloc(nsources, sizeof(*p->armed));
	p->tasks = calloc(GDA_DPA_TASKS_MAX, sizeof(*p->tasks));
	if (!p->pending || !p->sources || !p->armed || !p->tasks)
		return -ENOMEM;
	for (i = 0; i < m->launches; i++) {
		p->pending[i].next = p->unused;
		p->unused = &p->pending[i];
	}
	for (i = 1; i <= m->events; i++)
		p->sources[i].word = &m->words[i].value;
	return 0;
}

int gda_dpa_pool_create(struct gda_dpa_map *map, struct gda_view **views,
			struct gda_dpa_pool **pool)
{
	struct gda_dpa_pool *p = calloc(1, sizeof(*p) + map->threads * sizeof(p->threads[0]));
	pthread_condattr_t attr;
	int err;

	if (!p)
		return -ENOMEM;
	p->map = map;
	p->ready_end = &p->ready;
	pthread_mutex_init(&p->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&p->ended, &attr);
	pthread_condattr_destroy(&attr);
	err = gda_dpa_pool_alloc(p);
	if (!err)
		err = gda_dpa_pool_start(p, views);
	if (err) {
		/* no task runs, so all threads end */
		gda_dpa_pool_stop(p, UINT64_MAX);
		gda_dpa_pool_free(p);
		return err;
	}
	*pool = p;
	return 0;
}

int gda_dpa_pool_counter(struct gda_dpa_pool *p, const uint64_t *word, uint32_t *source)
{
	struct gda_dpa_source *s = &p->sources[p->map->events + 1];
	int err = 0;
	uint32_t i;

	pthread_mutex_lock(&p->lock);
	for (i = 0; i < p->ncounters && s[i].word != word; i++)
		;
	if (i == GDA_DPA_COUNTERS) {
		err = -ENOSPC;
	} else if (i == p->ncounters) {
		s[i].word = word;
		s[i].silent = 1;
		p->ncounters++;
	}
	pthread_mutex_unlock(&p->lock);
	*source = GDA_DPA_COUNTER | i;
	return err;
}

uint32_t gda_dpa_known_find(const struct gda_dpa_known *tasks, uint32_t n, const char *name,
			    gda_dpa_function *function)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		if (tasks[i].function == function && !strcmp(tasks[i].name, name))
			break;
	return i;
}

int gda_dpa_pool_task(struct gda_dpa_pool *p, const char *name, gda_dpa_function *function,
		      uint32_t *number)
{
	uint32_t n = __atomic_load_n(&p->ntasks, __ATOMIC_ACQUIRE);
	uint32_t i = gda_dpa_known_find(p->tasks, n, name, function);

	if (i == GDA_DPA_TASKS_MAX)
		return -ENOSPC;
	if (i == n) {
		p->tasks[i].function = function;
		memcpy(p->tasks[i].name, name, strlen(name) + 1);
		__atomic_store_n(&p->ntasks, n + 1, __ATOMIC_RELEASE);
	}
	*number = i;
	return 0;
}

int gda_dpa_pool_handle(struct gda_dpa_pool *p, struct gda_view *view,
			const struct gda_dpa_buf *fetched, uint32_t *handle)
{
	uint32_t i;

	pthread_mutex_lock(&p->lock);
	for (i = 0; i < GDA_DPA_MAX_THREADS && p->handles[i].view; i++)
		;
	if (i < GDA_DPA_MAX_THREADS) {
		p->handles[i].fetched = fetched->addr;
		p->handles[i].key = fetched->key;
		p->handles[i].user = 0;
		__atomic_store_n(&p->handles[i].view, view, __ATOMIC_RELEASE);
		*handle = i + 1;
	}
	pthread_mutex_unlock(&p->lock);
	return i < GDA_DPA_MAX_THREADS ? 0 : -ENOSPC;
}

void gda_dpa_pool_handle_free(struct gda_dpa_pool *p, uint32_t handle)
{
	pthread_mutex_lock(&p->lock);
	__atomic_store_n(&p->handles[handle - 1].view, NULL, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&p->lock);
}

int gda_dpa_pool_stop(struct gda_dpa_pool *p, uint64_t deadline)
{
	struct timespec until = {
		.tv_sec = (time_t)(deadline / 1000000000),
		.tv_nsec = (long)(deadline % 1000000000),
	};
	uint32_t i;
	int err = 0;

	__atomic_store_n(&p->map->header->stop, 1, __ATOMIC_SEQ_CST);
	gda_dpa_bell_all(p->map);
	pthread_mutex_lock(&p->lock);
	while (p->alive && !err)
		err = deadline == UINT64_MAX ? pthread_cond_wait(&p->ended, &p->lock) :
			pthread_cond_timedwait(&p->ended, &p->lock, &until);
	err = p->alive ? -EBUSY : 0;
	pthread_mutex_unlock(&p->lock);
	for (i = 0; !err && i < p->started; i++)
		pthread_join(p->threads[i].pthread, NULL);
	return err;
}

void gda_dpa_pool_free(struct gda_dpa_pool *p)
{
	pthread_cond_destroy(&p->ended);
	pthread_mutex_destroy(&p->lock);
	free(p->pending);
	free(p->sources);
	free(p->armed);
	free(p->tasks);
	free(p);
}
