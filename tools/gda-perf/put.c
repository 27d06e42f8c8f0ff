// SPDX-License-Identifier: MIT
/*
 * Puts within one process. One thread posts and polls, the worker of its context executes. Every
 * put rings its own doorbell, unless the row says otherwise.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include "perf.h"

#define PERF_MAX_LATENCIES	200000U

/* Rows of a rate. */
enum { RATE_PUT, RATE_BATCH, RATE_INLINE, RATE_FETCH_ADD };

#define PERF_BATCH	32U

static struct perf_pair pair;
static uint64_t *latencies;

static uint64_t perf_last_word(uint32_t bytes)
{
	return bytes < 8 ? 0 : bytes - 8;
}

static int perf_lat_seen(struct perf_row *row, uint64_t round, uint64_t *ns)
{
	uint64_t off = perf_last_word(row->bytes);
	const uint64_t *word = (const uint64_t *)(pair.to.memory + off);
	unsigned int polls = 0;
	uint64_t begin;
	int64_t ticket;
	int err;

	*(uint64_t *)(pair.from.memory + off) = round;
	begin = gda_clock_ns();
	ticket = perf_put(&pair, row->bytes, 0);
	while (gda_load_acquire64(word) != round) {
		gda_pause();
		if (!(++polls % 4096)) {
			err = gda_test(pair.from.v, ticket);
			if (err < 0)
				return err;
		}
	}
	*ns = gda_clock_ns() - begin;
	return gda_wait(pair.from.v, ticket, 0);
}

static int perf_lat_completed(struct perf_row *row, uint64_t round, uint64_t *ns)
{
	uint64_t begin = gda_clock_ns();
	int err = gda_wait(pair.from.v, perf_put(&pair, row->bytes, 0), 0);

	(void)round;
	*ns = gda_clock_ns() - begin;
	return err;
}

static int perf_lat_get(struct perf_row *row, uint64_t round, uint64_t *ns)
{
	uint64_t begin = gda_clock_ns();
	int64_t ticket = gda_get(pair.from.v, pair.laddr, pair.lkey, pair.raddr, pair.rkey,
				 row->bytes, GDA_EXCLUSIVE);
	int err = gda_wait(pair.from.v, ticket, 0);

	(void)round;
	*ns = gda_clock_ns() - begin;
	return err;
}

static int perf_lat_fetch_add(struct perf_row *row, uint64_t round, uint64_t *ns)
{
	uint64_t begin = gda_clock_ns();
	int64_t ticket = gda_fetch_add(pair.from.v, pair.laddr, pair.lkey, pair.raddr,
				       pair.rkey, 1, GDA_EXCLUSIVE);
	int err = gda_wait(pair.from.v, ticket, 0);

	(void)row;
	(void)round;
	*ns = gda_clock_ns() - begin;
	return err;
}

static int (*const perf_lat_once[])(struct perf_row *row, uint64_t round, uint64_t *ns) = {
	perf_lat_seen, perf_lat_completed, perf_lat_get, perf_lat_fetch_add,
};

static int perf_lat(struct perf_row *row, struct perf_sample *s)
{
	static uint64_t round = 1000;
	uint64_t end = gda_clock_ns() + perf_options.ms * 1000000ULL;
	unsigned int n = 0;
	int err;

	/* wakes the worker, too */
	for (int warm = 0; warm < 20; warm++) {
		err = perf_lat_once[row->arg](row, round++, latencies);
		if (err)
			return err;
	}
	do {
		err = perf_lat_once[row->arg](row, round++, &latencies[n++]);
		if (err)
			return err;
	} while (n < PERF_MAX_LATENCIES && (n % 8 || gda_clock_ns() < end));
	perf_percentiles(latencies, n, s);
	return 0;
}

static int64_t perf_rate_post(const struct perf_pair *p, uint32_t bytes, int kind,
			      unsigned int flags)
{
	if (kind == RATE_INLINE)
		return gda_put_inline(p->from.v, p->raddr, p->rkey, p->from.memory, bytes,
				      GDA_EXCLUSIVE);
	if (kind == RATE_FETCH_ADD)
		return gda_fetch_add(p->from.v, p->laddr, p->lkey, p->raddr, p->rkey, 1,
				     GDA_EXCLUSIVE);
	return perf_put(p, bytes, flags);
}

/* @n posts of one kind, in a separate loop for each, so that flags are constants. */
static __attribute__((always_inline)) inline
int perf_rate_posts(const struct perf_pair *p, uint32_t bytes, int kind, unsigned int n)
{
	int64_t ticket = 0;

	while (n-- && ticket >= 0) {
		if (kind == RATE_BATCH && n % PERF_BATCH)
			ticket = perf_rate_post(p, bytes, kind, GDA_DEFER);
		else
			ticket = perf_rate_post(p, bytes, kind, 0);
	}
	return ticket < 0 ? (int)ticket : 0;
}

static int perf_rate_some(const struct perf_pair *p, uint32_t bytes, int kind, unsigned int n)
{
	switch (kind) {
	case RATE_BATCH:
		return perf_rate_posts(p, bytes, RATE_BATCH, n);
	case RATE_INLINE:
		return perf_rate_posts(p, bytes, RATE_INLINE, n);
	case RATE_FETCH_ADD:
		return perf_rate_posts(p, bytes, RATE_FETCH_ADD, n);
	default:
		return perf_rate_posts(p, bytes, RATE_PUT, n);
	}
}

/* Posted and completed, in million/s. The ring is kept full. */
static int perf_rate_of(const struct perf_pair *p, uint32_t bytes, int kind, double *rate)
{
	unsigned int n = bytes > 4096 ? 1 + (1U << 20) / bytes : 256;
	uint64_t begin, end, posted = 0;
	int err;

	err = perf_rate_some(p, bytes, kind, n);
	if (!err)
		err = gda_quiet(p->from.v, 0);
	if (err)
		return err;
	begin = gda_clock_ns();
	end = begin + perf_options.ms * 1000000ULL;
	/* at least once, however late it is */
	do {
		err = perf_rate_some(p, bytes, kind, n);
		posted += n;
	} while (!err && gda_clock_ns() < end);
	if (!err)
		err = gda_quiet(p->from.v, 0);
	*rate = (double)posted * 1000 / (double)(gda_clock_ns() - begin);
	return err;
}

int perf_put_rate(const struct perf_pair *p, uint32_t bytes, unsigned int batch, double *rate)
{
	return perf_rate_of(p, bytes, batch > 1 ? RATE_BATCH : RATE_PUT, rate);
}

static int perf_rate(struct perf_row *row, struct perf_sample *s)
{
	return perf_rate_of(&pair, row->bytes, row->arg, &s->value);
}

/*
 * The same queue with idle QPs beside it. The location of memory affects the result, so it must be
 * the same.
 */
static int perf_rate_crowded(struct perf_row *row, struct perf_sample *s)
{
	static struct gda_qp *idle[PERF_MAX_IDLE];
	int err = perf_crowd_open(pair.from.ctx, idle, perf_options.idle);

	if (!err)
		err = perf_rate_of(&pair, row->bytes, RATE_PUT, &s->value);
	perf_crowd_close(idle, perf_options.idle);
	return err;
}

static int perf_bw(struct perf_row *row, struct perf_sample *s)
{
	int err = perf_rate_of(&pair, row->bytes, RATE_PUT, &s->value);

	s->value *= row->bytes / 1000.0;
	return err;
}

static void perf_lat_plan(void)
{
	for (unsigned int i = 0; i < perf_options.nsizes; i++) {
		uint32_t bytes = perf_options.sizes[i];

		perf_row_add(PERF_LAT, "put_seen", "put, seen in the target's memory", bytes,
			     perf_lat, 0);
		perf_row_add(PERF_LAT, "put_completed", "put, completion seen", bytes,
			     perf_lat, 1);
	}
	perf_row_add(PERF_LAT, "get_completed", "get, completion seen", 8, perf_lat, 2);
	perf_row_add(PERF_LAT, "fetch_add", "fetch-add, completion seen", 8, perf_lat, 3);
}

static void perf_rate_plan(void)
{
	perf_row_add(PERF_RATE, "put", "put", 8, perf_rate, RATE_PUT);
	if (perf_options.idle)
		perf_row_add(PERF_RATE, "put_idle_qps", "put, idle QPs beside it", 8,
			     perf_rate_crowded, 0);
	perf_row_add(PERF_RATE, "put_batch", "put, 32 a doorbell", 8, perf_rate, RATE_BATCH);
	perf_row_add(PERF_RATE, "put_inline", "put, inline", 8, perf_rate, RATE_INLINE);
	perf_row_add(PERF_RATE, "fetch_add", "fetch-add", 8, perf_rate, RATE_FETCH_ADD);
}

const char *perf_put_device(void)
{
	static struct gda_query query = { .size = sizeof(query) };

	perf_must(gda_context_query(pair.from.ctx, &query), "gda_context_query");
	return (const char *)query.device;
}

void perf_put_plan(void)
{
	latencies = calloc(PERF_MAX_LATENCIES, sizeof(*latencies));
	if (!latencies)
		perf_die("out of memory");
	perf_pair_open(&pair);
	perf_lat_plan();
	perf_rate_plan();
	for (unsigned int i = 0; i < perf_options.nsizes; i++)
		perf_row_add(PERF_BW, "put", "put", perf_options.sizes[i], perf_bw, 0);
}
