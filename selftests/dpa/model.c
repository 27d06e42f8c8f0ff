// SPDX-License-Identifier: MIT
/*
 * Random programs against a model that does one thing after the other. Sequences of event
 * operations, by one thread on the host, each compared with 64-bit arithmetic. Graphs of
 * launches over threads: each thread of each task runs once, none before what it waits for, and
 * completion events count the launches that name them.
 *
 *	-e N	sequences of event operations	-g N	graphs
 *	-s N	first seed			-p N	processes that share them
 */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <gda/barrier.h>
#include <gda/dpa.h>

/* How many without an option. */
#ifndef MODEL_SEQUENCES
#define MODEL_SEQUENCES	1000
#define MODEL_GRAPHS	1000
#endif
#ifndef MODEL_PROCESSES
#define MODEL_PROCESSES	1
#endif

#define TASKS	64U
#define EVENTS	16U
#define THREADS	8U
#define STEPS	16U

static uint64_t state;

static uint64_t roll(uint64_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % n;
}

static struct gda_context *ctx;
static struct gda_dpa *dpa;
static struct gda_dpa_event *events[EVENTS];

static int wrong(const char *what, uint64_t seed)
{
	printf("# %s, seed %llu (%s)\n", what, (unsigned long long)seed, gda_last_error());
	return 1;
}

/* --- event operations --- */

/* Numbers in which carries, masks and boundaries show. */
static uint64_t number(void)
{
	static const uint64_t some[] = {
		0, 1, 2, 254, 255, 256, UINT32_MAX, 1ULL << 32, INT64_MAX, 1ULL << 63,
		UINT64_MAX - 1, UINT64_MAX,
	};

	return roll(3) ? some[roll(12)] : state;
}

static int sequence(uint64_t seed)
{
	uint64_t model[EVENTS] = { 0 }, value, than, mask;
	unsigned int i, e;
	int is, want;

	for (e = 0; e < EVENTS; e++)
		if (gda_dpa_event_set(events[e], 0))
			return wrong("set", seed);
	for (i = 0; i < STEPS; i++) {
		e = (unsigned int)roll(EVENTS);
		value = number();
		mask = number();
		than = roll(2) ? model[e] & mask : number();
		switch (roll(5)) {
		case 0:
			model[e] += value;
			is = gda_dpa_event_add(events[e], value);
			want = 0;
			break;
		case 1:
			model[e] = value;
			is = gda_dpa_event_set(events[e], value);
			want = 0;
			break;
		case 2:
			is = gda_dpa_event_get(events[e], &value);
			if (value != model[e])
				return wrong("get", seed);
			want = 0;
			break;
		case 3:
			want = (model[e] & mask) > than ? 0 : -ETIMEDOUT;
			is = gda_dpa_event_await_gt(events[e], than, mask, gda_clock_ns());
			break;
		default:
			want = (model[e] & mask) != than ? 0 : -ETIMEDOUT;
			is = gda_dpa_event_await_ne(events[e], than, mask, gda_clock_ns());
			break;
		}
		if (is != want)
			return wrong("an operation on an event", seed);
	}
	return 0;
}

/* --- graphs --- */

struct node {
	uint32_t threads;
	uint32_t wait, done;		/* events; EVENTS: none */
	uint64_t threshold, value;
};

static struct node nodes[TASKS];
static uint64_t ran[TASKS][THREADS], early;	/* by the tasks */
static uint64_t finished[TASKS];

struct node_args {
	uint32_t node;
	uint32_t event;			/* 0: waits for none */
	uint64_t threshold;
};

GDA_DPA_TASK(graph_node)
{
	const struct node_args *a = args;
	unsigned int rank = gda_dpa_rank(t);
	uint64_t value;

	if (gda_dpa_threads(t) != nodes[a->node].threads)
		__atomic_fetch_add(&early, 1, __ATOMIC_RELAXED);
	if (a->event && (gda_dpa_event_read(t, a->event, &value) || value <= a->threshold))
		__atomic_fetch_add(&early, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&ran[a->node][rank], 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&finished[a->node], 1, __ATOMIC_RELEASE);
}

/*
 * A graph that can end: in the order of its nodes, each waits for no more than those before it
 * add to its event. It is launched in another order. @end: what the events come to.
 */
static void graph_make(uint64_t end[EVENTS])
{
	uint32_t i;

	memset(end, 0, EVENTS * sizeof(*end));
	for (i = 0; i < TASKS; i++) {
		struct node *n = &nodes[i];

		n->threads = 1 + (uint32_t)roll(THREADS);
		n->wait = (uint32_t)roll(EVENTS + EVENTS / 2);
		n->threshold = 0;
		if (n->wait < EVENTS && end[n->wait])
			n->threshold = roll(end[n->wait]);
		else
			n->wait = EVENTS;
		n->done = (uint32_t)roll(EVENTS);
		n->value = 1 + roll(roll(4) ? 3 : 1ULL << 33);
		end[n->done] += n->value;
	}
}

static int graph_launch(const uint32_t order[TASKS])
{
	uint32_t i;

	for (i = 0; i < TASKS; i++) {
		const struct node *n = &nodes[order[i]];
		struct node_args args = {
			.node = order[i], .threshold = n->threshold,
			.event = n->wait < EVENTS ? gda_dpa_event_handle(events[n->wait]) : 0,
		};
		struct gda_dpa_launch_attr l = {
			.size = sizeof(l), .task = &graph_node, .threads = n->threads,
			.wait = n->wait < EVENTS ? events[n->wait] : NULL,
			.threshold = n->threshold, .done = events[n->done], .value = n->value,
			.bytes = sizeof(args), .args = &args,
		};

		if (gda_dpa_launch(dpa, &l))
			return 1;
	}
	return 0;
}

static int graph(uint64_t seed)
{
	uint64_t end[EVENTS], value, deadline = gda_clock_ns() + 60000000000ULL;
	uint32_t order[TASKS], i, k;

	graph_make(end);
	for (i = 0; i < TASKS; i++) {
		k = (uint32_t)roll(i + 1);
		order[i] = order[k];
		order[k] = i;
	}
	memset(ran, 0, sizeof(ran));
	memset(finished, 0, sizeof(finished));
	for (i = 0; i < EVENTS; i++)
		if (gda_dpa_event_set(events[i], 0))
			return wrong("set", seed);
	if (graph_launch(order))
		return wrong("a launch", seed);
	for (i = 0; i < EVENTS; i++)
		if (end[i] && gda_dpa_event_await_gt(events[i], end[i] - 1, UINT64_MAX, deadline))
			return wrong("a graph does not end", seed);
	for (i = 0; i < EVENTS; i++)
		if (gda_dpa_event_get(events[i], &value) || value != end[i])
			return wrong("a completion event is not what it should be", seed);
	for (i = 0; i < TASKS; i++) {
		if (__atomic_load_n(&finished[i], __ATOMIC_ACQUIRE) != nodes[i].threads)
			return wrong("an event before the last thread", seed);
		for (k = 0; k < THREADS; k++)
			if (ran[i][k] != (k < nodes[i].threads ? 1 : 0))
				return wrong("a rank did not run once", seed);
	}
	return early ? wrong("a task was early", seed) : 0;
}

/* --- --- */

static int begin(void)
{
	struct gda_dpa_attr attr = { .size = sizeof(attr), .threads = THREADS, .heap_bytes = 4096 };
	uint32_t i;

	if (gda_open(NULL, &ctx) || gda_dpa_create(ctx, &attr, &dpa))
		return wrong("gda_dpa_create", 0);
	for (i = 0; i < EVENTS; i++)
		if (gda_dpa_event_create(dpa, NULL, &events[i]))
			return wrong("gda_dpa_event_create", 0);
	return 0;
}

static int end(void)
{
	int failed = gda_dpa_destroy(dpa) ? wrong("gda_dpa_destroy", 0) : 0;

	gda_close(ctx);
	return failed;
}

/* Every @step-th of @n. */
static int some(uint64_t first, uint64_t n, uint64_t step, uint64_t seed,
		int (*one)(uint64_t seed))
{
	int failed = 0;
	uint64_t i;

	if (begin())
		return 1;
	for (i = first; !failed && i < n; i += step) {
		state = (seed + i) * 0x9e3779b97f4a7c15 + 1;
		failed = one(seed + i);
	}
	return failed | end();
}

/* A graph waits for threads more than it runs: several processes share them. */
static int many(const char *name, int number_of_test, uint64_t n, uint64_t seed,
		unsigned int processes, int (*one)(uint64_t seed))
{
	uint64_t start = gda_clock_ns();
	int failed = 0, status;
	unsigned int i;

	for (i = 0; i < processes; i++) {
		pid_t pid = processes > 1 ? fork() : -1;

		if (!pid)
			exit(some(i, n, processes, seed, one));
		else if (processes == 1)
			failed = some(0, n, 1, seed, one);
		else if (pid < 0)
			failed = wrong("fork", seed);
	}
	while (processes > 1 && wait(&status) >= 0)
		failed |= status != 0;
	printf("# %llu in %.1f s\n", (unsigned long long)n,
	       (double)(gda_clock_ns() - start) / 1e9);
	printf("%sok %d %s\n", failed ? "not " : "", number_of_test, name);
	return failed;
}

int main(int argc, char **argv)
{
	uint64_t sequences = MODEL_SEQUENCES, graphs = MODEL_GRAPHS, seed = 1;
	unsigned int processes = MODEL_PROCESSES;
	int c, failed = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	while ((c = getopt(argc, argv, "e:g:s:p:")) != -1) {
		if (c == 'e')
			sequences = strtoull(optarg, NULL, 10);
		else if (c == 'g')
			graphs = strtoull(optarg, NULL, 10);
		else if (c == 's')
			seed = strtoull(optarg, NULL, 10);
		else if (c == 'p')
			processes = (unsigned int)strtoul(optarg, NULL, 10);
		else
			return 2;
	}
	if (!processes)
		return 2;
	/* in a guest a processor is emulated */
	if (!access("/dev/gda", F_OK) && argc == 1) {
		sequences = 1000;
		graphs = 1000;
		processes = 1;
	}
	puts("TAP version 13\n1..2");
	failed |= many("model.D_06_event_operations", 1, sequences, seed, processes, sequence);
	failed |= many("model.D_11_graphs_of_launches", 2, graphs, seed, processes, graph);
	return failed;
}
