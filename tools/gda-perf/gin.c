// SPDX-License-Identifier: MIT
/*
 * Puts with a signal through gda/gin.h, between two ranks in one context of this process; this
 * thread acts as both. Signals are words, so each put is two work requests behind one doorbell.
 */
#include <pthread.h>
#include <stdlib.h>
#include <gda/gin.h>
#include "perf.h"

#define GIN_LATENCIES	200000U
#define GIN_BATCH	32U

struct gin_rank {
	struct gda_comm *ranks;
	struct gda_gin_comm *comm;
	struct gda_gin *gin;
	struct gda_window *window;
	char *memory;
	uint32_t rank;
};

static struct gda_context *ctx;
static struct gda_comm_id id;
static struct gin_rank from = { .rank = 0 }, to = { .rank = 1 };
static uint64_t *latencies, signalled;

/* Set-up is collective, so each rank needs a thread. */
static void *gin_begin(void *arg)
{
	struct gin_rank *r = arg;
	struct gda_comm_attr ranks = {
		.size = sizeof(ranks), .rank = r->rank, .nranks = 2, .id = &id,
	};
	struct gda_gin_attr attr = {
		.size = sizeof(attr), .depth = perf_options.depth, .signals = 1,
		.sharing = GDA_GIN_SHARE_THREAD, .timeout_ns = 20000000000U,
	};
	struct gda_window_segment segment = { (uintptr_t)r->memory, 4096 };
	struct gda_window_attr what = {
		.size = sizeof(what), .segments = &segment, .count = 1,
	};

	perf_must(gda_comm_create(&ranks, &r->ranks), "gda_comm_create");
	perf_must(gda_gin_create(r->ranks, ctx, &attr, &r->comm), "gda_gin_create");
	perf_must(gda_window_register(r->comm, &what, &r->window), "gda_window_register");
	r->gin = gda_gin_context(r->comm, 0);
	return NULL;
}

static int gin_put(unsigned int flags)
{
	signalled++;
	return gda_gin_put(from.gin, to.rank, gda_at(from.window, 0), gda_at(from.window, 64), 8,
			   gda_gin_inc(0, GDA_EXCLUSIVE | flags));
}

static int gin_seen(void)
{
	return gda_gin_wait_signal(to.gin, 0, signalled, 64, 0);
}

static int gin_lat(struct perf_row *row, struct perf_sample *s)
{
	uint64_t end = gda_clock_ns() + perf_options.ms * 1000000ULL;
	unsigned int n = 0;
	int err = 0;

	(void)row;
	while (!err && n < GIN_LATENCIES && (!n || gda_clock_ns() < end)) {
		uint64_t begin = gda_clock_ns();

		err = gin_put(0);
		if (!err)
			err = gin_seen();
		latencies[n++] = gda_clock_ns() - begin;
	}
	if (!err)
		perf_percentiles(latencies, n, s);
	return err;
}

/* @row->arg puts a doorbell. */
static int gin_rate(struct perf_row *row, struct perf_sample *s)
{
	uint64_t begin = gda_clock_ns(), end = begin + perf_options.ms * 1000000ULL, posted = 0;
	int err = 0;

	do {
		for (int i = 1; !err && i <= 256; i++)
			err = gin_put(i % row->arg ? GDA_DEFER : 0);
		posted += 256;
	} while (!err && gda_clock_ns() < end);
	if (!err)
		err = gin_seen();
	s->value = (double)posted * 1000 / (double)(gda_clock_ns() - begin);
	return err;
}

void perf_gin_plan(void)
{
	pthread_t thread;

	latencies = calloc(GIN_LATENCIES, sizeof(*latencies));
	if (!latencies)
		perf_die("no memory");
	from.memory = perf_memory();
	to.memory = perf_memory();
	perf_worker_before();
	perf_must(gda_open(NULL, &ctx), "gda_open");
	perf_worker_after("worker of the ranks of gda/gin.h");
	perf_must(gda_comm_id_create(NULL, &id), "gda_comm_id_create");
	perf_must(-pthread_create(&thread, NULL, gin_begin, &to), "pthread_create");
	gin_begin(&from);
	pthread_join(thread, NULL);
	perf_row_add(PERF_LAT, "gin_put_signal", "gin put with a signal, seen", 8, gin_lat, 0);
	perf_row_add(PERF_RATE, "gin_put_signal", "gin put with a signal", 8, gin_rate, 1);
	perf_row_add(PERF_RATE, "gin_put_signal_batch", "gin put with a signal, 32 a doorbell", 8,
		     gin_rate, GIN_BATCH);
}
