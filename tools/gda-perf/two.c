// SPDX-License-Identifier: MIT
/*
 * Puts between two processes. The child owns the target: on command it polls its memory and
 * reports, through a shared page and by the clock that both share, when it saw a change. So a
 * latency is one way, as within one process.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "perf.h"

#define PERF_MAX_LATENCIES	100000U
#define PERF_STEP_NS		20000000000ULL

enum two_state { TWO_BEGIN, TWO_OPEN, TWO_CONNECT, TWO_IDLE, TWO_WATCH, TWO_END };

/* The shared page. Each group of words is written by one side. */
struct two {
	uint32_t told;		/* enum two_state; written by the parent */
	struct gda_address from;

	_Alignas(128) uint32_t state;	/* by the child */
	int32_t err;
	uint64_t raddr;
	uint32_t rkey;
	struct gda_address to;

	_Alignas(128) uint64_t seen;	/* by the child */
	uint64_t seen_ns;
};

static struct two *two;
static struct perf_pair pair;
static uint64_t *latencies;
static pid_t child;
static int failed;

/* Three threads poll; they take turns if there are fewer CPUs. */
static void two_pause(void)
{
	if (perf_cpus() < 3)
		sched_yield();
	else
		gda_pause();
}

static uint32_t two_load(const uint32_t *word)
{
	return gda_load_acquire32(word);
}

static void two_store(uint32_t *word, uint32_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static void two_nap(void)
{
	const struct timespec ms = { .tv_nsec = 1000000 };

	nanosleep(&ms, NULL);
}

static void two_child_watch(const char *memory)
{
	const uint64_t *word = (const uint64_t *)memory;
	uint64_t last = gda_load_acquire64(word);

	two_store(&two->state, TWO_WATCH);
	while (two_load(&two->told) == TWO_WATCH) {
		uint64_t now = gda_load_acquire64(word);

		if (now != last) {
			two->seen_ns = gda_clock_ns();
			gda_store_release64(&two->seen, now);
			last = now;
		}
		two_pause();
	}
	two_store(&two->state, TWO_IDLE);
}

static void two_child_wait(uint32_t state)
{
	while (two_load(&two->told) < state)
		two_nap();
}

static void two_child(void)
{
	struct perf_end end;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL))
		_exit(1);
	perf_end_open(&end);
	two->raddr = gda_mr_iova(end.mr);
	two->rkey = gda_mr_key(end.mr);
	perf_must(gda_qp_address(end.qp, &two->to), "gda_qp_address");
	two_store(&two->state, TWO_OPEN);
	two_child_wait(TWO_CONNECT);
	two->err = gda_qp_connect(end.qp, &two->from);
	two_store(&two->state, TWO_IDLE);
	for (;;) {
		uint32_t told = two_load(&two->told);

		if (told == TWO_END)
			_exit(0);
		if (told == TWO_WATCH)
			two_child_watch(end.memory);
		else
			two_nap();
	}
}

/* Return: 0, or -ETIMEDOUT; the child may have died and printed why. */
static int two_await(uint32_t state)
{
	uint64_t deadline = gda_clock_ns() + PERF_STEP_NS;

	while (two_load(&two->state) != state) {
		if (gda_clock_ns() > deadline || waitpid(child, NULL, WNOHANG) == child)
			return -ETIMEDOUT;
		two_nap();
	}
	return 0;
}

static int two_open(void)
{
	int err = two_await(TWO_OPEN);

	if (err)
		return err;
	perf_worker_before();
	perf_end_open(&pair.from);
	perf_worker_after("worker of the process that posts, of two");
	pair.laddr = gda_mr_iova(pair.from.mr);
	pair.lkey = gda_mr_key(pair.from.mr);
	pair.raddr = two->raddr;
	pair.rkey = two->rkey;
	err = gda_qp_address(pair.from.qp, &two->from);
	if (!err)
		err = gda_qp_connect(pair.from.qp, &two->to);
	if (err)
		return err;
	two_store(&two->told, TWO_CONNECT);
	err = two_await(TWO_IDLE);
	return err ? err : two->err;
}

static int two_missing(struct perf_row *row)
{
	struct gda_query q = { .size = sizeof(q) };

	if (pair.from.ctx && !gda_context_query(pair.from.ctx, &q) &&
	    !strcmp((const char *)q.device, GDA_DEVICE_INPROC))
		return perf_missing(row, "the in-process device is of one process");
	return perf_missing(row, "two processes: %s", gda_strerror(failed));
}

static int two_lat_once(uint64_t round, uint64_t *ns)
{
	uint64_t begin, deadline;
	int64_t ticket;

	*(uint64_t *)pair.from.memory = round;
	begin = gda_clock_ns();
	deadline = begin + PERF_STEP_NS;
	ticket = perf_put(&pair, 8, 0);
	while (gda_load_acquire64(&two->seen) != round) {
		if (gda_clock_ns() > deadline)
			return -ETIMEDOUT;
		two_pause();
	}
	*ns = two->seen_ns - begin;
	return gda_wait(pair.from.v, ticket, 0);
}

static int two_lat(struct perf_row *row, struct perf_sample *s)
{
	static uint64_t round = 1000;
	unsigned int n = 0;
	uint64_t end;
	int err;

	if (failed)
		return two_missing(row);
	two_store(&two->told, TWO_WATCH);
	err = two_await(TWO_WATCH);
	for (int warm = 0; warm < 20 && !err; warm++)
		err = two_lat_once(round++, latencies);
	end = gda_clock_ns() + perf_options.ms * 1000000ULL;
	while (!err && n < PERF_MAX_LATENCIES && (!n || gda_clock_ns() < end))
		err = two_lat_once(round++, &latencies[n++]);
	two_store(&two->told, TWO_IDLE);
	if (!err)
		err = two_await(TWO_IDLE);
	if (!err)
		perf_percentiles(latencies, n, s);
	return err;
}

static int two_rate(struct perf_row *row, struct perf_sample *s)
{
	int err;

	if (failed)
		return two_missing(row);
	err = perf_put_rate(&pair, row->bytes, 1, &s->value);
	if (row->test == PERF_BW)
		s->value *= row->bytes / 1000.0;
	return err;
}

/* Called before there are threads or contexts, so that the child inherits none. */
void perf_two_plan(void)
{
	two = mmap(NULL, sizeof(*two), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	latencies = calloc(PERF_MAX_LATENCIES, sizeof(*latencies));
	if (two == MAP_FAILED || !latencies)
		perf_die("out of memory");
	child = fork();
	if (child < 0)
		perf_die("cannot create a process: raise ulimit -u");
	if (!child)
		two_child();
	if (perf_cpus() < 3)
		perf_threads_add("process that receives, in turns with the other one",
				 child, 0);
	else
		perf_threads_add("process that receives, of two", child, 2);
	failed = two_open();
	perf_row_add(PERF_LAT, "put_seen_two", "put, seen by another process", 8, two_lat, 0);
	perf_row_add(PERF_RATE, "put_two", "put to another process", 8, two_rate, 0);
	perf_row_add(PERF_BW, "put_two", "put to another process", 65536, two_rate, 0);
}

void perf_two_end(void)
{
	if (child <= 0)
		return;
	two_store(&two->told, TWO_END);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}
