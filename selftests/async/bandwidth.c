// SPDX-License-Identifier: MIT
/*
 * Copies of gda/async.h by the engine COPY beside memcpy(3), medians of runs that take turns: of
 * 1 MiB by one queue, of 8 MiB by one queue and one worker and by two queues and two workers, and
 * tiles that are fetched while the tile before is worked on. Figures that have a bar say so, and
 * those that want more processors than there are say that. Workers are those of the in-process
 * device; on the kernel's there is one.
 */
#include <errno.h>
#include <stdbool.h>
#include <unistd.h>
#include <gda/barrier.h>
#include "world.h"

#define MIB	(1U << 20)
#define MOST	(8U * MIB)
#define RUNS	9U
#define RUN_NS	30000000U
#define TILE	(512U * 1024)
#define TILE_WORDS	(TILE / 8)
#define TILES	32U

/* A workspace with its session. */
struct engine {
	struct world world;
	struct gda_async_session s;
	unsigned char *dst, *src;
};

static uint64_t copy_ns, product_ns;	/* of one tile; */
static uint32_t work_words;		/* of a tile, so that they are about equal */
static uint64_t serial;			/* sum of the products of all tiles */

static void must(int err, const char *name)
{
	if (!err)
		return;
	fprintf(stderr, "%s: %s (%s)\n", name, gda_strerror(err), gda_last_error());
	exit(1);
}

static void engine_open(struct engine *e, uint32_t queues, const char *workers)
{
	setenv("GDA_INPROC_WORKERS", workers, 1);
	e->world.bytes = 2 * MOST;
	e->world.attr.queues = queues;
	e->world.attr.block_bytes = queues > 1 ? 256 * 1024 : MOST;
	must(world_begin(&e->world), "workspace");
	must(world_open(&e->world, 0, GDA_ASYNC_AUTO, e->world.r[0].control, 512, &e->s),
	     "gda_async_open");
	e->dst = e->world.r[0].mem;
	e->src = e->dst + MOST;
	world_fill(e->src, MOST, 1);
	memset(e->dst, 0, MOST);
}

static void copy(struct engine *e, uint32_t bytes)
{
	if (!gda_async_get(&e->s, GDA_ASYNC_COPY, e->dst, e->src, bytes, 0).handle)
		must(-EINVAL, "gda_async_get");
	must(gda_async_wait(&e->s, 0), "gda_async_wait");
}

/* Bytes per second for a while. @e: NULL is memcpy of the memory of @m. */
static double bandwidth(struct engine *e, const struct engine *m, uint32_t bytes)
{
	uint64_t begin = gda_clock_ns(), end;
	unsigned int n = 0;

	do {
		if (e)
			copy(e, bytes);
		else
			memcpy(m->dst, m->src, bytes);
		__asm__ volatile("" : : : "memory");
		n++;
		end = gda_clock_ns();
	} while (end - begin < RUN_NS);
	return (double)bytes * n / (double)(end - begin) * 1e9;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *values)
{
	qsort(values, RUNS, sizeof(*values), by_value);
	return values[RUNS / 2];
}

static void print(const char *name, double value, const char *unit)
{
	printf("%-44s %8.2f %s\n", name, value, unit);
}

/* A ratio that must be at least, or at most, @bar, where there are @processors. */
static void print_bar(const char *name, double ratio, bool least, double bar, long processors)
{
	bool met = least ? ratio >= bar : ratio <= bar;

	printf("%-44s %8.2f, at %s %g", name, ratio, least ? "least" : "most", bar);
	if (sysconf(_SC_NPROCESSORS_ONLN) < processors)
		printf(" where there are %ld processors\n", processors);
	else
		printf("%s\n", met ? "" : ": MISSED");
}

static void bandwidths(struct engine *one, struct engine *two, bool in_process)
{
	double plain[RUNS], copied[RUNS], single[RUNS], dealt[RUNS];
	unsigned int i;

	for (i = 0; i < RUNS; i++) {
		plain[i] = bandwidth(NULL, one, MIB);
		copied[i] = bandwidth(one, NULL, MIB);
		single[i] = bandwidth(one, NULL, MOST);
		dealt[i] = bandwidth(two, NULL, MOST);
	}
	print("memcpy, 1 MiB", median(plain) / 1e9, "GB/s");
	print("COPY, 1 MiB, one queue", median(copied) / 1e9, "GB/s");
	print_bar("  of memcpy", median(copied) / median(plain), true, 0.6, 2);
	print("COPY, 8 MiB, one queue, one worker", median(single) / 1e9, "GB/s");
	if (!in_process)
		return;
	print("COPY, 8 MiB, two queues, two workers", median(dealt) / 1e9, "GB/s");
	print_bar("  of one", median(dealt) / median(single), true, 1.6, 4);
}

/* --- tiles --- */

/* Work on a tile: of @n words, from the first again after the last. */
static uint64_t product(const unsigned char *tile, uint32_t n)
{
	const uint64_t *words = (const uint64_t *)(const void *)tile;
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i < n; i++)
		sum = sum * 31 + words[i % TILE_WORDS];
	__asm__ volatile("" : "+r"(sum) : : "memory");
	return sum;
}

static const unsigned char *tile_source(const struct engine *e, uint32_t tile)
{
	return e->src + tile % (MOST / TILE) * TILE;
}

static struct gda_async_event fetch(struct engine *e, uint32_t tile, uint32_t buffers)
{
	struct gda_async_event event;

	event = gda_async_get(&e->s, GDA_ASYNC_COPY, e->dst + tile % buffers * TILE,
			      tile_source(e, tile), TILE, 0);
	if (!event.handle)
		must(-EINVAL, "gda_async_get");
	return event;
}

/* All tiles with @flight of them under way. Return: ns. */
static double tiles(struct engine *e, uint32_t flight)
{
	struct gda_async_event events[2] = { { 0 } };
	uint64_t begin = gda_clock_ns(), sum = 0;
	uint32_t t;

	if (flight > 1)
		events[0] = fetch(e, 0, flight);
	for (t = 0; t < TILES; t++) {
		if (flight == 1)
			events[0] = fetch(e, t, flight);
		else if (t + 1 < TILES)
			events[(t + 1) % flight] = fetch(e, t + 1, flight);
		must(gda_async_wait_for(&e->s, events[t % flight], 0), "gda_async_wait_for");
		sum += product(e->dst + t % flight * TILE, work_words);
	}
	begin = gda_clock_ns() - begin;
	must(sum == serial ? 0 : -EIO, "tiles, beside a serial product");
	return (double)begin;
}

static uint64_t once(struct engine *e, uint32_t n)
{
	uint64_t begin = gda_clock_ns();

	if (n)
		product(e->dst, n);
	else
		copy(e, TILE);
	return gda_clock_ns() - begin;
}

/* The least time for @n words, or of a copy, in ns. */
static uint64_t least(struct engine *e, uint32_t n)
{
	uint64_t ns, best = UINT64_MAX;
	unsigned int i;

	for (i = 0; i < 100; i++) {
		ns = once(e, n);
		best = ns < best ? ns : best;
	}
	return best;
}

/* So many words that working on a tile takes about as long as its copy. */
static void calibrate(struct engine *e)
{
	uint32_t t;

	copy_ns = least(e, 0);
	work_words = (uint32_t)(TILE_WORDS * copy_ns / least(e, TILE_WORDS));
	work_words = work_words ? work_words : 1;
	product_ns = least(e, work_words);
	for (t = 0; t < TILES; t++)
		serial += product(tile_source(e, t), work_words);
}

static void overlap(struct engine *e)
{
	double one[RUNS], two[RUNS];
	unsigned int i;

	calibrate(e);
	for (i = 0; i < RUNS; i++) {
		one[i] = tiles(e, 1);
		two[i] = tiles(e, 2);
	}
	print("copy of a tile alone", (double)copy_ns / 1e3, "us");
	print("work on a tile alone", (double)product_ns / 1e3, "us");
	print_bar("two tiles in flight, of one", median(two) / median(one), false, 0.65, 3);
}

int main(void)
{
	bool in_process = access("/dev/gda", F_OK);
	static struct engine one, two;

	printf("gda/async.h, medians, on %ld processors\n", sysconf(_SC_NPROCESSORS_ONLN));
	engine_open(&one, 1, "1");
	engine_open(&two, in_process ? 2 : 1, "2");
	bandwidths(&one, &two, in_process);
	overlap(&one);
	copy(&two, MOST);
	must(memcmp(two.dst, two.src, MOST) ? -EIO : 0, "what was copied");
	world_end(&one.world);
	world_end(&two.world);
	return 0;
}
