// SPDX-License-Identifier: MIT
/*
 * The fast path through the in-process device, beside what the machine can do: poster
 * and engine on two CPUs, baselines between the same two CPUs, in turns with what they
 * are compared to. Each figure is the median of many short samples.
 *
 * usage: bench [--json] [rounds]
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <gda/fastpath.h>
#include <gda/gda.h>

#define MIB		(1U << 20)
#define DEPTH		256U
#define SAMPLES		8192U
#define TURNS		64U		/* round trips of a sample */
#define PIPE		4096U		/* entries of a sample */
#define BULK		8U		/* MiB of a sample */

struct series {
	double v[SAMPLES];
	unsigned int n;
};

static void add(struct series *s, double v)
{
	if (s->n < SAMPLES)
		s->v[s->n++] = v;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double quantile(struct series *s, double q)
{
	if (!s->n)
		return 0;
	qsort(s->v, s->n, sizeof(s->v[0]), compare);
	return s->v[(unsigned int)(q * (s->n - 1))];
}

static double median(struct series *s)
{
	return quantile(s, 0.5);
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		perror("bench: affinity");
}

/* --- the other end of the baselines, on the engine's CPU --- */

enum job { IDLE, PING, RING, FLAGS, COPY, YIELD, PONG, QUIT };

static struct {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	enum job job;			/* under @lock */

	/* each in a line of its own */
	_Alignas(128) uint32_t ready;
	_Alignas(128) uint64_t ping;
	_Alignas(128) uint64_t tail;
	_Alignas(128) uint64_t head;
	_Alignas(128) uint64_t sink;
	uint64_t copy_ns;
	uint8_t ring[DEPTH * 64] __attribute__((aligned(128)));
} far = { .lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER };

static uint8_t *source, *target;

static void trip_go(int me, bool queue);
static void must(int64_t ret, const char *what);

static void far_ping(void)
{
	uint64_t i;

	for (i = 1; i < 2 * TURNS; i += 2) {
		while (__atomic_load_n(&far.ping, __ATOMIC_ACQUIRE) != i)
			;
		__atomic_store_n(&far.ping, i + 1, __ATOMIC_RELEASE);
	}
}

/* Takes whole entries, copies 8 bytes of each, and says so once for all it found. */
static void far_ring(void)
{
	uint64_t head = 0, tail, entry[8];

	while (head < PIPE) {
		tail = __atomic_load_n(&far.tail, __ATOMIC_ACQUIRE);
		for (; head < tail; head++) {
			memcpy(entry, far.ring + head % DEPTH * 64, 64);
			memcpy(target + entry[1] % 4096, &entry[2], 8);
		}
		__atomic_store_n(&far.head, head, __ATOMIC_RELEASE);
	}
}

/* The same where each entry says itself that it is there: one line moves, not two. */
static void far_flags(void)
{
	uint64_t head, entry[8];

	for (head = 0; head < PIPE;) {
		const uint8_t *slot = far.ring + head % DEPTH * 64;

		while (__atomic_load_n((const uint64_t *)(const void *)(slot + 56),
				       __ATOMIC_ACQUIRE) != head + 1)
			;
		memcpy(entry, slot, 64);
		memcpy(target + entry[1] % 4096, &entry[2], 8);
		if (++head % 32 == 0)
			__atomic_store_n(&far.head, head, __ATOMIC_RELEASE);
	}
}

static void far_copy(void)
{
	uint64_t start;
	unsigned int i;

	memcpy(target, source, MIB);
	start = gda_clock_ns();
	for (i = 0; i < BULK; i++) {
		memcpy(target, source, MIB);
		__asm__ volatile("" ::: "memory");
	}
	far.copy_ns = gda_clock_ns() - start;
}

static void *far_main(void *arg)
{
	enum job job;

	pin(*(int *)arg);
	do {
		pthread_mutex_lock(&far.lock);
		while (far.job == IDLE)
			pthread_cond_wait(&far.wake, &far.lock);
		job = far.job;
		far.job = IDLE;
		pthread_mutex_unlock(&far.lock);
		__atomic_store_n(&far.ready, 1, __ATOMIC_RELEASE);
		if (job == PING)
			far_ping();
		else if (job == RING)
			far_ring();
		else if (job == FLAGS)
			far_flags();
		else if (job == COPY)
			far_copy();
		else if (job == YIELD || job == PONG)
			trip_go(1, job == PONG);
		__atomic_store_n(&far.ready, 2, __ATOMIC_RELEASE);
	} while (job != QUIT);
	return NULL;
}

static void far_wait(uint32_t what)
{
	while (__atomic_load_n(&far.ready, __ATOMIC_ACQUIRE) < what)
		;
}

static void far_start(enum job job)
{
	memset(far.ring, 0, sizeof(far.ring));
	far.ping = 0;
	far.tail = 0;
	far.head = 0;
	__atomic_store_n(&far.ready, 0, __ATOMIC_RELEASE);
	pthread_mutex_lock(&far.lock);
	far.job = job;
	pthread_cond_signal(&far.wake);
	pthread_mutex_unlock(&far.lock);
	far_wait(1);
}

/* --- two threads in ping-pong that yield, on as many CPUs --- */

static struct trip {
	struct gda_view *v;
	uint64_t iova;			/* of the peer's word */
	uint32_t key;
	uint64_t word __attribute__((aligned(128)));	/* the peer stores to it */
} trips[2];

static void yield_until(const uint64_t *word, uint64_t value)
{
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value)
		sched_yield();
}

/* The part of one side: through its queue, or just a store. */
static void trip_go(int me, bool queue)
{
	struct trip *t = &trips[me];
	uint64_t i;

	for (i = 1; i <= TURNS; i++) {
		if (me)
			yield_until(&t->word, i);
		if (!queue)
			__atomic_store_n(&trips[!me].word, i, __ATOMIC_RELEASE);
		else
			must(gda_wait(t->v, gda_put_value(t->v, t->iova, t->key, i, GDA_EXCLUSIVE),
				      0), "put");
		if (!me)
			yield_until(&t->word, i);
	}
}

/* Half a round trip. */
static double trip(bool queue)
{
	uint64_t start;

	trips[0].word = 0;
	trips[1].word = 0;
	far_start(queue ? PONG : YIELD);
	start = gda_clock_ns();
	trip_go(0, queue);
	start = gda_clock_ns() - start;
	far_wait(2);
	return (double)start / TURNS / 2;
}

static double base_ping(void)
{
	uint64_t i, start;

	far_start(PING);
	start = gda_clock_ns();
	for (i = 1; i < 2 * TURNS; i += 2) {
		__atomic_store_n(&far.ping, i, __ATOMIC_RELEASE);
		while (__atomic_load_n(&far.ping, __ATOMIC_ACQUIRE) != i + 1)
			;
	}
	start = gda_clock_ns() - start;
	far_wait(2);
	return (double)start / TURNS;
}

static double base_ring(enum job job)
{
	uint64_t i, start, head = 0;

	far_start(job);
	start = gda_clock_ns();
	for (i = 0; i < PIPE; i++) {
		char *slot = (char *)far.ring + i % DEPTH * 64;

		while (i - head >= DEPTH)
			head = __atomic_load_n(&far.head, __ATOMIC_ACQUIRE);
		gda_store_segment(slot, i, i * 8);
		gda_store_segment(slot + 16, i, 0);
		gda_store_segment(slot + 32, i, 0);
		if (job == FLAGS) {
			__atomic_store_n((uint64_t *)(void *)(slot + 56), i + 1, __ATOMIC_RELEASE);
		} else {
			gda_store_segment(slot + 48, 0, 0);
			__atomic_store_n(&far.tail, i + 1, __ATOMIC_RELEASE);
		}
	}
	while (__atomic_load_n(&far.head, __ATOMIC_ACQUIRE) != PIPE)
		;
	start = gda_clock_ns() - start;
	far_wait(2);
	return (double)start / PIPE;
}

static double base_copy(void)
{
	far_start(COPY);
	far_wait(2);
	return (double)far.copy_ns / BULK;
}

/* --- ours --- */

struct queue {
	struct gda_view *v;
	uint64_t iova[2];		/* source, target */
	uint32_t key[2];
};

static void must(int64_t ret, const char *what)
{
	if (ret >= 0)
		return;
	fprintf(stderr, "bench: %s: %s\n", what, gda_strerror((int)ret));
	exit(1);
}

static double put_seen(const struct queue *q, bool value)
{
	const uint64_t *seen = (const uint64_t *)(const void *)target;
	uint64_t i, start = 0;

	for (i = 0; i <= TURNS; i++) {
		uint64_t mark = (i + 1) << 32 | 0x5a5a5a5aU;

		/* the first one wakes the worker, and is not counted */
		if (i == 1)
			start = gda_clock_ns();
		if (value) {
			gda_put_value(q->v, q->iova[1], q->key[1], mark, GDA_EXCLUSIVE);
		} else {
			__atomic_store_n((uint64_t *)(void *)source, mark, __ATOMIC_RELAXED);
			gda_put(q->v, q->iova[0], q->key[0], q->iova[1], q->key[1], 8,
				GDA_EXCLUSIVE);
		}
		while (__atomic_load_n(seen, __ATOMIC_ACQUIRE) != mark)
			;
	}
	start = gda_clock_ns() - start;
	must(gda_quiet(q->v, 0), "put");
	return (double)start / TURNS;
}

static double put_pipe(const struct queue *q, unsigned int flags)
{
	uint64_t i, start;

	must(gda_wait(q->v, gda_nop(q->v, GDA_EXCLUSIVE), 0), "nop");
	start = gda_clock_ns();
	for (i = 0; i < PIPE; i++)
		gda_put_value(q->v, q->iova[1] + i * 8 % 4096, q->key[1], i,
			      GDA_EXCLUSIVE | (i % 16 != 15 ? flags : 0));
	must(gda_quiet(q->v, 0), "puts");
	return (double)(gda_clock_ns() - start) / PIPE;
}

enum kind { PUT, GET, FETCH_ADD };

/*
 * Posted and waited for by one thread. Without its owner a view is one that the library
 * did not make, and the thread leaves the work to the worker.
 */
static double waited(const struct queue *q, enum kind op, bool helps)
{
	uint64_t start, owner = q->v->owner, from = q->iova[0], to = q->iova[1];
	unsigned int i;
	int64_t ticket;

	if (!helps)
		q->v->owner = 0;
	/* before the first half was done, who executes may have been another */
	for (i = 0, start = 0; i < 2 * TURNS; i++) {
		if (i == TURNS)
			start = gda_clock_ns();
		if (op == PUT)
			ticket = gda_put(q->v, from, q->key[0], to, q->key[1], 8, GDA_EXCLUSIVE);
		else if (op == GET)
			ticket = gda_get(q->v, from, q->key[0], to, q->key[1], 8, GDA_EXCLUSIVE);
		else
			ticket = gda_fetch_add(q->v, from, q->key[0], to, q->key[1], 1,
					       GDA_EXCLUSIVE);
		must(gda_wait(q->v, ticket, 0), "wait");
	}
	start = gda_clock_ns() - start;
	q->v->owner = owner;
	return (double)start / TURNS;
}

static double put_bulk(const struct queue *q)
{
	uint64_t start;
	unsigned int i;

	must(gda_wait(q->v, gda_put(q->v, q->iova[0], q->key[0], q->iova[1], q->key[1], MIB,
				    GDA_EXCLUSIVE), 0), "put");
	start = gda_clock_ns();
	for (i = 0; i < BULK; i++)
		gda_put(q->v, q->iova[0], q->key[0], q->iova[1], q->key[1], MIB, GDA_EXCLUSIVE);
	must(gda_quiet(q->v, 0), "puts");
	return (double)(gda_clock_ns() - start) / BULK;
}

static double put_idle(const struct queue *q, unsigned int us)
{
	uint64_t start;

	usleep(us);
	start = gda_clock_ns();
	must(gda_wait(q->v, gda_nop(q->v, GDA_EXCLUSIVE), 0), "nop");
	return (double)(gda_clock_ns() - start);
}

static struct gda_context *open_queue(struct queue *q)
{
	struct gda_qp_attr attr = {
		.size = sizeof(attr), .sq_depth = DEPTH, .timeout_ns = 10000000000U,
	};
	struct gda_address self;
	struct gda_context *ctx;
	struct gda_qp *qp;
	struct gda_mr *mr[2];
	int i;

	must(gda_open(GDA_DEVICE_INPROC, &ctx), "gda_open");
	must(gda_qp_create(ctx, &attr, &qp), "gda_qp_create");
	must(gda_qp_address(qp, &self), "gda_qp_address");
	must(gda_qp_connect(qp, &self), "gda_qp_connect");
	for (i = 0; i < 2; i++) {
		must(gda_mr_reg(ctx, i ? target : source, MIB, GDA_ACCESS_ALL, 0, &mr[i]),
		     "gda_mr_reg");
		q->iova[i] = gda_mr_iova(mr[i]);
		q->key[i] = gda_mr_key(mr[i]);
	}
	q->v = gda_qp_view(qp);
	return ctx;
}

/* Two contexts, whose workers run on the same two CPUs. */
static void open_trips(struct gda_context *ctx[2])
{
	struct gda_qp_attr attr = {
		.size = sizeof(attr), .sq_depth = DEPTH, .timeout_ns = 10000000000U,
	};
	struct gda_address to[2];
	struct gda_qp *qp[2];
	struct gda_mr *mr;
	int i;

	for (i = 0; i < 2; i++) {
		must(gda_open(GDA_DEVICE_INPROC, &ctx[i]), "gda_open");
		must(gda_qp_create(ctx[i], &attr, &qp[i]), "gda_qp_create");
		must(gda_qp_address(qp[i], &to[i]), "gda_qp_address");
		must(gda_mr_reg(ctx[i], &trips[i].word, sizeof(trips[i].word), GDA_ACCESS_ALL, 0,
				&mr), "gda_mr_reg");
		trips[!i].iova = gda_mr_iova(mr);
		trips[!i].key = gda_mr_key(mr);
		trips[i].v = gda_qp_view(qp[i]);
	}
	for (i = 0; i < 2; i++)
		must(gda_qp_connect(qp[i], &to[!i]), "gda_qp_connect");
}

/* --- rows --- */

static struct series ping, seen, seen_value, ring, flags, pipe1, pipe16, copy, bulk;
static struct series idle10, idle100, yield, pong, waited_put, worker_put, waited_get;
static struct series worker_get, waited_add, worker_add;

struct row {
	const char *name, *base_name;
	struct series *ours, *base;
	double bar;			/* of the ratio; 0: none */
	bool rate;			/* baseline / ours at least, else ours / baseline at most */
};

static const struct row rows[] = {
	{ "put of 8 bytes, until seen", "cache line there and back", &seen, &ping, 5, false },
	{ "put of a value, until seen", "cache line there and back", &seen_value, &ping, 5, false },
	{ "puts by one producer", "64-byte ring, published by index", &pipe1, &ring, 0.4, true },
	{ "puts by one producer", "64-byte ring, flag in the entry", &pipe1, &flags, 0.4, true },
	{ "puts, a doorbell for 16", "64-byte ring, published by index", &pipe16, &ring, 0, true },
	{ "puts, a doorbell for 16", "64-byte ring, flag in the entry", &pipe16, &flags, 0, true },
	{ "puts of 1 MiB", "memcpy", &bulk, &copy, 0.9, true },
	{ "put and wait, ping-pong of two", "ping-pong, two that yield", &pong, &yield, 4, false },
	{ "put of 8 bytes, waited for", "by the worker", &waited_put, &worker_put, 0.6, false },
	{ "get of 8 bytes, waited for", "by the worker", &waited_get, &worker_get, 0.6, false },
	{ "fetch-add, waited for", "by the worker", &waited_add, &worker_add, 0.6, false },
	{ "first post after 10 ms", NULL, &idle10, NULL, 0, false },
	{ "first post after 100 ms", NULL, &idle100, NULL, 0, false },
};

#define ROWS	(sizeof(rows) / sizeof(rows[0]))

static void print_row(const struct row *r, bool json, bool last)
{
	double ours = median(r->ours), base = r->base ? median(r->base) : 0;
	double ratio = base ? r->rate ? base / ours : ours / base : 0;
	bool missed = r->bar && (r->rate ? ratio < r->bar : ratio > r->bar);

	if (json) {
		printf(" {\"row\":\"%s\",\"ns\":%.1f,\"p10\":%.1f,\"p90\":%.1f,", r->name, ours,
		       quantile(r->ours, 0.1), quantile(r->ours, 0.9));
		printf("\"baseline\":\"%s\",\"baseline_ns\":%.1f,\"ratio\":%.2f,",
		       r->base_name ? r->base_name : "", base, ratio);
		printf("\"bar\":%.2f,\"met\":%s}%s\n", r->bar, missed ? "false" : "true",
		       last ? "" : ",");
		return;
	}
	printf("%-32s %11.1f", r->name, ours);
	if (!r->base)
		printf("   (90 %%: %.0f, worst: %.0f)\n", quantile(r->ours, 0.9),
		       quantile(r->ours, 1));
	else
		printf(" %11.1f %7.2f", base, ratio);
	if (r->base && r->bar)
		printf("  %s %.1f %-6s %s\n", r->rate ? ">=" : "<=", r->bar,
		       missed ? "MISSED" : "met", r->base_name);
	else if (r->base)
		printf("  %13s %s\n", "", r->base_name);
}

static void measure(const struct queue *q, unsigned int rounds)
{
	unsigned int i;

	for (i = 0; i < rounds; i++) {
		add(&ping, base_ping());
		add(&seen, put_seen(q, false));
		add(&seen_value, put_seen(q, true));
		add(&ring, base_ring(RING));
		add(&flags, base_ring(FLAGS));
		add(&pipe1, put_pipe(q, 0));
		add(&pipe16, put_pipe(q, GDA_DEFER));
		add(&worker_put, waited(q, PUT, false));
		add(&waited_put, waited(q, PUT, true));
		add(&worker_get, waited(q, GET, false));
		add(&waited_get, waited(q, GET, true));
		add(&worker_add, waited(q, FETCH_ADD, false));
		add(&waited_add, waited(q, FETCH_ADD, true));
		add(&yield, trip(false));
		add(&pong, trip(true));
		if (i % 4 == 0) {
			add(&copy, base_copy());
			add(&bulk, put_bulk(q));
		}
		if (i % 16 == 0)
			add(&idle10, put_idle(q, 10000));
		if (i % 64 == 0)
			add(&idle100, put_idle(q, 100000));
	}
}

int main(int argc, char **argv)
{
	bool json = argc > 1 && !strcmp(argv[1], "--json");
	unsigned int rounds = argc > 1 + json ? (unsigned int)atoi(argv[1 + json]) : 600;
	unsigned int i;
	struct gda_context *ctx, *pair[2];
	pthread_t thread;
	struct queue q;
	int cpu = 1;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2) {
		fprintf(stderr, "bench: needs two CPUs\n");
		return 4;
	}
	/* other work on the machine is not what is measured; failing, it is noisier */
	(void)setpriority(PRIO_PROCESS, 0, -20);
	source = aligned_alloc(4096, MIB);
	target = aligned_alloc(4096, MIB);
	if (!source || !target)
		return 1;
	memset(source, 1, MIB);
	memset(target, 2, MIB);
	/* threads begin where their creator is */
	open_trips(pair);
	pin(cpu);
	ctx = open_queue(&q);
	if (pthread_create(&thread, NULL, far_main, &cpu))
		return 1;
	pin(0);
	measure(&q, rounds);

	if (json)
		printf("[\n");
	else
		printf("%-32s %11s %11s %7s\n", "ns each, medians", "ours", "baseline", "ratio");
	for (i = 0; i < ROWS; i++)
		print_row(&rows[i], json, i + 1 == ROWS);
	if (json)
		printf("]\n");
	pthread_mutex_lock(&far.lock);
	far.job = QUIT;
	pthread_cond_signal(&far.wake);
	pthread_mutex_unlock(&far.lock);
	pthread_join(thread, NULL);
	gda_close(ctx);
	gda_close(pair[0]);
	gda_close(pair[1]);
	return 0;
}
