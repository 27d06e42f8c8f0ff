// SPDX-License-Identifier: MIT
/*
 * Times of OpenSHMEM calls between two PEs, by calls that OpenSHMEM 1.4 has, so that any
 * implementation compiles it. PE 0 prints a line for each: its name and a number, of ns a
 * call or of MB/s, the mean of several batches.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <shmem.h>

#define BATCHES	40
#define MOST	(4UL << 20)

static long psync[2][SHMEM_REDUCE_SYNC_SIZE], pwrk[SHMEM_REDUCE_MIN_WRKDATA_SIZE + 1];
static long sum, part = 1, word;
static char *heap, *local;
static int me;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void put8(int i)
{
	shmem_long_put((long *)heap + i % 64, &part, 1, 1);
}

static void get8(int i)
{
	shmem_long_get(&part, (long *)heap + i % 64, 1, 1);
}

static void add8(int i)
{
	(void)i;
	part = shmem_long_atomic_fetch_add(&word, 1, 1);
}

static void put64k(int i)
{
	(void)i;
	shmem_putmem(heap, local, 65536, 1);
}

static void get64k(int i)
{
	(void)i;
	shmem_getmem(local, heap, 65536, 1);
}

static void put4m(int i)
{
	(void)i;
	shmem_putmem(heap, local, MOST, 1);
}

static void get4m(int i)
{
	(void)i;
	shmem_getmem(local, heap, MOST, 1);
}

static void copy4m(int i)
{
	(void)i;
	memcpy(heap, local, MOST);
}

static void barrier(int i)
{
	(void)i;
	shmem_barrier_all();
}

static void reduce(int i)
{
	shmem_long_sum_to_all(&sum, &part, 1, 0, 0, shmem_n_pes(), pwrk, psync[i & 1]);
}

static const struct test {
	const char *name;
	void (*call)(int i);
	int calls;		/* of a batch */
	double bytes;		/* of a call whose rate counts */
	int both;		/* both PEs call it */
} tests[] = {
	{ "put_8_ns", put8, 5000, 0, 0 }, { "get_8_ns", get8, 5000, 0, 0 },
	{ "fetch_add_8_ns", add8, 500, 0, 0 }, { "barrier_ns", barrier, 200, 0, 1 },
	{ "sum_8_ns", reduce, 200, 0, 1 }, { "put_64k_MBs", put64k, 50, 65536, 0 },
	{ "get_64k_MBs", get64k, 20, 65536, 0 }, { "put_4m_MBs", put4m, 3, MOST, 0 },
	{ "get_4m_MBs", get4m, 3, MOST, 0 }, { "memcpy_4m_MBs", copy4m, 3, MOST, 0 },
};

static double batch(const struct test *t)
{
	double start;
	int i;

	shmem_barrier_all();
	start = now();
	for (i = 0; i < t->calls; i++)
		t->call(i);
	shmem_quiet();
	return (now() - start) / t->calls;
}

static void measure(const struct test *t)
{
	double ns = 0;
	int i;

	for (i = 0; i < BATCHES; i++) {
		if (me && !t->both) {
			shmem_barrier_all();
			continue;
		}
		ns += batch(t) / BATCHES;
	}
	shmem_barrier_all();
	if (!me)
		printf("%s %.1f\n", t->name, t->bytes ? t->bytes * 1e3 / ns : ns);
}

int main(void)
{
	size_t i;

	shmem_init();
	me = shmem_my_pe();
	heap = shmem_malloc(MOST);
	local = shmem_malloc(MOST);
	if (shmem_n_pes() != 2 || !heap || !local)
		shmem_global_exit(1);
	memset(heap, 1, MOST);
	memset(local, 2, MOST);
	for (i = 0; i < SHMEM_REDUCE_SYNC_SIZE; i++) {
		psync[0][i] = SHMEM_SYNC_VALUE;
		psync[1][i] = SHMEM_SYNC_VALUE;
	}
	shmem_barrier_all();
	for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		measure(&tests[i]);
	shmem_finalize();
	return 0;
}
