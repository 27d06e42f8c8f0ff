// SPDX-License-Identifier: MIT
/*
 * Ping-pong between two threads of one process: each waits for its put, and then for the other's
 * word. With the workers of their contexts four threads need a processor, so the row shows the cost
 * of waiting if there are fewer. On the in-process device a waiting thread executes its queue
 * itself; on other devices it yields.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include "perf.h"

#define PING_LATENCIES	200000U
#define PING_SOURCE	4096U		/* puts go from here to offset 0 */
#define PING_POLLS	256U		/* before others may run */
#define PING_STEP_NS	5000000000ULL
#define PING_STOP	UINT64_MAX

struct ping_side {
	struct perf_end *end;
	uint64_t laddr, raddr;
	uint32_t lkey, rkey;
	uint64_t round;			/* the last round that was answered */
};

static struct perf_pair pair;
static struct ping_side ping, pong;
static uint64_t *latencies;

static int ping_put(const struct ping_side *s, uint64_t round)
{
	int64_t ticket;

	*(uint64_t *)(s->end->memory + PING_SOURCE) = round;
	ticket = gda_put(s->end->v, s->laddr + PING_SOURCE, s->lkey, s->raddr, s->rkey,
			 sizeof(round), GDA_EXCLUSIVE);
	return gda_wait(s->end->v, ticket, 0);
}

/* Wait for a word other than @last in this side's memory. Return: 0 or -ETIMEDOUT. */
static int ping_await(const struct ping_side *s, uint64_t last, uint64_t *word)
{
	uint64_t deadline = gda_clock_ns() + PING_STEP_NS;
	unsigned int polls = 0;

	for (;;) {
		*word = gda_load_acquire64((const uint64_t *)s->end->memory);
		if (*word != last)
			return 0;
		gda_pause();
		if (++polls % PING_POLLS)
			continue;
		if (gda_clock_ns() > deadline)
			return -ETIMEDOUT;
		gda_yield();
	}
}

static void *pong_main(void *arg)
{
	struct ping_side *s = arg;
	uint64_t word;

	while (!ping_await(s, s->round, &word) && word != PING_STOP) {
		s->round = word;
		if (ping_put(s, word))
			break;
	}
	return NULL;
}

static int ping_trip(uint64_t *ns)
{
	uint64_t begin = gda_clock_ns(), word;
	int err = ping_put(&ping, ping.round + 1);

	if (!err)
		err = ping_await(&ping, ping.round, &word);
	if (err)
		return err;
	ping.round++;
	*ns = (gda_clock_ns() - begin) / 2;
	return 0;
}

static int ping_trips(struct perf_sample *s)
{
	unsigned int n = 0;
	uint64_t end;
	int err = 0;

	for (int warm = 0; warm < 20 && !err; warm++)
		err = ping_trip(latencies);
	end = gda_clock_ns() + perf_options.ms * 1000000ULL;
	while (!err && n < PING_LATENCIES && (!n || gda_clock_ns() < end))
		err = ping_trip(&latencies[n++]);
	if (!err)
		perf_percentiles(latencies, n, s);
	return err;
}

static int ping_lat(struct perf_row *row, struct perf_sample *s)
{
	pthread_t thread;
	int err, ended;

	(void)row;
	*(uint64_t *)ping.end->memory = ping.round;
	*(uint64_t *)pong.end->memory = ping.round;
	pong.round = ping.round;
	perf_threads_free(true);
	err = -pthread_create(&thread, NULL, pong_main, &pong);
	if (!err) {
		err = ping_trips(s);
		ended = ping_put(&ping, PING_STOP);
		err = err ? err : ended;
		pthread_join(thread, NULL);
	}
	perf_threads_free(false);
	return err;
}

void perf_ping_plan(void)
{
	latencies = calloc(PING_LATENCIES, sizeof(*latencies));
	if (!latencies)
		perf_die("out of memory");
	perf_pair_open(&pair);
	ping = (struct ping_side){ &pair.from, pair.laddr, pair.raddr, pair.lkey, pair.rkey, 0 };
	pong = (struct ping_side){ &pair.to, pair.raddr, pair.laddr, pair.rkey, pair.lkey, 0 };
	perf_row_add(PERF_LAT, "put_ping_pong", "put, half a trip of two threads", 8, ping_lat, 0);
}
