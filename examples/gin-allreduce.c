// SPDX-License-Identifier: MIT
/*
 * Ring all-reduce: first each block goes once around the ring and grows into the sum of all
 * ranks' (reduce-scatter), then the sums go around (all-gather). In the first half a block arrives
 * in the inbox of its step, because the receiver adds to its block and does not replace it.
 *
 * A block is overwritten in the second half only by what was made of it: so the put that
 * read it has long been carried out, and nobody has to wait for a counter.
 */
#include "gin-ranks.h"

#define WORDS	1024U
#define BYTES	(WORDS * sizeof(uint64_t))

static uint64_t element(uint32_t rank, uint32_t i)
{
	return (uint64_t)(rank + 1) * 1000003 + (uint64_t)i * i;
}

/* Put block @block to the next rank, and wait for what the one before has put. */
static void pass(struct rank *r, struct gda_gin_place to, struct gda_gin_place from, uint32_t step)
{
	uint32_t next = (r->rank + 1) % r->nranks;

	must(gda_gin_put(r->gin, next, to, from, BYTES, gda_gin_inc(0, 0)), "gda_gin_put");
	must(gda_gin_wait_signal(r->gin, 0, step + 1, 64, 0), "gda_gin_wait_signal");
}

static bool allreduce(struct rank *r)
{
	uint32_t n = r->nranks, step, i, k;
	struct gda_window *w;
	uint64_t *blocks = window_of(r, 2 * n * BYTES, &w), *inbox = blocks + (size_t)n * WORDS;
	bool right = true;

	for (i = 0; i < n * WORDS; i++)
		blocks[i] = element(r->rank, i);
	for (step = 0; step + 1 < n; step++) {
		uint32_t out = (r->rank + n - step) % n, in = (out + n - 1) % n;

		pass(r, gda_at_element(w, n * BYTES, step, BYTES), gda_at_element(w, 0, out, BYTES),
		     step);
		for (i = 0; i < WORDS; i++)
			blocks[(size_t)in * WORDS + i] += inbox[(size_t)step * WORDS + i];
	}
	for (; step + 2 < 2 * n; step++) {
		uint32_t out = (r->rank + 2 * n - step) % n;
		struct gda_gin_place at = gda_at_element(w, 0, out, BYTES);

		pass(r, at, at, step);
	}
	for (i = 0; i < n * WORDS; i++) {
		uint64_t sum = 0;

		for (k = 0; k < n; k++)
			sum += element(k, i);
		right = right && blocks[i] == sum;
	}
	must(gda_gin_flush(r->gin, 0), "gda_gin_flush");
	gda_window_deregister(w);
	return right;
}

int main(void)
{
	struct gda_gin_attr attr = { .size = sizeof(attr), .signals = 1 };

	return run_ranks("ring all-reduce", &attr, allreduce);
}
