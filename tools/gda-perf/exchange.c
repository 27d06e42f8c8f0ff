// SPDX-License-Identifier: MIT
/*
 * Exchanges of gda-perf shared: over bare words, through gda.h, gda/gin.h and gda/dpa.h.
 *
 * Ping-pong of two threads is a ring of two: rank 0 sends and then waits, the other rank waits and
 * then sends.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <gda/dpa.h>
#include <gda/gin.h>
#include "perf.h"
#include "shared.h"

#define BARE_POLLS	64U	/* polls before other threads may run */

static void *exchange_alloc(size_t bytes)
{
	void *p = aligned_alloc(128, (bytes + 127) / 128 * 128);

	if (!p)
		perf_die("out of memory");
	return memset(p, 0, bytes);
}

/* --- bare words --- */

struct bare {
	struct {
		_Alignas(128) uint64_t word[SHARED_RANKS];	/* by sender */
	} of[SHARED_RANKS];
};

static void *bare_open(void)
{
	return exchange_alloc(sizeof(struct bare));
}

static void bare_await(const uint64_t *word, uint64_t least)
{
	unsigned int polls = 0;

	while (gda_load_acquire64(word) < least) {
		if (++polls % BARE_POLLS)
			gda_pause();
		else
			sched_yield();
	}
}

static int bare_ring(struct bare *b, unsigned int ranks, unsigned int rank, uint64_t round)
{
	if (rank)
		bare_await(&b->of[rank].word[0], round);
	gda_store_release64(&b->of[(rank + 1) % ranks].word[0], round);
	if (!rank)
		bare_await(&b->of[0].word[0], round);
	return 0;
}

static int bare_ping_pong(void *group, unsigned int rank, uint64_t round)
{
	return bare_ring(group, 2, rank, round);
}

static int bare_ring_of_four(void *group, unsigned int rank, uint64_t round)
{
	return bare_ring(group, SHARED_RANKS, rank, round);
}

static int bare_barrier(void *group, unsigned int rank, uint64_t round)
{
	struct bare *b = group;
	unsigned int i;

	for (i = 1; i < SHARED_RANKS; i++)
		gda_store_release64(&b->of[(rank + i) % SHARED_RANKS].word[rank], round);
	for (i = 1; i < SHARED_RANKS; i++)
		bare_await(&b->of[rank].word[(rank + i) % SHARED_RANKS], round);
	return 0;
}

/* --- gda.h --- */

static void *ping_open(void)
{
	struct perf_pair *pair = exchange_alloc(sizeof(*pair));

	perf_end_open(&pair->from);
	perf_end_open(&pair->to);
	perf_pair_connect(pair);
	return pair;
}

static int ping_put(const struct perf_end *from, const struct perf_end *to, uint64_t round)
{
	uint64_t *source = (uint64_t *)from->memory + 8;
	int64_t ticket;

	*source = round;
	ticket = gda_put(from->v, gda_mr_iova(from->mr) + 64, gda_mr_key(from->mr),
			 gda_mr_iova(to->mr), gda_mr_key(to->mr), sizeof(round), GDA_EXCLUSIVE);
	return gda_wait(from->v, ticket, 0);
}

static void ping_await(const struct perf_end *end, uint64_t least)
{
	const uint64_t *word = (const uint64_t *)end->memory;
	unsigned int polls = 0;

	while (gda_load_acquire64(word) < least) {
		if (++polls % BARE_POLLS)
			gda_pause();
		else
			gda_yield();
	}
}

static int ping_step(void *group, unsigned int rank, uint64_t round)
{
	const struct perf_pair *pair = group;
	int err;

	if (rank) {
		ping_await(&pair->to, round);
		return ping_put(&pair->to, &pair->from, round);
	}
	err = ping_put(&pair->from, &pair->to, round);
	ping_await(&pair->from, round);
	return err;
}

/* --- gda/gin.h --- */

struct gins {
	struct gda_context *ctx;
	struct gda_comm_id id;
	struct gins_rank {
		struct gins *all;
		uint32_t rank;
		struct gda_comm *ranks;
		struct gda_gin_comm *comm;
		struct gda_gin *gin;
		struct gda_window *window;
		struct gda_gin_barrier barrier;
		char *memory;
	} rank[SHARED_RANKS];
};

/* Set-up is collective, so each rank needs a thread. */
static void *gin_begin(void *arg)
{
	struct gins_rank *r = arg;
	struct gda_comm_attr ranks = {
		.size = sizeof(ranks), .rank = r->rank, .nranks = SHARED_RANKS, .id = &r->all->id,
	};
	struct gda_gin_attr attr = {
		.size = sizeof(attr), .signals = 1, .barriers = 1,
		.sharing = GDA_GIN_SHARE_THREAD, .timeout_ns = 20000000000U,
	};
	struct gda_window_segment segment = { (uintptr_t)r->memory, 4096 };
	struct gda_window_attr what = {
		.size = sizeof(what), .segments = &segment, .count = 1,
	};

	perf_must(gda_comm_create(&ranks, &r->ranks), "gda_comm_create");
	perf_must(gda_gin_create(r->ranks, r->all->ctx, &attr, &r->comm), "gda_gin_create");
	perf_must(gda_window_register(r->comm, &what, &r->window), "gda_window_register");
	r->gin = gda_gin_context(r->comm, 0);
	perf_must(gda_gin_barrier_begin(&r->barrier, r->gin, gda_team_world(r->comm), 0),
		  "gda_gin_barrier_begin");
	return NULL;
}

static void *gin_open(void)
{
	struct gins *g = exchange_alloc(sizeof(*g));
	pthread_t thread[SHARED_RANKS];
	uint32_t i;

	perf_must(gda_open(NULL, &g->ctx), "gda_open");
	perf_must(gda_comm_id_create(NULL, &g->id), "gda_comm_id_create");
	for (i = 0; i < SHARED_RANKS; i++) {
		g->rank[i].all = g;
		g->rank[i].rank = i;
		g->rank[i].memory = perf_memory();
		perf_must(-pthread_create(&thread[i], NULL, gin_begin, &g->rank[i]),
			  "pthread_create");
	}
	for (i = 0; i < SHARED_RANKS; i++)
		pthread_join(thread[i], NULL);
	return g;
}

static int gin_ring(void *group, unsigned int rank, uint64_t round)
{
	struct gins_rank *r = &((struct gins *)group)->rank[rank];
	int err = 0;

	if (rank)
		err = gda_gin_wait_signal(r->gin, 0, round, 64, 0);
	if (!err)
		err = gda_gin_put(r->gin, (rank + 1) % SHARED_RANKS, gda_at(r->window, 0),
				  gda_at(r->window, 64), 8, gda_gin_inc(0, GDA_EXCLUSIVE));
	if (!rank && !err)
		err = gda_gin_wait_signal(r->gin, 0, round, 64, 0);
	return err;
}

static int gin_barrier(void *group, unsigned int rank, uint64_t round)
{
	struct gins_rank *r = &((struct gins *)group)->rank[rank];

	(void)round;
	return gda_gin_barrier_sync(&r->barrier, 0, 0);
}

/* --- gda/dpa.h --- */

struct launcher {
	struct gda_context *ctx;
	struct gda_dpa *dpa;
	struct gda_dpa_event *done;
	uint64_t launches;
};

GDA_DPA_TASK(exchange_nothing)
{
}

static void *dpa_open(void)
{
	struct gda_dpa_attr attr = { .size = sizeof(attr), .threads = 1 };
	struct launcher *l = exchange_alloc(sizeof(*l));

	perf_must(gda_open(NULL, &l->ctx), "gda_open");
	perf_must(gda_dpa_create(l->ctx, &attr, &l->dpa), "gda_dpa_create");
	perf_must(gda_dpa_event_create(l->dpa, NULL, &l->done), "gda_dpa_event_create");
	return l;
}

static int dpa_step(void *group, unsigned int rank, uint64_t round)
{
	struct launcher *l = group;
	struct gda_dpa_launch_attr what = {
		.size = sizeof(what), .task = &exchange_nothing, .threads = 1,
		.done = l->done, .value = 1,
	};
	int err = gda_dpa_launch(l->dpa, &what);

	(void)rank;
	(void)round;
	if (err)
		return err;
	return gda_dpa_event_await_gt(l->done, l->launches++, UINT64_MAX,
				      gda_clock_ns() + 20000000000U);
}

const struct shared_kind shared_kinds[] = {
	{ "ping_pong", "gda.h: put of 8 bytes, half a trip", 2, 2, 2, 4,
	  { ping_open, ping_step }, { bare_open, bare_ping_pong }, 2 },
	{ "gin_put_signal", "gin: put with a signal, to the next of 4", 4, 4, 4, 0,
	  { gin_open, gin_ring }, { bare_open, bare_ring_of_four }, 4 },
	{ "gin_barrier", "gin: barrier of 4", 4, 4, 1, 0,
	  { gin_open, gin_barrier }, { bare_open, bare_barrier }, 4 },
	{ "dpa_launch", "dpa: launch, until its event", 1, 2, 1, 0,
	  { dpa_open, dpa_step }, { bare_open, bare_ping_pong }, 2 },
};

const unsigned int shared_nkinds = sizeof(shared_kinds) / sizeof(shared_kinds[0]);
