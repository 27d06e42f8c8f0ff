// SPDX-License-Identifier: MIT
/*
 * Ring all-gather: in each of nranks - 1 steps, every rank passes on to the next one the
 * block that it got in the step before, by a put with a signal. No rank waits for all: the
 * signal of a step says that its block is there.
 */
#include "gin-ranks.h"

#define WORDS	4096U
#define BYTES	(WORDS * sizeof(uint32_t))

static uint32_t element(uint32_t rank, uint32_t i)
{
	return rank * 1000003 + i * 7;
}

static bool allgather(struct rank *r)
{
	uint32_t next = (r->rank + 1) % r->nranks, step, i;
	struct gda_window *w;
	uint32_t *blocks = window_of(r, r->nranks * BYTES, &w);
	bool right = true;

	for (i = 0; i < WORDS; i++)
		blocks[r->rank * WORDS + i] = element(r->rank, i);
	for (step = 0; step + 1 < r->nranks; step++) {
		uint32_t block = (r->rank + r->nranks - step) % r->nranks;
		struct gda_gin_place at = gda_at_element(w, 0, block, BYTES);

		must(gda_gin_put(r->gin, next, at, at, BYTES, gda_gin_inc(0, 0)), "gda_gin_put");
		must(gda_gin_wait_signal(r->gin, 0, step + 1, 64, 0), "gda_gin_wait_signal");
	}
	for (i = 0; i < r->nranks * WORDS; i++)
		right = right && blocks[i] == element(i / WORDS, i % WORDS);
	must(gda_gin_flush(r->gin, 0), "gda_gin_flush");
	gda_window_deregister(w);
	return right;
}

int main(void)
{
	struct gda_gin_attr attr = { .size = sizeof(attr), .signals = 1 };

	return run_ranks("ring all-gather", &attr, allgather);
}
