// SPDX-License-Identifier: MIT
/*
 * Where random programs (program.c) run: on the in-process device, whose workers are at it
 * meanwhile, and on the consumer of late.h, as many on each. GDA_PROGRAMS=N: so many in all.
 */
#include <pthread.h>
#include "../inproc/suite.h"
#include "program.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define PROGRAMS	5000U
#else
#define PROGRAMS	100000U
#endif
#define WORLDS		12U	/* that they run in */

static uint64_t how_many(void)
{
	const char *all = getenv("GDA_PROGRAMS");

	return ((all ? strtoull(all, NULL, 10) : PROGRAMS) + WORLDS - 1) / WORLDS;
}

/* A rank of a communicator, made by a thread of its own: set-up is collective. */
struct rank {
	struct world *world;
	const struct gda_comm_id *id;
	struct gda_context *ctx;
	struct gda_comm *ranks;
	struct gda_gin_comm *comm;
	uint32_t rank;
	int err;
};

static void *rank_begin(void *arg)
{
	struct rank *r = arg;
	struct world *w = r->world;
	struct gda_comm_attr ranks = {
		.size = sizeof(ranks), .rank = r->rank, .nranks = w->nranks, .id = r->id,
		.timeout_ns = 30000000000U,
	};
	struct gda_gin_attr attr = {
		.size = sizeof(attr), .contexts = CONTEXTS, .depth = 256, .signals = RANKS,
		.counters = 2 * RANKS, .barriers = 1, .timeout_ns = 30000000000U,
		.flags = w->arrival ? GDA_GIN_ARRIVAL : 0,
	};
	struct gda_window_segment segment = { .bytes = BYTES };
	struct gda_window_attr what = {
		.size = sizeof(what), .flags = GDA_WINDOW_STRICT, .segments = &segment, .count = 1,
	};
	uint32_t c;

	segment.addr = (uintptr_t)w->memory[r->rank];
	r->err = gda_comm_create(&ranks, &r->ranks);
	if (!r->err)
		r->err = gda_gin_create(r->ranks, r->ctx, &attr, &r->comm);
	if (!r->err)
		r->err = gda_window_register(r->comm, &what, &w->window[r->rank]);
	for (c = 0; !r->err && c < CONTEXTS; c++)
		w->gin[c][r->rank] = gda_gin_context(r->comm, c);
	return NULL;
}

static void *rank_end(void *arg)
{
	struct rank *r = arg;

	gda_window_deregister(r->world->window[r->rank]);
	gda_gin_destroy(r->comm);
	gda_comm_destroy(r->ranks);
	return NULL;
}

static void on_all(struct rank *ranks, uint32_t n, void *(*what)(void *))
{
	pthread_t threads[RANKS];
	uint32_t i;

	for (i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, what, &ranks[i]))
			abort();
	for (i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}

/* On the in-process device: all ranks are of one context, so whoever waits helps them all. */
static const char *on_device(uint32_t nranks, bool arrival)
{
	struct world *w = calloc(1, sizeof(*w));
	struct gda_comm_id id;
	struct rank ranks[RANKS];
	struct gda_context *ctx;
	const char *broken;
	uint32_t i;

	w->nranks = nranks;
	w->arrival = arrival;
	if (gda_open(GDA_DEVICE_INPROC, &ctx) || gda_comm_id_create(NULL, &id))
		return "set-up";
	for (i = 0; i < nranks; i++) {
		w->memory[i] = aligned_alloc(4096, BYTES);
		memset(w->memory[i], 0, BYTES);
		ranks[i] = (struct rank){ .world = w, .id = &id, .ctx = ctx, .rank = i };
	}
	on_all(ranks, nranks, rank_begin);
	broken = NULL;
	for (i = 0; i < nranks; i++)
		broken = ranks[i].err ? "set-up" : broken;
	broken = broken ? broken : programs_run(w, how_many());
	on_all(ranks, nranks, rank_end);
	gda_close(ctx);
	for (i = 0; i < nranks; i++)
		free(w->memory[i]);
	free(w);
	return broken;
}

static const char *on_late(uint32_t nranks, bool arrival)
{
	const struct late_attr attr = {
		.nranks = nranks, .contexts = CONTEXTS, .signals = RANKS, .counters = 2 * RANKS,
		.barriers = 1, .depth = 256, .arrival = arrival, .bytes = BYTES,
	};
	struct world *w = calloc(1, sizeof(*w));
	struct late late;
	const char *broken;
	uint32_t c, r;

	late_create(&late, &attr);
	w->late = &late;
	w->nranks = nranks;
	w->arrival = arrival;
	for (r = 0; r < nranks; r++) {
		w->window[r] = &late.windows[r];
		w->memory[r] = late.memory + r * attr.bytes;
		for (c = 0; c < CONTEXTS; c++)
			w->gin[c][r] = late_gin(&late, c, r);
	}
	broken = programs_run(w, how_many());
	late_destroy(&late);
	free(w);
	return broken;
}

FIXTURE(programs) {
};

FIXTURE_SETUP(programs)
{
	(void)self;
}

FIXTURE_TEARDOWN(programs)
{
	(void)self;
}

#define BOTH(name, n, arrival) \
TEST_F_TIMEOUT(programs, name##_on_the_device, 3000) \
{ \
	EXPECT_EQ(NULL, on_device(n, arrival)); \
} \
TEST_F_TIMEOUT(programs, name##_late, 3000) \
{ \
	EXPECT_EQ(NULL, on_late(n, arrival)); \
}

BOTH(G_04_G_10_G_14_G_25_programs_of_2, 2, false)
BOTH(G_04_G_10_G_14_G_25_programs_of_3, 3, false)
BOTH(G_04_G_10_G_14_G_25_programs_of_4, 4, false)
BOTH(E_02_E_04_E_13_programs_of_2_by_arrival, 2, true)
BOTH(E_02_E_04_E_13_programs_of_3_by_arrival, 3, true)
BOTH(E_02_E_04_E_13_programs_of_4_by_arrival, 4, true)

TEST_HARNESS_MAIN
