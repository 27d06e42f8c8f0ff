// SPDX-License-Identifier: MIT
/*
 * Strong signals by epochs, on queues without order: who sees a signal's value sees all that was
 * put before it, with and without room at the peer, whatever the signal adds, and with several
 * threads.
 */
#include <pthread.h>
#include "../lib/repeat.h"
#include "gin.h"

#define BYTES	64U
#define PUTS	400U
#define THREADS	3U

/* What is asked for and cannot be, and where the flag has no effect. */
static int creation(struct g_rank *r)
{
	struct gda_gin_attr attr = {
		.size = sizeof(attr), .flags = GDA_GIN_EPOCHS | GDA_GIN_ARRIVAL, .signals = 1,
		.dialect = GDA_DIALECT_EFA,
	};
	struct gda_gin_comm *comm;

	G_EQ(2, r->gin->endpoints);
	G_TRUE(r->gin->flags & GDA_GIN_EPOCHS);
	G_EQ(-EOPNOTSUPP, gda_gin_create(r->ranks, r->ctx, &attr, &comm));
	G_TRUE(strstr(gda_last_error(), "GDA_GIN_EPOCHS"));
	attr.flags = GDA_GIN_EPOCHS | GDA_GIN_NEED_STRONG | GDA_GIN_NEED_ADD;
	attr.dialect = GDA_DIALECT_MLX5;
	G_OK(gda_gin_create(r->ranks, r->ctx, &attr, &comm));
	G_EQ(0, gda_gin_context(comm, 0)->flags & GDA_GIN_EPOCHS);
	G_EQ(1, gda_gin_context(comm, 0)->endpoints);
	gda_gin_destroy(comm);
	return 0;
}

/* What put @i adds to the signal that is behind it; 0: there is none. */
static uint64_t add_of(uint32_t i)
{
	return i % 5 == 3 ? 0 : i % 3 ? 1 : i;
}

/* The value of the signal when that of put @i was added. */
static uint64_t sum_of(uint32_t i)
{
	uint64_t sum = 0;
	uint32_t k;

	for (k = 0; k <= i; k++)
		sum += add_of(k);
	return sum;
}

static struct gda_gin_how how_of(uint32_t i)
{
	uint64_t add = add_of(i);

	if (!add)
		return gda_gin_plain(0);
	return add == 1 && i % 2 ? gda_gin_inc(1, 0) : gda_gin_add(1, add, 0);
}

static int put_all(struct g_rank *r, const struct gda_window *w, unsigned char *mem, uint32_t peer)
{
	uint32_t i;

	for (i = 0; i < PUTS; i++) {
		uint64_t at = (uint64_t)(PUTS + i) * BYTES, value;

		g_fill(mem + at, BYTES, r->rank, i);
		memcpy(&value, mem + at, 8);
		if (i % 4 == 2)
			G_OK(gda_gin_put_value(r->gin, peer, gda_at(w, i * BYTES), value, 8,
					       how_of(i)));
		else
			G_OK(gda_gin_put(r->gin, peer, gda_at(w, i * BYTES), gda_at(w, at), BYTES,
					 gda_gin_count(how_of(i), 0)));
	}
	return 0;
}

/* All puts up to the one whose signal made the value @value have arrived. */
static int check_all(struct g_rank *r, const unsigned char *mem, uint32_t from, uint64_t value)
{
	uint32_t i, last = 0;

	for (i = 0; i < PUTS; i++)
		if (add_of(i) && sum_of(i) <= value)
			last = i + 1;
	for (i = 0; i < last; i++)
		G_TRUE(g_is(mem + i * BYTES, i % 4 == 2 ? 8 : BYTES, from, i));
	return 0;
}

/* A rank puts, and reads what the other one has put. */
static int both_ways(struct g_rank *r)
{
	uint32_t next = (r->rank + 1) % r->nranks, before = (r->rank + r->nranks - 1) % r->nranks;
	uint64_t value = 0, end = sum_of(PUTS - 1);
	struct gda_window *w;
	unsigned char *mem;

	G_OK(g_window(r, 2 * PUTS * BYTES, 0, &mem, &w));
	G_OK(put_all(r, w, mem, next));
	while (value != end) {
		G_OK(gda_gin_wait_signal(r->gin, 1, value + 1, 64, 0));
		value = gda_gin_read_signal(r->gin, 1, 64);
		G_OK(check_all(r, mem, before, value));
	}
	G_OK(gda_gin_flush(r->gin, 0));
	G_OK(gda_comm_barrier(r->ranks, 0));
	g_window_end(mem, 2 * PUTS * BYTES, w);
	return 0;
}

/* One reads while the other one puts. */
static int meanwhile(struct g_rank *r)
{
	uint64_t value = 0, end = sum_of(PUTS - 1);
	struct gda_window *w;
	unsigned char *mem;

	G_OK(g_window(r, 2 * PUTS * BYTES, 0, &mem, &w));
	if (!r->rank)
		G_OK(put_all(r, w, mem, 1));
	while (r->rank && value != end) {
		G_OK(gda_gin_wait_signal(r->gin, 1, value + 1, 64, 0));
		value = gda_gin_read_signal(r->gin, 1, 64);
		G_OK(check_all(r, mem, 0, value));
	}
	G_OK(gda_comm_barrier(r->ranks, 0));
	g_window_end(mem, 2 * PUTS * BYTES, w);
	return 0;
}

/* More writes than an immediate can count. */
static int long_epoch(struct g_rank *r)
{
	uint32_t i, k, n = GDA_EPOCH_COUNT + 3;
	struct gda_window *w;
	unsigned char *mem;

	G_OK(g_window(r, 2 * BYTES, 0, &mem, &w));
	for (k = 1; k <= 2; k++) {
		for (i = 0; !r->rank && i < n; i++)
			G_OK(gda_gin_put_value(r->gin, 1, gda_at(w, 0), i * k, 8,
					       gda_gin_plain(0)));
		if (!r->rank)
			G_OK(gda_gin_put_value(r->gin, 1, gda_at(w, 8), k, 8, gda_gin_inc(0, 0)));
		else
			G_OK(gda_gin_wait_signal(r->gin, 0, k, 64, 0));
		if (r->rank)
			G_EQ(k, *(uint64_t *)(void *)(mem + 8));
		G_OK(gda_comm_barrier(r->ranks, 0));
	}
	g_window_end(mem, 2 * BYTES, w);
	return 0;
}

struct poster {
	struct g_rank *r;
	struct gda_window *w;
	unsigned char *mem;
	uint32_t number;
	int result;
	pthread_t thread;
};

/* A thread has blocks and a signal of its own; some of its posts do not wait. */
static int post_own(struct poster *p)
{
	uint32_t i, base = p->number * PUTS;
	struct g_rank *r = p->r;
	int err;

	for (i = 0; i < PUTS; i++) {
		uint64_t at = (uint64_t)(THREADS * PUTS + base + i) * BYTES;

		g_fill(p->mem + at, BYTES, p->number, i);
		do {
			err = gda_gin_put(r->gin, 1, gda_at(p->w, (base + i) * BYTES),
					  gda_at(p->w, at), BYTES,
					  gda_gin_inc(p->number, i % 2 ? GDA_NOWAIT : 0));
		} while (err == -EAGAIN);
		G_OK(err);
	}
	return 0;
}

static void *poster_main(void *arg)
{
	struct poster *p = arg;

	p->result = post_own(p);
	return NULL;
}

static int threads(struct g_rank *r)
{
	size_t bytes = 2 * (size_t)THREADS * PUTS * BYTES;
	struct poster p[THREADS];
	struct gda_window *w;
	unsigned char *mem;
	uint32_t t, i, k;

	G_OK(g_window(r, bytes, 0, &mem, &w));
	for (t = 0; !r->rank && t < THREADS; t++) {
		p[t] = (struct poster){ .r = r, .w = w, .mem = mem, .number = t };
		G_OK(pthread_create(&p[t].thread, NULL, poster_main, &p[t]));
	}
	for (i = 1; r->rank && i <= PUTS; i++) {
		for (t = 0; t < THREADS; t++) {
			G_OK(gda_gin_wait_signal(r->gin, t, i, 64, 0));
			for (k = 0; k < i; k += i == PUTS ? 1 : PUTS / 8)
				G_TRUE(g_is(mem + (t * PUTS + k) * BYTES, BYTES, t, k));
		}
	}
	for (t = 0; !r->rank && t < THREADS; t++) {
		pthread_join(p[t].thread, NULL);
		G_OK(p[t].result);
	}
	G_OK(gda_comm_barrier(r->ranks, 0));
	g_window_end(mem, bytes, w);
	return 0;
}

#define ATTR(slots) { .signals = THREADS, .counters = 1, .depth = slots, .flags = GDA_GIN_EPOCHS, \
		      .dialect = GDA_DIALECT_EFA }

static const struct g_test tests[] = {
	{ "creation", creation, G_WORDS, 2, ATTR(16) },
	{ "G_04_both_ways", both_ways, G_WORDS, 3, ATTR(1024) },
	{ "G_04_both_ways_without_room", both_ways, G_WORDS, 2, ATTR(4) },
	{ "G_04_meanwhile", meanwhile, G_WORDS, 2, ATTR(64) },
	{ "G_04_meanwhile_without_room", meanwhile, G_WORDS, 2, ATTR(4) },
	{ "G_04_long_epoch", long_epoch, G_WORDS, 2, ATTR(64) },
	{ "G_04_threads", threads, G_WORDS, 2, ATTR(64) },
	{ "G_04_threads_without_room", threads, G_WORDS, 2, ATTR(4) },
};

int main(void)
{
	return g_main(tests, sizeof(tests) / sizeof(tests[0]));
}
