// SPDX-License-Identifier: MIT
/*
 * Times of OpenSHMEM calls, by calls that OpenSHMEM 1.4 has, so that any implementation compiles
 * it. PE 0 prints a line for each row: its name, with a size in bytes where there is one, and the
 * nanoseconds of a call: the mean over all batches, so what waits for a processor counts.
 *
 *   perf [MS]     MS: how long a row is measured, in milliseconds [60]
 *
 * PE 0 moves bytes to and from the last PE while the others wait in a barrier; ping-pongs are
 * between neighbours; all PEs take part in the rest.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <shmem.h>

#define MOST		(4UL << 20)	/* bytes of a put */
#define PART		(1UL << 20)	/* bytes of a PE in a collective call */
#define BATCH_NS	2e6		/* a batch has as many calls as take this long */
#define BATCHES		40
#define CALLS		20000
#define SYNCS		16		/* collective calls between two barriers */
#define UPDATES		256U		/* of a call of gups */
#define TABLE		(1UL << 16)	/* its words on each PE */
#define ITEMS		4096		/* that each PE sends in an exchange */
#define ROOM		128		/* items of one PE's buffer for another one */

enum who { ONE, PAIRS, ALL };

struct test {
	const char *name;
	void (*call)(int i, size_t bytes);
	enum who who;
	size_t bytes;		/* 0: the name has no size */
};

/* What a PE has sent to this one: as many items, and whether these are its last. */
struct box {
	long items, last;
	unsigned long item[ROOM];
};

static long psync[SYNCS][SHMEM_ALLTOALL_SYNC_SIZE + SHMEM_BCAST_SYNC_SIZE +
			 SHMEM_COLLECT_SYNC_SIZE + SHMEM_REDUCE_SYNC_SIZE];
static long word, ball, calls_now;
static unsigned long *table, seed;
static struct box *in, *out;	/* a box for each PE */
static char *heap, *local;
static long *pwrk;
static int me, npes, last;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static unsigned long random_next(void)
{
	seed = seed * 6364136223846793005UL + 1442695040888963407UL;
	return seed >> 33;
}

/* The words for collective call @i; those of the calls before it may still be in use. */
static long *sync_of(int i)
{
	if (i % SYNCS == 0)
		shmem_barrier_all();
	return psync[i % SYNCS];
}

static void put(int i, size_t bytes)
{
	size_t at = bytes == sizeof(long) ? (size_t)(i % 64) * sizeof(long) : 0;

	shmem_putmem(heap + at, local, bytes, last);
}

static void get(int i, size_t bytes)
{
	size_t at = bytes == sizeof(long) ? (size_t)(i % 64) * sizeof(long) : 0;

	shmem_getmem(local, heap + at, bytes, last);
}

static void copy(int i, size_t bytes)
{
	(void)i;
	memcpy(heap, local, bytes);
}

static void fetch_add(int i, size_t bytes)
{
	(void)i;
	(void)bytes;
	shmem_long_atomic_fetch_add(&word, 1, last);
}

/* A put and its signal to the neighbour, and the same back. */
static void ping_pong(int i, size_t bytes)
{
	int other = me ^ 1;

	(void)i;
	if (other >= npes)
		return;
	if (me & 1)
		shmem_long_wait_until(&ball, SHMEM_CMP_NE, 0);
	ball = 0;
	shmem_putmem(heap, local, bytes, other);
	shmem_fence();
	shmem_long_p(&ball, 1, other);
	if (!(me & 1))
		shmem_long_wait_until(&ball, SHMEM_CMP_NE, 0);
}

static void barrier(int i, size_t bytes)
{
	(void)i;
	(void)bytes;
	shmem_barrier_all();
}

static void broadcast(int i, size_t bytes)
{
	shmem_broadcast64(heap, local, bytes / 8, 0, 0, 0, npes, sync_of(i));
}

static void reduce(int i, size_t bytes)
{
	shmem_long_sum_to_all((long *)heap, (long *)local, (int)(bytes / 8), 0, 0, npes, pwrk,
			      sync_of(i));
}

static void collect(int i, size_t bytes)
{
	shmem_collect64(heap, local, bytes / 8, 0, 0, npes, sync_of(i));
}

static void fcollect(int i, size_t bytes)
{
	shmem_fcollect64(heap, local, bytes / 8, 0, 0, npes, sync_of(i));
}

static void alltoall(int i, size_t bytes)
{
	shmem_alltoall64(heap, local, bytes / 8, 0, 0, npes, sync_of(i));
}

static void gups(int i, size_t bytes)
{
	unsigned int k;

	(void)i;
	(void)bytes;
	for (k = 0; k < UPDATES; k++) {
		unsigned long r = random_next();

		shmem_ulong_atomic_xor(&table[r % TABLE], r, (int)(r / TABLE % (unsigned long)npes));
	}
}

/* Fill the boxes until one is full. Return: items that are left. */
static int boxes_fill(int left)
{
	for (; left; left--) {
		unsigned long r = random_next();
		struct box *b = &out[r % (unsigned long)npes];

		if (b->items == ROOM)
			break;
		b->item[b->items++] = r;
	}
	return left;
}

/* Each PE sends items to all in rounds, until no PE has any: bale's exstack. */
static void exchange(int i, size_t bytes)
{
	int left = ITEMS, open = npes, pe;

	(void)i;
	(void)bytes;
	while (open) {
		for (pe = 0; pe < npes; pe++)
			out[pe].items = 0;
		left = boxes_fill(left);
		for (pe = 0; pe < npes; pe++) {
			out[pe].last = !left;
			shmem_putmem(&in[me], &out[pe],
				     sizeof(struct box) - (ROOM - (size_t)out[pe].items) * 8, pe);
		}
		shmem_barrier_all();
		for (pe = 0, open = npes; pe < npes; pe++) {
			open -= (int)in[pe].last;
			for (long k = 0; k < in[pe].items; k++)
				table[in[pe].item[k] % TABLE]++;
		}
		shmem_barrier_all();
	}
}

#define BY_FOURS(name, call) \
	{ name, call, ONE, 8 }, { name, call, ONE, 32 }, { name, call, ONE, 128 }, \
	{ name, call, ONE, 512 }, { name, call, ONE, 2048 }, { name, call, ONE, 8192 }, \
	{ name, call, ONE, 32768 }, { name, call, ONE, 65536 }, { name, call, ONE, 131072 }, \
	{ name, call, ONE, 524288 }, { name, call, ONE, 2097152 }, { name, call, ONE, MOST }
#define COLLECTIVE(call) \
	{ #call, call, ALL, 8 }, { #call, call, ALL, 1024 }, { #call, call, ALL, PART }

static const struct test tests[] = {
	BY_FOURS("put", put), BY_FOURS("get", get), { "memcpy", copy, ONE, MOST },
	{ "fetch_add", fetch_add, ONE, 8 }, { "ping_pong", ping_pong, PAIRS, 8 },
	{ "barrier", barrier, ALL, 0 }, COLLECTIVE(broadcast), COLLECTIVE(reduce),
	COLLECTIVE(collect), COLLECTIVE(fcollect), COLLECTIVE(alltoall), { "gups", gups, ALL, 0 },
	{ "exchange", exchange, ALL, 0 },
};

/* Return: the time of all @calls, on PE 0. */
static double batch(const struct test *t, long calls)
{
	double start;
	int i;

	shmem_barrier_all();
	start = now();
	if (t->who != ONE || !me)
		for (i = 0; i < calls; i++)
			t->call(i, t->bytes);
	shmem_quiet();
	return now() - start;
}

/* What PE 0 says is the number of calls of the next batch; 0: there is none. */
static long agree(long calls)
{
	int pe;

	if (!me)
		for (pe = 0; pe < npes; pe++)
			shmem_long_p(&calls_now, calls, pe);
	shmem_barrier_all();
	return calls_now;
}

static void measure(const struct test *t, double budget)
{
	double ns, all = 0;
	long calls = 1, done = 0;
	int n = 0;

	/* as many calls as take BATCH_NS; these warm up, too */
	for (;;) {
		ns = batch(t, calls);
		if (!agree(ns < BATCH_NS && calls < CALLS))
			break;
		calls *= 2;
	}
	do {
		all += batch(t, calls);
		done += calls;
		n++;
	} while (agree(n < BATCHES && all < budget));
	if (me)
		return;
	printf("%s", t->name);
	if (t->bytes)
		printf("_%zu", t->bytes);
	printf(" %.1f\n", all / (double)done);
	fflush(stdout);
}

static void start(void)
{
	size_t i, k, all;

	shmem_init();
	me = shmem_my_pe();
	npes = shmem_n_pes();
	last = npes - 1;
	seed = (unsigned long)me + 1;
	all = PART * (size_t)npes > MOST ? PART * (size_t)npes : MOST;
	heap = shmem_malloc(all);
	local = shmem_malloc(all);
	pwrk = shmem_malloc(PART + 8 * SHMEM_REDUCE_MIN_WRKDATA_SIZE);
	table = shmem_malloc(TABLE * sizeof(*table));
	in = shmem_malloc((size_t)npes * sizeof(*in));
	out = malloc((size_t)npes * sizeof(*out));
	if (npes < 2 || !heap || !local || !pwrk || !table || !in || !out)
		shmem_global_exit(1);
	memset(heap, 1, all);
	memset(local, 2, all);
	memset(table, 0, TABLE * sizeof(*table));
	memset(in, 0, (size_t)npes * sizeof(*in));
	for (i = 0; i < SYNCS; i++)
		for (k = 0; k < sizeof(psync[0]) / sizeof(psync[0][0]); k++)
			psync[i][k] = SHMEM_SYNC_VALUE;
	shmem_barrier_all();
}

int main(int argc, char **argv)
{
	double budget = (argc > 1 ? atof(argv[1]) : 60) * 1e6;
	size_t i;

	start();
	for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		measure(&tests[i], budget);
	shmem_barrier_all();
	shmem_finalize();
	return 0;
}
