// SPDX-License-Identifier: MIT
/*
 * The ranks of a test, as threads or as processes, and what came of them.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "gin.h"

struct g_run {
	const struct g_test *test;
	struct gda_comm_id id;
	uint32_t nranks;
	bool arrival;
};

struct g_thread {
	struct g_run *run;
	uint32_t rank;
	int result;
	pthread_t thread;
};

int g_fail(const struct g_rank *r, const char *file, int line, const char *what, long long is,
	   long long want)
{
	printf("# %s:%d: rank %u of %u: %s is %lld, not %lld (%s)\n", file, line, r->rank,
	       r->nranks, what, is, want, gda_last_error());
	return 1;
}

int g_window(struct g_rank *r, size_t bytes, uint32_t flags, unsigned char **mem,
	     struct gda_window **w)
{
	struct gda_window_segment segment = { .bytes = bytes };
	struct gda_window_attr attr = {
		.size = sizeof(attr), .flags = flags, .segments = &segment, .count = 1,
	};
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return -ENOMEM;
	*mem = p;
	segment.addr = (uintptr_t)p;
	return gda_window_register(r->comm, &attr, w);
}

void g_window_end(unsigned char *mem, size_t bytes, struct gda_window *w)
{
	gda_window_deregister(w);
	munmap(mem, bytes);
}

static unsigned char g_byte(size_t i, uint32_t rank, uint32_t which)
{
	return (unsigned char)(i * 31 + i / 256 + rank * 67 + which * 129 + 1);
}

void g_fill(void *p, size_t bytes, uint32_t rank, uint32_t which)
{
	size_t i;

	for (i = 0; i < bytes; i++)
		((unsigned char *)p)[i] = g_byte(i, rank, which);
}

bool g_is(const void *p, size_t bytes, uint32_t rank, uint32_t which)
{
	size_t i;

	for (i = 0; i < bytes; i++)
		if (((const unsigned char *)p)[i] != g_byte(i, rank, which))
			return false;
	return true;
}

/* One rank of one test. */
static int g_rank_run(struct gda_comm *ranks, struct gda_context *ctx, const struct g_run *run)
{
	struct gda_gin_attr attr = run->test->attr;
	struct g_rank rank = {
		.ranks = ranks, .ctx = ctx, .rank = gda_comm_rank(ranks),
		.nranks = gda_comm_size(ranks), .arrival = run->arrival,
		.weak = run->arrival ? GDA_GIN_WEAK : 0,
	}, *r = &rank;
	int result;

	attr.size = sizeof(attr);
	attr.flags |= run->arrival ? GDA_GIN_ARRIVAL : 0;
	if (!run->arrival && getenv("GIN_EPOCHS"))
		attr.flags |= GDA_GIN_EPOCHS;
	attr.timeout_ns = attr.timeout_ns ? attr.timeout_ns : 20 * G_SECOND;
	G_OK(gda_gin_create(ranks, ctx, &attr, &r->comm));
	r->gin = gda_gin_context(r->comm, 0);
	result = run->test->body(r);
	gda_gin_destroy(r->comm);
	return result;
}

static void *g_thread_main(void *arg)
{
	struct g_thread *t = arg;
	struct gda_comm_attr attr = {
		.size = sizeof(attr), .rank = t->rank, .nranks = t->run->nranks,
		.id = &t->run->id, .timeout_ns = 30 * G_SECOND,
	};
	struct gda_context *ctx;
	struct gda_comm *ranks;

	t->result = gda_comm_create(&attr, &ranks);
	if (t->result)
		return NULL;
	t->result = gda_open(NULL, &ctx);
	if (!t->result) {
		t->result = g_rank_run(ranks, ctx, t->run);
		gda_comm_barrier(ranks, 0);
		gda_close(ctx);
	}
	gda_comm_destroy(ranks);
	return NULL;
}

static int g_threads(struct g_run *run)
{
	struct g_thread t[G_MAX];
	int result = 0;
	uint32_t i;

	run->nranks = run->test->ranks ? run->test->ranks : 3;
	if (gda_comm_id_create(NULL, &run->id))
		return 1;
	for (i = 0; i < run->nranks; i++) {
		t[i].run = run;
		t[i].rank = i;
		if (pthread_create(&t[i].thread, NULL, g_thread_main, &t[i]))
			abort();
	}
	for (i = 0; i < run->nranks; i++) {
		pthread_join(t[i].thread, NULL);
		result |= t[i].result;
	}
	return result;
}

int g_alone(const struct g_test *test)
{
	struct g_run run = { .test = test, .arrival = test->kinds == G_ARRIVAL };

	return g_threads(&run);
}

static int g_processes(struct g_run *run, struct gda_comm *ranks, struct gda_context *ctx)
{
	int32_t own = g_rank_run(ranks, ctx, run), all[G_MAX], result = 0;
	uint32_t i;

	if (gda_comm_allgather(ranks, &own, sizeof(own), all, 0))
		return 1;
	for (i = 0; i < gda_comm_size(ranks); i++)
		result |= all[i];
	return result;
}

int g_main(const struct g_test *tests, size_t n)
{
	bool launched = getenv("GDA_COMM_RANK"), speaks = true;
	struct gda_context *ctx = NULL;
	struct gda_comm *ranks = NULL;
	unsigned int kind, plan = 0, number = 0;
	int rc = 0;
	size_t i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (launched) {
		if (gda_comm_create(NULL, &ranks) || gda_open(NULL, &ctx))
			return 1;
		speaks = !gda_comm_rank(ranks);
	}
	for (i = 0; i < n; i++)
		plan += (unsigned int)__builtin_popcount((unsigned int)tests[i].kinds);
	if (speaks)
		printf("TAP version 13\n1..%u\n", plan);
	for (i = 0; i < 2 * n; i++) {
		struct g_run run = { .test = &tests[i / 2], .arrival = i % 2 };
		int failed;

		kind = i % 2 ? G_ARRIVAL : G_WORDS;
		if (!((unsigned int)run.test->kinds & kind))
			continue;
		failed = launched ? g_processes(&run, ranks, ctx) : g_threads(&run);
		if (speaks)
			printf("%sok %u %s%s\n", failed ? "not " : "", ++number, run.test->name,
			       run.arrival ? ".by_arrival" : "");
		rc |= failed;
	}
	gda_close(ctx);
	gda_comm_destroy(ranks);
	return rc != 0;
}
